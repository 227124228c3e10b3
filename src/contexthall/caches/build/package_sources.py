"""The pages of installed packages as sources of a cache: whose they are, and which are as they were recorded."""

import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

from contexthall.caches.build.convert.registry import PACKAGE_PAGE
from contexthall.caches.build.sources import SourceFile
from contexthall.caches.model.document import identify
from contexthall.caches.model.source_record import RecordedPackages, SourceRecord, recorded_path
from contexthall.caches.packages.environment import (
    Environment,
    find_packages,
    find_python,
    package_places,
    package_stamp,
)
from contexthall.core.errors import UsageError
from contexthall.system.disk import Disk


class PackageChoice(NamedTuple):
    """Whose packages are wanted: those of a project, in a Python environment ("" for none) and node_modules."""

    project: str
    python: str = ""
    everything: bool = False


class PackageSources(NamedTuple):
    """The pages, with the choice and the stamps of the packages that they are of, and what people should know."""

    files: list[SourceFile]
    choice: PackageChoice
    stamps: Mapping[str, str]
    warnings: tuple[str, ...]

    def recorded(self, cache: str) -> RecordedPackages:
        """Return what is recorded of them in the cache at this path."""
        choice = self.choice
        python = recorded_path(choice.python, cache) if choice.python else ""
        stamps = tuple(sorted(self.stamps.items()))
        return RecordedPackages(recorded_path(choice.project, cache), python, choice.everything, stamps)


def choose_packages(
    disk: Disk, project: str, python: str | None, variables: Mapping[str, str], *, everything: bool
) -> PackageChoice:
    """Return a choice by real paths; `python` is as somebody named it, None to look for an environment."""
    place = find_python(disk, project, python, variables)
    return PackageChoice(disk.real(project), disk.real(place) if place else "", everything)


def recorded_choice(
    disk: Disk, record: SourceRecord, cache: str, may_read: Callable[[str], bool]
) -> PackageChoice | None:
    """Return whose packages a cache has, by real paths; None for none, UsageError if they may not be read."""
    if record.packages is None:
        return None
    places = (record.packages.project, record.packages.python)
    project, python = (disk.real(os.path.join(cache, place)) if place else "" for place in places)
    for place in filter(None, (project, python)):
        if disk.kind(place) != "directory" or not may_read(place):
            raise UsageError(f"the packages are not there any more: {place}", hint="build the cache anew with --force")
    for place in package_places(disk, project, python):
        if not may_read(place):
            raise UsageError(f"the packages are where nothing may be read: {place}", hint="install them in the project")
    return PackageChoice(project, python, record.packages.everything)


def package_folders(disk: Disk, choice: PackageChoice) -> frozenset[str]:
    """Return the folders in which names change when a package is installed, or the project asks for another."""
    return frozenset((choice.project, *package_places(disk, choice.project, choice.python)))


def judge_package_sources(disk: Disk, choice: PackageChoice, known: SourceRecord) -> list[SourceFile]:
    """Return the pages that are known, and one file for each package that is new or changed; nothing is made."""
    found, _, kept = compare(disk, choice, known)
    changed = [page_source(f"{each.key}/", "") for each in found.packages if each.key not in kept]
    return [file for each in kept.values() for file in each] + changed


def compare(
    disk: Disk, choice: PackageChoice, known: SourceRecord | None
) -> tuple[Environment, dict[str, str], dict[str, list[SourceFile]]]:
    """Return the packages, their stamps, and the pages of those that are as they were."""
    found = find_packages(disk, choice.project, choice.python, everything=choice.everything)
    stamps = {package.key: package_stamp(disk, package) for package in found.packages}
    if known is None or known.packages is None:
        return found, stamps, {}
    same = {key for key, stamp in known.packages.stamps if stamps.get(key) == stamp}
    kept: dict[str, list[SourceFile]] = {key: [] for key in same}
    for file in known.files:
        key = _key_of(file.source)
        if file.converter == PACKAGE_PAGE.label and key in kept:
            kept[key].append(page_source(file.source, "")._replace(size=file.size, stamp=file.stamp))
        elif file.converter.startswith(PACKAGE_PAGE.name):  # made in another way
            kept.pop(key, None)
    return found, stamps, kept


def _key_of(source: str) -> str:
    """Return the package that a page is of."""
    parts = source.split("/")
    return "/".join(parts[: 1 + parts[0].startswith("@")])


def page_source(source: str, path: str) -> SourceFile:
    """Return a page as a source: its path in the cache, and where it is now, if it was made."""
    return SourceFile(identify(source), source, path, converter=PACKAGE_PAGE)

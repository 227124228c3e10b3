"""Makes the pages of installed packages, beside the cache that they are for, in two processes."""

import os
from collections.abc import Callable, Sequence
from functools import partial

from contexthall.caches.build.package_sources import PackageChoice, PackageSources, compare, page_source
from contexthall.caches.build.sources import SourceFile
from contexthall.caches.model.source_record import SourceRecord
from contexthall.caches.packages.environment import InstalledPackage
from contexthall.system.disk import Directory, Disk
from contexthall.system.processes import Report, run_parallel

_WORKERS = 2
_PREFIX = "page-"
_JUST_NOW = (0, 1 << 62, 1 << 62)
"""The stamp of a page that was just made. It is never recorded, so that content decides whether a page is new."""


def make_package_sources(
    disk: Disk,
    choice: PackageChoice,
    staging: Directory,
    known: SourceRecord | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PackageSources:
    """Return the pages of the packages that are wanted; those of a package that is `known` are not made again."""
    found, stamps, kept = compare(disk, choice, known)
    changed = [package for package in found.packages if package.key not in kept]
    done = 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, len(changed))

    shares = [share for share in _shares(disk, changed) if share]
    tasks = [partial(_write_pages, disk, staging, share, number) for number, share in enumerate(shares)]
    made = run_parallel(tasks, report) if tasks else []
    files = [file for each in kept.values() for file in each] + [file for each, _ in made for file in each]
    warnings = sorted(warning for _, more in made for warning in more)
    return PackageSources(files, choice, stamps, (*found.warnings, *warnings))


def _shares(disk: Disk, packages: Sequence[InstalledPackage]) -> list[list[InstalledPackage]]:
    """Divide packages so that each worker has about the same number of files, as far as their records tell."""
    shares: list[list[InstalledPackage]] = [[] for _ in range(_WORKERS)]
    loads = [0] * _WORKERS
    for size, package in sorted(((_size(disk, each), each) for each in packages), reverse=True):
        least = loads.index(min(loads))
        shares[least].append(package)
        loads[least] += size + 1
    return shares


def _size(disk: Disk, package: InstalledPackage) -> int:
    path = os.path.join(package.folder, package.info, "RECORD" if package.is_python else "package.json")
    return disk.look(path).size if disk.kind(path) == "file" else 0


def _write_pages(
    disk: Disk, staging: Directory, packages: Sequence[InstalledPackage], share: int, report: Report
) -> tuple[list[SourceFile], list[str]]:
    # Its parsers take as long to load as the rest of the build, and few caches need them.
    from contexthall.caches.packages.pages import package_pages  # noqa: PLC0415

    files: list[SourceFile] = []
    warnings: list[str] = []
    for package in packages:
        for page in package_pages(disk, package, warnings):
            name, data = f"{_PREFIX}{share}-{len(files)}", page.text.encode("utf-8", "replace")
            staging.write(name, data)
            path = os.path.join(staging.path, name)
            files.append(page_source(page.path, path)._replace(size=len(data), stamp=_JUST_NOW))
        report(1)
    return files, warnings

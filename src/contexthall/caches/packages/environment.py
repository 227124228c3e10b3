"""Which packages are installed, and which of them does the project ask for? No interpreter is asked: folders tell."""

import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from contexthall.caches.packages.metadata import is_name, is_version, normal_name, read_package_json
from contexthall.caches.packages.requirements import Wanted, is_manifest, wanted
from contexthall.core import limits
from contexthall.core.errors import DiskError, UsageError
from contexthall.core.paths import absolute
from contexthall.system import kernel
from contexthall.system.disk import Disk

_INFO = ".dist-info"
_NODE_MODULES = "node_modules"
_LIBRARIES = ("lib", "lib64")
_PACKAGE_FOLDERS = ("site-packages", "dist-packages")


class InstalledPackage(NamedTuple):
    """A package as it is installed."""

    name: str
    version: str
    folder: str
    """Its own folder for npm; for Python the one that it shares with others."""
    info: str = ""
    """The name of the folder of its METADATA and RECORD; empty for npm."""

    @property
    def key(self) -> str:
        """How ids of its pages begin."""
        return f"{self.name}@{self.version}"

    @property
    def is_python(self) -> bool:
        return bool(self.info)


class Environment(NamedTuple):
    """The packages that were chosen, by their keys, and what people should know about the others."""

    packages: tuple[InstalledPackage, ...]
    warnings: tuple[str, ...] = ()


def find_python(disk: Disk, project: str, given: str | None, variables: Mapping[str, str]) -> str:
    """Return the folder of a Python environment: the one that was named, the project's own, or the active one.

    "" if there is none; UsageError if what was named is none. `variables` are those of the process.
    """
    if given is not None:
        place = _environment_at(disk, absolute(given, project))
        if not place:
            raise UsageError(
                f"not a Python environment: {given}",
                hint="--python takes a virtual environment, its bin/python, or a site-packages folder",
            )
        return place
    active = (variables.get(each, "") for each in ("VIRTUAL_ENV", "CONDA_PREFIX"))
    places = (os.path.join(project, ".venv"), *filter(None, active))
    return next(filter(None, (_environment_at(disk, place) for place in places)), "")


def _environment_at(disk: Disk, place: str) -> str:
    if disk.kind(place) == "file":  # the interpreter, in `bin`
        place = os.path.dirname(os.path.dirname(place))
    return place if _package_folders(disk, place) else ""


def _package_folders(disk: Disk, place: str) -> list[str]:
    """Return the folders of installed packages of an environment, or such a folder itself."""
    if os.path.basename(place) in _PACKAGE_FOLDERS or any(map(_is_info, _folder_names(disk, place))):
        return [disk.real(place)]
    found = []
    for library in _LIBRARIES:
        for name in _folder_names(disk, os.path.join(place, library)):
            if name.startswith("python3"):
                found += [os.path.join(place, library, name, each) for each in _PACKAGE_FOLDERS]
    return list(dict.fromkeys(disk.real(each) for each in found if disk.kind(each) == "directory"))


def package_places(disk: Disk, project: str, python: str) -> list[str]:
    """Return the folders of installed packages, really: their names change with whatever is installed."""
    modules = os.path.join(project, _NODE_MODULES)
    nodes = [disk.real(modules)] if disk.kind(modules) == "directory" else []
    return [*(_package_folders(disk, python) if python else []), *nodes]


def _folder_names(disk: Disk, folder: str) -> list[str]:
    if disk.kind(folder) != "directory":
        return []
    return [each.name for each in disk.list(folder) if each.kind in {"directory", "symlink"}]


def find_packages(disk: Disk, project: str, python: str = "", *, everything: bool = False) -> Environment:
    """Return the packages that a project asks for, or all that are installed, of Python and of npm."""
    return _EnvironmentFinder(disk, project).find(python, everything=everything)


class _EnvironmentFinder(NamedTuple):
    disk: Disk
    project: str

    def find(self, python: str, *, everything: bool) -> Environment:
        asked, warnings = self._wanted(), list[str]()
        folders = _package_folders(self.disk, python) if python else []
        installed = {each.key: each for folder in folders for each in self._python_packages(folder, warnings)}
        modules = os.path.join(self.project, _NODE_MODULES)
        nodes = self._node_packages(modules, asked, warnings, everything=everything)
        if not folders and self.disk.kind(modules) != "directory":
            raise UsageError(
                f"neither a Python environment nor {_NODE_MODULES} in {self.project}",
                hint="name the environment with --python PATH, or install the dependencies",
            )
        chosen = [each for each in installed.values() if everything or normal_name(each.name) in asked.python]
        if not chosen and not nodes:
            raise _nothing_chosen(asked, len(installed))
        if folders and not everything:
            names = {normal_name(each.name) for each in chosen}
            missing = [name for name, is_needed in asked.python.items() if is_needed and name not in names]
            warnings += named("not installed", missing)
        found = sorted({each.key: each for each in (*nodes, *chosen)}.values())
        warnings += named("too many packages, left out", [each.key for each in found[limits.PACKAGES :]])
        return Environment(tuple(found[: limits.PACKAGES]), tuple(warnings))

    def _wanted(self) -> Wanted:
        names = [each.name for each in self.disk.list(self.project) if each.kind == "file" and is_manifest(each.name)]
        return wanted({name: read_bounded(self.disk, os.path.join(self.project, name)) or b"" for name in names})

    def _python_packages(self, folder: str, warnings: list[str]) -> list[InstalledPackage]:
        found, unusable = [], []
        for info in filter(_is_info, _folder_names(self.disk, folder)):
            name, _, version = info.removesuffix(_INFO).rpartition("-")
            if is_name(name) and is_version(version):
                found.append(InstalledPackage(name.replace("_", "-"), version, folder, info))
            elif not info.startswith("~"):  # what pip could not remove
                unusable.append(info)
        warnings += named("neither a name nor a version", unusable)
        return found

    def _node_packages(
        self, modules: str, asked: Wanted, warnings: list[str], *, everything: bool
    ) -> list[InstalledPackage]:
        if self.disk.kind(modules) != "directory":
            warnings += named("not installed", list(asked.npm))
            return []
        names = self._node_names(modules) if everything else [*asked.npm, *map(_types_of, asked.npm)]
        found, missing = [], []
        for name in sorted(set(names)):
            package = self._node_package(os.path.join(modules, name))
            if package is not None:
                found.append(package)
            elif name in asked.npm:
                missing.append(name)
        warnings += named("not installed", missing)
        return found

    def _node_names(self, modules: str) -> list[str]:
        names = [each for each in _folder_names(self.disk, modules) if not each.startswith(".")]
        scoped = [
            f"{each}/{name}"
            for each in names
            if each[0] == "@"
            for name in _folder_names(self.disk, f"{modules}/{each}")
        ]
        return [each for each in names if each[0] != "@"] + scoped

    def _node_package(self, folder: str) -> InstalledPackage | None:
        """Return the package in a folder of node_modules; None for none, and for what is linked from elsewhere."""
        real = self.disk.real(folder)
        if f"/{_NODE_MODULES}/" not in real and not self.disk.is_within(real, self.project):
            return None
        said = read_package_json(read_bounded(self.disk, os.path.join(real, "package.json")) or b"")
        name, version = said.get("name"), said.get("version")
        if not isinstance(name, str) or not isinstance(version, str) or not (is_name(name) and is_version(version)):
            return None
        return InstalledPackage(name, version, real)


def environment_stamp(disk: Disk, packages: Sequence[InstalledPackage]) -> str:
    """Return what changes when a package is added, removed, or installed anew with another content."""
    total = sha256()
    for package in packages:
        total.update(f"{package.key}\n{package_stamp(disk, package)}\n".encode())
    return total.hexdigest()


def package_stamp(disk: Disk, package: InstalledPackage) -> str:
    """Return what changes with the content of a package: its RECORD has the hashes of all its files."""
    path = os.path.join(package.folder, package.info, "RECORD" if package.is_python else "package.json")
    return sha256(read_bounded(disk, path) or b"").hexdigest()


def read_bounded(disk: Disk, path: str, most_bytes: int | None = None) -> bytes | None:
    """Read a file through no symlink; None for what is not there, no file, or larger than anybody writes."""
    most_bytes = limits.PACKAGE_METADATA_BYTES if most_bytes is None else most_bytes
    try:
        _, data = disk.opened_by(kernel.open_straight).read_small(path, most_bytes)
    except DiskError:
        return None
    return data if len(data) <= most_bytes else None


def named(what: str, names: Sequence[str]) -> list[str]:
    """Return a warning that names things, not too many of them; none for no things."""
    if not names:
        return []
    shown = ", ".join(sorted(names)[: limits.PACKAGES_NAMED])
    more = len(names) - limits.PACKAGES_NAMED
    return [f"{what}: {shown}" + (f" and {more} more" if more > 0 else "")]


def _is_info(name: str) -> bool:
    return name.endswith(_INFO)


def _types_of(name: str) -> str:
    """Return the package that has the types of another one."""
    return "@types/" + name.removeprefix("@").replace("/", "__")


def _nothing_chosen(asked: Wanted, installed: int) -> UsageError:
    if asked.python or asked.npm:
        return UsageError("none of the project's dependencies is installed", hint="install them, or name --python PATH")
    return UsageError(
        "no dependencies in pyproject.toml, requirements.txt or package.json",
        hint=f"--all-packages takes all that is installed ({installed} of Python)",
    )

"""The pages of a package of npm: its README, the documents it ships, and its declaration files."""

import os
from collections.abc import Iterable, Iterator, Mapping

from contexthall.caches.packages.api import ApiPage
from contexthall.caches.packages.declarations import read_declarations
from contexthall.caches.packages.documents import document_pages
from contexthall.caches.packages.environment import InstalledPackage, named, read_bounded
from contexthall.caches.packages.metadata import read_package_json
from contexthall.caches.packages.rendering import PackagePage, render
from contexthall.core import limits
from contexthall.core.errors import DiskError
from contexthall.system.disk import Disk

_DECLARATIONS = (".d.ts", ".d.mts", ".d.cts")
_SCRIPTS = (".js", ".mjs", ".cjs")
_CONDITIONS = ("types", "import", "node", "default", "require")
_LEFT_OUT = {"node_modules", "test", "tests", "__tests__"}


def node_pages(disk: Disk, package: InstalledPackage, warnings: list[str]) -> Iterator[PackagePage]:
    """Yield the pages of a package; what cannot be read is named in `warnings`."""
    files = list(_files(disk, package.folder))
    yield from document_pages(disk, package, files, warnings)
    said = read_package_json(read_bounded(disk, os.path.join(package.folder, "package.json")) or b"")
    found = _read_all(disk, package, _entries(said, files), set(files), warnings)
    for name, pages in sorted(found.items()):
        about = f"{package.name} {package.version}, TypeScript declarations `{name}`."
        path = f"{package.key}/api/{name.replace(':', '/')}.md"
        yield PackagePage(path, "\n".join(render(page, about, "ts") for page in pages))


def _files(disk: Disk, folder: str) -> Iterator[str]:
    """Yield the files of a package, by depth and name; symlinks, hidden folders and tests are passed over."""
    level, count = [""], 0
    for _ in range(limits.PACKAGE_LEVELS):
        below: list[str] = []
        for place in level:
            try:
                entries = disk.list(os.path.join(folder, place))
            except DiskError:
                continue
            for entry in entries:
                path = os.path.join(place, entry.name)
                if entry.kind == "directory" and entry.name not in _LEFT_OUT and not entry.name.startswith("."):
                    below.append(path)
                elif entry.kind == "file" and count < limits.PACKAGE_FILES:
                    count += 1
                    yield path
        level = below


def _read_all(
    disk: Disk, package: InstalledPackage, entries: Iterable[str], files: set[str], warnings: list[str]
) -> dict[str, list[ApiPage]]:
    """Read the files where a package begins, and those that they lead to; return their pages by module."""
    found: dict[str, list[ApiPage]] = {}
    refused: list[str] = []
    waiting, total = list(dict.fromkeys(entries)), 0
    for path in waiting:  # which grows on the way
        data = read_bounded(disk, os.path.join(package.folder, path), limits.PACKAGE_SOURCE_BYTES)
        if data is None or total + len(data) > limits.PACKAGE_TOTAL_BYTES:
            refused.append(path)
            continue
        total += len(data)
        read = read_declarations(_module(package.name, path), data)
        for page in read.pages:
            found.setdefault(page.name, []).append(page)
        targets = (_resolve(os.path.dirname(path), source, files) for source in read.sources)
        waiting += [target for target in dict.fromkeys(targets) if target and target not in waiting]
    warnings += named(f"{package.key}: unreadable, or too large", refused)
    return found


def _entries(said: Mapping[str, object], files: list[str]) -> list[str]:
    """Return the declaration files that a package.json names, one for each way in; all there are if it names none."""
    declared = [path for path in files if path.endswith(_DECLARATIONS)]
    ways = said.get("exports")
    ways = list(ways.values()) if isinstance(ways, dict) and any(key.startswith(".") for key in ways) else [ways]
    named_files = [said.get("types"), said.get("typings"), *map(_types_in, ways), said.get("main"), "index.js"]
    known = set(declared)
    found = [path for each in named_files if isinstance(each, str) and (path := _declaration_of(each, known))]
    return list(dict.fromkeys(found)) or declared


def _types_in(way: object, levels: int = 8) -> str | None:
    """Return the declaration file of one way into a package."""
    if isinstance(way, str):
        return way
    if not isinstance(way, dict) or not levels:
        return None
    return next((found for key in _CONDITIONS if key in way and (found := _types_in(way[key], levels - 1))), None)


def _resolve(folder: str, source: str, files: set[str]) -> str | None:
    return _declaration_of(os.path.normpath(os.path.join(folder, source)), files)


def _declaration_of(path: str, files: set[str]) -> str | None:
    """Return the declaration file of a script, a folder or itself, if the package has it."""
    path = os.path.normpath(path)
    stem = next((path.removesuffix(each) for each in (*_DECLARATIONS, *_SCRIPTS, ".ts") if path.endswith(each)), path)
    tries = (path, *(stem + each for each in _DECLARATIONS), *(f"{stem}/index{each}" for each in _DECLARATIONS))
    return next((each for each in tries if each in files and each.endswith(_DECLARATIONS)), None)


def _module(package: str, path: str) -> str:
    stem = next(path.removesuffix(each) for each in _DECLARATIONS if path.endswith(each))
    return package if stem == "index" else f"{package}/{stem}"

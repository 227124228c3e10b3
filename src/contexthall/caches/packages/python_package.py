"""The pages of an installed Python package: its README, the documents it ships, and its API."""

import os
import re
from collections.abc import Iterator

from contexthall.caches.packages.api import Module
from contexthall.caches.packages.documents import document_pages
from contexthall.caches.packages.environment import InstalledPackage, named, read_bounded
from contexthall.caches.packages.metadata import normal_name, read_metadata, read_record
from contexthall.caches.packages.python_exports import is_hidden, passed_on, public_pages
from contexthall.caches.packages.python_module import read_module
from contexthall.caches.packages.rendering import PackagePage, render
from contexthall.core import limits
from contexthall.core.text import is_name
from contexthall.system.disk import Disk

_SOURCES = (".py", ".pyi")
_STUBS = "-stubs"
_NO_API = re.compile(r"tests|test_\w+|\w+_test|conftest|vendor(?:ed)?|third_party|externals?|typeshed")
"""Names of folders and modules that are no part of what a package offers: tests, and copies of other packages."""
_CODING = re.compile(rb"\A(?:[^\n]*\n)?[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")


def python_pages(disk: Disk, package: InstalledPackage, warnings: list[str]) -> Iterator[PackagePage]:
    """Yield the pages of a package; what cannot be read is named in `warnings`."""
    info = os.path.join(package.folder, package.info)
    said = read_bounded(disk, os.path.join(info, "METADATA"))
    metadata = read_metadata(said or b"")
    if said is None:
        warnings.append(f"{package.key}: METADATA is missing, no file, or too large")
    elif (normal_name(metadata.name), metadata.version) != (normal_name(package.name), package.version):
        warnings.append(f"{package.key}: METADATA speaks of {metadata.name[:80]!r} {metadata.version[:80]!r}")
    elif metadata.readme:
        yield PackagePage(f"{package.key}/README{metadata.readme_suffix}", metadata.readme + "\n")
    record = read_bounded(disk, os.path.join(info, "RECORD"))
    if record is None:
        warnings.append(f"{package.key}: RECORD is missing, no file, or too large")
    files = read_record(record or b"")
    yield from document_pages(disk, package, files, warnings)
    modules = _modules(disk, package, files, warnings)
    for page in public_pages(modules):
        about = f"{package.name} {package.version}, Python module `{page.name}`."
        yield PackagePage(f"{package.key}/api/{page.name.replace('.', '/')}.md", render(page, about, "python"))


def _modules(disk: Disk, package: InstalledPackage, files: list[str], warnings: list[str]) -> dict[str, Module]:
    """Read the public modules of a package, those near its top first, and the private ones that they export from."""
    reader = _PackageReader(disk, package, files)
    waiting = [name for name in reader.paths if not is_hidden(name)]
    for name in waiting:  # which grows on the way
        if name not in reader.found:
            waiting += [each for each in reader.read(name) if each in reader.paths and each not in reader.found]
    warnings += named(f"{package.key}: unreadable, or too large", reader.refused)
    return _with_added_docs(reader.found)


def _with_added_docs(modules: dict[str, Module]) -> dict[str, Module]:
    docs = {name: doc for module in modules.values() for name, doc in module.added_docs.items()}
    if not docs:
        return modules
    return {
        name: module._replace(members={key: each.with_docs(docs) for key, each in module.members.items()})
        for name, module in modules.items()
    }


class _PackageReader:
    """Reads modules, each once; a stub is joined with what it stands for."""

    def __init__(self, disk: Disk, package: InstalledPackage, files: list[str]) -> None:
        self._disk = disk
        self._folder = package.folder
        self._rest = limits.PACKAGE_TOTAL_BYTES
        self.found: dict[str, Module] = {}
        self.refused: list[str] = []
        self.paths: dict[str, list[str]] = {}
        for path, name in sorted(_sources(files), key=_nearest_first):
            self.paths.setdefault(name, []).append(path)

    def read(self, name: str) -> list[str]:
        """Read a module, and return the modules whose names it may export."""
        self.found[name] = Module(name, is_read=False)
        leading: list[str] = []
        for path in self.paths[name]:
            data = read_bounded(self._disk, os.path.join(self._folder, path), limits.PACKAGE_SOURCE_BYTES)
            if data is None or len(data) > self._rest:
                self.refused.append(path)
                continue
            self._rest -= len(data)
            is_package = path.rpartition("/")[2].startswith("__init__.")
            module = read_module(name, _as_utf8(data), is_package=is_package)
            known = self.found[name]
            self.found[name] = known.documented_by(module) if known.is_read else module
            leading += passed_on(module)
        return leading


def _nearest_first(source: tuple[str, str]) -> tuple[int, str, bool]:
    """Order sources by depth, then by name, a stub before what it stands for."""
    path, name = source
    return name.count("."), name, not path.endswith(".pyi")


def _sources(files: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the sources among files, each with the name of its module; tests are none of the documentation."""
    for path in files:
        stem, suffix = os.path.splitext(path)
        parts = stem.split("/")
        if suffix not in _SOURCES:
            continue
        parts[0] = parts[0].removesuffix(_STUBS)
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if parts and all(map(is_name, parts)) and not any(map(_NO_API.fullmatch, parts[1:])):
            yield path, ".".join(parts)


def _as_utf8(data: bytes) -> bytes:
    """Return a source in UTF-8, whatever its coding line says."""
    coding = _CODING.match(data)
    if coding is None or coding[1].lower().replace(b"_", b"-").startswith((b"utf-8", b"utf8", b"ascii", b"us-ascii")):
        return data
    try:
        return data.decode(coding[1].decode("ascii")).encode()
    except (LookupError, ValueError):
        return data

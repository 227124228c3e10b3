"""The documents that a package ships: READMEs, and what is in folders of documentation."""

import os
from collections.abc import Iterable, Iterator

from contexthall.caches.packages.environment import InstalledPackage, named, read_bounded
from contexthall.caches.packages.rendering import PackagePage
from contexthall.core import limits
from contexthall.system.disk import Disk

_DOCUMENTS = (".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc")
_DOCUMENT_FOLDERS = {"doc", "docs", "documentation"}


def document_pages(
    disk: Disk, package: InstalledPackage, files: Iterable[str], warnings: list[str]
) -> Iterator[PackagePage]:
    """Yield the documents among the files of a package, as they are."""
    refused: list[str] = []
    rest = limits.PACKAGE_TOTAL_BYTES
    for path in filter(is_document, files):
        data = read_bounded(disk, os.path.join(package.folder, path)) if rest else None
        if data is None or len(data) > rest:
            refused.append(path)
            continue
        rest -= len(data)
        if data.strip():
            yield PackagePage(f"{package.key}/{path}", data.decode("utf-8", "replace"))
    warnings += named(f"{package.key}: unreadable, or too large", refused)


def is_document(path: str) -> bool:
    """Return whether a file of a package is documentation: in a folder of that name, or a README."""
    *folders, name = path.lower().split("/")
    stem, _, suffix = name.rpartition(".")
    if f".{suffix}" not in _DOCUMENTS or any(each.startswith(".") or each == "node_modules" for each in folders):
        return False
    return (stem == "readme" and suffix != "txt") or bool(_DOCUMENT_FOLDERS.intersection(folders))

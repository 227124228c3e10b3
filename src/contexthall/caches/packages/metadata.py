"""What the files beside an installed package say: METADATA, RECORD, package.json.

Pure. They are untrusted: a name or a path that is none is left out, and what is not UTF-8 is shown as U+FFFD.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from contexthall.core import limits, wire

_NAME = re.compile(r"(?:@[a-z0-9~][\w.~-]*/)?[a-z0-9_][\w.~-]*", re.ASCII | re.IGNORECASE)
_VERSION = re.compile(r"[0-9a-z][\w.+!-]*", re.ASCII | re.IGNORECASE)
_SEPARATORS = re.compile(r"[-_.]+")
_README_SUFFIXES = {"text/markdown": ".md", "text/plain": ".txt", "text/x-rst": ".rst"}
_README_BY_DEFAULT = ".rst"  # as the package index reads one whose type is not said
_FOLDED = re.compile(r"^(?: {8}|\t| {7}\|)", re.MULTILINE)


class Metadata(NamedTuple):
    """What a METADATA file says."""

    name: str
    version: str
    readme: str
    readme_suffix: str


def normal_name(name: str) -> str:
    """Return the name by which Python knows a distribution, however it is spelt."""
    return _SEPARATORS.sub("-", name).lower()


def is_name(name: str) -> bool:
    return len(name) <= limits.PACKAGE_NAME_CHARACTERS and _NAME.fullmatch(name) is not None


def is_version(version: str) -> bool:
    return len(version) <= limits.PACKAGE_NAME_CHARACTERS and _VERSION.fullmatch(version) is not None


def read_metadata(data: bytes) -> Metadata:
    """Return what a METADATA says: headers, a blank line, the long description."""
    head, _, body = data.decode("utf-8", "replace").replace("\r\n", "\n").partition("\n\n")
    folded: list[tuple[str, list[str]]] = [("", [])]
    for line in head.split("\n"):
        if line[:1] in {" ", "\t"}:
            folded[-1][1].append(line)
        else:
            name, _, value = line.partition(":")
            folded.append((name.strip().lower(), [value.strip()]))
    headers = {name: "\n".join(lines) for name, lines in reversed(folded)}
    kind = headers.get("description-content-type", "").partition(";")[0].strip().lower()
    readme = body if body.strip() else _FOLDED.sub("", headers.get("description", ""))
    suffix = _README_SUFFIXES.get(kind, _README_BY_DEFAULT)
    return Metadata(headers.get("name", ""), headers.get("version", ""), readme.strip("\n"), suffix)


def read_record(data: bytes) -> list[str]:
    """Return the files that a RECORD names, sorted; what lies elsewhere, such as scripts, is left out."""
    lines = data.decode("utf-8", "replace").splitlines()[: limits.PACKAGE_FILES]
    return sorted({row[0] for row in _rows(lines) if row and is_inside(row[0])})


def _rows(lines: list[str]) -> Iterator[list[str]]:
    rows = csv.reader(lines)
    while True:
        try:
            yield next(rows)
        except csv.Error:
            continue
        except StopIteration:
            return


def is_inside(path: str) -> bool:
    """Return whether a relative path leads down, and nowhere else."""
    parts = path.split("/")
    return not any(part in {"", ".", ".."} for part in parts) and "\0" not in path and "\\" not in path


def read_package_json(data: bytes) -> Mapping[str, object]:
    """Return what a package.json says; nothing if it is none."""
    try:
        found = wire.parse(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}

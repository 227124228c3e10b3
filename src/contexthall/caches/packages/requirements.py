"""Which packages does a project ask for itself? What its manifests name.

Pure. A manifest that cannot be read names nothing.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from contexthall.caches.packages.metadata import is_name, normal_name, read_package_json
from contexthall.core import limits

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*+)", re.ASCII)
_EGG = re.compile(r"[#&]egg=([A-Za-z0-9][\w.-]*+)", re.ASCII)
_REQUIREMENTS_FILE = re.compile(r"requirements[\w.-]*\.(?:txt|in)", re.ASCII)
_LONG_KEY = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{limits.TOML_KEY_PARTS}}}")


class Wanted(NamedTuple):
    """The packages that are asked for: normal name → whether it is needed everywhere, with no marker."""

    python: Mapping[str, bool]
    npm: Mapping[str, bool]


def is_manifest(name: str) -> bool:
    """Return whether a file of this name, at the root of a project, says what the project needs."""
    return name in {"pyproject.toml", "package.json"} or _REQUIREMENTS_FILE.fullmatch(name) is not None


def wanted(manifests: Mapping[str, bytes]) -> Wanted:
    """Return what manifests, by the names of their files, ask for."""
    python: dict[str, bool] = {}
    npm: dict[str, bool] = {}
    for name, data in sorted(manifests.items()):
        if name == "package.json":
            listed = read_package_json(data).get("dependencies")
            npm |= {each: True for each in listed if is_name(each)} if isinstance(listed, dict) else {}
            continue
        for line in _pyproject(data) if name == "pyproject.toml" else _requirements(data):
            if found := _EGG.search(line) or _REQUIREMENT.match(line):
                python.setdefault(normal_name(found[1]), ";" not in line)
    return Wanted(python, npm)


def _pyproject(data: bytes) -> Iterator[str]:
    """Yield the requirements of a pyproject.toml, Poetry's too."""
    text = data.decode("utf-8", "replace")
    try:
        tables = {} if _LONG_KEY.search(text) else tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    listed = _table(tables, "project").get("dependencies")
    if isinstance(listed, list):
        yield from map(str, listed)
    yield from (name for name in _table(tables, "tool", "poetry", "dependencies") if name != "python")


def _requirements(data: bytes) -> Iterable[str]:
    """Yield the lines of a requirements file that name a package; options and addresses do not."""
    for line in data.decode("utf-8", "replace").replace("\\\n", " ").splitlines():
        stripped = line.partition(" #")[0].strip()
        if not stripped.startswith(("-", "#")) and ("://" not in stripped or "@" in stripped or "egg=" in stripped):
            yield stripped


def _table(value: object, *path: str) -> Mapping[str, object]:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}

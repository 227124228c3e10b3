"""Does a context keep to its schema, and does the code bear it out?

Each context is judged on its own; what is wrong with one is told and the next is judged.
"""

import os
import re
from collections.abc import Iterable, Iterator

from jsonschema import Draft202012Validator, ValidationError

from contexthall.contexts.answers import NOTE, VIOLATION, Finding, Report
from contexthall.contexts.context_file import MOST_BYTES, read_context, read_mapping
from contexthall.contexts.scan import Directory, is_source
from contexthall.contexts.schema import CONTEXT_FILE, json_schema
from contexthall.contexts.yaml_text import Value
from contexthall.core.errors import ContextError, ContextVersionError, DiskError, PathMissingError
from contexthall.core.paths import shown
from contexthall.disk import Disk

_VALIDATOR = Draft202012Validator(json_schema())
_MESSAGES = {"not": "only the root of a project has it", "pattern": "must end with a slash"}
_WORD = re.compile(r"\w+")
_SIGNATURE_ENDS = re.compile(r"[(:=<{\[;]")
_RECEIVER = re.compile(r"^(\s*\w+)\s*\([^)]*\)\s*")
_DEPENDENCY = re.compile(r"[^\s,;]+")
_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        "abstract async class const def default enum export fn func function impl interface let namespace pub static "
        "struct trait type var",
    )
)
_MANIFESTS = ("package.json", "pyproject.toml", "setup.cfg", "setup.py", "requirements.txt", "Cargo.toml", "go.mod")


def validate(disk: Disk, root: str, directories: Iterable[Directory], *, is_strict: bool) -> Report:
    """Judge the contexts of `directories`."""
    findings: list[Finding] = []
    counts = {"valid": 0, "invalid": 0, "missing": 0}
    for directory in directories:
        found = [*_judge(disk, root, directory, is_strict=is_strict)] if directory.context else []
        is_broken = any(finding.severity == VIOLATION for finding in found)
        counts["missing" if not directory.context else "invalid" if is_broken else "valid"] += 1
        findings += found
    return Report(**counts, findings=sorted(findings))


def _judge(disk: Disk, root: str, directory: Directory, *, is_strict: bool) -> Iterator[Finding]:
    scope = shown(directory.scope)
    try:
        values = _values(disk, directory)
    except ContextVersionError as error:
        yield Finding(scope, VIOLATION, "version", f"unsupported schema version {error.detail}")
        return
    except (ContextError, DiskError) as error:
        yield Finding(scope, VIOLATION, "", error.detail)
        return
    faults = [_violation(scope, fault) for fault in _VALIDATOR.iter_errors(values)]
    yield from faults
    if is_strict and not faults:
        yield from _compare(_Code(disk, root, directory), scope, values)


def _values(disk: Disk, directory: Directory) -> dict[str, Value]:
    _, data = disk.read_small(os.path.join(directory.path, CONTEXT_FILE), MOST_BYTES)
    values = read_mapping(data)
    if isinstance(version := values.get("version"), int | float) and version > 1:
        read_context(data)
    return values


def _violation(scope: str, fault: ValidationError) -> Finding:
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault.absolute_path)
    message = _MESSAGES.get(str(fault.validator), fault.message)
    return Finding(scope, VIOLATION, field.lstrip("."), message)


class _Code:
    """The files of a directory, as far as a context speaks of them."""

    def __init__(self, disk: Disk, root: str, directory: Directory) -> None:
        self._disk = disk
        self._root = root
        self.directory = directory
        names = [file.name for file in directory.files if is_source(file.name)]
        self.text = "\n".join(self._read(directory.path, name) for name in names)
        self.words = frozenset(_WORD.findall(self.text))

    def has(self, name: str) -> bool:
        """Say whether a path leads to something, from the directory or from the root."""
        return any(self._disk.is_there(os.path.join(base, name)) for base in (self.directory.path, self._root))

    def names(self, dependency: str) -> bool:
        """Say whether the code, or a manifest of the project, speaks of a dependency."""
        spellings = {dependency, dependency.replace("-", "_"), dependency.replace("_", "-")}
        text = self.text + "".join(self._read(base, name) for base in self._bases() for name in _MANIFESTS)
        return any(spelling in text for spelling in spellings)

    def _bases(self) -> Iterator[str]:
        base = self.directory.path
        while base != self._root:
            yield base
            base = os.path.dirname(base)
        yield self._root

    def _read(self, base: str, name: str) -> str:
        try:
            return self._disk.read_small(os.path.join(base, name), MOST_BYTES)[1].decode("utf-8", "replace")
        except (PathMissingError, DiskError):
            return ""


def _compare(code: _Code, scope: str, values: dict[str, Value]) -> Iterator[Finding]:
    """Compare what a context says with the code."""
    if values["scope"] != scope:
        yield Finding(scope, VIOLATION, "scope", f"says {values['scope']!r}")
    yield from _compare_files(code, scope, values)
    interfaces = [each["name"] for each in values.get("interfaces", []) if " /" not in each["name"]]
    for field, signatures in (("exports", values.get("exports", [])), ("interfaces", interfaces)):
        for signature in signatures:
            name = exported_name(signature)
            if name and name not in code.words:
                yield Finding(scope, VIOLATION, field, f"{name} is not in the code")
    for kind, dependencies in values.get("dependencies", {}).items():
        for dependency in dependencies:
            name = _dependency_name(dependency)
            if name and not code.names(name) and not (kind == "internal" and code.has(name)):
                yield Finding(scope, VIOLATION, f"dependencies.{kind}", f"{name} is not in the code")


def _compare_files(code: _Code, scope: str, values: dict[str, Value]) -> Iterator[Finding]:
    declared = [("files", each["name"]) for each in values.get("files", [])]
    declared += [("files", each["test_file"]) for each in values.get("files", []) if "test_file" in each]
    declared += [("subdirectories", each["name"]) for each in values.get("subdirectories", [])]
    declared += [("structure", each["path"]) for each in values.get("structure", [])]
    for field, name in declared:
        if not code.has(name):
            yield Finding(scope, VIOLATION, field, f"{name} is not there")
    listed = {name for _, name in declared}
    for file in code.directory.files if "files" in values else ():
        if is_source(file.name) and shown(file.name) not in listed:
            yield Finding(scope, NOTE, "files", f"{shown(file.name)} is not listed")


def exported_name(signature: str) -> str:
    """Give the name in a signature of whatever language; empty if there is none."""
    for text in (signature, _RECEIVER.sub(r"\1 ", signature)):  # the second for a method of Go
        words: list[str] = _WORD.findall(_SIGNATURE_ENDS.split(text, maxsplit=1)[0])
        if words and words[-1] not in _KEYWORDS and not words[-1].isdigit():
            return words[-1]
    return ""


def _dependency_name(dependency: str) -> str:
    """Give the package or the path that a dependency begins with; the rest is a version or an explanation."""
    found = _DEPENDENCY.match(dependency.strip())
    return found[0].rstrip(":/") if found else ""

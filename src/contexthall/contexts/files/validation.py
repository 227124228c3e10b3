"""Validation of contexts against their schema, and if wanted against the code.

Each context is judged on its own: an invalid one is a finding and stops no other.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from jsonschema import Draft202012Validator, ValidationError

from contexthall.contexts.answers import NOTE, VIOLATION, ContextEntry, ContextFinding, Report
from contexthall.contexts.files.claims import orphans
from contexthall.contexts.files.context_file import read_context, read_mapping
from contexthall.contexts.files.schema import CONTEXT_FILE, JSON_SCHEMA
from contexthall.contexts.files.yaml_text import Value, finite
from contexthall.contexts.project import Project
from contexthall.contexts.scan.directories import ScannedDirectory, is_source
from contexthall.core import limits
from contexthall.core.errors import ContextError, ContextVersionError, DiskError, HallError, PathMissingError
from contexthall.core.paths import native, shown
from contexthall.core.text import escaped, known, quoted
from contexthall.system.disk import Disk

_VALIDATOR = Draft202012Validator(JSON_SCHEMA)
_MESSAGES = {"not": "only the root of a project has it", "pattern": "must end with a slash"}
_WORD = re.compile(r"\w+")
_KEYWORDS = frozenset(["class", "def", "enum", "fn", "func", "function", "interface", "struct", "trait", "type"])
_MODIFIERS = re.compile(
    r"^(?:(?:export|default|declare|abstract|async|public|static|final|unsafe|pub(?:\([^)]*\))?)\s+)+"
)
_DECLARED = re.compile(
    r"(?:class|interface|type|enum|struct|trait|union|def|fn|function\*?|const|let|var|static|mod|namespace|module"
    r"|func(?:\s*\([^)]*\))?)\s+([^\W\d]\w*)"
)
_FILE_BEFORE = re.compile(r"^[^\s:]+\.\w+: ")
"""A drafted export begins with the file that it is in."""
_CALLED = re.compile(r"(?<!\w)([^\W\d]\w*+)\s*+\(")
_ALONE = re.compile(r"([^\W\d]\w*)(?:\s*[:=].*)?", re.DOTALL)
_DEPENDENCY = re.compile(r"@?[^\s,;<>=!~@\[(^]+")
_FILE: tuple[str, ...] = ("file",)
_DIRECTORY: tuple[str, ...] = ("directory",)
_ANYTHING = (*_FILE, *_DIRECTORY)
_MANIFESTS = ("package.json", "pyproject.toml", "setup.cfg", "setup.py", "requirements.txt", "Cargo.toml", "go.mod")


def validate_project(project: Project, *, is_strict: bool) -> Report:
    """Judge every context of a project by its schema, and if `is_strict` by the code as well."""
    report = validate(project.disk, project.base, project.overview().census.kept, is_strict=is_strict)
    return report._replace(findings=sorted([*report.findings, *_orphaned(project)]))


def _orphaned(project: Project) -> Iterator[ContextFinding]:
    """Yield the citations in the lock whose claim has another text now, or is gone."""
    lock = project.drift.lock()
    for scope in filter(lock.may_cite, lock.scopes):
        entry = lock.entry(scope)
        try:
            values = project.read(project.locate(scope))
        except HallError:  # a finding elsewhere, if there is such a directory
            continue
        for each in orphans(values, entry.citations if entry else ()):
            field = each.claim.partition("/")[0]
            message = f"{each.claim} cites {each.target}, and no claim has that text; `context note` cites again"
            yield ContextFinding(scope, NOTE, field, message)


def survey(project: Project) -> tuple[Sequence[ContextEntry], Report]:
    """Return the entries of all directories, and the validation of their contexts by the schema."""
    overview = project.overview()
    return overview.entries, validate(project.disk, project.base, overview.census.kept, is_strict=False)


def validate(disk: Disk, root: str, directories: Iterable[ScannedDirectory], *, is_strict: bool) -> Report:
    """Judge the contexts of `directories`."""
    findings: list[ContextFinding] = []
    counts = {"valid": 0, "invalid": 0, "missing": 0}
    for directory in directories:
        found = [*_judge(disk, root, directory, is_strict=is_strict)]
        is_broken = any(finding.severity == VIOLATION for finding in found)
        counts["invalid" if is_broken else "valid" if directory.context else "missing"] += 1
        findings += found
    return Report(**counts, findings=sorted(findings))


def _judge(disk: Disk, root: str, directory: ScannedDirectory, *, is_strict: bool) -> Iterator[ContextFinding]:
    scope = shown(directory.scope)
    if directory.error:
        yield ContextFinding(scope, VIOLATION, "", directory.error)
    if directory.context is None:
        return
    try:
        values = _values(disk, directory)
    except ContextVersionError as error:
        yield ContextFinding(scope, VIOLATION, "version", f"unsupported schema version {error.detail}")
        return
    except (ContextError, DiskError) as error:
        yield ContextFinding(scope, VIOLATION, "", error.detail)
        return
    faults = [_violation(scope, fault) for fault in _VALIDATOR.iter_errors(finite(values))]
    yield from faults
    if is_strict and not faults:
        yield from _compare(_Code(disk, root, directory), scope, values)


def _values(disk: Disk, directory: ScannedDirectory) -> dict[str, Value]:
    _, data = disk.read_small(os.path.join(directory.path, CONTEXT_FILE), limits.CONTEXT_FILE_BYTES)
    values = read_mapping(data)
    if isinstance(version := values.get("version"), int | float) and version > 1:
        read_context(data)
    return values


def _violation(scope: str, fault: ValidationError) -> ContextFinding:
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault.absolute_path)
    message = _MESSAGES.get(str(fault.validator), escaped(fault.message))
    return ContextFinding(scope, VIOLATION, field.lstrip("."), message)


class _Code:
    """The files of a directory, to compare a context with."""

    def __init__(self, disk: Disk, root: str, directory: ScannedDirectory) -> None:
        self._disk = disk
        self._root = root
        self.directory = directory
        texts = [self._read(directory.path, file.name) for file in directory.files if is_source(file.name)]
        self.is_known = all(text is not None for text in texts)
        """Whether all files were read: the others may hold anything."""
        self.text = "\n".join(text or "" for text in texts)
        self.words = frozenset(_WORD.findall(self.text))

    def has(self, name: str, kinds: Collection[str], *, anywhere: bool = False) -> bool:
        """Return whether a path leads to something of these kinds, from the directory or, if `anywhere`, the root."""
        bases = [self.directory.path, self._root] if anywhere else [self.directory.path]
        return any(self._leads_to(os.path.normpath(os.path.join(base, native(name))), base, kinds) for base in bases)

    def names(self, dependency: str) -> bool:
        """Return whether the code, or a manifest of the project, mentions a dependency."""
        manifests = [self._read(base, name) or "" for base in self._bases() for name in _MANIFESTS]
        pattern = "".join("[-_]" if each in "-_" else re.escape(each) for each in dependency.lower())
        text = "\n".join([self.text, *manifests]).lower()
        return re.search(rf"(?<![\w-]){pattern}(?![\w])", text) is not None

    def _leads_to(self, path: str, base: str, kinds: Collection[str]) -> bool:
        try:
            return path.startswith(f"{base}/") and self._disk.look(path).kind in kinds
        except PathMissingError:
            return False
        except DiskError:  # it may be there
            return True

    def _bases(self) -> Iterator[str]:
        base = self.directory.path
        while base != self._root:
            yield base
            base = os.path.dirname(base)
        yield self._root

    def _read(self, base: str, name: str) -> str | None:
        try:
            data = self._disk.read_small(os.path.join(base, name), limits.CONTEXT_FILE_BYTES)[1]
        except PathMissingError:
            return ""
        except DiskError:
            return None
        return known(data.decode("utf-8", "replace")) if len(data) <= limits.CONTEXT_FILE_BYTES else None


def _compare(code: _Code, scope: str, values: dict[str, Value]) -> Iterator[ContextFinding]:
    """Compare a context with the code."""
    if values["scope"] != scope:
        yield ContextFinding(scope, VIOLATION, "scope", f"says {quoted(values['scope'])}")
    yield from _compare_files(code, scope, values)
    if code.is_known:
        yield from _compare_names(code, scope, values)


def _compare_names(code: _Code, scope: str, values: dict[str, Value]) -> Iterator[ContextFinding]:
    interfaces = [each["name"] for each in values.get("interfaces", []) if " /" not in each["name"]]
    for field, signatures in (("exports", values.get("exports", [])), ("interfaces", interfaces)):
        for signature in signatures:
            name = exported_name(signature)
            if name and name not in code.words:
                yield ContextFinding(scope, VIOLATION, field, f"{name} is not in the code")
    for kind, dependencies in values.get("dependencies", {}).items():
        for dependency in dependencies:
            name = dependency_name(dependency)
            is_there = kind == "internal" and code.has(name, _ANYTHING, anywhere=True)
            if name and not is_there and not code.names(name):
                yield ContextFinding(scope, VIOLATION, f"dependencies.{kind}", f"{name} is not in the code")


def _compare_files(code: _Code, scope: str, values: dict[str, Value]) -> Iterator[ContextFinding]:
    files = values.get("files", [])
    declared = [("files", each["name"], _FILE, False) for each in files]
    declared += [("files", each["test_file"], _FILE, True) for each in files if "test_file" in each]
    declared += [("subdirectories", each["name"], _DIRECTORY, False) for each in values.get("subdirectories", [])]
    declared += [("structure", each["path"], _ANYTHING, True) for each in values.get("structure", [])]
    for field, name, kinds, anywhere in declared:
        if not code.has(name, kinds, anywhere=anywhere):
            yield ContextFinding(scope, VIOLATION, field, f"{name} is not there")
    listed = {name for _, name, _, _ in declared}
    for file in code.directory.files if "files" in values else ():
        if is_source(file.name) and shown(file.name) not in listed:
            yield ContextFinding(scope, NOTE, "files", f"{shown(file.name)} is not listed")


def exported_name(signature: str) -> str:
    """Return the name in a signature of any language; empty if it is ambiguous."""
    text = _MODIFIERS.sub("", _FILE_BEFORE.sub("", known(signature).strip(), count=1))
    declared = _DECLARED.match(text) or _CALLED.search(text) or _ALONE.fullmatch(text)
    return declared[1] if declared and declared[1] not in _KEYWORDS else ""


def dependency_name(dependency: str) -> str:
    """Return the package or the path at the beginning of a dependency, before a version or an explanation."""
    found = _DEPENDENCY.match(known(dependency).strip())
    return found[0].rstrip(":/") if found else ""

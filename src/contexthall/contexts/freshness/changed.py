"""The contexts and claims that do not hold, of those that changed files affect. For pull requests; git is never run."""

import os
import re
from collections.abc import Collection, Iterable

from contexthall.contexts.answers import ChangedReport, FailingClaim
from contexthall.contexts.files.claims import failing, judge_citations
from contexthall.contexts.project import STALE, Project
from contexthall.core.errors import ContextError, HallError
from contexthall.core.paths import shown

_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def read_names(data: bytes) -> list[str]:
    """Return the file names in a list as git prints it: a line each, quoted where need be, or NUL after each."""
    if b"\0" in data:
        return [os.fsdecode(name) for name in data.split(b"\0") if name]
    return [os.fsdecode(_unquoted(line)) for line in data.splitlines() if line]


def _unquoted(line: bytes) -> bytes:
    if not (line.startswith(b'"') and line.endswith(b'"') and len(line) > 1):
        return line
    return _ESCAPE.sub(_unescaped, line[1:-1])


def _unescaped(found: re.Match[bytes]) -> bytes:
    code = found[1]
    return bytes([int(code, 8) & 0xFF]) if code.isdigit() else _ESCAPED.get(code, code)


def check_changed(project: Project, names: Iterable[str]) -> ChangedReport:
    """Judge the contexts of the directories in which files changed, and the claims that cite these files.

    Names outside of the project and directories without a context are skipped.
    """
    places = {place for name in names if (place := _place(project, name)) is not None}
    scopes = sorted({os.path.dirname(place) or "." for place in places})
    reports = [project.check_freshness(shown(scope)) for scope in scopes]
    return ChangedReport([each for each in reports if each.state == STALE], _failing(project, {*map(shown, places)}))


def _place(project: Project, name: str) -> str | None:
    try:
        return project.locate(name)
    except HallError:
        return None


def _failing(project: Project, paths: Collection[str]) -> list[FailingClaim]:
    lock = project.drift.lock()
    found = []
    for scope in filter(lock.may_cite, lock.scopes):
        entry = lock.entry(scope)
        cited = [each for each in entry.citations if os.path.normpath(each.path) in paths] if entry else []
        try:
            values = project.read(project.locate(scope)) if cited else {}
        except ContextError:
            continue
        judged = failing(judge_citations(values, cited, project.drift.look_up))
        found += [FailingClaim(scope, each) for each in judged]
    return found

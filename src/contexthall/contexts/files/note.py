"""Adding a claim to a context, and its citations to the lock. No other byte of either changes."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from contexthall.contexts.files import yaml_text
from contexthall.contexts.files.claims import CLAIM_FIELDS, Claim, claims_of
from contexthall.contexts.files.context_file import read_context
from contexthall.contexts.files.edit import append_item
from contexthall.contexts.files.lock import LOCK_FILE, Citation, Lock, LockEntry
from contexthall.contexts.files.lock_file import update_lock
from contexthall.contexts.files.schema import CONTEXT_FILE, MAINTENANCE, VERSION, in_order
from contexthall.contexts.files.writing import as_bytes, as_text, put, readable_contents, rewrite, scan_to_write
from contexthall.contexts.files.yaml_text import Value
from contexthall.contexts.freshness.heads import read_bytes_of
from contexthall.contexts.project import Project
from contexthall.contexts.scan.directories import ScannedDirectory
from contexthall.core import limits
from contexthall.core.errors import DiskError, ScopeError, UsageError
from contexthall.core.paths import shown

_PLACE = re.compile(rf"({'|'.join(CLAIM_FIELDS)})/([0-9a-f]+)")

_NO_EVIDENCE = re.compile(rf"(?:^|/)(?:\.git(?:/|$)|(?:{re.escape(CONTEXT_FILE)}|{re.escape(LOCK_FILE)})$)")


class Noted(NamedTuple):
    """A claim that was added, or that got citations."""

    scope: str
    claim: Claim
    citations: tuple[Citation, ...]
    is_new: bool
    """False for a claim that was there already."""


def note_claim(
    project: Project, place: str, field: str, value: Value, targets: Sequence[str], *, begin_at: str = ""
) -> Noted:
    """Add a claim to the context of a directory, unless it is there; each target is PATH or PATH#SYMBOL.

    With a time to `begin_at`, a new context is written, whose summary is the claim.
    """
    directory = scan_to_write(project, place)
    [claim] = claims_of({field: [value]})
    if begin_at:
        before = _first_context(project, directory, claim.text, begin_at)
    else:
        _, before = read_bytes_of(project.disk, directory.path)
    values = read_context(before)
    is_new = claim.name not in {each.name for each in claims_of(values)}
    cited = [cite(project, place, claim, target) for target in targets]
    if is_new:
        after = as_bytes(append_item(as_text(before), field, value), like=before)
        if len(after) > limits.CONTEXT_FILE_BYTES:
            raise UsageError(f"{CONTEXT_FILE} would be larger than {limits.CONTEXT_FILE_BYTES} bytes")
        values = read_context(after)
        if not begin_at:
            rewrite(project.disk, directory, CONTEXT_FILE, before, after)
        elif not put(project.disk, directory, CONTEXT_FILE, after):
            raise UsageError(f"somebody else has written {CONTEXT_FILE} meanwhile", hint="try again")
    add_citations(project, shown(place), cited)
    return Noted(shown(place), find_claim(values, claim.name), tuple(cited), is_new)


def _first_context(project: Project, directory: ScannedDirectory, summary: str, now: str) -> bytes:
    values: dict[str, object] = {
        "version": VERSION,
        "scope": shown(directory.scope),
        "fingerprint": readable_contents(project.disk, directory).fingerprint,
        "last_updated": now,
        "summary": summary,
        "maintenance": MAINTENANCE,
    }
    return yaml_text.write(in_order(values)).encode()


def cite_for(project: Project, place: str, name: str, targets: Sequence[str]) -> Noted:
    """Add citations to an existing claim; `name` is `decisions/1`, or its name in the lock."""
    claim = find_claim(project.read(place), name)
    cited = [cite(project, place, claim, target) for target in targets]
    add_citations(project, shown(place), cited)
    return Noted(shown(place), claim, tuple(cited), is_new=False)


def find_claim(values: dict[str, Value], name: str) -> Claim:
    """Return the claim with a name such as `decisions/1` or `decisions/9c0ffee1`."""
    found = [each for each in claims_of(values) if name in {each.place, each.name}]
    if not _PLACE.fullmatch(name) or not found:
        raise UsageError(f"there is no claim {name}", hint="`decisions/1` is the first of the decisions")
    return found[0]


def cite(project: Project, place: str, claim: Claim, target: str) -> Citation:
    """Return a citation of a target as it is now; its path is tried from the root, then from the scope."""
    path, _, symbol = target.partition("#")
    for base in dict.fromkeys((".", place)):
        with suppress(ScopeError):
            found = project.locate(os.path.join(base, path))
            if _NO_EVIDENCE.search(found):
                raise UsageError(f"{target} cannot be cited: it changes with every note or in every clone")
            citation = Citation(claim.name, shown(found), symbol)
            with suppress(DiskError):
                digest = project.drift.digest(found, symbol)
                if digest is not None:
                    return citation._replace(digest=digest)
    if symbol:
        hint = "cite the file alone, or a definition by its name, such as `rotate` or `Keys.rotate`"
        raise UsageError(f"{target} cannot be cited: there is no such definition", hint=hint)
    hint = f"name a file of the project, no symlink, of at most {limits.DRAFTED_FILE_BYTES} bytes"
    raise UsageError(f"{target} cannot be cited", hint=hint)


def add_citations(project: Project, scope: str, cited: Sequence[Citation]) -> None:
    """Write citations into the lock; they replace those with the same claims and targets."""
    if not cited:
        return
    new = {(each.claim, each.target) for each in cited}

    def decide(lock: Lock) -> dict[str, LockEntry | None]:
        before = lock.entry(scope) or LockEntry()
        kept = [each for each in before.citations if (each.claim, each.target) not in new]
        return {scope: before._replace(citations=tuple(sorted({*kept, *cited})))}

    update_lock(project, decide)

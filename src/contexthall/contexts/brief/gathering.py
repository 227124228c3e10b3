"""What people wrote about a path: claims of the contexts from the root down to it, then the rule files that apply.

Drafted fields are left out. The caller passes a function that looks up evidence.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from os.path import dirname, join
from typing import NamedTuple

from contexthall.contexts.brief.brief import BriefItem
from contexthall.contexts.brief.rule_files import RuleFile, find_rules
from contexthall.contexts.files.claims import Claim, JudgedCitation, claims_of, failing, human_fields, judge_citations
from contexthall.contexts.files.context_file import read_context
from contexthall.contexts.files.lock import Citation, Lock
from contexthall.contexts.files.schema import CONTEXT_FILE
from contexthall.contexts.files.yaml_text import Value
from contexthall.contexts.scan.directories import ROOT
from contexthall.core import limits
from contexthall.core.errors import ContextError, DiskError
from contexthall.system.disk import Disk

LookUp = Callable[[Citation], str | None]
"""Takes a citation, returns the digest of its evidence now; None if that is gone."""


class Target(NamedTuple):
    """The path that a brief is about."""

    path: str
    """From the root; it may not exist."""
    directory: str
    """The nearest directory that exists."""
    names: Collection[str] | None
    """The files in it, if the path is that directory; None if it is a file."""


def find_target(disk: Disk, root: str, path: str) -> Target:
    """Return the target of a path: a directory, or a file in one."""
    if _kind(disk, join(root, path)) == "directory":
        names: list[str] = []
        with suppress(DiskError):
            names = [each.name for each in disk.list(join(root, path)) if each.kind == "file"]
        return Target(path, path, names)
    directory = dirname(path) or ROOT
    while directory != ROOT and _kind(disk, join(root, directory)) != "directory":
        directory = dirname(directory) or ROOT
    return Target(path, directory, None)


def levels(directory: str) -> list[str]:
    """Return the directories from the root down to this one."""
    parts = [] if directory == ROOT else directory.split("/")
    return [ROOT, *("/".join(parts[:end]) for end in range(1, len(parts) + 1))]


def gather(disk: Disk, root: str, target: Target, lock: Lock, look_up: LookUp) -> list[BriefItem]:
    """Return all items about a target, in the order of a brief."""
    places = levels(target.directory)
    claims = [item for place in places for item in claims_at(disk, root, place, lock, look_up)]
    rules = [(rule, rule.why(target.path, target.names)) for rule in find_rules(disk, root, places)]
    return [*claims, *(_rule_item(rule, why) for rule, why in rules if why)]


def claims_at(disk: Disk, root: str, place: str, lock: Lock, look_up: LookUp) -> Iterator[BriefItem]:
    """Yield the claims that people wrote about one directory."""
    values, entry = read_values(disk, root, place), lock.entry(place)
    written = human_fields(values, entry)
    judged = judge_citations(values, entry.citations if entry else (), look_up)
    for claim in claims_of(values):
        if claim.field in written:
            yield _claim_item(place, claim, [each for each in judged if each.claim == claim])


def read_values(disk: Disk, root: str, place: str) -> dict[str, Value]:
    """Return the fields of a directory's context; none if it cannot be read."""
    with suppress(DiskError, ContextError):
        path = CONTEXT_FILE if place == ROOT else join(place, CONTEXT_FILE)
        return read_context(disk.read_small(join(root, path), limits.CONTEXT_FILE_BYTES)[1])
    return {}


def _claim_item(place: str, claim: Claim, judged: list[JudgedCitation]) -> BriefItem:
    failed = tuple(
        f"{each.citation.target} {'is gone' if each.verdict == 'gone' else 'changed'}" for each in failing(judged)
    )
    where = "the project" if place == ROOT else f"{place}/"
    return BriefItem(
        "constraint" if claim.field == "constraints" else "decision",
        claim.text,
        CONTEXT_FILE if place == ROOT else join(place, CONTEXT_FILE),
        f"it is about all of {where}",
        claim.why,
        not failed if judged else None,
        failed,
        place=place,
    )


def _rule_item(rule: RuleFile, why: str) -> BriefItem:
    gone = tuple(f"{name} is gone" for name in rule.gone)
    holds = not gone if rule.names_paths else None
    text = rule.text or f"({rule.fault})"
    return BriefItem("rule", text, rule.path, why, "", holds, gone, place=rule.base, also=rule.also)


def _kind(disk: Disk, path: str) -> str | None:
    with suppress(DiskError):
        return disk.kind(path, follow=False)
    return None

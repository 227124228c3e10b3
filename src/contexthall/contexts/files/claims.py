"""Claims: what people wrote into a context, the evidence that they cite, and whether it still holds.

Pure: the evidence as it is now is an argument.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from contexthall.contexts.files.drafted_fields import DIGITS, derived_fields, digests, flatten
from contexthall.contexts.files.lock import Citation, LockEntry
from contexthall.contexts.files.schema import METADATA
from contexthall.contexts.files.yaml_text import Value, finite
from contexthall.core.wire import compact

CLAIM_FIELDS: Final = ("constraints", "decisions")
HOLDS, CHANGED, GONE = VERDICTS = ("holds", "changed", "gone")
_NAMED_LINES, _LINES_ABOVE, _LINES_BELOW = 8, 4, 200
"""Where the definition of a symbol is looked for without a parser."""
_METADATA_FIELDS = frozenset([*METADATA, "derived_fields", "evidence"])


class Claim(NamedTuple):
    """A constraint or a decision: something that a person states about a directory."""

    field: str
    number: int
    """Its place in the list, from 1."""
    text: str
    why: str = ""

    @property
    def name(self) -> str:
        """In the lock: `constraints/9c0ffee1`. Another text is another claim."""
        return f"{self.field}/{text_digest(self.text)}"

    @property
    def place(self) -> str:
        """For people: `constraints/1`."""
        return f"{self.field}/{self.number}"


class JudgedCitation(NamedTuple):
    """A citation of a claim, and whether its evidence still holds."""

    claim: Claim
    citation: Citation
    verdict: str


def text_digest(text: str) -> str:
    """Return eight hex digits for a text; trailing blanks and trailing empty lines do not count."""
    lines = "\n".join(line.rstrip() for line in text.splitlines()).rstrip()
    return sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]


def stands_in(text: str, citation: Citation) -> bool:
    """Return whether some lines of a text have the digest of a citation, beginning near where its symbol is named.

    If so, the citation holds, and the text need not be parsed; if not, the definition may still be there.
    """
    lines, name = text.splitlines(), citation.symbol.rpartition(".")[2]
    named = [at for at, line in enumerate(lines) if name in line][:_NAMED_LINES]
    starts = {start for at in named for start in range(max(at - _LINES_ABOVE, 0), at + 1)}
    return any(_begins_at(lines, start, citation.digest) for start in sorted(starts))


def _begins_at(lines: Sequence[str], start: int, digest: str) -> bool:
    seen = sha256()
    for at, line in enumerate(lines[start : start + _LINES_BELOW]):
        text = line.strip() if at == 0 else line.rstrip()
        seen.update((text if at == 0 else f"\n{text}").encode("utf-8", "surrogatepass"))
        if text and seen.hexdigest()[:DIGITS] == digest:
            return True
    return False


def claims_of(values: Mapping[str, Value]) -> list[Claim]:
    """Return the claims of a context, field by field."""
    return [
        Claim(field, number, *_words(value))
        for field in CLAIM_FIELDS
        for number, value in enumerate(_list(values.get(field)), 1)
    ]


def human_fields(values: Mapping[str, Value], entry: LockEntry | None = None) -> dict[str, Value]:
    """Return the fields of a context that people wrote, those of `dependencies` one by one.

    A field is the machine's if `derived_fields` names it and its value is the one that was drafted, as far as the lock
    knows which that was.
    """
    derived, edited = {*derived_fields(values)}, edited_fields(values, entry)
    flat = {name: value for name, value in values.items() if name not in _METADATA_FIELDS and name != "dependencies"}
    flat |= {name: value for name, value in flatten(values).items() if name.startswith("dependencies.")}
    return {
        name: value for name, value in flat.items() if name in edited or not derived & {name, name.partition(".")[0]}
    }


def edited_fields(values: Mapping[str, Value], entry: LockEntry | None) -> set[str]:
    """Return the fields that were drafted, and that a person has changed since."""
    if entry is None:
        return set()
    drafted = entry.drafted
    return {name for name, digest in digests(values).items() if name in drafted and digest not in drafted[name].split()}


def drafted_digests(values: Mapping[str, Value]) -> dict[str, str]:
    """Return the digests of the fields that `derived_fields` names."""
    derived = {*derived_fields(values)}
    return {name: each for name, each in digests(values).items() if derived & {name, name.partition(".")[0]}}


def judge_citations(
    values: Mapping[str, Value], citations: Iterable[Citation], look_up: Callable[[Citation], str | None]
) -> list[JudgedCitation]:
    """Judge the citations of a context; `look_up` returns the digest of the evidence now, None if it is gone."""
    claims = {claim.name: claim for claim in claims_of(values)}
    known = [(claims[each.claim], each) for each in citations if each.claim in claims]
    found = [JudgedCitation(claim, each, _verdict(each, look_up(each))) for claim, each in known]
    return sorted(found, key=lambda each: (each.claim.field, each.claim.number, each.citation))


def failing(judged: Iterable[JudgedCitation]) -> list[JudgedCitation]:
    """Return the citations that no longer hold."""
    return [each for each in judged if each.verdict != HOLDS]


def orphans(values: Mapping[str, Value], citations: Iterable[Citation]) -> list[Citation]:
    """Return the citations whose claim has another text now, or is gone."""
    names = {claim.name for claim in claims_of(values)}
    return [each for each in citations if each.claim not in names]


def _verdict(citation: Citation, now: str | None) -> str:
    if now is None:
        return GONE
    return HOLDS if now == citation.digest else CHANGED


def _words(value: Value) -> tuple[str, str]:
    """Return the text of a claim, and its reason."""
    if isinstance(value, dict):
        what, why = value.get("what"), value.get("why")
        return (what if isinstance(what, str) else _as_json(value)), (why if isinstance(why, str) else "")
    return (value if isinstance(value, str) else _as_json(value)), ""


def _as_json(value: Value) -> str:
    return compact(finite(value))


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []

"""What the contract says a cache version and a selection are, read aloud.

Slow and literal on purpose, and sharing nothing with the package: sections 2 and 3 of the contracts, sentence by
sentence, with whole numbers and fractions where the real thing uses floats.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from itertools import count

WHITE_SPACE = frozenset(
    "\u0009\u000a\u000b\u000c\u000d\u0020\u0085\u00a0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
SHORT_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}
BUILD_CONFIG = '{"version":"1","hash_algorithm":"sha256"}'
SINGLE_BITS = 24
SMALLEST_FIXED_EXPONENT = -6


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A document and what the query makes of it."""

    id: str
    version: str
    content: str
    score: Fraction
    score_text: str
    tokens: int
    term_matches: int
    total_words: int


def words(text: str) -> list[str]:
    """Lower-case the whole text, then split at runs of white space."""
    found = [""]
    for character in text.lower():
        if character in WHITE_SPACE:
            found.append("")
        else:
            found[-1] += character
    return [word for word in found if word]


def nearest_single(value: Fraction) -> Fraction:
    """Round a number that is not negative to IEEE single precision, ties to even (subnormals are out of reach here)."""
    if value == 0:
        return value
    unit = Fraction(1)
    while value / unit >= 2**SINGLE_BITS:
        unit *= 2
    while value / unit < 2 ** (SINGLE_BITS - 1):
        unit /= 2
    return round(value / unit) * unit  # Fraction rounds halves to even


def score(matches: int, total: int) -> Fraction:
    """Divide in single precision, both numbers converted first."""
    if total == 0:
        return Fraction(0)
    return nearest_single(nearest_single(Fraction(matches)) / nearest_single(Fraction(total)))


def score_text(matches: int, total: int) -> str:
    single = score(matches, total)
    if single == 0:
        return "0.0"
    digits, exponent = _shortest(single)
    if exponent < SMALLEST_FIXED_EXPONENT:
        return ".".join(filter(None, (digits[0], digits[1:]))) + f"e{exponent}"
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    digits = digits.ljust(exponent + 1, "0")
    return digits[: exponent + 1] + "." + (digits[exponent + 1 :] or "0")


def _shortest(single: Fraction) -> tuple[str, int]:
    """Find the shortest digits that read back as `single`, and the power of ten of the first one.

    Both neighbours are tried at every length: next to a power of two the interval that reads back is lopsided, and the
    nearer neighbour may lie outside it while the farther one lies inside. Of two that are equally near, the even one.
    """
    exponent = 0
    while single >= Fraction(10) ** (exponent + 1):
        exponent += 1
    while single < Fraction(10) ** exponent:
        exponent -= 1
    for length in count(1):
        step = Fraction(10) ** (exponent + 1 - length)
        below = single // step
        readable = [number for number in (below, below + 1) if nearest_single(number * step) == single]
        if readable:
            number = min(readable, key=lambda number: (abs(number * step - single), number % 2))
            carried = len(str(number)) - length
            return str(number).rstrip("0"), exponent + carried
    raise AssertionError


def tokens(content: str) -> int:
    """Count a token for every four bytes begun."""
    size = len(content.encode("utf-8"))
    return size // 4 + (1 if size % 4 else 0)


def document_version(content: str) -> str:
    return "sha256:" + sha256(content.encode("utf-8")).hexdigest()


def by_id(documents: dict[str, str]) -> dict[str, str]:
    """Key the contents by document id, in id order."""
    found = {source.lower(): content for source, content in documents.items()}
    if len(found) != len(documents):
        raise ValueError("duplicate ids")
    return dict(sorted(found.items()))


def cache_version(documents: dict[str, str]) -> str:
    listed = "".join(f"{id_}:{document_version(content)}" for id_, content in by_id(documents).items())
    return "sha256:" + sha256((BUILD_CONFIG + listed).encode("utf-8")).hexdigest()


def resolve(documents: dict[str, str], query: str, budget: int) -> str:
    """Give the exact text of a result, its final newline included."""
    terms = words(query)
    candidates = [_weigh(id_, content, terms) for id_, content in by_id(documents).items()]
    candidates.sort(key=lambda candidate: (-candidate.score, candidate.id))
    selected: list[Candidate] = []
    tokens_used = 0
    for candidate in candidates:
        if budget > 0 and tokens_used + candidate.tokens <= budget:
            selected.append(candidate)
            tokens_used += candidate.tokens
    selection = _object(
        query=_string(query),
        budget=str(budget),
        tokens_used=str(tokens_used),
        documents_considered=str(len(candidates)),
        documents_selected=str(len(selected)),
        documents_excluded_by_budget=str(len(candidates) - len(selected)),
    )
    return _object(documents=_array(_document(candidate, terms) for candidate in selected), selection=selection) + "\n"


def _weigh(id_: str, content: str, terms: list[str]) -> Candidate:
    total = words(content)
    matches = [word for word in total if word in terms]
    return Candidate(
        id=id_,
        version=document_version(content),
        content=content,
        score=score(len(matches), len(total)),
        score_text=score_text(len(matches), len(total)),
        tokens=tokens(content),
        term_matches=len(matches),
        total_words=len(total),
    )


def _document(candidate: Candidate, terms: list[str]) -> str:
    why = _object(
        query_terms=_array(_string(term) for term in terms),
        term_matches=str(candidate.term_matches),
        total_words=str(candidate.total_words),
    )
    return _object(
        id=_string(candidate.id),
        version=_string(candidate.version),
        content=_string(candidate.content),
        score=candidate.score_text,
        tokens=str(candidate.tokens),
        why=why,
    )


def _object(**fields: str) -> str:
    return "{" + ",".join(f'"{name}":{text}' for name, text in fields.items()) + "}"


def _array(items: Iterable[str]) -> str:
    return "[" + ",".join(items) + "]"


def _string(value: str) -> str:
    return '"' + "".join(_character(character) for character in value) + '"'


def _character(character: str) -> str:
    if character in SHORT_ESCAPES:
        return SHORT_ESCAPES[character]
    return f"\\u{ord(character):04x}" if character < "\u0020" else character

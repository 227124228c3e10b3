"""Search for tools, best first: words that few tools have count most, and so do words in a tool's name.

Pure, and the same list for the same tools and query, however the tools are ordered.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import log
from typing import Any, NamedTuple

from contexthall.core.text import known

_RUN = re.compile(r"[^\W_]+")
# A hump begins at a capital after a small letter, and at the last of several before one; the s of URLs begins nothing.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
_SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)[.!?](?=\s+[^a-z\s])")
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_VOWELS = frozenset("aeiouy")
_NAME_WEIGHT, _MEMBER_WEIGHT, _OTHER_WEIGHT = 4.0, 3.0, 1.0
_FULL, _HALF = 1.0, 0.5
_SHORTEST_PREFIX = 3
_SHORTEST_STEM = 2


class ListedTool(NamedTuple):
    """A tool that can be found: the name the agent sees, the member whose it is, and its definition."""

    name: str
    member: str
    definition: Mapping[str, Any]


def find(listed: Sequence[ListedTool], query: str, limit: int = 10) -> list[ListedTool]:
    """Return the tools that fit, the best first; for an empty query all, by name."""
    wanted = query.strip()
    if not wanted:
        return sorted(listed, key=_place)[: max(limit, 0)]
    scores = _scores(listed, wanted)
    for number, tool in enumerate(listed):
        if wanted in (tool.name, tool.definition.get("name")):
            scores[number] = float("inf")
    best = sorted(scores, key=lambda number: (-scores[number], _place(listed[number])))
    return [listed[number] for number in best[: max(limit, 0)]]


def one_line(definition: Mapping[str, Any], most: int = 120) -> str:
    """Return the first sentence of a tool's description, else its title, in at most that many characters."""
    lines = _text(definition.get("description")).strip().splitlines() or [_title(definition)]
    end = _SENTENCE_END.search(lines[0])
    line = _BLANKS.sub(" ", lines[0][: end.end()] if end else lines[0]).strip()
    if len(line) <= most:
        return line
    start = line[:most]
    whole_words = start[: start.rfind(" ")] if " " in start else start[: most - 1]
    return whole_words.rstrip(" ,;:.-") + "…"


def _place(tool: ListedTool) -> tuple[str, str]:
    return tool.name, tool.member


def _scores(listed: Sequence[ListedTool], query: str) -> dict[int, float]:
    wanted = tuple(dict.fromkeys(word for run in _runs(query) for word in _words(run)))
    hits = _hits(listed, wanted)
    scores: defaultdict[int, float] = defaultdict(float)
    for word in wanted:
        for number, weight in hits[word].items():
            scores[number] += weight * log(1 + len(listed) / len(hits[word]))
    return scores


def _hits(listed: Sequence[ListedTool], wanted: tuple[str, ...]) -> Mapping[str, Mapping[int, float]]:
    """Return for each wanted word the tools that have it, and its weight there."""
    fields = [
        (number, weight, set(_runs(text))) for number, tool in enumerate(listed) for text, weight in _fields(tool)
    ]
    matches = _matches(set().union(*(runs for _, _, runs in fields)), wanted)
    matching = frozenset(matches)
    hits: defaultdict[str, defaultdict[int, float]] = defaultdict(lambda: defaultdict(float))
    for number, weight, runs in fields:
        for word, strength in _strongest(matches[run] for run in runs & matching).items():
            hits[word][number] += weight * strength
    return hits


def _fields(tool: ListedTool) -> Iterator[tuple[str, float]]:
    definition = tool.definition
    yield f"{_text(definition.get('name')) or tool.name} {_title(definition)}", _NAME_WEIGHT
    yield tool.member, _MEMBER_WEIGHT
    yield _text(definition.get("description")), _OTHER_WEIGHT
    schema = definition.get("inputSchema")
    parameters = schema.get("properties") if isinstance(schema, Mapping) else None
    if isinstance(parameters, Mapping):
        yield " ".join(parameters), _OTHER_WEIGHT


def _matches(runs: Iterable[str], wanted: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """Return which words each run of letters matches and how well, without runs that match none."""
    beginnings = tuple(word for word in wanted if len(word) >= _SHORTEST_PREFIX)
    forms: defaultdict[str, list[str]] = defaultdict(list)
    for word in wanted:
        forms[_folded(word)].append(word)
    matches = {run: _match(run, beginnings, forms) for run in runs}
    return {run: match for run, match in matches.items() if match}


def _match(run: str, beginnings: tuple[str, ...], forms: Mapping[str, Sequence[str]]) -> dict[str, float]:
    match: dict[str, float] = {}
    words = _words(run)
    for word in words:
        if word.startswith(beginnings):
            match |= {beginning: _HALF for beginning in beginnings if word.startswith(beginning)}
    for word in words:
        match |= dict.fromkeys(forms.get(_folded(word), ()), _FULL)
    return match


def _strongest(matches: Iterable[Mapping[str, float]]) -> dict[str, float]:
    strongest: dict[str, float] = {}
    for match in matches:
        for word, strength in match.items():
            strongest[word] = max(strength, strongest.get(word, 0))
    return strongest


def _runs(text: str) -> list[str]:
    """Split text at whatever is no letter and no digit."""
    return _RUN.findall(text if text.isascii() else unicodedata.normalize("NFKC", known(text)))


@lru_cache(maxsize=1 << 14)
def _words(run: str) -> tuple[str, ...]:
    """Return the words of a run, in lower case: camelCase counts as its humps and as a whole."""
    humps = [hump.casefold() for hump in _HUMP.split(run)]
    return (humps[0],) if len(humps) == 1 else (*humps, run.casefold())


@lru_cache(maxsize=1 << 14)
def _folded(word: str) -> str:
    """Reduce a word to what it shares with its plural and with its forms in -ing and -ed."""
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > _SHORTEST_STEM:
        word = word[:-1]
    for ending in ("ing", "ed", "e"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= _SHORTEST_STEM and not _VOWELS.isdisjoint(stem):
            word = stem
            break
    if word.endswith("y"):
        word = word[:-1] + "i"
    is_doubled = word[-2:-1] == word[-1:] and word.isalpha()
    return word[:-1] if is_doubled else word


def _title(definition: Mapping[str, Any]) -> str:
    annotations = definition.get("annotations")
    title = annotations.get("title") if isinstance(annotations, Mapping) else None
    return _text(definition.get("title")) or _text(title)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

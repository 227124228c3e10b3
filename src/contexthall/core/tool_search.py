"""Which tool does somebody mean? Tools in order of the words that they share with a query, in integers.

As sections of documents are ranked (contract, section 8), with fields, stop words, stems and constants of its own:
BM25F over name, member, description and parameters, k1 1.2, b 0.75. Pure, and the same for the same tools and query.
"""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from heapq import nlargest
from itertools import chain, islice, pairwise
from typing import NamedTuple

from contexthall.core import limits
from contexthall.core.bm25 import WEIGHT, idf, saturated
from contexthall.core.text import known

_STOP_WORDS = """
a about also am an and any are as at be but by can could do does for from had has have he her his how i if in into is it
its just let m me my need of on or our please s she should so some t that the their them then there these they this to
us want was we what when where whether which who why will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

_RUN = re.compile(r"[^\W_]+")
# A hump begins at a capital after a small letter, and at the last of several before one; the s of URLs begins nothing.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
# Scripts that put no spaces between words: their pairs of neighbours count.
_UNSPACED = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
_VOWELS = frozenset("aeiouy")
_SHORTEST_PREFIX = 3
_LAST = "\U0010ffff"  # comes after every letter
_SHORTEST_STEM = 2


class ToolText(NamedTuple):
    """What is searched of a tool."""

    name: str
    """Its title, too."""
    member: str
    description: str
    parameters: str
    """Their names and descriptions."""


_WEIGHTS = (6, 3, 2, 1)  # of the fields, in halves
_SLOPE = 48  # 16 times b / (1 - b)


class FoundTools(NamedTuple):
    """The best tools by number, best first, with their scores, and the words of the query that no tool has."""

    best: list[tuple[int, int]]
    unmatched: list[str]


class ToolIndex:
    """The words of some tools: made once, asked often. Of equally good tools the earlier one is the better."""

    def __init__(self, tools: Sequence[ToolText]) -> None:
        self._count = len(tools)
        self._lengths: list[list[int]] = []
        self._places: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
        """The tools that have a stem, with the field and how often."""
        for number, tool in enumerate(tools):
            counted = [Counter(stems(text)) for text in tool]
            self._lengths.append([each.total() for each in counted])
            for field, counts in enumerate(counted):
                for stem, frequency in counts.items():
                    self._places[stem].append((number, field, frequency))
        self._worths: dict[str, Mapping[int, int]] = {}
        """What a stem adds to the score of each tool, as far as it has been asked for."""

    def find(self, query: str, limit: int) -> FoundTools:
        """Return the tools that have a word of the query, the best of them first."""
        runs = list(islice(dict.fromkeys(_runs(query)), limits.TOOL_QUERY_WORDS))
        found = {run: [self._worth(word) for word in words] for run in runs if (words := _words(run))}
        scores: defaultdict[int, int] = defaultdict(int)
        for worth in {stem: worth for every in found.values() for stem, worth in every}.values():
            for number, points in worth.items():
                scores[number] += points
        missed = (run.casefold() for run, every in found.items() if not any(worth for _, worth in every))
        return FoundTools(_best(scores, limit), list(dict.fromkeys(missed)))

    def _worth(self, word: str) -> tuple[str, Mapping[int, int]]:
        """Return the stem of a word and what it adds to the score of each tool; half of it for a mere beginning."""
        stem = _stem(word)
        if stem in self._places:
            if stem not in self._worths:
                self._worths[stem] = self._points(self._weights(stem), 1)
            return stem, self._worths[stem]
        weights: dict[int, int] = {}
        for each in self._beginning_with(word):
            for number, weight in self._weights(each).items():
                weights[number] = max(weight, weights.get(number, 0))
        return stem, self._points(weights, 2)

    def _points(self, weights: Mapping[int, int], divisor: int) -> dict[int, int]:
        rarity = idf(self._count, len(weights))
        return {number: saturated(rarity, weight) // divisor for number, weight in weights.items()}

    def _weights(self, stem: str) -> Mapping[int, int]:
        """Return the weights of a stem in the tools that have it."""
        weights: defaultdict[int, int] = defaultdict(int)
        for number, field, frequency in self._places[stem]:
            average = self._averages[field]
            factor = WEIGHT * _WEIGHTS[field] * frequency * average
            weights[number] += factor // (average + _SLOPE * self._lengths[number][field])
        return weights

    @cached_property
    def _averages(self) -> list[int]:
        return [max(1, 16 * sum(lengths) // self._count) for lengths in zip(*self._lengths, strict=True)]

    @cached_property
    def _vocabulary(self) -> list[str]:
        return sorted(self._places)

    def _beginning_with(self, word: str) -> list[str]:
        if len(word) < _SHORTEST_PREFIX:
            return []
        words = self._vocabulary
        return words[bisect_left(words, word) : bisect_left(words, word + _LAST)]


def _best(scores: Mapping[int, int], limit: int) -> list[tuple[int, int]]:
    """Return the best tools with their scores; only those are put in order that score as much as the last of them."""
    if limit <= 0:
        return []
    lowest = min(nlargest(limit, scores.values()), default=0)
    reaching = [(number, score) for number, score in scores.items() if score >= lowest]
    return sorted(reaching, key=lambda each: (-each[1], each[0]))[:limit]


def stems(text: str) -> list[str]:
    """Return the stems of the words of a text, in order."""
    return list(chain.from_iterable(map(_stems, _runs(text))))


def _runs(text: str) -> list[str]:
    """Split text at whatever is no letter and no digit."""
    return _RUN.findall(text if text.isascii() else unicodedata.normalize("NFKC", known(text)))


@lru_cache(maxsize=1 << 14)
def _words(run: str) -> tuple[str, ...]:
    """Return the words of a run that count, in lower case: camelCase counts as its humps and as a whole."""
    if not run.isascii() and (unspaced := re.findall(_UNSPACED, run)):
        pairs = (map("".join, pairwise(each)) if len(each) > 1 else (each,) for each in unspaced)
        return (*chain.from_iterable(_words(each) for each in re.split(_UNSPACED, run)), *chain.from_iterable(pairs))
    humps = [hump.casefold() for hump in _HUMP.split(run)]
    words = humps if len(humps) == 1 else [*humps, run.casefold()]
    return tuple(word for word in words if word and word not in STOP_WORDS)


@lru_cache(maxsize=1 << 14)
def _stems(run: str) -> tuple[str, ...]:
    return tuple(map(_stem, _words(run)))


@lru_cache(maxsize=1 << 14)
def _stem(word: str) -> str:
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

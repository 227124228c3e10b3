"""The terms of a text, as format 2 counts them: words, parts of names, pairs of ideographs, stems. Pure."""

import re
from collections.abc import Collection, Iterator
from functools import cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from contexthall.core import limits
from contexthall.core.text import known, lower

if TYPE_CHECKING:
    from Stemmer import Stemmer

_STOP_WORDS = """
a an and are as at be but by can do does for from how i if in into is it its of on or that the their then there these
they this to was what when where which who why will with you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

_WORD = re.compile(r"\w+")
# Scripts that put no spaces between words; compiled when it is first needed, which takes a millisecond.
_UNSPACED = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_STEMMED = re.compile(r"[a-z]{3,}")


class _Known(dict[str, tuple[str, ...]]):
    """The terms of every word that was met, within a limit: most words are met again."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        found = derive_terms(word)
        if len(word) <= limits.KNOWN_WORD_CHARACTERS:
            if len(self) >= limits.KNOWN_WORDS:
                self.clear()
            self[word] = found
        return found


_KNOWN = _Known()


def words(text: str) -> list[str]:
    """Return the words of a text, in order."""
    return _WORD.findall(known(text))


def terms(text: str) -> list[str]:
    """Return the terms of a text, in order."""
    return list(chain.from_iterable(map(_KNOWN.__getitem__, words(text))))


def terms_of(word: str) -> tuple[str, ...]:
    """Return the terms of one word."""
    return _KNOWN[word]


def derive_terms(word: str) -> tuple[str, ...]:
    """Return the terms of one word, and keep nothing of it."""
    return tuple(_stem(form) for form, _, _ in _forms(word))


def forms_of(word: str) -> tuple[str, ...]:
    """Return what the terms of one word were before they were stemmed."""
    return tuple(form for form, _, _ in _forms(word))


def spans(text: str, wanted: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield where the words, or of a script without spaces the pairs, stand that have one of the wanted terms."""
    end = 0
    for word in _WORD.finditer(known(text)):
        for form, first, last in _forms(word[0]):
            start, after = max(end, word.start() + first), word.start() + last
            if _stem(form) in wanted and start < after:
                yield start, after
                end = after


def _forms(word: str) -> list[tuple[str, int, int]]:
    """Return the forms of a word that count, each with the place of the word or pair that it comes from."""
    if word.isascii() or not re.search(_UNSPACED, word):
        return [(form, 0, len(word)) for form in _spaced(word)]
    found: list[tuple[str, int, int]] = []
    at = 0
    for run in re.finditer(_UNSPACED, word):
        found += [(form, at, run.start()) for form in _spaced(word[at : run.start()])]
        pairs = enumerate(map("".join, pairwise(run[0])) if len(run[0]) > 1 else run[0], run.start())
        found += [(pair, first, first + len(pair)) for first, pair in pairs]
        at = run.end()
    return found + [(form, at, len(word)) for form in _spaced(word[at:])]


def _spaced(word: str) -> list[str]:
    if not word:
        return []
    found = [lower(word)]
    if "_" in word or any(map(str.isdigit, word)) or word[1:] != found[0][1:]:
        parts = _PART.findall(word)
        found += map(str.lower, parts if len(parts) > 1 else ())
    return [form for form in found if form not in STOP_WORDS]


def _stem(term: str) -> str:
    return _stemmer().stemWord(term) if _STEMMED.fullmatch(term) else term


@cache
def _stemmer() -> "Stemmer":
    from Stemmer import Stemmer  # noqa: PLC0415 - whoever asks a cache of format 1 needs none

    return Stemmer("porter")

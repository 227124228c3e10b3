"""How good is an answer? The measures of one question, and their means with standard errors. Pure."""

import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from benchmarks.quality.engines import Found, Place, sections_of
from benchmarks.quality.sets import Answers
from contexthall.caches.model.document import identify

DEPTH = 10


class Right(NamedTuple):
    """The pages and sections that answer a question."""

    pages: frozenset[str]
    places: frozenset[Place]
    """The sections, and the pages whole."""


class Score(NamedTuple):
    """What a question is answered with, in numbers from 0 to 1."""

    mrr: float
    """One divided by the rank of the first right page; 0 if there is none."""
    ndcg: float
    """The gain of the right pages among the first ten, by that of the best order."""
    hit: float
    """1 if something of a right page is in the reply."""
    exact: float
    """1 if a right section is in the reply."""


class Mean(NamedTuple):
    """The mean of a measure, and its standard error."""

    value: float
    error: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Mean":
        error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
        return cls(statistics.fmean(values), error)

    def __str__(self) -> str:
        return f"{self.value:.3f} ± {self.error:.3f}"


class AnswerKey:
    """Finds the sections that a question set means by pages and headings."""

    def __init__(self, pages: Mapping[str, str]) -> None:
        self._slugs: dict[str, dict[str, set[str]]] = {}
        for (page, slug), heading, *_ in sections_of(pages):
            slugs = self._slugs.setdefault(page, {"": set()})
            slugs.setdefault(_words(heading), set()).add(slug)
            slugs[""].add(slug)

    def right(self, answers: Answers) -> Right:
        """Return what is right; a heading that is empty means the whole page."""
        wanted = [(identify(page), _words(heading)) for page, heading in answers]
        places = [Place(page, slug) for page, heading in wanted for slug in self._slugs[page][heading]]
        return Right(
            frozenset(page for page, _ in wanted), frozenset([*places, *(Place(page, "") for page, _ in wanted)])
        )


def score(found: Found, right: Right) -> Score:
    """Compare what was found with what is right."""
    pages = list(dict.fromkeys(place.page for place in found.order))
    ranks = [rank for rank, page in enumerate(pages, 1) if page in right.pages]
    best = _gain(range(1, min(DEPTH, len(right.pages)) + 1))
    return Score(
        mrr=1 / ranks[0] if ranks else 0.0,
        ndcg=_gain(rank for rank in ranks if rank <= DEPTH) / best,
        hit=float(any(place.page in right.pages for place in found.served)),
        exact=float(bool(found.served & right.places)),
    )


def means(scores: Iterable[Score]) -> list[Mean]:
    """Return the mean of each measure."""
    return [Mean.of(values) for values in zip(*scores, strict=True)]


def _gain(ranks: Iterable[int]) -> float:
    return sum(1 / math.log2(rank + 1) for rank in ranks)


def _words(heading: str) -> str:
    """Return the words of a heading: markup is not what tells headings apart."""
    return " ".join(re.findall(r"\w+", heading.lower()))

"""The scorers: the rules by which a cache compares its documents with a query. Pure.

A cache's `build_config` names its scorer. Another scorer is one more module and one more entry in `SCORERS`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from contexthall.caches.index.match_table import MatchTable
from contexthall.caches.query import bm25f
from contexthall.caches.query.frozen import FrozenScorer


class Scorer(Protocol):
    """One way to turn texts into terms and matches into scores. A document without a match scores 0."""

    @property
    def build_config(self) -> Mapping[str, str]:
        """What the manifest of a cache says that was built for this scorer."""

    def terms(self, text: str) -> list[str]:
        """Return the terms of a document or a query, in order."""

    def scores(self, table: MatchTable, documents: Sequence[int]) -> Sequence[float]:
        """Return the scores of some documents."""

    def scoring_at_least(self, table: MatchTable, floor: float) -> Sequence[int]:
        """Return every document whose score reaches `floor`, ascending; by an upper bound, so others may be there."""

    def explanation(self, matched_terms: Sequence[str], term_matches: int, total_words: int) -> str:
        """Return a sentence that tells a person where a score comes from."""


class SectionFormat(NamedTuple):
    """Format 2, whose pages are scored by their sections: `bm25f.py` has its rules."""

    model: str = ""
    """The embedder by whose vectors they are scored as well, `ID@sha256:HEX`, if there is one."""

    @property
    def build_config(self) -> Mapping[str, str]:
        return {**bm25f.BUILD_CONFIG, "embedder": self.model} if self.model else bm25f.BUILD_CONFIG


CacheFormat: TypeAlias = Scorer | SectionFormat
"""How the documents of a cache are scored: whole, by a scorer, or by their sections."""

MODEL = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}@sha256:[0-9a-f]{64}")
"""How a cache names its embedder."""
SECTIONS = SectionFormat()
SCORERS: tuple[Scorer, ...] = (FrozenScorer(),)
"""All scorers of whole documents; caches of format 1 are built for the first."""


def scorer_for(build_config: object) -> CacheFormat | None:
    """Return the scorer that a `build_config` names; None if there is none."""
    model = build_config.get("embedder") if isinstance(build_config, Mapping) else None
    sections = SectionFormat(model) if isinstance(model, str) and MODEL.fullmatch(model) else SECTIONS
    formats: tuple[CacheFormat, ...] = (sections, *SCORERS)
    return next((each for each in formats if each.build_config == build_config), None)

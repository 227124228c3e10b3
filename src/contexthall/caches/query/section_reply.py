"""What a query is answered with: the sections that fit into the budget, as JSON or as text. Pure.

The budget counts the whole reply: what an item costs is known before it is read, and nothing may be over.
"""

from collections.abc import Callable, Sequence
from json.encoder import encode_basestring as quoted
from typing import NamedTuple

from contexthall.caches.model.document import VERSION_PREFIX
from contexthall.caches.model.items import Item, on_one_line, string_list
from contexthall.caches.query.bm25f import SCORER
from contexthall.caches.query.question import Question, ReplyFormat, SourcesState
from contexthall.caches.query.resolution import Resolution, ResolvedDocument
from contexthall.caches.query.section_ranking import RankedSection
from contexthall.core.marks import mark_for
from contexthall.core.tokens import BYTES_PER_TOKEN

_MOST_SKIPPED = 5
_MOST_CHANGED = 2**31 - 1
_SHORT_DIGITS = 12
_FIRST_MISSED = len("did not fit: \n")
_NEXT_MISSED = len(", ")


class MissedSection(NamedTuple):
    """A section that did not fit, and what its content costs."""

    id: str
    tokens: int

    def json(self) -> str:
        return f'{{"id":{quoted(self.id)},"tokens":{self.tokens}}}'

    def text(self) -> str:
        return f"{on_one_line(self.id)} ({self.tokens})"


class ResolvedSection(NamedTuple):
    """A section of a reply, its score, and the words of the query that it matches."""

    item: Item
    score: int
    matched: tuple[str, ...]

    def resolved(self) -> ResolvedDocument:
        item = self.item
        values = (item.id, item.version, item.content, self.score, item.tokens)
        return ResolvedDocument(
            *values, title=item.title, lines=(item.first_line, item.last_line), matched=self.matched
        )


class SectionReply(NamedTuple):
    """The answer to a question, as a value."""

    question: Question
    considered: int
    unmatched: tuple[str, ...]
    sections: tuple[ResolvedSection, ...]
    skipped: tuple[MissedSection, ...]
    tokens_used: int

    @property
    def text(self) -> str:
        """The reply in the form that was asked for."""
        return self._as_text() if self.question.format == "text" else self._as_json()

    def resolution(self) -> Resolution:
        """Return the answer in the form that caches of both formats give."""
        sections = tuple(section.resolved() for section in self.sections)
        query, budget, *_ = self.question
        return Resolution(sections, query, budget, self.tokens_used, self.considered, self.text)

    def _as_json(self) -> str:
        documents = [each.item.ranked_json(each.score, string_list(each.matched)) for each in self.sections]
        return _json(self, len(self.sections), self.considered - len(self.sections), documents)

    def _as_text(self) -> str:
        mark = mark_for([each.item.content for each in self.sections])
        items = [each.item.text(place, mark) for place, each in enumerate(self.sections, 1)]
        return _text(self, len(self.sections), items)


class Packed(NamedTuple):
    """Which sections of an order are taken, which are named as skipped, and what the reply costs."""

    taken: list[RankedSection]
    skipped: list[RankedSection]
    tokens_used: int


def empty_reply_bytes(question: Question, considered: int, unmatched: Sequence[str]) -> int:
    """Return what a reply costs before anything is in it."""
    longest = SourcesState("stale" if question.format == "text" else "unknown", _MOST_CHANGED)
    longest_question = question._replace(freshness=longest)
    reply = SectionReply(longest_question, considered, tuple(unmatched), (), (), question.budget)
    text = _text(reply, considered, []) if question.format == "text" else _json(reply, considered, considered, [])
    return len(text.encode())


def pack(
    question: Question,
    order: Sequence[RankedSection],
    empty: int,
    cost: Callable[[RankedSection, int, int], int | None],
    costs: Sequence[int],
    missed: Callable[[RankedSection], MissedSection],
    ready: Callable[[Sequence[RankedSection]], None] = lambda _sections: None,
) -> Packed:
    """Walk through an order, and take what fits.

    `cost` returns what a section costs at a place in the reply, or None if that is more than what is left; by `costs`
    each costs more than that, wherever it stands. `ready` is told which sections are read next.
    """
    limit = BYTES_PER_TOKEN * question.budget
    if empty > limit:
        return Packed([], [], _tokens(empty))
    left, taken, passed, skipped = limit - empty, list[RankedSection](), list[RankedSection](), list[RankedSection]()
    least = min(costs, default=0)
    for ranked, at_least in zip(order, costs, strict=True):
        price = cost(ranked, len(taken) + 1, left) if at_least < left else None
        if price is not None:
            left -= price
            taken.append(ranked)
        elif len(passed) < _MOST_SKIPPED:
            passed.append(ranked)
        elif left < least:
            break
    ready([*taken, *passed])
    for ranked in passed:
        price = _missed_cost(question.format, missed(ranked), first=not skipped)
        if price <= left:
            left -= price
            skipped.append(ranked)
    return Packed(taken, skipped, _tokens(limit - left))


def _missed_cost(form: ReplyFormat, missed: MissedSection, *, first: bool) -> int:
    if form == "json":
        return len(missed.json().encode()) + 1
    return len(missed.text().encode()) + (_FIRST_MISSED if first else _NEXT_MISSED)


def _tokens(size: int) -> int:
    return -(-size // BYTES_PER_TOKEN)


def _json(reply: SectionReply, selected: int, excluded: int, documents: Sequence[str]) -> str:
    question, state = reply.question, reply.question.freshness
    ranked_by = f'"scorer":"{SCORER}","embedder":{quoted(question.model)},' if question.model else ""
    return (
        f'{{"documents":[{",".join(documents)}],"selection":{{"query":{quoted(question.query)},'
        f'"budget":{question.budget},"tokens_used":{reply.tokens_used},"documents_considered":{reply.considered},'
        f'"documents_selected":{selected},"documents_excluded_by_budget":{excluded},'
        f'"unmatched_terms":{string_list(reply.unmatched)},'
        f'"skipped":[{",".join(each.json() for each in reply.skipped)}],'
        f'{ranked_by}"freshness":{{"state":"{state.state}","changed":{state.changed}}}}}}}\n'
    )


def _text(reply: SectionReply, selected: int, items: Sequence[str]) -> str:
    question = reply.question
    model, _, weights = question.model.partition("@")
    ranked_by = f"{SCORER} + {model}@{short_version(weights)} | " if model else ""
    header = (
        f"context {on_one_line(question.name)}@{short_version(question.version)} | "
        f"query: {on_one_line(question.query)} | "
        f"{selected} of {reply.considered} sections | {reply.tokens_used} of {question.budget} tokens | "
        f"{ranked_by}{question.freshness}\n\n"
    )
    unmatched = f"no section has: {', '.join(reply.unmatched)}\n" if reply.unmatched else ""
    skipped = f"did not fit: {', '.join(each.text() for each in reply.skipped)}\n" if reply.skipped else ""
    return "".join((header, *items, unmatched, skipped))


def short_version(version: str) -> str:
    return version.removeprefix(VERSION_PREFIX)[:_SHORT_DIGITS]

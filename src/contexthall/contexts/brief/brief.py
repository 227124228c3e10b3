"""A brief: what must be known before work on a path, within one budget.

Pure. Items keep the order in which they were gathered, each whole or not at all, as JSON or as text.
"""

import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from contexthall.core.marks import mark_for
from contexthall.core.tokens import BYTES_PER_TOKEN, tokens
from contexthall.core.wire import compact

DEFAULT_BUDGET = 2000
ReplyFormat = Literal["json", "text"]
_MOST_SKIPPED = 5
_SPACE = re.compile(r"[\x00-\x20\x7f-\x9f]+")
_NO_MARK = "0" * 8


class BriefItem(NamedTuple):
    """A constraint, a decision or a rule file."""

    kind: Literal["constraint", "decision", "rule"]
    text: str
    file: str
    """The file that it is in, from the project root."""
    applies: str
    """Why it applies."""
    why: str = ""
    """The reason of a decision."""
    holds: bool | None = None
    """Whether the evidence that it cites, or the paths that it names, are unchanged; None if there are none."""
    failing: tuple[str, ...] = ()
    """The evidence and paths that are not."""
    place: str = ""
    """The directory that it is about."""
    also: tuple[str, ...] = ()
    """Files that import it, and symlinks to it."""

    def to_json(self) -> dict[str, object]:
        item: dict[str, object] = {"kind": self.kind, "text": self.text}
        if self.why:
            item["why"] = self.why
        item |= {"file": self.file, "applies": self.applies}
        if self.holds is not None:
            item |= {"holds": self.holds, "failing": list(self.failing)}
        return item

    def to_text(self, mark: str) -> str:
        """Return it as lines: a claim on one, a rule file below a border that it cannot forge."""
        verdict = {None: "", True: " | holds", False: f" | NO LONGER HOLDS: {', '.join(self.failing)}"}[self.holds]
        if self.kind != "rule":
            reason = f" Why: {_on_one_line(self.why)}" if self.why else ""
            return f"- {self.kind} | {self.file}{verdict}: {_on_one_line(self.text)}{reason}\n"
        return f"=== {mark} {_on_one_line(self.file)} | {_on_one_line(self.applies + verdict)}\n\n{self.text}\n\n"


class Skipped(NamedTuple):
    """An item that did not fit, and the cost of its text."""

    file: str
    tokens: int


class Brief(NamedTuple):
    """The items about a path that fit into the budget."""

    path: str
    budget: int
    items: Sequence[BriefItem]
    considered: int = 0
    skipped: Sequence[Skipped] = ()
    tokens_used: int = 0

    def render(self, form: ReplyFormat = "json") -> str:
        return self._text() if form == "text" else self._json()

    @property
    def text(self) -> str:
        """The answer of `context.brief`, byte for byte."""
        return self.render()

    def _json(self) -> str:
        selection = {
            "path": self.path,
            "budget": self.budget,
            "tokens_used": self.tokens_used,
            "items_considered": self.considered,
            "items_selected": len(self.items),
            "items_excluded_by_budget": self.considered - len(self.items),
            "skipped": [each._asdict() for each in self.skipped],
        }
        return compact({"items": [each.to_json() for each in self.items], "selection": selection}) + "\n"

    def _text(self) -> str:
        counts = f"{len(self.items)} of {self.considered} items | {self.tokens_used} of {self.budget} tokens"
        names = ", ".join(f"{_on_one_line(each.file)} ({each.tokens})" for each in self.skipped)
        skipped = f"did not fit: {names}\n" if names else ""
        return f"brief {_on_one_line(self.path)} | {counts}\n\n{items_text(self.items)}{skipped}"


def items_text(items: Sequence[BriefItem]) -> str:
    """Return items as text: claims line by line, an empty line, then rule files."""
    claims = [each for each in items if each.kind != "rule"]
    mark = mark_for([each.text for each in items if each.kind == "rule"])
    lines = [each.to_text(mark) for each in claims] + ["\n" for _ in claims[:1]]
    return "".join([*lines, *(each.to_text(mark) for each in items if each.kind == "rule")])


def pack(path: str, budget: int, items: Sequence[BriefItem], form: ReplyFormat) -> Brief:
    """Return a brief of at most `budget` tokens: the items that fit, in order; none is cut."""
    limit, most = BYTES_PER_TOKEN * budget, len(items)
    # The largest size without items: every count with most digits.
    empty = Brief(path, budget, (), considered=most, tokens_used=budget)
    size = len(empty.render(form).encode("utf-8", "replace")) + 3 * len(str(most))
    if size > limit:
        return empty._replace(tokens_used=-(-size // BYTES_PER_TOKEN))
    cost: Callable[[BriefItem], int] = _text_cost if form == "text" else _json_cost
    left, taken, passed = limit - size, list[BriefItem](), list[BriefItem]()
    for item in items:
        price = cost(item)
        if price <= left:
            taken.append(item)
            left -= price
        else:
            passed.append(item)
    skipped = list[Skipped]()
    for item in passed[:_MOST_SKIPPED]:
        missed = Skipped(item.file, tokens(item.text.encode("utf-8", "replace")))
        price = len(compact(missed._asdict()).encode("utf-8", "replace")) + len("did not fit: \n")
        if price <= left:
            skipped.append(missed)
            left -= price
    return empty._replace(items=taken, skipped=skipped, tokens_used=-(-(limit - left) // BYTES_PER_TOKEN))


def _json_cost(item: BriefItem) -> int:
    return len(compact(item.to_json()).encode("utf-8", "replace")) + 1


def _text_cost(item: BriefItem) -> int:
    return len(item.to_text(_NO_MARK).encode("utf-8", "replace")) + 1


def _on_one_line(text: str) -> str:
    return _SPACE.sub(" ", text).strip()

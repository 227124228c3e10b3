"""How much of a suite is done? A fair part where people test, all of it in CI, and far more by `make torture`."""

import json
import os
from collections.abc import Sequence
from typing import Final, TypeVar

from tests.machine import MUST_RUN

Amount = TypeVar("Amount")
Case = TypeVar("Case")

IS_LONG: Final = os.environ.get("CONTEXT_TORTURE") == "1"
SEED: Final = int(os.environ.get("CONTEXT_TORTURE_SEED", "8"))
"""What everything random starts from; a failure names it."""
_REPORT: Final = os.environ.get("CONTEXT_TORTURE_REPORT", "")


def scaled(brief: Amount, full: Amount, long: Amount) -> Amount:
    """Return how much of something a suite does: in `make test`, in CI and in `make torture`."""
    if IS_LONG:
        return long
    return full if MUST_RUN else brief


def sampled(cases: Sequence[Case], brief: int) -> Sequence[Case]:
    """Return all cases, but in `make test` about so many at the most, evenly spread."""
    return cases[:: scaled(len(cases) // brief + 1, 1, 1)]


def record(suite: str, what: str, figure: str | int) -> None:
    """Tell `make torture` what was done, or measured: a row of its table."""
    if _REPORT:
        with open(_REPORT, "a", encoding="utf-8") as report:
            report.write(json.dumps({"suite": suite, "what": what, "figure": figure}) + "\n")

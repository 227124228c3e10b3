"""How long is a suite of faults? Bounded in every test run; `make torture` asks for the long form."""

import json
import os
from typing import Final, TypeVar

Amount = TypeVar("Amount")

IS_LONG: Final = os.environ.get("CONTEXT_TORTURE") == "1"
SEED: Final = int(os.environ.get("CONTEXT_TORTURE_SEED", "8"))
"""What everything random starts from; a failure names it."""
_REPORT: Final = os.environ.get("CONTEXT_TORTURE_REPORT", "")


def scaled(bounded: Amount, long: Amount) -> Amount:
    """Give how much of something a suite does."""
    return long if IS_LONG else bounded


def record(suite: str, what: str, figure: str | int) -> None:
    """Tell `make torture` what was done, or measured: a row of its table."""
    if _REPORT:
        with open(_REPORT, "a", encoding="utf-8") as report:
            report.write(json.dumps({"suite": suite, "what": what, "figure": figure}) + "\n")

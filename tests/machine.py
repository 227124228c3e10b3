"""What may a machine lack? A browser, shells, other Pythons, programs of others: but nothing where all must run."""

import os
from typing import Final

import pytest

# Read at once: what a test sees of the environment is emptied.
MUST_RUN: Final = bool(os.environ.get("CI") or os.environ.get("CONTEXT_CI"))


def must_be_here(is_here: object, sentence: str) -> None:
    """Skip what this machine cannot show, and fail where nothing may be skipped."""
    if not is_here:
        (pytest.fail if MUST_RUN else pytest.skip)(sentence)

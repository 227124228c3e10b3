"""The states of a context."""

FRESH, STALE, MISSING = STATES = ("fresh", "stale", "missing")

"""In which states a context can be."""

FRESH, STALE, MISSING = STATES = ("fresh", "stale", "missing")

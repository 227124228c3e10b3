"""Does a name match one of some patterns? `*`, `?` and `[abc]`, as in a shell; case counts."""

from collections.abc import Iterable
from fnmatch import fnmatchcase


def matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)

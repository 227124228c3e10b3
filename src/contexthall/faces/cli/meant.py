"""What was meant by a word that names nothing? Pure.

Loaded when something was mistyped, so that no other command pays for it.
"""

from collections.abc import Iterable
from difflib import get_close_matches

_MOST = 3
SAME = {
    "find": "ask",
    "index": "build",
    "install": "setup",
    "list": "caches",
    "mcp": "serve",
    "query": "ask",
    "run": "serve",
    "search": "ask",
    "start": "serve",
    "sync": "refresh",
    "undo": "setup --undo",
    "uninstall": "setup --undo",
    "update": "refresh",
    "version": "--version",
}
"""What other programs call our commands."""
SAME_OPTIONS = {
    "--directory": "--path",
    "--port": "--http",
    "--project": "--path",
    "--root": "--path",
    "-V": "--version",
}
"""What they call our options."""


def nearest(word: str, names: Iterable[str]) -> list[str]:
    """Return the names that may be meant by a word: those that are spelt alike, that begin with it or contain it."""
    known = {name.casefold(): name for name in names}
    folded = word.casefold()
    alike = get_close_matches(folded, known, _MOST)
    begun = sorted((name for name in known if folded and folded in name), key=lambda name: not name.startswith(folded))
    return [known[name] for name in dict.fromkeys([*alike, *begun])][:_MOST]


def question(word: str, names: Iterable[str]) -> str:
    """Return the question whether one of the names was meant; empty if none is near."""
    found = [f"`{name}`" for name in nearest(word, names)]
    *first, last = found or [""]
    others = f"{', '.join(first)} or " if first else ""
    return f"did you mean {others}{last}?" if found else ""

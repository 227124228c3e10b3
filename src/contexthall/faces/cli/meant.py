"""What was meant by a word that names nothing? Pure.

Loaded when something was mistyped, so that no other command pays for it.
"""

from collections.abc import Iterable

from contexthall.core.nearest import nearest as nearest  # noqa: PLC0414 - for the table of commands

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


def question(word: str, names: Iterable[str]) -> str:
    """Return the question whether one of the names was meant; empty if none is near."""
    found = [f"`{name}`" for name in nearest(word, names)]
    *first, last = found or [""]
    others = f"{', '.join(first)} or " if first else ""
    return f"did you mean {others}{last}?" if found else ""

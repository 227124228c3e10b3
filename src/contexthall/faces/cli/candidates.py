"""Completion candidates: directories, files, and the names of caches, members and contexts on the disk.

For completion only: nothing is started, nothing is written, and what goes wrong is the caller's to keep quiet about.
"""

from collections.abc import Mapping

from click import Context
from click.shell_completion import CompletionItem

from contexthall.hall import GuildChoice, Hall, open_hall

Candidates = list[CompletionItem[str]]


def directories(_context: Context) -> Candidates:
    """Have the shell complete paths."""
    return [CompletionItem("", type="dir")]


def files(_context: Context) -> Candidates:
    """Have the shell complete paths."""
    return [CompletionItem("", type="file")]


def caches(context: Context) -> Candidates:
    """Return the caches below the cache root, beside directories."""
    found = _hall(context).caches.list_caches()
    names = [CompletionItem(cache.path) for cache in found if cache.has_manifest]
    return [*names, *directories(context)]


def members(context: Context) -> Candidates:
    return [CompletionItem(name) for name in _hall(context).guild.roster]


def scopes(context: Context) -> Candidates:
    """Return the directories that have a context."""
    return [CompletionItem(place) for place in _hall(context).project.places()]


def explained(names: Mapping[str, str]) -> Candidates:
    return [CompletionItem(name, help=meaning) for name, meaning in names.items()]


def _hall(context: Context) -> Hall:
    """Open the hall that the options typed so far name."""
    typed = context.params
    guild = GuildChoice(typed.get("guild"))
    return open_hall(typed.get("path"), cache_root=typed.get("cache_root"), guild=guild)

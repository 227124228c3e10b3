"""Which files change in some folders? watchfiles asks the operating system."""

from collections.abc import Collection, Iterator
from threading import Event
from typing import NamedTuple

from watchfiles import watch

from contexthall.core.errors import DiskError


class Pace(NamedTuple):
    """How changes are gathered, in milliseconds."""

    quiet: int
    """Without another change, before those that came are told."""
    most: int
    """Then they are told, however many still come."""
    tick: int
    """Between two words that nothing has changed."""


def changed_paths(folders: Collection[str], pace: Pace, stop: Event | None = None) -> Iterator[frozenset[str]]:
    """Yield what changed directly in the folders, and an empty set for each tick; end when `stop` is set.

    It ends, too, after an empty set, if a folder is gone before it is watched. DiskError if they cannot be watched.
    """
    try:
        # One by one: a watch of all that lies below would follow symlinks anywhere.
        for changes in watch(
            *folders,
            watch_filter=None,
            debounce=pace.most,
            step=pace.quiet,
            rust_timeout=pace.tick,
            yield_on_timeout=True,
            stop_event=stop,
            recursive=False,
        ):
            yield frozenset(path for _, path in changes)
    except FileNotFoundError:  # since it was named
        yield frozenset()
    except (OSError, RuntimeError) as error:  # the latter for want of a further inotify instance
        hint = "is the limit of inotify watches too low?"
        raise DiskError(f"the system cannot watch {len(folders)} folders: {error}", hint=hint) from error

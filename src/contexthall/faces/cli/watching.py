"""`context watch`: which contexts and caches become stale while people work."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING, TypeAlias

import click

from contexthall.contexts.project import FRESH, StateChange
from contexthall.core.wire import compact
from contexthall.faces.cli.log import show_log
from contexthall.faces.cli.options import JSON, HallChoice, roots_options
from contexthall.faces.cli.output import on_one_line, print_data, print_json, say

if TYPE_CHECKING:
    from contexthall.caches.library import CacheStateChange

AnyChange: TypeAlias = "StateChange | CacheStateChange"
Watch: TypeAlias = Callable[[], Iterable[Sequence[AnyChange]]]


@click.command
@JSON
@roots_options
def watch(as_json: bool, hall: HallChoice) -> None:
    """Tell which contexts and caches become stale, while people work.

    At first every directory and every cache that is not fresh, then every change, new ones included. With --json one
    object a line. Ends when it is interrupted.
    """
    opened, stop = hall.open(), Event()
    opened.project.config()  # raises if it is bad, which a listing would only mention
    show_log()
    say(on_one_line(f"watching {opened.project.root}; press Ctrl+C to end"))
    for changes in _in_parallel(opened.watch_contexts, lambda: opened.watch_caches(stop)):
        for change in changes:
            if as_json or change.was is not None or change.state != FRESH:
                _print_change(change, as_json=as_json)


def _in_parallel(*watches: Watch) -> Iterator[Sequence[AnyChange]]:
    """Yield what several watches tell, for as long as none of them fails."""
    told: SimpleQueue[Sequence[AnyChange] | BaseException] = SimpleQueue()

    def follow(watch: Watch) -> None:
        try:
            for changes in watch():
                told.put(changes)
        except BaseException as error:  # noqa: BLE001 - raised below
            told.put(error)

    for each in watches:
        Thread(target=follow, args=(each,), daemon=True).start()
    while not isinstance(news := told.get(), BaseException):
        yield news
    raise news


def _print_change(change: AnyChange, *, as_json: bool) -> None:
    if as_json:
        told = {name: value for name, value in change._asdict().items() if name != "drift" or value}
        print_json(compact(told))
        return
    what = change.scope if isinstance(change, StateChange) else f"cache {change.cache}"
    changed = f"{change.changed} changed" if not isinstance(change, StateChange) and change.changed else ""
    was = f"was {change.was}" if change.was else ""
    drift = change.drift if isinstance(change, StateChange) else ""
    more = ", ".join(filter(None, (drift, changed, was)))
    print_data(on_one_line(f"{change.state or 'gone':<8} {what}" + (f" ({more})" if more else "")))

"""Which options do several commands share? Those that say which hall is meant."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import click

from contexthall.hall import Hall, open_hall


class HallChoice(NamedTuple):
    """What was typed about the hall that is meant; None where nothing was."""

    path: str | None = None
    cache_root: str | None = None
    toolsets: str | None = None
    confine: bool | None = None
    allow_root: tuple[str, ...] | None = None

    def open(self) -> Hall:
        return open_hall(
            self.path,
            cache_root=self.cache_root,
            toolsets=self.toolsets,
            confine=self.confine,
            allow_root=self.allow_root or None,
        )


_PATH = click.option("-p", "--path", metavar="DIR", help="The project root.  [default: the working directory]")
_CACHE_ROOT = click.option(
    "--cache-root", metavar="DIR", help="Where the caches are.  [default: .context/caches in the project root]"
)
_TOOLSETS = click.option("--toolsets", metavar="NAMES", help="Offer only some of caches,contexts,guild.")
_CONFINE = click.option("--confine", is_flag=True, default=None, help="Refuse paths outside the hall's own roots.")
_ALLOW_ROOT = click.option(
    "--allow-root", multiple=True, metavar="DIR", help="A directory that confinement allows. Repeatable."
)


def project_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """For commands about the contexts of a project: which one. It arrives as `hall`."""
    return _gathered(command, _PATH)


def roots_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """For commands that open one room: which project, which caches. They arrive as one `hall`."""
    return _gathered(command, _PATH, _CACHE_ROOT)


def hall_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """For commands that open the whole hall. They arrive as one `hall`."""
    return _gathered(command, _PATH, _CACHE_ROOT, _TOOLSETS, _CONFINE, _ALLOW_ROOT)


def _gathered(command: Callable[..., Any], *options: Callable[..., Callable[..., Any]]) -> Callable[..., Any]:
    @wraps(command)
    def gathering(**arguments: object) -> object:
        chosen: dict[str, Any] = {name: arguments.pop(name) for name in HallChoice._fields if name in arguments}
        return command(hall=HallChoice(**chosen), **arguments)

    decorated: Callable[..., Any] = gathering
    for option in reversed(options):
        decorated = option(decorated)
    return decorated

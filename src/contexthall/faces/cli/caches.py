"""`context caches` and `context inspect`."""

import click

from contexthall.core.wire import compact, pretty
from contexthall.faces.cli.options import HallChoice, roots_options
from contexthall.faces.cli.output import print_data


@click.command
@click.option("--root", metavar="DIR", help="List this directory, by absolute paths, instead of the cache root.")
@roots_options
def caches(root: str | None, hall: HallChoice) -> None:
    """List the document caches that are there.

    Prints the same JSON as the tool context.list_caches.
    """
    found = hall.open().caches.list_caches(root)
    print_data(compact({"caches": [cache._asdict() for cache in found]}))


@click.command
@click.option("--cache", required=True, metavar="DIR", help="The cache: a path, or a name below the cache root.")
@roots_options
def inspect(cache: str, hall: HallChoice) -> None:
    """Tell the version, document count and size of a cache.

    Exits with 0 whatever `valid` says; a cache that is not there is an error.
    """
    library = hall.open().caches
    print_data(pretty(library.inspect(library.find(cache))._asdict()))

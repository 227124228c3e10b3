"""`context push` and `pull`: caches go into object stores, and come back."""

import time

import click

from contexthall.faces.cli.options import HallChoice, completed_by, roots_options
from contexthall.faces.cli.output import ProgressBar, counted, say

_MEGABYTE = 1_000_000
_CACHE = click.argument("cache", shell_complete=completed_by("caches"))
_URL = click.argument("url", metavar="URL")


@click.command(epilog="\b\nExample:\n  context push handbook s3://bucket/handbook")
@_CACHE
@_URL
@click.option("--force", is_flag=True, help="Replace the cache that is there, in one step.")
@roots_options
def push(cache: str, url: str, force: bool, hall: HallChoice) -> None:
    """Put a cache into an object store.

    It can then be asked there, with --cache URL. Whoever has opened the one that it replaces goes on reading that.
    """
    begun = time.monotonic()
    with ProgressBar("packing") as bar:
        done = hall.open().push_cache(cache, url, force=force, progress=bar.show)
    _say("put", done.document_count, done.cache_version, done.bytes, begun)


@click.command(epilog="\b\nExample:\n  context pull s3://bucket/handbook .context/caches/handbook")
@_URL
@_CACHE
@click.option("--force", is_flag=True, help="Replace the cache that is there, in one step.")
@roots_options
def pull(url: str, cache: str, force: bool, hall: HallChoice) -> None:
    """Get a cache from an object store.

    All of it, checked against its digests; CACHE is the path where it shall be.
    """
    begun = time.monotonic()
    with ProgressBar("unpacking") as bar:
        done = hall.open().pull_cache(url, cache, force=force, progress=bar.show)
    _say("got", done.document_count, done.cache_version, done.bytes, begun)


def _say(what: str, documents: int, version: str, size: int, begun: float) -> None:
    seconds = time.monotonic() - begun
    moved = f"{size / _MEGABYTE:.1f} MB"
    say(f"{what} {counted(documents, 'document')}, version {version}, {moved} moved, in {seconds:.1f} s")

"""`context refresh`: caches are built again of what changed."""

from shlex import quote
from typing import TYPE_CHECKING

import click

from contexthall.core.errors import CacheMissingError, HallError, SourcesOutsideError, SourcesUnknownError
from contexthall.core.paths import native
from contexthall.faces.cli.building import what_was_odd
from contexthall.faces.cli.options import HallChoice, completed_by, roots_options
from contexthall.faces.cli.output import ProgressBar, counted, on_one_line, print_error, say

if TYPE_CHECKING:
    from contexthall.caches.library import CacheRef, Refreshed
    from contexthall.hall import Hall


@click.command(
    epilog="""\b
Examples:
  context refresh
  context refresh handbook"""
)
@click.option("--whole", is_flag=True, help="Take nothing over from the old cache, which may be damaged.")
@click.argument("caches", nargs=-1, metavar="[CACHE]...", shell_complete=completed_by("caches"))
@roots_options
@click.pass_context
def refresh(context: click.Context, caches: tuple[str, ...], whole: bool, hall: HallChoice) -> None:
    """Build caches again of what their sources are now.

    Only what changed is read. Without CACHE, all caches below the cache root whose sources are in the project; one
    that fails keeps no other from it.
    """
    opened = hall.open()
    library = opened.caches
    if caches:
        for name in caches:
            _refresh(opened, name, library.find(name), whole=whole)
        return
    found = [entry.path for entry in library.list_caches() if entry.has_manifest]
    if not found:
        raise CacheMissingError(
            "there is no cache to refresh", hint="build one: context build --sources DIR --cache DIR"
        )
    failed = list(filter(None, [_tried(opened, name, whole=whole) for name in found]))
    if failed:
        context.exit(failed[0].exit_code)


def _tried(hall: "Hall", name: str, *, whole: bool) -> HallError | None:
    """Refresh one of all caches, if it knows its sources; return the error if it fails, so that others are tried.

    A cache may come from elsewhere and name any folder of this machine: outside of the project, that is for a person to
    say.
    """
    try:
        _refresh(hall, name, hall.caches.locate(native(name)), only_project=True, whole=whole)
    except SourcesOutsideError as error:
        say(on_one_line(f"{name}: {error.detail}; to take them nevertheless, type: context refresh {quote(name)}"))
    except SourcesUnknownError as error:
        say(on_one_line(f"{name}: {error.detail}"))
    except HallError as error:
        print_error(error)
        return error
    return None


def _refresh(hall: "Hall", name: str, cache: "CacheRef", *, only_project: bool = False, whole: bool) -> None:
    with ProgressBar("refreshing") as bar:
        refreshed = hall.refresh_cache(cache, only_project=only_project, whole=whole, progress=bar.show)
    say(on_one_line(f"{name}: {_told(refreshed)}"))
    if refreshed.built:
        for line in what_was_odd({}, refreshed.built.encodings, refreshed.built.failures):
            say(on_one_line(line))


def _told(refreshed: "Refreshed") -> str:
    changes, built = refreshed
    if built is None:
        return "fresh"
    kinds = (("modified", changes.modified), ("added", changes.added), ("removed", changes.removed))
    told = ", ".join(f"{len(files):,} {kind}" for kind, files in kinds if files) or "made anew"
    return f"{told}; {counted(built.document_count, 'document')}, version {built.cache_version}"

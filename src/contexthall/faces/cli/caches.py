"""`context build`, `resolve`, `verify`, `caches` and `inspect`."""

import time
from shlex import quote

import click

from contexthall.caches.library import DEFAULT_BUDGET
from contexthall.core.errors import CacheInvalidError, InvalidBudgetError
from contexthall.core.wire import compact, indent, parse, pretty
from contexthall.faces.cli.options import HallChoice, completed_by, directory_option, roots_options
from contexthall.faces.cli.output import ProgressBar, counted, on_one_line, print_data, print_json, print_lines, say

CACHE = click.option(
    "--cache",
    required=True,
    metavar="DIR",
    help="The cache: a path, or a name below the cache root.",
    shell_complete=completed_by("caches"),
)


BUDGET = click.option(
    "--budget",
    default=str(DEFAULT_BUDGET),
    show_default=True,
    metavar="TOKENS",
    help="Most tokens that the answer may cost.",
)


@click.command(
    epilog="""\b
Examples:
  context build --sources docs --cache .context/caches/handbook
  context build --sources notes --cache notes-cache --include "*.txt" --force"""
)
@directory_option("--sources", about="The folder of documents.", required=True)
@directory_option("--cache", about="Where the cache shall be.", required=True)
@click.option("--force", is_flag=True, help="Replace the cache that is there, in one step.")
@click.option(
    "--format",
    type=click.Choice(["1", "2"]),
    default="1",
    show_default=True,
    help="1 answers with whole documents, 2 with sections.",
)
@click.option("--include", multiple=True, metavar="GLOB", help="Files to take instead of *.md. Repeatable.")
def build(sources: str, cache: str, force: bool, format: str, include: tuple[str, ...]) -> None:  # noqa: A002
    """Compile a folder of documents into a cache.

    A build succeeds whole or leaves nothing; with --force the old cache can be read until the new one takes its place.
    """
    begun = time.monotonic()
    with ProgressBar("building") as bar:
        hall = HallChoice().open()
        built = hall.build_cache(sources, cache, include=include, force=force, format=int(format), progress=bar.show)
    seconds = time.monotonic() - begun
    say(f"built {counted(built.document_count, 'document')}, version {built.cache_version}, in {seconds:.1f} s")
    if not built.document_count:
        wanted = " or ".join(include) or "*.md"
        say(on_one_line(f"warning: no file in the sources matches {wanted}; --include GLOB takes others"))
    if built.left_behind:
        say(on_one_line(f"warning: what was there before could not be removed: {built.left_behind}"))


@click.command(
    epilog="""\b
Examples:
  context resolve --cache handbook --query "rotate keys" --budget 4000
  context resolve --cache handbook --query keys --budget 400 --why-not keys.md"""
)
@CACHE
@click.option("--query", required=True, metavar="TEXT", help="Words that the documents should contain.")
@BUDGET
@click.option(
    "--format",
    "layout",
    type=click.Choice(["json", "pretty", "text"]),
    default="json",
    show_default=True,
    help="On one line, on many, or, of a cache of format 2, for reading.",
)
@click.option("--why-not", metavar="ID", help="Say instead, for people, what became of this document.")
@roots_options
def resolve(cache: str, query: str, budget: str, layout: str, why_not: str | None, hall: HallChoice) -> None:
    """Give the documents that answer a query, within a budget.

    Whole documents, the best first. Prints the same JSON as the tool context.resolve.
    """
    library = hall.open().caches
    library.check_query(query)
    tokens = whole_number(budget)
    library.check_budget(tokens)
    directory = library.find(cache)
    if why_not is not None:
        print_lines(library.explain(directory, query, tokens, why_not).sentences(tokens))
        return
    text = library.resolve(directory, query, tokens, "text" if layout == "text" else "json").text
    if layout == "text" and not text.startswith("{"):
        print_data(text)
    else:
        print_json(indent(text) if layout == "pretty" else text)


@click.command(epilog="\b\nExample:\n  context verify --cache handbook")
@CACHE
@click.option("--json", "as_json", is_flag=True, help="Print the violations as JSON.")
@roots_options
def verify(cache: str, as_json: bool, hall: HallChoice) -> None:
    """Check that a cache is what it says it is.

    Names every violation. Exits with 5 when there are any.
    """
    opened = hall.open()
    directory = opened.caches.find(cache)
    violations = opened.caches.verify(directory)
    if as_json:
        print_json(compact({"valid": not violations, "violations": violations}))
    else:
        for violation in violations:
            say(on_one_line(violation))
    if violations:
        text = f"{counted(len(violations), 'violation')} in {cache}"
        place = directory.path.removeprefix(f"{opened.settings.working_directory}/")
        building = f"context build --sources DIR --cache {quote(place)} --force"
        raise CacheInvalidError(text, hint=f"`{building}` builds it anew")
    if not as_json:
        say("the cache is sound")


@click.command
@directory_option("--root", about="List this directory, by absolute paths, instead of the cache root.")
@roots_options
def caches(root: str | None, hall: HallChoice) -> None:
    """List the document caches that are there.

    Prints the same JSON as the tool context.list_caches.
    """
    found = hall.open().caches.list_caches(root)
    print_json(compact({"caches": [cache._asdict() for cache in found]}))


@click.command
@CACHE
@roots_options
def inspect(cache: str, hall: HallChoice) -> None:
    """Tell the version, document count and size of a cache.

    Exits with 0 whatever `valid` says; a cache that is not there is an error.
    """
    library = hall.open().caches
    print_json(pretty(library.inspect(library.find(cache))._asdict()))


def whole_number(text: str) -> int:
    """Read a budget as the tool would: 4000 and 4000.0 are whole numbers."""
    try:
        number = parse(text.encode("utf-8", "replace"))
    except ValueError:
        number = None
    if isinstance(number, bool) or not isinstance(number, int | float) or number != number // 1:
        raise InvalidBudgetError(repr(text), hint="a budget is a whole number of tokens, such as 4000")
    return int(number)

"""`context build`, `resolve`, `verify`, `caches` and `inspect`."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from shlex import quote
from typing import Any

import click

from contexthall.caches.library import DEFAULT_BUDGET, ReplyFormat
from contexthall.core.errors import CacheInvalidError, DocumentMissingError
from contexthall.core.wire import compact, indent, pretty
from contexthall.faces.cli.building import what_was_odd
from contexthall.faces.cli.cache_report import caches_table, reports_json
from contexthall.faces.cli.options import (
    CLUSTER,
    HallChoice,
    asking_options,
    completed_by,
    directory_option,
    roots_options,
    whole_number,
)
from contexthall.faces.cli.output import ProgressBar, counted, on_one_line, print_data, print_json, print_lines, say

CACHE = click.option(
    "--cache",
    required=True,
    metavar="DIR|URL",
    help="The cache: a path, a name below the cache root, or a URL of a store.",
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
  context build --sources . --cache notes --include "*.txt" --exclude old/
  context build --sources docs --sources api=api/html --cache both --force
  context build --packages --cache .context/caches/packages"""
)
@directory_option("--sources", about="A folder of documents, or NAME=DIR. Repeatable.", multiple=True)
@directory_option("--cache", about="Where the cache shall be: a path, or a URL of a store.", required=True)
@click.option("--force", is_flag=True, help="Replace the cache that is there, in one step.")
@click.option(
    "--format",
    type=click.Choice(["1", "2"]),
    default="2",
    show_default=True,
    help="2 answers with sections, 1 with whole documents.",
)
@click.option("--include", multiple=True, metavar="GLOB", help="Files to take, as in .gitignore. Repeatable.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Files to leave out, as in .gitignore. Repeatable.")
@click.option("--all", "everything", is_flag=True, help="Take hidden, generated and ignored files too.")
@click.option("--embedder", metavar="ID", help="An installed embedder, to compare by meaning too. Format 2 only.")
@click.option(
    "--shards",
    type=int,
    default=1,
    show_default=True,
    metavar="N",
    help="Parts on the disk, asked as one. Format 2 only.",
)
@CLUSTER
@click.option("--strict", is_flag=True, help="Fail if a file cannot be converted.")
@click.option("--packages", is_flag=True, help="Take the documentation of the installed dependencies.")
@click.option(
    "--python",
    metavar="PATH",
    help="The Python environment of --packages.  [default: .venv, or the active one]",
    shell_complete=completed_by("directories"),
)
@click.option("--all-packages", is_flag=True, help="Take all that is installed, not only what the project asks for.")
def build(
    sources: tuple[str, ...],
    cache: str,
    format: str,  # noqa: A002 - as `build_cache` has it
    include: tuple[str, ...],
    cluster: str | None,
    **options: Any,  # noqa: ANN401 - as `build_cache` has them
) -> None:
    """Compile folders of documents into a cache.

    Takes Markdown, reStructuredText, AsciiDoc, text, HTML and notebooks. A build succeeds whole or leaves nothing; with
    --force the old cache can be read until the new one takes its place.
    """
    begun = time.monotonic()
    with ProgressBar("building") as bar:
        hall = HallChoice(cluster=cluster).open()
        built = hall.build_cache(sources, cache, include=include, format=int(format), progress=bar.show, **options)
    seconds = time.monotonic() - begun
    for line in what_was_odd(built.passed_over, built.encodings, built.failures):
        say(on_one_line(line))
    for warning in built.warnings:
        say(on_one_line(f"warning: {warning}"))
    say(f"built {counted(built.document_count, 'document')}, version {built.cache_version}, in {seconds:.1f} s")
    if not built.document_count:
        wanted = f"matches {' or '.join(include)}" if include else "has an ending that is known"
        say(on_one_line(f"warning: no file in the sources {wanted}; --include GLOB takes others"))
    if built.left_behind:
        say(on_one_line(f"warning: what was there before could not be removed: {built.left_behind}"))


@click.command(
    epilog="""\b
Examples:
  context resolve --cache handbook --query "rotate keys" --budget 4000
  context resolve --cache handbook --query keys --budget 400 --why-not keys.md"""
)
@CACHE
@click.option("--query", required=True, metavar="TEXT", help="A question, or words that the answer should have.")
@BUDGET
@click.option(
    "--format",
    "layout",
    type=click.Choice(["json", "pretty", "text"]),
    default="json",
    show_default=True,
    help="On one line, on many, or, of a cache of format 2, for reading.",
)
@click.option("--why-not", metavar="ID", help="Say instead, for people, what became of this section or page.")
@asking_options
def resolve(cache: str, query: str, budget: str, layout: str, why_not: str | None, hall: HallChoice) -> None:
    """Give the sections that answer a question, within a budget.

    The best first, each whole. Prints the same JSON as the tool context.resolve.
    """
    library = hall.open().caches
    library.check_query(query)
    tokens = whole_number(budget)
    library.check_budget(tokens)
    directory = library.find(cache)
    reply: ReplyFormat = "text" if layout == "text" else "json"
    if why_not is not None:
        with naming_outline(cache):
            print_lines(library.explain(directory, query, tokens, why_not, reply).sentences(tokens))
        return
    text = library.resolve(directory, query, tokens, reply).text
    if layout == "text" and not text.startswith("{"):
        print_data(text)
    else:
        print_json(indent(text) if layout == "pretty" else text)


@contextmanager
def naming_outline(cache: str) -> Iterator[None]:
    """Have the error about a missing document say how to list those of this cache."""
    try:
        yield
    except DocumentMissingError as error:
        error.hint = f"`context outline --cache {quote(cache)}` lists the pages"
        raise


@click.command(epilog="\b\nExample:\n  context verify --cache handbook")
@CACHE
@click.option("--json", "as_json", is_flag=True, help="Print the violations as JSON.")
@roots_options
def verify(cache: str, as_json: bool, hall: HallChoice) -> None:
    """Check that a cache is what it says it is.

    Names every violation. Exits with 5 when there are any. An index that is missing or damaged is a note.
    """
    opened = hall.open()
    library, directory = opened.caches, opened.caches.find(cache)
    violations = library.verify(directory)
    doubts = "" if violations else library.doubts(directory)
    notes = [f"no index is used ({doubts}), so each query reads every document"] if doubts else []
    if as_json:
        print_json(compact({"valid": not violations, "violations": violations, "notes": notes}))
    else:
        for violation in violations:
            say(on_one_line(violation))
    place = quote(directory.path.removeprefix(f"{opened.settings.working_directory}/"))
    building = f"`context build --sources DIR --cache {place} --force`"
    if violations:
        text = f"{counted(len(violations), 'violation')} in {cache}"
        raise CacheInvalidError(text, hint=f"{building} builds it anew")
    if as_json:
        return
    say("the cache is sound" + ", but slow" * bool(notes))
    for note in notes:
        knows_sources = library.changes(directory) is not None
        command = f"`context refresh --whole {quote(cache)}`" if knows_sources else building
        say(on_one_line(f"note: {note}"))
        say("\n" + on_one_line(f"hint: {command} makes it anew"))


@click.command(epilog="\b\nExample:\n  context caches --long")
@directory_option("--root", about="List this directory, by absolute paths, instead of the cache root.")
@click.option("--long", "is_long", is_flag=True, help="Show documents, age, state and sources, as a table.")
@click.option("--json", "as_json", is_flag=True, help="With --long, print JSON instead of the table.")
@roots_options
def caches(root: str | None, is_long: bool, as_json: bool, hall: HallChoice) -> None:
    """List the document caches that are there.

    Prints the same JSON as the tool context.list_caches; with --long, a table for people.
    """
    opened = hall.open()
    if not is_long:
        found = opened.caches.list_caches(root)
        print_json(compact({"caches": [cache._asdict() for cache in found]}))
        return
    reports = opened.caches.reports(root)
    if as_json:
        print_json(compact(reports_json(reports)))
    elif reports:
        print_data(caches_table(reports, opened.settings.working_directory, datetime.now(UTC)))
    else:
        say("no caches yet; `context build --sources DIR --cache .context/caches/NAME` makes one")


@click.command(epilog="\b\nExample:\n  context inspect --cache handbook")
@CACHE
@roots_options
def inspect(cache: str, hall: HallChoice) -> None:
    """Tell the version, document count and size of a cache.

    Exits with 0 whatever `valid` says; a cache that is not there is an error.
    """
    library = hall.open().caches
    print_json(pretty(library.inspect(library.find(cache))._asdict()))

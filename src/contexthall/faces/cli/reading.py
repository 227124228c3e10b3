"""`context ask`, `read` and `outline`: what the documents say, for people and scripts."""

import re
import shlex
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from contexthall.caches.library import DEFAULT_BUDGET
from contexthall.core.errors import CacheMissingError, UsageError
from contexthall.core.wire import indent
from contexthall.faces.cli.caches import BUDGET, CACHE, naming_outline
from contexthall.faces.cli.options import HallChoice, completed_by, how_to_get_caches, roots_options, whole_number
from contexthall.faces.cli.output import counted, on_one_line, print_data, print_json, print_styled, say

if TYPE_CHECKING:
    from contexthall.caches.library import JoinedReply, JoinedSection, Outline, Reading

_LAYOUT = click.option(
    "--format",
    "layout",
    type=click.Choice(["text", "json", "pretty"]),
    default="text",
    show_default=True,
    help="For reading, on one line, or on many.",
)


@click.command(
    epilog="""\b
Examples:
  context ask How do I rotate keys
  context ask "Which options does build have?" --cache handbook --budget 1000"""
)
@click.argument("words", nargs=-1, required=True, metavar="QUESTION")
@click.option(
    "--cache",
    "names",
    multiple=True,
    metavar="DIR",
    help="A cache to ask, instead of all below the cache root. Repeatable.",
    shell_complete=completed_by("caches"),
)
@BUDGET
@roots_options
def ask(words: tuple[str, ...], names: tuple[str, ...], budget: str, hall: HallChoice) -> None:
    """Answer a question from the documents, for a person.

    Asks all caches of the root as if they were one, and shows the best sections with their sources. Quote the question
    if it has a character that your shell reads, such as `?` or an apostrophe.
    """
    question, opened = " ".join(words), hall.open()
    if not re.search(r"\w", question):
        raise UsageError("the question has no words", hint="for example `context ask How do I rotate keys`")
    library = opened.caches
    library.check_query(question)
    tokens = whole_number(budget)
    library.check_budget(tokens)
    entries = () if names else library.list_caches()
    here = [entry.path for entry in entries if entry.has_manifest]
    found = [*map(library.find, names), *map(library.locate, here)]
    if not found:
        for entry in entries:
            library.inspect(library.locate(entry.path))  # one that cannot be read looks like none
        raise CacheMissingError("there is no cache to ask", hint=how_to_get_caches(opened))
    reply = library.ask(found, question, tokens)
    print_styled(piece for section in reply.sections for piece in _shown(section))
    say(_summary(reply, tokens))
    if not reply.sections:
        say(on_one_line(_what_to_do(reply, tokens, [*names, *here][0])))
    refreshing = shlex.join(("context", "refresh", *names))
    if reply.stale:
        say(on_one_line(f"stale: {', '.join(reply.stale)}; type: {refreshing}"))
    if reply.unknown:
        say(on_one_line(f"unknown whether still true: {', '.join(reply.unknown)}; to see why, type: {refreshing}"))


@click.command(
    epilog="""\b
Examples:
  context read --cache handbook keys.md
  context read --cache handbook keys.md#rotate --neighbours 1"""
)
@click.argument("document_id", metavar="ID")
@CACHE
@click.option("--neighbours", type=click.IntRange(min=0), default=0, metavar="N", help="Sections on each side to add.")
@click.option("--from", "start", metavar="ID", help="Of a page, the section to begin at.")
@BUDGET
@_LAYOUT
@roots_options
def read(
    document_id: str, cache: str, neighbours: int, start: str | None, budget: str, layout: str, hall: HallChoice
) -> None:
    """Read a section with its neighbours, or a whole page.

    As far as the budget goes. To go on, name the page, and `next` with --from. Prints what the tool context.read gives.
    """
    library = hall.open().caches
    asked = partial(library.read, library.find(cache), document_id, neighbours=neighbours, start=start)
    with naming_outline(cache):
        _print(asked, budget, layout)


@click.command(
    epilog="""\b
Examples:
  context outline --cache handbook
  context outline --cache handbook guides --depth 2"""
)
@click.argument("under", required=False)
@CACHE
@click.option("--depth", type=click.IntRange(min=0), metavar="N", help="Deepest level of headings.  [default: all]")
@click.option("--from", "start", metavar="PAGE", help="The page to begin at.")
@BUDGET
@_LAYOUT
@roots_options
def outline(
    under: str | None, cache: str, depth: int | None, start: str | None, budget: str, layout: str, hall: HallChoice
) -> None:
    """List the headings of a cache, of a folder or of a page.

    As far as the budget goes. To go on, pass `next` with --from. Prints the same as the tool context.outline.
    """
    library = hall.open().caches
    asked = partial(library.outline, library.find(cache), under, depth=depth, start=start)
    with naming_outline(cache):
        _print(asked, budget, layout)


def _print(asked: "partial[Reading] | partial[Outline]", budget: str, layout: str) -> None:
    text = asked(budget=whole_number(budget), reply="text" if layout == "text" else "json").text
    if layout == "text":
        print_data(text)
    else:
        print_json(text if layout == "json" else indent(text))


def _shown(section: "JoinedSection") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a section for a person: what it is called, where it is from, and what it says."""
    item = section.item
    yield f"{on_one_line(item.title)}\n", {"bold": True}
    where = f"{section.cache}: {item.id}, lines {item.first_line}-{item.last_line}"
    yield f"{on_one_line(where)}\n", {"fg": "cyan"}
    yield f"\n{item.content.rstrip()}\n\n", {}


def _summary(reply: "JoinedReply", budget: int) -> str:
    fitting = f"{counted(len(reply.sections), 'section')} of {reply.considered:,}"
    words = [f"{fitting}, {reply.tokens_used:,} of {budget:,} tokens"]
    if reply.model:
        words.append(f"ranked by words and by {_name(reply.model)}")
    if reply.other_models:
        names = ", ".join(map(_name, reply.other_models))
        words.append(f"ranked by words only: not all of these caches were built with {names}")
    if reply.unmatched:
        words.append(on_one_line(f"no section has: {', '.join(reply.unmatched)}"))
    if reply.skipped:
        words.append(on_one_line(f"did not fit: {', '.join(each.text() for each in reply.skipped)}"))
    return "\n".join(words)


def _what_to_do(reply: "JoinedReply", budget: int, cache: str) -> str:
    if reply.considered and reply.tokens_used > max(budget, DEFAULT_BUDGET):
        return f"the question alone takes {reply.tokens_used:,} tokens: a shorter one leaves room for an answer"
    if reply.considered:
        larger = DEFAULT_BUDGET if budget < DEFAULT_BUDGET else 2 * budget
        return f"nothing fits into {budget:,} tokens: a larger --budget, such as {larger}, allows more"
    if not reply.unmatched:
        return "its words are too common to be searched for: add one that the answer should have"
    return f"`context outline --cache {shlex.quote(cache)}` shows what the documents are about"


def _name(model: str) -> str:
    return model.partition("@")[0]

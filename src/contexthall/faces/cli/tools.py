"""`context tools` and `context call`."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from contexthall.core.catalog import Catalog, JsonObject, ToolResult
from contexthall.core.errors import UsageError, exit_code_of
from contexthall.core.tokens import tokens as cost
from contexthall.core.wire import compact, parse
from contexthall.faces.cli.log import show_log
from contexthall.faces.cli.options import PROFILE, HallChoice, hall_options
from contexthall.faces.cli.output import counted, on_one_line, print_data, print_json, say
from contexthall.hall import Hall

if TYPE_CHECKING:
    from contexthall.guild.manager import MemberView

ONE_ARGUMENT = click.option("--arg", "pairs", multiple=True, metavar="NAME=VALUE", help="An argument. Repeatable.")
ALL_ARGUMENTS = click.option("--json", "json_text", metavar="OBJECT", help="All arguments, as one JSON object.")
_SUCH_AS = """such as --json '{"cache": "handbook"}'"""


@click.command
@click.option("--json", "as_json", is_flag=True, help="Print the full definitions as JSON.")
@PROFILE
@hall_options
def tools(as_json: bool, profile: str | None, hall: HallChoice) -> None:
    """Show the tools an agent would see, and what they cost in tokens.

    The cost is an estimate: a token for every four bytes that the agent is sent before it calls anything.
    """
    opened = hall.open()
    catalog = opened.catalog_of(profile)
    if as_json:
        definitions = [tool.definition() for tool in catalog.tools]
        print_json(compact({"instructions": catalog.instructions, "tools": definitions}))
    else:
        print_data(_as_table(catalog, opened.offered_members(profile) if opened.has_guild else ()))


@click.command(epilog="\b\nExample:\n  context call context.inspect_cache --arg cache=handbook")
@click.argument("tool")
@ONE_ARGUMENT
@ALL_ARGUMENTS
@PROFILE
@hall_options
@click.pass_context
def call(
    context: click.Context,
    tool: str,
    pairs: tuple[str, ...],
    json_text: str | None,
    profile: str | None,
    hall: HallChoice,
) -> None:
    """Call a tool as an agent would, and print its answer.

    An answer that is an error goes to standard error, and its code decides the exit code.
    """
    show_log()
    opened = hall.open()
    result = asyncio.run(_called(opened, profile, tool, lambda schema: read_arguments(schema, pairs, json_text)))
    if result.is_error:
        say(result.text.rstrip("\n"))
        context.exit(exit_code_of(result.code))
    print_data(result.text)


async def _called(hall: Hall, profile: str | None, tool: str, read: Callable[[JsonObject], JsonObject]) -> ToolResult:
    """Call a tool with the arguments that its schema makes of what was typed; a member may have to be asked for it."""
    catalog = hall.catalog_of(profile)
    async with hall.running():
        found = await catalog.find(tool)
        return await catalog.run(found, read(found.input_schema), hall.caller)


def read_arguments(schema: JsonObject, pairs: Sequence[str], json_text: str | None) -> JsonObject:
    """Read what was typed as the arguments of a tool with that input schema."""
    if json_text is None:
        return dict(_argument(schema, pair) for pair in pairs)
    if pairs:
        raise UsageError("--arg and --json exclude each other", hint="give all arguments with one of them")
    try:
        arguments = parse(json_text.encode("utf-8", "surrogateescape"))
    except ValueError as error:
        raise UsageError(f"--json is not JSON: {error}", hint=_SUCH_AS) from None
    if not isinstance(arguments, dict):
        raise UsageError("--json must be an object", hint=_SUCH_AS)
    return arguments


def _argument(schema: JsonObject, pair: str) -> tuple[str, object]:
    """Read NAME=VALUE: the value is text where the tool wants a string, else JSON where it is JSON."""
    name, separator, value = pair.partition("=")
    if not separator or not name:
        raise UsageError(f"--arg {pair}", hint="write --arg NAME=VALUE")
    if _wants_text(schema, name):
        return name, value
    try:
        return name, parse(value.encode("utf-8", "surrogateescape"))
    except ValueError:
        return name, value


def _wants_text(schema: JsonObject, name: str) -> bool:
    # Another server's schema may be odd: JSON Schema knows `true` as well.
    properties = schema.get("properties")
    argument = properties.get(name) if isinstance(properties, dict) else None
    return isinstance(argument, dict) and argument.get("type") == "string"


def tokens(text: str) -> int:
    """Estimate what a text costs an agent."""
    return cost(text.encode("utf-8"))


def _as_table(catalog: Catalog, members: "Sequence[MemberView]") -> str:
    """Return a row for the cost of each tool, for the total, and for the share of each member of the guild."""
    rows = [(tokens(compact(tool.definition())), tool.name, tool.title) for tool in catalog.tools]
    rows.append((tokens(catalog.instructions), "(instructions)", "What the agent is told at the start"))
    rows.append((sum(cost for cost, _, _ in rows), "(total)", ""))
    rows += [(each.tokens, f"(member {each.name})", counted(len(each.tools), "tool")) for each in members]
    width = max(len(name) for _, name, _ in rows)
    lines = [f"{'TOKENS':>6}  TOOL", *(f"{cost:>6}  {name:<{width}}  {title}" for cost, name, title in rows)]
    return "\n".join(on_one_line(line).rstrip() for line in lines)

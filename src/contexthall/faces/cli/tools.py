"""`context tools` and `context call`."""

import asyncio
from collections.abc import Sequence

import click

from contexthall.core.catalog import Catalog, JsonObject, Tool, ToolResult
from contexthall.core.errors import UsageError, exit_code_of
from contexthall.core.wire import compact, parse
from contexthall.faces.cli.options import HallChoice, hall_options
from contexthall.faces.cli.output import harmless, print_data, say
from contexthall.hall import Hall

_BYTES_PER_TOKEN = 4


@click.command
@click.option("--json", "as_json", is_flag=True, help="Print the full definitions as JSON.")
@hall_options
def tools(as_json: bool, hall: HallChoice) -> None:
    """Show the tools an agent would see, and what they cost in tokens.

    The cost is an estimate: a token for every four bytes that the agent is sent before it calls anything.
    """
    catalog = hall.open().catalog
    print_data(_as_json(catalog) if as_json else _as_table(catalog))


@click.command
@click.argument("tool")
@click.option("--arg", "pairs", multiple=True, metavar="NAME=VALUE", help="An argument. Repeatable.")
@click.option("--json", "json_text", metavar="OBJECT", help="All arguments, as one JSON object.")
@hall_options
@click.pass_context
def call(context: click.Context, tool: str, pairs: tuple[str, ...], json_text: str | None, hall: HallChoice) -> None:
    """Call a tool as an agent would, and print its answer.

    An answer that is an error goes to standard error, and its code decides the exit code.
    """
    opened = hall.open()
    arguments = _arguments(opened.catalog.tool(tool), pairs, json_text)
    result = asyncio.run(_called(opened, tool, arguments))
    if result.is_error:
        say(result.text.rstrip("\n"))
        context.exit(exit_code_of(result.code))
    print_data(result.text)


async def _called(hall: Hall, tool: str, arguments: JsonObject) -> ToolResult:
    async with hall.at_work():
        return await hall.catalog.call(tool, arguments, hall.caller)


def _arguments(tool: Tool, pairs: Sequence[str], json_text: str | None) -> JsonObject:
    if json_text is None:
        return dict(_argument(tool, pair) for pair in pairs)
    if pairs:
        raise UsageError("--arg and --json exclude each other")
    try:
        arguments = parse(json_text.encode("utf-8", "surrogateescape"))
    except ValueError as error:
        raise UsageError(f"--json is not JSON: {error}") from None
    if not isinstance(arguments, dict):
        raise UsageError("--json must be an object", hint='for example --json \'{"cache": "handbook"}\'')
    return arguments


def _argument(tool: Tool, pair: str) -> tuple[str, object]:
    """Read NAME=VALUE: the value is text where the tool wants a string, else JSON where it is JSON."""
    name, separator, value = pair.partition("=")
    if not separator or not name:
        raise UsageError(f"--arg {pair}", hint="write --arg NAME=VALUE")
    if tool.input_schema.get("properties", {}).get(name, {}).get("type") == "string":
        return name, value
    try:
        return name, parse(value.encode("utf-8", "surrogateescape"))
    except ValueError:
        return name, value


def _as_json(catalog: Catalog) -> str:
    return compact({"instructions": catalog.instructions, "tools": [tool.definition() for tool in catalog.tools]})


def _as_table(catalog: Catalog) -> str:
    rows = [(_tokens(compact(tool.definition())), tool.name, tool.title) for tool in catalog.tools]
    rows.append((_tokens(catalog.instructions), "(instructions)", "What the agent is told at the start"))
    rows.append((sum(tokens for tokens, _, _ in rows), "(total)", ""))
    width = max(len(name) for _, name, _ in rows)
    lines = [f"{'TOKENS':>6}  TOOL", *(f"{tokens:>6}  {name:<{width}}  {title}" for tokens, name, title in rows)]
    return "\n".join(harmless(line).rstrip() for line in lines)


def _tokens(text: str) -> int:
    return -(-len(text.encode("utf-8")) // _BYTES_PER_TOKEN)

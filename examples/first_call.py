"""A first conversation with the hall: start it, ask what it offers, call its tools, print what it says."""

import json
import sys
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

COMMAND = str(Path(sys.executable).with_name("context"))
ARGUMENTS = ["serve", "--path", str(Path(__file__).parent)]
SHOP = str(Path(__file__).parent / "shop")
CALLS: list[tuple[str, dict[str, object]]] = [
    ("context.list_caches", {}),
    ("context.inspect_cache", {"cache": "handbook"}),
    ("context.resolve", {"cache": "handbook", "query": "rotate keys", "budget": 150}),
    ("list_contexts", {"path": SHOP}),
    ("check_freshness", {"path": SHOP, "scope": "shop"}),
    ("query_context", {"path": SHOP, "scope": "shop", "filter": ["summary", "exports"]}),
]


async def main() -> None:
    print(f"\n$ context {' '.join(ARGUMENTS)}\n")
    async with Client(StdioServerParameters(command=COMMAND, args=ARGUMENTS)) as client:
        for tool in (await client.list_tools()).tools:
            print(f"{tool.name:<24}{tool.title}")
        for name, arguments in CALLS:
            result = await client.call_tool(name, arguments)
            print(f"\n> {name} {json.dumps(arguments)}")
            print("".join(block.text for block in result.content if isinstance(block, TextContent)).rstrip("\n"))
    print("\nTo connect an agent over standard input and output, give it this command:")
    print(f"  {COMMAND} serve --path YOUR_PROJECT")


if __name__ == "__main__":
    anyio.run(main)

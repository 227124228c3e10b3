"""A first conversation with the hall: start it, ask what it offers, call both tools, print what it says."""

import sys
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

EXAMPLES = Path(__file__).parent
COMMAND = str(Path(sys.executable).with_name("context"))
ARGUMENTS = ["serve", "--cache-root", str(EXAMPLES / "caches")]


async def main() -> None:
    print(f"$ context {' '.join(ARGUMENTS)}\n")
    async with Client(StdioServerParameters(command=COMMAND, args=ARGUMENTS)) as client:
        for tool in (await client.list_tools()).tools:
            print(f"{tool.name:<24}{tool.title}")
        for name, arguments in (("context.list_caches", {}), ("context.inspect_cache", {"cache": "greetings"})):
            result = await client.call_tool(name, arguments)
            print(f"\n> {name} {arguments}")
            print("".join(block.text for block in result.content if isinstance(block, TextContent)))
    print("\nTo connect an agent over standard input and output, give it this command:")
    print(f"  {COMMAND} serve --path YOUR_PROJECT")


if __name__ == "__main__":
    anyio.run(main)

"""`context serve --http`, with the tools of the conformance suite in the place of its own.

python -m tests.conformance.serve catalog|member [OPTIONS OF context serve]

As a catalog the tools are the hall's own; as a member, they are those of a server over pipes, under their bare names.
"""

import sys
from functools import cached_property

from msgspec.structs import replace
from tests.conformance.fixture import CHANGING_TOOL, DEFINITIONS, FAULTS, PROGRESS_TOOL, RESULTS, STEPS

from contexthall.__main__ import main
from contexthall.core.catalog import Caller, Capability, Catalog, JsonObject, Tool, ToolResult
from contexthall.guild.capability import guild_capability
from contexthall.hall import Hall


def _native(definition: JsonObject) -> Tool:
    name = definition["name"]

    async def run(_arguments: JsonObject, caller: Caller) -> ToolResult:
        for step in STEPS if name == PROGRESS_TOOL else ():
            await caller.progress(step, 100, None)
        return ToolResult.of_fault(FAULTS[name]) if name in FAULTS else ToolResult.of_whole(RESULTS[name])

    shown = {"title": name, "description": definition["description"], "input_schema": definition["inputSchema"]}
    return Tool(name=name, run=run, **shown)


def _catalog(_hall: Hall) -> Catalog:
    capability = Capability("conformance", tools=map(_native, DEFINITIONS))

    async def change(_arguments: JsonObject, _caller: Caller) -> ToolResult:
        *others, last = capability.tools
        capability.replace_tools([*others, replace(last, description=f"{last.description} Changed.")])
        return ToolResult.of_whole(RESULTS[CHANGING_TOOL])

    capability.replace_tools(
        [replace(each, run=change) if each.name == CHANGING_TOOL else each for each in capability.tools]
    )
    return Catalog([capability])


def _member(hall: Hall) -> Catalog:
    tools = guild_capability(hall.guild).tools
    return Catalog([Capability("conformance", tools=[replace(each, name=each.original["name"]) for each in tools])])  # type: ignore[index]


if __name__ == "__main__":
    kind, *options = sys.argv[1:]
    catalog = cached_property({"catalog": _catalog, "member": _member}[kind])
    catalog.__set_name__(Hall, "catalog")
    Hall.catalog = catalog  # type: ignore[assignment]
    sys.argv = ["context", "serve", *options]
    main()

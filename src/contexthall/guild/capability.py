"""The guild as agents see it: every member's tools as the hall's own, or tools to find them."""

import logging
from collections.abc import Collection, Sequence
from typing import NamedTuple

from contexthall.core import limits
from contexthall.core.catalog import (
    READ_ONLY,
    Caller,
    Capability,
    FailedResult,
    JsonObject,
    Tool,
    ToolResult,
    failing_tool,
    note_passed_on,
    refusal,
)
from contexthall.core.errors import MemberError
from contexthall.core.profile import EVERYTHING, Profile
from contexthall.core.text import quoted
from contexthall.core.wire import compact
from contexthall.guild.lists.definitions import tokens
from contexthall.guild.lists.naming import may_name
from contexthall.guild.lists.search import ListedTool, ToolSearch, one_line
from contexthall.guild.manager import MCPManager
from contexthall.guild.servers.supervisor import Event

logger = logging.getLogger(__name__)

GUIDANCE = (
    "Guild: tools named member__tool belong to other servers of this machine, which start when they are first called, "
    "so a first call may take a moment."
)
SEARCH_GUIDANCE = (
    "Guild: other servers of this machine offer more tools than are listed. Call guild_find_tools with a few words to "
    "find some, guild_describe_tool for the arguments of one, and guild_call_tool to call it."
)
_DEFAULT_FOUND = 10

_NAME: JsonObject = {"type": "string", "description": "Name of the tool, as guild_find_tools gives it"}


def _arguments(required: str, **properties: JsonObject) -> JsonObject:
    return {"type": "object", "required": [required], "properties": properties, "additionalProperties": False}


FIND_INPUT = _arguments(
    "query",
    query={"type": "string", "description": "A few words about what the tool should do"},
    limit={
        "type": "integer",
        "minimum": 1,
        "maximum": limits.FOUND_TOOLS,
        "description": f"How many tools to give at most. Default: {_DEFAULT_FOUND}",
    },
)
DESCRIBE_INPUT = _arguments("name", name=_NAME)
CALL_INPUT = _arguments(
    "name",
    name=_NAME,
    arguments={"type": "object", "description": "Its arguments, as guild_describe_tool describes them"},
)


def guild_capability(
    manager: MCPManager, budget: int | None = None, pinned: Collection[str] = (), profile: Profile = EVERYTHING
) -> Capability:
    """Offer the tools of the guild that are in a profile to agents, and keep the offer true.

    If their definitions cost more tokens than `budget`, tools are found, not listed, but for those of `pinned` members.
    """
    for name in pinned:
        if name not in manager.roster:
            logger.warning("a member is pinned that the guild does not have: %r", name)
    guild = _GuildTools(manager, budget, pinned, profile)
    capability = Capability("guild", guidance=guild.guidance(), tools=guild.tools(), unlisted=guild.unlisted())

    def on_event(event: Event) -> None:
        if event.kind in ("tools_updated", "roster_changed") and guild.has_changed():
            capability.guidance = guild.guidance()
            capability.replace_tools(guild.tools(), guild.unlisted())

    manager.subscribe(on_event)
    capability.seek = guild.seek
    return capability


class _OfferedTool(NamedTuple):
    """A tool of a member as agents see it, and what its definition costs them."""

    listed: ListedTool
    tool: Tool
    tokens: int


class _GuildTools:
    """The tools of all members under the names that agents know them by."""

    def __init__(self, manager: MCPManager, budget: int | None, pinned: Collection[str], profile: Profile) -> None:
        self._manager = manager
        self._profile = profile
        self._budget = budget
        self._pinned = pinned
        self._lists: list[Sequence[JsonObject]] = []
        self._offers: dict[str, _OfferedTool] = {}
        """Of all members, by the names that agents see."""
        self.listed: dict[str, ListedTool] = {}
        self.search = ToolSearch(())
        self._is_over_budget = False
        self.has_changed()

    def has_changed(self) -> bool:
        """Look again at what members offer; return whether it has changed."""
        members = self._manager.roster.values()
        before, self._lists = self._lists, [tuple(member.tools) for member in members]
        if self._lists == before:
            return False
        names = self._manager.listed_names()
        tools = [(member.name, tool) for member in members for tool in member.tools]
        offers = [self._offer(names[member, tool["name"]], member, tool) for member, tool in tools]
        self._offers = {each.tool.name: each for each in offers}
        inside = [each for each in offers if self._is_inside(each.listed)]
        self.listed = {each.tool.name: each.listed for each in inside}
        self.search = ToolSearch(self.listed.values())
        self._is_over_budget = self._budget is not None and sum(each.tokens for each in inside) > self._budget
        return True

    def _offer(self, name: str, member: str, definition: JsonObject) -> _OfferedTool:
        """Return what is made of a definition: if it is the very one of before, the same, for calls wait meanwhile."""
        before = self._offers.get(name)
        if before is not None and before.listed.definition is definition and before.listed.member == member:
            return before
        listed = ListedTool(name, member, definition)
        return _OfferedTool(listed, self._tool(listed), 0 if self._budget is None else tokens(_shown(listed)))

    def _is_inside(self, listed: ListedTool) -> bool:
        return self._profile.has_member(listed.member) and self._profile.has_tool(listed.name)

    def guidance(self) -> str:
        if not self._profile.has_toolset("guild"):
            return ""
        return SEARCH_GUIDANCE if self._is_over_budget else GUIDANCE

    def tools(self) -> tuple[Tool, ...]:
        if not self._is_over_budget:
            return tuple(self._offers[name].tool for name in self.listed)
        return (_find_tool(self), _describe_tool(self), _call_tool(self), *self._by_pin(pinned=True))

    def unlisted(self) -> tuple[Tool, ...]:
        """Return the tools that are found and not listed: one that was listed before may still be called."""
        return tuple(self._by_pin(pinned=False)) if self._is_over_budget else ()

    def _by_pin(self, *, pinned: bool) -> list[Tool]:
        listed = self.listed.values()
        return [self._offers[each.name].tool for each in listed if (each.member in self._pinned) is pinned]

    async def call(self, listed: ListedTool, arguments: JsonObject, caller: Caller) -> ToolResult:
        """Call a tool of a member, and pass on whatever it answers."""
        invoke = self._manager.invoke_raw if caller.takes_raw else self._manager.invoke_tool
        try:
            result = await invoke(listed.member, listed.definition["name"], arguments, caller.progress)
        except MemberError as error:
            if error.fault is not None:
                return ToolResult.of_fault(error.fault)
            return _failure(listed.member, error)
        return ToolResult(content=(), raw=result) if isinstance(result, bytes) else ToolResult.of_whole(result)

    async def find(self, name: str) -> ListedTool | ToolResult | None:
        """Return the tool of that name, for which a member that has no list is asked; its failure, or None."""
        failure = None
        for member in self._manager.roster.values():
            if name in self.listed:
                break
            is_inside = self._profile.has_member(member.name)
            if is_inside and member.freshness.state == "missing" and may_name(name, member.name):
                try:
                    await self._manager.ensure_list(member.name)
                except MemberError as error:
                    failure = failure or _failure(member.name, error)
        return self.listed.get(name) or self._refusal(name) or failure

    def _refusal(self, name: str) -> ToolResult | None:
        """Return what is answered to a call of a tool that is outside or switched off; None for any other."""
        if self._is_outside(name):
            return refusal(self._profile, name)
        for member in self._manager.roster.values():
            if member.switched_off and may_name(name, member.name):
                names = self._manager.listed_names(member.name)
                off = next((tool for tool in member.switched_off if names[member.name, tool] == name), None)
                if off is not None:
                    return _failure(member.name, MemberError(f"the tool {quoted(off)} is switched off"))
        return None

    def _is_outside(self, name: str) -> bool:
        """Return whether a name is of a tool outside the profile; nobody is started to find out."""
        others = (each for each in self._manager.roster if not self._profile.has_member(each))
        is_offered = name in self._offers and name not in self.listed
        return is_offered or any(may_name(name, each) for each in others)

    async def seek(self, name: str) -> Tool | None:
        """Return the tool of that name if its member has one; if the member fails, a tool that fails."""
        found = await self.find(name)
        if isinstance(found, ListedTool):
            return self._offers[found.name].tool
        return None if found is None else failing_tool(name, found)

    def _tool(self, listed: ListedTool) -> Tool:
        async def run(arguments: JsonObject, caller: Caller) -> ToolResult:
            return await self.call(listed, arguments, caller)

        definition = listed.definition
        return Tool(
            name=listed.name,
            title=str(definition.get("title", "")) or str(definition["name"]),
            description=str(definition.get("description", "")),
            input_schema=definition["inputSchema"],
            output_schema=definition.get("outputSchema"),
            annotations=definition.get("annotations", {}),
            original=definition,
            run=run,
        )


def _find_tool(guild: _GuildTools) -> Tool:
    def run(arguments: JsonObject, _caller: Caller) -> ToolResult:
        found = guild.search.find(arguments["query"], int(arguments.get("limit", _DEFAULT_FOUND)))
        lines = [{"name": each.name, "description": one_line(each.definition)} for each in found.tools]
        answer = {"tools": lines, "of": len(guild.listed), "unmatched_terms": found.unmatched}
        return ToolResult.of_text(compact(answer))

    return Tool(
        name="guild_find_tools",
        title="Find tools",
        description=(
            "Find tools of other servers by what they do: names and one-line descriptions, best first. "
            "unmatched_terms are words that no tool has: try others for them."
        ),
        input_schema=FIND_INPUT,
        annotations=READ_ONLY,
        run=run,
    )


def _describe_tool(guild: _GuildTools) -> Tool:
    async def run(arguments: JsonObject, _caller: Caller) -> ToolResult:
        found = await guild.find(arguments["name"])
        if isinstance(found, ListedTool):
            return ToolResult.of_text(compact(_shown(found)))
        return found or _unknown(arguments["name"])

    return Tool(
        name="guild_describe_tool",
        title="Describe a tool",
        description="Give the whole definition of a tool that guild_find_tools named: what it does and its arguments.",
        input_schema=DESCRIBE_INPUT,
        annotations=READ_ONLY,
        run=run,
    )


def _call_tool(guild: _GuildTools) -> Tool:
    async def run(arguments: JsonObject, caller: Caller) -> ToolResult:
        found = await guild.find(arguments["name"])
        if isinstance(found, ListedTool):
            note_passed_on(found.name)
            return await guild.call(found, arguments.get("arguments", {}), caller)
        return found or _unknown(arguments["name"])

    return Tool(
        name="guild_call_tool",
        title="Call a tool",
        description="Call a tool that guild_find_tools named. The answer is the tool's own.",
        input_schema=CALL_INPUT,
        run=run,
    )


def _failure(member: str, error: MemberError) -> ToolResult:
    content = ({"type": "text", "text": f"{member}: {error.detail}"},)
    return FailedResult(content=content, is_error=True, sentence=error.sentence)


def _shown(listed: ListedTool) -> JsonObject:
    return {**listed.definition, "name": listed.name}


def _unknown(name: str) -> ToolResult:
    return ToolResult.of_text(f"No tool is called {quoted(name)}: find one with guild_find_tools", is_error=True)

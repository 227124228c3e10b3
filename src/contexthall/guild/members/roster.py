"""The roster: members and what is known of each. The manager alone changes a member."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from contexthall.core.catalog import JsonObject
from contexthall.guild.lists.definitions import ToolChange, tokens
from contexthall.guild.members.manifest import MemberManifest

Status: TypeAlias = Literal["disconnected", "connected", "error"]


class Freshness(NamedTuple):
    """Whether a tool list still speaks for its server, and if not, why."""

    state: Literal["fresh", "outdated", "missing"]
    reason: str = ""


MISSING = Freshness("missing")
_MANY_TOOLS = 1000


@dataclass(slots=True, kw_only=True)
class Member:
    """A server that the guild knows of, running or not."""

    name: str
    key: str
    """Its directory, relative to the guild's: `echo`, or `collection/echo`."""
    directory: str
    identity: object = None
    """What tells the directory from another one that is put in its place."""
    manifest: MemberManifest | None = None
    """None if it has none that can be used; `error` then says why."""
    status: Status = "disconnected"
    error: str = ""
    """Why its status is `error`, in a sentence."""
    progress: str = ""
    """How far a start has come that takes long, in a sentence."""
    tools: list[JsonObject] = field(default_factory=list)
    """Its tools in force: those of its cache, until a refresh has seen others."""
    switched_off: tuple[str, ...] = ()
    """The names of tools that its manifest switches off: they are neither listed nor called."""
    cached_at: str = ""
    """When the list was written, as RFC 3339 in UTC; empty if there is none."""
    freshness: Freshness = MISSING
    last_failure: str = ""
    """How it failed when it was last asked, if it did, whoever asked."""
    left_out: tuple[str, ...] = ()
    """What was wrong with tools that are not offered, a sentence each."""
    changes: tuple[ToolChange, ...] = ()
    """What changed since the definitions were approved: without a new version, or with one where they are held."""
    is_held: bool = False
    """Whether the definitions in force are older than those the server offers, until somebody approves."""

    def offer(self, tools: Iterable[JsonObject]) -> None:
        """Have these tools in force, but for those that are switched off."""
        every = list(tools)
        self.tools = [tool for tool in every if self.is_on(tool["name"])]
        self.switched_off = tuple(tool["name"] for tool in every if not self.is_on(tool["name"]))

    def is_on(self, tool: str) -> bool:
        """Return whether a tool of that name is switched on."""
        return self.manifest is None or self.manifest.switches.is_on(tool)

    def has_same_server(self, other: "Member") -> bool:
        """Return whether another reading of the guild means the same server, started in the same way."""
        mine, theirs = self.manifest, other.manifest
        if (self.directory, self.identity) != (other.directory, other.identity) or (mine is None) != (theirs is None):
            return False
        if mine is None or theirs is None:
            return self.error == other.error
        return (mine.version, mine.launch) == (theirs.version, theirs.launch)

    def take_list_of(self, other: "Member") -> None:
        """Take over manifest and list of another reading of this member."""
        self.manifest, self.tools, self.cached_at = other.manifest, other.tools, other.cached_at
        self.freshness, self.left_out, self.switched_off = other.freshness, other.left_out, other.switched_off
        self.changes, self.is_held = other.changes, other.is_held

    @property
    def version(self) -> str:
        return self.manifest.version if self.manifest else ""

    @property
    def display_name(self) -> str:
        return self.manifest.display_name if self.manifest else ""

    @property
    def description(self) -> str:
        return self.manifest.description if self.manifest else ""

    @property
    def transport(self) -> str:
        return self.manifest.launch.transport if self.manifest else ""

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The names of its tools, those that are switched off included."""
        return (*(tool["name"] for tool in self.tools), *self.switched_off)

    @property
    def tokens(self) -> int:
        """What its tools cost an agent, about."""
        return sum(map(tokens, self.tools))

    @property
    def notes(self) -> tuple[str, ...]:
        """What else a person should know, a sentence each."""
        count = len(self.tools)
        many = [f"it offers {count} tools: think of --guild-budget"] if count > _MANY_TOOLS else []
        return (*filter(None, [self.last_failure]), *self.left_out, *many)

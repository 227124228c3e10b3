"""Which tools are in a profile? What is outside is not listed, and a call of it is refused by name.

Pure.
"""

from typing import NamedTuple

from contexthall.core.patterns import matches


class Profile(NamedTuple):
    """What one kind of agent gets, by patterns; None where nothing is chosen, and so everything is in it."""

    name: str
    toolsets: tuple[str, ...] | None = None
    members: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    """Of the names that agents see, such as `github__get_*`."""
    denied_tools: tuple[str, ...] = ()

    def has_toolset(self, name: str) -> bool:
        return self.toolsets is None or name in self.toolsets

    def has_member(self, name: str) -> bool:
        return self.has_toolset("guild") and (self.members is None or matches(name, self.members))

    def has_tool(self, name: str) -> bool:
        return (self.tools is None or matches(name, self.tools)) and not matches(name, self.denied_tools)


EVERYTHING = Profile("")

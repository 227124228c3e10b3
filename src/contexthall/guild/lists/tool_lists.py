"""Which tools of a member are in force? Those of its list: on disk, approved, or just heard from its server.

What is written here is for the next process, too; what other processes wrote is heeded. A list that can no longer be
read takes nothing away from those who have it.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from contexthall.core.catalog import JsonObject
from contexthall.core.errors import MemberError
from contexthall.guild.lists.definitions import changes, difference, in_force, validate_tools, without_tasks
from contexthall.guild.lists.memory import Failure, Memory, Remembered
from contexthall.guild.lists.tools_cache import CachedTools, ToolsCaches, judge
from contexthall.guild.members.fingerprint import fingerprint
from contexthall.guild.members.roster import Member
from contexthall.system.disk import Disk


class Known(NamedTuple):
    """What was last read or written about a member: its list, and what is remembered."""

    cached: CachedTools | None
    remembered: Remembered | None


class ToolLists:
    """The tool lists of all members."""

    def __init__(self, disk: Disk, caches: ToolsCaches, memory: Memory, *, hold: bool) -> None:
        self.is_closing = False
        """Set when nobody needs to know any more."""
        self._disk = disk
        self._caches = caches
        self._memory = memory
        self._hold = hold
        self._known: dict[str, Known] = {}
        self._fingerprints: dict[str, str] = {}
        self._stamps: dict[str, object] = {}
        self._stamp: object = None

    def load(self, member: Member) -> None:
        """Put the cached list of a member in force; without one that can be used, nothing is."""
        known = self._read(member)
        self._judge(member)
        if known.cached is None or member.freshness.state == "missing":
            member.tools, member.cached_at, member.changes, member.is_held, member.left_out = [], "", (), False, ()
        else:
            self._put_in_force(member, known.cached, known.remembered)

    def written_elsewhere(self, members: Iterable[Member]) -> list[Member]:
        """Say of which members another process has written something down, since the last time this was asked."""
        if (stamp := self._memory.stamp()) == self._stamp:
            return []
        self._stamp = stamp
        return [member for member in members if self._memory.stamp_of(member) != self._stamps.get(member.name)]

    def reload(self, member: Member) -> bool:
        """Heed what another process wrote down; say whether other tools are in force now."""
        self._stamps[member.name] = self._memory.stamp_of(member)
        before, known = member.tools, self._read(member)
        if known.cached is None or known.cached.version != member.version:
            return False  # of another version, for a hall that has read another manifest
        self._put_in_force(member, known.cached, known.remembered)
        self._judge(member)
        return member.tools != before

    def fingerprints(self, members: Iterable[Member]) -> dict[str, str]:
        """Look at the launch specs and files of members, which may take a while."""
        found = {}
        for member in members:
            if member.manifest is not None and not self.is_closing:
                found[member.name] = fingerprint(self._disk, member)
        return found

    def compare(self, member: Member, seen: str) -> None:
        """Judge a list by the fingerprint that was seen just now."""
        self._fingerprints[member.name] = seen
        self._judge(member)

    def write_down(self, member: Member, offered: Sequence[object], seen: str, cached_at: str) -> Known:
        """Keep what a server offered, as far as it can be passed on."""
        tools, left_out = validate_tools(offered)
        written = self._caches.write(member, tools, cached_at)
        remembered = Remembered(
            version=member.version,
            fingerprint=seen,
            cache_digest=written.digest if written is not None else "",
            cached_at=cached_at,
            approved=self._approved(member, tools),
            baseline=self._baseline(member, tools),
            current=tuple(tools),
            left_out=left_out,
        )
        if self._may_write_over(member):
            self._memory.remember(member, remembered)
        self._memory.note_failure(member, None)
        return Known(written or _unwritten(remembered), remembered)

    def adopt(self, member: Member, heard: Known) -> None:
        """Put in force what a server offered."""
        assert heard.cached is not None
        assert heard.remembered is not None
        self._known[member.name] = heard
        self._stamps[member.name] = self._memory.stamp_of(member)
        self._put_in_force(member, heard.cached, heard.remembered)
        member.last_failure = ""
        self.compare(member, heard.remembered.fingerprint)

    def approve(self, member: Member) -> bool:
        """Trust the list of a member as it is now; say whether there is one. DiskError if that cannot be kept."""
        cached, remembered = self._read(member)
        if cached is None or (remembered is None and not self._memory.has_lost(member)):
            return False
        before = remembered or Remembered(member.version, "", cached.digest, (), (), (), cached.cached_at)
        tools = cached.tools
        approved = before._replace(version=member.version, approved=tools, baseline=tools, current=tools)
        self._memory.keep(member, approved)
        self.load(member)
        return True

    def difference(self, member: Member) -> str:
        """Show how the tools of a member differ from those that were approved."""
        known = self._read(member)
        if known.cached is None or known.remembered is None:
            return ""
        reference = self._reference(member, known.cached, known.remembered)
        before = {tool["name"]: tool for tool in reference}
        after = {tool["name"]: tool for tool in known.cached.tools}
        return "\n".join(difference(before.get(change.tool), after.get(change.tool)) for change in member.changes)

    def note_failure(self, member: Member, error: MemberError, at: str) -> None:
        """Keep how a member failed, for the next process."""
        self._memory.note_failure(member, Failure(at, error.sentence))

    def recall_failure(self, member: Member) -> None:
        """Say how a member failed last, in whatever process, if it has not been well since."""
        failure = self._memory.failure_of(member)
        member.last_failure = f"failed at {failure.at}: {failure.sentence}" if failure else ""

    def _read(self, member: Member) -> Known:
        remembered = self._recall(member)
        cached = self._caches.read(member, remembered)
        if remembered is not None and not remembered.cache_digest and _is_newer(remembered, cached):
            cached = _unwritten(remembered)
        self._known[member.name] = Known(cached, remembered)
        return self._known[member.name]

    def _judge(self, member: Member) -> None:
        cached, remembered = self._known.get(member.name) or self._read(member)
        member.freshness = judge(cached, member.version, remembered, self._fingerprints.get(member.name, ""))

    def _put_in_force(self, member: Member, cached: CachedTools, remembered: Remembered | None) -> None:
        reference = self._reference(member, cached, remembered)
        member.changes = changes(reference, cached.tools)
        member.is_held = self._hold and bool(member.changes)
        offered = in_force(reference, cached.tools) if member.is_held else cached.tools
        member.tools, uncallable = without_tasks(offered)
        member.left_out = (*(remembered.left_out if remembered is not None else ()), *uncallable)
        member.cached_at = cached.cached_at

    def _reference(self, member: Member, cached: CachedTools, remembered: Remembered | None) -> tuple[JsonObject, ...]:
        """Return the definitions that a list is compared with.

        Where definitions are held, those that were approved, whatever the version, which the member itself can edit.
        Else those that were first seen of this version, for a new one is trusted.
        """
        if self._hold and self._memory.has_lost(member):
            return ()
        if remembered is None:
            return cached.tools
        if self._hold:
            return remembered.approved
        return remembered.baseline if remembered.version == member.version else cached.tools

    def _approved(self, member: Member, offered: Sequence[JsonObject]) -> tuple[JsonObject, ...]:
        """Return the definitions that are approved: once there are any, only a person changes that."""
        if self._hold and self._memory.has_lost(member):
            return ()
        remembered = self._recall(member)
        return remembered.approved if remembered is not None else self._first_seen(member, offered)

    def _baseline(self, member: Member, offered: Sequence[JsonObject]) -> tuple[JsonObject, ...]:
        """Return the definitions that were first seen of this version."""
        remembered = self._recall(member)
        if remembered is None:
            return self._first_seen(member, offered)
        return remembered.baseline if remembered.version == member.version else tuple(offered)

    def _first_seen(self, member: Member, offered: Sequence[JsonObject]) -> tuple[JsonObject, ...]:
        shown = self._known[member.name].cached if member.name in self._known else None
        return shown.tools if shown is not None and shown.version == member.version else tuple(offered)

    def _recall(self, member: Member) -> Remembered | None:
        """Give what is remembered of a member; if that cannot be read just now, what was known before."""
        remembered, known = self._memory.recall(member), self._known.get(member.name)
        return known.remembered if known is not None and self._memory.has_lost(member) else remembered

    def _may_write_over(self, member: Member) -> bool:
        """Say whether nothing is lost that somebody approved; who approves again writes over anything."""
        return not self._memory.has_lost(member) or (self._memory.is_damaged(member) and not self._hold)


def _is_newer(remembered: Remembered, cached: CachedTools | None) -> bool:
    """Say whether what could not be written was heard after what is there."""
    return cached is None or remembered.cached_at > cached.cached_at


def _unwritten(remembered: Remembered) -> CachedTools:
    """Make up for a list that could not be written into the member's directory."""
    return CachedTools(version=remembered.version, tools=remembered.current, cached_at=remembered.cached_at)

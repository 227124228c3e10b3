"""The tool lists of all members: read from disk, written after a refresh, and put in force.

What is written here is for the next process, too; what other processes wrote is read again. A list that can no longer
be read takes nothing away from a member that has its tools already.
"""

from collections.abc import Iterable, Sequence
from threading import Lock
from typing import NamedTuple

from contexthall.core.errors import MemberError
from contexthall.guild.lists.definitions import difference, validate_tools
from contexthall.guild.lists.in_force import judge, reference_of, tools_in_force
from contexthall.guild.lists.memory import MemberRecord, Memory
from contexthall.guild.lists.tools_cache import CachedTools, ToolsCaches
from contexthall.guild.members.fingerprint import fingerprint
from contexthall.guild.members.roster import Member
from contexthall.system.disk import Disk


class MemberFacts(NamedTuple):
    """What was last seen of a member."""

    listed: CachedTools | None = None
    record: MemberRecord = MemberRecord()
    fingerprint: str = ""
    """Empty as long as nobody has looked at its files."""
    stamp: object = None
    """That of the record when it was last looked at."""


_UNSEEN = MemberFacts()


class ToolLists:
    """The tool lists of all members."""

    def __init__(self, disk: Disk, caches: ToolsCaches, memory: Memory, *, hold: bool) -> None:
        self.is_closing = False
        """Set when nobody needs to know any more."""
        self._disk = disk
        self._caches = caches
        self._memory = memory
        self._hold = hold
        self._facts: dict[str, MemberFacts] = {}
        self._stamp: object = None
        self._one_writer = Lock()
        """Held from reading a record until it is written: refreshes write in threads."""

    def load(self, member: Member) -> None:
        """Put the cached list of a member in force; without one that can be used, nothing is."""
        self._read(member)
        self._set(member)

    def forget(self, name: str) -> None:
        """Forget what was seen of a member that is gone, or that another one has replaced."""
        self._facts.pop(name, None)

    def written_elsewhere(self, members: Iterable[Member]) -> list[Member]:
        """Return the members whose records another process has written since this was last called."""
        if (stamp := self._memory.stamp()) == self._stamp:
            return []
        self._stamp = stamp
        return [each for each in members if self._memory.stamp(each) != self._facts.get(each.name, _UNSEEN).stamp]

    def reload(self, member: Member) -> bool:
        """Read again what another process wrote; return whether other tools are in force now."""
        stamp, before = self._memory.stamp(member), member.tools
        facts = self._facts[member.name] = self._read(member)._replace(stamp=stamp)
        listed = facts.listed
        if listed is None or listed.version != member.version:
            return False  # of another version, for a hall that has read another manifest
        self._set(member)
        return member.tools != before

    def fingerprints(self, members: Iterable[Member]) -> dict[str, str]:
        """Return the fingerprints of members by name; reading their files may take a while."""
        return {each.name: fingerprint(self._disk, each) for each in members if each.manifest and not self.is_closing}

    def compare(self, member: Member, seen: str) -> None:
        """Judge the list of a member by the fingerprint that was seen just now."""
        facts = self._facts_of(member)
        self._facts[member.name] = facts._replace(fingerprint=seen)
        member.freshness = judge(facts.listed, facts.record, member.version, seen)

    def write_down(self, member: Member, offered: Sequence[object], seen: str, cached_at: str) -> MemberFacts:
        """Write what a server offered, as far as it can be passed on, into its list and its record."""
        valid, left_out = validate_tools(offered)
        tools = tuple(valid)
        written = self._caches.write(member, tools, cached_at)
        heard = MemberRecord(
            version=member.version,
            fingerprint=seen,
            cache_digest=written.digest if written is not None else "",
            cached_at=cached_at,
            current=tools,
            left_out=left_out,
        )
        with self._one_writer:
            record = self._compared(member, heard)
            if self._may_write_over(member):
                self._memory.remember(member, record)
        return MemberFacts(written or _unwritten(record), record, seen)

    def _compared(self, member: Member, heard: MemberRecord) -> MemberRecord:
        """Return a new record with the definitions of the old one that stay: only a person changes approved ones."""
        before, shown = self._record(member), self._facts.get(member.name, _UNSEEN).listed
        # Before anything was recorded, a cache that came with the member was shown.
        first_seen = shown.tools if shown is not None and shown.version == member.version else heard.current
        baseline = before.baseline if before.version == member.version else heard.current
        return heard._replace(
            approved=first_seen if before.approved is None else before.approved,
            baseline=baseline if before.is_listed else first_seen,
        )

    def adopt(self, member: Member, heard: MemberFacts) -> None:
        """Put in force what a server offered."""
        self._facts[member.name] = heard._replace(stamp=self._memory.stamp(member))
        self._set(member)
        member.last_failure = ""

    def approve(self, member: Member) -> bool:
        """Trust the list of a member as it is now; return whether there is one. DiskError if that cannot be kept."""
        facts = self._read(member)
        listed, record = facts.listed, facts.record
        if listed is None or not (record.is_listed or self._memory.has_lost(member)):
            return False
        if not record.is_listed:
            record = MemberRecord(cache_digest=listed.digest, cached_at=listed.cached_at)
        tools = listed.tools
        self._memory.keep(
            member, record._replace(version=member.version, approved=tools, baseline=tools, current=tools)
        )
        self.load(member)
        return True

    def difference(self, member: Member) -> str:
        """Return how the tools of a member differ from those that were approved, as unified diffs."""
        facts = self._read(member)
        if facts.listed is None or not facts.record.is_listed:
            return ""
        reference = reference_of(facts.listed, facts.record, member.version, hold=self._hold)
        before = {tool["name"]: tool for tool in reference}
        after = {tool["name"]: tool for tool in facts.listed.tools}
        return "\n".join(difference(before.get(change.tool), after.get(change.tool)) for change in member.changes)

    def note_failure(self, member: Member, error: MemberError, at: str) -> None:
        """Record how a member failed, for the next process."""
        with self._one_writer:
            self._memory.note_failure(member, f"failed at {at}: {error.sentence}")

    def recall_failure(self, member: Member) -> None:
        """Set how a member failed last, in whatever process, if it has not been listed since."""
        member.last_failure = self._facts_of(member).record.failure

    def _facts_of(self, member: Member) -> MemberFacts:
        return self._facts.get(member.name) or self._read(member)

    def _read(self, member: Member) -> MemberFacts:
        """Read the record and the list of a member; what could not be written beside it stands in its record."""
        record, before = self._record(member), self._facts.get(member.name, _UNSEEN)
        listed = self._caches.read(member, record)
        is_newer = listed is None or record.cached_at > listed.cached_at
        if record.is_listed and not record.cache_digest and is_newer:
            listed = _unwritten(record)
        facts = before._replace(listed=listed, record=record)
        self._facts[member.name] = facts
        return facts

    def _record(self, member: Member) -> MemberRecord:
        """Return the record of a member; while it cannot be read, as it was, and nothing is approved if held."""
        record = self._memory.recall(member)
        if not self._memory.has_lost(member):
            return record or MemberRecord()
        before = self._facts.get(member.name, _UNSEEN).record
        return before._replace(approved=()) if self._hold else before

    def _set(self, member: Member) -> None:
        facts = self._facts[member.name]
        force = tools_in_force(facts.listed, facts.record, member.version, facts.fingerprint, hold=self._hold)
        member.offer(force.tools)
        member.cached_at, member.freshness = force.cached_at, force.freshness
        member.changes, member.is_held, member.left_out = force.changes, force.is_held, force.left_out

    def _may_write_over(self, member: Member) -> bool:
        """Return whether nothing is lost that somebody approved; who approves again writes over anything."""
        return not self._memory.has_lost(member) or (self._memory.is_damaged(member) and not self._hold)


def _unwritten(record: MemberRecord) -> CachedTools:
    """Return the list of a record whose tools cache could not be written."""
    return CachedTools(version=record.version, tools=record.current, cached_at=record.cached_at)

"""The journal of calls: one file for each hall process, in the user's state directory, for the user alone.

A process appends to its own file only, and holds its lock, so that others know that it lives. A file that is full gets
another name, and takes the place of the one before; the oldest files of past processes are removed. If nothing can be
written, calls go on.
"""

import logging
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from contexthall.core import limits
from contexthall.core.activity import Activity, Outcome, Redact, in_full, parse_line, short, to_line, tool_name
from contexthall.core.catalog import CallNote, ToolResult
from contexthall.core.errors import DiskError, UnknownToolError
from contexthall.system.disk import Directory, Disk, File

logger = logging.getLogger(__name__)

JournalMode: TypeAlias = Literal["off", "brief", "full"]
_FILE = re.compile(r"\d{8}T\d{6}-\d+\.jsonl(?:\.1)?")


class Journal:
    """The journal of this process, in `directory`; an empty one is nowhere."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        mode: JournalMode = "brief",
        *,
        redact: Redact = str,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._disk = disk
        self._path = directory if mode != "off" else ""
        self._is_full = mode == "full"
        self._redact = redact
        self.clock = clock
        self.timer = timer
        started = datetime.fromtimestamp(clock(), UTC)
        self._name = f"{started:%Y%m%dT%H%M%S}-{os.getpid()}.jsonl"
        self._directory: Directory | None = None
        self._file: File | None = None
        self._size = 0
        self._next_try = 0.0
        self._next_look = 0.0

    def begin(self, tool: str, arguments: Mapping[str, Any], client: str) -> "_RecordedCall":
        """Take note of a call, which is written down once it is told how it ended."""
        return _RecordedCall(self, tool, arguments, client)

    def close(self) -> None:
        file, self._file = self._file, None
        directory, self._directory = self._directory, None
        for opened in (file, directory):
            if opened is not None:
                with suppress(DiskError):
                    opened.close()

    def write(self, call: "_RecordedCall", ending: ToolResult | BaseException) -> None:
        """Append a line about a call that is over; a failure is logged, and the next try is some time later."""
        if not self._path or call.at < self._next_try:
            return
        line = to_line(self._activity(call, ending))
        try:
            if call.at >= self._next_look:
                self._close_if_removed(call.at)
            self._size += len(line)
            file = self._file if self._file is not None and self._size <= limits.JOURNAL_BYTES else self._open(line)
            file.write_all(line)
        except (DiskError, ValueError) as error:
            self.close()
            self._next_try = self.clock() + limits.JOURNAL_RETRY_SECONDS
            logger.warning("the journal of calls cannot be written: %s", error)

    def _activity(self, call: "_RecordedCall", ending: ToolResult | BaseException) -> Activity:
        ms, seconds = round((self.timer() - call.begun) * 1000, 3), int(call.at)
        result, asked = ending if isinstance(ending, ToolResult) else None, call.arguments
        return Activity(
            time=f"{_moment(seconds)}.{int((call.at - seconds) * 1000):03}Z",
            client=short(call.client),
            tool=tool_name(call.passed_on_to or call.tool),
            ms=ms,
            bytes=_size(result),
            outcome=_outcome_of(ending),
            cache=short(asked.get("cache")) if call.is_own else "",
            scope=short(asked.get("scope")) if call.is_own else "",
            ids=tuple(map(short, result.ids[: limits.JOURNAL_IDS])) if result and result.ids else (),
            arguments=in_full(dict(asked), self._redact) if self._is_full else "",
            result=in_full(_shown(result), self._redact) if self._is_full and result is not None else "",
        )

    def _close_if_removed(self, now: float) -> None:
        """Look now and then whether somebody has removed the file: what is written to it then is lost."""
        self._next_look = now + limits.JOURNAL_LOOK_SECONDS
        if self._file is not None and self._disk.kind(self._file.path, follow=False) is None:
            self.close()

    def _open(self, line: bytes) -> File:
        """Open the file for a line; one that was open is full, and set aside."""
        directory = self._directory = self._directory or self._enter()
        if self._file is not None:
            self._file.close()
            self._file = None
            directory.rename(self._name, f"{self._name}.1")
        self._file = directory.append(self._name)
        with suppress(DiskError):  # not every file system has locks
            self._file.lock(shared=True)
        self._size = self._file.status().size + len(line)
        return self._file

    def _enter(self) -> Directory:
        for directory in (os.path.dirname(self._path), self._path):  # each of them for the user alone
            self._disk.make_directories(directory)
        opened = self._disk.enter(self._path)
        for name in sorted(filter(_FILE.fullmatch, opened.names()), reverse=True)[limits.JOURNAL_FILES :]:
            with suppress(DiskError), opened.open(name) as file:
                if file.lock():
                    opened.remove_if_there(name)
        return opened


class _RecordedCall(CallNote):
    """A call that is under way: it is written into the journal when it is over."""

    __slots__ = ("_journal", "arguments", "at", "begun", "client", "tool")

    def __init__(self, journal: Journal, tool: str, arguments: Mapping[str, Any], client: str) -> None:
        self.is_own, self.passed_on_to = False, ""
        self._journal, self.tool, self.arguments, self.client = journal, tool, arguments, client
        self.at, self.begun = journal.clock(), journal.timer()

    def end(self, outcome: ToolResult | BaseException) -> None:
        """Write the call down."""
        self._journal.write(self, outcome)
        # Timers that were set during the call have its context, and so this, for as long as they run.
        self.arguments = {}


def _outcome_of(ending: ToolResult | BaseException) -> Outcome:
    if isinstance(ending, ToolResult):
        return "error" if ending.is_error else "ok"
    if isinstance(ending, UnknownToolError):
        return "unknown"
    return "failed" if isinstance(ending, Exception) else "cancelled"


def read_journal(disk: Disk, directory: str, most: int) -> tuple[list[Activity], int]:
    """Return the last calls of all processes, the oldest first, and the number of lines that could not be read.

    A file that was last written before all of these calls is not read, nor those before it.
    """
    found: list[Activity] = []
    unread = 0
    for path, written in _files(disk, directory):
        if len(found) >= most and (not found or _moment(written + 1) < found[0].time):
            break
        try:
            lines = disk.read(path).splitlines()
        except DiskError:  # removed since it was listed, or not the user's own
            continue
        read = [each for each in map(parse_line, lines) if each is not None]
        unread += len(lines) - len(read)
        found = [*read, *found]
        if len(found) >= most:
            found = _last(found, most)
    return _last(found, most), unread


def _last(calls: list[Activity], most: int) -> list[Activity]:
    return sorted(calls, key=lambda each: each.time)[max(0, len(calls) - most) :]


def _files(disk: Disk, directory: str) -> list[tuple[str, int]]:
    """Return the paths of journals and the second of the last write to each, the latest first."""
    try:
        names = [each.name for each in disk.list(directory) if each.kind == "file" and _FILE.fullmatch(each.name)]
    except DiskError:
        return []
    found = []
    for path in (os.path.join(directory, name) for name in names):
        with suppress(DiskError):  # removed meanwhile
            found.append((path, disk.look(path, follow=False).stamp[2] // 10**9))
    return sorted(found, key=lambda each: (-each[1], each[0]))


@lru_cache(maxsize=1)
def _moment(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def _size(result: ToolResult | None) -> int:
    if result is None:
        return 0
    if result.raw is not None:
        return len(result.raw)
    text = result.text
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _shown(result: ToolResult) -> object:
    return result.raw.decode("utf-8", "replace") if result.raw is not None else result.text

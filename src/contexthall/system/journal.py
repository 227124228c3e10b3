"""The journal of calls: one file for each hall process, in the user's state directory, for the user alone.

A process appends to its own file only, and holds its lock, so that others know that it lives. A file that is full gets
another name, and takes the place of the one before; the oldest files of past processes are removed. If nothing can be
written, calls go on.
"""

import logging
import os
import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any, Literal, TypeAlias

from contexthall.core import limits
from contexthall.core.activity import Activity, Outcome, in_full, parse_line, short, to_line, tool_name
from contexthall.core.catalog import Tell, ToolResult
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
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._disk = disk
        self._path = directory if mode != "off" else ""
        self._is_full = mode == "full"
        self._clock = clock
        self._timer = timer
        started = datetime.fromtimestamp(clock(), UTC)
        self._name = f"{started:%Y%m%dT%H%M%S}-{os.getpid()}.jsonl"
        self._directory: Directory | None = None
        self._file: File | None = None
        self._size = 0
        self._next_try = 0.0

    def begin(self, tool: str, arguments: Mapping[str, Any], client: str) -> Tell:
        """Take note of a call; what is returned has to be told how it ended."""
        return partial(self._end, tool, arguments, client, self._clock(), self._timer())

    def _end(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        client: str,
        at: float,
        begun: float,
        outcome: ToolResult | BaseException,
    ) -> None:
        if self._path:
            ms = round((self._timer() - begun) * 1000, 3)
            self._write(self._activity(outcome, tool, arguments, client, at, ms))

    def close(self) -> None:
        file, self._file = self._file, None
        directory, self._directory = self._directory, None
        for opened in (file, directory):
            if opened is not None:
                with suppress(DiskError):
                    opened.close()

    def _activity(
        self,
        outcome: ToolResult | BaseException,
        tool: str,
        arguments: Mapping[str, Any],
        client: str,
        at: float,
        ms: float,
    ) -> Activity:
        seconds = int(at)
        result = outcome if isinstance(outcome, ToolResult) else None
        return Activity(
            time=f"{_moment(seconds)}.{int((at - seconds) * 1000):03}Z",
            client=short(client),
            tool=tool_name(tool),
            ms=ms,
            bytes=_size(result),
            outcome=_kind(outcome),
            cache=short(arguments.get("cache")),
            scope=short(arguments.get("scope")),
            ids=() if result is None else tuple(map(short, result.ids[: limits.JOURNAL_IDS])),
            arguments=in_full(dict(arguments)) if self._is_full else "",
            result=in_full(_shown(result)) if self._is_full and result is not None else "",
        )

    def _write(self, activity: Activity) -> None:
        """Append a line; a failure is logged, and the next try is some time later."""
        if self._clock() < self._next_try:
            return
        line = to_line(activity)
        try:
            self._opened(len(line)).write_all(line)
            self._size += len(line)
        except (DiskError, ValueError) as error:
            self.close()
            self._next_try = self._clock() + limits.JOURNAL_RETRY_SECONDS
            logger.warning("the journal of calls cannot be written: %s", error)

    def _opened(self, more: int) -> File:
        if self._file is not None and self._size + more <= limits.JOURNAL_BYTES:
            return self._file
        directory = self._directory = self._directory or self._enter()
        if self._file is not None:
            self._file.close()
            self._file = None
            directory.rename(self._name, f"{self._name}.1")
        self._file = directory.append(self._name)
        with suppress(DiskError):  # not every file system has locks
            self._file.lock(shared=True)
        self._size = self._file.status().size
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


def read_journal(disk: Disk, directory: str, most: int) -> tuple[list[Activity], int]:
    """Return the last calls of all processes, the oldest first, and the number of lines that could not be read."""
    found: deque[Activity] = deque()
    unread = 0
    for name in _files(disk, directory):
        try:
            lines = disk.read(os.path.join(directory, name)).splitlines()
        except DiskError:  # removed since it was listed, or not the user's own
            continue
        activities = [parse_line(line) for line in lines]
        found.extend(each for each in activities if each is not None)
        unread += activities.count(None)
    every = sorted(found, key=lambda each: each.time)
    return every[max(0, len(every) - most) :], unread


def _files(disk: Disk, directory: str) -> list[str]:
    """Return the names of journals; what a process set aside comes before what it wrote since."""
    try:
        names = [each.name for each in disk.list(directory) if each.kind == "file" and _FILE.fullmatch(each.name)]
    except DiskError:
        return []
    return sorted(names, key=lambda name: (name.removesuffix(".1"), not name.endswith(".1")))


@lru_cache(maxsize=1)
def _moment(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def _kind(outcome: ToolResult | BaseException) -> Outcome:
    match outcome:
        case ToolResult():
            return "error" if outcome.is_error else "ok"
        case UnknownToolError():
            return "unknown"
        case Exception():
            return "failed"
        case _:
            return "cancelled"


def _size(result: ToolResult | None) -> int:
    if result is None:
        return 0
    if result.raw is not None:
        return len(result.raw)
    text = result.text
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _shown(result: ToolResult) -> object:
    return result.raw.decode("utf-8", "replace") if result.raw is not None else result.text

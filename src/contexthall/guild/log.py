"""The log of what a member's server says besides its messages.

The newest of it is kept, and never more than twice the size agreed on, however much it says. A silent member leaves no
file, and a log that cannot be written stops nobody.
"""

import logging
import os
import re
from contextlib import suppress

from contexthall.core import limits
from contexthall.core.errors import DiskError, PathMissingError
from contexthall.core.text import is_printable
from contexthall.system.disk import Directory, Disk, File

logger = logging.getLogger(__name__)

_LINE_BYTES = 4 * limits.LOG_LINE_CHARACTERS
_COLOUR = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


class BoundedLog:
    """The log of one run of a member: `<stem>.log`, before which `<stem>.log.1` was; an empty directory is nowhere."""

    def __init__(self, disk: Disk, directory: str, stem: str, most_bytes: int = limits.MEMBER_LOG_BYTES) -> None:
        self._disk = disk
        self._path = directory
        self._name = f"{stem}.log"
        self._older_name = f"{stem}.log.1"
        self._most_bytes = most_bytes
        self._directory: Directory | None = None
        self._file: File | None = None
        self._has_failed = False
        self._last = b""
        self._unfinished = b""

    def write(self, data: bytes) -> None:
        """Append to the log; a failure is logged, once."""
        self._listen(data)
        if not self._path:
            return
        try:
            for start in range(0, len(data), self._most_bytes):
                self._append(data[start : start + self._most_bytes])
        except DiskError as error:
            self.close()
            if not self._has_failed:
                logger.warning("what a member says is not kept in %s: %s", self._name, error)
            self._has_failed = True

    def tail(self, lines: int = 200) -> str:
        """Return the last lines, whichever run wrote them."""
        everything = (self._read(self._older_name) + self._read(self._name)).splitlines(keepends=True)
        return b"".join(everything[max(0, len(everything) - lines) :]).decode("utf-8", "replace")

    def last_line(self) -> str:
        """Return the last line of this run that is not empty, without colours and controls, cut if it is long."""
        return _readable(self._unfinished) or _readable(self._last)

    def close(self) -> None:
        """Close the file; the next write opens it again."""
        file, self._file = self._file, None
        directory, self._directory = self._directory, None
        for opened in (file, directory):
            if opened is not None:
                with suppress(DiskError):
                    opened.close()

    def _listen(self, data: bytes) -> None:
        finished, _, unfinished = (self._unfinished + data).rpartition(b"\n")
        self._unfinished = unfinished[:_LINE_BYTES]
        if finished := finished.rstrip():
            self._last = finished.rpartition(b"\n")[2][:_LINE_BYTES]

    def _append(self, data: bytes) -> None:
        directory = self._directory = self._directory or self._enter()
        file = self._file = self._in_place(directory) or directory.append(self._name)
        if file.status().size + len(data) > self._most_bytes:
            directory.rename(self._name, self._older_name)
            file.close()
            file = self._file = directory.append(self._name)
        file.write_all(data)

    def _enter(self) -> Directory:
        for directory in (os.path.dirname(self._path), self._path):  # each of them for the user alone
            self._disk.make_directories(directory)
        return self._disk.enter(self._path)

    def _in_place(self, directory: Directory) -> File | None:
        """Return the open file if it still has its name: another hall may have rotated it, or people removed it."""
        if self._file is None:
            return None
        try:
            if directory.look(self._name).identity == self._file.status().identity:
                return self._file
        except PathMissingError:
            pass
        self._file.close()
        return None

    def _read(self, name: str) -> bytes:
        try:
            return self._disk.read(os.path.join(self._path, name)) if self._path else b""
        except DiskError:
            return b""


def _readable(line: bytes) -> str:
    text = _COLOUR.sub("", line.decode("utf-8", "replace")).strip()
    last = text.splitlines()[-1] if text else ""
    return "".join(c for c in last if is_printable(c)).strip()[: limits.LOG_LINE_CHARACTERS]

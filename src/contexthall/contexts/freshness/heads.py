"""Heads of contexts: what a listing needs. Those of a large project are read by a second process.

Reading YAML is most of the work of a first listing, and Python runs one thread at a time: while this process walks the
project and digests its files, another one reads the contexts. If that one fails, this one reads them itself.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple, Self

from contexthall.contexts.files.claims import human_fields
from contexthall.contexts.files.context_file import read_context
from contexthall.contexts.files.schema import CONTEXT_FILE
from contexthall.contexts.files.yaml_text import Value, finite
from contexthall.core import limits
from contexthall.core.errors import (
    ContextCorruptError,
    ContextError,
    ContextMissingError,
    ContextVersionError,
    DiskError,
    PathMissingError,
)
from contexthall.system.disk import Disk, Seen
from contexthall.system.kernel import open_straight

MANY = 400
"""From this many contexts on, a second process saves time."""
_PIPE_BYTES = 1 << 20
_CHUNK = 1 << 16
_PROGRAM = "from contexthall.contexts.freshness.heads import main; main()"

FAULTS: dict[str, type[ContextError]] = {error.__name__: error for error in (ContextCorruptError, ContextVersionError)}


class Head(NamedTuple):
    """The fields of a context in a listing; if it cannot be read, the error and its detail."""

    scope: str = ""
    fingerprint: str = ""
    last_updated: str = ""
    summary: Value = None
    has_summary: bool = False
    fault: str = ""
    detail: str = ""
    has_words: bool = False
    """Whether people wrote some of it."""


def read_context_of(disk: Disk, directory: str) -> tuple[Seen, dict[str, Value]]:
    """Read the context of a directory, and the status of the file when it was read."""
    seen, data = read_bytes_of(disk, directory)
    return seen, read_context(data)


def read_bytes_of(disk: Disk, directory: str) -> tuple[Seen, bytes]:
    try:
        return disk.read_small(os.path.join(directory, CONTEXT_FILE), limits.CONTEXT_FILE_BYTES)
    except PathMissingError as error:
        raise ContextMissingError(directory) from error
    except DiskError as error:
        raise ContextCorruptError(error.detail) from error


def read_head(disk: Disk, directory: str) -> tuple[Seen | None, Head]:
    """Read the head of a directory's context, and the status of the file; None for that if it cannot be opened."""
    context = None
    try:
        context, data = read_bytes_of(disk, directory)
        values = read_context(data)
    except (ContextCorruptError, ContextVersionError) as error:
        return context, Head(fault=type(error).__name__, detail=error.detail)
    metadata = (values["scope"], values["fingerprint"], values["last_updated"])
    has_words = bool(human_fields(values))
    return context, Head(*metadata, finite(values.get("summary")), "summary" in values, has_words=has_words)


class SecondReader:
    """Another process that reads heads, which is started once there are many to read."""

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._timeout: threading.Timer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout.join()  # a process with threads cannot fork workers
        if self._process is not None:
            self._process.kill()
            with suppress(BrokenPipeError):
                self._process.__exit__(None, None, None)

    @property
    def is_busy(self) -> bool:
        return self._process is not None

    def ask_for(self, directory: str) -> None:
        """Request the head of a directory's context; `answers` returns it."""
        self._waiting.append(directory)
        if self._process is None and len(self._waiting) == MANY:
            self._begin()
        if self._process is not None and self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.write(b"".join(os.fsencode(each) + b"\0" for each in self._waiting))
            self._waiting = []

    def _begin(self) -> None:
        """Start the process, if possible, and a timer that kills it if it takes too long."""
        # Not `-m`, which would look for modules in the working directory first: nothing found there is ever run.
        command = [sys.executable, "-P", "-c", _PROGRAM, str(os.getpid())]
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        with suppress(OSError):
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere, pipesize=_PIPE_BYTES)  # noqa: S603
            timeout = threading.Timer(limits.READER_SECONDS, self._process.kill)
            with suppress(RuntimeError):  # this user may have no more threads
                timeout.start()
                self._timeout = timeout

    def answers(self) -> Mapping[str, tuple[Seen, Head]]:
        """Return the heads that were read, by directory; none if there were few, or if the process failed."""
        if self._process is None or self._process.stdin is None or self._process.stdout is None:
            return {}
        try:
            self._process.stdin.close()
            rows = json.loads(self._process.stdout.read())
        except (BrokenPipeError, ValueError):
            return {}
        return {path: (Seen(CONTEXT_FILE, "file", size, tuple(stamp)), Head(*head)) for path, size, stamp, head in rows}


def main() -> None:
    """Read the heads of the directories that standard input names; print them when it ends."""
    disk, rows, begun = Disk(opening=open_straight), [], b""
    parent = int(sys.argv[1])
    while chunk := os.read(sys.stdin.fileno(), _CHUNK):
        *paths, begun = (begun + chunk).split(b"\0")
        for path in map(os.fsdecode, paths):
            if os.getppid() != parent:  # it is gone, so no process will read the answer
                return
            with suppress(ContextMissingError):
                seen, head = read_head(disk, path)
                if seen is not None:  # else the parent reads it and reports why it cannot
                    rows.append((path, seen.size, seen.stamp, head))
    sys.stdout.write(json.dumps(rows))

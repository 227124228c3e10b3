"""How does a hall that serves keep its caches fresh? A thread watches their sources, a process refreshes them."""

import json
import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import Event, Thread, Timer
from typing import IO

from contexthall.caches.refresh_rules import RefreshResult
from contexthall.core import limits
from contexthall.hall import Hall

logger = logging.getLogger(__name__)

ORDERED = ("working_directory", "project_root", "cache_root", "cache_root_is_trusted", "confine")
"""The settings that the worker needs."""
# Not `-m`, which would look for modules in the working directory first.
_PROGRAM = "from contexthall.faces.serve.refresh_worker import main; main()"


@contextmanager
def refreshing_caches(hall: Hall) -> Iterator[None]:
    """Keep the caches fresh while this is entered, if that is wanted."""
    if not hall.may_refresh_caches:
        yield
        return
    worker = RefreshWorker(hall)
    thread = Thread(target=_watch, args=(hall, worker), daemon=True)
    thread.start()
    try:
        yield
    finally:
        worker.end()
        thread.join(limits.KILL_SECONDS)


def _watch(hall: Hall, worker: "RefreshWorker") -> None:
    """Wait until there is something to watch, and then watch it; whoever asks comes first."""
    pause = limits.FIRST_LOOK_SECONDS
    try:
        while not worker.ended.wait(pause):
            begun = time.monotonic()
            if hall.caches.has_sources():
                hall.keep_caches_fresh(worker.refresh, worker.ended)
            pause = max(limits.FIRST_LOOK_SECONDS, limits.LISTING_SHARE * (time.monotonic() - begun))
    except Exception:
        logger.exception("caches are not refreshed any more")


class RefreshWorker:
    """Runs one refresh after the other, each in a process of its own."""

    def __init__(self, hall: Hall) -> None:
        self.ended = Event()
        self._settings = {name: getattr(hall.settings, name) for name in ORDERED}
        self._process: subprocess.Popen[bytes] | None = None

    def refresh(self, cache: str) -> RefreshResult:
        """Refresh a cache, and wait for it; the process ends with this one."""
        order = json.dumps({"settings": self._settings, "cache": cache}).encode() + b"\n"
        command, pipe = [sys.executable, "-P", "-c", _PROGRAM], subprocess.PIPE
        try:
            with ExitStack() as ending, subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:  # noqa: S603
                self._process = process
                ending.callback(_log_stderr(process, cache).join, limits.KILL_SECONDS)
                return RefreshResult(*_exchange(process, order))
        except (OSError, RuntimeError, ValueError) as error:  # the second for want of a further thread
            if self.ended.is_set():
                return RefreshResult(is_done=False)
            return RefreshResult(is_done=False, failure=f"the process that refreshes it failed: {error}")
        finally:
            self._process = None

    def end(self) -> None:
        """Let nothing be refreshed any more."""
        self.ended.set()
        if (process := self._process) is not None:
            process.kill()


def _log_stderr(process: "subprocess.Popen[bytes]", cache: str) -> Thread:
    """Log what a worker says on its standard error, in a thread."""
    # Taken from the worker: what that started and left behind may keep the pipe open for longer than anybody waits.
    words, process.stderr = process.stderr, None
    assert words is not None
    thread = Thread(target=_log, args=(words, cache), daemon=True)
    thread.start()
    return thread


def _log(words: IO[bytes], cache: str) -> None:
    with words:
        for number, line in enumerate(iter(partial(words.readline, limits.LOG_LINE_CHARACTERS), b"")):
            # Beyond that it is only read, so that the worker does not wait.
            if number < limits.WORKER_LOG_LINES and line.strip():
                logger.warning("refreshing the cache %s: %s", cache, line.decode(errors="replace").rstrip())


def _exchange(process: "subprocess.Popen[bytes]", order: bytes) -> tuple[bool, str]:
    """Send an order, and return the answer; ValueError if there is none."""
    assert process.stdin is not None
    assert process.stdout is not None
    patience = Timer(limits.REFRESH_SECONDS, process.kill)
    patience.daemon = True
    patience.start()
    try:
        process.stdin.write(order)
        process.stdin.flush()
        is_done, failure = json.loads(process.stdout.readline() or b"0")
    except TypeError:
        raise ValueError(f"it ended with {process.wait()}") from None
    finally:
        patience.cancel()
    return bool(is_done), str(failure)

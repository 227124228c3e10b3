"""The log, on standard error: a line for each message, a trace indented below it.

Members, files and requests have a say in what is logged: nothing of it is obeyed by a terminal or looks like another
message. A message that standard error cannot take at once is dropped, so that logging never blocks.
"""

import logging
import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from contexthall.faces.cli.output import escaped, on_one_line


def show_log() -> None:
    """Show what is logged from now on; idempotent."""
    handler = _NonBlockingHandler()
    handler.setFormatter(_LineFormatter())
    logging.basicConfig(handlers=[handler])


@contextmanager
def warnings_handled(name: str, handle: Callable[[logging.LogRecord], None]) -> Iterator[None]:
    """Hand what a logger, or one below it, warns of to a function, each message once."""
    logger, handler = logging.getLogger(name), _EachOnce(handle)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _EachOnce(logging.Handler):
    def __init__(self, handle: Callable[[logging.LogRecord], None]) -> None:
        super().__init__(logging.WARNING)
        self._handle = handle
        self._seen: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() not in self._seen:
            self._seen.add(record.getMessage())
            self._handle(record)


class _LineFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = on_one_line(f"{record.levelname} {record.name}: {record.getMessage()}")
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        text = "\n  ".join([line, *escaped(trace).splitlines()])
        # A pipe that takes anything takes so much without waiting.
        return text.encode("utf-8", "backslashreplace")[: select.PIPE_BUF - 1].decode("utf-8", "ignore")


class _NonBlockingHandler(logging.StreamHandler[TextIO]):
    def emit(self, record: logging.LogRecord) -> None:
        if self._is_writable():
            super().emit(record)

    def _is_writable(self) -> bool:
        poll = select.poll()
        try:
            poll.register(self.stream.fileno(), select.POLLOUT)
        except (AttributeError, OSError, ValueError):  # no descriptor, so nothing to wait for
            return True
        return bool(poll.poll(0))

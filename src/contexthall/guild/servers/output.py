"""What does a server say that is no message, and what of that do people read?

Its standard error, and what it prints between its messages. The values of variables are taken out before anything is
kept: they may be secrets.
"""

import asyncio

from contexthall.core import limits
from contexthall.core.errors import MemberError
from contexthall.guild.log import BoundedLog
from contexthall.guild.servers.process import LAUNCHER
from contexthall.guild.servers.redaction import RedactedStream, Redactor


class ServerOutput:
    """What one run of a server says besides its messages: all of it in the log, the most telling of it in errors."""

    def __init__(self, log: BoundedLog, redactor: Redactor, command: str) -> None:
        self.redactor = redactor
        """Takes the values of variables out of whatever the server says."""
        self.rubbish_lines = 0
        """How many lines were printed that are no messages."""
        self._log = log
        self._stderr = RedactedStream(redactor)
        self._command = command
        self._rubbish = ""

    def add_stderr(self, data: bytes) -> None:
        self._log.write(self._stderr.feed(data))

    async def add_rubbish(self, line: bytes) -> None:
        """Keep a line that is no message; who prints too much waits until others were heard."""
        quoted = self.redactor.data(line)[: limits.RUBBISH_QUOTE_BYTES]
        self._rubbish = self._rubbish or quoted.decode("utf-8", "replace")
        self._log.write(b"[stdout] " + quoted + b"\n")
        self.rubbish_lines += 1
        if self.rubbish_lines % limits.RUBBISH_LINES == 0:
            await asyncio.sleep(limits.RUBBISH_PAUSE_SECONDS)

    def close(self) -> None:
        """Keep what was held back, for nothing follows."""
        self._log.write(self._stderr.finish())
        self._log.close()

    def evidence(self) -> str:
        """Quote what the server said, for people."""
        said = self.redactor.text(self._log.last_line())  # a value may have been cut in two by a colour
        if said.startswith(f"{LAUNCHER}: "):
            return f"its command is {self._command}"
        quotes = [f"it printed {self._rubbish!r}, which is no message"] if self._rubbish else []
        return "; ".join([*quotes, *([f"its last words: {said}"] if said else [])])

    def explain(self, failure: MemberError) -> MemberError:
        """Return why a server failed, with the evidence unless more is known already."""
        explained = MemberError(failure.detail, more=failure.more or self.evidence())
        return explained.reworded(self.redactor.text)

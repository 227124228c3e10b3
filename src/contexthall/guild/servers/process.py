"""The process of a member's server: in a session of its own, and never alive for longer than the hall.

Each server is started by a fixed line of shell that leaves a watcher beside it. The watcher reads from a parent-death
pipe whose other end only the hall holds; when that closes, because the hall closed it or has ended in whatever way, the
watcher kills the whole process group. Processes that left their group carry the hall's mark in their environment: an
orphan reaper kills them once the hall has ended, and servers whose watcher was killed or stopped as well.
"""

import asyncio
import os
import signal
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress

from contexthall.core import limits
from contexthall.core.lines import LineSplitter
from contexthall.system.pipes import has_no_reader

OnStderr = Callable[[bytes], None]

_MARK = "CONTEXTHALL_MARK"
LAUNCHER = "context-hall"
"""As what the shell that becomes a server speaks of itself, if it cannot become one."""
# `$1` is the descriptor of the parent-death pipe, `$3` that on which the server prints, `$$` the server: `exec` keeps
# the process. The watcher ignores the signals that ask the group to end, so that it can still kill what ignores them;
# its mark is another one.
_LAUNCH = f"""parent_pipe=$1; {_MARK}=$2; output=$3; shift 3
{{
  trap '' TERM INT HUP; read -r _ <"/dev/fd/$parent_pipe"; kill -s KILL $$; kill -s KILL 0
}} </dev/null >/dev/null 2>&1 &
export {_MARK}; exec "$@" >&"$output\""""
# Standard input is the parent-death pipe. A server that was being started when the hall ended has the mark a moment
# later, and a marked process may fork before it is killed: hence several rounds. Watchers are killed last: they know
# of processes in their groups that have dropped the mark.
_REAP = """exec 3<&0
{ trap '' TERM INT HUP; read -r _ <&3; watchers=$1
for look in 1 2 3 4 5 6 7 8 9; do
  found=$(grep -lsxzF -e "$1" -e "$watchers" /proc/[0-9]*/environ)
  if [ "$found" ]; then
    for each in $found; do each=${each%/environ}; kill -s KILL "${each#/proc/}"; done
  elif [ "$watchers" = "$2" ]; then break
  else watchers=$2; sleep 1; fi
done; } >/dev/null 2>&1 &"""
_SHELL_CODES = {127: "its command was not found", 126: "its command cannot be executed"}
_INHERITED = ("PATH", "HOME", "LANG", "LANGUAGE")


def clean_environment(environment: Mapping[str, str], named: Mapping[str, str]) -> dict[str, str]:
    """Return the part of the hall's environment that a server inherits, and the variables its manifest names."""
    kept = {name: value for name, value in environment.items() if name in _INHERITED or name.startswith("LC_")}
    return kept | dict(named)


class OrphanReaper:
    """A shell that kills every process with the hall's mark once the hall has ended; without /proc it finds none."""

    def __init__(self) -> None:
        self.mark = os.urandom(16).hex()
        self.watchers_mark = f"watcher-{self.mark}"
        self._parent_pipe = -1

    def ensure_running(self) -> None:
        """Start the reaper unless it runs; OSError if it cannot be started."""
        if self._parent_pipe < 0 or has_no_reader(self._parent_pipe):
            self._close()
            far_end, self._parent_pipe = os.pipe()
            try:
                marks = (f"{_MARK}={self.mark}", f"{_MARK}={self.watchers_mark}")
                _start_detached(("/bin/sh", "-c", _REAP, LAUNCHER, *marks), far_end)
            finally:
                os.close(far_end)

    def _close(self) -> None:
        if self._parent_pipe >= 0:
            os.close(self._parent_pipe)
            self._parent_pipe = -1

    def __del__(self) -> None:
        self._close()


def _start_detached(command: tuple[str, ...], standard_input: int) -> None:
    """Start a shell in a session of its own that exits at once, so that its background job is reparented."""
    started = os.posix_spawn(
        command[0],
        command,
        {"PATH": "/usr/bin:/bin"},
        file_actions=[(os.POSIX_SPAWN_DUP2, standard_input, 0)],
        setsid=True,
    )
    with suppress(ChildProcessError):  # SIGCHLD may be ignored, so waitpid can fail with ECHILD
        os.waitpid(started, 0)


class MemberProcess(asyncio.SubprocessProtocol):
    """A running server: lines from its standard output, bytes to its standard input, its exit code."""

    def __init__(self, on_stderr: OnStderr, port: int) -> None:
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        """Its exit code, once it has ended; below 0 for a signal."""
        self._on_stderr = on_stderr
        self._port = port
        self._stderr_bytes = 0
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._has_output = asyncio.Event()
        self._output_ended = False
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._parent_pipe = -1
        self._transport: asyncio.SubprocessTransport | None = None

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        directory: str,
        environment: Mapping[str, str],
        reaper: OrphanReaper,
        on_stderr: OnStderr,
        port: int = 0,
    ) -> "MemberProcess":
        """Start a server in `directory`, or raise OSError; its standard error goes to `on_stderr`.

        A server with a port listens there: it reads no input, and its standard output goes to `on_stderr`, too.
        """
        reaper.ensure_running()
        output = "2" if port else "1"
        far_end, parent_pipe = os.pipe()
        try:
            _, process = await asyncio.get_running_loop().subprocess_exec(
                lambda: cls(on_stderr, port),
                *("/bin/sh", "-c", _LAUNCH, LAUNCHER, str(far_end), reaper.mark, output, *command),
                cwd=directory,
                env={**environment, _MARK: reaper.watchers_mark},
                pass_fds=(far_end,),
                start_new_session=True,
            )
        except BaseException:
            os.close(parent_pipe)
            raise
        finally:
            os.close(far_end)
        process._parent_pipe = parent_pipe  # noqa: SLF001 - its own class
        return process

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the lines it prints until it closes its standard output; of a line that is too long, its Ends."""
        splitter = LineSplitter(limits.MEMBER_MESSAGE_BYTES, ends=limits.LONG_LINE_END_BYTES)
        while True:
            while self._waiting:
                chunk = self._waiting.popleft()
                self._waiting_bytes -= len(chunk)
                # A line is held by nobody here once it is given: it may be long.
                lines = deque(line for line in splitter.feed(chunk) if line is not None)
                while lines:
                    yield lines.popleft()
            if self._output_ended:
                return
            self._pipe(1).resume_reading()
            self._has_output.clear()
            await self._has_output.wait()

    async def write(self, data: bytes) -> None:
        """Write to its standard input; if it does not read any more, its end says why."""
        await self._may_write.wait()
        pipe = self._transport and self._transport.get_pipe_transport(0)
        if isinstance(pipe, asyncio.WriteTransport) and not pipe.is_closing():
            pipe.write(data)

    async def wait_until_it_listens(self) -> None:
        """Knock at its port until somebody opens, ConnectionError if nobody can any more; the caller sets the limit."""
        while not self.ended.done():
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", self._port)
                writer.close()
                return
            await asyncio.sleep(limits.KNOCK_SECONDS)
        raise ConnectionError  # whoever listens there from now on is somebody else

    async def stop(self, *, in_haste: bool = False) -> None:
        """Stop it and its process group: by end of input if it reads that, then SIGTERM, then SIGKILL."""
        patience = 0.25 if in_haste else 1.0
        try:
            if (pipe := self._transport and self._transport.get_pipe_transport(0)) is not None:
                pipe.close()
            if self._port or not await self.ends_within(limits.END_OF_INPUT_SECONDS * patience):
                self._signal_group(signal.SIGTERM)
                await self.ends_within(limits.TERMINATION_SECONDS * patience)
        finally:
            self._signal_group(signal.SIGKILL)
            if self._parent_pipe >= 0:
                os.close(self._parent_pipe)
                self._parent_pipe = -1
            await self.ends_within(limits.KILL_SECONDS)
            if self._transport is not None:
                self._transport.close()

    async def ends_within(self, seconds: float) -> bool:
        """Return whether it ends within that time."""
        await asyncio.wait([self.ended], timeout=seconds)
        return self.ended.done()

    def how_it_ended(self, *, is_starting: bool) -> str:
        """Return in a sentence how it has ended."""
        code = self.ended.result()
        if is_starting and code in _SHELL_CODES:
            return _SHELL_CODES[code]
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"the server {how}{' before it answered initialize' if is_starting else ''}"

    def _signal_group(self, number: signal.Signals) -> None:
        # As long as the parent-death pipe is open the watcher lives, so no other group can have got this number.
        if self._transport is None or self._parent_pipe < 0:
            return
        # First the server, which may have left its group. Not through its transport, whose check by waitpid would
        # take the exit code from the event loop.
        for send in (os.kill, os.killpg):
            with suppress(ProcessLookupError, PermissionError):
                send(self._transport.get_pid(), number)

    def _pipe(self, descriptor: int) -> asyncio.ReadTransport:
        assert self._transport is not None
        pipe = self._transport.get_pipe_transport(descriptor)
        assert isinstance(pipe, asyncio.ReadTransport)
        return pipe

    # Callbacks of the event loop:

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._waiting.append(data)
            self._waiting_bytes += len(data)
            if self._waiting_bytes > limits.MEMBER_OUTPUT_BYTES:
                self._pipe(1).pause_reading()
            self._has_output.set()
            return
        self._on_stderr(data)
        self._stderr_bytes += len(data)
        if self._stderr_bytes > limits.MEMBER_STDERR_BYTES:  # a pause, so that it cannot starve the event loop
            self._stderr_bytes = 0
            stderr = self._pipe(2)
            stderr.pause_reading()
            asyncio.get_running_loop().call_later(limits.STDERR_PAUSE_SECONDS, stderr.resume_reading)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        del exc
        if fd == 0:
            self._may_write.set()  # wakes waiting writers, who then write nothing
        if fd == 1:
            self._output_ended = True
            self._has_output.set()

    def process_exited(self) -> None:
        if self._transport is not None and not self.ended.done():
            self.ended.set_result(self._transport.get_returncode() or 0)

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

"""How does a member's server run? In a session of its own, and never longer than the hall.

Each server is started by a fixed line of shell that leaves a watcher beside it. The watcher waits on a pipe whose other
end only the hall holds; when that closes, because the hall closed it or because the hall is gone, however it went, the
watcher ends the whole process group. What has left its group carries the hall's mark in its environment, and a warden
ends it once the hall is gone; so does it with servers whose watcher somebody has killed or stopped.
"""

import asyncio
import os
import select
import signal
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress

from contexthall.core.lines import LineSplitter

Say = Callable[[bytes], None]

_MARK = "CONTEXTHALL_MARK"
LAUNCHER = "context-hall"
"""As what the shell that becomes a server speaks of itself, if it cannot become one."""
# The first argument is the descriptor of the lifeline, `$$` the server: `exec` keeps the process. The watcher outlives
# the signals that ask the group to end, so that it can still end what ignores them; its mark is another one.
_LAUNCH = f"""lifeline=$1; {_MARK}=$2; shift 2
{{
  trap '' TERM INT HUP; read -r _ <"/dev/fd/$lifeline"; kill -s KILL $$; kill -s KILL 0
}} </dev/null >/dev/null 2>&1 &
export {_MARK}; exec "$@\""""
# Standard input is the lifeline. Whoever was just being started when the hall went has the mark a moment later, and who
# is found may have a child before it is ended: hence more than one look. Watchers have until the last one to do their
# work: they know of processes in their groups that have no mark any more.
_WARD = """exec 3<&0
{ trap '' TERM INT HUP; read -r _ <&3; watchers=$1
for look in 1 2 3 4 5 6 7 8 9; do
  found=$(grep -lsxzF -e "$1" -e "$watchers" /proc/[0-9]*/environ)
  if [ "$found" ]; then
    for each in $found; do each=${each%/environ}; kill -s KILL "${each#/proc/}"; done
  elif [ "$watchers" = "$2" ]; then break
  else watchers=$2; sleep 1; fi
done; } >/dev/null 2>&1 &"""
_INHERITED = ("PATH", "HOME", "LANG", "LANGUAGE")
LONGEST_LINE = 16 << 20
_ENDS_OF_LINE = 4096
_MOST_WAITING = 8 << 20
_MOST_SAID = 256 << 10
_PAUSE_SECONDS = 0.1
_END_OF_INPUT_SECONDS = 2.0
_TERM_SECONDS = 1.0
_KILL_SECONDS = 2.0


def clean_environment(environment: Mapping[str, str], named: Mapping[str, str]) -> dict[str, str]:
    """Give what a server may know of the hall's environment, and what its manifest names; nothing else."""
    kept = {name: value for name, value in environment.items() if name in _INHERITED or name.startswith("LC_")}
    return kept | dict(named)


class Warden:
    """Who ends all that carries the hall's mark when the hall is gone; where there is no /proc, nobody is found."""

    def __init__(self) -> None:
        self.mark = os.urandom(16).hex()
        self.watchers_mark = f"watcher-{self.mark}"
        self._lifeline = -1

    def stand_by(self) -> None:
        """See to it that there is a process that waits for the end of the hall. OSError if that cannot be."""
        if self._lifeline < 0 or _is_deserted(self._lifeline):
            self._let_go()
            far_end, self._lifeline = os.pipe()
            try:
                marks = (f"{_MARK}={self.mark}", f"{_MARK}={self.watchers_mark}")
                _start_apart(("/bin/sh", "-c", _WARD, LAUNCHER, *marks), far_end)
            finally:
                os.close(far_end)

    def _let_go(self) -> None:
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1

    def __del__(self) -> None:
        self._let_go()


def _is_deserted(pipe: int) -> bool:
    """Say whether nobody reads from a pipe any more."""
    poll = select.poll()
    poll.register(pipe, 0)
    return bool(poll.poll(0))


def _start_apart(command: tuple[str, ...], standard_input: int) -> None:
    """Start a shell in a session of its own that ends at once; what it leaves behind is nobody's child."""
    started = os.posix_spawn(
        command[0],
        command,
        {"PATH": "/usr/bin:/bin"},
        file_actions=[(os.POSIX_SPAWN_DUP2, standard_input, 0)],
        setsid=True,
    )
    with suppress(ChildProcessError):  # whoever started the hall may want no word of children
        os.waitpid(started, 0)


class MemberProcess(asyncio.SubprocessProtocol):
    """A server that runs: lines out of it, bytes into it, and its end."""

    def __init__(self, say: Say) -> None:
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        """Its exit code, once it has ended; below 0 for a signal."""
        self._say = say
        self._said = 0
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._has_output = asyncio.Event()
        self._output_ended = False
        self.said_all = asyncio.Event()
        """Set once it can say no more on standard error."""
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._lifeline = -1
        self._transport: asyncio.SubprocessTransport | None = None

    @classmethod
    async def start(
        cls, command: Sequence[str], *, directory: str, environment: Mapping[str, str], warden: Warden, say: Say
    ) -> "MemberProcess":
        """Start a server in `directory`; what it says on standard error goes to `say`. OSError if that cannot be."""
        warden.stand_by()
        far_end, lifeline = os.pipe()
        try:
            _, process = await asyncio.get_running_loop().subprocess_exec(
                lambda: cls(say),
                *("/bin/sh", "-c", _LAUNCH, LAUNCHER, str(far_end), warden.mark, *command),
                cwd=directory,
                env={**environment, _MARK: warden.watchers_mark},
                pass_fds=(far_end,),
                start_new_session=True,
            )
        except BaseException:
            os.close(lifeline)
            raise
        finally:
            os.close(far_end)
        process._lifeline = lifeline  # noqa: SLF001 - its own class
        return process

    async def lines(self) -> AsyncIterator[bytes]:
        """Give what it prints, line by line, until it closes its standard output; of a line beyond all bounds, Ends."""
        splitter = LineSplitter(LONGEST_LINE, ends=_ENDS_OF_LINE)
        while True:
            while self._waiting:
                chunk = self._waiting.popleft()
                self._waiting_bytes -= len(chunk)
                for line in splitter.feed(chunk):
                    if line is not None:
                        yield line
            if self._output_ended:
                return
            self._pipe(1).resume_reading()
            self._has_output.clear()
            await self._has_output.wait()

    async def write(self, data: bytes) -> None:
        """Write to its standard input; OSError if it does not read any more."""
        await self._may_write.wait()
        pipe = self._transport and self._transport.get_pipe_transport(0)
        if pipe is None or pipe.is_closing():
            raise BrokenPipeError
        assert isinstance(pipe, asyncio.WriteTransport)
        pipe.write(data)

    async def stop(self, *, reads_input: bool = True, in_haste: bool = False) -> None:
        """End it and all that it started: by end of input if it reads that, then by asking, then by force."""
        patience = 0.25 if in_haste else 1.0
        try:
            if (pipe := self._transport and self._transport.get_pipe_transport(0)) is not None:
                pipe.close()
            if not reads_input or not await self.ends_within(_END_OF_INPUT_SECONDS * patience):
                self._signal_group(signal.SIGTERM)
                await self.ends_within(_TERM_SECONDS * patience)
        finally:
            self.kill()
        await self.ends_within(_KILL_SECONDS)
        if self._transport is not None:
            self._transport.close()

    async def ends_within(self, seconds: float) -> bool:
        """Wait for its end, but not for long; say whether it has ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.shield(self.ended)
        return self.ended.done()

    def kill(self) -> None:
        """End the whole group, now."""
        self._signal_group(signal.SIGKILL)
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1

    def _signal_group(self, number: signal.Signals) -> None:
        # As long as the lifeline is open the watcher lives, so no other group can have got this number.
        if self._transport is None or self._lifeline < 0:
            return
        # First the server, which may have left its group. Its transport would look whether it lives, and so take its
        # exit code from the event loop, which waits for that.
        for send in (os.kill, os.killpg):
            with suppress(ProcessLookupError, PermissionError):
                send(self._transport.get_pid(), number)

    def _pipe(self, descriptor: int) -> asyncio.ReadTransport:
        assert self._transport is not None
        pipe = self._transport.get_pipe_transport(descriptor)
        assert isinstance(pipe, asyncio.ReadTransport)
        return pipe

    # What the event loop tells us:

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._take_output(data)
        else:
            self._take_words(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        del exc
        if fd == 0:
            self._may_write.set()  # whoever waits is to find out
        if fd == 1:
            self._output_ended = True
            self._has_output.set()
        if fd == 2:  # noqa: PLR2004 - standard error
            self.said_all.set()

    def process_exited(self) -> None:
        if self._transport is not None and not self.ended.done():
            self.ended.set_result(self._transport.get_returncode() or 0)

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def _take_output(self, data: bytes) -> None:
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        if self._waiting_bytes > _MOST_WAITING:
            self._pipe(1).pause_reading()
        self._has_output.set()

    def _take_words(self, data: bytes) -> None:
        """Pass on what it says; one that says too much waits until we have listened to others."""
        self._say(data)
        self._said += len(data)
        if self._said > _MOST_SAID:
            self._said = 0
            words = self._pipe(2)
            words.pause_reading()
            asyncio.get_running_loop().call_later(_PAUSE_SECONDS, _resume, words)


def _resume(pipe: asyncio.ReadTransport) -> None:
    if not pipe.is_closing():
        pipe.resume_reading()

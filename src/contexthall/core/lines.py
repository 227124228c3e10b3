"""How is a stream of bytes cut into lines? Pure."""

from collections.abc import Iterator

from contexthall.core import limits


class Ends(bytes):
    """The beginning and the end of a line that is too long."""


class LineSplitter:
    """Cuts a stream of chunks into lines, in time linear in the bytes.

    Of a line that is too long, the two `ends` are given when it has ended, so many bytes of each; if there are to be
    none, None stands for it, and comes at once.
    """

    def __init__(self, maximum_bytes: int = limits.CLIENT_MESSAGE_BYTES, *, ends: int = 0) -> None:
        self._maximum_bytes = maximum_bytes
        self._ends = ends
        # One piece, not a list of them: a line may come a byte at a time.
        self._begun = bytearray()
        self._is_skipping = False

    def feed(self, chunk: bytes) -> Iterator[bytes | None]:
        """Take in `chunk` and give the lines that are now complete."""
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            yield from self._extend(part)
            yield from self.finish()
        yield from self._extend(rest)

    def finish(self) -> Iterator[bytes | None]:
        """End the line that has begun, for a newline or the end of the stream."""
        line, self._begun = _stripped(self._begun), bytearray()
        was_skipping, self._is_skipping = self._is_skipping, False
        if line:
            yield Ends(line) if was_skipping else line

    def _extend(self, part: bytes) -> Iterator[None]:
        was_skipping = self._is_skipping
        self._begun += part
        if was_skipping or len(self._begun) > self._maximum_bytes:
            self._is_skipping = True
            del self._begun[self._ends : -self._ends or None]
            if not was_skipping and not self._ends:
                yield None


def _stripped(line: bytearray) -> bytes:
    """Return a line without white space around it, in one copy: it may be long."""
    start = len(line) - len(line.lstrip()) if line[:1].isspace() else 0
    end = len(line.rstrip()) if line[-1:].isspace() else len(line)
    with memoryview(line) as whole:
        return bytes(whole[start:end])

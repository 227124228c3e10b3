"""How is a stream of bytes cut into lines? Pure."""

from collections.abc import Iterator

MAXIMUM_LINE_BYTES = 16 * 1024 * 1024


class LineSplitter:
    """Cuts a stream of chunks into lines, in time linear in the bytes; None stands for a line that is too long."""

    def __init__(self, maximum_bytes: int = MAXIMUM_LINE_BYTES) -> None:
        self._maximum_bytes = maximum_bytes
        # One piece, not a list of them: a line may come a byte at a time.
        self._begun = bytearray()
        self._is_skipping = False

    def feed(self, chunk: bytes) -> Iterator[bytes | None]:
        """Take in `chunk` and give the lines that are now complete."""
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            yield from self._extend(end)
            yield from self.finish()
        yield from self._extend(rest)

    def finish(self) -> Iterator[bytes | None]:
        """End the line that has begun, for a newline or the end of the stream."""
        line, self._begun = bytes(self._begun.strip()), bytearray()
        self._is_skipping = False
        if line:
            yield line

    def _extend(self, part: bytes) -> Iterator[None]:
        if self._is_skipping:
            return
        self._begun += part
        if len(self._begun) > self._maximum_bytes:
            self._begun, self._is_skipping = bytearray(), True
            yield None

"""PDF, Word, PowerPoint, EPUB and mail as Markdown, by kreuzberg (the extra `contexthall[formats]`).

Such files may be made to hurt whoever reads them, and kreuzberg is not ours. So a child process reads them, within
bounds of time and memory; it is used again until it fails, and ends with whoever started it.
"""

import os
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

from contexthall.caches.build.convert.failure import ConversionError
from contexthall.core import limits

# Not `-m`, which would look for modules in the working directory first.
_PROGRAM = "from contexthall.caches.build.convert.documents_child import main; main()"
REQUEST, REPLY = struct.Struct("<QQ"), struct.Struct("<?Q")
"""The lengths of a MIME type and of a document; whether it was converted, and the length of the text or the reason."""


def document_to_markdown(data: bytes, mime_type: str) -> str:
    """Return what a document says."""
    is_converted, text = _reader().ask(data, mime_type)
    if not is_converted:
        raise ConversionError(text)
    if not text.strip():
        raise ConversionError("it has no text; perhaps its pages are pictures")
    return text


@cache
def _reader_of(_process_id: int) -> "DocumentReader":
    return DocumentReader()


def _reader() -> "DocumentReader":
    """Return the reader of this process: a fork must not talk to its parent's child."""
    return _reader_of(os.getpid())


@contextmanager
def reading_documents() -> Iterator[None]:
    """End the child process at the end, if one was started."""
    try:
        yield
    finally:
        _reader().close()


class DocumentReader:
    """A child process that converts one document after the other."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, data: bytes, mime_type: str) -> tuple[bool, str]:
        """Let a document be converted; return whether it was, and its text or the reason."""
        process = self._process = self._process or self._started()
        patience = threading.Timer(limits.DOCUMENT_SECONDS, process.kill)
        patience.start()
        try:
            return _exchange(process, data, mime_type.encode())
        except (OSError, EOFError, struct.error):
            is_slow = not patience.is_alive()
            self.close()
            return (
                False,
                "it takes too long to convert" if is_slow else "it takes too much memory to convert, or is damaged",
            )
        finally:
            patience.cancel()
            patience.join()  # whoever forks later must be alone

    def close(self) -> None:
        """End the child."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(BrokenPipeError):
                process.__exit__(None, None, None)

    def _started(self) -> "subprocess.Popen[bytes]":
        command, pipe = [sys.executable, "-P", "-c", _PROGRAM], subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)  # noqa: S603


def _exchange(process: "subprocess.Popen[bytes]", data: bytes, mime_type: bytes) -> tuple[bool, str]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(REQUEST.pack(len(mime_type), len(data)) + mime_type + data)
    process.stdin.flush()
    is_converted, length = REPLY.unpack(process.stdout.read(REPLY.size))
    text = process.stdout.read(length)
    if len(text) < length:
        raise EOFError
    return is_converted, text.decode("utf-8", "replace")

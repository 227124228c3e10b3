"""The child process that converts documents: it reads them from standard input, and writes what they say."""

import os
import sys
import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import BinaryIO

from contexthall.caches.build.convert.documents import REPLY, REQUEST
from contexthall.core import limits

_ONE_LINE = 200


def main() -> None:
    """Convert documents until standard input ends, which it does with the parent."""
    _bound_memory()
    requests: SimpleQueue[tuple[str, bytes]] = SimpleQueue()
    # While a document is converted, another thread notices that the parent is gone.
    threading.Thread(target=_listen, args=(sys.stdin.buffer, requests), daemon=True).start()
    while True:
        is_converted, text = _converted(*requests.get())
        data = text.encode("utf-8", "replace")
        if len(data) > limits.DOCUMENT_TEXT_BYTES:
            is_converted, data = False, b"its text is too long"
        sys.stdout.buffer.write(REPLY.pack(is_converted, len(data)) + data)
        sys.stdout.buffer.flush()


def _listen(pipe: BinaryIO, requests: "SimpleQueue[tuple[str, bytes]]") -> None:
    while header := pipe.read(REQUEST.size):
        mime_length, length = REQUEST.unpack(header)
        requests.put((pipe.read(mime_length).decode(), pipe.read(length)))
    os._exit(0)


def _converted(mime_type: str, data: bytes) -> tuple[bool, str]:
    import kreuzberg  # noqa: PLC0415 - memory is bounded before

    try:
        # By default it takes what stands at the top of a page for furniture, and drops titles.
        kept = kreuzberg.ContentFilterConfig(include_headers=True)
        config = kreuzberg.ExtractionConfig(
            output_format="markdown",
            use_cache=False,
            disable_ocr=True,  # type: ignore[call-arg] # which its types do not know
            content_filter=kept,
        )
        return True, kreuzberg.extract_bytes_sync(data, mime_type, config).content
    except Exception as error:  # noqa: BLE001 - whatever a library of others raises
        return False, " ".join(str(error).split())[:_ONE_LINE] or type(error).__name__


def _bound_memory() -> None:
    import resource  # noqa: PLC0415 - needed once

    with suppress(ValueError, OSError):  # not everywhere is this bounded
        resource.setrlimit(resource.RLIMIT_AS, (limits.DOCUMENT_MEMORY_BYTES, limits.DOCUMENT_MEMORY_BYTES))

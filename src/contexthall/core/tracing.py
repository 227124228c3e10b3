"""Of which trace is a call a part? What a client says of that in `_meta` goes along to the member that is called.

W3C Trace Context, by the names that MCP reserves. The hall reads none of it, and keeps it nowhere.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from contexthall.core import limits

KEYS = ("traceparent", "tracestate", "baggage")
_trace: ContextVar[Mapping[str, str]] = ContextVar("trace", default={})  # noqa: B039 - never changed


def trace() -> Mapping[str, str]:
    """Return what the client of this call said of its trace."""
    return _trace.get()


@contextmanager
def traced(meta: object) -> Iterator[None]:
    """While this is entered, calls are a part of the trace that `_meta` of a request names."""
    said = meta if isinstance(meta, dict) else {}
    found = {key: said[key] for key in KEYS if isinstance(said.get(key), str)}
    short = {key: value for key, value in found.items() if len(value) <= limits.TRACE_CHARACTERS}
    before = _trace.set(short)
    try:
        yield
    finally:
        _trace.reset(before)

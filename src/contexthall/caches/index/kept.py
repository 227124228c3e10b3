"""Keeps what was worked out for the next query, up to so many bytes; what was not asked for longest goes first."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Kept(Generic[Key, Value]):
    """A bounded memory; threads may share it."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Key) -> tuple[Value] | None:
        """Return what is kept, if anything is."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return (found[0],)

    def keep(self, key: Key, value: Value, size: int) -> None:
        """Keep a value of so many bytes, unless it is too large for all of the room."""
        if size > self._most_bytes:
            return
        with self._lock:
            if key in self._kept:  # by another thread
                return
            self._kept[key] = value, size
            self._bytes += size
            while self._bytes > self._most_bytes:
                self._bytes -= self._kept.popitem(last=False)[1][1]

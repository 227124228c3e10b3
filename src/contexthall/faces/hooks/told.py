"""What an agent has been told in its session: an empty file for each item, in the user's cache directory.

Tool calls run side by side, each with a process of ours. Whoever creates the file says it; nobody else does.
"""

import os
from contextlib import suppress
from hashlib import sha256

from contexthall.core import limits
from contexthall.core.errors import DiskError
from contexthall.system.disk import Disk

_FOLDER = "told"
_DIGITS = 24


def _name(*parts: str) -> str:
    return sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:_DIGITS]


class Told:
    """What one agent of one session was told."""

    def __init__(self, disk: Disk, user_cache: str, session: tuple[str, ...], agent: str) -> None:
        self._disk = disk
        self._folder = os.path.join(user_cache, _FOLDER) if user_cache else ""
        self._session = os.path.join(self._folder, _name(*session))
        self._agent = agent

    def claim(self, *item: str) -> bool:
        """Return whether it falls to this process to say something: to the first one that asks, and never again.

        Where nothing can be remembered, nothing is said: it would be said with every tool call.
        """
        if not self._folder:
            return False
        try:
            self._make()
            with self._disk.enter(self._session, follow=False) as directory:
                file = directory.create(_name(self._agent, *item), 0o600)
        except DiskError:
            return False
        if file is None:
            return False
        file.close()
        return True

    def is_full(self) -> bool:
        """Return whether this session was told as much as any may be."""
        with suppress(DiskError):
            return len(self._disk.list(self._session)) > limits.TOLD_ITEMS
        return False

    def forget(self) -> None:
        """Forget what this session was told."""
        with suppress(DiskError):
            self._disk.clear(self._session)

    def _make(self) -> None:
        if self._disk.kind(self._session, follow=False) is None:
            self._disk.make_directories(self._session)
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        with suppress(DiskError):
            names = [each.name for each in self._disk.list(self._folder) if each.kind == "directory"]
            paths = [os.path.join(self._folder, name) for name in names]
            if len(paths) <= limits.TOLD_SESSIONS:
                return
            in_order = sorted(paths, key=lambda path: self._disk.look(path, follow=False).stamp[2])
            for path in in_order[: len(paths) - limits.TOLD_SESSIONS]:
                if path != self._session:
                    self._disk.clear(path)
                    self._disk.remove_directory(path)

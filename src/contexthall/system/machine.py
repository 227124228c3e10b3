"""What does this user find on this machine? Directories that may be used, commands on the path."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from contexthall.core.errors import DiskError
from contexthall.system.disk import Disk


class Place(NamedTuple):
    """A directory that the hall uses, as this user finds it."""

    path: str
    is_there: bool
    fault: str = ""
    """Why nothing can be read there."""
    is_writable: bool = True


class Machine:
    """The machine, as far as one user may look."""

    def __init__(self, disk: Disk, environment: Mapping[str, str]) -> None:
        self._disk = disk
        self._environment = environment

    def look_at(self, path: str) -> Place:
        """Return what this user may do in a directory; a file in its place, or a symlink to nowhere, is a fault."""
        try:
            if self._disk.kind(path, follow=False) is None:
                return Place(path, is_there=False)
            self._disk.list(path)
            return Place(path, is_there=True, is_writable=self._disk.may(path, os.W_OK | os.X_OK))
        except DiskError as error:
            return Place(path, is_there=True, fault=error.cause or error.detail)

    def find_command(self, name: str) -> str:
        """Return what is run when `name` is typed, as an absolute path; empty if nothing is."""
        folders = self._environment.get("PATH", os.defpath).split(os.pathsep)
        return next(filter(self.is_command, (os.path.join(folder, name) for folder in folders if folder)), "")

    def real(self, path: str) -> str:
        """Return where a path really leads."""
        return self._disk.real(path)

    def is_command(self, path: str) -> bool:
        """Return whether a path is that of a program."""
        try:
            return self._disk.kind(path) == "file" and self._disk.may(path, os.X_OK)
        except DiskError:
            return False

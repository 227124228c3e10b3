"""What stands at a path, and how is it changed?"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from contexthall.core.errors import DiskError, PathMissingError
from contexthall.system.disk import queries
from contexthall.system.disk.calls import ENTER, READ, Calls, Opening, System
from contexthall.system.disk.handles import Directory, File
from contexthall.system.disk.queries import Digests, Entry, Kind, Seen, Status, Survey

_PRIVATE, _PUBLIC = 0o700, 0o777


class Disk(Calls):
    """The file system, behind one replaceable point."""

    def opened_by(self, opening: Opening) -> "Disk":
        """Return the same disk, on which paths are opened in another way."""
        other = Disk(self._perform, opening)
        other.tidied = self.tidied
        return other

    def look(self, path: str, *, follow: bool = True) -> Status:
        """Return what stands at `path`, and behind it if it is a symlink and `follow` is set."""
        return queries.status_of(self.do(path, os.stat if follow else os.lstat, path))

    def kind(self, path: str, *, follow: bool = True) -> Kind | None:
        """Return of which kind is what stands at `path`; None for nothing."""
        try:
            return self.look(path, follow=follow).kind
        except PathMissingError:
            return None

    def is_there(self, path: str) -> bool:
        """Return whether anything stands at `path`."""
        return self.kind(path) is not None

    def list(self, path: str) -> tuple[Entry, ...]:
        """List a directory, sorted by the bytes of the names."""
        entries = self.do(path, queries.scan, path, self.system)
        return tuple(sorted(entries, key=lambda entry: os.fsencode(entry.name)))

    def survey(self, path: str, known: Survey | None = None, *, follow: bool = False) -> Survey:
        """Look at all that is in a directory; if a settled survey, `known`, still says it, then that very one."""
        flags = ENTER if follow else ENTER | os.O_NOFOLLOW
        return self.do(path, queries.survey, path, flags, known, self.system)

    def digests(self, path: str, files: Sequence[Seen]) -> Digests:
        """Return the SHA-256 of files of a directory; what is gone is left out."""
        return self.do(path, queries.digests, path, files, self.system)

    def read_small(self, path: str, most_bytes: int) -> tuple[Seen, bytes]:
        """Read a regular file and its stamp; of one that is larger than `most_bytes`, one byte more than that."""
        return self.do(path, queries.read_small, path, most_bytes, self.system)

    def read(self, path: str, *, follow: bool = False) -> bytes:
        """Read a regular file whole; anything else, and a symlink unless `follow` is set, is a DiskError."""
        descriptor = self.do(path, self._opening, path, READ if follow else READ | os.O_NOFOLLOW)
        with File(self, path, descriptor) as file:
            return file.read_all()

    def enter(self, path: str, *, follow: bool = True) -> Directory:
        """Open a directory, to look up names in that very one whatever happens to its path."""
        flags = ENTER if follow else ENTER | os.O_NOFOLLOW
        return Directory(self, path, self.do(path, self._opening, path, flags))

    def make_directory(self, path: str) -> None:
        self.do(path, os.mkdir, path)

    def make_directories(self, path: str) -> None:
        """Make a directory that only the user may enter, and those above it, as far as they are missing."""
        with self.making_directories(path, mode=_PRIVATE):
            pass

    @contextmanager
    def making_directories(self, path: str, *, mode: int = _PUBLIC) -> Iterator[None]:
        """Make a directory and those above it, as far as they are missing; remove them again if the body fails."""
        made: list[str] = []
        try:
            self.do(path, _make_directories, path, mode, made, self.system)
            yield
        except BaseException:
            for each in reversed(made):
                with suppress(DiskError):  # somebody has put something there
                    self.remove_directory(each)
            raise

    def rename(self, path: str, target: str) -> None:
        self.do(path, os.rename, path, target)

    def remove_directory(self, path: str) -> None:
        """Remove a directory that is empty."""
        self.do(path, os.rmdir, path)

    def clear(self, path: str) -> None:
        """Remove all that is in a directory, however deep and write-protected; symlinks are never followed."""
        folders = [path]
        for folder in folders:  # which grows on the way
            folders += self._remove_files(folder)
        for folder in reversed(folders[1:]):
            self.remove_directory(folder)

    def _remove_files(self, folder: str) -> Sequence[str]:
        """Remove whatever is no directory; name the directories."""
        with suppress(DiskError):  # those of others may let us all the same
            self.do(folder, os.chmod, folder, stat.S_IRWXU)
        folders = []
        for entry in self.list(folder):
            below = os.path.join(folder, entry.name)
            if entry.kind == "directory":
                folders.append(below)
            else:
                self.do(below, os.unlink, below)
        return folders

    def may(self, path: str, mode: int) -> bool:
        """Return whether the system would let this user do something with `path`: `os.W_OK`, `os.X_OK` or both."""
        return self.do(path, os.access, path, mode, effective_ids=os.access in os.supports_effective_ids)

    def is_within(self, path: str, root: str) -> bool:
        """Return whether `path` lies in `root` once all symlinks are followed."""
        try:
            real_path, real_root = self.real(path), self.real(root)
        except PathMissingError:  # what cannot be a path is nowhere
            return False
        return real_path == real_root or real_path.startswith(real_root.rstrip("/") + "/")

    def real(self, path: str) -> str:
        """Follow every symlink in `path`."""
        return self.do(path, queries.real_path, path, self.system)

    def working_directory(self) -> str:
        """Return where relative paths start."""
        return self.do("the working directory", os.getcwd)


def _make_directories(path: str, mode: int, made: list[str], system: System) -> None:
    """Make a directory, and those above it as everybody makes them; collect those made."""
    missing, tried = [path], {path}
    while missing:
        try:
            system.mkdir(missing[-1], mode if len(missing) == 1 else _PUBLIC)
            made.append(missing.pop())
        except FileNotFoundError:
            parent = os.path.dirname(missing[-1])
            if not parent or parent in tried:  # it is there, and takes nothing all the same
                raise
            tried.add(parent)
            missing.append(parent)
        except (FileExistsError, IsADirectoryError):  # the latter for the root, on macOS
            if not stat.S_ISDIR(system.stat(missing.pop()).st_mode):
                raise

"""How does a client's file change? Only where it speaks of the hall, in one step, and as it was is kept beside it.

The file is its owner's: comments, order and layout stay, what cannot be read is refused and left alone, and words that
somebody else saves in that very moment are not lost.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Protocol

from contexthall.clients import jsonc, toml_text
from contexthall.core.density import has_too_many_values
from contexthall.core.errors import DiskError, PathMissingError, UsageError
from contexthall.system import safe_write as rewriting
from contexthall.system.disk import Directory, Disk, is_set_aside, is_temporary

BACKUP_SUFFIX = ".before-context-hall"
MOST_BYTES = 8 << 20
MOST_LINES = 20_000
"""Of a TOML file; JSON is bounded by its values."""


class _Language(Protocol):
    """How files of one kind are read and changed."""

    def parse(self, text: str) -> dict[str, Any]: ...

    def with_member(self, text: str, path: tuple[str, ...], name: str, value: Mapping[str, Any]) -> str: ...

    def without_member(self, text: str, path: tuple[str, ...], name: str) -> str: ...


class FileChange(NamedTuple):
    """What became of a file."""

    file: str
    is_needed: bool
    backup: str = ""
    """Where the file is as it was; empty if it was not there or did not change."""
    whose: str = ""
    """The project whose hall was taken out, if that is another one."""


class ConfigFile:
    """A file in which a client names its servers, at the end of whatever symlinks lead to it."""

    def __init__(self, disk: Disk, path: str, keys: tuple[str, ...], within: str = "") -> None:
        self.path = path
        self._disk = disk
        self._keys = keys
        self.within = within
        """Where it must really be: a project's file was put there by whoever wrote the project."""
        self._language: _Language = toml_text if path.endswith(".toml") else jsonc

    def values(self) -> dict[str, Any] | None:
        """Read what the file says; None if it is not there."""
        data = self._read()
        return None if data is None else self._parsed(self._text(data))

    def servers_in(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Give the servers among what the file says."""
        found: Any = values
        for key in self._keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    def spelt(self, name: str, entry: Mapping[str, Any]) -> str:
        """Spell a server as a file of this kind that has no other."""
        return self._language.with_member("", self._keys, name, entry)

    def put(self, server: str, renew: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> FileChange:
        """Have the file name this server; whatever else it says stays.

        What it shall say of the server is told by `renew`, from the very values that change, which it may refuse to do.
        """

        def edit(text: str) -> str:
            return self._language.with_member(text, self._keys, server, renew(self._parsed(text)))

        real = self._real()
        with self._entered(os.path.dirname(real)) as opened:
            return self._changed(opened, os.path.basename(real), server, edit)

    def drop(self, server: str) -> FileChange:
        """Have the file not name this server any more; a file that would say nothing at all is taken away."""

        def edit(text: str) -> str:
            return self._language.without_member(text, self._keys, server)

        real = self._real()
        if self._disk.kind(os.path.dirname(real)) is None:
            return FileChange(self.path, is_needed=False)
        with self._disk.enter(os.path.dirname(real), follow=False) as opened:
            return self._changed(opened, os.path.basename(real), server, edit, blank=edit(self.spelt(server, {})))

    def _changed(
        self, opened: Directory, name: str, server: str, edit: Callable[[str], str], blank: str = ""
    ) -> FileChange:
        """Change the file, unless there is nothing to change; as `blank`, it would say nothing and goes."""
        self._tidy(opened, name)
        before = self._read()
        after = self._edited(before or b"", edit)
        if after == (before or b""):
            return FileChange(self.path, is_needed=False)
        if before is None:
            self._create(opened, name, after)
            return FileChange(self.path, is_needed=True)
        if after.decode() == blank:
            rewriting.remove(opened, name, before)
            return FileChange(self.path, is_needed=True)
        backup = name + BACKUP_SUFFIX
        # What was kept before the hall was in the file is worth more than a copy that has the hall in it.
        if server not in self.servers_in(self._parsed(self._text(before))) or backup not in opened.names():
            _keep(opened, name, backup, before)
        rewriting.rewrite(opened, name, before, after)
        return FileChange(self.path, is_needed=True, backup=os.path.join(opened.path, backup))

    def _create(self, opened: Directory, name: str, data: bytes) -> None:
        if not opened.put(name, data, sync=True):
            raise UsageError(f"somebody else is writing {self.path}", hint="try again")

    def _edited(self, before: bytes, edit: Callable[[str], str]) -> bytes:
        text = self._text(before)
        try:
            return edit(text).encode("utf-8")
        except ValueError as error:
            raise self._refused(error) from None

    def _parsed(self, text: str) -> dict[str, Any]:
        if not text.strip("\ufeff \t\r\n"):
            return {}
        try:
            return self._language.parse(text)
        except ValueError as error:
            raise self._refused(error) from None

    def _text(self, data: bytes) -> str:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise self._refused("it is not UTF-8") from None

    def _refused(self, why: object) -> UsageError:
        return UsageError(f"{self.path}: {why}", hint="mend the file by hand; it was left as it is")

    def _read(self) -> bytes | None:
        try:
            _, data = self._disk.read_small(self._real(), MOST_BYTES)
        except PathMissingError:
            return None
        if len(data) > MOST_BYTES:
            raise self._refused(f"it is larger than {MOST_BYTES >> 20} MiB")
        is_dense = has_too_many_values(data) if self._language is jsonc else data.count(b"\n") > MOST_LINES
        if is_dense:
            raise self._refused("it says more than anybody can have written")
        return data

    def _real(self) -> str:
        real = self._disk.real(self.path)
        if self.within and not self._disk.is_within(real, self.within):
            raise UsageError(
                f"{self.path} is a symlink that leads out of the project", hint="put the file itself there"
            )
        if self._disk.kind(real, follow=False) == "symlink":
            raise UsageError(f"{self.path} is a symlink that leads to itself", hint="put the file itself there")
        return real

    @contextmanager
    def _entered(self, directory: str) -> Iterator[Directory]:
        """Enter the directory of the file, which is made if it is missing, and taken away again if that was in vain."""
        made = _make_missing(self._disk, directory)
        try:
            with self._disk.enter(directory, follow=False) as opened:
                yield opened
        except BaseException:
            for path in reversed(made):
                with suppress(DiskError):  # unless somebody has put something there
                    self._disk.remove_directory(path)
            raise

    @staticmethod
    def _tidy(opened: Directory, name: str) -> None:
        """Clear away what runs that were killed have left, and give back whose words they had taken."""
        with suppress(DiskError):
            leftovers = list(filter(is_temporary, opened.names()))
            if leftovers and opened.tidy():
                for aside in filter(is_set_aside, leftovers):
                    rewriting.settle(opened, aside, (name,))


def _keep(opened: Directory, name: str, backup: str, data: bytes) -> None:
    """Write a copy of a file beside it, which those may read who may read the file."""
    temporary = opened.write_like(name, data)
    try:
        opened.rename(temporary, backup)
    except BaseException:
        with suppress(DiskError):
            opened.remove_if_there(temporary)
        raise


def _make_missing(disk: Disk, directory: str) -> Sequence[str]:
    """Make a directory and those above it, as everybody makes them, as far as they are missing; name them."""
    missing = []
    while disk.kind(directory) is None and directory != "/":
        missing.append(directory)
        directory = os.path.dirname(directory)
    for path in reversed(missing):
        disk.make_directory(path)
    return list(reversed(missing))

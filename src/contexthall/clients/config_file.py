"""A client's config file: read, changed where it names the hall, and written with compare-and-swap beside a backup.

The file is its owner's: comments, order and layout stay, what cannot be parsed is refused and left alone, and a save by
somebody else between read and write is not lost.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

from contexthall.clients import jsonc, toml_text
from contexthall.clients.change import object_at
from contexthall.core import limits
from contexthall.core.errors import DiskError, PathMissingError, UsageError
from contexthall.core.wire import has_too_many_values
from contexthall.system import safe_write
from contexthall.system.disk import Directory, Disk

BACKUP_SUFFIX = ".before-context-hall"


class _FileSyntax(Protocol):
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


class ConfigText(NamedTuple):
    """A config file as it was read; without data if it is not there."""

    name: str
    """In its directory, where symlinks have led."""
    data: bytes | None
    text: str
    values: dict[str, Any]


class ConfigFile:
    """A file in which a client names its servers, at the end of whatever symlinks lead to it."""

    def __init__(self, disk: Disk, path: str, keys: tuple[str, ...], within: str = "", backups: str = "") -> None:
        self.path = path
        self._disk = disk
        self._keys = keys
        self.within = within
        """Where it must really be: a project's file was put there by whoever wrote the project."""
        self._backups = backups
        """The folder for its backup; empty for its own. Beside a file that git ignores, a copy would be committed."""
        self._language: _FileSyntax = toml_text if path.endswith(".toml") else jsonc

    def read(self) -> ConfigText:
        """Read and parse the file; an empty one, or none at all, has no values."""
        return self._read(self._real())

    def _read(self, real: str) -> ConfigText:
        name, data = os.path.basename(real), self._bytes(real)
        try:
            text = (data or b"").decode("utf-8")
            return ConfigText(name, data, text, self._language.parse(text) if text.strip("\ufeff \t\r\n") else {})
        except UnicodeDecodeError:
            raise self._refused("it is not UTF-8") from None
        except ValueError as error:
            raise self._refused(error) from None

    def servers_in(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the servers among the values of the file."""
        return object_at(values, self._keys)

    def with_server(self, text: str, name: str, entry: Mapping[str, Any]) -> str:
        """Return the text with that server, and nothing else changed."""
        try:
            return self._language.with_member(text, self._keys, name, entry)
        except ValueError as error:
            raise self._refused(error) from None

    def without_server(self, text: str, name: str) -> str:
        """Return the text without that server, and nothing else changed."""
        try:
            return self._language.without_member(text, self._keys, name)
        except ValueError as error:
            raise self._refused(error) from None

    def write(self, directory: Directory, before: ConfigText, after: str, server: str) -> FileChange:
        """Replace what was read by a text with or without that server."""
        bare = self.without_server(self.with_server("", server, {}), server)
        return self.replace(directory, before, after, bare=bare, was_in=server in self.servers_in(before.values))

    def replace(self, directory: Directory, before: ConfigText, after: str, *, bare: str, was_in: bool) -> FileChange:
        """Replace what was read, and keep a backup; remove a file that would hold only `bare`, what we once began with.

        A backup from before the hall `was_in` the file is worth more than a copy that has the hall in it.
        """
        name, data = before.name, after.encode("utf-8")
        if after == before.text:
            return FileChange(self.path, is_needed=False)
        if before.data is None:
            if not directory.put(name, data, sync=True):
                raise UsageError(f"somebody else is writing {self.path}", hint="try again")
        elif after == bare:
            safe_write.remove(directory, name, before.data)
        else:
            backup = self.backup_place()
            if not was_in or not self._disk.is_there(backup):
                self._keep(directory, name, before.data)
            safe_write.rewrite(directory, name, before.data, data)
            return FileChange(self.path, is_needed=True, backup=backup)
        return FileChange(self.path, is_needed=True)

    def backup_place(self) -> str:
        """Return where the file is kept as it was."""
        real = self._real()
        if not self._backups:
            return real + BACKUP_SUFFIX
        digest = sha256(os.fsencode(real)).hexdigest()[:16]
        return os.path.join(self._backups, f"{digest}-{os.path.basename(real)}{BACKUP_SUFFIX}")

    def _keep(self, directory: Directory, name: str, data: bytes) -> None:
        if not self._backups:
            directory.replace_like(name, name + BACKUP_SUFFIX, data)
            return
        self._disk.make_directories(self._backups)
        with self._disk.enter(self._backups) as opened:
            opened.replace(os.path.basename(self.backup_place()), data, sync=True)

    def changed(self, change: Callable[[str], str], text: str) -> str:
        """Return what a change makes of the text; what it cannot change is refused, and the file left as it is."""
        try:
            return change(text)
        except ValueError as error:
            raise self._refused(error) from None

    def restore_layout(self) -> None:
        """Put the copy from before in place of a file that says the same, but for an empty object around our entry."""
        with self.opened() as (directory, now):
            backup = self.backup_place()
            if now.data is None or not self._disk.is_there(backup):
                return
            data = self._disk.read(backup)
            rest = {key: value for key, value in now.values.items() if value or key != self._keys[0]}
            with suppress(ValueError):
                if now.data != data and rest == self._language.parse(data.decode("utf-8")):
                    safe_write.rewrite(directory, now.name, now.data, data)

    def has_directory(self) -> bool:
        return self._disk.kind(os.path.dirname(self._real())) is not None

    @contextmanager
    def opened(self) -> Iterator[tuple[Directory, ConfigText]]:
        """Enter the directory of the file, made if missing and removed again on failure, and read the file."""
        real = self._real()
        folder, name = os.path.split(real)
        with self._disk.making_directories(folder), self._disk.enter(folder, follow=False) as directory:
            with suppress(DiskError):
                safe_write.tidy(directory, (name,))
            yield directory, self._read(real)

    def _refused(self, why: object) -> UsageError:
        return UsageError(f"{self.path}: {why}", hint="mend the file by hand; it was left as it is")

    def _bytes(self, real: str) -> bytes | None:
        try:
            _, data = self._disk.read_small(real, limits.CLIENT_FILE_BYTES)
        except PathMissingError:
            return None
        if len(data) > limits.CLIENT_FILE_BYTES:
            raise self._refused(f"it is larger than {limits.CLIENT_FILE_BYTES >> 20} MiB")
        if self._language is jsonc and has_too_many_values(data):
            raise self._refused(f"it has more than {limits.JSON_VALUES:,} values")
        if self._language is toml_text and data.count(b"\n") > limits.CLIENT_FILE_LINES:
            raise self._refused(f"it has more than {limits.CLIENT_FILE_LINES:,} lines")
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

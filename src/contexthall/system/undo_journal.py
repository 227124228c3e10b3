"""What was there before something was written, so that it can be undone?

Every write is recorded, and on the disk, before it is made: whoever is killed on the way leaves nothing that cannot be
undone. What was written is recorded afterwards, by its digest: what somebody has changed since stays as it is.

The journal is kept in the user's own state directory, because undoing removes files: none of a project's files may say
which.
"""

import os
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import count
from typing import NamedTuple, TypeAlias

from contexthall.core.errors import DiskError, HallError, PathMissingError
from contexthall.core.wire import compact, parse
from contexthall.system import safe_write
from contexthall.system.disk import TEMPORARY_PREFIX, Disk

Record: TypeAlias = Mapping[str, object]

SET_ASIDE = ".undone"
"""The end of the name that a file gets which was written by us or by somebody else, and nobody knows by whom."""
_IGNORE_FILE = ".gitignore"
_CHANGED = "somebody has changed it since"
_CHANGED_BETWEEN = "it is as before the last write; somebody had changed it before that"


class Undone(NamedTuple):
    """What became of one thing that had been written."""

    path: str
    kept: str = ""
    """Why it is still there; empty if it is not."""
    error: HallError | None = None
    """What failed, if it may be undone later."""


class _Write(NamedTuple):
    """One write of a file."""

    before: bytes | None
    digest: str = ""
    """Of what was written; empty if we were killed before we could tell."""


class _UndoTarget(NamedTuple):
    """What a file shall be again."""

    content: bytes | None
    is_ours: bool
    """Whether all that is there now is known to be written by us."""
    is_changed: bool
    """Whether somebody else has changed the file after one of our writes, and what was before that is left alone."""


class UndoJournal:
    """A file of records, one a line."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self.path = path

    def records(self) -> list[Record]:
        """Return what was recorded, in that order; a line that was cut off is left out, as nothing was written yet."""
        try:
            lines = self._disk.read(self.path).splitlines()
        except PathMissingError:
            return []
        found: list[Record] = []
        for line in lines:
            with suppress(ValueError):
                if isinstance(record := parse(line), dict):
                    found.append(record)
        return found

    def record(self, records: Iterable[Record]) -> None:
        """Write records to the disk itself."""
        data = "".join(f"{compact(record)}\n" for record in records).encode()
        folder, name = os.path.split(self.path)
        self._disk.make_directories(folder)
        with self._disk.enter(folder) as opened, opened.append(name) as file:
            file.write_all(data)
            file.sync()
            opened.sync()

    def before_files(self, paths: Iterable[str]) -> None:
        """Record files as they are, before they are written."""
        contents = ((path, self._content(path)) for path in paths)
        self.record({"file": path, "before": None if data is None else _text(data)} for path, data in contents)

    def after_files(self, paths: Iterable[str]) -> None:
        """Record what files are now, so that later changes can be told from ours."""
        contents = ((path, self._content(path)) for path in paths)
        self.record({"wrote": path, "sha256": sha256(data).hexdigest()} for path, data in contents if data is not None)

    def before_folder(self, path: str, *, whole: bool) -> None:
        """Record a folder that is going to be made, and those above it that are missing.

        If `whole`, all that comes to be in it is ours.
        """
        path = self._disk.real(path)
        above = path
        missing = []
        while not self._disk.is_there(above):
            missing.append(above)
            above = os.path.dirname(above)
        folders = {each: whole and each == path for each in reversed(missing)}
        if folders.get(path):  # whoever is killed while it is made leaves what is made first
            folders[os.path.join(os.path.dirname(path), TEMPORARY_PREFIX + os.path.basename(path))] = True
        self.record({"folder": each, "whole": is_whole} for each, is_whole in folders.items())

    def write_new(self, path: str, data: bytes) -> None:
        """Write a file, unless one is there, and record that."""
        folder, name = os.path.split(self._disk.real(path))
        self.before_folder(folder, whole=False)
        if self._disk.is_there(path):
            return
        self.before_files([path])
        with self._disk.making_directories(folder), self._disk.enter(folder) as opened:
            opened.put(name, data)
        self.after_files([path])

    def undo_files_and_folders(self) -> list[Undone]:
        """Undo what was written, the last first."""
        records = self.records()
        folders = {str(each["folder"]): bool(each["whole"]) for each in records if "folder" in each}
        undone: list[Undone | None] = []
        hiding: dict[str, tuple[str, Sequence[_Write]]] = {}
        for path, writes in reversed(_writes_by_file(records).items()):
            folder, name = os.path.split(path)
            if name == _IGNORE_FILE and (real := self._disk.real(folder)) in folders:
                hiding[real] = path, writes  # it goes with its folder: it hides whatever stays there from git
            else:
                undone.append(self._undo_file(path, writes))
        for path, whole in reversed(folders.items()):
            if path in hiding and self._names(path) == [_IGNORE_FILE]:
                undone.append(self._undo_file(*hiding[path]))
            undone.append(self._undo_folder(path, whole=whole))
        return [each for each in undone if each is not None]

    def forget(self) -> None:
        """Remove the journal, once all of it is undone."""
        folder, name = os.path.split(self.path)
        with suppress(PathMissingError), self._disk.enter(folder) as opened:
            opened.remove_if_there(name)

    def _content(self, path: str) -> bytes | None:
        try:
            return self._disk.read(path)
        except PathMissingError:
            return None

    def _names(self, folder: str) -> list[str]:
        try:
            return [each.name for each in self._disk.list(folder)]
        except DiskError:
            return []

    def _undo_file(self, path: str, writes: Sequence[_Write]) -> Undone | None:
        try:
            now = self._content(path)
            if now is None:
                return None
            target = _walk_back(now, writes)
            if target.content == now:
                return Undone(path, kept=_CHANGED) if target.is_changed else None
            aside = self._put_back(path, target, now)
        except HallError as error:
            return Undone(path, kept=error.detail, error=error)
        if aside:
            return Undone(aside, kept=f"nobody knows who wrote it, so it is no longer {os.path.basename(path)}")
        return Undone(path, kept=_CHANGED_BETWEEN if target.is_changed and target.content is not None else "")

    def _put_back(self, path: str, target: _UndoTarget, now: bytes) -> str:
        """Give a file its content from before; return where what may be somebody's was set aside, if there is any."""
        folder, name = os.path.split(path)
        with self._disk.enter(folder, follow=False) as opened:
            aside = "" if target.is_ours else _free_name(name + SET_ASIDE, opened.names())
            if target.content is not None:
                if aside:
                    opened.replace_like(name, aside, now)
                safe_write.rewrite(opened, name, now, target.content)
            elif aside:
                opened.rename(name, aside)
            else:
                safe_write.remove(opened, name, now)
            return os.path.join(folder, aside) if aside else ""

    def _undo_folder(self, path: str, *, whole: bool) -> Undone | None:
        try:
            if self._disk.kind(path, follow=False) != "directory" or self._disk.real(path) != path:
                return None
            if whole:
                self._disk.clear(path)
            elif self._disk.list(path):
                return Undone(path, kept="there is something in it")
            self._disk.remove_directory(path)
        except DiskError as error:
            return Undone(path, kept=error.cause or error.detail, error=error)
        return Undone(path)


def _writes_by_file(records: Iterable[Record]) -> dict[str, list[_Write]]:
    files: dict[str, list[_Write]] = {}
    for each in records:
        if "file" in each:
            before = each["before"]
            files.setdefault(str(each["file"]), []).append(
                _Write(b64decode(before) if isinstance(before, str) else None)
            )
        elif writes := files.get(str(each.get("wrote"))):
            writes[-1] = writes[-1]._replace(digest=str(each["sha256"]))
    return files


def _walk_back(now: bytes, writes: Sequence[_Write]) -> _UndoTarget:
    """Return what a file was before our writes, or before those after which nobody else has changed it."""
    content: bytes | None = now
    is_ours = True
    for write in reversed(writes):
        if content == write.before:
            continue
        if write.digest:
            is_known = content is not None and sha256(content).hexdigest() == write.digest
        else:  # what is there now can be set aside, but what was there in between cannot
            is_known = content is now
            is_ours = is_ours and not is_known
        if not is_known:
            return _UndoTarget(content, is_ours, is_changed=True)
        content = write.before
    return _UndoTarget(content, is_ours, is_changed=False)


def _free_name(name: str, taken: Collection[str]) -> str:
    names = (f"{name}-{number}" if number > 1 else name for number in count(1))
    return next(each for each in names if each not in taken)


def _text(data: bytes) -> str:
    return b64encode(data).decode()

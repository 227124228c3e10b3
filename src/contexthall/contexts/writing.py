"""How is a context written? In one step, never through a symlink, and never over somebody else's words.

The new file changes names with the old one; what comes out must be what was read, else they change back.
"""

import os
from codecs import BOM_UTF8

from contexthall import kernel
from contexthall.contexts.context_file import read_context, replace_fingerprint
from contexthall.contexts.freshness import Contents, read_contents
from contexthall.contexts.heads import read_bytes_of
from contexthall.contexts.ledger import Written
from contexthall.contexts.project import Project
from contexthall.contexts.scan import ROOT, Directory
from contexthall.contexts.schema import CONTEXT_FILE
from contexthall.core.errors import DiskError, UsageError
from contexthall.disk import Directory as OpenDirectory
from contexthall.disk import Disk


def rehash(project: Project, place: str) -> bool:
    """Write the fingerprint of a directory as it is now into its context, and nothing else; False if it was there."""
    directory = look_at_itself(project, place)
    _, data = read_bytes_of(project.disk, directory.path)
    values = read_context(data)
    contents = readable_contents(project.disk, directory)
    is_other = bool(values["fingerprint"] != contents.fingerprint)
    if is_other:
        rewrite(project.disk, directory, CONTEXT_FILE, data, replace_fingerprint(data, contents.fingerprint))
    before = project.ledger.written(place)
    drafted = before.fields if before and before.last_updated == values["last_updated"] else {}
    written = Written(contents.fingerprint, contents.digests, values["last_updated"], drafted)
    project.ledger.learn_written(place, written)
    return is_other


def look_at_itself(project: Project, place: str) -> Directory:
    """Look at a directory that shall be written to, which no symlink may lead to."""
    directory = project.look(place)
    if project.disk.real(directory.path) != os.path.normpath(os.path.join(project.disk.real(project.root), place)):
        raise UsageError(f"{place} leads through a symlink", hint="name the directory itself")
    return directory


def readable_contents(disk: Disk, directory: Directory) -> Contents:
    """Read the files of a directory, every one of which must be readable."""
    contents = read_contents(disk, directory)
    if contents.error:
        raise DiskError(f"{directory.scope}: {contents.error}")
    return contents


def put(disk: Disk, directory: Directory, name: str, data: bytes) -> bool:
    """Put a new file into a directory; False if somebody else did."""
    with disk.enter(directory.path, follow=directory.scope == ROOT) as opened:
        directory.must_be(opened.status())
        if opened.put(name, data):
            return True
        if opened.look(name).kind == "symlink":
            raise UsageError(f"a symlink is in the place of {name}", hint="it is never written through")
        return False


def as_text(data: bytes) -> str:
    """Give the text of a file that shall be written again, without its byte order mark."""
    try:
        return data.removeprefix(BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError("not UTF-8, so it cannot be rewritten without loss") from None


def as_bytes(text: str, *, like: bytes) -> bytes:
    """Give the bytes of a text, with a byte order mark if the file had one."""
    return (BOM_UTF8 if like.startswith(BOM_UTF8) else b"") + text.encode("utf-8")


def rewrite(disk: Disk, directory: Directory, name: str, before: bytes, after: bytes) -> None:
    """Put `after` in the place of a file that holds `before`; UsageError if it does not any more."""
    with disk.enter(directory.path, follow=directory.scope == ROOT) as opened:
        directory.must_be(opened.status())
        temporary = opened.write_like(name, after)
        try:
            if not _change_names(disk, opened, temporary, name, before):
                raise UsageError(f"somebody else is writing {os.path.join(directory.path, name)}", hint="try again")
        finally:
            opened.remove_if_there(temporary)


def _change_names(disk: Disk, opened: OpenDirectory, temporary: str, name: str, before: bytes) -> bool:
    """Let the new file have the name of the old one, unless that is not what it was."""
    if opened.read(name) != before:
        return False
    if not _exchange(disk, opened, temporary, name):
        opened.rename(temporary, name)
        return True
    if opened.read(temporary) == before:
        return True
    _exchange(disk, opened, temporary, name)
    return False


def _exchange(disk: Disk, opened: OpenDirectory, temporary: str, name: str) -> bool:
    """Exchange two names in one step; False where that cannot be had."""
    paths = [os.path.join(opened.path, each) for each in (temporary, name)]
    try:
        disk.do(opened.path, kernel.exchange, *paths)
    except DiskError as error:
        if kernel.cannot_exchange(error.__cause__):
            return False
        raise
    return True

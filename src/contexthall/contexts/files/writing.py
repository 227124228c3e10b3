"""Writing contexts: by compare-and-swap, and never through a symlink."""

from codecs import BOM_UTF8
from contextlib import suppress
from typing import NamedTuple

from contexthall.contexts.draft.agents import AGENTS_FILE
from contexthall.contexts.files.context_file import read_context, replace_fingerprint
from contexthall.contexts.files.lock import LOCK_FILE
from contexthall.contexts.files.schema import CONTEXT_FILE
from contexthall.contexts.files.yaml_text import Value
from contexthall.contexts.freshness.heads import read_bytes_of
from contexthall.contexts.freshness.ledger import Written
from contexthall.contexts.freshness.verdict import Contents, read_contents
from contexthall.contexts.project import Project
from contexthall.contexts.scan.directories import ROOT, ScannedDirectory
from contexthall.core.errors import DiskError, UsageError
from contexthall.system import safe_write
from contexthall.system.disk import Disk, is_temporary


class RehashedContext(NamedTuple):
    """A context that has the fingerprint of its directory."""

    is_other: bool
    """Whether it had another one before."""
    directory: ScannedDirectory
    values: dict[str, Value]


def rehash(project: Project, place: str) -> RehashedContext:
    """Write the current fingerprint of a directory into its context, and nothing else."""
    directory = scan_to_write(project, place)
    tidy(project.disk, directory)
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
    return RehashedContext(is_other, directory, values | {"fingerprint": contents.fingerprint})


def scan_to_write(project: Project, place: str) -> ScannedDirectory:
    """Scan a directory that will be written to; UsageError if a symlink leads to it."""
    directory = project.look(place)
    if directory.scope != place:
        raise UsageError(f"{place} leads through a symlink", hint="name the directory itself")
    if directory.cause:  # which of its files count is unknown
        raise DiskError(f"{directory.error}: {directory.cause}")
    return directory


def readable_contents(disk: Disk, directory: ScannedDirectory) -> Contents:
    """Read the files of a directory, every one of which must be readable."""
    contents = read_contents(disk, directory)
    if contents.error:
        raise DiskError(f"{directory.path}: {contents.error}: {contents.cause}")
    return contents


def tidy(disk: Disk, directory: ScannedDirectory) -> None:
    """Remove what killed runs have left in a directory, unless another run is writing there."""
    if any(is_temporary(each.name) for each in directory.survey.seen):
        with suppress(DiskError), disk.enter(directory.path) as opened:
            safe_write.tidy(opened, (CONTEXT_FILE, AGENTS_FILE, LOCK_FILE))


def put(disk: Disk, directory: ScannedDirectory, name: str, data: bytes, *, sync: bool = False) -> bool:
    """Create a file in a directory; False if there is one by now."""
    with disk.enter(directory.path, follow=directory.scope == ROOT) as opened:
        directory.must_be(opened.status())
        if opened.put(name, data, sync=sync):
            return True
        if opened.look(name).kind == "symlink":
            raise UsageError(f"a symlink is in the place of {name}", hint="it is never written through")
        return False


def as_text(data: bytes) -> str:
    """Return the text of a file that will be rewritten, without its byte order mark."""
    try:
        return data.removeprefix(BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError("not UTF-8, so it cannot be rewritten without loss") from None


def as_bytes(text: str, *, like: bytes) -> bytes:
    """Return the bytes of a text, with a byte order mark if the file had one."""
    return (BOM_UTF8 if like.startswith(BOM_UTF8) else b"") + text.encode("utf-8")


def rewrite(disk: Disk, directory: ScannedDirectory, name: str, before: bytes, after: bytes) -> None:
    """Replace a file that holds `before` by `after`; UsageError if it no longer does."""
    with disk.enter(directory.path, follow=directory.scope == ROOT) as opened:
        directory.must_be(opened.status())
        safe_write.rewrite(opened, name, before, after)

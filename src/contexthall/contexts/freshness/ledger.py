"""The ledger: what is remembered of a project between calls and runs. Without it, more is read and less is reported.

It is in the user's cache directory, and holds three things: the fingerprint of each directory as last read, so that
files with unchanged times need not be read again; the files that a context was written for, to report what changed; and
the interface of a content, so that it is parsed once.
"""

import json
import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple

from contexthall.contexts.files.schema import CONTEXT_FILE
from contexthall.contexts.files.yaml_text import Value
from contexthall.contexts.freshness.heads import FAULTS, Head
from contexthall.core.errors import DiskError
from contexthall.core.wire import parse
from contexthall.system.disk import Disk, Seen

logger = logging.getLogger(__name__)

_FORMAT = 3
_SEEN_FILE = "seen.json"
_WRITTEN = "written"
_FAULT = Head._fields.index("fault")


class KnownFingerprint(NamedTuple):
    """The fingerprint of some files; of those that an earlier run saw, only a digest of their status is known."""

    fingerprint: str
    stat_digest: str = ""
    files: Sequence[Seen] = ()

    def is_of(self, files: Sequence[Seen]) -> bool:
        return self.stat_digest == stat_digest(files) if self.stat_digest else self.files == files


class Written(NamedTuple):
    """A context as this machine wrote it: for which files, when, and the values of the fields that it drafted."""

    fingerprint: str
    files: Mapping[str, str]
    """Name → digest."""
    last_updated: str
    fields: Mapping[str, str]
    """Name → digest of the value."""


class Ledger:
    """The ledger of one project, stored in `directory`; if that is empty, in memory only."""

    def __init__(self, disk: Disk, directory: str, clock: Callable[[], int]) -> None:
        self._disk = disk
        self._directory = directory
        self._clock = clock
        self._fingerprints: dict[str, KnownFingerprint] = {}
        self._heads: dict[str, tuple[Seen, Head]] = {}
        self._interfaces: dict[str, tuple[str, str]] = {}
        """Scope → fingerprint of the content, and its interface."""
        self._is_changed = False
        self._is_tidy = False
        self._load()

    def now(self) -> int:
        """Return the time in nanoseconds; call this before looking at what will be recorded."""
        return self._clock()

    def fingerprint(self, scope: str, files: Sequence[Seen]) -> str | None:
        """Return the content fingerprint of these very files, if it is known."""
        known = self._fingerprints.get(scope)
        if known is None or not known.is_of(files):
            return None
        if known.stat_digest:
            self._fingerprints[scope] = KnownFingerprint(known.fingerprint, files=files)
        return known.fingerprint

    def head(self, scope: str, context: Seen) -> Head | None:
        """Return the head of this very context, if it is known."""
        known, head = self._heads.get(scope, (None, None))
        return head if known == context else None

    def interface(self, scope: str, fingerprint: str) -> str | None:
        """Return the interface of a directory with this content, if it is known; empty if it cannot be parsed."""
        known, interface = self._interfaces.get(scope, ("", ""))
        return interface if known == fingerprint else None

    def learn_interface(self, scope: str, fingerprint: str, interface: str) -> None:
        self._interfaces[scope] = (fingerprint, interface)
        self._is_changed = self._is_changed or bool(interface)

    def learn_fingerprint(self, scope: str, files: Sequence[Seen], fingerprint: str, seen_at: int) -> None:
        if all(file.is_settled(seen_at) for file in files):
            self._fingerprints[scope] = KnownFingerprint(fingerprint, files=files)
            # A name that no directory has is for this process only.
            self._is_changed = self._is_changed or "\0" not in scope

    def learn_head(self, scope: str, context: Seen, head: Head, seen_at: int) -> None:
        if context.is_settled(seen_at):
            self._heads[scope] = (context, head)
            self._is_changed = True

    def keep(self, scopes: Collection[str]) -> None:
        """Write the ledger to disk, for these directories only."""
        self._tidy()
        if not (self._is_changed and self._directory):
            return
        rows = {scope: self._row(scope) for scope in scopes if scope in self._fingerprints or scope in self._heads}
        self._write(self._directory, _SEEN_FILE, {"format": _FORMAT, "directories": rows})
        self._is_changed = False

    def learn_written(self, scope: str, written: Written) -> None:
        """Record how a context was written."""
        if self._directory:
            self._write(os.path.join(self._directory, _WRITTEN), _file_name(scope), written._asdict())

    def written(self, scope: str) -> Written | None:
        """Return how the context of a directory was last written here, if that is known."""
        kept = self._read(os.path.join(_WRITTEN, _file_name(scope)))
        try:
            files, fields = dict(kept["files"]), dict(kept["fields"])
            return Written(str(kept["fingerprint"]), files, str(kept["last_updated"]), fields)
        except (KeyError, TypeError, ValueError):
            return None

    def _row(self, scope: str) -> list[object]:
        known, (context, head) = self._fingerprints.get(scope), self._heads.get(scope, (None, None))
        total = [known.stat_digest or stat_digest(known.files), known.fingerprint] if known else None
        interface = self._interfaces.get(scope)
        # An unknown interface is not stored: the parser may have run out of time, and succeed the next time.
        kept = interface if interface and interface[1] else None
        return [total, [context.size, *context.stamp] if context else None, head, kept]

    def _load(self) -> None:
        kept = self._read(_SEEN_FILE)
        if kept.get("format") != _FORMAT:
            return
        try:
            for scope, (total, context, head, interface) in kept["directories"].items():
                if total:
                    digest, fingerprint = total
                    self._fingerprints[scope] = KnownFingerprint(str(fingerprint), str(digest))
                if interface:
                    self._interfaces[scope] = (str(interface[0]), str(interface[1]))
                if context and head and head[_FAULT] in ("", *FAULTS):
                    size, *stamp = context
                    self._heads[scope] = (Seen(CONTEXT_FILE, "file", size, tuple(stamp)), Head(*head))
        except (LookupError, TypeError, ValueError, AttributeError):
            logger.info("what was remembered of the project is no longer understood")
            self._fingerprints, self._heads, self._interfaces = {}, {}, {}

    def _read(self, name: str) -> dict[str, Value]:
        if not self._directory:
            return {}
        try:
            kept = parse(self._disk.read(os.path.join(self._directory, name)), lone_surrogates=True)
        except (DiskError, ValueError):
            return {}
        return kept if isinstance(kept, dict) else {}

    def _tidy(self) -> None:
        """Remove temporary files of killed writers, once per process, whether or not there is something to write."""
        if self._is_tidy or not self._directory:
            return
        self._is_tidy = True
        for directory in (self._directory, os.path.join(self._directory, _WRITTEN)):
            with suppress(DiskError), self._disk.enter(directory) as opened:
                opened.tidy()

    def _write(self, directory: str, name: str, value: object) -> None:
        try:
            self._disk.make_directories(directory)
            with self._disk.enter(directory) as opened:
                # ASCII, because a name that is not UTF-8 has lone surrogates in it.
                opened.replace(name, json.dumps(value, separators=(",", ":")).encode("ascii"))
        except DiskError as error:
            logger.info("cannot remember: %s", error)


def stat_digest(files: Sequence[Seen]) -> str:
    """Return a digest of the names, sizes and times of files."""
    in_order = sorted(files)
    names = "/".join([file.name for file in in_order])
    numbers = [number for file in in_order for number in (file.size, *file.stamp)]
    return sha256(f"{names}{numbers}".encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _file_name(scope: str) -> str:
    return sha256(os.fsencode(scope)).hexdigest()[:16] + ".json"

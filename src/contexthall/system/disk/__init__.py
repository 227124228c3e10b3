"""What is on the disk? The only package that opens, lists, stats, renames or syncs anything.

    Disk        what stands at a path, and how it is changed
    Directory   the same for names in an open directory, whatever happens to its path
    File        what is in an open file

Every call to the operating system passes `perform`, which a test may replace to fail the n-th call or to shuffle a
listing; what takes several calls passes as a whole, too. Every OSError leaves as one of our errors, with the path in
its detail. Paths are strings; a name that is not UTF-8 keeps its bytes as Python's surrogate escapes.
"""

from contexthall.system.disk.calls import Perform, perform
from contexthall.system.disk.file_system import Disk
from contexthall.system.disk.handles import (
    TEMPORARY_PREFIX,
    Directory,
    File,
    is_set_aside,
    is_temporary,
    temporary_name,
)
from contexthall.system.disk.queries import Entry, Kind, Seen, Status, Survey, is_settled

__all__ = [
    "TEMPORARY_PREFIX",
    "Directory",
    "Disk",
    "Entry",
    "File",
    "Kind",
    "Perform",
    "Seen",
    "Status",
    "Survey",
    "is_set_aside",
    "is_settled",
    "is_temporary",
    "perform",
    "temporary_name",
]

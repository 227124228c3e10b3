"""How is a file rewritten that people write too? In one step, never through a symlink, and never over their words.

The new file changes names with the old one; what comes out must be what was read, else they change back. Whoever is
killed on the way leaves a file whose name tells what was read and what was written, so that the next run can tell which
of the two it holds. If it holds neither, somebody wrote it at that very moment, and it gets its name back.
"""

import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256

from contexthall.core.errors import DiskError, PathMissingError, UsageError
from contexthall.system.disk import Directory, is_set_aside, is_temporary, temporary_name

logger = logging.getLogger(__name__)

_DIGITS = 16


def rewrite(opened: Directory, name: str, before: bytes, after: bytes) -> None:
    """Put `after` in the place of a file that holds `before`; UsageError if it does not any more."""
    aside = _aside(before, after)
    opened.replace_like(name, aside, after)
    try:
        is_done = _change_names(opened, aside, name, before)
    except BaseException:
        settle(opened, aside, (name,))
        raise
    if not is_done:
        settle(opened, aside, (name,))
        raise _changed(opened, name)
    with suppress(DiskError):  # it holds what was read, as its name tells whoever finds it
        opened.remove_if_there(aside)


def remove(opened: Directory, name: str, before: bytes) -> None:
    """Take a file away that holds `before`; UsageError if it does not any more."""
    aside = _aside(before, b"")
    opened.rename(name, aside)
    if opened.read(aside) != before:
        opened.rename(aside, name)
        raise _changed(opened, name)
    opened.remove_if_there(aside)


def _changed(opened: Directory, name: str) -> UsageError:
    return UsageError(f"somebody else is writing {os.path.join(opened.path, name)}", hint="try again")


def settle(opened: Directory, aside: str, names: Sequence[str]) -> None:
    """Remove a file that was set aside; if it is neither what was read nor what was written, give it its name back.

    That is one of `names`.
    """
    *_, before, after = aside.split("-")
    try:
        while _digits(opened.read(aside)) not in {before, after}:  # perhaps once more, if somebody saves meanwhile
            if not _give_back(opened, aside, after, names):
                logger.warning("somebody's words were kept as %s", os.path.join(opened.path, aside))
                return
        opened.remove_if_there(aside)
    except DiskError as error:
        logger.warning("left for the next run: %s", error)


def tidy(opened: Directory, names: Sequence[str]) -> None:
    """Remove the temporary files of killed runs and settle what they had set aside, unless another run is at work."""
    leftovers = [each for each in opened.names() if is_temporary(each)]
    if leftovers and opened.tidy():
        for aside in filter(is_set_aside, leftovers):
            settle(opened, aside, names)


def _aside(before: bytes, after: bytes) -> str:
    """Make up a name that tells what shall change places with what."""
    return f"{temporary_name()}-{_digits(before)}-{_digits(after)}"


def _change_names(opened: Directory, aside: str, name: str, before: bytes) -> bool:
    """Let the new file have the name of the old one, unless that is not what it was."""
    if opened.read(name) != before:
        return False
    if not opened.exchange(aside, name):
        opened.rename(aside, name)
        return True
    return opened.read(aside) == before


def _give_back(opened: Directory, aside: str, after: str, names: Sequence[str]) -> bool:
    """Let somebody's words have the name back that ours have taken; False if others have it by now."""
    for name in names:
        with suppress(PathMissingError):
            if _digits(opened.read(name)) == after:
                return opened.exchange(aside, name)
    return False


def _digits(data: bytes) -> str:
    return sha256(data).hexdigest()[:_DIGITS]

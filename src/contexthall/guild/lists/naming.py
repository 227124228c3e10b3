"""The names by which agents see tools: `member__tool` where that fits, else a shortened form with a hash.

Pure, and the same from run to run: a name depends on its own member and tool alone. No two tools share a name.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256

LONGEST = 64
SEPARATOR = "__"
_DIGITS = 12
_MEMBER_SHARE = 20
_FITTING = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST}}}")
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_HASHED = re.compile(rf".*_[0-9a-f]{{{_DIGITS}}}", re.DOTALL)


def tool_names(pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return a name for each pair of a member and its tool."""
    ordered = sorted(set(pairs))
    names = {pair: SEPARATOR.join(pair) for pair in ordered if _is_plain(*pair)}
    # Plain names come first, so that not even a collision of hashes takes one away.
    taken = set(names.values())
    for pair in ordered:
        if pair not in names:
            names[pair] = _free_name(*pair, taken)
            taken.add(names[pair])
    return names


def may_name(name: str, member: str) -> bool:
    """Return whether agents could see some tool of this member, whatever it is called, under this name."""
    if not _HASHED.fullmatch(name):
        start, _, tool = name.partition(SEPARATOR)
        return start == member and bool(tool) and _is_plain(member, tool)
    shown = _UNFIT.sub("_", member)
    lengths = {len(member), *range(_MEMBER_SHARE, len(member))}
    return any(name.startswith(shown[:length] + SEPARATOR) for length in lengths)


@lru_cache(maxsize=1 << 14)  # all names are asked for whenever one member changes
def _is_plain(member: str, tool: str) -> bool:
    """Return whether the plain name fits, and the first `__` in it ends the member's."""
    name = member + SEPARATOR + tool
    is_readable = SEPARATOR not in member and not member.endswith("_")
    return is_readable and bool(_FITTING.fullmatch(name)) and not _HASHED.fullmatch(name)


def _free_name(member: str, tool: str, taken: set[str]) -> str:
    """Return the hashed name with the shortest hash that is free."""
    digits = _DIGITS
    while (name := _hashed(member, tool, digits)) in taken:
        digits += 1
    return name


def _hashed(member: str, tool: str, digits: int) -> str:
    digest = sha256(f"{member}\0{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:digits]
    room = LONGEST - len(SEPARATOR) - len("_") - digits
    # A short tool leaves more to its member, but a long member leaves no less than this to its tool.
    for_member = max(_MEMBER_SHARE, room - len(tool))
    start = _UNFIT.sub("_", member[:for_member])
    return start + SEPARATOR + _UNFIT.sub("_", tool[: room - len(start)]) + "_" + digest

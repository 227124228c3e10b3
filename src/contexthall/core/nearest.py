"""Which names may be meant by a word that names nothing? Pure.

Loaded when something was mistyped, so that no other command pays for it.
"""

from collections.abc import Iterable
from difflib import get_close_matches

from contexthall.core import limits

_MOST = 3


def nearest(word: str, names: Iterable[str]) -> list[str]:
    """Return the names that may be meant by a word: those that are spelt alike, that begin with it or contain it."""
    known = {name.casefold(): name for name in names}
    folded = word.casefold()
    last = folded.rpartition("/")[2]
    # To compare spellings takes its time: of many names, only those of the same file.
    comparable = known if len(known) <= limits.NAMES_COMPARED else [each for each in known if each.endswith(last)]
    alike = get_close_matches(folded, comparable, _MOST) if len(folded) <= limits.PATH_CHARACTERS else []
    begun = sorted((name for name in known if folded and folded in name), key=lambda name: not name.startswith(folded))
    return [known[name] for name in dict.fromkeys([*alike, *begun])][:_MOST]

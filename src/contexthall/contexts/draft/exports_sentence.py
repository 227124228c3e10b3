"""The names that matter most of what a directory offers, in one sentence.

Pure. What others import comes first; where nobody imports by name, what the directory itself mentions most.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from contexthall.contexts.draft.languages.language import Export
from contexthall.contexts.draft.syntax.sentences import telling
from contexthall.core import limits
from contexthall.core.parsing import words
from contexthall.core.text import is_name

DESCRIBED = 3
"""Names in a sentence that are told with what is written about them."""
_USERS = 3
_SEPARATORS = re.compile(r"[.:]+")
_TYPE = re.compile(
    r"(?:^|\s)(?:class|interface|struct|trait|enum|protocol|record|object|module|union|actor|type|@interface)\s"
)
_CONSTANT = re.compile(r"[A-Z0-9_]+")
_TELLS_NOTHING = words(
    "main run app default index module exports version config configuration settings options logger log usage help die "
    "error warn info debug test tests setup teardown setUp tearDown register init initialize handler router create get "
    "Program Startup App Application Main Config Configuration Constants Utils Util Helper Helpers Version Options "
    "Settings Error Exception New new Foo Bar Baz foo bar baz"
)
_SPECIFIC = re.compile(r"[a-z][A-Z]|^[A-Z][a-z]{3}|_|\d|\w{9}")
"""A name that is more than one common word."""
_SHORTEST_NAME = 3
_COMMON = re.compile(r"[a-z]{1,6}")
_BY_ITSELF = re.compile(r"[()]|[.!?] ")
_ARTICLE = re.compile(r"(?:An?|The|This|These|All|Some|Any) ")


class Offer(NamedTuple):
    """An export that says something by its name."""

    name: str
    doc: str
    methods: tuple[str, ...]
    is_type: bool
    mentions: int
    file: str

    @property
    def last(self) -> str:
        return _SEPARATORS.split(self.name)[-1]


def offers(exports: Sequence[tuple[str, Export]], mentions: Mapping[str, int]) -> tuple[Offer, ...]:
    """Return what is worth telling of exports, each with its file; `mentions` says how often others have a name."""
    worth: dict[str, Offer] = {}
    for file, each in exports:
        if each.name not in worth and _is_worth(each):
            is_type = _TYPE.search(each.signature) is not None
            worth[each.name] = Offer(each.name, each.doc, each.methods, is_type, mentions.get(each.name, 0), file)
    return tuple(worth.values())


def exports_sentence(
    offered: Sequence[Offer], imported: Mapping[str, int] | None = None, users: Sequence[str] = ()
) -> str:
    """Tell the names that matter most; `imported` says how many files elsewhere take a name, `users` who they are."""
    if len(offered) == 1:
        return _only(offered[0], users)
    if not any(_SPECIFIC.search(each.name) or telling(each.doc) for each in offered):
        return ""
    counts = imported or {}
    ranked = sorted(offered, key=lambda each: _rank(counts.get(each.name, 0), each))[: limits.DRAFT_NAMES]
    docs = [(each.name, aside(_without_name(each)) if at < DESCRIBED else "") for at, each in enumerate(ranked)]
    return told("Defines", docs, len(offered), _used_by(users))


def _only(offer: Offer, users: Sequence[str]) -> str:
    """Tell the one name that a directory defines, if there is something to tell of it."""
    if doc := telling(_without_name(offer), is_named=True):
        return f"Defines `{offer.name}`: {doc[0].upper()}{doc[1:]}"
    methods = [f"`{name}`" for name in offer.methods if is_name(name)][: limits.DRAFT_NAMES]
    told = f"Defines `{offer.name}` with {listed(methods, len(offer.methods))}" if len(methods) > 1 else ""
    return f"{told}{_used_by(users)}." if told else ""


def _used_by(users: Sequence[str]) -> str:
    return f"; used by {listed([f'`{each}`' for each in users[:_USERS]], len(users))}" if users else ""


def _without_name(offer: Offer) -> str:
    """Return what is written about a name without the name itself, which stands before it."""
    first, _, rest = offer.doc.partition(" ")
    return rest.removeprefix("is ").removeprefix("are ").lstrip() if first.strip("`[]") == offer.last else offer.doc


def _is_worth(export: Export) -> bool:
    """Return whether a name says something by itself."""
    parts = _SEPARATORS.split(export.name)
    last = parts[-1]
    if len(last) < _SHORTEST_NAME or last in _TELLS_NOTHING or _CONSTANT.fullmatch(last):
        return False
    return all(map(is_name, parts))


def _rank(imported: int, offer: Offer) -> tuple[object, ...]:
    """Sort what others import first, then types, then what other files of the directory mention."""
    is_common = _COMMON.fullmatch(offer.name) is not None
    return is_common, -imported, not offer.is_type, -offer.mentions, not offer.doc, "." in offer.name, offer.file


def aside(doc: str) -> str:
    """Return what is written about a name, short enough to stand in parentheses behind it."""
    sentence = telling(doc, is_named=True).rstrip(".!。")
    is_plain = not _BY_ITSELF.search(sentence) and sentence.count("`") % 2 == 0
    return sentence if len(sentence) <= limits.ASIDE_CHARACTERS and is_plain else ""


def told(verb: str, names: Sequence[tuple[str, str]], total: int, end: str = "") -> str:
    """Write a sentence about names: three with what is said of them, else as many as can be read."""
    chief = [f"`{name}` ({lowered(doc)})" if doc else f"`{name}`" for name, doc in names[:DESCRIBED]]
    if not any(doc for _, doc in names[:DESCRIBED]):
        chief = [f"`{name}`" for name, _ in names[: limits.DRAFT_NAMES]]
    return next((text for text in _attempts(verb, chief, total, end) if len(text) <= limits.SUMMARY_CHARACTERS), "")


def _attempts(verb: str, names: Sequence[str], total: int, end: str) -> Iterator[str]:
    """Yield a sentence, and ever shorter ones."""
    for count in range(len(names), 0, -1):
        said = f"{verb} {listed(names[:count], total)}"
        yield f"{said}{end}."
        yield f"{said}."


def lowered(doc: str) -> str:
    """Begin what stands inside a sentence with a small letter, where the first word is no name."""
    return doc[0].lower() + doc[1:] if _ARTICLE.match(doc) else doc


def listed(names: Sequence[str], total: int) -> str:
    """List names as one would in a sentence, and say how many more there are."""
    if total > len(names):
        return f"{', '.join(names)} and {total - len(names)} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]

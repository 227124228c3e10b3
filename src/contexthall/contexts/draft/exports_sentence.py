"""The most important exports of a directory, in one sentence.

Pure. What other directories import is ranked first; without such imports, what the directory itself mentions most.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from contexthall.contexts.draft.languages.language import Export
from contexthall.contexts.draft.syntax.sentences import usable_sentence
from contexthall.core import limits
from contexthall.core.parsing import words
from contexthall.core.text import is_name

DESCRIBED = 3
"""Names in a sentence that come with their doc comment."""
_USERS = 3
_SEPARATORS = re.compile(r"[.:]+")
_TYPE = re.compile(
    r"(?:^|\s)(?:class|interface|struct|trait|enum|protocol|record|object|module|union|actor|type|@interface)\s"
)
_CONSTANT = re.compile(r"[A-Z0-9_]+")
_GENERIC_NAMES = words(
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


class NotableExport(NamedTuple):
    """An export that a summary may name."""

    name: str
    doc: str
    methods: tuple[str, ...]
    is_type: bool
    mentions: int
    file: str

    @property
    def last(self) -> str:
        return _SEPARATORS.split(self.name)[-1]


def select(exports: Sequence[tuple[str, Export]], mentions: Mapping[str, int]) -> tuple[NotableExport, ...]:
    """Return the notable ones of exports with their files; `mentions` counts the other files that have a name."""
    found: dict[str, NotableExport] = {}
    for file, each in exports:
        name, is_type = each.name, _TYPE.search(each.signature) is not None
        if name not in found and _is_informative(each):
            found[name] = NotableExport(name, each.doc, each.methods, is_type, mentions.get(name, 0), file)
    return tuple(found.values())


def exports_sentence(
    exports: Sequence[NotableExport], imported: Mapping[str, int] | None = None, users: Sequence[str] = ()
) -> str:
    """Return a sentence about the most important exports; `imported` counts the files in `users` that import a name."""
    if len(exports) == 1:
        return _sentence_about_one(exports[0], users)
    if not any(_SPECIFIC.search(each.name) or usable_sentence(each.doc) for each in exports):
        return ""
    counts = imported or {}
    ranked = sorted(exports, key=lambda each: _rank(counts.get(each.name, 0), each))[: limits.DRAFT_NAMES]
    docs = [(each.name, aside(_without_name(each)) if at < DESCRIBED else "") for at, each in enumerate(ranked)]
    return compose("Defines", docs, len(exports), _used_by(users))


def _sentence_about_one(export: NotableExport, users: Sequence[str]) -> str:
    """Return a sentence about an only export, by its doc comment or its methods; empty if it has neither."""
    if doc := usable_sentence(_without_name(export), is_named=True):
        return f"Defines `{export.name}`: {doc[0].upper()}{doc[1:]}"
    methods = [f"`{name}`" for name in export.methods if is_name(name)][: limits.DRAFT_NAMES]
    text = f"Defines `{export.name}` with {listed(methods, len(export.methods))}" if len(methods) > 1 else ""
    return f"{text}{_used_by(users)}." if text else ""


def _used_by(users: Sequence[str]) -> str:
    return f"; used by {listed([f'`{each}`' for each in users[:_USERS]], len(users))}" if users else ""


def _without_name(export: NotableExport) -> str:
    """Return a doc comment without the name of its subject, which the sentence has already."""
    first, _, rest = export.doc.partition(" ")
    return rest.removeprefix("is ").removeprefix("are ").lstrip() if first.strip("`[]") == export.last else export.doc


def _is_informative(export: Export) -> bool:
    """Return whether a name says something by itself."""
    parts = _SEPARATORS.split(export.name)
    last = parts[-1]
    if len(last) < _SHORTEST_NAME or last in _GENERIC_NAMES or _CONSTANT.fullmatch(last):
        return False
    return all(map(is_name, parts))


def _rank(imported: int, export: NotableExport) -> tuple[object, ...]:
    """Sort what others import first, then types, then what other files of the directory mention."""
    is_common = _COMMON.fullmatch(export.name) is not None
    return is_common, -imported, not export.is_type, -export.mentions, not export.doc, "." in export.name, export.file


def aside(doc: str) -> str:
    """Return the first sentence of a doc comment if it fits in parentheses behind the name; else nothing."""
    sentence = usable_sentence(doc, is_named=True).rstrip(".!。")
    is_plain = not _BY_ITSELF.search(sentence) and sentence.count("`") % 2 == 0
    return sentence if len(sentence) <= limits.ASIDE_CHARACTERS and is_plain else ""


def compose(verb: str, names: Sequence[tuple[str, str]], total: int, end: str = "") -> str:
    """Return a sentence about names: the first three if any of them has a doc comment, else as many as fit."""
    chief = [f"`{name}` ({lowered(doc)})" if doc else f"`{name}`" for name, doc in names[:DESCRIBED]]
    if not any(doc for _, doc in names[:DESCRIBED]):
        chief = [f"`{name}`" for name, _ in names[: limits.DRAFT_NAMES]]
    return next((text for text in _attempts(verb, chief, total, end) if len(text) <= limits.SUMMARY_CHARACTERS), "")


def _attempts(verb: str, names: Sequence[str], total: int, end: str) -> Iterator[str]:
    """Yield a sentence, and ever shorter ones."""
    for count in range(len(names), 0, -1):
        text = f"{verb} {listed(names[:count], total)}"
        yield f"{text}{end}."
        yield f"{text}."


def lowered(doc: str) -> str:
    """Begin a doc comment with a small letter, for use inside a sentence, unless its first word may be a name."""
    return doc[0].lower() + doc[1:] if _ARTICLE.match(doc) else doc


def listed(names: Sequence[str], total: int) -> str:
    """Return names as an enumeration for a sentence, with how many more there are."""
    if total > len(names):
        return f"{', '.join(names)} and {total - len(names)} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]

"""What a module offers: the vocabulary that the readers of all languages share. Pure."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from contexthall.core import limits
from contexthall.core.parsing import LEFT_OUT

_BLANKS = re.compile(r"\s+")
_LINE_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n\"']*$", re.MULTILINE)
_LINE_CHARACTERS = 100
_SPACED = 8
"""How many times as long code may be with comments and white space; then it is cut before these are taken out."""


class ApiMember(NamedTuple):
    """A class, a function, a type: how it is declared, and what is written about it."""

    name: str
    declarations: tuple[str, ...]
    """The code that declares it, several where it is overloaded."""
    doc: str = ""
    """As written in the source; not Markdown yet."""
    members: "tuple[ApiMember, ...]" = ()
    notes: tuple[tuple[str, str], ...] = ()
    """Parameters and attributes that have documentation of their own."""
    also: tuple[str, ...] = ()
    """Other full names by which it can be imported."""

    def documented_by(self, other: "ApiMember") -> "ApiMember":
        """Return this member, with what `other` says where this one says nothing."""
        known = {each.name: each for each in other.members}
        members = tuple(each.documented_by(known[each.name]) if each.name in known else each for each in self.members)
        return self._replace(doc=self.doc or other.doc, members=members, notes=self.notes or other.notes)

    def with_docs(self, docs: Mapping[str, str], prefix: str = "") -> "ApiMember":
        """Return this member with docstrings by qualified name, where it has none."""
        name = f"{prefix}{self.name}"
        members = tuple(each.with_docs(docs, f"{name}.") for each in self.members)
        return self._replace(doc=self.doc or docs.get(name, ""), members=members)


class Module(NamedTuple):
    """What a file defines, imports and lists, private names included."""

    name: str
    doc: str = ""
    members: Mapping[str, ApiMember] = {}
    attributes: tuple[tuple[str, str], ...] = ()
    """Names with the line that declares each."""
    notes: tuple[tuple[str, str], ...] = ()
    """Attributes that have documentation of their own."""
    imports: Mapping[str, str] = {}
    """Local name → full name of what it stands for."""
    stars: tuple[str, ...] = ()
    """Modules all of whose public names are imported."""
    listed: tuple[str, ...] | None = None
    """What `__all__` says; None where there is none, or it cannot be told without running it."""
    listed_from: tuple[str, ...] = ()
    """Modules whose `__all__` is part of this one's."""
    added_docs: Mapping[str, str] = {}
    """Docstrings of what is not written in Python, by qualified name, as `add_newdoc` of numpy adds them."""
    is_package: bool = False
    is_read: bool = True
    """Whether this is what its file says; else the file could not be read."""

    def documented_by(self, other: "Module") -> "Module":
        """Return this module, a stub, with what the source that it stands for says besides."""
        members = {
            name: member.documented_by(other.members[name]) if name in other.members else member
            for name, member in self.members.items()
        }
        listed = other.listed if self.listed is None else self.listed
        docs = {**other.added_docs, **self.added_docs}
        merged = self._replace(members=members, listed=listed, added_docs=docs)
        return merged._replace(doc=self.doc or other.doc, notes=self.notes or other.notes)


class ApiPage(NamedTuple):
    """What is shown of a public module."""

    name: str
    doc: str
    attributes: tuple[str, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    members: tuple[ApiMember, ...] = ()
    elsewhere: tuple[tuple[str, str], ...] = ()
    """Names that it exports, and where each of them is shown."""


def collapsed(source: str, most: int | None = None) -> str:
    """Return code on one line, without comments; what is longer than anybody reads is cut."""
    most = limits.PACKAGE_SIGNATURE_CHARACTERS if most is None else most
    source = source[: most * _SPACED]
    if "\n" in source:
        source = _BLANKS.sub(" ", _LINE_COMMENT.sub("", source)).strip()
        source = re.sub(r"([\[({]) ", r"\1", source)
        source = re.sub(r",? ([\])}])", r"\1", source)
    return source if len(source) <= most else source[:most] + LEFT_OUT


def call_signature(head: str, parameters: list[str], tail: str) -> str:
    """Return `head(parameters)tail`, one parameter a line where it is long."""
    line = f"{head}({', '.join(parameters)}){tail}"
    if len(line) <= _LINE_CHARACTERS or not parameters:
        return line
    return "\n".join([f"{head}(", *(f"    {each}," for each in parameters), f"){tail}"])

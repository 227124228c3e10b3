"""Files that declare types with members, functions and imports: what a dozen languages have in common.

Pure. A language defines the roles of its grammar's node types, what is public and how a comment becomes prose.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from tree_sitter import Node

from contexthall.contexts.draft.languages.language import Export, SourceOutline, outline
from contexthall.contexts.draft.syntax.comments import COMMENTS, comment_prose, is_apart, is_licence, with_comments
from contexthall.contexts.draft.syntax.signatures import Notation, signature
from contexthall.core import limits
from contexthall.core.parsing import Piece, children, text, words, written

_LEADING = words("modifiers annotation marker_annotation attribute_list attribute attributes comment annotations")


def always(_data: bytes, _node: Node, _owner: Node | None) -> bool:
    """Treat every declaration as public."""
    return True


def never(_data: bytes, _node: Node) -> bool:
    """Treat no other declaration as visible elsewhere."""
    return False


def no_imports(_data: bytes, _node: Node) -> Iterable[str]:
    """Find no imports."""
    return ()


def name_field(data: bytes, node: Node) -> str:
    """Return the `name` field of a declaration."""
    return text(data, node, "name")


class Declarations(NamedTuple):
    """The roles of a grammar's node types, for finding what files declare."""

    notation: Notation
    types: frozenset[str]
    others: frozenset[str] = frozenset()
    """Functions, aliases and the like."""
    methods: frozenset[str] = frozenset()
    holders: frozenset[str] = frozenset()
    """Namespaces, `#if` and the like: what they hold is read as if it stood outside."""
    bodies: frozenset[str] = words("body")
    """Node types at which a signature ends, besides a field called `body`."""
    preamble: frozenset[str] = frozenset()
    """What may stand between the comment about a file and its first declaration."""
    doc_marks: tuple[str, ...] = ("/**",)
    """Prefixes of doc comments."""
    is_public: Callable[[bytes, Node, Node | None], bool] = always
    """Takes a declaration, and the type that it is a member of."""
    is_inner: Callable[[bytes, Node], bool] = never
    """Takes a declaration that is not public; returns whether other files of its package or project may use it."""
    imports: Callable[[bytes, Node], Iterable[str]] = no_imports
    name: Callable[[bytes, Node], str] = name_field
    prose: Callable[[Sequence[str]], str] = comment_prose
    wrappers: frozenset[str] = frozenset()
    """Nodes around a declaration that belong to its signature, such as that of a template."""
    qualify: str = ""
    """Separates the name of a holder from the name in it, in languages that write both: `Shop::Cart`."""

    def outline(self, pieces: Iterable[Piece]) -> SourceOutline:
        """Return the outline of a file, from its pieces."""
        doc: str | None = None
        exports: list[Export] = []
        inner: list[Export] = []
        imports: list[str] = []
        for piece in pieces:
            doc = self._file_doc(piece) if doc is None else doc
            for node, above, holder in self._declared(piece.data, piece.statements()):
                imports += self.imports(piece.data, node)
                if node.type in self.types or (node.type in self.others and not self._is_member(node)):
                    if self.is_public(piece.data, node, None):
                        exports += self._exports(piece.data, node, above, holder)
                    elif node.type in self.types and self.is_inner(piece.data, node):
                        inner += self._exports(piece.data, node, above, holder)
        return outline(doc or "", exports, imports)._replace(inner=tuple(each for each in inner if each.signature))

    def _declared(
        self, data: bytes, nodes: Iterable[Node], holder: str = "", levels: int = limits.SOURCE_BLOCK_LEVELS
    ) -> Iterator[tuple[Node, list[str], str]]:
        """Yield the declarations, each with the comments above it and the names of its holders."""
        for node, above in with_comments(data, nodes):
            yield node, above, holder
            if node.type in self.holders and levels:
                name = self.name(data, node) if self.qualify else ""
                yield from self._declared(data, _held(node), f"{holder}{name}{self.qualify}", levels - 1)

    def _is_member(self, node: Node) -> bool:
        """Return whether a declaration is in a type, which lists it as one of its methods."""
        parent = node.parent
        above = parent.parent if parent is not None else None
        return any(each is not None and each.type in self.types for each in (parent, above)) and bool(self.qualify)

    def _exports(self, data: bytes, node: Node, above: Sequence[str], holder: str) -> Iterator[Export]:
        name = self.name(data, node)
        if not name:
            return
        docs = [each for each in above if each.startswith(self.doc_marks)]
        if any(":nodoc:" in each or "@internal" in each for each in docs):
            return
        written = self._signature(data, node)
        if written and holder:
            written = written.replace(name, holder + name, 1)
        inner = self._wrapped(node)
        methods = tuple(self._methods(data, inner)) if written and inner.type in self.types else ()
        yield Export(holder + name, written, self.prose(docs) if docs else "", methods)

    def _signature(self, data: bytes, node: Node) -> str:
        """Return a declaration from its keyword to its body, without annotations."""
        start, end = None, node.end_byte
        inner = self._wrapped(node)
        body = inner.child_by_field_name("body")
        for child in chain(children(node), children(inner) if inner.id != node.id else ()):
            if start is None and (child.type not in _LEADING or child.type == "modifiers"):
                start = _after_annotations(child)
            if child.type in self.bodies or (body is not None and child.id == body.id):
                end = child.start_byte
                break
        start = node.start_byte if start is None else start
        return signature(data, node, self.notation, (start, end)).rstrip(" {;=:\\")

    def _wrapped(self, node: Node) -> Node:
        """Return the declaration inside a wrapper, if it has one."""
        if node.type not in self.wrappers:
            return node
        return next((child for child in children(node) if child.type in {*self.types, *self.others}), node)

    def _methods(self, data: bytes, node: Node) -> Iterator[str]:
        """Yield the names of a type's public methods, each once."""
        body = node.child_by_field_name("body")
        holder = body or next((child for child in children(node) if child.type in self.bodies), None)
        seen = set[str]()
        for member in self.members(data, holder) if holder is not None else ():
            if member.type in self.methods and not member.has_error and self.is_public(data, member, node):
                name = self.name(data, member)
                if name and name not in seen and len(name) <= limits.SYMBOL_CHARACTERS:
                    seen.add(name)
                    yield name

    def members(self, _data: bytes, body: Node) -> Iterator[Node]:
        """Yield the nodes in the body of a type."""
        for child in children(body):
            if child.type == "enum_body_declarations":
                yield from children(child)
            else:
                yield child

    def _file_doc(self, piece: Piece) -> str:
        """Return the first comment about the file, as prose; not a licence, nor the comment of a declaration."""
        group: list[Node] = []
        for node in piece.statements():
            if group and (is_apart(piece.data, group[-1], node) or node.type in self.preamble):
                if doc := self._doc_of(piece.data, group):
                    return doc
                group = []
            if node.type in COMMENTS:
                group.append(node)
            elif node.type not in self.preamble:
                return ""
        return self._doc_of(piece.data, group) if group else ""

    def _doc_of(self, data: bytes, group: Sequence[Node]) -> str:
        comments = [written(data, each) for each in group]
        own = [each for each in comments if not (each.startswith("/*") and is_licence(each))] or comments
        text = self.prose(own)
        return "" if is_licence(text) else text


def _held(node: Node) -> Iterator[Node]:
    """Yield what a holder holds, and the comments that a grammar puts between its name and its body."""
    body = node.child_by_field_name("body")
    if body is None:
        yield from children(node)
        return
    yield from (child for child in children(node) if child.type in COMMENTS and child.end_byte <= body.start_byte)
    yield from children(body)


def _after_annotations(node: Node) -> int | None:
    """Return the start of the first modifier that is not an annotation; None if there is none."""
    if node.type != "modifiers":
        return node.start_byte
    return next((child.start_byte for child in children(node) if child.type not in _LEADING), None)

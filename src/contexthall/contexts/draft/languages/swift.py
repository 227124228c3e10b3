"""The language Swift.

Pure. Public is what is `public` or `open`; in a file without either, what is not private.
"""

import re
from collections.abc import Iterable, Iterator

import tree_sitter_swift
from tree_sitter import Node

from contexthall.contexts.draft.languages.declarations import Declarations
from contexthall.contexts.draft.languages.described import described
from contexthall.contexts.draft.languages.language import Language, Layout, SourceOutline
from contexthall.contexts.draft.syntax.signatures import Notation
from contexthall.core.parsing import Piece, children, first_child, text, words

_OPEN = re.compile(rb"^\s*(?:@\w+ )*(?:public|open)\s", re.MULTILINE)


def _visibility(data: bytes, node: Node) -> str:
    modifiers = first_child(node)
    if modifiers is None or modifiers.type != "modifiers":
        return ""
    found = (text(data, child) for child in children(modifiers) if child.type == "visibility_modifier")
    return next(found, "")


def _is_public(data: bytes, node: Node, owner: Node | None) -> bool:
    if owner is not None and owner.type == "protocol_declaration":
        return True
    if owner is not None and _is_extension(data, owner) and _visibility(data, owner) == "public":
        return not _visibility(data, node)
    if owner is None and _is_extension(data, node):
        return False
    return _visibility(data, node) in {"public", "open"}


def _is_visible(data: bytes, node: Node, owner: Node | None) -> bool:
    is_extension = owner is None and _is_extension(data, node)
    return not is_extension and _visibility(data, node) not in {"private", "fileprivate"}


def _is_extension(data: bytes, node: Node) -> bool:
    return any(text(data, child) == "extension" for child in children(node) if not child.is_named)


def _imports(data: bytes, node: Node) -> Iterator[str]:
    if node.type == "import_declaration":
        yield next((text(data, child) for child in children(node) if child.type == "identifier"), "").split(".")[0]


_PUBLIC = Declarations(
    notation=Notation(strings=words("line_string_literal multi_line_string_literal raw_string_literal")),
    types=words("class_declaration protocol_declaration"),
    others=words("function_declaration typealias_declaration"),
    methods=words("function_declaration protocol_function_declaration"),
    bodies=words("class_body enum_class_body protocol_body function_body"),
    preamble=words("import_declaration"),
    doc_marks=("///", "/**"),
    is_public=_is_public,
    imports=_imports,
)
_VISIBLE = _PUBLIC._replace(is_public=_is_visible)


def _outline(pieces: Iterable[Piece]) -> SourceOutline:
    every = iter(pieces)
    first = next(every, None)
    if first is None:
        return SourceOutline()
    rules = _PUBLIC if _OPEN.search(first.data) else _VISIBLE
    return rules.outline(_chained(first, every))


def _chained(first: Piece, others: Iterator[Piece]) -> Iterator[Piece]:
    yield first
    yield from others


def _resolve(layout: Layout, name: str, _scope: str) -> str | None:
    return layout.ending_with(f"Sources/{name}")


SWIFT = Language(
    name="swift",
    title="Swift",
    extensions={"swift": tree_sitter_swift.language},
    keywords=re.compile(
        rb"^(?:public|open|internal|final|class|struct|enum|protocol|extension|actor|func|import|typealias|@)",
        re.MULTILINE,
    ),
    outline=_outline,
    resolver=_resolve,
    manifests=(described("*.podspec"),),
)

"""The definition of a symbol in a source file, for citations.

Pure. A definition is found by its name, wherever in its file it is; `Class.method` is looked for inside `Class`.
"""

import re
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from contexthall.contexts.draft.languages.table import grammar_of
from contexthall.core import limits
from contexthall.core.parsing import children, pieces, text, written

_DEFINES = re.compile(
    r"(?:definition|declaration|declarator|_item|_spec|_signature|assignment|alias_statement|_alias)$"
)
_ALSO_DEFINE = frozenset({"class", "module", "method", "singleton_method", "internal_module"})
_NAMES = ("name", "left")
_IMPLEMENTATION = "impl_item"
"""Rust's, which names a type instead of itself."""
_WRAPPERS = frozenset(
    {"decorated_definition", "export_statement", "lexical_declaration", "variable_declaration", "type_declaration"}
)
_INTO = re.compile(
    r"(?:statement|block|clause|body|declaration|definition|_list|_item|declarator|module|namespace|class|program)$"
)


def find_definition(name: str, data: bytes, symbol: str) -> str | None:
    """Return the source text of a definition in the file called `name`; None if none is found.

    Of one that is defined more than once, such as an overloaded function, all texts in their order.
    """
    grammar, keywords = grammar_of(name)
    if grammar is None or not symbol:
        return None
    wanted = symbol.split(".")
    found = [
        written(piece.data, node)
        for piece in pieces(grammar, data, keywords)
        for node in _find(piece.data, piece.root, wanted, limits.SOURCE_BLOCK_LEVELS)
    ]
    return "\n".join(found) if found else None


def _find(data: bytes, node: Node, wanted: Sequence[str], levels: int) -> Iterator[Node]:
    """Yield the definitions of a name below a node; other definitions are not searched."""
    for child in children(node) if levels else ():
        names = _names_of(data, child)
        if wanted[0] in names:
            if len(wanted) == 1:
                yield _whole(child)
            else:
                yield from _find(data, child, wanted[1:], levels - 1)
        elif _INTO.search(child.type) and (not names or child.type in _WRAPPERS):
            yield from _find(data, child, wanted, levels - 1)


def _names_of(data: bytes, node: Node) -> list[str]:
    """Return the names that a node defines."""
    if not (_DEFINES.search(node.type) or node.type in _ALSO_DEFINE):
        return []
    fields = ("type",) if node.type == _IMPLEMENTATION else _NAMES
    found = [text(data, name) for field in fields for name in node.children_by_field_name(field)]
    return found or _declared(data, node)


def _declared(data: bytes, node: Node) -> list[str]:
    """Return the name in a declarator, which C wraps in pointers and parameters."""
    inner = node.child_by_field_name("declarator")
    for _ in range(limits.SOURCE_BLOCK_LEVELS):
        if inner is None:
            return []
        below = inner.child_by_field_name("declarator")
        if below is None:
            return [text(data, inner.child_by_field_name("name") or inner)]
        inner = below
    return []


def _whole(node: Node) -> Node:
    """Return a definition with its decorators, its `export` and the like."""
    while (parent := node.parent) is not None and parent.type in _WRAPPERS:
        is_alone = parent.type == "decorated_definition" or parent.named_child_count == 1
        if not is_alone and parent.type != "export_statement":
            break
        node = parent
    return node

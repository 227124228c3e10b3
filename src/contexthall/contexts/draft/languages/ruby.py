"""The language Ruby.

Pure. Public is every class and module, and every method above `private`. Names are qualified by their modules.
"""

import re
from collections.abc import Iterator

import tree_sitter_ruby
from tree_sitter import Node

from contexthall.contexts.draft.languages.declarations import Declarations
from contexthall.contexts.draft.languages.described import described
from contexthall.contexts.draft.languages.language import Language, Layout, join
from contexthall.contexts.draft.syntax.signatures import Notation
from contexthall.core.parsing import children, text, words

_TYPES = words("class module")
_METHODS = words("method singleton_method")
_OWN = _METHODS | words("assignment singleton_class")
_HIDING = words("private protected private_class_method private_constant")


def _is_public(data: bytes, node: Node, owner: Node | None) -> bool:
    if owner is not None:
        return not text(data, node, "name").startswith(("_", "initialize")) and _is_above_private(data, node)
    if node.type != "module":
        return True
    # A module that only holds others is the first half of their names.
    body = node.child_by_field_name("body")
    return body is not None and any(child.type in _OWN for child in children(body))


def _is_above_private(data: bytes, node: Node) -> bool:
    parent = node.parent
    before = children(parent) if parent is not None else ()
    for each in before:
        if each.start_byte >= node.start_byte:
            return True
        if each.type == "identifier" and text(data, each) in _HIDING:
            return node.type == "singleton_method"
    return True


def _imports(data: bytes, node: Node) -> Iterator[str]:
    if node.type == "call" and (kind := text(data, node, "method")) in {"require", "require_relative"}:
        name = text(data, node, "arguments").strip("()'\" ")
        yield f"./{name}" if kind == "require_relative" else name


def _resolve(layout: Layout, name: str, scope: str) -> str | None:
    above = name.rpartition("/")[0]
    if name.startswith("."):
        return layout.known(join(scope, above))
    return layout.ending_with(f"lib/{above}") if above else None


class _RubyDeclarations(Declarations):
    """Ruby's declarations: `class << self` opens a class inside a class."""

    def members(self, _data: bytes, body: Node) -> Iterator[Node]:
        for child in children(body):
            if child.type == "singleton_class":
                inside = child.child_by_field_name("body")
                yield from children(inside) if inside is not None else ()
            else:
                yield child


RUBY = Language(
    name="ruby",
    title="Ruby",
    extensions={"rb": tree_sitter_ruby.language},
    keywords=re.compile(rb"^(?:module|class|def|require|require_relative)\b", re.MULTILINE),
    outline=_RubyDeclarations(
        notation=Notation(
            strings=words("string symbol heredoc_body"),
            lists=frozenset({"method_parameters"}),
            defaults=words("optional_parameter keyword_parameter"),
        ),
        types=_TYPES,
        others=words("method"),
        methods=_METHODS,
        holders=_TYPES,
        bodies=words("body_statement"),
        doc_marks=("#", "=begin"),
        is_public=_is_public,
        imports=_imports,
        qualify="::",
    ).outline,
    resolver=_resolve,
    manifests=(described("*.gemspec"),),
)

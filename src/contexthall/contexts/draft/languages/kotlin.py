"""The language Kotlin.

Pure. Public is what has no other modifier. The grammar takes some valid code for a syntax error, so a file with one
is not read.
"""

import re
from collections.abc import Iterator, Sequence

import tree_sitter_kotlin
from tree_sitter import Node

from contexthall.contexts.draft.languages.declarations import Declarations
from contexthall.contexts.draft.languages.described import described
from contexthall.contexts.draft.languages.java import resolve_package
from contexthall.contexts.draft.languages.language import Language
from contexthall.contexts.draft.syntax.comments import comment_prose
from contexthall.contexts.draft.syntax.signatures import Notation
from contexthall.core.parsing import children, first_child, text, words

_HIDDEN = words("private internal protected override actual")
_REFERENCE = re.compile(r"\[([^\[\]]+)\](?:\[[\w.-]+\])?(?!\()")


def _is_public(data: bytes, node: Node, _owner: Node | None) -> bool:
    modifiers = first_child(node)
    if modifiers is None or modifiers.type != "modifiers":
        return True
    return _HIDDEN.isdisjoint(text(data, child) for child in children(modifiers))


def _is_inner(data: bytes, node: Node) -> bool:
    modifiers = first_child(node)
    return modifiers is not None and any(text(data, child) == "internal" for child in children(modifiers))


def _imports(data: bytes, node: Node) -> Iterator[str]:
    if node.type == "import":
        yield next((text(data, child) for child in children(node) if child.is_named), "")


def _name(data: bytes, node: Node) -> str:
    name = node.child_by_field_name("name")
    if name is None:
        name = next((child for child in children(node) if child.type in {"identifier", "type_identifier"}), None)
    return text(data, name)


def _prose(comments: Sequence[str]) -> str:
    return _REFERENCE.sub(_reference, comment_prose(comments))


def _reference(found: re.Match[str]) -> str:
    """Return a reference as plain text: a name as code, other words unchanged."""
    return f"`{found[1].rpartition('.')[2]}`" if re.fullmatch(r"[\w.]+", found[1]) else found[1]


KOTLIN = Language(
    name="kotlin",
    title="Kotlin",
    extensions={"kt": tree_sitter_kotlin.language},
    keywords=re.compile(rb"(?!)"),
    outline=Declarations(
        notation=Notation(
            strings=frozenset({"string_literal"}),
            lists=frozenset({"function_value_parameters", "class_parameters", "type_parameters"}),
        ),
        types=words("class_declaration object_declaration"),
        others=words("function_declaration type_alias"),
        methods=words("function_declaration"),
        bodies=words("class_body enum_class_body function_body"),
        preamble=words("package_header import file_annotation"),
        is_public=_is_public,
        is_inner=_is_inner,
        imports=_imports,
        name=_name,
        prose=_prose,
    ).outline,
    resolver=resolve_package,
    manifests=(described("build.gradle.kts"),),
    needs_whole_file=True,
)

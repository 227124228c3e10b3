"""The language Scala.

Pure. Public is what is neither private nor protected.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

import tree_sitter_scala
from tree_sitter import Node

from contexthall.contexts.draft.languages.declarations import Declarations
from contexthall.contexts.draft.languages.described import described
from contexthall.contexts.draft.languages.java import resolve_package
from contexthall.contexts.draft.languages.language import Language, SourceOutline
from contexthall.contexts.draft.syntax.comments import comment_prose
from contexthall.contexts.draft.syntax.signatures import Notation
from contexthall.core.parsing import Piece, children, text, words

_INNER = re.compile(r"\b(?:private|protected)\[(?!this\])")
_HIDDEN = re.compile(r"\b(?:private|protected|override)\b")
_REFERENCE = re.compile(r"\[\[([^\[\]\s]+)(?:\s+([^\[\]]*))?\]\]")


def _is_public(data: bytes, node: Node, _owner: Node | None) -> bool:
    modifiers = next((child for child in children(node) if child.type == "modifiers"), None)
    return modifiers is None or not _HIDDEN.search(text(data, modifiers))


def _is_inner(data: bytes, node: Node) -> bool:
    return any(_INNER.search(text(data, child)) for child in children(node) if child.type == "modifiers")


def _imports(data: bytes, node: Node) -> Iterator[str]:
    if node.type == "import_declaration":
        yield ".".join(text(data, each) for each in node.children_by_field_name("path") if each.is_named)


def _prose(comments: Sequence[str]) -> str:
    return _REFERENCE.sub(lambda found: found[2] or f"`{found[1].rpartition('.')[2]}`", comment_prose(comments))


_DECLARATIONS = Declarations(
    notation=Notation(
        strings=frozenset({"string", "interpolated_string", "character_literal"}),
        lists=frozenset({"parameters", "class_parameters", "type_parameters"}),
    ),
    types=words("class_definition trait_definition object_definition enum_definition package_object"),
    others=words("function_definition type_definition"),
    methods=words("function_definition function_declaration"),
    holders=words("package_clause"),
    bodies=words("template_body enum_body"),
    preamble=words("package_clause import_declaration"),
    is_public=_is_public,
    is_inner=_is_inner,
    imports=_imports,
    prose=_prose,
)


def _outline(pieces: Iterable[Piece]) -> SourceOutline:
    """Return the outline of a file; the comment of a package object is about the package."""
    found = _DECLARATIONS.outline(pieces)
    packages = [export for export in found.exports if export.signature.startswith("package object")]
    others = tuple(export for export in found.exports if export not in packages)
    return found._replace(doc=found.doc or next((each.doc for each in packages), ""), exports=others)


SCALA = Language(
    name="scala",
    title="Scala",
    extensions={"scala": tree_sitter_scala.language},
    keywords=re.compile(
        rb"^(?:abstract|sealed|final|case|class|trait|object|enum|def|type|import|package)\b", re.MULTILINE
    ),
    outline=_outline,
    resolver=resolve_package,
    manifests=(described("build.sbt"),),
    front_files=("package.scala",),
)

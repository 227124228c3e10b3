"""The languages C and C++.

Pure. Public is what a header declares; other definitions in source files are not.
"""

import re
from collections.abc import Iterator

import tree_sitter_c
import tree_sitter_cpp
from tree_sitter import Node

from contexthall.contexts.draft.languages.declarations import Declarations
from contexthall.contexts.draft.languages.described import described
from contexthall.contexts.draft.languages.language import Language, Layout, join
from contexthall.contexts.draft.syntax.signatures import Notation
from contexthall.core.parsing import children, text, words

_TYPES = words("class_specifier struct_specifier union_specifier enum_specifier")
_NAMES = words("identifier field_identifier type_identifier operator_name")
_MACRO = re.compile(r"[A-Z][A-Z0-9_]*")


def _named(node: Node) -> Node | None:
    """Return the node that is the name of what is declared, inside pointers, arrays and parameters."""
    found: Node | None = node
    for _ in range(16):
        if found is None or found.type in _NAMES:
            return found
        if found.type == "qualified_identifier":  # a member, which its class lists
            return None
        inner = found.child_by_field_name("declarator") or found.child_by_field_name("name")
        found = inner or next((each for each in children(found) if each.type in {*_NAMES, *_TYPES}), None)
    return None


def _name(data: bytes, node: Node) -> str:
    if node.type in _TYPES or node.type in {"alias_declaration", "namespace_definition"}:
        return text(data, node, "name")
    if node.type == "template_declaration":
        inner = _templated(node)
        return _name(data, inner) if inner is not None else ""
    return text(data, _named(node))


def _templated(node: Node) -> Node | None:
    return next((each for each in children(node) if each.type in {*_TYPES, *_FUNCTIONS, "alias_declaration"}), None)


_FUNCTIONS = words("function_definition declaration")


def _is_function(node: Node) -> bool:
    declarator = node.child_by_field_name("declarator")
    for _ in range(8):
        if declarator is None or declarator.type == "function_declarator":
            break
        declarator = declarator.child_by_field_name("declarator")
    return declarator is not None


def _is_public(data: bytes, node: Node, owner: Node | None) -> bool:
    if owner is not None:
        return _is_function(node) and _is_in_public_part(data, node, owner)
    name = _name(data, node)
    if node.has_error or name.startswith(("_", "~", "operator")) or "::" in name:
        return False
    if node.type == "template_declaration":
        inner = _templated(node)
        return inner is not None and (inner.type not in _FUNCTIONS or _is_public(data, inner, None))
    if node.type in _TYPES:
        return node.child_by_field_name("body") is not None
    if node.type in _FUNCTIONS:
        return _is_function(node) and not _MACRO.fullmatch(name)
    return True


def _is_in_public_part(data: bytes, node: Node, owner: Node) -> bool:
    is_public, parent = owner.type != "class_specifier", node.parent
    for each in children(parent) if parent is not None else ():
        if each.start_byte >= node.start_byte:
            break
        if each.type == "access_specifier":
            is_public = text(data, each).startswith("public")
    return is_public


def _imports(data: bytes, node: Node) -> Iterator[str]:
    if node.type == "preproc_include":
        path = text(data, node, "path")
        yield path[1:-1] if path.startswith('"') else path


def _resolve(layout: Layout, name: str, scope: str) -> str | None:
    above, _, file = name.strip("<>").rpartition("/")
    if file in layout.files.get(place := join(scope, above), ()):
        return place
    found = layout.ending_with(above) if above else None
    return found if found and file in layout.files[found] else None


_MACROS = re.compile(
    rb"(\b(?:class|struct|union)\s+(?=\w+(?:\([^()\n]*\))?\s+\w+\s*(?:final\s*)?[:{])"
    rb"|^(?:extern\s+)?(?=[A-Z0-9_]+_(?:API|EXPORT|EXTERN|PUBLIC|DLL)\s+\w))"
    rb"[A-Z][A-Z0-9_]{3,}\b(?:\([^()\n]*\))?",
    re.MULTILINE,
)
"""Export macros: linker attributes before the name of a class, or before a function."""

_DECLARATIONS = Declarations(
    notation=Notation(
        strings=words("string_literal char_literal raw_string_literal"),
        lists=words("parameter_list template_parameter_list"),
        defaults=words("optional_parameter_declaration"),
    ),
    types=words("class_specifier struct_specifier union_specifier enum_specifier"),
    others=words("template_declaration declaration function_definition type_definition alias_declaration"),
    methods=words("field_declaration function_definition declaration"),
    holders=words(
        "namespace_definition linkage_specification declaration_list preproc_if preproc_ifdef preproc_else preproc_elif"
    ),
    bodies=words("field_declaration_list enumerator_list compound_statement"),
    preamble=words("preproc_include preproc_def preproc_ifdef preproc_if preproc_call"),
    doc_marks=("/*", "//"),
    is_public=_is_public,
    imports=_imports,
    name=_name,
    wrappers=words("template_declaration"),
)

C = Language(
    name="c",
    title="C",
    # The grammar of C++ reads the headers of both.
    extensions={"c": tree_sitter_c.language, "h": tree_sitter_cpp.language},
    keywords=re.compile(
        rb"^(?:typedef|struct|class|template|enum|union|static|extern|namespace|#if|#endif|#include"
        rb"|[A-Za-z_][\w* ]*\()",
        re.MULTILINE,
    ),
    outline=_DECLARATIONS.outline,
    resolver=_resolve,
    manifests=(described("CMakeLists.txt"),),
    unexported=words("c"),
    preamble=re.compile(
        rb"(?:\s++|/\*(?:[^*]|\*(?!/))*+\*/|//[^\n]*+|#(?:[^\n\\]|\\.)*+|extern \"C\" \{)*+", re.DOTALL
    ),
    macros=_MACROS,
)
CPP = C._replace(
    name="cpp",
    title="C++",
    extensions=dict.fromkeys(("hpp", "hh", "hxx", "cc", "cpp", "cxx"), tree_sitter_cpp.language),
    unexported=words("cc cpp cxx"),
)

"""The language PHP.

Pure. Public is every type and function, and every method without another modifier.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Iterator

import tree_sitter_php
from tree_sitter import Node

from contexthall.contexts.draft.languages.declarations import Declarations
from contexthall.contexts.draft.languages.java import resolve_package
from contexthall.contexts.draft.languages.language import Language
from contexthall.contexts.draft.languages.project_manifest import Dependencies, ManifestFile, ProjectManifest, table_at
from contexthall.contexts.draft.syntax.signatures import Notation
from contexthall.core import wire
from contexthall.core.parsing import children, text, words


def _is_public(data: bytes, node: Node, owner: Node | None) -> bool:
    if owner is None:
        return True
    visibility = next((text(data, child) for child in children(node) if child.type == "visibility_modifier"), "")
    return visibility in {"", "public"} and not text(data, node, "name").startswith("__")


def _imports(data: bytes, node: Node) -> Iterator[str]:
    if node.type == "namespace_use_declaration":
        for child in children(node):
            if child.type == "namespace_use_clause":
                yield next((text(data, each) for each in children(child) if each.is_named), "").lstrip("\\")
            elif child.type == "namespace_name":
                yield text(data, child) + "\\*"


def _composer(data: bytes, _root: bytes) -> ProjectManifest:
    package = table_at(wire.parse(data.removeprefix(BOM_UTF8), lone_surrogates=True))
    found = Dependencies(own=package.get("name"))
    for name, versions in table_at(package, "require").items():
        if "/" in name:  # else it is PHP itself, or an extension of it
            found.add(name, versions)
    return found.manifest(package.get("name"), package.get("description"))


PHP = Language(
    name="php",
    title="PHP",
    extensions={"php": tree_sitter_php.language_php},
    keywords=re.compile(
        rb"^(?:abstract|final|readonly|class|interface|trait|enum|function|namespace|use)\b", re.MULTILINE
    ),
    outline=Declarations(
        notation=Notation(
            strings=words("string encapsed_string heredoc nowdoc"),
            lists=frozenset({"formal_parameters"}),
            defaults=frozenset({"simple_parameter"}),
        ),
        types=words("class_declaration interface_declaration trait_declaration enum_declaration"),
        others=words("function_definition"),
        methods=words("method_declaration"),
        holders=words("namespace_definition"),
        preamble=words("php_tag declare_statement namespace_definition namespace_use_declaration"),
        is_public=_is_public,
        imports=_imports,
    ).outline,
    resolver=resolve_package,
    manifests=(ManifestFile("composer.json", 7, _composer),),
)

"""The language Java.

Pure. Public is what is marked `public`, and what an interface declares. `package-info.java` documents its directory.
"""

import re
from collections.abc import Iterator

import tree_sitter_java
from tree_sitter import Node

from contexthall.contexts.draft.languages.declarations import Declarations
from contexthall.contexts.draft.languages.described import described
from contexthall.contexts.draft.languages.language import Language, Layout
from contexthall.contexts.draft.languages.maven import read_pom
from contexthall.contexts.draft.languages.project_manifest import ManifestFile
from contexthall.contexts.draft.syntax.signatures import Notation
from contexthall.core.parsing import children, first_child, text, words

NOTATION = Notation(
    strings=frozenset({"string_literal", "character_literal"}),
    lists=frozenset({"formal_parameters", "type_parameters", "type_arguments"}),
)


def _is_public(_data: bytes, node: Node, owner: Node | None) -> bool:
    modifiers = first_child(node)
    written = {each.type for each in children(modifiers)} if modifiers and modifiers.type == "modifiers" else set()
    in_interface = owner is not None and owner.type == "interface_declaration"
    return "public" in written or (in_interface and "private" not in written)


def _is_inner(_data: bytes, node: Node) -> bool:
    """Return whether a type is visible in its package: those at the top of a file are."""
    return node.parent is not None and node.parent.type == "program"


def _imports(data: bytes, node: Node) -> Iterator[str]:
    if node.type == "import_declaration":
        is_static = any(child.type == "static" for child in children(node))
        name = next((text(data, child) for child in children(node) if child.is_named), "")
        yield name.rpartition(".")[0] if is_static else name


_PLATFORMS = words("java javax jdk kotlin kotlinx scala System")


def resolve_package(layout: Layout, name: str, _scope: str) -> str | None:
    """Return the directory of the package of a name such as `a.b.Name`; None for packages of the platform."""
    parts = [part for part in name.replace("\\", ".").split(".") if part not in {"", "_", "*"}]
    if parts and parts[0] in _PLATFORMS:
        return None
    return layout.ending_with("/".join(parts)) or layout.ending_with("/".join(parts[:-1]))


JAVA = Language(
    name="java",
    title="Java",
    extensions={"java": tree_sitter_java.language},
    keywords=re.compile(rb"^(?:public|abstract|final|class|interface|enum|record|import|@interface)\b", re.MULTILINE),
    outline=Declarations(
        notation=NOTATION,
        types=words(
            "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration"
        ),
        methods=words("method_declaration"),
        preamble=words("package_declaration import_declaration"),
        is_public=_is_public,
        is_inner=_is_inner,
        imports=_imports,
    ).outline,
    resolver=resolve_package,
    manifests=(
        described("build.gradle"),
        ManifestFile("pom.xml", 6, read_pom),
    ),
    front_files=("package-info.java",),
)

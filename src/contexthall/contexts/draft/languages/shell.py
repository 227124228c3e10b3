"""The languages of POSIX shells.

Pure. Public is every function without a leading underscore.
"""

import re
from collections.abc import Iterator

import tree_sitter_bash
from tree_sitter import Node

from contexthall.contexts.draft.languages.declarations import Declarations
from contexthall.contexts.draft.languages.language import Language, Layout, join
from contexthall.contexts.draft.syntax.signatures import Notation
from contexthall.core.parsing import text, words


def _is_public(data: bytes, node: Node, _owner: Node | None) -> bool:
    return not text(data, node, "name").startswith("_")


def _imports(data: bytes, node: Node) -> Iterator[str]:
    if node.type == "command" and text(data, node, "name") in {"source", "."}:
        yield text(data, node, "argument").strip("'\"")


def _resolve(layout: Layout, name: str, scope: str) -> str | None:
    is_plain = "/" in name and not name.startswith("/") and "$" not in name
    return layout.known(join(scope, name.rpartition("/")[0])) if is_plain else None


SHELL = Language(
    name="shell",
    title="shell",
    extensions=dict.fromkeys(("sh", "bash", "ksh", "zsh"), tree_sitter_bash.language),
    keywords=re.compile(rb"^(?:function\b|[A-Za-z_][\w-]*\s*\(\))", re.MULTILINE),
    outline=Declarations(
        notation=Notation(strings=words("string raw_string")),
        types=frozenset(),
        others=words("function_definition"),
        preamble=words("command declaration_command"),
        doc_marks=("#",),
        is_public=_is_public,
        imports=_imports,
    ).outline,
    resolver=_resolve,
)

"""The language C#.

Pure. Public is what is marked `public`, and what an interface declares.
"""

import re
from collections.abc import Iterator, Sequence

import tree_sitter_c_sharp
from tree_sitter import Node

from contexthall.contexts.draft.languages.declarations import Declarations
from contexthall.contexts.draft.languages.described import described
from contexthall.contexts.draft.languages.java import resolve_package
from contexthall.contexts.draft.languages.language import Language
from contexthall.contexts.draft.syntax.comments import comment_prose
from contexthall.contexts.draft.syntax.signatures import Notation
from contexthall.core.parsing import children, text, words

_SUMMARY = re.compile(r"<summary>(.*?)(?:</summary>|$)", re.DOTALL)
_REFERENCE = re.compile(
    r"<(?:see|seealso|paramref|typeparamref)\s+(?:cref|name|langword)=\"(?:[A-Z]:)?([^\"]*)\"\s*(?:/>|>[^<]*</see>)"
)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


def _is_public(data: bytes, node: Node, owner: Node | None) -> bool:
    modifiers = {text(data, child) for child in children(node) if child.type == "modifier"}
    in_interface = owner is not None and owner.type == "interface_declaration"
    return "public" in modifiers or (in_interface and not modifiers & {"private", "internal", "protected"})


def _is_inner(data: bytes, node: Node) -> bool:
    modifiers = {text(data, child) for child in children(node) if child.type == "modifier"}
    return not modifiers & {"private", "protected", "file"}


def _imports(data: bytes, node: Node) -> Iterator[str]:
    if node.type == "using_directive":
        yield next((text(data, each) for each in children(node) if each.type in {"identifier", "qualified_name"}), "")


def _prose(comments: Sequence[str]) -> str:
    """Return the summary of an XML comment; a comment without XML is read as plain text."""
    lines = "\n".join(comments)
    found = _SUMMARY.search(lines)
    if found is None:
        return "" if "<" in lines else comment_prose(comments)
    plain = _TAG.sub("", _REFERENCE.sub(lambda match: f"`{match[1].rpartition('.')[2]}`", found[1]))
    return comment_prose([f"/// {line.strip().removeprefix('///')}" for line in plain.splitlines()])


CSHARP = Language(
    name="csharp",
    title="C#",
    extensions={"cs": tree_sitter_c_sharp.language},
    keywords=re.compile(
        rb"^(?:    )?(?:public|internal|abstract|sealed|static|partial|class|interface|enum|struct|record|namespace"
        rb"|using)\b",
        re.MULTILINE,
    ),
    outline=Declarations(
        notation=Notation(
            strings=words("string_literal verbatim_string_literal raw_string_literal character_literal"),
            lists=frozenset({"parameter_list", "type_parameter_list"}),
        ),
        types=words(
            "class_declaration interface_declaration struct_declaration record_declaration enum_declaration "
            "record_struct_declaration"
        ),
        others=words("delegate_declaration"),
        methods=words("method_declaration"),
        holders=words("namespace_declaration file_scoped_namespace_declaration preproc_if preproc_else preproc_elif"),
        preamble=words("using_directive namespace_declaration file_scoped_namespace_declaration"),
        doc_marks=("///", "/**"),
        is_public=_is_public,
        is_inner=_is_inner,
        imports=_imports,
        prose=_prose,
    ).outline,
    resolver=resolve_package,
    manifests=(described("*.csproj"),),
)

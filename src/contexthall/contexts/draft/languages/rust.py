"""The language Rust.

Pure. Public is what is `pub` without a restriction.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, takewhile

import tree_sitter_rust
from tree_sitter import Node

from contexthall.contexts.draft.languages.language import ROOT, Export, Language, Layout, SourceOutline, join, outline
from contexthall.contexts.draft.languages.project_manifest import (
    Dependencies,
    ManifestFile,
    ProjectManifest,
    read_toml,
    table_at,
)
from contexthall.contexts.draft.syntax.comments import comment_prose
from contexthall.contexts.draft.syntax.signatures import Notation, one_line, signature
from contexthall.core import limits
from contexthall.core.parsing import (
    LEFT_OUT,
    Piece,
    body_start,
    children,
    first_child,
    text,
    words,
    written,
)

_NOTATION = Notation(
    strings=frozenset({"string_literal", "raw_string_literal", "char_literal"}),
    lists=frozenset(
        {"parameters", "type_parameters", "type_arguments", "where_clause", "ordered_field_declaration_list"}
    ),
)
_ITEMS = words(
    "function_item function_signature_item struct_item enum_item union_item trait_item type_item const_item "
    "static_item mod_item"
)
_ABOUT_ITEM = re.compile(r"///(?!/)|/\*\*")
_HIDDEN = re.compile(r"#\[\s*(?:doc\s*\(\s*hidden|cfg\s*\(\s*test\s*\))")


def _outline(pieces: Iterable[Piece]) -> SourceOutline:
    about_file: list[str] = []
    exports: list[Export] = []
    imports: list[str] = []
    names: list[str] = []
    methods: dict[str, dict[str, None]] = {}
    for piece in pieces:
        comments, attributes = list[str](), list[str]()
        for node in piece.statements():
            if node.type == "attribute_item":
                attributes.append(written(piece.data, node))
            elif node.type in {"line_comment", "block_comment"}:
                comment = written(piece.data, node)
                (about_file if comment.startswith(("//!", "/*!")) else comments).append(comment)
            else:
                paths = [*_imports(piece.data, node)]
                imports += map(_module, paths)
                names += (path.rpartition("::")[2] for path in paths)
                if node.type in {"impl_item", "trait_item"}:
                    methods.setdefault(_implemented(piece.data, node), {}).update(_methods(piece.data, node))
                if not any(map(_HIDDEN.match, attributes)):
                    exports += _exports(piece.data, node, comments, attributes)
                comments, attributes = [], []
    complete = [each._replace(methods=tuple(methods.get(each.name, ()))) for each in exports]
    return outline(comment_prose(about_file), complete, imports, names)


def _implemented(data: bytes, node: Node) -> str:
    """Return the name of the type or trait of a block; empty for the implementation of a trait."""
    if node.type == "trait_item":
        return text(data, node, "name")
    kind = node.child_by_field_name("type")
    is_own = node.child_by_field_name("trait") is None and kind is not None
    return (text(data, kind, "type") or text(data, kind)) if is_own else ""


def _methods(data: bytes, node: Node) -> dict[str, None]:
    body = node.child_by_field_name("body")
    found = dict[str, None]()
    for child in children(body) if body is not None else ():
        is_function = child.type in {"function_item", "function_signature_item"}
        if is_function and (node.type == "trait_item" or _is_public(data, child)):
            found[text(data, child, "name")] = None
    return found


def _exports(data: bytes, node: Node, comments: Iterable[str], attributes: Iterable[str]) -> Iterator[Export]:
    is_macro = node.type == "macro_definition"
    if not (any("macro_export" in each for each in attributes) if is_macro else _is_public(data, node)):
        return
    if node.type == "use_declaration":
        yield from _names(data, node)
    elif is_macro or node.type in _ITEMS:
        name, doc = text(data, node, "name"), comment_prose([each for each in comments if _ABOUT_ITEM.match(each)])
        yield Export(name, f"macro_rules! {name}" if is_macro else _item(data, node), doc)


def _is_public(data: bytes, node: Node) -> bool:
    first = first_child(node)
    return first is not None and first.type == "visibility_modifier" and text(data, first) == "pub"


def _item(data: bytes, node: Node) -> str:
    """Return an item up to its body, or up to its value."""
    fields = node.child_by_field_name("body")
    if node.type == "struct_item" and fields is not None and fields.type == "ordered_field_declaration_list":
        return _tuple_struct(data, node, fields)
    end = body_start(node, "value" if node.type in {"const_item", "static_item"} else "body")
    item = signature(data, node, _NOTATION, (node.start_byte, end))
    return item.removesuffix(";").removesuffix("=").rstrip().removesuffix(",")


def _tuple_struct(data: bytes, node: Node, fields: Node) -> str:
    """Return a tuple struct, with its fields if one of them is public."""
    has_public = any(child.type == "visibility_modifier" and text(data, child) == "pub" for child in children(fields))
    whole = one_line(data, node, node.byte_range, _NOTATION) if has_public else ""
    if not whole or len(whole) > limits.SIGNATURE_CHARACTERS:
        whole = one_line(data, node, node.byte_range, _NOTATION, {fields.id: f"({LEFT_OUT})" if has_public else ""})
    return whole.removesuffix(";").rstrip().removesuffix(",") if len(whole) <= limits.SIGNATURE_CHARACTERS else ""


def _imports(data: bytes, node: Node) -> Iterator[str]:
    if node.type == "use_declaration":
        yield from (path for path, _ in _paths(data, _used(node)))
    elif node.type == "mod_item" and node.child_by_field_name("body") is None:
        yield f"self::{text(data, node, 'name')}"
    elif node.type == "extern_crate_declaration":
        yield text(data, node, "name")


def _module(path: str) -> str:
    """Return a path up to the last part that looks like a module."""
    return "::".join(takewhile(lambda part: part != "*" and not part[:1].isupper(), path.split("::")))


def _names(data: bytes, node: Node) -> Iterator[Export]:
    """Yield the exports of a `pub use`: names, or everything of a module."""
    for path, alias in _paths(data, _used(node)):
        name = alias or path.rsplit("::", 1)[-1]
        if name == "*":
            yield Export(path, f"pub use {path}")
        elif name != "_":
            yield Export(name, name)


def _used(node: Node) -> Node | None:
    return None if node.has_error else node.child_by_field_name("argument")


def _paths(data: bytes, tree: Node | None, prefix: str = "", level: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the paths of a use, each with its alias if it has one."""
    if tree is None or level > limits.SOURCE_BLOCK_LEVELS:
        return
    if tree.type == "use_list":
        for child in children(tree):
            if child.is_named and "comment" not in child.type:
                yield from _paths(data, child, prefix, level + 1)
        return
    has_path = tree.type in {"scoped_use_list", "use_as_clause"}
    whole = "".join(text(data, tree, "path" if has_path else "").split())
    path = _joined(prefix, whole[: 2 * limits.SYMBOL_CHARACTERS])
    if tree.type == "scoped_use_list":
        yield from _paths(data, tree.child_by_field_name("list"), path, level + 1)
    else:
        yield path, text(data, tree, "alias")


def _joined(prefix: str, path: str) -> str:
    if path == "self" and prefix:
        return prefix
    return f"{prefix}::{path}" if prefix else path.removeprefix("::")


def _resolve(layout: Layout, name: str, scope: str) -> str | None:
    first, *parts = name.split("::")
    bases = {"crate": _crate(layout, scope), "self": scope, "super": join(scope, "..")}
    base = bases.get(first, layout.packages.get(first.replace("_", "-"), layout.packages.get(first)))
    if base is None or base not in layout.files:
        return None
    below = accumulate(parts if first in bases else (), join, initial=base)
    return [*takewhile(layout.files.__contains__, below)][-1]


def _crate(layout: Layout, scope: str) -> str | None:
    while not {"lib.rs", "main.rs"} & set(layout.files.get(scope, ())):
        if scope == ROOT:
            return None
        scope = join(scope, "..")
    return scope


def _cargo(data: bytes, root: bytes) -> ProjectManifest:
    tables = read_toml(data)
    workspace = table_at(read_toml(root) if root else tables, "workspace")
    package, shared = table_at(tables, "package"), table_at(workspace, "dependencies")
    found = Dependencies()
    for wanted in _crates(tables, shared):
        for name, value in wanted.items():
            _add_crate(found, name, shared.get(name) if _is_inherited(value) else value)
    return found.manifest(package.get("name"), package.get("description"))


def _is_inherited(value: object) -> bool:
    return table_at(value).get("workspace") is True


def _crates(tables: Mapping[str, object], shared: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    if "package" not in tables:
        yield shared
    yield table_at(tables, "dependencies")
    for platform in table_at(tables, "target").values():
        yield table_at(platform, "dependencies")


def _add_crate(found: Dependencies, name: str, value: object) -> None:
    table = table_at(value)
    real = table.get("package", name)
    if value is not None and "path" not in table and isinstance(real, str):
        found.add(real, table.get("version") if table else value)


RUST = Language(
    name="rust",
    title="Rust",
    extensions={"rs": tree_sitter_rust.language},
    keywords=re.compile(
        rb"^(?:pub|fn|async|unsafe|const|static|struct|enum|union|trait|impl|type|use|mod|extern)\b", re.MULTILINE
    ),
    outline=_outline,
    resolver=_resolve,
    manifests=(ManifestFile("Cargo.toml", 3, _cargo, inherits=True),),
    front_files=("lib.rs", "mod.rs", "main.rs"),
)

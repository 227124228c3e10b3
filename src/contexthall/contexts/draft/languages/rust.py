"""The language Rust.

Pure. Public is what is `pub` without a restriction.
"""

import re
from collections.abc import Iterator, Mapping

import tree_sitter_rust
from tree_sitter import Node

from contexthall.contexts.draft.languages.language import Export, Language, SourceOutline
from contexthall.contexts.draft.languages.layout import ROOT, ImportResolver, Layout, join
from contexthall.contexts.draft.languages.project_manifest import (
    Dependencies,
    ManifestFile,
    ProjectManifest,
    description_of,
    name_of,
    read_toml,
    table_at,
)
from contexthall.contexts.draft.syntax.comments import comment_prose
from contexthall.contexts.draft.syntax.parsing import (
    DEEPEST,
    LEFT_OUT,
    LONGEST_NAME,
    Piece,
    children,
    first_child,
    pieces,
    text,
    unique,
)
from contexthall.contexts.draft.syntax.signatures import LONGEST_SIGNATURE, Notation, one_line, signature

_NOTATION = Notation(
    strings=frozenset({"string_literal", "raw_string_literal", "char_literal"}),
    lists=frozenset(
        {"parameters", "type_parameters", "type_arguments", "where_clause", "ordered_field_declaration_list"}
    ),
)
_STARTS = re.compile(
    rb"^(?:pub|fn|async|unsafe|const|static|struct|enum|union|trait|impl|type|use|mod|macro_rules!|extern)\b",
    re.MULTILINE,
)
_ITEMS = frozenset(
    {
        "function_item",
        "function_signature_item",
        "struct_item",
        "enum_item",
        "union_item",
        "trait_item",
        "type_item",
        "const_item",
        "static_item",
        "mod_item",
    }
)
_HIDDEN = re.compile(rb"#\[\s*(?:doc\s*\(\s*hidden|cfg\s*\(\s*test\s*\))")


def read(data: bytes) -> SourceOutline:
    """Read a file of a crate."""
    crate = _RustFile()
    for piece in pieces(tree_sitter_rust.language, data, _STARTS):
        crate.read(piece)
    return crate.source()


class _RustFile:
    """What was found so far."""

    def __init__(self) -> None:
        self._doc: list[str] = []
        self._exports: dict[str, Export] = {}
        self._imports: list[str] = []

    def source(self) -> SourceOutline:
        return SourceOutline(comment_prose(self._doc), tuple(self._exports.values()), unique(self._imports))

    def read(self, piece: Piece) -> None:
        above = _Above(piece.data)
        for node in piece.statements():
            if node.type in {"line_comment", "block_comment"}:
                written = piece.data[node.start_byte : node.end_byte].decode("utf-8", "replace")
                if written.startswith(("//!", "/*!")):
                    self._doc.append(written)
                else:
                    above.comment(written)
            elif node.type == "attribute_item":
                above.attribute(node)
            else:
                self._read_item(piece.data, node, above)
                above.clear()

    def _read_item(self, data: bytes, node: Node, above: "_Above") -> None:
        self._imports += _imports(data, node)
        if above.is_hidden:
            return
        for export in _exports(data, node, above):
            if export.signature and 0 < len(export.name) <= LONGEST_NAME:
                self._exports.setdefault(export.name, export)


class _Above:
    """The documentation and the attributes above the next item."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.clear()

    def clear(self) -> None:
        self._comments: list[str] = []
        self.is_hidden = False
        self.is_macro_export = False

    def comment(self, written: str) -> None:
        if written.startswith(("///", "/**")) and not written.startswith("////"):
            self._comments.append(written)

    def attribute(self, node: Node) -> None:
        written = self._data[node.start_byte : node.end_byte]
        self.is_hidden = self.is_hidden or _HIDDEN.match(written) is not None
        self.is_macro_export = self.is_macro_export or b"macro_export" in written

    def doc(self) -> str:
        return comment_prose(self._comments)


def _exports(data: bytes, node: Node, above: _Above) -> Iterator[Export]:
    if node.type == "macro_definition":
        name = text(data, node.child_by_field_name("name"))
        if above.is_macro_export:
            yield Export(name, f"macro_rules! {name}", above.doc())
        return
    if not _is_public(data, node):
        return
    if node.type == "use_declaration":
        yield from (Export(name, written) for name, written in _names(data, node))
    elif node.type in _ITEMS:
        yield Export(text(data, node.child_by_field_name("name")), _item(data, node), above.doc())


def _is_public(data: bytes, node: Node) -> bool:
    first = first_child(node)
    return first is not None and first.type == "visibility_modifier" and text(data, first) == "pub"


def _item(data: bytes, node: Node) -> str:
    """Write an item up to its body, or up to its value."""
    name, parameters = node.child_by_field_name("name"), node.child_by_field_name("parameters")
    span = (node.start_byte, _end(node))
    fields = node.child_by_field_name("body")
    if node.type == "struct_item" and fields is not None and fields.type == "ordered_field_declaration_list":
        return _tuple_struct(data, node, fields)
    written = signature(data, node, _NOTATION, span, name=name, parameters=parameters)
    return written.removesuffix(";").removesuffix("=").rstrip().removesuffix(",")


def _end(node: Node) -> int:
    if node.type in {"const_item", "static_item"}:
        value = node.child_by_field_name("value")
        return node.end_byte if value is None else value.start_byte
    body = node.child_by_field_name("body")
    return node.end_byte if body is None else body.start_byte


def _tuple_struct(data: bytes, node: Node, fields: Node) -> str:
    """Write a tuple struct, with its fields if others may use one of them."""
    has_public = any(child.type == "visibility_modifier" and text(data, child) == "pub" for child in children(fields))
    whole = one_line(data, node, node.byte_range, _NOTATION) if has_public else ""
    if not whole or len(whole) > LONGEST_SIGNATURE:
        whole = one_line(data, node, node.byte_range, _NOTATION, {fields.id: f"({LEFT_OUT})" if has_public else ""})
    return whole.removesuffix(";").rstrip().removesuffix(",") if len(whole) <= LONGEST_SIGNATURE else ""


def _imports(data: bytes, node: Node) -> Iterator[str]:
    if node.type == "use_declaration":
        for path, _ in _paths(data, node):
            yield _module(path)
    elif node.type == "mod_item" and node.child_by_field_name("body") is None:
        yield f"self::{text(data, node.child_by_field_name('name'))}"
    elif node.type == "extern_crate_declaration":
        yield text(data, node.child_by_field_name("name"))


def _module(path: str) -> str:
    """Return a path up to the last part that looks like a module."""
    parts: list[str] = []
    for part in path.split("::"):
        if part == "*" or part[:1].isupper():
            break
        parts.append(part)
    return "::".join(parts)


def _names(data: bytes, node: Node) -> Iterator[tuple[str, str]]:
    """Yield what a `pub use` offers: a name, or everything of a module."""
    for path, alias in _paths(data, node):
        name = alias or path.rsplit("::", 1)[-1]
        if name == "*":
            yield path, f"pub use {path}"
        elif name != "_":
            yield name, name


def _paths(data: bytes, node: Node) -> Iterator[tuple[str, str]]:
    """Yield the paths of a use, each with its other name if it has one."""
    argument = node.child_by_field_name("argument")
    waiting = [] if argument is None or node.has_error else [("", argument, 0)]
    while waiting:
        prefix, tree, level = waiting.pop()
        if level > DEEPEST:
            continue
        if tree.type == "scoped_use_list":
            inner = tree.child_by_field_name("list")
            if inner is not None:
                waiting.append((_joined(prefix, _path(data, tree.child_by_field_name("path"))), inner, level + 1))
        elif tree.type == "use_list":
            named = [child for child in children(tree) if child.is_named and "comment" not in child.type]
            waiting += [(prefix, child, level + 1) for child in reversed(named)]
        elif tree.type == "use_as_clause":
            alias = text(data, tree.child_by_field_name("alias"))
            yield _joined(prefix, _path(data, tree.child_by_field_name("path"))), alias
        else:
            yield _joined(prefix, _path(data, tree)), ""


def _path(data: bytes, node: Node | None) -> str:
    return "".join(text(data, node).split())[: 2 * LONGEST_NAME]


def _joined(prefix: str, path: str) -> str:
    if path == "self" and prefix:
        return prefix
    return f"{prefix}::{path}" if prefix else path.removeprefix("::")


def _resolver(layout: Layout) -> ImportResolver:
    def resolve(name: str, scope: str) -> str | None:
        first, *parts = name.split("::")
        bases = {"crate": _crate(layout, scope), "self": scope, "super": join(scope, "..")}
        base = bases.get(first, layout.packages.get(first.replace("_", "-"), layout.packages.get(first)))
        if base is None or base not in layout.files:
            return None
        for part in parts if first in bases else ():
            below = join(base, part)
            if below not in layout.files:
                break
            base = below
        return base

    return resolve


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
            if table_at(value).get("workspace") is not True:
                _add_crate(found, name, value)
            elif name in shared:
                _add_crate(found, name, shared[name])
    return ProjectManifest(
        name_of(package.get("name")), description_of(_inherited(package, "description", workspace)), found.all()
    )


def _crates(tables: Mapping[str, object], shared: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    if "package" not in tables:
        yield shared
    yield table_at(tables, "dependencies")
    for platform in table_at(tables, "target").values():
        yield table_at(platform, "dependencies")


def _add_crate(found: Dependencies, name: str, value: object) -> None:
    table = table_at(value)
    real = table.get("package", name)
    if "path" not in table and isinstance(real, str):
        found.add(real, table.get("version") if table else value)


def _inherited(package: Mapping[str, object], key: str, root: Mapping[str, object]) -> object:
    value = package.get(key)
    return table_at(root, "package").get(key) if table_at(value).get("workspace") is True else value


RUST = Language(
    name="rust",
    title="Rust",
    extensions=frozenset({"rs"}),
    read=lambda data, _extension: read(data),
    resolver=_resolver,
    manifests=(ManifestFile("Cargo.toml", 3, _cargo, inherits=True),),
    front_files=("lib.rs", "mod.rs", "main.rs"),
)

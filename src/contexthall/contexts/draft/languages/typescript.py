"""The languages TypeScript and JavaScript.

Pure. Public is what is exported, the way of ECMAScript or of CommonJS.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain, islice, pairwise

import tree_sitter_javascript
import tree_sitter_typescript
from tree_sitter import Node

from contexthall.contexts.draft.languages.language import Export, Language, Layout, SourceOutline, join, outline
from contexthall.contexts.draft.languages.project_manifest import Dependencies, ManifestFile, ProjectManifest, table_at
from contexthall.contexts.draft.syntax.comments import comment_prose, is_apart, is_licence, with_comments
from contexthall.contexts.draft.syntax.signatures import Notation, one_line, signature
from contexthall.core import limits, wire
from contexthall.core.parsing import (
    LEFT_OUT,
    Piece,
    body_start,
    children,
    first_child,
    first_named_child,
    text,
    words,
    written,
)
from contexthall.core.text import is_name

_NOTATION = Notation(
    strings=frozenset({"string", "template_string", "template_literal_type", "regex"}),
    lists=frozenset({"formal_parameters", "type_parameters", "type_arguments", "arguments", "tuple_type"}),
    members=frozenset({"object_type", "interface_body"}),
    defaults=words("required_parameter optional_parameter assignment_pattern object_assignment_pattern pair"),
    leading={"union_type": "|", "intersection_type": "&"},
)
_IMPORTED = re.compile(rb"(?<![\w$])(?!(?:import|export|type|as|from)\b)[A-Za-z_$][\w$]*")
_LOADING = re.compile(rb"\b(?:require|import)\s*\(\s*(['\"])([^'\"\\\n]{1,200})\1\s*[,)]")
_FILE_TAGS = re.compile(r"@(?:packageDocumentation|module|file|fileoverview|overview)\b")
_NO_FILE_DOC = re.compile(
    r"@(?:private|internal|type|typedef|jsx\w*|vitest|jest|ts-|import)\b|module dependenc", re.IGNORECASE
)
_SHAPED = words(
    "function_declaration generator_function_declaration function_signature class_declaration "
    "abstract_class_declaration class interface_declaration enum_declaration internal_module module "
    "method_definition import_alias"
)
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function"})
_BEFORE_DECLARATIONS = frozenset({"import_statement", "comment"})
_DEFAULT = "export default"


def _outline(pieces: Iterable[Piece]) -> SourceOutline:
    doc: str | None = None
    exports: list[Export] = []
    imports: list[str] = []
    names: set[str] = set()
    for piece in pieces:
        doc = _file_doc(piece) if doc is None else doc
        reading = _ModulePiece(piece)
        exports += reading.exports()
        imports += reading.imports()
        names |= reading.names()
    return outline(doc or "", exports, imports, names)


def _documented(data: bytes, nodes: Iterable[Node]) -> Iterator[tuple[Node, str]]:
    """Yield the nodes that are not comments, each with its doc comment."""
    for node, above in with_comments(data, nodes):
        yield node, comment_prose([comment for comment in above[-1:] if comment.startswith("/**")])


class _ModulePiece:
    """One piece of a file."""

    def __init__(self, piece: Piece) -> None:
        self._data = piece.data
        self._root = piece.root
        self._statements = list(_documented(piece.data, piece.statements()))

    @cached_property
    def _locals(self) -> dict[str, tuple[Node, str]]:
        """The declarations of this piece by name, each with its doc comment."""
        declared = ((node.child_by_field_name("declaration") or node, doc) for node, doc in self._statements)
        every = [(name, (inner, doc)) for node, doc in declared for name, inner in _declarations(self._data, node)]
        return dict(reversed(every))

    # Imports

    def imports(self) -> list[str]:
        found = [(node.start_byte, text(self._data, node)[1:-1]) for node in self._sources]
        if b"require" in self._data or b"import(" in self._data:
            found += self._loadings()
        return [specifier for _, specifier in sorted(found)]

    def names(self) -> set[str]:
        """Return the names that statements take from what they import."""
        statements = (source.parent for source in self._sources)
        ranges = ((node.start_byte, body_start(node, "source")) for node in statements if node is not None)
        words = (word for start, end in ranges for word in _IMPORTED.findall(self._data, start, end))
        return {word.decode("utf-8", "replace") for word in words}

    @cached_property
    def _sources(self) -> list[Node]:
        return [*self._imported()]

    def _imported(self) -> Iterator[Node]:
        for node, _ in self._statements:
            if node.type in {"import_statement", "export_statement"}:
                source = node.child_by_field_name("source")
                clause = first_named_child(node)
                if source is None and clause is not None and clause.type == "import_require_clause":
                    source = clause.child_by_field_name("source")
                if source is not None and source.type == "string":
                    yield source

    def _loadings(self) -> Iterator[tuple[int, str]]:
        for match in islice(_LOADING.finditer(self._data), limits.SOURCE_LOADINGS):
            node = self._root.descendant_for_byte_range(match.start(), match.start() + 1)
            if node is not None and node.type in {"import", "identifier"}:
                yield match.start(), match[2].decode("utf-8", "replace")

    # Exports

    def exports(self) -> Iterator[Export]:
        for node, doc in self._statements:
            if node.type == "export_statement":
                yield from self._of_export(node, doc)
            elif node.type == "expression_statement":
                yield from self._of_common_js(node, doc)

    def _of_export(self, node: Node, doc: str) -> Iterator[Export]:
        kinds = {child.type for child in children(node)}
        declaration = node.child_by_field_name("declaration")
        if "default" in kinds:
            yield self._default(declaration or node.child_by_field_name("value"), doc)
        elif declaration is not None:
            for name, declared in _declarations(self._data, declaration):
                yield self._declared(name, declared, doc)
        elif "export_clause" in kinds:
            yield from self._clause(node)
        elif "namespace_export" in kinds or "*" in kinds:
            yield self._star(node)
        elif "=" in kinds:
            yield from self._value(first_named_child(node), doc)

    def _default(self, value: Node | None, doc: str) -> Export:
        if value is None:
            return Export("default", _DEFAULT, doc)
        if value.type == "identifier":
            return self._default_local(text(self._data, value), doc)
        name = text(self._data, value, "name") or "default"
        return Export(name, f"{_DEFAULT} {self._shape(value)}".strip(), doc, _methods(self._data, value))

    def _default_local(self, name: str, doc: str = "") -> Export:
        export = self._local(name)
        return export._replace(name=name, signature=f"{_DEFAULT} {export.signature}", doc=export.doc or doc)

    def _star(self, node: Node) -> Export:
        source = node.child_by_field_name("source")
        end = node.end_byte if source is None else source.end_byte
        written = one_line(self._data, node, (node.start_byte, end), _NOTATION)
        found = re.search(r"\*\s+as\s+(\S+)", written)
        return Export(found[1] if found else f"* from {text(self._data, source)}", written)

    def _clause(self, node: Node) -> Iterator[Export]:
        is_foreign = node.child_by_field_name("source") is not None
        clause = next(child for child in children(node) if child.type == "export_clause")
        for specifier in children(clause):
            if specifier.type != "export_specifier":
                continue
            original = text(self._data, specifier, "name")
            name = text(self._data, specifier, "alias").strip("'\"") or original
            if name == "default" and not is_foreign:
                yield self._default_local(original)
            elif name == "default":
                yield Export(name, _DEFAULT if original == name else f"{_DEFAULT} {original}")
            else:
                yield Export(name, name) if is_foreign else self._local(original, alias=name)

    def _local(self, name: str, doc: str = "", *, alias: str = "") -> Export:
        """Return the export of a local declaration, under its alias if it has one; else of the name alone."""
        if name not in self._locals:
            return Export(alias or name, alias or name, doc)
        return self._declared(name, *self._locals[name], alias)

    def _declared(self, name: str, node: Node, doc: str, alias: str = "") -> Export:
        """Return the export of what `node` declares as `name`."""
        if node.type != "variable_declarator":
            return Export(alias or name.strip("'\""), self._shape(node, alias), doc, _methods(self._data, node))
        value, annotation = node.child_by_field_name("value"), node.child_by_field_name("type")
        target = node.child_by_field_name("name")
        name = alias or name
        if target is None or target.type != "identifier":
            return Export(name, name, doc)
        if annotation is not None:
            written = f"{name}{one_line(self._data, node, annotation.byte_range, _NOTATION)}"
            return Export(name, written if len(written) <= limits.SIGNATURE_CHARACTERS else name, doc)
        if value is not None and value.type in _FUNCTIONS:
            shape = self._shape(value)
            keyword = text(self._data, node.parent and first_child(node.parent))
            return Export(name, f"{keyword} {name} = {shape}" if shape else "", doc)
        return Export(name, name, doc)

    # CommonJS

    def _of_common_js(self, node: Node, doc: str) -> Iterator[Export]:
        value = first_named_child(node)
        names: list[str] = []
        while value is not None and value.type == "assignment_expression":
            names.append(text(self._data, value, "left"))
            value = value.child_by_field_name("right")
        if value is None:
            return
        if "module.exports" in names:
            yield from self._value(value, doc)
            return
        for name in names:
            owner, _, property_name = name.rpartition(".")
            if owner in {"exports", "module.exports"} and is_name(property_name) and property_name != "__esModule":
                yield self._property(property_name, value, doc)

    def _value(self, value: Node | None, doc: str) -> Iterator[Export]:
        """Yield the exports of `module.exports = …`: the properties of an object, or the value itself."""
        if value is None:
            return
        if value.type == "object":
            yield from self._of_object(value)
        elif value.type == "identifier":
            yield self._local(text(self._data, value), doc)
        elif value.type in _FUNCTIONS or value.type == "class":
            name, shape = text(self._data, value, "name"), self._shape(value)
            yield Export(name or "module.exports", shape if name else f"module.exports = {shape}", doc)

    def _of_object(self, value: Node) -> Iterator[Export]:
        for member, doc in _documented(self._data, (child for child in children(value) if child.is_named)):
            inner = member.child_by_field_name("value")
            if member.type == "shorthand_property_identifier":
                yield self._local(text(self._data, member), doc)
            elif member.type == "method_definition":
                yield Export(text(self._data, member, "name"), self._shape(member), doc)
            elif member.type == "pair" and inner is not None:
                yield self._property(text(self._data, member, "key").strip("'\""), inner, doc)

    def _property(self, name: str, value: Node, doc: str) -> Export:
        if value.type == "identifier":
            export = self._local(text(self._data, value), alias=name)
            return export._replace(doc=export.doc or doc)
        shape = self._shape(value) if value.type in _FUNCTIONS or value.type == "class" else ""
        return Export(name, f"{name} = {shape}" if shape else name, doc)

    # Signatures

    def _shape(self, node: Node, alias: str = "") -> str:
        """Return a declaration or a function up to where its body begins; empty for another value."""
        if node.type == "type_alias_declaration":
            written = self._alias(node)
        elif node.type in _FUNCTIONS or node.type in _SHAPED:
            written = signature(self._data, node, _NOTATION, (_start(node), _end(node))).removesuffix(";").rstrip()
            if node.type == "arrow_function" and node.child_by_field_name("parameters") is None:
                written = re.sub(r"(\S+)$", r"(\1)", written)
        else:
            return ""
        name = re.escape(text(self._data, node, "name"))
        return re.sub(rf"(?<![\w$]){name}(?![\w$])", lambda _: alias, written, count=1) if alias else written

    def _alias(self, node: Node) -> str:
        value = node.child_by_field_name("value")
        if value is None:
            return ""
        written = one_line(self._data, node, (node.start_byte, value.end_byte), _NOTATION)
        if len(written) > limits.SIGNATURE_CHARACTERS:
            head = one_line(self._data, node, (node.start_byte, value.start_byte), _NOTATION)
            written = f"{head} {LEFT_OUT}" if len(head) < limits.SIGNATURE_CHARACTERS else ""
        return written


_CLASSES = frozenset({"class_declaration", "abstract_class_declaration", "class"})
_METHODS = frozenset({"method_definition", "abstract_method_signature", "method_signature"})
_NOT_A_METHOD = re.compile(r"constructor$|[#_\[\"'0-9]")


def _methods(data: bytes, node: Node) -> tuple[str, ...]:
    """Return the names of a class's public methods, each once."""
    body = node.child_by_field_name("body") if node.type in _CLASSES else None
    found = dict[str, None]()
    for child in children(body) if body is not None else ():
        if child.type in _METHODS and not any(
            each.type == "accessibility_modifier" and text(data, each) != "public" for each in children(child)
        ):
            found[text(data, child, "name")] = None
    return tuple(name for name in found if name and not _NOT_A_METHOD.match(name))


def _start(node: Node) -> int:
    """Return where a declaration begins, after its decorators."""
    return next(
        (child.start_byte for child in children(node) if child.type not in {"decorator", "comment"}), node.start_byte
    )


def _end(node: Node) -> int:
    arrows = (child.start_byte for child in children(node) if node.type == "arrow_function" and child.type == "=>")
    return next(arrows, body_start(node))


def _declarations(data: bytes, node: Node) -> Iterator[tuple[str, Node]]:
    """Yield the declarations in a statement, each with its name."""
    if node.type == "ambient_declaration":
        inner = first_named_child(node)
        yield from _declarations(data, inner) if inner is not None else ()
    elif node.type in {"lexical_declaration", "variable_declaration"}:
        for declarator in children(node):
            target = declarator.child_by_field_name("name")
            if target is not None:
                names = [text(data, target)] if target.type == "identifier" else _pattern_names(data, target)
                yield from ((name, declarator) for name in names)
    else:
        yield text(data, node, "name"), node


def _pattern_names(data: bytes, pattern: Node) -> Iterator[str]:
    """Yield the names that a destructuring pattern binds on its first level."""
    for child in children(pattern):
        target: Node | None = child
        if child.type == "pair_pattern":
            target = child.child_by_field_name("value")
        elif child.type in {"object_assignment_pattern", "assignment_pattern"}:
            target = child.child_by_field_name("left")
        if target is not None and target.type in {"identifier", "shorthand_property_identifier_pattern"}:
            yield text(data, target)


def _file_doc(piece: Piece) -> str:
    """Return the comment about the file: one with a file tag, or one that belongs to no declaration."""
    for node, following in pairwise(chain(piece.statements(), [None])):
        if node is None or node.type not in {"comment", "hash_bang_line"}:
            return ""
        if node.type == "comment" and (doc := _doc_of_file(piece.data, node, following)):
            return doc
    return ""


def _doc_of_file(data: bytes, comment: Node, following: Node | None) -> str:
    whole = written(data, comment)
    if not whole.startswith("/**") or is_licence(whole):
        return ""
    is_free = (
        following is None
        or following.type in _BEFORE_DECLARATIONS
        or is_apart(data, comment, following)
        or (following.type == "export_statement" and following.child_by_field_name("source") is not None)
    )
    if _FILE_TAGS.search(whole) or (is_free and not _NO_FILE_DOC.search(whole)):
        return comment_prose([whole])
    return ""


def _resolve(layout: Layout, name: str, scope: str) -> str | None:
    if name.startswith("."):
        target = join(scope, name)
        return target if target in layout.files else layout.known(join(target, ".."))
    published = next((each for each in layout.packages if name == each or name.startswith(f"{each}/")), None)
    return layout.known(layout.packages[published]) if published else None


_NOT_A_RANGE = ("file:", "link:", "portal:", "workspace:", ".", "/", "~/")


def _package_json(data: bytes, _root: bytes) -> ProjectManifest:
    package = table_at(wire.parse(data.removeprefix(BOM_UTF8), lone_surrogates=True))
    found = Dependencies(own=package.get("name"))
    for wanted, spec in table_at(package, "dependencies").items():
        _add_npm(found, wanted, spec)
    for wanted, spec in table_at(package, "peerDependencies").items():
        if not table_at(package, "peerDependenciesMeta", wanted).get("optional"):
            _add_npm(found, wanted, spec)
    return found.manifest(package.get("name"), package.get("description"))


def _add_npm(found: Dependencies, name: str, spec: object) -> None:
    if not isinstance(spec, str) or spec.startswith(_NOT_A_RANGE):
        return
    if spec.startswith("npm:"):
        name, _, spec = spec.removeprefix("npm:").rpartition("@") if "@" in spec[5:] else (spec[4:], "", "")
    found.add(name, spec)


TYPESCRIPT = Language(
    name="typescript",
    title="TypeScript",
    extensions={
        **dict.fromkeys(("ts", "mts", "cts"), tree_sitter_typescript.language_typescript),
        "tsx": tree_sitter_typescript.language_tsx,
    },
    keywords=re.compile(
        rb"^(?:export|import|function|async|class|abstract|interface|type|enum|const|let|var|declare|namespace|module|exports)\b",
        re.MULTILINE,
    ),
    outline=_outline,
    resolver=_resolve,
    manifests=(ManifestFile("package.json", 2, _package_json),),
    front_files=("index.ts", "index.tsx"),
    generated_suffixes=(".d.ts", ".d.mts", ".d.cts"),
)
JAVASCRIPT = TYPESCRIPT._replace(
    name="javascript",
    title="JavaScript",
    extensions=dict.fromkeys(("js", "jsx", "mjs", "cjs"), tree_sitter_javascript.language),
    manifests=(),
    front_files=("index.js", "index.mjs"),
    generated_suffixes=(".min.js", ".bundle.js"),
)

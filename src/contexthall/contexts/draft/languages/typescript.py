"""The languages TypeScript and JavaScript.

Pure. Public is what is exported, the way of ECMAScript or of CommonJS.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Iterator

import tree_sitter_javascript
import tree_sitter_typescript
from tree_sitter import Node

from contexthall.contexts.draft.languages.language import Export, Language, SourceOutline
from contexthall.contexts.draft.languages.layout import ImportResolver, Layout, join
from contexthall.contexts.draft.languages.project_manifest import (
    Dependencies,
    ManifestFile,
    ProjectManifest,
    description_of,
    name_of,
    table_at,
)
from contexthall.contexts.draft.syntax.comments import Comments, comment_prose, is_apart, is_licence
from contexthall.contexts.draft.syntax.parsing import (
    LEFT_OUT,
    LONGEST_NAME,
    Grammar,
    Piece,
    children,
    first_child,
    first_named_child,
    pieces,
    text,
    unique,
)
from contexthall.contexts.draft.syntax.signatures import LONGEST_SIGNATURE, Notation, one_line, signature
from contexthall.core import wire
from contexthall.core.text import is_name

_TYPESCRIPT = frozenset({"ts", "mts", "cts", "tsx"})
_JAVASCRIPT = frozenset({"js", "jsx", "mjs", "cjs"})

_NOTATION = Notation(
    strings=frozenset({"string", "template_string", "template_literal_type", "regex"}),
    lists=frozenset({"formal_parameters", "type_parameters", "type_arguments", "arguments", "tuple_type"}),
    members=frozenset({"object_type", "interface_body"}),
    defaults={
        "required_parameter": ("pattern", "value"),
        "optional_parameter": ("pattern", "value"),
        "assignment_pattern": ("left", "right"),
        "object_assignment_pattern": ("left", "right"),
        "pair": ("key", "value"),
    },
    leading={"union_type": "|", "intersection_type": "&"},
)
_STARTS = re.compile(
    rb"^(?:export|import|function|async|class|abstract|interface|type|enum|const|let|var|declare|namespace|module|exports)\b",
    re.MULTILINE,
)
_LOADING = re.compile(rb"\b(?:require|import)\s*\(\s*(['\"])([^'\"\\\n]{1,200})\1\s*[,)]")
_MOST_LOADINGS = 500
_FILE_TAGS = re.compile(r"@(?:packageDocumentation|module|file|fileoverview|overview)\b")
_NO_FILE_DOC = re.compile(
    r"@(?:private|internal|type|typedef|jsx\w*|vitest|jest|ts-|import)\b|module dependenc", re.IGNORECASE
)
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function"})
_BEFORE_DECLARATIONS = frozenset({"import_statement", "comment"})
_DEFAULT = "export default"


def read(data: bytes, extension: str) -> SourceOutline:
    """Read a module."""
    module = _TypeScriptModule()
    for piece in pieces(_grammar(extension), data, _STARTS):
        module.read(piece)
    return module.source()


def _grammar(extension: str) -> Grammar:
    if extension in _JAVASCRIPT:
        return tree_sitter_javascript.language
    return tree_sitter_typescript.language_tsx if extension == "tsx" else tree_sitter_typescript.language_typescript


class _Declared:
    """A statement that declares something, with what stands above it."""

    __slots__ = ("comments", "node")

    def __init__(self, node: Node, comments: list[str]) -> None:
        self.node = node
        self.comments = comments


class _TypeScriptModule:
    """What was found so far."""

    def __init__(self) -> None:
        self._doc: str | None = None
        self._exports: dict[str, Export] = {}
        self._imports: list[str] = []

    def source(self) -> SourceOutline:
        return SourceOutline(self._doc or "", tuple(self._exports.values()), unique(self._imports))

    def read(self, piece: Piece) -> None:
        reading = _ModulePiece(piece)
        if self._doc is None:
            self._doc = _file_doc(piece)
        for export in reading.exports():
            if export.signature and 0 < len(export.name) <= LONGEST_NAME:
                self._exports.setdefault(export.name, export)
        self._imports += reading.imports()


class _ModulePiece:
    """One piece of a file."""

    def __init__(self, piece: Piece) -> None:
        self._data = piece.data
        self._root = piece.root
        self._statements = list(self._commented(piece))
        self._locals: dict[str, _Declared] | None = None

    def _commented(self, piece: Piece) -> Iterator[_Declared]:
        comments = Comments(piece.data)
        for node in piece.statements():
            if node.type == "comment":
                comments.add(node)
            else:
                yield _Declared(node, [c for c in comments.above(node)[-1:] if c.startswith("/**")])

    # Imports

    def imports(self) -> list[str]:
        found = [(node.start_byte, text(self._data, node)[1:-1]) for node in self._sources()]
        if b"require" in self._data or b"import(" in self._data:
            found += self._loadings()
        return [specifier for _, specifier in sorted(found)]

    def _sources(self) -> Iterator[Node]:
        for declared in self._statements:
            if declared.node.type in {"import_statement", "export_statement"}:
                source = declared.node.child_by_field_name("source")
                clause = first_named_child(declared.node)
                if source is None and clause is not None and clause.type == "import_require_clause":
                    source = clause.child_by_field_name("source")
                if source is not None and source.type == "string":
                    yield source

    def _loadings(self) -> Iterator[tuple[int, str]]:
        for count, match in enumerate(_LOADING.finditer(self._data)):
            if count == _MOST_LOADINGS:
                return
            node = self._root.descendant_for_byte_range(match.start(), match.start() + 1)
            if node is not None and node.type in {"import", "identifier"}:
                yield match.start(), match[2].decode("utf-8", "replace")

    # Exports

    def exports(self) -> Iterator[Export]:
        for declared in self._statements:
            if declared.node.type == "export_statement":
                yield from self._of_export(declared)
            elif declared.node.type == "expression_statement":
                yield from self._of_common_js(declared)

    def _of_export(self, declared: _Declared) -> Iterator[Export]:
        node = declared.node
        kinds = {child.type for child in children(node)}
        declaration = node.child_by_field_name("declaration")
        if "default" in kinds:
            yield self._default(declared, declaration or node.child_by_field_name("value"))
        elif declaration is not None:
            yield from self._declaration(_Declared(declaration, declared.comments))
        elif "export_clause" in kinds:
            yield from self._clause(node)
        elif "namespace_export" in kinds or "*" in kinds:
            yield self._star(node)
        elif "=" in kinds:
            yield from self._value(first_named_child(node), declared)

    def _default(self, declared: _Declared, value: Node | None) -> Export:
        doc = comment_prose(declared.comments)
        if value is None:
            return Export("default", _DEFAULT, doc)
        if value.type == "identifier":
            return self._default_local(text(self._data, value), doc)
        name = text(self._data, value.child_by_field_name("name")) or "default"
        return Export(name, f"{_DEFAULT} {self._shape(value)}".strip(), doc)

    def _default_local(self, name: str, doc: str) -> Export:
        for export in self._local(name):
            return Export(name, f"{_DEFAULT} {export.signature}", export.doc or doc)
        return Export(name, f"{_DEFAULT} {name}", doc)

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
            original = text(self._data, specifier.child_by_field_name("name"))
            name = text(self._data, specifier.child_by_field_name("alias")).strip("'\"") or original
            yield self._specified(original, name, is_foreign=is_foreign)

    def _specified(self, original: str, name: str, *, is_foreign: bool) -> Export:
        if name == "default":
            if not is_foreign:
                return self._default_local(original, "")
            return Export(name, _DEFAULT if original == name else f"{_DEFAULT} {original}")
        if is_foreign:
            return Export(name, name)
        for export in self._local(original, name):
            return export
        return Export(name, name)

    def _local(self, name: str, called: str | None = None) -> Iterator[Export]:
        """Yield what is declared in this file as `name`, under the name it is exported by."""
        if self._locals is None:
            self._locals = self._declared_here()
        declared = self._locals.get(name)
        if declared is None:
            return
        for export in self._declaration(declared, called):
            if export.name == (called or name):
                yield export

    def _declared_here(self) -> dict[str, _Declared]:
        here: dict[str, _Declared] = {}
        for declared in self._statements:
            node = declared.node.child_by_field_name("declaration") or declared.node
            for name in _declared_names(self._data, node):
                here.setdefault(name, _Declared(node, declared.comments))
        return here

    def _declaration(self, declared: _Declared, called: str | None = None) -> Iterator[Export]:
        node, doc = declared.node, comment_prose(declared.comments)
        if node.type == "ambient_declaration":
            inner = first_named_child(node)
            if inner is not None:
                yield from self._declaration(_Declared(inner, declared.comments), called)
        elif node.type in {"lexical_declaration", "variable_declaration"}:
            for declarator in children(node):
                if declarator.type == "variable_declarator":
                    yield from self._variable(node, declarator, doc, called)
        else:
            name = called or text(self._data, node.child_by_field_name("name")).strip("'\"")
            yield Export(name, self._shape(node, called), doc)

    def _variable(self, node: Node, declarator: Node, doc: str, called: str | None) -> Iterator[Export]:
        target, value = declarator.child_by_field_name("name"), declarator.child_by_field_name("value")
        annotation = declarator.child_by_field_name("type")
        if target is None:
            return
        if target.type != "identifier":
            yield from (Export(name, name, doc) for name in _pattern_names(self._data, target))
            return
        name = called or text(self._data, target)
        if annotation is not None:
            yield Export(name, self._annotated(name, declarator, annotation), doc)
        elif value is not None and value.type in _FUNCTIONS:
            shape = self._shape(value)
            keyword = text(self._data, first_child(node))
            yield Export(name, f"{keyword} {name} = {shape}" if shape else "", doc)
        else:
            yield Export(name, name, doc)

    def _annotated(self, name: str, declarator: Node, annotation: Node) -> str:
        written = one_line(self._data, declarator, annotation.byte_range, _NOTATION)
        return f"{name}{written}" if written and len(name) + len(written) <= LONGEST_SIGNATURE else name

    # CommonJS

    def _of_common_js(self, declared: _Declared) -> Iterator[Export]:
        value = first_named_child(declared.node)
        names: list[str] = []
        while value is not None and value.type == "assignment_expression":
            names.append(text(self._data, value.child_by_field_name("left")))
            value = value.child_by_field_name("right")
        if value is None:
            return
        if "module.exports" in names:
            yield from self._value(value, declared)
            return
        for name in names:
            owner, _, property_name = name.rpartition(".")
            if owner in {"exports", "module.exports"} and is_name(property_name) and property_name != "__esModule":
                yield self._property(property_name, value, comment_prose(declared.comments))

    def _value(self, value: Node | None, declared: _Declared) -> Iterator[Export]:
        """Yield what a module is set to: what is in an object, or the thing itself."""
        if value is None:
            return
        if value.type == "object":
            yield from self._of_object(value)
            return
        name = text(self._data, value if value.type == "identifier" else value.child_by_field_name("name"))
        doc = comment_prose(declared.comments)
        if value.type == "identifier":
            yield next(self._local(name), Export(name, name, doc))
        elif value.type in _FUNCTIONS or value.type == "class":
            shape = self._shape(value)
            yield Export(name or "module.exports", shape if name else f"module.exports = {shape}", doc)

    def _of_object(self, value: Node) -> Iterator[Export]:
        comments = Comments(self._data)
        for member in children(value):
            if member.type == "comment":
                comments.add(member)
                continue
            if not member.is_named:
                continue
            doc = comment_prose([c for c in comments.above(member)[-1:] if c.startswith("/**")])
            if member.type == "shorthand_property_identifier":
                name = text(self._data, member)
                yield next(self._local(name), Export(name, name, doc))
            elif member.type == "pair":
                name = text(self._data, member.child_by_field_name("key")).strip("'\"")
                inner = member.child_by_field_name("value")
                if inner is not None:
                    yield self._property(name, inner, doc)
            elif member.type == "method_definition":
                yield Export(text(self._data, member.child_by_field_name("name")), self._shape(member), doc)

    def _property(self, name: str, value: Node, doc: str) -> Export:
        if value.type == "identifier":
            for export in self._local(text(self._data, value), name):
                return export._replace(doc=export.doc or doc)
        shape = self._shape(value) if value.type in _FUNCTIONS or value.type == "class" else ""
        return Export(name, f"{name} = {shape}" if shape else name, doc)

    # Signatures

    def _shape(self, node: Node, called: str | None = None) -> str:
        """Write a declaration or a function up to where its body begins; empty for another value."""
        if node.type == "type_alias_declaration":
            return self._alias(node, called)
        if node.type not in _FUNCTIONS and node.type not in _SHAPED:
            return ""
        name = node.child_by_field_name("name")
        parameters = node.child_by_field_name("parameters")
        span = (_start(node), _end(node))
        written = signature(self._data, node, _NOTATION, span, name=name, parameters=parameters)
        if node.type == "arrow_function" and parameters is None:
            written = re.sub(r"(\S+)$", r"(\1)", written)
        return _renamed(written.removesuffix(";").rstrip(), text(self._data, name), called)

    def _alias(self, node: Node, called: str | None) -> str:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or value is None:
            return ""
        written = one_line(self._data, node, (node.start_byte, value.end_byte), _NOTATION)
        if len(written) > LONGEST_SIGNATURE:
            head = one_line(self._data, node, (node.start_byte, value.start_byte), _NOTATION)
            written = f"{head} {LEFT_OUT}" if len(head) < LONGEST_SIGNATURE else ""
        return _renamed(written, text(self._data, name), called)


_SHAPED = frozenset(
    {
        "function_declaration",
        "generator_function_declaration",
        "function_signature",
        "class_declaration",
        "abstract_class_declaration",
        "class",
        "interface_declaration",
        "enum_declaration",
        "internal_module",
        "module",
        "method_definition",
        "import_alias",
    }
)


def _start(node: Node) -> int:
    """Return where a declaration begins, its decorators left out."""
    return next(
        (child.start_byte for child in children(node) if child.type not in {"decorator", "comment"}), node.start_byte
    )


def _end(node: Node) -> int:
    body = node.child_by_field_name("body")
    if body is None:
        return node.end_byte
    if node.type != "arrow_function":
        return body.start_byte
    return next((child.start_byte for child in children(node) if child.type == "=>"), body.start_byte)


def _renamed(written: str, name: str, called: str | None) -> str:
    return (
        re.sub(rf"(?<![\w$]){re.escape(name)}(?![\w$])", lambda _: called or name, written, count=1)
        if called
        else written
    )


def _declared_names(data: bytes, node: Node) -> Iterator[str]:
    if node.type == "ambient_declaration":
        inner = first_named_child(node)
        if inner is not None:
            yield from _declared_names(data, inner)
    elif node.type in {"lexical_declaration", "variable_declaration"}:
        for declarator in children(node):
            target = declarator.child_by_field_name("name")
            if target is not None:
                yield from [text(data, target)] if target.type == "identifier" else _pattern_names(data, target)
    elif node.type in _SHAPED or node.type == "type_alias_declaration":
        yield text(data, node.child_by_field_name("name"))


def _pattern_names(data: bytes, pattern: Node) -> Iterator[str]:
    """Yield the names that a destructuring makes, of its first level."""
    for child in children(pattern):
        target: Node | None = child
        if child.type == "pair_pattern":
            target = child.child_by_field_name("value")
        elif child.type in {"object_assignment_pattern", "assignment_pattern"}:
            target = child.child_by_field_name("left")
        if target is not None and target.type in {"identifier", "shorthand_property_identifier_pattern"}:
            yield text(data, target)


def _file_doc(piece: Piece) -> str:
    """Return the comment that is about the file: by its tag, or because it belongs to no declaration."""
    before: Node | None = None
    for node in piece.statements():
        if before is not None and (doc := _doc_of_file(piece.data, before, node)):
            return doc
        if node.type not in {"comment", "hash_bang_line"}:
            return ""
        before = node if node.type == "comment" else None
    return "" if before is None else _doc_of_file(piece.data, before, None)


def _doc_of_file(data: bytes, comment: Node, following: Node | None) -> str:
    written = data[comment.start_byte : comment.end_byte].decode("utf-8", "replace")
    if not written.startswith("/**") or is_licence(written):
        return ""
    is_free = (
        following is None
        or following.type in _BEFORE_DECLARATIONS
        or is_apart(data, comment, following)
        or (following.type == "export_statement" and following.child_by_field_name("source") is not None)
    )
    if _FILE_TAGS.search(written) or (is_free and not _NO_FILE_DOC.search(written)):
        return comment_prose([written])
    return ""


def _resolver(layout: Layout) -> ImportResolver:
    def resolve(name: str, scope: str) -> str | None:
        if name.startswith("."):
            target = join(scope, name)
            return target if target in layout.files else layout.known(join(target, ".."))
        published = next((each for each in layout.packages if name == each or name.startswith(f"{each}/")), None)
        return layout.known(layout.packages[published]) if published else None

    return resolve


_NOT_A_RANGE = ("file:", "link:", "portal:", "workspace:", ".", "/", "~/")


def _package_json(data: bytes, _root: bytes) -> ProjectManifest:
    package = table_at(wire.parse(data.removeprefix(BOM_UTF8), lone_surrogates=True))
    name = name_of(package.get("name"))
    found = Dependencies(own=name)
    for wanted, spec in table_at(package, "dependencies").items():
        _add_npm(found, wanted, spec)
    for wanted, spec in table_at(package, "peerDependencies").items():
        if not table_at(package, "peerDependenciesMeta", wanted).get("optional"):
            _add_npm(found, wanted, spec)
    return ProjectManifest(name, description_of(package.get("description")), found.all())


def _add_npm(found: Dependencies, name: str, spec: object) -> None:
    if not isinstance(spec, str) or spec.startswith(_NOT_A_RANGE):
        return
    if spec.startswith("npm:"):
        name, _, spec = spec.removeprefix("npm:").rpartition("@") if "@" in spec[5:] else (spec[4:], "", "")
    found.add(name, spec)


TYPESCRIPT = Language(
    name="typescript",
    title="TypeScript",
    extensions=_TYPESCRIPT,
    read=read,
    resolver=_resolver,
    manifests=(ManifestFile("package.json", 2, _package_json),),
    front_files=("index.ts", "index.tsx"),
    generated_suffixes=(".d.ts", ".d.mts", ".d.cts"),
)
JAVASCRIPT = Language(
    name="javascript",
    title="JavaScript",
    extensions=_JAVASCRIPT,
    read=read,
    resolver=_resolver,
    front_files=("index.js", "index.mjs"),
    generated_suffixes=(".min.js", ".bundle.js"),
)

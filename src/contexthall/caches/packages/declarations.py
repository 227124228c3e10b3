"""What a TypeScript declaration file offers: functions, classes, interfaces, types, with what JSDoc says of them.

Pure. Public is what is declared at the top, in `declare module` and in namespaces, unless its name begins with an
underscore; what is exported from another file is shown there.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import tree_sitter_typescript
from tree_sitter import Node

from contexthall.caches.packages.api import ApiMember, ApiPage, call_signature, collapsed
from contexthall.caches.packages.metadata import is_inside
from contexthall.caches.packages.python_syntax import SourceText
from contexthall.core import limits
from contexthall.core.parsing import children, first_named_child, pieces, visible, words

_BEGINNINGS = re.compile(
    rb"^(?:export|declare|import|interface|type|class|abstract|function|const|namespace|enum|/\*\*)", re.MULTILINE
)
_FUNCTIONS = words("function_signature function_declaration generator_function_declaration")
_CLASSES = words("class_declaration abstract_class_declaration interface_declaration")
_GLOBAL = "statement_block"
_NAMESPACES = words("module internal_module") | {_GLOBAL}
_MODULE = re.compile(r"[@\w][\w@./:-]*", re.ASCII)
_REFERENCE = re.compile(r"///\s*<reference\s+path=[\"']([^\"']+)[\"']")
_METHODS = words("method_signature abstract_method_signature method_definition")
_VARIABLES = words("lexical_declaration variable_declaration")
_CONSTRUCTOR = "constructor"
_STAR = re.compile(r"^[ \t]*\*[ \t]?", re.MULTILINE)
_PARAMETER_TAG = re.compile(
    r"^@(param|returns?|throws|example|deprecated|see|default(?:Value)?|since)\b[ \t]*", re.MULTILINE
)
_LINK = re.compile(r"\{@link(?:code|plain)?\s{1,8}([^}|\s]{1,200})[^}]{0,200}\}")


class DeclarationFile(NamedTuple):
    """The pages of a file, one for itself and one for each module that it declares, and the files that it names."""

    pages: tuple[ApiPage, ...]
    sources: tuple[str, ...]


def read_declarations(name: str, data: bytes) -> DeclarationFile:
    """Return what the declaration file of the module `name` says."""
    reader = _DeclarationReader(name)
    for piece in pieces(tree_sitter_typescript.language_typescript, data, _BEGINNINGS, limits.PACKAGE_SOURCE_BYTES):
        reader.read(SourceText(piece.data), piece.statements())
    return DeclarationFile(tuple(reader.pages()), tuple(dict.fromkeys(reader.sources)))


class _Scope:
    """What was found so far in a file, a declared module or a namespace."""

    def __init__(self) -> None:
        self.members: dict[str, ApiMember] = {}
        self.elsewhere: list[tuple[str, str]] = []

    def add(self, member: ApiMember, prefix: str = "") -> None:
        """Take in a declaration; one of a name that is known, such as an overload, is joined with it."""
        name = visible(prefix + member.name)
        if not member.name or member.name.startswith(("_", "#")) or len(name) > limits.SYMBOL_CHARACTERS:
            return
        known = self.members.get(name)
        self.members[name] = member._replace(name=name) if known is None else _joined(known, member)


def _joined(known: ApiMember, more: ApiMember) -> ApiMember:
    """Return a member with the declarations, the documentation and the members of another of its name."""
    methods = _Scope()
    for each in known.members + more.members:
        methods.add(each)
    doc = known.doc if more.doc in known.doc else "\n\n".join(filter(None, (known.doc, more.doc)))
    declarations = tuple(dict.fromkeys(known.declarations + more.declarations))
    return ApiMember(known.name, declarations, doc, tuple(methods.members.values()), known.notes + more.notes)


class _DeclarationReader:
    def __init__(self, name: str) -> None:
        self._name = name
        self._scopes = {name: _Scope()}
        self.sources: list[str] = []

    def pages(self) -> Iterator[ApiPage]:
        for name, found in self._scopes.items():
            if found.members or found.elsewhere:
                yield ApiPage(name, "", members=tuple(found.members.values()), elsewhere=tuple(found.elsewhere))

    def read(self, source: SourceText, nodes: Iterable[Node]) -> None:
        nodes = list(nodes)
        for node in nodes:
            if node.type == "comment" and (found := _REFERENCE.match(source.text(node))):
                self.sources.append(f"./{found[1]}")
        self._read(source, nodes, self._name, "", limits.PACKAGE_CLASS_LEVELS)

    def _read(self, source: SourceText, nodes: Iterable[Node], page: str, prefix: str, levels: int) -> None:
        """Take in statements; `prefix` is the namespace that they stand in."""
        scope = self._scopes.setdefault(page, _Scope())
        for node, doc in _documented(source, nodes):
            if node.type in {"import_statement", "export_statement"}:
                self._read_source(source, node, scope)
            declared = _declared(node)
            if declared.type in _NAMESPACES:
                self._read_namespace(source, declared, page, prefix, levels)
            elif declared.type in _VARIABLES:
                for each in children(declared):
                    if each.type == "variable_declarator":
                        line = visible(f"const {collapsed(source.text(each))}")
                        scope.add(ApiMember(source.field(each, "name"), (line,), doc), prefix)
            else:
                scope.add(_member(source, declared, doc), prefix)

    def _read_namespace(self, source: SourceText, node: Node, page: str, prefix: str, levels: int) -> None:
        """Take in `declare module "fs" {…}` as a page of its own, a namespace as part of the names in it."""
        name = source.field(node, "name")
        body = node if node.type == _GLOBAL else node.child_by_field_name("body")
        if body is None or not levels:
            return
        if name[:1] in {'"', "'"}:
            name = name[1:-1]
            page = name if _MODULE.fullmatch(name) and is_inside(name) else page
        elif name:
            prefix += f"{visible(name)}."
        self._read(source, children(body), page, prefix, levels - 1)

    def _read_source(self, source: SourceText, node: Node, scope: _Scope) -> None:
        """Note the file that a statement imports or exports from, and the names that it passes on."""
        place = source.field(node, "source").strip("'\"")
        if place.startswith("."):
            self.sources.append(place)
        if not place or node.type == "import_statement":
            return
        for clause in (each for each in children(node) if each.type == "export_clause"):
            for each in children(clause):
                if each.type == "export_specifier":
                    name = source.field(each, "alias") or source.field(each, "name")
                    scope.elsewhere.append((visible(name), visible(place)))


def _documented(source: SourceText, nodes: Iterable[Node]) -> Iterator[tuple[Node, str]]:
    """Yield the nodes that are no comments, each with the JSDoc directly above it."""
    doc = ""
    for node in nodes:
        if node.type == "comment":
            text = source.text(node)
            doc = _prose(text) if text.startswith("/**") else doc
        elif node.is_named:
            yield node, doc
            doc = ""


def _prose(comment: str) -> str:
    """Return what a comment of JSDoc says, without its stars and brackets."""
    comment = comment[: 2 * limits.PACKAGE_DOCSTRING_CHARACTERS]
    text = _STAR.sub("", comment.removeprefix("/**").removesuffix("*/").replace("\r\n", "\n")).strip()
    return _PARAMETER_TAG.sub(r"- \1: ", _LINK.sub(r"`\1`", text))


def _declared(node: Node) -> Node:
    """Return the declaration in `export declare …`."""
    for _ in range(limits.PACKAGE_CLASS_LEVELS):
        inner = node.child_by_field_name("declaration")
        if inner is None and node.type in {"ambient_declaration", "expression_statement"}:
            inner = first_named_child(node)
        if inner is None:
            return node
        node = inner
    return node


def _member(source: SourceText, node: Node, doc: str) -> ApiMember:
    name, body = source.field(node, "name"), node.child_by_field_name("body")
    if node.type in _FUNCTIONS or node.type in _METHODS:
        return ApiMember(name, (_function(source, node),), doc)
    if node.type in _CLASSES and body is not None:
        return _class(source, node, body, doc)
    if node.type in {"type_alias_declaration", "enum_declaration"}:
        return ApiMember(name, (visible(collapsed(source.text(node), limits.PACKAGE_DECLARATION_CHARACTERS)),), doc)
    return ApiMember("", ())


def _class(source: SourceText, node: Node, body: Node, doc: str) -> ApiMember:
    """Return a class or an interface: its properties and constructors are part of its declaration."""
    lines, notes, methods = list[str](), list[tuple[str, str]](), _Scope()
    for each, about in _documented(source, children(body)):
        name = source.field(each, "name")
        if name.startswith(("_", "#")) or _is_internal(source, each):
            continue
        if each.type in _METHODS and name != _CONSTRUCTOR:
            methods.add(_member(source, each, about))
        elif len(lines) < limits.PACKAGE_ATTRIBUTES:
            lines.append("    " + _function(source, each).replace("\n", "\n    ").rstrip(",;") + ";")
            if about:
                notes.append((name, about))
    head = collapsed(source.between(node.start_byte, body.start_byte)).rstrip()
    declaration = "\n".join(visible(line) for each in (f"{head} {{", *lines, "}") for line in each.split("\n"))
    return ApiMember(source.field(node, "name"), (declaration,), doc, tuple(methods.members.values()), tuple(notes))


def _is_internal(source: SourceText, node: Node) -> bool:
    return any(each.type == "accessibility_modifier" and source.text(each) != "public" for each in children(node))


def _function(source: SourceText, node: Node) -> str:
    """Return a function, a method or a property up to its body, one parameter a line where it is long."""
    body, parameters = node.child_by_field_name("body"), node.child_by_field_name("parameters")
    end = node.end_byte if body is None else body.start_byte
    if parameters is None:
        return visible(collapsed(source.between(node.start_byte, end)).rstrip(" ;"))
    head = collapsed(source.between(node.start_byte, parameters.start_byte)).rstrip()
    shown = [collapsed(source.text(each)) for each in children(parameters) if each.is_named and each.type != "comment"]
    tail = collapsed(source.between(parameters.end_byte, end)).rstrip(" ;")
    return "\n".join(map(visible, call_signature(head, shown, tail).split("\n")))

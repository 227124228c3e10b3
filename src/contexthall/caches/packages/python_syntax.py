"""How Python declares things: classes and functions with their signatures, docstrings and attributes.

Pure. What is shown is what the source says, with comments, needless white space and possible secrets left out.
"""

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from typing import NamedTuple

from tree_sitter import Node

from contexthall.caches.packages.api import ApiMember, call_signature, collapsed
from contexthall.core import limits
from contexthall.core.parsing import LEFT_OUT, children, first_named_child, visible, words
from contexthall.core.secrets import is_secret_name, may_be_key

_BRANCHES = words(
    "if_statement elif_clause else_clause try_statement except_clause except_group_clause finally_clause "
    "with_statement block"
)
_DEFINITIONS = words("function_definition class_definition decorated_definition")
_LITERAL = re.compile(r"([rRuUbBfF]*)(\"\"\"|'''|\"|')(.*)\2", re.DOTALL)
_CONSTRUCTORS = ("__init__", "__new__")
_SHOWN_DUNDERS = words("__call__")
_HIDDEN_DECORATORS = re.compile(r"@(?:\w+\.)*(?:overload|set_module|array_function_dispatch)\b")
_ACCESSORS = re.compile(r"@\w+\.(?:setter|deleter)\b")
_OVERLOAD = re.compile(r"@(?:\w+\.)*overload\b")
_DOC = re.compile(r"(?:\w+\.)?Doc\(")
_TYPE_VARIABLE = re.compile(r"\w+ = (?:\w+\.)?(?:TypeVar|ParamSpec|TypeVarTuple)\(")
_LONG_OVERLOADS = 2000
"""Characters: then what is overloaded is shown as it is implemented, which has all parameters."""
_HAS_STRING = re.compile(r"[\"'][^\"']")


class SourceText(NamedTuple):
    """The bytes that nodes are places in."""

    data: bytes

    def text(self, node: Node | None) -> str:
        return "" if node is None else self.between(node.start_byte, node.end_byte)

    def between(self, start: int, end: int) -> str:
        return self.data[start:end].decode("utf-8", "replace")

    def field(self, node: Node, name: str) -> str:
        return self.text(node.child_by_field_name(name))

    def string(self, node: Node | None) -> str:
        """Return what a string literal holds; empty for bytes, f-strings and anything else."""
        if node is None or node.type not in {"string", "concatenated_string"}:
            return ""
        literal = _LITERAL.fullmatch(self.text(node)) if node.type == "string" else None
        if literal is None or "\\" in literal[3]:
            return evaluated(self.text(node))
        return "" if set(literal[1].lower()) & {"b", "f"} else literal[3]

    def docstring(self, body: Node | None) -> str:
        """Return the string that a block begins with."""
        first = None if body is None else next((each for each in children(body) if each.type != "comment"), None)
        is_statement = first is not None and first.type == "expression_statement"
        return self.string(first_named_child(first) if first is not None and is_statement else first)


def evaluated(literal: str) -> str:
    """Return the value of string literals with escapes in them; `literal_eval` runs nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = ast.literal_eval(f"({literal})")
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return ""
    return value if isinstance(value, str) else ""


def is_private(name: str) -> bool:
    return name.startswith("_")


def statements(source: SourceText, nodes: Iterable[Node], levels: int = limits.SOURCE_BLOCK_LEVELS) -> Iterator[Node]:
    """Yield what runs when a module is imported, under `if`, `try` and `with` too."""
    for node in nodes:
        if node.type not in _BRANCHES:
            yield node
        elif levels and "__name__" not in source.field(node, "condition"):
            yield from statements(source, children(node), levels - 1)


class Definitions:
    """Members and attributes as they are found in a module or a class: the first definition of a name counts."""

    def __init__(self, levels: int = limits.PACKAGE_CLASS_LEVELS) -> None:
        self.members: dict[str, ApiMember] = {}
        self.attributes: dict[str, str] = {}
        self.notes: dict[str, str] = {}
        self._levels = levels
        self._overloaded: set[str] = set()
        self._last = ""

    def add(self, source: SourceText, node: Node) -> None:
        """Take in a statement; one that defines nothing changes nothing."""
        if node.type in _DEFINITIONS:
            self._define(source, node)
        elif node.type == "expression_statement":
            self._read_expression(source, node)
        elif node.type == "type_alias_statement":
            line = collapsed(source.text(node))
            if name := re.match(r"type\s+(\w+)", line):
                self.attributes.setdefault(name[1], visible(line))

    def public_notes(self) -> tuple[tuple[str, str], ...]:
        return tuple((name, text) for name, text in self.notes.items() if not is_private(name))

    def _define(self, source: SourceText, node: Node) -> None:
        decorators = [collapsed(source.text(each)) for each in children(node) if each.type == "decorator"]
        definition = node.child_by_field_name("definition") or node
        is_class = definition.type == "class_definition"
        if any(map(_ACCESSORS.match, decorators)) or (is_class and not self._levels):
            return
        shown = [each for each in decorators if not _HIDDEN_DECORATORS.match(each)]
        member = _class(source, definition, shown, self._levels) if is_class else _function(source, definition, shown)
        if member.name and len(member.name) <= limits.SYMBOL_CHARACTERS:
            self._add_member(member, is_overload=any(map(_OVERLOAD.match, decorators)))

    def _add_member(self, member: ApiMember, *, is_overload: bool) -> None:
        known = self.members.get(member.name)
        if known is None:
            self.members[member.name] = member
        elif is_overload and member.name in self._overloaded:
            declarations = known.declarations + member.declarations
            self.members[member.name] = known.documented_by(member)._replace(declarations=declarations)
        elif member.name in self._overloaded:
            is_long = sum(map(len, known.declarations)) > _LONG_OVERLOADS
            declarations = member.declarations if is_long else known.declarations
            self.members[member.name] = known.documented_by(member)._replace(declarations=declarations)
        if is_overload:
            self._overloaded.add(member.name)

    def _read_expression(self, source: SourceText, node: Node) -> None:
        inner = first_named_child(node)
        if inner is None or node.has_error:
            return
        if inner.type == "assignment":
            left = inner.child_by_field_name("left")
            self._last = source.text(left) if left is not None and left.type == "identifier" else ""
            line = _assignment(source, inner, self._last) if self._last else ""
            if line and len(self.attributes) < limits.PACKAGE_ATTRIBUTES and not _TYPE_VARIABLE.match(line):
                self.attributes.setdefault(self._last, line)
        elif self._last and (doc := source.string(inner)):
            self.notes.setdefault(self._last, doc)
            self._last = ""


def _assignment(source: SourceText, node: Node, name: str) -> str:
    """Return an assignment as it is written; without the value if that may be a secret."""
    value, annotation = node.child_by_field_name("right"), node.child_by_field_name("type")
    head = name if annotation is None else f"{name}: {collapsed(source.text(annotation))}"
    if value is None:
        return visible(head)
    shown = collapsed(source.text(value))
    if _HAS_STRING.search(shown) and (is_secret_name(name) or may_be_key(shown)):
        shown = LEFT_OUT
    return visible(f"{head} = {shown}")


def _class(source: SourceText, node: Node, decorators: list[str], levels: int) -> ApiMember:
    """Return a class: its attributes and its constructor are part of its declaration."""
    found, body = Definitions(levels - 1), node.child_by_field_name("body")
    for statement in statements(source, children(body) if body is not None else ()):
        found.add(source, statement)
    name = source.field(node, "name")
    parameters, bases = (collapsed(source.field(node, field)) for field in ("type_parameters", "superclasses"))
    lines = [*decorators, f"class {name}{parameters}{bases}:"]
    lines += [f"    {line}" for key, line in found.attributes.items() if not is_private(key)]
    docs, notes = [source.docstring(body)], found.public_notes()
    constructor = next((found.members[each] for each in _CONSTRUCTORS if each in found.members), None)
    if constructor is not None:
        lines += [f"    {line}" for each in constructor.declarations for line in each.split("\n")]
        docs.append(constructor.doc)
        notes += constructor.notes
    members = tuple(each for each in found.members.values() if not is_private(each.name) or each.name in _SHOWN_DUNDERS)
    return ApiMember(name, (_shown(lines),), "\n\n".join(cleandoc(doc) for doc in docs if doc), members, notes)


def _function(source: SourceText, node: Node, decorators: list[str]) -> ApiMember:
    name, returned = node.child_by_field_name("name"), node.child_by_field_name("return_type")
    if name is None:
        return ApiMember("", ())
    keyword = " ".join(source.between(node.start_byte, name.start_byte).split())
    head = f"{keyword} {source.text(name)}{collapsed(source.field(node, 'type_parameters'))}"
    parameters, notes = _parameters(source, node.child_by_field_name("parameters"))
    result = f" -> {_without_doc(source, returned)[0]}" if returned is not None else ""
    declaration = call_signature(head, parameters, result)
    doc = source.docstring(node.child_by_field_name("body"))
    return ApiMember(source.text(name), (_shown([*decorators, declaration]),), doc, (), tuple(notes))


def _parameters(source: SourceText, node: Node | None) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the parameters as they are written, and what `Annotated[…, Doc(…)]` says of them."""
    shown: list[str] = []
    notes: list[tuple[str, str]] = []
    if node is None:
        return shown, notes
    has_docs = b"Doc(" in source.data[node.start_byte : node.end_byte]
    for each in children(node):
        annotation = each.child_by_field_name("type") if has_docs else None
        if annotation is not None:
            kept, doc = _without_doc(source, annotation)
            before = source.between(each.start_byte, annotation.start_byte)
            shown.append(collapsed(before + kept + source.between(annotation.end_byte, each.end_byte)))
            if doc:
                notes.append((before.strip(" :*\n"), doc))
        elif each.is_named and each.type != "comment":
            shown.append(_parameter(source, each))
    return shown, notes


def _parameter(source: SourceText, node: Node) -> str:
    value = node.child_by_field_name("value")
    if value is not None and _HAS_STRING.search(text := source.text(value)) and may_be_key(text):
        return collapsed(source.between(node.start_byte, value.start_byte)) + LEFT_OUT
    return collapsed(source.text(node))


def _without_doc(source: SourceText, annotation: Node) -> tuple[str, str]:
    """Return a type without the `Doc(…)` in its `Annotated`, and what that says."""
    written, inner = source.text(annotation), first_named_child(annotation)
    if "Doc(" not in written or inner is None:
        return collapsed(written), ""
    arguments = inner.children_by_field_name("subscript")
    if inner.type == "generic_type":
        arguments = [each for part in children(inner) if part.type == "type_parameter" for each in children(part)]
    texts = [source.text(each) for each in arguments if each.is_named and each.type != "comment"]
    docs = [evaluated(text.partition("(")[2].rstrip().removesuffix(")")) for text in texts if _DOC.match(text)]
    kept = [collapsed(text) for text in texts if not _DOC.match(text)]
    if not docs or not kept:
        return collapsed(written), ""
    return kept[0] if len(kept) == 1 else f"Annotated[{', '.join(kept)}]", docs[0]


def _shown(lines: Iterable[str]) -> str:
    return "\n".join(visible(line) for each in lines for line in each.split("\n"))

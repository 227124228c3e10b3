"""What a Python module offers, as its source or its stub says it: nothing is imported, nothing is run.

Pure. The parser is tree-sitter, which reads the Python of every version and goes on after a syntax error.
"""

import re
from collections.abc import Iterable

import tree_sitter_python
from tree_sitter import Node

from contexthall.caches.packages.api import Module
from contexthall.caches.packages.python_syntax import Definitions, SourceText, statements
from contexthall.core import limits
from contexthall.core.parsing import children, first_named_child, pieces

_BEGINNINGS = re.compile(
    rb"^(?:def|class|async|import|from|if|try|with|type|@|[A-Za-z_]\w*[ \t]*(?:=[^=]|:))", re.MULTILINE
)
_LIST = "__all__"
_DOC_ARGUMENT = 2
_ADD_DOC = b"add_newdoc("


def read_module(name: str, data: bytes, *, is_package: bool = False) -> Module:
    """Return what the source of the module `name` says; an empty module for what is no source."""
    reader = _ModuleReader(name, is_package=is_package)
    for piece in pieces(tree_sitter_python.language, data, _BEGINNINGS, limits.PACKAGE_SOURCE_BYTES):
        reader.read(SourceText(piece.data), piece.root, piece.statements())
    return reader.module()


class _ModuleReader:
    """What was found so far."""

    def __init__(self, name: str, *, is_package: bool) -> None:
        self._name = name
        self._is_package = is_package
        self._doc = ""
        self._found = Definitions()
        self._imports: dict[str, str] = {}
        self._stars: list[str] = []
        self._listed: list[str] | None = None
        self._listed_from: list[str] = []
        self._added_docs: dict[str, str] = {}

    def module(self) -> Module:
        found = self._found
        return Module(
            self._name,
            self._doc,
            found.members,
            tuple(found.attributes.items()),
            found.public_notes(),
            self._imports,
            tuple(self._stars),
            None if self._listed is None else tuple(self._listed),
            tuple(self._listed_from),
            self._added_docs,
            self._is_package,
        )

    def read(self, source: SourceText, root: Node, nodes: Iterable[Node]) -> None:
        self._doc = self._doc or source.docstring(root)
        for node in statements(source, nodes):
            if node.type == "import_from_statement":
                self._read_import_from(source, node)
            elif node.type == "import_statement":
                self._read_import(source, node)
            elif node.type == "expression_statement" and source.data.startswith(_LIST.encode(), node.start_byte):
                self._read_list(source, first_named_child(node))
            elif node.type == "expression_statement" and source.data.startswith(_ADD_DOC, node.start_byte):
                self._read_added_doc(source, first_named_child(node))
            else:
                self._found.add(source, node)

    def _read_import(self, source: SourceText, node: Node) -> None:
        """Take in `import a.b as c`; without a name of its own it makes nothing public."""
        for each in node.children_by_field_name("name"):
            if alias := source.field(each, "alias"):
                self._imports[alias] = source.field(each, "name")

    def _read_import_from(self, source: SourceText, node: Node) -> None:
        module = self._absolute(source.field(node, "module_name").replace(" ", ""))
        for each in node.children_by_field_name("name"):
            name = source.field(each, "name") or source.text(each)
            self._imports[source.field(each, "alias") or name] = f"{module}.{name}"
        if any(each.type == "wildcard_import" for each in children(node)):
            self._stars.append(module)

    def _absolute(self, module: str) -> str:
        below = module.lstrip(".")
        up = len(module) - len(below) - self._is_package
        if len(module) == len(below):
            return module
        base = self._name.split(".")
        return ".".join([*base[: len(base) - up if up > 0 else len(base)], *filter(None, [below])])

    def _read_added_doc(self, source: SourceText, call: Node | None) -> None:
        """Take in `add_newdoc(module, name, doc)`, or `(attribute, doc)` in the place of the last."""
        arguments = None if call is None else call.child_by_field_name("arguments")
        given = [] if arguments is None else [each for each in children(arguments) if each.is_named]
        if len(given) > _DOC_ARGUMENT:
            _, name, doc = given[: _DOC_ARGUMENT + 1]
            parts = [each for each in children(doc) if each.is_named] if doc.type == "tuple" else [doc]
            path = ".".join(map(source.string, [name, *parts[:-1]]))
            if parts:
                self._added_docs.setdefault(path, source.string(_called_on(parts[-1])))

    def _read_list(self, source: SourceText, node: Node | None) -> None:
        """Take in what is done to `__all__`: set, added to, extended."""
        if node is None:
            return
        if node.type == "call":
            arguments = node.child_by_field_name("arguments")
            self._extend(source, None if arguments is None else first_named_child(arguments))
        elif node.type in {"assignment", "augmented_assignment"}:
            if node.type == "assignment":
                self._listed, self._listed_from = [], []
            self._extend(source, node.child_by_field_name("right"))

    def _extend(self, source: SourceText, value: Node | None) -> None:
        waiting = [value]
        while waiting:
            node = waiting.pop()
            if node is not None and node.type in {"list", "tuple", "string", "parenthesized_expression"}:
                elements = [node] if node.type == "string" else children(node)
                self._listed = self._listed or []
                self._listed += filter(None, map(source.string, elements))
            elif node is not None and node.type == "binary_operator":
                waiting += map(node.child_by_field_name, ("right", "left"))
            elif node is not None and node.type in {"attribute", "identifier"}:
                owner = source.text(node).removesuffix(_LIST).rstrip(".")
                self._listed_from.append(self._imports.get(owner, f"{self._name}.{owner}"))


def _called_on(node: Node) -> Node | None:
    """Return the string in `"…".replace(…)`, or the node itself."""
    function = node.child_by_field_name("function") if node.type == "call" else None
    return node if function is None else function.child_by_field_name("object")

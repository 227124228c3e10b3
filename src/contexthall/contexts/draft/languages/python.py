"""The language Python.

Pure. Public is what `__all__` lists; without one, what has no leading underscore.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from configparser import Error as ConfigError
from configparser import RawConfigParser
from functools import lru_cache

import tree_sitter_python
from tree_sitter import Node

from contexthall.contexts.draft.languages.described import described
from contexthall.contexts.draft.languages.language import ROOT, Export, Language, Layout, SourceOutline, join, outline
from contexthall.contexts.draft.languages.project_manifest import (
    Dependencies,
    ManifestFile,
    ProjectManifest,
    normal_name,
    read_toml,
    table_at,
)
from contexthall.contexts.draft.syntax.comments import prose
from contexthall.contexts.draft.syntax.signatures import Notation, one_line, signature
from contexthall.core import limits
from contexthall.core.parsing import Piece, children, first_named_child, text, words, written

_NOTATION = Notation(
    strings=frozenset({"string"}),
    lists=frozenset({"parameters", "argument_list", "type_parameter", "subscript"}),
    defaults=frozenset({"default_parameter", "typed_default_parameter", "keyword_argument", "pair"}),
)
_BRANCHES = words(
    "if_statement elif_clause else_clause try_statement except_clause except_group_clause finally_clause "
    "with_statement block"
)
_CONSTANT = re.compile(r"[A-Z][A-Z0-9_]*")
_ASSIGNMENTS = frozenset({"assignment", "augmented_assignment"})
_TYPE_NAME = re.compile(r"[A-Z][A-Za-z0-9]*")
_TYPE_MAKERS = frozenset({"NewType", "namedtuple", "NamedTuple", "TypedDict", "Enum", "IntEnum", "StrEnum"})
_TYPE_VARIABLES = frozenset({"TypeVar", "ParamSpec", "TypeVarTuple"})
_GENERIC = re.compile(
    rb"(?:\w+\.)*(?:Union|Optional|Callable|Literal|Annotated|Type|Tuple|List|Dict|Set|FrozenSet|\w*Mapping|\w*Sequence|"
    rb"Iterable|Iterator|Collection|Awaitable|Coroutine|Generator|Async\w+|ContextManager|dict|list|tuple|set|frozenset|"
    rb"type)\["
)
_UNION = re.compile(rb"[\w.]+(?:\[[\w., |\[\]]*\])?(?:\s*\|\s*[\w.]+(?:\[[\w., |\[\]]*\])?)+")
_LITERAL = re.compile(r"([rRuU]*)(\"\"\"|\'\'\'|\"|\')(.*)\2", re.DOTALL)
_ESCAPE = re.compile(r"\\(\r?\n|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": " ", "\n": "", "\r\n": "", "\\": "\\", '"': '"', "'": "'"}


def _outline(pieces: Iterable[Piece]) -> SourceOutline:
    module = _PythonModule()
    for piece in pieces:
        module.read(piece)
    return module.outline()


class _PythonModule:
    """What was found so far."""

    def __init__(self) -> None:
        self._doc: str | None = None
        self._names: dict[str, Export] = {}
        self._public: set[str] = set()
        self._listed: list[str] | None = None
        self._imports: list[str] = []
        self._taken: list[str] = []

    def outline(self) -> SourceOutline:
        public = self._public if self._listed is None else self._listed
        defined = [export for name, export in self._names.items() if name in public]
        listed = (Export(name, name) for name in self._listed or ())
        return outline(self._doc or "", [*defined, *listed], self._imports, self._taken)

    def read(self, piece: Piece) -> None:
        last: list[str] = []
        for node in _statements(piece.data, piece.statements()):
            kind = node.type
            if self._doc is None and kind != "comment":
                self._doc = _string_prose(piece.data, node)
            if kind == "expression_statement":
                last = self._read_expression(piece.data, node, last)
                continue
            last = []
            if kind in _READERS:
                _READERS[kind](self, piece.data, node)

    def add(
        self, name: str, written: str, doc: str = "", *, is_public: bool | None = None, methods: tuple[str, ...] = ()
    ) -> None:
        """Record a name; its first signature other than the bare name is kept."""
        if not written or len(name) > limits.SYMBOL_CHARACTERS:
            return
        if name not in self._names or self._names[name].signature == name:
            self._names[name] = Export(name, written, doc, methods)
        if not name.startswith("_") if is_public is None else is_public:
            self._public.add(name)

    def read_definition(self, data: bytes, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return
        if node.has_error and not one_line(data, node, (node.start_byte, body.start_byte), _NOTATION):
            return
        parts = map(node.child_by_field_name, ("return_type", "parameters", "superclasses", "type_parameters"))
        last = next(filter(None, parts), name)
        written = signature(data, node, _NOTATION, (node.start_byte, last.end_byte))
        methods = tuple(_methods(data, body)) if node.type == "class_definition" else ()
        self.add(text(data, name), written, _string_prose(data, first_named_child(body)), methods=methods)

    def read_decorated(self, data: bytes, node: Node) -> None:
        decorators = (data[child.start_byte : child.end_byte] for child in children(node) if child.type == "decorator")
        definition = node.child_by_field_name("definition")
        if definition is not None and not any(each.rstrip().endswith(b"overload") for each in decorators):
            self.read_definition(data, definition)

    def read_alias(self, data: bytes, node: Node) -> None:
        if name := re.match(r"\w+", text(data, node, "left")):
            self.add(name[0], signature(data, node, _NOTATION, node.byte_range))

    def read_import(self, data: bytes, node: Node) -> None:
        for name in node.children_by_field_name("name"):
            self._imports.append(text(data, name, "name") or text(data, name))
            self._read_alias_of_import(data, name)

    def read_future(self, _data: bytes, _node: Node) -> None:
        self._imports.append("__future__")

    def read_import_from(self, data: bytes, node: Node) -> None:
        module = text(data, node, "module_name").replace(" ", "")
        names = node.children_by_field_name("name")
        paths = [text(data, name, "name") or text(data, name) for name in names]
        self._taken += paths
        if module.strip("."):
            self._imports.append(module)
        else:
            self._imports += [module + path for path in paths] or [module]
        for name in names:
            self._read_alias_of_import(data, name)

    def _read_alias_of_import(self, data: bytes, name: Node) -> None:
        # `import x as x` is how a module without `__all__` re-exports x.
        alias = text(data, name, "alias")
        local = alias or text(data, name)
        self.add(local, local, is_public=alias == text(data, name, "name") != "" and not local.startswith("_"))

    def _read_expression(self, data: bytes, node: Node, last: list[str]) -> list[str]:
        """Read an assignment, or the docstring below one; return the names that were assigned."""
        inner = first_named_child(node)
        if inner is None or node.has_error:
            return []
        if inner.type in _ASSIGNMENTS:
            return self._read_assignment(data, inner)
        if inner.type == "string":
            for name in last:
                self._names[name] = self._names[name]._replace(doc=_string_prose(data, node))
        elif data.startswith((b"__all__.extend", b"__all__.append"), inner.start_byte):
            arguments = inner.child_by_field_name("arguments")
            self._list(data, arguments and first_named_child(arguments))
        return []

    def _read_assignment(self, data: bytes, node: Node) -> list[str]:
        names: list[str] = []
        value: Node | None = node
        while value is not None and value.type in _ASSIGNMENTS:
            node, value = value, value.child_by_field_name("right")
            left = node.child_by_field_name("left")
            if text(data, left) == "__all__":
                self._list(data, value, is_more=node.type == "augmented_assignment")
            elif left is not None and node.type == "assignment":
                names += self._read_targets(data, node, left, value)
        return names

    def _read_targets(self, data: bytes, node: Node, left: Node, value: Node | None) -> list[str]:
        if left.type == "identifier":
            name = text(data, left)
            written, is_public = _assigned(data, node, name, value)
            self.add(name, written, is_public=is_public)
            return [name] if name in self._names else []
        if left.type in {"pattern_list", "tuple_pattern"}:
            for target in [text(data, target) for target in children(left) if target.type == "identifier"]:
                self.add(target, target, is_public=_CONSTANT.fullmatch(target) is not None)
        return []

    def _list(self, data: bytes, value: Node | None, *, is_more: bool = True) -> None:
        """Record the value of `__all__`; it is unknown if it is not a literal."""
        if value is None:
            return
        elements = [each for each in children(value) if each.is_named and each.type != "comment"]
        elements = [value] if value.type == "string" else elements
        if value.type not in {"list", "tuple", "string"} or any(each.type != "string" for each in elements):
            self._listed = None
            return
        names = [_string(data, each) for each in elements]
        self._listed = [*(self._listed or []), *names] if is_more else names


_READERS = {
    "function_definition": _PythonModule.read_definition,
    "class_definition": _PythonModule.read_definition,
    "decorated_definition": _PythonModule.read_decorated,
    "type_alias_statement": _PythonModule.read_alias,
    "import_statement": _PythonModule.read_import,
    "import_from_statement": _PythonModule.read_import_from,
    "future_import_statement": _PythonModule.read_future,
}


def _statements(data: bytes, nodes: Iterable[Node], levels: int = limits.SOURCE_BLOCK_LEVELS) -> Iterator[Node]:
    """Yield the statements that run on import, including those under `if` and `try`."""
    for node in nodes:
        if node.type not in _BRANCHES:
            yield node
        elif levels and "__name__" not in text(data, node, "condition"):
            yield from _statements(data, children(node), levels - 1)


def _methods(data: bytes, body: Node) -> Iterator[str]:
    """Yield the names of a class's public methods, each once."""
    seen = set[str]()
    for child in children(body):
        method = child.child_by_field_name("definition") if child.type == "decorated_definition" else child
        if method is not None and method.type == "function_definition":
            name = text(data, method, "name")
            if name and name not in seen and not name.startswith("_") and len(name) <= limits.SYMBOL_CHARACTERS:
                seen.add(name)
                yield name


def _assigned(data: bytes, node: Node, name: str, value: Node | None) -> tuple[str, bool]:
    """Return the signature of an assignment, never a constant's value, and whether it defines a public name."""
    annotation, shown = node.child_by_field_name("type"), name
    is_public = is_constant = _CONSTANT.fullmatch(name) is not None
    if annotation is not None:
        is_alias = text(data, annotation).endswith("TypeAlias")
        end = node.end_byte if is_alias else annotation.end_byte
        shown, is_public = one_line(data, node, (node.start_byte, end), _NOTATION), is_constant or is_alias
    elif value is None:
        is_public = False
    elif _is_type(data, value) and _TYPE_NAME.fullmatch(name) and not (is_constant and len(name) == 1):
        shown = name if value.type == "call" else one_line(data, node, node.byte_range, _NOTATION)
        is_public = True
    else:
        is_public = is_constant and _maker(data, value) not in _TYPE_VARIABLES
    return shown if len(shown) <= limits.SIGNATURE_CHARACTERS else name, is_public


def _maker(data: bytes, value: Node) -> str:
    """Return the last name of the called function, for a value that is a call."""
    return text(data, value, "function").rsplit(".", 1)[-1] if value.type == "call" else ""


def _is_type(data: bytes, value: Node) -> bool:
    """Return whether a value is certainly a type; only then is it shown."""
    source = data[value.start_byte : value.end_byte][: limits.SIGNATURE_CHARACTERS + 1]
    if value.type == "subscript":
        return _GENERIC.match(source) is not None
    return _maker(data, value) in _TYPE_MAKERS or (value.type == "binary_operator" and bool(_UNION.fullmatch(source)))


def _string_prose(data: bytes, node: Node | None) -> str:
    """Return a statement that is only a string as prose; empty for any other."""
    if node is None or node.type not in {"expression_statement", "string"}:
        return ""
    string = node if node.type == "string" else first_named_child(node)
    return prose(_string(data, string)) if string is not None and string.type == "string" else ""


def _string(data: bytes, node: Node) -> str:
    """Return the content of a string literal; empty for bytes and f-strings."""
    literal = _LITERAL.fullmatch(written(data, node))
    if literal is None:
        return ""
    prefix, _, inside = literal.groups()
    return inside if "r" in prefix.lower() else _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[0]), inside)


def _resolve(layout: Layout, name: str, scope: str) -> str | None:
    below = name.lstrip(".")
    level = len(name) - len(below)
    if not level:
        return _resolve_absolute(layout, name)
    return _module(layout, join(scope, *[".."] * (level - 1)), below.split("."))


@lru_cache(1 << 14)
def _resolve_absolute(layout: Layout, name: str) -> str | None:
    first, *others = name.split(".")
    if first == layout.name and "__init__.py" in layout.files.get(ROOT, ()):
        return _module(layout, ROOT, others)
    return next((found for root in _roots(layout) if (found := _module(layout, root, name.split(".")))), None)


@lru_cache(1)
def _roots(layout: Layout) -> list[str]:
    """Return where absolute imports may start: directories above packages that are not packages themselves."""
    packages = {scope for scope, names in layout.files.items() if "__init__.py" in names}
    return sorted({ROOT} | ({join(scope, "..") for scope in packages} - packages))


def _module(layout: Layout, base: str, parts: Iterable[str]) -> str | None:
    """Return the deepest directory on the way from `base` to a module; the rest of its name is in a file."""
    if base not in layout.files:
        return None
    place = base
    for number, part in enumerate(filter(None, parts)):
        below = join(place, part)
        if below not in layout.files:
            return place if number or f"{part}.py" in layout.files[place] else None
        place = below
    return place


_REQUIREMENT = re.compile(
    r"\s*(?P<name>[A-Za-z0-9][\w.-]*+)\s*+(?:\[[^\[\]]*+\])?+\s*+(?P<rest>[^;]*+)(?:;(?P<marker>.*))?", re.ASCII
)
_EGG = re.compile(r"[#&]egg=([A-Za-z0-9][\w.-]*+)", re.ASCII)
_COMPARISONS = ("", *"<>=!~(")
_ARCHIVES = (".whl", ".zip", ".gz")
_OPTION_OF_A_LINE = re.compile(r"\s(?:--\w|#)")
_LONG_BLANK = re.compile(r"[^\S\n]{64,}")
"""The time of configparser is quadratic in the white space of a line."""


def _add_requirement(found: Dependencies, line: str, inside: Collection[str] = ()) -> None:
    """Add the requirement in a line of PEP 508, unless it is for an extra or found `inside` the repository."""
    requirement = _REQUIREMENT.fullmatch(line.partition(" #")[0])
    if not requirement or normal_name(requirement["name"]) in inside or "extra" in (requirement["marker"] or ""):
        return
    name, rest = requirement["name"], requirement["rest"].strip()
    is_elsewhere = rest.startswith("@") and "://" in rest and not rest.lstrip("@ ").startswith("file:")
    if is_elsewhere or (rest[:1] in _COMPARISONS and not name.endswith(_ARCHIVES)):
        found.add(name, "".join(rest.strip("() ").split()))


def _pyproject(data: bytes, _root: bytes) -> ProjectManifest:
    tables = read_toml(data)
    project, poetry = table_at(tables, "project"), table_at(tables, "tool", "poetry")
    name = project.get("name") or poetry.get("name")
    found, listed, wanted = Dependencies(own=name), project.get("dependencies"), table_at(poetry, "dependencies")
    if isinstance(listed, list):
        inside = _inside(table_at(tables, "tool", "uv", "sources")) | _inside(wanted)
        for line in listed:
            _add_requirement(found, str(line), inside)
    else:
        _add_poetry(found, wanted)
    return found.manifest(name, project.get("description") or poetry.get("description"))


def _inside(sources: Mapping[str, object]) -> set[str]:
    """Return the names that a table of sources maps to the same repository."""
    return {normal_name(name) for name, source in sources.items() if table_at(source).keys() & {"path", "workspace"}}


def _add_poetry(found: Dependencies, wanted: Mapping[str, object]) -> None:
    for name, value in wanted.items():
        choice = value[0] if isinstance(value, list) and value else value
        table = table_at(choice)
        if name.lower() != "python" and not (table.keys() & {"path"} or table.get("optional") is True):
            found.add(name, table.get("version") if table else choice)


def _setup_cfg(data: bytes, _root: bytes) -> ProjectManifest:
    parser = RawConfigParser(strict=False)
    try:
        parser.read_string(_LONG_BLANK.sub(" ", data.decode("utf-8-sig")))
    except ConfigError as error:
        raise ValueError(error) from error
    name = _literal(parser, "metadata", "name")
    found = Dependencies(own=name)
    for line in parser.get("options", "install_requires", fallback="").splitlines():
        _add_requirement(found, line)
    return found.manifest(name, _literal(parser, "metadata", "description"))


def _literal(parser: RawConfigParser, section: str, key: str) -> str:
    text = " ".join(parser.get(section, key, fallback="").split("\n")).strip()
    return "" if text.startswith(("attr:", "file:")) else text


def _requirements(data: bytes, _root: bytes) -> ProjectManifest:
    found = Dependencies()
    for line in data.decode("utf-8-sig").replace("\\\r\n", " ").replace("\\\n", " ").splitlines():
        wanted = _OPTION_OF_A_LINE.split(f" {line}", maxsplit=1)[0].strip()
        if egg := _EGG.search(wanted):
            found.add(egg[1])
        else:
            _add_requirement(found, wanted)
    return found.manifest()


PYTHON = Language(
    name="python",
    title="Python",
    extensions=dict.fromkeys(("py", "pyi", "pyw"), tree_sitter_python.language),
    keywords=re.compile(
        rb"^(?:def|class|async|import|from|if|try|with|type|@|[A-Za-z_]\w*[ \t]*(?:=[^=]|:))", re.MULTILINE
    ),
    outline=_outline,
    resolver=_resolve,
    manifests=(
        described("setup.py"),
        ManifestFile("pyproject.toml", 0, _pyproject),
        ManifestFile("setup.cfg", 1, _setup_cfg),
        ManifestFile("requirements.txt", 5, _requirements),
    ),
    front_files=("__init__.py",),
    stub_suffix="i",
)

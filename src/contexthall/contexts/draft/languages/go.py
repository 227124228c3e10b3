"""The language Go.

Pure. Public is what begins with a capital letter.
"""

import re
from collections.abc import Callable, Iterable, Iterator

import tree_sitter_go
from tree_sitter import Node

from contexthall.contexts.draft.languages.language import Export, Language, Layout, SourceOutline, join, outline
from contexthall.contexts.draft.languages.project_manifest import Dependencies, ManifestFile, ProjectManifest, name_of
from contexthall.contexts.draft.syntax.comments import comment_prose, is_licence, with_comments
from contexthall.contexts.draft.syntax.signatures import Notation, one_line, signature
from contexthall.core import limits
from contexthall.core.parsing import LEFT_OUT, Piece, body_start, children, first_child, text

_NOTATION = Notation(
    strings=frozenset({"interpreted_string_literal", "raw_string_literal", "rune_literal"}),
    lists=frozenset({"parameter_list", "type_parameter_list", "type_arguments"}),
    members=frozenset({"field_declaration_list", "interface_type"}),
)
_SPECS = ("type_spec", "type_alias", "const_spec", "var_spec")
_LIST = "var_spec_list"
_SELECTED = re.compile(rb"\b[a-z]\w*\.([A-Z]\w*)", re.ASCII)
"""A name of another package, or a member of a value: they look alike."""
_BODIES = {"struct_type": "struct", "interface_type": "interface"}


def _outline(pieces: Iterable[Piece]) -> SourceOutline:
    doc = ""
    exports: list[Export] = []
    imports: list[str] = []
    names: set[str] = set()
    for piece in pieces:
        names.update(found.decode() for found in _SELECTED.findall(piece.data))
        for node, above in with_comments(piece.data, piece.statements()):
            if node.type == "package_clause":
                doc = "" if is_licence("\n".join(above)) else comment_prose(above)
            elif node.type == "import_declaration":
                imports += _imports(piece.data, node)
            elif node.type in _READERS:
                exports += _READERS[node.type](piece.data, node, comment_prose(above))
    return outline(doc, exports, imports, names)


def _imports(data: bytes, node: Node) -> Iterator[str]:
    for child in children(node):
        for spec in children(child) if child.type == "import_spec_list" else [child]:
            if spec.type == "import_spec":
                yield text(data, spec, "path")[1:-1]


def _is_exported(name: str) -> bool:
    return name[:1].isupper()


def _function(data: bytes, node: Node, doc: str) -> Iterator[Export]:
    name, owner = text(data, node, "name"), _owner(data, node)
    if _is_exported(name) and (owner is None or _is_exported(owner)):
        written = signature(data, node, _NOTATION, (node.start_byte, body_start(node)))
        yield Export(name if owner is None else f"{owner}.{name}", written, doc)


def _owner(data: bytes, node: Node) -> str | None:
    """Return the type that a method belongs to; None for a function."""
    receiver = node.child_by_field_name("receiver")
    if receiver is None:
        return None
    found = re.search(r"(\w+)\s*(?:\[.*\])?\s*,?\s*\)$", one_line(data, receiver, receiver.byte_range, _NOTATION))
    return found[1] if found else ""


def _types(data: bytes, node: Node, doc: str) -> Iterator[Export]:
    for spec, own in _specs(data, node, doc):
        name = text(data, spec, "name")
        if _is_exported(name):
            written = _type(data, spec)
            yield Export(name, f"type {written}" if written else "", own)


def _type(data: bytes, spec: Node) -> str:
    """Return a type: of structs and interfaces the keyword, of any other its definition."""
    kind = spec.child_by_field_name("type")
    if kind is None:
        return ""
    head = one_line(data, spec, (spec.start_byte, kind.start_byte), _NOTATION)
    if not head or kind.type in _BODIES:
        return head and f"{head} {_BODIES[kind.type]}"
    written = one_line(data, spec, (spec.start_byte, kind.end_byte), _NOTATION)
    if len(written) + len("type ") <= limits.SIGNATURE_CHARACTERS:
        return written
    parameters = kind.child_by_field_name("parameters")
    return f"{head} func({LEFT_OUT})" if parameters is not None else head


def _values(data: bytes, node: Node, doc: str) -> Iterator[Export]:
    keyword = text(data, first_child(node))
    kind = ""
    for spec, own in _specs(data, node, doc):
        kind = _value_type(data, spec, kind)
        for name in spec.children_by_field_name("name"):
            identifier = text(data, name)
            if _is_exported(identifier) and not spec.has_error:
                yield Export(identifier, f"{keyword} {identifier} {kind}".strip(), own)


def _value_type(data: bytes, spec: Node, before: str) -> str:
    """Return the type of a constant or variable; a constant without a value repeats what is above it."""
    kind = spec.child_by_field_name("type")
    if kind is not None:
        written = one_line(data, kind, kind.byte_range, _NOTATION)
        return written if len(written) <= limits.SIGNATURE_CHARACTERS // 2 else ""
    return before if spec.child_by_field_name("value") is None else ""


def _specs(data: bytes, node: Node, doc: str) -> Iterator[tuple[Node, str]]:
    """Yield the specs of a declaration, each with its doc comment; in a group that is the one above the spec."""
    inside = [each for child in children(node) for each in (children(child) if child.type == _LIST else [child])]
    is_group = any(child.type == "(" for child in inside)
    for spec, above in with_comments(data, [child for child in inside if child.type in {"comment", *_SPECS}]):
        yield spec, comment_prose(above) if is_group else doc


_READERS: dict[str, Callable[[bytes, Node, str], Iterator[Export]]] = {
    "function_declaration": _function,
    "method_declaration": _function,
    "type_declaration": _types,
    "const_declaration": _values,
    "var_declaration": _values,
}


def _resolve(layout: Layout, name: str, _scope: str) -> str | None:
    for module, scope in layout.packages.items():
        if name == module or name.startswith(f"{module}/"):
            return layout.known(join(scope, name[len(module) + 1 :]))
    return None


_MAJOR = re.compile(r"/v\d{1,4}$")


def _go_mod(data: bytes, _root: bytes) -> ProjectManifest:
    found, module, local = Dependencies(), "", set[str]()
    required = list[tuple[str, str]]()
    for verb, words, comment in _directives(data.decode("utf-8-sig").splitlines()):
        if verb == "module" and words:
            module = name_of(words[0])
        elif verb == "require" and len(words) > 1 and not comment.startswith("indirect"):
            required.append((words[0], words[1]))
        elif verb == "replace" and words[-1:] and words[-1].startswith((".", "/")):
            local.add(words[0])
    for path, version in required:
        if path not in local:
            found.add(path, version)
    return found.manifest(_MAJOR.sub("", module).rpartition("/")[2], module=module)


def _directives(lines: Iterable[str]) -> Iterator[tuple[str, list[str], str]]:
    """Yield the directive, the words and the comment of every line, in a block or alone."""
    block = ""
    for line in lines:
        text, _, comment = line.partition("//")
        words = [word.strip('"`') for word in text.split()]
        if words[:1] == [")"]:
            block = ""
        elif words[1:] == ["("]:
            block = words[0]
        elif words:
            yield (block, words, comment.strip()) if block else (words[0], words[1:], comment.strip())


GO = Language(
    name="go",
    title="Go",
    extensions={"go": tree_sitter_go.language},
    keywords=re.compile(rb"^(?:func|type|var|const|import)\b", re.MULTILINE),
    outline=_outline,
    resolver=_resolve,
    manifests=(ManifestFile("go.mod", 4, _go_mod),),
    front_files=("doc.go",),
    has_package_doc=True,
)

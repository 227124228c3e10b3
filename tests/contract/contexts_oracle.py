"""What the contract says a context, a fingerprint, a scope and a counted directory are, read aloud.

Slow and literal on purpose, and sharing nothing with the package: section 5 of the contracts, sentence by sentence.
Only the syntax of YAML is borrowed, as a stream of events from ruamel.yaml's reader in pure Python; what the events
mean is said here.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    StreamStartEvent,
)
from ruamel.yaml.scanner import Scanner

Value: TypeAlias = bool | int | float | str | list["Value"] | dict[str, "Value"] | None
Values: TypeAlias = dict[str, Value]
Reading: TypeAlias = tuple[Literal["readable"], Values] | tuple[Literal["corrupt"]] | tuple[Literal["unsupported"], str]
Tree: TypeAlias = dict[str, "int | str | Tree"]

CONTEXT = ".context.yaml"
METADATA = ("version", "scope", "fingerprint", "last_updated")
SERVED_ORDER = (
    *METADATA,
    *("summary", "maintenance"),
    *("files", "interfaces", "decisions", "constraints", "dependencies", "current_state", "subdirectories"),
    *("environment", "testing", "todos", "data_models", "events", "config", "exports"),
    *("project", "structure"),
    *("derived_fields", "evidence"),
)
FILTERABLE = (
    *("summary", "files", "interfaces", "decisions", "constraints", "dependencies", "current_state", "subdirectories"),
    *("environment", "testing", "todos", "data_models", "events", "config", "project", "structure", "maintenance"),
    "exports",
)

LARGEST_FILE = 2**20
DEEPEST_LEVEL = 64
# The contract does not say where a bomb begins; no vector comes near this, from either side.
LARGEST_EXPANSION = 16 * LARGEST_FILE
SAFE_INTEGER = 2**53

CORE = "tag:yaml.org,2002:"
NULL = re.compile("null|Null|NULL|~|")
BOOLEAN = re.compile("true|True|TRUE|false|False|FALSE")
DECIMAL = re.compile("[-+]?[0-9]+")
OCTAL = re.compile("0o[0-7]+")
HEXADECIMAL = re.compile("0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
INFINITY = re.compile(r"[-+]?(\.inf|\.Inf|\.INF)")
NOT_A_NUMBER = re.compile(r"\.nan|\.NaN|\.NAN")

# Line breaks in YAML 1.1 and for the borrowed reader, plain characters in YAML 1.2: they pass it under a mask.
MASKS = {"\u0085": "\uf0e0", "\u2028": "\uf0e1", "\u2029": "\uf0e2"}

SOURCE_ENDINGS = (".py", ".ts", ".js", ".go", ".rs", ".md", ".json", ".toml", ".yaml")
GENERATED = frozenset({"node_modules", "dist", "build", "target", "vendor", "__pycache__", "venv", "coverage"})
SMALL_PROJECT = 64
BIG_PROJECT_TOKENS = 4096
BYTES_A_TOKEN = 4


class CorruptError(Exception):
    """The file says nothing that can be served."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A value, its text as a key (collections have none), its levels, and its size with every alias written out."""

    value: Value
    key: str | None = None
    height: int = 0
    size: int


class TabScanner(Scanner):
    """The borrowed scanner, with tabs where YAML 1.2 has them: between tokens of a line, and inside plain scalars."""

    def scan_to_next_token(self) -> None:
        super().scan_to_next_token()
        while self.reader.peek() == "\t" and not self.allow_simple_key:
            self.reader.forward()
            super().scan_to_next_token()

    def scan_plain_spaces(self, indent: Any, start_mark: Any) -> Any:
        length = 0
        while self.reader.peek(length) in " \t":
            length += 1
        white = self.reader.prefix(length)
        if "\t" not in white:
            return super().scan_plain_spaces(indent, start_mark)
        self.reader.forward(length)
        return super().scan_plain_spaces(indent, start_mark) if self.reader.peek() in "\r\n" else [white]


def read(data: bytes) -> Reading:
    """Say what the bytes of a `.context.yaml` hold."""
    try:
        values = _mapping(data)
    except (CorruptError, YAMLError):
        return ("corrupt",)
    version = values.get("version")
    if isinstance(version, bool) or not isinstance(version, int | float):
        return ("corrupt",)
    if version > 1:
        return ("unsupported", str(_served(version) or version))
    if version != 1 or not all(isinstance(values.get(name), str) for name in METADATA[1:]):
        return ("corrupt",)
    return ("readable", {key: _served(value) for key, value in values.items()})


def _mapping(data: bytes) -> Values:
    if len(data) > LARGEST_FILE:
        raise CorruptError
    text = data.decode("utf-8", errors="replace").removeprefix("\ufeff")
    for character, mask in MASKS.items():
        assert mask not in text
        text = text.replace(character, mask)
    yaml = YAML(typ="safe", pure=True, plug_ins=[])
    yaml.Scanner = TabScanner
    events = iter(yaml.parse(text))
    assert isinstance(next(events), StreamStartEvent)
    next(events)  # the start of the document, or the end of a stream without any
    root = _node(next(events, None), events, {}, level=0)
    if any(isinstance(event, DocumentStartEvent) for event in events) or not isinstance(root.value, dict):
        raise CorruptError
    return root.value


def _node(event: Event | None, events: Iterator[Event], anchors: dict[str, Node | None], level: int) -> Node:
    """Compose the node that `event` opens, inside a collection of this level (0: it is the root)."""
    if isinstance(event, AliasEvent):
        return _anchored(anchors.get(event.anchor), level)
    if not isinstance(event, NodeEvent):
        raise CorruptError
    if event.anchor:
        anchors[event.anchor] = None  # known, but not complete
    node = _scalar(event) if isinstance(event, ScalarEvent) else _collection(event, events, anchors, level + 1)
    if event.anchor:
        anchors[event.anchor] = node
    return node


def _anchored(node: Node | None, level: int) -> Node:
    if node is None or level + node.height > DEEPEST_LEVEL:
        raise CorruptError
    return node


def _collection(event: Event, events: Iterator[Event], anchors: dict[str, Node | None], level: int) -> Node:
    if level > DEEPEST_LEVEL:
        raise CorruptError
    nodes: list[Node] = []
    size = 1
    for inner in events:
        if isinstance(inner, CollectionEndEvent):
            break
        nodes.append(_node(inner, events, anchors, level))
        size += nodes[-1].size
        if size > LARGEST_EXPANSION:
            raise CorruptError
    height = 1 + max((node.height for node in nodes), default=0)
    if isinstance(event, MappingStartEvent):
        return Node(value=_pairs(nodes[::2], nodes[1::2]), height=height, size=size)
    return Node(value=[node.value for node in nodes], height=height, size=size)


def _pairs(keys: list[Node], values: list[Node]) -> Values:
    found: Values = {}
    for key, value in zip(keys, values, strict=True):
        if key.key is None or key.key in found:
            raise CorruptError
        found[key.key] = value.value
    return found


def _scalar(event: ScalarEvent) -> Node:
    text = str(event.value)
    for character, mask in MASKS.items():
        text = text.replace(mask, character)
    value = _scalar_value(text, str(event.tag or ""), plain=not event.style)
    return Node(value=value, key=value if isinstance(value, str) else text, size=1 + len(text))


def _scalar_value(text: str, tag: str, *, plain: bool) -> Value:
    """Give the meaning of a scalar; a tag that is not of the core schema is no tag."""
    match tag.removeprefix(CORE):
        case "str":
            return text
        case "null" if NULL.fullmatch(text):
            return None
        case "bool" if BOOLEAN.fullmatch(text):
            return text.lower() == "true"
        case "int" if isinstance(number := _core(text), int):
            return number
        case "float" if isinstance(number := _core(text), int | float):
            return float(number)
        case "null" | "bool" | "int" | "float":
            raise CorruptError
    return _core(text) if plain else text


def _core(text: str) -> Value:  # noqa: PLR0911
    """Resolve a plain scalar as the table of the core schema does, row by row."""
    if NULL.fullmatch(text):
        return None
    if BOOLEAN.fullmatch(text):
        return text.lower() == "true"
    if DECIMAL.fullmatch(text):
        return int(text)
    if OCTAL.fullmatch(text):
        return int(text.removeprefix("0o"), 8)
    if HEXADECIMAL.fullmatch(text):
        return int(text, 16)
    if FLOAT.fullmatch(text):
        return float(text)
    if INFINITY.fullmatch(text):
        return -math.inf if text.startswith("-") else math.inf
    if NOT_A_NUMBER.fullmatch(text):
        return math.nan
    return text


def _served(value: Value) -> Value:
    """Give the value as JSON can say it."""
    match value:
        case float() if not math.isfinite(value):
            return None
        case float() if value.is_integer() and abs(value) < SAFE_INTEGER:
            return int(value)
        case list():
            return [_served(item) for item in value]
        case dict():
            return {key: _served(item) for key, item in value.items()}
    return value


def serve(values: Values, filter_: Sequence[str] | None = None) -> Values:
    """Put the keys of a readable context in the order they are served in, those the filter leaves."""
    requested = (name for name in filter_ or () if name in FILTERABLE)
    names = (*METADATA, *requested) if filter_ else (*SERVED_ORDER, *values)
    return {name: values[name] for name in names if name in values}


def content_fingerprint(files: dict[str, bytes]) -> str:
    """Fingerprint the regular files of a directory by what they hold."""
    names = sorted((name for name in files if name != CONTEXT), key=lambda name: name.encode("utf-8"))
    return _digest([f"{name}:{sha256(files[name]).hexdigest()}" for name in names])


@dataclass(frozen=True, slots=True, kw_only=True)
class Stat:
    """Size and time of a file; the nanoseconds count upwards from the second, before 1970 as well."""

    seconds: int
    nanoseconds: int
    size: int


def stat_fingerprint(files: dict[str, Stat]) -> str:
    """Fingerprint the regular files of a directory as the system of 003 does."""
    lines = [f"{name}:{mtime_ms(stat)}:{stat.size}" for name, stat in files.items() if name != CONTEXT]
    return _digest(sorted(lines, key=lambda line: line.encode("utf-16-be")))


def mtime_ms(stat: Stat) -> int:
    return math.floor(float(stat.seconds) * 1000.0 + float(stat.nanoseconds) / 1e6)


def _digest(lines: list[str]) -> str:
    return sha256("\n".join(lines).encode("utf-8")).hexdigest()[:8]


def judge(stored: str, content: str, stat: str) -> tuple[Literal["fresh", "stale"], str]:
    """Give the state of a stored fingerprint, and the computed one that is shown beside it."""
    if stored in (content, stat):
        return ("fresh", stored)
    return ("stale", content)


def resolve_scope(root: str, scope: str) -> str | None:
    """Give the directory below the absolute `root` that a scope names, or None for a traversal; symlinks aside."""
    if "\0" in scope:
        return None
    scope = scope.replace("\\", "/")
    home = _steps(root)
    place = _steps(scope if scope.startswith("/") else f"{root}/{scope}")
    if place[: len(home)] != home:
        return None
    return "/".join(place[len(home) :]) or "."


def _steps(path: str) -> list[str]:
    steps: list[str] = []
    for name in path.split("/"):
        if name == "..":
            del steps[-1:]
        elif name not in ("", "."):
            steps.append(name)
    return steps


def count(tree: Tree, max_depth: int = 10, min_tokens: int | None = None) -> tuple[list[str], int]:
    """Give the scopes of the directories that are kept, in the order they are listed, and how many are skipped.

    A tree maps names to sizes (files), trees (directories) or the word "symlink".
    """
    directories = _entered(tree, ".", max_depth)
    qualifying = {scope for scope in directories if scope == "." or _qualifies(scope, directories)}
    if min_tokens is None:
        min_tokens = 0 if len(qualifying) <= SMALL_PROJECT else BIG_PROJECT_TOKENS
    enough = {scope for scope in qualifying if _source_bytes(directories[scope]) >= min_tokens * BYTES_A_TOKEN}
    anyway = {scope for scope in qualifying if scope == "." or _holds_context(directories[scope])}
    settled = enough | anyway
    kept = {scope for scope in qualifying if scope in settled or any(_is_below(other, scope) for other in settled)}
    return sorted(kept), len(qualifying - kept)


def _entered(tree: Tree, scope: str, depth_left: int) -> dict[str, Tree]:
    found = {scope: tree}
    for name, entry in tree.items():
        if isinstance(entry, dict) and depth_left > 0 and not name.startswith(".") and name not in GENERATED:
            found |= _entered(entry, name if scope == "." else f"{scope}/{name}", depth_left - 1)
    return found


def _qualifies(scope: str, directories: dict[str, Tree]) -> bool:
    here_and_below = [tree for other, tree in directories.items() if other == scope or _is_below(other, scope)]
    return any(_source_sizes(tree) or _holds_context(tree) for tree in here_and_below)


def _is_below(scope: str, ancestor: str) -> bool:
    return scope != ancestor and (ancestor == "." or scope.startswith(f"{ancestor}/"))


def _holds_context(tree: Tree) -> bool:
    return isinstance(tree.get(CONTEXT), int)


def _source_sizes(tree: Tree) -> list[int]:
    return [
        entry
        for name, entry in tree.items()
        if isinstance(entry, int) and name != CONTEXT and name.endswith(SOURCE_ENDINGS)
    ]


def _source_bytes(tree: Tree) -> int:
    return sum(_source_sizes(tree))

"""The text of a rule file: its front matter, the paths that it names, the files that it imports.

Pure. Front matter is read line by line, because Cursor's is not YAML (`globs: **/*.ts` would be an alias). A path
counts only if it can hardly be anything else: a wrong "is gone" costs more than a missing one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from os.path import normpath
from typing import NamedTuple

from contexthall.contexts.scan.directories import is_source
from contexthall.core import limits
from contexthall.core.generated import is_generated
from contexthall.core.ignore import Rules, parse_rules

_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]+)\1(?!`)")
_LINK = re.compile(r"\]\(\s*<?([^)\s<>]+)")
_DEFINITION = re.compile(r" {0,3}\[[^\]\n]{1,200}\]:\s*<?([^\s<>]+)")
_IMPORT = re.compile(r"(?:^|(?<=\s))@([\w.~/][^\s`,;:!?)]*)")
_NAME = r"(?:[\w.+@-]|\([\w.+@-]*\)|\[{1,2}[\w.+@-]*\]{1,2})+"
_PATH = re.compile(rf"(?!@){_NAME}(?:/{_NAME})*/?")
_PLACE_IN_FILE = re.compile(r"(?::{1,2}\w.*|#.*|\?.*)\Z")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_MADE_UP = re.compile(
    r"(?:foo|bar|baz|qux)(?:\..*)?|(?:[Ss]ome|[Mm]y|[Yy]our)(?:[-_A-Z].*)?|.*(?:YYYY|[Xx]{3}|NNN).*|\.{3,}|\..*cache|.*\.local(?:\..*)?"
)
"""A name in an example, of a cache, or of a local file."""
_EXAMPLE = re.compile(r"(?:example|sample)[-_.].*")
_rules = lru_cache(maxsize=64)(lambda patterns: parse_rules(["\n".join(patterns).encode("utf-8", "surrogateescape")]))
_KEY = re.compile(r"([A-Za-z][\w-]*)\s*:(.*)", re.DOTALL)


class RuleText(NamedTuple):
    """The parsed text of a rule file."""

    settings: Mapping[str, tuple[str, ...]]
    """Its front matter; a single value is a list of one."""
    body: str
    links: tuple[str, ...]
    """The targets of its links, relative to the file."""
    spans: tuple[str, ...]
    """Its code spans that are paths."""
    imports: tuple[str, ...]
    """Names after an `@`, outside of code: imports, in the kinds of files that may have any."""


def read_rule(text: str) -> RuleText:
    """Parse a rule file."""
    settings, body = _front_matter(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    prose = "\n".join(_outside_fences(body))
    plain = _SPAN.sub("", prose)
    definitions = [found[1] for line in plain.split("\n") if (found := _DEFINITION.match(line))]
    targets = [*_LINK.findall(plain), *definitions]
    links = [path for target in targets if not _SCHEME.match(target) and (path := _link_path(target))]
    spans = [path for _, span in _SPAN.findall(prose) if (path := _span_path(span))]
    imports = [each.rstrip(".") for each in _IMPORT.findall(plain)]
    return RuleText(settings, body, _few(links), _few(spans), _few(imports))


def has_extension(path: str) -> bool:
    """Return whether a path has an extension of source, configuration or prose."""
    stem, dot, _ = path.rpartition("/")[2].rpartition(".")
    return bool(stem and dot) and is_source(path)


def split_patterns(values: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns of a setting, which commas may separate, with braces expanded."""
    found = (each for value in values for each in _split(value))
    expanded = (pattern for each in found for pattern in _expanded(each))
    return tuple(pattern for _, pattern in zip(range(limits.RULE_PATTERNS), expanded, strict=False))


def matches(patterns: tuple[str, ...], path: str) -> bool:
    """Return whether one of the patterns matches `path`, or a directory above it, by git's rules."""
    rules: Rules | None = _rules(patterns)
    if rules is None or not path:
        return False
    parts = path.split("/")
    for end in range(1, len(parts) + 1):
        verdict = rules.judge("/".join(parts[:end]), parts[end - 1], is_directory=end < len(parts))
        if verdict is not None and (verdict or end == len(parts)):
            return verdict
    return False


def _few(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))[: limits.RULE_NAMES]


def _outside_fences(body: str) -> Iterator[str]:
    """Yield the lines outside of fenced code blocks."""
    fence = ""
    for line in body.split("\n"):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not line[found.end() :].strip("`~ \t"):
                fence = ""
        elif found:
            fence = found[1]
        else:
            yield line


def _link_path(target: str) -> str:
    path = _PLACE_IN_FILE.sub("", target).replace("%20", " ")
    return path if path and not path.startswith(("/", "~", "#", "<", "{", "$")) else ""


def _span_path(span: str) -> str:
    """Return a code span that is a path; empty if it may be something else."""
    path = _PLACE_IN_FILE.sub("", span.strip())
    if "/" not in path.removeprefix("./").rstrip("/") or not _PATH.fullmatch(path):
        return ""
    parts = normpath(path).split("/")
    is_host = "." in parts[0].lstrip(".") and not parts[0].startswith(".")
    is_made_up = "path/to/" in path or any(map(_MADE_UP.fullmatch, parts)) or _EXAMPLE.fullmatch(parts[-1])
    return "" if is_host or is_made_up or any(map(is_generated, parts)) else path


def _front_matter(text: str) -> tuple[dict[str, tuple[str, ...]], str]:
    """Return the front matter of a text, of a few lines at most, and the rest."""
    lines = text.split("\n", limits.RULE_SETTINGS)
    if lines[0].rstrip() != "---":
        return {}, text
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        return {}, text
    settings: dict[str, tuple[str, ...]] = {}
    key = ""
    for line in lines[1:end]:
        item = line.strip()
        found = _KEY.fullmatch(line)
        if found:
            key = found[1]
            settings[key] = tuple(_values(found[2].strip()))
        elif key and item.startswith("-"):
            settings[key] += tuple(_values(item[1:].strip()))
    return settings, "\n".join(lines[end + 1 :])


def _values(text: str) -> Iterator[str]:
    if text[:1] not in {'"', "'", "["}:
        text = text.partition(" #")[0].strip()
    listed = text[1:-1] if text.startswith("[") and text.endswith("]") else ""
    for each in _split(listed) if listed else [text]:
        value = each.strip()
        if value[:1] in {'"', "'"} and value.endswith(value[0]) and len(value) > 1:
            value = value[1:-1]
        if value and not value.startswith("#"):
            yield value


def _split(text: str) -> Iterator[str]:
    """Split at commas outside of braces."""
    depth = start = 0
    for at, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if character == "," and depth <= 0:
            yield text[start:at].strip()
            start = at + 1
    yield text[start:].strip()


def _expanded(pattern: str) -> Iterator[str]:
    """Yield a pattern with its braces expanded, up to a limit."""
    waiting = [pattern]
    for _ in range(limits.RULE_PATTERNS):
        if not waiting:
            return
        each = waiting.pop(0)
        found = re.search(r"\{([^{}]*)\}", each[: limits.IGNORE_RULE_BYTES])
        if found is None:
            if each:
                yield each
        else:
            waiting += [each[: found.start()] + choice + each[found.end() :] for choice in found[1].split(",")]
            del waiting[limits.RULE_PATTERNS :]

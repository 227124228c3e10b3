"""The front matter of a Markdown page: YAML or TOML above its text. Pure."""

import re
from typing import NamedTuple

_LINE = r"(?:\r\n?|\n)"
_BEFORE_TEXT = r"(?![ \t\f\v]*(?:[\r\n]|\Z))"
_FRONT_MATTER = re.compile(
    rf"\ufeff?(?:"
    rf"---[ \t]*{_LINE}{_BEFORE_TEXT}(?P<yaml>(?s:.*?))(?<=[\r\n])(?:---|\.\.\.)[ \t]*(?:{_LINE}|\Z)"
    rf"|\+\+\+[ \t]*{_LINE}{_BEFORE_TEXT}(?P<toml>(?s:.*?))(?<=[\r\n])\+\+\+[ \t]*(?:{_LINE}|\Z))"
)
# What a plain scalar is in the core schema of YAML 1.2, if it is no string.
_NO_STRING = re.compile(
    r"(?:|~|null|Null|NULL|true|True|TRUE|false|False|FALSE|[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
    r"|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?(?:\.inf|\.Inf|\.INF)|\.nan|\.NaN|\.NAN)"
)
_STRING_TAG = "tag:yaml.org,2002:str"


class FrontMatter(NamedTuple):
    """YAML or TOML, and where the page begins that stands below it."""

    kind: str = ""
    text: str = ""
    end: int = 0


def front_matter(text: str) -> FrontMatter:
    """Return the front matter of a page, if there is any."""
    if not text.startswith(("---", "+++", "\ufeff")) or not (found := _FRONT_MATTER.match(text)):
        return FrontMatter()
    kind = "toml" if found["yaml"] is None else "yaml"
    return FrontMatter(kind, found[kind], found.end())


def title_in(front: FrontMatter) -> str:
    """Return the title that front matter gives its page; empty if it gives none, or one that is no string."""
    if "title" not in front.text:
        return ""
    return _toml_title(front.text) if front.kind == "toml" else _yaml_title(front.text)


def _toml_title(text: str) -> str:
    import tomllib  # noqa: PLC0415 - 9 ms, as below

    try:
        title = tomllib.loads(text).get("title")
    except (ValueError, RecursionError):
        return ""
    return title if isinstance(title, str) else ""


def _yaml_title(text: str) -> str:
    import yaml  # noqa: PLC0415 - 10 ms, and only builds and scans read front matter

    try:
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return ""
    if not isinstance(node, yaml.MappingNode):
        return ""
    for key, value in reversed(node.value):
        if isinstance(key, yaml.ScalarNode) and key.value == "title" and isinstance(value, yaml.ScalarNode):
            return str(value.value) if _is_string(value.value, value.style, value.tag) else ""
    return ""


def _is_string(text: str, style: str | None, tag: str) -> bool:
    """Return whether a scalar is a string: it is quoted or tagged as one, or nothing else in the core schema."""
    return bool(style) or (tag == _STRING_TAG and not _NO_STRING.fullmatch(text)) or not _NO_STRING.fullmatch(text)

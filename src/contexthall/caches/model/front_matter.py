"""The front matter of a Markdown page: YAML or TOML above its text. Pure."""

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from contexthall.core import limits

if TYPE_CHECKING:
    import yaml

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
    r"|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?(?:\.inf|\.Inf|\.INF)|\.nan|\.NaN|\.NAN)\Z"
)
_STRING_TAG = "tag:yaml.org,2002:str"
_OPENING = "[{-?:"
"""Every level of YAML begins with one of these."""


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
        if sum(map(text.count, _OPENING)) > limits.FRONT_MATTER_LEVELS and _is_deep(text):
            return ""
        node = yaml.compose(text, Loader=_core_loader())
    except (yaml.YAMLError, ValueError, RecursionError):
        return ""
    if not isinstance(node, yaml.MappingNode):
        return ""
    pairs = [(key.value, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]
    fields = dict(pairs)
    title = fields.get("title")
    if len(fields) < len(pairs) or not isinstance(title, yaml.ScalarNode):  # duplicate keys are an error
        return ""
    return str(title.value) if title.tag == _STRING_TAG else ""


def _is_deep(text: str) -> bool:
    """Return whether YAML is nested too deeply: libyaml takes quadratic time for it, and the stack."""
    import yaml  # noqa: PLC0415 - as above

    depth = 0
    for event in yaml.parse(text, Loader=yaml.CBaseLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > limits.FRONT_MATTER_LEVELS:
            return True
    return False


@cache
def _core_loader() -> "type[yaml.CBaseLoader]":
    """Return a loader that knows by its tag which scalar is a string."""
    import yaml  # noqa: PLC0415 - as above

    class CoreLoader(yaml.CBaseLoader):  # type: ignore[misc]
        pass

    CoreLoader.add_implicit_resolver("!other", _NO_STRING, None)
    return CoreLoader

"""The configuration of a project, `.context.config.yaml`, every key of which is optional.

Pure: the file's bytes are an argument.
"""

from collections.abc import Callable
from typing import NamedTuple

from contexthall.contexts.files.context_file import read_value
from contexthall.contexts.files.yaml_text import Value
from contexthall.core.errors import ContextCorruptError, SettingsError

CONFIG_FILE = ".context.config.yaml"
MODES = ("lean", "full")


class Config(NamedTuple):
    """A project's choices; if `min_tokens` is None, the size of the project decides."""

    ignore: tuple[str, ...] = ()
    max_depth: int = 10
    min_tokens: int | None = None
    mode: str = "lean"


def read_config(data: bytes) -> Config:
    """Read a configuration; SettingsError if it is invalid."""
    try:
        values = read_value(data)
    except ContextCorruptError as error:
        raise _bad(error.detail) from None
    if values is None:
        return Config()
    if not isinstance(values, dict):
        raise _bad("not a mapping")
    for name, value in values.items():
        if name in _RULES and value is not None and not _RULES[name][0](value):
            raise _bad(f"`{name}` must be {_RULES[name][1]}")
    chosen = {name: values[name] for name in _RULES if values.get(name) is not None}
    return Config(**chosen | ({"ignore": tuple(chosen["ignore"])} if "ignore" in chosen else {}))


def _bad(reason: str) -> SettingsError:
    return SettingsError(f"{CONFIG_FILE}: {reason}", hint="mend the file in the project root, or remove it")


_RULES: dict[str, tuple[Callable[[Value], bool], str]] = {
    "ignore": (
        lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
        "a list of patterns",
    ),
    "max_depth": (lambda value: type(value) is int and value >= 1, "a whole number of at least 1"),
    "min_tokens": (lambda value: type(value) is int and value >= 0, "a whole number of at least 0"),
    "mode": (lambda value: value in MODES, "lean or full"),
}

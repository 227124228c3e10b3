"""The servers of a client's file, of whichever client; whether one of them is a hall, and of which project.

Pure: values in, values out. What a file says was written by others: what is of the wrong kind is a reason, no crash.
"""

import os
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

from contexthall.clients.change import object_at
from contexthall.clients.table import CLIENTS, NAME

# VS Code's settings, and opencode's of its next version, have one more level than opencode's of today.
_SETS = (*dict.fromkeys(client.keys for client in CLIENTS.values()), ("mcp", "servers"))
_MIXED = ("mcp",)
"""What may hold other things than servers."""
_URLS = tuple(dict.fromkeys(client.url_key for client in CLIENTS.values() if client.url_key))
_NOTHING: Mapping[str, str] = MappingProxyType({})
_SCRIPTS = frozenset({"context", "contexthall"})
_AS_MODULE = ("-m", "contexthall")
_REACHING = frozenset({"command", "args", "cwd", "type", "transport", *_URLS})
_LOCAL = re.compile(r"http://(?:127\.0\.0\.1|localhost|\[::1\]):([0-9]{1,5})/mcp(?:/[A-Za-z0-9_-]+)?/?", re.ASCII)


class ConfiguredServer(NamedTuple):
    """A server as a client's file has it, or the reason why it cannot be understood."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = _NOTHING
    env_file: str = ""
    """Where it reads more variables from."""
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = _NOTHING
    is_off: bool = False
    fault: str = ""

    @property
    def is_hall(self) -> bool:
        """Whether it is a hall: by its command or, at an address, by the name that `context connect` gives to one."""
        return self.served_project is not None or bool(self.url and self.name == NAME)

    @property
    def local_port(self) -> int | None:
        """The port of this machine at which it is reached, if that is an address such as `context connect` writes."""
        found = _LOCAL.fullmatch(self.url)
        return int(found[1]) if found else None

    @property
    def served_project(self) -> str | None:
        """The project of the hall that this server is; empty if it is a hall that names none, None if it is no hall."""
        arguments = _serving((self.command, *self.args))
        if arguments is None:
            return None
        for option, value in pairwise([*arguments, ""]):
            if option in {"-p", "--path"}:
                return value
            if option.startswith("--path="):
                return option.removeprefix("--path=")
        return ""


def servers_of(values: Mapping[str, Any]) -> list[ConfiguredServer]:
    """Return every server of any client's file, in the order of the file."""
    return [
        server_of(name, entry)
        for keys in _SETS
        for name, entry in object_at(values, keys).items()
        if keys != _MIXED or is_server(entry)
    ]


def server_of(name: str, entry: object) -> ConfiguredServer:
    if not isinstance(entry, Mapping):
        return ConfiguredServer(name, fault="it is no object")
    try:
        return _parsed(name, entry)
    except _WrongKindError as error:
        return ConfiguredServer(name, fault=str(error))


def reached_by(name: str, entry: object) -> ConfiguredServer:
    """Parse the keys that say how a server is reached, whatever the others are like."""
    if isinstance(entry, Mapping):
        entry = {key: value for key, value in entry.items() if key in _REACHING}
    return server_of(name, entry)


def is_server(entry: object) -> bool:
    """Return whether an entry has a command or an address, of whatever type."""
    return isinstance(entry, Mapping) and any(entry.get(key) for key in ("command", *_URLS))


class _WrongKindError(ValueError):
    """Something in an entry is of a kind that no client writes."""


def _parsed(name: str, entry: Mapping[str, Any]) -> ConfiguredServer:
    program, url = _program(entry), next((_text(entry, key) for key in _URLS if _text(entry, key)), "")
    if str(entry.get("type", entry.get("transport", ""))).lower() == "sse":
        raise _WrongKindError("it speaks SSE, which the hall does not")
    if not program and not url:
        raise _WrongKindError("it has neither a command nor an address")
    return ConfiguredServer(
        name,
        command="".join(program[:1]),
        args=(*program[1:], *_texts(entry, "args")),
        env={
            **{key: f"${{{key}}}" for key in _texts(entry, "env_vars")},
            **_strings(entry, "env"),
            **_strings(entry, "environment"),
        },
        env_file=_text(entry, "envFile"),
        cwd=_text(entry, "cwd"),
        url="" if program else url,
        headers=_headers(entry),
        is_off=entry.get("disabled") is True or entry.get("enabled") is False,
    )


def _program(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the command of an entry: a text or, as opencode has it, a list that has the arguments too."""
    if isinstance(entry.get("command"), list):
        return _texts(entry, "command")
    command = _text(entry, "command")
    return (command,) if command else ()


def _headers(entry: Mapping[str, Any]) -> dict[str, str]:
    named = {header: f"${{{variable}}}" for header, variable in _strings(entry, "env_http_headers").items()}
    if variable := _text(entry, "bearer_token_env_var"):
        named["Authorization"] = f"Bearer ${{{variable}}}"
    return {**_strings(entry, "headers"), **_strings(entry, "http_headers"), **named}


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if value is not None and not isinstance(value, str):
        raise _WrongKindError(f"its `{key}` is no text")
    return value or ""


def _texts(entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = entry.get(key) or ()
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise _WrongKindError(f"its `{key}` is no list of texts")
    return tuple(value)


def _strings(entry: Mapping[str, Any], key: str) -> dict[str, str]:
    """Return an object of strings: numbers as they are written, without nulls."""
    value = entry.get(key) or {}
    if not isinstance(value, Mapping):
        raise _WrongKindError(f"its `{key}` is no object")
    if any(isinstance(each, Mapping | list | bool) for each in value.values()):
        raise _WrongKindError(f"its `{key}` is no object of texts")
    return {name: str(each) for name, each in value.items() if each is not None}


def _serving(words: Sequence[str]) -> Sequence[str] | None:
    """Return what follows `serve` in the command of a hall, which `uvx` or the like may run; None if it is no hall."""
    for number, (program, word) in enumerate(pairwise(words)):
        is_ours = os.path.basename(program) in _SCRIPTS or tuple(words[number - 1 : number + 1]) == _AS_MODULE
        if is_ours and word == "serve":
            return words[number + 2 :]
    return None

"""How does a server of a client become a member of the guild? With the same command, and without its secrets.

A value that stands in the environment, in a header or behind an option such as `--token` may be a secret. It stays in
the client's file; the member gets a reference to a variable instead, `${NAME}`, which the hall's environment must have.

Pure.
"""

import os
import re
from collections.abc import Callable, Collection, Mapping
from itertools import pairwise
from shlex import quote
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlsplit

from contexthall.clients.servers import Server

_SHELL = "/bin/sh"
_REFERENCE = re.compile(r"\$\{(?:(env|input):)?([A-Za-z_][\w-]*)(?::-[^}]*)?\}|^\$([A-Za-z_]\w*)$", re.ASCII)
_PLACE = re.compile(r"\$\{(workspaceFolder|userHome)\}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OTHER = re.compile(r"\$\{[^}]*\}")
_SECRET_OPTION = re.compile(r"token|secret|passw|api.?key|access.?key|credential|bearer|authorization", re.IGNORECASE)
_SECRET_LOOK = re.compile(r"(sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[a-z]|AKIA|AIza|eyJ|hf|npm)[-_A-Za-z0-9]{12,}")

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Found(NamedTuple):
    """A server that may become a member, or the reason why it cannot."""

    name: str
    command: tuple[str, ...] = ()
    """The program and its arguments; empty if the server is reached at an address."""
    env: Mapping[str, str] = _NOTHING
    url: str = ""
    headers: Mapping[str, str] = _NOTHING
    needs: tuple[str, ...] = ()
    """The variables that the hall's environment must have."""
    reason: str = ""


class Origin(NamedTuple):
    """Where a file comes from, which decides what its words stand for."""

    project: str
    """The directory in which its client starts servers."""
    home: str
    is_there: Callable[[str], bool]
    """Whether something stands at a path."""
    keep: Collection[str] = ()
    """Variables whose values are no secrets, and are copied."""


def as_member(server: Server, origin: Origin) -> Found:
    """Say what a server would be as a member."""
    if server.fault:
        return Found(server.name, reason=server.fault)
    if server.is_off:
        return Found(server.name, reason="it is switched off")
    if server.served_project is not None:
        return Found(server.name, reason="it is a hall itself")
    try:
        return _Translation(server, origin).member()
    except _UntranslatableError as error:
        return Found(server.name, reason=str(error))


class _UntranslatableError(ValueError):
    """Something that a manifest cannot say."""


class _Translation:
    """One server on its way into the guild, and the variables that it turns out to need."""

    def __init__(self, server: Server, origin: Origin) -> None:
        self._server = server
        self._origin = origin
        self._prefix = re.sub(r"[^A-Z0-9]+", "_", server.name.upper()).strip("_") or "SERVER"
        self._needs: dict[str, None] = {}

    def member(self) -> Found:
        if self._server.url:
            return self._remote()
        command = self._command()
        inner = {name: f"${{{name}}}" for name in self._needs}  # which the command itself refers to
        env = {name: self._value(name, value) for name, value in self._server.env.items()}
        return Found(self._server.name, command=command, env={**inner, **env}, needs=tuple(self._needs))

    def _remote(self) -> Found:
        url = self._placed(self._server.url)
        if _OTHER.search(url) or _holds_secret(url):
            raise _UntranslatableError("its address holds a secret, or a variable, which a manifest cannot say")
        headers = {name: self._header(name, value) for name, value in self._server.headers.items()}
        return Found(self._server.name, url=url, headers=headers, needs=tuple(self._needs))

    def _value(self, name: str, value: str) -> str:
        """Say what a variable of the server's environment shall be."""
        if not _VARIABLE.fullmatch(name):
            raise _UntranslatableError(f"its environment has {name!r}, which no reference can name")
        if _REFERENCE.search(value):
            return self._referring(value)
        return _literal(self._placed(value)) if name in self._origin.keep else self._need(name)

    def _header(self, name: str, value: str) -> str:
        if _REFERENCE.search(value):
            return self._referring(value)
        variable = f"{self._prefix}_{re.sub(r'[^A-Z0-9]+', '_', name.upper())}"
        if variable in self._origin.keep:
            return _literal(value)
        scheme = re.match(r"(?:Bearer|Basic|Token) ", value, re.IGNORECASE)
        return (scheme[0] if scheme else "") + self._need(variable)

    def _referring(self, value: str) -> str:
        """Spell the references in a value as a manifest does."""
        said = _REFERENCE.sub(self._reference, self._placed(value))
        if set(_OTHER.findall(said)) - {f"${{{name}}}" for name in self._needs}:
            raise _UntranslatableError("it uses a variable of its client that has no counterpart here")
        return said

    def _reference(self, found: re.Match[str]) -> str:
        kind, name, bare = found.groups()
        name = name or bare
        return self._need(re.sub(r"\W", "_", name.upper(), flags=re.ASCII) if kind == "input" else name)

    def _need(self, name: str) -> str:
        if not _VARIABLE.fullmatch(name):
            raise _UntranslatableError(f"it refers to {name!r}, which is no name of a variable")
        self._needs[name] = None
        return f"${{{name}}}"

    def _command(self) -> tuple[str, ...]:
        """Give the command; through a shell if it needs another directory, or an argument from the environment."""
        words = [self._placed(word) for word in (self._server.command, *self._server.args)]
        directory = self._directory(words)
        secret = [_is_secret(before, word) for before, word in pairwise(["", *words])]
        if not directory and not any(secret) and not any(_OTHER.search(word) for word in words):
            return tuple(words)
        spoken = [
            self._word(number, word, is_secret)
            for number, (word, is_secret) in enumerate(zip(words, secret, strict=True))
        ]
        entering = f"cd {quote(directory)} && " if directory else ""
        return (_SHELL, "-c", f"{entering}exec {' '.join(spoken)}")

    def _word(self, number: int, word: str, is_secret: bool) -> str:
        """Spell a word of the command for the shell."""
        if _REFERENCE.search(word):
            parts = re.split(r"(\$\{\w+\})", self._referring(word), flags=re.ASCII)
            return "".join(f'"{part}"' if part.startswith("${") else quote(part) for part in parts if part)
        if _OTHER.search(word):
            raise _UntranslatableError("it uses a variable of its client that has no counterpart here")
        if not is_secret:
            return quote(word)
        option, equals, _ = word.partition("=") if word.startswith("-") else ("", "", word)
        variable = self._need(f"{self._prefix}_ARGUMENT_{number}")
        return f'{quote(option + equals) if option else ""}"{variable}"'

    def _directory(self, words: list[str]) -> str:
        """Say where the command must run; empty if it does not matter."""
        if self._server.cwd:
            return os.path.normpath(os.path.join(self._origin.project, self._placed(self._server.cwd)))
        project = self._origin.project
        relative = (word for word in words if word and not word.startswith(("-", "/")))
        return project if any(self._origin.is_there(os.path.join(project, word)) for word in relative) else ""

    def _placed(self, text: str) -> str:
        """Put paths in the place of the variables that stand for some."""
        places = {"workspaceFolder": self._origin.project, "userHome": self._origin.home}
        return _PLACE.sub(lambda found: places[found[1]], text)


def _literal(text: str) -> str:
    """Spell a text in which a manifest shall see no reference."""
    return text.replace("${", "$${")


def _is_secret(before: str, word: str) -> bool:
    """Say whether a word of a command line looks like a secret."""
    option, equals, value = word.partition("=")
    if word.startswith("-"):
        return bool(equals and value and (_SECRET_OPTION.search(option) or _holds_secret(value)))
    return bool(before.startswith("-") and "=" not in before and _SECRET_OPTION.search(before)) or _holds_secret(word)


def _holds_secret(text: str) -> bool:
    """Say whether a text has the look of a secret: a well-known beginning, or a password or a key in an address."""
    if _SECRET_LOOK.match(text):
        return True
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and (parts.password or any(map(_SECRET_OPTION.search, parts.query.split("&")))))

"""Translation of a client's server into a member of the guild: the same command, without its secrets.

A value that stands in the environment, in a header or behind an option such as `--token` may be a secret. It stays in
the client's file; the member gets a reference to a variable instead, `${NAME}`, which the hall's environment must have.
Two servers to which one variable would mean different things get a variable each: neither shall be sent the secret of
the other.

Pure.
"""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from shlex import quote
from types import MappingProxyType
from typing import NamedTuple

from contexthall.clients.secret_detection import has_secret, secret_in, secrets_in
from contexthall.clients.servers import ConfiguredServer

_SHELL = "/bin/sh"
_REFERENCE = re.compile(r"\$\{(?:(env|input):)?([A-Za-z_][\w-]*)(?::-[^}$]*)?\}|^\$([A-Za-z_]\w*)$", re.ASCII)
_PLAIN_REFERENCE = re.compile(r"(\$\{[A-Za-z_]\w*\})", re.ASCII)
_MANIFEST_REFERENCE = re.compile(r"\$\$\{|\$\{([A-Za-z_]\w*)\}", re.ASCII)
_PLACE = re.compile(r"\$\{(workspaceFolder|userHome)\}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_USES_DIRECTORY = re.compile(r"sh|bash|zsh|make|just|npm|pnpm|yarn|uv|poetry|pdm|hatch|cargo|go|bun|deno")
"""Programs that find what they run in the directory in which they are started."""
_OTHER = re.compile(r"\$\{[^}]*\}")

_NOTHING: Mapping[str, str] = MappingProxyType({})


class ImportedServer(NamedTuple):
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
    """Where a file comes from, which decides what its variables mean."""

    project: str
    """The directory in which its client starts servers."""
    home: str
    is_there: Callable[[str], bool]
    """Whether something stands at a path."""
    keep: Collection[str] = ()
    """Variables whose values are no secrets, and are copied."""


def as_members(servers: Sequence[ConfiguredServer], origin: Origin) -> list[ImportedServer]:
    names = _VariableNames(servers)
    return [_as_member(server, origin, names) for server in servers]


class _VariableNames:
    """The variables of a file: those that its servers name, and those that are made for one of them."""

    def __init__(self, servers: Sequence[ConfiguredServer]) -> None:
        self.contested = _contested(servers)
        self._taken = {name for server in servers for name in (*server.env, *_referred(server))}
        self._numbered: dict[str, Iterator[str]] = {}

    def new(self, wanted: str) -> str:
        """Return an unused name: the one that is wanted, if need be with a number."""
        numbered = (f"{wanted}_{number}" for number in count(2))
        candidates = self._numbered.setdefault(wanted, chain([wanted], numbered))
        name = next(each for each in candidates if each not in self._taken)
        self._taken.add(name)
        return name


def _contested(servers: Iterable[ConfiguredServer]) -> frozenset[str]:
    """Return the variables to which two servers give different values, or one gives a value and another refers."""
    values = defaultdict[str, set[str]](set)
    for server in servers:
        own = _NOTHING if server.url else server.env
        for name, value in ({name: f"${{{name}}}" for name in _referred(server)} | dict(own)).items():
            values[name].add(value)
    return frozenset(name for name, given in values.items() if len(given) > 1)


def _referred(server: ConfiguredServer) -> set[str]:
    texts = (server.command, *server.args, server.cwd, server.url, *server.headers.values(), *server.env.values())
    return {_name_in(found) for text in texts for found in _REFERENCE.finditer(text)}


def _as_member(server: ConfiguredServer, origin: Origin, names: _VariableNames) -> ImportedServer:
    if server.fault:
        return ImportedServer(server.name, reason=server.fault)
    if server.is_off:
        return ImportedServer(server.name, reason="it is switched off")
    if server.is_hall:
        return ImportedServer(server.name, reason="it is a hall itself")
    if server.env_file:
        return ImportedServer(server.name, reason="it reads variables from a file, which a manifest cannot say")
    try:
        return _Translation(server, origin, names).member()
    except _UntranslatableError as error:
        return ImportedServer(server.name, reason=str(error))


class _UntranslatableError(ValueError):
    """Something that a manifest cannot say."""


class _Translation:
    """One server on its way into the guild, and the variables that it turns out to need."""

    def __init__(self, server: ConfiguredServer, origin: Origin, names: _VariableNames) -> None:
        self._server = server
        self._origin = origin
        self._names = names
        self._prefix = names.new(_prefix(server.name))
        self._needs: dict[str, None] = {}

    def member(self) -> ImportedServer:
        if self._server.url:
            return self._remote()
        command = self._command()
        inner = {name: f"${{{name}}}" for name in self._needs}  # which the command itself refers to
        env = {**inner, **{name: self._value(name, value) for name, value in self._server.env.items()}}
        return ImportedServer(self._server.name, command=command, env=env, needs=_needed(env.values()))

    def _remote(self) -> ImportedServer:
        url = self._expand_folders(self._server.url)
        if _OTHER.search(url) or has_secret(url):
            raise _UntranslatableError("its address holds a secret, or a variable, which a manifest cannot say")
        headers = {name: self._header(name, value) for name, value in self._server.headers.items()}
        return ImportedServer(self._server.name, url=url, headers=headers, needs=_needed(headers.values()))

    def _value(self, name: str, value: str) -> str:
        """Return the value of a variable of the member's environment."""
        if not _VARIABLE.fullmatch(name):
            raise _UntranslatableError(f"its environment has {name!r}, which no reference can name")
        if _refers(value):
            return self._translate_references(value)
        variable = self._own(name) if name in self._names.contested else name
        if name in self._origin.keep or variable in self._origin.keep:
            return _literal(self._expand_folders(value))
        return self._need(variable)

    def _header(self, name: str, value: str) -> str:
        if _refers(value):
            return self._translate_references(value)
        variable = self._own(_as_variable(name))
        if variable in self._origin.keep:
            return _literal(value)
        scheme = re.match(r"(?:Bearer|Basic|Token) ", value, re.IGNORECASE)
        return (scheme[0] if scheme else "") + self._need(variable)

    def _translate_references(self, value: str) -> str:
        """Translate the references in a value into those of a manifest."""
        text = _REFERENCE.sub(lambda found: self._need(_name_in(found)), self._expand_folders(value))
        # A manifest takes `$${` for `${` itself.
        if "$${" in text or set(_OTHER.findall(text)) - {f"${{{name}}}" for name in self._needs}:
            raise _UntranslatableError("it uses a variable of its client that has no counterpart here")
        return text

    def _own(self, name: str) -> str:
        """Return a variable that no other server has."""
        return self._names.new(f"{self._prefix}_{name}")

    def _need(self, name: str) -> str:
        if not _VARIABLE.fullmatch(name):
            raise _UntranslatableError(f"it refers to {name!r}, which is no name of a variable")
        self._needs[name] = None
        return f"${{{name}}}"

    def _command(self) -> tuple[str, ...]:
        """Return the command; through a shell if it needs another directory, or an argument from the environment."""
        words = [self._expand_folders(word) for word in (self._server.command, *self._server.args)]
        directory = self._directory(words)
        begins = secrets_in(_REFERENCE.sub("", word) for word in words)
        shell_words = list(map(self._shell_argument, count(), words, begins))
        if not directory and shell_words == list(map(quote, words)):
            return tuple(words)
        entering = f"cd {self._shell_word(directory)} && " if directory else ""
        return (_SHELL, "-c", f"{entering}exec {' '.join(shell_words)}")

    def _shell_argument(self, number: int, word: str, begin: int | None) -> str:
        """Quote a word of the command for the shell, with a variable from where its secret begins, if it has one."""
        if begin is None:
            return self._shell_word(word)
        variable = self._own(f"ARGUMENT_{number}")
        if variable in self._origin.keep:
            return self._shell_word(word)
        shown = "" if _REFERENCE.search(word) else word[:begin]
        return f'{quote(shown) if shown else ""}"{self._need(variable)}"'

    def _shell_word(self, word: str) -> str:
        """Quote a word for the shell, which expands its references and nothing else."""
        if not _OTHER.search(word) and not _REFERENCE.search(word):
            return quote(word)
        parts = _PLAIN_REFERENCE.split(self._translate_references(word))
        return "".join(f'"{part}"' if _PLAIN_REFERENCE.fullmatch(part) else quote(part) for part in parts if part)

    def _directory(self, words: list[str]) -> str:
        """Return the directory in which the command must run; empty if it does not matter."""
        project, named = self._origin.project, self._expand_folders(self._server.cwd)
        if _REFERENCE.match(named):
            return named
        if named:
            return os.path.normpath(os.path.join(project, named))
        relative = (word for word in words if word and not word.startswith(("-", "/")))
        if _USES_DIRECTORY.fullmatch(os.path.basename(words[0])) or "-m" in words:
            return project
        return project if any(self._origin.is_there(os.path.join(project, word)) for word in relative) else ""

    def _expand_folders(self, text: str) -> str:
        """Replace the client's variables for folders by their paths."""
        places = {"workspaceFolder": self._origin.project, "userHome": self._origin.home}
        return _PLACE.sub(lambda found: places[found[1]], text)


def _literal(text: str) -> str:
    """Escape a text in which a manifest must see no reference."""
    return text.replace("${", "$${")


def _refers(value: str) -> bool:
    """Return whether a value has references, and no secret beside them."""
    return bool(_REFERENCE.search(value)) and secret_in("", _REFERENCE.sub("", value)) is None


def _name_in(reference: re.Match[str]) -> str:
    """Return the variable of the hall's environment that a client's reference means."""
    kind, name, bare = reference.groups()
    return re.sub(r"\W", "_", name.upper(), flags=re.ASCII) if kind == "input" else name or bare


def _needed(values: Iterable[str]) -> tuple[str, ...]:
    """Return the variables to which values of a manifest refer."""
    names = (found[1] for value in values for found in _MANIFEST_REFERENCE.finditer(value))
    return tuple(dict.fromkeys(filter(None, names)))


def _prefix(name: str) -> str:
    """Return the prefix of a server's own variables."""
    prefix = _as_variable(name).strip("_") or "SERVER"
    return f"_{prefix}" if prefix[0].isdigit() else prefix


def _as_variable(name: str) -> str:
    return re.sub(r"[^A-Z0-9]+", "_", name.upper())

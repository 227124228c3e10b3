"""The manifest of a member: which server it is, how it is started or reached, and its time-outs.

Pure: bytes in, a value or a reason out. A reason is a sentence that names the key and no path.
"""

import math
import os
import re
import unicodedata
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from contexthall.core import limits, wire
from contexthall.guild.members.switches import Switches

FILE_NAMES = ("plugin.json", "guild-member.json")
"""What a manifest may be called, the one that is preferred first."""
KEYRING = "keyring:"
"""Begins the name of a secret of the keyring, where else the name of a variable stands."""
FIRST_VERSION = "1.0.0"
"""Of a member that does not say which it is."""
TOO_LARGE = f"the manifest is larger than {limits.MANIFEST_BYTES} bytes"
PORT = "${PORT}"
"""What stands for a free port in the arguments of an http server."""
_VARIABLE = re.compile(r"\$\$\{|\$\{((?:keyring:)?[A-Za-z_][A-Za-z0-9_]*)\}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"(?:[!-~](?:[\t -~]*[!-~])?)?")

NOTHING: Mapping[str, str] = MappingProxyType({})


class ManifestError(ValueError):
    """A manifest that cannot be used, and the reason."""


class Launch(NamedTuple):
    """How a server is started, or where it is reached."""

    transport: Literal["stdio", "http"] = "stdio"
    command: str = ""
    """Empty if the server is reached by its url only."""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = NOTHING
    """As written: `filled_in` puts variables in the place of `${NAME}`."""
    url: str = ""
    headers: Mapping[str, str] = NOTHING
    """What is sent with each request over http; as written, like `env`."""

    @property
    def variables(self) -> list[str]:
        """The names of the variables that it needs, sorted."""
        return _variables((*self.env.values(), *self.headers.values()))

    @property
    def runs_package(self) -> bool:
        """Whether the command may have to download what it starts."""
        command = os.path.basename(self.command)
        return not {(command, ""), (command, "".join(self.args[:1]))}.isdisjoint(_PACKAGE_RUNNERS)

    def command_line(self, port: int) -> list[str]:
        """Return the command and its arguments; an http server is told its port there, others have none."""
        return [self.command, *(each.replace(PORT, str(port)) if port else each for each in self.args)]

    def spec(self) -> dict[str, object]:
        """Return all that decides what is started, as JSON values."""
        sets = {key: dict(sorted(values.items())) for key, values in (("env", self.env), ("headers", self.headers))}
        return self._asdict() | {"args": list(self.args), **sets}


# A command, and what its first argument must be; empty if any will do.
_PACKAGE_RUNNERS = {
    ("npx", ""),
    ("bunx", ""),
    ("pnpx", ""),
    ("uvx", ""),
    ("pipx", "run"),
    ("npm", "exec"),
    ("pnpm", "dlx"),
    ("yarn", "dlx"),
    ("bun", "x"),
    ("uv", "run"),
    ("uv", "tool"),
    ("docker", "run"),
    ("podman", "run"),
}


class MemberManifest(NamedTuple):
    """What a member says of itself."""

    name: str
    version: str
    launch: Launch
    display_name: str = ""
    description: str = ""
    start_seconds: float = limits.MEMBER_START_SECONDS
    first_start_seconds: float = limits.MEMBER_START_SECONDS
    """Until its tools were listed once: what runs packages may have to download this one."""
    tool_seconds: float = limits.MEMBER_TOOL_SECONDS
    idle_seconds: float = limits.MEMBER_IDLE_SECONDS
    switches: Switches = Switches()


def parse_manifest(data: bytes) -> MemberManifest:
    """Return the manifest, or raise ManifestError with the reason why it cannot be used."""
    top = _Part("", _parsed(data))
    if "mcp" not in top.fields:
        raise ManifestError("`mcp` is missing")
    mcp = _Part("mcp.", top.table("mcp"))
    launch = _launch(top, mcp)
    first = limits.FIRST_START_SECONDS if launch.runs_package else limits.MEMBER_START_SECONDS
    return MemberManifest(
        name=_name(top),
        version=_version(top),
        display_name=top.text("displayName"),
        description=top.text("description"),
        launch=launch,
        start_seconds=mcp.seconds("startTimeoutSeconds", limits.MEMBER_START_SECONDS),
        first_start_seconds=mcp.seconds("startTimeoutSeconds", first),
        tool_seconds=mcp.seconds("toolTimeoutSeconds", limits.MEMBER_TOOL_SECONDS),
        idle_seconds=mcp.seconds("idleSeconds", limits.MEMBER_IDLE_SECONDS),
        switches=_switches(_Part("tools.", top.table("tools"))),
    )


def write_manifest(name: str, launch: Launch, *, version: str = FIRST_VERSION) -> bytes:
    """Return the bytes of a manifest for a server that is started, or reached, like this."""
    mcp = {key: value for key, value in launch.spec().items() if value and key != "transport"}
    manifest = {"name": name, "version": version, "transport": launch.transport, "mcp": mcp}
    try:
        data = (wire.pretty(manifest) + "\n").encode("utf-8")
    except UnicodeEncodeError:
        raise ManifestError("its name and its command must be UTF-8 text") from None
    parse_manifest(data)
    return data


def filled_in(values: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the values with each `${NAME}` replaced; `$${` stands for `${` itself, and nothing else is special."""

    def variable(found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return "${"
        if name not in environment:
            is_secret = name.startswith(KEYRING)
            what = (
                f"secret {name.removeprefix(KEYRING)} of the keyring" if is_secret else f"environment variable {name}"
            )
            raise ManifestError(f"needs the {what}")
        return environment[name]

    return {key: _VARIABLE.sub(variable, value) for key, value in values.items()}


def filled_in_headers(headers: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return headers filled in likewise, without a line end behind a variable's value, or raise ManifestError."""
    used = {name: environment[name] for name in _variables(headers.values()) if name in environment}
    clean = {name: re.sub(r"\r?\n\Z", "", value) for name, value in used.items()}
    for name, value in clean.items():
        if fault := _header_fault(value):
            raise ManifestError(f"cannot be sent the value of the environment variable {name}: it has {fault}")
    filled = filled_in(headers, clean)
    for header, value in filled.items():
        if value != value.strip():
            names = ", ".join(_variables([headers[header]]))
            raise ManifestError(f"cannot be sent the header {header}: with {names}, it begins or ends with a blank")
    return filled


def _variables(values: Iterable[str]) -> list[str]:
    return sorted({found[1] for value in values for found in _VARIABLE.finditer(value) if found[1]})


def _header_fault(value: str) -> str:
    """Return what HTTP cannot carry in a header; empty if it can carry it."""
    if "\n" in value or "\r" in value:
        return "a line break"
    if not value.isascii():
        return "characters that are not ASCII"
    return "" if all(character == "\t" or character.isprintable() for character in value) else "control characters"


class _Part(NamedTuple):
    """An object in the manifest, with the prefix of its keys in messages."""

    prefix: str
    fields: Mapping[str, object]

    def text(self, key: str) -> str:
        """Return a string, empty if there is none."""
        value = self.fields.get(key, "")
        if not isinstance(value, str):
            raise ManifestError(f"`{self.prefix}{key}` must be a string")
        return value

    def required(self, key: str) -> str:
        """Return a string that must be there and not be empty."""
        if key not in self.fields:
            raise ManifestError(f"`{self.prefix}{key}` is missing")
        if not (text := self.text(key)):
            raise ManifestError(f"`{self.prefix}{key}` must not be empty")
        return text

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.fields.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise ManifestError(f"`{self.prefix}{key}` must be a list of strings")
        return tuple(value)

    def table(self, key: str) -> dict[str, object]:
        value = self.fields.get(key, {})
        if not isinstance(value, dict):
            raise ManifestError(f"`{self.prefix}{key}` must be an object")
        return value

    def strings(self, key: str) -> dict[str, str]:
        """Return an object of strings, empty if there is none."""
        value = self.fields.get(key, {})
        if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
            raise ManifestError(f"`{self.prefix}{key}` must be an object of strings")
        return value

    def seconds(self, key: str, default: float) -> float:
        value = self.fields.get(key, default)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
            return float(value)
        raise ManifestError(f"`{self.prefix}{key}` must be a number of seconds above 0")


def _parsed(data: bytes) -> dict[str, object]:
    if len(data) > limits.MANIFEST_BYTES:
        raise ManifestError(TOO_LARGE)
    try:
        value = wire.parse(data.removeprefix(BOM_UTF8))
    except UnicodeDecodeError:
        raise ManifestError("the manifest is not UTF-8 text") from None
    except UnicodeEncodeError:
        raise ManifestError("the manifest has a lone surrogate, which is no text") from None
    except ValueError as error:
        raise ManifestError(f"the manifest is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ManifestError("the manifest must be a JSON object")
    return value


def _name(top: _Part) -> str:
    name = top.required("name")
    if len(name) > limits.MEMBER_NAME_CHARACTERS:
        raise ManifestError(f"`name` must have at most {limits.MEMBER_NAME_CHARACTERS} characters")
    if any(unicodedata.category(character) == "Cc" for character in name):
        raise ManifestError("`name` must not have control characters")
    if name != name.strip():
        raise ManifestError("`name` must not begin or end with white space")
    return name


def _version(top: _Part) -> str:
    version = top.fields.get("version")
    if isinstance(version, int | float) and not isinstance(version, bool):
        raise ManifestError("`version` must be a string, not a number: put it in quotes")
    return top.required("version")


def _switches(part: _Part) -> Switches:
    return Switches(part.texts("allow") if "allow" in part.fields else None, part.texts("deny"))


def _launch(top: _Part, mcp: _Part) -> Launch:
    """Return how the server is started; what its transport has no use for is checked, then left out."""
    command = mcp.required("command") if "command" in mcp.fields else ""
    url = mcp.required("url") if "url" in mcp.fields else ""
    if not command and not url:
        raise ManifestError("`mcp.command` or `mcp.url` is needed")
    args, env, headers = mcp.texts("args"), mcp.strings("env"), mcp.strings("headers")
    _check_values(command, args, env, headers)
    # A manifest that names no transport and has nothing but a url means http.
    transport = top.fields.get("transport", "stdio" if command else "http")
    if transport not in ("stdio", "http"):
        raise ManifestError('`transport` must be "stdio" or "http"')
    if transport == "stdio":
        if not command:
            raise ManifestError('`mcp.command` is missing: only with `transport` "http" is `mcp.url` enough')
        return Launch(command=command, args=args, env=env)
    _check_http(command, args, url)
    return Launch(transport="http", command=command, args=args, env=env, url=url, headers=headers)


def _check_http(command: str, args: tuple[str, ...], url: str) -> None:
    if command and url:
        raise ManifestError(
            "`mcp.command` and `mcp.url` exclude each other over http: "
            "drop `mcp.url` if the hall shall start the server, else `mcp.command`"
        )
    if url and not _is_web_address(url):
        raise ManifestError("`mcp.url` must begin with http:// or https:// and name a host")
    if command and not any(PORT in arg for arg in args):
        raise ManifestError(f"`mcp.args` must have `{PORT}` where an http server is told its port")


def _is_web_address(url: str) -> bool:
    from urllib.parse import urlsplit  # noqa: PLC0415 - 2 ms, and no start of members over pipes waits

    # urlsplit drops tabs and line breaks without a word, so they are looked for first.
    if any(character.isspace() or unicodedata.category(character) == "Cc" for character in url):
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _check_values(command: str, args: tuple[str, ...], env: Mapping[str, str], headers: Mapping[str, str]) -> None:
    """Raise ManifestError for what no process can be given, and no request can carry."""
    for key, texts in (("command", (command,)), ("args", args), ("env", (*env, *env.values()))):
        if any("\0" in text for text in texts):
            raise ManifestError(f"`mcp.{key}` must not have NUL characters")
    if any(not name or "=" in name for name in env):
        raise ManifestError("`mcp.env` must have names that are not empty and have no `=`")
    if not all(_HEADER_NAME.fullmatch(name) and _HEADER_VALUE.fullmatch(value) for name, value in headers.items()):
        raise ManifestError("`mcp.headers` must have names and values that HTTP can carry")

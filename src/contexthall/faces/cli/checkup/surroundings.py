"""What does the hall run on? Its own installation, and the port at which it would listen.

Rules are pure: which packages are installed, and what is found on the PATH, are arguments. The port is asked, not
served: whatever answers there was written by others, and gets two seconds.
"""

import asyncio
import errno
import operator
import platform
import re
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from typing import Any, NamedTuple

from contexthall import __version__
from contexthall.core.wire import parse
from contexthall.faces.cli.checkup.findings import Finding, command
from contexthall.faces.web.address import LOOPBACK

_TELLING = ("mcp", "pydantic", "starlette")
"""The packages that a report of a mistake should name."""
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[^]]*\])?\s*\(?(?P<range>[^;()]*)\)?(?P<marker>;.*)?")
_BOUND = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*([^\s,]+)\s*")
_VERSION = re.compile(r"(\d+(?:\.\d+)*)(.*)")
_PREVIEW = re.compile(r"[._-]?(a|b|c|rc|alpha|beta|pre|preview|dev)\d*", re.IGNORECASE)
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_ASKING_SECONDS = 2.0
_LONGEST_ANSWER = 1 << 16
_WANTS_TOKEN = b"This hall wants its token"


class Requirement(NamedTuple):
    """A package that the hall needs, and in which range of versions."""

    name: str
    range: str


def requirements() -> tuple[Requirement, ...] | None:
    """Say what the installed package asks for; None if it was not installed as one."""
    try:
        declared = metadata.requires("contexthall") or ()
    except metadata.PackageNotFoundError:
        return None
    return tuple(sorted(read_requirements(declared)))


def read_requirements(declared: Sequence[str]) -> Iterator[Requirement]:
    """Read requirements as a package spells them; those of extras are nobody's duty."""
    for text in declared:
        found = _REQUIREMENT.fullmatch(text)
        if found is not None and not found["marker"]:
            yield Requirement(found["name"], found["range"].replace(" ", ""))


def installed_version(name: str) -> str:
    """Say which version of a package is installed; empty if none is."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def fits(version: str, wanted: str) -> bool:
    """Say whether a version lies in a range such as `<3,>=2.3`."""
    return all(_COMPARE[sign](_order(version), _order(bound)) for sign, bound in bounds(wanted))


def bounds(wanted: str) -> list[tuple[str, str]]:
    """Take a range apart; ValueError for what is none."""
    found = [(part, _BOUND.fullmatch(part)) for part in wanted.split(",") if part.strip()]
    if unknown := [part for part, match in found if match is None]:
        raise ValueError(f"{unknown[0]!r} bounds no version")
    return [(match[1], match[2]) for _, match in found if match is not None]


def _order(version: str) -> tuple[tuple[int, ...], bool]:
    """Give what versions are ordered by: 1.10 comes after 1.9, and 2.0rc1 before 2.0, which is the same as 2."""
    found = _VERSION.match(version)
    if found is None:
        return (), False
    numbers = [int(part) for part in found[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers), _PREVIEW.match(found[2]) is None


# What is found:


def examine_installation(
    wanted: Sequence[Requirement] | None, version_of: Callable[[str], str] = installed_version
) -> Iterator[Finding]:
    """Say which hall this is, on which Python, and whether its packages are those it asks for."""
    facts = {"version": __version__, "python": platform.python_version(), "executable": sys.executable}
    system = f"{platform.system()} {platform.machine()}"
    told = f"{__version__}, Python {facts['python']}, {system}"
    yield Finding("ok", "contexthall", told, facts={**facts, "platform": system})
    if wanted is None:
        yield Finding("note", "packages", "contexthall is not installed as a package, so nothing says what it needs")
        return
    versions = {each.name: version_of(each.name) for each in wanted}
    misfits = [each for each in wanted if not versions[each.name] or not fits(versions[each.name], each.range)]
    for each in misfits:
        is_there = f"version {versions[each.name]}" if versions[each.name] else "not installed"
        remedy = command(sys.executable, "-m", "pip", "install", f"{each.name}{each.range}")
        yield Finding("wrong", each.name, f"{is_there}, {each.range or 'any version'} is needed", remedy)
    telling = ", ".join(f"{name} {versions[name]}" for name in _TELLING if versions.get(name))
    sound = len(wanted) - len(misfits)
    yield Finding("ok", "packages", f"{sound} of {len(wanted)} fit: {telling}", facts={"packages": versions})


def examine_command(found: str, ours: Sequence[str], real: Callable[[str], str]) -> Finding:
    """Say whether `context`, typed, is this hall; `ours` are the places of its command, `real` follows symlinks."""
    if found and real(found) in map(real, ours):
        return Finding("ok", "context", f"on the PATH: {found}", facts={"command": found})
    place = next(iter(ours), "")
    folder = place.rpartition("/")[0]
    remedy = f'export PATH={command(folder)}:"$PATH"' if folder else ""
    told = f"typed, it is another command: {found}" if found else "not on the PATH"
    return Finding("note", "context", f"{told}; this one is {place}" if place else told, remedy, {"command": found})


def examine_port(port: int, elsewhere: str) -> Finding:
    """Say whether the hall could listen at a port, and who does if it could not; `elsewhere` takes another one."""
    subject, facts = f"port {port}", {"port": port}
    try:
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((LOOPBACK, port))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            told = f"cannot be used: {error.strerror}"
            return Finding("note", subject, told, elsewhere, {**facts, "state": "refused"})
        return _examine_listener(subject, facts, asyncio.run(_answer(port)), elsewhere)
    return Finding("ok", subject, "free", facts={**facts, "state": "free"})


def _examine_listener(subject: str, facts: Mapping[str, object], answer: bytes, elsewhere: str) -> Finding:
    """Judge whoever listens by what it says of its health."""
    version = _version_of_hall(answer)
    if version == __version__:
        return Finding("ok", subject, f"a Context Hall {version} listens", facts={**facts, "state": "hall"})
    if version:
        told = f"a Context Hall {version} listens, and this is {__version__}: start that one again"
        return Finding("note", subject, told, facts={**facts, "state": "hall"})
    if _WANTS_TOKEN in answer:
        return Finding("ok", subject, "a Context Hall listens that wants its token", facts={**facts, "state": "hall"})
    return Finding("note", subject, "something else listens", elsewhere, {**facts, "state": "taken"})


def _version_of_hall(answer: bytes) -> str:
    with suppress(ValueError):
        health = parse(answer.partition(b"\r\n\r\n")[2])
        if isinstance(health, dict) and health.get("status") == "ok" and isinstance(health.get("version"), str):
            return str(health["version"])
    return ""


async def _answer(port: int) -> bytes:
    """Ask whoever listens how it is; give what was heard within the time, head and body."""
    heard = b""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(_ASKING_SECONDS):
            reading, writing = await asyncio.open_connection(LOOPBACK, port)
            try:
                host = f"{LOOPBACK}:{port}"
                writing.write(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
                while len(heard) < _LONGEST_ANSWER and (chunk := await reading.read(_LONGEST_ANSWER)):
                    heard += chunk
            finally:
                writing.close()
    return heard

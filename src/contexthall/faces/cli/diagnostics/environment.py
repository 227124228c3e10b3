"""Checks of the installation, of the command on the PATH, and of the port at which the hall would listen.

Pure but for the port: the installed versions and the commands on the PATH are arguments. Who
listens there is found out by `neighbour.py`.
"""

import errno
import platform
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata

from packaging.requirements import Requirement

from contexthall import __version__
from contexthall.faces.cli.diagnostics.findings import DoctorFinding, Mark, command
from contexthall.faces.web.address import LOOPBACK
from contexthall.faces.web.neighbour import UNTOLD, hall_at

_REPORTED = ("mcp", "pydantic", "starlette")
"""The packages that a bug report should name."""


def requirements() -> tuple[Requirement, ...] | None:
    """Return what the installed package requires; None if it was not installed as one."""
    try:
        return read_requirements(metadata.requires("contexthall") or ())
    except metadata.PackageNotFoundError:
        return None


def read_requirements(declared: Sequence[str]) -> tuple[Requirement, ...]:
    """Parse the requirements of a package, sorted by name, without those of its extras."""
    parsed = sorted(map(Requirement, declared), key=lambda each: each.name)
    return tuple(each for each in parsed if each.marker is None)


def installed_version(name: str) -> str:
    """Return the installed version of a package; empty if there is none."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def fits(version: str, wanted: Requirement) -> bool:
    """Return whether a version meets a requirement; a pre-release that was installed on purpose may."""
    return wanted.specifier.contains(version, prereleases=True)


def check_installation(
    wanted: Sequence[Requirement] | None, version_of: Callable[[str], str] = installed_version
) -> Iterator[DoctorFinding]:
    """Check the version, the Python, and whether the installed packages meet the requirements."""
    facts = {"version": __version__, "python": platform.python_version(), "executable": sys.executable}
    system = f"{platform.system()} {platform.machine()}"
    text = f"{__version__}, Python {facts['python']}, {system}"
    yield DoctorFinding("ok", "contexthall", text, facts={**facts, "platform": system})
    if wanted is None:
        yield DoctorFinding(
            "note", "packages", "contexthall is not installed as a package, so nothing says what it needs"
        )
        return
    versions = {each.name: version_of(each.name) for each in wanted}
    misfits = [each for each in wanted if not fits(versions[each.name], each)]
    for each in misfits:
        is_there = f"version {versions[each.name]}" if versions[each.name] else "not installed"
        remedy = command(sys.executable, "-m", "pip", "install", f"{each.name}{each.specifier}")
        yield DoctorFinding("wrong", each.name, f"{is_there}, {each.specifier or 'any version'} is needed", remedy)
    telling = ", ".join(f"{name} {versions[name]}" for name in _REPORTED if versions.get(name))
    sound = len(wanted) - len(misfits)
    yield DoctorFinding("ok", "packages", f"{sound} of {len(wanted)} fit: {telling}", facts={"packages": versions})


def check_command(found: str, ours: Sequence[str], real: Callable[[str], str]) -> DoctorFinding:
    """Check that `context` on the PATH is this hall; `ours` are the places of its command, `real` follows symlinks."""
    if found and real(found) in map(real, ours):
        return DoctorFinding("ok", "context", f"on the PATH: {found}", facts={"command": found})
    place = next(iter(ours), "")
    folder = place.rpartition("/")[0]
    remedy = f'export PATH={command(folder)}:"$PATH"' if folder else ""
    text = f"typed, it is another command: {found}" if found else "not on the PATH"
    return DoctorFinding(
        "note", "context", f"{text}; this one is {place}" if place else text, remedy, {"command": found}
    )


def check_port(port: int, elsewhere: str) -> DoctorFinding:
    """Check that the hall could listen at a port, or find out who does; `elsewhere` is a command for another one."""
    mark, state, text = _state_of_port(port)
    remedy = elsewhere if state in {"refused", "taken"} else ""
    return DoctorFinding(mark, f"port {port}", text, remedy, {"port": port, "state": state})


def _state_of_port(port: int) -> tuple[Mark, str, str]:
    """Return the state of a port and a sentence about it; a hall is told from another program by its `/healthz`."""
    try:
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((LOOPBACK, port))
            return "ok", "free", "free"
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            return "note", "refused", f"cannot be used: {error.strerror}"
    version = hall_at(port)
    if version == __version__:
        return "ok", "hall", f"a Context Hall {version} listens"
    if version == UNTOLD:
        return "ok", "hall", "a Context Hall listens that wants its token"
    if version:
        return "note", "hall", f"a Context Hall {version} listens, and this is {__version__}: start that one again"
    return "note", "taken", "something else listens"

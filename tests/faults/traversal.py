"""How may a path be spelt by somebody who wants out? The table of forms, and the ground that they are tried on.

Every form is spelt for an argument that starts `up` steps above the ground, and for something outside that is there or
is not: whoever asks must not learn which.
"""

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.caches.making import build_cache
from tests.contexts.making import write_context, write_files

SECRET = "blue-heron-at-midnight"
THERE, NOT_THERE = "vault", "vaults"
"""Two names of one kind: the first is there, outside."""


class Ground(NamedTuple):
    """A hall's own directory, a cache root in it, and beside it what is nobody's business."""

    home: Path

    @property
    def hall(self) -> Path:
        return self.home / "hall"

    @property
    def caches(self) -> Path:
        return self.hall / ".context" / "caches"

    @property
    def outside(self) -> Path:
        return self.home / "outside"


class Start(NamedTuple):
    """Where an argument starts: how far below `home`, and what it may be put after."""

    up: str
    inside: str


AT_CACHES = Start("../../..", "handbook")
AT_PROJECT = Start("..", "src")


class Form(NamedTuple):
    name: str
    spell: Callable[[Ground, Start, str], str]
    is_absolute: bool = False


def make_ground(home: Path) -> Ground:
    """Lay out a hall, a secret in everything outside that could be asked for, and ways out of all kinds."""
    ground = Ground(home)
    ground.caches.mkdir(parents=True)
    build_cache(ground.caches, {"keys.md": "rotate keys"}, name="handbook")
    write_files(ground.hall, {"a.md": "all", "src/a.py": "a = 1\n", "src/core/b.py": "b = 1\n"})
    for scope in ("src/core", "src", "."):
        write_context(ground.hall / scope, scope)
    plant_secret(ground.outside / THERE)
    for place in (ground.caches, ground.hall):
        _lay_ways_out(ground, place)
    return ground


def plant_secret(directory: Path) -> None:
    """Make a directory that is a cache, a project, a context and a settings file, all of them secret."""
    directory.parent.mkdir(exist_ok=True)
    build_cache(directory.parent, {"secret.md": f"rotate keys {SECRET}"}, name=directory.name)
    write_files(directory, {f"{SECRET}.md": SECRET, "core/b.py": f"{SECRET} = 1\n", "core/manifest.json": "{}"})
    for scope in ("core", "."):
        write_context(directory / scope, scope, more=f"decisions:\n  - what: {SECRET}\n    why: {SECRET}\n")


def _lay_ways_out(ground: Ground, place: Path) -> None:
    for leaf in (THERE, NOT_THERE):
        (place / f"link-{leaf}").symlink_to(ground.outside / leaf)
        (place / f"relative-{leaf}").symlink_to(os.path.relpath(ground.outside / leaf, place))
        (place / f"chain-{leaf}").symlink_to(f"chained-{leaf}")
        (place / f"chained-{leaf}").symlink_to(f"link-{leaf}")
        (place / f"by-proc-{leaf}").symlink_to(f"/proc/self/root{ground.outside / leaf}")
        (place / f"file-{leaf}").symlink_to(ground.outside / leaf / "manifest.json")
    (place / "to-parent").symlink_to(os.path.relpath(ground.home, place))
    (place / "to-root").symlink_to("/")
    (place / "to-here").symlink_to(".")
    (place / "loop").symlink_to("loop")
    (place / "loop-a").symlink_to("loop-b")
    (place / "loop-b").symlink_to("loop-a")
    (place / "to-zero").symlink_to("/dev/zero")
    (place / "to-environ").symlink_to("/proc/self/environ")
    os.mkfifo(place / "fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        # By a short name, for the address of a socket has no room for a long one.
        folder = os.open(place, os.O_RDONLY)
        listening.bind(f"/proc/self/fd/{folder}/socket")
        os.close(folder)


def _plain(start: Start, leaf: str) -> str:
    return f"{start.up}/outside/{leaf}"


def _rewritten(*pairs: tuple[str, str]) -> Callable[[Ground, Start, str], str]:
    """Spell the plain form with other characters."""

    def spell(_ground: Ground, start: Start, leaf: str) -> str:
        text = _plain(start, leaf)
        for old, new in pairs:
            text = text.replace(old, new)
        return text

    return spell


def _framed(before: str, after: str = "") -> Callable[[Ground, Start, str], str]:
    return lambda _ground, start, leaf: f"{before}{_plain(start, leaf)}{after}"


def _below(way: str) -> Callable[[Ground, Start, str], str]:
    """Go by a way that was laid in the directory where the argument starts; `LEAF` is what is asked for."""
    return lambda _ground, _start, leaf: way.replace("LEAF", leaf)


def _absolute(before: str = "", after: str = "") -> Callable[[Ground, Start, str], str]:
    return lambda ground, _start, leaf: f"{before}{ground.outside / leaf}{after}"


def _literal(text: str) -> Callable[[Ground, Start, str], str]:
    return lambda _ground, _start, _leaf: text


_SPELLINGS = {
    "percent dots": [("..", "%2e%2e")],
    "percent dots, upper case": [("..", "%2E%2E")],
    "percent dots, mixed case": [("..", "%2e%2E")],
    "one percent dot": [("..", ".%2e")],
    "the other percent dot": [("..", "%2e.")],
    "percent slash": [("/", "%2f")],
    "percent slash, upper case": [("/", "%2F")],
    "percent everything": [("..", "%2e%2e"), ("/", "%2f")],
    "double percent dots": [("..", "%252e%252e")],
    "double percent slash": [("/", "%252f")],
    "double percent everything": [("..", "%252e%252e"), ("/", "%252f")],
    "triple percent": [("..", "%25252e%25252e")],
    "percent backslash": [("/", "%5c")],
    "double percent backslash": [("/", "%255c")],
    "percent u": [("..", "%u002e%u002e")],
    "percent u slash": [("/", "%u2215")],
    "percent u fullwidth": [("..", "%uff0e%uff0e")],
    "overlong, in percent": [("..", "%c0%ae%c0%ae")],
    "overlong of three bytes": [("..", "%e0%80%ae%e0%80%ae")],
    "overlong slash": [("/", "%c0%af")],
    "overlong slash of three bytes": [("/", "%e0%80%af")],
    "overlong as latin letters": [("..", "\u00c0\u00ae\u00c0\u00ae")],
    "overlong as bytes": [("..", "\udcc0\udcae\udcc0\udcae")],
    "overlong slash as bytes": [("/", "\udcc0\udcaf")],
    "hexadecimal escapes": [("..", "\\x2e\\x2e")],
    "octal escapes": [("..", "\\056\\056")],
    "entities": [("..", "&#46;&#46;")],
    "backslashes": [("/", "\\")],
    "mixed separators": [("../", "..\\")],
    "a slash and a backslash": [("/", "/\\")],
    "two backslashes": [("/", "\\\\")],
    "two slashes": [("/", "//")],
    "a dot between": [("../", ".././")],
    "fullwidth dots": [("..", "\uff0e\uff0e")],
    "fullwidth slash": [("/", "\uff0f")],
    "fullwidth everything": [("..", "\uff0e\uff0e"), ("/", "\uff0f")],
    "fullwidth backslash": [("/", "\uff3c")],
    "one dot leaders": [("..", "\u2024\u2024")],
    "two dot leader": [("..", "\u2025")],
    "an ellipsis": [("..", "\u2026")],
    "small full stops": [("..", "\ufe52\ufe52")],
    "division slash": [("/", "\u2215")],
    "fraction slash": [("/", "\u2044")],
    "big solidus": [("/", "\u29f8")],
    "set minus": [("/", "\u2216")],
    "a combining solidus": [("..", ".\u0338.")],
    "a zero-width space": [("..", ".\u200b.")],
    "a zero-width joiner": [("..", ".\u200d.")],
    "a soft hyphen": [("..", ".\u00ad.")],
    "a word joiner": [("..", ".\u2060.")],
    "a right-to-left override": [("..", "\u202e..")],
    "a lone surrogate": [("..", "..\ud800")],
    "a NUL between the dots": [("..", ".\0.")],
    "a NUL after the dots": [("..", "..\0")],
    "a space after the dots": [("..", ".. ")],
    "a space before the dots": [("..", " ..")],
    "a tab after the dots": [("..", "..\t")],
    "three dots": [("..", "...")],
    "four dots and two slashes": [("../", "....//")],
    "dots that leave dots when they are removed": [("../", "..././")],
    "a semicolon": [("..", "..;")],
    "quotation marks": [("..", '".."')],
    "a line end": [("../", "../\n")],
}

FORMS = (
    Form("plain", _framed("")),
    Form("from here", _framed("./")),
    Form("from below", lambda _, start, leaf: f"{start.inside}/../{_plain(start, leaf)}"),
    Form("from something that is not there", lambda _, start, leaf: f"nowhere/../{_plain(start, leaf)}"),
    Form("from a file", lambda _, start, leaf: f"{start.inside}/a.py/../../{_plain(start, leaf)}"),
    Form("from below, in another case", lambda _, start, leaf: f"{start.inside.upper()}/../{_plain(start, leaf)}"),
    Form("a slash at the end", _framed("", "/")),
    Form("a dot at the end", _framed("", "/.")),
    Form("out of it again", _framed("", f"/../{THERE}")),
    Form("into it", _framed("", "/core")),
    Form("a dot after the name", _framed("", ".")),
    Form("a space after the name", _framed("", " ")),
    Form("a NUL at the end", _framed("", "\0")),
    Form("a NUL and an innocent end", _framed("", "\0.md")),
    Form("a NUL before", lambda _, start, leaf: f"{start.inside}\0/{_plain(start, leaf)}"),
    Form("a query at the end", _framed("", "?.md")),
    Form("a fragment at the end", _framed("", "#.md")),
    Form("a stream at the end", _framed("", "::$DATA")),
    Form("a byte order mark before", _framed("\ufeff")),
    Form("a line end before", _framed("\n")),
    Form("a carriage return after", _framed("", "\r")),
    Form("more steps than there are", lambda ground, _, leaf: f"{'../' * 60}{str(ground.outside / leaf)[1:]}"),
    Form("a path that is too long", _framed("./" * 4000)),
    Form("a name that is too long", lambda _, start, leaf: f"{'n' * 300}/../{_plain(start, leaf)}"),
    Form("a path of many names", lambda _, start, leaf: f"{'n/' * 900}{'../' * 900}{_plain(start, leaf)}"),
    *(Form(name, _rewritten(*pairs)) for name, pairs in _SPELLINGS.items()),
    Form("a home", lambda ground, _, leaf: f"~/{os.path.relpath(ground.outside / leaf, '/')}"),
    Form("a home of root", _literal("~root/.ssh")),
    Form("a variable", _literal("$HOME/.ssh")),
    Form("a variable in braces", _literal("${HOME}/.ssh")),
    Form("a command", _literal("$(cat /etc/passwd)")),
    Form("a URL", lambda ground, _, leaf: f"file://{ground.outside / leaf}"),
    Form("a URL of this host", lambda ground, _, leaf: f"file://localhost{ground.outside / leaf}"),
    Form("a URL of the web", _literal("http://127.0.0.1:1/")),
    Form("a share", _literal("\\\\localhost\\c$\\secret")),
    Form("a long path of Windows", _literal("\\\\?\\C:\\secret")),
    Form("a drive", _literal("C:\\secret")),
    Form("a drive with slashes", _literal("C:/secret")),
    Form("a device of Windows", _literal("NUL")),
    Form("a symlink", _below("link-LEAF")),
    Form("a symlink, and below it", _below("link-LEAF/core")),
    Form("a symlink with a slash", _below("link-LEAF/")),
    Form("a relative symlink", _below("relative-LEAF")),
    Form("a chain of symlinks", _below("chain-LEAF")),
    Form("a symlink by way of /proc", _below("by-proc-LEAF")),
    Form("a symlink to a file", _below("file-LEAF")),
    Form("a symlink to a directory above", _below("to-parent/outside/LEAF")),
    Form("a symlink to the root", lambda ground, _, leaf: f"to-root{ground.outside / leaf}"),
    Form("a symlink to here and one out", _below("to-here/to-here/link-LEAF")),
    Form("a symlink and a step back", _below("to-root/../link-LEAF")),
    Form("a loop", _below("loop")),
    Form("a loop of two", _below("loop-a/core")),
    Form("a symlink to a device", _below("to-zero")),
    Form("a FIFO", _below("fifo")),
    Form("below a FIFO", _below("fifo/core")),
    Form("a socket", _below("socket")),
    Form("a symlink to the environment", _below("to-environ")),
    Form("absolute", _absolute(), is_absolute=True),
    Form("absolute, two slashes", _absolute("/"), is_absolute=True),
    Form("absolute, three slashes", _absolute("//"), is_absolute=True),
    Form("absolute, a slash at the end", _absolute("", "/"), is_absolute=True),
    Form("absolute, a dot at the end", _absolute("", "/."), is_absolute=True),
    Form("absolute, with a NUL", _absolute("", "\0"), is_absolute=True),
    Form("absolute, from inside", lambda ground, _, leaf: f"{ground.hall}/../outside/{leaf}", is_absolute=True),
    Form(
        "absolute, with the beginning of ours",
        lambda ground, _, leaf: f"{ground.hall}/../hall-{leaf}",
        is_absolute=True,
    ),
    Form("absolute, by a symlink", lambda ground, _, leaf: f"{ground.hall}/link-{leaf}", is_absolute=True),
    Form("the root by /proc", _absolute("/proc/self/root"), is_absolute=True),
    Form("the root by /proc, twice", _absolute("/proc/self/root/proc/self/root"), is_absolute=True),
    Form("the root of a thread", _absolute("/proc/thread-self/root"), is_absolute=True),
    Form("the root of another process", _absolute("/proc/1/root"), is_absolute=True),
    Form(
        "the working directory by /proc",
        lambda _ground, _start, leaf: f"/proc/self/cwd/../outside/{leaf}",
        is_absolute=True,
    ),
    *(
        Form(name, _literal(path), is_absolute=True)
        for name, path in {
            "a descriptor": "/proc/self/fd/0",
            "a descriptor of the server": "/proc/self/fd/3",
            "a descriptor by /dev": "/dev/fd/1",
            "the environment": "/proc/self/environ",
            "the environment of another process": "/proc/1/environ",
            "the memory": "/proc/self/mem",
            "standard input": "/dev/stdin",
            "zeroes without end": "/dev/zero",
            "random bytes without end": "/dev/urandom",
            "a full device": "/dev/full",
            "the terminal": "/dev/tty",
            "nothing": "/dev/null",
            "all descriptors": "/proc/self/fd",
            "the tasks": "/proc/self/task",
            "the file of users": "/etc/passwd",
            "a folder of the system": "/etc",
            "the root": "/",
            "the kernel's own": "/sys/kernel",
        }.items()
    ),
)

"""Do the same cache, project and guild give the same bytes, whoever asks, wherever, in whatever surroundings?

Everything that the hall can say is asked of one process in plain surroundings, and of others in foreign ones. What
differs is told by the surroundings and by the first place at which it does.
"""

import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import pytest
from tests.caches.making import without_times
from tests.faces.web.serving import ACCEPT, HttpHall, RawSession
from tests.faults.answers import CALLS, EPOCH, RESOLVING
from tests.faults.furnished import LATER, furnish
from tests.faults.scale import SEED, record, scaled
from tests.guild.making import make_member
from tests.machine import must_be_here
from tests.processes import (
    CONTEXT,
    HANDSHAKE_2024,
    HANDSHAKE_2025,
    MODERN,
    MODERN_META,
    NOBODY,
    PATIENCE_SECONDS,
    RawServer,
    run_context,
)

REPOSITORY: Final = Path(__file__).parents[2]
# Read at once: what a test sees of the environment is emptied.
OTHER_PYTHONS: Final = os.environ.get("CONTEXT_PYTHONS", "")
LOCALES: Final = {
    "en_US.UTF-8": ("en_US", "UTF-8"),
    "tr_TR.UTF-8": ("tr_TR", "UTF-8"),
    "tr_TR": ("tr_TR", "ISO-8859-9"),
}
HOW_MANY: Final = scaled(7, 7, 60)

# Whichever comes first pays for what all share.
pytestmark = pytest.mark.timeout(150)


class Surroundings(NamedTuple):
    """What a process finds when it starts."""

    env: Mapping[str, str]
    flags: Sequence[str]

    def __str__(self) -> str:
        return " ".join([*(f"{name}={value}" for name, value in self.env.items()), *self.flags])


PLAIN: Final = Surroundings({}, ())
AXES: Final[Mapping[str, Sequence[Mapping[str, str]]]] = {
    "the seed of hashes": [{"PYTHONHASHSEED": str(seed)} for seed in range(scaled(7, 7, 10))],
    "the locale": [{"LC_ALL": each} for each in ("C", "en_US.UTF-8", "tr_TR.UTF-8")] + [{"LANG": "tr_TR.UTF-8"}],
    "the time zone": [
        {"TZ": each} for each in ("UTC", "Pacific/Kiritimati", "America/St_Johns", "<+14>-14", "EST5EDT,M3.2.0,M11.1.0")
    ],
    "how Python runs": [
        {},
        {"PYTHONOPTIMIZE": "1"},
        {"PYTHONDEVMODE": "1"},
        {"PYTHONOPTIMIZE": "2"},
        {"PYTHONUTF8": "1", "PYTHONIOENCODING": "latin-1"},
        {"PYTHONMALLOC": "malloc", "PYTHONNODEBUGRANGES": "1"},
        {"PYTHONWARNINGS": "error", "PYTHONINTMAXSTRDIGITS": "640"},
    ],
    "the terminal": [{}, {"COLUMNS": "20", "NO_COLOR": "1"}, {"COLUMNS": "400", "FORCE_COLOR": "1", "TERM": "dumb"}],
}
FLAGS: Final[Sequence[Sequence[Sequence[str]]]] = [
    [["--shuffle", str(number)] for number in range(7)],
    [["--workers", "1"], ["--workers", "2"]],
    [["--at-once", "1"], ["--at-once", "16"], ["--at-once", "3"]],
    [["--times", "1"]] * 3 + [["--times", "100"]],
    [["--umask", "022"], ["--umask", "077"], ["--umask", "002"]],
]


def foreign() -> list[Surroundings]:
    """Combine all values of all axes, each of them at least once; which goes with which is a matter of the seed."""
    dice = Random(SEED)
    columns = [dealt(dice, values) for values in (*AXES.values(), *FLAGS)]
    found = []
    for row in zip(*columns, strict=True):
        env: dict[str, str] = {}
        for each in row[: len(AXES)]:
            env |= each
        found.append(Surroundings(env, [flag for flags in row[len(AXES) :] for flag in flags]))
    return found


def dealt(dice: Random, values: Sequence[Any]) -> list[Any]:
    hand = list(islice(cycle(values), HOW_MANY))
    dice.shuffle(hand)
    return hand


@pytest.fixture(scope="module")
def locales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real locales, which few machines have: those of `make locales`, or made now."""
    made = REPOSITORY / ".locales"
    if all((made / name).is_dir() for name in LOCALES):
        return made
    folder = tmp_path_factory.mktemp("locales")
    for name, (language, encoding) in LOCALES.items():
        command = ["localedef", "-i", language, "-f", encoding, str(folder / name)]
        is_made = (
            shutil.which("localedef") and subprocess.run(command, capture_output=True, check=False).returncode == 0
        )
        must_be_here(is_made, f"NO LOCALES: localedef cannot make {name}; type `make locales`")
    return folder


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Everything that the hall says in plain surroundings."""
    place = furnish(tmp_path_factory.mktemp("plain") / "place")
    return everything(place, PLAIN)


def everything(place: Path, around: Surroundings, *, python: str = sys.executable) -> dict[str, str]:
    """Let a process of its own say everything, in a furnished place that is changed by it."""
    home = place.parent / "home"
    home.mkdir(exist_ok=True)
    command = [python, "-P", "-m", "tests.faults.answers", str(place), *around.flags]
    env = {**clean_environment(home), **around.env}
    ran = subprocess.run(command, env=env, cwd=place.parent, capture_output=True, check=False, timeout=120)
    assert ran.returncode == 0, f"{around}: {ran.stderr.decode(errors='replace')}"
    said: dict[str, str] = json.loads(ran.stdout)
    return said


def clean_environment(home: Path) -> dict[str, str]:
    """What a process needs, and nothing else of what this one has inherited."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{REPOSITORY / 'src'}",
    }


def must_be_the_same(found: Mapping[str, str], expected: Mapping[str, str], around: object) -> None:
    """Name the surroundings and the first place at which two answers part."""
    assert found.keys() == expected.keys(), f"{around}: {sorted(found.keys() ^ expected.keys())}"
    for asked, said in expected.items():
        if found[asked] != said:
            at = next((n for n, (a, b) in enumerate(zip(found[asked], said, strict=False)) if a != b), 0)
            here, there = said[max(0, at - 60) : at + 60], found[asked][max(0, at - 60) : at + 60]
            pytest.fail(f"{around}\n{asked!r} differs at character {at}:\n  expected {here!r}\n  found    {there!r}")


def test_every_value_of_every_axis_is_tried() -> None:
    tried = foreign()
    for value in (each for values in AXES.values() for each in values):
        assert any(value.items() <= around.env.items() for around in tried)
    for flags in (each for values in FLAGS for each in values):
        assert any(set(flags) <= set(around.flags) for around in tried)


@pytest.mark.parametrize("number", range(0, HOW_MANY, scaled(3, 1, 1)))
def test_foreign_surroundings_change_no_answer(
    tmp_path: Path, reference: dict[str, str], locales: Path, number: int
) -> None:
    around = foreign()[number]
    place = furnish(tmp_path / "place")
    found = everything(place, around._replace(env={**around.env, "LOCPATH": str(locales)}))
    must_be_the_same(found, reference, around)
    record("determinism", "foreign surroundings", 1)
    record("determinism", "answers compared in foreign surroundings", len(found))


def other_pythons() -> list[str]:
    """Those of `make pythons`, or named by CONTEXT_PYTHONS, but for the version that runs the tests."""
    named = OTHER_PYTHONS.split(os.pathsep) if OTHER_PYTHONS else map(str, REPOSITORY.glob(".pythons/*/bin/python"))
    own = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return sorted(python for python in named if os.path.realpath(python).rpartition("/")[2] != own)


@pytest.mark.parametrize(
    "python", other_pythons()[:: scaled(3, 1, 1)] or [""], ids=lambda path: path.removeprefix(f"{REPOSITORY}/")
)
def test_another_python_changes_no_answer(tmp_path: Path, reference: dict[str, str], python: str) -> None:
    must_be_here(python, "NO OTHER PYTHON: there is none below .pythons; type `make pythons`")
    found = everything(furnish(tmp_path / "place"), PLAIN, python=python)
    must_be_the_same(found, reference, python)
    asked = [python, "-c", "import platform; print(platform.python_version())"]
    version = subprocess.run(asked, capture_output=True, check=True, text=True).stdout.strip()
    record("determinism", f"answers compared with Python {version}", len(found))


def test_another_place_changes_no_answer(reference: dict[str, str]) -> None:
    """Its path, the times of its files, the order in which they came, and who looks at it."""
    # Not below pytest's own folder, which every session of pytest closes to others anew.
    with TemporaryDirectory() as folder:
        place = furnish(Path(folder) / ("somewhere élse " + "x" * 100) / "İ ı" / "place")
        for number, path in enumerate(sorted((each for each in place.rglob("*") if each.is_file()), reverse=True)):
            content = path.read_bytes()
            path.unlink()
            path.write_bytes(content)  # another inode, in another order
            os.utime(path, ns=(number, number * 10**9 + 7))
        found = everything(place, Surroundings({"PYTHONHASHSEED": "7", **xdg(Path(folder))}, as_nobody(Path(folder))))
    must_be_the_same(found, reference, place)


def xdg(folder: Path) -> dict[str, str]:
    return {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CACHE", "STATE", "CONFIG")}


def as_nobody(folder: Path) -> list[str]:
    """Give all that lies in a folder to nobody, who shall look at it; only root can do that."""
    if os.geteuid() != 0:
        return []
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    return ["--as-nobody", str(furnish(folder / "before"))]


COMMANDS: Final = (
    ["resolve", "--cache", "caches/book", "--query", f"İSTANBUL keys {LATER}", "--budget", "900"],
    ["resolve", "--cache", "caches/ünlü", "--query", "straße", "--budget", "1"],
    ["status", "--path", "project", "--json"],
    ["show", "Äpfel", "--path", "project"],
    ["guild", "tools", "größe", "--json"],
    ["connect", "codex", "--path", "project/Äpfel"],
)
ODD: Final[Mapping[str, Surroundings]] = {
    "no locale at all": PLAIN,
    "ASCII": Surroundings({"LC_ALL": "C", "PYTHONUTF8": "0"}, ()),
    "not even a coerced locale": Surroundings({"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, ()),
    "Turkish, in eight bits": Surroundings({"LC_ALL": "tr_TR"}, ()),
    "eight bits, and no variables": Surroundings({"LC_ALL": "tr_TR"}, ("-I",)),
    "Turkish": Surroundings({"LC_ALL": "tr_TR.UTF-8", "PYTHONUTF8": "0", "TZ": "Pacific/Kiritimati"}, ("-O",)),
}


UTF8: Final = Surroundings({"LC_ALL": "C.UTF-8"}, ())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A furnished place with a cache and contexts, which is only read."""
    place = furnish(tmp_path_factory.mktemp("opened") / "place")
    for command in (["build", "--sources", "sources", "--cache", "caches/book"], ["init", "--path", "project"]):
        printed(place, command, Surroundings({"SOURCE_DATE_EPOCH": EPOCH}, ()))
    return place


@pytest.fixture(scope="module")
def expected(place: Path) -> list[dict[str, str]]:
    """What the commands print where everything is UTF-8."""
    return [printed(place, command, UTF8) for command in COMMANDS]


def printed(place: Path, command: Sequence[str], around: Surroundings, *, below: str = ".") -> dict[str, str]:
    """What a command prints, and its exit code."""
    roots = {"CONTEXT_CACHE_ROOT": str(place / "caches"), "CONTEXT_GUILD": str(place / "guild")}
    env = clean_environment(place.parent) | roots | dict(around.env)
    typed = [sys.executable, *around.flags, "-m", "contexthall", *command]
    ran = subprocess.run(typed, cwd=place / below, env=env, capture_output=True, check=False, timeout=PATIENCE_SECONDS)
    return {
        "data": without_times(ran.stdout.decode()),
        "words": ran.stderr.decode(),
        "exit code": str(ran.returncode),
    }


@pytest.mark.parametrize("odd", ODD)
def test_a_command_prints_the_same_whatever_the_terminal_speaks(
    place: Path, expected: list[dict[str, str]], locales: Path, odd: str
) -> None:
    around = ODD[odd]._replace(env={**ODD[odd].env, "LOCPATH": str(locales), "PYTHONHASHSEED": "8"})
    compared = [*zip(COMMANDS, expected, strict=True)]
    some = compared[list(ODD).index(odd) :: len(ODD)]
    for command, said in scaled(some, compared, compared):
        must_be_the_same(printed(place, command, around), said, f"{odd}: {command}")
    record("determinism", "commands compared in odd locales", len(COMMANDS))


def test_a_command_prints_the_same_data_to_a_terminal_and_from_anywhere(place: Path) -> None:
    command = ["resolve", "--query", f"keys {LATER}", "--budget", "900", "--cache"]
    said = printed(place, [*command, "caches/book"], PLAIN)
    assert said["exit code"] == "0"
    assert printed(place, [*command, str(place / "caches" / "book")], PLAIN) == said
    assert printed(place, [*command, "../../caches/./book/"], PLAIN, below="project/shop") == said
    assert printed(place, [*command, "book"], Surroundings({"PYTHONIOENCODING": "latin-1"}, ())) == said
    # A terminal gets escapes for what it might obey.
    shown = on_a_terminal(place, [*command, "caches/book"]).decode()
    assert json.loads(shown)["documents"] == json.loads(said["data"].replace("…", "null"))["documents"]


def on_a_terminal(place: Path, command: Sequence[str]) -> bytes:
    ours, theirs = pty.openpty()
    env = clean_environment(place.parent) | {"TERM": "xterm-256color", "COLUMNS": "30"}
    with subprocess.Popen([*CONTEXT, *command], cwd=place, env=env, stdout=theirs, stderr=theirs, stdin=theirs):
        os.close(theirs)
        shown = b""
        while chunk := until_hung_up(ours):
            shown += chunk
    os.close(ours)
    return shown


def until_hung_up(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:  # Linux says so when nobody has the other end any more
        return b""


FACES: Final = [*RESOLVING[::5], *(each for each in CALLS if each[0] != "context.resolve" and "\0" not in str(each))]
ROOTS: Final = ("--path", "project", "--cache-root", "caches", "--guild", "guild")
SERVED: Final = (*ROOTS, "--guild-refresh", "never", "--guild-budget", "0")


class Faces(NamedTuple):
    """The same place, as it is reached over each transport in each era of the protocol."""

    recent: RawServer
    old: RawServer
    modern: RawServer
    http: HttpHall
    session: Mapping[str, str]
    """The headers of a session over HTTP."""

    def ask(self, method: str, params: str = "", *, name: str = "") -> dict[str, dict[str, Any]]:
        """Ask all of them, and give their messages; `params` are the insides of a JSON object, as they are sent."""
        line = f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{%s}}}}'
        meta = f'"_meta":{json.dumps(MODERN_META)}'
        plain, modern = (line % params).encode(), (line % ",".join(filter(None, [params, meta]))).encode()
        headers = {"Mcp-Protocol-Version": MODERN, "Mcp-Method": method, **({"Mcp-Name": name} if name else {})}
        return {
            "stdio, 2024": over_stdio(self.old, plain),
            "stdio, 2025": over_stdio(self.recent, plain),
            "HTTP, 2025": over_http(self.http, plain, self.session),
            "stdio, 2026": over_stdio(self.modern, modern),
            "HTTP, 2026": over_http(self.http, modern, headers),
        }


def over_stdio(server: RawServer, line: bytes) -> dict[str, Any]:
    server.send(line)
    return server.receive()


def over_http(hall: HttpHall, body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    kind = {"Content-Type": "application/json"}
    text = hall.http.post("/mcp", content=body, headers={**ACCEPT, **kind, **headers}).text
    message: dict[str, Any] = json.loads(text.partition("data: ")[2] or text)
    return message


@pytest.fixture(scope="module")
def served(place: Path) -> Iterator[Faces]:
    """Serve a place in four processes, each of which has another seed of hashes, and what else may differ."""
    with (
        RawServer(*SERVED, "--confine", cwd=place, env={"PYTHONHASHSEED": "1"}) as recent,
        RawServer(*SERVED, "--confine", cwd=place, env={"PYTHONHASHSEED": "2", "LC_ALL": "C"}) as old,
        RawServer(*SERVED, "--confine", cwd=place, env={"PYTHONHASHSEED": "3", "PYTHONUTF8": "1"}) as modern,
        HttpHall(*SERVED, cwd=place, env={"PYTHONHASHSEED": "4", "TZ": "<+14>-14"}) as http,
    ):
        opening = RawSession(http).initialize()
        session = {"Mcp-Session-Id": opening.headers["mcp-session-id"], "Mcp-Protocol-Version": HANDSHAKE_2025}
        recent.initialize()
        old.initialize(HANDSHAKE_2024)
        yield Faces(recent, old, modern, http, session)


def spelt(value: object) -> str:
    """Spell a value of a message; over HTTP the SDK has an order of keys of its own, and texts are the same bytes."""
    return json.dumps(value, sort_keys=True)


def test_every_face_gives_the_same_bytes_in_every_era(served: Faces) -> None:
    tools = {face: said["result"]["tools"] for face, said in served.ask("tools/list").items()}
    assert len({json.dumps(each) for face, each in tools.items() if face.startswith("stdio")}) == 1
    assert len({spelt(each) for each in tools.values()}) == 1
    for name, arguments in FACES:
        params = json.dumps({"name": name, "arguments": arguments})[1:-1]
        results = {face: said["result"] for face, said in served.ask("tools/call", params, name=name).items()}
        # What an era adds to a result is the protocol's; what the tool says is ours.
        said = {face: without_times(spelt([result["content"], result["isError"]])) for face, result in results.items()}
        assert len(set(said.values())) == 1, (name, arguments, said)
    record("determinism", "calls compared over five faces", len(FACES))


def test_how_deeply_a_message_may_be_nested_depends_on_no_face(served: Faces) -> None:
    """Every parser has another limit, and some have one that depends on who calls them."""
    depths = (100, 124, 125, 126, 190, 210, 900, 1100, 20_000)
    read = []
    for levels in depths:
        root = "[" * levels + "]" * levels
        params = f'"name":"context.list_caches","arguments":{{"root":{root}}}'
        said = served.ask("tools/call", params, name="context.list_caches")
        verdicts = {face: said[face].get("error") or said[face]["result"]["content"] for face in said}
        assert len({spelt(verdict) for verdict in verdicts.values()}) == 1, (levels, verdicts)
        read.append("result" in said["stdio, 2025"])
    assert read == [levels <= 125 for levels in depths]


def test_a_refresh_writes_the_same_lists_whoever_is_quick(tmp_path: Path) -> None:
    """Members that are asked side by side answer in any order."""
    written = []
    for number, delays in enumerate((("0", "0.2", "0.1"), ("0.2", "0", "0"))):
        guild = tmp_path / str(number) / "guild"
        for name, delay in zip(("B", "a", "ü"), delays, strict=True):
            make_member(guild, name, "--tools", "3", "--start-delay", delay)
        env = {"PYTHONHASHSEED": str(8 + number), "CONTEXT_GUILD": "guild"}
        ran = run_context("guild", "refresh", "--json", cwd=guild.parent, env=env)
        assert ran.returncode == 0, ran.stderr
        roster = [{**each, "cachedAt": ""} for each in json.loads(ran.stdout)["members"]]
        caches = [json.loads((guild / name / "tools-cache.json").read_text()) for name in ("B", "a", "ü")]
        written.append(json.dumps([roster, [{**each, "cachedAt": ""} for each in caches]]))
    assert written[0] == written[1]

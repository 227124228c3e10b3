"""Nobody gets out: every form of the table, in every argument that is a path, over every way in."""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.caches.making import compile_folder, write_sources
from tests.contexts.making import quietly
from tests.faces.web.serving import HttpHall, RawSession
from tests.faults.scale import IS_LONG, record, scaled
from tests.faults.traversal import (
    AT_CACHES,
    AT_PROJECT,
    FORMS,
    NOT_THERE,
    SECRET,
    THERE,
    Form,
    Ground,
    Start,
    make_ground,
    plant_secret,
)
from tests.processes import RawServer, run_context

from contexthall.caches.library import CacheRef
from contexthall.hall import Hall, open_hall
from contexthall.system.disk import Disk

CACHE_MISSING = '{"error":{"code":"cache_missing","message":"Cache does not exist"}}'
_SENTENCES = (
    r"Invalid scope: path traversal detected",
    r'No \.context\.yaml found at scope ".*"\. .*',
    r'Failed to scan project at ".*"',
)


class Argument(NamedTuple):
    """An argument of a tool that is a path, where that starts, and what else the tool wants."""

    tool: str
    name: str
    start: Start
    others: tuple[tuple[str, object], ...] = ()

    def call(self, form: Form, ground: Ground, leaf: str) -> dict[str, object]:
        return {"name": self.tool, "arguments": {**dict(self.others), self.name: form.spell(ground, self.start, leaf)}}


CACHE_ARGUMENTS = (
    Argument("context.resolve", "cache", AT_CACHES, (("query", "rotate keys"), ("budget", 4000))),
    Argument("context.inspect_cache", "cache", AT_CACHES),
    Argument("context.list_caches", "root", AT_PROJECT),
)
CONTEXT_ARGUMENTS = (
    Argument("list_contexts", "path", AT_PROJECT),
    Argument("list_contexts", "under", AT_PROJECT),
    Argument("query_context", "scope", AT_PROJECT, (("freshness", True),)),
    Argument("query_context", "path", AT_PROJECT, (("scope", "."),)),
    Argument("check_freshness", "scope", AT_PROJECT),
    Argument("check_freshness", "path", AT_PROJECT, (("scope", "core"),)),
)
ARGUMENTS = (*CACHE_ARGUMENTS, *CONTEXT_ARGUMENTS)
# What was asked for, and whether it is there.
Asked = tuple[Argument, Form, str]


def every_question(leaves: Sequence[str] = (THERE, NOT_THERE)) -> list[Asked]:
    return [(argument, form, leaf) for argument in ARGUMENTS for form in FORMS for leaf in leaves]


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return make_ground(tmp_path_factory.mktemp("ground"))


def test_the_table_is_long_and_no_form_leads_in(ground: Ground) -> None:
    assert len(FORMS) >= 120
    assert len({form.name for form in FORMS}) == len(FORMS)
    spelt = {form.spell(ground, start, THERE) for form in FORMS for start in (AT_CACHES, AT_PROJECT)}
    assert len(spelt) > len(FORMS)
    record("hostile input", "forms of traversal", len(FORMS))
    record("hostile input", "arguments that are paths", len(ARGUMENTS))


def check(asked: Asked, result: Mapping[str, Any], raw: str) -> None:
    argument, form, _ = asked
    about = f"{form.name} as {argument.name} of {argument.tool}: {raw[:500]}"
    assert SECRET not in raw, about
    text = result["content"][0]["text"]
    if argument.name == "under" and not result.get("isError"):  # a name in the project that nothing has
        assert json.loads(text)["entries"] == [], about
        return
    assert result.get("isError") is True, about
    if argument in CACHE_ARGUMENTS:
        assert text.rstrip("\n") == CACHE_MISSING, about
    else:
        assert re.fullmatch("|".join(_SENTENCES), json.loads(text)["error"], re.DOTALL), about


def nothing_is_told(answers: Mapping[Asked, str]) -> None:
    """What is there and what is not must be answered alike, but for the name that was asked for."""
    for (argument, form, leaf), answer in answers.items():
        if leaf == THERE and (argument, form, NOT_THERE) in answers:
            missing = answers[argument, form, NOT_THERE]
            assert answer == missing.replace(NOT_THERE, THERE), f"{form.name} as {argument.name} of {argument.tool}"


def ask_over_stdio(server: RawServer, ground: Ground, questions: Sequence[Asked]) -> Iterator[tuple[Asked, Any]]:
    """Ask in batches, so that no pipe fills up while nobody reads."""
    for first in range(0, len(questions), 40):
        batch = dict(enumerate(questions[first : first + 40], first))
        for number, (argument, form, leaf) in batch.items():
            call = argument.call(form, ground, leaf)
            server.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call})
        for _ in batch:
            answer = server.receive()
            yield batch[answer["id"]], answer["result"]


def test_no_form_leads_out_over_standard_input(ground: Ground) -> None:
    answers: dict[Asked, str] = {}
    with RawServer("--confine", cwd=ground.hall, env={"SECRET": SECRET}) as server:
        server.initialize()
        missing = every_question((NOT_THERE,))[:: scaled(16, 4, 1)]
        for asked, result in ask_over_stdio(server, ground, [*every_question((THERE,)), *missing]):
            answers[asked] = json.dumps(result)
            check(asked, result, answers[asked])
        server.close_input()
        assert server.wait() == 0
        assert SECRET.encode() not in server.errors_so_far()
    nothing_is_told(answers)
    record("hostile input", "traversals over standard input", len(answers))


def test_a_name_of_a_cache_leads_nowhere_else_even_where_nobody_is_confined(ground: Ground) -> None:
    names = [argument for argument in CACHE_ARGUMENTS if argument.name == "cache"]
    relative = [asked for asked in every_question((THERE,)) if not asked[1].is_absolute]
    questions = [asked for asked in relative if asked[0] in names]
    scopes = [asked for asked in relative if asked[0].name in {"scope", "under"}][:: scaled(9, 3, 1)]
    with RawServer(cwd=ground.hall) as server:
        server.initialize()
        for asked, result in ask_over_stdio(server, ground, [*questions, *scopes]):
            check(asked, result, json.dumps(result))


def test_what_is_no_directory_keeps_nobody_waiting_where_nobody_is_confined(ground: Ground) -> None:
    devices = [form for form in FORMS if form.spell(ground, AT_CACHES, THERE).startswith(("/dev/", "/proc/self/fd/"))]
    fifo = Form("a FIFO by its path", lambda ground, _start, _leaf: str(ground.hall / "fifo"))
    zero = Form("a device by its path", lambda ground, _start, _leaf: str(ground.hall / "to-zero"))
    questions = [(argument, form, NOT_THERE) for argument in ARGUMENTS for form in (*devices, fifo, zero)]
    with RawServer(cwd=ground.hall, env={"SECRET": SECRET}) as server:
        server.initialize()
        answered = [asked for asked, result in ask_over_stdio(server, ground, questions) if SECRET not in str(result)]
    assert len(answered) == len(questions)


def test_no_form_leads_out_over_http(ground: Ground) -> None:
    answers: dict[Asked, str] = {}
    questions = every_question((THERE, NOT_THERE) if IS_LONG else (THERE,))
    with HttpHall(cwd=ground.hall, env={"SECRET": SECRET}) as hall:
        session = RawSession(hall)
        session.initialize()
        for asked in questions[:: scaled(17, 5, 1)]:  # which have no factor in common with the length of the table
            argument, form, leaf = asked
            call = argument.call(form, ground, leaf)
            if not is_unicode(call):  # which JSON over HTTP cannot carry
                continue
            result = session.request("tools/call", call)
            answers[asked] = json.dumps(result)
            check(asked, result, answers[asked])
    assert SECRET.encode() not in hall.said
    nothing_is_told(answers)
    record("hostile input", "traversals over HTTP", len(answers))


def is_unicode(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


API = {
    "/api/caches/ranking": ("cache", AT_CACHES, {"query": "rotate", "budget": "4000"}, 404),
    "/api/caches/document": ("cache", AT_CACHES, {"id": "secret.md"}, 404),
    "/api/caches/why": ("cache", AT_CACHES, {"id": "secret.md", "query": "rotate", "budget": "4000"}, 404),
    "/api/contexts/show": ("scope", AT_PROJECT, {}, 200),
}


def test_no_form_leads_out_by_what_the_page_asks(ground: Ground) -> None:
    asked = 0
    with HttpHall(cwd=ground.hall, env={"SECRET": SECRET}) as hall:
        for path, (name, start, others, status) in API.items():
            for form in FORMS[:: scaled(5, 2, 1)]:
                spelt = [form.spell(ground, start, leaf) for leaf in (THERE, NOT_THERE)]
                if not is_unicode(spelt) or len(spelt[0]) > 4000:  # which a URL cannot carry
                    continue
                answers = [hall.http.get(path, params={**others, name: each}) for each in spelt]
                assert [answer.status_code for answer in answers] == [status, status], (path, form.name)
                there, missing = (answer.text for answer in answers)
                assert SECRET not in there, (path, form.name)
                assert str(ground.home) not in there.replace(json.dumps(spelt[0])[1:-1], ""), (path, form.name)
                assert there == missing.replace(NOT_THERE, THERE), (path, form.name)
                if status == 200:
                    assert json.loads(there)["found"] is False
                asked += 2
    assert SECRET.encode() not in hall.said
    record("hostile input", "traversals by what the page asks", asked)


def test_a_document_is_found_by_its_id_and_by_no_path(ground: Ground) -> None:
    with HttpHall(cwd=ground.hall) as hall:
        for form in FORMS[:: scaled(8, 4, 1)]:
            spelt = form.spell(ground, AT_CACHES, THERE)
            if is_unicode(spelt) and len(spelt) < 4000:
                status, code, detail = hall.fails("/api/caches/document", cache="handbook", id=spelt)
                assert (status, code) == (400, "usage")
                assert SECRET not in detail


# What a cache or a project says of itself is a path, too:


def test_a_manifest_leads_to_no_document_elsewhere(tmp_path: Path) -> None:
    ground = make_ground(tmp_path)
    cache, vault = ground.caches / "handbook", ground.outside / THERE
    manifest = json.loads((vault / "manifest.json").read_text())
    file = manifest["documents"][0]["file"]
    (cache / "index.json").write_bytes((vault / "index.json").read_bytes())
    hall = open_hall(str(ground.hall))
    for form in FORMS:
        spelt = form.spell(ground, Start("../../../..", "documents"), f"{THERE}/{file}")
        manifest["documents"][0]["file"] = spelt
        (cache / "manifest.json").write_text(json.dumps(manifest))
        told = _attempt(lambda: hall.caches.resolve(hall.caches.locate("handbook"), "rotate keys", 4000).text)
        assert str(told).startswith("CacheInvalidError"), (form.name, told)
        assert hall.caches.verify(hall.caches.locate("handbook")), form.name


def test_a_context_speaks_of_no_file_elsewhere(tmp_path: Path) -> None:
    ground = make_ground(tmp_path)
    context = ground.hall / ".context.yaml"
    written, before = context.read_text(), _tree(ground.outside)
    hall = open_hall(str(ground.hall))
    for form in FORMS[:: scaled(9, 3, 1)]:
        spelt = json.dumps(form.spell(ground, AT_PROJECT, f"{THERE}/{SECRET}.md"))
        context.write_text(
            f"{written}files:\n  - name: {spelt}\n    purpose: x\nsubdirectories:\n  - name: {spelt}\n"
            f"    summary: x\ndependencies:\n  internal: [{spelt}]\nderived_fields: [files, subdirectories]\n"
        )
        report = hall.validate_contexts(strict=True)
        assert report.invalid, form.name
        _attempt(lambda: hall.regen_contexts(["."], full=True, dry_run=False, agents=True, progress=quietly))
        assert _tree(ground.outside) == before, form.name


def test_a_project_puts_its_caches_nowhere_else(tmp_path: Path) -> None:
    ground = make_ground(tmp_path)
    for form in FORMS:
        spelt = form.spell(ground, AT_PROJECT, THERE)
        if is_unicode(spelt):  # as TOML must be
            (ground.hall / "contexthall.toml").write_text(f"cache_root = {json.dumps(spelt)}\n")
            told = str(_attempt(partial(_list_caches, ground)))
            assert SECRET not in told, (form.name, told)
            assert not told.startswith("(Cache"), (form.name, told)


def _list_caches(ground: Ground) -> object:
    return open_hall(str(ground.hall), confine=True).caches.list_caches()


def _attempt(act: Callable[[], object]) -> object:
    try:
        return act()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is looked at
        return f"{type(error).__name__}: {error}"


# Somebody swaps what is looked at for a symlink, between any two calls to the operating system:


class Swap(NamedTuple):
    """What is swapped for a symlink to its like outside."""

    inside: str
    outside: str


class Deed(NamedTuple):
    name: str
    act: Callable[[Hall], object]
    swaps: tuple[Swap, ...]
    stride: int = 1


_FOLDERS = (Swap("src", THERE), Swap("src/core", f"{THERE}/core"), Swap("src/core/.context.yaml", "secret.yaml"))
_WRITTEN = (*_FOLDERS, Swap("AGENTS.md", "secret.md"), Swap(".context.yaml", "secret.yaml"))
_CACHE = (
    Swap(".context/caches/handbook", THERE),
    Swap(".context/caches", "."),
    Swap(".context", "lair"),
    Swap(".context/caches/handbook/documents", f"{THERE}/documents"),
    Swap(".context/caches/handbook/manifest.json", f"{THERE}/manifest.json"),
)


def _init(hall: Hall) -> object:
    return hall.init_contexts(full=True, dry_run=False, agents=True, progress=quietly)


def _regen(hall: Hall) -> object:
    return hall.regen_contexts(["src/core", "src", "."], full=True, dry_run=False, agents=True, progress=quietly)


def _cached(hall: Hall, query: str) -> object:
    return hall.caches.resolve(_locate(hall, "handbook"), query, 4000).text


def _locate(hall: Hall, cache: str) -> CacheRef:
    return hall.caches.locate(cache, may_read=hall.confined_caller.may_read)


DEEDS = (
    Deed("query", lambda hall: hall.project.query_context("src/core", with_freshness=True).to_json(), _FOLDERS, 5),
    Deed("check", lambda hall: hall.project.check_freshness("src/core").to_json(), _FOLDERS, 5),
    Deed("list", lambda hall: hall.project.list_contexts().to_json(), _FOLDERS, 5),
    Deed("validate", lambda hall: hall.validate_contexts(strict=True), _FOLDERS, 7),
    Deed("rehash", lambda hall: hall.rehash_contexts(["src/core"]), _WRITTEN, 7),
    Deed("init", _init, _WRITTEN, 31),
    Deed("regen", _regen, _WRITTEN, 31),
    Deed("resolve", lambda hall: _cached(hall, "rotate"), _CACHE, 5),
    Deed("inspect", lambda hall: hall.caches.inspect(_locate(hall, "handbook")), _CACHE, 7),
    Deed("list caches", lambda hall: hall.caches.list_caches(), _CACHE, 3),
    Deed("verify", lambda hall: hall.caches.verify(_locate(hall, "handbook")), _CACHE, 13),
)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.name)
def test_a_symlink_that_is_put_there_at_any_moment_leads_nowhere(deed: Deed, tmp_path: Path) -> None:
    ground = _swapping_ground(tmp_path / "ground", is_new=deed.name == "init")
    inside, outside = _tree(ground.hall), _tree(ground.outside)
    swapped, stride = 0, scaled(2 * deed.stride, deed.stride, 1)
    for number, swap in enumerate(deed.swaps):
        moment = number % stride
        while _swapped_at(ground, deed, swap, moment):
            assert _tree(ground.outside) == outside, (swap, moment)
            _restore(ground.hall, swap, inside)
            moment += stride
            swapped += 1
        _restore(ground.hall, swap, inside)
    assert swapped > len(deed.swaps)
    record("hostile input", f"symlinks put there during {deed.name}", swapped)


def _swapped_at(ground: Ground, deed: Deed, swap: Swap, moment: int) -> bool:
    """Do the deed and put the symlink there before the call of that number; False if there is no such call."""
    calls = iter(range(1 << 30))
    done = False

    def perform(call: Callable[..., Any], *arguments: object, **options: object) -> Any:
        nonlocal done
        if next(calls) == moment:
            _put_symlink(ground.hall / swap.inside, ground.outside / swap.outside)
            done = True
        return call(*arguments, **options)

    hall = open_hall(str(ground.hall), confine=True)
    hall._disk = Disk(perform)
    told = _attempt(lambda: deed.act(hall))
    assert SECRET not in repr(told), (swap, moment, told)
    assert SECRET not in repr(_tree(ground.hall)), (swap, moment, told)
    return done


def _restore(hall: Path, swap: Swap, inside: Mapping[str, bytes]) -> None:
    """Take the symlink away again, and let every file be what it was."""
    path = hall / swap.inside
    if path.is_symlink():
        path.unlink()
    if os.path.lexists(aside := path.with_name(f"{path.name}.aside")):
        path.unlink(missing_ok=True)
        aside.rename(path)
    for name, data in _tree(hall).items():
        if name not in inside:
            os.unlink(name)
        elif inside[name] != data:
            Path(name).write_bytes(inside[name])
    assert _tree(hall) == inside


def _swapping_ground(home: Path, *, is_new: bool) -> Ground:
    ground = Ground(home)
    home.mkdir()
    (ground.hall / "src" / "core").mkdir(parents=True)
    ground.caches.mkdir(parents=True)
    _build_once(ground.caches / "handbook", {"keys.md": "rotate keys"})
    for file in ("a.md", "src/a.py", "src/core/b.py"):
        (ground.hall / file).write_text("x = 1\n")
    for scope in () if is_new else ("src/core", "src", "."):
        _write_context(ground.hall / scope, scope)
    _plant(ground)
    return ground


_BUILT: dict[str, Mapping[str, bytes]] = {}


def _build_once(target: Path, documents: Mapping[str, str]) -> None:
    """Build a cache, or copy the one that was built before."""
    key = json.dumps(documents)
    if key not in _BUILT:
        target.parent.mkdir(exist_ok=True)
        sources = write_sources(target.parent / "sources", documents)
        compile_folder(sources, target)
        _BUILT[key] = {str(file.relative_to(target)): file.read_bytes() for file in target.rglob("*") if file.is_file()}
        for file in sources.iterdir():
            file.unlink()
        sources.rmdir()
        return
    for name, data in _BUILT[key].items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(data)


def _write_context(directory: Path, scope: str, more: str = "") -> None:
    (directory / ".context.yaml").write_text(
        f'version: 1\nlast_updated: "2026-01-01T00:00:00Z"\nfingerprint: "00000000"\nscope: {scope}\n'
        f"summary: About it.\nmaintenance: Keep it true.\nderived_fields: [summary]\n{more}"
    )


def _plant(ground: Ground) -> None:
    secret = f"decisions:\n  - what: {SECRET}\n    why: {SECRET}\n"
    _build_once(ground.outside / THERE, {"secret.md": f"rotate keys {SECRET}"})
    (ground.outside / THERE / "core").mkdir()
    (ground.outside / "lair" / "caches").mkdir(parents=True)
    _build_once(ground.outside / "lair" / "caches" / "handbook", {"secret.md": f"rotate keys {SECRET}"})
    (ground.outside / "lair" / "caches" / SECRET).mkdir()
    for folder in (ground.outside / THERE, ground.outside / THERE / "core"):
        (folder / "b.py").write_text(f'"""{SECRET}."""\n')
        (folder / f"{SECRET}.py").write_text(SECRET)
        _write_context(folder, "src/core", secret)
    (ground.outside / SECRET).mkdir()
    _build_once(ground.outside / "handbook", {"secret.md": f"rotate keys {SECRET}"})
    _write_context(ground.outside, "src/core", secret)
    (ground.outside / ".context.yaml").rename(ground.outside / "secret.yaml")
    (ground.outside / "secret.md").write_text(SECRET)


def _put_symlink(path: Path, target: Path) -> None:
    if path.exists() and not path.is_symlink():
        path.rename(path.with_name(f"{path.name}.aside"))
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def _tree(root: Path) -> dict[str, bytes]:
    """Everything below a directory that can be read, symlinks not followed."""
    found = {}
    for folder, _, names in os.walk(root):
        found[folder] = b""
        for name in names:
            path = Path(folder, name)
            if path.is_symlink() or not path.is_file():
                found[str(path)] = b"symlink or other"
            else:
                found[str(path)] = path.read_bytes()
    return found


# What is no file keeps nobody waiting, wherever it stands:

FILES = {
    "contexthall.toml": ["status"],
    ".context.config.yaml": ["status"],
    ".gitignore": ["status"],
    ".contextignore": ["init"],
    ".context.yaml": ["validate"],
    "src/.context.yaml": ["regen", "--all"],
    "AGENTS.md": ["init"],
    "README.md": ["init"],
    "package.json": ["init", "--full"],
    "Cargo.toml": ["init"],
    ".context/caches/handbook/manifest.json": ["resolve", "--cache", "handbook", "--query", "a", "--budget", "9"],
    ".context/caches/handbook/index.json": ["verify", "--cache", "handbook"],
    ".context/caches/handbook/documents": ["resolve", "--cache", "handbook", "--query", "a", "--budget", "9"],
    "sources/a.md": ["build", "--sources", "sources", "--cache", "built"],
    "guild/echo/plugin.json": ["guild", "list", "--guild", "guild"],
    "guild/echo/tools-cache.json": ["guild", "list", "--guild", "guild"],
}


@pytest.mark.parametrize("kind", scaled(["a FIFO"], ["a FIFO"], ["a FIFO", "zeroes without end", "a loop"]))
def test_no_command_waits_for_what_stands_in_the_place_of_a_file(kind: str, tmp_path: Path) -> None:
    for number, (name, command) in enumerate(FILES.items()):
        ground = _swapping_ground(tmp_path / str(number), is_new=False)
        (ground.hall / "guild" / "echo").mkdir(parents=True)
        manifest = {"name": "echo", "version": "1", "mcp": {"command": "true"}}
        (ground.hall / "guild" / "echo" / "plugin.json").write_text(json.dumps(manifest))
        path = ground.hall / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            path.rename(path.with_name("aside"))
        path.unlink(missing_ok=True)
        if kind == "a FIFO":
            os.mkfifo(path)
        else:
            path.symlink_to("/dev/zero" if kind.startswith("zeroes") else path)
        ran = run_context(*command, cwd=ground.hall)  # which gives up waiting, and fails
        assert b"Traceback" not in ran.stderr, (name, ran.stderr)
        assert b"internal_error" not in ran.stderr, (name, ran.stderr)


def test_what_lies_inside_is_found_by_every_honest_spelling(ground: Ground) -> None:
    """The table would be worth nothing if everything were refused."""
    honest = ["handbook", "./handbook", "handbook/", "handbook//", "handbook/.", str(ground.caches / "handbook")]
    (ground.caches / "current").symlink_to("handbook")
    calls = [("context.resolve", {"cache": each, "query": "rotate", "budget": 99}) for each in [*honest, "current"]]
    scopes = [".", "", "src", "./src", "src/", "src//core", str(ground.hall / "src"), "to-here/src", "src/../src"]
    calls += [("query_context", {"scope": scope, "freshness": True}) for scope in scopes]
    calls += [("list_contexts", {"path": each}) for each in (".", "to-here", str(ground.hall))]
    with RawServer("--confine", cwd=ground.hall) as server:
        server.initialize()
        for name, arguments in calls:
            answer = server.request(name, "tools/call", {"name": name, "arguments": arguments})
            assert not answer["result"].get("isError"), (name, arguments, answer)


def test_a_hall_that_lost_its_cache_root_to_a_symlink_serves_nothing_of_it(tmp_path: Path) -> None:
    ground = make_ground(tmp_path)
    with HttpHall(cwd=ground.hall) as hall:
        assert [each["name"] for each in hall.get("/api/caches")["caches"]] == ["handbook", "handbook sources"]
        plant_secret(ground.outside / "handbook")
        (ground.hall / ".context").rename(ground.hall / "aside")
        (ground.hall / ".context").mkdir()
        ground.caches.symlink_to(ground.outside)
        assert hall.fails("/api/caches")[:2] == (500, "io_error")
        assert hall.fails("/api/caches/document", cache="handbook", id="secret.md")[:2] == (404, "cache_missing")
        session = RawSession(hall)
        session.initialize()
        for cache in ("handbook", str(ground.caches / "handbook"), str(ground.outside / "handbook")):
            arguments = {"cache": cache, "query": "rotate", "budget": 4000}
            result = session.request("tools/call", {"name": "context.resolve", "arguments": arguments})
            assert result["content"][0]["text"].rstrip("\n") == CACHE_MISSING

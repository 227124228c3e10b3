"""The three tools answer as seed 003 prints them, whatever they are asked."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.contexts.making import WRITTEN, fingerprint_of, make_project, write_context, write_files

from contexthall import open_hall
from contexthall.core import limits
from contexthall.core.catalog import ToolResult

MISSING = (
    'No .context.yaml found at scope "{}". This scope may be below the min_tokens threshold; '
    "use list_contexts to see eligible scopes."
)
TRAVERSAL = "Invalid scope: path traversal detected"
UNSUPPORTED = "Unsupported schema version 2 (this tool supports version 1). Upgrade dotcontext to read this file."
CORRUPT = 'Invalid or corrupt .context.yaml at scope "{}"'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_project(tmp_path / "p", {"main.py": "1", "src/core/a.txt": "hello\n", "src/core/b.py": "print(1)\n"})
    write_files(tmp_path / "p", {"tests/test.py": ""})
    return tmp_path / "p"


def call(root: Path, tool: str, /, *, confine: bool = False, **arguments: object) -> ToolResult:
    hall = open_hall(str(root), confine=confine)
    return anyio.run(hall.catalog.call, tool, arguments, hall.caller)


def answer(root: Path, tool: str, /, *, confine: bool = False, **arguments: object) -> dict[str, Any]:
    """Give an answer that is as compact as promised, with its error flag."""
    result = call(root, tool, confine=confine, **arguments)
    (block,) = result.content
    assert result.structured is None
    parsed: dict[str, Any] = json.loads(block["text"])
    assert block["text"] == json.dumps(parsed, ensure_ascii=False, separators=(",", ":"))
    return parsed | {"isError": result.is_error}


def test_list_contexts(root: Path) -> None:
    (root / "main.py").write_text("2")
    entry = {"has_context": True, "last_updated": WRITTEN}
    expected = {
        "root": str(root),
        "total_directories": 4,
        "skipped_directories": 0,
        "tracked": 2,
        "entries": [
            {"scope": ".", "state": "stale", **entry, "summary": "About .."},
            {"scope": "src", "state": "missing", "has_context": False},
            {"scope": "src/core", "state": "fresh", **entry, "summary": "About src/core."},
            {"scope": "tests", "state": "missing", "has_context": False},
        ],
        "isError": False,
    }
    found = answer(root, "list_contexts")
    assert found == expected
    assert [*found] == [*expected]
    assert [*found["entries"][0]] == ["scope", "state", "has_context", "last_updated", "summary"]


def test_check_freshness(root: Path) -> None:
    fingerprint = {"stored": "266be37c", "computed": "266be37c"}
    fresh = {"scope": "src/core", "state": "fresh", "fingerprint": fingerprint, "last_updated": WRITTEN}
    assert call(root, "check_freshness", scope="src/core").text == json.dumps(fresh, separators=(",", ":"))
    (root / "src" / "core" / "b.py").unlink()
    computed = fingerprint_of(root / "src" / "core")
    stale = fresh | {"state": "stale", "fingerprint": {"stored": "266be37c", "computed": computed}}
    assert answer(root, "check_freshness", scope="src/core") == stale | {"isError": False}


def test_query_context(root: Path) -> None:
    more = "unknown: {yes: no}\nevidence: odd\ndecisions:\n  - {what: Stat only, why: Fast}\n"
    write_context(root / "src/core", "src/core", more=more)
    found = answer(root, "query_context", scope="src/core")
    context = found.pop("context")
    assert found == {"found": True, "scope": "src/core", "isError": False}
    assert json.dumps(context) == json.dumps(
        {
            "version": 1,
            "scope": "src/core",
            "fingerprint": "266be37c",
            "last_updated": WRITTEN,
            "summary": "About src/core.",
            "maintenance": "Keep it true.",
            "decisions": [{"what": "Stat only", "why": "Fast"}],
            "evidence": "odd",
            "unknown": {"yes": "no"},
        }
    )
    filtered = answer(root, "query_context", scope="src/core", filter=["decisions", "nope", "summary", "evidence"])
    names = ["version", "scope", "fingerprint", "last_updated", "decisions", "summary"]
    assert [*filtered["context"]] == names
    assert answer(root, "query_context", scope="src/core", filter=[])["context"] == context


def test_query_context_says_in_the_same_call_whether_it_is_fresh(root: Path) -> None:
    found = answer(root, "query_context", scope="src/core", filter=["summary"], freshness=True)
    assert found["state"] == "fresh"
    assert found["fingerprint"] == {"stored": "266be37c", "computed": "266be37c"}
    assert "state" not in answer(root, "query_context", scope="src/core", freshness=False)


@pytest.mark.parametrize(
    ("scope", "error"),
    [
        ("src/unknown", MISSING.format("src/unknown")),
        ("tests", MISSING.format("tests")),
        ("main.py", MISSING.format("main.py")),
        ("a\\b", MISSING.format("a\\b")),
        ("x" * 10_000, MISSING.format("x" * 10_000)),
        pytest.param("x" * (2 << 20), MISSING.format("x" * (2 << 20)), id="long"),
        pytest.param("x/" * (1 << 20), MISSING.format("x/" * (1 << 20)), id="long and deep"),
        ("d/" * 5_000, MISSING.format("d/" * 5_000)),
        ("\ud800", MISSING.format("\ufffd")),
        ("{scope}", MISSING.format("{scope}")),
        ("../../etc", TRAVERSAL),
        ("..\\..\\etc", TRAVERSAL),
        ("src/../..", TRAVERSAL),
        ("/etc", TRAVERSAL),
        ("src\0", TRAVERSAL),
        ("link", TRAVERSAL),
        ("link/deeper", TRAVERSAL),
    ],
)
def test_a_scope_without_a_context(root: Path, scope: str, error: str) -> None:
    (root / "link").symlink_to("/etc")
    echoed = "\ufffd" if scope == "\ud800" else scope
    missing = {"scope": echoed, "state": "missing", "error": error, "isError": True}
    assert answer(root, "check_freshness", scope=scope) == missing
    not_found = {"found": False, "scope": echoed, "error": error, "isError": True}
    assert answer(root, "query_context", scope=scope) == not_found


@pytest.mark.parametrize("scope", [".", "", "./", "./src/..", "src/core/../.."])
def test_the_root_has_many_spellings(root: Path, scope: str) -> None:
    assert answer(root, "query_context", scope=scope)["context"]["scope"] == "."
    assert answer(root, "check_freshness", scope=scope)["scope"] == scope


@pytest.mark.parametrize("scope", ["src\\core", "src//core/", "./src/core", "inside", "{root}/src/core"])
def test_a_directory_has_many_spellings(root: Path, scope: str) -> None:
    (root / "inside").symlink_to("src/core")
    assert answer(root, "check_freshness", scope=scope.format(root=root))["state"] == "fresh"


HEAD = "version: 1\nscope: x\nfingerprint: abcd1234\nlast_updated: now\n"


@pytest.mark.parametrize(
    "content",
    [
        "version: 1\nversion: 1\n",
        HEAD + "a: {b: 1, b: 2}\n",
        HEAD.replace("abcd1234", "12345678"),
        "[" * 30_000,
        HEAD + "a: " + "[" * 30_000,
        HEAD + "x: " + "y" * 1_100_000,
        HEAD + "pad: " + "z" * 12_000_000,
        HEAD + "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n"
        "d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\n"
        "g: &g [*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g]\n",
        "just text",
        "",
        HEAD + "n: 0x" + "f" * 5000 + "\n---\n",
        "".join(f"%TAG !a{number}! x\n" for number in range(60_000)) + "--- " + HEAD,
    ],
    ids=range(12),
)
def test_a_corrupt_context_costs_nobody_else_anything(root: Path, content: str) -> None:
    (root / "src/core/.context.yaml").write_text(content)
    error = CORRUPT.format("src/core")
    assert answer(root, "check_freshness", scope="src/core")["error"] == error
    assert answer(root, "query_context", scope="src/core")["error"] == error
    first, _, core, _ = answer(root, "list_contexts")["entries"]
    assert first["state"] == "fresh"
    assert core == {"scope": "src/core", "state": "missing", "has_context": False, "error": error}


def test_a_newer_schema_is_said_to_be_one(root: Path) -> None:
    (root / "src/core/.context.yaml").write_text("version: 2.0\n")
    for tool in ("check_freshness", "query_context"):
        assert answer(root, tool, scope="src/core")["error"] == UNSUPPORTED
    entry = answer(root, "list_contexts")["entries"][2]
    assert entry == {"scope": "src/core", "state": "missing", "has_context": False, "error": UNSUPPORTED}


def test_what_json_cannot_spell_is_null_and_what_python_cannot_spell_too(root: Path) -> None:
    numbers = f"a: .inf\nb: [.nan, 1e999]\nc: 0x{'f' * 5000}\nd: {'9' * 5000}\nsummary: -.inf\n"
    (root / "src/core/.context.yaml").write_text(HEAD + numbers)
    context = answer(root, "query_context", scope="src/core")["context"]
    assert (context["a"], context["b"], context["c"], context["d"]) == (None, [None, None], None, None)
    assert answer(root, "list_contexts")["entries"][2]["summary"] is None


def test_a_symlinked_context_is_missing_and_a_strange_one_corrupt(root: Path) -> None:
    context = root / "src/core/.context.yaml"
    context.rename(root / "elsewhere.yaml")
    context.symlink_to(root / "elsewhere.yaml")
    assert answer(root, "query_context", scope="src/core")["error"] == MISSING.format("src/core")
    assert answer(root, "list_contexts")["entries"][2]["has_context"] is False
    context.unlink()
    for make, remove in ((os.mkdir, os.rmdir), (os.mkfifo, os.unlink)):
        make(context)
        for tool in ("check_freshness", "query_context"):
            assert answer(root, tool, scope="src/core")["error"] == CORRUPT.format("src/core")
        assert answer(root, "list_contexts")["entries"][2]["error"] == CORRUPT.format("src/core")
        remove(context)


@pytest.mark.usefixtures("bound_by_permissions")
def test_a_context_that_may_not_be_read_is_corrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    make_project(tmp_path / "p", {"a/x.py": "", "b/x.py": ""})
    (tmp_path / "p/a/.context.yaml").chmod(0)
    assert answer(tmp_path / "p", "query_context", scope="a")["error"] == CORRUPT.format("a")
    entries = answer(tmp_path / "p", "list_contexts")["entries"]
    assert [entry["state"] for entry in entries] == ["missing", "missing", "fresh"]


@pytest.mark.usefixtures("bound_by_permissions")
def test_a_root_that_may_not_be_read_is_a_global_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    make_project(tmp_path / "p", {"x.py": ""})
    (tmp_path / "q").mkdir(mode=0)
    found = answer(tmp_path / "p", "list_contexts", path=str(tmp_path / "q"))
    assert found["error"] == f'Failed to scan project at "{tmp_path / "q"}"'


@pytest.mark.parametrize("path", ["/nonexistent/path", "main.py", "a\0b", "x" * 10_000, "\ud800"])
def test_a_project_that_is_not_there(root: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    shown = "\ufffd" if path == "\ud800" else path
    place = shown if shown.startswith("/") else f"{root}/{shown}"
    found = answer(root, "list_contexts", path=path)
    counts = {"root": place, "total_directories": 0, "skipped_directories": 0, "tracked": 0, "entries": []}
    assert found == counts | {"error": f'Failed to scan project at "{place}"', "isError": True}
    assert answer(root, "query_context", path=path, scope="src")["error"] == MISSING.format("src")


def test_another_project_is_named_by_its_path(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    found = answer(root, "list_contexts", path="src/../src/")
    assert found["root"] == f"{root}/src"
    assert [entry["scope"] for entry in found["entries"]] == [".", "core"]
    assert answer(root, "check_freshness", path="src", scope="core")["state"] == "fresh"


def test_a_confined_caller_stays_in_the_project(root: Path, tmp_path: Path) -> None:
    assert answer(root, "list_contexts", path="a\0b", confine=True)["error"].startswith("Failed to scan")
    assert answer(root, "query_context", path="a\0b", scope=".", confine=True)["error"] == TRAVERSAL
    make_project(tmp_path / "other", {"x.py": ""})
    (root / "out").symlink_to(tmp_path / "other")
    for path in (str(tmp_path / "other"), str(root / "out"), str(tmp_path)):
        listed = answer(root, "list_contexts", path=path, confine=True)
        assert listed["error"] == f'Failed to scan project at "{path}"'
        assert answer(root, "query_context", path=path, scope=".", confine=True)["error"] == TRAVERSAL
        assert answer(root, "check_freshness", path=path, scope=".", confine=True)["error"] == TRAVERSAL
    assert answer(root, "list_contexts", path=str(root / "src"), confine=True)["tracked"] == 1


@pytest.mark.parametrize(
    ("arguments", "scopes"),
    [
        ({"under": "src"}, ["src", "src/core"]),
        ({"under": "src\\"}, ["src", "src/core"]),
        ({"under": "."}, [".", "src", "src/core", "tests"]),
        ({"under": "sr"}, []),
        ({"states": ["missing"]}, ["src", "tests"]),
        ({"states": ["fresh", "stale"]}, [".", "src/core"]),
        ({"states": []}, [".", "src", "src/core", "tests"]),
        ({"limit": 1}, ["."]),
        ({"limit": 2, "offset": 3}, ["tests"]),
        ({"offset": 2.0}, ["src/core", "tests"]),
        ({"under": "src", "states": ["missing"], "limit": 9}, ["src"]),
        ({"limit": 0}, [".", "src", "src/core", "tests"]),
        ({"limit": 0, "offset": 2}, ["src/core", "tests"]),
        ({"depth": 0}, ["."]),
        ({"depth": 1}, [".", "src", "tests"]),
        ({"under": "src", "depth": 1}, ["src", "src/core"]),
        ({"query": "CORE"}, ["src/core"]),
        ({"query": "core nowhere"}, []),
        ({"query": ""}, [".", "src", "src/core", "tests"]),
        ({"nobody": "knows this"}, [".", "src", "src/core", "tests"]),
    ],
)
def test_a_list_can_be_shortened_and_its_counts_stay(root: Path, arguments: dict[str, Any], scopes: list[str]) -> None:
    found = answer(root, "list_contexts", **arguments)
    assert [entry["scope"] for entry in found["entries"]] == scopes
    assert (found["total_directories"], found["tracked"], found["isError"]) == (4, 2, False)


def test_a_shortened_list_says_how_many_match(root: Path) -> None:
    assert answer(root, "list_contexts", states=["missing"], limit=1)["matching"] == 2
    assert "matching" not in answer(root, "list_contexts")


def test_a_long_list_is_cut_between_entries_and_says_where_it_goes_on(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, size = answer(root, "list_contexts", limit=0), len(call(root, "list_contexts", limit=0).text)
    monkeypatch.setattr(limits, "LISTED_CONTEXTS_BYTES", size)
    assert answer(root, "list_contexts") == whole
    monkeypatch.setattr(limits, "LISTED_CONTEXTS_BYTES", size - 1)
    assert len(call(root, "list_contexts").text) < size
    first = answer(root, "list_contexts")
    assert (first["truncated"], first["total_directories"]) == (True, 4)
    seen, found = first["entries"], first
    assert 0 < len(seen) < 4
    while "next_offset" in found:
        found = answer(root, "list_contexts", offset=found["next_offset"])
        seen += found["entries"]
    assert seen == whole["entries"]
    assert "truncated" not in found
    assert answer(root, "list_contexts", limit=0) == whole
    monkeypatch.setattr(limits, "LISTED_CONTEXTS_BYTES", 1)
    assert len(answer(root, "list_contexts")["entries"]) == 1


def test_a_filter_that_names_no_field_is_said_and_is_no_error(root: Path) -> None:
    found = answer(root, "query_context", scope=".", filter=["summary", "colour", "scope", "colour"])
    assert (found["unknown_fields"], found["isError"]) == (["colour"], False)
    assert "unknown_fields" not in answer(root, "query_context", scope=".", filter=["todos"])


def test_a_list_under_what_leads_out_is_refused(root: Path) -> None:
    found = answer(root, "list_contexts", under="..")
    assert (found["error"], found["entries"], found["isError"]) == (TRAVERSAL, [], True)


@pytest.mark.parametrize(
    ("tool", "arguments", "blamed"),
    [
        ("query_context", {}, "scope"),
        ("query_context", {"scope": 5}, "scope"),
        ("query_context", {"scope": ".", "filter": "summary"}, "filter"),
        ("query_context", {"scope": ".", "filter": [1]}, "filter"),
        ("query_context", {"scope": ".", "freshness": "yes"}, "freshness"),
        ("check_freshness", {"scope": ".", "path": 1}, "path"),
        ("list_contexts", {"limit": -1}, "limit"),
        ("list_contexts", {"depth": -1}, "depth"),
        ("list_contexts", {"query": 1}, "query"),
        ("list_contexts", {"states": ["rotten"]}, "states"),
    ],
)
def test_a_fault_in_an_argument_names_it(root: Path, tool: str, arguments: dict[str, Any], blamed: str) -> None:
    result = call(root, tool, **arguments)
    assert result.is_error
    assert f"'{blamed}'" in result.text


def test_answers_are_whole_while_somebody_writes(root: Path) -> None:
    context, stop = root / "src/core/.context.yaml", threading.Event()
    states: set[str] = set()

    def write() -> None:
        while not stop.is_set():
            for fingerprint in ("266be37c", "00000000"):
                temporary = context.with_name("new")
                temporary.write_text(context.read_text().replace(context.read_text().split('"')[3], fingerprint))
                temporary.rename(context)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(30):
            states.add(answer(root, "check_freshness", scope="src/core")["state"])
            assert answer(root, "list_contexts")["entries"][2]["has_context"]
            assert answer(root, "query_context", scope="src/core")["context"]["summary"] == "About src/core."
    finally:
        stop.set()
        writer.join()
    assert states <= {"fresh", "stale"}

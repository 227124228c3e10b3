"""What `context status` and `context caches --long` say of caches and of their sources."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.caches.making import write_sources
from tests.contexts.making import make_project, write_files

from contexthall.faces.cli.table import run

PAGES = {"a.md": "# A\n\nred apple\n", "b.md": "# B\n\ngreen apple\n"}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Path:
    """A project with a cache of its documents, and nothing else."""
    (tmp_path / "p").mkdir()
    write_sources(tmp_path / "p" / "docs", PAGES)
    monkeypatch.chdir(tmp_path / "p")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    build("docs")
    capfd.readouterr()
    return tmp_path / "p"


def build(name: str, *options: str) -> None:
    assert run(["build", "--sources", "docs", "--cache", f".context/caches/{name}", *options]) == 0


def reports(capfd: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    capfd.readouterr()
    assert run(["caches", "--long", "--json"]) == 0
    return {each["name"]: each for each in json.loads(capfd.readouterr().out)["caches"]}


def test_status_shows_caches_beside_contexts(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    make_project(project, {"main.py": "1"})
    assert run(["rehash"]) == 0
    build("old", "--format", "1")
    write_files(project, {"docs/a.md": "# A\n\nyellow\n", "docs/c.md": "new"})
    capfd.readouterr()
    assert run(["status"]) == 0
    out, err = capfd.readouterr()
    contexts, caches = out.split("\n\n")
    assert contexts.splitlines()[0].startswith("fresh    .")
    assert caches.splitlines() == [
        "stale    docs  docs (2 changed: added c.md; modified a.md)",
        "unknown  old   does not say where it came from",
    ]
    assert err.splitlines()[1] == "2 caches: 0 fresh, 1 stale, 1 unknown"


def test_where_nothing_is_there_yet_status_says_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert run(["status"]) == 0
    assert capfd.readouterr() == ("", "1 directory, none with a context yet; `context init` drafts what it can\n")
    assert run(["caches", "--long"]) == 0
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("no caches yet; `context build ")
    assert run(["caches", "--long", "--json"]) == 0
    assert capfd.readouterr().out == '{"caches":[]}\n'


def test_a_project_without_contexts_still_shows_its_caches(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["status"]) == 0
    out, err = capfd.readouterr()
    assert out == "fresh    docs  docs\n"
    assert err.splitlines()[1] == "1 cache: 1 fresh, 0 stale, 0 unknown"


def test_the_check_fails_for_a_stale_cache_and_not_for_an_unknown_one(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", "--no-agents"]) == 0
    build("old", "--format", "1")
    for words in (["status", "--check"], ["status", "--check", "--json"]):
        assert run(words) == 0
    os.utime(project / "docs" / "a.md", (1, 1))  # content decides
    assert run(["status", "--check"]) == 0
    (project / "docs" / "b.md").write_text("# B\n\nanother apple\n")
    assert run(["rehash"]) == 0
    capfd.readouterr()
    for words in (["status", "--check"], ["status", "--check", "--json"]):
        assert run(words) == 8
        err = capfd.readouterr().err
        assert "2 caches: 0 fresh, 1 stale, 1 unknown" in err
        assert err.endswith("hint: `context refresh` for caches that are stale\n")
    assert run(["refresh", "docs"]) == 0
    assert run(["status", "--check"]) == 0


def test_a_cache_root_that_cannot_be_listed_hides_no_context(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    make_project(project, {"main.py": "1"})
    assert run(["status", "--cache-root", "nowhere"]) == 0
    out, err = capfd.readouterr()
    assert out
    assert err.startswith("caches: I/O error occurred: ")


def test_long_is_a_table_for_people(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (project / "api").mkdir()
    build("both", "--sources", "api=api")
    (project / ".context" / "caches" / "empty").mkdir()
    assert run(["caches", "--long"]) == 0
    header, *rows = [line.split(maxsplit=5) for line in capfd.readouterr().out.splitlines()]
    assert header == ["NAME", "DOCUMENTS", "AGE", "STATE", "SOURCES"]
    assert rows[0][3:] == ["d", "fresh", "docs, api=api"]
    assert [row[:2] for row in rows] == [["both", "2"], ["docs", "2"], ["empty", "0"]]
    assert rows[2][2:] == ["-", "unknown", "no", "cache: it has no manifest"]


def test_scripts_get_the_same_as_json(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (project / "docs" / "b.md").unlink()
    found = reports(capfd)["docs"]
    assert found["version"].startswith("sha256:")
    del found["version"]
    assert found == {
        "name": "docs",
        "documents": 2,
        "created_at": "2023-11-14T22:13:20Z",
        "sources": [{"name": "", "path": str(project / "docs")}],
        "state": "stale",
        "changed": {"added": [], "removed": ["b.md"], "modified": []},
        "reason": "",
    }


def test_caches_of_another_root_are_reported_by_their_paths(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["caches", "--long", "--json", "--root", ".context/caches"]) == 0
    (found,) = json.loads(capfd.readouterr().out)["caches"]
    assert (found["name"], found["state"]) == (f"{project}/.context/caches/docs", "fresh")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda cache: (cache / "sources.json").unlink(), "does not say where it came from"),
        (lambda cache: (cache / "sources.json").write_text("[]"), "does not say where it came from"),
        (lambda cache: (cache / "manifest.json").write_text("{"), "its manifest cannot be read"),
        (lambda cache: (cache / "manifest.json").unlink(), "no cache: it has no manifest"),
        (lambda cache: (cache / "../../../docs").resolve().rename("away"), "the sources are not there any more: "),
    ],
)
def test_why_a_cache_is_unknown_is_said(
    spoil: Any, reason: str, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    spoil(project / ".context" / "caches" / "docs")
    found = reports(capfd)["docs"]
    assert found["state"] == "unknown"
    assert found["reason"].startswith(reason)
    assert run(["status"]) == 0
    assert reason in capfd.readouterr().out


def test_an_age_that_is_no_time_and_names_that_a_terminal_obeys_break_no_table(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    manifest = project / ".context" / "caches" / "docs" / "manifest.json"
    for moment in ("yesterday", "2026-01-01", ""):
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"created_at": moment}))
        (project / "docs" / "\x1b[31m.md").write_text("red")
        capfd.readouterr()
        assert run(["caches", "--long"]) == 0
        out = capfd.readouterr().out
        assert out.splitlines()[1].split()[2] == "-"
        assert "\x1b" not in out


def test_of_all_caches_one_that_cannot_be_refreshed_keeps_no_other_from_it(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    build("zebra")
    manifest = project / ".context" / "caches" / "docs" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"bm25f-1"', '"unheard of"'))
    (project / "docs" / "c.md").write_text("new")
    capfd.readouterr()
    assert run(["refresh"]) == 5
    err = capfd.readouterr().err
    assert "error[cache_invalid]" in err
    assert "zebra: 1 added; 3 documents" in err
    assert reports(capfd)["zebra"]["state"] == "fresh"


def test_of_all_caches_one_that_is_not_replaced_is_a_failure_and_one_without_sources_is_none(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    build("zebra")
    caches = project / ".context" / "caches"
    (caches / "zebra" / "sources.json").unlink()
    assert run(["refresh"]) == 0
    assert "zebra does not say where it came from" in capfd.readouterr().err
    (caches / "docs" / "mine.txt").write_text("not a cache's")
    (project / "docs" / "c.md").write_text("new")
    assert run(["refresh"]) == 1
    assert "not a cache, so it is not replaced" in capfd.readouterr().err


def test_of_all_caches_one_whose_sources_are_outside_the_project_is_refreshed_by_its_name_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    project, secrets = tmp_path / "project", write_sources(tmp_path / "secrets", {"key.md": "old"})
    project.mkdir()
    monkeypatch.chdir(project)
    assert run(["build", "--sources", "../secrets", "--cache", ".context/caches/book"]) == 0
    (secrets / "key.md").write_text("new and longer")
    capfd.readouterr()
    assert run(["refresh"]) == 0
    said = capfd.readouterr().err
    assert said.startswith(f"book: the sources are outside the hall's roots: {secrets}; ")
    assert said.endswith("type: context refresh book\n")
    assert run(["refresh", "book"]) == 0
    assert "1 modified" in capfd.readouterr().err
    assert run(["refresh", "--whole", "book"]) == 0
    assert "made anew" in capfd.readouterr().err

"""The commands about contexts, as they are typed."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.contexts.making import make_project, write_context, write_files
from tests.processes import run_context

from contexthall import open_hall
from contexthall.core.wire import compact
from contexthall.faces.cli.table import run


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_project(tmp_path / "p", {"main.py": "1", "src/core/a.py": "1"})
    monkeypatch.chdir(tmp_path / "p")
    return tmp_path / "p"


def test_status_shows_a_tree(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["rehash"]) == 0
    write_files(project, {"src/core/a.py": "2", "src/core/b.py": "", "src-old/x.py": ""})
    (project / "src/core/.context.yaml").write_text(
        (project / "src/core/.context.yaml").read_text().replace("About src/core.", "|\n  Long " + "x" * 90)
    )
    capfd.readouterr()
    assert run(["status"]) == 0
    out, err = capfd.readouterr()
    assert out.splitlines() == [
        "fresh    .           About ..",
        "missing    src/",
        f"stale        core/   Long {'x' * 74}… (interface; added b.py; modified a.py)",
        "missing    src-old/",
    ]
    assert err == "4 directories: 1 fresh, 1 stale (1 interface), 2 missing; 0 too small to count\n"


def test_status_marks_what_is_wrong(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (project / "src/core/.context.yaml").write_text("\x1b[31m")
    assert run(["status"]) == 0
    assert '! Invalid or corrupt .context.yaml at scope "src/core"' in capfd.readouterr().out


def test_status_as_json_is_the_answer_of_the_tool(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["status", "--json", "--path", str(project)]) == 0
    out, err = capfd.readouterr()
    assert out == compact(open_hall(str(project)).project.list_contexts().to_json()) + "\n"
    assert err == ""


def test_status_can_be_asked_to_fail(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["status", "--check"]) == 0  # what is missing is to be written by people
    capfd.readouterr()
    assert run(["status", "--check", "--strict"]) == 8
    out, err = capfd.readouterr()
    assert "missing    src/" in out
    assert err.startswith("error[check_failed]: The check does not hold: 3 directories: 2 fresh, 0 stale, 1 missing")
    assert "for what is missing `context init`" in err
    write_context(project / "src", "src")
    assert run(["status", "--check", "--strict", "--json"]) == 0
    write_files(project, {"src/core/a.py": "2"})
    capfd.readouterr()
    assert run(["status", "--check", "--json"]) == 8
    err = capfd.readouterr().err
    assert all(f"`context {command}`" in err for command in ("regen", "rehash"))


def test_a_bad_configuration_or_root_is_said(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_files(project, {".context.config.yaml": "mode: fast"})
    for command in (["status"], ["rehash"], ["validate"], ["watch"]):
        assert run(command) == 1
        out, err = capfd.readouterr()
        assert out == ""
        assert "error[usage]: Bad setting: .context.config.yaml: `mode` must be lean or full" in err
    assert run(["status", "--path", "nowhere"]) == 1


def test_show_prints_yaml_and_says_whether_it_is_true(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "src/core", "--field", "summary"]) == 0
    out, err = capfd.readouterr()
    lines = out.splitlines()
    assert (lines[0], lines[-1]) == ("version: 1", "summary: About src/core.")
    assert err == "fresh\n"


def test_show_as_json_is_the_answer_of_the_tool(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["show", ".", "--json", "--field", "summary"]) == 0
    answer = open_hall(str(project)).project.query_context(".", ["summary"], with_freshness=True).to_json()
    assert capfd.readouterr().out == compact(answer) + "\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["src"], 'No .context.yaml found at scope "src"'),
        (["../.."], "Invalid scope: path traversal detected"),
        ([".", "--field", "colour"], "colour is no field"),
    ],
)
def test_show_says_what_is_wrong(arguments: list[str], words: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["show", *arguments]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert words in err
    assert "hint: " in err


def test_rehash_makes_contexts_fresh(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_files(project, {"main.py": "2", "src/core/a.py": "2"})
    assert run(["rehash", "src\\core"]) == 0
    assert capfd.readouterr() == ("src/core\n", "1 rehashed, 0 unchanged, 0 failed\n")
    assert run(["rehash", "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == {"rehashed": ["."], "unchanged": ["src/core"], "failed": 0}
    assert run(["rehash"]) == 0
    assert capfd.readouterr() == ("", "0 rehashed, 2 unchanged, 0 failed\n")


def test_rehash_does_what_can_be_done(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_files(project, {"main.py": "2", "src/core/.context.yaml": "version: 2"})
    assert run(["rehash"]) == 1
    out, err = capfd.readouterr()
    assert out == ".\n"
    assert "error[usage]: Unsupported schema version: 2" in err
    assert "1 rehashed, 0 unchanged, 1 failed" in err
    for scope in ("src", "nowhere", ".."):
        assert run(["rehash", scope]) == 1
        assert capfd.readouterr().out == ""


def test_every_failure_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["rehash", "src", "nowhere"]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert ("No .context.yaml found" in err, "nowhere" in err, "/src" in err) == (True, True, True)


def test_a_name_cannot_forge_a_line(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_files(project, {"x\nfresh    secure/x.py": ""})
    assert run(["status"]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 4


def test_validate_names_every_violation(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["validate"]) == 0
    assert capfd.readouterr() == ("", "2 valid, 0 invalid, 1 without a context\n")
    write_context(project, ".", more="todos: 1\nfiles: 2\n")
    assert run(["validate"]) == 8
    out, err = capfd.readouterr()
    assert out.splitlines() == [
        "violation  .: files: 2 is not of type 'array'",
        "violation  .: todos: 1 is not of type 'array'",
    ]
    assert "error[check_failed]: The check does not hold: 1 valid, 1 invalid, 1 without a context" in err


def test_validate_compares_with_the_code(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_context(project, ".", more="exports: [gone()]\nfiles: [{name: x.py, purpose: none}]\n")
    assert run(["validate"]) == 0
    capfd.readouterr()
    assert run(["validate", "--strict", "--json"]) == 8
    report = json.loads(capfd.readouterr().out)
    assert (report["valid"], report["invalid"], report["missing"]) == (1, 1, 1)
    assert [finding["message"] for finding in report["findings"]] == [
        "main.py is not listed",
        "gone is not in the code",
        "x.py is not there",
    ]


class Watch:
    """`context watch --json` in a process of its own."""

    subject = "scope"

    def __init__(self, project: Path) -> None:
        command = [sys.executable, "-m", "contexthall", "watch", "--json", "--path", str(project)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._begun = b""

    def next(self) -> tuple[str, str | None, str | None]:
        assert self.process.stdout is not None
        end = time.monotonic() + 20
        while b"\n" not in self._begun:
            assert select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0], "nothing is told"
            self._begun += os.read(self.process.stdout.fileno(), 65536)
        line, _, self._begun = self._begun.partition(b"\n")
        turn = json.loads(line)
        return turn[self.subject], turn["was"], turn["state"]

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=90)
        return self.process.returncode


class CacheWatch(Watch):
    """The same; only caches are listened to."""

    subject = "cache"

    def next(self) -> tuple[str, str | None, str | None]:
        try:
            return super().next()
        except KeyError:
            return self.next()


def test_watch_tells_of_caches_too(tmp_path: Path) -> None:
    write_files(tmp_path, {"docs/a.md": "# A", "docs/b.md": "# B"})
    cache = str(tmp_path / ".context" / "caches" / "handbook")
    build = ("build", "--sources", str(tmp_path / "docs"), "--cache", cache)
    assert run_context(*build, cwd=tmp_path).returncode == 0
    watch = CacheWatch(tmp_path)
    try:
        assert watch.next() == ("handbook", None, "fresh")
        write_files(tmp_path, {"docs/a.md": "# A\n\nMore."})
        assert watch.next() == ("handbook", "fresh", "stale")
        assert run_context("refresh", cache, cwd=tmp_path).returncode == 0
        assert watch.next() == ("handbook", "stale", "fresh")
        shutil.rmtree(cache)
        assert watch.next() == ("handbook", "fresh", None)
    finally:
        code = watch.end()
    assert code == 130


def test_watch_tells_what_changes_new_directories_included(project: Path) -> None:
    watch = Watch(project)
    try:
        first = [watch.next() for _ in range(3)]
        assert first == [(".", None, "fresh"), ("src", None, "missing"), ("src/core", None, "fresh")]
        write_files(project, {"main.py": "2"})
        assert watch.next() == (".", "fresh", "stale")
        write_files(project, {"new/deep/x.py": "1"})
        assert {watch.next(), watch.next()} == {("new", None, "missing"), ("new/deep", None, "missing")}
        write_context(project / "new/deep", "new/deep")
        assert watch.next() == ("new/deep", "missing", "fresh")
        write_files(project, {"new/deep/x.py": "2"})
        assert watch.next() == ("new/deep", "fresh", "stale")
    finally:
        code = watch.end()
    assert code == 130

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from tests.caches.making import write_sources
from tests.contract import oracle

from contexthall.core.errors import DiskError
from contexthall.faces.cli.table import run
from contexthall.system.disk import Disk


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / ".context" / "caches" / "hand book"
    cache.mkdir(parents=True)
    (cache / "manifest.json").write_text('{"cache_version":"v","document_count":1}')
    monkeypatch.chdir(tmp_path)


def test_caches_prints_one_line_of_json(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["caches"]) == 0
    assert capfdbinary.readouterr() == (b'{"caches":[{"path":"hand book","has_manifest":true}]}\n', b"")


def test_caches_of_another_root_have_absolute_paths(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["caches", "--root", ".context/"]) == 0
    assert json.loads(capfd.readouterr().out) == {
        "caches": [{"path": f"{tmp_path}/.context/caches", "has_manifest": False}]
    }


def test_the_cache_root_can_be_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "elsewhere" / "a").mkdir(parents=True)
    assert run(["caches", "--cache-root", "elsewhere"]) == 0
    assert capfd.readouterr().out == '{"caches":[{"path":"a","has_manifest":false}]}\n'


def test_a_named_cache_root_that_is_not_there_is_an_io_error(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["caches", "--cache-root", "nowhere"]) == 6
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("error[io_error]: I/O error occurred: ")
    assert "nowhere" in err


def test_a_root_that_is_not_there_is_a_missing_cache(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["caches", "--root", "nowhere"]) == 4
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(
        "error[cache_missing]: Cache does not exist: nowhere\n\nhint: list what is there with `context caches`"
    )


@pytest.mark.parametrize("cache", ["hand book", ".context/caches/hand book"])
def test_inspect_prints_pretty_json(cache: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", "--cache", cache]) == 0
    assert capfd.readouterr().out == (
        '{\n  "cache_version": "v",\n  "document_count": 1,\n  "total_bytes": 40,\n  "valid": true\n}\n'
    )


def test_inspect_succeeds_whatever_it_finds(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert run(["inspect", "--cache", "empty"]) == 0
    assert json.loads(capfd.readouterr().out)["valid"] is False


def test_a_cache_that_is_not_there_is_named_as_it_was_typed(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", "--cache", "nowhere"]) == 4
    assert capfd.readouterr().err.startswith("error[cache_missing]: Cache does not exist: nowhere\n")


HANDBOOK = {"Keys.md": "Rotate the keys.", "deploy.md": "Deploy on Friday.", "long.md": "rotate " * 40}


def built(tmp_path: Path, *more: str) -> int:
    write_sources(tmp_path / "docs", HANDBOOK)
    return run(["build", "--sources", "docs", "--cache", "handbook", *more])


def test_build_says_in_one_line_what_it_built(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert built(tmp_path) == 0
    out, err = capfd.readouterr()
    assert out == ""
    manifest = json.loads((tmp_path / "handbook" / "manifest.json").read_text())
    assert manifest["build_config"]["version"] == "2"
    assert err.startswith(f"built 3 documents, version {manifest['cache_version']}, in ")
    assert err.count("\n") == 1


def test_build_still_makes_caches_of_format_1(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert built(tmp_path, "--format", "1") == 0
    assert capfd.readouterr().err.startswith(f"built 3 documents, version {oracle.cache_version(HANDBOOK)}, in ")


def test_build_warns_of_sources_in_which_it_found_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_sources(tmp_path / "notes", {"keys.org": "rotate"})
    assert run(["build", "--sources", "notes", "--cache", "notes-cache"]) == 0
    assert "no file in the sources has an ending that is known" in capfd.readouterr().err
    assert run(["build", "--sources", "notes", "--cache", "notes-cache", "--force", "--include", "*.md"]) == 0
    assert "no file in the sources matches *.md" in capfd.readouterr().err
    assert run(["build", "--sources", "notes", "--cache", "notes-cache", "--force", "--include", "*.org"]) == 0
    assert "warning" not in capfd.readouterr().err


def test_build_says_what_it_passed_over_and_what_was_odd(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    images = {f"{number}.png": "" for number in range(3)}
    write_sources(tmp_path / "docs", {**images, "a.md": "# a", "n.ipynb": "{", ".git/x.md": "", ".cache/b.md": "# b"})
    (tmp_path / "docs" / "old.txt").write_bytes("Größe der Schlüssel".encode("latin-1"))
    arguments = ["build", "--sources", "docs", "--sources", "api=api", "--cache", "cache"]
    write_sources(tmp_path / "api", {"a.html": "<h1>a</h1>"})
    assert run(arguments) == 0
    wanted = "Expecting property name enclosed in double quotes"
    *lines, result = capfd.readouterr().err.splitlines()
    assert lines == [
        "3 .png passed over",
        "1 hidden folder passed over; --all takes them",
        "converted to UTF-8: old.txt (cp1252)",
        f"warning: n.ipynb is left out: it is not JSON: {wanted}: line 1 column 2 (char 1)",
    ]
    assert result.startswith("built 3 documents")
    assert run([*arguments, "--force", "--strict"]) == 1
    assert "n.ipynb cannot be converted" in capfd.readouterr().err
    assert run([*arguments, "--force", "--strict", "--exclude", "*.ipynb", "--all"]) == 0
    assert "built 4 documents" in capfd.readouterr().err


def test_what_a_build_says_of_many_files_is_short(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    broken = {f"{n}.ipynb": " " * n for n in range(13)}
    write_sources(tmp_path / "docs", {**{f"{n}.k{n}": "" for n in range(14)}, **broken})
    assert run(["build", "--sources", "docs", "--cache", "cache"]) == 0
    said = capfd.readouterr().err
    assert "4 of 4 other kinds passed over\n" in said
    assert "warning: 3 more files left out; --strict stops at the first\n" in said
    assert said.count("\n") == 10 + 1 + 10 + 1 + 2


def test_files_that_are_left_out_for_one_reason_share_a_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_sources(tmp_path / "docs", {"a.md": "# A\n", **{f"t{n:02}.html": "{% if x %}" for n in range(12)}})
    assert run(["build", "--sources", "docs", "--cache", "cache"]) == 0
    named = ", ".join(f"t{n:02}.html" for n in range(10))
    assert capfd.readouterr().err.startswith(
        f"warning: left out because it is a template of pages, and no page: {named} and 2 more\nbuilt 1 document"
    )


def test_build_names_a_file_whose_headings_are_too_long(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_sources(tmp_path / "docs", {"a.md": "# A\n", "long.md": f"# {'word ' * 1_000_000}"})
    assert run(["build", "--sources", "docs", "--cache", "handbook"]) == 1
    assert capfd.readouterr().err.startswith(
        "error[usage]: Cannot build from these sources: the titles of all sections of long.md are too long together\n"
    )
    assert not (tmp_path / "handbook").exists()


def test_build_honours_the_date_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert built(tmp_path) == 0
    assert json.loads((tmp_path / "handbook" / "manifest.json").read_text())["created_at"] == "1970-01-02T00:00:00Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    assert built(tmp_path, "--force") == 1


@pytest.mark.parametrize("epoch", ["-62135596800", "-30610224001", "253402300800"])
def test_build_refuses_a_date_that_rfc_3339_cannot_spell(
    epoch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    assert built(tmp_path) == 1
    assert not (tmp_path / "handbook").exists()


@pytest.mark.parametrize(("sources", "cache"), [("", "../cache"), ("../docs", "")])
def test_build_refuses_paths_that_are_empty(
    sources: str, cache: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sources(tmp_path / "docs", HANDBOOK)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    before = sorted(tmp_path.rglob("*"))
    assert run(["build", "--sources", sources, "--cache", cache, "--force"]) == 1
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("option", ["--path", "--cache-root"])
def test_build_takes_no_option_that_would_change_nothing(option: str, tmp_path: Path) -> None:
    assert built(tmp_path, option, ".") == 1


def test_build_warns_of_what_it_could_not_remove(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert built(tmp_path) == 0

    def refuse(_disk: Disk, path: str) -> None:
        raise DiskError(f"{path}: Permission denied")

    monkeypatch.setattr(Disk, "remove_directory", refuse)
    assert built(tmp_path, "--force") == 0
    warning = capfd.readouterr().err.splitlines()[-1]
    assert warning.startswith("warning: what was there before could not be removed: ")
    assert warning.endswith("Permission denied")


def test_build_takes_other_files(tmp_path: Path) -> None:
    assert built(tmp_path, "--include", "K*", "--include", "*.txt") == 0
    assert list(json.loads((tmp_path / "handbook" / "index.json").read_text())) == ["keys.md"]


def test_build_refuses_what_is_there(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert built(tmp_path) == 0
    assert built(tmp_path) == 1
    assert "hint: replace a cache with --force" in capfd.readouterr().err
    assert built(tmp_path, "--force") == 0


@pytest.mark.parametrize("budget", ["9", "9.0", "0", "9e0"])
def test_resolve_prints_the_answer_of_the_tool(
    budget: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    built(tmp_path, "--format", "1")
    capfdbinary.readouterr()
    assert run(["resolve", "--cache", "handbook", "--query", "rotate keys.", "--budget", budget]) == 0
    expected = oracle.resolve(HANDBOOK, "rotate keys.", int(float(budget)))
    assert capfdbinary.readouterr() == (expected.encode(), b"")


def test_resolve_lays_out_the_same_values(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    built(tmp_path, "--format", "1")
    capfd.readouterr()
    assert run(["resolve", "--cache", "handbook", "--query", "", "--budget", "0", "--format", "pretty"]) == 0
    out = capfd.readouterr().out
    assert json.loads(out) == json.loads(oracle.resolve(HANDBOOK, "", 0))
    assert out.startswith('{\n  "documents": [],\n  "selection": {\n    "query": "",\n')


@pytest.mark.parametrize(
    ("arguments", "code", "name"),
    [
        (["--query", "a", "--budget", "-1"], 3, "invalid_budget"),
        (["--query", "a", "--budget", "1.5"], 3, "invalid_budget"),
        (["--query", "a", "--budget", "true"], 3, "invalid_budget"),
        (["--query", "a", "--budget", "lots"], 3, "invalid_budget"),
        (["--query", "a", "--budget", "9223372036854775808"], 3, "invalid_budget"),
        (["--query", "\udcff", "--budget", "1"], 2, "invalid_query"),
        (["--query", "a", "--budget", "1", "--why-not", "nope.md"], 10, "document_missing"),
    ],
)
def test_resolve_says_what_is_wrong(
    arguments: list[str], code: int, name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    built(tmp_path)
    capfd.readouterr()
    assert run(["resolve", "--cache", "handbook", *arguments]) == code
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(f"error[{name}]")


@pytest.mark.parametrize(
    ("query", "budget", "code"),
    [("\udcff", "lots", 2), ("\udcff", "-1", 2), ("a", "lots", 3), ("a", "-1", 3), ("a", "1", 4)],
)
def test_resolve_judges_query_budget_and_cache_in_this_order(query: str, budget: str, code: int) -> None:
    assert run(["resolve", "--cache", "nowhere", "--query", query, "--budget", budget]) == code


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (
            "keys.md",
            [
                "keys.md is number 2 of 3.",
                "It matches rotate, keys.: 2 of its 3 words.",
                "It was taken: its 4 tokens fit into the 5 that were left.",
            ],
        ),
        (
            "deploy.md",
            [
                "deploy.md is number 3 of 3.",
                "It matches none of the query's terms: 0 of its 3 words.",
                "What ranks before it used the budget up: it costs 5 tokens, and 1 of 5 were left.",
            ],
        ),
        (
            "long.md",
            [
                "long.md is number 1 of 3.",
                "It matches rotate: 40 of its 40 words.",
                "The budget kept it out: it costs 70 tokens, and the whole budget is 5.",
            ],
        ),
    ],
)
def test_resolve_says_what_became_of_a_document(
    document: str, words: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    built(tmp_path, "--format", "1")
    capfd.readouterr()
    request = ["resolve", "--cache", "handbook", "--query", "rotate keys.", "--budget", "5"]
    assert run([*request, "--why-not", document]) == 0
    assert capfd.readouterr().out.splitlines() == words


def test_with_nothing_to_spend_nothing_is_taken_and_it_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_sources(tmp_path / "docs", {"empty.md": ""})
    run(["build", "--sources", "docs", "--cache", "cache", "--format", "1"])
    run(["resolve", "--cache", "cache", "--query", "a", "--budget", "0", "--why-not", "empty.md"])
    assert "with a budget of 0 nothing is taken" in capfd.readouterr().out


def test_verify_is_quiet_on_standard_output_and_names_every_violation(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    built(tmp_path)
    assert run(["verify", "--cache", "handbook"]) == 0
    assert run(["verify", "--cache", "handbook", "--json"]) == 0
    assert capfd.readouterr().out == '{"valid":true,"violations":[],"notes":[]}\n'
    (tmp_path / "handbook" / "documents" / "orphan").write_text("")
    (tmp_path / "handbook" / "index.json").unlink()
    assert run(["verify", "--cache", "handbook"]) == 5
    out, err = capfd.readouterr()
    assert out == ""
    assert "no document has the file documents/orphan\n" in err
    assert "there is no file index.json\n" in err
    assert "error[cache_invalid]: Cache exists but is invalid: 2 violations in handbook" in err
    assert "hint: `context build --sources DIR --cache handbook --force` builds it anew\n" in err
    assert run(["verify", "--cache", "nowhere"]) == 4


def flip(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 0xFF
    file.write_bytes(data)


@pytest.mark.parametrize(
    ("damaged", "format_number"), [("segments.bin", "2"), ("segment-*.bin", "2"), ("postings.bin", "1")]
)
def test_verify_says_that_a_damaged_index_makes_a_sound_cache_slow(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], damaged: str, format_number: str
) -> None:
    built(tmp_path, "--format", format_number)
    (file,) = (tmp_path / "handbook").glob(damaged)
    flip(file, 3)
    capfd.readouterr()
    assert run(["verify", "--cache", "handbook"]) == 0
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("the cache is sound, but slow\nnote: no index is used (")
    assert "each query reads every document\n" in err
    command = err.rpartition("hint: `")[2].removesuffix("` makes it anew\n").replace("DIR", "docs")
    assert run(["verify", "--cache", "handbook", "--json"]) == 0
    said = json.loads(capfd.readouterr().out)
    assert said["valid"]
    assert said["violations"] == []
    assert len(said["notes"]) == 1
    assert run([*command.split()[1:], *(["--format", "1"] if format_number == "1" else [])]) == 0
    capfd.readouterr()
    assert run(["verify", "--cache", "handbook"]) == 0
    assert capfd.readouterr().err == "the cache is sound\n"


SLOW_BUILD = """
import sys, time
from contexthall.caches.build import builder
from contexthall.faces.cli.table import run
compile_sections = builder.compile_sections
def slowly(*arguments):
    *rest, report = arguments
    def report_slowly(more):
        time.sleep(0.4)
        report(more)
    return compile_sections(*rest, report_slowly)
builder.compile_sections = slowly
sys.exit(run(["build", "--sources", "docs", "--cache", "cache"]))
"""


def test_a_long_build_shows_a_bar_on_a_terminal_and_nothing_in_a_pipe(tmp_path: Path) -> None:
    write_sources(tmp_path / "docs", {f"{number}.md": "x" for number in range(300)})
    command = [sys.executable, "-c", SLOW_BUILD]
    piped = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert piped.stderr.startswith(b"built 300 documents")
    (tmp_path / "cache").rename(tmp_path / "first")
    master, terminal = pty.openpty()
    subprocess.run(command, cwd=tmp_path, stderr=terminal, check=True)
    os.close(terminal)
    assert b"building" in os.read(master, 65536)
    os.close(master)

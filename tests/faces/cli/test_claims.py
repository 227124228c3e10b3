"""`context note` and `context check`, as they are typed; drift in `status` and `show`."""

import json
from pathlib import Path

import pytest
from tests.contexts.making import write_files
from tests.processes import run_context

from contexthall.faces.cli.table import run

KEYS = '"""Keeps the keys of the shop."""\n\n\ndef rotate(key: str) -> str:\n    return key[::-1]\n'
CHANGED = KEYS.replace("key[::-1]", "key")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Path:
    write_files(tmp_path / "p", {"README.md": "# P\n\nA project to try.\n", "src/keys.py": KEYS, "docs/a.md": "# A\n"})
    monkeypatch.chdir(tmp_path / "p")
    assert run(["init", "--no-agents"]) == 0
    capfd.readouterr()
    return tmp_path / "p"


def check(project: Path, names: str | bytes, *options: str) -> tuple[int, str, str]:
    data = names.encode() if isinstance(names, str) else names
    done = run_context("check", "--changed", "-", *options, cwd=project, stdin=data)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_a_note_is_added_by_its_lines_and_nothing_else_changes(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = project / "src/.context.yaml"
    before = path.read_text() + "constraints:   # ours\n  -  'One'  # why not\n\n# the end\n"
    path.write_text(before)
    assert run(["note", "src", "--constraint", "Never log: a key.", "--cite", "src/keys.py#rotate"]) == 0
    out, err = capfd.readouterr()
    assert out == "constraints/2\n"
    assert err == "constraints/2 of src noted, which cites src/keys.py#rotate\n"
    assert path.read_text() == before.replace("# why not\n", "# why not\n  - 'Never log: a key.'\n")
    assert run(["status", "--check"]) == 0


def test_a_first_note_begins_its_list(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = (project / "src/.context.yaml").read_text()
    assert run(["note", "src", "--decision", "One file", "--why", "Simple", "--json"]) == 0
    noted = json.loads(capfd.readouterr().out)
    assert (noted["place"], noted["new"], noted["citations"]) == ("decisions/1", True, [])
    added = "decisions:\n- what: One file\n  why: Simple\n"
    assert (project / "src/.context.yaml").read_text().replace(added, "") == before
    assert run(["validate", "--strict"]) == 0


def test_the_same_note_again_is_there_already(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert run(["note", "src", "--constraint", "Never.", "--cite", "keys.py"]) == 0
    assert capfd.readouterr().err.endswith("constraints/1 of src is there, which cites src/keys.py\n")
    assert (project / "src/.context.yaml").read_text().count("Never.") == 1
    assert (project / ".context.lock").read_text().count('"claim"') == 1


def test_a_claim_that_is_there_gets_its_evidence(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run(["note", "src", "--decision", "One file", "--why", "Simple"])
    assert run(["note", "src", "--claim", "decisions/1", "--cite", "src/keys.py#rotate"]) == 0
    write_files(project, {"src/keys.py": CHANGED})
    capfd.readouterr()
    assert run(["show", "src", "--field", "decisions"]) == 0
    words = "stale (evidence; modified keys.py)\n"
    words += "decisions/1 in doubt: One file. It cites src/keys.py#rotate, which has changed.\n"
    assert capfd.readouterr().err == words


def test_a_directory_without_a_context_gets_one_with_its_first_note(project: Path) -> None:
    write_files(project, {"lib/a.py": '"""Helps the others to count."""\n'})
    assert run(["note", "lib", "--constraint", "No imports."]) == 0
    assert "constraints:\n- No imports.\n" in (project / "lib/.context.yaml").read_text()


@pytest.mark.parametrize(
    ("claim", "summary"),
    [
        (["--constraint", "No imports: none."], "summary: 'No imports: none.'\n"),
        (["--decision", "One file", "--why", "Simple"], "summary: One file\n"),
    ],
)
def test_where_nothing_can_be_drafted_the_first_note_begins_the_context(
    project: Path, claim: list[str], summary: str
) -> None:
    write_files(project, {"lib/x.py": "def f(): pass\n"})
    assert run(["note", "lib", *claim, "--cite", "lib/gone.py"]) == 1
    assert not (project / "lib/.context.yaml").exists()
    assert run(["note", "lib", *claim, "--cite", "lib/x.py#f"]) == 0
    assert summary in (project / "lib/.context.yaml").read_text()
    assert run(["note", "lib", "--constraint", "Another."]) == 0
    assert run(["validate", "--strict"]) == 0
    assert run(["status", "--check"]) == 0
    assert run(["regen", "lib"]) == 0
    assert summary in (project / "lib/.context.yaml").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["src"], "nothing to note"),
        (["src", "--constraint", "a", "--decision", "b"], "one of --constraint"),
        (["src", "--constraint", "a", "--why", "b"], "no --why"),
        (["src", "--decision", "a"], "needs its --why"),
        (["src", "--claim", "decisions/1"], "needs --cite"),
        (["src", "--claim", "decisions/9", "--cite", "README.md"], "no claim decisions/9"),
        (["src", "--constraint", "a", "--cite", "../outside.py"], "cannot be cited"),
        (["src", "--constraint", "a", "--cite", "gone.py"], "cannot be cited"),
        (["src", "--constraint", "a", "--cite", "link.py"], "cannot be cited"),
        (["src", "--constraint", "a", "--cite", "docs"], "cannot be cited"),
        (["src", "--constraint", "a", "--cite", ".context.lock"], "changes with every note"),
        (["src", "--constraint", "a", "--cite", "src/.context.yaml"], "changes with every note"),
        (["src", "--constraint", "a", "--cite", ".git/config"], "in every clone"),
        (["src", "--constraint", "a", "--cite", "src/keys.py#gone"], "no such definition"),
        (["src", "--constraint", "a", "--cite", "README.md#P"], "no such definition"),
        (["..", "--constraint", "a"], "path traversal"),
    ],
)
def test_a_note_that_cannot_be_written_changes_nothing(
    project: Path, arguments: list[str], words: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "link.py").symlink_to("src/keys.py")
    (project.parent / "outside.py").write_text("x = 1\n")
    before = [(project / name).read_bytes() for name in ("src/.context.yaml", ".context.lock")]
    monkeypatch.setattr("sys.stdin", None)
    assert run(["note", *arguments]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert words in err
    assert [(project / name).read_bytes() for name in ("src/.context.yaml", ".context.lock")] == before


def test_without_options_a_terminal_is_asked_three_questions(
    project: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    answers = iter(["Never log a key.", "Logs are public", "src/keys.py#rotate README.md"])
    asked: list[str] = []

    def prompt(words: str, **_: object) -> str:
        asked.append(words)
        return next(answers)

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("click.prompt", prompt)
    assert run(["note", "src"]) == 0
    assert len(asked) == 3
    assert capfd.readouterr().out == "decisions/1\n"
    assert (project / ".context.lock").read_text().count('"claim"') == 2


def test_status_counts_and_names_the_drift(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run(["note", "docs", "--constraint", "A page a topic.", "--cite", "README.md"])
    write_files(project, {"src/keys.py": CHANGED, "README.md": "# Q\n"})
    capfd.readouterr()
    assert run(["status"]) == 0
    out, err = capfd.readouterr()
    lines = {line.split()[1]: line for line in out.splitlines()}
    assert lines["src/"].endswith("(content; modified keys.py)")
    assert lines["docs/"].startswith("fresh")
    assert lines["docs/"].endswith("(evidence)")
    assert err.startswith("3 directories: 1 fresh, 2 stale (2 content), 0 missing; 1 claim in doubt; ")


@pytest.mark.parametrize(
    ("changed", "codes"),
    [
        ({}, [0, 0, 0, 0]),
        ({"src/keys.py": CHANGED}, [8, 8, 0, 0]),
        ({"src/keys.py": KEYS.replace("key: str", "key: bytes")}, [8, 8, 8, 0]),
        ({"docs/a.md": "# B\n"}, [8, 8, 8, 8]),
        ({"src/query.sql": "select"}, [8, 8, 8, 8]),
    ],
)
def test_a_check_fails_from_the_chosen_drift_on(project: Path, changed: dict[str, str], codes: list[int]) -> None:
    run(["note", "src", "--constraint", "As the page says.", "--cite", "docs/a.md"])
    write_files(project, changed)
    levels: list[list[str]] = [[], ["--drift", "content"], ["--drift", "interface"], ["--drift", "evidence"]]
    assert [run(["status", "--check", *level]) for level in levels] == codes
    assert run(["status", "--drift", "content"]) == 1


def test_check_names_what_changed_files_concern_and_nothing_else(project: Path) -> None:
    run(["note", "docs", "--constraint", "As `rotate` *does*.", "--cite", "src/keys.py#rotate"])
    write_files(project, {"src/keys.py": CHANGED, "README.md": "# Q\n"})
    assert check(project, "docs/a.md\nnowhere/x.py\n../out.py\n") == (0, "", "0 stale contexts, 0 claims in doubt\n")
    code, out, err = check(project, "src/keys.py\n")
    assert code == 8
    assert out.splitlines() == [
        "content   src",
        "changed   docs: constraints/1 As `rotate` *does*. (cites src/keys.py#rotate)",
    ]
    assert "1 stale context, 1 claim in doubt" in err
    code, out, _ = check(project, b"src/keys.py\0", "--format", "md")
    assert code == 8
    assert "| docs: As \\`rotate\\` \\*does\\*. | src/keys.py\\#rotate | changed |" in out
    assert "| src | content |" in out
    found = json.loads(check(project, '"src/\\153eys.py"\n', "--format", "json")[1])
    assert [(each["scope"], each["drift"]) for each in found["contexts"]] == [("src", "content")]
    assert [(each["scope"], each["symbol"], each["is"]) for each in found["claims"]] == [("docs", "rotate", "changed")]


def test_check_accepts_drift_below_the_chosen_one(project: Path) -> None:
    write_files(project, {"src/keys.py": CHANGED})
    assert check(project, "src/keys.py\n")[0] == 0
    assert check(project, "src/keys.py\n", "--drift", "content")[0] == 8
    write_files(project, {"src/more.sql": "select"})
    assert check(project, "src/more.sql\n", "--drift", "evidence")[0] == 8


def test_check_reads_standard_input_only(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--changed", "names.txt"]) == 1
    assert "--changed takes -" in capfd.readouterr().err


def test_a_brief_says_which_contexts_cannot_be_read(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["brief", "src/keys.py"]) == 0
    assert "nobody has written anything" in capfd.readouterr().err
    context = project / "src/.context.yaml"
    context.write_text(f"<<<<<<< ours\n{context.read_text()}=======\n>>>>>>> theirs\n")
    assert run(["brief", "src/keys.py"]) == 0
    assert capfd.readouterr().err == "the context of src cannot be read; `context validate` says why\n"


def test_status_says_that_the_lock_has_conflict_marks(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lock, words = project / ".context.lock", ".context.lock has conflict marks; `context rehash` mends it\n"
    lock.write_text(f"<<<<<<< ours\n{lock.read_text()}=======\n>>>>>>> theirs\n")
    assert run(["status"]) == 0
    assert words in capfd.readouterr().err
    assert run(["rehash"]) == run(["status"]) == 0
    assert words not in capfd.readouterr().err


def test_a_claim_in_doubt_is_a_sentence_before_what_it_cites(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run(["note", "src", "--constraint", "Never log a key", "--cite", "src/keys.py#rotate"])
    (project / "src/keys.py").write_text(CHANGED)
    assert run(["show", "src"]) == 0
    words = "constraints/1 in doubt: Never log a key. It cites src/keys.py#rotate, which has changed.\n"
    assert words in capfd.readouterr().err

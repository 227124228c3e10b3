"""Which directories count, and what a bad one costs."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.contexts.making import make_project, open_project, write_context, write_files

from contexthall.contexts.files.config import Config, read_config
from contexthall.contexts.project import Project
from contexthall.contexts.scan.directories import is_source, walk
from contexthall.core.errors import SettingsError
from contexthall.system.disk import Disk


def entries(project: Project) -> dict[str, str]:
    return {
        entry["scope"]: entry.get("error", entry["state"]) for entry in project.list_contexts().to_json()["entries"]
    }


def test_source_is_known_by_its_name() -> None:
    names = ["a.py", "A.TS", "Dockerfile", "Makefile", "x.md", ".eslintrc.json", "go.mod", "CMakeLists.txt"]
    assert [name for name in names if not is_source(name)] == []
    others = ["a.png", "a", ".gitignore", ".context.config.yaml", "py", "a.py~"]
    assert [name for name in others if is_source(name)] == []


def test_a_virtual_environment_is_known_by_its_configuration(tmp_path: Path) -> None:
    write_files(tmp_path, {"env/pyvenv.cfg": "", "env/lib/x.py": "", "src/x.py": ""})
    assert [directory.scope for directory in walk(Disk(), str(tmp_path), Config())] == [".", "src"]


def test_a_symlink_is_not_entered(tmp_path: Path) -> None:
    write_files(tmp_path, {"p/src/x.py": "", "elsewhere/x.py": ""})
    (tmp_path / "p" / "link").symlink_to("src")
    (tmp_path / "p" / "out").symlink_to("../elsewhere")
    assert [*entries(open_project(tmp_path / "p"))] == [".", "src"]


@pytest.mark.usefixtures("bound_by_permissions")
def test_a_directory_that_cannot_be_read_costs_its_own_entry(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", {"a/x.py": "", "b/x.py": "", "c/deep/x.py": ""})
    (tmp_path / "p" / "b").chmod(0)
    (tmp_path / "p" / "c" / ".gitignore").write_text("x")
    (tmp_path / "p" / "c" / ".gitignore").chmod(0)
    found = entries(project)
    (tmp_path / "p" / "b").chmod(0o700)
    assert found["a"] == found["c/deep"] == "fresh"
    assert (found["b"], found["c"]) == ('Cannot read the directory at scope "b"', "Cannot read .gitignore")


def test_a_directory_that_vanishes_costs_nothing(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", {"a/x.py": "", "b/x.py": ""})

    def vanishing(call: Callable[..., object], *arguments: object, **options: object) -> object:
        if call.__name__ == "survey" and str(arguments[0]).endswith("/b"):
            raise FileNotFoundError(2, "gone")
        return call(*arguments, **options)

    project.disk = Disk(vanishing)
    assert entries(project) == {".": "missing", "a": "fresh"}


def test_every_call_to_the_disk_may_fail_and_the_others_still_answer(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", {"a/x.py": "1", "b/x.py": "2", "b/.gitignore": "*.o"})
    calls = 0

    def failing_at(place: int) -> Disk:
        def perform(call: Callable[..., object], *arguments: object, **options: object) -> object:
            nonlocal calls
            calls += 1
            if calls == place:
                raise OSError(5, "Input/output error")
            return call(*arguments, **options)

        return Disk(perform)

    project.disk = failing_at(0)
    assert entries(project) == {".": "missing", "a": "fresh", "b": "fresh"}
    total = calls
    for place in range(1, total + 1):
        calls = 0
        project.disk = failing_at(place)
        answer = project.list_contexts().to_json()
        whole = "error" in answer
        broken = [entry for entry in answer["entries"] if "error" in entry]
        assert whole or len(broken) == 1, place


def test_a_very_deep_tree_ends_at_the_depth_that_was_chosen(tmp_path: Path) -> None:
    write_files(tmp_path, {"a/" * 12 + "x.py": ""})
    assert len([*walk(Disk(), str(tmp_path), Config())]) == 11
    assert len([*walk(Disk(), str(tmp_path), Config(max_depth=3))]) == 4


def test_names_that_are_not_utf8_are_shown_as_well_as_can_be(tmp_path: Path) -> None:
    directory = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(directory)
    with open(directory + b"/\xff.py", "wb") as file:
        file.write(b"x")
    project = open_project(tmp_path)
    assert entries(project) == {".": "missing", "caf\ufffd": "missing"}
    write_context(Path(os.fsdecode(directory)), "x")
    assert entries(project) == {".": "missing", "caf\ufffd": "fresh"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("max_depth: 0", "`max_depth` must be a whole number of at least 1"),
        ("max_depth: deep", "`max_depth` must be"),
        ("min_tokens: -1", "`min_tokens` must be a whole number of at least 0"),
        ("min_tokens: true", "`min_tokens` must be"),
        ("mode: fast", "`mode` must be lean or full"),
        ("ignore: out", "`ignore` must be a list of patterns"),
        ("ignore: [1]", "`ignore` must be a list of patterns"),
        ("[1]", "not a mapping"),
        ("a: [", "line 2"),
    ],
)
def test_a_bad_configuration_is_named(text: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as error:
        read_config(text.encode())
    assert reason in error.value.detail
    project = make_project(tmp_path, {"x.py": "", ".context.config.yaml": text})
    answer = project.list_contexts().to_json()
    assert answer["error"].startswith(f'Failed to scan project at "{tmp_path}": .context.config.yaml: ')
    assert project.check_freshness(".").to_json()["state"] == "fresh"
    assert project.query_context(".").to_json()["found"]


def test_other_keys_of_the_configuration_are_ignored() -> None:
    text = b"provider: anthropic\nmax_depth: 3\nmin_tokens:\nmode: full\nignore: [tmp]\n"
    assert read_config(text) == Config(ignore=("tmp",), max_depth=3, mode="full")
    assert read_config(b"") == read_config(b"# nothing\n") == Config()
    with pytest.raises(SettingsError):
        read_config(b"[]")


def test_a_configuration_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    project = make_project(tmp_path, {"x.py": ""})
    (tmp_path / ".context.config.yaml").mkdir()
    assert (
        project.list_contexts().to_json()["error"].endswith(": .context.config.yaml cannot be read: not a regular file")
    )

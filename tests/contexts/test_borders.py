"""A project ends where another repository or a cache begins, and only a whole project is drafted."""

from pathlib import Path

import pytest
from tests.contexts.making import make_project, open_project, quietly, write_files

from contexthall.contexts.draft.drafting import Order, draft_again, draft_missing
from contexthall.contexts.draft.languages.table import BY_EXTENSION
from contexthall.contexts.scan.directories import is_source
from contexthall.contexts.scan.unread import UNREAD
from contexthall.core.errors import UsageError

NOW = "2026-01-01T00:00:00Z"
CODE = '"""Carts of things."""\n'


def scopes(root: Path) -> list[str]:
    return [entry.scope for entry in open_project(root).list_contexts().entries]


BORDERS: dict[str, dict[str, str | bytes]] = {
    "a repository": {"other/.git/HEAD": "ref: x"},
    "a submodule": {"other/.git": "gitdir: ../.git/modules/other"},
    "a cache of some program": {"other/CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55"},
    "a cache of documents": {"other/manifest.json": "{}", "other/index.json": "{}", "other/documents/a.md": "# A"},
}


@pytest.mark.parametrize("kind", BORDERS)
def test_what_is_no_part_of_the_project_is_not_entered(kind: str, tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {"a.py": CODE, "mine/a.py": '"""Mine alone."""', "other/a.py": CODE, "other/b/c.py": CODE, **BORDERS[kind]},
    )
    (tmp_path / ".git").mkdir()
    assert scopes(tmp_path) == [".", "mine"]
    outcome = draft_missing(open_project(tmp_path), Order(NOW), quietly)
    assert outcome.written == ["mine", "."]


def test_another_repository_is_entered_when_it_is_named(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": CODE, "other/.git": "gitdir: x", "other/a.py": CODE})
    assert draft_again(open_project(tmp_path), ["other"], Order(NOW), quietly).written == ["other"]
    assert scopes(tmp_path / "other") == ["."]


def test_above_several_repositories_nothing_is_drafted(tmp_path: Path) -> None:
    write_files(tmp_path, {"one/.git/HEAD": "", "one/a.py": CODE, "far/two/.git": "", "far/two/a.py": CODE})
    with pytest.raises(UsageError, match="holds 2 repositories: far/two, one"):
        draft_missing(open_project(tmp_path), Order(NOW), quietly)
    assert not [*tmp_path.rglob(".context.yaml")]
    (tmp_path / ".git").mkdir()  # which makes them submodules
    assert draft_missing(open_project(tmp_path), Order(NOW), quietly).written == ["."]


def test_a_part_of_a_repository_knows_the_whole(tmp_path: Path) -> None:
    write_files(tmp_path, {"whole/.git": "gitdir: x", "whole/part/deep/a.py": CODE})
    assert open_project(tmp_path / "whole/part/deep").repository_above() == str((tmp_path / "whole").resolve())
    assert open_project(tmp_path / "whole").repository_above() == ""


def test_languages_that_are_not_read_are_counted(tmp_path: Path) -> None:
    project = make_project(tmp_path, {"a.ex": "", "b.EXS": "", "c.zig": "", "d.py": ""})
    assert project.list_contexts().unread == {"Elixir": 2, "Zig": 1}
    assert "unread" not in project.list_contexts().to_json()


def test_a_language_is_either_read_or_not() -> None:
    assert not BY_EXTENSION.keys() & UNREAD.keys()
    assert all(is_source(f"a.{extension}") for extension in UNREAD)

"""The script that replays a history says whether refreshed caches and whole builds agree."""

import subprocess
from pathlib import Path

import pytest
from benchmarks import history
from benchmarks.history import replay

pytestmark = pytest.mark.slow

COMMITS: list[dict[str, str | None]] = [
    {"docs/a.md": "# A\n\nred apple\n", "docs/b.md": "# B\n\ngreen apple\n", "code.py": "1"},
    {"docs/a.md": "# A\n\nyellow apple\n", "docs/c/d.rst": "D\n=\n\nplum\n"},
    {"docs/b.md": None, "docs/picture.png": "not a document"},
    {"code.py": "2"},
    {"docs/c/d.rst": None, "docs/c/e.rst": "D\n=\n\nplum\n"},
]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "--quiet")
    for number, changes in enumerate(COMMITS):
        for name, text in changes.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text) if text is not None else (root / name).unlink()
        git(root, "add", "--all")
        git(root, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "--quiet", "-m", str(number))
    return root


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def test_every_commit_that_touches_the_documents_is_compared_and_the_repository_only_read(repository: Path) -> None:
    before = git(repository, "status", "--porcelain", "--branch"), git(repository, "rev-parse", "HEAD")
    steps = list(replay(repository, ["docs"], commits=10, queries=3))
    told = ["1 modified, 1 added; 3 documents", "1 removed; 2 documents", "1 added, 1 removed; 2 documents"]
    assert [step.told for step in steps] == told
    assert all(step.answers == 6 for step in steps)
    assert (git(repository, "status", "--porcelain", "--branch"), git(repository, "rev-parse", "HEAD")) == before


def test_a_difference_ends_the_replay(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "_MAY_DIFFER", ())  # what a build writes in another way counts as well
    with pytest.raises(AssertionError, match="files differ, such as"):
        list(replay(repository, ["docs"], commits=10, queries=3))

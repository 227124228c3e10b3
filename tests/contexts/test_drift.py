"""Drift: how far a directory has moved away from its context, and whose words survive what."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.contexts.making import open_project, quietly, write_files

from contexthall.contexts.draft.drafting import Order, draft_again, draft_missing
from contexthall.contexts.files.claims import text_digest
from contexthall.contexts.files.lock import Citation, LockEntry, read_lock
from contexthall.contexts.files.lock_file import update_lock
from contexthall.contexts.files.rehashing import rehash_contexts
from contexthall.contexts.files.validation import validate_project
from contexthall.contexts.project import Outcome, Project
from contexthall.core import limits
from contexthall.core.errors import UsageError

KEYS = '''"""Keeps the keys of the shop."""


def rotate(key: str) -> str:
    return key[::-1]


def revoke(key: str) -> None: ...
'''
FILES = {
    "README.md": "# Shop\n\nA shop to try.\n",
    "noxfile.py": "def lint() -> None: ...\n",
    "src/keys.py": KEYS,
    "src/data.json": "{}\n",
    "docs/guide.md": "# Guide\n\nHow to.\n",
    "tests/test_keys.py": "def test_rotate() -> None: ...\n",
    "old/main.ex": "def main, do: 1\n",
    "old/README.md": "Kept for those who ask.\n",
}


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    write_files(tmp_path / "shop", FILES)
    project = open_project(tmp_path / "shop")
    init(project)
    return project


def init(project: Project) -> Outcome:
    return draft_missing(project, Order("2026-02-13T10:00:00Z"), quietly)


def regen(project: Project, *scopes: str) -> Outcome:
    return draft_again(project, [*scopes] or None, Order("2026-02-14T10:00:00Z"), quietly)


def root_of(project: Project) -> Path:
    return Path(project.root)


def checked(project: Project, scope: str) -> dict[str, Any]:
    return project.check_freshness(scope).to_json()


def drift(project: Project, scope: str = "src") -> str | None:
    return checked(project, scope).get("drift")


def claim(project: Project, scope: str, *targets: str, text: str = "Never log a key.") -> str:
    """Write a constraint into a context, and say in the lock what it rests on; return its name."""
    path, name = root_of(project) / scope / ".context.yaml", f"constraints/{text_digest(text)}"
    path.write_text(path.read_text() + f"constraints:\n- {text}\n")
    cited = [Citation(name, *target.partition("#")[::2]) for target in targets]
    digested = [each._replace(digest=project.drift.look_up(each) or "") for each in cited]
    update_lock(project, lambda lock: {scope: (lock.entry(scope) or LockEntry())._replace(citations=tuple(digested))})
    return name


@pytest.mark.parametrize(
    ("scope", "changes", "level"),
    [
        ("src", {"src/keys.py": KEYS.replace("key[::-1]", "key[1:] + key[:1]")}, "content"),
        ("src", {"src/keys.py": KEYS.replace("(key: str)", "(\n    key:   str,\n)")}, "content"),
        ("src", {"src/keys.py": KEYS.replace('"""Keeps the keys of the shop."""', '"""Other words."""')}, "content"),
        ("src", {"src/data.json": "[]\n"}, "content"),
        ("src", {"src/keys.py": KEYS + "\n\ndef _private() -> None: ...\n"}, "content"),
        ("src", {"src/logo.png": "not source"}, "content"),
        ("src", {"src/keys.py": KEYS.replace("key: str", "key: bytes")}, "interface"),
        ("src", {"src/keys.py": KEYS + "\n\ndef added() -> None: ...\n"}, "interface"),
        ("src", {"src/more.py": ""}, "interface"),
        ("src", {"src/more.json": "{}"}, "interface"),
        ("docs", {"docs/guide.md": "# Other\n"}, "content"),
        ("docs", {"docs/more.md": "# More\n"}, "interface"),
        ("tests", {"tests/test_keys.py": "def test_more() -> None: ...\n"}, "content"),
        ("tests", {"tests/test_more.py": "def test_more() -> None: ...\n"}, "content"),
        ("src", {"src/test_more.py": "def test_more() -> None: ...\n"}, "content"),
        ("src", {"src/spec_test.exs": "in a language without a parser"}, "content"),
        (".", {"noxfile.py": "def other() -> None: ...\n"}, "content"),
        (".", {"conf.py": ""}, "interface"),
        ("old", {"old/main.ex": "def other, do: 1\n"}, None),
        ("src", {"src/query.sql": "select 1"}, None),
        ("src", {"src/keys.py": KEYS + "#" * limits.DRAFTED_FILE_BYTES}, None),
    ],
)
def test_a_change_is_graded(shop: Project, scope: str, changes: dict[str, str], level: str | None) -> None:
    assert (checked(shop, scope)["state"], drift(shop, scope)) == ("fresh", None)
    write_files(root_of(shop), changes)
    assert (checked(shop, scope)["state"], drift(shop, scope)) == ("stale", level)


def test_a_source_that_went_is_a_change_of_the_interface(shop: Project) -> None:
    (root_of(shop) / "src/keys.py").unlink()
    assert drift(shop) == "interface"


def test_all_three_tools_say_the_drift(shop: Project) -> None:
    write_files(root_of(shop), {"src/keys.py": KEYS.replace("key: str", "key: bytes")})
    assert drift(shop) == "interface"
    [entry] = [each for each in shop.list_contexts().to_json()["entries"] if each["scope"] == "src"]
    assert [*entry] == ["scope", "state", "has_context", "last_updated", "summary", "drift"]
    assert shop.query_context("src", with_freshness=True).to_json()["drift"] == "interface"
    assert "drift" not in shop.query_context("src").to_json()


def test_code_is_parsed_only_for_what_is_stale_and_once(shop: Project, tmp_path: Path) -> None:
    asked: list[str] = []
    project = open_project(root_of(shop), tmp_path / "memory", clock=1 << 62)
    code = project.drift.code

    class Asked:
        find_definition = code.find_definition

        def interface_of(self, disk: Any, directory: Any) -> str:
            asked.append(directory.scope)
            return code.interface_of(disk, directory)

    project.drift.code = Asked()
    project.list_contexts()
    assert asked == []
    write_files(root_of(shop), {"src/data.json": "[]\n"})
    for _ in range(3):
        project.list_contexts()
    assert asked == ["src"]
    again = open_project(root_of(shop), tmp_path / "memory", clock=1 << 62)
    again.drift.code = Asked()
    assert [each.drift for each in again.list_contexts().entries if each.scope == "src"] == ["content"]
    assert asked == ["src"]


def test_a_root_that_is_stale_beside_a_lock_does_not_have_everything_written_down_again(
    shop: Project, tmp_path: Path
) -> None:
    write_files(root_of(shop), {"README.md": "# Other\n"})
    inodes = []
    for _ in range(3):
        open_project(root_of(shop), tmp_path / "memory", clock=1 << 62).list_contexts()
        inodes.append((tmp_path / "memory/seen.json").stat().st_ino)
    assert inodes[1] == inodes[2]


def test_what_was_remembered_of_another_scheme_is_not_taken_for_this_one(shop: Project, tmp_path: Path) -> None:
    before = (shop.drift.lock().entry("src") or LockEntry()).interface
    project = open_project(root_of(shop), tmp_path / "memory", clock=1 << 62)
    project.ledger.learn_interface("src", str(project.read("src")["fingerprint"]), "0:00000000")
    update_lock(project, lambda _lock: {"src": LockEntry("0:00000000")})
    assert rehash_contexts(project, ["src"]).errors == []
    assert (project.drift.lock().entry("src") or LockEntry()).interface == before


@pytest.mark.parametrize(
    "lock",
    [
        None,
        b"",
        b"nonsense\n",
        b'{"scope":"src"}\n',
        b'{"scope":"src","interface":"0:00000000"}\n',
        b'{"scope":"elsewhere","interface":"1:00000000"}\n',
        b"x" * 100,
    ],
)
def test_without_a_lock_that_says_something_drift_is_unknown(
    shop: Project, lock: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LOCK_BYTES", 99)
    path = root_of(shop) / ".context.lock"
    path.unlink()
    if lock is not None:
        path.write_bytes(lock)
    write_files(root_of(shop), {"src/data.json": "[]\n"})
    assert (checked(shop, "src")["state"], drift(shop)) == ("stale", None)


def test_a_lock_that_is_a_symlink_is_neither_read_nor_written(shop: Project) -> None:
    path = root_of(shop) / ".context.lock"
    path.rename(root_of(shop).parent / "elsewhere")
    path.symlink_to("../elsewhere")
    before = path.read_bytes()
    write_files(root_of(shop), {"src/keys.py": "x = 1\n"})
    assert drift(shop) is None
    assert [scope for scope, _ in regen(shop).failed] == [".context.lock"]
    assert path.is_symlink()
    assert path.read_bytes() == before


def test_a_lock_that_is_too_large_is_never_replaced(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    path = root_of(shop) / ".context.lock"
    before = path.read_bytes()
    monkeypatch.setattr(limits, "LOCK_BYTES", len(before) - 1)
    with pytest.raises(UsageError):
        update_lock(shop, lambda _lock: {"src": None})
    assert path.read_bytes() == before


def test_a_changed_symbol_marks_exactly_the_claims_that_cite_it(shop: Project) -> None:
    name = claim(shop, "src", "src/keys.py#rotate")
    write_files(root_of(shop), {"src/keys.py": KEYS.replace("None: ...", "None: return")})
    assert (drift(shop), checked(shop, "src").get("claims")) == ("content", None)
    write_files(root_of(shop), {"src/keys.py": KEYS.replace("key[::-1]", "key")})
    found = checked(shop, "src")
    assert (found["drift"], found["claims"]) == ("evidence", [name])
    expected = {"claim": name, "text": "Never log a key.", "path": "src/keys.py", "symbol": "rotate", "is": "changed"}
    assert found["cited"] == [expected]


def test_a_symbol_that_moved_in_its_file_is_followed(shop: Project) -> None:
    claim(shop, "src", "src/keys.py#rotate")
    rotate = KEYS[KEYS.index("def rotate") : KEYS.index("def revoke")]
    write_files(root_of(shop), {"src/keys.py": KEYS.replace(rotate, "") + "\n\n" + rotate.replace("]\n", "]  \n")})
    assert drift(shop) == "content"


def test_a_citation_of_another_directory_is_told_of_a_context_that_is_fresh(shop: Project) -> None:
    name = claim(shop, "docs", "src/keys.py")
    write_files(root_of(shop), {"src/keys.py": KEYS + "x = 1\n"})
    found = checked(shop, "docs")
    assert (found["state"], found.get("drift"), found["claims"]) == ("fresh", None, [name])
    [entry] = [each for each in shop.list_contexts().to_json()["entries"] if each["scope"] == "docs"]
    assert (entry["state"], entry["claims"]) == ("fresh", [name])


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "gone.py", "link.py", "src", "a\0b", "src/keys.py#gone"])
def test_what_cannot_be_cited_does_not_hold(shop: Project, path: str) -> None:
    (root_of(shop) / "link.py").symlink_to("src/keys.py")
    (root_of(shop).parent / "outside").write_text("x")
    rehash_contexts(shop, ["."])
    claim(shop, "src", path)
    assert [each["is"] for each in checked(shop, "src")["cited"]] == ["gone"]


def test_regen_keeps_what_is_cited_and_rehash_says_that_it_holds(shop: Project) -> None:
    claim(shop, "src", "src/keys.py#rotate")
    write_files(root_of(shop), {"src/keys.py": KEYS.replace("key[::-1]", "key")})
    regen(shop)
    assert checked(shop, "src")["state"] == "fresh"
    assert len(checked(shop, "src")["claims"]) == 1
    assert rehash_contexts(shop, None).errors == []
    assert "claims" not in checked(shop, "src")


def test_rehash_drops_the_citations_of_claims_that_are_gone(shop: Project) -> None:
    claim(shop, "src", "src/keys.py")
    path = root_of(shop) / "src/.context.yaml"
    path.write_text(path.read_text().replace("Never log", "Never print"))
    rehash_contexts(shop, ["src"])
    assert not shop.drift.lock().citing


def test_validate_says_which_citations_lost_their_claim(shop: Project) -> None:
    claim(shop, "src", "src/keys.py")
    assert validate_project(shop, is_strict=False).findings == []
    path = root_of(shop) / "src/.context.yaml"
    path.write_text(path.read_text().replace("Never log", "Never print"))
    [found] = validate_project(shop, is_strict=False).findings
    assert (found.scope, found.severity, found.field) == ("src", "note", "constraints")
    assert "src/keys.py" in found.message


def test_an_edit_by_a_colleague_survives_regen_in_a_clone(shop: Project, tmp_path: Path) -> None:
    path = root_of(shop) / "src/.context.yaml"
    path.write_text(path.read_text().replace("summary: Keeps the keys of the shop.", "summary: Where keys are kept."))
    shutil.copytree(shop.root, tmp_path / "clone")
    clone = open_project(tmp_path / "clone", tmp_path / "another machine")
    write_files(
        tmp_path / "clone", {"src/keys.py": KEYS.replace("Keeps the keys", "Keeps all keys") + "def added(): ...\n"}
    )
    outcome = regen(clone)
    assert (outcome.replaced, outcome.kept) == ({"src": ["exports"]}, {"src": ["summary"]})
    assert "summary: Where keys are kept." in (tmp_path / "clone/src/.context.yaml").read_text()
    assert regen(clone, "src").kept == {}
    assert "summary: Where keys are kept." in (tmp_path / "clone/src/.context.yaml").read_text()


def test_a_directory_that_moved_takes_its_line_along_and_one_that_is_gone_loses_it(shop: Project) -> None:
    name = claim(shop, "src", "README.md")
    before = shop.drift.lock().entry("src")
    (root_of(shop) / "src").rename(root_of(shop) / "lib")
    shutil.rmtree(root_of(shop) / "docs")
    assert drift(shop, "lib") is None
    init(shop)
    lock = shop.drift.lock()
    assert {"src", "docs"}.isdisjoint(lock.scopes)
    assert before is not None
    assert lock.entry("lib") == before
    assert before.citations[0].claim == name


def test_a_directory_that_moved_cites_its_own_files_where_they_are_now(shop: Project) -> None:
    claim(shop, "src", "src/keys.py#rotate", "src/data.json")
    (root_of(shop) / "src").rename(root_of(shop) / "lib")
    write_files(root_of(shop), {"lib/data.json": "[]\n"})
    init(shop)
    entry = shop.drift.lock().entry("lib")
    assert entry is not None
    # What changed on the way is not what was cited: it stays a claim that does not hold.
    assert [each.target for each in entry.citations] == ["lib/keys.py#rotate", "src/data.json"]


def git(directory: Path, *arguments: str, check: bool = True) -> int:
    settings = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(directory), *settings, *arguments]
    return subprocess.run(command, check=check, capture_output=True).returncode


def commit(directory: Path) -> None:
    git(directory, "add", "--all")
    git(directory, "commit", "--quiet", "--message", "x")


@pytest.fixture
def branches(shop: Project) -> Project:
    """Two branches that both changed contexts and the lock."""
    root = root_of(shop)
    git(root, "init", "--quiet", "--initial-branch", "main")
    commit(root)
    git(root, "checkout", "--quiet", "-b", "other")
    claim(shop, "docs", "docs/guide.md", text="One page a topic.")
    commit(root)
    git(root, "checkout", "--quiet", "main")
    return shop


def test_branches_that_changed_scopes_far_apart_merge_by_themselves(branches: Project) -> None:
    root = root_of(branches)
    write_files(root, {"tests/test_more.py": "def test_more() -> None: ...\n"})
    regen(branches)
    commit(root)
    assert git(root, "merge", "--quiet", "other", check=False) == 0
    assert {each.state for each in branches.list_contexts().entries} == {"fresh"}
    assert len((branches.drift.lock().entry("docs") or LockEntry()).citations) == 1


def test_a_conflict_in_the_lock_costs_nothing_and_rehash_mends_it(branches: Project) -> None:
    root = root_of(branches)
    name = claim(branches, "docs", "README.md", text="No page without a picture.")
    commit(root)
    assert git(root, "merge", "--quiet", "other", check=False) == 1
    context = root / "docs/.context.yaml"
    kept = [line for line in context.read_text().splitlines() if line[:7] not in {"<<<<<<<", "=======", ">>>>>>>"}]
    context.write_text("\n".join(kept) + "\n")
    assert branches.drift.lock().has_conflict
    assert checked(branches, "docs")["state"] == "fresh"
    write_files(root, {"README.md": "# Other\n", "docs/guide.md": "# Other\n"})
    assert len(checked(branches, "docs")["claims"]) == 2
    assert name in checked(branches, "docs")["claims"]
    assert rehash_contexts(branches, None).errors == []
    lock = read_lock((root / ".context.lock").read_bytes())
    assert not lock.has_conflict
    assert len((lock.entry("docs") or LockEntry()).citations) == 2
    assert "claims" not in checked(branches, "docs")


def test_every_line_of_the_lock_is_json_and_they_are_sorted(shop: Project) -> None:
    lines = (root_of(shop) / ".context.lock").read_text().splitlines()
    scopes = [json.loads(line)["scope"] for line in lines]
    assert scopes == sorted(scopes) == [".", "docs", "old", "src", "tests"]

"""A context is fresh exactly as long as it was written for the files that are there."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path

import pytest
from tests.contexts.making import fingerprint_of, make_project, open_project, write_context, write_files

from contexthall.clients.config_file import BACKUP_SUFFIX
from contexthall.contexts.files.writing import rehash
from contexthall.contexts.freshness import heads
from contexthall.contexts.freshness.heads import Head
from contexthall.contexts.freshness.ledger import Ledger
from contexthall.contexts.project import Project
from contexthall.system.disk import Disk, Seen, Survey

FILES = {"a.py": "print(1)\n", "b.md": "# b\n", "src/core.py": "x = 1\n"}


def state(project: Project, scope: str = ".") -> str:
    return str(project.check_freshness(scope).to_json()["state"])


def git(directory: Path, *arguments: str) -> None:
    settings = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(directory), *settings, *arguments], check=True, capture_output=True)


def commit(directory: Path) -> None:
    git(directory, "add", "--all")
    git(directory, "commit", "--quiet", "--message", "x")


def test_a_clone_is_as_fresh_as_what_was_cloned(tmp_path: Path) -> None:
    project = make_project(tmp_path / "origin", FILES)
    git(Path(project.root), "init", "--quiet")
    commit(Path(project.root))
    git(tmp_path, "clone", "--quiet", project.root, "clone")
    entries = open_project(tmp_path / "clone").list_contexts().to_json()["entries"]
    assert [(entry["scope"], entry["state"]) for entry in entries] == [(".", "fresh"), ("src", "fresh")]


def test_another_branch_is_stale_and_coming_back_makes_it_fresh(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", FILES)
    root = Path(project.root)
    git(root, "init", "--quiet", "--initial-branch", "main")
    commit(root)
    git(root, "checkout", "--quiet", "-b", "other")
    write_files(root, {"a.py": "print(2)\n"})
    commit(root)
    assert (state(project), state(project, "src")) == ("stale", "fresh")
    git(root, "checkout", "--quiet", "main")
    assert state(project) == "fresh"


def touch(root: Path) -> None:
    os.utime(root / "a.py", (1, 1))


def edit_with_size_and_time_kept(root: Path) -> None:
    found = (root / "a.py").stat()
    (root / "a.py").write_text("print(2)\n")
    os.utime(root / "a.py", ns=(found.st_atime_ns, found.st_mtime_ns))


def add(root: Path) -> None:
    (root / "new.bin").write_bytes(b"\0")


def delete(root: Path) -> None:
    (root / "b.md").unlink()


def rename(root: Path) -> None:
    (root / "b.md").rename(root / "c.md")


def edit_below(root: Path) -> None:
    (root / "src" / "core.py").write_text("x = 2\n")


def edit_an_ignored_file(root: Path) -> None:
    (root / "debug.log").write_text("more")


def edit_the_context_itself(root: Path) -> None:
    with (root / ".context.yaml").open("a") as file:
        file.write("# a comment\n")


def replace_by_a_symlink(root: Path) -> None:
    (root / "b.md").rename(root / "src" / "b.md")
    (root / "b.md").symlink_to("src/b.md")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (touch, "fresh"),
        (edit_below, "fresh"),
        (edit_an_ignored_file, "fresh"),
        (edit_the_context_itself, "fresh"),
        (edit_with_size_and_time_kept, "stale"),
        (add, "stale"),
        (delete, "stale"),
        (rename, "stale"),
        (replace_by_a_symlink, "stale"),
    ],
)
@pytest.mark.parametrize("is_remembered", [False, True])
def test_only_a_change_of_content_is_a_change(
    tmp_path: Path, change: Callable[[Path], None], expected: str, is_remembered: bool
) -> None:
    root = tmp_path / "p"
    make_project(root, FILES | {".gitignore": "*.log\n", "debug.log": "x"})
    later = time.time_ns() + 10**12 if is_remembered else 0
    project = open_project(root, memory=tmp_path / "memory", clock=later)
    assert state(project) == "fresh"
    change(root)
    assert state(project) == expected
    assert project.list_contexts().to_json()["entries"][0]["state"] == expected


def test_what_has_not_changed_is_not_read_again(tmp_path: Path) -> None:
    make_project(tmp_path / "p", FILES)
    later = time.time_ns() + 10**12
    open_project(tmp_path / "p", tmp_path / "memory", later).list_contexts().to_json()
    read: list[str] = []

    def watched(call: Callable[..., object], *arguments: object, **options: object) -> object:
        read.append(call.__name__)
        return call(*arguments, **options)

    disk = Disk(watched)
    answer = (
        Project(disk, str(tmp_path / "p"), Ledger(disk, str(tmp_path / "memory"), lambda: later))
        .list_contexts()
        .to_json()
    )
    assert [entry["state"] for entry in answer["entries"]] == ["fresh", "fresh"]
    assert "digests" not in read
    assert read.count("read_small") == 1  # the configuration


def test_an_edit_within_the_same_tick_of_the_clock_is_seen(tmp_path: Path) -> None:
    """A file system may stamp two edits alike; what was read right after the first is not trusted."""
    project = make_project(tmp_path / "p", {"a.py": "1"})
    edited = tmp_path / "p" / "a.py"
    project = open_project(tmp_path / "p", tmp_path / "memory", clock=edited.stat().st_ctime_ns + 1000)
    assert state(project) == "fresh"
    frozen, before = edited.stat(), Disk().survey(str(tmp_path / "p"))

    def within_the_tick(call: Callable[..., object], *arguments: object, **options: object) -> object:
        found = call(*arguments, **options)
        if isinstance(found, Survey):
            stamp = (frozen.st_ino, frozen.st_mtime_ns, frozen.st_ctime_ns)
            seen = [each._replace(stamp=stamp) if each.name == "a.py" else each for each in found.seen]
            return Survey(before.stamp, tuple(seen))
        return found

    project.disk = Disk(within_the_tick)
    edited.write_text("2")
    assert state(project) == "stale"
    assert project.list_contexts().to_json()["entries"][0]["state"] == "stale"


def test_a_project_with_many_contexts_is_read_by_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "MANY", 2)
    root = tmp_path / "p"
    make_project(root, {f"{name}/x.py": name for name in "abcdef"} | {"new\nline/x.py": ""})
    write_files(root, {"c/.context.yaml": "a: [", "d/.context.yaml": "version: 2", "e/x.py": "edited"})
    (root / "f" / ".context.yaml").chmod(0)
    asked: list[str] = []
    answered: set[str] = set()

    class Listening(heads.SecondReader):
        def ask_for(self, directory: str) -> None:
            asked.append(os.path.basename(directory))
            super().ask_for(directory)

        def answers(self) -> Mapping[str, tuple[Seen, Head]]:
            found = super().answers()
            answered.update(map(os.path.basename, found))
            return found

    monkeypatch.setattr("contexthall.contexts.project.SecondReader", Listening)
    later = time.time_ns() + 10**12
    for executable in (sys.executable, "/nonexistent", "/bin/false"):
        monkeypatch.setattr(sys, "executable", executable)
        alone = open_project(root, clock=0).list_contexts()
        assert open_project(root, clock=later).list_contexts() == alone
    assert set(asked) == {*"abcdef", "new\nline"}
    assert answered == set(asked)


def test_the_fingerprint_of_another_tool_is_accepted(tmp_path: Path) -> None:
    """It is made of names, times and sizes, of ignored files too."""
    write_files(tmp_path, {"a.txt": "hello\n", "b.log": "", ".gitignore": "*.log"})
    os.utime(tmp_path / "a.txt", ns=(0, 1_700_000_000_123_456_789))
    os.utime(tmp_path / "b.log", ns=(0, 5_000_000))
    os.utime(tmp_path / ".gitignore", ns=(0, 0))
    lines = ".gitignore:0:5\na.txt:1700000000123:6\nb.log:5:0"
    stored = sha256(lines.encode()).hexdigest()[:8]
    write_context(tmp_path, ".", stored)
    answer = open_project(tmp_path).check_freshness(".").to_json()
    assert (answer["state"], answer["fingerprint"]) == ("fresh", {"stored": stored, "computed": stored})
    os.utime(tmp_path / "a.txt", ns=(0, 0))
    answer = open_project(tmp_path).check_freshness(".").to_json()
    expected = {"stored": stored, "computed": fingerprint_of(tmp_path)}
    assert (answer["state"], answer["fingerprint"]) == ("stale", expected)


def test_a_stale_context_says_what_changed_where_that_is_known(tmp_path: Path) -> None:
    make_project(tmp_path / "p", FILES)
    project = open_project(tmp_path / "p", tmp_path / "memory")
    assert not rehash(project, ".").is_other
    edit_with_size_and_time_kept(tmp_path / "p")
    delete(tmp_path / "p")
    add(tmp_path / "p")
    changed = {"added": ["new.bin"], "removed": ["b.md"], "modified": ["a.py"]}
    assert project.check_freshness(".").to_json()["changed"] == changed
    assert project.query_context(".", with_freshness=True).to_json()["changed"] == changed
    assert "changed" not in open_project(tmp_path / "p").check_freshness(".").to_json()
    write_context(tmp_path / "p", ".", "00000000")  # written by another process meanwhile
    assert "changed" not in project.check_freshness(".").to_json()


@pytest.mark.usefixtures("bound_by_permissions")
def test_a_file_that_cannot_be_read_makes_a_context_stale_and_says_so(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", FILES)
    (tmp_path / "p" / "a.py").chmod(0)
    answer = project.check_freshness(".").to_json()
    assert (answer["state"], answer["error"]) == ("stale", 'Cannot read "a.py"')
    first, second = project.list_contexts().to_json()["entries"]
    assert (first["state"], first["error"]) == ("stale", 'Cannot read "a.py"')
    assert second["state"] == "fresh"


@pytest.mark.usefixtures("bound_by_permissions")
@pytest.mark.parametrize("scope", ["src", "src/below"])
def test_of_a_directory_that_cannot_be_read_all_three_tools_say_the_same(tmp_path: Path, scope: str) -> None:
    project = make_project(tmp_path / "p", {**FILES, "src/below/c.py": "c = 1\n"})
    (tmp_path / "p" / scope).chmod(0)
    fault = f'Cannot read the directory at scope "{scope}"'
    for _ in range(2):
        assert project.check_freshness(scope).to_json() == {"scope": scope, "state": "missing", "error": fault}
        for with_freshness in (True, False):
            answer = project.query_context(scope, with_freshness=with_freshness).to_json()
            assert answer == {"found": False, "scope": scope, "error": fault}
        entries = {entry["scope"]: entry for entry in project.list_contexts().to_json()["entries"]}
        assert entries[scope] == {"scope": scope, "state": "missing", "has_context": False, "error": fault}
    (tmp_path / "p" / scope).chmod(0o755)
    (tmp_path / "p" / scope / ".context.yaml").chmod(0)
    fault = f'Invalid or corrupt .context.yaml at scope "{scope}"'
    assert project.check_freshness(scope).to_json()["error"] == project.query_context(scope).to_json()["error"] == fault


def test_a_file_that_vanishes_while_it_is_read_is_not_there(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", FILES)

    def vanishing(call: Callable[..., object], *arguments: object, **options: object) -> object:
        if call.__name__ == "digests":
            (tmp_path / "p" / "b.md").unlink(missing_ok=True)
        return call(*arguments, **options)

    project.disk = Disk(vanishing)
    answer = project.check_freshness(".").to_json()
    assert answer["state"] == "stale"
    assert "error" not in answer


@pytest.mark.parametrize(
    "content", [b"", b"no json", b"[]", b'{"format":2,"directories":{".":[1]}}', b'{"format":2}', b'{"format":9}']
)
def test_a_damaged_memory_is_forgotten(tmp_path: Path, content: bytes) -> None:
    make_project(tmp_path / "p", FILES)
    later = time.time_ns() + 10**12
    open_project(tmp_path / "p", tmp_path / "memory", later).list_contexts().to_json()
    (tmp_path / "memory" / "seen.json").write_bytes(content)
    assert state(open_project(tmp_path / "p", tmp_path / "memory", later)) == "fresh"


def test_where_nothing_can_be_remembered_everything_works(tmp_path: Path) -> None:
    make_project(tmp_path / "p", FILES)
    (tmp_path / "memory").write_text("a file in the way")
    project = open_project(tmp_path / "p", tmp_path / "memory", time.time_ns() + 10**12)
    assert [entry["state"] for entry in project.list_contexts().to_json()["entries"]] == ["fresh", "fresh"]
    assert not rehash(project, ".").is_other


def test_what_is_learnt_is_learnt_of_the_files_that_were_read(tmp_path: Path) -> None:
    """Two directories change names while one of them is read, and change back."""
    root = tmp_path / "p"
    make_project(root, {"a/x.py": "1", "b/x.py": "2"})
    (root / "a" / ".context.yaml").write_text((root / "b" / ".context.yaml").read_text())
    later = time.time_ns() + 10**12

    def swap() -> None:
        for before, after in (("a", "c"), ("b", "a"), ("c", "b")):
            (root / before).rename(root / after)

    def swapping(call: Callable[..., object], *arguments: object, **options: object) -> object:
        if call.__name__ != "digests":
            return call(*arguments, **options)
        swap()
        try:
            return call(*arguments, **options)
        finally:
            swap()

    project = open_project(root, tmp_path / "memory", later)
    project.disk = Disk(swapping)
    project.check_freshness("a").to_json()
    project.disk = Disk()
    assert state(project, "a") == state(open_project(root, tmp_path / "memory", later), "a") == "stale"


@pytest.mark.usefixtures("bound_by_permissions")
def test_what_could_not_be_read_is_not_remembered_as_corrupt(tmp_path: Path) -> None:
    make_project(tmp_path / "p", FILES)
    later = time.time_ns() + 10**12

    def refusing(call: Callable[..., object], *arguments: object, **options: object) -> object:
        if call.__name__ == "read_small" and str(arguments[0]).endswith(".context.yaml"):
            raise OSError(24, "Too many open files")
        return call(*arguments, **options)

    project = open_project(tmp_path / "p", tmp_path / "memory", later)
    project.disk = Disk(refusing)
    assert "corrupt" in project.check_freshness(".").to_json()["error"]
    project.disk = Disk()
    assert state(project) == "fresh"


def test_a_file_too_large_to_be_read_costs_its_own_entry(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", FILES)
    os.truncate(tmp_path / "p" / "b.md", 1 << 41)
    assert project.check_freshness(".").to_json()["error"] == 'Cannot read "b.md"'
    assert state(project, "src") == "fresh"


def test_a_summary_that_json_cannot_spell_does_not_cost_the_memory(tmp_path: Path) -> None:
    make_project(tmp_path / "p", FILES)
    context = tmp_path / "p" / ".context.yaml"
    context.write_text(context.read_text().replace("summary: About ..", "summary: .nan"))
    later = time.time_ns() + 10**12
    open_project(tmp_path / "p", tmp_path / "memory", later).list_contexts().to_json()
    assert b"NaN" not in (tmp_path / "memory" / "seen.json").read_bytes()


def test_half_written_files_of_ours_do_not_count(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", FILES)
    (tmp_path / "p" / ".contexthall-1-0123abcd").write_text("version: 1")
    assert state(project) == "fresh"


def test_a_file_of_yours_that_is_called_like_ours_counts(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", FILES)
    (tmp_path / "p" / ".contexthall-notes.md").write_text("mine")
    assert state(project) == "stale"


def test_a_context_in_an_ignored_directory_is_judged_by_its_files(tmp_path: Path) -> None:
    """Else it would be fresh whatever happens to them."""
    project = make_project(tmp_path / "p", {"out/x.py": "1"})
    write_files(tmp_path / "p", {".gitignore": "out/"})
    assert state(project, "out") == "fresh"
    write_files(tmp_path / "p", {"out/x.py": "2"})
    assert state(project, "out") == "stale"


UNCOUNTED = [".context.lock", ".mcp.json", ".mcp.json" + BACKUP_SUFFIX]


@pytest.mark.parametrize("name", UNCOUNTED)
def test_files_about_the_hall_do_not_count(tmp_path: Path, name: str) -> None:
    project = make_project(tmp_path / "p", FILES)
    write_files(tmp_path / "p", {name: "{}\n"})
    assert state(project) == "fresh"


@pytest.mark.parametrize("counted", [UNCOUNTED[:1], UNCOUNTED[1:2], UNCOUNTED[1:], UNCOUNTED])
def test_a_stored_fingerprint_that_counts_them_is_fresh_until_they_change(tmp_path: Path, counted: list[str]) -> None:
    project = make_project(tmp_path / "p", FILES)
    write_files(tmp_path / "p", dict.fromkeys(UNCOUNTED, "{}\n"))
    names = sorted(["a.py", "b.md", *counted])
    lines = [f"{name}:{sha256((tmp_path / 'p' / name).read_bytes()).hexdigest()}" for name in names]
    write_context(tmp_path / "p", ".", sha256("\n".join(lines).encode()).hexdigest()[:8])
    assert [state(project), state(project)] == ["fresh", "fresh"]
    write_files(tmp_path / "p", {counted[0]: "{ }\n"})
    assert state(project) == "stale"

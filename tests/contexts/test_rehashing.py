"""A new fingerprint is written, and not a byte besides."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contexts.making import fingerprint_of, make_project, open_project, write_files
from tests.machine import must_be_here

from contexthall.contexts.files.context_file import read_context, replace_fingerprint
from contexthall.contexts.files.writing import rehash, rewrite, tidy
from contexthall.contexts.project import Projects
from contexthall.core.errors import ContextCorruptError, ContextMissingError, ContextVersionError, DiskError, UsageError
from contexthall.system.disk import Disk

REST = "version: 1\nscope: x\nlast_updated: now\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("fingerprint: abcd1234 # c", "fingerprint: 0a1b2c3d # c"),
        ("fingerprint: 'abcd1234'", "fingerprint: '0a1b2c3d'"),
        ('"fingerprint" :   "abcd1234"   ', '"fingerprint" :   "0a1b2c3d"   '),
        ("fingerprint: !!str abcd1234", "fingerprint: !!str 0a1b2c3d"),
        ("fingerprint: &f abcd1234", "fingerprint: &f 0a1b2c3d"),
        ("fingerprint: |-\n  abcd1234", "fingerprint: |-\n  0a1b2c3d"),
        ('fingerprint: "\\x61bcd1234"', 'fingerprint: "0a1b2c3d"'),
        ("a: &f abcd1234\nfingerprint: *f", "a: &f abcd1234\nfingerprint: 0a1b2c3d"),
        ("# fingerprint: abcd1234\nfingerprint: abcd1234", "# fingerprint: abcd1234\nfingerprint: 0a1b2c3d"),
        ("a: {fingerprint: abcd1234}\nfingerprint: abcd1234", "a: {fingerprint: abcd1234}\nfingerprint: 0a1b2c3d"),
        ("é: ü😀\u2028\r\nfingerprint: abcd1234\r", "é: ü😀\u2028\r\nfingerprint: 0a1b2c3d\r"),
    ],
)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_only_the_fingerprint_is_replaced(before: str, after: str, mark: str) -> None:
    text = f"{mark}{REST}{before}\ntodos: [x]\n"
    assert replace_fingerprint(text.encode(), "0a1b2c3d").decode() == f"{mark}{REST}{after}\ntodos: [x]\n"


@pytest.mark.parametrize("fingerprint", ["12345678", "12e45678", "00000000", "1e100000"])
def test_a_fingerprint_that_would_be_a_number_is_quoted(fingerprint: str) -> None:
    data = replace_fingerprint(f"{REST}fingerprint: abcd1234\n".encode(), fingerprint)
    assert data.decode() == f'{REST}fingerprint: "{fingerprint}"\n'
    data = replace_fingerprint(f"{REST}fingerprint: >-\n  abcd1234\n".encode(), fingerprint)
    assert data.decode() == f"{REST}fingerprint: >-\n  {fingerprint}\n"


@given(fingerprint=st.text("0123456789abcdef", min_size=8, max_size=8))
def test_whatever_is_written_is_read(fingerprint: str) -> None:
    data = replace_fingerprint(f"{REST}fingerprint: x\n".encode(), fingerprint)
    assert read_context(data)["fingerprint"] == fingerprint


def test_what_cannot_be_replaced_alone_is_left() -> None:
    with pytest.raises(ContextCorruptError, match="something else"):
        replace_fingerprint(f"{REST}fingerprint: &f x\ntodos: [*f]\n".encode(), "0a1b2c3d")
    with pytest.raises(ContextCorruptError, match="UTF-8"):
        replace_fingerprint(f"{REST}fingerprint: x\n".encode() + b"# \xff", "0a1b2c3d")


def test_a_stale_context_becomes_fresh_and_keeps_its_permissions(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", {"a/x.py": "1"})
    context = tmp_path / "p/a/.context.yaml"
    context.chmod(0o640)
    write_files(tmp_path / "p", {"a/x.py": "2"})
    before = context.read_text()
    assert rehash(project, "a").is_other
    stored = before.split('"')[3]
    assert context.read_text() == before.replace(stored, fingerprint_of(tmp_path / "p/a"))
    assert context.stat().st_mode & 0o777 == 0o640
    assert project.check_freshness("a").to_json()["state"] == "fresh"
    assert sorted(path.name for path in (tmp_path / "p/a").iterdir()) == [".context.yaml", "x.py"]
    written = context.stat()
    assert not rehash(project, "a").is_other
    assert context.stat() == written


@pytest.mark.parametrize(
    ("content", "error"),
    [("version: 2\n", ContextVersionError), ("version: 1\n", ContextCorruptError), (None, ContextMissingError)],
)
def test_what_cannot_be_read_is_not_written(tmp_path: Path, content: str | None, error: type[Exception]) -> None:
    project = make_project(tmp_path / "p", {"x.py": ""})
    context = tmp_path / "p/.context.yaml"
    context.unlink()
    if content is not None:
        context.write_text(content)
    with pytest.raises(error):
        rehash(project, ".")
    assert (context.read_text() if context.exists() else None) == content


def test_a_symlinked_context_is_not_written_through(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", {"x.py": "", "a/x.py": ""})
    context = tmp_path / "p/a/.context.yaml"
    context.rename(tmp_path / "elsewhere")
    context.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ContextMissingError):
        rehash(project, "a")
    (tmp_path / "p/link").symlink_to(".")
    with pytest.raises(UsageError, match="symlink"):
        rehash(project, project.locate("link"))


def test_somebody_elses_edit_is_not_lost(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", {"x.py": "1"})
    context = tmp_path / "p/.context.yaml"
    write_files(tmp_path / "p", {"x.py": "2"})

    def edited_meanwhile(call: Callable[..., object], *arguments: object, **options: object) -> object:
        if call.__name__ == "digests":
            context.write_text(context.read_text() + "todos: [mine]\n")
        return call(*arguments, **options)

    project.disk = Disk(edited_meanwhile)
    with pytest.raises(UsageError, match="somebody else"):
        rehash(project, ".")
    assert context.read_text().endswith("todos: [mine]\n")
    assert not [path for path in context.parent.iterdir() if path.name.startswith(".contexthall-")]


def test_an_edit_at_the_very_last_moment_is_not_lost(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", {"x.py": "1"})
    context = tmp_path / "p/.context.yaml"
    write_files(tmp_path / "p", {"x.py": "2"})
    moments = iter([True])

    def edited_at_the_exchange(call: Callable[..., object], *arguments: object, **options: object) -> object:
        if call.__name__ == "exchange" and next(moments, False):
            (tmp_path / "new").write_text(context.read_text() + "todos: [mine]\n")
            (tmp_path / "new").rename(context)
        return call(*arguments, **options)

    project.disk = Disk(edited_at_the_exchange)
    with pytest.raises(UsageError, match="somebody else"):
        rehash(project, ".")
    assert context.read_text().endswith("todos: [mine]\n")
    assert sorted(path.name for path in context.parent.iterdir()) == [".context.yaml", "x.py"]


def test_whoever_saves_before_each_exchange_of_names_loses_nothing(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", {"x.py": "1"})
    context = tmp_path / "p/.context.yaml"
    context.write_bytes(b"old")
    saves = iter(["first save", "second save"])

    def saved_at_the_exchange(call: Callable[..., object], *arguments: object, **options: object) -> object:
        if call.__name__ == "exchange" and (words := next(saves, "")):
            (tmp_path / "new").write_text(words)
            (tmp_path / "new").rename(context)
        return call(*arguments, **options)

    with pytest.raises(UsageError, match="somebody else"):
        rewrite(Disk(saved_at_the_exchange), project.look("."), ".context.yaml", b"old", b"new")
    assert not [*saves]
    tidy(Disk(), open_project(tmp_path / "p").look("."))  # as the next run does
    assert sorted(file.read_text() for file in context.parent.iterdir()) == ["1", "first save", "second save"]


def test_where_names_cannot_be_exchanged_one_takes_the_others_place(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", {"x.py": "1"})
    write_files(tmp_path / "p", {"x.py": "2"})

    def unable(call: Callable[..., object], *arguments: object, **options: object) -> object:
        if call.__name__ == "exchange":
            raise OSError(errno.EINVAL, "Invalid argument")
        return call(*arguments, **options)

    project.disk = Disk(unable)
    assert rehash(project, ".").is_other
    assert project.check_freshness(".").to_json()["state"] == "fresh"


def test_a_context_keeps_its_owner(tmp_path: Path) -> None:
    groups = [group for group in os.getgroups() if group != os.getegid()]
    must_be_here(os.geteuid() == 0 or groups, "ONE GROUP: whoever has no other has nobody to give a file to")
    owner = (1234, 5678) if os.geteuid() == 0 else (os.geteuid(), groups[0])
    project = make_project(tmp_path / "p", {"x.py": "1"})
    write_files(tmp_path / "p", {"x.py": "2"})
    os.chown(tmp_path / "p/.context.yaml", *owner)
    assert rehash(project, ".").is_other
    found = (tmp_path / "p/.context.yaml").stat()
    assert (found.st_uid, found.st_gid) == owner


def test_a_write_is_whole_or_not_there_whatever_call_fails(tmp_path: Path) -> None:
    make_project(tmp_path / "p", {"x.py": "1"})
    context = tmp_path / "p/.context.yaml"
    before = context.read_text()
    write_files(tmp_path / "p", {"x.py": "2"})
    after = before.replace(before.split('"')[3], fingerprint_of(tmp_path / "p"))
    for place in range(1, 100):
        context.write_text(before)
        calls = 0

        def failing(call: Callable[..., object], *arguments: object, place: int = place, **options: object) -> object:
            nonlocal calls
            calls += 1
            if calls == place:
                raise OSError(28, "No space left on device")
            return call(*arguments, **options)

        project = open_project(tmp_path / "p")
        project.disk = Disk(failing)
        try:
            rehash(project, ".")
        except (DiskError, ContextCorruptError):
            assert context.read_text() in {before, after}
        else:
            assert context.read_text() == after
        if calls < place:
            return
    pytest.fail("it never came to an end")


def test_what_is_remembered_of_a_project_is_one_whatever_link_leads_to_it(tmp_path: Path) -> None:
    make_project(tmp_path / "p", {"x.py": "1"})
    (tmp_path / "link").symlink_to("p")
    memory = tmp_path / "memory"
    projects = Projects(
        Disk(), home=str(tmp_path / "p"), working_directory=str(tmp_path), memory=str(memory), clock=lambda: 0
    )
    for root in ("p", "link"):
        assert not rehash(projects.at(str(tmp_path / root)), ".").is_other
    assert len(list(memory.iterdir())) == 1

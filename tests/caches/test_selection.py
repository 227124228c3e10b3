"""Which files become pages of a cache of format 2."""

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.caches.making import CREATED_AT

from contexthall.caches.build.builder import Built, CacheBuilder
from contexthall.caches.build.selection import Choice, SourceFolder, parse_folders, select
from contexthall.caches.query.scorers import SCORERS, SECTIONS
from contexthall.core import limits
from contexthall.core.errors import SourcesError, UsageError
from contexthall.system.disk import Disk


def write(folder: Path, paths: Iterable[str], text: str = "# x\n") -> Path:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def chosen(
    folder: Path, include: Iterable[str] = (), exclude: Iterable[str] = (), *, everything: bool = False
) -> list[str]:
    choice = Choice(tuple(include), tuple(exclude), everything)
    return [file.source for file in select(Disk(), [SourceFolder(str(folder))], choice).files]


TREE = ["a.md", "b.rst", "guide/c.md", "guide/deep/d.txt", "guide/e.html", "notes/f.ipynb", "g.PNG", "LICENSE"]


def test_every_known_format_is_taken_however_its_ending_is_spelt(tmp_path: Path) -> None:
    names = [
        f"{number}{ending}" for number, ending in enumerate((".md", ".mdx", ".markdown", ".rst", ".rest", ".adoc"))
    ]
    names += ["6.asciidoc", "7.txt", "8.html", "9.htm", "A.xhtml", "B.ipynb", "C.MD", "D.Html"]
    assert chosen(write(tmp_path, [*names, "x.png", "README", ".md"])) == names


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        (["*.md"], [], ["a.md", "guide/c.md"]),
        (["**/*.md"], [], ["a.md", "guide/c.md"]),
        (["/*.md"], [], ["a.md"]),
        (["guide/*"], [], ["guide/c.md", "guide/deep/d.txt", "guide/e.html"]),
        (["guide/"], [], ["guide/c.md", "guide/deep/d.txt", "guide/e.html"]),
        (["guide/", "!*.html"], [], ["guide/c.md", "guide/deep/d.txt"]),
        (["deep"], [], ["guide/deep/d.txt"]),
        (["LICENSE"], [], ["LICENSE"]),
        ([], ["guide"], ["a.md", "b.rst", "notes/f.ipynb"]),
        ([], ["guide/*", "!guide/c.md"], ["a.md", "b.rst", "guide/c.md", "notes/f.ipynb"]),
        (["*.md"], ["c.*"], ["a.md"]),
    ],
)
def test_patterns_are_read_as_git_reads_them(
    include: list[str], exclude: list[str], expected: list[str], tmp_path: Path
) -> None:
    assert chosen(write(tmp_path, TREE), include, exclude) == sorted(expected, key=str.lower)


@pytest.mark.parametrize("pattern", ["", "#", "/", "!", "a\nb"])
def test_what_is_no_pattern_is_refused(pattern: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--exclude .* is no pattern"):
        chosen(tmp_path, exclude=[pattern])


def test_hidden_generated_and_ignored_files_are_left_out_unless_all_are_wanted(tmp_path: Path) -> None:
    write(tmp_path, ["a.md", ".hidden/b.md", "node_modules/x/c.md", "py/d.md", "py/pyvenv.cfg", "tmp/e.md", ".f.md"])
    write(tmp_path, [".git/HEAD", ".git/g.md", "html/_sources/a.rst.txt"])  # where Sphinx copies what it reads
    (tmp_path / ".gitignore").write_text("/tmp/\n")
    found = select(Disk(), [SourceFolder(str(tmp_path))], Choice())
    assert [file.source for file in found.files] == [".f.md", "a.md"]
    left_out = {"hidden folder": 1, "generated folder": 3, "ignored by git": 1, "without an ending": 1}
    assert dict(found.passed_over) == left_out
    others = ["html/_sources/a.rst.txt", "node_modules/x/c.md", "py/d.md", "tmp/e.md"]
    everything = [".f.md", ".hidden/b.md", "a.md", *others]
    assert chosen(tmp_path, everything=True) == everything


def test_a_folder_that_sphinx_reads_is_taken_whatever_its_name(tmp_path: Path) -> None:
    write(tmp_path, ["doc/build/conf.py", "doc/build/a.rst", "doc/build/_build/b.html", "docs/build/html/c.html"])
    assert chosen(tmp_path) == ["doc/build/a.rst"]


def test_the_rules_of_the_repository_around_the_sources_count(tmp_path: Path) -> None:
    write(
        tmp_path, [".git/HEAD", "docs/a.md", "docs/draft.md", "docs/out/b.md", "docs/out/keep.md", "docs/sub/draft.md"]
    )
    (tmp_path / ".gitignore").write_text("draft.md\n/docs/out/*\n")
    (tmp_path / "docs" / ".gitignore").write_text("!out/keep.md\n")
    assert chosen(tmp_path / "docs") == ["a.md", "out/keep.md"]


def test_what_git_would_add_is_what_is_taken(tmp_path: Path) -> None:
    write(tmp_path, [f"{a}/{b}.md" for a in ("x", "y", "x/y", "deep/x") for b in ("one", "two", "x")])
    (tmp_path / ".gitignore").write_text("x/*\n!x/y\n*/one.md\n")
    (tmp_path / "x" / "y" / ".gitignore").write_text("t*\n")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    listed = ["git", "-c", "core.quotePath=off", "ls-files", "--others", "--exclude-standard", "*.md"]
    names = subprocess.run(listed, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.split()
    assert chosen(tmp_path) == sorted(names)


def test_a_file_comes_with_what_the_walk_saw_of_it(tmp_path: Path) -> None:
    write(tmp_path, ["a.html"])
    (tmp_path / "link.md").symlink_to("a.html")
    (tmp_path / "nowhere.md").symlink_to("gone")
    (tmp_path / "folder.md").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.md")
    files = select(Disk(), [SourceFolder(str(tmp_path), "api")], Choice()).files
    status = os.stat(tmp_path / "a.html")
    stamp = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
    seen = [(file.id, file.folder, file.converter.name, file.size, file.stamp) for file in files]
    assert seen == [("api/a.html", "api", "html", 4, stamp), ("api/link.md", "api", "text", 4, stamp)]


def test_an_ignore_file_that_is_too_large_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "IGNORE_FILE_BYTES", 3)
    write(tmp_path, [".git/HEAD", ".gitignore"])
    with pytest.raises(UsageError, match=r"\.gitignore is too large"):
        chosen(tmp_path)


def compiled(folder: Path, sources: str | list[str], **options: bool) -> Built:
    builder = CacheBuilder(Disk(), CREATED_AT, str(folder), SECTIONS)
    return builder.build(sources, "cache", **options)  # type: ignore[arg-type]


def test_several_sources_have_names_that_ids_begin_with(tmp_path: Path) -> None:
    write(tmp_path, ["docs/a.md", "html/a.md", "html/b.html"])
    assert compiled(tmp_path, ["docs", "api.v2=html"]).document_count == 3
    folders = [SourceFolder(str(tmp_path / "docs")), SourceFolder(str(tmp_path / "html"), "api.v2")]
    found = select(Disk(), folders, Choice()).files
    assert [file.id for file in found] == ["a.md", "api.v2/a.md", "api.v2/b.html"]


def test_ids_of_two_sources_may_meet_and_then_the_build_fails(tmp_path: Path) -> None:
    write(tmp_path, ["docs/api/a.md", "html/a.md"])
    with pytest.raises(SourcesError, match=r"api/a\.md and api/a\.md have the same id") as raised:
        compiled(tmp_path, ["docs", "api=html"])
    assert raised.value.hint == "rename one of them, or leave one out with --exclude"


@pytest.mark.parametrize(
    ("sources", "complaint"),
    [
        (["docs", "html"], "at most one goes without a name"),
        (["a=docs", "a=html"], "two sources are called a"),
        (["..=docs"], "no name for a source"),
        (["a="], "the sources have no name"),
        ([""], "the sources have no name"),
        ([], "there is nothing to build from"),
        (["docs", "a=docs/sub"], "two sources overlap"),
        (["a=docs", "b=docs"], "two sources overlap"),
        (["docs", "a=gone"], "not a directory"),
        (["docs", "a=."], "overlap"),
    ],
)
def test_sources_that_cannot_be_together_are_refused(sources: list[str], complaint: str, tmp_path: Path) -> None:
    write(tmp_path, ["docs/a.md", "docs/sub/b.md", "html/a.md"])
    with pytest.raises(UsageError, match=complaint):
        compiled(tmp_path, sources)
    assert not (tmp_path / "cache").exists()


def test_what_is_no_name_is_part_of_a_path() -> None:
    assert parse_folders("A=b") == [SourceFolder("A=b")]
    assert parse_folders("./a=b") == [SourceFolder("./a=b")]
    assert parse_folders("a=b=c") == [SourceFolder("b=c", "a")]


@pytest.mark.parametrize(
    "options", [{"choice": Choice(exclude=("a",))}, {"choice": Choice(everything=True)}, {"strict": True}]
)
def test_format_1_has_globs_only(options: dict[str, bool], tmp_path: Path) -> None:
    write(tmp_path, ["docs/a.md"])
    builder = CacheBuilder(Disk(), CREATED_AT, str(tmp_path), SCORERS[0])
    with pytest.raises(UsageError, match="for format 2"):
        builder.build("docs", "cache", **options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="for format 2"):
        builder.build("a=docs", "cache")


def test_a_file_that_is_too_large_is_not_even_read(tmp_path: Path) -> None:
    with open(write(tmp_path, ["docs/a.md", "docs/b.html"]) / "docs" / "b.html", "r+b") as file:
        file.truncate(3 << 30)
    assert dict(compiled(tmp_path, "docs").failures) == {"b.html": "it is larger than 16 MiB"}


def test_a_cache_may_be_in_a_hidden_folder_of_its_sources(tmp_path: Path) -> None:
    write(tmp_path / "project", ["a.md", ".context/notes.md"])
    cache = tmp_path / "project" / ".context" / "caches" / "all"
    builder = CacheBuilder(Disk(), CREATED_AT, scorer=SECTIONS)
    assert builder.build(str(tmp_path / "project"), str(cache)).document_count == 1
    assert builder.refresh(str(cache)).built is None
    project, plain = str(tmp_path / "project"), CacheBuilder(Disk(), CREATED_AT)
    refused: list[tuple[CacheBuilder, str, str, bool]] = [
        (builder, project, str(cache), True),
        (plain, project, str(cache), False),
        (builder, project, f"{project}/cache", False),
        (builder, str(cache / "documents"), str(cache), False),
        (builder, project, project, False),
    ]
    for each, sources, target, everything in refused:
        with pytest.raises(UsageError, match="--sources and --cache overlap"):
            each.build(sources, target, choice=Choice(everything=everything), force=True)

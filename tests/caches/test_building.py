"""Building: the format to the byte, bad input, force, locks, faults and kills."""

import errno
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.caches.making import CREATED_AT, build_cache, compile_folder, library_of, write_sources
from tests.contract import oracle

from contexthall.caches.build.builder import CacheBuilder
from contexthall.caches.build.selection import Choice
from contexthall.caches.library import CacheRef
from contexthall.core.errors import DiskError, SourcesError, UsageError
from contexthall.system.disk import Disk
from contexthall.system.processes import run_parallel

DOCUMENTS = {"Hello.md": "Hello world", "a/goodbye.md": 'Goodbye "world"\n'}


def tree(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def leftovers(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir() if path.name.startswith(".contexthall")]


def test_a_cache_is_spelt_as_the_contract_says(tmp_path: Path) -> None:
    files = tree(build_cache(tmp_path, DOCUMENTS))
    hello = hashlib.sha256(b"Hello world").hexdigest()
    goodbye = hashlib.sha256(b'Goodbye "world"\n').hexdigest()
    del files["postings.bin"]
    assert files == {
        f"documents/{hello[:12]}.json": (
            f'{{"id":"hello.md","version":"sha256:{hello}","source":"Hello.md",'
            '"content":"Hello world","metadata":{}}'
        ).encode(),
        f"documents/{goodbye[:12]}.json": (
            f'{{"id":"a/goodbye.md","version":"sha256:{goodbye}","source":"a/goodbye.md",'
            '"content":"Goodbye \\"world\\"\\n","metadata":{}}'
        ).encode(),
        "index.json": json.dumps(
            {"a/goodbye.md": f"documents/{goodbye[:12]}.json", "hello.md": f"documents/{hello[:12]}.json"}, indent=2
        ).encode(),
        "manifest.json": json.dumps(
            {
                "cache_version": oracle.cache_version(DOCUMENTS),
                "build_config": {"version": "1", "hash_algorithm": "sha256"},
                "created_at": CREATED_AT,
                "document_count": 2,
                "documents": [
                    {"id": "a/goodbye.md", "version": f"sha256:{goodbye}", "file": f"documents/{goodbye[:12]}.json"},
                    {"id": "hello.md", "version": f"sha256:{hello}", "file": f"documents/{hello[:12]}.json"},
                ],
            },
            indent=2,
        ).encode(),
    }
    assert leftovers(tmp_path) == []


def test_no_documents_make_a_valid_cache_of_none(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, {})
    assert library_of(tmp_path).verify(CacheRef(str(cache))) == ()
    assert json.loads((cache / "manifest.json").read_text())["documents"] == []
    assert library_of(tmp_path).resolve(CacheRef(str(cache)), "a", 9).text == oracle.resolve({}, "a", 9)


@pytest.mark.parametrize("count", [10, 1200])
def test_documents_with_the_same_content_get_numbered_files_by_id(tmp_path: Path, count: int) -> None:
    corpus = {f"{number:04}.md": "the same" if number % 3 else f"{number}" for number in range(count)}
    cache = build_cache(tmp_path, corpus)
    same = hashlib.sha256(b"the same").hexdigest()[:12]
    files = json.loads((cache / "index.json").read_text())
    shared = [file for identifier, file in files.items() if corpus[identifier] == "the same"]
    numbered = [f"documents/{same}-{number}.json" for number in range(2, len(shared) + 1)]
    assert shared == [f"documents/{same}.json", *numbered]
    assert library_of(tmp_path).verify(CacheRef(str(cache))) == ()


def test_one_and_two_workers_build_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(3)
    corpus = {
        f"{number}.md": " ".join(dice.choices(["the", "a", "é", *map(str, range(300))], k=40)) for number in range(520)
    }
    two = tree(build_cache(tmp_path, corpus, name="two"))
    monkeypatch.setattr("contexthall.caches.build.cuts._WORTH_SHARING", 10**9)
    one = tree(build_cache(tmp_path, corpus, name="one"))
    monkeypatch.setattr("contexthall.core.limits.BUILD_POSTINGS", 500)
    many_runs = tree(build_cache(tmp_path, corpus, name="many"))
    assert one == two == many_runs
    for query in ("the", "the 7 299", "absent"):
        answers = {
            library_of(tmp_path).resolve(CacheRef(str(tmp_path / name)), query, 900).text
            for name in ("one", "two", "many")
        }
        assert answers == {oracle.resolve(corpus, query, 900)}


def test_which_files_become_documents(tmp_path: Path) -> None:
    sources = write_sources(
        tmp_path / "sources", {".hidden/a.md": "1", "b.MD": "2", "c.txt": "3", "deep/er/d.md": "4", "e.md/f.md": "5"}
    )
    write_sources(tmp_path / "elsewhere", {"g.md": "6", "h.txt": "7"})
    (sources / "linked.md").symlink_to(tmp_path / "elsewhere" / "g.md")
    (sources / "renamed.md").symlink_to(tmp_path / "elsewhere" / "h.txt")
    (sources / "folder.md").symlink_to(tmp_path / "elsewhere")
    (sources / "dangling.md").symlink_to("nowhere")
    os.mkfifo(sources / "fifo.md")
    compile_folder(sources, tmp_path / "cache")
    assert list(json.loads((tmp_path / "cache" / "index.json").read_text())) == [
        ".hidden/a.md",
        "deep/er/d.md",
        "e.md/f.md",
        "linked.md",
        "renamed.md",
    ]


def test_a_symlink_that_matches_no_glob_is_not_followed(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", DOCUMENTS)
    (sources / "locked.txt").symlink_to("/locked")

    def perform(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if call is os.stat and str(arguments[0]).endswith("locked.txt"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return call(*arguments, **options)

    assert compile_folder(sources, tmp_path / "cache", disk=Disk(perform)).document_count == 2


def test_documents_may_lie_as_deep_as_a_path_reaches(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", {})
    deep = "/".join("d" * 1500) + "/deep.md"
    # Python's own makedirs and rmtree do not reach that deep.
    subprocess.run(["mkdir", "-p", str(sources / os.path.dirname(deep))], check=True)
    (sources / deep).write_text("deep")
    compile_folder(sources, tmp_path / "cache")
    assert list(json.loads((tmp_path / "cache" / "index.json").read_text())) == [deep]
    subprocess.run(["rm", "-rf", str(sources)], check=True)


@pytest.mark.parametrize(
    ("globs", "expected"),
    [
        (["*.txt"], ["a/c.txt", "b.txt"]),
        (["a/*"], ["a/c.txt", "a/d.md"]),
        (["*.md", "b*"], ["a/d.md", "b.txt"]),
        (["*.MD"], []),
    ],
)
def test_globs_replace_the_default(tmp_path: Path, globs: list[str], expected: list[str]) -> None:
    sources = write_sources(tmp_path / "sources", {"b.txt": "1", "a/c.txt": "2", "a/d.md": "3"})
    CacheBuilder(Disk(), CREATED_AT).build(str(sources), str(tmp_path / "cache"), choice=Choice(globs))
    assert list(json.loads((tmp_path / "cache" / "index.json").read_text())) == expected


def test_a_file_that_is_not_utf8_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", DOCUMENTS)
    (sources / "bad.md").write_bytes(b"fine \xff not")
    with pytest.raises(SourcesError, match=r"bad\.md is not UTF-8.*byte 5") as raised:
        compile_folder(sources, tmp_path / "cache")
    assert "--include" in raised.value.hint
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sources"]


def test_a_bad_file_in_a_large_build_is_named_by_the_worker_that_met_it(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", {f"{number}.md": f"{number}" for number in range(700)})
    (sources / "zz.md").write_bytes(b"\xff")
    with pytest.raises(SourcesError, match=r"zz\.md") as raised:
        compile_folder(sources, tmp_path / "cache")
    assert "--include" in raised.value.hint  # which came through the pipe, too
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sources"]


@pytest.mark.usefixtures("_may_fork")
def test_if_the_second_worker_cannot_be_started_the_first_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    fork, started = os.fork, list[int]()

    def fork_once() -> int:
        if started:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        started.append(fork())
        return started[0]

    monkeypatch.setattr(os, "fork", fork_once)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(DiskError, match="Resource temporarily unavailable"):
        run_parallel([lambda _: time.sleep(60), lambda _: None], lambda _: None)
    with pytest.raises(ChildProcessError):
        os.waitpid(started[0], os.WNOHANG)
    assert len(os.listdir("/proc/self/fd")) == before


def test_work_is_shared_even_if_nobody_may_wait_for_children() -> None:
    """Whoever started us may ignore SIGCHLD, and so do we then: the kernel keeps no word of a child that ended."""
    program = (
        "import os, signal; from contexthall.system.processes import run_parallel; "
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN); "
        "print(len(set(run_parallel([lambda _: os.getpid()] * 2, print))))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


def test_two_files_with_the_same_id_are_both_named(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", {"A.md": "1", "a.md": "2"})
    with pytest.raises(SourcesError, match=r"A\.md and a\.md") as raised:
        compile_folder(sources, tmp_path / "cache")
    assert raised.value.hint == "rename one of them, or leave one out with --exclude"


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", {})
    Path(os.fsdecode(os.fsencode(sources) + b"/caf\xe9.md")).write_text("x")
    with pytest.raises(SourcesError, match="caf\ufffd"):
        compile_folder(sources, tmp_path / "cache")


@pytest.mark.usefixtures("bound_by_permissions")
@pytest.mark.parametrize("name", ["a", "a/goodbye.md"])
def test_what_may_not_be_read_fails_the_build(tmp_path: Path, name: str) -> None:
    sources = write_sources(tmp_path / "sources", DOCUMENTS)
    (sources / name).chmod(0)
    with pytest.raises(DiskError, match="Permission denied"):
        compile_folder(sources, tmp_path / "cache")
    (sources / name).chmod(0o755)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sources"]


@pytest.mark.parametrize(
    ("sources", "target"), [("s", "s/cache"), ("s/a", "s"), ("s", "s"), ("link", "s/cache"), ("s", "link/cache")]
)
def test_sources_and_cache_may_not_lie_in_each_other(tmp_path: Path, sources: str, target: str) -> None:
    write_sources(tmp_path / "s", DOCUMENTS)
    (tmp_path / "link").symlink_to("s")
    before = tree(tmp_path)
    with pytest.raises(UsageError):
        compile_folder(tmp_path / sources, tmp_path / target, force=True)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("sources", ["nowhere", "file"])
def test_sources_must_be_a_folder(tmp_path: Path, sources: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="not a directory"):
        compile_folder(tmp_path / sources, tmp_path / "cache")


def test_what_is_there_is_replaced_only_by_force_and_only_if_it_is_a_cache(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", DOCUMENTS)
    (tmp_path / "file").write_text("x")
    write_sources(tmp_path / "precious", {"thesis.tex": "years of work"})
    (tmp_path / "empty").mkdir()
    for target in ("file", "precious", "empty"):
        with pytest.raises(UsageError):
            compile_folder(sources, tmp_path / target)
    for target in ("file", "precious"):
        with pytest.raises(UsageError):
            compile_folder(sources, tmp_path / target, force=True)
    assert tree(tmp_path / "precious") == {"thesis.tex": b"years of work"}
    compile_folder(sources, tmp_path / "empty", force=True)
    assert library_of(tmp_path).verify(CacheRef(str(tmp_path / "empty"))) == ()
    with pytest.raises(UsageError, match="already"):
        compile_folder(sources, tmp_path / "empty")


def test_parents_of_the_target_are_made_and_a_symlinked_target_stays_one(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", DOCUMENTS)
    compile_folder(sources, tmp_path / "new" / "deep" / "cache")
    (tmp_path / "link").symlink_to(tmp_path / "new" / "deep" / "cache")
    write_sources(sources, {"more.md": "more"})
    compile_folder(sources, tmp_path / "link", force=True)
    assert (tmp_path / "link").is_symlink()
    assert library_of(tmp_path).inspect(CacheRef(str(tmp_path / "new" / "deep" / "cache"))).document_count == 3


def test_of_two_builds_at_once_one_wins_and_the_other_says_so(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", DOCUMENTS)
    (tmp_path / ".contexthall-cache").mkdir()
    with Disk().enter(str(tmp_path / ".contexthall-cache")) as staging:
        assert staging.lock()
        with pytest.raises(UsageError, match="under way"):
            compile_folder(sources, tmp_path / "cache")
    compile_folder(sources, tmp_path / "cache")
    assert leftovers(tmp_path) == []


def test_readers_see_the_old_cache_or_the_new_one_while_it_is_replaced(tmp_path: Path) -> None:
    corpora = [{f"{number}.md": f"round{turn} word{number}" for number in range(40)} for turn in range(2)]
    for turn, corpus in enumerate(corpora):
        write_sources(tmp_path / f"sources {turn}", corpus)
    cache = tmp_path / "cache"
    compile_folder(tmp_path / "sources 0", cache)
    script = """
import sys
from pathlib import Path
from tests.caches.making import compile_folder
root = Path(sys.argv[1])
for turn in range(30):
    compile_folder(root / f"sources {(turn + 1) % 2}", root / "cache", force=True)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    writer = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], env=environment)
    expected = {oracle.resolve(corpus, "word7 round1", 40) for corpus in corpora}
    library, seen = library_of(tmp_path), set()
    while writer.poll() is None:
        seen.add(library.resolve(CacheRef(str(cache)), "word7 round1", 40).text)
    assert writer.returncode == 0
    assert seen <= expected
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("damage", "violation"),
    [
        (lambda cache: (cache / "manifest.json").write_text("{"), "the manifest is not JSON"),
        (lambda cache: (cache / "manifest.json").unlink(), "there is no file manifest.json"),
        (lambda cache: (cache / "index.json").write_text("{}"), "index.json and manifest.json do not agree"),
        (lambda cache: (cache / "index.json").unlink(), "there is no file index.json"),
        (lambda cache: (cache / "index.json").write_text("["), "index.json: "),
        (lambda cache: (cache / "documents" / "more.json").write_text("{}"), "no document has the file documents/more"),
        (lambda cache: next((cache / "documents").iterdir()).unlink(), "is not there"),
        (lambda cache: next((cache / "documents").iterdir()).write_text("[]"), "is not an object"),
        (lambda cache: shutil.rmtree(cache / "documents"), "there is no documents directory"),
    ],
)
def test_verification_names_what_is_wrong(tmp_path: Path, damage: Callable[[Path], None], violation: str) -> None:
    cache = build_cache(tmp_path, DOCUMENTS)
    damage(cache)
    assert any(violation in each for each in library_of(tmp_path).verify(CacheRef(str(cache))))


def test_verification_names_every_violation(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, DOCUMENTS)
    for file in (cache / "documents").iterdir():
        file.write_text(file.read_text().replace("world", "World"))
    (cache / "index.json").unlink()
    (cache / "documents" / "orphan").write_text("")
    assert len(library_of(tmp_path).verify(CacheRef(str(cache)))) == 4


def test_a_cache_of_others_may_have_its_files_deeper(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, DOCUMENTS)
    (cache / "documents").rename(cache / "moved")
    (cache / "documents").mkdir()
    (cache / "moved").rename(cache / "documents" / "deeper")
    for name in ("manifest.json", "index.json"):
        (cache / name).write_text((cache / name).read_text().replace("documents/", "documents/deeper/"))
    library = library_of(tmp_path)
    assert library.verify(CacheRef(str(cache))) == ()
    assert library.resolve(CacheRef(str(cache)), "world", 99).text == oracle.resolve(DOCUMENTS, "world", 99)

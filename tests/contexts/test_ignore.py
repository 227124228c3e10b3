"""What git ignores, we ignore; nothing else."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contexts.making import write_files

from contexthall.contexts.files.config import Config
from contexthall.contexts.scan.directories import walk
from contexthall.core import ignore
from contexthall.core.ignore import Level, is_ignored, parse_rules
from contexthall.system.disk import Disk

PIECES = (
    r"a b c ab * ** *** ? / / [a-c] [!a] [^b] [[:alpha:]] [[:digit:]x] [[:foo:]] [[:a] []a] [] []-a] [a [a- [b-a] "
    r"[--0] \ \* \a [\]] [a-\c] . - ! # é \! \# \[ [^]a] [[.] [[:space:]-z]"
)
PARTS = r"a b c ab abc aXb .a * [a é #a !a - a.b \ 1 ] [a]"

patterns = st.lists(st.sampled_from([*PIECES.split(), " "]), min_size=1, max_size=5).map("".join)
texts = st.tuples(st.sampled_from(["\n", "\r\n"]), st.lists(patterns, max_size=4)).map(
    lambda both: both[0].join(both[1])
)
paths = st.lists(st.sampled_from([*PARTS.split(), "a b", "a ", "a\tb"]), min_size=1, max_size=3).map("/".join)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "--quiet", str(directory)], check=True)
    return directory


def ignored_by_git(repository: Path, paths: Sequence[str]) -> set[str]:
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    answer = subprocess.run(
        ["git", "-C", str(repository), "-c", "core.excludesFile=", "check-ignore", "-z", "--stdin", "--no-index"],
        input="\0".join(paths).encode(),
        env=os.environ | alone,
        capture_output=True,
        check=False,
    )
    assert not answer.stderr
    return {path for path in answer.stdout.decode().split("\0") if path}


def ignored_by_us(top: str, nested: str, path: str) -> bool:
    """Judge every directory above `path`, then `path` itself, as a walk would."""
    parts = path.split("/")
    levels = [Level(0, rules)] if (rules := parse_rules([top.encode()])) else []
    for end in range(1, len(parts) + 1):
        if is_ignored(levels, "/".join(parts[:end]), parts[end - 1], is_directory=end < len(parts)):
            return True
        if parts[:end] == ["a"] and (rules := parse_rules([nested.encode()])):
            levels.append(Level(2, rules))
    return False


@settings(max_examples=150)
@given(top=texts, nested=texts, paths=st.lists(paths, min_size=10, max_size=25, unique=True))
def test_we_ignore_what_git_ignores(repository: Path, top: str, nested: str, paths: list[str]) -> None:
    """Git is asked about paths that do not exist, so that the last part of each counts as a file."""
    paths = [path for path in paths if path != "a"]
    (repository / ".gitignore").write_bytes(top.encode())
    (repository / "a").mkdir(exist_ok=True)
    (repository / "a" / ".gitignore").write_bytes(nested.encode())
    assert {path for path in paths if ignored_by_us(top, nested, path)} == ignored_by_git(repository, paths)


@pytest.mark.parametrize(
    ("text", "path", "is_directory", "expected"),
    [
        ("build/", "build", True, True),
        ("build/", "build", False, None),
        ("foo**/bar", "foobar", False, True),  # after what is literal, a pattern begins anew
        ("\ufeff*.o", "x.o", False, True),
        ("?", "é", False, None),  # two bytes
        ("*.o\n!keep.o", "keep.o", False, False),
        ("trailing  ", "trailing", False, True),
        ("trailing\\ ", "trailing ", False, True),
        ("/", "x", True, None),
        ("#x", "#x", False, None),
        ("a\0b", "a", False, True),
    ],
)
def test_rules_as_git_reads_them(text: str, path: str, is_directory: bool, expected: bool | None) -> None:
    rules = parse_rules([text.encode()])
    assert (rules.judge(path, path, is_directory=is_directory) if rules else None) == expected


@pytest.mark.parametrize("pattern", ["*a" * 3000, "**/" * 500 + "x", "[a-z]*" * 2000, "(a+)+" * 1000, "a?" * 4000])
def test_a_pattern_made_to_blow_up_takes_no_time(pattern: str) -> None:
    rules = parse_rules([pattern.encode()])
    assert rules is None or rules.judge("a" * 250 + "b", "a" * 250 + "b", is_directory=False) is None


def test_patterns_that_are_too_large_together_are_judged_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ignore._OPTIONS, "max_mem", 1 << 16)
    rules = parse_rules(["\n".join([*(f"{number}?*a" + "?*b" * 50 for number in range(100)), "last*"]).encode()])
    assert rules is not None
    assert rules._name_expression is not None
    assert rules._name_expression.pattern == b"(?s:.*)"
    assert rules.judge("lasting", "lasting", is_directory=False) is True
    assert rules.judge("other", "other", is_directory=False) is None


def scopes(root: Path, config: Config = Config()) -> list[str]:  # noqa: B008
    return sorted(directory.scope for directory in walk(Disk(), str(root), config))


def test_a_walk_enters_nothing_that_is_ignored(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {
            ".gitignore": "out/\n/top\n*.tmp\n",
            "out/x.py": "",
            "src/out/x.py": "",
            "src/top/x.py": "",
            "top/x.py": "",
            "src/.gitignore": "!out/\nlocal\n",
            "src/local/x.py": "",
            "local/x.py": "",
            "src/.contextignore": "secret\n",
            "src/secret/x.py": "",
            "unwanted/x.py": "",
            "src/unwanted/x.py": "",
        },
    )
    expected = [".", "local", "src", "src/out", "src/top"]
    assert scopes(tmp_path, Config(ignore=("unwanted",))) == expected


def test_contextignore_is_read_after_gitignore(tmp_path: Path) -> None:
    write_files(tmp_path, {".gitignore": "a\n", ".contextignore": "!a\nb\n", "a/x.py": "", "b/x.py": ""})
    assert scopes(tmp_path) == [".", "a"]


def test_an_ignore_file_that_is_a_symlink_is_not_read(tmp_path: Path) -> None:
    write_files(tmp_path, {"rules": "a\n", "a/x.py": ""})
    (tmp_path / ".gitignore").symlink_to("rules")
    assert scopes(tmp_path) == [".", "a"]

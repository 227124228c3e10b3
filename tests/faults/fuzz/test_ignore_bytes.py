"""Git is asked what its own patterns mean, in every byte that a pattern may have."""

import os
import random
import subprocess
from collections.abc import Collection
from pathlib import Path

import pytest
from tests.faults.scale import SEED, record, scaled

from contexthall.core.ignore import Level, is_ignored, parse_rules

PIECES = (
    *(b"a", b"b", b"ab", b"A", b"1", b"*", b"**", b"***", b"?", b"/", b"/", b"**/", b"/**", b"/**/", b"a/**/b", b"\\/"),
    *(b"[a-c]", b"[!a]", b"[^b]", b"[]a]", b"[]", b"[]-a]", b"[a", b"[a-", b"[b-a]", b"[--0]", b"[\\]]", b"[a-\\c]"),
    *(b"[[:alpha:]]", b"[[:space:]]", b"[[:punct:]]", b"[[:cntrl:]]", b"[[:xdigit:]x]", b"[[:foo:]]", b"[[:a]", b"[[]"),
    *(b"[[:alpha:]-z]", b"[a-[:alpha:]]", b"[[=a=]]", b"[[.a.]]", b"[/]", b"[!/]", b"[*]", b"[\\", b"[!]a]", b"[^]]"),
    *(b"[a-]", b"[-a]", b"[!-a]", b"[a--]", b"[+--]", b"[a\\]b]", b"[\x80-\xff]", b"[!\xff]", b"[\0]", b"[[:alpha:"),
    *(b"\\", b"\\*", b"\\a", b"\\ ", b"\\\t", b"\\[", b"\\!", b"\\#", b"\\\\", b"!", b"#", b".", b"-", b"]", b"{a,b}"),
    *(
        b" ",
        b"  ",
        b"\t",
        b"\r",
        b"\x0b",
        b"\x0c",
        b"\0",
        b"\x01",
        b"\x7f",
        b"\xc3\xa9",
        b"\xff",
        b"\x80",
        b"\xef\xbb\xbf",
    ),
    *(b"(", b"+", b"$", b"^", b"|"),
)
NAMES = (
    *(b"a", b"b", b"c", b"ab", b"abc", b"A", b"1", b".a", b"..a", b"a.b", b"a-b", b"-", b"a b", b"a ", b" a", b" "),
    *(b"*", b"[a", b"]", b"[a]", b"\\", b"a\\", b"#a", b"!a", b"{a,b}", b"^", b"\xc3\xa9", b"\xff", b"\x80x", b"\x01"),
    *(b"a\tb", b"\x0b", b"a\r", b"\x7f", b"\xef\xbb\xbfa"),
)
ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def ignored_by_git(repository: Path, paths: Collection[bytes]) -> set[bytes]:
    answer = subprocess.run(
        ["git", "-C", repository, "-c", "core.excludesFile=", "check-ignore", "-z", "--stdin", "--no-index"],
        input=b"\0".join(paths),
        env=os.environ | ALONE,
        capture_output=True,
        check=False,
    )
    assert not answer.stderr
    return {path for path in answer.stdout.split(b"\0") if path}


def ignored_by_us(top: bytes, nested: bytes, path: bytes) -> bool:
    """Judge every directory above `path`, then `path` itself, as a walk would."""
    parts = [os.fsdecode(part) for part in path.split(b"/")]
    levels = [Level(0, rules)] if (rules := parse_rules([top])) else []
    for end in range(1, len(parts) + 1):
        if is_ignored(levels, "/".join(parts[:end]), parts[end - 1], is_directory=end < len(parts)):
            return True
        if parts[:end] == ["a"] and (rules := parse_rules([nested])):
            levels.append(Level(2, rules))
    return False


def rules_text(source: random.Random) -> bytes:
    lines = [b"".join(source.choices(PIECES, k=source.randrange(1, 6))) for _ in range(source.randrange(5))]
    return source.choice((b"\n", b"\r\n")).join(lines) + source.choice((b"", b"\n"))


@pytest.mark.timeout(600)
def test_git_and_the_hall_ignore_the_same_whatever_the_bytes(tmp_path: Path) -> None:
    source, rounds = random.Random(SEED), scaled(30, 100, 2000)
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / "a").mkdir()
    for _ in range(rounds):
        top, nested = rules_text(source), rules_text(source)
        paths = {b"/".join(source.choices(NAMES, k=source.randrange(1, 4))) for _ in range(60)} - {b"a"}
        (tmp_path / ".gitignore").write_bytes(top)
        (tmp_path / "a" / ".gitignore").write_bytes(nested)
        ours = {path for path in paths if ignored_by_us(top, nested, path)}
        assert ours == ignored_by_git(tmp_path, sorted(paths)), (top, nested)
    record("fuzzing", "ignore files compared with git", rounds)

"""Whatever a file holds, reading it ends soon, raises nothing and returns only what is there."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexthall.contexts.draft.languages import python
from contexthall.contexts.draft.languages import table as languages
from contexthall.contexts.draft.languages.language import SourceOutline
from contexthall.contexts.draft.languages.table import BY_EXTENSION, read
from contexthall.core import limits

FILES = [
    *("a.py", "a.ts", "a.tsx", "a.js", "a.go", "a.rs", "a.java", "a.kt", "a.scala", "a.cs", "a.h", "a.hpp", "a.rb"),
    *("a.php", "a.swift", "a.sh"),
]
GOOD = {
    "a.py": b"def good(x: int): ...\n",
    "a.ts": b"export function good(x: number) {}\n",
    "a.tsx": b"export function good(x: number) {}\n",
    "a.js": b"export function good(x) {}\n",
    "a.go": b"package a\n\nfunc Good(x int) {}\n",
    "a.rs": b"pub fn good(x: u8) {}\n",
    "a.java": b"public class Good {}\n",
    "a.kt": b"fun good(x: Int) {}\n",
    "a.scala": b"class Good(x: Int)\n",
    "a.cs": b"public class Good {}\n",
    "a.h": b"int good(int x);\n",
    "a.hpp": b"int good(int x);\n",
    "a.rb": b"def good(x); end\n",
    "a.php": b"<?php\nfunction good(int $x) {}\n",
    "a.swift": b"public func good(x: Int) {}\n",
    "a.sh": b"good() { echo; }\n",
}
HOSTILE = {
    "empty": b"",
    "blank": b" \n\r\n\t",
    "nul": b"\0" * 1000,
    "noise": random.Random(1).randbytes(20_000),
    "not UTF-8": b"x = '\xff\xfe'\n" * 10,
    "utf-16": "def f(): ...".encode("utf-16"),
    "open parentheses": b"(" * 100_000,
    "nested parentheses": b"(" * 100_000 + b")" * 100_000,
    "nested brackets": b"x = " + b"[" * 30_000 + b"]" * 30_000,
    "nested braces": b"{" * 20_000,
    "nested blocks": b"".join(b" " * level + b"if x:\n" for level in range(300)),
    "one line": b"x" * 200_000,
    "long sum": b"x = " + b"1+" * 20_000 + b"1",
    "unfinished": b"def f(\n" * 1000 + b"func (\n" * 1000,
    "unfinished strings": b"'\"`" * 1000,
    "generics": b"a<" * 5000,
    "huge": b"x = 1\n" * (50 * 1024 * 1024 // 6),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_files_are_read_without_harm(name: str, kind: str) -> None:
    started = time.thread_time()
    found = read(name, HOSTILE[kind])
    assert isinstance(found, SourceOutline)
    assert time.thread_time() - started < 3


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(FILES), noise=st.binary(max_size=60), cut=st.integers(0, 40))
def test_no_bytes_break_a_reader(name: str, noise: bytes, cut: int) -> None:
    for export in read(name, GOOD[name][:cut] + noise + GOOD[name][cut:]).exports:
        assert export.signature.isprintable()
        assert len(export.signature) <= limits.SIGNATURE_CHARACTERS


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("marked", [b"\xef\xbb\xbf%s", b"\n\n%s", b"%s\n\n\n"])
def test_marks_and_line_ends_change_nothing(name: str, marked: bytes) -> None:
    (export,) = read(name, GOOD[name]).exports
    assert read(name, marked % GOOD[name]).exports == (export,)
    assert read(name, (marked % GOOD[name]).replace(b"\n", b"\r\n")).exports == (export,)
    assert export.name.lower() == "good"


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_too_large_says_nothing(name: str) -> None:
    assert read(name, GOOD[name] + b"\n" * limits.DRAFTED_FILE_BYTES) == SourceOutline(is_parsed=False)


def test_a_file_that_keeps_the_parser_busy_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SOURCE_PROCESSOR_SECONDS", -1.0)
    assert read("a.py", GOOD["a.py"] + b"x = 1\n" * 20_000) == SourceOutline(is_parsed=False)


def test_a_language_is_known_by_the_end_of_the_name() -> None:
    names = {extension: language.name for extension, language in BY_EXTENSION.items()}
    assert {*names.values()} == {
        *("python", "typescript", "javascript", "go", "rust", "java", "kotlin", "scala", "csharp", "c", "cpp", "ruby"),
        *("php", "swift", "shell"),
    }
    assert (names["py"], names["tsx"], names["mjs"]) == ("python", "typescript", "javascript")
    assert read("A.PY", GOOD["a.py"]) == read("a.py", GOOD["a.py"])
    assert read("README.md", b"# Title") == read("Makefile", b"all:") == read("py", b"") == SourceOutline()


def test_a_reader_that_fails_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_pieces: object) -> SourceOutline:
        raise RecursionError

    monkeypatch.setitem(BY_EXTENSION, "py", python.PYTHON._replace(outline=fail))
    assert read("a.py", GOOD["a.py"]) == SourceOutline(is_parsed=False)
    assert python.PYTHON.read(GOOD["a.py"]) != SourceOutline()


def test_an_unknown_language_has_no_record() -> None:
    assert languages.language_of("a.cobol") is None
    assert languages.language_of("A.Go") is languages.BY_EXTENSION["go"]

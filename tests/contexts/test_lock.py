"""The lock: a line a scope, whatever git or people did to it."""

import pytest

from contexthall.contexts.files.lock import NO_LOCK, Citation, LockEntry, read_lock
from contexthall.core import limits

KEYS = Citation("constraints/9c0ffee1", "src/keys.py", "rotate", "01234567")
SRC = LockEntry("1:9c0ffee1", {"summary": "11111111", "exports": "22222222"}, (KEYS,))
LINE = (
    b'{"scope":"src","interface":"1:9c0ffee1","drafted":{"exports":"22222222","summary":"11111111"},'
    b'"citations":[{"claim":"constraints/9c0ffee1","path":"src/keys.py","symbol":"rotate","digest":"01234567"}]}\n'
)
OTHER = b'{"scope":"tests","interface":"1:00000000"}\n'


def test_an_entry_is_one_line_of_json() -> None:
    assert NO_LOCK.with_entries({"src": SRC}) == LINE
    assert read_lock(LINE).entry("src") == SRC


def test_lines_are_sorted_by_scope_and_what_did_not_change_keeps_its_bytes() -> None:
    odd = b'{"scope":"b", "drafted": {}, "of a later version": 1}'
    written = read_lock(OTHER + odd + b"\n").with_entries({"src": SRC, "a": LockEntry(), "gone": None})
    assert written == b'{"scope":"a"}\n' + odd + b"\n" + LINE + OTHER


def test_a_scope_that_is_gone_loses_its_line() -> None:
    assert read_lock(LINE + OTHER).with_entries({"src": None}) == OTHER


def test_a_scope_may_have_any_characters() -> None:
    for scope in ("a b", 'a"b', "a\\b", "ü", "src/日本", "\u200b", "{"):
        written = NO_LOCK.with_entries({scope: SRC})
        assert read_lock(written).entry(scope) == SRC
        assert read_lock(written).scopes == [scope]


def test_both_sides_of_a_conflict_are_read_and_the_marks_are_not() -> None:
    ours = b'{"scope":"src","interface":"1:aaaaaaaa","drafted":{"summary":"aaaaaaaa","files":"cccccccc"}}\n'
    base = b'{"scope":"src","interface":"1:00000000","drafted":{"summary":"00000000"}}\n'
    marked = b"<<<<<<< HEAD\n" + ours + b"||||||| base\n" + base + b"=======\n" + LINE + b">>>>>>> theirs\n" + OTHER
    lock = read_lock(marked)
    assert lock.has_conflict
    both = {"summary": "aaaaaaaa 11111111", "files": "cccccccc", "exports": "22222222"}
    assert lock.entry("src") == LockEntry("1:aaaaaaaa 1:9c0ffee1", both, (KEYS,))
    assert [*lock.unsettled] == ["src"]
    mended = read_lock(lock.with_entries({}))
    assert not mended.has_conflict
    assert mended.entry("src") == lock.entry("src")
    assert mended.entry("tests") == read_lock(OTHER).entry("tests")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"nonsense",
        b'{"scope":"src"',
        b'{"scope":"src","drafted":}',
        b'{"scope":1}',
        b'["src"]',
        b'{"scope":"\\ud800"}',
        b"\xff\xfe",
        b'{"scope":"src",' + b'"x":[' * 200 + b"]" * 200 + b"}",
    ],
)
def test_a_line_that_cannot_be_read_is_as_good_as_none(line: bytes) -> None:
    lock = read_lock(OTHER + line + b"\n")
    assert lock.entry("src") is None
    assert lock.entry("tests") == LockEntry("1:00000000")


def test_odd_values_in_a_line_cost_themselves_only() -> None:
    line = b'{"scope":"src","interface":7,"drafted":{"a":1,"b":"x"},"citations":[1,{},{"claim":"c","path":"p"}]}'
    assert read_lock(line).entry("src") == LockEntry("", {"b": "x"}, ())


def test_a_lock_that_is_too_large_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LOCK_BYTES", len(LINE))
    assert read_lock(LINE).scopes == ["src"]
    assert read_lock(LINE + OTHER).scopes == []


def test_only_scopes_with_citations_are_citing() -> None:
    assert read_lock(LINE + OTHER).citing == {"src"}

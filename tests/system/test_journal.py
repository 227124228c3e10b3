"""The journal of calls: private, bounded, whole lines, nothing that was asked or answered, and never in the way."""

import asyncio
import errno
import gc
import json
import os
import re
import shutil
import stat
import time
from contextvars import Context, copy_context
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from contexthall.core import limits
from contexthall.core.activity import Activity, in_full, parse_line, short, summaries, to_line, tool_name
from contexthall.core.catalog import Caller, CallNote, Capability, Catalog, JsonObject, Tool, ToolResult, note_passed_on
from contexthall.core.errors import UnknownToolError
from contexthall.system.disk import Disk
from contexthall.system.journal import Journal, JournalMode, read_journal

KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ"
CALL = Activity(
    time="2026-01-02T03:04:05.678Z",
    client="codex",
    tool="context.resolve",
    ms=1.5,
    bytes=12,
    outcome="ok",
    cache="handbook",
    ids=("a.md#x",),
)


def catalog_of(directory: Path, mode: JournalMode = "brief", original: JsonObject | None = None) -> Catalog:
    async def run(arguments: JsonObject, _caller: Caller) -> ToolResult:
        if "passed_on" in arguments:
            note_passed_on(arguments["passed_on"])
        if arguments.get("wait"):
            await asyncio.Event().wait()
        content = ({"type": "text", "text": "é answered"},)
        return ToolResult(content=content, is_error=bool(arguments.get("fail")), ids=("a.md#x",))

    schema = {"type": "object"}
    tool = Tool(name="say", title="Say", description="", input_schema=schema, original=original, run=run)
    catalog = Catalog([Capability("test", tools=[tool])])
    redact = partial(re.compile("hunter3").sub, "${PASSWORD}")
    catalog.journal = Journal(Disk(), str(directory / "state" / "activity"), mode, redact=redact)
    return catalog


def call(catalog: Catalog, name: str = "say", **arguments: Any) -> ToolResult:
    caller = Caller(may_read=lambda _path, _root: True, client="codex")
    return asyncio.run(catalog.call(name, arguments, caller))


def journal_of(directory: Path) -> list[Activity]:
    return read_journal(Disk(), str(directory / "state" / "activity"), 1000)[0]


def files_of(directory: Path) -> list[Path]:
    return sorted((directory / "state" / "activity").iterdir())


def test_a_call_is_recorded_without_what_was_asked_and_answered(tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path)
    call(catalog, cache="handbook", query="how do I rotate my keys")
    call(catalog, fail=True, scope="src")
    first, second = journal_of(tmp_path)
    assert (first.client, first.tool, first.outcome, first.bytes) == ("codex", "say", "ok", len("é answered".encode()))
    assert (first.cache, first.ids) == ("handbook", ("a.md#x",))
    assert (second.outcome, second.scope) == ("error", "src")
    (file,) = files_of(tmp_path)
    assert b"rotate" not in file.read_bytes()
    assert b"answered" not in file.read_bytes()
    assert [stat.S_IMODE(each.stat().st_mode) for each in (file, file.parent)] == [0o600, 0o700]


def test_what_was_asked_and_answered_is_recorded_in_full_but_for_credentials(tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path, "full")
    call(catalog, query="rotate", password="hunter2", header=f"Bearer {KEY}", more=[{"x": KEY}], long="y" * 9000)
    (recorded,) = journal_of(tmp_path)
    assert json.loads(recorded.result) == "é answered"
    assert '"query": "rotate"' in recorded.arguments
    assert len(recorded.arguments) == limits.JOURNAL_TEXT_CHARACTERS
    (file,) = files_of(tmp_path)
    assert b"hunter2" not in file.read_bytes()
    assert KEY.encode() not in file.read_bytes()


def test_what_a_members_arguments_mean_is_not_known_so_none_is_recorded(tmp_path: Path) -> None:
    call(catalog_of(tmp_path, original={"name": "say"}), cache="my diary", scope="private")
    (recorded,) = journal_of(tmp_path)
    assert (recorded.cache, recorded.scope, recorded.tool) == ("", "", "say")


def test_secrets_that_the_hall_gave_to_members_are_not_recorded_in_full(tmp_path: Path) -> None:
    long = "x" * (limits.JOURNAL_TEXT_CHARACTERS - 20)
    call(catalog_of(tmp_path, "full"), query="say hunter3", more={"a": ['{"b": "hunter3"}']}, long=long + " hunter3")
    (recorded,) = journal_of(tmp_path)
    assert recorded.arguments.startswith('{"query": "say ${PASSWORD}", "more": {"a": ["{\\"b\\": \\"${PASSWORD}')
    assert "hunter" not in recorded.arguments


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ('{"password": "hunter2", "a": 1}', '{"password": "(may be a secret)", "a": 1}'),
        ('[{"x": "password=hunter2"}]', '[{"x": "password=(may be a secret)"}]'),
        ('{"password": "hunter2", "cut', '{"password": (may be a secret)'),
        ("Authorization: Basic aHVudGVyMg\nHost: here", "Authorization: (may be a secret)\nHost: here"),
        ("export DB_PASSWORD_1='hunter2'", "export DB_PASSWORD_1=(may be a secret)"),
        ("password:\n  hunter2\nuser: me", "password:\n  (may be a secret)\nuser: me"),
        ("Rotate the keys of the author: me", "Rotate the keys of the author: me"),
        ('body={\\"password\\": \\"hunter2\\"}', 'body={\\"password\\": (may be a secret)'),
        ("<author>Ada</author>", "<author>Ada</author>"),
        ("<p>" + "y" * 5000, ("<p>" + "y" * 5000)[: limits.JOURNAL_TEXT_CHARACTERS]),
        ("Call x<y> first", "Call x<y> first"),
    ],
)
def test_credentials_in_texts_are_withheld(value: str, kept: str) -> None:
    whole = limits.JOURNAL_TEXT_CHARACTERS
    assert in_full(value) == json.dumps(kept)[:whole]
    assert in_full({"body": value}) == json.dumps({"body": kept})[:whole]


@pytest.mark.parametrize(
    "markup",
    [
        "<a><dbPassword>hunter2</dbPassword><b>1</b></a>",
        "<ns:token kind='x'>\n hunter2\n</ns:token>\nend",
        "<password>\n hunter2" + " " * 9000 + "</password>",
        "<credentials><entry>hunter2" + "<e/>" * 2000,
        "Put it there: <Password>\nhunter2",
        "<token value='hunter2'/>",
        "<add name='password'><value>hunter2</value></add>",
        "<add value='hunter2' key='password'/>",
        "<key>password</key><!-- c --><string><![CDATA[hunter2]]></string>",
        "<name>password</name>\n<type>s</type><value>hunter2</value>",
        "<value>hunter2</value><type>s</type><name>password</name>",
        "<value>hunter2</value>" + "<e/>" * 2000 + "<name>password</name>",
        "<value>hunter2</value>" + "<e/>" * 20_000 + "<name>password</name>",
        "<dt>Your API key</dt><dd>hunter2</dd>",
        "&lt;password&gt;hunter2",
        "body: \\u003cpassword\\u003ehunter2",
    ],
)
def test_markup_that_names_a_credential_anywhere_is_withheld_as_a_whole(markup: str) -> None:
    assert in_full(markup) == '"(may be a secret)"'
    assert in_full([markup, {"a": json.dumps({"b": markup})}, "more"]).count("(may be a secret)") == 2
    assert "hunter2" not in in_full({markup: 1, "a": json.dumps([markup])})


def test_a_credential_is_no_key_of_an_object_either() -> None:
    assert in_full({KEY: "hunter2", "a": 1}) == '{"(may be a secret)": "(may be a secret)", "a": 1}'


def test_a_credential_that_is_cut_in_two_is_withheld() -> None:
    text = "y " * ((limits.JOURNAL_TEXT_CHARACTERS - 26) // 2)
    assert in_full(f"{text}https://me:hunter2hunter2hunter2@here/") == '"(may be a secret)"'


@pytest.mark.parametrize("nested", ["[" * 100_000, json.loads("[" * 900 + "]" * 900), "[" * 900 + "]" * 900])
def test_what_is_nested_too_deep_is_withheld_as_a_whole(nested: object) -> None:
    assert in_full({"body": nested}) == '"(may be a secret)"'


@pytest.mark.parametrize(
    "unit", ["a", "?key", "<a>token</a><", "<a ", "&lt;", "<p>y</p> ", "key=y ", "key  ", "://:", "["]
)
@pytest.mark.parametrize("length", [100, 4000, 32_000, 1 << 20])
def test_a_large_value_takes_little_time(unit: str, length: int) -> None:
    """It is taken by the loop that answers everybody; what was quadratic, or read all, took seconds."""
    text = (unit * length)[:length]
    texts = [text] * ((1 << 20) // length)
    for value in (texts, dict(enumerate(texts)), json.dumps({"content": texts}), {text: text, "password": text}):
        started = time.process_time()
        in_full(value)
        assert time.process_time() - started < 0.2


def test_nothing_is_recorded_if_the_journal_is_off(tmp_path: Path) -> None:
    call(catalog_of(tmp_path, "off"))
    assert not (tmp_path / "state").exists()


def test_unknown_tools_and_cancelled_calls_are_recorded(tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path)
    for name in ("nobody", KEY, "x" * 70, "a b"):
        with pytest.raises(UnknownToolError):
            call(catalog, name)
    with pytest.raises(TimeoutError):
        asyncio.run(waited(catalog))
    recorded = journal_of(tmp_path)
    found = sorted((each.tool, each.outcome) for each in recorded)
    assert found == [*[("", "unknown")] * 3, ("nobody", "unknown"), ("say", "cancelled")]


async def waited(catalog: Catalog, **arguments: Any) -> None:
    async with asyncio.timeout(0):
        await catalog.call("say", {"wait": True, **arguments}, Caller(may_read=lambda _path, _root: True))


def test_a_call_that_is_passed_on_is_recorded_as_one_of_the_tool_that_answered(tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path)
    call(catalog, passed_on="mail__send")
    with pytest.raises(TimeoutError):
        asyncio.run(waited(catalog, passed_on="mail__wait"))
    call(catalog)
    found = [(each.tool, each.outcome) for each in journal_of(tmp_path)]
    assert found == [("mail__send", "ok"), ("mail__wait", "cancelled"), ("say", "ok")]


def test_what_outlives_a_call_does_not_keep_its_answer(tmp_path: Path) -> None:
    left: list[Context] = []

    async def run(_arguments: JsonObject, _caller: Caller) -> ToolResult:
        left.append(copy_context())  # as a timer does that is set during the call
        return ToolResult.of_text("x" * 1000)

    tool = Tool(name="say", title="Say", description="", input_schema={"type": "object"}, run=run)
    catalog = Catalog([Capability("test", tools=[tool])])
    catalog.journal = Journal(Disk(), str(tmp_path / "state" / "activity"))
    assert call(catalog, text="y").text == "x" * 1000
    (note,) = (each for each in left[0].values() if isinstance(each, CallNote))
    held = [each for each in gc.get_referents(note) if isinstance(each, ToolResult) or each == {"text": "y"}]
    assert held == []


def test_credentials_in_names_are_withheld(tmp_path: Path) -> None:
    call(catalog_of(tmp_path), cache=KEY, scope="a\x1b[31m\nb")
    (recorded,) = journal_of(tmp_path)
    assert (recorded.cache, recorded.scope) == ("(may be a secret)", "a [31m b")


def test_a_file_that_is_full_is_set_aside_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "JOURNAL_BYTES", 1000)
    catalog = catalog_of(tmp_path)
    for number in range(40):
        call(catalog, cache=f"cache{number}")
    names = [each.name for each in files_of(tmp_path)]
    assert [name.partition(".")[2] for name in names] == ["jsonl", "jsonl.1"]
    assert all(each.stat().st_size <= 1000 for each in files_of(tmp_path))
    assert journal_of(tmp_path)[-1].cache == "cache39"


def test_files_that_were_written_before_all_the_calls_that_are_wanted_are_not_read(tmp_path: Path) -> None:
    for day in (1, 2, 3):
        lines = [to_line(replace(CALL, time=f"2026-01-0{day}T00:00:0{second}.000Z")) for second in range(3)]
        file = tmp_path / f"2026010{day}T000000-{day}.jsonl"
        file.write_bytes(b"".join(lines) + b"not a call\n")
        at = datetime(2026, 1, day, 0, 0, 2, tzinfo=UTC).timestamp()
        os.utime(file, (at, at))
    for most, unread in ((0, 0), (2, 1), (3, 1), (4, 2), (9, 3), (10, 3)):
        calls, missed = read_journal(Disk(), str(tmp_path), most)
        wanted = [f"2026-01-0{day}T00:00:0{second}.000Z" for day in (1, 2, 3) for second in range(3)]
        assert ([each.time for each in calls], missed) == (wanted[max(0, 9 - most) :], unread)


def test_a_journal_that_is_removed_is_begun_anew(tmp_path: Path) -> None:
    now = 1e9
    catalog = catalog_of(tmp_path)
    catalog.journal = Journal(Disk(), str(tmp_path / "state" / "activity"), clock=lambda: now)
    call(catalog, cache="before")
    shutil.rmtree(tmp_path / "state")
    now += limits.JOURNAL_LOOK_SECONDS
    call(catalog, cache="after")
    assert [each.cache for each in journal_of(tmp_path)] == ["after"]


def test_the_oldest_files_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "JOURNAL_FILES", 2)
    folder = tmp_path / "state" / "activity"
    folder.mkdir(parents=True)
    for year in range(2020, 2025):
        (folder / f"{year}0101T000000-1.jsonl").write_bytes(to_line(CALL))
    (folder / "notes.txt").write_text("mine")
    call(catalog_of(tmp_path))
    assert [each.name[:4] for each in files_of(tmp_path)][:2] == ["2023", "2024"]
    assert len(files_of(tmp_path)) == 4


def test_the_file_of_a_hall_that_lives_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "JOURNAL_FILES", 0)
    first = catalog_of(tmp_path)
    first.journal = Journal(Disk(), str(tmp_path / "state" / "activity"), clock=lambda: 1e9)
    call(first, cache="one")
    call(catalog_of(tmp_path), cache="two")
    call(first, cache="three")
    assert {each.cache for each in journal_of(tmp_path)} == {"one", "two", "three"}
    first.journal.close()
    call(catalog_of(tmp_path), cache="four")
    assert "one" not in {each.cache for each in journal_of(tmp_path)}


def test_processes_are_merged_by_time_and_bad_lines_are_counted(tmp_path: Path) -> None:
    times = ["2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01.000Z", "2026-01-01T00:00:02.000Z"]
    first, second, third = (to_line(replace(CALL, time=each)) for each in times)
    (tmp_path / "20260101T000000-1.jsonl").write_bytes(first + third + third[:20])
    (tmp_path / "20260101T000001-2.jsonl").write_bytes(b'{"v":2}\n' + second + b"\xff\n[]\n")
    (tmp_path / "20260101T000002-3.jsonl").symlink_to("/etc/passwd")
    calls, unread = read_journal(Disk(), str(tmp_path), 2)
    assert ([each.time for each in calls], unread) == (times[1:], 4)
    assert read_journal(Disk(), str(tmp_path / "nowhere"), 2) == ([], 0)


@pytest.mark.parametrize(
    "change",
    [
        {"v": 2},
        {"time": "yesterday"},
        {"time": 1},
        {"outcome": "great"},
        {"outcome": []},
        {"ms": -1},
        {"ms": "1"},
        {"ms": 1e400},
        {"bytes": 1.5},
        {"bytes": True},
        {"tool": ["x"]},
        {"ids": "abc"},
        {"ids": [1]},
        {"client": None},
    ],
)
def test_a_forged_line_is_none(change: dict[str, Any]) -> None:
    line = json.loads(to_line(CALL))
    assert parse_line(json.dumps(line | change).encode()) is None
    assert parse_line(json.dumps(line | {"more": 1}).encode()) == CALL


def test_calls_go_on_if_nothing_can_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def full(function: Any, *arguments: Any, **options: Any) -> Any:
        if function is os.write:
            raise OSError(errno.ENOSPC, "No space left on device")
        return function(*arguments, **options)

    catalog = catalog_of(tmp_path)
    catalog.journal = Journal(Disk(full), str(tmp_path / "state" / "activity"))
    assert [call(catalog).text for _ in range(3)] == ["é answered"] * 3
    assert caplog.text.count("the journal of calls cannot be written") == 1


def test_what_the_calls_of_a_tool_add_up_to() -> None:
    calls = [replace(CALL, ms=ms) for ms in (1.0, 9.0, 2.0)] + [replace(CALL, tool="a", outcome="error")]
    found = [tuple(each) for each in summaries(calls)]
    assert found == [("context.resolve", 3, 0, 2.0, 9.0), ("a", 1, 1, 1.5, 1.5)]


def test_a_lone_surrogate_is_no_reason_to_lose_a_line(tmp_path: Path) -> None:
    call(catalog_of(tmp_path, "full"), scope="a\ud800", query="b\ud800")
    (recorded,) = journal_of(tmp_path)
    assert (recorded.scope, recorded.arguments) == ("a ", '{"scope": "a\ufffd", "query": "b\ufffd"}')


def test_names_and_texts_are_kept_short() -> None:
    assert (short(None), short(1), len(short("ab " * 1000))) == ("", "", limits.JOURNAL_WORD_CHARACTERS)
    assert (tool_name("member__tool-1.x"), tool_name("")) == ("member__tool-1.x", "")
    assert in_full({"token": 1, "a": Path("x")}).startswith('{"token": "(may be a secret)"')

"""The commands of the guild, as they are typed; servers are real processes."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.guild.making import is_alive, make_member, tool, write_cache
from tests.processes import CONTEXT, run_context
from tests.waiting import wait_until

from contexthall.faces.cli.output import age
from contexthall.faces.cli.table import run

EXAMPLES = Path(__file__).parents[3] / "examples" / "guild-members"
Typed: TypeAlias = Callable[..., tuple[int, str, str]]
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture(autouse=True)
def guild(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A guild of nobody, and a user who remembers nothing yet."""
    for variable in ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "guild").mkdir()
    return tmp_path / "guild"


def add_echo(guild: Path) -> Path:
    shutil.copytree(EXAMPLES / "echo", guild / "echo", ignore=shutil.ignore_patterns("tools-cache.json"))
    return guild / "echo"


@pytest.fixture
def typed(capfd: pytest.CaptureFixture[str]) -> Typed:
    """Type `context guild COMMAND`; give exit code, standard output and standard error."""

    def typed(command: str, *arguments: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = run(["guild", command, "--guild", "guild", *arguments])
        return code, *capfd.readouterr()

    return typed


def members(typed: Typed) -> dict[str, dict[str, Any]]:
    code, out, _ = typed("list", "--json")
    assert code == 0
    return {member["name"]: member for member in json.loads(out)["members"]}


def rows(text: str) -> list[list[str]]:
    return [line.split(maxsplit=5) for line in text.splitlines()]


# Names:


def test_a_name_stays_with_the_member_whose_tools_were_listed(guild: Path, typed: Typed) -> None:
    for directory in ("zz", "aa"):  # the second one comes when the first is known already
        manifest = make_member(guild, directory) / "plugin.json"
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "name": "git"}))
        typed("refresh")
    found = members(typed)
    assert {name: each["directory"] for name, each in found.items()} == {"git": "zz", "aa": "aa"}
    assert found["aa"]["error"] == 'its name "git" is taken by the member in zz'


# Ages:


@pytest.mark.parametrize(
    ("cached_at", "words"),
    [
        ("", "-"),
        ("2026-01-02T03:04:05.000Z", "0 s"),
        ("2026-01-02T03:03:06Z", "59 s"),
        ("2026-01-02T03:03:05Z", "1 min"),
        ("2026-01-02T02:04:06Z", "59 min"),
        ("2026-01-02T01:04:05+00:00", "2 h"),
        ("2026-01-01T03:04:06Z", "23 h"),
        ("2026-01-01T03:04:05Z", "1 d"),
        ("2025-01-02T03:04:05Z", "365 d"),
        ("2026-01-02T03:04:06Z", "0 s"),
    ],
)
def test_an_age_is_told_in_the_largest_unit_that_fits(cached_at: str, words: str) -> None:
    assert age(cached_at, NOW) == words


# Help:


def test_help_lists_the_commands_in_the_order_in_which_they_are_needed(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["guild", "--help"]) == 0
    listed = capfd.readouterr().out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    order = [
        "list",
        "tools",
        "refresh",
        "call",
        "why",
        "logs",
        "approve",
        "enable",
        "disable",
        "add",
        "import",
        "secret",
    ]
    assert [line.split()[0] for line in listed] == order
    assert not any(line.endswith("...") for line in listed)


# Looking, for which nothing is started:


def test_list_shows_a_row_for_each_member_and_what_is_to_be_known_of_it(
    guild: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """REQ-MCP-TOOL-5, REQ-MCP-TOOL-10: cached tools are in the roster, those of another version are not."""
    write_cache(make_member(guild, "known", "--record", "started"), tool("a"), tool("b"))
    write_cache(make_member(guild, "older", version="2"), tool("a"))
    make_member(guild, "new")
    (guild / "broken").mkdir()
    (guild / "broken" / "plugin.json").write_text("{")
    assert run(["guild", "list", "--guild", "guild"]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    header, broken, known, new, older = out.splitlines()
    assert header.split() == ["NAME", "STATUS", "TOOLS", "TOKENS", "AGE", "WHY"]
    assert broken.split(maxsplit=5)[:5] == ["broken", "error", "0", "0", "-"]
    assert "the manifest is not JSON" in broken
    assert known.split()[:4] == ["known", "disconnected", "2", "32"]
    assert known.endswith(" d")
    assert new.split(maxsplit=5) == ["new", "disconnected", "0", "0", "-", "missing: no list yet"]
    assert older.endswith("missing: written for version 1.0.0, the manifest says 2")
    assert not (guild / "known" / "started").exists()


def test_list_as_json_has_all_that_is_known(guild: Path, typed: Typed) -> None:
    write_cache(add_echo(guild), tool("echo", "Echo."), version="0.1.0", cached_at="2026-01-02T03:04:05.678Z")
    assert members(typed) == {
        "echo": {
            "name": "echo",
            "directory": "echo",
            "displayName": "Echo",
            "description": "Gives a text back, as it is or back to front.",
            "version": "0.1.0",
            "transport": "stdio",
            "status": "disconnected",
            "error": "",
            "tools": 1,
            "tokens": 18,
            "switchedOff": [],
            "progress": "",
            "cachedAt": "2026-01-02T03:04:05.678Z",
            "freshness": "fresh",
            "reason": "",
            "notes": [],
            "changes": [],
            "held": False,
        }
    }


def test_a_guild_of_nobody_says_how_to_add_somebody(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["guild", "list", "--guild", "guild"]) == 0
    adding, importing = "context guild add NAME --guild guild -- COMMAND", "context guild import FILE --guild guild"
    assert capfd.readouterr() == ("", f"the guild has no members\n\nhint: `{adding}`, or `{importing}`\n")
    assert run(["guild", "list", "--guild", "guild", "--json"]) == 0
    assert capfd.readouterr() == ('{"members":[]}\n', "")


def test_a_guild_that_the_environment_names_works_from_process_to_process(guild: Path, tmp_path: Path) -> None:
    """REQ-MCP-TOOL-4: what one process has cached, the next one reads before it starts anything."""
    add_echo(guild)
    environment = {"CONTEXT_GUILD": str(guild)}
    answers = [
        run_context("guild", *command, cwd=tmp_path, env=environment)
        for command in (["refresh", "echo"], ["list"], ["call", "echo", "reverse", "--arg", "text=123"])
    ]
    assert [(answer.returncode, answer.stderr) for answer in answers] == [(0, b"")] * 3
    refreshed, listed, called = (answer.stdout.decode() for answer in answers)
    assert (refreshed, called) == ("echo: 2 tools\n", "321\n")
    assert rows(listed)[1][:3] == ["echo", "disconnected", "2"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["tools", "echo"],
        ["refresh"],
        ["call", "echo", "echo"],
        ["why", "echo"],
        ["logs", "echo"],
        ["approve", "echo"],
        ["add", "echo", "--", "true"],
    ],
)
def test_no_guild_is_found_by_itself(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["guild", *arguments]) == 1
    hint = "name its directory with --guild DIR or CONTEXT_GUILD"
    assert capfd.readouterr() == ("", f"error[usage]: Cannot do that: no guild is named\n\nhint: {hint}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["tools", "x"],
        ["refresh", "x"],
        ["call", "x", "y"],
        ["why", "x"],
        ["logs", "x"],
        ["approve", "x"],
        ["enable", "x"],
    ],
)
def test_a_member_that_nobody_knows_is_a_usage_error(
    arguments: list[str], guild: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    make_member(guild, "echo")
    assert run(["guild", *arguments, "--guild", "guild"]) == 1
    assert capfd.readouterr() == ("", "error[usage]: Unknown member: 'x'\n\nhint: the guild has echo\n")


def test_tools_shows_what_each_tool_costs_and_does(guild: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_cache(make_member(guild, "echo"), tool("a", "Does a.\n  And\tmore."), tool("second", "x" * 101))
    assert run(["guild", "tools", "echo", "--guild", "guild"]) == 0
    out, err = capfd.readouterr()
    assert out.splitlines() == ["TOKENS  NAME", "    21  a       Does a. And more.", f"    42  second  {'x' * 99}…"]
    assert err == ""


def test_tools_as_json_gives_whole_definitions(guild: Path, capfd: pytest.CaptureFixture[str]) -> None:
    definitions = [tool("a", "Is 日本語.", title="A", annotations={"readOnlyHint": True}), tool("b")]
    write_cache(make_member(guild, "echo"), *definitions)
    assert run(["guild", "tools", "echo", "--guild", "guild", "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == {"tools": definitions}


def test_a_member_without_tools_is_a_sentence(guild: Path, capfd: pytest.CaptureFixture[str]) -> None:
    make_member(guild, "my member")
    assert run(["guild", "tools", "my member", "--guild", "guild"]) == 0
    hint = "`context guild why 'my member' --guild guild`"
    assert capfd.readouterr() == ("", f"my member has no tools that are known\n\nhint: {hint}\n")


@pytest.mark.parametrize(
    "arguments", [["list"], ["list", "--json"], ["tools", "evil"], ["tools", "evil", "--json"], ["why", "evil"]]
)
def test_no_terminal_obeys_what_a_member_says_of_itself(
    arguments: list[str], guild: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    directory = make_member(guild, "evil", version="\x1b[31m1\u202e")
    manifest = json.loads((directory / "plugin.json").read_text()) | {"description": "\x9b31m\u202e"}
    (directory / "plugin.json").write_text(json.dumps(manifest))
    write_cache(directory, tool("a\u202e", "\x1b[31m\x9b\u202e"), version="\x1b[31m1\u202e")
    (guild / "x\nfake").mkdir()
    (guild / "x\nfake" / "plugin.json").write_text("{")
    assert run(["guild", *arguments, "--guild", "guild"]) == 0
    out, err = capfd.readouterr()
    assert out
    assert all(character.isprintable() or character == "\n" for character in out + err)
    assert not any(line.startswith("fake") for line in out.splitlines())


@pytest.mark.parametrize("arguments", [["list"], ["why", "echo"], ["approve", "echo"], ["tools", "echo"]])
def test_a_cache_that_cannot_be_used_is_a_warning_and_said_once(
    guild: Path, arguments: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    """REQ-MCP-TOOL-11, REQ-MCP-TOOL-17: a malformed cache is ignored, with a warning."""
    (make_member(guild, "echo") / "tools-cache.json").write_text("{")
    assert run(["guild", *arguments, "--guild", "guild"]) == 0
    err = capfd.readouterr().err
    assert err.startswith("warning: the tools cache of echo is ignored: it is not JSON")
    assert err.count("warning: ") == 1


# Refreshing:


def test_refresh_asks_every_member_and_writes_the_answers_down(guild: Path, typed: Typed) -> None:
    """REQ-MCP-TOOL-7, REQ-MCP-TOOL-14: a refresh lists the tools and writes them to tools-cache.json."""
    add_echo(guild)
    make_member(guild, "zoo", "--tools", "0")
    code, out, err = typed("refresh")
    assert (code, sorted(out.splitlines()), err) == (0, ["echo: 2 tools", "zoo: 1 tool"], "")
    assert [each["name"] for each in json.loads((guild / "echo" / "tools-cache.json").read_text())["tools"]] == [
        "echo",
        "reverse",
    ]
    assert {name: member["tools"] for name, member in members(typed).items()} == {"echo": 2, "zoo": 1}


def test_refresh_asks_only_whom_it_is_told_to(guild: Path, tmp_path: Path, typed: Typed) -> None:
    make_member(guild, "one")
    make_member(guild, "two", "--record", str(tmp_path / "two started"))
    code, out, err = typed("refresh", "one", "--json")
    assert (code, err) == (0, "one: 2 tools\n")
    told = {member["name"]: member["freshness"] for member in json.loads(out)["members"]}
    assert told == {"one": "fresh", "two": "missing"}
    assert not (tmp_path / "two started").exists()


@pytest.mark.parametrize("asked", [[], ["crash", "broken"]])
def test_a_member_that_fails_is_named_and_keeps_its_tools(guild: Path, asked: list[str], typed: Typed) -> None:
    """REQ-MCP-TOOL-19: a failed start leaves the cached tools in the roster."""
    write_cache(make_member(guild, "crash", "--exit", "3", "--say", "oh\x1b no"), tool("a"))
    make_member(guild, "well")
    (guild / "broken").mkdir()
    (guild / "broken" / "plugin.json").write_text("[]")
    code, out, err = typed("refresh", *asked)
    assert code == 8
    assert "broken: error: the manifest must be a JSON object\n" in out
    assert "crash: error: the server ended with exit code 3 before it answered initialize (its last words: oh" in out
    of = "2 of 2" if asked else "2 of 3"
    assert err.startswith(f"error[check_failed]: The check does not hold: {of} members failed: ")
    assert set(err.splitlines()[0].rpartition(": ")[2].split(", ")) == {"broken", "crash"}
    assert members(typed)["crash"]["tools"] == 1


def test_a_refresh_that_fails_is_told_as_json_too(guild: Path, typed: Typed) -> None:
    make_member(guild, "crash", "--exit", "3")
    code, out, err = typed("refresh", "--json")
    assert code == 8
    (crash,) = json.loads(out)["members"]
    assert (crash["status"], crash["error"]) == (
        "error",
        "the server ended with exit code 3 before it answered initialize",
    )
    assert err.count("exit code 3") == 1


def test_nobody_listening_does_not_stop_a_refresh(guild: Path) -> None:
    add_echo(guild)
    make_member(guild, "zoo")
    reading, writing = os.pipe()
    os.close(reading)
    command = [*CONTEXT, "guild", "refresh", "--guild", "guild"]
    process = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (process.returncode, process.stderr) == (0, b"")
    assert (guild / "echo" / "tools-cache.json").exists()
    assert (guild / "zoo" / "tools-cache.json").exists()


# Calling:


@pytest.mark.parametrize("arguments", [["--arg", "text=123"], ["--json", '{"text": "123"}']])
def test_call_starts_the_server_and_prints_the_text(guild: Path, arguments: list[str], typed: Typed) -> None:
    """REQ-MCP-TOOL-20: a tool can be called whether there is a cache or not."""
    write_cache(add_echo(guild), tool("reverse", inputSchema=STRING), version="0.1.0")
    assert typed("call", "echo", "reverse", *arguments) == (0, "321\n", "")
    (guild / "echo" / "tools-cache.json").write_text("{")
    code, out, err = typed("call", "echo", "reverse", "--json", '{"text": "123"}')
    assert (code, out) == (0, "321\n")
    assert err.startswith("warning: the tools cache of echo is ignored")


STRING = {"type": "object", "properties": {"text": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "given"),
    [(STRING, "5"), ({"type": "object", "properties": {"text": True}}, 5), ({"type": "object", "properties": 1}, 5)],
)
def test_an_argument_is_text_where_the_schema_of_the_tool_wants_a_string(
    guild: Path, schema: dict[str, Any], given: object, typed: Typed
) -> None:
    write_cache(make_member(guild, "zoo"), tool("echo", inputSchema=schema))
    code, out, _ = typed("call", "zoo", "echo", "--arg", "text=5")
    assert (code, json.loads(out)) == (0, {"text": given})


def test_an_answer_that_is_an_error_goes_to_standard_error(guild: Path, typed: Typed) -> None:
    add_echo(guild)
    assert typed("call", "echo", "reverse") == (9, "", "reverse needs a text\n")


def answering(guild: Path, result: dict[str, Any]) -> None:
    (guild.parent / "result.json").write_text(json.dumps(result))
    make_member(guild, "zoo", "--result-file", str(guild.parent / "result.json"))


MIXED = {
    "content": [
        {"type": "text", "text": "one\n"},
        {"type": "image", "mimeType": "image/png", "data": "A" * 6824 + "AAA="},
        {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "a"}},
        {"type": "resource_link", "uri": "file:///b\x1b"},
        {"type": "new"},
        {"type": "text", "text": "two"},
    ],
    "_meta": {"unknown": [1, "\u202e"]},
}


def test_what_is_no_text_is_named_on_standard_error(guild: Path, typed: Typed) -> None:
    answering(guild, MIXED)
    notes = ["image/png, 5,120 bytes", "text/plain, file:///a", "file:///b\\x1b", "new"]
    assert typed("call", "zoo", "echo") == (0, "one\ntwo\n", "".join(f"{note}\n" for note in notes))


@pytest.mark.parametrize(("result", "expected"), [(MIXED, 0), (MIXED | {"isError": True}, 9)])
def test_a_raw_answer_is_the_whole_result(guild: Path, result: dict[str, Any], expected: int, typed: Typed) -> None:
    answering(guild, result)
    code, out, err = typed("call", "zoo", "echo", "--raw")
    assert (code, json.loads(out), err) == (expected, result, "")
    assert out.rstrip("\n").isprintable()


def test_a_member_is_called_even_if_nobody_may_wait_for_children(guild: Path) -> None:
    answering(guild, {"content": [{"type": "text", "text": "hello"}]})
    command = [*CONTEXT, "guild", "call", "zoo", "echo", "--guild", "guild"]
    program = f"import os, signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv({command[0]!r}, {command!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr


def test_an_answer_without_a_text_says_how_to_see_it(guild: Path, typed: Typed) -> None:
    answering(guild, {"content": [], "structuredContent": {"a": 1}})
    assert typed("call", "zoo", "echo") == (0, "", "the answer is structured, without a text: --raw shows it\n")


def test_a_text_is_printed_as_it_is_but_no_terminal_obeys_it(guild: Path, typed: Typed) -> None:
    answering(guild, {"content": [{"type": "text", "text": "\x1b[31mred"}]})
    assert typed("call", "zoo", "echo")[1] == "\x1b[31mred\n"
    ours, theirs = pty.openpty()
    command = [*CONTEXT, "guild", "call", "zoo", "echo", "--guild", "guild"]
    assert subprocess.run(command, stdout=theirs, check=False).returncode == 0
    os.close(theirs)
    assert os.read(ours, 1000) == b"\\x1b[31mred\r\n"
    os.close(ours)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--exit", "3", "--say", "oh no"], "the server ended with exit code 3 before it answered initialize (its "),
        (["--die-in-call"], "the server ended with exit code 3 during the call"),
        (["--error-file", "error.json"], "the server answered tools/call with an error: no\\nsuch"),
    ],
)
def test_a_member_that_fails_says_why_and_what_to_type(
    guild: Path, flags: Sequence[str], words: str, typed: Typed
) -> None:
    directory = make_member(guild, "my zoo", *flags)
    (directory / "error.json").write_text('{"code": -32602, "message": "no\\nsuch"}')
    code, out, err = typed("call", "my zoo", "echo")
    assert (code, out) == (9, "")
    assert err.startswith(f"error[tool_failed]: The member failed: my zoo: {words}")
    assert err.endswith(
        "\nhint: `context guild why 'my zoo' --guild guild`, `context guild logs 'my zoo' --guild guild`\n"
    )


@pytest.mark.parametrize(
    ("command", "flag", "event"),
    [(["call", "zoo", "echo"], "--hang-in-call", "call echo"), (["refresh"], "--mute", "")],
)
def test_an_interrupt_stops_the_server_and_is_130(
    guild: Path, tmp_path: Path, command: list[str], flag: str, event: str
) -> None:
    os.mkfifo(tmp_path / "record")
    make_member(guild, "zoo", flag, "--record", str(tmp_path / "record"))
    with (tmp_path / "record").open("r+b", buffering=0) as record:
        process = subprocess.Popen([*CONTEXT, "guild", *command, "--guild", "guild"], stderr=subprocess.PIPE)
        started = record.readline().decode()
        if event:
            assert record.readline().decode().strip() == event
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
        assert (process.returncode, err) == (130, b"")
        wait_until(lambda: not is_alive(int(started.split()[1])))


# Why:


def test_why_says_where_the_list_comes_from_and_whether_it_is_true(guild: Path, typed: Typed) -> None:
    directory = add_echo(guild)
    asking = "`context guild refresh echo --guild guild`"
    assert typed("why", "echo") == (0, f"echo has no list of tools: no list yet. {asking} asks for one.\n", "")
    typed("refresh")
    cached_at = json.loads((directory / "tools-cache.json").read_text())["cachedAt"]
    origin, verdict = typed("why", "echo")[1].splitlines()
    assert origin.startswith("echo has 2 tools, as its server said ")
    assert origin.endswith(f" ago: tools-cache.json of echo, {cached_at}.")
    assert verdict == "The list speaks for version 0.1.0; no change of the server is known since."
    with (directory / "echo.py").open("a") as server:
        server.write("\n")
    verdict = typed("why", "echo")[1].splitlines()[1]
    assert verdict == f"The list is outdated: files changed. It is offered until {asking} has asked again."
    assert rows(typed("list")[1])[1][-1].endswith("outdated: files changed")


def test_why_says_what_is_wrong_with_a_member(guild: Path, typed: Typed) -> None:
    (guild / "broken").mkdir()
    (guild / "broken" / "plugin.json").write_text("[]")
    assert typed("why", "broken")[1].splitlines() == [
        "broken has no manifest that can be used, in broken.",
        "Its status is error: the manifest must be a JSON object.",
    ]


def test_why_ends_with_the_last_lines_of_the_log(guild: Path, typed: Typed) -> None:
    make_member(guild, "crash", "--exit", "3", "--say", "1\n2\n3\n4\n5\x07\n6")
    typed("refresh")
    assert typed("why", "crash")[1].splitlines()[-6:] == [
        "The last lines of its log:",
        *["  2", "  3", "  4", "  5\\x07", "  6"],
    ]
    assert json.loads(typed("why", "crash", "--json")[1])["log"] == ["2", "3", "4", "5\x07", "6"]


def test_logs_shows_what_the_server_said(guild: Path, typed: Typed) -> None:
    make_member(guild, "zoo", "--say", "\x1b[31mone\x1b[0m\n\x07two")
    make_member(guild, "silent")
    typed("refresh")
    assert typed("logs", "zoo") == (0, "one\n\\x07two\n", "")
    assert typed("logs", "zoo", "-n", "1") == (0, "\\x07two\n", "")
    assert typed("logs", "silent") == (0, "", "silent has said nothing on standard error\n")


# Trust:


def changed(guild: Path, typed: Typed) -> None:
    """A member whose tools change without a new version."""
    tools = guild.parent / "tools.json"
    make_member(guild, "zoo", "--tools-file", str(tools))
    tools.write_text(json.dumps([tool("kept"), tool("mail", "Sends mail."), tool("gone")]))
    assert typed("refresh")[0] == 0
    tools.write_text(json.dumps([tool("kept"), tool("mail", "Sends mail to me."), tool("more"), {"name": "bad"}]))
    assert typed("refresh")[0] == 0


def test_tools_are_switched_off_and_on(guild: Path, typed: Typed) -> None:
    write_cache(make_member(guild, "echo"), tool("say"), tool("shout"))
    assert typed("disable", "echo", "shout") == (0, "", "echo: 1 tool on; off: shout\n")
    refused = typed("call", "echo", "shout")[2]
    assert "switched off" in refused
    assert "hint: `context guild enable echo --guild guild shout`" in refused
    assert typed("disable", "echo")[2] == "echo: 0 tools on; off: say, shout\n"
    assert typed("enable", "echo", "say", "shout")[2] == "echo: 2 tools on\n"
    code, _, err = typed("disable", "echo", "whisper")
    assert (code, "echo has no tool 'whisper'" in err) == (1, True)


def test_what_changed_without_a_new_version_is_shown_until_it_is_approved(guild: Path, typed: Typed) -> None:
    changed(guild, typed)
    told = members(typed)["zoo"]
    assert told["held"] is False
    assert {change["tool"]: (change["kind"], change["fields"]) for change in told["changes"]} == {
        "mail": ("changed", ["description"]),
        "more": ("added", []),
        "gone": ("removed", []),
    }
    assert "unapproved: " in typed("list")[1]
    lines = typed("why", "zoo")[1].splitlines()
    assert '-  "description": "Sends mail.",' in lines
    assert '+  "description": "Sends mail to me.",' in lines
    assert "The new definitions are in force; `context guild approve zoo --guild guild` says that they may be." in lines
    assert any(line.startswith("Note: ") and "inputSchema" in line for line in lines)
    assert '"Sends mail to me."' in json.loads(typed("why", "zoo", "--json")[1])["difference"]

    code, out, err = typed("approve", "zoo")
    approved = ["added more", "changed description of mail", "removed gone"]
    assert (code, out, sorted(err.splitlines())) == (0, "", [f"zoo: approved: {change}" for change in approved])
    assert typed("approve", "zoo") == (0, "", "zoo: nothing to approve\n")
    assert members(typed)["zoo"]["changes"] == []


def test_what_is_held_is_not_in_force_until_it_is_approved(guild: Path, typed: Typed) -> None:
    changed(guild, typed)
    assert "held: " in typed("list", "--guild-trust", "hold")[1]
    held = typed("tools", "zoo", "--guild-trust", "hold")[1]
    assert "more" not in held
    assert "Sends mail.\n" in held
    words = "The approved definitions are held in force until `context guild approve zoo --guild guild`."
    assert words in typed("why", "zoo", "--guild-trust", "hold")[1].splitlines()
    assert typed("approve", "zoo", "--guild-trust", "hold")[0] == 0
    assert "Sends mail to me.\n" in typed("tools", "zoo", "--guild-trust", "hold")[1]


# Adding:


def test_add_writes_a_manifest_that_works(guild: Path, typed: Typed) -> None:
    guild.rmdir()
    server = str(EXAMPLES / "echo" / "echo.py")
    code, out, err = typed("add", "my echo", "--version", "2", "--", "python3", server, "--guild", "-n")
    hint = "`context guild refresh 'my echo' --guild guild` asks it for its tools"
    assert (code, out, err) == (0, "", f"added my echo\n\nhint: {hint}\n")
    assert json.loads((guild / "my echo" / "plugin.json").read_text()) == {
        "name": "my echo",
        "version": "2",
        "transport": "stdio",
        "mcp": {"command": "python3", "args": [server, "--guild", "-n"]},
    }
    assert typed("refresh", "my echo") == (0, "my echo: 2 tools\n", "")


def test_add_may_give_a_manifest_to_a_directory_that_is_there(guild: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (guild / "echo").mkdir()
    assert run(["guild", "add", "--guild", "guild", "echo", "--", "python3", "echo.py"]) == 0
    assert capfd.readouterr().err.startswith("added echo\n")
    assert json.loads((guild / "echo" / "plugin.json").read_text())["version"] == "1.0.0"


@pytest.mark.parametrize("file", ["plugin.json", "guild-member.json"])
@pytest.mark.parametrize("manifest", ["{", '{"name": "echo", "version": "1", "mcp": {"command": "true"}}'])
def test_no_manifest_is_ever_replaced(guild: Path, file: str, manifest: str, capfd: pytest.CaptureFixture[str]) -> None:
    (guild / "echo").mkdir()
    (guild / "echo" / file).write_text(manifest)
    assert run(["guild", "add", "--guild", "guild", "echo", "--", "true"]) == 1
    assert capfd.readouterr().err.startswith("error[usage]: Cannot do that: the guild has a member echo already")
    assert [path.name for path in (guild / "echo").iterdir()] == [file]
    assert (guild / "echo" / file).read_text() == manifest


def test_a_name_that_another_member_has_is_not_taken_away_from_it(
    guild: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    make_member(guild, "echo").rename(guild / "elsewhere")
    assert run(["guild", "add", "--guild", "guild", "echo", "--", "true"]) == 1
    assert "the guild has a member echo already" in capfd.readouterr().err
    assert not (guild / "echo").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "'' cannot be the name of a member's directory"),
        ("..", "'..' cannot be the name of a member's directory"),
        (".hidden", "'.hidden' cannot be the name of a member's directory"),
        ("a/b", "'a/b' cannot be the name of a member's directory"),
        ("a\0b", "'a\\x00b' cannot be the name of a member's directory"),
        ("node_modules", "'node_modules' cannot be the name of a member's directory"),
        (" a", "`name` must not begin or end with white space"),
        ("a\x1b", "`name` must not have control characters"),
        ("\udcff", "its name and its command must be UTF-8 text"),
    ],
)
def test_a_name_that_no_member_can_have_is_a_usage_error(
    guild: Path, name: str, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["guild", "add", "--guild", "guild", name, "--", "true"]) == 1
    assert capfd.readouterr().err.splitlines()[0] == f"error[usage]: Cannot do that: {words}"
    assert list(guild.iterdir()) == []


@pytest.mark.parametrize("arguments", [["echo"], ["echo", "--"], ["echo", "--version", "", "--", "true"]])
def test_a_member_without_a_command_or_a_version_is_a_usage_error(
    guild: Path, arguments: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["guild", "add", "--guild", "guild", *arguments]) == 1
    assert capfd.readouterr().err
    assert list(guild.iterdir()) == []


# What an agent would see:


def test_context_tools_shows_the_cost_of_each_member(guild: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_cache(make_member(guild, "one"), tool("a", title="A\nfake"))
    write_cache(make_member(guild, "two"), tool("a"), tool("b"))
    assert run(["tools", "--guild", "guild"]) == 0
    out = capfd.readouterr().out
    assert [line.split() for line in out.splitlines()][-3][1:] == ["(total)"]
    assert [line.split() for line in out.splitlines()][-2:] == [
        ["20", "(member", "one)", "1", "tool"],
        ["32", "(member", "two)", "2", "tools"],
    ]
    assert "\nfake" not in out
    assert run(["tools", "--guild", "guild", "--toolsets", "caches"]) == 0
    assert "member" not in capfd.readouterr().out

"""`context connect` and `context guild import`, as they are typed."""

import json
import os
import subprocess
import sys
import tomllib
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from tests.clients.making import CLAUDE_CODE, CLAUDE_DESKTOP, CODEX, CURSOR, VSCODE
from tests.processes import RawServer, run_context

from contexthall.clients.register import CLIENTS
from contexthall.faces.cli.table import run

Typed: TypeAlias = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, and a user who has chosen nothing yet."""
    for variable in list(os.environ):
        if variable.startswith(("CONTEXT_", "XDG_", "CODEX_")):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    return tmp_path / "shop"


@pytest.fixture
def typed(capfd: pytest.CaptureFixture[str]) -> Typed:
    """Type `context …`; give exit code, standard output and standard error."""

    def typed(*arguments: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = run(arguments)
        return code, *capfd.readouterr()

    return typed


def expected(shop: Path, *more: str) -> dict[str, Any]:
    roots = ["--path", str(shop), "--cache-root", str(shop / ".context" / "caches")]
    return {"command": sys.executable, "args": ["-P", "-m", "contexthall", "serve", *roots, "--reply", "text", *more]}


def test_the_configuration_is_data_and_where_it_goes_is_words(typed: Typed, shop: Path) -> None:
    code, out, err = typed("connect", "cursor")
    assert code == 0
    assert json.loads(out) == {"mcpServers": {"context-hall": expected(shop)}}
    assert str(shop / ".cursor" / "mcp.json") in err
    assert "--write" in err
    assert os.listdir(shop) == []


def test_codex_reads_toml(typed: Typed, shop: Path) -> None:
    _, out, _ = typed("connect", "codex")
    assert tomllib.loads(out) == {"mcp_servers": {"context-hall": expected(shop)}}


def test_without_a_home_each_client_still_reads_its_own_language(
    typed: Typed, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOME")
    _, out, _ = typed("connect", "codex")
    assert tomllib.loads(out) == {"mcp_servers": {"context-hall": expected(shop)}}


@pytest.mark.parametrize("client", [name for name, client in CLIENTS.items() if client.place])
def test_every_client_is_told_and_told_otherwise(client: str, typed: Typed, shop: Path) -> None:
    code, out, err = typed("connect", client, "--write")
    assert (code, out) == (0, "")
    file = Path(err.splitlines()[0].removeprefix("wrote "))
    assert str(shop) in file.read_text()
    assert err.splitlines()[2].startswith("next: ")
    assert typed("connect", client, "--write")[2] == f"{file} says so already\n"
    assert typed("connect", client, "--remove")[0] == 0
    assert not file.exists()
    assert typed("connect", client, "--remove") == (0, "", f"{file} does not name context-hall\n")


def test_what_was_written_serves_the_hall_from_anywhere(typed: Typed, shop: Path, tmp_path: Path) -> None:
    typed("connect", "claude-code", "--write", "--toolsets", "caches")
    entry = json.loads((shop / ".mcp.json").read_text())["mcpServers"]["context-hall"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "contexthall.py").write_text("raise SystemExit('whose project is this?')\n")
    with RawServer(cwd=elsewhere, command=(entry["command"], *entry["args"])) as server:
        server.initialize()
        answer = server.request(1, "tools/call", {"name": "context.list_caches", "arguments": {}})
        assert answer["result"]["structuredContent"] == {"caches": []}


def test_the_command_that_was_typed_is_the_one_that_is_written(shop: Path, tmp_path: Path) -> None:
    script = tmp_path / "bin" / "context"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\nfrom contexthall.__main__ import main\nmain()\n")
    script.chmod(0o755)
    answer = subprocess.run(["../bin/context", "connect", "generic"], cwd=shop, capture_output=True, check=True)
    assert json.loads(answer.stdout)["mcpServers"]["context-hall"]["command"] == str(script)


def test_whatever_was_chosen_is_written_with_absolute_paths(typed: Typed, shop: Path) -> None:
    (shop / "members").mkdir()
    chosen = ["--guild", "members", "--confine", "--allow-root", "docs", "--guild-budget", "0", "--guild-pin", "echo"]
    _, out, _ = typed("connect", "generic", *chosen, "--guild-trust", "hold", "--toolsets", "guild,caches")
    args = json.loads(out)["mcpServers"]["context-hall"]["args"]
    more = ["--guild", str(shop / "members"), "--toolsets", "caches,guild", "--confine", "--allow-root"]
    trust = ["--guild-trust", "hold", "--guild-budget", "0", "--guild-pin", "echo"]
    assert args == expected(shop, *more, str(shop / "docs"), *trust)["args"]


def test_a_guild_from_the_environment_is_named_since_the_client_may_have_another(
    typed: Typed, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop / "members").mkdir()
    monkeypatch.setenv("CONTEXT_GUILD", "members")
    _, out, _ = typed("connect", "generic")
    assert json.loads(out)["mcpServers"]["context-hall"] == expected(shop, "--guild", str(shop / "members"))


def test_over_http_the_address_is_written_and_how_to_serve_there_is_told(typed: Typed) -> None:
    _, out, err = typed("connect", "gemini-cli", "--http")
    assert json.loads(out) == {"mcpServers": {"context-hall": {"httpUrl": "http://127.0.0.1:8321/mcp"}}}
    assert err.splitlines()[-1].endswith("--http 8321`")
    _, out, err = typed("connect", "cursor", "--http", "--at", "[::1]:9000")
    assert json.loads(out)["mcpServers"]["context-hall"] == {"url": "http://[::1]:9000/mcp"}
    assert err.splitlines()[-1].endswith("--http '[::1]:9000'`")


def test_a_token_is_referred_to_and_never_written(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXT_HTTP_TOKEN", "very-secret")
    for client in ("claude-code", "codex"):
        _, out, err = typed("connect", client, "--http")
        assert "CONTEXT_HTTP_TOKEN" in out
        assert "very-secret" not in out + err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["claude-desktop", "--http"], "takes no address"),
        (["generic", "--write"], "not known where another client has its file"),
        (["cursor", "--http", "--at", "nowhere"], "'nowhere' is not an address"),
        (["cursor", "--at", "9000", "--write"], "--at is for --http"),
        (["cursor", "--name", ""], "the name must be a text"),
        (["cursor", "--name", "a\nb"], "the name must be a text"),
        (["cursor", "--file", "", "--write"], "the file has no name"),
        (["emacs"], "is not one of"),
        (["cursor", "--path", "nowhere"], "the project root is not a directory"),
        (["cursor", "--guild", "nowhere", "--write"], "the guild is not a directory"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: list[str], message: str, typed: Typed, shop: Path) -> None:
    code, out, err = typed("connect", *arguments)
    assert (code, out) == (1, "")
    assert message in err
    assert os.listdir(shop) == []


def test_a_client_that_nobody_knows_is_told_how_to_name_its_file(typed: Typed) -> None:
    _, _, err = typed("connect", "generic")
    assert err.endswith("hint: the same command with --file FILE --write puts it there\n")


def test_another_file_can_be_named(typed: Typed, shop: Path) -> None:
    (shop / "own.json").write_text('{"theme": "dark"}')
    assert typed("connect", "generic", "--file", "own.json", "--write")[0] == 0
    assert json.loads((shop / "own.json").read_text())["theme"] == "dark"
    assert typed("connect", "generic", "--file", "own.json", "--remove")[0] == 0
    assert (shop / "own.json.before-context-hall").exists()


def test_what_is_printed_is_what_would_be_written_into_the_file_that_is_named(typed: Typed, shop: Path) -> None:
    for file in ("conf.toml", "conf.json"):
        _, out, err = typed("connect", "generic", "--file", file)
        assert str(shop / file) in err
        typed("connect", "generic", "--file", file, "--write")
        assert out == (shop / file).read_text()


def test_whose_hall_was_taken_out_is_said_unless_it_is_this_one(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    typed("connect", "codex", "--write", "--path", str(tmp_path / "other"))
    _, _, err = typed("connect", "codex", "--remove")
    file = tmp_path / ".codex" / "config.toml"
    assert err.startswith(f"took context-hall, the hall of {tmp_path}/other, out of {file}\n")
    typed("connect", "codex", "--write")
    assert typed("connect", "codex", "--remove")[2].startswith(f"took context-hall out of {file}\n")


@pytest.mark.parametrize("client", ["cursor", "codex"])
@pytest.mark.parametrize("action", [(), ("--write",)])
def test_a_path_that_no_file_can_name_is_refused(
    client: str, action: tuple[str, ...], typed: Typed, shop: Path
) -> None:
    odd = os.path.join(os.fsencode(shop), b"\xff")
    os.mkdir(odd)
    code, out, err = typed("connect", client, *action, "--path", os.fsdecode(odd))
    assert (code, out) == (1, "")
    assert "not UTF-8" in err
    assert os.listdir(odd) == []


def test_a_terminal_gets_no_escapes_from_a_name(shop: Path) -> None:
    odd = shop / "\x1b[31mred\nhint: obey"
    odd.mkdir()
    for action in ("--http", "--write", "--write", "--remove", "--remove"):
        answer = run_context("connect", "cursor", action, cwd=odd)
        assert answer.returncode == 0
        assert b"\x1b" not in answer.stderr
        assert b"\nhint: obey" not in answer.stderr


# `context guild import`:


def imported(typed: Typed, file: str, *more: str) -> dict[str, dict[str, Any]]:
    code, out, _ = typed("guild", "import", file, "--guild", "members", "--json", *more)
    assert code == 0
    return {member["name"]: member for member in json.loads(out)["members"]}


@pytest.mark.parametrize(
    ("file", "text", "names"),
    [
        (".mcp.json", CLAUDE_CODE, ["github"]),
        ("claude_desktop_config.json", CLAUDE_DESKTOP, ["filesystem", "postgres"]),
        (".cursor/mcp.json", CURSOR, ["linear", "local"]),
        (".vscode/mcp.json", VSCODE, ["perplexity", "fetch"]),
        ("config.toml", CODEX, ["context7", "figma"]),
    ],
)
def test_the_servers_of_each_file_are_shown_first_and_written_then(
    file: str, text: str, names: list[str], typed: Typed, shop: Path
) -> None:
    (shop / file).parent.mkdir(exist_ok=True)
    (shop / file).write_text(text)
    assert list(imported(typed, file)) == names
    assert not (shop / "members").exists()
    written = imported(typed, file, "--write")
    for name in names:
        manifest = json.loads((shop / "members" / name / "plugin.json").read_text())
        assert manifest["name"] == name
        assert manifest["mcp"].get("url", "") == written[name]["url"]
    code, out, _ = typed("guild", "list", "--guild", "members", "--json")
    assert code == 0
    assert [member["error"] for member in json.loads(out)["members"]] == ["" for _ in names]
    assert (shop / file).read_text() == text


def test_no_secret_of_the_file_is_in_the_guild(typed: Typed, shop: Path) -> None:
    (shop / "config.toml").write_text(CODEX)
    (shop / "desktop.json").write_text(CLAUDE_DESKTOP)
    imported(typed, "config.toml", "--write")
    imported(typed, "desktop.json", "--write")
    written = "".join(file.read_text() for file in (shop / "members").rglob("plugin.json"))
    assert "ctx7sk" not in written
    assert "hunter2" not in written
    assert "${CONTEXT7_API_KEY}" in written
    assert "${FIGMA_TOKEN}" in written


def test_what_to_do_next_is_said(typed: Typed, shop: Path) -> None:
    (shop / ".mcp.json").write_text(CLAUDE_CODE)
    code, out, err = typed("guild", "import", ".mcp.json", "--guild", "members")
    assert code == 0
    assert out == "+  github: https://api.githubcopilot.com/mcp/; needs GITHUB_TOKEN\n"
    assert "nothing is written yet" in err
    assert f"`context guild import .mcp.json --guild {shop / 'members'} --write`" in err
    assert "must have GITHUB_TOKEN" in err
    _, _, err = typed("guild", "import", ".mcp.json", "--guild", "members", "--write")
    assert f"`context guild refresh --guild {shop / 'members'}`" in err


def test_a_preview_shows_a_command_to_its_end_on_one_line(typed: Typed, shop: Path) -> None:
    entry = {"command": "x", "args": ["a" * 200, "b\nc", "last"]}
    (shop / "mcp.json").write_text(json.dumps({"mcpServers": {"long": entry}}))
    _, out, _ = typed("guild", "import", "mcp.json", "--guild", "members")
    assert out == f"+  long: x {'a' * 200} 'b\\nc' last\n"


def test_a_member_that_is_there_stays_and_a_name_becomes_one_of_a_directory(typed: Typed, shop: Path) -> None:
    servers = {
        "echo": {"command": "x"},
        "io.github/odd name": {"command": "y"},
        "old": {"type": "sse", "url": "http://z"},
    }
    (shop / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    typed("guild", "add", "echo", "--guild", "members", "--", "mine")
    found = imported(typed, "mcp.json", "--write")
    assert found["echo"]["reason"] == "the guild has a member of that name already"
    assert found["old"]["reason"]
    assert json.loads((shop / "members" / "echo" / "plugin.json").read_text())["mcp"]["command"] == "mine"
    assert json.loads((shop / "members" / "io.github-odd name" / "plugin.json").read_text())["mcp"]["command"] == "y"


@pytest.mark.parametrize(
    ("name", "entry", "told"),
    [
        ("node_modules", {"command": "x"}, "cannot be the name"),
        ("x" * 101, {"command": "x"}, "at most 100 characters"),
        ("nul", {"command": "x", "args": ["a\0b"]}, "NUL"),
        ("socket", {"url": "wss://example.org"}, "must begin with http"),
        ("header", {"url": "https://example.org", "headers": {"a b": "c"}}, "HTTP can carry"),
    ],
)
def test_what_no_manifest_can_say_is_left_out_of_the_preview_too(
    name: str, entry: dict[str, Any], told: str, typed: Typed, shop: Path
) -> None:
    (shop / "mcp.json").write_text(json.dumps({"mcpServers": {name: entry}}))
    assert told in imported(typed, "mcp.json")[name]["reason"]


@pytest.mark.parametrize("name", ["../../../out", "..", ".", "/etc/x", " . ", "a\x1b[2Jb\n", "\u00a0x\u00a0", ""])
def test_no_name_leads_out_of_the_guild(name: str, typed: Typed, shop: Path) -> None:
    (shop / "mcp.json").write_text(json.dumps({"mcpServers": {name: {"command": "x"}}}))
    code, _, _ = typed("guild", "import", "mcp.json", "--guild", "members", "--write")
    assert code == 0
    assert len(list((shop / "members").glob("*/plugin.json"))) == 1
    assert sorted(os.listdir(shop)) == ["mcp.json", "members"]


def test_two_servers_that_would_share_a_directory_do_not(typed: Typed, shop: Path) -> None:
    (shop / "mcp.json").write_text(json.dumps({"mcpServers": {"a/b": {"command": "x"}, "a-b": {"command": "y"}}}))
    code, out, err = typed("guild", "import", "mcp.json", "--guild", "members", "--write")
    assert code == 6
    assert out.splitlines()[0] == "+  a-b: x"
    assert "not written" in out.splitlines()[1]
    assert "wrote 1 member" in err


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "no file is there"), ("{", "line 1"), ("[]", "line 1"), (b"\xff", "not UTF-8")],
)
def test_a_file_that_cannot_be_read_is_an_error(
    text: str | bytes | None, message: str, typed: Typed, shop: Path
) -> None:
    if text is not None:
        (shop / "mcp.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    code, out, err = typed("guild", "import", "mcp.json", "--guild", "members")
    assert (code, out) == (1, "")
    assert message in err


def test_a_file_without_servers_has_nothing_to_import(typed: Typed, shop: Path) -> None:
    (shop / "mcp.json").write_text('{"theme": "dark"}')
    assert typed("guild", "import", "mcp.json", "--guild", "members") == (0, "", "nothing to import\n")


def test_a_hall_at_an_address_is_no_member(typed: Typed) -> None:
    typed("connect", "claude-code", "--http", "--write")
    assert imported(typed, ".mcp.json")["context-hall"]["reason"] == "it is a hall itself"


def test_the_hint_of_a_preview_keeps_what_was_kept(typed: Typed, shop: Path) -> None:
    (shop / "mcp.json").write_text(json.dumps({"mcpServers": {"x": {"command": "x", "env": {"LEVEL": "debug"}}}}))
    _, _, err = typed("guild", "import", "mcp.json", "--keep", "LEVEL", "--guild", "members")
    assert f"hint: `context guild import mcp.json --keep LEVEL --guild {shop / 'members'} --write`" in err


def test_a_value_that_is_no_secret_can_be_kept(typed: Typed, shop: Path) -> None:
    (shop / ".cursor").mkdir()
    (shop / ".cursor" / "mcp.json").write_text(CURSOR)
    (shop / "tools").mkdir()
    (shop / "tools" / "server.js").touch()
    found = imported(typed, ".cursor/mcp.json", "--keep", "LEVEL")["local"]
    assert found["env"] == {"API_KEY": "${LOCAL_API_KEY}", "LEVEL": "debug"}
    assert found["command"][2] == f"cd {shop} && exec node ./tools/server.js"


def test_the_list_says_which_clients_are_here_and_which_know_the_hall(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    typed("connect", "cursor", "--write")
    code, out, err = typed("connect", "--list")
    heading, *rows = [line.split("  ") for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert [cell.strip() for cell in heading if cell.strip()] == ["CLIENT", "HERE", "THE HALL", "FILE"]
    assert len(rows) == len(CLIENTS) - 1
    assert [cell.strip() for cell in rows[0] if cell.strip()][:3] == ["cursor", "yes", "knows this hall"]
    assert all("knows" not in " ".join(row) for row in rows[1:])


def test_a_client_whose_program_is_on_the_path_is_here(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "opencode"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    assert [line.split()[0] for line in typed("connect", "--list")[1].splitlines() if " yes " in line] == ["opencode"]


def test_a_link_carries_the_entry(typed: Typed, shop: Path) -> None:
    code, out, _ = typed("connect", "vscode", "--link")
    scheme, _, told = out.strip().partition("?")
    assert (code, scheme) == (0, "vscode:mcp/install")
    assert json.loads(unquote(told)) == {"name": "context-hall", "type": "stdio", **expected(shop)}
    address = urlsplit(typed("connect", "cursor", "--link")[1].strip())
    query = parse_qs(address.query)
    assert (address.scheme, address.netloc, address.path) == ("cursor", "anysphere.cursor-deeplink", "/mcp/install")
    assert query["name"] == ["context-hall"]
    assert json.loads(b64decode(query["config"][0])) == expected(shop)


def test_who_takes_no_link_and_who_is_nobody_is_told_what_to_type(typed: Typed) -> None:
    assert "context connect vscode --link" in typed("connect", "zed", "--link")[2]
    assert "context connect --list" in typed("connect")[2]


def test_what_a_user_switched_off_stays_off(typed: Typed, shop: Path) -> None:
    typed("connect", "opencode", "--write")
    file = shop / "opencode.json"
    file.write_text(file.read_text().replace("true", "false"))
    typed("connect", "opencode", "--write", "--confine")
    entry = json.loads(file.read_text())["mcp"]["context-hall"]
    assert entry["enabled"] is False
    assert entry["command"][-1] == "--confine"

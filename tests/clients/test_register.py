"""The hall is written into real-looking files of every client, and nothing else in them changes."""

import json
import os
import tomllib
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.clients.making import CODEX, CURSOR, FILES, of, reach_in, register_in, write_file

from contexthall.clients import jsonc, toml_text
from contexthall.clients.config_file import BACKUP_SUFFIX
from contexthall.clients.register import CLIENTS, Client, Reach, Register
from contexthall.core import limits
from contexthall.core.errors import UsageError
from contexthall.system.disk import Disk, Seen

WITH_FILES = [pytest.param(CLIENTS[name], text, id=name) for name, text in FILES.items()]


def servers(client: Client, text: str) -> dict[str, Any]:
    values = tomllib.loads(text) if client.name == "codex" else jsonc.parse(text)
    for key in client.keys:
        values = values[key]
    return values


def backup_of(file: Path) -> Path:
    return file.with_name(file.name + BACKUP_SUFFIX)


@pytest.mark.parametrize(("client", "text"), WITH_FILES)
def test_the_hall_is_added_and_everything_else_stays(client: Client, text: str, tmp_path: Path) -> None:
    file = write_file(tmp_path, client, text)
    change = register_in(tmp_path).connect(client, reach_in(tmp_path))
    assert (change.file, change.is_needed, change.backup) == (str(file), True, str(backup_of(file)))
    after = file.read_bytes().decode()
    assert servers(client, after) == {**servers(client, text), "context-hall": client.entry(reach_in(tmp_path))}
    assert backup_of(file).read_bytes() == text.encode()


@pytest.mark.parametrize(("client", "text"), WITH_FILES)
def test_what_was_written_is_taken_out_again_to_the_byte(client: Client, text: str, tmp_path: Path) -> None:
    file, register = write_file(tmp_path, client, text), register_in(tmp_path)
    register.connect(client, reach_in(tmp_path))
    change = register.disconnect(client)
    assert file.read_bytes() == text.encode()
    assert change.is_needed
    assert not register.disconnect(client).is_needed


@pytest.mark.parametrize("client", [client for client in CLIENTS.values() if client.place], ids=lambda each: each.name)
def test_a_missing_file_is_made_with_its_directory_and_goes_again(client: Client, tmp_path: Path) -> None:
    register = register_in(tmp_path)
    change = register.connect(client, reach_in(tmp_path))
    file = Path(change.file)
    assert servers(client, file.read_text()) == {"context-hall": client.entry(reach_in(tmp_path))}
    assert change.backup == ""
    assert register.snippet(client, reach_in(tmp_path)) == file.read_text()
    assert register.disconnect(client).is_needed
    assert os.listdir(file.parent) == []


def identity_of(file: Path) -> tuple[int, ...]:
    """What writing changes; reading may change the time of the last access."""
    found = file.stat()
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns


@pytest.mark.parametrize(("client", "text"), WITH_FILES)
def test_nothing_is_written_where_the_hall_is_known(client: Client, text: str, tmp_path: Path) -> None:
    file, register = write_file(tmp_path, client, text), register_in(tmp_path)
    register.connect(client, reach_in(tmp_path))
    backup_of(file).unlink()
    before = identity_of(file)
    assert not register.connect(client, reach_in(tmp_path)).is_needed
    assert identity_of(file) == before
    assert not backup_of(file).exists()


@pytest.mark.parametrize(("client", "text"), WITH_FILES)
def test_the_hall_is_written_anew_in_its_place(client: Client, text: str, tmp_path: Path) -> None:
    file, register = write_file(tmp_path, client, text), register_in(tmp_path)
    register.connect(client, reach_in(tmp_path))
    wider = Reach("/bin/sh", (*reach_in(tmp_path).args, "--guild", "/g"))
    register.connect(client, wider)
    after = file.read_text()
    assert servers(client, after)["context-hall"] == client.entry(wider)
    assert list(servers(client, after)) == [*servers(client, text), "context-hall"]


def test_the_backup_is_of_the_time_before_the_hall_was_in_the_file(tmp_path: Path) -> None:
    file, register = write_file(tmp_path, of("codex"), CODEX), register_in(tmp_path)
    register.connect(of("codex"), reach_in(tmp_path))
    register.connect(of("codex"), Reach(url="http://127.0.0.1:8321/mcp"))
    register.disconnect(of("codex"))
    assert backup_of(file).read_text() == CODEX
    backup_of(file).unlink()
    file.write_text(CODEX + "# more\n")
    register.connect(of("codex"), reach_in(tmp_path))
    assert backup_of(file).read_text() == CODEX + "# more\n"


@pytest.mark.parametrize("name", ["codex", "gemini-cli"])
def test_what_somebody_put_into_the_entry_of_the_hall_stays_in_it(name: str, tmp_path: Path) -> None:
    client, register = of(name), register_in(tmp_path)
    own = {"timeout": 1.5, "trust": True, "env_vars": ["GITHUB_TOKEN"], "env": {"LEVEL": "debug", "a b": "c"}}
    language = toml_text if name == "codex" else jsonc
    entry = {"disabled": False, **client.entry(reach_in(tmp_path)), **own}
    file = write_file(tmp_path, client, language.with_member(FILES[name], client.keys, "context-hall", entry))
    assert not register.connect(client, reach_in(tmp_path)).is_needed
    wider = Reach("/bin/sh", (*reach_in(tmp_path).args, "--guild", "/g"))
    register.connect(client, wider)
    after = servers(client, file.read_text())["context-hall"]
    assert after == {**client.entry(wider), "disabled": False, **own}
    assert list(after) == [*client.entry(wider), "disabled", *own]
    assert not register.connect(client, wider).is_needed
    register.disconnect(client)
    assert file.read_text() == FILES[name]


def test_what_only_a_command_can_have_goes_with_the_command(tmp_path: Path) -> None:
    """Codex reads no file in which an address has an environment, nor one in which a command has headers."""
    client, register = of("codex"), register_in(tmp_path)
    register.connect(client, reach_in(tmp_path))
    file = Path(register.place(client))
    file.write_text(file.read_text() + 'enabled = false\nenv_vars = ["A"]\n[mcp_servers.context-hall.env]\nB = "c"\n')
    served = Reach(url="http://127.0.0.1:8321/mcp")
    register.connect(client, served)
    assert servers(client, file.read_text())["context-hall"] == {**client.entry(served), "enabled": False}
    file.write_text(file.read_text() + '[mcp_servers.context-hall.http_headers]\nB = "c"\n')
    assert not register.connect(client, served).is_needed
    register.connect(client, reach_in(tmp_path))
    entry = client.entry(reach_in(tmp_path))
    assert servers(client, file.read_text())["context-hall"] == {**entry, "enabled": False}


def test_forgetting_makes_nothing(tmp_path: Path) -> None:
    assert not register_in(tmp_path).disconnect(of("cursor")).is_needed
    assert os.listdir(tmp_path / "shop") == []


@pytest.mark.parametrize(
    ("name", "broken", "where"),
    [
        ("claude-code", '{"mcpServers": {"a": {"command": "x"}', "line 1"),
        ("cursor", '{\n  "mcpServers": {\n    "a" {}\n  }\n}', "line 3"),
        ("claude-desktop", "{'mcpServers': {}}", "line 1"),
        ("vscode", '{"servers": []}', "servers"),
        ("vscode", '{"servers": {}, "servers": {}}', "servers"),
        ("gemini-cli", "[]", "line 1"),
        ("windsurf", "\0", "line 1"),
        ("codex", '[mcp_servers.a\ncommand = "x"\n', "line 1"),
        ("codex", "mcp_servers = 3\n", "mcp_servers"),
    ],
)
def test_a_broken_file_is_refused_and_untouched(name: str, broken: str, where: str, tmp_path: Path) -> None:
    file = write_file(tmp_path, of(name), broken)
    with pytest.raises(UsageError) as caught:
        register_in(tmp_path).connect(of(name), reach_in(tmp_path))
    assert str(file) in caught.value.detail
    assert where in caught.value.detail
    assert "left as it is" in caught.value.hint
    with suppress(UsageError):
        register_in(tmp_path).disconnect(of(name))
    assert file.read_bytes() == broken.encode()
    assert not backup_of(file).exists()


def test_a_file_that_is_not_utf_8_or_too_large_is_refused(tmp_path: Path) -> None:
    file = write_file(tmp_path, of("cursor"), "{}")
    file.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(UsageError, match="not UTF-8"):
        register_in(tmp_path).connect(of("cursor"), reach_in(tmp_path))
    file.write_bytes(b" " * (limits.CLIENT_FILE_BYTES + 1))
    with pytest.raises(UsageError, match="larger than 8 MiB"):
        register_in(tmp_path).connect(of("cursor"), reach_in(tmp_path))


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("cursor", f"[{'1,' * 200_000}1]", "more than 100,000 values"),
        ("codex", "[a]\n" * 20_001, "more than 20,000 lines"),
    ],
)
def test_a_file_that_nobody_can_have_written_is_not_even_read(name: str, text: str, why: str, tmp_path: Path) -> None:
    write_file(tmp_path, of(name), text)
    with pytest.raises(UsageError, match=why):
        register_in(tmp_path).connect(of(name), reach_in(tmp_path))
    assert states(tmp_path)[name][0] == "broken"


@pytest.mark.parametrize("text", ["", "\n", "{}", "\ufeff{}", "// nothing yet\n{}\n"])
def test_an_empty_file_gets_the_hall(text: str, tmp_path: Path) -> None:
    file = write_file(tmp_path, of("cursor"), text)
    register_in(tmp_path).connect(of("cursor"), reach_in(tmp_path))
    after = file.read_text()
    assert list(jsonc.parse(after)["mcpServers"]) == ["context-hall"]
    assert after.startswith("\ufeff") == text.startswith("\ufeff")


def test_line_ends_stay_what_they_are(tmp_path: Path) -> None:
    for name, text in (("cursor", CURSOR), ("codex", CODEX)):
        file = write_file(tmp_path, of(name), text.replace("\n", "\r\n"))
        register_in(tmp_path).connect(of(name), reach_in(tmp_path))
        assert file.read_bytes().count(b"\n") == file.read_bytes().count(b"\r\n")


def test_of_a_file_that_already_has_the_hall_a_copy_is_kept_if_there_is_none_yet(tmp_path: Path) -> None:
    """Somebody has put the hall there by hand, or removed the copy."""
    register, client = register_in(tmp_path), of("codex")
    file = write_file(tmp_path, client, CODEX)
    register.connect(client, reach_in(tmp_path))
    backup_of(file).unlink()
    before = file.read_bytes()
    change = register.connect(client, Reach("/bin/cat", reach_in(tmp_path).args))
    assert (change.is_needed, change.backup) == (True, str(backup_of(file)))
    assert backup_of(file).read_bytes() == before
    register.connect(client, reach_in(tmp_path))
    assert backup_of(file).read_bytes() == before


def test_the_file_keeps_its_permissions_and_so_does_the_backup(tmp_path: Path) -> None:
    file = write_file(tmp_path, of("codex"), CODEX)
    file.chmod(0o600)
    register_in(tmp_path).connect(of("codex"), reach_in(tmp_path))
    assert file.stat().st_mode & 0o777 == 0o600
    assert backup_of(file).stat().st_mode & 0o777 == 0o600


def test_the_user_s_own_file_may_be_a_symlink(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "codex.toml").write_text(CODEX)
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").symlink_to("../dotfiles/codex.toml")
    register_in(tmp_path).connect(of("codex"), reach_in(tmp_path))
    assert (tmp_path / ".codex" / "config.toml").is_symlink()
    assert "context-hall" in (tmp_path / "dotfiles" / "codex.toml").read_text()


def test_a_file_of_the_project_that_leads_out_of_it_is_refused(tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text("{}")
    register = register_in(tmp_path)
    (tmp_path / "shop" / ".mcp.json").symlink_to(mine)
    with pytest.raises(UsageError, match="leads out of the project"):
        register.connect(of("claude-code"), reach_in(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "shop" / ".cursor").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="leads out of the project"):
        register.connect(of("cursor"), reach_in(tmp_path))
    assert mine.read_text() == "{}"
    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_symlink_to_itself_is_called_one(tmp_path: Path) -> None:
    register = register_in(tmp_path)
    (tmp_path / "shop" / ".mcp.json").symlink_to(".mcp.json")
    with pytest.raises(UsageError, match="leads to itself"):
        register.connect(of("claude-code"), reach_in(tmp_path))


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "/bin/context", "args": ["serve", "--path", "/home/me/other"]},
        {"command": "npx", "args": ["x"]},
        {"command": "npx", "env": {"DEBUG": True}},
        {"command": ["npx", "x"]},
        {"type": "sse", "url": "https://mcp.linear.app/sse"},
    ],
)
def test_another_server_of_the_same_name_is_not_replaced(entry: dict[str, Any], tmp_path: Path) -> None:
    text = json.dumps({"mcpServers": {"context-hall": entry}})
    file = write_file(tmp_path, of("windsurf"), text)
    with pytest.raises(UsageError, match="under the name context-hall") as caught:
        register_in(tmp_path).connect(of("windsurf"), reach_in(tmp_path))
    assert "--name" in caught.value.hint
    assert file.read_text() == text
    register_in(tmp_path).connect(of("windsurf"), reach_in(tmp_path), name="context-hall-2")
    assert list(json.loads(file.read_text())["mcpServers"]) == ["context-hall", "context-hall-2"]


def test_a_server_at_an_address_is_not_replaced_unless_its_name_is_that_of_a_hall(tmp_path: Path) -> None:
    remote = {"serverUrl": "https://example.com/mcp"}
    text = json.dumps({"mcpServers": {"context-hall": remote, "remote": remote}})
    file = write_file(tmp_path, of("windsurf"), text)
    with pytest.raises(UsageError, match="another server under the name remote") as caught:
        register_in(tmp_path).connect(of("windsurf"), reach_in(tmp_path), name="remote")
    assert "--remove --name remote`" in caught.value.hint
    assert file.read_text() == text
    register_in(tmp_path).connect(of("windsurf"), reach_in(tmp_path))
    servers = json.loads(file.read_text())["mcpServers"]
    assert (servers["remote"], "command" in servers["context-hall"]) == (remote, True)


@pytest.mark.parametrize("entry", [None, "x", {}, {"timeout": 5}, {"command": ""}])
def test_what_is_no_server_is_replaced(entry: object, tmp_path: Path) -> None:
    file = write_file(tmp_path, of("windsurf"), json.dumps({"mcpServers": {"context-hall": entry}}))
    register_in(tmp_path).connect(of("windsurf"), reach_in(tmp_path))
    assert json.loads(file.read_text())["mcpServers"]["context-hall"]["command"] == "/bin/sh"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_a_hall_at_an_address_of_this_machine_is_written_anew_under_any_name(host: str, tmp_path: Path) -> None:
    register = register_in(tmp_path)
    register.connect(of("cursor"), Reach(url=f"http://{host}:8321/mcp"), name="shop")
    assert states(tmp_path)["cursor"] == ("this", f"at http://{host}:8321/mcp")
    register.connect(of("cursor"), Reach(url=f"http://{host}:9000/mcp"), name="shop")
    change = register.connect(of("cursor"), reach_in(tmp_path), name="shop")
    assert servers(of("cursor"), Path(change.file).read_text()) == {"shop": of("cursor").entry(reach_in(tmp_path))}


def test_some_other_server_of_this_machine_is_not_taken_for_the_hall(tmp_path: Path) -> None:
    figma = {"url": "http://127.0.0.1:3845/mcp"}
    write_file(tmp_path, of("cursor"), json.dumps({"mcpServers": {"figma": figma}}))
    assert states(tmp_path)["cursor"] == ("absent", "")


def test_the_hint_at_a_name_that_is_taken_can_be_pasted(tmp_path: Path) -> None:
    file = tmp_path / "my own.json"
    file.write_text(json.dumps({"mcpServers": {"the shop": {"command": "npx"}}}))
    with pytest.raises(UsageError) as caught:
        register_in(tmp_path).connect(of("cursor"), reach_in(tmp_path), name="the shop", file=str(file))
    assert "`--name 'the shop-2'`" in caught.value.hint
    assert f"`context connect cursor --remove --name 'the shop' --file '{file}'`" in caught.value.hint


def test_a_server_that_somebody_names_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    file = write_file(tmp_path, of("cursor"), "{}")
    theirs = json.dumps({"mcpServers": {"context-hall": {"command": "npx"}}})

    class Hasty(Disk):
        """Somebody else writes the file as soon as it was read."""

        def read_small(self, path: str, most_bytes: int) -> tuple[Seen, bytes]:
            answer = super().read_small(path, most_bytes)
            file.write_text(theirs)
            return answer

    with pytest.raises(UsageError):
        register_in(tmp_path, Hasty()).connect(of("cursor"), reach_in(tmp_path))
    assert file.read_text() == theirs


def test_a_client_that_takes_no_address_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="takes no address"):
        register_in(tmp_path).connect(of("claude-desktop"), Reach(url="http://127.0.0.1:8321/mcp"))


def test_a_client_without_a_known_file_needs_one_to_be_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not known where") as caught:
        register_in(tmp_path).connect(of("generic"), reach_in(tmp_path))
    assert "--file" in caught.value.hint
    named = str(tmp_path / "own.json")
    register_in(tmp_path).connect(of("generic"), reach_in(tmp_path), file=named)
    assert "context-hall" in json.loads(Path(named).read_text())["mcpServers"]


def states(root: Path) -> dict[str, tuple[str, str]]:
    return {known.client: (known.state, known.detail) for known in register_in(root).known(port=8321)}


def test_which_clients_know_the_hall_is_seen(tmp_path: Path) -> None:
    assert set(states(tmp_path).values()) == {("absent", "")}
    register = register_in(tmp_path)
    register.connect(of("claude-code"), reach_in(tmp_path))
    register.connect(of("cursor"), Reach(url="http://127.0.0.1:8321/mcp"))
    register.connect(of("codex"), Reach("/no/such/context", ("serve", "--path", str(tmp_path / "shop"))))
    write_file(tmp_path, of("vscode"), "{")
    other = {"command": "context", "args": ["serve", "--path", "/other"]}
    write_file(tmp_path, of("windsurf"), json.dumps({"mcpServers": {"context-hall": other}}))
    found = states(tmp_path)
    assert found["claude-code"] == ("this", "")
    assert found["cursor"] == ("this", "at http://127.0.0.1:8321/mcp")
    assert found["codex"] == ("gone", "its command is gone: /no/such/context")
    assert found["vscode"][0] == "broken"
    assert found["windsurf"] == ("other", "a hall of /other")
    assert found["gemini-cli"] == ("absent", "")
    assert "generic" not in found


def test_a_client_may_know_the_hall_from_another_file_of_its_own(tmp_path: Path) -> None:
    entry = of("claude-code").entry(reach_in(tmp_path))
    project = str(tmp_path / "shop")
    (tmp_path / ".claude.json").write_text(json.dumps({"projects": {project: {"mcpServers": {"hall": entry}}}}))
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {"hall": {**entry, "disabled": True}}}))
    assert states(tmp_path)["claude-code"] == ("this", "")
    assert states(tmp_path)["cursor"] == ("this", "switched off")


def test_a_file_that_is_never_written_may_be_as_large_and_odd_as_its_program_likes(tmp_path: Path) -> None:
    (tmp_path / ".claude.json").write_bytes(b" " * (limits.CLIENT_FILE_BYTES + 1))
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text("{")
    assert set(states(tmp_path).values()) == {("absent", "")}


def test_a_project_is_the_same_however_it_is_spelt(tmp_path: Path) -> None:
    register = register_in(tmp_path)
    (tmp_path / "link").symlink_to("shop")
    for snippet in (f"{tmp_path}/link", f"{tmp_path}/shop/", f"{tmp_path}/link/../link/."):
        register.connect(of("codex"), Reach("/bin/sh", ("-m", "contexthall", "serve", "--path", snippet)))
        assert states(tmp_path)["codex"] == ("this", "")
    through_link = Register(Disk(), project_root=f"{tmp_path}/link", environment={"HOME": str(tmp_path)}, platform="x")
    through_link.connect(of("codex"), reach_in(tmp_path))
    assert next(each for each in through_link.known(port=8321) if each.client == "codex").state == "this"


@pytest.mark.parametrize("more", [[], ["--path", "."], ["--path", "../shop/"]])
def test_a_relative_project_in_a_file_of_the_project_starts_there(more: list[str], tmp_path: Path) -> None:
    entry = {"command": "context", "args": ["serve", *more]}
    write_file(tmp_path, of("cursor"), json.dumps({"mcpServers": {"context-hall": entry}}))
    write_file(tmp_path, of("windsurf"), json.dumps({"mcpServers": {"context-hall": entry}}))
    local = {"projects": {f"{tmp_path}/shop": {"mcpServers": {"context-hall": entry}}}}
    (tmp_path / ".claude.json").write_text(json.dumps(local))
    found = states(tmp_path)
    assert found["cursor"] == found["claude-code"] == ("this", "")
    assert found["windsurf"][0] != "this"
    assert register_in(tmp_path).connect(of("cursor"), reach_in(tmp_path)).is_needed


@pytest.mark.usefixtures("bound_by_permissions")
def test_a_command_that_may_not_be_looked_at_cannot_be_started(tmp_path: Path) -> None:
    command = tmp_path / "alice" / "context"
    command.parent.mkdir(mode=0)
    register_in(tmp_path).connect(of("cursor"), Reach(str(command), ("serve", "--path", f"{tmp_path}/shop")))
    assert states(tmp_path)["cursor"] == ("gone", f"its command may not be looked at: {command}")


def test_words_that_a_killed_run_had_taken_are_given_back_first(tmp_path: Path) -> None:
    """A run that died between the exchange and the look leaves somebody's words under a name that tells of it."""
    file = write_file(tmp_path, of("codex"), CODEX)
    register = register_in(tmp_path)
    register.connect(of("codex"), reach_in(tmp_path))
    after = file.read_bytes()
    digits = [sha256(data).hexdigest()[:16] for data in (CODEX.encode(), after)]
    theirs = CODEX + "# saved in that very moment\n"
    (file.parent / f".contexthall-1-00000000-{digits[0]}-{digits[1]}").write_text(theirs)
    register_in(tmp_path).connect(of("codex"), Reach("/bin/sh", (*reach_in(tmp_path).args, "--confine")))
    assert "# saved in that very moment" in file.read_text()
    assert "--confine" in file.read_text()
    assert sorted(os.listdir(file.parent)) == ["config.toml", f"config.toml{BACKUP_SUFFIX}"]

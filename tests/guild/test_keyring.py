"""A secret of the keyring reaches the server that needs it, and nobody else learns of it."""

import asyncio
import io
import json
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest
from tests.guild.making import make_member, manager_of

from contexthall.core import limits
from contexthall.core.errors import MemberError, UsageError
from contexthall.faces.cli.table import run
from contexthall.guild.lists.memory import Memory
from contexthall.guild.manager import MCPManager, discover_guild_members
from contexthall.guild.servers.connector import Connector
from contexthall.system.keyring import SecretReader

SECRET = "correct-horse-battery-staple"


class FakeKeyring(ModuleType):
    """A keyring in memory, which may be locked, and then fails, or waits for its user."""

    def __init__(self) -> None:
        super().__init__("keyring")
        self.kept: dict[tuple[str, str], str] = {}
        self.is_locked = False
        self.unlocked = threading.Event()
        self.unlocked.set()
        self.asked = 0

    def get_password(self, service: str, name: str) -> str | None:
        self.asked += 1
        self.unlocked.wait(10)
        self._check()
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, value: str) -> None:
        self._check(value)
        self.kept[service, name] = value

    def _check(self, value: str = "") -> None:
        if self.is_locked:
            raise RuntimeError(f"locked, so {value} was not kept")


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> FakeKeyring:
    fake = FakeKeyring()
    monkeypatch.setitem(sys.modules, "keyring", fake)
    return fake


def connector_of(memory: Memory) -> Connector:
    return Connector(version="0", environment={"PATH": "/usr/bin:/bin"}, log_of=memory.log_of)


async def environment_of(guild: Path, memory: Memory, connector: Connector | None = None) -> dict[str, str]:
    """Start the member, and ask it for its environment."""
    manager = MCPManager(discover_guild_members(str(guild)), connector or connector_of(memory), memory=memory)
    try:
        answer = await manager.invoke_tool("zoo", "env", {})
    finally:
        await manager.shutdown()
    found: dict[str, str] = json.loads(answer["content"][0]["text"])
    return found


def test_a_server_gets_the_secret_and_what_it_says_on_standard_error_is_redacted(
    guild: Path, memory: Memory, keyring: FakeKeyring
) -> None:
    make_member(guild, "zoo", "--print-env", "--say", f"my key is {SECRET}", env={"KEY": "${keyring:API_KEY}"})
    keyring.kept["contexthall", "API_KEY"] = SECRET
    connector = connector_of(memory)
    assert asyncio.run(environment_of(guild, memory, connector))["KEY"] == SECRET
    assert connector.redacted(f'{{"key": "{SECRET}"}}') == '{"key": "${keyring:API_KEY}"}'
    log = memory.log_of(discover_guild_members(str(guild))["zoo"]).tail()
    assert "my key is ${keyring:API_KEY}" in log


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("empty", "the keyring has no secret API_KEY"),
        ("locked", "the keyring cannot be used: it is locked, or there is none (RuntimeError)"),
        ("missing", "the library keyring is not installed"),
    ],
)
def test_why_a_secret_is_not_to_be_had_is_said(
    guild: Path, memory: Memory, keyring: FakeKeyring, monkeypatch: pytest.MonkeyPatch, state: str, sentence: str
) -> None:
    make_member(guild, "zoo", "--print-env", env={"KEY": "${keyring:API_KEY}"})
    keyring.is_locked = state == "locked"
    if state == "missing":
        monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(MemberError) as failed:
        asyncio.run(environment_of(guild, memory))
    assert sentence in failed.value.detail


@pytest.mark.parametrize("failure", ["raise SystemExit(1)", "raise AttributeError", "get_password = lambda *_: exit()"])
def test_a_keyring_that_fails_in_any_way_answers_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    (tmp_path / "keyring.py").write_text(failure)
    monkeypatch.setitem(sys.modules, "keyring", None)
    del sys.modules["keyring"]
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(limits, "KEYRING_SECONDS", 5)
    with pytest.raises(UsageError, match=r"the keyring cannot be used: .* \((SystemExit|AttributeError)\)"):
        asyncio.run(SecretReader().read("API_KEY"))


def test_a_keyring_that_waits_for_its_user_is_not_waited_for_for_ever(
    guild: Path, memory: Memory, keyring: FakeKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_member(guild, "zoo", "--print-env", env={"KEY": "${keyring:API_KEY}"})
    keyring.kept["contexthall", "API_KEY"] = SECRET
    keyring.unlocked.clear()
    monkeypatch.setattr(limits, "KEYRING_SECONDS", 0.05)
    reader = SecretReader()

    async def read_twice() -> None:
        for _ in range(2):
            with pytest.raises(UsageError, match=r"did not answer within 0\.05 s"):
                await reader.read("API_KEY")

    asyncio.run(read_twice())
    assert keyring.asked == 1
    with pytest.raises(MemberError) as failed:
        asyncio.run(environment_of(guild, memory))
    assert "the keyring did not answer within 0.05 s" in failed.value.detail
    keyring.unlocked.set()
    monkeypatch.setattr(limits, "KEYRING_SECONDS", 10)
    assert asyncio.run(environment_of(guild, memory))["KEY"] == SECRET


def test_a_secret_is_kept_from_standard_input_and_never_shown(
    keyring: FakeKeyring, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(SECRET + "\n"))
    assert run(["guild", "secret", "set", "API_KEY"]) == 0
    assert keyring.kept == {("contexthall", "API_KEY"): SECRET}
    keyring.is_locked = True
    monkeypatch.setattr("sys.stdin", io.StringIO(SECRET + "\n"))
    assert run(["guild", "secret", "set", "API_KEY"]) == 1
    said = "".join(capfd.readouterr())
    assert SECRET not in said
    assert "the keyring cannot be used" in said


@pytest.mark.parametrize(("name", "value"), [("a-b", "x"), ("", "x"), ("API_KEY", "")])
def test_bad_names_and_empty_secrets_are_refused(
    keyring: FakeKeyring, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(value))
    assert run(["guild", "secret", "set", name]) == 1
    assert keyring.kept == {}


def test_the_doctor_does_not_take_a_secret_for_a_variable(guild: Path) -> None:
    make_member(guild, "zoo", env={"KEY": "${keyring:API_KEY}", "OTHER": "${UNSET}"})
    manager, _ = manager_of(guild, None)  # type: ignore[arg-type]
    assert manager.unset_variables("zoo", {}) == ("UNSET",)

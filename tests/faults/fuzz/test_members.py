"""What a member prints, whatever it is, costs at most the call that it was printed for; its neighbour never notices."""

import asyncio
import os
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.faults.scale import SEED, record, scaled
from tests.guild.making import make_member

from contexthall.core.errors import MemberError
from contexthall.guild.lists.memory import Memory
from contexthall.guild.manager import MCPManager, discover_guild_members
from contexthall.guild.servers.connector import Connector
from contexthall.protocol.messages import error_line, parse_message, result_line
from contexthall.system.disk import Disk

pytestmark = pytest.mark.anyio

SCRIPTED = Path(__file__).parent / "scripted_member.py"
PATIENCE_SECONDS = 90.0
SOUND = b'{"jsonrpc":"2.0","id":@ID@,"result":{"content":[]}}\n'
PROGRESS = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":@ID@,"progress":%b}}\n'


def answer(result: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":@ID@,"result":' + result + b"}\n"


def fault(error: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":@ID@,"error":' + error + b"}\n"


ANSWERED: Mapping[str, bytes] = {
    "deep": answer(b'{"x":' + b"[" * 900 + b"]" * 900 + b"}"),
    "deep-half-of-a-pair": answer(b'{"x":' + b"[" * 900 + b'"\\ud800"' + b"]" * 900 + b"}"),
    "long-integer": answer(b'{"x":1' + b"0" * 5000 + b"}"),
    "infinite": answer(b'{"x":[1e999,NaN,-Infinity,"\\udfff"]}'),
    "no-object": answer(b"null"),
    "odd-parts": answer(b'{"content":5,"isError":"x","structuredContent":[],"_meta":7}'),
    "odd-fault": fault(b'{"code":"x","message":5}'),
    "fault-is-text": fault(b'"no"'),
    "deep-fault": fault(b'{"code":1,"message":"x","data":' + b"[" * 900 + b"]" * 900 + b"}"),
    "answered-thrice": SOUND * 3,
    "foreign-ids": b'{"jsonrpc":"2.0","id":77,"result":{}}\n{"jsonrpc":"2.0","id":null,"result":{}}\n' + SOUND,
    "requests-of-its-own": b'{"jsonrpc":"2.0","id":@ID@,"method":"sampling/createMessage","params":{}}\n'
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}\n{"jsonrpc":"2.0","id":1.5,"method":"roots/list"}\n' + SOUND,
    "infinite-progress": PROGRESS % b"1e999" + SOUND,
    "endless-progress": PROGRESS % (b"1" + b"0" * 400) + PROGRESS % (b'1,"total":-1' + b"0" * 4000) + SOUND,
    "odd-progress": PROGRESS % b'{},"message":[]' + PROGRESS % b'"x"' + PROGRESS % b"null" + SOUND,
    "progress-of-nothing": b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":[1]}}\n'
    + SOUND,
    "cancels-us": b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}\n'
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":@ID@}}\n' + SOUND,
    "rubbish": b'\xff\xfe\0\n\n\r\n{\n[]\n[1]\n5\n"x"\n' + b"[" * 3000 + b"\n" + SOUND,
    "control-characters": answer(b'{"content":[{"type":"text","text":"\\u001b[31m\\u0000\\u202e"}]}'),
    "unknown-notification": b'{"jsonrpc":"2.0","method":"\\ud800","params":{}}\n' + SOUND,
}
"""What must be answered at once, with a result or an error; none of it may end the connection."""
UNSOUND_STARTS: Mapping[str, Mapping[str, bytes]] = {
    "a version that is none": {"initialize": answer(b'{"protocolVersion":[["x"]]}')},
    "a deep version": {"initialize": answer(b'{"protocolVersion":' + b"[" * 900 + b"]" * 900 + b"}")},
    "a list in place of an object": {"initialize": answer(b"[]")},
    "an infinite version": {"initialize": answer(b'{"protocolVersion":1e999}')},
    "an answer before the question": {"start": b'{"jsonrpc":"2.0","id":1,"result":{}}\n'},
}


@asynccontextmanager
async def opened(tmp_path: Path, scripts: Mapping[str, bytes]) -> AsyncIterator[MCPManager]:
    """Open a guild of one that plays `scripts` and one that is well."""
    make_member(tmp_path / "guild", "well")
    arguments = ["-IS", str(SCRIPTED), "scripts"]
    bad = make_member(tmp_path / "guild", "bad", args=arguments, toolTimeoutSeconds=10, startTimeoutSeconds=10)
    (bad / "scripts").mkdir()
    for name, data in scripts.items():
        (bad / "scripts" / name).write_bytes(data)
    memory = Memory(Disk(), str(tmp_path / "state"))
    connector = Connector(version="1", environment=os.environ, log_of=memory.log_of)
    manager = MCPManager(discover_guild_members(str(tmp_path / "guild")), connector, disk=Disk(), memory=memory)
    await manager.initialize_roster()
    try:
        yield manager
    finally:
        await manager.shutdown()


async def called(manager: MCPManager, play: str, told: list[float] | None = None) -> bytes:
    """Call the bad member; give what an agent would be sent, as a line."""

    async def progress(amount: float, _total: float | None, _message: str | None) -> None:
        (told if told is not None else []).append(amount)

    try:
        result = await manager.invoke_tool("bad", "echo", {"play": play}, progress)
    except MemberError as error:
        return error_line(1, error.fault or {"code": 1, "message": error.detail})
    return result_line(1, result)


async def test_whatever_a_member_answers_is_passed_on_or_an_error_and_the_connection_stays(tmp_path: Path) -> None:
    told: list[float] = []
    async with opened(tmp_path, ANSWERED) as manager, asyncio.timeout(PATIENCE_SECONDS * 2):
        stopped: list[str] = []
        manager.subscribe(lambda event: stopped.append(event.kind))
        for name in ANSWERED:
            line = await called(manager, name, told)
            assert b"Infinity" not in line, name
            assert b"did not answer" not in line, name
            parse_message(line)
        assert b'"sound"' in await called(manager, "sound")
        assert "stopped" not in stopped
        assert "error" not in stopped
    assert all(abs(amount) < float("inf") for amount in told)
    record("fuzzing", "hostile answers of members", len(ANSWERED))


@pytest.mark.parametrize("scripts", UNSOUND_STARTS.values(), ids=UNSOUND_STARTS)
async def test_a_member_that_cannot_shake_hands_says_so_in_a_sentence(
    tmp_path: Path, scripts: Mapping[str, bytes]
) -> None:
    async with opened(tmp_path, scripts) as manager, asyncio.timeout(PATIENCE_SECONDS):
        assert b'"error"' in await called(manager, "sound")
        assert (await manager.invoke_tool("well", "echo", {}))["content"]


@pytest.mark.timeout(300)
async def test_whatever_bytes_a_member_prints_its_calls_end_and_its_neighbour_answers(tmp_path: Path) -> None:
    """What was printed ends with a sound answer, so that a call may be answered wrongly and is never left alone."""
    source, number = random.Random(SEED), scaled(15, 40, 600)
    scripts = {f"random-{each}": mutated(source) + b"\n" + SOUND for each in range(number)}
    async with opened(tmp_path, scripts) as manager:
        for name in scripts:
            async with asyncio.timeout(PATIENCE_SECONDS):
                parse_message(await called(manager, name))
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert (await manager.invoke_tool("well", "echo", {}))["content"]
    record("fuzzing", "random output of members: cases", number)


def mutated(source: random.Random) -> bytes:
    """Take something that a hostile member would print, and change a few bytes of it."""
    data = bytearray(source.choice([*ANSWERED.values(), SOUND]))
    for _ in range(source.randrange(1, 6)):
        at = source.randrange(len(data) + 1)
        match source.randrange(3):
            case 0:
                data[at:at] = source.randbytes(source.randrange(1, 4))
            case 1:
                del data[at : at + source.randrange(1, 20)]
            case _:
                data[at : at + 1] = source.choice((b'"', b"{", b"}", b"[", b"]", b",", b":", b"\n", b"\\", b"0"))
    return bytes(data)

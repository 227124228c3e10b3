"""What agents see is pinned to the letter, and each tool fails as the contract says."""

import json
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from tests.caches.making import build_cache
from tests.faces.mcp.sdk import piped, text_of

from contexthall import open_hall
from contexthall.faces.mcp.server import HallServer
from contexthall.system.disk import Disk

GOLDEN = Path(__file__).parent / "tool_definitions.json"


def test_the_definitions_are_these() -> None:
    catalog = open_hall().catalog
    shown = {"instructions": catalog.instructions, "tools": [tool.definition() for tool in catalog.tools]}
    assert shown == json.loads(GOLDEN.read_text())


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("context.list_caches", {}, "io_error"),
        ("context.inspect_cache", {"cache": "cache"}, "io_error"),
        ("context.resolve", {"cache": "cache", "query": "a", "budget": 9}, "internal_error"),
    ],
)
def test_a_time_out_is_told_as_each_tool_may(tmp_path: Path, name: str, arguments: dict[str, Any], code: str) -> None:
    build_cache(tmp_path, {"a.md": "a"})

    def slowly(call: Any, *arguments: Any, **options: Any) -> Any:
        if call.__name__ not in {"getcwd", "lstat", "realpath"}:
            time.sleep(0.3)
        return call(*arguments, **options)

    hall = open_hall(str(tmp_path), cache_root=str(tmp_path), disk=Disk(slowly))
    server = HallServer(hall.catalog, hall.caller, version="1", tool_seconds=0.05)

    async def ask() -> str:
        async with Client(piped(server)) as client:
            return text_of(await client.call_tool(name, arguments))

    assert json.loads(anyio.run(ask))["error"]["code"] == code

"""What tests that use the SDK's client share: the eras that it speaks, pipes to the hall, and what a tool said."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Literal, TypeAlias

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import jsonrpc_message_adapter

from contexthall.faces.mcp.server import HallServer
from contexthall.faces.mcp.stdio import StdioConnection
from contexthall.system.pipes import Pipes, PipeTransport

Era: TypeAlias = Literal["legacy", "auto"]
ERAS: tuple[Era, ...] = ("legacy", "auto")


def text_of(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@asynccontextmanager
async def piped(server: HallServer) -> AsyncIterator[Any]:
    """Serve over real pipes, and give the streams that the SDK's client wants, from the server and to it."""
    (incoming, to_hall), (from_hall, outgoing) = os.pipe(), os.pipe()
    to_client, messages = anyio.create_memory_object_stream[SessionMessage | Exception](1000)
    requests, from_client = anyio.create_memory_object_stream[SessionMessage](1000)
    reader = asyncio.StreamReader(limit=1 << 24)
    loop = asyncio.get_running_loop()
    with os.fdopen(from_hall, "rb", 0) as source:
        reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)

        async def read() -> None:
            while line := await reader.readline():
                await to_client.send(SessionMessage(jsonrpc_message_adapter.validate_json(line)))

        async def write() -> None:
            async for item in from_client:
                line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                await anyio.to_thread.run_sync(os.write, to_hall, line)

        async with AsyncExitStack() as stack:
            for stream in (to_client, messages, requests, from_client):
                stack.callback(stream.close)
            for descriptor in (incoming, to_hall, outgoing):
                stack.callback(os.close, descriptor)
            stack.callback(reading.close)
            connection = StdioConnection(server)
            stack.enter_context(PipeTransport(Pipes(incoming, outgoing), connection))
            async with anyio.create_task_group() as tasks:
                for work in (connection.run, read, write):
                    tasks.start_soon(work)
                yield messages, requests
                connection.end()
                tasks.cancel_scope.cancel()

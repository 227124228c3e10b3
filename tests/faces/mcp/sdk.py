"""What tests that use the SDK's client share: the eras that it speaks, and what a tool said."""

from typing import Literal, TypeAlias

import mcp_types as types

Era: TypeAlias = Literal["legacy", "auto"]
ERAS: tuple[Era, ...] = ("legacy", "auto")


def text_of(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text

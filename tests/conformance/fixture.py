"""The tools whose names the conformance suite asks for, as data, and a server over pipes that offers them."""

import json
import sys
from collections.abc import Mapping
from typing import Any

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="
IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
ADDRESS = {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}
MODERN_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": ADDRESS},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
PROGRESS_TOOL = "test_tool_with_progress"
STEPS = (0, 50, 100)


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _resource(uri: str, kind: str, text: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}}


RESULTS: Mapping[str, dict[str, Any]] = {
    "test_simple_text": {"content": [_text("Plain text, and nothing else.")]},
    "test_image_content": {"content": [IMAGE]},
    "test_audio_content": {"content": [{"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}]},
    "test_embedded_resource": {"content": [_resource("test://embedded-resource", "text/plain", "Embedded.")]},
    "test_multiple_content_types": {
        "content": [
            _text("Several kinds:"),
            IMAGE,
            _resource("test://mixed-content-resource", "application/json", "{}"),
        ]
    },
    "test_error_handling": {"isError": True, "content": [_text("It fails on purpose.")]},
    PROGRESS_TOOL: {"content": [_text("Done.")]},
    "json_schema_2020_12_tool": {"content": [_text("Any name will do.")]},
}
DEFINITIONS = [
    {
        "name": name,
        "description": "A tool of the conformance suite.",
        "inputSchema": MODERN_SCHEMA if name.startswith("json_schema") else NOTHING,
    }
    for name in RESULTS
]


def _answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        server = {"name": "conformance", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    return {"tools": DEFINITIONS} if method == "tools/list" else RESULTS[params["name"]]


def _say(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        params = message.get("params", {})
        token = params.get("_meta", {}).get("progressToken")
        if token is not None and params.get("name") == PROGRESS_TOOL:
            for step in STEPS:
                told = {"progressToken": token, "progress": step, "total": 100}
                _say({"method": "notifications/progress", "params": told})
        _say({"id": message["id"], "result": _answer(message["method"], params)})


if __name__ == "__main__":
    main()

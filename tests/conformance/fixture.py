"""The tools whose names the conformance suite asks for, as data, and a server over pipes that offers them."""

import json
import sys
from collections.abc import Mapping
from typing import Any

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="
IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
ADDRESS = {
    "$anchor": "address",
    "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
}
MODERN_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": ADDRESS},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#address"}},
    "allOf": [{"anyOf": [{"required": ["name"]}, {"required": ["address"]}, True]}],
    "if": {"required": ["address"]},
    "then": {"required": ["name"]},
    "else": True,
    "additionalProperties": False,
}
MIRRORED_SCHEMA = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
SCHEMAS = {"json_schema_2020_12_tool": MODERN_SCHEMA, "test_custom_header": MIRRORED_SCHEMA}
PROGRESS_TOOL = "test_tool_with_progress"
CHANGING_TOOL = "test_trigger_tool_change"
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
    CHANGING_TOOL: {"content": [_text("The list has changed, if this is not another's.")]},
    "test_custom_header": {"content": [_text("Head and body agree.")]},
    "test_logging_tool": {"content": [_text("Nothing is logged.")]},
    "test_streaming_elicitation": {"content": [_text("Nothing is asked.")]},
}
FAULTS: Mapping[str, dict[str, Any]] = {
    "test_missing_capability": {
        "code": -32021,
        "message": "The client cannot sample",
        "data": {"requiredCapabilities": {"sampling": {}}},
    }
}
DEFINITIONS = [
    {
        "name": name,
        "description": "A tool of the conformance suite.",
        "inputSchema": SCHEMAS.get(name, NOTHING),
    }
    for name in (*RESULTS, *FAULTS)
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
        fault = FAULTS.get(params.get("name"))
        answer = {"result": _answer(message["method"], params)} if fault is None else {"error": fault}
        _say({"id": message["id"], **answer})


if __name__ == "__main__":
    main()

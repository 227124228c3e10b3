"""A model that answers from a script, on loopback: what an agent tells its model can be read, and no key is needed.

Speaks just enough of two APIs: Anthropic's messages (Claude Code) and OpenAI's responses (Codex), both streamed.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Call(NamedTuple):
    """A tool that the model calls."""

    tool: str
    arguments: dict[str, Any]


Turn = Sequence[Call]
"""What the model calls at once; nothing for a last word."""


class ScriptedModel:
    """Answers the n-th question with the n-th turn of a script, and keeps every question that came with tools."""

    def __init__(self, script: Sequence[Turn]) -> None:
        self._script = script
        self._lock = threading.Lock()
        self.questions: list[dict[str, Any]] = []

    def answer(self, question: dict[str, Any]) -> tuple[int, Turn]:
        """Return which turn this is, and what the model does; side questions, for a title or so, get a last word."""
        with self._lock:
            if not question.get("tools"):
                return 0, ()
            self.questions.append(question)
            number = len(self.questions)
        return number, self._script[number - 1] if number <= len(self._script) else ()

    def told(self, number: int) -> str:
        """Return all that the model was told with the n-th question, as text without escapes of JSON."""
        return "\n".join(_texts(self.questions[number]))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _message_events(number: int, turn: Turn) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 10, "output_tokens": 5}
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "scripted", "content": []}
    yield {"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None, "usage": usage}}
    for index, call in enumerate(turn):
        block = {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": call.tool, "input": {}}
        yield {"type": "content_block_start", "index": index, "content_block": block}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    if not turn:
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Done."}}
        yield {"type": "content_block_stop", "index": 0}
    reason = "tool_use" if turn else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def _response_events(number: int, turn: Turn) -> Iterator[dict[str, Any]]:
    response = {"id": f"resp_{number}", "object": "response", "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": response}
    items: list[dict[str, Any]] = [
        {"type": "custom_tool_call", "name": call.tool, "input": call.arguments["input"]}
        if call.tool == "apply_patch"
        else {"type": "function_call", "name": call.tool, "arguments": json.dumps(call.arguments)}
        for call in turn
    ]
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}
    for index, item in enumerate(items or [said]):
        ids = {"id": f"item_{number}_{index}", "call_id": f"call_{number}_{index}", "status": "completed"}
        yield {"type": "response.output_item.done", "output_index": index, "item": ids | item}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    yield {"type": "response.completed", "response": response | {"status": "completed", "usage": usage}}


@contextmanager
def serving(model: ScriptedModel) -> Iterator[str]:
    """Serve a model; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
            path = self.path.partition("?")[0]
            if path.endswith("/count_tokens"):
                self._send(b'{"input_tokens": 10}', "application/json")
            elif path.endswith(("/messages", "/responses")):
                number, turn = model.answer(question)
                events = (_message_events if path.endswith("/messages") else _response_events)(number, turn)
                lines = (f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
                self._send("".join(lines).encode(), "text/event-stream")
            else:
                self.send_error(404)

        def do_GET(self) -> None:
            self.send_error(404)

        def do_HEAD(self) -> None:
            self.send_error(404)

        def _send(self, data: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)

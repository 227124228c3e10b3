"""A guild member that is slow to start: it reads its whole book before it says a word.

Servers like it are common: they load a model, an index, a large project. Its tools are listed all the same, from the
list that the hall keeps; only the first call waits. READING_SECONDS, in plugin.json, says how long.
"""

import json
import os
import sys
import time
from typing import Any

PROTOCOLS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
BOOK = """
fast fleet hasty quick rapid swift
small little slight tiny
big great huge large vast
start begin commence open
stop cease end finish halt
"""
TOOLS = [
    {
        "name": "synonyms",
        "title": "Synonyms",
        "description": "Gives other words for a word, such as quick or large.",
        "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }
]


def read_book(seconds: float) -> dict[str, list[str]]:
    """Learn which words go together. A real book would be long; this one is short, so it is read slowly."""
    time.sleep(seconds)
    groups = [line.split() for line in BOOK.splitlines()]
    return {word: [other for other in group if other != word] for group in groups for word in group}


def synonyms(book: dict[str, list[str]], word: object) -> dict[str, Any]:
    """Answer a call; a word that is not in the book is a failure, which is a result too: the agent reads the reason."""
    others = book.get(str(word).lower())
    text = ", ".join(others) if others else f"The book does not have {word}."
    return {"content": [{"type": "text", "text": text}], "isError": others is None}


def answer(book: dict[str, list[str]], method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method, params:
        case "initialize", {"protocolVersion": wanted}:
            version = wanted if wanted in PROTOCOLS else PROTOCOLS[0]
            server = {"name": "thesaurus", "version": "0.1.0"}
            return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}}
        case "ping", _:
            return {"result": {}}
        case "tools/list", _:
            return {"result": {"tools": TOOLS}}
        case "tools/call", {"name": "synonyms"}:
            return {"result": synonyms(book, params.get("arguments", {}).get("word"))}
    return {"error": {"code": -32601, "message": f"unknown method or tool: {method}"}}


def main() -> None:
    # What is said on standard error goes to the member's log: `context guild logs thesaurus` shows it.
    print("reading the book …", file=sys.stderr, flush=True)
    book = read_book(float(os.environ.get("READING_SECONDS", "2")))
    print(f"ready: {len(book)} words", file=sys.stderr, flush=True)
    for line in sys.stdin.buffer:
        message = json.loads(line)
        # What has no id is a notification, and wants no answer.
        if "id" in message:
            reply = answer(book, message["method"], message.get("params", {}))
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)


if __name__ == "__main__":
    main()

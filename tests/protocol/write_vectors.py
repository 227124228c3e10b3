"""Write what the hall answers to every conversation, as data for any language: python -m tests.protocol.write_vectors

A line is a text, or `{"hex": …}` if it is no UTF-8. Lines that are only long are left to the tests.
"""

import json
from pathlib import Path

from tests.protocol.conversations import catalog, conversations, told
from tests.protocol.served import served

VECTORS = Path(__file__).parents[2] / "vectors" / "protocol" / "conversations.json"
_LONGEST = 1000


def rendered() -> str:
    """Return the vectors: one conversation a line, its answers in an order of their own."""
    tools = [tool.definition() for tool in catalog().tools]
    rows = [
        _compact({"name": name, "lines": [_shown(line) for line in lines], "answers": told(served(catalog(), lines))})
        for name, lines in conversations()
        if max(map(len, lines)) <= _LONGEST
    ]
    return '{"tools":' + _compact(tools) + ',\n"conversations":[\n' + ",\n".join(rows) + "\n]}\n"


def _shown(line: bytes) -> object:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return {"hex": line.hex()}


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


if __name__ == "__main__":
    VECTORS.write_text(rendered())

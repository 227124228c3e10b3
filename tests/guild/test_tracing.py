"""The trace that a client names goes along to the member, over a real pipe, and nothing else of its `_meta` does."""

import json
from pathlib import Path

from tests.guild.making import make_member, tool, write_cache
from tests.processes import RawServer

from contexthall.core import limits
from contexthall.core.tracing import trace, traced

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_a_member_is_told_the_trace_of_a_call(tmp_path: Path) -> None:
    write_cache(make_member(tmp_path / "guild", "zoo"), tool("meta"))
    with RawServer("--guild", "guild", "--guild-refresh", "never", cwd=tmp_path) as server:
        server.initialize()
        meta = {"traceparent": PARENT, "tracestate": "a=1", "io.example/other": "x"}
        answer = server.request(2, "tools/call", {"name": "zoo__meta", "arguments": {}, "_meta": meta})
        told = json.loads(answer["result"]["content"][0]["text"])
        assert (told["traceparent"], told["tracestate"]) == (PARENT, "a=1")
        assert "io.example/other" not in told
        answer = server.request(3, "tools/call", {"name": "zoo__meta", "arguments": {}})
        assert "traceparent" not in json.loads(answer["result"]["content"][0]["text"])


def test_what_is_no_trace_does_not_go_along() -> None:
    with traced({"traceparent": 1, "tracestate": "x" * (limits.TRACE_CHARACTERS + 1), "baggage": "b=1"}):
        assert trace() == {"baggage": "b=1"}
        with traced(None):
            assert trace() == {}
    assert trace() == {}

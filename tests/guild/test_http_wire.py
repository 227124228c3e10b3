"""What the SDK says in the place of a server over HTTP is understood; each text is one that it says today."""

import inspect

import pytest
from mcp.client import streamable_http

from contexthall.core import limits
from contexthall.guild.servers.http_wire import failure_said

SAID = {
    "Server returned an error response": "the server gave no MCP answer over HTTP",
    "Unexpected content type: text/html": "the server gave no MCP answer over HTTP",
    "Failed to parse JSON response: x": "the server gave no MCP answer over HTTP",
    "Failed to parse SSE message: x": "the server gave no MCP answer over HTTP",
    "Redirect": "the server gave no MCP answer over HTTP",
    "server answered a request with 202": "the server gave no MCP answer over HTTP",
    "Session terminated": "the server has forgotten the session",
    "SSE stream ": "the server's answer ended before it was complete",
}


@pytest.mark.parametrize(("text", "meaning"), SAID.items())
def test_a_text_is_understood_and_the_sdk_says_it(text: str, meaning: str) -> None:
    failure = failure_said(text)
    assert failure is not None
    assert failure.detail == meaning
    assert text.partition(":")[0] in inspect.getsource(streamable_http)


def test_an_event_that_is_too_large_is_understood() -> None:
    text = f"An event exceeded the {limits.MEMBER_MESSAGE_BYTES} byte limit."
    failure = failure_said(text)
    assert failure is not None
    assert failure.detail == "the server's answer was not read: it is larger than 16777216 bytes"


def test_other_words_are_the_servers_own() -> None:
    assert failure_said("the backend is down") is None


def test_what_the_sdk_quotes_of_an_answer_is_not_repeated() -> None:
    failure = failure_said("Failed to parse JSON response: secret")
    assert failure is not None
    assert "secret" not in failure.sentence

import asyncio
import gc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from contexthall.core import limits
from contexthall.core.catalog import Caller, Capability, Catalog, JsonObject, Tool, ToolResult
from contexthall.core.errors import (
    CacheMissingError,
    DiskError,
    HallError,
    InvalidBudgetError,
    InvalidQueryError,
    UnknownToolError,
)

ANYONE = Caller(may_read=lambda _path, _home: True)


def echo(arguments: JsonObject, _caller: Caller) -> ToolResult:
    return ToolResult.of_json({"echo": dict(arguments)})


def tool(name: str = "echo", run: Callable[..., Any] = echo, **declared: Any) -> Tool:
    declared.setdefault("input_schema", {"type": "object"})
    return Tool(name=name, title=name.title(), description=f"The tool {name}", run=run, **declared)


def call(offered: Tool, arguments: JsonObject | None = None, **how: Any) -> ToolResult:
    catalog = Catalog([Capability("test", tools=[offered])])
    return asyncio.run(catalog.call(offered.name, arguments or {}, ANYONE, **how))


CLOSED: JsonObject = {
    "type": "object",
    "required": ["query", "budget", "cache"],
    "additionalProperties": False,
    "properties": {
        "query": {"type": "string"},
        "budget": {"type": "integer", "minimum": 0, "maximum": 2**63 - 1},
        "cache": {"type": "string"},
    },
}
REFUSALS: dict[str, type[HallError]] = {"query": InvalidQueryError, "budget": InvalidBudgetError}
GOOD = {"query": "q", "budget": 1, "cache": "c"}


def test_a_result_carries_text_and_the_same_as_data() -> None:
    result = call(tool(), {"a": "é"})
    assert result == ToolResult(
        content=({"type": "text", "text": '{"echo":{"a":"é"}}'},), structured={"echo": {"a": "é"}}
    )
    assert result.text == '{"echo":{"a":"é"}}'


def test_a_coroutine_runs_in_the_loop_and_a_plain_function_where_the_face_says() -> None:
    ran: list[str] = []

    async def elsewhere(run: Callable[[], ToolResult]) -> ToolResult:
        ran.append("elsewhere")
        return run()

    async def coroutine(_arguments: JsonObject, _caller: Caller) -> ToolResult:
        return ToolResult.of_text("from a coroutine")

    assert call(tool(run=coroutine), run_plain=elsewhere).text == "from a coroutine"
    assert ran == []
    call(tool(), run_plain=elsewhere)
    assert ran == ["elsewhere"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({**GOOD, "query": 5}, "invalid_query"),
        ({"budget": 1, "cache": "c"}, "invalid_query"),
        ({**GOOD, "budget": True}, "invalid_budget"),
        ({**GOOD, "budget": "4"}, "invalid_budget"),
        ({**GOOD, "budget": -1}, "invalid_budget"),
        ({**GOOD, "budget": 1.5}, "invalid_budget"),
        ({**GOOD, "budget": 2**63}, "invalid_budget"),
        ({"query": "q"}, "invalid_budget"),
        ({}, "invalid_query"),
        ({"query": 1, "budget": -1, "cache": 2, "more": 3}, "invalid_query"),
    ],
)
def test_a_fault_in_an_argument_gets_the_code_it_deserves_first_come_first_served(
    arguments: JsonObject, code: str
) -> None:
    result = call(tool(input_schema=CLOSED, refusals=REFUSALS), arguments)
    assert (result.is_error, result.code) == (True, code)


@pytest.mark.parametrize(
    "arguments",
    [
        {"budget": [0] * 10_001},
        {"query": 5, "budget": 1, "cache": "x" * (limits.QUERY_CHARACTERS + 1)},
        {"query": "x" * (limits.QUERY_CHARACTERS + 1), "budget": -1, "cache": "c"},
        {**GOOD, "query": "x" * (limits.QUERY_CHARACTERS + 1)},
    ],
    ids=["a long budget", "a long cache", "a long query before a bad budget", "a long query"],
)
def test_what_is_too_long_changes_nothing_in_the_order_of_refusals(arguments: JsonObject) -> None:
    result = call(tool(input_schema=CLOSED, refusals=REFUSALS), arguments)
    assert (result.is_error, result.code) == (True, "invalid_query")


def test_only_an_argument_that_has_a_refusal_can_be_too_long() -> None:
    for arguments in (
        {**GOOD, "query": "x" * limits.QUERY_CHARACTERS},
        {**GOOD, "cache": "x" * (limits.QUERY_CHARACTERS + 1)},
    ):
        assert not call(tool(input_schema=CLOSED, refusals=REFUSALS), arguments).is_error


@pytest.mark.parametrize("budget", [0, 4000, 4000.0, 2**63 - 1])
def test_a_whole_number_is_a_budget_however_it_is_spelt(budget: float) -> None:
    assert not call(tool(input_schema=CLOSED, refusals=REFUSALS), {**GOOD, "budget": budget}).is_error


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"query": "q", "budget": 1}, "Missing argument 'cache'"),
        ({**GOOD, "more": 1}, "Unknown argument 'more'"),
        ({**GOOD, "b": 1, "a": 1}, "Unknown argument 'a', 'b'"),
        ({**GOOD, "cache": 5}, "Invalid argument 'cache': 5 is not of type 'string'"),
    ],
)
def test_any_other_fault_is_plain_text_that_names_the_argument(arguments: JsonObject, text: str) -> None:
    result = call(tool(input_schema=CLOSED, refusals=REFUSALS), arguments)
    assert (result.text, result.is_error, result.code) == (text, True, None)


def test_a_complaint_stays_short_whatever_it_complains_about() -> None:
    result = call(tool(input_schema=CLOSED), {**GOOD, "cache": ["x" * 10_000]})
    assert result.text == "Invalid argument 'cache': violates type 'string'"
    result = call(tool(input_schema=CLOSED), {**GOOD, **dict.fromkeys("abcdefghij" * 5, 1), "x" * 10_000: 1})
    assert len(result.text) <= 200


def test_arguments_of_any_depth_are_refused_with_a_sentence() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    result = call(tool(input_schema=CLOSED), {**GOOD, "cache": deep})
    assert result.is_error
    assert result.code is None


def test_a_fault_deep_inside_names_the_argument_it_is_in() -> None:
    schema = {"type": "object", "properties": {"filter": {"type": "array", "items": {"type": "string"}}}}
    assert call(tool(input_schema=schema), {"filter": ["a", 1]}).text.startswith("Invalid argument 'filter'")


def failing(error: BaseException) -> Callable[..., ToolResult]:
    def run(_arguments: JsonObject, _caller: Caller) -> ToolResult:
        raise error

    return run


def test_an_error_of_ours_becomes_its_code_and_message_without_the_detail() -> None:
    result = call(tool(run=failing(CacheMissingError("/home/someone/secret", hint="look elsewhere"))))
    assert result.text == '{"error":{"code":"cache_missing","message":"Cache does not exist"}}\n'
    assert (result.is_error, result.code, result.structured) == (True, "cache_missing", None)


@pytest.mark.parametrize("surprise", [RuntimeError("/home/someone/secret"), TimeoutError(), RecursionError()])
def test_what_nobody_foresaw_becomes_the_failure_that_the_tool_declares(surprise: Exception) -> None:
    assert call(tool(run=failing(surprise))).text == '{"error":{"code":"internal_error","message":"Internal error"}}\n'
    assert call(tool(run=failing(surprise), failure=DiskError)).code == "io_error"


def test_a_surprise_leaves_its_trace_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    call(tool(run=failing(RuntimeError("the reason"))))
    assert "the reason" in caplog.text
    assert "Traceback" in caplog.text


def test_an_interrupt_is_not_swallowed() -> None:
    with pytest.raises(KeyboardInterrupt):
        call(tool(run=failing(KeyboardInterrupt())))


def test_an_unknown_tool_raises() -> None:
    with pytest.raises(UnknownToolError, match="'nope'"):
        asyncio.run(Catalog([]).call("nope", {}, ANYONE))


def test_of_a_call_of_an_unknown_tool_nothing_waits_for_the_garbage_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        with suppress(UnknownToolError):
            Catalog([]).call("nope", {}, ANYONE).send(None)
        assert [each for each in gc.get_objects() if isinstance(each, UnknownToolError)] == []
    finally:
        gc.enable()


def test_tools_stand_in_the_order_of_their_capabilities() -> None:
    catalog = Catalog([Capability("b", tools=[tool("z"), tool("y")]), Capability("a", tools=[tool("x")])])
    assert [each.name for each in catalog.tools] == ["z", "y", "x"]


def test_instructions_have_a_line_for_each_capability_that_has_something_to_say() -> None:
    catalog = Catalog([Capability("a", guidance="Use a."), Capability("b"), Capability("c", guidance="Then c.")])
    assert catalog.instructions.splitlines()[1:] == ["Use a.", "Then c."]


def test_whoever_listens_hears_of_changes_and_only_of_changes() -> None:
    capability = Capability("a", tools=[tool("old")])
    catalog = Catalog([capability])
    heard: list[list[str]] = []
    unsubscribe = catalog.changed.subscribe(lambda: heard.append([each.name for each in catalog.tools]))
    replacement = tool("new")
    capability.replace_tools([replacement])
    capability.replace_tools([replacement])
    unsubscribe()
    capability.replace_tools([])
    assert heard == [["new"]]
    assert catalog.tools == ()


def test_whoever_listens_hears_nothing_of_a_tool_that_looks_the_same_and_the_new_one_is_run() -> None:
    capability = Capability("a", tools=[tool(run=lambda _arguments, _caller: ToolResult.of_text("old"))])
    catalog = Catalog([capability])
    heard: list[bool] = []
    catalog.changed.subscribe(lambda: heard.append(True))
    capability.replace_tools([tool(run=lambda _arguments, _caller: ToolResult.of_text("new"))])
    assert heard == []
    assert asyncio.run(catalog.call("echo", {}, ANYONE)).text == "new"


def test_a_changed_schema_is_the_one_that_counts() -> None:
    capability = Capability("a", tools=[tool(input_schema={"type": "object"})])
    catalog = Catalog([capability])
    assert not asyncio.run(catalog.call("echo", {"x": 1}, ANYONE)).is_error
    capability.replace_tools([tool(input_schema={"type": "object", "additionalProperties": False})])
    assert asyncio.run(catalog.call("echo", {"x": 1}, ANYONE)).is_error


def test_two_tools_cannot_share_a_name() -> None:
    with pytest.raises(ValueError, match="share a name"):
        Catalog([Capability("a", tools=[tool()]), Capability("b", tools=[tool()])])


def test_a_definition_shows_what_is_declared_and_nothing_else() -> None:
    bare = {"name": "echo", "title": "Echo", "description": "The tool echo", "inputSchema": {"type": "object"}}
    assert tool().definition() == bare
    full = tool(output_schema={"type": "object"}, annotations={"readOnlyHint": True}).definition()
    assert full == {**bare, "outputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}

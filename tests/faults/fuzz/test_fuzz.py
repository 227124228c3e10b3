"""Any bytes at all, to everything that reads some: found by chance, by rules, by a fuzzer, or by hand.

Bounded runs take the same examples every time; the long form takes its own, from the seed.
"""

import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from tests.faults.fuzz.targets import TARGETS
from tests.faults.scale import IS_LONG, SEED, record, scaled

from contexthall.caches import capability as caches
from contexthall.contexts import capability as contexts
from contexthall.contexts.draft.languages import go, python
from contexthall.contexts.draft.languages.language import SourceOutline
from contexthall.contexts.files.context_file import read_value
from contexthall.core import limits
from contexthall.core.errors import ContextCorruptError, SettingsError
from contexthall.core.ignore import parse_rules
from contexthall.core.wildmatch import expression
from contexthall.guild import capability as guild
from contexthall.hall import open_hall
from contexthall.protocol.messages import Request, parse_message, request_line

CORPUS = Path(__file__).parent / "corpus"
CASES = sorted(path for path in CORPUS.rglob("*") if path.is_file())
SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "context.resolve": caches.RESOLVE_INPUT,
    "context.list_caches": caches.LIST_INPUT,
    "context.inspect_cache": caches.INSPECT_INPUT,
    "list_contexts": contexts.LIST_INPUT,
    "check_freshness": contexts.CHECK_INPUT,
    "query_context": contexts.QUERY_INPUT,
    "guild_find_tools": guild.FIND_INPUT,
    "guild_describe_tool": guild.DESCRIBE_INPUT,
    "guild_call_tool": guild.CALL_INPUT,
}
ODD_TEXTS = (
    *("", ".", "..", "/", "handbook", "empty", "src", "src/deep", "broken", "newer", "zoo__echo", "summary", "fresh"),
    *("../x", "/etc", "\0", "\ud800", "a\nb", "x" * 5000, "src/../..", "\u202e", "~", "%2e%2e", "keys rotate", "ẞ İ"),
)
ODD_NUMBERS = (0, 1, -1, 2**31, 2**63 - 1, 2**63, 10**99, 10**4000, 4000.0, 1.5, -0.0, 1e308, float("inf"))
EXPENSIVE = {"forged_index": 6} | dict.fromkeys(
    ("served_lines", "source_file", "cache_index", "cache_manifest", "cache_document"), 4
)
"""So many times fewer examples of what takes its time."""

odd_values: SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.sampled_from(ODD_TEXTS) | st.sampled_from(ODD_NUMBERS) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(ODD_TEXTS), inner, max_size=4),
    max_leaves=8,
)


def examples(amount: int) -> Callable[[Any], Any]:
    """Say how many examples a test takes, the same ones in every bounded run."""

    def limited(test: Any) -> Any:
        chosen = settings(
            max_examples=scaled(amount // 4, amount, amount * 10),
            derandomize=not IS_LONG,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        return chosen(seed(SEED)(test) if IS_LONG else test)

    return limited


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    """What is logged about so many faults is nothing that anybody would read."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_what_was_found_once_is_not_found_again(case: Path) -> None:
    TARGETS[case.parent.name](case.read_bytes())


def test_every_target_has_cases_and_every_case_a_target() -> None:
    assert {case.parent.name for case in CASES} == TARGETS.keys()


LARGE: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "a line of 17 MiB, then another": ("served_lines", lambda: b"x" * (17 << 20)),
    "a request of 15 MiB": (
        "served_lines",
        lambda: b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%b"}}' % (b"x" * (15 << 20)),
    ),
    "100,000 lists in a request": ("served_lines", lambda: b"[" * 100_000 + b"]" * 100_000),
    "a number of a million digits": (
        "served_lines",
        lambda: b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":%b}}' % (b"9" * 1_000_000),
    ),
    "10,000 empty lines and no message": ("served_lines", lambda: b"\n \r\n" * 10_000),
    "20,000 directives behind line feeds": (
        "context_yaml",
        lambda: b"".join(b"%%TAG !a%d! x\n" % number for number in range(20_000)) + b"--- a",
    ),
    "40,000 directives behind carriage returns": (
        "context_yaml",
        lambda: b"".join(b"%%TAG !a%d! x\r" % number for number in range(40_000)) + b"--- a",
    ),
    "aliases of aliases": (
        "context_yaml",
        lambda: b"a0: &a0 [x]\n" + b"".join(b"a%d: &a%d [*a%d,*a%d]\n" % (n, n, n - 1, n - 1) for n in range(1, 60)),
    ),
    "a million open lists in a context": ("context_yaml", lambda: b"[" * 1_000_000),
    "a million open keys in a context": ("context_yaml", lambda: b"? " * 500_000),
    "a context of one line": ("context_yaml", lambda: b"version: 1\nscope: " + b"x" * 1_040_000),
    "a pattern of stars": ("ignore_rules", lambda: b"*a" * 20_000 + b"b\n\0" + b"a" * 4000),
    "a pattern of brackets": (
        "ignore_rules",
        lambda: b"[a-z]*" * 5_000 + b"\n" + b"[" * 50_000 + b"\n\0" + b"a" * 4000,
    ),
    "a pattern of steps": ("ignore_rules", lambda: b"**/" * 20_000 + b"x\n\0" + b"a/" * 2000),
    "200,000 patterns": ("ignore_rules", lambda: b"a?b*\n" * 200_000 + b"\0axbc"),
    "deep plugin": ("plugin_manifest", lambda: b'{"mcp":' * 100_000),
    "a dotted key of 300,000 parts": ("project_manifest", lambda: b"a." * 300_000 + b"a=1"),
    "open brackets in source": ("source_file", lambda: b"(" * 200_000),
    "open angles in source": ("source_file", lambda: b"a<" * 100_000),
    "a heading of 100,000 marks": ("project_manifest", lambda: b"#" * 100_000 + b"[" * 50_000 + b"<" * 50_000),
    "deep tools": ("tools_list", lambda: b'{"version":"1","tools":' + b'[{"a":' * 50_000),
    "deep answers": (
        "member_lines",
        lambda: b'{"jsonrpc":"2.0","id":1,"result":{"a":' + b"[" * 900 + b"]" * 900 + b"}}",
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_what_is_made_to_take_for_ever_takes_no_time(name: str) -> None:
    target, made = LARGE[name]
    TARGETS[target](made())


def test_a_file_that_keeps_a_parser_busy_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It recovers from an error at every other byte, for minutes, and never asks for more of the file."""
    monkeypatch.setattr(limits, "SOURCE_CLOCK_SECONDS", 0.1)
    assert go.GO.read(b"/*" * 100_000 + b'"""' * 50_000) == SourceOutline(is_parsed=False)


def test_a_small_file_that_keeps_a_parser_busy_is_given_up_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """No case of the corpus: with the real time-out it takes 20 s, and so does whatever is made of it."""
    monkeypatch.setattr(limits, "SOURCE_CLOCK_SECONDS", 0.1)
    assert python.PYTHON.read(b"-;" * 8191) == SourceOutline(is_parsed=False)


@pytest.mark.parametrize("line_end", ["\n", "\r", "\r\n"])
def test_directives_are_counted_whatever_ends_a_line(line_end: str) -> None:
    """On 100,000 of them libyaml would spend the time that 10,000,000,000 comparisons take."""
    text = line_end.join([*(f"%TAG !a{number}! x" for number in range(100)), "--- a"])
    with pytest.raises(ContextCorruptError, match="too many directives"):
        read_value(text.encode())


def test_no_ignore_file_makes_more_expressions_than_can_be_kept() -> None:
    """What is plain costs nothing, so all of it counts, whatever else is in the file."""
    lines_of_a_bomb = [
        *(f"a{number}?*" for number in range(20_000)),
        *("[!a]*" * 800 for _ in range(100)),
        "plain",
        "*.end",
    ]
    rules = parse_rules(["\n".join(lines_of_a_bomb).encode()])
    assert rules is not None
    assert len(rules._expressions) <= limits.IGNORE_WILDCARD_RULES
    assert [rules.judge(name, name, is_directory=False) for name in ("a7xy", "plain", "x.end")] == [True, True, True]
    assert len(expression(b"[!a]" * 100, by_path=False)) < 3000


def test_settings_that_are_made_to_take_for_ever_are_refused(tmp_path: Path) -> None:
    for text in ("a." * 300_000 + "a = 1", "#" * 100_000):
        (tmp_path / "contexthall.toml").write_text(text)
        with pytest.raises(SettingsError, match="too large to be settings"):
            open_hall(str(tmp_path))


def test_long_integers_are_passed_on_and_endless_ones_are_not() -> None:
    """Some tool of a member may know what to do with a number that none of ours does."""
    long, endless = b"9" * 4000, b"9" * 4301
    line = b'{"jsonrpc":"2.0","id":%b,"method":"tools/call","params":{"x":%b,"y":%b}}' % (long, long, endless)
    request = parse_message(line)
    assert isinstance(request, Request)
    assert request_line(request.id, request.method, request.params) == line.replace(endless, b"null") + b"\n"


@st.composite
def mutated(draw: st.DrawFn, target: str) -> bytes:
    """Something like a case of the corpus, or anything else."""
    cases = [case.read_bytes() for case in CASES if case.parent.name == target]
    data = bytearray(draw(st.sampled_from([*cases, b""])))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.integers(0, 8)))
        data[at:end] = draw(st.binary(max_size=8) | st.sampled_from([bytes(data[at : at + 40]), *cases]))
    return bytes(data)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("target", TARGETS)
def test_any_bytes_are_read_or_refused(target: str) -> None:
    tried = 0

    @examples(120 // EXPENSIVE.get(target, 1))
    @given(data=mutated(target))
    def check(data: bytes) -> None:
        nonlocal tried
        tried += 1
        TARGETS[target](data)

    check()
    record("fuzzing", f"{target}: examples", tried)


@st.composite
def arguments(draw: st.DrawFn, schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a schema asks for, or nearly so."""
    given_arguments = {}
    for name, wanted in schema["properties"].items():
        if draw(st.integers(0, 9)) < (8 if name in schema.get("required", ()) else 4):
            given_arguments[name] = draw(st.one_of(fitting(wanted), fitting(wanted), odd_values))
    if draw(st.integers(0, 19)) == 0:
        given_arguments[draw(st.sampled_from(ODD_TEXTS))] = draw(odd_values)
    return given_arguments


def fitting(schema: Mapping[str, Any]) -> SearchStrategy[Any]:
    """Values that fit a schema, odd ones among them."""
    match schema:
        case {"enum": values}:
            return st.sampled_from(values)
        case {"type": "string"}:
            return st.sampled_from(ODD_TEXTS) | st.text(max_size=40)
        case {"type": "integer"}:
            return st.sampled_from(ODD_NUMBERS) | st.integers(0, 100)
        case {"type": "boolean"}:
            return st.booleans()
        case {"type": "array", "items": items}:
            return st.lists(fitting(items), max_size=5)
    return st.dictionaries(st.sampled_from(ODD_TEXTS), odd_values, max_size=3)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("tool", SCHEMAS)
def test_arguments_that_fit_a_schema_or_nearly_so_get_an_answer_of_the_contract(tool: str) -> None:
    tried = 0

    @examples(40)
    @given(given_arguments=arguments(SCHEMAS[tool]))
    def check(given_arguments: dict[str, Any]) -> None:
        nonlocal tried
        tried += 1
        TARGETS["tool_arguments"](spelt([tool, given_arguments]))

    check()
    record("fuzzing", f"arguments of {tool}: examples", tried)


SOUND: Mapping[str, dict[str, Any]] = {
    "context.resolve": {"cache": "handbook", "query": "keys", "budget": 100},
    "context.list_caches": {},
    "context.inspect_cache": {"cache": "handbook"},
    "list_contexts": {},
    "check_freshness": {"scope": "src"},
    "query_context": {"scope": "src"},
    "guild_find_tools": {"query": "gives"},
    "guild_describe_tool": {"name": "zoo__echo"},
    "guild_call_tool": {"name": "zoo__echo"},
}


@pytest.mark.parametrize("tool", SCHEMAS)
def test_one_odd_argument_among_sound_ones_gets_an_answer_of_the_contract(tool: str) -> None:
    odd: list[object] = [*ODD_TEXTS, *ODD_NUMBERS, None, True, [], {}, ["\ud800"]]
    for name in SCHEMAS[tool]["properties"]:
        for value in odd:
            TARGETS["tool_arguments"](spelt([tool, SOUND[tool] | {name: value}]))


def spelt(value: object) -> bytes:
    """JSON in ASCII; infinity as the number that reads so."""
    return json.dumps(value).replace("Infinity", "1e999").encode()


@pytest.mark.timeout(600)
@examples(60)
@given(
    messages=st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "jsonrpc": st.just("2.0") | odd_values,
                "id": st.integers(0, 3) | odd_values,
                "method": st.sampled_from(
                    ("ping", "initialize", "tools/list", "tools/call", "notifications/initialized", "server/discover")
                )
                | odd_values,
                "params": st.fixed_dictionaries(
                    {},
                    optional={
                        "name": st.sampled_from([*SCHEMAS]) | odd_values,
                        "arguments": odd_values,
                        "_meta": odd_values,
                        "cursor": odd_values,
                        "protocolVersion": st.just("2025-11-25") | odd_values,
                        "capabilities": odd_values,
                        "clientInfo": odd_values,
                    },
                )
                | odd_values,
                "result": odd_values,
                "error": odd_values,
            },
        ),
        max_size=6,
    )
)
def test_messages_that_are_nearly_right_are_answered_one_by_one(messages: list[dict[str, Any]]) -> None:
    TARGETS["served_lines"](b"\n".join(map(spelt, messages)))

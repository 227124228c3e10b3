"""The command line, the catalog and the server give the same bytes, on a root that holds everything odd."""

import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from tests.caches.making import build_cache
from tests.contract import oracle
from tests.processes import RawServer, run_context

from contexthall.faces.cli.table import run

GOOD = '{"cache_version":"sha256:ab","document_count":2}'

LISTING = (
    '{"caches":['
    '{"path":"%(root)sa cache","has_manifest":true},'
    '{"path":"%(root)sboolean count","has_manifest":true},'
    '{"path":"%(root)scorrupt","has_manifest":true},'
    '{"path":"%(root)sempty","has_manifest":false},'
    '{"path":"%(root)slinked manifest","has_manifest":false},'
    '{"path":"%(root)sno count","has_manifest":true},'
    '{"path":"%(root)sübersicht","has_manifest":true}'
    "]}"
)
INSPECTIONS = {
    "a cache": '{"cache_version":"sha256:ab","document_count":2,"total_bytes":52,"valid":true}',
    "boolean count": '{"cache_version":"v","document_count":0,"total_bytes":43,"valid":false}',
    "corrupt": '{"cache_version":"","document_count":0,"total_bytes":1,"valid":false}',
    "empty": '{"cache_version":"","document_count":0,"total_bytes":0,"valid":false}',
    "linked manifest": '{"cache_version":"","document_count":0,"total_bytes":0,"valid":false}',
    "no count": '{"cache_version":"v","document_count":0,"total_bytes":21,"valid":false}',
    "übersicht": '{"cache_version":"sha256:ab","document_count":2,"total_bytes":48,"valid":true}',
}
MISSING = '{"error":{"code":"cache_missing","message":"Cache does not exist"}}\n'
ABSENT = ["a file", "", ".", "..", "a cache/..", "a link", "/nowhere", "nul\0", "no such cache"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    manifests = {
        "a cache": GOOD,
        "boolean count": '{"cache_version":"v","document_count":true}',
        "corrupt": "{",
        "no count": '{"cache_version":"v"}',
        "übersicht": GOOD,
    }
    for name, manifest in manifests.items():
        (root / name).mkdir(parents=True)
        (root / name / "manifest.json").write_text(manifest)
    (root / "a cache" / "index.json").write_text("1234")
    (root / "empty").mkdir()
    (root / "a file").write_text("x")
    (tmp_path / "outside").mkdir()
    (root / "a link").symlink_to(tmp_path / "outside")
    (root / "linked manifest").mkdir()
    (root / "linked manifest" / "manifest.json").symlink_to(root / "a cache" / "manifest.json")
    return root


def call_over_mcp(server: RawServer, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = server.request(1, "tools/call", {"name": name, "arguments": arguments})["result"]
    return result


def test_listings(root: Path) -> None:
    with RawServer("--cache-root", str(root), cwd=root.parent) as server:
        server.initialize()
        for arguments, prefix in (({}, ""), ({"root": str(root)}, f"{root}/"), ({"root": "root/"}, f"{root}/")):
            result = call_over_mcp(server, "context.list_caches", arguments)
            expected = LISTING % {"root": prefix}
            assert result["content"] == [{"type": "text", "text": expected}]
            assert result["structuredContent"] == json.loads(expected)
            flags = [f"--{name}={value}" for name, value in arguments.items()]
            typed = run_context("caches", "--cache-root", str(root), *flags, cwd=root.parent)
            assert typed.stdout == expected.encode() + b"\n"
            called = run_context(
                "call",
                "context.list_caches",
                "--cache-root",
                str(root),
                "--json",
                json.dumps(arguments),
                cwd=root.parent,
            )
            assert called.stdout == typed.stdout


def test_inspections(root: Path) -> None:
    with RawServer("--cache-root", str(root), cwd=root.parent) as server:
        server.initialize()
        for name, expected in INSPECTIONS.items():
            for spelling in (name, str(root / name)):
                result = call_over_mcp(server, "context.inspect_cache", {"cache": spelling})
                assert result["content"] == [{"type": "text", "text": expected}]
                assert result["structuredContent"] == json.loads(expected)
                assert not result["isError"]
            typed = run_context("inspect", "--cache-root", str(root), "--cache", name, cwd=root.parent)
            assert json.dumps(json.loads(typed.stdout), separators=(",", ":")) == expected
            assert typed.stdout.decode() == json.dumps(json.loads(expected), indent=2) + "\n"


def test_what_is_not_there(root: Path) -> None:
    with RawServer("--cache-root", str(root), cwd=root.parent) as server:
        server.initialize()
        for cache in ABSENT:
            result = call_over_mcp(server, "context.inspect_cache", {"cache": cache})
            assert (result["content"][0]["text"], result["isError"]) == (MISSING, True)
            assert "structuredContent" not in result
        for missing in ("nowhere", "root/a file", ""):
            result = call_over_mcp(server, "context.list_caches", {"root": missing})
            assert (result["content"][0]["text"], result["isError"]) == (MISSING, True)


def test_a_confined_server_shows_only_its_own_root(root: Path) -> None:
    with RawServer("--cache-root", str(root), "--confine", cwd=root.parent) as server:
        server.initialize()
        outside = str(root.parent / "outside")
        for name, arguments in (
            ("context.list_caches", {"root": outside}),
            ("context.list_caches", {"root": ".."}),
            ("context.inspect_cache", {"cache": outside}),
            ("context.inspect_cache", {"cache": f"{root}/a link"}),
            ("context.inspect_cache", {"cache": f"{root}/../outside"}),
        ):
            assert call_over_mcp(server, name, arguments)["content"][0]["text"] == MISSING
        assert not call_over_mcp(server, "context.inspect_cache", {"cache": f"{root}/empty"})["isError"]


def test_a_root_that_was_named_and_is_not_there_is_an_io_error(tmp_path: Path) -> None:
    io_error = '{"error":{"code":"io_error","message":"I/O error occurred"}}\n'
    with RawServer(cwd=tmp_path, env={"CONTEXT_CACHE_ROOT": "nowhere"}) as server:
        server.initialize()
        result = call_over_mcp(server, "context.list_caches", {})
        assert (result["content"][0]["text"], result["isError"]) == (io_error, True)
    with RawServer(cwd=tmp_path) as server:
        server.initialize()
        assert call_over_mcp(server, "context.list_caches", {})["content"][0]["text"] == '{"caches":[]}'


def test_the_bytes_do_not_depend_on_hash_seed_or_locale(root: Path) -> None:
    seen = {
        run_context("caches", "--root", "root", cwd=root.parent, env={"PYTHONHASHSEED": seed, "LC_ALL": locale}).stdout
        for seed in ("0", "1")
        for locale in ("C", "C.UTF-8", "tr_TR.UTF-8")
    }
    assert seen == {(LISTING % {"root": f"{root}/"}).encode() + b"\n"}


def test_a_name_that_is_not_utf8_is_shown_with_a_replacement_character(tmp_path: Path) -> None:
    os.mkdir(os.fsencode(tmp_path) + b"/caf\xe9")
    shown = run_context("caches", "--cache-root", ".", cwd=tmp_path).stdout
    assert shown == '{"caches":[{"path":"caf\ufffd","has_manifest":false}]}\n'.encode()


CORPUS = {
    "Keys.md": 'Rotate the "keys"\t\\ every month.\n',
    "übersicht/straße.md": "ΟΔΟΣ straße 😀\u2028new\x1fline\x7f",
    "empty.md": "",
    "copy.md": 'Rotate the "keys"\t\\ every month.\n',
    "long.md": "rotate " * 300,
}
queries = st.lists(
    st.sampled_from(["rotate", "ΟΔΟΣ", '"keys"', "\\", "😀", "\x1f", "absent", "\n", "ROTATE"]), max_size=5
)
requests = st.lists(st.tuples(queries.map(" ".join), st.sampled_from([0, 1, 9, 10, 20, 4000, 2**63 - 1])), max_size=3)


def test_resolve_gives_the_same_bytes_over_mcp_and_on_the_command_line(tmp_path: Path) -> None:
    build_cache(tmp_path, CORPUS, name="handbook")
    with RawServer("--cache-root", str(tmp_path), cwd=tmp_path) as server:
        server.initialize()

        @hypothesis.settings(max_examples=25)
        @hypothesis.given(requests)
        def check(asked: list[tuple[str, int]]) -> None:
            for query, budget in asked:
                arguments = {"cache": "handbook", "query": query, "budget": budget}
                result = call_over_mcp(server, "context.resolve", arguments)
                expected = oracle.resolve(CORPUS, query, budget)
                assert result == {"content": [{"type": "text", "text": expected}], "isError": False}
                with redirected_output() as printed:
                    run(["resolve", "--cache", str(tmp_path / "handbook"), f"--query={query}", f"--budget={budget}"])
                    typed = printed()
                assert typed == expected.encode()

        check()
        process = run_context("resolve", "--cache", "handbook", "--query", "rotate 😀", "--budget", "40", cwd=tmp_path)
        assert process.stdout == oracle.resolve(CORPUS, "rotate 😀", 40).encode()


@contextmanager
def redirected_output() -> Iterator[Callable[[], bytes]]:
    captured = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with redirect_stdout(captured):
        yield captured.buffer.getvalue


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"query": 5, "budget": -1, "cache": 5}, "invalid_query"),
    ({"budget": 1, "cache": "handbook"}, "invalid_query"),
    ({"query": "a", "budget": True, "cache": 5}, "invalid_budget"),
    ({"query": "a", "budget": "-4", "cache": "handbook"}, "invalid_budget"),
    ({"query": "a", "budget": 2**63, "cache": "handbook"}, "invalid_budget"),
    ({"query": "a", "budget": 1, "cache": "nowhere"}, "cache_missing"),
    ({"query": "a", "budget": 1, "cache": "empty"}, "cache_invalid"),
]


def test_faults_of_resolve_have_the_codes_of_the_contract(tmp_path: Path) -> None:
    build_cache(tmp_path, CORPUS, name="handbook")
    (tmp_path / "empty").mkdir()
    with RawServer("--cache-root", str(tmp_path), cwd=tmp_path) as server:
        server.initialize()
        for arguments, code in FAULTS:
            result = call_over_mcp(server, "context.resolve", arguments)
            assert result["isError"]
            text = result["content"][0]["text"]
            assert text.endswith("}\n")
            assert json.loads(text)["error"]["code"] == code
        plain = call_over_mcp(server, "context.resolve", {"query": "a", "budget": 1})
        assert (plain["content"][0]["text"], plain["isError"]) == ("Missing argument 'cache'", True)
        for budget in (40.0, "40"):
            whole = call_over_mcp(server, "context.resolve", {"query": "a", "budget": budget, "cache": "handbook"})
            assert whole["content"][0]["text"] == oracle.resolve(CORPUS, "a", 40)
        usual = call_over_mcp(server, "context.resolve", {"query": "a", "cache": "handbook"})
        assert usual["content"][0]["text"] == oracle.resolve(CORPUS, "a", 4000)

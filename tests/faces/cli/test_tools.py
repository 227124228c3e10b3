import json
from pathlib import Path

import pytest

from contexthall.faces.cli.table import run


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / ".context" / "caches" / "5"
    cache.mkdir(parents=True)
    (cache / "manifest.json").write_text('{"cache_version":"v","document_count":1}')
    monkeypatch.chdir(tmp_path)


ANSWER = '{"cache_version":"v","document_count":1,"total_bytes":40,"valid":true}\n'


def test_tools_shows_every_tool_and_what_it_costs(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["tools"]) == 0
    header, *rows, total = capfd.readouterr().out.splitlines()
    assert header.split() == ["TOKENS", "TOOL"]
    names = ["context.resolve", "context.read", "context.outline", "context.list_caches", "context.inspect_cache"]
    names += ["context.brief", "list_contexts", "check_freshness", "query_context", "(instructions)"]
    assert [row.split()[1] for row in rows] == names
    assert int(total.split()[0]) == sum(int(row.split()[0]) for row in rows)


def test_the_cost_is_a_token_for_four_bytes(capfd: pytest.CaptureFixture[str]) -> None:
    run(["tools", "--json"])
    first = json.loads(capfd.readouterr().out)["tools"][0]
    size = len(json.dumps(first, separators=(",", ":"), ensure_ascii=False).encode())
    run(["tools"])
    assert int(capfd.readouterr().out.splitlines()[1].split()[0]) == -(-size // 4)


def test_tools_of_a_toolset_without_tools(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["tools", "--toolsets", "guild", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["tools"] == []


@pytest.mark.parametrize("arguments", [["--arg", "cache=5"], ["--json", '{"cache": "5"}']])
def test_call_prints_the_text_of_the_answer(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["call", "context.inspect_cache", *arguments]) == 0
    assert capfd.readouterr() == (ANSWER, "")


def test_call_without_arguments(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["call", "context.list_caches"]) == 0
    assert capfd.readouterr().out == '{"caches":[{"path":"5","has_manifest":true}]}\n'


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--arg", "cache=nowhere"], 4, '{"error":{"code":"cache_missing","message":"Cache does not exist"}}\n'),
        (["--json", '{"cache": 5}'], 9, "Invalid argument 'cache': 5 is not of type 'string'\n"),
        (["--arg", "cache=5", "--arg", "more=[1]"], 9, "Unknown argument 'more'\n"),
        (["--arg", "cache=5", "--arg", "more=not json"], 9, "Unknown argument 'more'\n"),
        ([], 9, "Missing argument 'cache'\n"),
    ],
)
def test_an_error_goes_to_standard_error_and_decides_the_exit_code(
    arguments: list[str], code: int, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["call", "context.inspect_cache", *arguments]) == code
    assert capfd.readouterr() == ("", words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["call", "nope"], "error[usage]: Unknown tool: 'nope'\n\nhint: list the tools with `context tools`\n"),
        (["call", "context.inspect_cache", "--arg", "cache"], "error[usage]: Cannot do that: --arg cache\n"),
        (["call", "context.inspect_cache", "--json", "{"], "error[usage]: Cannot do that: --json is not JSON"),
        (["call", "context.inspect_cache", "--json", "[]"], "error[usage]: Cannot do that: --json must be an object"),
        (["call", "context.inspect_cache", "--json", "{}", "--arg", "a=b"], "error[usage]: Cannot do that: --arg and"),
        (["tools", "--toolsets", "all"], "error[usage]: Bad setting: --toolsets must name some of caches,"),
    ],
)
def test_what_was_typed_wrong_is_said(arguments: list[str], words: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(words)


def test_a_confined_call_may_not_leave_the_roots(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "outside").mkdir()
    outside = ["call", "context.inspect_cache", "--arg", f"cache={tmp_path}/outside"]
    assert run(outside) == 0
    assert run([*outside, "--confine"]) == 4
    assert run([*outside, "--confine", "--allow-root", "outside"]) == 0
    assert "cache_missing" in capfd.readouterr().err

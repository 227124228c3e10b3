"""`context activity` shows what agents did in halls that serve, whichever process that was."""

import json
from pathlib import Path

import pytest
from tests.processes import RawServer

from contexthall.faces.cli.table import run


def test_a_call_of_an_agent_is_shown_with_who_and_what(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["activity"]) == 0
    assert capfd.readouterr().err == "no call is on record\n"
    with RawServer(cwd=tmp_path) as server:
        server.initialize()
        server.request(
            2, "tools/call", {"name": "context.resolve", "arguments": {"cache": "none", "query": "secret plan"}}
        )
        server.request(3, "tools/call", {"name": "context.list_caches", "arguments": {}})
    assert run(["activity", "--json"]) == 0
    first, second = map(json.loads, capfd.readouterr().out.splitlines())
    assert (first["tool"], first["outcome"], first["cache"]) == ("context.resolve", "error", "none")
    assert (second["tool"], second["outcome"]) == ("context.list_caches", "ok")
    assert first["client"] == second["client"] != ""
    assert run(["activity"]) == 0
    shown = capfd.readouterr().out
    assert "secret plan" not in shown
    assert [line.split()[1] for line in shown.splitlines()] == ["error", "ok"]
    assert run(["activity", "--tools"]) == 0
    assert "1 call" in capfd.readouterr().out

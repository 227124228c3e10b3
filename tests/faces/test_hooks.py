"""Hooks tell an agent the right thing once, and never stop it."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.contexts.making import make_project, write_context, write_files
from tests.processes import run_context

from contexthall import open_hall
from contexthall.clients.hook_events import HOOK_CLIENTS, is_loaded
from contexthall.contexts.files.claims import text_digest
from contexthall.core import limits
from contexthall.faces.hooks.entry import respond
from contexthall.system.disk import Disk

SCORE = "import math\n\n\n@cache\ndef rank(x):\n    return x\n\n\ndef other():\n    pass\n"
RANK = "@cache\ndef rank(x):\n    return x"


def shop(root: Path) -> Path:
    make_project(root, {"README.md": "Shop.", "src/main.py": "", "src/core/score.py": SCORE, "src/core/b.py": ""})
    write_context(root, ".", more="constraints:\n  - No network.\n")
    write_context(root / "src" / "core", "src/core", more="constraints:\n  - Integers only.\n")
    claim = f"constraints/{text_digest('Integers only.')}"
    cited = {"claim": claim, "path": "src/core/score.py", "symbol": "rank", "digest": text_digest(RANK)}
    (root / ".context.lock").write_text(json.dumps({"scope": "src/core", "citations": [cited]}) + "\n")
    return root


def event(root: Path, tool: str = "Read", path: object = "src/core/score.py", **more: object) -> dict[str, Any]:
    values = {"session_id": "s", "cwd": str(root), "tool_name": tool, "tool_input": {"file_path": path}}
    return values | more


def ask(root: Path, name: str, values: object, client: str = "claude-code", home: Path | None = None) -> str:
    environment = {"HOME": str(home or root.parent / "home")}
    data = values if isinstance(values, bytes) else json.dumps(values).encode()
    return respond(HOOK_CLIENTS[client], name, data, environment, Disk())


def test_the_start_tells_the_root_and_the_first_read_the_rest_once(tmp_path: Path) -> None:
    root = shop(tmp_path / "p")
    start = ask(root, "SessionStart", event(root, source="startup"))
    assert "No network." in start
    assert "Integers only." not in start
    read = ask(root, "PreToolUse", event(root))
    assert read.startswith("What people want known before you work on src/core/:\n")
    assert "- constraint | src/core/.context.yaml | holds: Integers only.\n" in read
    assert "No network." not in read
    assert ask(root, "PreToolUse", event(root)) == ""
    assert ask(root, "PreToolUse", event(root, "Edit", "src/core/b.py")) == ""
    assert ask(root, "PreToolUse", event(root, "Edit", "src/main.py")) == ""


@pytest.mark.parametrize("other", [{"session_id": "t"}, {"agent_id": "helper"}])
def test_another_session_or_agent_is_told_for_itself(other: dict[str, str], tmp_path: Path) -> None:
    root = shop(tmp_path / "p")
    first = ask(root, "PreToolUse", event(root))
    assert "No network." in first
    assert ask(root, "PreToolUse", event(root, **other)) == first
    assert ask(root, "PreToolUse", event(root, **other)) == ""


@pytest.mark.parametrize(("source", "is_told_again"), [("compact", True), ("clear", True), ("resume", False)])
def test_whoever_lost_what_it_was_told_is_told_again(source: str, is_told_again: bool, tmp_path: Path) -> None:
    root = shop(tmp_path / "p")
    told = ask(root, "SessionStart", event(root, source="startup")), ask(root, "PreToolUse", event(root))
    again = ask(root, "SessionStart", event(root, source=source)), ask(root, "PreToolUse", event(root))
    assert again == (told if is_told_again else ("", ""))


def test_of_parallel_calls_one_is_told(tmp_path: Path) -> None:
    root = shop(tmp_path / "p")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(root, "PreToolUse", event(root)), range(16)))
    assert [bool(each) for each in answers].count(True) == 1


def test_an_edit_names_the_claims_that_no_longer_hold_once(tmp_path: Path) -> None:
    root = shop(tmp_path / "p")
    edit = event(root, "Edit")
    assert ask(root, "PostToolUse", edit) == ""
    (root / "src/core/score.py").write_text(SCORE.replace("import math\n\n\n", "").replace("pass", "return 1"))
    assert ask(root, "PostToolUse", edit) == ""
    (root / "src/core/score.py").write_text(SCORE.replace("return x", "return x / 2"))
    assert ask(root, "PostToolUse", edit) == (
        "Check whether this still holds, and mend the code or the claim: "
        "constraint “Integers only.” of src/core/ (src/core/score.py#rank changed)."
    )
    assert ask(root, "PostToolUse", edit) == ""
    assert "NO LONGER HOLDS: src/core/score.py#rank changed" in ask(root, "PreToolUse", event(root, session_id="t"))


def test_a_claim_that_was_said_to_hold_again_is_named_again(tmp_path: Path) -> None:
    root = shop(tmp_path / "p")
    for text in ("return x / 2", "return x / 3"):
        (root / "src/core/score.py").write_text(SCORE.replace("return x", text))
        assert "Integers only." in ask(root, "PostToolUse", event(root, "Edit"))
        assert ask(root, "PostToolUse", event(root, "Edit")) == ""
        open_hall(root).rehash_contexts(["src/core"])
        assert ask(root, "PostToolUse", event(root, "Edit")) == ""


def test_an_edit_elsewhere_names_the_claims_that_cite_the_file(tmp_path: Path) -> None:
    root = shop(tmp_path / "p")
    claim = f"constraints/{text_digest('No network.')}"
    lines = [
        {"scope": ".", "citations": [{"claim": claim, "path": "docs/net.md", "digest": "00000000"}]},
        {"scope": "src/core", "citations": [{"claim": claim, "path": "src/main.py", "digest": "00000000"}]},
    ]
    write_context(root / "src" / "core", "src/core", more="constraints:\n  - No network.\n")
    (root / ".context.lock").write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = ask(root, "PostToolUse", event(root, "Write", "src/main.py"))
    assert "of the project (docs/net.md is gone)" in said
    assert "of src/core/ (src/main.py changed)" in said


def test_rule_files_that_the_client_loads_are_left_out_but_for_what_is_gone(tmp_path: Path) -> None:
    root = shop(tmp_path / "p")
    write_files(root, {"CLAUDE.md": "Kind. @AGENTS.md `src/old.py`", "AGENTS.md": "Ours.", ".cursor/rules/a.mdc": "Hm"})
    said = ask(root, "SessionStart", event(root))
    assert "CLAUDE.md names what is not there: src/old.py is gone" in said
    assert "Kind." not in said
    assert "Ours." not in said
    assert "Ours." in ask(root, "SessionStart", event(root), "gemini-cli")


@pytest.mark.parametrize(
    ("client", "path", "started", "expected"),
    [
        ("claude-code", "src/CLAUDE.md", ".", True),
        ("claude-code", ".claude/rules/a.md", ".", True),
        ("claude-code", "AGENTS.md", ".", False),
        ("codex", "AGENTS.md", ".", True),
        ("codex", "src/AGENTS.md", ".", False),
        ("codex", "src/AGENTS.md", "src/core", True),
        ("gemini-cli", "AGENTS.md", ".", False),
    ],
)
def test_what_a_client_loads_itself(client: str, path: str, started: str, expected: bool) -> None:
    assert is_loaded(HOOK_CLIENTS[client], path, started) is expected


@pytest.mark.parametrize(
    ("client", "name", "tool", "tool_input"),
    [
        ("codex", "PreToolUse", "apply_patch", {"command": "*** Begin Patch\n*** Update File: src/core/b.py\n@@\n"}),
        ("codex", "PreToolUse", "Bash", {"command": "sed -n 1,9p src/core/b.py | head"}),
        ("codex", "PreToolUse", "Bash", {"command": ["bash", "-lc", "cat src/core/b.py"]}),
        ("gemini-cli", "AfterTool", "read_file", {"file_path": "src/core/b.py"}),
        ("gemini-cli", "AfterTool", "replace", {"file_path": "src/core/b.py", "old_string": "", "new_string": "x"}),
        ("gemini-cli", "AfterTool", "read_many_files", {"include": ["src/core/b.py"]}),
        ("claude-code", "PreToolUse", "NotebookEdit", {"notebook_path": "src/core/b.ipynb"}),
    ],
)
def test_the_tools_of_each_client_name_their_paths(
    client: str, name: str, tool: str, tool_input: dict[str, Any], tmp_path: Path
) -> None:
    root = shop(tmp_path / "p")
    assert "Integers only." in ask(root, name, event(root, tool, tool_input=tool_input), client)


def test_gemini_forgets_when_it_compresses(tmp_path: Path) -> None:
    root = shop(tmp_path / "p")
    read = event(root, "read_file")
    told = ask(root, "AfterTool", read, "gemini-cli")
    assert ask(root, "AfterTool", read, "gemini-cli") == ""
    assert ask(root, "PreCompress", event(root), "gemini-cli") == ""
    assert ask(root, "AfterTool", read, "gemini-cli") == told != ""


@pytest.mark.parametrize(
    "values",
    [
        {"tool_name": "Unknown"},
        {"tool_name": None},
        {"tool_input": {"file_path": "/etc/passwd"}},
        {"tool_input": {"file_path": "../other/x.py"}},
        {"tool_input": {"file_path": "leads-out/x.py"}},
        {"tool_input": {"file_path": ["src"]}},
        {"tool_input": {"file_path": "a\0b"}},
        {"tool_input": {"file_path": ""}},
        {"tool_input": {"file_path": "x" * 100_000}},
        {"tool_input": "src/core/score.py"},
        {"tool_input": {}},
        {"session_id": 7},
        {"session_id": ""},
    ],
)
def test_odd_events_are_answered_with_nothing(values: dict[str, Any], tmp_path: Path) -> None:
    root = shop(tmp_path / "p")
    (root / "leads-out").symlink_to(tmp_path)
    assert ask(root, "PreToolUse", event(root) | values) == ""


def test_half_of_a_character_in_a_path_is_left_out(tmp_path: Path) -> None:
    root = shop(tmp_path / "p")
    said = ask(root, "PreToolUse", event(root, path="src/core/\ud800new.py"))
    assert "Integers only." in said


def test_a_new_file_in_a_new_directory_is_briefed_like_the_one_above(tmp_path: Path) -> None:
    root = shop(tmp_path / "p")
    assert "Integers only." in ask(root, "PreToolUse", event(root, "Write", "src/core/new/deep/x.py"))


def test_where_nothing_can_be_remembered_nothing_is_said(tmp_path: Path) -> None:
    root = shop(tmp_path / "p")
    (tmp_path / "no-home").write_text("a file")
    assert ask(root, "PreToolUse", event(root), home=tmp_path / "no-home") == ""


def test_a_project_that_nobody_wrote_about_is_not_spoken_of(tmp_path: Path) -> None:
    root = tmp_path / "p"
    make_project(root, {"a.py": ""})
    assert ask(root, "SessionStart", event(root)) == ""
    assert ask(root, "PreToolUse", event(root, path="a.py")) == ""
    assert ask(root, "PostToolUse", event(root, "Edit", "a.py")) == ""


@pytest.mark.parametrize("content", [b"<<<<<<< ours\n{}\n", b'{"scope":".","interface":"9:00000000"}\n', b"\xff" * 99])
def test_an_odd_lock_stops_nothing(content: bytes, tmp_path: Path) -> None:
    root = shop(tmp_path / "p")
    (root / ".context.lock").write_bytes(content)
    assert "Integers only." in ask(root, "PreToolUse", event(root))


def test_a_project_is_found_from_a_directory_in_it(tmp_path: Path) -> None:
    root = shop(tmp_path / "p")
    said = ask(root, "PreToolUse", event(root, path="score.py", cwd=str(root / "src" / "core")))
    assert "No network." in said
    assert "Integers only." in said


def test_only_so_many_sessions_are_remembered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(limits, "TOLD_SESSIONS", 3)
    root = shop(tmp_path / "p")
    for number in range(6):
        assert ask(root, "PreToolUse", event(root, session_id=str(number)))
    assert len(list((tmp_path / "home" / ".cache" / "contexthall" / "told").iterdir())) == 3
    assert ask(root, "PreToolUse", event(root, session_id="5")) == ""


def test_the_command_answers_in_the_clients_format(tmp_path: Path) -> None:
    root = shop(tmp_path / "p")
    home = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": ""}
    command = [sys.executable, "-P", "-m", "contexthall", "hook", "claude-code", "PreToolUse"]
    given: dict[str, Any] = {"input": json.dumps(event(root)).encode(), "capture_output": True, "cwd": tmp_path}
    answer = subprocess.run(command, env={**os.environ, **home}, check=True, **given)
    output = json.loads(answer.stdout)["hookSpecificOutput"]
    assert output["hookEventName"] == "PreToolUse"
    assert "Integers only." in output["additionalContext"]
    again = subprocess.run(command, env={**os.environ, **home}, check=True, **given)
    assert (again.stdout, again.stderr) == (b"", b"")


@pytest.mark.parametrize("arguments", [[], ["nobody", "X"], ["claude-code"], ["claude-code", "Stop"]])
def test_a_person_who_types_it_is_told_how(arguments: list[str], tmp_path: Path) -> None:
    answer = run_context("hook", *arguments, cwd=tmp_path)
    assert (answer.returncode, answer.stdout) == (0, b"")
    assert b"is one of" in answer.stderr


def test_no_click_and_no_parser_is_loaded() -> None:
    program = (
        "import sys, contexthall.faces.hooks.speech, contexthall.faces.hooks.entry\n"
        "print(*{'click', 'mcp', 'tree_sitter', 'jsonschema', 'anyio', 'asyncio'} & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, check=True, text=True)
    assert answer.stdout == "\n"


@pytest.mark.parametrize("path", ["../outside.py", "/etc/passwd", "link.py", "src/gone.py", "src", "a\0b"])
def test_a_citation_that_leads_to_no_file_of_the_project_does_not_hold(path: str, tmp_path: Path) -> None:
    root = shop(tmp_path / "p")
    (tmp_path / "outside.py").write_text("def rank(x): ...\n")
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    claim, digest = f"constraints/{text_digest('Integers only.')}", text_digest("def rank(x): ...")
    for symbol in ("", "rank"):
        cited = {"claim": claim, "path": path, "symbol": symbol, "digest": digest}
        (root / ".context.lock").write_text(json.dumps({"scope": "src/core", "citations": [cited]}) + "\n")
        said = ask(root, "PreToolUse", event(root, session_id=symbol or "whole"))
        assert f"NO LONGER HOLDS: {path}{'#' + symbol if symbol else ''} is gone" in said

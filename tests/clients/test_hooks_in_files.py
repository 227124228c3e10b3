"""Hooks are put beside those of others in the project's file, once, and taken out without a trace."""

import json
from pathlib import Path

import pytest
from tests.clients.making import of, refusal, register_in
from tests.processes import run_context

from contexthall.clients.hook_events import HOOK_CLIENTS, groups
from contexthall.clients.hooks import with_hooks, without_hooks
from contexthall.core.errors import UsageError

CLAUDE = HOOK_CLIENTS["claude-code"]
COMMAND = "/opt/python -P -m contexthall hook claude-code"
THEIRS = """{
  // Ours, ask before you change it.
  "permissions": {"allow": ["Read"]},
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Bash", // guarded
        "hooks": [{"type": "command", "command": "./guard.sh", "timeout": 5}]
      }
    ],
    "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]
  }
}
"""


@pytest.mark.parametrize(
    "text",
    [
        THEIRS,
        '{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[]}],"SessionStart":[]}}',
        '{\n\t"hooks": {\n\t\t"PostToolUse": [\n\t\t\t{"hooks": []},\n\t\t\t{"hooks": []}\n\t\t]\n\t}\n}',
        '{"model": "x"}\n',
        "{\n}\n",
    ],
)
def test_they_are_put_in_once_and_taken_out_without_a_trace(text: str) -> None:
    written = with_hooks(text, CLAUDE, COMMAND)
    hooks = json.loads("\n".join(line.partition(" //")[0] for line in written.split("\n")))["hooks"]
    assert {event: hooks[event][-1] for event in groups(CLAUDE, COMMAND)} == groups(CLAUDE, COMMAND)
    assert with_hooks(written, CLAUDE, COMMAND) == written
    assert without_hooks(written, CLAUDE) in {text, text.replace(',"SessionStart":[]', "")}


def test_another_command_takes_the_place_of_ours_only() -> None:
    written = with_hooks(with_hooks(THEIRS, CLAUDE, COMMAND), CLAUDE, "'/my tools/context' hook claude-code")
    assert written.count("contexthall hook") == 0
    assert written.count("'/my tools/context' hook claude-code") == 3
    assert without_hooks(written, CLAUDE) == THEIRS


def test_hooks_of_others_between_ours_stay() -> None:
    ours = groups(CLAUDE, COMMAND)["PreToolUse"]
    text = json.dumps({"hooks": {"PreToolUse": [ours, {"matcher": "Bash", "hooks": []}, ours]}})
    assert json.loads(without_hooks(text, CLAUDE)) == {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": []}]}}


@pytest.mark.parametrize("text", ['{"hooks": []}', '{"hooks": {"PreToolUse": {}}}', "[]", "{"])
def test_a_file_of_another_shape_is_refused(text: str) -> None:
    assert refusal(lambda: with_hooks(text, CLAUDE, COMMAND)) != "changed"


@pytest.mark.parametrize("name", HOOK_CLIENTS)
def test_the_projects_file_is_written_and_undone(name: str, tmp_path: Path) -> None:
    register, file = register_in(tmp_path), tmp_path / "shop" / HOOK_CLIENTS[name].file
    change = register.connect_hooks(of(name), f"/opt/context hook {name}")
    assert (change.file, change.is_needed) == (str(file), True)
    assert {kind.name for kind in HOOK_CLIENTS[name].kinds} == set(json.loads(file.read_text())["hooks"])
    assert not register.connect_hooks(of(name), f"/opt/context hook {name}").is_needed
    assert register.disconnect_hooks(of(name)).is_needed
    assert not file.exists()
    assert not register.disconnect_hooks(of(name)).is_needed


def test_a_client_without_hooks_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no hooks of Cursor are known"):
        register_in(tmp_path).connect_hooks(of("cursor"), "x")


def test_a_file_that_leads_out_of_the_project_is_not_written(tmp_path: Path) -> None:
    register = register_in(tmp_path)
    (tmp_path / "settings.json").write_text("{}")
    (tmp_path / "shop" / ".claude").mkdir()
    (tmp_path / "shop" / ".claude" / "settings.json").symlink_to(tmp_path / "settings.json")
    with pytest.raises(UsageError, match="leads out of the project"):
        register.connect_hooks(of("claude-code"), COMMAND)


def test_the_command_writes_nothing_but_the_projects_file(tmp_path: Path) -> None:
    project, home = tmp_path / "shop", {"HOME": str(tmp_path)}
    project.mkdir()
    assert run_context("connect", "claude-code", "--hooks", cwd=project, env=home).returncode == 0
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()] == [
        "shop/.claude/settings.json"
    ]
    answer = run_context("connect", "claude-code", "--hooks", "--remove", cwd=project, env=home)
    assert b"took the hooks out of" in answer.stderr
    assert not (project / ".claude" / "settings.json").exists()

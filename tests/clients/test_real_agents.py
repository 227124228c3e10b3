"""Real agents with a scripted model: what their hooks and the hall tell the model is read in what they send it.

Nothing but this machine is reached: the model listens on loopback, and the key is none.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.clients.scripted_model import Call, ScriptedModel, Turn, serving
from tests.contexts.making import write_files
from tests.machine import must_be_here
from tests.processes import run_context

REPOSITORY = Path(__file__).parents[2]
INSTALLED = REPOSITORY / ".clients"
PROGRAMS = INSTALLED / "node_modules" / ".bin"
PATIENCE_SECONDS = 100
SCORE = "def rank(x):\n    return x\n\n\ndef other():\n    return 0\n"
SENTENCE = "constraint “Integers only.” of src/core/ (src/core/score.py#rank changed)"

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    must_be_here((INSTALLED / "installed").exists(), "NO CLIENTS: they are not installed; type `make clients`")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Give a project with drafted contexts, two notes of people, and a cache."""
    shop = tmp_path / "shop"
    write_files(shop, {"README.md": "# Shop\n\nSells.\n", "src/core/score.py": SCORE, "src/core/more.py": "X = 1\n"})
    write_files(shop, {"docs/keys.md": "# Keys\n\nRotate keys every ninety days.\n"})
    type_context(shop, "init", "--no-agents")
    type_context(shop, "note", ".", "--constraint", "No network.")
    type_context(shop, "note", "src/core", "--constraint", "Integers only.", "--cite", "src/core/score.py#rank")
    type_context(shop, "build", "--sources", "docs", "--cache", ".context/caches/handbook")
    return shop


def type_context(shop: Path, *words: str) -> None:
    answer = run_context(*words, cwd=shop, env={"HOME": str(shop.parent), "CODEX_HOME": "", "XDG_CACHE_HOME": ""})
    assert answer.returncode == 0, answer.stderr


def run_agent(shop: Path, command: list[str], **more: str) -> None:
    nowhere = "http://127.0.0.1:9"
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), nowhere)
    path = os.pathsep.join([str(PROGRAMS), os.path.dirname(sys.executable), os.environ["PATH"]])
    environment = {"HOME": str(shop.parent), "PATH": path, "NO_PROXY": "127.0.0.1", **proxies, **more}
    answer = subprocess.run(
        command,
        cwd=shop,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr


def run_claude(shop: Path, script: list[Turn]) -> ScriptedModel:
    """Have Claude Code work in the shop with a model that plays a script; return the model."""
    model = ScriptedModel(script)
    quiet = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1"}
    tools = "Read Edit ToolSearch mcp__context-hall"
    command = ["claude", "-p", "Mend the shop.", "--mcp-config", str(shop / ".mcp.json"), "--strict-mcp-config"]
    options = ["--allowedTools", tools, "--permission-mode", "acceptEdits", "--output-format", "json"]
    with serving(model) as address:
        run_agent(shop, command + options, ANTHROPIC_BASE_URL=address, ANTHROPIC_API_KEY="dummy-not-a-key", **quiet)
    assert len(model.questions) == len(script) + 1
    return model


def hall_tool(name: str) -> str:
    return f"mcp__context-hall__{name}"


def test_claude_code_is_briefed_once_before_the_first_edit_and_told_after_it(shop: Path) -> None:
    type_context(
        shop, "connect", "claude-code", "--write", "--hooks", "--guild", str(REPOSITORY / "examples" / "guild-members")
    )
    score, more = str(shop / "src/core/score.py"), str(shop / "src/core/more.py")
    edit = {"file_path": score, "old_string": "    return x\n", "new_string": "    return x / 2\n"}
    asked: list[tuple[str, dict[str, Any]]] = [
        ("context_resolve", {"cache": "handbook", "query": "How often are keys rotated?"}),
        ("query_context", {"scope": "src/core", "filter": ["constraints"]}),
        ("echo__echo", {"text": "through the hall"}),
    ]
    names = ",".join(hall_tool(name) for name, _ in asked)
    model = run_claude(
        shop,
        [
            [Call("Read", {"file_path": score}), Call("Read", {"file_path": more})],
            [Call("Edit", edit)],
            [Call("ToolSearch", {"query": f"select:{names}"})],
            [Call(hall_tool(name), arguments) for name, arguments in asked],
        ],
    )
    start, read, edited, *_, last = (model.told(number) for number in range(len(model.questions)))
    assert start.count("- constraint | .context.yaml: No network.") == 1
    assert "Integers only." not in start
    assert read.count("- constraint | src/core/.context.yaml | holds: Integers only.") == 1
    assert SENTENCE not in read
    assert edited.count(SENTENCE) == 1
    assert last.count("- constraint | .context.yaml: No network.") == 1
    assert last.count("- constraint | src/core/.context.yaml | holds: Integers only.") == 1
    assert "2 Python files" not in edited  # which the draft says of src/core
    assert "Rotate keys every ninety days." in last
    assert '"constraints":["Integers only."]' in last
    assert "through the hall" in last


def test_codex_is_briefed_when_it_reads_and_told_after_an_edit(shop: Path) -> None:
    type_context(shop, "connect", "codex", "--hooks")
    read = Call("exec_command", {"cmd": "cat src/core/score.py", "login": False})
    edit = Call("exec_command", {"cmd": "sed -i 's/return x/return x * 2/' src/core/score.py", "login": False})
    model = ScriptedModel([[read], [edit]])
    home = shop.parent / ".codex"
    home.mkdir()
    with serving(model) as address:
        (home / "config.toml").write_text(
            'model = "gpt-5"\nmodel_provider = "scripted"\n\n[model_providers.scripted]\nname = "scripted"\n'
            f'base_url = "{address}/v1"\nwire_api = "responses"\nrequires_openai_auth = false\n\n'
            f"[projects.{json.dumps(str(shop))}]\n" + 'trust_level = "trusted"\n'
        )
        command = ["codex", "exec", "--skip-git-repo-check", "--sandbox", "danger-full-access"]
        run_agent(shop, [*command, "--dangerously-bypass-hook-trust", "Mend the shop."])
    start, read_it, patched = (model.told(number) for number in range(3))
    assert start.count("- constraint | .context.yaml: No network.") == 1
    assert read_it.count("- constraint | src/core/.context.yaml | holds: Integers only.") == 1
    assert SENTENCE not in read_it
    assert patched.count("- constraint | src/core/.context.yaml | holds: Integers only.") == 1
    assert patched.count(SENTENCE) == 1

"""What a newcomer tries first works, and is what the examples say it is."""

import json
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.guild.making import write_cache
from tests.processes import RawServer, run_context

from contexthall import open_hall
from contexthall.clients.register import CLIENTS

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_the_tools_of_a_slow_member_are_listed_and_only_a_call_waits_for_it(tmp_path: Path) -> None:
    directory = tmp_path / "guild-members" / "thesaurus"
    shutil.copytree(EXAMPLES / "guild-members" / "thesaurus", directory, ignore=shutil.ignore_patterns("tools-cache*"))
    write_cache(directory, *runpy.run_path(str(directory / "thesaurus.py"))["TOOLS"], version="0.1.0")
    read_for(directory / "plugin.json", seconds=0.5)
    with RawServer("--guild", "guild-members", "--guild-refresh", "never", cwd=tmp_path) as server:
        server.initialize()
        assert "thesaurus__synonyms" in {tool["name"] for tool in server.request(1, "tools/list")["result"]["tools"]}
        assert open_hall(guild=directory.parent).guild.log_of("thesaurus") == ""
        assert asked(server, "Quick") == (False, "fast, fleet, hasty, rapid, swift")
        assert asked(server, "hall") == (True, "The book does not have hall.")


def read_for(manifest: Path, *, seconds: float) -> None:
    """Have the thesaurus read for a shorter time than it does by itself."""
    values = json.loads(manifest.read_text())
    assert float(values["mcp"]["env"]["READING_SECONDS"]) > seconds
    values["mcp"]["env"]["READING_SECONDS"] = str(seconds)
    manifest.write_text(json.dumps(values))


def asked(server: RawServer, word: str) -> tuple[bool, str]:
    params = {"name": "thesaurus__synonyms", "arguments": {"word": word}}
    result = server.request(word, "tools/call", params)["result"]
    return result["isError"], result["content"][0]["text"]


@pytest.mark.parametrize("name", sorted(path.parent.name for path in EXAMPLES.glob("guild-members/*/plugin.json")))
def test_a_member_refuses_what_it_does_not_know_and_goes_on(name: str, tmp_path: Path) -> None:
    directory = EXAMPLES / "guild-members" / name
    launch = json.loads((directory / "plugin.json").read_text())["mcp"]
    command = (launch["command"], *(str(directory / argument) for argument in launch["args"]))
    with RawServer(cwd=tmp_path, command=command, env={"READING_SECONDS": "0"}) as server:
        assert server.initialize("1999-01-01")["protocolVersion"] == "2025-11-25"
        assert server.request(1, "no/such/method")["error"]["code"] == -32601
        assert server.request(2, "ping")["result"] == {}
        assert server.request(3, "tools/list")["result"]["tools"]
        server.close_input()
        assert server.wait() == 0


def test_the_shop_has_a_context_that_a_person_wrote_and_init_leaves_it_alone(tmp_path: Path) -> None:
    left_out = shutil.ignore_patterns("AGENTS.md", "__pycache__")
    shutil.copytree(EXAMPLES / "shop", tmp_path / "shop", ignore=left_out)
    written = tmp_path / "shop" / "shop" / ".context.yaml"
    for drafted in {*(tmp_path / "shop").rglob(".context.yaml")} - {written}:
        drafted.unlink()
    before = written.read_bytes()
    assert run_context("init", "--path", "shop", cwd=tmp_path).returncode == 0
    assert written.read_bytes() == before
    shown = json.loads(run_context("show", "shop", "--json", "--path", "shop", cwd=tmp_path).stdout)
    assert shown["state"] == "fresh"
    people_wrote = {"summary", "decisions", "constraints"}
    assert people_wrote <= shown["context"].keys()
    assert not people_wrote & set(shown["context"]["derived_fields"])
    assert run_context("validate", "--strict", "--path", "shop", cwd=tmp_path).returncode == 0


def test_drafting_the_shop_anew_gives_what_is_there(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "shop", tmp_path / "shop", ignore=shutil.ignore_patterns("AGENTS.md", "__pycache__"))
    drafted = run_context("regen", "shop", "--path", "shop", cwd=tmp_path, env={"SOURCE_DATE_EPOCH": "1790000000"})
    assert drafted.returncode == 0
    assert b"1 unchanged" in drafted.stderr


def test_the_handbook_is_found_by_what_one_would_ask(tmp_path: Path) -> None:
    built = run_context("build", "--sources", str(EXAMPLES / "handbook"), "--cache", "handbook", cwd=tmp_path)
    assert built.returncode == 0
    questions = {
        "How often do we rotate keys?": "security.md#rotate-keys",
        "How do I roll back a deployment?": "deployment.md#deployment",
        "Why is the database slow?": "runbooks/database.md#runbook-the-database-is-slow",
        "Clients are refused with 401": "runbooks/expired-keys.md#runbook-expired-keys",
        "What happens in my first week?": "onboarding.md#onboarding",
    }
    for question, best in questions.items():
        asked = ("resolve", "--cache", "handbook", "--query", question, "--budget", "300")
        answer = json.loads(run_context(*asked, cwd=tmp_path).stdout)
        assert answer["documents"][0]["id"] == best, question


def test_whoever_connects_an_agent_to_the_shop_as_the_readme_says_leaves_the_clone_clean() -> None:
    places = [client.place for client in CLIENTS.values() if client.place]
    files = [f"shop/{place.path}" for place in places if place.base == "project"]
    asked = ["git", "check-ignore", "--no-index", *files]
    assert subprocess.run(asked, cwd=EXAMPLES, capture_output=True, check=False, text=True).stdout.split() == files


def test_the_page_about_the_examples_names_each() -> None:
    named = set(re.findall(r"^\| `([\w/.-]+)` \|", (EXAMPLES / "README.md").read_text(), flags=re.MULTILINE))
    members = {f"guild-members/{path.parent.name}/" for path in EXAMPLES.glob("guild-members/*/plugin.json")}
    others = {f"{path.name}/" for path in EXAMPLES.iterdir() if path.is_dir() and not path.name.startswith((".", "_"))}
    assert named == members | others - {"guild-members/"} | {"run.py"}

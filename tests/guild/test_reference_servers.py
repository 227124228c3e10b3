"""Do servers that nobody here wrote feel at home in a guild? Reference servers of npm and PyPI, real clients in front.

What passes through the hall is compared with what the same server says when it is asked over its own pipes.
"""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest
from mcp import Client, StdioServerParameters
from tests.guild.making import write_cache
from tests.machine import must_be_here
from tests.processes import CONTEXT, PATIENCE_SECONDS, RawServer, free_port, is_listening
from tests.waiting import wait_until

from contexthall.guild.members.manifest import parse_manifest

INSTALLED = Path(__file__).parents[2] / ".members"
FROM_NPM = INSTALLED / "npm" / "node_modules" / "@modelcontextprotocol"
FROM_PYPI = INSTALLED / "venv" / "bin"
CLIENT = Path(__file__).parent / "zoo" / "client.mjs"
VERSION = "1.0.0"

pytestmark = pytest.mark.long
# Of those of server-everything one answers only as a task, and is not passed on.
AS_TASK = "simulate-research-query"
HOW_MANY = {"everything": 13, "filesystem": 14, "git": 12, "memory": 9, "time": 2}
OVER_HTTP = ("node", str(FROM_NPM / "server-everything" / "dist" / "index.js"), "streamableHttp")

# Notes the process that becomes the server in the file that it is given as `$0`.
NOTING = 'echo $$ >>"$0"; exec "$@"'

Tool: TypeAlias = dict[str, Any]
Definitions: TypeAlias = dict[str, list[Tool]]


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    must_be_here((INSTALLED / "installed").exists(), "NO MEMBERS: they are not installed; type `make members`")


def commands(place: Path) -> dict[str, tuple[str, ...]]:
    """How each server is started, on the files in `place`."""
    return {
        "everything": ("node", str(FROM_NPM / "server-everything" / "dist" / "index.js"), "stdio"),
        "filesystem": ("node", str(FROM_NPM / "server-filesystem" / "dist" / "index.js"), str(place / "files")),
        "git": (str(FROM_PYPI / "mcp-server-git"), "--repository", str(place / "repository")),
        "memory": ("node", str(FROM_NPM / "server-memory" / "dist" / "index.js")),
        "time": (str(FROM_PYPI / "mcp-server-time"), "--local-timezone=UTC"),
    }


def furnish(place: Path) -> None:
    """Make what the servers are about: files and a repository."""
    (place / "files").mkdir()
    (place / "files" / "a.txt").write_text("a file\n")
    subprocess.run(["git", "init", "--quiet", str(place / "repository")], check=True)
    (place / "started").mkdir()


def make_guild(place: Path, cached: Definitions | None = None) -> Path:
    """A guild of all five; with their lists in the caches, if `cached` has them."""
    furnish(place)
    for name, command in commands(place).items():
        noting = ["-c", NOTING, str(place / "started" / name), *command]
        launch = {"command": "/bin/sh", "args": noting, "env": {"MEMORY_FILE_PATH": str(place / "memory.json")}}
        enrol(place / "guild" / name, name, {"mcp": launch})
        if cached is not None:
            write_cache(place / "guild" / name, *cached[name])
    return place / "guild"


def enrol(directory: Path, name: str, more: Mapping[str, Any]) -> None:
    """Enrol a server that may take its time to start: a test is about what it does."""
    directory.mkdir(parents=True)
    launch = {**more["mcp"], "startTimeoutSeconds": PATIENCE_SECONDS}
    manifest = {"name": name, "version": VERSION, **more, "mcp": launch}
    (directory / "plugin.json").write_text(json.dumps(manifest))


def enrol_over_http(directory: Path, note: Path) -> None:
    noting = ["-c", NOTING, str(note), "env", "PORT=${PORT}", *OVER_HTTP]
    enrol(directory, directory.name, {"transport": "http", "mcp": {"command": "/bin/sh", "args": noting}})


def started(place: Path) -> dict[str, list[int]]:
    """Who has been started, by name, as which processes."""
    return {note.name: [int(line) for line in note.read_text().split()] for note in (place / "started").iterdir()}


def still_alive(place: Path) -> list[str]:
    """Every process in the session of a server that was started, whoever is its parent by now."""
    sessions = {str(process) for processes in started(place).values() for process in processes}
    return [process for process, session in running() if session in sessions]


def running() -> Iterator[tuple[str, str]]:
    """Each process that runs, with its session; one that nobody has waited for yet does not run."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _parent, _group, session, *_ = stat.read_text().rsplit(") ", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state not in "ZX":
            yield stat.parent.name, session


def serve(place: Path, *more: str) -> RawServer:
    return RawServer("--guild", str(place / "guild"), *more, cwd=place)


def directly(place: Path, name: str) -> RawServer:
    """The server itself, spoken to over its own pipes."""
    env = {"MEMORY_FILE_PATH": str(place / "memory.json")}
    return RawServer(cwd=place, command=commands(place)[name], env=env)


def ask(server: RawServer, method: str, **params: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The answer, and the notifications that came before it."""
    server.send({"jsonrpc": "2.0", "id": "asked", "method": method, "params": params})
    notes = []
    while "id" not in (message := server.receive()):
        notes.append(message)
    assert message["id"] == "asked"
    return message, notes


def call(server: RawServer, tool: str, **arguments: Any) -> dict[str, Any]:
    answer, _ = ask(server, "tools/call", name=tool, arguments=arguments)
    return answer


def listed(server: RawServer) -> list[Tool]:
    answer, _ = ask(server, "tools/list")
    tools: list[Tool] = answer["result"]["tools"]
    return tools


def of_members(tools: Sequence[Tool]) -> dict[str, Tool]:
    return {tool["name"]: tool for tool in tools if "__" in tool["name"]}


def as_the_agent_sees(definitions: Definitions) -> dict[str, Tool]:
    return {
        f"{member}__{tool['name']}": {**tool, "name": f"{member}__{tool['name']}"}
        for member, tools in definitions.items()
        for tool in tools
        if tool["name"] != AS_TASK
    }


def first_start(place: Path, expected: int) -> tuple[list[Tool], list[Tool]]:
    """Serve until the agent has heard of that many tools; its first list and its last."""
    with serve(place) as hall:
        hall.initialize()
        answer, notes = ask(hall, "tools/list")
        first = last = answer["result"]["tools"]
        while len(of_members(last)) < expected:
            # A notification may have overtaken the list that it is about.
            assert (notes or [hall.receive()])[0]["method"] == "notifications/tools/list_changed"
            answer, notes = ask(hall, "tools/list")
            last = answer["result"]["tools"]
        hall.close_input()
        assert hall.wait() == 0
    return first, last


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> Definitions:
    """What each server lists when it is asked directly."""
    place = tmp_path_factory.mktemp("asked-directly")
    furnish(place)
    with ExitStack() as stack:
        servers = {name: stack.enter_context(directly(place, name)) for name in commands(place)}
        for server in servers.values():
            server.initialize()
        return {name: listed(server) for name, server in servers.items()}


def test_the_first_start_lists_all_their_tools_and_the_second_starts_only_whom_it_calls(
    tmp_path: Path, definitions: Definitions
) -> None:
    """REQ-MCP-TOOL-4 to 8: whole definitions, as the servers give them, seen first and then remembered."""
    assert {name: len(tools) for name, tools in definitions.items()} == HOW_MANY
    guild = make_guild(tmp_path)
    first, last = first_start(tmp_path, sum(HOW_MANY.values()) - 1)
    assert of_members(first) == {}
    assert of_members(last) == as_the_agent_sees(definitions)
    for name, tools in definitions.items():
        assert json.loads((guild / name / "tools-cache.json").read_text())["tools"] == tools
    starts = started(tmp_path)
    assert {name: len(processes) for name, processes in starts.items()} == dict.fromkeys(HOW_MANY, 1)
    wait_until(lambda: still_alive(tmp_path) == [])

    with serve(tmp_path, "--guild-refresh", "never") as hall:
        hall.initialize()
        assert listed(hall) == last
        assert started(tmp_path) == starts
        assert "result" in call(hall, "time__get_current_time", timezone="UTC")
        hall.close_input()
        assert hall.wait() == 0
    assert {name for name, processes in started(tmp_path).items() if processes != starts[name]} == {"time"}


def test_an_agent_calls_a_cached_tool_of_each_server_while_it_is_not_running(
    tmp_path: Path, definitions: Definitions
) -> None:
    """REQ-MCP-TOOL-20, custom validation 5: the call starts the server that it needs, and no other."""
    guild = make_guild(tmp_path, definitions)
    serving = [*CONTEXT[1:], "serve", "--guild", str(guild), "--guild-refresh", "never"]

    async def talk() -> None:
        with anyio.fail_after(2 * PATIENCE_SECONDS):
            async with Client(StdioServerParameters(command=CONTEXT[0], args=serving)) as client:
                told = {tool.name for tool in (await client.list_tools()).tools}
                assert as_the_agent_sees(definitions).keys() <= told
                assert f"everything__{AS_TASK}" not in told
                for count, (name, (tool, arguments, answer)) in enumerate(errands(tmp_path).items()):
                    assert len(started(tmp_path)) == count
                    result = await client.call_tool(f"{name}__{tool}", arguments)
                    assert not result.is_error
                    assert answer in str(result.content)
                    assert name in started(tmp_path)

    anyio.run(talk)
    assert [len(processes) for processes in started(tmp_path).values()] == [1] * len(HOW_MANY)
    wait_until(lambda: still_alive(tmp_path) == [])


def errands(place: Path) -> dict[str, tuple[str, dict[str, Any], str]]:
    """For each server a call that it can serve, and what the answer has in it."""
    return {
        "everything": ("echo", {"message": "hi"}, "Echo: hi"),
        "filesystem": ("read_text_file", {"path": str(place / "files" / "a.txt")}, "a file"),
        "git": ("git_status", {"repo_path": str(place / "repository")}, "No commits yet"),
        "memory": ("read_graph", {}, "entities"),
        "time": ("get_current_time", {"timezone": "UTC"}, "datetime"),
    }


def test_results_of_every_kind_and_progress_pass_through_as_the_server_gave_them(
    tmp_path: Path, definitions: Definitions
) -> None:
    make_guild(tmp_path, definitions)
    with serve(tmp_path, "--guild-refresh", "never") as hall, directly(tmp_path, "everything") as server:
        hall.initialize()
        server.initialize()
        for tool, arguments, kind in (
            ("get-tiny-image", {}, "image"),
            ("get-structured-content", {"location": "Chicago"}, "structuredContent"),
            ("get-resource-reference", {"resourceType": "Text", "resourceId": 1}, "resource"),
            ("get-resource-reference", {"resourceType": "Blob", "resourceId": 1}, "blob"),
            ("get-resource-links", {"count": 2}, "resource_link"),
            ("get-annotated-message", {"messageType": "error", "includeImage": True}, "annotations"),
            ("echo", {}, "isError"),
        ):
            expected, got = at_the_same_time(server, hall, tool, arguments)
            assert f'"{kind}"' in json.dumps(expected)
            assert got == expected
        slow = {"arguments": {"duration": 0.4, "steps": 4}, "_meta": {"progressToken": "mine"}}
        result, steps = with_progress(server, name="trigger-long-running-operation", **slow)
        assert [step["progress"] for step in steps] == [1, 2, 3, 4]
        assert with_progress(hall, name="everything__trigger-long-running-operation", **slow) == (result, steps)


def at_the_same_time(
    server: RawServer, hall: RawServer, tool: str, arguments: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What both answer in the same second, as some answers say what time it is."""
    for _ in range(10):
        before = call(server, tool, **arguments)["result"]
        got = call(hall, f"everything__{tool}", **arguments)["result"]
        if before == call(server, tool, **arguments)["result"]:
            return before, got
    pytest.fail(f"{tool} never answers the same twice")


def with_progress(server: RawServer, **params: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The result of a call, and the progress that was reported before it."""
    answer, notes = ask(server, "tools/call", **params)
    return answer["result"], [note["params"] for note in notes if note["method"] == "notifications/progress"]


def test_what_a_server_refuses_is_refused_in_its_own_words(tmp_path: Path, definitions: Definitions) -> None:
    forgotten = {"name": "nope", "description": "", "inputSchema": {"type": "object"}}
    make_guild(tmp_path, {**definitions, "time": [*definitions["time"], forgotten]})
    outside = {"path": str(tmp_path / "elsewhere")}
    with directly(tmp_path, "filesystem") as files, directly(tmp_path, "time") as clock:
        files.initialize()
        clock.initialize()
        denied = call(files, "read_text_file", **outside)["result"]
        unknown = call(clock, "nope")["error"]
    assert denied["isError"] is True
    with serve(tmp_path, "--guild-refresh", "never") as hall:
        hall.initialize()
        assert call(hall, "filesystem__read_text_file", **outside)["result"] == denied
        assert call(hall, "time__nope")["error"] == unknown


def test_no_server_outlives_a_hall_that_is_killed(tmp_path: Path, definitions: Definitions) -> None:
    """Those that read from a pipe see it close; the one that speaks HTTP would not notice."""
    guild = make_guild(tmp_path, definitions)
    enrol_over_http(guild / "web", tmp_path / "started" / "web")
    write_cache(guild / "web", *definitions["everything"])
    calls = {**errands(tmp_path), "web": errands(tmp_path)["everything"]}
    with serve(tmp_path, "--guild-refresh", "never") as hall:
        hall.initialize()
        for name, (tool, arguments, _) in calls.items():
            params = {"name": f"{name}__{tool}", "arguments": arguments}
            hall.send({"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": params})
        assert sorted(hall.receive()["id"] for _ in calls) == sorted(calls)
        assert {str(process) for [process] in started(tmp_path).values()} <= set(still_alive(tmp_path))
        hall.process.kill()
        wait_until(lambda: still_alive(tmp_path) == [])


def test_the_typescript_client_accepts_what_the_hall_says(tmp_path: Path, definitions: Definitions) -> None:
    """Its schemas refuse a malformed list, and structured content that is not what the tool's outputSchema says."""
    guild = make_guild(tmp_path, definitions)
    calls = [
        ("everything__get-structured-content", {"location": "Chicago"}),
        ("everything__get-annotated-message", {"messageType": "success", "includeImage": True}),
        ("filesystem__list_directory", {"path": str(tmp_path / "files")}),
        ("time__get_current_time", {"timezone": "UTC"}),
    ]
    serving = (*CONTEXT, "serve", "--guild", str(guild), "--guild-refresh", "never")
    said = subprocess.run(
        ["node", str(CLIENT), str(FROM_NPM / "sdk"), json.dumps(calls), *serving],
        cwd=tmp_path,
        capture_output=True,
        timeout=2 * PATIENCE_SECONDS,
        check=False,
    )
    assert said.returncode == 0, said.stderr.decode()
    told = json.loads(said.stdout)
    assert {tool["name"] for tool in told["tools"]} >= as_the_agent_sees(definitions).keys()
    assert ["isError" in result and result["isError"] for result in told["results"]] == [False] * len(calls)
    assert told["results"][0]["structuredContent"].keys() == {"temperature", "conditions", "humidity"}
    assert told["results"][2]["structuredContent"] == {"content": "[FILE] a.txt"}


def test_a_server_that_runs_elsewhere_is_reached_by_its_url_and_left_alone(
    tmp_path: Path, definitions: Definitions
) -> None:
    port = free_port()
    enrol(tmp_path / "guild" / "web", "web", {"mcp": {"url": f"http://127.0.0.1:{port}/mcp"}})
    with RawServer(cwd=tmp_path, command=OVER_HTTP, env={"PORT": str(port)}) as server:
        wait_until(lambda: is_listening(port))
        _, last = first_start(tmp_path, HOW_MANY["everything"] - 1)
        assert of_members(last) == as_the_agent_sees({"web": definitions["everything"]})
        assert server.process.poll() is None


def test_a_server_that_takes_its_port_from_the_environment_is_started_for_http(
    tmp_path: Path, definitions: Definitions
) -> None:
    (tmp_path / "started").mkdir()
    enrol_over_http(tmp_path / "guild" / "web", tmp_path / "started" / "web")
    write_cache(tmp_path / "guild" / "web", *definitions["everything"])
    asked = {"arguments": {"duration": 0.2, "steps": 2}, "_meta": {"progressToken": 7}}
    with serve(tmp_path, "--guild-refresh", "never") as hall:
        hall.initialize()
        assert call(hall, "web__echo", message="hi")["result"] == {"content": [{"type": "text", "text": "Echo: hi"}]}
        _, steps = with_progress(hall, name="web__trigger-long-running-operation", **asked)
        assert steps == [{"progressToken": 7, "progress": step, "total": 2} for step in (1, 2)]
        hall.close_input()
        assert hall.wait() == 0
    assert len(started(tmp_path)["web"]) == 1
    wait_until(lambda: still_alive(tmp_path) == [])


def test_the_recipes_of_the_documentation_start_what_is_installed() -> None:
    text = (INSTALLED.parent / "docs" / "guild.md").read_text().partition("\n## Connecting well-known servers\n")[2]
    recipes = [
        parse_manifest(found.encode())
        for found in re.findall(r"```json\n(.*?)```", text.partition("\n## ")[0], re.DOTALL)
    ]
    assert len(recipes) >= 5
    entries = [part for recipe in recipes for part in (recipe.launch.command, *recipe.launch.args)]
    paths = [part for part in entries if part.startswith(("node_modules/", ".venv/"))]
    assert len(paths) >= 3
    for path in paths:
        assert (INSTALLED / path.replace("node_modules/", "npm/node_modules/").replace(".venv/", "venv/")).exists()
    pinned = set(re.findall(r"[@=]([0-9.]+)", (INSTALLED.parent / "Makefile").read_text()))
    assert set(re.findall(r"[@=](20[0-9.]+)", text)) <= pinned

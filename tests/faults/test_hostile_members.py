"""No member passes for another, and no terminal, log or page obeys what others wrote."""

import ast
import json
import logging
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, expect
from tests.browser.making import chromium, visit
from tests.caches.making import build_cache
from tests.faces.web.serving import HttpHall
from tests.faults.scale import record
from tests.faults.terminal import shown
from tests.guild.making import make_member, tool, write_cache
from tests.processes import run_context

import contexthall
from contexthall.contexts.project import as_yaml
from contexthall.faces.cli.log import _LineFormatter
from contexthall.faces.cli.table import COMMANDS
from contexthall.guild.lists.naming import tool_names
from contexthall.hall import GuildChoice, open_hall

EVIL = (
    "\x1b[2J\x1b]52;c;ZXZpbA==\x07\x1b]8;;http://evil.example\x1b\\link\x1b]0;title\x07\x9b31m\x90q\x9c\x08\x7f\x0b\x0c\r"
    "\u202eesrever\u2066\u200f\u2028\u2029\u0085\U000e0041\ufeff\nerror[forged]: a line of its own"
)
FILE = EVIL.replace("/", "|")
"""The same as the name of a file."""
FOLDER = FILE[:80]
"""And as that of the folder that a hostile project has."""
MARKUP = (
    '"><img src=x onerror="window.taken=1"><script>window.taken=1</script><svg/onload=window.taken=1>'
    "<a href=javascript:window.taken=1>x</a>{{7*7}}<style>*{display:none}</style><base href=//evil.example>"
    '<iframe srcdoc="<script>parent.taken=1</script>"></iframe><form action=//evil.example><button>x</button></form>'
)
SOURCES = Path(contexthall.__file__).parent


def hostile_tool(evil: str, **more: Any) -> dict[str, Any]:
    properties = {evil: {"type": "string", "description": evil, "default": evil, "title": evil, "enum": [evil]}}
    return {
        **tool(evil, evil),
        "title": evil,
        "inputSchema": {"type": "object", "properties": properties, "description": evil, "required": [evil]},
        "outputSchema": {"type": "object", "properties": properties},
        "annotations": {"title": evil},
        "icons": [{"src": "javascript:window.taken=1", "mimeType": evil}],
        "_meta": {evil: evil},
        **more,
    }


def hostile_member(guild: Path, name: str, evil: str, *flags: str) -> Path:
    """A member that says it in every field of its manifest, its list, its answers and its log."""
    tools = guild.parent / f"{name}-tools.json"
    tools.write_text(json.dumps([hostile_tool(evil), tool("plain", evil), {"name": evil * 2, "inputSchema": evil}]))
    directory = make_member(guild, name, "--tools-file", str(tools), "--say", evil, *flags)
    manifest = json.loads((directory / "plugin.json").read_text())
    manifest |= {"displayName": evil, "description": evil, evil: evil}
    (directory / "plugin.json").write_text(json.dumps(manifest))
    write_cache(directory, hostile_tool(evil), tool("plain", "as it was approved"))
    liar = make_member(guild, f"{name}-liar")
    (liar / "plugin.json").write_text(json.dumps({**manifest, "name": evil, "version": evil, "transport": evil}))
    return directory


def hostile_project(root: Path, evil: str) -> None:
    """A project, its contexts, its documents and its cache, all of which say it."""
    file = evil.replace("/", "|")[:80]
    (root / file).mkdir(parents=True)
    fields = ("scope", "fingerprint", "last_updated", "summary", "maintenance", evil)
    context = as_yaml({"version": 1, **dict.fromkeys(fields, evil), "files": [{"name": evil, "purpose": evil}]})
    for folder in (root, root / file):
        (folder / f"{file}.py").write_text(f'"""{evil}"""\n\n\ndef run() -> None:\n    pass\n')
        (folder / ".context.yaml").write_text(context)
    (root / "broken").mkdir()
    (root / "broken" / ".context.yaml").write_text(f"version: 1\n{json.dumps(evil)}: [\n")
    (root / "broken" / "a.py").write_text("")
    (root / ".context" / "caches").mkdir(parents=True)
    build_cache(root / ".context" / "caches", {f"{file}.md": f"rotate {evil}"}, name="handbook")
    (root / ".context" / "caches" / file).mkdir()


def test_everything_is_printed_in_one_place() -> None:
    """Nothing else in the command line writes to a stream, so nothing goes around what makes it harmless."""
    writers = {"print", "echo", "secho", "write", "writelines", "echo_via_pager", "excepthook", "print_exc", "input"}
    found = {
        (path.name, name)
        for path in (SOURCES / "faces" / "cli").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and (name := getattr(node.func, "attr", getattr(node.func, "id", ""))) in writers
    }
    assert found == {("output.py", "echo")}


COMMANDS_SHOWN = (
    ["completion", "fish", "--", "context show "],
    ["completion", "zsh", "--", "context inspect --cache "],
    ["status"],
    ["status", "--json"],
    ["status", "--check"],
    ["show", "."],
    ["show", ".", "--json"],
    ["show", FILE],
    ["show", ".", "--field", FILE],
    ["validate", "--strict"],
    ["validate", "--json"],
    ["note", ".", "--constraint", FILE, "--cite", FILE],
    ["note", FILE, "--constraint", FILE],
    ["note", ".", "--constraint", FILE],
    ["check", "--changed", FILE],
    ["rehash", FILE],
    ["rehash", "--json"],
    ["regen", "--all", "--dry-run"],
    ["init", "--dry-run", "--json"],
    ["init", "--full"],
    ["brief", "."],
    ["brief", FILE],
    ["hook", FILE, FILE],
    ["setup", "--dry-run"],
    ["caches"],
    ["caches", "--root", FILE],
    ["caches", "--long"],
    ["caches", "--long", "--json"],
    ["inspect", "--cache", FILE],
    ["inspect", "--cache", "handbook"],
    ["resolve", "--cache", "handbook", "--query", f"rotate {FILE}", "--budget", "4000"],
    ["resolve", "--cache", "handbook", "--query", "rotate", "--budget", "4000", "--format", "pretty"],
    ["resolve", "--cache", "handbook", "--query", "rotate", "--budget", FILE],
    ["resolve", "--cache", "handbook", "--query", "rotate", "--budget", "9", "--why-not", FILE],
    ["refresh"],
    ["refresh", FILE],
    ["ask", f"rotate {FILE}", "--cache", "handbook"],
    ["read", FILE, "--cache", "handbook"],
    ["outline", "--cache", "handbook"],
    ["outline", FILE, "--cache", "handbook", "--format", "json"],
    ["verify", "--cache", "handbook"],
    ["push", "handbook", f"file://{FILE}"],
    ["pull", f"file://{FILE}", FILE],
    ["cluster", "up", "--workers", FILE],
    ["verify", "--cache", "broken cache"],
    ["verify", "--cache", "broken cache", "--json"],
    ["build", "--sources", "broken sources", "--cache", FILE],
    ["call", "context.list_caches"],
    ["call", "context.resolve", "--arg", "cache=handbook", "--arg", "query=rotate", "--arg", "budget=99"],
    ["call", "context.inspect_cache", "--arg", f"cache={FILE}"],
    ["call", "query_context", "--arg", "scope=."],
    ["call", FILE],
    ["call", "context.resolve", "--json", FILE],
    ["tools", "--guild", "guild"],
    ["tools", "--json", "--guild", "guild"],
    ["guild", "list", "--guild", "guild"],
    ["guild", "list", "--json", "--guild", "guild"],
    ["guild", "tools", "hostile", "--guild", "guild"],
    ["guild", "tools", "hostile", "--json", "--guild", "guild"],
    ["guild", "why", "hostile", "--guild", "guild"],
    ["guild", "refresh", "--guild", "guild"],
    ["guild", "refresh", "--json", "--guild", "guild"],
    ["guild", "why", "hostile", "--guild", "guild"],
    ["guild", "why", "hostile", "--json", "--guild", "guild"],
    ["guild", "logs", "hostile", "--guild", "guild"],
    ["guild", "call", "hostile", "plain", "--guild", "guild"],
    ["guild", "call", "hostile", "plain", "--raw", "--guild", "guild"],
    ["guild", "call", "faulty", "plain", "--guild", "guild"],
    ["guild", "call", "frail", "plain", "--guild", "guild"],
    ["guild", "call", FILE, FILE, "--guild", "guild"],
    ["guild", "approve", "hostile", "--guild", "guild"],
    ["guild", "disable", "hostile", FILE, "--guild", "guild"],
    ["activity"],
    ["guild", "add", FILE, "--guild", "guild", "--", FILE],
    ["guild", "list", "--guild", FILE],
    ["guild", "import", ".mcp.json", "--guild", "guild"],
    ["guild", "import", ".mcp.json", "--guild", "guild", "--json"],
    ["guild", "import", ".cursor/mcp.json", "--guild", "guild"],
    ["guild", "import", FILE, "--guild", "guild"],
    ["connect", "claude-code"],
    ["connect", "claude-code", "--write"],
    ["connect", "cursor", "--write"],
    ["connect", "codex", "--path", FOLDER],
    ["connect", "codex", "--name", FILE],
    ["connect", FILE],
    ["doctor", "--guild", "guild", "--port", "9"],
    ["doctor", "--guild", "guild", "--port", "9", "--no-start", "--json"],
    ["doctor", "--path", FOLDER, "--port", "9"],
    ["doctor", "--port", FILE],
    [FILE],
    ["status", f"--{FILE}"],
    ["show", "--path", FILE, "."],
)
WITH_LINES_OF_OTHERS = {"logs", "call", "show", "ask", "read", "outline"}
"""What they print is somebody's text: it has the lines that it has."""


def test_no_terminal_obeys_what_others_wrote(tmp_path: Path) -> None:
    root, guild = tmp_path / "p", tmp_path / "p" / "guild"
    hostile_project(root, EVIL)
    result, error = tmp_path / "result.json", tmp_path / "error.json"
    result.write_text(json.dumps({"content": [{"type": "text", "text": EVIL}, {"type": EVIL, "uri": EVIL}]}))
    error.write_text(json.dumps({"code": -32000, "message": EVIL, "data": EVIL}))
    hostile_member(guild, "hostile", EVIL, "--result-file", str(result))
    make_member(guild, "faulty", "--error-file", str(error))
    make_member(guild, "frail", "--die-in-call", "--say", EVIL)
    make_member(guild, FILE[:60], "--exit", "3", "--say", EVIL)
    _break_cache(root)
    _tell_clients(root)
    for command, (_, text) in zip(COMMANDS_SHOWN, shown(COMMANDS_SHOWN, root), strict=True):
        plain = re.sub(r"\x1b\[(?:0|1|36)m", "", text) if command[0] == "ask" else text  # which is in colour, by these
        obeyed = {each for each in plain if not each.isprintable() and each != "\n"}
        assert not obeyed, (command, obeyed, text)
        if not WITH_LINES_OF_OTHERS & set(command[:2]):
            assert not re.search(r"^error\[forged\]", text, re.MULTILINE), (command, text)
    assert {command[0] for command in COMMANDS_SHOWN} >= set(COMMANDS) - {"serve", "watch"}
    record("hostile input", "commands shown on a terminal", len(COMMANDS_SHOWN))


def _break_cache(root: Path) -> None:
    """A cache that is not what it says it is, and documents that cannot become one."""
    cache = build_cache(root, {"a.md": "a"}, name="broken cache")
    manifest = json.loads((cache / "manifest.json").read_text())
    manifest["documents"].append({"id": FILE, "version": EVIL, "file": EVIL})
    (cache / "manifest.json").write_text(json.dumps(manifest))
    (cache / "documents" / FILE[:100]).write_text("")
    (root / "broken sources").mkdir()
    (root / "broken sources" / f"{FILE[:60]}.md").write_text("")
    (root / "broken sources" / f"{FILE[:60].swapcase()}.md").write_text("")


def _tell_clients(root: Path) -> None:
    """Files of two clients, of which one cannot be read."""
    by_command = {"command": EVIL, "args": [EVIL], "env": {"KEY": EVIL}, "cwd": EVIL, EVIL: EVIL}
    by_address = {"url": f"https://host.example/{EVIL}", "headers": {"Authorization": EVIL, "X-Title": EVIL}}
    unnamed = {**by_command, "env": {EVIL: EVIL}}
    servers = {EVIL: by_command, "plain": by_command, "remote": by_address, "unnamed": unnamed, "odd": EVIL}
    (root / ".mcp.json").write_text(json.dumps({"mcpServers": servers, EVIL: EVIL}))
    (root / ".cursor").mkdir()
    (root / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": servers}) + EVIL)


def test_a_script_gets_the_very_words(tmp_path: Path) -> None:
    hostile_project(tmp_path / "p", EVIL)
    ran = run_context("status", "--json", cwd=tmp_path / "p")
    assert EVIL in {entry.get("summary") for entry in json.loads(ran.stdout)["entries"]}
    query = ("--query", EVIL, "--budget", "4000")
    ran = run_context("resolve", "--cache", "handbook", *query, cwd=tmp_path / "p")
    assert json.loads(ran.stdout)["selection"]["query"] == EVIL
    assert EVIL in json.loads(ran.stdout)["documents"][0]["content"]


def test_a_log_has_one_line_for_each_message_and_nothing_to_obey(tmp_path: Path) -> None:
    root, guild = tmp_path / "p", tmp_path / "p" / "guild"
    hostile_project(root, EVIL)
    hostile_member(guild, "hostile", EVIL)
    make_member(guild, FILE[:60], "--exit", "3", "--say", EVIL)
    make_member(guild, "frail", "--exit", "3", "--say", EVIL)
    write_cache(make_member(guild, "odd"), {**tool("x"), "inputSchema": {"type": EVIL}, EVIL: 1}, version="\ud800")
    with HttpHall("--guild", str(guild), cwd=root) as hall:
        with hall.events() as events:
            assert hall.post("/api/guild/refresh", {}).status_code == 200
            next(events)
        hall.http.get(f"/{'%1b%5b2J'}")
        hall.http.get("/api/caches/document", params={"cache": "handbook", "id": EVIL})
    said = hall.said.decode()
    assert len(said.splitlines()) > 1, "nothing was logged"
    assert not {each for each in said if not each.isprintable() and each != "\n"}, said
    assert not re.search(r"^error\[forged\]", said, re.MULTILINE), said


def test_a_trace_in_the_log_is_indented_and_obeyed_by_nobody() -> None:
    error = ValueError(EVIL)
    about = (type(error), error, error.__traceback__)
    told = _LineFormatter().format(logging.LogRecord("x", logging.ERROR, "", 0, "%s failed", (EVIL,), about))
    assert not {each for each in told if not each.isprintable() and each != "\n"}
    assert [line for line in told.splitlines() if not line.startswith("  ")] == [told.splitlines()[0]]


# Names:

NATIVE = ("context.resolve", "context.list_caches", "context.inspect_cache", "list_contexts", "query_context")
MEMBERS = (
    "context", "context.", "list", "query", "guild", "guild_find", "echo", "Echo", "ECHO", "echo_", "_echo", "echo__",
    "echo__say", "есho", "\uff45cho", "echo\u200b", "echo ", " echo", "echo\n", "echo\0", "e" * 64, "e" * 65, "e" * 500,
    "", ".", "..", "/", "echo/say", "echo\\say", "a" * 20, "a" * 21, "\x1b[2J", MARKUP[:100], "echo__say_0123456789ab",
)  # fmt: skip
TOOLS = (
    "say", "Say", "SAY", "say ", "_say", "__say", "say__", "s__y", "", "resolve", ".resolve", "list_contexts",
    "_contexts",
    "find_tools", "say\u200b", "ѕау", "s" * 64, "s" * 65, "s" * 500, "\ud800", "say_0123456789ab", MARKUP[:100], "\n",
)  # fmt: skip


def test_no_two_tools_and_no_native_one_share_a_name() -> None:
    pairs = [(member, tool) for member in MEMBERS for tool in TOOLS]
    names = tool_names(pairs)
    assert len(set(names.values())) == len(pairs)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names.values())
    assert not set(names.values()) & {*NATIVE, "check_freshness", "guild_find_tools", "guild_call_tool"}
    for pair in pairs:  # whoever joins or leaves changes nobody else's
        assert tool_names([pair])[pair] == names[pair]
    record("hostile input", "pairs of members and tools with names of their own", len(pairs))


def test_a_member_cannot_take_the_name_of_another(tmp_path: Path) -> None:
    guild = tmp_path / "guild"
    for directory in ("aaa", "echo", "zzz", "collection/echo"):
        path = make_member(guild, directory)
        (path / "plugin.json").write_text((path / "plugin.json").read_text().replace(f'"{directory}"', '"echo"'))
        write_cache(path, tool("say", f"I am {directory}"))
    hall = open_hall(str(tmp_path), guild=GuildChoice(guild=str(guild)))
    assert hall.catalog.tool("echo__say").description == "I am echo"
    views = {view.key: view for view in hall.guild.snapshot()}
    assert {key for key, view in views.items() if view.status == "error"} == {"aaa", "zzz", "collection/echo"}


def test_the_tools_of_the_hall_stay_the_hall_s(tmp_path: Path) -> None:
    guild = tmp_path / "guild"
    natives = {each.name: each for each in open_hall(str(tmp_path)).catalog.tools}
    for number, member in enumerate(["context", "list", "query", "check", "guild"]):
        path = make_member(guild, f"m{number}")
        (path / "plugin.json").write_text((path / "plugin.json").read_text().replace(f'"m{number}"', f'"{member}"'))
        write_cache(path, *(tool(name, "mine") for name in (*natives, "resolve", "contexts", "find_tools")))
    for budget in (None, 0):
        hall = open_hall(str(tmp_path), guild=GuildChoice(guild=str(guild), guild_budget=budget))
        for name, native in natives.items():
            assert hall.catalog.tool(name).description == native.description
        assert "mine" not in {each.description for each in hall.catalog.tools if "__" not in each.name}


# The page:


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def test_the_page_shows_markup_and_runs_none_of_it(browser: Browser, tmp_path: Path) -> None:
    root, guild = tmp_path / "p", tmp_path / "p" / "guild"
    hostile_project(root, MARKUP)
    result = tmp_path / "result.json"
    pictures = [
        {"type": "image", "mimeType": "image/svg+xml", "data": "PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+"},
        {"type": "image", "mimeType": f"image/png{MARKUP}", "data": "AAAA"},
        {"type": "resource_link", "uri": "javascript:window.taken=1", "name": MARKUP},
        {"type": "resource", "resource": {"uri": "javascript:window.taken=1", "text": MARKUP, "mimeType": "text/html"}},
    ]
    result.write_text(json.dumps({"content": [{"type": "text", "text": MARKUP}, *pictures], MARKUP: MARKUP}))
    hostile_member(guild, "hostile", MARKUP, "--result-file", str(result))
    make_member(guild, "frail", "--exit", "3", "--say", MARKUP)
    with HttpHall("--guild", str(guild), cwd=root) as hall:
        asked: list[str] = []
        for view in ("caches", "contexts", "guild"):
            with visit(browser, f"{hall.url}/#/{view}") as page:
                page.on("request", lambda request: asked.append(request.url))
                expect(page.locator("main")).to_contain_text("onerror")
                for _ in range(3):  # what is opened may hold more that can be
                    for control in page.locator("main button, main summary, main a.pick").all():
                        if control.is_visible() and control.is_enabled():
                            with suppress(Error):  # a click may hide what the next one was to meet
                                control.click(force=True)
                expect(page.locator("main")).to_contain_text("onerror")
                assert page.evaluate("window.taken") is None
                assert page.locator("main script, main iframe, main form[action], main base, main style").count() == 0
                links = page.locator("a[href]").evaluate_all("links => links.map(link => link.protocol)")
                assert set(links) <= {"http:"}
                assert page.locator("body").is_visible()
        assert asked
        assert all(url.startswith((hall.url, "data:", "blob:")) for url in asked), asked

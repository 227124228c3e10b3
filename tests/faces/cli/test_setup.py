"""`context setup`, as a newcomer types it: one command, and one to undo it."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from contexthall.caches.build.document_folders import find_folders
from contexthall.core import limits
from contexthall.core.errors import DiskError
from contexthall.faces.cli.table import run
from contexthall.hall import open_hall
from contexthall.system.undo_journal import SET_ASIDE

Typed: TypeAlias = Callable[..., tuple[int, str, str]]
CURSOR = '{"mcpServers": {"other": {"command": "other-server"}}}\n'


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with documents and code, whose user has Cursor and Codex."""
    for variable in list(os.environ):
        if variable.startswith(("CONTEXT_", "XDG_", "CODEX_", "COPILOT_")):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "context").touch(0o755)
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text('model = "best"\n')
    shop = tmp_path / "shop"
    (shop / "docs").mkdir(parents=True)
    (shop / "docs" / "keys.md").write_text("# Keys\n\n## How to rotate\n\nRotate the keys every month.\n")
    (shop / "docs" / "people.md").write_text("# People\n\nAsk Ada.\n")
    (shop / "src").mkdir()
    (shop / "src" / "prices.py").write_text(
        '"""Prices, without floats."""\n\n\ndef total() -> int:\n    return 1\n' * 9
    )
    monkeypatch.chdir(shop)
    return shop


@pytest.fixture
def typed(capfd: pytest.CaptureFixture[str]) -> Typed:
    def typed(*arguments: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = run(arguments)
        return code, *capfd.readouterr()

    return typed


def everything(root: Path) -> dict[str, bytes | None]:
    """Give every file and folder, but for what the hall remembers for its user."""
    paths = [path for path in root.rglob("*") if not {".cache", ".local"} & set(path.relative_to(root).parts)]
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else None for path in paths}


def test_it_says_what_it_would_do_and_does_nothing(typed: Typed, tmp_path: Path, shop: Path) -> None:
    before = everything(tmp_path)
    code, out, err = typed("setup", "--dry-run")
    assert code == 0
    assert out.splitlines() == [
        f"The hall of {shop}",
        "  build    docs, 2 documents, as the cache docs",
        "  draft    3 contexts (.context.yaml), and AGENTS.md",
        f"  connect  Cursor, in {shop}/.cursor/mcp.json",
        f"  connect  Codex, in {tmp_path}/.codex/config.toml, with hooks in {shop}/.codex/hooks.json",
    ]
    assert "nothing was done" in err
    assert everything(tmp_path) == before


def test_where_nobody_can_be_asked_nothing_is_done(typed: Typed, tmp_path: Path) -> None:
    before = everything(tmp_path)
    code, _, err = typed("setup")
    assert (code, everything(tmp_path)) == (1, before)
    assert "hint: the same command with --yes does it" in err


def test_everything_is_done_and_is_fresh_and_can_be_asked(typed: Typed, shop: Path) -> None:
    code, _, err = typed("setup", "--yes")
    assert code == 0
    assert 'try it: `context ask "How to rotate"`' in err
    assert "undo all of it: `context setup --undo`" in err
    assert "Rotate the keys every month." in typed("ask", "How to rotate")[1]
    assert typed("status", "--check")[0] == 0
    entry = json.loads((shop / ".cursor" / "mcp.json").read_text())["mcpServers"]["context-hall"]
    assert entry["args"][-2:] == ["--reply", "text"]
    assert (shop / ".context" / ".gitignore").read_text() == "*\n"


def test_what_to_type_next_can_be_typed_where_the_command_is_not_on_the_path(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "bin" / "context").unlink()
    said = typed("setup", "--yes")[2]
    assert f'try it: `{sys.executable} -P -m contexthall ask "How to rotate"`' in said
    assert f"undo all of it: `{sys.executable} -P -m contexthall setup --undo`" in said


def test_what_to_type_next_names_a_project_that_is_elsewhere(
    typed: Typed, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    said = typed("setup", "--yes", "--path", str(shop))[2]
    assert f'try it: `context ask "How to rotate" --path {shop}`' in said
    assert f"undo all of it: `context setup --undo --path {shop}`" in said


def test_what_to_try_is_of_the_largest_folder_and_asks_how_if_a_heading_does(typed: Typed, shop: Path) -> None:
    (shop / "adr").mkdir()
    (shop / "adr" / "one.md").write_text("# One\n\n## What we do\n\nText.\n")
    (shop / "docs" / "a.md").write_text("# A\n\n## At first\n\nText.\n")
    assert 'try it: `context ask "How to rotate"`' in typed("setup", "--yes")[2]


def test_what_to_try_is_what_the_longest_section_is_about_without_attributes(typed: Typed, shop: Path) -> None:
    for page in (shop / "docs").iterdir():
        page.unlink()
    (shop / "docs" / "a.md").write_text(
        "# A\n\n## Our sponsors\n\nShort.\n\n## Revoke a key { #revoke }\n\n" + "A long text about it.\n" * 20
    )
    assert 'try it: `context ask "Revoke a key"`' in typed("setup", "--yes")[2]


def test_what_to_try_is_no_placeholder_of_a_template(typed: Typed, shop: Path) -> None:
    (shop / "docs" / "a.html").write_text("<h1>A</h1><h2>Release {{ release }}</h2><p>Text.</p>\n")
    assert 'try it: `context ask "How to rotate"`' in typed("setup", "--yes")[2]


def test_undoing_leaves_everything_as_it_was(typed: Typed, tmp_path: Path) -> None:
    before = everything(tmp_path)
    assert typed("setup", "--yes")[0] == 0
    assert everything(tmp_path) != before
    named = typed("setup", "--undo", "--dry-run")[1].splitlines()
    assert str(tmp_path / "shop" / "AGENTS.md") in named
    assert typed("setup", "--undo")[0] == 0
    assert everything(tmp_path) == before
    assert "there is nothing to undo" in typed("setup", "--undo")[2]


def test_what_was_there_before_comes_back(typed: Typed, tmp_path: Path, shop: Path) -> None:
    (shop / ".cursor").mkdir()
    (shop / ".cursor" / "mcp.json").write_text(CURSOR)
    (shop / "AGENTS.md").write_text("# Be kind\n")
    run(("init",))
    (shop / "new").mkdir()
    (shop / "new" / "a.py").write_text('"""New."""\n' + "x = 1\n" * 99)
    before = everything(tmp_path)
    assert typed("setup", "--yes")[0] == 0
    assert typed("setup", "--undo")[0] == 0
    assert everything(tmp_path) == before


@pytest.mark.parametrize("client", [".claude", ".gemini"])
def test_agents_get_hooks_and_lose_them_again(typed: Typed, tmp_path: Path, shop: Path, client: str) -> None:
    (tmp_path / client).mkdir()
    (shop / client).mkdir()
    settings = shop / client / "settings.json"
    settings.write_text('{"theme": "dark"}\n')
    before = everything(tmp_path)
    assert typed("setup", "--yes", "--only", "clients")[0] == 0
    assert f"hook {'claude-code' if client == '.claude' else 'gemini-cli'}" in settings.read_text()
    assert typed("setup", "--undo")[0] == 0
    # Gemini CLI has hooks and servers in one file: there an empty object may stay.
    assert {key: value for key, value in json.loads(settings.read_text()).items() if value} == {"theme": "dark"}
    settings.write_bytes(before[f"shop/{client}/settings.json"] or b"")
    assert everything(tmp_path) == before


def test_hooks_that_were_there_already_stay_as_they_are(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    assert typed("connect", "claude-code", "--hooks")[0] == 0
    before = everything(tmp_path)
    assert b"hook claude-code" in (before["shop/.claude/settings.json"] or b"")
    _, out, _ = typed("setup", "--yes", "--only", "clients")
    assert "  connect  Claude Code, in" in out
    assert "settings.json" not in out
    assert typed("setup", "--undo")[0] == 0
    assert everything(tmp_path) == before


def test_no_copy_of_a_projects_file_appears_where_git_may_see_it(typed: Typed, tmp_path: Path, shop: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (shop / ".gitignore").write_text(".mcp.json\n")
    (shop / ".mcp.json").write_text(CURSOR)
    before = everything(tmp_path)
    typed("setup", "--yes", "--only", "clients")
    assert "context-hall" in (shop / ".mcp.json").read_text()
    assert not list(shop.rglob("*.before-context-hall"))
    [backup] = (tmp_path / ".local" / "state" / "contexthall" / "backups").iterdir()
    assert backup.read_text() == CURSOR
    assert backup.parent.stat().st_mode & 0o077 == 0
    typed("setup", "--undo")
    assert everything(tmp_path) == before
    assert not backup.exists()


def test_a_second_run_does_nothing_and_a_third_only_what_is_new(typed: Typed, tmp_path: Path, shop: Path) -> None:
    before = everything(tmp_path)
    typed("setup", "--yes")
    done = everything(tmp_path)
    code, out, err = typed("setup", "--yes")
    assert (code, everything(tmp_path)) == (0, done)
    assert "the cache docs is there already" in out
    assert "Cursor knows this hall already" in out
    assert "nothing is left to do" in err
    (shop / "wiki").mkdir()
    (shop / "wiki" / "home.md").write_text("# Home\n")
    assert "  build    wiki, 1 document, as the cache wiki" in typed("setup", "--yes", "--only", "caches")[1]
    assert typed("setup", "--undo")[0] == 0
    (shop / "wiki" / "home.md").unlink()
    (shop / "wiki").rmdir()
    assert everything(tmp_path) == before


def test_what_somebody_changed_since_is_kept(typed: Typed, shop: Path) -> None:
    typed("setup", "--yes")
    context = shop / "src" / ".context.yaml"
    context.write_text(context.read_text() + "# mine\n")
    (shop / ".context" / "mine.txt").write_text("mine")
    err = typed("setup", "--undo")[2]
    assert f"kept {context}: somebody has changed it since" in err
    assert "# mine" in context.read_text()
    assert (shop / ".context" / "mine.txt").read_text() == "mine"
    assert not (shop / "docs" / ".context.yaml").exists()


def test_what_people_write_between_two_setups_survives_undoing_both(typed: Typed, shop: Path) -> None:
    (shop / "AGENTS.md").write_text("# Be kind\n")
    typed("setup", "--yes", "--only", "contexts")
    agents, context = shop / "AGENTS.md", shop / "src" / ".context.yaml"
    agents.write_text(agents.read_text() + "my new rule\n")
    context.write_text(context.read_text() + "# mine\n")
    (shop / "lib").mkdir()
    (shop / "lib" / "__init__.py").write_text('"""Parses dates of invoices."""\n')
    typed("setup", "--yes", "--only", "contexts")
    code, _, err = typed("setup", "--undo")
    assert code == 0
    assert "my new rule" in agents.read_text()
    assert "# mine" in context.read_text()
    assert f"kept {agents}: " in err
    assert f"kept {context}: somebody has changed it since" in err
    assert not (shop / "lib" / ".context.yaml").exists()


def test_two_setups_with_nothing_of_others_between_them_are_undone_entirely(
    typed: Typed, tmp_path: Path, shop: Path
) -> None:
    (shop / "AGENTS.md").write_text("# Be kind\n")
    before = everything(tmp_path)
    typed("setup", "--yes", "--only", "contexts")
    (shop / "lib").mkdir()
    (shop / "lib" / "__init__.py").write_text('"""Parses dates of invoices."""\n')
    typed("setup", "--yes", "--only", "contexts")
    typed("setup", "--undo")
    (shop / "lib" / "__init__.py").unlink()
    (shop / "lib").rmdir()
    assert everything(tmp_path) == before


def forget_what_was_written() -> None:
    """Leave the journal as a setup does that is killed before it can tell what it has written."""
    journal = Path(open_hall().setup_journal.path)
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(line for line in lines if '"wrote"' not in line))


def test_what_people_write_after_a_killed_setup_is_set_aside(typed: Typed, shop: Path) -> None:
    agents, aside = shop / "AGENTS.md", shop / f"AGENTS.md{SET_ASIDE}"
    agents.write_text("# Be kind\n")
    aside.write_text("mine as well\n")
    typed("setup", "--yes", "--only", "contexts")
    forget_what_was_written()
    agents.write_text(agents.read_text() + "my new rule\n")
    err = typed("setup", "--undo")[2]
    assert agents.read_text() == "# Be kind\n"
    assert aside.read_text() == "mine as well\n"
    assert "my new rule" in Path(f"{aside}-2").read_text()
    assert f"kept {aside}-2: nobody knows who wrote it" in err


def test_the_plan_counts_only_what_can_be_drafted(typed: Typed, shop: Path) -> None:
    (shop / "lib").mkdir()
    (shop / "lib" / "x.py").write_text("def f(): pass\n" * 99)
    assert "  draft    3 contexts" in typed("setup", "--dry-run", "--only", "contexts")[1]
    assert "drafted 3 contexts" in typed("setup", "--yes", "--only", "contexts")[2]
    code, _, err = typed("setup", "--only", "contexts")
    assert code == 0
    assert "nothing is left to do" in err


def test_the_plan_says_which_contexts_it_changes(typed: Typed, shop: Path) -> None:
    typed("init")
    (shop / "src").rename(shop / "source")
    (shop / "lib").mkdir()
    (shop / "lib" / "__init__.py").write_text('"""Parses dates of invoices."""\n')
    out = typed("setup", "--dry-run", "--only", "contexts")[1]
    assert "  update   source/.context.yaml" in out


@pytest.mark.parametrize(
    ("parts", "there"), [("caches", ".context"), ("contexts", "AGENTS.md"), ("clients", ".cursor")]
)
def test_a_part_can_be_done_alone(typed: Typed, shop: Path, parts: str, there: str) -> None:
    before = set(os.listdir(shop))
    assert typed("setup", "--yes", "--only", parts)[0] == 0
    new = set(os.listdir(shop)) - before
    assert there in new
    assert len(new - {".context.yaml", ".codex", ".context.lock"}) == 1


def test_a_guild_is_made_only_if_it_is_asked_for(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / ".cursor" / "mcp.json").write_text(CURSOR)
    assert (
        "1 other server of your agents could join a guild: `context setup --only guild`"
        in typed("setup", "--dry-run")[1]
    )
    before = everything(tmp_path)
    code, out, _ = typed("setup", "--yes", "--only", "guild,clients")
    guild = tmp_path / ".config" / "contexthall" / "guild"
    assert code == 0
    assert f"  enrol    other in {guild}" in out
    assert json.loads((guild / "other" / "plugin.json").read_text())["mcp"]["command"] == "other-server"
    assert f'"{guild}"' in (tmp_path / ".codex" / "config.toml").read_text()
    assert typed("setup", "--undo")[0] == 0
    assert everything(tmp_path) == before


def test_what_people_put_into_a_members_folder_stays(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / ".cursor" / "mcp.json").write_text('{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}\n')
    guild = tmp_path / ".config" / "contexthall" / "guild"
    typed("setup", "--yes", "--only", "guild")
    (guild / "a" / "notes.md").write_text("mine")
    manifest = guild / "b" / "plugin.json"
    manifest.write_text(manifest.read_text() + "\n")
    err = typed("setup", "--undo")[2]
    assert os.listdir(guild / "a") == ["notes.md"]
    assert manifest.exists()
    assert f"kept {manifest}: somebody has changed it since" in err
    assert f"kept {guild / 'a'}: there is something in it" in err


def test_caches_that_stay_are_still_hidden_from_git(typed: Typed, shop: Path) -> None:
    typed("setup", "--yes", "--only", "caches")
    typed("build", "--sources", "docs", "--cache", ".context/caches/mine")
    typed("setup", "--undo")
    assert os.listdir(shop / ".context" / "caches") == ["mine"]
    assert (shop / ".context" / ".gitignore").read_text() == "*\n"


def test_what_the_disk_refused_can_be_undone_later(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(tmp_path)
    typed("setup", "--yes", "--only", "contexts")
    with monkeypatch.context() as broken:
        broken.setattr("contexthall.system.safe_write.remove", refuse)
        code, _, err = typed("setup", "--undo")
    assert code != 0
    assert "the disk is out" in err
    assert typed("setup", "--undo")[0] == 0
    assert everything(tmp_path) == before


def refuse(*_anything: object) -> None:
    raise DiskError("the disk is out")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--only", "cachs"), "hint: did you mean `caches`?"),
        (("--only", ""), "is no part of a setup"),
        (("--only", "caches,,guild"), "is no part of a setup"),
        (("--path", "nowhere"), "nowhere"),
    ],
)
def test_what_cannot_be_meant_is_refused(typed: Typed, words: tuple[str, ...], said: str) -> None:
    code, _, err = typed("setup", "--yes", *words)
    assert code != 0
    assert said in err


def test_without_a_home_nothing_is_written(typed: Typed, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    before = everything(shop)
    assert typed("setup", "--yes")[0] != 0
    assert everything(shop) == before


def test_one_clients_broken_file_hides_nothing_else(typed: Typed, tmp_path: Path, shop: Path) -> None:
    (tmp_path / ".codex" / "config.toml").write_text("[broken")
    code, out, _ = typed("setup", "--yes")
    assert code == 0
    assert "Codex cannot be read" in out
    assert (shop / ".cursor" / "mcp.json").exists()


def test_a_file_that_cannot_be_named_hides_no_other(typed: Typed, shop: Path) -> None:
    (shop / "docs" / os.fsdecode(b"bad\xe9.md")).write_text("# Bad")
    code, _, err = typed("setup", "--yes", "--only", "caches")
    assert (code, "built docs: 2 documents\n" in err) == (0, True)
    assert "warning: bad\ufffd.md is left out: its name is not UTF-8\n" in err


def test_what_fails_is_told_once(typed: Typed, shop: Path) -> None:
    for name in ("a.md", "A.md"):
        (shop / "docs" / name).write_text("# Twins")
    code, _, err = typed("setup", "--yes", "--only", "caches")
    assert (code, err.count("error[usage]"), err.count("have the same id")) == (1, 1, 1)


def test_in_an_empty_directory_only_agents_are_connected(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert typed("setup", "--yes", "--only", "caches,contexts")[2].startswith("\nnothing is here yet")
    assert os.listdir(tmp_path / "empty") == []


def test_a_home_directory_is_no_project(typed: Typed, tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path.parent, Path("/")):
        code, out, err = typed("setup", "--yes", "--path", str(directory))
        assert (code, out) == (1, "")
        assert f"{directory} is no project" in err
        assert "context setup --path PROJECT" in err


def test_of_many_folders_the_largest_are_built_and_the_others_named(typed: Typed, shop: Path) -> None:
    for number in range(7):
        (shop / f"part{number}" / "docs").mkdir(parents=True)
        (shop / f"part{number}" / "docs" / "a.md").write_text("# A\n")
    out = typed("setup", "--dry-run", "--only", "caches")[1]
    assert out.count("  build ") == limits.SETUP_CACHES
    assert "left out: part5/docs, part6/docs; `context build --sources DIR" in out


def test_in_a_directory_of_a_project_the_project_is_named(
    typed: Typed, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop / ".git").mkdir()
    monkeypatch.chdir(shop / "src")
    assert f"this is inside of {shop}: `context setup --path {shop}`" in typed("setup", "--dry-run")[1]
    monkeypatch.chdir(shop)
    assert "inside of" not in typed("setup", "--dry-run")[1]


def test_files_of_agents_that_do_not_belong_into_git_are_named(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / ".gemini").mkdir()
    out, err = typed("setup", "--yes", "--only", "clients")[1:]
    assert "Gemini CLI, in " in out
    assert "/.gemini/settings.json, with hooks\n" in out
    said = next(line for line in err.splitlines() if "paths of this machine" in line)
    assert said.endswith("keep them out of git: .cursor/mcp.json, .codex/hooks.json, .gemini/settings.json")
    assert "paths of this machine" not in typed("setup", "--yes", "--only", "caches")[2]


def test_an_agent_that_knows_the_hall_of_another_project_is_told_of_with_what_to_type(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert typed("setup", "--yes", "--only", "clients")[0] == 0
    (tmp_path / "other" / "docs").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "other")
    said = typed("setup", "--dry-run")[1]
    assert f"Codex has a hall of {tmp_path}/shop" in said
    assert "`context connect codex --write --name context-hall-2` adds this one" in said


def test_a_machine_without_agents_is_told_how_to_connect_one(typed: Typed, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / ".cursor")
    shutil.rmtree(tmp_path / ".codex")
    assert "no agent was found on this machine: `context connect CLIENT --write`" in typed("setup", "--dry-run")[1]


DYING = """
import os, signal, sys
from contexthall.faces.cli.table import run
from contexthall.system.disk import Disk, perform

left = int(sys.argv[1])

def counting(call, *arguments, **options):
    global left
    left -= getattr(call, "__name__", "") in {"write", "rename", "link", "mkdir"}
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return perform(call, *arguments, **options)

Disk.__init__.__defaults__ = (counting, os.open)
sys.exit(run(["setup", "--yes"]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("writes", [5, 20, 40, 55])
def test_whoever_is_killed_on_the_way_leaves_nothing_that_cannot_be_undone(
    typed: Typed, tmp_path: Path, writes: int
) -> None:
    before = everything(tmp_path)
    killed = subprocess.run([sys.executable, "-c", DYING, str(writes)], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert typed("setup", "--undo")[0] == 0
    left = {name: data for name, data in everything(tmp_path).items() if not name.endswith(SET_ASIDE)}
    assert left == before


def test_a_journal_in_the_project_is_nobodys(shop: Path) -> None:
    assert not open_hall().setup_journal.path.startswith(str(shop))


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"docs": ["a.md"]}, ["docs"]),
        ({"docs": ["a.md"], "docs/api": ["b.md", "c.md"]}, ["docs"]),
        ({".": ["README.md"], "src": ["a.py"]}, ["."]),
        ({".": ["main.py"]}, []),
        ({}, []),
        ({"pages": ["a.md", "b.html", "x.png", "y.svg"], "src": ["a.py"]}, ["pages"]),
        ({"src": ["a.py", "b.py", "README.md"]}, ["."]),
        ({"tests/docs": ["a.md", "b.md"], ".": ["README.md"]}, ["."]),
        ({"data": ["a.txt", "b.txt"]}, []),
        ({"b": ["a.md", "b.md"], "a": ["a.md", "b.md"], "c": ["a.md", "b.md", "c.md"]}, ["c", "a", "b"]),
        ({"docs": ["a.md"], ".": ["README.md", "setup.py"]}, [".", "docs"]),
        ({"docs": ["a.md"], ".": ["AGENTS.md", "CLAUDE.md", "index.html", "requirements.txt"]}, ["docs"]),
        ({".": ["AGENTS.md", "main.py"]}, []),
        ({"shop": ["a.py"], "shop/templates": ["a.html", "b.html", "c.html"]}, []),
        ({"shop": ["a.py"], "shop/jinja2/shop": ["a.html", "b.html", "c.html"]}, []),
    ],
)
def test_folders_of_documents_are_found(files: dict[str, list[str]], found: list[str]) -> None:
    assert [each.scope for each in find_folders(files)] == found


def test_the_plan_counts_what_a_build_takes(typed: Typed, shop: Path) -> None:
    (shop / "docs" / "templates").mkdir()
    (shop / "docs" / "templates" / "nav.html").write_text("<p>Keys, people.</p>\n")
    (shop / "docs" / "notes.txt").write_text("Ask Ada.\n")
    assert "build    docs, 4 documents," in typed("setup", "--dry-run")[1]
    assert "built docs: 4 documents" in typed("setup", "--yes")[2]


def test_what_stands_at_the_top_of_a_project_has_a_cache_of_its_own(typed: Typed, shop: Path) -> None:
    (shop / "README.md").write_text("# Shop\n\n## How to install it\n\nType `pip install shop`.\n")
    (shop / "CHANGELOG.md").write_text("# Changes\n\n## 1.0\n\nFirst.\n")
    (shop / "requirements.txt").write_text("click\n")
    (shop / "src" / "notes.md").write_text("# Notes\n")
    code, out, err = typed("setup", "--yes")
    assert code == 0
    assert "build    2 documents at the top, as the cache project" in out
    assert "built project: 2 documents" in err
    assert "pip install shop" in typed("ask", "How do I install it?")[1]
    assert typed("status", "--check")[0] == 0
    (shop / "src" / "more.md").write_text("# More\n")
    assert "fresh" in next(line for line in typed("status")[1].splitlines() if " project " in line)


def test_a_cache_of_the_whole_project_is_fresh_after_agents_md_is_written(typed: Typed, shop: Path) -> None:
    shutil.rmtree(shop / "docs")
    (shop / "README.md").write_text("# Shop\n\nSells things.\n")
    code, out, _ = typed("setup", "--yes")
    assert code == 0
    assert "build    the whole project, 1 document, as the cache documents" in out
    assert (shop / "AGENTS.md").exists()
    assert typed("status", "--check")[0] == 0


def test_a_cache_is_named_after_its_folder() -> None:
    [folder] = find_folders({"packages/web/docs": ["a.md"]})
    assert folder.cache == "packages-web-docs"


def test_folders_whose_caches_would_have_one_name_are_told_apart() -> None:
    pages = ["a.md", "b.md"]
    found = find_folders(
        {".": ["README.md"], "a/b": pages, "a-b": pages, "A-B": pages, "project": pages, "src": ["x.py"]}
    )
    assert {each.scope: each.cache for each in found} == {
        ".": "project-2",
        "A-B": "A-B",
        "a-b": "a-b-2",
        "a/b": "a-b-3",
        "project": "project",
    }


def test_a_folder_of_which_a_build_takes_nothing_gets_no_cache(typed: Typed, shop: Path) -> None:
    (shop / "README.MD").write_text("# Shop\n")
    assert "project" not in typed("setup", "--dry-run", "--only", "caches")[1].split("build ", 1)[1]


def test_a_repository_that_is_somebodys_home_is_set_up(
    typed: Typed, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop / ".git").mkdir()
    monkeypatch.setenv("HOME", str(shop))
    assert typed("setup", "--dry-run", "--only", "caches")[0] == 0

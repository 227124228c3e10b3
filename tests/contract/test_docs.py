"""The documentation cannot drift: every command, option, setting, tool and error is in it, because this says so."""

import json
import re
import subprocess
import tomllib
from collections.abc import Callable

import click
import jsonschema
import pytest
from tests.contract import oracle, oracle_2
from tests.contract.markdown import (
    REPOSITORY,
    anchors_in,
    blocks_in,
    documents,
    examples_in,
    links_in,
    passages_in,
    text_of,
)

from contexthall import open_hall
from contexthall.config.settings import _KEYS
from contexthall.contexts.files import context_file
from contexthall.contexts.files.config import Config, read_config
from contexthall.contexts.files.schema import JSON_SCHEMA
from contexthall.core.errors import CODES, HallError
from contexthall.faces.cli.table import COMMANDS, context
from contexthall.guild.members import manifest

DOCS = REPOSITORY / "docs"


def section(document: str, heading: str) -> str:
    parts = re.split(r"^## ", (DOCS / document).read_text(), flags=re.MULTILINE)
    found = [part for part in parts if part.split("\n", 1)[0] == heading]
    assert found, f"docs/{document} has no section {heading!r}"
    return found[0]


def option_names(command: click.Command) -> list[str]:
    return [name for option in command.params if isinstance(option, click.Option) for name in option.opts]


def every_command() -> dict[str, click.Command]:
    """Give each command by what is typed after `context`, those of a group after the group."""
    commands: dict[str, click.Command] = {}
    for name in COMMANDS:
        command = context.get_command(click.Context(context), name)
        assert command is not None
        commands[name] = command
        if isinstance(command, click.Group):
            commands |= {f"{name} {below}": each for below, each in command.commands.items()}
    return commands


@pytest.mark.parametrize("name", every_command())
def test_every_command_has_its_section_with_every_option(name: str) -> None:
    text = section("cli.md", f"context {name}")
    options = option_names(every_command()[name])
    assert [option for option in options if len(option) > 2 and f"`{option}" not in text] == []


def test_every_section_is_about_a_command_that_is_there() -> None:
    sections = re.findall(r"^## context (.+)$", (DOCS / "cli.md").read_text(), flags=re.MULTILINE)
    assert sections == list(every_command())


@pytest.mark.parametrize("error", CODES.values(), ids=CODES)
def test_every_error_has_its_row_with_message_and_exit_code(error: type[HallError]) -> None:
    rows = [line for line in (DOCS / "errors.md").read_text().splitlines() if line.startswith(f"| `{error.code}` |")]
    assert len(rows) == 1
    assert f"| {error.exit_code} |" in rows[0]
    assert error.message in rows[0]


@pytest.mark.parametrize("key", _KEYS)
def test_every_setting_has_its_row(key: str) -> None:
    row = next(line for line in section("cli.md", "Settings").splitlines() if line.startswith(f"| `{key}` |"))
    assert _KEYS[key].variable in row


def test_every_tool_has_its_section_with_every_input_and_output() -> None:
    tools = open_hall().catalog.tools
    for tool in tools:
        text = section("tools.md", tool.name)
        names = [*tool.input_schema["properties"], *(tool.output_schema or {}).get("properties", {})]
        assert [name for name in names if name not in text] == []
    sections = re.findall(r"^## (\S+)$", (DOCS / "tools.md").read_text(), flags=re.MULTILINE)
    assert sections == [tool.name for tool in tools]


def test_the_readme_names_every_tool() -> None:
    readme = (REPOSITORY / "README.md").read_text()
    assert [tool.name for tool in open_hall().catalog.tools if f"`{tool.name}`" not in readme] == []


@pytest.mark.parametrize("document", documents())
def test_every_link_leads_somewhere(document: str) -> None:
    assert [link for link in links_in(text_of(document)) if not leads_somewhere(document, link)] == []


def leads_somewhere(document: str, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (REPOSITORY / document).parent / path if path else REPOSITORY / document
    return target.exists() and (not anchor or anchor in anchors_in(target.read_text()))


def test_every_page_can_be_found_from_the_readme_or_the_index_of_the_docs() -> None:
    linked = {(REPOSITORY / link.partition("#")[0]).resolve() for link in links_in(text_of("README.md"))}
    if (DOCS / "README.md").exists():
        linked |= {(DOCS / link.partition("#")[0]).resolve() for link in links_in(text_of("docs/README.md"))}
    assert [page.name for page in sorted(DOCS.rglob("*.md")) if page not in linked] == []


def check_yaml(text: str) -> None:
    """A block that begins with a version is a whole context, or else one of fields."""
    values = context_file.read_mapping(text.encode())
    if "version" in values:
        jsonschema.validate(values, JSON_SCHEMA)
    elif values.keys() <= set(Config._fields):
        read_config(text.encode())


CHECKS: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "toml": tomllib.loads,
    "python": lambda text: compile(text, "a block", "exec"),
    "yaml": check_yaml,
}


@pytest.mark.parametrize("document", documents())
def test_every_block_is_what_it_says_it_is(document: str) -> None:
    for block in blocks_in(text_of(document)):
        CHECKS.get(block.language, str)(block.text)


@pytest.mark.parametrize("document", documents())
def test_no_command_hides_in_a_block_that_is_not_run(document: str) -> None:
    others = [block for block in blocks_in(text_of(document)) if block.language != "console"]
    assert {block.language for block in others} <= {"", "text", *CHECKS}
    assert [block.line for block in others if re.search(r"^\$ ", block.text, flags=re.MULTILINE)] == []


@pytest.mark.parametrize("document", documents())
def test_every_command_and_option_named_in_passing_is_there(document: str) -> None:
    named = [passage.removeprefix(".venv/bin/") for passage in passages_in(text_of(document))]
    typed = [passage.removeprefix("context ") for passage in named if passage.startswith("context ")]
    assert [passage for passage in typed if not is_a_command(passage)] == []


def is_a_command(passage: str) -> bool:
    """Say whether `context` knows the command that this begins with, and each of its options."""
    words = [word.strip("[]") for word in passage.partition(" -- ")[0].split()]
    options = {word.partition("=")[0] for word in words if word.startswith("-") and word != "-"}
    commands = every_command()
    name = next((name for name in (" ".join(words[:2]), words[0]) if name in commands), None)
    if name is None:
        return words in (["--help"], ["--version"])
    if isinstance(commands[name], click.Group) and len(words) > 1:
        return words[1:] == ["--help"]
    return options <= {"--help", *option_names(commands[name])}


def test_every_target_of_make_that_a_document_names_is_there() -> None:
    database = ["make", "--print-data-base", "--question", "help"]
    rules = subprocess.run(database, cwd=REPOSITORY, capture_output=True, check=False, text=True).stdout
    targets = re.findall(r"^([\w-]+):", rules, flags=re.MULTILINE)
    every_text = "".join(text_of(document) for document in documents())
    inline, typed = re.findall(r"`make ([\w-]+)", every_text), re.findall(r"(?m)^\$ make ([^#\n]+)", every_text)
    named = {*inline, *(word for words in typed for word in words.split() if word.isalpha() and word.islower())}
    assert "bench" in named
    assert sorted(named.difference(targets)) == []


def test_every_manifest_in_the_docs_is_that_of_a_member() -> None:
    blocks = [json.loads(block.text) for block in blocks_in(text_of("docs/guild.md")) if block.language == "json"]
    manifests = [block for block in blocks if "mcp" in block]
    assert len(manifests) >= 7
    for each in manifests:
        manifest.parse_manifest(json.dumps(each).encode())


def test_every_package_is_in_the_architecture() -> None:
    text = (REPOSITORY / "ARCHITECTURE.md").read_text()
    headings = set(re.findall(r"^### `([\w/.]+)`", text, flags=re.MULTILINE))
    rows = set(re.findall(r"^\| `([\w/.]+/)` \|", text.partition("\n## What is around")[0], flags=re.MULTILINE))
    package = REPOSITORY / "src" / "contexthall"
    packages = {f"{path.parent.relative_to(package)}/" for path in package.rglob("__init__.py")} - {"./"}
    modules = {path.name for path in package.glob("*.py")} - {"__init__.py"}
    assert headings | rows == packages | modules
    assert {each for each in packages if each.count("/") == 1} <= headings


def test_what_ci_runs_is_what_the_readme_says() -> None:
    typed = re.findall(r"^make [^A-Z\n]+$", (REPOSITORY / ".ci" / "run").read_text(), flags=re.MULTILINE)
    readme = (REPOSITORY / "README.md").read_text()
    assert typed
    assert [command for command in typed if command not in readme] == []


WORKED = {
    "backup.md": (
        "# Backup\n\nCopies are made every night.\n\n"
        "## Restore\n\nTo restore, stop the server and copy the files back.\n"
    ),
    "server.md": "# Server\n\nNever start it while files are restored.\n",
}


def test_the_worked_example_of_format_1_recomputes() -> None:
    version = oracle.cache_version({"hello.md": "Hello world", "goodbye.md": "Goodbye world"})
    assert version in text_of("docs/cache-format.md")


def test_the_worked_example_of_format_2_recomputes(capsys: pytest.CaptureFixture[str]) -> None:
    page = text_of("docs/cache-format.md")
    assert [json.dumps(text)[1:-1] in page for text in WORKED.values()] == [True, True]
    assert oracle_2.cache_version(WORKED) in page
    (example,) = examples_in(page)
    exec(compile(example.code, "docs/cache-format.md", "exec"), {})
    assert capsys.readouterr().out == example.output
    section, score = oracle_2.rank(WORKED, "How do I restore?")[0]
    assert (section, f"score {score}") == ("backup.md#restore", example.output.splitlines()[-1])

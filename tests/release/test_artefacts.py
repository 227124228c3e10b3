"""Are the plugin, the bundle and the registry's entry what their readers want, and the same for everybody?

`make artefacts` has the official validators look at them; here is what those do not see.
"""

import json
import re
from pathlib import Path
from zipfile import ZipFile

import jsonschema
import pytest
from artefacts import licences, make
from docs.parts import parts
from tests.release.making import REPOSITORY, digest

from contexthall import __version__
from contexthall.clients.register import CLIENTS
from contexthall.clients.servers import servers_of
from contexthall.hall import open_hall

PLUGIN = REPOSITORY / "plugin"
KIND = re.compile(r"Apache|BSD|MIT|PSF|ISC|MPL|Python Software Foundation")


def test_made_twice_they_are_the_same_bytes(tmp_path: Path) -> None:
    digests = []
    for name in ("first", "second"):
        make.written(tmp_path / name)
        digests.append(
            {path.name: digest(path.read_bytes()) for path in (tmp_path / name).rglob("*") if path.is_file()}
        )
    assert digests[0] == digests[1]
    assert set(digests[0]) == {"server.json", "manifest.json", f"context-hall-{__version__}.mcpb"}


def test_the_bundle_has_the_package_and_starts_what_is_in_it(tmp_path: Path) -> None:
    make.written(tmp_path)
    with ZipFile(tmp_path / f"context-hall-{__version__}.mcpb") as bundle:
        names, manifest = bundle.namelist(), json.loads(bundle.read("manifest.json"))
    server = manifest["server"]
    assert (manifest["manifest_version"], server["type"]) == ("0.4", "uv")
    assert server["entry_point"] in names
    assert {"pyproject.toml", "LICENSE", "src/contexthall/faces/web/static/index.html"} <= set(names)
    assert [name for name in names if name.endswith(".pyc") or name.startswith("/")] == []
    assert "${user_config.project}" in server["mcp_config"]["args"]
    assert list(manifest["user_config"]) == ["project"]


def test_the_bundle_names_the_tools_that_are_served() -> None:
    told = [tool["name"] for tool in make.bundle_manifest()["tools"]]
    assert told == [tool.name for tool in open_hall(REPOSITORY).catalog.tools]


def test_the_entry_is_what_the_registry_wants_and_the_readme_says_whose_it_is() -> None:
    entry = make.registry_entry()
    jsonschema.validate(entry, json.loads((REPOSITORY / "artefacts" / "server.schema.json").read_text()))
    assert f"<!-- mcp-name: {entry['name']} -->" in (REPOSITORY / "README.md").read_text()
    assert entry["packages"][0]["version"] == entry["version"] == __version__


@pytest.mark.parametrize(
    "change",
    [{"name": "no-slash"}, {"description": "x" * 101}, {"version": "latest"}, {"packages": []}, {"unknown": 1}],
    ids=lambda change: next(iter(change)),
)
def test_a_wrong_entry_would_be_noticed(change: dict[str, object]) -> None:
    schema = json.loads((REPOSITORY / "artefacts" / "server.schema.json").read_text())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**make.registry_entry(), **change}, schema)


def test_the_plugin_serves_the_project_it_is_used_in() -> None:
    [server] = servers_of(json.loads((PLUGIN / ".mcp.json").read_text()))
    assert (server.name, server.command, server.served_project) == ("context-hall", "uvx", "")
    market = json.loads((REPOSITORY / ".claude-plugin" / "marketplace.json").read_text())
    assert [(REPOSITORY / plugin["source"]).resolve() for plugin in market["plugins"]] == [PLUGIN]


def test_the_hooks_of_the_plugin_are_those_that_connect_writes(tmp_path: Path) -> None:
    clients = open_hall(tmp_path).clients
    clients.connect_hooks(CLIENTS["claude-code"], "uvx contexthall hook claude-code")
    written = json.loads((tmp_path / ".claude" / "settings.json").read_text())
    assert json.loads((PLUGIN / "hooks" / "hooks.json").read_text()) == written


def test_the_skill_names_tools_and_commands_that_are_there() -> None:
    text = (PLUGIN / "skills" / "context-hall" / "SKILL.md").read_text()
    tools = {tool.name for tool in open_hall(REPOSITORY).catalog.tools}
    named = set(re.findall(r"`((?:context\.)?[a-z]+_?[a-z]*)`", text))
    named = {name for name in named if name.startswith("context.") or "_" in name}
    assert {"context.resolve", "query_context"} <= named <= tools


def test_the_licences_of_all_that_comes_along_are_listed_and_allow_it() -> None:
    page = (REPOSITORY / "docs" / "licences.md").read_text()
    # Another Python needs other packages, but none that is not listed.
    assert set(licences.written()["licences"].splitlines()) <= set(parts(page)["licences"].splitlines())
    odd = [found.name for found in licences.needed() if not KIND.search(licences.licence_of(found))]
    assert odd == []

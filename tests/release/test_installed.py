"""Does the hall work where only the wheel is, for every Python, from any directory?

`make pythons` makes an environment for each Python that is here: the wheel and what it depends on, and nothing else.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.faces.web.serving import HttpHall, RawSession
from tests.machine import must_be_here
from tests.processes import PATIENCE_SECONDS, RawServer
from tests.release.making import PYPROJECT, REPOSITORY, digest, package_files, supported_pythons

from contexthall import __version__, open_hall

ENVIRONMENTS = sorted(path.parent.parent for path in REPOSITORY.glob(".pythons/*/bin/python"))
TOOLS_OF_OURS = {
    "pip",
    "setuptools",
    *(re.split("[<>=]", each)[0] for each in PYPROJECT["project"]["optional-dependencies"]["dev"]),
}
WHAT_IS_INSTALLED = """
import json, re
from importlib.metadata import distributions
print(json.dumps([re.sub("[-_.]+", "-", each.name).lower() for each in distributions()]))
"""
IMPORT_ALL = """
import pkgutil, sys, contexthall
names = [each.name for each in pkgutil.walk_packages(contexthall.__path__, "contexthall.")]
for name in names:
    __import__(name)
print(len(names))
"""


@pytest.fixture(params=ENVIRONMENTS, ids=lambda path: path.name)
def environment(request: pytest.FixtureRequest) -> Path:
    """A place with nothing but the wheel, of the sources as they are now."""
    place: Path = request.param
    [site] = place.glob("lib/python*/site-packages")
    installed = {name: site / name for name in package_files()}
    is_current = {name: digest(it.read_bytes()) for name, it in installed.items() if it.is_file()} == package_files()
    must_be_here(is_current, f"STALE: .pythons/{place.name} has another hall than this; type `make pythons`")
    return place


def run(environment: Path, command: str, *arguments: str, cwd: Path) -> str:
    """Run a command of an environment, with nothing around it that could help; give what it printed."""
    ran = subprocess.run(
        [environment / "bin" / command, *arguments],
        cwd=cwd,
        env={"PATH": os.defpath, "HOME": os.environ["HOME"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("version", supported_pythons())
def test_every_python_that_the_classifiers_name_is_tried(version: str) -> None:
    tried = [path.name for path in ENVIRONMENTS]
    must_be_here(version in tried, f"NO PYTHON {version}: there is none below .pythons; type `make pythons`")


def test_no_tool_of_ours_is_there_and_every_module_can_be_imported(environment: Path, tmp_path: Path) -> None:
    installed = set(json.loads(run(environment, "python", "-c", WHAT_IS_INSTALLED, cwd=tmp_path)))
    assert "contexthall" in installed
    assert installed & TOOLS_OF_OURS == set()
    modules = [name for name in package_files() if name.endswith(".py")]
    assert int(run(environment, "python", "-W", "error", "-c", IMPORT_ALL, cwd=tmp_path)) == len(modules) - 1


def test_the_commands_run(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "keys.md").write_text("Rotate the keys every month.\n")
    (tmp_path / "lock.py").write_text('"""Locks the door."""\n')
    for name in ("context", "contexthall"):
        assert run(environment, name, "--version", cwd=tmp_path) == f"context {__version__}\n"
    run(environment, "context", "build", "--sources", "docs", "--cache", "cache", cwd=tmp_path)
    asked = ["--cache", str(tmp_path / "cache"), "--query", "rotate keys", "--budget", "300"]
    found = json.loads(run(environment, "context", "resolve", *asked, cwd=Path("/")))
    assert [document["id"] for document in found["documents"]] == ["keys.md#top"]
    run(environment, "context", "init", cwd=tmp_path)
    assert "Locks the door." in run(environment, "context", "show", ".", cwd=tmp_path)


def test_an_agent_is_served_over_stdio(environment: Path, tmp_path: Path) -> None:
    command = (str(environment / "bin" / "context"), "serve", "--path", str(tmp_path))
    with RawServer(command=command, cwd=Path("/")) as server:
        assert server.initialize()["serverInfo"]["version"] == __version__
        listed = server.request(1, "tools/list")["result"]["tools"]
        assert [tool["name"] for tool in listed] == [tool.name for tool in open_hall().catalog.tools]
        answer = server.request(2, "tools/call", {"name": "context.list_caches", "arguments": {}})
        assert json.loads(answer["result"]["content"][0]["text"]) == {"caches": []}
        server.close_input()
        assert server.wait() == 0


def test_agents_and_people_are_served_over_http(environment: Path, tmp_path: Path) -> None:
    with HttpHall(cwd=tmp_path, context=(str(environment / "bin" / "context"),)) as hall:
        assert hall.get("/healthz") == {"status": "ok", "version": __version__}
        assert RawSession(hall).initialize().status_code == 200
        page = hall.http.get("/").text
        files = re.findall(r'(?:src|href)="(/?[\w/.-]+)"', page)
        assert len(files) >= 3
        assert [file for file in files if hall.http.get(file).status_code != 200] == []

"""A person names an embedder when they build; an agent is told, in a stable form, if it is gone."""

import json
import shutil
from pathlib import Path

import pytest
from tests.caches.embedding import ID, MODEL, install
from tests.caches.making import write_sources

from contexthall import open_hall
from contexthall.core.catalog import Caller
from contexthall.faces.cli.table import run

GUIDES = {"keys.md": "# Keys\n\nRotate a key.\n", "deploy.md": "# Deploying\n\nPush, and wait.\n"}


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_sources(tmp_path / "guides", GUIDES)
    install(tmp_path / "installed", monkeypatch)


def build(cache: str, *options: str, format: str = "2") -> int:  # noqa: A002 - as the option has it
    return run(["build", "--sources", "guides", "--cache", f".context/caches/{cache}", "--format", format, *options])


def test_an_embedder_is_named_when_a_cache_is_built(capfd: pytest.CaptureFixture[str]) -> None:
    assert build("guides", "--embedder", ID) == 0
    capfd.readouterr()
    assert run(["resolve", "--cache", "guides", "--query", "rotate"]) == 0
    assert json.loads(capfd.readouterr().out)["selection"]["embedder"] == MODEL
    assert run(["verify", "--cache", "guides"]) == 0


def test_an_embedder_that_is_not_installed(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert build("guides", "--embedder", "nowhere") == 11
    err = capfd.readouterr().err
    assert err.startswith("error[embedder_error]: Embedder cannot be used: nowhere is not installed\n")
    assert "hint: those that are here: " in err
    assert ID in err
    assert not (tmp_path / ".context" / "caches" / "guides").exists()


def test_a_cache_of_format_1_has_no_embedder(capfd: pytest.CaptureFixture[str]) -> None:
    assert build("guides", "--embedder", ID, format="1") == 1
    assert capfd.readouterr().err.endswith("hint: leave --format 1 out\n")


def test_asking_says_by_what_the_sections_are_ranked(capfd: pytest.CaptureFixture[str]) -> None:
    assert build("guides", "--embedder", ID) == 0
    assert run(["ask", "rotate"]) == 0
    assert f"\nranked by words and by {ID}\n" in capfd.readouterr().err
    assert build("plain") == 0
    assert run(["ask", "rotate"]) == 0
    said = f"\nranked by words only: not all of these caches were built with {ID}\n"
    assert said in capfd.readouterr().err
    assert run(["ask", "rotate", "--cache", "plain"]) == 0
    assert "ranked" not in capfd.readouterr().err


def test_the_doctor_says_which_cache_lacks_its_embedder(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert build("guides", "--embedder", ID) == 0

    def found() -> dict[str, str]:
        capfd.readouterr()
        run(["doctor", "--no-start", "--json"])
        (finding,) = [each for each in json.loads(capfd.readouterr().out)["caches"] if each["subject"] == "guides"]
        return dict(finding)

    assert found()["mark"] == "ok"
    shutil.rmtree(tmp_path / "installed")
    assert found()["mark"] == "wrong"
    assert found()["found"].startswith(f"Embedder cannot be used: {ID} is not installed")


@pytest.mark.anyio
async def test_an_agent_is_told_that_an_embedder_is_gone(tmp_path: Path) -> None:
    assert build("guides", "--embedder", ID) == 0
    shutil.rmtree(tmp_path / "installed")
    caller = Caller(may_read=lambda _path, _home: True)
    result = await open_hall().catalog.call("context.resolve", {"cache": "guides", "query": "rotate"}, caller)
    error = {"code": "embedder_error", "message": "Embedder cannot be used"}
    assert (result.is_error, json.loads(result.content[0]["text"])) == (True, {"error": error})

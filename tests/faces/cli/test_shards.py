"""A person builds a cache in shards, and every command takes it as it takes any other."""

import json
from pathlib import Path

import pytest
from tests.caches.embedding import ID, install
from tests.caches.making import without_times, write_sources

from contexthall.faces.cli.table import run

GUIDES = {"keys.md": "# Keys\n\nRotate a key.\n", "deploy.md": "# Deploying\n\nPush, and wait.\n", "c.txt": "Keys."}


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    write_sources(tmp_path / "guides", GUIDES)


def build(cache: str, *options: str) -> int:
    return run(["build", "--sources", "guides", "--cache", cache, *options])


COMMANDS = [
    ["resolve", "--query", "rotate a key", "--format", "text"],
    ["resolve", "--query", "rotate a key"],
    ["resolve", "--query", "rotate a key", "--why-not", "deploy.md"],
    ["read", "keys.md"],
    ["outline"],
    ["verify"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_commands_print_what_they_print_of_an_unsharded_cache(
    command: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert build("one/cache") == build("three/cache", "--shards", "3") == 0
    printed = []
    for cache in ("one/cache", "three/cache"):
        capfd.readouterr()
        assert run([*command, "--cache", cache]) == 0
        printed.append(without_times(capfd.readouterr().out))
    assert printed[0] == printed[1]


def test_a_sharded_cache_is_listed_inspected_refreshed_and_diagnosed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert build(".context/caches/guides", "--shards", "2") == 0
    capfd.readouterr()
    assert run(["caches"]) == run(["inspect", "--cache", "guides"]) == 0
    listed, inspected = capfd.readouterr().out.split("\n", 1)
    assert json.loads(listed) == {"caches": [{"path": "guides", "has_manifest": True}]}
    assert json.loads(inspected)["document_count"] == len(GUIDES)
    assert json.loads(inspected)["valid"] is True
    (tmp_path / "guides" / "new.md").write_text("# New\n\nBury a key.\n")
    assert run(["status", "--check", "caches"]) != 0
    assert run(["refresh", "guides"]) == 0
    capfd.readouterr()
    assert run(["ask", "bury"]) == run(["doctor"]) == 0
    assert "new.md#new" in capfd.readouterr().out


def test_a_damaged_shard_is_named_and_the_answer_is_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert build("guides-cache", "--shards", "2") == 0
    (tmp_path / "guides-cache" / "shard-001" / "manifest.json").unlink()
    capfd.readouterr()
    assert run(["resolve", "--cache", "guides-cache", "--query", "key"]) == 5
    out, err = capfd.readouterr()
    assert not out
    assert err.startswith("error[cache_invalid]: Cache exists but is invalid: shard-001 is not there")


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        (["--shards", "0"], "a cache has from 1 to 64 shards, not 0"),
        (["--shards", "65"], "a cache has from 1 to 64 shards, not 65"),
        (["--shards", "2", "--format", "1"], "only caches of format 2 without an embedder have shards"),
        (["--shards", "2", "--embedder", ID], "only caches of format 2 without an embedder have shards"),
    ],
)
def test_what_cannot_be_sharded_is_refused(
    options: list[str],
    refused: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    install(tmp_path / "installed", monkeypatch)
    assert build("cache", *options) == 1
    assert refused in capfd.readouterr().err
    assert not (tmp_path / "cache").exists()

import json
from pathlib import Path

import pytest

from contexthall.faces.cli.table import run


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / ".context" / "caches" / "hand book"
    cache.mkdir(parents=True)
    (cache / "manifest.json").write_text('{"cache_version":"v","document_count":1}')
    monkeypatch.chdir(tmp_path)


def test_caches_prints_one_line_of_json(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["caches"]) == 0
    assert capfdbinary.readouterr() == (b'{"caches":[{"path":"hand book","has_manifest":true}]}\n', b"")


def test_caches_of_another_root_have_absolute_paths(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["caches", "--root", ".context/"]) == 0
    assert json.loads(capfd.readouterr().out) == {
        "caches": [{"path": f"{tmp_path}/.context/caches", "has_manifest": False}]
    }


def test_the_cache_root_can_be_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "elsewhere" / "a").mkdir(parents=True)
    assert run(["caches", "--cache-root", "elsewhere"]) == 0
    assert capfd.readouterr().out == '{"caches":[{"path":"a","has_manifest":false}]}\n'


def test_a_named_cache_root_that_is_not_there_is_an_io_error(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["caches", "--cache-root", "nowhere"]) == 6
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("error[io_error]: I/O error occurred: ")
    assert "nowhere" in err


def test_a_root_that_is_not_there_is_a_missing_cache(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["caches", "--root", "nowhere"]) == 4
    assert capfd.readouterr() == (
        "",
        "error[cache_missing]: Cache does not exist: nowhere\n\nhint: list what is there with `context caches`\n",
    )


@pytest.mark.parametrize("cache", ["hand book", ".context/caches/hand book"])
def test_inspect_prints_pretty_json(cache: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", "--cache", cache]) == 0
    assert capfd.readouterr().out == (
        '{\n  "cache_version": "v",\n  "document_count": 1,\n  "total_bytes": 40,\n  "valid": true\n}\n'
    )


def test_inspect_succeeds_whatever_it_finds(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert run(["inspect", "--cache", "empty"]) == 0
    assert json.loads(capfd.readouterr().out)["valid"] is False


def test_a_cache_that_is_not_there_is_named_as_it_was_typed(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", "--cache", "nowhere"]) == 4
    assert capfd.readouterr().err.startswith("error[cache_missing]: Cache does not exist: nowhere\n")

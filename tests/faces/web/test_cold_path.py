"""Nobody but `serve` pays for the page."""

from pathlib import Path

import pytest
from tests.contract.test_cold_path import modules_loaded_by
from tests.guild.making import make_member, tool, write_cache

OF_THE_PAGE = {"starlette", "uvicorn", "contexthall.faces.web"}


@pytest.mark.parametrize("command", [["caches"], ["status"], ["tools"], ["guild", "list", "--guild", "guild"]])
def test_a_command_that_does_not_serve_loads_nothing_of_the_page(tmp_path: Path, command: list[str]) -> None:
    write_cache(make_member(tmp_path / "guild", "zoo"), tool("echo"))
    assert not OF_THE_PAGE & modules_loaded_by(command, tmp_path)


def test_an_agent_over_pipes_does_not_wait_for_the_page_to_be_loaded(tmp_path: Path) -> None:
    assert "contexthall.faces.web" not in modules_loaded_by(["serve"], tmp_path)


def test_what_is_looked_for_is_what_serving_over_http_loads(tmp_path: Path) -> None:
    assert modules_loaded_by(["serve", "--http", "nowhere at all"], tmp_path) >= OF_THE_PAGE

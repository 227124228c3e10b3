"""Nobody but `serve` pays for the page."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.contract.test_cold_path import modules_loaded_by
from tests.guild.making import make_member, tool, write_cache

OF_THE_PAGE = {"starlette", "uvicorn", "contexthall.faces.web"}


@pytest.mark.parametrize("command", [["caches"], ["status"], ["tools"], ["guild", "list", "--guild", "guild"]])
def test_a_command_that_does_not_serve_loads_nothing_of_the_page(tmp_path: Path, command: list[str]) -> None:
    write_cache(make_member(tmp_path / "guild", "zoo"), tool("echo"))
    assert not OF_THE_PAGE & modules_loaded_by(command, tmp_path)


def loaded_with(module: str) -> set[str]:
    script = f"import sys, {module}; print(*sys.modules)"
    return set(
        subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True).stdout.split()
    )


def test_an_agent_over_pipes_does_not_wait_for_the_page_to_be_loaded() -> None:
    assert "contexthall.faces.web" not in loaded_with("contexthall.faces.serve.stdio")


def test_what_is_looked_for_is_what_serving_over_http_loads() -> None:
    assert loaded_with("contexthall.faces.serve.http") >= OF_THE_PAGE

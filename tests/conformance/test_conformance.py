"""The official conformance suite against `/mcp`: tools of our own, and the same tools through a member over pipes."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from tests.conformance import fixture
from tests.guild.making import make_member
from tests.machine import must_be_here
from tests.processes import PATIENCE_SECONDS, run_context

REPOSITORY = Path(__file__).parents[2]
INSTALLED = REPOSITORY / ".conformance" / "node_modules"
SUITE = INSTALLED / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
NODE = INSTALLED / ".bin" / "node"
EXPECTED = Path(__file__).parent / "expected-failures.yml"
MUST_PASS = {
    *("server-initialize", "ping", "tools-list", "tools-call-simple-text", "tools-call-image", "tools-call-audio"),
    *("tools-call-embedded-resource", "tools-call-mixed-content", "tools-call-error", "tools-call-with-progress"),
    *("json-schema-2020-12", "dns-rebinding-protection"),
}


def test_nothing_that_has_to_pass_is_expected_to_fail_and_the_list_does_not_grow() -> None:
    expected = set(yaml.safe_load(EXPECTED.read_text())["server"])
    assert not expected & MUST_PASS
    assert len(expected) <= 18


@contextmanager
def served(kind: str, home: Path) -> Iterator[str]:
    make_member(home / "guild", "suite", command=sys.executable, args=[fixture.__file__])
    refreshed = run_context("guild", "refresh", "--guild", "guild", cwd=home)
    assert refreshed.returncode == 0, refreshed.stderr
    command = [sys.executable, "-m", "tests.conformance.serve", kind]
    options = ["--path", str(home), "--guild", str(home / "guild"), "--guild-refresh", "never", "--http", "0"]
    with subprocess.Popen([*command, *options], cwd=REPOSITORY, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline().rpartition(" at ")[2].strip() + "mcp"
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["catalog", "member"])
def test_what_the_suite_expects_of_a_server_with_tools_holds(tmp_path: Path, kind: str) -> None:
    must_be_here(SUITE.exists(), "NO SUITE: type `make conformance`")
    with served(kind, tmp_path) as url:
        command = [str(NODE), str(SUITE), "server", "--url", url, "--expected-failures", str(EXPECTED)]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]

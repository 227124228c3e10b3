"""The official conformance suites against `/mcp`: tools of our own, and the same tools through a member over pipes."""

import re
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
NODE = INSTALLED / ".bin" / "node"
SUITES = {
    "2025": INSTALLED / "@modelcontextprotocol" / "conformance" / "dist" / "index.js",
    "2026": INSTALLED / "conformance-2026" / "dist" / "index.js",
}
OPTIONS = {"2025": ("--suite", "all"), "2026": ("--requirements", "2026-07-28")}
EXPECTED = {
    era: set(yaml.safe_load((Path(__file__).parent / f"expected-failures-{era}.yml").read_text())["server"])
    for era in SUITES
}
NOT_MORE_THAN = {"2025": 18, "2026": 21}
BOTH = {
    *("tools-list", "tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource"),
    *("tools-call-mixed-content", "tools-call-error", "tools-call-with-progress", "json-schema-2020-12"),
    "dns-rebinding-protection",
}
MUST_PASS = {
    "2025": BOTH | {"server-initialize", "ping"},
    "2026": BOTH | {"server-stateless", "http-header-validation", "http-custom-header-server-validation"},
}


@pytest.mark.parametrize("era", SUITES)
def test_nothing_that_has_to_pass_is_expected_to_fail_and_the_list_does_not_grow(era: str) -> None:
    assert not EXPECTED[era] & MUST_PASS[era]
    assert len(EXPECTED[era]) <= NOT_MORE_THAN[era]


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
@pytest.mark.parametrize("era", SUITES)
@pytest.mark.parametrize("kind", ["catalog", "member"])
def test_what_the_suite_expects_of_a_server_with_tools_holds(tmp_path: Path, kind: str, era: str) -> None:
    must_be_here(SUITES[era].exists(), "NO SUITE: type `make conformance`")
    with served(kind, tmp_path) as url:
        command = [str(NODE), str(SUITES[era]), "server", "--url", url, *OPTIONS[era]]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)
    summary = ran.stdout.partition("=== SUMMARY ===")[2]
    outcomes = {name: mark == "✓" for mark, name in re.findall(r"^([✓✗]) (\S+): ", summary, re.MULTILINE)}
    said = ran.stdout[-6000:] + ran.stderr[-2000:]
    assert {name for name in MUST_PASS[era] if not outcomes.get(name)} == set(), said
    # Tasks are an extension, and count for nothing in the suite's own verdict.
    failed = {name for name, is_passed in outcomes.items() if not is_passed and not name.startswith("tasks-")}
    assert failed == EXPECTED[era], said

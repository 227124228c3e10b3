"""Which bytes has nobody thought of? atheris, guided by the coverage of the hall's own modules, over the same targets.

    python -m tests.faults.fuzz.coverage_guided TARGET --seconds 60 --seed 8 --findings DIRECTORY

Ends with 0 and one line of figures, or with the finding's bytes in DIRECTORY and another exit code. A case that takes
longer than ten seconds, or more memory than a gigabyte and a half, is a finding.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
_SLOWEST_SECONDS = 10
_MOST_MEGABYTES = 1536
_LONGEST_CASE = 4096
_PROGRESS = re.compile(r"cov: (\d+) ft: (\d+) corp: (\d+)")
_RUNS = re.compile(r"stat::number_of_executed_units:\s*(\d+)")


def main() -> int:
    """Fuzz one target in a process of its own, which the fuzzer ends when it likes."""
    chosen = _arguments()
    chosen.findings.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as grown:
        seeds = [str(CORPUS / chosen.target)] if (CORPUS / chosen.target).is_dir() else []
        ended = subprocess.run(
            [sys.executable, "-m", __spec__.name, chosen.target, "--inside", *_flags(chosen), grown, *seeds],
            stderr=subprocess.PIPE,
            env={**os.environ, "HOME": grown},
            check=False,
        )
    said = ended.stderr.decode("utf-8", "replace")
    if ended.returncode:
        print(said[-6000:], file=sys.stderr)
    print(f"{chosen.target}: {_figures(said)}{f'; FINDING, exit code {ended.returncode}' if ended.returncode else ''}")
    return ended.returncode


def _flags(chosen: argparse.Namespace) -> Sequence[str]:
    return (
        f"-max_total_time={chosen.seconds}",
        f"-seed={chosen.seed}",
        f"-max_len={_LONGEST_CASE}",
        f"-timeout={_SLOWEST_SECONDS}",
        f"-rss_limit_mb={_MOST_MEGABYTES}",
        f"-artifact_prefix={chosen.findings}/{chosen.target}-",
        "-print_final_stats=1",
    )


def _figures(said: str) -> str:
    covered, features, kept = (_PROGRESS.findall(said) or [("0", "0", "0")])[-1]
    runs = _RUNS.search(said)
    return f"{runs[1] if runs else '?'} executions, {covered} branches, {features} features, {kept} cases kept"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=8)
    parser.add_argument("--findings", type=Path, default=Path("findings"))
    return parser.parse_args()


def fuzz(target: str, flags: Sequence[str]) -> None:
    """Run the fuzzer; it never returns."""
    import atheris  # type: ignore[import-untyped]  # noqa: PLC0415 - nobody else has it

    with atheris.instrument_imports(include=["contexthall"]):
        from tests.faults.fuzz.targets import TARGETS  # noqa: PLC0415 - what is imported here is instrumented

    TARGETS[target](b"")
    atheris.Setup([sys.argv[0], *flags], TARGETS[target])
    atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[2:3] == ["--inside"]:
        fuzz(sys.argv[1], sys.argv[3:])
    sys.exit(main())

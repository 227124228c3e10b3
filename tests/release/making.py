"""Archives and environments: what a release consists of, made the way a release makes it."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

REPOSITORY: Final = Path(__file__).parents[2]
PYPROJECT: Final[dict[str, Any]] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
# A Python that can build and nothing else: whatever a Makefile says, it cannot install over our own environment.
BUILDER: Final = f'#!/bin/sh\ntest "$2" = build && exec "{sys.executable}" "$@"\n'
ALWAYS_IN_AN_SDIST: Final = ("pyproject.toml", "LICENSE", ".gitignore")


class Dist(NamedTuple):
    """What `make dist` makes."""

    wheel: Path
    sdist: Path

    @property
    def digests(self) -> dict[str, str]:
        return {path.name: digest(path.read_bytes()) for path in self}


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def package_files(sources: Path = REPOSITORY) -> dict[str, str]:
    """Give the digests of the package's files by their names in a wheel."""
    files = (path for path in (sources / "src").rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(sources / "src").as_posix(): digest(path.read_bytes()) for path in files}


def supported_pythons() -> list[str]:
    """Give the versions that the classifiers name."""
    return re.findall(r"Python :: (3\.\d+)", "\n".join(PYPROJECT["project"]["classifiers"]))


def make_targets() -> set[str]:
    phony = re.findall(r"^\.PHONY: (.*)$", (REPOSITORY / "Makefile").read_text(), flags=re.MULTILINE)
    return {target for line in phony for target in line.split()}


def checkout(target: Path) -> Path:
    """Copy the sources as a clone would have them, without what was made beside them."""
    target.mkdir(parents=True)
    patterns = [each.lstrip("/") for each in PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]]
    for source in (found for pattern in (*patterns, *ALWAYS_IN_AN_SDIST) for found in REPOSITORY.glob(pattern)):
        if source.is_dir():
            shutil.copytree(source, target / source.name, ignore=shutil.ignore_patterns("__pycache__", ".context"))
        else:
            shutil.copy2(source, target)
    return target


def make_dist(sources: Path, env: Mapping[str, str] | None = None, *, umask: int = 0o022, python: str = BUILDER) -> str:
    """Type `make dist`, where everything that it needs seems to be installed already; give what it printed."""
    venv = sources / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").write_text(python)
    (venv / "bin" / "python").chmod(0o755)
    (venv / "installed-dev").touch()
    clean = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **(env or {})}
    ran = subprocess.run(
        ["make", "dist"], cwd=sources, env=clean, umask=umask, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def dist_of(sources: Path) -> Dist:
    [wheel], [sdist] = sources.glob("dist/*.whl"), sources.glob("dist/*.tar.gz")
    return Dist(wheel, sdist)

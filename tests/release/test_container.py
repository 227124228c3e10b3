"""Does the Containerfile say what works? Where there is no daemon to build it, its steps are run one by one.

Nothing is fetched: what the hall depends on is left out here, and tried below `.pythons`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.release.making import REPOSITORY, supported_pythons

from contexthall import __version__

# Where the build stage puts things; here each is a folder below a scratch directory.
PLACES = ("source", "wheels", "hall")


class Step(NamedTuple):
    """An instruction, and what it is about."""

    verb: str
    rest: str


def steps() -> list[Step]:
    lines = (REPOSITORY / "Containerfile").read_text().splitlines()
    return [Step(*line.split(" ", 1)) for line in lines if line and not line.startswith("#")]


def stages() -> list[list[Step]]:
    """Give the steps of each stage, its FROM first."""
    found: list[list[Step]] = []
    for step in steps():
        if step.verb == "FROM":
            found.append([])
        found[-1].append(step)
    return found


def copied(stage: list[Step]) -> list[tuple[list[str], str]]:
    return [(sources, target) for verb, rest in stage if verb == "COPY" for *sources, target in [rest.split()]]


def last(verb: str) -> str:
    return [step.rest for step in stages()[-1] if step.verb == verb][-1]


def test_what_is_copied_is_there_and_nothing_else_is_sent_to_the_builder() -> None:
    build, image = stages()
    sources = [source for group, _ in copied(build) for source in group]
    assert [source for source in sources if not (REPOSITORY / source).exists()] == []
    sent = re.findall(r"^!(.*)$", (REPOSITORY / ".dockerignore").read_text(), flags=re.MULTILINE)
    assert sorted(sent) == sorted(sources)
    assert copied(image) == [(["--from=build", "/hall"], "/hall")]


@pytest.mark.long
def test_the_steps_of_the_build_stage_give_an_environment_with_the_command(tmp_path: Path) -> None:
    places = {place: tmp_path / place for place in PLACES}
    places["source"].mkdir()
    for sources, target in copied(stages()[0]):
        for source in sources:
            put(REPOSITORY / source, places["source"] / target)
    for verb, rest in stages()[0]:
        if verb == "RUN":
            run(offline(rest), places)
    ran = subprocess.run([places["hall"] / "bin" / "context", "--version"], capture_output=True, check=True, text=True)
    assert ran.stdout == f"context {__version__}\n"


def put(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def offline(command: str) -> str:
    """Let pip take what is here already to build with, and install nothing but the wheel."""
    to_build = command.replace(" wheel ", " wheel --no-index --no-build-isolation ", 1)
    return to_build.replace(" install ", " install --no-index --no-deps ", 1)


def run(command: str, places: dict[str, Path]) -> None:
    here = re.sub(rf"(?<!\S)/({'|'.join(PLACES)})\b", lambda found: str(places[found[1]]), command)
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(["/bin/sh", "-c", here], cwd=places["source"], env=env, capture_output=True, check=False)
    assert ran.returncode == 0, f"{here}: {ran.stderr.decode()}"


def test_the_image_runs_the_command_and_serves_and_is_nobody_special() -> None:
    assert json.loads(last("ENTRYPOINT")) == ["context"]
    assert json.loads(last("CMD")) == ["serve"]
    assert last("USER") not in {"root", "0"}
    assert f"useradd --create-home {last('USER')}" in last("RUN")


def test_both_stages_have_the_same_python_and_it_is_one_that_is_tried() -> None:
    images = [stage[0].rest.split()[0] for stage in stages()]
    assert len(set(images)) == 1
    assert re.findall(r":(3\.\d+)-", images[0])[0] in supported_pythons()

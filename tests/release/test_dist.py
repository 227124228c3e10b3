"""Are the sdist and the wheel whole, and the same for everybody who builds them?"""

import os
import shutil
import subprocess
import sys
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZipFile

import pytest
from tests.machine import must_be_here
from tests.release.making import PYPROJECT, REPOSITORY, Dist, checkout, digest, dist_of, make_dist, package_files

from contexthall import __version__

EPOCH = int(datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC).timestamp())
DATED = {"SOURCE_DATE_EPOCH": str(EPOCH)}
TELLER = '#!/bin/sh\necho "date: $SOURCE_DATE_EPOCH"\n'
INFO = f"contexthall-{__version__}.dist-info"


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Dist:
    sources = checkout(tmp_path_factory.mktemp("release") / "hall")
    make_dist(sources, DATED)
    return dist_of(sources)


def disguise(sources: Path) -> None:
    """Give every file another time and other permissions, as another machine might."""
    for number, path in enumerate(sorted(sources.rglob("*"))):
        path.chmod(0o700 if path.is_dir() or os.access(path, os.X_OK) else 0o600)
        os.utime(path, (number, number))


def names_in(sdist: Path) -> set[str]:
    with tarfile.open(sdist) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


@pytest.mark.long
def test_another_place_and_other_surroundings_give_the_same_bytes(dist: Dist, tmp_path: Path) -> None:
    sources = checkout(tmp_path / "somewhere élse" / "İ")
    disguise(sources)
    surroundings = {"LC_ALL": "C", "TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "7", "PYTHONUTF8": "1"}
    make_dist(sources, DATED | surroundings, umask=0o077)
    assert dist_of(sources).digests == dist.digests


@pytest.mark.long
def test_the_sdist_makes_itself_again_and_the_wheel(dist: Dist, tmp_path: Path) -> None:
    with tarfile.open(dist.sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    sources = tmp_path / f"contexthall-{__version__}"
    make_dist(sources)
    assert dist_of(sources).digests == dist.digests


@pytest.mark.long
def test_what_pip_makes_of_a_clone_is_the_wheel(dist: Dist, tmp_path: Path) -> None:
    """So `pip install .` installs what is tried below `.pythons`."""
    flags = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", *flags, "."]
    subprocess.run(command, cwd=dist.wheel.parents[1], env={**os.environ, **DATED}, capture_output=True, check=True)
    assert digest((tmp_path / dist.wheel.name).read_bytes()) == dist.digests[dist.wheel.name]


def test_everything_in_them_has_the_date_that_was_given(dist: Dist) -> None:
    with ZipFile(dist.wheel) as wheel, tarfile.open(dist.sdist) as sdist:
        assert {member.date_time for member in wheel.infolist()} == {(2026, 2, 3, 4, 5, 6)}
        assert {member.mtime for member in sdist.getmembers()} == {EPOCH}


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """As much of the sources as `make` wants to see before it builds."""
    (tmp_path / "hall" / "src").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "CHANGELOG.md"):
        shutil.copy(REPOSITORY / name, tmp_path / "hall")
    return tmp_path / "hall"


def test_in_a_clone_the_last_commit_gives_the_date(sources: Path) -> None:
    who = {f"GIT_{role}_{what}": "somebody" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {**os.environ, **who, "GIT_COMMITTER_DATE": f"{EPOCH + 1} +0000"}
    for arguments in (["init"], ["commit", "--allow-empty", "--message", "Begin"]):
        subprocess.run(["git", *arguments, "--quiet"], cwd=sources, env=env, check=True)
    assert f"date: {EPOCH + 1}\n" in make_dist(sources, python=TELLER)


def test_outside_of_a_repository_the_changelog_gives_the_date(sources: Path) -> None:
    os.utime(sources / "CHANGELOG.md", (EPOCH + 2, EPOCH + 2))
    assert f"date: {EPOCH + 2}\n" in make_dist(sources, python=TELLER)


def test_the_wheel_holds_the_package_and_what_describes_it_and_nothing_else(dist: Dist) -> None:
    package = package_files(dist.wheel.parents[1])
    with ZipFile(dist.wheel) as wheel:
        found = {name: digest(wheel.read(name)) for name in wheel.namelist()}
    described = {f"{INFO}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
    assert found.keys() == package.keys() | described
    assert {name: found[name] for name in package} == package
    assert found[f"{INFO}/licenses/LICENSE"] == digest((REPOSITORY / "LICENSE").read_bytes())


def test_the_package_holds_only_what_is_used_where_it_is_installed() -> None:
    endings = {Path(name).suffix for name in package_files()}
    assert endings == {".py", ".typed", ".json", ".html", ".css", ".js", ".svg"}
    needed = ("py.typed", "contexts/files/context.schema.json", "faces/web/static/index.html")
    assert [name for name in needed if f"contexthall/{name}" not in package_files()] == []


def test_the_sdist_holds_what_git_knows_and_nothing_else(dist: Dist) -> None:
    must_be_here((REPOSITORY / ".git").exists(), "NO REPOSITORY: nobody knows which files belong to the project")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True).stdout.decode().split("\0")
    known = {name for name in listed if name and (REPOSITORY / name).is_file()}
    assert names_in(dist.sdist) == known | {"PKG-INFO"}


def test_the_wheel_asks_for_what_the_project_names_and_for_no_tool_of_ours(dist: Dist) -> None:
    with ZipFile(dist.wheel) as wheel:
        lines = wheel.read(f"{INFO}/METADATA").decode().split("\n\n")[0].splitlines()
    asked = [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")]
    always = {line.partition("<")[0].partition(">")[0] for line in asked if "extra ==" not in line}
    named = {line.partition("<")[0].partition(">")[0] for line in PYPROJECT["project"]["dependencies"]}
    assert always == named
    assert f"Requires-Python: {PYPROJECT['project']['requires-python']}" in lines

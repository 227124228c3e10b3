"""Does the version stand in one place?"""

import re
import subprocess

from tests.machine import must_be_here
from tests.release.making import PYPROJECT, REPOSITORY

from contexthall import __version__

VERSION = re.escape(__version__)
# Tests fail by themselves when it changes; the others have versions of their own, or of packages.
LOOKED_AT_ELSEWHERE = ("CHANGELOG.md", "tests/", "examples/", "vectors/", "constraints.txt")
# Documents may quote a member's version. What a command prints is compared with what it is said to print.
IN_PROSE = re.compile(rf"\b(?:context|hall|contexthall)\W{{1,3}}v?{VERSION}\b", flags=re.IGNORECASE)
ANYWHERE = re.compile(rf"(?<![\w.]){VERSION}\b(?!\.\d|-alpha)")


def test_the_package_alone_says_which_version_it_is() -> None:
    assert PYPROJECT["project"]["dynamic"] == ["version"]
    home = REPOSITORY / PYPROJECT["tool"]["hatch"]["version"]["path"]
    assert re.findall(r'^__version__ = "(.*)"$', home.read_text(), flags=re.MULTILINE) == [__version__]


def test_the_changelog_begins_with_the_version() -> None:
    """As released on a day, or as unreleased."""
    headings = re.findall(r"^## (.*)$", (REPOSITORY / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert re.fullmatch(rf"Unreleased \({VERSION}\)|{VERSION} \(\d{{4}}-\d\d-\d\d\)", headings[0])


def lines_with_the_version(name: str) -> list[str]:
    text = (REPOSITORY / name).read_bytes().decode(errors="replace")
    if name.endswith(".md"):
        text = re.sub(r"^```console\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    wanted = IN_PROSE if name.endswith(".md") else ANYWHERE
    return [f"{name}: {line.strip()}" for line in text.splitlines() if wanted.search(line)]


def test_no_other_file_spells_the_version() -> None:
    must_be_here((REPOSITORY / ".git").exists(), "NO REPOSITORY: nobody knows which files belong to the project")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=True)
    names = [name for name in listed.stdout.decode().split("\0") if name and (REPOSITORY / name).is_file()]
    ours = [name for name in names if not name.startswith(LOOKED_AT_ELSEWHERE)]
    found = [line for name in ours for line in lines_with_the_version(name)]
    assert found == [f'src/contexthall/__init__.py: __version__ = "{__version__}"']

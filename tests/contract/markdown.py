"""What stands in the Markdown of the repository: which blocks, which links, and what can be linked to?"""

import re
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[2]
_FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", flags=re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block: its language, the line of the document where it begins, its text."""

    language: str
    line: int
    text: str


class Example(NamedTuple):
    """A program that a document shows, and what it prints."""

    code: str
    output: str


def files_of_a_clone(*patterns: str) -> list[str]:
    """List the files that a clone would have, and those that are new."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns]
    listed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True).stdout.decode()
    return sorted(name for name in listed.split("\0") if name and (REPOSITORY / name).is_file())


def documents() -> list[str]:
    return files_of_a_clone("*.md")


def text_of(document: str) -> str:
    return (REPOSITORY / document).read_text()


def blocks_in(text: str) -> Iterator[Block]:
    for fenced in _FENCED.finditer(text):
        yield Block(fenced[2], text.count("\n", 0, fenced.start()) + 1, textwrap.dedent(fenced[3]))


def examples_in(text: str) -> list[Example]:
    """Give each program with the block behind it; a program without one is a mistake."""
    found = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    assert len(found) == text.count("```python")
    return [Example(*each) for each in found]


def without_blocks(text: str) -> str:
    return _FENCED.sub("", text)


def passages_in(text: str) -> list[str]:
    """Give what stands in the text as code."""
    return [" ".join(passage.split()) for passage in re.findall(r"`([^`]+)`", without_blocks(text))]


def links_in(text: str) -> list[str]:
    """Give the targets of all links and pictures but those to other sites."""
    prose = re.sub(r"`[^`]+`", "``", without_blocks(text))
    targets = re.findall(r"\]\(([^)\s]+)|^\[[^]]+\]: (\S+)|(?:href|src)=\"([^\"]+)\"", prose, flags=re.MULTILINE)
    return [target for found in targets for target in found if target and "://" not in target]


def anchors_in(text: str) -> set[str]:
    """Give what can stand after `#` in a link: each heading as GitHub spells it, the second of two alike with `-1`."""
    anchors: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", without_blocks(text), flags=re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        alike = (f"{anchor}-{number}" if number else anchor for number in range(len(anchors) + 1))
        anchors.add(next(name for name in alike if name not in anchors))
    return anchors

"""Under which licences are the packages that come with the hall? Writes the table of docs/licences.md.

    python -m artefacts.licences --write docs/licences.md

Reads what the installed packages say of themselves, from the hall's own requirements on, and on to theirs.
"""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from docs.parts import rewrite, table
from packaging.requirements import Requirement

_BY_CLASSIFIER = re.compile(r"License :: (?:OSI Approved :: )?(.+)")


def needed() -> Iterator[Distribution]:
    """Yield the packages that the hall needs, each once: its own requirements, and theirs with the extras they name."""
    waiting, seen = [Requirement("contexthall")], set[str]()
    for asked in waiting:  # which grows on the way
        found = distribution(asked.name)
        if asked.name != "contexthall" and found.name not in seen:
            yield found
        if str(asked) not in seen:
            waiting += _required(found, asked.extras)
        seen |= {found.name, str(asked)}


def _required(found: Distribution, extras: set[str]) -> list[Requirement]:
    chosen = [{"extra": extra} for extra in ("", *sorted(extras))]
    asked = map(Requirement, found.requires or ())
    return [each for each in asked if each.marker is None or any(map(each.marker.evaluate, chosen))]


def licence_of(found: Distribution) -> str:
    """Return what a package says: an SPDX expression, else its classifiers, else the first line of its text."""
    said = found.metadata
    classifiers = [match[1] for each in said.get_all("Classifier", []) if (match := _BY_CLASSIFIER.match(each))]
    named = {name: (said.get_all(name) or [""])[0] for name in ("License-Expression", "License")}
    return named["License-Expression"] or ", ".join(classifiers) or named["License"].split("\n")[0]


def written() -> dict[str, str]:
    rows = sorted([found.name, licence_of(found)] for found in needed())
    return {"licences": table(["package", "licence"], rows)}


if __name__ == "__main__":
    rewrite(Path(sys.argv[-1]), written())

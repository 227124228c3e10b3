"""Which part of a page does a program write? What stands between two marks: `<!-- its name -->` and `<!-- end -->`.

Pure, but for `rewrite`. All around the marks is somebody's own words, and stays as it is.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

_PART = re.compile(r"^<!-- (?P<name>[^\n]+?) -->\n(?P<text>.*?)^<!-- end -->$", re.DOTALL | re.MULTILINE)


def parts(page: str) -> dict[str, str]:
    """Give the parts of a page that programs write, by name."""
    return {found["name"]: found["text"].strip("\n") for found in _PART.finditer(page)}


def prose(page: str) -> str:
    """Give what people wrote."""
    return _PART.sub("", page)


def with_parts(page: str, written: Mapping[str, str]) -> str:
    """Give the page with these parts in place of what they were; LookupError for one that it does not have."""
    if unknown := [name for name in written if name not in parts(page)]:
        raise LookupError(f"the page has no part {', '.join(unknown)}")

    def spelt(found: re.Match[str]) -> str:
        name = found["name"]
        return f"<!-- {name} -->\n\n{written[name]}\n\n<!-- end -->" if name in written else found[0]

    return _PART.sub(spelt, page)


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def rewrite(page: Path, written: Mapping[str, str]) -> None:
    """Write these parts of a page anew."""
    page.write_text(with_parts(page.read_text(encoding="utf-8"), written), encoding="utf-8")

"""Docstrings and comments as Markdown that adds no heading to the page, and hides none.

Pure. The text stays as its author wrote it, but for what CommonMark would take for the page's own structure.
"""

import re
from inspect import cleandoc

from contexthall.core import limits
from contexthall.core.parsing import LEFT_OUT

_LINE_END = re.compile(r"\r\n?|[\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_UNDERLINE = re.compile(r"([=\-~^\"'`+*#.:_])\1{2,}\s*")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_C_SIGNATURE = re.compile(r"\A\w+\([^)]*\)\n--\n")
"""How what is written in C tells its signature."""
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+")
_BEGINS_BLOCK = re.compile(r"^( {0,3})(#{1,6}(?:[ \t]|$)|[=\-]+[ \t]*$|<[A-Za-z/!?])")

_NO_TITLES = (" ", "\t", "\\", "**", ">", "|", "`", "~", "- ", "* ", "+ ")


def to_markdown(docstring: str) -> str:
    """Return a docstring without its indentation, as Markdown in which nothing is a heading."""
    if len(docstring) > limits.PACKAGE_DOCSTRING_CHARACTERS:
        docstring = docstring[: limits.PACKAGE_DOCSTRING_CHARACTERS] + LEFT_OUT
    text = cleandoc(_LINE_END.sub("\n", docstring))
    text = _C_SIGNATURE.sub("", text)
    return "\n".join(_escaped(_CONTROL.sub("", text).split("\n"))).strip("\n")


def _escaped(lines: list[str]) -> list[str]:
    shown: list[str] = []
    fence = ""
    for line in map(str.rstrip, lines):
        mark = _FENCE.match(line)
        if fence:
            is_end = mark is not None and mark[1].startswith(fence) and mark.end() == len(line)
            fence = "" if is_end else fence
            shown.append(line)
        elif mark:
            # Flush left it is a fence of the page, and no list's: where it ends does not depend on what is around it.
            fence = mark[1]
            shown.append(line.lstrip())
        elif shown and _is_underline(shown[-1], line):
            shown[-1] = f"**{shown[-1].strip()}**"
            shown.append("")
        elif (heading := _HEADING.match(line)) and (title := line[heading.end() :].rstrip("# \t")):
            shown.append(f"**{title}**")
        else:
            shown.append(_BEGINS_BLOCK.sub(r"\1\\\2", line))
    return [*shown, fence] if fence else shown


def _is_underline(title: str, line: str) -> bool:
    """Return whether `line` makes a heading of the line above it, as in reStructuredText."""
    is_title = bool(title.strip()) and not title.startswith(_NO_TITLES)
    return is_title and _UNDERLINE.fullmatch(line) is not None

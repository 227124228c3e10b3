"""Titles, paragraphs, quotations and lists of a text in Markdown or reStructuredText.

Pure. What is not prose, such as tables, code and directives, is skipped.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from contexthall.core.parsing import words


class ProseBlock(NamedTuple):
    """A stretch of text: a title if it has a level."""

    text: str
    level: int = 0
    is_list: bool = False


_ADORNMENTS = frozenset("=-~^\"'*+#:.<>_`")
_SECTIONS = "Args|Arguments|Parameters|Params|Returns?|Raises|Throws|Yields|Examples?|Usage|Notes?|Attributes"
_HEADING = re.compile(r"\s{0,3}(#{1,6})(?:\s+|$)(.*)")
_FENCE = re.compile(r"\s*(`{3,}+|~{3,}+)(?!.*`)")
_ITEM = re.compile(r"\s{0,3}(?:[-*+•–]|\d{1,3}[.)]|\(?[a-z0-9]\))\s+(?=\S)")
_FIELD = re.compile(rf"\s*(?::[A-Za-z][\w .*-]{{0,60}}:(?=\s|$)|[@\\][a-z]\w*+(?=\s|$|\{{)|(?:{_SECTIONS}):\s*$)")
_EXAMPLE = re.compile(r"\s*(?:>>>|\$|%)\s")
_CODE = re.compile(rf" {{4}}|\t|{_EXAMPLE.pattern}")
_DEFINITION = re.compile(r"\s{0,3}\*?\[[^\[\]]{1,200}\]:\s*\S")
_MARKER = re.compile(r"^\s*>+\s?")
_OPENING = re.compile(r"\s*<([/!?]?[A-Za-z][A-Za-z0-9-]{0,20})?")
_ANY_TAG = re.compile(r"<[^<>]*+>")
_BLOCK_TAGS = words(
    "address article aside blockquote center dd details div dl dt figure footer form h1 h2 h3 h4 h5 h6 header hr "
    "iframe li main nav ol p picture pre script section style summary svg table tbody td th thead tr ul video"
)
_SEALED_TAGS = words("details picture pre script style svg table video")
_VOID_TAGS = words("br hr img input link meta source")


def without_comments(text: str) -> str:
    kept, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        kept.append(text[at:start])
        at = end + len("-->")
    return "".join([*kept, text[at:]])


def _is_adornment(line: str, *, markdown: bool = False) -> bool:
    marks = line.strip()
    return len(marks) > 1 and marks[0] in ("=-" if markdown else _ADORNMENTS) and marks == marks[0] * len(marks)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _line(lines: Sequence[str], at: int) -> str:
    return lines[at].strip() if at < len(lines) else ""


def until(lines: Sequence[str], at: int, is_end: Callable[[str], bool]) -> int:
    """Return the index of the first line from `at` on that `is_end`, or the end."""
    while at < len(lines) and not is_end(lines[at]):
        at += 1
    return at


def _is_blank(line: str) -> bool:
    return not line.strip()


def _after_skipped(lines: Sequence[str], at: int) -> int:
    """Return the end of what begins at `at` and is not prose; `at` if that is prose."""
    line = lines[at].strip()
    if fence := _FENCE.match(lines[at]):
        marks = fence[1]
        return until(lines, at + 1, lambda line: line.strip().startswith(marks) and not line.strip().strip(marks)) + 1
    if line == ".." or line.startswith((".. ", "__ ")):
        edge = _indent(lines[at])
        return until(lines, at + 1, lambda line: not _is_blank(line) and _indent(line) <= edge)
    if _is_table(line, _line(lines, at + 1)):
        return until(lines, at, _is_blank)
    if not any(mark.isalnum() for mark in line):
        return at + 1
    if _FIELD.match(lines[at]) or _DEFINITION.match(lines[at]):
        return until(lines, at + 1, lambda line: _is_blank(line) or not line[:1].isspace())
    end = _after_html(lines, at)
    return until(lines, at, _is_blank) if end == at and _CODE.match(lines[at]) else end


def _is_table(line: str, below: str) -> bool:
    is_grid = line.startswith(("|", "+-", "+=")) and line.endswith(("|", "+")) and len(line) > 1
    is_simple = line.startswith("==") and " " in line and set(line) <= {"=", " "}
    return is_grid or is_simple or ("|" in line and "|" in below and "-" in below and set(below) <= set("|:- \t"))


def _after_html(lines: Sequence[str], at: int) -> int:
    opening = _OPENING.match(lines[at])
    tag = ((opening and opening[1]) or "").lower()
    if not tag or (tag.strip("/!?") not in _BLOCK_TAGS and not _is_blank(_without_tags(lines[at]))):
        return at
    end = until(lines, at, lambda line: ">" in line or _is_blank(line)) + 1
    if tag[0] in "/!?" or tag in _VOID_TAGS:
        return end
    closing = f"</{tag}"
    if tag in _SEALED_TAGS:
        return until(lines, at, lambda line: closing in line.lower()) + 1
    return max(end, until(lines, at, lambda line: _is_blank(line) or closing in line.lower()) + 1)


def _without_tags(line: str) -> str:
    """Return a line without its tags, including one that continues on the next line."""
    line = _ANY_TAG.sub("", line)
    return line.partition("<")[0] if ">" not in line else line


def _title(lines: Sequence[str], at: int, *, markdown: bool) -> tuple[str, str, int]:
    """Return a title, the characters that mark it and where it ends."""
    if heading := _HEADING.match(lines[at]):
        return heading[2].strip(" #"), heading[1], at + 1
    line, below, further = _line(lines, at), _line(lines, at + 1), _line(lines, at + 2)
    if not markdown and below and line == further and _is_adornment(line):
        return below, line[0] * 2, at + 3
    if not _is_adornment(line) and _is_adornment(below, markdown=markdown) and not _ITEM.match(line):
        return line, below[0], at + 2
    return "", "", at


def _after_text(lines: Sequence[str], at: int) -> int:
    """Return where the list, the quotation or the paragraph ends that begins at `at`."""
    if _ITEM.match(lines[at]):
        return until(lines, at + 1, lambda line: not (_is_blank(line) or line[0].isspace() or _ITEM.match(line)))
    if _MARKER.match(lines[at]):
        return until(lines, at, lambda line: not _MARKER.match(line))
    return until(lines, at + 1, _interrupts)


def _interrupts(line: str) -> bool:
    if _is_blank(line) or _is_adornment(line):
        return True
    if (tag := _OPENING.match(line)) and (tag[1] or "").strip("/").lower() in _BLOCK_TAGS:
        return True
    return any(known.match(line) for known in (_ITEM, _HEADING, _FENCE, _FIELD, _EXAMPLE, _MARKER, _DEFINITION))


def blocks(lines: Sequence[str], *, markdown: bool) -> Iterator[ProseBlock]:
    """Yield titles, paragraphs, quotations and lists; the rest is not prose."""
    at, adornments = 0, list[str]()
    while (at := until(lines, at, lambda line: not _is_blank(line))) < len(lines):
        text, marks, end = _title(lines, at, markdown=markdown)
        if end > at:
            adornments += [] if marks in adornments or marks[0] == "#" else [marks]
            yield ProseBlock(text, level=len(marks) if marks[0] == "#" else adornments.index(marks) + 1)
        elif (end := _after_skipped(lines, at)) == at:
            end = _after_text(lines, at)
            yield _block(lines[at:end])
        at = end


def _block(lines: Sequence[str]) -> ProseBlock:
    """Return a paragraph, the first item of a list or the first paragraph of a quotation."""
    opening = _ITEM.match(lines[0]) or _MARKER.match(lines[0])
    rest = [_MARKER.sub("", line, count=1) for line in lines[1:]]
    kept = [lines[0][opening.end() :] if opening else lines[0], *rest[: until(rest, 0, _interrupts)]]
    return ProseBlock(" ".join(line.rstrip("\\") for line in kept), is_list=bool(_ITEM.match(lines[0])))

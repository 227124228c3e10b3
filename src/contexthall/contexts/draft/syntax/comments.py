"""The prose of comments and docstrings: their first paragraph, without marks, tags and licences.

Pure.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile

from tree_sitter import Node

from contexthall.core import limits
from contexthall.core.parsing import LEFT_OUT, visible, written
from contexthall.core.text import known

COMMENTS = frozenset({"comment", "line_comment", "block_comment", "multiline_comment"})
_RULE = re.compile(r"([=~^*#+`_\"'-])\1{2,}")
_TITLE = re.compile(r"#{1,6}\s+(.*)")
_NO_PROSE = ("[![", "![", "<", ".. ", "```", "|", ">>>", "#![", "[//]", "$ ")
_SECTIONS = re.compile(
    r"(?::(?:param|parameter|arg|type|returns?|rtype|raises?|var|ivar|copyright|license)\b.*:|"
    r"(?:args|arguments|parameters|params|returns?|raises|yields|attributes|example|examples|usage):$|>>>|```|\.\. |@)",
    re.IGNORECASE,
)
_KEPT_TAG = re.compile(r"@(?:file(?:overview)?|desc(?:ription)?|summary|overview|remarks)\b:?\s*", re.IGNORECASE)
_EMPTY_TAG = re.compile(r"@(?:packageDocumentation|module\b.*|flow\b.*|ts-\w+.*|jest-.*|vitest-.*)")
_INLINE_TAG = re.compile(r"\{@\w+\s+([^\s}|]+)[\s|]*([^}]*)\}")
_ROLE = re.compile(r":[a-z:+-]+:`(~?)([^`<]*?)(?:\s*<[^`>]*>)?`(?:\\ ?)?")
_LINE_MARK = re.compile(r"//[/!]?|#")
_BLOCK_MARK = re.compile(r"\s*\*+(?:\s|$)?")
_DIRECTIVE = re.compile(
    r"#!|#\s*(?:frozen_string_literal|-\*-|shellcheck|rubocop|typed:|(?:en)?coding|warn_|bats |vim?:|@(?:api )?private)"
    r"|//(?:go:|nolint|line |export |\s*\+build\b)"
    r"|//\s*(?:eslint|tslint|prettier|biome|@ts-|swift(?:lint|format)|MARK:|sourcery)"
)
_LICENCE = re.compile(
    r"copyright|licen[cs]ed? |@licen[cs]e|@preserve|SPDX-|all rights reserved|©|permission is hereby|"
    r"code generated .* do not edit",
    re.IGNORECASE,
)


def prose(comment: str) -> str:
    """Return the first paragraph of prose, on one line; a title only if there is nothing else."""
    title = ""
    for paragraph in _paragraphs(known(comment[: 16 * limits.DOC_CHARACTERS])):
        heading, lines = _without_heading(paragraph)
        title = title or heading
        kept = list(takewhile(lambda line: not (_SECTIONS.match(line) or _RULE.fullmatch(line)), lines))
        if kept and not kept[0].startswith(_NO_PROSE):
            return _shortened(" ".join(kept))
        if len(kept) < len(lines) and lines[len(kept)].startswith(("@", ":")):
            break  # what follows is about a parameter or the like
    return _shortened(title)


def comment_prose(comments: Sequence[str]) -> str:
    """Return the prose of adjacent comments, without their marks."""
    return prose("\n".join(_bare(comment) for comment in comments if not _DIRECTIVE.match(comment)))


def is_licence(comment: str) -> bool:
    """Return whether a comment is a licence or a copyright notice."""
    return _LICENCE.search(known(comment[:4096])) is not None


def with_comments(data: bytes, nodes: Iterable[Node]) -> Iterator[tuple[Node, list[str]]]:
    """Yield the nodes that are not comments, each with the comments directly above it."""
    above: list[Node] = []
    for node in nodes:
        if above and is_apart(data, above[-1], node):
            above = []
        if node.type in COMMENTS:
            above.append(node)
        else:
            yield node, [written(data, comment) for comment in above]
            above = []


def is_apart(data: bytes, upper: Node, lower: Node) -> bool:
    """Return whether there is an empty line between two nodes; the upper one may include its line end."""
    end = upper.end_byte
    if end and data[end - 1] == ord("\n"):
        end -= 1
    return data.count(b"\n", end, lower.start_byte) > 1


def _paragraphs(comment: str) -> Iterator[list[str]]:
    lines = (_KEPT_TAG.sub("", line.strip(), count=1) for line in comment.splitlines())
    for has_words, paragraph in groupby((line for line in lines if not _EMPTY_TAG.fullmatch(line)), bool):
        if has_words:
            yield list(paragraph)


def _without_heading(lines: list[str]) -> tuple[str, list[str]]:
    if _RULE.fullmatch(lines[0]):
        lines = lines[1:]
    if len(lines) > 1 and _RULE.fullmatch(lines[1]):
        return lines[0], lines[2:]
    if lines and (match := _TITLE.fullmatch(lines[0])):
        return match[1], lines[1:]
    return "", lines


def _shortened(text: str) -> str:
    text = _INLINE_TAG.sub(lambda match: match[2].strip() or match[1], text)
    text = visible(" ".join(_ROLE.sub(_role, text).split()))
    most = limits.DOC_CHARACTERS
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} {LEFT_OUT}"


def _role(match: re.Match[str]) -> str:
    """Return a reference as code: its last name if it begins with a tilde."""
    return f"`{match[2].rsplit('.', 1)[-1] if match[1] else match[2]}`"


def _bare(comment: str) -> str:
    if not comment.startswith("/*"):
        return _LINE_MARK.sub("", comment.rstrip(), count=1)
    inside = comment.removeprefix("/*").removesuffix("*/").lstrip("*!")
    return "\n".join(_BLOCK_MARK.sub("", line, count=1) for line in inside.splitlines())

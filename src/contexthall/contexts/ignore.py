"""What is left out? The rules of `.gitignore` and `.contextignore` files, exactly as git reads them.

Pure: the text of the files is an argument.
"""

import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import re2

from contexthall.contexts.wildmatch import NeverMatchesError, expression, literal_length

IGNORE_FILES = (".gitignore", ".contextignore")
"""In the order in which they are read: of two rules in one directory the later one decides."""
MOST_BYTES = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Expression: TypeAlias = Any

_OPTIONS = re2.Options()
_OPTIONS.encoding = re2.Options.Encoding.LATIN1
_OPTIONS.log_errors = False
_OPTIONS.never_capture = True
_OPTIONS.max_mem = 8 << 20


class Pattern(NamedTuple):
    """One line of an ignore file; exactly one of `literal`, `suffix` and `expression` is set."""

    negated: bool
    directories_only: bool
    by_path: bool
    """Whether it is about the path from the ignore file's directory; else about the name, wherever that is."""
    literal: str | None = None
    suffix: str | None = None
    expression: bytes | None = None

    def matches(self, path: str, name: str, *, is_directory: bool) -> bool:
        subject = path if self.by_path else name
        if self.directories_only and not is_directory:
            return False
        if self.expression is not None:
            return _is_match(_compiled(self.expression), subject)
        return subject == self.literal if self.suffix is None else subject.endswith(self.suffix)


class Rules:
    """The patterns of one directory's ignore files."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._patterns = tuple(reversed(patterns))  # the last one that matches decides
        self._suffixes = tuple(pattern.suffix for pattern in patterns if pattern.suffix is not None)
        self._names = frozenset(pattern.literal for pattern in patterns if not pattern.by_path)
        self._paths = frozenset(pattern.literal for pattern in patterns if pattern.by_path)
        self._name_expression = _any_of(pattern for pattern in patterns if not pattern.by_path)
        self._path_expression = _any_of(pattern for pattern in patterns if pattern.by_path)

    def judge(self, path: str, name: str, *, is_directory: bool) -> bool | None:
        """Say whether `path`, whose last part is `name`, is ignored; None if the rules do not speak of it."""
        if self._may_match(path, name):
            for pattern in self._patterns:
                if pattern.matches(path, name, is_directory=is_directory):
                    return not pattern.negated
        return None

    def _may_match(self, path: str, name: str) -> bool:
        """Say, in one step for all patterns, whether any is worth a closer look: for most files none is."""
        return (
            name in self._names
            or name.endswith(self._suffixes)
            or path in self._paths
            or (self._name_expression is not None and _is_match(self._name_expression, name))
            or (self._path_expression is not None and _is_match(self._path_expression, path))
        )


class Level(NamedTuple):
    """The rules that a directory adds to those of the directories above it."""

    base_length: int
    """How much of a path from the root is that directory's own, the slash included."""
    rules: Rules


def is_ignored(levels: Sequence[Level], path: str, name: str, *, is_directory: bool) -> bool:
    """Say whether `path`, from the root, is ignored; the deepest level that speaks of it decides."""
    for level in reversed(levels):
        verdict = level.rules.judge(path[level.base_length :], name, is_directory=is_directory)
        if verdict is not None:
            return verdict
    return False


def parse_rules(files: Sequence[bytes]) -> Rules | None:
    """Read ignore files, later ones over earlier ones; None if they have no pattern."""
    lines = [line for data in files for line in data.removeprefix(_BYTE_ORDER_MARK).split(b"\n")]
    patterns = [pattern for line in lines if (pattern := _parse(line.removesuffix(b"\r"))) is not None]
    return Rules(patterns) if patterns else None


def _parse(line: bytes) -> Pattern | None:
    """Read one line; None if it is no pattern, or one that nothing can match."""
    text = _without_trailing_spaces(line.split(b"\0")[0])
    negated, text = text.startswith(b"!"), text.removeprefix(b"!")
    directories_only, text = text.endswith(b"/"), text.removesuffix(b"/")
    by_path, text = b"/" in text, text.removeprefix(b"/")
    if not text or line.startswith(b"#"):
        return None
    if literal_length(text) == len(text):
        return Pattern(negated, directories_only, by_path, literal=os.fsdecode(text))
    if not by_path and text.startswith(b"*") and literal_length(text[1:]) == len(text) - 1 and _is_utf8(text):
        return Pattern(negated, directories_only, by_path, suffix=os.fsdecode(text[1:]))
    try:
        wanted = expression(text, by_path=by_path)
        _compiled(wanted)
    except (NeverMatchesError, re2.error):
        return None
    return Pattern(negated, directories_only, by_path, expression=wanted)


def _without_trailing_spaces(line: bytes) -> bytes:
    """Drop the spaces at the end, unless a backslash keeps them."""
    end = at = 0
    while at < len(line):
        if line[at : at + 1] == b"\\":
            at += 1
            end = at + 1
        elif line[at : at + 1] != b" ":
            end = at + 1
        at += 1
    return line[:end]


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _any_of(patterns: Iterable[Pattern]) -> Expression | None:
    expressions = [pattern.expression for pattern in patterns if pattern.expression is not None]
    if not expressions:
        return None
    try:
        return _compiled(b"|".join(expressions))
    except re2.error:  # too large together, though each is not
        return _compiled(b"(?s:.*)")


@lru_cache(maxsize=1024)
def _compiled(expression: bytes) -> Expression:
    return re2.compile(expression, _OPTIONS)


def _is_match(expression: Expression, subject: str) -> bool:
    return expression.fullmatch(os.fsencode(subject)) is not None

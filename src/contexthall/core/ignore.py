"""Ignore rules of `.gitignore` and `.contextignore` files, exactly as git reads them.

Pure: the text of the files is an argument. Whoever wrote them may have made them to keep us busy, so there are bounds:
on the length of a pattern, and on the number and size of those that are no plain names or endings.
"""

import os
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import re2

from contexthall.core import limits
from contexthall.core.wildmatch import NeverMatchesError, expression, literal_length

Expression: TypeAlias = Any

_ANYTHING, _NOTHING = b"(?s:.*)", rb"[^\x00-\xff]"


def _options(most_bytes: int) -> Any:  # noqa: ANN401 - RE2 has no types
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.never_capture = True
    options.max_mem = most_bytes
    return options


_OPTIONS = _options(8 << 20)
_OPTIONS_OF_ONE = _options(1 << 20)


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
            return _is_match(_compiled_one(self.expression), subject)
        return subject == self.literal if self.suffix is None else subject.endswith(self.suffix)


Numbered: TypeAlias = tuple[int, Pattern]
"""A pattern and its place in the files, of which the highest decides."""


class Rules:
    """The patterns of one directory's ignore files."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        # Of those that match the same, the last one decides.
        numbered = {pattern[1:]: (number, pattern) for number, pattern in enumerate(patterns)}.values()
        self._names = _by_key(numbered, lambda pattern: None if pattern.by_path else pattern.literal)
        self._paths = _by_key(numbered, lambda pattern: pattern.literal if pattern.by_path else None)
        self._endings = _by_key(numbered, lambda pattern: pattern.suffix)
        self._suffixes = tuple(self._endings)
        self._expressions = [each for each in numbered if each[1].expression is not None]
        self._name_expression = _any_of(pattern for pattern in patterns if not pattern.by_path)
        self._path_expression = _any_of(pattern for pattern in patterns if pattern.by_path)

    def judge(self, path: str, name: str, *, is_directory: bool) -> bool | None:
        """Return whether `path`, whose last part is `name`, is ignored; None if the rules do not speak of it."""
        candidates = self._candidates(path, name)
        matching = [each for each in candidates if each[1].matches(path, name, is_directory=is_directory)]
        return not max(matching)[1].negated if matching else None

    def _candidates(self, path: str, name: str) -> list[Numbered]:
        """Return the patterns that may match: for most files none, by one search for all expressions."""
        found = [*self._paths.get(path, ()), *self._names.get(name, ())]
        if name.endswith(self._suffixes):
            found += [each for start in range(len(name) + 1) for each in self._endings.get(name[start:], ())]
        if _is_match(self._name_expression, name) or _is_match(self._path_expression, path):
            found += self._expressions
        return found


def _by_key(numbered: Iterable[Numbered], key_of: Callable[[Pattern], str | None]) -> Mapping[str, Sequence[Numbered]]:
    found: dict[str, list[Numbered]] = {}
    for number, pattern in numbered:
        if (key := key_of(pattern)) is not None:
            found.setdefault(key, []).append((number, pattern))
    return found


class Level(NamedTuple):
    """The rules that a directory adds to those of the directories above it."""

    base_length: int
    """How much of a path from the root is that directory's own, the slash included."""
    rules: Rules


def is_ignored(levels: Sequence[Level], path: str, name: str, *, is_directory: bool) -> bool:
    """Return whether `path`, from the root, is ignored; the deepest level that speaks of it decides."""
    for level in reversed(levels):
        verdict = level.rules.judge(path[level.base_length :], name, is_directory=is_directory)
        if verdict is not None:
            return verdict
    return False


def parse_rules(files: Sequence[bytes]) -> Rules | None:
    """Read ignore files, later ones over earlier ones; None if they have no pattern."""
    lines = [line for data in files for line in data.removeprefix(BOM_UTF8).split(b"\n")]
    patterns = list(_patterns(lines))
    return Rules(patterns) if patterns else None


def _patterns(lines: Iterable[bytes]) -> Iterator[Pattern]:
    expressions = expression_bytes = 0
    for line in lines:
        is_enough = expressions >= limits.IGNORE_WILDCARD_RULES or expression_bytes >= limits.IGNORE_WILDCARD_BYTES
        pattern = _parse(line.removesuffix(b"\r"), plain_only=is_enough)
        if pattern is not None:
            if pattern.expression is not None:
                expressions, expression_bytes = expressions + 1, expression_bytes + len(line)
            yield pattern


def _parse(line: bytes, *, plain_only: bool = False) -> Pattern | None:
    """Read one line; None if it is no pattern, or one that nothing can match."""
    text = _without_trailing_spaces(line.split(b"\0")[0])
    negated, text = text.startswith(b"!"), text.removeprefix(b"!")
    directories_only, text = text.endswith(b"/"), text.removesuffix(b"/")
    by_path, text = b"/" in text, text.removeprefix(b"/")
    if not text or line.startswith(b"#") or len(text) > limits.IGNORE_RULE_BYTES:
        return None
    if literal_length(text) == len(text):
        return Pattern(negated, directories_only, by_path, literal=os.fsdecode(text))
    # In ASCII, for a byte that is no character may be the end of one.
    if not by_path and text.startswith(b"*") and literal_length(text[1:]) == len(text) - 1 and text.isascii():
        return Pattern(negated, directories_only, by_path, suffix=text[1:].decode())
    if plain_only:
        return None
    try:
        return Pattern(negated, directories_only, by_path, expression=_sound(expression(text, by_path=by_path)))
    except NeverMatchesError:
        return None


def _sound(expression: bytes) -> bytes:
    """Return an expression that can be compiled; for one that is too large, one that matches nothing."""
    try:
        _compiled_one(expression)
    except re2.error:
        return _NOTHING
    return expression


def _without_trailing_spaces(line: bytes) -> bytes:
    """Drop the spaces at the end, but for one that a backslash keeps."""
    text = line.rstrip(b" ")
    backslashes = len(text) - len(text.rstrip(b"\\"))
    return line[: len(text) + backslashes % 2]


def _any_of(patterns: Iterable[Pattern]) -> Expression | None:
    """Return one expression for all of them, which may match more than they do; None if they have none."""
    together = b"|".join(pattern.expression for pattern in patterns if pattern.expression is not None)
    if not together:
        return None
    try:
        return re2.compile(together if len(together) <= limits.IGNORE_WILDCARD_BYTES else _ANYTHING, _OPTIONS)
    except re2.error:  # too large together, though each is not
        return re2.compile(_ANYTHING, _OPTIONS)


@lru_cache(maxsize=limits.IGNORE_WILDCARD_RULES)
def _compiled_one(expression: bytes) -> Expression:
    return re2.compile(expression, _OPTIONS_OF_ONE)


def _is_match(expression: Expression | None, subject: str) -> bool:
    return expression is not None and expression.fullmatch(os.fsencode(subject)) is not None

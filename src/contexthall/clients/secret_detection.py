"""Detection of secrets in command lines and addresses: what is called one, looks like one, or comes where one would.

Pure. Rather one word too many than one too few: a word that was none is only named by a variable.
"""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import SplitResult, urlsplit

from contexthall.core.secrets import NAME_PATTERN, holds_key, is_secret_name

# In a script, in JSON, among the settings of a connection: a name and its value, or an option and what follows it. What
# is long has bounds, so that the time is linear; `==` asks for a version. JSON within JSON has backslashes.
_REST: Final = r"[\w-]{0,40}"
_SECRET_WITHIN = re.compile(
    rf"""(?:{NAME_PATTERN}){_REST}\\{{0,4}}["']?\s{{0,4}}[=:](?!=)\s{{0,4}}\\{{0,4}}["']?[^\s"'\\]"""
    rf"""|(?<![\w-])-{_REST}(?:{NAME_PATTERN}){_REST}\s{{1,4}}[^\s-]""",
    re.IGNORECASE | re.ASCII,
)
# `user:password@host` as drivers of databases and proxies take it, before a port, a path or `(`; but neither an image
# with its digest nor a package with its version.
_LOGIN = re.compile(
    r"""(?:^|(?<=[\s"'=,;])|(?<=//))(?!(?:npm|jsr):)[^\s"'=,;:/@]{0,64}:[^\s/@\\][^\s/]{0,128}"""
    r"""@(?!sha\d{3}:)[\w.-]{0,128}[(:/]""",
    re.ASCII,
)
_OPAQUE = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])(?:[A-Za-z0-9_=]{20,}|[\w=-]{36,})", re.ASCII)
_OPTION = re.compile(r"--?[\w.-]+[=:]|/[\w.-]+:", re.ASCII)
_SETTING = re.compile(r"([A-Za-z_][\w.-]*)=(?!=)", re.ASCII)
_HEADER = re.compile(r"[\w-]+:\s*(?:(?:Bearer|Basic|Token)\s+)?", re.IGNORECASE | re.ASCII)
_SCHEME = re.compile(r"(?:Bearer|Basic|Token)\s+", re.IGNORECASE)
_AUTHORIZATION = re.compile(r"(?:Bearer|Basic)\s++(?=\W*+\w)", re.IGNORECASE)
_GIVES_SETTING = re.compile(r"-e|--env=?")
_GIVES_HEADER = re.compile(r"-H|--headers?=?")
_HEADER_NAME = re.compile(r"(?!-)[\w-]*", re.ASCII)
_RUNS_CONTAINERS = re.compile(r"(?:^|/)(?:docker|podman|nerdctl)$")


def secrets_in(words: Iterable[str]) -> list[int | None]:
    """Return for each word of a command line where its secret begins; None if it has none."""
    found: list[int | None] = []
    earlier, before, in_container = "", "", False
    for word in words:
        is_value = not word.startswith("-") and _is_named(earlier, before, in_container=in_container)
        found.append(_start_in_value(word) if is_value else secret_in(before, word))
        in_container = in_container or bool(_RUNS_CONTAINERS.search(word))
        earlier, before = before, word
    return found


def secret_in(before: str, word: str) -> int | None:
    """Return where the secret of a word begins, which stands behind another in a command line; None if it has none."""
    option = _OPTION.match(word)
    if option:
        start = _start(option[0], word[option.end() :])
        return None if start is None else option.end() + start
    return _start(before if before.startswith("-") and "=" not in before else "", word)


def has_secret(text: str) -> bool:
    """Return whether a text, an address for instance, seems to hold a secret."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return True
    shows = holds_key(text) or _SECRET_WITHIN.search(text) or _LOGIN.search(text)
    return bool(shows) or bool(parts.netloc and _grants_access(parts))


def _is_named(option: str, name: str, *, in_container: bool) -> bool:
    """Return whether what follows is the value of a header or a variable that an option names in a word of its own."""
    if _GIVES_HEADER.fullmatch(option):
        return bool(_HEADER_NAME.fullmatch(name))
    # `docker run -e NAME IMAGE` gives no value: the container gets that of the environment.
    is_variable = name.isidentifier() and (name.isupper() or is_secret_name(name))
    return bool(not in_container and _GIVES_SETTING.fullmatch(option) and is_variable)


def _start_in_value(value: str) -> int | None:
    """Return where the secret begins, behind the scheme of an authorization; None if there is nothing behind it."""
    scheme = _SCHEME.match(value)
    start = scheme.end() if scheme else 0
    return start if start < len(value) else None


def _start(option: str, value: str) -> int | None:
    """Return where the secret begins in what an option is given; the option is empty if there is none."""
    if _AUTHORIZATION.match(value):
        return _start_in_value(value)
    setting, header = _SETTING.match(value), _HEADER.match(value)
    if setting and (_GIVES_SETTING.fullmatch(option) or (is_secret_name(setting[1]) and " " not in value)):
        start = setting.end()
    elif header and _GIVES_HEADER.fullmatch(option):
        start = header.end()
    else:
        return 0 if value and (is_secret_name(option) or has_secret(value)) else None
    return start if start < len(value) else None


def _grants_access(parts: SplitResult) -> bool:
    """Return whether an address lets in whoever knows it: it names a password, a key, or what nobody could guess."""
    is_web = parts.scheme in {"http", "https"}
    given = (*parts.query.split("&"), *parts.fragment.split("&"))
    return bool(
        parts.password
        or (is_web and parts.username)
        or any(is_secret_name(each.partition("=")[0]) and each.partition("=")[2] for each in given)
        or (is_web and any(map(_OPAQUE.fullmatch, parts.path.split("/"))))
    )

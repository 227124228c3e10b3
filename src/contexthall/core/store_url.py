"""How is the place of a cache in an object store spelt? As a URL; these rules look at the text alone."""

import re

from contexthall.core.errors import UsageError

_ANY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# Names without escapes, so that one place has one spelling, and no part of it can be a password or a query.
_NAME = r"(?!\.{1,2}(?:/|$))[A-Za-z0-9._=+~-]+"
_URL = re.compile(rf"(?:(?:s3|gs|az)://{_NAME}(?:/{_NAME})*|file://(?:/{_NAME})+)/?")


def is_url(text: str) -> bool:
    """Return whether a text is meant as a URL, and not as a path."""
    return _ANY.match(text) is not None


def parse_url(text: str) -> str:
    """Return the one spelling of the URL of a cache; what is wrong with another is told without repeating it."""
    if not _URL.fullmatch(text):
        hint = "such as s3://bucket/handbook; credentials come from the environment"
        raise UsageError("no URL of a cache: s3, gs, az or file, then plain names", hint=hint)
    return text.rstrip("/")


def is_below(url: str, root: str) -> bool:
    """Return whether a place is at or below another one, both in their one spelling."""
    return f"{url}/".startswith(f"{root}/")


def file_path(url: str) -> str | None:
    """Return the path of a place on this machine; None for one that is elsewhere."""
    return url.removeprefix("file://") if url.startswith("file://") else None

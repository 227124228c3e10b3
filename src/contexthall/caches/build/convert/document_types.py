"""Which documents kreuzberg converts, if it is installed."""

from functools import cache
from importlib.util import find_spec

MIME_TYPES = {
    ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".epub": "application/epub+zip",
    ".eml": "message/rfc822",
    ".msg": "application/vnd.ms-outlook",
}
"""What kreuzberg wants to hear of a file, by its ending."""
_LIBRARY = "kreuzberg"


@cache
def is_installed() -> bool:
    """Return whether the extra is installed."""
    return find_spec(_LIBRARY) is not None


@cache
def library_version() -> str:
    from importlib.metadata import version  # noqa: PLC0415 - 20 ms, and most sources have no such file

    return version(_LIBRARY)

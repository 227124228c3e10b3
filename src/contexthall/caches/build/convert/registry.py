"""The converters: what makes text of a file, chosen by its ending.

Another converter is one more entry. Its version changes whenever it makes something else of the same bytes: that is how
a cache knows that a page must be made again.
"""

import re
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

from contexthall.caches.build.convert.document_types import MIME_TYPES, is_installed, library_version
from contexthall.caches.build.convert.encoding import decode
from contexthall.caches.build.convert.failure import ConversionError
from contexthall.core import limits
from contexthall.core.text import lower

_TEMPLATE = re.compile(r"\s*(?:\{[%{#]|<%)")
"""How HTML begins that Jinja, Django, Liquid, Handlebars or ERB makes pages of."""


class Converted(NamedTuple):
    """What became of a file: its text, and its encoding if that was not UTF-8."""

    text: str
    encoding: str = ""


class Converter(NamedTuple):
    """Makes text of the bytes of a file."""

    name: str
    version: str
    make: Callable[[bytes], Converted]
    most_bytes: int = limits.FILE_BYTES

    @property
    def label(self) -> str:
        """Name and version: what makes something else of the same bytes has another one."""
        return f"{self.name} {self.version}"

    def convert(self, data: bytes) -> Converted:
        """Return the text of a file; raise ConversionError if there is none."""
        self.check_size(len(data))
        return self.make(data)

    def check_size(self, size: int) -> None:
        """Refuse a file of so many bytes, if it is too large."""
        if size > self.most_bytes:
            raise ConversionError(f"it is larger than {self.most_bytes >> 20} MiB")


def _as_it_is(data: bytes) -> Converted:
    return Converted(*decode(data))


def _unnameable(_data: bytes) -> Converted:
    raise ConversionError("its name is not UTF-8")


def _html(data: bytes) -> Converted:
    from contexthall.caches.build.convert.html import html_to_markdown  # noqa: PLC0415 - whoever judges needs none

    text, encoding = decode(data)
    if _TEMPLATE.match(text):
        raise ConversionError("it is a template of pages, and no page")
    return Converted(html_to_markdown(text), encoding)


def _notebook(data: bytes) -> Converted:
    from contexthall.caches.build.convert.notebook import notebook_to_markdown  # noqa: PLC0415 - as above

    text, encoding = decode(data)
    return Converted(notebook_to_markdown(text), encoding)


KREUZBERG = "kreuzberg"
"""What converts PDF and the like."""
TEXT = Converter("text", "1", _as_it_is)
PACKAGE_PAGE = TEXT._replace(name="package")
"""Of pages that were made of a package; its version changes whenever others are made of the same package."""
UNNAMEABLE = Converter("unnameable", "1", _unnameable)
"""Of files that no id can name, whatever they hold."""
HTML = Converter("html", "4", _html, limits.HTML_BYTES)
NOTEBOOK = Converter("notebook", "1", _notebook, limits.NOTEBOOK_BYTES)

_BY_ENDING: dict[str, Converter] = {
    **dict.fromkeys((".md", ".mdx", ".markdown", ".rst", ".rest", ".adoc", ".asciidoc", ".txt"), TEXT),
    **dict.fromkeys((".html", ".htm", ".xhtml"), HTML),
    ".ipynb": NOTEBOOK,
}


def ending_of(source: str) -> str:
    """Return the ending of a file's name, in lower case and with its dot; "" if it has none."""
    stem, dot, ending = source.rpartition("/")[2].rpartition(".")
    return lower(dot + ending) if stem.strip(".") else ""


def converter_of(source: str) -> Converter | None:
    """Return what converts a file, by its name; None if nothing does, or if what does is not installed."""
    ending = ending_of(source)
    if ending in MIME_TYPES and is_installed():
        return _document_converter(ending)
    return _BY_ENDING.get(ending)


def is_missing(source: str) -> bool:
    """Return whether a file could be converted if the extra were installed."""
    return ending_of(source) in MIME_TYPES and not is_installed()


@cache
def _document_converter(ending: str) -> Converter:
    return Converter(KREUZBERG, f"1+{library_version()}", partial(_document, MIME_TYPES[ending]), limits.DOCUMENT_BYTES)


def _document(mime_type: str, data: bytes) -> Converted:
    from contexthall.caches.build.convert.documents import document_to_markdown  # noqa: PLC0415 - as above

    return Converted(document_to_markdown(data, mime_type))

"""A document: its identity, its version, its file. Pure."""

import hashlib
from json.encoder import encode_basestring as quoted
from typing import NamedTuple

from contexthall.core import wire
from contexthall.core.errors import CacheInvalidError
from contexthall.core.text import lower

VERSION_PREFIX = "sha256:"
_FILE_NAME_DIGITS = 12


class Document(NamedTuple):
    """A text with a name; `content` is what was read, byte for byte."""

    id: str
    version: str
    source: str
    content: str


def identify(source: str) -> str:
    """Return the id of the document found at `source`, a path relative to the sources folder."""
    return lower(source.removeprefix("./"))


def version_of(content: bytes) -> str:
    return VERSION_PREFIX + hashlib.sha256(content).hexdigest()


def file_stem(version: str) -> str:
    """Return the name, without ending, of the file of a document; documents with the same content share it."""
    return version.removeprefix(VERSION_PREFIX)[:_FILE_NAME_DIGITS]


def to_json(document: Document) -> bytes:
    """Return the file of a document."""
    fields = ",".join(f'"{name}":{quoted(value)}' for name, value in zip(document._fields, document, strict=True))
    return f'{{{fields},"metadata":{{}}}}'.encode()


def read(data: bytes, *, id: str, version: str) -> Document:  # noqa: A002 - the contract's word for it
    """Return the document in a file, which must be this one; raise CacheInvalidError for any other."""
    try:
        fields = wire.parse(data)
    except ValueError as error:
        raise CacheInvalidError(f"the file of {id} is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise CacheInvalidError(f"the file of {id} is not an object")
    content = fields.get("content")
    if fields.get("id") != id or fields.get("version") != version or not isinstance(content, str):
        raise CacheInvalidError(f"the file of {id} is of another document")
    if version_of(content.encode()) != version:
        raise CacheInvalidError(f"the content of {id} does not match its version")
    return Document(id, version, str(fields.get("source", "")), content)

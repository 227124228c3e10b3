"""JSON that is passed on: parsed as far as anybody looks at it, and below that left as the bytes that came. Pure.

msgspec parses and encodes: of the libraries measured, it alone can leave a part unparsed. What it refuses and JSON
allows, lone surrogates above all, is left to `json`.
"""

import codecs
import json
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from contexthall.core import limits, wire

Raw: TypeAlias = msgspec.Raw

_TOP_LEVEL = msgspec.json.Decoder(dict[str, msgspec.Raw])
_DECODER = msgspec.json.Decoder()
_ENCODER = msgspec.json.Encoder(enc_hook=dict)
_PIECE_BYTES = 64 * 1024


class JsonLimitError(ValueError):
    """JSON that is too much to parse, or too deep."""


def parse(data: bytes) -> object:
    """Parse JSON as `wire.parse` does, with lone surrogates and exact integers; ValueError if it is invalid."""
    if wire.is_deep(data):
        raise JsonLimitError("it is nested too deeply")
    try:
        return _DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return wire.parse(data, lone_surrogates=True, exact=True)


def top_level(data: bytes, *, is_utf8: bool = True) -> dict[str, Raw]:
    """Return the members of an object, each unparsed but valid UTF-8; ValueError if it is not an object.

    Numbers that JSON does not have (NaN, Infinity) are null. `is_utf8` says that `data` is known to be UTF-8.
    """
    try:
        top = _TOP_LEVEL.decode(data)
        if not is_utf8:
            _check_utf8(data)  # msgspec does not validate what it leaves unparsed
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        check_limits(data)
        text = data.decode("utf-8-sig", "surrogatepass")  # lone surrogates may be unescaped, too
        value = json.loads(text, parse_int=wire.integer, parse_constant=wire.nothing)
        if not isinstance(value, dict):
            raise ValueError("no object") from None
        top = {key: Raw(encode(part)) for key, part in value.items()}
    return top


def _check_utf8(data: bytes) -> None:
    """Raise UnicodeDecodeError unless bytes are UTF-8; in pieces, because as text they may be four times as large."""
    if data.isascii():
        return
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), _PIECE_BYTES):
        decoder.decode(data[start : start + _PIECE_BYTES])
    decoder.decode(b"", final=True)


def check_limits(data: bytes) -> None:
    """Raise JsonLimitError if parsing would take too much memory, or go too deep."""
    if wire.has_too_many_values(data, limits.MEMBER_MESSAGE_VALUES):
        raise JsonLimitError(f"it holds more than {limits.MEMBER_MESSAGE_VALUES} values")
    if wire.is_deep(data):
        raise JsonLimitError("it is nested too deeply")


def on_one_line(part: Raw) -> bytes:
    """Return a part without line breaks, which can only be between its tokens; some readers end a line at any."""
    return bytes(part).replace(b"\r", b" ").replace(b"\n", b" ")


def encode(value: object) -> bytes:
    """Return a value as JSON on one line; this cannot fail, whatever its strings, nor do mappings and `Raw` in it."""
    try:
        return _ENCODER.encode(value)
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError):  # lone surrogates can only be escaped
        return wire.escaped(value, _plain).encode("ascii")


def _plain(value: Raw | Mapping[str, object]) -> object:
    return json.loads(bytes(value)) if isinstance(value, Raw) else dict(value)

"""The text in the bytes of a file, whatever its encoding. Pure.

UTF-8 and what begins with a byte order mark are certain. Of other files, what they say of themselves counts if it is
true; only then is the encoding guessed.
"""

import codecs
import re
from typing import NamedTuple

from contexthall.caches.build.convert.failure import ConversionError
from contexthall.core import limits

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(rb"(?:charset|encoding|coding)\s*[=:]\s*[\"']?([A-Za-z][\w.:-]*)", re.IGNORECASE)
_HEAD_BYTES = 1024
# Of all that exist, short texts are mostly mistaken for one that hardly anybody has used.
_GUESSES = (
    *("cp1252", "cp1250", "cp1251", "koi8_r", "cp932", "euc_jp", "gb18030", "big5", "euc_kr"),
    *("iso8859_2", "cp1253", "cp1254", "cp1255", "cp1256"),
)
_USUAL = _GUESSES[0]
_LONGER = re.compile(rb"[\xc3-\xf4][\x80-\xbf]+")
_INTACT = 10
"""So many characters of more than one byte for each byte that is wrong: then it is UTF-8 with a mistake in it."""


class Decoded(NamedTuple):
    """A text, and its encoding if that was not UTF-8."""

    text: str
    encoding: str = ""


def decode(data: bytes) -> Decoded:
    """Return the text of a file; raise ConversionError if it is none."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return Decoded(_decoded(data, encoding), encoding)
    try:
        return Decoded(data.decode("utf-8"))
    except UnicodeDecodeError:
        pass
    return _damaged(data) or _declared(data) or _guessed(data)


def _decoded(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ConversionError(f"it is not {encoding.upper()}: {error.reason} at byte {error.start}") from None


def _damaged(data: bytes) -> Decoded | None:
    """Return UTF-8 in which a few bytes are wrong."""
    text = data.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    # The first byte of a character tells it from those that follow.
    longer = len(_LONGER.findall(data)) if wrong * _INTACT < len(data) else 0
    return Decoded(text, "damaged utf-8") if longer > wrong * _INTACT else None


def _declared(data: bytes) -> Decoded | None:
    """Return what a file says of its encoding to be true, if it is."""
    declared = _DECLARED.search(data[:_HEAD_BYTES])
    try:
        return Decoded(data.decode(declared[1].decode()), declared[1].decode().lower()) if declared else None
    except (UnicodeError, LookupError):
        return None


def _guessed(data: bytes) -> Decoded:
    from charset_normalizer import from_bytes  # noqa: PLC0415 - 40 ms, and most files are UTF-8

    sample = data[: limits.GUESSED_ENCODING_BYTES]
    guesses = [] if b"\0" in sample else list(from_bytes(sample, cp_isolation=[*_GUESSES]))
    if not guesses:
        raise ConversionError("it is no text in any encoding that is known here")
    best = guesses[0]
    alike = [each for each in guesses if (each.chaos, each.coherence) == (best.chaos, best.coherence)]
    is_usual = any(_USUAL in each.could_be_from_charset for each in alike)
    encoding = _USUAL if is_usual else best.encoding
    return Decoded(_decoded(data, encoding), encoding)

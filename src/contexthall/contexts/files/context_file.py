"""Reading `.context.yaml`. Lenient: four fields make it readable, the rest is served unchecked.

Pure: bytes in, values out.
"""

from contexthall.contexts.files import yaml_text
from contexthall.contexts.files.schema import METADATA, VERSION
from contexthall.contexts.files.yaml_text import BadYamlError, Value
from contexthall.core import limits
from contexthall.core.errors import ContextCorruptError, ContextVersionError

_LARGEST_WITHOUT_EXPONENT = 10**21
_BYTE_ORDER_MARK = "\ufeff"


def read_context(data: bytes) -> dict[str, Value]:
    """Read the fields of a context. ContextCorruptError if it is not one, ContextVersionError if it is newer."""
    values = read_mapping(data)
    version = values.get("version")
    if isinstance(version, int | float) and not isinstance(version, bool) and version > VERSION:
        raise ContextVersionError(_formatted(version))
    if version != VERSION or isinstance(version, bool):
        raise ContextCorruptError(f"`version` must be {VERSION}")
    for name in METADATA[1:]:
        if not isinstance(values.get(name), str):
            raise ContextCorruptError(f"`{name}` must be a string" if name in values else f"`{name}` is missing")
    return values


def read_mapping(data: bytes) -> dict[str, Value]:
    """Read a file that holds a mapping."""
    values = read_value(data)
    if not isinstance(values, dict):
        raise ContextCorruptError("not a mapping")
    return values


def read_value(data: bytes) -> Value:
    """Read the YAML value in a file."""
    if len(data) > limits.CONTEXT_FILE_BYTES:
        raise ContextCorruptError(f"larger than {limits.CONTEXT_FILE_BYTES} bytes")
    try:
        return yaml_text.read(data.decode("utf-8", "replace").removeprefix(_BYTE_ORDER_MARK))
    except BadYamlError as error:
        raise ContextCorruptError(str(error)) from None


def replace_fingerprint(data: bytes, fingerprint: str) -> bytes:
    """Replace the fingerprint of a context that can be read, and no other byte."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ContextCorruptError("not UTF-8, so it cannot be rewritten without loss") from None
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    text = text.removeprefix(mark)
    span = yaml_text.find_value(text, "fingerprint")
    old = text[span.start : span.end].rstrip()  # a block scalar ends with the line
    quote = span.style if span.style in {"'", '"'} else ""
    plainly = f"{quote}{span.value}{quote}"
    new = f"{quote}{fingerprint}{quote}" if span.style else yaml_text.write_scalar(fingerprint)
    # An anchor or a tag before the value is kept; a value that is not written plainly is replaced as a whole.
    kept = old.removesuffix(plainly) if old.endswith(plainly) else ""
    rewritten = f"{mark}{text[: span.start]}{kept}{new}{text[span.start + len(old) :]}".encode()
    before, after = read_context(data), read_context(rewritten)
    if after != before | {"fingerprint": fingerprint}:
        raise ContextCorruptError("its fingerprint cannot be replaced without changing something else")
    return rewritten


def _formatted(version: float) -> str:
    """Return a version as JavaScript writes it, like the tool whose format this is."""
    if version == float("inf"):
        return "Infinity"
    return str(int(version)) if version == int(version) and version < _LARGEST_WITHOUT_EXPONENT else str(version)

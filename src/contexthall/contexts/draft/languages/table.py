"""Which language is a file in, and what does it say in it?

Pure. A file that cannot be read, for whatever reason, says nothing: a draft must not depend on any one file.
"""

from collections.abc import Callable
from functools import partial

from contexthall.contexts.draft.languages import go, python, rust, typescript
from contexthall.contexts.draft.languages.source import SourceOutline

_READERS: dict[str, Callable[[bytes], SourceOutline]] = {
    **dict.fromkeys(python.EXTENSIONS, python.read),
    **{extension: partial(typescript.read, extension=extension) for extension in typescript.EXTENSIONS},
    **dict.fromkeys(go.EXTENSIONS, go.read),
    **dict.fromkeys(rust.EXTENSIONS, rust.read),
}

NAMES: dict[str, str] = {
    **dict.fromkeys(sorted(python.EXTENSIONS), "python"),
    **dict.fromkeys(sorted(typescript.TYPESCRIPT), "typescript"),
    **dict.fromkeys(sorted(typescript.JAVASCRIPT), "javascript"),
    **dict.fromkeys(sorted(go.EXTENSIONS), "go"),
    **dict.fromkeys(sorted(rust.EXTENSIONS), "rust"),
}
"""The languages by the extension of a file's name, in lower case and without the dot."""


def read(name: str, data: bytes) -> SourceOutline:
    """Read a file by its name; nothing for a language that is not known."""
    reader = _READERS.get(name.rpartition(".")[2].lower())
    if reader is None or not data:
        return SourceOutline()
    try:
        return reader(data)
    except Exception:  # noqa: BLE001 - a file that breaks its reader costs its own lines
        return SourceOutline()

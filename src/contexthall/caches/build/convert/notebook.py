"""A Jupyter notebook as Markdown: its Markdown as it is, its code in fences, and what code printed, if that is short.

Pure. Of outputs, what was printed and the text of results stay, up to a few lines; pictures, HTML, warnings and
tracebacks go. A raw cell goes too, unless it is the front matter of the page.
"""

import json
import re
from collections.abc import Iterator, Mapping

from contexthall.caches.build.convert.failure import ConversionError
from contexthall.caches.build.convert.markdown_writer import fenced
from contexthall.core import limits, wire

_EMBEDDED = re.compile(r"data:[\w.+-]+/[\w.+-]+;base64,[A-Za-z0-9+/=]+")
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_OBJECT = re.compile(r"<[^\n]*>")
_LANGUAGES = {"ipython": "python", "python3": "python", "ir": "r"}


def notebook_to_markdown(text: str) -> str:
    """Return what a notebook says."""
    notebook = _parsed(text)
    language = _language(notebook)
    return "".join(f"{block}\n\n" for cell in _cells(notebook) for block in _blocks(cell, language)).removesuffix("\n")


def _parsed(text: str) -> Mapping[str, object]:
    data = text.encode("utf-8", "surrogatepass")
    if wire.is_deep(data):
        raise ConversionError("it is nested too deeply")
    try:
        notebook = json.loads(text.removeprefix("\ufeff"), parse_constant=wire.nothing, parse_int=float)
    except ValueError as error:
        raise ConversionError(f"it is not JSON: {error}") from None
    if not isinstance(notebook, dict) or not any(
        isinstance(notebook.get(key), list) for key in ("cells", "worksheets")
    ):
        raise ConversionError("it is JSON, but no notebook: it has no cells")
    return notebook


def _cells(notebook: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Yield the cells; until 2015 they were in worksheets."""
    sheets = [notebook, *_objects(notebook.get("worksheets"))]
    return (cell for sheet in sheets for cell in _objects(sheet.get("cells")))


def _language(notebook: Mapping[str, object]) -> str:
    """Return the language of the code, "" if the notebook does not say."""
    metadata = _object(notebook.get("metadata"))
    named = _object(metadata.get("kernelspec")).get("language") or _object(metadata.get("language_info")).get("name")
    language = named.lower() if isinstance(named, str) and re.fullmatch(r"[\w+#.-]+", named) else ""
    return _LANGUAGES.get(language, language)


def _blocks(cell: Mapping[str, object], language: str) -> Iterator[str]:
    kind, source = cell.get("cell_type"), _joined(cell.get("source", cell.get("input"))).strip("\n")
    if not source.strip():
        return
    if kind == "code":
        yield fenced(source, language)
        yield from (fenced(text, "text") for text in map(_output, _objects(cell.get("outputs"))) if text)
    elif kind == "heading":
        level = cell.get("level")
        yield "#" * (int(level) if isinstance(level, float) and 1 <= level <= len("######") else 1) + f" {source}"
    elif kind == "markdown" or (kind == "raw" and source.startswith(("---\n", "+++\n"))):
        yield _EMBEDDED.sub("data:", source)


def _output(output: Mapping[str, object]) -> str:
    """Return the text of an output, if it says something, up to a few lines."""
    if output.get("name") == "stderr" or output.get("stream") == "stderr":
        return ""
    plain = output.get("text") or _object(output.get("data")).get("text/plain")
    text = _COLOURS.sub("", _joined(plain)).strip("\n").rstrip()
    if _OBJECT.fullmatch(text):  # such as <Figure size 640x480 with 1 Axes>
        return ""
    lines = text.split("\n")
    kept = "\n".join(lines[: limits.NOTEBOOK_OUTPUT_LINES])[: limits.NOTEBOOK_OUTPUT_CHARACTERS]
    return kept if kept == text else f"{kept}\n…"


def _joined(value: object) -> str:
    """Return text that is written as one string, or as a list of lines."""
    pieces = value if isinstance(value, list) else [value]
    text = "".join(each for each in pieces if isinstance(each, str))
    return wire.replace_lone_surrogates(text.replace("\r\n", "\n").replace("\r", "\n"))


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[Mapping[str, object]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []

"""PDF, Word and so on: what a child process makes of them, and what happens if it fails."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.caches.making import CREATED_AT

from contexthall.caches.build.builder import Built, CacheBuilder
from contexthall.caches.build.convert import document_types, documents, registry
from contexthall.caches.build.convert.documents import DocumentReader, document_to_markdown, reading_documents
from contexthall.caches.build.convert.failure import ConversionError
from contexthall.caches.build.convert.registry import converter_of, is_missing
from contexthall.caches.build.selection import Choice
from contexthall.caches.model.headings import MARKDOWN
from contexthall.caches.query.scorers import SECTIONS
from contexthall.core import limits
from contexthall.system.disk import Disk

pytestmark = pytest.mark.slow
MAIL = b"From: a@x.example\r\nSubject: Lamps\r\nContent-Type: text/plain\r\n\r\nLight the lamp.\r\n"
ECHO = """
import struct, sys
while header := sys.stdin.buffer.read(16):
    mime, length = struct.unpack("<QQ", header)
    data = sys.stdin.buffer.read(mime + length)[mime:]
    if data == b"die":
        sys.exit(1)
    while data == b"sleep":
        pass
    text = b"# " + data
    sys.stdout.buffer.write(struct.pack("<?Q", data != b"refuse", len(text)) + text)
    sys.stdout.buffer.flush()
"""


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[DocumentReader]:
    monkeypatch.setattr(documents, "_PROGRAM", ECHO)
    reader = DocumentReader()
    yield reader
    reader.close()


def test_one_child_converts_many_documents(reader: DocumentReader) -> None:
    assert reader.ask(b"one", "x") == (True, "# one")
    assert reader.ask(b"two", "x") == (True, "# two")
    assert reader.ask(b"x" * (1 << 20), "x")[0]


def test_a_child_that_dies_is_replaced(reader: DocumentReader) -> None:
    assert reader.ask(b"die", "x") == (False, "it takes too much memory to convert, or is damaged")
    assert reader.ask(b"one", "x") == (True, "# one")


def test_a_child_that_takes_too_long_is_killed(reader: DocumentReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DOCUMENT_SECONDS", 0.5)
    assert reader.ask(b"sleep", "x") == (False, "it takes too long to convert")
    monkeypatch.setattr(limits, "DOCUMENT_SECONDS", 60.0)
    assert reader.ask(b"one", "x") == (True, "# one")


def test_what_is_refused_or_empty_is_a_conversion_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_PROGRAM", ECHO.replace('b"# " + data', "data"))
    with reading_documents():
        assert document_to_markdown(b"one", "x") == "one"
        with pytest.raises(ConversionError, match="refuse"):
            document_to_markdown(b"refuse", "x")
        with pytest.raises(ConversionError, match="it has no text"):
            document_to_markdown(b" \n", "x")


def test_every_ending_that_is_converted_to_markdown_is_split_as_markdown() -> None:
    assert set(document_types.MIME_TYPES) <= MARKDOWN


def compile_mail(folder: Path, include: tuple[str, ...] = ()) -> Built:
    sources = folder / "sources"
    sources.mkdir()
    (sources / "a.eml").write_bytes(MAIL)
    builder = CacheBuilder(Disk(), CREATED_AT, scorer=SECTIONS)
    return builder.build(str(sources), str(folder / "cache"), choice=Choice(include))


@pytest.mark.parametrize("include", [(), ("*.eml",)])
def test_without_the_extra_such_files_are_passed_over(
    include: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "is_installed", lambda: False)
    assert is_missing("a.PDF")
    built = compile_mail(tmp_path, include)
    assert (built.document_count, dict(built.passed_over), dict(built.failures)) == (0, {".eml": 1}, {})


@pytest.mark.skipif(
    not document_types.is_installed(), reason="kreuzberg is not installed: pip install 'contexthall[formats]'"
)
def test_mail_is_converted_and_what_is_no_pdf_is_named(tmp_path: Path) -> None:
    built = compile_mail(tmp_path)
    assert (built.document_count, dict(built.failures)) == (1, {})
    converter = converter_of("a.pdf")
    assert converter is not None
    assert converter.name == "kreuzberg"
    with reading_documents(), pytest.raises(ConversionError, match="Invalid PDF"):
        converter.convert(b"no PDF")
    assert "Light the lamp." in "".join(path.read_text() for path in (tmp_path / "cache" / "documents").iterdir())


def test_a_fork_has_a_reader_of_its_own() -> None:
    mine = documents._reader()
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, b"other" if documents._reader() is not mine else b"same")
        os._exit(0)
    os.wait()
    assert os.read(reading, 9) == b"other"
    os.close(reading)
    os.close(writing)

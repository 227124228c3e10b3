"""Whatever happens to the files of a cache of format 2, an answer is the right one or `cache_invalid`."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.caches.making import build_pages, library_of
from tests.faults.scale import scaled

from contexthall.caches.index import segment_list
from contexthall.caches.index.blocks import BlockPlace, BlockWriter, IndexDamagedError, pack_numbers
from contexthall.caches.index.segment import SegmentSums
from contexthall.caches.index.segment_builder import SegmentBuilder
from contexthall.caches.index.segment_list import ListedSegment
from contexthall.caches.library import CacheRef
from contexthall.caches.query.opening import open_cache
from contexthall.caches.query.question import Question
from contexthall.caches.query.section_cache import SectionCache
from contexthall.caches.query.section_explanation import explain
from contexthall.caches.query.section_places import places_of, show
from contexthall.caches.query.section_reader import OpenSections, open_segment, open_segment_list
from contexthall.core import limits
from contexthall.core.errors import CacheInvalidError, DocumentMissingError
from contexthall.system.disk import Disk

PAGES = {
    "keys.md": "# Keys\nRotate the keys.\n\n## Rotate\nEvery month, rotate keys.\n",
    "deploy.rst": "Deploy\n======\n\nOn Friday, rotate keys.\n",
    "long.md": "".join(f"## Part {n}\nrotate {'word ' * n}\n" for n in range(40)),
    "notes.txt": "keys",
    "blank.md": "\n",
}
OTHERS = {"keys.md": "# Keys\nBury the keys.\n", "other.md": "Rotate keys elsewhere."}


def spread(places: range, brief: int) -> range:
    """Return all places in `make torture`, about `brief` of them in `make test`, and twice as many in CI."""
    return places[:: scaled(len(places) // brief + 1, len(places) // (2 * brief) + 1, 1)]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A small cache with two segments."""
    with pytest.MonkeyPatch.context() as small:
        small.setattr(limits, "SEGMENT_PAGES", 3)
        return build_pages(tmp_path, PAGES)


ASKED: list[Callable[[SectionCache], str]] = [
    lambda sections: sections.resolve(Question("rotate keys", 300)).text,
    lambda sections: sections.resolve(Question("word friday part", 200, "text", "cache", "sha256:0")).text,
    lambda sections: sections.read(Question("long.md", 300)).text,
    lambda sections: sections.read(Question("keys.md#rotate", 300), 1).text,
    lambda sections: sections.outline(Question("", 2000)).text,
    lambda sections: "\n".join(explain(sections, Question("rotate keys", 300), "long.md").sentences(300)),
    lambda sections: str(places_of(sections, Question("rotate friday keys", 300), slice(0, 9))),
    lambda sections: str(show(sections, "rotate", "keys.md#rotate")),
]


def answers(cache: Path) -> list[str]:
    """Everything that can be asked, each of a cache that was just opened: the first to see damage is not believed."""
    found = []
    for ask in ASKED:
        opened = open_cache(Disk(), str(cache))
        assert isinstance(opened, OpenSections)
        found.append(opened.ask(ask))
    return found


def answers_or_refusal(cache: Path) -> list[str]:
    try:
        return answers(cache)
    except CacheInvalidError:
        return []


def segment_files(cache: Path) -> list[Path]:
    return sorted(cache.glob("segment-*.bin"))


def verified(cache: Path) -> tuple[str, ...]:
    return library_of(cache.parent).verify(CacheRef(str(cache)))


@pytest.mark.parametrize("which", [0, 1, 2])
def test_every_flipped_byte_gives_the_right_answer(cache: Path, which: int) -> None:
    expected = answers(cache)
    file = [cache / "segments.bin", *segment_files(cache)][which]
    whole = file.read_bytes()
    for at in spread(range(len(whole)), 30):
        file.write_bytes(whole[:at] + bytes((whole[at] ^ (0x01, 0x80, 0xFF)[at % 3],)) + whole[at + 1 :])
        assert answers(cache) == expected, (file.name, at)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_every_truncated_file_gives_the_right_answer(cache: Path, which: int) -> None:
    expected = answers(cache)
    file = [cache / "segments.bin", *segment_files(cache)][which]
    whole = file.read_bytes()
    for length in spread(range(len(whole)), 20):
        file.write_bytes(whole[:length])
        assert answers(cache) == expected, (file.name, length)
    file.write_bytes(whole + b"\0")
    assert answers(cache) == expected
    file.unlink()
    assert answers(cache) == expected
    file.mkdir()
    assert answers(cache) == expected


def test_flipped_bytes_of_the_manifest_or_a_document_give_the_right_answer_or_none(cache: Path) -> None:
    expected = answers(cache)
    for file in [cache / "manifest.json", *sorted((cache / "documents").iterdir())]:
        whole = file.read_bytes()
        for at in spread(range(len(whole)), 8):
            file.write_bytes(whole[:at] + bytes((whole[at] ^ 0x01,)) + whole[at + 1 :])
            assert answers_or_refusal(cache) in ([], expected), (file.name, at)
        file.write_bytes(whole)
    assert answers(cache) == expected


def test_a_flipped_byte_in_what_queries_believe_is_named(cache: Path) -> None:
    named = 0
    for file in segment_files(cache):
        whole = file.read_bytes()
        for at in spread(range(len(whole)), 30):
            file.write_bytes(whole[:at] + bytes((whole[at] ^ 0xFF,)) + whole[at + 1 :])
            is_named = is_opened(cache)
            assert verified(cache) == ((f"{file.name} says what its pages do not",) if is_named else ()), at
            named += is_named
        file.write_bytes(whole)
    assert named > 10


def test_files_of_another_cache_are_not_believed(cache: Path) -> None:
    expected, other = answers(cache), build_pages(cache.parent, OTHERS, name="other")
    (others,) = segment_files(other)
    for file in segment_files(cache):
        whole = file.read_bytes()
        shutil.copy(others, file)
        assert answers(cache) == expected
        file.write_bytes(whole)
    first, second = segment_files(cache)
    first.rename(cache / "aside")
    second.rename(first)
    (cache / "aside").rename(second)
    assert answers(cache) == expected
    shutil.copy(other / "segments.bin", cache)
    shutil.copy(others, cache)
    assert answers(cache) == expected
    assert verified(cache) == ()


def test_a_missing_document_is_named_and_nothing_is_answered(cache: Path) -> None:
    for file in sorted((cache / "documents").iterdir()):
        aside = file.rename(cache / "aside")
        assert answers_or_refusal(cache) == []
        assert any(f"is not there: documents/{file.name}" in violation for violation in verified(cache))
        aside.rename(file)
    shutil.rmtree(cache / "documents")
    assert answers_or_refusal(cache) == []


# Forged: every checksum is right, and the numbers are not


def forge_column(number: int, value: int) -> Callable[[SegmentBuilder], None]:
    def forge(builder: SegmentBuilder) -> None:
        fields = builder._counted()  # by the true lengths
        vars(builder)["_counted"] = lambda: fields
        column: Any = [*builder._columns, *builder._page_columns][number]
        if len(column):
            column[0] = min(value, 2**32 - 1)

    return forge


def forge_record(at: int, value: int) -> Callable[[SegmentBuilder], None]:
    """Change the first number of a kind of the first page with sections: places, level, lines."""

    def forge(builder: SegmentBuilder) -> None:
        for page, record in enumerate(builder._records):
            firsts = [*builder._page_columns.first, len(builder._columns[0])]
            if count := firsts[page + 1] - firsts[page]:
                numbers = [[value if each == at and place == 0 else 1 for place in range(count)] for each in range(8)]
                strings = record[record.index(b'["') :]
                builder._records[page] = b"".join(map(pack_numbers, numbers)) + strings

    return forge


def forge_strings(strings: bytes) -> Callable[[SegmentBuilder], None]:
    def forge(builder: SegmentBuilder) -> None:
        builder._records = [record[: record.index(b'["')] + strings for record in builder._records]

    return forge


def forge_orders(data: bytes) -> Callable[[SegmentBuilder], None]:
    def forge(builder: SegmentBuilder) -> None:
        vars(builder)["_orders"] = lambda _ranks: iter([data] * len(builder))

    return forge


def forge_counts(count: int) -> Callable[[SegmentBuilder], None]:
    """Let every field say of its last occurrence that it is so many."""

    def forge(builder: SegmentBuilder) -> None:
        fields = builder._counted()
        for field in fields:
            if field.counts:
                field.counts[-1] = count
        vars(builder)["_counted"] = lambda: fields

    return forge


def forge_postings(unit: int, having: int) -> Callable[[SegmentBuilder], None]:
    """Let every term occur once in each field of one section, and say that so many have it."""

    def forge(builder: SegmentBuilder) -> None:
        occurrence = pack_numbers([unit]) + pack_numbers([1])
        payload = pack_numbers([1] * 4) + occurrence * 4
        vars(builder)["_postings"] = lambda _term: (payload, (having, having))

    return forge


def forge_sums(value: int) -> Callable[[SegmentBuilder], None]:
    def forge(builder: SegmentBuilder) -> None:
        vars(builder)["_sums"] = lambda: SegmentSums(*[value] * 6)

    return forge


def forgeries() -> Iterator[Any]:
    for number, value in product(range(1, 13), (0, 7, 2**32 - 1)):
        yield pytest.param(forge_column(number, value), id=f"column {number} {value}")
    for number, value in product(range(8), (0, 10**6, 2**63)):
        yield pytest.param(forge_record(number, value), id=f"record {number} {value}")
    for strings in (
        b"[]",
        b"{}",
        b"7",
        b'["a"]',
        b'["keys.md","sha256:0","",""]',
        b"[" * 10**5,
        b"\xff",
        b'["\\ud800"]',
    ):
        yield pytest.param(forge_strings(strings), id=f"strings {strings[:20]!r}")
    for data in (b"", b"\0", b"\3" + b"\xff" * 64, b"\x09", pack_numbers([2**63] * 3), pack_numbers([0] * 200)):
        yield pytest.param(forge_orders(data), id=f"orders {data[:9]!r}")
    for value in (0, 1, 2**32 - 1, 2**63, 2**64 - 1):
        yield pytest.param(forge_sums(value), id=f"sums {value}")
    for count in (0, 2**31, 2**32 - 1):
        yield pytest.param(forge_counts(count), id=f"count {count}")
    for unit, having in product((0, 4, 5, 10**6, 2**40), (0, 1, 2**64 - 1)):
        yield pytest.param(forge_postings(unit, having), id=f"unit {unit} {having}")


def build_forged(directory: Path, forge: Callable[[SegmentBuilder], None]) -> Path:
    """Build a cache whose segments were forged just before they got their checksums."""
    to_bytes = SegmentBuilder.to_bytes

    def forged(builder: SegmentBuilder) -> bytes:
        forge(builder)
        return to_bytes(builder)

    with pytest.MonkeyPatch.context() as lying:
        lying.setattr(SegmentBuilder, "to_bytes", forged)
        return build_pages(directory, PAGES)


@pytest.mark.parametrize("forge", list(forgeries()))
def test_a_forged_segment_never_breaks_an_answer_and_is_named(
    tmp_path: Path, forge: Callable[[SegmentBuilder], None]
) -> None:
    cache = build_forged(tmp_path, forge)
    assert len(answers(cache)) == len(ASKED)
    (file,) = segment_files(cache)
    is_true = file.read_bytes() == segment_files(build_pages(tmp_path, PAGES, name="true"))[0].read_bytes()
    is_named = not is_true and is_opened(cache)
    assert verified(cache) == ((f"{file.name} says what its pages do not",) if is_named else ())
    (cache / "segments.bin").unlink()
    assert verified(cache) == ()


def is_opened(cache: Path) -> bool:
    """Whether queries believe the segments of a cache at first."""
    opened = Disk().enter(str(cache))
    try:
        for each in open_segment_list(opened, (cache / "manifest.json").read_bytes()):
            open_segment(opened, each)
    except IndexDamagedError:
        return False
    return True


@pytest.mark.parametrize("page", [0, 4, 5, 255])
def test_a_section_of_another_page_never_breaks_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    add = BlockWriter.add

    def lie(writer: BlockWriter, payload: bytes, name: str) -> BlockPlace:
        return add(writer, payload[:1] + bytes((page,)) + payload[2:] if name == "columns" else payload, name)

    monkeypatch.setattr(BlockWriter, "add", lie)
    cache = build_pages(tmp_path, PAGES)
    monkeypatch.undo()
    assert len(answers(cache)) == len(ASKED)


@pytest.mark.parametrize("start", [10**6, 2**32 - 1, 2**63])
def test_a_section_beyond_its_page_is_not_served(tmp_path: Path, start: int) -> None:
    expected = answers(build_pages(tmp_path, PAGES, name="true"))
    for number in (0, 1):
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        cache = build_forged(tmp_path, forge_record(number, start))
        assert answers(cache)[2:4] == expected[2:4]
        assert verified(cache) == (f"{segment_files(cache)[0].name} says what its pages do not",)


@pytest.mark.parametrize("which", range(19))
@pytest.mark.parametrize("value", scaled([0, 2**64 - 1], [0, 1, 2**31, 2**64 - 1], [0, 1, 2**31, 2**64 - 1]))
def test_a_forged_header_never_breaks_an_answer(tmp_path: Path, which: int, value: int) -> None:
    finish = BlockWriter.finish

    def lie(writer: BlockWriter, *fields: Any) -> bytes:
        changed = list(fields)
        if len(fields) > 10:  # of a segment, not of the list
            changed[3 + which] = min(value, 2**32 - 1) if which < 3 else value
        return finish(writer, *changed)

    with pytest.MonkeyPatch.context() as lying:
        lying.setattr(BlockWriter, "finish", lie)
        cache = build_pages(tmp_path, PAGES)
    assert len(answers(cache)) == len(ASKED)


LISTINGS: list[Callable[[ListedSegment], Any]] = [
    lambda _each: [],
    lambda _each: {},
    lambda each: [each.file],
    lambda each: [each.file, "zz", str(each.size), *each.pages],
    lambda each: [each.file, each.key.hex(), "-1", *each.pages],
    lambda each: [each.file, each.key.hex(), "9" * 5000, *each.pages],
    lambda each: [each.file, each.key.hex(), str(2**64), *each.pages],
    lambda each: [each.file, each.key.hex(), str(each.size)],
    lambda each: [each.file, each.key.hex(), str(each.size), *each.pages[1:]],
    lambda each: [each.file, each.key.hex(), str(each.size), *each.pages, *each.pages],
    lambda each: [each.file, each.key.hex(), str(each.size), *each.pages[::-1]],
    lambda each: [each.file, "", str(each.size), *each.pages],
    lambda each: [each.file, each.key.hex() * 3, str(each.size), *each.pages],
    lambda each: ["../secret", each.key.hex(), str(each.size), *each.pages],
    lambda each: ["manifest.json", each.key.hex(), str(each.size), *each.pages],
    lambda each: [each.file, each.key.hex(), str(each.size), *("../" + page for page in each.pages)],
    lambda each: [7, each.key.hex(), str(each.size), *each.pages],
    lambda each: [each.file, each.key.hex(), str(each.size), None],
    lambda each: ["", each.key.hex(), str(each.size), *each.pages],
    lambda each: ["\0", each.key.hex(), str(each.size), *each.pages],
]


@pytest.mark.parametrize("number", range(len(LISTINGS)))
def test_a_forged_list_never_breaks_an_answer(cache: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = answers(cache)
    key = hashlib.sha256((cache / "manifest.json").read_bytes()).digest()
    opened = Disk().enter(str(cache)).open("segments.bin")
    whole = segment_list.read(opened, (cache / "segments.bin").stat().st_size, key)
    spelt = iter([*map(LISTINGS[number], whole)])
    monkeypatch.setattr("contexthall.core.wire.compact", lambda _fields: json.dumps(next(spelt)))
    (cache / "segments.bin").write_bytes(segment_list.to_bytes(whole, key))
    monkeypatch.undo()
    assert answers_or_refusal(cache) in ([], expected)


def test_a_list_of_more_segments_or_fewer_is_named_or_not_believed(cache: Path) -> None:
    expected = answers(cache)
    key = hashlib.sha256((cache / "manifest.json").read_bytes()).digest()
    opened = Disk().enter(str(cache)).open("segments.bin")
    whole = segment_list.read(opened, (cache / "segments.bin").stat().st_size, key)
    for forged in (whole[:1], whole + whole, []):
        (cache / "segments.bin").write_bytes(segment_list.to_bytes(forged, key))
        with suppress(DocumentMissingError):  # as the list says, which only a verification doubts
            answers(cache)
        assert verified(cache) == ("segments.bin and the manifest do not list the same documents",)
    for order in (whole[::-1], whole):
        (cache / "segments.bin").write_bytes(segment_list.to_bytes(order, key))
        assert (answers(cache), verified(cache)) == (expected, ())

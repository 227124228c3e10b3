"""Every byte of every file of a cache is damaged in turn: the answer is the same, or `cache_invalid`."""

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.caches.making import build_cache, library_of
from tests.faults.fuzz.targets import ask_everything
from tests.faults.scale import IS_LONG, SEED, record, scaled

from contexthall.caches.library import CacheRef, Library
from contexthall.core.errors import CacheInvalidError
from contexthall.system.disk import Disk

DOCUMENTS = {"a.md": "keys rotate keys", "sub/B.md": "straße the keys", "empty.md": ""}
OTHERS = {"a.md": "keys never rotate", "sub/B.md": "other words", "c.md": ""}
QUERY, BUDGET = "keys straße nowhere", 100
FAR_FUTURE = 4 * 10**18
DAMAGES: Sequence[Callable[[int], int]] = (
    lambda byte: byte ^ 1,
    lambda byte: byte ^ 0x80,
    lambda byte: 0x00 if byte else 0xFF,
    lambda byte: 0xFF if byte != 0xFF else 0x00,
)


class Place(NamedTuple):
    """A byte of a cache."""

    file: Path
    at: int


def files(cache: Path) -> list[Path]:
    return sorted(path for path in cache.rglob("*") if path.is_file())


def places(cache: Path) -> Iterator[Place]:
    for file in files(cache):
        yield from (Place(file, at) for at in range(file.stat().st_size))


def resolved(library: Library, cache: Path) -> str | None:
    """The answer; None if the cache is found to be invalid."""
    try:
        return library.resolve(CacheRef(str(cache)), QUERY, BUDGET).text
    except CacheInvalidError:
        return None


def overwrite(place: Place, byte: int) -> None:
    descriptor = os.open(place.file, os.O_WRONLY)
    try:
        os.pwrite(descriptor, bytes([byte]), place.at)
    finally:
        os.close(descriptor)


def put(file: Path, data: bytes, moment: int) -> None:
    """Write over a file at a moment of its own, so that its times tell, however coarse the clock is."""
    file.write_bytes(data)
    os.utime(file, ns=(moment, moment))


@pytest.mark.timeout(300)
def test_no_byte_can_be_flipped_such_that_the_answer_is_wrong(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, DOCUMENTS)
    right, tried = resolved(library_of(tmp_path), cache), 0
    assert right is not None
    for number, place in enumerate([*places(cache)][:: scaled(3, 1, 1)]):
        before = place.file.read_bytes()[place.at]
        for damage in DAMAGES if IS_LONG else (DAMAGES[(number + SEED) % len(DAMAGES)],):
            overwrite(place, damage(before))
            assert resolved(library_of(tmp_path), cache) in {right, None}, (place, damage(before))
            tried += 1
        overwrite(place, before)
    assert resolved(library_of(tmp_path), cache) == right
    record("fuzzing", "bytes of a cache flipped", tried)


def test_the_index_can_be_damaged_anywhere_and_the_answer_stays(tmp_path: Path) -> None:
    """Nothing but speed depends on it, so a damaged one must not even make the cache invalid."""
    cache = build_cache(tmp_path, DOCUMENTS)
    right = resolved(library_of(tmp_path), cache)
    for place in [each for each in places(cache) if each.file.name in {"postings.bin", "index.json"}][
        :: scaled(15, 5, 1)
    ]:
        before = place.file.read_bytes()[place.at]
        overwrite(place, before ^ 0x55)
        assert resolved(library_of(tmp_path), cache) == right, place
        overwrite(place, before)


@pytest.mark.timeout(300)
def test_files_that_end_early_or_late_never_make_a_wrong_answer(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, DOCUMENTS)
    right, tried = resolved(library_of(tmp_path), cache), 0
    for file in files(cache):
        sound = file.read_bytes()
        cuts = (sound[:length] for length in range(0, len(sound), scaled(9, 3, 1)))
        for data in (*cuts, sound + b"\0", sound + b" ", sound + sound):
            file.write_bytes(data)
            assert resolved(library_of(tmp_path), cache) in {right, None}, (file, len(data))
            tried += 1
        file.write_bytes(sound)
    record("fuzzing", "files of a cache cut or prolonged", tried)


def test_files_that_change_places_never_make_a_wrong_answer(tmp_path: Path) -> None:
    cache, other = build_cache(tmp_path, DOCUMENTS), build_cache(tmp_path, OTHERS, name="other")
    right = resolved(library_of(tmp_path), cache)
    sound = {file: file.read_bytes() for file in files(cache)}
    strangers = [file.read_bytes() for file in files(other)]
    swaps = [{one: sound[two], two: sound[one]} for one, two in permutations(sound, 2)]
    swaps += [{file: stranger} for file in sound for stranger in strangers]
    for swap in swaps:
        for file, data in swap.items():
            file.write_bytes(data)
        assert set(ask_everything(cache, [(QUERY, BUDGET)])) <= {right, None}, swap.keys()
        for file in swap:
            file.write_bytes(sound[file])


@pytest.mark.timeout(300)
def test_a_warm_library_notices_what_is_damaged_under_it(tmp_path: Path) -> None:
    """Its clock is far ahead, so that it keeps all that it has read, and only the times of the files can tell."""
    cache = build_cache(tmp_path, DOCUMENTS)
    here = str(tmp_path)
    warm = Library(Disk(), root=here, root_is_named=True, working_directory=here, clock=lambda: FAR_FUTURE)
    right = [resolved(warm, cache) for _ in range(3)][-1]
    for number, place in enumerate([*places(cache)][:: scaled(33, 11, 1)]):
        before = place.file.read_bytes()
        damaged = bytearray(before)
        damaged[place.at] = DAMAGES[(number + SEED) % len(DAMAGES)](damaged[place.at])
        put(place.file, bytes(damaged), 2 * number)
        cold = resolved(library_of(tmp_path), cache)
        assert resolved(warm, cache) == cold, place
        assert cold in {right, None}, place
        put(place.file, before, 2 * number + 1)
        assert [resolved(warm, cache) for _ in range(2)] == [right, right], place


def test_looking_at_a_damaged_cache_in_any_way_ends_in_words_or_in_our_own_errors(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, DOCUMENTS)
    for place in [*places(cache)][SEED % 7 :: scaled(183, 61, 7)]:
        before = place.file.read_bytes()[place.at]
        overwrite(place, before ^ 0xA5)
        ask_everything(cache)
        overwrite(place, before)
    assert library_of(tmp_path).verify(CacheRef(str(cache))) == ()


@pytest.mark.parametrize("name", ["manifest.json", "index.json", "postings.bin", "documents"])
@pytest.mark.parametrize("what", ["nothing", "a directory", "a symlink", "a FIFO"])
def test_a_part_of_a_cache_that_is_something_else_is_found_out(tmp_path: Path, name: str, what: str) -> None:
    cache = build_cache(tmp_path, DOCUMENTS)
    right, part, aside = resolved(library_of(tmp_path), cache), cache / name, tmp_path / "aside"
    part.rename(aside)
    match what:
        case "a directory":
            part.mkdir()
        case "a symlink":
            part.symlink_to(aside)
        case "a FIFO":
            os.mkfifo(part)
    assert set(ask_everything(cache, [(QUERY, BUDGET)])) <= {right, None}

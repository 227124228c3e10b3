"""Verifying: every promise that is broken is named, and a lie of the index too."""

import errno
import json
import os
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.caches.making import build_cache, compile_folder, disturbed, library_of, write_sources
from tests.contract import oracle

from contexthall.caches.index.match_table import Columns
from contexthall.caches.index.postings import Postings, PostingsWriter
from contexthall.caches.library import CacheRef
from contexthall.caches.model.format import ListedDocument
from contexthall.core.errors import CacheInvalidError
from contexthall.system.disk import Disk

DOCUMENTS = {"a.md": "one two", "b.md": "two three three", "c.md": "four"}


def change_manifest(cache: Path, **fields: object) -> None:
    manifest = json.loads((cache / "manifest.json").read_text())
    (cache / "manifest.json").write_text(json.dumps(manifest | fields))


def listed(cache: Path) -> list[dict[str, str]]:
    documents: list[dict[str, str]] = json.loads((cache / "manifest.json").read_text())["documents"]
    return documents


def verified(cache: Path, disk: Disk | None = None) -> tuple[str, ...]:
    return library_of(cache.parent, disk).verify(CacheRef(str(cache)))


def test_a_fault_of_the_manifest_hides_no_other(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, DOCUMENTS)
    entries: list[object] = [*listed(cache), 7, {"id": "d.md"}, {**listed(cache)[0], "file": "../a"}]
    change_manifest(cache, document_count=1, created_at=5, build_config={"version": "2"}, documents=entries)
    (cache / listed(cache)[1]["file"]).unlink()
    assert verified(cache) == (
        "number 4 in the manifest is no document",
        "number 5 in the manifest has no id, version or file",
        "the file of a.md is outside the cache",
        "the cache was built in a version of the format that is not known here",
        "the manifest's document_count is not the number of its documents",
        "the manifest's created_at is not a time in UTC, as RFC 3339 spells it",
        f"the file of b.md is not there: {listed(cache)[1]['file']}",
    )


def test_without_a_list_of_documents_the_index_is_looked_at_all_the_same(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, DOCUMENTS)
    change_manifest(cache, documents=None)
    (cache / "index.json").write_text("[]")
    assert verified(cache) == ("the manifest has no list of documents", "index.json is not an object")


def test_a_document_that_is_listed_twice_is_named(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, DOCUMENTS)
    change_manifest(cache, documents=[*listed(cache), listed(cache)[2]])
    assert "the manifest lists c.md twice" in verified(cache)


def test_another_way_of_hashing_is_not_believed(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, DOCUMENTS)
    change_manifest(cache, build_config={"version": "1", "hash_algorithm": "md5"})
    assert len(verified(cache)) == 1
    with pytest.raises(CacheInvalidError):
        library_of(tmp_path).resolve(CacheRef(str(cache)), "two", 9)


@pytest.mark.parametrize(
    "moment",
    [
        *("", "yesterday", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01T00:00:00+02:00"),
        *("2026-01-01T00:00:00Zulu", " 2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z\n"),
    ],
)
def test_a_time_that_is_none_is_named_and_no_answer_depends_on_it(tmp_path: Path, moment: str) -> None:
    cache = build_cache(tmp_path, DOCUMENTS)
    change_manifest(cache, created_at=moment)
    assert ["created_at" in violation for violation in verified(cache)] == [True]
    assert library_of(tmp_path).resolve(CacheRef(str(cache)), "two", 9).text == oracle.resolve(DOCUMENTS, "two", 9)


def test_the_order_of_the_manifest_is_a_promise_but_no_answer_depends_on_it(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, DOCUMENTS)
    change_manifest(cache, documents=listed(cache)[::-1], created_at="2026-01-01T00:00:00.5+00:00")
    assert verified(cache) == ("the manifest's documents are not sorted by id",)
    assert library_of(tmp_path).resolve(CacheRef(str(cache)), "two", 9).text == oracle.resolve(DOCUMENTS, "two", 9)


def test_orphans_are_found_however_deep_they_lie(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, DOCUMENTS)
    entries = listed(cache)
    deeper = entries[0] | {"file": entries[0]["file"].replace("documents/", "documents/deep/er/")}
    (cache / deeper["file"]).parent.mkdir(parents=True)
    (cache / entries[0]["file"]).rename(cache / deeper["file"])
    change_manifest(cache, documents=[deeper, *entries[1:]])
    (cache / "index.json").write_text(json.dumps({each["id"]: each["file"] for each in listed(cache)}))
    assert verified(cache) == ()
    for orphan in ("documents/deep/er/x", "documents/deep/y/z", "documents/deep-not", "documents/er/x"):
        (cache / orphan).parent.mkdir(exist_ok=True)
        (cache / orphan).touch()
    assert verified(cache) == (
        "no document has the file documents/deep-not",
        "no document has the file documents/er",
        "no document has the file documents/deep/y",
        "no document has the file documents/deep/er/x",
    )


@pytest.mark.parametrize("call", [os.open, os.listdir])
def test_what_the_system_refuses_hides_no_violation(tmp_path: Path, call: Callable[..., Any]) -> None:
    cache = build_cache(tmp_path, DOCUMENTS)
    (cache / listed(cache)[0]["file"]).unlink()

    def perform(each: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if each is call and (call is os.listdir or arguments[0] == "index.json"):
            raise OSError(errno.EIO, "Input/output error")
        return each(*arguments, **options)

    found = verified(cache, Disk(perform))
    assert len(found) == 2
    assert any("Input/output error" in violation for violation in found)
    assert any("the file of a.md is not there" in violation for violation in found)


def test_every_id_on_which_index_and_manifest_differ_is_named(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, DOCUMENTS)
    files = json.loads((cache / "index.json").read_text())
    (cache / "index.json").write_text(json.dumps({"a.md": [], "c.md": files["c.md"], "ghost": None}))
    assert verified(cache) == tuple(
        f"index.json and manifest.json do not agree on {each}" for each in ("a.md", "b.md", "ghost")
    )


def lying_words(content: str) -> list[str]:
    return content.replace("three", "thrice").split()


def lying_listing(listing: Sequence[ListedDocument], columns: Columns) -> tuple[Sequence[ListedDocument], Columns]:
    return [listing[0]._replace(id="A.md"), *listing[1:]], columns


def lying_order(listing: Sequence[ListedDocument], columns: Columns) -> tuple[Sequence[ListedDocument], Columns]:
    return listing, Columns(columns.tokens, columns.words, columns.cheapest[::-1])


@pytest.mark.parametrize(
    ("lie", "violation"),
    [
        ({"query.frozen.words": lying_words}, "postings.bin says of b.md what its content does not"),
        (
            {"build.compiler.tokens": lambda data: 1 + (len(data) > 4)},
            "postings.bin says of b.md what its content does not",
        ),
        ({"listing": lying_listing}, "postings.bin and the manifest do not list the same documents"),
        ({"listing": lying_order}, "postings.bin does not sort the documents by their tokens"),
        ({"peak": 1}, "postings.bin: the largest count of "),
    ],
)
def test_a_lie_of_the_index_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: dict[str, Any], violation: str
) -> None:
    add, encode = PostingsWriter.add_documents, PostingsWriter._encode

    def add_lies(writer: PostingsWriter, listing: Sequence[ListedDocument], columns: Columns) -> None:
        add(writer, *lie.get("listing", lambda *truth: truth)(listing, columns))

    def encode_lies(writer: PostingsWriter, postings: Postings) -> tuple[int, int, bytes]:
        peak, kind, payload = encode(writer, postings)
        return peak + lie.get("peak", 0), kind, payload

    with monkeypatch.context() as lying:
        lying.setattr(PostingsWriter, "add_documents", add_lies)
        lying.setattr(PostingsWriter, "_encode", encode_lies)
        for name in lie.keys() - {"listing", "peak"}:
            lying.setattr(f"contexthall.caches.{name}", lie[name])
        cache = build_cache(tmp_path, DOCUMENTS)
    assert [each.startswith(violation) for each in verified(cache)] == [True]


def test_a_term_of_one_document_more_than_there_are_is_found_and_no_answer_depends_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = PostingsWriter._encode

    def encode_lies(writer: PostingsWriter, postings: Postings) -> tuple[int, int, bytes]:
        return encode(writer, postings._replace(documents=array("I", [*postings.documents[:-1], len(DOCUMENTS)])))

    with monkeypatch.context() as lying:
        lying.setattr(PostingsWriter, "_encode", encode_lies)
        cache = build_cache(tmp_path, DOCUMENTS)
    assert verified(cache) == ("postings.bin: a term of other documents",)
    assert library_of(tmp_path).resolve(CacheRef(str(cache)), "two", 9).text == oracle.resolve(DOCUMENTS, "two", 9)


def test_what_common_terms_say_is_compared_too(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, {f"{number}.md": "the " * (number % 3 + 1) for number in range(70)})
    assert verified(cache) == ()


def test_an_index_that_nobody_believes_breaks_no_promise_but_a_damaged_one_does(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, DOCUMENTS)
    whole = (cache / "postings.bin").read_bytes()
    damaged = bytearray(whole)
    damaged[whole.index(b"three")] ^= 1
    (cache / "postings.bin").write_bytes(damaged)
    assert [violation.startswith("postings.bin: bucket ") for violation in verified(cache)] == [True]
    (cache / "postings.bin").write_bytes(whole[:200])
    assert verified(cache) == ()
    (cache / "postings.bin").unlink()
    assert verified(cache) == ()


def test_a_cache_that_is_replaced_while_it_is_verified_is_verified_anew(tmp_path: Path) -> None:
    cache = build_cache(tmp_path, DOCUMENTS)
    first = os.path.basename(listed(cache)[0]["file"])
    others = write_sources(tmp_path / "others", {"other.md": "five"})
    disk = disturbed(os.open, first, lambda: compile_folder(others, cache, force=True))
    assert verified(cache, disk) == ()

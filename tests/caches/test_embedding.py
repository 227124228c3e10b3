"""A cache that was built with an embedder answers by words and meaning, or says why it cannot; it never guesses."""

import json
import random
import shutil
import subprocess
import sys
from array import array
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from tests.caches.embedding import ID, MODEL, build_embedded, install
from tests.caches.making import build_pages, library_of
from tests.contract import write_vectors_2 as writer

from contexthall import open_hall
from contexthall.caches.embedding.embedders import embed, find_embedder, find_model, quantised
from contexthall.caches.embedding.similarity import products
from contexthall.caches.embedding.vectors import SectionVectors
from contexthall.caches.library import CacheRef
from contexthall.caches.query import fusion
from contexthall.core.errors import CacheInvalidError, DiskError, EmbedderError, HallError
from contexthall.system.disk import Disk

PAGES = {
    "keys.md": "# Keys\nRotate the keys.\n\n## Lost\nCall the guard at once.\n",
    "deploy.md": "# Deploying\nOn Friday, never.\n",
    "empty.md": "",
    "vault.md": "# Vault\nKeys and other secrets.\n",
}
QUERIES = ["rotate keys", "guard", "what happens on a friday?", "secrets nowhere"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    install(tmp_path / "installed", monkeypatch)
    return build_embedded(tmp_path, PAGES)


def uninstall(cache: Path) -> None:
    shutil.rmtree(cache.parent / "installed")


def ask(cache: Path, query: str = "rotate keys") -> str:
    return library_of(cache.parent).resolve(CacheRef(str(cache)), query, 4000).text


def answers(cache: Path) -> list[str]:
    return [ask(cache, query) for query in QUERIES]


def verified(cache: Path) -> tuple[str, ...]:
    return library_of(cache.parent).verify(CacheRef(str(cache)))


def test_a_reply_names_the_scorer_and_the_model(cache: Path) -> None:
    selection = json.loads(ask(cache))["selection"]
    assert (selection["scorer"], selection["embedder"]) == ("bm25f-1", MODEL)
    text = library_of(cache.parent).resolve(CacheRef(str(cache)), "rotate keys", 4000, "text").text
    assert f" tokens | bm25f-1 + {ID}@{MODEL[-64:-52]} | fresh\n" in text


def test_the_manifest_names_the_model_and_the_version_counts_it(cache: Path) -> None:
    manifest = json.loads((cache / "manifest.json").read_bytes())
    assert list(manifest["build_config"].items())[4:] == [("embedder", MODEL)]
    plain = json.loads((build_pages(cache.parent, PAGES, name="plain") / "manifest.json").read_bytes())
    assert "embedder" not in plain["build_config"]
    assert plain["cache_version"] != manifest["cache_version"]
    assert not (cache.parent / "plain" / "vectors.bin").exists()


def test_two_builds_have_the_same_bytes(cache: Path) -> None:
    again = build_embedded(cache.parent, PAGES, name="again")
    for file in ("manifest.json", "vectors.bin", "segments.bin"):
        assert (cache / file).read_bytes() == (again / file).read_bytes()


def test_the_embedder_is_told_what_kind_of_text_it_gets(cache: Path) -> None:
    asked: list[tuple[str, str]] = find_embedder(ID).asked  # type: ignore[attr-defined]
    assert ("document", "Keys > Lost\nCall the guard at once.\n") in asked
    assert {kind for kind, _ in asked} == {"document"}
    ask(cache, "Who guards?")
    assert asked[-1] == ("query", "Who guards?")


def test_without_its_embedder_a_cache_gives_an_error_and_no_other_ranking(cache: Path) -> None:
    library, ref = library_of(cache.parent), CacheRef(str(cache))
    uninstall(cache)
    for call in (
        lambda: ask(cache),
        lambda: library.places(ref, "keys", 4000, 0, 9),
        lambda: library.explain(ref, "keys", 4000, "keys.md"),
        lambda: library.ask([ref], "keys"),
    ):
        with pytest.raises(EmbedderError, match=f"{ID} is not installed"):
            call()
    (cache / "segments.bin").unlink()
    with pytest.raises(EmbedderError):
        ask(cache)


def test_reading_and_outlines_need_no_embedder(cache: Path) -> None:
    uninstall(cache)
    library, ref = library_of(cache.parent), CacheRef(str(cache))
    assert "guard" in library.read(ref, "keys.md#lost").text
    assert "keys.md#lost" in library.outline(ref).text
    assert library.inspect(ref).valid
    assert verified(cache) == ()


def test_an_embedder_with_other_weights_is_another_one(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uninstall(cache)
    install(cache.parent / "other", monkeypatch, weights="0" * 64)
    with pytest.raises(EmbedderError, match="other weights"):
        ask(cache)


def test_an_embedder_without_weights_is_named_by_the_hash_of_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constant = source_of("    def embed(self, texts, kind): return [[1, 2]] * len(texts)")
    install(tmp_path / "installed", monkeypatch, source=constant)
    selection = json.loads(ask(build_embedded(tmp_path, PAGES)))["selection"]
    assert selection["embedder"] == f"{ID}@sha256:{sha256().hexdigest()}"


def source_of(*lines: str, name: str = ID, dim: object = 2) -> str:
    return "\n".join(("class HashedWords:", f"    id, dim = {name!r}, {dim!r}", *lines, ""))


BROKEN = {
    "it raises": "    def embed(self, texts, kind): raise KeyError('x')",
    "too few": "    def embed(self, texts, kind): return [[1, 2]]",
    "too short": "    def embed(self, texts, kind): return [[1]] * len(texts)",
    "of two lengths": "    def embed(self, texts, kind): return [[1, 2], [1]] * len(texts)",
    "nan": "    def embed(self, texts, kind): return [[float('nan'), 1]] * len(texts)",
    "infinite": "    def embed(self, texts, kind): return [[1e300, 1e300]] * len(texts)",
    "no numbers": "    def embed(self, texts, kind): return ['ab'] * len(texts)",
    "it ends": "    def embed(self, texts, kind): raise SystemExit(3)",
    "nothing": "    def embed(self, texts, kind): return None",
    "not there": "    pass",
}


@pytest.mark.parametrize("broken", BROKEN)
def test_an_embedder_that_fails_leaves_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    install(tmp_path / "installed", monkeypatch, source=source_of(BROKEN[broken]))
    with pytest.raises(EmbedderError, match=f"{ID} failed"):
        build_embedded(tmp_path, PAGES)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    "source",
    [
        source_of(name="other"),
        source_of(dim=0),
        source_of(dim="16"),
        source_of("    sha256 = 'x'"),
        source_of("    sha256 = 7"),
        "raise ImportError('it needs more')",
        "x = 1",
    ],
)  # fmt: skip
def test_what_is_no_embedder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    install(tmp_path / "installed", monkeypatch, source=source)
    with pytest.raises(EmbedderError, match=f"{ID} failed: "):
        find_embedder(ID)


def test_two_packages_with_one_embedder_are_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(cache.parent / "other", monkeypatch)
    with pytest.raises(EmbedderError, match=f"{ID} is registered by several packages"):
        ask(cache)


@pytest.mark.parametrize("name", ["", "..", "a/b", "A", "nowhere", "x" * 1000, "\0"])
def test_a_name_that_no_embedder_has(name: str) -> None:
    with pytest.raises(EmbedderError, match="is not installed"):
        find_embedder(name)


def test_vectors_that_are_damaged_are_an_error_wherever_it_is(cache: Path) -> None:
    file = cache / "vectors.bin"
    whole, numbers = file.read_bytes(), random.Random(19)
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes((whole[at] ^ 1 << numbers.randrange(8),)) + whole[at + 1 :])
        with pytest.raises(CacheInvalidError, match=r"vectors\.bin"):
            ask(cache)
    assert [violation for violation in verified(cache) if violation.startswith("vectors.bin")] != []
    for length in range(0, len(whole), 7):
        file.write_bytes(whole[:length])
        with pytest.raises(CacheInvalidError):
            ask(cache)
    file.write_bytes(whole)
    assert verified(cache) == ()


def test_vectors_that_are_missing_or_of_another_cache_are_an_error(cache: Path) -> None:
    other = build_embedded(cache.parent, {**PAGES, "keys.md": "# Keys\nOther.\n\n## Lost\nWords.\n"}, name="other")
    shutil.copy(other / "vectors.bin", cache / "vectors.bin")
    with pytest.raises(CacheInvalidError):
        ask(cache)
    (cache / "vectors.bin").unlink()
    with pytest.raises(CacheInvalidError, match=r"there is no file vectors\.bin"):
        ask(cache)
    assert verified(cache) == ("there is no file vectors.bin",)
    (cache / "vectors.bin").mkdir()
    with pytest.raises(CacheInvalidError):
        ask(cache)


def rewritten(cache: Path, **changes: Any) -> None:
    """Forge the vectors, with the right checksums."""
    key = sha256((cache / "manifest.json").read_bytes()).digest()
    data = (cache / "vectors.bin").read_bytes()
    whole = SectionVectors.read(Disk().enter(str(cache)).open("vectors.bin"), len(data), key)
    (cache / "vectors.bin").write_bytes(whole._replace(**changes).to_bytes(key))


@pytest.mark.parametrize(
    ("changes", "violation"),
    [
        ({"counts": [2, 1, 0, 1]}, "vectors.bin has not a vector for each section of deploy.md"),
        ({"counts": [1, 0, 2, 1, 0]}, "vectors.bin is not of these documents and this embedder"),
        ({"dim": 32, "rows": bytes(32 * 4)}, "vectors.bin is not of these documents and this embedder"),
    ],
)  # fmt: skip
def test_forged_numbers_are_refused_and_named(cache: Path, changes: dict[str, Any], violation: str) -> None:
    rewritten(cache, **changes)
    with pytest.raises(CacheInvalidError):
        ask(cache)
    assert violation in verified(cache)


def test_forged_vectors_are_named_where_the_embedder_is_installed(cache: Path) -> None:
    rewritten(cache, rows=bytes(16 * 4))
    expected = [f"vectors.bin does not say what {ID} makes of {page}" for page in ("deploy.md", "keys.md", "vault.md")]
    assert list(verified(cache)) == expected
    uninstall(cache)
    assert verified(cache) == ()


def test_a_number_that_was_rounded_to_the_other_side_is_sound(cache: Path) -> None:
    data = (cache / "vectors.bin").read_bytes()
    key = sha256((cache / "manifest.json").read_bytes()).digest()
    rows = SectionVectors.read(Disk().enter(str(cache)).open("vectors.bin"), len(data), key).rows
    at = next(at for at, number in enumerate(rows) if 0 < number < 127)
    rewritten(cache, rows=rows[:at] + bytes((rows[at] + 1,)) + rows[at + 1 :])
    assert verified(cache) == ()


def test_vectors_that_the_system_does_not_give_are_an_io_error(cache: Path) -> None:
    def perform(call: Any, *arguments: Any, **options: Any) -> Any:
        if str(arguments[0]).endswith("vectors.bin") and call.__name__ == "open":
            raise OSError(5, "no")
        return call(*arguments, **options)

    library = library_of(cache.parent, Disk(perform))
    with pytest.raises(DiskError):
        library.resolve(CacheRef(str(cache)), "keys", 4000)


def test_replaced_vectors_are_noticed_before_the_next_answer(cache: Path) -> None:
    library, ref = library_of(cache.parent), CacheRef(str(cache))
    library.resolve(ref, "keys", 4000)
    (cache / "vectors.bin").unlink()
    with pytest.raises(CacheInvalidError):
        library.resolve(ref, "keys", 4000)


def test_without_a_usable_index_the_answers_are_the_same(cache: Path) -> None:
    expected = answers(cache)
    for segment in cache.glob("segment-*.bin"):
        segment.unlink()
    assert answers(cache) == expected


def test_segments_in_any_order_have_the_vectors_of_their_pages() -> None:
    vectors = SectionVectors(1, [1, 0, 2], b"abc")
    assert vectors.in_order([2, 0, 1]) == SectionVectors(1, [2, 1, 0], b"bca")
    assert vectors.in_order([0, 1, 2]) is vectors


def test_products_are_exact_whatever_the_dimensions() -> None:
    numbers = random.Random(19)
    for dim in (1, 16, 384, 1023, 1024, 3000):
        rows = numbers.randbytes(dim * 20) + bytes((128,)) * dim
        signed = [array("b", rows[at : at + dim]) for at in range(0, len(rows), dim)]
        for vector in (numbers.randbytes(dim), bytes((128,)) * dim, bytes((127,)) * dim):
            expected = [sum(x * y for x, y in zip(array("b", vector), row, strict=True)) for row in signed]
            assert products(rows, vector) == expected


def test_a_rank_by_meaning_is_worth_a_quarter() -> None:
    assert fusion.fused([7, 8], [8, 9]) == {
        7: 2**24 // 61,
        8: 2**24 // 62 + 2**24 // 61 // 4,
        9: 2**24 // 62 // 4,
    }


def test_an_explanation_tells_both_ranks(cache: Path) -> None:
    library, ref = library_of(cache.parent), CacheRef(str(cache))
    told = library.explain(ref, "rotate keys", 4000, "keys.md#keys").sentences(4000)
    assert told[0].startswith("keys.md#keys is number 1 of ")
    assert any(sentence.startswith("By words it is number 1 of ") for sentence in told)
    assert f"By meaning ({ID}) it is number 1, which counts {2**24 // 61 // 4:,}." in told
    assert any(sentence.startswith('"rotate" stands once in its text') for sentence in told)


def test_caches_of_the_same_model_are_asked_as_one(cache: Path, tmp_path: Path) -> None:
    more = {"guards.md": "# Guards\nThey guard the keys.\n", "x.md": "# X\nrotate\n"}
    other, whole = build_embedded(tmp_path, more, name="b"), build_embedded(tmp_path, {**PAGES, **more}, name="whole")
    library = library_of(tmp_path)
    for query in QUERIES:
        reply = library.ask([CacheRef(str(cache)), CacheRef(str(other))], query)
        alone = library.ask([CacheRef(str(whole))], query)
        assert [section.item for section in reply.sections] == [section.item for section in alone.sections]
        assert (reply.model, reply.other_models) == (MODEL, ())


def test_caches_that_name_different_models_are_asked_by_words_and_the_reply_says_so(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = build_pages(tmp_path, {"x.md": "# X\nrotate\n"}, name="plain")
    words = build_pages(tmp_path, PAGES, name="words")
    library = library_of(tmp_path)
    mixed = library.ask([CacheRef(str(cache)), CacheRef(str(plain))], "rotate keys")
    assert (mixed.model, mixed.other_models) == ("", (MODEL,))
    unmixed = library.ask([CacheRef(str(words)), CacheRef(str(plain))], "rotate keys")
    assert [section.item for section in mixed.sections] == [section.item for section in unmixed.sections]
    install(tmp_path / "second", monkeypatch, name="second")
    second = build_embedded(tmp_path, {"x.md": "# X\nrotate\n"}, name="c", embedder="second")
    both = library.ask([CacheRef(str(cache)), CacheRef(str(second))], "rotate keys")
    assert (both.model, [model.partition("@")[0] for model in both.other_models]) == ("", [ID, "second"])


def test_a_cache_that_names_its_embedder_badly_is_invalid(cache: Path) -> None:
    manifest = (cache / "manifest.json").read_text(encoding="utf-8")
    for bad in ("", "x", MODEL.upper(), f"../{MODEL}", f"{MODEL} "):
        (cache / "manifest.json").write_text(manifest.replace(MODEL, bad), encoding="utf-8")
        with pytest.raises(CacheInvalidError):
            ask(cache)


def test_quantised_vectors_have_numbers_from_minus_127_to_127() -> None:
    numbers = random.Random(19)
    for _ in range(200):
        vector = quantised([numbers.gauss(0, 10 ** numbers.randrange(-5, 5)) for _ in range(numbers.randrange(1, 50))])
        assert 128 not in vector


def test_no_text_is_embedded_as_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "installed", monkeypatch)
    assert embed(find_model(MODEL), [], "query") == []
    empty = build_embedded(tmp_path, {"a.md": "", "b.md": "\n"})
    assert json.loads(ask(empty))["documents"] == []
    assert verified(empty) == ()


def test_the_embedder_of_the_vectors_is_the_one_that_is_tested_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "installed", monkeypatch)
    text = "Keys > Lost\nCall the guard at once, or rotate."
    assert embed(find_model(MODEL), [text], "query") == [quantised(writer.hashed_words(text))]


def test_our_own_embedder_is_registered() -> None:
    assert [each.value for each in metadata.entry_points(group="contexthall.embedders", name="minilm-l6-v2")] == [
        "contexthall.caches.embedding.minilm:MiniLM"
    ]


def test_a_cache_without_an_embedder_loads_nothing_of_it(cache: Path) -> None:
    plain = build_pages(cache.parent, PAGES, name="plain")
    script = (
        "import sys; from contexthall import open_hall\n"
        "open_hall().caches.resolve(open_hall().caches.locate(sys.argv[1]), 'keys', 4000)\n"
        "print(*sorted(name for name in sys.modules if 'embedding' in name or name in ('numpy', 'importlib.metadata')))"
    )
    command = [sys.executable, "-c", script]
    for each, loaded in ((plain, False), (cache, True)):
        process = subprocess.run([*command, str(each)], capture_output=True, text=True, check=False)
        assert ("contexthall.caches.embedding" in process.stdout or "EmbedderError" in process.stderr) == loaded
        if not loaded:
            assert process.stdout == "\n"


def test_every_error_about_embedders_is_one_of_ours() -> None:
    assert (EmbedderError.code, EmbedderError.exit_code) == ("embedder_error", 11)
    assert issubclass(EmbedderError, HallError)


def test_a_refresh_keeps_the_embedder_and_makes_the_vectors_of_a_fresh_build(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(cache.parent)
    (cache.parent / "cache sources" / "keys.md").write_text("# Keys\nOther words.\n", encoding="utf-8")
    hall, asked = open_hall(cache.parent), find_embedder(ID).asked  # type: ignore[attr-defined]
    del asked[:]
    assert hall.refresh_cache(CacheRef(str(cache))).built is not None
    assert asked == [("document", "Keys\nOther words.\n")]
    assert json.loads(ask(cache))["selection"]["embedder"] == MODEL
    fresh = build_embedded(cache.parent, {**PAGES, "keys.md": "# Keys\nOther words.\n"}, name="fresh")
    for query in QUERIES:
        assert ask(cache, query) == ask(fresh, query)
    assert verified(cache) == ()

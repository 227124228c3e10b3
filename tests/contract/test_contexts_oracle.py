"""The oracle of contexts and its vectors say the same, so neither can drift; the contract's own facts hold for both."""

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from tests.contract import contexts_oracle as oracle

VECTORS = Path(__file__).parents[2] / "vectors" / "contexts"
SECTIONS = {
    "reading.json": ("reading", "serving"),
    "fingerprints.json": ("content", "stat", "times", "verdicts"),
    "scopes.json": (None,),
    "counting.json": (None,),
}
METADATA = b'scope: src\nfingerprint: "a3f8b2c1"\nlast_updated: 2026-02-13T10:00:00Z\n'


def load(file: str, section: str | None = None) -> list[dict[str, Any]]:
    found = json.loads((VECTORS / file).read_text(encoding="utf-8"))
    cases: list[dict[str, Any]] = found[section] if section else found
    assert cases
    return cases


def cases(file: str, section: str | None = None) -> list[Any]:
    """Give the cases of a file of vectors, each with its name for an id."""
    return [pytest.param(case, id=case["name"]) for case in load(file, section)]


def bytes_of(case: dict[str, Any]) -> bytes:
    """Give the file of a case: its `text`, its `base64`, or its `parts`, of which some are repeated."""
    if "base64" in case:
        return b64decode(case["base64"])
    parts = case.get("parts", [case.get("text")])
    return "".join(part if isinstance(part, str) else part["repeat"] * part["times"] for part in parts).encode("utf-8")


def exact(value: object) -> str:
    """Write a value so that 1, 1.0 and true differ; the order of keys means nothing."""
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("case", cases("reading.json", "reading"))
def test_a_file_is_read_as_in_its_vector(case: dict[str, Any]) -> None:
    outcome, *more = oracle.read(bytes_of(case))
    assert outcome == case["outcome"]
    if "values" in case:
        assert exact(more) == exact([case["values"]])
    if "version" in case:
        assert more == [case["version"]]


@pytest.mark.parametrize("case", cases("reading.json", "serving"))
def test_a_context_is_served_as_in_its_vector(case: dict[str, Any]) -> None:
    match oracle.read(bytes_of(case)):
        case ("readable", values):
            served = oracle.serve(values, case.get("filter"))
            assert json.dumps(served, separators=(",", ":")) == case["output"]
        case other:
            pytest.fail(other[0])


@pytest.mark.parametrize("case", cases("fingerprints.json", "content"))
def test_a_directory_has_the_content_fingerprint_of_its_vector(case: dict[str, Any]) -> None:
    files = {name: bytes_of({"text": file} if isinstance(file, str) else file) for name, file in case["files"].items()}
    assert oracle.content_fingerprint(files) == case["fingerprint"]


@pytest.mark.parametrize("case", cases("fingerprints.json", "stat"))
def test_a_directory_has_the_stat_fingerprint_of_its_vector(case: dict[str, Any]) -> None:
    files = {name: oracle.Stat(**stat) for name, stat in case["files"].items()}
    assert oracle.stat_fingerprint(files) == case["fingerprint"]


@pytest.mark.parametrize("case", cases("fingerprints.json", "times"))
def test_a_time_has_the_milliseconds_of_its_vector(case: dict[str, Any]) -> None:
    stat = oracle.Stat(seconds=case["seconds"], nanoseconds=case["nanoseconds"], size=0)
    assert oracle.mtime_ms(stat) == case["mtime_ms"]


@pytest.mark.parametrize("case", cases("fingerprints.json", "verdicts"))
def test_a_stored_fingerprint_is_judged_as_in_its_vector(case: dict[str, Any]) -> None:
    assert oracle.judge(case["stored"], case["content"], case["stat"]) == (case["state"], case["computed"])


@pytest.mark.parametrize("case", cases("scopes.json"))
def test_a_scope_names_the_directory_of_its_vector(case: dict[str, Any]) -> None:
    assert oracle.resolve_scope(case["root"], case["scope"]) == case["directory"]


@pytest.mark.parametrize("case", cases("counting.json"))
def test_the_directories_of_a_tree_count_as_in_its_vector(case: dict[str, Any]) -> None:
    assert oracle.count(case["tree"], **case["config"]) == (case["kept"], case["skipped"])


@pytest.mark.parametrize(("file", "section"), [(file, part) for file, parts in SECTIONS.items() for part in parts])
def test_no_two_cases_of_a_section_share_a_name(file: str, section: str | None) -> None:
    names = [case["name"] for case in load(file, section)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("file", SECTIONS)
def test_a_file_of_vectors_stays_small_and_plain(file: str) -> None:
    text = (VECTORS / file).read_text(encoding="utf-8")
    assert len(text) < 150_000
    assert text.isascii()


def test_the_fingerprints_printed_in_the_contract_hold() -> None:
    assert oracle.content_fingerprint({"a.txt": b"hello\n", "b.py": b"print(1)\n"}) == "266be37c"
    assert oracle.content_fingerprint({}) == oracle.stat_fingerprint({}) == "e3b0c442"


@pytest.mark.parametrize("version", [b"1", b"1.0"])
def test_the_versions_that_the_contract_counts_are_readable(version: bytes) -> None:
    assert oracle.read(b"version: " + version + b"\n" + METADATA) == (
        "readable",
        {"version": 1, "scope": "src", "fingerprint": "a3f8b2c1", "last_updated": "2026-02-13T10:00:00Z"},
    )


@pytest.mark.parametrize("version", [b'"1"', b"0", b".nan"])
def test_the_versions_that_the_contract_does_not_count_are_corrupt(version: bytes) -> None:
    assert oracle.read(b"version: " + version + b"\n" + METADATA) == ("corrupt",)


def test_version_2_0_prints_as_2() -> None:
    assert oracle.read(b"version: 2.0\n") == ("unsupported", "2")


@pytest.mark.parametrize("fingerprint", [b"12345678", b"12e45678"])
def test_a_fingerprint_that_looks_like_a_number_is_written_quoted(fingerprint: bytes) -> None:
    head = b"version: 1\nscope: .\nlast_updated: now\nfingerprint: "
    assert oracle.read(head + fingerprint) == ("corrupt",)
    assert oracle.read(head + b'"' + fingerprint + b'"')[0] == "readable"


def test_the_document_lists_eighteen_fields_to_filter_by() -> None:
    assert len(set(oracle.FILTERABLE)) == 18
    assert set(oracle.FILTERABLE) < set(oracle.SERVED_ORDER)
    assert not set(oracle.FILTERABLE) & set(oracle.METADATA)


@pytest.mark.parametrize("scope", [".", "", "./src", "src/", "src//core", "/project/src"])
def test_the_scopes_that_the_contract_allows_are_fine(scope: str) -> None:
    assert oracle.resolve_scope("/project", scope) in (".", "src", "src/core")


def test_the_scope_that_003_refuses_is_a_traversal() -> None:
    assert oracle.resolve_scope("/home/me/project", "../../etc") is None


@pytest.mark.parametrize(("directories", "skipped"), [(63, 0), (64, 64)])
def test_a_project_of_more_than_64_directories_is_big(directories: int, skipped: int) -> None:
    tree: oracle.Tree = {f"d{number}": {"a.py": 16_383} for number in range(directories)}
    assert oracle.count(tree)[1] == skipped

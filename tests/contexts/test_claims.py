"""Claims: whose words they are, what they cite, and whether that still holds."""

from contexthall.contexts.files.claims import (
    CHANGED,
    GONE,
    HOLDS,
    claims_of,
    drafted_digests,
    edited_fields,
    failing,
    human_fields,
    judge_citations,
    orphans,
    text_digest,
)
from contexthall.contexts.files.lock import Citation, LockEntry
from contexthall.contexts.files.yaml_text import Value

VALUES: dict[str, Value] = {
    "version": 1,
    "scope": "src",
    "fingerprint": "x",
    "last_updated": "now",
    "summary": "Keys.",
    "maintenance": "Keep it true.",
    "dependencies": {"internal": ["core"], "external": ["anyio"]},
    "constraints": ["Never log a key."],
    "decisions": [{"what": "One file a key", "why": "Rotation"}, {"odd": float("inf")}],
    "derived_fields": ["summary", "maintenance", "dependencies.internal"],
}


def test_claims_are_named_by_their_text_and_by_their_place() -> None:
    constraint, decision, odd = claims_of(VALUES)
    assert constraint.name == f"constraints/{text_digest('Never log a key.')}"
    assert (decision.place, decision.text, decision.why) == ("decisions/1", "One file a key", "Rotation")
    assert odd.text == '{"odd":null}'


def test_claims_of_odd_shapes_are_none() -> None:
    assert claims_of({"constraints": "Never", "decisions": None}) == []


def test_a_digest_does_not_count_trailing_blanks() -> None:
    assert text_digest("a\nb") == text_digest("a  \nb\t\n\n") != text_digest("a\n b")


def test_fields_that_are_not_derived_are_human() -> None:
    assert [*human_fields(VALUES)] == ["constraints", "decisions", "dependencies.external"]


def test_a_context_without_derived_fields_is_a_persons() -> None:
    assert [*human_fields({"scope": "src", "summary": "Mine."})] == ["summary"]


def test_a_derived_field_is_human_once_it_is_not_what_was_drafted() -> None:
    entry = LockEntry(drafted=drafted_digests(VALUES))
    assert [*entry.drafted] == ["summary", "maintenance", "dependencies.internal"]
    assert edited_fields(VALUES, entry) == set()
    edited = VALUES | {"summary": "My keys.", "dependencies": {"internal": ["core", "more"]}}
    assert edited_fields(edited, entry) == {"summary", "dependencies.internal"}
    assert {"summary", "dependencies.internal"} <= human_fields(edited, entry).keys()


def test_after_a_merge_either_draft_is_a_draft() -> None:
    drafted = drafted_digests(VALUES)
    assert edited_fields(VALUES, LockEntry(drafted={"summary": f"00000000 {drafted['summary']}"})) == set()
    assert edited_fields(VALUES, LockEntry(drafted={"summary": "00000000 11111111"})) == {"summary"}


def test_citations_hold_as_long_as_what_they_cite_is_what_it_was() -> None:
    name = claims_of(VALUES)[0].name
    cited = [Citation(name, path, "", "same") for path in ("a.py", "b.py", "c.py")]
    stale = Citation("constraints/00000000", "a.py", "", "same")
    now = {"a.py": "same", "b.py": "other"}
    judged = judge_citations(VALUES, [*cited, stale], lambda each: now.get(each.path))
    assert [each.verdict for each in judged] == [HOLDS, CHANGED, GONE]
    assert [each.citation.path for each in failing(judged)] == ["b.py", "c.py"]
    assert orphans(VALUES, [*cited, stale]) == [stale]

"""A draft takes the place of a draft, and of nothing else."""

from contexthall.contexts.files import yaml_text
from contexthall.contexts.files.drafted_fields import derived_fields, flatten
from contexthall.contexts.files.merge import merge

DRAFT = {"summary": "New.", "dependencies": {"internal": ["core"], "external": ["click"]}, "exports": ["def new()"]}


def merged(text: str, *edited: str) -> str:
    return merge(text, yaml_text.read(text), DRAFT, edited)


def test_a_persons_context_gets_nothing() -> None:
    text = "version: 1\nsummary: Mine.  # and only mine\ndecisions: [{what: a, why: b}]\n"
    assert merged(text) == text


def test_derived_fields_are_replaced_and_new_ones_added() -> None:
    derived = "derived_fields: [summary, files, somebody.elses]\n"
    text = f"# top\nsummary: Old.\nconstraints: [never]  # mine\n{derived}files: [x]\n"
    assert yaml_text.read(merged(text)) == {
        "summary": "New.",
        "constraints": ["never"],
        "derived_fields": ["summary", "somebody.elses", "dependencies.internal", "dependencies.external", "exports"],
        "dependencies": {"internal": ["core"], "external": ["click"]},
        "exports": ["def new()"],
    }
    assert merged(text).startswith("# top\nsummary: New.\nconstraints: [never]  # mine\n")


def test_what_a_person_has_taken_over_stays() -> None:
    text = "summary: Mine now.\nexports: [mine]\nderived_fields: [maintenance]\nmaintenance: x\n"
    values = yaml_text.read(merged(text))
    assert (values["summary"], values["exports"]) == ("Mine now.", ["mine"])
    assert "maintenance" not in values  # which the new draft does not hold


def test_what_a_person_has_edited_is_theirs_from_now_on() -> None:
    text = "summary: Edited.\nexports: [old]\nderived_fields: [summary, exports]\n"
    values = yaml_text.read(merged(text, "summary"))
    assert (values["summary"], values["exports"]) == ("Edited.", ["def new()"])
    assert "summary" not in values["derived_fields"]


def test_one_kind_of_dependencies_may_be_a_persons() -> None:
    text = "dependencies:\n  external: [mine]  # by hand\n  internal: [old]\nderived_fields: [dependencies.internal]\n"
    assert merged(text).startswith("dependencies:\n  external: [mine]  # by hand\n  internal:\n  - core\n")


def test_what_a_person_has_taken_out_does_not_come_back() -> None:
    text = "exports: [old]\nderived_fields: [exports]\n"
    assert "summary" not in yaml_text.read(merged(text))


def test_fields_of_odd_shapes_are_not_taken_for_ours() -> None:
    assert derived_fields({"derived_fields": "summary"}) == []
    assert derived_fields({"derived_fields": ["a", 1, None]}) == ["a"]
    assert flatten({"dependencies": ["left-pad"]}) == {}
    assert flatten({"summary": "x", "unknown": 1}) == {"summary": "x"}

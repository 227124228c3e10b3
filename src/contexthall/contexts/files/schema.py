"""Schema 1: the fields of a context, in the order in which its keys are served and written.

The table below is the model; `context.schema.json`, which is shipped beside this file, is made from it by `make docs`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from contexthall.core.wire import pretty

VERSION = 1
CONTEXT_FILE = ".context.yaml"
METADATA = ("version", "scope", "fingerprint", "last_updated")
REQUIRED = ("version", "last_updated", "fingerprint", "scope", "summary", "maintenance")
ROOT_ONLY = ("project", "structure")

_LARGEST_INTEGER = 2**53 - 1

JsonSchema: TypeAlias = dict[str, Any]


def _text(description: str) -> JsonSchema:
    return {"type": "string", "description": description}


def _texts(description: str) -> JsonSchema:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _one_of(*words: str) -> JsonSchema:
    return {"type": "string", "enum": list(words)}


def _object(*required: str, **properties: JsonSchema) -> JsonSchema:
    shape: JsonSchema = {"type": "object", "properties": properties, "additionalProperties": False}
    return shape | ({"required": list(required)} if required else {})


def _objects(description: str, items: JsonSchema) -> JsonSchema:
    return {"type": "array", "items": items, "description": description}


FIELDS: dict[str, JsonSchema] = {
    "version": {"type": "number", "const": VERSION, "description": "Version of this schema"},
    "scope": _text("The directory, relative to the project root; `.` is the root"),
    "fingerprint": _text("Eight hex digits over the directory's files, as they were when the context was written"),
    "last_updated": _text("When the context was written, ISO 8601"),
    "summary": _text("What the directory is for, in one to three sentences"),
    "maintenance": _text("What whoever changes the directory should do with this file"),
    "files": _objects(
        "The files that matter",
        _object(
            "name",
            "purpose",
            name=_text("Name, relative to the directory"),
            purpose=_text("What the file does, in a line"),
            test_file=_text("Where it is tested"),
        ),
    ),
    "interfaces": _objects(
        "What others may use",
        _object(
            "name",
            "description",
            name=_text("A signature, an endpoint or a command"),
            description=_text("What it does"),
        ),
    ),
    "decisions": _objects(
        "What was decided",
        _object("what", "why", what=_text("The decision"), why=_text("Its reason"), tradeoff=_text("What it costs")),
    ),
    "constraints": _texts("Rules that the code must keep"),
    "dependencies": _object(
        internal=_texts("Parts of this project that are used"), external=_texts("Packages that are used")
    ),
    "current_state": _object(
        working=_texts("What works"), broken=_texts("What does not"), in_progress=_texts("What is being done")
    ),
    "subdirectories": _objects(
        "The directories below",
        _object(
            "name",
            "summary",
            name={"type": "string", "pattern": "/$", "description": "Name, with a slash at the end"},
            summary=_text("What it is for, in a line"),
        ),
    ),
    "environment": _texts("Environment variables and what else must be there"),
    "testing": _texts("How to test"),
    "todos": _texts("What is left to do"),
    "data_models": _texts("The data that matters"),
    "events": _texts("Events that are sent or received"),
    "config": _texts("Configuration files and switches"),
    "exports": _texts("Signatures of what the code offers"),
    "project": _object(
        "name",
        "description",
        "language",
        name=_text("Name of the project"),
        description=_text("What it is, in a line"),
        language=_text("Its main language"),
        framework=_text("Its main framework"),
        package_manager=_text("How its packages are installed"),
    ),
    "structure": _objects(
        "The directories of the project",
        _object("path", "summary", path=_text("Path from the project root"), summary=_text("What it is for")),
    ),
    "derived_fields": _texts("The fields that a machine wrote"),
    "evidence": _object(
        "collected_at",
        collected_at=_text("When this was collected, ISO 8601"),
        commit_sha=_text("The commit at that time"),
        test_status=_one_of("passing", "failing", "unknown"),
        test_count={"type": "integer", "minimum": -_LARGEST_INTEGER, "maximum": _LARGEST_INTEGER},
        failing_tests={"type": "array", "items": {"type": "string"}},
        test_tool=_text("What ran the tests"),
        typecheck=_one_of("clean", "errors", "unknown"),
        typecheck_tool=_text("What checked the types"),
        lint_status=_one_of("clean", "errors", "unknown"),
        lint_tool=_text("What looked for lint"),
        coverage_percent={"type": "number", "minimum": 0, "maximum": 100, "description": "Lines covered by tests"},
    ),
}

_NOT_TO_BE_ASKED_FOR = {*METADATA, "derived_fields", "evidence"}
FILTERABLE = tuple(name for name in FIELDS if name not in _NOT_TO_BE_ASKED_FOR)
_PLACES = {name: place for place, name in enumerate(FIELDS)}


def in_order(values: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a context in the order of the schema, those that it does not know last."""
    return dict(sorted(values.items(), key=lambda item: _PLACES.get(item[0], len(_PLACES))))


def chosen(values: Mapping[str, object], fields: Sequence[str]) -> dict[str, object]:
    """Return the metadata and, of what may be asked for, the `fields` that are there; all of it if none is named."""
    if not fields:
        return in_order(values)
    names = [*METADATA, *(name for name in fields if name in FILTERABLE and name in values)]
    return {name: values[name] for name in names}


def json_schema() -> JsonSchema:
    """Return schema 1 as JSON Schema."""
    not_root = {"properties": {"scope": {"not": {"const": "."}}}, "required": ["scope"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": CONTEXT_FILE,
        "description": "What a directory is for, schema 1",
        "type": "object",
        "properties": FIELDS,
        "required": list(REQUIRED),
        "additionalProperties": False,
        "if": not_root,
        "then": {"properties": {name: {"not": {}} for name in ROOT_ONLY}},
    }


def json_schema_text() -> str:
    """Spell the JSON Schema as the file that is shipped."""
    return pretty(json_schema()) + "\n"

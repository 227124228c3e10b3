"""What breaks the schema is named; in strict mode, what the code does not bear out too."""

import json
from importlib import resources
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from tests.contexts.making import make_project, write_context, write_files

from contexthall.contexts.answers import NOTE, VIOLATION, Report
from contexthall.contexts.files.schema import FIELDS, FILTERABLE, JSON_SCHEMA, METADATA
from contexthall.contexts.files.validation import dependency_name, exported_name, validate
from contexthall.contexts.project import Project
from contexthall.system.disk import Disk

WHOLE = """
files:
  - {name: a.py, purpose: does it, test_file: test_a.py}
interfaces:
  - {name: "POST /login", description: an endpoint}
  - {name: "run(x): int", description: a function}
decisions:
  - {what: One process, why: Simple, tradeoff: Slow}
constraints: [never wait]
dependencies: {internal: ["sub — helpers"], external: [some-package ^2]}
current_state: {working: [all], broken: [], in_progress: []}
subdirectories: [{name: sub/, summary: helpers}]
environment: [HOME]
testing: [make test]
todos: []
data_models: [x]
events: [y]
config: [z]
exports: ["def run(x)", "class Engine:", LIMIT]
project: {name: p, description: d, language: python, framework: none, package_manager: pip}
structure: [{path: sub, summary: helpers}]
derived_fields: [exports, "files[].test_file"]
evidence:
  collected_at: "2026-02-10T14:30:00Z"
  commit_sha: abc
  test_status: passing
  test_count: 142
  failing_tests: []
  test_tool: pytest
  typecheck: clean
  typecheck_tool: mypy
  lint_status: errors
  lint_tool: ruff
  coverage_percent: 97.5
"""
CODE = {
    "a.py": "import some_package\nLIMIT = 1\nclass Engine: ...\ndef run(x): ...\n",
    "test_a.py": "import a",
    "sub/b.py": "",
}


def judged(root: Path, *, is_strict: bool = False) -> Report:
    project = Project(Disk(), str(root), make_project(root, {}).ledger)
    return validate(Disk(), str(root), project.look_around(), is_strict=is_strict)


def violations(root: Path, *, is_strict: bool = False) -> list[tuple[str, str]]:
    report = judged(root, is_strict=is_strict)
    return [(finding.field, finding.message) for finding in report.findings if finding.severity == VIOLATION]


def test_a_context_with_every_field_is_valid(tmp_path: Path) -> None:
    write_files(tmp_path, CODE)
    write_context(tmp_path, ".", more=WHOLE)
    report = judged(tmp_path, is_strict=True)
    assert (report.valid, report.invalid, report.missing) == (1, 0, 1)
    assert [(finding.severity, finding.message) for finding in report.findings] == []
    fields = [line.split(":")[0] for line in WHOLE.splitlines() if line and line[0].isalpha()]
    assert set(fields) | set(METADATA) | {"summary", "maintenance"} == set(FIELDS)


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("summary: About ..", "", ""),
        ("maintenance: Keep it true.", "", ""),
        ("version: 1", "version: '1'", "version"),
        ("scope: .", "scope: 1", "scope"),
        ("purpose: does it", "purpose: 3", "files[0].purpose"),
        ("purpose: does it, ", "", "files[0]"),
        ("test_file: test_a.py", "test: test_a.py", "files[0]"),
        ("why: Simple", "because: Simple", "decisions[0]"),
        ("constraints: [never wait]", "constraints: never wait", "constraints"),
        ("[HOME]", "[1]", "environment[0]"),
        ("internal:", "inside:", "dependencies"),
        ("name: sub/", "name: sub", "subdirectories[0].name"),
        ("language: python, ", "", "project"),
        ("{path: sub, ", "{", "structure[0]"),
        ("collected_at:", "collected:", "evidence"),
        ("test_status: passing", "test_status: green", "evidence.test_status"),
        ("test_count: 142", "test_count: 1.5", "evidence.test_count"),
        ("coverage_percent: 97.5", "coverage_percent: 101", "evidence.coverage_percent"),
        ("coverage_percent: 97.5", "coverage_percent: -0.1", "evidence.coverage_percent"),
        ("coverage_percent: 97.5", "coverage_percent: .nan", "evidence.coverage_percent"),
        ("test_count: 142", "test_count: 9007199254740992", "evidence.test_count"),
        ("todos: []", "todos: []\nextra: 1", ""),
        ("scope: .", "scope: src", "project"),
    ],
)
def test_what_breaks_the_schema_is_named(tmp_path: Path, old: str, new: str, field: str) -> None:
    write_files(tmp_path, CODE)
    path = write_context(tmp_path, ".", more=WHOLE)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    assert field in [name for name, _ in violations(tmp_path)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [\n", "line 2: did not find expected node content"),
        ("a: 1\na: 2\n", "line 2: the key 'a' again"),
        ("version: 3\n", "unsupported schema version 3"),
        ("- x\n", "not a mapping"),
        ("x: " + "y" * (1 << 20), "larger than 1048576 bytes"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, content: str, message: str) -> None:
    write_files(tmp_path, {"x/.context.yaml": content, "y/.context.yaml": content})
    report = judged(tmp_path)
    assert (report.valid, report.invalid) == (0, 2)
    assert [(finding.scope, finding.message) for finding in report.findings] == [("x", message), ("y", message)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("name: a.py", "name: gone.py", ("files", "gone.py is not there")),
        ("test_file: test_a.py", "test_file: tests/a.py", ("files", "tests/a.py is not there")),
        ("name: sub/", "name: gone/", ("subdirectories", "gone/ is not there")),
        ("path: sub", "path: gone", ("structure", "gone is not there")),
        ("def run(x)", "def walk(x)", ("exports", "walk is not in the code")),
        ("run(x): int", "walk(x): int", ("interfaces", "walk is not in the code")),
        ("sub — helpers", "../gone — x", ("dependencies.internal", "../gone is not in the code")),
        ("some-package ^2", "other ^2", ("dependencies.external", "other is not in the code")),
    ],
)
def test_what_the_code_does_not_bear_out_is_a_violation_in_strict_mode(
    tmp_path: Path, old: str, new: str, expected: tuple[str, str]
) -> None:
    write_files(tmp_path, CODE)
    path = write_context(tmp_path, ".", more=WHOLE)
    path.write_text(path.read_text().replace(old, new, 1))
    assert violations(tmp_path) == []
    assert violations(tmp_path, is_strict=True) == [expected]


@pytest.mark.parametrize(
    ("dependency", "name"),
    [
        ("requests>=2", "requests"),
        ("PyYAML 6", "PyYAML"),
        ("chalk@5", "chalk"),
        ("@scope/pkg ^1", "@scope/pkg"),
        ("uvicorn[standard] ~=0.1", "uvicorn"),
        ("src/db — models", "src/db"),
        ("", ""),
    ],
)
def test_the_name_in_a_dependency(dependency: str, name: str) -> None:
    assert dependency_name(dependency) == name


def test_dependencies_are_words_in_any_spelling(tmp_path: Path) -> None:
    write_files(tmp_path, {"requirements.txt": "pyyaml>=6\nsome_package==1\n", "a.py": "those = 1"})
    write_context(tmp_path, ".", more="dependencies: {external: [PyYAML 6, some-package>=1, os]}\n")
    assert violations(tmp_path, is_strict=True) == [("dependencies.external", "os is not in the code")]


def test_what_is_declared_must_be_in_the_directory_itself(tmp_path: Path) -> None:
    write_files(tmp_path, {"README.md": "", "api/x.py": "", "src/x.py": ""})
    names = ["README.md", "/etc/passwd", "../README.md", ".", "x.py"]
    files = "".join(f"  - {{name: {name}, purpose: p}}\n" for name in names)
    write_context(tmp_path / "src", "src", more=f"files:\n{files}subdirectories: [{{name: api/, summary: s}}]\n")
    found = [message for _, message in violations(tmp_path, is_strict=True)]
    assert found == [f"{name} is not there" for name in [*sorted(names[:4]), "api/"]]


def test_what_was_not_read_whole_may_hold_anything(tmp_path: Path) -> None:
    write_files(tmp_path, {"large.py": "#" * (1 << 20) + "\ndef far(): ...\n"})
    write_context(tmp_path, ".", more="exports: [far()]\n")
    assert violations(tmp_path, is_strict=True) == []


@pytest.mark.usefixtures("bound_by_permissions")
def test_what_cannot_be_looked_at_costs_nobody_else_anything(tmp_path: Path) -> None:
    write_files(tmp_path, {"private/x.py": "", "shut/x.py": "", "a.py": ""})
    write_context(tmp_path, ".", more="files: [{name: private/x.py, purpose: p}, {name: a.py, purpose: p}]\n")
    (tmp_path / "private").chmod(0)
    (tmp_path / "shut").chmod(0)
    found = judged(tmp_path, is_strict=True).findings
    (tmp_path / "private").chmod(0o700)
    (tmp_path / "shut").chmod(0o700)
    shut = [(finding.scope, finding.message) for finding in found]
    assert shut == [(scope, f'Cannot read the directory at scope "{scope}"') for scope in ("private", "shut")]


def test_what_is_not_listed_is_a_note(tmp_path: Path) -> None:
    write_files(tmp_path, CODE | {"new.py": "", "picture.png": ""})
    write_context(tmp_path, ".", more=WHOLE)
    findings = judged(tmp_path, is_strict=True).findings
    assert [(finding.severity, finding.message) for finding in findings] == [(NOTE, "new.py is not listed")]


def test_a_manifest_of_a_directory_above_names_dependencies(tmp_path: Path) -> None:
    write_files(tmp_path, {"package.json": '{"dependencies": {"left-pad": "^1"}}', "src/x.ts": ""})
    write_context(tmp_path / "src", "src", more="dependencies: {external: [left-pad ^1]}\n")
    assert violations(tmp_path, is_strict=True) == []


def test_a_scope_that_is_another_directory_is_a_violation_in_strict_mode(tmp_path: Path) -> None:
    write_files(tmp_path, {"new/x.py": ""})
    write_context(tmp_path / "new", "old")
    assert violations(tmp_path) == []
    assert violations(tmp_path, is_strict=True) == [("scope", "says 'old'")]


@pytest.mark.parametrize(
    ("signature", "name"),
    [
        ("async function computeFingerprint(dirPath: string): Promise<", "computeFingerprint"),
        ("type FreshnessState", "FreshnessState"),
        ("AGENTS_FILENAME", "AGENTS_FILENAME"),
        ("class Foo(Base)", "Foo"),
        ("const X: number = 1", "X"),
        ("pub fn new<T>() -> Self", "new"),
        ("func (r *Reader) Read(p []byte) (int, error)", "Read"),
        ("export default function", ""),
        ("int main(void)", "main"),
        ("type Gone struct", "Gone"),
        ("type Handler func(w Writer)", "Handler"),
        ("class Gone extends Base", "Gone"),
        ("std::string name()", "name"),
        ("List<String> names()", "names"),
        ("parse - parses a YAML text", ""),
        ("pub(crate) fn inner()", "inner"),
        ("export default async function run()", "run"),
        ("", ""),
        ("(x)", ""),
    ],
)
def test_the_name_in_a_signature(signature: str, name: str) -> None:
    assert exported_name(signature) == name


def test_the_schema_that_is_shipped_is_json_schema() -> None:
    shipped = resources.files("contexthall.contexts.files").joinpath("context.schema.json").read_text("utf-8")
    assert json.loads(shipped) == JSON_SCHEMA
    Draft202012Validator.check_schema(JSON_SCHEMA)


def test_the_fields_that_can_be_asked_for_are_those_of_the_contract() -> None:
    contract = (
        "summary files interfaces decisions constraints dependencies current_state subdirectories environment testing "
        "todos data_models events config project structure maintenance exports"
    )
    assert set(FILTERABLE) == set(contract.split())
    assert len(FILTERABLE) == 18
    assert JSON_SCHEMA["required"] == [
        "version",
        "last_updated",
        "fingerprint",
        "scope",
        "summary",
        "maintenance",
    ]


def test_a_name_of_a_megabyte_is_judged_in_no_time(tmp_path: Path) -> None:
    write_files(tmp_path, CODE)
    name = "a" * 1_000_000
    write_context(tmp_path, ".", more=f"interfaces: [{{name: {name}, description: x}}]\n")
    assert [field for field, _ in violations(tmp_path, is_strict=True)] == ["interfaces"]
    assert exported_name(f"{name} - {name}") == ""

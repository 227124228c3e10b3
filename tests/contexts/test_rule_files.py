"""Rule files are found where their clients look, scoped by their own rules, and compared with what is there."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.contexts.making import make_project, write_files
from tests.processes import run_context

from contexthall.contexts.brief.rule_files import RuleFile, find_rules
from contexthall.contexts.brief.rule_text import read_rule, split_patterns
from contexthall.contexts.project import Selection
from contexthall.core import limits
from contexthall.system.disk import Disk
from contexthall.system.kernel import open_straight

CODE = {"src/core/a.py": "", "src/core/b.ts": "", "src/main.py": "", "README.md": ""}


def rules_in(root: Path, files: Mapping[str, str | bytes], *directories: str) -> list[RuleFile]:
    write_files(root, files)
    return find_rules(Disk().opened_by(open_straight), str(root), directories or [".", "src", "src/core"])


def gone(root: Path, text: str, name: str = "AGENTS.md") -> tuple[str, ...]:
    [rule] = (each for each in rules_in(root, {**CODE, name: text}) if each.path == name)
    return rule.gone


def applying(rules: list[RuleFile], path: str) -> list[str]:
    return [rule.path for rule in rules if rule.why(path, None)]


def test_a_nested_file_is_about_its_directory_and_those_below(tmp_path: Path) -> None:
    rules = rules_in(tmp_path, {**CODE, "AGENTS.md": "All.", "src/AGENTS.md": "Src.", "src/core/CLAUDE.md": "Core."})
    assert applying(rules, "README.md") == ["AGENTS.md"]
    assert applying(rules, "src/main.py") == ["AGENTS.md", "src/AGENTS.md"]
    assert applying(rules, "src/core/a.py") == ["AGENTS.md", "src/AGENTS.md", "src/core/CLAUDE.md"]


@pytest.mark.parametrize(
    ("name", "front_matter", "expected"),
    [
        (".claude/rules/x.md", "", ["README.md", "src/core/a.py", "src/core/b.ts", "src/main.py"]),
        (".claude/rules/deep/x.md", 'paths:\n  - "src/**/*.{ts,tsx}"', ["src/core/b.ts"]),
        (".claude/rules/x.md", "paths: src/core", ["src/core/a.py", "src/core/b.ts"]),
        (".claude/rules/x.md", "paths: ['*.py', '!src/main.py']", ["src/core/a.py"]),
        (".cursor/rules/x.mdc", "description: Ask for it\nglobs:\nalwaysApply: false", []),
        (".cursor/rules/x.mdc", "globs: **/*.ts, *.md\nalwaysApply: false", ["README.md", "src/core/b.ts"]),
        (
            ".cursor/rules/x.mdc",
            "globs: '*.ts'\nalwaysApply: true",
            ["README.md", "src/core/a.py", "src/core/b.ts", "src/main.py"],
        ),
        (".cursor/rules/x.md", "alwaysApply: true", []),
        (".github/instructions/x.instructions.md", 'applyTo: "**/*.py"', ["src/core/a.py", "src/main.py"]),
        (".github/instructions/x.instructions.md", 'applyTo: "*.py,src/*.py"', ["src/main.py"]),
        (".github/instructions/x.instructions.md", "description: no pattern", []),
        (".github/instructions/x.md", 'applyTo: "**"', []),
        (".github/copilot-instructions.md", "", ["README.md", "src/core/a.py", "src/core/b.ts", "src/main.py"]),
    ],
)
def test_a_rule_is_about_what_its_own_front_matter_says(
    name: str, front_matter: str, expected: list[str], tmp_path: Path
) -> None:
    rules = rules_in(tmp_path, {**CODE, name: f"---\n{front_matter}\n---\nDo it.\n" if front_matter else "Do it.\n"})
    assert [path for path in sorted(CODE) if applying(rules, path)] == expected


def test_a_directory_has_the_rules_of_its_files(tmp_path: Path) -> None:
    [rule] = rules_in(tmp_path, {**CODE, ".claude/rules/ts.md": "---\npaths: '**/*.ts'\n---\nDo it."})
    assert rule.why("src/core", ["a.py", "b.ts"]) == "its patterns match src/core/b.ts"
    assert rule.why("src", ["main.py"]) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See `src/old.py`, `src/main.py:12` and `src/core/a.py::f`.", ("src/old.py",)),
        ("See [the guide](docs/guide.md#top) and [this](./README.md).", ("docs/guide.md",)),
        ("[guide]: docs/guide.md", ("docs/guide.md",)),
        ("Layers: `src/core`, `src/gone` and `src/core/`.", ("src/gone",)),
        ("`npm/yarn`, `application/json`, `origin/main`, `and/or`, `@scope/package`, `github.com/a/b.py`", ()),
        ("`src/*.py`, `src/<name>.py`, `path/to/x.py`, `src/foo.py`, `~/.zshrc/x.py`, `/etc/x.conf`, `$HOME/a.py`", ()),
        ("`dist/index.js`, `node_modules/x/y.js`, `made/by-make.py`, `old.py`", ()),
        ("```\nsrc/old.py `src/old.py` [x](old.md)\n```", ()),
        ("[web](https://example.org/a.md), [mail](mailto:a@example.org), [here](#top)", ()),
        ("Run `python src/old.py` now.", ()),
        ("In every package, `lib/index.ts` is the entry.", ()),
        ("`../elsewhere/x.py` is not ours.", ()),
        ("`try/finally`, `react-icons/fi`, `owner/repository`, `src/...`, `setBusy(true/false)`", ()),
        ("`src/some_module.rs`, `src/MyButton.tsx`, `src/example.test.ts`, `src/vYYYY_MM.py`, `./path/to/file.md`", ()),
        ("`.claude/settings.json`, `src/settings.local.json`, `src/.run_cache/`", ()),
        ("Links look like `[Panel](./panel.md)`.", ()),
        ("[Panel](./panel.md) and [`main`](src/main.py)", ("./panel.md",)),
        ("`app/(shop)/[id]/page.tsx` and `app/[[...all]]/page.tsx`", ("app/[[...all]]/page.tsx",)),
    ],
)
def test_what_is_named_and_gone_is_said(text: str, expected: tuple[str, ...], tmp_path: Path) -> None:
    write_files(tmp_path, {".gitignore": "made/\n", "packages/one/lib/index.ts": "", "app/(shop)/[id]/page.tsx": ""})
    assert gone(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`try/finally`, `react-icons/fi`, `owner/repository`, `next/dynamic`", ()),
        ("`core/a.py`, `src/core/a.py`, `core/old.py`, `src/core/old.py`", ("core/old.py", "src/core/old.py")),
        ("`deep/er.py` is below, `made/x.py` is made", ()),
        ("`../sibling/docs/a.md` is another repository, `../docs/a.md` was ours", ("../docs/a.md",)),
    ],
)
def test_a_nested_file_names_paths_from_where_it_is(text: str, expected: tuple[str, ...], tmp_path: Path) -> None:
    write_files(tmp_path, {"src/.gitignore": "made\n", "src/core/very/deep/er.py": "", "docs/b.md": ""})
    assert gone(tmp_path, text, "src/AGENTS.md") == expected


def test_where_not_every_directory_can_be_looked_at_only_what_begins_here_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "`lib/old.py` and `src/old.py`"
    assert gone(tmp_path, text) == ("lib/old.py", "src/old.py")
    monkeypatch.setattr(limits, "RULE_DIRECTORIES", 1)
    assert gone(tmp_path, text) == ("src/old.py",)


def test_naming_nothing_gives_no_verdict(tmp_path: Path) -> None:
    [rule] = rules_in(tmp_path, {"AGENTS.md": "Be kind."})
    assert not rule.names_paths
    assert rule.to_json() == {"path": "AGENTS.md", "about": "the project"}


def test_the_managed_section_is_not_a_rule(tmp_path: Path) -> None:
    section = "<!-- dotcontext:agents-section -->\nRead `src/old.py`.\n<!-- dotcontext:agents-section-end -->\n"
    assert rules_in(tmp_path, {"AGENTS.md": f"# AGENTS.md\n\n{section}"}) == []
    [rule] = rules_in(tmp_path, {"AGENTS.md": f"# Ours\n\nBe kind.\n\n{section}"})
    assert (rule.text, rule.gone) == ("# Ours\n\nBe kind.", ())


def test_imports_are_followed_inside_the_root_and_end(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("Secret.")
    files = {
        "CLAUDE.md": "@docs/style.md @gone.md @../secret.md @~/mine.md @alice `@docs/code.md`\n",
        "docs/style.md": "Tabs. @../CLAUDE.md @more.md",
        "docs/more.md": "@style.md More.",
        "docs/code.md": "No import.",
    }
    found = {rule.path: rule for rule in rules_in(tmp_path / "p", files, ".")}
    assert set(found) == {"CLAUDE.md", "docs/style.md", "docs/more.md"}
    assert found["CLAUDE.md"].gone == ("@gone.md",)
    assert "CLAUDE.md" in found["docs/more.md"].also
    assert applying(list(found.values()), "src/x.py") == ["CLAUDE.md", "docs/style.md", "docs/more.md"]


def test_a_symlink_is_the_file_that_it_leads_to(tmp_path: Path) -> None:
    root = tmp_path / "p"
    write_files(root, {"AGENTS.md": "Ours."})
    os.symlink("AGENTS.md", root / "CLAUDE.md")
    (tmp_path / "outside.md").write_text("Not ours.")
    (root / ".github").mkdir()
    os.symlink(tmp_path / "outside.md", root / ".github" / "copilot-instructions.md")
    [rule] = rules_in(root, {})
    assert (rule.path, rule.also) == ("AGENTS.md", ("CLAUDE.md",))


def test_a_file_that_is_too_large_is_named_and_not_read(tmp_path: Path) -> None:
    [rule] = rules_in(tmp_path, {"AGENTS.md": b"x" * (5 << 20)})
    assert (rule.text, rule.fault) == ("", "it is larger than 256 KiB")


@pytest.mark.parametrize(
    "text",
    [
        "`" * limits.RULE_FILE_BYTES,
        "`a/" * (limits.RULE_FILE_BYTES // 3),
        "`" + "./" * (limits.RULE_FILE_BYTES // 2) + "!`",
        "`" + "../" * (limits.RULE_FILE_BYTES // 3) + "!`",
        "](" * (limits.RULE_FILE_BYTES // 2),
        "@a" * (limits.RULE_FILE_BYTES // 2),
        "```\n" * (limits.RULE_FILE_BYTES // 4),
        "---\n" + "a: [\n" * (limits.RULE_FILE_BYTES // 6),
        "[" * limits.RULE_FILE_BYTES,
        "a: b\n" * 1000,
    ],
)
def test_hostile_text_takes_linear_time(text: str) -> None:
    """With quadratic time it would take longer than a test may."""
    read_rule(text)


def test_braces_cannot_explode() -> None:
    patterns = split_patterns(["{a,b}" * 40])
    assert len(patterns) <= limits.RULE_PATTERNS


def test_a_pattern_that_matches_everything_is_fine(tmp_path: Path) -> None:
    rules = rules_in(tmp_path, {**CODE, ".cursor/rules/x.mdc": "---\nglobs: **\n---\nDo it."})
    assert applying(rules, "src/core/a.py") == [".cursor/rules/x.mdc"]


def test_a_listing_names_them_and_what_they_name_in_vain(tmp_path: Path) -> None:
    project = make_project(tmp_path, {"src/a.py": ""})
    assert "rules" not in project.list_contexts().to_json()
    write_files(tmp_path, {"AGENTS.md": "See `src/old.py`.", "src/CLAUDE.md": "Be kind."})
    assert project.list_contexts().to_json()["rules"] == [
        {"path": "AGENTS.md", "about": "the project", "gone": ["src/old.py"]},
        {"path": "src/CLAUDE.md", "about": "src/"},
    ]
    assert "rules" not in project.list_contexts(Selection(states=("stale",))).to_json()
    status = run_context("status", cwd=tmp_path).stdout.decode()
    assert "rules    AGENTS.md  for the project (names src/old.py, not there)\n" in status

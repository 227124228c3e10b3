"""Figures cannot drift: every table is a script's own, and a sentence quotes only what a table holds."""

import re
from importlib import import_module
from pathlib import Path

import pytest
from benchmarks.report import Table, publish
from docs.parts import parts, prose

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
PAGE = DOCS / "performance.md"
FIGURE = re.compile(r"\d[\d.,]* ?(?:×|ms|calls/s)")


def tables() -> dict[str, str]:
    return parts(PAGE.read_text(encoding="utf-8"))


def pages() -> list[Path]:
    return sorted([REPOSITORY / "README.md", *DOCS.glob("*.md")])


def test_every_script_that_make_runs_has_its_part_of_the_page() -> None:
    found = re.search(r"^BENCHMARKS := (.+)$", (REPOSITORY / "Makefile").read_text(), flags=re.MULTILINE)
    assert found is not None
    named = [import_module(f"benchmarks.{script}").PART for script in found[1].split()]
    expected = {name.format(count=count) for name in named for count in (10_000, 100_000)}
    assert set(tables()) == expected


def test_every_part_says_where_and_when_it_was_measured() -> None:
    machine = r"Python [\d.]+, \w+ \w+, \d+ cores, 1,000,000 additions in [\d.]+ ms"
    measured = re.compile(rf"^.+ \({machine}, \d{{4}}-\d\d-\d\d\):\n\n\| ")
    assert [name for name, text in tables().items() if not measured.match(text)] == []


def test_what_is_printed_is_what_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("Words.\n\n<!-- ours -->\n<!-- end -->\n\n<!-- theirs -->\n\nold\n\n<!-- end -->\n")
    publish(Table("Speed", ["what", "figure"], [["a walk", "5 km/h"]]), "ours", page)
    written = page.read_text()
    assert parts(written) == {"ours": capsys.readouterr().out.strip(), "theirs": "old"}
    assert "| a walk | 5 km/h |" in written
    assert prose(written).startswith("Words.")


def test_a_script_without_a_part_of_the_page_says_so(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Words.\n")
    with pytest.raises(SystemExit, match=r"page\.md: the page has no part ours"):
        publish(Table("Speed", ["what"], [["a walk"]]), "ours", page)


def test_the_readme_says_how_well_it_finds_as_the_table_does() -> None:
    table = parts((DOCS / "ranking.md").read_text(encoding="utf-8"))["benchmarks.quality"]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    rows = {row[2]: [cell.split(" ")[0] for cell in row] for row in cells if row[0] == "natural questions"}
    ours, sqlite, tantivy = (rows[engine] for engine in ("format 2", "SQLite FTS5", "tantivy"))
    clause = (
        f"of {ours[1]} questions, a right page is in the reply for {ours[5]} (SQLite FTS5 {sqlite[5]}, "
        f"tantivy {tantivy[5]}), and on average nearer the top: MRR {ours[3]} ({sqlite[3]}, {tantivy[3]})"
    )
    assert clause in (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert ours[3] > max(sqlite[3], tantivy[3])


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_a_sentence_quotes_only_figures_that_a_table_holds(page: Path) -> None:
    words = re.sub(r"^```.*?^```$", "", prose(page.read_text(encoding="utf-8")), flags=re.DOTALL | re.MULTILINE)
    held = {figure for text in tables().values() for figure in FIGURE.findall(text)}
    assert [figure for figure in FIGURE.findall(words) if figure not in held] == []

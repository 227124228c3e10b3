"""A small form of `make bench-quality`: questions about our own documentation, written before any ranking was seen."""

import math
from pathlib import Path

import pytest
from benchmarks.quality import bench, meaning
from benchmarks.quality.check_questions import load, sections, shared_run
from benchmarks.quality.engines import Found, Place, build_engines
from benchmarks.quality.fetch import fetch
from benchmarks.quality.measures import AnswerKey, Mean, Right, Score, means, score
from benchmarks.quality.sets import QuestionSet
from docs.parts import parts

DOCS = Path(__file__).parents[2] / "docs"
GUILD = "The guild: `hall.invoke(member, tool, arguments=None)`"

QUESTIONS = {
    "If a helper process dies in the middle of a request, how soon is it launched again?": {
        ("guild.md", "When a server runs")
    },
    "Can somebody else on my LAN reach the port if I configured no password?": {
        ("security.md", "What each transport lets in")
    },
    "On what interpreter releases has the package been checked?": {("releasing.md", "Which Pythons")},
    "Would my colleague's computer produce an identical archive from our repository?": {
        ("releasing.md", "The same bytes for everybody")
    },
    "Inside Jupyter I get an exception because asyncio is already busy. What should I do?": {("library.md", GUILD)},
    "When I bring over the servers configured in Cursor, where do my API secrets end up?": {
        ("migration.md", "From the file of an MCP client"),
        ("quickstart.md", "Bring your other servers"),
    },
    "We already describe our folders with dotcontext; must we convert anything?": {("migration.md", "From dotcontext")},
    "How many megabytes may one request have before it is rejected?": {
        ("security.md", "Bounds"),
        ("api.md", "Who may ask"),
    },
    "Does it work on a Windows laptop?": {("known-gaps.md", "Where it has not been tried")},
    "All these tool definitions eat up the model's window. How do I shrink the list?": {
        ("guild.md", "What the agent pays")
    },
    "Which numeric status does my script see when it names a cache that isn't there?": {("errors.md", "Errors")},
    "Why would the description of a folder be reported as out of date although I only cloned the repository?": {
        ("contexts.md", "Is it still true?")
    },
}


def pages() -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_does_not_borrow_the_words_of_its_answer(question: str) -> None:
    texts = pages()
    for page, heading in QUESTIONS[question]:
        (text,) = [text for name, text in sections(page, texts[page]) if name == heading]
        assert shared_run(question, text) is None


def test_format_2_finds_what_people_ask_about_our_own_documentation(tmp_path: Path) -> None:
    """The pages change with every commit, and with them two or three answers at the edge of the budget."""
    texts, engines = build_engines(DOCS, tmp_path)
    key, hits, ranks = AnswerKey(texts), {}, {}
    for name, ask in engines.items():
        scores = [score(ask(question), key.right(frozenset(right))) for question, right in QUESTIONS.items()]
        hits[name], ranks[name] = sum(each.hit for each in scores), Mean.of([each.mrr for each in scores]).value
    assert hits["format 2"] >= 7
    assert hits["format 2"] > hits["format 1"]
    assert ranks["format 2"] > max(0.45, ranks["format 1"])


def test_measures_count_pages_by_their_best_section_and_sections_by_their_heading() -> None:
    key = AnswerKey({"A.md": "# One\n\ntext\n\n## `Two`\n\ntext\n", "b.md": "# Three\n\ntext\n"})
    right = key.right(frozenset({("A.md", "Two")}))
    assert right == Right(frozenset({"a.md"}), frozenset({Place("a.md", "two"), Place("a.md", "")}))
    one, two, three = Place("a.md", "one"), Place("a.md", "two"), Place("b.md", "three")
    second = 1 / math.log2(3)
    assert score(Found([three, three, one, two], frozenset({three})), right) == Score(0.5, second, 0, 0)
    assert score(Found([one, three], frozenset({one})), right) == Score(1, 1, 1, 0)
    assert score(Found([three], frozenset({three, two})), right) == Score(0, 0, 1, 1)
    assert score(Found([Place("a.md", "")], frozenset({Place("a.md", "")})), right) == Score(1, 1, 1, 1)


def test_an_answer_that_is_a_page_is_any_of_its_sections() -> None:
    key = AnswerKey({"a.md": "# One\n\n## Two\n"})
    assert key.right(frozenset({("a.md", "")})).places == {Place("a.md", slug) for slug in ("", "one", "two")}


def test_a_mean_has_its_standard_error() -> None:
    hit, missed = Score(1, 1, 1, 1), Score(0, 0, 0, 0)
    assert str(means([hit, missed, hit, missed])[0]) == "0.500 ± 0.289"
    assert Mean.of([1.0]) == (1.0, 0.0)


def test_the_natural_questions_are_also_counted_together() -> None:
    hit, missed = Score(1, 1, 1, 1), Score(0, 0, 0, 0)
    results = {"attrs": {"format 2": [hit]}, "flask": {"format 2": [missed, missed]}, "Semanlink": {"format 2": [hit]}}
    rows = bench.table(results).rows
    assert [row[:2] for row in rows] == [[bench.TOGETHER, "3"], ["attrs", "1"], ["flask", "2"], ["Semanlink", "1"]]
    assert rows[0][3].startswith("0.333 ±")


def test_a_sample_is_the_same_each_time() -> None:
    asked = QuestionSet(Path(), [(str(number), frozenset()) for number in range(50)])
    assert bench.sampled(asked, 50) == bench.sampled(asked, None) == asked
    assert bench.sampled(asked, 5) == bench.sampled(asked, 5)
    assert len({question for question, _ in bench.sampled(asked, 5).questions}) == 5


def test_a_source_package_that_is_not_the_pinned_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / load()[0][0].file_name).write_bytes(b"another one")
    with pytest.raises(SystemExit, match="its sha256 is"):
        fetch(tmp_path)


def test_the_table_of_the_page_has_every_set_and_engine() -> None:
    cells = cells_of(bench.PART)
    assert tuple(cells[0]) == bench.HEADERS
    projects = [project.name for project in load()[0]]
    assert {row[0] for row in cells[2:]} == {bench.TOGETHER, *projects, "PostgreSQL index", "Python index", "Semanlink"}
    assert {row[2] for row in cells[2:]} == {"format 1", "format 2", "SQLite FTS5", "tantivy"}


def test_the_table_of_an_embedder_has_every_small_set_without_and_with_it() -> None:
    cells = cells_of(meaning.PART)
    projects = [project.name for project in load()[0]]
    sets = [bench.TOGETHER, *projects, meaning.SEMANLINK]
    assert [row[0] for row in cells[2:]] == [name for name in sets for _ in range(2)]
    assert {row[2] for row in cells[2:]} == {"format 2", "with minilm-l6-v2"}


def cells_of(part: str) -> list[list[str]]:
    table = parts((DOCS / "ranking.md").read_text(encoding="utf-8"))[part]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("|")]

"""The quality benchmark asks what its packages can answer, in words that they do not use."""

import json
import tarfile
from collections import Counter
from pathlib import Path

import pytest
from benchmarks.quality import sets
from benchmarks.quality.anchors import headings_of
from benchmarks.quality.check_questions import faults, load, sections, shared_run

JUDGES = {"django", "pytest", "celery"}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def pack(folder: Path, name: str) -> Path:
    archive = folder / f"{name}.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(folder / name, arcname=name)
    return archive


def test_there_are_enough_questions_over_enough_projects_and_none_over_the_judges() -> None:
    projects, questions = load()
    counts = Counter(question.project for question in questions)
    assert len(questions) == len({question.text for question in questions}) >= 100
    assert set(counts) == {project.name for project in projects}
    assert len(counts) >= 4
    assert min(counts.values()) >= 16
    assert not JUDGES & set(counts)
    assert all(question.answers for question in questions)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("a.md", "before\n\n# One\ntext\n```\n# no heading\n```\n## Two {#two}\n"),
        ("a.rst", "before\n\n.. _label:\n\nOne\n===\ntext::\n\n    No\n    --\n\nTwo\n---\n"),
        ("a.rst", "before\n\n===\nOne\n===\nTwo\n---\ntext\n"),
    ],
)
def test_a_section_goes_from_its_heading_to_the_next(page: str, text: str) -> None:
    found = sections(page, text)
    assert [heading for heading, _ in found] == ["", "One", "Two"]
    assert "\n".join(body for _, body in found) == text.rstrip("\n")


def test_three_words_in_a_row_are_shared_whatever_their_case_and_punctuation() -> None:
    assert shared_run("How do I rotate the keys?", "To *rotate: The* keys, wait.") == "rotate the keys"
    assert shared_run("How do I rotate keys?", "To rotate the keys, wait.") is None


def test_every_fault_of_a_question_is_named(tmp_path: Path) -> None:
    write(tmp_path / "hall-1/docs/a.md", "# Keys\nRotate them every week.\n")
    pack(tmp_path, "hall-1")
    ask = {"project": "hall", "question": "Should I rotate them every day?"}
    data = {
        "projects": [{"name": "hall", "version": "1", "docs": "docs", "sha256": "0"}],
        "questions": [
            ask | {"answers": [{"page": "a.md", "heading": "Keys"}]},
            ask | {"answers": [{"page": "b.md", "heading": "Keys"}]},
            ask | {"answers": []},
        ],
    }
    write(tmp_path / "questions.json", json.dumps(data))
    found = faults(tmp_path, tmp_path / "questions.json")
    assert [fault.rpartition(": ")[2].split()[0] for fault in found] == ["is", "shares", "0", "no"]


def test_an_anchor_belongs_to_the_heading_it_opens_or_else_to_the_one_above_it() -> None:
    html = """<a id="b"></a>before<h1>Top</h1><p id="p">text</p><div id="d"><h2 id="h"><a id="i"></a>Low</h2>
        <dl><dt>x</dt><dd id="x">y</dd></dl></div><dl><dt id="t">Term</dt>
        <dd><a name="n"></a>z</dd></dl><a id="e"></a>"""
    found = headings_of(html, [*"bpdhixtne", "missing"])
    assert found == {"b": "", "p": "Top", **dict.fromkeys("dhixe", "Low"), **dict.fromkeys("tn", "Term")}


def test_postgresql_is_asked_for_the_terms_of_its_index(tmp_path: Path) -> None:
    write(tmp_path / "html/lock.html", '<h2>Locks</h2><p>x</p><div id="ADVISORY"><h3>Advisory</h3></div>')
    write(
        tmp_path / "html/bookindex.html",
        """<dl><dt>lock, <a class="indexterm" href="lock.html">Locks</a></dt><dd><dl>
        <dt>advisory, <a class="indexterm" href="lock.html#ADVISORY">Advisory</a></dt></dl></dd>
        <dt>latch (see <a href="#lock">lock</a>)</dt></dl>""",
    )
    found = sets.postgresql(tmp_path)
    assert found.sources == tmp_path / "html"
    assert found.questions == [
        ("lock", frozenset({("lock.html", "")})),
        ("lock advisory", frozenset({("lock.html", "Advisory")})),
    ]


def test_python_is_asked_for_the_entries_of_its_index(tmp_path: Path) -> None:
    write(tmp_path / "html/library/os.html", '<h1>os</h1><dl><dt id="os.wait">os.wait()</dt></dl>')
    write(tmp_path / "html/library/b.html", '<h1>b</h1><p id="b.wait">wait</p><p id="index-0">x</p>')
    write(
        tmp_path / "html/genindex-all.html",
        """<ul><li><a href="library/os.html">no entry</a></li></ul><table class="indextable genindextable"><ul>
        <li><a href="library/b.html#b.wait">wait() (b method)</a><ul>
        <li><a href="library/os.html#os.wait">(in module os)</a>, <a href="library/b.html#index-0">[1]</a>
        </li></ul></li>
        <li>variable<ul><li><a href="library/b.html#index-0">PATH</a></li></ul></li></ul></table>""",
    )
    found = sets.python(tmp_path)
    assert found.sources == tmp_path / "html"
    assert found.questions == [
        ("wait() (b method)", frozenset({("library/b.html", "b")})),
        ("wait() (in module os)", frozenset({("library/os.html", "os.wait()"), ("library/b.html", "b")})),
        ("variable PATH", frozenset({("library/b.html", "b")})),
    ]


def test_semanlink_asks_for_the_tags_of_a_paper(tmp_path: Path) -> None:
    tag = {"prefLabel": ["Deep "], "altLabel": ["DL"], "broader_prefLabel": ["ML"], "broader_altLabel": []}
    data = tmp_path / "cherche-1/cherche/data/semanlink"
    write(data / "arxiv.json", json.dumps([{"arxiv_title": "On depth", "tag": ["http://x/tag/deep"]}]))
    write(data / "tags.json", json.dumps({"http://x/tag/deep": tag, "http://x/tag/unused": tag}))
    found = sets.semanlink(tmp_path / "cherche-1", tmp_path / "pages")
    assert [page.name for page in found.sources.iterdir()] == ["deep.md"]
    assert (tmp_path / "pages" / "deep.md").read_text() == "# Deep\n\nDL\n\nML\n"
    assert found.questions == [("On depth", frozenset({("deep.md", "Deep")}))]

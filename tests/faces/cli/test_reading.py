"""A person asks, reads on and looks around; an agent gets the same by the tools."""

import json
import re
from pathlib import Path

import pytest
from tests.caches.making import write_sources
from tests.contract import oracle_2 as oracle

from contexthall import open_hall
from contexthall.core.catalog import Caller
from contexthall.faces.cli.table import run

GUIDES = {
    "keys.md": "# Keys\n\nKeys live in the vault.\n\n"
    "## Rotate\n\nRotate a key every ninety days.\n\n## Lose\n\nTell us.\n",
    "deploy.md": "# Deploying\n\nPush, and wait for the green light.\n",
}
NOTES = {"vault.md": "# Vault\n\nThe vault is opened by two people.\n"}


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_sources(tmp_path / "guides", GUIDES)
    write_sources(tmp_path / "notes", NOTES)
    assert run(["build", "--sources", "guides", "--cache", ".context/caches/guides", "--format", "2"]) == 0
    assert run(["build", "--sources", "notes", "--cache", ".context/caches/notes", "--format", "1"]) == 0


def printed(capfd: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    capfd.readouterr()
    assert run([*arguments]) == code
    return capfd.readouterr()


def test_ask_answers_from_all_caches_of_either_format(capfd: pytest.CaptureFixture[str]) -> None:
    out, err = printed(capfd, "ask", "Who opens the vault?")
    assert out.startswith("Vault\nnotes: vault.md#vault, lines 1-3\n\n# Vault\n\nThe vault is opened by two people.\n")
    assert "guides: keys.md#keys, lines 1-4" in out
    assert err == "2 sections of 2, 80 of 4,000 tokens\n"


def test_ask_takes_words_without_quotes(capfd: pytest.CaptureFixture[str]) -> None:
    quoted = printed(capfd, "ask", "rotate a key", "--cache", "guides")
    assert printed(capfd, "ask", "rotate", "--cache", "guides", "a", "key") == quoted


def test_ask_says_what_no_section_has_and_what_did_not_fit(capfd: pytest.CaptureFixture[str]) -> None:
    out, err = printed(capfd, "ask", "rotate the zebra key", "--cache", "guides", "--budget", "80")
    assert out.startswith("Keys > Rotate\nguides: keys.md#rotate, lines 5-8\n")
    assert err.splitlines()[1:] == ["no section has: zebra", "did not fit: keys.md#keys (9), keys.md#lose (5)"]


@pytest.mark.parametrize(
    ("chosen", "advice"), [([], "context refresh"), (["--cache", "guides"], "context refresh guides")]
)
def test_ask_says_which_caches_are_stale(
    chosen: list[str], advice: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "guides" / "deploy.md").write_text("# Deploying\n\nNever on Fridays.\n")
    out, err = printed(capfd, "ask", "When to push?", *chosen)
    assert "wait for the green light" in out
    assert err.splitlines()[-1] == f"stale: guides; type: {advice}"
    printed(capfd, "refresh", "guides")
    out, err = printed(capfd, "ask", "deploying", *chosen)
    assert ("Never on Fridays" in out, "stale" in err) == (True, False)


def test_ask_says_which_caches_cannot_be_compared_with_their_sources(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "guides").rename(tmp_path / "elsewhere")
    out, err = printed(capfd, "ask", "When to push?")
    assert "wait for the green light" in out
    assert err.splitlines()[-1] == "unknown whether still true: guides; to see why, type: context refresh"
    _, err = printed(capfd, "refresh", code=1)
    assert "the sources are not there any more" in err
    (tmp_path / ".context" / "caches" / "guides" / "sources.json").unlink()  # as in a cache that was pulled
    assert "unknown" not in printed(capfd, "ask", "When to push?")[1]


def test_ask_without_a_cache_says_how_to_build_one(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    out, err = printed(capfd, "ask", "anything", "--cache-root", "empty", code=4)
    assert (out, "context build" in err) == ("", True)


@pytest.mark.usefixtures("bound_by_permissions")
def test_ask_names_a_cache_that_may_not_be_read(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    closed = tmp_path / "root" / "guides"
    closed.mkdir(parents=True)
    closed.chmod(0)
    _, err = printed(capfd, "ask", "anything", "--cache-root", "root", code=6)
    closed.chmod(0o755)
    assert err.startswith(f"error[io_error]: I/O error occurred: {closed}: Permission denied\n")


def test_read_prints_a_page_a_section_and_its_neighbours(capfd: pytest.CaptureFixture[str]) -> None:
    text, _ = printed(capfd, "read", "keys.md", "--cache", "guides")
    assert text.startswith("context guides@")
    assert [line for line in text.splitlines() if line.startswith("Keys") and "." not in line] == [
        "Keys",
        "Keys > Rotate",
        "Keys > Lose",
    ]
    out, _ = printed(capfd, "read", "keys.md#rotate", "--cache", "guides", "--neighbours", "1", "--format", "json")
    assert out == oracle.read_json(GUIDES, "keys.md#rotate", 1)
    out, _ = printed(capfd, "read", "keys.md", "--cache", "guides", "--from", "keys.md#lose", "--format", "json")
    assert out == oracle.read_json(GUIDES, "keys.md", 0, "keys.md#lose")


def test_outline_prints_headings(capfd: pytest.CaptureFixture[str]) -> None:
    out, _ = printed(capfd, "outline", "--cache", "guides", "--format", "json")
    assert out == oracle.outline_json(GUIDES)
    text, _ = printed(capfd, "outline", "keys.md", "--cache", "guides", "--depth", "2")
    assert text.splitlines()[2:] == [
        "keys.md (24) Keys",
        "  Keys keys.md#keys (9)",
        "    Rotate keys.md#rotate (11)",
        "    Lose keys.md#lose (5)",
    ]


def test_a_document_of_format_1_is_one_section(capfd: pytest.CaptureFixture[str]) -> None:
    out, _ = printed(capfd, "read", "vault.md", "--cache", "notes", "--format", "json")
    (document,) = json.loads(out)["documents"]
    assert (document["id"], document["title"], document["lines"]) == ("vault.md", "Vault", [1, 3])
    assert document["content"] == NOTES["vault.md"]
    out, _ = printed(capfd, "outline", "--cache", "notes", "--format", "json")
    (page,) = json.loads(out)["pages"]
    assert (page["page"], page["title"], [each["id"] for each in page["sections"]]) == (
        "vault.md",
        "Vault",
        ["vault.md"],
    )


@pytest.mark.parametrize("command", ["read", "outline"])
@pytest.mark.parametrize("cache", ["guides", "notes"])
def test_what_is_not_there_is_a_missing_document(command: str, cache: str, capfd: pytest.CaptureFixture[str]) -> None:
    out, err = printed(capfd, command, "nowhere.md", "--cache", cache, code=10)
    assert out == ""
    assert err.startswith("error[document_missing]: Document does not exist: nowhere.md\n")


@pytest.mark.parametrize("command", ["read", "outline"])
def test_a_page_is_asked_for_by_its_name(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    _, err = printed(capfd, command, "guides/keys.md#rotate", "--cache", "guides", code=10)
    assert "hint: did you mean `keys.md`? `context outline --cache guides` lists the pages" in err


@pytest.mark.parametrize(
    "asked", [["read", "keys.md#rotat"], ["resolve", "--query", "key", "--why-not", "Keys.md#rotat"]]
)
def test_a_section_is_asked_for_by_its_name(asked: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    _, err = printed(capfd, *asked, "--cache", "guides", code=10)
    assert "hint: did you mean `keys.md#rotate`" in err
    assert "`context outline --cache guides` lists the pages" in err


def test_an_id_may_be_in_any_case(capfd: pytest.CaptureFixture[str]) -> None:
    for command, wanted in (("read", "keys.md#rotate"), ("read", "keys.md"), ("outline", "keys.md")):
        asked = [command, "--cache", "guides", "--format", "json"]
        assert printed(capfd, *asked, wanted.upper()) == printed(capfd, *asked, wanted)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["zebra"], "`context outline --cache guides` shows what the documents are about"),
        (["rotate", "--budget", "9"], "nothing fits into 9 tokens: a larger --budget, such as 4000, allows more"),
        (["rotate " * 3000], "the question alone takes 5,273 tokens: a shorter one leaves room for an answer"),
        (["how do I"], "its words are too common to be searched for: add one that the answer should have"),
    ],
)
def test_ask_without_an_answer_says_what_to_do(words: list[str], said: str, capfd: pytest.CaptureFixture[str]) -> None:
    out, err = printed(capfd, "ask", *words)
    assert (out, err.splitlines()[-1]) == ("", said)


@pytest.mark.parametrize("question", [" ", "?"])
def test_an_empty_question_is_refused(question: str, capfd: pytest.CaptureFixture[str]) -> None:
    _, err = printed(capfd, "ask", question, code=1)
    assert "the question has no words" in err


def test_a_budget_for_nothing_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    out, err = printed(capfd, "read", "keys.md", "--cache", "guides", "--budget", "3", code=3)
    assert (out, err.startswith("error[invalid_budget]")) == ("", True)


@pytest.mark.parametrize("asked", [["read", "keys.md"], ["outline", "keys.md"], ["outline"]])
@pytest.mark.parametrize("layout", ["text", "json"])
@pytest.mark.parametrize("budget", ["0", "9"])
def test_a_budget_for_nothing_is_answered_with_one_that_is_enough(
    asked: list[str], layout: str, budget: str, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = [*asked, "--cache", "guides", "--format", layout, "--budget"]
    _, err = printed(capfd, *asked, budget, code=3)
    (enough,) = re.findall(r"hint: a budget of (\d+) holds it", err)
    printed(capfd, *asked, enough)
    printed(capfd, *asked, str(int(enough) - 1), code=3)


def test_why_not_tells_words_page_neighbours_and_budget(capfd: pytest.CaptureFixture[str]) -> None:
    asked = ["resolve", "--cache", "guides", "--query", "rotate keys", "--budget", "4000", "--why-not"]
    out, _ = printed(capfd, *asked, "keys.md#rotate")
    first, rotate, *_, total, fate = out.splitlines()
    assert first.startswith("keys.md#rotate is number 1 of 3 matching sections. Its score is ")
    assert rotate.startswith('"rotate" stands once in its heading and once in its text')
    assert total.startswith("Together ")
    assert re.fullmatch(r"It was taken: it costs \d+ tokens as JSON \(its content alone 11\), .* were left\.", fate)
    out, _ = printed(capfd, *asked, "keys.md#rotate", "--format", "text")
    assert re.fullmatch(r"It was taken: it costs \d+ tokens as text .*", out.splitlines()[-1])
    out, _ = printed(capfd, *asked, "deploy.md")
    assert out.splitlines() == [
        "deploy.md is not in the order: it has no word of the query.",
        'It lacks "rotate" and "keys", which are in 1 and 3 of 4 sections.',
    ]
    printed(capfd, *asked, "nowhere.md", code=10)


def test_a_directory_of_the_same_name_is_not_taken_for_the_cache(capfd: pytest.CaptureFixture[str]) -> None:
    out, _ = printed(capfd, "resolve", "--cache", "guides", "--query", "rotate", "--format", "text")
    assert out.startswith("context guides@")


def test_the_doctor_knows_whether_segments_are_used(tmp_path: Path) -> None:
    caches = open_hall().caches
    assert caches.doubts(caches.find("guides")) == ""
    (tmp_path / ".context" / "caches" / "guides" / "segments.bin").unlink()
    assert caches.doubts(caches.find("guides")) == "there is none"


@pytest.mark.anyio
async def test_agents_get_the_same_by_the_tools() -> None:
    catalog = open_hall().catalog
    caller = Caller(may_read=lambda _path, _home: True)

    async def told(tool: str, **arguments: object) -> str:
        result = await catalog.call(tool, {"cache": "guides", **arguments}, caller)
        return str(result.content[0]["text"])

    assert await told("context.read", id="keys.md", budget="4000") == oracle.read_json(GUIDES, "keys.md")
    assert await told("context.outline", depth=1) == oracle.outline_json(GUIDES, depth=1)
    fresh = ("fresh", 0)
    assert await told("context.resolve", query="rotate") == oracle.resolve_json(GUIDES, "rotate", freshness=fresh)
    version = oracle.cache_version(GUIDES)
    expected = oracle.resolve_text(GUIDES, "guides", version, "rotate", freshness=fresh)
    assert await told("context.resolve", query="rotate", format="text") == expected
    assert json.loads(await told("context.read", id="nowhere"))["error"]["code"] == "document_missing"
    assert "neighbours" in await told("context.read", id="keys.md", neighbours=-1)

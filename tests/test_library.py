"""The hall as a library: the page that describes it, run; and what a program may count on."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.caches.making import without_times
from tests.contract.markdown import Example, examples_in
from tests.guild.making import make_member, tool, write_cache
from tests.processes import RawServer

import contexthall
from contexthall import (
    CacheMissingError,
    ContextMissingError,
    GuildChoice,
    Hall,
    HallError,
    InvalidBudgetError,
    MemberError,
    ScopeError,
    SettingsError,
    UnknownMemberError,
    UsageError,
    open_hall,
)

REPOSITORY = Path(__file__).parents[1]
PAGE = (REPOSITORY / "docs" / "library.md").read_text()


def examples() -> list[Example]:
    return examples_in(PAGE)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The examples as a clone has them, as the working directory: the handbook a cache, the thesaurus awake at once."""
    left_out = shutil.ignore_patterns("tools-cache*", "__pycache__", ".context")
    shutil.copytree(REPOSITORY / "examples", tmp_path / "examples", ignore=left_out)
    manifest = tmp_path / "examples" / "guild-members" / "thesaurus" / "plugin.json"
    manifest.write_text(manifest.read_text().replace('"READING_SECONDS": "2"', '"READING_SECONDS": "0"'))
    monkeypatch.chdir(tmp_path)
    open_hall().build_cache("examples/handbook", "examples/.context/caches/handbook")
    return tmp_path


@pytest.fixture
def hall(clone: Path) -> Hall:
    home = clone / "examples"
    return open_hall(home / "shop", cache_root=home / ".context" / "caches", guild=home / "guild-members")


# The page:


@pytest.mark.usefixtures("clone")
@pytest.mark.parametrize("example", examples(), ids=lambda example: example.output.partition("\n")[0])
def test_every_example_of_the_page_prints_what_the_page_says(
    example: Example, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(example.code, "docs/library.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == example.output


def test_the_page_begins_with_five_lines_that_resolve_query_and_invoke() -> None:
    first = [line for line in examples()[0].code.splitlines() if line]
    assert len(first) == 5
    assert re.findall(r"hall\.(\w+)", "\n".join(first)) == ["resolve", "query", "invoke"]


def test_the_five_lines_of_the_readme_are_those_of_the_page() -> None:
    assert f"```python\n{examples()[0].code}```" in (REPOSITORY / "README.md").read_text()


@pytest.mark.parametrize("name", contexthall.__all__)
def test_the_page_has_every_public_name(name: str) -> None:
    assert re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`", PAGE)


@pytest.mark.parametrize("error", [name for name in contexthall.__all__ if name.endswith("Error")])
def test_the_page_gives_every_error_its_code(error: str) -> None:
    if error != "HallError":  # of which only those below are raised
        assert f"| `{error}` | `{getattr(contexthall, error).code}` |" in PAGE


def test_a_type_checker_at_its_strictest_agrees_with_every_example(tmp_path: Path) -> None:
    for number, example in enumerate(examples()):
        (tmp_path / f"example_{number}.py").write_text(example.code)
    (tmp_path / "wrong.py").write_text(
        "from contexthall import open_hall\n\nopen_hall().resolve('handbook', 'keys', budget=9).documents[0].nope\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "--config-file="]
    checked = subprocess.run([*command, "."], cwd=tmp_path, capture_output=True, check=False, text=True)
    assert re.findall(r"^(.*?): error: (.*?)  ", checked.stdout, flags=re.MULTILINE) == [
        ("wrong.py:3", '"ResolvedDocument" has no attribute "nope"')
    ], checked.stdout + checked.stderr


# The same answers as over MCP:


def test_a_program_gets_what_an_agent_gets(hall: Hall) -> None:
    settings, query = hall.settings, "rotate KEYS é 😀"
    write_cache(Path(settings.guild) / "echo", tool("reverse"), version="0.1.0")
    roots = ("--path", settings.project_root, "--cache-root", settings.cache_root, "--guild", settings.guild)
    with RawServer(*roots, "--guild-refresh", "never", cwd=Path.cwd()) as server:
        server.initialize()
        resolved = called(server, "context.resolve", cache="handbook", query=query, budget=400)
        known = called(server, "query_context", scope="shop", freshness=True)
        answered = called(server, "echo__reverse", text="hello")
    answer = hall.resolve("handbook", query, budget=400).text
    assert without_times(answer) == without_times(resolved["content"][0]["text"])
    assert hall.query("shop").text == known["content"][0]["text"]
    assert hall.invoke("echo", "reverse", {"text": "hello"}).whole == answered


def called(server: RawServer, name: str, **arguments: Any) -> dict[str, Any]:
    answer = server.request(name, "tools/call", {"name": name, "arguments": arguments})
    result: dict[str, Any] = answer["result"]
    return result


def test_the_values_of_an_answer_are_those_of_its_text(hall: Hall) -> None:
    answer = hall.resolve("handbook", "rotate keys", budget=300)
    told = json.loads(answer.text)
    assert len(answer.documents) == 2
    for document, each in zip(answer.documents, told["documents"], strict=True):
        assert (document.id, document.version, document.content) == (each["id"], each["version"], each["content"])
        assert (document.title, list(document.lines)) == (each["title"], each["lines"])
        assert (document.score, document.tokens) == (each["score"], each["tokens"])
        assert list(document.matched) == each["why"]["matched"] == ["rotate", "keys"]
    assert (answer.query, answer.budget) == ("rotate keys", 300)
    assert answer.tokens_used == told["selection"]["tokens_used"] <= 300
    assert answer.documents_considered == told["selection"]["documents_considered"] == 3


def test_the_values_of_an_answer_of_format_1_are_those_of_its_text(hall: Hall) -> None:
    hall.build_cache("examples/handbook", "examples/.context/caches/whole", format=1)
    answer = hall.resolve("whole", "rotate keys", budget=150)
    told = json.loads(answer.text)
    assert [document.score for document in answer.documents] == [each["score"] for each in told["documents"]]
    for document, each in zip(answer.documents, told["documents"], strict=True):
        assert (document.id, document.version, document.content) == (each["id"], each["version"], each["content"])
        assert (document.tokens, document.term_matches) == (each["tokens"], each["why"]["term_matches"])
        assert document.total_words == each["why"]["total_words"]
    assert answer.tokens_used == told["selection"]["tokens_used"] == sum(each.tokens for each in answer.documents)
    assert answer.documents_considered == told["selection"]["documents_considered"] == 5


def test_a_context_says_whether_it_is_still_true(hall: Hall) -> None:
    assert hall.query("shop").state == "fresh"
    (Path(hall.settings.project_root) / "shop" / "prices.py").write_text("PRICES = {}\n")
    stale = hall.query("shop")
    assert stale.state == "stale"
    assert stale.summary == stale.fields["summary"]
    assert json.loads(stale.text)["context"] == stale.fields


@pytest.mark.parametrize("fields", ["", "summary: [1, 2]\n"])
def test_a_summary_is_text_whatever_somebody_wrote(tmp_path: Path, fields: str) -> None:
    (tmp_path / ".context.yaml").write_text(
        f"version: 1\nscope: .\nfingerprint: '00000000'\nlast_updated: now\n{fields}"
    )
    assert open_hall(tmp_path).query().summary == ("[1, 2]" if fields else "")


# What goes wrong is an error that can be told from others:


def test_what_is_not_there_is_an_error_of_its_own(hall: Hall) -> None:
    (Path(hall.settings.project_root) / "empty").mkdir()
    for scope in ("empty", "nowhere"):
        with pytest.raises(ContextMissingError):
            hall.query(scope)
    with pytest.raises(ScopeError):
        hall.query("../..")
    with pytest.raises(CacheMissingError):
        hall.resolve("nowhere", "keys", budget=9)
    for budget in (-1, True, 1.5, "10", None):
        with pytest.raises(InvalidBudgetError):
            hall.resolve("handbook", "keys", budget=budget)  # type: ignore[arg-type] # as a program might
    with pytest.raises(UnknownMemberError) as nobody:
        hall.invoke("nobody", "anything")
    assert nobody.value.hint == "the guild has clock, echo, thesaurus"


def test_a_cache_may_be_named_by_its_path_where_confinement_lets_it(clone: Path) -> None:
    handbook = clone / "examples" / ".context" / "caches" / "handbook"
    assert open_hall().resolve(handbook, "keys").documents_considered == 3
    with pytest.raises(CacheMissingError):
        open_hall(confine=True, cache_root="examples").resolve(Path("/") / "etc", "keys", budget=99)
    with pytest.raises(CacheMissingError):
        open_hall(confine=True, cache_root="examples/handbook").resolve(handbook, "keys", budget=99)
    for roots in ([str(handbook)], [handbook], str(handbook), handbook):
        widened = open_hall(confine=True, allow_root=roots)
        assert widened.settings.allow_roots == (str(handbook),)
        assert widened.resolve(handbook, "keys").documents_considered == 3


def test_a_guild_is_named_by_a_path_or_chosen_in_detail(clone: Path) -> None:
    members = clone / "examples" / "guild-members"
    for guild in (members, str(members), GuildChoice(str(members)), GuildChoice(str(members), guild_trust="hold")):
        assert open_hall(guild=guild).settings.guild == str(members)
    assert open_hall(guild=GuildChoice(str(members), guild_trust="hold")).settings.guild_trust == "hold"
    with pytest.raises(SettingsError):
        open_hall(guild="")
    with pytest.raises(UsageError, match="no guild is named"):
        open_hall().invoke("echo", "echo")


# The guild at work:


class Recorded(NamedTuple):
    """A guild of one member, which writes down when it is started and called."""

    hall: Hall
    record: Path

    @property
    def starts(self) -> list[int]:
        lines = self.record.read_text().splitlines() if self.record.exists() else []
        return [int(line.split()[1]) for line in lines if line.startswith("started ")]

    @property
    def running(self) -> list[int]:
        return [process for process in self.starts if is_running(process)]


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def recorded(tmp_path: Path, *flags: str) -> Recorded:
    record = tmp_path / "record"
    make_member(tmp_path / "guild", "zoo", "--record", str(record), *flags)
    return Recorded(open_hall(tmp_path, guild=tmp_path / "guild"), record)


def test_a_server_runs_for_one_call(tmp_path: Path) -> None:
    zoo = recorded(tmp_path)
    for number in (1, 2):
        assert zoo.hall.invoke("zoo", "echo", {"text": "hi"}).text == '{"text": "hi"}'
        assert len(zoo.starts) == number
        assert zoo.running == []


def test_a_server_runs_from_the_first_call_to_the_end_of_the_block(tmp_path: Path) -> None:
    zoo = recorded(tmp_path)
    with zoo.hall.guild_at_work() as guild:
        assert zoo.starts == []
        for _ in range(3):
            guild.invoke("zoo", "echo")
        assert len(zoo.running) == len(zoo.starts) == 1
    assert zoo.running == []
    with pytest.raises(UsageError, match="no longer at work"):
        guild.invoke("zoo", "echo")


def test_a_block_that_fails_leaves_no_server_behind(tmp_path: Path) -> None:
    zoo = recorded(tmp_path)

    def fail_at_work() -> None:
        with zoo.hall.guild_at_work() as guild:
            guild.invoke("zoo", "echo")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_at_work()
    assert len(zoo.starts) == 1
    assert zoo.running == []


def test_several_threads_call_one_server_at_once(tmp_path: Path) -> None:
    zoo = recorded(tmp_path)
    with zoo.hall.guild_at_work() as guild, ThreadPoolExecutor(8) as threads:
        calls = [threads.submit(guild.invoke, "zoo", "echo", {"text": str(number)}) for number in range(24)]
        texts = [json.loads(call.result().text)["text"] for call in calls]
    assert texts == [str(number) for number in range(24)]
    assert len(zoo.starts) == 1


def test_two_threads_may_each_have_the_guild_at_work(tmp_path: Path) -> None:
    zoo = recorded(tmp_path)
    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(lambda text: zoo.hall.invoke("zoo", "echo", {"text": text}).text, "ab"))
    assert answers == ['{"text": "a"}', '{"text": "b"}']
    assert len(zoo.starts) == 2
    assert zoo.running == []


def test_a_program_with_an_event_loop_is_told_to_let_a_thread_wait(tmp_path: Path) -> None:
    zoo = recorded(tmp_path)

    async def program() -> str:
        with pytest.raises(UsageError, match="hold up the event loop") as refused:
            zoo.hall.invoke("zoo", "echo")
        assert "asyncio.to_thread(hall.invoke" in refused.value.hint
        with pytest.raises(UsageError, match="hold up the event loop"), zoo.hall.guild_at_work():
            pass
        assert zoo.starts == []
        return (await asyncio.to_thread(zoo.hall.invoke, "zoo", "echo", {"text": "hi"})).text

    assert asyncio.run(program()) == '{"text": "hi"}'


FORKING = """
import os, signal, sys
from contexthall import UsageError, open_hall

hall = open_hall(guild=sys.argv[1])
with hall.guild_at_work() as guild:
    guild.invoke("zoo", "echo")
    if child := os.fork():
        os.waitpid(child, 0)
        print(guild.invoke("zoo", "echo", {"text": "parent"}).text)
    else:
        signal.alarm(20)
        try:
            guild.invoke("zoo", "echo")
        except UsageError as error:
            print(error.detail, hall.invoke("zoo", "echo", {"text": "child"}).text, flush=True)
        os._exit(0)
"""


def test_a_forked_child_has_no_guild_at_work_but_may_call_it(tmp_path: Path) -> None:
    zoo = recorded(tmp_path)
    # Newer Pythons warn of forking while threads run.
    command = [sys.executable, "-W", "ignore", "-c", FORKING, str(tmp_path / "guild")]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert answer.stdout == 'the guild is at work in another process {"text": "child"}\n{"text": "parent"}\n'
    assert len(zoo.starts) == 2


def test_an_event_loop_inside_the_block_is_not_held_up_either(tmp_path: Path) -> None:
    zoo = recorded(tmp_path)

    async def program() -> None:
        guild.invoke("zoo", "echo")

    with zoo.hall.guild_at_work() as guild, pytest.raises(UsageError, match="hold up the event loop"):
        asyncio.run(program())
    assert zoo.starts == []


@pytest.mark.parametrize(("flag", "told"), [("--exit=3", "exit"), ("--die-in-call", "exit")])
def test_a_member_that_fails_is_an_error_with_its_reason(tmp_path: Path, flag: str, told: str) -> None:
    zoo = recorded(tmp_path, flag)
    with pytest.raises(MemberError, match=told) as failure:
        zoo.hall.invoke("zoo", "echo")
    assert isinstance(failure.value, HallError)
    assert failure.value.code == "tool_failed"
    assert zoo.running == []


def test_what_a_server_refuses_is_an_error_that_has_its_own_words(tmp_path: Path) -> None:
    fault = {"code": -32602, "message": "not today", "data": {"until": "Monday"}}
    (tmp_path / "fault.json").write_text(json.dumps(fault))
    zoo = recorded(tmp_path, "--error-file", str(tmp_path / "fault.json"))
    with pytest.raises(MemberError, match="not today") as failure:
        zoo.hall.invoke("zoo", "echo")
    assert failure.value.fault == fault


def test_a_tool_that_fails_answers_all_the_same(hall: Hall) -> None:
    answer = hall.invoke("thesaurus", "synonyms", {"word": "hall"})
    assert (answer.is_error, answer.text) == (True, "The book does not have hall.")

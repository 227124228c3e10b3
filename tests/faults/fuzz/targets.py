"""What must hold for any bytes at all? One function a target: it returns, or raises what broke the promise.

The promise is the same everywhere: only the hall's own errors leave, in bounded time, and an answer is right or none.
Hypothesis and the coverage-guided fuzzer drive the same functions, and so does the corpus of what they found.
"""

import asyncio
import atexit
import json
import os
import shutil
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from tests.caches.making import CREATED_AT, compile_folder, library_of, write_sources
from tests.contexts.making import make_project, write_files
from tests.faults.fuzz import forging
from tests.guild.making import FakeFactory, make_member, manager_of, tool, write_cache
from tests.protocol.served import served

from contexthall.caches.capability import INSPECT_OUTPUT, LIST_OUTPUT, caches_capability
from contexthall.caches.library import CacheRef, Library
from contexthall.config import settings
from contexthall.contexts.capability import contexts_capability
from contexthall.contexts.draft.languages import (
    c,
    csharp,
    go,
    java,
    kotlin,
    php,
    python,
    ruby,
    rust,
    scala,
    shell,
    swift,
    table,
    typescript,
)
from contexthall.contexts.draft.languages.language import SourceOutline
from contexthall.contexts.draft.syntax import readme
from contexthall.contexts.files import config, context_file, edit, yaml_text
from contexthall.contexts.freshness.ledger import Ledger
from contexthall.core import ignore, wire
from contexthall.core.catalog import Catalog
from contexthall.core.errors import CacheInvalidError, ContextCorruptError, HallError, UnknownToolError, UsageError
from contexthall.core.lines import LineSplitter
from contexthall.guild.capability import guild_capability
from contexthall.guild.lists import definitions, tools_cache
from contexthall.guild.lists.memory import Memory
from contexthall.guild.members import manifest as member_manifest
from contexthall.guild.members.roster import Member
from contexthall.guild.servers.transport import decoded
from contexthall.hall import Hall
from contexthall.protocol import messages
from contexthall.system.disk import Disk, Seen

Target = Callable[[bytes], None]

DOCUMENTS = {
    "guide.md": "Rotate the keys, then rotate the keys again.\n",
    "nested/empty.md": "",
    "nested/Straße.md": "STRASSE straße \u2028 ΟΔΟΣ keys\x1c",
    "common.md": "the the the keys the the",
}
QUERIES = (("keys rotate the", 100), ("the", 9), ("nowhere", 0), ("straße οδος", 2**62))
_REST = b'{"jsonrpc":"2.0","id":"the last","method":"ping"}\n'
_CODES = {"cache_missing", "cache_invalid", "invalid_query", "invalid_budget", "io_error"}
OUTPUTS = {"context.list_caches": LIST_OUTPUT, "context.inspect_cache": INSPECT_OUTPUT}


def json_rpc_lines(data: bytes) -> None:
    """A line is a message that can be spelt again, or it is answered; no other line is touched by it."""
    splitter = LineSplitter(1 << 16)
    for line in [*splitter.feed(data), *splitter.finish()]:
        try:
            message = messages.parse_message(line)
        except messages.RpcError as error:
            answer = json.loads(messages.error_line(error.request_id, error.error))
            assert answer["error"]["code"] in {messages.PARSE_ERROR, messages.INVALID_REQUEST}
        else:
            spelt = _spelt(message)
            assert spelt.count(b"\n") == 1
            again = messages.parse_message(spelt)
            assert type(again) is type(message)
            assert _spelt(again) == spelt


def _spelt(message: messages.Message) -> bytes:
    match message:
        case messages.Request(request_id, method, params):
            return messages.request_line(request_id, method, params)
        case messages.Notification(method, params):
            return messages.notification_line(method, params)
        case messages.Response(request_id, result, error):
            return messages.result_line(request_id, result) if error is None else messages.error_line(request_id, error)


def served_lines(data: bytes) -> None:
    """Each request with an id gets one answer with that id, each line that is none an error, and the next one works."""
    due: Counter[object] = Counter({"the last": 1})
    may_be_cancelled = False
    splitter = LineSplitter()
    for line in [*splitter.feed(data), *splitter.finish()]:
        try:
            message = messages.parse_message(line)
        except messages.RpcError as error:
            due[error.request_id] += 1
            continue
        may_be_cancelled = may_be_cancelled or getattr(message, "method", "") == "notifications/cancelled"
        if isinstance(message, messages.Request):
            due[message.id] += 1
    answers = [each for each in serve(data.rstrip(b"\n") + b"\n" + _REST) if "method" not in each]
    answered = Counter(each.get("id") for each in answers)
    assert answered["the last"]
    for identifier, times in due.items():
        assert answered[identifier] == times or may_be_cancelled, (identifier, times, answered)
    assert answered.total() <= due.total()


def serve(data: bytes) -> list[dict[str, Any]]:
    """Let the hall answer what a file says, line by line."""
    answered = served(_hall().catalog, data.splitlines(), version="0")
    return [json.loads(line, parse_constant=_refuse) for line in answered.splitlines()]


def tool_arguments(data: bytes) -> None:
    """Whatever the arguments are, the answer is one of the contract's, and the same twice."""
    call = _parsed(data)
    match call:
        case [str(name), dict(arguments)]:
            first, second = (asyncio.run(_call(name, arguments)) for _ in range(2))
            assert first == second
            _check_answer(name, first)


async def _call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    manager, _ = manager_of(_guild(), FakeFactory())
    try:
        await manager.initialize_roster()
        guild = guild_capability(manager, budget=0)
        catalog = Catalog([caches_capability(_hall().caches), contexts_capability(lambda: _hall().contexts), guild])
        result = await catalog.call(name, arguments, _hall().confined_caller)
    except UnknownToolError:
        return {}
    finally:
        await manager.shutdown()
    return {"text": result.text, "structured": result.structured, "error": result.is_error, "code": result.code}


def _check_answer(name: str, answer: Mapping[str, Any]) -> None:
    if not answer:
        return
    assert answer["code"] in {None, *_CODES}, answer
    answer["text"].encode()
    schema = OUTPUTS.get(name)
    if schema is not None and not answer["error"]:
        Draft202012Validator(schema).validate(answer["structured"])


def query(data: bytes) -> None:
    """An index and a scan give the same bytes, cold and warm."""
    text, budget = data[1:].decode("utf-8", "replace"), data[0] if data else 0
    indexed, scanned = _libraries()
    cache = CacheRef(str(_home() / "indexed" / "cache"))
    expected = scanned.resolve(CacheRef(str(_home() / "scanned" / "cache")), text, budget).text
    assert indexed.resolve(cache, text, budget).text == expected
    assert library_of(_home() / "indexed").resolve(cache, text, budget).text == expected


def cache_manifest(data: bytes) -> None:
    """Whatever the manifest says, an answer is the right one or cache_invalid."""
    _check_with(_small_cache() / "manifest.json", data)


def cache_document(data: bytes) -> None:
    """Whatever the file of a document says, an answer is the right one or cache_invalid."""
    _check_with(min((_small_cache() / "documents").iterdir()), data)


def cache_index(data: bytes) -> None:
    """Whatever the index says, an answer is the right one."""
    _check_with(_small_cache() / "postings.bin", data, may_be_invalid=False)


def forged_index(data: bytes) -> None:
    """Whoever writes an index with all its checksums may mislead us; nothing but our own errors leaves all the same."""
    cache = _large_cache()
    sound, manifest_bytes = (_sound(cache, name) for name in ("postings.bin", "manifest.json"))
    (cache / "postings.bin").write_bytes(forging.forge(sound, manifest_bytes, data))
    ask_everything(cache, QUERIES[:1])


def _check_with(file: Path, data: bytes, *, may_be_invalid: bool = True) -> None:
    """Put other bytes into a file of a cache, and compare the answers with those of the sound one."""
    expected = _sound_answers()
    before = file.read_bytes()
    file.write_bytes(data)
    try:
        for answer, right in zip(ask_everything(_small_cache()), expected, strict=True):
            assert answer == right or (answer is None and may_be_invalid)
    finally:
        file.write_bytes(before)


def ask_everything(cache: Path, queries: Sequence[tuple[str, int]] = QUERIES) -> list[str | None]:
    """Ask a cache all that can be asked; only the hall's own errors leave. Gives the answers, None for invalid."""
    library = library_of(cache.parent)
    answers: list[str | None] = []
    for text, budget in queries:
        for _ in range(2):  # cold, then warm
            try:
                answers.append(library.resolve(CacheRef(str(cache)), text, budget).text)
            except CacheInvalidError:
                answers.append(None)
        with suppress(CacheInvalidError):
            library.places(CacheRef(str(cache)), text, budget, 0, 100)
        with suppress(CacheInvalidError, UsageError):
            library.explain(CacheRef(str(cache)), text, budget, "guide.md")
    library.inspect(CacheRef(str(cache)))
    library.list_caches()
    library.verify(CacheRef(str(cache)))
    return answers


def context_yaml(data: bytes) -> None:
    """A context is read or corrupt; what can be read can be rehashed without another byte changing, or is refused."""
    with suppress(HallError):
        context_file.read_context(data)
        wire.compact(yaml_text.finite(context_file.read_context(data)))
        context_file.replace_fingerprint(data, "89abcdef")
    with suppress(HallError):
        values = context_file.read_mapping(data)
        text = data.decode("utf-8", "replace").removeprefix("\ufeff")
        with suppress(ContextCorruptError):
            changed = edit.change_fields(text, {"summary": "New", "dependencies.internal": ["a"]})
            after = context_file.read_mapping(changed.encode())
            assert after == {**values, **{key: after[key] for key in ("summary", "dependencies")}}
        assert repr(yaml_text.read(yaml_text.write(values))) == repr(values)


def context_config(data: bytes) -> None:
    """A configuration is read or refused with a sentence."""
    with suppress(HallError):
        config.read_config(data)


def ignore_rules(data: bytes) -> None:
    """Any bytes are rules, and judge any name."""
    text, _, subject = data.rpartition(b"\0")
    rules = ignore.parse_rules([text])
    if rules is not None:
        name = os.fsdecode(subject)
        rules.judge(name, name.rpartition("/")[2], is_directory=bool(len(data) % 2))


def plugin_manifest(data: bytes) -> None:
    """A manifest is read, or refused with a sentence that people can be shown."""
    try:
        found = member_manifest.parse_manifest(data)
        member_manifest.filled_in(found.launch.env, {})
        json.dumps(found.launch.spec()).encode()
    except member_manifest.ManifestError as error:
        str(error).encode()


def tools_list(data: bytes) -> None:
    """A tools cache is read or malformed; what was read can be told, compared and written again as it was."""
    try:
        cached = tools_cache.parse(data)
    except ValueError as error:
        str(error).encode()
        return
    again = tools_cache.parse(tools_cache.render(cached.version, cached.tools, cached.cached_at))
    assert json.dumps(again.tools) == json.dumps(cached.tools)
    for each in cached.tools:
        definitions.tokens(each)
        definitions.difference(each, None)
    definitions.changes(cached.tools, cached.tools[1:])
    definitions.as_approved(cached.tools, cached.tools[:1])


def offered_tools(data: bytes) -> None:
    """Of whatever a server lists, what is passed on can be written down; the rest is named in sentences."""
    match decoded(data):
        case messages.Response(result=result, error=None):
            try:
                offered = messages.parse_result(result).get("tools")
            except ValueError:
                return
            if isinstance(offered, list):
                tools, sentences = definitions.validate_tools(offered)
                tools_cache.parse(tools_cache.render("1", tools, CREATED_AT))
                "".join(sentences).encode()


def member_lines(data: bytes) -> None:
    """What a server prints is a message or rubbish; a message can be passed on, in JSON."""
    for line in data.split(b"\n"):
        message = decoded(line)
        if message is not None:
            json.loads(_spelt(message), parse_constant=_refuse, parse_int=len)  # integers pass, however long they are


def guild_memory(data: bytes) -> None:
    """What is remembered of a member is understood or ignored."""
    home = _home() / "memory"
    memory = Memory(Disk(), str(home))
    member = Member(name="m", key="m", directory=str(_home()))
    home.mkdir(exist_ok=True)
    (home / f"{memory.name_of(member)}.json").write_bytes(data)
    if (remembered := memory.recall(member)) is not None:
        memory.remember(member, remembered)
        assert memory.recall(member) == remembered


def contexts_ledger(data: bytes) -> None:
    """What is remembered of a project is understood or forgotten; the answers are the same."""
    memory, context = _home() / "ledger", Seen(".context.yaml", "file", 1, (1, 2, 3))
    memory.mkdir(exist_ok=True)
    (memory / "written").mkdir(exist_ok=True)
    (memory / "seen.json").write_bytes(data)
    (memory / "written" / "5f7ed2a7f5f9a8c1.json").write_bytes(data)
    ledger = Ledger(Disk(), str(memory), lambda: 0)
    ledger.written(".")
    ledger.keep(["."])
    for scope in (".", "src"):
        ledger.head(scope, context)
        ledger.fingerprint(scope, ())


_LANGUAGES: Sequence[Callable[[bytes], SourceOutline]] = (
    python.PYTHON.read,
    lambda data: typescript.TYPESCRIPT.read(data, extension="ts"),
    lambda data: typescript.TYPESCRIPT.read(data, extension="tsx"),
    go.GO.read,
    rust.RUST.read,
    *(language.read for language in (java.JAVA, kotlin.KOTLIN, scala.SCALA, csharp.CSHARP, c.C, c.CPP)),
    *(language.read for language in (ruby.RUBY, php.PHP, swift.SWIFT, shell.SHELL)),
)


def source_file(data: bytes) -> None:
    """Any bytes are a source file of any language, and what is found in it can be shown."""
    for read in _LANGUAGES:
        found = read(data)
        "".join(
            [found.doc, *found.imports, *(part for export in found.exports for part in (*export[:3], *export.methods))]
        ).encode()


def project_manifest(data: bytes) -> None:
    """Any bytes are a manifest or a README, and what they say fits on a line."""
    for name in table.MANIFESTS:
        found = table.read_manifest(name, data, data)
        "\n".join([found.name, found.description, found.module, *found.dependencies]).encode()
        assert not any("\n" in each for each in (found.name, found.description, *found.dependencies))
    for name in ("README.md", "readme.rst", "readme.txt"):
        assert "\n" not in readme.readme_sentence(data, name)


def settings_file(data: bytes) -> None:
    """A project's settings are read or refused."""
    try:
        values = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return
    for trusted in (True, False):
        file = settings.SettingsFile(path="t", directory="/p", values=values, trusted=trusted)
        with suppress(HallError):
            settings.resolve(flags={}, environment={}, files=[file], working_directory="/p", project_root="/p")


TARGETS: Mapping[str, Target] = {
    target.__name__: target
    for target in (
        json_rpc_lines,
        served_lines,
        tool_arguments,
        query,
        cache_manifest,
        cache_document,
        cache_index,
        forged_index,
        context_yaml,
        context_config,
        ignore_rules,
        plugin_manifest,
        tools_list,
        offered_tools,
        member_lines,
        guild_memory,
        contexts_ledger,
        source_file,
        project_manifest,
        settings_file,
    )
}


def _refuse(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def _parsed(data: bytes) -> object:
    try:
        return wire.parse(data, lone_surrogates=True)
    except ValueError:
        return None


# What the targets are tried on: made once a process, and taken away at its end.


@cache
def _home() -> Path:
    directory = tempfile.mkdtemp(prefix="fuzzed-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return Path(directory)


@cache
def _sound(cache_directory: Path, name: str) -> bytes:
    """What a file said before anybody changed it."""
    return (cache_directory / name).read_bytes()


@cache
def _sound_answers() -> list[str | None]:
    return ask_everything(_small_cache())


@cache
def _small_cache() -> Path:
    compile_folder(write_sources(_home() / "few", DOCUMENTS), _home() / "small")
    return _home() / "small"


@cache
def _large_cache() -> Path:
    """So many documents that common words have a block of their own, of either kind."""
    documents = {f"{number:02}.md": f"the keys {'rotate ' * (number % 7)}{number}" for number in range(70)}
    compile_folder(write_sources(_home() / "many", documents | DOCUMENTS), _home() / "large")
    for name in ("postings.bin", "manifest.json"):
        _sound(_home() / "large", name)
    return _home() / "large"


@cache
def _libraries() -> tuple[Library, Library]:
    """The same documents twice, with an index and without."""
    for name in ("indexed", "scanned"):
        (_home() / name).mkdir()
        compile_folder(write_sources(_home() / "few", DOCUMENTS), _home() / name / "cache")
    (_home() / "scanned" / "cache" / "postings.bin").unlink()
    return library_of(_home() / "indexed"), library_of(_home() / "scanned")


@cache
def _hall() -> Hall:
    """A hall with a project and two caches; the user's memory of it is nowhere."""
    root = _home() / "project"
    make_project(root, {"src/a.py": "import b\n", "b.py": '"""About b."""\n', "src/deep/c.py": "x = 1\n"})
    write_files(root, {"broken/.context.yaml": "version: [\n", "newer/.context.yaml": "version: 7\n"})
    (root / ".context" / "caches").mkdir(parents=True)
    for name, documents in (("handbook", DOCUMENTS), ("empty", {})):
        compile_folder(write_sources(_home() / name, documents), root / ".context" / "caches" / name)
    chosen = settings.Settings(
        working_directory=str(root), project_root=str(root), cache_root=str(root / ".context" / "caches")
    )
    return Hall(chosen, Disk())


@cache
def _guild() -> Path:
    directory = make_member(_home() / "guild", "zoo")
    write_cache(directory, tool("echo", "Gives back what it is given."), tool("other", title="Another"))
    return _home() / "guild"

"""What do the tools take, and what do they answer? Writes tables and examples of `tools.md` from the tools themselves.

    python -m docs.generate

Inputs come from the catalog; answers from calls on copies of the examples, so that nothing is shown that is not so.
Where and when it is run makes no difference: paths and dates are replaced. What a field means is in `calls.py`. The
limits in `security.md` are written too (`limits.py`).
"""

import asyncio
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from docs import limits
from docs.calls import CALLS, HOME, JsonObject, Shown
from docs.parts import parts, rewrite, table, with_parts

from contexthall import open_hall
from contexthall.core.catalog import Tool, ToolResult
from contexthall.hall import GuildChoice, Hall

REPOSITORY = Path(__file__).parents[1]
PAGE = REPOSITORY / "docs" / "tools.md"
EXAMPLES = ("handbook", "shop", "guild-members/echo", "guild-members/clock")
# Everything is written at this moment, and not at that of the run.
MOMENT = "1793521800"
# So recent that no cache records the times of its sources, which would be others each time.
FUTURE = 4_102_444_800
WIDTH = 116


class Answer(NamedTuple):
    """What a call gave: JSON, or a sentence."""

    arguments: JsonObject
    text: str
    is_error: bool

    @property
    def value(self) -> JsonObject | None:
        """The object that the text spells, if it does."""
        return json.loads(self.text) if self.text.startswith("{") else None


def generated(scratch: Path) -> dict[str, str]:
    """Make every part of the page, working in `scratch`."""
    with patch.dict(os.environ, environment(scratch), clear=True):
        return asyncio.run(written(furnished(scratch), scratch))


def environment(scratch: Path) -> dict[str, str]:
    """Give an environment in which nobody has chosen anything."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("CONTEXT_")}
    homes = {f"XDG_{kind}_HOME": str(scratch / kind.lower()) for kind in ("CONFIG", "CACHE", "STATE")}
    return ours | homes | {"SOURCE_DATE_EPOCH": MOMENT}


def furnished(scratch: Path) -> Hall:
    """Open a hall on copies of the examples: a cache, a directory that is fresh, one stale, one with a bad context."""
    for example in EXAMPLES:
        for file in files_of(example):
            target = scratch / file.relative_to(REPOSITORY / "examples")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
            os.utime(target, (FUTURE, FUTURE))
    (scratch / "shop" / "tests" / "test_orders.py").touch()
    guild = GuildChoice(guild=str(scratch / "guild-members"), guild_budget=0)
    hall = open_hall(str(scratch / "shop"), cache_root=str(scratch / "caches"), guild=guild)
    hall.build_cache(str(scratch / "handbook"), str(scratch / "caches" / "handbook"))
    hall.init_contexts(full=False, dry_run=False, agents=True, progress=lambda *_: None)
    hall.note_claim("tests", "constraints", "Every price has an example.", ["tests/test_prices.py"])
    disturb(scratch / "shop")
    return hall


def disturb(shop: Path) -> None:
    """Give a directory other files than its context was written for, and another one a context that is none."""
    (shop / "tests" / "test_orders.py").unlink()
    (shop / "tests" / "test_prices.py").write_text("")
    (shop / "tests" / "test_vouchers.py").touch()
    (shop / "scripts").mkdir()
    (shop / "scripts" / ".context.yaml").write_text("version: [\n")


def files_of(example: str) -> list[Path]:
    """List the files of an example that belong to the repository, and not what trying it has left there."""
    home = REPOSITORY / "examples" / example
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    asked = subprocess.run(listed, cwd=home, capture_output=True, text=True, check=False)
    # Outside of a repository the files come from an sdist, which has no others.
    found = asked.stdout.split("\0") if asked.returncode == 0 else [str(path) for path in home.rglob("*")]
    return sorted(home / name for name in found if (home / name).is_file())


async def written(hall: Hall, scratch: Path) -> dict[str, str]:
    """Call every tool, and write what it takes and what it gave."""
    made: dict[str, str] = {}
    async with hall.running():
        await hall.guild.refresh_tool_caches()
        if [tool.name for tool in hall.catalog.tools] != [*CALLS]:
            raise LookupError("docs/calls.py has not exactly the tools that there are, in their order")
        for tool in hall.catalog.tools:
            shown = CALLS[tool.name]
            answers = [await called(hall, tool.name, arguments, scratch) for arguments in shown.calls]
            made[f"{tool.name} inputs"] = inputs(tool)
            made[f"{tool.name} answers"] = "\n\n".join(map(example, answers))
            if rows := outputs(tool.name, tool.output_schema or shown.schema, shown, answers):
                made[f"{tool.name} outputs"] = table(["output", "type", "meaning"], rows)
    return made


async def called(hall: Hall, name: str, arguments: JsonObject, scratch: Path) -> Answer:
    real = json.loads(json.dumps(arguments).replace(HOME, str(scratch)))
    result: ToolResult = await hall.catalog.call(name, real, hall.caller)
    return Answer(arguments, result.text.replace(str(scratch), HOME).rstrip("\n"), result.is_error)


def inputs(tool: Tool) -> str:
    """Write a row for each argument, as the schema that agents get describes it."""
    required = tool.input_schema.get("required", [])
    rows = [
        [f"`{name}`", kind(schema), "yes" if name in required else "no", schema["description"]]
        for name, schema in tool.input_schema["properties"].items()
    ]
    return table(["input", "type", "required", "meaning"], rows)


def outputs(tool: str, schema: JsonObject, shown: Shown, answers: Sequence[Answer]) -> list[list[str]]:
    """Write a row for each field of the answers; LookupError for a field without a meaning, and the other way round."""
    found = dict(fields([answer.value for answer in answers if answer.value is not None], shown.leaves))
    declared = {path: at(schema, path) for path in found}
    meanings = {path: shown.meanings.get(path) or declared[path].get("description", "") for path in found}
    if unknown := [path for path, meaning in meanings.items() if not meaning]:
        raise LookupError(f"{tool}: docs/calls.py has no meaning for {', '.join(unknown)}")
    if unused := [path for path in shown.meanings if path not in found]:
        raise LookupError(f"{tool}: docs/calls.py has a meaning for {', '.join(unused)}, which no answer has")
    return [[f"`{path}`", kind(declared[path]) or found[path], _capital(meanings[path])] for path in found]


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]


def fields(values: Sequence[JsonObject], leaves: Sequence[str], above: str = "") -> Iterator[tuple[str, str]]:
    """Give the path and the type of every field that occurs in one of `values`, those of an object after it."""
    for key in dict.fromkeys(key for value in values for key in value):
        found = [value[key] for value in values if key in value]
        path = f"{above}{key}"
        yield path, " or ".join(sorted({type_of(each) for each in found} - _less_than_known(found)))
        if path not in leaves:
            is_list = any(isinstance(each, list) for each in found)
            inner = [item for each in found for item in (each if isinstance(each, list) else [each])]
            objects = [item for item in inner if isinstance(item, dict)]
            yield from fields(objects, leaves, f"{path}[]." if is_list else f"{path}.")


def _less_than_known(found: Sequence[object]) -> set[str]:
    """An empty list does not tell what another one holds."""
    return {"array"} if any(isinstance(each, list) and each for each in found) else set()


def type_of(value: object) -> str:
    """Name the JSON type of a value."""
    match value:
        case bool():
            return "boolean"
        case list():
            return f"array of {type_of(value[0])}s" if value else "array"
        case _:
            return {str: "string", int: "integer", float: "number", dict: "object", type(None): "null"}[type(value)]


def at(schema: JsonObject, path: str) -> JsonObject:
    """Give what a schema says of the field at `path`; nothing where it does not know it."""
    for key in path.removesuffix("[]").split("."):
        inner: JsonObject = schema.get("items", schema)
        schema = inner.get("properties", {}).get(key.removesuffix("[]"), {})
    return schema


def kind(schema: JsonObject) -> str:
    """Name the type that a schema asks for, with its limits."""
    if schema.get("type") == "array":
        words = schema["items"].get("enum")
        return f"array of {_either(words)}" if words else f"array of {schema['items']['type']}s"
    lowest, highest = schema.get("minimum"), schema.get("maximum")
    bounds = "" if lowest is None else f", at least {lowest}" if highest is None else f", from {lowest} to {highest}"
    return f"{schema.get('type', '')}{bounds}"


def _either(words: Sequence[str]) -> str:
    *others, last = [f"`{word}`" for word in words]
    return f"{', '.join(others)} or {last}"


def example(answer: Answer) -> str:
    """Show a call and its answer."""
    asked = json.dumps(answer.arguments, ensure_ascii=False)
    value = answer.value
    language, text = ("text", answer.text) if value is None else ("json", spelt(value))
    return f"`{asked}` gives{' the error' if answer.is_error else ''}\n\n```{language}\n{text}\n```"


def spelt(value: Any, indent: str = "") -> str:
    """Spell JSON for people: on one line what fits there."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent + line) <= WIDTH or not isinstance(value, dict | list):
        return line
    inner = f"{indent}  "
    if isinstance(value, dict):
        items, (begin, end) = [f"{json.dumps(key)}: {spelt(each, inner)}" for key, each in value.items()], "{}"
    else:
        items, (begin, end) = [spelt(each, inner) for each in value], "[]"
    return f"{begin}\n" + ",\n".join(f"{inner}{item}" for item in items) + f"\n{indent}{end}"


def page(before: str, made: Mapping[str, str]) -> str:
    """Give the page with its parts made anew; LookupError for a part that nothing makes, or that it lacks."""
    if stale := [name for name in parts(before) if name not in made]:
        raise LookupError(f"nothing makes the part {', '.join(stale)}")
    return with_parts(before, made)


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        made = generated(Path(scratch).resolve())
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), made), encoding="utf-8")
    rewrite(limits.PAGE, limits.written())


if __name__ == "__main__":
    main()

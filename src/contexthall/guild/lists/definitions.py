"""Tool definitions: which are well-formed, and what changed about them.

Pure: definitions are JSON values, and none is ever altered. One tool that a client refuses can cost it the whole list,
so what is not well-formed is left out, and named.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from contexthall.core import limits, wire
from contexthall.core.catalog import JsonObject
from contexthall.core.text import is_printable
from contexthall.core.tokens import tokens as cost

FIELDS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
"""What an agent is told about a tool, and therefore what is trusted."""

_Object: TypeAlias = dict[str, Any]
_Kinds: TypeAlias = Mapping[str, tuple[type, str]]

_STRING, _BOOLEAN, _LIST, _OBJECT = (str, "a string"), (bool, "a boolean"), (list, "a list"), (dict, "an object")
_KINDS: _Kinds = {
    **dict.fromkeys(("description", "title"), _STRING),
    **dict.fromkeys(("outputSchema", "annotations", "execution", "_meta"), _OBJECT),
    "icons": _LIST,
}
_ANNOTATION_KINDS: _Kinds = {
    "title": _STRING,
    **dict.fromkeys(("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"), _BOOLEAN),
}
_TASK_SUPPORT = (None, "forbidden", "optional", "required")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class ToolChange(NamedTuple):
    """A tool that is not what it was when its member was last trusted."""

    tool: str
    kind: Literal["added", "removed", "changed"]
    fields: tuple[str, ...] = ()
    """Which parts of a changed definition differ, such as `description`."""


def validate_tools(offered: Sequence[object], *, is_read: bool = False) -> tuple[list[JsonObject], tuple[str, ...]]:
    """Split what a server listed into tools that can be passed on, and a sentence for each that cannot.

    Keys that are null are dropped, since clients refuse them, and a missing description becomes `""`. One thing is
    added: an input schema without a type is of type "object". Everything else stays as it is, in its order. What is
    read (`is_read`), and so is not nested too deeply, need not be tried whether it can be written so.
    """
    tools: dict[str, JsonObject] = {}
    sentences = []
    for number, each in enumerate(offered, 1):
        tool = _completed(each) if isinstance(each, dict) else {}
        name = tool.get("name")
        if fault := _name_fault(each, name):
            sentences.append(f"tool number {number} is left out: {fault}")
        elif fault := "another tool has that name" if name in tools else _fault(tool, is_read=is_read):
            sentences.append(f'tool "{_visible(str(name))}" is left out: {fault}')
        else:
            tools[str(name)] = tool
    return list(tools.values()), _at_most(limits.LEFT_OUT_SENTENCES, sentences)


def without_tasks(tools: Sequence[JsonObject]) -> tuple[list[JsonObject], tuple[str, ...]]:
    """Split tools into those that can be called, and a sentence for each that answers only as a task."""
    reason = "it can only be called as a task, which the hall does not pass on"
    sentences = [f'tool "{_visible(tool["name"])}" is left out: {reason}' for tool in tools if _needs_task(tool)]
    return [tool for tool in tools if not _needs_task(tool)], _at_most(limits.LEFT_OUT_SENTENCES, sentences)


def _needs_task(tool: JsonObject) -> bool:
    return (tool.get("execution") or {}).get("taskSupport") == "required"


def changes(approved: Sequence[JsonObject], current: Sequence[JsonObject]) -> tuple[ToolChange, ...]:
    """Return the differences of the current tools from the approved ones, sorted by name."""
    if approved is current:
        return ()
    before, after = _by_name(approved), _by_name(current)
    found = [ToolChange(name, "added") for name in after.keys() - before.keys()]
    found += [ToolChange(name, "removed") for name in before.keys() - after.keys()]
    for name in before.keys() & after.keys():
        if fields := _changed_fields(before[name], after[name]):
            found.append(ToolChange(name, "changed", fields))
    return tuple(sorted(found))


def as_approved(approved: Sequence[JsonObject], current: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the current tools as far as they were approved: a changed one as it was, an added one not at all."""
    before = _by_name(approved)
    return [
        before[tool["name"]] if _changed_fields(before[tool["name"]], tool) else tool
        for tool in current
        if tool["name"] in before
    ]


def difference(approved: JsonObject | None, current: JsonObject | None) -> str:
    """Return a unified diff in which nothing is invisible; None stands for no such tool."""
    from difflib import unified_diff  # noqa: PLC0415 - 1 ms, and no start waits

    before, after = _laid_out(approved), _laid_out(current)
    name = _visible(str((approved or current or {}).get("name", "")))
    return "\n".join(unified_diff(before, after, f"approved {name}", f"current {name}", lineterm=""))


def tokens(definition: JsonObject) -> int:
    """Estimate what a definition costs an agent."""
    return cost(wire.compact(definition).encode("utf-8"))


def _completed(tool: _Object) -> _Object:
    """Drop what is null and add what may be missing."""
    complete = _without_nulls(tool) if None in tool.values() else tool
    if "description" not in complete:
        complete = {**complete, "description": ""}
    schema, annotations = complete.get("inputSchema"), complete.get("annotations")
    if isinstance(schema, dict) and "type" not in schema:
        complete = {**complete, "inputSchema": {"type": "object", **schema}}
    if isinstance(annotations, dict) and None in annotations.values():
        complete = {**complete, "annotations": _without_nulls(annotations)}
    return complete


def _without_nulls(values: _Object) -> _Object:
    return {key: value for key, value in values.items() if value is not None}


def _name_fault(offered: object, name: object) -> str:
    """Return why a tool cannot even be named; empty if it can."""
    if not isinstance(offered, dict):
        return "it is not an object"
    if not isinstance(name, str) or not name:
        return "it has no name"
    if len(name) > limits.TOOL_NAME_CHARACTERS:
        return f"its name is longer than {limits.TOOL_NAME_CHARACTERS} characters"
    return "its name has control characters" if _CONTROL.search(name) else ""


def _fault(tool: _Object, *, is_read: bool) -> str:
    """Return why a tool that has a name cannot be passed on; empty if it can."""
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict):
        return "its inputSchema is not an object"
    return (
        _odd_kind(tool, _KINDS, "its ")
        or _schema_fault(schema, "inputSchema")
        or ("outputSchema" in tool and _schema_fault(tool["outputSchema"], "outputSchema"))
        or ("annotations" in tool and _odd_kind(tool["annotations"], _ANNOTATION_KINDS, "its annotations' "))
        or (("icons" in tool or "execution" in tool) and _detail_fault(tool))
        or (not is_read and _spelling_fault(tool))
        or ""
    )


def _schema_fault(schema: _Object, which: str) -> str:
    """Return what clients would refuse about a schema, and the whole list with it."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if schema.get("type") != "object":
        return f'the type of its {which} is not "object"'
    if not isinstance(properties, dict) or not all(isinstance(each, dict) for each in properties.values()):
        return f"the properties of its {which} are not an object of objects"
    if not isinstance(required, list) or not all(isinstance(each, str) for each in required):
        return f"the required of its {which} is not a list of strings"
    return ""


def _detail_fault(tool: _Object) -> str:
    """Return what clients would refuse about parts that few tools have."""
    icons, execution = tool.get("icons", []), tool.get("execution", {})
    if not all(isinstance(icon, dict) and isinstance(icon.get("src"), str) for icon in icons):
        return "its icons are not all objects with a src"
    return "" if execution.get("taskSupport") in _TASK_SUPPORT else "its execution.taskSupport is not a known one"


def _odd_kind(values: _Object, kinds: _Kinds, whose: str) -> str:
    for key, value in values.items():
        if key in kinds and not isinstance(value, kinds[key][0]):
            return f"{whose}{key} is not {kinds[key][1]}"
    return ""


def _spelling_fault(tool: _Object) -> str:
    """Return why a definition could not be written, and read again; empty if it can."""
    try:
        data = wire.compact(tool).encode("utf-8")
        if wire.is_deep(data, limits.TOOL_DEFINITION_LEVELS):
            return "it is nested too deeply"
    except RecursionError:
        return "it is nested too deeply"
    except (TypeError, ValueError):
        return "it is not JSON"
    try:
        wire.parse(data, finite=True)
    except ValueError as error:
        return f"it cannot be read again: {error}"
    return ""


def _at_most(count: int, sentences: Sequence[str]) -> tuple[str, ...]:
    more = len(sentences) - count
    return (*sentences[:count], f"and {more} more") if more > 0 else tuple(sentences)


def _by_name(tools: Sequence[JsonObject]) -> dict[str, JsonObject]:
    return {tool["name"]: tool for tool in tools}


def _changed_fields(before: JsonObject, after: JsonObject) -> tuple[str, ...]:
    if before is after:
        return ()
    return tuple(field for field in FIELDS if _differ(before.get(field), after.get(field)))


def _differ(before: object, after: object) -> bool:
    if before != after or isinstance(before, str):
        return before != after
    return _canonical(before) != _canonical(after)  # to Python 1 equals true


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _laid_out(tool: JsonObject | None) -> list[str]:
    if tool is None:
        return []
    return [_visible(line) for line in json.dumps(tool, ensure_ascii=False, indent=2, sort_keys=True).split("\n")]


def _visible(text: str) -> str:
    """Escape whatever a reader would not see, or would be misled by, such as a change of the writing direction."""
    return text if is_printable(text) else "".join(c if is_printable(c) else json.dumps(c)[1:-1] for c in text)

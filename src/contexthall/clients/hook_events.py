"""Hooks of clients: which events each sends, what they name, and how it wants to be answered.

Pure: a table, and functions from JSON values to values. Where each fact is documented is in `docs/cli.md`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from contexthall.core import limits

Moment = Literal["start", "before", "after", "forget"]
_PATCHED = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$", re.MULTILINE)
_WORD = re.compile(r"[\w./@+-]+")
_PATH_KEYS = ("file_path", "notebook_path", "absolute_path", "path")
_LIST_KEYS = ("paths", "include", "edits")


class HookKind(NamedTuple):
    """An event of a client: at which moments of ours it happens, and for which tools."""

    name: str
    reads: str = ""
    """Tools that read files, as the client's matcher spells them; nothing for an event without tools."""
    edits: str = ""
    moments: tuple[Moment, ...] = ()
    """For a tool that reads, or for an event without tools."""
    edit_moments: tuple[Moment, ...] = ()

    @property
    def matcher(self) -> str:
        return "|".join(filter(None, (self.reads, self.edits)))


class HookClient(NamedTuple):
    """A client whose hooks can tell its model something."""

    name: str
    file: str
    """Where its hooks stand, from the project root."""
    kinds: tuple[HookKind, ...]
    timeout: int
    """In the unit of the client."""
    root_variable: str = ""
    """Names its project."""
    loads: tuple[str, ...] = ()
    """The rule files that it gives to its model itself: names, and folders with a slash at the end."""
    loads_above: bool = False
    """Whether it does so only for directories above the one that it was started in."""


_START = HookKind("SessionStart", moments=("start",))
HOOK_CLIENTS: dict[str, HookClient] = {
    client.name: client
    for client in (
        HookClient(
            "claude-code",
            ".claude/settings.json",
            (
                _START,
                HookKind("PreToolUse", "Read", "Edit|MultiEdit|Write|NotebookEdit", ("before",), ("before",)),
                HookKind("PostToolUse", "", "Edit|MultiEdit|Write|NotebookEdit", (), ("after",)),
            ),
            timeout=10,
            root_variable="CLAUDE_PROJECT_DIR",
            loads=("CLAUDE.md", ".claude/CLAUDE.md", ".claude/rules/"),
        ),
        HookClient(
            "codex",
            ".codex/hooks.json",
            (
                _START,
                HookKind("PreToolUse", "Bash", "apply_patch", ("before",), ("before",)),
                # Its shell runs patches, too, and they come as a command.
                HookKind("PostToolUse", "", "Bash|apply_patch", (), ("after",)),
            ),
            timeout=10,
            loads=("AGENTS.md",),
            loads_above=True,
        ),
        # What its BeforeTool answers never reaches the model, so whoever reads a file is briefed right after.
        HookClient(
            "gemini-cli",
            ".gemini/settings.json",
            (
                _START,
                HookKind(
                    "AfterTool", "read_file|read_many_files", "replace|write_file", ("before",), ("before", "after")
                ),
                HookKind("PreCompress", moments=("forget",)),
            ),
            timeout=10_000,
            root_variable="GEMINI_PROJECT_DIR",
        ),
    )
}


class HookEvent(NamedTuple):
    """What happened, and to whom."""

    moments: tuple[Moment, ...]
    session: str
    agent: str
    """Which agent of the session it was; empty for the main one."""
    cwd: str
    paths: tuple[str, ...] = ()
    guessed: bool = False
    """Whether the paths are words of a shell command, of which only some may be paths."""
    forgets: bool = False
    """Whether the model has lost what it was told."""


def read_event(client: HookClient, name: str, values: Mapping[str, Any]) -> HookEvent | None:
    """Return what an event of a client says; None if there is nothing to do about it."""
    kind = next((each for each in client.kinds if each.name == name), None)
    session, cwd, tool = (_text(values.get(key)) for key in ("session_id", "cwd", "tool_name"))
    if kind is None or not session:
        return None
    moments = kind.moments
    if kind.matcher:
        is_edit = tool in kind.edits.split("|")
        if not is_edit and tool not in kind.reads.split("|"):
            return None
        moments = kind.edit_moments if is_edit else kind.moments
    tool_input = values.get("tool_input")
    paths = tuple(_few(_paths(tool, tool_input))) if isinstance(tool_input, Mapping) else ()
    forgets = values.get("source") in {"clear", "compact"} or moments == ("forget",)
    return HookEvent(moments, session, _text(values.get("agent_id")), cwd, paths, tool == "Bash", forgets)


def answer(event: str, text: str) -> dict[str, Any]:
    """Return what makes a client tell its model something."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def groups(client: HookClient, command: str) -> dict[str, dict[str, Any]]:
    """Return, by event, what stands in the client's file to have `command` run; the event is its last word."""
    found = {}
    for kind in client.kinds:
        hook = {"type": "command", "command": f"{command} {kind.name}", "timeout": client.timeout}
        found[kind.name] = {**({"matcher": kind.matcher} if kind.matcher else {}), "hooks": [hook]}
    return found


def is_loaded(client: HookClient, path: str, above: str) -> bool:
    """Return whether a client gives a rule file to its model itself; it was started in the directory `above`."""
    for name in client.loads:
        base = ""
        if name.endswith("/"):
            is_one = path.startswith(name) or f"/{name}" in path
        else:
            is_one = path == name or path.endswith(f"/{name}")
            base = path[: -len(name)].rstrip("/")
        if is_one and (not client.loads_above or not base or f"{above}/".startswith(f"{base}/")):
            return True
    return False


def _paths(tool: str, values: Mapping[str, Any]) -> Iterator[str]:
    command = values.get("command")
    if tool == "apply_patch":
        patch = values.get("input") if command is None else command
        yield from (found.strip() for found in _PATCHED.findall(_text(patch)))
    elif tool == "Bash":
        words = " ".join(map(_text, command)) if isinstance(command, list) else _text(command)
        yield from (word for word in _WORD.findall(words) if "/" in word or "." in word)
    else:
        yield from (_text(values.get(key)) for key in _PATH_KEYS)
        for key in _LIST_KEYS:
            each = values.get(key)
            for item in each if isinstance(each, list) else ():
                yield _text(item.get("file_path") if isinstance(item, Mapping) else item)


def _few(paths: Iterator[str]) -> list[str]:
    return [path for path in dict.fromkeys(paths) if path and "\0" not in path][: limits.HOOK_PATHS]


def _text(value: object) -> str:
    """Return a text that can be spelt; anything else is none."""
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "ignore").decode()

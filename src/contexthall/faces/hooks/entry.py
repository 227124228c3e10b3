"""`context hook CLIENT EVENT`: the event on standard input, what the model shall be told on standard output.

Nothing to say: nothing is said. Whatever goes wrong, the agent goes on: the exit code is 0 and nothing is printed. What
is needed only to say something is loaded only then: most calls find that everything was told already.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence

from contexthall.clients.hook_events import HOOK_CLIENTS, HookClient, HookEvent, answer, read_event
from contexthall.config.settings import user_directory
from contexthall.core import limits
from contexthall.core.errors import HallError
from contexthall.faces.hooks.told import Told
from contexthall.system.disk import Disk

_CHUNK = 1 << 16
_ROOT_FILES = (".context.lock", ".context.config.yaml", ".git")


def run(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Answer one event; the exit code is always 0."""
    client = HOOK_CLIENTS.get(arguments[0]) if arguments else None
    if client is None or arguments[1:] not in [[kind.name] for kind in client.kinds]:
        _complain(client)
        return 0
    try:
        text = respond(client, arguments[1], _read_input(), environment, Disk())
        if text:
            reply = json.dumps(answer(arguments[1], text), ensure_ascii=False)
            os.write(1, reply.encode("utf-8", "replace") + b"\n")
    except Exception as error:  # noqa: BLE001 - an agent is never stopped by what it might have been told
        if environment.get("CONTEXT_DEBUG"):
            print(repr(error), file=sys.stderr)  # noqa: T201 - click, which prints for others, costs too much here
    return 0


def respond(client: HookClient, name: str, data: bytes, environment: Mapping[str, str], disk: Disk) -> str:
    """Return what the model shall be told about an event; empty for nothing."""
    values = json.loads(data) if len(data) <= limits.HOOK_EVENT_BYTES else None
    event = read_event(client, name, values) if isinstance(values, dict) else None
    if event is None:
        return ""
    root = disk.real(_root(disk, environment.get(client.root_variable, "") or event.cwd or disk.working_directory()))
    user_cache = user_directory(environment, "XDG_CACHE_HOME", ".cache")
    told = Told(disk, user_cache, (client.name, root, event.session), event.agent)
    if event.forgets:
        told.forget()
    if event.moments == ("forget",):
        return ""
    paths = _places(disk, root, event)
    fresh = _unbriefed(disk, root, event, paths, told)
    is_edited = "after" in event.moments and bool(paths)
    if not fresh and not is_edited:
        return ""
    from contexthall.faces.hooks.speech import Speaker

    started = _inside(root, disk.real(event.cwd)) if event.cwd else None
    speaker = Speaker(disk, root, client, told, started or ".")
    parts = [speaker.brief(fresh) if fresh else "", speaker.failing(paths) if is_edited else ""]
    return "\n".join(filter(None, parts))


def _unbriefed(disk: Disk, root: str, event: HookEvent, paths: Sequence[str], told: Told) -> list[str]:
    """Return the directories about which nobody has spoken to this agent yet; from now on somebody has."""
    places = ["."] if "start" in event.moments else []
    if "before" in event.moments:
        places += [_directory(disk, root, path) for path in paths]
    return [place for place in dict.fromkeys(places) if told.claim("directory", place)]


def _places(disk: Disk, root: str, event: HookEvent) -> list[str]:
    """Return the paths of an event that lie in the project, from its root."""
    found = []
    for path in event.paths:
        try:
            whole = os.path.join(event.cwd or root, path)
            place = _inside(root, disk.real(whole))
            if place is not None and (not event.guessed or disk.is_there(whole)):
                found.append(place)
        except HallError:
            continue
    return found


def _inside(root: str, path: str) -> str | None:
    base = root.rstrip("/") + "/"
    if path == root:
        return "."
    return path[len(base) :] if path.startswith(base) else None


def _directory(disk: Disk, root: str, place: str) -> str:
    is_directory = disk.kind(os.path.join(root, place)) == "directory"
    return place if is_directory else os.path.dirname(place) or "."


def _root(disk: Disk, start: str) -> str:
    """Return the project that a directory belongs to: the nearest one that says so, else itself."""
    place = os.path.normpath(start)
    while True:
        if any(disk.is_there(os.path.join(place, name)) for name in _ROOT_FILES):
            return place
        above = os.path.dirname(place)
        if above == place:
            return os.path.normpath(start)
        place = above


def _read_input() -> bytes:
    chunks, size = list[bytes](), 0
    while size <= limits.HOOK_EVENT_BYTES and (chunk := os.read(0, _CHUNK)):
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks)


def _complain(client: HookClient | None) -> None:
    names = [kind.name for kind in client.kinds] if client else list(HOOK_CLIENTS)
    what = "EVENT" if client else "CLIENT"
    words = f"context hook CLIENT EVENT: {what} is one of {', '.join(names)}"
    print(f"{words}\n\nhint: agents run it; `context connect CLIENT --hooks` sets it up", file=sys.stderr)  # noqa: T201

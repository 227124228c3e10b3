"""The hall's hooks in a client's file: put in beside those of others, and taken out again.

Pure: text in, text out.
"""

import re
from collections.abc import Mapping
from functools import partial

from contexthall.clients import jsonc
from contexthall.clients.change import object_at
from contexthall.clients.hook_events import HookClient, groups

_KEY = "hooks"


def with_hooks(text: str, client: HookClient, command: str) -> str:
    """Return the text with our hooks, each once, and nothing else changed."""
    for event, group in groups(client, command).items():
        there = object_at(jsonc.parse(text) if text.strip() else {}, (_KEY,)).get(event)
        ours = [each for each in there if _is_ours(client, each)] if isinstance(there, list) else []
        if ours != [group]:
            text = _without(text, client, event)
            text = jsonc.with_element(text, (_KEY,), event, group)
    return text


def without_hooks(text: str, client: HookClient) -> str:
    """Return the text without our hooks, and nothing else changed."""
    for kind in client.kinds:
        text = _without(text, client, kind.name)
    is_empty = text.strip() and jsonc.parse(text).get(_KEY) == {}
    return jsonc.without_member(text, (), _KEY) if is_empty else text


def has_hooks(text: str, client: HookClient) -> bool:
    return without_hooks(text, client) != text


def _without(text: str, client: HookClient, event: str) -> str:
    return jsonc.without_elements(text, (_KEY,), event, partial(_is_ours, client)) if text.strip() else text


def _is_ours(client: HookClient, group: object) -> bool:
    hooks = group.get("hooks") if isinstance(group, Mapping) else None
    return isinstance(hooks, list) and bool(hooks) and all(_is_our_command(client, each) for each in hooks)


def _is_our_command(client: HookClient, hook: object) -> bool:
    command = hook.get("command") if isinstance(hook, Mapping) else None
    pattern = rf"(?:contexthall|\bcontext)['\"]? hook {re.escape(client.name)} \w+"
    return isinstance(command, str) and re.search(pattern, command) is not None

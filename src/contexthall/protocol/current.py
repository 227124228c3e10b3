"""The revision 2026-07-28: no handshake, but an envelope in every request, and a stamp on every result."""

import msgspec

from contexthall.core.catalog import JsonObject
from contexthall.protocol import messages
from contexthall.protocol.messages import Request, Result, RpcError
from contexthall.protocol.shapes import Shape

VERSION = "2026-07-28"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"

ENVELOPE: Shape = {"_meta": {CAPABILITIES_KEY: dict, f"{CLIENT_KEY}?": {"name": str, "version": str}}}
_KINDS = {
    "toolsListChanged?": bool,
    "promptsListChanged?": bool,
    "resourcesListChanged?": bool,
    "resourceSubscriptions?": list,
}
LISTEN: Shape = {"notifications": _KINDS}

# Clients are told when the list changes, so they may keep it meanwhile.
_CACHE_HINT = {"ttlMs": 60_000, "cacheScope": "private"}


def has_envelope(params: JsonObject) -> bool:
    """Return whether a request claims to be of this era."""
    meta = params.get("_meta")
    return isinstance(meta, dict) and VERSION_KEY in meta


def check_envelope(params: JsonObject) -> None:
    """Raise RpcError unless a request says in which version it is, and what its client can do."""
    meta = params.get("_meta")
    missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if not isinstance(meta, dict) or key not in meta]
    if missing:
        raise RpcError(messages.INVALID_PARAMS, f"`params._meta` lacks {' and '.join(f'`{key}`' for key in missing)}")
    version = params["_meta"][VERSION_KEY]
    if not isinstance(version, str):
        raise RpcError(messages.INVALID_PARAMS, f"`{VERSION_KEY}` must be a string")
    if version != VERSION:
        raise unsupported(version)


def unsupported(version: object, message: str = "Unsupported protocol version") -> RpcError:
    """Return the error of a version that is not served, or not so."""
    named = {"requested": version} if isinstance(version, str) else {}
    return RpcError(messages.UNSUPPORTED_VERSION, message, {"supported": [VERSION], **named})


def envelope(client: JsonObject) -> JsonObject:
    """Return what a client says in every request."""
    return {VERSION_KEY: VERSION, CLIENT_KEY: client, CAPABILITIES_KEY: {}}


def discovery(capabilities: JsonObject, instructions: str) -> JsonObject:
    """Return what a server answers to `server/discover`."""
    return {"supportedVersions": [VERSION], "capabilities": capabilities, "instructions": instructions}


def stamped(result: Result, server: JsonObject, *, is_cacheable: bool = False) -> Result:
    """Return a result with what every result has in this era; one in bytes is not parsed below its top level."""
    more = {"resultType": "complete", **(_CACHE_HINT if is_cacheable else {})}
    if not isinstance(result, bytes):
        return {**result, **more, "_meta": {**(result.get("_meta") or {}), SERVER_KEY: server}}
    top = messages.top_level(result)
    meta = messages.parse(bytes(top["_meta"])) if "_meta" in top else None
    stamp = {**(meta if isinstance(meta, dict) else {}), SERVER_KEY: server}
    return messages.spell({**top, **more, "_meta": msgspec.Raw(messages.spell(stamp))})


def subscription(request: Request) -> tuple[JsonObject, JsonObject]:
    """Return what names a subscription, and what is honoured: all that is asked for, though not all ever happens."""
    wanted = {kind: value for kind, value in request.params["notifications"].items() if f"{kind}?" in _KINDS and value}
    return {"_meta": {SUBSCRIPTION_KEY: request.id}}, wanted

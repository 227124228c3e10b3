"""The revision 2026-07-28: no handshake, but an envelope in the `_meta` of every request and result."""

from contexthall.core import raw_json
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
_LISTS = ("toolsListChanged?", "promptsListChanged?", "resourcesListChanged?")
_KINDS = {**dict.fromkeys(_LISTS, bool), "resourceSubscriptions?": list}
LISTEN: Shape = {"notifications": _KINDS}

# Clients are notified when the list changes, so they may keep it meanwhile.
_CACHE_HINT = {"ttlMs": 60_000, "cacheScope": "private"}


def has_envelope(params: JsonObject) -> bool:
    """Return whether a request claims to be of this revision."""
    meta = params.get("_meta")
    return isinstance(meta, dict) and VERSION_KEY in meta


def check_envelope(params: JsonObject) -> None:
    """Raise RpcError unless a request has its protocol version, this one, and its client's capabilities."""
    meta = params.get("_meta")
    if missing := [key for key in (VERSION_KEY, CAPABILITIES_KEY) if not isinstance(meta, dict) or key not in meta]:
        raise RpcError(messages.INVALID_PARAMS, f"`params._meta` lacks {' and '.join(f'`{key}`' for key in missing)}")
    version = params["_meta"][VERSION_KEY]
    if not isinstance(version, str):
        raise RpcError(messages.INVALID_PARAMS, f"`{VERSION_KEY}` must be a string")
    if version != VERSION:
        raise unsupported(version)


def unsupported(version: object, message: str = "Unsupported protocol version") -> RpcError:
    """Return the error for a version that is not supported, or not in this way."""
    named = {"requested": version} if isinstance(version, str) else {}
    return RpcError(messages.UNSUPPORTED_VERSION, message, {"supported": [VERSION], **named})


def envelope(client: JsonObject) -> JsonObject:
    """Return the `_meta` of a client's requests."""
    return {VERSION_KEY: VERSION, CLIENT_KEY: client, CAPABILITIES_KEY: {}}


def discover_result(capabilities: JsonObject, instructions: str) -> JsonObject:
    """Return the result of `server/discover`."""
    return {"supportedVersions": [VERSION], "capabilities": capabilities, "instructions": instructions}


def enveloped(result: Result, server: JsonObject, *, is_cacheable: bool = False) -> Result:
    """Return a result with the fields of this revision; one in bytes is not parsed below its top level."""
    more = {"resultType": "complete", **(_CACHE_HINT if is_cacheable else {})}
    if not isinstance(result, bytes):
        return {**result, **more, "_meta": {**(result.get("_meta") or {}), SERVER_KEY: server}}
    top = raw_json.top_level(result)
    meta = raw_json.parse(bytes(top["_meta"])) if "_meta" in top else None
    meta = {**(meta if isinstance(meta, dict) else {}), SERVER_KEY: server}
    return raw_json.encode({**top, **more, "_meta": raw_json.Raw(raw_json.encode(meta))})


def subscription(request: Request) -> tuple[JsonObject, JsonObject]:
    """Return the params that identify a subscription, and its kinds: all requested ones, even if none occur."""
    wanted = {kind: value for kind, value in request.params["notifications"].items() if f"{kind}?" in _KINDS and value}
    return {"_meta": {SUBSCRIPTION_KEY: request.id}}, wanted

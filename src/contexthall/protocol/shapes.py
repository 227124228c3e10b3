"""Validation of the params of a request against the shape of its method."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from contexthall.protocol.messages import INVALID_PARAMS, RpcError

Shape: TypeAlias = Mapping[str, Any]
"""Maps a key to a type, several types, or the shape of an object; a key that ends in `?` may be missing or null."""

ANY: Shape = {}
REQUEST: Shape = {"_meta?": {"progressToken?": (str, int)}}

_NAMES = {str: "a string", int: "an integer", bool: "true or false", dict: "an object", list: "a list"}


def check(value: Mapping[str, Any], shape: Shape, where: str = "params") -> None:
    """Raise RpcError, which names the first invalid key, unless an object has a shape."""
    for key, wanted in shape.items():
        name = key.removesuffix("?")
        given = value.get(name)
        if type(given) is wanted or (given is None and name != key):
            continue
        kinds = (dict,) if isinstance(wanted, dict) else wanted if isinstance(wanted, tuple) else (wanted,)
        if not isinstance(given, kinds) or (isinstance(given, bool) and bool not in kinds):
            kind = " or ".join(_NAMES[each] for each in kinds)
            raise RpcError(INVALID_PARAMS, f"Invalid params: `{where}.{name}` must be {kind}")
        if isinstance(wanted, dict):
            check(given, wanted, f"{where}.{name}")

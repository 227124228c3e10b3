"""Which secrets does this user's keyring hold for the hall? The library `keyring` asks, where it is installed.

A secret goes from the keyring into the environment or the headers of one server. It is logged and shown nowhere.
"""

import importlib
from types import ModuleType
from typing import Any

from contexthall.core.errors import UsageError

_SERVICE = "contexthall"
_INSTALL = "install it with `pip install 'contexthall[keyring]'`, or name an environment variable instead"


def read_secret(name: str) -> str:
    """Return a secret, or raise UsageError with a sentence that has nothing of it."""
    value = _asked("get_password", _SERVICE, name)
    if not isinstance(value, str):
        raise UsageError(f"the keyring has no secret {name}", hint=f"type `context guild secret set {name}`")
    return value


def write_secret(name: str, value: str) -> None:
    """Keep a secret in the keyring."""
    _asked("set_password", _SERVICE, name, value)


def _asked(function: str, *arguments: str) -> Any:  # noqa: ANN401 - what the library gives
    library = _library()
    try:
        return getattr(library, function)(*arguments)
    except Exception as error:  # noqa: BLE001 - every backend has errors of its own
        # The text of the error is not passed on: some backends put what they were given into it.
        raise UsageError(
            f"the keyring cannot be used: it is locked, or there is none ({type(error).__name__})",
            hint="unlock it, or name an environment variable instead",
        ) from None


def _library() -> ModuleType:
    try:
        return importlib.import_module("keyring")
    except ImportError:
        raise UsageError("the library keyring is not installed", hint=_INSTALL) from None

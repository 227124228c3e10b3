"""Which secrets does this user's keyring hold for the hall? The library `keyring` asks, where it is installed.

A secret goes from the keyring into the environment or the headers of one server. It is logged and shown nowhere.
"""

import asyncio
import importlib
from concurrent.futures import Future
from threading import Thread
from types import ModuleType
from typing import Any

from contexthall.core import limits
from contexthall.core.errors import UsageError

_SERVICE = "contexthall"
_INSTALL = "install it with `pip install 'contexthall[keyring]'`, or name an environment variable instead"
_UNLOCK = "unlock it, or name an environment variable instead"


class SecretReader:
    """Reads secrets. A keyring that is locked may ask its user, and wait for ever: that holds up nobody else.

    It is asked in a daemon thread of its own, which no end of the process waits for, and once for all who ask.
    """

    def __init__(self) -> None:
        self._answers: dict[str, Future[str]] = {}

    async def read(self, name: str) -> str:
        """Return a secret, or raise UsageError with a sentence that has nothing of it."""
        answer = self._answers.get(name)
        if answer is None or answer.done():
            answer = self._answers[name] = _ask_in_thread(name)
        try:
            async with asyncio.timeout(limits.KEYRING_SECONDS):
                return await asyncio.wrap_future(answer)
        except TimeoutError:
            raise UsageError(f"the keyring did not answer within {limits.KEYRING_SECONDS:g} s", hint=_UNLOCK) from None


def _ask_in_thread(name: str) -> "Future[str]":
    answer: Future[str] = Future()
    answer.set_running_or_notify_cancel()  # nobody who stops waiting can cancel it

    def ask() -> None:
        try:
            answer.set_result(read_secret(name))
        except BaseException as error:  # noqa: BLE001 - whatever ended the thread would leave its waiters without an answer
            answer.set_exception(error if isinstance(error, UsageError) else _unusable(error))

    Thread(target=ask, name="keyring", daemon=True).start()
    return answer


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
    try:
        return getattr(_library(), function)(*arguments)
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - every backend has errors of its own
        raise _unusable(error) from None


def _unusable(error: BaseException) -> UsageError:
    # The text of the error is not passed on: some backends put what they were given into it.
    reason = f"it is locked, or there is none ({type(error).__name__})"
    return UsageError(f"the keyring cannot be used: {reason}", hint=_UNLOCK)


def _library() -> ModuleType:
    try:
        return importlib.import_module("keyring")
    except ImportError:
        raise UsageError("the library keyring is not installed", hint=_INSTALL) from None

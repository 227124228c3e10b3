"""Is it another hall that listens at a port of this machine?

Whatever listens there was written by others, and has two seconds to answer.
"""

import socket
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from threading import Timer

from contexthall.core import limits
from contexthall.core.wire import parse
from contexthall.faces.web.address import LOOPBACK

_WANTS_TOKEN = b"This hall wants its token"
UNTOLD = "of an unknown version"
"""The version of a hall that tells it only to those who have its token."""


def hall_at(port: int) -> str:
    """Return the version of the hall that listens at a port; empty if none does."""
    answer = _health_at(port)
    return UNTOLD if _WANTS_TOKEN in answer else _version_of_hall(answer)


def _version_of_hall(answer: bytes) -> str:
    with suppress(ValueError):
        health = parse(answer)
        if isinstance(health, dict) and health.get("status") == "ok" and isinstance(health.get("version"), str):
            return str(health["version"])
    return ""


def _health_at(port: int) -> bytes:
    """Return the body of the answer to `GET /healthz`, as far as it came within the time."""
    connection = HTTPConnection(LOOPBACK, port, timeout=limits.DOCTOR_PROBE_SECONDS)
    with suppress(OSError, HTTPException), closing(connection) as asking:
        asking.connect()
        # The time-out of a socket bounds each read; a peer that sends a byte a second would keep us waiting.
        deadline = Timer(limits.DOCTOR_PROBE_SECONDS, _hang_up, [asking.sock])
        deadline.start()
        try:
            asking.request("GET", "/healthz", headers={"Connection": "close"})
            return asking.getresponse().read(limits.DOCTOR_PROBE_BYTES)
        finally:
            deadline.cancel()
    return b""


def _hang_up(connected: socket.socket) -> None:
    with suppress(OSError):  # closed meanwhile
        connected.shutdown(socket.SHUT_RDWR)

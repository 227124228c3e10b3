"""The address of a hall over HTTP: parsed from what people type, formatted for a browser. Pure."""

import re
from typing import NamedTuple

from contexthall.core.errors import UsageError

LOOPBACK = "127.0.0.1"
DEFAULT_PORT = 8321
"""The port in agents' configuration, unless another is named."""
HINT = "such as 8080, 127.0.0.1:8080 or '[::1]:8080'"
_LARGEST_PORT = 65_535
_ADDRESS = re.compile(r"(?:(?P<host>[^:\[\]\s/]+|\[[0-9A-Fa-f:.]+\]):)?(?P<port>[0-9]{1,5})")


class Address(NamedTuple):
    """Where a hall listens."""

    host: str
    port: int

    @classmethod
    def read(cls, text: str) -> "Address":
        """Parse `[HOST:]PORT`."""
        found = _ADDRESS.fullmatch(text)
        if found is None or int(found["port"]) > _LARGEST_PORT:
            raise UsageError(f"{text!r} is not an address", hint=HINT)
        return cls((found["host"] or LOOPBACK).strip("[]"), int(found["port"]))

    @property
    def name(self) -> str:
        """The host as URLs have it."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def url(self) -> str:
        """Where a person of this machine finds the page."""
        everywhere = {"0.0.0.0": LOOPBACK, "::": "[::1]"}  # noqa: S104 - to be replaced by what a browser can open
        return f"http://{everywhere.get(self.host, self.name)}:{self.port}/"

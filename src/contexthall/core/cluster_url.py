"""How is the scheduler of a cluster spelt, and may it be spoken to? These rules look at the text alone."""

import re
from ipaddress import ip_address

from contexthall.core.errors import UsageError

_URL = re.compile(r"(tcp|tls)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})")
_HINT = (
    "start the scheduler with --host 127.0.0.1, or speak to it as tls://HOST:PORT, "
    "with the certificates that Dask's own configuration names (distributed.comm.tls)"
)


def parse_scheduler(text: str) -> str:
    """Return the URL of a scheduler: over TLS anywhere, without it on this machine alone.

    Whoever reaches a scheduler runs code on its workers, and whoever stands in between reads and changes what is sent.
    """
    found = _URL.fullmatch(text)
    if found is None or not 0 < int(found[3]) < 1 << 16:
        raise UsageError("no URL of a scheduler", hint="such as tcp://127.0.0.1:8786, or tls://HOST:8786")
    if found[1] == "tcp" and not _is_loopback(found[2].strip("[]")):
        raise UsageError(f"a scheduler without TLS on an open address is not used: {text}", hint=_HINT)
    return text


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

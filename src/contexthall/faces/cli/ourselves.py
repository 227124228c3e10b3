"""Which command starts this hall again, from any directory, next year too?

The command that was typed, by its absolute path. Not so under `uvx`: that runs the hall from a cache, which may be
cleared, so there it is `uvx` itself.
"""

import os
import re
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from shlex import join
from urllib.parse import unquote, urlsplit

from contexthall.core import wire
from contexthall.core.paths import absolute

SCRIPTS = ("context", "contexthall")
"""The names of the one command."""
_IN_THE_CACHE_OF_UV = re.compile(r"/(?:archive|environments)-v\d+/")


def command_of_this_hall(working_directory: str) -> list[str]:
    """Return the words with which a client starts what runs now."""
    if is_in_cache_of_uv(sys.prefix):
        return uvx_command(os.environ, installed_from())
    program = sys.argv[0]
    if os.path.basename(program) in SCRIPTS:
        return [absolute(program, working_directory)]
    # A client starts it wherever its user works: without -P, Python would import modules from there.
    return [sys.executable, "-P", "-m", "contexthall"]


def typed_command(found: str, working_directory: str) -> str:
    """Return what to type for `context`, of which the path has `found`: `uvx` puts it there only while it runs."""
    if found and not is_in_cache_of_uv(found):
        return "context"
    return join(command_of_this_hall(working_directory))


def is_in_cache_of_uv(path: str) -> bool:
    """Return whether `uvx` has put something there, to be removed when the cache is cleared."""
    return _IN_THE_CACHE_OF_UV.search(f"{path}/") is not None


def uvx_command(environment: Mapping[str, str], source: str) -> list[str]:
    """Return the call of `uvx` that gives the same hall; `source` is empty if that came from an index."""
    uv = environment.get("UV", "")
    uvx = os.path.join(os.path.dirname(uv), "uvx") if uv.startswith("/") else "uvx"
    return [uvx, *(["--from", source] if source else []), "contexthall"]


def installed_from() -> str:
    """Return the folder or the archive from which the package was installed; empty if it came from an index."""
    try:
        recorded = distribution("contexthall").read_text("direct_url.json")
    except PackageNotFoundError:
        return ""
    found = wire.parse(recorded.encode()) if recorded else None
    address = found.get("url") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(address, str):
        return ""
    if isinstance(repository := found.get("vcs_info"), dict):
        return f"{repository.get('vcs')}+{address}@{repository.get('commit_id')}"
    return unquote(urlsplit(address).path) if address.startswith("file:") else address

"""The process in which a hall that serves refreshes a cache: of low priority, and it ends with the hall.

An order comes as a line of JSON on standard input, which stays open for as long as the hall lives.
"""

import json
import os
import sys

from contexthall.config.settings import Settings
from contexthall.core.errors import BuildUnderWayError, HallError
from contexthall.hall import Hall
from contexthall.system.disk import Disk
from contexthall.system.processes import end_with_parent

_NICENESS = 10
"""A tenth of the weight of others: the lowest would wait for ever while somebody compiles."""


def main() -> None:
    """Refresh the cache that is ordered, and answer with a line of JSON: whether it was replaced, and why not."""
    os.nice(_NICENESS)
    answer = os.dup(1)
    os.dup2(2, 1)  # what an embedder prints is no answer
    order = json.loads(sys.stdin.buffer.readline())
    end_with_parent(sys.stdin.fileno())
    hall = Hall(Settings(**order["settings"]), Disk())
    is_done, failure = False, ""
    try:
        cache = hall.caches.locate(order["cache"])
        is_done = hall.refresh_cache(cache, only_project=True).built is not None
    except BuildUnderWayError:
        pass
    except HallError as error:
        failure = str(error)
    os.write(answer, json.dumps([is_done, failure]).encode() + b"\n")
    os._exit(0)  # the thread that waits for the end of the hall still does

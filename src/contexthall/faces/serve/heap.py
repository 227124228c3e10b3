"""How is the garbage collector tuned for a server?"""

import gc

from contexthall.core import limits
from contexthall.system.kernel import give_back_large_memory


def freeze_heap() -> None:
    """Freeze what is loaded by now, so that the garbage collector skips it; from now on it seldom has to look."""
    give_back_large_memory()
    gc.freeze()
    gc.set_threshold(limits.UNCOLLECTED_OBJECTS)
    gc.enable()

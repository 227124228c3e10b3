"""How is the garbage collector tuned for a server?"""

import gc

from contexthall.system.kernel import give_back_large_memory


def freeze_heap() -> None:
    """Freeze what is loaded by now, after a collection, so that the garbage collector skips it."""
    give_back_large_memory()
    gc.freeze()
    gc.enable()

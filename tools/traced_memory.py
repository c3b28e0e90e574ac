"""The most memory that a piece of work holds at once, as Python counts it."""

import gc
import tracemalloc
from collections.abc import Callable


def traced_peak(work: Callable[[], object]) -> int:
    """Bytes that `work` holds at most, beyond what was there before.

    What other tests left is put aside first. Otherwise cycles of objects would be looked for only after many new ones,
    since the time that this takes is kept to a share of all objects.
    """
    gc.collect()
    gc.freeze()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.unfreeze()

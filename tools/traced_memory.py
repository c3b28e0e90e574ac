"""The most memory that a piece of work holds at once, as Python counts it."""

import gc
import tracemalloc
from collections.abc import Callable


def traced_peak(work: Callable[[], object]) -> int:
    """Bytes that `work` holds at most, beyond what was there before.

    What other tests left is put aside first. Otherwise cycles of objects would be looked for only after many new ones,
    since the time that this takes is kept to a share of all objects. They are looked for as often as Python does by
    default.
    """
    earlier = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(700, 10, 10)
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.set_threshold(*earlier)
        gc.unfreeze()

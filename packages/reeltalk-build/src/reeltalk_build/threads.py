"""Maps a function over items in threads of this process, for work that mostly waits, such as for a language model."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def map_threads(function: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[tuple[int, R]]:
    """Call `function` on each item, several at a time.

    If a call raises, no further call begins. Running calls are waited for and their results are yielded; then the
    error is raised. If you close the iterator, no further call begins and running calls are waited for; on Ctrl-C they
    are not, and closing what they wait for, such as a model, ends them.

    Args:
        function: The function to call. It must be safe to call in several threads.
        items: Taken as threads become free.
        threads: Calls at a time.

    Yields:
        Position of the item and result, as calls end.

    Raises:
        ValueError: `threads` is below one.
    """
    if threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}")
    return _mapped(function, items, threads)


def _mapped(function: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[tuple[int, R]]:
    pool = ThreadPoolExecutor(threads, thread_name_prefix="map")
    under_way: dict[Future[R], int] = {}
    queue = enumerate(items)
    raised: BaseException | None = None
    waits = True
    try:
        while True:
            # Twice the number of threads, so that none is idle while its result is handled.
            while raised is None and len(under_way) < 2 * threads and (following := next(queue, None)) is not None:
                under_way[pool.submit(function, following[1])] = following[0]
            if not under_way:
                break
            for future in sorted(wait(under_way, return_when=FIRST_COMPLETED).done, key=under_way.__getitem__):
                index = under_way.pop(future)
                error = future.exception()
                if error is None:
                    yield index, future.result()
                elif raised is None:
                    raised = error
                    for other in [other for other in under_way if other.cancel()]:
                        del under_way[other]
        if raised is not None:
            raise raised
    except KeyboardInterrupt:
        # A reply may take minutes.
        waits = False
        raise
    finally:
        pool.shutdown(wait=waits, cancel_futures=True)

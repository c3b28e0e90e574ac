"""Threads end in order: results first, then the error, and nothing begins after it."""

import signal
import threading
import time

import pytest

from reeltalk.errors import BudgetError
from reeltalk_build.threads import map_threads


def test_every_item_gives_its_result_with_its_position() -> None:
    found = dict(map_threads(lambda n: n * n, range(100), 4))
    assert found == {n: n * n for n in range(100)}
    assert list(map_threads(str, [], 4)) == []


def test_results_come_as_they_end() -> None:
    slow = threading.Event()

    def work(n: int) -> int:
        if n == 0:
            slow.wait(10)
        return n

    results = map_threads(work, range(4), 2)
    first = [next(results)[0] for _ in range(3)]
    slow.set()
    assert sorted(first) == [1, 2, 3]
    assert [index for index, _ in results] == [0]


def test_as_many_at_a_time_as_there_are_threads() -> None:
    lock = threading.Lock()
    now, most = 0, 0

    def work(_: int) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.002)
        with lock:
            now -= 1

    assert len(list(map_threads(work, range(50), 3))) == 50
    assert most == 3


def test_after_an_error_nothing_begins_and_what_runs_gives_its_results() -> None:
    begun: list[int] = []
    failed = threading.Event()

    def work(n: int) -> int:
        begun.append(n)
        if n == 1:
            failed.set()
            raise BudgetError("the budget is spent")
        failed.wait(10)
        time.sleep(0.05)
        return n

    found: list[int] = []
    results = map_threads(work, range(1000), 2)
    with pytest.raises(BudgetError, match="spent"):
        found.extend(index for index, _ in results)
    assert len(begun) < 6
    assert sorted(found) == sorted(set(begun) - {1})


def test_closing_the_iterator_waits_for_what_runs() -> None:
    ended: list[int] = []

    def work(n: int) -> int:
        time.sleep(0.02)
        ended.append(n)
        return n

    results = map_threads(work, range(1000), 2)
    next(results)
    results.close()  # type: ignore[attr-defined]
    count = len(ended)
    time.sleep(0.1)
    assert len(ended) == count < 10


def test_control_c_waits_for_no_call() -> None:
    begun, closed = list[int](), threading.Event()

    def work(n: int) -> None:
        begun.append(n)
        if n == 2:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        if n > 1:
            closed.wait(60)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    began_s = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            list(map_threads(work, range(1000), 2))
    finally:
        took_s = time.monotonic() - began_s
        signal.signal(signal.SIGINT, before)
        closed.set()
    time.sleep(0.1)
    assert took_s < 30
    assert len(begun) < 8


def test_at_least_one_thread_is_needed() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        map_threads(str, [1], 0)

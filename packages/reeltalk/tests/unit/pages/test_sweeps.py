"""Runs of one model that differ in one setting are found, and compared over the same turns."""

from collections.abc import Callable

import pytest

from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.pages.sweeps import find_sweeps, sweep_metrics
from reeltalk.store.runs import Run

RunMaker = Callable[..., Run]
UNITS = {"a": [100.0, 0.0], "b": [0.0, 0.0], "c": [100.0, 100.0]}


def told(history: str, mode: str = "dialogue", **more: str) -> dict[str, str]:
    return {"mode": mode, "history": history} | more


def test_histories_stand_from_none_to_all(make_played: RunMaker) -> None:
    runs = [make_played(name, UNITS, signed=told(name)) for name in ("corrupted-1", "golden", "none", "predicted")]
    (line,) = find_sweeps(build_leaderboard(runs))
    assert line.setting == "history"
    assert line.values == ("none", "predicted", "golden", "corrupted-1")
    assert line.indices == (2, 3, 1, 0)


def test_numbers_stand_by_size(make_played: RunMaker) -> None:
    runs = [make_played(f"f{count}", UNITS, signed=told("golden", frames=count)) for count in ("16", "4", "128")]
    assert [line.values for line in find_sweeps(build_leaderboard(runs))] == [("4", "16", "128")]


def test_memories_stand_by_their_frames(make_played: RunMaker) -> None:
    memories = {"every": "all", "large": "4-1024-1024-512", "small": "4-8-8-512", "middle": "4-32-32-512"}
    runs = [make_played(name, UNITS, signed=told("golden", memory=kept)) for name, kept in memories.items()]
    (line,) = find_sweeps(build_leaderboard(runs))
    assert (line.setting, line.values) == ("memory", ("16 frames", "64 frames", "2,048 frames", "all"))


def test_single_turns_stand_beside_every_history(make_played: RunMaker) -> None:
    runs = [
        make_played("one", UNITS, signed=told("golden")),
        make_played("two", UNITS, signed=told("predicted")),
        make_played("three", UNITS, signed=told("none", mode="single")),
    ]
    lines = [line for line in find_sweeps(build_leaderboard(runs)) if line.setting == "mode"]
    assert [(line.name, line.values) for line in lines] == [
        ("alpha (history golden)", ("single", "dialogue")),
        ("alpha (history predicted)", ("single", "dialogue")),
    ]
    # Named in figures by the run that is theirs alone.
    assert [line.index for line in lines] == [0, 1]


@pytest.mark.parametrize(
    "other",
    [
        {"signed": told("none", frames="4")},
        {"signed": told("none"), "benchmark": "b2"},
        {"signed": told("none"), "model": "beta"},
        {"signed": told("golden")},
    ],
)
def test_runs_that_differ_in_more_or_in_nothing_are_no_line(make_played: RunMaker, other: dict[str, object]) -> None:
    first = make_played("first", UNITS, signed=told("golden"))
    assert find_sweeps(build_leaderboard([first, make_played("second", UNITS, **other)])) == []


def test_who_knows_nothing_is_left_out(make_played: RunMaker) -> None:
    null = {"model": "empty", "source": "baseline:empty"}
    runs = [make_played(name, UNITS, signed=told(name), **null) for name in ("none", "golden")]
    runs.append(make_played("other", UNITS, signed=told("golden")))
    assert find_sweeps(build_leaderboard(runs)) == []


def test_the_difference_is_over_turns_that_both_have(make_played: RunMaker) -> None:
    without = make_played("none", {"a": [0.0, 0.0], "b": [0.0, None], "c": [0.0, 100.0]}, signed=told("none"))
    board = build_leaderboard([make_played("golden", UNITS, signed=told("golden")), without])
    lines = find_sweeps(board)
    ((one,),) = sweep_metrics(board, lines)
    first, second = one.steps
    assert first.difference is None
    assert second.value is not None
    assert second.difference is not None
    # Turns a/01, a/02, b/01, c/01 and c/02: right are 1 of 5 without, 3 of 5 with the history.
    assert second.difference.value == pytest.approx(40)
    assert second.difference.n == 5
    assert second.difference.low is not None
    assert second.same_turns


def test_other_turns_about_the_same_videos_compare_by_video(make_played: RunMaker) -> None:
    where = {"a": "v1", "b": "v2", "c": "v3", "path-a": "v1", "path-b": "v2", "path-z": "v9"}
    paths = {"path-a": [100.0], "path-b": [100.0], "path-z": [0.0]}
    runs = [
        make_played("dialogue", UNITS, signed=told("golden"), videos=where),
        make_played("stream", paths, signed=told("golden", mode="streaming"), videos=where),
    ]
    board = build_leaderboard(runs)
    ((one,),) = sweep_metrics(board, find_sweeps(board))
    step = one.steps[1]
    assert not step.same_turns
    assert step.difference is not None
    # Of v1 and v2, which both have: 2 of 2 right against 1 of 4.
    assert step.difference.value == pytest.approx(75)
    assert step.difference.n == 2


def test_a_number_that_is_no_mean_of_turns_has_no_difference(make_played: RunMaker) -> None:
    runs = [make_played(name, UNITS, signed=told(name), value=77.0) for name in ("none", "golden")]
    board = build_leaderboard(runs)
    ((one,),) = sweep_metrics(board, find_sweeps(board))
    assert one.steps[1].value is not None
    assert one.steps[1].difference is None


def test_numbers_of_other_judges_do_not_compare(make_played: RunMaker) -> None:
    runs = [
        make_played("none", UNITS, signed=told("none"), judge="one"),
        make_played("golden", UNITS, signed=told("golden"), judge="two"),
    ]
    board = build_leaderboard(runs)
    assert sweep_metrics(board, find_sweeps(board)) == [[]]

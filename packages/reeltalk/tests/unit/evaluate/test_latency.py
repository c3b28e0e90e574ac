"""Times, frames and memory by turn, by the length of the video, and by the moment of the question."""

import pytest

from reeltalk.evaluation.tables import LENGTHS_S, MOMENT_BOUNDS_S, latency_measures, length_group
from reeltalk.judge.measures import group_measure
from reeltalk.schema.answers import AnsweredTurn, AnswerState, PlayDetails
from reeltalk.schema.record import VideoId


def asked(at_s: float | None, played: PlayDetails | None, *, video: str = "v", index: int = 0) -> AnsweredTurn:
    return AnsweredTurn(
        model="m", item_id=f"{video}/{index}", video_id=VideoId(video), unit_id=video, turn_index=index, question="?",
        references=("r",), text="a", asked_at_s=at_s, played=played,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("at_s", "group"),
    [(0.0, "0-30 s"), (29.9, "0-30 s"), (30.0, "30-60 s"), (3599.9, "1800-3600 s"), (3600.0, "3600 s and more")],
)
def test_a_group_goes_from_its_bound_to_below_the_next(at_s: float, group: str) -> None:
    assert length_group(at_s, MOMENT_BOUNDS_S) == group


def test_bounds_rise_and_an_unknown_length_has_a_group_of_its_own() -> None:
    assert all(list(bounds) == sorted(set(bounds)) for bounds in (MOMENT_BOUNDS_S, LENGTHS_S))
    assert length_group(None) == "unknown"


def test_memory_is_told_in_mebibytes_where_a_model_tells_it() -> None:
    kept = [PlayDetails(memory_bytes=n * 1024 * 1024, took_s=1.0, frames_s=(1.0, 2.0), new_frames=1) for n in (2, 4)]
    turns = [asked(10.0, kept[0]), asked(70.0, kept[1], index=1), asked(75.0, PlayDetails(took_s=3.0), index=2)]
    found = {measure.name: measure for measure in latency_measures(turns, {"v": 100.0}.get)}
    assert (found["memory_mib"].value, found["memory_mib"].n) == (3.0, 2)
    by_moment = group_measure(found["memory_mib"], "asked_at")
    assert {group: part.value for group, part in by_moment.items()} == {"0-30 s": 2.0, "60-90 s": 4.0}
    assert group_measure(found["took_s"], "asked_at")["60-90 s"].value == 2.0
    assert group_measure(found["new_frames"], "video_length")["60-120 s"].n == 3


def test_a_model_that_tells_no_memory_has_no_number_of_it() -> None:
    names = [measure.name for measure in latency_measures([asked(1.0, PlayDetails(took_s=1.0))], lambda _: None)]
    assert "memory_mib" not in names
    assert "took_s" in names


def test_a_question_without_a_moment_is_asked_at_the_end_of_its_video() -> None:
    turns = [asked(None, PlayDetails(took_s=1.0)), asked(None, PlayDetails(took_s=2.0), video="w")]
    (took,) = [measure for measure in latency_measures(turns, {"v": 100.0, "w": None}.get) if measure.name == "took_s"]
    assert set(group_measure(took, "asked_at")) == {"90-120 s", "unknown"}


def test_answers_that_failed_took_no_time_that_counts() -> None:
    failed = asked(1.0, PlayDetails(took_s=9.0, memory_bytes=5)).model_copy(update={"state": AnswerState.FAILED})
    assert latency_measures([failed, asked(1.0, None)], lambda _: None) == []

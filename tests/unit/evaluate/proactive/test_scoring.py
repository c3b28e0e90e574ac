"""Logs are scored from words and times alone; what was not played is counted, never taken for silence."""

import json
import re

import pytest

from reeltalk.errors import BenchmarkError
from reeltalk.evaluate.proactive.scoring import (
    ProactiveScores,
    judge_reply,
    play_of,
    score_sessions,
    scores_json,
    scores_table,
)
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import VideoId
from reeltalk.schema.stream import Moment, ProactiveTask, StreamEvent
from reeltalk.store.event_log import SessionLog

MUG = Moment(interval=Interval(start_s=10, end_s=14), references=("He picks up the mug now.", "He picks up the mug."))
DOOR = Moment(interval=Interval(start_s=30, end_s=34), references=("He opens the fridge.",))


def task(name: str, video: str, *moments: Moment, kind: str = "event") -> ProactiveTask:
    return ProactiveTask(
        id=name, video_id=VideoId(video), instruction="Tell me.", until_s=60, moments=moments, kind=kind
    )


def session(
    name: str, video: str, *replies: tuple[float, str], last: str = "ended", model: str = "m", threshold: str = "0.5"
) -> SessionLog:
    def event(kind: str, at_s: float, text: str = "") -> StreamEvent:
        return StreamEvent.model_validate(
            {"model": model, "session": name, "video_id": video, "kind": kind, "at_s": at_s, "text": text}
            | ({"extra": {"settings": {"threshold": threshold}}} if kind == "started" else {})
        )

    said = [event("replied", at_s, text) for at_s, text in replies]
    return SessionLog(model, name, video, [event("started", 0), *said, event(last, 60, "it broke" * (last != "ended"))])


def values(scores: ProactiveScores) -> dict[str, float | None]:
    return {row.metric: row.value for row in scores.summary}


def test_replies_are_judged_by_their_words() -> None:
    assert judge_reply("He picks up the mug.", MUG) == 2
    assert judge_reply("The person takes the mug.", MUG) == 2
    assert judge_reply("He sits down on the sofa, reads a book, watches TV and then picks up the mug.", MUG) == 1
    assert judge_reply("He picks up the plate.", MUG) == 0
    assert judge_reply("He opens the fridge.", MUG) == 0
    assert judge_reply("Now.", MUG) == 0


def test_measures_of_a_log_by_hand() -> None:
    tasks = [task("a", "v1", MUG, DOOR), task("b", "v2", MUG), task("c", "v2", kind="absent")]
    scores = score_sessions(
        [
            session("a", "v1", (11, "He picks up the mug."), (50, "He picks up the mug.")),
            session("b", "v2", (11, "He opens the fridge.")),
            session("c", "v2", (20, "He picks up the mug.")),
        ],
        tasks,
    )
    found = values(scores)
    assert found["time_correct"] == pytest.approx(2 / 3)
    assert found["time_and_answer_correct"] == pytest.approx(1 / 3)
    assert found["missed"] == pytest.approx(2 / 3)
    assert found["latency_s"] == 1.0
    # One of 4 replies found one of 3 slots at its best time.
    assert found["timeliness_f1"] == pytest.approx(2 / 7)
    # Silence was right for 60 - 16, 60 - 8 and 60 s, and broken at 50 s of the first and 20 s of the last.
    assert found["false_alarms_per_hour"] == pytest.approx(2 / (156 / 3600))
    assert found["duplicate_ratio"] == 0
    absent = [row for row in scores.groups if row.group == "absent" and row.metric == "false_alarms_per_hour"]
    assert absent[0].value == pytest.approx(60)
    (signature,) = {row.signature for row in scores.summary}
    assert re.fullmatch(r"proactive:v2\|data:\w{8}\|judge:agree-v1\|threshold:0.5\|films:\w{8}", signature)
    row = next(row for row in scores.summary if row.metric == "time_correct")
    assert row.value is not None
    assert (row.low, row.high) == (None, None), "three videos are too few"


def test_what_has_no_play_is_counted_and_never_zero() -> None:
    tasks = [task(f"t{n}", f"v{n}", MUG) for n in range(4)]
    right = [session(f"t{n}", f"v{n}", (10, "He picks up the mug.")) for n in range(2)]
    scores = score_sessions([*right, session("t2", "v2", last="failed")], tasks)
    row = next(row for row in scores.summary if row.metric == "time_correct")
    # Beyond 2 % without a play, the value over the rest is told apart.
    assert (row.value, row.over_scored, row.unscored, row.n) == (None, 1.0, 2, 2)
    assert scores.unscored["m"] == {"t2": "it broke", "t3": "it was not played"}
    assert "— (1.000 over what was scored)" in scores_table(scores)
    short = session("t3", "v3")
    short.events[-1] = short.events[-1].model_copy(update={"at_s": 30.0})
    assert score_sessions([short], [tasks[3]]).unscored["m"]["t3"] == "it ended at 30 s of 60 s"
    broken = session("t3", "v3")
    broken.events.pop()
    assert score_sessions([broken], [tasks[3]]).unscored["m"]["t3"] == "it was broken off"


def test_plays_of_one_model_must_fit_together() -> None:
    tasks = [task("a", "v1", MUG), task("b", "v2", MUG)]
    with pytest.raises(BenchmarkError, match="played task 'a' twice"):
        score_sessions([session("a", "v1"), session("a", "v1")], tasks)
    with pytest.raises(BenchmarkError, match="different settings"):
        score_sessions([session("a", "v1"), session("b", "v2", threshold="0.7")], tasks)
    both = score_sessions([session("a", "v1"), session("a", "v1", model="other", threshold="0.7")], tasks[:1])
    assert {row.model for row in both.summary} == {"m", "other"}


def test_a_reply_is_judged_for_each_moment_alone() -> None:
    play = play_of(session("a", "v1", (11, "He picks up the mug.")), task("a", "v1", MUG, DOOR))
    assert play.replies[0].correct == (2, 0)


def test_scores_are_a_table_and_a_document() -> None:
    scores = score_sessions([session("a", "v1", (10, "He picks up the mug."))], [task("a", "v1", MUG)])
    text = scores_table(scores)
    assert "time_and_answer_correct  1.000" in text
    assert "1 tasks; proactive:v2" in text
    document = json.loads(scores_json(scores))
    assert set(document) == {"summary", "groups", "unscored"}
    assert {row["metric"] for row in document["summary"]} == {row.metric for row in scores.summary}
    assert document["groups"][0]["group"] == "event"

"""Logs are scored from words and times alone; what was not played is counted, never taken for silence."""

import json
import re

import pytest

from reeltalk.errors import BenchmarkError
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import VideoId
from reeltalk.schema.stream import Moment, ProactiveTask, StreamEvent, UserRequest
from reeltalk.store.event_log import SessionLog
from reeltalk_streaming.proactive.scores import (
    ProactiveScores,
    judge_reply,
    play_of,
    says_not_yet,
    score_sessions,
    scores_json,
    scores_table,
)

MUG = Moment(interval=Interval(start_s=10, end_s=14), references=("He picks up the mug now.", "He picks up the mug."))
DOOR = Moment(interval=Interval(start_s=30, end_s=34), references=("He opens the fridge.",))


def task(name: str, video: str, *moments: Moment, kind: str = "event") -> ProactiveTask:
    said = UserRequest(text="Tell me.", moments=moments)
    return ProactiveTask(id=name, video_id=VideoId(video), requests=(said,), until_s=60, kind=kind)


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


def test_a_message_must_name_who_acts_and_on_what() -> None:
    due = Moment(interval=Interval(start_s=1, end_s=4), references=("Anna opens the red box.", "Now Anna opens it."))
    due = due.model_copy(update={"references": due.references[:1]})
    assert judge_reply("Now Anna opens the red box!", due) == 2
    for other in (
        "Tom opens the red box.",
        "Anna opens the blue box.",
        "Anna closes the red box.",
        "Somebody opens it.",
    ):
        assert judge_reply(other, due) == 0, other
    assert judge_reply("Anna walks to the table, takes a seat and opens the red box.", due) == 1
    # An answer need not repeat its question.
    who = Moment(interval=Interval(start_s=1, end_s=4), references=("Anna.",))
    assert judge_reply("Anna opens it.", who, "Who opens the red box?") == 2
    assert judge_reply("Tom opens the red box.", who, "Who opens the red box?") == 0
    # Nor does who repeats it answer it.
    where = Moment(interval=Interval(start_s=1, end_s=4), references=("In the fridge.", "Anna puts it in the fridge."))
    assert judge_reply("Where will Anna put it?", where, "Where will Anna put it?") == 0
    assert judge_reply("She puts it in the fridge.", where, "Where will Anna put it?") == 2
    yes = Moment(interval=Interval(start_s=1, end_s=4), references=("Yes.",))
    assert judge_reply("Yes, it is on.", yes, "Is the kettle on?") == 2
    assert judge_reply("No.", yes, "Is the kettle on?") == 0


def test_an_echo_of_the_instruction_is_wrong() -> None:
    told = "Tell me when Anna opens the red box."
    due = Moment(interval=Interval(start_s=10, end_s=14), references=("Anna opens the red box.",))
    assert judge_reply("Anna opens the red box.", due, instruction=told) == 2
    for echo in (told, told.upper(), f"You said: {told}", "tell me when anna opens the red box"):
        assert judge_reply(echo, due) > 0
        assert judge_reply(echo, due, instruction=told) == 0


@pytest.mark.parametrize(
    "text", ["Not yet.", "I cannot tell yet.", "That has not been shown.", "I don't know.", "Wait."]
)
def test_not_yet_is_no_answer(text: str) -> None:
    assert says_not_yet(text)
    assert not says_not_yet("Anna opens the box, not Tom.")
    waiting = ProactiveTask(
        id="w",
        video_id=VideoId("v1"),
        until_s=60,
        kind="ready",
        requests=(
            UserRequest(
                at_s=5,
                text="Who opens the box?",
                act="await",
                moments=(Moment(interval=Interval(start_s=30, end_s=34), references=("Anna.",)),),
            ),
        ),
    )
    patient = play_of(session("w", "v1", (6, text), (31, "Anna.")), waiting)
    assert [reply.at_s for reply in patient.replies] == [31]
    # It helps once; and when the answer is shown, it is a wrong one.
    assert [r.at_s for r in play_of(session("w", "v1", (6, text), (9, text)), waiting).replies] == [9]
    assert [r.at_s for r in play_of(session("w", "v1", (31, text)), waiting).replies] == [31]


ONE = Moment(interval=Interval(start_s=20, end_s=24), references=("Anna opens the box.",))
TWO = Moment(interval=Interval(start_s=40, end_s=44), references=("Tom opens the fridge.",))
STANDING = ProactiveTask(
    id="s",
    video_id=VideoId("v1"),
    until_s=60,
    kind="standing",
    requests=(
        UserRequest(text="Tell me whenever somebody opens something.", moments=(ONE,)),
        UserRequest(
            at_s=25,
            text="Where is the mug?",
            act="ask",
            moments=(Moment(interval=Interval(start_s=25, end_s=25), references=("On the table.",)),),
        ),
        UserRequest(at_s=30, text="You can stop telling me that.", act="cancel", of=0, quiet=(TWO,)),
    ),
)


def standing(*said: tuple[str, float, str]) -> SessionLog:
    found = session("s", "v1")
    events = [
        StreamEvent(model="m", session="s", video_id=VideoId("v1"), kind=kind, at_s=at_s, text=text)
        for kind, at_s, text in said
    ]
    found.events[1:1] = events
    return found


ASKED = ("asked", 25.0, "Where is the mug?")


def test_a_stream_of_requests_and_questions_by_hand() -> None:
    right = standing(("replied", 21, "Anna opens the box."), ASKED, ("replied", 25, "It is on the table."))
    found = values(score_sessions([right], [STANDING]))
    assert (found["request_accuracy"], found["turn_accuracy"], found["stream_accuracy"]) == (1, 1, 1)
    assert found["false_alarms_per_hour"] == 0
    wrong = standing(ASKED, ("replied", 25, "In the fridge."), ("replied", 41, "Tom opens the fridge."))
    scores = score_sessions([wrong], [STANDING])
    found = values(scores)
    assert (found["request_accuracy"], found["turn_accuracy"], found["stream_accuracy"]) == (0, 0, 0)
    silent = score_sessions([standing(ASKED)], [STANDING])
    acts = {row.group: row.value for row in silent.groups if row.by == "act"}
    assert acts == {"watch": 0.0, "cancel": 1.0}
    assert "right requests: cancel 1.000" in scores_table(silent)
    unasked = score_sessions([standing()], [STANDING])
    assert unasked.unscored["m"] == {"s": "it was asked 0 of 1 questions at their times"}


def test_words_that_nobody_asked_for_are_false_alarms_between_questions_too() -> None:
    question = UserRequest(
        at_s=25,
        text="Where is the mug?",
        act="ask",
        moments=(Moment(interval=Interval(start_s=25, end_s=25), references=("On the table.",)),),
    )
    only = STANDING.model_copy(update={"requests": (question,), "kind": "changing"})
    found = values(score_sessions([standing(ASKED, ("replied", 25, "On the table."))], [only]))
    assert (found["false_alarms_per_hour"], found["turn_accuracy"], found["stream_accuracy"]) == (0, 1, 1)
    found = values(
        score_sessions([standing(("replied", 9, "A mug."), ASKED, ("replied", 25, "On the table."))], [only])
    )
    assert found["false_alarms_per_hour"] == pytest.approx(60)


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
    assert re.fullmatch(r"proactive:v4\|data:\w{8}\|judge:agree-v1\|threshold:0.5\|films:\w{8}", signature)
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
    assert "1 tasks; proactive:v4" in text
    document = json.loads(scores_json(scores))
    assert set(document) == {"summary", "groups", "unscored", "unjudged", "polls", "curves", "floors"}
    assert {row["metric"] for row in document["summary"]} == {row.metric for row in scores.summary}
    assert document["groups"][0]["group"] == "event"

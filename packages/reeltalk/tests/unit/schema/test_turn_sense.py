"""What is refused, doubted and accepted in the fields of a turn."""

from typing import Any

import pytest

from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import ClipId, DialogueId, VideoId
from reeltalk.schema.turn_sense import Film, turn_findings, unit_findings

FILM = Film(60.02, 0.04)
CLIP = Interval(start_s=20, end_s=45)


def turn(**fields: Any) -> Turn:
    spans = [{"start_s": start_s, "end_s": end_s} for start_s, end_s in fields.pop("evidence", ())]
    return Turn.model_validate({"question": "Why?", "references": ["Because."], "evidence": spans} | fields)


WRONG: dict[str, tuple[dict[str, Any], tuple[str, str, bool]]] = {
    "no question": ({"question": " "}, ("question", "the question is empty: write it", False)),
    "no word": ({"question": "?!"}, ("question", "the question has no words: write it out", True)),
    "no answer": ({"references": []}, ("references", "there is no answer, so no model can be scored: write one", True)),
    "an empty answer": ({"references": ["Yes.", " "]}, ("references.1", "answer 2 is empty", False)),
    "equal options": (
        {"options": ["A mug.", "a cup", "a  MUG"], "correct_option": 0},
        ("options.2", "options A and C are the same: change one of them", True),
    ),
    "an empty option": ({"options": ["a", ""]}, ("options.1", "option B is empty: write it", True)),
    "asked after the film": ({"asked_at_s": 61}, ("asked_at_s", "asked at 61.00 s, but the video lasts only", False)),
    "evidence after the film": (
        {"evidence": [(21, 22), (30, 61)]},
        ("evidence.1.end_s", "evidence 2 ends at 61.00 s, but the video lasts only 60.02 s: end it by then", False),
    ),
    "evidence after the question": (
        {"evidence": [(40, 45)], "asked_at_s": 31.4},
        ("evidence.0.end_s", "evidence 1 ends at 45.00 s, after the question at 31.40 s", True),
    ),
    "no length": ({"evidence": [(30, 30)]}, ("evidence.0", "evidence 1 is shorter than a frame", True)),
    "outside of the clip": (
        {"evidence": [(45, 50)]},
        ("evidence.0", "evidence 1 (45.00–50.00 s) is outside of the clip (20.00–45.00 s): move it", True),
    ),
    "out of order": ({"evidence": [(30, 32), (25, 27)]}, ("evidence.1", "evidence 2 begins before evidence 1", True)),
    "overlap": ({"evidence": [(25, 30), (29, 32)]}, ("evidence.1", "evidence 2 overlaps evidence 1", True)),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_makes_no_sense_is_named_with_what_to_do(case: str) -> None:
    fields, (field, text, may_go_on) = WRONG[case]
    (found,) = turn_findings(turn(**fields), FILM, [CLIP], answered=True)
    assert (found.field, found.may_go_on) == (field, may_go_on)
    assert found.text.startswith(text)


RIGHT: dict[str, dict[str, Any]] = {
    "the whole clip, asked at its end": {"evidence": [(20, 45)], "asked_at_s": 45},
    "to the last frame, with the time rounded up": {"evidence": [(30, 60.06)], "asked_at_s": 60.06},
    "one frame": {"evidence": [(30, 30.04)]},
    "one frame, rounded to hundredths": {"evidence": [(30.02, 30.05)]},
    "goes on at the cut": {"evidence": [(12, 21), (44, 50)]},
    "one after the other": {"evidence": [(21, 25), (25, 27), (27.03, 30)]},
    "asked at the frame after the evidence": {"evidence": [(21, 25.03)], "asked_at_s": 25},
    "numbers and signs as options": {"options": ["+1", "-1", "1.", "."], "correct_option": 1},
    "Chinese": {"question": "为什么？", "references": ["因为下雨。"]},
    "one letter": {"question": "X?"},
}


@pytest.mark.parametrize("case", RIGHT)
def test_what_benchmarks_hold_passes(case: str) -> None:
    assert turn_findings(turn(**RIGHT[case]), FILM, [CLIP], answered=True) == []


def test_a_length_in_whole_seconds_may_be_rounded() -> None:
    # NExT-GQA: a film of 21 s with evidence up to 21.5 s.
    long = turn(evidence=[(9.2, 21.5)])
    assert turn_findings(long, Film(21), answered=True) == []
    assert [f.rule for f in turn_findings(long, Film(21, 0.04), answered=True)] == ["beyond film"]
    assert [f.rule for f in turn_findings(turn(evidence=[(9.2, 22.5)]), Film(21), answered=True)] == ["beyond film"]


def test_a_source_may_withhold_answers_and_a_dialogue_is_about_all_its_clips() -> None:
    clips = {"c1": Interval(start_s=0, end_s=10), "c2": Interval(start_s=10.02, end_s=20)}
    inside, outside = turn(references=[], evidence=[(5, 15)]), turn(evidence=[(25, 30)])
    dialogue = Dialogue(
        id=DialogueId("d"), video_id=VideoId("v"), clip_ids=(ClipId("c2"), ClipId("c1")), turns=(inside, outside)
    )
    assert [(index, found.field) for index, found in unit_findings(dialogue, FILM, clips)] == [(1, "evidence.0")]
    assert list(unit_findings(dialogue, FILM, {"c1": clips["c1"]})) == []

"""A dialogue as a figure: well-formed, whole, harmless, and with marks where something says who is right."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any

import pytest

from reeltalk.analysis.dialogues import ShownAnswer, ShownTurn
from reeltalk.analysis.verdicts import GivenScore, ShownScore, ShownVerdict
from reeltalk.errors import SettingError
from reeltalk.pages.case import CaseFrame, CaseModel, CaseTurn, case_file, draw_case, export_case, jpeg_size
from reeltalk.schema.answers import AnswerState
from reeltalk.schema.scoring import ScoreState
from reeltalk.store.runs import Run

RunMaker = Callable[..., Run]
HOSTILE = "</text></svg><script>alert(1)</script>\u202e\x00\ud800 & \" ' 你好" + "x" * 3000
SVG = "{http://www.w3.org/2000/svg}"


def turn(*texts: str | None, question: str = "What does she hold?", **more: Any) -> ShownTurn:
    answers = [ShownAnswer(text=text) for text in texts]
    return ShownTurn(1, "turn-1", question, ("A cup.",), {}, answers, **more)


def drawn(case: CaseTurn, **more: Any) -> ElementTree.Element:
    models = [CaseModel(index, f"model-{index}") for index in range(len(case.turn.answers))]
    return ElementTree.fromstring(case_file(draw_case("Dialogue d", [case], models, **more)))


def words_of(svg: ElementTree.Element) -> str:
    return "\n".join(element.text or "" for element in svg.iter(f"{SVG}text"))


def test_question_reference_answers_and_marks_are_there() -> None:
    svg = drawn(CaseTurn(turn("A red cup.", "A fork.", None), (1.0, 0.2, None)), measure="Choice")
    for said in ("What does she hold?", "Reference: A cup.", "A red cup.", "A fork.", "no answer in the run"):
        assert said in words_of(svg)
    assert [title.text for title in svg.iter(f"{SVG}title")] == ["right: 1.00", "wrong: 0.20", "not scored"]
    assert "right where Choice gives more than 0.5" in words_of(svg)


def test_nothing_is_marked_where_nothing_says_who_is_right() -> None:
    svg = drawn(CaseTurn(turn("A cup."), (None,)))
    assert list(svg.iter(f"{SVG}title")) == []


def test_strangers_words_stay_text_and_inside() -> None:
    case = CaseTurn(turn(HOSTILE, question=HOSTILE), (0.5,))
    case.turn.answers[0].verdicts = [
        ShownVerdict(
            "clair", HOSTILE, (ShownScore("CLAIR", (GivenScore(None, ScoreState.UNSCORED, HOSTILE),), (), "clair"),), ()
        )
    ]
    svg = drawn(case, measure=HOSTILE)
    assert {element.tag.removeprefix(SVG) for element in svg.iter()} == {"svg", "rect", "text", "path", "title"}
    assert "</text></svg><script>" in words_of(svg).replace("\n", "")
    height = float(svg.get("viewBox", "").split()[3])
    assert all(0 < float(element.get("y", "0")) <= height for element in svg.iter(f"{SVG}text"))


def test_a_failed_answer_says_why() -> None:
    case = CaseTurn(turn(""), (None,))
    case.turn.answers[0].state, case.turn.answers[0].reason = AnswerState.FAILED, "status 500"
    assert "failed: status 500" in words_of(drawn(case))


def test_frames_are_inside_the_file() -> None:
    jpeg = bytes.fromhex("ffd8ffe000104a46494600010100000100010000ffc0000b080090010001011100ffd9")
    assert jpeg_size(jpeg) == (256, 144)
    svg = drawn(CaseTurn(turn("A cup."), (None,)), frames=[CaseFrame(2.5, jpeg)] * 3)
    images = list(svg.iter(f"{SVG}image"))
    assert len(images) == 3
    assert all(image.get("href", "").startswith("data:image/jpeg;base64,") for image in images)
    assert "2.5 s" in words_of(svg)


@pytest.mark.parametrize("content", [b"", b"\xff\xd8\xff", b"no picture at all", b"\xff\xd8" + b"\xff\xe0\x00\x00" * 4])
def test_a_picture_that_does_not_say_its_size_has_one_all_the_same(content: bytes) -> None:
    assert jpeg_size(content) == (16, 9)


def test_turns_and_models_can_be_chosen(make_run: RunMaker) -> None:
    run = make_run(metric="choice", question="What is it?", text="A cup.")
    svg = ElementTree.fromstring(case_file(export_case([run], "dialogue", turns=[2], models=["beta"])))
    said = words_of(svg).split("\n")
    assert "Turn 2" in said
    assert "Turn 1" not in said
    assert "beta" in said
    assert "alpha" not in said
    assert any("1 more turn left out" in line for line in said)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"dialogue": "dialog"}, "no dialogue 'dialog'; there is 'dialogue'"),
        ({"turns": [3]}, "no turn 3; its turns go from 1 to 2"),
        ({"models": ["gamma"]}, "no model 'gamma'; they have 'alpha', 'beta'"),
    ],
)
def test_what_is_not_there_is_named(make_run: RunMaker, more: dict[str, Any], why: str) -> None:
    with pytest.raises(SettingError, match=why):
        export_case([make_run()], **({"dialogue": "dialogue"} | more))


def test_a_name_that_two_videos_share_is_not_guessed(make_run: RunMaker) -> None:
    run = make_run(unit_ids=("d", "d"), video_ids=("v1", "v2"))
    with pytest.raises(SettingError, match="about several videos"):
        export_case([run], "d")

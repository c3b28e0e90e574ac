"""Answered turns become what is judged: chains, paths and dialogues, with what a judge may know of their video."""

from typing import Any

from reeltalk.judge.judge import Background, LinkedTurns, group_units
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.media import Scene, Video
from reeltalk.store.content import Content


def turn(unit_id: str, index: int, **more: Any) -> AnsweredTurn:
    fields: dict[str, Any] = {"model": "m", "unit": "dialogue", "video_id": "v", "references": ("r",), "text": "a"}
    return AnsweredTurn(
        item_id=f"{unit_id}/{index}", unit_id=unit_id, turn_index=index, question="?", **(fields | more)
    )


def ref(unit: str, index: int) -> TurnRef:
    return TurnRef(unit_id=unit, turn_index=index)


def content() -> Content:
    steps = tuple(PathStep(ref=ref(*place)) for place in (("q0", 0), ("q0", 1), ("q1", 1), ("q2", 0)))
    return Content(
        videos=[Video(id="v", duration_s=90.0, summaries={"refine": "He sits."})],
        chains=[QAChain(id=f"q{n}", video_id="v", turns=(Turn(question="?"),) * 2) for n in range(3)],
        paths=[DialoguePath(id="p", video_id="v", steps=steps)],
        linkages=[
            Linkage(source=ref("q0", 1), target=ref("q1", 1), relation="Object"),
            # Taken by no path.
            Linkage(source=ref("q0", 0), target=ref("q2", 0), relation="Event"),
        ],
        scenes=[
            Scene(id="s", video_id="v", clip_ids=("a", "b"), kind="single"),
            Scene(id="x", video_id="v", clip_ids=("a", "b", "c"), kind="cross", parts=("s", "t")),
            Scene(id="y", video_id="v", clip_ids=("d", "e"), kind="cross"),
        ],
        dialogues=[
            Dialogue(id="of one scene", video_id="v", clip_ids=("a", "b"), turns=()),
            Dialogue(id="of two scenes", video_id="v", clip_ids=("a", "b", "c"), turns=()),
            Dialogue(id="of scenes that are not named", video_id="v", clip_ids=("d", "e"), turns=()),
            Dialogue(id="of clips", video_id="v", clip_ids=("f", "g", "h"), turns=()),
            Dialogue(id="of the video", video_id="v", turns=()),
        ],
    )


def test_turns_of_a_unit_belong_together_in_their_order() -> None:
    units = group_units([turn("b", 1), turn("a", 0), turn("b", 0), turn("a", 2)])
    assert [(unit.id, [t.turn_index for t in unit.turns]) for unit in units] == [("b", [0, 1]), ("a", [0, 2])]


def test_models_and_kinds_are_apart_though_units_are_named_alike() -> None:
    units = group_units([turn("a", 0), turn("a", 0, model="n"), turn("a", 0, unit="chain")])
    assert [(unit.model, unit.kind, unit.id) for unit in units] == [
        ("m", "dialogue", "a"), ("n", "dialogue", "a"), ("m", "chain", "a"),
    ]  # fmt: skip


def test_without_a_benchmark_nothing_is_known_of_the_video() -> None:
    [unit] = group_units([turn("p", 0, unit="path")])
    assert (unit.summaries, unit.linked, unit.clips, unit.duration_s) == ({}, (), 1, None)


def test_a_benchmark_tells_summaries_and_length() -> None:
    background = Background(content())
    known, unknown = group_units([turn("a", 0), turn("b", 0, video_id="elsewhere")], background)
    assert (known.summaries, known.duration_s) == ({"refine": "He sits."}, 90.0)
    assert (unknown.summaries, unknown.duration_s) == ({}, None)


def test_links_are_the_jumps_that_a_path_took() -> None:
    background = Background(content())
    [unit] = group_units([turn("p", n, unit="path") for n in range(4)], background)
    assert unit.linked == (LinkedTurns(1, 2, "Object"),)


def test_links_index_the_turns_that_are_there() -> None:
    background = Background(content())
    [unit] = group_units([turn("p", n, unit="path") for n in (1, 2, 3)], background)
    assert unit.linked == (LinkedTurns(0, 1, "Object"),)
    [gap] = group_units([turn("p", n, unit="path") for n in (1, 3)], background)
    assert gap.linked == ()


def test_chains_have_no_links() -> None:
    [unit] = group_units([turn("q0", n, unit="chain") for n in range(2)], Background(content()))
    assert unit.linked == ()


def test_scenes_of_a_dialogue_are_counted() -> None:
    background = Background(content())
    names = [dialogue.id for dialogue in content().dialogues]
    units = group_units([turn(str(name), 0) for name in names], background)
    assert {unit.id: unit.clips for unit in units} == {
        "of one scene": 1,
        "of two scenes": 2,
        "of scenes that are not named": 2,
        "of clips": 3,
        "of the video": 1,
    }

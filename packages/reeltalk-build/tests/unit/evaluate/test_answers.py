"""Answers of published files beside their turns: what is scored, what a judge counts without, what stands twice."""

import json
from collections import Counter
from pathlib import Path

from reeltalk.evaluation.answers import AnswerSet, answer_sets
from reeltalk.formats import mt_video_bench, svbench
from reeltalk.schema.answers import NOT_IN_SOURCE, Answer, AnswerState
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.schema.record import DialogueId, VideoId
from reeltalk.store.content import Content
from reeltalk_build.formats import vdact


def sets(content: Content, benchmark: Content | None = None) -> dict[str, AnswerSet]:
    found = answer_sets(content, source="file", sha256="0", benchmark=benchmark)
    return {answer_set.model: answer_set for answer_set in found}


def test_a_row_carries_what_judges_need(samples: Path) -> None:
    (found,) = sets(mt_video_bench.read(samples / "mt-video-bench-v2")).values()
    row = next(turn for turn in found.turns if turn.item_id == "object_reference/market_walk/1/02")
    assert (row.unit, row.task, row.state) == ("dialogue", "object_reference", AnswerState.ANSWERED)
    assert row.checklist is not None
    assert len(row.checklist.items) == 5
    assert {turn.unit for turn in sets(svbench.read(samples / "svbench"))["ExampleLVLM"].turns} >= {"chain", "path"}


def test_turns_without_an_answer_are_kept_apart_with_their_reasons(samples: Path) -> None:
    (found,) = sets(mt_video_bench.read(samples / "mt-video-bench-v2")).values()
    assert Counter(turn.state for turn in found.others) == {AnswerState.FAILED: 3, AnswerState.NOT_ASKED: 2}
    reasons = {turn.item_id: turn.reason for turn in found.others}
    assert reasons["object_reference/market_walk/1/03"] == "[ERROR] CUDA out of memory"
    assert reasons["object_reference/market_walk/2/02"] == NOT_IN_SOURCE
    assert {turn.task for turn in found.others} == {"object_reference", "summary"}, (
        "of other tasks nothing was answered"
    )


def test_only_turns_of_a_split_that_was_answered_are_missing() -> None:
    def dialogue(name: str) -> Dialogue:
        turns = (Turn(question="Q?", references=("A.",)), Turn(question="Q?", references=()))
        return Dialogue(id=DialogueId(name), video_id=VideoId(f"video of {name}"), turns=turns)

    splits = {"a": "test", "b": "test", "c": "train"}
    benchmark = Content(
        videos=[Video(id=VideoId(f"video of {name}"), split=split) for name, split in splits.items()],
        dialogues=[dialogue(name) for name in splits],
    )
    answers = Content(answers=[Answer(model="m", unit_id="a", turn_index=0, text="A.")])
    found = sets(answers, benchmark)["m"]
    assert [turn.item_id for turn in found.turns] == ["a/01"]
    assert [turn.item_id for turn in found.others] == ["b/01"]


def test_a_turn_knows_the_answers_of_further_rows(samples: Path, tmp_path: Path) -> None:
    rows = json.loads((samples / "vdact" / "results" / "careful-8f.json").read_text(encoding="utf-8"))[:2]
    rows += [rows[0] | {"gen_answer": "Second."}, rows[0] | {"gen_answer": "Third."}]
    (tmp_path / "m.json").write_text(json.dumps(rows), encoding="utf-8")
    found = sets(vdact.read(tmp_path / "m.json"))["m"]
    assert [turn.repeats for turn in found.turns] == [("Second.", "Third."), ()]
    assert found.turns[0].text == rows[0]["gen_answer"]

"""Dialogues set side by side, and the files they are read in."""

import math
from collections.abc import Callable

import pytest

from reeltalk.analysis.dialogues import (
    BenchmarkContext,
    RunDialogues,
    UnitContext,
    heat_borders,
    heat_level,
    item_metrics,
    mean_metric,
)
from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.errors import BenchmarkError
from reeltalk.schema.answers import AnsweredTurn, AnswerState, PlayDetails
from reeltalk.schema.media import Video
from reeltalk.schema.record import VideoId
from reeltalk.store.runs import Run

RunMaker = Callable[..., Run]

HOSTILE_IDS = (
    "../../etc/passwd", "/absolute", "a/b", "a_b", "A_B", "CON", "con", "nul", ".", "..", "x" * 500, "x" * 499 + "y",
    "图像", "图象", "d?*<>|:", "a.b", "a%2fb", "-rf", "é", "e\u0301", "index",
)  # fmt: skip


def test_file_names_are_safe_and_differ_where_case_does_not_count(make_run: RunMaker) -> None:
    run = make_run(unit_ids=HOSTILE_IDS, video_ids=["v"] * len(HOSTILE_IDS))
    files = [dialogue.file for dialogue in RunDialogues(build_leaderboard([run]))]
    assert len({file.lower() for file in files}) == len(HOSTILE_IDS)
    for file in files:
        assert set(file) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-.")
        assert ".." not in file
        assert len(file) <= 110
        assert file.split(".")[0] not in {"con", "nul"} or file.count(".") == 2


def test_one_dialogue_name_about_two_videos_gives_two_pages(make_run: RunMaker) -> None:
    dialogues = RunDialogues(build_leaderboard([make_run(unit_ids=("d", "d"), video_ids=("v1", "v2"))]))
    assert [dialogue.video_id for dialogue in dialogues] == ["v1", "v2"]
    assert len({dialogue.file for dialogue in dialogues}) == 2


def test_dialogues_stand_in_the_order_people_count(make_run: RunMaker) -> None:
    run = make_run(unit_ids=("d10", "d2", "d1"), video_ids=("v", "v", "v"))
    assert [dialogue.unit_id for dialogue in RunDialogues(build_leaderboard([run]))] == ["d1", "d2", "d10"]


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("What does he do?", "What does he do? · 1 question · v"),
        ("  Two\nlines? ", "Two lines? · 1 question · v"),
        (" ".join(["word"] * 40), " ".join(["word"] * 12) + "… · 1 question · v"),
        ("这" * 100, "这" * 60 + "… · 1 question · v"),
        ("", "(no question) · 1 question · v"),
    ],
)
def test_a_dialogue_is_named_by_its_first_question(make_run: RunMaker, question: str, title: str) -> None:
    (dialogue,) = RunDialogues(build_leaderboard([make_run(answers=[answered("alpha", question=question)])]))
    assert dialogue.title == title


def test_activities_and_topics_of_a_benchmark_name_dialogues_and_no_name_repeats(make_run: RunMaker) -> None:
    turns = [
        answered("alpha", item_id=f"{unit_id}/01", unit_id=unit_id, unit=unit, task=task, video_id=VideoId(video))
        for unit_id, unit, task, video in (
            ("a", "chain", None, "v1"), ("b", "path", None, "v1"), ("c", "dialogue", "memory_recall", "v1"),
            ("d", "chain", None, "v1"), ("e", "dialogue", None, "v2"),
        )
    ]  # fmt: skip
    board = build_leaderboard([make_run(answers=turns)])
    dialogues = RunDialogues(board)
    clips = {"a": ("c1",), "b": ("c1", "c2"), "c": ("c1", "c2", "c3"), "d": ("c1",), "e": ()}
    context = BenchmarkContext(
        videos={
            name: Video(id=VideoId(name), category=topic)
            for name, topic in (("v1", "household"), ("v2", "street_food"))
        },
        units={(d.turns[0].unit, d.unit_id): UnitContext((None,), clips[d.unit_id]) for d in dialogues},
        activities={"c1": "Wash dishes", "c2": "Drink milk", "c3": "Watch TV"},
    )
    dialogues = RunDialogues(board, context=context)
    assert [dialogue.title for dialogue in dialogues] == [
        "Wash dishes · 1 question",
        "Wash dishes → Drink milk · 1 question",
        "Memory recall · Wash dishes, Drink milk … · 1 question",
        "Wash dishes · 1 question (2)",
        "street food · 1 question · v2",
    ]


def answered(model: str, **changes: object) -> AnsweredTurn:
    turn = AnsweredTurn(
        model=model, item_id="d/01", video_id=VideoId("v"), unit_id="d", turn_index=0, question="q", references=("r",),
        text="t",
    )  # fmt: skip
    return turn.model_copy(update=changes)


def test_other_wording_and_missing_answers_are_kept_apart(make_run: RunMaker) -> None:
    run = make_run(
        models=("a", "b", "c"),
        values=(0.1, 0.2, 0.3),
        answers=[answered("a"), answered("b", question="other q", references=("other r",), text="")],
    )
    (dialogue,) = RunDialogues(build_leaderboard([run]))
    first, second, third = dialogue.turns[0].answers
    assert (first.other_question, first.other_references) == (None, None)
    assert (second.other_question, second.other_references) == ("other q", ("other r",))
    assert (second.text, third.text) == ("", None)


def test_two_turns_at_one_position_have_anchors_of_their_own(make_run: RunMaker) -> None:
    run = make_run(answers=[answered("alpha"), answered("alpha", item_id="d/other")])
    (dialogue,) = RunDialogues(build_leaderboard([run]))
    assert [turn.anchor for turn in dialogue.turns] == ["turn-1", "turn-1-2"]


def test_two_answers_of_one_model_to_one_turn_are_refused(make_run: RunMaker) -> None:
    with pytest.raises(BenchmarkError, match=r"answers\.jsonl has two answers of model 'alpha' to 'd/01'"):
        list(RunDialogues(build_leaderboard([make_run(answers=[answered("alpha"), answered("alpha")])])))


def test_an_answer_of_an_unknown_model_is_refused(make_run: RunMaker) -> None:
    with pytest.raises(BenchmarkError, match=r"answer of model 'gamma', which run\.json does not list"):
        RunDialogues(build_leaderboard([make_run(answers=[answered("gamma")])]))


def test_means_leave_out_what_has_no_score(make_run: RunMaker) -> None:
    run = make_run(items={("alpha", "dialogue/v1/02"): {"rouge_l": 0.8}})
    assert RunDialogues(build_leaderboard([run])).means("rouge_l")[0] == pytest.approx([0.8, math.nan], nan_ok=True)


def test_a_mean_is_withheld_where_answers_failed(make_run: RunMaker) -> None:
    answers = [answered("alpha"), answered("alpha", item_id="d/02", turn_index=1, text="", state=AnswerState.FAILED)]
    run = make_run(answers=answers, items={("alpha", "d/01"): {"rouge_l": 0.8}})
    dialogues = RunDialogues(build_leaderboard([run]))
    assert dialogues.lacking("rouge_l").to_list() == [False, True]
    assert math.isnan(dialogues.means("rouge_l")[0, 0])
    assert dialogues.failing() == [0]


def test_bleu_beyond_single_words_is_shown_only_where_there_is_nothing_else(make_run: RunMaker) -> None:
    items = {("alpha", "dialogue/v1/01"): {"bleu_4": 0.1}}
    assert item_metrics(RunDialogues(build_leaderboard([make_run(metric="bleu_4", items=items)]))) == ["bleu_4"]
    board = build_leaderboard(
        [make_run("other", metric="bleu_4", items={**items, ("beta", "dialogue/v1/01"): {"cider": 1}})]
    )
    board.metrics.append("cider")
    assert item_metrics(RunDialogues(board)) == ["cider"]


def test_the_list_prefers_a_metric_that_reads_well_by_dialogue() -> None:
    assert mean_metric(["bleu_1", "rouge_l", "cider"]) == "rouge_l"
    assert mean_metric(["clarity"]) == "clarity"
    assert mean_metric([]) is None
    assert mean_metric(["rouge_l", "took_s", "vdeval"]) == "vdeval"


def test_heat_goes_by_fifths_and_knows_nothing_of_absent_values() -> None:
    borders = heat_borders([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert [heat_level(value, borders) for value in (0.0, 0.2, None, 0.4, 0.6, 0.8, 1.0)] == [0, 1, 0, 2, 3, 4, 4]
    assert heat_level(0.5, heat_borders([0.5, 0.5])) == 0
    assert heat_level(None, heat_borders([])) == 0


def test_nothing_has_no_heat_where_most_dialogues_have_nothing() -> None:
    borders = heat_borders([0.0, 0.0, 0.0, 0.0, 16.7, 100.0])
    assert [heat_level(value, borders) for value in (0.0, 16.7, 100.0)] == [0, 4, 4]


def test_how_an_answer_came_about_is_told(make_run: RunMaker) -> None:
    played = PlayDetails(
        frames_s=(4.0, 60.61), new_frames=1, took_s=0.25, first_token_s=0.1, prompt_tokens=1200, completion_tokens=7,
        cached=True, corrupted=True,
    )  # fmt: skip
    turns = [
        AnsweredTurn(
            model=model, item_id="d/01", video_id=VideoId("v"), unit_id="d", turn_index=0, question="?",
            references=("r",), text="", state=AnswerState.FAILED if model == "beta" else AnswerState.ANSWERED,
            reason="too long" if model == "beta" else None, played=played if model == "alpha" else PlayDetails(),
        )
        for model in ("alpha", "beta")
    ]  # fmt: skip
    (dialogue,) = RunDialogues(build_leaderboard([make_run(answers=turns)]))
    first, second = dialogue.turns[0].answers
    assert first.facts == (
        "2 frames, 4.0–60.6 s, 1 new", "the turns after it are told a wrong answer in its place",
        "0.25 s, first token after 0.10 s", "1,200 + 7 tokens", "kept from an earlier run",
    )  # fmt: skip
    assert second.facts == ("no frames",)
    assert second.reason == "too long"

"""Turns as rows to find them by: credits of every measure, states, missing scores, and judgings that differ."""

from collections.abc import Callable
from typing import Any

import pytest

from reeltalk.analysis.dialogues import RunDialogues
from reeltalk.analysis.finder import (
    Finder,
    FoundTurn,
    TurnPlaces,
    column_row,
    found_in,
    make_finder,
    raw_share,
    shorten_line,
    word_row,
)
from reeltalk.analysis.leaderboard import Leaderboard, build_leaderboard
from reeltalk.analysis.verdicts import RunVerdicts
from reeltalk.metrics.choice import NAMES_SEVERAL
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.record import VideoId
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.runs import JUDGED, Run
from reeltalk.store.tables import write_rows

RunMaker = Callable[..., Run]


def answered(model: str, index: int, **more: Any) -> AnsweredTurn:
    given: dict[str, Any] = {
        "model": model, "item_id": f"dialogue/v1/{index + 1:02d}", "video_id": VideoId("v1"), "unit_id": "dialogue",
        "turn_index": index, "question": "What?", "references": ("A cup.", "A mug."), "text": f"{model} {index}",
    }  # fmt: skip
    return AnsweredTurn(**(given | more))


def rated(value: float | None, *, judge: str = "j", criterion: str = "clair", **more: Any) -> JudgedScore:
    state = ScoreState.SCORED if value is not None else ScoreState.UNSCORED
    given: dict[str, Any] = {"unit": "turn", "unit_id": "dialogue", "turn_index": 0, "model": "alpha"}
    return JudgedScore(criterion=criterion, judge=judge, value=value, state=state, **(given | more))


def judged(run: Run, protocol: str, *rows: JudgedScore) -> None:
    with (run.path / JUDGED.format(protocol=protocol)).open("wb") as stream:
        write_rows(stream, rows)


def looked_at(run: Run) -> tuple[Leaderboard, RunDialogues, Finder]:
    board = build_leaderboard([run])
    dialogues = RunDialogues(board, {id(run): RunVerdicts(run)})
    return board, dialogues, make_finder(board, dialogues)


def found_turns(finder: Finder, dialogues: RunDialogues) -> list[FoundTurn]:
    return [found for place, dialogue in enumerate(dialogues) for found in found_in(finder, place, dialogue)]


def rows_of(run: Run) -> list[Any]:
    _, dialogues, finder = looked_at(run)
    return [column_row(finder, found, TurnPlaces.of(finder)) for found in found_turns(finder, dialogues)]


def test_a_judged_measure_says_who_is_right_and_a_text_metric_never_does(make_run: RunMaker) -> None:
    assert looked_at(make_run("one", metric="clair"))[2].metrics == ["clair"]
    assert looked_at(make_run("two", metric="rouge_l"))[2].metrics == []
    assert looked_at(make_run("three", metric="took_s"))[2].measures == []


def test_a_row_holds_place_words_states_and_credits(make_run: RunMaker) -> None:
    turns = [answered(model, index) for model in ("alpha", "beta") for index in range(2)]
    turns[0] = answered("alpha", 0, task="recall", labels={"kind": ("b", "a")})
    turns[1] = answered("alpha", 1, text="", state=AnswerState.FAILED, reason="status 500")
    turns[2] = answered("beta", 0, task="recall", labels={"kind": ("b", "a")}, text="  ")
    first, second = rows_of(make_run(metric="choice", answers=turns))
    assert first == [0, 0, 1, "", 0, [0, 1], "What?", "ae", [[2, 2]], [], []]
    assert second == [0, 0, 2, "", -1, [], "What?", "fa", [[2, 2]], [], []]


def test_an_answer_that_a_rule_could_not_read_says_so(make_run: RunMaker) -> None:
    run = make_run(metric="accuracy")
    about = {"criterion": "accuracy", "judge": "none"}
    rows = [rated(0.0, model="alpha", explanation=NAMES_SEVERAL, **about), rated(0.0, model="beta", **about)]
    judged(run, "choice", *rows)
    assert looked_at(run)[2].unread
    assert [row[7] for row in rows_of(run)] == ["ua", "aa"]


def test_no_model_s_judge_makes_an_answer_unread(make_run: RunMaker) -> None:
    run = make_run(metric="clair")
    judged(run, "clair", rated(0.0, explanation=NAMES_SEVERAL))
    assert not looked_at(run)[2].unread
    assert rows_of(run)[0][7] == "aa"


def test_people_are_a_measure_of_their_own(make_run: RunMaker) -> None:
    run = make_run(metric="clair")
    judged(run, "clair", rated(0.2), rated(0.9, judge="human:ada"), rated(0.7, judge="human:bob"))
    _, dialogues, finder = looked_at(run)
    assert finder.measures == ["CLAIR", "CLAIR by human:ada", "CLAIR by human:bob"]
    found = found_turns(finder, dialogues)[0]
    assert found.credits == [[0.25, 0.25], [0.9, None], [0.7, None]]


@pytest.mark.parametrize(
    ("protocol", "value", "share"),
    [("vdeval", 2.0, 0.5), ("clair", 0.3, 0.3), ("svbench", 7.0, 0.7), ("match", 1.0, 1.0), ("llm-acc", 9.0, 1.0)],
)
def test_a_judges_score_is_put_on_its_own_scale(protocol: str, value: float, share: float) -> None:
    assert raw_share(protocol, value) == pytest.approx(share)


def test_missing_scores_tell_their_reason_and_judgings_how_far_they_lie_apart(make_run: RunMaker) -> None:
    run = make_run(metric="clair")
    spread = [rated(value, sample=place, model="beta") for place, value in enumerate((0.2, 0.9, 0.4))]
    judged(run, "clair", rated(None, reason="no number\nin  it"), *spread)
    first, second = rows_of(run)
    assert first[9] == [[0, "CLAIR", "no number in it"]]
    assert first[10] == [0, 700]
    assert (second[9], second[10]) == ([], [0, 0])


def test_words_are_those_of_the_first_reference_and_of_every_model(make_run: RunMaker) -> None:
    long = [answered("alpha", 0, text="word " * 1000), answered("beta", 0)]
    _, dialogues, _ = looked_at(make_run(answers=long))
    reference, answers = word_row(dialogues[0].turns[0])
    assert reference == "A cup."
    assert answers[1] == "beta 0"
    assert len(answers[0]) < 300
    assert answers[0].endswith("…")


def test_rare_labels_give_way_where_there_are_too_many(make_run: RunMaker) -> None:
    turns = [answered("alpha", index, labels={"kind": ("often", f"rare-{index}")}) for index in range(500)]
    board = build_leaderboard([make_run(models=("alpha",), values=(0.5,), answers=turns)])
    labels = make_finder(board, RunDialogues(board)).labels
    assert len(labels) == 400
    assert labels[0] == ("kind", "often")


@pytest.mark.parametrize(("text", "found"), [("a\n b\u202e", "a b\ufffd"), ("x" * 9, "x" * 5 + "…"), ("", "")])
def test_short_texts_are_one_visible_line(text: str, found: str) -> None:
    assert shorten_line(text, 5) == found

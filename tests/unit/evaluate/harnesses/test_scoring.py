"""Scores in another harness are those of `evaluate`, turn by turn and in all."""

import asyncio
import dataclasses
import math
from pathlib import Path

import pytest

from reeltalk.evaluate.harnesses.scoring import score_answer, total, turn_metrics
from reeltalk.evaluate.harnesses.task import AskedTurn, list_asked_turns
from reeltalk.evaluate.playing.script import make_scripts
from reeltalk.evaluate.settings import PlaySettings
from reeltalk.judge.choice import ChoiceJudge
from reeltalk.judge.judge import group_units
from reeltalk.judge.match import MatchJudge
from reeltalk.metrics.scoring import score_texts
from reeltalk.schema.dialogue import AnswerKey
from reeltalk.store.benchmark import Benchmark

ANSWERS = ["A cup.", "The cup is on the shelf.", "No.", "B"]


@pytest.fixture
def turns(benchmark: Path) -> list[AskedTurn]:
    return list_asked_turns(make_scripts(Benchmark.open(benchmark).content(), PlaySettings()), PlaySettings())


def totals(turns: list[AskedTurn], answers: list[str]) -> dict[str, float]:
    items: dict[str, list[dict[str, object]]] = {}
    for turn, text in zip(turns, answers, strict=True):
        for metric, item in score_answer(turn.scored_by(), text).items():
            items.setdefault(metric, []).append(item)
    return {metric: total(metric, found) for metric, found in items.items()}


def test_numbers_are_those_of_our_judges_and_metrics(turns: list[AskedTurn]) -> None:
    found = totals(turns, ANSWERS)
    answered = [turn.turn.model_copy(update={"text": text}) for turn, text in zip(turns, ANSWERS, strict=True)]
    units = group_units(answered, None)
    for judge in (MatchJudge(), ChoiceJudge()):
        scores = [row for unit in units for row in asyncio.run(judge.judge(unit, None))]
        measure = judge.measures(units, scores)[0]
        assert found[measure.name] == measure.value
    texts = score_texts(ANSWERS, [turn.references for turn in answered], ["bleu", "rouge_l", "token_f1"])
    assert {name: found[name] for name in texts} == {name: result.corpus for name, result in texts.items()}
    assert found["match"] == pytest.approx(200 / 3)
    assert (found["accuracy"], found["unscored"]) == (100.0, 0.0)


def test_a_turn_is_read_with_those_before_it(turns: list[AskedTurn]) -> None:
    assert turns[1].before == (("What does she take?", "She takes a cup."),)
    assert turns[2].before == ()


@pytest.mark.parametrize("text", ["<think>hm", "[LMMS_EVAL_REQUEST_FAILED after 5 retries] timeout"])
def test_no_answer_is_unscored_and_in_no_mean(turns: list[AskedTurn], text: str) -> None:
    item = score_answer(turns[0].scored_by(), text)
    assert "score" not in item["match"]
    assert "score" not in item["rouge_l"]
    assert item["unscored"]["score"] == 1.0
    found = totals(turns, [text, *ANSWERS[1:]])
    assert found["unscored"] == 1.0
    # One of three is more than 2 %: the number is withheld.
    assert math.isnan(found["match"])
    assert math.isnan(found["rouge_l"])


@pytest.mark.parametrize("text", ["", "  ", "<|im_end|>"])
def test_an_empty_answer_is_wrong(turns: list[AskedTurn], text: str) -> None:
    item = score_answer(turns[0].scored_by(), text)
    assert (item["match"]["score"], item["rouge_l"]["score"], item["unscored"]["score"]) == (0.0, 0.0, 0.0)


def test_what_a_model_thought_aloud_is_not_its_answer(turns: list[AskedTurn]) -> None:
    assert score_answer(turns[3].scored_by(), "<think>A or C?</think> B")["accuracy"]["score"] == 1.0


def test_a_turn_with_a_key_is_read_by_it(turns: list[AskedTurn]) -> None:
    asked = turns[0]
    keyed = dataclasses.replace(
        asked,
        turn=asked.turn.model_copy(
            update={"key": AnswerKey(type="count", values=("3",)), "question": "How many cups?"}
        ),
    )
    rows = [keyed.scored_by()]
    assert turn_metrics(rows)[0] == "typed"
    assert [score_answer(rows[0], text)["typed"]["score"] for text in ("Three cups.", "Two.", "")] == [1.0, 0.0, 0.0]
    assert "match" not in score_answer(rows[0], "Three cups.")


def test_only_metrics_that_some_turn_has_are_named(turns: list[AskedTurn]) -> None:
    rows = [turn.scored_by() for turn in turns]
    texts = ("bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l", "token_f1", "unscored")
    assert turn_metrics(rows) == ("accuracy", "match", *texts)
    assert turn_metrics(rows[:3]) == ("match", *texts)
    assert turn_metrics(rows[3:]) == ("accuracy", *texts)

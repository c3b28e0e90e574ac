"""Functions that another harness calls to score an answer. They use the same judges and text metrics as `evaluate`.

The harness keeps the scores of single answers and passes them back for the total. So a number there equals the number
that `reeltalk evaluate` gives for the same answers. An empty answer is wrong. A
request that failed is unscored, never zero.
"""

import asyncio
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from reeltalk.judge.choice import ACCURACY, ChoiceJudge
from reeltalk.judge.judge import Judge, JudgeUnit
from reeltalk.judge.match import MATCH, MatchJudge, has_short_reference
from reeltalk.judge.measures import MeanItem, mean_measure
from reeltalk.judge.protocol import PER_CENT
from reeltalk.judge.typed import NAME as TYPED
from reeltalk.judge.typed import TypedJudge
from reeltalk.metrics.scoring import metric_names, score_texts
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.model_texts import thinks_only, without_thoughts
from reeltalk.schema.runs import is_withheld
from reeltalk.schema.scoring import JudgedScore, ScoreState

JUDGED: Final = (ACCURACY, TYPED, MATCH)
HARNESS_METRICS: Final = ("bleu", "rouge_l", "token_f1")
TEXTS: Final = tuple(metric_names(HARNESS_METRICS))
UNSCORED: Final = "unscored"
NO_ANSWERS: Final = (
    "[LMMS_EVAL_REQUEST_FAILED", "[LMMS_EVAL_BUDGET_EXCEEDED", "Failed to obtain answer",
)  # fmt: skip
"""Texts with which harnesses mark a failed request in place of an answer."""

Scored = dict[str, Any]
"""An item of a metric: always `video_id`; `score` if there is one; `text` and `references` for text metrics."""


def turn_metrics(rows: Iterable[str]) -> tuple[str, ...]:
    """The metrics that some of these turns have.

    Args:
        rows: `AskedTurn.scored_by` of each.
    """
    turns = [_read(row, "")[0] for row in rows]
    has = {
        ACCURACY: any(turn.options and turn.correct_option is not None for turn in turns),
        TYPED: any(turn.key is not None for turn in turns),
        MATCH: any(has_short_reference(turn) for turn in turns),
    }
    references = any(turn.references for turn in turns)
    return (*(name for name in JUDGED if has[name]), *(TEXTS if references else ()), UNSCORED)


def score_answer(scored_by: str, text: str) -> dict[str, Scored]:
    """Everything that one answer adds to the metrics.

    Args:
        scored_by: `AskedTurn.scored_by` of the turn.
        text: The raw answer.

    Returns:
        An item for each metric of the turn. `unscored` is 1 if there is no answer, else 0.
    """
    turn, unit = _read(scored_by, text)
    found: dict[str, Scored] = {}
    for judge in (ChoiceJudge(), TypedJudge(), MatchJudge()):
        for row in _judged(judge, unit):
            if row.criterion in JUDGED and row.state is not ScoreState.NOT_APPLICABLE:
                found[row.criterion] = _item(turn, row.value if row.state is ScoreState.SCORED else None)
    if turn.references:
        words = {"text": turn.text, "references": list(turn.references)}
        results = _texts([words]) if turn.state is AnswerState.ANSWERED else {}
        found |= {name: _item(turn, results.get(name)) | words for name in TEXTS}
    failed = turn.state is not AnswerState.ANSWERED
    return found | {UNSCORED: _item(turn, float(failed))}


def total(metric: str, items: Sequence[Mapping[str, Any]]) -> float:
    """A metric over all items, as `reeltalk evaluate` computes it.

    Args:
        metric: One of `turn_metrics`.
        items: The metric's items from `score_answer`, of all turns that have it.

    Returns:
        `accuracy`, `typed` and `match` from 0 to 100, text metrics on their own scale, `unscored` as a count. NaN if
        nothing is scored, or if more than 2 % of the items have no score: such a number should not be quoted.
    """
    if metric == UNSCORED:
        return float(sum(item["score"] for item in items))
    if metric in JUDGED:
        entries = [MeanItem(video_id=item["video_id"], value=item.get("score")) for item in items]
        measure = mean_measure(metric, entries, scale=PER_CENT)
        return math.nan if measure.value is None or measure.withheld else measure.value
    answered = [item for item in items if "score" in item]
    withheld = is_withheld(len(answered), len(items) - len(answered))
    return _texts(answered)[metric] if answered and not withheld else math.nan


def _texts(items: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    texts, references = [item["text"] for item in items], [item["references"] for item in items]
    results = score_texts(texts, references, HARNESS_METRICS)
    return {name: result.corpus for name, result in results.items()}


def _item(turn: AnsweredTurn, score: float | None) -> Scored:
    item: Scored = {"item_id": turn.item_id, "video_id": turn.video_id}
    return item if score is None else item | {"score": score}


def _judged(judge: Judge, unit: JudgeUnit) -> list[JudgedScore]:
    return asyncio.run(judge.judge(unit, None))


def _read(scored_by: str, text: str) -> tuple[AnsweredTurn, JudgeUnit]:
    read = json.loads(scored_by)
    failed = text.startswith(NO_ANSWERS) or thinks_only(text)
    said = "" if failed else without_thoughts(text)
    state = AnswerState.FAILED if failed else AnswerState.ANSWERED
    turn = AnsweredTurn.model_validate(read["turn"] | {"text": said, "state": state})
    # The judge sees the earlier turns but does not judge them again.
    before = [
        AnsweredTurn(
            model=turn.model,
            item_id=f"{turn.item_id} before {number}",
            video_id=turn.video_id,
            unit_id=turn.unit_id,
            turn_index=number,
            question=question,
            references=(reference,) if reference else (),
            text="",
            state=AnswerState.NOT_ASKED,
            unit=turn.unit,
        )
        for number, (question, reference) in enumerate(read["before"])
    ]
    return turn, JudgeUnit(turn.model, turn.unit, turn.unit_id, turn.video_id, (*before, turn), task=turn.task)

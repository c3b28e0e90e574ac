"""Every turn of a run with its scores: what comparisons, calibration and profiles start from."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from reeltalk.analysis.columns import kind_of, share_of
from reeltalk.errors import BenchmarkError
from reeltalk.judge.protocol import credit_measures, measure_caution
from reeltalk.schema.answers import AnswerState
from reeltalk.schema.runs import ItemScores
from reeltalk.store.runs import ANSWERS, ITEMS, Run

RIGHT: Final = 0.5
"""An answer with more credit is right, as in the measures that `evaluate` writes."""


@dataclass(frozen=True)
class ScoredTurn:
    """One model's answer to one turn as numbers, without its words."""

    model: str
    item_id: str
    """By which turns of two models are set side by side."""
    video_id: str
    unit_id: str
    turn_index: int
    state: AnswerState
    task: str | None
    labels: dict[str, tuple[str, ...]]
    scores: dict[str, float]
    """By metric; one that has no value here is absent."""
    planted: bool = False
    """True where the turns after it were told a wrong answer in place of this one."""

    def credit(self, metric: str) -> float | None:
        """How right the answer is, from 0 to 1, by a metric; None where it has no value here or no such scale."""
        value = self.scores.get(metric)
        return None if value is None else share_of(metric, value)


def credit_metric(metrics: Iterable[str]) -> str | None:
    """Which of some metrics says best how right an answer is.

    Args:
        metrics: Those that have values of single turns.

    Returns:
        The most exact of those that say so, else any other judged one, else a text metric; None where none has a
        scale.
    """
    there = [metric for metric in metrics if share_of(metric, 0.0) is not None]
    judged = [metric for metric in there if kind_of(metric) == "headline"]
    wanted = [*(metric for metric in credit_measures() if metric in there), *judged, *there]
    return next((metric for metric in wanted if not measure_caution(metric)), None)


def scored_turns(run: Run) -> Iterator[ScoredTurn]:
    """Every answer of a run with its scores, model by model, a row at a time.

    Args:
        run: The run.

    Raises:
        BenchmarkError: The table of scores does not have the answers' order.
        InputError: A table is damaged.
    """
    scores: dict[tuple[str, str], ItemScores] = {}
    found = run.item_scores()
    for answer in run.answers():
        key = (answer.model, answer.item_id)
        # Both tables have one order, so that this dictionary stays empty; another program may have written another.
        while key not in scores:
            row = next(found, None)
            if row is None:
                raise BenchmarkError(
                    f"{run.path / ITEMS} has no row of model {answer.model!r} and {answer.item_id!r}, which "
                    f"{ANSWERS} has; score the answers again"
                )
            scores[row.model, row.item_id] = row
        yield ScoredTurn(
            answer.model,
            answer.item_id,
            answer.video_id,
            answer.unit_id,
            answer.turn_index,
            answer.state,
            answer.task,
            answer.labels,
            scores.pop(key).scores,
            answer.played is not None and answer.played.corrupted,
        )

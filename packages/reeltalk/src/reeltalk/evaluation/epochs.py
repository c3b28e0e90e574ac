"""Dialogues that were played several times: the plays apart, the mean of each score, and the variance within turns.

As in inspect_ai, an epoch is a whole play, and scores are averaged over epochs before anything is computed from them.
So every number has one value a turn, and its interval, clustered by video, holds what differs from play to play. A turn
counts as answered if any play answered it; its value is the mean over the plays that have a score.

Reference:
    Miller, "Adding Error Bars to Evals", arXiv 2411.00640, section 3.1.
"""

import dataclasses
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from reeltalk.judge.measures import Measure, mean_measure
from reeltalk.judge.protocol import LENIENT
from reeltalk.judge.turns import UNREAD_PART
from reeltalk.metrics.scoring import MetricResult
from reeltalk.metrics.uncertainty import clustered_mean, numbered_clusters
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.runs import EpochSpread
from reeltalk.schema.scoring import JudgedScore
from reeltalk.store.rows import Rows

T = TypeVar("T", AnsweredTurn, JudgedScore)
ANSWERED: Final = AnswerState.ANSWERED.value


def plays_of(rows: Rows[T]) -> dict[int, Rows[T]]:
    """The rows of each epoch, in their order; one entry if everything was played once."""
    places: dict[int, array[int]] = {}
    for place, raw in enumerate(rows.raw()):
        places.setdefault(raw.get("epoch", 0), array("Q")).append(place)
    return {epoch: rows.at(places[epoch]) for epoch in sorted(places)}


def one_of_each_turn(turns: Rows[AnsweredTurn]) -> Rows[AnsweredTurn]:
    """Each turn once, as the first play that answered it has it; as the first play has it, if none did."""
    chosen: dict[str, int] = {}
    answered: set[str] = set()
    for place, raw in enumerate(turns.raw()):
        item = raw["item_id"]
        if item not in chosen or (item not in answered and raw.get("state", ANSWERED) == ANSWERED):
            chosen[item] = place
        if raw.get("state", ANSWERED) == ANSWERED:
            answered.add(item)
    return turns.at(array("Q", chosen.values()))


def mean_scores(rows: Sequence[JudgedScore]) -> list[JudgedScore]:
    """One row for each judging of a turn or unit, whose value is the mean over the epochs that have a score."""
    groups: dict[tuple[object, ...], list[JudgedScore]] = defaultdict(list)
    for row in rows:
        groups[row.unit, row.unit_id, row.turn_index, row.criterion, row.sample].append(row)
    found = []
    for own in groups.values():
        values = [row.value for row in own if row.value is not None]
        first = next((row for row in own if row.value is not None), own[0])
        update = {"value": sum(values) / len(values), "epoch": 0} if values else {"epoch": 0}
        found.append(first.model_copy(update=update))
    return found


def mean_of_flags(measure: Measure, values: Mapping[tuple[str, int], float]) -> Measure:
    """A share of answers that a rule or judge marked, from those of each play: a mean score has no marks of its own.

    Args:
        measure: Any measure; one that is no such share is returned as it is.
        values: The value of each item in each epoch.
    """
    if not values or measure.name.rpartition(".")[2] not in (UNREAD_PART.name, LENIENT):
        return measure
    by_item: dict[str, list[float]] = defaultdict(list)
    for (item, _), value in values.items():
        by_item[item].append(value)
    entries = (
        dataclasses.replace(one, value=sum(own) / len(own)) if (own := by_item.get(one.item_id or "")) else one
        for one in measure.entries
    )
    return mean_measure(measure.name, entries, by=measure.by, signature=measure.signature)


def mean_by_item(result: MetricResult, items: NDArray[np.intp]) -> MetricResult:
    """A text metric with one row for each item, the mean of its answers.

    Args:
        result: Over all answers.
        items: (N,) item of each answer, from 0.
    """
    counts = np.bincount(items).astype(np.float64)
    columns = [np.bincount(items, weights=column) / counts for column in result.statistics.T]
    statistics = np.stack(columns, axis=1) if columns else np.zeros((len(counts), 0))
    corpus = result.from_sums(statistics.sum(axis=0, keepdims=True), np.array([float(len(counts))]))
    return dataclasses.replace(
        result,
        corpus=float(corpus[0]),
        per_item=np.bincount(items, weights=result.per_item) / counts,
        statistics=statistics,
    )


def spread_within_turns(
    model: str, metric: str, values: Mapping[tuple[str, int], float], videos: Mapping[str, str]
) -> EpochSpread | None:
    """How far the answers to one turn differ, and what that adds to the variance of the mean.

    Answers of one play depend on each other, since later turns see the earlier answers. So the noise of the mean is
    taken from the sums of each video in each epoch.

    Args:
        model: Name of the model.
        metric: Name of the metric.
        values: Value of each item in each epoch.
        videos: Source video of each item.

    Returns:
        None if no item has two values, or if there are too few videos.
    """
    items = list(dict.fromkeys(item for item, _ in values))
    epochs = sorted({epoch for _, epoch in values})
    table = np.full((len(items), len(epochs)), np.nan)
    rows, columns = ({name: n for n, name in enumerate(names)} for names in (items, epochs))
    for (item, epoch), value in values.items():
        table[rows[item], columns[epoch]] = value
    counts = np.isfinite(table).sum(axis=1)
    if not (counts > 1).any():
        return None
    means = np.nanmean(table, axis=1)
    filled = np.where(np.isfinite(table), table, means[:, None]) - means[:, None]
    # An epoch without a value is the mean here, so the squares are divided by those that have one.
    within = float(((filled**2).sum(axis=1)[counts > 1] / (counts[counts > 1] - 1)).mean())
    clusters = numbered_clusters(videos[item] for item in items)
    total = clustered_mean(means, clusters).standard_error
    sums = np.zeros((int(clusters.max()) + 1, len(epochs)))
    np.add.at(sums, clusters, filled)
    noise = float((sums**2).sum()) / (len(epochs) - 1) / len(epochs) / len(items) ** 2
    share = min(1.0, noise / total**2) if total else None
    return EpochSpread(model=model, metric=metric, deviation=within**0.5, share=share)

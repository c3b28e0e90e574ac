"""MT-Video-Bench's measures from checklist scores: averaged over judgings, rounds, dialogues and tasks.

Our means are not rounded in between. They are given together with the floor: the score of an answer without content.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Final, Literal

import numpy as np

from reeltalk.judge.judge import JudgeUnit
from reeltalk.judge.measures import Floats, MeanItem, Measure, mean_measure, mean_of_means
from reeltalk.judge.protocol import LENIENT
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.scoring import JudgedScore, ScoreState

MTV: Final = "mtv"
COMPAT: Final = ".compat"
GROUP_KINDS: Final = ("task", "scene", "turns", "video_length")
NO_TASK: Final = "no_task"
PERCENT: Final = 100.0
LENGTHS: Final = ((60.0, "<60 s"), (180.0, "60-180 s"), (300.0, "180-300 s"))
"""Upper ends in seconds; a video of exactly that length belongs to the next group."""


@dataclasses.dataclass(frozen=True)
class _Round:
    unit: JudgeUnit
    turn: AnsweredTurn
    rows: dict[int, JudgedScore]
    """By eval round."""

    @property
    def applies(self) -> bool:
        return not self.rows or any(row.state is not ScoreState.NOT_APPLICABLE for row in self.rows.values())

    @property
    def values(self) -> list[float]:
        return [row.value for row in self.rows.values() if row.value is not None]

    @property
    def task(self) -> str:
        return self.unit.task or NO_TASK

    def entry(self, value: float | None) -> MeanItem:
        return MeanItem(
            video_id=self.unit.video_id,
            value=value,
            item_id=self.turn.item_id,
            applies=self.applies,
            groups={
                "task": (self.task,),
                "scene": ("cross" if self.unit.clips > 1 else "single",),
                "turns": (str(len(self.unit.turns)),),
                "video_length": (_length(self.unit.duration_s),),
            },
            mean_of=self.unit.id,
        )


def checklist_measures(
    units: Sequence[JudgeUnit],
    scores: Sequence[JudgedScore],
    *,
    eval_rounds: int,
    compat: Literal["v1", "v2"] | None = None,
    published: bool = False,
) -> list[Measure]:
    """All measures of one model, 0 to 100.

    `mtv` is the mean of the tasks present; a task is the mean of its dialogues, a dialogue of its judged rounds, a
    round of its eval rounds. `mtv.floor` is the share of items that expect *No*, averaged in the same way: an
    answer without content would get it. `mtv.chance_adjusted` is (accuracy - floor) / (1 - floor); it is negative for
    a model that does worse than an answer without content. `mtv.rounds_sd` is the standard deviation of `mtv` from eval
    round to eval round.

    `n` and `unscored` count rounds, as those of all groups do. A number is withheld where more than 2 % of the judgings
    failed, of all or of one task.

    Args:
        units: All units, judged or not.
        scores: A row per turn and eval round.
        eval_rounds: Number of rows that each turn should have.
        compat: Version of the official script; its rows are averaged as it does. None if there are no such rows.
        published: Whether replies may be read leniently; `mtv.lenient` is their share among the replies that were read.
    """
    rounds = _rounds(units, scores, "accuracy")
    overall = _nested(MTV, rounds, _mean, eval_rounds)
    floor = dataclasses.replace(_nested(f"{MTV}.floor", rounds, _floor, eval_rounds), by=())
    found = [overall, *_tasks(MTV, rounds, eval_rounds), floor, _chance_adjusted(overall, floor)]
    if eval_rounds > 1:
        found.append(_spread(rounds, eval_rounds, overall))
    if published:
        read = [(one, row.lenient) for one in rounds for row in one.rows.values() if row.value is not None]
        entries = [one.entry(float(lenient)) for one, lenient in read]
        found.append(mean_measure(f"{MTV}.{LENIENT}", entries, scale=PERCENT))
    if compat is None:
        return found
    return found + _official(_rounds(units, scores, f"accuracy{COMPAT}"), empty=0.0 if compat == "v1" else None)


def _rounds(units: Sequence[JudgeUnit], scores: Sequence[JudgedScore], criterion: str) -> list[_Round]:
    rows: dict[tuple[str, int | None], dict[int, JudgedScore]] = defaultdict(dict)
    for row in scores:
        if row.unit == "turn" and row.criterion == criterion:
            rows[row.unit_id, row.turn_index][row.sample] = row
    return [
        _Round(unit, turn, rows.get((unit.id, turn.turn_index), {}))
        for unit in units
        for turn in unit.turns
        if has_items(turn)
    ]


def has_items(turn: AnsweredTurn) -> bool:
    """True for a turn with a checklist. A turn that was asked for the history alone is not judged."""
    return turn.checklist is not None and bool(turn.checklist.items) and turn.state is not AnswerState.NOT_SCORED


def _mean(of: _Round) -> float | None:
    return sum(of.values) / len(of.values) if of.values else None


def _floor(of: _Round) -> float | None:
    items = of.turn.checklist.items if of.turn.checklist is not None else ()
    return sum(not item.expected for item in items) / len(items) if of.values else None


def _parts(
    rounds: Sequence[_Round], value: Callable[[_Round], float | None], eval_rounds: int = 1
) -> dict[str, list[MeanItem]]:
    """Items by task. A round with two of three judgings has a value and lacks a third of its judgings."""
    parts: dict[str, list[MeanItem]] = defaultdict(list)
    for one in rounds:
        spared = sum(row.state is ScoreState.NOT_APPLICABLE for row in one.rows.values())
        lacking = max(0, eval_rounds - len(one.values) - spared) / eval_rounds
        parts[one.task].append(dataclasses.replace(one.entry(value(one)), lacking=lacking))
    return parts


def _nested(name: str, rounds: Sequence[_Round], value: Callable[[_Round], float | None], eval_rounds: int) -> Measure:
    return mean_of_means(name, _parts(rounds, value, eval_rounds), scale=PERCENT, by=GROUP_KINDS)


def _tasks(name: str, rounds: Sequence[_Round], eval_rounds: int) -> list[Measure]:
    by = tuple(group for group in GROUP_KINDS if group != "task")
    return [
        mean_measure(f"{name}.{task}", entries, scale=PERCENT, by=by)
        for task, entries in _parts(rounds, _mean, eval_rounds).items()
    ]


def _chance_adjusted(overall: Measure, floor: Measure) -> Measure:
    columns = overall.statistics.shape[1]

    def from_sums(sums: Floats, n: Floats) -> Floats:
        got, given = overall.from_sums(sums[:, :columns], n), floor.from_sums(sums[:, columns:], n)
        # If an answer without content gets everything, nothing is left to gain.
        room = PERCENT - given
        adjusted: Floats = np.where(room > 0, PERCENT * (got - given) / np.where(room > 0, room, 1.0), 0.0)
        return adjusted

    statistics = np.hstack([overall.statistics, floor.statistics])
    return dataclasses.replace(
        overall,
        name=f"{MTV}.chance_adjusted",
        value=_value(statistics, from_sums),
        statistics=statistics,
        from_sums=from_sums,
        entries=(),
        by=(),
    )


def _spread(rounds: Sequence[_Round], eval_rounds: int, overall: Measure) -> Measure:
    """Eval rounds side by side: each has its own columns, and its rows fill only those."""
    parts: list[Measure] = []
    for sample in range(eval_rounds):
        entries = _parts(rounds, lambda one, sample=sample: one.rows[sample].value if sample in one.rows else None)  # type: ignore[misc]
        parts.append(mean_of_means(f"{MTV}.rounds_sd", entries, scale=PERCENT))
    present = [part for part in parts if part.value is not None]
    ends = np.cumsum([0, *(part.statistics.shape[1] for part in present)])
    statistics = np.zeros((sum(len(part.statistics) for part in present), int(ends[-1])))
    row = 0
    for (start, end), part in zip(pairwise(ends), present, strict=True):
        statistics[row : row + len(part.statistics), start:end] = part.statistics
        row += len(part.statistics)

    def from_sums(sums: Floats, n: Floats) -> Floats:
        values = np.stack([_of_tasks(sums[:, start:end]) for start, end in pairwise(ends)])
        there = ~np.isnan(values)
        count = there.sum(axis=0)
        mean = np.where(there, values, 0.0).sum(axis=0) / np.maximum(count, 1)
        squares = np.where(there, values - mean, 0.0) ** 2
        deviation: Floats = np.sqrt(squares.sum(axis=0) / np.maximum(count - 1, 1))
        return deviation

    return Measure(
        name=f"{MTV}.rounds_sd",
        value=_value(statistics, from_sums) if len(present) > 1 else None,
        n=overall.n,
        unscored=overall.unscored,
        not_applicable=overall.not_applicable,
        statistics=statistics,
        clusters=[video for part in present for video in part.clusters],
        from_sums=from_sums,
        entries=(),
        lacking=overall.lacking,
        part_withheld=overall.part_withheld,
    )


def _of_tasks(sums: Floats) -> Floats:
    """(R,) means of the tasks' means from (R, 2 x tasks) sums and counts; NaN where no task has an item."""
    counts = sums[:, 1::2]
    means = sums[:, 0::2] / np.maximum(counts, 1)
    tasks = (counts > 0).sum(axis=1)
    overall: Floats = np.where(tasks > 0, means.sum(axis=1) / np.maximum(tasks, 1), np.nan)
    return overall


def _official(rounds: Sequence[_Round], *, empty: float | None) -> list[Measure]:
    """The official means. Failed judgings, failed rounds and dialogues without rounds drop out, and are counted."""
    dialogues: dict[str, dict[tuple[str, str], list[_Round]]] = defaultdict(lambda: defaultdict(list))
    for one in rounds:
        dialogues[one.task][one.unit.video_id, one.unit.id].append(one)
    parts: dict[str, list[MeanItem]] = {}
    for task, members in dialogues.items():
        parts[task] = []
        for of in members.values():
            value = official_mean(official_mean(one.values) for one in of)
            entry = of[0].entry(value if value is not None else empty)
            parts[task].append(
                dataclasses.replace(entry, item_id=None, mean_of=None, applies=any(one.applies for one in of))
            )
    signature = (("mode", "compat"),)
    measures = [
        mean_of_means(f"{MTV}{COMPAT}", parts, scale=PERCENT, by=GROUP_KINDS, signature=signature),
        *(
            mean_measure(f"{MTV}{COMPAT}.{task}", entries, scale=PERCENT, signature=signature)
            for task, entries in parts.items()
        ),
    ]
    return [dataclasses.replace(measure, vanishing=True) for measure in measures]


def _value(statistics: Floats, from_sums: Callable[[Floats, Floats], Floats]) -> float | None:
    if not len(statistics):
        return None
    return float(from_sums(statistics.sum(axis=0, keepdims=True), np.array([len(statistics)], np.float64))[0])


def _length(duration_s: float | None) -> str:
    if duration_s is None:
        return "unknown"
    return next((name for end, name in LENGTHS if duration_s < end), ">=300 s")


def official_mean(values: Iterable[float | None]) -> float | None:
    """A round's accuracy from its judgings, or a dialogue's from its rounds: the mean, rounded to two decimals.

    Args:
        values: Accuracies, 0 to 1. None is a failed one; it drops out of the mean.

    Returns:
        None if no value is left.
    """
    present = [value for value in values if value is not None]
    return round(sum(present) / len(present), 2) if present else None

"""Every dialogue's turns with all models' answers beside them, and the names of the pages they are read on."""

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import fmean, quantiles
from typing import Final

from reeltalk.errors import BenchmarkError
from reeltalk.report.leaderboard import Leaderboard
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.store.runs import ANSWERS, INFO

NEAR_ZERO_FOR_ONE_ANSWER: Final = frozenset({"bleu_2", "bleu_3", "bleu_4"})
"""Metrics that are not shown beside a single answer: few short answers share any pair of words with a reference."""

MEANS_PREFERRED: Final = ("rouge_l", "token_f1", "similarity", "meteor", "cider")
"""Which metric the list of dialogues shows: the first of these that a run has scored by item."""

HEAT_LEVELS: Final = 5


@dataclass
class ShownAnswer:
    """One model's cell of a turn."""

    text: str | None = None
    """None where the model's run has no answer to the turn."""
    state: AnswerState = AnswerState.ANSWERED
    other_question: str | None = None
    """The question as this model was asked, where it is not the one shown."""
    other_references: tuple[str, ...] | None = None
    scores: dict[str, float] = field(default_factory=dict)


@dataclass
class ShownTurn:
    """A question with every model's answer, in the leaderboard's order."""

    number: int
    """From 1."""
    anchor: str
    question: str
    references: tuple[str, ...]
    labels: dict[str, tuple[str, ...]]
    answers: list[ShownAnswer]


@dataclass
class ShownDialogue:
    """What stands on one page."""

    unit_id: str
    video_id: str
    file: str
    turns: list[ShownTurn]

    def means(self, metric: str) -> list[float | None]:
        """Each model's mean over those turns that have a score; None where none has."""
        means: list[float | None] = []
        for index in range(len(self.turns[0].answers)):
            found = [turn.answers[index].scores[metric] for turn in self.turns if metric in turn.answers[index].scores]
            means.append(fmean(found) if found else None)
        return means


def collect(board: Leaderboard) -> list[ShownDialogue]:
    """All dialogues, in the order of their names. Holds all answers of the runs in memory.

    Raises:
        BenchmarkError: A run contradicts itself.
        InputError: A run's file is damaged.
    """
    found: dict[tuple[str, str], dict[str, ShownTurn]] = {}
    # Models of one run stand next to each other, so that each run is read once.
    for _, group in groupby(enumerate(board.models), key=lambda pair: id(pair[1].run)):
        members = list(group)
        run = members[0][1].run
        places = {model.info.model: index for index, model in members}
        scores = {(row.model, row.item_id): row.scores for row in run.item_scores()}
        for answer in run.answers():
            if answer.model not in places:
                raise BenchmarkError(
                    f"{run.path / ANSWERS} has an answer of model {answer.model!r}, which {INFO} does not list; "
                    "score the answers again"
                )
            turns = found.setdefault((answer.unit_id, answer.video_id), {})
            turn = turns.get(answer.item_id)
            if turn is None:
                turn = turns[answer.item_id] = _turn(answer, len(board.models))
            cell = turn.answers[places[answer.model]]
            if cell.text is not None:
                raise BenchmarkError(
                    f"{run.path / ANSWERS} has two answers of model {answer.model!r} to {answer.item_id!r}; "
                    "score the answers again"
                )
            _fill(cell, turn, answer, scores.get((answer.model, answer.item_id), {}))
    names = _file_names(list(found))
    return [
        ShownDialogue(unit_id, video_id, names[unit_id, video_id], _in_order(found[unit_id, video_id]))
        for unit_id, video_id in sorted(found, key=lambda key: (_natural(key[0]), key))
    ]


def item_metrics(board: Leaderboard, dialogues: Sequence[ShownDialogue]) -> list[str]:
    """Metrics to show beside each answer: those with any score, in the leaderboard's order."""
    scored = {
        metric
        for dialogue in dialogues
        for turn in dialogue.turns
        for answer in turn.answers
        for metric in answer.scores
    }
    known = [metric for metric in board.metrics if metric in scored]
    telling = [metric for metric in known if metric not in NEAR_ZERO_FOR_ONE_ANSWER]
    return telling or known


def mean_metric(metrics: Sequence[str]) -> str | None:
    """Which of the metrics the list of dialogues shows; None where there is none."""
    preferred = [metric for metric in MEANS_PREFERRED if metric in metrics]
    return next(iter([*preferred, *metrics]), None)


def heat_levels(rows: Sequence[Sequence[float | None]]) -> list[list[int]]:
    """For each value the fifth of all values that it lies in, from 0 for the lowest; 0 where there is none."""
    values = [value for row in rows for value in row if value is not None]
    if len(set(values)) < 2:
        return [[0 for _ in row] for row in rows]
    borders = quantiles(values, n=HEAT_LEVELS, method="inclusive")
    return [[0 if value is None else bisect_right(borders, value) for value in row] for row in rows]


def _turn(answer: AnsweredTurn, models: int) -> ShownTurn:
    answers = [ShownAnswer() for _ in range(models)]
    return ShownTurn(answer.turn_index + 1, "", answer.question, answer.references, answer.labels, answers)


def _fill(cell: ShownAnswer, turn: ShownTurn, answer: AnsweredTurn, scores: dict[str, float]) -> None:
    cell.text, cell.state, cell.scores = answer.text, answer.state, scores
    if answer.question != turn.question:
        cell.other_question = answer.question
    if answer.references != turn.references:
        cell.other_references = answer.references


def _in_order(turns: dict[str, ShownTurn]) -> list[ShownTurn]:
    ordered = [turn for _, turn in sorted(turns.items(), key=lambda pair: (pair[1].number, pair[0]))]
    times: Counter[int] = Counter()
    for turn in ordered:
        times[turn.number] += 1
        turn.anchor = f"turn-{turn.number}" + (f"-{times[turn.number]}" if times[turn.number] > 1 else "")
    return ordered


_RESERVED: Final = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
)
"""Names that Windows keeps for devices, with any ending."""


def _file_names(dialogues: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """A file name for every dialogue: safe on every system, and its own where case does not count."""
    shared = {unit_id for unit_id, count in Counter(unit_id for unit_id, _ in dialogues).items() if count > 1}
    names = {}
    for unit_id, video_id in dialogues:
        plain = re.sub(r"[^a-z0-9_-]", "_", unit_id.lower())[:80]
        if plain != unit_id or plain in _RESERVED or unit_id in shared:
            # A dot stands in no plain name, so a hashed one never meets it.
            plain += "." + hashlib.sha256(f"{unit_id}\n{video_id}".encode()).hexdigest()[:16]
        names[unit_id, video_id] = f"{plain}.html"
    return names


def _natural(name: str) -> list[tuple[int, str]]:
    """A sort key that puts `d2` before `d10`."""
    parts = re.split(r"([0-9]+)", name)
    return [(int(part), "") if place % 2 else (-1, part) for place, part in enumerate(parts)]

"""What a wrong answer does to the turns after it: what is right after right and wrong answers."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from reeltalk.analysis.leaderboard import Leaderboard
from reeltalk.analysis.turns import RIGHT, ScoredTurn, scored_turns
from reeltalk.pages.charts import Estimate
from reeltalk.pages.contrasts import Entry, difference_of, mean_of

RECOVERY: Final = "recovery"
PER_CENT: Final = 100.0
SHARES: Final = (0.0, PER_CENT)


@dataclass(frozen=True)
class ModelCascade:
    """One model's answers after right and wrong ones; shares are per cent."""

    index: int
    """The model's place in the leaderboard."""
    after_right: Estimate | None
    after_wrong: Estimate | None
    difference: Estimate | None
    """After a right answer less after a wrong one."""
    no_error_yet: Estimate | None
    """Turns after the first with no wrong answer before them."""
    since_error: tuple[tuple[int, Estimate], ...]
    """By how many turns ago the dialogue's first wrong answer was given, from 1."""


@dataclass(frozen=True)
class Cascade:
    """What errors do by one measure."""

    metric: str
    models: tuple[ModelCascade, ...]


def measures(board: Leaderboard) -> list[str]:
    """Measures by which `evaluate` tells right answers from wrong ones."""
    return [metric for metric in board.metrics if f"{metric}.{RECOVERY}" in board.metrics]


def cascades(board: Leaderboard) -> list[Cascade]:
    """What errors do, for each of the `measures`.

    A turn without a score is neither: the turn after it has no turn before it. A planted wrong answer, and what follows
    one, is left out, as a model did not give it.

    Raises:
        BenchmarkError: A run's tables do not have one order.
        InputError: A table is damaged.
    """
    metrics = measures(board)
    if not metrics:
        return []
    places = {(id(model.run), model.info.model): index for index, model in enumerate(board.models)}
    units: dict[tuple[str, int], dict[str, list[ScoredTurn]]] = defaultdict(lambda: defaultdict(list))
    for run in {id(model.run): model.run for model in board.models}.values():
        for turn in scored_turns(run):
            place = places.get((id(run), turn.model))
            if place is None or board.models[place].floor is not None:
                continue
            for metric in metrics:
                cell = board.models[place].cells[metric]
                if cell is None or not cell.withheld:
                    units[metric, place][turn.unit_id].append(turn)
    found = []
    for metric in metrics:
        models = [
            one
            for place in range(len(board.models))
            if (metric, place) in units
            and (one := _of_model(place, metric, list(units[metric, place].values()))) is not None
        ]
        if models:
            found.append(Cascade(metric, tuple(models)))
    return found


def _of_model(place: int, metric: str, units: Sequence[Sequence[ScoredTurn]]) -> ModelCascade | None:
    after: dict[bool, list[Entry]] = {True: [], False: []}
    untouched: list[Entry] = []
    since: dict[int, list[Entry]] = defaultdict(list)
    for unit in units:
        turns = sorted(unit, key=lambda turn: turn.turn_index)
        right = [None if (credit := turn.credit(metric)) is None else credit > RIGHT for turn in turns]
        for (before, was), (turn, now) in pairwise(zip(turns, right, strict=True)):
            follows = turn.turn_index == before.turn_index + 1 and not before.planted
            if was is not None and now is not None and follows:
                after[was].append(Entry(turn.video_id, PER_CENT * now))
        if any(turn.planted for turn in turns):
            continue
        first = next((turn.turn_index for turn, is_right in zip(turns, right, strict=True) if is_right is False), None)
        for turn, now in zip(turns, right, strict=True):
            if now is None or turn.turn_index == 0:
                continue
            entry = Entry(turn.video_id, PER_CENT * now)
            if first is None or turn.turn_index <= first:
                untouched.append(entry)
            else:
                since[turn.turn_index - first].append(entry)
    if not after[True] and not after[False]:
        return None
    return ModelCascade(
        place,
        mean_of(after[True], SHARES),
        mean_of(after[False], SHARES),
        difference_of(after[False], after[True]),
        mean_of(untouched, SHARES),
        tuple((distance, mean) for distance in sorted(since) if (mean := mean_of(since[distance], SHARES)) is not None),
    )

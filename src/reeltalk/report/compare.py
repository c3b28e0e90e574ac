"""Is A better? Models against each other on the turns that both answered, with tests clustered by source video."""

import dataclasses
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Final

from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.metrics.multiple import Correction, corrected
from reeltalk.report.columns import kind_of
from reeltalk.report.comparison import CompareSettings, Comparison, Comparisons
from reeltalk.report.leaderboard import Leaderboard
from reeltalk.report.pair_comparer import PairComparer
from reeltalk.report.paired import Turns
from reeltalk.report.sheets import number_of

SHOWN_NAMES: Final = 12


def compare(
    board: Leaderboard,
    settings: CompareSettings,
    *,
    models: Sequence[int] | None = None,
    strict: bool = True,
) -> Comparisons:
    """Compare all pairs of models.

    Args:
        board: Models side by side.
        settings: What to compare.
        models: Places of those to compare, the first first; by default all but players that know nothing, and those
            too where there are no two others.
        strict: Refuse models that have no turn in common; else their comparison says so.

    Raises:
        BenchmarkError: There are no two models, or two have no turn in common.
        SettingError: The runs have no such metric or group.
        InputError: A table is damaged.
    """
    chosen, aside = _chosen(board, models)
    metrics = metrics_of(board, settings.metrics)
    comparer = PairComparer(Turns.read(board), settings)
    rows: list[Comparison] = []
    for first, second in combinations(chosen, 2) if strict else ():
        comparer.refuse_strangers(first, second)
    for metric in metrics:
        for first, second in combinations(chosen, 2):
            rows += comparer.compare(metric, first, second)
    return Comparisons(board, tuple(chosen), tuple(correct(rows, settings.correction)), settings, tuple(aside))


def correct(rows: Iterable[Comparison], correction: Correction) -> list[Comparison]:
    """Fill in corrected p values; all rows given are one family."""
    kept = list(rows)
    tested = [row.p for row in kept if row.p is not None]
    found = iter(corrected(tested, correction))
    return [row if row.p is None else dataclasses.replace(row, corrected_p=next(found)) for row in kept]


def metrics_of(board: Leaderboard, wanted: Sequence[str]) -> list[str]:
    """The metrics to compare.

    Raises:
        SettingError: The runs do not have one of them.
    """
    there = list(board.metrics)
    for metric in wanted:
        if metric not in there and not any(name.split("_")[0] == metric for name in there):
            some = ", ".join(there[:SHOWN_NAMES]) + (
                f" and {len(there) - SHOWN_NAMES} more" if len(there) > SHOWN_NAMES else ""
            )
            raise SettingError(f"--metrics {metric}: the runs do not have it; they have {some}")
    if wanted:
        families = {metric: [name for name in there if name.split("_")[0] == metric] for metric in wanted}
        return list(dict.fromkeys(n for m in wanted for n in ([m] if m in there else families[m])))
    usual = [metric for metric in there if kind_of(metric) in ("headline", "text")]
    scored = [metric for metric in usual if any(number_of(model, metric) is not None for model in board.models)]
    return scored or usual or there


def _chosen(board: Leaderboard, models: Sequence[int] | None) -> tuple[list[int], list[int]]:
    if models is not None:
        twice = [index for place, index in enumerate(models) if index in models[:place]]
        if twice:
            raise BenchmarkError(f"{board.models[twice[0]].name!r} is named twice; a model equals itself")
        chosen, aside = list(models), []
    else:
        chosen = [index for index, model in enumerate(board.models) if model.floor is None]
        aside = [index for index, model in enumerate(board.models) if model.floor is not None]
        if len(chosen) < 2:
            chosen, aside = [*chosen, *aside], []
    if len(chosen) < 2:
        names = ", ".join(repr(board.models[index].name) for index in chosen)
        raise BenchmarkError(f"there is one model to compare, {names}; give a second run")
    return chosen, aside

"""Is A better? Models against each other on the turns that both answered, with tests clustered by source video."""

import dataclasses
from collections.abc import Sequence
from itertools import combinations
from typing import Final

from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.metrics.multiple import corrected
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
    """Compare pairs of models.

    The p values of one metric are one family: those of all pairs of competing models on the leaderboard, whichever of
    them are asked for. So a pair has the same corrected p in every table that is made of the same runs. Pairs with a
    floor, the oracle, the references or people are outside the family; their p values are not corrected.

    Args:
        board: Models side by side.
        settings: What to compare.
        models: Places of the models to compare, in order. By default all competing models, or all models where fewer
            than two compete.
        strict: Refuse models that have no turn in common; else their comparison says so.

    Raises:
        BenchmarkError: There are no two models, or two have no turn in common.
        SettingError: The runs have no such metric or group.
        InputError: A table is damaged.
    """
    competing = [index for index, model in enumerate(board.models) if model.competes]
    family = competing if len(competing) > 1 else list(range(len(board.models)))
    chosen = _chosen(board, models, family)
    metrics = metrics_of(board, settings.metrics)
    comparer = PairComparer(Turns.read(board), settings)
    for first, second in combinations(chosen, 2) if strict else ():
        comparer.refuse_strangers(first, second)
    rows: list[Comparison] = []
    for metric in metrics:
        rows += _of_metric(comparer, metric, chosen, family)
    aside = [index for index in range(len(board.models)) if index not in chosen] if models is None else []
    return Comparisons(board, tuple(chosen), tuple(rows), settings, tuple(aside))


def _of_metric(comparer: PairComparer, metric: str, chosen: Sequence[int], family: Sequence[int]) -> list[Comparison]:
    """The chosen pairs on one metric, each corrected over the family."""
    correction = comparer.settings.correction
    in_family = {pair: comparer.compare(metric, *pair) for pair in combinations(family, 2)}
    tested = [(pair, place) for pair, rows in in_family.items() for place, row in enumerate(rows) if row.p is not None]
    p_values = corrected([in_family[pair][place].p or 0.0 for pair, place in tested], correction)
    by_place = dict(zip(tested, p_values, strict=True))
    found: list[Comparison] = []
    for first, second in combinations(chosen, 2):
        swapped = (second, first) in in_family
        pair = (second, first) if swapped else (first, second)
        # A pair that is asked for the other way round is computed anew, so that its difference has the right sign.
        rows = in_family[pair] if pair in in_family and not swapped else comparer.compare(metric, first, second)
        for place, row in enumerate(rows):
            if pair in in_family:
                found.append(dataclasses.replace(row, corrected_p=by_place.get((pair, place)), family=len(tested)))
            else:
                found.append(dataclasses.replace(row, corrected_p=row.p))
    return found


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


def _chosen(board: Leaderboard, models: Sequence[int] | None, family: Sequence[int]) -> list[int]:
    chosen = list(family if models is None else models)
    twice = [index for place, index in enumerate(chosen) if index in chosen[:place]]
    if twice:
        raise BenchmarkError(f"{board.models[twice[0]].name!r} is named twice; a model equals itself")
    if len(chosen) < 2:
        names = ", ".join(repr(board.models[index].name) for index in chosen)
        raise BenchmarkError(f"there is one model to compare, {names}; give a second run")
    return chosen

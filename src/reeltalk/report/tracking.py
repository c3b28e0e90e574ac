"""What an experiment tracker is told of a run: a model's numbers, its curves, its groups, and how all came about.

A number that is withheld, or that nothing could be scored for, is not told; how many items have a score, and how many
should have one and have none, always is.
"""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.errors import SettingError
from reeltalk.report.leaderboard import why_no_value
from reeltalk.schema.record import Json
from reeltalk.schema.runs import GroupRow, ModelInfo
from reeltalk.store.documents import write_json
from reeltalk.store.runs import Run

ID_CHARS: Final = 16
GROUP_COLUMNS: Final = ("metric", "by", "group", "value", "low", "high", "n", "unscored")


@dataclass(frozen=True)
class TrackedModel:
    """One model of a run, as a tracker knows runs."""

    id: str
    """From what is told: the same numbers have the same, whenever and wherever they are tracked."""
    name: str
    numbers: dict[str, float]
    """`metric`, and beside it `metric/low`, `metric/high`, `metric/n`, `metric/unscored`."""
    curves: tuple[tuple[int, dict[str, float]], ...]
    """Turns from 1, each with `turn/metric`, `turn/metric/low` and so on."""
    groups: tuple[tuple[str | int | float | None, ...], ...]
    """Rows of `GROUP_COLUMNS`."""
    settings: dict[str, str]
    """What all signatures have in common, and what the run was; names and texts."""
    signatures: dict[str, str]
    """By metric."""
    withheld: dict[str, str]
    """Metrics whose number is not told, and why."""


def tracked_models(run: Run, *, models: Sequence[str] = (), name: str | None = None) -> list[TrackedModel]:
    """What is told of each model of a run.

    Args:
        run: The run.
        models: Which of its models; all where none is named.
        name: Begins the names; that of the run's folder by default.

    Raises:
        SettingError: The run has no such model.
        InputError: A table of the run is damaged.
    """
    infos = {info.model: info for info in run.info.models}
    for model in models:
        if model not in infos:
            raise SettingError(f"the run {run.path} has no model '{model}'; it has {', '.join(infos)}")
    chosen = [info for info in run.info.models if not models or info.model in models]
    groups = run.groups()
    start = name or run.name
    return [
        _tracked(run, info, [row for row in groups if row.model == info.model], _named(start, info, len(chosen)))
        for info in chosen
    ]


def _named(start: str, info: ModelInfo, count: int) -> str:
    return start if count == 1 else f"{start} {info.model}"


def _tracked(run: Run, info: ModelInfo, groups: Sequence[GroupRow], name: str) -> TrackedModel:
    rows = [row for row in run.summary if row.model == info.model]
    numbers: dict[str, float] = {}
    withheld: dict[str, str] = {}
    for row in rows:
        numbers |= _told(row.metric, row.value, row.low, row.high, row.n)
        numbers[f"{row.metric}/unscored"] = row.unscored
        if row.value is None:
            withheld[row.metric] = why_no_value(run, row)
    points: defaultdict[int, dict[str, float]] = defaultdict(dict)
    for point in run.curves:
        if point.model == info.model:
            points[point.turn_index + 1] |= _told(f"turn/{point.metric}", point.value, point.low, point.high, point.n)
    table = tuple(tuple(getattr(row, column) for column in GROUP_COLUMNS) for row in groups)
    signatures = {row.metric: row.signature for row in rows}
    settings = {
        "model": info.model,
        "source": info.source,
        "kind": run.info.kind,
        "subject": run.info.subject,
        "videos": str(run.info.clusters),
        "items": str(info.items),
        "missing": str(len(info.missing)),
        "reeltalk": run.info.reeltalk_version,
        **_in_common(list(signatures.values())),
    }
    told: list[Json] = [name, numbers, sorted(points.items()), [list(row) for row in table], settings, signatures]
    return TrackedModel(
        id=hashlib.sha256(write_json(told).encode()).hexdigest()[:ID_CHARS],
        name=name,
        numbers=numbers,
        curves=tuple(sorted(points.items())),
        groups=table,
        settings=settings,
        signatures=signatures,
        withheld=withheld,
    )


def _told(name: str, value: float | None, low: float | None, high: float | None, n: int) -> dict[str, float]:
    found = {name: value, f"{name}/low": low, f"{name}/high": high, f"{name}/n": float(n)}
    return {key: number for key, number in found.items() if number is not None}


def _in_common(signatures: Sequence[str]) -> dict[str, str]:
    """Parts that all signatures have with one value, as `data` and `history`."""
    parts = [dict(part.split(":", 1) for part in text.split("|")[1:] if ":" in part) for text in signatures]
    if not parts:
        return {}
    return {key: value for key, value in parts[0].items() if all(found.get(key) == value for found in parts)}

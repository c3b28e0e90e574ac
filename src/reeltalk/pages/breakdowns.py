"""Numbers over groups of turns as tables, and times over turns and lengths of videos as figures."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.analysis.columns import kind_of, settings_of, title_of
from reeltalk.analysis.leaderboard import Leaderboard, ModelRow
from reeltalk.pages import charts
from reeltalk.pages.charts import Estimate, Series, Stop, TimedSeries, line_plot
from reeltalk.schema.runs import CurvePoint, GroupRow

BY_TITLES: Final = {
    "question_type": "By question type",
    "answer_type": "By type of answer",
    "task": "By task",
    "skill": "By skill",
    "scene": "By scene",
    "turns": "By number of turns",
    "video_length": "By length of the video",
    "asked_at": "By the moment of the question",
    "kind": "By kind",
    "relation": "By relation",
}
LENGTH: Final = "video_length"
ASKED: Final = "asked_at"
PLOTTED_TIMINGS: Final = ("took_s", "first_token_s", "prompt_tokens", "new_frames", "memory_mib")
FEW_TIMES: Final = 5
"""Times scatter far less than scores do, so that a mean over this many already tells something."""
SETTINGS: Final = ("mode", "history", "policy", "frames", "fps", "size", "prompt", "rounds", "options", "subtitles")
"""Parts of a signature that say how answers came about, in the order of the table."""


@dataclass(frozen=True)
class GroupTable:
    """One metric over the groups of one kind: a row a group, a column a model."""

    metric: str
    rows: tuple[tuple[str, tuple[GroupRow | None, ...]], ...]


@dataclass(frozen=True)
class Breakdown:
    """All tables of one kind of group."""

    by: str
    title: str
    tables: tuple[GroupTable, ...]


@dataclass(frozen=True)
class TimingFigure:
    """A time, or how much was sent or kept, over turns, lengths of videos, or moments of questions."""

    metric: str
    title: str
    svg: str
    rows: tuple[tuple[str, tuple[Estimate | None, ...]], ...]
    """Its numbers: names of positions with each model's, in the leaderboard's order."""


def breakdowns(board: Leaderboard) -> list[Breakdown]:
    """Tables of judged headlines by kind of group, in the order in which the runs have them.

    Raises:
        InputError: A run's table of groups is damaged.
    """
    found: dict[str, dict[str, dict[str, dict[int, GroupRow]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(dict))
    )
    for index, row in _groups(board):
        if _is_shown(row):
            found[row.by][row.metric][row.group][index] = row
    return [
        Breakdown(
            by,
            BY_TITLES.get(by, f"By {by.replace('_', ' ')}"),
            tuple(
                GroupTable(
                    metric,
                    tuple(
                        (group, tuple(rows[group].get(index) for index in range(len(board.models))))
                        for group in in_order(rows)
                    ),
                )
                for metric, rows in metrics.items()
            ),
        )
        for by, metrics in found.items()
    ]


def has_groups(board: Leaderboard) -> bool:
    """True where some run has numbers of groups that are shown.

    Raises:
        InputError: A run's table of groups is damaged.
    """
    return any(_is_shown(row) for _, row in _groups(board))


def timings_by_turn(board: Leaderboard) -> list[TimingFigure]:
    """Seconds, tokens, frames and memory of an answer by turn."""
    return [figure for metric in PLOTTED_TIMINGS if (figure := _by_turn(board, metric)) is not None]


def timings_by_length(board: Leaderboard) -> list[TimingFigure]:
    """Seconds, tokens, frames and memory of an answer by the length of the video (SVBench's figures 8 and 9).

    Raises:
        InputError: A run's table of groups is damaged.
    """
    return _by_seconds(board, LENGTH, "length of the video", "length of the video")


def timings_by_moment(board: Leaderboard) -> list[TimingFigure]:
    """Seconds, tokens, frames and memory of an answer by how far the video had gone when it was asked for.

    Raises:
        InputError: A run's table of groups is damaged.
    """
    return _by_seconds(board, ASKED, "moment of the question", "asked at")


def how_answered(board: Leaderboard) -> tuple[list[str], list[tuple[ModelRow, list[str]]]]:
    """How each model's answers came about: names of settings that some run states, and their values by model."""
    stated = [settings_of(model.run, model.info.model) for model in board.models]
    names = [name for name in SETTINGS if any(name in found for found in stated)]
    rows = [
        (model, [found.get(name, "–") for name in names]) for model, found in zip(board.models, stated, strict=True)
    ]
    return names, rows


def judges(model: ModelRow) -> str | None:
    """Name of the model that judged a run, where one did."""
    judge = model.run.info.settings.get("judge")
    name = judge.get("judge") if isinstance(judge, dict) else None
    return str(name) if name else None


def in_order(groups: Iterable[str]) -> list[str]:
    """Groups as people count them: `<60 s`, `60-180 s`, `>=300 s`, `unknown`; words by the alphabet.

    Args:
        groups: Names of groups.
    """
    return sorted(groups, key=_place)


def _place(group: str) -> tuple[int, float, int, str]:
    number = re.search(r"[0-9]+(?:\.[0-9]+)?", group)
    if group == "unknown":
        return (2, 0.0, 0, "")
    if number is None or not re.match(r"[<>=≥≤]*\s*[0-9]", group):
        return (1, 0.0, 0, group)
    return (0, float(number[0]), 0 if group.startswith("<") else 1, group)


def _is_shown(row: GroupRow) -> bool:
    return kind_of(row.metric) in ("headline", "text")


def _groups(board: Leaderboard) -> list[tuple[int, GroupRow]]:
    found = []
    for run in {id(model.run): model.run for model in board.models}.values():
        places = [(index, model.info.model) for index, model in enumerate(board.models) if model.run is run]
        found += [(index, row) for row in run.groups() for index, name in places if name == row.model]
    return found


def _by_turn(board: Leaderboard, metric: str) -> TimingFigure | None:
    points = {
        index: {point.turn_index + 1: _estimate(point) for point in points}
        for index, model in enumerate(board.models)
        if (points := model.quoted_curve(metric))
    }
    if not _says_something(points):
        return None
    turns = sorted({turn for found in points.values() for turn in found})
    title = f"{title_of(metric)} by turn"
    svg = charts.curves(_series(board, points), title=f"{title}, a line for each model", few=FEW_TIMES)
    return TimingFigure(metric, title, svg, _rows(board, points, [(turn, str(turn)) for turn in turns]))


def _by_seconds(board: Leaderboard, by: str, words: str, axis: str) -> list[TimingFigure]:
    rows = [(index, row) for index, row in _groups(board) if row.by == by and row.value is not None]
    drawn = []
    for metric in PLOTTED_TIMINGS:
        labels = in_order({row.group for _, row in rows if row.metric == metric})
        places = {label: place for place, label in enumerate(labels)}
        points: dict[int, dict[int, Estimate]] = defaultdict(dict)
        for index, row in rows:
            if row.metric == metric:
                points[index][places[row.group]] = _estimate(row)
        stops = {place: at for place, label in enumerate(labels) if (at := _middle_s(label)) is not None}
        if len(stops) < 2 or not _says_something(points):
            continue
        lines = [
            TimedSeries(index, board.models[index].name, line)
            for index, found in sorted(points.items())
            if (line := [Stop(stops[place], labels[place], found[place]) for place in sorted(found) if place in stops])
        ]
        title = f"{title_of(metric)} by {words}"
        svg = line_plot(lines, title=f"{title}, a line for each model", axis=axis, few=FEW_TIMES)
        drawn.append(TimingFigure(metric, title, svg, _rows(board, points, list(enumerate(labels)))))
    return drawn


def _middle_s(group: str) -> float | None:
    """Where a group of seconds stands: in its middle, or at its bound where it has one; None for `unknown`."""
    bounds = [float(number) for number in re.findall(r"[0-9]+(?:\.[0-9]+)?", group)]
    if group.startswith("<"):
        bounds.insert(0, 0.0)
    return sum(bounds) / len(bounds) if bounds else None


def _says_something(points: Mapping[int, Mapping[int, Estimate]]) -> bool:
    """False where all is zero, as the frames of players that see none."""
    return any(estimate.value for found in points.values() for estimate in found.values())


def _series(board: Leaderboard, points: Mapping[int, Mapping[int, Estimate]]) -> list[Series]:
    return [Series(index, board.models[index].name, sorted(found.items())) for index, found in sorted(points.items())]


def _rows(
    board: Leaderboard, points: Mapping[int, Mapping[int, Estimate]], positions: Sequence[tuple[int, str]]
) -> tuple[tuple[str, tuple[Estimate | None, ...]], ...]:
    models = range(len(board.models))
    return tuple((name, tuple(points.get(index, {}).get(position) for index in models)) for position, name in positions)


def _estimate(point: CurvePoint | GroupRow) -> Estimate:
    assert point.value is not None
    return Estimate(point.value, point.low, point.high, point.n, point.videos)

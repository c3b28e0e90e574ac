"""What looking is worth: a model with the video's own pictures, beside itself with none, black or other ones."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.analysis.columns import kind_of, settings_of, title_of
from reeltalk.analysis.comparison import (
    CompareSettings,
    Comparison,
    PairComparer,
    metrics_of,
    shown_difference,
    shown_p,
)
from reeltalk.analysis.leaderboard import Leaderboard, build, shown
from reeltalk.analysis.paired import Turns
from reeltalk.analysis.score_matrix import ANSWER_TYPE
from reeltalk.errors import BenchmarkError
from reeltalk.metrics.significance import correct_p_values
from reeltalk.metrics.uncertainty import few_videos_warning
from reeltalk.pages.breakdowns import BY_TITLES, in_order
from reeltalk.schema.runs import CONTROLS, Control
from reeltalk.store.runs import Run

BY: Final = ("question_type", ANSWER_TYPE, "task")
"""Groups of turns that the page has; labels by the last part of their name, as `vdact.question_type`."""
DECIDED_BY_CONTROL: Final = frozenset({"control", "shown"})
"""Parts of a signature that a control changes, or that follow from it."""


@dataclass(frozen=True)
class LookingLine:
    """One metric, over all turns or those of a group."""

    name: str
    """The metric's title, or the group."""
    metric: str
    comparisons: tuple[Comparison, ...]
    """For each control the comparison of the video's own pictures with it."""

    @property
    def own(self) -> float | None:
        """The score with the video's own pictures, over the turns of the first comparison that has some."""
        return next((one.first_value for one in self.comparisons if one.first_value is not None), None)

    @property
    def items(self) -> int:
        """How many turns that is over."""
        return next((one.items for one in self.comparisons if one.items), 0)


@dataclass(frozen=True)
class LookingTable:
    """What each control costs, a line a metric or a group of turns."""

    title: str
    by: str | None
    """Kind of group; None over all turns."""
    lines: tuple[LookingLine, ...]


@dataclass(frozen=True)
class Looking:
    """One model's run with its controls."""

    model: str
    run: Run
    board: Leaderboard
    """The run and its controls side by side."""
    controls: tuple[Control, ...]
    tables: tuple[LookingTable, ...]

    @property
    def videos(self) -> int:
        """Source videos that the differences over all turns rest on, at least."""
        found = [one.videos for line in self.tables[0].lines for one in line.comparisons if one.items]
        return min(found, default=0)

    @property
    def few_videos(self) -> str | None:
        """A warning where these are few."""
        return few_videos_warning([self.videos], fewest=2)

    @property
    def headlines(self) -> tuple[LookingLine, ...]:
        """Judged measures over all turns; where nothing was judged, text metrics."""
        lines = self.tables[0].lines
        return tuple(line for line in lines if kind_of(line.metric) == kind_of(lines[0].metric))

    def line(self, metric: str) -> LookingLine | None:
        """One metric over all turns; None where nothing of it compares.

        Args:
            metric: Which, as `agree`.
        """
        return next((line for line in self.tables[0].lines if line.metric == metric), None)


def control_of(run: Run) -> Control | None:
    """The control that a run was played under; None for a run with the video's own pictures."""
    for info in run.info.models:
        stated = settings_of(run, info.model).get("control", "")
        for name in CONTROLS:
            if stated == name or stated.startswith(f"{name}-"):
                return name
    return None


def without_controls(runs: Iterable[Run]) -> tuple[list[Run], list[tuple[Run, dict[Control, Run]]]]:
    """Runs with the videos' own pictures, and those of them that have controls, with these.

    Controls are found below their run, or among what is given.

    Args:
        runs: Any.

    Raises:
        BenchmarkError: A control is given without the run that it belongs to.
        InputError: A control's files are damaged.
    """
    given = list(runs)
    own = [run for run in given if control_of(run) is None]
    found = {id(run): run.controls() for run in own}
    for run in given:
        if (control := control_of(run)) is None:
            continue
        base = next((one for one in own if _fixed(one) == _fixed(run)), None)
        if base is None:
            raise BenchmarkError(
                f"{run.path} is a control, played with {CONTROLS[control]}; give the run with the videos' own pictures "
                "too, as it shows nothing by itself"
            )
        found[id(base)].setdefault(control, run)
    return own, [(run, _ordered(found[id(run)])) for run in own if found[id(run)]]


def looking_of(run: Run, controls: dict[Control, Run]) -> list[Looking]:
    """What each control costs each model of a run.

    Args:
        run: With the videos' own pictures.
        controls: The same with other ones, by name.

    Raises:
        BenchmarkError: A table of scores lacks a row.
        InputError: A table is damaged.
    """
    board = build([run, *controls.values()])
    turns = Turns.read(board)
    found = []
    for place, model in enumerate(board.models):
        if model.run is not run or model.floor is not None:
            continue
        columns = {
            name: other
            for name, own in controls.items()
            for other, row in enumerate(board.models)
            if row.run is own and row.info.model == model.info.model and row.floor is None
        }
        tables = tuple(_tables(board, turns, place, tuple(columns.values())))
        if tables[0].lines:
            found.append(Looking(model.info.model, run, board, tuple(columns), tables))
    return found


def looking_lines(run: Run) -> Iterator[str]:
    """What looking is worth, for a terminal.

    Args:
        run: One that may have controls.

    Raises:
        BenchmarkError: A table of scores lacks a row.
        InputError: A table is damaged.
    """
    controls = run.controls()
    for looking in looking_of(run, controls) if controls else ():
        yield f"what looking is worth to {looking.model}: the video's own pictures less a control"
        if looking.few_videos:
            yield f"  {looking.few_videos}"
        wide = max(len(CONTROLS[name]) for name in looking.controls)
        for line in looking.headlines:
            for name, one in zip(looking.controls, line.comparisons, strict=True):
                yield f"  {line.name}  {CONTROLS[name]:<{wide}}  {worth_told(one)}"


def looking_sentence(looking: Looking, metric: str | None = None) -> str:
    """What looking is worth, in plain words.

    Args:
        looking: A model with its controls.
        metric: In which measure; the first one by default.
    """
    line = looking.line(metric) if metric is not None else next(iter(looking.headlines), None)
    if line is None or line.own is None:
        return "No number compares with the controls."
    parts = [
        f"{shown(one.second_value, line.metric)} with {CONTROLS[name]} (difference {worth_interval(one)})"
        for name, one in zip(looking.controls, line.comparisons, strict=True)
        if one.second_value is not None and one.difference is not None
    ]
    own = shown(line.own, line.metric)
    return f"{line.name}: {own} with the video's own pictures, and " + ", ".join(parts) + "."


def worth_told(one: Comparison) -> str:
    """A comparison with a control in words: both scores, the difference, its interval and p."""
    if one.difference is None or one.first_value is None or one.second_value is None:
        return f"not compared: {one.problem}"
    both = f"{shown(one.first_value, one.metric)} and {shown(one.second_value, one.metric)}"
    return f"{both}, difference {worth_interval(one)}, corrected p {shown_p(one.corrected_p)}, n = {one.items:,}"


def worth_interval(one: Comparison) -> str:
    """A difference with its interval."""
    assert one.difference is not None
    if one.low is None or one.high is None:
        return f"{shown_difference(one.metric, one.difference)} (no interval)"
    ends = ", ".join(shown_difference(one.metric, end) for end in (one.low, one.high))
    return f"{shown_difference(one.metric, one.difference)} [{ends}]"


def _tables(board: Leaderboard, turns: Turns, place: int, others: Sequence[int]) -> Iterator[LookingTable]:
    comparer = PairComparer(turns, CompareSettings())
    metrics = sorted(metrics_of(board, ()), key=lambda metric: kind_of(metric) != "headline")
    lines = []
    for metric in metrics:
        rows = _corrected(row for other in others for row in comparer.compare(metric, place, other))
        if any(row.difference is not None for row in rows):
            lines.append(LookingLine(title_of(metric), metric, tuple(rows)))
    yield LookingTable("Over all turns", None, tuple(lines))
    judged = [line.metric for line in lines if kind_of(line.metric) == "headline"] or [one.metric for one in lines[:1]]
    for by in BY:
        if by not in {kind.split(".")[-1] for kind in turns.kinds()}:
            continue
        grouped = PairComparer(turns, CompareSettings(by=by))
        for metric in judged:
            rows = _corrected(row for other in others for row in grouped.compare(metric, place, other))
            groups = in_order(dict.fromkeys(row.group for row in rows if row.group is not None))
            of_group = [tuple(row for row in rows if row.group == group) for group in groups]
            shown_rows = tuple(
                LookingLine(group.replace("_", " "), metric, own)
                for group, own in zip(groups, of_group, strict=True)
                if len(own) == len(others) and any(row.difference is not None for row in own)
            )
            if shown_rows:
                yield LookingTable(f"{title_of(metric)}, {BY_TITLES[by].lower()}", by, shown_rows)


def _corrected(rows: Iterable[Comparison]) -> list[Comparison]:
    """The comparisons of one table's metric with their p values corrected together: one family."""
    kept = list(rows)
    tested = [row.p for row in kept if row.p is not None]
    found = iter(correct_p_values(tested, CompareSettings().correction))
    return [
        row if row.p is None else dataclasses.replace(row, corrected_p=next(found), family=len(tested)) for row in kept
    ]


def _fixed(run: Run) -> tuple[object, ...]:
    """What a run and its controls have in common."""
    stated = [
        (info.model, {k: v for k, v in settings_of(run, info.model).items() if k not in DECIDED_BY_CONTROL})
        for info in run.info.models
    ]
    return stated, run.info.settings.get("benchmark"), run.info.subject


def _ordered(controls: dict[Control, Run]) -> dict[Control, Run]:
    return {name: controls[name] for name in CONTROLS if name in controls}

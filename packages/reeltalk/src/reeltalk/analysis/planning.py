"""How many videos a benchmark needs, from the variance in a pilot."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.analysis.columns import metric_title, span_of
from reeltalk.analysis.comparison import Comparison, Comparisons
from reeltalk.analysis.leaderboard import model_letter
from reeltalk.analysis.values import format_points, metric_unit
from reeltalk.metrics.significance import power_of, videos_needed
from reeltalk.metrics.uncertainty import FEW_VIDEOS
from reeltalk.schema.texts import printable

DEFAULT_POINTS: Final = (1.0, 2.0, 5.0)
"""Default differences of a plan, in hundredths of the metric's scale."""


@dataclass(frozen=True)
class SamplePlan:
    """A plan from one comparison as a pilot."""

    metric: str
    first: str
    second: str
    group: str | None
    videos: int
    items_per_video: float
    standard_error: float
    df: float
    icc: float
    design_effect: float | None
    detectable: float
    points: float
    """The difference planned for, in hundredths of the scale."""
    difference: float
    """The same in the metric's unit."""
    power_now: float
    """Power with the current number of videos."""
    videos_needed: int | None
    """None if it would be more than a million."""


def make_plans(found: Comparisons, points: Sequence[float] = DEFAULT_POINTS) -> list[SamplePlan]:
    """A plan for each comparison and difference, except comparisons without interval or scale."""
    alpha, power = found.settings.alpha, found.settings.target_power
    made = []
    for row in found.rows:
        span = span_of(row.metric)
        if span is None or row.standard_error is None or row.df is None or row.detectable is None or row.icc is None:
            continue
        names = [found.board.models[index].name for index in (row.first, row.second)]
        for point in points:
            difference = point / 100 * span
            made.append(
                SamplePlan(
                    row.metric,
                    names[0],
                    names[1],
                    row.group,
                    row.videos,
                    row.items / row.videos,
                    row.standard_error,
                    row.df,
                    row.icc,
                    row.design_effect,
                    row.detectable,
                    point,
                    difference,
                    power_of(difference, row.standard_error, row.df, alpha=alpha),
                    videos_needed(difference, row.standard_error, row.df, row.videos, alpha=alpha, power=power),
                )
            )
    return made


def plan_records(found: Comparisons, points: Sequence[float] = DEFAULT_POINTS) -> list[dict[str, object]]:
    """Plans as records."""
    return [dataclasses.asdict(plan) for plan in make_plans(found, points)]


def plan_text(found: Comparisons, points: Sequence[float] = DEFAULT_POINTS) -> str:
    """Plans for a terminal."""
    settings = found.settings
    lines = [
        f"How many videos like these a difference takes: two-sided test at {settings.alpha:.3g}, "
        f"{settings.target_power * 100:.0f} % power, as many turns a video."
    ]
    made = make_plans(found, points)
    for row in found.rows:
        own = [
            plan
            for plan in made
            if (plan.metric, plan.group) == (row.metric, row.group)
            and (plan.first, plan.second) == tuple(found.board.models[index].name for index in (row.first, row.second))
        ]
        lines += _row(found, row, own)
    if any(plan.videos_needed is not None and plan.videos_needed < FEW_VIDEOS for plan in made):
        lines.append(f"Below {FEW_VIDEOS} videos no test can be relied on, however large the difference.")
    lines.append(
        "A point is a hundredth of the metric's scale. More turns a video help less, the more they resemble each other."
    )
    return "\n".join(printable(line) for line in lines) + "\n"


def _why_no_plan(row: Comparison) -> str:
    if span_of(row.metric) is None:
        return "its scale has no end, so it has no points"
    return "there is no scatter to plan from" if row.videos > 1 else "one video tells no scatter"


def _row(found: Comparisons, row: Comparison, own: Sequence[SamplePlan]) -> list[str]:
    names = " and ".join(f"{model_letter(index)} {found.board.models[index].name}" for index in (row.first, row.second))
    title = metric_title(row.metric) + (f", {row.group}" if row.group else "")
    if not own:
        why = row.problem or _why_no_plan(row)
        return ["", f"{title}: {names}", f"    no plan: {why}"]
    first = own[0]
    effect = "" if first.design_effect is None else f", design effect {first.design_effect:.2f}"
    lines = [
        "",
        f"{title}: {names}",
        f"    pilot: {first.videos:,} videos with {first.items_per_video:.1f} {row.item}s each, standard error "
        f"{format_points(first.standard_error, row.metric)}, within-video correlation {first.icc:.2f}{effect}",
        f"    smallest detectable difference now: {format_points(first.detectable, row.metric)}",
    ]
    for plan in own:
        needed = "more than a million" if plan.videos_needed is None else f"{plan.videos_needed:,}"
        # A point of a share is a percentage point; of another scale it is a hundredth.
        size = "" if metric_unit(row.metric) == "%" else f" ({format_points(plan.difference, row.metric)})"
        lines.append(
            f"    {plan.points:g} point{'s' if plan.points != 1 else ''}{size}: {needed} videos; "
            f"found with {plan.power_now * 100:.0f} % power now"
        )
    return lines

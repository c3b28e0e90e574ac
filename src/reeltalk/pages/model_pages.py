"""A page for each model: its numbers, its profile beside the best and the floor, where it is strong and where weak."""

from dataclasses import dataclass

from markupsafe import Markup

from reeltalk.analysis.columns import kind_of, title_of
from reeltalk.analysis.tagged import title_of_vocabulary
from reeltalk.metrics.profile import RARE_PERCENT
from reeltalk.metrics.uncertainty import few_videos_warning
from reeltalk.pages import charts
from reeltalk.pages.breakdowns import Breakdown, GroupTable, breakdowns, how_answered, judges
from reeltalk.pages.charts import Estimate, Series
from reeltalk.pages.profile_page import (
    STYLE,
    best_model,
    comparable,
    floor_model,
    has_profiles,
    matrices,
    measures,
    radars,
    rare_plot,
)
from reeltalk.pages.profiles import COMPONENTS, Deviation, frequencies, tag_differences
from reeltalk.pages.site import Site, write_static

OWN_GROUPS = {"question_type": "vdact.question_type", "skill": "svbench.skill", "task": "task"}
"""Groups of a run whose labels the page has already, by the vocabulary in which it has them."""


@dataclass(frozen=True)
class Beside:
    """Another model that stands beside this one."""

    index: int
    what: str
    """`best`, `next` where this one is the best, or `floor`."""


def write_models(site: Site) -> None:
    """Write a page a model below `models/`.

    Args:
        site: The report.
    """
    write_static(site.folder, [STYLE])
    groups = breakdowns(site.board)
    names, answered = how_answered(site.board)
    often = frequencies(site.turns)
    tagged = has_profiles(site)
    judged = [metric for metric in site.board.plotted if kind_of(metric) == "headline"]
    plotted = judged or site.board.plotted
    for index, model in enumerate(site.board.models):
        beside = _beside(site, index)
        among = sorted([index, *(other.index for other in beside)])
        mine = site.profiles[index]
        best = next((other.index for other in beside if other.what == "best"), None)
        site.render(
            "model.html",
            model.page,
            model=model,
            index=index,
            beside=beside,
            among=among,
            profile=mine,
            profiles=site.profiles,
            turns=site.turns,
            has_tags=tagged and mine.overall is not None,
            all_profiles=tagged,
            frequencies=often,
            components=COMPONENTS,
            few=charts.FEW,
            few_videos=few_videos_warning([model.run.info.clusters]),
            rare_percent=RARE_PERCENT,
            measures=[line for line in measures(site) if index in line.models],
            radars=radars(site, among, model.page) if mine.overall is not None else [],
            plot=rare_plot(site, index, model.page),
            differences={row.tag: row for row in tag_differences(site.turns, index, best)} if best is not None else {},
            best=best,
            strengths=_told(mine.strengths),
            weaknesses=_told(mine.weaknesses),
            curves=[
                (title_of(metric), Markup(svg)) for metric in plotted if (svg := _curve(site, among, metric, index))
            ],
            groups=_own(groups, site, among, index),
            matrices=matrices(site, index, None) if tagged else [],
            settings=[
                (name, value)
                for row, values in answered
                if row is model
                for name, value in zip(names, values, strict=True)
            ],
            judge=judges(model),
            title_of_vocabulary=title_of_vocabulary,
        )


def _beside(site: Site, index: int) -> list[Beside]:
    """The best of the others and the floor, where they are measured alike."""
    found = [("best", best_model(site)), ("floor", floor_model(site))]
    there = [Beside(other, what) for what, other in found if other is not None and other != index]
    if not there or there[0].what != "best":
        # The page of the best shows who comes next.
        following = best_model(site, beside=index)
        there = [*([Beside(following, "next")] if following is not None else []), *there]
    return [other for other in there if comparable(site, index, other.index)]


def _told(found: tuple[Deviation, ...]) -> list[tuple[str, Deviation]]:
    """Strengths or weaknesses with what kind of label each is."""
    return [("CogME" if d.vocabulary == "cogme" else title_of_vocabulary(d.vocabulary), d) for d in found]


def _curve(site: Site, among: list[int], metric: str, index: int) -> str:
    models = site.board.models
    if not models[index].quoted_curve(metric):
        return ""
    series = [
        Series(
            place,
            models[place].name,
            [
                (p.turn_index + 1, Estimate(p.value, p.low, p.high, p.n, p.videos))
                for p in points
                if p.value is not None
            ],
        )
        for place in among
        if (points := models[place].quoted_curve(metric))
    ]
    return charts.curves(series, title=f"{title_of(metric)} by turn position, a line for each model")


def _own(groups: list[Breakdown], site: Site, among: list[int], index: int) -> list[Breakdown]:
    """The run's own tables by group for the models of the page, without those that the page has from the turns."""
    kept = []
    for breakdown in groups:
        if OWN_GROUPS.get(breakdown.by) in site.turns.groups:
            continue
        tables = []
        for table in breakdown.tables:
            rows = [(group, tuple(found[place] for place in among)) for group, found in table.rows]
            if kind_of(table.metric) == "headline" and any(found[index] for _, found in table.rows):
                tables.append(GroupTable(table.metric, tuple(row for row in rows if any(row[1]))))
        if tables:
            kept.append(Breakdown(breakdown.by, breakdown.title, tuple(tables)))
    return kept

"""The pages of models: a list of facts about models, and a page for each model with its numbers and profile."""

from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from reeltalk.analysis.columns import metric_kind, metric_title
from reeltalk.analysis.estimates import FEW_TURNS, quantity_of
from reeltalk.analysis.profiles import COMPONENTS, Deviation, frequencies, tag_differences
from reeltalk.analysis.table_files import TableCell
from reeltalk.analysis.turn_scores import title_of_vocabulary
from reeltalk.analysis.values import metric_heading
from reeltalk.metrics.profile import RARE_PERCENT
from reeltalk.metrics.uncertainty import few_videos_warning
from reeltalk.pages import charts
from reeltalk.pages.breakdowns import Breakdown, GroupTable, answer_settings_table, group_breakdowns, judge_name
from reeltalk.pages.charts import Mark, estimate_of
from reeltalk.pages.profiles import (
    STYLE,
    are_comparable,
    best_model,
    draw_matrices,
    draw_radars,
    draw_rare,
    floor_model,
    has_profiles,
    measure_lines,
)
from reeltalk.pages.site import Page, Site, write_static

PAGE: Final = "models.html"
AXIS: Final = "parameters (thousand millions)"


def has_about(site: Site) -> bool:
    """True if there are facts about a model of the report."""
    return any(site.about)


def write_about(site: Site) -> None:
    """Write `models.html`."""
    board = site.board
    judged = [metric for metric in board.plotted if metric_kind(metric) == "headline"]
    metrics = judged or board.plotted
    drawn = [(metric, figure) for metric in metrics if (figure := _sizes(site, metric))]
    known = {name for model in board.models for name in (model.info.model, model.name)}
    header = ["Model", "Kind", "Parameters (10^9)", "Frames", "Context", *map(metric_title, metrics), "Link"]
    rows: list[list[TableCell]] = [
        [
            model.name,
            about.kind,
            f"{about.parameters_b:g}" if about.parameters_b is not None else None,
            about.frames,
            about.context,
            *(quantity_of(model.info.items, model.cells[metric]) for metric in metrics),
            about.link,
        ]
        for model, about in zip(board.models, site.about, strict=True)
        if about is not None
    ]
    site.render(
        PAGE,
        PAGE,
        drawn=drawn,
        axis=AXIS,
        silent=[
            model
            for model, about in zip(board.models, site.about, strict=True)
            if model.floor is None and (about is None or about.parameters_b is None)
        ],
        elsewhere=[name for name in site.settings.about if name not in known],
        table=site.table(PAGE, "about", header, rows, "Models", site.signatures_of(*metrics)),
    )


def _sizes(site: Site, metric: str) -> Markup:
    marks = [
        Mark(index, model.name, value, at=about.parameters_b, tooltip=f"{about.parameters_b:g}: {value}")
        for index, (model, about) in enumerate(zip(site.board.models, site.about, strict=True))
        if about is not None
        and about.parameters_b is not None
        and (cell := model.cells[metric]) is not None
        and (value := estimate_of(cell.row, metric)) is not None
    ]
    title = f"{metric_title(metric)} by number of parameters"
    svg = charts.spot_chart(marks, title=title, axis=AXIS, values=metric_heading(metric), log=True)
    return site.figure(PAGE, f"size-{metric}", svg, title, site.signatures_of(metric))


OWN_GROUPS = {"question_type": "vdact.question_type", "skill": "svbench.skill", "task": "task"}
"""Groups of a run that the page already has as labels, with the vocabulary of the labels."""


@dataclass(frozen=True)
class ReferenceModel:
    """Another model that this one is compared with."""

    index: int
    what: str
    """`best`; `next` if this model is the best; or `floor`."""


def write_models(site: Site) -> None:
    """Write a page for each model below `models/`."""
    write_static(site.folder, [STYLE])
    groups = group_breakdowns(site.board)
    names, answered = answer_settings_table(site.board)
    often = frequencies(site.turns)
    tagged = has_profiles(site)
    judged = [metric for metric in site.board.plotted if metric_kind(metric) == "headline"]
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
            few=FEW_TURNS,
            few_videos=few_videos_warning([model.run.info.clusters]),
            rare_percent=RARE_PERCENT,
            measures=[line for line in measure_lines(site) if index in line.models],
            radars=draw_radars(site, among, model.page) if mine.overall is not None else [],
            plot=draw_rare(site, index, model.page),
            differences={row.tag: row for row in tag_differences(site.turns, index, best)} if best is not None else {},
            best=best,
            strengths=_name_labels(mine.strengths),
            weaknesses=_name_labels(mine.weaknesses),
            curves=[
                (metric_title(metric), Markup(svg)) for metric in plotted if (svg := _curve(site, among, metric, index))
            ],
            groups=_own(groups, site, among, index),
            matrices=draw_matrices(site, index, None) if tagged else [],
            settings=[
                (name, value)
                for row, values in answered
                if row is model
                for name, value in zip(names, values, strict=True)
            ],
            judge=judge_name(model),
            title_of_vocabulary=title_of_vocabulary,
        )


def _beside(site: Site, index: int) -> list[ReferenceModel]:
    """The best of the other models, and the floor, if they are comparable."""
    found = [("best", best_model(site)), ("floor", floor_model(site))]
    there = [ReferenceModel(other, what) for what, other in found if other is not None and other != index]
    if not there or there[0].what != "best":
        # The page of the best model shows the next one.
        following = best_model(site, beside=index)
        there = [*([ReferenceModel(following, "next")] if following is not None else []), *there]
    return [other for other in there if are_comparable(site, index, other.index)]


def _name_labels(found: tuple[Deviation, ...]) -> list[tuple[str, Deviation]]:
    """Strengths or weaknesses, with the kind of each label."""
    return [("CogME" if d.vocabulary == "cogme" else title_of_vocabulary(d.vocabulary), d) for d in found]


def _curve(site: Site, among: list[int], metric: str, index: int) -> str:
    models = site.board.models
    if not models[index].quoted_curve(metric):
        return ""
    marks = [
        Mark(place, models[place].name, estimate_of(point, metric), at=point.turn_index + 1)
        for place in among
        for point in models[place].quoted_curve(metric)
    ]
    title = f"{metric_title(metric)} by turn position, a line for each model"
    return charts.line_chart(marks, title=title, axis="turn", values=metric_heading(metric), names={})


def _own(groups: list[Breakdown], site: Site, among: list[int], index: int) -> list[Breakdown]:
    """The run's own tables by group for the models of the page, without groups computed from the turns."""
    kept = []
    for breakdown in groups:
        if OWN_GROUPS.get(breakdown.by) in site.turns.groups:
            continue
        tables = []
        for table in breakdown.tables:
            rows = [(group, tuple(found[place] for place in among)) for group, found in table.rows]
            if metric_kind(table.metric) == "headline" and any(found[index] for _, found in table.rows):
                tables.append(GroupTable(table.metric, tuple(row for row in rows if any(row[1]))))
        if tables:
            kept.append(Breakdown(breakdown.by, breakdown.title, tuple(tables)))
    return kept


REPORT_PAGES: Final = (
    Page("", "models/", lambda site: True, write_models, place=40),
    Page("Models", PAGE, has_about, write_about, place=90, more=True),
)

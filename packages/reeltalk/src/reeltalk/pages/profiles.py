"""The page of profiles: tables and radars of each model's achievement, by tag and by kind of question."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from markupsafe import Markup

from reeltalk.analysis.columns import differing_parts
from reeltalk.analysis.estimates import FEW_TURNS, Estimate, quantity
from reeltalk.analysis.leaderboard import FREE_PARTS, model_letter
from reeltalk.analysis.profiles import (
    COMPONENTS,
    Frequency,
    Matrix,
    TagDifference,
    best_of,
    frequencies,
    matrix_of,
    tag_differences,
)
from reeltalk.analysis.table_files import Quantity, TableCell
from reeltalk.analysis.turn_scores import title_of_vocabulary
from reeltalk.metrics.profile import RARE_PERCENT, TAGS
from reeltalk.metrics.uncertainty import few_videos_warning
from reeltalk.pages.charts import MOST_POLYGONS, Mark, interval_chart, radar_chart
from reeltalk.pages.site import Page, Site, write_static

PAGE: Final = "profiles.html"
STYLE = "profiles.css"
SAME_QUESTIONS = FREE_PARTS | {"data"}
"""Signature parts that may differ between models that are compared on shared turns."""


@dataclass(frozen=True)
class MeasureLine:
    """The measure of how right answers are, for some of the models."""

    metric: str
    models: list[int]
    signatures: list[str]


@dataclass(frozen=True)
class ModelPair:
    """A comparison of two models by tag."""

    one: int
    two: int
    rows: list[TagDifference]
    shows_best: bool
    """True if one of them is the best model of all."""

    @property
    def differing(self) -> int:
        """Number of tags with a significant difference."""
        return sum(row.differs for row in self.rows)


def has_profiles(site: Site) -> bool:
    """True if some scored answer is to a question with CogME's tags."""
    return site.turns.has_tags


def write_profiles(site: Site) -> None:
    """Write `profiles.html`."""
    write_static(site.folder, [STYLE])
    models = shown_models(site)
    often = frequencies(site.turns)
    first, second = _first_two(site)
    pairs = [_pair(site, one, two, first) for one, two in combinations(models, 2) if are_comparable(site, one, two)]
    vocabularies = list(site.turns.groups)
    videos = len(np.unique(site.turns.video_codes[site.turns.tagged]))
    site.render(
        "profiles.html",
        PAGE,
        profiles=site.profiles,
        turns=site.turns,
        videos=videos,
        few_videos=few_videos_warning([videos]),
        few=FEW_TURNS,
        rare_percent=RARE_PERCENT,
        frequencies=often,
        components=COMPONENTS,
        measures=measure_lines(site),
        scored=[index for index, measure in enumerate(site.turns.measures) if measure is not None],
        shown_models=models,
        radars=draw_radars(site, models, PAGE),
        plots=[(index, plot) for index in models if (plot := draw_rare(site, index, PAGE))],
        files=_files(site),
        pairs=sorted(pairs, key=lambda pair: (-pair.differing, pair.one, pair.two)),
        apart=[(one, two) for one, two in combinations(models, 2) if not are_comparable(site, one, two)],
        labels=vocabularies,
        title_of_vocabulary=title_of_vocabulary,
        matrices=draw_matrices(site, first, None) if first is not None else [],
        compared=draw_matrices(site, first, second) if first is not None and second is not None else [],
        first=first,
        second=second,
    )


def draw_radars(site: Site, models: Sequence[int], page: str) -> list[tuple[str, Markup]]:
    """A radar for each of the three components: title and SVG; empty if no model has a value.

    Args:
        site: The report.
        models: Places of the models to draw.
        page: The file with the figures.
    """
    often = frequencies(site.turns)
    drawn = []
    for title, tags in COMPONENTS:
        marks = [
            Mark(index, site.board.models[index].name, value, row=tag, tooltip=f"{value}, n = {value.n:,}",
                 hollow=not (site.board.models[index].competes or site.board.models[index].floor))
            for index in models
            for tag in tags
            if (value := site.profiles[index].weighted[tag]) is not None
        ]  # fmt: skip
        words = f"Achievement by {title.lower()} in per cent, a polygon for each model"
        svg = radar_chart(marks, {tag: _note(often[tag]) for tag in tags}, title=words, values="achievement, %")
        if svg:
            signatures = signatures_of(site, models)
            drawn.append((title, site.figure(page, f"radar-{title.lower()}", svg, words, signatures)))
    return drawn


def draw_rare(site: Site, index: int, page: str) -> Markup:
    """The chart of one model's achievement at each tag by the tag's frequency.

    Args:
        site: The report.
        index: The model's place.
        page: The file with the figure.
    """
    often, mine = frequencies(site.turns), site.profiles[index]
    marks = [
        Mark(index, site.board.models[index].name, value, row=f"{tag}, {share.percent:.1f} %", hollow=share.rare,
             tooltip=f"{value}, n = {value.n:,}")
        for tag, share in sorted(often.items(), key=lambda pair: pair[1].percent or 0.0)
        if (value := mine.weighted[tag]) is not None and share.percent
    ]  # fmt: skip
    title = f"Achievement of {site.board.models[index].name} at each tag, the rarest first"
    overall = mine.overall.value if mine.overall is not None else None
    svg = interval_chart(
        marks, title=title, axis="achievement, %", line=overall, few=FEW_TURNS, rows="tag, share of questions"
    )
    name = f"rare-tags-{model_letter(index).lower()}"
    return site.figure(page, name, svg, title, signatures_of(site, [index]))


def signatures_of(site: Site, models: Sequence[int]) -> list[str]:
    """Signatures of the measures of some models' answers, each once.

    Args:
        site: The report.
        models: Their places.
    """
    found: dict[str, None] = {}
    for index in models:
        metric = site.turns.measures[index]
        cell = site.board.models[index].cells.get(metric) if metric is not None else None
        if cell is not None:
            found[cell.row.signature] = None
    return list(found)


def draw_matrices(site: Site, one: int, two: int | None) -> list[Matrix]:
    """Matrices of tags by the labels of every other vocabulary of the tagged turns.

    Args:
        site: The report.
        one: Place of a model.
        two: Place of a model whose values are subtracted.
    """
    found = [matrix_of(site.turns, vocabulary, one, two) for vocabulary in site.turns.groups]
    return [matrix for matrix in found if any(cell is not None for _, cells in matrix.rows for cell in cells)]


def measure_lines(site: Site) -> list[MeasureLine]:
    """The measures of how right the answers are, with their signatures and models."""
    lines: dict[str, MeasureLine] = {}
    for index, metric in enumerate(site.turns.measures):
        if metric is None:
            continue
        line = lines.setdefault(metric, MeasureLine(metric, [], []))
        line.models.append(index)
        cell = site.board.models[index].cells.get(metric)
        if cell is not None and cell.row.signature not in line.signatures:
            line.signatures.append(cell.row.signature)
    return list(lines.values())


def are_comparable(site: Site, one: int, two: int) -> bool:
    """True if two models have the same measure, with signatures that do not differ in anything that changes it.

    Args:
        site: The report.
        one: Place of the first model.
        two: Place of the second.
    """
    metric = site.turns.measures[one]
    if metric is None or site.turns.measures[two] != metric:
        return False
    models = [site.board.models[index] for index in (one, two)]
    cells = [(model.info, cell.row) for model in models if (cell := model.cells.get(metric)) is not None]
    return not differing_parts(cells, SAME_QUESTIONS)


def best_model(site: Site, *, beside: int | None = None) -> int | None:
    """The model with the highest mean over tagged turns; people, references and oracles only if there are no others.

    Args:
        site: The report.
        beside: Only search models that are comparable with this one, and not itself.
    """
    there = [index for index, model in enumerate(site.board.models) if model.floor is None and index != beside]
    if beside is not None:
        there = [index for index in there if are_comparable(site, beside, index)]
    told = [
        index
        for index in there
        if (model := site.board.models[index]).is_human or model.is_reference or model.info.source.startswith("oracle")
    ]
    quoted = [index for index in there if index not in told and _quoted(site, index)]
    return best_of(site.profiles, quoted or [index for index in there if index not in told] or told)


def floor_model(site: Site, *, beside: int | None = None) -> int | None:
    """The best of the baselines that do not see the video; None if there is none.

    Args:
        site: The report.
        beside: Only search models that are comparable with this one, and not itself.
    """
    there = [index for index, model in enumerate(site.board.models) if model.floor is not None and index != beside]
    if beside is not None:
        there = [index for index in there if are_comparable(site, beside, index)]
    return best_of(site.profiles, there)


def shown_models(site: Site) -> list[int]:
    """The models of the radars: all that have a profile, or if there are many the best, those that compete first."""
    scored = [index for index, mine in enumerate(site.profiles) if mine.overall is not None]
    if len(scored) <= MOST_POLYGONS:
        return scored
    floor = floor_model(site)
    models = [index for index in scored if site.board.models[index].floor is None] or scored
    models.sort(key=lambda index: (not site.board.models[index].competes, -_overall(site, index), index))
    kept = models[: MOST_POLYGONS - (floor is not None and floor not in models)]
    return sorted({*kept, *([floor] if floor is not None else [])})


def _files(site: Site) -> Markup:
    """Links to the table of 19 tags as files, if these are requested."""
    models = [index for index, mine in enumerate(site.profiles) if mine.overall is not None]
    often = frequencies(site.turns)
    header = ["Tag", "Questions", "Per cent", *(site.board.models[index].name for index in models)]
    rows: list[list[TableCell]] = [
        [
            tag,
            often[tag].questions,
            Quantity(often[tag].percent, metric="cogme", missing="none"),
            *(quantity(site.profiles[index].weighted[tag], "cogme") for index in models),
        ]
        for tag in TAGS
    ]
    return site.table(
        PAGE, "tags", header, rows, "Weighted achievement at CogME's 19 tags in per cent", signatures_of(site, models)
    )


def _quoted(site: Site, index: int) -> bool:
    """False if the measure's number is withheld because too many scores are missing."""
    metric = site.turns.measures[index]
    cell = site.board.models[index].cells.get(metric) if metric is not None else None
    return cell is None or not cell.withheld


def _overall(site: Site, index: int) -> float:
    found: Estimate | None = site.profiles[index].overall
    return found.value if found is not None else -1.0


def _first_two(site: Site) -> tuple[int | None, int | None]:
    first = best_model(site)
    if first is None:
        return floor_model(site), None
    return first, best_model(site, beside=first)


def _pair(site: Site, one: int, two: int, best: int | None) -> ModelPair:
    """A comparison of two models, the better one first."""
    if _overall(site, two) > _overall(site, one):
        one, two = two, one
    return ModelPair(one, two, tag_differences(site.turns, one, two), best in (one, two))


def _note(share: Frequency) -> str:
    if not share.questions:
        return "no question"
    return f"n = {share.questions:,}" + (" · rare" if share.rare else "")


REPORT_PAGES: Final = (Page("Profiles", PAGE, has_profiles, write_profiles, place=30),)

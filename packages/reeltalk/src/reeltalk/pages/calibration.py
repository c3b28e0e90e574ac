"""The page about how far judges can be trusted, in a report or as its own site."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from reeltalk._version import __version__
from reeltalk.analysis.calibration import (
    Calibration,
    CalibrationSettings,
    CorrectedMean,
    Dimension,
    JudgeAgreement,
    Landmark,
    calibrate,
)
from reeltalk.analysis.estimates import Estimate
from reeltalk.analysis.human_ratings import human_ratings, says_human
from reeltalk.analysis.judge_values import read_scored
from reeltalk.analysis.table_files import Quantity, TableCell
from reeltalk.analysis.values import format_value
from reeltalk.errors import SettingError
from reeltalk.metrics.draws import Statistic
from reeltalk.metrics.prediction_powered import FEWEST_LABELS, FEWEST_VIDEOS
from reeltalk.metrics.uncertainty import FEW_VIDEOS
from reeltalk.pages import charts
from reeltalk.pages.charts import Mark
from reeltalk.pages.site import STATIC, Page, Site, make_environment, write_static, write_text
from reeltalk.store.atomic import write_bytes
from reeltalk.store.documents import write_json
from reeltalk.store.runs import JUDGED, Run

Draw = Callable[[str, str, str, str], Markup]
"""Returns a figure for its page from name, drawing, title and signature."""

PAGE: Final = "calibration.html"
STYLE: Final = "calibration.css"
DATA: Final = "calibration.json"
TRAITS: Final = {
    "length": "Length of the answer",
    "position": "Turn of the dialogue",
    "option": "Place of the right option",
}
TOP, BOTTOM = 0.9, 0.1
"""A judge should put references above the first share of its scale, and floors below the second."""


@dataclass(frozen=True)
class ShownDimension:
    """A dimension with its figures."""

    data: Dimension
    signature: str
    forests: tuple[tuple[str, str, Markup], ...]
    """Title, explanation and figure of each level."""
    strips: tuple[Markup, ...]
    """One for each judge."""
    means: tuple[Markup, ...]
    """One for each judge; empty if there are fewer than two models."""
    landmarks: tuple[tuple[JudgeAgreement, tuple[Landmark, ...], tuple[str, ...]], ...]
    """Judges that scored references or floors, their scores, and the problems found."""


def run_calibration(runs: Sequence[Run], human: Path | None) -> Calibration | None:
    """Compare judges with people's ratings for a report; None if there are no ratings to show.

    Args:
        runs: The runs of the report.
        human: A file of ratings, in addition to those in the runs.

    Raises:
        SettingError: A file was given and does not match the runs.
    """
    rated = any(says_human(run.file(JUDGED.format(protocol=name))) for run in runs for name in run.protocols())
    if human is None and not rated:
        return None
    try:
        found = read_scored(runs)
        ratings = human_ratings(runs, [human] if human is not None else [], found.places)
        return calibrate(runs, ratings, found, CalibrationSettings())
    except SettingError:
        # If the ratings that came with a run match no answer in it, its report is still written.
        if human is not None:
            raise
        return None


def write_calibration(site: Site) -> None:
    """Write `calibration.html` of a report.

    Args:
        site: The report, with its calibration.
    """
    assert site.calibration is not None
    write_static(site.folder, [STYLE])

    def draw(name: str, svg: str, title: str, signature: str) -> Markup:
        return site.figure(PAGE, name, svg, title, [signature])

    signed = _signed(site.calibration)
    tables = [_files(site, each) for each in signed], [_means_files(site, each) for each in signed]
    site.render(PAGE, PAGE, **_values(site.calibration, draw, *tables))


def write_calibration_site(found: Calibration, runs: Sequence[Run], folder: Path) -> None:
    """Write a calibration as its own site: page, style and `calibration.json`.

    Args:
        folder: An existing, empty folder.
    """
    write_static(folder, [*STATIC, STYLE])
    subjects = " · ".join(dict.fromkeys(run.info.subject for run in runs))
    html = make_environment().get_template(PAGE).render(root="", subjects=subjects, **_values(found, _plainly))
    write_text(folder / PAGE, html)
    write_bytes(folder / DATA, write_json(_plain(found)).encode())


def _plain(found: Calibration) -> Any:
    data = asdict(found)
    for dimension, (_, signature) in zip(data["dimensions"], _signed(found), strict=True):
        dimension["signature"] = signature
        for judge in dimension["judges"]:
            # Only figures need the pair of values of each answer; the runs and the ratings have them.
            del judge["points"]
    return data


def _plainly(name: str, svg: str, title: str, signature: str) -> Markup:
    return Markup(svg)


def _signed(found: Calibration) -> list[tuple[Dimension, str]]:
    """Dimensions, each with the signature of its numbers."""
    return [
        (
            dimension,
            f"calibration|criterion:{dimension.criterion.replace('|', '/')}|raters:{len(dimension.people.raters)}"
            f"|rated:{dimension.people.items}|models:{len(dimension.models)}"
            f"|scale:{dimension.scale[0]:g}..{dimension.scale[1]:g}|passes:{_marks(dimension)}"
            f"|ci:95%-by-video-{found.resamples}|seed:{found.seed}|v:{__version__}",
        )
        for dimension in found.dimensions
    ]


def _marks(dimension: Dimension) -> str:
    """The pass marks of people and of every judge that is compared by pass and fail."""
    marks = {
        judge.criterion.replace("|", "/"): judge.categories.judge_passes
        for judge in dimension.judges
        if judge.categories is not None and judge.categories.judge_passes is not None
    }
    return ",".join([f"human={dimension.people_pass:g}", *(f"{name}={mark:g}" for name, mark in sorted(marks.items()))])


def _files(site: Site, signed: tuple[Dimension, str]) -> Markup:
    """The table of judges as files, if these are requested."""
    dimension, signature = signed
    rows = []
    for judge in dimension.judges:
        levels = judge.levels
        kappa = judge.categories.kappa if judge.categories else None
        found = [levels.answers.spearman, levels.within.spearman, levels.models.spearman, judge.in_place, kappa]
        rows.append([judge.name, str(levels.answers.spearman.n), *map(_interval, found)])
    header = ["Judge", "n", "On answers", "Within models", "On models", "In a person's place", "Kappa"]
    title = f"Spearman's rho of judges with people on {dimension.criterion}"
    return site.table(PAGE, f"judges-{dimension.criterion}", header, rows, title, [signature])


def _means_files(site: Site, signed: tuple[Dimension, str]) -> Markup:
    """The table of corrected means as files, if these are requested."""
    dimension, signature = signed
    rows: list[list[TableCell]] = []
    for judge in dimension.judges:
        for of, means in (("mean", judge.means), ("share of right answers", judge.shares)):
            for row in means:
                both, people = row.corrected, row.people
                alone = Quantity(people.value, people.low, people.high, people.n) if people else None
                corrected = Quantity(both.value, both.low, both.high, missing="not rated")
                worth = None if row.worth is None else round(row.worth)
                counts = row.judged, both.n, both.labelled_clusters, worth
                rows.append(
                    [judge.name, row.model, of, row.judge, alone, corrected, *counts, both.reason or both.advice]
                )
    header = ["Judge", "Model", "Of", "Judge alone", "People alone", "Corrected", "Judged", "Rated", "Rated videos"]
    title = f"Means on {dimension.criterion} by judges, by people and corrected"
    return site.table(PAGE, f"means-{dimension.criterion}", [*header, "Worth", "Note"], rows, title, [signature])


def _reasons(rows: Sequence[CorrectedMean]) -> list[tuple[list[str], str]]:
    """Why models have no interval, or only one bound, grouped by reason."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.corrected.reason is not None:
            found.setdefault(row.corrected.reason, []).append(row.model)
    return [(models, reason) for reason, models in found.items()]


def _interval(found: Statistic | None) -> str:
    if found is None or found.value is None:
        return "–"
    return format_statistic(found) + (f" [{found.low:.3f}, {found.high:.3f}]" if found.low is not None else "")


def _values(
    found: Calibration, draw: Draw, files: Sequence[Markup] = (), means_files: Sequence[Markup] = ()
) -> dict[str, Any]:
    signed = _signed(found)
    return {
        "found": found,
        "dimensions": [_shown(dimension, signature, draw) for dimension, signature in signed],
        "files": list(files) or [Markup("")] * len(signed),
        "means_files": list(means_files) or [Markup("")] * len(signed),
        "few_videos": FEW_VIDEOS,
        "fewest_labels": FEWEST_LABELS,
        "fewest_videos": FEWEST_VIDEOS,
        "reasons": _reasons,
        "traits": TRAITS,
        "statistic": format_statistic,
    }


RHO: Final = "Spearman's rho"


def format_statistic(found: Statistic | None) -> str:
    """A correlation or agreement with three digits; a dash if there is none."""
    return "–" if found is None or found.value is None else f"{found.value:.3f}"


def _shown(dimension: Dimension, signature: str, draw: Draw) -> ShownDimension:
    judges = dimension.judges
    of = dimension.criterion
    forests = []
    for title, meaning, level in (
        ("On answers", "all rated answers together", "answers"),
        ("Within models", "the mean of the models' own correlations", "within"),
        ("On models", f"means of {len(dimension.models)} models", "models"),
    ):
        marks = [
            Mark(place, judge.name, _estimate(getattr(judge.levels, level).spearman))
            for place, judge in enumerate(judges)
        ]
        told = f"Spearman's rho with people on {of}, {title.lower()}, a row for each judge"
        drawn = charts.interval_chart(marks, title=told, axis=RHO, rows="judge")
        forests.append((title, meaning, draw(f"{of}-{level}", drawn, told, signature)))
    if len(dimension.people.raters) > 1:
        marks = [
            Mark(place, judge.name, _estimate(judge.in_place) if judge.in_place else None)
            for place, judge in enumerate(judges)
        ]
        marks.append(Mark(len(judges), "people, each with the others", _estimate(dimension.people.ceiling)))
        told = f"Spearman's rho on {of} in the place of each person, a row for each judge and a last row for people"
        drawn = charts.interval_chart(marks, title=told, axis=RHO, rows="judge")
        drawn = draw(f"{of}-in-place", drawn, told, signature)
        forests.append(("In a person's place", "and people with each other", drawn))
    return ShownDimension(
        dimension,
        signature,
        tuple(forests),
        tuple(_strip(dimension, judge, signature, draw) for judge in judges),
        tuple(_means(dimension, judge, signature, draw) for judge in judges),
        tuple((judge, tried, _problems(tried)) for judge in judges if (tried := _tried(judge))),
    )


def _estimate(found: Statistic) -> Estimate | None:
    return None if found.value is None else Estimate(found.value, found.low, found.high, found.n)


def _span(dimension: Dimension, judge: JudgeAgreement) -> tuple[float, float]:
    values = [value for _, value, _, _ in judge.points]
    # If all values of a text metric are low on its scale, its plot would be a line at the bottom.
    return (min(values), max(values)) if judge.kind == "text" or judge.scale is None else judge.scale


def _strip(dimension: Dimension, judge: JudgeAgreement, signature: str, draw: Draw) -> Markup:
    title = f"{judge.name}: its scores of answers with the same rating by people"
    span = _span(dimension, judge)
    drawn = charts.agreement_chart(judge.points, people=dimension.scale, judge=span, title=title)
    return draw(f"{dimension.criterion}-{judge.name}-answers", drawn, title, signature)


def _means(dimension: Dimension, judge: JudgeAgreement, signature: str, draw: Draw) -> Markup:
    marks = [
        Mark(
            place, one.model, Estimate(one.judge, None, None, one.n), at=one.people,
            tooltip=f"people {format_value(one.people)}, judge {format_value(one.judge)}, n = {one.n}",
        )
        for place, one in enumerate(judge.levels.means)
    ]  # fmt: skip
    if len(marks) < 2:
        return Markup("")
    title = f"{judge.name}: means of {len(marks)} models by people and by the judge"
    drawn = charts.spot_chart(marks, title=title, axis="people", values="judge")
    return draw(f"{dimension.criterion}-{judge.name}-models", drawn, title, signature)


def _tried(judge: JudgeAgreement) -> tuple[Landmark, ...]:
    return judge.landmarks if any(one.role != "model" for one in judge.landmarks) else ()


def _problems(tried: Sequence[Landmark]) -> tuple[str, ...]:
    """The problems of a judge's scale, as text."""
    found = []
    models = [one for one in tried if one.role == "model"]
    for one in tried:
        if one.role == "reference" and one.share < TOP:
            found.append(f"it gives references {one.share:.0%} of its scale, so even right answers lose points")
        if one.role == "reference" and models and models[0].share > one.share:
            found.append(f"it prefers {models[0].name} to the references")
        if one.role == "floor" and one.share > BOTTOM:
            found.append(f"{one.name}, which does not see the video, gets {one.share:.0%} of its scale")
        above = [model.name for model in models if one.role == "floor" and model.share <= one.share]
        if above:
            found.append(f"{one.name} is not below {', '.join(above)}")
    return tuple(found)


REPORT_PAGES: Final = (
    Page("Calibration", PAGE, lambda site: site.calibration is not None, write_calibration, place=110, more=True),
)

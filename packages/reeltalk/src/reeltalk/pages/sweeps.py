"""The page of settings: runs of one model that differ in one setting, such as mode, history or frames."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

import numpy as np
from markupsafe import Markup

from reeltalk.analysis.columns import answer_settings, bounds_of, metric_kind, metric_title, signature_parts
from reeltalk.analysis.estimates import (
    DIFFERENCES,
    FEW_TURNS,
    Estimate,
    VideoValues,
    difference_estimate,
    on_display_scale,
    quantity,
)
from reeltalk.analysis.leaderboard import Leaderboard
from reeltalk.analysis.score_matrix import TURN, ScoreMatrix, Turns
from reeltalk.analysis.table_files import TableCell
from reeltalk.analysis.values import metric_heading
from reeltalk.pages import charts
from reeltalk.pages.charts import Mark
from reeltalk.pages.site import Page, Site

SWEPT: Final = {
    "mode": "Mode",
    "history": "History",
    "frames": "Number of frames",
    "fps": "Frames per second",
    "policy": "Choice of frames",
    "size": "Size of frames",
    "prompt": "Prompt",
    "subtitles": "Subtitles",
    "options": "Order of options",
    "rounds": "Turns that are answered",
    "memory": "Memory of the stream",
}
"""Settings by which runs are compared, in the order of the page."""
FOLLOWS: Final = frozenset({"shown", "planted"})
"""Parts of a signature that follow from other settings."""
VALUES: Final = (
    "single",
    "dialogue",
    "streaming",
    "none",
    "predicted-all",
    "predicted",
    "golden",
    "corrupted",
    "no",
    "yes",
)
"""The order of values that are words: less history before more."""
COSTS: Final = ("took_s", "memory_mib")
"""Metrics of what an answer costs, in figures by memory."""
SINGLE: Final = "single"
"""The mode without history; in it the part `history` differs too."""


@dataclass(frozen=True)
class Sweep:
    """Runs of one model on one benchmark that differ in one setting only."""

    setting: str
    name: str
    """The model's name, and the settings that distinguish this line from others of the model."""
    values: tuple[str, ...]
    """Values of the setting in order; the others are compared with the first."""
    indices: tuple[int, ...]
    """The place in the leaderboard for each value."""
    index: int
    """The place that determines its letter in figures; different from other lines of the setting if possible."""


@dataclass(frozen=True)
class SweepStep:
    """A metric at one value of the setting."""

    value: Estimate | None
    difference: Estimate | None
    """Difference from the first value; `n` is the number of compared turns at this value."""
    same_turns: bool = True
    """False if the difference is over other turns about the same videos, as between dialogues and paths."""


@dataclass(frozen=True)
class SweptMetric:
    """One metric along one line."""

    metric: str
    steps: tuple[SweepStep, ...]


def find_sweeps(board: Leaderboard) -> list[Sweep]:
    """Find runs of one model that differ in one setting, by setting and in the leaderboard's order.

    Baselines that do not see the video are left out, and of several runs with the same settings all but the first.
    """
    stated = [answer_settings(model.run, model.info.model) for model in board.models]
    for own in stated:
        if "memory" in own:
            own["memory"] = _memory_name(own["memory"])
    lines = []
    for setting in SWEPT:
        grouped: dict[tuple[object, ...], dict[str, int]] = defaultdict(dict)
        for index, model in enumerate(board.models):
            own = stated[index]
            if model.floor is not None or setting not in own:
                continue
            fixed = {name: value for name, value in own.items() if name != setting and name not in FOLLOWS}
            benchmark = str(model.run.info.settings.get("benchmark"))
            histories = [fixed.pop("history", None)] if setting == "mode" else [None]
            if setting == "mode" and own[setting] == SINGLE:
                # This mode is compared with any history of the other modes.
                histories = list(dict.fromkeys(found.get("history") for found in stated if found.get("mode") != SINGLE))
            for history in histories:
                key = (model.info.model, benchmark, history, tuple(sorted(fixed.items())))
                grouped[key].setdefault(own[setting], index)
        found = [(key, places) for key, places in grouped.items() if len(places) > 1]
        used = Counter(index for _, places in found for index in places.values())
        for name, (_, places) in zip(_names([key for key, _ in found]), found, strict=True):
            values = sorted(places, key=_place)
            indices = tuple(places[value] for value in values)
            own_index = next((index for index in indices if used[index] == 1), indices[0])
            lines.append(Sweep(setting, name, tuple(values), indices, own_index))
    return lines


def _memory_name(policy: str) -> str:
    """A memory by the number of its frames, as `256 frames`; `all` stays."""
    bounds = re.fullmatch(r"\d+-(\d+)-(\d+)-\d+", policy)
    return policy if bounds is None else f"{int(bounds[1]) + int(bounds[2]):,} frames"


def sweep_metrics(board: Leaderboard, lines: Sequence[Sweep]) -> list[list[SweptMetric]]:
    """For each line, every metric with comparable values at two of its settings.

    Raises:
        BenchmarkError: A run's tables do not have one order.
        InputError: A table is damaged.
    """
    turns = Turns(board)
    return [
        [
            one
            for metric in (*board.plotted, *(COSTS if line.setting == "memory" else ()))
            if metric in board.metrics and (one := _of_metric(turns, line, metric)) is not None
        ]
        for line in lines
    ]


def _of_metric(turns: Turns, line: Sweep, metric: str) -> SweptMetric | None:
    cells = [turns.board.models[index].cells[metric] for index in line.indices]
    rows = [cell.row if cell is not None and cell.row.value is not None else None for cell in cells]
    there = [row for row in rows if row is not None]
    if len(there) < 2 or not _compare(line.setting, [row.signature for row in there]):
        return None
    values = [
        None if row is None or row.value is None else Estimate(row.value, row.low, row.high, row.n, row.videos)
        for row in rows
    ]
    sheet = turns.sheet(metric)
    steps = [SweepStep(values[0], None)]
    for index, value in zip(line.indices[1:], values[1:], strict=True):
        shared, difference = True, None
        if sheet is not None and sheet.item == TURN and values[0] is not None and value is not None:
            first, second, shared = _comparable(sheet, line.indices[0], index)
            if _is_mean(sheet, line.indices[0], values[0]) and _is_mean(sheet, index, value):
                difference = difference_estimate(first, second, bounds_of(metric), paired=shared)
        if difference is not None:
            difference = replace(difference, n=len(second.values))
        steps.append(SweepStep(value, difference, shared))
    return SweptMetric(metric, tuple(steps))


def _compare(setting: str, signatures: Sequence[str]) -> bool:
    """True if signatures differ only in the setting and in parts that follow from it."""
    free = {setting, *FOLLOWS} | ({"history", "subject", "data"} if setting == "mode" else set())
    found = [{name: part for name, part in signature_parts(one).items() if name not in free} for one in signatures]
    return all(parts == found[0] for parts in found)


def _comparable(sheet: ScoreMatrix, one: int, two: int) -> tuple[VideoValues, VideoValues, bool]:
    """The scores of turns that both have; if these are few, the scores of all turns about videos that both have."""
    first, second = (np.isfinite(sheet.values[:, index]) for index in (one, two))
    common = first & second
    shared = bool(2 * common.sum() >= min(first.sum(), second.sum()))
    if not shared:
        common = np.isin(sheet.videos, np.intersect1d(sheet.videos[first], sheet.videos[second]))
    first, second = first & common, second & common
    values = [VideoValues(sheet.videos[rows], sheet.values[rows, at]) for rows, at in ((first, one), (second, two))]
    return values[0], values[1], shared


def _is_mean(sheet: ScoreMatrix, index: int, value: Estimate) -> bool:
    """True if a metric's number is the mean of its turns, so that differences of means are meaningful."""
    known = sheet.values[np.isfinite(sheet.values[:, index]), index]
    return bool(len(known)) and abs(known.mean() - value.value) <= 1e-6 * max(1.0, abs(value.value))


def _names(keys: Sequence[tuple[object, ...]]) -> list[str]:
    """Names of lines: the model's name, with the settings in which it has several lines."""
    names = []
    for model, _, history, fixed in keys:
        others = [key for key in keys if key[0] == model]
        told = []
        if len(others) > 1:
            pairs = dict(fixed) if isinstance(fixed, tuple) else {}
            if history is not None and len({key[2] for key in others}) > 1:
                told.append(f"history {history}")
            every = [dict(key[3]) if isinstance(key[3], tuple) else {} for key in others]
            told += [f"{name} {value}" for name, value in pairs.items() if len({one.get(name) for one in every}) > 1]
        names.append(f"{model} ({', '.join(told)})" if told else str(model))
    return names


def _place(value: str) -> tuple[int, float, str]:
    """Numbers by size, known words by their order, others by the alphabet."""
    number = re.fullmatch(r"([0-9,]+(?:\.[0-9]+)?)(?: frames)?", value)
    if number is not None:
        return (0, float(number[1].replace(",", "")), "")
    word = re.split(r"[^a-z]", value)[0]
    return (1, float(VALUES.index(word)), value) if word in VALUES else (2, 0.0, value)


PAGE: Final = "settings.html"

_Found = list[tuple[Sweep, list[SweptMetric]]]


def has_sweeps(site: Site) -> bool:
    """True if runs of one model differ in one setting."""
    return bool(find_sweeps(site.board))


def write_sweeps(site: Site) -> None:
    """Write `settings.html`.

    Raises:
        BenchmarkError: A run's tables do not have one order.
        InputError: A table is damaged.
    """
    lines = find_sweeps(site.board)
    found = list(zip(lines, sweep_metrics(site.board, lines), strict=True))
    sections = []
    for setting, group in groupby(found, key=lambda pair: pair[0].setting):
        shown = list(group)
        tables = [(line, metrics, _table(site, line, metrics)) for line, metrics in shown]
        sections.append((setting, SWEPT[setting], _figures(site, setting, shown), tables))
    site.render(PAGE, PAGE, sections=sections, few_turns=FEW_TURNS)


def _figures(site: Site, setting: str, found: _Found) -> list[tuple[str, Markup]]:
    metrics = list(dict.fromkeys(one.metric for _, metrics in found for one in metrics))
    judged = [metric for metric in metrics if metric_kind(metric) == "headline"]
    # What a memory saves stands beside what it loses.
    judged += [metric for metric in COSTS if setting == "memory" and metric in metrics]
    labels = list(dict.fromkeys(value for line, _ in found for value in line.values))
    drawn: list[tuple[str, Markup]] = []
    for metric in judged or metrics:
        marks = [
            Mark(line.index, line.name, value, at=labels.index(name))
            for line, values in found
            for one in values
            if one.metric == metric
            for name, step in zip(line.values, one.steps, strict=True)
            if step.value is not None and (value := on_display_scale(step.value, metric))
        ]
        title = f"{metric_title(metric)} by {SWEPT[setting].lower()}"
        names = dict(enumerate(labels))
        svg = charts.line_chart(marks, title=title, axis=SWEPT[setting], values=metric_heading(metric), names=names)
        if svg:
            file = site.figure(PAGE, f"{setting}-{metric}", svg, title, site.signatures_of(metric))
            drawn.append((metric_title(metric), file))
    return drawn


def _table(site: Site, line: Sweep, metrics: list[SweptMetric]) -> Markup:
    first = line.values[0]
    header = ["Metric", *line.values, *(f"{value} less {first}" for value in line.values[1:])]
    rows: list[list[TableCell]] = [
        [
            metric_title(one.metric),
            *(quantity(step.value, one.metric) for step in one.steps),
            *(quantity(step.difference, one.metric, signed=True) for step in one.steps[1:]),
        ]
        for one in metrics
    ]
    title = f"{line.name} by {SWEPT[line.setting].lower()}"
    signatures = site.signatures_of(*(one.metric for one in metrics), models=line.indices)
    notes = [f"{DIFFERENCES}, not corrected for the number of comparisons."]
    if not all(step.same_turns for one in metrics for step in one.steps):
        notes.append("If the turns are not the same, the difference is over other turns about the same videos.")
    return site.table(PAGE, f"{line.setting}-{line.name}", header, rows, title, signatures, notes=notes)


REPORT_PAGES: Final = (Page("Settings", PAGE, has_sweeps, write_sweeps, place=80, more=True),)

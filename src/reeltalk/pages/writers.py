"""The page that compares writers of the same clips: numbers with what they rest on, and drafts side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from jinja2 import Environment

from reeltalk.analysis.writers import DraftPlace, MeasuredRow, WriterComparison, WrittenUnit, compare_writers
from reeltalk.construct.costs import Asked, construct_cost
from reeltalk.llm.budget import Prices
from reeltalk.metrics.clustered import ClusteredEstimate
from reeltalk.metrics.turn_checks import CheckedTurn, quality_sentences
from reeltalk.metrics.uncertainty import MeanInterval, few_videos_warning
from reeltalk.pages.site import write_text
from reeltalk.pages.turn_notes import TurnNotes, describe_flag, describe_turn
from reeltalk.store.benchmark import Benchmark

PAGE: Final = "index.html"
REASONS: Final = 8
"""Flags shown for each writer, the most frequent first."""


@dataclass(frozen=True)
class MeasureCell:
    """A number with what it rests on."""

    value: str
    interval: str
    rests_on: str
    clear: bool = False
    """True for a difference whose interval does not hold 0."""


@dataclass(frozen=True)
class ShownDraft:
    """A chain or dialogue with its turns and what the checks say."""

    writer: str
    turns: tuple[tuple[CheckedTurn, TurnNotes], ...]
    flags: tuple[str, ...]
    """Flags of the whole."""


@dataclass(frozen=True)
class WriterCost:
    """What models were asked for one writer, judges and probes included."""

    writer: str
    requests: int
    a_turn: float | None
    """Requests for each turn that was kept."""
    images: int
    prompt_tokens: int
    reply_tokens: int
    money: str
    """Empty without prices."""


def write_writers(
    benchmarks: Sequence[Benchmark],
    folder: Path,
    environment: Environment,
    *,
    page: str = PAGE,
    prices: Prices | None = None,
) -> Path:
    """Write the page.

    Args:
        benchmarks: One for each writer, two or more, with the same videos and clips.
        folder: An existing folder.
        environment: Where the templates are.
        page: Name of the page.
        prices: Prices of the models.

    Returns:
        Path of the page.

    Raises:
        BenchmarkError: They are about different clips, or one holds nothing that was constructed.
        InputError: A table is damaged.
    """
    found = compare_writers(benchmarks)
    html = environment.get_template("writers.html").render(
        root="",
        here=page,
        found=found,
        names=_names(found),
        kinds=list(dict.fromkeys(one.kind for work in found.writers for one in work.yields)),
        costs=_costs(found, benchmarks, prices),
        rows=[_cells(row) for row in (*found.kept, *found.rows)],
        sentences=[list(quality_sentences(work.quality)) for work in found.writers],
        spread=_spread_cells(found),
        reasons=[_reasons(work.reasons) for work in found.writers],
        pairs=[(_title(place), [_draft(name, unit) for name, unit in zip(_names(found), units, strict=True)])
               for place, units in found.pairs],
        few=few_videos_warning((len({place.video_id for work in found.writers for place in work.units}),), fewest=2),
    )  # fmt: skip
    write_text(folder / page, html)
    return folder / page


def _costs(
    found: WriterComparison, benchmarks: Sequence[Benchmark], prices: Prices | None
) -> list[tuple[WriterCost, tuple[tuple[str, WriterCost], ...]]]:
    """The cost of each writer and of its steps; empty if no writer asked a model."""
    rows = []
    for work, benchmark in zip(found.writers, benchmarks, strict=True):
        steps = {step: sum(asked.values(), Asked()) for step, asked in construct_cost(benchmark).items()}
        turns = len(work.turns)
        whole = _cost(work.name, sum(steps.values(), Asked()), turns, prices)
        rows.append((whole, tuple((step, _cost(work.name, asked, turns, prices)) for step, asked in steps.items())))
    return rows if any(whole.requests for whole, _ in rows) else []


def _cost(writer: str, asked: Asked, turns: int, prices: Prices | None) -> WriterCost:
    money = f"{prices.cost(asked.prompt_tokens, asked.reply_tokens):,.2f}" if prices is not None else ""
    a_turn = asked.requests / turns if turns else None
    return WriterCost(writer, asked.requests, a_turn, asked.images, asked.prompt_tokens, asked.reply_tokens, money)


def _names(found: WriterComparison) -> list[str]:
    return [work.name for work in found.writers]


def _title(place: DraftPlace) -> str:
    about = f"clip {place.name}" if place.kind == "chain" else place.name
    more = f", number {place.number + 1}" if place.number else ""
    return f"{'Chain' if place.kind == 'chain' else 'Dialogue'}: {about}{more}"


def _draft(name: str, unit: WrittenUnit) -> ShownDraft:
    whole = dict.fromkeys(describe_flag(gate) for turn in unit.turns for gate in turn.flags if gate.turn_index is None)
    return ShownDraft(name, tuple((turn, describe_turn(turn)) for turn in unit.turns), tuple(whole))


def _reasons(reasons: Mapping[tuple[str, str], int]) -> list[tuple[str, str, int]]:
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return [(name, reason, times) for (name, reason), times in ordered[:REASONS]]


def _cells(row: MeasuredRow) -> tuple[str, list[MeasureCell | None], list[MeasureCell | None]]:
    noun, place = "turn", "place"
    if row.measure.startswith("Clips"):
        noun = "clip"
    elif row.measure.startswith("Rewriting drafts"):
        noun = place = "draft"
    values = [_value(value, noun, is_share=row.is_share) for value in row.values]
    return row.measure, values, [_difference(value, place, is_share=row.is_share) for value in row.differences]


def _spread_cells(found: WriterComparison) -> list[MeasureCell | None]:
    return [_difference(value, "place", is_share=False) for value in found.spread]


def _value(value: MeanInterval | None, noun: str, *, is_share: bool) -> MeasureCell | None:
    if value is None:
        return None
    times, end = (100.0, " %") if is_share else (1.0, "")
    digits = 0 if is_share else 2
    interval = ""
    if value.low is not None and value.high is not None:
        interval = f"{times * value.low:.{digits}f} to {times * value.high:.{digits}f}{end}"
    return MeasureCell(f"{times * value.value:.{digits}f}{end}", interval, _rests_on(value.n, noun, value.clusters))


def _difference(value: ClusteredEstimate | None, noun: str, *, is_share: bool) -> MeasureCell | None:
    if value is None:
        return None
    times, end = (100.0, " points") if is_share else (1.0, "")
    digits = 1 if is_share else 2
    interval, clear = "", False
    if value.low is not None and value.high is not None:
        # A difference of two shares ends at -100 and 100 points.
        ends = np.clip((value.low, value.high), -1, 1) if is_share else (value.low, value.high)
        interval = f"{_signed(times * ends[0], digits)} to {_signed(times * ends[1], digits)}{end}"
        clear = value.low > 0 or value.high < 0
    elif value.clusters > 1:
        interval = "the same in every video"
    rests_on = _rests_on(value.items, noun, value.clusters)
    return MeasureCell(f"{_signed(times * value.value, digits)}{end}", interval, rests_on, clear)


def _signed(value: float, digits: int) -> str:
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text[1:] if float(text.replace("−", "-")) == 0 else text


def _rests_on(items: int, noun: str, videos: int) -> str:
    return f"{items:,} {noun}{'' if items == 1 else 's'}, {videos:,} video{'' if videos == 1 else 's'}"

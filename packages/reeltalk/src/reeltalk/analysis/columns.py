"""Columns of the tables: which numbers each table shows, their titles, and whether higher is better."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from reeltalk.judge.protocol import COMPAT, is_headline, measure_info
from reeltalk.metrics.info import TIMINGS, Direction, MetricInfo
from reeltalk.metrics.scoring import TEXT_METRICS
from reeltalk.metrics.uncertainty import Bounds
from reeltalk.schema.runs import ModelInfo, SummaryRow
from reeltalk.schema.scoring import Signature
from reeltalk.store.runs import Run

Kind = Literal["headline", "detail", "compat", "floor", "text", "timing"]

_TIMINGS: Final = {info.name: info for info in TIMINGS}
FLOOR: Final = "floor"
FLOORS: Final = {
    "baseline:empty": "says nothing",
    "baseline:constant": "says the most frequent answer",
    "baseline:yes": "always says yes",
    "baseline:copied-question": "gives the question back",
}
"""The floors: baselines without knowledge of the video or the question, by the source of their answers."""
ORACLE: Final = "oracle"
"""Source of answers that were computed from the facts of the video."""
REFERENCE: Final = "baseline:reference"
"""Source of answers that are the references themselves."""
BLIND_BASELINES: Final = FLOORS | {
    "baseline:blind": "knows the question only",
    "baseline:ngrams": "learnt from words alone",
    "baseline:history": "knows the question and what was said before",
}
"""Baselines that answer without the video. A model that is not above them shows no use of it."""
BASELINE_NOTES: Final = BLIND_BASELINES | {
    "baseline:frames": "also sees frames",
    ORACLE: "reads the facts of the video",
    REFERENCE: "gives the references",
}
"""What a baseline does, by the source of its answers."""
HUMAN: Final = "human:"
"""Prefix of the source of people's answers, and of the judge of people's ratings."""
BASELINES: Final = ("baseline:", ORACLE, HUMAN)
MODEL_PARTS: Final = frozenset(
    {"baseline", "oracle", "prompt", "form", "times", "sampling", "shown", "policy", "frames", "fps", "size", "quality"}
    | {"model", "weights", "memory", "choices", "knows"}
)
"""Signature parts that baselines may lack or have different values of, and are still compared with models."""


@dataclass(frozen=True)
class Column:
    """One metric in one of the tables."""

    metric: str
    kind: Kind
    of: str | None = None
    """The measure next to which this one is shown, such as `clair` for `clair.compat`."""

    @property
    def direction(self) -> Direction:
        """Whether more of it is better."""
        return direction_of(self.metric)


def metric_info(metric: str) -> MetricInfo | None:
    """The description of a metric; None for metrics of other programs, and for a user's own without description."""
    return TEXT_METRICS.get(metric) or _TIMINGS.get(metric) or measure_info(metric)


def items_of(metric: str) -> str:
    """What the n of a metric counts: `turns`, or `dialogues` for a measure of whole chains, paths and dialogues."""
    info = metric_info(metric)
    return "turns" if info is None else info.items


def n_items(metric: str) -> str:
    """The word behind an n that does not count turns, as ` dialogues`; empty for turns."""
    items = items_of(metric)
    return "" if items == "turns" else f" {items}"


def metric_kind(metric: str) -> Kind:
    """The table of a metric."""
    if metric in _TIMINGS:
        return "timing"
    if metric in TEXT_METRICS:
        return "text"
    _, *rest = metric.split(".")
    if COMPAT in rest:
        return "compat"
    if rest == [FLOOR]:
        return "floor"
    return "headline" if not rest or is_headline(metric) else "detail"


def direction_of(metric: str) -> Direction:
    """Whether higher is better; neither for overlap of words, a floor, a spread, a time and an official script."""
    if metric in TEXT_METRICS:
        return "neither"
    info = metric_info(metric)
    if info is None:
        return "neither" if metric_kind(metric) in ("compat", "floor") else "higher"
    return info.direction


def base_metric(metric: str) -> str:
    """The measure that a number of an official script, or a floor, belongs to."""
    return ".".join(part for part in metric.split(".") if part not in (COMPAT, FLOOR))


def share_of_scale(metric: str, value: float) -> float | None:
    """Position of the value of one turn on its metric's scale, from 0 to 1.

    Returns:
        None for a measure without a scale, such as a time or the turns before the first error. CIDEr has no practical
        upper bound: it is divided by 10 and limited to 1.
    """
    if metric in TEXT_METRICS:
        # A negative cosine says no less than none.
        return min(max(value / (TEXT_METRICS[metric].high or 1.0), 0.0), 1.0)
    info = metric_info(metric)
    return None if info is None else info.share(value)


def bounds_of(metric: str) -> Bounds:
    """Lowest and highest value of a metric; None where there is no end, or it is not known."""
    info = metric_info(metric)
    return (None, None) if info is None else info.bounds


def span_of(metric: str) -> float | None:
    """Width of a metric's scale; a point is a hundredth of it. None without a scale.

    Args:
        metric: A text metric or a judged measure. The width of CIDEr is 10, as in `share_of_scale`.
    """
    if metric in TEXT_METRICS:
        return TEXT_METRICS[metric].high
    info = metric_info(metric)
    return None if info is None else info.width


def metric_title(metric: str) -> str:
    """The title of a metric; names from other programs are unchanged."""
    info = metric_info(metric)
    return metric if info is None else info.title


def columns(metrics: Iterable[str], kinds: Iterable[Kind]) -> list[Column]:
    """The columns of a table: measures in order, each followed by the columns that belong to it.

    Args:
        kinds: Kinds to include. `compat` and `floor` follow the measure that they belong to, and are left out if
            it is not in the table.
    """
    wanted, there = set(kinds), list(metrics)
    beside = [metric for metric in there if metric_kind(metric) in wanted & {"compat", "floor"}]
    found: list[Column] = []
    for metric in there:
        kind = metric_kind(metric)
        if kind not in wanted - {"compat", "floor"}:
            continue
        found.append(Column(metric, kind))
        found += [Column(other, metric_kind(other), metric) for other in beside if base_metric(other) == metric]
    return found


class ModelTitle(NamedTuple):
    """The name of a model in two parts, for people."""

    title: str
    """Its name without the hash of its weights, such as `reeltalk-mini`."""
    weights: str
    """The beginning of the hash, such as `17ab5c73`; empty if the name has none."""


_WEIGHTS: Final = re.compile(r"#([0-9a-f]{6,64})(?= · |$)")


def split_model_name(name: str) -> ModelTitle:
    """Split a model's name into the part that people read and the hash of its weights."""
    found = _WEIGHTS.search(name)
    return ModelTitle(name, "") if found is None else ModelTitle(name[: found.start()] + name[found.end() :], found[1])


def floor_of(info: ModelInfo) -> str | None:
    """Description of a floor; None for other models."""
    return FLOORS.get(info.source)


Role = Literal["model", "people", "baseline", "floor", "reference"]
"""What a row of a leaderboard is: `reference` is the oracle, or the references as answers."""


def role_of(info: ModelInfo) -> Role:
    """The role of a model, by the source of its answers."""
    if floor_of(info):
        return "floor"
    if is_human(info):
        return "people"
    if is_reference(info) or info.source == ORACLE:
        return "reference"
    return "baseline" if is_baseline(info) else "model"


def is_human(info: ModelInfo) -> bool:
    """True if people answered."""
    return info.source.startswith(HUMAN)


def is_reference(info: ModelInfo) -> bool:
    """True if the answers are the references themselves."""
    return info.source == REFERENCE


def competes(info: ModelInfo) -> bool:
    """True for models that may be the best; false for people, references, floors and the oracle."""
    return not (floor_of(info) or is_human(info) or is_reference(info) or info.source == ORACLE)


def is_baseline(info: ModelInfo) -> bool:
    """True if no model answers."""
    return info.source.startswith(BASELINES)


def differing_parts(rows: Iterable[tuple[ModelInfo, SummaryRow]], ignored: frozenset[str]) -> list[str]:
    """Signature parts in which numbers of one metric differ, so that they are not comparable.

    The floor is compared with all others, also where it was scored on a sample of their turns.
    """
    parts = [
        (is_baseline(info), signature_parts(row.signature))
        for info, row in rows
        if row.value is not None and not floor_of(info)
    ]
    keys = {key for _, found in parts for key in found} - ignored
    differing = []
    for key in keys:
        values = {found.get(key) for baseline, found in parts if not (baseline and key in MODEL_PARTS)}
        if len(values) > 1:
            differing.append(key)
    return sorted(differing)


def answer_settings(run: Run, model: str) -> dict[str, str]:
    """How a model's answers were made, from its run: mode, history, frames and so on, by name."""
    signed = run.info.settings.get("signed")
    found = signed.get(model) if isinstance(signed, dict) else None
    pairs = found if isinstance(found, list) else []
    return {str(pair[0]): str(pair[1]) for pair in pairs if isinstance(pair, list) and len(pair) == 2}


def signature_parts(signature: str) -> dict[str, str]:
    """The parts of a signature by name; its first word is the `subject`."""
    try:
        parsed = Signature.parse(signature)
    except ValueError:
        # A run that another program wrote; its signatures still differ or not as a whole.
        return {"signature": signature}
    return {"subject": parsed.subject, **dict(parsed.parts)}

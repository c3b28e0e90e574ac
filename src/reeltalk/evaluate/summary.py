"""From judged answers to a run's tables: values with intervals and signatures, groups, curves, per-turn scores."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from reeltalk import __version__
from reeltalk.judge.measures import Measure, group_measure
from reeltalk.judge.protocol import measure_info
from reeltalk.metrics.uncertainty import INTERVAL, measure_interval
from reeltalk.schema.runs import CurvePoint, GroupRow, SummaryRow, quoted
from reeltalk.schema.scoring import Signature

TURN: Final = "turn"
"""Groups of this kind become a curve."""
UNTOLD: Final = "it was not judged"
OTHER: Final = "other reasons"
MOST_REASONS: Final = 20
"""Reasons that a row tells apart."""
REASON_CHARS: Final = 200
Parts = tuple[tuple[str, str], ...]


@dataclass
class Tables:
    """What judging adds to a run."""

    summary: list[SummaryRow] = field(default_factory=list)
    groups: list[GroupRow] = field(default_factory=list)
    curves: list[CurvePoint] = field(default_factory=list)
    items: dict[tuple[str, str], dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    """Scores of each turn by model and item."""
    metrics: list[str] = field(default_factory=list)


def summarise(
    model: str,
    measures: Sequence[Measure],
    *,
    subject: str,
    signed: Parts,
    tables: Tables,
    reasons: Mapping[str, str] | None = None,
) -> None:
    """Add a model's numbers.

    Args:
        model: Whose they are.
        measures: Its numbers; one that counts nothing has no row.
        subject: First word of the signatures.
        signed: Parts of the signature that say how the answers came about and who judged.
        tables: What is added to.
        reasons: Why turns have no score, by item.
    """
    for measure in measures:
        if measure.n + measure.unscored + measure.not_applicable == 0:
            continue
        ending = (("ci", INTERVAL), ("v", __version__))
        parts = (*signed, ("metric", measure.name), *measure.signature, *ending)
        _add(model, measure, str(Signature(subject=subject, parts=parts)), tables, reasons or {})


def _add(model: str, measure: Measure, signature: str, tables: Tables, reasons: Mapping[str, str]) -> None:
    low, high = _interval(measure)
    if measure.name not in tables.metrics:
        tables.metrics.append(measure.name)
    tables.summary.append(
        SummaryRow(
            model=model,
            metric=measure.name,
            n=measure.n,
            videos=measure.videos,
            signature=signature,
            unscored=measure.unscored,
            not_applicable=measure.not_applicable,
            reasons=_reasons(measure, reasons),
            **quoted(measure.value, low, high, withheld=measure.withheld),
        )
    )
    for entry in measure.entries:
        if entry.item_id is not None and entry.applies and entry.value is not None:
            tables.items[model, entry.item_id].setdefault(measure.name, entry.value * measure.scale + measure.offset)
    for by in measure.by:
        for group, part in sorted(group_measure(measure, by).items(), key=lambda found: _in_order(found[0])):
            low, high = _interval(part)
            if by == TURN and part.value is not None and group.isdigit():
                tables.curves.append(
                    CurvePoint(
                        model=model,
                        metric=measure.name,
                        turn_index=int(group) - 1,
                        n=part.n,
                        videos=part.videos,
                        unscored=part.unscored,
                        **quoted(part.value, low, high, withheld=part.withheld),
                    )
                )
            elif by != TURN:
                tables.groups.append(
                    GroupRow(
                        model=model,
                        metric=measure.name,
                        by=by,
                        group=group,
                        n=part.n,
                        videos=part.videos,
                        unscored=part.unscored,
                        **quoted(part.value, low, high, withheld=part.withheld),
                    )
                )


def _reasons(measure: Measure, known: Mapping[str, str]) -> dict[str, int]:
    found = Counter(
        " ".join((entry.reason or known.get(entry.item_id or "", UNTOLD)).split())[:REASON_CHARS]
        for entry in measure.entries
        if entry.applies and entry.value is None
    )
    most = dict(found.most_common(MOST_REASONS))
    rest = found.total() - sum(most.values())
    return most | ({OTHER: rest} if rest else {})


def _interval(measure: Measure) -> tuple[float, float] | tuple[None, None]:
    if measure.value is None:
        return None, None
    info = measure_info(measure.name)
    found = measure_interval(
        measure.statistics,
        measure.clusters,
        measure.from_sums,
        info.bounds if info is not None else None,
        weights=measure.weights,
    )
    return (None, None) if found.low is None or found.high is None else (found.low, found.high)


def _in_order(group: str) -> tuple[int, str]:
    return (int(group), "") if group.isdigit() else (1 << 30, group)

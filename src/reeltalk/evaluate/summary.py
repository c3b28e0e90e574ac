"""From judged answers to a run's tables: values with intervals and signatures, groups, curves, per-turn scores."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from reeltalk import __version__
from reeltalk.evaluate.judging.measures import Measure, grouped
from reeltalk.metrics.resampling import cluster_bootstrap
from reeltalk.schema.runs import CurvePoint, GroupRow, SummaryRow
from reeltalk.schema.scoring import Signature

TURN: Final = "turn"
"""Groups of this kind become a curve."""
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
    resamples: int,
    seed: int,
    tables: Tables,
) -> None:
    """Add a model's numbers.

    Args:
        model: Whose they are.
        measures: Its numbers; one that counts nothing has no row.
        subject: First word of the signatures.
        signed: Parts of the signature that say how the answers came about and who judged.
        resamples: Bootstrap resamples behind every interval.
        seed: Seed of the resampling.
        tables: What is added to.
    """
    for measure in measures:
        if measure.n + measure.unscored + measure.not_applicable == 0:
            continue
        ending = (("ci", f"95%-by-video-{resamples}"), ("seed", str(seed)), ("v", __version__))
        parts = (*signed, ("metric", measure.name), *measure.signature, *ending)
        _add(model, measure, str(Signature(subject=subject, parts=parts)), resamples, seed, tables)


def _add(model: str, measure: Measure, signature: str, resamples: int, seed: int, tables: Tables) -> None:
    low, high = _interval(measure, resamples, seed)
    if measure.name not in tables.metrics:
        tables.metrics.append(measure.name)
    tables.summary.append(
        SummaryRow(
            model=model,
            metric=measure.name,
            value=None if measure.withheld else measure.value,
            n=measure.n,
            low=None if measure.withheld else low,
            high=None if measure.withheld else high,
            signature=signature,
            unscored=measure.unscored,
            not_applicable=measure.not_applicable,
            over_scored=measure.value if measure.withheld else None,
        )
    )
    for entry in measure.entries:
        if entry.item_id is not None and entry.applies and entry.value is not None:
            tables.items[model, entry.item_id].setdefault(measure.name, entry.value * measure.scale + measure.offset)
    for by in measure.by:
        for group, part in sorted(grouped(measure, by).items(), key=lambda found: _in_order(found[0])):
            low, high = _interval(part, resamples, seed)
            if by == TURN and part.value is not None and group.isdigit():
                tables.curves.append(
                    CurvePoint(
                        model=model,
                        metric=measure.name,
                        turn_index=int(group) - 1,
                        value=part.value,
                        n=part.n,
                        low=low,
                        high=high,
                    )
                )
            elif by != TURN:
                tables.groups.append(
                    GroupRow(
                        model=model,
                        metric=measure.name,
                        by=by,
                        group=group,
                        value=part.value,
                        n=part.n,
                        unscored=part.unscored,
                        low=low,
                        high=high,
                    )
                )


def _interval(measure: Measure, resamples: int, seed: int) -> tuple[float | None, float | None]:
    if measure.value is None:
        return None, None
    interval = cluster_bootstrap(
        measure.statistics, measure.clusters, measure.from_sums, resamples=resamples, seed=seed
    )
    return (interval.low, interval.high) if interval else (None, None)


def _in_order(group: str) -> tuple[int, str]:
    return (int(group), "") if group.isdigit() else (1 << 30, group)

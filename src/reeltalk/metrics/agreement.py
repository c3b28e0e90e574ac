"""How far two judges agree on the same turns: each score as pass or fail, raw agreement, and Cohen's kappa."""

from collections.abc import Iterable
from dataclasses import dataclass

from reeltalk.schema.scoring import JudgedScore, ScoreState

Item = tuple[str, str, int | None]
"""What was judged: the model, its chain, path or dialogue, and the turn."""


@dataclass(frozen=True)
class Agreement:
    """Two judges beside each other."""

    n: int
    """Items that both scored."""
    raw: float | None
    """Share on which both say pass or both say fail; None without items."""
    kappa: float | None
    """Cohen's kappa (1960): agreement beyond chance. None without items, or where both say the same of all."""


def agreement(
    rows: Iterable[JudgedScore],
    others: Iterable[JudgedScore],
    *,
    threshold: float = 0.5,
    other_threshold: float = 0.5,
) -> Agreement:
    """Agreement of two judges over the items that both scored.

    Several scores of one item, as of several rounds or criteria, are averaged first. Rows without a value are left out.

    Args:
        rows: One judge's.
        others: The other's.
        threshold: From this score on the first judge passes an answer.
        other_threshold: From this score on the second does.

    Reference:
        Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological Measurement 20, 1960.
    """
    mine, theirs = _passed(rows, threshold), _passed(others, other_threshold)
    both = [(mine[item], theirs[item]) for item in mine.keys() & theirs.keys()]
    n = len(both)
    if n == 0:
        return Agreement(0, None, None)
    raw = sum(a == b for a, b in both) / n
    first, second = sum(a for a, _ in both) / n, sum(b for _, b in both) / n
    chance = first * second + (1 - first) * (1 - second)
    return Agreement(n, raw, None if chance == 1.0 else (raw - chance) / (1 - chance))


def _passed(rows: Iterable[JudgedScore], threshold: float) -> dict[Item, bool]:
    values: dict[Item, list[float]] = {}
    for row in rows:
        if row.state is ScoreState.SCORED and row.value is not None:
            values.setdefault((row.model, row.unit_id, row.turn_index), []).append(row.value)
    return {item: sum(found) / len(found) >= threshold for item, found in values.items()}

"""What the style of answers costs with the judges of a run, from the file that `judge --attack style` leaves there."""

from collections.abc import Sequence

from reeltalk.judge.protocol import CORRECT
from reeltalk.judge.under_attack import StyleCost
from reeltalk.store.documents import parse, read_document
from reeltalk.store.runs import STYLE, Run


def reader_errors(runs: Sequence[Run], metric: str) -> list[str]:
    """Sentences on how far the style of answers moves a measure: one for each judge of it that was attacked.

    Args:
        runs: The runs of a leaderboard.
        metric: The measure that ranks models.

    Returns:
        Of runs with the same counts, one; nothing for a measure whose judges nobody attacked.

    Raises:
        InputError: A file is damaged.
    """
    found: dict[str, None] = {}
    for run in runs:
        if not (run.path / STYLE).is_file():
            continue
        signatures = [row.signature for row in run.summary]
        for cost in parse(list[StyleCost], read_document(run.path, STYLE), file=run.path / STYLE):
            if metric.split(".")[0] not in (cost.judge, CORRECT):
                continue
            parts = {f"judge:{cost.model or 'none'}", *(f"{key}:{value}" for key, value in cost.signature)}
            if any(parts <= set(signature.split("|")) for signature in signatures):
                found[cost.sentence] = None
            else:
                found[f"{cost.judge} has changed since its style attack in {run.name}; play it again."] = None
    return list(found)

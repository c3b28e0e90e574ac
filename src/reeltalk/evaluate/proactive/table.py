"""Proactive scores as a table for the terminal, and as a JSON document."""

from typing import Final

from reeltalk.evaluate.proactive.scoring import ProactiveScores
from reeltalk.schema.runs import SummaryRow
from reeltalk.store.documents import write_json

BETTER: Final = {
    "time_correct": "higher",
    "answer_correct": "higher",
    "time_and_answer_correct": "higher",
    "pauc": "higher",
    "timeliness_f1": "higher",
    "duplicate_ratio": "lower",
    "false_alarms_per_hour": "lower",
    "missed": "lower",
    "latency_s": "nearer 0",
    "time_diff_s": "lower",
}
"""Which way each measure is better."""
BY_KIND: Final = {
    "time_and_answer_correct": "in time and right",
    "pauc": "PAUC",
    "timeliness_f1": "F1",
    "missed": "missed",
    "false_alarms_per_hour": "false alarms/h",
}
"""Measures that are shown for each kind of task: a narration has far more moments than all other tasks."""


def rendered(scores: ProactiveScores) -> str:
    """Values with their 95 % intervals, model by model, and the signature of each."""
    lines: list[str] = []
    for model in dict.fromkeys(row.model for row in scores.summary):
        rows = [row for row in scores.summary if row.model == model]
        lines += ["", model] if lines else [model]
        lines += [f"  {row.metric:<24} {_shown(row):<26} better {BETTER[row.metric]}" for row in rows]
        lines += [f"  {rows[0].n:,} tasks; {rows[0].signature}"]
        lines += _kinds(scores, model)
    return "\n".join(lines)


def _kinds(scores: ProactiveScores, model: str) -> list[str]:
    found = {(row.group, row.metric): row for row in scores.groups if row.model == model}
    lines = ["", f"  {'kind':<10}{'tasks':>7}" + "".join(f"{title:>19}" for title in BY_KIND.values())]
    for kind in dict.fromkeys(kind for kind, _ in found):
        values = "".join(f"{_number(found[kind, name].value):>19}" for name in BY_KIND)
        lines.append(f"  {kind:<10}{found[kind, 'pauc'].n:>7,}{values}")
    return lines


def _shown(row: SummaryRow) -> str:
    if row.value is None:
        withheld = f" ({_number(row.over_scored)} over what was scored)" if row.over_scored is not None else ""
        return f"—{withheld}"
    interval = f" [{_number(row.low)}, {_number(row.high)}]" if row.low is not None else ""
    return _number(row.value) + interval


def _number(value: float | None) -> str:
    if value is None:
        return "—"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def written(scores: ProactiveScores) -> bytes:
    """All values, also by kind of task, and which tasks have none."""
    return write_json(
        {
            "summary": [row.model_dump(mode="json", exclude={"extra"}) for row in scores.summary],
            "groups": [row.model_dump(mode="json", exclude={"extra"}) for row in scores.groups],
            "unscored": scores.unscored,
        }
    ).encode()

"""The command that compares models."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from reeltalk.cli.app import OVERWRITE, app, settings_of
from reeltalk.errors import BenchmarkError, SettingError


@app.command(sort_key=7)
def compare(
    *runs: Path,
    model: Annotated[list[str] | None, Parameter(negative="")] = None,
    metrics: str = "",
    by: str | None = None,
    correction: Literal["holm", "bh", "none"] = "holm",
    confidence: float = 0.95,
    power: Annotated[bool, Parameter(negative="")] = False,
    difference: str = "1,2,5",
    target_power: float = 0.8,
    anyway: Annotated[bool, Parameter(negative="")] = False,
    unpaired: Annotated[bool, Parameter(negative="")] = False,
    format: Literal["text", "json", "csv", "latex", "markdown"] = "text",
    out: Path | None = None,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Is A better than B? Paired differences on the same turns, with intervals and tests clustered by source video.

    Example: `reeltalk compare runs/a runs/b`, or `reeltalk compare runs/six --model gpt-4o --model llava --by skill`

    Parameters
    ----------
    runs
        Scored runs. All pairs of their models are compared; a difference is the first less the second.
    model
        Name of a model to compare; repeat the option for each. By default all models but floors, the oracle, references
        and people. The p values are corrected over all pairs of models in the runs, also over pairs that are not shown.
    metrics
        Comma-separated names, as agree,rouge_l; by default all judged headlines and text metrics.
    by
        Compare within groups of turns: task, kind, turn, question_type, skill, relation, or any label of the turns.
    correction
        Correction of the p values of one metric: holm bounds the chance of any false winner, bh the share of false
        winners among all winners.
    confidence
        Of the intervals; tests are at one less it.
    power
        Plan instead: how many videos it takes to find a difference, with these runs as a pilot.
    difference
        Differences to plan for, comma-separated, in points: hundredths of the metric's scale.
    target_power
        How surely a difference is to be found.
    anyway
        Compare also what was scored in different ways, as by two judges.
    unpaired
        Where two models have no common turn, compare their means, each over its own turns. Turns that they have in
        common are compared in pairs all the same.
    format
        text for a terminal; json and csv hold all that is known; latex and markdown are tables.
    out
        File that appears; standard output where it is not given.
    overwrite
        Replace the file that is there.
    """
    from reeltalk.analysis.compare_text import render
    from reeltalk.analysis.comparison import CompareSettings
    from reeltalk.analysis.planning import plan_records, plan_text
    from reeltalk.stages.reporting import compare as run_stage
    from reeltalk.store.atomic import write_bytes
    from reeltalk.store.documents import write_json

    if power and format in ("csv", "latex", "markdown"):
        raise SettingError(f"--format {format} cannot be had with --power; choose text or json")
    if out is not None and out.exists() and (out.is_dir() or not overwrite):
        raise BenchmarkError(f"{out} exists; choose another file" + ("" if out.is_dir() else " or pass --overwrite"))
    points = _points(difference)
    settings = settings_of(
        CompareSettings,
        metrics=tuple(dict.fromkeys(name.strip() for name in metrics.split(",") if name.strip())),
        by=by,
        correction=correction,
        confidence=confidence,
        target_power=target_power,
        anyway=anyway,
        unpaired=unpaired,
    )
    found = run_stage(*runs, models=model or (), settings=settings)
    if power:
        text = write_json(plan_records(found, points)) if format == "json" else plan_text(found, points)
    else:
        text = render(found, format)
    if out is None:
        print(text, end="" if text.endswith("\n") else "\n")
        return 0
    write_bytes(out, text.encode())
    print(f"comparison: {out}")
    return 0


def _points(given: str) -> list[float]:
    try:
        points = [float(part) for part in given.split(",") if part.strip()]
    except ValueError:
        points = []
    if not points or not all(0 < point <= 100 for point in points):
        raise SettingError(f"--difference {given}: give numbers above 0 and at most 100, as 1,2,5")
    return points

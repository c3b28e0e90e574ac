"""Commands that compare models, and judges with people."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Group, Parameter

from reeltalk.cli.options import FLAG, IN_OUTPUT, IN_SELECTION, OVERWRITE, SELECTION
from reeltalk.cli.terminal import say, whole_runs
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.schema.settings import settings_of

if TYPE_CHECKING:
    from reeltalk.analysis.calibration import Dimension, JudgeAgreement
    from reeltalk.metrics.draws import Statistic


PLANNING = Group("Planning", sort_key=2)
IN_SHEET = Parameter(group=Group("Rating sheet", sort_key=2))


def compare(
    *runs: Path,
    model: Annotated[list[str] | None, Parameter(name=("--model", "--models"), negative="", group=SELECTION)] = None,
    metrics: Annotated[str, IN_SELECTION] = "",
    by: str | None = None,
    correction: Literal["holm", "bh", "none"] = "holm",
    confidence: float = 0.95,
    power: Annotated[bool, Parameter(negative="", group=PLANNING)] = False,
    difference: Annotated[str, Parameter(group=PLANNING)] = "1,2,5",
    target_power: Annotated[float, Parameter(group=PLANNING)] = 0.8,
    style: Annotated[bool, Parameter(negative="--no-style")] = True,
    anyway: Annotated[bool, Parameter(negative="")] = False,
    unpaired: Annotated[bool, Parameter(negative="")] = False,
    strict: Annotated[bool, FLAG] = False,
    format: Annotated[Literal["text", "json", "csv", "latex", "markdown"], IN_OUTPUT] = "text",
    out: Annotated[Path | None, IN_OUTPUT] = None,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Is A better than B? Paired differences on the same turns, with intervals and tests clustered by source video.

    Exit code 1 if a run of several is damaged: it is named, and the others are compared.

    Example: `reeltalk compare runs/a runs/b`, or `reeltalk compare runs/six --model gpt-4o --model llava --by skill`.

    Parameters
    ----------
    runs
        Scored runs. All pairs of their models are compared; a difference is the first less the second.
    model
        Name of a model to compare; repeat the option for each. By default all models but floors, the oracle, references
        and people. The p values are corrected over all pairs of models in the runs, also over pairs that are not shown.
    metrics
        Comma-separated names, such as match,rouge_l; by default all judged headlines and text metrics.
    by
        Compare within groups of turns: task, kind, turn, question_type, skill, relation, or any label of the turns.
    correction
        Correction of the p values of one metric: holm bounds the chance of any false winner, bh the share of false
        winners among all winners.
    confidence
        Confidence of the intervals; tests use a level of 1 minus this.
    power
        Plan instead: print the number of videos that you need to find a difference, with these runs as a pilot.
    difference
        Differences to plan for, comma-separated, in points: hundredths of the metric's scale.
    target_power
        Probability of finding a difference that exists.
    style
        Also give differences at equal style: length, markup, and words around the answer.
    anyway
        Also compare scores that were made in different ways, for example by two judges.
    unpaired
        If two models have no common turn, compare their means, each over its own turns. Common turns are still
        compared in pairs.
    strict
        Stop at the first run that is damaged.
    format
        text is for a terminal; json and csv hold all values; latex and markdown are tables.
    out
        File to write; standard output by default.
    overwrite
        Replace an existing file.
    """
    from reeltalk.analysis.compare_text import render_comparisons
    from reeltalk.analysis.comparison import CompareSettings
    from reeltalk.analysis.planning import plan_records, plan_text
    from reeltalk.analysis.standings_text import report_command
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
        style=style and not power,
        anyway=anyway,
        unpaired=unpaired,
    )
    whole, code = whole_runs(runs, strict=strict)
    found = run_stage(*whole, models=model or (), settings=settings)
    if power:
        text = write_json(plan_records(found, points)) if format == "json" else plan_text(found, points)
    else:
        text = render_comparisons(found, format)
    if out is None:
        print(text, end="" if text.endswith("\n") else "\n")
        if format == "text" and not power:
            compared = {model.run.path: model.run for model in found.board.models}
            say(f"next: {report_command(list(compared.values()))}")
        return code
    write_bytes(out, text.encode())
    print(f"comparison: {out}")
    return code


def _points(given: str) -> list[float]:
    try:
        points = [float(part) for part in given.split(",") if part.strip()]
    except ValueError:
        points = []
    if not points or not all(0 < point <= 100 for point in points):
        raise SettingError(f"--difference {given}: give numbers above 0 and at most 100, as 1,2,5")
    return points


def calibrate(
    *runs: Path,
    human: Annotated[list[Path] | None, Parameter(negative="")] = None,
    out: Annotated[Path | None, IN_OUTPUT] = None,
    sheet: Annotated[Path | None, IN_SHEET] = None,
    items: Annotated[int, IN_SHEET] = 200,
    criteria: Annotated[str, IN_SHEET] = "overall",
    scale: str | None = None,
    pass_mark: Annotated[list[str] | None, Parameter(negative="")] = None,
    resamples: int = 1000,
    seed: int = 17,
    strict: Annotated[bool, FLAG] = False,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Compare judges and text metrics with people who rated some of the same answers.

    Exit code 1 if a run of several is damaged: it is named, and the others are used.

    Example: `reeltalk calibrate runs/qwen-judged --sheet ratings.csv` writes a blank, blinded sheet; filled in,
    `reeltalk calibrate runs/qwen-judged --human ratings.csv --out calibration`.

    Parameters
    ----------
    runs
        Runs that hold the rated answers, with the scores of judges and of text metrics.
    human
        People's ratings: a sheet as CSV, or JSON Lines of scores whose judge is human:NAME. Those in the runs count
        too.
    out
        Folder for calibration.html and calibration.json.
    sheet
        Write a blank sheet for people to fill in. With --human, it has the answers to rate next, and a line says how
        much narrower the corrected means would become.
    items
        Answers on the sheet.
    criteria
        Comma-separated criteria that people rate on the sheet.
    scale
        Lowest and highest rating, such as 1:5; by default those that people used.
    pass_mark
        Lowest value at which an answer counts as right, such as human=3 or vdeval=2.5; for people the middle of their
        scale by default.
    resamples
        Number of bootstrap draws of the videos for each interval.
    seed
        Seed of the draws and of the choice of answers for the sheet.
    strict
        Stop at the first run that is damaged.
    overwrite
        Replace existing output.
    """
    whole, code = whole_runs(runs, strict=strict)
    marks = _marks(pass_mark or [])
    from reeltalk.analysis.calibration import CalibrationSettings
    from reeltalk.stages.calibrating import PAGE, forecast_of_sheet, write_rating_sheet
    from reeltalk.stages.calibrating import calibrate as run_stage

    settings = settings_of(
        CalibrationSettings,
        resamples=resamples,
        seed=seed,
        scale=_scale(scale),
        people_pass=marks.pop("human", None),
        passes=marks,
    )
    if sheet is not None:
        if out is not None:
            raise SettingError("--sheet writes a blank sheet and compares nothing; leave out --out")
        named = criteria.split(",")
        rows = write_rating_sheet(
            *whole, out=sheet, items=items, criteria=named, human=human or (), seed=seed, overwrite=overwrite
        )
        if human:
            for line in forecast_of_sheet(run_stage(*whole, human=human, settings=settings), rows // len(named)):
                print(line)
        say(f"fill in the columns rater and value, then: reeltalk calibrate RUN --human {sheet}")
        print(f"sheet: {sheet}" if rows else f"sheet: {sheet} (empty)")
        return code
    found = run_stage(*whole, human=human or (), out=out, settings=settings, overwrite=overwrite, tell=say)
    for dimension in found.dimensions:
        _print(dimension)
    for line in found.unused_ratings():
        print(line)
    if out is not None:
        print(f"calibration: {out / PAGE}")
    return code


def _scale(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    low, colon, high = text.partition(":")
    try:
        if not colon:
            raise ValueError
        return float(low), float(high)
    except ValueError:
        raise SettingError(f"--scale {text!r} is not two numbers with a colon between, as 1:5") from None


def _marks(texts: list[str]) -> dict[str, float]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        try:
            if not equals or not name:
                raise ValueError
            found[name] = float(value)
            if not math.isfinite(found[name]):
                raise ValueError
        except ValueError:
            raise SettingError(f"--pass-mark {text!r} is not NAME=VALUE, as vdeval=2.5 or human=3") from None
    return found


def _print(dimension: "Dimension") -> None:
    people = dimension.people
    unit = "dialogues" if dimension.whole else "answers"
    print(
        f"{dimension.criterion}: {people.items:,} {unit} about {dimension.videos:,} videos, of {len(dimension.models)} "
        f"models, rated by {len(people.raters)} {'people' if len(people.raters) != 1 else 'person'}"
    )
    if len(people.raters) > 1:
        print(f"  people among themselves: alpha (ordinal) {_format_statistic(people.alpha['ordinal'])}, "
              f"one with the others {_format_statistic(people.ceiling)}")  # fmt: skip
    width = max((len(judge.name) for judge in dimension.judges), default=0)
    print(f"  {'':<{width}}  {'Spearman, answers':>22} {'within models':>22} {'models':>22} {'kappa':>22}")
    for judge in dimension.judges:
        kappa = judge.categories.kappa if judge.categories else None
        cells = [
            judge.levels.answers.spearman, judge.levels.within.spearman, judge.levels.models.spearman, kappa,
        ]  # fmt: skip
        print(f"  {judge.name:<{width}}  " + " ".join(f"{_format_statistic(cell):>22}" for cell in cells))
    tied = [judge.name for judge in dimension.judges[1:] if dimension.judges[0].name in judge.not_told_apart]
    if tied:
        print(f"  not told apart from {dimension.judges[0].name}: {', '.join(tied)}")
    for name, why in dimension.left_out:
        print(f"  {name}: not compared, {why}")
    if dimension.judges:
        _print_means(dimension.judges[0])


def _print_means(judge: "JudgeAgreement") -> None:
    """Print the means of models by the first judge; the page has the others."""
    width = max((len(row.model) for row in judge.means), default=0)
    print(f"  means by {judge.name}, corrected with people's ratings: judge alone, people alone, corrected")
    for row in judge.means:
        both, people = row.corrected, row.people
        alone = _format_number(people.value, people.low, people.high) if people else "–"
        corrected = _format_number(both.value, both.low, both.high, both.bound)
        judged = "–" if row.judge is None else f"{row.judge:.3f}"
        note = f"  ({both.reason})" if both.reason else ""
        print(f"  {row.model:<{width}}  {judged:>8} {alone:>22} {corrected:>22}{note}")
    advised = [(row.corrected.advice, row.model) for row in judge.means if row.corrected.advice]
    for advice, model in advised[:1]:
        print(f"  {model}: {advice}; draw them at random, one of each video")


def _format_number(value: float | None, low: float | None, high: float | None, bound: str | None = None) -> str:
    if value is None or low is None or high is None:
        return "–" if value is None else f"{value:.3f}"
    if bound is not None:
        return f"{value:.3f}, {bound} {low if bound == 'at least' else high:.3f}"
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _format_statistic(statistic: "Statistic | None") -> str:
    return "–" if statistic is None else _format_number(statistic.value, statistic.low, statistic.high)

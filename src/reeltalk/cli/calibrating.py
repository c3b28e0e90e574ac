"""The command that compares judges with people, and writes the sheet on which people rate."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from reeltalk.cli.app import OVERWRITE, app, say, settings_of
from reeltalk.errors import SettingError

if TYPE_CHECKING:
    from reeltalk.analysis.calibration import Calibration, Dimension, JudgeBesidePeople
    from reeltalk.metrics.draws import Statistic


@app.command(sort_key=7)
def calibrate(
    *runs: Path,
    human: Annotated[list[Path] | None, Parameter(negative="")] = None,
    out: Path | None = None,
    sheet: Path | None = None,
    items: int = 200,
    criteria: str = "overall",
    scale: str | None = None,
    pass_mark: Annotated[list[str] | None, Parameter(negative="")] = None,
    resamples: int = 1000,
    seed: int = 17,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Compare judges and text metrics with people who rated some of the same answers: may one trust this judge?

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
        Write a blank sheet for people to fill in, and compare nothing.
    items
        Answers on the sheet.
    criteria
        Comma-separated, what people shall rate on the sheet.
    scale
        From where to where people rate, as 1:5; what they used by default.
    pass_mark
        Value from which an answer counts as right, as human=3 or vdeval=2.5; people's is the middle of their scale.
    resamples
        Draws of the videos behind each interval.
    seed
        Seed of the draws, and of which answers are on the sheet.
    overwrite
        Replace what is there.
    """
    if sheet is not None:
        if human or out is not None:
            raise SettingError("--sheet writes a blank sheet and compares nothing; leave out --human and --out")
        from reeltalk.stages.calibrating import write_rating_sheet

        rows = write_rating_sheet(
            *runs, out=sheet, items=items, criteria=criteria.split(","), seed=seed, overwrite=overwrite
        )
        say(f"fill in the columns rater and value, then: reeltalk calibrate RUN --human {sheet}")
        print(f"sheet: {sheet}" if rows else f"sheet: {sheet} (empty)")
        return 0
    marks = _marks(pass_mark or [])
    from reeltalk.analysis.calibration import CalibrationSettings
    from reeltalk.stages.calibrating import PAGE
    from reeltalk.stages.calibrating import calibrate as run_stage

    settings = settings_of(
        CalibrationSettings,
        resamples=resamples,
        seed=seed,
        scale=_scale(scale),
        people_pass=marks.pop("human", None),
        passes=marks,
    )
    found = run_stage(*runs, human=human or (), out=out, settings=settings, overwrite=overwrite, tell=say)
    for dimension in found.dimensions:
        _print(dimension)
    _print_counts(found)
    if out is not None:
        print(f"calibration: {out / PAGE}")
    return 0


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
        print(f"  people among themselves: alpha (ordinal) {_shown(people.alpha['ordinal'])}, "
              f"one with the others {_shown(people.ceiling)}")  # fmt: skip
    width = max((len(judge.name) for judge in dimension.judges), default=0)
    print(f"  {'':<{width}}  {'Spearman, answers':>22} {'within models':>22} {'models':>22} {'kappa':>22}")
    for judge in dimension.judges:
        kappa = judge.categories.kappa if judge.categories else None
        cells = [
            judge.levels.answers.spearman, judge.levels.within.spearman, judge.levels.models.spearman, kappa,
        ]  # fmt: skip
        print(f"  {judge.name:<{width}}  " + " ".join(f"{_shown(cell):>22}" for cell in cells))
    tied = [judge.name for judge in dimension.judges[1:] if dimension.judges[0].name in judge.not_told_apart]
    if tied:
        print(f"  not told apart from {dimension.judges[0].name}: {', '.join(tied)}")
    for name, why in dimension.left_out:
        print(f"  {name}: not compared, {why}")
    if dimension.judges:
        _print_means(dimension.judges[0])


def _print_means(judge: "JudgeBesidePeople") -> None:
    """Means of models by one judge, the first; the page has all."""
    width = max((len(row.model) for row in judge.means), default=0)
    print(f"  means by {judge.name}, corrected with people's ratings: judge alone, people alone, corrected")
    for row in judge.means:
        both, people = row.corrected, row.people
        alone = _number(people.value, people.low, people.high) if people else "–"
        corrected = _number(both.value, both.low, both.high, both.bound)
        judged = "–" if row.judge is None else f"{row.judge:.3f}"
        note = f"  ({both.reason})" if both.reason else ""
        print(f"  {row.model:<{width}}  {judged:>8} {alone:>22} {corrected:>22}{note}")


def _number(value: float | None, low: float | None, high: float | None, bound: str | None = None) -> str:
    if value is None or low is None or high is None:
        return "–" if value is None else f"{value:.3f}"
    if bound is not None:
        return f"{value:.3f}, {bound} {low if bound == 'at least' else high:.3f}"
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _shown(statistic: "Statistic | None") -> str:
    return "–" if statistic is None else _number(statistic.value, statistic.low, statistic.high)


def _print_counts(found: "Calibration") -> None:
    counts = (
        (found.unmatched, "are of answers that the runs do not hold"),
        (found.apart, "are of floors and references, which count in no correlation"),
        (found.empty, "are not filled in"),
        (found.not_applicable, "do not apply"),
    )
    for count, words in counts:
        if count:
            print(f"{count:,} ratings {words}")

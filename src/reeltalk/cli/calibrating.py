"""The command that compares judges with people, and writes the sheet on which people rate."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from reeltalk.cli.app import OVERWRITE, app, say, settings_of
from reeltalk.errors import BenchmarkError, SettingError

if TYPE_CHECKING:
    from reeltalk.metrics.draws import Statistic
    from reeltalk.report.calibration import Calibration, CalibrationSettings, Dimension
    from reeltalk.store.runs import Run


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
    from reeltalk.store.runs import read_run

    if not runs:
        raise SettingError("calibrate needs at least one run; 'reeltalk judge' and 'reeltalk score' write them")
    opened = [read_run(path) for path in runs]
    if sheet is not None:
        if human or out is not None:
            raise SettingError("--sheet writes a blank sheet and compares nothing; leave out --human and --out")
        return _write_sheet(opened, sheet, items=items, criteria=criteria, seed=seed, overwrite=overwrite)
    marks = _marks(pass_mark or [])
    from reeltalk.report.calibration import CalibrationSettings

    settings = settings_of(
        CalibrationSettings,
        resamples=resamples,
        seed=seed,
        scale=_scale(scale),
        people_pass=marks.pop("human", None),
        passes=marks,
    )
    if out is not None and out.exists() and overwrite and not _is_ours(out):
        raise BenchmarkError(f"{out} holds something that is no calibration, so --overwrite does not replace it")
    if out is not None and out.exists() and not overwrite and (not out.is_dir() or any(out.iterdir())):
        raise BenchmarkError(f"{out} exists and is not empty; choose another folder or pass --overwrite")
    found = _compute(opened, human or [], settings)
    for dimension in found.dimensions:
        _print(dimension)
    _print_counts(found)
    if out is not None:
        from reeltalk.report.calibration_page import write_calibration_site
        from reeltalk.store.atomic import writing_directory

        with writing_directory(out, overwrite=overwrite) as folder:
            write_calibration_site(found, opened, folder)
        print(f"calibration: {out / 'calibration.html'}")
    return 0


def _compute(opened: "list[Run]", human: list[Path], settings: "CalibrationSettings") -> "Calibration":
    from reeltalk.report.calibrate import calibrate as compute
    from reeltalk.report.human_ratings import human_ratings
    from reeltalk.report.judge_values import scored

    found = scored(opened)
    return compute(opened, human_ratings(opened, human, found.answers), found, settings, progress=say)


def _write_sheet(opened: "list[Run]", sheet: Path, *, items: int, criteria: str, seed: int, overwrite: bool) -> int:
    from reeltalk.report.rating_sheet import rating_sheet
    from reeltalk.store.atomic import write_bytes

    names = tuple(dict.fromkeys(name.strip() for name in criteria.split(",") if name.strip()))
    if items < 1 or not names:
        raise SettingError("a sheet needs --items of 1 or more, and --criteria that name something")
    if sheet.exists() and not overwrite:
        raise BenchmarkError(f"{sheet} exists and may hold people's work; choose another file or pass --overwrite")
    text = rating_sheet(opened, items=items, seed=seed, criteria=names)
    # Spreadsheets know UTF-8 by its mark.
    write_bytes(sheet, text.encode("utf-8-sig"))
    rows = text.count("\n") - 1 if "\n" in text else 0
    say(f"fill in the columns rater and value, then: reeltalk calibrate RUN --human {sheet}")
    print(f"sheet: {sheet}" if rows else f"sheet: {sheet} (empty)")
    return 0


def _is_ours(out: Path) -> bool:
    return out.is_dir() and ((out / "calibration.json").is_file() or not any(out.iterdir()))


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


def _shown(statistic: "Statistic | None") -> str:
    if statistic is None or statistic.value is None:
        return "–"
    if statistic.low is None or statistic.high is None:
        return f"{statistic.value:.3f}"
    return f"{statistic.value:.3f} [{statistic.low:.3f}, {statistic.high:.3f}]"


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

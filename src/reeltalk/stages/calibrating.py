"""Calibrate: judges and text metrics beside people who rated some of the same answers."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from reeltalk.analysis.calibration import Calibration, CalibrationSettings
from reeltalk.analysis.calibration import calibrate as compute
from reeltalk.analysis.human_ratings import human_ratings, rating_sheet
from reeltalk.analysis.judge_values import scored
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.pages.calibration_page import write_calibration_site
from reeltalk.progress import Tell, silent
from reeltalk.store.atomic import write_bytes, writing_directory
from reeltalk.store.runs import Run, read_run

PAGE = "calibration.html"


def calibrate(
    *runs: Run | Path | str,
    human: Sequence[Path | str] = (),
    out: Path | str | None = None,
    settings: CalibrationSettings | None = None,
    overwrite: bool = False,
    tell: Tell = silent,
) -> Calibration:
    """Compare judges with people: may one trust this judge?

    Args:
        runs: Runs that hold the rated answers with judges' scores, or their folders.
        human: People's ratings: sheets as CSV, or JSON Lines of scores. Those in the runs count too.
        out: Folder for `calibration.html` and `calibration.json`; nothing is written by default.
        settings: Scale, pass marks and resampling.
        overwrite: Replace the calibration that is there.
        tell: Told what is being computed.

    Raises:
        SettingError: No run is given, or a setting does not fit the ratings.
        BenchmarkError: `out` holds something else, or there are no ratings.
        InputError: A file is damaged.
    """
    opened = _opened(runs)
    folder = Path(out) if out is not None else None
    if folder is not None and folder.exists() and overwrite and not _is_ours(folder):
        raise BenchmarkError(f"{folder} holds something that is no calibration, so --overwrite does not replace it")
    if folder is not None and folder.exists() and not overwrite and (not folder.is_dir() or any(folder.iterdir())):
        raise BenchmarkError(f"{folder} exists and is not empty; choose another folder or pass --overwrite")
    found = scored(opened)
    ratings = human_ratings(opened, [Path(path) for path in human], found.answers)
    result = compute(opened, ratings, found, settings or CalibrationSettings(), progress=tell)
    if folder is not None:
        with writing_directory(folder, overwrite=overwrite) as site:
            write_calibration_site(result, opened, site)
    return result


def write_rating_sheet(
    *runs: Run | Path | str,
    out: Path | str,
    items: int = 200,
    criteria: Sequence[str] = ("overall",),
    seed: int = 17,
    overwrite: bool = False,
) -> int:
    """Write a blank, blinded sheet on which people rate answers.

    Args:
        runs: Runs that hold the answers, or their folders.
        out: File that appears, CSV.
        items: Answers on the sheet at most.
        criteria: What people shall rate.
        seed: Decides which answers.
        overwrite: Replace the file that is there.

    Returns:
        Rows to fill in.

    Raises:
        SettingError: No run or nothing to rate is given.
        BenchmarkError: The file exists, or cannot be written.
    """
    opened, out = _opened(runs), Path(out)
    names = tuple(dict.fromkeys(name.strip() for name in criteria if name.strip()))
    if items < 1 or not names:
        raise SettingError("a sheet needs --items of 1 or more, and --criteria that name something")
    if out.exists() and not overwrite:
        raise BenchmarkError(f"{out} exists and may hold people's work; choose another file or pass --overwrite")
    text = rating_sheet(opened, items=items, seed=seed, criteria=names)
    # Spreadsheets know UTF-8 by its mark.
    write_bytes(out, text.encode("utf-8-sig"))
    return max(0, sum(1 for _ in csv.reader(io.StringIO(text))) - 1)


def _opened(runs: Sequence[Run | Path | str]) -> list[Run]:
    if not runs:
        raise SettingError("calibrate needs at least one run; 'reeltalk judge' and 'reeltalk score' write them")
    return [run if isinstance(run, Run) else read_run(Path(run)) for run in runs]


def _is_ours(out: Path) -> bool:
    return out.is_dir() and ((out / "calibration.json").is_file() or not any(out.iterdir()))

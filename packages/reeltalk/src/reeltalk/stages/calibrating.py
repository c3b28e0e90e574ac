"""Calibrate: compare judges and text metrics with people who rated some of the same answers."""

import asyncio
import csv
import io
import tempfile
from collections.abc import Sequence
from pathlib import Path

from reeltalk.analysis.calibration import Calibration, CalibrationSettings
from reeltalk.analysis.calibration import calibrate as compute
from reeltalk.analysis.human_ratings import human_ratings, rating_sheet
from reeltalk.analysis.judge_values import read_scored
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.evaluate.checks import check_judging_settings
from reeltalk.evaluate.settings import LimitSettings
from reeltalk.evaluate.stage import JudgingSetup
from reeltalk.judge.attacks import Attack, attack_items
from reeltalk.judge.settings import AUTO, JudgeModelSettings, JudgeSettings
from reeltalk.judge.under_attack import AttackReports
from reeltalk.judge.under_attack import attack_judge as run_attacks
from reeltalk.llm import Budget, ReplyStore
from reeltalk.pages.calibration import write_calibration_site
from reeltalk.progress import Tell, silent
from reeltalk.schema.settings import check_counts
from reeltalk.stages.prompt_folders import check_judge_prompts
from reeltalk.stages.run import open_judging
from reeltalk.store.atomic import write_bytes, writing_directory
from reeltalk.store.runs import Run, read_run


def attack(
    judging: JudgeSettings,
    *,
    judge_model: JudgeModelSettings | None = None,
    limits: LimitSettings | None = None,
    every: int = 1,
    tell: Tell = silent,
) -> AttackReports:
    """Judge every attack, a clearly wrong answer and the reference.

    An attack fools the judge if its score is nearer to the score of the reference.

    Args:
        judging: Protocols to use. Text metrics are ignored.
        judge_model: The judge's model, for protocols that need one.
        limits: Requests at a time, and hard limits of requests, tokens and money.
        every: Use only every n-th attack.
        tell: Receives the name of the attacked protocol.

    Returns:
        A report for each protocol.

    Raises:
        SettingError: No protocol is named, one is unknown, or needs a model and none is given.
        BudgetError: A limit would be passed.
    """
    check_counts(every=every)
    if AUTO in judging.protocols:
        raise SettingError("name the judge that is attacked, as --protocols vdeval --judge NAME")
    chosen, limits = judging.model_copy(update={"metrics": ()}), limits or LimitSettings()
    if limits.replies is not None:
        raise SettingError("--replies has no effect: replies to attacks are not kept; leave it out")
    judge_model = judge_model or JudgeModelSettings()
    check_judging_settings(chosen, judge_model, limits)
    check_judge_prompts(chosen)
    budget = Budget(limits.max_calls, limits.max_tokens, limits.max_cost)
    with (
        tempfile.TemporaryDirectory() as folder,
        ReplyStore(Path(folder) / "replies.sqlite") as store,
        open_judging(chosen, judge_model, limits, store, budget, tell=tell) as judging_setup,
    ):
        return asyncio.run(_attack(judging_setup, attack_items()[::every], limits.connections, tell))


async def _attack(judging_setup: JudgingSetup, items: Sequence[Attack], at_once: int, tell: Tell) -> AttackReports:
    reports = AttackReports()
    try:
        for judge in judging_setup.judges:
            tell(f"attacking {judge.name}")
            model = judging_setup.model if judge.needs_model else None
            reports.append(await run_attacks(judge, model, items, at_once=at_once))
    finally:
        if judging_setup.logged is not None:
            await judging_setup.logged.close()
    return reports


PAGE = "calibration.html"


def calibrate(
    *runs: Run | Path | str,
    human: Sequence[Path | str] = (),
    out: Path | str | None = None,
    settings: CalibrationSettings | None = None,
    overwrite: bool = False,
    tell: Tell = silent,
) -> Calibration:
    """Compare judges with people, to find out whether you can trust a judge.

    Args:
        runs: Runs that hold the rated answers with judges' scores, or their folders.
        human: People's ratings: sheets as CSV, or JSON Lines of scores. Those in the runs count too.
        out: Folder for `calibration.html` and `calibration.json`. By default nothing is written.
        settings: Scale, pass marks and resampling.
        overwrite: Replace an existing calibration.
        tell: Receives a line about each step.

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
    found = read_scored(opened)
    ratings = human_ratings(opened, [Path(path) for path in human], found.places)
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
        out: CSV file to write.
        items: Maximum number of answers on the sheet.
        criteria: Criteria that people rate.
        seed: Seed that selects the answers.
        overwrite: Replace an existing file.

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
    # Spreadsheets detect UTF-8 by its byte order mark.
    write_bytes(out, text.encode("utf-8-sig"))
    return max(0, sum(1 for _ in csv.reader(io.StringIO(text))) - 1)


def _opened(runs: Sequence[Run | Path | str]) -> list[Run]:
    if not runs:
        raise SettingError("calibrate needs at least one run; 'reeltalk judge' and 'reeltalk score' write them")
    return [run if isinstance(run, Run) else read_run(Path(run)) for run in runs]


def _is_ours(out: Path) -> bool:
    return out.is_dir() and ((out / "calibration.json").is_file() or not any(out.iterdir()))

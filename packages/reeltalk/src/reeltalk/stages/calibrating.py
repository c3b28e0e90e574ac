"""Calibrate: compare judges and text metrics with people who rated some of the same answers."""

import asyncio
import csv
import dataclasses
import io
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from reeltalk.analysis.calibration import Calibration, CalibrationSettings
from reeltalk.analysis.calibration import calibrate as compute
from reeltalk.analysis.human_ratings import human_ratings, rating_sheet
from reeltalk.analysis.judge_values import read_scored
from reeltalk.analysis.verdicts import Place
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.evaluation.checks import check_judging_settings
from reeltalk.evaluation.playing.play import Response, answered_turn
from reeltalk.evaluation.playing.script import make_scripts
from reeltalk.evaluation.settings import LimitSettings, PlaySettings
from reeltalk.evaluation.stage import JudgingSetup
from reeltalk.judge.attacks import attack_items
from reeltalk.judge.judge import Judge, group_units
from reeltalk.judge.settings import AUTO, JUDGED_BY_DEFAULT, NO_JUDGE, JudgeModelSettings, JudgeSettings
from reeltalk.judge.styles import answer_styles
from reeltalk.judge.under_attack import AttackReport, AttackReports, attack_judge, play_styles
from reeltalk.llm import Budget, ReplyStore
from reeltalk.llm.model import AsyncModel
from reeltalk.pages.calibration import write_calibration_site
from reeltalk.progress import Tell, ignore_sentences
from reeltalk.schema.settings import check_counts
from reeltalk.stages.judging import AnswersToJudge
from reeltalk.stages.prompt_folders import check_judge_prompts
from reeltalk.stages.run import background_of, check_judging, open_judging, resolve_protocols
from reeltalk.store.atomic import write_bytes, writing_directory
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.documents import write_json
from reeltalk.store.runs import INFO, STYLE, Run, read_run
from reeltalk.store.tables import PLAYED_TABLES


def attack(
    judging: JudgeSettings,
    *,
    judge_model: JudgeModelSettings | None = None,
    limits: LimitSettings | None = None,
    every: int = 1,
    tell: Tell = ignore_sentences,
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
    items, limits = attack_items()[::every], limits or LimitSettings()

    async def one(judge: Judge, model: AsyncModel | None) -> AttackReport:
        tell(f"attacking {judge.name}")
        return await attack_judge(judge, model, items, at_once=limits.connections)

    return _each_judge(one, judging, judge_model, limits, tell)


def attack_style(
    *sources: Run | Path | str,
    judging: JudgeSettings | None = None,
    judge_model: JudgeModelSettings | None = None,
    limits: LimitSettings | None = None,
    benchmark: Benchmark | None = None,
    every: int = 1,
    tell: Tell = ignore_sentences,
) -> AttackReports:
    """Judge every reference, and wrong answers of the benchmark's own, in the styles in which models write.

    A judge that reads the same in every style loses no reference and accepts no wrong answer. A single run keeps the
    counts in `style.json`, and its leaderboard shows them.

    Args:
        sources: Runs whose turns are played; their answers are not judged. By default all turns of the benchmark.
        judging: Protocols to use; by default those that need no model. Text metrics are ignored.
        judge_model: The judge's model, for protocols that need one.
        limits: Requests at a time, and hard limits of requests, tokens and money.
        benchmark: The benchmark; a run names its own.
        every: Play only every n-th chain, path or dialogue.
        tell: Receives the name of each protocol.

    Returns:
        A report for each protocol, by style.

    Raises:
        SettingError: There are neither runs nor a benchmark, or no protocol can judge the turns.
        BudgetError: A limit would be passed.
    """
    check_counts(every=every)
    if not sources and benchmark is None:
        raise SettingError("--attack style needs a run, or --bench, whose references it plays")
    limits = limits or LimitSettings()
    paths = [source.path if isinstance(source, Run) else Path(source) for source in sources]
    if paths:
        read = AnswersToJudge(paths, None, benchmark)
        content = read.content
        first = read.turns[0].model
        turns = [turn for turn in read.turns if turn.model == first]
    else:
        assert benchmark is not None
        content = benchmark.stored_content()
        turns = [
            answered_turn(script, step, "reference", Response(""))
            for script in make_scripts(content, PlaySettings())
            for step in script.steps
        ]
    chosen = resolve_protocols(judging or JUDGED_BY_DEFAULT, turns)
    if not chosen.protocols:
        raise SettingError(NO_JUDGE)
    if (known := read.benchmark if paths else benchmark) is not None:
        known.check_rows(PLAYED_TABLES)
    check_judging(chosen, ((turn.video_id, turn) for turn in turns if turn.state.is_due), content, tell=tell)
    units = group_units(turns, background_of(content, chosen) if content is not None else None)[::every]

    async def one(judge: Judge, model: AsyncModel | None) -> AttackReport:
        tell(f"playing {len(answer_styles())} styles for {judge.name}")
        return await play_styles(judge, model, units, answer_styles(), at_once=limits.connections)

    reports = _each_judge(one, chosen, judge_model, limits, tell)
    if len(paths) == 1 and (paths[0] / INFO).is_file():
        costs = [report.style_cost() for report in reports]
        write_bytes(paths[0] / STYLE, write_json(list(map(dataclasses.asdict, costs))).encode())
    return reports


def _each_judge(
    attack_one: Callable[[Judge, AsyncModel | None], Awaitable[AttackReport]],
    judging: JudgeSettings,
    judge_model: JudgeModelSettings | None,
    limits: LimitSettings,
    tell: Tell,
) -> AttackReports:
    """The report of each judge."""
    chosen, judge_model = judging.model_copy(update={"metrics": ()}), judge_model or JudgeModelSettings()
    if limits.replies is not None:
        raise SettingError("--replies has no effect: replies to attacks are not kept; leave it out")
    check_judging_settings(chosen, judge_model, limits)
    check_judge_prompts(chosen)
    budget = Budget(limits.max_calls, limits.max_tokens, limits.max_cost)

    async def run(setup: JudgingSetup) -> AttackReports:
        try:
            return AttackReports(
                [await attack_one(judge, setup.model if judge.needs_model else None) for judge in setup.judges]
            )
        finally:
            if setup.served is not None:
                await setup.served.close()

    with (
        tempfile.TemporaryDirectory() as folder,
        ReplyStore(Path(folder) / "replies.sqlite") as store,
        open_judging(chosen, judge_model, limits, store, budget, tell=tell) as setup,
    ):
        return asyncio.run(run(setup))


PAGE = "calibration.html"


def calibrate(
    *runs: Run | Path | str,
    human: Sequence[Path | str] = (),
    out: Path | str | None = None,
    settings: CalibrationSettings | None = None,
    overwrite: bool = False,
    tell: Tell = ignore_sentences,
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
    human: Sequence[Path | str] = (),
    seed: int = 17,
    overwrite: bool = False,
) -> int:
    """Write a blank, blinded sheet on which people rate answers.

    Args:
        runs: Runs that hold the answers, or their folders.
        out: CSV file to write.
        items: Maximum number of answers on the sheet.
        criteria: Criteria that people rate.
        human: Ratings so far, as for `calibrate`. Answers that they rate are left out, and videos without any come
            first.
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
    rated: set[Place] = set()
    if human:
        found = human_ratings(opened, [Path(path) for path in human], read_scored(opened).places)
        rated = {rating.place for rating in found.ratings}
    text = rating_sheet(opened, items=items, seed=seed, criteria=names, rated=rated)
    # Spreadsheets detect UTF-8 by its byte order mark.
    write_bytes(out, text.encode("utf-8-sig"))
    return max(0, sum(1 for _ in csv.reader(io.StringIO(text))) - 1)


def forecast_of_sheet(found: Calibration, items: int) -> list[str]:
    """What more ratings would bring: a sentence for each model and criterion, with the judge that agrees best.

    Args:
        found: The comparison with the ratings so far.
        items: Number of more ratings of all models together.
    """
    lines = []
    for dimension in found.dimensions:
        more = max(1, items // len(dimension.models))
        for row in dimension.judges[0].means if dimension.judges else ():
            both, name = row.corrected, f"{dimension.criterion}, {row.model}"
            if both.low is None or both.high is None or (width := both.width_after(more)) is None:
                lines.append(f"{name}: {both.reason}")
                continue
            lines.append(
                f"{name}: {more:,} more ratings would narrow the interval of the corrected mean by "
                f"{dimension.judges[0].name} from {both.high - both.low:.3g} to about {width:.3g}"
            )
    return lines


def _opened(runs: Sequence[Run | Path | str]) -> list[Run]:
    if not runs:
        raise SettingError("calibrate needs at least one run; 'reeltalk judge' and 'reeltalk score' write them")
    return [run if isinstance(run, Run) else read_run(Path(run)) for run in runs]


def _is_ours(out: Path) -> bool:
    return out.is_dir() and ((out / "calibration.json").is_file() or not any(out.iterdir()))

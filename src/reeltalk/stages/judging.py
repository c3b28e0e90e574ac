"""Judge: answers that exist already, of runs or of published files, are judged without being played again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reeltalk.errors import SettingError
from reeltalk.evaluate.run_folder import REPLIES, RunFolder, is_whole
from reeltalk.evaluate.settings import JUDGED_BY_DEFAULT, JudgeModelSettings, JudgeSettings, LimitSettings
from reeltalk.evaluate.stage import Played, Progress
from reeltalk.llm import Budget, ReplyStore
from reeltalk.schema.runs import CONTROLS
from reeltalk.schema.settings import check_counts
from reeltalk.stages.asking import Tell, background_of, check_judging, judging_by, judging_within, named, silent, unseen
from reeltalk.stages.finishing import RunReport, Took, finish, report_of, with_controls
from reeltalk.stages.given_answers import GivenAnswers
from reeltalk.stages.prompt_folders import judging_request
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import CONTROLS_FOLDER, INFO, Run, read_run


def judge(
    *sources: Run | Path | str,
    out: Path | str,
    judging: JudgeSettings | None = None,
    judge_model: JudgeModelSettings | None = None,
    limits: LimitSettings | None = None,
    benchmark: Benchmark | None = None,
    format: str | None = None,
    limit: int | None = None,
    beside: Sequence[str] = (),
    overwrite: bool = False,
    progress: Progress = unseen,
    tell: Tell = silent,
) -> RunReport:
    """Judge answers that exist already, and write them as a run.

    Call it again with the same settings to go on after an interruption or a spent budget: replies are kept. The
    controls of runs are judged too, as controls of the new run.

    Args:
        sources: Runs, or files and folders of answers in a published layout.
        out: Folder of the run that appears.
        judging: By which protocols and metrics; by default by keys or options where turns have some, and text metrics.
        judge_model: Who judges, for protocols that need a model.
        limits: Requests at a time, and hard limits of requests, tokens and money.
        benchmark: What the answers are about: it supplies questions, references, summaries and graphs. A run names
            its own.
        format: Layout of the answers; not needed for runs.
        limit: Judge the first chains, paths or dialogues of each model only.
        beside: Answers to judge too, which try the judge: `reference`, `yes`, `copied-question`.
        overwrite: Replace the run that is there.
        progress: Told after each turn.
        tell: Told in a sentence what cannot be had here.

    Raises:
        SettingError: A setting, protocol or metric cannot be used, or two sources hold the same answers.
        BenchmarkError: There is nothing to judge, or `out` holds something else.
        InputError: A source is damaged.
        BudgetError: A limit would be passed; the same call with a higher one goes on.
    """
    check_counts(limit=limit)
    if not sources:
        raise SettingError("judge needs at least one run, or file or folder of answers")
    judge_model = judge_model or JudgeModelSettings()
    limits = limits or LimitSettings()
    paths = [source.path if isinstance(source, Run) else Path(source) for source in sources]
    out, budget = Path(out), Budget(limits.max_calls, limits.max_tokens, limits.max_cost)
    judging_of = _Judging(
        judging or JUDGED_BY_DEFAULT,
        judge_model,
        limits.model_copy(update={"replies": limits.replies or out / REPLIES}),
        benchmark,
        format,
        limit,
        tuple(dict.fromkeys(beside)),
        budget,
        tell,
    )
    runs = [read_run(path) for path in paths if (path / INFO).is_file()]
    controls = {name: [run.controls()[name].path for run in runs if name in run.controls()] for name in CONTROLS}
    places = {name: out / CONTROLS_FOLDER / name for name, found in controls.items() if found}
    given = judging_of.given(paths)
    # Told at the end: a refusal stands alone.
    hints: list[str] = []
    judging_of = replace(judging_of, judging=judging_within(judging, given.turns, tell=hints.append))
    if (
        not overwrite
        and is_whole(out, judging_of.request(given))
        and not all((place / INFO).is_file() for place in places.values())
    ):
        tell(f"{out} is whole and stays; its controls go on")
        done = report_of(read_run(out))
    else:
        done = judging_of.run(given, out, overwrite=overwrite, progress=progress)
    for name, place in places.items():
        if not (place / INFO).is_file():
            tell(f"control {name}: answers to {CONTROLS[name]} are judged")
            judging_of.run(
                judging_of.given(controls[name]), place, overwrite=False, progress=named(progress, f"control {name}")
            )
    for hint in hints:
        tell(hint)
    return with_controls(done)


@dataclass(frozen=True)
class _Judging:
    """By what answers are judged, those of a run and of its controls."""

    judging: JudgeSettings
    judge_model: JudgeModelSettings
    limits: LimitSettings
    benchmark: Benchmark | None
    format: str | None
    limit: int | None
    beside: tuple[str, ...]
    budget: Budget
    """For the run and its controls together."""
    tell: Tell

    def given(self, paths: Sequence[Path]) -> GivenAnswers:
        """Answers that are read from some sources."""
        read = GivenAnswers(paths, self.format, self.benchmark)
        for name in self.beside:
            read.add_beside(name)
        return read

    def request(self, read: GivenAnswers) -> dict[str, Any]:
        """All that decides what judging asks."""
        return {
            "sources": read.hashes,
            "benchmark": read.benchmark.manifest.content_hash if read.benchmark else None,
            "judging": judging_request(self.judging),
            "judge": self.judge_model.model_dump(mode="json", include={"judge", "judge_max_reply_tokens"}),
            "limit": self.limit,
            **({"beside": ",".join(self.beside)} if self.beside else {}),
        }

    def run(self, read: GivenAnswers, place: Path, *, overwrite: bool, progress: Progress) -> RunReport:
        """Judge and write one run."""
        content, judging, limits, units = read.content, self.judging, self.limits, read.units(self.limit)
        asked = [(turn.video_id, turn) for turns in units.values() for turn in turns if turn.state.is_due]
        check_judging(judging, self.judge_model, asked, content, tell=self.tell)
        request = self.request(read)
        with (
            RunFolder(place, request, overwrite=overwrite) as folder,
            ReplyStore(limits.replies or folder.replies) as store,
            judging_by(judging, self.judge_model, limits, store, self.budget, tell=self.tell) as judged_by,
        ):
            folder.clear_logs()
            stage = Played(
                folder.logs,
                judged_by,
                background_of(content, judging) if content is not None else None,
                at_a_time=limits.connections,
                progress=progress,
            )
            evaluation = stage.judge(units, metadata={"sources": list(map(str, read.paths))})
            return finish(
                folder,
                evaluation,
                judged_by,
                subject=read.subject,
                signed=read.signed,
                sources=read.sources,
                content=content,
                settings=request | {"benchmark_path": str(read.benchmark.path) if read.benchmark else None},
                kind="judge",
                took=Took.of(self.budget, None, judged_by.model),
                tell=self.tell,
            )

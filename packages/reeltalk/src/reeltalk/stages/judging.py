"""Judge: score existing answers, from runs or published files, without playing the dialogues again."""

import weakref
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

from reeltalk.analysis.columns import is_baseline
from reeltalk.errors import BenchmarkError, InputError, SettingError
from reeltalk.evaluation.answers import answer_sets, with_distinct_names, with_rubrics_and_keys
from reeltalk.evaluation.checks import check_judging_settings
from reeltalk.evaluation.run_folder import RunFolder, is_whole
from reeltalk.evaluation.settings import LimitSettings
from reeltalk.evaluation.signing import judge_request, judging_request
from reeltalk.evaluation.stage import EvaluationRunner
from reeltalk.evaluation.tables import Parts
from reeltalk.evaluation.useless import UselessReplies
from reeltalk.formats import load_format
from reeltalk.judge.judge import NULL_MODEL
from reeltalk.judge.reference_checks import replace_answers
from reeltalk.judge.settings import JUDGED_BY_DEFAULT, JudgeModelSettings, JudgeSettings
from reeltalk.llm import Budget, ReplyStore
from reeltalk.progress import Progress, Tell, ignore_progress, ignore_sentences
from reeltalk.schema.answers import NOT_IN_SOURCE, AnsweredTurn
from reeltalk.schema.runs import CONTROLS, ModelInfo
from reeltalk.schema.settings import check_counts
from reeltalk.stages.run import (
    JudgementCommand,
    RunReport,
    Usage,
    add_controls,
    announce_retry,
    background_of,
    check_deletion,
    check_judging,
    command_to_keep,
    current_folder_from,
    describe_whole_run,
    finish,
    is_run_needed,
    open_judging,
    prefix_progress,
    report_of,
    resolve_judging,
    write_command,
)
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.consent import check_consent, named_path
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_source
from reeltalk.store.rows import FieldValues, Rows, SpooledRows, database_errors, temporary_database
from reeltalk.store.runs import ANSWERS, CONTROLS_FOLDER, INFO, REPLIES, Run, is_unfinished, read_run, run_to_retry


class AnswersToJudge:
    """Answers to judge: turns, the source of each model's answers, and how the answers were produced.

    Args:
        sources: Runs, or files and folders of answers in a published layout.
        format: The layout; not needed for runs.
        benchmark: The benchmark of the answers. A run names its own.

    Raises:
        SettingError: A layout is not named, or two sources hold answers of one model to one turn.
        InputError: A source is damaged or cut off.
    """

    def __init__(self, sources: Sequence[Path], format: str | None, benchmark: Benchmark | None) -> None:
        self.benchmark, self.paths = benchmark, tuple(sources)
        self.signed: dict[str, Parts] = {}
        self.sources: dict[str, tuple[str, str]] = {}
        self.hashes: dict[str, str] = {}
        spool = SpooledRows(AnsweredTurn)
        self.subject = f"{format or 'run'}.answers"
        runs = [path for path in sources if (path / INFO).is_file() or is_unfinished(path)]
        for path in runs:
            run = read_run(path)
            self.subject = run.info.subject
            named = run.info.settings.get("benchmark_path")
            if self.benchmark is None and isinstance(named, str) and (Path(named) / "manifest.json").is_file():
                self.benchmark = Benchmark.open(Path(named))
                if self.benchmark.manifest.content_hash != run.info.settings.get("benchmark"):
                    hint = f"the run was played on another content; give --bench {named} if it is the right one"
                    check_consent(run_to_retry(path), named_path(Path(named), base=Path(), folder=path), hint=hint)
        known = self.benchmark.stored_content() if self.benchmark else None
        self.content: Content | None = known
        whole: Content | None = None
        for path in sources:
            if path in runs:
                run = read_run(path)
                signed = run.info.settings.get("signed") or {}
                answered = Counter(FieldValues(run.answers(), "model"))
                for info in run.info.models:
                    self._check_whole(run, info, answered[info.model])
                    if info.model in answered:
                        parts = tuple((key, value) for key, value in signed.get(info.model, ()))
                        # The source says that a baseline, the oracle or people answered.
                        source = info.source if is_baseline(info) else str(path)
                        self._add(info.model, (source, info.sha256), parts)
                spool.extend(run.answers() if known is None else with_rubrics_and_keys(run.answers(), known))
                self._note_hash(path, hash_source(path / "answers.jsonl"))
                continue
            if not path.exists():
                raise InputError("no such file or folder", file=path, hint="check the path")
            if format is None:
                raise SettingError(f"{path} is no run, so --format must name its layout, as '--format vdact'")
            layout, sha256 = load_format(format), hash_source(path)
            if known is not None and whole is None:
                whole = known
            content = layout.read(path) if whole is None else layout.read_answers(path, whole)
            self._note_hash(path, sha256)
            sets = answer_sets(content, source=str(path), sha256=sha256, benchmark=whole)
            if len(sources) == 1 and known is None:
                self.content = content
            for found in with_distinct_names(sets):
                more = (("duplicates", f"first-of-{len(found.duplicates)}"),) if found.duplicates else ()
                self._add(found.model, (found.source, found.sha256), more)
                spool.extend(chain(found.turns, found.others))
        self._spool, self._places = spool, _found_anywhere(spool)

    @property
    def turns(self) -> Rows[AnsweredTurn]:
        """The turns to judge."""
        return self._spool.at(self._places)

    def add_beside(self, name: str) -> None:
        """Add test answers for the judge to the turns of the first model."""
        if not self.turns:
            return
        if name in self.sources:
            raise SettingError(f"--beside {name}: there is a model of that name in what is given already")
        first = self.turns[0].model
        own = replace_answers(name, (turn for turn in self.turns if turn.model == first))
        kept = list(self._places)
        begun = len(self._spool)
        self._spool.extend(own)
        self._places = [*kept, *range(begun, len(self._spool))]
        self._add(name, (f"baseline:{name}", ""), (("baseline", name),))

    def _note_hash(self, path: Path, sha256: str) -> None:
        # Folders of runs often have the same name.
        self.hashes[path.name if path.name not in self.hashes else f"{path.name} ({len(self.hashes)})"] = sha256

    def _check_whole(self, run: Run, info: ModelInfo, answers: int) -> None:
        """Refuse a file with missing lines."""
        played = run.info.kind in ("evaluate", "judge") and (answers or info.model != NULL_MODEL)
        if played and answers != info.rows:
            raise InputError(
                f"{answers:,} answers of '{info.model}' where run.json counts {info.rows:,}",
                file=run.path / ANSWERS,
                hint="the file may be cut off; get it again",
            )

    def _add(self, model: str, source: tuple[str, str], signed: Parts) -> None:
        """Record the source of a model's answers."""
        if model not in self.sources:
            self.sources[model], self.signed[model] = source, signed
            return
        before = dict(self.signed[model])
        merged = {key: value for key, value in signed if key not in before}
        for key, value in before.items():
            other = dict(signed).get(key, value)
            merged[key] = value if other == value else f"{value}+{other}"
        self.sources[model] = (f"{self.sources[model][0]}, {source[0]}", self.sources[model][1] + source[1])
        self.signed[model] = tuple(merged.items())

    def units(self, limit: int | None) -> "JudgedUnits":
        """Turns by the unit's name in the log. Chains of a video stay together, as they are played."""
        found = JudgedUnits(self.turns, limit)
        if not found:
            raise BenchmarkError("there are no answers to judge")
        return found


class JudgedUnits(Mapping[str, Rows[AnsweredTurn]]):
    """Turns that are judged together, by name. Units are in their original order, each turn by turn.

    Args:
        limit: Maximum number of chains, paths and dialogues of each model, the first ones.
    """

    def __init__(self, turns: Rows[AnsweredTurn], limit: int | None) -> None:
        self._turns = turns
        self._units = temporary_database("CREATE TABLE turns (place, name, unit_id, turn_index)")
        weakref.finalize(self, self._units.close)
        with database_errors():
            self._units.execute("BEGIN")
            self._units.executemany("INSERT INTO turns VALUES (?, ?, ?, ?)", self._named(limit))
            self._units.execute("COMMIT")
            self._units.execute("CREATE INDEX by_name ON turns (name)")
            self._names: list[str] = [
                name for (name,) in self._units.execute("SELECT name FROM turns GROUP BY name ORDER BY min(place)")
            ]

    def _named(self, limit: int | None) -> Iterator[tuple[int, str, str, int]]:
        taken: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for place, raw in enumerate(self._turns.raw()):
            kind, unit_id, model = raw.get("unit", DEFAULT_UNIT), raw["unit_id"], raw["model"]
            play = f"epoch {epoch + 1}, " if (epoch := raw.get("epoch", 0)) else ""
            if limit is not None and (kind, unit_id) not in taken[model]:
                if len(taken[model]) >= limit:
                    continue
                taken[model].add((kind, unit_id))
            together = f"chains of {raw['video_id']}" if kind == "chain" else f"{kind} {unit_id}"
            yield place, f"{model} {play}{together}", unit_id, raw["turn_index"]

    def __getitem__(self, name: str) -> Rows[AnsweredTurn]:
        query = (
            "SELECT place FROM turns WHERE name = ? ORDER BY min(place) OVER (PARTITION BY unit_id), turn_index, place"
        )
        if not (places := [place for (place,) in self._units.execute(query, (name,))]):
            raise KeyError(name)
        return self._turns.at(places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


DEFAULT_UNIT: Final = AnsweredTurn.model_fields["unit"].default


def _found_anywhere(turns: SpooledRows[AnsweredTurn]) -> list[int]:
    """Places of the turns to judge. Missing turns are dropped if another source has them, or else kept once."""

    def rows() -> Iterator[tuple[int, str, int, str, str, int, bool]]:
        for place, raw in enumerate(turns.raw()):
            unit = raw.get("unit", DEFAULT_UNIT), raw["unit_id"], raw["turn_index"]
            yield place, raw["model"], raw.get("epoch", 0), *unit, raw.get("reason") == NOT_IN_SOURCE

    schema = "CREATE TABLE turns (place, model, epoch, unit, unit_id, turn_index, missing); BEGIN"
    with closing(temporary_database(schema)) as database, database_errors():
        database.executemany("INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, ?)", rows())
        database.execute("CREATE INDEX by_turn ON turns (model, epoch, unit, unit_id, turn_index, missing)")
        turn = "GROUP BY model, epoch, unit, unit_id, turn_index"
        query = f"SELECT min(place) FROM turns WHERE NOT missing {turn} HAVING count(*) > 1 ORDER BY 1"
        for (place,) in database.execute(query):
            answer = turns[place]
            raise SettingError(
                f"'{answer.model}' has two answers to turn {answer.turn_index + 1} of {answer.unit} "
                f"'{answer.unit_id}' in what is given; judge them in two runs"
            )
        there = database.execute("SELECT place FROM turns WHERE NOT missing ORDER BY place").fetchall()
        lacking = database.execute(f"SELECT max(place) FROM turns {turn} HAVING min(missing) ORDER BY min(place)")
        return [place for (place,) in chain(there, lacking)]


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
    delete_replies: bool = False,
    progress: Progress = ignore_progress,
    tell: Tell = ignore_sentences,
) -> RunReport:
    """Judge existing answers and write a run.

    Call it again with the same settings to continue after an interruption or a spent budget. Replies are kept. On a
    complete run it repeats only the requests that failed, if there are any. The controls of runs are judged too, as
    controls of the new run.

    Args:
        sources: Runs, or files and folders of answers in a published layout.
        out: Folder of the new run.
        judging: Protocols and metrics. By default, keys or options if turns have them, and text metrics.
        judge_model: The judge's model, for protocols that need one.
        limits: Requests at a time, and hard limits of requests, tokens and money.
        benchmark: The benchmark of the answers. It supplies questions, references, summaries and graphs. A run names
            its own.
        format: Layout of the answers; not needed for runs.
        limit: Judge only the first chains, paths or dialogues of each model, this many.
        beside: Additional answers that test the judge: `reference`, `yes`, `copied-question`.
        overwrite: Replace an existing run. Its kept replies are used again.
        delete_replies: With `overwrite`, delete the kept replies, so that all requests are sent again.
        progress: Called after each turn.
        tell: Receives a sentence about anything that is not available here.

    Raises:
        SettingError: A setting, protocol or metric cannot be used, or two sources hold the same answers.
        BenchmarkError: There is nothing to judge, or `out` holds something else.
        InputError: A source is damaged.
        BudgetError: A limit would be exceeded. The same call with a higher limit continues.
        ModelError: The judge's model gave no score at all. Then no run is written.
    """
    check_counts(limit=limit)
    check_deletion(delete_replies, overwrite, limits)
    if not sources:
        raise SettingError("judge needs at least one run, or file or folder of answers")
    judge_model = judge_model or JudgeModelSettings()
    limits = limits or LimitSettings()
    paths = [source.path if isinstance(source, Run) else Path(source) for source in sources]
    out, budget = Path(out), Budget(limits.max_calls, limits.max_tokens, limits.max_cost)
    judging = judging or JUDGED_BY_DEFAULT
    check_judging_settings(judging, judge_model, limits, has_replies=(limits.replies or out / REPLIES).is_file())
    judgement = _Judgement(
        judging,
        judge_model,
        limits.model_copy(update={"replies": limits.replies or out / REPLIES}),
        limits,
        benchmark,
        format,
        limit,
        tuple(dict.fromkeys(beside)),
        delete_replies,
        budget,
        tell,
    )
    runs = [read_run(path) for path in paths if (path / INFO).is_file() or is_unfinished(path)]
    if format is not None and len(runs) == len(paths):
        raise SettingError("--format has no effect: it is the layout of answers, and all that is given are runs")
    controls = {name: [run.controls()[name].path for run in runs if name in run.controls()] for name in CONTROLS}
    places = {name: out / CONTROLS_FOLDER / name for name, found in controls.items() if found}
    given = judgement.read(paths)
    # Hints come last. An error is shown alone.
    hints: list[str] = []
    judgement = replace(judgement, judging=resolve_judging(judging, given.turns, tell=hints.append))
    done = None if overwrite else judgement.existing(given, out)
    if done is None or done.can_retry:
        done = judgement.run(given, out, overwrite=overwrite, before=done, progress=progress)
    else:
        write_command(out, judgement.command(given, out))
        to_do = any(is_run_needed(judgement.existing(judgement.read(controls[name]), places[name])) for name in places)
        tell(f"{out} is whole and stays; its controls go on" if to_do else describe_whole_run(done))
    for name, place in places.items():
        read = judgement.read(controls[name])
        before = judgement.existing(read, place)
        if is_run_needed(before):
            tell(f"control {name}: answers to {CONTROLS[name]} are judged")
            told = prefix_progress(progress, f"control {name}")
            judgement.run(read, place, overwrite=False, before=before, progress=told, is_control=True)
    for hint in hints:
        tell(hint)
    return add_controls(done)


@dataclass(frozen=True)
class _Judgement:
    """How the answers of a run and of its controls are judged."""

    judging: JudgeSettings
    judge_model: JudgeModelSettings
    limits: LimitSettings
    given_limits: LimitSettings
    """Limits as given. They name no file of replies if the run uses its own."""
    benchmark: Benchmark | None
    format: str | None
    limit: int | None
    beside: tuple[str, ...]
    delete_replies: bool
    budget: Budget
    """For the run and its controls together."""
    tell: Tell

    def read(self, paths: Sequence[Path]) -> AnswersToJudge:
        """Read the answers of some sources."""
        read = AnswersToJudge(paths, self.format, self.benchmark)
        for name in self.beside:
            read.add_beside(name)
        return read

    def request(self, read: AnswersToJudge) -> dict[str, Any]:
        """All settings that decide what judging asks."""
        return {
            "sources": read.hashes,
            "benchmark": read.benchmark.manifest.content_hash if read.benchmark else None,
            "judging": judging_request(self.judging),
            "judge": judge_request(self.judge_model),
            "limit": self.limit,
            **({"beside": ",".join(self.beside)} if self.beside else {}),
        }

    def existing(self, read: AnswersToJudge, place: Path) -> RunReport | None:
        """The existing complete run with the same settings. None if there is none."""
        return report_of(read_run(place)) if is_whole(place, self.request(read)) else None

    def command(self, read: AnswersToJudge, out: Path) -> dict[str, Any]:
        """The command, so that `reeltalk retry` can run it again."""
        found = named_path(read.benchmark.path, base=Path(), folder=out) if read.benchmark is not None else []
        return command_to_keep(
            JudgementCommand(
                folder=current_folder_from(out),
                judging=self.judging,
                judge_model=self.judge_model,
                limits=self.given_limits,
                limit=self.limit,
                sources=read.paths,
                benchmark=self.benchmark.path if self.benchmark is not None else None,
                format=self.format,
                beside=self.beside,
            ),
            out,
            found,
        )

    def run(
        self,
        read: AnswersToJudge,
        place: Path,
        *,
        overwrite: bool,
        before: RunReport | None,
        progress: Progress,
        is_control: bool = False,
    ) -> RunReport:
        """Judge and write one run. An existing run with the same settings is made again."""
        content, judging, limits, units = read.content, self.judging, self.limits, read.units(self.limit)
        asked = ((turn.video_id, turn) for turns in units.values() for turn in turns if turn.state.is_due)
        check_judging(judging, asked, content, tell=self.tell)
        request = self.request(read)
        if before is not None:
            announce_retry(before, limits.replies or place / REPLIES, tell=self.tell)
        with (
            RunFolder(
                place,
                request,
                command=None if is_control else self.command(read, place),
                overwrite=overwrite,
                delete_replies=self.delete_replies and not is_control,
                again=before is not None,
            ) as folder,
            ReplyStore(limits.replies or folder.replies) as store,
            open_judging(
                judging, self.judge_model, limits, store, self.budget, tell=self.tell, benchmark=read.benchmark
            ) as judging_setup,
        ):
            evaluation = EvaluationRunner(
                folder.work,
                judging_setup,
                background_of(content, judging) if content is not None else None,
                at_a_time=limits.connections,
                progress=progress,
                useless=UselessReplies(self.tell, stops=limits.preflight, same_stops=False),
            ).judge(units)
            # The tables need the memory.
            del asked, units
            return finish(
                folder,
                evaluation,
                judging_setup,
                subject=read.subject,
                signed=read.signed,
                sources=read.sources,
                content=content,
                settings=request | {"benchmark_path": str(read.benchmark.path) if read.benchmark else None},
                kind="judge",
                usage=Usage.of(self.budget, None, judging_setup.model),
                tell=self.tell,
            )

"""Shared parts of `evaluate` and `judge`: judges and their model, the stored command of a run, its tables and report.

If you repeat a command, it repeats the failed requests. It does nothing if no request failed.
"""

import contextlib
import dataclasses
import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, RootModel

from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.analysis.standings_text import next_command, run_standings, standing_lines
from reeltalk.analysis.values import format_quoted, format_range
from reeltalk.errors import BenchmarkError, MissingExtraError, MissingToolError, ModelError, ReeltalkError, SettingError
from reeltalk.evaluation.models import ModelConfig, create_judges, create_model
from reeltalk.evaluation.run_folder import RunFolder
from reeltalk.evaluation.settings import LimitSettings, Preset, RunConfig
from reeltalk.evaluation.stage import Evaluation, JudgingSetup, state_name
from reeltalk.evaluation.tables import item_rows, tables_of
from reeltalk.formats.svbench_documents import join_inputs
from reeltalk.judge.judge import NULL_MODEL, Background, JoinedChains, ReadsVideos
from reeltalk.judge.match import has_short_reference
from reeltalk.judge.protocol import find_protocol, measure_note
from reeltalk.judge.settings import AUTO, JUDGED_BY_DEFAULT, NO_JUDGE, JudgeModelSettings, JudgeSettings
from reeltalk.judge.svbench_official import streaming_slots
from reeltalk.llm import Budget, ReplyStore
from reeltalk.llm.budget import Spent
from reeltalk.llm.model import ReplyOrigin
from reeltalk.metrics.embedding import SentenceEmbedder
from reeltalk.metrics.meteor import MeteorError, MeteorProcess
from reeltalk.metrics.scoring import ENGLISH_ONLY
from reeltalk.metrics.tokenise import languages_of
from reeltalk.metrics.uncertainty import few_videos_warning
from reeltalk.progress import Progress, Tell
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.overview import HasOverview, Overview
from reeltalk.schema.runs import REPLIES, RunInfo, SummaryRow
from reeltalk.schema.server_address import without_user
from reeltalk.schema.settings import Settings
from reeltalk.stages.failures import Failures, asking_helps, failures_in, failures_of
from reeltalk.store.atomic import write_bytes
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.consent import NamedPath, mark_made, named_in_settings
from reeltalk.store.content import Content
from reeltalk.store.documents import parse, read_json, write_json
from reeltalk.store.runs import (
    COMMAND,
    CONTROLS_FOLDER,
    INFO,
    REQUEST,
    Run,
    describe_unfinished,
    holds_plays,
    is_unfinished,
)
from reeltalk.store.tables import PLAYED_TABLES

VideoTurn = tuple[str, Turn | AnsweredTurn]
"""The video that a turn is about, and the turn."""


@contextlib.contextmanager
def open_replies(folder: RunFolder, limits: LimitSettings) -> Iterator[tuple[ReplyStore, Budget]]:
    """Open the kept replies and the budget of a run."""
    with ReplyStore(limits.replies or folder.replies) as store:
        yield store, Budget(limits.max_calls, limits.max_tokens, limits.max_cost)


@contextlib.contextmanager
def open_judging(
    settings: JudgeSettings,
    options: JudgeModelSettings,
    limits: LimitSettings,
    store: ReplyStore,
    budget: Budget,
    *,
    tell: Tell,
    benchmark: Benchmark | None = None,
) -> Iterator[JudgingSetup]:
    """Judges, their model, and what text metrics need.

    Args:
        settings: Protocols and metrics.
        options: The model that judges.
        limits: How it is asked.
        store: Stores replies.
        budget: Budget of all requests together.
        tell: Receives the reason why a metric is not available.
        benchmark: Read before a model is opened, as what the judges show or count comes from it.

    Raises:
        InputError: A user's prompt cannot replace ours, or a row of the benchmark is damaged.
    """
    judges = create_judges(settings)
    model = None
    if options.judge is not None and any(judge.needs_model for judge in judges):
        if benchmark is not None:
            benchmark.check_rows(PLAYED_TABLES)
        asking = ModelConfig.for_judging(options, limits, judges, published=settings.published, tell=tell)
        model = create_model(options.judge, asking, store, budget)
    with contextlib.ExitStack() as stack:
        meteor: MeteorProcess | ReeltalkError | None = None
        if "meteor" in settings.metrics:
            try:
                meteor = stack.enter_context(MeteorProcess(jar=None))
            except MissingToolError as missing:
                meteor = missing  # `check_judging` has said so
            except MeteorError as broken:
                tell(f"meteor is not scored: {broken}")
                meteor = broken
        yield JudgingSetup(
            settings,
            judges,
            model,
            model,
            meteor,
            open_embedder(settings.metrics, tell),
        )


def open_embedder(metrics: Sequence[str], tell: Tell) -> SentenceEmbedder | ReeltalkError | None:
    """The model that `similarity` needs, or why it is not available; None if the metric is not wanted."""
    if "similarity" not in metrics:
        return None
    try:
        return SentenceEmbedder()
    except MissingExtraError as missing:
        tell(f"similarity is not scored: {missing}")
        return missing


def check_judging(
    settings: JudgeSettings,
    turns: Iterable[VideoTurn],
    content: Content | None,
    *,
    tell: Tell,
) -> None:
    """Refuse turns that cannot be judged, before a video is decoded or a model is asked.

    Args:
        settings: Protocols and metrics.
        turns: All turns to judge, each with its video.
        content: The benchmark, if it is known.
        tell: Receives a sentence about a metric that does not fit the language.

    Raises:
        SettingError: A protocol lacks something of the benchmark.
    """
    if settings.prompts is not None:
        from reeltalk.stages.prompt_folders import check_judge_prompts

        check_judge_prompts(settings)
    judges = create_judges(settings)
    needs = {judge.name: protocol.needs for judge in judges if (protocol := find_protocol(judge.name)) is not None}
    lacking = {name: need for name, need in needs.items() if need is not None}
    found, about, chinese, meteor = 0, set[str](), False, "meteor" in settings.metrics
    warn_without_meteor(settings, tell=tell)
    for video_id, turn in turns:
        found += 1
        about.add(video_id)
        lacking = {name: need for name, need in lacking.items() if not need.has(turn)} if lacking else {}
        chinese = chinese or (meteor and "zh" in languages_of([turn.references], settings.language))
    for judge in judges if found else ():
        if (need := lacking.get(judge.name)) is not None:
            raise SettingError(
                f"{judge.name} needs {need.what}, and none of the {found:,} turns has one; {need.remedy}"
            )
        if isinstance(judge, ReadsVideos):
            judge.check_videos([video for video in content.videos if video.id in about] if content is not None else [])
    if chinese:
        tell(f"meteor is not scored: {ENGLISH_ONLY}")


def warn_without_meteor(settings: JudgeSettings, *, tell: Tell) -> None:
    """Say before anything is played that METEOR is wanted and cannot run here."""
    if "meteor" in settings.metrics:
        try:
            MeteorProcess(jar=None)
        except MissingToolError as missing:
            tell(f"meteor will not be scored: {missing}")


def resolve_judging(
    settings: JudgeSettings | None, turns: Iterable[Turn | AnsweredTurn], *, tell: Tell
) -> JudgeSettings:
    """Resolve how turns are judged: by the given settings, or else by their keys or options and by text metrics.

    Args:
        settings: The given settings.
        turns: The turns to judge.
        tell: Receives a sentence on how to name a judge, if no rule can judge the turns.
    """
    given = settings or JUDGED_BY_DEFAULT
    found = resolve_protocols(given, turns)
    if given.protocols and not found.protocols:
        tell(NO_JUDGE)
    return found


def resolve_protocols(settings: JudgeSettings, turns: Iterable[Turn | AnsweredTurn]) -> JudgeSettings:
    """Settings with protocols in place of `auto`.

    Args:
        settings: Settings of the user.
        turns: The turns to judge.

    Returns:
        `auto` becomes `typed` if a turn has a key, `choice` if a turn has options and no key, and `match` if a turn has
        neither and a short reference. Settings without `auto` are returned as they are.
    """
    if AUTO not in settings.protocols:
        return settings
    keyed = chosen = short = False
    for turn in turns:
        keyed = keyed or turn.key is not None
        chosen = chosen or (turn.key is None and bool(turn.options) and turn.correct_option is not None)
        short = short or has_short_reference(turn)
    found = (*(("typed",) if keyed else ()), *(("choice",) if chosen else ()), *(("match",) if short else ()))
    named = [name for given in settings.protocols for name in (found if given == AUTO else (given,))]
    return settings.model_copy(update={"protocols": tuple(dict.fromkeys(named))})


def background_of(content: Content, judging: JudgeSettings) -> Background:
    """Data of a benchmark that judges may read besides the turns."""
    if not (judging.compat and "svbench" in judging.protocols and content.chains):
        return Background(content)
    # SVBench's script reads whole documents, so the benchmark is read into memory.
    joined = (
        JoinedChains(
            f"{read.video_id}/{read.language}/joined",
            read.video_id,
            tuple(read.chain_ids),
            tuple(map(tuple, streaming_slots(read.chains, read.links))),
        )
        for read in join_inputs(content)
    )
    return Background(content, tuple(joined))


def prefix_progress(progress: Progress, name: str) -> Progress:
    """Progress whose messages begin with a name."""
    return lambda what, done, total, share: progress(f"{name}, {what}", done, total, share)


@dataclass(frozen=True)
class Usage:
    """Requests, tokens and memory that a run needed."""

    spent: Spent
    reused: int = 0
    """Questions answered from replies that were kept."""
    peak_memory: Mapping[str, int] | None = None
    """Peak memory in bytes, if the model that answers runs on this machine."""
    judged_by: Mapping[ReplyOrigin, int] = field(default_factory=dict)
    """Number of replies of the judge by who gave them."""
    at_a_time: tuple[str, ...] = ()
    """How many requests at a time each server was sent, in words."""

    @classmethod
    def of(cls, budget: Budget, player: Any, judge: Any) -> "Usage":
        """The usage of a run's models.

        Args:
            budget: The budget of all requests.
            player: The `ServedModel` that answered, if there was one.
            judge: The `ServedModel` that judged, if there was one.
        """
        reused = sum(model.reused for model in (player, judge) if model is not None)
        peak_memory = player.peak_memory() if player is not None and player.peak_memory is not None else None
        at_a_time = tuple(said for model in (player, judge) if model is not None and (said := model.at_a_time))
        return cls(budget.spent, reused, peak_memory, judge.origins if judge is not None else {}, at_a_time)


@dataclass(frozen=True, repr=False)
class RunReport(HasOverview):
    """A run that was written, and the text that the command line prints about it with `--verbose`."""

    run: Run
    """The run."""
    complete: bool
    """True if every turn has an answer and a score. Otherwise the command line exits with 1."""
    text: tuple[str, ...]
    """Every number and count of the run, as lines."""
    warnings: tuple[str, ...] = ()
    """What to look at, in sentences."""
    failures: tuple[str, ...] = ()
    """Why turns have no answer or no score, the most frequent reasons first, with their counts."""
    can_retry: bool = False
    """True if a repeated request may succeed."""
    at_a_time: tuple[str, ...] = ()
    """How many requests at a time each server was sent, in words."""

    def value(self, metric: str, model: str | None = None) -> float | None:
        """A number of the run's summary; None if it could not be scored.

        Args:
            metric: Name, as `match`.
            model: Name of the model; the first model of the run by default.

        Raises:
            KeyError: The run has no such number.
        """
        wanted = model or self.run.info.models[0].model
        values = {(row.model, row.metric): row.value for row in self.run.summary}
        return values[wanted, metric]

    def lines(self) -> Iterable[str]:
        """Every number, count and failure, and the next command."""
        yield from self.text
        yield f"run: {self.run.path / INFO}"
        yield from self.failures
        if self.can_retry:
            yield f"ask again what failed: reeltalk retry {shlex.quote(str(self.run.path))}"

    def end_lines(self) -> list[str]:
        """The verdict, a table of a few lines, the worst types of questions, the run's folder and the next command."""
        # A run that nothing judged has no standings.
        found = run_standings(self.run) if self.run.summary else None
        standings = ["", *standing_lines(found, self.run), ""] if found is not None else []
        following = next_command(self.run, found, can_retry=self.can_retry)
        return [*standings, *self.at_a_time, f"run: {self.run.path}", *self.failures, following]

    def __str__(self) -> str:
        return "\n".join(self.end_lines()).strip()

    def overview(self) -> Overview:
        """The leaderboard of the run, and why turns have no answer or no score."""
        title = f"run {self.run.path}"
        if not self.run.summary:
            return Overview(title, notes=self.failures)
        board = build_leaderboard([self.run]).overview()
        verdict = run_standings(self.run).verdict
        return dataclasses.replace(board, title=title, notes=(verdict, *self.failures, *board.notes))


def finish(
    folder: RunFolder,
    evaluation: Evaluation,
    judging: JudgingSetup,
    *,
    subject: str,
    signed: Mapping[str, tuple[tuple[str, str], ...]],
    sources: Mapping[str, tuple[str, str]],
    content: Content | None,
    settings: dict[str, Any],
    kind: str,
    usage: Usage,
    tell: Tell,
) -> RunReport:
    """Write a run's tables.

    Args:
        folder: The run while it is made.
        evaluation: Turns and scores.
        judging: How the answers were judged.
        subject: First word of the signatures.
        signed: For each model, how its answers were produced.
        sources: For each model, the source of its answers and a hash of it.
        content: The benchmark, if it is known.
        settings: All settings, for `run.json`.
        kind: The verb that writes the run.
        usage: Requests, tokens and memory that the run needed.
        tell: Receives a line about each step.

    Raises:
        BenchmarkError: The disk is full or cannot be written. Replies are kept, and the same call continues.
        ModelError: No turn was answered, or the judge gave no judgement. Then no run is written.
    """
    if usage.peak_memory:
        settings = settings | {"peak_memory_bytes": dict(usage.peak_memory)}
    answered_by = origins_of(evaluation.turns.raw())
    if replies := [*_replies("model", answered_by), *_replies("judge", usage.judged_by)]:
        settings = settings | {REPLIES: replies}
    # From here on all replies are on the disk, even if a later step fails.
    folder.keep(evaluation.turns, evaluation.scores)
    failures = failures_of(evaluation.turns, evaluation.scores)
    _check_anything_came(folder.path, failures, kind)
    info, scored, tables = tables_of(
        evaluation,
        judging,
        subject=subject,
        signed=signed,
        sources=sources,
        background=background_of(content, judging.settings) if content is not None else None,
        settings=settings | {"signed": {model: [list(part) for part in parts] for model, parts in signed.items()}},
        kind=kind,
        progress=tell,
    )
    summary, curves = [*tables.summary, *scored.summary], [*tables.curves, *scored.curves]
    folder.finish(
        info,
        items=item_rows(evaluation, scored, tables),
        summary=summary,
        curves=curves,
        groups=tables.groups,
        protocols=evaluation.scores,
        floor=tables.floor,
    )
    spent = usage.spent
    asked = f"asked: {spent}, {usage.reused:,} replies were kept from before"
    done = _report(Run(folder.path, info, summary, curves), evaluation.counts, failures.with_empty_answers(summary))
    if spent.calls or spent.unreached or usage.reused:
        done = dataclasses.replace(done, text=(*done.text, asked))
    return dataclasses.replace(done, at_a_time=usage.at_a_time)


def origins_of(turns: Iterable[Mapping[str, Any]]) -> Counter[ReplyOrigin]:
    """Number of replies by who gave them.

    Args:
        turns: Rows of answers.
    """
    found = Counter[ReplyOrigin]()
    for turn in turns:
        played = turn.get("played") or {}
        if (model := played.get("served_model")) is not None:
            found[ReplyOrigin(model, played.get("served_host"), played.get("served_dialect"))] += 1
    return found


def _replies(role: str, origins: Mapping[ReplyOrigin, int]) -> Iterable[dict[str, Any]]:
    for origin, count in sorted(origins.items(), key=lambda one: (-one[1], str(one[0]))):
        yield {"role": role, **origin._asdict(), "replies": count}


def report_of(run: Run) -> RunReport:
    """The report of an existing run.

    Raises:
        InputError: Its answers are damaged.
    """
    counts = Counter(state_name(turn) for turn in run.answers() if turn.model != NULL_MODEL)
    return _report(run, counts, failures_in(run))


def add_controls(done: RunReport) -> RunReport:
    """The report of a run, with the results of its controls if it has any.

    Raises:
        BenchmarkError: A control's table of scores lacks a row.
        InputError: A control's files are damaged.
    """
    controls = {name: report_of(run) for name, run in done.run.controls().items()}
    if not controls:
        return done
    from reeltalk.pages.looking import format_controls

    return dataclasses.replace(
        done,
        complete=done.complete and all(control.complete for control in controls.values()),
        text=(*done.text, *format_controls(done.run)),
        failures=(
            *done.failures,
            *(f"control {name}: {line}" for name, control in controls.items() for line in control.failures),
        ),
        can_retry=done.can_retry or any(control.can_retry for control in controls.values()),
    )


def _check_anything_came(path: Path, failures: Failures, kind: str) -> None:
    """Refuse a run in which no turn was answered, or in which the judge gave no judgement."""
    if kind == "evaluate" and failures.due and not failures.answered:
        what = "no turn has an answer"
    elif kind == "judge" and failures.judged_nothing:
        what = "the judge gave no score"
    else:
        return
    raise ModelError(
        f"{what}, so {path} is no run: {'; '.join(failures.lines())}. All replies so far are kept; correct the "
        "cause, and the same command continues"
    )


def _report(run: Run, counts: Mapping[str, int], failures: Failures) -> RunReport:
    told = ", ".join(f"{count:,} {state.replace('_', ' ')}" for state, count in sorted(counts.items()))
    # A metric that cannot be computed at all, as CIDEr of one reference, leaves nothing to repeat.
    impossible = {(row.model, row.metric) for row in run.info.unscored}
    unscored = any(row.unscored and (row.model, row.metric) not in impossible for row in run.summary)
    complete = not unscored and not counts.get("failed")
    of = "answers" if run.info.epochs else "turns"
    text = (
        f"{of}: {sum(counts.values()):,} ({told})",
        *_summary_lines(run.summary),
        *_reason_lines(run.summary),
        *missing_metric_lines(run.info),
        *run.info.remarks,
    )
    return RunReport(
        run,
        complete,
        text,
        warnings=tuple(run.info.warnings),
        failures=tuple(failures.lines()),
        can_retry=asking_helps(failures, kind=run.info.kind, model=run.info.settings.get("model")),
    )


def _reason_lines(rows: Sequence[SummaryRow]) -> Iterable[str]:
    """Why items are unscored: a line for each reason, with its count and the numbers that it concerns."""
    told: dict[tuple[str, str, int], list[str]] = {}
    for row in rows:
        for reason, count in row.reasons.items():
            told.setdefault((row.model, reason, count), []).append(row.metric)
    for (model, reason, count), metrics in told.items():
        named = ", ".join(metrics[:3]) + (f" and {len(metrics) - 3} more" if len(metrics) > 3 else "")
        yield f"{model}: {count:,} unscored in {named}: {reason}"


def missing_metric_lines(info: RunInfo) -> Iterable[str]:
    """A line for each reason for which a text metric could not be computed.

    Args:
        info: The run's information.
    """
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in info.unscored:
        reasons.setdefault((row.model, row.reason), []).append(row.metric)
    for (model, reason), metrics in reasons.items():
        yield f"{model}: {', '.join(metrics)} not scored: {reason}"


def _summary_lines(rows: list[SummaryRow]) -> Iterable[str]:
    width = max((len(row.metric) for row in rows), default=0)
    wide = max((len(row.model) for row in rows), default=0)
    for row in rows:
        value = "not scored" if row.value is None else format_quoted(row.value, row.metric).split(" on a scale")[0]
        interval = format_range(row.low, row.high, row.metric)
        notes = [
            f"{row.unscored:,} unscored" if row.unscored else "",
            f"{row.not_applicable:,} not applicable" if row.not_applicable else "",
            f"withheld, {format_quoted(row.over_scored, row.metric)} over what was scored"
            if row.over_scored is not None
            else "",
        ]
        ending = "; ".join(note for note in notes if note)
        yield f"{row.model:<{wide}}  {row.metric:<{width}} {value:>12} {interval:<20} n={row.n:,} {ending}".rstrip()
    if warning := few_videos_warning(row.videos for row in rows if row.value is not None):
        yield warning
    yield from dict.fromkeys(filter(None, (measure_note(row.metric) for row in rows)))


ADDRESSES: Final = ("base_url", "judge_base_url")


class EvaluationCommand(RunConfig):
    """The command of `reeltalk evaluate`: its settings, and where it was given."""

    verb: Literal["evaluate"] = "evaluate"
    preset: str | None = None  # type: ignore[assignment]
    """Name of the published design."""
    folder: str
    """Where the command was given, seen from the run's folder: all other paths are seen from there."""
    benchmark: Path
    train: Path | None = None
    without_passwords: tuple[str, ...] = ()
    """Addresses that were given with a user or a password, which is not kept."""

    @classmethod
    def of(cls, config: RunConfig, benchmark: Benchmark, train: Benchmark | None, out: Path) -> Self:
        """The command that makes a run, given in the current folder.

        Args:
            config: Settings of the run.
            benchmark: The benchmark that is played.
            train: A benchmark that baselines learn from.
            out: The run's folder.
        """
        settings = {name: getattr(config, name) for name in RunConfig.model_fields}
        return cls(
            **settings | {"preset": config.preset.name if config.preset else None},
            folder=current_folder_from(out),
            benchmark=benchmark.path,
            train=train.path if train else None,
        )

    def config(self, preset: Preset | None, **changed: Any) -> RunConfig:
        """The settings of the run, some of them changed.

        Args:
            preset: The published design that `preset` names.
            **changed: Fields of `RunConfig` with new values.
        """
        settings = {name: getattr(self, name) for name in RunConfig.model_fields}
        return RunConfig(**settings | {"preset": preset} | changed)


class JudgementCommand(Settings):
    """The command of `reeltalk judge`."""

    verb: Literal["judge"] = "judge"
    folder: str
    """Where the command was given, seen from the run's folder: all other paths are seen from there."""
    judging: JudgeSettings
    judge_model: JudgeModelSettings
    limits: LimitSettings
    limit: int | None = None
    without_passwords: tuple[str, ...] = ()
    """Addresses that were given with a user or a password, which is not kept."""
    sources: tuple[Path, ...]
    benchmark: Path | None = None
    format: str | None = None
    beside: tuple[str, ...] = ()


class _Any(RootModel[Annotated[EvaluationCommand | JudgementCommand, Field(discriminator="verb")]]):
    pass


def current_folder_from(out: Path) -> str:
    """The current folder, relative to the run's folder.

    Args:
        out: The run's folder.
    """
    return os.path.relpath(Path.cwd(), out.resolve())


def command_to_keep(
    command: EvaluationCommand | JudgementCommand, run: Path, named: Iterable[NamedPath] = ()
) -> dict[str, Any]:
    """Convert a command to JSON, without users and passwords of addresses, and mark its run with what it named."""
    mark_made(run, [*named_in_settings(command.model_dump(), base=Path.cwd(), folder=run), *named])
    found = command.model_dump(mode="json")
    hidden = []
    for part in ("asking", "judge_model"):
        for name in ADDRESSES:
            address = (found.get(part) or {}).get(name)
            if address and (plain := without_user(address)) != address:
                found[part][name] = plain
                hidden.append(name)
    found["without_passwords"] = hidden
    return found


def write_command(path: Path, command: Mapping[str, Any]) -> None:
    """Store a command in a run's folder.

    Args:
        path: The run's folder.
        command: As `command_to_keep` gave it.

    Raises:
        BenchmarkError: It cannot be written.
    """
    write_bytes(path / COMMAND, write_json(dict(command)).encode())


def read_command(path: Path) -> EvaluationCommand | JudgementCommand:
    """The command that is stored in a run's folder.

    Args:
        path: The run's folder.

    Raises:
        BenchmarkError: It is not a run, it is a control, or it has no command.
        InputError: The command is damaged.
    """
    if path.resolve().parent.name == CONTROLS_FOLDER:
        raise BenchmarkError(f"{path} is a control; retry its run, which asks again what failed in its controls, too")
    if not (path / COMMAND).is_file():
        if not (path / INFO).is_file() and not (path / REQUEST).is_file():
            raise BenchmarkError(f"{path} is not a run: it has neither {INFO} nor {REQUEST}")
        if holds_plays(path):
            raise BenchmarkError(f"{path} was made by 'reeltalk proactive': the same command plays again what failed")
        if is_unfinished(path):
            raise BenchmarkError(f"{path} {describe_unfinished(path)}")
        raise BenchmarkError(
            f"{path} does not keep the command that made it (it has no {COMMAND}); give that command again: it asks "
            "only what failed"
        )
    return parse(_Any, read_json(path / COMMAND), file=path / COMMAND).root


def is_run_needed(before: RunReport | None) -> bool:
    """True if there is no such run yet, or if a repeated request may succeed.

    Args:
        before: The existing run with the same settings.
    """
    return before is None or before.can_retry


def describe_whole_run(done: RunReport) -> str:
    """A sentence that explains why no request is sent.

    Args:
        done: A whole run of the settings that were given.
    """
    if done.complete:
        why = "nothing in it failed, so nothing is asked; --overwrite makes it again"
    else:
        why = (
            "asking again would not change what failed in it, so nothing is asked; --overwrite makes it again from the "
            "kept replies, and --overwrite --delete-replies without them"
        )
    return f"{done.run.path} is whole: {why}"


def announce_retry(before: RunReport, replies: Path, *, tell: Tell) -> None:
    """Report which requests are repeated. Refuse if all of them would be repeated.

    Args:
        before: The whole run in which something failed.
        replies: File in which its replies are kept.
        tell: Receives the message.

    Raises:
        BenchmarkError: The replies no longer exist.
    """
    path = before.run.path
    if not replies.is_file():
        raise BenchmarkError(
            f"something failed in {path}, but {replies}, which keeps the replies to all the rest, is not there: "
            "everything would be asked again; put it back, or pass --overwrite to the command that made the run"
        )
    tell(f"{path} is whole, but something in it failed: this is asked again, and the run stays until that is done")


def check_deletion(delete_replies: bool, overwrite: bool, limits: LimitSettings | None) -> None:
    """Refuse to delete replies if that is probably not intended.

    Raises:
        SettingError: Nothing is overwritten, or the replies are in a file that other runs may share.
    """
    if delete_replies and not overwrite:
        raise SettingError(
            "--delete-replies needs --overwrite: it deletes the replies of the run, so that all requests are sent again"
        )
    if delete_replies and limits is not None and limits.replies is not None:
        raise SettingError(
            f"--delete-replies deletes the run's own replies, and these are in {limits.replies}, which other runs may "
            "share; delete that file yourself, or leave --replies out"
        )

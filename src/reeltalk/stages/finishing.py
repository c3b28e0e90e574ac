"""What became of a run: its tables are written, and what they say is told as lines."""

import dataclasses
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reeltalk.errors import ModelError
from reeltalk.evaluate.evaluation import Evaluation, counted_as
from reeltalk.evaluate.run_folder import RunFolder
from reeltalk.evaluate.stage import Judging
from reeltalk.evaluate.tables import item_rows, tables_of
from reeltalk.judge import reference_checks
from reeltalk.judge.protocol import measure_caution
from reeltalk.llm import Budget
from reeltalk.llm.budget import Spent
from reeltalk.metrics.uncertainty import few_videos_warning
from reeltalk.pages.looking import looking_lines
from reeltalk.progress import Tell
from reeltalk.schema.runs import RunInfo, SummaryRow
from reeltalk.stages.asking import background_of
from reeltalk.store.content import Content
from reeltalk.store.failures import Failures, asking_helps, failures_in, failures_of
from reeltalk.store.runs import INFO, Run


@dataclass(frozen=True)
class Took:
    """What asking models took."""

    spent: Spent
    kept: int = 0
    """Questions answered from replies that were kept."""
    peak_memory: Mapping[str, int] | None = None
    """Bytes in use at most, where the model that answers runs here."""

    @classmethod
    def of(cls, budget: Budget, player: Any, judge: Any) -> "Took":
        """What some models took.

        Args:
            budget: That all requests counted against.
            player: `ServedModel` that answered; None where it was none.
            judge: `ServedModel` that judged; None where there was none.
        """
        kept = sum(model.kept for model in (player, judge) if model is not None)
        peak_memory = player.peak_memory() if player is not None and player.peak_memory is not None else None
        return cls(budget.spent, kept, peak_memory)


@dataclass(frozen=True)
class RunReport:
    """A run that was written, and what there is to say about it."""

    run: Run
    complete: bool
    """Every turn has an answer and a score; the command line exits with 1 where not."""
    text: tuple[str, ...]
    """What the command line prints, line by line, but for warnings and the run's place."""
    warnings: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    """Why turns have no answer or no score, the most frequent reasons first, with their counts."""
    can_retry: bool = False
    """What failed may come out otherwise when it is asked again."""

    def value(self, metric: str, model: str | None = None) -> float | None:
        """A number of the run's summary; None where it could not be scored.

        Args:
            metric: Name, as `agree`.
            model: Of this model; the run's first one by default.

        Raises:
            KeyError: The run has no such number.
        """
        wanted = model or self.run.info.models[0].model
        values = {(row.model, row.metric): row.value for row in self.run.summary}
        return values[wanted, metric]

    def lines(self) -> Iterable[str]:
        """What the command line prints, line by line."""
        yield from self.text
        yield f"run: {self.run.path / INFO}"
        yield from self.failures
        if self.can_retry:
            yield f"ask again what failed: reeltalk retry {shlex.quote(str(self.run.path))}"


def finish(
    folder: RunFolder,
    evaluation: Evaluation,
    judging: Judging,
    *,
    subject: str,
    signed: Mapping[str, tuple[tuple[str, str], ...]],
    sources: Mapping[str, tuple[str, str]],
    content: Content | None,
    settings: dict[str, Any],
    kind: str,
    took: Took,
    tell: Tell,
) -> RunReport:
    """Write a run's tables.

    Args:
        folder: The run while it is made.
        evaluation: Turns and scores.
        judging: By what was judged.
        subject: First word of the signatures.
        signed: For each model, how its answers came about.
        sources: For each model, where its answers are from, and a hash of that.
        content: What was played or judged, where it is known.
        settings: All settings, for `run.json`.
        kind: The verb that writes the run.
        took: What asking models took.
        tell: Told what is being computed.

    Raises:
        BenchmarkError: The disk is full or cannot be written; replies are kept, and the same call goes on.
        ModelError: Nothing was answered, or a judge's run has no judgement: there is no run then.
    """
    if took.peak_memory:
        settings = settings | {"peak_memory_bytes": dict(took.peak_memory)}
    # Whatever goes wrong from here on, what was asked for is on the disk.
    folder.keep(evaluation.turns, evaluation.scores)
    _check_anything_came(folder.path, failures_of(evaluation.turns, evaluation.scores), kind)
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
        answers=evaluation.turns,
        items=item_rows(evaluation, scored, tables),
        summary=summary,
        curves=curves,
        groups=tables.groups,
        judged=evaluation.scores,
    )
    spent = took.spent
    asked = f"asked: {spent}, {took.kept:,} replies were kept from before"
    failures = failures_of(evaluation.turns, evaluation.scores, summary)
    done = _report(Run(folder.path, info, summary, curves), evaluation.counts, failures)
    return dataclasses.replace(done, text=(*done.text, asked)) if spent.calls or spent.unreached or took.kept else done


def report_of(run: Run) -> RunReport:
    """What there is to say about a run that was written before.

    Raises:
        InputError: Its answers are damaged.
    """
    counts = Counter(counted_as(turn) for turn in run.answers() if turn.model != reference_checks.NULL_MODEL)
    return _report(run, counts, failures_in(run))


def with_controls(done: RunReport) -> RunReport:
    """A run that was written, and what its controls say of it, where it has some.

    Raises:
        BenchmarkError: A control's table of scores lacks a row.
        InputError: A control's files are damaged.
    """
    controls = {name: report_of(run) for name, run in done.run.controls().items()}
    return dataclasses.replace(
        done,
        complete=done.complete and all(control.complete for control in controls.values()),
        text=(*done.text, *looking_lines(done.run)),
        failures=(
            *done.failures,
            *(f"control {name}: {line}" for name, control in controls.items() for line in control.failures),
        ),
        can_retry=done.can_retry or any(control.can_retry for control in controls.values()),
    )


def _check_anything_came(path: Path, failures: Failures, kind: str) -> None:
    """A run in which nothing was answered, or no judgement was given by those who were to judge, is no run."""
    if kind == "evaluate" and failures.due and not failures.answered:
        what = "no turn has an answer"
    elif kind == "judge" and failures.judged_nothing:
        what = "the judge gave no score"
    else:
        return
    raise ModelError(
        f"{what}, so {path} is no run: {'; '.join(failures.lines())}. What was answered is kept; mend that, and "
        "the same command goes on"
    )


def _report(run: Run, counts: Mapping[str, int], failures: Failures) -> RunReport:
    told = ", ".join(f"{count:,} {state.replace('_', ' ')}" for state, count in sorted(counts.items()))
    complete = not any(row.unscored for row in run.summary) and not counts.get("failed")
    text = (
        f"turns: {sum(counts.values()):,} ({told})",
        *_summary_lines(run.summary),
        *_reason_lines(run.summary),
        *metrics_not_scored(run.info),
    )
    return RunReport(
        run,
        complete,
        text,
        failures=tuple(failures.lines()),
        can_retry=asking_helps(failures, kind=run.info.kind, model=run.info.settings.get("model")),
    )


def _reason_lines(rows: Sequence[SummaryRow]) -> Iterable[str]:
    """Why items are unscored: a line for each reason, its count, and the numbers that lack them."""
    told: dict[tuple[str, str, int], list[str]] = {}
    for row in rows:
        for reason, count in row.reasons.items():
            told.setdefault((row.model, reason, count), []).append(row.metric)
    for (model, reason, count), metrics in told.items():
        named = ", ".join(metrics[:3]) + (f" and {len(metrics) - 3} more" if len(metrics) > 3 else "")
        yield f"{model}: {count:,} unscored in {named}: {reason}"


def metrics_not_scored(info: RunInfo) -> Iterable[str]:
    """A line for each reason for which a text metric could not be computed.

    Args:
        info: Of the run.
    """
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in info.unscored:
        reasons.setdefault((row.model, row.reason), []).append(row.metric)
    for (model, reason), metrics in reasons.items():
        yield f"{model}: {', '.join(metrics)} not scored: {reason}"


def _summary_lines(rows: list[SummaryRow]) -> Iterable[str]:
    width = max((len(row.metric) for row in rows), default=0)
    wide = max((len(row.model) for row in rows), default=0)
    for row in sorted(rows, key=lambda row: bool(measure_caution(row.metric))):
        value = "not scored" if row.value is None else f"{row.value:.4f}"
        interval = f"[{row.low:.4f}, {row.high:.4f}]" if row.low is not None and row.high is not None else ""
        notes = [
            f"{row.unscored:,} unscored" if row.unscored else "",
            f"{row.not_applicable:,} not applicable" if row.not_applicable else "",
            f"withheld, {row.over_scored:.4f} over what was scored" if row.over_scored is not None else "",
        ]
        ending = "; ".join(note for note in notes if note)
        yield f"{row.model:<{wide}}  {row.metric:<{width}} {value:>12} {interval:<20} n={row.n:,} {ending}".rstrip()
    if warning := few_videos_warning(row.videos for row in rows if row.value is not None):
        yield warning
    for caution in dict.fromkeys(filter(None, (measure_caution(row.metric) for row in rows))):
        yield f"caution: {caution}"

"""Play scripts and judge their answers, several at a time; results are collected per script, then put in order."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from reeltalk.errors import InputError, ReeltalkError
from reeltalk.evaluate.eval_log import LoggedSample, LoggedScore
from reeltalk.evaluate.logged import Notes, PlaySample, run_samples
from reeltalk.evaluate.playing.frames import FrameServer
from reeltalk.evaluate.playing.play import (
    FrameSource,
    NoFrameSource,
    Player,
    Response,
    Subtitles,
    WrongAnswers,
    answered_turn,
    check_histories,
    play_script,
)
from reeltalk.evaluate.playing.script import Script
from reeltalk.evaluate.settings import PlaySettings
from reeltalk.inference.embedding import SentenceEmbedder
from reeltalk.judge.judge import (
    NULL_MODEL,
    Background,
    Judge,
    JudgeUnit,
    UnitKey,
    group_units,
    judged_units,
    sample_units,
    with_empty_answers,
)
from reeltalk.judge.settings import JudgeSettings
from reeltalk.llm.model import AsyncModel
from reeltalk.llm.served import ServedModel
from reeltalk.metrics.meteor import MeteorProcess
from reeltalk.progress import Progress
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.scoring import JudgedScore


@dataclass
class NullUnits:
    """Units with empty answers, and the scores that a protocol gave them."""

    units: list[JudgeUnit] = field(default_factory=list)
    scores: list[JudgedScore] = field(default_factory=list)


@dataclass
class Evaluation:
    """Results of a run in memory, in the order of the scripts."""

    turns: list[AnsweredTurn] = field(default_factory=list)
    """In the order of the scripts."""
    scores: dict[str, list[JudgedScore]] = field(default_factory=dict)
    """Rows by protocol."""
    counts: Counter[str] = field(default_factory=Counter)
    """Number of turns by outcome."""
    null: dict[str, NullUnits] = field(default_factory=dict)
    """Empty answers by protocol."""


@dataclass
class Collected:
    """Results of a run in memory, collected per script."""

    turns: dict[str, list[AnsweredTurn]] = field(default_factory=dict)
    """Turns by script."""
    rows: dict[str, dict[str, list[JudgedScore]]] = field(default_factory=dict)
    """Scores by script, then by protocol."""
    null: dict[str, list[NullUnits]] = field(default_factory=dict)
    """Units with empty answers by protocol; each entry holds one unit."""

    @classmethod
    def joined(cls, parts: Iterable["Collected"]) -> "Collected":
        """Join the results of several processes, which have no script and no unit in common."""
        whole = cls()
        for part in parts:
            whole.turns |= part.turns
            whole.rows |= part.rows
            for judge, found in part.null.items():
                whole.null.setdefault(judge, []).extend(found)
        return whole

    def evaluation(self, names: Sequence[str], protocols: Sequence[str]) -> Evaluation:
        """All results in order, independent of the order in which scripts ended.

        Args:
            names: Names of the scripts, in their order.
            protocols: Names of the judging protocols, in their order.
        """
        evaluation = Evaluation(scores={protocol: [] for protocol in protocols})
        for name in names:
            evaluation.turns += self.turns[name]
            for protocol, rows in self.rows.get(name, {}).items():
                evaluation.scores[protocol] += rows
        for protocol in protocols:
            if (found := self.null.get(protocol)) is None:
                continue
            # Sorted by name, because units are judged in the order in which they end.
            kept = evaluation.null[protocol] = NullUnits()
            for null in sorted(found, key=lambda null: _place(null.units[0])):
                kept.units += null.units
                kept.scores += null.scores
        evaluation.counts.update(map(state_name, evaluation.turns))
        return evaluation


def state_name(turn: AnsweredTurn) -> str:
    """The state that a turn is counted under: one that failed in the history alone is counted with the failed ones.

    Args:
        turn: Any turn.
    """
    return AnswerState.FAILED.value if turn.has_failed else turn.state.value


def _place(unit: JudgeUnit) -> UnitKey:
    return unit.kind, unit.id


@dataclass(frozen=True)
class JudgingSetup:
    """Everything that judges answers: protocols, the judge's model, and what text metrics need."""

    settings: JudgeSettings
    judges: tuple[Judge, ...] = ()
    model: AsyncModel | None = None
    """Judges, if a protocol needs a language model."""
    logged: ServedModel | None = None
    """The same model, if the log shall show its requests."""
    meteor: MeteorProcess | ReeltalkError | None = None
    """A running METEOR, or why there is none."""
    embedder: SentenceEmbedder | ReeltalkError | None = None

    def name(self, judge: Judge) -> str:
        """The name of the model that judges by a protocol; `none` for a protocol without a model."""
        return self.model.name if judge.needs_model and self.model is not None else "none"

    def signature(self, judge: Judge) -> tuple[tuple[str, str], ...]:
        """The judge of a protocol with its settings, and the sampling that its server accepted."""
        asked = getattr(self.model, "asked_sampling", None)
        sent: tuple[tuple[str, str], ...] = ()
        if judge.needs_model and self.model is not None and asked is not None and asked != self.model.sampling:
            told = ",".join(f"{key}={value}" for key, value in sorted(self.model.sampling.items()))
            sent = (("judge-sampling", told or "none"),)
        return (("judge", self.name(judge)), *judge.signature, *sent)


class EvaluationRunner:
    """Plays and judges scripts, several at a time.

    Args:
        logs: Folder in which the log appears, which `inspect view` opens.
        judging: How answers are judged.
        background: Data of the benchmark besides the turns.
        at_a_time: Scripts that run together.
        progress: Called after each turn.
        null_sample: Units whose empty answers a model judges; by default sampled from those that are played here.
    """

    def __init__(
        self,
        logs: Path,
        judging: JudgingSetup,
        background: Background | None,
        *,
        at_a_time: int,
        progress: Progress | None = None,
        null_sample: frozenset[UnitKey] | None = None,
    ) -> None:
        self.collected: Final = Collected()
        """The results so far."""
        self._logs, self._judging, self._background = logs, judging, background
        self._at_a_time, self._progress = at_a_time, progress or _silent
        self._due, self._done, self._recalled = 0, 0, False
        self._null_begun: set[tuple[str, UnitKey]] = set()
        # Models are judged side by side, and a unit with empty answers may hold what its model said in other turns.
        self._null_from: dict[UnitKey, str] = {}
        self._null_sample = null_sample

    def run(
        self,
        scripts: Sequence[Script],
        player: Player,
        settings: PlaySettings,
        frames: FrameServer | None,
        *,
        logged: ServedModel | None = None,
        wrong: WrongAnswers | None = None,
        subtitles: Subtitles | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Evaluation:
        """Play scripts and judge their answers.

        Args:
            scripts: The scripts that are played.
            player: Answers their turns.
            settings: How they are played.
            frames: Gives frames; None if none are shown.
            logged: The model of the player, if it has one.
            wrong: Gives the wrong answer of a corrupted history.
            subtitles: Gives the lines that were spoken.
            metadata: Metadata of the run for the log.

        Raises:
            BudgetError: A limit would be exceeded. Replies are kept, and the same command continues from there.
            BenchmarkError: A golden history needs a reference that is withheld, or there is no wrong answer to plant.
            KeyboardInterrupt: Ctrl-C; replies are kept as after a `BudgetError`.
        """
        check_histories(scripts, settings, wrong)
        by_id = {script.id: script for script in scripts}
        self._due = sum(len(script.steps) for script in scripts)
        if self._null_sample is None:
            self._null_sample = sample_null_units(scripts, self._judging.settings)

        async def play_one(name: str, notes: Notes) -> None:
            script = by_id[name]
            done = self.collected.turns[name] = []
            try:
                screening = await self._screening(script, player, frames)
            except InputError as error:
                # If a video cannot be shown, its turns fail and the run continues.
                said = Response(None, str(error))
                done += [answered_turn(script, step, player.name, said) for step in script.steps]
                self._count("playing", len(script.steps))
                return
            pictures: Any = screening
            async with aclosing(
                play_script(script, player, screening, pictures, settings, wrong=wrong, subtitles=subtitles)
            ) as turns:
                for number, _ in enumerate(script.steps, start=1):
                    with notes.span(f"turn {number}"):
                        turn = await anext(turns)
                        _note(turn, notes)
                    done.append(turn)
                    self._count("playing")

        samples = [
            LoggedSample(
                script.id,
                script.steps[0].turn.question if script.steps else "",
                {"video_id": script.video_id, "turns": len(script.steps)},
            )
            for script in scripts
        ]
        self._run(samples, play_one, logged, metadata or {}, frames)
        return self._evaluation([script.id for script in scripts])

    def judge(self, units: Mapping[str, Sequence[AnsweredTurn]], *, metadata: Mapping[str, Any]) -> Evaluation:
        """Judge answers that exist already.

        All models' answers to a unit are judged one after the other, and units of a video too: what a prompt shows
        before an answer is the same for all of them, so a server with a prefix cache reads it once.

        Args:
            units: Turns by the name of the sample that the log shows. The results have their order.
            metadata: Metadata of the run for the log.

        Raises:
            BudgetError: As for `run`.
            KeyboardInterrupt: As for `run`.
        """

        async def recall(name: str, notes: Notes) -> None:
            for turn in units[name]:
                _note(turn, notes)
            self.collected.turns[name] = list(units[name])

        self._recalled, self._due = True, sum(map(len, units.values()))
        self._null_sample = _drawn(
            {(turn.unit, turn.unit_id) for turns in units.values() for turn in turns}, self._judging.settings
        )
        for turns in units.values():
            for turn in turns:
                if turn.model != NULL_MODEL:
                    self._null_from.setdefault((turn.unit, turn.unit_id), turn.model)
        together = sorted(units.items(), key=lambda unit: (unit[1][0].video_id, unit[1][0].unit, unit[1][0].unit_id))
        samples = [
            LoggedSample(name, turns[0].question, {"video_id": turns[0].video_id, "turns": len(turns)})
            for name, turns in together
        ]
        self._run(samples, recall, None, metadata)
        return self._evaluation(list(units))

    def _run(
        self,
        samples: list[LoggedSample],
        play_one: PlaySample,
        logged: ServedModel | None,
        metadata: Mapping[str, Any],
        frames: FrameServer | None = None,
    ) -> None:
        models = {role: model for role, model in (("player", logged), ("judge", self._judging.logged)) if model}

        async def judge_one(name: str, notes: Notes) -> LoggedScore | None:
            found = await self._judge_script(name)
            if self._recalled:
                self._count("judging", len(self.collected.turns[name]))
            return found

        async def close() -> None:
            if frames is not None:
                await frames.close()
            for model in models.values():
                await model.close()

        run_samples(
            "evaluate",
            samples,
            play_one,
            judge_one if self._judging.judges else None,
            models=models,
            log_dir=self._logs,
            at_a_time=self._at_a_time,
            metadata=metadata,
            close=close,
        )

    async def _judge_nothing(self, judge: Judge, unit: JudgeUnit) -> None:
        """Judge a unit with empty answers, once for all models that answered it."""
        place: UnitKey = (unit.kind, unit.id)
        wanted = place in (self._null_sample or ()) if judge.needs_model else self._judging.settings.null_units > 0
        if not wanted or unit.model == NULL_MODEL or (judge.name, place) in self._null_begun:
            return
        if self._null_from.get(place, unit.model) != unit.model:
            return
        self._null_begun.add((judge.name, place))
        nothing = NullUnits([with_empty_answers(unit)])
        self.collected.null.setdefault(judge.name, []).append(nothing)
        nothing.scores += await judge.judge(nothing.units[0], self._judging.model)

    def _count(self, what: str, turns: int = 1) -> None:
        self._done += turns
        self._progress(what, self._done, self._due, self._done / max(self._due, 1))

    async def _screening(self, script: Script, player: Player, frames: FrameServer | None) -> FrameSource:
        if frames is None or not player.sees_frames:
            return NoFrameSource()
        try:
            return await frames.open(script)
        except asyncio.CancelledError:
            # Ctrl-C: decoding a long video may take minutes.
            frames.stop()
            raise

    async def _judge_script(self, name: str) -> LoggedScore:
        values: dict[str, float | None] = {judge.name: None for judge in self._judging.judges}
        lines: list[str] = []
        units = group_units(self.collected.turns[name], self._background)
        of_script = self.collected.rows[name] = {}
        for judge in self._judging.judges:
            rows: list[JudgedScore] = []
            judged = judged_units(judge, units, self._background)
            for unit in judged:
                rows += await judge.judge(unit, self._judging.model)
                await self._judge_nothing(judge, unit)
            of_script[judge.name] = rows
            headline = next(iter(judge.measures(judged, rows)), None)
            values[judge.name] = headline.value if headline is not None else None
            lines += [_line(row) for row in rows]
        return LoggedScore(values, "\n".join(lines))

    def _evaluation(self, names: Sequence[str]) -> Evaluation:
        return self.collected.evaluation(names, [judge.name for judge in self._judging.judges])


def sample_null_units(scripts: Sequence[Script], judging: JudgeSettings) -> frozenset[UnitKey]:
    """The units of some scripts whose empty answers a model judges.

    Args:
        scripts: All scripts of a run.
        judging: Gives the number of units and the seed.
    """
    return _drawn({(step.unit, step.unit_id) for script in scripts for step in script.steps}, judging)


def _drawn(units: Iterable[UnitKey], judging: JudgeSettings) -> frozenset[UnitKey]:
    return sample_units(units, judging.null_units, seed=judging.seed)


def _note(turn: AnsweredTurn, notes: Notes) -> None:
    notes.message("user", turn.question)
    if turn.state in (AnswerState.ANSWERED, AnswerState.NOT_SCORED) and not turn.has_failed:
        notes.message("assistant", turn.text)
    shown: dict[str, Any] = {
        "state": turn.state.value,
        "references": list(turn.references),
        "asked_at_s": turn.asked_at_s,
    }
    if turn.reason:
        shown["reason"] = turn.reason
    if turn.played is not None:
        shown |= {"frames_s": [round(time, 3) for time in turn.played.frames_s], "new_frames": turn.played.new_frames}
    notes.note(shown)


def _line(row: JudgedScore) -> str:
    turn = "" if row.turn_index is None else f" turn {row.turn_index + 1}"
    value = row.reason if row.value is None else f"{row.value:g}"
    return f"{row.criterion}{turn}: {value}{f' – {row.explanation}' if row.explanation else ''}"


def _silent(what: str, done: int, due: int, share: float) -> None:
    """Say nothing."""

"""Play scripts and judge their answers, several at a time; results are collected per script, then put in order."""

import asyncio
import inspect
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from reeltalk.errors import InputError, ReeltalkError, UnusableError
from reeltalk.evaluation.playing.frames import FrameServer
from reeltalk.evaluation.playing.play import (
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
from reeltalk.evaluation.playing.script import Script
from reeltalk.evaluation.settings import PlaySettings
from reeltalk.evaluation.side_by_side import Act, run_side_by_side
from reeltalk.evaluation.signing import code_hash, server_part
from reeltalk.evaluation.useless import UselessReplies
from reeltalk.judge.judge import (
    NULL_MODEL,
    AddsUnits,
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
from reeltalk.judge.turns import TurnJudge, judge_unit
from reeltalk.llm.model import AsyncModel
from reeltalk.llm.served import ServedModel
from reeltalk.metrics.choice import says_unsure
from reeltalk.metrics.embedding import SentenceEmbedder
from reeltalk.metrics.meteor import MeteorProcess
from reeltalk.progress import Progress
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.record import Record
from reeltalk.schema.scoring import JudgedScore
from reeltalk.store.rows import Rows, SpooledRows

R = TypeVar("R", bound=Record)
S = TypeVar("S")
LEAST_READ: Final = 20
"""Answers after which a run stops if most of them cannot be read."""
UNREAD_CHARS: Final = 120
"""Characters of such an answer that are shown."""


@dataclass
class NullUnits:
    """Units with empty answers, and the scores that a protocol gave them."""

    units: Sequence[JudgeUnit] = ()
    scores: Sequence[JudgedScore] = ()


@dataclass
class Evaluation:
    """Results of a run, in the order of the scripts. Rows of scripts stay in temporary files."""

    turns: Rows[AnsweredTurn]
    """In the order of the scripts."""
    scores: dict[str, Rows[JudgedScore]]
    """Rows by protocol."""
    counts: Counter[str] = field(default_factory=Counter)
    """Number of turns by outcome."""
    null: dict[str, NullUnits] = field(default_factory=dict)
    """Empty answers by protocol."""


class _Parts(Generic[R]):
    """Rows in parts, each with a name. They are in a temporary file, in the order in which parts ended."""

    def __init__(self, record: type[R], folder: Path) -> None:
        self.rows = SpooledRows(record, folder)
        self._names: dict[str, int] = {}
        self._starts = array("q", [0])

    def add(self, name: str, rows: Iterable[R]) -> None:
        self.rows.extend(rows)
        self._names[name] = len(self._names)
        self._starts.append(len(self.rows))

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def named(self) -> Iterator[tuple[str, "Rows[R]"]]:
        for name in self._names:
            yield name, self.of([name])

    def names(self) -> Iterable[str]:
        return self._names

    def of(self, names: Iterable[str]) -> "Rows[R]":
        """The rows of some parts, part by part; a name without a part has none."""
        places = array("Q")
        for name in names:
            if (number := self._names.get(name)) is not None:
                places.extend(range(self._starts[number], self._starts[number + 1]))
        return self.rows.at(places)


class Collected:
    """Results of a run, collected per script. Rows are in temporary files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._turns = _Parts(AnsweredTurn, folder)
        self._rows: dict[str, _Parts[JudgedScore]] = {}
        self._null: dict[str, tuple[_Parts[AnsweredTurn], _Parts[JudgedScore]]] = {}
        self._sampled: dict[str, list[NullUnits]] = {}
        self._counts: Counter[str] = Counter()

    def add(self, script: str, turns: Iterable[AnsweredTurn], rows: Mapping[str, Iterable[JudgedScore]]) -> None:
        """Add the results of a script.

        Raises:
            BenchmarkError: The disk is full.
        """
        self._turns.add(script, self._counted(turns))
        for protocol, own in rows.items():
            self._rows.setdefault(protocol, _Parts(JudgedScore, self._folder)).add(script, own)

    def add_null(self, judge: Judge, unit: JudgeUnit, scores: Iterable[JudgedScore]) -> None:
        """Add a unit with empty answers."""
        if judge.needs_model or isinstance(judge, AddsUnits):
            # A sample, whose units may not be those of the turns.
            self._sampled.setdefault(judge.name, []).append(NullUnits([unit], list(scores)))
            return
        self._add_null(judge.name, "\0".join(_place(unit)), unit.turns, scores)

    def _add_null(self, protocol: str, name: str, turns: Iterable[AnsweredTurn], scores: Iterable[JudgedScore]) -> None:
        if protocol not in self._null:
            self._null[protocol] = _Parts(AnsweredTurn, self._folder), _Parts(JudgedScore, self._folder)
        own_turns, own_scores = self._null[protocol]
        own_turns.add(name, turns)
        own_scores.add(name, scores)

    def _counted(self, turns: Iterable[AnsweredTurn]) -> Iterator[AnsweredTurn]:
        for turn in turns:
            self._counts[state_name(turn)] += 1
            yield turn

    def evaluation(self, names: Sequence[str], protocols: Sequence[str], background: Background | None) -> Evaluation:
        """All results in order, independent of the order in which scripts ended.

        Args:
            names: Names of the scripts, in their order.
            protocols: Names of the judging protocols, in their order.
            background: Data of the benchmark besides the turns.
        """
        turns = self._turns.of(names)
        nothing = _Parts(JudgedScore, self._folder)
        evaluation = Evaluation(
            turns, {protocol: self._rows.get(protocol, nothing).of(names) for protocol in protocols}, self._counts
        )
        for protocol in protocols:
            # Sorted by name, because units are judged in the order in which they end.
            if (found := self._sampled.get(protocol)) is not None:
                ordered = sorted(found, key=lambda null: _place(null.units[0]))
                evaluation.null[protocol] = NullUnits(
                    [unit for null in ordered for unit in null.units], [row for null in ordered for row in null.scores]
                )
            elif (stored := self._null.get(protocol)) is not None:
                units = sorted(stored[0].names(), key=lambda name: tuple(name.split("\0")))
                evaluation.null[protocol] = NullUnits(group_units(stored[0].of(units), background), stored[1].of(units))
        return evaluation


def state_name(turn: AnsweredTurn) -> str:
    """The state that a turn is counted under: one that failed in the history alone is counted with the failed ones."""
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
    served: ServedModel | None = None
    """The same model, if its replies are kept."""
    meteor: MeteorProcess | ReeltalkError | None = None
    """A running METEOR, or why there is none."""
    embedder: SentenceEmbedder | ReeltalkError | None = None

    def name(self, judge: Judge) -> str:
        """The name of the model that judges by a protocol; `none` for a protocol without a model."""
        return self.model.name if judge.needs_model and self.model is not None else "none"

    def signature(self, judge: Judge) -> tuple[tuple[str, str], ...]:
        """The judge of a protocol with its settings, and the sampling that its server accepted."""
        asked = getattr(self.model, "requested_sampling", None)
        sent: tuple[tuple[str, str], ...] = ()
        if judge.needs_model and self.model is not None and asked is not None and asked != self.model.sampling:
            told = ",".join(f"{key}={value}" for key, value in sorted(self.model.sampling.items()))
            sent = (("judge-sampling", told or "none"),)
        origins = self.served.origins if self.served is not None and judge.needs_model else ()
        served = server_part("judge-served", self.name(judge), origins)
        code = () if judge.needs_model else (("code", code_hash(inspect.getfile(type(judge)))),)
        return (("judge", self.name(judge)), *judge.signature, *code, *sent, *served)


class EvaluationRunner:
    """Plays and judges scripts, several at a time.

    Args:
        work: Folder in which the run is made.
        judging: How answers are judged.
        background: Data of the benchmark besides the turns.
        at_a_time: Scripts that run together.
        progress: Called after each turn.
        null_sample: Units whose empty answers a model judges; by default sampled from those that are played here.
        stops_unread: Stop if most of the first answers cannot be read.
        useless: Counts replies that say nothing, if a server gives them.
    """

    def __init__(
        self,
        work: Path,
        judging: JudgingSetup,
        background: Background | None,
        *,
        at_a_time: int,
        progress: Progress | None = None,
        null_sample: frozenset[UnitKey] | None = None,
        stops_unread: bool = False,
        useless: UselessReplies | None = None,
    ) -> None:
        self.collected: Final = Collected(work)
        """The results so far."""
        self._running: dict[str, list[AnsweredTurn]] = {}
        """Turns of scripts that are not judged yet."""
        self._judging, self._background = judging, background
        self._at_a_time, self._progress = at_a_time, progress or _silent
        self._due, self._done, self._recalled = 0, 0, False
        self._null_begun: set[tuple[str, UnitKey]] = set()
        # Models are judged side by side, and a unit with empty answers may hold what its model said in other turns.
        self._null_from: dict[UnitKey, str] = {}
        self._null_sample = null_sample
        self._stops_unread, self._read = stops_unread, 0
        self._unread: list[str] = []
        self._useless = useless

    def run(
        self,
        scripts: Sequence[Script],
        player: Player,
        settings: PlaySettings,
        frames: FrameServer | None,
        *,
        served: ServedModel | None = None,
        wrong: WrongAnswers | None = None,
        subtitles: Subtitles | None = None,
    ) -> Evaluation:
        """Play scripts and judge their answers.

        Args:
            scripts: The scripts that are played.
            player: Answers their turns.
            settings: How they are played.
            frames: Gives frames; None if none are shown.
            served: The model of the player, if it has one.
            wrong: Gives the wrong answer of a corrupted history.
            subtitles: Gives the lines that were spoken.

        Raises:
            BudgetError: A limit would be exceeded. Replies are kept, and the same command continues from there.
            BenchmarkError: A golden history needs a reference that is withheld, or there is no wrong answer to plant.
            KeyboardInterrupt: Ctrl-C; replies are kept as after a `BudgetError`.
        """
        check_histories(scripts, settings, wrong)
        numbers: dict[str, int] = {}
        for number, script in enumerate(scripts):
            numbers[script.name] = number
            self._due += len(script.steps)
        if self._null_sample is None:
            self._null_sample = sample_null_units(scripts, self._judging)

        async def play_one(name: str) -> None:
            script = scripts[numbers[name]]
            done = self._running[name] = []
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
                async for turn in turns:
                    done.append(turn)
                    if self._useless is not None and served is not None and served.is_remote:
                        self._useless.see_answer(turn)
                    self._count("playing")

        self._run(list(numbers), play_one, served, frames)
        return self._evaluation(list(numbers))

    def judge(self, units: Mapping[str, Sequence[AnsweredTurn]]) -> Evaluation:
        """Judge answers that exist already.

        All models' answers to a unit are judged one after the other, and units of a video too: what a prompt shows
        before an answer is the same for all of them, so a server with a prefix cache reads it once.

        Args:
            units: Turns by a name for each unit and model. The results have their order.

        Raises:
            BudgetError: As for `run`.
            KeyboardInterrupt: As for `run`.
        """

        async def recall(name: str) -> None:
            self._running[name] = list(units[name])

        order: list[tuple[str, str, str, str]] = []
        self._recalled, self._due = True, 0
        for name, turns in units.items():
            first, self._due = turns[0], self._due + len(turns)
            order.append((first.video_id, first.unit, first.unit_id, name))
            for turn in turns:
                if turn.model != NULL_MODEL:
                    self._null_from.setdefault((turn.unit, turn.unit_id), turn.model)
        keys = ((turn.unit, turn.unit_id) for turns in units.values() for turn in turns)
        self._null_sample = _drawn(keys, self._judging)
        order.sort(key=lambda unit: unit[:3])
        self._run([unit[3] for unit in order], recall, None)
        return self._evaluation(list(units))

    def _run(
        self, names: Sequence[str], play_one: Act, served: ServedModel | None, frames: FrameServer | None = None
    ) -> None:
        models = [model for model in (served, self._judging.served) if model]

        async def judge_one(name: str) -> None:
            rows = await self._judge_script(name)
            turns = self._running.pop(name)
            self.collected.add(name, turns, rows)
            if self._recalled:
                self._count("judging", len(turns))

        async def close() -> None:
            if frames is not None:
                await frames.close()
            for model in models:
                await model.close()

        try:
            run_side_by_side(names, play_one, judge_one, at_a_time=self._at_a_time, close=close)
        finally:
            # Only now no more of them come.
            if self._useless is not None and self._useless.texts:
                for model in models:
                    model.store.forget(self._useless.texts)

    async def _judge_nothing(self, judge: Judge, unit: JudgeUnit) -> None:
        """Judge a unit with empty answers, once for all models that answered it."""
        place: UnitKey = (unit.kind, unit.id)
        wanted = place in (self._null_sample or ()) if judge.needs_model else self._judging.settings.null_units > 0
        key = judge.name, place
        if not wanted or unit.epoch or unit.model == NULL_MODEL or key in self._null_begun:
            return
        if self._null_from.get(place, unit.model) != unit.model:
            return
        self._null_begun.add(key)
        nothing = with_empty_answers(unit)
        self.collected.add_null(judge, nothing, await judge_unit(judge, nothing, self._judging.model))

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

    async def _judge_script(self, name: str) -> dict[str, list[JudgedScore]]:
        units = group_units(self._running[name], self._background)
        of_script: dict[str, list[JudgedScore]] = {}
        for judge in self._judging.judges:
            rows: list[JudgedScore] = []
            for unit in judged_units(judge, units, self._background):
                own = await judge_unit(judge, unit, self._judging.model)
                rows += own
                if self._useless is not None and (served := self._judging.served) is not None and served.is_remote:
                    self._useless.see_verdicts(own)
                await self._judge_nothing(judge, unit)
            of_script[judge.name] = rows
            self._refuse_unread(judge, units, rows)
        return of_script

    def _refuse_unread(self, judge: Judge, units: Sequence[JudgeUnit], rows: Sequence[JudgedScore]) -> None:
        """Stop a run of which most of the first answers cannot be read."""
        if not self._stops_unread or self._read >= LEAST_READ or not isinstance(judge, TurnJudge):
            return
        texts = {(unit.id, turn.turn_index): turn.text for unit in units for turn in unit.turns}
        for row in rows:
            text = texts.get((row.unit_id, row.turn_index or 0), "")
            if self._read < LEAST_READ and row.value is not None and text.strip() and judge.reads_answers:
                self._read += 1
                # The prompt asks to say so where a video does not show it.
                self._unread += [text] if judge.is_unread(row) and not says_unsure(text) else []
        if self._read >= LEAST_READ and len(self._unread) > LEAST_READ // 2:
            shown = "; ".join(repr(" ".join(text.split())[:UNREAD_CHARS]) for text in self._unread[:3])
            raise UnusableError(
                f"{len(self._unread)} of the first {LEAST_READ} answers cannot be read by '{judge.name}', so the "
                f"command stops: {shown}; every reply is kept. Ask for the form that is read (a letter for options, a "
                "word or number for a key) in a prompt of your own with --prompt FILE.md, or pass --no-preflight"
            )

    def _evaluation(self, names: Sequence[str]) -> Evaluation:
        return self.collected.evaluation(names, [judge.name for judge in self._judging.judges], self._background)


def sample_null_units(scripts: Iterable[Script], judging: JudgingSetup) -> frozenset[UnitKey]:
    """The units of some scripts whose empty answers a model judges; none if no protocol needs a model."""
    return _drawn(((step.unit, step.unit_id) for script in scripts for step in script.steps), judging)


def _drawn(units: Iterable[UnitKey], judging: JudgingSetup) -> frozenset[UnitKey]:
    if not any(judge.needs_model for judge in judging.judges):
        return frozenset()
    return sample_units(units, judging.settings.null_units, seed=judging.settings.seed)


def _silent(what: str, done: int, due: int, share: float) -> None:
    """Say nothing."""

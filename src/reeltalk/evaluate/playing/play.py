"""Play one script turn by turn: what a model is shown, what it answers, and what later turns are told of it.

Later turns are told reference answers, the model's own, none, or its own with a wrong one. A wrong answer planted at
one turn shows whether an early error cascades. It is another video's answer to a question of the same form, so that
only the video tells that it is wrong.
"""

import hashlib
import random
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from reeltalk.baselines.constant import question_form, question_head
from reeltalk.errors import BenchmarkError
from reeltalk.evaluate.answers import item_id
from reeltalk.evaluate.playing.script import Script, Step
from reeltalk.evaluate.settings import PlaySettings
from reeltalk.metrics.agree import agrees, is_yes_no, polarity
from reeltalk.schema.answers import AnsweredTurn, AnswerState, Played
from reeltalk.schema.dialogue import Turn


@dataclass(frozen=True)
class ShownFrame:
    """A frame that may be seen now."""

    pts_s: float
    """Its presentation time; never after the question."""
    reference: bytes
    """By which `FrameServer.jpeg` gives the picture: the video's hash, its own time, the size, and which picture a
    control shows in its place."""
    film: str | None = None
    """The first digits of the hash of the file that its picture is of, where that is known."""


@dataclass(frozen=True)
class HistoryTurn:
    """A turn before this one, as its history has it."""

    question: str
    answer: str
    new_frames: tuple[ShownFrame, ...] = ()
    """Frames that came with it, where frames are sent as they come."""


@dataclass(frozen=True)
class TurnInput:
    """All that may be known when a turn is answered. There is no way from here to the video's file."""

    question: str
    history: tuple[HistoryTurn, ...]
    frames: tuple[ShownFrame, ...]
    """All that may be seen, in order."""
    new_frames: tuple[ShownFrame, ...]
    """Those that came since the turn before, where frames are sent as they come; none where they are chosen anew."""
    options: tuple[str, ...] | None
    """The choices, in the order in which they are shown."""
    subtitles: tuple[str, ...]
    """Lines that ended by the moment of the question."""
    step: Step
    video_id: str


@dataclass(frozen=True)
class Response:
    """An answer."""

    text: str | None
    """None where there is nothing to say; `reason` then tells why."""
    reason: str | None = None
    took_s: float | None = None
    first_token_s: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    memory_bytes: int | None = None
    """What is kept of the stream after it, where that is known."""
    cached: bool = False


class Pictures(Protocol):
    """Gives frames that were shown as files."""

    async def jpeg(self, reference: bytes) -> bytes:
        """The JPEG file of a frame."""
        ...


class Player(Protocol):
    """Answers turns."""

    @property
    def name(self) -> str:
        """The name in tables."""
        ...

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """What can move its answers beside what it is shown: sampling, prompt, weights."""
        ...

    @property
    def sees_frames(self) -> bool:
        """True where it looks at frames; for others none are decoded."""
        ...

    async def answer(self, seen: TurnInput, pictures: Pictures) -> Response:
        """The answer to one turn.

        Raises:
            BudgetError: A limit would be passed.
        """
        ...


class WrongAnswers:
    """Answers of other videos by the form of their question.

    Args:
        turns: Turns with the video each is about, as of the whole benchmark.
        seed: Decides which is taken.
    """

    def __init__(self, turns: Iterable[tuple[str, Turn]], *, seed: int) -> None:
        self._seed = seed
        self._by_form: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for video_id, turn in turns:
            if turn.references:
                for form in (question_form(turn.question), question_head(turn.question), ""):
                    self._by_form[form].append((video_id, turn.references[0]))

    def wrong(self, script: Script, step: Step) -> str | None:
        """An answer that is wrong for a turn; None where the benchmark holds none.

        Args:
            script: Whose turn it is.
            step: The turn.
        """
        turn = step.turn
        if turn.options is not None and turn.correct_option is not None:
            right = turn.options[turn.correct_option].strip().casefold()
            others = [option for option in turn.options if option.strip().casefold() != right]
            return self._draw(script, step).choice(others) if others else None
        if not turn.references:
            # Where nobody knows what is right, nobody knows what is wrong.
            return None
        said = {polarity(reference) for reference in turn.references}
        if said <= {"yes", "no"} and is_yes_no(turn.question):
            return None if len(said) > 1 else "No." if "yes" in said else "Yes."
        for form in (question_form(turn.question), question_head(turn.question), ""):
            fitting = [
                answer
                for video_id, answer in self._by_form.get(form, ())
                if video_id != script.video_id and not agrees(answer, turn.references, turn.question)
            ]
            if fitting:
                return self._draw(script, step).choice(sorted(set(fitting)))
        return None

    def _draw(self, script: Script, step: Step) -> random.Random:
        name = f"{self._seed} {script.id} {step.unit_id} {step.turn_index}"
        return random.Random(hashlib.sha256(name.encode()).hexdigest())


Subtitles = Callable[[Script, Step], Sequence[str]]
"""Lines that ended by the moment of a turn."""


class FrameSource(Protocol):
    """Shows the frames of one script's video, up to the moment of each turn."""

    def at(self, index: int) -> tuple[tuple[ShownFrame, ...], tuple[ShownFrame, ...]]:
        """All frames that may be seen at a step, and those of them that came since the step before."""
        ...

    @property
    def append_only(self) -> bool:
        """True where frames are only added from turn to turn."""
        ...


class NoFrameSource:
    """Shows nothing."""

    append_only = True

    def at(self, index: int) -> tuple[tuple[ShownFrame, ...], tuple[ShownFrame, ...]]:
        return (), ()


async def play_script(
    script: Script,
    player: Player,
    screening: FrameSource,
    pictures: Pictures,
    settings: PlaySettings,
    *,
    wrong: WrongAnswers | None = None,
    subtitles: Subtitles | None = None,
) -> AsyncGenerator[AnsweredTurn, None]:
    """Play a script.

    A turn without an answer is told to no turn after it: an error is never an assistant's words. A turn that the
    protocol does not ask stands in the history with its reference; where all of the history is to be the model's own,
    it is asked like the others, and its answer is told and not scored.

    Args:
        script: What is played.
        player: Who answers.
        screening: Shows frames; `pictures` gives them as files.
        pictures: For players that look at pixels.
        settings: History, order of options and what else can move an answer.
        wrong: Gives the answer that is planted; needed for a corrupted history.
        subtitles: Gives lines that were spoken.

    Yields:
        Each turn as it is answered, those that are not asked too.

    Raises:
        BudgetError: A limit would be passed; turns that came before it were given out.
        BenchmarkError: A golden history needs a reference that the benchmark withholds, or a history shall be
            corrupted and no wrong answer is to be had.
    """
    history: list[HistoryTurn] = []
    asked = asked_steps(script, settings)
    for index, step in enumerate(script.steps):
        frames, new_frames = screening.at(index)
        order = _option_order(step, settings)
        if asked[index]:
            seen = TurnInput(
                question=step.turn.question,
                history=tuple(history),
                frames=frames,
                new_frames=_new(history, frames, new_frames, screening.append_only),
                options=tuple(step.turn.options[n] for n in order) if order and step.turn.options else None,
                subtitles=tuple(subtitles(script, step)) if subtitles is not None and settings.subtitles else (),
                step=step,
                video_id=script.video_id,
            )
            said = await player.answer(seen, pictures)
        else:
            said = Response(None)
        planted = _is_planted(script, index, settings)
        played = Played(
            frames_s=tuple(frame.pts_s for frame in frames),
            film=frames[0].film if frames else None,
            new_frames=len(new_frames),
            took_s=said.took_s,
            first_token_s=said.first_token_s,
            prompt_tokens=said.prompt_tokens,
            completion_tokens=said.completion_tokens,
            memory_bytes=said.memory_bytes,
            cached=said.cached,
            corrupted=planted,
            option_order=order,
        )
        yield answered_turn(script, step, player.name, said, played, asked=asked[index])
        if settings.shown_history == "none" or index + 1 == len(script.steps):
            continue
        told = _told(script, step, said, settings, planted, wrong)
        if told is not None:
            came = new_frames if screening.append_only else ()
            history.append(HistoryTurn(step.turn.question, told, tuple(came)))


def asked_steps(script: Script, settings: PlaySettings) -> tuple[bool, ...]:
    """For each step of a script whether it is asked.

    A turn that is not scored is asked where all of the history is to be the model's own and a scored turn comes after.

    Args:
        script: What is played.
        settings: How.
    """
    scored = [step.answered for step in script.steps]
    if settings.shown_history != "predicted-all":
        return tuple(scored)
    return tuple(any(scored[index:]) for index in range(len(scored)))


def check_histories(scripts: Iterable[Script], settings: PlaySettings, wrong: WrongAnswers | None) -> None:
    """Refuse what cannot be played to its end, before anything is asked.

    Args:
        scripts: What is going to be played.
        settings: How.
        wrong: As of `play_script`.

    Raises:
        BenchmarkError: As `play_script`.
    """
    if settings.shown_history in ("golden", "corrupted"):
        for script in scripts:
            for index, step in enumerate(script.steps[:-1]):
                _told(script, step, Response(None), settings, _is_planted(script, index, settings), wrong)


def _is_planted(script: Script, index: int, settings: PlaySettings) -> bool:
    # From 1, as users count turns; after the last turn nobody is told.
    return settings.shown_history == "corrupted" and index + 1 == settings.corrupt_turn < len(script.steps)


def _new(
    history: Sequence[HistoryTurn],
    frames: tuple[ShownFrame, ...],
    new_frames: tuple[ShownFrame, ...],
    append_only: bool,
) -> tuple[ShownFrame, ...]:
    """Frames that no turn of the history brought; those of a turn that is not told of come with the next one."""
    if not append_only:
        return ()
    brought = {frame.reference for past in history for frame in past.new_frames}
    return tuple(frame for frame in frames if frame.reference not in brought)


def _told(
    script: Script, step: Step, said: Response, settings: PlaySettings, planted: bool, wrong: WrongAnswers | None
) -> str | None:
    """What the turns after it are told that was answered here; None where there is nothing to tell."""
    if planted:
        answer = wrong.wrong(script, step) if wrong is not None else None
        if answer is None:
            raise BenchmarkError(
                f"no wrong answer is to be had for turn {step.turn_index + 1} of '{step.unit_id}': the benchmark "
                "holds no other video's answers to like questions; choose another --history"
            )
        return answer
    if settings.shown_history == "golden" or (not step.answered and settings.shown_history != "predicted-all"):
        if not step.turn.references and settings.shown_history == "golden":
            raise BenchmarkError(
                f"turn {step.turn_index + 1} of '{step.unit_id}' has no reference to tell the turns after it; "
                "play with --history predicted"
            )
        return step.turn.references[0] if step.turn.references else None
    return said.text or None


def _option_order(step: Step, settings: PlaySettings) -> tuple[int, ...] | None:
    if not step.turn.options:
        return None
    order = list(range(len(step.turn.options)))
    if settings.option_order == "shuffled":
        name = f"{settings.seed} {step.unit_id} {step.turn_index}"
        random.Random(hashlib.sha256(name.encode()).hexdigest()).shuffle(order)
    return tuple(order)


def answered_turn(
    script: Script, step: Step, model: str, said: Response, played: Played | None = None, *, asked: bool | None = None
) -> AnsweredTurn:
    """The row of a turn.

    Args:
        script: Whose turn it is.
        step: The turn.
        model: Who answered.
        said: What it said, or why it said nothing.
        played: How the answer came about.
        asked: Whether the model was asked; by default where the protocol scores the turn.
    """
    turn = step.turn
    if asked is None:
        asked = step.answered
    if step.answered:
        state = AnswerState.ANSWERED if said.text is not None else AnswerState.FAILED
    else:
        state = AnswerState.NOT_SCORED if asked else AnswerState.NOT_ASKED
    position = step.turn_index if turn.position is None else turn.position
    return AnsweredTurn(
        model=model,
        item_id=item_id(step.unit_id, position),
        video_id=script.video_id,
        unit_id=step.unit_id,
        turn_index=position,
        question=turn.question,
        references=turn.references,
        text=said.text or "",
        state=state,
        labels=turn.labels,
        unit=step.unit,
        task=step.task,
        reason=said.reason if asked else None,
        asked_at_s=step.asked_at_s,
        options=turn.options,
        correct_option=turn.correct_option,
        checklist=turn.checklist,
        rubric=turn.rubric,
        key=turn.key,
        played=played,
    )

"""Play one script turn by turn: show a model its input, take its answer, and build the history of later turns.

The history holds reference answers, the model's own, none, or its own with one wrong answer. A wrong answer planted at
one turn shows whether an early error cascades. It is another video's answer to a question of the same form, so only the
video shows that it is wrong.
"""

import dataclasses
import hashlib
import random
import re
import tomllib
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Protocol, Self

from reeltalk.baselines.constant import question_form, question_head
from reeltalk.errors import BenchmarkError
from reeltalk.evaluation.playing.script import Script, Step
from reeltalk.evaluation.settings import PlaySettings
from reeltalk.llm.model import Reply, ReplyOrigin
from reeltalk.metrics.agree import agrees, is_yes_no, polarity
from reeltalk.schema.answers import AnsweredTurn, AnswerState, PlayDetails, item_id
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.model_texts import THOUGHT_ALONE, thinks_only, without_thoughts
from reeltalk.schema.speech import Utterance


@dataclass(frozen=True)
class ShownFrame:
    """A frame that may be seen now."""

    pts_s: float
    """Its presentation time in seconds; never after the question."""
    reference: bytes
    """Names the picture for `FrameServer.jpeg`: the video's hash, its own time, the size, and which picture a control
    shows in its place."""
    film: str | None = None
    """The first digits of the hash of the video file that the picture is from, if it is known."""


@dataclass(frozen=True)
class HistoryTurn:
    """An earlier turn as the history shows it."""

    question: str
    answer: str
    new_frames: tuple[ShownFrame, ...] = ()
    """Frames that were sent with it, if frames are sent as they come."""


@dataclass(frozen=True)
class TurnInput:
    """Everything that a player may know when it answers a turn. It does not lead to the video's file."""

    question: str
    history: tuple[HistoryTurn, ...]
    frames: tuple[ShownFrame, ...]
    """All frames that may be seen, in order."""
    new_frames: tuple[ShownFrame, ...]
    """Frames since the turn before, if frames are sent as they come; empty if they are chosen anew for each turn."""
    options: tuple[str, ...] | None
    """The choices, in the order in which they are shown."""
    speech: tuple[Utterance, ...]
    """What was said; nothing that ended after the question."""
    step: Step
    video_id: str
    epoch: int = 0
    """Number of the play, from 0; each is a sample of its own."""
    tells_times: bool = False
    """True if the times of frames, and the moment of the question, are told."""

    @property
    def subtitles(self) -> tuple[str, ...]:
        """The spoken lines, each with its speaker's name if it is known."""
        return tuple(spoken.line for spoken in self.speech)


@dataclass(frozen=True)
class Response:
    text: str | None
    """None if there is no answer; `reason` then says why."""
    reason: str | None = None
    took_s: float | None = None
    first_token_s: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    memory_bytes: int | None = None
    """Bytes that are kept of the stream after it, if known."""
    cut_off: bool = False
    cached: bool = False
    origin: ReplyOrigin | None = None
    """Who gave it; None if no model was asked."""
    cut_at: int | None = None

    @classmethod
    def of(cls, reply: Reply) -> Self:
        """The response of a model that was asked."""
        return cls(
            reply.text,
            took_s=reply.took_s,
            first_token_s=reply.first_token_s,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            cut_off=reply.cut_off,
            cached=reply.cached,
            origin=reply.origin,
            cut_at=reply.cut_at,
        )


class Pictures(Protocol):
    """Gives frames that were shown as files."""

    async def jpeg(self, reference: bytes) -> bytes:
        """The JPEG file of a frame."""
        ...


class Player(Protocol):
    @property
    def name(self) -> str:
        """The name in tables."""
        ...

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """Everything but its input that can change its answers: sampling, prompt, weights."""
        ...

    @property
    def sees_frames(self) -> bool:
        """True if it looks at frames; no frames are decoded for other players."""
        ...

    async def answer(self, seen: TurnInput, pictures: Pictures) -> Response:
        """The answer to one turn.

        Raises:
            BudgetError: A limit would be passed.
        """
        ...


class WrongAnswers:
    """Wrong answers for corrupted histories: answers of other videos to questions of the same form.

    Args:
        turns: Pairs of a video and a turn about it, usually of the whole benchmark.
        seed: Decides which answer is taken.
    """

    def __init__(self, turns: Iterable[tuple[str, Turn]], *, seed: int) -> None:
        self._seed = seed
        self._by_form: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for video_id, turn in turns:
            if turn.references:
                for form in (question_form(turn.question), question_head(turn.question), ""):
                    self._by_form[form].append((video_id, turn.references[0]))

    def wrong(self, script: Script, step: Step) -> str | None:
        """An answer that is wrong for a turn; None if the benchmark has none."""
        turn = step.turn
        if turn.options is not None and turn.correct_option is not None:
            right = turn.options[turn.correct_option].strip().casefold()
            others = [option for option in turn.options if option.strip().casefold() != right]
            return self._draw(script, step).choice(others) if others else None
        if not turn.references:
            # Without a reference no answer is known to be wrong.
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


Subtitles = Callable[[Script, Step], Sequence[Utterance]]
"""Gives what was said and ended before a turn is asked."""


class FrameSource(Protocol):
    """Shows the frames of one script's video, up to the moment of each turn."""

    def at(self, index: int) -> tuple[tuple[ShownFrame, ...], tuple[ShownFrame, ...]]:
        """All frames that may be seen at a step, and the new ones since the step before."""
        ...

    @property
    def append_only(self) -> bool:
        """True if frames are only added from turn to turn."""
        ...


class NoFrameSource:
    append_only = True

    def at(self, index: int) -> tuple[tuple[ShownFrame, ...], tuple[ShownFrame, ...]]:
        return (), ()


async def play_script(
    script: Script,
    player: Player,
    source: FrameSource,
    pictures: Pictures,
    settings: PlaySettings,
    *,
    wrong: WrongAnswers | None = None,
    subtitles: Subtitles | None = None,
) -> AsyncGenerator[AnsweredTurn, None]:
    """Play a script.

    A turn without an answer is left out of the history of later turns, since an error is not an answer. A turn that the
    protocol does not ask appears in the history with its reference. If all of the history is to be the model's own,
    that turn is asked too; its answer is part of the history and is not scored.

    Args:
        script: The turns that are played.
        player: The model or baseline that answers.
        source: Chooses the frames of each turn; `pictures` gives them as files.
        pictures: JPEG files for players that look at pixels.
        settings: History, order of options, and all other settings that can change an answer.
        wrong: Gives the wrong answer of a corrupted history; needed for one.
        subtitles: Gives the lines that were spoken.

    Yields:
        Each turn when it is answered, in order; turns that are not asked too.

    Raises:
        BudgetError: A limit would be exceeded; the turns before it were yielded.
        BenchmarkError: A golden history needs a reference that the benchmark withholds, or a corrupted history needs
            a wrong answer and the benchmark has none.
    """
    history: list[HistoryTurn] = []
    asked = steps_to_ask(script, settings)
    tells_times = does_tell_times(script, settings)
    for index, step in enumerate(script.steps):
        frames, new_frames = source.at(index)
        order = _option_order(step, settings)
        if asked[index]:
            seen = TurnInput(
                question=step.turn.question,
                history=tuple(history),
                frames=frames,
                new_frames=_frames_not_sent(history, frames, new_frames, source.append_only),
                options=tuple(step.turn.options[n] for n in order) if order and step.turn.options else None,
                speech=tuple(subtitles(script, step)) if subtitles is not None and settings.subtitles else (),
                step=step,
                video_id=script.video_id,
                tells_times=tells_times,
                epoch=script.epoch,
            )
            response = _without_thoughts(await player.answer(seen, pictures))
        else:
            response = Response(None)
        planted = _is_planted(script, index, settings)
        played = PlayDetails(
            frames_s=tuple(frame.pts_s for frame in frames),
            film=frames[0].film if frames else None,
            new_frames=len(new_frames),
            took_s=response.took_s,
            first_token_s=response.first_token_s,
            prompt_tokens=response.prompt_tokens,
            completion_tokens=response.completion_tokens,
            memory_bytes=response.memory_bytes,
            cut_off=response.cut_off,
            cached=response.cached,
            served_model=response.origin and response.origin.model,
            served_host=response.origin and response.origin.host,
            served_dialect=response.origin and response.origin.dialect,
            cut_at=response.cut_at,
            corrupted=planted,
            option_order=order,
        )
        yield answered_turn(script, step, player.name, response, played, was_asked=asked[index])
        if settings.shown_history == "none" or index + 1 == len(script.steps):
            continue
        answer = _history_answer(script, step, response, settings, planted, wrong)
        if answer is not None:
            came = new_frames if source.append_only else ()
            history.append(HistoryTurn(step.turn.question, answer, tuple(came)))


def does_tell_times(script: Script, settings: PlaySettings) -> bool:
    """True if a player is told when each picture of a script was taken.

    Args:
        script: The turns that are played.
        settings: `frame_times` decides; `auto` follows the mode and the questions.
    """
    if settings.frame_times != "auto":
        return settings.frame_times == "yes"
    return settings.mode == "streaming" or any(asks_moment(step.turn) for step in script.steps)


def asks_moment(turn: Turn) -> bool:
    """True if a question, its key or its reference asks for a moment or a length of time."""
    if turn.key is not None and turn.key.type == "seconds":
        return True
    asks, names = _moments()
    return asks.search(turn.question) is not None or any(map(names.search, turn.references))


MOMENTS: Final = Path(__file__).parent / "moments.toml"


@cache
def _moments() -> tuple[re.Pattern[str], re.Pattern[str]]:
    raw = tomllib.loads(MOMENTS.read_text(encoding="utf-8"))
    asks, names = (re.compile("|".join(raw[of]["patterns"]), re.IGNORECASE) for of in ("questions", "references"))
    return asks, names


def _without_thoughts(response: Response) -> Response:
    if not response.text:
        return response
    if thinks_only(response.text):
        return dataclasses.replace(response, text=None, reason=THOUGHT_ALONE)
    return dataclasses.replace(response, text=without_thoughts(response.text))


def steps_to_ask(script: Script, settings: PlaySettings) -> tuple[bool, ...]:
    """Whether each step of a script is asked.

    A turn that is not scored is asked if all of the history is to be the model's own and a scored turn comes after it.
    """
    scored = [step.answered for step in script.steps]
    if settings.shown_history != "predicted-all":
        return tuple(scored)
    return tuple(any(scored[index:]) for index in range(len(scored)))


def check_histories(scripts: Iterable[Script], settings: PlaySettings, wrong: WrongAnswers | None) -> None:
    """Refuse histories that lack a reference or a wrong answer, before anything is asked.

    Args:
        scripts: The scripts that will be played.
        settings: The history that later turns are shown.
        wrong: As for `play_script`.

    Raises:
        BenchmarkError: As `play_script`.
    """
    if settings.shown_history in ("golden", "corrupted"):
        for script in scripts:
            for index, step in enumerate(script.steps[:-1]):
                _history_answer(script, step, Response(None), settings, _is_planted(script, index, settings), wrong)


def _is_planted(script: Script, index: int, settings: PlaySettings) -> bool:
    # From 1, as users count turns. No turn comes after the last one, so its answer is not replaced.
    return settings.shown_history == "corrupted" and index + 1 == settings.corrupt_turn < len(script.steps)


def _frames_not_sent(
    history: Sequence[HistoryTurn],
    frames: tuple[ShownFrame, ...],
    new_frames: tuple[ShownFrame, ...],
    append_only: bool,
) -> tuple[ShownFrame, ...]:
    """Frames that no turn of the history holds; frames of a turn that is left out of it come with the next turn."""
    if not append_only:
        return ()
    brought = {frame.reference for past in history for frame in past.new_frames}
    return tuple(frame for frame in frames if frame.reference not in brought)


def _history_answer(
    script: Script, step: Step, response: Response, settings: PlaySettings, planted: bool, wrong: WrongAnswers | None
) -> str | None:
    """The answer of a turn as later turns see it in their history; None if the turn is left out."""
    if planted:
        answer = wrong.wrong(script, step) if wrong is not None else None
        if answer is None:
            raise BenchmarkError(
                f"there is no wrong answer for turn {step.turn_index + 1} of '{step.unit_id}': the benchmark "
                "holds no other video's answers to similar questions; choose another --history"
            )
        return answer
    if settings.shown_history == "golden" or (not step.answered and settings.shown_history != "predicted-all"):
        if not step.turn.references and settings.shown_history == "golden":
            raise BenchmarkError(
                f"turn {step.turn_index + 1} of '{step.unit_id}' has no reference for the history of later turns; "
                "play with --history predicted"
            )
        return step.turn.references[0] if step.turn.references else None
    return response.text or None


def _option_order(step: Step, settings: PlaySettings) -> tuple[int, ...] | None:
    if not step.turn.options:
        return None
    order = list(range(len(step.turn.options)))
    if settings.option_order == "shuffled":
        name = f"{settings.seed} {step.unit_id} {step.turn_index}"
        random.Random(hashlib.sha256(name.encode()).hexdigest()).shuffle(order)
    return tuple(order)


def answered_turn(
    script: Script,
    step: Step,
    model: str,
    response: Response,
    played: PlayDetails | None = None,
    *,
    was_asked: bool | None = None,
) -> AnsweredTurn:
    """The row of a turn.

    Args:
        script: The script of the turn.
        step: The turn.
        model: Name of the model.
        response: Its response, or the reason why there is none.
        played: How the answer came about.
        was_asked: True if the model was asked. By default, if the protocol scores the turn.
    """
    turn = step.turn
    if was_asked is None:
        was_asked = step.answered
    if step.answered:
        state = AnswerState.ANSWERED if response.text is not None else AnswerState.FAILED
    else:
        state = AnswerState.NOT_SCORED if was_asked else AnswerState.NOT_ASKED
    position = step.turn_index if turn.position is None else turn.position
    return AnsweredTurn(
        model=model,
        item_id=item_id(step.unit_id, position),
        video_id=script.video_id,
        unit_id=step.unit_id,
        turn_index=position,
        epoch=script.epoch,
        question=turn.question,
        references=turn.references,
        text=response.text or "",
        state=state,
        labels=turn.labels,
        unit=step.unit,
        task=step.task,
        reason=response.reason if was_asked else None,
        asked_at_s=step.asked_at_s,
        options=turn.options,
        correct_option=turn.correct_option,
        checklist=turn.checklist,
        rubric=turn.rubric,
        key=turn.key,
        played=played,
    )

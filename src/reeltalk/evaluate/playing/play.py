"""Play one script turn by turn: what is seen, what is said, what is told to the turns after it."""

import hashlib
import random
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from typing import Protocol

from reeltalk.errors import BenchmarkError
from reeltalk.evaluate.answers import item_id
from reeltalk.evaluate.playing.histories import WrongAnswers
from reeltalk.evaluate.playing.player import Past, Pictures, Player, Said, Seen, ShownFrame
from reeltalk.evaluate.playing.script import Script, Step
from reeltalk.evaluate.settings import PlaySettings
from reeltalk.schema.answers import AnsweredTurn, AnswerState, Played

Subtitles = Callable[[Script, Step], Sequence[str]]
"""Lines that ended by the moment of a turn."""


class Screening(Protocol):
    """Shows the frames of one script's video, up to the moment of each turn."""

    def at(self, index: int) -> tuple[tuple[ShownFrame, ...], tuple[ShownFrame, ...]]:
        """All frames that may be seen at a step, and those of them that came since the step before."""
        ...

    @property
    def append_only(self) -> bool:
        """True where frames are only added from turn to turn."""
        ...


class NoScreening:
    """Shows nothing."""

    append_only = True

    def at(self, index: int) -> tuple[tuple[ShownFrame, ...], tuple[ShownFrame, ...]]:
        """No frame."""
        return (), ()


async def play(
    script: Script,
    player: Player,
    screening: Screening,
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
    history: list[Past] = []
    asked = asked_of(script, settings)
    for index, step in enumerate(script.steps):
        frames, new_frames = screening.at(index)
        order = _option_order(step, settings)
        if asked[index]:
            seen = Seen(
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
            said = Said(None)
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
        if settings.told == "none" or index + 1 == len(script.steps):
            continue
        told = _told(script, step, said, settings, planted, wrong)
        if told is not None:
            came = new_frames if screening.append_only else ()
            history.append(Past(step.turn.question, told, tuple(came)))


def asked_of(script: Script, settings: PlaySettings) -> tuple[bool, ...]:
    """For each step of a script whether it is asked.

    A turn that is not scored is asked where all of the history is to be the model's own and a scored turn comes after.

    Args:
        script: What is played.
        settings: How.
    """
    scored = [step.answered for step in script.steps]
    if settings.told != "predicted-all":
        return tuple(scored)
    return tuple(any(scored[index:]) for index in range(len(scored)))


def check_histories(scripts: Iterable[Script], settings: PlaySettings, wrong: WrongAnswers | None) -> None:
    """Refuse what cannot be played to its end, before anything is asked.

    Args:
        scripts: What is going to be played.
        settings: How.
        wrong: As of `play`.

    Raises:
        BenchmarkError: As `play`.
    """
    if settings.told in ("golden", "corrupted"):
        for script in scripts:
            for index, step in enumerate(script.steps[:-1]):
                _told(script, step, Said(None), settings, _is_planted(script, index, settings), wrong)


def _is_planted(script: Script, index: int, settings: PlaySettings) -> bool:
    # From 1, as users count turns; after the last turn nobody is told.
    return settings.told == "corrupted" and index + 1 == settings.corrupt_turn < len(script.steps)


def _new(
    history: Sequence[Past], frames: tuple[ShownFrame, ...], new_frames: tuple[ShownFrame, ...], append_only: bool
) -> tuple[ShownFrame, ...]:
    """Frames that no turn of the history brought; those of a turn that is not told of come with the next one."""
    if not append_only:
        return ()
    brought = {frame.reference for past in history for frame in past.new_frames}
    return tuple(frame for frame in frames if frame.reference not in brought)


def _told(
    script: Script, step: Step, said: Said, settings: PlaySettings, planted: bool, wrong: WrongAnswers | None
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
    if settings.told == "golden" or (not step.answered and settings.told != "predicted-all"):
        if not step.turn.references and settings.told == "golden":
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
    script: Script, step: Step, model: str, said: Said, played: Played | None = None, *, asked: bool | None = None
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

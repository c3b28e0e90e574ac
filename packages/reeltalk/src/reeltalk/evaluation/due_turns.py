"""Write the turns that a model is asked as single requests, each with the dialogue before it, for your own script.

The words are those that `evaluate` sends.
"""

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reeltalk.errors import BenchmarkError
from reeltalk.evaluation.playing.chat import AnswerForms, answer_forms, question_text
from reeltalk.evaluation.playing.play import (
    NoFrameSource,
    Pictures,
    Response,
    Subtitles,
    TurnInput,
    answered_turn,
    play_script,
)
from reeltalk.evaluation.playing.script import Script
from reeltalk.evaluation.settings import PlaySettings
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.record import Json
from reeltalk.store.content import Content

MODEL: Final = "model"
"""Placeholder for the name of the model that answers."""


@dataclass(frozen=True)
class DueTurn:
    """One question with the dialogue before it."""

    turn: AnsweredTurn
    """The question, its references and options, without an answer."""
    index: int
    """Its place in its dialogue, chain or path of the benchmark, from 0."""
    history: tuple[tuple[str, str], ...]
    """Questions and answers of the history, across the chains of a video as in `evaluate`."""
    prompt: str
    """The complete question: spoken lines, the question, and its options by letter."""


@dataclass
class _Listener:
    """A player that gives no answers and records its inputs."""

    seen: list[TurnInput]

    name = MODEL
    signature: tuple[tuple[str, str], ...] = ()
    sees_frames = False

    async def answer(self, seen: TurnInput, pictures: Pictures) -> Response:
        self.seen.append(seen)
        return Response(None)


class _NoPictures:
    async def jpeg(self, reference: bytes) -> bytes:
        raise ValueError(f"no frame {reference!r} was shown")


def list_due_turns(
    scripts: Iterable[Script], settings: PlaySettings, *, subtitles: Subtitles | None = None
) -> list[DueTurn]:
    """Every turn that is asked, in the order of the scripts.

    Args:
        settings: History (golden or none), prompt, order of options.
        subtitles: Gives the spoken lines, if the settings show them.

    Raises:
        BenchmarkError: A golden history needs a reference that the benchmark withholds, or no turn is asked.
        SettingError: The prompt is not known.
        ValueError: The history needs the model's own answers.
    """
    if settings.shown_history not in ("golden", "none"):
        raise ValueError(f"a history of kind {settings.shown_history} cannot be written before a model has answered")
    forms = answer_forms(settings.prompt, settings.answer_style)
    found = [turn for script in scripts for turn in asyncio.run(_collect_turns(script, settings, forms, subtitles))]
    if not found:
        raise BenchmarkError("there is nothing to ask; 'reeltalk report BENCH --format text' counts what there is")
    return found


async def _collect_turns(
    script: Script, settings: PlaySettings, forms: AnswerForms | None, subtitles: Subtitles | None
) -> Sequence[DueTurn]:
    listener = _Listener([])
    rows = [
        row
        async for row in play_script(script, listener, NoFrameSource(), _NoPictures(), settings, subtitles=subtitles)
    ]
    told = iter(listener.seen)
    found: list[DueTurn] = []
    for row, step in zip(rows, script.steps, strict=True):
        if step.answered:
            seen = next(told)
            turn = answered_turn(script, step, MODEL, Response(""), row.played)
            found.append(
                DueTurn(
                    turn=turn.model_copy(update={"state": AnswerState.ANSWERED}),
                    index=step.turn_index,
                    history=tuple((past.question, past.answer) for past in seen.history),
                    prompt=question_text(seen, forms),
                )
            )
    return found


def question_rows(
    turns: Sequence[DueTurn], content: Content, media: Callable[[str], Path | None], *, start: Path
) -> list[dict[str, Json]]:
    """One row for each turn, in the order in which they are asked, without its answer.

    Args:
        turns: The turns that are asked.
        content: The benchmark.
        media: The file of a video; None if it is not available.
        start: Folder from which the paths of videos start.

    Returns:
        `id` (of the turn in a run), `unit`, `unit_id`, `turn_index` (from 0), `video_id`, `video` (path
        of the file), `file_name` (its name in your folder), `asked_at_s` (show a model nothing later; null for the
        whole video), `question`, `options`, `history` (earlier questions with their reference answers) and `prompt`
        (the question with spoken lines and lettered options, as `evaluate` sends it).
    """
    names = {str(video.id): video.file for video in content.videos}
    rows = []
    for asked in turns:
        turn = asked.turn
        path = media(turn.video_id)
        rows.append(
            {
                "id": turn.item_id,
                "unit": turn.unit,
                "unit_id": turn.unit_id,
                "turn_index": asked.index,
                "video_id": turn.video_id,
                "video": None if path is None else Path(os.path.relpath(path.resolve(), start)).as_posix(),
                "file_name": names.get(turn.video_id),
                "asked_at_s": turn.asked_at_s,
                "question": turn.question,
                "options": list(turn.options) if turn.options else None,
                "history": [{"question": question, "answer": answer} for question, answer in asked.history],
                "prompt": asked.prompt,
            }
        )
    return rows

"""Answers from a file or from a user's class as players, and a cache of any player's answers.

A user's class runs with all rights, like any imported code.
"""

import asyncio
import dataclasses
import inspect
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from reeltalk.errors import BudgetError, OutageError, SettingError
from reeltalk.evaluation.playing.chat import speech_text
from reeltalk.evaluation.playing.play import Pictures, Player, Response, TurnInput
from reeltalk.extension import error_line, made_of
from reeltalk.llm.model import Message, Reply
from reeltalk.llm.replies import ReplyStore, reply_key
from reeltalk.schema.answers import NOT_IN_SOURCE, SAYS_NONE
from reeltalk.store.content import Content
from reeltalk.video.encode import pixels_of


class AnswersPlayer:
    """Gives known answers.

    Args:
        answers: Text by the unit's identifier and the turn's index, from 0; None if the source has no answer.
        name: Name in tables.
        sha256: Hash of the source, for the signature.
    """

    sees_frames = False

    def __init__(self, answers: Mapping[tuple[str, int], str | None], *, name: str, sha256: str = "") -> None:
        self._answers, self._name, self._sha256 = answers, name, sha256

    @classmethod
    def of(cls, content: Content, *, source: str, sha256: str = "") -> "AnswersPlayer":
        """The player of a file's answers.

        Raises:
            SettingError: It holds answers of several models, or of none.
        """
        models = {answer.model for answer in content.answers}
        if len(models) != 1:
            raise SettingError(f"{source} holds answers of {len(models)} models; give a file that holds those of one")
        texts = {(a.unit_id, a.turn_index): a.text if a.state == "answered" else None for a in content.answers}
        return cls(texts, name=models.pop(), sha256=sha256)

    @property
    def name(self) -> str:
        return self._name

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The hash of the source, if it is known."""
        return (("answers", self._sha256[:8] or "given"),)

    async def answer(self, seen: TurnInput, pictures: Pictures) -> Response:
        """The known answer, or the reason why there is none."""
        place = (seen.step.unit_id, seen.step.turn_index)
        if place not in self._answers:
            return Response(text=None, reason=NOT_IN_SOURCE)
        text = self._answers[place]
        return Response(text=text, reason=None if text is not None else SAYS_NONE)


NEEDED_METHOD: Final = "answer(frames, history, question)"


class PythonPlayer:
    """Plays with an object of a class that has `answer(frames, history, question) -> str`.

    `frames` is a list of (H, W, 3) uint8 RGB arrays in order, `history` a list of (question, answer). `question` also
    holds the options, and the spoken lines if they are shown. The method may be a coroutine. Otherwise it runs in a
    thread, one call at a time, because few models allow more.

    Args:
        spec: `package.module:Class` or `path/to/file.py:Class`; the class is made without arguments.
        sees_frames: False for a class that needs no frames; then none are decoded and it gets an empty list.

    Raises:
        SettingError: There is no such class, it cannot be made, or it has no fitting `answer`.
    """

    def __init__(self, spec: str, *, sees_frames: bool = True) -> None:
        made = made_of(spec)
        self._object: Any = made.object
        self._answer: Callable[..., Any] = _method(self._object, spec)
        self._hash, self._name, self._sees_frames = made.sha256, made.class_name, sees_frames
        self._alone: asyncio.Lock | None = None

    @property
    def name(self) -> str:
        """The `name` of the object if it is a text, else the name of its class."""
        own = getattr(self._object, "name", None)
        return own if isinstance(own, str) and own else self._name

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The class, and a hash of its file."""
        return (("python", f"{self._name}#{self._hash}"),)

    @property
    def sees_frames(self) -> bool:
        return self._sees_frames

    async def answer(self, seen: TurnInput, pictures: Pictures) -> Response:
        """The object's answer, or the reason why there is none: it raised an error or returned no text.

        Raises:
            BudgetError: The object raised it.
        """
        frames = [pixels_of(await pictures.jpeg(frame.reference)) for frame in seen.frames] if self._sees_frames else []
        history = [(past.question, past.answer) for past in seen.history]
        question = "\n\n".join((*speech_text(seen), seen.question))
        if seen.options:
            question += "".join(f"\n{chr(ord('A') + n)}. {option}" for n, option in enumerate(seen.options))
        try:
            text = await self._ask(frames, history, question)
        except (BudgetError, OutageError):
            raise
        except Exception as error:
            return Response(text=None, reason=error_line(error))
        if not isinstance(text, str):
            return Response(text=None, reason=f"answer() gave {type(text).__name__}, not a text")
        return Response(text=text)

    async def _ask(self, frames: Sequence[Any], history: Sequence[tuple[str, str]], question: str) -> object:
        if inspect.iscoroutinefunction(self._answer):
            return await self._answer(frames, history, question)
        # Created here, because a lock belongs to the event loop that first waits for it.
        self._alone = self._alone or asyncio.Lock()
        async with self._alone:
            return await asyncio.to_thread(self._answer, frames, history, question)


def _method(made: object, spec: str) -> Callable[..., Any]:
    method: Callable[..., Any] | None = getattr(made, "answer", None)
    if method is None or not callable(method):
        raise SettingError(f"{spec}: the class has no method {NEEDED_METHOD}")
    try:
        inspect.signature(method).bind([], [], "")
    except (TypeError, ValueError):
        raise SettingError(f"{spec}: its method answer does not take (frames, history, question)") from None
    return method


class CachedPlayer:
    """A player with stored answers. Turns that it failed to answer are asked again."""

    def __init__(self, player: Player, store: ReplyStore) -> None:
        self._player, self._store = player, store

    @property
    def name(self) -> str:
        return self._player.name

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        return self._player.signature

    @property
    def sees_frames(self) -> bool:
        return self._player.sees_frames

    async def answer(self, seen: TurnInput, pictures: Pictures) -> Response:
        """The stored answer, else a new one.

        Raises:
            BenchmarkError: The answer cannot be stored, as on a full disk.
        """
        said = [[past.question, past.answer] for past in seen.history]
        asked = json.dumps([seen.question, said, seen.options, seen.subtitles], ensure_ascii=False)
        shown = Message("user", asked, tuple(frame.reference for frame in seen.frames))
        key = reply_key(self.name, [shown], sampling=dict(self.signature), sample=seen.epoch)
        kept = self._store.get(key)
        if kept is not None:
            return dataclasses.replace(Response.of(kept), origin=None)
        began_s = time.monotonic()
        answer = await self._player.answer(seen, pictures)
        if answer.text is not None:
            took_s = answer.took_s if answer.took_s is not None else time.monotonic() - began_s
            reply = Reply(
                answer.text,
                self.name,
                answer.prompt_tokens,
                answer.completion_tokens,
                cut_off=False,
                took_s=took_s,
                first_token_s=answer.first_token_s,
            )
            self._store.put(key, reply)
        return answer

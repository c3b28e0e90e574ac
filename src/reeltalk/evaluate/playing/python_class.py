"""A class of the user's own as a player: any Python that answers a question about frames.

The class is the user's code and runs with all rights, as anything that is imported.
"""

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final

from reeltalk.errors import BudgetError, OutageError, SettingError
from reeltalk.evaluate.playing.player import Pictures, Said, Seen
from reeltalk.extension import made_of, told
from reeltalk.video.encode import pixels_of

WANTED: Final = "answer(frames, history, question)"


class PythonPlayer:
    """Plays with an object of a class that has `answer(frames, history, question) -> str`.

    `frames` is a list of (H, W, 3) uint8 RGB arrays in order, `history` a list of (question, answer). The method may be
    a coroutine; one that is none runs in a thread, one call at a time, for few models bear more.

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
        """The object's own `name` where that is a text, else its class's."""
        own = getattr(self._object, "name", None)
        return own if isinstance(own, str) and own else self._name

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The class, and a hash of its file."""
        return (("python", f"{self._name}#{self._hash}"),)

    @property
    def sees_frames(self) -> bool:
        """As given."""
        return self._sees_frames

    async def answer(self, seen: Seen, pictures: Pictures) -> Said:
        """What the object answers; nothing, with the reason, where it raises or gives no text.

        Raises:
            BudgetError: The object raised it.
        """
        frames = [pixels_of(await pictures.jpeg(frame.reference)) for frame in seen.frames] if self._sees_frames else []
        history = [(past.question, past.answer) for past in seen.history]
        question = seen.question
        if seen.options:
            question += "".join(f"\n{chr(ord('A') + n)}. {option}" for n, option in enumerate(seen.options))
        try:
            text = await self._ask(frames, history, question)
        except (BudgetError, OutageError):
            raise
        except Exception as error:
            return Said(text=None, reason=told(error))
        if not isinstance(text, str):
            return Said(text=None, reason=f"answer() gave {type(text).__name__}, not a text")
        return Said(text=text)

    async def _ask(self, frames: Sequence[Any], history: Sequence[tuple[str, str]], question: str) -> object:
        if inspect.iscoroutinefunction(self._answer):
            return await self._answer(frames, history, question)
        # Made here, as a lock belongs to the event loop that first waits for it.
        self._alone = self._alone or asyncio.Lock()
        async with self._alone:
            return await asyncio.to_thread(self._answer, frames, history, question)


def _method(made: object, spec: str) -> Callable[..., Any]:
    method: Callable[..., Any] | None = getattr(made, "answer", None)
    if method is None or not callable(method):
        raise SettingError(f"{spec}: the class has no method {WANTED}")
    try:
        inspect.signature(method).bind([], [], "")
    except (TypeError, ValueError):
        raise SettingError(f"{spec}: its method answer does not take (frames, history, question)") from None
    return method

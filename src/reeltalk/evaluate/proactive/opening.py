"""Whoever follows streams, by name."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import ModelError, ReeltalkError, SettingError
from reeltalk.evaluate.proactive.settings import ProactiveSettings
from reeltalk.evaluate.proactive.watching import Always, Never, StreamWatcher, Watcher
from reeltalk.inference.stream import Spoken, Stream, StreamingModel

if TYPE_CHECKING:
    from reeltalk.evaluate.opening import Asking
    from reeltalk.llm import Budget, ReplyStore
    from reeltalk.llm.client import Picture

KINDS: Final = "mini, mini:FOLDER, python:MODULE:CLASS, poll:MODEL, always:SECONDS, never"
_METHODS: Final = ("see", "ask", "instruct", "speak", "told")


def opened_watcher(
    spec: str,
    settings: ProactiveSettings,
    *,
    asking: "Asking",
    store: "ReplyStore",
    budget: "Budget | None",
    picture: "Picture | None",
) -> Watcher:
    """Whoever follows streams, by name.

    Args:
        spec: One of `KINDS`.
        settings: When a streaming model speaks.
        asking: How a chat model is polled.
        store: Keeps its replies.
        budget: Limits.
        picture: Gives the JPEG files for what messages hold in place of pictures.

    Raises:
        SettingError: There is none of the name.
        ModelError: It cannot be opened.
        MissingExtraError: What it needs is not installed.
    """
    kind, colon, name = spec.partition(":")
    if spec == "never":
        return Never()
    if kind == "always" and colon:
        return Always(_seconds(name, spec))
    if kind == "poll" and name:
        from reeltalk.evaluate.opening import served
        from reeltalk.evaluate.proactive.polling import PollWatcher

        model = served(name, asking, store, budget, picture)
        return PollWatcher(model, close=model.model.api.aclose)
    return StreamWatcher(streaming_model(spec), threshold=settings.threshold, refractory_s=settings.refractory_s)


def check_rule(watcher: Watcher, *, told: bool, tuned_for: str | None) -> None:
    """Refuse a rule of when to speak for whoever has none, and one that was picked for another model.

    Args:
        watcher: Who follows.
        told: A threshold or a refractory time was given.
        tuned_for: The model that they were picked for; None where they were not picked.

    Raises:
        SettingError: The rule does not apply.
    """
    if not isinstance(watcher, StreamWatcher):
        if told or tuned_for is not None:
            raise SettingError(
                f"{watcher.name} does not tell how ready it is; leave --threshold, --refractory and --tuned out"
            )
    elif tuned_for not in (None, watcher.name):
        raise SettingError(
            f"the threshold was picked for {tuned_for}, and this is {watcher.name}; tune for it, or give --threshold"
        )


def streaming_model(spec: str) -> StreamingModel:
    """A model that follows streams, by name: `mini`, `mini:FOLDER` or `python:MODULE:CLASS`.

    Raises:
        InputError: The folder holds no such model.
        SettingError: There is none of the name, or the class has no such methods.
    """
    kind, colon, name = spec.partition(":")
    if kind == "mini":
        from reeltalk.evaluate.opened_mini import opened_mini

        return opened_mini(spec, policy=None)
    if kind == "python" and colon:
        from reeltalk.extension import made_of

        made = made_of(name)
        begin = getattr(made.object, "stream", None)
        if not callable(begin):
            raise SettingError(f"{name}: the class has no method stream(); see reeltalk.inference.stream")
        try:
            stream = begin()
        except Exception as error:
            raise SettingError(f"{name}: stream() fails: {type(error).__name__}: {error}; mend the class") from error
        missing = [method for method in _METHODS if not callable(getattr(stream, method, None))]
        if missing:
            raise SettingError(f"{name}: what stream() gives has no method {missing[0]}; see reeltalk.inference.stream")
        if not isinstance(getattr(stream, "memory_bytes", None), int):
            raise SettingError(f"{name}: what stream() gives tells no memory_bytes, a whole number")
        return _Named(made.object, f"{made.class_name}#{made.sha256}")
    raise SettingError(f"no model {spec!r} that follows streams; known are {KINDS}")


class _Named:
    """A class of the user's own, named by its file where it has no name itself."""

    def __init__(self, made: StreamingModel, name: str) -> None:
        self._made = made
        own = getattr(made, "name", None)
        self.name = own if isinstance(own, str) and own else name

    def stream(self) -> Stream:
        """A new conversation."""
        return _OwnStream(self._made.stream(), self.name)


class _OwnStream:
    """A stream of the user's own: what goes wrong in it is told as an error of the model."""

    def __init__(self, own: Stream, name: str) -> None:
        self._own, self._name = own, name

    @property
    def memory_bytes(self) -> int:
        return self._own.memory_bytes

    def see(self, rgb: NDArray[np.uint8], pts_s: float) -> float | None:
        readiness = self._called("see", rgb, pts_s)
        if readiness is None:
            return None
        try:
            number = float(readiness)
        except (TypeError, ValueError):
            number = -1.0
        if not 0 <= number <= 1:
            raise ModelError(f"{self._name}: see() gave {readiness!r}, not a readiness from 0 to 1, or None")
        return number

    def ask(self, question: str) -> Spoken:
        return self._spoken("ask", question)

    def instruct(self, instruction: str) -> None:
        self._called("instruct", instruction)

    def speak(self) -> Spoken:
        return self._spoken("speak")

    def told(self, question: str, answer: str) -> None:
        self._called("told", question, answer)

    def _spoken(self, method: str, *arguments: Any) -> Spoken:
        said = self._called(method, *arguments)
        if not isinstance(said, Spoken):
            raise ModelError(f"{self._name}: {method}() gave {type(said).__name__}, not Spoken")
        return said

    def _called(self, method: str, *arguments: Any) -> Any:
        try:
            return getattr(self._own, method)(*arguments)
        except ReeltalkError:
            raise
        except Exception as error:
            # Code of the user's own raises whatever it likes.
            raise ModelError(f"{self._name}: {method}() fails: {type(error).__name__}: {error}") from error


def _seconds(text: str, spec: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise SettingError(f"{spec!r}: give the seconds from one reply to the next, as always:5")
    return seconds

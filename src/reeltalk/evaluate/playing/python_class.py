"""A class of the user's own as a player: any Python that answers a question about frames.

The class is the user's code and runs with all rights, as anything that is imported.
"""

import asyncio
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from reeltalk.errors import BudgetError, SettingError
from reeltalk.evaluate.playing.player import Pictures, Said, Seen
from reeltalk.store.manifest import hash_file
from reeltalk.video.encode import pixels_of

WANTED: Final = "answer(frames, history, question)"


class Made(NamedTuple):
    """An object of a class of the user's own."""

    object: Any
    class_name: str
    sha256: str
    """First digits of the hash of the class's file."""


def made_of(spec: str) -> Made:
    """An object of a class that is named.

    Args:
        spec: `package.module:Class` or `path/to/file.py:Class`; the class is made without arguments.

    Raises:
        SettingError: There is no such class, or it cannot be made.
    """
    module, class_name = _loaded(spec)
    made = made_object(_class_of(module, class_name, spec), spec)
    source = getattr(module, "__file__", None)
    sha256 = hash_file(Path(source))[0][:8] if source and Path(source).is_file() else "built-in"
    return Made(made, class_name, sha256)


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
        except BudgetError:
            raise
        except Exception as error:
            return Said(text=None, reason=_told(error))
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


def loaded_class(spec: str) -> type[Any]:
    """A class of the user's own.

    Args:
        spec: `package.module:Class` or `path/to/file.py:Class`.

    Raises:
        SettingError: There is no such class.
    """
    module, class_name = _loaded(spec)
    return _class_of(module, class_name, spec)


def made_object(found: type[Any], spec: str) -> Any:
    """An object of a class of the user's own, made without arguments.

    Raises:
        SettingError: It cannot be made.
    """
    try:
        return found()
    except Exception as error:
        raise SettingError(
            f"{spec}: the class cannot be made without arguments: {_told(error)}; give its arguments defaults"
        ) from error


def _class_of(module: ModuleType, class_name: str, spec: str) -> type[Any]:
    found = getattr(module, class_name, None)
    if not inspect.isclass(found):
        raise SettingError(f"{spec}: {module.__name__} has no class {class_name!r}; give MODULE:CLASS")
    return found


def _loaded(spec: str) -> tuple[ModuleType, str]:
    where, colon, class_name = spec.rpartition(":")
    if not colon or not where or not class_name:
        raise SettingError(f"{spec!r} names no class; give package.module:Class or path/to/file.py:Class")
    try:
        return (_from_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)), class_name
    except SettingError:
        raise
    except ModuleNotFoundError as error:
        hint = "install it, or give the path of its file" if error.name == where.split(".")[0] else "install it"
        raise SettingError(f"{spec}: {error}; {hint}") from error
    except Exception as error:
        raise SettingError(f"{spec} cannot be imported: {_told(error)}; mend the module") from error


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise SettingError(f"{path}: no such file; give the path of a Python file, or package.module:Class")
    name = f"reeltalk_player_{path.stem}"
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    # Dataclasses look their module up while they are made.
    sys.modules[name] = module
    try:
        found.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _method(made: object, spec: str) -> Callable[..., Any]:
    method: Callable[..., Any] | None = getattr(made, "answer", None)
    if method is None or not callable(method):
        raise SettingError(f"{spec}: the class has no method {WANTED}")
    try:
        inspect.signature(method).bind([], [], "")
    except (TypeError, ValueError):
        raise SettingError(f"{spec}: its method answer does not take (frames, history, question)") from None
    return method


def _told(error: BaseException) -> str:
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__

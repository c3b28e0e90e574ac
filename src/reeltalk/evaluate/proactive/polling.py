"""Any chat model as one that speaks unasked: at each frame it is asked whether there is something to say now.

StreamingBench polls with the output that it expects in the question, so that a model need only read it off. Here the
poll holds the instruction, as the task gave it, and nothing else: not what is due, and not how it would be said.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from reeltalk.errors import ModelError
from reeltalk.evaluate.playing.chat import spoken
from reeltalk.evaluate.proactive.watching import Glimpse, Observed, Signature, Watching
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.llm.prompts import Prompt
from reeltalk.metrics.agree import polarity

PROMPTS: Final = Path(__file__).parent / "prompts"
FRAMES: Final = 8
"""So many of the latest frames are shown; a chat model reads all of them again at each poll."""
SAID: Final = 3
"""So many of its latest replies a model is reminded of."""


class PollWatcher:
    """Polls a chat model at each frame.

    Args:
        model: Who is asked; its messages hold references of frames in place of pictures.
        frames: How many of the latest frames it is shown.
        close: Closes the model's connections.
    """

    def __init__(
        self, model: AsyncModel, *, frames: int = FRAMES, close: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._model, self._frames, self._close = model, frames, close
        self._prompts = tuple(Prompt.load(PROMPTS / f"{name}.md") for name in ("poll", "poll-time", "poll-words"))

    @property
    def name(self) -> str:
        """`poll:` and the model's."""
        return f"poll:{self._model.name}"

    @property
    def signature(self) -> Signature:
        """Prompt, frames and sampling."""
        sampling = ",".join(f"{key}={value}" for key, value in sorted(self._model.sampling.items()))
        prompts = "+".join(prompt.signature for prompt in self._prompts)
        return (("prompt", prompts), ("shown", str(self._frames)), ("sampling", sampling or "none"))

    def begin(self) -> Watching:
        """As `Watcher.begin`."""
        return _Polling(self._model, self._prompts, self._frames)

    async def close(self) -> None:
        """As `Watcher.close`."""
        if self._close is not None:
            await self._close()


class _Polling:
    memory_bytes: int | None = None

    def __init__(self, model: AsyncModel, prompts: tuple[Prompt, ...], frames: int) -> None:
        self._model = model
        self._system, self._time, self._words = prompts
        self._shown: deque[bytes] = deque(maxlen=frames)
        self._instruction = ""
        self._said: list[tuple[float, str]] = []

    async def instruct(self, instruction: str) -> None:
        self._instruction = instruction

    async def see(self, glimpse: Glimpse) -> Observed:
        self._shown.append(glimpse.reference)
        if not self._instruction:
            return Observed(None, None, 0.0)
        question = self._question(glimpse.at_s)
        pictures = tuple(self._shown) if self._model.sees_images else ()
        asked = [Message("system", self._system.text), Message("user", question, pictures)]
        poll = await self._model.ask(asked)
        took_s = poll.took_s or 0.0
        if polarity(spoken(poll.text)) != "yes":
            return Observed(None, None, took_s)
        reply = await self._model.ask([*asked, Message("assistant", "Yes."), Message("user", self._words.text)])
        text = spoken(reply.text)
        if not text:
            raise ModelError("the model said that it is time to speak, and then said nothing")
        self._said.append((glimpse.at_s, text))
        return Observed(None, text, took_s, reply.took_s or 0.0)

    def _question(self, at_s: float) -> str:
        said = "".join(f'{at_s - before_s:.0f} s ago you said: "{text}"\n' for before_s, text in self._said[-SAID:])
        return said + self._time.fill(instruction=self._instruction)

"""What a video's text is worth: a language model that reads the summary and never sees a frame."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from reeltalk.errors import BudgetError, OutageError, ReeltalkError
from reeltalk.evaluate.playing.chat import in_style
from reeltalk.evaluate.playing.player import Pictures, Said, Seen
from reeltalk.evaluate.settings import AnswerStyle
from reeltalk.llm.fencing import fence
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.llm.prompts import Prompt

PROMPT: Final = Path(__file__).parent / "prompts" / "summary.md"


class SummaryPlayer:
    """Asks a language model with the summary, the history and the question.

    Args:
        model: Who answers.
        summaries: Gives a video's summary; None where it has none.
        prompt: How it is asked; `prompts/summary.md` by default.
        kind: Which summary it is, as `template`, for the name.
        style: `short` asks for a word or a phrase.
    """

    def __init__(
        self,
        model: AsyncModel,
        summaries: Callable[[str], str | None],
        prompt: Prompt | None = None,
        *,
        kind: str = "summary",
        style: AnswerStyle = "free",
    ) -> None:
        self._model, self._summaries, self._kind = model, summaries, kind
        self._prompt = in_style(prompt or Prompt.load(PROMPT), style)

    @property
    def name(self) -> str:
        """The kind of summary and the model, as `template+gpt-4o`."""
        return f"{self._kind}+{self._model.name}"

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """Kind of summary, prompt, model and sampling."""
        sampling = ",".join(f"{name}={value}" for name, value in sorted(self._model.sampling.items()))
        return (
            ("summary", self._kind),
            ("prompt", self._prompt.signature),
            ("model", self._model.name),
            ("sampling", sampling),
        )

    @property
    def sees_frames(self) -> bool:
        """Never."""
        return False

    async def answer(self, seen: Seen, pictures: Pictures) -> Said:
        """What the model answers; nothing, with the reason, where the video has no summary or the model failed.

        Raises:
            BudgetError: A limit would be passed.
        """
        summary = self._summaries(seen.video_id)
        if summary is None:
            return Said(text=None, reason=f"the video has no {self._kind}")
        try:
            reply = await self._model.ask([Message("user", self._text(seen, summary))])
        except (BudgetError, OutageError):
            raise
        except ReeltalkError as error:
            return Said(text=None, reason=str(error))
        return Said(
            text=reply.text,
            took_s=reply.took_s,
            first_token_s=reply.first_token_s,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            cached=reply.cached,
        )

    def _text(self, seen: Seen, summary: str) -> str:
        said = "\n".join(f"Question: {past.question}\nAnswer: {past.answer}" for past in seen.history)
        options = "\n".join(f"{chr(ord('A') + n)}. {option}" for n, option in enumerate(seen.options or ()))
        return self._prompt.fill(
            summary=fence(summary),
            history=f"The conversation so far:\n{said}\n\n" if said else "",
            question=f"The question now:\n{seen.question}",
            options=f"\n\nThe choices; answer with the letter of one:\n{options}" if options else "",
        )

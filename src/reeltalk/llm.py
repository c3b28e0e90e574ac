"""Ask a language model behind any OpenAI-compatible endpoint. The home of the `openai` package.

The package does the retries, back-off and timeouts. A reply is data: nothing here acts on what it says.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.errors import MissingExtraError, ModelError


class Endpoint(BaseModel):
    """Which model answers, where, and how it is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    model: str
    """Name of the model, as the server knows it."""
    base_url: str | None = None
    """Address of an OpenAI-compatible server, as http://localhost:8000/v1; OpenAI's own by default."""
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    """Sampling temperature."""
    max_tokens: Annotated[int, Field(ge=1)] = 2048
    """Longest reply."""
    seed: int | None = 17
    """Seed, where the server knows one."""
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    """Longest wait for one reply."""
    max_retries: Annotated[int, Field(ge=0)] = 5
    """How often a request that failed on the way is sent again."""


@dataclass(frozen=True)
class Reply:
    """What a model answered."""

    text: str
    model: str
    """Name that the server gave."""
    prompt_tokens: int | None
    completion_tokens: int | None
    cut_off: bool
    """True where the reply ended at `max_tokens`."""


@dataclass(frozen=True)
class Prompt:
    """A versioned prompt file: its first line names and numbers it, `{fields}` are filled in when it is asked."""

    name: str
    version: str
    text: str
    sha256: str

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a prompt file.

        Raises:
            ValueError: Its first line is not `<!-- NAME vN -->`.
        """
        content = path.read_text(encoding="utf-8")
        head, _, body = content.partition("\n")
        match = re.fullmatch(r"<!-- ([\w-]+) (v\d+) -->", head)
        if match is None:
            raise ValueError(f"{path}: the first line must name the prompt and its version, <!-- NAME vN -->")
        return cls(match[1], match[2], body.strip(), hashlib.sha256(content.encode()).hexdigest())

    @property
    def signature(self) -> str:
        """Name, version and the beginning of the hash, as it stands beside what the prompt produced."""
        return f"{self.name}.{self.version}#{self.sha256[:8]}"

    def fill(self, **fields: str) -> str:
        """The text with its fields; what is filled in is never searched for fields itself."""
        return re.sub(r"\{(\w+)\}", lambda match: fields[match[1]], self.text)


class LanguageModel:
    """A model that can be asked; safe to share among threads."""

    def __init__(self, endpoint: Endpoint, *, api_key: str | None = None) -> None:
        """Connect lazily.

        Args:
            endpoint: Which model, and where.
            api_key: Key of the server; a local one usually needs none.

        Raises:
            MissingExtraError: The `openai` package is not installed.
        """
        try:
            import openai
        except ImportError:
            raise MissingExtraError("asking a language model", extra="llm") from None
        self.endpoint, self._errors = endpoint, openai
        self._client = openai.OpenAI(
            api_key=api_key or "none",
            base_url=endpoint.base_url,
            timeout=endpoint.timeout_s,
            max_retries=endpoint.max_retries,
        )

    def ask(self, prompt: str, *, system: str | None = None) -> Reply:
        """One question, one reply.

        Raises:
            ModelError: The server cannot be reached, refuses, or answers with nothing.
        """
        messages: list[Any] = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": prompt})
        where = self.endpoint.base_url or "the default endpoint"
        try:
            answer = self._client.chat.completions.create(
                model=self.endpoint.model,
                messages=messages,
                temperature=self.endpoint.temperature,
                max_tokens=self.endpoint.max_tokens,
                seed=self.endpoint.seed,
            )
        except self._errors.APITimeoutError:
            raise ModelError(
                f"{self.endpoint.model} at {where} gave no reply within {self.endpoint.timeout_s:g} s"
            ) from None
        except self._errors.APIConnectionError as error:
            raise ModelError(f"{where} cannot be reached: {error.__cause__ or error}; check --base-url") from None
        except self._errors.APIStatusError as error:
            raise ModelError(
                f"{self.endpoint.model} at {where} answered {error.status_code}: {_one_line(error.message)}"
            ) from None
        except self._errors.OpenAIError as error:
            raise ModelError(f"{self.endpoint.model} at {where}: {_one_line(str(error))}") from None
        choices = getattr(answer, "choices", None)
        text = choices[0].message.content if choices else None
        if not isinstance(text, str) or not text.strip():
            raise ModelError(f"{self.endpoint.model} at {where} gave an empty reply")
        return Reply(
            text=text.strip(),
            model=answer.model or self.endpoint.model,
            prompt_tokens=answer.usage.prompt_tokens if answer.usage else None,
            completion_tokens=answer.usage.completion_tokens if answer.usage else None,
            cut_off=answer.choices[0].finish_reason == "length",
        )


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]

"""The example replies that stand in prompts."""

import json
from collections.abc import Iterator
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from reeltalk.llm import Prompt

T = TypeVar("T")
_BLANK = '"\u2026"'
"""Placeholder for a text in the form of a reply."""


def examples_in(prompt: Prompt, kind: type[T]) -> tuple[T, ...]:
    """The example replies in a prompt. A form with blanks, as `{"caption": "…"}`, is not an example.

    Args:
        prompt: Any prompt.
        kind: Type of the replies to it.
    """
    return tuple(_records(prompt.text, TypeAdapter(kind)))


def _records(text: str, adapter: TypeAdapter[T]) -> Iterator[T]:
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            found, end = decoder.raw_decode(text, start)
            if _BLANK in text[start:end]:
                start = text.find("{", end)
                continue
            yield adapter.validate_json(json.dumps(found), strict=True)
        except ValidationError:
            start = text.find("{", end)
        except ValueError:
            start = text.find("{", start + 1)
        else:
            start = text.find("{", end)

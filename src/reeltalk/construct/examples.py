"""Worked examples in the writers' prompts, and drafts that copy them.

An example shows the form of a reply on invented facts about another video. What a prompt holds as JSON of the reply's
type is an example, else what it quotes, also where the prompt is a user's own. A draft that repeats its content is not
about the video.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from reeltalk.construct.wording import content_words, normalised
from reeltalk.errors import shorten
from reeltalk.llm import Prompt

T = TypeVar("T")

_QUOTED: Final = re.compile(r'"([^"\n]+)"|\u201c([^\u201d\n]+)\u201d')
_BLANK: Final = '"\u2026"'
"""What stands in a form in place of a text."""

MOST_SHARED: Final = 0.75
"""A text of whose content words this share stands in one text of an example repeats it."""
FEWEST_WORDS: Final = 4
"""A text with fewer content words may share all of them by chance, as "What does she do next?"; only the very same
words make it a copy."""
FEWEST_SAME: Final = 3
"""With fewer content words even the very same text says nothing, as "Okay."."""
MOST_OF_SUBJECT: Final = 0.75
"""A draft with this share of the words that an example comes back to has the example's subject."""
FEWEST_OF_SUBJECT: Final = 5
"""And with at least so many of them."""


def examples_in(prompt: Prompt, kind: type[T]) -> tuple[T, ...]:
    """The replies that a prompt shows as examples. A form with blanks, as `{"caption": "…"}`, is none.

    Args:
        prompt: Any.
        kind: Type of the replies to it.
    """
    return tuple(_records(prompt.text, TypeAdapter(kind)))


def quoted_in(prompt: Prompt) -> tuple[str, ...]:
    """What a prompt quotes, as an example that it tells in prose does.

    Args:
        prompt: Any.
    """
    return tuple(straight or curved for straight, curved in _QUOTED.findall(prompt.text))


def copied(draft: Sequence[str], example: Sequence[str]) -> str | None:
    """Why a draft cannot be used, where it repeats what an example says.

    Args:
        draft: Its texts.
        example: Those of the example.
    """
    known = [(normalised(text), content_words(text)) for text in example]
    seen = Counter(word for _, words in known for word in words)
    subject = {word for word, times in seen.items() if times > 1}
    for text in draft:
        own = content_words(text)
        for said, words in known:
            same = len(own) >= FEWEST_SAME and normalised(text) == said
            alike = len(own) >= FEWEST_WORDS and len(own & words) >= MOST_SHARED * len(own)
            # "Please sum up what we have talked about so far." may stand in any dialogue.
            if (same or alike) and own & words & subject:
                return f"it repeats the example in place of this video: {shorten(text)}"
    shared = subject & {word for text in draft for word in content_words(text)}
    if len(shared) >= max(FEWEST_OF_SUBJECT, MOST_OF_SUBJECT * len(subject)):
        return f"it has the subject of the example in place of this video's: {', '.join(sorted(shared))}"
    return None


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

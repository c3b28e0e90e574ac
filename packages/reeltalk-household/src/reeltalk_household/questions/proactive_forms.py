"""The words of users and of replies in streams: a grammar whose forms are divided among the splits.

Each line of `proactive.toml` holds alternatives in brackets and stands for all its combinations. A combination belongs
to the split that its hash gives, so that no form of train occurs in dev or test.
"""

import hashlib
import random
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from reeltalk.language import phrases
from reeltalk.language.grammar import alternatives, split_of_form
from reeltalk_household.questions.wording import fill_form

FORMS: Final = Path(__file__).parent / "proactive.toml"


class ProactiveForm(BaseModel):
    """The forms of one kind of words of a user, and of the replies to them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    forms: tuple[str, ...]
    """All combinations, in the order of the file."""
    answers: tuple[str, ...] = ()


@cache
def proactive_forms() -> Mapping[str, ProactiveForm]:
    """Forms by kind."""
    raw = tomllib.loads(FORMS.read_text(encoding="utf-8"))
    return {
        kind: ProactiveForm.model_validate(
            form | {"forms": tuple(dict.fromkeys(one for line in form["forms"] for one in alternatives(line)))}
        )
        for kind, form in raw.items()
    }


@cache
def proactive_forms_of(kind: str, split: str) -> tuple[tuple[str, str], ...]:
    """The forms that a split may use, each with its name, for example `room/3`."""
    return tuple(
        (f"{kind}/{number}", text)
        for number, text in enumerate(proactive_forms()[kind].forms)
        if split_of_form(int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)) == split
    )


def say(kind: str, slots: Mapping[str, str], split: str, draw: random.Random) -> tuple[str, str]:
    """Words of a user, and the name of their form.

    Args:
        kind: A kind of `proactive.toml`.
        slots: Words for its slots; `who` is who acts.
        split: The split whose forms are used.
        draw: Chooses among them.
    """
    name, template = draw.choice(proactive_forms_of(kind, split))
    # A question after a colon goes on in small letters.
    template = re.sub(r": ([A-Z])", lambda match: f": {match[1].lower()}", template)
    return phrases.sentence(fill_form(template, slots, named=True)), name


def replies(kind: str, slots: Mapping[str, str]) -> tuple[str, ...]:
    """All replies of a kind, in words."""
    answers = proactive_forms()[kind].answers
    return tuple(dict.fromkeys(phrases.sentence(fill_form(answer, slots, named=True)) for answer in answers))

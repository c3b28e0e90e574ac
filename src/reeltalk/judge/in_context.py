"""Whether an answer says the same as a reference, where the dialogue before tells what both speak of.

A reference often repeats what a question asked for, or names what a pronoun stands for ("Right after opening the
fridge, the person takes the milk"); an answer need not ("He takes the milk").
"""

import re
from collections.abc import Sequence
from typing import Final

from reeltalk.baselines.history import rests_on_history
from reeltalk.metrics import agree
from reeltalk.metrics.agree import agrees

SIGNATURE: Final = f"{agree.SIGNATURE}+context:v1"
_LEADING: Final = re.compile(
    r"^(?:(?:right|just|immediately|directly|shortly)\s+)?"
    r"(?:after|before|while|when|once|besides|during|following)\b[^,;.]*,\s*(?=\S)",
    re.IGNORECASE,
)
_TRAILING: Final = re.compile(
    r"\s+(?:(?:right|just|immediately|directly|shortly)\s+)?(?:after|before|while|when)\b[^,;.]*(?=[.!]?$)"
    r"|\s+at the (?:end|beginning|start)(?=[.!]?$)",
    re.IGNORECASE,
)


def core(sentence: str) -> str:
    """A sentence without the clause that only says when: that of its question, told again."""
    shorter = _TRAILING.sub("", _LEADING.sub("", sentence.strip(), count=1), count=1).strip()
    return shorter[:1].upper() + shorter[1:] if len(shorter) > 2 else sentence


def agrees_in_context(
    answer: str,
    references: Sequence[str],
    question: str,
    before: Sequence[tuple[str, str]] = (),
    options: Sequence[str] | None = None,
) -> bool:
    """As `agrees`, with what was said before.

    Args:
        answer: What was answered.
        references: Reference answers.
        question: What was asked.
        before: Questions and reference answers of the turns before it.
        options: The choices as they were shown, where there are some.
    """
    if agrees(answer, references, question, options):
        return True
    if options:
        return False
    cores = [*references, *(core(reference) for reference in references)]
    said = dict.fromkeys((answer, core(answer)))
    if any(agrees(text, cores, question) for text in said):
        return True
    if not before or not rests_on_history(question):
        return False
    # What the turn before spoke of is what this one means by its pronouns: it is no news in either.
    told = f"{before[-1][0]} {before[-1][1]} {question}"
    return any(agrees(text, cores, told) for text in said)

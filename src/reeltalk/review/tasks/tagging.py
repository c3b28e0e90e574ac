"""CogME tagging: one to three targets, one to three contents, exactly one way of thinking for every turn.

Tags belong to a turn on its clip: the same words may get other tags on another clip, so turns are never joined by their
text. Values are those of `labelling`, in the vocabularies `cogme.target`, `cogme.content` and `cogme.thinking`.
"""

from typing import Final

from reeltalk.review.tasks.labelling import LabelsTask, Vocabulary
from reeltalk.schema.manuals import TAGGING_MANUAL

TAGGING: Final = LabelsTask(
    "tagging",
    "Tag turns (CogME)",
    (
        Vocabulary("cogme.target", "TARGET: what is it about?", 1, 3, "12345678"),
        Vocabulary("cogme.content", "CONTENT: what about it is asked?", 1, 3, "qwertyui"),
        Vocabulary("cogme.thinking", "THINKING: the highest that is needed", 1, 1, "asd"),
    ),
    TAGGING_MANUAL,
)
"""The task."""

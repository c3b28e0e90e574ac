"""All kinds of review work, by name. Other packages name theirs in the entry points `reeltalk.review_tasks`."""

from typing import Final

from reeltalk.plugins import loaded
from reeltalk.schema.labels import LABEL_COUNTS, TAGGING_MANUAL
from reeltalk_review.tasks.answering import AnswerTask
from reeltalk_review.tasks.labelling import LabelsTask, Vocabulary
from reeltalk_review.tasks.links import LinksTask
from reeltalk_review.tasks.rating import RatingTask
from reeltalk_review.tasks.task import ReviewTask
from reeltalk_review.tasks.turns import TurnsTask

TAGGING: Final = LabelsTask(
    "tagging",
    "Tag turns (CogME)",
    (
        Vocabulary("cogme.target", "TARGET: what is it about?", *LABEL_COUNTS["cogme.target"], "12345678"),
        Vocabulary("cogme.content", "CONTENT: what about it is asked?", *LABEL_COUNTS["cogme.content"], "qwertyui"),
        Vocabulary("cogme.thinking", "THINKING: the highest that is needed", *LABEL_COUNTS["cogme.thinking"], "asd"),
    ),
    TAGGING_MANUAL,
)
"""CogME tagging: one to three targets, one to three contents and exactly one way of thinking for every turn.

Tags belong to a turn on its clip: the same words may get other tags on another clip, so turns are never joined by text.
"""
TYPES: Final = LabelsTask(
    "types",
    "Type questions (VDAct)",
    (Vocabulary("vdact.question_type", "Question types", *LABEL_COUNTS["vdact.question_type"], "12345qwerasdf"),),
    TAGGING_MANUAL,
)
"""VDAct's question types: one or more of thirteen for every turn."""

_ALL: Final[tuple[ReviewTask, ...]] = (
    *(TurnsTask(), LinksTask(), TAGGING, TYPES, RatingTask(), AnswerTask()),
    *loaded("reeltalk.review_tasks").values(),
)
TASKS: Final[dict[str, ReviewTask]] = {task.kind: task for task in _ALL}
"""By name, in the order in which people work on a benchmark."""

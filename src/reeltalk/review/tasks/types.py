"""VDAct's question types: one or more of thirteen for every turn.

Values are those of `labelling`, in the vocabulary `vdact.question_type`.
"""

from typing import Final

from reeltalk.review.tasks.labelling import LabelsTask, Vocabulary
from reeltalk.schema.manuals import TAGGING_MANUAL

TYPES: Final = LabelsTask(
    "types",
    "Type questions (VDAct)",
    (Vocabulary("vdact.question_type", "Question types", 1, 13, "12345qwerasdf"),),
    TAGGING_MANUAL,
)
"""The task."""

"""All kinds of work by name."""

from typing import Final

from reeltalk.review.tasks.links import LinksTask
from reeltalk.review.tasks.rating import RatingTask
from reeltalk.review.tasks.tagging import TAGGING
from reeltalk.review.tasks.taking import TakingTask
from reeltalk.review.tasks.task import Task
from reeltalk.review.tasks.turns import TurnsTask
from reeltalk.review.tasks.types import TYPES

_ALL: Final[tuple[Task, ...]] = (TurnsTask(), LinksTask(), TAGGING, TYPES, RatingTask(), TakingTask())
TASKS: Final[dict[str, Task]] = {task.kind: task for task in _ALL}
"""In the order in which a benchmark is worked on."""

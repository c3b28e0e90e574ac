"""All kinds of work by name."""

from typing import Final

from reeltalk.review.tasks.rating import RatingTask
from reeltalk.review.tasks.taking import TakingTask
from reeltalk.review.tasks.task import Task
from reeltalk.review.tasks.turns import TurnsTask

TASKS: Final[dict[str, Task]] = {task.kind: task for task in (TurnsTask(), RatingTask(), TakingTask())}
"""In the order in which a benchmark is worked on."""

"""Callbacks that report the progress of long work."""

from collections.abc import Callable

Progress = Callable[[str, int, int, float], None]
"""Receives the name of the work, the number done, the total, and the share of all work, from 0 to 1."""
CountProgress = Callable[[int, int], None]
"""Receives the number done and the total."""
Tell = Callable[[str], None]
"""Receives a sentence for the user, for example that a metric is not available here."""


def ignore_progress(what: str, done: int, total: int, share: float) -> None:
    """Ignore progress."""


def ignore_sentences(sentence: str) -> None:
    """Ignore sentences."""

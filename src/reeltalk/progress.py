"""How work that takes long tells people how far it is."""

from collections.abc import Callable

Progress = Callable[[str, int, int, float], None]
"""Receives what is done, how many of it, of how many, and the share of all the work, from 0 to 1."""
CountProgress = Callable[[int, int], None]
"""Receives how many are done, and of how many."""
Tell = Callable[[str], None]
"""Receives a sentence for people, as that a metric cannot be had here."""


def unseen(what: str, done: int, total: int, share: float) -> None:
    """Progress that nobody watches."""


def silent(sentence: str) -> None:
    """Sentences that nobody reads."""

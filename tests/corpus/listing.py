"""All entries of the corpus as one list, from which a table for readers can be made."""

from corpus import films, sidefiles
from corpus.entry import Entry


def entries() -> tuple[Entry, ...]:
    """Films first, then side files, each in the order of its module."""
    return (*films.entries(), *sidefiles.entries())

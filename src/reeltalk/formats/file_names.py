"""Names of files that an export makes up: from labels, models and splits, which may hold any character."""

from collections.abc import Callable, Iterable
from typing import Final

from reeltalk.formats.layout import SPLIT_IN_NAME
from reeltalk.schema.media import Video

LONGEST_STEM: Final = 80
FORBIDDEN: Final = frozenset('/\\:*?"<>|')


def as_file_stem(text: str, *, otherwise: str) -> str:
    """`text` as a name that every file system takes; `otherwise` where nothing is left of it."""
    safe = "".join("_" if character in FORBIDDEN or not character.isprintable() else character for character in text)
    return safe[:LONGEST_STEM].strip(". ") or otherwise


def unsaid_splits(videos: Iterable[Video], file_name: Callable[[str | None], str]) -> list[str]:
    """A line where a split cannot be read back from the name of the file that it makes."""
    count = 0
    for video in videos:
        found = SPLIT_IN_NAME.search(file_name(video.split).lower())
        count += (found[1] if found else None) != video.split
    return [f"videos lose their split, which a file name cannot say: {count:,}"] if count else []

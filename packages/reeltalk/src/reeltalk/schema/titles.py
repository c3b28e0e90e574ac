"""Names for people: an activity, and the videos of a benchmark."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final

from reeltalk.schema.media import Video
from reeltalk.schema.record import name_key

_INSTANCE: Final = re.compile(r"\d*_scene\d+.*$|(?<=[^\W\d_])\d+$")
_BETWEEN: Final = re.compile(r"[_\-.\s]+")
_SCENE: Final = re.compile(r"scene\d+")
_WORD: Final = re.compile(r"([^\W\d_]*)(\d{0,6})")
_SAYS_NOTHING: Final = frozenset({"video", "clip", "movie", "film", "mov", "vid", "recording", "untitled", "output"})
FEWEST_LETTERS: Final = 3
"""A name without a word of this many letters is no name for people."""


def activity_title(name: str) -> str:
    """The name of an activity for people: `Drink milk` for `Drink_milk3_scene2`."""
    return _INSTANCE.sub("", name).replace("_", " ")


def video_titles(videos: Iterable[Video]) -> dict[str, str]:
    """Each video's name for people, by id: from its file's name, its id or its topic. No two are equal.

    `fry_carrot1_scene1` is `Fry carrot`, and `Fry carrot 1 scene 1` if another video is about frying a carrot too. A
    video whose file and id hold no words is `Cooking, video 12`: its topic, and its place in the benchmark.
    """
    ids: list[str] = []
    named: list[tuple[str, str]] = []
    for number, video in enumerate(videos, 1):
        ids.append(video.id)
        named.append(_forms(video, number))
    short = Counter(form[0].casefold() for form in named)
    titles = [form[0] if short[form[0].casefold()] == 1 else form[1] for form in named]
    return dict(zip(ids, tell_apart(titles), strict=True))


def tell_apart(titles: Iterable[str]) -> Iterator[str]:
    """The titles, with a number behind each that was there before: `Kitchen`, `Kitchen (2)`."""
    # By a hash, since a team may review a million units.
    taken: set[int] = set()
    counts: Counter[str] = Counter()
    for title in titles:
        name = title
        while (key := name_key(name)) in taken:
            counts[title] += 1
            name = f"{title} ({counts[title] + 1})"
        taken.add(key)
        yield name


def _forms(video: Video, number: int) -> tuple[str, str]:
    """The short and the long name of a video."""
    names = [PurePosixPath(video.file.replace("\\", "/")).stem] if video.file else []
    for name in (*names, str(video.id)):
        if forms := _spoken(name):
            return forms
    topic = _capital(_BETWEEN.sub(" ", video.category).strip()) if video.category else ""
    name = f"{topic}, video {number}" if topic else f"Video {number}"
    return name, name


def _spoken(name: str) -> tuple[str, str] | None:
    """The short and the long form of a name that holds words; None for a hash, a number or a generic name."""
    short: list[str] = []
    long: list[str] = []
    for part in _BETWEEN.split(name.strip()):
        word = part.strip(",;:()[]")
        if not word:
            continue
        found = _WORD.fullmatch(word)
        # An identifier such as dQw4w9WgXcQ has digits or capital letters inside.
        if found is None or found[1] not in (found[1].lower(), found[1].upper(), found[1].capitalize()):
            return None
        letters, digits = found[1], found[2].lstrip("0") or ("0" if found[2] else "")
        if letters and not _SCENE.fullmatch(word):
            short.append(part.replace(word, letters))
        long += [part.replace(word, " ".join(filter(None, (letters, digits))))]
    told = [word for word in short if len(word) >= FEWEST_LETTERS or not word.isascii()]
    if all(word.casefold() in _SAYS_NOTHING for word in told):
        return None
    return _capital(" ".join(short).rstrip(",;: ")), _capital(" ".join(long))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

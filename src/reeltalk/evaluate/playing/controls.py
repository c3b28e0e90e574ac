"""Controls: the same questions with other pictures, to learn what a model's looking is worth."""

import hashlib
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from reeltalk.errors import BenchmarkError
from reeltalk.schema.media import Video
from reeltalk.video.encode import jpeg, pixels_of


def other_videos(
    videos: Iterable[Video], media: Callable[[str], Path | None], *, seed: int, wanted: Iterable[str]
) -> dict[str, str]:
    """For each video another one of its split, whose pictures are shown in its place.

    The videos of a split whose files are at hand are put into an order drawn by the seed; each is given the next one
    that is not the same file, and the last the first.

    Args:
        videos: All of a benchmark.
        media: Gives the file of a video; None where it is not at hand.
        seed: Decides the order.
        wanted: Videos that are played.

    Raises:
        BenchmarkError: A split has no second video.
    """
    splits: dict[str | None, list[tuple[str, Path]]] = {}
    split_of: dict[str, str | None] = {}
    for video in videos:
        split_of[str(video.id)] = video.split
        if (path := media(str(video.id))) is not None:
            splits.setdefault(video.split, []).append((str(video.id), path))
    for members in splits.values():
        members.sort(key=lambda member: hashlib.sha256(f"{seed} {member[0]}".encode()).digest())
    found = {}
    for name in dict.fromkeys(wanted):
        members = splits.get(split_of.get(name), [])
        place = next((place for place, (other, _) in enumerate(members) if other == name), None)
        if place is None:
            continue  # its own file is missing, which playing it says
        others = [other for other, path in (*members[place + 1 :], *members[:place]) if path != members[place][1]]
        if not others:
            split = split_of[name]
            where = "the benchmark" if split is None else f"split '{split}'"
            raise BenchmarkError(
                f"control other-video: {where} has no second video whose file is at hand, so nothing can be shown in "
                f"place of '{name}'; attach another video, or leave other-video out of --controls"
            )
        found[name] = others[0]
    return found


def shuffled(times_s: Sequence[float], new: int, *, seed: int, drawn_for: str) -> tuple[float, ...]:
    """The frames of a turn in another order: those that came with it change places among themselves.

    So a turn sees the very pictures that it would see without the control, none from after its question. Two or more
    always change their order.

    Args:
        times_s: Presentation times in seconds, in the order in which frames are shown.
        new: How many of the last ones came with this turn.
        seed: Decides the order.
        drawn_for: What it is drawn for, as a script and its turn.

    Returns:
        For each place the presentation time of the frame that is shown there.
    """
    kept, came = list(times_s[: len(times_s) - new]), list(times_s[len(times_s) - new :])
    draw = random.Random(hashlib.sha256(f"{seed} {drawn_for}".encode()).hexdigest())
    mixed = came[:]
    while len(came) > 1 and mixed == came:
        draw.shuffle(mixed)
    return (*kept, *mixed)


def black(picture: bytes, *, quality: int) -> bytes:
    """A black JPEG file as large as a picture, in pixels.

    Args:
        picture: A JPEG file.
        quality: 1–100.
    """
    return jpeg(np.zeros_like(pixels_of(picture)), quality=quality)


def looped(time_s: float, duration_s: float) -> float:
    """A moment of a shorter video for one of a longer: after its end it begins anew.

    Args:
        time_s: The moment, from 0.
        duration_s: Length of the shorter video.
    """
    return time_s % duration_s if time_s > duration_s > 0 else time_s if duration_s > 0 else 0.0

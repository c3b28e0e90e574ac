"""The names of units for people, by video and place: `Kitchen · clip 3`.

A copy with planted faults has the name of the unit that it copies, which nobody gets beside it.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.titles import video_titles
from reeltalk.store.content import Content
from reeltalk.store.rows import rows_by

SEPARATOR: Final = " · "
VIDEOS_AT_ONCE: Final = 64
"""Videos whose units' names are kept in memory."""


class ContentNames:
    """Names of the videos of a benchmark, and of the chains, dialogues and paths in them.

    Args:
        content: The benchmark. A video that it does not hold is named by a number, and a unit by its kind.
    """

    def __init__(self, content: Content) -> None:
        self._videos = video_titles(content.videos)
        self._numbers = {str(video.id): number for number, video in enumerate(content.videos, 1)}
        self._clips, self._chains = rows_by(content.clips, "video_id"), rows_by(content.chains, "video_id")
        self._dialogues, self._paths = rows_by(content.dialogues, "video_id"), rows_by(content.paths, "video_id")
        self._placed = lru_cache(VIDEOS_AT_ONCE)(self._place_video)

    def video(self, video_id: str) -> str:
        """A video's name, as `Fry carrot`."""
        if video_id not in self._videos:
            self._videos[video_id] = self.hidden_video(video_id)
        return self._videos[video_id]

    def hidden_video(self, video_id: str) -> str:
        """A video's name that reveals nothing about it, as `Video 12`: for people who should not know what it shows."""
        return f"Video {self._numbers.setdefault(video_id, len(self._numbers) + 1)}"

    def unit(self, kind: str, unit_id: str, video_id: str) -> str:
        """The name of a chain, dialogue or path, as `Fry carrot · clip 3`."""
        return SEPARATOR.join(filter(None, (self.video(video_id), self._place(kind, unit_id, video_id))))

    def pair(self, before: QAChain, after: QAChain) -> str:
        """The name of two chains of a video, as `Fry carrot · clip 3 and clip 5`."""
        places = [self._place("chain", chain.id, chain.video_id) for chain in (before, after)]
        return SEPARATOR.join((self.video(before.video_id), " and ".join(filter(None, places))))

    def _place(self, kind: str, unit_id: str, video_id: str) -> str:
        return self._placed(video_id).get((kind, unit_id), kind)

    def _place_video(self, video_id: str) -> dict[tuple[str, str], str]:
        """Name the units of a video by their clips, and by a number where several have the same."""
        timed = [clip for clip in self._clips.get(video_id, ()) if clip.interval is not None]
        ordered = sorted((clip.interval.start_s, clip.interval.end_s, clip.id) for clip in timed if clip.interval)
        numbers: dict[str, int] = {name: number for number, (*_, name) in enumerate(ordered, 1)}
        units: list[QAChain | Dialogue] = [*self._chains.get(video_id, ()), *self._dialogues.get(video_id, ())]
        clips = [_spoken_clips(unit, numbers) for unit in units]
        counts: dict[str, int] = defaultdict(int)
        places: dict[tuple[str, str], str] = {}
        for unit, place in zip(units, clips, strict=True):
            kind = "chain" if isinstance(unit, QAChain) else "dialogue"
            alone = clips.count(place) == 1
            counts[kind + place] += 1
            numbered = "" if alone else f"{kind} {counts[kind + place]}"
            places[kind, unit.id] = ", ".join(filter(None, (place, numbered)))
        for number, path in enumerate(self._paths.get(video_id, ()), 1):
            places["path", path.id] = f"path {number}"
        return places


def _spoken_clips(unit: QAChain | Dialogue, numbers: Mapping[str, int]) -> str:
    """The clips that a unit is about, by their numbers, as `clip 3` or `clips 2 to 4`; empty for a whole video."""
    names = ((unit.clip_id,) if unit.clip_id else ()) if isinstance(unit, QAChain) else unit.clip_ids
    found = sorted({numbers[name] for name in names if name in numbers})
    if not found or (len(found) > 1 and len(found) == len(numbers)):
        return ""
    if len(found) == 1:
        return f"clip {found[0]}"
    if found[-1] - found[0] == len(found) - 1 and len(found) > 2:
        return f"clips {found[0]} to {found[-1]}"
    return f"clips {', '.join(map(str, found[:-1]))} and {found[-1]}"


def dialogue_name(number: int, goal: int) -> str:
    """The name of a pair's dialogue; `number` counts from 0. It names no video: one of the two must not know it."""
    return f"Dialogue {number + 1} of {max(goal, number + 1)}"

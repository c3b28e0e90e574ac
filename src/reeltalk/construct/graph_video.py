"""A video's graphs as its clips need them: the story of one clip, of clips that follow each other, of the whole."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from reeltalk.errors import InputError
from reeltalk.graph.activity import ActivityGraph
from reeltalk.graph.activity_reading import read_activity
from reeltalk.graph.story import Story
from reeltalk.questions.checking import Checker
from reeltalk.questions.wording import SPLITS
from reeltalk.schema.media import Clip, Video


@dataclass(frozen=True)
class VideoPart:
    """Some clips of a video: what they tell, and what checks it."""

    clips: tuple[Clip, ...]
    graphs: tuple[ActivityGraph, ...] = field(repr=False)
    texts: dict[str, str] = field(repr=False)

    @cached_property
    def story(self) -> Story:
        """Their events, in the time of the video."""
        begins = [clip.interval.start_s for clip in self.clips if clip.interval is not None]
        return Story(self.graphs, begins_s=begins if len(begins) == len(self.clips) else None)

    @cached_property
    def checker(self) -> Checker:
        """Answers questions about them again, by SPARQL."""
        return Checker(self.texts)

    @property
    def asked_at_s(self) -> float | None:
        """The end of the last clip: the moment of questions about it."""
        last = self.clips[-1].interval
        return last.end_s if last else None


class GraphVideo:
    """One video with the graphs of its clips.

    Args:
        video: The video.
        clips: Those that have a graph, in order.
        texts: Their graphs as N-Quads by name, in the same order.
        file: Where they lie, for errors.

    Raises:
        InputError: A graph is malformed, or the video is of a split that surface forms are not divided among.
    """

    def __init__(self, video: Video, clips: Sequence[Clip], texts: dict[str, str], *, file: str) -> None:
        self.video, self.clips, self._texts = video, tuple(clips), texts
        self.split = video.split or SPLITS[0]
        if self.split not in SPLITS:
            raise InputError(
                f"video {video.id!r} is of split {self.split!r}; forms are divided among {', '.join(SPLITS)}",
                file=file,
            )
        self._graphs = [read_activity(text, file=f"{file}/{name}.nq", name=name) for name, text in texts.items()]
        self._parts: dict[tuple[str, ...], VideoPart] = {}

    def part(self, clips: Sequence[str]) -> VideoPart | None:
        """The story of some clips, in the order of time; None where none of them has a graph.

        Args:
            clips: Identifiers of clips.
        """
        places = [n for n, clip in enumerate(self.clips) if clip.id in clips]
        if not places:
            return None
        key = tuple(self.clips[n].id for n in places)
        if key not in self._parts:
            names = list(self._texts)
            self._parts[key] = VideoPart(
                tuple(self.clips[n] for n in places),
                tuple(self._graphs[n] for n in places),
                {names[n]: self._texts[names[n]] for n in places},
            )
        return self._parts[key]

    @property
    def whole(self) -> VideoPart:
        """The story of the whole video."""
        found = self.part([clip.id for clip in self.clips])
        assert found is not None
        return found

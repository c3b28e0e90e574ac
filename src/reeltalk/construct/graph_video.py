"""The graphs of a video by clip: the story of one clip, of consecutive clips, or of the whole video."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from reeltalk.errors import InputError
from reeltalk.graph.activity import ActivityGraph
from reeltalk.graph.reading import read_activity
from reeltalk.graph.story import Story
from reeltalk.questions.checking import Checker
from reeltalk.questions.wording import SPLITS
from reeltalk.schema.media import Clip, Video


@dataclass(frozen=True)
class VideoPart:
    """Some clips of a video, with their story and the checker of answers about it."""

    clips: tuple[Clip, ...]
    graphs: tuple[ActivityGraph, ...] = field(repr=False)
    texts: dict[str, str] = field(repr=False)

    @cached_property
    def story(self) -> Story:
        """The events of the clips, in seconds of the video."""
        begins = [clip.interval.start_s for clip in self.clips if clip.interval is not None]
        return Story(self.graphs, begins_s=begins if len(begins) == len(self.clips) else None)

    @cached_property
    def checker(self) -> Checker:
        """Answers questions about the clips again, with SPARQL."""
        return Checker(self.texts)

    @property
    def asked_at_s(self) -> float | None:
        """Time of questions about these clips, in seconds: the end of the last one."""
        last = self.clips[-1].interval
        return last.end_s if last else None


class GraphVideo:
    """One video with the graphs of its clips.

    Args:
        video: The video.
        clips: The clips that have a graph, in order.
        texts: Their graphs as N-Quads by name, in the same order.
        file: Folder of the graphs, for error messages.

    Raises:
        InputError: A graph is malformed, or no surface forms exist for the split of the video.
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
        """Some clips in order of time; None if none of them has a graph.

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
        """All clips of the video."""
        found = self.part([clip.id for clip in self.clips])
        assert found is not None
        return found

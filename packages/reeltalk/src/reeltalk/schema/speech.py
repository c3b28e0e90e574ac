"""Spoken words of a video, and which of them are known at a moment."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Annotated, Final

from pydantic import Field

from reeltalk.schema.intervals import Interval, no_later
from reeltalk.schema.record import Name, Record, VideoKey

LONGEST_UTTERANCE: Final = 5000
"""Most characters of one utterance."""


class Utterance(Record):
    """Words that are spoken in a video, from a subtitle or transcript file or from the source's script."""

    video_id: VideoKey
    interval: Interval
    """The time in which they are spoken."""
    text: Annotated[str, Field(min_length=1, max_length=LONGEST_UTTERANCE)]
    """The words, without markup."""
    speaker: Name | None = None
    """The speaker's name, or a label such as `SPEAKER_01`; None if the file does not say it."""

    @property
    def line(self) -> str:
        """The words on one line, after the speaker's name if it is known."""
        words = " ".join(self.text.split())
        return f"{self.speaker}: {words}" if self.speaker else words


class Speech:
    """The utterances of videos, by time.

    Args:
        utterances: Of any videos, in any order.
    """

    def __init__(self, utterances: Iterable[Utterance]) -> None:
        by_video: dict[str, dict[tuple[float, float, str, str], Utterance]] = defaultdict(dict)
        for spoken in utterances:
            # A script may repeat a line, as DramaQA's scenes repeat the lines of their shots.
            key = (spoken.interval.start_s, spoken.interval.end_s, spoken.speaker or "", spoken.text)
            by_video[spoken.video_id].setdefault(key, spoken)
        self._by_video = {video_id: tuple(rows[key] for key in sorted(rows)) for video_id, rows in by_video.items()}

    def spoken_in(self, video_id: str, parts: Sequence[Interval]) -> tuple[Utterance, ...]:
        """The utterances that end inside parts of a video, in the order of time, each once.

        Somebody who has seen the video up to the end of a part knows these words, and none that are still being said.
        Parts that touch share no utterance.

        Args:
            parts: Parts of it. The end of a part belongs to it; its start does not, except at 0 s.
        """
        return tuple(
            spoken
            for spoken in self._by_video.get(video_id, ())
            if any(
                (part.start_s < spoken.interval.end_s or part.start_s == 0)
                and no_later(spoken.interval.end_s, part.end_s)
                for part in parts
            )
        )

    def heard_in(self, video_id: str, parts: Sequence[Interval]) -> tuple[Utterance, ...]:
        """The utterances of which any word may be heard in parts of a video, in the order of time, each once.

        Args:
            parts: Parts of it.
        """
        return tuple(
            spoken
            for spoken in self._by_video.get(video_id, ())
            if any(part.intersection(spoken.interval) or part.contains(spoken.interval) for part in parts)
        )

    def until(self, video_id: str, moment_s: float | None) -> tuple[Utterance, ...]:
        """The utterances that ended by a moment, in the order of time.

        Args:
            moment_s: In seconds; None for the end of the video.
        """
        spoken = self._by_video.get(video_id, ())
        return tuple(one for one in spoken if moment_s is None or no_later(one.interval.end_s, moment_s))

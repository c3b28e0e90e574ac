"""Gives dialogues their frames: no frame that comes after a question, and never the file.

Whoever answers gets a `Screening`, which holds presentation times and names of pictures that were shown to it. Videos
are decoded in child processes, once for each size and quality, into a folder that a later run uses again.
"""

import asyncio
import math
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from reeltalk.errors import BenchmarkError, BrokenInvariantError, InputError
from reeltalk.evaluate.frame_settings import FrameSettings
from reeltalk.evaluate.playing.controls import black, looped, shuffled
from reeltalk.evaluate.playing.decoding import HAIR_S, Decoder, Film
from reeltalk.evaluate.playing.player import ShownFrame
from reeltalk.evaluate.playing.policies import policy_of
from reeltalk.evaluate.playing.script import Script, Step
from reeltalk.parallel import Limits
from reeltalk.schema.runs import Control

KEPT_BYTES: Final = 64 << 20
BEYOND_S: Final = 2.0
"""A question may be asked so long after the end of its video: published times are rounded up, and clips widened. A
frame may stand in for one that was lost as long."""
NAMED: Final = 5
"""Lost frames that a message names."""
WHOLE: Final = "the file may be cut short: bring the whole video here, or leave it out"


class Screening:
    """What may be seen of one script's video, turn by turn. Serves as `Pictures` to whoever answers.

    Args:
        server: Reads the pictures.
        steps: The turns of the script.
        frames: What each turn sees, in the order in which it is shown.
        files: Where the picture of each frame lies.
        append_only: True where frames are sent as they come.
    """

    def __init__(
        self,
        server: "FrameServer",
        steps: Sequence[Step],
        frames: Sequence[tuple[ShownFrame, ...]],
        files: Mapping[bytes, Path],
        *,
        append_only: bool,
    ) -> None:
        self.append_only: Final = append_only
        """True where the frames of each turn begin with those of the turn before."""
        self._server, self._steps, self._frames, self._files = server, tuple(steps), tuple(frames), files
        self._shown: set[bytes] = set()

    def at(self, index: int) -> tuple[tuple[ShownFrame, ...], tuple[ShownFrame, ...]]:
        """All frames that a turn sees, and those of them that are new; all are new where each turn has its own.

        Args:
            index: Of the step, from 0.

        Raises:
            BrokenInvariantError: A frame comes after the question.
            IndexError: There is no such step.
        """
        if not 0 <= index < len(self._steps):
            raise IndexError(f"the script has {len(self._steps)} steps, there is no step {index}")
        frames, step = self._frames[index], self._steps[index]
        for frame in frames:
            if step.asked_at_s is not None and frame.pts_s - step.asked_at_s > HAIR_S:
                raise BrokenInvariantError(
                    f"turn {step.turn_index} of {step.unit} {step.unit_id!r} is asked at {step.asked_at_s:g} s and "
                    f"would see a frame of {frame.pts_s:g} s; this is a mistake of reeltalk, please report it"
                )
        before = self._frames[index - 1] if self.append_only and index else ()
        self._shown.update(frame.reference for frame in frames)
        self._server.shows({frame.reference: self._files[frame.reference] for frame in frames})
        return frames, frames[len(before) :]

    async def jpeg(self, reference: bytes) -> bytes:
        """The JPEG file of a frame that a turn has been shown.

        Args:
            reference: Of a frame that `at` gave.

        Raises:
            ValueError: No turn so far was shown such a frame.
            BenchmarkError: The picture is no longer in the folder.
        """
        if reference not in self._shown:
            raise ValueError(f"no turn so far was shown a frame {reference!r}")
        return await self._server.jpeg(reference)


class FrameServer:
    """Decodes the frames that scripts see, and keeps their pictures.

    Args:
        media: File of a video by the video's identifier; None where it is not at hand.
        settings: Which frames, and how large.
        folder: Keeps pictures and what is known of each video. It may be deleted while nothing runs.
        processes: Videos that are decoded at a time.
        limits: What one call of a child process may use; by default time grows with the frames.
        kept_bytes: Pictures of so many bytes stay in memory.
        control: What is shown in place of a video's own pictures; frames keep their times.
        seed: Decides what a control draws.
        others: For each video the one whose pictures the control `other-video` shows.
    """

    def __init__(
        self,
        media: Callable[[str], Path | None],
        settings: FrameSettings,
        folder: Path,
        processes: int = 2,
        *,
        limits: Limits | None = None,
        kept_bytes: int = KEPT_BYTES,
        control: Control | None = None,
        seed: int = 17,
        others: Mapping[str, str] | None = None,
    ) -> None:
        self.settings: Final = settings
        self._control, self._seed, self._others = control, seed, others or {}
        self._media, self._kept_bytes = media, kept_bytes
        self._decoder = Decoder(folder, settings, processes, limits)
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._films: dict[str, Film | InputError] = {}
        self._files: dict[bytes, Path] = {}
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()
        self._size_bytes = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the processes that decode; frames that were shown can still be had."""
        await self._decoder.close()

    def stop(self) -> None:
        """As `close`, for whoever cannot wait: an event loop that ends waits for what still decodes."""
        self._decoder.stop()

    @property
    def decoded(self) -> int:
        """Moments that had to be decoded so far; a folder that has them all leaves it at 0."""
        return self._decoder.decoded

    async def open(self, script: Script) -> Screening:
        """Decode what the turns of a script see and is not in the folder yet.

        Raises:
            BenchmarkError: The video's file is not at hand, or the folder cannot be written.
            BrokenInvariantError: A turn is asked before the turn before it: its history would tell of what comes.
            InputError: The video cannot be decoded, or ends long before a question.
        """
        if "none" in (self.settings.policy, self._control) or not script.steps:
            return Screening(self, script.steps, [()] * len(script.steps), {}, append_only=True)
        _check_order(script)
        async with self._locks[script.video_id]:
            film = await self._film(script.video_id)
            _check_length(script, film)
            policy = policy_of(self.settings, script.steps, film.duration_s)
            wanted = [policy.times(script.steps[: end + 1], film.duration_s) for end in range(len(script.steps))]
            await self._decode(script.video_id, film, {time for times in wanted for time in times})
        # Two moments may fall on one frame, which is shown once.
        shown = [tuple(dict.fromkeys(film.pts_s[time] for time in times)) for times in wanted]
        sources = await self._sources(script, film, shown, append_only=policy.append_only)
        frames, files = [], {}
        for times, pictured in zip(shown, sources, strict=True):
            turn = []
            for pts_s, (source, at_s) in zip(times, pictured, strict=True):
                frame = ShownFrame(pts_s, self._reference(film, pts_s, source, at_s), source.name)
                files[frame.reference] = self._decoder.picture(source, at_s)
                turn.append(frame)
            frames.append(tuple(turn))
        return Screening(self, script.steps, frames, files, append_only=policy.append_only)

    async def _sources(
        self, script: Script, film: Film, shown: Sequence[tuple[float, ...]], *, append_only: bool
    ) -> list[list[tuple[Film, float]]]:
        """For each frame of each turn the video and the presentation time that its picture is from."""
        if self._control == "shuffled":
            mixed: tuple[float, ...] = ()
            orders = []
            for index, times in enumerate(shown):
                before = mixed if append_only else ()
                mixed = shuffled(
                    (*before, *times[len(before) :]),
                    len(times) - len(before),
                    seed=self._seed,
                    drawn_for=f"{script.id} {index}",
                )
                orders.append([(film, at_s) for at_s in mixed])
            return orders
        if self._control == "other-video":
            name = self._others[script.video_id]
            moments = {pts_s for times in shown for pts_s in times}
            async with self._locks[name]:
                other = await self._film(name)
                at = {pts_s: looped(pts_s, other.duration_s) for pts_s in moments}
                await self._decode(name, other, set(at.values()))
            return [[(other, other.pts_s[at[pts_s]]) for pts_s in times] for times in shown]
        return [[(film, pts_s) for pts_s in times] for times in shown]

    def shows(self, files: Mapping[bytes, Path]) -> None:
        """Note frames that a `Screening` has shown; only such frames can be had.

        Args:
            files: Where the picture of each lies.
        """
        self._files.update(files)

    async def jpeg(self, reference: bytes) -> bytes:
        """The JPEG file of a frame that some turn was shown.

        This is for what sends frames to a model. Who answers is given the `Screening`, which knows its own turns alone.

        Args:
            reference: Of a frame that a `Screening` of this server gave.

        Raises:
            ValueError: No turn was shown such a frame.
            BenchmarkError: The picture is no longer in the folder.
        """
        if (kept := self._kept.get(reference)) is not None:
            self._kept.move_to_end(reference)
            return kept
        path = self._files.get(reference)
        if path is None:
            raise ValueError(f"no turn was shown a frame {reference!r}")
        try:
            content = await asyncio.to_thread(path.read_bytes)
        except OSError as error:
            raise BenchmarkError(
                f"picture {path} was made and cannot be read: {error.strerror}; run the command again"
            ) from None
        if self._control == "black":
            content = await asyncio.to_thread(black, content, quality=self.settings.quality)
        if reference not in self._kept:
            self._kept[reference] = content
            self._size_bytes += len(content)
            while self._size_bytes > self._kept_bytes:
                self._size_bytes -= len(self._kept.popitem(last=False)[1])
        return content

    def _reference(self, film: Film, pts_s: float, source: Film, at_s: float) -> bytes:
        """Names the picture at a place of a video, so that a reply to one is never taken for a reply to another."""
        own = f"{film.name}@{pts_s:.6f}/{self.settings.size}/{self.settings.quality}"
        shown = f"/{self._control}/{source.name}@{at_s:.6f}" if self._control else ""
        return f"{own}{shown}".encode()

    async def _film(self, video_id: str) -> Film:
        known = self._films.get(video_id)
        if isinstance(known, Film):
            return known
        if known is not None:
            raise InputError(known.problem, file=known.file, hint=known.hint)
        path = self._media(video_id)
        if path is None or not path.is_file():
            where = "" if path is None else f" at {path}"
            raise BenchmarkError(
                f"the file of video {video_id!r} is not at hand{where}; put it into the benchmark's media, as "
                "'reeltalk attach', 'reeltalk media pull' and 'reeltalk curate --media copy' do, or play without frames"
            )
        try:
            self._films[video_id] = film = await self._decoder.film(path)
        except InputError as error:
            self._films[video_id] = error
            raise
        return film

    async def _decode(self, video_id: str, film: Film, times_s: set[float]) -> None:
        gone = [t for t in times_s if any(start_s + BEYOND_S < t < end_s for start_s, end_s in film.gaps_s)]
        if gone:
            raise _lost(film, gone)
        missing = sorted(times_s - film.pts_s.keys())
        if not missing:
            return
        try:
            await self._decoder.decode(film, missing)
        except InputError as error:
            # A file that makes a decoder hang is not tried again for each of its scripts.
            self._films[video_id] = error
            raise
        if gone := sorted(times_s - film.pts_s.keys()):
            raise _lost(film, gone)


def _lost(film: Film, times_s: Sequence[float]) -> InputError:
    times = sorted(times_s)
    named = ", ".join(f"{time_s:.1f}" for time_s in times[:NAMED]) + (", …" if times[NAMED:] else "")
    word = "the frame" if len(times) == 1 else f"{len(times)} frames"
    return InputError(f"the file is damaged: {word} at {named} s cannot be had", file=film.path, hint=WHOLE)


def _check_order(script: Script) -> None:
    before_s = 0.0
    for step in script.steps:
        asked_at_s = math.inf if step.asked_at_s is None else step.asked_at_s
        if asked_at_s < before_s:
            before = "at the end of the video" if math.isinf(before_s) else f"at {before_s:g} s"
            raise BrokenInvariantError(
                f"turn {step.turn_index} of {step.unit} {step.unit_id!r} is asked at {asked_at_s:g} s, and a turn "
                f"before it in {script.id!r} {before}: what was said there tells of what comes; put the turns into the "
                "order of time"
            )
        before_s = asked_at_s


def _check_length(script: Script, film: Film) -> None:
    end_s = max(film.duration_s, film.promised_s)
    last_s = max((end_s if step.asked_at_s is None else step.asked_at_s for step in script.steps), default=0.0)
    if last_s > film.duration_s + BEYOND_S:
        cut_off = f", of {end_s:.1f} s that it says it has," if end_s > film.duration_s else ""
        raise InputError(
            f"the video ends at {film.duration_s:.1f} s{cut_off} and {script.id!r} asks about it at {last_s:.1f} s",
            file=film.path,
            hint=WHOLE,
        )

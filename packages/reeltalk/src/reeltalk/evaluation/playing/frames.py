"""Gives dialogues their frames. It never shows a frame from after a question, and never the file.

A player gets `VisibleFrames`, which hold presentation times and names of the pictures that were shown to it. Videos
are decoded in child processes, once for each size and quality, into a folder that a later run uses again. Controls show
other pictures instead, to measure how much the video helps.
"""

import asyncio
import hashlib
import json
import math
import random
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import numpy as np

from reeltalk.errors import BenchmarkError, BrokenInvariantError, InputError
from reeltalk.evaluation.playing.play import ShownFrame
from reeltalk.evaluation.playing.policies import policy_of
from reeltalk.evaluation.playing.script import Script, Step
from reeltalk.evaluation.settings import FrameSettings
from reeltalk.parallel import Call, Failure, Limits, LocalExecutor
from reeltalk.schema.media import Video
from reeltalk.schema.record import Json
from reeltalk.schema.runs import Control
from reeltalk.store.atomic import storage_errors, write_bytes
from reeltalk.store.media import hash_video
from reeltalk.video.encode import jpeg, pixels_of


def pair_videos(
    videos: Iterable[Video], media: Callable[[str], Path | None], *, seed: int, names: Iterable[str]
) -> dict[str, str]:
    """For each video, another video of the same split whose pictures are shown instead.

    The videos of a split whose files are available are put into an order drawn by the seed; each is given the next one
    that is not the same file, and the last the first.

    Args:
        videos: All of a benchmark.
        media: Gives the file of a video; None if it is not available.
        seed: Decides the order.
        names: Videos that are played.

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
    for name in dict.fromkeys(names):
        members = splits.get(split_of.get(name), [])
        place = next((place for place, (other, _) in enumerate(members) if other == name), None)
        if place is None:
            continue  # its own file is missing, and playing it reports that
        others = [other for other, path in (*members[place + 1 :], *members[:place]) if path != members[place][1]]
        if not others:
            split = split_of[name]
            where = "the benchmark" if split is None else f"split '{split}'"
            raise BenchmarkError(
                f"control other-video: {where} has no second video whose file is available, so nothing can be shown in "
                f"place of '{name}'; attach another video, or leave other-video out of --controls"
            )
        found[name] = others[0]
    return found


def shuffle_times(times_s: Sequence[float], new: int, *, seed: int, drawn_for: str) -> tuple[float, ...]:
    """The frames of a turn in another order: its new frames change places.

    So a turn sees the same pictures as without the control, and none from after its question. The order of two or more
    new frames always changes.

    Args:
        times_s: Presentation times in seconds, in the order in which frames are shown.
        new: Number of the last frames that are new in this turn.
        seed: Decides the order.
        drawn_for: Name of the draw, as a script and its turn.

    Returns:
        The presentation time of the frame that is shown at each place.
    """
    kept, came = list(times_s[: len(times_s) - new]), list(times_s[len(times_s) - new :])
    draw = random.Random(hashlib.sha256(f"{seed} {drawn_for}".encode()).hexdigest())
    mixed = came[:]
    while len(came) > 1 and mixed == came:
        draw.shuffle(mixed)
    return (*kept, *mixed)


def black_picture(picture: bytes, *, quality: int) -> bytes:
    """A black JPEG file as large as a picture, in pixels.

    Args:
        picture: A JPEG file.
        quality: 1–100.
    """
    return jpeg(np.zeros_like(pixels_of(picture)), quality=quality)


def loop_time(time_s: float, duration_s: float) -> float:
    """Map a time of a longer video to a shorter one, which starts again after its end.

    Args:
        time_s: The moment, from 0.
        duration_s: Length of the shorter video.
    """
    return time_s % duration_s if time_s > duration_s > 0 else time_s if duration_s > 0 else 0.0


PROBE_FUNCTION: Final = "reeltalk.video.serving:probe_length"
SERVE_FUNCTION: Final = "reeltalk.video.serving:serve"
FRAME_VERSION: Final = 2
"""Increase it if frames of the same size are encoded differently. Then stored pictures are made again."""
CALL_S: Final = 120.0
SECONDS_A_FRAME: Final = 10.0
"""Time that a call may take for each frame: a long video whose index is damaged is decoded from its start."""
MEMORY_BYTES: Final = 1 << 30
HAIR_S: Final = 1.001e-6
"""`video.frames` takes the frame at a moment a microsecond further; the rest is the rounding of floats."""
LONGEST_S: Final = 14 * 86400.0
"""Longest plausible length. A longer one is wrong, and counting its seconds would need too much memory."""
NAME_DIGITS: Final = 32
"""Digits of a video's hash that name its pictures."""
STORED_FIELDS: Final = ("duration_s", "promised_s", "gaps_s")
"""Fields of a `VideoFile` that the folder keeps."""
HINT: Final = "replace the file or leave the video out"


@dataclass
class VideoFile:
    """A video's file: its length, damage, and the frames that were decoded."""

    path: Path
    name: str
    """The first digits of its hash."""
    duration_s: float
    promised_s: float = 0.0
    """Length that the file states. It is more than `duration_s` if the file was cut off."""
    gaps_s: tuple[tuple[float, float], ...] = ()
    """Damaged parts."""
    pts_s: dict[float, float] = field(default_factory=dict)
    """Presentation time of the frame on the screen at each requested moment. Its picture is in the folder."""


class FrameDecoder:
    """Child processes that decode, and the folder of their pictures.

    Args:
        folder: Holds a folder for each video: its facts, the time of each frame, and the pictures.
        settings: How large the pictures are.
        processes: Videos that are decoded at a time.
        limits: Limits of one call. By default the time grows with the number of frames.
    """

    def __init__(self, folder: Path, settings: FrameSettings, processes: int, limits: Limits | None = None) -> None:
        if processes < 1:
            raise ValueError(f"processes must be at least 1, got {processes}")
        self.decoded = 0
        """Number of moments that were decoded so far."""
        self._folder, self._settings, self._limits = folder, settings, limits
        self._processes = processes
        self._executors: list[LocalExecutor] = []
        self._idle: asyncio.Queue[LocalExecutor] = asyncio.Queue()
        self._under_way: set[asyncio.Future[Any]] = set()
        self._closed = False
        self._picture = f"%.6f-{settings.size}-q{settings.quality}.jpg"

    def stop(self) -> None:
        """End all child processes now, without waiting. Calls that still run fail."""
        self._closed = True
        for executor in self._executors:
            executor.close()

    async def close(self) -> None:
        """End all child processes now."""
        self.stop()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def film(self, path: Path) -> VideoFile:
        """Read the known facts of a video, and which of its frames the folder already has.

        Raises:
            BenchmarkError: The file cannot be read, or the folder cannot be written.
            InputError: It is not a video that reeltalk reads.
        """
        name = (await asyncio.to_thread(hash_video, path))[:NAME_DIGITS]
        facts_file = self._folder / name / "video.json"
        film = _film(path, name, _read_json(facts_file))
        if film is None:
            film = _film(path, name, await self._call(PROBE_FUNCTION, {"path": str(path)}, path, frames=0))
            if film is None:
                raise _no_sense(path)
            facts: dict[str, Json] = {name: getattr(film, name) for name in STORED_FIELDS}
            write_bytes(facts_file, json.dumps(facts).encode())
        film.pts_s = self._known(film)
        return film

    def picture(self, film: VideoFile, pts_s: float) -> Path:
        """File of the frame with a presentation time."""
        return self._folder / film.name / (self._picture % pts_s)

    async def decode(self, film: VideoFile, times_s: list[float]) -> None:
        """Decode the frames on the screen at some moments into the folder, with one call of a child process.

        Args:
            film: Receives their presentation times, except for moments whose frame is damaged.
            times_s: In rising order.

        Raises:
            BenchmarkError: The folder cannot be written.
            InputError: The video cannot be decoded; the message says why.
        """
        folder = self._folder / film.name
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        argument: dict[str, Json] = {
            "path": str(film.path),
            "times_s": times_s,
            "longest_side_px": self._settings.longest_side_px,
            "square_px": self._settings.square_px,
            "quality": self._settings.quality,
            "folder": str(folder),
            "name": self._picture,
        }
        answer = await self._call(SERVE_FUNCTION, argument, film.path, frames=len(times_s))
        found, lost = answer.get("pts_s"), answer.get("lost")
        # The child process has read an untrusted file, so its reply is checked like any input.
        if not isinstance(found, list) or len(found) != len(times_s) or not all(map(_is_at, times_s, found)):
            raise _no_sense(film.path)
        if not isinstance(lost, list) or not set(times_s).issuperset(lost):
            raise _no_sense(film.path)
        self.decoded += len(times_s)
        film.pts_s.update(
            {time_s: float(pts_s) for time_s, pts_s in zip(times_s, found, strict=True) if time_s not in lost}
        )
        # Frames that another run added in the meantime stay.
        content = {"made_by": FRAME_VERSION, "pts_s": self._known(film) | film.pts_s}
        write_bytes(self._index(film), json.dumps(content).encode())

    def _index(self, film: VideoFile) -> Path:
        return self._folder / film.name / f"{self._settings.size}-q{self._settings.quality}.json"

    def _known(self, film: VideoFile) -> dict[float, float]:
        content = _read_json(self._index(film))
        try:
            if content["made_by"] != FRAME_VERSION:
                return {}
            found = {float(time_s): float(pts_s) for time_s, pts_s in content["pts_s"].items()}
            here = {path.name for path in (self._folder / film.name).iterdir()}
        except (AttributeError, KeyError, OSError, TypeError, ValueError):
            return {}
        return {t: pts_s for t, pts_s in found.items() if _is_at(t, pts_s) and self._picture % pts_s in here}

    async def _call(self, function: str, argument: Json, path: Path, *, frames: int) -> dict[str, Any]:
        limits = self._limits or Limits(CALL_S + SECONDS_A_FRAME * frames, MEMORY_BYTES)
        if self._closed:
            raise RuntimeError("the frame server is closed")
        if not self._executors:
            self._executors = [LocalExecutor(1) for _ in range(self._processes)]
            for idle in self._executors:
                self._idle.put_nowait(idle)
        executor = await self._idle.get()
        if self._closed:
            self._idle.put_nowait(executor)
            raise RuntimeError("the frame server is closed")
        work = asyncio.ensure_future(asyncio.to_thread(_outcome, executor, function, Call(argument, limits)))
        self._under_way.add(work)

        def ended(done: "asyncio.Future[Any]") -> None:
            self._under_way.discard(done)
            self._idle.put_nowait(executor)

        work.add_done_callback(ended)
        # If the waiting task is cancelled, the process continues, and the next task gets it when it is done.
        answer = await asyncio.shield(work)
        if isinstance(answer, Failure):
            raise InputError(f"the video cannot be decoded: {answer}", file=path, hint=HINT)
        if not isinstance(answer, dict):
            raise _no_sense(path)
        if "refused" in answer:
            why = str(answer["refused"])[:300]
            raise InputError(f"the video cannot be decoded: {why}", file=path, hint=HINT)
        if "unwritable" in answer:
            why = str(answer["unwritable"])[:300]
            raise BenchmarkError(
                f"frames of {path} cannot be written into {self._folder}: {why}; free some space or choose another "
                "folder"
            )
        return answer


def _outcome(executor: LocalExecutor, function: str, call: Call) -> Any:
    [(_, outcome)] = executor.map(function, [call])
    return outcome


def _is_at(time_s: float, pts_s: object) -> bool:
    return isinstance(pts_s, float | int) and math.isfinite(time_s) and 0 <= pts_s and pts_s - time_s <= HAIR_S


def _film(path: Path, name: str, facts: Any) -> VideoFile | None:
    """A video file from the facts of a child process or an earlier run; None if they are malformed."""
    try:
        gaps_s = tuple((float(start_s), float(end_s)) for start_s, end_s in facts["gaps_s"])
        film = VideoFile(
            path,
            name,
            float(facts["duration_s"]),
            promised_s=float(facts["promised_s"]),
            gaps_s=gaps_s,
        )
    except (KeyError, OverflowError, TypeError, ValueError):
        return None
    return film if 0 <= film.duration_s <= LONGEST_S else None


def _no_sense(path: Path) -> InputError:
    return InputError("what is read from the video makes no sense, as its length", file=path, hint=HINT)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


CACHE_BYTES: Final = 64 << 20
LATE_QUESTION_S: Final = 2.0
"""A question may be asked this long after the end of its video, because published times are rounded up and clips are
widened. A frame may replace a lost one for as long."""
MOST_NAMED: Final = 5
"""Maximum number of lost frames that a message names."""
CUT_SHORT_HINT: Final = "the file may be cut short: bring the whole video here, or leave it out"


class VisibleFrames:
    """The frames that each turn of one script may see. It is also the `Pictures` of the player.

    Args:
        server: Reads the pictures.
        steps: The turns of the script.
        frames: The frames that each turn sees, in the order in which they are shown.
        files: File of the picture of each frame.
        append_only: True if frames are sent as they come.
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
        """True if the frames of each turn begin with those of the turn before."""
        self._server, self._steps, self._frames, self._files = server, tuple(steps), tuple(frames), files
        self._shown: set[bytes] = set()

    def at(self, index: int) -> tuple[tuple[ShownFrame, ...], tuple[ShownFrame, ...]]:
        """All frames that a turn sees, and the new ones among them; all are new if each turn has its own frames.

        Args:
            index: Index of the step, from 0.

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
            reference: Reference of a frame that `at` gave.

        Raises:
            ValueError: No turn so far was shown such a frame.
            BenchmarkError: The picture is no longer in the folder.
        """
        if reference not in self._shown:
            raise ValueError(f"no turn so far was shown a frame {reference!r}")
        return await self._server.jpeg(reference)


class FrameServer:
    """Decodes the frames that scripts see, and stores their pictures.

    Args:
        media: File of a video by the video's identifier; None if it is not available.
        settings: Which frames, and how large.
        folder: Stores pictures and facts of each video. You may delete it while nothing runs.
        processes: Videos that are decoded at a time.
        limits: Limits of one call of a child process. By default the time grows with the number of frames.
        cache_bytes: Maximum size of the pictures in memory.
        control: The pictures that are shown in place of the video's own. The times of frames do not change.
        seed: Seed of the control's draws.
        others: For each video, the video whose pictures the control `other-video` shows.
    """

    def __init__(
        self,
        media: Callable[[str], Path | None],
        settings: FrameSettings,
        folder: Path,
        processes: int = 2,
        *,
        limits: Limits | None = None,
        cache_bytes: int = CACHE_BYTES,
        control: Control | None = None,
        seed: int = 17,
        others: Mapping[str, str] | None = None,
    ) -> None:
        self.settings: Final = settings
        self._control, self._seed, self._others = control, seed, others or {}
        self._media, self._cache_bytes = media, cache_bytes
        self._decoder = FrameDecoder(folder, settings, processes, limits)
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._films: dict[str, VideoFile | InputError] = {}
        self._files: dict[bytes, Path] = {}
        self._cached: OrderedDict[bytes, bytes] = OrderedDict()
        self._size_bytes = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the processes that decode. Pictures of frames that were shown are still available."""
        await self._decoder.close()

    def stop(self) -> None:
        """Like `close`, but does not wait: an event loop that ends waits for frames that are still decoded."""
        self._decoder.stop()

    @property
    def decoded(self) -> int:
        """Moments that were decoded so far; 0 if the folder already had all of them."""
        return self._decoder.decoded

    async def open(self, script: Script) -> VisibleFrames:
        """Decode the frames that the turns of a script see and that are not in the folder yet.

        Raises:
            BenchmarkError: The video's file is not available, or the folder cannot be written.
            BrokenInvariantError: A turn is asked earlier than the turn before it, so its history would reveal the
                future.
            InputError: The video cannot be decoded, or ends long before a question.
        """
        if "none" in (self.settings.policy, self._control) or not script.steps:
            return VisibleFrames(self, script.steps, [()] * len(script.steps), {}, append_only=True)
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
        return VisibleFrames(self, script.steps, frames, files, append_only=policy.append_only)

    async def _sources(
        self, script: Script, film: VideoFile, shown: Sequence[tuple[float, ...]], *, append_only: bool
    ) -> list[list[tuple[VideoFile, float]]]:
        """The video and the presentation time of the picture that is shown for each frame of each turn."""
        if self._control == "shuffled":
            mixed: tuple[float, ...] = ()
            orders = []
            for index, times in enumerate(shown):
                before = mixed if append_only else ()
                mixed = shuffle_times(
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
                at = {pts_s: loop_time(pts_s, other.duration_s) for pts_s in moments}
                await self._decode(name, other, set(at.values()))
            return [[(other, other.pts_s[at[pts_s]]) for pts_s in times] for times in shown]
        return [[(film, pts_s) for pts_s in times] for times in shown]

    def shows(self, files: Mapping[bytes, Path]) -> None:
        """Record frames that a `VisibleFrames` has shown. `jpeg` gives only these."""
        self._files.update(files)

    async def jpeg(self, reference: bytes) -> bytes:
        """The JPEG file of a frame that some turn was shown.

        This is for code that sends frames to a model. A player gets `VisibleFrames`, which know only its own turns.

        Args:
            reference: Of a frame that a `VisibleFrames` of this server gave.

        Raises:
            ValueError: No turn was shown such a frame.
            BenchmarkError: The picture is no longer in the folder.
        """
        if (kept := self._cached.get(reference)) is not None:
            self._cached.move_to_end(reference)
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
            content = await asyncio.to_thread(black_picture, content, quality=self.settings.quality)
        if reference not in self._cached:
            self._cached[reference] = content
            self._size_bytes += len(content)
            while self._size_bytes > self._cache_bytes:
                self._size_bytes -= len(self._cached.popitem(last=False)[1])
        return content

    def _reference(self, film: VideoFile, pts_s: float, source: VideoFile, at_s: float) -> bytes:
        """A name of the picture that is shown, so that a reply to one picture is never used for another."""
        own = f"{film.name}@{pts_s:.6f}/{self.settings.size}/{self.settings.quality}"
        shown = f"/{self._control}/{source.name}@{at_s:.6f}" if self._control else ""
        return f"{own}{shown}".encode()

    async def _film(self, video_id: str) -> VideoFile:
        known = self._films.get(video_id)
        if isinstance(known, VideoFile):
            return known
        if known is not None:
            raise InputError(known.problem, file=known.file, hint=known.hint)
        path = self._media(video_id)
        if path is None or not path.is_file():
            where = "" if path is None else f" at {path}"
            raise BenchmarkError(
                f"the file of video {video_id!r} is not available{where}; put it into the benchmark's media, as "
                "'reeltalk attach', 'reeltalk media pull' and 'reeltalk curate --media copy' do, or play without frames"
            )
        try:
            self._films[video_id] = film = await self._decoder.film(path)
        except InputError as error:
            self._films[video_id] = error
            raise
        return film

    async def _decode(self, video_id: str, film: VideoFile, times_s: set[float]) -> None:
        gone = [t for t in times_s if any(start_s + LATE_QUESTION_S < t < end_s for start_s, end_s in film.gaps_s)]
        if gone:
            raise _lost(film, gone)
        missing = sorted(times_s - film.pts_s.keys())
        if not missing:
            return
        try:
            await self._decoder.decode(film, missing)
        except InputError as error:
            # A file that hangs the decoder is not tried again for each of its scripts.
            self._films[video_id] = error
            raise
        if gone := sorted(times_s - film.pts_s.keys()):
            raise _lost(film, gone)


def _lost(film: VideoFile, times_s: Sequence[float]) -> InputError:
    times = sorted(times_s)
    named = ", ".join(f"{time_s:.1f}" for time_s in times[:MOST_NAMED]) + (", …" if times[MOST_NAMED:] else "")
    word = "the frame" if len(times) == 1 else f"{len(times)} frames"
    return InputError(f"the file is damaged: {word} at {named} s cannot be had", file=film.path, hint=CUT_SHORT_HINT)


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


def _check_length(script: Script, film: VideoFile) -> None:
    end_s = max(film.duration_s, film.promised_s)
    last_s = max((end_s if step.asked_at_s is None else step.asked_at_s for step in script.steps), default=0.0)
    if last_s > film.duration_s + LATE_QUESTION_S:
        cut_off = f", of {end_s:.1f} s that it says it has," if end_s > film.duration_s else ""
        raise InputError(
            f"the video ends at {film.duration_s:.1f} s{cut_off} and {script.id!r} asks about it at {last_s:.1f} s",
            file=film.path,
            hint=CUT_SHORT_HINT,
        )

"""Pictures of videos, decoded in child processes, once for each size and quality, into a folder that lasts."""

import asyncio
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from reeltalk.errors import BenchmarkError, InputError
from reeltalk.evaluate.frame_settings import FrameSettings
from reeltalk.parallel import Call, Failure, Limits, LocalExecutor
from reeltalk.schema.record import Json
from reeltalk.store.atomic import storage_errors, write_bytes
from reeltalk.store.media import hash_video

LOOK: Final = "reeltalk.video.serving:look"
SERVE: Final = "reeltalk.video.serving:serve"
MADE_BY: Final = 1
"""Grows when the same frame in the same size would come out differently: kept pictures are then made anew."""
CALL_S: Final = 120.0
SECONDS_A_FRAME: Final = 10.0
"""Time that a call may take for each frame: a long video whose index is damaged is decoded from its start."""
MEMORY_BYTES: Final = 1 << 30
HAIR_S: Final = 1.001e-6
"""`video.frames` takes the frame at a moment a microsecond further; the rest is the rounding of floats."""
LONGEST_S: Final = 14 * 86400.0
"""A video that says it is longer lies; to count its seconds would take more memory than there is."""
NAME_DIGITS: Final = 32
"""Digits of a video's hash that name its pictures."""
FACTS: Final = ("duration_s", "rotation_deg", "promised_s", "gaps_s")
"""What of a `Film` the folder keeps."""
HINT: Final = "replace the file or leave the video out"


@dataclass
class Film:
    """What is known of a video's file."""

    path: Path
    name: str
    """The first digits of its hash."""
    duration_s: float
    rotation_deg: int
    """Clockwise, what a player applies."""
    promised_s: float = 0.0
    """How long the file says that it is; more than `duration_s` where it was cut off."""
    gaps_s: tuple[tuple[float, float], ...] = ()
    """Parts that were lost to damage."""
    pts_s: dict[float, float] = field(default_factory=dict)
    """Presentation time of the frame on the screen at each moment that was asked for; its picture is in the folder."""


class Decoder:
    """Child processes that decode, and the folder in which their pictures stay.

    Args:
        folder: Holds a folder for each video: what it is, which frame is on the screen when, and the pictures.
        settings: How large the pictures are.
        processes: Videos that are decoded at a time.
        limits: What one call may use; by default time grows with the frames.
    """

    def __init__(self, folder: Path, settings: FrameSettings, processes: int, limits: Limits | None = None) -> None:
        if processes < 1:
            raise ValueError(f"processes must be at least 1, got {processes}")
        self.decoded = 0
        """Moments that had to be decoded so far."""
        self._folder, self._settings, self._limits = folder, settings, limits
        self._executors = [LocalExecutor(1) for _ in range(processes)]
        self._idle: asyncio.Queue[LocalExecutor] = asyncio.Queue()
        for executor in self._executors:
            self._idle.put_nowait(executor)
        self._under_way: set[asyncio.Future[Any]] = set()
        self._closed = False
        self._picture = f"%.6f-{settings.size}-q{settings.quality}.jpg"

    def stop(self) -> None:
        """End all child processes now, and wait for nothing; calls that still run fail."""
        self._closed = True
        for executor in self._executors:
            executor.close()

    async def close(self) -> None:
        """End all child processes now."""
        self.stop()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def film(self, path: Path) -> Film:
        """What is known of a video, and which of its frames an earlier run left in the folder.

        Raises:
            BenchmarkError: The file cannot be read, or the folder not be written.
            InputError: It is no video that we read.
        """
        name = (await asyncio.to_thread(hash_video, path))[:NAME_DIGITS]
        facts_file = self._folder / name / "video.json"
        film = _film(path, name, _read_json(facts_file))
        if film is None:
            film = _film(path, name, await self._call(LOOK, {"path": str(path)}, path, frames=0))
            if film is None:
                raise _no_sense(path)
            facts: dict[str, Json] = {name: getattr(film, name) for name in FACTS}
            write_bytes(facts_file, json.dumps(facts).encode())
        film.pts_s = self._known(film)
        return film

    def picture(self, film: Film, pts_s: float) -> Path:
        """File of the frame with a presentation time."""
        return self._folder / film.name / (self._picture % pts_s)

    async def decode(self, film: Film, times_s: list[float]) -> None:
        """Bring the frames on the screen at some moments into the folder, by one call of a child process.

        Args:
            film: Learns their presentation times, but for moments whose own frame is damaged.
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
            "rotation_deg": film.rotation_deg,
            "longest_side_px": self._settings.longest_side_px,
            "square_px": self._settings.square_px,
            "quality": self._settings.quality,
            "folder": str(folder),
            "name": self._picture,
        }
        answer = await self._call(SERVE, argument, film.path, frames=len(times_s))
        found, lost = answer.get("pts_s"), answer.get("lost")
        # The process that answers has read a stranger's file: what it says is checked like any input.
        if not isinstance(found, list) or len(found) != len(times_s) or not all(map(_is_at, times_s, found)):
            raise _no_sense(film.path)
        if not isinstance(lost, list) or not set(times_s).issuperset(lost):
            raise _no_sense(film.path)
        self.decoded += len(times_s)
        film.pts_s.update(
            {time_s: float(pts_s) for time_s, pts_s in zip(times_s, found, strict=True) if time_s not in lost}
        )
        # What another run has added in the meantime stays.
        content = {"made_by": MADE_BY, "pts_s": self._known(film) | film.pts_s}
        write_bytes(self._index(film), json.dumps(content).encode())

    def _index(self, film: Film) -> Path:
        return self._folder / film.name / f"{self._settings.size}-q{self._settings.quality}.json"

    def _known(self, film: Film) -> dict[float, float]:
        content = _read_json(self._index(film))
        try:
            if content["made_by"] != MADE_BY:
                return {}
            found = {float(time_s): float(pts_s) for time_s, pts_s in content["pts_s"].items()}
            here = {path.name for path in (self._folder / film.name).iterdir()}
        except (AttributeError, KeyError, OSError, TypeError, ValueError):
            return {}
        return {t: pts_s for t, pts_s in found.items() if _is_at(t, pts_s) and self._picture % pts_s in here}

    async def _call(self, function: str, argument: Json, path: Path, *, frames: int) -> dict[str, Any]:
        limits = self._limits or Limits(CALL_S + SECONDS_A_FRAME * frames, MEMORY_BYTES)
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
        # Where the one who waits is cancelled, the process goes on, and is given to the next when it is done.
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


def _film(path: Path, name: str, facts: Any) -> Film | None:
    """A film by what a child process or an earlier run says of it; None where that makes no sense."""
    try:
        gaps_s = tuple((float(start_s), float(end_s)) for start_s, end_s in facts["gaps_s"])
        film = Film(
            path,
            name,
            float(facts["duration_s"]),
            int(facts["rotation_deg"]),
            promised_s=float(facts["promised_s"]),
            gaps_s=gaps_s,
        )
    except (KeyError, OverflowError, TypeError, ValueError):
        return None
    return film if 0 <= film.duration_s <= LONGEST_S and film.rotation_deg in (0, 90, 180, 270) else None


def _no_sense(path: Path) -> InputError:
    return InputError("what is read from the video makes no sense, as its length", file=path, hint=HINT)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None

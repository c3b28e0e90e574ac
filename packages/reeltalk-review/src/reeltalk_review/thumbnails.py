"""Small pictures of a video for the bar below it: which parts have them, and the thread that makes them.

A sheet shows a part of a video in `MOST` pictures at most. The parts are the same for everybody: a length is 30 s or a
double of it, and a part begins at a multiple of half its length. So the sheets of a video are few, and every short part
of a long video is in a fine one.
"""

import contextlib
import math
import queue
import threading
from pathlib import Path
from typing import Final, NamedTuple, Self

from reeltalk.parallel import Call, Failure, Limits, LocalExecutor
from reeltalk.schema.record import Json
from reeltalk.video.serving import REFUSED

MOST: Final = 60
COLUMNS: Final = 10
SHORTEST_S: Final = 30
IDLE_S: Final = 20.0
"""The process that decodes ends if nothing is wanted for so long."""
LIMITS: Final = Limits(wall_s=180.0, memory_bytes=1 << 30)


class Sheet(NamedTuple):
    """A part of a video that is shown in one picture."""

    start_s: int
    length_s: int
    frames: int
    """How many it shows."""

    @property
    def every_s(self) -> float:
        """Seconds between two frames."""
        return self.length_s / MOST

    @property
    def times_s(self) -> list[float]:
        """When its frames are shown: in the middle of the time for which each stands."""
        return [self.start_s + (number + 0.5) * self.every_s for number in range(self.frames)]

    @classmethod
    def at(cls, start_s: int, length_s: int, duration_s: float) -> Self | None:
        """The sheet of a part; None if no sheet has it.

        Args:
            start_s: Where it begins.
            length_s: How long it is.
            duration_s: Length of the video.
        """
        half = length_s // 2
        is_double = length_s >= SHORTEST_S and length_s % SHORTEST_S == 0 and (length_s // SHORTEST_S).bit_count() == 1
        if not is_double or start_s % half or not 0 <= start_s < duration_s:
            return None
        if length_s > SHORTEST_S and half >= duration_s:
            return None
        return cls(start_s, length_s, min(MOST, math.ceil((duration_s - start_s) * MOST / length_s)))

    @classmethod
    def of_part(cls, start_s: float, end_s: float, duration_s: float) -> Self | None:
        """The finest sheet that shows a part of a video; None if the part is outside.

        Args:
            start_s: Where the part begins.
            end_s: Where it ends.
            duration_s: Length of the video.
        """
        length_s = SHORTEST_S
        while True:
            begin_s = max(0, math.floor(start_s / (length_s // 2))) * (length_s // 2)
            if begin_s + length_s >= min(end_s, duration_s):
                return cls.at(begin_s, length_s, duration_s)
            length_s *= 2

    def name(self, sha256: str) -> str:
        """The name of its file."""
        return f"{sha256}.{self.start_s}-{self.length_s}.jpg"

    def view(self, sha256: str) -> Json:
        """What screens need to show it."""
        return {
            "address": f"/media/{sha256}/thumbnails/{self.start_s}/{self.length_s}",
            "start_s": self.start_s,
            "every_s": self.every_s,
            "columns": COLUMNS,
            "count": self.frames,
        }


def sheets_of(duration_s: float | None, start_s: float, end_s: float) -> list[Sheet]:
    """The sheets for a unit of a video: one of the whole video, and a finer one of its part if there is one.

    Args:
        duration_s: Length of the video; None if it is not known.
        start_s: Where the unit begins.
        end_s: Where it ends.
    """
    if duration_s is None or duration_s <= 0:
        return []
    found = [Sheet.of_part(0, duration_s, duration_s), Sheet.of_part(start_s, end_s, duration_s)]
    return [sheet for number, sheet in enumerate(found) if sheet is not None and sheet not in found[:number]]


class ThumbnailMaker:
    """Makes sheets one after the other, in a thread of its own and with one process that decodes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: queue.Queue[tuple[Path, Path, Sheet]] = queue.Queue()
        self._wanted: set[Path] = set()
        self._failed: set[Path] = set()
        self._works = False

    def want(self, video: Path, target: Path, sheet: Sheet) -> bool:
        """Have a sheet made, unless it is being made.

        Args:
            video: The file that browsers play.
            target: The sheet's file.
            sheet: What it shows.

        Returns:
            False if it could not be made before.
        """
        with self._lock:
            if target in self._failed:
                return False
            if target not in self._wanted:
                self._wanted.add(target)
                self._waiting.put((video, target, sheet))
                if not self._works:
                    self._works = True
                    # A server that ends does not wait for pictures.
                    threading.Thread(target=self._work, daemon=True).start()
            return True

    def _work(self) -> None:
        with contextlib.closing(LocalExecutor(workers=1)) as executor:
            while True:
                try:
                    video, target, sheet = self._waiting.get(timeout=IDLE_S)
                except queue.Empty:
                    with self._lock:
                        if self._waiting.empty():
                            self._works = False
                            return
                    continue
                made = False
                with contextlib.suppress(OSError):
                    made = self._make(executor, video, target, sheet)
                with self._lock:
                    self._wanted.discard(target)
                    if not made:
                        self._failed.add(target)

    def _make(self, executor: LocalExecutor, video: Path, target: Path, sheet: Sheet) -> bool:
        if target.is_file():
            return True
        argument = {"path": str(video), "times_s": sheet.times_s, "columns": COLUMNS}
        argument |= {"folder": str(target.parent), "name": target.name}
        for _, outcome in executor.map("reeltalk_review.video.sheet:make_sheet", [Call(argument, LIMITS)]):
            return not isinstance(outcome, Failure) and REFUSED not in outcome and target.is_file()
        return False

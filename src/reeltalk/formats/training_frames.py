"""Pictures of the frames that samples show: decoded in child processes, written once, found again by the next run."""

import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from reeltalk.errors import BenchmarkError, InputError
from reeltalk.parallel import Call, Executor, Failure, Limits
from reeltalk.schema.media import Video
from reeltalk.schema.sft import TrainingSample
from reeltalk.store.atomic import storage_errors, write_bytes
from reeltalk.video.serving import REFUSED, UNWRITABLE

FRAMES: Final = "frames"
MADE_AS: Final = "made.json"
"""Beside the pictures of a video: what they were made of, and how."""
MADE_BY: Final = 1
"""Grows when the same frame would come out differently."""
FRAMES_A_CALL: Final = 64
CALL_S: Final = 120.0
SECONDS_A_FRAME: Final = 10.0
"""Time that a call may take for each frame: a long video whose index is damaged is decoded from its start."""
MEMORY_BYTES: Final = 1 << 30
WRITE: Final = "reeltalk.video.stills:write"
LOOK: Final = "reeltalk.video.serving:look"
HINT: Final = "replace the file, or leave the video out"
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")

Progress = Callable[[str, int, int, float], None]
"""Told what is being done, how many are done, of how many, and the share."""


@dataclass(frozen=True)
class Film:
    """A video whose pictures are made."""

    video: Video
    path: Path
    duration_s: float

    @property
    def rotation_deg(self) -> int:
        """Clockwise, what a player applies."""
        return self.video.encoding.rotation_deg if self.video.encoding is not None else 0


def frame_folder(video_id: str) -> str:
    """Folder of a video's pictures, relative to the root: its identifier where every file system takes that."""
    if _PLAIN.fullmatch(video_id):
        return f"{FRAMES}/{video_id}"
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", video_id).strip("_-")[:60] or "video"
    return f"{FRAMES}/{stem}-{sha256(video_id.encode()).hexdigest()[:8]}"


def films(videos: Iterable[Video], media: Callable[[Video], Path | None], executor: Executor) -> dict[str, Film]:
    """The videos that are at hand, by identifier, with their lengths, which are read where they are not known.

    Raises:
        InputError: A video cannot be read.
    """
    there = [(video, path) for video in videos if (path := media(video)) is not None]
    lengths = {video.id: video.duration_s for video, _ in there if video.duration_s}
    unknown = [(video, path) for video, path in there if video.id not in lengths]
    calls = [Call({"path": str(path)}, Limits(CALL_S, MEMORY_BYTES)) for _, path in unknown]
    for place, outcome in executor.map(LOOK, calls) if calls else ():
        video, path = unknown[place]
        lengths[video.id] = _number(_answer(outcome, path), "duration_s", path)
    return {video.id: Film(video, path, lengths[video.id]) for video, path in there}


def write_frames(
    samples: Iterable[TrainingSample],
    films: Mapping[str, Film],
    root: Path,
    *,
    size: int,
    quality: int,
    executor: Executor,
    overwrite: bool = False,
    shared: Sequence[str] = (),
    progress: Progress = lambda *_: None,
) -> tuple[int, int]:
    """Write the pictures of samples below a root, those that are there already left alone.

    Args:
        samples: Their frames have files and times.
        films: Videos by identifier.
        root: Gets `frames/VIDEO/MILLISECONDS.jpg`.
        size: Width and height in pixels.
        quality: Of the JPEG files, 1 to 100.
        executor: Decodes.
        overwrite: Make pictures anew that were made otherwise.
        shared: Files of other samples that show the pictures, too: then none is made anew.
        progress: Told how far it is.

    Returns:
        Pictures that samples show, and how many of them were decoded now.

    Raises:
        BenchmarkError: Pictures are there that were made otherwise, or they cannot be written.
        InputError: A video cannot be decoded.
    """
    wanted: dict[str, dict[str, float]] = {}
    for sample in samples:
        stills = wanted.setdefault(sample.video_id or "", {})
        for frame in sample.frames:
            at_s = frame.at_s or 0.0
            # Where two moments share a name, the earlier: no sample then sees beyond its question.
            stills[frame.file] = min(at_s, stills.get(frame.file, at_s))
    calls, paths = [], []
    for video_id, stills in wanted.items():
        film, folder = films[video_id], root / frame_folder(video_id)
        _claim(folder, film, size=size, quality=quality, overwrite=overwrite, shared=shared)
        missing = sorted((at_s, Path(file).name) for file, at_s in stills.items() if not (root / file).is_file())
        for start in range(0, len(missing), FRAMES_A_CALL):
            part = missing[start : start + FRAMES_A_CALL]
            argument = {
                "path": str(film.path), "stills": part, "rotation_deg": film.rotation_deg, "square_px": size,
                "quality": quality, "folder": str(folder),
            }  # fmt: skip
            calls.append(Call(argument, Limits(CALL_S + SECONDS_A_FRAME * len(part), MEMORY_BYTES)))
            paths.append(film.path)
    total = sum(map(len, wanted.values()))
    to_do = sum(len(call.argument["stills"]) for call in calls)
    done = 0
    if calls:
        progress("frames", 0, to_do, 0.0)
    for place, outcome in executor.map(WRITE, calls) if calls else ():
        answer = _answer(outcome, paths[place])
        asked = len(calls[place].argument["stills"])
        found = answer.get("pts_s")
        if not isinstance(found, list) or len(found) != asked:
            raise InputError("what is read from the video makes no sense", file=paths[place], hint=HINT)
        done += asked
        progress("frames", done, to_do, done / to_do)
    return total, to_do


def _claim(folder: Path, film: Film, *, size: int, quality: int, overwrite: bool, shared: Sequence[str]) -> None:
    """Make sure that pictures in a folder are of this video and made in this way."""
    made = {"made_by": MADE_BY, "video": film.video.sha256 or str(film.path), "size": size, "quality": quality}
    file = folder / MADE_AS
    with storage_errors(folder):
        if folder.exists():
            try:
                before: Any = json.loads(file.read_bytes())
            except (OSError, ValueError, RecursionError):
                before = None
            if before == made:
                return
            if any(folder.iterdir()) and (shared or not overwrite):
                advice = f", as {', '.join(shared)} shows them, too" if shared else " or pass --overwrite"
                raise BenchmarkError(
                    f"{folder} holds pictures that were made otherwise (another video, size or quality); choose "
                    f"another folder{advice}"
                )
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        write_bytes(file, json.dumps(made).encode())


def _answer(outcome: Any, path: Path) -> dict[str, Any]:
    """What a child process answered, which has read a stranger's file."""
    if isinstance(outcome, Failure):
        raise InputError(f"the video cannot be decoded: {outcome}", file=path, hint=HINT)
    if not isinstance(outcome, dict):
        raise InputError("what is read from the video makes no sense", file=path, hint=HINT)
    if REFUSED in outcome:
        raise InputError(f"the video cannot be decoded: {str(outcome[REFUSED])[:300]}", file=path, hint=HINT)
    if UNWRITABLE in outcome:
        raise BenchmarkError(
            f"frames of {path} cannot be written: {str(outcome[UNWRITABLE])[:300]}; free some space or choose another "
            "folder"
        )
    return outcome


def _number(answer: Mapping[str, Any], name: str, path: Path) -> float:
    value = answer.get(name)
    if not isinstance(value, int | float) or not 0 <= value < 14 * 86400:
        raise InputError("what is read from the video makes no sense, as its length", file=path, hint=HINT)
    return float(value)

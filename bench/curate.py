"""One decode against the usual four passes and against splitting at a fixed stride: CPU time, memory and growth.

CPU seconds are user and system time of a process and of all its children, so they are valid on a busy machine. Each
figure is a ratio of medians over rounds in which the sides take turns, the long ones in the first round only. The naive
pipeline is a typical user's script: PySceneDetect over the file; frames at 2 fps by OpenCV to JPEG; those read again
for sharpness and histograms; again for dense flow; and, if clips are cut, PySceneDetect's own re-encoding splitter,
which needs ffmpeg on the path.

Splitting at a fixed stride is NeMo Curator's published method (`FixedStrideExtractorStage` and
`ClipTranscodingStage` of nemo-curator 1.4.0): clips of 10 seconds, the last one at least 2, encoded by libx264 with its
defaults in one thread. It is written here with PyAV, since the package needs PyTorch, Ray and ffmpeg. It decodes a
video once, where the package seeks and decodes for each clip, which is a small advantage. Its cost for the first clips
stands for the whole video.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import numpy as np

from record import ROOT, Goal, Measure, at_most, options_of, record
from reeltalk.store.benchmark import Benchmark
from reeltalk_build.curate.calls import KEY_FRAMES, SHEETS
from reeltalk_build.video.write import write_video
from spending import Growth, Spent, spend

sys.path.insert(0, str(ROOT / "tools"))
from sample_videos import Recomposed, cached

DECODE = """
import sys, av
with av.open(sys.argv[1]) as container:
    stream = container.streams.video[0]
    stream.thread_count = 1
    for frame in container.decode(stream):
        pass
"""

SCENEDETECT = """
import sys, cv2
cv2.setNumThreads(1)
import scenedetect
scenedetect.detect(sys.argv[1], scenedetect.ContentDetector())
"""

EXTRACT = """
import sys, cv2
cv2.setNumThreads(1)
capture = cv2.VideoCapture(sys.argv[1])
step = round(capture.get(cv2.CAP_PROP_FPS) / 2)
number = 0
while True:
    done, frame = capture.read()
    if not done:
        break
    if number % step == 0:
        cv2.imwrite(f"{sys.argv[2]}/{number:06d}.jpg", frame)
    number += 1
"""

QUALITY = """
import sys, cv2
from pathlib import Path
cv2.setNumThreads(1)
kept = None
for path in sorted(Path(sys.argv[2]).glob("*.jpg")):
    frame = cv2.imread(str(path))
    sharpness = cv2.Laplacian(cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY), cv2.CV_64F).var()
    hsv = cv2.cvtColor(frame, cv2.COLOR_BGR2HSV)
    histogram = cv2.calcHist([hsv], [0, 1, 2], None, [8, 8, 8], [0, 180, 0, 256, 0, 256])
    if kept is None or cv2.compareHist(histogram, kept, cv2.HISTCMP_CORREL) <= 0.9:
        kept = histogram
"""

FLOW = """
import sys, cv2
from pathlib import Path
cv2.setNumThreads(1)
flow = cv2.DISOpticalFlow.create(cv2.DISOpticalFlow_PRESET_MEDIUM)
before = None
for path in sorted(Path(sys.argv[2]).glob("*.jpg"))[::2]:
    frame = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
    if before is not None:
        flow.calc(before, frame, None)
    before = frame
"""

SPLIT = """
import sys, scenedetect
scenes = scenedetect.detect(sys.argv[1], scenedetect.ContentDetector())
scenedetect.split_video_ffmpeg(sys.argv[1], scenes, output_dir=sys.argv[2])
"""

STRIDE = """
import sys, av
LENGTH_S, LEAST_S = 10.0, 2.0
with av.open(sys.argv[1]) as source:
    pictures = source.streams.video[0]
    pictures.thread_count = 1
    end_s = min(float(pictures.duration * pictures.time_base), float(sys.argv[3]))
    clip, output = -1, None
    for frame in source.decode(pictures):
        number = int(frame.time / LENGTH_S)
        if number != clip:
            if output is not None:
                output.mux(stream.encode(None))
                output.close()
            clip, output = number, None
            if end_s - number * LENGTH_S < LEAST_S:
                break
            output = av.open(f"{sys.argv[2]}/{number:06d}.mp4", "w")
            stream = output.add_stream("libx264", rate=pictures.average_rate)
            stream.width, stream.height, stream.pix_fmt = frame.width, frame.height, "yuv420p"
            stream.thread_count = 1
        frame.pict_type = 0
        output.mux(stream.encode(frame))
    if output is not None:
        output.mux(stream.encode(None))
        output.close()
"""

WIDE = (
    *("--min-duration-s", "0", "--min-shots", "1", "--max-shots", "5000", "--min-mean-shot-s", "0"),
    *("--max-mean-shot-s", "9000", "--min-flow-px", "0", "--max-flow-px", "9999"),
    *("--media", "none", "--max-minutes", "600"),
)


def cpu_of(command: list[str]) -> tuple[float, float, int]:
    """CPU seconds, wall seconds and peak resident bytes of a command and its children; a run may accept no video."""
    spent = spend(command, ok=(0, 1))
    return spent.cpu_s, spent.wall_s, round(spent.peak_mib * 2**20)


def python(program: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", program, *arguments]


def curate(folder: Path, *videos: Path, workers: int = 1, options: tuple[str, ...] = ()) -> list[str]:
    into = Path(tempfile.mkdtemp(dir=folder)) / "bench"
    command = [sys.executable, "-m", "reeltalk", "curate", *map(str, videos), "--into", str(into)]
    return [*command, "--workers", str(workers), *WIDE, *options]


def naive(video: Path, folder: Path) -> dict[str, list[str]]:
    frames = Path(tempfile.mkdtemp(dir=folder))
    return {
        "scenedetect": python(SCENEDETECT, str(video)),
        "extract": python(EXTRACT, str(video), str(frames)),
        "quality": python(QUALITY, str(video), str(frames)),
        "flow": python(FLOW, str(video), str(frames)),
    }


LONG = frozenset({"naive", "split", "stride", "curate_and_cut_exactly"})


def medians(sides: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Median of each side over rounds in which all take turns; those of `LONG` take part in the first alone."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds):
        for name, side in sides.items():
            if number and name in LONG:
                continue
            found[name].append(side())
            print(f"  round {number + 1} {name}: {found[name][-1]:.2f} s", flush=True)
    return {name: statistics.median(values) for name, values in found.items()}


def compare(
    name: str, video: Path, folder: Path, rounds: int, *, exact: bool, length_s: int, split_s: int
) -> dict[str, float]:
    """All ratios for one video; the first `split_s` of its `length_s` seconds are split at a fixed stride."""

    def cpu(command: list[str]) -> float:
        return cpu_of(command)[0]

    def naive_cpu() -> float:
        parts = {part: cpu(command) for part, command in naive(video, folder).items()}
        scenedetect_s.append(parts["scenedetect"])
        return sum(parts.values())

    scenedetect_s: list[float] = []
    # What any run costs is taken off where a run ends at a gate: it is paid once, not by every video.
    sides: dict[str, Callable[[], float]] = {
        "decode": lambda: cpu(python(DECODE, str(video))),
        "curate": lambda: cpu(curate(folder, video)),
        "naive": naive_cpu,
        "curate_and_cut": lambda: cpu(curate(folder, video, options=("--cut", "lossless"))),
        "stride": lambda: cpu(python(STRIDE, str(video), tempfile.mkdtemp(dir=folder), str(split_s))),
        "nothing": lambda: cpu(curate(folder, EMPTY)),
        "gate_metadata": lambda: cpu(curate_gated(folder, video, "--min-duration-s", "8000")),
        "gate_key_frames": lambda: cpu(curate_gated(folder, video, "--max-brisque", "-100")),
    }
    if exact:
        sides["curate_and_cut_exactly"] = lambda: cpu(curate(folder, video, options=("--cut", "exact")))
    if shutil.which("ffmpeg"):
        sides["split"] = lambda: cpu(python(SPLIT, str(video), tempfile.mkdtemp(dir=folder)))
    found = medians(sides, rounds)
    scenedetect = statistics.median(scenedetect_s)
    stride_s = found["stride"] * length_s / split_s
    figures = {
        f"{name}_decode_cpu_s": found["decode"],
        f"{name}_curate_cpu_s": found["curate"],
        f"{name}_start_cpu_s": found["nothing"],
        f"{name}_curate_and_cut_cpu_s": found["curate_and_cut"],
        f"{name}_stride_cpu_s": stride_s,
        f"{name}_stride_over_curate_and_cut": stride_s / found["curate_and_cut"],
        f"{name}_naive_over_curate": found["naive"] / found["curate"],
        f"{name}_curate_over_decode": found["curate"] / found["decode"],
        f"{name}_curate_without_start_over_decode": (found["curate"] - found["nothing"]) / found["decode"],
        f"{name}_curate_over_scenedetect": found["curate"] / scenedetect,
        f"{name}_gate_metadata_over_decode": (found["gate_metadata"] - found["nothing"]) / found["decode"],
        f"{name}_gate_key_frames_over_decode": (found["gate_key_frames"] - found["nothing"]) / found["decode"],
    }
    if "split" in found:
        # The splitter's figure includes a second detection, as users run it after they have looked at the cuts.
        cut = found["naive"] + found["split"] - scenedetect
        figures[f"{name}_naive_with_clips_over_curate_with_clips"] = cut / found["curate_and_cut"]
        if exact:
            figures[f"{name}_naive_with_clips_over_curate_with_exact_clips"] = cut / found["curate_and_cut_exactly"]
    return figures


def curate_gated(folder: Path, video: Path, option: str, value: str) -> list[str]:
    command = curate(folder, video)
    if option in command:
        command[command.index(option) + 1] = value
        return command
    return [*command, option, value]


SCALE = "scale of curation"
"""Who set the goals."""
PACKAGES = ("reeltalk", "av", "scenedetect-headless", "opencv-python-headless")
EMPTY = Path(__file__)
"""A file that is no video: what a run costs that finds nothing to decode."""


def longer(video: Path, times: int) -> Path:
    """The same packets again and again."""

    def write(path: Path) -> None:
        with av.open(str(path), "w") as output:
            stream: Any = None
            shift = 0
            for _ in range(times):
                with av.open(str(video)) as source:
                    original = source.streams.video[0]
                    stream = stream or output.add_stream_from_template(original)
                    end = 0
                    for packet in source.demux(original):
                        if packet.dts is None or packet.pts is None:
                            continue
                        end = max(end, packet.pts + (packet.duration or 0))
                        packet.pts += shift
                        packet.dts += shift
                        packet.stream = stream
                        output.mux(packet)
                    shift += end

    return cached(f"{video.stem}x{times}.mp4", f"{video.name} {times}", write)


def memory(video: Path, folder: Path, minutes: tuple[int, ...]) -> dict[str, float]:
    """Peak resident memory of a worker for videos of several lengths."""
    figures = {}
    peaks = []
    for length in minutes:
        _, _, peak = cpu_of(curate(folder, longer(video, length // 2)))
        figures[f"peak_mib_{length}_minutes"] = peak / 2**20
        peaks.append(peak / 2**20)
        print(f"  {length} minutes: {peak / 2**20:.0f} MiB", flush=True)
    figures["peak_mib_growth_an_hour"] = (peaks[-1] - peaks[0]) / (minutes[-1] - minutes[0]) * 60
    return figures


def drawn(seed: int) -> Any:
    """A picture of 160 × 90 pixels."""
    draw = np.random.default_rng(seed)
    return np.kron(draw.integers(0, 255, (9, 16, 3), dtype=np.uint8), np.ones((10, 10, 1), dtype=np.uint8))


def hours_long(folder: Path, hours: tuple[float, float, float]) -> dict[str, float]:
    """CPU time and peak memory for videos of several lengths, with 900 small shots an hour."""

    def write(path: Path) -> None:
        write_video(path, (np.roll(drawn(number // 20), 2 * number, axis=1) for number in range(600)), fps=5)

    two_minutes = cached("small-shots.mp4", "30 shots of 4 s at 5 fps", write)
    growth = Growth("curate", "hours")
    for length in hours:
        command = curate(folder, longer(two_minutes, round(length * 30)))
        for option in ("--max-shots", "--max-mean-shot-s"):
            command[command.index(option) + 1] = "90000"
        cpu_s, wall_s, peak = cpu_of(command)
        growth.add(round(length * 3600), Spent(wall_s, cpu_s, peak / 2**20))
        print(f"  {length:g} hours: {growth.cpu_s[-1]:.1f} CPU s, {growth.peak_mib[-1]:.0f} MiB", flush=True)
    figures = {"longest_hours": hours[-1], "longest_peak_mib": growth.peak_mib[-1]}
    return figures if growth.exponent is None else figures | {"longest_exponent": growth.exponent}


def many(folder: Path, counts: tuple[int, int]) -> dict[str, float]:
    """What one more short video costs beside its decoding."""
    spent, decoded = [], []
    for count in counts:
        videos = folder / f"short-{count}"
        videos.mkdir()
        for number in range(count):
            pictures = (np.roll(drawn(2 * number + frame // 20), 2 * frame, axis=1) for frame in range(40))
            write_video(videos / f"video-{number:05d}.mp4", pictures, fps=10)
        spent.append(spend(curate(folder, videos)).cpu_s)
        begun = time.process_time()
        for path in videos.iterdir():
            with av.open(str(path)) as container:
                container.streams.video[0].thread_count = 1
                for _ in container.decode(video=0):
                    pass
        decoded.append(time.process_time() - begun)
        print(f"  {count} short videos: {spent[-1]:.1f} CPU s, {decoded[-1]:.1f} to decode", flush=True)
    more = counts[1] - counts[0]
    return {"short_video_ms": 1000 * (spent[1] - spent[0] - decoded[1] + decoded[0]) / more}


def stored(video: Path, folder: Path, seconds: int) -> dict[str, float]:
    """What curation keeps of a video beside the video itself."""
    command = curate(folder, video, options=("--cut", "lossless", "--save-frames"))
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    benchmark = Benchmark.open(Path(command[command.index("--into") + 1]))
    sizes: dict[str, list[int]] = {}
    for name, entry in benchmark.manifest.files.items():
        sizes.setdefault(name.partition("/")[0] if "/" in name else "tables", []).append(entry.size_bytes)
    cut = sum(benchmark.media.path(sha256).stat().st_size for sha256 in benchmark.media.names())
    return {
        "cut_over_original": cut / video.stat().st_size,
        "key_frames_mb_an_hour": sum(sizes[KEY_FRAMES]) / 1e6 / seconds * 3600,
        "sheet_kb": statistics.mean(sizes[SHEETS]) / 1000,
    }


def two_processes(video: Path, folder: Path, rounds: int) -> dict[str, float]:
    """Throughput of two workers over that of one, on eight copies of a video."""
    copies = []
    for number in range(8):
        copy = folder / f"copy-{number}.mp4"
        # Bytes at the end make another file of it; no demuxer reads them.
        copy.write_bytes(video.read_bytes() + bytes([number]))
        copies.append(copy)
    found = medians(
        {f"workers_{n}": lambda n=n: cpu_of(curate(folder, *copies, workers=n))[1] for n in (1, 2)},  # type: ignore[misc]
        rounds,
    )
    return {"two_workers_over_one": found["workers_1"] / found["workers_2"]}


def main() -> None:
    """Measure, print, and write `build/bench/curate.json`."""
    parser = options_of(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", type=int, choices=(720, 1080), help="one size, without memory and workers")
    parser.add_argument("--exact", action="store_true", help="clips that are encoded again, too: minutes more")
    options = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1"}
    rounds = 1 if options.quick else options.rounds
    seconds = (20, 20) if options.quick else (300, 150)
    preset = "veryfast" if options.quick else "medium"
    prefix = "quick" if options.quick else "bench"
    figures: dict[str, float] = {}
    notes = [] if shutil.which("ffmpeg") else ["clips were not compared: no ffmpeg here for PySceneDetect's splitter"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        videos = {}
        for height, width, length in ((720, 1280, seconds[0]), (1080, 1920, seconds[1])):
            if options.only not in (None, height):
                continue
            print(f"making {height}p, {length} s", flush=True)
            made = Recomposed(f"{prefix}{height}.mp4", width, height, length, preset=preset, shot_s=(6.0, 24.0))
            videos[height], _ = made.make()
        for height, video in videos.items():
            print(f"{height}p", flush=True)
            length_s = seconds[height == 1080]
            figures |= compare(
                f"{height}p",
                video,
                folder,
                rounds,
                exact=options.exact,
                length_s=length_s,
                split_s=3 if options.quick else 60,
            )
        if options.only:
            measures = stated(figures, {options.only: seconds[options.only == 1080]}, quick=options.quick)
            record(f"curate-{options.only}p", measures, figures=figures, packages=PACKAGES, quick=options.quick)
            return
        part = Recomposed(f"{prefix}-part.mp4", 1280, 720, 20 if options.quick else 120, shot_s=(6.0, 24.0)).make()[0]
        figures |= stored(part, folder, 20 if options.quick else 120)
        if len(os.sched_getaffinity(0)) > 1:
            figures |= two_processes(part, folder, rounds)
        else:
            notes.append("two workers were not measured: one core")
        figures |= memory(part, folder, (2, 4) if options.quick else (2, 10, 40))
        figures |= hours_long(folder, (0.05, 0.1, 0.2) if options.quick else (1.0, 3.0, 6.0))
        figures |= many(folder, (10, 30) if options.quick else (500, 2000))
    measures = stated(figures, dict(zip((720, 1080), seconds, strict=True)), quick=options.quick)
    record("curate", measures, figures=figures, packages=PACKAGES, notes=notes, quick=options.quick)


def stated(figures: dict[str, float], seconds: dict[int, int], *, quick: bool) -> list[Measure]:
    """What this suite vouches for; `seconds` is how long the video of each height was. Small counts have no goals."""

    def goal(value: float) -> Goal | None:
        return None if quick else at_most(value, SCALE)

    found = []
    for height, length in seconds.items():
        name = f"{height}p"
        hour_s = (figures[f"{name}_curate_cpu_s"] - figures[f"{name}_start_cpu_s"]) / length * 3600
        over, decoding = figures[f"{name}_naive_over_curate"], figures[f"{name}_curate_without_start_over_decode"]
        found += [
            Measure(f"curating {name}, all in one decode", figures[f"{name}_curate_cpu_s"], "CPU s",
                    "the usual four passes over ours", over),
            Measure(f"curating an hour of {name}", hour_s, "core s", "as much as decoding alone", decoding),
        ]  # fmt: skip
        split_s = figures[f"{name}_stride_cpu_s"] / length * 3600
        found += [
            Measure(f"curating {name} over decoding it, start left out", decoding, "ratio", goal=goal(1.10)),
            Measure(f"curating {name} over PySceneDetect alone", figures[f"{name}_curate_over_scenedetect"], "ratio",
                    goal=goal(0.75)),
            Measure(f"starting, beside {name}", figures[f"{name}_start_cpu_s"], "CPU s", goal=goal(0.4)),
            Measure(f"an hour of {name} in clips of 10 s, each encoded again", split_s, "core s",
                    "as much as curating and clips cut without loss", figures[f"{name}_stride_over_curate_and_cut"]),
        ]  # fmt: skip
        if (clips := figures.get(f"{name}_naive_with_clips_over_curate_with_clips")) is not None:
            cut = figures[f"{name}_curate_and_cut_cpu_s"]
            found.append(Measure(f"curating {name} and cutting its clips", cut, "CPU s",
                                 "four passes and a splitter that encodes again, over ours", clips))  # fmt: skip
        gate = figures[f"{name}_gate_metadata_over_decode"]
        found.append(Measure(f"{name} refused by its metadata", gate, "share", "as much as decoding", gate))
    if (gain := figures.get("two_workers_over_one")) is not None:
        found.append(Measure("two workers", gain, "ratio", "one worker, videos a second", gain))
    if "peak_mib_growth_an_hour" in figures:
        growth = figures["peak_mib_growth_an_hour"]
        found.append(Measure("memory for each hour more of a video", growth, "MiB"))
        longest = f"a video of {figures['longest_hours']:g} hours"
        found.append(Measure(f"{longest}: memory", figures["longest_peak_mib"], "MiB", goal=goal(250)))
        if (exponent := figures.get("longest_exponent")) is not None:
            found.append(Measure(f"{longest}: exponent of its CPU time", exponent, "exponent", goal=goal(1.15)))
        found.append(
            Measure("one short video more, decoding left out", figures["short_video_ms"], "CPU ms", goal=goal(60))
        )
        found += [
            Measure("clips cut without loss", figures["cut_over_original"], "ratio", "bytes of the original",
                    figures["cut_over_original"]),
            Measure("key frames of an hour of 720p", figures["key_frames_mb_an_hour"], "MB"),
            Measure("a contact sheet", figures["sheet_kb"], "KB"),
        ]  # fmt: skip
    return found


if __name__ == "__main__":
    main()

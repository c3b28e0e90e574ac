"""A benchmark as training data: StreamingChat for InternVL, ShareGPT for LLaMA-Factory, messages for TRL.

Child processes decode each picture once into `frames/`, which serves all three layouts and the next run. The file of
samples appears when all of its pictures are there.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from reeltalk.errors import BenchmarkError, InputError
from reeltalk.formats import TRAINING_LAYOUTS
from reeltalk.formats.training_samples import SampleLayout, line_text, to_lines
from reeltalk.formats.training_units import Cutter, TrainingOptions, TrainingUnits, conversations
from reeltalk.parallel import Call, Executor, Failure, Limits
from reeltalk.progress import Progress, ignore_progress
from reeltalk.schema.media import Video
from reeltalk.schema.record import Json
from reeltalk.schema.sft import TokenCounter, TrainingSample, tokens_of
from reeltalk.store.atomic import storage_errors, write_bytes, writing
from reeltalk.store.content import Content
from reeltalk.store.documents import write_json
from reeltalk.video.serving import REFUSED, UNWRITABLE

FRAMES: Final = "frames"
RECORD_FILE: Final = "made.json"
"""File next to the pictures of a video that records their source and settings."""
PICTURE_VERSION: Final = 1
"""Raised when the same frame would give another picture."""
FRAMES_A_CALL: Final = 64
DECODE_S: Final = 120.0
SECONDS_A_FRAME: Final = 10.0
"""Time limit of a call for each frame. A long video with a damaged index is decoded from its start."""
LONGEST_S: Final = 14 * 86400
MEMORY_BYTES: Final = 1 << 30
SERVE_FUNCTION: Final = "reeltalk.video.serving:serve"
PROBE_FUNCTION: Final = "reeltalk.video.serving:probe_length"
HINT: Final = "replace the file, or leave the video out"
META_FILES: Final = {"streamingchat": "meta.json", "sharegpt": "dataset_info.json"}
"""The file that points a trainer to the samples; TRL needs none."""
MEDIA_HINT: Final = "put them into the benchmark with 'reeltalk attach' or 'reeltalk media pull'"
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")


@dataclass(frozen=True)
class Selection:
    """The part of a benchmark that is exported, and its name for trainers."""

    name: str
    split: str | None = None
    tasks: tuple[str, ...] = ()
    limit: int | None = None


@dataclass
class TrainingExport:
    """What was written."""

    file: Path
    found: TrainingUnits
    samples: int
    frames: int
    """Frames of all samples; a picture counts each time that it is shown."""
    answers: int
    most_frames: int
    most_tokens: int
    """Tokens of the longest sample."""
    pictures: int
    decoded: int
    changes: list[str] = field(default_factory=list)
    """A line for each kind of omission or change."""


@dataclass(frozen=True)
class _FilmFile:
    """A video whose pictures are made."""

    video: Video
    path: Path
    duration_s: float


def frame_folder(video_id: str) -> str:
    """Folder of a video's pictures, relative to the root: its identifier if every file system accepts it."""
    if _PLAIN.fullmatch(video_id):
        return f"{FRAMES}/{video_id}"
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", video_id).strip("_-")[:60] or "video"
    return f"{FRAMES}/{stem}-{sha256(video_id.encode()).hexdigest()[:8]}"


def export_training(
    layout: SampleLayout,
    content: Content,
    media: Callable[[Video], Path | None],
    root: Path,
    selection: Selection,
    options: TrainingOptions,
    *,
    count: TokenCounter,
    executor: Executor,
    overwrite: bool = False,
    provenance: dict[str, Json] | None = None,
    progress: Progress = ignore_progress,
) -> TrainingExport:
    """Write pictures, samples and the file that points a trainer to them. A second run decodes only missing pictures.

    Args:
        layout: The trainer's layout.
        content: The benchmark.
        media: The file of a video; None if it is not available.
        root: Folder that receives it.
        selection: The part of the benchmark.
        options: Frames, sizes and cuts.
        count: Counts the tokens of a text.
        executor: Runs the decoders.
        overwrite: Replace the file of samples, and pictures that were made with other settings.
        provenance: Facts that are written next to the samples, with the options and counts.
        progress: Receives how far the work is.

    Raises:
        BenchmarkError: There are no turns to teach, videos are not available, or `root` holds other files.
        InputError: A video cannot be decoded.
        SettingError: There is no such split or task.
    """
    file = root / f"{layout}.jsonl"
    if file.exists() and not overwrite:
        raise BenchmarkError(f"{file} exists; choose another folder or pass --overwrite")
    found = conversations(
        content,
        units=options.units,
        split=selection.split,
        tasks=selection.tasks,
        limit=selection.limit,
        choices=options.choices == "told",
    )
    films = _available_films(content, found, media, options, executor)
    cutter = Cutter(options.limits, count, options.fps, options.frames)
    samples = [
        sample
        for one in found.conversations
        for sample in cutter.samples(one, duration_s=films[one.video_id].duration_s, folder=frame_folder(one.video_id))
    ]
    if not samples:
        raise BenchmarkError(
            "no turn fits a sample; raise --budget, lower --frame-tokens or --reserve, or give the --tokenizer of the "
            "model, without which a text counts as many tokens as it has bytes"
        )
    pictures, decoded = _write_frames(layout, samples, films, root, options, executor, overwrite, progress)
    lines = [line for sample in samples for line in to_lines(sample, layout)]
    with writing(file) as stream:
        for line in lines:
            stream.write(line_text(line).encode())
    exported = TrainingExport(
        file,
        found,
        samples=len(samples),
        frames=sum(len(sample.frames) for sample in samples),
        answers=sum(len(sample.turns) for sample in samples),
        most_frames=max(len(sample.frames) for sample in samples),
        most_tokens=max(tokens_of(sample.turns, options.limits, count) for sample in samples),
        pictures=pictures,
        decoded=decoded,
        changes=[f"{what}: {number:,}" for what, number in (found.counts + cutter.counts).items() if number],
    )
    about = {
        **(provenance or {}),
        "layout": layout,
        "split": list(found.splits),
        "units": found.units,
        "options": options.model_dump(mode="json")
        | ({"tokenizer": options.tokenizer.resolve().name} if options.tokenizer else {}),
        **{name: getattr(exported, name) for name in ("samples", "frames", "answers", "most_tokens")},
        "told": exported.changes,
    }
    write_bytes(root / f"{layout}.about.json", write_json(about).encode())
    if layout in META_FILES:
        meta = {selection.name: _meta(layout, file.name, len(lines))}
        write_bytes(root / META_FILES[layout], json.dumps(meta, ensure_ascii=False, indent=2).encode() + b"\n")
    return exported


def _meta(layout: str, file_name: str, rows: int) -> dict[str, Json]:
    """What a trainer is told about a file of samples."""
    if layout == "sharegpt":
        tags = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}
        columns = {"messages": "messages", "images": "images"}
        return {"file_name": file_name, "formatting": "sharegpt", "columns": columns, "tags": tags}
    return {
        # As in the lines, paths begin in the folder, so that it can be moved and shared.
        "root": ".",
        "annotation": file_name,
        "data_augment": False,
        "repeat_time": 1,
        # One tile a frame: the static resolution that the frames have.
        "max_dynamic_patch": 1,
        "length": rows,
    }


def _available_films(
    content: Content,
    found: TrainingUnits,
    media: Callable[[Video], Path | None],
    options: TrainingOptions,
    executor: Executor,
) -> dict[str, _FilmFile]:
    """The videos of conversations by identifier. Unknown lengths are read from the files."""
    wanted = {conversation.video_id for conversation in found.conversations}
    videos = [video for video in content.videos if video.id in wanted]
    there = {video.id: (video, path) for video in videos if (path := media(video)) is not None}
    missing = sorted(wanted - set(there))
    if missing and not options.skip_missing:
        raise BenchmarkError(
            f"{len(missing):,} videos are not available, such as '{missing[0]}'; {MEDIA_HINT}, or leave out their "
            "samples with --skip-missing"
        )
    if missing:
        before = len(found.conversations)
        found.conversations = [one for one in found.conversations if one.video_id in there]
        left_out = before - len(found.conversations)
        found.counts["conversations are left out, as their video is not at hand"] += left_out
        if not found.conversations:
            raise BenchmarkError(f"no video is available; {MEDIA_HINT}")
    lengths = {video.id: video.duration_s for video, _ in there.values() if video.duration_s}
    unknown = [(video, path) for video, path in there.values() if video.id not in lengths]
    calls = [Call({"path": str(path)}, Limits(DECODE_S, MEMORY_BYTES)) for _, path in unknown]
    for place, outcome in executor.map(PROBE_FUNCTION, calls) if calls else ():
        video, path = unknown[place]
        length = _answer(outcome, path).get("duration_s")
        if not isinstance(length, int | float) or not 0 <= length < LONGEST_S:
            raise InputError("the length that is read from the video is not valid", file=path, hint=HINT)
        lengths[video.id] = float(length)
    return {video.id: _FilmFile(video, path, lengths[video.id]) for video, path in there.values()}


def _write_frames(
    layout: SampleLayout,
    samples: Iterable[TrainingSample],
    films: Mapping[str, _FilmFile],
    root: Path,
    options: TrainingOptions,
    executor: Executor,
    overwrite: bool,
    progress: Progress,
) -> tuple[int, int]:
    """Write the pictures of samples; pictures that exist stay. Returns how many there are, and how many are new."""
    wanted: dict[str, dict[str, float]] = {}
    for sample in samples:
        stills = wanted.setdefault(sample.video_id or "", {})
        for frame in sample.frames:
            at_s = frame.at_s or 0.0
            # If two moments have the same file name, use the earlier one, so that no sample sees beyond its question.
            stills[frame.file] = min(at_s, stills.get(frame.file, at_s))
    shared = [f"{other}.jsonl" for other in TRAINING_LAYOUTS if other != layout and (root / f"{other}.jsonl").exists()]
    calls, paths = [], []
    for video_id, stills in wanted.items():
        film, folder = films[video_id], root / frame_folder(video_id)
        made = {
            "made_by": PICTURE_VERSION,
            "video": film.video.sha256 or str(film.path),
            "size": options.size,
            "quality": options.quality,
        }
        _claim(folder, made, overwrite=overwrite, shared=shared)
        missing = sorted((at_s, Path(file).name) for file, at_s in stills.items() if not (root / file).is_file())
        for start in range(0, len(missing), FRAMES_A_CALL):
            part = missing[start : start + FRAMES_A_CALL]
            argument = {
                "path": str(film.path),
                "times_s": [at_s for at_s, _ in part],
                "names": [name for _, name in part],
                "longest_side_px": None,
                "square_px": options.size,
                "quality": options.quality,
                "folder": str(folder),
            }
            calls.append(Call(argument, Limits(DECODE_S + SECONDS_A_FRAME * len(part), MEMORY_BYTES)))
            paths.append(film.path)
    to_do, done = sum(len(call.argument["names"]) for call in calls), 0
    if calls:
        progress("frames", 0, to_do, 0.0)
    for place, outcome in executor.map(SERVE_FUNCTION, calls) if calls else ():
        asked = len(calls[place].argument["names"])
        found = _answer(outcome, paths[place]).get("pts_s")
        if not isinstance(found, list) or len(found) != asked:
            raise InputError("the data that are read from the video are not valid", file=paths[place], hint=HINT)
        done += asked
        progress("frames", done, to_do, done / to_do)
    return sum(map(len, wanted.values())), to_do


def _claim(folder: Path, made: dict[str, Json], *, overwrite: bool, shared: Sequence[str]) -> None:
    """Check that the pictures in a folder are of this video and have these settings."""
    file = folder / RECORD_FILE
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
                    f"{folder} holds pictures of another video, size or quality; choose another folder{advice}"
                )
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        write_bytes(file, json.dumps(made).encode())


def _answer(outcome: Any, path: Path) -> dict[str, Any]:
    """Check the answer of a child process that read a stranger's file."""
    if isinstance(outcome, Failure):
        raise InputError(f"the video cannot be decoded: {outcome}", file=path, hint=HINT)
    if not isinstance(outcome, dict):
        raise InputError("the data that are read from the video are not valid", file=path, hint=HINT)
    if REFUSED in outcome:
        raise InputError(f"the video cannot be decoded: {str(outcome[REFUSED])[:300]}", file=path, hint=HINT)
    if UNWRITABLE in outcome:
        problem = str(outcome[UNWRITABLE])[:300]
        raise BenchmarkError(f"frames of {path} cannot be written: {problem}; free some space or choose another folder")
    return outcome

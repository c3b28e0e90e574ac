"""A benchmark as training data: StreamingChat for InternVL, ShareGPT for LLaMA-Factory, messages for TRL.

Child processes decode each picture once into `frames/`, which serves all three layouts and the next run. The file of
samples appears when it has passed the check that `reeltalk export --check` runs: every line is read, every picture is
decoded, and every budget holds.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from reeltalk.errors import BenchmarkError, InputError
from reeltalk.formats import TRAINING
from reeltalk.formats.training_samples import SampleLayout, layout_of, line_text, read_sample, to_answer_line, to_line
from reeltalk.formats.training_units import (
    Cutter,
    FrameRule,
    TrainingConversation,
    TrainingOptions,
    TrainingUnits,
    conversations,
)
from reeltalk.parallel import Call, Executor, Failure, Limits
from reeltalk.progress import Progress, unseen
from reeltalk.schema.media import Video
from reeltalk.schema.record import Json
from reeltalk.schema.sft import SampleLimits, TokenCounter, TrainingSample, sample_tokens
from reeltalk.store.atomic import storage_errors, write_bytes, writing
from reeltalk.store.content import Content
from reeltalk.store.documents import parse_json, read_text, write_json
from reeltalk.video.serving import REFUSED, UNWRITABLE

UNREADABLE: Final = "reeltalk.video.serving:unreadable"
PICTURES_A_CALL: Final = 64
CHECK_S: Final = 300.0
MEMORY_BYTES: Final = 1 << 30


@dataclass
class SampleCheck:
    """Contents and problems of a file of samples."""

    samples: int = 0
    frames: int = 0
    """Frames of all samples; a picture counts each time that it is shown."""
    answers: int = 0
    """Answers that are in the loss."""
    most_frames: int = 0
    most_tokens: int = 0
    """Tokens of the longest sample."""
    problems: list[InputError] = field(default_factory=list)


def check_samples(
    path: Path,
    *,
    limits: SampleLimits,
    count: TokenCounter,
    executor: Executor,
    layout: SampleLayout | None = None,
    root: Path | None = None,
    progress: Progress = unseen,
) -> SampleCheck:
    """Check a file of samples; problems are collected, not raised.

    Args:
        path: JSON Lines of a layout of `store.sft`.
        limits: Limits of a sample.
        count: Counts the tokens of a text.
        executor: Decodes pictures.
        layout: Layout of the file; by default it is recognised line by line.
        root: Folder of the pictures; the file's folder by default.
        progress: Receives how far the work is.

    Raises:
        InputError: The file cannot be read.
    """
    checked = SampleCheck()
    shown: dict[str, tuple[int, int]] = {}
    lines_of: dict[str, int] = {}
    for line, text in enumerate(read_text(path).split("\n"), start=1):
        if not text.strip():
            continue
        try:
            value = parse_json(text, file=path, line=line)
            sample = read_sample(value, layout or layout_of(value, file=path, line=line), file=path, line=line)
        except InputError as error:
            checked.problems.append(error)
            continue
        checked.problems += _problems(sample, limits, count, lines_of, checked, path=path, line=line)
        for index, frame in enumerate(sample.frames):
            shown.setdefault(frame.file, (line, index))
        # In such a line of TRL, only the completion, the last answer, is in the loss.
        checked.answers += 1 if isinstance(value, dict) and "completion" in value else len(sample.turns)
    if not checked.samples and not checked.problems:
        checked.problems.append(InputError("no sample", file=path, hint="the file is empty"))
    checked.problems += _pictures(path, root or path.parent, shown, executor, progress)
    checked.problems.sort(key=lambda problem: problem.line or 0)
    return checked


def _problems(
    sample: TrainingSample,
    limits: SampleLimits,
    count: TokenCounter,
    lines_of: dict[str, int],
    checked: SampleCheck,
    *,
    path: Path,
    line: int,
) -> Iterable[InputError]:
    tokens = sample_tokens(sample, limits, count)
    checked.samples += 1
    checked.frames += len(sample.frames)
    checked.most_frames = max(checked.most_frames, len(sample.frames))
    checked.most_tokens = max(checked.most_tokens, tokens)
    if len(sample.frames) > limits.max_frames:
        yield InputError(f"{len(sample.frames)} frames where {limits.max_frames} are allowed", file=path, line=line,
                         place="$", hint="export with a smaller --max-frames")  # fmt: skip
    if tokens > limits.budget:
        yield InputError(
            f"{tokens:,} tokens where {limits.budget:,} are allowed",
            file=path,
            line=line,
            place="$",
            hint="export with a smaller --budget, or give the --tokenizer that it was exported with",
        )
    first = lines_of.setdefault(sample.id, line)
    if first != line:
        yield InputError(f"this identifier stands in line {first} too", file=path, line=line, place="$.id",
                         value=sample.id)  # fmt: skip


def _pictures(
    path: Path,
    root: Path,
    shown: dict[str, tuple[int, int]],
    executor: Executor,
    progress: Progress,
) -> list[InputError]:
    """A problem for each picture that cannot be decoded, at the first line that shows it."""
    names = list(shown)
    parts = [names[start : start + PICTURES_A_CALL] for start in range(0, len(names), PICTURES_A_CALL)]
    calls = [Call({"paths": [str(root / name) for name in part]}, Limits(CHECK_S, MEMORY_BYTES)) for part in parts]
    problems: list[InputError] = []
    done = 0
    for place, outcome in executor.map(UNREADABLE, calls) if calls else ():
        part = parts[place]
        if isinstance(outcome, Failure) or not isinstance(outcome, list) or len(outcome) != len(part):
            outcome = [f"it was read among others, and {outcome}"] * len(part)
        for name, problem in zip(part, outcome, strict=True):
            if problem is not None:
                line, index = shown[name]
                problems.append(
                    InputError(
                        f"the picture of frame {index} cannot be used: {str(problem)[:200]}",
                        file=path,
                        line=line,
                        place=f"$.image[{index}]",
                        value=name,
                        hint=f"pictures are looked for below {root}",
                    )
                )
        done += len(part)
        progress("pictures", done, len(names), done / len(names))
    return problems


FRAMES: Final = "frames"
MADE_AS: Final = "made.json"
"""File next to the pictures of a video that records their source and settings."""
MADE_BY: Final = 1
"""Raised when the same frame would give another picture."""
FRAMES_A_CALL: Final = 64
DECODE_S: Final = 120.0
SECONDS_A_FRAME: Final = 10.0
"""Time limit of a call for each frame. A long video with a damaged index is decoded from its start."""
WRITE: Final = "reeltalk.video.serving:write"
LOOK: Final = "reeltalk.video.serving:probe_length"
HINT: Final = "replace the file, or leave the video out"
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")


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


def _find_films(
    videos: Iterable[Video], media: Callable[[Video], Path | None], executor: Executor
) -> dict[str, _FilmFile]:
    """The available videos by identifier, with their lengths. Unknown lengths are read from the files.

    Raises:
        InputError: A video cannot be read.
    """
    there = [(video, path) for video in videos if (path := media(video)) is not None]
    lengths = {video.id: video.duration_s for video, _ in there if video.duration_s}
    unknown = [(video, path) for video, path in there if video.id not in lengths]
    calls = [Call({"path": str(path)}, Limits(DECODE_S, MEMORY_BYTES)) for _, path in unknown]
    for place, outcome in executor.map(LOOK, calls) if calls else ():
        video, path = unknown[place]
        lengths[video.id] = _number(_answer(outcome, path), "duration_s", path)
    return {video.id: _FilmFile(video, path, lengths[video.id]) for video, path in there}


def write_frames(
    samples: Iterable[TrainingSample],
    films: Mapping[str, _FilmFile],
    root: Path,
    *,
    size: int,
    quality: int,
    executor: Executor,
    overwrite: bool = False,
    shared: Sequence[str] = (),
    progress: Progress = unseen,
) -> tuple[int, int]:
    """Write the pictures of samples below a root; pictures that exist stay.

    Args:
        samples: Samples whose frames have files and times.
        films: Videos by identifier.
        root: Folder that receives `frames/VIDEO/MILLISECONDS.jpg`.
        size: Width and height in pixels.
        quality: Quality of the JPEG files, 1 to 100.
        executor: Decodes.
        overwrite: Replace pictures that were made with other settings.
        shared: Other files of samples that use the same pictures; then no picture is replaced.
        progress: Receives how far the work is.

    Returns:
        Number of pictures that samples show, and number of those that were decoded now.

    Raises:
        BenchmarkError: Existing pictures have other settings, or pictures cannot be written.
        InputError: A video cannot be decoded.
    """
    wanted: dict[str, dict[str, float]] = {}
    for sample in samples:
        stills = wanted.setdefault(sample.video_id or "", {})
        for frame in sample.frames:
            at_s = frame.at_s or 0.0
            # If two moments have the same file name, use the earlier one, so that no sample sees beyond its question.
            stills[frame.file] = min(at_s, stills.get(frame.file, at_s))
    calls, paths = [], []
    for video_id, stills in wanted.items():
        film, folder = films[video_id], root / frame_folder(video_id)
        _claim(folder, film, size=size, quality=quality, overwrite=overwrite, shared=shared)
        missing = sorted((at_s, Path(file).name) for file, at_s in stills.items() if not (root / file).is_file())
        for start in range(0, len(missing), FRAMES_A_CALL):
            part = missing[start : start + FRAMES_A_CALL]
            argument = {
                "path": str(film.path), "stills": part, "square_px": size,
                "quality": quality, "folder": str(folder),
            }  # fmt: skip
            calls.append(Call(argument, Limits(DECODE_S + SECONDS_A_FRAME * len(part), MEMORY_BYTES)))
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
            raise InputError("the data that are read from the video are not valid", file=paths[place], hint=HINT)
        done += asked
        progress("frames", done, to_do, done / to_do)
    return total, to_do


def _claim(folder: Path, film: _FilmFile, *, size: int, quality: int, overwrite: bool, shared: Sequence[str]) -> None:
    """Check that the pictures in a folder are of this video and have these settings."""
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
        raise BenchmarkError(
            f"frames of {path} cannot be written: {str(outcome[UNWRITABLE])[:300]}; free some space or choose another "
            "folder"
        )
    return outcome


def _number(answer: Mapping[str, Any], name: str, path: Path) -> float:
    value = answer.get(name)
    if not isinstance(value, int | float) or not 0 <= value < 14 * 86400:
        raise InputError("the length that is read from the video is not valid", file=path, hint=HINT)
    return float(value)


META: Final = {"streamingchat": "meta.json", "sharegpt": "dataset_info.json"}
"""The file that points a trainer to the samples; TRL needs none."""


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
    checked: SampleCheck
    found: TrainingUnits
    pictures: int = 0
    decoded: int = 0
    told: list[str] = field(default_factory=list)
    """A line for each kind of omission or change."""


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
    progress: Progress = unseen,
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
        executor: Decodes.
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
    known = _films(content, found, media, options, executor)
    cutter = Cutter(options.limits, count, FrameRule(options.fps, options.frames), options.carry_over)
    samples = _samples(found.conversations, known, cutter)
    others = [other for other in TRAINING if other != layout and (root / f"{other}.jsonl").exists()]
    pictures, decoded = write_frames(
        samples, known, root, size=options.size, quality=options.quality, executor=executor, overwrite=overwrite,
        shared=[f"{other}.jsonl" for other in others], progress=progress,
    )  # fmt: skip
    lines = list(_lines(samples, layout, answer_rows=options.answer_rows))
    with writing(file) as stream:
        for line in lines:
            stream.write(line_text(line).encode())
        stream.flush()
        # A file that fails the check does not get its final name.
        checked = check_samples(Path(stream.name), limits=options.limits, count=count, executor=executor, layout=layout,
                        root=root, progress=progress)  # fmt: skip
        if checked.problems:
            raise BenchmarkError(
                f"the training data are not valid: {checked.problems[0]}; if a picture is damaged, remove "
                f"{root / FRAMES} and run this again"
            )
    exported = TrainingExport(file, checked, found, pictures, decoded)
    counts = found.counts + cutter.counts
    exported.told = [f"{what}: {number:,}" for what, number in counts.items() if number]
    _write_about(exported, layout, root, selection, options, provenance or {}, rows=len(lines))
    return exported


def _films(
    content: Content,
    found: TrainingUnits,
    media: Callable[[Video], Path | None],
    options: TrainingOptions,
    executor: Executor,
) -> dict[str, _FilmFile]:
    wanted = {conversation.video_id for conversation in found.conversations}
    known = _find_films([video for video in content.videos if video.id in wanted], media, executor)
    missing = sorted(wanted - set(known))
    if missing and not options.skip_missing:
        raise BenchmarkError(
            f"{len(missing):,} videos are not available, such as '{missing[0]}'; put them into the benchmark with "
            "'reeltalk attach' or 'reeltalk media pull', or leave out their samples with --skip-missing"
        )
    if missing:
        before = len(found.conversations)
        found.conversations = [one for one in found.conversations if one.video_id in known]
        left_out = before - len(found.conversations)
        found.counts["conversations are left out, as their video is not at hand"] += left_out
        if not found.conversations:
            raise BenchmarkError(
                "no video is available; put them into the benchmark with 'reeltalk attach' or 'reeltalk media pull'"
            )
    return known


def _samples(
    conversations: Sequence[TrainingConversation], films: dict[str, _FilmFile], cutter: Cutter
) -> list[TrainingSample]:
    samples = [
        sample
        for one in conversations
        for sample in cutter.samples(one, duration_s=films[one.video_id].duration_s, folder=frame_folder(one.video_id))
    ]
    if not samples:
        raise BenchmarkError(
            "no turn fits a sample; raise --budget, lower --frame-tokens or --reserve, or give the --tokenizer of the "
            "model, without which a text counts as many tokens as it has bytes"
        )
    return samples


def _lines(samples: Sequence[TrainingSample], layout: SampleLayout, *, answer_rows: bool) -> Iterator[dict[str, Json]]:
    for sample in samples:
        if not answer_rows:
            yield to_line(sample, layout)
            continue
        for n in range(len(sample.turns)):
            update = {"id": f"{sample.id}/{n + 1}", "turns": sample.turns[: n + 1]}
            yield to_answer_line(sample.model_copy(update=update))


def _write_about(
    exported: TrainingExport,
    layout: SampleLayout,
    root: Path,
    selection: Selection,
    options: TrainingOptions,
    provenance: dict[str, Json],
    *,
    rows: int,
) -> None:
    told = options.model_dump(mode="json")
    if options.tokenizer is not None:
        told["tokenizer"] = options.tokenizer.resolve().name
    about = {
        **provenance,
        "layout": layout,
        "split": list(exported.found.splits),
        "units": exported.found.units,
        "options": told,
        "samples": exported.checked.samples,
        "frames": exported.checked.frames,
        "answers": exported.checked.answers,
        "most_tokens": exported.checked.most_tokens,
        "told": exported.told,
    }
    write_bytes(root / f"{layout}.about.json", write_json(about).encode())
    meta: Json = None
    if layout == "streamingchat":
        meta = {
            selection.name: {
                # As in the lines, paths begin in the folder, so that it can be moved and shared.
                "root": ".",
                "annotation": exported.file.name,
                "data_augment": False,
                "repeat_time": 1,
                # One tile a frame: the static resolution that the frames have.
                "max_dynamic_patch": 1,
                "length": rows,
            }
        }
    elif layout == "sharegpt":
        meta = {
            selection.name: {
                "file_name": exported.file.name,
                "formatting": "sharegpt",
                "columns": {"messages": "messages", "images": "images"},
                "tags": {
                    "role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant",
                },
            }
        }  # fmt: skip
    if meta is not None:
        write_bytes(root / META[layout], json.dumps(meta, ensure_ascii=False, indent=2).encode() + b"\n")

"""A benchmark as training data: StreamingChat for InternVL, ShareGPT for LLaMA-Factory, messages for TRL.

Pictures are decoded once into `frames/`, and serve all three. The file of samples appears when it has been checked by
the same check that `reeltalk validate-sft` runs.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from reeltalk.errors import BenchmarkError
from reeltalk.formats import TRAINING
from reeltalk.formats.training_check import Checked, check
from reeltalk.formats.training_cuts import Cutter, FrameRule
from reeltalk.formats.training_frames import FRAMES, Film, Progress, films, frame_folder, write_frames
from reeltalk.formats.training_options import TrainingOptions
from reeltalk.formats.training_units import Conversation, Found, conversations
from reeltalk.parallel import Executor
from reeltalk.schema.media import Video
from reeltalk.schema.record import Json
from reeltalk.schema.sft import TokenCounter, TrainingSample
from reeltalk.store.atomic import write_bytes, writing
from reeltalk.store.content import Content
from reeltalk.store.documents import write_json
from reeltalk.store.sft import SampleLayout, line_text, to_answer_line, to_line

META: Final = {"streamingchat": "meta.json", "sharegpt": "dataset_info.json"}
"""The file by which a trainer finds the samples; TRL needs none."""


@dataclass(frozen=True)
class Selection:
    """What of a benchmark is exported, and under which name trainers know it."""

    name: str
    split: str | None = None
    tasks: tuple[str, ...] = ()
    limit: int | None = None


@dataclass
class Exported:
    """What was written."""

    file: Path
    checked: Checked
    found: Found
    pictures: int = 0
    decoded: int = 0
    told: list[str] = field(default_factory=list)
    """A line for each thing that was left out or changed."""


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
    progress: Progress = lambda *_: None,
) -> Exported:
    """Write pictures, samples and what a trainer finds them by. Run again, it decodes only what is not there.

    Args:
        layout: Which trainer's.
        content: The benchmark.
        media: The file of a video; None where it is not at hand.
        root: Folder that receives it.
        selection: What of the benchmark.
        options: How it is shown and cut.
        count: Counts the tokens of a text.
        executor: Decodes.
        overwrite: Replace the file of samples, and pictures that were made otherwise.
        provenance: Kept beside the samples with the options and counts.
        progress: Told how far it is.

    Raises:
        BenchmarkError: There is nothing to teach, videos are not at hand, or `root` holds something else.
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
        # What is not valid never gets its name.
        checked = check(Path(stream.name), limits=options.limits, count=count, executor=executor, layout=layout,
                        root=root, progress=progress)  # fmt: skip
        if checked.problems:
            raise BenchmarkError(
                f"what was to be written is not valid: {checked.problems[0]}; where a picture is damaged, remove "
                f"{root / FRAMES} and run this again"
            )
    exported = Exported(file, checked, found, pictures, decoded)
    counts = found.counts + cutter.counts
    exported.told = [f"{what}: {number:,}" for what, number in counts.items() if number]
    _write_about(exported, layout, root, selection, options, provenance or {}, rows=len(lines))
    return exported


def _films(
    content: Content,
    found: Found,
    media: Callable[[Video], Path | None],
    options: TrainingOptions,
    executor: Executor,
) -> dict[str, Film]:
    wanted = {conversation.video_id for conversation in found.conversations}
    known = films([video for video in content.videos if video.id in wanted], media, executor)
    missing = sorted(wanted - set(known))
    if missing and not options.skip_missing:
        raise BenchmarkError(
            f"{len(missing):,} videos are not at hand, as '{missing[0]}'; put them into the benchmark with "
            "'reeltalk attach' or 'reeltalk media pull', or leave out what is about them with --skip-missing"
        )
    if missing:
        before = len(found.conversations)
        found.conversations = [one for one in found.conversations if one.video_id in known]
        left_out = before - len(found.conversations)
        found.counts["conversations are left out, as their video is not at hand"] += left_out
        if not found.conversations:
            raise BenchmarkError(
                "no video is at hand; put them into the benchmark with 'reeltalk attach' or 'reeltalk media pull'"
            )
    return known


def _samples(conversations: Sequence[Conversation], films: dict[str, Film], cutter: Cutter) -> list[TrainingSample]:
    samples = [
        sample
        for one in conversations
        for sample in cutter.samples(one, duration_s=films[one.video_id].duration_s, folder=frame_folder(one.video_id))
    ]
    if not samples:
        raise BenchmarkError(
            "nothing fits a sample; raise --budget, lower --frame-tokens or --reserve, or give the --tokenizer of the "
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
    exported: Exported,
    layout: SampleLayout,
    root: Path,
    selection: Selection,
    options: TrainingOptions,
    provenance: dict[str, Json],
    *,
    rows: int,
) -> None:
    about = {
        **provenance,
        "layout": layout,
        "split": list(exported.found.splits),
        "units": exported.found.units,
        "options": options.model_dump(mode="json"),
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
                "root": str(root.resolve()),
                "annotation": str(exported.file.resolve()),
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

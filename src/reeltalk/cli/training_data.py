"""Benchmarks as training data, and the command that checks such data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from cyclopts import Parameter

from reeltalk.cli.app import Bar, app, say
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.formats.training_units import TEST, TrainingOptions

if TYPE_CHECKING:
    from reeltalk.cli.sharing import HarnessOptions
    from reeltalk.schema.sft import TokenCounter
    from reeltalk.store.sft import SampleLayout

Training = Annotated[TrainingOptions, Parameter(name="*", negative="")]


def export_for_training(
    layout: str, benchmark: Path, out: Path, options: "HarnessOptions", training: TrainingOptions, *, overwrite: bool
) -> int:
    """Write training data and print what was written.

    Args:
        layout: A name of `formats.TRAINING`.
        benchmark: Folder of the benchmark.
        out: Folder that receives it; one that holds another layout of the same data shares its pictures.
        options: Name, split, tasks and limit; the rest stays as it is.
        training: How it is shown and cut.
        overwrite: Replace what is there.

    Raises:
        ReeltalkError: It cannot be written; says why.
    """
    from reeltalk.cli.sharing import HARNESS_DEFAULTS
    from reeltalk.formats.training import Selection, export_training
    from reeltalk.parallel import LocalExecutor
    from reeltalk.schema.media import Video
    from reeltalk.store.benchmark import Benchmark

    ours = {"name": None, "split": None, "tasks": (), "limit": None}
    if options.model_copy(update=ours) != HARNESS_DEFAULTS:
        raise SettingError("--mode, --prompt, --subtitles and --no-videos are for harnesses only")
    if training.answer_rows and layout != "trl":
        raise SettingError("--answer-rows is for trl only; in the other layouts loss falls on answers by their roles")
    if out.is_file():
        raise BenchmarkError(f"{out} is a file; choose a folder")
    count = _counter(training.tokenizer)
    opened = Benchmark.open(benchmark)
    content = opened.content()

    def media(video: Video) -> Path | None:
        here = video.sha256 is not None and opened.media.has(video.sha256)
        return opened.media.whole(video.sha256) if here and video.sha256 is not None else None

    name = options.name or opened.manifest.name
    tasks = tuple(part.strip() for text in options.tasks for part in text.split(",") if part.strip())
    with Bar() as bar:
        done = export_training(
            cast("SampleLayout", layout),
            content,
            media,
            out,
            Selection(name, options.split, tasks, options.limit),
            training,
            count=count,
            executor=LocalExecutor(),
            overwrite=overwrite,
            provenance={"benchmark": opened.manifest.name, "content_hash": opened.manifest.content_hash},
            progress=bar.show,
        )
    if TEST in done.found.splits:
        say(f"the data hold the split '{TEST}': a model that is trained on it can no longer be measured by it")
    for line in done.told:
        print(f"told: {line}")
    checked = done.checked
    print(
        f"{layout} of {', '.join(done.found.splits)}: {checked.samples:,} samples of {done.found.units}s, "
        f"{checked.answers:,} answers, {checked.frames:,} frames shown, {done.pictures:,} pictures "
        f"({done.decoded:,} decoded now)"
    )
    _print_longest(checked.most_frames, checked.most_tokens, training.tokenizer)
    print(f"{done.file}")
    return 0


@app.command(sort_key=3)
def validate_sft(
    file: Path,
    /,
    *,
    root: Path | None = None,
    frame_tokens: int = 256,
    budget: int = 32768,
    max_frames: int = 100,
    reserve: int = 128,
    tokenizer: Path | None = None,
    limit: int = 50,
) -> int:
    """Check training samples: placeholders equal images, roles alternate, pictures decode, the budget is held.

    Example: `reeltalk validate-sft out/train/streamingchat.jsonl`. Reads what `reeltalk export` writes as
    streamingchat, sharegpt and trl, and what others wrote in these layouts. Exit code 1 where there are problems.

    Parameters
    ----------
    file
        JSON Lines.
    root
        Pictures lie below it; the file's folder by default.
    frame_tokens
        Tokens of a frame in the model that is trained.
    budget
        Tokens of a sample at most.
    max_frames
        Frames of a sample at most.
    reserve
        Tokens kept free for a system message.
    tokenizer
        Folder of the tokenizer; without it a text counts as many tokens as it has bytes.
    limit
        Problems shown.
    """
    from reeltalk.cli.app import settings_of
    from reeltalk.formats.training import check
    from reeltalk.parallel import LocalExecutor
    from reeltalk.schema.sft import SampleLimits

    limits = settings_of(SampleLimits, budget=budget, frame_tokens=frame_tokens, max_frames=max_frames, reserve=reserve)
    if root is not None and not root.is_dir():
        raise SettingError(f"--root {root}: there is no such folder")
    with Bar() as bar:
        found = check(
            file, limits=limits, count=_counter(tokenizer), executor=LocalExecutor(), root=root, progress=bar.show
        )
    for problem in found.problems[:limit]:
        print(f"error: {problem}")
    if len(found.problems) > limit:
        print(f"… and {len(found.problems) - limit:,} more; --limit shows them")
    print(
        f"{file}: {found.samples:,} samples, {found.answers:,} answers, {found.frames:,} frames shown; "
        f"{len(found.problems):,} problems"
    )
    _print_longest(found.most_frames, found.most_tokens, tokenizer)
    return 1 if found.problems else 0


def _counter(tokenizer: Path | None) -> "TokenCounter":
    from reeltalk.schema.sft import most_tokens

    if tokenizer is None:
        return most_tokens
    from reeltalk.inference.text_tokens import TextTokens

    return TextTokens(tokenizer)


def _print_longest(frames: int, tokens: int, tokenizer: Path | None) -> None:
    how = "by the tokenizer" if tokenizer is not None else "at most: without --tokenizer a byte of text is a token"
    print(f"longest sample: {frames:,} frames; {tokens:,} tokens, {how}")

"""Commands that check, freeze and export a benchmark."""

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

from cyclopts import Group, Parameter
from pydantic import Field

from reeltalk.cli.options import FLAG, OVERWRITE
from reeltalk.cli.terminal import ProgressBar, say
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.formats import FORMATS, TRAINING_LAYOUTS, WRITTEN
from reeltalk.formats.training_units import TEST, TRAINING_DEFAULTS, TrainingOptions
from reeltalk.plugins import needed
from reeltalk.schema.gates import Only
from reeltalk.schema.settings import Settings, settings_of

if TYPE_CHECKING:
    from reeltalk.evaluation.due_turns import DueTurn
    from reeltalk.formats.training_samples import SampleLayout
    from reeltalk.metrics.selection import TurnSelection
    from reeltalk.schema.sft import TokenCounter
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.content import Content

QUESTIONS = "questions"
"""The target that writes what `evaluate` asks, for an inference script of your own."""
TARGET = Parameter(
    help=f"Layout: {', '.join(WRITTEN)}; training data: {', '.join(TRAINING_LAYOUTS)}; or {QUESTIONS}, for your own "
    "inference script."
)
ACCEPT_EDITED = Parameter(name="--accept", negative="")


class PartOptions(Settings):
    """The part of a benchmark that becomes questions or training data, and how it is asked."""

    name: str | None = None
    """Name of the training data; the benchmark's by default."""
    mode: Literal["dialogue", "streaming", "single"] | None = None
    """dialogue: chains of a video in order, and dialogues; streaming: along paths; single: no history."""
    split: str | None = None
    """Split of the videos; test if there is one, else all; `all` for all. Training data: train by default."""
    tasks: Annotated[tuple[str, ...], Parameter(negative="")] = ()
    """Tasks of dialogues; all by default."""
    subtitles: bool = False
    """Include spoken lines that ended by the moment of the question."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """Only the first dialogues or paths, up to this number."""


class HubOptions(Settings):
    """What only the publisher of a data set knows; the card and Croissant say it."""

    cite_as: str | None = None
    """How to cite the data set, as BibTeX or in words."""
    date_published: date | None = None
    """Day of publication, such as 2026-11-27."""


HUB_DEFAULTS = HubOptions()
Hub = Annotated[HubOptions, Parameter(name="*", group=Group("Data set repository", sort_key=4))]
PART_DEFAULTS = PartOptions()
Part = Annotated[PartOptions, Parameter(name="*", group=Group("Questions or training data", sort_key=2))]
Training = Annotated[TrainingOptions, Parameter(name="*", negative="", group=Group("Training data", sort_key=3))]


def validate(benchmark: Path, /, *, limit: int = 50, accept: Annotated[bool, ACCEPT_EDITED] = False) -> int:
    """Check a benchmark: complete files, unique identifiers, resolved references, consistent times and splits.

    Exit code 1 if there are errors.

    No command reads a file that you edited by hand, since the hash of the benchmark or run would no longer say what was
    read. With --accept the folder lists such files as they are now, and tables that you added: a benchmark gets another
    hash, and the signatures of a run's numbers say that it was edited.

    Example: `reeltalk validate benchmarks/vdact`.

    Parameters
    ----------
    benchmark
        Folder of the benchmark, or of a run.
    limit
        Findings shown.
    accept
        Accept files that were edited or added by hand as they are now. Content with errors and releases are refused.
    """
    from reeltalk.stages.failures import check_run
    from reeltalk.stages.layouts import describe_counts
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.runs import INFO
    from reeltalk.store.validate import accept as accept_edited
    from reeltalk.store.validate import accept_run
    from reeltalk.store.validate import validate as find

    is_run = (benchmark / INFO).is_file()
    if accept:
        edited = accept_run(benchmark) if is_run else accept_edited(benchmark)
        print(f"accepted as edited by hand: {', '.join(edited)}" if edited else "nothing was edited by hand")
    if is_run:
        checks = list(check_run(benchmark))
        print(*checks, sep="\n")
        return 1 if any(check.status == "problem" for check in checks) else 0
    opened = Benchmark.open(benchmark, as_it_is=True)
    findings = find(opened)
    for finding in findings[:limit]:
        print(finding)
    if len(findings) > limit:
        print(f"… and {len(findings) - limit:,} more; --limit shows them")
    errors = sum(finding.severity == "error" for finding in findings)
    print(f"{benchmark}: {describe_counts(opened.manifest)}; {errors:,} errors, {len(findings) - errors:,} warnings")
    return 1 if errors else 0


def freeze(benchmark: Path, release: Path, /, *, version: str, title: str | None = None, only: Only = "passed") -> int:
    """Write an immutable release with a card: checks that were made and missed, counts, licences, splits, a canary.

    Example: `reeltalk freeze benchmarks/kitchen releases/kitchen-1.0.0 --version 1.0.0`.

    Parameters
    ----------
    benchmark
        Folder of the benchmark. It must pass `reeltalk validate`.
    release
        Folder of the release to create.
    version
        Version of the release, such as 1.0.0.
    title
        Title of the card; the benchmark's name by default.
    only
        passed: all turns but those that a check flags; reviewed: those that people accepted; all. The card lists what
        is left out. Turns that nobody checked are unverified, and stay.
    """
    from reeltalk.stages.layouts import freeze as run_stage
    from reeltalk.store.benchmark import Benchmark

    print(run_stage(Benchmark.open(benchmark), release, version=version, title=title, only=only).overview().title)
    return 0


def export(
    format: Annotated[str, TARGET],
    benchmark: Path,
    out: Path,
    /,
    *,
    part: Part = PART_DEFAULTS,
    hub: Hub = HUB_DEFAULTS,
    training: Training = TRAINING_DEFAULTS,
    only: Only = "passed",
    strict: Annotated[bool, FLAG] = False,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Write a benchmark in a published layout, as training data, or as questions.

    `export qa` writes a table of questions and answers, one file if OUT ends in .csv, .tsv, .json, .jsonl or .parquet.
    `export questions` writes what `evaluate` would ask, without answers, into such a file: run your own code on it, and
    evaluate its answers with `--model answers:FILE`.

    Prints what a layout cannot express. Exit code 1 if media files are damaged: they are named, and the rest is
    written. --cite-as and --date-published are for hub, which has the version of a release;
    --split, --tasks and --limit for training data and questions; --name for training data; --mode and --subtitles for
    questions. Pictures of training data are decoded once for all three layouts; run it again to continue after an
    interruption.

    Example: `reeltalk export hub benchmarks/vdact out/vdact-hub`, `reeltalk export streamingchat benchmarks/household
    out/train`, or `reeltalk export questions benchmarks/mine questions.jsonl`.

    Parameters
    ----------
    format
        Name of the layout, or questions.
    benchmark
        Folder of the benchmark.
    out
        Folder or file to create.
    only
        passed: all turns but those that a check flags; reviewed: those that people accepted; all. What is left out is
        listed in reeltalk-selection.json. Turns that nobody checked are unverified, and stay.
    strict
        Stop at the first media file that is damaged.
    overwrite
        Replace existing output.
    """
    from reeltalk.stages.layouts import export_layout
    from reeltalk.store.benchmark import Benchmark

    if hub != HUB_DEFAULTS and format != "hub":
        raise SettingError("--cite-as and --date-published are for hub only")
    if training != TRAINING_DEFAULTS and format not in TRAINING_LAYOUTS:
        raise SettingError(
            f"--units, --fps, --budget and other options of training data are for {', '.join(TRAINING_LAYOUTS)} only"
        )
    if format in TRAINING_LAYOUTS:
        return _export_training(format, benchmark, out, part, training, only=only, overwrite=overwrite)
    if format == QUESTIONS:
        return _export_questions(benchmark, out, part, only=only, overwrite=overwrite)
    if format not in WRITTEN:
        what = f"{format} is only read" if format in FORMATS else f"unknown format {format!r}"
        known = f"{what}; written are {', '.join((*WRITTEN, *TRAINING_LAYOUTS, QUESTIONS))}"
        raise SettingError(needed("reeltalk.formats", format) or known)
    if part != PART_DEFAULTS:
        own = "--cite-as, --date-published, " if format == "hub" else ""
        raise SettingError(
            f"{format} is a layout, which holds all splits and tasks; {own}--only and --overwrite are its only options"
        )
    opened = Benchmark.open(benchmark)
    write = None
    if format == "hub":
        from reeltalk.formats.hub import write as write_hub

        def write(content: "Content", folder: Path) -> list[str]:
            return write_hub(content, folder, version=opened.manifest.release, **hub.model_dump())

    done = export_layout(opened, format, out, write=write, strict=strict, overwrite=overwrite, only=only)
    for line in done.lost:
        print(f"not expressed: {line}")
    for line in done.left_out:
        print(f"left out: {line}")
    _print_last(f"{out}" if out.is_file() else f"{done.files:,} files in {out}", done.selection)
    return 1 if done.left_out else 0


def _print_last(line: str, selection: str) -> None:
    """Print what was written, and which turns were left out."""
    print(f"{line}; {selection}" if selection else line)


def _chosen_turns(benchmark: "Benchmark", options: PartOptions, only: Only) -> tuple["TurnSelection", list["DueTurn"]]:
    """The turns that are asked, with the content that they are of."""
    from reeltalk.evaluation.due_turns import list_due_turns
    from reeltalk.evaluation.playing.script import scripts_of
    from reeltalk.evaluation.playing.subtitles import spoken_lines
    from reeltalk.evaluation.settings import PlaySettings
    from reeltalk.metrics.selection import select_turns

    found = select_turns(benchmark.stored_content(), only)
    tasks = tuple(name.strip() for part in options.tasks for name in part.split(",") if name.strip())
    given = {"mode": options.mode, "split": options.split, "tasks": tasks}
    play: PlaySettings = settings_of(
        PlaySettings,
        **{key: value for key, value in given.items() if value},
        only=only,
        history="none" if options.mode == "single" else "golden",
        subtitles=options.subtitles,
    )
    chosen = scripts_of(found, play, limit=options.limit)
    turns = list_due_turns(chosen, play, subtitles=spoken_lines(found.content) if play.subtitles else None)
    return found, turns


def _export_questions(benchmark: Path, out: Path, options: PartOptions, *, only: Only, overwrite: bool) -> int:
    """Write the turns that are asked as a table for somebody's own inference script."""
    from reeltalk.evaluation.due_turns import question_rows
    from reeltalk.evaluation.playing.script import media_of
    from reeltalk.stages.layouts import write_selection, write_table_file
    from reeltalk.store.benchmark import Benchmark

    if options.name is not None:
        raise SettingError("--name is for training data")
    opened = Benchmark.open(benchmark)
    found, turns = _chosen_turns(opened, options, only)
    rows = question_rows(turns, found.content, media_of(opened, found.content), start=out.resolve().parent)
    write_table_file(rows, out, overwrite=overwrite)
    write_selection(found, out)
    without = len({row["video_id"] for row in rows if row["video"] is None})
    if without:
        say(f"{without:,} videos are not available; 'reeltalk attach' puts them into the benchmark")
    way_on = f"answer them, then run 'reeltalk evaluate {benchmark} --model answers:FILE'"
    _print_last(f"{out}: {len(rows):,} questions; {way_on}", found.sentence)
    return 0


def _export_training(
    layout: str,
    benchmark: Path,
    out: Path,
    options: PartOptions,
    training: TrainingOptions,
    *,
    only: Only,
    overwrite: bool,
) -> int:
    """Write training data and print what was written; folders of several layouts share their pictures."""
    from reeltalk.formats.training import Selection, export_training
    from reeltalk.metrics.selection import select_turns
    from reeltalk.parallel import LocalExecutor
    from reeltalk.schema.media import Video
    from reeltalk.stages.layouts import write_selection
    from reeltalk.store.benchmark import Benchmark

    ours = {"name": None, "split": None, "tasks": (), "limit": None}
    if options.model_copy(update=ours) != PART_DEFAULTS:
        raise SettingError(f"--mode and --subtitles are for {QUESTIONS} only")
    if out.is_file():
        raise BenchmarkError(f"{out} is a file; choose a folder")
    count = _counter(training.tokenizer)
    opened = Benchmark.open(benchmark)
    chosen = select_turns(opened.stored_content(), only)

    def media(video: Video) -> Path | None:
        here = video.sha256 is not None and opened.media.has(video.sha256)
        return opened.media.whole(video.sha256) if here and video.sha256 is not None else None

    name = options.name or opened.manifest.name
    tasks = tuple(part.strip() for text in options.tasks for part in text.split(",") if part.strip())
    with ProgressBar() as bar:
        done = export_training(
            cast("SampleLayout", layout),
            chosen.content,
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
        say(f"the data include the split '{TEST}': do not evaluate a model on it that was trained on it")
    for line in done.changes:
        print(f"told: {line}")
    print(
        f"{layout} of {', '.join(done.found.splits)}: {done.samples:,} samples of {done.found.units}s, "
        f"{done.answers:,} answers, {done.frames:,} frames shown, {done.pictures:,} pictures "
        f"({done.decoded:,} decoded now)"
    )
    how = "by the tokenizer" if training.tokenizer else "at most: without --tokenizer a byte of text is a token"
    print(f"longest sample: {done.most_frames:,} frames; {done.most_tokens:,} tokens, {how}")
    write_selection(chosen, out)
    _print_last(f"{done.file}", chosen.sentence)
    return 0


def _counter(tokenizer: Path | None) -> "TokenCounter":
    from reeltalk.schema.sft import most_tokens

    if tokenizer is None:
        return most_tokens
    from reeltalk.formats.text_tokens import TextTokens

    return TextTokens(tokenizer)

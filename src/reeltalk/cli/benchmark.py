"""Commands that make, check and move benchmarks."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from reeltalk.cli.app import OVERWRITE, Bar, ExecutorName, app, print_report, say
from reeltalk.cli.sharing import HARNESS_DEFAULTS, Harness, write_harness_task
from reeltalk.cli.training_data import Training, export_for_training
from reeltalk.curate.settings import CurateSettings
from reeltalk.errors import SettingError
from reeltalk.evaluate.harnesses import HARNESSES
from reeltalk.formats import FORMATS, TRAINING
from reeltalk.formats.label_studio_layout import DEFAULTS as LABEL_STUDIO_DEFAULTS
from reeltalk.formats.label_studio_layout import LabelStudioOptions
from reeltalk.formats.training_units import TRAINING_DEFAULTS

if TYPE_CHECKING:
    from reeltalk.store.content import Content

CURATE_DEFAULTS = CurateSettings()
LAYOUT = Parameter(help=f"Layout: {', '.join(FORMATS)}.")
TARGET = Parameter(
    help=f"Layout: {', '.join(FORMATS)}; training data: {', '.join(TRAINING)}; or a task for {' or '.join(HARNESSES)}."
)
LabelStudio = Annotated[LabelStudioOptions, Parameter(name="*")]
ACCEPT_EDITED = Parameter(name="--accept", negative="")
ACCEPT = Parameter(name="--accept-licence", negative="")


@app.command(sort_key=1)
def fetch(
    dataset: Literal["vdact", "svbench", "mt-video-bench", "dramaqa"],
    /,
    *,
    into: Path,
    source: Annotated[Path | None, Parameter(name="--from")] = None,
    repo: str | None = None,
    endpoint: str | None = None,
    revision: str | None = None,
    accept_licence: Annotated[bool, ACCEPT] = False,
) -> int:
    """Bring a published data set here: licence shown and accepted, resumable, every file hashed.

    Example: `reeltalk fetch svbench --into data/svbench --accept-licence`

    Parameters
    ----------
    dataset
        Which data set.
    into
        Folder that receives it; run again to go on after an interruption.
    source
        A local folder to take it from, in place of the Hub.
    repo
        Repository on the hub, OWNER/NAME, where it is not the one we know.
    endpoint
        Address of a hub of the same protocol.
    revision
        Branch, tag or commit; the newest by default.
    accept_licence
        Accept the licence without being asked.
    """
    from reeltalk.formats import fetch as fetching

    report = fetching.fetch(
        dataset,
        into=into,
        source=source,
        repo=repo,
        endpoint=endpoint,
        revision=revision,
        accept_licence=True if accept_licence else _ask_licence,
        progress=say,
    )
    for line in report.lines():
        print(line)
    return 0


def _ask_licence(text: str) -> bool:
    print(text)
    if not sys.stdin.isatty():
        return False
    return input("Do you accept these terms? Type 'yes' to go on: ").strip().lower() == "yes"


@app.command(name="import", sort_key=2)
def import_(
    format: Annotated[str, LAYOUT],
    source: Path,
    benchmark: Path,
    /,
    *,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Read a published layout into a benchmark.

    Example: `reeltalk import vdact VDAct/ benchmarks/vdact`

    Parameters
    ----------
    format
        Name of the layout.
    source
        The release's folder, a part of it, or one of its files.
    benchmark
        Folder of the benchmark that appears.
    overwrite
        Replace what the benchmark holds.
    """
    from reeltalk.stages.layouts import import_layout

    done = import_layout(format, source, benchmark, overwrite=overwrite)
    if not done.counts and done.warnings:
        print(*done.warnings, sep="\n")
    else:
        print_report(done)
    return 0


@app.command(sort_key=2)
def curate(
    *videos: str,
    into: Path,
    workers: int | None = None,
    executor: ExecutorName = "local",
    cache: Path | None = None,
    max_download_gib: float = 100.0,
    settings: Annotated[CurateSettings, Parameter(name="*")] = CURATE_DEFAULTS,
) -> int:
    """Filter videos, split them into clips and choose key frames, in one pass over the pixels.

    Example: `reeltalk curate raw/ --into benchmarks/kitchen --splits train=0.8,test=0.2`. Run it again to go on after
    an interruption.

    Parameters
    ----------
    videos
        Video files, folders to search, and addresses of either (`s3://bucket/raw/`, `https://example.org/film.mp4`).
        `NAME.info.json` or `NAME.json` beside a video may state its licence, source, category and split.
    into
        Folder of the benchmark that appears.
    workers
        Videos that are decoded at a time; by default one for each core.
    cache
        Folder for what addresses hold; by default one inside the benchmark, which may be deleted when all is done.
    max_download_gib
        What may be brought from one address.
    """
    from reeltalk.parallel import open_executor
    from reeltalk.stages.curating import curate as run_stage
    from reeltalk.store.remote import is_address

    files = [Path(video) for video in videos if not is_address(video)]
    opened = open_executor(executor, workers, shared=[into, *files, *([cache] if cache else [])])
    with Bar() as bar:
        done = run_stage(
            *videos,
            into=into,
            settings=settings,
            executor=opened,
            cache=cache,
            max_download_gib=max_download_gib,
            progress=bar.show,
        )
    print_report(done)
    print(f"benchmark: {into}")
    return 0


@app.command(sort_key=3)
def validate(benchmark: Path, /, *, limit: int = 50, accept: Annotated[bool, ACCEPT_EDITED] = False) -> int:
    """Check a benchmark: files whole, identifiers unique, references resolved, times and splits consistent.

    Example: `reeltalk validate benchmarks/vdact`. Exit code 1 where there are errors.

    No command reads a file that you edited by hand, since the hash of the benchmark or run would no longer say what was
    read. With --accept the folder lists such files as they are now: a benchmark gets another hash, and the signatures
    of a run's numbers say that it was edited.

    Parameters
    ----------
    benchmark
        Folder of the benchmark, or of a run.
    limit
        Findings shown.
    accept
        Take files that were edited by hand as they are now. Content with errors and releases are refused.
    """
    from reeltalk.stages.layouts import told_counts
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.failures import check_run
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
    print(f"{benchmark}: {told_counts(opened.manifest)}; {errors:,} errors, {len(findings) - errors:,} warnings")
    return 1 if errors else 0


@app.command(sort_key=4)
def freeze(benchmark: Path, release: Path, /, *, version: str, title: str | None = None) -> int:
    """Write an immutable release with a card: counts, licences, splits, a canary, dropped items with reasons.

    Example: `reeltalk freeze benchmarks/kitchen releases/kitchen-1.0.0 --version 1.0.0`

    Parameters
    ----------
    benchmark
        Folder of the benchmark; it must validate.
    release
        Folder of the release that appears.
    version
        Version of the release, as 1.0.0.
    title
        Heading of the card; the benchmark's name by default.
    """
    from reeltalk.stages.layouts import told_counts
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.release import CARD
    from reeltalk.store.release import freeze as write_release

    frozen = write_release(Benchmark.open(benchmark), release, version=version, title=title)
    print(f"release {version} of {told_counts(frozen.manifest)}: {release / CARD}")
    return 0


@app.command(sort_key=5)
def export(
    format: Annotated[str, TARGET],
    benchmark: Path,
    out: Path,
    /,
    *,
    harness: Harness = HARNESS_DEFAULTS,
    label_studio: LabelStudio = LABEL_STUDIO_DEFAULTS,
    training: Training = TRAINING_DEFAULTS,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Write a benchmark in a published layout, as training data, or as a task of another evaluation harness.

    Example: `reeltalk export hub benchmarks/vdact out/vdact-hub`, `reeltalk export streamingchat benchmarks/household
    out/train`, or `reeltalk export lmms-eval benchmarks/kitchen out/kitchen-lmms --split test`. Says what a layout
    cannot express. --media-url and --videos are for label-studio; --name, --split, --tasks and --limit for harnesses
    and training data; --mode, --prompt, --subtitles and --no-videos for harnesses; all from --units on for training
    data, whose pictures are decoded once for all three layouts; run it again to go on after an interruption.

    Parameters
    ----------
    format
        Name of the layout, or of the harness.
    benchmark
        Folder of the benchmark.
    out
        Folder that appears.
    overwrite
        Replace what is there.
    """
    from reeltalk.stages.layouts import export_layout
    from reeltalk.store.atomic import writing_directory
    from reeltalk.store.benchmark import Benchmark

    if label_studio != LABEL_STUDIO_DEFAULTS and format != "label-studio":
        raise SettingError("--media-url and --videos are for label-studio only")
    if training != TRAINING_DEFAULTS and format not in TRAINING:
        raise SettingError(
            f"--units, --fps, --budget and what else says how to train are for {', '.join(TRAINING)} only"
        )
    if format in TRAINING:
        return export_for_training(format, benchmark, out, harness, training, overwrite=overwrite)
    if format in HARNESSES:
        lies_at = out.resolve()
        with writing_directory(out, overwrite=overwrite) as folder:
            write_harness_task(format, benchmark, folder, harness, lies_at=lies_at)
        print(f"{out / 'README.md'} says how it is run")
        return 0
    if format not in FORMATS:
        raise SettingError(f"unknown format '{format}'; known are {', '.join((*FORMATS, *TRAINING, *HARNESSES))}")
    if harness != HARNESS_DEFAULTS:
        only = "--overwrite is its only option"
        if format == "label-studio":
            only = "--media-url, --videos and --overwrite are its only options"
        raise SettingError(f"{format} is a layout, which holds the whole benchmark; {only}")
    write = None
    if format == "label-studio":
        from reeltalk.formats.label_studio import write as write_label_studio

        def write(content: "Content", folder: Path) -> list[str]:
            return write_label_studio(content, folder, label_studio)

    done = export_layout(Benchmark.open(benchmark), format, out, write=write, overwrite=overwrite)
    for line in done.lost:
        print(f"not expressed: {line}")
    print(f"{done.files:,} files in {out}")
    return 0

"""Commands that get data sets, videos and media: import, attach, media."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from reeltalk.cli.options import DRY_RUN, FLAG, IN_RUN, OVERWRITE, TrustOption
from reeltalk.cli.terminal import ProgressBar, ask_consent, print_report, print_some, say
from reeltalk.curate.wholeness import MAX_MISSING
from reeltalk.errors import InputError, SettingError
from reeltalk.formats import FORMATS

if TYPE_CHECKING:
    from reeltalk.store.media_remote import TransferredFiles

LAYOUT = Parameter(help=f"Layout: {', '.join(FORMATS)}.")
OWN_QUESTIONS = Group("Your own questions: import qa", sort_key=2)
IN_QA, QA_FLAG = Parameter(group=OWN_QUESTIONS), Parameter(group=OWN_QUESTIONS, negative="")


def import_(
    format: Annotated[str, LAYOUT],
    source: Path,
    benchmark: Path,
    /,
    *,
    videos: Annotated[Path | None, IN_QA] = None,
    columns: Annotated[str | None, IN_QA] = None,
    one_dialogue_per_video: Annotated[bool, QA_FLAG] = False,
    strict: Annotated[bool, QA_FLAG] = False,
    fix: Annotated[bool, QA_FLAG] = False,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Read a published layout, or a table of your own questions, into a benchmark.

    `import qa` reads CSV, TSV, JSON, JSON Lines, Parquet, or a folder of such tables, and prints what it understood.
    With `--fix` it also reads spreadsheets, other names of columns, encodings and times, and conversations. A row is a
    question; the columns `video`, `question` and `answer` are needed. `dialogue`, `turn`, `asked_at_s`, `start_s`,
    `end_s`, `option_a`,
    `option_b`, …, `correct`, `type`, `task`, `split` and `id` have a meaning too, and all others are kept. Exit code 1
    if rows are damaged, have no video, or ask about a moment after its end: they are listed, and the rest is imported.

    Example: `reeltalk import vdact VDAct/ benchmarks/vdact`, or `reeltalk import qa questions.csv benchmarks/mine
    --videos videos/ --columns question=Q,answer=A`.

    Parameters
    ----------
    format
        Name of the layout.
    source
        The release's folder, a part of it, or one of its files.
    benchmark
        Folder of the benchmark to write.
    videos
        Folder that is searched for the videos that the questions are about; they are checked and copied. The default is
        the source, if that is a folder.
    columns
        Columns with other names, as question=Q,answer=A: our name, then the table's.
    one_dialogue_per_video
        The questions of a video are one dialogue, in the order of `turn`, else of `asked_at_s`. By default a row
        without `dialogue` is a dialogue of one turn.
    strict
        Stop at the first row or table that is damaged.
    fix
        Take the guesses that are printed: names of columns, delimiter, encoding, times such as 0:05, options in one
        text, conversations, the case of file names. All are listed in BENCHMARK-import.csv.
    overwrite
        Replace what the benchmark holds.
    """
    from reeltalk.stages.layouts import WITHOUT_VIDEO, WRONG_QUESTIONS, import_layout, import_questions

    if format != "qa":
        if videos is not None or columns is not None or one_dialogue_per_video or strict or fix:
            raise SettingError(
                "--videos, --columns, --one-dialogue-per-video, --strict and --fix are for 'import qa' only"
            )
        done = import_layout(format, source, benchmark, overwrite=overwrite)
    else:
        named = _parse_columns(columns)
        fix, left = _show_table(source, benchmark, videos, named, one_dialogue_per_video, fix=fix)
        try:
            with ProgressBar() as bar:
                done = import_questions(
                    source,
                    benchmark,
                    videos=videos,
                    columns=named,
                    one_dialogue_per_video=one_dialogue_per_video,
                    strict=strict,
                    fix=fix,
                    overwrite=overwrite,
                    progress=bar.show,
                )
        finally:
            if left:
                again = [] if overwrite or not (benchmark / "manifest.json").is_file() else ["--overwrite"]
                print(f"To read the table like that: {shlex.join(['reeltalk', *sys.argv[1:], '--fix', *again])}")
    if not done.counts and done.warnings:
        print(*done.warnings, sep="\n")
    else:
        print_report(done, benchmark)
    # Published sets are known to contradict themselves; what is rejected of them is told, and is nobody's to mend.
    at_fault = done.rejected if format in ("qa", "folder") else ()
    return 1 if at_fault or not done.complete or done.counts.keys() & {WITHOUT_VIDEO, WRONG_QUESTIONS} else 0


def _show_table(
    source: Path,
    benchmark: Path,
    videos: Path | None,
    columns: dict[str, str],
    one_dialogue_per_video: bool,
    *,
    fix: bool,
) -> tuple[bool, bool]:
    """Print what a table was taken to mean, and all that is wrong with it; a person at a terminal is asked."""
    from reeltalk.stages.layouts import guesses_path, preview_questions

    try:
        seen = preview_questions(source, videos=videos, columns=columns, one_dialogue_per_video=one_dialogue_per_video)
    except InputError:
        if fix:
            raise
        return False, False  # reading it without guesses says what is wrong
    print(*seen.lines(taken=fix), sep="\n")
    if number := seen.write(guesses_path(benchmark)):
        print(f"  all {number:,}: {guesses_path(benchmark)}")
    if seen.guesses and not fix and sys.stdin.isatty() and sys.stderr.isatty():
        say("Import the table with these guesses? [y/N]")
        fix = sys.stdin.readline().strip().lower() in ("y", "yes")
    return fix, bool(seen.guesses) and not fix


def _parse_columns(given: str | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in given.split(",") if given else ():
        ours, equals, theirs = part.partition("=")
        if not equals or not ours.strip() or not theirs.strip():
            raise SettingError(f"--columns {part!r}: write OURS=THEIRS, as question=Q,answer=A")
        if ours.strip() in found:
            raise SettingError(f"--columns names {ours.strip()!r} twice")
        found[ours.strip()] = theirs.strip()
    return found


def attach(
    benchmark: Path,
    /,
    *videos: Path,
    max_missing: float = MAX_MISSING,
    speech_language: str | None = None,
    strict: Annotated[bool, FLAG] = False,
    workers: int | None = None,
) -> int:
    """Put video files, and the subtitle or transcript files beside them, into a benchmark. Files are matched by name.

    Run it again to continue after an interruption, or when you have more files. Exit code 1 if a file cannot be read,
    is truncated, or has other content than the benchmark states.

    Example: `reeltalk attach benchmarks/svbench downloads/svbench-videos`.

    Parameters
    ----------
    benchmark
        A benchmark with videos.
    videos
        Video files, and folders to search.
    max_missing
        Largest missing part of a truncated or damaged video, in percent of its length, 0 to 100.
    speech_language
        Language of the subtitle or transcript file that is read if a video has several, as en for NAME.en.srt.
    strict
        Stop at the first subtitle or transcript file that cannot be read.
    workers
        Files that are checked at a time; by default one for each core.
    """
    from reeltalk.curate.attaching import attach as run_stage
    from reeltalk.parallel import open_executor
    from reeltalk.store.benchmark import Benchmark

    if not videos:
        raise SettingError("attach needs at least one video or folder of videos")
    if not 0 <= max_missing <= 100:
        raise SettingError(f"--max-missing {max_missing:g}: it must be from 0 to 100 percent")
    with ProgressBar() as bar:
        report = run_stage(
            videos,
            Benchmark.open(benchmark),
            executor=open_executor(workers=workers),
            max_missing=max_missing,
            speech_language=speech_language,
            strict=strict,
            progress=bar.show,
        )
    print_report(report, benchmark)
    return 1 if report.rejected or not report.complete else 0


def media(
    direction: Literal["pull", "push"],
    benchmark: Path,
    address: str | None = None,
    /,
    *,
    at_once: Annotated[int, IN_RUN] = 8,
    verify: Annotated[bool, FLAG] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
    trust: TrustOption = False,
) -> int:
    """Keep a benchmark's media on an object store, or bring them from one.

    `pull` downloads media that the benchmark's tables name and that are missing here; each is checked by its hash.
    `push` uploads them, and records their address for `pull` and other machines. Run it again to continue after an
    interruption. Exit code 1 if media are neither here nor on the store.

    Example: `reeltalk media push benchmarks/kitchen s3://bucket/kitchen`, and on another machine `reeltalk media pull
    benchmarks/kitchen`.

    Parameters
    ----------
    direction
        pull downloads media; push uploads them to the store.
    benchmark
        Folder of the benchmark or release.
    address
        Address on the object store; by default the one that the media were pushed to before.
    at_once
        Files at a time, 1 to 64.
    verify
        With push: read every file back and compare its hash.
    dry_run
        Only print the number of bytes that would be transferred.
    """
    from reeltalk.store import media_remote
    from reeltalk.store.benchmark import Benchmark

    if not 1 <= at_once <= 64:
        raise SettingError(f"--at-once {at_once}: give 1 to 64")
    if verify and direction == "pull":
        raise SettingError("--verify is for push; pull checks every file by its hash")
    opened = Benchmark.open(benchmark)
    with ProgressBar() as bar:
        how: Any = {"dry_run": dry_run, "at_once": at_once, "trust": trust or ask_consent, "progress": bar.show}
        if direction == "pull":
            moved = media_remote.pull(opened, address, **how)
        else:
            moved = media_remote.push(opened, address, verify=verify, **how)
    if direction == "push":
        print(_transfer_line(moved, "would be written to" if dry_run else "written to", "there"))
        return 0
    print(_transfer_line(moved, "would be brought from" if dry_run else "brought from", "here"))
    print_some([f"  neither here nor there: {sha256}" for sha256 in moved.absent], benchmark)
    return 1 if moved.absent else 0


def _transfer_line(moved: "TransferredFiles", did: str, where: str) -> str:
    return (
        f"{moved.files:,} files of {moved.size_bytes / 1e6:,.1f} MB {did} {moved.address}; "
        f"{moved.there:,} were {where} already"
    )

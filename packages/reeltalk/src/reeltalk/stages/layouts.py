"""Import, export and freeze: read a benchmark from a published layout, write it in one, or write a release."""

import json
import re
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Final

from reeltalk._version import __version__
from reeltalk.errors import BenchmarkError, InputError, SettingError
from reeltalk.formats import load_format
from reeltalk.formats.qa import QuestionTable, read_questions, write_table
from reeltalk.formats.table_forms import Guess
from reeltalk.formats.table_guesses import film_name
from reeltalk.formats.table_rows import TABLE_SUFFIXES, csv_cell, nearest_hint, write_table_rows
from reeltalk.metrics.selection import TurnSelection, select_turns
from reeltalk.metrics.turn_checks import content_quality, quality_card
from reeltalk.progress import Progress, ignore_progress
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.gates import Only
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Video
from reeltalk.schema.outcomes import Rejected, StageReport
from reeltalk.schema.overview import HasOverview, Overview
from reeltalk.schema.record import Json
from reeltalk.schema.turn_sense import Film, unit_findings
from reeltalk.store.archives import is_archive_name
from reeltalk.store.atomic import PARTIAL_PREFIX, write_bytes, writing, writing_directory
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.documents import write_json
from reeltalk.store.foreign import SELECTION_FILE, visible_files
from reeltalk.store.invariants import check_characters
from reeltalk.store.manifest import Manifest, hash_source
from reeltalk.store.release import CARD
from reeltalk.store.release import freeze as write_release
from reeltalk.store.tables import VIDEOS
from reeltalk.store.validate import validate

MOST_NAMED: Final = 10
"""Maximum number of texts that an import lists one by one."""
WITHOUT_VIDEO: Final = "questions without a video"
WRONG_QUESTIONS: Final = "questions to correct"
"""Counts of the report of `import_questions`, which are not there if they are 0."""
WITHOUT_MEDIA: Final = frozenset({"mt-video-bench", "qa", "svbench", "vdact"})
"""Written layouts that hold no media files."""
NAMED_ROWS: Final = 3
"""Maximum number of rows of a table that a warning names."""
SHOWN_CHARACTERS: Final = 40
"""Most characters of a cell in a line of `TablePreview.lines`."""


def import_layout(format: str, source: Path | str, into: Path | str, *, overwrite: bool = False) -> StageReport:
    """Read a published layout into a benchmark.

    Args:
        format: Name of the layout, for example `vdact`. `reeltalk.formats.FORMATS` lists all layouts.
        source: The release's folder, a part of it, or one of its files.
        into: Folder of the new benchmark. If it already holds the same content, nothing is done.
        overwrite: Replace the content of the benchmark.

    Raises:
        SettingError: There is no such layout.
        InputError: The source is missing or damaged. The message names the file and the place.
        BenchmarkError: The benchmark holds something else, or cannot be written.
    """
    report = _import(format, load_format(format).read, {}, Path(source), Path(into), overwrite=overwrite)
    doubtful = _turn_notes(Benchmark.open(into)) if report.counts else []
    return report.model_copy(update={"warnings": (*report.warnings, *doubtful)})


def _import(
    format: str,
    read: Callable[[Path], Content],
    options: Mapping[str, str],
    source: Path,
    into: Path,
    *,
    overwrite: bool,
) -> StageReport:
    """Import with a reader; the manifest records its options."""
    stage, parents = f"import {format}", {"source": hash_source(source), **options}
    if (into / "manifest.json").is_file() or (into / ".commit").is_dir():
        existing = Benchmark.open(into)
        entries = list(existing.manifest.files.values())
        if entries and all((e.stage, e.parents, e.version) == (stage, parents, __version__) for e in entries):
            return StageReport(stage=stage, counts={}, warnings=(f"{into} is up to date with {source}",))
        if entries and not overwrite:
            raise BenchmarkError(f"{into} holds {describe_counts(existing.manifest)}; pass --overwrite to replace that")
    if source.is_file() and is_archive_name(source.name) and source.suffix.lower() != ".zip":
        raise InputError("an archive of a kind that is not read", file=source, hint="unpack it, and give the folder")
    content = read(source)
    _check_characters(content, source)
    content.warnings += _left_packed(content, source)
    counts = Benchmark.create(into).write_content(content, stage=stage, parents=parents)
    if content.graphs:
        counts["graphs"] = len(content.graphs)
    return StageReport(stage=stage, counts=counts, rejected=tuple(content.rejected), warnings=tuple(content.warnings))


def import_questions(
    source: Path | str,
    into: Path | str,
    *,
    videos: Path | str | None = None,
    columns: Mapping[str, str] | None = None,
    one_dialogue_per_video: bool = False,
    strict: bool = False,
    fix: bool = False,
    overwrite: bool = False,
    progress: Progress = ignore_progress,
) -> StageReport:
    """Read your own questions from a table into a benchmark, and attach the videos that they are about.

    Call it again to continue after an interruption, or when you have more videos.

    Args:
        source: A table (CSV, TSV, JSON, JSON Lines, Parquet), or a folder of tables.
        into: Folder of the new benchmark. If it already holds the same questions, only videos are attached.
        videos: Folder that is searched for the videos that no Parquet table holds. The default is `source`, if that is
            a folder with videos.
        columns: The table's name of a column, by our name, where they differ.
        one_dialogue_per_video: The questions of a video are one dialogue, in order.
        strict: Raise the first fault of a row, in place of leaving the row out.
        fix: Take the guesses that `preview_questions` shows.
        overwrite: Replace the content of the benchmark.
        progress: Called while videos are looked at.

    Returns:
        The counts, damaged rows and rows without a video as `rejected`, and warnings: a video without a file, a
        question after the end of its video.

    Raises:
        InputError: A column is missing, or no row can be read.
        SettingError: `columns` contradicts the table.
        BenchmarkError: The benchmark holds something else, or no file of `videos` belongs to a question.
    """
    from reeltalk.curate.attaching import attach
    from reeltalk.parallel import open_executor

    source, into = Path(source), Path(into)
    searched = _folder_of_videos(source, videos)
    table = _read(source, searched, columns, one_dialogue_per_video, strict=strict, fix=fix)
    options = {f"column {ours}": theirs for ours, theirs in sorted((columns or {}).items())}
    if fix:
        options["guesses"] = "taken"
        _preview(table, searched).write(guesses_path(into))
    if one_dialogue_per_video:
        options["dialogues"] = "one a video"
    imported = _import("qa", lambda _: table.content, options, source, into, overwrite=overwrite)
    benchmark = Benchmark.open(into)
    counts = {name: count for name, count in imported.counts.items() if name != "source_files"}
    warnings, rejected = list(imported.warnings), list(imported.rejected)
    looked: list[StageReport] = []
    executor = open_executor()
    for folder, place in _inside_tables(benchmark, table):
        report = attach([folder], benchmark, executor=executor, progress=progress)
        rows = tuple(row.model_copy(update={"place": str(place)}) for row in report.rejected)
        looked.append(report.model_copy(update={"rejected": rows}))
    if searched is not None and (not looked or _lacking(benchmark)):
        try:
            looked.append(attach([searched], benchmark, executor=executor, progress=progress))
        except BenchmarkError as error:
            raise BenchmarkError(
                f"{into} has the questions, but no videos: {error}; then run the command again"
            ) from None
    if looked or not _lacking(benchmark):
        counts |= {"videos attached": benchmark.rows(VIDEOS) - len(_lacking(benchmark))}
        rejected += [row for report in looked for row in report.rejected]
        warnings += [line for report in looked for line in report.warnings if "still have no file" not in line]
        refused = {row.record_id: row.reason for report in looked for row in report.rejected}
        missing = _without_video(benchmark, table, searched or source, refused)
        warnings += [line for line, _ in missing]
        if missing:
            counts[WITHOUT_VIDEO] = sum(count for _, count in missing)
        wrong = [
            f"{_row_of(finding.where, table)}: {finding.problem}"
            for finding in validate(benchmark)
            if finding.severity == "error"
        ]
        warnings += [*wrong, *_turn_notes(benchmark, table.places)]
        if wrong:
            counts[WRONG_QUESTIONS] = len(wrong)
    else:
        warnings.append(f"no videos are attached: pass --videos DIR, or run 'reeltalk attach {into} DIR'")
    left_out = tuple(line for report in looked for line in report.left_out)
    return StageReport(
        stage="import qa", counts=counts, rejected=tuple(rejected), warnings=tuple(warnings), left_out=left_out
    )


def _folder_of_videos(source: Path, videos: Path | str | None) -> Path | None:
    from reeltalk.curate.sources import find_videos

    beside = source if source.is_dir() and find_videos([source])[0] else None
    searched = Path(videos) if videos is not None else beside
    if searched is not None and not searched.exists():
        raise InputError("no such folder of videos", file=searched, hint="check the path")
    return searched


def _read(
    source: Path,
    searched: Path | None,
    columns: Mapping[str, str] | None,
    one_dialogue_per_video: bool,
    *,
    strict: bool,
    fix: bool,
) -> QuestionTable:
    """The questions of a table; with `fix` as it is probably meant, and videos under the names of their files."""
    from reeltalk.curate.sources import find_videos

    files = [found.name for found in find_videos([searched])[0]] if fix and searched is not None else []
    return read_questions(
        source, columns=columns, one_dialogue_per_video=one_dialogue_per_video, strict=strict, fix=fix, films=files
    )


@dataclass(frozen=True)
class TablePreview:
    """What a table of questions was taken to mean, and what is wrong with it."""

    tables: tuple[str, ...]
    """A line for each table: how it was read, and its columns."""
    guesses: tuple[Guess, ...]
    """What `fix` would change."""
    faults: tuple[Rejected, ...]
    """What stays wrong."""
    missing: tuple[str, ...]
    """Videos whose file was not found."""

    def rows(self) -> list[dict[str, Json]]:
        """Every guess and fault as a row."""
        guessed = [{"guess": one.why, **one._asdict()} for one in self.guesses]
        for row in guessed:
            del row["why"]
        wrong = [{"fault": row.reason, "where": row.place or row.record_id} for row in self.faults]
        return [{key: row.get(key) for key in ("guess", "fault", "where", "column", "before", "after")} for row in
                [*guessed, *wrong, *({"fault": "no file", "where": line} for line in self.missing)]]  # fmt: skip

    def write(self, out: Path) -> int:
        """Write every guess and fault as a table, if there are any; return their number."""
        if rows := self.rows():
            write_table_file(rows, out, overwrite=True)
        return len(rows)

    def lines(self, *, taken: bool) -> Iterator[str]:
        """What was understood, and a line for each kind of guess or fault with its number and its first place."""
        yield from self.tables
        kinds: dict[str, list[Guess]] = defaultdict(list)
        for one in self.guesses:
            kinds[one.why].append(one)
        for why, members in kinds.items():
            first = members[0]
            column = f" {first.column}:" if first.column else ""
            shown = f" {_short(first.before)} → {_short(first.after)}" if first.before is not None else ""
            yield f"  {'read' if taken else 'not read'}, {len(members):,} times: {why} ({first.where}{column}{shown})"
        reasons: dict[str, list[str]] = defaultdict(list)
        for row in self.faults:
            reasons[row.reason].append(row.place or row.record_id)
        for reason, places in reasons.items():
            yield f"  wrong, {len(places):,} times: {reason} ({', '.join(places[:NAMED_ROWS])})"
        if self.missing:
            yield f"  no file, {len(self.missing):,} videos: {', '.join(self.missing[:NAMED_ROWS])}"


def guesses_path(benchmark: Path) -> Path:
    """The table of guesses and faults of an import into a benchmark."""
    return benchmark.with_name(f"{benchmark.name}-import.csv")


def _short(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return repr(text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…")


def preview_questions(
    source: Path | str,
    *,
    videos: Path | str | None = None,
    columns: Mapping[str, str] | None = None,
    one_dialogue_per_video: bool = False,
) -> TablePreview:
    """What `import_questions` with `fix` would read in a table, and what is wrong with it. Nothing is written.

    Args:
        source: As of `import_questions`; also a spreadsheet.
        videos: As of `import_questions`.
        columns: As of `import_questions`.
        one_dialogue_per_video: As of `import_questions`.

    Raises:
        InputError: No row can be read, even with guesses.
    """
    searched = _folder_of_videos(Path(source), videos)
    return _preview(_read(Path(source), searched, columns, one_dialogue_per_video, strict=False, fix=True), searched)


def _preview(table: QuestionTable, searched: Path | None) -> TablePreview:
    from reeltalk.curate.sources import find_videos

    found = {film_name(one.name) for one in find_videos([searched])[0]} if searched is not None else set()
    inside = {name for names in table.files.rows.values() for name in names}
    missing = [
        str(video.file or video.source or video.id)
        for video in table.content.videos
        if searched is not None and film_name(video.file or video.id) not in found and video.file not in inside
    ]
    return TablePreview(
        tuple(one.line() for one in table.guessed),
        tuple(guess for one in table.guessed for guess in one.guesses),
        tuple(table.content.rejected),
        tuple(missing),
    )


def _lacking(benchmark: Benchmark) -> list[Video]:
    """The videos without a file."""
    return [row for row in benchmark.read(VIDEOS) if row.sha256 is None or not benchmark.media.has(row.sha256)]


def _inside_tables(benchmark: Benchmark, table: QuestionTable) -> Iterator[tuple[Path, Path]]:
    """A folder with the videos of each Parquet table that the benchmark lacks, and the table."""
    for path, column in table.files.rows:
        names = {video.file for video in _lacking(benchmark) if video.file} & set(table.files.rows[path, column])
        if names:
            with tempfile.TemporaryDirectory(prefix=PARTIAL_PREFIX, dir=benchmark.path) as folder:
                table.files.write(path, column, names, Path(folder))
                yield Path(folder), path


def _row_of(where: str, table: QuestionTable) -> str:
    """The row of a finding of `validate` about a turn; the finding's own place for others."""
    turn = re.match(r"dialogues:(.+)\.turns\[(\d+)\]", where)
    return table.places.get((turn[1], int(turn[2])), where) if turn else where


def _turn_notes(benchmark: Benchmark, rows: Mapping[tuple[str, int], str] | None = None) -> list[str]:
    """A line for each kind of thing that makes no sense in turns, with the first; errors of a table have lines."""
    content = benchmark.stored_content()
    films = {row.id: Film.of(row) for row in content.videos}
    clips: dict[str, Interval] = {row.id: row.interval for row in content.clips if row.interval is not None}
    found: dict[str, list[str]] = defaultdict(list)
    for unit in chain[QAChain | Dialogue](content.chains, content.dialogues):
        for index, finding in unit_findings(unit, films.get(unit.video_id, Film()), clips):
            if finding.may_go_on or rows is None:
                where = (rows or {}).get((unit.id, index), f"{unit.id}, turn {index + 1}")
                found[finding.rule].append(f"{where}: {finding.text}")
    return [
        lines[0] + (f"; and {len(lines) - 1:,} more of this kind, which 'reeltalk validate' lists" if lines[1:] else "")
        for lines in found.values()
    ]


def _without_video(
    benchmark: Benchmark, table: QuestionTable, searched: Path, refused: Mapping[str, str]
) -> list[tuple[str, int]]:
    """A line for each video that has no file, with the rows that ask about it and their number."""
    from reeltalk.curate.sources import find_videos

    files = [found.name for found in find_videos([searched])[0]]
    lines = []
    for video in _lacking(benchmark):
        rows = table.about(video.id)
        named = ", ".join(rows[:NAMED_ROWS]) + (", …" if len(rows) > NAMED_ROWS else "")
        wanted = video.file or video.source or video.id
        same = [name for name in files if PurePosixPath(name).name == wanted]
        problem = refused.get(video.id) or (
            f"is the name of {len(same)} files in {searched}, such as {same[0]!r}; write its folder, too"
            if len(same) > 1
            else f"is not in {searched}{nearest_hint(wanted, files)}"
        )
        lines.append((f"{wanted!r}, which {named} asks about, {problem}", len(rows)))
    return lines


def _check_characters(content: Content, source: Path) -> None:
    """Refuse invalid content before the benchmark is created, and report content that a person should check."""
    found = list(check_characters(content))
    for finding in found:
        if finding.severity == "error":
            raise InputError(
                finding.problem, file=source, place=finding.where, hint="correct it there and import again"
            )
    content.warnings += [f"{finding.where} {finding.problem}" for finding in found[:MOST_NAMED]]
    if len(found) > MOST_NAMED:
        content.warnings.append(f"{len(found) - MOST_NAMED:,} more texts like that; 'reeltalk validate' names all")


def _left_packed(content: Content, source: Path) -> list[str]:
    read = {file.path for file in content.source_files}
    files = visible_files(source, []) if source.is_dir() else []
    names = [path.relative_to(source).as_posix() for path in files if is_archive_name(path.name)]
    left = [name for name in names if name not in read]
    return [f"{len(left):,} archives were not read, {left[0]} first: unpack them and import again"] if left else []


@dataclass(frozen=True, repr=False)
class ExportReport(HasOverview):
    """Result of an export: the written files, and the data that the layout cannot hold."""

    folder: Path
    """Folder that was written."""
    files: int
    """Number of its files."""
    lost: tuple[str, ...]
    """Data that the layout cannot hold, one line each."""
    left_out: tuple[str, ...] = ()
    """Media files that are damaged, and why."""
    selection: str = ""
    """Which turns were left out, and why; empty if the benchmark has neither checks nor reviews."""

    def overview(self) -> Overview:
        """The files written, the turns that were left out, and the data that is lost."""
        lost = f"; the layout cannot hold {len(self.lost):,} kinds of data" if self.lost else "; nothing is lost"
        chosen = f"; {self.selection}" if self.selection else ""
        notes = (*(f"left out: {line}" for line in self.left_out), *self.lost)
        return Overview(f"export: {self.files:,} files in {self.folder}{chosen}{lost}", notes=notes)


@dataclass(frozen=True, repr=False)
class FreezeReport(HasOverview):
    """Result of a freeze."""

    release: Benchmark
    """The release, opened."""
    selection: str
    """Which turns were left out, and why; empty if the benchmark has neither checks nor reviews."""

    def overview(self) -> Overview:
        """What the release holds, and the turns that were left out."""
        manifest = self.release.manifest
        chosen = f"; {self.selection}" if self.selection else ""
        return Overview(
            f"release {manifest.release} of {describe_counts(manifest)}: {self.release.path / CARD}{chosen}"
        )


def freeze(
    benchmark: Benchmark, release: Path | str, *, version: str, title: str | None = None, only: Only = "passed"
) -> FreezeReport:
    """Write an immutable release of a benchmark with a card.

    Args:
        benchmark: The benchmark. It must validate without errors.
        release: Folder of the release; it must not exist, or must be empty. It is written whole or not at all.
        version: Semantic version of the release, such as `1.0.0`.
        title: Heading of the card; the benchmark's name by default.
        only: `passed`: all turns but those that are flagged; `reviewed`: those that people accepted; `all`. What is
            left out is listed on the card and in the table `rejected`.

    Raises:
        SettingError: `version` is not a semantic version.
        BrokenInvariantError: The benchmark has errors; names the first and counts the others.
        BenchmarkError: No turn is left, or `release` is taken or cannot be written.
    """
    whole = benchmark.stored_content()
    found = select_turns(whole, only)
    if found.left:
        rejected = [*whole.rejected, *found.rejected()]
        found = replace(found, content=replace(found.content, rejected=rejected))
    notes = quality_card(content_quality(found.content))
    if found.sentence:
        notes = ["## Turns of this release", "", f"`--only {only}`: {found.sentence}.", "", *notes]
    written = write_release(
        benchmark,
        Path(release),
        version=version,
        title=title,
        notes=notes,
        content=found.content,
        changed=found.changed(whole),
        settings=found.counts() if found.sentence else None,
    )
    return FreezeReport(written, found.sentence)


def export_layout(
    benchmark: Benchmark,
    format: str,
    out: Path | str,
    *,
    write: Callable[[Content, Path], list[str]] | None = None,
    strict: bool = False,
    overwrite: bool = False,
    only: Only = "passed",
) -> ExportReport:
    """Write a benchmark in a published layout.

    Args:
        format: Name of the layout. `reeltalk.formats.WRITTEN` lists the layouts that are written.
        out: Folder to write; for `qa` also one file, such as `questions.jsonl`. It is written completely or not at all.
        write: Function that replaces the layout's own writer, for example to pass other options.
        strict: Raise the fault of the first media file that is damaged, in place of leaving the file out.
        overwrite: Replace existing files.
        only: `passed`: all turns but those that are flagged; `reviewed`: those that people accepted; `all`. What is
            left out is listed in `reeltalk-selection.json` in the folder, or beside the file.

    Raises:
        SettingError: There is no such layout, or it is only read.
        BenchmarkError: `out` exists, no turn is left, or the layout needs data that the benchmark does not hold.
    """
    out, layout = Path(out), load_format(format)
    found = select_turns(benchmark.stored_content(), only)
    content = found.content
    left_out = []
    for sha256 in list(content.media) if format not in WITHOUT_MEDIA else ():
        try:
            benchmark.media.whole(sha256)
        except BenchmarkError as fault:
            if strict:
                raise
            del content.media[sha256]
            left_out.append(str(fault))
    if format == "qa" and out.suffix.lower() in TABLE_SUFFIXES:
        return _export_table(found, out, overwrite=overwrite)
    pictures = sum("/" in name and not name.startswith("graphs/") for name in benchmark.manifest.files)
    with writing_directory(out, overwrite=overwrite) as folder:
        lost = (write or layout.write)(content, folder)
        lost += [f"contact sheets and saved key frames are left out: {pictures:,}"] if pictures else []
        files = sum(path.is_file() for path in folder.rglob("*"))
        write_selection(found, folder)
    return ExportReport(out, files, tuple(lost), tuple(left_out), found.sentence)


def write_selection(found: TurnSelection, out: Path) -> None:
    """Write which turns were left out into an export's folder, or beside its file, unless there is nothing to say."""
    if not found.is_whole:
        path = out / SELECTION_FILE if out.is_dir() else out.with_name(f"{out.stem}.{SELECTION_FILE}")
        write_bytes(path, write_json(found.document()).encode())


def _export_table(found: TurnSelection, out: Path, *, overwrite: bool) -> ExportReport:
    """One table of questions."""
    if out.exists() and not overwrite:
        raise BenchmarkError(f"{out} exists; choose another file or pass --overwrite")
    with tempfile.TemporaryDirectory() as work:
        made = Path(work) / out.name
        lost = write_table(found.content, made)
        if not made.is_file():
            raise BenchmarkError("; ".join(lost))
        with writing(out) as stream, made.open("rb") as source:
            shutil.copyfileobj(source, stream)
    write_selection(found, out)
    return ExportReport(out, 1, tuple(lost), selection=found.sentence)


def write_table_file(rows: list[dict[str, Json]], out: Path, *, overwrite: bool) -> None:
    """Write rows as a table in the format of the file's ending, whole or not at all.

    Raises:
        BenchmarkError: `out` exists, or cannot be written.
        SettingError: It has the ending of no table.
    """
    if out.suffix.lower() not in TABLE_SUFFIXES:
        raise SettingError(f"{out}: choose a file that ends in {', '.join(TABLE_SUFFIXES)}")
    if out.exists() and not overwrite:
        raise BenchmarkError(f"{out} exists; choose another file or pass --overwrite")
    if out.suffix.lower() in (".csv", ".tsv"):
        rows = [{k: csv_cell(v) if isinstance(v, list | dict) else v for k, v in row.items()} for row in rows]
    with tempfile.TemporaryDirectory() as work:
        made = Path(work) / out.name
        write_table_rows(made, rows)
        write_bytes(out, made.read_bytes())


def describe_counts(manifest: Manifest) -> str:
    """The rows of each table of a benchmark, in words."""
    counts = [f"{entry.rows:,} {Path(name).stem}" for name, entry in manifest.files.items() if entry.rows]
    return ", ".join(counts) or "files"

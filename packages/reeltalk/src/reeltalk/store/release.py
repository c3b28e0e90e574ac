"""Freeze a benchmark: an immutable copy with a card on its content, its sources and its omissions."""

import os
import re
import uuid
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

from reeltalk.errors import BenchmarkError, BrokenInvariantError, SettingError
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.media import Video
from reeltalk.schema.record import Json
from reeltalk.store.atomic import writing_directory
from reeltalk.store.benchmark import Benchmark, BenchmarkWriter
from reeltalk.store.consent import mark_copied
from reeltalk.store.content import Content, ReadsTables
from reeltalk.store.foreign import open_file, path_inside
from reeltalk.store.manifest import MANIFEST, MEDIA, PART_BYTES, REMOTE, hash_file
from reeltalk.store.tables import CHAINS, DIALOGUES, REJECTED, TABLES, VIDEOS
from reeltalk.store.text_tables import escape_card, markdown_table
from reeltalk.store.validate import validate

CARD: Final = "README.md"
VERSION_FORM: Final = re.compile(r"\d+\.\d+\.\d+([-+.][0-9A-Za-z.-]+)?")
CANARY_NAMESPACE: Final = uuid.UUID("5e0b8f3c-2f0e-4a64-9f5e-7f6a3a9d2c11")
"""A random constant. With a release's content hash it gives the same canary on every machine."""


def freeze(
    benchmark: Benchmark,
    folder: Path,
    *,
    version: str,
    title: str | None = None,
    notes: Sequence[str] = (),
    content: Content | None = None,
    changed: Collection[str] = (),
    settings: dict[str, Json] | None = None,
) -> Benchmark:
    """Write an immutable release of a benchmark.

    Args:
        benchmark: The benchmark. It must validate without errors.
        folder: Folder of the release; it must not exist, or must be empty. It is written whole or not at all.
        version: Semantic version of the release, such as `1.0.0`.
        title: Heading of the card; the benchmark's name by default.
        notes: Lines of Markdown for the card, before its counts.
        content: What the release holds of the benchmark; all of it by default.
        changed: Names of the tables in which `content` differs from the benchmark.
        settings: How `content` was chosen; recorded with the card and with these tables.

    Returns:
        The release, opened. Its files cannot be written, and `Benchmark.writing` refuses it.

    Raises:
        SettingError: `version` is not a semantic version.
        BrokenInvariantError: The benchmark has errors; names the first and counts the others.
        BenchmarkError: `folder` is taken or cannot be written.
    """
    if not VERSION_FORM.fullmatch(version):
        raise SettingError(f"a release needs a version of the form 1.0.0, not '{version}'")
    errors = [finding for finding in validate(benchmark) if finding.severity == "error"]
    if errors:
        more = f" and {len(errors) - 1:,} more" if len(errors) > 1 else ""
        raise BrokenInvariantError(
            f"{benchmark.path} has errors, so it is not released: {errors[0].where}: {errors[0].problem}{more}; "
            f"'reeltalk validate {benchmark.path}' lists them"
        )
    replaced = [TABLES[name] for name in changed]
    listed = dict(benchmark.manifest.files)
    with writing_directory(folder) as partial:
        for table in replaced:
            listed.pop(table.file_name, None)
        for name in listed:
            for stored, path in benchmark.stored_files(name).items():
                _copy(path, partial / stored)
        for sha256 in benchmark.media.names():
            _copy(benchmark.media.whole(sha256), partial / MEDIA / sha256)
        if (remote := path_inside(benchmark.path, REMOTE)).is_file():
            _copy(remote, partial / REMOTE)
        parents = {
            table.file_name: entry.sha256
            for table in replaced
            if (entry := benchmark.manifest.files.get(table.file_name)) is not None
        }
        writer = BenchmarkWriter(
            partial,
            stage="freeze",
            settings=settings or {},
            parents=parents,
            part_bytes=benchmark.manifest.part_bytes or PART_BYTES,
        )
        rows: ReadsTables = content or benchmark
        for table in replaced:
            if (first := next(left := rows.read(table), None)) is not None:
                writer.add(table, chain([first], left))
        manifest = benchmark.manifest.model_copy(update={"files": dict(sorted((listed | writer.entries).items()))})
        canary = f"reeltalk-canary-{uuid.uuid5(CANARY_NAMESPACE, f'{manifest.content_hash} {version}')}"
        name = title or benchmark.manifest.name
        media = frozenset(benchmark.media.names())
        card = write_card(rows, media, title=name, version=version, canary=canary, notes=notes)
        writer.add_file(CARD, card.encode())
        files = {**manifest.files, CARD: writer.entries[CARD]}
        manifest = manifest.model_copy(update={"release": version, "canary": canary, "files": files})
        (partial / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
        for directory, _, names in os.walk(partial):
            for name in names:
                Path(directory, name).chmod(0o444)
    mark_copied(benchmark.path, folder)
    return Benchmark.open(folder)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    sha256, _ = hash_file(source)
    with open_file(source) as stream, target.open("wb") as copy:
        while block := stream.read(1 << 20):
            copy.write(block)
    if hash_file(target)[0] != sha256:
        raise BenchmarkError(f"{source} changed while it was copied; run the command again")


def write_card(
    content: ReadsTables,
    media: Collection[str],
    *,
    title: str,
    version: str,
    canary: str,
    notes: Sequence[str] = (),
) -> str:
    """The card of a release as Markdown: counts, splits, licence and source of every video, rejected records.

    Args:
        content: Content of the release.
        media: SHA-256 of the video files in the release.
        title: Heading.
        version: Version of the release.
        canary: Unique string by which the release can be found.
        notes: Lines of Markdown before the counts.
    """
    lines = [
        f"# {escape_card(title)} {version}",
        "",
        f"Canary: `{canary}`. Text that holds this string is test data: please keep it out of training corpora.",
        "",
        *notes,
        "## Counts",
        "",
        *markdown_table(("Table", "Rows"), _count_rows(content), numbers=(False, True)),
        "",
        "## Splits",
        "",
        "By source video; no video file is in two splits.",
        "",
        *markdown_table(
            ("Split", "Videos", "Chains", "Dialogues", "Turns"),
            _split_rows(content),
            numbers=(False, True, True, True, True),
        ),
        "",
        "## Licence and source",
        "",
        *markdown_table(
            ("Video", "Licence", "Source", "Media"),
            [_video_row(video, present=video.sha256 in media) for video in content.read(VIDEOS)],
            numbers=[False] * 4,
        ),
        "",
        "## Dropped",
        "",
        *_dropped_rows(content),
    ]
    return "\n".join(lines) + "\n"


def _units(content: ReadsTables) -> Iterator[QAChain | Dialogue]:
    yield from content.read(CHAINS)
    yield from content.read(DIALOGUES)


def _count_rows(content: ReadsTables) -> list[tuple[str, str]]:
    counts = {name: sum(1 for _ in content.read(table)) for name, table in TABLES.items()}
    counts["graphs"] = sum(1 for _ in content.graph_texts())
    counts["turns"] = sum(len(unit.turns) for unit in _units(content))
    return [(name, f"{count:,}") for name, count in counts.items() if count or name == "turns"]


def _split_rows(content: ReadsTables) -> list[tuple[str, ...]]:
    split_of = {video.id: video.split or "none" for video in content.read(VIDEOS)}
    videos = Counter(split_of.values())
    chains, dialogues, turns = Counter[str](), Counter[str](), Counter[str]()
    for unit in _units(content):
        split = split_of.get(unit.video_id, "none")
        (chains if isinstance(unit, QAChain) else dialogues)[split] += 1
        turns[split] += len(unit.turns)
    return [
        (escape_card(split), *(f"{counts[split]:,}" for counts in (videos, chains, dialogues, turns)))
        for split in sorted(videos)
    ]


def _video_row(video: Video, *, present: bool) -> tuple[str, ...]:
    licence, source = video.licence or "not stated", video.source or "not stated"
    media = "in this release" if present else "not included"
    return escape_card(video.id), escape_card(licence), escape_card(source), media


def _dropped_rows(content: ReadsTables) -> list[str]:
    reasons = Counter(rejected.reason for rejected in content.read(REJECTED))
    if not reasons:
        return ["Nothing was dropped."]
    return [
        *(f"- {count:,} × {escape_card(reason)}" for reason, count in reasons.most_common()),
        "",
        *markdown_table(
            ("Table", "Record", "Reason", "Where"),
            [
                (row.table, *map(escape_card, (row.record_id, row.reason, row.place or "")))
                for row in content.read(REJECTED)
            ],
            numbers=[False] * 4,
        ),
    ]

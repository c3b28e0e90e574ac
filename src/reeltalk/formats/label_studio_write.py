"""Tasks for a Label Studio project: drafts as predictions, text for annotators, videos, a config and a README."""

import json
import os
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Final, Literal
from urllib.parse import quote

from reeltalk.errors import InputError, SettingError
from reeltalk.formats.label_studio_layout import (
    KEPT,
    LAYOUT,
    RULER_HZ,
    SCENE,
    SOURCE,
    VIDEO,
    LabelStudioOptions,
    draft_regions,
    labelling_config,
    mark,
)
from reeltalk.formats.layout import as_file_stem
from reeltalk.schema.dialogue import Dialogue, Linkage, QAChain, TurnRef
from reeltalk.schema.gates import GateOutcome
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import Json, Record
from reeltalk.store.content import Content
from reeltalk.store.documents import write_json


def _scenes_in_order(clips: Iterable[Clip]) -> list[Clip]:
    """Each clip once, in the order of time; clips without a time are last."""
    once = list({clip.id: clip for clip in clips}.values())
    return sorted(once, key=lambda clip: (clip.interval is None, clip.interval.start_s if clip.interval else 0.0))


def _title(video_id: str, scenes: Iterable[Clip], units: Iterable[QAChain | Dialogue]) -> str:
    """Heading of a task, one line."""
    where = [
        f"{_clock(clip.interval.start_s)}–{_clock(clip.interval.end_s)} ({clip.id})" if clip.interval else str(clip.id)
        for clip in scenes
    ]
    about = ", ".join(where) or "the whole video"
    return f"{video_id}: {about}; {', '.join(str(unit.id) for unit in units)}"


def _heading(unit: QAChain | Dialogue, index: int, number: int) -> str:
    """Heading of a turn, one line with numbers from 1."""
    kind = "chain" if isinstance(unit, QAChain) else "dialogue"
    asked_at_s = unit.turns[index].asked_at_s
    when = f", asked at {_clock(asked_at_s)}" if asked_at_s is not None else ""
    return f"Turn {number + 1}: question {index + 1} of {len(unit.turns)} of {kind} {unit.id}{when}"


class Remarks:
    """Results of checks and links of each turn, for annotators to read."""

    def __init__(self, content: Content) -> None:
        self._lines: dict[tuple[str, str, int | None], list[str]] = defaultdict(list)
        for gate in content.gates:
            found = "" if gate.outcome == GateOutcome.PASSED else f": {gate.reason or gate.outcome}"
            self._lines[gate.unit, gate.unit_id, gate.turn_index].append(f"Check {gate.gate}: {gate.outcome}{found}")
        for linkage in content.linkages:
            source, target = linkage.source, linkage.target
            to, back = (f"question {end.turn_index + 1} of {end.unit_id}" for end in (target, source))
            self._add(source, f"Leads to {to}: {linkage.relation}")
            self._add(target, f"Rests on {back}: {linkage.relation}")

    def _add(self, ref: TurnRef, line: str) -> None:
        self._lines[ref.unit, ref.unit_id, ref.turn_index].append(line)

    def text(self, unit: QAChain | Dialogue, index: int) -> str:
        """The draft of a turn, its options, its checks and its links, a line each."""
        turn = unit.turns[index]
        lines = [f"Draft question: {turn.question}"]
        lines += [f"Draft answer: {answer}" for answer in turn.references]
        lines += [f"Option {number}: {option}" for number, option in enumerate(turn.options or (), start=1)]
        kind = "chain" if isinstance(unit, QAChain) else "dialogue"
        return "\n".join(lines + self._lines.get((kind, unit.id, index), []))


def _clock(moment_s: float) -> str:
    tenths = round(moment_s * 10)
    minutes, rest = divmod(tenths, 600)
    return f"{minutes}:{rest // 10:02d}.{rest % 10}"


SHOWN: Final = 20


def _readme(tasks: int, turns: int, kept: Mapping[str, int], missing: Sequence[str], media_url: str | None) -> str:
    """The README of the exported folder.

    Args:
        tasks: Number of tasks.
        turns: Number of their turns.
        kept: Number of rows outside tasks, by table.
        missing: Names of video files that tasks refer to and that are not in the folder.
        media_url: Address of the videos; None if they are in the folder.
    """
    lines = [
        "# Tasks for Label Studio",
        "",
        f"{tasks:,} tasks with {turns:,} turns, a draft of each as prediction.",
        "",
    ]
    lines += ["## Load", ""]
    if media_url is None:
        lines += [
            "1. Start the server so that it may serve this folder's videos:",
            "",
            "       export LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true",
            "       export LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT=/path/to/this/folder",
            "       label-studio start",
            "",
            "2. Create a project. Settings, Labeling Interface, Code: paste `config.xml`.",
            "3. Settings, Cloud Storage, Add Source Storage, Local files: the path of `videos` in this folder. Do not",
            "   sync it: a storage that is there is what lets the server give out its files.",
            "4. Import `tasks.json`.",
        ]
    else:
        lines += [
            f"The videos are addressed as `{media_url}NAME`; that server must allow byte ranges and other origins.",
            "",
            "1. Create a project. Settings, Labeling Interface, Code: paste `config.xml`.",
            "2. Import `tasks.json`.",
        ]
    lines += [
        "",
        "Or all of it by API: `POST /api/projects` with `label_config`, then `POST /api/projects/ID/import`.",
        "",
        "## Bring the work back",
        "",
        "Export the project as JSON (or JSON-MIN), put the file into this folder, and run",
        "",
        "    reeltalk import label-studio THIS-FOLDER BENCHMARK",
        "",
    ]
    if kept:
        counts = ", ".join(f"{table} {count:,}" for table, count in kept.items())
        lines += [f"`kept/` has what no task holds: {counts}. Importing the export alone leaves it behind.", ""]
    lines += [
        "A mark on the time line counts ticks of `fps` a second: tick / fps is the moment that was shown, in seconds",
        "of the video, whatever frames the file has. Marks are exact to a tick; others come back unchanged.",
    ]
    if missing:
        lines += [
            "",
            "## Videos to add",
            "",
            "The tasks address these files, which are not here. Put them into `videos`:",
        ]
        lines += ["", *(f"- `{name}`" for name in missing[:SHOWN])]
        lines += [f"- … and {len(missing) - SHOWN:,} more"] if len(missing) > SHOWN else []
    return "\n".join(lines) + "\n"


TASKS: Final = "tasks.json"
CONFIG: Final = "config.xml"
README: Final = "README.md"
VIDEOS: Final = "videos"
GRAPHS: Final = "graphs.jsonl"
LOCAL: Final = "/data/local-files/?d=videos/"
"""Label Studio's route to files below its document root, which is the exported folder."""
MODEL_VERSION: Final = "reeltalk draft"
FASTEST_HZ: Final = 1000.0


@dataclass(frozen=True)
class Unit:
    """A chain or dialogue with its place in its table."""

    table: Literal["chains", "dialogues"]
    row: int
    record: QAChain | Dialogue

    @property
    def clip_ids(self) -> tuple[str, ...]:
        """Its clips."""
        if isinstance(self.record, QAChain):
            return (self.record.clip_id,) if self.record.clip_id else ()
        return self.record.clip_ids


class LabelStudioWriter:
    """Writes one benchmark.

    Args:
        content: The benchmark.
        folder: An empty folder.
        options: The place of the videos.

    Raises:
        SettingError: The address of the videos is not valid.
    """

    def __init__(self, content: Content, folder: Path, options: LabelStudioOptions) -> None:
        prefix = options.media_url
        if prefix is not None and not prefix.startswith(("http://", "https://", "/")):
            raise SettingError(f"--media-url {prefix}: expected an address that begins with https://, http:// or /")
        self.content, self.folder, self.options = content, folder, options
        self.prefix = LOCAL if prefix is None else prefix
        self.videos: dict[str, tuple[int, Video]] = {row.id: (n, row) for n, row in enumerate(content.videos)}
        self.clips: dict[str, tuple[int, Clip]] = {row.id: (n, row) for n, row in enumerate(content.clips)}
        self.linkages: dict[tuple[str, str], list[tuple[int, Linkage]]] = defaultdict(list)
        for number, linkage in enumerate(content.linkages):
            for ref in dict.fromkeys((linkage.source, linkage.target)):
                self.linkages[f"{ref.unit}s", ref.unit_id].append((number, linkage))
        self.remarks = Remarks(content)
        self.held: set[tuple[str, int]] = set()
        """Rows in tasks, by table and place."""

    def write(self) -> list[str]:
        """Write everything; return a line for each thing that cannot be imported again."""
        content = self.content
        if not content.graphs and not content.media and not any(rows for _, rows in content.rows()):
            return ["the benchmark holds nothing that could be written"]
        groups = [(units, self._rows(units)) for units in self._groups()]
        kept = self._write_kept()
        names = self._write_videos()
        tasks = [self._task(units, rows, names, kept) for units, rows in groups]
        (self.folder / TASKS).write_text(write_json(tasks), encoding="utf-8", newline="\n")
        by_task = [[turn for unit in units for turn in unit.record.turns] for units, _ in groups]
        turns = list(chain.from_iterable(by_task))
        config = labelling_config(turns, most=max(map(len, by_task), default=0))
        (self.folder / CONFIG).write_text(config, encoding="utf-8", newline="\n")
        missing = sorted({names[unit.record.video_id] for units, _ in groups for unit in units if self._absent(unit)})
        text = _readme(len(tasks), len(turns), kept, missing, self.options.media_url)
        (self.folder / README).write_text(text, encoding="utf-8", newline="\n")
        return [] if tasks else ["there is no turn to review, so that no task was made"]

    def _absent(self, unit: Unit) -> bool:
        video = self.videos.get(unit.record.video_id)
        return self.options.media_url is None and (
            self.options.videos == "none" or video is None or video[1].sha256 not in self.content.media
        )

    def _groups(self) -> list[list[Unit]]:
        """Dialogues, chains and paths by task: one task for all about the same single clip, else one task each."""
        groups: dict[tuple[str, str], list[Unit]] = defaultdict(list)
        for unit in self._units():
            clips = unit.clip_ids
            one = len(clips) == 1 and clips[0] in self.clips
            groups[("clip", clips[0]) if one else (unit.table, unit.record.id)].append(unit)
        return list(groups.values())

    def _units(self) -> Iterator[Unit]:
        for row, unit in enumerate(self.content.chains):
            if unit.turns:
                yield Unit("chains", row, unit)
        for row, dialogue in enumerate(self.content.dialogues):
            if dialogue.turns:
                yield Unit("dialogues", row, dialogue)

    def _rows(self, units: list[Unit]) -> list[dict[str, Json]]:
        rows: dict[tuple[str, int], Record] = {}
        for unit in units:
            self.held.add((unit.table, unit.row))
            found: list[tuple[str, tuple[int, Record] | None]] = [("videos", self.videos.get(unit.record.video_id))]
            found += [("clips", self.clips.get(clip_id)) for clip_id in unit.clip_ids]
            found += [("linkages", linkage) for linkage in self.linkages[unit.table, unit.record.id]]
            for table, numbered in found:
                if numbered is not None:
                    rows[table, numbered[0]] = numbered[1]
        self.held |= rows.keys()
        return [_row(table, number, record) for (table, number), record in rows.items()]

    def _task(
        self, units: list[Unit], rows: list[dict[str, Json]], names: dict[str, str], kept: dict[str, int]
    ) -> dict[str, Json]:
        video_id = units[0].record.video_id
        video = self.videos[video_id][1] if video_id in self.videos else None
        rate_hz = _rate_hz(video)
        places = [(unit, index, turn) for unit in units for index, turn in enumerate(unit.record.turns)]
        clips = [self.clips[name][1] for unit in units for name in unit.clip_ids if name in self.clips]
        scenes = _scenes_in_order(clips)
        regions = [
            mark(f"scene{place}", SCENE, clip.interval, rate_hz) for place, clip in enumerate(scenes) if clip.interval
        ]
        for number, (_, _, turn) in enumerate(places):
            regions += draft_regions(turn, number, rate_hz)
        source = {
            "layout": LAYOUT,
            "units": [_row(unit.table, unit.row, unit.record) for unit in units],
            "rows": rows,
            "rate_hz": rate_hz,
            "kept": kept,
        }
        data = {
            VIDEO: self.prefix + quote(names[video_id]),
            "fps": rate_hz,
            "title": _title(video_id, scenes, [unit.record for unit in units]),
            "turns": [
                {
                    "heading": _heading(unit.record, index, number),
                    "text": self.remarks.text(unit.record, index),
                }
                for number, (unit, index, _) in enumerate(places)
            ],
            SOURCE: source,
        }
        return {"data": data, "predictions": [{"model_version": MODEL_VERSION, "result": regions}]}

    def _write_kept(self) -> dict[str, int]:
        """Write the rows that are in no task; return their number by table."""
        kept: dict[str, int] = {}
        for table, records in self.content.rows():
            rest = [(number, row) for number, row in enumerate(records) if (table, number) not in self.held]
            if rest:
                lines = [_line(_row(table, number, record)) for number, record in rest]
                _write_lines(self.folder / KEPT / f"{table}.jsonl", lines)
                kept[table] = len(rest)
        if self.content.graphs:
            lines = [_line({"name": name, "quads": quads}) for name, quads in self.content.graphs.items()]
            _write_lines(self.folder / KEPT / GRAPHS, lines)
            kept["graphs"] = len(self.content.graphs)
        return kept

    def _write_videos(self) -> dict[str, str]:
        """Copy or link the videos; return the name of each file by the identifier of its video."""
        endings: dict[str, str] = {}
        taken: set[str] = set()
        names: dict[str, str] = {}
        owners: list[QAChain | Dialogue] = [*self.content.chains, *self.content.dialogues]
        for video_id in dict.fromkeys([*self.videos, *(unit.video_id for unit in owners)]):
            video = self.videos[video_id][1] if video_id in self.videos else None
            file = (video.file if video else None) or str(video_id)
            suffix = PurePosixPath(file).suffix
            ending = suffix if suffix[1:].isalnum() and suffix.isascii() and len(suffix) < 7 else ".mp4"
            if self.options.media_url is not None and self.options.videos == "none":
                # The videos are on another server, under their names in the source.
                names[video_id] = file
            elif video is not None and video.sha256 in self.content.media:
                endings.setdefault(video.sha256 or "", ending)
                names[video_id] = f"{video.sha256}{endings[video.sha256 or '']}"
            else:
                wanted = as_file_stem(file, otherwise="video") + ("" if suffix == ending else ending)
                names[video_id] = wanted if wanted not in taken else f"{len(names)}-{wanted}"
                taken.add(names[video_id])
        if self.options.videos != "none":
            for sha256, path in self.content.media.items():
                self._bring(path, self.folder / VIDEOS / f"{sha256}{endings.get(sha256, '.mp4')}")
        return names

    def _bring(self, source: Path, target: Path) -> None:
        target.parent.mkdir(exist_ok=True)
        try:
            if self.options.videos == "link":
                try:
                    os.link(source, target)
                except OSError:  # another file system, or one without links
                    shutil.copyfile(source, target)
            else:
                shutil.copyfile(source, target)
        except OSError as error:
            raise InputError(f"cannot be copied: {error.strerror}", file=source) from None


def _rate_hz(video: Video | None) -> float:
    rate_hz = float(video.frame_rate) if video is not None and video.frame_rate else RULER_HZ
    # A rate below 1 is read by Label Studio as seconds per frame.
    return rate_hz if 1 <= rate_hz <= FASTEST_HZ else RULER_HZ


def _row(table: str, row: int, record: Record) -> dict[str, Json]:
    return {"table": table, "row": row, "record": json.loads(record.to_json())}


def _line(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(lines)

"""Check invariants across tables, and accept benchmarks and runs that were edited by hand.

Each finding names the rows that break an invariant.
"""

import hashlib
import json
import re
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from reeltalk._version import __version__
from reeltalk.errors import BenchmarkError, BrokenInvariantError, ReeltalkError
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, QAChain, Turn, TurnRef
from reeltalk.schema.gates import GONE, GateResult
from reeltalk.schema.labels import unknown_labels
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.overview import HasOverview, Overview
from reeltalk.schema.record import Json, Record
from reeltalk.schema.runs import CurvePoint, RunInfo, SummaryRow
from reeltalk.schema.scoring import JudgedScore
from reeltalk.schema.speech import Utterance
from reeltalk.schema.stream import Moment, ProactiveTask
from reeltalk.schema.texts import MAY_BE_REFUSED, control_refusal, text_problem, texts_of, twins
from reeltalk.store.atomic import PARTIAL_PREFIX
from reeltalk.store.benchmark import COMMIT, HIDDEN, LOCK, WORK, Benchmark
from reeltalk.store.content import ReadsTables
from reeltalk.store.documents import parse, read_document
from reeltalk.store.foreign import escape_path, foreign_entries, open_file, path_inside
from reeltalk.store.manifest import (
    HASH_BLOCK_BYTES,
    MANIFEST,
    MEDIA,
    REMOTE,
    FileEntry,
    Origin,
    Part,
    hash_file,
    read_manifest,
)
from reeltalk.store.runs import (
    CURVES,
    FILES,
    INFO,
    SUMMARY,
    Run,
    check_run_folder,
    lock_run,
    write_summary,
)
from reeltalk.store.tables import (
    ANSWERS,
    CHAINS,
    CLIPS,
    DIALOGUES,
    ENTITIES,
    EVENTS,
    FACTS,
    GATES,
    IDENTITY_CHANGES,
    KNOWN_BOXES,
    LINKAGES,
    PATHS,
    PROACTIVE,
    REWRITES,
    SCENES,
    SCORES,
    SIGHTINGS,
    SPEECH,
    TABLES,
    VIDEOS,
    Table,
    read_rows,
)

EDITED: Final = "its content differs from the hash in the manifest: it was edited or damaged"
TOLERANCE_S: Final = 0.05
"""A container's duration and its last presentation time differ by up to a frame."""


@dataclass(frozen=True)
class Finding:
    """One broken invariant."""

    severity: Literal["error", "warning"]
    where: str
    """`table:row`, or a file of the benchmark."""
    problem: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.where}: {self.problem}"


class Findings(HasOverview, list[Finding]):
    """All findings of a check."""

    def overview(self) -> Overview:
        """The errors, then the warnings."""
        errors = sum(finding.severity == "error" for finding in self)
        title = f"{errors:,} errors, {len(self) - errors:,} warnings" if self else "nothing found"
        ordered = sorted(self, key=lambda finding: finding.severity != "error")
        rows = tuple(
            (finding.severity, str(finding).removeprefix(finding.severity).lstrip(": ")) for finding in ordered
        )
        return Overview(title, ("severity", "finding") if rows else (), rows)


def validate(benchmark: Benchmark, *, media: bool = True) -> Findings:
    """All problems of a benchmark, with problems of files first.

    This reads and hashes every file of the benchmark; media only if `media` is true. Tables that a person put into the
    folder are checked too, before `accept` makes them part of it.
    """
    findings = Findings(_files(benchmark))
    listed = benchmark.manifest.files | _new_tables(benchmark)
    benchmark = Benchmark(benchmark.path, benchmark.manifest.model_copy(update={"files": listed}), as_it_is=True)
    if media:
        findings += [damage for sha256 in benchmark.media.names() if (damage := damage_of(benchmark, sha256))]
    try:
        findings += list(check_content(benchmark))
    except (ReeltalkError, UnicodeDecodeError, OSError) as error:
        findings.append(Finding("error", str(benchmark.path), str(error)))
    return findings


def damage_of(benchmark: Benchmark, sha256: str) -> Finding | None:
    """The problem of a media file, if its content does not have the hash in its name."""
    name = f"{MEDIA}/{sha256}"
    try:
        found, _ = hash_file(path_inside(benchmark.path, name))
    except ReeltalkError as error:
        return Finding("error", name, str(error))
    except OSError as error:
        return Finding("error", name, f"it cannot be read: {error.strerror}")
    if found == sha256:
        return None
    return Finding("error", name, "its content does not have the hash that it is named by")


def check_content(content: ReadsTables) -> Iterator[Finding]:
    """Check the invariants among records, on disk or in memory.

    Tables are read row by row, twice. What is kept of a unit are its names and its number of turns.
    """
    characters: list[Finding] = []
    twice: list[Finding] = []
    outlines = _Outlines()
    for table in TABLES.values():
        keys = _Keys(table)
        for index, row in enumerate(content.read(table)):
            characters += _row_characters(table, index, row)
            keys.add(row)
            outlines.add(row)
        twice += keys.findings(content)
    yield from characters
    yield from _graph_characters(content, list(outlines.videos), list(outlines.clips))
    yield from twice
    for found in outlines.identical():
        ids = ", ".join(found.examples[:3]) + (", …" if len(found.examples) > 3 else "")
        yield Finding("warning", found.kind, f"{found}, as {ids}; a writer that looks at the clips does not write so")
    yield from _Relations(content, outlines).findings()


MOST_IDENTICAL: Final = 0.1
"""Largest share of identical chains, or dialogues, that is no finding. Of VDAct's 450 dialogues, and of the chains and
dialogues of the household, none are identical."""
FEWEST_ANSWER_WORDS: Final = 8
"""With fewer words in all its answers together, a chain may say the same as another one by chance, as yes and no."""
_WORD: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")
"""A word; of Chinese, Japanese and Korean a character."""


@dataclass(frozen=True)
class IdenticalUnits:
    """Chains, or dialogues, with the questions and answers of another one, word for word."""

    kind: Literal["chains", "dialogues"]
    same: int
    """How many there are."""
    of: int
    """Number of all chains or dialogues."""
    examples: tuple[str, ...]
    """Identifiers of the largest group that is identical."""

    def __str__(self) -> str:
        return f"{self.same:,} of {self.of:,} {self.kind} have the questions and answers of another one, word for word"


def identical_units(
    chains: Iterable[QAChain], dialogues: Iterable[Dialogue], videos: Iterable[Video] = ()
) -> Iterator[IdenticalUnits]:
    """Find chains and dialogues that say the same about different clips or videos, if they are many.

    A model that does not look at its clips writes so. Those about videos that look alike, or are one file, may say the
    same.

    Args:
        chains: All chains.
        dialogues: All dialogues.
        videos: The videos.
    """
    alike: dict[str, str] = {video.id: _looks(video) for video in videos}
    for kind, units in (("chains", chains), ("dialogues", dialogues)):
        said = _SaidBy("chains" if kind == "chains" else "dialogues")
        for unit in units:
            said.add(unit)
        yield from said.identical(alike)


def _looks(video: Video) -> str:
    return video.lookalikes or video.sha256 or video.id


class _SaidBy:
    """Units by a hash of what they say."""

    def __init__(self, kind: Literal["chains", "dialogues"]) -> None:
        self._kind, self._count = kind, 0
        self._groups: dict[bytes, list[tuple[str, str]]] = {}
        """Identifier and video of each unit."""

    def add(self, unit: QAChain | Dialogue) -> None:
        self._count += 1
        if (said := _said(unit)) is not None:
            digest = hashlib.blake2b("\n".join(said).encode(), digest_size=16).digest()
            self._groups.setdefault(digest, []).append((unit.id, unit.video_id))

    def identical(self, alike: Mapping[str, str]) -> Iterator[IdenticalUnits]:
        found = [group for group in self._groups.values() if len(group) > 1 and _apart(group, alike) > 1]
        same = sum(map(len, found))
        if same > MOST_IDENTICAL * self._count:
            examples = tuple(unit_id for unit_id, _ in max(found, key=len))
            yield IdenticalUnits(self._kind, same, self._count, examples)


def _said(unit: QAChain | Dialogue) -> tuple[str, ...] | None:
    """The words of its questions and answers; None if they are too few to compare."""
    answers = [_WORD.findall(turn.references[0].casefold()) if turn.references else [] for turn in unit.turns]
    if len(unit.turns) < 2 or sum(map(len, answers)) < FEWEST_ANSWER_WORDS:
        return None
    questions = (_WORD.findall(turn.question.casefold()) for turn in unit.turns)
    return tuple(" ".join(words) for pair in zip(questions, answers, strict=True) for words in pair)


def _apart(units: Sequence[tuple[str, str]], alike: Mapping[str, str]) -> int:
    """Number of units without those about a copy of a video that another one is about."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for _, video_id in units:
        counted[alike.get(video_id, video_id)][video_id] += 1
    return sum(max(of_video.values()) for of_video in counted.values())


def check_characters(content: ReadsTables) -> Iterator[Finding]:
    """Find texts with forbidden characters, and names of videos, clips and graphs that look alike."""
    for table in TABLES.values():
        for index, row in enumerate(content.read(table)):
            yield from _row_characters(table, index, row)
    videos = [video.id for video in content.read(VIDEOS)]
    clips = [clip.id for clip in content.read(CLIPS)]
    yield from _graph_characters(content, videos, clips)


def _row_characters(table: Table[Any], index: int, row: Record) -> Iterator[Finding]:
    line = row.to_json()
    # Most rows contain none, so they need no further check.
    if MAY_BE_REFUSED.search(line):
        yield from _characters(f"{table.name}:{index}", json.loads(line), own=table is GATES)


def _graph_characters(content: ReadsTables, videos: Sequence[str], clips: Sequence[str]) -> Iterator[Finding]:
    graphs: list[str] = []
    for name, quads in content.graph_texts():
        yield from _characters(f"graphs/{name}", quads)
        graphs.append(name)
    for table, names in (("videos", videos), ("clips", clips), ("graphs", graphs)):
        for one, *others in twins(names):
            told = ", ".join(repr(other) for other in others)
            yield Finding("error", f"{table}:{one}", f"differs only in case or in invisible characters from {told}")


def _characters(where: str, value: Json, *, own: bool = False) -> Iterator[Finding]:
    for place, text in texts_of(value):
        if found := text_problem(text):
            # Results of checks keep a model's words as they came.
            is_error = found[0] and not (own and control_refusal(text) is None)
            yield Finding("error" if is_error else "warning", f"{where}{place}", found[1])


def _files(benchmark: Benchmark) -> Iterator[Finding]:
    foreign = dict(foreign_entries(benchmark.path, HIDDEN))
    for name, problem in foreign.items():
        yield Finding("error", name, f"it {problem}; put a copy in its place if you trust it, or delete it")
    for table, entry in benchmark.manifest.files.items():
        whole, is_whole = hashlib.sha256(), bool(entry.parts)
        for name, file in entry.stored(table).items():
            if name in foreign or name.split("/")[0] in foreign:
                is_whole = False
                continue
            differs = _problem_of(benchmark.path / name, file.sha256, [whole] if entry.parts else [])
            if differs is not None:
                is_whole = False
                yield Finding("error", name, differs)
        if is_whole and whole.hexdigest() != entry.sha256:
            yield Finding("error", table, "its hash in the manifest is not that of its parts together")
    media = (f"{MEDIA}/{sha256}" for sha256 in benchmark.media.names())
    known = {*benchmark.manifest.stored(), MANIFEST, LOCK, REMOTE, *media, *foreign}
    for path in sorted(benchmark.path.rglob("*")):
        name = escape_path(path.relative_to(benchmark.path))
        if (path.is_dir() and not path.is_symlink()) or name in known or name.split("/")[0] in (COMMIT, WORK):
            continue
        if not path.name.startswith(PARTIAL_PREFIX) and PARTIAL_PREFIX not in name:
            is_table = name in {table.file_name for table in TABLES.values()}
            way_on = "; 'reeltalk validate --accept' adds it" if is_table else ""
            yield Finding("warning", name, f"not listed in the manifest, so not part of the benchmark{way_on}")


def _problem_of(path: Path, sha256: str, also: Sequence["hashlib._Hash"]) -> str | None:
    """Why a file is not the one that the manifest lists; None if it is. `also` takes in its content."""
    if not path.is_file():
        return "listed in the manifest but missing"
    try:
        return None if _read_part(path, also).sha256 == sha256 else EDITED
    except OSError as error:
        return f"it cannot be read: {error.strerror}"


class _Keys:
    """Finds identifiers that stand several times in a table; keeps eight bytes of each."""

    def __init__(self, table: Table[Any]) -> None:
        self._table = table
        self._hashes = array("Q")

    def add(self, row: Record) -> None:
        if self._table.key is not None:
            self._hashes.append(self._hash(self._table.key(row)))

    def findings(self, content: ReadsTables) -> Iterator[Finding]:
        ordered = np.sort(np.frombuffer(self._hashes, dtype=np.uint64))
        doubtful = set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
        if not doubtful or self._table.key is None:
            return
        keys = map(self._table.key, content.read(self._table))
        for value, count in Counter(key for key in keys if self._hash(key) in doubtful).items():
            if count > 1:
                where = f"{self._table.name}:{value}"
                yield Finding("error", where, f"stands {count} times; identifiers are unique in a table")

    @staticmethod
    def _hash(key: str) -> int:
        return int.from_bytes(hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


class _VideoOutline(NamedTuple):
    id: str
    duration_s: float | None
    split: str | None
    sha256: str | None
    lookalikes: str | None


class _ClipOutline(NamedTuple):
    video_id: str
    start_s: float | None


class _UnitOutline(NamedTuple):
    """A chain or dialogue."""

    id: str
    video_id: str
    turns: int
    clip_id: str | None = None
    place: int = 0
    """Place of a chain in its table. Chains without times are ordered as the table has them."""


class _Outlines:
    """What relations between records need to know of them."""

    def __init__(self) -> None:
        self.videos: dict[str, _VideoOutline] = {}
        self.clips: dict[str, _ClipOutline] = {}
        self.chains: dict[str, _UnitOutline] = {}
        self.dialogues: dict[str, _UnitOutline] = {}
        self.steps: dict[str, int] = {}
        """Number of steps of each path."""
        self.alike: dict[str, str] = {}
        self._said: dict[type[Record], _SaidBy] = {QAChain: _SaidBy("chains"), Dialogue: _SaidBy("dialogues")}

    def add(self, row: Record) -> None:
        if isinstance(row, Video):
            self.videos[row.id] = _VideoOutline(row.id, row.duration_s, row.split, row.sha256, row.lookalikes)
            self.alike[row.id] = _looks(row)
        elif isinstance(row, Clip):
            start_s = row.interval.start_s if row.interval else None
            self.clips[row.id] = _ClipOutline(self._name(row.video_id), start_s)
        elif isinstance(row, QAChain):
            video_id, place = self._name(row.video_id), len(self.chains)
            self.chains[row.id] = _UnitOutline(row.id, video_id, len(row.turns), row.clip_id, place)
        elif isinstance(row, Dialogue):
            self.dialogues[row.id] = _UnitOutline(row.id, self._name(row.video_id), len(row.turns))
        elif isinstance(row, DialoguePath):
            self.steps[row.id] = len(row.steps)
        if isinstance(row, QAChain | Dialogue):
            self._said[type(row)].add(row)

    def identical(self) -> Iterator[IdenticalUnits]:
        for said in self._said.values():
            yield from said.identical(self.alike)

    def _name(self, video_id: str) -> str:
        """One string for all units of a video."""
        video = self.videos.get(video_id)
        return video_id if video is None else video.id


class _Relations:
    """Checks of references between records, and of times that they imply."""

    def __init__(self, content: ReadsTables, outlines: _Outlines) -> None:
        self.content = content
        self.videos, self.clips = outlines.videos, outlines.clips
        self.chains, self.dialogues, self.steps = outlines.chains, outlines.dialogues, outlines.steps

    def findings(self) -> Iterator[Finding]:
        yield from self._splits()
        for clip in self.content.read(CLIPS):
            yield from self._clip(clip)
        for index, utterance in enumerate(self.content.read(SPEECH)):
            yield from self._utterance(f"speech:{index}", utterance)
        for chain in self.content.read(CHAINS):
            yield from self._unit("chains", chain.id, chain.video_id, (chain.clip_id,) if chain.clip_id else ())
            yield from self._turns("chains", chain.id, chain.video_id, chain.turns)
        for dialogue in self.content.read(DIALOGUES):
            yield from self._unit("dialogues", dialogue.id, dialogue.video_id, dialogue.clip_ids)
            yield from self._turns("dialogues", dialogue.id, dialogue.video_id, dialogue.turns)
        for task in self.content.read(PROACTIVE):
            yield from self._task(task)
        for index, linkage in enumerate(self.content.read(LINKAGES)):
            yield from self._linkage(f"linkages:{index}", linkage)
        for rewrite in self.content.read(REWRITES):
            yield from self._linkage(f"rewrites:{rewrite.id}", rewrite.linkage)
        for scene in self.content.read(SCENES):
            yield from self._unit("scenes", scene.id, scene.video_id, scene.clip_ids)
        for path in self.content.read(PATHS):
            yield from self._path(path)
        for index, gate in enumerate(self.content.read(GATES)):
            yield from self._gate(index, gate)
        for answer in self.content.read(ANSWERS):
            yield from self._answer(answer)
        for score in self.content.read(SCORES):
            yield from self._score(score)
        yield from self._knowledge()

    def _splits(self) -> Iterator[Finding]:
        alike: dict[tuple[str, str], list[_VideoOutline]] = defaultdict(list)
        for video in self.videos.values():
            if video.sha256:
                alike["one file", video.sha256].append(video)
            if video.lookalikes:
                alike["videos that look alike", video.lookalikes].append(video)
        for (what, _), same in alike.items():
            splits = sorted({video.split or "no split" for video in same})
            where, ids = f"videos:{same[0].id}", ", ".join(video.id for video in same)
            if len(splits) > 1:
                yield Finding("error", where, f"{what} ({ids}): in several splits, {splits}")
            elif len(same) > 1 and what == "one file":
                yield Finding("warning", where, f"several videos are the same file: {ids}")

    def _clip(self, clip: Clip) -> Iterator[Finding]:
        where = f"clips:{clip.id}"
        video = self.videos.get(clip.video_id)
        if video is None:
            yield Finding("error", where, f"belongs to video '{clip.video_id}', which the benchmark does not have")
        elif clip.interval and video.duration_s is not None and clip.interval.end_s > video.duration_s + TOLERANCE_S:
            yield Finding(
                "error",
                where,
                f"ends at {clip.interval.end_s:g} s but video '{video.id}' lasts {video.duration_s:g} s",
            )

    def _utterance(self, where: str, utterance: Utterance) -> Iterator[Finding]:
        video = self.videos.get(utterance.video_id)
        if video is None:
            yield Finding("error", where, f"belongs to video '{utterance.video_id}', which the benchmark does not have")
        elif video.duration_s is not None and utterance.interval.end_s > video.duration_s + TOLERANCE_S:
            yield Finding(
                "error",
                where,
                f"ends at {utterance.interval.end_s:g} s but video '{video.id}' lasts {video.duration_s:g} s",
            )

    def _unit(self, table: str, unit_id: str, video_id: str, clip_ids: Iterable[str]) -> Iterator[Finding]:
        where = f"{table}:{unit_id}"
        if video_id not in self.videos:
            yield Finding("error", where, f"belongs to video '{video_id}', which the benchmark does not have")
        for clip_id in clip_ids:
            clip = self.clips.get(clip_id)
            if clip is None:
                yield Finding("error", where, f"refers to clip '{clip_id}', which the benchmark does not have")
            elif clip.video_id != video_id:
                yield Finding(
                    "error", where, f"is about video '{video_id}' but clip '{clip_id}' is of '{clip.video_id}'"
                )

    def _turns(self, table: str, unit_id: str, video_id: str, turns: tuple[Turn, ...]) -> Iterator[Finding]:
        video = self.videos.get(video_id)
        duration_s = video.duration_s if video else None
        for index, turn in enumerate(turns):
            where = f"{table}:{unit_id}.turns[{index}]"
            if duration_s is not None:
                for interval in turn.evidence:
                    if interval.end_s > duration_s + TOLERANCE_S:
                        yield Finding(
                            "error", where, f"evidence ends at {interval.end_s:g} s; the video lasts {duration_s:g} s"
                        )
                if turn.asked_at_s is not None and turn.asked_at_s > duration_s + TOLERANCE_S:
                    yield Finding("error", where, f"asked at {turn.asked_at_s:g} s; the video lasts {duration_s:g} s")
            for vocabulary, label in unknown_labels(turn.labels):
                yield Finding("warning", where, f"label '{label}' is not among the known ones of {vocabulary}")

    def _task(self, task: ProactiveTask) -> Iterator[Finding]:
        where = f"proactive:{task.id}"
        video = self.videos.get(task.video_id)
        if video is None:
            yield Finding("error", where, f"belongs to video '{task.video_id}', which the benchmark does not have")
        elif video.duration_s is not None and task.until_s > video.duration_s + TOLERANCE_S:
            yield Finding("error", where, f"goes on until {task.until_s:g} s; the video lasts {video.duration_s:g} s")
        for place, request in enumerate(task.requests):
            said = f"{where}.requests[{place}]"
            if request.at_s > task.until_s + TOLERANCE_S:
                yield Finding("error", said, f"is said at {request.at_s:g} s; the stream ends at {task.until_s:g} s")
            for name, moments in (("moments", request.moments), ("quiet", request.quiet)):
                before_s = request.at_s
                for index, moment in enumerate(moments):
                    yield from self._due(moment, f"{said}.{name}[{index}]", before_s, task.until_s)
                    before_s = max(before_s, moment.interval.start_s)

    @staticmethod
    def _due(moment: Moment, where: str, before_s: float, until_s: float) -> Iterator[Finding]:
        start_s, end_s = moment.interval.start_s, moment.interval.end_s
        if start_s < before_s:
            yield Finding("error", where, f"begins at {start_s:g} s, before {before_s:g} s")
        if end_s > until_s + TOLERANCE_S:
            yield Finding("error", where, f"ends at {end_s:g} s; the stream ends at {until_s:g} s")
        if not moment.references:
            yield Finding("error", where, "has no reference for a reply")

    def _resolve(self, ref: TurnRef) -> _UnitOutline | None:
        """The chain or dialogue of a turn; None if there is no such turn."""
        unit = self.chains.get(ref.unit_id) if ref.unit == "chain" else self.dialogues.get(ref.unit_id)
        return None if unit is None or ref.turn_index >= unit.turns else unit

    def _moment(self, ref: TurnRef) -> tuple[float, int] | None:
        """Start time of a turn's chain, and its place in the table; None for dialogues, which have no order."""
        chain = self.chains.get(ref.unit_id) if ref.unit == "chain" else None
        if chain is None:
            return None
        clip = self.clips.get(chain.clip_id) if chain.clip_id else None
        start_s = clip.start_s if clip and clip.start_s is not None else -1.0
        return start_s, chain.place

    def _steps_back(self, earlier: TurnRef, later: TurnRef) -> bool:
        if earlier.unit == later.unit and earlier.unit_id == later.unit_id:
            return later.turn_index <= earlier.turn_index
        before, after = self._moment(earlier), self._moment(later)
        if before is None or after is None:
            return False
        if before[0] >= 0 and after[0] >= 0:
            return after[0] < before[0]
        return after[1] < before[1]

    def _linkage(self, where: str, linkage: Linkage) -> Iterator[Finding]:
        for end, ref in (("source", linkage.source), ("target", linkage.target)):
            if self._resolve(ref) is None:
                yield Finding(
                    "error",
                    where,
                    f"its {end} is turn {ref.turn_index} of {ref.unit} '{ref.unit_id}', which is not there",
                )
        if self._steps_back(linkage.source, linkage.target):
            yield Finding(
                "error",
                where,
                f"leads back in time, from '{linkage.source.unit_id}' to '{linkage.target.unit_id}'",
            )

    def _path(self, path: DialoguePath) -> Iterator[Finding]:
        if path.video_id not in self.videos:
            yield Finding("error", f"paths:{path.id}", f"belongs to video '{path.video_id}', which is not there")
        for index, step in enumerate(path.steps):
            where = f"paths:{path.id}.steps[{index}]"
            found = self._resolve(step.ref)
            if found is None:
                yield Finding(
                    "error", where, f"turn {step.ref.turn_index} of {step.ref.unit} '{step.ref.unit_id}' is not there"
                )
            elif found.video_id != path.video_id:
                yield Finding("error", where, f"leaves video '{path.video_id}' for '{found.video_id}'")
            if index and self._steps_back(path.steps[index - 1].ref, step.ref):
                yield Finding("error", where, "steps back in time")

    def _unit_turns(self, unit: str, unit_id: str) -> int | None:
        found: _UnitOutline | None = None
        if unit == "path":
            return self.steps.get(unit_id)
        if unit in ("dialogue", "turn"):
            found = self.dialogues.get(unit_id)
        if unit == "chain" or (unit == "turn" and found is None):
            found = self.chains.get(unit_id)
        return found.turns if found else None

    def _gate(self, index: int, gate: GateResult) -> Iterator[Finding]:
        # A dialogue, chain or path that was dropped or never written is not in its table.
        if gate.outcome in GONE or gate.unit not in ("chain", "dialogue"):
            return
        turns = self._unit_turns(gate.unit, gate.unit_id)
        if turns is None:
            yield Finding("error", f"gates:{index}", f"is about {gate.unit} '{gate.unit_id}', which is not there")
        elif gate.turn_index is not None and gate.turn_index >= turns:
            yield Finding("error", f"gates:{index}", f"is about turn {gate.turn_index} of {turns} turns")

    def _answer(self, answer: Answer) -> Iterator[Finding]:
        where = f"answers:{answer.model}/{answer.unit_id}[{answer.turn_index}]"
        turns = self._unit_turns(answer.unit, answer.unit_id)
        if turns is None:
            yield Finding(
                "error", where, f"answers {answer.unit} '{answer.unit_id}', which the benchmark does not have"
            )
        elif answer.turn_index >= turns:
            yield Finding("error", where, f"answers turn {answer.turn_index} of a {answer.unit} of {turns} turns")

    def _score(self, score: JudgedScore) -> Iterator[Finding]:
        where = f"scores:{score.model}/{score.unit_id}/{score.criterion}"
        turns = self._unit_turns(score.unit, score.unit_id)
        if turns is None:
            yield Finding("error", where, f"scores {score.unit} '{score.unit_id}', which the benchmark does not have")
        elif score.turn_index is not None and score.turn_index >= turns:
            yield Finding("error", where, f"scores turn {score.turn_index} of a {score.unit} of {turns} turns")

    def _knowledge(self) -> Iterator[Finding]:
        owned: tuple[Table[Any], ...] = (ENTITIES, EVENTS, FACTS, KNOWN_BOXES, SIGHTINGS, IDENTITY_CHANGES)
        for table in owned:
            for index, row in enumerate(self.content.read(table)):
                if row.video_id not in self.videos:
                    where = f"{table.name}:{index}"
                    yield Finding("error", where, f"belongs to video '{row.video_id}', which is not there")


EDITED_BY_HAND: Final = "edited by hand"
"""Stage in the origin of files that a person edited."""
EDITED_PART: Final = f"|edited:{EDITED_BY_HAND.removeprefix('edited ')}"
"""Last part of the signatures of a run that a person edited."""


def accept(path: Path | str) -> list[str]:
    """Write a new revision of a benchmark, whose manifest lists the current content of edited files and of new tables.

    Args:
        path: The benchmark.

    Returns:
        Names of the edited files and new tables, in order. If there are none, nothing is written.

    Raises:
        FrozenError: It is a release.
        BrokenInvariantError: Its records, as they are now, contradict each other or cannot be read; names the first.
        BenchmarkError: A file is missing or reached through a link, or the benchmark cannot be written.
    """
    benchmark = Benchmark.open(path)
    benchmark.check_changeable()
    with benchmark.revising() as commit:
        benchmark.manifest = read_manifest(benchmark.path)
        edited = _edited(benchmark)
        if edited:
            manifest = benchmark.manifest.model_copy(update={"files": benchmark.manifest.files | edited})
            revised = Benchmark(benchmark.path, manifest)
            _refuse_errors(revised)
            for name in edited:
                if (table := TABLES.get(Path(name).stem)) is not None and table.file_name == name:
                    edited[name] = replace(edited[name], rows=sum(1 for _ in revised.read(table)))
            commit(manifest.model_copy(update={"files": manifest.files | edited}))
    return sorted(edited)


def accept_run(path: Path | str) -> list[str]:
    """Update the hashes of a run's edited tables, and mark the signatures of its numbers as edited.

    Numbers are not computed again.

    Args:
        path: The run.

    Returns:
        Names of the edited tables, in order. If there are none, nothing is written.

    Raises:
        BenchmarkError: It is not a complete run, a table is missing, or it cannot be written.
        InputError: A table cannot be read; names the place.
    """
    path = Path(path)
    check_run_folder(path)
    with lock_run(path):
        files = parse(dict[str, str], read_document(path, FILES), file=path / FILES) if (path / FILES).is_file() else {}
        edited = sorted(name for name, sha256 in files.items() if _hash(path_inside(path, name)) != sha256)
        if edited:
            info = parse(RunInfo, read_document(path, INFO), file=path / INFO)
            summary = parse(list[SummaryRow], read_document(path, SUMMARY), file=path / SUMMARY)
            run = Run(path, info, summary, list(read_rows(path / CURVES, CurvePoint)))
            run.groups()
            tables: tuple[Sequence[Record], ...] = (run.answers(), run.item_scores(), *map(run.judged, run.protocols()))
            for table in tables:
                deque(table, maxlen=0)
            signed = (f"{row.signature.removesuffix(EDITED_PART)}{EDITED_PART}" for row in summary)
            marked = [row.model_copy(update={"signature": mark}) for row, mark in zip(summary, signed, strict=True)]
            write_summary(path, info, marked, set(files) - {INFO, SUMMARY})
    return edited


def _hash(path: Path) -> str:
    try:
        return hash_file(path)[0]
    except OSError as error:
        raise BenchmarkError(f"cannot read {path}: {error.strerror}; copy the run again, or make it again") from None


def _new_tables(benchmark: Benchmark) -> dict[str, FileEntry]:
    """Entries of tables that are in the folder and not in the manifest, because a person wrote them."""
    found = {}
    for table in TABLES.values():
        path = benchmark.path / table.file_name
        if table.file_name not in benchmark.manifest.files and path.is_file() and not path.is_symlink():
            sha256, size_bytes = hash_file(path)
            origin = Origin(stage=EDITED_BY_HAND, version=__version__)
            found[table.file_name] = FileEntry(sha256=sha256, size_bytes=size_bytes, origin=origin)
    return found


def _edited(benchmark: Benchmark) -> dict[str, FileEntry]:
    """New entries of files whose content differs from the manifest, and of new tables."""
    found = _new_tables(benchmark)
    for name, entry in benchmark.manifest.files.items():
        # Keep the settings, since they made the rest of the file.
        parents = {name: entry.sha256}
        origin = Origin(stage=EDITED_BY_HAND, version=__version__, settings=entry.settings, parents=parents)
        whole, parts = hashlib.sha256(), list[Part]()
        for stored, file in entry.stored(name).items():
            path = path_inside(benchmark.path, stored)
            if not path.is_file():
                raise BenchmarkError(f"{path} is missing; copy it again from its source, or make it again")
            part = _read_part(path, [whole])
            # Nobody has said which videos the rows of an edited part are about.
            parts.append(file if isinstance(file, Part) and file.sha256 == part.sha256 else part)
        if whole.hexdigest() != entry.sha256:
            found[name] = FileEntry(
                sha256=whole.hexdigest(),
                size_bytes=sum(part.size_bytes for part in parts),
                rows=sum(part.rows for part in parts) if entry.parts else None,
                parts=tuple(parts) if entry.parts else (),
                origin=origin,
            )
    return found


def _read_part(path: Path, also: Sequence["hashlib._Hash"]) -> Part:
    """Hash, size and number of lines of a file; `also` takes in its content."""
    digest, lines, size_bytes, ended = hashlib.sha256(), 0, 0, True
    with open_file(path) as stream:
        while block := stream.read(HASH_BLOCK_BYTES):
            for one in (digest, *also):
                one.update(block)
            lines, size_bytes, ended = lines + block.count(b"\n"), size_bytes + len(block), block.endswith(b"\n")
    return Part(sha256=digest.hexdigest(), size_bytes=size_bytes, rows=lines + (not ended))


def _refuse_errors(benchmark: Benchmark) -> None:
    errors = [finding for finding in validate(benchmark) if finding.severity == "error"]
    if errors:
        more = f" and {len(errors) - 1:,} more" if len(errors) > 1 else ""
        raise BrokenInvariantError(
            f"{benchmark.path} has errors, so it is not accepted: {errors[0].where}: {errors[0].problem}"
            f"{more}; 'reeltalk validate {benchmark.path}' lists them"
        )

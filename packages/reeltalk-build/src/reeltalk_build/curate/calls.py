"""The calls of child processes in a curation, with a journal of their results.

The journal has one file for each finished call, so an interrupted run continues where it stopped.
"""

import base64
import hashlib
import json
import shutil
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from reeltalk._version import __version__
from reeltalk.curate.records import FileFacts
from reeltalk.curate.sources import SourceVideo
from reeltalk.curate.transcripts import Transcript
from reeltalk.curate.wholeness import full_reason, missing_share
from reeltalk.errors import BenchmarkError
from reeltalk.parallel import Call, Executor, Failure, FailureKind, Limits
from reeltalk.progress import Progress
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, ClipFile, SampledFrame, Shot
from reeltalk.schema.outcomes import FilterResult
from reeltalk.schema.record import Json, VideoId
from reeltalk.store.atomic import storage_errors, write_bytes
from reeltalk.store.benchmark import WORK, Benchmark
from reeltalk.video.records import Gap, Probe, Scan, ScanSettings, shots_between
from reeltalk_build.curate import filters
from reeltalk_build.curate.records import CutClip
from reeltalk_build.curate.settings import CurateSettings


class Journal:
    """Results of finished calls in a benchmark's work folder. The folder may be deleted at any time.

    Args:
        benchmark: Folder of the benchmark.
        stage: Name of the stage.
    """

    def __init__(self, benchmark: Path, stage: str) -> None:
        self.folder: Final = benchmark / WORK / stage

    def key(self, kind: str, *parts: Json) -> str:
        """Key of a call. Equal inputs, settings and version give the same key."""
        canonical = json.dumps([kind, __version__, *parts], sort_keys=True, ensure_ascii=False)
        return f"{kind}-{hashlib.sha256(canonical.encode()).hexdigest()[:32]}"

    def read(self, key: str) -> Any | None:
        """The result of a call; None if there is none or it is damaged."""
        try:
            return json.loads((self.folder / f"{key}.json").read_bytes())
        except (OSError, ValueError):
            return None

    def write(self, key: str, result: Json) -> None:
        """Store a result atomically.

        Raises:
            BenchmarkError: The file cannot be written.
        """
        write_bytes(self.folder / f"{key}.json", json.dumps(result, ensure_ascii=False).encode())


R = TypeVar("R", bound=BaseModel)

STAGE: Final = "curate"
SHEETS: Final = "sheets"
KEY_FRAMES: Final = "key_frames"
SMALL_FILE_S: Final = 25.0
"""Time limit of even the smallest file."""
SECONDS_A_MEGABYTE: Final = 10.0
TORCH_MEMORY_BYTES: Final = 2 << 30
"""Memory that a network may use on top of the limit in the settings."""


@dataclass
class Candidate:
    """A video on its way through the filters."""

    source: SourceVideo
    size_bytes: int
    ingested: FileFacts | None = None
    reason: str | None = None
    """Reason for its rejection; None while it passes."""
    results: list[FilterResult] = field(default_factory=list)
    sidecar: dict[str, str] = field(default_factory=dict)
    transcript: Transcript | None = None
    left_out: tuple[str, ...] = ()
    """What could not be read beside it."""
    scan_key: str | None = None
    shots: list[Interval] = field(default_factory=list)
    hashes: tuple[str, ...] = ()
    decoded_s: float = 0.0
    lost: tuple[Gap, ...] = ()
    """Parts that could not be decoded, without those whose packets are missing."""
    damaged_packets: int = 0
    has_sheet: bool = False
    clips: list[Clip] = field(default_factory=list)

    def apply(self, result: FilterResult) -> bool:
        """Record the result of a filter. Returns False if the candidate is rejected."""
        self.results.append(result)
        if result.outcome == "rejected":
            self.reason = full_reason(result)
        return self.reason is None


class Calls:
    """The calls of one run. Each is looked up in the journal first."""

    def __init__(self, benchmark: Benchmark, settings: CurateSettings, executor: Executor, progress: Progress) -> None:
        self.benchmark, self.settings, self.executor, self.progress = benchmark, settings, executor, progress
        self.journal = Journal(benchmark.path, STAGE)

    def ingest(self, candidates: list[Candidate]) -> None:
        """Read facts, hash and quality of every file."""
        argument = {
            "pictures": self.settings.aesthetic_model is not None,
            "shortest_s": self.settings.shortest_s,
        }
        calls = {}
        for index, candidate in enumerate(candidates):
            status = candidate.source.path.stat()
            where = [str(candidate.source.path.absolute()), status.st_size, status.st_mtime_ns]
            calls[index] = (
                self.journal.key("ingest", *where, argument),
                Call({"path": str(candidate.source.path), **argument}, self._limits(candidate)),
            )
        for index, outcome in self._results(
            "looking at files", "reeltalk_build.curate.workers:ingest", FileFacts, calls, candidates
        ):
            candidate = candidates[index]
            if isinstance(outcome, Failure):
                candidate.reason = self._failure("it cannot be read", outcome, candidate)
                continue
            candidate.ingested, candidate.reason = outcome, outcome.reason

    def judge(self, candidates: list[Candidate]) -> None:
        """Apply the filters that need no decoding."""
        scorer = None
        for candidate in candidates:
            facts = candidate.ingested
            if candidate.reason is not None or facts is None or facts.probe is None:
                continue
            if not candidate.apply(self._missing(facts.probe)):
                continue
            if not candidate.apply(filters.duration(self.settings, facts.probe.duration_s)):
                continue
            if not candidate.apply(filters.quality(self.settings, facts.quality)):
                continue
            score = None
            if self.settings.aesthetic_model is not None and facts.pictures:
                # torch and the weights are loaded once, and only if a video gets this far.
                from reeltalk_build.inference.aesthetics import AestheticScorer

                scorer = scorer or AestheticScorer(self.settings.aesthetic_model)
                score = scorer([base64.b64decode(picture) for picture in facts.pictures])
            candidate.apply(filters.aesthetic(self.settings, score))

    def _missing(self, probe: Probe, more: Sequence[Gap] = ()) -> FilterResult:
        return missing_share(self.settings.max_missing, decoded_s=probe.held_s(more), duration_s=probe.promised_s)

    def scan(self, candidates: list[Candidate], detector: Any) -> None:
        """Decode the remaining videos, and apply the filters that need it."""
        settings = ScanSettings(
            detector=detector,
            sample_fps=self.settings.sample_fps,
            min_sharpness=self.settings.min_sharpness,
            max_similarity=self.settings.max_similarity,
            max_shots=self.settings.max_shots,
        ).model_dump(mode="json")
        calls = {}
        for index, candidate in enumerate(candidates):
            facts = candidate.ingested
            if candidate.reason is not None or facts is None or facts.probe is None:
                continue
            candidate.scan_key = self.journal.key("scan", facts.sha256, settings, self.settings.save_frames)
            argument: dict[str, Any] = {
                "path": str(candidate.source.path),
                "settings": dict(settings),
            }
            if self.settings.save_frames:
                folder = self.journal.folder / f"{candidate.scan_key}.frames"
                if self.journal.read(candidate.scan_key) is None:
                    shutil.rmtree(folder, ignore_errors=True)
                with storage_errors(folder):
                    folder.mkdir(parents=True, exist_ok=True)
                argument["settings"]["save_frames"] = str(folder)
            calls[index] = (candidate.scan_key, Call(argument, self._limits(candidate)))
        for index, outcome in self._results("decoding", "reeltalk_build.curate.scanning:scan", Scan, calls, candidates):
            candidate = candidates[index]
            if isinstance(outcome, Failure):
                candidate.reason = self._failure("it cannot be decoded", outcome, candidate)
                continue
            candidate.reason = outcome.reason
            if outcome.reason is None:
                self._filter(candidate, outcome)

    def _filter(self, candidate: Candidate, found: Scan) -> None:
        assert candidate.ingested is not None
        assert candidate.ingested.probe is not None
        candidate.lost = found.gaps_s
        if found.damaged_end:
            candidate.lost += ((found.decoded_s, candidate.ingested.probe.duration_s),)
        # The decoder may lose more than the packets show.
        whole = self._missing(candidate.ingested.probe, candidate.lost)
        candidate.results = [whole if result.filter == whole.filter else result for result in candidate.results]
        candidate.reason = None if whole.reason is None else full_reason(whole)
        end_s = found.decoded_s if found.stopped else max(candidate.ingested.probe.duration_s, found.decoded_s)
        bounds = shots_between(found.cuts_s, candidate.ingested.probe.start_s, end_s)
        candidate.shots = [Interval(start_s=start, end_s=end) for start, end in bounds]
        candidate.hashes, candidate.decoded_s = found.hashes, found.decoded_s
        candidate.damaged_packets, candidate.has_sheet = found.damaged_packets, found.sheet is not None
        if candidate.reason is not None:
            return
        count = len(candidate.shots)
        if not candidate.apply(
            filters.shots(
                self.settings,
                count,
                stopped_at_s=found.decoded_s if found.stopped else None,
                duration_s=candidate.ingested.probe.duration_s,
            )
        ):
            return
        if candidate.apply(filters.mean_shot(self.settings, end_s / count)):
            candidate.apply(filters.motion(self.settings, _mean_flow(found)))

    def cut(self, candidates: list[Candidate]) -> None:
        """Write the clips as files into the media store; reject videos of which one cannot be cut."""
        folder = self.benchmark.path / WORK / STAGE / "cuts"
        with storage_errors(folder):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        calls: dict[int, tuple[str, Call]] = {}
        clips: list[tuple[Candidate, int]] = []
        for candidate in candidates:
            facts = candidate.ingested
            assert facts is not None
            assert facts.probe is not None
            for position, clip in enumerate(candidate.clips):
                assert clip.interval is not None
                argument = {
                    "path": str(candidate.source.path),
                    "interval": clip.interval.model_dump(mode="json"),
                    "folder": str(folder),
                    "target": f"{clip.id}.mp4",
                    "lossless": self.settings.cut == "lossless",
                }
                limits = self._limits(candidate)
                key = self.journal.key("cut", facts.sha256, argument["interval"], argument["lossless"])
                calls[len(clips)] = (key, Call(argument, limits))
                clips.append((candidate, position))
        owners = [candidate for candidate, _ in clips]
        for index, outcome in self._results(
            "cutting clips", "reeltalk_build.curate.workers:cut", CutClip, calls, owners, self._store
        ):
            candidate, position = clips[index]
            clip = candidate.clips[position]
            if isinstance(outcome, Failure):
                candidate.reason = f"its clip {clip.id} cannot be cut: {outcome}"
                if str(folder) in str(outcome):  # the disk is at fault, and no video
                    raise BenchmarkError(f"{candidate.source.place}: {candidate.reason}")
                continue
            file = ClipFile(sha256=outcome.sha256, how=outcome.cut.how.value, interval=outcome.cut.interval)
            candidate.clips[position] = clip.model_copy(update={"file": file})
        shutil.rmtree(folder, ignore_errors=True)

    def _store(self, made: CutClip) -> CutClip | None:
        """Move a cut clip into the media store before the journal records it; None if its file is gone."""
        if made.sha256 is not None:
            return made if self.benchmark.media.has(made.sha256) else None
        path = self.journal.folder / "cuts" / made.target
        sha256 = self.benchmark.media.add(path)
        path.unlink(missing_ok=True)
        return made.model_copy(update={"sha256": sha256})

    def _results(
        self,
        what: str,
        function: str,
        kind: type[R],
        calls: dict[int, tuple[str, Call]],
        owners: Sequence[Candidate],
        finish: Callable[[R], R | None] = lambda result: result,
    ) -> Iterator[tuple[int, R | Failure]]:
        """Yield (index, outcome) of all calls, those from the journal first."""
        sizes = {index: owners[index].size_bytes for index in calls}
        total = max(1, sum(sizes.values()))
        done = done_bytes = 0
        waiting = []
        for index, (key, _) in calls.items():
            known = _parsed(kind, self.journal.read(key))
            known = None if known is None else finish(known)
            if known is None:
                waiting.append(index)
                continue
            done, done_bytes = done + 1, done_bytes + sizes[index]
            yield index, known
        self.progress(what, done, len(calls), done_bytes / total)
        if not waiting:
            return
        for position, outcome in self.executor.map(function, (calls[index][1] for index in waiting)):
            index = waiting[position]
            # The child process has read an untrusted file, so its result is validated like any input.
            result = None if isinstance(outcome, Failure) else _parsed(kind, outcome)
            result = None if result is None else finish(result)
            done, done_bytes = done + 1, done_bytes + sizes[index]
            if result is not None:
                self.journal.write(calls[index][0], result.model_dump(mode="json"))
                yield index, result
            elif isinstance(outcome, Failure):
                yield index, outcome
            else:
                yield index, Failure(FailureKind.ERROR, "the process that read it gave no answer that makes sense")
            self.progress(what, done, len(calls), done_bytes / total)

    def _limits(self, candidate: Candidate) -> Limits:
        # The time limit grows with the size: a small file that takes an hour to decode is not a normal video.
        wall_s = min(self.settings.max_minutes * 60, SMALL_FILE_S + SECONDS_A_MEGABYTE * candidate.size_bytes / 1e6)
        memory_bytes = self.settings.max_memory_mib << 20
        if self.settings.detector == "transnetv2":
            wall_s, memory_bytes = wall_s + self.settings.max_minutes * 60, memory_bytes + TORCH_MEMORY_BYTES
        return Limits(wall_s=wall_s, memory_bytes=memory_bytes)

    def _failure(self, what: str, failure: Failure, candidate: Candidate) -> str:
        """Why a call failed, and the option that sets the limit, if it was a limit of the settings."""
        settings = self.settings
        if failure.kind is FailureKind.MEMORY:
            return f"{what}: {failure}; raise --max-memory-mib, which is {settings.max_memory_mib}"
        if failure.kind is FailureKind.TIME and self._limits(candidate).wall_s >= settings.max_minutes * 60:
            return f"{what}: {failure}; raise --max-minutes, which is {settings.max_minutes:g}"
        return f"{what}: {failure}"

    def _scan_of(self, candidate: Candidate) -> Scan:
        assert candidate.scan_key is not None
        found = self.journal.read(candidate.scan_key)
        if found is None:
            raise BenchmarkError(f"{self.journal.folder} was changed while it was read; run the command again")
        return Scan.model_validate(found)

    def shots(self, candidates: Iterable[Candidate]) -> Iterator[Shot]:
        """Rows of the table, read back one video at a time."""
        for candidate in candidates:
            contents = [None, *self._scan_of(candidate).cut_contents]
            for interval, content in zip(candidate.shots, contents, strict=True):
                yield Shot(video_id=VideoId(candidate.source.id), interval=interval, content=content)

    def frames(self, candidates: Iterable[Candidate]) -> Iterator[SampledFrame]:
        """Rows of the table, read back one video at a time."""
        for candidate in candidates:
            for sample in self._scan_of(candidate).samples:
                values = sample._asdict()
                yield SampledFrame(video_id=VideoId(candidate.source.id), key_frame=values["dropped"] is None, **values)

    def add_pictures(self, writer: Any, candidates: Iterable[Candidate]) -> None:
        """Write contact sheets, and key frames if the settings say so."""
        for candidate in candidates:
            sheet = self._scan_of(candidate).sheet
            if sheet is not None:
                writer.add_file(sheet_path(candidate), base64.b64decode(sheet))
            if self.settings.save_frames:
                for path in sorted((self.journal.folder / f"{candidate.scan_key}.frames").glob("*.jpg")):
                    writer.add_file(f"{KEY_FRAMES}/{file_stem(candidate)}-{path.name}", path.read_bytes())


def _parsed(kind: type[R], value: Any) -> R | None:
    try:
        return None if value is None else kind.model_validate(value)
    except ValidationError:
        return None


def file_stem(candidate: Candidate) -> str:
    """File name for a video's pictures: a hash of its identifier, which may contain any character."""
    return hashlib.sha256(candidate.source.id.encode()).hexdigest()[:16]


def sheet_path(candidate: Candidate) -> str:
    """Path of a video's contact sheet in the benchmark."""
    return f"{SHEETS}/{file_stem(candidate)}.png"


def _mean_flow(found: Scan) -> float | None:
    """Mean flow between frames one second apart, without pairs on both sides of a cut; None if there are none."""
    flows = []
    before_s: float | None = None
    for sample in found.samples:
        if sample.flow_px is None:
            before_s = sample.pts_s if before_s is None else before_s
            continue
        start_s = before_s if before_s is not None else 0.0
        if bisect_right(found.cuts_s, start_s) == bisect_right(found.cuts_s, sample.pts_s):
            flows.append(sample.flow_px)
        before_s = sample.pts_s
    return sum(flows) / len(flows) if flows else None

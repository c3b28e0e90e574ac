"""Two or more writers about the same clips: yield, faults, checks, diversity, and drafts to read side by side.

Every number comes from the tables of the writers' benchmarks. Nothing is judged again. Differences are paired by place,
a clip or a task of a video, and clustered by video.
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import BenchmarkError
from reeltalk.metrics.clustered import ClusteredEstimate, clustered_difference, clustered_mean
from reeltalk.metrics.counting import count_words, list_words
from reeltalk.metrics.turn_checks import (
    ATTEMPT,
    CheckedTurn,
    CheckName,
    Quality,
    checked_rewrites,
    checked_turns,
    gate_name,
    is_supported,
    measure_quality,
)
from reeltalk.metrics.uncertainty import MeanInterval, mean_interval
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, CLIPS, DIALOGUES, GATES, LINKAGES, PATHS, REWRITES, VIDEOS, Table

Floats = NDArray[np.float64]
UnitKind = Literal["chain", "dialogue"]

WRITER_OF: Final = "writer"
"""Key of a row's `extra` with the signature of its writer."""
PAIRS: Final = 12
"""Places to read side by side."""
DRAWS: Final = 20
"""Draws of equally many questions for distinct n-grams."""


class DraftPlace(NamedTuple):
    """What a chain or dialogue is about, the same for all writers."""

    video_id: str
    kind: UnitKind
    name: str
    """The clip of a chain; the task and kind of scene of a dialogue."""
    number: int
    """From 0, among those of the same name."""


@dataclass(frozen=True)
class WrittenUnit:
    """A chain or dialogue of one writer with its checks."""

    place: DraftPlace
    unit: QAChain | Dialogue
    turns: tuple[CheckedTurn, ...]


@dataclass(frozen=True)
class UnitYield:
    """Units of one kind."""

    kind: str
    kept: int
    unwritten: int
    """The writer gave nothing usable."""
    dropped: int
    """Written, and left out by a rule or a judge."""

    @property
    def written(self) -> int:
        """Units that were written."""
        return self.kept + self.dropped

    @property
    def asked(self) -> int:
        """Units that the writer was asked for."""
        return self.written + self.unwritten


@dataclass(frozen=True)
class Diversity:
    """How much the questions of a writer differ from each other."""

    questions: int
    different: int
    """Questions that differ in more than case and punctuation."""
    sample: int
    """Questions of each draw, the same for all writers."""
    distinct_1: float | None
    """Different words divided by all words; None without questions."""
    distinct_2: float | None
    """Different pairs of neighbouring words divided by all pairs."""
    types: int
    """Different question types."""
    evenness: float | None
    """Entropy of the question types divided by the entropy of equally frequent ones, 0 to 1; None below two types."""
    spread: float | None
    """Mean cosine distance of two questions as TF-IDF vectors, 0 to 1; None below two questions."""


@dataclass
class WriterWork:
    """Everything that one writer wrote."""

    name: str
    signatures: tuple[str, ...]
    units: dict[DraftPlace, WrittenUnit]
    drafts: list[CheckedTurn]
    """Rewriting drafts. Each writer has its own linkages, so they are not paired."""
    yields: list[UnitYield]
    quality: Quality
    settings: Mapping[str, Any]
    """Settings of its steps, without the writer."""
    revised: frozenset[str]
    """Chains and dialogues that were written again, or cut, for a fault."""
    reasons: Counter[tuple[str, str]]
    """What judges say is wrong with turns that stay, by class and reason."""

    @property
    def turns(self) -> list[CheckedTurn]:
        """All turns."""
        return [turn for unit in self.units.values() for turn in unit.turns]


@dataclass(frozen=True)
class WriterMeasure:
    """A number for every turn, or none."""

    title: str
    of: Callable[[CheckedTurn], float | None]
    is_share: bool = True
    better: Literal["more", "less", ""] = "more"


def _passed(check: CheckName) -> Callable[[CheckedTurn], float | None]:
    def of(turn: CheckedTurn) -> float | None:
        outcome = turn.outcomes.get(check)
        return None if outcome in (None, GateOutcome.UNCHECKED) else float(outcome is GateOutcome.PASSED)

    return of


def _optional(value: bool | None) -> float | None:
    return None if value is None else float(value)


MEASURES: Final = (
    WriterMeasure("Passed every check that was made", lambda turn: float(turn.passed) if turn.made else None),
    WriterMeasure("Answer verified", lambda turn: _optional(is_supported(turn))),
    WriterMeasure("No other fault", _passed("faults")),
    WriterMeasure("Wording follows the rules", _passed("rules")),
    WriterMeasure("Needs the video", lambda turn: _optional(turn.needs_video)),
    WriterMeasure("Evidence is enough to answer", _passed("answerable")),
    WriterMeasure("Evidence is needed to answer", _passed("evidence")),
    WriterMeasure("Needs the dialogue, as it claims", _passed("depends")),
    WriterMeasure("Earlier turns that it rests on", lambda turn: turn.value("depends"), is_share=False),
    WriterMeasure("Not too easy", _passed("difficulty")),
    WriterMeasure(
        "Attackers that answer it, share", lambda turn: turn.value("difficulty"), is_share=False, better="less"
    ),
    WriterMeasure(
        "Words of a question", lambda turn: float(count_words(turn.turn.question)), is_share=False, better=""
    ),
    WriterMeasure(
        "Words of an answer",
        lambda turn: float(count_words(turn.turn.references[0])) if turn.turn.references else None,
        is_share=False,
        better="",
    ),
)


DRAFT_MEASURES: Final = (
    WriterMeasure("Rewriting drafts: passed every check", lambda turn: float(turn.passed) if turn.made else None),
    WriterMeasure("Rewriting drafts: verified", lambda turn: _optional(is_supported(turn))),
)


@dataclass(frozen=True)
class MeasuredRow:
    """A measure of all writers, and the differences from the first one."""

    measure: str
    is_share: bool
    better: Literal["more", "less", ""]
    values: tuple[MeanInterval | None, ...]
    """One for each writer, over all of its turns."""
    differences: tuple[ClusteredEstimate | None, ...]
    """One for each writer after the first: it minus the first, over the places that both wrote about."""


@dataclass(frozen=True)
class FaultRow:
    """A class of faults."""

    name: str
    counts: tuple[tuple[int, int, int], ...]
    """For each writer: turns that stay with this flag, results that sent a draft back, drafts or turns left out."""


@dataclass
class WriterComparison:
    """Writers side by side."""

    writers: list[WriterWork]
    rows: list[MeasuredRow]
    kept: tuple[MeasuredRow, MeasuredRow]
    """Clips with a chain, and clips whose first draft stayed as it was."""
    faults: list[FaultRow]
    diversity: list[Diversity]
    spread: tuple[ClusteredEstimate | None, ...]
    """Differences of the spread of questions from the first writer."""
    pairs: list[tuple[DraftPlace, tuple[WrittenUnit, ...]]]
    """Drafts about the same place, one for each writer."""
    both: int
    """Places that all writers wrote about, from which the pairs are drawn."""
    warnings: list[str] = field(default_factory=list)


def compare_writers(
    benchmarks: Sequence[Benchmark], names: Sequence[str] = (), *, pairs: int = PAIRS, seed: int = 17
) -> WriterComparison:
    """Compare writers by their benchmarks.

    Args:
        benchmarks: One for each writer, two or more, with the same videos and clips.
        names: Names to show; by default the models that wrote, or the folders.
        pairs: Number of places to read side by side.
        seed: Decides which places, and the draws of distinct n-grams.

    Raises:
        BenchmarkError: The benchmarks are about different clips, or one holds nothing that was constructed.
        InputError: A table is damaged.
    """
    _check_same_clips(benchmarks)
    writers = [_read_work(benchmark) for benchmark in benchmarks]
    for work, name in zip(writers, names or _unlike([work.name for work in writers], benchmarks), strict=True):
        work.name = name
    rows = [*(_row(measure, writers) for measure in MEASURES), *(_draft_row(m, writers) for m in DRAFT_MEASURES)]
    common = sorted(set.intersection(*(set(work.units) for work in writers)))
    drawn = sorted(random.Random(f"pairs {seed}").sample(common, min(pairs, len(common))))
    vectors = _vectors(writers)
    return WriterComparison(
        writers,
        [row for row in rows if any(value is not None for value in row.values)],
        _kept(benchmarks[0], writers),
        _faults(writers),
        _diversity(writers, vectors, seed),
        tuple(_spread_difference(vectors[0], other) for other in vectors[1:]),
        [(place, tuple(work.units[place] for work in writers)) for place in drawn],
        len(common),
        _warnings(writers),
    )


def _check_same_clips(benchmarks: Sequence[Benchmark]) -> None:
    if len(benchmarks) < 2:
        raise BenchmarkError("a comparison of writers needs the benchmarks of at least two")
    first = benchmarks[0]
    for other in benchmarks[1:]:
        if other.path.resolve() == first.path.resolve():
            raise BenchmarkError(f"{other.path} is given twice; give the benchmarks of two writers")
        for table in (VIDEOS, CLIPS):
            one, two = (b.manifest.files.get(table.file_name) for b in (first, other))
            if (one and one.sha256) != (two and two.sha256):
                raise BenchmarkError(
                    f"{first.path} and {other.path} have different {table.name}, so their writers cannot be compared; "
                    "'reeltalk construct BENCH --writer A --writer B --out DIR' makes benchmarks that can"
                )


def _read_work(benchmark: Benchmark) -> WriterWork:
    units: list[QAChain | Dialogue] = [*benchmark.read(CHAINS), *benchmark.read(DIALOGUES)]
    own = [unit for unit in units if WRITER_OF in unit.extra]
    gates = list(benchmark.read(GATES))
    if not own and not gates:
        raise BenchmarkError(f"{benchmark.path} holds nothing that 'reeltalk construct' wrote")
    turns: dict[str, list[CheckedTurn]] = defaultdict(list)
    for turn in checked_turns(own, gates):
        turns[turn.unit_id].append(turn)
    found: dict[DraftPlace, WrittenUnit] = {}
    numbers: Counter[tuple[str, str, str]] = Counter()
    for unit in own:
        kind, name = _place_of(unit)
        place = DraftPlace(unit.video_id, kind, name, numbers[unit.video_id, kind, name])
        numbers[unit.video_id, kind, name] += 1
        found[place] = WrittenUnit(place, unit, tuple(turns[unit.id]))
    rewrites = [row for row in benchmark.read(REWRITES) if WRITER_OF in row.extra]
    quality = measure_quality(own, gates, rewrites)
    return WriterWork(
        name=quality.writers[0] if len(quality.writers) == 1 else benchmark.path.name,
        signatures=tuple(sorted({str(unit.extra[WRITER_OF]) for unit in own})),
        units=found,
        drafts=list(checked_rewrites(rewrites, gates, {unit.id: unit.video_id for unit in own})),
        yields=_yields(benchmark, own, gates),
        quality=quality,
        settings=_settings(benchmark),
        revised=frozenset(gate.unit_id for gate in gates if _is_revision(gate)),
        reasons=Counter(
            (fault.gate.partition(":")[2], fault.reason or "")
            for turn in (turn for own_turns in turns.values() for turn in own_turns)
            for fault in turn.flags
        ),
    )


def _is_revision(gate: GateResult) -> bool:
    if gate.unit not in ("chain", "dialogue") or gate.gate.startswith("linkages:"):
        return False
    return gate.outcome in (GateOutcome.REPLACED, GateOutcome.DROPPED) or gate_name(gate) == ATTEMPT


def _place_of(unit: QAChain | Dialogue) -> tuple[UnitKind, str]:
    if isinstance(unit, QAChain):
        return "chain", unit.clip_id or ""
    scenes = "across scenes" if unit.extra.get("kind") == "cross" else "one scene"
    return "dialogue", f"{(unit.task or 'dialogue').replace('_', ' ')}, {scenes}"


def _settings(benchmark: Benchmark) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for table in (CHAINS, LINKAGES, PATHS, DIALOGUES):
        entry = benchmark.manifest.files.get(table.file_name)
        if entry is not None:
            found |= {name: value for name, value in entry.settings.items() if name != WRITER_OF}
    return found


def _yields(benchmark: Benchmark, own: Sequence[QAChain | Dialogue], gates: Sequence[GateResult]) -> list[UnitYield]:
    kept = Counter("chain" if isinstance(unit, QAChain) else "dialogue" for unit in own)
    here = {unit.id for unit in own}
    dropped: dict[str, set[str]] = defaultdict(set)
    unwritten: Counter[str] = Counter()
    pairs = 0
    for gate in gates:
        name = gate_name(gate)
        if gate.outcome is GateOutcome.DROPPED and name.startswith("linkage."):
            pairs += 1
        elif gate.outcome is GateOutcome.DROPPED and gate.unit == "linkage":
            dropped["Rewriting drafts"].add(gate.unit_id)
        elif gate.outcome is GateOutcome.DROPPED and gate.turn_index is None and gate.unit_id not in here:
            dropped[gate.unit].add(gate.unit_id)
        elif gate.outcome is GateOutcome.UNWRITTEN:
            unwritten[_kind_of(name)] += 1
    found = [
        UnitYield("Question chains", kept["chain"], unwritten["chain"], len(dropped["chain"])),
        UnitYield("Dialogues", kept["dialogue"], unwritten["dialogue"], len(dropped["dialogue"])),
    ]
    tables: list[tuple[str, Table[Any]]] = [
        ("Linkages", LINKAGES),
        ("Rewriting drafts", REWRITES),
        ("Dialogue paths", PATHS),
    ]
    for title, table in tables:
        rows = sum(WRITER_OF in row.extra for row in benchmark.read(table))
        left_out = pairs if table is LINKAGES else len(dropped[title])
        found.append(UnitYield(title, rows, unwritten[title], left_out))
    lists = sum(turn.checklist is not None for unit in own for turn in unit.turns)
    found.append(UnitYield("Checklists", lists, unwritten["Checklists"], 0))
    return [one for one in found if one.asked]


def _kind_of(name: str) -> str:
    """The kind of unit that an unwritten result is about, by its gate."""
    begin = name.split(".")[0]
    return {
        "written": "chain",
        "dialogue": "dialogue",
        "linkage": "Linkages",
        "rewrite": "Rewriting drafts",
        "checklist": "Checklists",
    }.get(begin, begin)


def _unlike(names: Sequence[str], benchmarks: Sequence[Benchmark]) -> list[str]:
    """The names; if two are the same, with their folders."""
    times = Counter(names)
    folders = [benchmark.path.resolve().name for benchmark in benchmarks]
    return [
        name if times[name] == 1 or name == folder else f"{name} ({folder})"
        for name, folder in zip(names, folders, strict=True)
    ]


def _measured(measure: WriterMeasure, turns: Sequence[CheckedTurn]) -> MeanInterval | None:
    found = [(value, turn.video_id) for turn in turns if (value := measure.of(turn)) is not None]
    if not found:
        return None
    scale = (0.0, 1.0) if measure.is_share else None
    return mean_interval(np.array([value for value, _ in found]), [video for _, video in found], scale)


def _draft_row(measure: WriterMeasure, writers: Sequence[WriterWork]) -> MeasuredRow:
    """A measure of rewriting drafts, with differences that are clustered by video and not paired."""
    values = tuple(_measured(measure, work.drafts) for work in writers)
    found = [[(v, turn.video_id) for turn in work.drafts if (v := measure.of(turn)) is not None] for work in writers]
    differences = tuple(
        clustered_difference(
            np.array([v for v, _ in other]),
            np.array([v for v, _ in found[0]]),
            [video for _, video in other],
            [video for _, video in found[0]],
        )
        if other and found[0]
        else None
        for other in found[1:]
    )
    return MeasuredRow(measure.title, measure.is_share, measure.better, values, differences)


def _row(measure: WriterMeasure, writers: Sequence[WriterWork]) -> MeasuredRow:
    values = [_measured(measure, work.turns) for work in writers]
    by_place = [_place_means(measure.of, work) for work in writers]
    differences = tuple(_paired(by_place[0], other) for other in by_place[1:])
    return MeasuredRow(measure.title, measure.is_share, measure.better, tuple(values), differences)


def _place_means(of: Callable[[CheckedTurn], float | None], work: WriterWork) -> dict[DraftPlace, float]:
    found = {}
    for place, unit in work.units.items():
        values = [value for turn in unit.turns if (value := of(turn)) is not None]
        if values:
            found[place] = fmean(values)
    return found


def _paired(one: Mapping[DraftPlace, float], two: Mapping[DraftPlace, float]) -> ClusteredEstimate | None:
    """The mean of the second minus the first over the places of both."""
    places = sorted(one.keys() & two.keys())
    if not places:
        return None
    return clustered_mean(np.array([two[p] - one[p] for p in places]), [p.video_id for p in places])


def _kept(benchmark: Benchmark, writers: Sequence[WriterWork]) -> tuple[MeasuredRow, MeasuredRow]:
    """Shares of the clips of videos that any writer wrote about: with a chain, and with one that stayed as it was."""
    videos = {place.video_id for work in writers for place in work.units}
    clips = [clip for clip in benchmark.read(CLIPS) if clip.video_id in videos]
    places = [DraftPlace(clip.video_id, "chain", clip.id, 0) for clip in clips]
    kept = [{place: float(place in work.units) for place in places} for work in writers]
    first = [
        {place: float(place in work.units and work.units[place].unit.id not in work.revised) for place in places}
        for work in writers
    ]
    return _clip_row("Clips with a chain", kept), _clip_row("Clips whose first draft stays as it is", first)


def _clip_row(title: str, tables: Sequence[Mapping[DraftPlace, float]]) -> MeasuredRow:
    places = sorted(tables[0])
    values = tuple(
        mean_interval(np.array([table[p] for p in places]), [p.video_id for p in places], (0.0, 1.0))
        if places
        else None
        for table in tables
    )
    differences = tuple(_paired(tables[0], other) for other in tables[1:])
    return MeasuredRow(title, True, "more", values, differences)


def _faults(writers: Sequence[WriterWork]) -> list[FaultRow]:
    names: Counter[str] = Counter()
    for work in writers:
        names.update(work.quality.faults)
        for (name, _), times in work.quality.gone.items():
            names[name] += times
    sent, out = (GateOutcome.REPLACED.value, GateOutcome.DROPPED.value)
    return [
        FaultRow(
            name,
            tuple(
                (work.quality.faults[name], work.quality.gone[name, sent], work.quality.gone[name, out])
                for work in writers
            ),
        )
        for name, _ in names.most_common()
        if any(
            work.quality.faults[name] + work.quality.gone[name, sent] + work.quality.gone[name, out] for work in writers
        )
    ]


def _warnings(writers: Sequence[WriterWork]) -> list[str]:
    found = []
    for work in writers:
        for name in work.quality.own_judges:
            found.append(f"{name} judged what it wrote. Models tend to approve of what they wrote.")
    if len({work.quality.judges for work in writers}) > 1:
        found.append("The writers were judged by different models, so their shares are not comparable.")
    differing = sorted(
        name
        for name in set().union(*(work.settings for work in writers))
        if any(work.settings.get(name) != writers[0].settings.get(name) for work in writers)
    )
    if differing:
        found.append(f"The writers worked with different settings: {', '.join(differing)}.")
    return found


Vector = dict[str, float]
"""A question as words with weights, of length 1."""


@dataclass(frozen=True)
class _Vectors:
    """Questions of a writer as vectors, each with its place."""

    rows: tuple[Vector, ...]
    places: tuple[DraftPlace, ...]


def _vectors(writers: Sequence[WriterWork]) -> list[_Vectors]:
    """TF-IDF vectors, with the frequencies of words in the questions of all writers together."""
    words = [[Counter(_words(turn.turn.question)) for turn in work.turns] for work in writers]
    seen = Counter(word for questions in words for counts in questions for word in counts)
    total = sum(map(len, words))
    weight = {word: math.log((1 + total) / (1 + times)) + 1 for word, times in seen.items()}
    found = []
    for work, questions in zip(writers, words, strict=True):
        weighted = [{word: times * weight[word] for word, times in counts.items()} for counts in questions]
        places = tuple(unit.place for unit in work.units.values() for _ in unit.turns)
        found.append(_Vectors(tuple(map(_unit_length, weighted)), places))
    return found


def _unit_length(vector: Vector) -> Vector:
    length = math.sqrt(math.fsum(value**2 for value in vector.values()))
    return {word: value / length for word, value in vector.items()}


def _words(text: str) -> list[str]:
    return [word.lower() for word in list_words(text)]


def _products(rows: Sequence[Vector]) -> Floats:
    """(N,) sum of the inner products of each row with all other rows."""
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row)
    return np.array([math.fsum(value * (total[word] - value) for word, value in row.items()) for row in rows])


def _spread(rows: Sequence[Vector]) -> float | None:
    """Mean cosine distance of two different rows; None below two."""
    n = len(rows)
    return 1 - float(_products(rows).sum()) / (n * (n - 1)) if n > 1 else None


def _spread_difference(one: _Vectors, two: _Vectors) -> ClusteredEstimate | None:
    """The spread of the second writer minus that of the first, over the places of both.

    Each place contributes the difference plus the number of places times its first-order effect.
    """
    places = sorted(set(one.places) & set(two.places))
    first, second = (_spread_effects(vectors, places) for vectors in (one, two))
    if first is None or second is None:
        return None
    return clustered_mean(second - first, [place.video_id for place in places])


def _spread_effects(vectors: _Vectors, places: Sequence[DraftPlace]) -> Floats | None:
    """(P,) the spread over some places, plus P times the first-order effect of each place; None below two questions."""
    number = {place: n for n, place in enumerate(places)}
    inside = [n for n, place in enumerate(vectors.places) if place in number]
    rows = [vectors.rows[n] for n in inside]
    n, pairs = len(rows), len(rows) * (len(rows) - 1)
    if n < 2:
        return None
    products = _products(rows)
    shared = float(products.sum())
    # The slopes of the spread by the weight of each question; they add up to 0.
    effects = 2 * (shared * (n - 1) / pairs**2 - products / pairs)
    by_place = np.bincount([number[vectors.places[row]] for row in inside], weights=effects, minlength=len(places))
    found: Floats = np.asarray(1 - shared / pairs + len(places) * by_place, np.float64)
    return found


def _diversity(writers: Sequence[WriterWork], vectors: Sequence[_Vectors], seed: int) -> list[Diversity]:
    questions = [[_words(turn.turn.question) for turn in work.turns] for work in writers]
    sample = min(map(len, questions), default=0)
    found = []
    for work, asked, own in zip(writers, questions, vectors, strict=True):
        types = Counter(kind for turn in work.turns for kind in turn.turn.labels.get("vdact.question_type", ()))
        draw = random.Random(f"distinct {seed}")
        drawn = [draw.sample(asked, sample) for _ in range(DRAWS)] if sample else []
        found.append(
            Diversity(
                questions=len(asked),
                different=len({" ".join(words) for words in asked}),
                sample=sample,
                distinct_1=_distinct(drawn, 1),
                distinct_2=_distinct(drawn, 2),
                types=len(types),
                evenness=_evenness(types),
                spread=_spread(own.rows),
            )
        )
    return found


def _distinct(drawn: Sequence[Sequence[Sequence[str]]], n: int) -> float | None:
    """Distinct n-grams (Li et al., NAACL 2016), the mean over draws."""
    shares = []
    for questions in drawn:
        grams = [gram for words in questions for gram in (words if n == 1 else pairwise(words))]
        if grams:
            shares.append(len(set(grams)) / len(grams))
    return fmean(shares) if shares else None


def _evenness(types: Counter[str]) -> float | None:
    if len(types) < 2:
        return None
    shares = [times / types.total() for times in types.values()]
    return -sum(share * math.log(share) for share in shares) / math.log(len(types))

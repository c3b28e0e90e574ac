"""Pages about a constructed benchmark: its questions, the relations between them, and the results of the checks."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise
from typing import Any, Final, NamedTuple

from reeltalk.analysis.dialogues import clip_activity
from reeltalk.analysis.standings import group_title
from reeltalk.metrics.counting import count_benchmark, format_jumps, format_needed
from reeltalk.metrics.turn_checks import (
    CHECKS,
    CheckedTurn,
    CheckName,
    benchmark_quality,
    check_of,
    checked_turns,
    gate_name,
    verdict_of,
)
from reeltalk.pages.dataset import quality_values
from reeltalk.pages.site import BenchmarkSite
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.gates import ELSEWHERE_KEY, VERIFIED, GateOutcome, GateResult
from reeltalk.schema.media import Scene, Video
from reeltalk.schema.rewriting import Rewrite
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.rows import KeyIndex, rows_by
from reeltalk.store.tables import (
    CHAINS,
    CLIPS,
    DIALOGUES,
    GATES,
    LINKAGES,
    PATHS,
    REWRITES,
    SCENES,
    VIDEOS,
    Table,
)

PAGE: Final = "construction.html"
FOLDER: Final = "construction"
REPLIES_SHOWN: Final = 40
"""Raw replies on the first page; the table has all."""
_FAULTS: Final = {check.name: check.fault for check in CHECKS}
_VERDICTS: Final = {
    "supported": "The video supports the answer",
    "contradicted": "The video contradicts the answer",
    "cannot tell": "A judge cannot tell from the video if the answer is right",
}


@dataclass(frozen=True)
class TurnNotes:
    """What the checks say about one turn. A check that was not made says nothing."""

    verdict: str
    """`supported`, `contradicted` or `cannot tell`; empty if no judge looked."""
    seen: str
    """The verdict as a sentence, with the moment and what the judge saw."""
    facts: tuple[str, ...]
    """What is known about its evidence, its dependence and its difficulty."""
    flags: tuple[str, ...]
    """Faults that were found, each with its reason."""

    @property
    def flagged(self) -> bool:
        """True if a check found a fault."""
        return bool(self.flags) or self.verdict in ("contradicted", "cannot tell")


@dataclass(frozen=True)
class ConstructedTurn:
    """A turn with its labels, checks and relations."""

    number: int
    turn: Turn
    notes: TurnNotes
    leads_to: tuple[tuple[str, str], ...] = ()
    """Relation and target turn, such as `3.2`."""


@dataclass(frozen=True)
class ConstructedDialogue:
    """A chain or dialogue."""

    id: str
    title: str
    turns: tuple[ConstructedTurn, ...]
    flags: tuple[str, ...] = ()
    """Flags of the whole dialogue."""


@dataclass
class ConstructedVideo:
    """One video and its page."""

    video: Video
    file: str
    chains: list[ConstructedDialogue] = field(default_factory=list)
    dialogues: list[ConstructedDialogue] = field(default_factory=list)
    drafts: list[tuple[str, str, Rewrite]] = field(default_factory=list)
    """Source turn, target turn, and the draft."""
    paths: list[tuple[str, ...]] = field(default_factory=list)
    scenes: list[tuple[str, Scene]] = field(default_factory=list)
    """The numbers of the scene's clips, and the scene."""
    unwritten: list[GateResult] = field(default_factory=list)

    @property
    def flagged(self) -> int:
        """Number of turns with a flag."""
        return sum(turn.notes.flagged for unit in (*self.chains, *self.dialogues) for turn in unit.turns)


class ListedVideo(NamedTuple):
    """A video in the list of all, with the numbers of what it has."""

    id: str
    file: str
    split: str | None
    chains: int
    paths: int
    drafts: int
    dialogues: int
    flagged: int


def _listed(shown: ConstructedVideo) -> ListedVideo:
    numbers = len(shown.chains), len(shown.paths), len(shown.drafts), len(shown.dialogues), shown.flagged
    return ListedVideo(shown.video.id, shown.file, shown.video.split, *numbers)


def is_constructed(benchmark: Benchmark) -> bool:
    """True if a step of `construct` other than `objects` wrote to the benchmark."""
    stages = {entry.stage for entry in benchmark.manifest.files.values()}
    return any(stage.startswith("construct ") and stage != "construct objects" for stage in stages)


def write_construction(site: BenchmarkSite, page: str = PAGE) -> None:
    """Write an overview, and a page for each video below `construction/`.

    Args:
        site: The site of a benchmark that `reeltalk construct` wrote.
        page: Name of the overview.

    Raises:
        InputError: A table is damaged.
    """
    benchmark = site.benchmark
    videos: list[ListedVideo] = []
    # One after the last has no page.
    for shown, after in pairwise(chain(constructed_videos(benchmark), [None])):
        assert shown is not None
        before, next_one = videos[-1] if videos else None, _listed(after) if after is not None else None
        file = f"{FOLDER}/{shown.file}"
        site.render("constructed_video.html", file, first=page, shown=shown, before=before, after=next_one)
        videos.append(_listed(shown))
    found = count_benchmark(benchmark)
    tasks = sorted({task for task, _ in found.tasks})
    gates = sorted({gate for gate, _ in found.gates})
    raw = benchmark.table(GATES).where(lambda row: bool(row.get("raw")))
    site.render(
        "construction.html",
        page,
        writers=_writers(benchmark),
        found=found,
        tasks=[(task, found.tasks[task, "single"], found.tasks[task, "cross"]) for task in tasks],
        outcomes=[outcome.value for outcome in GateOutcome],
        gates=[(gate, [found.gates[gate, outcome.value] for outcome in GateOutcome]) for gate in gates],
        reasons=found.reasons.most_common(),
        jump_lines=[line.strip() for line in format_jumps(found.jumps, found.refused)] if found.jumps else [],
        needed_lines=list(format_needed(found)),
        raw=list(islice(raw, REPLIES_SHOWN)),
        raw_count=len(raw),
        videos=videos,
        folder=FOLDER,
        **quality_values(benchmark_quality(benchmark)),
    )


def _writers(benchmark: Benchmark) -> list[str]:
    found = chain((row.extra for row in benchmark.read(CHAINS)), (row.extra for row in benchmark.read(DIALOGUES)))
    return sorted({str(extra["writer"]) for extra in found if "writer" in extra})


def constructed_videos(benchmark: Benchmark) -> Iterator[ConstructedVideo]:
    """Every video with constructed content, in the benchmark's order, one at a time."""
    tables, number = _Tables(benchmark), 1
    for video in benchmark.read(VIDEOS):
        if found := tables.video(video, f"{number:04d}.html"):
            number += 1
            yield found


class _Tables:
    """Constructed content by video, read when it is asked for."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._clips = benchmark.table(CLIPS).grouped()
        self._chains = benchmark.table(CHAINS).grouped()
        self._dialogues = benchmark.table(DIALOGUES).grouped()
        self._scenes = benchmark.table(SCENES).grouped()
        self._paths = benchmark.table(PATHS).grouped()
        tables: tuple[Table[Any], ...] = (CLIPS, SCENES, CHAINS, DIALOGUES)
        rows = chain.from_iterable(benchmark.table(table).raw() for table in tables)
        video_of = KeyIndex((row["id"], row["video_id"]) for row in rows).last
        self._linkages = benchmark.table(LINKAGES).grouped(lambda row: video_of(row["source"]["unit_id"]))
        self._drafts = benchmark.table(REWRITES).grouped(lambda row: video_of(row["linkage"]["source"]["unit_id"]))
        self._gates = benchmark.table(GATES).grouped(lambda row: video_of(row["unit_id"]))

    def video(self, video: Video, file: str) -> ConstructedVideo | None:
        """A video with its constructed content; None if it has none."""
        chains, dialogues = list(self._chains.get(video.id, ())), list(self._dialogues.get(video.id, ()))
        if not chains and not dialogues:
            return None
        clips, scenes = list(self._clips.get(video.id, ())), list(self._scenes.get(video.id, ()))
        gates = list(self._gates.get(video.id, ()))
        linkages = rows_by(self._linkages.get(video.id, ()), "source.unit_id")
        drafts = rows_by(self._drafts.get(video.id, ()), "linkage.source.unit_id")
        checked = {(turn.unit_id, turn.index): turn for turn in checked_turns([*chains, *dialogues], gates)}
        unwritten = rows_by([gate for gate in gates if gate.outcome is GateOutcome.UNWRITTEN], "unit_id")
        number: dict[str, int] = {unit.id: n for n, unit in enumerate(chains, 1)}
        clip_number: dict[str, int] = {clip.id: n for n, clip in enumerate(clips, 1)}
        activities = {clip.id: clip_activity(clip) for clip in clips}
        shown = ConstructedVideo(video, file)
        for unit in chains:
            leads: dict[int, list[tuple[str, str]]] = defaultdict(list)
            for linkage in linkages.get(unit.id, ()):
                target = f"{number.get(linkage.target.unit_id, 0)}.{linkage.target.turn_index + 1}"
                leads[linkage.source.turn_index].append((linkage.relation, target))
            title = f"Chain {number[unit.id]}"
            if unit.clip_id is not None:
                title += f": {activities.get(unit.clip_id) or f'clip {unit.clip_id}'}"
            shown.chains.append(_unit(checked, unit.id, title, unit.turns, leads))
            for draft in drafts.get(unit.id, ()):
                ends = (draft.linkage.source, draft.linkage.target)
                source, target = (f"{number.get(ref.unit_id, 0)}.{ref.turn_index + 1}" for ref in ends)
                shown.drafts.append((source, target, draft))
        for dialogue in dialogues:
            parts = sorted({clip_number.get(clip, 0) for clip in dialogue.clip_ids})
            about = f"clip{'s' if len(parts) > 1 else ''} {', '.join(map(str, parts))}" if parts else "the whole video"
            task = group_title("task", dialogue.task) if dialogue.task else "Dialogue"
            shown.dialogues.append(_unit(checked, dialogue.id, f"{task}, {about}", dialogue.turns, {}))
        for path in self._paths.get(video.id, ()):
            steps = [(f"{number.get(s.ref.unit_id, 0)}.{s.ref.turn_index + 1}", s.turn) for s in path.steps]
            shown.paths.append(tuple(f"{place}*" if turn is not None else place for place, turn in steps))
        for scene in scenes:
            shown.scenes.append((", ".join(str(clip_number.get(clip, 0)) for clip in scene.clip_ids), scene))
        for name in (*clip_number, *(s.id for s in scenes), *number, *(d.id for d in dialogues)):
            shown.unwritten += unwritten.get(name, ())
        return shown


def _unit(
    checked: Mapping[tuple[str, int], CheckedTurn],
    name: str,
    title: str,
    turns: Sequence[Turn],
    leads: Mapping[int, list[tuple[str, str]]],
) -> ConstructedDialogue:
    whole = dict.fromkeys(
        _describe_flag(gate) for n in range(len(turns)) for gate in checked[name, n].flags if gate.turn_index is None
    )
    return ConstructedDialogue(
        name,
        title,
        tuple(
            ConstructedTurn(n + 1, turn, _describe_turn(checked[name, n]), tuple(leads.get(n, ())))
            for n, turn in enumerate(turns)
        ),
        tuple(whole),
    )


def _describe_turn(turn: CheckedTurn) -> TurnNotes:
    """The checks of a turn in words. Flags of its whole chain or dialogue are left out."""
    verified = turn.result("verified")
    if verified is None or verified.outcome is GateOutcome.UNCHECKED:
        verdict, seen = "", ""
    else:
        verdict = verdict_of(verified)
        seen = _describe_verdict(verified, verdict)
    facts = [fact for fact in (_evidence(turn), _dependence(turn), _difficulty(turn)) if fact]
    # The verdict says all, unless its moment is elsewhere.
    shown = [gate for gate in turn.flags if gate_name(gate) != VERIFIED or gate.extra.get(ELSEWHERE_KEY)]
    flags = [_describe_flag(gate) for gate in shown if gate.turn_index is not None]
    return TurnNotes(verdict, seen, tuple(facts), tuple(dict.fromkeys(flags)))


def _describe_flag(gate: GateResult) -> str:
    """A flag as a check and its reason, such as `Needs no video: a model answers it`."""
    check = check_of(gate_name(gate))
    title = _FAULTS[check] if check is not None else gate_name(gate)
    return f"{title}: {gate.reason or gate_name(gate)}"


def _describe_verdict(gate: GateResult, verdict: str) -> str:
    moment = gate.extra.get("moment_s")
    said = len(gate.extra.get("verdicts", ()))
    ground = [f"at {moment:.1f} s"] if isinstance(moment, int | float) else []
    ground += [f"{round((gate.value or 0) * said)} of {said} verdicts"] if said > 1 and gate.value is not None else []
    seen = gate.extra.get("seen") or gate.reason
    inside = f" ({', '.join(ground)})" if ground else ""
    return f"{_VERDICTS[verdict]}{inside}{f': {seen}' if seen else '.'}"


def _evidence(turn: CheckedTurn) -> str:
    if not turn.turn.evidence:
        return ""
    stretches = ", ".join(f"{part.start_s:.1f}–{part.end_s:.1f} s" for part in turn.turn.evidence)
    asked: tuple[tuple[CheckName, str], ...] = (("answerable", "enough"), ("evidence", "needed"))
    # A check that it did not pass is a flag, which gives the reason.
    passed = " and ".join(title for name, title in asked if turn.outcomes.get(name) is GateOutcome.PASSED)
    return f"Evidence {stretches} ({passed})" if passed else f"Evidence {stretches}"


def _dependence(turn: CheckedTurn) -> str:
    depth = turn.value("depends")
    if depth is None or turn.outcomes.get("depends") is not GateOutcome.PASSED:
        return ""
    return f"Rests on {depth:.0f} earlier turn{'' if depth == 1 else 's'}" if depth else "Rests on no earlier turn"


def _difficulty(turn: CheckedTurn) -> str:
    share = turn.value("difficulty")
    if share is None:
        return ""
    return f"{100 * share:.0f} % of the attackers answer it" if share else "No attacker answers it"

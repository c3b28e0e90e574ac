"""Pages about a constructed benchmark: its questions, the relations between them, and the results of the checks."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from jinja2 import Environment

from reeltalk.analysis.dialogues import clip_activity
from reeltalk.analysis.standings import type_title
from reeltalk.metrics.counting import count_benchmark, format_jumps
from reeltalk.metrics.turn_checks import benchmark_quality, checked_turns
from reeltalk.pages.dataset import quality_values
from reeltalk.pages.turn_notes import TurnNotes, describe_flag, describe_turn
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, QAChain, Turn
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.media import Clip, Scene, Video
from reeltalk.schema.rewriting import Rewrite
from reeltalk.store.benchmark import Benchmark
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
)

PAGE: Final = "construction.html"
FOLDER: Final = "construction"
REPLIES_SHOWN: Final = 40
"""Raw replies on the first page; the table has all."""


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


def is_constructed(benchmark: Benchmark) -> bool:
    """True if a step of `construct` other than `objects` wrote to the benchmark."""
    stages = {entry.stage for entry in benchmark.manifest.files.values()}
    return any(stage.startswith("construct ") and stage != "construct objects" for stage in stages)


def write_construction(
    benchmark: Benchmark,
    folder: Path,
    environment: Environment,
    *,
    page: str = PAGE,
    links: Sequence[tuple[str, str]] = (),
) -> Path:
    """Write the pages: an overview, and one for each video.

    Args:
        benchmark: A benchmark that `reeltalk construct` wrote.
        folder: An existing folder.
        environment: Where the templates are.
        page: Name of the first page.
        links: Other pages of the site: texts and file names.

    Returns:
        Path of the first page.

    Raises:
        InputError: A table is damaged.
    """
    videos = constructed_videos(benchmark)
    (folder / FOLDER).mkdir()
    template = environment.get_template("constructed_video.html")
    for number, shown in enumerate(videos):
        html = template.render(
            root="../",
            first=page,
            shown=shown,
            before=videos[number - 1] if number else None,
            after=videos[number + 1] if number + 1 < len(videos) else None,
        )
        (folder / FOLDER / shown.file).write_text(html, encoding="utf-8", newline="\n")
    found = count_benchmark(benchmark)
    tasks = sorted({task for task, _ in found.tasks})
    gates = sorted({gate for gate, _ in found.gates})
    raw = [gate for gate in benchmark.read(GATES) if gate.raw]
    html = environment.get_template("construction.html").render(
        root="",
        name=benchmark.manifest.name,
        writers=_writers(benchmark),
        found=found,
        tasks=[(task, found.tasks[task, "single"], found.tasks[task, "cross"]) for task in tasks],
        outcomes=[outcome.value for outcome in GateOutcome],
        gates=[(gate, [found.gates[gate, outcome.value] for outcome in GateOutcome]) for gate in gates],
        reasons=found.reasons.most_common(),
        jump_lines=[line.strip() for line in format_jumps(found.jumps, found.refused)] if found.jumps else [],
        raw=raw[:REPLIES_SHOWN],
        raw_count=len(raw),
        videos=videos,
        folder=FOLDER,
        links=links,
        **quality_values(benchmark_quality(benchmark)),
    )
    (folder / page).write_text(html, encoding="utf-8", newline="\n")
    return folder / page


def _writers(benchmark: Benchmark) -> list[str]:
    rows = (*benchmark.read(CHAINS), *benchmark.read(DIALOGUES))
    return sorted({str(row.extra["writer"]) for row in rows if "writer" in row.extra})


def constructed_videos(benchmark: Benchmark) -> list[ConstructedVideo]:
    """Every video with constructed content, in the benchmark's order."""
    tables = _Tables(benchmark)
    shown: list[ConstructedVideo] = []
    for video in benchmark.read(VIDEOS):
        if found := tables.video(video, f"{len(shown) + 1:04d}.html"):
            shown.append(found)
    return shown


class _Tables:
    """Constructed content, grouped by video and clip."""

    def __init__(self, benchmark: Benchmark) -> None:
        self.clips: dict[str, list[Clip]] = defaultdict(list)
        self.chains: dict[str, list[QAChain]] = defaultdict(list)
        self.dialogues: dict[str, list[Dialogue]] = defaultdict(list)
        self.scenes: dict[str, list[Scene]] = defaultdict(list)
        self.paths: dict[str, list[DialoguePath]] = defaultdict(list)
        for clip in benchmark.read(CLIPS):
            self.clips[clip.video_id].append(clip)
        for chain in benchmark.read(CHAINS):
            self.chains[chain.video_id].append(chain)
        for dialogue in benchmark.read(DIALOGUES):
            self.dialogues[dialogue.video_id].append(dialogue)
        for scene in benchmark.read(SCENES):
            self.scenes[scene.video_id].append(scene)
        for path in benchmark.read(PATHS):
            self.paths[path.video_id].append(path)
        self.linkages: dict[str, list[Linkage]] = defaultdict(list)
        for linkage in benchmark.read(LINKAGES):
            self.linkages[linkage.source.unit_id].append(linkage)
        self.drafts: dict[str, list[Rewrite]] = defaultdict(list)
        for rewrite in benchmark.read(REWRITES):
            self.drafts[rewrite.linkage.source.unit_id].append(rewrite)
        units: list[QAChain | Dialogue] = [*benchmark.read(CHAINS), *benchmark.read(DIALOGUES)]
        gates = list(benchmark.read(GATES))
        self.checked = {(turn.unit_id, turn.index): turn for turn in checked_turns(units, gates)}
        self.unwritten: dict[str, list[GateResult]] = defaultdict(list)
        for gate in gates:
            if gate.outcome is GateOutcome.UNWRITTEN:
                self.unwritten[gate.unit_id].append(gate)

    def video(self, video: Video, file: str) -> ConstructedVideo | None:
        """A video with its constructed content; None if it has none."""
        chains, dialogues = self.chains[video.id], self.dialogues[video.id]
        if not chains and not dialogues:
            return None
        number: dict[str, int] = {chain.id: n for n, chain in enumerate(chains, 1)}
        clip_number: dict[str, int] = {clip.id: n for n, clip in enumerate(self.clips[video.id], 1)}
        activities = {clip.id: clip_activity(clip) for clip in self.clips[video.id]}
        shown = ConstructedVideo(video, file)
        for chain in chains:
            leads: dict[int, list[tuple[str, str]]] = defaultdict(list)
            for linkage in self.linkages[chain.id]:
                target = f"{number.get(linkage.target.unit_id, 0)}.{linkage.target.turn_index + 1}"
                leads[linkage.source.turn_index].append((linkage.relation, target))
            title = f"Chain {number[chain.id]}"
            if chain.clip_id is not None:
                title += f": {activities.get(chain.clip_id) or f'clip {chain.clip_id}'}"
            shown.chains.append(self._unit(chain.id, title, chain.turns, leads))
            for draft in self.drafts[chain.id]:
                ends = (draft.linkage.source, draft.linkage.target)
                source, target = (f"{number.get(ref.unit_id, 0)}.{ref.turn_index + 1}" for ref in ends)
                shown.drafts.append((source, target, draft))
        for dialogue in dialogues:
            parts = sorted({clip_number.get(clip, 0) for clip in dialogue.clip_ids})
            about = f"clip{'s' if len(parts) > 1 else ''} {', '.join(map(str, parts))}" if parts else "the whole video"
            task = type_title("task", dialogue.task) if dialogue.task else "Dialogue"
            shown.dialogues.append(self._unit(dialogue.id, f"{task}, {about}", dialogue.turns, {}))
        for path in self.paths[video.id]:
            steps = [(f"{number.get(s.ref.unit_id, 0)}.{s.ref.turn_index + 1}", s.turn) for s in path.steps]
            shown.paths.append(tuple(f"{place}*" if turn is not None else place for place, turn in steps))
        for scene in self.scenes[video.id]:
            shown.scenes.append((", ".join(str(clip_number.get(clip, 0)) for clip in scene.clip_ids), scene))
        for name in (*clip_number, *(s.id for s in self.scenes[video.id]), *number, *(d.id for d in dialogues)):
            shown.unwritten += self.unwritten[name]
        return shown

    def _unit(
        self, name: str, title: str, turns: Sequence[Turn], leads: Mapping[int, list[tuple[str, str]]]
    ) -> ConstructedDialogue:
        whole = dict.fromkeys(
            describe_flag(gate)
            for n in range(len(turns))
            for gate in self.checked[name, n].flags
            if gate.turn_index is None
        )
        return ConstructedDialogue(
            name,
            title,
            tuple(
                ConstructedTurn(n + 1, turn, describe_turn(self.checked[name, n]), tuple(leads.get(n, ())))
                for n, turn in enumerate(turns)
            ),
            tuple(whole),
        )

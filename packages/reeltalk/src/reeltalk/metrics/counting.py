"""Counts of a constructed benchmark: by type, relation, skill and task, and in words."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from reeltalk.metrics.uncertainty import Proportion, wilson
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.gates import LEAK, GateOutcome
from reeltalk.schema.labels import Skill
from reeltalk.schema.paths import LANDING, WALK
from reeltalk.schema.rewriting import NEEDS_KEY, RESTS_ON, catalogue, published_methods
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, DIALOGUES, GATES, LINKAGES, PATHS, REWRITES, SCENES, SPEECH

GRAPH: Final = "graph"
"""Name of the writer that asks graphs, in `extra` of a row."""


@dataclass(frozen=True)
class Lengths:
    """Mean lengths of chains or dialogues."""

    turns: int
    units: int
    question_words: float
    answer_words: float

    @property
    def turns_a_unit(self) -> float:
        """Mean number of turns of a chain or dialogue."""
        return self.turns / self.units if self.units else 0.0


@dataclass(frozen=True)
class Jumps:
    """How often walks jump if they can, and how many links they can take."""

    stated: float | None
    """The requested probability; None if unknown."""
    taken: Proportion
    """Jumps of all paths, with Wilson's interval: every chance is decided by an independent draw."""
    links: int
    """Pairs of turns that linkages relate and that construction has checked."""
    landed: int
    """Pairs at which a walk can land."""


@dataclass
class BenchmarkCounts:
    """Counts of a benchmark."""

    ours: Lengths
    """Chains and dialogues that a writer wrote."""
    others: Lengths | None
    """Imported dialogues, for comparison."""
    question_types: Counter[str] = field(default_factory=Counter)
    other_types: Counter[str] = field(default_factory=Counter)
    relations: Counter[str] = field(default_factory=Counter)
    skills: Counter[str] = field(default_factory=Counter)
    methods: Counter[str] = field(default_factory=Counter)
    coherent: int = 0
    unchecked: int = 0
    """Drafts that no judge has checked."""
    not_offered: tuple[str, ...] = ()
    """SVBench's methods of rewriting that a graph cannot carry out; empty if no graph wrote drafts."""
    skills_not_offered: tuple[str, ...] = ()
    """Skills that no method of a graph asks for."""
    grounded: int = 0
    """Linkages that name the facts that both turns share."""
    needed: Counter[str] = field(default_factory=Counter)
    """Linkages by relation with a draft that cannot be answered without the earlier clip or turn, as far as known."""
    tasks: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Dialogues by task and by kind of scene."""
    checklists: int = 0
    scenes: Counter[str] = field(default_factory=Counter)
    utterances: Counter[str] = field(default_factory=Counter)
    """Spoken lines by video."""
    paths: int = 0
    path_turns: int = 0
    jumps: Jumps | None = None
    """None if no walks were drawn."""
    refused: Counter[str] = field(default_factory=Counter)
    """Links at which no walk can land, by reason."""
    gates: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Checks by gate and outcome."""
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Why units were not written or were dropped, by gate and reason."""
    leaks: Counter[str] = field(default_factory=Counter)
    """Turns that were asked without the video, by outcome."""
    malformed: int = 0
    """Units without a usable reply of a model; the raw replies are in the table of gates."""


def list_words(text: str) -> list[str]:
    """The words of a text in their order; of Chinese, the characters."""
    return re.findall(r"[\u3400-\u4dbf\u4e00-\u9fff]|[^\W_\u3400-\u4dbf\u4e00-\u9fff]+(?:['\u2019][a-z]+)?", text)


def count_words(text: str) -> int:
    """Number of words of a text; of Chinese, number of characters."""
    return len(list_words(text))


@dataclass
class _LengthSums:
    units: int = 0
    turns: int = 0
    answers: int = 0
    question_words: int = 0
    answer_words: int = 0

    def add(self, turns: Sequence[Turn]) -> None:
        self.units += 1
        self.turns += len(turns)
        self.question_words += sum(count_words(turn.question) for turn in turns)
        first = [turn.references[0] for turn in turns if turn.references]
        self.answers += len(first)
        self.answer_words += sum(map(count_words, first))

    def means(self) -> Lengths:
        return Lengths(
            turns=self.turns,
            units=self.units,
            question_words=self.question_words / self.turns if self.turns else 0.0,
            answer_words=self.answer_words / self.answers if self.answers else 0.0,
        )


def count_benchmark(benchmark: Benchmark) -> BenchmarkCounts:
    """Count the parts of a benchmark, row by row.

    Raises:
        InputError: A table is damaged.
    """
    ours, others = _LengthSums(), _LengthSums()
    found = BenchmarkCounts(ours.means(), None)
    chains, dialogues = benchmark.read(CHAINS), benchmark.read(DIALOGUES)
    units: Iterable[QAChain | Dialogue] = chain[QAChain | Dialogue](chains, dialogues)
    for unit in units:
        is_own = "writer" in unit.extra
        (ours if is_own else others).add(unit.turns)
        types = found.question_types if is_own else found.other_types
        types.update(label for turn in unit.turns for label in turn.labels.get("vdact.question_type", ()))
        if is_own and isinstance(unit, Dialogue):
            found.tasks[unit.task or "none", str(unit.extra.get("kind", "single"))] += 1
            found.checklists += sum(turn.checklist is not None for turn in unit.turns)
    found.ours, found.others = ours.means(), others.means() if others.units else None
    by_graph = False
    for linkage in benchmark.read(LINKAGES):
        found.relations[linkage.relation] += 1
        found.grounded += RESTS_ON in linkage.extra
        by_graph |= linkage.extra.get("writer") == GRAPH
    if by_graph:
        offered = {method.skill for method in catalogue().values() if method.kinds}
        found.not_offered = tuple(name for name, method in published_methods().items() if not method.kinds)
        found.skills_not_offered = tuple(skill for skill in Skill if skill not in offered)
    needed: set[tuple[object, ...]] = set()
    for rewrite in benchmark.read(REWRITES):
        if NEEDS_KEY in rewrite.draft.extra:
            needed.add((rewrite.linkage.relation, rewrite.linkage.source, rewrite.linkage.target))
        found.skills[rewrite.skill] += 1
        found.methods[rewrite.method] += 1
        found.coherent += rewrite.coherent is True
        found.unchecked += rewrite.coherent is None
    found.needed.update(str(relation) for relation, *_ in needed)
    found.utterances.update(spoken.video_id for spoken in benchmark.read(SPEECH))
    found.scenes.update(scene.kind for scene in benchmark.read(SCENES))
    walks: list[tuple[int, int]] = []
    for path in benchmark.read(PATHS):
        found.paths += 1
        found.path_turns += len(path.steps)
        if (walk := path.extra.get(WALK)) is not None:
            walks.append((int(walk["jumps"]), int(walk["chances"])))
    for gate in benchmark.read(GATES):
        found.gates[gate.gate, gate.outcome.value] += 1
        if gate.gate.endswith(f":{LANDING}") and gate.outcome is not GateOutcome.PASSED:
            found.refused[gate.reason or "no reason given"] += 1
        if gate.outcome is GateOutcome.UNWRITTEN or (gate.outcome is GateOutcome.DROPPED and gate.turn_index is None):
            found.reasons[gate.gate, gate.reason or "no reason given"] += 1
            found.malformed += bool(gate.raw)
        found.leaks[gate.outcome.value] += LEAK in gate.gate and gate.turn_index is not None
    found.jumps = _jumps(benchmark, walks, found)
    return found


def _jumps(benchmark: Benchmark, walks: Sequence[tuple[int, int]], found: BenchmarkCounts) -> Jumps | None:
    """Jumps of walks, each with its jumps and its chances."""
    if not walks:
        return None
    landing = {outcome: n for (gate, outcome), n in found.gates.items() if gate.endswith(f":{LANDING}")}
    entry = benchmark.manifest.files.get(PATHS.file_name)
    return Jumps(
        stated=entry.settings.get("jump_probability") if entry is not None else None,
        taken=wilson(sum(jumps for jumps, _ in walks), sum(chances for _, chances in walks)),
        links=sum(landing.values()),
        landed=landing.get(GateOutcome.PASSED.value, 0),
    )


def format_needed(found: BenchmarkCounts) -> Iterable[str]:
    """How many linkages need the earlier clip or turn, by relation; nothing where no writer says so."""
    if found.needed:
        each = ", ".join(f"{name} {found.needed[name]:,} of {n:,}" for name, n in found.relations.most_common())
        total, needed = found.relations.total(), found.needed.total()
        yield f"linkages that cannot be answered without the earlier clip or turn: {needed:,} of {total:,} ({each})"


def format_counts(found: BenchmarkCounts) -> Iterable[str]:
    """The counts as lines of text."""
    yield f"{found.ours.units:,} chains and dialogues, {found.ours.turns:,} turns: {_shown(found.ours)}"
    if found.utterances:
        yield format_speech(found.utterances)
    if found.others is not None:
        yield f"beside {found.others.units:,} from elsewhere, {found.others.turns:,} turns: {_shown(found.others)}"
    for title, counts in (
        ("question types", found.question_types),
        ("relations", found.relations),
        ("skills of drafts", found.skills),
        ("methods of drafts", found.methods),
    ):
        if counts:
            yield f"{title}: {', '.join(f'{name} {n:,}' for name, n in counts.most_common())}"
    if found.skills:
        unverified = f"; {found.unchecked:,} more are unverified" if found.unchecked else ""
        verified = found.skills.total() - found.unchecked
        yield f"drafts coherent with their neighbours: {found.coherent:,} of {verified:,}{unverified}"
    if found.relations:
        yield f"linkages that name what both turns share: {found.grounded:,} of {found.relations.total():,}"
    yield from format_needed(found)
    if found.not_offered:
        skills = ", ".join(found.skills_not_offered)
        yield (
            f"rewriting from graphs: {len(found.not_offered)} of SVBench's {len(published_methods())} methods are not "
            f"offered{f', and no question for the skills {skills}' if skills else ''}"
        )
    for task in dict.fromkeys(task for task, _ in sorted(found.tasks)):
        kinds = ", ".join(f"{kind} {n:,}" for (name, kind), n in sorted(found.tasks.items()) if name == task)
        yield f"dialogues, {task}: {kinds}"
    if found.checklists:
        yield f"checklists: {found.checklists:,} of five items"
    if found.paths:
        yield f"paths: {found.paths:,}, {found.path_turns / found.paths:.1f} turns each"
    if found.jumps is not None:
        yield from format_jumps(found.jumps, found.refused)
    for gate in dict.fromkeys(gate for gate, _ in sorted(found.gates)):
        outcomes = ", ".join(f"{outcome} {n:,}" for (name, outcome), n in sorted(found.gates.items()) if name == gate)
        yield f"{gate}: {outcomes}"
    if found.leaks:
        yield (
            f"questions that need no video: {found.leaks['replaced']:,} replaced by others, {found.leaks['dropped']:,} "
            f"taken out, {found.leaks['flagged']:,} flagged and kept"
        )
    if found.malformed:
        yield f"unusable replies: {found.malformed:,} units are unwritten for them; all are kept in the table of gates"
    for (gate, reason), n in found.reasons.most_common(12):
        yield f"  {gate}: {n:,} times, {reason}"


def format_speech(utterances: Counter[str]) -> str:
    """Number of spoken lines, and of the videos that have any."""
    return f"speech: {utterances.total():,} utterances in {len(utterances):,} videos"


def format_jumps(jumps: Jumps, refused: Counter[str]) -> Iterable[str]:
    """Jumps of walks, and why links are no chance to jump, as lines of text."""
    stated = f", stated as {jumps.stated:g}" if jumps.stated is not None else ""
    yield f"jumps where a path can jump{stated}: {_share(jumps.taken)}"
    yield f"links that a walk can land at: {jumps.landed:,} of {jumps.links:,}"
    for reason, n in refused.most_common():
        yield f"  no chance to jump: {n:,} links, {reason}"


def _share(of: Proportion) -> str:
    if of.share is None:
        return "no chance"
    interval = f" [{of.low:.2f}, {of.high:.2f}]" if of.low is not None and of.high is not None else ""
    return f"{of.share:.2f}{interval} of {of.trials:,} chances"


def _shown(of: Lengths) -> str:
    return f"{of.turns_a_unit:.2f} a unit, questions of {of.question_words:.1f} words, answers of {of.answer_words:.1f}"

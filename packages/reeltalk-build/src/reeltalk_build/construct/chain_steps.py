"""The steps after SVBench: chains, linkages with rewriting drafts, and paths."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise

from reeltalk.schema.dialogue import DialoguePath, Linkage, QAChain
from reeltalk.schema.entrances import ANSWERED_BEFORE, Entrance, EntranceVerdict, is_graph_written
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.paths import PathStatistics, draw_paths
from reeltalk.schema.record import ClipId
from reeltalk.schema.rewriting import Rewrite
from reeltalk.store.tables import CHAINS, CLIPS, DIALOGUES, FRAMES, LINKAGES, PATHS, REWRITES, SIGHTINGS, SPEECH, VIDEOS
from reeltalk_build.construct.balance import Label, preferred_between, preferred_labels
from reeltalk_build.construct.canaries import Enough, judge_the_judges
from reeltalk_build.construct.gate_results import Subject
from reeltalk_build.construct.leakage import leak_of
from reeltalk_build.construct.linting import repeated
from reeltalk_build.construct.mending import chain_shortener, remove_leaks
from reeltalk_build.construct.model_rewriting import REWRITE_GATE
from reeltalk_build.construct.revising import write_checked_chain
from reeltalk_build.construct.rewrite_checks import DraftFault, draft_gates, find_draft_faults, flag_recurring_drafts
from reeltalk_build.construct.step import WRITER, ConstructRun, StepResult, StepSpec, with_tags
from reeltalk_build.construct.writers import (
    RewriteResult,
    Surroundings,
    Unwritten,
)


def write_chains(run: ConstructRun) -> StepResult:
    """A chain for every clip. Each is linted and judged, and sent back to its writer with its faults.

    The chains of a video are written in order, since each one is written with those before it at hand; videos are
    written side by side.
    """
    wanted = _wanted_labels(run)
    gates = judge_the_judges(
        run,
        "chains",
        lambda heard, video, enough: _write_chains_of(heard, video, run.clips_of(video.id), wanted, enough=enough),
    )
    report = run.report_each("writing chains", run.clip_count)

    def write(video: Video) -> tuple[list[QAChain], list[GateResult]]:
        return _write_chains_of(run, video, run.clips_of(video.id), wanted, report)

    made = run.collect(None, run.videos, write, CHAINS)
    made.gates.extend(gates)
    return made


def join_chains(run: ConstructRun, made: StepResult) -> StepResult:
    """The chains of all videos, without turns that their own question or an earlier turn answers."""
    shorter = chain_shortener(run.settings.min_turns)
    chains, gates = remove_leaks(made.rows[CHAINS], made.gates, shorter, run.equivalence)
    return StepResult({CHAINS: chains}, run.benchmark.spool(GateResult, chain(gates, repeated(chains))))


def _wanted_labels(run: ConstructRun) -> dict[ClipId, tuple[Label, ...]]:
    """The labels that each clip's chain is to get, so that labels of others in the benchmark become balanced."""
    if run.settings.balance is None:
        return {}
    tables = (run.benchmark.table(CHAINS), run.benchmark.table(DIALOGUES))
    of_others = (turn for rows in tables for unit in rows if WRITER not in unit.extra for turn in unit.turns)
    spoken = {utterance["video_id"] for utterance in run.benchmark.table(SPEECH).raw()}
    clips = (clip for video in run.videos for clip in run.clips_of(video.id))
    return preferred_labels(run.settings, clips, of_others, spoken)


def _write_chains_of(
    run: ConstructRun,
    video: Video,
    clips: Sequence[Clip],
    wanted: Mapping[ClipId, tuple[Label, ...]],
    report: Callable[[], None] = lambda: None,
    enough: Enough = lambda: False,
) -> tuple[list[QAChain], list[GateResult]]:
    captions: dict[str, str] = {}

    def caption(index: int) -> str:
        """The caption of a neighbouring clip; the step that writes scenes asks for the same, and reports on it."""
        if not run.writer.looks_around or not 0 <= index < len(clips):
            return ""
        clip = clips[index]
        if clip.id not in captions:
            found, _ = run.writer.caption(video, clip)
            captions[clip.id] = "" if isinstance(found, Unwritten) else found
        return captions[clip.id]

    chains: list[QAChain] = []
    gates: list[GateResult] = []
    for index, clip in enumerate(clips):
        if enough():
            break
        around = Surroundings(
            caption(index - 1),
            caption(index + 1),
            tuple(turn.question for chain in chains for turn in chain.turns),
            wanted.get(clip.id, ()),
        )
        chain, found = write_checked_chain(
            run.writer,
            video,
            clip,
            run.settings.quality,
            run.settings.attempts,
            least=run.settings.min_turns,
            language=run.settings.language,
            around=around,
            earlier=chains,
        )
        gates += found
        if chain is not None:
            gates += run.writer.list_replaced(chain.id)
            chains.append(with_tags(run, chain, gates))
        report()
    return chains, gates


class ChainsByVideo:
    """Written chains by video, in the order of their clips."""

    def __init__(self, run: ConstructRun) -> None:
        self._run = run
        self._chains = run.written_rows(CHAINS).grouped()

    def of(self, video_id: str) -> list[QAChain]:
        """The chains of a video."""
        order = {clip.id: number for number, clip in enumerate(self._run.clips_of(video_id))}
        chains = self._chains.get(video_id, ())
        return sorted(chains, key=lambda chain: order.get(chain.clip_id, -1) if chain.clip_id else -1)

    def adjacent(self) -> Iterator[tuple[Video, QAChain, QAChain]]:
        """Consecutive chains of each video."""
        for video in self._run.videos:
            for before, after in pairwise(self.of(video.id)):
                yield video, before, after

    @property
    def pairs(self) -> int:
        """Number of `adjacent`."""
        return sum(max(0, len(self._chains.get(video.id, ())) - 1) for video in self._run.videos)


def write_linkages(run: ConstructRun) -> StepResult:
    """Linkages between adjacent chains, and drafts that rewrite their later turns."""
    chains = ChainsByVideo(run)
    names = [after.id for _, _, after in chains.adjacent()] if run.settings.balance is not None else []
    relations = preferred_between(run.settings, names, "svbench.relation")
    skills = preferred_between(run.settings, names, "svbench.skill")

    def write(pair: tuple[Video, QAChain, QAChain]) -> tuple[list[Linkage], list[Rewrite], list[GateResult]]:
        video, before, after = pair
        found = run.writer.linkages(video, before, after, relations.get(after.id, ()))
        if isinstance(found, Unwritten):
            return [], [], [Subject.of(after).unwritten("linkage", found)]
        linkages, gates = found.linkages, found.rejected
        drafted = _write_rewrites(run, video, linkages, before, after, skills.get(after.id, ()))
        rewrites = list({rewrite.id: rewrite for rewrite in drafted.rewrites}.values())
        return linkages, rewrites, [*gates, *drafted.gates]

    return run.collect("linking chains", chains.adjacent(), write, LINKAGES, REWRITES, total=chains.pairs)


def join_linkages(run: ConstructRun, made: StepResult) -> StepResult:
    """The linkages and drafts of all videos; drafts that recur are marked."""
    drafts, gates = flag_recurring_drafts(made.rows[REWRITES])
    made.gates.extend(gates)
    return StepResult(made.rows | {REWRITES: drafts}, made.gates)


def _write_rewrites(
    run: ConstructRun,
    video: Video,
    linkages: Sequence[Linkage],
    before: QAChain,
    after: QAChain,
    skills: Sequence[str],
) -> RewriteResult:
    """Drafts for all linkages. Rules check those that neither a graph nor a writer with checks of its own wrote."""
    settings = run.settings
    together = run.writer.rewrites(
        video, linkages, before, after, drafts=settings.drafts, attempts=settings.attempts, skills=skills
    )
    if together is not None:
        return together
    found = RewriteResult([], [])
    for linkage in linkages:
        drafts = run.writer.rewrite(video, linkage, before, after)
        if isinstance(drafts, Unwritten):
            turn = linkage.target.turn_index
            found.gates.append(Subject.of(after).unwritten(REWRITE_GATE, drafts, turn=turn))
            continue
        for draft in drafts[: settings.drafts]:
            faults: list[DraftFault] = []
            if not is_graph_written(draft.draft):
                faults = find_draft_faults(draft.draft, linkage, before, after, language=settings.language)
            grave = any(fault.grave for fault in faults)
            outcome = GateOutcome.DROPPED if grave else GateOutcome.FLAGGED
            found.gates.extend(draft_gates(faults, linkage, draft.id, outcome))
            if faults and not grave:
                problems = (*draft.problems, *(fault.reason for fault in faults))
                draft = draft.model_copy(update={"coherent": False, "problems": problems})
            if not grave:
                found.rewrites.append(draft)
    return found


def write_paths(run: ConstructRun) -> StepResult:
    """Seeded walks along the links, and for every link a gate result: can a walk land on its target?"""
    chains = ChainsByVideo(run)
    video_of = {chain["id"]: chain["video_id"] for chain in run.benchmark.table(CHAINS, among=run.among).raw()}
    linkages = run.benchmark.table(LINKAGES).grouped(lambda row: video_of.get(row["source"]["unit_id"]))
    rewrites = run.benchmark.table(REWRITES).grouped(lambda row: video_of.get(row["linkage"]["source"]["unit_id"]))

    def walk(video: Video) -> tuple[list[DialoguePath], list[GateResult]]:
        own = chains.of(video.id)
        settings, statistics = run.settings, PathStatistics()
        paths, found = draw_paths(
            own,
            list(linkages.get(video.id, ())),
            list(rewrites.get(video.id, ())),
            partial(_stand, run, video),
            video_id=video.id,
            count=settings.paths,
            seed=settings.seed,
            jump_probability=settings.jump_probability,
            statistics=statistics,
        )
        gates = [landing.gate for landing in found]
        if own and statistics.different < len(paths):
            few = f"{statistics.different} different among {len(paths)} walks; there are {statistics.walks:,} in all"
            gates.append(Subject("video", video.id).gate("paths", GateOutcome.FLAGGED, few, value=statistics.different))
        return paths, gates

    return run.collect("walking", run.videos, walk, PATHS, signature=f"walk:{run.settings.seed}")


def _stand(
    run: ConstructRun, video: Video, entered: Sequence[Entrance], before: QAChain, after: QAChain
) -> list[EntranceVerdict]:
    """Whether paths may land here. The writer decides; a draft must reveal no answer."""
    found = [EntranceVerdict(False, ANSWERED_BEFORE) if one.reworded and _gives_away(one) else None for one in entered]
    left = [one for one, verdict in zip(entered, found, strict=True) if verdict is None]
    decided = iter(run.writer.stand(video, left, before, after) if left else ())
    return [next(decided) if verdict is None else verdict for verdict in found]


def _gives_away(entered: Entrance) -> bool:
    """True if a draft answers itself or a later turn, or if earlier turns answer the draft."""
    said = [(turn.question, turn.references[0]) for turn in entered.before if turn.references]
    for turn in (entered.turn, *entered.following):
        if leak_of(turn, said) is not None:
            return True
        said += [(turn.question, turn.references[0])] if turn.references else []
    return False


CHAIN_STEPS = (
    StepSpec(
        "chains",
        write_chains,
        reads=(VIDEOS, CLIPS, SIGHTINGS, FRAMES, SPEECH),
        writes=(CHAINS,),
        settings=(
            "language",
            "limit",
            "seed",
            "min_turns",
            "max_turns",
            "quality",
            "attempts",
            "frames",
            "balance",
            "targets",
        ),
        join=join_chains,
    ),
    StepSpec(
        "linkages",
        write_linkages,
        reads=(VIDEOS, CLIPS, CHAINS, SPEECH),
        writes=(LINKAGES, REWRITES),
        settings=("language", "limit", "seed", "pairs", "drafts", "attempts", "frames", "balance"),
        join=join_linkages,
    ),
    StepSpec(
        "paths",
        write_paths,
        reads=(VIDEOS, CLIPS, CHAINS, LINKAGES, REWRITES),
        writes=(PATHS,),
        settings=("language", "limit", "seed", "paths", "jump_probability"),
    ),
)

"""The steps after SVBench: chains, linkages with rewriting drafts, and paths."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise

from reeltalk.construct.balance import Label, wanted_between, wanted_labels
from reeltalk.construct.leakage import leak_of
from reeltalk.construct.linting import repeated
from reeltalk.construct.model_rewriting import REWRITE_GATE
from reeltalk.construct.quality import (
    ReportsReplaced,
    chain_shortener,
    remove_leaks,
    unwritten_gate,
    write_checked_chain,
    write_checked_linkages,
)
from reeltalk.construct.rewrite_checks import DraftFault, draft_gates, find_draft_faults, flag_recurring_drafts
from reeltalk.construct.step import WRITER, ConstructRun, StepResult, StepSpec, sign_rows, with_tags
from reeltalk.construct.writers import (
    ChecksAllEntrances,
    ChecksEntrances,
    RewriteResult,
    RewritesPairs,
    SeesSurroundings,
    Surroundings,
    Unwritten,
)
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, QAChain
from reeltalk.schema.entrances import TOLD, Entrance, EntranceVerdict, is_graph_written, verdict_by_rule
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.paths import PathStatistics, VideoLinks, draw_paths, links_by_video
from reeltalk.schema.record import ClipId
from reeltalk.schema.rewriting import Rewrite
from reeltalk.store.tables import CHAINS, CLIPS, DIALOGUES, FRAMES, LINKAGES, PATHS, REWRITES, SIGHTINGS, SPEECH, VIDEOS


def write_chains(run: ConstructRun) -> StepResult:
    """A chain for every clip. Each is linted and judged, and sent back to its writer with its faults.

    The chains of a video are written in order, since each one is written with those before it at hand; videos are
    written side by side.
    """
    clips = run.clips()
    wanted = _wanted_labels(run, clips)

    report = run.report_each("writing chains", sum(map(len, clips.values())))

    def write(video: Video) -> tuple[list[QAChain], list[GateResult]]:
        return _write_chains_of(run, video, clips[video.id], wanted, report)

    made = StepResult({CHAINS: []})
    for chains, gates in run.map_ordered(None, run.videos(), write):
        made.rows[CHAINS] += sign_rows(chains, run.writer.signature)
        made.gates += gates
    shorter = chain_shortener(run.settings.min_turns)
    made.rows[CHAINS], made.gates = remove_leaks(made.rows[CHAINS], made.gates, shorter, run.equivalence)
    made.gates += repeated(made.rows[CHAINS])
    return made


def _wanted_labels(run: ConstructRun, clips: Mapping[str, Sequence[Clip]]) -> dict[ClipId, tuple[Label, ...]]:
    """The labels that each clip's chain is to get, so that labels of others in the benchmark become balanced."""
    units: list[QAChain | Dialogue] = [*run.benchmark.read(CHAINS), *run.benchmark.read(DIALOGUES)]
    of_others = [turn for unit in units if WRITER not in unit.extra for turn in unit.turns]
    spoken = {utterance.video_id for utterance in run.benchmark.read(SPEECH)}
    return wanted_labels(run.settings, [clip for own in clips.values() for clip in own], of_others, spoken)


def _write_chains_of(
    run: ConstructRun,
    video: Video,
    clips: Sequence[Clip],
    wanted: Mapping[ClipId, tuple[Label, ...]],
    report: Callable[[], None],
) -> tuple[list[QAChain], list[GateResult]]:
    captions: dict[str, str] = {}

    def caption(index: int) -> str:
        """The caption of a neighbouring clip; the step that writes scenes asks for the same, and reports on it."""
        if not isinstance(run.writer, SeesSurroundings) or not 0 <= index < len(clips):
            return ""
        clip = clips[index]
        if clip.id not in captions:
            found, _ = run.writer.checked_caption(video, clip)
            captions[clip.id] = "" if isinstance(found, Unwritten) else found
        return captions[clip.id]

    chains: list[QAChain] = []
    gates: list[GateResult] = []
    for index, clip in enumerate(clips):
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
            if isinstance(run.writer, ReportsReplaced):
                gates += run.writer.list_replaced(chain.id)
            chains.append(with_tags(run, chain, gates))
        report()
    return chains, gates


def adjacent_chains(run: ConstructRun) -> list[tuple[Video, QAChain, QAChain]]:
    """Consecutive chains of each video, in the order of its clips."""
    chains = chains_by_video(run)
    return [(video, a, b) for video in run.videos() for a, b in pairwise(chains.get(video.id, ()))]


def chains_by_video(run: ConstructRun) -> dict[str, list[QAChain]]:
    """Chains by video, in the order of their clips."""
    order = {clip.id: n for clips in run.clips().values() for n, clip in enumerate(clips)}
    found: dict[str, list[QAChain]] = {}
    for chain in run.written_rows(CHAINS):
        found.setdefault(chain.video_id, []).append(chain)
    for chains in found.values():
        chains.sort(key=lambda chain: order.get(chain.clip_id, -1) if chain.clip_id else -1)
    return found


def write_linkages(run: ConstructRun) -> StepResult:
    """Linkages between adjacent chains, and drafts that rewrite their later turns."""
    pairs = adjacent_chains(run)
    names = [after.id for _, _, after in pairs]
    relations = wanted_between(run.settings, names, "svbench.relation")
    skills = wanted_between(run.settings, names, "svbench.skill")

    def write(pair: tuple[Video, QAChain, QAChain]) -> tuple[list[Linkage], list[Rewrite], list[GateResult]]:
        video, before, after = pair
        linkages, gates = write_checked_linkages(run.writer, video, before, after, relations.get(after.id, ()))
        drafted = _write_rewrites(run, video, linkages, before, after, skills.get(after.id, ()))
        return linkages, drafted.rewrites, [*gates, *drafted.gates]

    made = StepResult({LINKAGES: [], REWRITES: []})
    drafts: list[Rewrite] = []
    for linkages, rewrites, gates in run.map_ordered("linking chains", pairs, write):
        made.rows[LINKAGES] += sign_rows(linkages, run.writer.signature)
        drafts += _unique(rewrites)
        made.gates += gates
    drafts, gates = flag_recurring_drafts(drafts)
    made.rows[REWRITES] += sign_rows(drafts, run.writer.signature)
    made.gates += gates
    return made


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
    if isinstance(run.writer, RewritesPairs):
        return run.writer.rewrite_pair(
            video, linkages, before, after, drafts=settings.drafts, attempts=settings.attempts, skills=skills
        )
    found = RewriteResult([], [])
    for linkage in linkages:
        drafts = run.writer.rewrite(video, linkage, before, after)
        if isinstance(drafts, Unwritten):
            turn = linkage.target.turn_index
            found.gates.append(unwritten_gate(REWRITE_GATE, "chain", after.id, drafts, turn=turn))
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


def _unique(rewrites: Sequence[Rewrite]) -> list[Rewrite]:
    return list({rewrite.id: rewrite for rewrite in rewrites}.values())


def write_paths(run: ConstructRun) -> StepResult:
    """Seeded walks along the links, and for every link a gate result: can a walk land on its target?"""
    chains = chains_by_video(run)
    links = links_by_video(chains, run.benchmark.read(LINKAGES), run.benchmark.read(REWRITES))

    def walk(video: Video) -> tuple[list[DialoguePath], list[GateResult]]:
        own = chains.get(video.id, [])
        linked = links.get(video.id, VideoLinks([], []))
        settings, statistics = run.settings, PathStatistics()
        paths, found = draw_paths(
            own,
            linked.linkages,
            linked.rewrites,
            partial(_stand, run, video),
            video_id=video.id,
            count=settings.paths,
            seed=settings.seed,
            jump_probability=settings.jump_probability,
            statistics=statistics,
        )
        gates = [landing.gate for landing in found]
        if own and len(paths) < statistics.drawn:
            few = f"{len(paths)} different among {statistics.drawn} walks; there are {statistics.walks:,} in all"
            gates.append(
                GateResult(
                    gate="paths",
                    unit="video",
                    unit_id=video.id,
                    outcome=GateOutcome.FLAGGED,
                    reason=few,
                    value=len(paths),
                )
            )
        return paths, gates

    made = StepResult({PATHS: []})
    for paths, gates in run.map_ordered("walking", run.videos(), walk):
        made.rows[PATHS] += sign_rows(paths, f"walk:{run.settings.seed}")
        made.gates += gates
    return made


def _stand(
    run: ConstructRun, video: Video, entered: Sequence[Entrance], before: QAChain, after: QAChain
) -> list[EntranceVerdict]:
    """Whether paths may land here. The writer decides if it can, otherwise the rule; a draft must reveal no answer."""
    found = [EntranceVerdict(False, TOLD) if one.reworded and _gives_away(one) else None for one in entered]
    left = [one for one, verdict in zip(entered, found, strict=True) if verdict is None]
    writer = run.writer
    if isinstance(writer, ChecksAllEntrances):
        decided = iter(writer.stand(video, left, before, after) if left else ())
    elif isinstance(writer, ChecksEntrances):
        decided = (writer.stands(video, one, before, after) for one in left)
    else:
        decided = map(verdict_by_rule, left)
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
    ),
    StepSpec(
        "linkages",
        write_linkages,
        reads=(VIDEOS, CLIPS, CHAINS, SPEECH),
        writes=(LINKAGES, REWRITES),
        settings=("language", "limit", "seed", "pairs", "drafts", "attempts", "frames", "balance"),
    ),
    StepSpec(
        "paths",
        write_paths,
        reads=(VIDEOS, CLIPS, CHAINS, LINKAGES, REWRITES),
        writes=(PATHS,),
        settings=("language", "limit", "seed", "paths", "jump_probability"),
    ),
)

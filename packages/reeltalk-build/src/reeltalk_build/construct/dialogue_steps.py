"""The steps after MT-Video-Bench (arXiv 2510.17722): scenes, their suitability, and dialogues with checklists.

MT-Video-Bench merges neighbouring clips twice by their captions, and joins distant scenes by an object memory bank. Its
prompts and thresholds are not published. Here two captions describe one scene if they share enough of their content
words, which is deterministic, needs no model and has one threshold; a writer may decide itself.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, combinations
from typing import Final

from reeltalk.schema.dialogue import Dialogue
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.labels import Task
from reeltalk.schema.media import Clip, Scene, Video
from reeltalk.schema.record import ClipId, VideoId, derive_id
from reeltalk.store.tables import CLIPS, DIALOGUES, SCENES, SIGHTINGS, SPEECH, VIDEOS
from reeltalk_build.construct.canaries import Enough, judge_the_judges
from reeltalk_build.construct.gate_results import Subject
from reeltalk_build.construct.linting import TASK_LABEL, repeated, topic_words
from reeltalk_build.construct.mending import remove_leaks, shorten_dialogue
from reeltalk_build.construct.revising import write_checked_dialogue
from reeltalk_build.construct.settings import ConstructSettings
from reeltalk_build.construct.step import ConstructRun, GateResults, StepResult, StepSpec, with_tags
from reeltalk_build.construct.writers import TriedChecklist, Unwritten, Writer

CHECKLIST: Final = "checklist"
"""Gate of a checklist that is tried on the right answer and on wrong ones."""
MOST_SCENE_CLIPS: Final = 4
"""Most clips of a scene."""
MERGE_PASSES: Final = 2
"""MT-Video-Bench merges twice."""


def overlap(first: frozenset[str], second: frozenset[str]) -> float:
    """Overlap coefficient (Szymkiewicz and Simpson): common words as a share of the smaller set, 0 to 1; 0 if empty."""
    smaller = min(len(first), len(second))
    return len(first & second) / smaller if smaller else 0.0


Alike = Callable[[str, str], bool]
"""Decides if two neighbouring captions, the earlier first, describe one scene."""


def by_words(settings: ConstructSettings) -> Alike:
    """A rule by which captions describe one scene if they share enough of their content words."""

    def alike(before: str, after: str) -> bool:
        return overlap(topic_words(before), topic_words(after)) >= settings.merge_similarity

    return alike


def single_scenes(
    video_id: str,
    clips: Sequence[Clip],
    captions: Mapping[str, str],
    settings: ConstructSettings,
    *,
    writer: str,
    alike: Alike | None = None,
) -> list[Scene]:
    """Merge neighbouring clips with similar captions into scenes.

    Args:
        clips: Its clips in order of time.
        captions: Captions by clip. A clip without one becomes a separate scene.
        settings: Thresholds.
        writer: Signature of the writer of the captions.
        alike: Compares two captions; by their words by default.

    Returns:
        The scenes in order of time.
    """
    alike = alike or by_words(settings)
    groups = [([clip.id], captions.get(clip.id, "")) for clip in clips]
    for _ in range(MERGE_PASSES):
        merged: list[tuple[list[ClipId], str]] = []
        for ids, caption in groups:
            last = merged[-1] if merged else None
            fits = last is not None and len(last[0]) + len(ids) <= MOST_SCENE_CLIPS
            if last is not None and fits and last[1] and caption and alike(last[1], caption):
                merged[-1] = ([*last[0], *ids], f"{last[1]} {caption}".strip())
            else:
                merged.append((ids, caption))
        groups = merged
    return [
        Scene(
            id=derive_id("scene", video_id, ids),
            video_id=VideoId(video_id),
            clip_ids=tuple(ids),
            caption=caption,
            writer=writer,
        )
        for ids, caption in groups
    ]


NO_THEMES: Final = topic_words(
    "person people man woman child somebody one thing scene room kitchen bedroom bathroom living put pick take hold "
    "bring carry give get go come walk run turn stand sit lie look see wait open close switch use start stop"
)
"""Words of which no scene is about: anybody, any room, and what everybody does in every scene."""
_NAME: Final = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+")


def theme_words(caption: str) -> frozenset[str]:
    """The words of a caption that can be a theme, without names."""
    return topic_words(caption) - NO_THEMES - topic_words(" ".join(_NAME.findall(caption)))


def cross_scenes(
    scenes: Sequence[Scene], objects: Mapping[str, frozenset[str]], settings: ConstructSettings
) -> list[Scene]:
    """Segments of two scenes that share objects or a theme, those with most in common first.

    Args:
        scenes: Single scenes of one video in order of time.
        objects: Names of objects by clip, for example `mug4` or an identity of the memory bank.
        settings: The maximum number of segments and the threshold for themes.
    """
    held = [frozenset(name for clip in scene.clip_ids for name in objects.get(clip, ())) for scene in scenes]
    words = [theme_words(scene.caption) for scene in scenes]
    seen = Counter(name for names in held for name in names)
    found: list[tuple[tuple[int, int, int, int], Scene]] = []
    for a, b in combinations(range(len(scenes)), 2):
        # An object that most scenes show joins none of them.
        shared = sorted(name for name in held[a] & held[b] if seen[name] <= max(2, len(scenes) // 2))
        themes = sorted(words[a] & words[b]) if overlap(words[a], words[b]) >= settings.theme_similarity else []
        joined = (*(f"object:{name}" for name in shared), *(f"theme:{word}" for word in themes))
        if not joined:
            continue
        ids = (*scenes[a].clip_ids, *scenes[b].clip_ids)
        scene = Scene(
            id=derive_id("scene", scenes[a].video_id, ids, "cross"),
            video_id=scenes[a].video_id,
            clip_ids=ids,
            kind="cross",
            caption=f"{scenes[a].caption} {scenes[b].caption}".strip(),
            joined_by=joined,
            parts=(scenes[a].id, scenes[b].id),
            writer=scenes[a].writer,
        )
        # Shared objects count more than themes, distant scenes more than neighbours.
        found.append(((-len(shared), -len(themes), a - b, a), scene))
    found.sort(key=lambda pair: pair[0])
    return [scene for _, scene in found[: settings.cross_per_video]]


PROPOSED_WORDS: Final = 2
"""Number of caption words in a proposed category."""


def write_scenes(run: ConstructRun) -> StepResult:
    """Scenes merged from clips, segments across scenes, and the suitability of each for each task."""
    made = run.spooled()
    sighted = run.benchmark.table(SIGHTINGS, among=run.among).grouped(lambda row: row.get("clip_id"))

    def caption(item: tuple[Video, Clip]) -> tuple[str, str | Unwritten, list[GateResult], frozenset[str]]:
        video, clip = item
        return clip.id, *run.writer.caption(video, clip), run.writer.objects(video, clip)

    captions: dict[str, str] = {}
    objects: dict[str, frozenset[str]] = {}
    clips = ((video, clip) for video in run.videos for clip in run.clips_of(video.id))
    for clip_id, text, gates, handled in run.map_ordered("captioning clips", clips, caption, total=run.clip_count):
        made.gates.extend(gates)
        if held := handled | {str(sighting.entity) for sighting in sighted.get(clip_id, ())}:
            objects[clip_id] = held
        if isinstance(text, Unwritten):
            made.gates.append(Subject("clip", clip_id).unwritten("caption", text))
        else:
            captions[clip_id] = text
    scenes = run.benchmark.spool(Scene)
    for video in run.videos:
        own = run.clips_of(video.id)
        made.gates.extend(propose_category(video, own, captions))
        settings = run.settings
        alike = _judged_alike(run.writer, video, made.gates, settings)
        single = single_scenes(video.id, own, captions, settings, writer=run.writer.signature, alike=alike)
        scenes.extend((*single, *cross_scenes(single, objects, settings)))

    def suit(item: tuple[Video, Scene]) -> tuple[list[Scene], list[GateResult]]:
        suitability, gates = _suited(run, *item)
        return [item[1].model_copy(update={"suitability": suitability})], gates

    found = scenes.grouped()
    pairs = ((video, scene) for video in run.videos for scene in found.get(video.id, ()))
    suited = run.collect("choosing tasks", pairs, suit, SCENES, total=len(scenes))
    made.gates.extend(suited.gates)
    return StepResult(suited.rows, made.gates)


def _suited(run: ConstructRun, video: Video, scene: Scene) -> tuple[dict[str, int], list[GateResult]]:
    """How suitable a scene is by task."""
    rated = run.writer.suitability(video, scene)
    if isinstance(rated, Unwritten):
        return {}, [Subject("scene", scene.id).unwritten("suitability", rated)]
    found: dict[str, int] = {}
    gates: list[GateResult] = []
    for task in Task:
        score = rated[task]
        if isinstance(score, Unwritten):
            gates.append(Subject("scene", scene.id).unwritten(f"suitability.{task.value}", score))
        else:
            found[task.value] = score
    return found, gates


def _judged_alike(writer: Writer, video: Video, gates: GateResults, settings: ConstructSettings) -> Alike:
    """Let the writer compare captions. If it gives no answer, they stay apart and a gate result says so."""
    by_rule = by_words(settings)

    def alike(before: str, after: str) -> bool:
        said = writer.same_scene(before, after)
        if said is None:
            return by_rule(before, after)
        if isinstance(said, Unwritten):
            gates.append(Subject("video", video.id).unwritten("merge", said))
            return False
        return said

    return alike


def propose_category(video: Video, clips: Sequence[Clip], captions: Mapping[str, str]) -> list[GateResult]:
    """Propose a category for a video without one: the category of most clips, or the most frequent words of captions.

    The proposal is flagged as not verified, and never written into the video.
    """
    if video.category is not None:
        return []
    known = Counter(str(clip.extra["category"]) for clip in clips if clip.extra.get("category"))
    words = Counter(word for clip in clips for word in sorted(topic_words(captions.get(clip.id, ""))))
    found = [name for name, _ in (known or words).most_common(1 if known else PROPOSED_WORDS)]
    reason = f"no source states one; proposed and not verified: {', '.join(found)}" if found else "nothing to go by"
    outcome = GateOutcome.FLAGGED if found else GateOutcome.UNCHECKED
    return [Subject("video", video.id).gate("category", outcome, reason)]


def write_dialogues(run: ConstructRun) -> StepResult:
    """Dialogues of 5 to 8 rounds for each task, about single scenes and across scenes, with checklists."""
    scenes = run.written_rows(SCENES).grouped()

    def write(run: ConstructRun, video: Video, enough: Enough = lambda: False) -> tuple[list[Dialogue], GateResults]:
        made, own = StepResult({DIALOGUES: []}), list(scenes.get(video.id, ()))
        for kind in ("single", "cross"):
            fitting = [scene for scene in own if scene.kind == kind]
            taken: Counter[str] = Counter()
            for task in Task:
                if not enough():
                    _write_task(run, video, task, fitting, taken, made)
        return made.rows[DIALOGUES], made.gates

    gates = judge_the_judges(run, "dialogues", write)
    made = run.collect("writing dialogues", run.videos, partial(write, run), DIALOGUES)
    made.gates.extend(gates)
    return made


def join_dialogues(run: ConstructRun, made: StepResult) -> StepResult:
    """The dialogues of all videos, without rounds that their own question or an earlier round answers."""
    spool = run.benchmark.spool
    dialogues, gates = remove_leaks(made.rows[DIALOGUES], made.gates, shorten_dialogue, run.equivalence)
    return StepResult({DIALOGUES: dialogues}, spool(GateResult, chain(gates, repeated(dialogues))))


MOST_TRIED: Final = 2
"""Most scenes about which a dialogue is tried for each one that is wanted, so that a poor writer or a strict judge does
not take up every scene."""


def _write_task(
    run: ConstructRun, video: Video, task: Task, scenes: Sequence[Scene], taken: Counter[str], made: StepResult
) -> None:
    """Write dialogues for one task, about the most suitable and least used scenes."""
    suited = [scene for scene in scenes if scene.suitability.get(task.value, 0) >= run.settings.suitability]
    draw = random.Random(f"scenes {run.settings.seed} {video.id} {task.value}")
    draw.shuffle(suited)
    wanted = run.settings.dialogues
    for tried, (number, scene) in enumerate(_in_turns(suited, wanted, taken, task)):
        if wanted == 0 or tried == MOST_TRIED * run.settings.dialogues:
            return
        dialogue, gates = write_checked_dialogue(
            run.writer,
            video,
            scene,
            task,
            number=number,
            earlier=made.rows[DIALOGUES],
            attempts=run.settings.attempts,
            language=run.settings.language,
        )
        made.gates.extend(gates)
        if dialogue is None:
            continue
        made.gates.extend(run.writer.list_replaced(dialogue.id))
        wanted -= 1
        taken[scene.id] += 1
        dialogue = dialogue.model_copy(update={"extra": dialogue.extra | {"scene": scene.id, "kind": scene.kind}})
        dialogue = with_tags(run, dialogue, made.gates)
        made.rows[DIALOGUES].append(_with_checklists(run, video, task, dialogue, made.gates))


def _in_turns(scenes: list[Scene], rounds: int, taken: Counter[str], task: Task) -> Iterator[tuple[int, Scene]]:
    """Every scene once per wanted dialogue; the most suitable and least used come first."""
    for number in range(rounds):
        for scene in sorted(scenes, key=lambda s: (taken[s.id] - s.suitability[task.value] // 6, taken[s.id])):
            yield number, scene


def _with_checklists(run: ConstructRun, video: Video, task: Task, dialogue: Dialogue, gates: GateResults) -> Dialogue:
    judged = [n for n, turn in enumerate(dialogue.turns) if _is_judged(task, turn.labels.get(TASK_LABEL, ()))]
    turns, subject = list(dialogue.turns), Subject.of(dialogue)
    for index, written in run.writer.checklists(video, dialogue, judged).items():
        if isinstance(written, Unwritten):
            gates.append(subject.unwritten(CHECKLIST, written, turn=index))
            continue
        if isinstance(written, TriedChecklist):
            untried = written.untried
            gates.append(
                subject.gate(CHECKLIST, GateOutcome.PASSED, turn=index)
                if untried is None
                else subject.unchecked(CHECKLIST, untried.reason, turn=index, raw=untried.replies)
            )
            written = written.checklist
        turns[index] = turns[index].model_copy(update={"checklist": written})
    return dialogue.model_copy(update={"turns": tuple(turns)})


def _is_judged(task: Task, abilities: Sequence[str]) -> bool:
    """MT-Video-Bench judges rounds of the tested ability; in topic shifting and proactive interaction, all rounds."""
    return task in (Task.TOPIC_SHIFTING, Task.PROACTIVE_INTERACTION) or task.value in abilities


DIALOGUE_STEPS = (
    StepSpec(
        "scenes",
        write_scenes,
        reads=(VIDEOS, CLIPS, SIGHTINGS, SPEECH),
        writes=(SCENES,),
        settings=("language", "limit", "seed", "merge_similarity", "theme_similarity", "cross_per_video", "frames"),
    ),
    StepSpec(
        "dialogues",
        write_dialogues,
        reads=(VIDEOS, CLIPS, SCENES, SPEECH),
        writes=(DIALOGUES,),
        settings=(
            "language",
            "limit",
            "seed",
            "suitability",
            "dialogues",
            "attempts",
            "frames",
            "max_leaking",
        ),
        join=join_dialogues,
    ),
)

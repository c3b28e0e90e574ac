"""Counts a benchmark: one pass over its tables, a row at a time, and one over its graphs."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from reeltalk.graph.source import graph_of_clip, read_graphs
from reeltalk.graph.statistics import (
    DialogueCounter,
    count_scenario,
    count_triples,
    mean_counts,
    placements,
    split_words,
)
from reeltalk.metrics.counting import words_of
from reeltalk.metrics.profile import TAGS
from reeltalk.report.dataset import NOT_STATED, TENTHS, DatasetNumbers, GraphNumbers
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.media import Clip, Video
from reeltalk.store.benchmark import GRAPHS, Benchmark
from reeltalk.store.tables import CHAINS, CLIPS, DIALOGUES, LINKAGES, PATHS, REVIEWS, REWRITES, SCENES, VIDEOS

TAG_VOCABULARIES: Final = ("cogme.target", "cogme.content", "cogme.thinking")
CATEGORY_VOCABULARIES: Final = (("video_mme.domain", "video_mme.sub_category"),)
"""Turns' labels that say what their video is about: category, sub-category."""
SUB_CATEGORY_FIELDS: Final = ("sub_category", "subcategory")
"""Names under which a source keeps a video's sub-category, in `extra`."""

_CHINESE: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")


def words(text: str) -> int:
    """How many words a text has: what stands between spaces; of a text with Chinese, each character counts."""
    return words_of(text) if _CHINESE.search(text) else split_words(text)


def count(benchmark: Benchmark) -> DatasetNumbers:
    """Count a benchmark, a row of a table at a time.

    Args:
        benchmark: Imported, curated, constructed or filmed.

    Raises:
        InputError: A table or graph is damaged.
    """
    found = DatasetNumbers(benchmark.manifest.name)
    stages = {entry.stage for entry in benchmark.manifest.files.values()}
    found.constructed = any(stage.startswith(("construct ", "graph questions")) for stage in stages)
    found.reviewed = benchmark.rows(REVIEWS) > 0
    lengths_s: dict[str, float | None] = {}
    labelled: dict[str, tuple[str, str]] = {}
    categorised: set[str] = set()
    for video in benchmark.read(VIDEOS):
        lengths_s[video.id] = video.duration_s
        _count_video(found, video)
        if video.category is not None:
            categorised.add(video.id)
    clips: dict[str, list[Clip]] = {}
    for clip in benchmark.read(CLIPS):
        clips.setdefault(clip.video_id, []).append(clip)
    counting = _Turns(found, lengths_s, labelled)
    dialogues = DialogueCounter(words)
    chains: Counter[str] = Counter()
    for chain in benchmark.read(CHAINS):
        chains[chain.video_id] += 1
        found.chain_turns.add(len(chain.turns))
        found.turns_in_chains += len(chain.turns)
        counting.add(chain.turns, chain.video_id)
    talked = set(chains)
    for dialogue in benchmark.read(DIALOGUES):
        talked.add(dialogue.video_id)
        dialogues.add(dialogue)
        found.dialogue_turns.add(len(dialogue.turns))
        found.turns_in_dialogues += len(dialogue.turns)
        if dialogue.task is not None:
            found.tasks[dialogue.task] += 1
        counting.add(dialogue.turns, dialogue.video_id)
    for path in benchmark.read(PATHS):
        found.paths += 1
        found.path_turns.add(len(path.steps))
        # On a path a question may be worded anew, and then it carries a skill.
        for step in path.steps:
            if step.turn is not None:
                _count_skills(found, step.turn)
    for linkage in benchmark.read(LINKAGES):
        found.relations[linkage.relation] += 1
    found.chains, found.dialogues = chains.total(), found.dialogue_turns.n
    found.chains_a_video.counts.update(chains.values())
    found.asked_videos = len(talked)
    found.categories.update(about for video, about in labelled.items() if video not in categorised)
    _count_scenes(found, benchmark, clips)
    if not found.skills:
        for rewrite in benchmark.read(REWRITES):
            found.skills[rewrite.skill, rewrite.linkage.relation] += 1
            found.drafted = True
    found.table_3 = dialogues.counts(lengths_s) if found.dialogues else None
    found.graphs = _count_graphs(benchmark, lengths_s, clips)
    return found


def _count_video(found: DatasetNumbers, video: Video) -> None:
    found.videos += 1
    if video.duration_s is not None:
        found.seconds.add(video.duration_s)
    if video.category is not None:
        stated = [video.extra[name] for name in SUB_CATEGORY_FIELDS if isinstance(video.extra.get(name), str)]
        found.categories[video.category, stated[0] if stated else ""] += 1
    if video.split is not None:
        found.splits[video.split] += 1
    if video.licence:
        found.licences[video.licence] += 1
    if video.source:
        found.sources[_host(video.source)] += 1


def _host(source: str) -> str:
    try:
        return urlsplit(source).hostname or source
    except ValueError:
        return source


def _count_scenes(found: DatasetNumbers, benchmark: Benchmark, clips: dict[str, list[Clip]]) -> None:
    found.clips = sum(map(len, clips.values()))
    scenes = Counter(scene.video_id for scene in benchmark.read(SCENES) if scene.kind == "single")
    found.scenes = scenes.total()
    found.scenes_a_video.counts.update(scenes.values() or [len(own) for own in clips.values()])


def _count_graphs(benchmark: Benchmark, videos: Iterable[str], clips: dict[str, list[Clip]]) -> GraphNumbers | None:
    if not any(name.startswith(f"{GRAPHS}/") for name in benchmark.manifest.files):
        return None
    known = read_graphs(benchmark.path / GRAPHS)
    joined = {}
    for video in videos:
        # Clips without times are in the order of the table, as in VDAct's recovered scenarios.
        ordered = sorted(clips.get(video, ()), key=lambda clip: clip.interval.start_s if clip.interval else 0.0)
        if names := [name for clip in ordered if (name := graph_of_clip(clip, known)) is not None]:
            joined[video] = [known[name] for name in names]
    return GraphNumbers(
        activities=len(known),
        scenarios=len(joined),
        activity=mean_counts([count_triples(graph.triples) for graph in known.values()]),
        scenario=mean_counts([count_scenario(graphs) for graphs in joined.values()]) if joined else None,
        placed=placements(joined),
    )


def _count_skills(found: DatasetNumbers, turn: Turn) -> None:
    relations = turn.labels.get("svbench.relation", ()) or ("",)
    for skill in turn.labels.get("svbench.skill", ()):
        # Under one relation only, so that the parts of a skill add up to it.
        found.skills[skill, relations[0]] += 1


class _Turns:
    """Counts the turns of chains and dialogues."""

    def __init__(
        self, found: DatasetNumbers, lengths_s: dict[str, float | None], labelled: dict[str, tuple[str, str]]
    ) -> None:
        self._found, self._lengths_s, self._labelled = found, lengths_s, labelled

    def add(self, turns: Iterable[Turn], video_id: str) -> None:
        """Count the turns of one chain or dialogue."""
        length_s = self._lengths_s.get(video_id)
        for turn in turns:
            self._add(turn, length_s)
            if turn.labels:
                self._add_labels(turn, video_id)

    def _add(self, turn: Turn, length_s: float | None) -> None:
        found = self._found
        found.question_words.add(words(turn.question))
        if turn.references:
            found.answer_words.add(words(turn.references[0]))
        found.options += turn.options is not None
        for language in turn.labels.get("language", ()) or (
            ("zh",) if _CHINESE.search(turn.question) else (NOT_STATED,)
        ):
            found.languages[language] += 1
        if turn.asked_at_s is not None:
            found.moments += 1
            if length_s:
                found.asked_at[min(TENTHS - 1, int(TENTHS * turn.asked_at_s / length_s))] += 1
        for stretch in turn.evidence:
            found.evidence_s.add(round(stretch.duration_s, 1))
        if turn.checklist is not None and turn.checklist.items:
            found.checklists += 1
            found.expected.update(item.expected for item in turn.checklist.items)

    def _add_labels(self, turn: Turn, video_id: str) -> None:
        found, labels = self._found, turn.labels
        if types := labels.get("vdact.question_type", ()):
            found.typed += 1
            found.question_types.update(set(types))
        tags = {tag for vocabulary in TAG_VOCABULARIES for tag in labels.get(vocabulary, ())}.intersection(TAGS)
        if tags:
            found.tagged += 1
            found.tags.update(tags)
        _count_skills(found, turn)
        for category, sub_category in CATEGORY_VOCABULARIES:
            if stated := labels.get(category, ()):
                self._labelled.setdefault(video_id, (stated[0], "".join(labels.get(sub_category, ())[:1])))

"""Statistics of a benchmark: the numbers in the statistics figures of four papers.

Tables are read a row at a time, and graphs a video at a time. `pages.dataset_figures` draws the numbers.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass, field
from typing import Final
from urllib.parse import urlsplit

from reeltalk.analysis.graph_numbers import GraphNumbers
from reeltalk.metrics.counting import count_words
from reeltalk.metrics.profile import TAGS
from reeltalk.plugins import added, load
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark, has_graphs
from reeltalk.store.tables import CHAINS, CLIPS, DIALOGUES, LINKAGES, PATHS, REVIEWS, REWRITES, SCENES, VIDEOS

NOT_STATED: Final = "not stated"
TENTHS: Final = 10
"""Number of parts of a video by which the times of questions are counted."""


@dataclass
class Spread:
    """Number of occurrences of each value."""

    counts: Counter[float] = field(default_factory=Counter)

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[value] += 1

    @property
    def n(self) -> int:
        """Number of values."""
        return self.counts.total()

    @property
    def mean(self) -> float | None:
        """None if there are none."""
        return sum(value * count for value, count in self.counts.items()) / self.n if self.n else None

    @property
    def median(self) -> float | None:
        """The median, the lower of two middle values; None if there are none."""
        place, wanted = 0, (self.n + 1) // 2
        for value in sorted(self.counts):
            place += self.counts[value]
            if place >= wanted:
                return value
        return None

    @property
    def least(self) -> float | None:
        """None if there are none."""
        return min(self.counts, default=None)

    @property
    def most(self) -> float | None:
        """None if there are none."""
        return max(self.counts, default=None)

    def share_above(self, bound: float) -> float | None:
        """Share of the values above a bound, in per cent; None if there are none."""
        return 100 * sum(count for value, count in self.counts.items() if value > bound) / self.n if self.n else None


@dataclass(frozen=True)
class DialogueCounts:
    """A row of VDAct's table 3 (AAAI 2025). Lengths of texts are in words; None means unknown."""

    videos: int
    dialogues: int
    turns: int
    mean_video_s: float | None
    mean_question_words: float | None
    mean_answer_words: float | None

    @property
    def values(self) -> tuple[float | None, ...]:
        """The six numbers in the order of table 3."""
        return astuple(self)


TABLE_3_COLUMNS: Final = ("Videos", "Dialogues", "QA pairs", "Video length, s", "Question, words", "Answer, words")
TABLE_3_IN_PAPER: Final = ("1,000", "3,000", "30,095", "248", "7.8", "10.2")


@dataclass
class DatasetNumbers:
    """Statistics of a benchmark. A field without data is empty; it is never zero by default."""

    name: str
    videos: int = 0
    seconds: Spread = field(default_factory=Spread)
    """Known lengths of videos."""
    categories: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Videos by category and sub-category, which is empty if none is stated."""
    splits: Counter[str] = field(default_factory=Counter)
    licences: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)
    """Videos by source; for an address its host."""
    clips: int = 0
    scenes: int = 0
    scenes_a_video: Spread = field(default_factory=Spread)
    """Number of scenes of each video with scenes; clips if the benchmark has no scenes."""
    chains: int = 0
    chains_a_video: Spread = field(default_factory=Spread)
    chain_turns: Spread = field(default_factory=Spread)
    relations: Counter[str] = field(default_factory=Counter)
    """Linkages by relation."""
    paths: int = 0
    path_turns: Spread = field(default_factory=Spread)
    dialogues: int = 0
    dialogue_turns: Spread = field(default_factory=Spread)
    tasks: Counter[str] = field(default_factory=Counter)
    turns_in_chains: int = 0
    turns_in_dialogues: int = 0
    videos_with_questions: int = 0
    """Videos with a chain or dialogue."""
    languages: Counter[str] = field(default_factory=Counter)
    """Turns by language, from the label; without a label, from Chinese characters."""
    question_words: Spread = field(default_factory=Spread)
    answer_words: Spread = field(default_factory=Spread)
    """Words of preferred references."""
    options: int = 0
    """Turns with answer options."""
    moments: int = 0
    """Turns with a time at which they are asked."""
    by_tenth: Counter[int] = field(default_factory=Counter)
    """Turns by the tenth of their video in which they are asked, or at whose end, from 0."""
    evidence_s: Spread = field(default_factory=Spread)
    """Lengths of evidence intervals, to a tenth of a second."""
    question_types: Counter[str] = field(default_factory=Counter)
    typed: int = 0
    """Turns with a question type; a turn may have several."""
    skills: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Turns by skill and relation, which is empty if none is stated."""
    drafted: bool = False
    """True if `skills` are from drafts of rewriting, because no turn has one."""
    tags: Counter[str] = field(default_factory=Counter)
    tagged: int = 0
    """Turns with CogME's tags."""
    checklists: int = 0
    expected: Counter[bool] = field(default_factory=Counter)
    """Checklist items by whether a good answer gets *Yes*."""
    constructed: bool = False
    reviewed: bool = False
    table_3: DialogueCounts | None = None
    """VDAct's table 3; None without dialogues."""
    graphs: GraphNumbers | None = None
    """None if there are none, or if reeltalk-build, which counts them, is not installed."""

    @property
    def turns(self) -> int:
        """Turns of chains and dialogues."""
        return self.turns_in_chains + self.turns_in_dialogues

    @property
    def qa_pairs(self) -> int:
        """Questions as counted in the papers: questions of chains if there are any, else of dialogues."""
        return self.turns_in_chains or self.turns_in_dialogues

    @property
    def is_streaming(self) -> bool:
        """True if questions can be asked while the video plays: along paths, or each at its time."""
        return self.paths > 0 or (self.turns > 0 and self.moments == self.turns)

    @property
    def is_dialogue(self) -> bool:
        """True if any chain or dialogue has several turns."""
        return max(self.chain_turns.most or 0, self.dialogue_turns.most or 0) > 1

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to count."""
        return not (self.videos or self.turns or self.paths or self.graphs)


def count_noun(number: int, noun: str) -> str:
    """A number with its noun, such as `1 video` or `1,353 videos`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_number(value: float | None) -> str:
    """A number as text: whole, or with two decimals; a dash for None."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


TAG_VOCABULARIES: Final = ("cogme.target", "cogme.content", "cogme.thinking")
CATEGORY_VOCABULARIES: Final = (("video_mme.domain", "video_mme.sub_category"),)
"""Labels of turns that give the category and sub-category of their video."""
SUB_CATEGORY_FIELDS: Final = ("sub_category", "subcategory")
"""Names of a video's sub-category in `extra`."""

_CHINESE: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")


def count_text_words(text: str) -> int:
    """Number of words of a text, separated by spaces; in a text with Chinese, each character counts."""
    return count_words(text) if _CHINESE.search(text) else len(text.split())


def count_dataset(benchmark: Benchmark, *, with_graphs: bool = True) -> DatasetNumbers:
    """Count a benchmark, reading one row at a time. Of a video, some hundred bytes are kept.

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
    counting = _Turns(found, lengths_s, labelled)
    chains: Counter[str] = Counter()
    for chain in benchmark.read(CHAINS):
        chains[chain.video_id] += 1
        found.chain_turns.add(len(chain.turns))
        found.turns_in_chains += len(chain.turns)
        counting.add(chain.turns, chain.video_id)
    chained = found.question_words, found.answer_words
    found.question_words, found.answer_words = Spread(), Spread()
    talked: set[str] = set()
    for dialogue in benchmark.read(DIALOGUES):
        talked.add(dialogue.video_id)
        found.dialogue_turns.add(len(dialogue.turns))
        found.turns_in_dialogues += len(dialogue.turns)
        if dialogue.task is not None:
            found.tasks[dialogue.task] += 1
        counting.add(dialogue.turns, dialogue.video_id)
    for path in benchmark.read(PATHS):
        found.paths += 1
        found.path_turns.add(len(path.steps))
        # On a path a question may be reworded, and then it has a skill.
        for step in path.steps:
            if step.turn is not None:
                _count_skills(found, step.turn)
    for linkage in benchmark.read(LINKAGES):
        found.relations[linkage.relation] += 1
    found.chains, found.dialogues = chains.total(), found.dialogue_turns.n
    found.chains_a_video.counts.update(chains.values())
    found.videos_with_questions = len(talked | chains.keys())
    if found.dialogues:
        known = Spread(Counter(seconds for video in talked if (seconds := lengths_s.get(video)) is not None))
        lengths = known.mean, found.question_words.mean, found.answer_words.mean
        found.table_3 = DialogueCounts(len(talked), found.dialogues, found.turns_in_dialogues, *lengths)
    found.question_words.counts += chained[0].counts
    found.answer_words.counts += chained[1].counts
    found.categories.update(about for video, about in labelled.items() if video not in categorised)
    _count_scenes(found, benchmark)
    if not found.skills:
        for rewrite in benchmark.read(REWRITES):
            found.skills[rewrite.skill, rewrite.linkage.relation] += 1
            found.drafted = True
    if with_graphs and has_graphs(benchmark) and "graphs" in added("reeltalk.reports"):
        found.graphs = load("reeltalk.reports", "graphs").graph_numbers(benchmark, lengths_s)
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


def _count_scenes(found: DatasetNumbers, benchmark: Benchmark) -> None:
    clips = Counter(clip.video_id for clip in benchmark.read(CLIPS))
    found.clips = clips.total()
    scenes = Counter(scene.video_id for scene in benchmark.read(SCENES) if scene.kind == "single")
    found.scenes = scenes.total()
    found.scenes_a_video.counts.update(scenes.values() or clips.values())


def _count_skills(found: DatasetNumbers, turn: Turn) -> None:
    relations = turn.labels.get("svbench.relation", ()) or ("",)
    for skill in turn.labels.get("svbench.skill", ()):
        # Count one relation only, so that the parts of a skill add up to it.
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
        found.question_words.add(count_text_words(turn.question))
        if turn.references:
            found.answer_words.add(count_text_words(turn.references[0]))
        found.options += turn.options is not None
        for language in turn.labels.get("language", ()) or (
            ("zh",) if _CHINESE.search(turn.question) else (NOT_STATED,)
        ):
            found.languages[language] += 1
        if turn.asked_at_s is not None:
            found.moments += 1
            if length_s:
                found.by_tenth[min(TENTHS - 1, int(TENTHS * turn.asked_at_s / length_s))] += 1
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

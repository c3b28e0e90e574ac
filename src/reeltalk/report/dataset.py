"""What a benchmark consists of, as numbers: those behind the statistics figures of four papers.

Pure data. `dataset_counting.py` counts it in one pass over the tables, `dataset_figures.py` draws it.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from reeltalk.graph.statistics import DialogueCounts, GraphCounts, Placements

NOT_STATED: Final = "not stated"
TENTHS: Final = 10
"""Parts of a video by which the moments of questions are counted."""


@dataclass
class Spread:
    """How often each value occurs."""

    counts: Counter[float] = field(default_factory=Counter)

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[value] += 1

    @property
    def n(self) -> int:
        """How many values there are."""
        return self.counts.total()

    @property
    def mean(self) -> float | None:
        """None where there are none."""
        return sum(value * count for value, count in self.counts.items()) / self.n if self.n else None

    @property
    def median(self) -> float | None:
        """The lower one of two in the middle; None where there are none."""
        place, wanted = 0, (self.n + 1) // 2
        for value in sorted(self.counts):
            place += self.counts[value]
            if place >= wanted:
                return value
        return None

    @property
    def least(self) -> float | None:
        """None where there are none."""
        return min(self.counts, default=None)

    @property
    def most(self) -> float | None:
        """None where there are none."""
        return max(self.counts, default=None)

    def share_above(self, bound: float) -> float | None:
        """Percent of the values that are greater; None where there are none."""
        return 100 * sum(count for value, count in self.counts.items() if value > bound) / self.n if self.n else None


@dataclass(frozen=True)
class GraphNumbers:
    """VDAct's table 4 and figure 2a."""

    activities: int
    scenarios: int
    activity: GraphCounts
    """Means over activities."""
    scenario: GraphCounts | None
    """Means over scenarios; None where no video's clips have graphs."""
    placed: Placements
    """Activities of each category that stand first, second and so on."""


@dataclass
class DatasetNumbers:
    """Numbers of a benchmark. What it has no data for is empty, and never zero by default."""

    name: str
    videos: int = 0
    seconds: Spread = field(default_factory=Spread)
    """Lengths of videos, where they are known."""
    categories: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Videos by category and sub-category, which is empty where none is stated."""
    splits: Counter[str] = field(default_factory=Counter)
    licences: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)
    """Videos by where they come from; of an address its host."""
    clips: int = 0
    scenes: int = 0
    scenes_a_video: Spread = field(default_factory=Spread)
    """Single scenes of each video that has some; clips where the benchmark has no scenes."""
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
    asked_videos: int = 0
    """Videos with a chain or dialogue."""
    languages: Counter[str] = field(default_factory=Counter)
    """Turns by language, as labelled; of others, whether they are in Chinese letters."""
    question_words: Spread = field(default_factory=Spread)
    answer_words: Spread = field(default_factory=Spread)
    """Of preferred references."""
    options: int = 0
    """Turns that offer a choice."""
    moments: int = 0
    """Turns that say when they are asked."""
    asked_at: Counter[int] = field(default_factory=Counter)
    """Turns by the tenth of their video, from 0, at whose end or within which they are asked."""
    evidence_s: Spread = field(default_factory=Spread)
    """Lengths of stretches in which an answer is to be seen, to a tenth of a second."""
    question_types: Counter[str] = field(default_factory=Counter)
    typed: int = 0
    """Turns with a question type; a turn may have several."""
    skills: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Turns by skill and relation, which is empty where none is stated."""
    drafted: bool = False
    """True where `skills` are those of drafts of rewriting, as no turn carries one."""
    tags: Counter[str] = field(default_factory=Counter)
    tagged: int = 0
    """Turns that carry CogME's tags."""
    checklists: int = 0
    expected: Counter[bool] = field(default_factory=Counter)
    """Items of checklists by whether a good answer gets *Yes*."""
    constructed: bool = False
    reviewed: bool = False
    table_3: DialogueCounts | None = None
    """VDAct's table 3; None without dialogues."""
    graphs: GraphNumbers | None = None
    """None where there are none."""

    @property
    def turns(self) -> int:
        """Turns of chains and dialogues."""
        return self.turns_in_chains + self.turns_in_dialogues

    @property
    def qa_pairs(self) -> int:
        """Questions as the papers count them: those of chains where there are any, else those of dialogues."""
        return self.turns_in_chains or self.turns_in_dialogues

    @property
    def is_streaming(self) -> bool:
        """True where questions can be asked in step with the video: along paths, or each at its moment."""
        return self.paths > 0 or (self.turns > 0 and self.moments == self.turns)

    @property
    def is_dialogue(self) -> bool:
        """True where some chain or dialogue has several turns."""
        return max(self.chain_turns.most or 0, self.dialogue_turns.most or 0) > 1

    @property
    def is_empty(self) -> bool:
        """True where there is nothing to count."""
        return not (self.videos or self.turns or self.paths or self.graphs)


def counted(number: int, noun: str) -> str:
    """A number with its noun, as `1 video` or `1,353 videos`.

    Args:
        number: How many.
        noun: Of what, in the singular.
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def number_of(value: float | None) -> str:
    """A number as people read it: whole, or with two digits after the point; a dash for none.

    Args:
        value: Any.
    """
    if value is None:
        return "–"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"

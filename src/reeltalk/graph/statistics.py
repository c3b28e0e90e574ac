"""Statistics of activity graphs, scenarios and dialogues: VDAct's tables 3 and 4 and figure 2a (AAAI 2025)."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

from reeltalk.graph.activity import ActivityGraph, category_of
from reeltalk.graph.rdf import Triple
from reeltalk.schema.dialogue import Dialogue
from reeltalk.schema.media import Video

PAPER_ACTIVITY = (10.2, 11.2, 14.92, 10.84, 86.56, 4.08, 0.78, 320.78)
PAPER_SCENARIO = (40.26, 44.56, 60.36, 44.04, 360.17, 13.56, 2.57, 1317.51)
PAPER_SCENARIO_S = 248
"""Mean length of VDAct's videos in seconds (table 3)."""


@dataclass(frozen=True)
class GraphCounts:
    """Components of a graph, or their means over graphs, in the order of table 4."""

    events: float
    situations: float
    states: float
    state_values: float
    """Distinct subjects of `state`, that is, states with a value."""
    shapes: float
    main_objects: float
    target_objects: float
    triples: float

    @property
    def values(self) -> tuple[float, ...]:
        """The eight numbers in the order of table 4."""
        return tuple(getattr(self, field.name) for field in fields(self))


ROWS = ("Events", "Situations", "States", "StateVals", "Shapes", "Main objects", "Target objects", "Triples")


def count_triples(triples: Iterable[Triple]) -> GraphCounts:
    """Count the components of one graph of an activity or a scenario."""
    distinct = set(triples)

    def objects(*predicates: str) -> int:
        return len({triple.object for triple in distinct if triple.predicate in predicates})

    def subjects(*predicates: str) -> int:
        return len({triple.subject for triple in distinct if triple.predicate in predicates})

    shapes = {node for triple in distinct for node in (triple.subject, triple.object) if node.startswith("ex:shape_")}
    return GraphCounts(
        events=objects("hasEvent"),
        situations=objects("situationBeforeEvent", "situationAfterEvent"),
        states=subjects("isStateOf"),
        state_values=subjects("state"),
        shapes=len(shapes),
        main_objects=objects("mainObject"),
        target_objects=objects("targetObject"),
        triples=len(distinct),
    )


def count_scenario(graphs: Sequence[ActivityGraph]) -> GraphCounts:
    """Count the components of a scenario: its activities' triples joined by `nextActivity`."""
    return count_triples(join_triples(graphs))


def join_triples(graphs: Sequence[ActivityGraph]) -> list[Triple]:
    """The triples of a scenario: those of its activities, and a `nextActivity` from each to the next."""
    joined = [triple for graph in graphs for triple in graph.triples]
    links = [Triple(f"ex:{first.node}", "nextActivity", f"ex:{second.node}") for first, second in pairwise(graphs)]
    return joined + links


class MeanCounter:
    """Means over graphs, which are added one at a time."""

    def __init__(self) -> None:
        self.n = 0
        self._sums = [0.0] * len(fields(GraphCounts))

    def add(self, counts: GraphCounts) -> None:
        """Add one graph."""
        self.n += 1
        self._sums = [total + value for total, value in zip(self._sums, counts.values, strict=True)]

    def mean(self) -> GraphCounts:
        """The means so far.

        Raises:
            ValueError: There are no graphs.
        """
        if not self.n:
            raise ValueError("no graphs to average")
        return GraphCounts(*(total / self.n for total in self._sums))


def mean_counts(counts: Iterable[GraphCounts]) -> GraphCounts:
    """Means over graphs.

    Raises:
        ValueError: There are none.
    """
    counter = MeanCounter()
    for count in counts:
        counter.add(count)
    return counter.mean()


@dataclass(frozen=True)
class Placements:
    """VDAct's figure 2a, and the origin of the categories."""

    counts: dict[str, tuple[int, ...]]
    """Number of activities at each position in scenarios, by category, the most frequent category first."""
    by_name: int
    """How many of them have their category from their name, not from their graph."""
    unknown: int
    """Activities without a category, which are not counted."""

    @property
    def source(self) -> str:
        """A sentence about the origin of the categories; empty if graphs give all of them."""
        stated = sum(map(sum, self.counts.values())) - self.by_name
        said = []
        if self.by_name:
            said.append(
                f"Categories of {self.by_name:,} activities are by the words of their names, "
                "since their graphs state none" + (f"; of {stated:,} they are the graphs' own" if stated else "")
            )
        if self.unknown:
            said.append(f"{self.unknown:,} activities are left out, their names fit no category")
        return "; ".join(said) + "." if said else ""


class PlacementCounter:
    """Counts the activities of each category by their position (figure 2a), one scenario at a time."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[int]] = {}
        self._longest = self._by_name = self._unknown = 0

    def add(self, graphs: Sequence[ActivityGraph]) -> None:
        """Count a scenario.

        Args:
            graphs: Its activities in order.
        """
        self._longest = max(self._longest, len(graphs))
        for place, graph in enumerate(graphs):
            category = category_of(graph)
            if category is None:
                self._unknown += 1
                continue
            self._by_name += category != graph.category
            self._counts.setdefault(category, Counter())[place] += 1

    def placements(self) -> Placements:
        """The counts so far."""
        counts = self._counts
        ordered = sorted(counts, key=lambda category: (-counts[category].total(), category))
        rows = {category: tuple(counts[category][place] for place in range(self._longest)) for category in ordered}
        return Placements(counts=rows, by_name=self._by_name, unknown=self._unknown)


def placements(scenarios: Mapping[str, Sequence[ActivityGraph]]) -> Placements:
    """Count the activities of each category by their position in a scenario (figure 2a).

    Args:
        scenarios: Activities in order, by scenario.
    """
    counter = PlacementCounter()
    for graphs in scenarios.values():
        counter.add(graphs)
    return counter.placements()


@dataclass(frozen=True)
class DialogueCounts:
    """A row of table 3. Lengths of texts are in words; None means unknown."""

    videos: int
    dialogues: int
    turns: int
    mean_video_s: float | None
    mean_question_words: float | None
    mean_answer_words: float | None

    @property
    def values(self) -> tuple[float | None, ...]:
        """The six numbers in the order of table 3."""
        return tuple(getattr(self, field.name) for field in fields(self))


TABLE_3 = ("Videos", "Dialogues", "QA pairs", "Video length, s", "Question, words", "Answer, words")
PAPER_TABLE_3 = ("1,000", "3,000", "30,095", "248", "7.8", "10.2")


def split_words(text: str) -> int:
    """Number of words in a text, separated by spaces."""
    return len(text.split())


class DialogueCounter:
    """Counts the numbers of table 3 one dialogue at a time, without keeping dialogues in memory.

    Args:
        words: Counts the words of a text.
    """

    def __init__(self, words: Callable[[str], int] = split_words) -> None:
        self._words = words
        self._talked: set[str] = set()
        self._dialogues = self._turns = self._question_words = self._answers = self._answer_words = 0

    def add(self, dialogue: Dialogue) -> None:
        """Count one dialogue."""
        self._talked.add(dialogue.video_id)
        self._dialogues += 1
        for turn in dialogue.turns:
            self._turns += 1
            self._question_words += self._words(turn.question)
            if turn.references:
                self._answers += 1
                self._answer_words += self._words(turn.references[0])

    def counts(self, lengths_s: Mapping[str, float | None]) -> DialogueCounts:
        """The counts so far.

        Args:
            lengths_s: Length of each video in seconds, None if unknown; videos without dialogues are ignored.
        """
        known = [length for video, length in lengths_s.items() if video in self._talked and length is not None]
        return DialogueCounts(
            videos=len(self._talked),
            dialogues=self._dialogues,
            turns=self._turns,
            mean_video_s=sum(known) / len(known) if known else None,
            mean_question_words=self._question_words / self._turns if self._turns else None,
            mean_answer_words=self._answer_words / self._answers if self._answers else None,
        )


def count_dialogues(videos: Iterable[Video], dialogues: Iterable[Dialogue]) -> DialogueCounts:
    """Count the numbers of table 3. Videos without dialogues are ignored."""
    counter = DialogueCounter()
    for dialogue in dialogues:
        counter.add(dialogue)
    return counter.counts({video.id: video.duration_s for video in videos})

"""The turns of a benchmark as input to a tagger, with the origin of their tags: a person, a rule or a tagger.

`choose_tags` makes tags of a tagger's probabilities, and `select_for_review` selects the turns that a person should
review.
"""

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from reeltalk.schema.dialogue import Dialogue, DialoguePath, QAChain, Turn
from reeltalk.schema.labels import VOCABULARIES, TagUnit
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.rows import rows_by
from reeltalk.store.tables import CHAINS, DIALOGUES, PATHS, TAG_PROPOSALS, Table
from reeltalk_build.construct.settings import UNITS, Replace, ReviewSettings

TABLE_OF: Final[Mapping[TagUnit, Table[Any]]] = {
    "chain": CHAINS,
    "dialogue": DIALOGUES,
    "path": PATHS,
}

TAGGED: Final = ("cogme.target", "cogme.content", "cogme.thinking")
"""The vocabularies of a tagger, in the order in which their tags are stored."""
SINGLE_TAG_VOCABULARIES: Final = frozenset({"cogme.thinking"})
"""Vocabularies from which a question has exactly one tag."""

UNVERIFIED: Final = "tags_verified"
"""Key in a turn's `extra`: False until a person has checked its tags."""

Origin = Literal["none", "proposed", "given"]
Place = tuple[TagUnit, str, int]


def known_vocabularies() -> dict[str, tuple[str, ...]]:
    """The tags of the three vocabularies, in order."""
    return {name: tuple(tag.value for tag in VOCABULARIES[name]) for name in TAGGED}


@dataclass(frozen=True)
class TurnToTag:
    """A turn with its position in the benchmark."""

    unit: TagUnit
    unit_id: str
    index: int
    video_id: str
    turn: Turn
    before: tuple[Turn, ...]
    """Earlier turns of its unit."""
    origins: Mapping[str, Origin]
    """By vocabulary: no tags, tags that a tagger proposed, or tags that a person or a rule gave."""

    @property
    def place(self) -> Place:
        """(unit, identifier of the unit, index)."""
        return self.unit, self.unit_id, self.index

    @property
    def answer(self) -> str:
        """The preferred reference, or the correct option; empty if neither is known."""
        if self.turn.references:
            return self.turn.references[0]
        if self.turn.options is not None and self.turn.correct_option is not None:
            return self.turn.options[self.turn.correct_option]
        return ""

    @property
    def reference(self) -> dict[str, tuple[str, ...]] | None:
        """Tags by vocabulary that a person or a rule gave; None unless all three vocabularies have known ones."""
        known = known_vocabularies()
        found = {name: tuple(t for t in known[name] if t in self.turn.labels.get(name, ())) for name in TAGGED}
        if any(origin != "given" for origin in self.origins.values()) or not all(found.values()):
            return None
        return found

    def missing_vocabularies(self, replace: Replace | None) -> tuple[str, ...]:
        """The vocabularies in which it needs tags."""
        wanted: tuple[Origin, ...] = ("none",)
        if replace is not None:
            wanted = ("none", "proposed") if replace == "proposed" else ("none", "proposed", "given")
        return tuple(name for name in TAGGED if self.origins[name] in wanted)


def read_turns(benchmark: Benchmark, *, units: Sequence[TagUnit] = UNITS) -> Iterator[TurnToTag]:
    """All turns of chains and dialogues, and the reworded turns of paths, unit by unit.

    Raises:
        InputError: A table is damaged.
    """
    by_unit = rows_by(benchmark.table(TAG_PROPOSALS), "unit_id")
    for unit in (unit for unit in UNITS if unit in units):
        for row in benchmark.read(TABLE_OF[unit]):
            proposals: dict[tuple[str, str, int, str], tuple[str, ...]] = {
                (known.unit, known.unit_id, known.turn_index, known.vocabulary): known.tags
                for known in by_unit.get(row.id, ())
            }
            before: list[Turn] = []
            for index, turn in worded_turns(row):
                origins = {name: _origin((unit, row.id, index), turn, name, proposals) for name in TAGGED}
                yield TurnToTag(unit, row.id, index, row.video_id, turn, tuple(before), origins)
                before.append(turn)


def worded_turns(row: QAChain | Dialogue | DialoguePath) -> Iterable[tuple[int, Turn]]:
    """(index, turn) of all turns that a unit holds itself; other steps of a path refer to chains."""
    if isinstance(row, DialoguePath):
        return [(index, step.turn) for index, step in enumerate(row.steps) if step.turn is not None]
    return list(enumerate(row.turns))


def replace_turns(
    row: QAChain | Dialogue | DialoguePath, changed: Mapping[int, Turn]
) -> QAChain | Dialogue | DialoguePath:
    """The unit with the turns in `changed`, by index, replaced."""
    if isinstance(row, DialoguePath):
        steps = (
            step.model_copy(update={"turn": changed[i]}) if i in changed else step for i, step in enumerate(row.steps)
        )
        return row.model_copy(update={"steps": tuple(steps)})
    return row.model_copy(update={"turns": tuple(changed.get(i, turn) for i, turn in enumerate(row.turns))})


def _origin(
    place: Place, turn: Turn, vocabulary: str, proposals: Mapping[tuple[str, str, int, str], tuple[str, ...]]
) -> Origin:
    if not (tags := turn.labels.get(vocabulary, ())):
        return "none"
    if turn.extra.get(UNVERIFIED) is not False:
        return "given"
    # Tags that differ from the proposal were changed by a person. The graph writer's exact tags are unverified too.
    by_model = str(turn.extra.get("writer", "")).startswith("model:")
    return "proposed" if by_model or proposals.get((*place, vocabulary)) == tags else "given"


MOST_TAGS: Final = 3
"""Most targets, and most contents, of a question (CogME)."""
LEAST_PROBABILITY: Final = 0.5
"""Least probability of a tag that is taken."""


@dataclass(frozen=True)
class TagDecision:
    """The tags of a turn in one vocabulary."""

    tags: tuple[str, ...]
    """One to three tags in the vocabulary's order; exactly one if the vocabulary allows only one."""
    margin: float
    """Least change of the probabilities that would change the tags, 0 to 0.5."""


def choose_tags(vocabulary: str, probabilities: Mapping[str, float]) -> TagDecision:
    """Choose the tags with a probability of 0.5 or more: at least the most likely one, at most three.

    Args:
        vocabulary: For example `cogme.target`.
        probabilities: Probability of each tag of the vocabulary; not empty. Ties go by the vocabulary's order.
    """
    order = list(probabilities)
    ranked = sorted(order, key=lambda tag: -probabilities[tag])
    values = [probabilities[tag] for tag in ranked]
    if vocabulary in SINGLE_TAG_VOCABULARIES:
        count = 1
    else:
        count = min(max(1, sum(value >= LEAST_PROBABILITY for value in values)), MOST_TAGS)
    following = values[count] if count < len(values) else 0.0
    # If two tags change places, each probability changes by half the difference.
    margin = (values[count - 1] - following) / 2
    if vocabulary not in SINGLE_TAG_VOCABULARIES and values[count - 1] >= LEAST_PROBABILITY > following:
        joins = LEAST_PROBABILITY - following if count < MOST_TAGS else max(margin, LEAST_PROBABILITY - following)
        leaves = values[count - 1] - LEAST_PROBABILITY if count > 1 else margin
        margin = min(joins, leaves)
    taken = set(ranked[:count])
    return TagDecision(tuple(tag for tag in order if tag in taken), margin)


@dataclass(frozen=True)
class TurnTags:
    """The result of a tagger for one turn."""

    decisions: Mapping[str, TagDecision]
    """By vocabulary; empty if no reply could be used."""
    probabilities: Mapping[str, Mapping[str, float]]
    """By vocabulary and tag; empty if the tagger gives none, as after a single reply of a model."""
    reason: str | None = None
    """Why there are no tags."""
    raw: tuple[str, ...] = ()
    """Replies that could not be used."""

    @property
    def margin(self) -> float | None:
        """The smallest margin of its decisions; None if the tagger gives no probabilities."""
        return min((d.margin for d in self.decisions.values()), default=None) if self.probabilities else None


def select_for_review(tagged: Iterable[TurnTags], settings: ReviewSettings) -> tuple[int, ...]:
    """Select turns for review: first those without tags or margin, then those with the smallest margins.

    Returns:
        Indices into `tagged`.
    """
    margins = array("d", (math.nan if turn.margin is None else turn.margin for turn in tagged))
    unknown = np.flatnonzero(np.isnan(margins)).tolist()
    known = np.argsort(margins, kind="stable")[: len(margins) - len(unknown)]
    return (*unknown, *known[: round(settings.review_share * len(known))].tolist())

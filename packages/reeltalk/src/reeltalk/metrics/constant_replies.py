"""What models say of everything alike: one tag for all turns, one relation for all links, one moment for all verdicts.

Such a reply passes every check of form, and tells nothing. It is said wherever a benchmark's checks are shown.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from reeltalk.errors import shorten
from reeltalk.schema.dialogue import Linkage, Turn
from reeltalk.schema.gates import GateResult

FEWEST_REPLIES: Final = 20
"""Replies below which nobody wonders that they are alike."""
MOST_EQUAL: Final = 0.9
"""Share of equal replies above which they are constant."""
PAIRS_DUE: Final = 6
"""Pairs of related turns that a model is asked for between two chains (SVBench)."""
BY_MODEL: Final = "model:"
"""Beginning of the signature of a writer that is a language model."""
TAGS: Final = ("cogme.target", "cogme.content", "cogme.thinking", "vdact.question_type")


@dataclass
class ConstantReplies:
    """Counts of what models say beside questions and answers."""

    tags: Counter[tuple[str, ...]] = field(default_factory=Counter)
    relations: Counter[str] = field(default_factory=Counter)
    links: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Links by the chains that they join."""
    moments: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)

    def add_turn(self, turn: Turn, verified: GateResult | None) -> None:
        """Count the tags of a turn that a model wrote, and what the judge says that it saw."""
        if str(turn.extra.get("writer", "")).startswith(BY_MODEL):
            if tags := tuple(label for name in TAGS for label in turn.labels.get(name, ())):
                self.tags[tags] += 1
        for counts, key in ((self.moments, "moment_s"), (self.seen, "seen")):
            if verified is not None and key in verified.extra:
                counts[str(verified.extra[key])] += 1

    def add_links(self, linkages: Iterable[Linkage]) -> None:
        """Count the links that a model found."""
        for linkage in linkages:
            if str(linkage.extra.get("writer", "")).startswith(BY_MODEL):
                self.relations[linkage.relation] += 1
                self.links[linkage.source.unit_id, linkage.target.unit_id] += 1

    def sentences(self) -> Iterator[str]:
        """A warning about each thing that is constant."""
        for counts, what in (
            (self.tags, "turns have the same tags"),
            (self.relations, "links have the same relation"),
            (self.moments, "verdicts of the judge name the same moment"),
            (self.seen, "verdicts of the judge say the same of what it saw"),
        ):
            usual, times = max(counts.items(), key=lambda one: one[1], default=("", 0))
            if counts.total() >= FEWEST_REPLIES and times >= MOST_EQUAL * counts.total():
                said = ", ".join(usual) if isinstance(usual, tuple) else usual
                said = "no moment at all" if said == "None" else shorten(said)
                yield f"Warning: {times:,} of {counts.total():,} {what}: {said}."
        single = sum(count == 1 for count in self.links.values())
        if len(self.links) >= FEWEST_REPLIES and single >= MOST_EQUAL * len(self.links):
            yield (
                f"Warning: {single:,} of {len(self.links):,} pairs of chains have one link, where {PAIRS_DUE} were "
                "asked for."
            )

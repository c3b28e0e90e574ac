"""Find chains and dialogues that say the same about different clips or videos, as a model writes that does not look."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.media import Video

MOST_IDENTICAL: Final = 0.1
"""Largest share of identical chains, or dialogues, that is no finding. Of VDAct's 450 dialogues, and of the chains and
dialogues of the household, none are identical."""
FEWEST_ANSWER_WORDS: Final = 8
"""With fewer words in all its answers together, a chain may say the same as another one by chance, as yes and no."""
_WORD: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")
"""A word; of Chinese, Japanese and Korean a character."""

Kind = Literal["chains", "dialogues"]


@dataclass(frozen=True)
class IdenticalUnits:
    """Chains, or dialogues, with the questions and answers of another one, word for word."""

    kind: Kind
    same: int
    """How many there are."""
    of: int
    """Number of all chains or dialogues."""
    examples: tuple[str, ...]
    """Identifiers of the largest group that is identical."""

    def __str__(self) -> str:
        return f"{self.same:,} of {self.of:,} {self.kind} have the questions and answers of another one, word for word"


class TextIndex:
    """Chains and dialogues by a hash of what they say. Those about videos that look alike may say the same."""

    def __init__(self) -> None:
        self._counts = Counter[Kind]()
        self._groups: dict[tuple[Kind, bytes], list[tuple[str, str]]] = defaultdict(list)
        """Identifier and video of each unit."""

    def add(self, unit: QAChain | Dialogue) -> None:
        """Add a unit."""
        kind: Kind = "chains" if isinstance(unit, QAChain) else "dialogues"
        self._counts[kind] += 1
        if (said := _unit_words(unit)) is not None:
            digest = hashlib.blake2b("\n".join(said).encode(), digest_size=16).digest()
            self._groups[kind, digest].append((unit.id, unit.video_id))

    def identical(self, alike: Mapping[str, str]) -> Iterator[IdenticalUnits]:
        """Identical chains, then identical dialogues, if they are many.

        Args:
            alike: `film_key` each video.
        """
        kinds: tuple[Kind, ...] = ("chains", "dialogues")
        for kind in kinds:
            groups = (group for (of, _), group in self._groups.items() if of == kind)
            found = [group for group in groups if len(group) > 1 and _apart(group, alike) > 1]
            same = sum(map(len, found))
            if same > MOST_IDENTICAL * self._counts[kind]:
                examples = tuple(unit_id for unit_id, _ in max(found, key=len))
                yield IdenticalUnits(kind, same, self._counts[kind], examples)


def film_key(video: Video) -> str:
    """A name that videos share that look alike or are one file."""
    return video.lookalikes or video.sha256 or video.id


def _unit_words(unit: QAChain | Dialogue) -> tuple[str, ...] | None:
    """The words of its questions and answers; None if they are too few to compare."""
    answers = [_WORD.findall(turn.references[0].casefold()) if turn.references else [] for turn in unit.turns]
    if len(unit.turns) < 2 or sum(map(len, answers)) < FEWEST_ANSWER_WORDS:
        return None
    questions = (_WORD.findall(turn.question.casefold()) for turn in unit.turns)
    return tuple(" ".join(words) for pair in zip(questions, answers, strict=True) for words in pair)


def _apart(units: Sequence[tuple[str, str]], alike: Mapping[str, str]) -> int:
    """Number of units without those about a copy of a video that another one is about."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for _, video_id in units:
        counted[alike.get(video_id, video_id)][video_id] += 1
    return sum(max(of_video.values()) for of_video in counted.values())

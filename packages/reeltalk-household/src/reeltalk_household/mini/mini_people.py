"""Who is who in a video: reeltalk-mini reads a name above a head, and knows the person again by the looks.

A name stands above a head for a short time only. Later the person is found by what the network sees of shirt, trousers,
hair and other looks. The network never sees names: each known person has a mark, which stands in the place of the name
in all texts, and is added to the person's visual token. So it can answer about people whose names it never met.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk_household.mini.mini_input import LETTERS, PAD, PEOPLE, MiniWords

Floats = NDArray[np.float32]
SHORTEST_NAME: Final = 2
"""Letters. What is shorter was hardly a name."""
PRESENT_FROM: Final = 0.5
"""Someone is there from this probability on."""
UNLIKE_ABOVE: Final = 3.0
"""People are different if the probabilities of their looks differ by more than this in sum."""
KNOWN_SHARE: Final = 0.8
"""Share of the known looks that stays when a person is seen again."""
_WORD: Final = re.compile(r"\b[A-Z][a-z]+")


@dataclass
class KnownPerson:
    """A person whose name was read."""

    name: str
    mark: int
    looks: Floats
    """(F,) probabilities."""


@dataclass
class KnownPeople:
    """The people of one video whose names were read, at most as many as there are marks."""

    known: list[KnownPerson] = field(default_factory=list)

    def copy(self) -> "KnownPeople":
        """The same people, to be changed independently."""
        return KnownPeople([KnownPerson(one.name, one.mark, one.looks.copy()) for one in self.known])

    @property
    def marks(self) -> dict[str, int]:
        """The marks by name."""
        return {one.name: one.mark for one in self.known}

    def see(self, letters: NDArray[np.integer], looks: Floats, present: Floats) -> list[int]:
        """Takes in what a frame shows of people, and says who they are.

        Args:
            letters: (P, L) letters above each head, as numbers of `LETTERS`, from left to right; 0 is nothing.
            looks: (P, F) probabilities of looks.
            present: (P,) probabilities that somebody is there.

        Returns:
            (P,) marks; `PAD` for nobody and for a stranger.
        """
        found = [PAD] * len(letters)
        there = [at for at in range(len(letters)) if present[at] >= PRESENT_FROM]
        for at in there:
            name = read_name(letters[at])
            if name is not None and (person := self._named(name, looks[at])) is not None and person.mark not in found:
                found[at] = person.mark
                person.looks = looks[at]
        pairs = sorted(
            (float(np.abs(looks[at] - person.looks).sum()), at, number)
            for at in there
            for number, person in enumerate(self.known)
        )
        for distance, at, number in pairs:
            person = self.known[number]
            if distance <= UNLIKE_ABOVE and found[at] == PAD and person.mark not in found:
                found[at] = person.mark
                person.looks = KNOWN_SHARE * person.looks + np.float32(1 - KNOWN_SHARE) * looks[at]
        return found

    def hear(self, text: str, words: MiniWords) -> None:
        """Corrects names by their spelling in a text.

        Args:
            text: A question, an instruction, or what is said.
            words: The known words, which are no names.
        """
        for word in _WORD.findall(text):
            if word in self.marks or words.knows(word):
                continue
            for one in self.known:
                if is_same_spelling(word, one.name):
                    one.name = word
                    break

    def _named(self, name: str, looks: Floats) -> KnownPerson | None:
        for one in self.known:
            if is_same_spelling(name, one.name):
                return one
        if len(self.known) == len(PEOPLE):
            return None
        self.known.append(KnownPerson(name, PEOPLE[len(self.known)], looks))
        return self.known[-1]


def read_name(letters: Sequence[int] | NDArray[np.integer]) -> str | None:
    """The name that letters spell, as connectionist temporal classification has it: repeated letters count once.

    Args:
        letters: (L,) numbers of `LETTERS` from left to right; 0 is nothing.
    """
    told = [int(one) for at, one in enumerate(letters) if one and (at == 0 or letters[at - 1] != one)]
    name = "".join(LETTERS[one - 1] for one in told).capitalize()
    return name if len(name) >= SHORTEST_NAME else None


def is_same_spelling(one: str, other: str) -> bool:
    """True if two spellings differ by no more than a third of their letters."""
    return _distance(one.casefold(), other.casefold()) <= max(len(one), len(other)) // 3


def _distance(one: str, other: str) -> int:
    """Levenshtein's distance."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, row[0] = row[0], at
        for place, second in enumerate(other, 1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (letter != second))
    return row[-1]

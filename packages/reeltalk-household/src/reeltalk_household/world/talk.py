"""The words of people, by what they do with them.

`talk.toml` holds the sentences of each speech act. What is said is drawn, so it cannot be guessed from the rest of a
scene.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from reeltalk.language.vocabulary import SPEECH_ACTS, plain_name
from reeltalk_household.world.house import House, Thing
from reeltalk_household.world.tables import world_table


@cache
def sentences() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """The sentences of each speech act: `thing` for those about an object, `free` for the others."""
    raw = world_table("talk")["acts"]
    if set(raw) != set(SPEECH_ACTS):
        raise ValueError(f"talk.toml lacks, or has beyond the speech acts, {sorted(set(raw) ^ set(SPEECH_ACTS))}")
    return {act: {kind: tuple(lines) for kind, lines in kinds.items()} for act, kinds in raw.items()}


def thing_words(thing: Thing) -> str:
    """An object as people call it, such as `the small red mug`."""
    return " ".join(filter(None, ("the", thing.size, thing.colour, plain_name(thing.name))))


@dataclass
class Talk:
    """Draws sentences, none twice."""

    used: set[str]
    """Sentences of the film so far."""

    def words(
        self,
        act: str,
        house: House,
        speaker: str,
        listeners: Sequence[str],
        about: str | None,
        draw: random.Random,
    ) -> str:
        """What somebody says.

        Args:
            act: The speech act.
            house: Knows the names of people and the looks of things.
            speaker: Who speaks.
            listeners: Who is spoken to; the first is called by name.
            about: The object that it is about; None for something that is not in sight.
            draw: Chooses the sentence.
        """
        known = sentences()[act]
        kind = "thing" if about is not None and "thing" in known else "free"
        slots = {name: draw.choice(values) for name, values in world_table("talk")["words"].items()}
        slots["listener"] = house.person(listeners[0]).name
        if about is not None:
            slots["thing"] = thing_words(house.things[about])
        lines = list(known[kind])
        draw.shuffle(lines)
        made = [line.format(**slots) for line in lines]
        words = next((one for one in made if one not in self.used), made[0])
        self.used.add(words)
        return words[0].upper() + words[1:]

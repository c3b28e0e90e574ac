"""What makes the acts of a scene possible, and what each of them is for.

Both follow from the rules of the simulation. An earlier step makes a later one possible if the later one could not be
done, had the earlier one changed nothing. An act that makes another act of the same person possible is for that act:
the fridge is opened to take the milk, and the milk is taken to drink it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from reeltalk.language.vocabulary import class_of
from reeltalk_household.world.house import House
from reeltalk_household.world.simulation import BegunStep, take_effect
from reeltalk_household.world.situation import (
    AGENTLESS_ACTIONS,
    CannotError,
    Command,
    PersonState,
    ProgramStep,
    Situation,
    ThingState,
)

PURPOSELESS: Final = AGENTLESS_ACTIONS | frozenset(
    "walk stand turnTo wait say drop knock fall fallback fallsit close switchOff smile frown scowl gasp calm".split()
)
"""Actions for which nothing else is done."""
PLACINGS: Final = frozenset({"put", "putIn"})
ON_THE_WAY: Final = frozenset(
    "walk stand turnTo lookAt wait say close switchOff smile frown scowl gasp calm open".split()
)
"""What somebody may do on the way from taking a thing to putting it where it is taken to."""
_THING: Final = tuple(field.name for field in fields(ThingState) if field.name != "values")
_PERSON: Final = tuple(field.name for field in fields(PersonState) if field.name not in ("facing", "gaze", "feeling"))


def enabling_steps(house: House, steps: Sequence[ProgramStep]) -> list[frozenset[int]]:
    """For each step of a scene, the earlier steps without which it could not have taken effect."""
    found = []
    changes: dict[_Fact, tuple[int, Any]] = {}
    for number, step in enumerate(steps):
        of_step: dict[int, dict[_Fact, Any]] = {}
        for fact, (earlier, value) in changes.items():
            of_step.setdefault(earlier, {})[fact] = value
        needed = {n for n, facts in of_step.items() if not _can_happen(house, step, _with(step.before, facts))}
        found.append(frozenset(needed))
        changes |= {fact: (number, value) for fact, value in _changes(step.before, step.after).items()}
    return found


_Fact = tuple[str, str, str]
"""A thing or a person, one of its properties, and, if it has several values of it, the value."""


def _changes(before: Situation, after: Situation) -> dict[_Fact, Any]:
    """What differs between two situations, with the values before."""
    found: dict[_Fact, Any] = {}
    pairs: list[tuple[str, ThingState | PersonState, ThingState | PersonState, Sequence[str]]] = [
        *((name, before.things[name], state, _THING) for name, state in after.things.items()),
        *((name, before.people[name], state, _PERSON) for name, state in after.people.items()),
    ]
    for name, old, new, properties in pairs:
        if old is new:
            continue
        for key in properties:
            if getattr(old, key) != getattr(new, key):
                found[name, key, ""] = getattr(old, key)
        if isinstance(old, ThingState) and isinstance(new, ThingState):
            for value in old.values ^ new.values:
                found[name, "values", value] = value in old.values
    return found


def _with(situation: Situation, facts: Mapping[_Fact, Any]) -> Situation:
    """A situation in which some properties have the values that they had earlier."""
    things, people = dict(situation.things), dict(situation.people)
    for (name, key, value), earlier in facts.items():
        if name in people:
            people[name] = replace(people[name], **{key: earlier})
        elif key == "values":
            values = things[name].values
            things[name] = replace(things[name], values=values | {value} if earlier else values - {value})
        else:
            things[name] = replace(things[name], **{key: earlier})
    return replace(situation, things=things, people=people)


def _can_happen(house: House, step: ProgramStep, situation: Situation) -> bool:
    try:
        take_effect(house, as_going(step), situation)
    except CannotError:
        return False
    return True


def as_going(step: ProgramStep) -> BegunStep:
    """A step before it takes effect."""
    to = None
    if step.command.action == "walk" and step.command.person is not None:
        state = step.after.people[step.command.person]
        to = (state.room, state.x_m, state.facing)
    return BegunStep(step.command, step.start_s, step.duration_s, to)


def purposes(house: House, steps: Sequence[ProgramStep], *, unmeant: Collection[int] = ()) -> list[int | None]:
    """For each step of a scene, the later act of the same person that it is for; None if there is none.

    Args:
        steps: The scene, in the order in which its steps take effect.
        unmeant: Steps that nothing is done for, such as putting things down before somebody leaves.
    """
    served = ends_of(steps, enabling_steps(house, steps), unmeant)
    found = [_chosen(steps, n, ends) for n, ends in enumerate(served)]
    for n, end in enumerate(found):
        # People go somewhere for what they do there in the end, not to open a door.
        while end is not None and is_means(steps[end]) and found[end] is not None:
            end = found[end]
        found[n] = end
    return found


def _chosen(steps: Sequence[ProgramStep], number: int, ends: Sequence[int]) -> int | None:
    """The act that a step is for, among those that it makes possible."""
    if steps[number].command.action != "grab":
        return ends[0] if ends else None
    # What is taken to be used is put somewhere only afterwards.
    uses = [n for n in ends if steps[n].command.action not in PLACINGS]
    person = steps[number].command.person
    following = next(
        (
            n
            for n, step in enumerate(steps[number + 1 :], number + 1)
            if step.command.person == person and step.command.action not in ON_THE_WAY
        ),
        None,
    )
    return uses[0] if uses else following if following in ends else None


def is_means(step: ProgramStep) -> bool:
    """True for an act that is done for the sake of another one alone."""
    return step.command.action == "open" or (
        step.command.action == "switchOn" and class_of(step.command.main or "") == "faucet"
    )


def ends_of(
    steps: Sequence[ProgramStep], possible: Sequence[Collection[int]], unmeant: Collection[int] = ()
) -> list[list[int]]:
    """For each step, the later acts of the same person that it makes possible, the earliest first."""
    return [
        [
            later
            for later in range(n + 1, len(steps))
            if n in possible[later] and later not in unmeant and _may_serve(step.command, steps[later].command)
        ]
        for n, step in enumerate(steps)
    ]


def _may_serve(one: Command, other: Command) -> bool:
    """True if a person may do one thing for the sake of the other, which it makes possible."""
    if one.person is None or one.person != other.person:
        return False
    if one.action in PLACINGS and other.action in ("grab", "switchOn"):
        return False
    # Somebody walks to a thing to close it or to switch it off.
    at_its_place = one.action == "walk" and other.action in ("close", "switchOff") and one.main == other.main
    return other.action not in PURPOSELESS or at_its_place

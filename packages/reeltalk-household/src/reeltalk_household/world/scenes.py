"""Scenes of a film: who does what where, one scene after the other.

A scene is a recipe with a cast, a room, and what the others do meanwhile. Most scenes begin a while after the one
before, so people may be somewhere else then; things are where they were left.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from reeltalk.language.vocabulary import class_of
from reeltalk_household.world.activities import Activity, activities
from reeltalk_household.world.house import ROOM_ORDER, House
from reeltalk_household.world.performance import Line, Performed, carry_out_script
from reeltalk_household.world.simulation import moved_to, with_person
from reeltalk_household.world.situation import LATER, CannotError, Command, ProgramStep, Situation
from reeltalk_household.world.talk import Talk

SHORTEST_S: Final = 10.0
LONGEST_S: Final = 40.0
FEWEST_STEPS: Final = 4
PAUSE_SHARE: Final = 0.75
"""How often a scene begins a while after the one before."""
TOGETHER_SHARE: Final = 0.88
"""How often somebody of the cast is in the scene's room when it begins."""
BESIDE_SHARE: Final = 0.5
"""How often somebody else does something of their own in the same room."""
AFTER_S: Final = 0.5
"""Time between the last step of a scene and the next scene."""
ASIDE_SHARE: Final = 0.1
"""How often somebody looks at something else before a line of a script."""
ASIDE_THINGS: Final = frozenset(
    {"clock", "wallpictureframe", "orchid", "tv", "fridge", "closet", "bookshelf", "bathtub", "vase"}
)
CUT_S: Final = 0.7
"""Two changes in different rooms are at least this far apart, so that a camera can show both."""
PLACES_M: Final = (1.3, 2.1, 2.9, 3.7, 4.5, 5.2)


@dataclass(frozen=True)
class PlayedScene:
    """A recipe that was carried out."""

    activity: Activity
    start_s: float
    """When it begins, in seconds from the start of the film."""
    end_s: float
    start: Situation
    steps: tuple[ProgramStep, ...]
    end: Situation
    lines: tuple[Line, ...]
    """Its script."""
    room: str
    seed: str


def play_scene(
    house: House,
    activity: Activity,
    before: Situation,
    start_s: float,
    *,
    seed: str,
    talk: Talk,
    room_now: str | None = None,
) -> PlayedScene:
    """Lets the people of a situation play a recipe.

    Args:
        activity: The recipe.
        before: The situation before it.
        start_s: When it begins.
        seed: Decides everything that the recipe leaves open.
        talk: Draws what is said.
        room_now: The room where the scene before ended; None for the first scene of a film.

    Raises:
        CannotError: It cannot be played, is too short or too long, or cannot be filmed.
    """
    draw = random.Random(f"scene {seed}")
    people = draw.sample(sorted(before.people), len(before.people))
    if len(people) < len(activity.roles):
        raise CannotError(f"{activity.name} needs {len(activity.roles)} people")
    cast = dict(zip(activity.roles, people, strict=False))
    lines = activity.script(cast, draw)
    others = people[len(cast) :]
    room = _room(house, activity, lines, before, draw)
    start, present = before, [person for person in others if before.people[person].room == room]
    # Where the camera is, nobody may appear from nowhere.
    if room_now is None or (room != room_now and draw.random() < PAUSE_SHARE):
        start, present = _later(house, before, list(cast.values()), others, room, draw)
    for person in present:
        lines += _beside(house, start, person, room, draw)
    lines = _with_asides(house, start, lines, room, draw)
    lines += [Line(person, "leave") for person in start.people if any(line.person == person for line in lines)]
    performed = carry_out_script(house, lines, start, start_s, seed=seed, talk=talk)
    _check(house, performed, start_s)
    end_s = round(performed.end_s + AFTER_S, 1)
    return PlayedScene(activity, start_s, end_s, start, performed.steps, performed.end, tuple(lines), room, seed)


def _check(house: House, performed: Performed, start_s: float) -> None:
    if not SHORTEST_S <= performed.end_s - start_s <= LONGEST_S:
        raise CannotError("the scene is too short or too long")
    if len(performed.steps) < FEWEST_STEPS:
        raise CannotError("the scene has too few steps")
    # While somebody walks to another room, nothing else happens there before they have come.
    for one, other in pairwise(performed.steps):
        if room_of(one) != room_of(other) and other.effect_s - one.effect_s < CUT_S:
            raise CannotError("two changes in different rooms are too near to each other")


def camera_steps(scenes: Sequence[PlayedScene]) -> list[ProgramStep]:
    """The steps of a film for the camera: those of its scenes, and the cuts to a later time between them."""
    steps: list[ProgramStep] = []
    for scene in scenes:
        if steps and scene.start is not steps[-1].after:
            cut = Command(LATER, scene.room, (), None)
            steps.append(ProgramStep(cut, scene.start_s, 0.0, steps[-1].after, scene.start))
        steps += scene.steps
    return steps


def room_of(step: ProgramStep) -> str:
    """The room in which a step takes effect."""
    command = step.command
    if command.person is not None:
        return step.after.people[command.person].room
    assert command.main is not None
    return step.after.things[command.main].room


def _room(house: House, activity: Activity, lines: Sequence[Line], before: Situation, draw: random.Random) -> str:
    """The room of a scene: the recipe's, or one in which most of the things are that it names."""
    if activity.room is not None:
        return next(name for name, room in house.rooms.items() if room.class_name == activity.room)
    counts = {name: draw.random() for name in house.rooms}
    for line in lines:
        for word in line.words:
            class_name = word.partition(".")[0].rpartition(":")[2]
            room_class = word.partition(":")[0] if ":" in word else None
            for name, room in house.rooms.items():
                if class_name == room.class_name or room_class == room.class_name:
                    counts[name] += 1.0
            found = {before.things[thing.name].room for thing in house.of_class(class_name)}
            for name in found if not room_class else ():
                counts[name] += 1.0 / len(found)
    return max(counts, key=lambda name: counts[name])


def _later(
    house: House, before: Situation, cast: Sequence[str], others: Sequence[str], room: str, draw: random.Random
) -> tuple[Situation, list[str]]:
    """The situation a while later, and the people beside the cast who are in the scene's room."""
    start, present = before, []
    places = draw.sample(PLACES_M, len(PLACES_M))
    elsewhere = [name for name in house.rooms if name != room]
    for person in (*cast, *others):
        start = with_person(start, person, feeling=None)
        here = draw.random() < (TOGETHER_SHARE if person in cast else BESIDE_SHARE)
        where = room if here else draw.choice(elsewhere)
        if before.people[person].posture == "stand":
            start = moved_to(start, person, where, places.pop(), facing=draw.choice((1, -1)))
        if person in others and start.people[person].room == room:
            present.append(person)
    things = {
        name: replace(state, values=state.values - {"HOT", "RINGING"}) if state.values & {"HOT", "RINGING"} else state
        for name, state in start.things.items()
    }
    return replace(start, things=things), present


def _beside(house: House, start: Situation, person: str, room: str, draw: random.Random) -> list[Line]:
    """Something that somebody does alone without leaving the room; nothing if little suits."""
    alone = [activity for activity in activities().values() if len(activity.roles) == 1]
    for activity in draw.sample(alone, 12):
        lines = activity.script({"A": person}, draw)
        if any(line.person is None for line in lines) or activity.category == "Abnormal":
            continue
        marked = []
        for line in lines:
            skipped = line.words[:1] if line.verb in ("tap", "await") else ()
            words = line.words[len(skipped) :]
            if not all(_is_in(house, start, word, room) for word in words):
                break
            marked.append(replace(line, words=(*skipped, *(f"{word}.beside" for word in words))))
        else:
            return marked
    return []


def _with_asides(house: House, start: Situation, lines: Sequence[Line], room: str, draw: random.Random) -> list[Line]:
    """The lines with a look at something else here and there, so that what comes next is not certain."""
    seen = [name for name, state in start.things.items() if state.room == room and class_of(name) in ASIDE_THINGS]
    found: list[Line] = []
    for line in lines:
        others = [person for person in start.people if person != line.person and start.people[person].room == room]
        if line.person is not None and seen and draw.random() < ASIDE_SHARE:
            looked_at = draw.choice(others) if others and draw.random() < 0.4 else draw.choice(seen)
            found.append(Line(line.person, draw.choice(("lookAt", "turnTo")), (looked_at,)))
        found.append(line)
    return found


def _is_in(house: House, start: Situation, word: str, room: str) -> bool:
    room_class, _, class_name = word.partition(".")[0].rpartition(":")
    own = house.rooms[room].class_name
    if class_name in ROOM_ORDER or (room_class and room_class != own):
        return class_name == own
    return any(start.things[thing.name].room == room for thing in house.of_class(class_name))

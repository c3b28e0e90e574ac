"""Long scenes of three people who act at the same time, drawn by a seed, for tests of streams."""

import random

from peopled_scenes import ANNA, MARA, TOM, A, Does, M, Scene, T

from reeltalk_build.graph.reading import read_activity
from reeltalk_build.graph.story import Story

THINGS = {
    "mug3": ("on kitchentable5", ("colour_red",), ()),
    "mug4": ("on kitchentable5", ("colour_blue",), ()),
    "kettle7": ("on kitchencounter6", ("colour_white",), ("OFF",)),
    "book8": ("on coffeetable9", ("colour_green",), ()),
    "apple10": ("inside fridge11", ("colour_red",), ()),
    "fridge11": ("inside kitchen1", ("colour_white",), ("CLOSED",)),
    "vase13": ("on coffeetable9", ("colour_blue",), ()),
    "tv15": ("inside livingroom2", (), ("OFF",)),
    "kitchentable5": ("inside kitchen1", (), ()),
    "kitchencounter6": ("inside kitchen1", (), ()),
    "coffeetable9": ("inside livingroom2", (), ()),
    "sofa12": ("inside livingroom2", (), ()),
}
SUPPORTS = ("kitchentable5", "kitchencounter6", "coffeetable9")
MOVED = ("mug3", "mug4", "book8", "apple10")
FEELINGS = ("smile", "scowl", "gasp", "calm")


def busy_scene(seed: int, *, length_s: float = 150.0, name: str = "Spend_time1_scene1") -> Scene:
    """A scene in which each of three people acts again and again.

    Args:
        seed: Draws who does what, and when.
        length_s: Its length in seconds, about.
        name: The activity.
    """
    draw = random.Random(f"busy {seed}")
    people = {A: ("Anna", "kitchen1", ANNA), T: ("Tom", "kitchen1", TOM), M: ("Mara", "livingroom2", MARA)}
    events, free_s = [], dict.fromkeys(people, 0.0)
    rooms = {person: room for person, (_, room, _) in people.items()}
    state, held = {"kettle7": False, "tv15": False, "fridge11": False}, dict[str, str]()
    while min(free_s.values()) < length_s:
        person = min(free_s, key=lambda one: (free_s[one], one))
        at = round(free_s[person] + draw.uniform(0.5, 6.0), 1)
        takes = round(draw.uniform(1.0, 3.0), 1)
        kind = draw.choice(("walk", "thing", "thing", "switch", "switch", "feel", "say", "long", "sit", "break"))
        own = [thing for thing, holder in held.items() if holder == person]
        event = Does(person, "smile", at=at, takes=1.0)
        if kind == "walk":
            room = {"kitchen1": "livingroom2", "livingroom2": "kitchen1"}[rooms[person]]
            event, rooms[person] = Does(person, "walk", room, at=at, takes=takes, to=room), room
        elif kind == "thing" and own:
            other = draw.choice([one for one in people if one != person])
            if draw.random() < 0.3:
                event, held[own[0]] = Does(person, "give", own[0], (other,), at=at, takes=takes), other
            else:
                event = Does(person, "put", own[0], (draw.choice(SUPPORTS),), at=at, takes=takes)
                del held[own[0]]
        elif kind == "thing" and (free := [thing for thing in MOVED if thing not in held]):
            thing = draw.choice(free)
            event, held[thing] = Does(person, "grab", thing, at=at, takes=takes), person
        elif kind == "switch":
            thing = draw.choice(sorted(state))
            on, off = ("open", "close") if thing == "fridge11" else ("switchOn", "switchOff")
            event, state[thing] = Does(person, off if state[thing] else on, thing, at=at, takes=takes), not state[thing]
        elif kind == "feel":
            event = Does(person, draw.choice(FEELINGS), at=at, takes=1.0)
        elif kind == "say":
            other = draw.choice([one for one in people if one != person])
            event = Does(person, "say", draw.choice(MOVED), (other,), at=at, takes=2.0, says="Look!", act="praise")
        elif kind == "long":
            event = Does(person, "read", "book8", at=at, takes=round(draw.uniform(6, 12), 1))
        elif kind == "sit":
            event = Does(person, "sit", "sofa12", at=at, takes=takes)
        elif kind == "break":
            event = Does(None, draw.choice(("ring", "break")), draw.choice(("vase13", "tv15")), at=at, takes=1.0)
        events.append(event)
        free_s[person] = at + event.takes
    events.sort(key=lambda event: event.at + event.takes * (1 if event.action == "walk" else 0.5))
    return Scene(name, people, THINGS, events)


def busy_story(seed: int, *, length_s: float = 150.0) -> tuple[Story, dict[str, str]]:
    """The story of a busy scene, and its graphs as N-Quads by name."""
    scene = busy_scene(seed, length_s=length_s)
    texts = {scene.name: scene.quads()}
    return Story([read_activity(text, file=f"{name}.nq", name=name) for name, text in texts.items()]), texts

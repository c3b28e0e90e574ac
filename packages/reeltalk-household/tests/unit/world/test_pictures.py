"""Pictures show what is known: things, colours, people, feelings, talk, names, light, and what hides what."""

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from reeltalk.language.vocabulary import FEELINGS
from reeltalk_household.world.bubbles import place_bubble, text_size_px, wrap
from reeltalk_household.world.camera import Camera, FramePlan
from reeltalk_household.world.canvas import Canvas, Stencil
from reeltalk_household.world.drawings import draw_object, drawings
from reeltalk_household.world.faces import Face
from reeltalk_household.world.figure import draw_person, standing
from reeltalk_household.world.film import FilmPlan, plan_films, play_film
from reeltalk_household.world.house import House, build_house
from reeltalk_household.world.kinds import COLOURS, KINDS
from reeltalk_household.world.scenes import camera_steps
from reeltalk_household.world.settings import FilmSettings
from reeltalk_household.world.shots import CameraShot, on_camera, plan_shots, whole_room
from reeltalk_household.world.situation import Command, Light, ProgramStep, Situation, initial_situation
from reeltalk_household.world.staging import Staging
from reeltalk_household.world.styles import SPLIT_STYLES, STYLES

NAMES = list(COLOURS)
TABLE = np.array([COLOURS[name] for name in NAMES], float)


def situation_in(house: House, room: str, *, light: Light = "day") -> Situation:
    return initial_situation(house, [room] * len(house.people), light=light)


def changed(situation: Situation, name: str, *, add: str = "", drop: str = "") -> Situation:
    state = situation.things[name]
    values = (state.values - {drop}) | ({add} if add else set())
    return replace(situation, things={**situation.things, name: replace(state, values=frozenset(values))})


def feeling(situation: Situation, **feelings: str | None) -> Situation:
    people = {name: replace(state, feeling=feelings.get(name)) for name, state in situation.people.items()}
    return replace(situation, people=people)


def empty(situation: Situation, shot: CameraShot) -> FramePlan:
    """A moment without people."""
    return FramePlan(0.0, situation, (), shot, frozenset(), ())


def acted(situation: Situation, *commands: tuple[Command, float, Situation]) -> list[ProgramStep]:
    """Steps one after the other, each with its length and the situation after it."""
    steps, start_s = [], 0.0
    for command, length_s, after in commands:
        steps.append(ProgramStep(command, start_s, length_s, situation, after))
        situation, start_s = after, round(start_s + length_s, 3)
    return steps


# Things.


@pytest.mark.parametrize("style", STYLES)
def test_every_class_is_drawn_where_the_stencil_says(style: str, full: bool) -> None:
    assert set(drawings()) == set(KINDS)
    manner = STYLES[style].manner
    # A quick run draws a quarter of the classes in each style, and each in a quarter of the styles.
    classes = list(KINDS.items()) if full else list(KINDS.items())[list(STYLES).index(style) % 4 :: 4]
    for class_name, kind in classes:
        for values in (frozenset(kind.states), frozenset({*kind.states, "DIRTY"})):
            for size in (1.0, 0.78) if "DIRTY" in values else (1.0,):
                canvas = Canvas(320, 320, scale=100, left=-1.6, bottom=-0.6, manner=manner)
                canvas.pixels[:] = (1, 2, 3)
                stencil = Stencil(320, 320, scale=100, left=-1.6, bottom=-0.6, manner=manner)
                stencil.number = 1
                for on in (canvas, stencil):
                    draw_object(on, class_name, 0.0, 0.0, kind.colours[0] if kind.colours else None, values, size=size)
                drawn = np.any(canvas.pixels != (1, 2, 3), axis=2)
                if class_name == "floor" and "DIRTY" not in values:
                    assert not drawn.any()
                    continue
                assert drawn.sum() > 40, class_name
                marked = (stencil.numbers == 1).astype(np.uint8)
                # Smooth edges reach up to two pixels further than the stencil.
                for one, other in ((marked, drawn.astype(np.uint8)), (drawn.astype(np.uint8), marked)):
                    beyond = (one == 1) & (cv2.dilate(other, np.ones((5, 5), np.uint8)) == 0)
                    assert beyond.sum() <= 0.005 * marked.sum() + 1, class_name
                for axis in (0, 1):
                    edges = [np.flatnonzero(m.any(axis=axis))[[0, -1]] for m in (drawn, marked)]
                    assert np.abs(edges[0] - edges[1]).max() <= 2, class_name


@pytest.mark.parametrize(
    ("class_name", "add", "drop"),
    [
        *((name, "BROKEN", "") for name, kind in KINDS.items() if "fragile" in kind.can),
        *((name, "OPEN", "CLOSED") for name, kind in KINDS.items() if "CLOSED" in kind.states),
        *((name, "ON", "OFF") for name, kind in KINDS.items() if "OFF" in kind.states),
        *((name, "RINGING", "") for name, kind in KINDS.items() if "ring" in kind.can),
        *((name, "FULL", "") for name in ("mug", "waterglass", "wineglass")),
        *((name, "DIRTY", "CLEAN") for name in ("mug", "plate", "kitchentable", "floor")),
        ("kettle", "HOT", ""),
    ],
)
def test_states_are_seen(class_name: str, add: str, drop: str) -> None:
    kind = KINDS[class_name]
    before = frozenset(kind.states)
    pictures = []
    for values in (before, (before - {drop}) | {add}):
        canvas = Canvas(300, 300, scale=110, left=-1.3, bottom=-0.3)
        canvas.pixels[:] = (230, 226, 218)
        draw_object(canvas, class_name, 0.0, 0.0, kind.colours[0] if kind.colours else None, values)
        pictures.append(canvas.pixels.astype(int))
    area = kind.width_m * kind.height_m * 110**2
    assert (np.abs(pictures[0] - pictures[1]).max(axis=2) > 40).sum() > max(12, 0.01 * area)


def colours_of(style: str, *, light: Light, lamps: bool, houses: range) -> Counter[bool]:
    """Whether the median colour of each coloured thing is nearest to the name of its colour.

    In the evening, eyes are used to the light: the brightest pixels count as white.
    """
    found: Counter[bool] = Counter()
    for number in houses:
        house = replace(build_house(number), style=style)
        for room in house.rooms:
            situation = situation_in(house, room, light=light)
            lit = [n for n in situation.things if n.startswith(("floorlamp", "tablelamp"))]
            if lamps:
                if not any(situation.things[name].room == room for name in lit):
                    continue
                for name in situation.things:
                    if name.startswith("lightswitch"):
                        situation = changed(situation, name, add="OFF", drop="ON")
                for name in lit:
                    situation = changed(situation, name, add="ON", drop="OFF")
            camera = Camera(house)
            moment = empty(situation, whole_room(house, room))
            picture = camera.picture(moment).astype(float)
            if light == "evening":
                picture = np.minimum(picture * (244 / np.percentile(picture.reshape(-1, 3), 97, axis=0)), 255)
            numbers, stencil = camera.numbered(moment)
            for name in camera.seen(moment):
                thing = house.things[name]
                where = stencil.numbers == numbers[name]
                # A lamp that shines has the colour of its light.
                if thing.colour is None or where.sum() < 60 or (lamps and name in lit):
                    continue
                middle = np.median(picture[where], axis=0)
                nearest = NAMES[int(np.argmin(((TABLE - middle) ** 2).sum(axis=1)))]
                found[nearest == thing.colour] += 1
    return found


@pytest.mark.parametrize("style", STYLES)
def test_colours_keep_their_names_in_every_style(style: str, full: bool) -> None:
    checks: list[tuple[Light, bool, float, int]] = [
        ("day", False, 0.95, 4),
        ("evening", False, 0.9, 2),
        ("evening", True, 0.8, 8),
    ]
    if not full:
        # Styles take turns: each is seen by day, in the evening, or with its lamps on.
        checks = [checks[list(STYLES).index(style) % 3]]
    for light, lamps, least, houses in checks:
        found = colours_of(style, light=light, lamps=lamps, houses=range(1, 13 if full else houses + 1))
        assert found[True] + found[False] > 60
        assert found[True] / (found[True] + found[False]) >= least, (light, lamps)


def test_splits_share_no_style() -> None:
    pools = [set(styles) for styles in SPLIT_STYLES.values()]
    assert all(not a & b for a, b in itertools.combinations(pools, 2))
    assert set().union(*pools) == set(STYLES)
    assert len(STYLES) >= 8
    drawn = {split: {build_house(n, split).style for n in range(1, 40)} for split in ("train", "dev", "test")}
    assert drawn == {split: set(styles) for split, styles in SPLIT_STYLES.items()}


def test_styles_differ_and_show_the_same_boxes() -> None:
    house = build_house(5)
    room = next(iter(house.rooms))
    pictures, boxes = [], []
    for style in STYLES:
        camera = Camera(replace(house, style=style), noise=0.0)
        moment = empty(situation_in(house, room), whole_room(house, room))
        pictures.append(camera.picture(moment).astype(int))
        boxes.append(camera.seen(moment))
    for one, other in itertools.combinations(pictures, 2):
        assert np.abs(one - other).mean() > 3
    for found in boxes[1:]:
        assert len(set(found) ^ set(boxes[0])) <= 2
        for name in set(found) & set(boxes[0]):
            for side in ("left", "top", "right", "bottom"):
                assert abs(getattr(found[name], side) - getattr(boxes[0][name], side)) < 0.03, name


# Faces.


def face(house: House, style: str, shown: str | None, heading: float, scale: float) -> NDArray[np.int64]:
    person = house.people[0]
    canvas = Canvas(round(scale), round(scale), scale=scale, left=-0.5, bottom=0.95, manner=STYLES[style].manner)
    canvas.pixels[:] = (228, 222, 214)
    draw_person(canvas, person, 0.0, 0.0, standing(heading), Face(heading, shown))
    return canvas.pixels.astype(np.int64)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("heading", [pytest.param(-30.0, marks=pytest.mark.slow), 0.0, 30.0])
def test_feelings_are_read_from_faces(style: str, heading: float) -> None:
    """Faces of two feelings differ in a twentieth of the head or more, also where pictures are 320 pixels wide."""
    for number, scale in itertools.product((1, 7), (100, 50)):
        house = build_house(number)
        faces = {shown: face(house, style, shown, heading, scale) for shown in (None, *FEELINGS)}
        head = np.pi * 0.18 * 0.2 * scale**2
        for one, other in itertools.combinations(faces, 2):
            differing = (np.abs(faces[one] - faces[other]).max(axis=2) > 36).sum()
            assert differing > 0.05 * head, (number, one, other)


def test_people_of_a_house_differ_in_looks() -> None:
    for number in range(1, 9):
        house = build_house(number)
        figures = []
        for person in house.people:
            canvas = Canvas(120, 200, scale=100, left=-0.6, bottom=-0.1)
            draw_person(canvas, person, 0.0, 0.0, standing(20.0), Face(20.0))
            figures.append(canvas.pixels.astype(int))
        for one, other in itertools.combinations(figures, 2):
            assert (np.abs(one - other).max(axis=2) > 40).sum() > 1500


# Talk and names.


def test_words_are_wrapped_into_lines_of_similar_length() -> None:
    assert wrap("Yes, please!") == ("Yes, please!",)
    lines = wrap("I am sorry that the blue vase broke. I wanted to water the flowers.")
    assert " ".join(lines) == "I am sorry that the blue vase broke. I wanted to water the flowers."
    assert all(len(line) <= 26 for line in lines)
    assert len(lines) == 3
    assert wrap("Donaudampfschifffahrtsgesellschaft!") == ("Donaudampfschifffahrtsgesellschaft!",)


def talk(house: House, words: str) -> list[ProgramStep]:
    room = next(iter(house.rooms))
    start = situation_in(house, room)
    say = Command("say", None, ("character2",), "character1", words, "ask")
    return acted(start, (say, 4.0, start), (Command("wait", "character2", (), "character1"), 3.0, start))


@pytest.mark.parametrize("width", [320, 640])
def test_a_bubble_holds_the_words_and_hides_no_face(width: int) -> None:
    for number in (1, 4, 6):
        house = build_house(number)
        camera = Camera(house, width_px=width, noise=0.0)
        steps = talk(house, "Can you hand me the small blue mug, please?")
        with_bubble = camera.moment(steps, 2.0)
        pixels = camera.picture(with_bubble).astype(int)
        bare = camera.picture(replace(with_bubble, talk=())).astype(int)
        rows, columns = np.nonzero(np.abs(pixels - bare).max(axis=2) > 60)
        assert len(rows) > 0.004 * pixels.size
        part = pixels[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
        light, dark = (part.min(axis=2) > 235).mean(), (part.max(axis=2) < 110).mean()
        assert light > 0.4, "paper"
        assert 0.05 < dark < 0.45, "ink"
        numbers, stencil = camera.numbered(with_bubble)
        assert numbers["character1"] in stencil.numbers
        people = [stencil.numbers == numbers[person.character] for person in house.people]
        hidden = camera.numbered(replace(with_bubble, talk=()))[1].numbers
        for person, seen in zip(house.people, people, strict=True):
            whole = hidden == numbers[person.character]
            head = np.flatnonzero(whole.any(axis=1))[: max(4, round(whole.any(axis=1).sum() * 0.25))]
            assert seen[head].sum() >= 0.9 * whole[head].sum(), "at most the edge of a head is covered"


def test_words_differ_in_the_picture() -> None:
    house = build_house(3)
    camera = Camera(house, noise=0.0)
    one, other = (camera.picture(camera.moment(talk(house, words), 2.0)) for words in ("Tea or milk?", "Is it noon?"))
    assert (np.abs(one.astype(int) - other).max(axis=2) > 80).sum() > 80


def test_bubbles_stay_in_the_picture() -> None:
    for x, y in itertools.product((5, 320, 630), (20, 180, 340)):
        bubble = place_bubble("Would you like some more tea with your cake?", (x, y), 20, [], 640, 360)
        left, top, right, bottom = bubble.box
        assert 0 <= left < right <= 640
        assert 0 <= top < bottom <= 360
        assert bubble.size_px == text_size_px(640) >= 16


def test_names_stand_above_heads_for_two_and_a_half_seconds() -> None:
    house = build_house(2)
    room = next(iter(house.rooms))
    start = situation_in(house, room)
    steps = acted(start, (Command("wait", "character2", (), "character1"), 6.0, start))
    camera = Camera(house, view="fixed", noise=0.0)
    moments = list(camera.moments(steps))
    for moment in moments:
        expected = {person.character for person in house.people} if moment.time_s < 2.5 else set()
        assert moment.named == expected
    first, later = (camera.picture(replace(moments[0], named=names)) for names in (moments[0].named, frozenset()))
    differing = (np.abs(first.astype(int) - later).max(axis=2) > 60).any(axis=0)
    assert differing.sum() > 3 * 15
    # A name hides what is behind it.
    assert not np.array_equal(camera.numbered(moments[0])[1].numbers, camera.numbered(moments[-1])[1].numbers)


# People.


def test_people_do_not_stand_in_each_other() -> None:
    house = build_house(1)
    room = next(iter(house.rooms))
    start = situation_in(house, room)
    crowded = replace(start, people={n: replace(p, x_m=3.0) for n, p in start.people.items()})
    steps = acted(crowded, (Command("wait", "character2", (), "character1"), 2.0, crowded))
    staging = Staging(house, steps)
    places = sorted(staging.standing(person.character, 1.0).x_m for person in house.people)
    assert all(b - a >= 0.6 for a, b in itertools.pairwise(places))
    camera = Camera(house, noise=0.0)
    seen = camera.seen(camera.moment(steps, 1.0, whole_room(house, room)))
    assert {"character1", "character2", "character3"} <= set(seen)


def hand_gap(camera: Camera, steps: list[ProgramStep], time_s: float) -> float:
    from reeltalk_household.world.figure import HANDS, joints_on

    figures = camera.moment(steps, time_s).figures
    hands = [joints_on(f.person, f.x_m, f.y_m, f.pose)[list(HANDS)] for f in figures[:2]]
    return float(min(np.hypot(*(a - b)) for a in hands[0] for b in hands[1]))


def test_hands_meet_when_something_is_given() -> None:
    house = build_house(2).with_people([person.name for person in build_house(2).people[:2]])
    room = next(iter(house.rooms))
    start = situation_in(house, room)
    mug = next(name for name in start.things if name.startswith("mug"))
    things = {**start.things, mug: replace(start.things[mug], support="character1", room=room, inside=False)}
    start = replace(
        start, things=things, people={**start.people, "character1": replace(start.people["character1"], right=mug)}
    )
    people = {
        "character1": replace(start.people["character1"], right=None),
        "character2": replace(start.people["character2"], right=mug),
    }
    after = replace(start, things={**things, mug: replace(things[mug], support="character2")}, people=people)
    steps = acted(start, (Command("give", mug, ("character2",), "character1"), 2.4, after))
    camera = Camera(house, noise=0.0)
    assert hand_gap(camera, steps, 1.2) < 0.1 < 0.3 < hand_gap(camera, steps, 0.0)
    before_x, after_x = (camera.seen(camera.moment(steps, t))[mug] for t in (0.1, 2.3))
    assert before_x.left < after_x.left, "the mug goes to the other person"


@pytest.mark.parametrize("action", ["wave", "hug", "comfort", "say", "clap", "gasp", "scowl", "smile", "frown", "wait"])
def test_actions_move_people(action: str) -> None:
    house = build_house(4)
    room = next(iter(house.rooms))
    start = situation_in(house, room)
    shown = {"gasp": "SURPRISED", "scowl": "ANGRY", "smile": "HAPPY", "frown": "SAD"}.get(action)
    after = feeling(start, character1=shown)
    main = None if action in ("clap", "gasp", "scowl", "smile", "frown") else "character2"
    command = Command(action, main, ("character2",) if action == "say" else (), "character1")
    if action == "say":
        command = replace(command, main=None, says="Hello!", speech_act="greet")
    steps = acted(start, (command, 2.4, after))
    camera = Camera(house, noise=0.0)
    shot = whole_room(house, room)
    before, during = (camera.moment(steps, t, shot) for t in (0.0, 1.1))
    one, other = (camera.picture(replace(m, talk=())).astype(int) for m in (before, during))
    assert (np.abs(one - other).max(axis=2) > 40).sum() > 80


# Light.


def test_rooms_are_darker_in_the_evening_and_warm_near_a_lamp() -> None:
    house = replace(build_house(1), style="flat")
    room = next(name for name, spec in house.rooms.items() if spec.class_name == "livingroom")
    shot = whole_room(house, room)
    camera = Camera(house, noise=0.0)
    day = situation_in(house, room)
    switch = next(n for n, s in day.things.items() if n.startswith("lightswitch") and s.room == room)
    lamp = next(n for n, s in day.things.items() if n.startswith("floorlamp") and s.room == room)
    day = changed(day, lamp, add="OFF", drop="ON")
    off = changed(replace(day, light="evening"), switch, add="OFF", drop="ON")
    lit = changed(off, lamp, add="ON", drop="OFF")
    means = {
        name: camera.picture(empty(situation, shot)).astype(float)
        for name, situation in {
            "day": day,
            "dim day": changed(day, switch, add="OFF", drop="ON"),
            "evening": replace(day, light="evening"),
            "lamp": lit,
            "dark": off,
        }.items()
    }
    bright = {name: picture.mean() for name, picture in means.items()}
    assert bright["day"] > bright["evening"] > bright["lamp"] > bright["dark"]
    assert bright["dim day"] < 0.85 * bright["day"]
    assert bright["dark"] > 60, "what is there can still be told apart"
    scale = 640 / shot.width_m
    column = round((lit.things[lamp].x_m - shot.left_m) * scale)
    near = means["lamp"][40:200, max(0, column - 60) : column + 60].mean(axis=(0, 1))
    far = means["lamp"][40:200, : 120 if column > 320 else None][:, -120:].mean(axis=(0, 1))
    assert near.sum() > far.sum()
    assert near[0] - near[2] > far[0] - far[2], "its light is warm"


# What is seen.


def test_what_is_shut_away_or_outside_of_the_picture_has_no_box() -> None:
    house = build_house(1)
    kitchen = next(iter(house.rooms))
    start = situation_in(house, kitchen)
    fridge = house.of_class("fridge")[0].name
    inside = [name for name, state in start.things.items() if state.support == fridge]
    assert inside
    camera, shot = Camera(house), whole_room(house, kitchen)
    closed = camera.seen(empty(start, shot))
    assert not set(inside) & set(closed)
    opened = camera.seen(empty(changed(start, fridge, add="OPEN", drop="CLOSED"), shot))
    assert set(inside) & set(opened)
    near = camera.seen(empty(start, CameraShot(kitchen, 1.8, 4.1)))
    assert set(near) < set(closed)
    other = list(house.rooms)[1]
    elsewhere = camera.seen(empty(start, whole_room(house, other)))
    assert {house.things[name].room for name in elsewhere} == {other}


def visible(camera: Camera, moment: FramePlan) -> Mapping[str, int]:
    numbers, stencil = camera.numbered(moment)
    return {name: int((stencil.numbers == number).sum()) for name, number in numbers.items()}


def test_things_in_front_hide_parts_of_what_is_behind() -> None:
    house = build_house(1)
    kitchen = next(iter(house.rooms))
    start = situation_in(house, kitchen)
    table = house.of_class("kitchentable")[0]
    behind = replace(start.people["character1"], x_m=table.x_m)
    start = replace(start, people={**start.people, "character1": behind})
    one = house.with_people([house.people[0].name])
    start = replace(start, people={"character1": behind})
    steps = acted(start, (Command("wait", None, (), "character1"), 2.0, start))
    camera = Camera(one, noise=0.0)
    moment = camera.moment(steps, 1.0, whole_room(one, kitchen))
    without = {n: s for n, s in start.things.items() if n != table.name and s.support != table.name}
    alone = replace(moment, situation=replace(moment.situation, things=without))
    assert 0.5 < visible(camera, moment)["character1"] / visible(camera, alone)["character1"] < 0.97
    # And the person hides parts of what is at the wall.
    with_them, without_them = visible(camera, moment), visible(camera, replace(moment, figures=()))
    hidden = [name for name, seen in with_them.items() if seen < without_them[name] and name in start.things]
    assert any(house.things[name].layer == "back" for name in hidden)


# Shots.


def test_changes_that_come_too_fast_in_two_rooms_are_not_on_camera() -> None:
    house = build_house(1)
    kitchen, living = list(house.rooms)[:2]
    start = initial_situation(house, [kitchen, living, living])
    switches = [
        next(n for n, s in start.things.items() if n.startswith("lightswitch") and s.room == r)
        for r in (kitchen, living)
    ]
    first = changed(start, switches[0], add="OFF", drop="ON")
    second = changed(first, switches[1], add="OFF", drop="ON")
    for gap_s, expected in ((0.2, False), (2.0, True)):
        steps = [
            ProgramStep(Command("switchOff", switches[0], (), "character1"), 1.0, 1.6, start, first),
            ProgramStep(Command("switchOff", switches[1], (), "character2"), 1.0 + gap_s, 1.6, first, second),
        ]
        assert all(on_camera(house, steps, view="switching")) is expected
    shots = plan_shots(Staging(house, steps), view="switching")
    assert [shot.room for _, shot in shots] == [kitchen, living]


def test_near_views_hold_whoever_acts_and_fixed_ones_show_the_room() -> None:
    house = build_house(3)
    room = next(iter(house.rooms))
    start = situation_in(house, room)
    steps = talk(house, "What time is it?")
    near, fixed = (plan_shots(Staging(house, steps), view=view) for view in ("switching", "fixed"))
    assert fixed == [(0.0, whole_room(house, room))]
    assert any(shot.width_m < 5 for _, shot in near)
    for _, shot in near:
        for name in ("character1", "character2"):
            assert shot.left_m < start.people[name].x_m < shot.left_m + shot.width_m


def test_a_cut_to_another_time_begins_a_new_shot() -> None:
    house = build_house(1)
    kitchen, living = list(house.rooms)[:2]
    one, other = situation_in(house, kitchen), situation_in(house, living)
    wait = Command("wait", "character2", (), "character1")
    steps = [ProgramStep(wait, 0.0, 3.0, one, one), ProgramStep(wait, 3.5, 3.0, other, other)]
    camera = Camera(house, view="fixed")
    rooms = {round(moment.time_s, 1): (moment.shot.room, len(moment.figures)) for moment in camera.moments(steps)}
    assert rooms[2.9] == (kitchen, 3)
    assert rooms[3.0] == rooms[6.4] == (living, 3)


# Films.


@pytest.fixture(scope="module")
def films() -> list[tuple[House, FilmPlan, list[ProgramStep]]]:
    planned = plan_films(FilmSettings(scenarios=4, houses=4, seed=12, max_duration_s=100)).plans
    return [(made.built(), made, camera_steps(play_film(made))) for made in planned]


def test_the_same_film_is_the_same_to_the_last_pixel_also_if_boxes_are_asked_for(
    films: list[tuple[House, FilmPlan, list[ProgramStep]]],
) -> None:
    house, made, steps = films[0]
    cameras = [Camera(house, width_px=320, fps=1, view=made.view) for _ in range(2)]
    boxes = list(cameras[1].boxes(steps, fps=1.0))
    plain, boxed = (list(camera.film(steps)) for camera in cameras)
    assert all(a[0] == b[0] and np.array_equal(a[1], b[1]) for a, b in zip(plain, boxed, strict=True))
    assert boxes == list(cameras[1].boxes(steps, fps=1.0))
    assert [time_s for time_s, _ in plain] == pytest.approx([float(n) for n in range(len(plain))])


def test_boxes_have_whole_seconds_and_hold_what_moves(
    films: list[tuple[House, FilmPlan, list[ProgramStep]]], full: bool
) -> None:
    """Where two frames of a shot differ, somebody or something is whose box holds the place."""
    compared = 0
    for house, made, steps in films if full else films[1:2]:
        camera = Camera(house, view=made.view, noise=0.0)
        times = {time_s for time_s, _, _ in camera.boxes(steps, fps=1.0)}
        assert times == {float(n) for n in range(len(times))}
        moments = [replace(m, named=frozenset(), talk=()) for m in camera.moments(steps)]
        for one, other in itertools.pairwise(moments[::19]):
            if one.shot != other.shot or one.situation is not other.situation:
                continue
            pictures = [camera.picture(moment).astype(int) for moment in (one, other)]
            rows, columns = np.nonzero(np.abs(pictures[0] - pictures[1]).max(axis=2) > 60)
            inside = np.zeros(len(rows), bool)
            for moment in (one, other):
                for name, box in camera.seen(moment).items():
                    if name.startswith("character") or name in moment.situation.things:
                        # Signs of feelings stand around heads.
                        wide = 16 if name.startswith("character") else 4
                        inside |= (
                            (columns >= box.left * 640 - wide)
                            & (columns <= box.right * 640 + wide)
                            & (rows >= box.top * 360 - wide * 1.6)
                            & (rows <= box.bottom * 360 + wide)
                        )
            assert inside.mean() > 0.98 if len(rows) else True
            compared += len(rows)
    assert compared > 2000


def test_every_change_is_on_camera(films: list[tuple[House, FilmPlan, list[ProgramStep]]]) -> None:
    for house, made, steps in films:
        assert all(on_camera(house, steps, view=made.view))
        shots = plan_shots(Staging(house, steps), view=made.view)
        assert [start_s for start_s, _ in shots] == sorted({start_s for start_s, _ in shots})

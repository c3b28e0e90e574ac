"""Programs change the house as they say, and what cannot be done is refused."""

import itertools
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reeltalk.language.vocabulary import CATEGORIES, SPEECH_ACTS, class_of
from reeltalk_household.world.activities import activities, perform, program
from reeltalk_household.world.house import ROOM_WIDTH_M, House, Thing, build_house
from reeltalk_household.world.kinds import KINDS
from reeltalk_household.world.performance import carry_out
from reeltalk_household.world.simulation import carry_out_command
from reeltalk_household.world.situation import (
    DURATIONS_S,
    FEELING_ACTIONS,
    CannotError,
    Command,
    ProgramStep,
    Situation,
    initial_situation,
)
from reeltalk_household.world.talk import sentences

HOUSES = [pytest.param(number, marks=() if number % 3 == 1 else pytest.mark.slow) for number in range(1, 30)]
"""A third of them in `make test`."""


NOBODY_DOES = {"boil", "pop", "finish", "ring", "break", "spill", "cool"}
ACTIONS = {action.upper(): action for action in ("walk", "say", *DURATIONS_S) if action not in NOBODY_DOES}


def parse_command(line: str) -> Command:
    """A line of a program in VirtualHome's form, as `program` writes it."""
    match = re.fullmatch(r'(?:<char(\d)> )?\[(\w+)\]((?: ?<[a-z_ ]+> \(\d+\))*)(?: "([a-z]+): ([^"]+)")?', line.strip())
    assert match is not None, line
    names = [f"{name.replace(' ', '')}{number}" for name, number in re.findall(r"<([a-z_ ]+)> \((\d+)\)", match[3])]
    person, action = f"character{int(match[1] or 0) + 1}", ACTIONS[match[2]]
    if action == "say":
        about = [name for name in names if class_of(name) != "character"]
        heard = tuple(name for name in names if class_of(name) == "character")
        return Command(action, about[0] if about else None, heard, person, match[5], match[4])
    return Command(action, names[0] if names else None, tuple(names[1:]), person)


def run_program(house: House, text: str, room: str = "kitchen") -> Situation:
    start = initial_situation(house, next(name for name, r in house.rooms.items() if r.class_name == room))
    return carry_out(house, [parse_command(line) for line in text.strip().splitlines()], start)[-1].after


def named(house: House, class_name: str) -> str:
    found = house.of_class(class_name)[0].name
    return f"<{class_name}> ({found[len(class_name) :]})"


def test_there_are_activities_of_all_twelve_categories() -> None:
    known = activities()
    assert sum(len(activity.roles) == 1 for activity in known.values()) >= 60
    assert sum(len(activity.roles) > 1 for activity in known.values()) >= 30
    assert sum(len(activity.roles) == 3 for activity in known.values()) >= 4
    assert {activity.category for activity in known.values()} == set(CATEGORIES)
    assert sum(activity.category == "Abnormal" for activity in known.values()) >= 3


def rehearsed(number: int, names: Iterable[str], seeds: Sequence[str] = ("1", "2", "3")) -> list[list[ProgramStep]]:
    """Scenes that could be played in a house, from different rooms."""
    found, house = [], build_house(number)
    for name in names:
        activity = activities()[name]
        for n, seed in enumerate(seeds):
            room = next(
                (r.name for r in house.rooms.values() if r.class_name == activity.room),
                list(house.rooms)[(number + n) % 4],
            )
            start = initial_situation(house, [room] * len(activity.roles), draw=random.Random(f"{name} {seed}"))
            try:
                found.append(perform(house, activity, start, seed=seed))
            except CannotError:
                continue
    return found


@pytest.fixture(scope="module")
def houses(full: bool) -> tuple[int, ...]:
    return (1, 2, 3, 4) if full else (1, 2)


@pytest.fixture(scope="module")
def seeds(full: bool) -> tuple[str, ...]:
    return ("1", "2", "3") if full else ("1",)


@pytest.fixture(scope="module")
def played(houses: tuple[int, ...], seeds: tuple[str, ...]) -> dict[str, list[list[ProgramStep]]]:
    """The scenes of each recipe that could be played."""
    return {name: [steps for number in houses for steps in rehearsed(number, [name], seeds)] for name in activities()}


@pytest.fixture(scope="module")
def scenes(played: dict[str, list[list[ProgramStep]]]) -> list[list[ProgramStep]]:
    return [steps for found in played.values() for steps in found]


def test_most_recipes_can_be_played_in_most_houses(
    houses: tuple[int, ...], seeds: tuple[str, ...], played: dict[str, list[list[ProgramStep]]]
) -> None:
    assert sum(map(len, played.values())) >= 0.8 * len(houses) * len(seeds) * len(activities())
    for name, found in played.items():
        assert found or any(rehearsed(number, [name], [str(n)]) for number in range(1, 8) for n in range(4)), name


def test_each_step_finds_the_situation_that_the_one_before_left(scenes: list[list[ProgramStep]]) -> None:
    for steps in scenes:
        for one, other in itertools.pairwise(steps):
            assert one.effect_s <= other.effect_s
            assert one.after is other.before
        for index, step in enumerate(steps):
            assert step.start_s <= step.effect_s <= step.end_s
            assert step.cause is None or step.cause < index
            if step.purpose is not None:
                assert step.purpose > index
                assert steps[step.purpose].command.person == step.command.person


def test_nothing_happens_that_could_not_be(scenes: list[list[ProgramStep]]) -> None:
    for step in itertools.chain(*scenes):
        command, before, after = step.command, step.before, step.after
        for name in (command.main or "", *command.targets):
            if name in before.things and command.person and command.action not in ("walk", "say", "wait"):
                thing = before.things[name]
                assert thing.room == before.people[command.person or ""].room, command.line
                while thing.support in before.things:
                    shut = thing.inside and "CLOSED" in before.things[thing.support].values
                    assert not shut, command.line
                    thing = before.things[thing.support]
                assert "BROKEN" not in thing.values or command.action not in ("grab", "drink", "fill"), command.line
        seats = Counter((person.seat, person.x_m) for person in after.people.values() if person.seat)
        assert not seats or max(seats.values()) == 1, command.line
        for name, person in after.people.items():
            assert {thing for thing, state in after.things.items() if state.support == name} == set(person.held)


def test_acts_are_for_what_they_make_possible(played: dict[str, list[list[ProgramStep]]]) -> None:
    found = set()
    for steps in (*played["Heat_milk"], *played["Clean_kitchentable"], *played["Fetch_the_other_one"]):
        for step in steps:
            if step.purpose is not None and step.command.action != "walk":
                found.add((step.command.action, steps[step.purpose].command.action))
    assert {("grab", "putIn"), ("open", "putIn"), ("open", "grab"), ("grab", "wipe"), ("grab", "give")} <= found
    # Nobody takes anything to let go of it later, or opens anything to close it.
    assert not {end for _, end in found} & {"close", "switchOff", "drop"}


def test_nobody_does_two_things_at_once_and_people_act_at_the_same_time(scenes: list[list[ProgramStep]]) -> None:
    together = 0
    for steps in scenes:
        for person in steps[0].before.people:
            own = sorted((s for s in steps if s.command.person == person), key=lambda step: step.start_s)
            for one, other in itertools.pairwise(own):
                assert one.end_s <= other.start_s + 1e-6, (one.command.line, other.command.line)
        for one, other in itertools.combinations(steps, 2):
            both = one.command.person and other.command.person and one.command.person != other.command.person
            together += bool(both) and one.start_s < other.end_s and other.start_s < one.end_s
    assert together > 100


def test_every_feeling_has_a_cause_in_the_story(scenes: list[list[ProgramStep]]) -> None:
    feelings = Counter[str]()
    for steps in scenes:
        for step in steps:
            if step.command.action in FEELING_ACTIONS:
                assert step.cause is not None
                feelings[step.command.action] += 1
                assert step.command.person is not None
                feeling = step.after.people[step.command.person].feeling
                assert feeling == FEELING_ACTIONS[step.command.action]
    assert set(feelings) == set(FEELING_ACTIONS)


def test_what_is_said_cannot_be_guessed_from_the_scene(scenes: list[list[ProgramStep]]) -> None:
    said = Counter(step.command.says for steps in scenes for step in steps if step.command.says is not None)
    acts = {step.command.speech_act for steps in scenes for step in steps if step.command.says is not None}
    assert acts == set(SPEECH_ACTS)
    assert max(said.values()) < 0.05 * said.total()
    for act, kinds in sentences().items():
        assert sum(len(lines) for lines in kinds.values()) >= 8, act


def test_the_same_beginning_leads_to_different_ends() -> None:
    house = build_house(1)
    activity = activities()["Share_snack"]
    start = initial_situation(house, ["kitchen1", "kitchen1"])
    ends = set()
    for seed in range(20):
        try:
            steps = perform(house, activity, start, seed=str(seed))
        except CannotError:
            continue
        assert "grab" in {step.command.action for step in steps[:5]}
        ends.add(tuple(step.command.speech_act or step.command.action for step in steps[-3:]))
    assert len(ends) > 5


def test_a_program_that_was_carried_out_can_be_carried_out_again() -> None:
    house = build_house(2)
    again = 0
    for steps in rehearsed(2, [name for name, a in activities().items() if len(a.roles) == 1], ["1"]):
        if any(step.command.person is None for step in steps):
            continue
        repeated = carry_out(house, [parse_command(line) for line in program(steps).splitlines()], steps[0].before)
        assert repeated[-1].after == steps[-1].after
        again += 1
    assert again > 40


def test_people_in_a_program_act_at_the_same_time_and_wait_for_each_other() -> None:
    house = build_house(1)
    salmon, fridge, sofa = named(house, "salmon"), named(house, "fridge"), named(house, "sofa")
    text = f"<char1> [WALK] {sofa}\n<char1> [SIT] {sofa}\n"
    text += f"[WALK] {fridge}\n[OPEN] {fridge}\n[GRAB] {salmon}\n[WALK] <character> (2)\n"
    text += f'[GIVE] {salmon} <character> (2)\n<char1> [SAY] <character> (1) "thank: Thanks!"\n'
    rooms = [name for name, room in house.rooms.items() if room.class_name == "livingroom"] * 2
    steps = carry_out(house, [parse_command(line) for line in text.splitlines()], initial_situation(house, rooms))
    order = [(step.command.person, step.command.action) for step in steps]
    assert order.index(("character2", "sit")) < order.index(("character1", "grab"))
    assert ("character2", "wait") in order, "who comes first waits"
    end = steps[-1].after
    assert end.people["character2"].held == (house.of_class("salmon")[0].name,)
    assert end.people["character1"].held == ()
    assert steps[-1].command.says == "Thanks!"
    assert steps[order.index(("character2", "say"))].cause == order.index(("character1", "give"))


def test_only_one_can_have_it() -> None:
    house = build_house(1)
    pillow = named(house, "pillow")
    room = house.of_class("pillow")[0].room
    text = f"[WALK] {pillow}\n[GRAB] {pillow}\n<char1> [WALK] {pillow}\n<char1> [GRAB] {pillow}"
    with pytest.raises(CannotError, match=r"GRAB.*(holds|hand)"):
        carry_out(house, [parse_command(line) for line in text.splitlines()], initial_situation(house, [room, room]))


def test_a_kettle_boils_unless_it_is_switched_off_before() -> None:
    house = build_house(1)
    kettle, clock = named(house, "kettle"), named(house, "clock")
    on = f"[WALK] {kettle}\n[SWITCHON] {kettle}\n"
    boiled = actions(house, on + f"[LOOKAT] {clock}\n[LOOKAT] {clock}")
    assert boiled.index("boil") > boiled.index("switchOn")
    assert "boil" not in actions(house, on + f"[SWITCHOFF] {kettle}\n[LOOKAT] {clock}\n[LOOKAT] {clock}")


def test_what_is_full_spills_and_what_is_fragile_may_break() -> None:
    found = Counter[str]()
    for number in (1, 2, 3):
        for steps in rehearsed(number, ["Spill_drink", "Drop_dishes", "Break_vase"], [str(n) for n in range(6)]):
            for step in steps:
                if step.command.person is not None:
                    continue
                found[step.command.action] += 1
                assert step.cause is not None
                assert steps[step.cause].command.action in ("drop", "knock")
                assert step.command.main is not None
                if step.command.action == "break":
                    assert "BROKEN" in step.after.things[step.command.main].values
                if step.command.action == "spill":
                    assert "FULL" in step.before.things[step.command.main].values
                    assert "DIRTY" in step.after.things[step.command.targets[0]].values
    assert found["break"] > 5
    assert found["spill"] > 2


def actions(house: House, text: str) -> list[str]:
    kitchen = next(name for name, room in house.rooms.items() if room.class_name == "kitchen")
    steps = carry_out(house, [parse_command(line) for line in text.splitlines()], initial_situation(house, kitchen))
    return [step.command.action for step in steps]


@pytest.mark.parametrize("number", HOUSES)
def test_every_house_has_several_of_many_things_that_differ(number: int) -> None:
    house = build_house(number)
    several: dict[str, list[Thing]] = {}
    for thing in house.things.values():
        if "grab" in thing.kind.can:
            several.setdefault(thing.class_name, []).append(thing)
    pairs = [(one, other) for things in several.values() for one, other in itertools.combinations(things, 2)]
    assert sum(len(things) > 1 for things in several.values()) >= 6
    for one, other in pairs:
        assert (one.colour, one.size, one.support) != (other.colour, other.size, other.support) or one.x_m != other.x_m
    assert sum((one.colour, one.size) != (other.colour, other.size) for one, other in pairs) >= 0.8 * len(pairs)


def test_people_names_looks_and_styles_of_the_splits_are_disjoint() -> None:
    names, looks, styles = ({split: set() for split in ("train", "dev", "test")} for _ in range(3))  # type: ignore[var-annotated]
    for number in range(1, 60):
        for split in names:
            house = build_house(number, split)  # type: ignore[arg-type]
            assert len({(p.hair, p.hair_style) for p in house.people}) == len({p.shirt for p in house.people}) == 3
            names[split] |= {person.name for person in house.people}
            looks[split] |= {person.attributes for person in house.people}
            styles[split].add(house.style)
    for found in (names, looks, styles):
        for one, other in itertools.combinations(found.values(), 2):
            assert not one & other


def test_a_house_is_the_same_everywhere_and_differs_from_others() -> None:
    assert build_house(3) == build_house(3)
    assert len({tuple(sorted(build_house(n).things)) for n in range(1, 9)}) == 8
    with pytest.raises(ValueError, match="numbered 1 to 9999"):
        build_house(0)


@pytest.mark.parametrize("number", HOUSES)
def test_furniture_stands_inside_its_room_and_not_in_other_furniture(number: int) -> None:
    house = build_house(number)
    for room in house.rooms.values():
        back = sorted(
            (t for t in house.things.values() if t.room == room.name and t.layer == "back" and t.support == room.name),
            key=lambda thing: thing.x_m,
        )
        for thing in back:
            assert 0 <= thing.x_m - thing.kind.width_m / 2
            assert thing.x_m + thing.kind.width_m / 2 <= ROOM_WIDTH_M
        for one, other in itertools.pairwise(back):
            assert one.x_m + one.kind.width_m / 2 <= other.x_m - other.kind.width_m / 2 + 1e-6


def test_states_change_as_told() -> None:
    house = build_house(1)
    fridge, milk, table = (house.of_class(name)[0].name for name in ("fridge", "salmon", "kitchentable"))
    end = run_program(
        house,
        f"""
        [WALK] {named(house, "fridge")}
        [OPEN] {named(house, "fridge")}
        [GRAB] {named(house, "salmon")}
        [CLOSE] {named(house, "fridge")}
        [WALK] {named(house, "kitchentable")}
        [PUT] {named(house, "salmon")} {named(house, "kitchentable")}
        """,
    )
    assert "CLOSED" in end.things[fridge].values
    assert (end.things[milk].support, end.things[milk].inside) == (table, False)
    assert "GRABED" not in end.things[milk].values
    assert end.people["character1"].held == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[GRAB] {salmon}", "salmon"),
        ("[WALK] {fridge}\n[GRAB] {salmon}", "is closed"),
        ("[WALK] {fridge}\n[CLOSE] {fridge}", "closed already"),
        ("[WALK] {fridge}\n[OPEN] {fridge}\n[OPEN] {fridge}", "open already"),
        ("[WALK] {stove}\n[SWITCHOFF] {stove}", "OFF already"),
        ("[WALK] {sofa}\n[SIT] {sofa}\n[WALK] {fridge}", "posture 'sit'"),
        ("[STAND]", "stands already"),
        ("[DRINK] {milk}", "does not hold"),
        ("[GRAB] {fridge}", "nothing to grab"),
        ("[WALK] {towel}\n[GRAB] {towel}\n[RINSE] {towel}", "no water runs"),
        ("[WATCH] {tv}", "is in livingroom"),
        ("[OPEN] <fridge> (999)", "no fridge999"),
        ("[SIT]", "needs an object"),
        ("[GIVE] {milk} <character> (2)", "no character2 here"),
        ("[WALK] {sofa}\n[SIT] {sofa}\n[SLEEP] {bed}", "does not lie"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_step(text: str, why: str) -> None:
    house = build_house(1)
    names = {name: named(house, name) for name in ("milk", "salmon", "fridge", "stove", "sofa", "towel", "tv", "bed")}
    with pytest.raises(CannotError, match=rf"step \d, <char0> \[\w+\].*{why}"):
        run_program(house, text.format(**names))


COMMANDS = st.tuples(st.sampled_from(sorted(ACTIONS.values())), st.integers(0, 200), st.integers(0, 200))


@settings(deadline=None)
@given(st.integers(1, 6), st.lists(COMMANDS, max_size=60))
def test_no_command_breaks_the_house(number: int, commands: list[tuple[str, int, int]]) -> None:
    house = build_house(number)
    names = [*house.things, *house.rooms]
    situation = initial_situation(house, next(iter(house.rooms)))
    for action, main, target in commands:
        one, other = names[main % len(names)], names[target % len(names)]
        try:
            step = carry_out_command(house, Command(action, one, (other,)), situation)
        except CannotError:
            continue
        situation = step.after
        agent = situation.people["character1"]
        assert agent.room in house.rooms
        assert 0 <= agent.x_m <= ROOM_WIDTH_M
        assert step.duration_s > 0
        for name, state in situation.things.items():
            held = name in agent.held
            assert held == (state.support == "character1") == ("GRABED" in state.values)
            assert not {"ON", "OFF"} <= state.values
            assert not {"OPEN", "CLOSED"} <= state.values
            if held:
                assert state.room == agent.room
            elif state.support in situation.things:
                assert situation.things[state.support].room == state.room
                assert KINDS[state.support.rstrip("0123456789")].can & {"surface", "container"} or not _moved(
                    house, name, state.support
                )


def _moved(house: House, name: str, support: str) -> bool:
    return house.things[name].support != support

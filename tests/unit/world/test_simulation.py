"""Programs change the house as they say, and what cannot be done is refused."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reeltalk.graph.vocabulary import CATEGORIES
from reeltalk.world.activities import activities, perform, program
from reeltalk.world.house import ROOM_WIDTH_M, House, build_house
from reeltalk.world.kinds import KINDS
from reeltalk.world.performance import carry_out
from reeltalk.world.simulation import do
from reeltalk.world.situation import ACTIONS, CannotError, Command, Situation, begin, parse_command


def run_program(house: House, text: str, room: str = "kitchen") -> Situation:
    start = begin(house, next(name for name, r in house.rooms.items() if r.class_name == room))
    return carry_out(house, [parse_command(line) for line in text.strip().splitlines()], start)[-1].after


def named(house: House, class_name: str) -> str:
    found = house.of_class(class_name)[0].name
    return f"<{class_name}> ({found[len(class_name) :]})"


def test_there_are_activities_of_all_twelve_categories() -> None:
    known = activities()
    assert len(known) >= 40
    assert {activity.category for activity in known.values()} == set(CATEGORIES)
    assert sum(activity.category == "Abnormal" for activity in known.values()) >= 3


@pytest.mark.parametrize("number", [1, 2, 3, 4, 17])
def test_every_activity_runs_from_every_room(number: int) -> None:
    house = build_house(number)
    done = missing = 0
    for activity in activities().values():
        for room in house.rooms:
            try:
                steps = perform(house, activity, begin(house, room))
            except CannotError:
                missing += 1
                continue
            done += 1
            assert steps[-1].after.people["character1"].held == ()
            # The program that was written can be carried out again, and leads to the same end.
            again = carry_out(house, [parse_command(line) for line in program(steps).splitlines()], begin(house, room))
            assert again[-1].after == steps[-1].after
            assert [step.duration_s for step in again] == [step.duration_s for step in steps]
    # Some houses have no radio, say; then no room has it.
    assert done >= 160
    assert missing % 4 == 0


def test_a_house_is_the_same_everywhere_and_differs_from_others() -> None:
    assert build_house(3) == build_house(3)
    assert len({tuple(sorted(build_house(n).things)) for n in range(1, 9)}) == 8
    with pytest.raises(ValueError, match="numbered 1 to 9999"):
        build_house(0)


@pytest.mark.parametrize("number", range(1, 30))
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
    fridge, milk, table = (house.of_class(name)[0].name for name in ("fridge", "milk", "kitchentable"))
    end = run_program(
        house,
        f"""
        [WALK] {named(house, "fridge")}
        [OPEN] {named(house, "fridge")}
        [GRAB] {named(house, "milk")}
        [CLOSE] {named(house, "fridge")}
        [WALK] {named(house, "kitchentable")}
        [PUT] {named(house, "milk")} {named(house, "kitchentable")}
        """,
    )
    assert "CLOSED" in end.things[fridge].values
    assert (end.things[milk].support, end.things[milk].inside) == (table, False)
    assert "GRABED" not in end.things[milk].values
    assert end.people["character1"].held == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[GRAB] {milk}", "milk"),
        ("[WALK] {fridge}\n[GRAB] {milk}", "is closed"),
        ("[WALK] {fridge}\n[CLOSE] {fridge}", "closed already"),
        ("[WALK] {fridge}\n[OPEN] {fridge}\n[OPEN] {fridge}", "open already"),
        ("[WALK] {stove}\n[SWITCHOFF] {stove}", "OFF already"),
        ("[WALK] {sofa}\n[SIT] {sofa}\n[WALK] {fridge}", "posture 'sit'"),
        ("[STAND]", "stands already"),
        ("[DRINK] {milk}", "does not hold"),
        ("[GRAB] {fridge}", "nothing to grab"),
        ("[WALK] {mug}\n[GRAB] {mug}\n[RINSE] {mug}", "no water runs"),
        ("[WATCH] {tv}", "another room"),
        ("[OPEN] <fridge> (999)", "no fridge999"),
        ("[SIT]", "needs an object"),
        ("[WALK] {sofa}\n[SIT] {sofa}\n[SLEEP] {bed}", "does not lie"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_step(text: str, why: str) -> None:
    house = build_house(1)
    names = {name: named(house, name) for name in ("milk", "fridge", "stove", "sofa", "mug", "tv", "bed")}
    with pytest.raises(CannotError, match=rf"step \d, <char0> \[\w+\].*{why}"):
        run_program(house, text.format(**names))


@pytest.mark.parametrize("line", ["walk fridge", "[FLY] <fridge> (3)", "[WALK] fridge", "[WALK] <fridge>", "", "[WALK"])
def test_a_line_that_is_no_step_is_refused(line: str) -> None:
    with pytest.raises(CannotError, match=r"no step|no action"):
        parse_command(line)


COMMANDS = st.tuples(st.sampled_from(sorted(ACTIONS.values())), st.integers(0, 200), st.integers(0, 200))


@settings(deadline=None)
@given(st.integers(1, 6), st.lists(COMMANDS, max_size=60))
def test_no_command_breaks_the_house(number: int, commands: list[tuple[str, int, int]]) -> None:
    house = build_house(number)
    names = [*house.things, *house.rooms]
    situation = begin(house, next(iter(house.rooms)))
    for action, main, target in commands:
        one, other = names[main % len(names)], names[target % len(names)]
        try:
            step = do(house, Command(action, one, (other,)), situation)
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

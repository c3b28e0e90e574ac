"""What would have happened without an event of a scene.

The rest of the scene is run again without the event: what it caused does not happen, nor what somebody did because of
it, nor what cannot be done without it. Changes that happen by themselves follow from the new story, so a kettle boils
that nobody switched off.
"""

import heapq
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.language.vocabulary import OPPOSITES
from reeltalk_build.graph.activity import Counterfactual
from reeltalk_household.world.house import House
from reeltalk_household.world.performance import AFTERMATH_S, consequences
from reeltalk_household.world.simulation import Going, take_effect
from reeltalk_household.world.situation import DURATIONS_S, UNDONE, CannotError, Command, ProgramStep, Situation

LEFT_OUT: Final = frozenset(
    "grab give throw put putIn open close switchOn switchOff drop knock fill pour unwrap answer say ring sit".split()
)
"""Actions whose absence is asked about."""
EVENTS: Final = 4
"""Most events of a scene that are left out, each alone."""


@dataclass(frozen=True)
class OtherStory:
    """A scene without one of its events."""

    happened: frozenset[int]
    """Indices of the steps of the scene that happen all the same."""
    end: Situation


def without(house: House, steps: Sequence[ProgramStep], left_out: int, *, seed: str) -> OtherStory:
    """Runs a scene again without one of its steps.

    Args:
        house: The house.
        steps: The scene, in the order in which its steps take effect.
        left_out: Index of the step that does not happen.
        seed: The scene's seed, which decides the changes that nobody does.
    """
    situation = steps[left_out].before
    happened = set(range(left_out))
    by_itself: dict[tuple[str, str | None], list[int]] = {}
    heap: list[tuple[float, int, int | None, Command]] = []
    count = 0
    for index, given in enumerate(steps):
        command = given.command
        if command.action in UNDONE and given.cause is not None:
            by_itself.setdefault((command.action, command.main), []).append(index)
            # What has been set off before happens all the same, and what follows is set off anew.
            if index > left_out and given.cause < left_out:
                heapq.heappush(heap, (given.effect_s, index, index, command))
        elif index > left_out:
            heapq.heappush(heap, (given.effect_s, index, index, command))
    count = len(steps)
    end_s = max(step.end_s for step in steps) + AFTERMATH_S
    # A change that the event prevented may come now.
    for pending, at_s in _prevented(house, steps, left_out, seed):
        if steps[left_out].effect_s < at_s <= end_s:
            heapq.heappush(heap, (at_s, count, None, pending))
            count += 1
    while heap:
        at_s, _, number, command = heapq.heappop(heap)
        if number is None:
            number = next((n for n in by_itself.get((command.action, command.main), ()) if n not in happened), None)
        step = None if number is None else steps[number]
        if step is not None and step.cause is not None and command.person is not None and step.cause not in happened:
            continue
        try:
            situation = take_effect(house, _going(command, step, at_s), situation)
        except CannotError:
            continue
        if number is not None:
            happened.add(number)
        for following, after_s in consequences(house, command, situation, _chances(seed)):
            if round(at_s + after_s, 1) <= end_s:
                heapq.heappush(heap, (round(at_s + after_s, 1), count, None, following))
                count += 1
    return OtherStory(frozenset(happened), situation)


def _chances(seed: str) -> Callable[..., random.Random]:
    """Draws of a scene for changes that nobody does, as its performance makes them."""
    return lambda *about: random.Random(f"{seed} {about}")


def _going(command: Command, step: ProgramStep | None, at_s: float) -> Going:
    if step is None or command.person is None:
        return Going(command, at_s, DURATIONS_S[command.action])
    to = None
    if command.action == "walk":
        state = step.after.people[command.person]
        to = (state.room, state.x_m, state.facing)
    return Going(command, step.start_s, step.duration_s, to)


def _prevented(house: House, steps: Sequence[ProgramStep], left_out: int, seed: str) -> Iterator[tuple[Command, float]]:
    """Changes that were set off before an event and had not come by then."""
    for step in steps[:left_out]:
        for command, after_s in consequences(house, step.command, step.after, _chances(seed)):
            came = any(
                (later.command.action, later.command.main) == (command.action, command.main)
                for later in steps
                if later.effect_s > step.effect_s
            )
            if not came:
                yield command, round(step.effect_s + after_s, 1)


def counterfactuals(house: House, steps: Sequence[ProgramStep], *, seed: str) -> list[Counterfactual]:
    """Outcomes of a scene without some of its events: as many that differ as not, by aspect."""
    draw = random.Random(f"counterfactuals {seed}")
    candidates = [index for index, step in enumerate(steps[:-1]) if step.command.action in LEFT_OUT]
    draw.shuffle(candidates)
    touched = sorted({name for step in steps for name in _handled(house, step)})
    found: dict[int, list[Counterfactual]] = {}
    for index in candidates:
        story = without(house, steps, index, seed=seed)
        for aspect, rows in (
            ("place", _places(house, steps[-1].after, story.end, touched)),
            ("state", _states(steps[-1].after, story.end, touched)),
            ("happens", _happenings(steps, index, story)),
        ):
            differ: list[Counterfactual] = []
            same: list[Counterfactual] = []
            for name, outcome, differs in rows:
                (differ if differs else same).append(Counterfactual(index, name, aspect, outcome))
            if differ and same:
                found.setdefault(index, []).extend((draw.choice(differ), draw.choice(same)))
        if len(found) == EVENTS:
            break
    rows_of_all = [row for rows in found.values() for row in rows]
    return sorted(rows_of_all, key=lambda row: (row.event, row.name, row.aspect, row.outcome))


def _handled(house: House, step: ProgramStep) -> Iterator[str]:
    for name in (step.command.main, *step.command.targets):
        if name in house.things and step.command.action not in ("walk", "say", "wait", "lookAt", "turnTo"):
            yield name


def _places(house: House, end: Situation, other: Situation, names: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    for name in names:
        if "grab" in house.things[name].kind.can:
            yield name, _place(other, name), _place(other, name) != _place(end, name)


def _place(situation: Situation, name: str) -> str:
    state = situation.things[name]
    return f"{'inside' if state.inside else 'on'} {state.support}"


def _states(end: Situation, other: Situation, names: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    for name in names:
        for value in sorted(other.things[name].values):
            opposite = OPPOSITES.get(value)
            if opposite is None:
                continue
            yield name, value, opposite in end.things[name].values


def _happenings(steps: Sequence[ProgramStep], index: int, story: OtherStory) -> Iterator[tuple[str, str, bool]]:
    for later, step in enumerate(steps[index + 1 :], index + 1):
        name = step.command.person or step.command.main
        if name is not None and step.command.action not in ("walk", "wait", "stand"):
            happens = later in story.happened
            yield name, f"{later} {'yes' if happens else 'no'}", not happens

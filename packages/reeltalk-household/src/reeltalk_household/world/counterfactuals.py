"""What would have happened without an event of a scene.

The rest of the scene is planned again. What the event made possible is done otherwise if somebody can, such as by
opening the door themselves, and is given up if nobody can. What was done for the sake of something that is given up is
given up too, and what the event caused does not happen. Changes that happen by themselves follow from the new story, so
a kettle boils that nobody switched off.

An outcome is given only if no words give it away and it follows for certain. What people would have said is unknown.
"""

import heapq
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk_build.graph.activity import Counterfactual
from reeltalk_household.world.house import House
from reeltalk_household.world.performance import AFTERMATH_S, consequences
from reeltalk_household.world.purposes import PLACINGS, PURPOSELESS, as_going
from reeltalk_household.world.simulation import REACH_M, BegunStep, carry_out_command, location, take_effect
from reeltalk_household.world.situation import (
    AGENTLESS_ACTIONS,
    DURATIONS_S,
    FEELING_ACTIONS,
    CannotError,
    Command,
    ProgramStep,
    Situation,
)

REMOVED_ACTIONS: Final = frozenset(
    "grab give throw put putIn open switchOn switchOff drop knock fill pour unwrap answer say".split()
)
"""Actions whose absence is asked about."""
MOST_REMOVED: Final = 4
"""Most events of a scene that are left out, each alone."""
NEXT_OUTCOMES: Final = 3
"""How many of the outcomes that come next it is chosen from."""
MOST_HELP: Final = 4
"""Most steps that somebody does more, to do something in another way."""


@dataclass(frozen=True)
class OtherStory:
    """A scene without one of its events."""

    happened: frozenset[int]
    """Indices of the steps of the scene that happen all the same."""
    managed: frozenset[int]
    """Those among them for which somebody does something else first."""
    end: Situation


def plan_without(
    house: House, steps: Sequence[ProgramStep], left_out: int, *, seed: str, until: int | None = None
) -> OtherStory:
    """Plans a scene again without one of its steps.

    Args:
        steps: The scene, in the order in which its steps take effect.
        left_out: Index of the step that does not happen.
        seed: The scene's seed, which decides the changes that nobody does.
        until: Number of steps after which the situation counts; all by default.
    """
    given_up = {left_out}
    while True:
        story = _Replanned(house, steps, left_out, given_up, seed).run(len(steps))
        pointless = {
            n
            for n in story.happened
            if n > left_out and steps[n].purpose is not None and steps[n].purpose not in story.happened
        }
        if not pointless:
            break
        given_up |= pointless
    if until is None or until == len(steps):
        return story
    return _Replanned(house, steps, left_out, given_up, seed).run(until)


class _Replanned:
    """A scene that is run again without some of its steps."""

    def __init__(
        self, house: House, steps: Sequence[ProgramStep], left_out: int, given_up: set[int], seed: str
    ) -> None:
        self.house, self.steps, self.left_out, self.given_up, self.seed = house, steps, left_out, given_up, seed
        self.situation = steps[left_out].before
        self.happened, self.managed = set(range(left_out)), set[int]()
        self.heap: list[tuple[float, int, int | None, Command]] = []
        self.by_itself: dict[tuple[str, str | None], list[int]] = {}

    def run(self, until: int) -> OtherStory:
        """The other story up to a step."""
        steps, left_out = self.steps[:until], self.left_out
        for index, given in enumerate(steps):
            command = given.command
            if command.action in AGENTLESS_ACTIONS and given.cause is not None:
                self.by_itself.setdefault((command.action, command.main), []).append(index)
                # What has been set off before happens all the same, and what follows is set off anew.
                if index > left_out and given.cause < left_out:
                    self._expect(given.effect_s, index, command)
            elif index > left_out and index not in self.given_up:
                self._expect(given.effect_s, index, command)
        end_s = steps[-1].effect_s if until < len(self.steps) else max(step.end_s for step in steps) + AFTERMATH_S
        # A change that the event prevented may come now.
        for pending, at_s in _prevented(self.house, self.steps, left_out, self.seed):
            if steps[left_out].effect_s < at_s <= end_s:
                self._expect(at_s, None, pending)
        while self.heap:
            at_s, _, number, command = heapq.heappop(self.heap)
            if not self._happens(at_s, number, command):
                continue
            for following, after_s in consequences(self.house, command, self.situation, _chances(self.seed)):
                if round(at_s + after_s, 1) <= end_s:
                    self._expect(round(at_s + after_s, 1), None, following)
        return OtherStory(frozenset(self.happened), frozenset(self.managed), self.situation)

    def _expect(self, at_s: float, number: int | None, command: Command) -> None:
        heapq.heappush(
            self.heap, (at_s, len(self.steps) + len(self.heap) if number is None else number, number, command)
        )

    def _happens(self, at_s: float, number: int | None, command: Command) -> bool:
        if number is None:
            own = self.by_itself.get((command.action, command.main), ())
            number = next((n for n in own if n not in self.happened), None)
        step = None if number is None else self.steps[number]
        if step is not None and command.person is not None and step.cause is not None:
            if step.cause not in self.happened:
                return False
        begun = (
            BegunStep(command, at_s, DURATIONS_S[command.action])
            if command.person is None or step is None
            else as_going(step)
        )
        try:
            self.situation = take_effect(self.house, begun, self.situation)
        except CannotError:
            managed = None if command.person is None else self._otherwise(begun)
            if managed is None:
                return False
            self.situation = managed
            if number is not None:
                self.managed.add(number)
        if number is not None:
            self.happened.add(number)
        return True

    def _otherwise(self, begun: BegunStep) -> Situation | None:
        """The situation after a step for which somebody does what it still takes; None if nobody can."""
        situation, avoided = self.situation, self.steps[self.left_out].command
        for _ in range(MOST_HELP):
            help_ = _help(self.house, begun.command, situation)
            if help_ is None or (help_.person, help_.action, help_.main) == (
                avoided.person,
                avoided.action,
                avoided.main,
            ):
                return None
            try:
                situation = carry_out_command(self.house, help_, situation).after
                return take_effect(self.house, begun, situation)
            except CannotError:
                continue
        return None


def _help(house: House, command: Command, situation: Situation) -> Command | None:
    """What somebody does first who cannot do something as it is; None if there is nothing."""
    person, name = command.person or "", (*command.targets, command.main or "")[0]
    if name not in situation.people and name not in situation.things:
        return None
    thing = situation.things.get(name)
    if command.action == "grab" and thing is not None and thing.inside and thing.support in situation.things:
        name = thing.support
    agent, (room, x_m) = situation.people[person], location(house, situation, name)
    if room != agent.room or abs(x_m - agent.x_m) > REACH_M:
        stands = agent.posture == "stand"
        return Command("walk", name, (), person) if stands else Command("stand", None, (), person)
    shut = name in situation.things and "CLOSED" in situation.things[name].values
    return Command("open", name, (), person) if shut and command.action in ("grab", "putIn") else None


def _chances(seed: str) -> Callable[..., random.Random]:
    """Draws of a scene for changes that nobody does, as its performance makes them."""
    return lambda *about: random.Random(f"{seed} {about}")


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


def counterfactuals(
    house: House, steps: Sequence[ProgramStep], *, seed: str, shown: range | None = None
) -> list[Counterfactual]:
    """Outcomes of a scene without some of its events.

    Args:
        steps: The whole scene.
        seed: The scene's seed.
        shown: The steps that a graph contains, which number its events; all by default.
    """
    shown = range(len(steps)) if shown is None else shown
    draw = random.Random(f"counterfactuals {seed}")
    candidates = [
        index for index in shown[:-1] if steps[index].command.action in REMOVED_ACTIONS and steps[index].command.person
    ]
    draw.shuffle(candidates)
    found: dict[int, list[Counterfactual]] = {}
    for index in candidates:
        story = plan_without(house, steps, index, seed=seed)
        for answer in ("no", "yes"):
            outcomes = [n for n in shown if n > index and _tells(steps, index, n, story) == answer]
            # What comes much later nobody thinks of.
            outcomes = outcomes[:NEXT_OUTCOMES]
            if outcomes:
                chosen = draw.choice(outcomes)
                name = steps[chosen].command.person or steps[chosen].command.main or ""
                row = Counterfactual(index - shown.start, name, "happens", f"{chosen - shown.start} {answer}")
                found.setdefault(index, []).append(row)
        end, other = steps[shown[-1]].after, plan_without(house, steps, index, seed=seed, until=shown.stop).end
        moved = sorted(_touched(steps[index : shown.stop]))
        rows = list(_places(house, end, other, moved))
        if rows:
            name, outcome = draw.choice(rows)
            found.setdefault(index, []).append(Counterfactual(index - shown.start, name, "place", outcome))
        if len(found) == MOST_REMOVED:
            break
    rows_of_all = [row for rows in found.values() for row in rows]
    return sorted(rows_of_all, key=lambda row: (row.event, row.name, row.aspect, row.outcome))


def _tells(steps: Sequence[ProgramStep], index: int, later: int, story: OtherStory) -> str | None:
    """Whether a later step happens without an event: `yes` or `no`; None if words tell it, or nobody can know."""
    event, step = steps[index], steps[later]
    one, other = event.command, step.command
    if other.action in ("walk", "stand", "turnTo", "lookAt", "wait"):
        return None
    if later not in story.happened:
        same_thing = one.main in (other.main, *other.targets) and other.action != "say"
        return None if same_thing and other.person in (None, one.person) else "no"
    if other.person is None or other.action in PURPOSELESS or other.action in FEELING_ACTIONS or one.action == "say":
        return None
    if later in story.managed:
        return "yes" if one.action in ("open", "switchOn") and one.main != other.main else None
    handled = {other.main, *other.targets} & _touched(steps[index : index + 1])
    apart = one.person != other.person and not _meet(steps, one.person, other.person)
    tidies = _tidies(steps, index) and _tidies(steps, later) and one.main != other.main
    return "yes" if tidies or (apart and not handled) else None


def _meet(steps: Sequence[ProgramStep], one: str | None, other: str | None) -> bool:
    """True if two people do something with each other in a scene, so that one may have acted because of the other."""
    return any({one, other} <= {s.command.person, s.command.main, *s.command.targets} for s in steps)


def _tidies(steps: Sequence[ProgramStep], number: int) -> bool:
    """True if somebody takes a thing only to put it somewhere, or puts it there."""
    step = steps[number]
    if step.command.action in PLACINGS:
        return any(other.purpose == number and other.command.action == "grab" for other in steps[:number])
    purpose = step.purpose
    return step.command.action == "grab" and purpose is not None and steps[purpose].command.action in PLACINGS


def _touched(steps: Sequence[ProgramStep]) -> set[str]:
    """Things that somebody handles."""
    quiet = ("walk", "say", "wait", "lookAt", "turnTo")
    handled = [(s.command.main or "", *s.command.targets) for s in steps if s.command.action not in quiet]
    return {name for names in handled for name in names if name in steps[0].before.things}


def _places(house: House, end: Situation, other: Situation, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        place = _place(other, name)
        if "grab" in house.things[name].kind.can and place != _place(end, name):
            yield name, place


def _place(situation: Situation, name: str) -> str:
    state = situation.things[name]
    return f"{'inside' if state.inside else 'on'} {state.support}"

"""Several people carry out a script at the same time.

Each person does their lines one after the other. What a step changes is checked and applied at its moment of effect, on
the situation that all share; if its precondition does not hold then, the script cannot be carried out. A line that
needs two people, such as handing something over, begins when both have come to it; the first to come waits. Some
changes happen by themselves, such as a kettle that boils a while after it was switched on.
"""

import heapq
import random
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from reeltalk.language.vocabulary import class_of
from reeltalk_household.world.house import ROOM_ORDER, House
from reeltalk_household.world.purposes import purposes
from reeltalk_household.world.simulation import BESIDE_M, REACH_M, BegunStep, begin_command, location, take_effect
from reeltalk_household.world.situation import (
    DURATIONS_S,
    FEELING_ACTIONS,
    CannotError,
    Command,
    ProgramStep,
    Situation,
)
from reeltalk_household.world.tables import world_table
from reeltalk_household.world.talk import Talk

NEAR_M: Final = 0.6
"""Within this distance somebody who stands need not walk."""
LONGEST_GAP_S: Final = 0.7
"""Longest pause of a person between two lines."""
WORTH_A_WAIT_S: Final = 2.2
"""A shorter wait is no event."""
AFTERMATH_S: Final = 3.0
"""How long after the last line the people are watched for changes that happen by themselves."""
LONGEST_S: Final = 60.0
JOINT_ACTIONS: Final = frozenset({"give", "say", "show", "hug", "comfort", "throw", "meet"})
"""Verbs whose line needs everybody that it names to have come to it."""
REACTIONS: Final = frozenset({"smile", "frown", "scowl", "gasp", "calm", "clap", "sweep", "wipe", "watch"})
"""Verbs of lines that always wait for the lines above them."""
AT_MAIN: Final = frozenset(
    {"sit", "lie", "open", "close", "switchOn", "switchOff", "touch", "climb", "type", "answer", "knock", "cut"}
)
AT_TARGET: Final = frozenset({"wipe", "scrub", "sweep", "pour", "put", "putIn"})
PUT_DOWN_ON: Final = frozenset(
    "kitchentable kitchencounter coffeetable sofa tvstand bookshelf desk bed nightstand bathroomcounter".split()
)
CLOSED_AGAIN: Final = 0.7
"""How often somebody closes again what they opened to take something out."""
HELD_SHARE: Final = 0.25
"""How often somebody still holds something at the end of a scene."""


@dataclass(frozen=True)
class Line:
    """One line of a script.

    Verbs are the actions of programs and, for short, `go X`, `fetch X`, `place X Y`, `stow X Y`, `flip X`, `tap VERB X`
    at the nearest faucet, `meet P`, `await ACTION X`, and `leave`, which puts down what is held. Words name people,
    rooms, things or classes of things; a class with a mark, such as `mug.b`, is another one than `mug`.
    """

    person: str | None
    """None for what happens by itself."""
    verb: str
    words: tuple[str, ...] = ()
    says: str | None = None
    after: bool = False
    """True to begin only when all lines above it have ended, as reactions do."""
    command: Command | None = None
    """The command of a program, which is carried out as it is."""

    @property
    def people(self) -> tuple[str, ...]:
        """Everybody who must have come to it."""
        if self.person is None:
            return ()
        words = self.words if self.command is None else (self.command.main or "", *self.command.targets)
        others = [word for word in words if class_of(word) == "character"] if self.verb in JOINT_ACTIONS else []
        return tuple(dict.fromkeys((self.person, *others)))

    @property
    def text(self) -> str:
        """The line as in a script."""
        return " ".join(filter(None, (self.person, self.verb, *self.words)))


_CAUSES: Final[Mapping[str, str]] = world_table("actions")["causes"]
STEP_FEELINGS: Final[Mapping[str, Mapping[str, Mapping[str, float]]]] = world_table("actions")["feelings"]
"""How often people show a feeling because of a step: `=` who did it, `>` to whom it was done, `o` others who see it."""
LATEST_FEELING_S: Final = 4.0


@dataclass
class _Done:
    going: BegunStep
    after: Situation
    cause: "_Done | None" = None
    line: int | None = None
    """The line of the script that it belongs to."""
    number: int = field(default=-1)


class _Person:
    """The lines that a person still has, and what they are at."""

    def __init__(self) -> None:
        self.lines: deque[int] = deque()
        self.came_s = 0.0
        """When they came to the first of them."""
        self.in_line = False
        """True while they do a line or take part in one."""
        self.free_s = 0.0
        """When their last step ends."""


@dataclass(frozen=True)
class Performed:
    """A script that was carried out."""

    steps: tuple[ProgramStep, ...]
    """In the order in which they take effect."""
    end: Situation
    end_s: float


def carry_out_script(
    house: House, lines: Sequence[Line], start: Situation, start_s: float, *, seed: str, talk: Talk | None = None
) -> Performed:
    """Lets people carry out a script.

    Args:
        lines: The script; each person does their own lines in this order.
        start: The situation before it.
        start_s: When it begins.
        seed: Decides pauses, lengths, which one of several things is taken, and the changes that nobody does.
        talk: What people say; needed if the script has talk without words.

    Raises:
        CannotError: A line cannot be carried out; names it and the reason.
    """
    return _Performance(house, lines, start, start_s, seed, talk).run()


def carry_out(house: House, commands: Sequence[Command], start: Situation) -> list[ProgramStep]:
    """Carries out a program.

    Each person does their commands one after the other, and people act at the same time. For what two people do
    together, such as handing something over, the first to be there waits for the other.

    Returns:
        The steps in the order in which they take effect.

    Raises:
        CannotError: A precondition of a step does not hold; names the step and the reason.
    """
    lines = [Line(command.person, command.action, command=command) for command in commands]
    return list(_Performance(house, lines, start, 0.0, "program", None, exact=True).run().steps)


class _Performance:
    def __init__(
        self,
        house: House,
        lines: Sequence[Line],
        start: Situation,
        start_s: float,
        seed: str,
        talk: Talk | None,
        *,
        exact: bool = False,
    ) -> None:
        self.exact = exact
        self.house, self.script, self.situation, self.start_s = house, lines, start, start_s
        self.seed, self.talk = seed, talk
        self.draw = random.Random(f"performance {seed}")
        self.start = start
        self.heap: list[tuple[float, int, Callable[[float], None]]] = []
        self.count = 0
        self.done: list[_Done] = []
        self.people = {person: _Person() for person in start.people}
        self.arrived: dict[int, dict[str, float]] = {}
        self.bound_for: dict[str, tuple[str, float]] = {}
        self.names: dict[str, str] = {}
        self.following: dict[int, list[int]] = {}
        self.awaiting: list[tuple[str, str, str, int]] = []
        self.open = {number for number, line in enumerate(lines) if line.person is not None}
        self.blocked: list[tuple[str, int]] = []
        self.end_s = start_s
        previous = -1
        for number, line in enumerate(lines):
            if line.person is None:
                self.following.setdefault(previous, []).append(number)
                continue
            previous = number
            for person in line.people:
                if person not in self.people:
                    raise CannotError(f"{self._place(number)}: there is no {person} here")
                self.people[person].lines.append(number)

    def run(self) -> Performed:
        self._follow(-1, self.start_s)
        for person, doing in self.people.items():
            if doing.lines:
                self._later(self.start_s + self._pause(), lambda t, p=person: self._come(p, t))  # type: ignore[misc]
        while self.heap:
            open_lines = any(doing.lines for doing in self.people.values())
            if not open_lines and self.heap[0][0] > self.end_s + AFTERMATH_S:
                break
            at_s, _, act = heapq.heappop(self.heap)
            if at_s > self.start_s + LONGEST_S and not self.exact:
                raise CannotError("it takes too long")
            act(at_s)
        for person, doing in self.people.items():
            if doing.lines:
                raise CannotError(f"{person} waits for ever at {self.script[doing.lines[0]].text!r}")
        return Performed(self._steps(), self.situation, round(self.end_s, 3))

    def _steps(self) -> tuple[ProgramStep, ...]:
        steps, before = [], self.start
        for number, done in enumerate(self.done):
            done.number = number
            going = done.going
            cause = None if done.cause is None else done.cause.number
            steps.append(ProgramStep(going.command, going.start_s, going.duration_s, before, done.after, cause))
            before = done.after
        unmeant = {
            n for n, done in enumerate(self.done) if done.line is not None and self.script[done.line].verb == "leave"
        }
        found = purposes(self.house, steps, unmeant=unmeant)
        return tuple(replace(step, purpose=purpose) for step, purpose in zip(steps, found, strict=True))

    def _later(self, at_s: float, act: Callable[[float], None]) -> None:
        self.count += 1
        heapq.heappush(self.heap, (round(at_s, 3), self.count, act))

    def _pause(self) -> float:
        return 0.0 if self.exact else round(self.draw.uniform(0.0, LONGEST_GAP_S), 1)

    # Lines.

    def _come(self, person: str, t: float) -> None:
        """A person comes to their next line."""
        doing = self.people[person]
        if not doing.lines:
            return
        number = doing.lines[0]
        line = self.script[number]
        doing.came_s = t
        if (line.after or (line.verb in REACTIONS and not self.exact)) and min(self.open) < number:
            self.blocked.append((person, number))
            return
        self._join(person, number, t)

    def _join(self, person: str, number: int, t: float) -> None:
        line = self.script[number]
        came = self.arrived.setdefault(number, {})
        came[person] = t
        if set(line.people) <= set(came):
            for other, since_s in came.items():
                self._waited(other, since_s, t, person)
            self._begin(number, t)

    def _begin(self, number: int, t: float) -> None:
        line = self.script[number]
        assert line.person is not None
        if line.command is None and line.verb in ("await", "answer"):
            action, word = line.words if line.verb == "await" else ("ring", line.words[0])
            name = self._find(line.person, word)
            if not self._happened(action, name):
                self.awaiting.append((action, name, line.person, number))
                return
        self._resume(number, line.person, t)

    def _resume(self, number: int, person: str, t: float) -> None:
        line = self.script[number]
        free_s = max(self.people[other].free_s for other in line.people)
        if free_s > t:
            # Somebody still shows a feeling.
            self._later(free_s, lambda now: self._resume(number, person, now))
            return
        for other in line.people:
            self.people[other].in_line = True
        self._go_on(number, person, self._commands(line), t)

    def _go_on(self, number: int, person: str, commands: Iterator[Command], t: float) -> None:
        """The next command of a line, or the end of the line."""
        try:
            command = next(commands, None)
            if command is None:
                self._finish(number, t)
                return
            pace = 1.0 if self.exact else round(self.draw.uniform(0.85, 1.2), 2)
            going = begin_command(self.house, command, self.situation, t, pace=pace, bound_for=self.bound_for)
        except CannotError as error:
            raise CannotError(f"{self._place(number)}: {error}") from None
        if going.to is not None:
            self.bound_for[person] = going.to[:2]
        self.people[person].free_s = going.end_s
        self._later(going.effect_s, lambda now: self._take_effect(number, going))
        self._later(going.end_s, lambda now: self._go_on(number, person, commands, now))
        self.end_s = max(self.end_s, going.end_s)

    def _finish(self, number: int, t: float) -> None:
        self.open.remove(number)
        self._follow(number, t)
        self._unblock(self.script[number].person, t)
        for person in self.script[number].people:
            doing = self.people[person]
            assert doing.lines[0] == number
            doing.lines.popleft()
            doing.in_line = False
            self._later(t + self._pause(), lambda now, p=person: self._come(p, now))  # type: ignore[misc]

    def _unblock(self, last: str | None, t: float) -> None:
        for person, number in list(self.blocked):
            if min(self.open) == number:
                self.blocked.remove((person, number))
                if last is not None:
                    self._waited(person, self.people[person].came_s, t, last)
                self._later(t + self._pause(), lambda now, p=person, n=number: self._join(p, n, now))  # type: ignore[misc]

    def _follow(self, number: int, t: float) -> None:
        """What happens by itself after a line."""
        for following in self.following.get(number, ()):
            line = self.script[following]
            names = tuple(self._find(None, word) for word in line.words)
            at_s = round(t + self.draw.uniform(0.4, 1.6), 1)
            self._happen_later(Command(line.verb, names[0], names[1:], None), at_s, None, needed=True)

    def _waited(self, person: str, since_s: float, t: float, last: str) -> None:
        """Somebody waited for the person who came last."""
        start_s = round(max(since_s, self.people[person].free_s) + 0.2, 3)
        length_s = round(t - start_s - 0.1, 1)
        if person != last and length_s >= WORTH_A_WAIT_S:
            self._record_wait(BegunStep(Command("wait", last, (), person), start_s, length_s))

    def _record_wait(self, going: BegunStep) -> None:
        # A wait changes nothing, so it can be entered when it is over.
        place = bisect_right([done.going.effect_s for done in self.done], going.effect_s)
        after = self.done[place - 1].after if place else self.start
        self.done.insert(place, _Done(going, after))

    # Events.

    def _place(self, number: int) -> str:
        """A line for errors."""
        line = self.script[number]
        return line.text if line.command is None else f"step {number + 1}, {line.command.line}"

    def _take_effect(self, number: int, going: BegunStep) -> None:
        command = going.command
        try:
            self.situation = take_effect(self.house, going, self.situation)
        except CannotError as error:
            raise CannotError(f"{self._place(number)}: {error}") from None
        if command.person is not None:
            self.bound_for.pop(command.person, None)
        done = _Done(going, self.situation, self._cause(command), number)
        if command.action in FEELING_ACTIONS and done.cause is None and not self.exact:
            raise CannotError(f"{command.line}: nothing causes the feeling")
        self.done.append(done)
        self._consequences(done)
        self._react(done)

    def _react(self, done: _Done) -> None:
        """Feelings that people show because of a step, if it moves them."""
        command = done.going.command
        wanted = STEP_FEELINGS.get(f"say {command.speech_act}" if command.action == "say" else command.action)
        if wanted is None or self.exact:
            return
        doer = command.person if done.cause is None or command.person else done.cause.going.command.person
        place = self.situation.people[doer] if doer else self.situation.things[command.main or ""]
        for person, state in self.situation.people.items():
            role = "=" if person == doer else ">" if person in (command.main, *command.targets) else "o"
            chance = self.draw.random()
            if state.room != place.room or state.posture == "lie":
                continue
            for action, share in wanted.get(role, {}).items():
                chance -= share
                if chance < 0:
                    at_s = round(done.going.effect_s + self.draw.uniform(0.3, 0.9), 1)
                    self._later(at_s, lambda t, p=person, a=action: self._show(p, a, done, t))  # type: ignore[misc]
                    break

    def _show(self, person: str, action: str, cause: _Done, t: float) -> None:
        doing, feeling = self.people[person], self.situation.people[person].feeling
        if feeling == FEELING_ACTIONS[action] or t > cause.going.effect_s + LATEST_FEELING_S:
            return
        if action == "calm" and feeling == "HAPPY":
            return
        if doing.in_line or doing.free_s > t:
            self._later(round(t + 0.3, 1), lambda now: self._show(person, action, cause, now))
            return
        going = BegunStep(Command(action, None, (), person), t, DURATIONS_S[action])
        doing.free_s = going.end_s
        self.end_s = max(self.end_s, going.end_s)
        self._later(going.effect_s, lambda now: self._feel(going, cause))

    def _feel(self, going: BegunStep, cause: _Done) -> None:
        self.situation = take_effect(self.house, going, self.situation)
        self.done.append(_Done(going, self.situation, cause))

    def _happen_later(self, command: Command, at_s: float, cause: _Done | None, *, needed: bool = False) -> None:
        length_s = DURATIONS_S[command.action]

        def happen(t: float) -> None:
            going = BegunStep(command, round(t - length_s / 2, 3), length_s)
            try:
                self.situation = take_effect(self.house, going, self.situation)
            except CannotError:
                # Somebody switched it off before.
                if needed:
                    raise
                return
            done = _Done(going, self.situation, cause)
            self.done.append(done)
            self.end_s = max(self.end_s, going.end_s)
            self._consequences(done)
            self._react(done)
            self._wake(done, going.end_s)

        # Nothing begins before its scene.
        self._later(max(at_s, round(self.start_s + length_s / 2, 3)), happen)

    def _wake(self, done: _Done, t: float) -> None:
        command = done.going.command
        for entry in list(self.awaiting):
            action, name, person, number = entry
            if (action, name) == (command.action, command.main):
                self.awaiting.remove(entry)
                self._waited(person, self.people[person].came_s, t, name)
                self._later(t + self._pause(), lambda now, n=number, p=person: self._resume(n, p, now))  # type: ignore[misc]

    def _happened(self, action: str, name: str) -> bool:
        return any((d.going.command.action, d.going.command.main) == (action, name) for d in self.done)

    def _chance(self, *about: object) -> random.Random:
        """Draws for a change that nobody does; the same wherever it happens."""
        return random.Random(f"{self.seed} {about}")

    def _consequences(self, done: _Done) -> None:
        for command, after_s in consequences(self.house, done.going.command, self.situation, self._chance):
            self._happen_later(command, round(done.going.effect_s + after_s, 1), done)

    def _cause(self, command: Command) -> _Done | None:
        wanted = _CAUSES.get(f"say {command.speech_act}" if command.action == "say" else command.action, "").split()
        if not wanted:
            return None
        about = command.targets[0] if command.targets else command.main
        for done in reversed(self.done):
            earlier = done.going.command
            does = earlier.speech_act if earlier.action == "say" else earlier.action
            names = (earlier.main, *earlier.targets)
            own, to_me = earlier.person == command.person, command.person in names
            for pattern in wanted:
                way, action = (pattern[0], pattern[1:]) if pattern[0] in "><=@+" else ("", pattern)
                if action != does and not (action == "say" and earlier.action == "say"):
                    continue
                if (
                    (way == ">" and to_me and not own)
                    or (way == "<" and earlier.person == about)
                    or (way == "=" and own)
                    or (way == "+" and to_me and not own and earlier.main == command.main)
                    or (way == "@" and earlier.main == command.main)
                    or way == ""
                ):
                    return done
        return None

    # Lines as commands. Each command is chosen when the one before has ended.

    def _commands(self, line: Line) -> Iterator[Command]:
        person, verb = line.person, line.verb
        assert person is not None
        if line.command is not None:
            yield line.command
            return
        if verb in ("await", "meet"):
            return
        if verb == "say":
            yield from self._say(person, line)
            return
        if verb == "tap":
            yield from self._tap(person, line.words[0], self._find(person, line.words[1]))
            return
        names = [self._find(person, word) for word in line.words]
        if verb == "flip":
            verb = "switchOff" if "ON" in self.situation.things[names[0]].values else "switchOn"
        if verb == "go":
            yield from self._go(person, names[0])
        elif verb == "fetch":
            yield from self._fetch(person, names[0])
        elif verb in ("place", "stow"):
            yield from self._fetch(person, names[0])
            yield from self._go(person, names[1])
            if verb == "place":
                yield Command("put", names[0], (names[1],), person)
            else:
                yield from self._stow(person, *names)
        elif verb in ("give", "hug", "comfort", "show", "throw", "wave", "clap") or (
            verb in ("watch", "lookAt", "turnTo") and names[0] in self.situation.people
        ):
            other = next(name for name in names if name in self.situation.people)
            yield from self._approach(person, other, BESIDE_M if verb in ("give", "hug", "comfort") else None)
            things = [name for name in names if name not in self.situation.people]
            if things:
                yield Command(verb, things[0], (other,), person)
            else:
                yield Command(verb, other, (), person)
        elif verb == "leave":
            yield from self._leave(person)
        elif verb == "stand" and self.situation.people[person].posture == "stand":
            return
        else:
            place = names[0] if verb in AT_MAIN and names else names[-1] if verb in AT_TARGET else None
            if verb in ("play", "unwrap") and self.situation.holder(names[0]) != person:
                place = names[0]
            if verb in ("turnTo", "lookAt", "watch") and names:
                room = self.situation.things[names[0]].room
                if room != self.situation.people[person].room:
                    yield from self._go(person, room)
            if place is not None and not self._works_from_afar(person, place):
                yield from self._go(person, place)
            if verb in ("squat", "jump", "stretch", "dance", "fall", "fallback") and self._seated(person):
                yield Command("stand", None, (), person)
            yield Command(verb, names[0] if names else None, tuple(names[1:]), person)

    def _leave(self, person: str) -> Iterator[Command]:
        """Gets up from the floor, and puts down what is held, on something near."""
        if self.situation.people[person].posture in ("fallen", "climbed"):
            yield Command("stand", None, (), person)
        for name in self.situation.people[person].held:
            agent = self.situation.people[person]
            if self.draw.random() < HELD_SHARE:
                continue
            near = [
                place
                for place, state in self.situation.things.items()
                if state.room == agent.room
                and class_of(place) in PUT_DOWN_ON
                and (agent.posture == "stand" or abs(state.x_m - agent.x_m) < REACH_M)
            ]
            if not near:
                continue
            place = self.draw.choice(near)
            yield from self._go(person, place)
            yield Command("put", name, (place,), person)

    def _works_from_afar(self, person: str, name: str) -> bool:
        held = {class_of(thing) for thing in self.situation.people[person].held}
        return class_of(name) in ("tv", "radio") and "remotecontrol" in held

    def _say(self, person: str, line: Line) -> Iterator[Command]:
        act, *words = line.words
        listeners = tuple(word for word in words if word in self.situation.people)
        about = [self._find(person, word) for word in words if word not in self.situation.people]
        yield from self._approach(person, listeners[0], None)
        says = line.says
        if says is None:
            assert self.talk is not None
            says = self.talk.words(act, self.house, person, listeners, about[0] if about else None, self.draw)
        yield Command("say", about[0] if about else None, listeners, person, says, act)

    def _approach(self, person: str, other: str, reach_m: float | None) -> Iterator[Command]:
        agent, them = self.situation.people[person], self.situation.people[other]
        if agent.room == them.room and (reach_m is None or abs(agent.x_m - them.x_m) <= reach_m):
            return
        if agent.posture != "stand":
            yield Command("stand", None, (), person)
        if agent.room != them.room:
            yield Command("walk", them.room, (), person)
        agent = self.situation.people[person]
        if reach_m is not None and abs(agent.x_m - them.x_m) > reach_m:
            yield Command("walk", other, (), person)

    def _seated(self, person: str) -> bool:
        return self.situation.people[person].posture != "stand"

    def _go(self, person: str, name: str) -> Iterator[Command]:
        agent = self.situation.people[person]
        room, x_m = location(self.house, self.situation, name)
        if agent.seat == name:
            return
        if name in self.house.rooms:
            if agent.room != room:
                if agent.posture != "stand":
                    yield Command("stand", None, (), person)
                yield Command("walk", name, (), person)
            return
        away_m = abs(agent.x_m - x_m)
        width_m = self.house.things[name].kind.width_m if name in self.house.things else 0.0
        if agent.room == room and (
            away_m <= NEAR_M + width_m / 4 or (agent.posture == "sit" and away_m <= REACH_M * 0.8)
        ):
            return
        if agent.posture != "stand":
            yield Command("stand", None, (), person)
        if agent.room != room:
            yield Command("walk", room, (), person)
        yield Command("walk", name, (), person)

    def _fetch(self, person: str, name: str) -> Iterator[Command]:
        if name in self.situation.people[person].held:
            return
        state = self.situation.things[name]
        if not state.inside or state.support not in self.situation.things:
            yield from self._go(person, name)
            yield Command("grab", name, (), person)
            return
        holder = state.support
        yield from self._go(person, holder)
        closed = "CLOSED" in self.situation.things[holder].values
        if closed:
            yield Command("unwrap" if class_of(holder) == "giftbox" else "open", holder, (), person)
        yield Command("grab", name, (), person)
        # Now and then somebody leaves it open.
        if closed and class_of(holder) != "giftbox" and self.draw.random() < CLOSED_AGAIN:
            yield Command("close", holder, (), person)

    def _stow(self, person: str, name: str, holder: str) -> Iterator[Command]:
        closed = "CLOSED" in self.situation.things[holder].values
        if closed:
            yield Command("open", holder, (), person)
        yield Command("putIn", name, (holder,), person)
        if "open" in self.house.things[holder].kind.can and (closed or self.draw.random() < 0.5):
            yield Command("close", holder, (), person)

    def _tap(self, person: str, verb: str, name: str) -> Iterator[Command]:
        faucet = self._find(person, "faucet")
        yield from self._go(person, faucet)
        running = "ON" in self.situation.things[faucet].values
        if not running:
            yield Command("switchOn", faucet, (), person)
        yield Command(verb, name, (), person)
        # Now and then somebody leaves the water on.
        if self.draw.random() < 0.93:
            yield Command("switchOff", faucet, (), person)

    def _find(self, person: str | None, word: str) -> str:
        """The person, room or object that a word of a script means in this situation."""
        if word in self.situation.people or word in self.situation.things or word in self.house.rooms:
            return word
        if word in self.names:
            return self.names[word]
        class_name = word.partition(".")[0]
        room_class, _, class_name = class_name.rpartition(":")
        if class_name in ROOM_ORDER:
            return next(name for name, room in self.house.rooms.items() if room.class_name == class_name)
        here = self.situation.people[person].room if person else None
        if class_name == "floor" and here and not room_class:
            return self.house.floors[here]
        taken = {name for name in self.names.values() if "grab" in self.house.things[name].kind.can}
        rooms = {name: room.class_name for name, room in self.house.rooms.items()}
        found = [
            name
            for name in sorted(thing.name for thing in self.house.of_class(class_name))
            if name not in taken
            and (not room_class or rooms[self.situation.things[name].room] == room_class)
            and self.situation.holder(name) in (None, person)
            and "BROKEN" not in self.situation.things[name].values
            and class_of(self.situation.things[name].support) != "giftbox"
        ]
        if not found:
            raise CannotError(f"there is no {word}, or somebody has it")
        near = [name for name in found if self.situation.things[name].room == here]
        chosen = self.draw.choice(near or found)
        if class_name != "faucet":
            self.names[word] = chosen
        return chosen


def consequences(
    house: House, command: Command, after: Situation, chance: Callable[..., random.Random]
) -> Iterator[tuple[Command, float]]:
    """What happens by itself because of a step.

    Yields:
        Each change, and how many seconds after the step it happens if nothing prevents it.
    """
    name, action = command.main, command.action
    if name is None or name not in after.things:
        return
    kind, values = class_of(name), after.things[name].values
    draw = chance(action, name, command.person is None)
    if action == "switchOn" and kind in MACHINES:
        change, soonest_s, latest_s = MACHINES[kind]
        yield Command(change, name, (), None), draw.uniform(soonest_s, latest_s)
    elif action == "boil":
        yield Command("finish", name, (), None), draw.uniform(3.0, 7.0)
    elif action in ("knock", "drop"):
        if "FULL" in values:
            support = after.things[name].support
            under = support if support in after.things else house.floors[after.things[name].room]
            yield Command("spill", name, (under,), None), 0.5
        if "fragile" in house.things[name].kind.can and draw.random() < (0.55 if action == "knock" else 0.8):
            yield Command("break", name, (), None), 1.0


MACHINES: Final = {
    "kettle": ("boil", 3.0, 6.0),
    "toaster": ("pop", 3.0, 6.0),
    "microwave": ("finish", 3.0, 6.0),
    "washingmachine": ("finish", 8.0, 16.0),
}
"""Machines, what they do after they were switched on, and the least and most seconds until then."""

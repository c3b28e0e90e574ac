"""Programs carried out in a house, step by step, each step with its preconditions.

What a step needs is checked before it is done; what cannot be done is a `CannotError` that says why, never a step that
is skipped.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from reeltalk.world.house import DOOR_X_M, ROOM_WIDTH_M, House
from reeltalk.world.program import DURATIONS_S, CannotError, Command
from reeltalk.world.scene import SituatedCommand
from reeltalk.world.situation import ProgramStep, Situation
from reeltalk.world.step_rules import RULES

WALK_M_PER_S: Final = 1.0
SETTLE_S: Final = 0.6
STAND_M: Final = 0.35
"""How far from an object's centre one stops."""


def carry_out(house: House, commands: Iterable[Command], start: Situation) -> list[ProgramStep]:
    """Carry out a program.

    Raises:
        CannotError: A step's precondition does not hold; names the step and why.
    """
    steps: list[ProgramStep] = []
    situation = start
    for number, command in enumerate(commands, 1):
        try:
            step = do(house, command, situation)
        except CannotError as error:
            raise CannotError(f"step {number}, {command.line}: {error}") from None
        steps.append(step)
        situation = step.after
    return steps


def do(house: House, command: Command, situation: Situation) -> ProgramStep:
    """Carry out one command.

    Raises:
        CannotError: Its precondition does not hold.
    """
    if command.action == "walk":
        return _walk(house, command, situation)
    rule = RULES.get(command.action)
    if rule is None:
        raise CannotError(f"{command.action!r} is no action")
    after = rule(SituatedCommand(house, command, situation))
    return ProgramStep(command, DURATIONS_S[command.action], situation, after)


def location(house: House, situation: Situation, name: str) -> tuple[str, float]:
    """The room of an object and where along its wall it is; a room's own place is beyond its door."""
    if name in situation.things:
        state = situation.things[name]
        return state.room, state.x_m
    room = house.rooms[name]
    inwards = 1.2 if room.door == "left" else -1.2
    return name, DOOR_X_M[room.door] + inwards


def stop_beside(house: House, x_m: float, from_x_m: float, name: str) -> float:
    """Where one stops when walking to something: on the near side of it."""
    if name in house.rooms:
        return x_m
    away = STAND_M if from_x_m > x_m else -STAND_M
    return min(max(x_m + away, 0.6), ROOM_WIDTH_M - 0.6)


def _walk(house: House, command: Command, situation: Situation) -> ProgramStep:
    agent = situation.agent
    if command.main is None:
        raise CannotError("walk needs something to walk to")
    if command.main not in situation.things and command.main not in house.rooms:
        raise CannotError(f"there is no {command.main} in this house")
    if agent.posture != "stand":
        raise CannotError(f"the person cannot walk, being in posture {agent.posture!r}")
    room, x_m = location(house, situation, command.main)
    entered = agent.x_m if room == agent.room else DOOR_X_M[house.rooms[room].door]
    stop = stop_beside(house, x_m, entered, command.main)
    length = abs(stop - entered)
    if room != agent.room:
        length += abs(DOOR_X_M[house.rooms[agent.room].door] - agent.x_m)
    facing = (1 if x_m > stop else -1) if command.main in situation.things else (1 if stop > entered else -1)
    moved = replace(agent, room=room, x_m=round(stop, 3), facing=facing, gaze=None)
    things = dict(situation.things)
    for name in agent.held:
        things[name] = replace(things[name], room=room, x_m=moved.x_m)
    seconds = round(length / WALK_M_PER_S + SETTLE_S, 1)
    return ProgramStep(command, seconds, situation, Situation(things, moved))

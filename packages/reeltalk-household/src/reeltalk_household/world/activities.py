"""Scenes: recipes that become scripts, and scripts that people carry out in a given house and situation.

The recipes are in `activities.txt`. Each use of one draws anew what its lines leave open: who acts, which of several
things is taken, where it ends, which part of the story follows, and in which order.
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from reeltalk.language.vocabulary import CATEGORIES, SPEECH_ACTS
from reeltalk_household.world.house import ROOM_ORDER, House
from reeltalk_household.world.performance import Line, carry_out_script
from reeltalk_household.world.situation import CannotError, ProgramStep, Situation
from reeltalk_household.world.talk import Talk

RECIPES: Final = Path(__file__).parent / "activities.txt"
_OPEN: Final = {"[": "]", "(": ")", "<": ">"}


@dataclass(frozen=True)
class _Block:
    """Lines and blocks. `kind` is `[` for a choice of parts, `(` for an optional part, `<` for parts in any order."""

    kind: str
    parts: tuple[tuple["str | _Block", ...], ...]


@dataclass(frozen=True)
class Activity:
    """A recipe."""

    name: str
    """A name such as `Drink_milk`."""
    category: str
    """One of VDAct's twelve categories."""
    roles: tuple[str, ...]
    """The people whom it needs, such as `A` and `B`."""
    room: str | None
    """Class of the room in which it begins, if it matters."""
    lines: tuple["str | _Block", ...]

    @property
    def liveliness(self) -> int:
        """Number of its lines that change something for other people, or start something such as a boiling kettle."""
        return sum(_lively(item) for item in self.lines)

    def script(self, cast: Mapping[str, str], draw: random.Random) -> list[Line]:
        """A script with everything drawn that the recipe leaves open."""
        chosen: dict[str, str] = {}
        return [
            _line(text, cast, chosen, draw, self.name)
            for text in _drawn(self.lines, draw)
            if not _let(text, chosen, draw)
        ]


LIVELY: Final = re.compile(
    r"\b(give|throw|show|hug|comfort|drop|knock|await|ring|unwrap|smile|frown|scowl|gasp|calm|fill|putIn|stow)\b"
)


def _lively(item: "str | _Block") -> int:
    if isinstance(item, str):
        return int(LIVELY.search(item) is not None)
    return sum(_lively(inner) for part in item.parts for inner in part)


@cache
def activities() -> dict[str, Activity]:
    """All recipes by name."""
    made: dict[str, Activity] = {}
    for block in re.split(r"^= ", RECIPES.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, *lines = [line.strip() for line in block.splitlines() if line.strip()]
        name, category, roles, *room = head.split()
        if category not in CATEGORIES:
            raise ValueError(f"{name}: {category!r} is no category")
        if room and room[0] not in ROOM_ORDER:
            raise ValueError(f"{name}: {room[0]!r} is no room")
        rest = list(lines)
        parts = _parts(rest, name, "")
        if rest or len(parts) != 1:
            raise ValueError(f"{name}: a part ends that did not begin")
        made[name] = Activity(name, category, tuple(roles), room[0] if room else None, parts[0])
    return made


def _parts(lines: list[str], name: str, end: str) -> tuple[tuple["str | _Block", ...], ...]:
    """Reads parts up to the line `end`, and takes them off the list."""
    parts: list[list[str | _Block]] = [[]]
    while lines:
        line = lines.pop(0)
        if line == end:
            return tuple(tuple(part) for part in parts)
        if line in _OPEN:
            parts[-1].append(_Block(line, _parts(lines, name, _OPEN[line])))
        elif line == "/":
            parts.append([])
        elif line in _OPEN.values():
            raise ValueError(f"{name}: {line} ends a part that did not begin")
        else:
            parts[-1].append(line)
    if end:
        raise ValueError(f"{name}: a part does not end; expected {end}")
    return tuple(tuple(part) for part in parts)


def _drawn(items: Sequence["str | _Block"], draw: random.Random) -> list[str]:
    lines: list[str] = []
    for item in items:
        if isinstance(item, str):
            if not item.startswith("? ") or draw.random() < 0.5:
                lines.append(item.removeprefix("? "))
        elif item.kind == "[":
            lines += _drawn(draw.choice(item.parts), draw)
        elif item.kind == "(":
            lines += _drawn(item.parts[0], draw) if draw.random() < 0.5 else []
        else:
            for part in draw.sample(item.parts, len(item.parts)):
                lines += _drawn(part, draw)
    return lines


def _let(text: str, chosen: dict[str, str], draw: random.Random) -> bool:
    """Draws a word for the whole script, if the line asks for that."""
    match = re.fullmatch(r"let (\w+) = (\S+)", text)
    if match is None:
        return False
    chosen[match[1]] = draw.choice(match[2].split("|"))
    return True


def _line(text: str, cast: Mapping[str, str], chosen: Mapping[str, str], draw: random.Random, name: str) -> Line:
    plain = re.sub(r"\{([^}]*)\}", lambda match: draw.choice(match[1].split("|")), text)
    after = plain.startswith("& ")
    who, verb, *words = plain.removeprefix("& ").split()
    role = draw.choice(who.split("|"))
    if role != "-" and role not in cast:
        raise ValueError(f"{name}: {text!r} begins with no role")
    person = None if role == "-" else cast[role]
    found: list[str] = []
    for word in words:
        stem, mark, label = word.partition(".")
        if all(part in cast for part in word.split("+")):
            found += [cast[part] for part in word.split("+")]
        else:
            found.append(chosen.get(stem, stem) + mark + label)
    if verb == "say":
        act = next((word for word in found if word in SPEECH_ACTS), None)
        if act is None:
            raise ValueError(f"{name}: {text!r} has no speech act")
        return Line(person, "say", (act, *(word for word in found if word != act)), after=after)
    return Line(person, verb, tuple(found), after=after)


def perform(
    house: House, activity: Activity, start: Situation, start_s: float = 0.0, *, seed: str = "0"
) -> list[ProgramStep]:
    """Carry out a recipe with the first people of a situation.

    Returns:
        The steps in the order in which they take effect.

    Raises:
        CannotError: The house lacks something, or a step cannot be done.
    """
    cast = dict(zip(activity.roles, start.people, strict=False))
    if len(cast) < len(activity.roles):
        raise CannotError(f"{activity.name} needs {len(activity.roles)} people")
    lines = activity.script(cast, random.Random(f"script {seed}"))
    lines += [Line(person, "leave") for person in cast.values()]
    return list(carry_out_script(house, lines, start, start_s, seed=seed, talk=Talk(set())).steps)


def program(steps: Sequence[ProgramStep]) -> str:
    """The program that was carried out, with one command per line. Changes that nobody does are left out."""
    return "".join(f"{step.command.line}\n" for step in steps if step.command.person is not None)

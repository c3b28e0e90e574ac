"""Programs as VirtualHome writes them, a command a line: `[WALK] <fridge> (12)`.

What a command needs and changes is for `step_rules.py`; this module only reads and writes them.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reeltalk.errors import InputError, ReeltalkError
from reeltalk.graph.vocabulary import class_of

DURATIONS_S: Final = {
    "grab": 1.9,
    "put": 1.9,
    "putIn": 2.2,
    "open": 1.9,
    "close": 1.6,
    "switchOn": 1.6,
    "switchOff": 1.6,
    "sit": 1.9,
    "stand": 1.6,
    "lie": 2.4,
    "sleep": 8.1,
    "wakeUp": 2.2,
    "drink": 4.1,
    "eat": 5.4,
    "pour": 3.2,
    "turnTo": 1.1,
    "lookAt": 4.1,
    "watch": 8.1,
    "wipe": 4.9,
    "scrub": 4.1,
    "rinse": 3.5,
    "soak": 3.2,
    "wash": 4.1,
    "brush": 5.4,
    "squeeze": 2.2,
    "cut": 4.1,
    "read": 8.1,
    "type": 6.8,
    "write": 6.8,
    "text": 5.4,
    "squat": 2.4,
    "jump": 1.6,
    "stretch": 3.5,
    "dance": 5.4,
    "climb": 2.2,
    "shake": 2.7,
    "fold": 3.5,
    "touch": 1.6,
    "fall": 3.2,
    "fallsit": 3.2,
    "fallback": 3.2,
}
"""Seconds that each action takes; walking takes what its distance needs."""


class CannotError(ReeltalkError):
    """A step that cannot be done in the situation it meets; says which and why."""


@dataclass(frozen=True)
class Command:
    """One line of a program."""

    action: str
    """In the graphs' spelling, as `switchOn`."""
    main: str | None = None
    targets: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """As VirtualHome writes it: `[PUTIN] <milk> (4) <fridge> (12)`."""
        parts = [f"[{self.action.upper()}]"]
        for name in ((self.main,) if self.main else ()) + self.targets:
            class_name = class_of(name)
            parts.append(f"<{class_name}> ({name[len(class_name) :]})")
        return " ".join(parts)


ACTIONS: Final = {action.upper(): action for action in ("walk", *DURATIONS_S)}


def parse_command(line: str) -> Command:
    """A line of a program.

    Raises:
        CannotError: It is not written as VirtualHome writes programs.
    """
    match = re.fullmatch(r"\s*\[(\w+)\]((?:\s*<[a-z_ ]+>\s*\(\d+\))*)\s*", line)
    if match is None:
        raise CannotError(f"{line.strip()!r} is no step; expected as [WALK] <television> (297)")
    if match[1].upper() not in ACTIONS:
        raise CannotError(f"{match[1]!r} is no action; known: {', '.join(sorted(ACTIONS))}")
    names = [f"{name.replace(' ', '')}{number}" for name, number in re.findall(r"<([a-z_ ]+)>\s*\((\d+)\)", match[2])]
    return Command(ACTIONS[match[1].upper()], names[0] if names else None, tuple(names[1:]))


def read_program(text: str, *, file: Path) -> list[Command]:
    """A program, a command a line; empty lines and lines that begin with # are passed over.

    Raises:
        InputError: A line is no step; names it.
    """
    commands = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                commands.append(parse_command(line))
            except CannotError as error:
                raise InputError(str(error), file=file, line=number) from None
    if not commands:
        raise InputError("no step", file=file, hint="expected lines as [WALK] <fridge> (3)")
    return commands

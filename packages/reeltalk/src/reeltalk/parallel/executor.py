"""The interface between a stage and the workers that run its calls: one method, the same on one machine and on many."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Protocol

from reeltalk.schema.record import Json

MIB: Final = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Resources that a call may use before it is ended."""

    wall_s: float = 3600.0
    memory_bytes: int = 1024 * MIB
    """Address space beyond that of the idle process."""


@dataclass(frozen=True)
class Call:
    """One call. Argument and result are JSON values, because the output of a decoder must not be unpickled."""

    argument: Json
    limits: Limits = Limits()


class FailureKind(StrEnum):
    """How a call ended without a result."""

    TIME = "time"
    MEMORY = "memory"
    DIED = "died"
    ERROR = "error"


@dataclass(frozen=True)
class Failure:
    """A call that gave no result."""

    kind: FailureKind
    detail: str

    def __str__(self) -> str:
        return self.detail


Outcome = Any
"""A JSON value, or a `Failure`."""


class Executor(Protocol):
    """Runs calls of one function."""

    def map(self, function: str, calls: Iterable[Call]) -> Iterator[tuple[int, Outcome]]:
        """Run `function` on each call, several at a time.

        Args:
            function: A top-level function as `package.module:name`; takes one JSON value and returns one.
            calls: The calls, taken as workers become free.

        Yields:
            Position of the call and its outcome, in the order in which calls end. Closing the iterator ends the running
            calls.
        """
        ...

"""Hard limits on requests to models: their number, their tokens and their cost.

Before a request is sent, the most that it can use is reserved. When its reply has come, its real usage replaces the
reservation. So no limit is passed, however many threads ask.
"""

import asyncio
import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.errors import BudgetError, SettingError

PER: Final = 1_000_000
"""Prices are for this many tokens."""
ROOM: Final = 1.25
"""Times what is expected that is named as enough: replies are repaired, and drafts are sent back."""
LOOK_AGAIN_S: Final = 0.02
"""Interval at which a request that waits for budget checks again."""


class Prices(BaseModel):
    """Prices of a model per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    input: Annotated[float, Field(ge=0)]
    """Price of a million tokens of prompt."""
    output: Annotated[float, Field(ge=0)]
    """Price of a million tokens of reply."""

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Price of one request."""
        return (prompt_tokens * self.input + completion_tokens * self.output) / PER


@dataclass(frozen=True)
class Spent:
    """Usage of requests so far."""

    calls: int
    tokens: int
    """Tokens of prompts and replies; the reserved number if a server did not report them."""
    cost: float
    """Cost of requests with known prices."""
    unreached: int = 0
    """Requests that reached no server. They are not among `calls`, and took no tokens."""

    def __sub__(self, before: "Spent") -> "Spent":
        return Spent(
            self.calls - before.calls,
            self.tokens - before.tokens,
            self.cost - before.cost,
            self.unreached - before.unreached,
        )

    def times(self, factor: float) -> "Spent":
        """So many times as much, rounded up."""
        return Spent(math.ceil(factor * self.calls), math.ceil(factor * self.tokens), factor * self.cost)

    def __str__(self) -> str:
        """Requests and tokens for people."""
        unreached = f", {self.unreached:,} more requests reached no server" if self.unreached else ""
        return f"{self.calls:,} requests, {self.tokens:,} tokens{unreached}"


@dataclass(frozen=True, eq=False)
class Reservation:
    """The part of a budget that is reserved for one request."""

    prompt_tokens: int
    completion_tokens: int
    prices: Prices | None
    cost: float

    @property
    def tokens(self) -> int:
        """Tokens of prompt and reply together."""
        return self.prompt_tokens + self.completion_tokens


class Ledger(Protocol):
    """Remembers what was spent over several calls of a command."""

    def spent(self) -> Spent:
        """Usage of all calls so far."""

    def add_spent(self, spent: Spent) -> None:
        """Add the usage of a request."""


class Budget:
    """Limits for all requests of a run; shared by models and threads."""

    def __init__(
        self,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        max_cost: float | None = None,
        *,
        ledger: Ledger | None = None,
        more: "More" = (None, None, None),
    ) -> None:
        """Begin with what a ledger says, or with nothing spent.

        Args:
            max_calls: Most requests that reach a server, including those that are sent again.
            max_tokens: Most tokens of prompts and replies.
            max_cost: Most money, in the unit of the prices.
            ledger: What earlier calls spent counts too, and it receives what this one spends.
            more: What is added to each limit, or to what was spent already where that is more or there is no limit.

        Raises:
            ValueError: A limit is negative or not a number.
        """
        for name, limit in (("max_calls", max_calls), ("max_tokens", max_tokens), ("max_cost", max_cost)):
            if limit is not None and not (math.isfinite(limit) and limit >= 0):
                raise ValueError(f"{name} must be a number from 0, got {limit}")
        self._ledger = ledger
        self.expected: Callable[[], Spent] = lambda: Spent(0, 0, 0.0)
        """What the work that is left is expected to take; errors name it."""
        self.before = ledger.spent() if ledger is not None else Spent(0, 0, 0.0)
        self._calls, self._tokens, self._cost = self.before.calls, self.before.tokens, self.before.cost
        self.max_calls = _raised(max_calls, more[0], self._calls)
        self.max_tokens = _raised(max_tokens, more[1], self._tokens)
        self.max_cost = _raised(max_cost, more[2], self._cost)
        self._unreached = 0
        self._held: set[Reservation] = set()
        self._lock = threading.Lock()

    @property
    def spent(self) -> Spent:
        """Usage so far without reservations, with that of earlier calls that a ledger knows."""
        with self._lock:
            return Spent(self._calls, self._tokens, self._cost, self._unreached)

    async def reserve(self, prompt_tokens: int, completion_tokens: int, prices: Prices | None = None) -> Reservation:
        """Reserve the most that one request can use. Waits while requests under way may leave enough.

        Raises:
            BudgetError: A limit would be passed. Nothing is reserved then.
            SettingError: The cost is limited and the model has no prices.
        """
        wanted = self._wanted(prompt_tokens, completion_tokens, prices)
        while not self._taken(wanted):
            # Requests under way belong to other threads and loops, so their end cannot be awaited here.
            await asyncio.sleep(LOOK_AGAIN_S)
        return wanted

    def _wanted(self, prompt_tokens: int, completion_tokens: int, prices: Prices | None) -> Reservation:
        if self.max_cost is not None and prices is None:
            raise SettingError("a limit on cost needs the prices of the model; give its price of input and of output")
        cost = prices.cost(prompt_tokens, completion_tokens) if prices else 0.0
        return Reservation(prompt_tokens, completion_tokens, prices, cost)

    def _taken(self, wanted: Reservation) -> bool:
        """Reserve; False if requests under way may leave enough later."""
        with self._lock:
            if self.max_calls is not None and self._calls >= self.max_calls:
                # A request under way that reaches no server is given back.
                if self._held:
                    return False
                raise self.error()
            if not self._fits(self._tokens + wanted.tokens, self._cost + wanted.cost):
                raise self.error(wanted)
            held_tokens = sum(other.tokens for other in self._held)
            held_cost = math.fsum(other.cost for other in self._held)
            if not self._fits(self._tokens + held_tokens + wanted.tokens, self._cost + held_cost + wanted.cost):
                return False
            self._calls += 1
            self._held.add(wanted)
            return True

    def settle(
        self,
        reservation: Reservation,
        prompt_tokens: int | None = None,
        completion_tokens: int | None = None,
        *,
        reached: bool = True,
    ) -> None:
        """Replace a reservation by the real usage of the request.

        Args:
            reservation: Reservation of the request.
            prompt_tokens: Tokens of its prompt; None if unknown, then the reserved number counts.
            completion_tokens: Tokens of its reply; None if unknown, then the reserved number counts.
            reached: False if no connection could be opened; the request does not count then.
        """
        prompt = reservation.prompt_tokens if prompt_tokens is None else prompt_tokens
        completion = reservation.completion_tokens if completion_tokens is None else completion_tokens
        with self._lock:
            self._held.remove(reservation)
            if not reached:
                self._calls -= 1
                self._unreached += 1
                return
            cost = reservation.prices.cost(prompt, completion) if reservation.prices is not None else 0.0
            self._tokens += prompt + completion
            self._cost += cost
        if self._ledger is not None:
            self._ledger.add_spent(Spent(1, prompt + completion, cost))

    def _fits(self, tokens: int, cost: float) -> bool:
        return (self.max_tokens is None or tokens <= self.max_tokens) and (
            self.max_cost is None or cost <= self.max_cost
        )

    def lacking(self, wanted: Spent) -> dict[str, float]:
        """By how much each limit that is too low must grow for further requests, by the option that adds to it."""
        after = {
            "--more": (self.max_calls, self._calls + wanted.calls),
            "--more-tokens": (self.max_tokens, self._tokens + wanted.tokens),
            "--more-cost": (self.max_cost, self._cost + wanted.cost),
        }
        return {name: need - most for name, (most, need) in after.items() if most is not None and need > most}

    def _advice(self, wanted: Reservation | None) -> str:
        """What to do to go on: with a ledger, the options to add to the same command."""
        if self._ledger is None:
            return "run again with a larger one to continue from the kept replies"
        left = self.expected()
        tokens, cost = (wanted.tokens, wanted.cost) if wanted is not None else (0, 0.0)
        room = left.times(ROOM)
        lacking = self.lacking(Spent(max(1, room.calls), max(tokens, room.tokens), max(cost, room.cost)))
        if not left.calls:
            # Nothing is known of the work that is left, so as much again.
            limits = {"--more": self.max_calls, "--more-tokens": self.max_tokens, "--more-cost": self.max_cost}
            lacking = {name: max(amount, limits[name] or 0) for name, amount in lacking.items()}
        return f"add {format_options(lacking)} to the same command, and it goes on from the kept replies"

    def error(self, wanted: Reservation | None = None) -> BudgetError:
        """The error of a spent budget."""
        shown = [f"{self._calls:,}{f' of {self.max_calls:,}' if self.max_calls is not None else ''} requests"]
        shown.append(f"{self._tokens:,}{f' of {self.max_tokens:,}' if self.max_tokens is not None else ''} tokens")
        if self.max_cost is not None:
            shown.append(f"{self._cost:.4f} of {self.max_cost:.4f} in money")
        more = ""
        if wanted is not None:
            more = f"; the next request may take {wanted.tokens:,} tokens"
            more += f" and {wanted.cost:.4f} in money" if self.max_cost is not None else ""
        together = " by all calls together" if self.before.calls else ""
        return BudgetError(f"the budget is spent{together}: {', '.join(shown)}{more}; {self._advice(wanted)}")


More = tuple[int | None, int | None, float | None]
"""What is added to the limits of requests, tokens and money."""
N = TypeVar("N", int, float)


def _raised(limit: N | None, more: N | None, spent: N) -> N | None:
    return limit if more is None else max(limit or 0, spent) + more


def format_options(lacking: Mapping[str, float]) -> str:
    """Options that add what is lacking, rounded up to two digits, as they are typed."""

    def rounded(amount: float) -> float:
        unit = 10.0 ** (math.floor(math.log10(amount)) - 1)
        return math.ceil(amount / unit - 1e-9) * unit

    return " ".join(f"{name} {rounded(amount):.12g}" for name, amount in lacking.items())


def prices_of(price_in: float | None, price_out: float | None, option: str) -> Prices | None:
    """Both prices of a model, or none.

    Args:
        price_in: Price of a million tokens of prompt.
        price_out: Price of a million tokens of reply.
        option: Common start of the two options, as `--price`.

    Raises:
        SettingError: One is given without the other.
    """
    if (price_in is None) != (price_out is None):
        raise SettingError(f"give both {option}-in and {option}-out, or neither")
    return None if price_in is None or price_out is None else Prices(input=price_in, output=price_out)

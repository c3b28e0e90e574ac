"""Passwords: which can be used, and how they are stored."""

import secrets
import threading
import unicodedata
from functools import cache
from typing import Final, NamedTuple

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from reeltalk.review.refusals import BadValueError

SHORTEST_PASSWORD: Final = 10
LONGEST_PASSWORD: Final = 200


class HashCost(NamedTuple):
    """What it costs to hash a password, and to guess one: argon2id, as RFC 9106 has it for small memories."""

    rounds: int = 3
    memory_kib: int = 64 * 1024
    lanes: int = 4


STRONG: Final = HashCost()
_VERIFIER: Final = PasswordHasher()
# By default each takes 64 MiB: a flood of them must not take the machine's memory.
_AT_A_TIME: Final = threading.BoundedSemaphore(4)


def hash_password(password: str, cost: HashCost = STRONG) -> str:
    """How a password is stored: argon2id, with its parameters and a salt."""
    hasher = PasswordHasher(time_cost=cost.rounds, memory_cost=cost.memory_kib, parallelism=cost.lanes)
    with _AT_A_TIME:
        return hasher.hash(_composed(password))


@cache
def nobody() -> str:
    """Verified where nobody has the name, so that the time of an answer does not tell who is on the team."""
    return hash_password(secrets.token_hex(16))


def is_password(stored: str, password: str) -> bool:
    """True where a password is the one that was stored. Costs what hashing it cost."""
    try:
        with _AT_A_TIME:
            return _VERIFIER.verify(stored, _composed(password[: LONGEST_PASSWORD + 1]))
    except (VerificationError, InvalidHashError):
        return False


def check_password(password: str, name: str) -> None:
    """Refuse passwords that are too short, too long, or the name itself.

    Raises:
        BadValueError: It cannot be used.
    """
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise BadValueError(
            f"a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters; this one has {len(password)}",
            field="password",
        )
    if password.strip().casefold() == name.strip().casefold() or len(set(password)) < 4:
        raise BadValueError("this password is too easy to guess; choose another", field="password")


def _composed(password: str) -> str:
    # One keyboard sends é as one character, another as two.
    return unicodedata.normalize("NFC", password)

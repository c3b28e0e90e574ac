"""Passwords, the project's secret, and how tokens are stored.

Tokens that a browser or script holds are random and never stored. The database has their hash, keyed with the project's
secret, so a copied database gives nobody access.
"""

import contextlib
import hashlib
import hmac
import os
import secrets
import threading
import unicodedata
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from reeltalk.errors import BenchmarkError
from reeltalk.store.atomic import PARTIAL_PREFIX, make_directory, storage_errors, sync_directory
from reeltalk_review.errors import InvalidValue

SHORTEST_PASSWORD: Final = 10
LONGEST_PASSWORD: Final = 200


class HashCost(NamedTuple):
    """Cost of hashing a password, and of guessing one: argon2id with the parameters of RFC 9106 for small memories."""

    rounds: int = 3
    memory_kib: int = 64 * 1024
    lanes: int = 4


STRONG: Final = HashCost()
_VERIFIER: Final = PasswordHasher()
# Each hash takes 64 MiB by default. A flood of sign-ins must not use up the machine's memory.
_AT_A_TIME: Final = threading.BoundedSemaphore(4)


def hash_password(password: str, cost: HashCost = STRONG) -> str:
    """The stored form of a password: argon2id with its parameters and a salt."""
    hasher = PasswordHasher(time_cost=cost.rounds, memory_cost=cost.memory_kib, parallelism=cost.lanes)
    with _AT_A_TIME:
        return hasher.hash(_composed(password))


@cache
def decoy_hash() -> str:
    """Verified when nobody has the name, so that the time of an answer does not reveal who is on the team."""
    return hash_password(secrets.token_hex(16))


def is_password(stored: str, password: str) -> bool:
    """True if a password matches the stored hash. Costs as much as hashing."""
    try:
        with _AT_A_TIME:
            return _VERIFIER.verify(stored, _composed(password[: LONGEST_PASSWORD + 1]))
    except (VerificationError, InvalidHashError):
        return False


_KEYBOARD: Final = ("1234567890-=", "qwertyuiop[]", "asdfghjkl;'", "zxcvbnm,./")
_SHORTEST_WALK: Final = 4
"""A password is a walk if its keys lie side by side in stretches of so many characters on average."""


def check_password(password: str, name: str) -> None:
    """Reject passwords that are too short, too long, the name, among the commonest, or a walk over the keyboard."""
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise InvalidValue(
            f"a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters; this one has {len(password)}",
            field="password",
        )
    plain = _composed(password).strip().casefold()
    if plain == name.strip().casefold() or len(set(password)) < 4 or plain in _common_passwords() or _is_walk(plain):
        raise InvalidValue(
            "this password is too easy to guess; choose one that is no common password and no row of keys",
            field="password",
        )


@cache
def _common_passwords() -> frozenset[str]:
    text = (files("reeltalk_review") / "common_passwords.txt").read_text(encoding="utf-8")
    return frozenset(line.casefold() for line in text.splitlines() if not line.startswith("#"))


@cache
def _neighbours() -> frozenset[str]:
    """Pairs of characters whose keys touch, that are the same, or that follow each other in the alphabet."""
    places = {key: (row, column) for row, keys in enumerate(_KEYBOARD) for column, key in enumerate(keys)}
    steps = {(0, 1), (0, -1), (1, 0), (-1, 0), (1, -1), (-1, 1)}
    found = {a + b for a, (r, c) in places.items() for b, (s, d) in places.items() if (s - r, d - c) in steps}
    return frozenset(found | {chr(code) + chr(code + step) for code in range(97, 122) for step in (1, -1)})


def _is_walk(password: str) -> bool:
    jumps = sum(a != b and a + b not in _neighbours() for a, b in pairwise(password))
    return (jumps + 1) * _SHORTEST_WALK <= len(password)


def _composed(password: str) -> str:
    # Some keyboards send é as one character, others as two.
    return unicodedata.normalize("NFC", password)


SECRET: Final = "secret"
"""Name of the file that holds the project's secret."""


HISTORY_KEY: Final = "history.key"
"""Name of the file with the key that signs events: another file, since `secret` is deleted to end all sessions."""


def read_secret(folder: Path, name: str = SECRET) -> bytes:
    """A secret of a project: 32 random bytes that only the owner of the process can read. The first start makes it.

    Raises:
        BenchmarkError: It can neither be read nor written.
    """
    path = folder / name
    with storage_errors(path):
        make_directory(folder)
        # Written aside and linked into place: nobody reads half a secret, and the first of two processes decides.
        partial = folder / f"{PARTIAL_PREFIX}{secrets.token_hex(6)}"
        if not path.exists():
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(secrets.token_bytes(32))
                stream.flush()
                os.fsync(stream.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(partial, path)
            partial.unlink()
            sync_directory(folder)
        found = path.read_bytes()
    if len(found) != 32:
        raise BenchmarkError(f"{path} holds {len(found)} bytes, not 32; remove it, and everybody signs in again")
    return found


def keyed_hash(secret: bytes, token: str) -> str:
    """The stored form of a token."""
    return hmac.new(secret, token.encode(), hashlib.sha256).hexdigest()

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


def check_password(password: str, name: str) -> None:
    """Reject passwords that are too short, too long, or equal to the name.

    Raises:
        InvalidValue: The password cannot be used.
    """
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise InvalidValue(
            f"a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters; this one has {len(password)}",
            field="password",
        )
    if password.strip().casefold() == name.strip().casefold() or len(set(password)) < 4:
        raise InvalidValue("this password is too easy to guess; choose another", field="password")


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

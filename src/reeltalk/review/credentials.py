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
from reeltalk.review.errors import InvalidValue
from reeltalk.store.atomic import PARTIAL_PREFIX, make_directory, storage_errors, sync_directory

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
def decoy_hash() -> str:
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
        InvalidValue: It cannot be used.
    """
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise InvalidValue(
            f"a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters; this one has {len(password)}",
            field="password",
        )
    if password.strip().casefold() == name.strip().casefold() or len(set(password)) < 4:
        raise InvalidValue("this password is too easy to guess; choose another", field="password")


def _composed(password: str) -> str:
    # One keyboard sends é as one character, another as two.
    return unicodedata.normalize("NFC", password)


SECRET: Final = "secret"
"""Name of the file that holds the project's secret."""


def read_secret(folder: Path) -> bytes:
    """The secret of a project, made at first start: 32 random bytes that only the owner of the process can read.

    Raises:
        BenchmarkError: It can neither be read nor written.
    """
    path = folder / SECRET
    with storage_errors(path):
        make_directory(folder)
        # Made aside and linked into place, so that nobody ever reads half a secret, and the first to come decides.
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
    """How a token is stored."""
    return hmac.new(secret, token.encode(), hashlib.sha256).hexdigest()

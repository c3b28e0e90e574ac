"""Stores replies in one SQLite file, so that no question is paid for twice.

Only replies are stored, never errors. The address of a model is not part of the key: the same model with the same
messages and sampling is asked once. The file also keeps the dialect of each server (`llm.dialect`), so that a command
that is run again sends the same requests. `CachedModel` and `RecordingModel` wrap a model: one answers from the file,
the other records requests and replies in memory.
"""

import contextlib
import dataclasses
import hashlib
import json
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, Self, TypeVar

from reeltalk.errors import BenchmarkError
from reeltalk.llm.budget import Spent
from reeltalk.llm.dialect import Dialect
from reeltalk.llm.model import AsyncModel, Message, Model, Reply
from reeltalk.llm.retrying import Breaker
from reeltalk.schema.record import Json

FORMAT: Final = 1
"""Version of the file, stored as its `user_version`."""
BUSY_S: Final = 30.0
"""Longest wait for another process that writes."""


def reply_key(
    model: str,
    messages: Sequence[Message],
    *,
    schema: dict[str, Json] | None = None,
    sampling: Mapping[str, Json] | None = None,
    sample: int = 0,
) -> str:
    """SHA-256 of everything that a reply depends on, as canonical JSON: the one identity of a request."""
    asked = {
        "model": model,
        "messages": [
            {
                "role": message.role,
                "text": message.text,
                "images": [hashlib.sha256(image).hexdigest() for image in message.images],
                **({"captions": message.captions} if message.captions else {}),
            }
            for message in messages
        ],
        "schema": schema,
        "sampling": dict(sampling or {}),
        "sample": sample,
    }
    return hashlib.sha256(json.dumps(asked, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class ReplyStore:
    """Replies by key; safe to share among threads, and its file among processes. Not to be carried through a fork."""

    def __init__(self, path: Path, *, busy_s: float = BUSY_S) -> None:
        """Open the file, or create it.

        Args:
            path: The file; its folder is made.
            busy_s: Longest wait for another process that writes.

        Raises:
            BenchmarkError: It is damaged, of another version, locked, or cannot be written.
        """
        self.path, self._lock = path, threading.Lock()
        self._asking: dict[str, tuple[threading.Lock, int]] = {}
        """By key that is asked now: who asks holds the lock; number of threads that ask or wait."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BenchmarkError(f"cannot write {path}: {error.strerror}; choose another folder") from None
        with self._errors():
            self._connection = sqlite3.connect(path, timeout=busy_s, isolation_level=None, check_same_thread=False)
        try:
            with self._errors():
                self._prepare(busy_s)
        except BaseException:
            self._connection.close()
            raise

    @contextlib.contextmanager
    def asking(self, key: str) -> Iterator[None]:
        """Let other threads with the same request wait until this one has its reply; then look for it in the store."""
        with self._lock:
            one, threads = self._asking.get(key, (threading.Lock(), 0))
            self._asking[key] = one, threads + 1
        try:
            with one:
                yield
        finally:
            with self._lock:
                threads = self._asking[key][1] - 1
                if threads:
                    self._asking[key] = one, threads
                else:
                    del self._asking[key]

    def _prepare(self, busy_s: float) -> None:
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, FORMAT):
            raise BenchmarkError(
                f"{self.path} keeps replies in version {version}, this reeltalk reads version {FORMAT}; "
                "choose another file"
            )
        self._begin_wal(busy_s)
        # A power cut may take the last replies, never the file.
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute("CREATE TABLE IF NOT EXISTS spent (calls INTEGER, tokens INTEGER, cost REAL)")
        if version == 0:
            self._connection.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS dialects (model TEXT, address TEXT, dialect TEXT NOT NULL, "
                "PRIMARY KEY (model, address))"
            )
            self._connection.execute(f"PRAGMA user_version = {FORMAT}")

    def _begin_wal(self, busy_s: float) -> None:
        # SQLite does not wait its busy time where two processes begin the same file at once.
        deadline = time.monotonic() + busy_s
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                    raise
            time.sleep(0.01)

    def get(self, key: str) -> Reply | None:
        """The reply stored under a key, marked as `cached`.

        Raises:
            BenchmarkError: The file is damaged or locked.
        """
        with self._lock, self._errors():
            row = self._connection.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else self._read(key, row[0])

    def put(self, key: str, reply: Reply) -> Reply:
        """Keep a reply; it survives SIGKILL once this returns. A reply that is there already stays.

        Returns:
            The reply that the file holds.

        Raises:
            BenchmarkError: The file is damaged or locked, or the disk is full.
        """
        content = dataclasses.asdict(reply)
        del content["cached"], content["refused"]
        for name in ("logprobs", "cut_at"):
            if content[name] is None:
                del content[name]
        with self._lock, self._errors():
            added = self._connection.execute(
                "INSERT INTO replies VALUES (?, ?) ON CONFLICT DO NOTHING", (key, json.dumps(content))
            ).rowcount
            if added:
                return reply
            row = self._connection.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return self._read(key, row[0])

    def forget(self, texts: Iterable[str]) -> None:
        """Keep no reply with one of these texts any longer.

        Raises:
            BenchmarkError: The file is damaged or locked.
        """
        with self._lock, self._errors():
            sql = "DELETE FROM replies WHERE json_extract(reply, '$.text') = ?"
            self._connection.executemany(sql, [(text,) for text in texts])

    def dialect(self, model: str, address: str) -> Dialect | None:
        """The stored dialect of a model's server; None if there is none."""
        row = None
        # A run may be signed after its file was closed.
        with self._lock, contextlib.suppress(sqlite3.ProgrammingError):
            sql = "SELECT dialect FROM dialects WHERE model = ? AND address = ?"
            row = self._connection.execute(sql, (model, address)).fetchone()
        try:
            return None if row is None else Dialect.model_validate_json(row[0])
        except ValueError:
            return None  # what a later reeltalk learned is learned again

    def keep_dialect(self, model: str, address: str, dialect: Dialect) -> None:
        """Store the dialect of a model's server, in place of an earlier one.

        Raises:
            BenchmarkError: The file is damaged or locked, or the disk is full.
        """
        with self._lock, self._errors():
            self._connection.execute(
                "INSERT INTO dialects VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET dialect = excluded.dialect",
                (model, address, dialect.model_dump_json()),
            )

    def spent(self) -> Spent:
        """What all requests of budgets with this ledger took so far.

        Raises:
            BenchmarkError: The file is damaged or locked.
        """
        sql = "SELECT total(calls), total(tokens), total(cost) FROM spent"
        with self._lock, self._errors():
            calls, tokens, cost = self._connection.execute(sql).fetchone()
        return Spent(int(calls), int(tokens), cost)

    def add_spent(self, spent: Spent) -> None:
        """Count a request; it stays counted after SIGKILL.

        Raises:
            BenchmarkError: The file is damaged or locked, or the disk is full.
        """
        with self._lock, self._errors():
            row = (spent.calls, spent.tokens, spent.cost)
            self._connection.execute("INSERT INTO spent VALUES (?, ?, ?)", row)

    def __len__(self) -> int:
        with self._lock, self._errors():
            return int(self._connection.execute("SELECT count(*) FROM replies").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, key: str, value: Any) -> Reply:
        try:
            found = json.loads(value)
            return Reply(
                text=_a(str, found["text"]),
                model=_a(str, found["model"]),
                prompt_tokens=_count(found["prompt_tokens"]),
                completion_tokens=_count(found["completion_tokens"]),
                cut_off=_a(bool, found["cut_off"]),
                cached=True,
                took_s=found.get("took_s"),
                first_token_s=found.get("first_token_s"),
                logprobs=None if found.get("logprobs") is None else tuple(found["logprobs"]),
                host=found.get("host"),
                dialect=found.get("dialect"),
                cut_at=_count(found.get("cut_at")),
            )
        except (KeyError, TypeError, ValueError):
            raise BenchmarkError(
                f"{self.path} holds something else than a reply under {key}; move the file away and run again: "
                "the model is asked again"
            ) from None

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                advice = "another run writes to it; wait for its end, or choose another file"
            elif name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "no such column" in str(error):
                advice = "the file is damaged; move it away and run again: the model is asked again"
            elif name.startswith(("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE")):
                advice = "free some space and run again; the replies before this one are kept"
            else:
                advice = "check that the folder is on a local disk and can be written, or choose another file"
            raise BenchmarkError(f"cannot keep replies in {self.path}: {error}; {advice}") from None


def _a(kind: type[Any], value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError
    return value


def _count(value: Any) -> int | None:
    return None if value is None else _a(int, value)


M = TypeVar("M", Model, AsyncModel)


class _Wrapper(Generic[M]):
    """A model around another one, with the same name, sight and sampling."""

    def __init__(self, model: M) -> None:
        self.model: M = model

    @property
    def name(self) -> str:
        """Name of the wrapped model."""
        return self.model.name

    @property
    def sees_images(self) -> bool:
        """True if the wrapped model takes pictures."""
        return self.model.sees_images

    @property
    def sampling(self) -> Mapping[str, Json]:
        """The sampling of the wrapped model."""
        return self.model.sampling


class CachedModel(_Wrapper[Model]):
    """A model whose replies are stored: a question that was asked before is answered from the store.

    Args:
        model: Asked if the store has no reply.
        store: Stores replies at once. It stays open when this model is closed.
        sample: Number of the sample, if the same question is asked several times for several replies.
    """

    def __init__(self, model: Model, store: ReplyStore, *, sample: int = 0) -> None:
        super().__init__(model)
        self.store, self.sample = store, sample

    @property
    def requested_sampling(self) -> Mapping[str, Json]:
        """Sampling as the user set it. A server's dialect does not change it, so kept replies stay valid."""
        asked: Mapping[str, Json] = getattr(self.model, "requested_sampling", self.model.sampling)
        return asked

    def key(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> str:
        """The identity of a request to this model."""
        return reply_key(self.name, messages, schema=schema, sampling=self.requested_sampling, sample=self.sample)

    def keeps(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> bool:
        """True if the reply to a request is in the store.

        Raises:
            BenchmarkError: The store is damaged or locked.
        """
        return self.store.get(self.key(messages, schema=schema)) is not None

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> Reply:
        """The kept reply, or a new one.

        Raises:
            ModelError: There is no reply.
            BudgetError: A limit would be passed.
            BenchmarkError: The store is damaged or locked.
        """
        key = self.key(messages, schema=schema)
        kept = self.store.get(key)
        if kept is None:
            with self.store.asking(key):
                kept = self.store.get(key)
                if kept is None:
                    reply = self.model.ask(messages, schema=schema)
                    return reply if reply.refused else self.store.put(key, reply)
        breaker: Breaker | None = getattr(self.model, "breaker", None)
        if breaker is not None:
            breaker.record_reused()
        return kept

    def close(self) -> None:
        """Close the model."""
        self.model.close()


@dataclass
class RecordedRequest:
    """A request and its reply."""

    messages: tuple[Message, ...]
    schema: dict[str, Json] | None
    sample: int
    reply: str | None = None
    """None if there was none."""


class RecordingModel(_Wrapper[AsyncModel]):
    """A model that records its requests and replies in the order of asking."""

    def __init__(self, model: AsyncModel) -> None:
        super().__init__(model)
        self.requests = list[RecordedRequest]()

    @property
    def replies(self) -> tuple[str, ...]:
        """The replies so far, in a form that can be written to a file."""
        # A lone surrogate cannot.
        return tuple(
            request.reply.encode("utf-8", "replace").decode() for request in self.requests if request.reply is not None
        )

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        """The model's reply.

        Raises:
            ModelError: There is no reply.
            BudgetError: A limit would be passed.
        """
        request = RecordedRequest(tuple(messages), schema, sample)
        self.requests.append(request)
        reply = await self.model.ask(messages, schema=schema, sample=sample)
        request.reply = reply.text
        return reply


class FreshSamples(_Wrapper[AsyncModel]):
    """A judge of one unit. If it is sampled, an equal request for another unit, or a second one, has its own reply.

    Args:
        model: The judge. With temperature 0 it is asked as it is.
        of: What is judged. The same request for the same thing has the same reply when a command is run again.
    """

    def __init__(self, model: AsyncModel, of: Sequence[Json]) -> None:
        super().__init__(model)
        self._of = list(of)
        sampling = getattr(model, "requested_sampling", model.sampling)
        self._sampled = sampling.get("temperature") != 0
        self._counts = Counter[str]()

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        """The model's reply.

        Raises:
            ModelError: There is no reply.
            BudgetError: A limit would be passed.
        """
        if self._sampled:
            key = reply_key(self.name, messages, schema=schema, sample=sample)
            self._counts[key] += 1
            told = json.dumps([*self._of, sample, self._counts[key]])
            sample = int(hashlib.sha256(told.encode()).hexdigest()[:8], 16)
        return await self.model.ask(messages, schema=schema, sample=sample)

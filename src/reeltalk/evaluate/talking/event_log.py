"""The log of what happened in a conversation, written line by line as it happens."""

from pathlib import Path
from types import TracebackType
from typing import IO, Self

from reeltalk.errors import BenchmarkError
from reeltalk.schema.stream import StreamEvent
from reeltalk.store.atomic import storage_errors, write_bytes


class EventLog:
    """Keeps events, and writes each to a file at once: what happened before a crash is there.

    Args:
        path: The file, which must not exist; none keeps them in memory only.
        overwrite: Replace a file that is there.

    Raises:
        BenchmarkError: The file exists; or, on entering, cannot be written.
    """

    def __init__(self, path: Path | None = None, *, overwrite: bool = False) -> None:
        self._lines: list[bytes] = []
        self._path = path
        self._stream: IO[bytes] | None = None
        if path is not None:
            if path.exists() and not overwrite:
                raise BenchmarkError(f"{path} exists; choose another file or pass --overwrite")

    def __enter__(self) -> Self:
        # Not before: what is to be overwritten stays where the conversation does not begin.
        if self._path is not None:
            with storage_errors(self._path):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._stream = self._path.open("wb")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is not None:
            self._stream.close()

    def add(self, event: StreamEvent) -> None:
        """Keep an event.

        Raises:
            BenchmarkError: The file cannot be written.
        """
        line = event.to_json().encode() + b"\n"
        self._lines.append(line)
        if self._stream is not None and self._path is not None:
            with storage_errors(self._path):
                self._stream.write(line)
                self._stream.flush()

    def save(self, path: Path) -> int:
        """Write all events so far to a file, whole or not at all.

        Returns:
            How many.

        Raises:
            BenchmarkError: The file exists or cannot be written.
        """
        if path.exists():
            raise BenchmarkError(f"{path} exists; choose another file")
        write_bytes(path, b"".join(self._lines))
        return len(self._lines)

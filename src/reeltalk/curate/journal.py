"""What has been done so far, a file for each piece of work, so that a run that stops goes on where it was."""

import hashlib
import json
from pathlib import Path
from typing import Any, Final

from reeltalk import __version__
from reeltalk.schema.record import Json
from reeltalk.store.atomic import write_bytes
from reeltalk.store.benchmark import WORK


class Journal:
    """Results by what they were made from. Lies in a benchmark's work folder and may be deleted at any time.

    Args:
        benchmark: Folder of the benchmark.
        stage: Name of the stage.
    """

    def __init__(self, benchmark: Path, stage: str) -> None:
        self.folder: Final = benchmark / WORK / stage

    def key(self, kind: str, *parts: Json) -> str:
        """A name for a piece of work: equal inputs, settings and version have the same."""
        canonical = json.dumps([kind, __version__, *parts], sort_keys=True, ensure_ascii=False)
        return f"{kind}-{hashlib.sha256(canonical.encode()).hexdigest()[:32]}"

    def read(self, key: str) -> Any | None:
        """The result, or None where there is none or it is damaged."""
        try:
            return json.loads((self.folder / f"{key}.json").read_bytes())
        except (OSError, ValueError):
            return None

    def write(self, key: str, result: Json) -> None:
        """Keep a result, whole or not at all.

        Raises:
            BenchmarkError: It cannot be written.
        """
        write_bytes(self.folder / f"{key}.json", json.dumps(result, ensure_ascii=False).encode())

"""What a training run leaves to be read: a line for each step, and what it was made of."""

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from reeltalk import __version__
from reeltalk.errors import InputError
from reeltalk.store.atomic import storage_errors, write_bytes

LOSSES: Final = "loss.jsonl"
RUN: Final = "run.json"
PACKAGES: Final = ("torch", "transformers", "peft", "accelerate", "safetensors")


class LossLog:
    """A line of JSON for each step, appended as it ends.

    Args:
        file: It is created, or cut to what the checkpoint knows.
        keep: Steps that the checkpoint has seen.
        write: False in all processes but one.

    Raises:
        InputError: Steps that the checkpoint has seen are not in it.
    """

    def __init__(self, file: Path, *, keep: int, write: bool = True) -> None:
        self._file, self._write = file, write
        self.losses: list[float] = []
        kept: list[str] = []
        if keep and file.is_file():
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines()[:keep], 1):
                try:
                    self.losses.append(float(json.loads(line)["loss"]))
                except (ValueError, KeyError, TypeError) as error:
                    raise InputError(
                        "is no line of losses", file=file, line=number, hint="pass --overwrite to begin anew"
                    ) from error
                kept.append(line + "\n")
        if len(kept) < keep:
            raise InputError(
                f"holds {len(kept):,} of the {keep:,} steps that the checkpoint knows",
                file=file,
                hint="put the whole file back, or pass --overwrite to begin anew",
            )
        if write:
            write_bytes(file, "".join(kept).encode())

    def add(self, row: dict[str, Any]) -> None:
        """Append what a step came to."""
        self.losses.append(float(row["loss"]))
        if self._write:
            with storage_errors(self._file), self._file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
                stream.flush()
                # A checkpoint lasts through a power cut, and so do the lines of its steps.
                os.fsync(stream.fileno())


def write_run(out: Path, row: dict[str, Any]) -> None:
    """Write `run.json`: what is given, and the versions of what computed it."""
    versions = {name: version(name) for name in PACKAGES} | {"python": platform.python_version()}
    whole = {"layout": "reeltalk-lora-run-1", "reeltalk": __version__, "versions": versions, **row}
    write_bytes(out / RUN, (json.dumps(whole, indent=2, ensure_ascii=False) + "\n").encode())

"""Logs in the format of inspect_ai, which `inspect view` opens: an archive of JSON files, one for each sample.

The format is version 2 of inspect_ai's `EvalLog`. It is written here and not by inspect_ai, whose own work for each
request takes longer than the request's: https://inspect.aisi.org.uk/eval-logs.html describes it, and its classes
`EvalLog`, `EvalSample` and `Event` name all fields. A message that several requests of a sample have in common is
written once.
"""

import asyncio
import contextlib
import json
import math
import secrets
import shutil
import tempfile
import time
import traceback
import uuid
import weakref
import zipfile
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from reeltalk._version import __version__
from reeltalk.llm.model import Message
from reeltalk.llm.served import Exchange, ServedModel
from reeltalk.schema.record import Json
from reeltalk.store.atomic import PARTIAL_PREFIX, make_directory, storage_errors

SOURCE: Final = "reeltalk"
VERSION: Final = 2
"""Of the format."""
NO_MODEL: Final = "none/none"
"""Name of no model in the format."""
SHOWN_AGAIN_S: Final = 60.0
"""Least time between two moments at which the samples so far appear in the log."""
SHOWN_AGAIN_SHARE: Final = 0.05
"""Largest part of the time that is spent on that."""
COMPRESSION: Final = 1
"""Level of zlib; higher ones make a log of text a tenth smaller in twice the time."""
MOST_WAITING: Final = 64
"""Most samples that wait to be written. Kept replies come faster than a log is written."""
SUMMARY_CHARACTERS: Final = 1024
"""Longest text in the list of samples, as in inspect_ai's own; the whole list is in memory."""

Status = Literal["success", "error", "cancelled"]


@dataclass(frozen=True)
class LoggedSample:
    """A sample as the log shows it before it runs."""

    id: str
    input: str
    metadata: Mapping[str, Json]


@dataclass(frozen=True)
class LoggedScore:
    """The scores of a sample as the log shows them."""

    values: Mapping[str, float | None]
    """A number for each measure; the keys are the same for every sample."""
    explanation: str = ""


class SampleRecord:
    """What happens in one sample."""

    def __init__(self, sample: LoggedSample) -> None:
        self._sample, self._uuid, self._began_s = sample, uuid.uuid4().hex, time.time()
        self._events: list[dict[str, Json]] = []
        self._spans: list[str] = []
        self._said: list[dict[str, Json]] = []
        self._pool: dict[tuple[str, str, int, str], int] = {}
        self._usage: dict[str, Counter[str]] = {}
        self._scores: dict[str, Json] = {}
        self._error: dict[str, Json] | None = None

    @contextlib.contextmanager
    def span(self, name: str, kind: str | None = None) -> Iterator[None]:
        """Group the events of the block under a name."""
        span = f"{self._uuid}-s{len(self._events)}"
        parent = {"parent_id": self._spans[-1]} if self._spans else {}
        self._spans.append(span)
        self._event("span_begin", {"id": span, "type": kind or name, "name": name} | parent)
        try:
            yield
        finally:
            self._event("span_end", {"id": span})
            self._spans.pop()

    def note(self, content: Mapping[str, Json]) -> None:
        """Add a note."""
        self._event("info", {"source": SOURCE, "data": dict(content)})

    def message(self, role: str, text: str) -> None:
        """Add a message to the conversation of the sample."""
        self._said.append({"id": f"{self._uuid}-m{len(self._said)}", "role": role, "content": text})

    def exchange(self, exchange: Exchange) -> None:
        """Add a request and its reply."""
        model, reply = _name(exchange.model), exchange.reply
        output: dict[str, Json] = {"model": model, "choices": [], "completion": ""}
        more: dict[str, Json] = {} if exchange.error is None else {"error": exchange.error}
        if reply is not None:
            message = {"role": "assistant", "content": reply.text, "source": "generate", "model": reply.model}
            stop = "max_tokens" if reply.cut_off else "stop"
            choices = [{"message": message, "stop_reason": stop}]
            output = {"model": reply.model, "choices": choices, "completion": reply.text}
            if reply.cached:
                more["cache"] = "read"
            elif reply.prompt_tokens is not None and reply.completion_tokens is not None:
                usage = _usage(reply.prompt_tokens, reply.completion_tokens)
                output["usage"] = usage
                self._usage.setdefault(model, Counter()).update(usage)
            if reply.took_s is not None:
                output["time"] = more["working_time"] = reply.took_s
        asked = {"model": model, "input": [], "input_refs": self._references(exchange.messages)}
        rest = {"tools": [], "tool_choice": "none", "config": {}, "output": output, "completed": _moment(time.time())}
        self._event("model", asked | rest | more, at_s=exchange.began_s)

    def score(self, score: LoggedScore) -> None:
        """Add the scores of the sample."""
        # None would be averaged as 0.
        values = {key: math.nan if value is None else value for key, value in score.values.items()}
        self._scores = {"value": values, "explanation": score.explanation, "history": []}
        self._event("score", {"score": self._scores, "target": "", "intermediate": False, "scorer": SOURCE})

    def fail(self, error: Exception) -> None:
        """Add the error that ended the sample."""
        self._error = _error(error)

    def whole(self) -> tuple[dict[str, Json], dict[str, Json]]:
        """The sample as the log holds it, and its line in the list of samples."""
        ended_s = time.time()
        scores = {SOURCE: self._scores} if self._scores else {}
        common: dict[str, Json] = {
            "id": self._sample.id,
            "epoch": 1,
            "input": self._sample.input,
            "target": "",
            "metadata": dict(self._sample.metadata),
            "scores": scores,
            "model_usage": {model: dict(usage) for model, usage in self._usage.items()},
            "role_usage": {},
            "started_at": _moment(self._began_s),
            "completed_at": _moment(ended_s),
            "total_time": round(ended_s - self._began_s, 3),
            "working_time": round(ended_s - self._began_s, 3),
            "uuid": self._uuid,
        }
        pooled = [_message(*key) for key in self._pool]
        own: dict[str, Json] = {
            "messages": self._said,
            "output": {"model": "", "choices": [], "completion": ""},
            "store": {},
            "events": self._events,
            "events_data": {"messages": pooled, "calls": []},
            "attachments": {},
            "error_retries": [],
            "error": self._error,
        }
        summary = common | {
            "input": self._sample.input[:SUMMARY_CHARACTERS],
            "scores": {name: score | {"explanation": _beginning(score)} for name, score in scores.items()},
            "retries": 0,
            "completed": True,
            "message_count": len(self._said),
        }
        return common | own, summary | ({"error": self._error["message"]} if self._error else {})

    @property
    def usage(self) -> Mapping[str, Mapping[str, int]]:
        """Tokens by model."""
        return self._usage

    def _references(self, messages: Sequence[Message]) -> list[list[int]]:
        """The places of messages among all messages of the sample, as ranges without their ends."""
        ranges: list[list[int]] = []
        for message in messages:
            key = (message.role, message.text, len(message.images), " ".join(message.captions))
            place = self._pool.setdefault(key, len(self._pool))
            if ranges and ranges[-1][1] == place:
                ranges[-1][1] += 1
            else:
                ranges.append([place, place + 1])
        return ranges

    def _event(self, kind: str, content: Mapping[str, Json], *, at_s: float | None = None) -> None:
        at_s = time.time() if at_s is None else at_s
        event: dict[str, Json] = {
            "uuid": f"{self._uuid}-{len(self._events)}",
            "timestamp": _moment(at_s),
            "working_start": at_s - self._began_s,
            "event": kind,
        }
        if self._spans:
            event["span_id"] = self._spans[-1]
        self._events.append(event | dict(content))


def _beginning(score: Mapping[str, Json]) -> str:
    return str(score["explanation"])[:SUMMARY_CHARACTERS]


def _message(role: str, text: str, pictures: int, times: str) -> dict[str, Json]:
    frames = f"[{pictures} frames{f': {times}' if times else ''}]\n" if pictures else ""
    return {"role": role, "content": f"{frames}{text}"}


def _usage(prompt: int, completion: int) -> dict[str, int]:
    return {"input_tokens": prompt, "output_tokens": completion, "total_tokens": prompt + completion}


def _name(model: str) -> str:
    return f"{SOURCE}/{model}"


def _moment(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat()


def _error(error: Exception) -> dict[str, Json]:
    told = "".join(traceback.format_exception(error))
    return {"message": str(error), "traceback": told, "traceback_ansi": told}


class EvalLog:
    """The log of one run. All is written by a thread of its own, in the order in which it is added.

    The samples so far appear in the log every now and then, and all of them when it is closed.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        samples: Sequence[LoggedSample],
        *,
        models: Mapping[str, ServedModel],
        scored: bool,
        at_a_time: int,
        metadata: Mapping[str, Json],
    ) -> None:
        """Begin the log.

        Args:
            folder: Folder of the log.
            name: Name of the task.
            samples: The samples that will be added, in any order.
            models: Models by role; the log is filed under `player`.
            scored: True if the samples get scores.
            at_a_time: Samples that run together.
            metadata: Metadata of the run.

        Raises:
            BenchmarkError: The folder cannot be written.
        """
        self._began, run = _moment(time.time()), uuid.uuid4().hex
        self.path = folder / f"{self._began[:19].replace(':', '-')}-00-00_{name}_{run}.eval"
        self._samples, self._partial = len(samples), folder / f"{PARTIAL_PREFIX}{secrets.token_hex(6)}"
        self._usage: dict[str, Counter[str]] = {}
        self._summaries = _Lines()
        self._journaled = self._journals = 0
        self._shown_s, self._waits_s = time.monotonic(), SHOWN_AGAIN_S
        player = models.get("player")
        spec: dict[str, Json] = {
            "eval_id": uuid.uuid4().hex,
            "run_id": run,
            "created": self._began,
            "task": name,
            "task_id": run,
            "task_version": 0,
            "dataset": {
                "samples": len(samples),
                "sample_ids": [sample.id for sample in samples],
                "shuffled": False,
            },
            "model": NO_MODEL if player is None else _name(player.name),
            "config": {"epochs": 1, "max_samples": at_a_time, "log_images": False},
            "packages": {SOURCE: __version__},
            "metadata": dict(metadata),
            "model_roles": {
                role: {"model": _name(model.name), "config": _config(model), "base_url": model.address, "args": {}}
                for role, model in models.items()
                if role != "player"
            },
        }
        if player is not None:
            spec |= {"model_generate_config": _config(player), "model_base_url": player.address}
        if scored:
            spec["scorers"] = [{"name": SOURCE, "options": {}, "metrics": [], "metadata": {}}]
        self._start = {"version": VERSION, "eval": spec, "plan": {"name": "plan", "steps": [{"solver": SOURCE}]}}
        self._thread = ThreadPoolExecutor(1, "log")
        self._due = deque[Future[None]]()
        with storage_errors(self.path):
            make_directory(folder)
            self._archive = self._opened("w")
            try:
                self._write("_journal/start.json", self._start)
            except BaseException:
                self._discard()
                raise

    async def add(self, record: SampleRecord) -> None:
        """Add a sample that has ended. Waits while many others are not written yet.

        Raises:
            BenchmarkError: A sample before it could not be written, as on a full disk.
        """
        with storage_errors(self.path):
            while self._due and self._due[0].done():
                self._due.popleft().result()
        self._due.append(self._thread.submit(self._add, record))
        if len(self._due) > MOST_WAITING:
            await asyncio.wait([asyncio.wrap_future(self._due[-MOST_WAITING])])

    def close(self, status: Status, error: Exception | None = None) -> None:
        """Write the end. The log appears whole.

        Raises:
            BenchmarkError: It cannot be written.
        """
        self._thread.shutdown()
        try:
            with storage_errors(self.path):
                for written in self._due:
                    written.result()
                self._end(status, error)
        finally:
            self._discard()

    def _discard(self) -> None:
        with contextlib.suppress(OSError):
            self._archive.close()
        self._partial.unlink(missing_ok=True)

    def _end(self, status: Status, error: Exception | None) -> None:
        ended = len(self._summaries)
        stats = {"started_at": self._began, "completed_at": _moment(time.time()), "role_usage": {}}
        header = self._start | {
            "status": status,
            "results": {"total_samples": self._samples, "completed_samples": ended, "scores": []},
            "stats": stats | {"model_usage": {model: dict(usage) for model, usage in self._usage.items()}},
            "error": None if error is None else _error(error),
        }
        self._write_list("summaries.json", 0)
        self._write("header.json", header)
        self._archive.close()
        self._partial.replace(self.path)

    def _add(self, record: SampleRecord) -> None:
        sample, summary = record.whole()
        self._write(f"samples/{_writable(str(sample['id']))}_epoch_1.json", sample)
        self._summaries.append(_told(summary))
        for model, usage in record.usage.items():
            self._usage.setdefault(model, Counter()).update(usage)
        if time.monotonic() - self._shown_s >= self._waits_s:
            self._show()

    def _show(self) -> None:
        """Let the samples so far appear. Readers find an archive's files by a list at its end, so a copy is shown."""
        began_s = time.monotonic()
        self._journals += 1
        self._write_list(f"_journal/summaries/{self._journals}.json", self._journaled)
        self._journaled = len(self._summaries)
        self._archive.close()
        copy = self._partial.with_name(f"{self._partial.name}-shown")
        # A disk that has no room for a second log may have enough for the run.
        with contextlib.suppress(OSError):
            try:
                shutil.copyfile(self._partial, copy)
                copy.replace(self.path)
            finally:
                copy.unlink(missing_ok=True)
        self._archive = self._opened("a")
        self._shown_s = time.monotonic()
        self._waits_s = max(SHOWN_AGAIN_S, (self._shown_s - began_s) / SHOWN_AGAIN_SHARE)

    def _opened(self, mode: Literal["w", "a"]) -> zipfile.ZipFile:
        return zipfile.ZipFile(self._partial, mode, zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION)

    def _write(self, name: str, content: object) -> None:
        self._archive.writestr(name, _told(content))

    def _write_list(self, name: str, first: int) -> None:
        """Write the list of samples from a number on."""
        with self._archive.open(name, "w", force_zip64=True) as entry:
            entry.write(b"[")
            for number, line in enumerate(self._summaries.after(first)):
                entry.write(b"," + line if number else line)
            entry.write(b"]")


def _told(content: object) -> bytes:
    return _writable(json.dumps(content, ensure_ascii=False, separators=(",", ":"))).encode()


def _writable(text: str) -> str:
    # Text of a model may hold half a surrogate, which UTF-8 has no bytes for.
    return text.encode("utf-8", "replace").decode()


class _Lines:
    """Lines in a temporary file, which take no memory."""

    def __init__(self) -> None:
        self._file, self._count = tempfile.TemporaryFile(), 0
        weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        return self._count

    def append(self, line: bytes) -> None:
        self._file.seek(0, 2)
        self._file.write(line + b"\n")
        self._count += 1

    def after(self, first: int) -> Iterator[bytes]:
        """The lines from a number on."""
        self._file.seek(0)
        return (line.removesuffix(b"\n") for line in islice(self._file, first, None))


def _config(model: ServedModel) -> dict[str, Json]:
    """The sampling of a model by the names of the format."""
    known = ("temperature", "max_tokens", "seed", "reasoning_effort")
    return {name: value for name, value in model.asked_sampling.items() if name in known}

"""METEOR 1.5 (Denkowski & Lavie 2014, W14-3348) with the user's own Java and `meteor-1.5.jar`.

Neither is part of reeltalk or of its dependencies. The jar comes with the package pycocoevalcap, which has its own
licences. One Java process serves any number of files, and requests are written while replies are read.
"""

import hashlib
import importlib.util
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final, Self

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import MissingToolError, ReeltalkError, shorten
from reeltalk.metrics.info import MetricInfo

Floats = NDArray[np.float64]

METEOR: Final = MetricInfo(
    "meteor",
    "METEOR",
    mean_of="file",
    answer_rank=40,
    what="METEOR 1.5 by its own jar: aggregate of the file, not the mean of items",
    source="Denkowski & Lavie 2014, W14-3348",
)
FIELDS: Final = 23
"""Numbers in a reply to SCORE: lengths, function words, matches by module, chunks, matched words."""
ALPHA, BETA, GAMMA, DELTA = 0.85, 0.20, 0.60, 0.75
MODULE_WEIGHTS: Final = (1.0, 0.6, 0.8, 0.6)
"""Exact, stem, synonym, paraphrase: the English ranking parameters of the paper."""
AGREEMENT: Final = 1e-9

SEPARATOR: Final = "|||"
REPLY_TIMEOUT_S: Final = 300.0
REQUEST_TIMEOUT_S: Final = 0.1
"""A file may take `REPLY_TIMEOUT_S`, including the start of Java, and this much more for each of its items."""


class MeteorError(ReeltalkError):
    """The Java process died, hung, or sent an unexpected reply."""


def find_jar() -> Path | None:
    """The jar of an installed pycocoevalcap, without importing that package."""
    found = importlib.util.find_spec("pycocoevalcap")
    for folder in (found.submodule_search_locations or []) if found else []:
        jar = Path(folder) / "meteor" / "meteor-1.5.jar"
        if jar.is_file():
            return jar
    return None


class MeteorProcess:
    """A running METEOR. Use as a context manager.

    Args:
        jar: Path of `meteor-1.5.jar`; None looks for an installed pycocoevalcap.
        java: Name or path of the Java program.

    Raises:
        MissingToolError: Java or the jar was not found; says how to get it.
    """

    def __init__(self, *, jar: Path | None = None, java: str = "java") -> None:
        program = shutil.which(java)
        found = jar if jar is not None else find_jar()
        if program is None:
            raise MissingToolError(
                "METEOR 1.5 needs Java, which was not found; install a Java runtime and pycocoevalcap "
                "(reeltalk brings neither), or leave meteor out of --metrics"
            )
        if found is None or not found.is_file():
            where = f"{jar} does not exist" if jar is not None else "pycocoevalcap is not installed here"
            raise MissingToolError(
                f"METEOR 1.5 needs meteor-1.5.jar: {where}; run 'pip install pycocoevalcap' or pass --meteor-jar "
                "(reeltalk does not bring it), or leave meteor out of --metrics"
            )
        self.jar = found
        self._command = [program, "-Xmx2G", "-jar", str(found.resolve()), "-", "-", "-stdio", "-l", "en", "-norm"]
        self._process: subprocess.Popen[bytes] | None = None
        self._complaints: IO[bytes] | None = None

    @property
    def signature(self) -> str:
        """`meteor:1.5|jar:` and eight digits of the jar's hash."""
        return f"meteor:1.5|jar:{hashlib.sha256(self.jar.read_bytes()).hexdigest()[:8]}"

    def __enter__(self) -> Self:
        # A file, not a pipe: a full pipe would block a Java process that writes many errors.
        complaints = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, cwd=self.jar.parent
            )
        except OSError as error:
            complaints.close()
            raise MeteorError(f"METEOR could not be started: {error}; is {self._command[0]} a Java runtime?") from error
        self._complaints = complaints
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        assert self._complaints is not None
        self._process.kill()
        self._process.communicate()
        self._complaints.close()
        self._process = self._complaints = None

    def statistics(self, answers: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[Floats, Floats]:
        """Score tokenised texts.

        Returns:
            (N, FIELDS) statistics that can be summed over items and given to `meteor_from_statistics`, and (N,) the
            score of each item as METEOR itself gives it.

        Raises:
            MeteorError: Java failed or was too slow, or its aggregate differs from the formula by more than
                `AGREEMENT`. Some thousand tokens that repeat themselves are more than METEOR's memory holds.
        """
        lines = [
            f" {SEPARATOR} ".join(["SCORE", *map(_clean, group), _clean(answer)])
            for answer, group in zip(answers, references, strict=True)
        ]
        replies = self._exchange(lines, len(lines))
        raw = np.array([self._numbers(reply) for reply in replies])
        evaluated = self._exchange([f" {SEPARATOR} ".join(["EVAL", *replies])], len(lines) + 1)
        scores = np.array([float(reply) for reply in evaluated])
        statistics = _summable(raw)
        aggregate = meteor_from_statistics(statistics.sum(axis=0, keepdims=True))[0]
        if abs(aggregate - scores[-1]) > AGREEMENT:
            raise MeteorError(
                f"METEOR's aggregate is {scores[-1]!r} but its formula gives {aggregate!r}; "
                f"{self.jar} may be another version"
            )
        return statistics, scores[:-1]

    def _exchange(self, requests: Sequence[str], replies: int) -> list[str]:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise MeteorError("METEOR is not running; use it as a context manager")
        stdin = process.stdin
        # Half a surrogate pair, which JSON can hold, has no UTF-8.
        payload = "".join(f"{request}\n" for request in requests).encode("utf-8", "replace")
        limit_s = REPLY_TIMEOUT_S + REQUEST_TIMEOUT_S * len(requests)
        too_slow = threading.Event()

        def send() -> None:
            try:
                stdin.write(payload)
                stdin.flush()
            except (BrokenPipeError, ValueError):
                pass  # the reader below sees the end of the replies and says why

        def stop() -> None:
            too_slow.set()
            process.kill()

        sender = threading.Thread(target=send, daemon=True)
        watchdog = threading.Timer(limit_s, stop)
        sender.start()
        watchdog.start()
        try:
            received: list[str] = []
            for _ in range(replies):
                line = process.stdout.readline()
                if not line:
                    why = f"it was stopped after {limit_s:.0f} s" if too_slow.is_set() else self._last_words()
                    at = f"; it was at: {shorten(requests[len(received)])}" if len(received) < len(requests) else ""
                    raise MeteorError(f"METEOR stopped after {len(received):,} of {replies:,} replies: {why}{at}")
                received.append(line.decode("utf-8", "replace").strip())
            return received
        finally:
            watchdog.cancel()
            sender.join(timeout=5)

    def _numbers(self, reply: str) -> list[float]:
        try:
            numbers = [float(part) for part in reply.split()]
        except ValueError:
            numbers = []
        if len(numbers) != FIELDS:
            raise MeteorError(f"METEOR replied {reply[:80]!r} in place of {FIELDS} numbers: {self._last_words()}")
        return numbers

    def _last_words(self) -> str:
        assert self._complaints is not None
        self._complaints.seek(0)
        lines = self._complaints.read().decode("utf-8", "replace").strip().splitlines()
        # The first line of a Java stack trace names the exception.
        telling = [line for line in lines if "Exception" in line or "Error" in line]
        return (telling or lines or ["it said nothing"])[0 if telling else -1][:200]


def _clean(text: str) -> str:
    # The protocol uses line breaks and a separator, so a text may not contain them.
    return re.sub(r"\s+", " ", text.replace(SEPARATOR, " ")).strip()


def _summable(raw: Floats) -> Floats:
    """Statistics whose sum gives the aggregate of the jar: an answer equal to its reference adds no chunk."""
    statistics = raw.copy()
    same = (raw[:, 20] == 1) & (raw[:, 21] == raw[:, 0]) & (raw[:, 22] == raw[:, 1])
    statistics[same, 20] = 0
    return statistics


def meteor_from_statistics(sums: Floats) -> Floats:
    """METEOR from statistics summed over items.

    Args:
        sums: (R, FIELDS) sums of `MeteorProcess.statistics`.

    Returns:
        (R,) in [0, 1].
    """
    matches = sums[:, 4:20].reshape(-1, 4, 4)  # (R, module, [content and function words] x [answer, reference])
    weights = np.array(MODULE_WEIGHTS)
    answer_words = DELTA * (sums[:, 0] - sums[:, 2]) + (1 - DELTA) * sums[:, 2]
    reference_words = DELTA * (sums[:, 1] - sums[:, 3]) + (1 - DELTA) * sums[:, 3]
    answer_matches = (DELTA * matches[:, :, 0] + (1 - DELTA) * matches[:, :, 2]) @ weights
    reference_matches = (DELTA * matches[:, :, 1] + (1 - DELTA) * matches[:, :, 3]) @ weights
    precision = np.divide(answer_matches, answer_words, out=np.zeros(len(sums)), where=answer_words > 0)
    recall = np.divide(reference_matches, reference_words, out=np.zeros(len(sums)), where=reference_words > 0)
    below = ALPHA * precision + (1 - ALPHA) * recall
    mean = np.divide(precision * recall, below, out=np.zeros(len(sums)), where=below > 0)
    matched_words = (sums[:, 21] + sums[:, 22]) / 2
    fragmentation = np.divide(sums[:, 20], matched_words, out=np.zeros(len(sums)), where=matched_words > 0)
    return np.asarray(mean * (1 - GAMMA * fragmentation**BETA))

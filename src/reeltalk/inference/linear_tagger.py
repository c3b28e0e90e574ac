"""A linear tagger: one logistic regression per tag on the words of a question and its answer. Needs only numpy.

Training is in `tagger_training.py` and needs scikit-learn. The weighted word and character n-grams have exactly the
values of scikit-learn's TfidfVectorizer. A tagger is one `.npz` file of numbers and JSON. Opening it runs no code.
"""

import hashlib
import io
import json
import math
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import InputError, ReeltalkError
from reeltalk.schema.labels import VOCABULARIES
from reeltalk.schema.record import Json
from reeltalk.store.atomic import write_bytes
from reeltalk.store.foreign import open_file

Floats = NDArray[np.float64]
Analyzer = Literal["word", "char_wb"]

LONGEST_TEXT_CHARS: Final = 20_000
"""Only the beginning of a longer text counts, for example if a reference answer quotes a book."""

_WORD = re.compile(r"(?u)\b\w\w+\b")
_SPACES = re.compile(r"\s\s+")


@dataclass(frozen=True)
class NGrams:
    """The n-grams of a text that count, and their weights."""

    analyzer: Analyzer
    """Runs of words, or of characters inside words."""
    shortest: int
    """Length of the shortest run in words or characters, 1 or more."""
    longest: int
    terms: tuple[str, ...]
    """The runs that count, one per column."""
    idf: Floats
    """(F,) weight of each run."""

    @cached_property
    def column(self) -> dict[str, int]:
        """Column by run."""
        return {term: column for column, term in enumerate(self.terms)}

    def weights(self, text: str) -> tuple[NDArray[np.intp], Floats]:
        """Columns with non-zero values, and the values, scaled to length 1; two empty arrays if no run is known.

        Args:
            text: The original text; case is ignored.
        """
        cut = text[:LONGEST_TEXT_CHARS].lower()
        runs = word_ngrams(cut, self) if self.analyzer == "word" else characters_of(cut, self)
        counts = Counter(column for run in runs if (column := self.column.get(run)) is not None)
        columns = np.array(sorted(counts), dtype=np.intp)
        values = np.array([1.0 + math.log(counts[column]) for column in columns]) * self.idf[columns]
        length = float(np.sqrt(values @ values))
        return columns, values / length if length else values


def word_ngrams(text: str, spec: NGrams) -> Iterator[str]:
    """Runs of words of two letters or more, in a text in lower case."""
    words = _WORD.findall(text)
    for n in range(spec.shortest, spec.longest + 1):
        for start in range(len(words) - n + 1):
            yield " ".join(words[start : start + n])


def characters_of(text: str, spec: NGrams) -> Iterator[str]:
    """Runs of characters inside words, each word with a space before and after it, of a text in lower case."""
    for word in _SPACES.sub(" ", text).split():
        padded = f" {word} "
        for n in range(spec.shortest, spec.longest + 1):
            yield padded[:n]
            if n >= len(padded):
                # A word that is shorter than the run counts once.
                break
            for start in range(1, len(padded) - n + 1):
                yield padded[start : start + n]


def matrix(specs: Sequence[tuple[NGrams, Sequence[str]]]) -> Floats:
    """(N, F) values of all n-grams of N items, side by side.

    Args:
        specs: N-grams, each with the N texts in which they are counted.
    """
    parts: list[Floats] = []
    for spec, texts in specs:
        part = np.zeros((len(texts), len(spec.terms)))
        for row, text in enumerate(texts):
            columns, values = spec.weights(text)
            part[row, columns] = values
        parts.append(part)
    return np.concatenate(parts, axis=1)


FORMAT: Final = "reeltalk.tagger"
VERSION: Final = 1
TAGGED: Final = ("cogme.target", "cogme.content", "cogme.thinking")
"""The vocabularies of the tagger, in the order of their columns."""
ONE_OF: Final = frozenset({"cogme.thinking"})
"""Vocabularies from which a question has exactly one tag. Their probabilities add up to 1."""
LARGEST_BYTES: Final = 64 << 20
"""A file that is larger, or that unpacks to more, is refused."""
AT_ONCE: Final = 2_000
"""Number of questions whose n-grams are in memory together."""
SHIPPED: Final = Path(__file__).parent / "household_tagger.npz"
"""Trained only on questions about simulated households; see `household_tagger.md` for its training and its limits."""
HINT: Final = "make one with 'reeltalk tag train'"

Field = Literal["question", "answer"]


@dataclass(frozen=True)
class FeatureBlock:
    """N-grams of one part of a turn."""

    field: Field
    ngrams: NGrams


@dataclass(frozen=True)
class LinearTagger:
    """Reads a question and its answer, and computes the probability of each tag."""

    name: str
    vocabularies: Mapping[str, tuple[str, ...]]
    """Tags by vocabulary, one column each, in order."""
    blocks: tuple[FeatureBlock, ...]
    weights: Floats
    """(F, T) weights from n-grams to tags."""
    intercepts: Floats
    """(T,) intercepts."""
    slope: float
    """With `offset`, turns scores into probabilities that are calibrated on held-out turns."""
    offset: float
    card: Mapping[str, Json]
    """Describes the training data."""

    @property
    def tags(self) -> tuple[tuple[str, str], ...]:
        """Vocabulary and tag of each column."""
        return tuple((vocabulary, tag) for vocabulary, tags in self.vocabularies.items() for tag in tags)

    @property
    def signature(self) -> str:
        """Name and hash of everything that its probabilities depend on."""
        return f"linear:{self.name}#{hashlib.sha256(self.to_bytes()).hexdigest()[:8]}"

    def scores(self, questions: Sequence[str], answers: Sequence[str]) -> Floats:
        """(N, T) log odds before calibration.

        Args:
            questions: N of them.
            answers: N of them; an empty one if there is no answer.
        """
        texts = {"question": questions, "answer": answers}
        parts = [
            matrix([(block.ngrams, texts[block.field][at : at + AT_ONCE]) for block in self.blocks]) @ self.weights
            for at in range(0, len(questions), AT_ONCE)
        ]
        return np.concatenate(parts) + self.intercepts if parts else np.zeros((0, len(self.intercepts)))

    def probabilities(self, questions: Sequence[str], answers: Sequence[str]) -> Floats:
        """(N, T) calibrated probabilities, 0 to 1.

        Args:
            questions: N of them.
            answers: N of them; an empty one if there is no answer.
        """
        return calibrated(self.scores(questions, answers), self.slope, self.offset, self.vocabularies)

    def to_bytes(self) -> bytes:
        """The file's content; equal taggers give equal bytes."""
        head = {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "vocabularies": {name: list(tags) for name, tags in self.vocabularies.items()},
            "blocks": [
                {
                    "field": block.field,
                    "analyzer": block.ngrams.analyzer,
                    "shortest": block.ngrams.shortest,
                    "longest": block.ngrams.longest,
                    "terms": list(block.ngrams.terms),
                }
                for block in self.blocks
            ],
            "slope": self.slope,
            "offset": self.offset,
            "card": dict(self.card),
        }
        text = json.dumps(head, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
        stream = io.BytesIO()
        arrays: dict[str, Any] = {
            "head": np.frombuffer(text, dtype=np.uint8),
            "idf": np.concatenate([block.ngrams.idf for block in self.blocks]),
            "weights": self.weights,
            "intercepts": self.intercepts,
        }
        np.savez_compressed(stream, **arrays)
        return stream.getvalue()

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all.

        Raises:
            BenchmarkError: It cannot be written.
        """
        write_bytes(path, self.to_bytes())

    @classmethod
    def load(cls, path: Path) -> "LinearTagger":
        """Read a tagger.

        Raises:
            InputError: The file is not a tagger, is damaged, or has another version or other vocabularies.
        """
        try:
            with open_file(path) as stream:
                content = stream.read(LARGEST_BYTES + 1)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=path, hint=HINT) from None
        try:
            arrays = _arrays(content)
            head = json.loads(arrays["head"].tobytes().decode())
            if head["format"] != FORMAT:
                raise ValueError(f"it is a {head['format']}")
            if head["version"] != VERSION:
                raise InputError(
                    f"a tagger of a version that this reeltalk does not read; it reads version {VERSION}",
                    file=path,
                    place="version",
                    value=head["version"],
                    hint=f"{HINT}, or update reeltalk",
                )
            _check_vocabularies(path, head["vocabularies"])
            return _tagger(head, arrays)
        except ReeltalkError:
            raise
        # numpy and zipfile raise many kinds of errors for a broken file.
        except Exception as error:
            raise InputError(f"no tagger, or a damaged one ({type(error).__name__})", file=path, hint=HINT) from None


def calibrated(scores: Floats, slope: float, offset: float, vocabularies: Mapping[str, Sequence[str]]) -> Floats:
    """(N, T) probabilities from (N, T) log odds.

    Args:
        scores: Log odds.
        slope: Factor of the log odds.
        offset: Added after that.
        vocabularies: Tags by vocabulary, in the order of the columns.
    """
    found: Floats = 0.5 * (1.0 + np.tanh(0.5 * (slope * scores + offset)))
    start = 0
    for vocabulary, tags in vocabularies.items():
        if vocabulary in ONE_OF:
            part = found[:, start : start + len(tags)]
            found[:, start : start + len(tags)] = part / np.maximum(part.sum(axis=1, keepdims=True), 1e-300)
        start += len(tags)
    return found


def known_vocabularies() -> dict[str, tuple[str, ...]]:
    """The tags of the three vocabularies, in order."""
    return {name: tuple(tag.value for tag in VOCABULARIES[name]) for name in TAGGED}


def _arrays(content: bytes) -> dict[str, Any]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(member.file_size for member in archive.infolist()) > LARGEST_BYTES:
            raise ValueError("too large")
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        return {name: stored[name] for name in ("head", "idf", "weights", "intercepts")}


def _check_vocabularies(path: Path, given: Any) -> None:
    known = {name: list(tags) for name, tags in known_vocabularies().items()}
    for name, tags in known.items():
        if not isinstance(given, dict) or given.get(name) != tags:
            raise InputError(
                f"its tags of {name} are not those of this reeltalk",
                file=path,
                place=f"vocabularies.{name}",
                value=given.get(name) if isinstance(given, dict) else given,
                hint="train one anew with 'reeltalk tag train'",
            )
    extra = sorted(set(given) - set(known))
    if extra:
        raise InputError(
            "it tags vocabularies that this reeltalk does not tag", file=path, place="vocabularies", value=extra
        )


def _tagger(head: dict[str, Any], arrays: dict[str, Any]) -> LinearTagger:
    weights, intercepts, idf = (arrays[name] for name in ("weights", "intercepts", "idf"))
    blocks: list[FeatureBlock] = []
    start = 0
    for block in head["blocks"]:
        terms = tuple(map(str, block["terms"]))
        if block["field"] not in ("question", "answer") or block["analyzer"] not in ("word", "char_wb"):
            raise ValueError("an unknown block")
        shortest, longest = int(block["shortest"]), int(block["longest"])
        if not 1 <= shortest <= longest <= 10 or len(set(terms)) != len(terms):
            raise ValueError("malformed n-grams")
        blocks.append(
            FeatureBlock(
                block["field"],
                NGrams(block["analyzer"], shortest, longest, terms, idf[start : start + len(terms)]),
            )
        )
        start += len(terms)
    vocabularies = known_vocabularies()
    tags = sum(map(len, vocabularies.values()))
    slope, offset = float(head["slope"]), float(head["offset"])
    shapes = (weights.shape, intercepts.shape, idf.shape) == ((start, tags), (tags,), (start,))
    if not shapes or not all(array.dtype == np.float64 for array in (weights, intercepts, idf)):
        raise ValueError("arrays of other shapes or types")
    if not all(np.isfinite(array).all() for array in (weights, intercepts, idf, np.array([slope, offset]))):
        raise ValueError("numbers that are not finite")
    return LinearTagger(
        str(head["name"]), vocabularies, tuple(blocks), weights, intercepts, slope, offset, dict(head["card"])
    )

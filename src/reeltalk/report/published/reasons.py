"""Why a published number may not compare with one's own, as far as signatures, settings and the paper tell."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.report.published.records import HOW_WORDS, PublishedBenchmark, PublishedTable, Row
from reeltalk.schema.scoring import Signature

JUDGED: Final = frozenset({"svbench", "gpt-score", "mtv"})
"""Families of measures that a model judges."""
ANSWERS: Final = ".answers"
"""What a subject ends in where answers of a published layout were scored, which it then begins with."""
TEXTS: Final = frozenset({"bleu_4", "meteor", "rouge_l", "cider"})


@dataclass(frozen=True)
class OwnNumber:
    """What is known of one of one's own numbers."""

    key: str
    """The letter of its model."""
    metric: str
    parts: dict[str, str]
    """Of its signature."""
    subject: str
    n: int
    official: bool = False
    """True where the reply was read as the official script reads it."""
    limit: int | None = None
    """Units at most that were played, where not all were."""


@dataclass(frozen=True)
class Reason:
    """Why some numbers may not compare."""

    kind: str
    """`data`, `judge`, `frames` and so on."""
    told: str


def parts_of(signature: str) -> tuple[str, dict[str, str]]:
    """Subject and parts of a signature; nothing of one that another program wrote in a form of its own.

    Args:
        signature: As a run has it.
    """
    try:
        parsed = Signature.parse(signature)
    except ValueError:
        return "", {}
    return parsed.subject, dict(parsed.parts)


def reasons(
    benchmark: PublishedBenchmark,
    table: PublishedTable,
    row: Row,
    own: Sequence[OwnNumber],
    *,
    imported: frozenset[str] | None = None,
) -> list[Reason]:
    """Why a row may not compare with one's own numbers beside it; never none, as no data was published to check by.

    Args:
        benchmark: What the row is from.
        table: Likewise.
        row: The row.
        own: Every own number that stands in the table.
        imported: Formats from which the benchmark was imported that the runs were played on; None where it was not
            given.
    """
    found = [_data(benchmark, own, imported)]
    found += _items(table, own)
    judged = [number for number in own if number.metric.split(".")[0] in JUDGED]
    if judged:
        found += _judge(table, judged)
    found += _version(table, own)
    found += _frames(table, row, own)
    found += _history(table, row, own)
    if any(number.metric.split(".")[0] == "cogme" for number in own):
        found += _told("correctness", "choice", own, lambda number: number.parts.get("correctness"))
    if any(number.metric in TEXTS for number in own):
        toks = _each(own, lambda number: number.parts.get("tok"), among=lambda number: number.metric in TEXTS)
        found.append(Reason("text metrics", f"their tokeniser and variants are not published; here {toks}"))
    if table.how in ("figure value", "figure estimate", "secondary"):
        found.append(Reason("source", HOW_WORDS[table.how]))
    limits = sorted({number.limit for number in own if number.limit is not None})
    if limits:
        found.append(Reason("part", f"only the first {', '.join(map(str, limits))} were played here"))
    return found


def _data(benchmark: PublishedBenchmark, own: Sequence[OwnNumber], imported: frozenset[str] | None) -> Reason:
    named = sorted({number.subject.split(".")[0] for number in own})
    hashes = ", ".join(sorted({number.parts.get("data", "no hash") for number in own}))
    releases = set(benchmark.releases)
    if imported is not None and not imported & releases:
        told = f"{benchmark.title}; here {', '.join(named)} ({hashes}), which was not imported from its release"
        return Reason("data", told)
    if imported is not None or set(named) <= releases:
        return Reason("data", f"no hash of what was asked is published; here {hashes}")
    if all(number.subject.endswith(ANSWERS) for number in own):
        return Reason("data", f"{benchmark.title}; here {', '.join(named)} ({hashes})")
    told = f"{benchmark.title}; here {', '.join(named)} ({hashes}); give the benchmark with --bench to check what it is"
    return Reason("data", told)


def _items(table: PublishedTable, own: Sequence[OwnNumber]) -> list[Reason]:
    if table.items is None:
        return []
    # Of one tag there are fewer questions; only the whole is compared.
    counts = {number.n for number in own if "." not in number.metric}
    if not counts or counts == {table.items}:
        return []
    return [Reason("questions", f"{table.items:,} published; {', '.join(f'{n:,}' for n in sorted(counts))} here")]


def _judge(table: PublishedTable, own: Sequence[OwnNumber]) -> list[Reason]:
    if table.judge is None:
        found = [Reason("judge", f"not published; {_each(own, lambda number: number.parts.get('judge'))} here")]
    else:
        found = _told("judge", table.judge, own, lambda number: number.parts.get("judge"), same=_same_model)
    found.append(Reason("prompt", "ours asks the judge in our own words"))
    if table.scored_by == "script":
        if any(number.official for number in own):
            told = "the official script's; only the rows 'official script' read replies as it does"
        else:
            told = "the official script's, whose mistakes ours mends; --compat shows what it would make of the replies"
        found.append(Reason("scoring", told))
    return found


def _version(table: PublishedTable, own: Sequence[OwnNumber]) -> list[Reason]:
    if table.version is None:
        return []
    return _told("version", table.version, own, lambda number: number.parts.get("version"))


def _frames(table: PublishedTable, row: Row, own: Sequence[OwnNumber]) -> list[Reason]:
    if any(column.frames is not None for column in table.columns):
        # Each own number stands in the column of its frames.
        return []
    shown = row.frames if row.frames is not None else table.frames
    if shown is None:
        if table.judge is None:
            return []
        return [Reason("frames", f"not published; {_each(own, _frames_of)} here")]
    return _told("frames", str(shown), own, _frames_of)


def _frames_of(number: OwnNumber) -> str | None:
    if number.parts.get("policy") == "none":
        return "none"
    rate = number.parts.get("fps")
    return f"{rate}fps" if rate is not None else number.parts.get("frames")


def _history(table: PublishedTable, row: Row, own: Sequence[OwnNumber]) -> list[Reason]:
    asked = [number for number in own if number.parts.get("mode") != "single"]
    stated = row.history or table.history
    if not asked:
        return []
    if stated is not None:
        return _told("history", stated, asked, lambda number: number.parts.get("history"))
    if table.judge is None:
        return []
    told = f"nobody says whose answers stood in it; {_each(asked, lambda number: number.parts.get('history'))} here"
    return [Reason("history", told)]


def _told(
    kind: str,
    theirs: str,
    own: Sequence[OwnNumber],
    value: Callable[[OwnNumber], str | None],
    *,
    same: Callable[[str, str], bool] = lambda one, other: one == other,
) -> list[Reason]:
    differing = [number for number in own if (mine := value(number)) is None or not same(mine, theirs)]
    if not differing:
        return []
    return [Reason(kind, f"{theirs} published; {_each(differing, value)} here")]


def _each(
    own: Iterable[OwnNumber],
    value: Callable[[OwnNumber], str | None],
    *,
    among: Callable[[OwnNumber], bool] = lambda number: True,
) -> str:
    """Values with whose they are: `16 (A, C), 32 (B)`; without letters where all are alike."""
    by_value: dict[str, list[str]] = {}
    for number in filter(among, own):
        keys = by_value.setdefault(value(number) or "not stated", [])
        if number.key not in keys:
            keys.append(number.key)
    if len(by_value) == 1:
        return next(iter(by_value))
    return ", ".join(f"{mine} ({', '.join(keys)})" for mine, keys in by_value.items())


def _same_model(one: str, other: str) -> bool:
    """True for `openai/gpt-4` and `GPT-4`: the same but for a provider before it, case and punctuation."""
    return _bare(one) == _bare(other)


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.rsplit("/", 1)[-1].casefold())

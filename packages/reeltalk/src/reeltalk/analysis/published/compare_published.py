"""Your numbers in the columns of published tables, and why a published number may not be comparable.

The result is plain data, and no number is called the best. The reasons come from signatures, settings and the paper.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.analysis.leaderboard import Leaderboard, ModelRow, missing_reason, model_letter
from reeltalk.analysis.published.records import (
    HOW_WORDS,
    PublishedBenchmark,
    PublishedColumn,
    PublishedRow,
    PublishedTable,
)
from reeltalk.judge.protocol import COMPAT, needs_model
from reeltalk.metrics.scoring import TEXT_METRICS
from reeltalk.schema.runs import GroupRow, SummaryRow
from reeltalk.schema.scoring import Signature
from reeltalk.store.runs import Run

ANSWERS_SUFFIX: Final = ".answers"
"""Suffix of the subject if answers in a published layout were scored; the layout comes before it."""


ANSWERING_PART: Final = "answering prompt"
"""Key of the prompt that asks for answers, among the parts of a signature."""
PUBLISHED: Final = "published"
JUDGING_MODES: Final = (PUBLISHED, COMPAT)
"""Modes of judging; all others are of play."""
AUTHORS_PROMPT: Final = "-published."
"""Stands in the signature of a prompt that was read from the authors' repository."""


@dataclass(frozen=True)
class OwnNumber:
    """A score of your run, with the facts for the comparison."""

    key: str
    """The letter of its model."""
    metric: str
    parts: dict[str, str]
    """Of its signature."""
    subject: str
    n: int
    official: bool = False
    """True if the reply was read as the official script reads it."""
    limit: int | None = None
    """The maximum number of dialogues, chains or paths evaluated, if there was one."""


@dataclass(frozen=True)
class DifferenceReason:
    """Why some numbers may not compare."""

    kind: str
    """`data`, `judge`, `frames` and so on."""
    text: str


def _name_parts(signature: str) -> tuple[str, dict[str, str]]:
    """Subject and parts of a signature; empty if another program wrote it in another form."""
    try:
        parsed = Signature.parse(signature)
    except ValueError:
        return "", {}
    parts = dict(parsed.parts)
    modes = [value for key, value in parsed.parts if key == "mode"]
    # A judge's mode may follow that of play, or stand alone where answers were read from a file.
    played = next((mode for mode in modes if mode not in JUDGING_MODES), None)
    parts = {key: value for key, value in parts.items() if key != "mode"} | ({"mode": played} if played else {})
    parts |= {PUBLISHED: "yes"} if PUBLISHED in modes else {}
    if "sampling" in parts:
        # A chat model answered. Its prompt comes first, and a judge's may follow.
        parts[ANSWERING_PART] = next(value for key, value in parsed.parts if key == "prompt")
    return parsed.subject, parts


def difference_reasons(
    benchmark: PublishedBenchmark,
    table: PublishedTable,
    row: PublishedRow,
    own: Sequence[OwnNumber],
    *,
    imported: frozenset[str] | None = None,
) -> list[DifferenceReason]:
    """Reasons why a published row may not be comparable with your scores; at least one, as no row has its data.

    Args:
        benchmark: What the row is from.
        table: The published table.
        own: Every number of your runs in the table.
        imported: Formats from which the runs' benchmark was imported; None if it was not given.
    """
    found = [_data(benchmark, own, imported)]
    found += _items(table, own)
    judged = [number for number in own if needs_model(number.metric)]
    if judged:
        found += _judge(table, judged)
    found += _version(table, own)
    found += _frames(table, row, own)
    found += _history(table, row, own)
    found += _answering([number for number in own if ANSWERING_PART in number.parts])
    if any(number.metric.split(".")[0] == "cogme" for number in own):
        found += _find_differences("correctness", "choice", own, lambda number: number.parts.get("correctness"))
    if any(number.metric in TEXT_METRICS for number in own):
        toks = _each(own, lambda number: number.parts.get("tok"), among=lambda number: number.metric in TEXT_METRICS)
        found.append(DifferenceReason("text metrics", f"their tokeniser and variants are not published; here {toks}"))
    if table.how in ("figure value", "figure estimate", "secondary"):
        found.append(DifferenceReason("source", HOW_WORDS[table.how]))
    limits = sorted({number.limit for number in own if number.limit is not None})
    if limits:
        found.append(DifferenceReason("part", f"only the first {', '.join(map(str, limits))} were played here"))
    return found


def _data(benchmark: PublishedBenchmark, own: Sequence[OwnNumber], imported: frozenset[str] | None) -> DifferenceReason:
    named = sorted({number.subject.split(".")[0] for number in own})
    hashes = ", ".join(sorted({number.parts.get("data", "no hash") for number in own}))
    releases = set(benchmark.releases)
    if imported is not None and not imported & releases:
        told = f"{benchmark.title}; here {', '.join(named)} ({hashes}), which was not imported from its release"
        return DifferenceReason("data", told)
    if imported is not None or set(named) <= releases:
        return DifferenceReason("data", f"no hash of what was asked is published; here {hashes}")
    if all(number.subject.endswith(ANSWERS_SUFFIX) for number in own):
        return DifferenceReason("data", f"{benchmark.title}; here {', '.join(named)} ({hashes})")
    told = f"{benchmark.title}; here {', '.join(named)} ({hashes}); give the benchmark with --bench to check what it is"
    return DifferenceReason("data", told)


def _items(table: PublishedTable, own: Sequence[OwnNumber]) -> list[DifferenceReason]:
    if table.items is None:
        return []
    # Of one tag there are fewer questions; only the whole is compared.
    counts = {number.n for number in own if "." not in number.metric}
    if not counts or counts == {table.items}:
        return []
    return [
        DifferenceReason("questions", f"{table.items:,} published; {', '.join(f'{n:,}' for n in sorted(counts))} here")
    ]


def _judge(table: PublishedTable, own: Sequence[OwnNumber]) -> list[DifferenceReason]:
    if table.judge is None:
        found = [
            DifferenceReason("judge", f"not published; {_each(own, lambda number: number.parts.get('judge'))} here")
        ]
    else:
        found = _find_differences("judge", table.judge, own, lambda number: number.parts.get("judge"), same=_same_model)
    worded = [number for number in own if PUBLISHED not in number.parts]
    if worded:
        found.append(DifferenceReason("prompt", f"ours asks the judge in our own words: {_each(worded, _prompt)}"))
    if table.scored_by == "script":
        if any(number.official for number in own):
            told = "the official script's; only the rows 'official script' read replies as it does"
        else:
            told = "the official script's, whose mistakes ours mends; --compat shows what it would make of the replies"
        found.append(DifferenceReason("scoring", told))
    return found


def _prompt(number: OwnNumber) -> str:
    return number.parts.get("prompt", "not stated")


def _answering(own: Sequence[OwnNumber]) -> list[DifferenceReason]:
    """How chat models were asked for answers here, which no table states."""
    if not own:
        return []
    found = []
    if worded := [number for number in own if AUTHORS_PROMPT not in number.parts[ANSWERING_PART]]:
        told = _each(worded, lambda number: number.parts[ANSWERING_PART])
        found.append(
            DifferenceReason(ANSWERING_PART, f"ours states the facts of the authors' in our own words: {told}")
        )
    if shown := [number for number in own if "size" in number.parts]:
        told = _each(shown, lambda number: f"{number.parts.get('policy')}, {number.parts['size']} px")
        found.append(DifferenceReason("pictures", f"chosen and scaled by each model's own code; here {told}"))
    told = _each(
        own, lambda number: f"{number.parts.get('served', 'as the server was asked')}, {number.parts['sampling']}"
    )
    found.append(DifferenceReason("models", f"versions, servers and sampling are not published; here {told}"))
    return found


def _version(table: PublishedTable, own: Sequence[OwnNumber]) -> list[DifferenceReason]:
    if table.version is None:
        return []
    return _find_differences("version", table.version, own, lambda number: number.parts.get("version"))


def _frames(table: PublishedTable, row: PublishedRow, own: Sequence[OwnNumber]) -> list[DifferenceReason]:
    if any(column.frames is not None for column in table.columns):
        # Each own number stands in the column of its frames.
        return []
    shown = row.frames if row.frames is not None else table.frames
    if shown is None:
        if table.judge is None:
            return []
        return [DifferenceReason("frames", f"not published; {_each(own, _frames_of)} here")]
    return _find_differences("frames", str(shown), own, _frames_of)


def _frames_of(number: OwnNumber) -> str | None:
    if number.parts.get("policy") == "none":
        return "none"
    rate = number.parts.get("fps")
    return f"{rate}fps" if rate is not None else number.parts.get("frames")


def _history(table: PublishedTable, row: PublishedRow, own: Sequence[OwnNumber]) -> list[DifferenceReason]:
    asked = [number for number in own if number.parts.get("mode") != "single"]
    stated = row.history or table.history
    if not asked:
        return []
    if stated is not None:
        return _find_differences("history", stated, asked, lambda number: number.parts.get("history"))
    if table.judge is None:
        return []
    told = f"nobody says whose answers stood in it; {_each(asked, lambda number: number.parts.get('history'))} here"
    return [DifferenceReason("history", told)]


def _find_differences(
    kind: str,
    theirs: str,
    own: Sequence[OwnNumber],
    value: Callable[[OwnNumber], str | None],
    *,
    same: Callable[[str, str], bool] = lambda one, other: one == other,
) -> list[DifferenceReason]:
    differing = [number for number in own if (mine := value(number)) is None or not same(mine, theirs)]
    if not differing:
        return []
    return [DifferenceReason(kind, f"{theirs} published; {_each(differing, value)} here")]


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


KIND_OF_MODE: Final = {"dialogue": ("chain", "dialogue"), "streaming": ("path",)}
"""Kinds of judged units by SVBench's modes, the first one preferred."""


@dataclass(frozen=True)
class OwnCell:
    """A score of your run on the scale of the published column."""

    value: float | None
    """None if it is withheld or not scored."""
    low: float | None
    high: float | None
    n: int
    unscored: int = 0
    """Items that should have a score and have none."""
    withheld: bool = False
    """True if too many items are unscored for a value to be quoted."""
    reason: str | None = None
    """Why there is no value."""

    @property
    def is_due(self) -> bool:
        """True if there is a number, or one that should be there is missing; false for one that applies nowhere."""
        return self.value is not None or self.withheld or self.unscored > 0


@dataclass(frozen=True)
class OwnRow:
    """Your own model in a published table."""

    index: int
    """Its place in the leaderboard, which decides its letter."""
    name: str
    floor: bool
    official: bool
    """True for what the official script makes of the same judge's replies."""
    cells: tuple[OwnCell | None, ...]
    """One a column; None if the run has no such number."""


@dataclass(frozen=True)
class TheirRow:
    """A published row."""

    row: PublishedRow
    reasons: tuple[int, ...]
    """Numbers of its reasons, in addition to the common ones."""


@dataclass(frozen=True)
class ComparedTable:
    """A published table with your own rows."""

    table: PublishedTable
    source: str
    own: tuple[OwnRow, ...]
    theirs: tuple[TheirRow, ...]
    common: tuple[DifferenceReason, ...]
    """Why no published row may compare."""
    numbered: tuple[DifferenceReason, ...]
    """Why some may not, numbered from 1."""


@dataclass(frozen=True)
class PublishedComparison:
    """The published tables of one benchmark, with your scores."""

    benchmark: PublishedBenchmark
    tables: tuple[ComparedTable, ...]
    """Those in which some own number stands."""

    @property
    def withheld(self) -> bool:
        """True if some own number is withheld."""
        rows = (row for table in self.tables for row in table.own)
        return any(cell is not None and cell.withheld for row in rows for cell in row.cells)


def compare_published(
    board: Leaderboard, benchmark: PublishedBenchmark, *, imported: frozenset[str] | None = None
) -> PublishedComparison:
    """Compare published numbers with the numbers of runs.

    Args:
        board: The runs.
        benchmark: The published numbers.
        imported: Formats from which the runs' benchmark was imported; None if it was not given.

    Raises:
        InputError: A run's table of groups is damaged.
    """
    groups = {id(model.run): model.run.groups() for model in board.models}
    found = []
    for table in benchmark.tables:
        if table.kind != "results" or not table.metrics:
            continue
        rows: list[OwnRow] = []
        numbers: list[OwnNumber] = []
        for index, model in enumerate(board.models):
            for official in (False, True):
                picked = [_pick(model, column, groups[id(model.run)], official) for column in table.columns]
                cells = tuple(None if pick is None else _cell(pick, model.run) for pick in picked)
                if any(cell is not None and cell.is_due for cell in cells):
                    rows.append(OwnRow(index, model.name, model.floor is not None, official, cells))
                    numbers += [_number(index, model, pick, official) for pick in picked if pick is not None]
        if rows:
            found.append(_table(benchmark, table, rows, numbers, imported))
    return PublishedComparison(benchmark, tuple(found))


@dataclass(frozen=True)
class _Pick:
    column: PublishedColumn
    metric: str
    row: SummaryRow
    """The summary row whose signature the number carries."""
    group: GroupRow | None = None


def _pick(model: ModelRow, column: PublishedColumn, groups: Sequence[GroupRow], official: bool) -> _Pick | None:
    if column.metric is None:
        return None
    name = _official(column) if official else column.metric
    if not official and column.mode == "streaming" and name.startswith("svbench."):
        # Before streaming had numbers of its own, paths were a group of the number over all.
        streaming = name.replace("svbench.", "svbench.streaming.", 1)
        name = streaming if model.cells.get(streaming) is not None else name
    cell = model.cells.get(name)
    if cell is None:
        return None
    mode = _name_parts(cell.row.signature)[1]
    family = column.metric.split(".")[0]
    if column.frames is not None and mode.get("frames") != str(column.frames):
        return None
    of = [row for row in groups if row.model == model.info.model and row.metric == name]
    if column.by is not None:
        group = next((row for row in of if row.by == column.by and row.group == column.group), None)
        return _Pick(column, name, cell.row, group) if group is not None else None
    if column.mode is None:
        return _Pick(column, name, cell.row)
    if family == "svbench":
        if name.startswith("svbench.streaming."):
            return _Pick(column, name, cell.row)
        kinds = {row.group: row for row in of if row.by == "kind"}
        if kinds:
            group = next((kinds[kind] for kind in KIND_OF_MODE.get(column.mode, ()) if kind in kinds), None)
            return _Pick(column, name, cell.row, group) if group is not None else None
    # A file of answers does not say how its questions were asked; that of a dialogue is what such files hold.
    return _Pick(column, name, cell.row) if mode.get("mode", "dialogue") == column.mode else None


def _official(column: PublishedColumn) -> str:
    """The name of what the official script makes of a column's measure."""
    assert column.metric is not None
    family, *rest = column.metric.split(".")
    if family == "svbench" and column.mode == "streaming":
        return ".".join([family, "streaming", *rest, COMPAT])
    # Dimensions of SVBench end in it, tasks of MT-Video-Bench follow it.
    return ".".join([family, *rest, COMPAT] if family == "svbench" else [family, COMPAT, *rest])


def _cell(pick: _Pick, run: Run) -> OwnCell:
    row, scale = pick.group if pick.group is not None else pick.row, pick.column.scale
    value, low, high = (None if end is None else end * scale for end in (row.value, row.low, row.high))
    withheld = row.value is None and row.over_scored is not None
    reason = missing_reason(run, row) if row.value is None else None
    return OwnCell(value, low, high, row.n, row.unscored, withheld, reason)


def _number(index: int, model: ModelRow, pick: _Pick, official: bool) -> OwnNumber:
    subject, parts = _name_parts(pick.row.signature)
    limit = model.run.info.settings.get("limit")
    n = (pick.group or pick.row).n
    return OwnNumber(
        model_letter(index), pick.metric, parts, subject, n, official, limit if isinstance(limit, int) else None
    )


def _table(
    benchmark: PublishedBenchmark,
    table: PublishedTable,
    rows: Sequence[OwnRow],
    numbers: Sequence[OwnNumber],
    imported: frozenset[str] | None,
) -> ComparedTable:
    found = [difference_reasons(benchmark, table, row, numbers, imported=imported) for row in table.rows]
    common = [reason for reason in found[0] if all(reason in others for others in found)]
    numbered = list(dict.fromkeys(reason for own in found for reason in own if reason not in common))
    theirs = [
        TheirRow(row, tuple(numbered.index(reason) + 1 for reason in own if reason in numbered))
        for row, own in zip(table.rows, found, strict=True)
    ]
    source = benchmark.source_of(table)
    return ComparedTable(table, source, tuple(rows), tuple(theirs), tuple(common), tuple(numbered))

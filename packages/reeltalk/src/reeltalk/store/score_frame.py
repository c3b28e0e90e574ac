"""A run's scores as Polars frames: a row for each answer, one for each judging of a unit, and one for each score.

Rows come from the run's files through Pydantic, which names file, line and field of an error. The frames are kept as
Parquet in your own cache folder, by the hashes of the files that they rest on: frames beside the run could come from a
stranger who edited both.
"""

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reeltalk.errors import ReeltalkError
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.record import name_key
from reeltalk.schema.runs import ItemScores
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.atomic import writing
from reeltalk.store.file_hashes import cache_folder

if TYPE_CHECKING:
    import polars as pl

FORMAT: Final = 4
"""Version of the columns; another version is made again."""
BATCH: Final = 50_000
"""Answers that become columns at a time."""
MOST_FILES: Final = 60
"""Parquet files in the cache; older ones are removed."""
SCORE: Final = "score:"
"""Prefix of the column of a measure in `RunScores.answers`."""
MIB: Final = 1 << 20
ANSWER_TYPE: Final = "answer_type"
"""Vocabulary of the types of answers of turns with a key."""

PLAY_COLUMNS: Final[dict[str, Callable[[Any], float | None]]] = {
    "took_s": lambda played: played.took_s,
    "first_token_s": lambda played: played.first_token_s,
    "prompt_tokens": lambda played: played.prompt_tokens,
    "completion_tokens": lambda played: played.completion_tokens,
    "frames_seen": lambda played: len(played.frames_s),
    "new_frames": lambda played: played.new_frames,
    "memory_mib": lambda played: None if played.memory_bytes is None else played.memory_bytes / MIB,
}
"""Times and amounts of an answer, as the leaderboard names them; null for answers that reeltalk did not play."""

KEY: Final = ("model", "video_id", "unit", "unit_id", "turn_index", "item_id", "task", "form", "labels")
COLUMNS: Final = {
    "run": "name of the run's folder",
    "model": "name of the model",
    "video_id": "the source video, by which intervals are clustered",
    "unit": "kind of the unit: `chain`, `path` or `dialogue`",
    "unit_id": "the chain, path or dialogue",
    "turn_index": "index of the turn in its unit, from 0; null for a score of a whole unit",
    "item_id": "identifier of the turn, the same for all models; null for a score of a whole unit",
    "task": "task of the unit; null without one",
    "form": "how the turn is to be answered: `options`, `typed`, `checklist`, `rubric` or `free`",
    "labels": "labels of the turn as `vocabulary=label`",
    "measure": "name of the measure, as in `summary.json`",
    "value": "the score, on the measure's scale; null if `state` is not `scored`",
    "state": "`scored`, `unscored`, `not_applicable`, `failed` (no answer came) or `missing` (the file has none)",
    "reason": "why there is no score; null if there is one",
    "seconds": "seconds of the answer; null if reeltalk did not play the turn",
    "tokens": "tokens of the request and the answer together; null if they are unknown",
}  # fmt: skip
"""The columns of `Run.frame()`, in order, and what they mean."""


@dataclass(frozen=True)
class RunScores:
    """The scores of one run."""

    answers: "pl.DataFrame"
    """A row for each turn in the order of the run, with a column `score:MEASURE` for each measure (null: none).

    `row` is the place of its answer in the run. Of a turn with several answers, from several epochs, that is the first
    one that came, and scores, times and amounts are means.
    """
    judged: "pl.DataFrame"
    """A row for each judging of a turn or a whole unit in an epoch; those of turns with a score have no reason."""
    floor: "pl.DataFrame"
    """A row for each turn or unit of which empty answers were judged, for a floor that was not played: `model`,
    `item_id` (of a unit, that of `unit_item`), and columns as in `answers`."""

    @property
    def measures(self) -> list[str]:
        """Measures with a score of single turns."""
        return [name.removeprefix(SCORE) for name in self.answers.columns if name.startswith(SCORE)]


def read_scores(
    answers: Iterable[tuple[AnsweredTurn, dict[str, float]]],
    judged: Mapping[str, Iterable[JudgedScore]],
    floor: Iterable[ItemScores] = (),
) -> RunScores:
    """Read the scores of a run."""
    return RunScores(_answers(answers), _judged(judged), _floor(list(floor)))


def unit_item(unit: str, unit_id: str) -> str:
    """The name of a whole unit among items of a floor."""
    return f"{unit}:{unit_id}"


def _floor(rows: Sequence[ItemScores]) -> "pl.DataFrame":
    import polars as pl

    measures = dict.fromkeys(measure for row in rows for measure in row.scores)
    columns = {"model": [row.model for row in rows], "item_id": [row.item_id for row in rows]}
    named = pl.DataFrame(columns, {"model": pl.Categorical, "item_id": pl.String})
    return named.with_columns(
        pl.Series(SCORE + measure, [row.scores.get(measure) for row in rows], pl.Float64) for measure in measures
    )


def _answers(answers: Iterable[tuple[AnsweredTurn, dict[str, float]]]) -> "pl.DataFrame":
    import polars as pl

    name, some = pl.Categorical, pl.Float64
    schema: dict[str, Any] = {
        "model": name, "video_id": name, "unit": name, "unit_id": name, "turn_index": pl.Int32, "item_id": pl.String,
        "task": name, "form": name, "labels": pl.List(name), "state": name, "outcome": name, "reason": name,
        "question": pl.String, "epoch": pl.Int32,
        "planted": pl.Boolean, "has_reference": pl.Boolean, "wording": pl.UInt64, **dict.fromkeys(PLAY_COLUMNS, some),
    }  # fmt: skip
    labels = _Labels()
    rows = iter(answers)
    frames = [pl.DataFrame(schema=schema)]
    while batch := list(islice(rows, BATCH)):
        scores: dict[str, list[float | None]] = {}
        for measure in dict.fromkeys(measure for _, own in batch for measure in own):
            scores[SCORE + measure] = [own.get(measure) for _, own in batch]
        columns = dict(zip(schema, zip(*(_row(answer, labels) for answer, _ in batch), strict=True), strict=True))
        numbers = columns.pop("labels")
        known = pl.Series("labels", labels.known, schema["labels"])
        turns = pl.DataFrame(columns, schema={column: schema[column] for column in columns})
        frames.append(
            turns.with_columns(
                known.gather(list(numbers)), *(pl.Series(column, values, some) for column, values in scores.items())
            ).select(*schema, *scores)
        )
    found = pl.concat(frames, how="diagonal").with_row_index("row")
    if (found["epoch"] > 0).any():
        found = _mean_over_epochs(found)
    return found.drop("epoch").rechunk()


def _mean_over_epochs(answers: "pl.DataFrame") -> "pl.DataFrame":
    """A row for each turn, in the order of the first answers."""
    import polars as pl
    from polars import selectors as cs

    means = [column for column in answers.columns if column.startswith(SCORE) or column in PLAY_COLUMNS]
    turns = answers.with_columns(first=pl.col("row").min().over("model", "item_id"))
    return (
        turns.sort(pl.col("state") != AnswerState.ANSWERED, maintain_order=True)
        .group_by("model", "item_id", maintain_order=True)
        .agg((cs.all() - cs.by_name(*means)).first(), cs.by_name(*means).mean())
        .sort("first")
        .select(answers.columns)
    )


def _row(answer: AnsweredTurn, labels: "_Labels") -> tuple[object, ...]:
    played = answer.played
    words = (answer.video_id, answer.question, answer.references, answer.options)
    return (
        answer.model, answer.video_id, answer.unit, answer.unit_id, answer.turn_index, answer.item_id, answer.task,
        _form(answer), labels.number(answer), answer.state.value, answer.outcome, answer.reason, answer.question,
        answer.epoch,
        played is not None and played.corrupted, bool(answer.references), name_key(repr(words)),
        *(None if played is None else of(played) for of in PLAY_COLUMNS.values()),
    )  # fmt: skip


def _form(answer: AnsweredTurn) -> str:
    if answer.options is not None:
        return "options"
    if answer.key is not None:
        return "typed"
    if answer.checklist is not None and answer.checklist.items:
        return "checklist"
    return "free" if answer.rubric is None else "rubric"


class _Labels:
    """Lists of labels, each once."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], int] = {}
        self.known: list[list[str]] = []

    def number(self, answer: AnsweredTurn) -> int:
        kind = (answer.key.type,) if answer.key is not None else ()
        key = (*answer.labels.items(), kind)
        if (number := self._numbers.get(key)) is None:
            number = self._numbers[key] = len(self.known)
            given = answer.labels | {ANSWER_TYPE: kind}
            self.known.append([f"{vocabulary}={label}" for vocabulary, own in given.items() for label in own])
        return number


def _judged(judged: Mapping[str, Iterable[JudgedScore]]) -> "pl.DataFrame":
    import polars as pl

    name = pl.Categorical
    schema: dict[str, Any] = {
        "protocol": name, "criterion": name, "model": name, "unit": name, "unit_id": name, "turn_index": pl.Int32,
        "video_id": name, "judge": name, "sample": pl.Int32, "epoch": pl.Int32, "value": pl.Float64,
        "state": name, "reason": name, "explanation": pl.String,
    }  # fmt: skip
    rows = (
        (
            protocol, row.criterion, row.model, row.unit, row.unit_id, row.turn_index, row.video_id, row.judge,
            row.sample, row.epoch, row.value, row.state.value,
            *((None, None) if row.unit == "turn" and row.state is ScoreState.SCORED else (row.reason, row.explanation)),
        )
        for protocol, table in judged.items()
        for row in table
    )  # fmt: skip
    frames = [pl.DataFrame(schema=schema)]
    while batch := list(islice(rows, BATCH)):
        frames.append(pl.DataFrame(dict(zip(schema, zip(*batch, strict=True), strict=True)), schema=schema))
    return pl.concat(frames).rechunk()


def cached_scores(hashes: Mapping[str, str], read: Callable[[], RunScores]) -> RunScores:
    """The scores of a run from the cache, or read and put there.

    Args:
        hashes: SHA-256 of every file that they rest on, by its name; empty if it is unknown, and nothing is cached.
        read: Reads the scores if they are not cached.
    """
    import polars as pl

    if not hashes:
        return read()
    digest = hashlib.sha256(repr((FORMAT, sorted(hashes.items()))).encode()).hexdigest()
    with contextlib.suppress(RuntimeError):
        folder = cache_folder() / "frames"
        places = [folder / f"{digest}-{part}.parquet" for part in ("answers", "judged", "floor")]
        if (kept := _read_cache(places)) is not None:
            return kept
        made = read()
        # A cache that cannot be written costs time only.
        with contextlib.suppress(OSError, pl.exceptions.PolarsError, ReeltalkError):
            for place, frame in zip(places, (made.answers, made.judged, made.floor), strict=True):
                with writing(place) as stream:
                    frame.write_parquet(stream)
            for old in sorted(folder.glob("*.parquet"), key=lambda path: path.stat().st_mtime)[:-MOST_FILES]:
                old.unlink(missing_ok=True)
        return made
    return read()


def _read_cache(places: Iterable[Path]) -> RunScores | None:
    import polars as pl

    with contextlib.suppress(OSError, pl.exceptions.PolarsError):
        return RunScores(*(pl.read_parquet(place.read_bytes()) for place in places))
    return None


def score_rows(run: str, scores: RunScores, protocols: Iterable[str]) -> "pl.DataFrame":
    """A row for each model, due turn or unit, and measure, with the columns of `COLUMNS`.

    Args:
        run: Name of the run.
        protocols: Protocols that judged it; their rows say which turns they could not score.
    """
    import polars as pl

    families = [protocol.replace("-", "_") for protocol in protocols]
    answers = scores.answers.with_columns(
        seconds=pl.col("took_s"), tokens=pl.col("prompt_tokens") + pl.col("completion_tokens")
    )
    found = [
        _turn_rows(answers, scores.measures, families),
        *_judged_rows(answers, scores.judged),
        _played_rows(answers),
    ]
    rows = pl.concat(found, how="diagonal_relaxed").with_columns(run=pl.lit(run, pl.Categorical))
    # A turn that a protocol scored in another way, as a failed one with 0, has one row.
    order = pl.col("state") != ScoreState.SCORED
    keys = ["model", "unit", "unit_id", "turn_index", "item_id", "measure"]
    return rows.sort(order, maintain_order=True).unique(keys, keep="first", maintain_order=True).select(list(COLUMNS))


def _turn_rows(answers: "pl.DataFrame", measures: list[str], families: list[str]) -> "pl.DataFrame":
    """Scores of turns, and failed or missing answers by measures that no judge's table names."""
    import polars as pl

    index = [*KEY, "outcome", "reason", "has_reference", "seconds", "tokens"]
    columns = [SCORE + name for name in measures]
    long = (
        answers.select(*index, *columns)
        .unpivot(columns, index=index, variable_name="measure", value_name="value")
        .with_columns(pl.col("measure").str.strip_prefix(SCORE).cast(pl.Categorical))
    )
    family = pl.col("measure").cast(pl.String).str.split(".").list.first()
    absent = (
        pl.col("value").is_null()
        & pl.col("outcome").is_in(["failed", "missing"])
        & pl.col("has_reference")
        & ~family.is_in(families)
        # A model that a measure scores nowhere has no such rows.
        & pl.col("value").is_not_null().any().over("model", "measure")
    )
    return long.filter(pl.col("value").is_not_null() | absent).with_columns(
        state=pl.when(absent).then(pl.col("outcome")).otherwise(pl.lit(ScoreState.SCORED, pl.Categorical)),
        reason=pl.when(absent).then(pl.col("reason")),
    )


def _played_rows(answers: "pl.DataFrame") -> "pl.DataFrame":
    """Times and amounts of answers."""
    import polars as pl

    index = [*KEY, "seconds", "tokens"]
    return (
        answers.filter(pl.col("state") == AnswerState.ANSWERED)
        .select(*index, *PLAY_COLUMNS)
        .unpivot(list(PLAY_COLUMNS), index=index, variable_name="measure", value_name="value")
        .drop_nulls("value")
        .with_columns(pl.col("measure").cast(pl.Categorical), state=pl.lit(ScoreState.SCORED, pl.Categorical))
    )


def _judged_rows(answers: "pl.DataFrame", judged: "pl.DataFrame") -> "Iterator[pl.DataFrame]":
    """Rows of whole units, whose value is the mean of their judgings, and of turns that a judge gave no score."""
    import polars as pl

    family = pl.col("protocol").cast(pl.String).str.replace_all("-", "_")
    criterion = pl.col("criterion").cast(pl.String)
    own = (criterion == family) | criterion.str.starts_with(family + pl.lit(".")) | (criterion == pl.col("protocol"))
    named = judged.with_columns(
        measure=pl.when(own).then(criterion).otherwise(family + pl.lit(".") + criterion).cast(pl.Categorical)
    )
    units = named.filter(pl.col("unit") != "turn").group_by(
        "model", "unit", "unit_id", "measure", maintain_order=True
    ).agg(
        pl.col("video_id").first(),
        pl.col("value").mean(),
        state=pl.when(pl.col("value").is_not_null().any()).then(pl.lit(ScoreState.SCORED, pl.Categorical))
        .otherwise(pl.col("state").first()).first(),
        reason=pl.when(pl.col("value").is_null().all()).then(pl.col("reason").first()).first(),
    )  # fmt: skip
    tasks = answers.group_by("model", "unit", "unit_id", maintain_order=True).agg(pl.col("task").first())
    yield units.join(tasks, on=["model", "unit", "unit_id"], how="left", maintain_order="left")
    turns = named.filter(pl.col("unit") == "turn", pl.col("state") != ScoreState.SCORED).select(
        "model", "unit_id", "turn_index", "measure", "state", "reason"
    )
    yield (
        answers.drop("reason", "state")
        .join(turns, on=["model", "unit_id", "turn_index"], how="inner", maintain_order="left")
        .with_columns(
            state=pl.when(pl.col("outcome").is_in(["failed", "missing"]) & (pl.col("state") == ScoreState.UNSCORED))
            .then(pl.col("outcome"))
            .otherwise(pl.col("state"))
        )
        .select(*KEY, "seconds", "tokens", "measure", "state", "reason")
    )

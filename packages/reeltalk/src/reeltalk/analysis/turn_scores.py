"""The turns of a report with their tags and credit, from which profiles are made, and the measure of their credit."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import nan
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.analysis.columns import metric_kind, share_of_scale
from reeltalk.analysis.dialogues import CACHED_VALUES, DUE_STATES, RunDialogues
from reeltalk.analysis.leaderboard import Leaderboard
from reeltalk.errors import SettingError
from reeltalk.judge.protocol import credit_measures
from reeltalk.metrics.profile import TAGS, WEIGHTS
from reeltalk.metrics.uncertainty import numbered_clusters
from reeltalk.schema.runs import is_withheld
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.rows import NamedRows, rows_by
from reeltalk.store.score_frame import ANSWER_TYPE, SCORE
from reeltalk.store.tables import CHAINS, DIALOGUES, LINKAGES, PATHS

if TYPE_CHECKING:
    import polars as pl

RIGHT: Final = 0.5
"""An answer with more credit is right, as in the measures of `evaluate`."""


def credit_metric(metrics: Iterable[str]) -> str | None:
    """Select the metric that best measures how right an answer is.

    Returns:
        The most exact measure of correctness, else any other judged one; None if none has a scale. Overlap of words
        does not say whether an answer is right.
    """
    there = [metric for metric in metrics if share_of_scale(metric, 0.0) is not None and metric_kind(metric) != "text"]
    judged = [metric for metric in there if metric_kind(metric) == "headline"]
    wanted = [*(metric for metric in credit_measures() if metric in there), *judged, *there]
    return next(iter(wanted), None)


Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

COGME: Final = "cogme."
TARGET, CONTENT, THINKING = "cogme.target", "cogme.content", "cogme.thinking"
TASK: Final = "task"
RELATION: Final = "svbench.relation"
TASK_LABEL: Final = "mt_video_bench.task"
MOST_LABELS: Final = 30
"""A vocabulary with more labels is treated as free text, not as groups."""
VOCABULARY_TITLES: Final = {
    "svbench.skill": "SVBench's skills",
    "vdact.question_type": "VDAct's question types",
    TASK: "Tasks",
    "type": "Types of questions",
    RELATION: "Relations to the turn before",
    "dramaqa.q_level_mem": "DramaQA's levels of memory",
    "dramaqa.q_level_logic": "DramaQA's levels of logic",
    "dramaqa.extent": "Shot or scene",
}
EXTENT, MEMORY = "dramaqa.extent", "dramaqa.q_level_mem"

Labels = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class TaggedTurns:
    """N turns, M models."""

    videos: Sequence[str]
    """(N,) source video of each turn."""
    weights: Floats
    """(N,) 1 to 3 by the way of thinking; 0 if a turn has none and is not in the profile."""
    tags: Flags
    """(N, 19) in the order of `TAGS`; all False if a turn has no way of thinking."""
    groups: Mapping[str, Mapping[str, Flags]]
    """Other vocabularies, by name: (N,) for each label."""
    credit: Floats
    """(N, M) 0 to 1; NaN if a model has no score."""
    tag_credit: Mapping[str, Floats]
    """(N, M) credit at one tag, if a rubric gives it; else NaN. Most tags have no entry."""
    due: Flags
    """(N, M) whether the model was asked."""
    measures: tuple[str | None, ...]
    """(M,) measure of how right each model's answers are; None if there is none."""
    unscored: Flags | None = None
    """(N, M) True if a model should have a score and has none; by default none."""
    from_benchmark: int = 0
    """Number of turns with tags from the benchmark."""
    without_thinking: int = 0
    """Number of turns with a target or content but no way of thinking; these cannot be weighted and are left out."""
    crowded: tuple[str, ...] = field(default=())
    """Vocabularies with too many labels to group by."""

    @cached_property
    def video_codes(self) -> NDArray[np.intp]:
        """(N,) the source video of each turn as a number, in the order of their names, for faster grouping."""
        return numbered_clusters(self.videos)

    @property
    def tagged(self) -> Flags:
        """(N,) True if a turn is in the profile."""
        return self.weights > 0

    @property
    def has_tags(self) -> bool:
        """True if some turn with a score has tags."""
        return bool((self.tagged[:, None] & ~np.isnan(self.credit)).any())

    def withheld(self, model: int, among: Flags) -> bool:
        """True if so many of the given turns lack a score that a model's mean is not quoted."""
        missing = 0 if self.unscored is None else int((among & self.unscored[:, model]).sum())
        return is_withheld(int((among & ~np.isnan(self.credit[:, model])).sum()), missing)

    def at_tag(self, tag: str) -> Floats:
        """(N, M) credits at a tag."""
        own = self.tag_credit.get(tag)
        return self.credit if own is None else np.where(np.isnan(own), self.credit, own)


def tagged_turns(
    board: Leaderboard, dialogues: RunDialogues, benchmark: Benchmark | None = None, *, credit: str | None = None
) -> TaggedTurns:
    """All turns of runs with their tags and each model's credit.

    The most exact measure that all models have is used; if there is none, each model's own.

    Args:
        board: The models.
        benchmark: The benchmark of the runs, if given; its labels complete those of the runs.
        credit: A measure to use instead.

    Raises:
        InputError: A table of the benchmark is damaged.
        SettingError: No answer has a score by the chosen measure, or the measure has no scale.
    """
    measures = _measures(board, dialogues.scored, credit)
    labels, from_benchmark = _labels(dialogues.turns, benchmark)
    weights, tags, without = _tags(labels, len(dialogues.turns))
    groups, crowded = _groups(labels, len(dialogues.turns))
    shape = (len(dialogues.turns), len(board.models))
    shares, unscored, asked = np.full(shape, np.nan), np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    at_tags: dict[str, Floats] = {}
    places = dialogues.answers["turn"].to_numpy(), dialogues.answers["column"].to_numpy()
    asked[places] = dialogues.answers["state"].is_in(DUE_STATES).to_numpy()
    for measure in dict.fromkeys(measure for measure in measures if measure is not None):
        own = np.array([measure == other for other in measures])[places[1]]
        rows = places[0][own], places[1][own]
        unscored[rows] = dialogues.lacking(measure).to_numpy()[own]
        shares[rows] = [
            nan if value is None or (share := share_of_scale(measure, value)) is None else share
            for value in dialogues.answers[SCORE + measure].to_numpy()[own].tolist()
        ]
        for tag in TAGS:
            if (column := f"{SCORE}{measure}.{tag}") in dialogues.answers.columns:
                values = at_tags.setdefault(tag, np.full(shape, np.nan))
                partial = dialogues.answers[column].fill_null(nan).to_numpy()[own] / 100
                values[rows] = np.where(np.isnan(shares[rows]), nan, partial)
    return TaggedTurns(
        videos=dialogues.turns["video_id"].to_list(),
        weights=weights,
        tags=tags,
        groups=groups,
        credit=shares,
        tag_credit={tag: at_tags[tag] for tag in at_tags if np.isfinite(at_tags[tag]).any()},
        due=asked,
        measures=measures,
        unscored=unscored,
        from_benchmark=from_benchmark,
        without_thinking=without,
        crowded=crowded,
    )


def _labels(turns: "pl.DataFrame", benchmark: Benchmark | None) -> "tuple[pl.DataFrame, int]":
    """A row for each label of each turn: `turn`, `vocabulary` and `label`; and how many tags are the benchmark's."""
    import polars as pl

    vocabulary = pl.col("vocabulary")
    own = labels_of(turns)
    from_benchmark = 0
    if benchmark is not None:
        rows = benchmark_labels(benchmark, turns["unit_id"].unique().cast(pl.String).to_list())
        schema = {"unit_id": pl.String, "turn_index": pl.Int32, "vocabulary": pl.String, "label": pl.String}
        places = turns.select("turn", pl.col("unit_id").cast(pl.String), "turn_index")
        given = places.join(pl.DataFrame(rows, schema, orient="row"), on=["unit_id", "turn_index"])
        tagged = [rows.filter(vocabulary.str.starts_with(COGME))["turn"].unique() for rows in (own, given)]
        from_benchmark = int((~tagged[1].is_in(tagged[0].implode())).sum())
        more = given.join(own, on=["turn", "vocabulary"], how="anti").select(own.columns)
        own = pl.concat([own, more])
    tasks = turns.drop_nulls("task").select("turn", vocabulary=pl.lit(TASK), label=pl.col("task").cast(pl.String))
    named = own.filter(vocabulary == TASK_LABEL).with_columns(vocabulary=pl.lit(TASK))
    tasks = pl.concat([tasks, named.join(tasks, on="turn", how="anti")])
    own = own.filter(vocabulary != TASK_LABEL).join(tasks, on=["turn", "vocabulary"], how="anti")
    return pl.concat([own, tasks]), from_benchmark


def labels_of(turns: "pl.DataFrame") -> "pl.DataFrame":
    """A row for each label that a run gives a turn: `turn`, `vocabulary` and `label`."""
    import polars as pl

    parts = pl.col("labels").cast(pl.String).str.splitn("=", 2).struct
    labels = turns.select("turn", "labels").explode("labels", empty_as_null=False).drop_nulls()
    found = labels.select("turn", vocabulary=parts.field("field_0"), label=parts.field("field_1"))
    return found.filter(pl.col("vocabulary") != ANSWER_TYPE)


def _tags(labels: "pl.DataFrame", count: int) -> tuple[Floats, Flags, int]:
    """(N,) weights and (N, 19) tags of turns; and how many have a target or content but no way of thinking."""
    import polars as pl

    tags = np.zeros((count, len(TAGS)), np.bool_)
    carried = labels.filter(pl.col("vocabulary").is_in([TARGET, CONTENT]), pl.col("label").is_in(TAGS))
    tags[carried["turn"].to_numpy(), [TAGS.index(tag) for tag in carried["label"]]] = True
    weights = np.zeros(count)
    thinking = labels.filter(pl.col("vocabulary") == THINKING)
    for name, weight in WEIGHTS.items():
        weights[thinking.filter(pl.col("label") == name.value)["turn"].to_numpy()] = weight
    without = int((tags.any(axis=1) & (weights == 0)).sum())
    tags[weights == 0] = False
    for name, weight in WEIGHTS.items():
        tags[weights == weight, TAGS.index(name.value)] = True
    return weights, tags, without


def _groups(labels: "pl.DataFrame", count: int) -> tuple[dict[str, dict[str, Flags]], tuple[str, ...]]:
    """(N,) flags of every label of other vocabularies, and the names of vocabularies with too many labels."""
    import polars as pl

    found: dict[str, dict[str, Flags]] = {}
    crowded = []
    others = labels.filter(~pl.col("vocabulary").str.starts_with(COGME))
    known = dict(others.group_by("vocabulary").agg(pl.col("label").unique().sort()).iter_rows())
    for name in (*(name for name in VOCABULARY_TITLES if name in known), *sorted(known.keys() - VOCABULARY_TITLES)):
        names = known[name]
        if len(names) > MOST_LABELS:
            crowded.append(name)
            continue
        found[name] = {}
        for label in names:
            flags = found[name][label] = np.zeros(count, np.bool_)
            flags[others.filter(vocabulary=name, label=label)["turn"].to_numpy()] = True
    if MEMORY in found and EXTENT in found:
        found[MEMORY] = {_level(label, flags, found[EXTENT]): flags for label, flags in found[MEMORY].items()}
    return found, tuple(crowded)


def benchmark_labels(benchmark: Benchmark, unit_ids: Iterable[str]) -> Iterator[tuple[str, int, str, str]]:
    """Unit, turn, vocabulary and label of a benchmark's turns; on paths also the relation to the step before.

    Raises:
        InputError: A table is damaged.
    """
    units = (NamedRows(benchmark.table(CHAINS)), NamedRows(benchmark.table(DIALOGUES)))
    paths, links = NamedRows(benchmark.table(PATHS)), rows_by(benchmark.table(LINKAGES), "target.unit_id")

    @lru_cache(maxsize=CACHED_VALUES)
    def asked(unit_id: str) -> dict[int, Labels]:
        return {index: turn.labels for table in units if (unit := table.get(unit_id)) is not None
                for index, turn in enumerate(unit.turns)}  # fmt: skip

    for unit_id in unit_ids:
        found = dict(asked(unit_id))
        steps = path.steps if (path := paths.get(unit_id)) is not None else ()
        for index, step in enumerate(steps):
            own = step.turn.labels if step.turn is not None else asked(step.ref.unit_id).get(step.ref.turn_index, {})
            ends = (steps[index - 1].ref if index else None, step.ref)
            relations = [row.relation for row in links.get(step.ref.unit_id, ()) if (row.source, row.target) == ends]
            found[index] = {RELATION: tuple(relations[-1:]), **own}
        for index, labels in found.items():
            yield from ((unit_id, index, name, label) for name, own in labels.items() for label in own)


def title_of_vocabulary(name: str) -> str:
    """The title of a vocabulary."""
    return VOCABULARY_TITLES.get(name, name.replace("_", " "))


def _measures(board: Leaderboard, scored: Sequence[Collection[str]], chosen: str | None) -> tuple[str | None, ...]:
    """The measures of how right answers are: one for all models if they share one."""
    own = [[metric for metric in board.metrics if metric in known] for known in scored]
    if chosen is not None:
        has = [metric for metric in board.metrics if any(metric in metrics for metrics in own)]
        scaled = [m for m in has if share_of_scale(m, 0.0) is not None and metric_kind(m) in ("headline", "text")]
        if chosen not in scaled:
            raise SettingError(
                f"no answer of these runs has a score by {chosen!r} with a scale; "
                f"measures with one: {', '.join(scaled) or 'none'}"
            )
        return tuple(chosen if chosen in metrics else None for metrics in own)
    there = [metrics for metrics in own if metrics]
    shared = [metric for metric in board.metrics if there and all(metric in known for known in there)]
    common = credit_metric(shared)
    return tuple((common or credit_metric(metrics)) if metrics else None for metrics in own)


def _level(label: str, flags: Flags, extents: Mapping[str, Flags]) -> str:
    """A level of memory, with the extent in brackets if all its questions have the same (shot or scene)."""
    about = [name for name, where in extents.items() if (where & flags).any()]
    return f"{label} ({about[0]})" if len(about) == 1 else label

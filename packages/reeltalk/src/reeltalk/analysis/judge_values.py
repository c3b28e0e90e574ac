"""All scorers of answers: judges, rules and text metrics, each with its values by answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from reeltalk.analysis.columns import HUMAN, floor_of, is_reference, metric_kind, metric_title, span_of
from reeltalk.analysis.verdicts import NO_MODEL, Place, title_of_criterion
from reeltalk.errors import SettingError
from reeltalk.judge.protocol import COMPAT, ProtocolCriterion, find_protocol
from reeltalk.metrics.tokenise import languages_of, tokenise
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.runs import ModelInfo
from reeltalk.schema.scoring import ScoreState
from reeltalk.store.runs import Run
from reeltalk.store.score_frame import SCORE

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Kind = Literal["judge", "rule", "text"]
ScorerKey = tuple[str, str, str | None, str | None]
"""Protocol, criterion, judge, and the run where another run's judgings are kept apart."""

PLACE_COLUMNS: Final = ("model", "unit_id", "turn_index")
OVERLAP_METRICS: Final = ("token_f1", "rouge_l")
"""Text metrics that say how many words an answer shares with its reference, the first that a run has."""


@dataclass
class Scorer:
    """Something that scores answers."""

    name: str
    """Its unique name in tables."""
    kind: Kind
    protocol: str
    """The judging protocol; the metric where no protocol is."""
    criterion: str
    judge: str | None
    """The model that judges; None if none does."""
    values: Floats
    """(A,) of all answers, NaN where there is none. Rounds are averaged."""
    rounds: dict[int, list[float]] = field(default_factory=dict)
    """All rounds, where there are several, by row of the answer."""
    run: str | None = None
    """Which run's, where the same judge said something else of the same answer in another one."""

    @property
    def scale(self) -> tuple[float, float] | None:
        """Lowest and highest score; None if they are not known."""
        if self.kind == "text":
            return (0.0, span_of(self.criterion) or 1.0)
        found = self._described
        return None if found is None else (found.low, found.high)

    @property
    def passes(self) -> float | None:
        """The value from which an answer counts as right; None if it is not known."""
        found = self._described
        return None if found is None else found.pass_mark

    @property
    def known(self) -> Flags:
        """(A,) true for answers that it scored."""
        return np.isfinite(self.values)

    @property
    def _described(self) -> ProtocolCriterion | None:
        protocol = find_protocol(self.protocol)
        return None if protocol is None else protocol.criterion(self.criterion)


@dataclass(frozen=True)
class JudgedRuns:
    """All answers of some runs, and all that scored them."""

    answers: "pl.DataFrame"
    """(A,) a row for each answer, and for all answers of a dialogue together, of which `turn_index` is null.

    The other columns: `model`, `unit_id`, `video_id`; `words` of the answer, where Chinese is counted by segmented
    words; `right_option`, the place from 0 at which the right one of several options was shown; and `overlap`, the
    words that it shares with the reference, 0 to 1.
    """
    scorers: list[Scorer]
    infos: dict[str, ModelInfo]
    """By model."""

    @cached_property
    def places(self) -> dict[Place, int]:
        """The rows of answers by their places."""
        return {place: row for row, place in enumerate(self.answers.select(PLACE_COLUMNS).iter_rows())}

    @property
    def competing(self) -> dict[str, ModelInfo]:
        """Models that are compared, and people who answered: all but floors and references."""
        return {name: info for name, info in self.infos.items() if name not in self.landmarks}

    @property
    def landmarks(self) -> dict[str, ModelInfo]:
        """References and floors, by which a judge's scale is tried."""
        return {name: info for name, info in self.infos.items() if is_reference(info) or floor_of(info)}


def read_scored(runs: Sequence[Run]) -> JudgedRuns:
    """Read runs.

    Raises:
        SettingError: Two runs hold different answers of one model to one turn.
        InputError: A table is damaged.
    """
    import polars as pl

    texts: dict[Place, str] = {}
    rows: list[tuple[object, ...]] = []
    infos: dict[str, ModelInfo] = {}
    for run in runs:
        infos |= {info.model: info for info in run.info.models if info.model not in infos}
        rows += _read_answers(run, texts)
    schema = {"model": pl.String, "unit_id": pl.String, "turn_index": pl.Int32, "video_id": pl.String,
              "words": pl.Int64, "right_option": pl.Int32}  # fmt: skip
    turns = pl.DataFrame(rows, schema, orient="row")
    whole = turns.group_by("model", "unit_id", maintain_order=True).agg(pl.col("words").sum(), pl.last("video_id"))
    answers = pl.concat([turns, whole], how="diagonal")
    places = answers.select(PLACE_COLUMNS).with_row_index("answer")
    overlap = np.full(len(answers), np.nan)
    scorers: dict[ScorerKey, Scorer] = {}
    for run in runs:
        judged = _read_judged(run, scorers, places)
        _read_metrics(run, scorers, places, judged, overlap)
    found = [one for one in scorers.values() if one.known.any()]
    _name(found)
    return JudgedRuns(answers.with_columns(overlap=overlap), found, infos)


def _read_answers(run: Run, texts: dict[Place, str]) -> Iterator[tuple[object, ...]]:
    """The due answers of a run that none before it has."""
    for turn in run.answers():
        place = (turn.model, turn.unit_id, turn.turn_index)
        # People rate the answers of the first epoch.
        if not turn.state.is_due or turn.epoch:
            continue
        if place not in texts:
            texts[place] = turn.text
            words = len(tokenise(turn.text, languages_of([(turn.text,)])[0]))
            yield (*place, turn.video_id, words, _right_option(turn))
        elif texts[place] != turn.text:
            raise SettingError(
                f"{run.path} has another answer of {turn.model!r} to turn {turn.turn_index + 1} of {turn.unit_id!r} "
                "than a run before it, so a rating may mean either; calibrate the two apart"
            )


def _right_option(turn: AnsweredTurn) -> int | None:
    if not turn.options or turn.correct_option is None:
        return None
    order = turn.played.option_order if turn.played is not None else None
    shown = order if order is not None else tuple(range(len(turn.options)))
    return shown.index(turn.correct_option) if turn.correct_option in shown else None


def _read_judged(run: Run, scorers: dict[ScorerKey, Scorer], places: "pl.DataFrame") -> bool:
    """Add what judges gave; true if they gave something."""
    import polars as pl

    judge, criterion = pl.col("judge").cast(pl.String), pl.col("criterion").cast(pl.String).str.split(".")
    scored = run.scores.judged.filter(
        pl.col("state") == ScoreState.SCORED,
        pl.col("value").is_not_null(),
        pl.col("epoch") == 0,
        ~judge.str.starts_with(HUMAN) & ~criterion.list.contains(COMPAT),
    )
    by_rule = [name for name in run.protocols() if (one := find_protocol(name)) is not None and not one.needs_model]
    no_judge = pl.col("protocol").is_in(by_rule) | (judge == NO_MODEL)
    rounds = (
        scored.with_columns(pl.col("protocol", "criterion", "model", "unit_id").cast(pl.String))
        .with_columns(judge=pl.when(~no_judge).then(judge))
        .join(places, on=PLACE_COLUMNS, nulls_equal=True, maintain_order="left")
        .group_by("protocol", "criterion", "judge", "answer", maintain_order=True)
        .agg("value")
    )
    for (protocol, name, by), given in rounds.group_by("protocol", "criterion", "judge", maintain_order=True):
        values = np.full(len(places), np.nan)
        several = dict(given.select("answer", "value").iter_rows())
        values[list(several)] = [sum(own) / len(own) for own in several.values()]
        key: ScorerKey = (str(protocol), str(name), None if by is None else str(by), None)
        before = scorers.get(key)
        if before is not None and (before.known & np.isfinite(values) & (before.values != values)).any():
            # With another prompt, or by chance: neither run's may stand for both.
            key = (*key[:3], run.name)
        kind: Kind = "rule" if protocol in by_rule else "judge"
        scorer = scorers.setdefault(key, Scorer("", kind, *key[:3], np.full(len(places), np.nan), run=key[3]))
        scorer.values = np.where(np.isfinite(values), values, scorer.values)
        scorer.rounds |= {row: own for row, own in several.items() if len(own) > 1}
    return len(scored) > 0


def _read_metrics(
    run: Run, scorers: dict[ScorerKey, Scorer], places: "pl.DataFrame", judged: bool, overlap: Floats
) -> None:
    """Add text metrics, and judged measures of a run that has no table of what its judges gave."""
    import polars as pl

    if run.info.epochs:
        return  # these scores are means over epochs
    answers = run.scores.answers.with_columns(pl.col("model", "unit_id").cast(pl.String))
    turns = answers.join(places, on=PLACE_COLUMNS, maintain_order="left")
    rows = turns["answer"].to_numpy()
    shared = [SCORE + metric for metric in OVERLAP_METRICS if SCORE + metric in turns.columns]
    if shared:
        own = turns.select(pl.coalesce(shared)).to_series().fill_null(np.nan).to_numpy()
        overlap[rows] = np.where(np.isnan(overlap[rows]), own, overlap[rows])
    for metric in run.scores.measures:
        kind = metric_kind(metric)
        if kind == "text" or (kind == "headline" and not judged):
            unknown = np.full(len(places), np.nan)
            made = Scorer("", "text" if kind == "text" else "judge", metric, metric, None, unknown)
            scorer = scorers.setdefault((metric, metric, None, None), made)
            given = turns[SCORE + metric].fill_null(np.nan).to_numpy()
            scorer.values[rows] = np.where(np.isnan(scorer.values[rows]), given, scorer.values[rows])


def _name(scorers: Sequence[Scorer]) -> None:
    """Give each a name unlike all others, naming the judge where there is one."""
    for scorer in scorers:
        scorer.name = (
            metric_title(scorer.criterion)
            if scorer.kind == "text" or scorer.protocol == scorer.criterion
            else title_of_criterion(scorer.protocol, scorer.criterion)
        )
        if scorer.judge is not None:
            scorer.name += f", {scorer.judge}"
        if scorer.run is not None:
            scorer.name += f" · {scorer.run}"


def comparable_scorers(scorers: Sequence[Scorer], criterion: str) -> list[Scorer]:
    """Which of all scorers are compared with people on one criterion.

    Of a protocol with several criteria that is the one of the same name; else its overall; else all. Everything else
    says one thing of an answer, and is compared with people on every criterion.
    """
    groups: dict[tuple[str, str | None, str | None], list[Scorer]] = {}
    for scorer in scorers:
        groups.setdefault((scorer.protocol, scorer.judge, scorer.run), []).append(scorer)
    found: list[Scorer] = []
    for (protocol, *_), group in groups.items():
        alike = [one for one in group if one.criterion.casefold() == criterion.casefold()]
        described = find_protocol(protocol)
        main = protocol if described is None else described.main.name
        overall = [one for one in group if one.criterion in (main, "overall")]
        found += alike or overall or group
    return found

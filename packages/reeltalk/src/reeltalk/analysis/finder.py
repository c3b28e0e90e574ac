"""Every turn as a row of values for the finder page: right and wrong models, disagreement of judges, failures."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import Final

from reeltalk.analysis.columns import HUMAN, metric_kind, metric_title, share_of_scale
from reeltalk.analysis.dialogues import RunDialogues, ShownAnswer, ShownDialogue, ShownTurn
from reeltalk.analysis.leaderboard import Leaderboard
from reeltalk.analysis.turn_scores import credit_metric, labels_of
from reeltalk.analysis.verdicts import NO_MODEL, ShownScore, ShownVerdict
from reeltalk.judge.protocol import COMPAT, ProtocolCriterion, credit_measures, find_protocol
from reeltalk.judge.settings import JudgeSettings
from reeltalk.judge.turns import TurnJudge
from reeltalk.schema.answers import AnswerState
from reeltalk.schema.record import Json
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.schema.texts import printable

QUESTION_CHARACTERS: Final = 220
ANSWER_CHARACTERS: Final = 280
REASON_CHARACTERS: Final = 160
MOST_LABELS: Final = 400
"""Maximum number of label values to choose from; rarer ones are left out."""

STATE_LETTERS: Final = {
    AnswerState.ANSWERED: "a",
    AnswerState.FAILED: "f",
    AnswerState.NOT_ASKED: "n",
    AnswerState.NOT_SCORED: "h",
}


@dataclass
class FoundTurn:
    """One turn in the finder."""

    dialogue: int
    """Place among all dialogues."""
    turn: ShownTurn
    credits: list[list[float | None]]
    """By measure and model, from 0 to 1."""


@dataclass(frozen=True)
class Finder:
    """Facts that the finder's page needs once, not for each turn."""

    measures: list[str]
    """Titles of what says how right an answer is; the one that says it best first."""
    metrics: list[str]
    """The first of the measures: those that are metrics of the runs."""
    others: list[tuple[str, str]]
    """The measures after those: protocol and judge, as people who rated the same answers."""
    tasks: list[str]
    labels: list[tuple[str, str]]
    """Vocabulary and value, ordered by vocabulary and then by how frequent they are."""
    spreads: bool
    """True if some judge was asked several times."""
    unread: bool
    """True if a rule reads the answers, and may find no option or value in one."""
    unscored: bool
    failed: bool


def make_finder(board: Leaderboard, dialogues: RunDialogues) -> Finder:
    """Find what there is to choose from among the turns of runs."""
    import polars as pl

    metrics = [m for m in dialogues.metrics if metric_kind(m) == "headline" and share_of_scale(m, 0.0) is not None]
    best = credit_metric(dialogues.metrics)
    metrics.sort(key=lambda metric: (metric != best, _rank(metric)))
    if not metrics and best is not None:
        metrics = [best]
    place = ["column", "unit_id", "turn_index", "protocol"]
    criterion = pl.col("criterion").cast(pl.String).str.split(".")
    judgings = board.judgings.filter(pl.col("turn_index").is_not_null()).with_columns(
        name=criterion.list.first(),
        official=criterion.list.contains(COMPAT),
        another=pl.col("judge") != pl.col("judge").first().over(place),
    )
    judge = pl.col("judge").cast(pl.String)
    others = judgings.filter((judge != NO_MODEL) & (judge.str.starts_with(HUMAN) | pl.col("another")))
    rounds = judgings.filter(~pl.col("official")).group_by(*place, "judge", "name").len()
    named = others.select("protocol", "judge").unique().cast(pl.String).sort("protocol", "judge").rows()
    tasks = dialogues.turns["task"].drop_nulls().unique().cast(pl.String).sort().to_list()
    counts = labels_of(dialogues.turns).group_by("vocabulary", "label", maintain_order=True).len("count")
    frequent = counts.sort("count", descending=True, maintain_order=True).head(MOST_LABELS)
    return Finder(
        measures=[*map(metric_title, metrics), *(f"{metric_title(protocol)} by {judge}" for protocol, judge in named)],
        metrics=metrics,
        others=named,
        tasks=tasks,
        labels=frequent.sort("vocabulary", "count", "label", descending=[False, True, False])
        .select("vocabulary", "label")
        .rows(),
        spreads=bool((rounds["len"] > 1).any()),
        unread=any(_is_unread(protocol, None) is not None for protocol in judgings["protocol"].unique()),
        unscored=bool(judgings["failed"].any()),
        failed=not set(dialogues.answers["state"].unique()) <= {AnswerState.ANSWERED, AnswerState.NOT_SCORED},
    )


def found_in(finder: Finder, place: int, dialogue: ShownDialogue) -> Iterator[FoundTurn]:
    """Every turn of a dialogue with what each measure gives each model's answer."""
    for turn in dialogue.turns:
        given = [[_share(metric, answer) for answer in turn.answers] for metric in finder.metrics]
        given += [[_rated(protocol, judge, a) for a in turn.answers] for protocol, judge in finder.others]
        yield FoundTurn(place, turn, given)


def column_row(finder: Finder, found: FoundTurn, places: "TurnPlaces") -> Json:
    """A turn as the page's script reads it to filter; `turns.js` names the places of its values."""
    turn = found.turn
    stem, _, part = turn.file.removesuffix(".html").rpartition(".part")
    anchor = turn.anchor.removeprefix(f"turn-{turn.number}")
    return [
        found.dialogue,
        int(part) if stem and part.isdigit() else 0,
        turn.number,
        anchor,
        places.tasks.get(turn.task or "", -1),
        sorted(
            places.labels[label]
            for label in {(name, value) for name, values in turn.labels.items() for value in values}
            if label in places.labels
        ),
        shorten_line(turn.question, QUESTION_CHARACTERS),
        "".join(_state(answer) for answer in turn.answers),
        [[-1 if value is None else round(value * 1000) for value in values] for values in found.credits],
        [missing for model, answer in enumerate(turn.answers) for missing in _unscored(model, answer)],
        [round(1000 * _spread(answer)) for answer in turn.answers] if finder.spreads else [],
    ]


def word_row(turn: ShownTurn) -> Json:
    """The words of a turn that are shown with it: the first reference, and each model's answer."""
    reference = shorten_line(turn.references[0], ANSWER_CHARACTERS) if turn.references else ""
    return [reference, [shorten_line(answer.text or "", ANSWER_CHARACTERS) for answer in turn.answers]]


@dataclass(frozen=True)
class TurnPlaces:
    """The places of tasks and labels in their lists."""

    tasks: Mapping[str, int]
    labels: Mapping[tuple[str, str], int]

    @classmethod
    def of(cls, finder: Finder) -> "TurnPlaces":
        """The places in a finder's lists."""
        return cls(
            {task: place for place, task in enumerate(finder.tasks)},
            {label: place for place, label in enumerate(finder.labels)},
        )


def shorten_line(text: str, most: int) -> str:
    """A text on one line, cut where it is long, with all that is invisible made visible."""
    # What lies far beyond the cut need not be looked at.
    line = printable(" ".join(text[: 4 * most].split()))
    return line if len(line) <= most and len(text) <= 4 * most else line[:most] + "…"


def raw_share(protocol: str, value: float) -> float:
    """Where a judge's score lies on its scale, from 0 to 1."""
    described = find_protocol(protocol)
    criterion = ProtocolCriterion(protocol, protocol) if described is None else described.main
    return criterion.share(value)


def main_score(verdict: ShownVerdict) -> ShownScore | None:
    """The score of a verdict that stands for all of it: the protocol's own, the overall one, or its only one."""
    described = find_protocol(verdict.protocol)
    main = verdict.protocol if described is None else described.main.name
    found = next((score for score in verdict.scores if score.criterion == main), None)
    return found or (verdict.scores[0] if len(verdict.scores) == 1 else None)


def _rank(metric: str) -> int:
    ranked = credit_measures()
    return ranked.index(metric) if metric in ranked else len(ranked)


def _share(metric: str, answer: ShownAnswer) -> float | None:
    value = answer.scores.get(metric)
    return None if value is None else share_of_scale(metric, value)


def _rated(protocol: str, judge: str, answer: ShownAnswer) -> float | None:
    for verdict in answer.verdicts:
        if verdict.protocol == protocol and verdict.judge == judge and (score := main_score(verdict)) is not None:
            values = [given.value for given in score.given if given.value is not None]
            return raw_share(protocol, fmean(values)) if values else None
    return None


def _state(answer: ShownAnswer) -> str:
    if answer.text is None:
        return "-"
    if answer.state is AnswerState.ANSWERED and not answer.text.strip():
        return "e"
    said = ((v.protocol, given.explanation) for v in answer.verdicts for score in v.scores for given in score.given)
    if answer.state is AnswerState.ANSWERED and any(_is_unread(protocol, text) for protocol, text in said):
        return "u"
    return STATE_LETTERS[answer.state]


@lru_cache(maxsize=4096)
def _is_unread(protocol: str, said: str | None) -> bool | None:
    """True if a rule could read nothing from an answer, as it says; None if no rule reads answers for the protocol."""
    described = find_protocol(protocol)
    if described is None or described.needs_model:
        return None
    judge = described.create(JudgeSettings(protocols=(protocol,)))
    if not isinstance(judge, TurnJudge) or not judge.reads_answers:
        return None
    row = JudgedScore(
        unit="turn", unit_id="-", model="-", criterion=judge.criteria[0], judge=NO_MODEL, value=0.0, explanation=said
    )
    return judge.is_unread(row)


def _unscored(model: int, answer: ShownAnswer) -> Iterator[Json]:
    for verdict in answer.verdicts:
        for score in verdict.scores:
            if score.failed:
                why = next(
                    (g.explanation for g in score.given if g.state is ScoreState.UNSCORED and g.explanation), "not said"
                )
                yield [model, score.title, shorten_line(why, REASON_CHARACTERS)]


def _spread(answer: ShownAnswer) -> float:
    """The largest distance between judgings of one answer by one judge, from 0 to 1."""
    widest = 0.0
    for verdict in answer.verdicts:
        for score in verdict.scores:
            if len(score.given) > 1:
                values = [raw_share(verdict.protocol, given.value) for given in score.given if given.value is not None]
                if len(values) > 1:
                    widest = max(widest, max(values) - min(values))
    return widest

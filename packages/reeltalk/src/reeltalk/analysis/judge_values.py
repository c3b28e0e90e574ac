"""All scorers of answers: judges, rules and text metrics, each with its values by answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from reeltalk.analysis.columns import (
    HUMAN,
    floor_of,
    is_reference,
    metric_kind,
    metric_title,
    span_of,
)
from reeltalk.analysis.verdicts import NOBODY, Place, title_of_criterion
from reeltalk.errors import SettingError
from reeltalk.judge.protocol import COMPAT, ProtocolCriterion, find_protocol
from reeltalk.metrics.tokenise import languages_of, tokenise
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.runs import ModelInfo
from reeltalk.schema.scoring import ScoreState
from reeltalk.store.runs import Run

Kind = Literal["judge", "rule", "text"]
ScorerKey = tuple[str, str, str | None, str | None]
"""Protocol, criterion, judge, and the run where another run's judgings are kept apart."""

OVERLAP: Final = ("token_f1", "rouge_l")
"""Text metrics that say how many words an answer shares with its reference, the first that a run has."""


@dataclass(frozen=True)
class RatedAnswer:
    """An answer, or all answers of a dialogue, as numbers."""

    place: Place
    video_id: str
    words: int
    """Of the answer; of all answers where it is a whole dialogue. Chinese is counted by segmented words."""
    turn: int | None
    """Position in the dialogue, from 0; None if it is a whole dialogue."""
    overlap: float | None = None
    """Word overlap with the reference, 0 to 1."""
    right_option: int | None = None
    """At which place, from 0, the right one of several options was shown."""


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
    values: dict[Place, float] = field(default_factory=dict)
    """Rounds are averaged."""
    rounds: dict[Place, list[float]] = field(default_factory=dict)
    """All rounds, where there are several."""
    run: str | None = None
    """Which run's, where the same judge said something else of the same answer in another one."""

    @property
    def scale(self) -> tuple[float, float] | None:
        """From where to where it scores; None if nobody knows."""
        if self.kind == "text":
            return (0.0, span_of(self.criterion) or 1.0)
        found = self._described
        return None if found is None else (found.low, found.high)

    @property
    def passes(self) -> float | None:
        """The value from which an answer counts as right; None if nobody knows."""
        found = self._described
        return None if found is None else found.pass_mark

    @property
    def _described(self) -> ProtocolCriterion | None:
        protocol = find_protocol(self.protocol)
        return None if protocol is None else protocol.criterion(self.criterion)


@dataclass(frozen=True)
class JudgedRuns:
    """All answers of some runs, and all that scored them."""

    answers: dict[Place, RatedAnswer]
    scorers: list[Scorer]
    infos: dict[str, ModelInfo]
    """By model."""

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

    Args:
        runs: Those of one benchmark, judged by one judge or several.

    Raises:
        SettingError: Two runs hold different answers of one model to one turn.
        InputError: A table is damaged.
    """
    answers: dict[Place, RatedAnswer] = {}
    texts: dict[Place, str] = {}
    infos: dict[str, ModelInfo] = {}
    scorers: dict[ScorerKey, Scorer] = {}
    for run in runs:
        infos |= {info.model: info for info in run.info.models if info.model not in infos}
        turns = [turn for turn in run.answers() if turn.state.is_due]
        _read_answers(run, turns, answers, texts)
        judged = _read_judged(run, scorers)
        _read_metrics(run, turns, scorers, answers, judged)
    _add_dialogues(answers)
    found = [one for one in scorers.values() if one.values]
    _name(found)
    return JudgedRuns(answers, found, infos)


def _read_answers(
    run: Run, turns: Sequence[AnsweredTurn], answers: dict[Place, RatedAnswer], texts: dict[Place, str]
) -> None:
    for turn in turns:
        place = (turn.model, turn.unit_id, turn.turn_index)
        if place in texts and texts[place] != turn.text:
            raise SettingError(
                f"{run.path} has another answer of {turn.model!r} to turn {turn.turn_index + 1} of {turn.unit_id!r} "
                "than a run before it, so a rating may mean either; calibrate the two apart"
            )
        texts[place] = turn.text
        if place not in answers:
            words = len(tokenise(turn.text, languages_of([(turn.text,)])[0]))
            answers[place] = RatedAnswer(place, turn.video_id, words, turn.turn_index, right_option=_right_option(turn))


def _right_option(turn: AnsweredTurn) -> int | None:
    if not turn.options or turn.correct_option is None:
        return None
    order = turn.played.option_order if turn.played is not None else None
    shown = order if order is not None else tuple(range(len(turn.options)))
    return shown.index(turn.correct_option) if turn.correct_option in shown else None


def _read_judged(run: Run, scorers: dict[ScorerKey, Scorer]) -> set[str]:
    """Add what judges gave; the protocols that gave something."""
    found: set[str] = set()
    for protocol in run.protocols():
        described = find_protocol(protocol)
        by_rule = described is not None and not described.needs_model
        rounds: dict[tuple[str, str | None], dict[Place, list[float]]] = {}
        for row in run.judged(protocol):
            if row.judge.startswith(HUMAN) or COMPAT in row.criterion.split("."):
                continue
            if row.state is not ScoreState.SCORED or row.value is None:
                continue
            judge = None if by_rule or row.judge == NOBODY else row.judge
            place = (row.model, row.unit_id, row.turn_index)
            rounds.setdefault((row.criterion, judge), {}).setdefault(place, []).append(row.value)
        for (criterion, judge), places in rounds.items():
            found.add(protocol)
            kind: Kind = "rule" if by_rule else "judge"
            means = {place: sum(values) / len(values) for place, values in places.items()}
            key: ScorerKey = (protocol, criterion, judge, None)
            before = scorers.get(key)
            if before and any(before.values.get(place, value) != value for place, value in means.items()):
                # With another prompt, or by chance: neither run's may stand for both.
                key = (protocol, criterion, judge, run.name)
            scorer = scorers.setdefault(key, Scorer("", kind, protocol, criterion, judge, run=key[-1]))
            scorer.values |= means
            scorer.rounds |= {place: values for place, values in places.items() if len(values) > 1}
    return found


def _read_metrics(
    run: Run,
    turns: Sequence[AnsweredTurn],
    scorers: dict[ScorerKey, Scorer],
    answers: dict[Place, RatedAnswer],
    judged: set[str],
) -> None:
    """Add text metrics, and judged measures of a run that has no table of what its judges gave."""
    place_of = {(turn.model, turn.item_id): (turn.model, turn.unit_id, turn.turn_index) for turn in turns}
    for row in run.item_scores():
        place = place_of.get((row.model, row.item_id))
        if place is None:
            continue
        for metric, value in row.scores.items():
            kind = metric_kind(metric)
            if kind == "text" or (kind == "headline" and not judged):
                name: Kind = "text" if kind == "text" else "judge"
                scorer = scorers.setdefault((metric, metric, None, None), Scorer("", name, metric, metric, None))
                scorer.values.setdefault(place, value)
        overlap = next((row.scores[metric] for metric in OVERLAP if metric in row.scores), None)
        known = answers[place]
        if overlap is not None and known.overlap is None:
            answers[place] = RatedAnswer(place, known.video_id, known.words, known.turn, overlap, known.right_option)


def _add_dialogues(answers: dict[Place, RatedAnswer]) -> None:
    """Add every dialogue as a whole, for ratings and judges that say one thing of all its turns."""
    words: dict[tuple[str, str], int] = {}
    videos: dict[tuple[str, str], str] = {}
    for (model, unit, _), answer in answers.items():
        words[model, unit] = words.get((model, unit), 0) + answer.words
        videos[model, unit] = answer.video_id
    for (model, unit), total in words.items():
        answers[model, unit, None] = RatedAnswer((model, unit, None), videos[model, unit], total, None)


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

    Args:
        scorers: All.
        criterion: What people rated.
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

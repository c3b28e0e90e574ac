"""The standings of a leaderboard: one metric, who is shown to be better than whom, and the verdict as a sentence.

Ranks follow Chatbot Arena: a model's rank is one more than the number of models that are shown to be better, and its
range has every rank that the comparisons do not exclude. A model is shown to be better by the paired test of
`compare`, clustered by source video and corrected over all pairs, and never by intervals that do not overlap.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from reeltalk.analysis.columns import (
    BLIND_BASELINES,
    Role,
    direction_of,
    items_of,
    metric_kind,
    metric_title,
    n_items,
    share_of_scale,
)
from reeltalk.analysis.comparison import CompareSettings, Comparison, Comparisons, compare_models
from reeltalk.analysis.difference_words import list_names
from reeltalk.analysis.leaderboard import Cell, Leaderboard, ModelRow
from reeltalk.analysis.values import format_points, format_quoted, format_range
from reeltalk.judge.protocol import credit_measures, is_right_or_wrong, needs_model
from reeltalk.metrics.uncertainty import FEW_VIDEOS, FEWEST_VIDEOS, few_videos_warning
from reeltalk.schema.labels import VOCABULARIES, label_title
from reeltalk.schema.runs import MOST_UNSCORED, GroupRow, is_withheld

ROLES: Final[dict[Role, str]] = {
    "model": "Models",
    "people": "People",
    "baseline": "Baselines",
    "floor": "Floors",
    "reference": "Oracle and references",
}
"""Titles of the roles, in the order of the standings."""
OTHER_GROUPS: Final = frozenset({"turn", "turns", "video_length", "asked_at", "kind", "judge"})
"""Groups of a run that are not types of questions."""
TYPES_OF_QUESTIONS: Final = ("question_type", "task", "skill", "kind", "form")
"""Groups of a profile, the first that a run has."""
LEAST_TURNS: Final = 10
"""A type of question with fewer scored turns is not named as one of the worst."""
MOST_WEAK_TYPES: Final = 3
LEAST_COVERED: Final = 0.9
"""Least share of due turns to which a rule must apply before it ranks models."""


@dataclass(frozen=True)
class Headline:
    """The metric of the standings."""

    metric: str
    why: str
    """Why it was chosen, as a sentence."""
    covers: float = 1.0
    """Share of the models' due turns that it applies to."""

    @property
    def is_partial(self) -> bool:
        """True if so many due turns need a judge that the number is no verdict on the models."""
        return self.covers < LEAST_COVERED and not needs_model(self.metric)


@dataclass(frozen=True)
class Margin:
    """A model's lead over another one on the turns of both."""

    over: int
    """The other's place on the leaderboard."""
    difference: float | None
    """Of the metric; None if they could not be compared."""
    low: float | None
    high: float | None
    shown: bool
    """True if the model is shown to be better."""
    videos: int = 0
    """Number of source videos of the difference."""
    problem: str | None = None
    """Why they could not be compared, or why no winner may be named."""
    test: Comparison | None = None
    """The comparison of the two, in the order of the leaderboard."""


@dataclass(frozen=True)
class Standing:
    """One model in the standings."""

    index: int
    """Its place on the leaderboard."""
    model: ModelRow
    title: str
    """Its name for people; with the hash of its weights only if another model has the same name."""
    cell: Cell | None
    """Its number; None if its run does not have the metric."""
    rank: int | None
    """One more than the number of models shown to be better; None for all but models with a value."""
    ranks: tuple[int, int] | None
    """The best and the worst rank that the comparisons do not exclude."""
    above: Margin | None
    """The lead over the hardest baseline or floor that does not see the video; shown only if all leads are. None if
    there is none, for the baselines and floors that do not see it, for references, and without a value."""

    @property
    def role(self) -> Role:
        """What it is."""
        return self.model.role

    @property
    def value(self) -> float | None:
        """Its value; None if it is not scored or withheld."""
        return None if self.cell is None else self.cell.row.value

    @property
    def unread_share(self) -> float | None:
        """Share of its answers from which a rule read nothing, from 0 to 1; None if no rule reads them."""
        unread, read = unread_counts(self.model)
        return unread / read if read else None

    @property
    def unscored(self) -> int:
        """Number of items without a score."""
        return 0 if self.cell is None else self.cell.row.unscored

    @property
    def unscored_share(self) -> float:
        """Their share of all items that should have a score, from 0 to 1."""
        return self.unscored / self.cell.due if self.cell is not None and self.cell.due else 0.0

    @property
    def reason(self) -> str:
        """The most frequent reason for a missing score, or why there is no number; empty if nothing is missing."""
        if self.cell is None:
            return "its run does not have the metric"
        return next(iter(self.cell.row.reasons), self.cell.reason or "")


@dataclass(frozen=True)
class WeakType:
    """A type of question on which a model scores low."""

    title: str
    """Name of the type, as `Locations`."""
    kind: str
    """What the type is, as `question type`."""
    row: GroupRow

    @property
    def few(self) -> bool:
        """True if it has so few turns or videos that its share says little."""
        return self.row.n < LEAST_TURNS or (self.row.videos or FEWEST_VIDEOS) < FEWEST_VIDEOS

    @property
    def figures(self) -> str:
        """Its value with interval and n; of few turns how many are right."""
        row = self.row
        value = row.value or 0.0
        if self.few and is_right_or_wrong(row.metric):
            return f"{round((share_of_scale(row.metric, value) or 0.0) * row.n):,} of {row.n:,} right"
        interval = "" if self.few else format_range(row.low, row.high, row.metric) or "no interval"
        return f"{format_quoted(value, row.metric)} {interval}".rstrip() + f", n = {row.n:,}{n_items(row.metric)}"


@dataclass(frozen=True)
class Standings:
    """All models by one metric."""

    board: Leaderboard
    headline: Headline | None
    """None if the runs have no metric that can rank models."""
    rows: tuple[Standing, ...]
    """By role, then by value, the highest first."""
    verdict: str
    """The result in one sentence."""
    videos: int
    """Number of source videos behind the numbers, of the model with the most."""
    warnings: tuple[str, ...]
    """What limits the numbers, one sentence each."""
    open: Margin | None = None
    """The lead of the first model over the second that is not shown, or if there is one model its lead over the hardest
    baseline that does not see the video; None if these leads are shown, or nobody compared them."""

    @property
    def models(self) -> list[Standing]:
        """The models, without people, baselines, floors and references."""
        return [row for row in self.rows if row.role == "model"]

    @property
    def leading(self) -> Standing | None:
        """The model with the highest value; without models the best of the others, and None without any value."""
        return next((row for row in self.rows if row.value is not None), None)

    def by_role(self) -> list[tuple[str, list[Standing]]]:
        """Titles of roles with their rows; roles without a row are left out."""
        found = [(title, [row for row in self.rows if row.role == role]) for role, title in ROLES.items()]
        return [(title, rows) for title, rows in found if rows]


def headline_metric(board: Leaderboard) -> Headline | None:
    """The metric by which models are ranked.

    It is a judged measure: of those that most models have, one that applies to the most due turns and measures
    correctness most exactly. Values play no part in the choice, and overlap of words never ranks.

    Returns:
        None if the runs have none.
    """
    exact = credit_measures()
    models = [model for model in board.models if model.role == "model"] or board.models
    judged = [
        metric for metric in board.metrics if direction_of(metric) == "higher" and metric_kind(metric) == "headline"
    ]
    if not judged:
        return None
    covers = {metric: coverage(models, metric) for metric in judged}
    most = max(covers.values())

    def place(metric: str) -> tuple[int, bool, int]:
        order = exact.index(metric) if metric in exact else len(exact)
        there = sum(model.cells[metric] is not None for model in models)
        return -there, covers[metric] < most - MOST_UNSCORED, order

    metric = min(judged, key=place)
    few = "the only judged measure" if len(judged) == 1 else "of the judged measures the most exact that models share"
    return Headline(metric, f"{metric_title(metric)} ranks the models: it is {few}.", covers[metric])


def coverage(models: Sequence[ModelRow], metric: str) -> float:
    """The share of the due turns of some models to which a measure of turns applies, 0 to 1.

    1 for a measure of whole dialogues, and for runs that do not count their turns.
    """
    pairs = [(cell, model.info.due) for model in models if (cell := model.cells[metric]) is not None and model.info.due]
    if not pairs or items_of(metric) != "turns":
        return 1.0
    return min(1.0, sum(cell.due for cell, _ in pairs) / sum(due for _, due in pairs))


def find_standings(board: Leaderboard, metric: str | None = None, *, compared: Comparisons | None = None) -> Standings:
    """The standings of a leaderboard.

    Args:
        metric: The metric; `headline_metric` chooses it by default.
        compared: Comparisons of all pairs of the leaderboard in its headlines and text metrics, if they are known.

    Raises:
        BenchmarkError: A run's tables do not have one order.
        InputError: A table is damaged.
    """
    headline = headline_metric(board) if metric is None else Headline(metric, f"{metric_title(metric)} was chosen.")
    if headline is None:
        why = "overlap of words does not tell right from wrong"
        return Standings(board, None, (), f"No verdict: these turns need a judge, since {why}.", 0, ())
    pairs = _Pairs.of(board, headline.metric, compared)

    def standing(index: int, model: ModelRow) -> Standing:
        ranks = (None, None, None) if headline.is_partial else (*pairs.rank(index), pairs.above_the_blind(index))
        return Standing(index, model, board.titles[index], model.cells[headline.metric], *ranks)

    rows = [standing(index, model) for index, model in enumerate(board.models)]
    order = list(ROLES)
    rows.sort(key=lambda row: (order.index(row.role), row.value is None, -(row.value or 0.0), row.title))
    known = [
        # Runs of older versions do not say how many videos a number rests on.
        row.model.run.info.clusters if row.cell.row.videos is None else row.cell.row.videos
        for row in rows
        if row.cell is not None and row.cell.row.value is not None and row.role != "floor"
    ]
    videos = max(known, default=0)
    if headline.is_partial:
        verdict = (
            f"No verdict: these turns need a judge, since {metric_title(headline.metric)} applies to "
            f"{100 * headline.covers:.0f} % of the due turns."
        )
    else:
        verdict = " ".join(_Verdict(headline.metric, rows, pairs, videos).sentence().split())
    first, second = ([row for row in rows if row.role == "model" and row.value is not None] + [None, None])[:2]
    lead = None if first is None else first.above if second is None else pairs.margin(first.index, second.index)
    undecided = lead if lead is not None and not lead.shown and not headline.is_partial else None
    return Standings(board, headline, tuple(rows), verdict, videos, tuple(_warnings(board, headline, known)), undecided)


def worst_types(board: Leaderboard, index: int, metric: str, most: int = MOST_WEAK_TYPES) -> list[WeakType]:
    """The types of questions on which a model has the lowest values, the lowest first.

    Types with fewer than ten scored turns or fewer than four videos are named only if there is no other. Types in which
    nothing is wrong are left out, and so are those that a run divides no further.

    Raises:
        InputError: The run's table of groups is damaged.
    """
    model = board.models[index]
    kinds: dict[str, list[GroupRow]] = {}
    for row in model.run.groups():
        if (row.model, row.metric) == (model.info.model, metric) and row.by not in OTHER_GROUPS:
            kinds.setdefault(row.by, []).append(row)
    found = {
        (row.value, row.n): WeakType(*_type_names(row), row)
        # The form of an answer follows from the question: a type that somebody named for the same turns says more.
        for _, rows in sorted(kinds.items(), key=lambda kind: kind[0] != "form")
        if len(rows) > 1
        for row in rows
        if row.value is not None and share_of_scale(metric, row.value) != 1
    }
    enough = [weak for weak in found.values() if not weak.few]
    return sorted(enough or found.values(), key=lambda weak: weak.row.value or 0.0)[:most]


def type_vocabulary(by: str) -> str:
    """The vocabulary whose labels a kind of group has, such as `vdact.question_type`; else the kind itself."""
    return next((name for name in VOCABULARIES if by in (name, name.split(".")[-1])), by)


def group_title(by: str, group: str) -> str:
    """The name of a group of turns, or of a label, for people, such as `Sequence` for `T-SEQ`."""
    return label_title(type_vocabulary(by), group).replace("_", " ")


def _type_names(row: GroupRow) -> tuple[str, str]:
    title = group_title(row.by, row.group)
    kind = "measure" if row.by == "form" else row.by.split(".")[-1].replace("_", " ")
    return title[:1].upper() + title[1:], kind


def _warnings(board: Leaderboard, headline: Headline, videos: Sequence[int | None]) -> Iterator[str]:
    metric = headline.metric
    if headline.covers < 1 and not headline.is_partial:
        yield f"{metric_title(metric)} covers {100 * headline.covers:.0f} % of the due turns; the others need a judge."
    yield from filter(None, (unread_warning(model) for model in board.models if model.competes))
    if metric in board.mixed:
        yield f"Not all numbers are comparable. {board.why_mixed(metric)}"
    if warning := few_videos_warning(videos):
        yield warning
    runs = [model.run.info for model in board.models]
    yield from dict.fromkeys(line for info in runs for line in (*info.warnings, *info.remarks))


def unread_counts(model: ModelRow) -> tuple[int, int]:
    """Number of a model's answers from which a rule read nothing, and of those that rules read at all."""
    unread = read = 0.0
    for metric, cell in model.cells.items():
        if metric.endswith(".unread") and cell is not None and cell.row.n:
            value = cell.row.value if cell.row.value is not None else cell.row.over_scored or 0.0
            unread, read = unread + value / 100 * cell.row.n, read + cell.row.n
    return round(unread), round(read)


def unread_warning(model: ModelRow) -> str | None:
    """A sentence about a model of whose answers more than 2 % could not be read; None for others."""
    unread, read = unread_counts(model)
    if not is_withheld(read - unread, unread):
        return None
    return f"{unread:,} of {read:,} answers of {model.title} could not be read, and count as wrong."


@dataclass(frozen=True)
class _Pairs:
    """All comparisons of the models on one metric."""

    board: Leaderboard
    metric: str
    rows: dict[tuple[int, int], Comparison]
    alpha: float

    @classmethod
    def of(cls, board: Leaderboard, metric: str, found: Comparisons | None) -> "_Pairs":
        settings = CompareSettings(metrics=(metric,))
        if len(board.models) < 2:
            return cls(board, metric, {}, settings.alpha)
        if found is None:
            found = compare_models(board, settings, models=range(len(board.models)), strict=False)
        # A short name such as `bleu` stands for several metrics.
        rows = {(row.first, row.second): row for row in found.rows if row.metric == metric}
        return cls(board, metric, rows, settings.alpha)

    def margin(self, index: int, other: int) -> Margin | None:
        """The lead of a model over another one; None if nobody compared them."""
        row = self.rows.get((min(index, other), max(index, other)))
        if row is None:
            return None
        if row.problem is not None or row.difference is None:
            problem = (row.problem or "nothing to compare").split("; --anyway")[0]
            return Margin(other, None, None, None, False, problem=problem)
        sign = 1 if row.first == index else -1
        low, high = (row.low, row.high) if sign > 0 or row.low is None or row.high is None else (-row.high, -row.low)
        shown = row.videos >= FEWEST_VIDEOS and row.winner(self.alpha) == index
        return Margin(other, sign * row.difference, low, high, shown, row.videos, row.withheld, row)

    def ranked(self) -> list[int]:
        """Places of the models that have a value."""
        return [
            index
            for index, model in enumerate(self.board.models)
            if model.role == "model" and (cell := model.cells[self.metric]) is not None and cell.row.value is not None
        ]

    def rank(self, index: int) -> tuple[int | None, tuple[int, int] | None]:
        """The rank of a model, and the range of ranks that its comparisons do not exclude."""
        ranked = self.ranked()
        if index not in ranked:
            return None, None
        others = [other for other in ranked if other != index]
        better = sum(bool((lead := self.margin(other, index)) and lead.shown) for other in others)
        worse = sum(bool((lead := self.margin(index, other)) and lead.shown) for other in others)
        return 1 + better, (1 + better, len(ranked) - worse)

    def above_the_blind(self, index: int) -> Margin | None:
        """The smallest lead over the baselines that do not see the video, or over those not shown to be below."""
        model = self.board.models[index]
        cell = model.cells[self.metric]
        if model.info.source in BLIND_BASELINES or model.role == "reference" or cell is None or cell.row.value is None:
            return None
        blind = [place for place, model in enumerate(self.board.models) if model.info.source in BLIND_BASELINES]
        margins = [margin for place in blind if (margin := self.margin(index, place)) is not None]
        compared = [(margin.difference, margin) for margin in margins if margin.difference is not None]
        if not compared:
            return margins[0] if margins else None
        # A lead that is not shown is the one to report; with all shown, the smallest.
        failing = [pair for pair in compared if not pair[1].shown]
        return min(failing or compared, key=lambda pair: pair[0])[1]


@dataclass(frozen=True)
class _Verdict:
    """Chooses the sentence that is true."""

    metric: str
    rows: Sequence[Standing]
    pairs: _Pairs
    videos: int

    def sentence(self) -> str:
        """The verdict."""
        models = [row for row in self.rows if row.role == "model"]
        scored = [row for row in models if row.value is not None]
        if not models:
            return self._without_models()
        if not scored:
            return self._unscored(models)
        if self.videos < FEWEST_VIDEOS:
            count = "1 video" if self.videos == 1 else f"{self.videos} videos"
            return f"There is no verdict on {count}: at least {FEWEST_VIDEOS} are needed."
        told = self._one(scored[0]) if len(scored) == 1 else self._several(scored)
        missing = [row.title for row in models if row.value is None]
        if missing and len(models) > 1:
            have = "has" if len(missing) == 1 else "have"
            told = f"{told.removesuffix('.')}; {list_names(missing)} {have} no score to quote."
        return f"{told.removesuffix('.')} (roughly: {self.videos} videos are few)." if self._rough else told

    @property
    def _rough(self) -> bool:
        return FEWEST_VIDEOS <= self.videos < FEW_VIDEOS

    def _without_models(self) -> str:
        best = next((row for row in self.rows if row.role == "baseline" and row.value is not None), None)
        if best is None or best.cell is None or best.value is None:
            kinds = " and ".join(dict.fromkeys(ROLES[row.role].lower() for row in self.rows))
            return f"No model was run, only {kinds}."
        interval = format_range(best.cell.row.low, best.cell.row.high, self.metric)
        value = format_quoted(best.value, self.metric)
        return f"No model was run; the best baseline, {best.title}, has {value}{f' {interval}' if interval else ''}."

    def _unscored(self, models: Sequence[Standing]) -> str:
        who = models[0].title if len(models) == 1 else "No model"
        reason = next((row.reason for row in models if row.reason), "the run does not say why")
        withheld = next((row for row in models if row.cell is not None and row.cell.withheld), None)
        title = metric_title(self.metric)
        verb = "has no" if len(models) == 1 else "has an" if title[:1] in "AEIOU" else "has a"
        if withheld is None or withheld.cell is None:
            return f"{who} {verb} {title} score: {reason}."
        items = items_of(self.metric)
        count = f"{withheld.unscored:,} of {withheld.cell.due:,} {items} are unscored, more than 2 % ({reason})"
        return f"{who} {verb} {title} score to quote: {count}."

    def _one(self, row: Standing) -> str:
        above = row.above
        if above is None:
            return f"{row.title} is the only model, and there is no baseline to compare it with."
        if above.difference is None:
            return f"{row.title} cannot be compared with the baselines that do not see the video: {above.problem}."
        if above.shown:
            return f"{row.title} scores {self._lead(above)} more than {self._bar(above)} {self._interval(above)}."
        other = self.pairs.board.models[above.over].title
        behind = self.pairs.margin(above.over, row.index)
        if behind is not None and behind.shown:
            lead, interval = self._lead(behind), self._interval(behind)
            return f"{row.title} scores {lead} less than {other}, which does not see the video {interval}."
        return f"{row.title} is not shown to be above {other}, which does not see the video{self._short(above)}."

    def _several(self, scored: Sequence[Standing]) -> str:
        tested = [row for row in scored if row.above is not None and row.above.difference is not None]
        above = [row for row in tested if row.above is not None and row.above.shown]
        pairs = [self.pairs.margin(one.index, two.index) for one, two in combinations(scored, 2)]
        compared = [pair for pair in pairs if pair is not None and pair.difference is not None]
        if not compared:
            problem = next((pair.problem for pair in pairs if pair is not None), "they share no turns")
            return f"The models cannot be compared with each other: {problem}."
        blind = "the baselines that do not see the video"
        if tested and not above:
            return f"No model is shown to be above {blind}."
        beyond = "" if not tested else f"{len(above)} of {len(scored)} are shown to be above {blind}"
        if len(above) == len(scored):
            beyond = f"{'both' if len(scored) == 2 else 'all'} are shown to be above {blind}"
        first = scored[0]
        leads = [self.pairs.margin(first.index, row.index) for row in scored[1:]]
        if all(lead is not None and lead.shown for lead in leads):
            return self._leader(first, [lead for lead in leads if lead is not None])
        best = [row for row in scored if row.rank == 1]
        if len(best) == len(scored):
            told = "No model is shown to be better than another"
        else:
            told = f"{len(best)} of {len(scored)} models may be the best: {list_names([row.title for row in best])}"
        return f"{told}; {beyond}." if beyond else f"{told}."

    def _leader(self, first: Standing, leads: Sequence[Margin]) -> str:
        hardest = min(leads, key=lambda lead: lead.difference or 0.0)
        other = self.pairs.board.titles[hardest.over]
        told = f"{first.title} is the best model: {self._lead(hardest)} more than {other} {self._interval(hardest)}"
        above = first.above
        if above is None or above.difference is None:
            return f"{told}."
        if above.shown:
            return f"{told}, and {self._lead(above)} more than {self._bar(above)} {self._interval(above)}."
        other = self.pairs.board.models[above.over].title
        return f"{told}, but it is not shown to be above {other}, which does not see the video."

    def _bar(self, above: Margin) -> str:
        blind = self.pairs.board.models[above.over]
        if blind.role == "floor":
            return f"the best floor ({blind.title}: {blind.note})"
        return f"the best baseline that does not see the video ({blind.title})"

    def _lead(self, margin: Margin) -> str:
        return format_points(margin.difference or 0.0, self.metric)

    def _interval(self, margin: Margin) -> str:
        return format_range(margin.low, margin.high, self.metric)

    def _short(self, margin: Margin) -> str:
        if margin.problem:
            return f": {margin.problem}"
        interval = format_range(margin.low, margin.high, self.metric, signed=True)
        return f": the difference may be anything in {interval}" if interval else ""

"""What to do next with some runs, chosen by evidence: one main step, and at most two others."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from reeltalk.analysis.columns import BLIND_BASELINES, metric_title, span_of
from reeltalk.analysis.difference_words import list_names
from reeltalk.analysis.standings import Margin, Standings, unread_counts, unread_warning
from reeltalk.analysis.values import format_points, format_range
from reeltalk.extension import OBJECT_PREFIX, PYTHON_PREFIX
from reeltalk.judge.protocol import needs_model
from reeltalk.metrics.significance import POWER, videos_needed
from reeltalk.metrics.uncertainty import FEW_VIDEOS, FEWEST_VIDEOS
from reeltalk.store.runs import Run

RETRIED_STAGES: Final = ("evaluate", "judge")
"""Kinds of runs that `retry` can repeat."""
MOST_STEPS: Final = 3
"""Most steps that are suggested."""
SMALLEST_DIFFERENCE: Final = 5.0
"""The smallest difference to look for, in hundredths of the metric's scale: nobody adds videos for less."""
MOST_TIMES_THE_VIDEOS: Final = 10
"""If it takes so many times the videos to tell two models apart, they are better taken as equal."""
LEAST_RATED: Final = 20
"""Rated answers of each model that a corrected mean takes."""
RATED_VIDEOS: Final = 10
"""Rated videos that it takes."""


class NextStep(NamedTuple):
    """Something to do."""

    title: str
    """What to do, as a sentence."""
    evidence: str
    """The numbers that ask for it."""
    command: str = ""
    """The command to copy; empty if there is none."""
    link: str = ""
    """The page of the report that helps."""


class _Evidence(NamedTuple):
    found: Standings
    bench: str
    judge: str | None
    rated: bool
    turns: int

    def command(self, verb: str, *more: str, paths: Sequence[Path] | None = None) -> str:
        if paths is None:
            paths = [model.run.path for model in self.found.board.models]
        runs = list(dict.fromkeys(map(shown_path, paths)))
        return " ".join(["reeltalk", verb, *runs, *more])


def shown_path(path: Path) -> str:
    """A path for a command on a page that others may read: as it was given; of one from the root only the name."""
    return shlex.quote(path.name if path.is_absolute() else path.as_posix())


def next_steps(
    found: Standings, *, bench: Path | None = None, judge: str | None = None, rated: bool = False, turns: int = 0
) -> list[NextStep]:
    """What to do next, the main step first.

    Args:
        found: The standings of a report.
        bench: The benchmark's folder, for commands.
        judge: Name of the model that judged; None if none did.
        rated: True if people rated some of the answers.
        turns: Number of turns of the report.

    Returns:
        One to three steps.
    """
    told = _Evidence(found, "BENCH" if bench is None else shown_path(bench), judge, rated, turns)
    steps = [step for rule in RULES for step in rule(told)]
    # What the first rules ask for would change the result.
    return [*steps, *_second(told), *(() if steps else _publish(told))][:MOST_STEPS]


def _failed(told: _Evidence) -> Iterator[NextStep]:
    models = [model for model in told.found.board.models if model.competes and model.info.without_answer]
    if models:
        counts = [f"{model.info.without_answer:,} of {model.info.due:,} due turns of {model.title}" for model in models]
        asked = [m.run.path for m in models if m.info.turns.get("failed") and _repeatable(m.run)]
        yield NextStep(
            "Ask again what failed." if asked else "Add the answers that are missing, and evaluate again.",
            f"{list_names(counts)} have no answer, and every mean leaves them out.",
            f"reeltalk retry {shown_path(asked[0])}" if asked else "",
            "failures.html",
        )
    elif lost := [row for row in told.found.rows if row.unscored and row.model.competes]:
        counts = [f"{row.unscored:,} of {row.title} ({row.reason})" for row in lost]
        again = told.judge and _repeatable(lost[0].model.run)
        yield NextStep(
            "Judge again what has no score." if again else "See why answers have no score.",
            f"Answers without a score: {list_names(counts)}.",
            f"reeltalk retry {shown_path(lost[0].model.run.path)}" if again else "",
            "failures.html",
        )


def _unread(told: _Evidence) -> Iterator[NextStep]:
    models = [model for model in told.found.board.models if model.role == "model" and unread_warning(model)]
    if models:
        counts = ["{:,} of {:,} answers of {}".format(*unread_counts(model), model.title) for model in models]
        yield NextStep(
            "Read the answers that no rule could read.",
            f"{list_names(counts)} count as wrong, because no rule could read them. If they are right in other words, "
            "the score is about form; a model that judges reads any form.",
            told.command("judge", "--protocols llm-acc --judge NAME --out judged", paths=[m.run.path for m in models]),
            "turns.html#show=unread",
        )


def _unjudged(told: _Evidence) -> Iterator[NextStep]:
    headline = told.found.headline
    if headline is None or headline.is_partial:
        share = "no turn" if headline is None else f"{100 * headline.covers:.0f} % of the due turns"
        how = "Only overlap of words was measured" if headline is None else f"{metric_title(headline.metric)} is a rule"
        yield NextStep(
            "Let a model judge the free answers.",
            f"{how}, and tells right from wrong on {share}.",
            told.command("judge", "--protocols clair --judge NAME --out judged"),
        )


def _mixed(told: _Evidence) -> Iterator[NextStep]:
    headline = told.found.headline
    for one in told.found.board.differences(headline.metric)[:1] if headline is not None else ():
        if one.equal:
            yield NextStep(f"{one.equal[0].upper()}{one.equal[1:]}.", f"{one.what}.", link="numbers.html#signatures")


def _alone(told: _Evidence) -> Iterator[NextStep]:
    board = told.found.board
    if not any(model.role == "model" for model in board.models):
        yield NextStep(
            "Evaluate a model.",
            "Only baselines and references answered.",
            f"reeltalk evaluate {told.bench} --model NAME --base-url http://localhost:8000/v1 --out runs/model",
        )
    elif not any(model.role == "baseline" and model.info.source in BLIND_BASELINES for model in board.models):
        first = next(model for model in board.models if model.role == "model")
        yield NextStep(
            "Add a baseline that does not see the videos.",
            f"Nothing here tells how much {first.title} would score without them. It takes seconds, and no model.",
            f"reeltalk evaluate {told.bench} --model baseline:blind --out runs/blind",
        )


def _few_videos(told: _Evidence) -> Iterator[NextStep]:
    """More videos, if they would decide what is open."""
    found, lead = told.found, told.found.open
    if found.headline is None or found.headline.is_partial or not found.videos:
        return
    videos, metric = found.videos, found.headline.metric
    needed = _needed(lead, metric) if lead is not None else None
    if videos < FEWEST_VIDEOS or needed is None:
        if videos < FEW_VIDEOS:
            yield NextStep(
                f"Add questions about {FEW_VIDEOS - videos} more videos.",
                f"These turns are about {videos}. Below {FEWEST_VIDEOS} videos a value has no interval, and below "
                f"{FEW_VIDEOS} it is rough.",
            )
        return
    difference, count = needed
    if lead is None or lead.test is None or lead.difference is None or count <= videos:
        return
    first, second = (found.board.titles[index] for index in (lead.test.first, lead.test.second))
    interval = format_range(lead.low, lead.high, metric, signed=True)
    more = f"{count - videos:,} more videos"
    far = f"Take {first} and {second} as equal, unless you can add questions about {more}."
    yield NextStep(
        far if count > MOST_TIMES_THE_VIDEOS * videos else f"Add questions about {more}.",
        f"{first} and {second} differ by {format_points(abs(lead.difference), metric)} {interval} on {videos:,} "
        "videos. The interval is clustered by video, and narrows with the square root of their number: "
        f"{count:,} videos show a difference of {format_points(difference, metric)} with {100 * POWER:.0f} % power.",
        told.command(
            "compare", "--power", paths=[found.board.models[i].run.path for i in (lead.test.first, lead.over)]
        ),
    )


def _needed(lead: Margin, metric: str) -> tuple[float, int] | None:
    """The difference to find, and the number of videos that it takes; None if the videos here tell no spread."""
    test, span = lead.test, span_of(metric)
    if test is None or span is None or not test.standard_error or test.df is None or lead.difference is None:
        return None
    difference = max(abs(lead.difference), SMALLEST_DIFFERENCE / 100 * span)
    alpha = 1 - (test.confidence or 0.95)
    count = videos_needed(difference, test.standard_error, test.df, test.videos, alpha=alpha)
    return None if count is None else (difference, max(count, FEW_VIDEOS))


def _unrated(told: _Evidence) -> Iterator[NextStep]:
    headline, models = told.found.headline, told.found.models
    if headline is None or told.rated or not models or not (told.judge or needs_model(headline.metric)):
        return
    count = min(LEAST_RATED * len(models), told.turns * len(models))
    yield NextStep(
        f"Let people rate {count:,} answers.",
        f"{told.judge or 'A model'} judged, and nobody compared it with people. That takes {LEAST_RATED} ratings of "
        f"each model, about {RATED_VIDEOS} videos.",
        told.command("calibrate", f"--sheet ratings.csv --items {count} --criteria correctness"),
    )


def _not_above(told: _Evidence) -> Iterator[NextStep]:
    headline, models = told.found.headline, told.found.models
    above = models[0].above if models else None
    if headline is None or above is None or above.difference is None or above.shown or above.videos < FEWEST_VIDEOS:
        return
    blind, model = told.found.board.titles[above.over], _model_of(models[0].model.run)
    controls = f"{shlex.quote(model)} --controls none,black --out runs/controls"
    yield NextStep(
        f"Find out what {models[0].title} sees.",
        f"Its lead over {blind}, which does not see the videos, may be anything in "
        f"{format_range(above.low, above.high, headline.metric, signed=True)}. Controls ask it without "
        "pictures, and with black ones.",
        f"reeltalk evaluate {told.bench} --model {controls}" if _is_named(model) else "",
        f"turns.html#show=right-wrong&a={above.over}&b={models[0].index}",
    )


def _model_of(run: Run) -> str:
    return str(run.info.settings.get("model") or "NAME")


def _is_named(model: str) -> bool:
    """True for a model of the command line, which a function of a notebook is not."""
    return not model.startswith(f"{PYTHON_PREFIX}{OBJECT_PREFIX}")


def _repeatable(run: Run) -> bool:
    return run.info.kind in RETRIED_STAGES and _is_named(_model_of(run))


def _second(told: _Evidence) -> Iterator[NextStep]:
    if len(told.found.models) == 1:
        yield NextStep(
            "Add a second model.",
            f"{told.found.models[0].title} is the only one, and a score says most beside another.",
            f"reeltalk evaluate {told.bench} --model NAME --base-url http://localhost:8000/v1 --out runs/second",
        )


def _publish(told: _Evidence) -> Iterator[NextStep]:
    yield NextStep(
        "Publish the result.",
        told.found.verdict,
        told.command("report", f"--bench {told.bench} --figures pdf --tables latex --out paper"),
    )


RULES: Final[tuple[Callable[[_Evidence], Iterator[NextStep]], ...]] = (
    # In the order in which numbers arise: a step comes before all whose evidence it would change. First which answers
    # there are, what measures them and whether it can read them, whether two numbers may be compared, and with what.
    # Then on how many videos they rest, whether people agree with the judge, and what the score owes to the videos.
    _failed,
    _unjudged,
    _unread,
    _mixed,
    _alone,
    _few_videos,
    _unrated,
    _not_above,
)

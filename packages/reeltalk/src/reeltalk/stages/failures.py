"""Failures of a run and their reasons, and checks that a run is complete and matches the current benchmark.

Reasons are counted as the same if they differ only in addresses, identifiers and numbers.
"""

import contextlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from reeltalk.errors import OF_ONE_REQUEST, ReeltalkError
from reeltalk.judge.judge import NULL_MODEL
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.outcomes import Check
from reeltalk.schema.runs import CONTROLS, SummaryRow
from reeltalk.schema.scoring import NOTHING_TO_JUDGE, JudgedScore, ScoreState
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.rows import open_rows
from reeltalk.store.runs import (
    ANSWERS,
    CONTROLS_FOLDER,
    Run,
    check_run_folder,
    describe_unfinished,
    is_unfinished,
    read_run,
    run_to_retry,
)

MOST_REASONS: Final = 5
"""Most reasons that are listed, of turns and of judgings each."""
REASON_CHARS: Final = 300
NO_REASON: Final = "no reason is known"
ANSWERS_WITHOUT_ASKING: Final = ("answers:", "human:", "baseline:", "oracle")
"""Prefixes of models that give the same answer when they are asked again."""
MOST_UNREADABLE: Final = 2
"""Number of unreadable replies after which a judging fails. They are stored, so asking again gives the same replies."""

JudgingPlace = tuple[str, str, str, int | None, int, int]
"""Model, kind and identifier of a unit, turn, and number of the judging."""
_ADDRESS: Final = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\",;)]+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b")
_STATUS: Final = re.compile(r"\b(answered|status|code|error|http)(\W{1,3})(\d{3})\b", re.IGNORECASE)
_IDENTIFIER: Final = re.compile(
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b|"
    # Random hexadecimal digits may all be decimal. A date after a name is a part of a model's name.
    r"\b[a-z]{2,12}[-_]+(?=\w*\d)(?!(?:19|20)\d{6}\b)\w{8,}",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"(?<![\w<])\d[\d.,:]*(?!\w)")


@dataclass(frozen=True)
class Failures:
    """Turns without an answer and judgings without a score."""

    due: int = 0
    """Turns that needed an answer."""
    answered: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    """Why turns have no answer."""
    judgings: Mapping[str, int] = field(default_factory=dict)
    """Judgings by a model, by protocol."""
    unjudged: Mapping[str, Counter[str]] = field(default_factory=dict)
    """Why there is no score, by protocol."""
    unread: int = 0
    """Judgings of `unjudged` whose stored replies cannot be read."""
    judged: int = 0
    """Judgements that returned a score, or said that no score applies."""

    @property
    def judged_nothing(self) -> bool:
        """True if a model had to judge and gave no reply at all, not even an unreadable one."""
        return bool(self.judgings) and not self.judged and not self.unread

    def with_empty_answers(self, summary: Sequence[SummaryRow]) -> "Failures":
        """These failures, and those of judgings of empty answers, which are no turns.

        Args:
            summary: Numbers of the run.
        """
        judgings, unjudged = dict(self.judgings), dict(self.unjudged)
        for number in summary:
            told = Counter({why: count for why, count in number.reasons.items() if why not in NOTHING_TO_JUDGE})
            if number.model == NULL_MODEL and told:
                what = f"{number.metric} of {number.model} answers"
                judgings[what], unjudged[what] = number.n + number.unscored, told
        return replace(self, judgings=judgings, unjudged=unjudged)

    def lines(self) -> Iterator[str]:
        """The most frequent reasons with their counts, turns first."""
        yield from _list_reasons(self.reasons, f"of {self.due:,} turns")
        if any(re.search(rf"{OF_ONE_REQUEST} is too l(?:ong|arge)", why) for why in self.reasons):
            yield "fewer --frames or a smaller --longest-side make shorter requests, in a run with another signature"
        for protocol, reasons in self.unjudged.items():
            yield from _list_reasons(reasons, f"of {self.judgings.get(protocol, 0):,} judgings by {protocol}")


def failures_of(turns: Iterable[AnsweredTurn], judged: Mapping[str, Iterable[JudgedScore]]) -> Failures:
    """The failures, with their reasons.

    Args:
        judged: Scores by protocol.
    """
    reasons: Counter[str] = Counter()
    without: set[tuple[str, str, int | None, int]] = set()
    due = answered = 0
    for turn in turns:
        due += turn.state.is_due or turn.has_failed
        if turn.has_failed:
            reasons[turn.reason or NO_REASON] += 1
            without.add((turn.model, turn.unit_id, turn.turn_index, turn.epoch))
        else:
            answered += turn.state.is_due
    counts: dict[str, int] = {}
    unjudged: dict[str, Counter[str]] = {}
    unread = scored = 0
    for protocol, rows in judged.items():
        # One question to the judge gives rows of several criteria.
        asked, given, read_twice = set[JudgingPlace](), set[JudgingPlace](), set[JudgingPlace]()
        failing: dict[JudgingPlace, str] = {}
        for row in rows:
            if row.judge == "none" or (row.model, row.unit_id, row.turn_index, row.epoch) in without:
                continue
            if row.reason in NOTHING_TO_JUDGE or (row.reason or "").startswith("the official script"):
                continue
            place = row.model, row.unit, row.unit_id, row.turn_index, row.epoch, row.sample
            asked.add(place)
            if len(row.replies) >= MOST_UNREADABLE:
                read_twice.add(place)
            if row.state is ScoreState.UNSCORED:
                failing.setdefault(place, row.reason or NO_REASON)
            else:
                given.add(place)
        scored += len(given)
        if asked:
            counts[protocol] = len(asked)
        if failing:
            unjudged[protocol] = Counter(failing.values())
            unread += len(failing.keys() & read_twice)
    return Failures(due, answered, reasons, counts, unjudged, unread, scored)


def failures_in(run: Run) -> Failures:
    """The failures of a run on disk: turns, if it played them, and judgings.

    Args:
        run: A run of any kind.

    Raises:
        InputError: A file of it is damaged.
    """
    failures = failures_of(run.answers(), {name: run.judged(name) for name in run.protocols()})
    return failures.with_empty_answers(run.summary)


def asking_helps(failures: Failures, *, kind: str, model: object) -> bool:
    """True if asking again may fix some failures.

    Args:
        failures: Failures of the run.
        kind: The verb that wrote the run.
        model: The model, as on the command line.
    """
    played = kind == "evaluate" and not str(model).startswith(ANSWERS_WITHOUT_ASKING)
    unjudged = sum(reasons.total() for reasons in failures.unjudged.values())
    passing = any(OF_ONE_REQUEST not in why for why in failures.reasons)
    return (played and passing) or unjudged > failures.unread


Outlook = Literal["whole", "worth a retry", "as it is"]


def outlook_of(path: Path) -> Outlook:
    """The use of a retry for a run and its controls: nothing failed, a retry may fix failures, or it changes nothing.

    Args:
        path: Folder of a complete run.

    Raises:
        InputError: A file of it is damaged.
    """
    run = read_run(path)
    whole = True
    for one in (run, *run.controls().values()):
        failures = failures_in(one)
        if asking_helps(failures, kind=one.info.kind, model=one.info.settings.get("model")):
            return "worth a retry"
        whole = whole and not failures.reasons and not any(row.unscored for row in one.summary)
    if any(is_unfinished(path / CONTROLS_FOLDER / name) for name in CONTROLS):
        return "worth a retry"
    return "whole" if whole else "as it is"


def group_reasons(reasons: Mapping[str, int]) -> list[tuple[str, int]]:
    """Reasons with their counts, the most frequent first; reasons with the same meaning are one.

    Args:
        reasons: Count of each reason in its own words.
    """
    groups: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for reason, count in reasons.items():
        words = " ".join(reason.split())
        groups[_likened(words)][words[:REASON_CHARS]] += count
    found = [(group.most_common(1)[0][0], group.total()) for group in groups.values()]
    return sorted(found, key=lambda entry: (-entry[1], entry[0]))


def _list_reasons(reasons: Mapping[str, int], of: str) -> Iterator[str]:
    found = group_reasons(reasons)
    for reason, count in found[:MOST_REASONS]:
        yield f"{count:,} {of}: {reason}"
    if rest := found[MOST_REASONS:]:
        yield f"{sum(count for _, count in rest):,} {of}: and {len(rest):,} more reasons"


def _likened(reason: str) -> str:
    """A reason without the parts that differ between requests; the status of a reply stays."""
    likened = _ADDRESS.sub("<address>", reason)
    likened = _STATUS.sub(lambda found: f"{found[1]}{found[2]}<status{found[3]}>", likened)
    likened = _IDENTIFIER.sub("<identifier>", likened)
    return _NUMBER.sub("<number>", likened)


HASH_KEY: Final = "benchmark"
"""Key of a run's settings that holds the hash of its benchmark."""


def check_run(path: Path, benchmarks: Sequence[Benchmark] = ()) -> Iterator[Check]:
    """Read every row of a run once.

    Args:
        path: The run's folder.
        benchmarks: Benchmarks that it may be about.
    """
    try:
        check_run_folder(path)
        if is_unfinished(path):
            yield from _unfinished(path)
            return
        run = read_run(path)
        answers = sum(1 for _ in run.answers())
        scored = sum(1 for _ in run.item_scores())
        judged = {protocol: sum(1 for _ in run.judged(protocol)) for protocol in run.protocols()}
        len(run.groups())
        failures = failures_in(run)
    except (ReeltalkError, OSError) as error:
        advice = "make the run again, or restore a copy"
        yield Check(area="runs", subject=str(path), status="problem", found=str(error), advice=advice)
        return
    if answers != scored:
        found = f"it has {answers:,} answers, and scores of {scored:,}"
        yield Check(area="runs", subject=str(path), status="problem", found=found, advice="score or judge it again")
    else:
        also = "".join(f", {count:,} scores of {protocol}" for protocol, count in judged.items())
        found = f"{answers:,} answers{also}, {len(run.summary):,} numbers, all readable"
        yield Check(area="runs", subject=str(path), status="ok", found=found)
    yield from _failed(run, failures)
    for control in run.controls().values():
        yield from check_run(control.path)
    for name in CONTROLS:
        if is_unfinished(path / CONTROLS_FOLDER / name):
            yield from _unfinished(path / CONTROLS_FOLDER / name)
    if benchmarks:
        yield _about(run, benchmarks)


def _unfinished(path: Path) -> Iterator[Check]:
    far, _, advice = describe_unfinished(path).partition("; ")
    yield Check(area="runs", subject=str(path), status="problem", found=f"it {far}", advice=advice)
    with contextlib.suppress(ReeltalkError, OSError):
        if (path / ANSWERS).is_file():
            for line in failures_of(open_rows(path / ANSWERS, AnsweredTurn), {}).lines():
                yield Check(area="runs", subject=str(path), status="problem", found=line)


def _failed(run: Run, failures: Failures) -> Iterator[Check]:
    """The failures: problems if asking again may fix them, else warnings, such as a model without an answer."""
    helps = asking_helps(failures, kind=run.info.kind, model=run.info.settings.get("model"))
    advice = f"ask it again: reeltalk retry {run_to_retry(run.path)}" if helps else ""
    for line in failures.lines():
        yield Check(
            area="runs", subject=str(run.path), status="problem" if helps else "warning", found=line, advice=advice
        )


def _about(run: Run, benchmarks: Sequence[Benchmark]) -> Check:
    made_on = run.info.settings.get(HASH_KEY)
    subject = str(run.path)
    if not isinstance(made_on, str):
        found = "it does not say which benchmark it was made on"
        return Check(area="runs", subject=subject, status="warning", found=found)
    for benchmark in benchmarks:
        if benchmark.manifest.content_hash == made_on:
            found = f"it was made on the current {benchmark.path} (#{made_on[:8]})"
            return Check(area="runs", subject=subject, status="ok", found=found)
    found = f"it was made on #{made_on[:8]}, which is not {' or '.join(_named(b) for b in benchmarks)}"
    advice = "the benchmark changed since, or is another; evaluate again, or name the release that the run was made on"
    return Check(area="runs", subject=subject, status="problem", found=found, advice=advice)


def _named(benchmark: Benchmark) -> str:
    return f"{benchmark.path} (#{benchmark.manifest.content_hash[:8]})"

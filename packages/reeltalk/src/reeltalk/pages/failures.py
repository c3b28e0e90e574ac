"""The page of failures: failed answers, judgings without a score, withheld numbers, and missing turns."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from reeltalk.analysis.columns import metric_title
from reeltalk.analysis.dialogues import ShownDialogue
from reeltalk.analysis.finder import shorten_line
from reeltalk.analysis.leaderboard import Leaderboard
from reeltalk.analysis.values import format_value
from reeltalk.analysis.verdicts import ShownVerdict
from reeltalk.pages.site import Page, Site, write_static
from reeltalk.schema.record import Record
from reeltalk.schema.scoring import ScoreState
from reeltalk.store.rows import SpooledRows

ROWS: Final = 500
"""Rows on a page of the list."""
REASON_CHARACTERS: Final = 240
MISSING_NAMED: Final = 50
"""Maximum number of missing turns of a model that are named; all are counted."""
FIRST: Final = "failures.html"
FAILURES: Final = "failures"
"""Rows in the memory of the site."""


class FailureRow(Record):
    """One failed answer or missing score."""

    kind: str
    """`answer`, or the name of the measure without a score."""
    model: int
    dialogue: str
    """Title of the dialogue."""
    where: str
    """The turn, as text."""
    href: str
    reason: str
    replies: int = 0
    """Number of raw replies of the judge, which are at `href`."""


@dataclass
class FailureGroup:
    """All failures with the same reason."""

    kind: str
    reason: str
    counts: Counter[int] = field(default_factory=Counter)
    """By model."""

    @property
    def count(self) -> int:
        """Number of failures."""
        return self.counts.total()


@dataclass(frozen=True)
class WithheldNumber:
    """A number of the leaderboard that is not shown."""

    model: int
    title: str
    over_scored: str
    n: int
    unscored: int


@dataclass(frozen=True)
class MissingTurns:
    """Turns that a model should have answered but did not."""

    model: int
    count: int
    named: tuple[str, ...]
    not_scored: tuple[tuple[str, int], ...]
    """Answers left out of the text metrics, by reason."""


@dataclass
class ReportFailures:
    """All failures and missing data of a report's runs."""

    rows: Sequence[FailureRow]
    withheld: list[WithheldNumber]
    missing: list[MissingTurns]

    def groups(self, *, answers: bool) -> list[FailureGroup]:
        """The rows by reason, the most frequent reason first.

        Args:
            answers: True for failed answers, False for judgings.
        """
        found: dict[tuple[str, str], FailureGroup] = {}
        for row in self.rows:
            if (row.kind == ANSWER) == answers:
                group = found.setdefault((row.kind, row.reason), FailureGroup(row.kind, row.reason))
                group.counts[row.model] += 1
        return sorted(found.values(), key=lambda group: (-group.count, group.kind, group.reason))


ANSWER: Final = "answer"
GROUPS: Final = 100
"""Maximum number of reasons shown; rarer ones are only in the list."""


def collect_failures(site: Site) -> ReportFailures:
    """Collect all failures and missing data, in the order of dialogues and turns."""
    # The pages of dialogues are written first, and note the failures of each.
    rows = site.memory.get(FAILURES)
    if not isinstance(rows, SpooledRows):
        found = (row for place in site.dialogues.failing() for row in failure_rows(site.dialogues[place]))
        rows = SpooledRows(FailureRow, site.folder, found)
    return ReportFailures(rows, _withheld(site.board), _missing(site.board))


def _withheld(board: Leaderboard) -> list[WithheldNumber]:
    return [
        WithheldNumber(
            index,
            metric_title(metric),
            "–" if cell.row.over_scored is None else format_value(cell.row.over_scored, metric),
            cell.row.n,
            cell.row.unscored,
        )
        for index, model in enumerate(board.models)
        for metric in board.metrics
        if (cell := model.cells[metric]) is not None and cell.withheld
    ]


def _missing(board: Leaderboard) -> list[MissingTurns]:
    return [
        MissingTurns(
            index,
            len(model.info.missing),
            tuple(shorten_line(name, REASON_CHARACTERS) for name in model.info.missing[:MISSING_NAMED]),
            tuple(sorted(model.info.not_scored.items())),
        )
        for index, model in enumerate(board.models)
        if model.info.missing or model.info.not_scored
    ]


def failure_rows(dialogue: ShownDialogue) -> Iterator[FailureRow]:
    """The failed answers and missing scores of a dialogue, as a whole and turn by turn."""
    for index, verdicts in enumerate(dialogue.verdicts):
        place = (index, dialogue.title, "as a whole", f"dialogues/{dialogue.file}#as-a-whole")
        yield from _unscored(place, verdicts)
    for turn in dialogue.turns:
        for index, answer in enumerate(turn.answers):
            place = (index, dialogue.title, f"turn {turn.number}", f"dialogues/{turn.file}#{turn.anchor}")
            if answer.is_missing:
                words = answer.state.value.replace("_", " ")
                reason = f"{words}: {answer.reason}" if answer.reason else words
                yield _row(ANSWER, place, shorten_line(reason, REASON_CHARACTERS))
            yield from _unscored(place, answer.verdicts)


def _unscored(place: tuple[int, str, str, str], verdicts: Sequence[ShownVerdict]) -> Iterator[FailureRow]:
    for verdict in verdicts:
        for score in verdict.scores:
            if score.failed:
                why = [given.explanation or "not said" for given in score.given if given.state is ScoreState.UNSCORED]
                reason = shorten_line("; ".join(dict.fromkeys(why)), REASON_CHARACTERS)
                yield _row(score.title, place, reason, len(verdict.replies))


def _row(kind: str, place: tuple[int, str, str, str], reason: str, replies: int = 0) -> FailureRow:
    model, dialogue, where, href = place
    return FailureRow(kind=kind, model=model, dialogue=dialogue, where=where, href=href, reason=reason, replies=replies)


def has_failures(site: Site) -> bool:
    """True if something failed, is withheld or is missing."""
    return bool(site.dialogues.failing() or _withheld(site.board) or _missing(site.board))


def write_failures(site: Site) -> None:
    """Write `failures.html`, and further pages if its list is long."""
    write_static(site.folder, ["browser.css"])
    failures = collect_failures(site)
    files = [
        FIRST if place == 0 else f"failures-{place + 1}.html" for place in range(max(1, -(-len(failures.rows) // ROWS)))
    ]
    groups = {answers: failures.groups(answers=answers) for answers in (True, False)}
    for place, file in enumerate(files):
        site.render(
            FIRST,
            file,
            failures=failures,
            answers=groups[True],
            judgings=groups[False],
            most=GROUPS,
            rows=failures.rows[place * ROWS : (place + 1) * ROWS],
            files=files,
            place=place,
        )


REPORT_PAGES: Final = (Page("Failures", FIRST, has_failures, write_failures, place=140),)

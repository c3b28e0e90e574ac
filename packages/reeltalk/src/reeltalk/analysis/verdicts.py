"""Judges' verdicts on turns and whole dialogues for display: scores, explanations, and raw replies."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from reeltalk.analysis.leaderboard import Leaderboard
from reeltalk.judge.protocol import COMPAT, find_protocol
from reeltalk.schema.record import Record
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.rows import Rows
from reeltalk.store.runs import Run

if TYPE_CHECKING:
    import polars as pl

NO_MODEL: Final = "none"
"""Name of the judge if no model judges."""
REASONS_SHOWN: Final = 20
REASON_CHARACTERS: Final = 300

Place = tuple[str, str, int | None]
"""Model, unit, and the turn from 0; None for the unit as a whole."""


class GivenScore(NamedTuple):
    """The result of one judging on one criterion."""

    value: float | None
    state: ScoreState
    explanation: str | None
    """The judge's explanation, or why there is no value."""


class ShownScore(NamedTuple):
    """One criterion on one turn or dialogue, with all its judgings."""

    title: str
    given: tuple[GivenScore, ...]
    """The results: one, or one for each eval round."""
    official: tuple[GivenScore, ...] = ()
    """Values of the official script for the same replies; empty if not requested."""
    criterion: str = ""
    """Its name, such as `OS`."""

    @property
    def values(self) -> str:
        """The values as text, with a dash for each missing one."""
        return _values(self.given)

    @property
    def official_values(self) -> str:
        """The values of the official script as text."""
        return _values(self.official)

    @property
    def failed(self) -> bool:
        """True if some judging should have a value and has none."""
        # Pages ask this for every score, and most have one value.
        if len(self.given) == 1:
            return self.given[0].state is ScoreState.UNSCORED
        return any(given.state is ScoreState.UNSCORED for given in self.given)


@dataclass(frozen=True, slots=True)
class ShownVerdict:
    """The result of one judge and protocol on one turn or dialogue."""

    protocol: str
    judge: str | None
    """None if no model judges."""
    scores: tuple[ShownScore, ...]
    replies: tuple[str, ...]
    """The judge's raw replies, each once."""

    @property
    def sayings(self) -> list[tuple[str, str, bool]]:
        """Each distinct explanation: its criterion (empty if for all), its text, and whether a score is missing.

        Explanations of the official script come last.
        """
        if len(self.scores) == 1 and len(self.scores[0].given) == 1 and not self.scores[0].official:
            only = self.scores[0].given[0]
            return [("", only.explanation, only.state is ScoreState.UNSCORED)] if only.explanation else []
        said: dict[tuple[str, bool], list[str]] = {}
        several = len(self.scores) > 1
        for score in self.scores:
            for number, given in enumerate(score.given, start=1):
                if given.explanation:
                    words = [score.title] if several else []
                    words += [f"judging {number}"] if len(score.given) > 1 else []
                    missing = given.state is ScoreState.UNSCORED
                    said.setdefault((given.explanation, missing), []).append(" ".join(words))
        total = sum(len(score.given) for score in self.scores)
        found = [
            ("" if len(of) == total else ", ".join(dict.fromkeys(filter(None, of))), text, missing)
            for (text, missing), of in said.items()
        ]
        official = dict.fromkeys(
            given.explanation for score in self.scores for given in score.official if given.explanation
        )
        return found + [("official script", text, True) for text in official if (text, True) not in said]


@dataclass(frozen=True)
class UnscoredReason:
    """A reason for missing scores, with their number."""

    criterion: str
    model: str
    state: ScoreState
    reason: str
    count: int


class RunVerdicts(Mapping[Place, "list[ShownVerdict]"]):
    """All verdicts of judges in a run, by model, unit and turn. The rows of a unit are read when you ask for one.

    Raises:
        InputError: A table is damaged.
    """

    def __init__(self, run: Run) -> None:
        self._tables = {protocol: run.judged(protocol) for protocol in run.protocols()}
        judged = run.scores.judged  # has the rows of all tables in their order, and checks them
        self._places = {protocol: _places(judged, protocol) for protocol in self._tables}
        self._titles: dict[tuple[str, str], str] = {}
        self._last: tuple[str, dict[Place, list[ShownVerdict]]] = ("", {})

    def of_unit(self, unit_id: str) -> dict[Place, list[ShownVerdict]]:
        """The verdicts on a unit and its turns."""
        if self._last[0] != unit_id:
            found: dict[Place, list[ShownVerdict]] = defaultdict(list)
            for protocol, table in self._tables.items():
                rows: dict[tuple[str, int | None, str], list[dict[str, Any]]] = {}
                own = self._places[protocol].get(unit_id)
                for row in plain_rows(table.at(own.to_list()), JudgedScore) if own is not None else ():
                    if row.get("epoch", 0):
                        continue  # the dialogue that is shown is that of the first epoch
                    rows.setdefault((row["model"], row.get("turn_index"), row["judge"]), []).append(row)
                for (model, turn, _), judgings in rows.items():
                    found[model, unit_id, turn].append(self._shown(protocol, judgings))
            self._last = unit_id, dict(found)
        return self._last[1]

    def __getitem__(self, place: Place) -> list[ShownVerdict]:
        return self.of_unit(place[1])[place]

    def __iter__(self) -> Iterator[Place]:
        for unit_id in dict.fromkeys(name for places in self._places.values() for name in places):
            yield from self.of_unit(unit_id)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return any(self._places.values())

    def _shown(self, protocol: str, rows: list[dict[str, Any]]) -> ShownVerdict:
        criteria: dict[str, tuple[list[GivenScore], list[GivenScore]]] = {}
        for row in sorted(rows, key=lambda row: row.get("sample", 0)) if len(rows) > 1 else rows:
            name, *official = row["criterion"].split(".")
            value, state = row.get("value"), _STATES[row.get("state", "scored")]
            given = GivenScore(value, state, row.get("explanation") or row.get("reason"))
            criteria.setdefault(name, ([], []))[COMPAT in official].append(given)
        return ShownVerdict(
            protocol,
            None if rows[0]["judge"] == NO_MODEL else rows[0]["judge"],
            tuple(
                [
                    ShownScore(self._title(protocol, name), tuple(given), tuple(compat), name)
                    for name, (given, compat) in criteria.items()
                ]
            ),
            tuple(dict.fromkeys([reply for row in rows for reply in row.get("replies", ())])),
        )

    def _title(self, protocol: str, criterion: str) -> str:
        if (found := self._titles.get((protocol, criterion))) is None:
            found = self._titles[protocol, criterion] = title_of_criterion(protocol, criterion)
        return found


_STATES: Final = {state.value: state for state in ScoreState}


_NUMBERS: Final = ("turn_index", "value", "sample", "asked_at_s", "correct_option")


def plain_rows(rows: Rows[Any], kind: type[Record]) -> Iterator[dict[str, Any]]:
    """Rows of a run as JSON objects, many times faster than records.

    Args:
        rows: Rows that `Run.scores` has checked before: a folder states its hashes itself, so they prove nothing.
        kind: Their model.
    """
    for row in rows.raw():
        yield row if _is_plain(row) else kind.model_validate(row).model_dump(mode="json", exclude_defaults=True)


def _is_plain(row: dict[str, Any]) -> bool:
    """Whether numbers are numbers: a model takes `"0.5"` for one, too."""
    played, checklist = row.get("played") or {}, row.get("checklist") or {}
    held = [row.get(name) for name in _NUMBERS]
    held += [value for name, value in played.items() if name != "film"]
    held += played.get("frames_s", ())
    held += [item.get("expected") for item in checklist.get("items", ())]
    return str not in map(type, held)


def _places(judged: "pl.DataFrame", protocol: str) -> dict[str, "pl.Series"]:
    """Places of a protocol's rows in its table, by unit."""
    import polars as pl

    own = (
        judged.filter(pl.col("protocol") == protocol).select(pl.col("unit_id").cast(pl.String)).with_row_index("place")
    )
    groups = own.group_by("unit_id", maintain_order=True).agg("place")
    return dict(zip(groups["unit_id"], groups["place"], strict=True))


def unscored_reasons(board: Leaderboard) -> list[UnscoredReason]:
    """Reasons for missing scores, the most frequent of each criterion and model first.

    Raises:
        InputError: A table is damaged.
    """
    import polars as pl

    counted: Counter[tuple[str, str, ScoreState, str]] = Counter()
    columns = ("protocol", "criterion", "column", "state", "explanation", "reason")
    missing = board.judgings.filter(pl.col("state") != ScoreState.SCORED).select(columns)
    for protocol, criterion, column, state, explanation, reason in missing.iter_rows():
        name, *official = criterion.split(".")
        title = title_of_criterion(protocol, name) + (" (official script)" if COMPAT in official else "")
        why = _short(explanation or reason or "not said")
        counted[title, board.models[column].name, ScoreState(state), why] += 1
    rows = [UnscoredReason(*key, count) for key, count in counted.items()]
    rows.sort(key=lambda row: (row.criterion, row.model, -row.count, row.reason))
    kept: Counter[tuple[str, str]] = Counter()
    found = []
    for row in rows:
        kept[row.criterion, row.model] += 1
        if kept[row.criterion, row.model] <= REASONS_SHOWN:
            found.append(row)
    return found


def title_of_criterion(protocol: str, criterion: str) -> str:
    """The title of a criterion, such as `SVBench, overall` or `CLAIR`."""
    described = find_protocol(protocol)
    if described is None:
        return protocol if criterion == protocol else f"{protocol}, {criterion}"
    found = described.criterion(criterion)
    if found is None:
        return f"{described.title}, {criterion}"
    tag = criterion.removeprefix(found.name).removeprefix(".")
    return f"{found.title}, {tag}" if tag else found.title


def _values(given: Iterable[GivenScore]) -> str:
    # A list, since most scores have one value and pages ask for every score.
    return " · ".join(
        [
            f"{one.value:.3g}" if one.value is not None else "n/a" if one.state is ScoreState.NOT_APPLICABLE else "–"
            for one in given
        ]
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= REASON_CHARACTERS else line[:REASON_CHARACTERS] + "…"

"""What people say about turns on filled sheets: the share of each column, their agreement, and what the checks find."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from reeltalk.metrics.agreement import krippendorff_alpha
from reeltalk.metrics.draws import Statistic, draw_videos
from reeltalk.metrics.uncertainty import MeanInterval, mean_interval
from reeltalk.schema.dialogue import Dialogue, DialoguePath, QAChain, Turn
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.record import derive_id

STEP: Final = "sheet"
SHEET: Final = f"{STEP}:read."
"""Prefix of the gates that hold people's verdicts: `sheet:read.true`, with the reader in `extra`."""
READER: Final = "reader"
ITEM: Final = "item"
"""Keys of a verdict's `extra`: the person, and the code of the turn as it was worded."""
COLUMNS: Final[Mapping[str, str]] = {
    "true": "true",
    "natural": "natural",
    "one_reading": "one reading",
    "needs_film": "needs the film",
    "depends": "depends on what came before",
}
"""Columns of a sheet, in order, with their titles."""
ALL: Final = "all five"
Place = tuple[str, str, int]
"""Unit (`chain`, `dialogue` or `path`), its id, and the index of a turn in it."""


@dataclass(frozen=True)
class ColumnRead:
    """One column of the sheets. A turn with several readers counts as the mean of their verdicts."""

    title: str
    yes: MeanInterval
    alpha: Statistic
    """Krippendorff's alpha between readers; without a value if no turn has two."""


@dataclass(frozen=True)
class ReadSheet:
    """What people said about turns."""

    turns: int
    readers: tuple[str, ...]
    columns: tuple[ColumnRead, ...]
    """The five, and whether all five are yes."""
    recall: MeanInterval | None
    """Share of the turns with a no, by at least half of their readers, that a check flags; None if there is none."""
    false_alarms: MeanInterval | None
    """The same share of the other turns."""


@dataclass(frozen=True)
class SheetTurn:
    """A turn that people can read, in its place."""

    place: Place
    video_id: str
    turn: Turn
    before: tuple[Turn, ...]
    """The turns of the dialogue before it."""
    task: str | None = None
    """Task of its dialogue; None in a chain or on a path."""
    source: tuple[str, int] | None = None
    """The chain and the index of the turn that a path goes through."""

    @property
    def item(self) -> str:
        """A code for the turn in its present wording, which reveals nothing about it."""
        return derive_id("item", *self.place, self.turn.question, *self.turn.references)

    @property
    def kind(self) -> str:
        """What a reader must know to judge dependence: the task, or `path` or `chain`."""
        return self.task or self.place[0]


def sheet_turns(
    chains: Iterable[QAChain], dialogues: Iterable[Dialogue], paths: Iterable[DialoguePath]
) -> Iterator[SheetTurn]:
    """All turns of a benchmark in their places. A turn of a chain comes again on each path that goes through it."""
    known: dict[str, QAChain] = {}
    for chain in chains:
        known[chain.id] = chain
        for index, turn in enumerate(chain.turns):
            yield SheetTurn(("chain", chain.id, index), chain.video_id, turn, chain.turns[:index])
    for dialogue in dialogues:
        for index, turn in enumerate(dialogue.turns):
            place = ("dialogue", dialogue.id, index)
            yield SheetTurn(place, dialogue.video_id, turn, dialogue.turns[:index], dialogue.task)
    for path in paths:
        refs = [(step.ref.unit_id, step.ref.turn_index) for step in path.steps]
        turns = tuple(step.turn or known[name].turns[at] for step, (name, at) in zip(path.steps, refs, strict=True))
        for index, turn in enumerate(turns):
            yield SheetTurn(("path", path.id, index), path.video_id, turn, turns[:index], source=refs[index])


def is_verdict(gate: GateResult) -> bool:
    """True for a person's verdict on a sheet."""
    return gate.gate.startswith(SHEET) and gate.turn_index is not None


def measure_sheet(
    verdicts: Iterable[GateResult], turns: Iterable[SheetTurn], flagged: Mapping[tuple[str, int], bool]
) -> ReadSheet | None:
    """The shares of all columns, with intervals clustered by video, and how well the checks find what people refuse.

    Args:
        verdicts: Rows of the table `gates` for which `is_verdict` holds.
        turns: The benchmark's turns. Verdicts about turns that are gone, or have other words now, are left out.
        flagged: Whether a check flags a turn, by its chain or dialogue and index; without turns that nothing checked.

    Returns:
        None if there are no verdicts.
    """
    rows: dict[str, list[GateResult]] = defaultdict(list)
    for gate in verdicts:
        rows[str(gate.extra.get(ITEM, ""))].append(gate)
    said: dict[Place, dict[str, dict[str, bool]]] = {}
    videos, refers = dict[Place, str](), dict[Place, tuple[str, int]]()
    for turn in turns if rows else ():
        if not (own := rows.get(turn.item)):
            continue
        videos[turn.place], refers[turn.place] = turn.video_id, turn.source or turn.place[1:]
        by_reader = said.setdefault(turn.place, defaultdict(dict))
        for gate in own:
            passed = gate.outcome is GateOutcome.PASSED
            by_reader[str(gate.extra.get(READER, ""))][gate.gate.removeprefix(SHEET)] = passed
    if not said:
        return None
    # A column that does not apply, as dependence of a first turn, is no "no".
    for by_reader in said.values():
        for cells in by_reader.values():
            cells[ALL] = all(cells.values())
    readers = tuple(sorted({reader for by_reader in said.values() for reader in by_reader}))
    columns = tuple(
        found
        for name, title in {**COLUMNS, ALL: ALL}.items()
        if (found := _column(name, title, said, readers, videos)) is not None
    )
    refused = {
        place: sum(not cells[ALL] for cells in by_reader.values()) * 2 >= len(by_reader)
        for place, by_reader in said.items()
    }
    return ReadSheet(
        len(said),
        readers,
        columns,
        *(
            _share_flagged([place for place, no in refused.items() if no == wanted], videos, refers, flagged)
            for wanted in (True, False)
        ),
    )


def _column(
    name: str,
    title: str,
    said: Mapping[Place, Mapping[str, Mapping[str, bool]]],
    readers: tuple[str, ...],
    videos: Mapping[Place, str],
) -> ColumnRead | None:
    cells = [
        (videos[place], [by_reader.get(reader, {}).get(name, np.nan) for reader in readers])
        for place, by_reader in said.items()
        if any(name in verdicts for verdicts in by_reader.values())
    ]
    if not cells:
        return None
    clusters = [video for video, _ in cells]
    ratings = np.array([row for _, row in cells], np.float64)
    yes = mean_interval(np.nanmean(ratings, axis=1), clusters, (0.0, 1.0))
    twice = np.isfinite(ratings).sum(axis=1) > 1
    of_twice = [video for video, is_twice in zip(clusters, twice, strict=True) if is_twice]
    alpha = krippendorff_alpha(ratings[twice], draw_videos(of_twice), scale="nominal")
    return ColumnRead(title, yes, alpha)


def _share_flagged(
    places: list[Place],
    videos: Mapping[Place, str],
    refers: Mapping[Place, tuple[str, int]],
    flagged: Mapping[tuple[str, int], bool],
) -> MeanInterval | None:
    checked = [place for place in places if refers[place] in flagged]
    if not checked:
        return None
    values = np.array([flagged[refers[place]] for place in checked], np.float64)
    return mean_interval(values, [videos[place] for place in checked], (0.0, 1.0))


def alpha_text(alpha: Statistic) -> str:
    """Agreement between readers: `0.81 (n = 60)`, or why there is none."""
    return f"{alpha.value:.2f} (n = {alpha.n:,})" if alpha.value is not None else alpha.reason or "unknown"


def sheet_sentences(sheet: ReadSheet, share: Callable[[MeanInterval], str]) -> Iterator[str]:
    """What readers said, in sentences.

    Args:
        sheet: What they said.
        share: Writes a share with its interval.
    """
    *_, whole = sheet.columns
    people = "1 person" if len(sheet.readers) == 1 else f"{len(sheet.readers):,} people"
    each = "; ".join(f"{column.title} {100 * column.yes.value:.0f} %" for column in sheet.columns[:-1])
    yield f"Read by {people}, who did not see the checks: {share(whole.yes)} are good in all respects. {each}."
    if whole.alpha.value is not None:
        yield f"Agreement of the readers on that, as Krippendorff’s α: {alpha_text(whole.alpha)}."
    if sheet.recall is not None:
        alarms = f"; of those that they find good, {share(sheet.false_alarms)}" if sheet.false_alarms else ""
        yield f"Of the turns that readers refuse, the checks flag {share(sheet.recall)}{alarms}."

"""Moves every row that refers to a turn along with it, and removes rows whose turns are gone.

Removed rows go to `rejected` with the reason. A path is a walk: it begins with the first turn of a chain and continues
with the next turn, along a linkage, or from a chain's last turn to the first turn of a later chain. If review removed
turns or linkages, the remaining steps may no longer be a walk. Then the path is removed, and
`reeltalk construct --steps paths` draws new ones. A path that was no such walk before, as in some published benchmarks,
keeps its remaining steps.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import DialoguePath, Linkage, PathStep, Turn, TurnRef
from reeltalk.schema.entrances import refers_back
from reeltalk.schema.gates import GONE_OUTCOMES, GateOutcome, GateResult
from reeltalk.schema.paths import ACCEPTED
from reeltalk_review.applying.next_revision import TABLE_OF, Key, NextRevision

Refs = tuple[TurnRef, TurnRef]
"""Two turns that are joined."""
NO_TURN: Final = "review took out the turn that it is about"
NO_END: Final = "review took out a turn that it leads from or to"
NO_STEP: Final = "review took out all turns of this path"
NO_WALK: Final = "review took out a turn or a linkage that it walked along"
NO_WORDING: Final = "review took back the wording with which it entered a chain in its middle"
CHECKED_BEFORE: Final = "before_review"
"""Key in the `extra` of a check of an edited turn: the earlier result of the check."""


def follow_links(made: NextRevision) -> None:
    """Move linkages and rewrites along with their turns, before links are applied."""
    if not made.moves:
        return
    for place, link in made.linkages.numbered():
        made.replace("linkages", place, _linkage(made, link), NO_END)
    for place, rewrite in made.rewrites.numbered():
        linkage = _linkage(made, rewrite.linkage)
        new = None if linkage is None else rewrite.model_copy(update={"linkage": linkage})
        made.replace("rewrites", place, new, NO_END)


def _ref(made: NextRevision, ref: TurnRef) -> TurnRef | None:
    index = made.moved((TABLE_OF[ref.unit], ref.unit_id), ref.turn_index)
    return None if index is None else ref.model_copy(update={"turn_index": index})


def _linkage(made: NextRevision, row: Linkage) -> Linkage | None:
    source, target = _ref(made, row.source), _ref(made, row.target)
    if source is None or target is None:
        return None
    return row.model_copy(update={"source": source, "target": target})


def follow_paths(made: NextRevision, withdrawn: Mapping[Refs, Sequence[Turn]]) -> None:
    """Move paths along with their turns, after links are applied; remove those that are no longer walks.

    Paths along a linkage ask the later question with the wording that people settled for the linkage.

    Args:
        withdrawn: Wordings that people had settled and took back, by the turns of their linkage.
    """
    if not (made.moves or made.reworded or made.linkages.is_changed or made.rewrites.is_changed):
        return
    before = _Walks(made.earlier_lengths, made.before.linkages)
    after = _Walks(made.lengths, made.linkages)
    wordings = _Wordings(made, withdrawn)
    for place, path in made.paths.numbered():
        key: Key = ("paths", path.id)
        refs = [_ref(made, step.ref) for step in path.steps]
        moved = [step.model_copy(update={"ref": ref}) for step, ref in zip(path.steps, refs, strict=True) if ref]
        steps, is_said = wordings.worded(moved)
        if not steps and path.steps:
            made.gone[key] = NO_STEP
        elif before.is_walk(path.steps) and not after.is_walk(steps):
            made.gone[key] = NO_WALK
        elif not is_said:
            made.gone[key] = NO_WORDING
        if key in made.gone:
            made.replace("paths", place, None, made.gone[key])
            del made.lengths[key]
            continue
        made.replace("paths", place, path.model_copy(update={"steps": tuple(steps)}), NO_STEP)
        if len(steps) < len(refs):
            kept = iter(range(len(steps)))
            made.moves[key], made.lengths[key] = [next(kept) if ref else None for ref in refs], len(steps)
        _note_reworded(made, key, path)


def _note_reworded(made: NextRevision, key: Key, path: DialoguePath) -> None:
    """Note the earlier wording of the steps that ask in their chain's own words."""
    for index, step in enumerate(path.steps):
        turns = made.reworded.get((TABLE_OF[step.ref.unit], step.ref.unit_id), {})
        if step.turn is None and step.ref.turn_index in turns:
            made.reworded[key][index] = turns[step.ref.turn_index]


class _Walks:
    """The moves that the chains and linkages of a benchmark allow."""

    def __init__(self, lengths: Mapping[Key, int], linkages: Iterable[Linkage]) -> None:
        self._lengths = {name: length for (table, name), length in lengths.items() if table == "chains"}
        self._links = {
            (row.source.unit_id, row.source.turn_index, row.target.unit_id, row.target.turn_index) for row in linkages
        }

    def _allow(self, here: TurnRef, there: TurnRef) -> bool:
        if here.unit_id == there.unit_id:
            return there.turn_index == here.turn_index + 1
        if (here.unit_id, here.turn_index, there.unit_id, there.turn_index) in self._links:
            return True
        return there.turn_index == 0 and here.turn_index + 1 == self._lengths.get(here.unit_id)

    def is_walk(self, steps: Sequence[PathStep]) -> bool:
        begins = all(step.ref.turn_index == 0 for step in steps[:1])
        return begins and all(self._allow(one.ref, two.ref) for one, two in pairwise(steps))


class _Wordings:
    """The wordings in which paths ask the later question of a linkage."""

    def __init__(self, made: NextRevision, withdrawn: Mapping[Refs, Sequence[Turn]]) -> None:
        self._made, self._withdrawn = made, withdrawn
        self._drafted = {row.draft.to_json() for row in made.before.rewrites}
        self._drafts: dict[Refs, set[str]] = defaultdict(set)
        self._settled: dict[Refs, Turn] = {}
        for row in made.rewrites:
            refs = (row.linkage.source, row.linkage.target)
            self._drafts[refs].add(row.draft.to_json())
            if row.extra.get(ACCEPTED):
                self._settled[refs] = row.draft

    def worded(self, steps: Sequence[PathStep]) -> tuple[list[PathStep], bool]:
        """The remaining steps as they are asked now, and whether each has a wording that can be asked there."""
        found, is_said = list(steps), True
        for index, (one, two) in enumerate(pairwise(steps), 1):
            refs, turn = (one.ref, two.ref), two.turn
            was_drafted = turn is not None and turn.to_json() in self._drafted
            if turn in self._withdrawn.get(refs, ()):
                turn = None
            if refs in self._settled:
                if turn is None or turn.to_json() in self._drafts[refs]:
                    turn = self._settled[refs]
            elif was_drafted and one.ref.unit_id != two.ref.unit_id and two.ref.turn_index > 0:
                # A step in the chain's own words may stay, if its question does not refer back.
                is_said &= turn.to_json() in self._drafts[refs] if turn is not None else not self._refers_back(two.ref)
            found[index] = two.model_copy(update={"turn": turn})
        return found, is_said

    def _refers_back(self, ref: TurnRef) -> bool:
        return refers_back(self._made.unit((TABLE_OF[ref.unit], ref.unit_id)).turns[ref.turn_index])


def follow_rows(made: NextRevision) -> None:
    """Move checks, proposed labels, answers and scores along with their turns and steps."""
    touched = made.moves.keys() | made.gone.keys() | made.reworded.keys()
    for table in ("gates", "tag_proposals", "answers", "scores") if touched else ():
        rows: Any = getattr(made, table)
        for place, row in rows.numbered():
            key = made.key_of(row.unit, row.unit_id)
            if key is None or key not in touched or (isinstance(row, GateResult) and row.outcome in GONE_OUTCOMES):
                continue
            new = _followed(made, row, key)
            if new is not None or table in ("answers", "scores"):
                made.replace(table, place, new, made.gone.get(key, NO_TURN))
            else:
                # The turn or unit that was rejected keeps it.
                rows.put(place, None)
    for place, file in made.source_files.numbered() if made.gone else ():
        gone = {name for _, name in made.gone}
        records = tuple(name for name in file.records if name not in gone)
        made.replace("source_files", place, file.model_copy(update={"records": records}), NO_TURN)


def _followed(made: NextRevision, row: Any, key: Key) -> Any:
    """A row about a unit or one of its turns, where that is now; None if it is gone."""
    if key in made.gone or row.turn_index is None:
        return None if key in made.gone else row
    index = made.moved(key, row.turn_index)
    if index is None:
        return None
    moved, earlier = row.model_copy(update={"turn_index": index}), made.reworded.get(key, {}).get(row.turn_index)
    if earlier is None:
        return moved
    if isinstance(row, Answer):
        asked = dict(zip(("asked_as", "referred_to"), earlier, strict=True))
        return moved.model_copy(update={name: said for name, said in asked.items() if getattr(row, name) is None})
    if isinstance(row, GateResult) and row.outcome is not GateOutcome.UNCHECKED:
        made.counts["checks of edited turns that must be made again"] += 1
        found = {"outcome": row.outcome.value, "reason": row.reason, "value": row.value}
        unchecked = {
            "outcome": GateOutcome.UNCHECKED,
            "reason": "the turn was edited in review after it was checked",
            "value": None,
            "extra": {**row.extra, CHECKED_BEFORE: found},
        }
        return GateResult.model_validate(moved.model_dump() | unchecked)
    return moved

"""Paths after review: those that still are walks along chains and linkages stay, others go.

A path is a walk: it begins with the first turn of a chain and goes on to the next turn, along a linkage, or from a
chain's last turn to the first of a later one. Where review took turns or linkages out, the steps that are left may be
no walk any more; what a model would be led through then is not what was drawn, so the path goes, and `reeltalk
construct --steps paths` draws new ones. A path that was no such walk before, as those of published benchmarks may be,
keeps the steps that are left.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final

from reeltalk.review.applying.next_revision import NextRevision
from reeltalk.review.applying.remapping import NO_STEP, PathChange, asked_before, steps_of
from reeltalk.schema.dialogue import DialoguePath, Linkage, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.paths import ACCEPTED
from reeltalk.schema.standing import refers_back
from reeltalk.schema.tagging import TagProposal

NO_WORDING: Final = "review took back the wording with which it entered a chain in its middle"
NO_WALK: Final = "review took out a turn or a linkage that it walked along"
SAME_WALK: Final = "review left it the same walk as another path"


class _Moves:
    """Moves that the chains and linkages of a benchmark allow."""

    def __init__(self, chains: Iterable[QAChain], linkages: Iterable[Linkage]) -> None:
        self._turns: dict[str, int] = {chain.id: len(chain.turns) for chain in chains}
        self._links = {
            (row.source.unit_id, row.source.turn_index, row.target.unit_id, row.target.turn_index) for row in linkages
        }

    def allow(self, here: TurnRef, there: TurnRef) -> bool:
        if here.unit_id == there.unit_id:
            return there.turn_index == here.turn_index + 1
        if (here.unit_id, here.turn_index, there.unit_id, there.turn_index) in self._links:
            return True
        return there.turn_index == 0 and here.turn_index + 1 == self._turns.get(here.unit_id)

    def is_walk(self, steps: Sequence[PathStep]) -> bool:
        begins = all(step.ref.turn_index == 0 for step in steps[:1])
        return begins and all(self.allow(one.ref, two.ref) for one, two in pairwise(steps))


def settle_paths(made: NextRevision, changes: Sequence[PathChange]) -> None:
    """Take out paths that are no walks any more, with what is about them; let the rest follow its steps."""
    before = _Moves(made.before.chains, made.before.linkages)
    after = _Moves(made.content.chains, made.content.linkages)
    is_touched = made.places != made.earlier_places or made.before.linkages != made.content.linkages
    reasons: dict[str, str] = {}
    walks = {_walk(change.after) for change in changes if change.after is change.before}
    for change in changes if is_touched else ():
        reason = _why_gone(change, before, after) or _why_unsaid(made, change)
        if reason is None and change.after is not change.before:
            reason = SAME_WALK if (walk := _walk(change.after)) in walks else None
            walks.add(walk)
        if reason is not None:
            reasons[change.before.id] = reason
    for change in changes:
        if change.before.id in reasons:
            made.reject("paths", change.before.id, reasons[change.before.id], change.before)
    made.content.paths = [path for path in made.content.paths if path.id not in reasons]
    _follow(made, changes, reasons)


def _walk(path: DialoguePath) -> tuple[Any, ...]:
    steps = ((step.ref.unit_id, step.ref.turn_index, step.turn and step.turn.to_json()) for step in path.steps)
    return (path.video_id, *steps)


def _why_gone(change: PathChange, before: _Moves, after: _Moves) -> str | None:
    steps, earlier = change.after.steps, change.before.steps
    if not steps and earlier:
        return NO_STEP
    return NO_WALK if before.is_walk(earlier) and not after.is_walk(steps) else None


def _why_unsaid(made: NextRevision, change: PathChange) -> str | None:
    """Why a path cannot enter a chain in its middle any more, where the draft that it asked there is gone."""
    path = next((path for path in made.content.paths if path.id == change.before.id), change.after)
    drafted = {row.draft.to_json() for row in made.before.rewrites}
    left = {(row.linkage.source, row.linkage.target) for row in made.content.rewrites if row.extra.get(ACCEPTED)}
    turns: dict[str, Sequence[Turn]] = {chain.id: chain.turns for chain in made.content.chains}
    kept = {(row.linkage.source, row.linkage.target, row.draft.to_json()) for row in made.content.rewrites}
    for number, (one, two) in enumerate(pairwise(path.steps), 1):
        was = change.before.steps[change.steps[number]].turn
        skips = one.ref.unit_id != two.ref.unit_id and two.ref.turn_index > 0
        if not skips or was is None or was.to_json() not in drafted or (one.ref, two.ref) in left:
            continue
        if two.turn is not None and (one.ref, two.ref, two.turn.to_json()) not in kept:
            return NO_WORDING
        # In the chain's own words, as people settled it, it may stand.
        if two.turn is None and refers_back(turns[two.ref.unit_id][two.ref.turn_index]):
            return NO_WORDING
    return None


def _follow(made: NextRevision, changes: Sequence[PathChange], reasons: dict[str, str]) -> None:
    indices, paths = steps_of(changes), {change.before.id: change.before for change in changes}
    content = made.content

    def index(name: str, turn: int | None) -> int | None:
        return None if turn is None else indices.get(name, {}).get(turn)

    proposals: list[TagProposal] = []
    for proposal in content.tag_proposals:
        if proposal.unit != "path" or proposal.unit_id not in paths:
            proposals.append(proposal)
        elif proposal.unit_id not in reasons and (new := index(proposal.unit_id, proposal.turn_index)) is not None:
            proposals.append(proposal.model_copy(update={"turn_index": new}))
    content.tag_proposals = proposals
    content.gates = [row for row in content.gates if row.unit != "path" or row.unit_id not in reasons]
    for table in ("answers", "scores"):
        kept: list[Any] = []
        for row in getattr(content, table):
            if row.unit != "path" or row.unit_id not in paths:
                kept.append(row)
                continue
            new = index(row.unit_id, row.turn_index)
            if row.unit_id in reasons or (row.turn_index is not None and new is None):
                reason = reasons.get(row.unit_id, "review took out the step that it is about")
                made.reject(table, f"{row.model}/{row.unit_id}"[:512].strip(), reason, row)
                continue
            moved = row if new == row.turn_index else row.model_copy(update={"turn_index": new})
            if table == "answers":
                moved = _asked(made, paths[row.unit_id], row.turn_index, moved)
            kept.append(moved)
        setattr(content, table, kept)


def _asked(made: NextRevision, path: DialoguePath, step: int, answer: Any) -> Any:
    at = path.steps[step]
    table = "chains" if at.ref.unit == "chain" else "dialogues"
    places = made.earlier_places.get((table, at.ref.unit_id), [])
    if at.turn is not None or at.ref.turn_index >= len(places):
        return answer
    earlier = made.reworded.get((table, at.ref.unit_id, places[at.ref.turn_index]))
    return answer if earlier is None else asked_before(answer, earlier)

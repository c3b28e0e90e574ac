"""Applies settled links, moves every row that refers to a turn along with it, and removes rows whose turns are gone.

Links are drawn, relabelled or deleted, or get a new wording of the later question. Removed rows go to `rejected` with
the reason. A path is a walk: it begins with the first turn of a chain and continues with the next turn, along a
linkage, or from a chain's last turn to the first turn of a later chain. If review removed turns or linkages, the
remaining steps may no longer be a walk. Then the path is removed, and `reeltalk construct --steps paths` draws new
ones. A path that was no such walk before, as in some published benchmarks, keeps its remaining steps.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, Final, Generic, TypeVar

from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, PathStep, QAChain, Turn, TurnRef, without_facts
from reeltalk.schema.entrances import refers_back
from reeltalk.schema.gates import GONE, GateOutcome, GateResult
from reeltalk.schema.labels import TagProposal
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.paths import ACCEPTED
from reeltalk.schema.record import Json, Record, derive_id
from reeltalk.schema.review import Decision, FieldEdit
from reeltalk.schema.rewriting import Rewrite, catalogue
from reeltalk_review.applying.next_revision import (
    TABLE_OF,
    DoneUnit,
    Key,
    NextRevision,
    ReviewDecision,
    SettledPlace,
    person_reviews,
)

R = TypeVar("R", bound=Record)

NO_TURN: Final = "review took out the turn that it is about"
NO_END: Final = "review took out a turn that it leads from or to"
NO_STEP: Final = "review took out all turns of this path"
EMPTY: Final = "review left none of its turns"
CHECKED_BEFORE: Final = "before_review"
"""Key in the `extra` of a check of an edited turn: the earlier result of the check."""


@dataclass
class PathChange:
    """A path before and after."""

    before: DialoguePath
    after: DialoguePath
    steps: list[int] = field(default_factory=list)
    """Indices of the remaining steps."""


def remap(made: NextRevision) -> list[PathChange]:
    """Move all rows along with their turns, after the turns are final.

    Returns:
        All paths. `settle_paths` decides which stay.
    """
    _units_gone(made)
    made.content.linkages = _move_rows(
        made,
        "linkages",
        made.content.linkages,
        lambda row: _linkage(made, row),
        name=lambda row: derive_id("linkage", row.model_dump(mode="json")),
        reason=NO_END,
    )

    def rewrite(row: Any) -> Any:
        linkage = _linkage(made, row.linkage)
        return None if linkage is None else _copy_with(row, linkage=linkage)

    made.content.rewrites = _move_rows(
        made, "rewrites", made.content.rewrites, rewrite, name=lambda row: row.id, reason=NO_END
    )
    paths = [_path(made, path) for path in made.content.paths]
    made.content.paths = [change.after for change in paths]
    made.content.gates = [row for gate in made.content.gates if (row := _gate(made, gate)) is not None]
    made.content.tag_proposals = [
        row for proposal in made.content.tag_proposals if (row := _moved(made, proposal, proposal.unit)) is not None
    ]
    _answers_and_scores(made)
    return paths


def _units_gone(made: NextRevision) -> None:
    before: dict[Key, QAChain | Dialogue] = {("chains", row.id): row for row in made.before.chains}
    before |= {("dialogues", row.id): row for row in made.before.dialogues}
    for table, name in sorted(made.gone):
        kind = "chain" if table == "chains" else "dialogue"
        gates = [row for row in made.rows_about("gates", kind, name) if row.turn_index is None]
        content: dict[str, Json] = {"record": before[table, name].model_dump(mode="json", exclude_defaults=True)}
        if gates:
            content["gates"] = [row.model_dump(mode="json", exclude_defaults=True) for row in gates]
        made.reject(table, name, EMPTY, content)


def without_records(files: Iterable[SourceFile], gone: Container[str]) -> Iterator[SourceFile]:
    """Imported files as they are without some of their records.

    Args:
        files: Rows of the table.
        gone: Ids of chains and dialogues without any turn left.
    """
    for file in files:
        left = tuple(name for name in file.records if name not in gone)
        yield file if left == file.records else _copy_with(file, records=left)


def _move_rows(
    made: NextRevision,
    table: str,
    rows: Iterable[R],
    move: Callable[[R], R | None],
    *,
    name: Callable[[R], str],
    reason: str,
) -> list[R]:
    found: list[R] = []
    for row in rows:
        moved = move(row)
        if moved is None:
            made.reject(table, name(row), reason, row)
        else:
            found.append(moved)
    return found


def _copy_with(row: Any, **values: Any) -> Any:
    return row.model_copy(update=values)


def _ref(made: NextRevision, ref: TurnRef) -> TurnRef | None:
    index = made.moved(TABLE_OF[ref.unit], ref.unit_id, ref.turn_index)
    if index is None:
        return None
    return ref if index == ref.turn_index else ref.model_copy(update={"turn_index": index})


def _linkage(made: NextRevision, row: Linkage) -> Linkage | None:
    source, target = _ref(made, row.source), _ref(made, row.target)
    if source is None or target is None:
        return None
    return row if (source, target) == (row.source, row.target) else _copy_with(row, source=source, target=target)


def _path(made: NextRevision, path: DialoguePath) -> PathChange:
    moved = [(number, step, _ref(made, step.ref)) for number, step in enumerate(path.steps)]
    steps = tuple(
        step if ref == step.ref else step.model_copy(update={"ref": ref}) for _, step, ref in moved if ref is not None
    )
    after = path if steps == path.steps else _copy_with(path, steps=steps)
    return PathChange(path, after, [number for number, _, ref in moved if ref is not None])


def _gate(made: NextRevision, gate: GateResult) -> Any:
    """A check at the new index of its turn; None if its turn was removed, whose rejection keeps it."""
    if gate.unit not in TABLE_OF or gate.outcome in GONE:
        return gate
    table = TABLE_OF[gate.unit]
    if gate.turn_index is None:
        return None if (table, gate.unit_id) in made.gone else gate
    place = _place(made, table, gate.unit_id, gate.turn_index)
    moved = _moved(made, gate, gate.unit)
    if moved is None or place is None or (table, gate.unit_id, place) not in made.reworded:
        return moved
    if gate.outcome is GateOutcome.UNCHECKED:
        return moved
    made.counts["checks of edited turns that must be made again"] += 1
    found = {"outcome": gate.outcome.value, "reason": gate.reason, "value": gate.value}
    return GateResult.model_validate(
        moved.model_dump()
        | {
            "outcome": GateOutcome.UNCHECKED,
            "reason": "the turn was edited in review after it was checked",
            "value": None,
            "extra": {**gate.extra, CHECKED_BEFORE: found},
        }
    )


def _place(made: NextRevision, table: str, name: str, index: int) -> int | None:
    places = made.earlier_places.get((table, name), [])
    return places[index] if index < len(places) else None


def _moved(made: NextRevision, row: Any, unit: str) -> Any:
    """A row about a turn of a chain or dialogue at its new index; None if the turn was removed."""
    if unit not in TABLE_OF:
        return row
    table = TABLE_OF[unit]
    index = made.moved(table, row.unit_id, row.turn_index)
    if index is None:
        return row if (table, row.unit_id) not in made.earlier_places else None
    return row if index == row.turn_index else _copy_with(row, turn_index=index)


def _answers_and_scores(made: NextRevision) -> None:
    tables = {("turn", name): table for table, name in made.earlier_places}

    def unit_of(unit: str, name: str) -> str | None:
        if unit == "turn":
            # The unit of a turn is a dialogue if there is one with the id, otherwise a chain.
            if ("dialogues", name) in made.earlier_places:
                return "dialogues"
            return tables.get((unit, name))
        return TABLE_OF.get(unit)

    def answer(row: Answer) -> Answer | None:
        table = unit_of(row.unit, row.unit_id)
        if table is None or (table, row.unit_id) not in made.earlier_places:
            return row
        index = made.moved(table, row.unit_id, row.turn_index)
        if index is None:
            return None
        place = _place(made, table, row.unit_id, row.turn_index)
        earlier = made.reworded.get((table, row.unit_id, place)) if place is not None else None
        moved = row if index == row.turn_index else _copy_with(row, turn_index=index)
        return moved if earlier is None else _asked_before(moved, earlier)

    def score(row: Any) -> Any:
        table = unit_of(row.unit, row.unit_id)
        if table is None or (table, row.unit_id) not in made.earlier_places:
            return row
        if row.turn_index is None:
            return None if (table, row.unit_id) in made.gone else row
        index = made.moved(table, row.unit_id, row.turn_index)
        return None if index is None else row if index == row.turn_index else _copy_with(row, turn_index=index)

    made.content.answers = _move_rows(
        made, "answers", made.content.answers, answer, name=lambda row: _short(row.model, row.unit_id), reason=NO_TURN
    )
    made.content.scores = _move_rows(
        made, "scores", made.content.scores, score, name=lambda row: _short(row.model, row.unit_id), reason=NO_TURN
    )


def _asked_before(answer: Answer, turn: Turn) -> Answer:
    """An answer to an earlier wording of a turn, marked with that wording."""
    values: dict[str, Any] = {}
    if answer.asked_as is None:
        values["asked_as"] = turn.question
    if answer.referred_to is None:
        values["referred_to"] = turn.references
    return answer.model_copy(update=values)


def _short(model: str, unit_id: str) -> str:
    return f"{model}/{unit_id}"[:512].strip()


def _new_steps(changes: Sequence[PathChange]) -> dict[str, dict[int, int]]:
    """The new index of each remaining step, by path."""
    return {change.before.id: {old: new for new, old in enumerate(change.steps)} for change in changes}


NO_WORDING: Final = "review took back the wording with which it entered a chain in its middle"
NO_WALK: Final = "review took out a turn or a linkage that it walked along"


class _Moves:
    """The moves that the chains and linkages of a benchmark allow."""

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
    """Remove paths that are no longer walks, with the rows about them; let the rows of others follow their steps."""
    before = _Moves(made.before.chains, made.before.linkages)
    after = _Moves(made.content.chains, made.content.linkages)
    is_touched = made.places != made.earlier_places or made.before.linkages != made.content.linkages
    reasons: dict[str, str] = {}
    if is_touched:
        wordings = _Wordings(made)
        for change in changes:
            reason = _why_gone(change, before, after) or wordings.why_unsaid(change)
            if reason is not None:
                reasons[change.before.id] = reason
    for change in changes:
        if change.before.id in reasons:
            made.reject("paths", change.before.id, reasons[change.before.id], change.before)
    made.content.paths = [path for path in made.content.paths if path.id not in reasons]
    _follow(made, changes, reasons)


def _why_gone(change: PathChange, before: _Moves, after: _Moves) -> str | None:
    steps, earlier = change.after.steps, change.before.steps
    if not steps and earlier:
        return NO_STEP
    return NO_WALK if before.is_walk(earlier) and not after.is_walk(steps) else None


class _Wordings:
    """The wordings in which paths can enter chains in their middle."""

    def __init__(self, made: NextRevision) -> None:
        self._paths: dict[str, DialoguePath] = {}
        for path in made.content.paths:
            self._paths.setdefault(path.id, path)
        rewrites = made.content.rewrites
        self._drafted = {row.draft.to_json() for row in made.before.rewrites}
        self._left = {(row.linkage.source, row.linkage.target) for row in rewrites if row.extra.get(ACCEPTED)}
        self._turns: dict[str, Sequence[Turn]] = {chain.id: chain.turns for chain in made.content.chains}
        self._kept = {(row.linkage.source, row.linkage.target, row.draft.to_json()) for row in rewrites}

    def why_unsaid(self, change: PathChange) -> str | None:
        """Why a path can no longer enter a chain in its middle, if the draft that it asked there is gone."""
        path = self._paths.get(change.before.id, change.after)
        for number, (one, two) in enumerate(pairwise(path.steps), 1):
            was = change.before.steps[change.steps[number]].turn
            skips = one.ref.unit_id != two.ref.unit_id and two.ref.turn_index > 0
            if not skips or was is None or was.to_json() not in self._drafted or (one.ref, two.ref) in self._left:
                continue
            if two.turn is not None and (one.ref, two.ref, two.turn.to_json()) not in self._kept:
                return NO_WORDING
            # A step in the chain's own words may stay, if its question does not refer back.
            if two.turn is None and refers_back(self._turns[two.ref.unit_id][two.ref.turn_index]):
                return NO_WORDING
        return None


def _follow(made: NextRevision, changes: Sequence[PathChange], reasons: dict[str, str]) -> None:
    indices, paths = _new_steps(changes), {change.before.id: change.before for change in changes}
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
    return answer if earlier is None else _asked_before(answer, earlier)


SKILLS: Final = "skills"
"""Key in a linkage's `extra`: the skills that people say it exercises."""
FREE: Final = "free"
"""Method or skill of a rewrite without one."""
DELETED: Final = "deleted in review"
RELABELLED: Final = "its relation was changed in review"


def apply_links(made: NextRevision, units: Iterator[DoneUnit]) -> None:
    """Apply settled links, after the turns."""
    chains: dict[str, QAChain] = {chain.id: chain for chain in made.content.chains}
    joined = _Joined(made)
    for unit in units:
        before, after = unit.content["before"], unit.content["after"]
        sources = made.snapshot_places("chains", before["id"], len(before["turns"]), unit.revision)
        targets = made.snapshot_places("chains", after["id"], len(after["turns"]), unit.revision)
        for place, settled in unit.results.items():
            source, dash, target = place.partition("-")
            if not (dash and source.isdigit() and target.isdigit()):
                continue
            first = f"{sources[int(source)]}-{targets[int(target)]}"
            if settled.hash == made.history.result(unit.kind, unit.target_table, unit.target_id, first):
                continue
            drafted = [link["relations"] for link in unit.content["linkages"] if link["place"] == place]
            found = person_reviews(unit, place, settled, partial(_link_decision, drafted[0] if drafted else ()))
            made.review(unit, found, place=first, settled=settled)
            here = made.now("chains", before["id"], sources[int(source)])
            there = made.now("chains", after["id"], targets[int(target)])
            if here is None or there is None:
                made.counts["links whose turns were taken out"] += 1
                continue
            refs = (
                TurnRef(unit_id=before["id"], turn_index=here),
                TurnRef(unit_id=after["id"], turn_index=there),
            )
            _settle(made, joined, refs, settled, chains)
    joined.finish()


Refs = tuple[TurnRef, TurnRef]
J = TypeVar("J")


class _RowsOfRefs(Generic[J]):
    """Rows by the two turns that they join, in their order, while some are removed and added.

    Args:
        rows: All rows.
        refs: Returns the turns of a row.
    """

    def __init__(self, rows: Iterable[J], refs: Callable[[J], Refs]) -> None:
        self._refs = refs
        self._rows: list[J | None] = []
        self._places: dict[Refs, list[int]] = {}
        for row in rows:
            self.add(row)

    def add(self, row: J) -> None:
        self._places.setdefault(self._refs(row), []).append(len(self._rows))
        self._rows.append(row)

    def at(self, refs: Refs) -> list[J]:
        """The rows that join two turns."""
        return [row for place in self._places.get(refs, ()) if (row := self._rows[place]) is not None]

    def put(self, refs: Refs, change: Callable[[J], J | None]) -> None:
        """Replace the rows that join two turns, or remove those for which `change` returns None."""
        for place in self._places.get(refs, ()):
            if (row := self._rows[place]) is not None:
                self._rows[place] = change(row)

    def all(self) -> list[J]:
        return [row for row in self._rows if row is not None]


class _Joined:
    """Linkages, rewrites and paths of a revision by the turns that they join."""

    def __init__(self, made: NextRevision) -> None:
        self._made = made
        self.linkages = _RowsOfRefs(made.content.linkages, lambda row: (row.source, row.target))
        self.rewrites = _RowsOfRefs(made.content.rewrites, lambda row: (row.linkage.source, row.linkage.target))
        self._paths: dict[Refs, list[int]] = {}
        for number, path in enumerate(made.content.paths):
            for one, two in dict.fromkeys(pairwise(step.ref for step in path.steps)):
                self._paths.setdefault((one, two), []).append(number)

    def word_paths(self, refs: Refs, is_meant: Callable[[PathStep], bool], turn: Turn | None) -> None:
        """Let paths that go from one turn to the other ask the latter in other words.

        Args:
            refs: The turns.
            is_meant: Whether a step at the later turn gets the words.
            turn: The words; None for those of the chain.
        """
        paths = self._made.content.paths
        for number in self._paths.get(refs, ()):
            path = paths[number]
            steps: list[PathStep] = list(path.steps)
            for index in range(1, len(steps)):
                if (steps[index - 1].ref, steps[index].ref) == refs and is_meant(steps[index]):
                    steps[index] = steps[index].model_copy(update={"turn": turn})
            if tuple(steps) != path.steps:
                paths[number] = path.model_copy(update={"steps": tuple(steps)})

    def finish(self) -> None:
        """Put the rows into the revision."""
        self._made.content.linkages = self.linkages.all()
        self._made.content.rewrites = self.rewrites.all()


def _settle(made: NextRevision, joined: _Joined, refs: Refs, settled: SettledPlace, chains: dict[str, QAChain]) -> None:
    value = settled.value if settled.value is not None and settled.value["decision"] == "keep" else None
    wanted = list(value["relations"]) if value is not None else []
    old = joined.linkages.at(refs)
    kept = [row for row in old if row.relation in wanted]
    lost = [row for row in old if row.relation not in wanted]
    news = [relation for relation in wanted if relation not in {row.relation for row in kept}]
    made.counts["links kept"] += len(kept)
    made.counts["links drawn" if not lost else "links relabelled"] += len(news)
    if not news:
        made.counts["links deleted"] += len(lost)
    reason = RELABELLED if news else DELETED
    for row in lost:
        made.reject("linkages", derive_id("linkage", row.model_dump(mode="json")), reason, row)
    added = [Linkage(source=refs[0], target=refs[1], relation=relation) for relation in news]
    extra = {SKILLS: value["skills"]} if value is not None and value["skills"] else {}
    joined.linkages.put(
        refs,
        lambda row: (
            row.model_copy(update={"extra": {**_without(row.extra), **extra}}) if row.relation in wanted else None
        ),
    )
    for row in added:
        joined.linkages.add(row.model_copy(update={"extra": extra}))
    _settle_wording(made, joined, refs, settled, wanted, chains[refs[1].unit_id].turns[refs[1].turn_index])


def _without(extra: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in extra.items() if name != SKILLS}


def _settle_wording(
    made: NextRevision,
    joined: _Joined,
    refs: Refs,
    settled: SettledPlace,
    relations: Sequence[str],
    target: Turn,
) -> None:
    """Remove drafts for removed relations and earlier settled wordings, and add the new settled wording."""
    withdrawn: list[Turn] = []

    def left(row: Rewrite) -> Rewrite | None:
        if row.extra.get(ACCEPTED):
            withdrawn.append(row.draft)
        elif row.linkage.relation not in relations:
            made.reject("rewrites", row.id, RELABELLED if relations else DELETED, row)
        else:
            return row
        return None

    joined.rewrites.put(refs, left)
    if withdrawn:
        joined.word_paths(refs, lambda step: step.turn in withdrawn, None)
    value = settled.value
    if not relations or value["question"] is None:
        return
    draft = _draft(target, value)
    method = value["method"] or FREE
    known = catalogue()[method].skill if method in catalogue() else FREE
    linkage = next(row for row in joined.linkages.at(refs) if row.relation == relations[0])
    name = derive_id("rewrite", "review", linkage.model_dump(mode="json"), value["question"], value["references"])
    rewrite = Rewrite(
        id=name,
        linkage=linkage,
        method=method,
        skill=value["skills"][0] if value["skills"] else known,
        draft=draft,
        coherent=True,
        writer=f"human:{settled.people[0] if settled.people else 'unknown'}",
        extra={ACCEPTED: True},
    )
    joined.rewrites.add(rewrite)
    made.counts["later questions reworded for a link"] += 1


def _draft(target: Turn, value: Json) -> Turn:
    labels = {**target.labels, "svbench.relation": tuple(value["relations"])}
    if value["skills"]:
        labels["svbench.skill"] = tuple(value["skills"])
    worded = {"question": value["question"], "references": tuple(value["references"] or ()), "labels": labels}
    return without_facts(target).model_copy(update=worded)


def word_paths(made: NextRevision) -> None:
    """Let paths along a linkage ask the later question with the wording that people settled for the linkage."""
    joined = _Joined(made)
    for row in made.content.rewrites:
        if row.extra.get(ACCEPTED):
            refs = (row.linkage.source, row.linkage.target)
            drafts = [other.draft for other in joined.rewrites.at(refs) if not other.extra.get(ACCEPTED)]
            joined.word_paths(refs, partial(_asks, drafts), row.draft)


def _asks(drafts: Sequence[Turn], step: PathStep) -> bool:
    return step.turn is None or step.turn in drafts


def _link_decision(drafted: Sequence[str], value: Json) -> ReviewDecision:
    if value is None or value["decision"] != "keep":
        return ReviewDecision(Decision.REJECT, comment=value["note"] if value is not None else "")
    edits = []
    if list(drafted) != list(value["relations"]):
        edits.append(FieldEdit(field="relations", before=list(drafted), after=list(value["relations"])))
    if value["skills"]:
        edits.append(FieldEdit(field="skills", before=None, after=list(value["skills"])))
    if value["question"] is not None:
        reworded = {"question": value["question"], "references": value["references"], "method": value["method"]}
        edits.append(FieldEdit(field="rewrite", before=None, after=reworded))
    return ReviewDecision(Decision.EDIT if edits else Decision.ACCEPT, edits=edits, comment=value["note"])

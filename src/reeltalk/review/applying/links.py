"""Applies settled links: drawn, relabelled or deleted links, and new wordings of the later question."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

from reeltalk.review.applying.next_revision import DoneUnit, NextRevision, ReviewDecision, SettledPlace, person_reviews
from reeltalk.schema.dialogue import Linkage, PathStep, QAChain, Turn, TurnRef, without_facts
from reeltalk.schema.paths import ACCEPTED
from reeltalk.schema.record import Json, derive_id
from reeltalk.schema.review import Decision, FieldEdit
from reeltalk.schema.rewriting import Rewrite, catalogue

SKILLS: Final = "skills"
"""Key in a linkage's `extra`: the skills that people say it exercises."""
FREE: Final = "free"
"""Method or skill of a rewrite without one."""
DELETED: Final = "deleted in review"
RELABELLED: Final = "its relation was changed in review"


def apply_links(made: NextRevision, units: Iterator[DoneUnit]) -> None:
    """Apply settled links, after the turns."""
    chains: dict[str, QAChain] = {chain.id: chain for chain in made.content.chains}
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
            _settle(made, refs, settled, chains)


def _settle(
    made: NextRevision, refs: tuple[TurnRef, TurnRef], settled: SettledPlace, chains: dict[str, QAChain]
) -> None:
    value = settled.value if settled.value is not None and settled.value["decision"] == "keep" else None
    content, wanted = made.content, list(value["relations"]) if value is not None else []
    old = [row for row in content.linkages if (row.source, row.target) == refs]
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
    stays = {id(row): row.model_copy(update={"extra": {**_without(row.extra), **extra}}) for row in kept}
    gone = {id(row) for row in lost}
    content.linkages = [stays.get(id(row), row) for row in content.linkages if id(row) not in gone]
    content.linkages += [row.model_copy(update={"extra": extra}) for row in added]
    _settle_wording(made, refs, settled, wanted, chains[refs[1].unit_id].turns[refs[1].turn_index])


def _without(extra: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in extra.items() if name != SKILLS}


def _settle_wording(
    made: NextRevision, refs: tuple[TurnRef, TurnRef], settled: SettledPlace, relations: Sequence[str], target: Turn
) -> None:
    """Remove drafts for removed relations and earlier settled wordings, and add the new settled wording."""
    left: list[Rewrite] = []
    withdrawn: list[Turn] = []
    for row in made.content.rewrites:
        is_here = (row.linkage.source, row.linkage.target) == refs
        if is_here and row.extra.get(ACCEPTED):
            withdrawn.append(row.draft)
        elif is_here and row.linkage.relation not in relations:
            made.reject("rewrites", row.id, RELABELLED if relations else DELETED, row)
        else:
            left.append(row)
    made.content.rewrites = left
    if withdrawn:
        _word_paths(made, refs, lambda step: step.turn in withdrawn, None)
    value = settled.value
    if not relations or value["question"] is None:
        return
    draft = _draft(target, value)
    method = value["method"] or FREE
    known = catalogue()[method].skill if method in catalogue() else FREE
    linkage = next(
        row for row in made.content.linkages if (row.source, row.target) == refs and row.relation == relations[0]
    )
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
    made.content.rewrites.append(rewrite)
    made.counts["later questions reworded for a link"] += 1


def _draft(target: Turn, value: Json) -> Turn:
    labels = {**target.labels, "svbench.relation": tuple(value["relations"])}
    if value["skills"]:
        labels["svbench.skill"] = tuple(value["skills"])
    worded = {"question": value["question"], "references": tuple(value["references"] or ()), "labels": labels}
    return without_facts(target).model_copy(update=worded)


def word_paths(made: NextRevision) -> None:
    """Let paths along a linkage ask the later question with the wording that people settled for the linkage."""
    for row in made.content.rewrites:
        if row.extra.get(ACCEPTED):
            refs = (row.linkage.source, row.linkage.target)
            drafts = [
                other.draft
                for other in made.content.rewrites
                if (other.linkage.source, other.linkage.target) == refs and not other.extra.get(ACCEPTED)
            ]
            _word_paths(made, refs, lambda step, of=drafts: step.turn is None or step.turn in of, row.draft)


def _word_paths(made: NextRevision, refs: tuple[TurnRef, TurnRef], is_meant: Any, turn: Turn | None) -> None:
    paths = made.content.paths
    for number, path in enumerate(paths):
        steps: list[PathStep] = list(path.steps)
        for index in range(1, len(steps)):
            if (steps[index - 1].ref, steps[index].ref) == refs and is_meant(steps[index]):
                steps[index] = steps[index].model_copy(update={"turn": turn})
        if tuple(steps) != path.steps:
            paths[number] = path.model_copy(update={"steps": tuple(steps)})


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

"""Applies settled links, after the turns: they are drawn, relabelled or deleted, or reword the later question."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from reeltalk.schema.dialogue import Linkage, Turn, TurnRef, without_facts
from reeltalk.schema.paths import ACCEPTED
from reeltalk.schema.record import Json, derive_id
from reeltalk.schema.rewriting import Rewrite, catalogue
from reeltalk_review.applying.following import Refs
from reeltalk_review.applying.next_revision import NextRevision
from reeltalk_review.applying.settled import DoneUnit, SettledPlace

SKILLS: Final = "skills"
"""Key in a linkage's `extra`: the skills that people say it exercises."""
FREE: Final = "free"
"""Method or skill of a rewrite without one."""
DELETED: Final = "deleted in review"
RELABELLED: Final = "its relation was changed in review"


def apply_links(made: NextRevision, units: Iterable[DoneUnit]) -> Mapping[Refs, Sequence[Turn]]:
    """Apply settled links.

    Returns:
        Wordings that people had settled earlier and that no longer hold, by the turns of their linkage.
    """
    board = _Board(made)
    for unit in units:
        for place in made.new_places(unit):
            made.review(unit, place)
            first, second = made.linked_places(unit, place) or (0, 0)
            before, after = unit.content["before"]["id"], unit.content["after"]["id"]
            here, there = made.now(("chains", before), first), made.now(("chains", after), second)
            if here is None or there is None:
                made.counts["links whose turns were taken out"] += 1
                continue
            refs = (TurnRef(unit_id=before, turn_index=here), TurnRef(unit_id=after, turn_index=there))
            board.settle(refs, unit.results[place])
    return board.withdrawn


class _Board:
    """All links of a revision, by the turns that they join."""

    def __init__(self, made: NextRevision) -> None:
        self._made = made
        self._links: dict[Refs, list[int]] = defaultdict(list)
        self._rewrites: dict[Refs, list[int]] = defaultdict(list)
        for place, link in made.linkages.numbered():
            self._links[link.source, link.target].append(place)
        for place, rewrite in made.rewrites.numbered():
            self._rewrites[rewrite.linkage.source, rewrite.linkage.target].append(place)
        self.withdrawn: dict[Refs, list[Turn]] = defaultdict(list)

    def settle(self, refs: Refs, settled: SettledPlace) -> None:
        """Make the linkages of two turns those of a settled value."""
        made = self._made
        value = settled.value if settled.value is not None and settled.value["decision"] == "keep" else None
        wanted: list[str] = list(value["relations"]) if value is not None else []
        skills: dict[str, Json] = {SKILLS: value["skills"]} if value is not None and value["skills"] else {}
        old = {place: made.linkages[place] for place in self._links[refs]}
        kept = [row.relation for row in old.values() if row.relation in wanted]
        news = [relation for relation in wanted if relation not in kept]
        reason = RELABELLED if news else DELETED
        made.counts["links kept"] += len(kept)
        made.counts["links drawn" if len(kept) == len(old) else "links relabelled"] += len(news)
        if not news:
            made.counts["links deleted"] += len(old) - len(kept)
        now = []
        for place, row in old.items():
            others = {name: extra for name, extra in row.extra.items() if name != SKILLS}
            new = row.model_copy(update={"extra": others | skills}) if row.relation in wanted else None
            made.replace("linkages", place, new, reason)
            now += [new] if new is not None else []
        for relation in news:
            now.append(Linkage(source=refs[0], target=refs[1], relation=relation, extra=skills))
            made.linkages.append(now[-1])
        self._withdraw(refs, wanted)
        if value is not None and value["question"] is not None:
            linkage = next(row for row in now if row.relation == wanted[0])
            made.rewrites.append(_rewrite(made, linkage, value, settled))
            made.counts["later questions reworded for a link"] += 1

    def _withdraw(self, refs: Refs, relations: Sequence[str]) -> None:
        """Remove drafts for removed relations, and wordings that people settled earlier."""
        for place in self._rewrites[refs]:
            row = self._made.rewrites[place]
            if row.extra.get(ACCEPTED):
                self.withdrawn[refs].append(row.draft)
                self._made.rewrites.put(place, None)
            elif row.linkage.relation not in relations:
                self._made.replace("rewrites", place, None, RELABELLED if relations else DELETED)


def _rewrite(made: NextRevision, linkage: Linkage, value: Json, settled: SettledPlace) -> Rewrite:
    """The settled wording of the later question of a linkage."""
    target = made.unit(("chains", linkage.target.unit_id)).turns[linkage.target.turn_index]
    labels = {**target.labels, "svbench.relation": tuple(value["relations"])}
    if value["skills"]:
        labels["svbench.skill"] = tuple(value["skills"])
    worded = {"question": value["question"], "references": tuple(value["references"] or ()), "labels": labels}
    method = value["method"] or FREE
    known = catalogue()[method].skill if method in catalogue() else FREE
    return Rewrite(
        id=derive_id("rewrite", "review", linkage.model_dump(mode="json"), value["question"], value["references"]),
        linkage=linkage,
        method=method,
        skill=value["skills"][0] if value["skills"] else known,
        draft=without_facts(target).model_copy(update=worded),
        coherent=True,
        writer=f"human:{settled.people[0] if settled.people else 'unknown'}",
        extra={ACCEPTED: True},
    )

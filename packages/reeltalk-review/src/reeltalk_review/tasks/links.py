"""The link board: draw, relabel or delete links between two chains of a video, and reword the later question of a link.

A unit is a pair of chains that follow each other in time. Each link is a place, named by its two turns (`2-0` leads
from turn 2 of the earlier chain to turn 0 of the later one), so undo, merging, comparing and adjudication work link by
link. Drafted links are places from the start; a link that somebody draws becomes a place then. One more place, `board`,
confirms that no link is missing.

The value of a link, as results hold it (None if nobody has it, as after taking the side of somebody who drew none):

    {"decision": "keep" | "delete" | null,
     "relations": ["Events", …],             one or more of SVBench's six; each is one `Linkage` of the benchmark
     "skills": ["STS", …],                   of SVBench's nine
     "method": "Events/sequence" | null,     from the rewriting catalogue
     "question": "…" | null,                 wording of the later turn after this link; null for its own wording
     "references": ["…", …] | null,          its answers in that wording
     "fits": true,                           confirms that the wording fits the turns around it
     "note": "…", "unsure": false}

The value of `board`: `{"decision": "complete" | null, "links": ["0-2", …], "note": "…", "unsure": false}`.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from reeltalk.schema.dialogue import Linkage, QAChain
from reeltalk.schema.labels import Relation
from reeltalk.schema.record import Json, Name
from reeltalk.schema.rewriting import Rewrite, catalogue
from reeltalk.store.content import Content
from reeltalk.store.rows import rows_by
from reeltalk_review.errors import InvalidValue
from reeltalk_review.tasks.task import Code, Draft, ReviewTask, Text, Value, remark_lines
from reeltalk_review.tasks.turns import TurnDrafts
from reeltalk_review.tasks.vocabularies import check_labels, closed_vocabulary

BOARD: Final = "board"
PLACE: Final = re.compile(r"(0|[1-9]\d{0,5})-(0|[1-9]\d{0,5})", re.ASCII)
CHAINS_AT_ONCE: Final = 64
"""Chains whose content is kept in memory: each is in several units."""
Labels = Annotated[tuple[Name, ...], Field(max_length=30)]


class LinkValue(Value):
    """One person's value of one link."""

    decision: Literal["keep", "delete"] | None = None
    relations: Labels = ()
    skills: Labels = ()
    method: Name | None = None
    question: Text | None = None
    references: Annotated[tuple[Text, ...], Field(max_length=50)] | None = None
    fits: bool = False

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.method is not None and self.method not in catalogue():
            raise ValueError(f"the rewriting catalogue has no method {self.method!r}")
        if self.decision != "keep":
            return self
        if not self.relations:
            raise ValueError("say how the two turns are related")
        if self.question is not None:
            if not self.question.strip():
                raise ValueError("the later question was rewritten to nothing")
            if not any(text.strip() for text in self.references or ()):
                raise ValueError("a question that is rewritten needs its answer")
            if not self.fits:
                raise ValueError("look at the turns around the rewritten question, and confirm that it fits them")
        return self


class BoardValue(Value):
    """Confirms that all links between two chains are there."""

    decision: Literal["complete"] | None = None
    links: Annotated[tuple[Name, ...], Field(max_length=10_000)] = ()
    """The places of the links that this person kept."""


class LinksTask(ReviewTask):
    """Links between two chains."""

    kind = "links"
    title = "Link chains"
    template = "work_links.html"
    relations: Final = tuple(relation.value for relation in Relation)
    skills: Final[Mapping[str, str]] = {
        "II": "intention inference",
        "PA": "potentiality assessment",
        "CR": "counterfactual reasoning",
        "STS": "spatio-temporal speculation",
        "RI": "relationship inference",
        "CST": "character state and transition",
        "CTA": "comparison and trend analysis",
        "CSI": "common sense inference",
        "ECA": "event-centric analysis",
    }
    """SVBench's nine skills with their names."""

    def visible_content(self, content: Mapping[str, Json], values: Mapping[str, Json]) -> Mapping[str, Json]:
        """Everything, with the vocabularies of a link's fields and the rewriting catalogue."""
        return {
            **content,
            "vocabularies": {
                "relations": closed_vocabulary(self.relations, 1, None),
                "skills": closed_vocabulary(self.skills, 0, None) | {"says": dict(self.skills)},
                "method": closed_vocabulary(catalogue(), 0, 1),
            },
            "methods": [method.model_dump(mode="json", exclude={"kinds"}) for method in catalogue().values()],
        }

    def drafts(self, content: Content) -> Iterator[Draft]:
        """One for each two chains that follow each other in their video, and for other pairs with links."""
        made = TurnDrafts(content)
        by_source = rows_by(content.linkages, "source.unit_id")
        drafts = rows_by(content.rewrites, "linkage.source.unit_id")
        drafted = lru_cache(CHAINS_AT_ONCE)(lambda unit_id: made.draft(made.find(unit_id)).content)
        for before, after, links in _chain_pairs(content, by_source):
            found = (drafted(before.id), drafted(after.id))
            rewrites = [row for row in drafts.get(before.id, ()) if row.linkage.target.unit_id == after.id]
            yield Draft(
                target_table="linkages",
                target_id=f"{before.id}/{after.id}",
                title=made.names.pair(before, after),
                video_id=before.video_id,
                content={
                    "unit": "pair",
                    "video_id": before.video_id,
                    "category": found[0]["category"],
                    "clips": [clip for chain in found for clip in chain["clips"]],
                    "scenes": found[0]["scenes"],
                    "before": _chain(found[0]),
                    "after": _chain(found[1]),
                    "linkages": _drawn(links, before, after),
                    "rewrites": _rewrites(rewrites),
                },
            )

    def places(self, content: Mapping[str, Json]) -> Sequence[str]:
        """One for each drafted link, and one for the whole board."""
        return [*(link["place"] for link in content["linkages"]), BOARD]

    def check(self, content: Mapping[str, Json], place: str, value: Json) -> Json:
        """The value as it is stored. A later question with the wording of its chain counts as not rewritten.

        Raises:
            InvalidValue: It cannot be stored; names the field.
        """
        if place == BOARD:
            return BoardValue.parsed(value).model_dump(mode="json")
        _, target = self._turns(content, place)
        found = LinkValue.parsed(value)
        is_kept = found.decision == "keep"
        if is_kept:
            check_labels("SVBench relation", self.relations, found.relations, field="relations")
            check_labels("SVBench skill", list(self.skills), found.skills, field="skills")
        same = found.question == target["question"] and list(found.references or ()) == target.get("references", [])
        is_unfinished = found.method is not None or (found.question is None and found.references is not None)
        if is_kept and (same or found.question is None) and is_unfinished:
            raise InvalidValue(
                "the rewriting of the later question is not finished: write the question, or take the rewriting away",
                field="question",
            )
        if found.decision is not None:
            if same or found.question is None:
                found = found.model_copy(update={"question": None, "references": None, "method": None, "fits": False})
            unique = {name: tuple(dict.fromkeys(getattr(found, name))) for name in ("relations", "skills")}
            found = found.model_copy(update=unique)
        return found.model_dump(mode="json")

    def essence(self, content: Mapping[str, Json], place: str, value: Json) -> Json:
        """Relations, skills, wording and its method; None for a link that is deleted, as for one that nobody drew."""
        if place == BOARD:
            # People differ about single links, each at its own place.
            return {}
        if value["decision"] != "keep":
            return None
        return {
            "relations": sorted(value["relations"]),
            "skills": sorted(value["skills"]),
            "question": value["question"],
            "references": value["references"],
            "method": value["method"],
        }

    def affects_others(self, before: Json, after: Json) -> bool:
        """True if a link was added or removed."""
        return _stands(before) != _stands(after)

    def dependents(self, content: Mapping[str, Json], place: str) -> Iterable[str]:
        """The place `board`."""
        return () if place == BOARD else (BOARD,)

    def draft_value(self, content: Mapping[str, Json], place: str) -> Json:
        """The drafted link, undecided; without relations if it was not drafted."""
        if place == BOARD:
            return BoardValue().model_dump(mode="json")
        relations = next((link["relations"] for link in content["linkages"] if link["place"] == place), ())
        return LinkValue(relations=relations).model_dump(mode="json")

    def codes(self, content: Mapping[str, Json], place: str, value: Json) -> Iterator[Code]:
        """Which links there are, by pair of turns, and the relation, skills and wording of each."""
        if place == BOARD:
            yield Code("links", "set", sorted(value["links"]))
            return
        kept = value["decision"] == "keep"
        yield Code("decision", "nominal", value["decision"])
        yield Code("relation", "nominal", " + ".join(sorted(value["relations"])) if kept else None)
        yield Code("skills", "set", sorted(value["skills"]) if kept else None)
        _, target = self._turns(content, place)
        worded = (value["question"] or target["question"]) if kept else None
        yield Code("question", "text", worded, draft=target["question"])

    def summary(self, content: Mapping[str, Json], place: str, value: Json) -> Sequence[tuple[str, str]]:
        """Decision, the two turns, relations, skills, wording and note."""
        if place == BOARD:
            complete = "all links are there" if value["decision"] == "complete" else "none yet"
            shown = [("Decision", complete), ("Links", ", ".join(map(_spoken, value["links"])) or "none")]
        else:
            source, target = self._turns(content, place)
            shown = [
                ("Decision", value["decision"] or "none yet"),
                ("Link", _spoken(place)),
                ("Earlier question", source["question"]),
                ("Later question", target["question"]),
                ("Relations", ", ".join(value["relations"]) or "none"),
            ]
            if value["skills"]:
                shown.append(("Skills", ", ".join(value["skills"])))
            if value["method"]:
                shown.append(("Method", value["method"]))
            if value["question"] is not None:
                shown.append(("Rewritten question", value["question"]))
                shown += [("Rewritten answer", text) for text in value["references"] or ()]
        return [*shown, *remark_lines(value)]

    def _turns(self, content: Mapping[str, Json], place: str) -> tuple[Json, Json]:
        sources, targets = content["before"]["turns"], content["after"]["turns"]
        match = PLACE.fullmatch(place)
        if match is None or int(match[1]) >= len(sources) or int(match[2]) >= len(targets):
            raise InvalidValue(
                f"a link leads from one of turns 0 to {len(sources) - 1} to one of turns 0 to {len(targets) - 1}, "
                f"as '0-1'; there is none at {place[:20]!r}",
                field="place",
            )
        return sources[int(match[1])], targets[int(match[2])]


def _chain_pairs(
    content: Content, by_source: Mapping[str, Sequence[Linkage]]
) -> Iterator[tuple[QAChain, QAChain, Sequence[Linkage]]]:
    """Chains that follow each other in their video, by the start of their clips, and other pairs with links."""
    clips, by_video = rows_by(content.clips, "video_id"), rows_by(content.chains, "video_id")
    for video_id in dict.fromkeys((*(str(video.id) for video in content.videos), *by_video)):
        shown = [clip for clip in clips.get(video_id, ()) if clip.interval is not None]
        starts = {str(clip.id): clip.interval.start_s for clip in shown if clip.interval is not None}
        # Chains whose clip has no time come first, in the order of the benchmark.
        chains = sorted(by_video.get(video_id, ()), key=lambda chain: starts.get(chain.clip_id or "", -1.0))
        adjacent = {(a.id, b.id) for a, b in pairwise(chains)}
        for number, before in enumerate(chains):
            links: dict[str, list[Linkage]] = defaultdict(list)
            for linkage in by_source.get(before.id, ()):
                links[linkage.target.unit_id].append(linkage)
            for after in chains[number + 1 :]:
                if (before.id, after.id) in adjacent or after.id in links:
                    yield before, after, links.get(after.id, ())


def _chain(content: Mapping[str, Json]) -> dict[str, Json]:
    return {name: content[name] for name in ("id", "clips", "turns", "checks")}


def _drawn(linkages: Iterable[Linkage], before: QAChain, after: QAChain) -> list[dict[str, Json]]:
    relations: dict[tuple[int, int], list[str]] = defaultdict(list)
    for linkage in linkages:
        source, target = linkage.source.turn_index, linkage.target.turn_index
        known = relations[source, target] if source < len(before.turns) and target < len(after.turns) else []
        if linkage.relation not in known:
            known.append(linkage.relation)
    return [
        {"place": f"{source}-{target}", "source": source, "target": target, "relations": found}
        for (source, target), found in sorted(relations.items())
    ]


def _rewrites(rewrites: Iterable[Rewrite]) -> dict[str, list[dict[str, Json]]]:
    found: dict[str, list[dict[str, Json]]] = defaultdict(list)
    for rewrite in rewrites:
        source, target = rewrite.linkage.source.turn_index, rewrite.linkage.target.turn_index
        found[f"{source}-{target}"].append(
            {
                "relation": rewrite.linkage.relation,
                "method": rewrite.method,
                "skill": rewrite.skill,
                "question": rewrite.draft.question,
                "references": list(rewrite.draft.references),
                "problems": list(rewrite.problems),
                "checked": rewrite.coherent is not None,
            }
        )
    return dict(found)


def _stands(value: Json) -> bool:
    return value is not None and value.get("decision") == "keep"


def _spoken(place: str) -> str:
    source, target = map(int, place.split("-"))
    return f"turn {source + 1} → turn {target + 1}"

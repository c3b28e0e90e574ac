"""Labelling tasks: closed vocabularies with a manual, and a model's proposals to start from.

The value of a turn, as results hold it:

    {"decision": "accept" | "edit" | "skip" | null,     as proposed; changed; cannot be labelled
     "labels": {"cogme.target": ["Object"], …},          every vocabulary of the task, in the vocabulary's order
     "manual": "tagging-manual.v1#1f2e3d4c",             the manual that was used: name, version, hash
     "note": "…", "unsure": false}

When applied, `labels` replace those of the same vocabularies in `Turn.labels` and leave others as they are, the turn's
`extra["tags_verified"]` becomes true, and its rows of `tag_proposals` are removed.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from reeltalk.llm import Prompt
from reeltalk.schema.labels import TagProposal
from reeltalk.schema.record import Json, Name
from reeltalk.schema.review import Decision
from reeltalk.store.content import Content
from reeltalk.store.rows import rows_by
from reeltalk_review.errors import InvalidValue
from reeltalk_review.tasks.task import Code, CodeScale, Draft, ReviewTask, Value, remark_lines, turn_at
from reeltalk_review.tasks.turns import KEEPING_DECISIONS, TurnDrafts
from reeltalk_review.tasks.vocabularies import check_labels, closed_vocabulary, known_labels

ITEM = re.compile(r"^- (\S+): (.+)$", re.M)


@dataclass(frozen=True)
class Vocabulary:
    """A closed set of labels. A turn carries some of them."""

    name: str
    """For example `cogme.target`."""
    title: str
    """Its title for people."""
    least: int
    most: int
    keys: str
    """The key of each label, in the vocabulary's order."""

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels, in order."""
        return tuple(known_labels(self.name))

    @property
    def scale(self) -> CodeScale:
        """The scale on which agreement compares them."""
        return "nominal" if self.most == 1 else "set"


@dataclass(frozen=True)
class Manual:
    """A manual for a page."""

    signature: str
    """Name, version and hash, as in values."""
    version: str
    sections: tuple[Json, ...]
    """`title`, empty for the first, and `blocks`: paragraphs and lists as lines. Lines of lists begin with `- `."""
    says: Mapping[str, str]
    """The meaning of each label."""

    @classmethod
    def load(cls, path: Path) -> "Manual":
        """Read a manual's file. Its first line gives name and version."""
        prompt = Prompt.load(path)
        opening, *parts = re.split(r"^# ", prompt.text, flags=re.M)
        titled = (("", "", opening), *(part.partition("\n") for part in parts))
        sections = tuple(
            {
                "title": title.strip(),
                "blocks": [block.splitlines() for block in body.strip().split("\n\n") if block.strip()],
            }
            for title, _, body in titled
        )
        return cls(prompt.signature, prompt.version, sections, dict(ITEM.findall(prompt.text)))


class LabelsValue(Value):
    """The labels that somebody gave one turn."""

    decision: Decision | None = None
    labels: Annotated[dict[Name, tuple[Name, ...]], Field(max_length=20)] = Field(default_factory=dict)
    manual: Name = "none"


class LabelsTask(ReviewTask):
    """Labels of the turns of a chain or a dialogue, in closed vocabularies."""

    template = "work_labels.html"
    order = "doubt"
    asks_labels = True

    def __init__(self, kind: str, title: str, vocabularies: Sequence[Vocabulary], manual: Path) -> None:
        self.kind, self.title = kind, title
        self.vocabularies = tuple(vocabularies)
        self.manual = Manual.load(manual)
        if unsaid := [label for one in vocabularies for label in one.labels if label not in self.manual.says]:
            raise ValueError(f"{manual} says nothing about {', '.join(unsaid)}; add lines '- LABEL: meaning'")

    def drafts(self, content: Content) -> Iterator[Draft]:
        """One for each chain and each dialogue, with a tagger's proposals."""
        names = {vocabulary.name for vocabulary in self.vocabularies}
        made, proposed = TurnDrafts(content), rows_by(content.tag_proposals, "unit_id")
        for units in (content.chains, content.dialogues):
            for draft in map(made.draft, units):
                shown = {name: value for name, value in draft.content.items() if name not in ("checks", "links")}
                proposals: dict[str, dict[str, dict[str, Json]]] = defaultdict(dict)
                for row in proposed.get(draft.target_id, ()):
                    if row.vocabulary in names and row.unit == shown["unit"]:
                        proposals[str(row.turn_index)][row.vocabulary] = _proposal(row)
                yield replace(draft, content={**shown, "proposals": dict(proposals)})

    def visible_content(self, content: Mapping[str, Json], values: Mapping[str, Json]) -> Mapping[str, Json]:
        """Everything, with the vocabularies and the manual."""
        return {
            **content,
            "vocabularies": {
                one.name: closed_vocabulary(one.labels, one.least, one.most)
                | {
                    "title": one.title,
                    "keys": list(one.keys),
                    "says": {label: self.manual.says[label] for label in one.labels},
                }
                for one in self.vocabularies
            },
            "manual": {name: getattr(self.manual, name) for name in ("version", "signature", "sections")},
        }

    def check(self, content: Mapping[str, Json], place: str, value: Json) -> Json:
        """The value as it is stored: labels in the vocabularies' order, marked as accepted or edited.

        Raises:
            InvalidValue: It cannot be stored; names the field.
        """
        start = self.draft_value(content, place)
        found = LabelsValue.parsed(value)
        given = dict(found.labels)
        if unknown := given.keys() - {vocabulary.name for vocabulary in self.vocabularies}:
            raise InvalidValue(f"this task has no vocabulary {min(unknown)!r}", field="labels")
        is_kept = found.decision in KEEPING_DECISIONS
        ordered: dict[str, tuple[str, ...]] = {}
        for one in self.vocabularies:
            counts = (one.least, one.most) if is_kept else (0, None)
            check_labels(one.title, one.labels, given.get(one.name, ()), *counts, field=f"labels.{one.name}")
            ordered[one.name] = tuple(label for label in one.labels if label in given.get(one.name, ()))
        if found.decision is Decision.REJECT:
            raise InvalidValue("accept or edit the labels, or skip the turn", field="decision")
        stored = found.model_copy(update={"labels": ordered, "manual": self.manual.signature}).model_dump(mode="json")
        if is_kept:
            same = stored["labels"] == start["labels"]
            stored["decision"] = (Decision.ACCEPT if same else Decision.EDIT).value
        return stored

    def essence(self, content: Mapping[str, Json], place: str, value: Json) -> Json:
        """The labels; None if the turn was skipped."""
        return None if value["decision"] == Decision.SKIP else value["labels"]

    def draft_value(self, content: Mapping[str, Json], place: str) -> Json:
        """The labels that the turn has or that were proposed, undecided."""
        has, proposed = turn_at(content, place).get("labels", {}), content["proposals"].get(place, {})
        labels = {}
        for vocabulary in self.vocabularies:
            start = has.get(vocabulary.name) or proposed.get(vocabulary.name, {}).get("tags", ())
            labels[vocabulary.name] = tuple(label for label in vocabulary.labels if label in start)
        return LabelsValue(labels=labels, manual=self.manual.signature).model_dump(mode="json")

    def codes(self, content: Mapping[str, Json], place: str, value: Json) -> Iterator[Code]:
        """The labels of each vocabulary; no value if the turn was skipped."""
        for vocabulary in self.vocabularies:
            labels: Any = sorted(value["labels"][vocabulary.name])
            if vocabulary.most == 1:
                labels = labels[0] if labels else None
            skipped = value["decision"] == Decision.SKIP
            yield Code(vocabulary.name, vocabulary.scale, None if skipped else labels)

    def summary(self, content: Mapping[str, Json], place: str, value: Json) -> Sequence[tuple[str, str]]:
        """Decision, labels and note."""
        shown = [("Decision", value["decision"] or "none yet")]
        if value["decision"] != Decision.SKIP:
            shown += [
                (vocabulary.title, ", ".join(value["labels"].get(vocabulary.name, ())) or "none")
                for vocabulary in self.vocabularies
            ]
        return [*shown, *remark_lines(value)]


def _proposal(row: TagProposal) -> dict[str, Json]:
    return {
        "tags": list(row.tags),
        "probabilities": {name: round(value, 4) for name, value in row.probabilities.items()},
        "margin": row.margin,
        "needs_review": row.needs_review,
        "tagger": row.tagger,
        "reason": row.reason,
    }

"""Review of turns: accept, edit, reject or skip every question and answer of a chain or a dialogue."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Annotated, Any, Final, Self

from pydantic import Field, model_validator

from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.gates import GateOutcome, GateResult, turn_gates
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip
from reeltalk.schema.record import Json, Name, Seconds
from reeltalk.schema.review import Decision, Reason
from reeltalk.schema.turn_sense import KEPT_BECAUSE, Film, turn_findings
from reeltalk.store.content import Content
from reeltalk.store.rows import rows_by
from reeltalk_review.errors import InvalidValue
from reeltalk_review.naming import VIDEOS_AT_ONCE, ContentNames
from reeltalk_review.tasks.task import Code, Draft, ReviewTask, Text, Value, remark_lines, spoken_place, turn_at
from reeltalk_review.tasks.vocabularies import check_turn_labels, turn_vocabularies

LONGEST_REASON: Final = 2_000
KEEPING_DECISIONS: Final = (Decision.ACCEPT, Decision.EDIT)
UNIT: Final = "unit"
"""Key of the checks of a whole unit, next to the keys of its turns."""


class TurnValue(Value):
    """One person's value of one turn."""

    decision: Decision | None = None
    question: Text
    references: Annotated[tuple[Text, ...], Field(max_length=50)] = ()
    asked_at_s: Seconds | None = None
    evidence: Annotated[tuple[Interval, ...], Field(max_length=200)] = ()
    options: Annotated[tuple[Text, ...], Field(max_length=100)] | None = None
    correct_option: Annotated[int, Field(ge=0)] | None = None
    labels: Annotated[dict[Name, tuple[Name, ...]], Field(max_length=50)] = Field(default_factory=dict)
    reasons: Annotated[tuple[Name, ...], Field(max_length=50)] = ()
    """Built-in ones of `Reason`, or the project's own."""
    kept_because: Annotated[str, Field(max_length=LONGEST_REASON)] = ""
    """Why the turn is kept in spite of doubts (`schema.turn_sense`)."""
    in_bulk: bool = False
    """Stored only while nobody has looked at the turn since it was accepted together with others."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.correct_option is not None and self.correct_option >= len(self.options or ()):
            raise ValueError(
                f"option {self.correct_option + 1} is marked as right, of {len(self.options or ())} options"
            )
        if self.decision in KEEPING_DECISIONS and self.reasons:
            raise ValueError("reasons are for turns that are rejected")
        if self.decision is Decision.REJECT:
            if not self.reasons:
                raise ValueError("give at least one reason for rejecting the turn")
            if Reason.OTHER.value in self.reasons and not self.note.strip():
                raise ValueError("say in the note what the other reason is")
        return self


EDITABLE: Final = ("question", "references", "asked_at_s", "evidence", "options", "correct_option", "labels")
"""Fields of a turn that people may change."""


class TurnDrafts:
    """Makes the draft of one chain or dialogue at a time, with what the benchmark says about it.

    Args:
        content: The benchmark. Of one that stays in its files, only the rows about the unit are read.
    """

    def __init__(self, content: Content) -> None:
        self.names = ContentNames(content)
        self._videos = {str(video.id): (video.category, asdict(Film.of(video))) for video in content.videos}
        self._clips, self._by_id = rows_by(content.clips, "video_id"), rows_by(content.clips, "id")
        self._scenes = rows_by(content.scenes, "video_id")
        self._links = rows_by(content.linkages, "source.unit_id", "target.unit_id")
        self._units: Sequence[Mapping[str, Sequence[QAChain | Dialogue]]]
        self._units = (rows_by(content.dialogues, "id"), rows_by(content.chains, "id"))
        self._gates = rows_by(content.gates, "unit_id")
        self._shown = lru_cache(VIDEOS_AT_ONCE)(self._show_clips)
        self.find = lru_cache(VIDEOS_AT_ONCE)(self._find_unit)
        """Gives a chain or dialogue by its id."""

    def draft(self, unit: QAChain | Dialogue) -> Draft:
        """The draft of a chain or dialogue."""
        is_chain = isinstance(unit, QAChain)
        clip_ids = ((unit.clip_id,) if unit.clip_id else ()) if isinstance(unit, QAChain) else unit.clip_ids
        clips = [self._by_id[name][-1] for name in clip_ids if name in self._by_id]
        category, film = self._videos.get(unit.video_id, (None, asdict(Film())))
        return Draft(
            target_table="chains" if is_chain else "dialogues",
            target_id=unit.id,
            title=self.names.unit("chain" if is_chain else "dialogue", unit.id, unit.video_id),
            video_id=unit.video_id,
            content={
                "unit": "chain" if is_chain else "dialogue",
                "id": unit.id,
                "task": None if isinstance(unit, QAChain) else unit.task,
                "video_id": unit.video_id,
                "category": category,
                "film": film,
                "clips": [_clip(clip) for clip in clips if clip.interval],
                "scenes": self._shown(unit.video_id),
                "turns": [turn.model_dump(mode="json", exclude_defaults=True) for turn in unit.turns],
                "checks": self._checks(unit.id),
                "links": self._links_of(unit.id),
            },
        )

    def _show_clips(self, video_id: str) -> list[dict[str, Any]]:
        captions = {
            name: scene.caption
            for scene in self._scenes.get(video_id, ())
            if scene.kind == "single"
            for name in scene.clip_ids
        }
        clips = self._clips.get(video_id, ())
        return [_clip(clip, captions.get(clip.id)) for clip in clips if clip.interval is not None]

    def _find_unit(self, unit_id: str) -> QAChain | Dialogue:
        return next(units[unit_id][-1] for units in self._units if unit_id in units)

    def _checks(self, unit_id: str) -> dict[str, list[dict[str, Any]]]:
        """The results of checks by turn, in the order of their first results, then those on the whole unit."""
        gates = list(self._gates.get(unit_id, ()))
        found: dict[str, list[dict[str, Any]]] = {}
        for (_, index), results in turn_gates(gates).items():
            found[str(index)] = [_gate(gate) for gate in results]
        whole = [_gate(gate) for gate in gates if gate.turn_index is None and gate.unit in ("chain", "dialogue")]
        return {**found, UNIT: whole} if whole else found

    def _links_of(self, unit_id: str) -> list[Json]:
        found: list[Json] = []
        for linkage in self._links.get(unit_id, ()):
            for here, direction, there in (
                (linkage.source, "to", linkage.target),
                (linkage.target, "from", linkage.source),
            ):
                if here.unit_id != unit_id or not any(there.unit_id in units for units in self._units):
                    continue
                other = self.find(there.unit_id)
                if there.turn_index >= len(other.turns):
                    continue
                found.append(
                    {
                        "place": str(here.turn_index),
                        "direction": direction,
                        "relation": linkage.relation,
                        "other": {
                            "unit_id": there.unit_id,
                            "turn_index": there.turn_index,
                            "question": other.turns[there.turn_index].question,
                            "asked_at_s": other.turns[there.turn_index].asked_at_s,
                        },
                    }
                )
        return found


class TurnsTask(ReviewTask):
    """Review of the turns of a chain or a dialogue."""

    kind = "turns"
    title = "Review turns"
    template = "work_turns.html"

    def drafts(self, content: Content) -> Iterator[Draft]:
        """One for each chain and each dialogue."""
        made = TurnDrafts(content)
        for units in (content.chains, content.dialogues):
            yield from map(made.draft, units)

    def check(self, content: Mapping[str, Json], place: str, value: Json) -> Json:
        """The value as it is stored. An accepted turn with changes is an edit; an edit without changes is accepted.

        Raises:
            InvalidValue: It cannot be stored; names the field.
        """
        turn_at(content, place)
        try:
            found, draft = TurnValue.parsed(value), self.draft_value(content, place)
        except InvalidValue as error:
            if error.field is not None:
                error.more["findings"] = [_finding(place, error.field, str(error), may_go_on=False)]
            raise
        is_kept = found.decision in KEEPING_DECISIONS
        if is_kept:
            check_turn_labels(found.labels, draft["labels"])
        stored = found.model_dump(mode="json", exclude={"in_bulk"})
        findings = self.findings(content, place, stored) if is_kept else []
        if findings and not (findings[0]["may_go_on"] and found.kept_because.strip()):
            code = "reason_needed" if findings[0]["may_go_on"] else "no_sense"
            said = f"{spoken_place(place).capitalize()}: {findings[0]['text']}"
            raise InvalidValue(said, code=code, field=findings[0]["field"], more={"findings": findings})
        if is_kept:
            same = all(stored[name] == draft[name] for name in EDITABLE)
            stored["decision"] = (Decision.ACCEPT if same else Decision.EDIT).value
        if not findings:
            stored["kept_because"] = ""
        return stored

    def findings(self, content: Mapping[str, Json], place: str, value: Json) -> list[Json]:
        """What makes no sense in a value, errors first."""
        clips = [Interval(start_s=clip["start_s"], end_s=clip["end_s"]) for clip in content.get("clips", ())]
        turn = Turn.model_validate({name: value[name] for name in EDITABLE})
        found = turn_findings(turn, Film(**content.get("film", {})), clips, answered=True)
        return [_finding(place, one.field, one.text, may_go_on=one.may_go_on) for one in found]

    def passed(self, content: Mapping[str, Json], place: str) -> bool:
        """True if no check has a doubt about the turn or about its whole unit, and the rules for turns have none."""
        checks = content["checks"].get(place, [])
        outcomes = {check["outcome"] for check in (*checks, *content["checks"].get(UNIT, ()))}
        value = self.draft_value(content, place)
        return bool(checks) and outcomes <= {GateOutcome.PASSED} and not self.findings(content, place, value)

    def visible_content(self, content: Mapping[str, Json], values: Mapping[str, Json]) -> Mapping[str, Json]:
        """Everything, with the vocabularies of labels."""
        return {**content, "vocabularies": turn_vocabularies(content["turns"])}

    def essence(self, content: Mapping[str, Json], place: str, value: Json) -> Json:
        """The decision and what the turn becomes: its fields, the reasons for rejecting it, or nothing if skipped."""
        if value["decision"] == Decision.REJECT:
            return {"decision": value["decision"], "reasons": sorted(set(value["reasons"]))}
        if value["decision"] == Decision.SKIP:
            return {"decision": value["decision"]}
        return {name: value[name] for name in EDITABLE}

    def affects_others(self, before: Json, after: Json) -> bool:
        """True if the question or the answer changed, or the turn was rejected or restored."""
        if before is None or after is None:
            return bool(before != after)
        gone = (Decision.REJECT, Decision.SKIP)
        return any(before[name] != after[name] for name in ("question", "references", "correct_option")) or (
            (before["decision"] in gone) != (after["decision"] in gone)
        )

    def dependents(self, content: Mapping[str, Json], place: str) -> Iterable[str]:
        """All later turns, since each depends on the turns before it."""
        return [str(index) for index in range(int(place) + 1, len(content["turns"]))]

    def draft_value(self, content: Mapping[str, Json], place: str) -> Json:
        """The drafted turn, undecided."""
        turn = Turn.model_validate(turn_at(content, place))
        return TurnValue(
            question=turn.question,
            references=turn.references,
            asked_at_s=turn.asked_at_s,
            evidence=turn.evidence,
            options=turn.options,
            correct_option=turn.correct_option,
            labels=turn.labels,
            kept_because=str(turn.extra.get(KEPT_BECAUSE, "")),
        ).model_dump(mode="json", exclude={"in_bulk"})

    def codes(self, content: Mapping[str, Json], place: str, value: Json) -> Iterator[Code]:
        """The decision, whether the turn was kept, the reasons if not, and its wording and evidence if so."""
        draft = self.draft_value(content, place)
        yield Code("decision", "nominal", value["decision"])
        kept = value["decision"] in KEEPING_DECISIONS
        yield Code("kept", "nominal", "kept" if kept else "not kept")
        rejected = value["decision"] == Decision.REJECT
        yield Code("reasons", "set", sorted(value["reasons"]) if rejected else None)
        yield Code("question", "text", value["question"] if kept else None, draft["question"])
        yield Code("answer", "text", _answer(value) if kept else None, _answer(draft))
        spans = [[part["start_s"], part["end_s"]] for part in value["evidence"]]
        yield Code("evidence", "spans", spans if kept else None)

    def summary(self, content: Mapping[str, Json], place: str, value: Json) -> Sequence[tuple[str, str]]:
        """Decision, wording, times, labels, reasons and note."""
        shown: list[tuple[str, str]] = [("Decision", value["decision"] or "none yet"), ("Question", value["question"])]
        shown += [("Answer", text) for text in value["references"]]
        if value["asked_at_s"] is not None:
            shown.append(("Asked at", f"{value['asked_at_s']:.2f} s"))
        shown += [("Evidence", f"{part['start_s']:.2f}–{part['end_s']:.2f} s") for part in value["evidence"]]
        shown += [
            (f"Option {index + 1}{', right' if index == value['correct_option'] else ''}", option)
            for index, option in enumerate(value["options"] or ())
        ]
        shown += [(name, ", ".join(labels)) for name, labels in value["labels"].items() if labels]
        if value["reasons"]:
            shown.append(("Reasons", ", ".join(reason.replace("_", " ") for reason in value["reasons"])))
        if value["kept_because"]:
            shown.append(("Kept because", value["kept_because"]))
        return [*shown, *remark_lines(value)]


def _finding(place: str, field: str, text: str, *, may_go_on: bool) -> Json:
    return {"field": field, "turn": int(place) + 1, "text": text, "may_go_on": may_go_on}


def _answer(value: Json) -> str:
    return " / ".join(value["references"])


def _clip(clip: Clip, caption: str | None = None) -> dict[str, Any]:
    assert clip.interval is not None
    shown = {"id": clip.id, "start_s": clip.interval.start_s, "end_s": clip.interval.end_s}
    return {**shown, "caption": caption} if caption else shown


def _gate(gate: GateResult) -> dict[str, Any]:
    return {"gate": gate.gate, "outcome": gate.outcome.value, "reason": gate.reason, "value": gate.value}

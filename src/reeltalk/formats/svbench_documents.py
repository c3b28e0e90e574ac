"""SVBench's files made from typed records: what each file holds, given which records it names.

The importer uses this as well, to find where a source's own spelling differs from ours.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from reeltalk.formats.source_form import in_its_form
from reeltalk.formats.svbench_layout import (
    CRITERIA,
    META_COLUMNS,
    NOT_APPLICABLE,
    ChainEntry,
    clock,
    scene_literal,
    seconds_of,
)
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, PathStep, QAChain, Turn
from reeltalk.schema.labels import Relation
from reeltalk.schema.outcomes import Rejected, SourceFile
from reeltalk.schema.record import Json
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.content import Content

START: Final = "qac_timestamps_start"
END: Final = "qac_timestamps_end"
ABSENT: Final = "the record has no such score"


def slots(records: Iterable[str], empty: Iterable[int]) -> list[str | None]:
    """The entries of a list in a file: its records in order, and None at the places that are empty."""
    places, ids = set(empty), list(records)
    entries: list[str | None] = []
    while ids or len(entries) in places:
        entries.append(None if len(entries) in places else ids.pop(0))
    return entries


def first(texts: tuple[str, ...]) -> str:
    """The preferred reference; empty where the source withholds it."""
    return texts[0] if texts else ""


class Documents:
    """Looks records up by what files name them by, and gives each file's document."""

    def __init__(self, content: Content, files: Iterable[SourceFile]) -> None:
        self.files = list(files)
        self.videos = {row.id: row for row in content.videos}
        self.clips = {row.id: row for row in content.clips}
        self.chains: dict[str, QAChain] = {row.id: row for row in content.chains}
        self.paths: dict[str, DialoguePath] = {row.id: row for row in content.paths}
        self.dialogues: dict[str, Dialogue] = {row.id: row for row in content.dialogues}
        self.linkages: dict[tuple[str, str], list[Linkage]] = defaultdict(list)
        for linkage in content.linkages:
            self.linkages[linkage.source.unit_id, linkage.target.unit_id].append(linkage)
        self.rejected: dict[tuple[Json, Json], dict[int, Rejected]] = defaultdict(dict)
        for row in content.rejected:
            if row.table == "linkages" and isinstance(row.extra.get("position"), int):
                self.rejected[row.extra.get("file"), row.extra.get("entry")][row.extra["position"]] = row
        self.answers: dict[tuple[str, str, str], list[Answer]] = defaultdict(list)
        for answer in sorted(content.answers, key=lambda row: row.turn_index):
            self.answers[answer.model, answer.unit, answer.unit_id].append(answer)
        self.scores: dict[tuple[str, str, str, str], list[JudgedScore]] = defaultdict(list)
        for score in content.scores:
            self.scores[score.model, score.judge, score.unit, score.unit_id].append(score)
        self.numbers = self._chain_numbers(content)

    def _chain_numbers(self, content: Content) -> dict[str, int]:
        """Each chain's place in its `Dialogue` file, or else in its identifier or among the chains of its video."""
        numbers: dict[str, int] = {}
        for file in self.files:
            if file.kind == "dialogue":
                entries = slots(file.records, file.extra.get("empty", ()))
                numbers |= {chain_id: number for number, chain_id in enumerate(entries) if chain_id}
        counts: dict[str, int] = defaultdict(int)
        for chain in content.chains:
            tail = chain.id.rpartition("/")[2]
            own = int(tail) if tail.isascii() and tail.isdigit() and len(tail) < 6 else counts[chain.video_id]
            numbers.setdefault(chain.id, own)
            counts[chain.video_id] += 1
        return numbers

    def document(self, file: SourceFile) -> Json:
        """What the file holds, in the source's own form; of a CSV file, its rows."""
        return in_its_form(file, self.plain(file))

    def plain(self, file: SourceFile) -> Json:
        """What the file holds, in our form."""
        match file.kind:
            case "meta":
                return [self._meta_row(video_id, file.extra["columns"]) for video_id in file.records]
            case "scenes":
                return [
                    self._scenes_row(video_id, clip_ids, file.extra["columns"])
                    for video_id, clip_ids in zip(file.records, file.extra.get("clips", ()), strict=False)
                ]
            case "con":
                return self._con(file)
            case "path":
                return {
                    "Paths": [
                        [[self.numbers.get(step.ref.unit_id, 0), step.ref.turn_index] for step in self.paths[id_].steps]
                        for id_ in file.records
                        if id_ in self.paths
                    ]
                }
            case "judged con":
                return [self._judged_links(file, id_) for id_ in file.records]
            case "streaming":
                return [self._streaming(id_) for id_ in file.records if id_ in self.paths or id_ in self.dialogues]
        entries = slots(file.records, file.extra.get("empty", ()))
        if file.kind == "dialogue":
            return [self._chain(id_) if id_ in self.chains else {} for id_ in entries]
        if file.kind == "answers":
            return [self._answered(file, id_) if id_ else {} for id_ in entries]
        judged = self._judged_scene if file.kind == "judged single" else self._judged_unit
        return [judged(file, id_) if id_ else {} for id_ in entries]

    def _meta_row(self, video_id: str, columns: list[str]) -> dict[str, str]:
        video = self.videos.get(video_id)  # type: ignore[call-overload]
        if video is None:
            return dict.fromkeys(columns, "") | {META_COLUMNS[0]: video_id}
        known = dict(zip(META_COLUMNS, (video.id, video.file or "", video.split or ""), strict=True))
        return {column: known[column] if column in known else str(video.extra.get(column, "")) for column in columns}

    def _scenes_row(self, video_id: str, clip_ids: list[str], columns: list[str]) -> dict[str, str]:
        video = self.videos.get(video_id)  # type: ignore[call-overload]
        scenes = []
        for clip_id in clip_ids:
            start, end = self._clip_times(clip_id)
            if start is not None and end is not None:
                scenes.append(tuple(t if isinstance(t, str) else clock(t) for t in (start, end)))
        path = (video.file if video else None) or video_id
        known = {"path": path, "timestamp": scene_literal(scenes)}  # type: ignore[arg-type]
        extra = video.extra if video else {}
        return {column: known[column] if column in known else str(extra.get(column, "")) for column in columns}

    def _clip_times(self, clip_id: str | None) -> tuple[str | float | None, str | float | None]:
        clip = self.clips.get(clip_id) if clip_id else None  # type: ignore[call-overload]
        if clip is None or clip.interval is None:
            return None, None
        return (
            spelled(clip.interval.start_s, clip.extra.get(START)),
            spelled(clip.interval.end_s, clip.extra.get(END)),
        )

    def _pair_of_lists(self, turns: Iterable[Turn]) -> dict[str, Json]:
        listed = list(turns)
        return {
            "questions": [turn.question for turn in listed],
            "answers": [first(turn.references) for turn in listed],
        }

    def _chain(self, chain_id: str | None) -> dict[str, Json]:
        chain = self.chains[chain_id or ""]
        start, end = self._clip_times(chain.clip_id)
        row: dict[str, Json] = {"chain": self._pair_of_lists(chain.turns), START: start, END: end}
        return row | {key: value for key, value in chain.extra.items() if key not in ChainEntry.model_fields}

    def _con(self, file: SourceFile) -> list[Json]:
        pairs = list(zip(file.records[::2], file.records[1::2], strict=False))
        entries = slots((str(number) for number in range(len(pairs))), file.extra.get("empty", ()))
        by_text = set(file.extra.get("by_text", ()))
        return [
            self._con_entry(file, index, *pairs[int(number)], by_text=index in by_text) if number else {}
            for index, number in enumerate(entries)
        ]

    def _con_entry(self, file: SourceFile, index: int, before: str, after: str, *, by_text: bool) -> dict[str, Json]:
        if before not in self.chains or after not in self.chains:
            return {}
        rows: dict[str, Json] = {}
        for key, chain_id in (("chain_1", before), ("chain_2", after)):
            start, end = self._clip_times(self.chains[chain_id].clip_id)
            rows[key] = self._pair_of_lists(self.chains[chain_id].turns) | {START: start, END: end}
        linkages = [row for row in self.linkages[before, after] if self._resolves(row)]
        if not by_text:
            rows["relationship"] = {
                "chainBefore": [row.source.turn_index for row in linkages],
                "chainAfter": [row.target.turn_index for row in linkages],
                "relationship": [relation_as_spelled(row) for row in linkages],
            }
            return rows
        texts = [self._linkage_texts(row, before, after) for row in linkages]
        for position, row in sorted(self.rejected[file.path, index].items()):
            texts.insert(position, row.content)
        keys = ("questionsBefore", "answersBefore", "questionsAfter", "answersAfter", "relationship")
        rows["relationship"] = {key: [text[key] for text in texts] for key in keys}
        return rows

    def _resolves(self, linkage: Linkage) -> bool:
        source, target = self.chains.get(linkage.source.unit_id), self.chains.get(linkage.target.unit_id)
        return (
            source is not None
            and target is not None
            and linkage.source.turn_index < len(source.turns)
            and linkage.target.turn_index < len(target.turns)
        )

    def _linkage_texts(self, linkage: Linkage, before: str, after: str) -> dict[str, str]:
        source = self.chains[before].turns[linkage.source.turn_index]
        target = self.chains[after].turns[linkage.target.turn_index]
        return {
            "questionsBefore": source.question,
            "answersBefore": first(source.references),
            "questionsAfter": target.question,
            "answersAfter": first(target.references),
            "relationship": relation_as_spelled(linkage),
        }

    def _streaming(self, unit_id: str) -> dict[str, Json]:
        if unit_id in self.dialogues:
            turns = self.dialogues[unit_id].turns
            return self._pair_of_lists(turns) | {"timestamps": [_turn_times(turn) for turn in turns]}
        steps = self.paths[unit_id].steps
        return self._pair_of_lists(self.step_turn(step) for step in steps) | {
            "timestamps": [self._step_times(step) for step in steps]
        }

    def step_turn(self, step: PathStep) -> Turn:
        """A step's turn as it is worded on its path."""
        if step.turn is not None:
            return step.turn
        unit: QAChain | Dialogue | None = self.chains.get(step.ref.unit_id)
        if step.ref.unit == "dialogue":
            unit = self.dialogues.get(step.ref.unit_id)
        turns = unit.turns if unit else ()
        return turns[step.ref.turn_index] if step.ref.turn_index < len(turns) else Turn(question="")

    def _step_times(self, step: PathStep) -> list[Json]:
        chain = self.chains.get(step.ref.unit_id)
        clip = self.clips.get(chain.clip_id) if chain and chain.clip_id else None
        interval = clip.interval if clip else None
        # The evidence of a draft may lie in an earlier clip; only what was imported says when it is asked.
        if step.turn is not None and step.turn.evidence and ("timestamps" in step.extra or interval is None):
            interval = step.turn.evidence[0]
        if interval is None:
            return [None, None]
        own = step.extra.get("timestamps")
        start, end = (
            own if isinstance(own, list) and len(own) == 2 else self._clip_times(chain.clip_id if chain else None)
        )
        return [spelled(interval.start_s, start), spelled(interval.end_s, end)]

    def turn_of(self, unit: str, unit_id: str, index: int) -> Turn:
        """The turn that an answer answers; one without text where the content does not have it."""
        if unit == "path" and unit_id in self.paths:
            steps = self.paths[unit_id].steps
            return self.step_turn(steps[index]) if index < len(steps) else Turn(question="")
        found: QAChain | Dialogue | None = self.chains.get(unit_id) if unit == "chain" else self.dialogues.get(unit_id)
        return found.turns[index] if found and index < len(found.turns) else Turn(question="")

    def _answered(self, file: SourceFile, unit_id: str) -> dict[str, Json]:
        unit = file.extra.get("unit", "chain")
        rows = self.answers.get((file.extra["model"], unit, unit_id), [])
        if not rows:
            return {}
        turns = [self.turn_of(unit, unit_id, row.turn_index) for row in rows]
        return {
            "questions": [
                turn.question if row.asked_as is None else row.asked_as for row, turn in zip(rows, turns, strict=True)
            ],
            "gt_answers": [
                first(turn.references if row.referred_to is None else row.referred_to)
                for row, turn in zip(rows, turns, strict=True)
            ],
            "answers": [row.text for row in rows],
        }

    def _scored(self, file: SourceFile, unit: str, unit_id: str) -> dict[str, Json]:
        scores = self.scores.get((file.extra["model"], file.extra["judge"], unit, unit_id), [])
        return {
            "evaluation": next((row.explanation for row in scores if row.explanation is not None), None),
            "scores": _score_fields(scores),
        }

    def _unit_number(self, unit_id: str) -> int:
        tail = unit_id.rpartition("/")[2]
        return self.numbers.get(unit_id, int(tail) if tail.isascii() and tail.isdigit() and len(tail) < 6 else 0)

    def _video_of(self, unit_id: str) -> str:
        unit = self.chains.get(unit_id) or self.paths.get(unit_id) or self.dialogues.get(unit_id)
        return unit.video_id if unit else unit_id

    def _judged_unit(self, file: SourceFile, unit_id: str) -> dict[str, Json]:
        unit = file.extra.get("unit", "chain")
        return {
            "video_name": self._video_of(unit_id),
            "scene_id": self._unit_number(unit_id),
            **(self._answered(file, unit_id) or {"questions": [], "gt_answers": [], "answers": []}),
            **self._scored(file, unit, unit_id),
        }

    def _judged_links(self, file: SourceFile, dialogue_id: str) -> dict[str, Json]:
        dialogue = self.dialogues.get(dialogue_id)
        shape = dialogue.extra.get("shape") if dialogue else None
        answered = self._answered(file, dialogue_id) or {"questions": [], "gt_answers": [], "answers": []}
        row: dict[str, Json] = {
            "video_name": self._video_of(dialogue_id),
            **{key: nested(texts, shape) for key, texts in answered.items()},
        }
        if dialogue and "relationships" in dialogue.extra:
            row["relationships"] = dialogue.extra["relationships"]
        return row | self._scored(file, "dialogue", dialogue_id)

    def _judged_scene(self, file: SourceFile, chain_id: str) -> dict[str, Json]:
        model, judge = file.extra["model"], file.extra["judge"]
        answers = {row.turn_index: row for row in self.answers.get((model, "chain", chain_id), [])}
        by_turn: dict[int, list[JudgedScore]] = defaultdict(list)
        for score in self.scores.get((model, judge, "turn", chain_id), []):
            by_turn[score.turn_index or 0].append(score)
        rows = []
        for index, scores in sorted(by_turn.items()):
            turn, answer = self.turn_of("chain", chain_id, index), answers.get(index)
            asked = answer.asked_as if answer else None
            referred = answer.referred_to if answer else None
            rows.append(
                {
                    "question_id": index,
                    "question": turn.question if asked is None else asked,
                    "gt_answer": first(turn.references if referred is None else referred),
                    "model_response": answer.text if answer else "",
                    "evaluation": next((row.explanation for row in scores if row.explanation is not None), None),
                    "question_scores": _score_fields(scores),
                }
            )
        return {"video_name": self._video_of(chain_id), "scene_id": self._unit_number(chain_id), "scores": rows}


def spelled(seconds: float, spelling: Json) -> str | float:
    """The source's spelling where it still means these seconds, else the seconds in the same style."""
    if isinstance(spelling, str | int | float) and not isinstance(spelling, bool):
        try:
            if seconds_of(spelling) == seconds:
                return spelling
        except ValueError:
            return seconds
        return clock(seconds) if isinstance(spelling, str) else seconds
    return seconds


def relation_as_spelled(linkage: Linkage) -> str:
    """The source's word for a relation, where the record still means it."""
    own = linkage.extra.get("relationship")
    if isinstance(own, str):
        meant = relation_of(own)
        if meant == linkage.relation:
            return own
    return linkage.relation


def relation_of(word: str) -> str:
    """One of the six relations, or the source's own word."""
    found = Relation.from_published(word)
    return found.value if found else word


def _turn_times(turn: Turn) -> list[Json]:
    if not turn.evidence:
        return [None, None]
    own = turn.extra.get("timestamps")
    start, end = own if isinstance(own, list) and len(own) == 2 else (None, None)
    return [spelled(turn.evidence[0].start_s, start), spelled(turn.evidence[0].end_s, end)]


def _score_fields(scores: list[JudgedScore]) -> dict[str, Json]:
    order = {name: place for place, name in enumerate(CRITERIA)}
    fields: dict[str, Json] = {}
    for row in sorted(scores, key=lambda row: order.get(row.criterion, len(order))):
        if row.state is ScoreState.UNSCORED and row.reason == ABSENT:
            continue
        if row.state is ScoreState.NOT_APPLICABLE:
            fields[row.criterion] = NOT_APPLICABLE
        elif row.value is None:
            fields[row.criterion] = row.extra.get("value")
        else:
            fields[row.criterion] = int(row.value) if row.value.is_integer() else row.value
    return fields


def nested(texts: Json, shape: Json) -> Json:
    """Put a flat list into the nesting of `shape`: None for one text, a list for a list."""
    if not isinstance(shape, list) or not isinstance(texts, list):
        return texts
    rest = iter(texts)

    def fill(part: Json) -> Json:
        return [fill(member) for member in part] if isinstance(part, list) else next(rest, "")

    filled = [fill(part) for part in shape]
    return filled if next(rest, None) is None else texts

"""MT-Video-Bench's files made from typed records, in the shape that each file has in its version.

The importer uses this as well, to find where a source's own spelling differs from ours.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Final

from reeltalk.formats import mt_video_bench_layout as layout
from reeltalk.formats.source_form import in_its_form
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Checklist, Dialogue, Turn
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json
from reeltalk.schema.scoring import JudgedScore
from reeltalk.store.content import Content

ORDER: Final = "rounds"
"""Under which key of a checklist file's `extra` rounds are listed that are not in ascending order."""


@dataclass(frozen=True)
class Shape:
    """How an entry of an `mtqa` file is nested; the defaults are version 2's."""

    by_name: bool = False
    """A video's entries are members of an object, not of a list."""
    keyed: bool = False
    """An entry is named by its key, not by its `event_index`."""
    direct: bool = False
    """Rounds stand in the entry itself, not under `mtqa`."""


def number_of(turn: Turn, index: int) -> int:
    """The number of a round, from 1."""
    return (index if turn.position is None else turn.position) + 1


def event_in(dialogue: Dialogue) -> str:
    """The event of a dialogue that is named `<task>/<video>/<event>`."""
    return dialogue.id.removeprefix(f"{dialogue.task}/{dialogue.video_id}/")


class Documents:
    """Looks records up by what files name them by, and gives each file's document."""

    def __init__(self, content: Content) -> None:
        self.dialogues: dict[str, Dialogue] = {row.id: row for row in content.dialogues}
        self.answers: dict[tuple[str, str], dict[int, Answer]] = defaultdict(dict)
        for answer in content.answers:
            if answer.unit == "dialogue":
                self.answers[answer.model, answer.unit_id][answer.turn_index] = answer
        self.scores: dict[tuple[str, str, str], dict[int, list[JudgedScore]]] = defaultdict(lambda: defaultdict(list))
        for score in content.scores:
            if score.unit == "turn" and score.turn_index is not None:
                self.scores[score.model, score.judge, score.unit_id][score.turn_index].append(score)

    def document(self, file: SourceFile) -> Json:
        """What the file holds, in the source's own form."""
        return in_its_form(file, self.plain(file))

    def plain(self, file: SourceFile) -> Json:
        """What the file holds, in our form."""
        if file.kind == "summary":
            return file.extra["summary"]
        if file.kind == "mtqa":
            return self._mtqa(file)
        by_video: dict[str, dict[str, Json]] = {}
        for dialogue in self._dialogues(file.records):
            event = file.extra.get("event_prefix", "") + event_in(dialogue)
            by_video.setdefault(dialogue.video_id, {})[event] = (
                self._checklists(file, dialogue)
                if file.kind == "checklist"
                else self._answers(file, dialogue)
                if file.kind == "answers"
                else self._results(file, dialogue)
            )
        return by_video

    def _dialogues(self, records: Iterable[str]) -> Iterable[Dialogue]:
        return (self.dialogues[record] for record in records if record in self.dialogues)

    def _mtqa(self, file: SourceFile) -> dict[str, Json]:
        by_video: dict[str, Json] = {}
        shapes = file.extra.get("shapes", {})
        usual = file.extra.get("shape", {})
        for dialogue in self._dialogues(file.records):
            shape = Shape(**shapes.get(dialogue.id, usual))
            entry = self._entry(file, dialogue, shape)
            key = file.extra.get("event_prefix", "") + event_in(dialogue)
            if shape.by_name:
                entries = by_video.setdefault(dialogue.video_id, {})
                if isinstance(entries, dict):
                    entries[key] = entry
            else:
                entries = by_video.setdefault(dialogue.video_id, [])
                if isinstance(entries, list):
                    entries.append({key: entry} if shape.keyed else entry)
        for video in file.extra.get("empty_videos", ()):
            by_video.setdefault(video, [])
        return by_video

    def _entry(self, file: SourceFile, dialogue: Dialogue, shape: Shape) -> dict[str, Json]:
        rounds = {
            f"{file.extra.get('round_prefix', 'Round ')}{number_of(turn, index)}": _round(
                turn, file.extra.get("answer_key", "Assistant")
            )
            for index, turn in enumerate(dialogue.turns)
        }
        own = {key: value for key, value in dialogue.extra.items() if key not in ("event_index", "mtqa", *rounds)}
        event: dict[str, Json] = {}
        if not shape.keyed:
            spelling, name = dialogue.extra.get("event_index"), event_in(dialogue)
            fits = isinstance(spelling, str | int) and layout.event_of(spelling) == name
            event["event_index"] = spelling if fits else name
        return event | (rounds if shape.direct else {"mtqa": rounds}) | own

    @staticmethod
    def _checklists(file: SourceFile, dialogue: Dialogue) -> list[Json]:
        found = {
            number_of(turn, index): turn.checklist
            for index, turn in enumerate(dialogue.turns)
            if turn.checklist is not None
        }
        order = [number for number in file.extra.get(ORDER, {}).get(dialogue.id, ()) if number in found]
        return [_checklist_row(number, found[number]) for number in (*order, *(n for n in found if n not in order))]

    def _answers(self, file: SourceFile, dialogue: Dialogue) -> list[str]:
        answers = self.answers[file.extra["model"], dialogue.id]
        texts = {
            number_of(dialogue.turns[index], index): answer.text
            for index, answer in answers.items()
            if index < len(dialogue.turns)
        }
        return [texts.get(number, layout.NOT_ASKED) for number in range(1, max(texts, default=0) + 1)]

    def _results(self, file: SourceFile, dialogue: Dialogue) -> dict[str, Json]:
        scored = self.scores[file.extra["model"], file.extra["judge"], dialogue.id]
        return {
            f"Round {number_of(dialogue.turns[index], index)}": _result(scores)
            for index, scores in sorted(scored.items())
            if index < len(dialogue.turns)
        }


def _round(turn: Turn, answer_key: str) -> dict[str, Json]:
    row: dict[str, Json] = {"User": turn.question, answer_key: turn.references[0] if turn.references else ""}
    ability = layout.ability_of(turn.labels)
    if ability is not None:
        row["Ability"] = ability
    return row | {key: value for key, value in turn.extra.items() if key not in row and key not in ("Ability",)}


def _checklist_row(number: int, checklist: Checklist) -> dict[str, Json]:
    row: dict[str, Json] = {"round index": number}
    for place, item in enumerate(checklist.items, start=1):
        own = item.extra.get("number", place)
        row[f"Q{own}"] = item.question
        row[f"A{own}"] = "Yes" if item.expected else "No"
    return row | {key: value for key, value in checklist.extra.items() if key not in row}


def _result(scores: list[JudgedScore]) -> dict[str, Json]:
    row: dict[str, Json] = {"CHECKLISTS_EVAL": None, "ACC": None, "ALL_RUNS": []}
    for score in scores:
        if score.criterion == layout.CRITERION:
            row |= {"CHECKLISTS_EVAL": None, "ACC": score.value} | score.extra
        elif score.criterion.startswith(layout.RUN):
            run = {"run_id": score.criterion.removeprefix(layout.RUN), "results": None, "acc": score.value}
            row["ALL_RUNS"].append(run | score.extra)
    return row


def as_extra(shape: Shape) -> dict[str, bool]:
    """What of a shape differs from version 2."""
    return {name: value for name, value in asdict(shape).items() if value}

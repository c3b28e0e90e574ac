"""MT-Video-Bench's files in both versions: their specification, and their documents made from typed records.

The importer makes the documents too, to find the places in which a source differs from them.
"""

import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Annotated, Any, Final

from pydantic import Field

from reeltalk.formats.layout import restore_form
from reeltalk.schema.answers import Answer, AnswerState
from reeltalk.schema.dialogue import Checklist, Dialogue, Turn
from reeltalk.schema.labels import Task
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json
from reeltalk.schema.scoring import JudgedScore
from reeltalk.store.content import Content
from reeltalk.store.documents import SourceModel

FORMAT: Final = "mt-video-bench"
TASK_LABEL: Final = "mt_video_bench.task"
ABILITY_LABEL: Final = "mt_video_bench.ability"
"""Vocabulary of the source's `Ability` values outside the six tasks."""

PLACEHOLDER_ANSWER: Final = "No need for this ability to answer."
ERROR_MARK: Final = "[ERROR]"
CHECKLIST_SUFFIX: Final = "_CheckList"
CRITERION: Final = "checklist"
"""The accuracy of a round, averaged over the judge's runs; `checklist/run 1` is one run's."""
RUN_PREFIX: Final = f"{CRITERION}/run "
ORDER_KEY: Final = "rounds"
"""Key of a checklist file's `extra` that lists the order of rounds if it is not ascending."""

FOLDERS: Final = {
    "mtqa": "mtqa",
    "checklist": "checklist",
    "checklists": "checklist",
    "model_answers": "answers",
    "eval_results": "results",
}
ABILITIES: Final = {
    Task.OBJECT_REFERENCE: "Object Reference",
    Task.MEMORY_RECALL: "Memory Recall",
    Task.CONTENT_SUMMARY: "Summary",
    Task.ANSWER_REFUSAL: "Answer Refusal",
    Task.TOPIC_SHIFTING: "Topic Shifting",
    Task.PROACTIVE_INTERACTION: "Proactive Interaction",
}
UNDERSTANDING: Final = "Scene Understanding"
REASONING: Final = "Scene Reasoning"
"""The two basic capabilities, on which the other rounds of a dialogue build."""
_TASK_SPELLINGS = {**{task.value: task for task in Task}, "content_summary": Task.CONTENT_SUMMARY}
_EVENT = re.compile(r"event_([0-9]{1,9})")
_ROUND = re.compile(r"(round[ _]?)([1-9][0-9]{0,3})", re.IGNORECASE)
CHECKLIST_KEY: Final = re.compile(r"([QA])([1-9][0-9]{0,2})")

EventIndex = Annotated[str, Field(min_length=1)] | Annotated[int, Field(ge=0, lt=10**9)]
Accuracy = Annotated[float, Field(ge=0, le=1)]


class DialogueRound(SourceModel):
    """One round of a dialogue. `Assistant` has other names in version 1."""

    User: str
    Assistant: str
    Ability: str | None = None


class JudgeRun(SourceModel):
    """One run of a judge over one round."""

    run_id: Annotated[int, Field(ge=0, lt=10**9)] | str
    results: dict[str, Any] | None = None
    acc: Accuracy | None = None


class RoundResult(SourceModel):
    """A judge's results on one round."""

    CHECKLISTS_EVAL: dict[str, Any] | None = None
    ACC: Accuracy | None
    ALL_RUNS: list[JudgeRun] = Field(default_factory=list)


class TaskMean(SourceModel):
    """The mean of a task, as the evaluation script writes it."""

    mean_mtqa: float | None
    ability: str


Videos = dict[str, Any]
Answers = dict[str, dict[str, list[str]]]
Checklists = dict[str, dict[str, list[dict[str, Any]]]]
Results = dict[str, dict[str, dict[str, Any]]]


def _task_of(word: str) -> Task | None:
    return _TASK_SPELLINGS.get(re.sub(r"[ -]", "_", word.strip()).casefold())


def task_of_stem(stem: str) -> str:
    """The task of a file: one of the six in any spelling, else the file's own word."""
    word = stem.removesuffix(CHECKLIST_SUFFIX).removesuffix(CHECKLIST_SUFFIX.lower())
    found = _task_of(word)
    return found.value if found else word


def labels_of_ability(ability: str | None) -> dict[str, tuple[str, ...]]:
    """A turn's labels for the source's `Ability`."""
    if ability is None:
        return {}
    task = _task_of(ability)
    return {TASK_LABEL: (task.value,)} if task else {ABILITY_LABEL: (ability,)}


def ability_of(labels: dict[str, tuple[str, ...]]) -> str | None:
    """The `Ability` of a turn's labels, or None."""
    for task in labels.get(TASK_LABEL, ()):
        return ABILITIES[Task(task)] if task in Task._value2member_map_ else task
    return next(iter(labels.get(ABILITY_LABEL, ())), None)


def basic_ability_of(labels: dict[str, tuple[str, ...]]) -> str:
    """The basic capability of a round outside the six tasks; the official script expects one in every round."""
    return REASONING if "Reasoning" in labels.get("cogme.thinking", ()) else UNDERSTANDING


def event_of(key: str | int) -> str:
    """An event's name, the same for all spellings of the versions: `3`, `"3"` and `"event_3"` are one event."""
    match = _EVENT.fullmatch(str(key))
    return match[1] if match else str(key)


def is_event_key(key: str) -> bool:
    """True for version 1's `event_<k>`."""
    return _EVENT.fullmatch(key) is not None


def round_of(key: str) -> int | None:
    """The number of a round by its key, from 1; None for a key that names no round."""
    match = _ROUND.fullmatch(key)
    return int(match[2]) if match else None


def round_prefix(key: str) -> str:
    """The text before the number in a round's key."""
    match = _ROUND.fullmatch(key)
    return match[1] if match else "Round "


def reference_key(fields: dict[str, Any]) -> str:
    """The key of a round's reference answer: `Assistant`; in version 1 `Bot`, or another word that begins with A."""
    others = [key for key in fields if key == "Bot" or (key.startswith("A") and key != "Ability")]
    return others[0] if len(others) == 1 and "Assistant" not in fields else "Assistant"


def state_of(text: str) -> AnswerState:
    """The state of an answer, from its text."""
    if text.strip() == PLACEHOLDER_ANSWER:
        return AnswerState.NOT_ASKED
    return AnswerState.FAILED if text.lstrip().startswith(ERROR_MARK) else AnswerState.ANSWERED


def kind_of_mtqa_file(value: Json, path: str) -> str | None:
    """The kind of a JSON file, by its name, its folders, or else its content; None if it is not of this layout."""
    place = PurePosixPath(path)
    rows = value if isinstance(value, list) else [value]
    if any(isinstance(row, dict) and "mean_mtqa" in row for row in rows):
        return "summary"
    if place.stem.casefold().endswith(CHECKLIST_SUFFIX.casefold()):
        return "checklist"
    for folder in reversed(place.parts[:-1]):
        if kind := FOLDERS.get(folder.casefold()):
            return kind
    videos = value.values() if isinstance(value, dict) else ()
    return next((kind for video in videos if (kind := _kind_of_video(video))), None)


def _kind_of_video(video: Json) -> str | None:
    if isinstance(video, list):
        return "mtqa" if video else None
    for event in video.values() if isinstance(video, dict) else ():
        if isinstance(event, list) and event:
            return "answers" if isinstance(event[0], str) else "checklist"
        if isinstance(event, dict) and event:
            inner = next(iter(event.values()))
            judged = isinstance(inner, dict) and {"ACC", "CHECKLISTS_EVAL", "ALL_RUNS"} & set(inner)
            return "results" if judged else "mtqa"
    return None


def unknown_folders(path: str) -> list[str]:
    """The folders above a file that are not of the layout: those of a model, or of a model and its judge."""
    names: list[str] = []
    for folder in PurePosixPath(path).parts[:-1]:
        names = [] if folder.casefold() in FOLDERS else [*names, folder]
    return names


def round_number(turn: Turn, index: int) -> int:
    """The number of a round, from 1."""
    return (index if turn.position is None else turn.position) + 1


def _event_in(dialogue: Dialogue) -> str:
    """The event of a dialogue that is named `<task>/<video>/<event>`."""
    return dialogue.id.removeprefix(f"{dialogue.task}/{dialogue.video_id}/")


class MTVideoDocuments:
    """Finds records by the names that files use for them, and makes the document of each file."""

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
        """The document of a file, in the source's own form."""
        return restore_form(file, self.plain(file))

    def plain(self, file: SourceFile) -> Json:
        """The document of a file, in our form."""
        if file.kind == "summary":
            return file.extra["summary"]
        dialogues = [self.dialogues[record] for record in file.records if record in self.dialogues]
        makers: dict[str, Callable[[SourceFile, Dialogue], Json]] = {
            "checklist": self._checklists,
            "answers": self._answers,
            "results": self._results,
        }
        videos: dict[str, Any] = {}
        for dialogue in dialogues:
            event = file.extra.get("event_prefix", "") + _event_in(dialogue)
            if file.kind in makers:
                videos.setdefault(dialogue.video_id, {})[event] = makers[file.kind](file, dialogue)
                continue
            shape = file.extra.get("shapes", {}).get(dialogue.id, file.extra.get("shape", {}))
            entry = self._entry(file, dialogue, shape)
            if shape.get("by_name"):
                videos.setdefault(dialogue.video_id, {})[event] = entry
            else:
                videos.setdefault(dialogue.video_id, []).append({event: entry} if shape.get("keyed") else entry)
        for video in file.extra.get("empty_videos", ()):
            videos.setdefault(video, [])
        return videos

    def _entry(self, file: SourceFile, dialogue: Dialogue, shape: dict[str, bool]) -> dict[str, Json]:
        prefix, key = file.extra.get("round_prefix", "Round "), file.extra.get("answer_key", "Assistant")
        rounds = {
            f"{prefix}{round_number(turn, index)}": _round(turn, key) for index, turn in enumerate(dialogue.turns)
        }
        own = {key: value for key, value in dialogue.extra.items() if key not in ("event_index", "mtqa", *rounds)}
        event: dict[str, Json] = {}
        if not shape.get("keyed"):
            spelling, name = dialogue.extra.get("event_index"), _event_in(dialogue)
            fits = isinstance(spelling, str | int) and event_of(spelling) == name
            event["event_index"] = spelling if fits else name
        return event | (rounds if shape.get("direct") else {"mtqa": rounds}) | own

    @staticmethod
    def _checklists(file: SourceFile, dialogue: Dialogue) -> list[Json]:
        found = {
            round_number(turn, index): turn.checklist
            for index, turn in enumerate(dialogue.turns)
            if turn.checklist is not None
        }
        order = [number for number in file.extra.get(ORDER_KEY, {}).get(dialogue.id, ()) if number in found]
        return [_checklist_row(number, found[number]) for number in dict.fromkeys((*order, *found))]

    def _answers(self, file: SourceFile, dialogue: Dialogue) -> list[str]:
        answers = self.answers[file.extra["model"], dialogue.id]
        texts = {
            round_number(dialogue.turns[index], index): answer.text
            for index, answer in answers.items()
            if index < len(dialogue.turns)
        }
        return [texts.get(number, PLACEHOLDER_ANSWER) for number in range(1, max(texts, default=0) + 1)]

    def _results(self, file: SourceFile, dialogue: Dialogue) -> dict[str, Json]:
        scored = self.scores[file.extra["model"], file.extra["judge"], dialogue.id]
        return {
            f"Round {round_number(dialogue.turns[index], index)}": _result(scores)
            for index, scores in sorted(scored.items())
            if index < len(dialogue.turns)
        }


def _round(turn: Turn, answer_key: str) -> dict[str, Json]:
    row: dict[str, Json] = {"User": turn.question, answer_key: turn.references[0] if turn.references else ""}
    ability = ability_of(turn.labels)
    if ability is not None:
        row["Ability"] = ability
    return row | {key: value for key, value in turn.extra.items() if key not in row and key != "Ability"}


def _checklist_row(number: int, checklist: Checklist) -> dict[str, Json]:
    row: dict[str, Json] = {"round index": number}
    for place, item in enumerate(checklist.items, start=1):
        own = item.extra.get("number", place)
        row |= {f"Q{own}": item.question, f"A{own}": "Yes" if item.expected else "No"}
    return row | {key: value for key, value in checklist.extra.items() if key not in row}


def _result(scores: list[JudgedScore]) -> dict[str, Json]:
    row: dict[str, Json] = {"CHECKLISTS_EVAL": None, "ACC": None, "ALL_RUNS": []}
    for score in scores:
        if score.criterion == CRITERION:
            row |= {"CHECKLISTS_EVAL": None, "ACC": score.value} | score.extra
        elif score.criterion.startswith(RUN_PREFIX):
            run = {"run_id": score.criterion.removeprefix(RUN_PREFIX), "results": None, "acc": score.value}
            row["ALL_RUNS"].append(run | score.extra)
    return row

"""Writes typed records as MT-Video-Bench's files: those that were imported, and default ones for all others."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from reeltalk.formats import mt_video_bench_layout as layout
from reeltalk.formats.mt_video_bench_documents import Documents, number_of
from reeltalk.formats.mt_video_bench_layout import ABILITY_LABEL, FORMAT, TASK_LABEL
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.ids import DialogueId, derive_id
from reeltalk.schema.media import Video
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json
from reeltalk.schema.scoring import JudgedScore
from reeltalk.store.content import Content
from reeltalk.store.documents import write_json

NO_TASK: Final = "other"
"""The file of dialogues without a task."""
LONGEST_NAME_BYTES: Final = 100


@dataclass
class Writer:
    """Plans the files, then writes them."""

    content: Content
    folder: Path
    lost: list[str] = field(default_factory=list)
    files: list[SourceFile] = field(default_factory=list)
    dialogues: dict[str, Dialogue] = field(default_factory=dict)

    def write(self) -> list[str]:
        """Write everything; one line for each thing that the layout cannot express."""
        self.files = self.content.source_files_of(FORMAT)
        self._rename()
        self._plan_dialogues()
        self._plan_answers()
        self._plan_results()
        self._what_is_lost()
        documents = Documents(self.content)
        for file in self.files:
            path = self.folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(write_json(documents.document(file)).encode())
        return self.lost

    def _lose(self, count: int, what: str) -> None:
        if count:
            self.lost.append(f"{what}: {count:,}")

    def _covered(self, kind: str) -> set[str]:
        return {record for file in self.files if file.kind == kind for record in file.records}

    def _add(self, kind: str, path: str, ids: Iterable[str], **extra: Json) -> None:
        order = {dialogue_id: place for place, dialogue_id in enumerate(self.dialogues)}
        self._append(kind, path, sorted(ids, key=lambda dialogue_id: order[dialogue_id]), **extra)

    def _append(self, kind: str, path: str, ids: Iterable[str], **extra: Json) -> None:
        """Append records to the file of that kind and subject, or plan a new one."""
        for index, file in enumerate(self.files):
            if file.kind == kind and all(file.extra.get(key) == value for key, value in extra.items()):
                self.files[index] = file.model_copy(update={"records": (*file.records, *ids)})
                return
        taken = {file.path for file in self.files}
        while path in taken:
            folder, _, name = path.rpartition("/")
            path = f"{folder}_2/{name}"
        version = next((file.extra.get("version", "v2") for file in self.files), "v2")
        self.files.append(
            SourceFile(format=FORMAT, path=path, kind=kind, records=tuple(ids), extra={"version": version, **extra})
        )

    def _rename(self) -> None:
        """Name what no file holds as the layout does: by task, video and event."""
        covered = self._covered("mtqa")
        dialogues = list(self.content.dialogues)
        taken = {dialogue.id for dialogue in dialogues}
        chains = [chain for chain in self.content.chains if DialogueId(chain.id) not in taken]
        self._lose(len(self.content.chains), "chains became dialogues")
        dialogues += [Dialogue(id=DialogueId(chain.id), video_id=chain.video_id, turns=chain.turns) for chain in chains]
        self._lose(
            sum(dialogue.task is None for dialogue in dialogues if dialogue.id not in covered),
            f"dialogues without a task, written to mtqa/{NO_TASK}.json",
        )
        used = {DialogueId(record) for record in covered}
        names: dict[str, DialogueId] = {}
        written: list[Dialogue] = []
        waiting: list[Dialogue] = []
        for dialogue in dialogues:
            stem = f"{dialogue.task}/{dialogue.video_id}/"
            fits = dialogue.task is not None and self._task_name(dialogue.task) == dialogue.task
            own = dialogue.id.startswith(stem) and fits and _is_event(dialogue.id.removeprefix(stem))
            if dialogue.id in covered or own:
                used.add(dialogue.id)
                written.append(dialogue)
            else:
                waiting.append(dialogue)
        counts: dict[str, int] = defaultdict(int)
        for dialogue in waiting:
            task = self._task_name(dialogue.task or NO_TASK)
            stem = f"{task}/{dialogue.video_id}/"
            counts[stem] += 1
            while DialogueId(f"{stem}{counts[stem]}") in used:
                counts[stem] += 1
            names[dialogue.id] = DialogueId(f"{stem}{counts[stem]}")
            used.add(names[dialogue.id])
            written.append(dialogue.model_copy(update={"id": names[dialogue.id], "task": task, "extra": {}}))
        self._lose(len(names), "dialogues with new identifiers, <task>/<video>/<event>")
        self.dialogues = {dialogue.id: dialogue for dialogue in written}
        answers = [
            answer.model_copy(update={"unit": "dialogue", "unit_id": names.get(answer.unit_id, answer.unit_id)})
            for answer in self.content.answers
            if answer.unit != "path"
        ]
        self._lose(len(self.content.answers) - len(answers), "answers along paths are left out")
        scores = [
            score.model_copy(update={"unit_id": names.get(score.unit_id, score.unit_id)})
            for score in self.content.scores
        ]
        self.content = replace(self.content, dialogues=written, answers=answers, scores=scores)

    def _task_name(self, task: str) -> str:
        """What a task's file is called: the task itself, where a file can be called so and is read as it again."""
        fits = (
            not re.search(r"[/\\]", task)
            and not task.startswith(".")
            and len(task.encode()) <= LONGEST_NAME_BYTES
            and layout.task_of(task) == task
            and not task.casefold().endswith(layout.CHECKLIST_SUFFIX.casefold())
        )
        return task if fits else derive_id("task", task)

    def _folder_name(self, what: str, name: str) -> str:
        parts = name.split("/")
        if len(name.encode()) <= LONGEST_NAME_BYTES and not any(
            re.search(r"\\", part) or not part or part.startswith(".") or part.casefold() in layout.FOLDERS
            for part in parts
        ):
            return name
        self.lost.append(f"{what} '{name}' is written as '{derive_id(what, name)}': a folder cannot be called so")
        return derive_id(what, name)

    def _plan_dialogues(self) -> None:
        covered, listed = self._covered("mtqa"), self._covered("checklist")
        by_task: dict[str, list[str]] = defaultdict(list)
        with_lists: dict[str, list[str]] = defaultdict(list)
        for dialogue in self.dialogues.values():
            task = dialogue.task or NO_TASK
            if dialogue.id not in covered:
                by_task[task].append(dialogue.id)
            if dialogue.id not in listed and any(turn.checklist is not None for turn in dialogue.turns):
                with_lists[task].append(dialogue.id)
        for task, ids in by_task.items():
            self._add("mtqa", f"mtqa/{task}.json", ids, task=task)
        for task, ids in with_lists.items():
            self._add("checklist", f"checklist/{task}{layout.CHECKLIST_SUFFIX}.json", ids, task=task)

    def _plan_answers(self) -> None:
        covered = {
            (file.extra["model"], record) for file in self.files if file.kind == "answers" for record in file.records
        }
        wanted: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
        answered: dict[tuple[str, str], list[Answer]] = defaultdict(list)
        unfit = states = 0
        for answer in self.content.answers:
            dialogue = self.dialogues.get(answer.unit_id)
            if dialogue is None or answer.turn_index >= len(dialogue.turns):
                unfit += 1
                continue
            states += layout.state_of(answer.text) is not answer.state
            answered[answer.model, dialogue.id].append(answer)
            if (answer.model, answer.unit_id) not in covered:
                wanted[answer.model, dialogue.task or NO_TASK][dialogue.id] = None
        self._lose(unfit, "answers to turns that are not there are left out")
        self._lose(states, "answers whose state their text does not show, as it must here")
        gaps = 0
        for (model, unit_id), answers in answered.items():
            turns = self.dialogues[unit_id].turns
            numbers = {number_of(turns[answer.turn_index], answer.turn_index) for answer in answers}
            known = {number_of(turn, index) for index, turn in enumerate(turns)}
            gaps += (model, unit_id) not in covered and any(
                number in known and number not in numbers for number in range(1, max(numbers))
            )
        self._lose(gaps, f"dialogues answered with gaps, which are filled with '{layout.NOT_ASKED}'")
        for (model, task), ids in wanted.items():
            folder = self._folder_name("model", model)
            self._add("answers", f"model_answers/{folder}/{task}.json", ids, task=task, model=model)

    def _plan_results(self) -> None:
        covered = {
            (file.extra["model"], file.extra["judge"], record)
            for file in self.files
            if file.kind == "results"
            for record in file.records
        }
        wanted: dict[tuple[str, str, str], dict[str, None]] = defaultdict(dict)
        unfit = 0
        for score in self.content.scores:
            dialogue = self.dialogues.get(score.unit_id)
            if dialogue is None or not _is_result(score, dialogue):
                unfit += 1
            elif (score.model, score.judge, score.unit_id) not in covered:
                wanted[score.model, score.judge, dialogue.task or NO_TASK][dialogue.id] = None
        self._lose(unfit, "scores other than a round's checklist accuracy are left out")
        for (model, judge, task), ids in wanted.items():
            folder = self._folder_name("run", f"{model}_eval_{judge}")
            self._add("results", f"eval_results/{folder}/{task}.json", ids, task=task, model=model, judge=judge)

    # ── what has no place in the layout ───────────────────────────────────────────────────────────────────────────

    def _what_is_lost(self) -> None:
        content = self.content
        for what, rows in (
            ("clips", content.clips),
            ("linkages", content.linkages),
            ("paths", content.paths),
            ("entities, events and facts", [*content.entities, *content.events, *content.facts]),
            ("graphs", content.graphs),
            ("reviews", content.reviews),
            ("rubrics", content.rubrics),
            ("refused records", content.rejected),
            ("video files", content.media),
        ):
            self._lose(len(rows), f"{what} are left out")
        self._lose(
            sum(map(_is_described, content.videos)),
            "videos with another path than <name>.mp4, or with lengths, splits or summaries, which are left out",
        )
        named: set[str] = {dialogue.video_id for dialogue in content.dialogues}
        named |= {video for file in self.files for video in file.extra.get("empty_videos", ())}
        self._lose(sum(video.id not in named for video in content.videos), "videos without dialogues are left out")
        turns = [turn for dialogue in content.dialogues for turn in dialogue.turns]
        self._lose(
            sum(len(turn.references) > 1 for turn in turns),
            "turns with several references, of which the first is written",
        )
        self._lose(sum(not turn.references for turn in turns), "turns without a reference, written as an empty answer")
        self._lose(
            sum(map(_has_more, turns)),
            "turns with options, times, evidence, rubrics, keys or other labels, which are left out",
        )
        self._lose(sum(bool(row.clip_ids) for row in content.dialogues), "dialogues whose clips are left out")
        asked = sum(answer.asked_as is not None or answer.referred_to is not None for answer in content.answers)
        self._lose(asked, "answers whose own wording of the question or reference is left out")


def _is_event(event: str) -> bool:
    return bool(event) and layout.event_of(event) == event


def _is_result(score: JudgedScore, dialogue: Dialogue) -> bool:
    known = score.criterion == layout.CRITERION or score.criterion.startswith(layout.RUN)
    in_range = score.value is None or 0 <= score.value <= 1
    inside = score.turn_index is not None and score.turn_index < len(dialogue.turns)
    return score.unit == "turn" and known and in_range and inside


def _is_described(video: Video) -> bool:
    usual = Video(id=video.id, file=f"{video.id.removesuffix('.mp4')}.mp4")
    return video not in (usual, Video(id=video.id))


def _has_more(turn: Turn) -> bool:
    known = set(turn.labels) <= {TASK_LABEL} or set(turn.labels) <= {ABILITY_LABEL}
    return bool(turn.options or turn.evidence or turn.asked_at_s is not None or turn.rubric or turn.key or not known)

"""MT-Video-Bench (arXiv 2510.17722), versions 1 and 2: dialogues, checklists, models' answers, judges' results.

A dialogue is an event of a video in the file of a task, and named `<task>/<video>/<event>`. Checklists have files of
their own and belong to turns here. Each `SourceFile` records the version of its source, because scores of the two
versions do not compare. An export restores the imported files, and writes new ones for other dialogues of the tasks.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from reeltalk.errors import InputError
from reeltalk.formats import mt_video_bench_layout as layout
from reeltalk.formats.export_losses import (
    MADE_ON_THE_WAY,
    UNHELD,
    fields_left_out,
    labels_left_out,
    source_fields,
    source_keys_like_ours,
    tables_left_out,
)
from reeltalk.formats.layout import LONGEST_NAME_BYTES
from reeltalk.formats.mt_video_bench_layout import ABILITY_LABEL, FORMAT, TASK_LABEL, MTVideoDocuments, round_number
from reeltalk.formats.mt_video_bench_read import MTVideoReader
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue
from reeltalk.schema.labels import Task
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import DialogueId, Json, Record, derive_id
from reeltalk.schema.scoring import JudgedScore
from reeltalk.store.content import Content
from reeltalk.store.documents import write_json


@dataclass
class _Writer:
    """Plans the files, then writes them."""

    content: Content
    folder: Path
    lost: list[str] = field(default_factory=list)
    files: list[SourceFile] = field(default_factory=list)
    dialogues: dict[str, Dialogue] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    """The benchmark's identifiers of renamed dialogues, by their new identifiers."""
    left: list[Dialogue] = field(default_factory=list)
    """Dialogues of the benchmark that are in no imported file."""
    basic: int = 0
    """Rounds that name no ability."""

    def named(self) -> dict[str, str]:
        """The exported dialogues: identifier in the layout, and identifier in the benchmark."""
        self.files = self.content.source_files_of(FORMAT)
        self._choose()
        return {name: self.names.get(name, name) for name in self.dialogues}

    def write(self) -> list[str]:
        """Write everything; return a line for each thing that the layout cannot express."""
        self.files = self.content.source_files_of(FORMAT)
        self._choose()
        self._plan_dialogues()
        self._plan_answers()
        self._plan_results()
        self._what_is_lost()
        documents = MTVideoDocuments(self.content)
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

    def _choose(self) -> None:
        """Choose the dialogues that the layout can hold, and name new ones by task, video and event."""
        covered = self._covered("mtqa")
        tasks = {task.value for task in Task} | {file.extra["task"] for file in self.files if "task" in file.extra}
        belongs = [row for row in self.content.dialogues if row.id in covered or row.task in tasks]
        self._lose(len(self.content.dialogues) - len(belongs), "dialogues of none of the six tasks are left out")
        used = {DialogueId(record) for record in covered}
        names: dict[str, DialogueId] = {}
        written: list[Dialogue] = []
        waiting: list[Dialogue] = []
        for dialogue in belongs:
            stem = f"{dialogue.task}/{dialogue.video_id}/"
            if dialogue.id in covered:
                written.append(dialogue)
            elif dialogue.id.startswith(stem) and _is_event(dialogue.id.removeprefix(stem)):
                used.add(dialogue.id)
                written.append(dialogue)
            else:
                waiting.append(dialogue)
        counts: dict[str, int] = defaultdict(int)
        for dialogue in waiting:
            stem = f"{dialogue.task}/{dialogue.video_id}/"
            counts[stem] += 1
            while DialogueId(f"{stem}{counts[stem]}") in used:
                counts[stem] += 1
            names[dialogue.id] = DialogueId(f"{stem}{counts[stem]}")
            used.add(names[dialogue.id])
            written.append(dialogue.model_copy(update={"id": names[dialogue.id]}))
        self.names = {new: old for old, new in names.items()}
        self._lose(len(names), "dialogues with new identifiers, <task>/<video>/<event>")
        self.left = [row for row in written if row.id not in covered]
        self.dialogues = {row.id: self._as_it_goes_out(row, is_source=row.id in covered) for row in written}
        known = {row.id for row in belongs}
        answers = [
            answer.model_copy(update={"unit_id": names.get(answer.unit_id, answer.unit_id)})
            for answer in self.content.answers
            if answer.unit == "dialogue" and answer.unit_id in known
        ]
        self._lose(len(self.content.answers) - len(answers), "answers to what is left out are left out")
        judged = self._covered("results")
        scores = [
            score.model_copy(
                update={
                    "unit_id": names.get(score.unit_id, score.unit_id),
                    "extra": {
                        key: value
                        for key, value in score.extra.items()
                        if score.unit_id in judged or key in layout.VERDICTS
                    },
                }
            )
            for score in self.content.scores
        ]
        self.content = replace(self.content, dialogues=list(self.dialogues.values()), answers=answers, scores=scores)

    def _as_it_goes_out(self, dialogue: Dialogue, *, is_source: bool) -> Dialogue:
        """A dialogue with only the fields of its source, and an ability in each round that we wrote."""
        fields = source_keys_like_ours(self.files)
        is_listed = dialogue.id in self._covered("checklist")

        def extra(record: Record, *, kept: bool) -> dict[str, Json]:
            return source_fields(record.extra, fields) if kept else {}

        turns = []
        for turn in dialogue.turns:
            checklist, labels = turn.checklist, turn.labels
            if checklist is not None and not is_listed:
                items = tuple(item.model_copy(update={"extra": {}}) for item in checklist.items)
                checklist = checklist.model_copy(update={"items": items})
            if checklist is not None:
                checklist = checklist.model_copy(update={"extra": extra(checklist, kept=is_listed)})
            if not is_source and layout.ability_of(labels) is None:
                labels = labels | {ABILITY_LABEL: (layout.basic_ability_of(labels),)}
                self.basic += 1
            update = {"extra": extra(turn, kept=is_source), "labels": labels, "checklist": checklist}
            turns.append(turn.model_copy(update=update))
        return dialogue.model_copy(update={"extra": extra(dialogue, kept=is_source), "turns": tuple(turns)})

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
            task = str(dialogue.task)
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
                wanted[answer.model, str(dialogue.task)][dialogue.id] = None
        self._lose(unfit, "answers to turns that are not there are left out")
        self._lose(states, "answers whose state their text does not show, as it must here")
        gaps = 0
        for (model, unit_id), answers in answered.items():
            turns = self.dialogues[unit_id].turns
            numbers = {round_number(turns[answer.turn_index], answer.turn_index) for answer in answers}
            known = {round_number(turn, index) for index, turn in enumerate(turns)}
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
                wanted[score.model, score.judge, str(dialogue.task)][dialogue.id] = None
        self._lose(unfit, "scores other than a round's checklist accuracy are left out")
        for (model, judge, task), ids in wanted.items():
            folder = self._folder_name("run", f"{model}_eval_{judge}")
            self._add("results", f"eval_results/{folder}/{task}.json", ids, task=task, model=model, judge=judge)

    # ── losses ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _what_is_lost(self) -> None:
        content = self.content
        tables = ("clips", "chains", "linkages", "paths", "graphs", *MADE_ON_THE_WAY, *UNHELD)
        self.lost += tables_left_out(content, tables)
        self._lose(self.basic, "rounds of none of the six tasks, whose Ability is a basic capability")
        named: set[str] = {dialogue.video_id for dialogue in content.dialogues}
        named |= {video for file in self.files for video in file.extra.get("empty_videos", ())}
        usual = [video for video in content.videos if video.file in (None, f"{video.id.removesuffix('.mp4')}.mp4")]
        self._lose(len(content.videos) - len(usual), "videos with another path than <name>.mp4")
        self._lose(sum(video.id not in named for video in content.videos), "videos without dialogues are left out")
        self.lost += fields_left_out("videos", content.videos, {"id", "file"})
        self.lost += fields_left_out("dialogues", self.left, {"id", "video_id", "task", "turns"})
        turns = [turn for dialogue in content.dialogues for turn in dialogue.turns]
        self._lose(
            sum(len(turn.references) > 1 for turn in turns),
            "turns with several references, of which the first is written",
        )
        self._lose(sum(not turn.references for turn in turns), "turns without a reference, written as an empty answer")
        held = {"question", "references", "position", "labels", "checklist", "extra"}
        self.lost += fields_left_out("turns", turns, held)
        self._lose(sum(bool(turn.extra) for row in self.left for turn in row.turns), "turns lose their extra")
        self.lost += labels_left_out(turns, {TASK_LABEL, ABILITY_LABEL})
        asked = sum(answer.asked_as is not None or answer.referred_to is not None for answer in content.answers)
        self._lose(asked, "answers whose own wording of the question or reference is left out")
        if not self.files:
            self.lost.append("the benchmark holds nothing that this layout can hold")


def _is_event(event: str) -> bool:
    return bool(event) and layout.event_of(event) == event


def _is_result(score: JudgedScore, dialogue: Dialogue) -> bool:
    known = score.criterion == layout.CRITERION or score.criterion.startswith(layout.RUN)
    in_range = score.value is None or 0 <= score.value <= 1
    inside = score.turn_index is not None and score.turn_index < len(dialogue.turns)
    return score.unit == "turn" and known and in_range and inside


LOOKED_FOR: Final = "expected a model's folder with <task>.json in it: {video: {event: [an answer for each round]}}"


class _AnswerReader(MTVideoReader):
    """Reads only the answers and results at `source`, and no other files of a release.

    Args:
        source: A model's folder, a folder with several of them, one file, or a release with answers.
        about: The benchmark. Its dialogues have the names of its files, or those that its export would give them.
    """

    def __init__(self, source: Path, about: Content) -> None:
        super().__init__(source)
        self.elsewhere = "--bench must name the benchmark that the answers are about"
        dialogues = {dialogue.id: dialogue for dialogue in about.dialogues}
        for name, own in _Writer(about, Path()).named().items():
            dialogue = self.dialogues[name] = dialogues[own]  # type: ignore[index]
            self.rounds[own] = {round_number(turn, index): index for index, turn in enumerate(dialogue.turns)}

    def read(self) -> Content:
        """Read the answers, each about a dialogue of the benchmark.

        Raises:
            InputError: A file is damaged, is about another benchmark, or there are no answers.
        """
        files = self._collect()
        folder = self.source.absolute() if self.source.is_dir() else self.source.absolute().parent
        for file in files:
            # If only the given folder can name the model, its name is a part of the paths.
            if file.kind in ("answers", "results") and not layout.unknown_folders(file.name):
                file.name = f"{folder.name}/{file.name}"
        if not any(file.kind == "answers" for file in files):
            raise InputError("no models' answers to MT-Video-Bench here", file=self.source, hint=LOOKED_FOR)
        self._read_kinds(files, "answers", "results")
        self._assemble()
        return self.content


def read(source: Path) -> Content:
    """Read a release folder, a part of it, or one `mtqa` file.

    Raises:
        InputError: A file is damaged, contradicts another, or `source` contains no files of MT-Video-Bench.
    """
    return MTVideoReader(source).read()


def read_answers(source: Path, about: Content) -> Content:
    """Read models' answers that are stored apart from the release, with the dialogues of a benchmark.

    Raises:
        InputError: A file is damaged, is about another benchmark, or there are no answers at `source`.
    """
    return _AnswerReader(source, about).read()


def write(content: Content, folder: Path) -> list[str]:
    """Write MT-Video-Bench's layout into an empty folder; return a line for each thing that it cannot express."""
    return _Writer(content, folder).write()

"""MT-Video-Bench (arXiv 2510.17722), versions 1 and 2: dialogues, checklists, models' answers, judges' results.

A dialogue is an event of a video in the file of a task, and named `<task>/<video>/<event>`. Checklists have files of
their own and belong to turns here. Each `SourceFile` records the version of its source, because scores of the two
versions do not compare. An export restores the imported files, and writes new ones for other dialogues.
"""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from reeltalk.errors import InputError
from reeltalk.formats import mt_video_bench_layout as layout
from reeltalk.formats.export_losses import (
    UNSTORED,
    WORKING_TABLES,
    fields_left_out,
    labels_left_out,
    source_fields,
    source_keys_like_ours,
    tables_left_out,
)
from reeltalk.formats.mt_video_bench_layout import ABILITY_LABEL, FORMAT, TASK_LABEL, MTVideoDocuments, round_number
from reeltalk.formats.mt_video_bench_read import MTVideoReader
from reeltalk.formats.release import ReleaseWriter
from reeltalk.schema.dialogue import Dialogue
from reeltalk.schema.labels import Task
from reeltalk.schema.record import DialogueId, Json, Record
from reeltalk.store.content import Content
from reeltalk.store.documents import write_json


@dataclass
class _Writer(ReleaseWriter):
    """Plans the files, then writes them."""

    format: ClassVar = FORMAT
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
        self.named()
        self._plan_dialogues()
        self.leave_answers_out()
        self._lose_the_rest()
        documents = MTVideoDocuments(self.content)
        return self.write_files(lambda file: write_json(documents.document(file)))

    def _choose(self) -> None:
        """Choose the dialogues that the layout can hold, and name new ones by task, video and event."""
        covered = self.records_in("mtqa")
        tasks = {task.value for task in Task} | {file.extra["task"] for file in self.files if "task" in file.extra}
        belongs = [row for row in self.content.dialogues if row.id in covered or row.task in tasks]
        self.lose(len(self.content.dialogues) - len(belongs), "dialogues of none of the six tasks are left out")
        used: set[str] = set(covered)
        written: list[Dialogue] = []
        waiting: list[Dialogue] = []
        for dialogue in belongs:
            stem = f"{dialogue.task}/{dialogue.video_id}/"
            event = dialogue.id.removeprefix(stem)
            if dialogue.id in covered or (dialogue.id.startswith(stem) and event and layout.event_of(event) == event):
                used.add(dialogue.id)
                written.append(dialogue)
            else:
                waiting.append(dialogue)
        counts: dict[str, int] = defaultdict(int)
        for dialogue in waiting:
            stem = f"{dialogue.task}/{dialogue.video_id}/"
            counts[stem] += 1
            while f"{stem}{counts[stem]}" in used:
                counts[stem] += 1
            name = DialogueId(f"{stem}{counts[stem]}")
            self.names[name] = dialogue.id
            used.add(name)
            written.append(dialogue.model_copy(update={"id": name}))
        self.lose(len(self.names), "dialogues with new identifiers, <task>/<video>/<event>")
        self.left = [row for row in written if row.id not in covered]
        self.dialogues = {row.id: self._as_it_goes_out(row, is_source=row.id in covered) for row in written}
        self.content = replace(self.content, dialogues=list(self.dialogues.values()))

    def _as_it_goes_out(self, dialogue: Dialogue, *, is_source: bool) -> Dialogue:
        """A dialogue with only the fields of its source, and an ability in each round that we wrote."""
        fields = source_keys_like_ours(self.files)
        is_listed = dialogue.id in self.records_in("checklist")

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

    def _plan_dialogues(self) -> None:
        covered, listed = self.records_in("mtqa"), self.records_in("checklist")
        by_task: dict[str, list[str]] = defaultdict(list)
        with_lists: dict[str, list[str]] = defaultdict(list)
        for dialogue in self.dialogues.values():
            task = str(dialogue.task)
            if dialogue.id not in covered:
                by_task[task].append(dialogue.id)
            if dialogue.id not in listed and any(turn.checklist is not None for turn in dialogue.turns):
                with_lists[task].append(dialogue.id)
        for task, ids in by_task.items():
            self.add("mtqa", f"mtqa/{task}.json", ids, {"task": task})
        for task, ids in with_lists.items():
            self.add("checklist", f"checklist/{task}{layout.CHECKLIST_SUFFIX}.json", ids, {"task": task})

    def _lose_the_rest(self) -> None:
        content = self.content
        tables = ("clips", "chains", "linkages", "paths", "graphs", *WORKING_TABLES, *UNSTORED)
        self.lost += tables_left_out(content, tables)
        self.lose(self.basic, "rounds of none of the six tasks, whose Ability is a basic capability")
        named: set[str] = {dialogue.video_id for dialogue in content.dialogues}
        named |= {video for file in self.files for video in file.extra.get("empty_videos", ())}
        usual = [video for video in content.videos if video.file in (None, f"{video.id.removesuffix('.mp4')}.mp4")]
        self.lose(len(content.videos) - len(usual), "videos with another path than <name>.mp4")
        self.lose(sum(video.id not in named for video in content.videos), "videos without dialogues are left out")
        self.lost += fields_left_out("videos", content.videos, {"id", "file"})
        self.lost += fields_left_out("dialogues", self.left, {"id", "video_id", "task", "turns"})
        turns = [turn for dialogue in content.dialogues for turn in dialogue.turns]
        self.lose(
            sum(len(turn.references) > 1 for turn in turns),
            "turns with several references, of which the first is written",
        )
        self.lose(sum(not turn.references for turn in turns), "turns without a reference, written as an empty answer")
        held = {"question", "references", "position", "labels", "checklist", "extra"}
        self.lost += fields_left_out("turns", turns, held)
        self.lose(sum(bool(turn.extra) for row in self.left for turn in row.turns), "turns lose their extra")
        self.lost += labels_left_out(turns, {TASK_LABEL, ABILITY_LABEL})
        asked = sum(answer.asked_as is not None or answer.referred_to is not None for answer in content.answers)
        self.lose(asked, "answers whose own wording of the question or reference is left out")


class _AnswerReader(MTVideoReader):
    """Reads only the answers and results at `source`, and no other files of a release.

    Args:
        source: A model's folder, a folder with several of them, one file, or a release with answers.
        about: The benchmark. Its dialogues have the names of its files, or those that its export would give them.
    """

    expected = "expected a model's folder with <task>.json in it: {video: {event: [an answer for each round]}}"
    elsewhere = "--bench must name the benchmark that the answers are about"

    def __init__(self, source: Path, about: Content) -> None:
        super().__init__(source)
        self.kinds = {kind: read for kind, read in self.kinds.items() if kind in self.named_kinds}
        dialogues: dict[str, Dialogue] = {dialogue.id: dialogue for dialogue in about.dialogues}
        for name, own in _Writer(about, Path()).named().items():
            dialogue = self.dialogues[name] = dialogues[own]
            self.rounds[own] = {round_number(turn, index): index for index, turn in enumerate(dialogue.turns)}

    def read(self) -> Content:
        """Read the answers, each about a dialogue of the benchmark."""
        files = self.collect()
        if not any(file.kind == "answers" for file in files):
            raise InputError("no models' answers to MT-Video-Bench here", file=self.source, hint=self.expected)
        self.read_files(files)
        self.assemble()
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

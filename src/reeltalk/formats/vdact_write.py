"""VDAct out: the files that were imported, or the release's layout for a benchmark from elsewhere."""

import io
import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import Final

from reeltalk.formats.left_out import (
    MADE_ON_THE_WAY,
    UNHELD,
    added_since_import,
    fields_left_out,
    labels_left_out,
    named_by_sources,
    tables_left_out,
    without_ours,
)
from reeltalk.formats.vdact_read import FORMAT, SCENARIO_SUFFIX_DIGITS, SPLIT_FILE, turn_number
from reeltalk.graph.rdf import triples_from_quads
from reeltalk.graph.source import graph_of_clip
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.ids import DialogueId, VideoId
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json
from reeltalk.store.content import Content
from reeltalk.store.documents import write_json

DIALOGUES: Final = "data/dialogue"
SUMMARIES: Final = {"template": "scenario_template_summaries", "refine": "VDEval/scenario_refine_summaries"}
"""Where the release has the summaries of each kind."""
SCENARIO: Final = re.compile("[0-9]{5}")
MOST_DIALOGUES: Final = 99
ADDED: Final = ("chains", "linkages", "paths", "scores", *(name for name in UNHELD if name != "rejected"))
"""Tables that a release does not fill."""


def write(content: Content, folder: Path) -> list[str]:
    """Write VDAct's layout into an empty folder; what it cannot express is returned, a line each."""
    return _Writer(content, folder).write()


def exported_ids(content: Content) -> dict[DialogueId, DialogueId]:
    """What each dialogue of a benchmark from elsewhere is called in an export, by its identifier."""
    return _dialogue_ids(content.dialogues, _scenarios(content.videos))


@dataclass
class _Writer:
    content: Content
    folder: Path
    lost: list[str] = field(default_factory=list)

    def write(self) -> list[str]:
        files = self.content.source_files_of(FORMAT)
        if files:
            self._write_files(files)
        else:
            self._write_default_layout()
        return self.lost

    def _write_files(self, files: list[SourceFile]) -> None:
        self.lost += added_since_import(self.content, FORMAT, ADDED)
        fields = named_by_sources(files)
        videos = {video.id: video for video in self.content.videos}
        dialogues = {dialogue.id: without_ours(dialogue, fields) for dialogue in self.content.dialogues}
        for file in files:
            path = self.folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            if file.kind == "split":
                path.write_text("".join(f"{record}\n" for record in file.records), encoding="utf-8")
            elif file.kind == "dialogues":
                rows = [_dialogue_row(dialogues[DialogueId(record)]) for record in file.records]
                path.write_text(write_json(rows), encoding="utf-8")
            elif file.kind == "scenario activities":
                activities: dict[str, list[Json]] = {record: [] for record in file.records}
                for clip in self.content.clips:
                    if "activity" in clip.extra and clip.video_id in activities:
                        activities[clip.video_id].append(clip.extra["activity"])
                path.write_text(write_json(activities), encoding="utf-8")
            elif file.kind == "initial rooms":
                rooms = self._rooms()
                rooms = {record: rooms[record] for record in file.records}
                path.write_text(write_json(rooms), encoding="utf-8")
            elif file.kind == "answers":
                path.write_text(_output_text(self._output_rows(file, dialogues)), encoding="utf-8")
            elif file.kind == "graphs":
                self._write_members(path, [(name, self._graph(file, index)) for index, name in enumerate(file.records)])
            elif file.kind.startswith("summaries "):
                kind = file.kind.removeprefix("summaries ")
                self._write_members(
                    path, [(name, videos[VideoId(Path(name).stem)].summaries[kind]) for name in file.records]
                )

    def _rooms(self) -> dict[str, Json]:
        """Start rooms, of activities that are parts of scenarios and of those that are videos."""
        rooms = {
            video.id: video.extra["initial_room"] for video in self.content.videos if "initial_room" in video.extra
        }
        clips = (clip.extra for clip in self.content.clips)
        return {**rooms, **{extra["activity"]: extra["initial_room"] for extra in clips if "initial_room" in extra}}

    def _graph(self, file: SourceFile, index: int) -> str:
        name = Path(file.records[index]).name.removesuffix(".nt").removesuffix(".ttl")
        pseudo = file.extra.get("pseudo_of", [])
        return triples_from_quads(
            self.content.graphs[name], pseudo=pseudo[index] if pseudo else bool(file.extra["pseudo_iris"])
        )

    @staticmethod
    def _write_members(path: Path, members: list[tuple[str, str]]) -> None:
        if path.suffix != ".zip":
            path.write_bytes(members[0][1].encode())
            return
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in members:
                # ZipInfo's default date keeps the archive's bytes the same on every day.
                archive.writestr(zipfile.ZipInfo(name), text.encode(), zipfile.ZIP_DEFLATED)
        path.write_bytes(buffer.getvalue())

    def _output_rows(self, file: SourceFile, dialogues: dict[DialogueId, Dialogue]) -> list[dict[str, Json]]:
        model = file.extra["model"]
        rows: dict[str, list[dict[str, Json]]] = defaultdict(list)
        dropped = [
            Answer.model_validate(row.content)
            for row in self.content.rejected
            if row.table == "answers" and row.content
        ]
        # The kept row of an identifier came first, the dropped ones in their order after it.
        for answer in (*self.content.answers, *dropped):
            if answer.model == model and answer.unit == "dialogue":
                dialogue = dialogues[DialogueId(answer.unit_id)]
                number = turn_number(dialogue.turns[answer.turn_index], answer.turn_index)
                row = _output_row(answer, dialogue, number)
                rows[row["id"]].append(row)
        return [rows[record].pop(0) for record in file.records]

    def _write_default_layout(self) -> None:
        content = self.content
        scenarios = _scenarios(content.videos)
        names = _dialogue_ids(content.dialogues, scenarios)
        written = {row.id: row for row in content.dialogues if row.id in names}
        self._lose(
            len(content.dialogues) - len(written), f"dialogues beyond the {MOST_DIALOGUES} of a scenario are left out"
        )
        self._lose(sum(names[key] != key for key in written), "dialogues with new identifiers, <scenario><two digits>")
        self._write_dialogues(list(written.values()), names, scenarios)
        self._write_splits(names, scenarios)
        self._write_default_answers(written, names)
        self._write_summaries(scenarios)
        for name, quads in content.graphs.items():
            self._write_text(f"kg_activity/{name}.ttl.nt", triples_from_quads(quads, pseudo=True))
        self._what_is_lost(list(written.values()))
        if not any(self.folder.iterdir()):
            self.lost.append("the benchmark holds nothing that this layout can hold")

    def _lose(self, count: int, what: str) -> None:
        if count:
            self.lost.append(f"{what}: {count:,}")

    def _write_text(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def _write_dialogues(
        self, dialogues: list[Dialogue], names: Mapping[DialogueId, DialogueId], scenarios: Mapping[str, str]
    ) -> None:
        parts = _activities(self.content)
        files = {video.id: video.file or f"{video.id}.mp4" for video in self.content.videos}
        rows = [
            {
                "id": names[dialogue.id],
                "turns": [{"question": turn.question, "answer": _reference(turn)} for turn in dialogue.turns],
                "scenario_video": files.get(dialogue.video_id, f"{dialogue.video_id}.mp4"),
                "activity_videos": [f"activities/{activity}.mp4" for activity in parts.get(dialogue.video_id, ())],
            }
            for dialogue in dialogues
        ]
        if rows:
            self._write_text(f"{DIALOGUES}/dialogue.json", write_json(rows))
        talked = {dialogue.video_id for dialogue in dialogues}
        named = sum(len(parts.get(video, ())) for video in talked)
        self._lose(
            named, "activities that activity_videos names, which are parts of a video and have no files of their own"
        )
        self._lose(sum(video not in talked for video in scenarios), "videos without dialogues are left out")

    def _write_splits(self, names: Mapping[DialogueId, DialogueId], scenarios: Mapping[str, str]) -> None:
        split_of = {scenarios[video.id]: video.split for video in self.content.videos}
        by_split: dict[str, list[str]] = defaultdict(list)
        for name in names.values():
            if split := split_of.get(name[:-SCENARIO_SUFFIX_DIGITS]):
                by_split[split].append(name)
        for split, ids in by_split.items():
            if SPLIT_FILE.fullmatch(f"{split}_ids.txt"):
                self._write_text(f"{DIALOGUES}/{split}_ids.txt", "".join(f"{name}\n" for name in ids))
            else:
                self.lost.append(f"split '{split}' is left out: a list of it cannot be called so")

    def _write_summaries(self, scenarios: Mapping[str, str]) -> None:
        for video in self.content.videos:
            for kind, folder in SUMMARIES.items():
                if kind in video.summaries:
                    self._write_text(f"{folder}/{scenarios[video.id]}.txt", video.summaries[kind])

    def _write_default_answers(
        self, units: Mapping[DialogueId, Dialogue], names: Mapping[DialogueId, DialogueId]
    ) -> None:
        by_model: dict[str, list[dict[str, Json]]] = defaultdict(list)
        unfit = 0
        for answer in self.content.answers:
            unit = units.get(DialogueId(answer.unit_id)) if answer.unit == "dialogue" else None
            if unit is None or answer.turn_index >= len(unit.turns):
                unfit += 1
                continue
            plain = answer.model_copy(update={"extra": {}})
            renamed = unit.model_copy(update={"id": names[unit.id]})
            by_model[answer.model].append(_output_row(plain, renamed, answer.turn_index + 1))
        self._lose(unfit, "answers to what is left out are left out")
        for model, rows in by_model.items():
            name = re.sub(r"[^\w.+-]", "_", model)
            if name != model:
                self.lost.append(f"model '{model}' is written as '{name}'")
            self._write_text(f"results/{name}.json", _output_text(rows))

    def _what_is_lost(self, dialogues: list[Dialogue]) -> None:
        content = self.content
        parts = {clip.id for clip in content.clips if _activity(clip, content.graphs)}
        clips = sum(clip.id not in parts for clip in content.clips)
        self._lose(clips, "clips that are no activities are left out")
        self.lost += fields_left_out(
            "clips of activities", (c for c in content.clips if c.id in parts), {"id", "video_id"}
        )
        self.lost += tables_left_out(content, ("chains", "linkages", "paths", "scores", *MADE_ON_THE_WAY, *UNHELD))
        held = {"id", "file", "split", "summaries"}
        self.lost += fields_left_out("videos", content.videos, held)
        more = sum(bool(set(video.summaries) - set(SUMMARIES)) for video in content.videos)
        self._lose(more, "videos with summaries of other kinds, which are left out")
        self.lost += fields_left_out("dialogues", dialogues, {"id", "video_id", "turns"})
        turns = [turn for dialogue in dialogues for turn in dialogue.turns]
        several = sum(len(turn.references) > 1 for turn in turns)
        self._lose(several, "turns with several references, of which the first is written")
        unanswered = sum(not turn.references for turn in turns)
        self._lose(unanswered, "turns without a reference, written as an empty answer")
        self.lost += fields_left_out("turns", turns, {"question", "references", "labels"})
        self.lost += labels_left_out(turns, ())


def _scenarios(videos: Iterable[Video]) -> dict[str, str]:
    """The five digits of each video: its own identifier where it is of five digits, else the next that is free."""
    own = {video.id for video in videos if SCENARIO.fullmatch(video.id)}
    free = (name for number in count(1) if (name := f"{number:05d}") not in own)
    return {video.id: video.id if video.id in own else next(free) for video in videos}


def _dialogue_ids(dialogues: Iterable[Dialogue], scenarios: Mapping[str, str]) -> dict[DialogueId, DialogueId]:
    """Each dialogue's identifier in VDAct: its own where it has the form, else the scenario's next that is free."""
    waiting: list[Dialogue] = []
    names: dict[DialogueId, DialogueId] = {}
    for dialogue in dialogues:
        scenario, suffix = dialogue.id[:-SCENARIO_SUFFIX_DIGITS], dialogue.id[-SCENARIO_SUFFIX_DIGITS:]
        if scenario == scenarios.get(dialogue.video_id) and re.fullmatch("[0-9]{2}", suffix):
            names[dialogue.id] = dialogue.id
        else:
            waiting.append(dialogue)
    taken = set(names.values())
    for dialogue in waiting:
        stem = scenarios.get(dialogue.video_id)
        places = (DialogueId(f"{stem}{number:02d}") for number in range(1, MOST_DIALOGUES + 1) if stem)
        name = next((place for place in places if place not in taken), None)
        if name is not None:
            names[dialogue.id] = name
            taken.add(name)
    return {dialogue.id: names[dialogue.id] for dialogue in dialogues if dialogue.id in names}


def _activities(content: Content) -> dict[str, list[str]]:
    """The activities of each video by the names of their graphs, in the order of their times."""
    found: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for clip in content.clips:
        if name := _activity(clip, content.graphs):
            found[clip.video_id].append((clip.interval.start_s if clip.interval else 0.0, name))
    return {video: [name for _, name in sorted(parts, key=itemgetter(0))] for video, parts in found.items()}


def _activity(clip: Clip, graphs: Container[str]) -> str | None:
    own = clip.extra.get("activity")
    return graph_of_clip(clip, graphs) or (own if isinstance(own, str) else None)


def _reference(turn: Turn) -> str:
    return turn.references[0] if turn.references else ""


def _dialogue_row(dialogue: Dialogue) -> dict[str, Json]:
    extra = {key: value for key, value in dialogue.extra.items() if key != "from_answers"}
    turns = []
    for turn in dialogue.turns:
        row: dict[str, Json] = {"question": turn.question, "answer": turn.references[0] if turn.references else ""}
        if "vdact.question_type" in turn.labels:
            row["types"] = list(turn.labels["vdact.question_type"])
        turns.append(row | turn.extra)
    return {"id": dialogue.id, "turns": turns} | extra


def _output_row(answer: Answer, dialogue: Dialogue, number: int) -> dict[str, Json]:
    turn = dialogue.turns[answer.turn_index]
    references = turn.references if answer.referred_to is None else answer.referred_to
    return {
        "id": f"{dialogue.id}{number:02d}",
        "dial_id": dialogue.id,
        "turn_num": number,
        "question": turn.question if answer.asked_as is None else answer.asked_as,
        "ref_answer": references[0] if references else "",
        "gen_answer": answer.text,
    } | answer.extra


def _output_text(rows: list[dict[str, Json]]) -> str:
    # The release's own form, without spaces after colons, so that a file comes back byte for byte.
    return json.dumps(rows, ensure_ascii=False, indent=2, separators=(",", ":")) + "\n"

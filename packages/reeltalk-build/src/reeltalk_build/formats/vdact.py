"""VDAct (AAAI 2025): dialogues, split lists, released model outputs, activity graphs, summaries.

You can import any part of the release alone. A *scenario* is a video. The identifier of a dialogue is the scenario's
five digits and two more. The activities of a scenario are clips of its video. An activity that no scenario names has
its graph alone; if no scenario is known, each activity is a video. Model outputs have question and reference in every
row, so dialogues are known even if `dialogue.json` is missing. An export restores the imported files; a benchmark that
was not imported from VDAct gets the release's layout.
"""

import io
import json
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final

from pydantic import Field

from reeltalk.errors import InputError
from reeltalk.formats.export_losses import (
    FILE_FIELDS,
    UNSTORED,
    WORKING_TABLES,
    added_since_import,
    fields_left_out,
    fields_like_ours,
    labels_left_out,
    source_keys_like_ours,
    tables_left_out,
    without_our_fields,
)
from reeltalk.formats.layout import OpenedFile, Repeated
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.outcomes import Rejected, SourceFile
from reeltalk.schema.record import ClipId, DialogueId, Json, Name, VideoId
from reeltalk.store.archives import read_zip
from reeltalk.store.content import Content
from reeltalk.store.documents import (
    SourceModel,
    read_json,
    read_text,
    record_errors,
    refuse_characters,
    write_json,
    write_json_rows,
)
from reeltalk.store.foreign import visible_files
from reeltalk.store.rows import NamedRows
from reeltalk.store.tables import ANSWERS
from reeltalk_build.graph.rdf import quads_from_triples, triples_from_quads
from reeltalk_build.graph.reading import graph_of_clip

FORMAT: Final = "vdact"
SCENARIO_SUFFIX_DIGITS: Final = 2
GRAPH_SUFFIXES: Final = (".ttl.nt", ".nt")
TYPE_VOCABULARY: Final = "vdact.question_type"
"""Vocabulary of the types of a question."""

SPLIT_FILE: Final = re.compile(r"(?P<split>[a-z]+)_ids\.txt")
SCENE_FOLDER: Final = re.compile(r"scene\d+")
SUMMARY_FOLDER: Final = re.compile(r"scenario_(?P<kind>template|refine)_summaries")


class VDActOutput(SourceModel):
    """One row of a model output file."""

    id: str
    dial_id: Annotated[str, Field(min_length=SCENARIO_SUFFIX_DIGITS + 1)]
    turn_num: Annotated[int, Field(ge=1)]
    question: str
    ref_answer: str
    gen_answer: str


class VDActTurn(SourceModel):
    """One turn of `dialogue.json`."""

    question: str
    answer: str
    types: list[str] | None = None


class VDActDialogue(SourceModel):
    """One dialogue of `dialogue.json`."""

    id: Annotated[str, Field(min_length=SCENARIO_SUFFIX_DIGITS + 1)]
    turns: list[VDActTurn]
    scenario_video: str | None = None
    activity_videos: list[str] | None = None


def scenario_of(dialogue_id: str) -> VideoId:
    """The scenario of a dialogue, which is its video: the identifier without the last two digits."""
    return VideoId(dialogue_id[:-SCENARIO_SUFFIX_DIGITS])


def activity_in_path(path: str) -> str:
    """The activity that a path of `activity_videos` names, as its graph is called.

    The official inference code takes it from the file's name and a folder above, such as `scene1`; without such a
    folder it is the file's name.
    """
    *folders, name = PurePosixPath(path).parts
    scene = next((folder for folder in folders if SCENE_FOLDER.fullmatch(folder)), None)
    stem = PurePosixPath(name).stem
    return f"{stem.split('_')[0].replace(' ', '_')}_{scene}" if scene else stem


def read(source: Path) -> Content:
    """Read a release folder, a part of it, or one file.

    Raises:
        InputError: A file is damaged, contradicts another, or nothing of VDAct lies at `source`.
    """
    return _Reader(source).read()


@dataclass
class _Reader:
    source: Path
    content: Content = field(default_factory=Content)
    videos: dict[str, dict[str, Any]] = field(default_factory=lambda: defaultdict(dict))
    dialogues: dict[str, Dialogue] = field(default_factory=dict)
    splits: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The split of each scenario, and the file that says so."""
    parts: dict[str, list[str]] = field(default_factory=dict)
    """The activities of each scenario, in order."""
    rooms: dict[str, str] = field(default_factory=dict)
    """Start rooms by activity."""
    outputs: list[OpenedFile] = field(default_factory=list)

    def read(self) -> Content:
        root = self.source if self.source.is_dir() else self.source.parent
        if not self.source.exists():
            raise InputError("no such file or folder", file=self.source, hint="check the path")
        for path in visible_files(self.source) if self.source.is_dir() else [self.source]:
            with record_errors(path, "$"):
                self._read_file(OpenedFile(path, path.relative_to(root).as_posix(), None))
        self._read_outputs()
        if not self.content.source_files:
            raise InputError(
                "nothing of VDAct here",
                file=self.source,
                hint="expected model outputs or dialogues (*.json), {train,dev,test}_ids.txt, activity graphs "
                "(*.nt or a zip of them) or scenario summaries",
            )
        self.content.dialogues = list(self.dialogues.values())
        self._place_activities()
        for scenario, (split, _) in self.splits.items():
            self.videos[scenario]["split"] = split
        with record_errors(self.source, "$"):
            self.content.videos = [Video(id=VideoId(key), **fields) for key, fields in sorted(self.videos.items())]
        return self.content

    def _read_file(self, file: OpenedFile) -> None:
        path = file.path
        if match := SPLIT_FILE.fullmatch(path.name):
            self._read_split(file, match["split"])
        elif path.suffix == ".nt":
            self._read_graphs(file, [(path.name, read_text(path))])
        elif path.suffix == ".zip":
            members = read_zip(path)
            if members and all(member.endswith(GRAPH_SUFFIXES) for member, _ in members):
                self._read_graphs(file, members)
            elif members and (match := SUMMARY_FOLDER.fullmatch(path.stem)):
                self._read_summaries(file, match["kind"], members)
            else:
                problem = "neither an archive of activity graphs (*.nt) nor of scenario summaries"
                raise InputError(f"{problem} (scenario_*_summaries.zip)", file=path)
        elif path.suffix == ".txt" and (match := SUMMARY_FOLDER.fullmatch(path.parent.name)):
            self._read_summaries(file, match["kind"], [(path.name, read_text(path))])
        elif path.suffix == ".json":
            file.value = read_json(path)
            kind = _kind_of(file)
            if kind == "answers":
                self.outputs.append(file)
            elif kind == "dialogues":
                self._read_dialogues(file)
            elif kind == "scenario activities":
                self._read_scenario_activities(file)
            else:
                self._read_initial_rooms(file)

    def _add_file(self, file: OpenedFile, kind: str, records: Iterable[str], **extra: Json) -> None:
        self.content.source_files.append(
            SourceFile(format=FORMAT, path=file.name, kind=kind, records=tuple(records), extra=extra)
        )

    def _read_split(self, file: OpenedFile, split: str) -> None:
        ids = read_text(file.path).split()
        for number, dialogue_id in enumerate(ids, start=1):
            if len(dialogue_id) <= SCENARIO_SUFFIX_DIGITS or not dialogue_id.isdigit():
                raise file.error("not a dialogue identifier", "", dialogue_id, "seven digits a line", number)
            scenario = scenario_of(dialogue_id)
            self.videos.setdefault(scenario, {})
            other, other_file = self.splits.setdefault(scenario, (split, file.name))
            if other != split:
                problem = f"scenario {scenario} is in split '{other}' too ({other_file})"
                raise file.error(problem, "", dialogue_id, "splits never share a video", number)
        for dialogue_id, times in Counter(ids).items():
            if times > 1:
                raise file.error(f"stands {times} times", "", dialogue_id, "remove the repeated lines")
        self._add_file(file, "split", ids)

    def _read_dialogues(self, file: OpenedFile) -> None:
        ids: list[str] = []
        for index, item in enumerate(file.value):
            row = file.parse(VDActDialogue, item, f"$[{index}]")
            turns = tuple(
                Turn(
                    question=turn.question,
                    references=(turn.answer,),
                    labels={TYPE_VOCABULARY: tuple(turn.types)} if turn.types is not None else {},
                    extra=turn.unknown,
                )
                for turn in row.turns
            )
            paths = {"scenario_video", "activity_videos"} & row.model_fields_set
            extra = row.unknown | {key: getattr(row, key) for key in sorted(paths, reverse=True)}
            scenario = scenario_of(row.id)
            with file.making(f"$[{index}]"):
                dialogue = Dialogue(id=DialogueId(row.id), video_id=scenario, turns=turns, extra=extra)
                if self.dialogues.setdefault(row.id, dialogue) != dialogue:
                    raise file.error("this dialogue appears twice, with other content", f"$[{index}].id", row.id)
                self.videos[scenario].setdefault("file", row.scenario_video)
            ids.append(row.id)
        read = [self.dialogues[dialogue_id] for dialogue_id in ids]
        own = fields_like_ours(one.extra for dialogue in read for one in (dialogue, *dialogue.turns))
        self._add_file(file, "dialogues", ids, **({FILE_FIELDS: own} if own else {}))

    def _read_scenario_activities(self, file: OpenedFile) -> None:
        for scenario, activities in file.value.items():
            for index, activity in enumerate(activities):
                file.parse(Name, activity, f"$.{scenario}[{index}]")
            self.videos.setdefault(scenario, {})
            if self.parts.setdefault(scenario, activities) != activities:
                raise file.error("another file has other activities", f"$.{scenario}", activities)
        self._add_file(file, "scenario activities", file.value)

    def _read_initial_rooms(self, file: OpenedFile) -> None:
        for activity, room in file.value.items():
            if self.rooms.setdefault(activity, room) != room:
                raise file.error("another file has another room", f"$.{activity}", room)
        self._add_file(file, "initial rooms", file.value, rooms=file.value)

    def _place_activities(self) -> None:
        """Make activities clips of the scenarios that name them; where there are no scenarios, each is a video."""
        for dialogue in self.dialogues.values():
            if named := dialogue.extra.get("activity_videos"):
                self.parts.setdefault(dialogue.video_id, [activity_in_path(path) for path in named])
        for scenario, activities in self.parts.items():
            for index, activity in enumerate(activities):
                room = {"initial_room": self.rooms[activity]} if activity in self.rooms else {}
                name, extra = ClipId(f"{scenario}/{index}"), {"activity": activity, **room}
                with record_errors(self.source, f"activity {index} of scenario {scenario}"):
                    self.content.clips.append(Clip(id=name, video_id=VideoId(scenario), extra=extra))
        for activity in (*self.content.graphs, *self.rooms) if not self.parts else ():
            video = self.videos.setdefault(activity, {})
            if activity in self.rooms:
                video["extra"] = {"initial_room": self.rooms[activity]}

    def _read_graphs(self, file: OpenedFile, members: list[tuple[str, str]]) -> None:
        pseudo: dict[str, bool] = {}
        for member, text in members:
            graph = _graph_name(member)
            if graph in pseudo:
                raise file.error(f"the graph {graph!r} appears twice", member)
            where = file.path if len(members) == 1 else f"{file.path}!{member}"
            quads, pseudo[graph] = quads_from_triples(text, name=graph, file=where)
            if self.content.graphs.setdefault(graph, quads) != quads:
                raise file.error(f"the graph {graph!r} appears twice, with other content", member)
        flags = list(pseudo.values())
        mixed = {"pseudo_of": flags} if any(flags) and not all(flags) else {}
        self._add_file(file, "graphs", [member for member, _ in members], pseudo_iris=all(flags), **mixed)

    def _read_summaries(self, file: OpenedFile, kind: str, members: list[tuple[str, str]]) -> None:
        for member, text in members:
            scenario = Path(member).stem
            summaries = self.videos[scenario].setdefault("summaries", {})
            if summaries.setdefault(kind, text) != text:
                raise file.error(f"scenario {scenario} has two {kind} summaries", member)
            for number, line in enumerate(text.split("\n"), start=1):
                refuse_characters(line, member, file=file.path, line=number)
        self._add_file(file, f"summaries {kind}", [member for member, _ in members])

    def _read_outputs(self) -> None:
        # The same file in two folders has the answers of one model.
        first = {
            file.name: next(one for one in self.outputs if (one.path.stem, one.value) == (file.path.stem, file.value))
            for file in self.outputs
        }
        stems = Counter(file.path.stem for file in self.outputs if first[file.name] is file)
        parsed: list[tuple[OpenedFile, str, list[VDActOutput]]] = []
        turns: dict[str, dict[int, Turn]] = defaultdict(dict)
        for file in self.outputs:
            rows = [_read_output(file, f"$[{index}]", item) for index, item in enumerate(file.value)]
            stem = file.path.stem
            model = stem if stems[stem] == 1 else first[file.name].name.removesuffix(file.path.suffix)
            parsed.append((file, model, rows))
            for row in rows:
                if row.dial_id not in self.dialogues:
                    turn = Turn(question=row.question, references=(row.ref_answer,))
                    turns[row.dial_id].setdefault(row.turn_num, turn)
        for dialogue_id, numbered in turns.items():
            numbers = sorted(numbered)
            if numbers != list(range(1, len(numbers) + 1)):
                shown = ", ".join(map(str, numbers[:8])) + (" …" if len(numbers) > 8 else "")
                self.content.warnings.append(f"dialogue {dialogue_id} is known in part: turns {shown}")
            scenario = scenario_of(dialogue_id)
            self.videos.setdefault(scenario, {})
            known = tuple(
                numbered[number].model_copy(update={"position": None if number == index + 1 else number - 1})
                for index, number in enumerate(numbers)
            )
            self.dialogues[dialogue_id] = Dialogue(
                id=DialogueId(dialogue_id), video_id=scenario, turns=known, extra={"from_answers": True}
            )
        index_of = {
            dialogue_id: {turn_number(turn, index): index for index, turn in enumerate(dialogue.turns)}
            for dialogue_id, dialogue in self.dialogues.items()
        }
        for file, model, rows in parsed:
            if first[file.name] is file:
                self._add_answers(file, model, rows, index_of)
            self._add_file(file, "answers", [row.id for row in rows], model=model)

    def _add_answers(
        self, file: OpenedFile, model: str, rows: list[VDActOutput], index_of: Mapping[str, Mapping[int, int]]
    ) -> None:
        first: dict[str, int] = {}
        for index, row in enumerate(rows):
            place = f"$[{index}]"
            turn_index = index_of[row.dial_id].get(row.turn_num)
            if turn_index is None:
                problem = f"dialogue {row.dial_id} has no turn {row.turn_num} in dialogue.json"
                raise file.error(problem, f"{place}.turn_num", row.turn_num)
            turn = self.dialogues[row.dial_id].turns[turn_index]
            with file.making(place):
                answer = Answer(
                    model=model,
                    unit_id=row.dial_id,
                    turn_index=turn_index,
                    text=row.gen_answer,
                    asked_as=None if row.question == turn.question else row.question,
                    referred_to=None if (row.ref_answer,) == turn.references else (row.ref_answer,),
                    extra=row.unknown,
                )
            if first.setdefault(row.id, index) == index:
                self.content.answers.append(answer)
                continue
            assert ANSWERS.key is not None
            self.content.rejected.append(
                Rejected(
                    table="answers",
                    record_id=ANSWERS.key(answer),
                    reason="duplicate id: the first row is kept",
                    place=f"{file.name} at {place}",
                    content=answer.model_dump(mode="json", exclude_defaults=True),
                    extra={"kept": f"{file.name} at $[{first[row.id]}]", "id": row.id},
                )
            )
        if len(first) < len(rows):
            repeated = f"{len(rows) - len(first)} of {len(rows):,} rows repeat an id"
            self.content.warnings.append(f"{file.name}: {repeated}; the first row of each is kept")


def _read_output(file: OpenedFile, place: str, item: Json) -> VDActOutput:
    row = file.parse(VDActOutput, item, place)
    if row.id != f"{row.dial_id}{row.turn_num:02d}":
        problem = f"id does not consist of dial_id and turn_num ('{row.dial_id}' and {row.turn_num:02d})"
        raise file.error(problem, f"{place}.id", row.id)
    return row


def _kind_of(file: OpenedFile) -> str:
    value = file.value
    if isinstance(value, list):
        rows = [row for row in value if isinstance(row, dict)]
        if rows and "turns" in rows[0]:
            return "dialogues"
        if (rows and {"dial_id", "gen_answer", "turn_num"} & set(rows[0])) or not value:
            return "answers"
        hint = f"model output rows have {', '.join(VDActOutput.model_fields)}; dialogues have id, turns"
        raise file.error("neither model outputs nor dialogues", "$[0]", value[0], hint)
    if not isinstance(value, dict):
        raise file.error("neither model outputs nor dialogues", "$", value, "expected a list")
    if all(isinstance(member, str) for member in value.values()):
        return "initial rooms"
    file.parse(dict[str, list[str]], value)
    return "scenario activities"


def _graph_name(member: str) -> str:
    return Path(member).name.removesuffix(".nt").removesuffix(".ttl")


def turn_number(turn: Turn, index: int) -> int:
    """VDAct's `turn_num`, from 1."""
    return (index if turn.position is None else turn.position) + 1


DIALOGUES: Final = "data/dialogue"
SUMMARIES: Final = {kind: f"VDEval/scenario_{kind}_summaries" for kind in ("template", "refine")}
"""Folders of summaries by kind, where VDEval's script looks for those that `--summary_dir` names."""
SCENARIO: Final = re.compile("[0-9]{5}")
MOST_DIALOGUES: Final = 99
TURN_FIELDS: Final = frozenset({"question", "references", "labels"})
UNFILLED_TABLES: Final = ("chains", "linkages", "paths", "scores", *(name for name in UNSTORED if name != "rejected"))
"""Tables that a release does not fill."""


def write(content: Content, folder: Path) -> list[str]:
    """Write VDAct's layout into an empty folder; return a line for each thing that it cannot express."""
    return _Writer(content, folder).write()


def exported_ids(content: Content) -> dict[DialogueId, DialogueId]:
    """The identifier of each dialogue in an export, for a benchmark that was not imported from VDAct."""
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
        self.lost += added_since_import(self.content, FORMAT, UNFILLED_TABLES)
        fields = source_keys_like_ours(files)
        videos = {video.id: video for video in self.content.videos}
        dialogues = {dialogue.id: without_our_fields(dialogue, fields) for dialogue in self.content.dialogues}
        for file in files:
            if file.kind == "split":
                self._write_text(file.path, "".join(f"{record}\n" for record in file.records))
            elif file.kind == "dialogues":
                rows = [_dialogue_row(dialogues[DialogueId(record)]) for record in file.records]
                self._write_text(file.path, write_json(rows))
            elif file.kind == "scenario activities":
                activities: dict[str, list[Json]] = {record: [] for record in file.records}
                for clip in self.content.clips:
                    if "activity" in clip.extra and clip.video_id in activities:
                        activities[clip.video_id].append(clip.extra["activity"])
                self._write_text(file.path, write_json(activities))
            elif file.kind == "initial rooms":
                # Activities of no scenario have no row of their own.
                rooms = file.extra["rooms"] | self._rooms()
                self._write_text(file.path, write_json({record: rooms[record] for record in file.records}))
            elif file.kind == "answers":
                self._write_text(file.path, _output_text(self._output_rows(file, dialogues)))
            elif file.kind == "graphs":
                graphs = [self._graph(file, index) for index in range(len(file.records))]
                self._write_members(file.path, list(zip(file.records, graphs, strict=True)))
            else:
                kind = file.kind.removeprefix("summaries ")
                texts = [videos[VideoId(Path(name).stem)].summaries[kind] for name in file.records]
                self._write_members(file.path, list(zip(file.records, texts, strict=True)))

    def _rooms(self) -> dict[str, Json]:
        """Start rooms of all activities: parts of scenarios, and videos."""
        rooms = {
            video.id: video.extra["initial_room"] for video in self.content.videos if "initial_room" in video.extra
        }
        clips = (clip.extra for clip in self.content.clips)
        return {**rooms, **{extra["activity"]: extra["initial_room"] for extra in clips if "initial_room" in extra}}

    def _graph(self, file: SourceFile, index: int) -> str:
        name = _graph_name(file.records[index])
        pseudo = file.extra.get("pseudo_of", [])
        return triples_from_quads(
            self.content.graphs[name], pseudo=pseudo[index] if pseudo else bool(file.extra["pseudo_iris"])
        )

    def _write_members(self, name: str, members: list[tuple[str, str]]) -> None:
        if not name.endswith(".zip"):
            self._write_text(name, members[0][1])
            return
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, text in members:
                # ZipInfo's default date is constant, so that the archive's bytes are the same every day.
                archive.writestr(zipfile.ZipInfo(member), text.encode(), zipfile.ZIP_DEFLATED)
        self._path(name).write_bytes(buffer.getvalue())

    def _output_rows(self, file: SourceFile, dialogues: dict[DialogueId, Dialogue]) -> list[dict[str, Json]]:
        model = file.extra["model"]
        rows: dict[str, list[dict[str, Json]]] = defaultdict(list)
        dropped = [
            Answer.model_validate(row.content)
            for row in self.content.rejected
            if row.table == "answers" and row.content
        ]
        # The kept row of an identifier is first, then the dropped ones in order.
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
        self._lose(
            len(content.dialogues) - len(names), f"dialogues beyond the {MOST_DIALOGUES} of a scenario are left out"
        )
        self._lose(
            sum(name != key for key, name in names.items()), "dialogues with new identifiers, <scenario><two digits>"
        )
        self._write_dialogues(names, scenarios)
        self._write_splits(names, scenarios)
        self._write_default_answers(names)
        self._write_summaries(scenarios)
        for name, quads in content.graphs.items():
            self._write_text(f"kg_activity/{name}.ttl.nt", triples_from_quads(quads, pseudo=True))
        self._what_is_lost(names)
        if not any(self.folder.iterdir()):
            self.lost.append("the benchmark holds nothing that this layout can hold")

    def _lose(self, count: int, what: str) -> None:
        if count:
            self.lost.append(f"{what}: {count:,}")

    def _path(self, name: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _write_text(self, name: str, text: str) -> None:
        self._path(name).write_bytes(text.encode())

    def _write_dialogues(self, names: Mapping[DialogueId, DialogueId], scenarios: Mapping[str, str]) -> None:
        parts = _activities(self.content)
        files = {video.id: video.file or f"{video.id}.mp4" for video in self.content.videos}
        talked: set[str] = set()

        def rows() -> Iterator[dict[str, Json]]:
            for dialogue in self.content.dialogues:
                if dialogue.id not in names:
                    continue
                talked.add(dialogue.video_id)
                yield {
                    "id": names[dialogue.id],
                    "turns": [{"question": turn.question, "answer": _reference(turn)} for turn in dialogue.turns],
                    "scenario_video": files.get(dialogue.video_id, f"{dialogue.video_id}.mp4"),
                    "activity_videos": [f"activities/{activity}.mp4" for activity in parts.get(dialogue.video_id, ())],
                }

        if names:
            write_json_rows(self._path(f"{DIALOGUES}/dialogue.json"), rows())
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

    def _write_default_answers(self, names: Mapping[DialogueId, DialogueId]) -> None:
        units = NamedRows(self.content.dialogues)
        by_model: dict[str, list[dict[str, Json]]] = defaultdict(list)
        unfit = 0
        for answer in self.content.answers:
            known = answer.unit == "dialogue" and answer.unit_id in names
            unit = units.get(answer.unit_id) if known else None
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

    def _what_is_lost(self, names: Container[DialogueId]) -> None:
        content = self.content
        parts = Repeated(lambda: (clip for clip in content.clips if _activity(clip, content.graphs)))
        self._lose(len(content.clips) - sum(1 for _ in parts), "clips that are no activities are left out")
        self.lost += fields_left_out("clips of activities", parts, {"id", "video_id"})
        self.lost += tables_left_out(content, ("chains", "linkages", "paths", "scores", *WORKING_TABLES, *UNSTORED))
        self.lost += fields_left_out("videos", content.videos, {"id", "file", "split", "summaries"})
        more = sum(bool(set(video.summaries) - set(SUMMARIES)) for video in content.videos)
        self._lose(more, "videos with summaries of other kinds, which are left out")
        dialogues = Repeated(lambda: (dialogue for dialogue in content.dialogues if dialogue.id in names))
        turns = Repeated(lambda: (turn for dialogue in dialogues for turn in dialogue.turns))
        several = sum(len(turn.references) > 1 for turn in turns)
        unanswered = sum(not turn.references for turn in turns)
        self.lost += fields_left_out("dialogues", dialogues, {"id", "video_id", "turns"})
        self._lose(several, "turns with several references, of which the first is written")
        self._lose(unanswered, "turns without a reference, written as an empty answer")
        self.lost += fields_left_out("turns", turns, TURN_FIELDS) + labels_left_out(turns, ())


def _scenarios(videos: Iterable[Video]) -> dict[str, str]:
    """The five digits of each video: its own identifier if it is of five digits, else the next that is free."""
    own = {video.id for video in videos if SCENARIO.fullmatch(video.id)}
    free = (name for number in count(1) if (name := f"{number:05d}") not in own)
    return {video.id: video.id if video.id in own else next(free) for video in videos}


def _dialogue_ids(dialogues: Iterable[Dialogue], scenarios: Mapping[str, str]) -> dict[DialogueId, DialogueId]:
    """Each dialogue's identifier in VDAct: its own if it has the form, else the scenario's next that is free."""
    waiting: list[tuple[DialogueId, VideoId]] = []
    order: list[DialogueId] = []
    names: dict[DialogueId, DialogueId] = {}
    for dialogue in dialogues:
        order.append(dialogue.id)
        scenario, suffix = dialogue.id[:-SCENARIO_SUFFIX_DIGITS], dialogue.id[-SCENARIO_SUFFIX_DIGITS:]
        if scenario == scenarios.get(dialogue.video_id) and re.fullmatch("[0-9]{2}", suffix):
            names[dialogue.id] = dialogue.id
        else:
            waiting.append((dialogue.id, dialogue.video_id))
    taken = set(names.values())
    for own, video_id in waiting:
        stem = scenarios.get(video_id)
        places = (DialogueId(f"{stem}{number:02d}") for number in range(1, MOST_DIALOGUES + 1) if stem)
        name = next((place for place in places if place not in taken), None)
        if name is not None:
            names[own] = name
            taken.add(name)
    return {own: names[own] for own in order if own in names}


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
        row: dict[str, Json] = {"question": turn.question, "answer": _reference(turn)}
        if TYPE_VOCABULARY in turn.labels:
            row["types"] = list(turn.labels[TYPE_VOCABULARY])
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
    # The form of the release, without spaces after colons, so that an export restores a file byte for byte.
    return json.dumps(rows, ensure_ascii=False, indent=2, separators=(",", ":")) + "\n"


def read_answers(source: Path, about: Content) -> Content:
    """Read models' outputs, also outputs about an exported benchmark, in which dialogues have other identifiers.

    Raises:
        InputError: A file is damaged, contradicts another, or nothing of VDAct lies at `source`.
    """
    content = read(source)
    if about.source_files_of(FORMAT):
        return content
    names = {new: old for old, new in exported_ids(about).items()}
    content.answers = [
        answer.model_copy(update={"unit_id": names.get(answer.unit_id, answer.unit_id)})  # type: ignore[call-overload]
        for answer in content.answers
    ]
    content.dialogues = [row.model_copy(update={"id": names.get(row.id, row.id)}) for row in content.dialogues]
    return content

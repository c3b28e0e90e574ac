"""VDAct in: dialogues, split lists, released model outputs, activity graphs, summaries.

Any part of the release may be given alone. A *scenario* is a video; its dialogues have identifiers of the scenario's
five digits and two more. The activities that a scenario is composed of are clips of its video; an activity that no
scenario names is a video. Model outputs carry question and reference in every row, so dialogues are known even where
`dialogue.json` is missing.
"""

import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final

from pydantic import Field

from reeltalk.errors import InputError
from reeltalk.formats.left_out import FILE_FIELDS, fields_like_ours
from reeltalk.graph.rdf import quads_from_triples
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.ids import ClipId, DialogueId, VideoId
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.outcomes import Rejected, SourceFile
from reeltalk.schema.record import Json, Name
from reeltalk.store.content import Content
from reeltalk.store.documents import SourceModel, parse, placed, read_json, read_text, visible_files
from reeltalk.store.tables import ANSWERS

FORMAT: Final = "vdact"
SCENARIO_SUFFIX_DIGITS: Final = 2
GRAPH_SUFFIXES: Final = (".ttl.nt", ".nt")
LARGEST_MEMBER_BYTES: Final = 256 << 20
"""An archive's member beyond this is refused: the release's largest has under 100 KB."""

SPLIT_FILE: Final = re.compile(r"(?P<split>[a-z]+)_ids\.txt")
SCENE_FOLDER: Final = re.compile(r"scene\d+")
SUMMARY_FOLDER: Final = re.compile(r"scenario_(?P<kind>template|refine)_summaries")


class OutputRow(SourceModel):
    """One row of a model output file."""

    id: str
    dial_id: Annotated[str, Field(min_length=SCENARIO_SUFFIX_DIGITS + 1)]
    turn_num: Annotated[int, Field(ge=1)]
    question: str
    ref_answer: str
    gen_answer: str


class TurnRow(SourceModel):
    """One turn of `dialogue.json`."""

    question: str
    answer: str
    types: list[str] | None = None


class DialogueRow(SourceModel):
    """One dialogue of `dialogue.json`."""

    id: Annotated[str, Field(min_length=SCENARIO_SUFFIX_DIGITS + 1)]
    turns: list[TurnRow]
    scenario_video: str | None = None
    activity_videos: list[str] | None = None


def scenario_of(dialogue_id: str) -> VideoId:
    """The scenario, hence the source video, of a dialogue: its identifier without the last two digits."""
    return VideoId(dialogue_id[:-SCENARIO_SUFFIX_DIGITS])


def activity_of(path: str) -> str:
    """The activity that a path of `activity_videos` names, as its graph is called.

    The official inference code takes it from the file's name and a folder above, as `scene1`; without such a folder it
    is the file's name.
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
    videos: dict[str, dict[str, Any]] = field(default_factory=dict)
    dialogues: dict[str, Dialogue] = field(default_factory=dict)
    splits: dict[str, tuple[str, str]] = field(default_factory=dict)
    parts: dict[str, list[str]] = field(default_factory=dict)
    """The activities of each scenario, in order."""
    rooms: dict[str, str] = field(default_factory=dict)
    """Start rooms by activity."""

    def read(self) -> Content:
        root = self.source if self.source.is_dir() else self.source.parent
        if not self.source.exists():
            raise InputError("no such file or folder", file=self.source, hint="check the path")
        paths = visible_files(self.source) if self.source.is_dir() else [self.source]
        outputs: list[tuple[str, Path, list[Json]]] = []
        for path in paths:
            name = path.relative_to(root).as_posix()
            with placed(path, "$"):
                self._read_file(name, path, outputs)
        self._read_outputs(outputs)
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
            self._video(scenario)["split"] = split
        with placed(self.source, "$"):
            self.content.videos = [Video(id=VideoId(key), **fields) for key, fields in sorted(self.videos.items())]
        return self.content

    def _read_file(self, name: str, path: Path, outputs: list[tuple[str, Path, list[Json]]]) -> None:
        if match := SPLIT_FILE.fullmatch(path.name):
            self._read_split(name, path, match["split"])
        elif path.suffix == ".nt":
            self._read_graphs(name, path, [(path.name, read_text(path))])
        elif path.suffix == ".zip":
            self._read_zip(name, path)
        elif path.suffix == ".txt" and (match := SUMMARY_FOLDER.fullmatch(path.parent.name)):
            self._read_summaries(name, path, match["kind"], [(path.name, read_text(path))])
        elif path.suffix == ".json":
            value = read_json(path)
            kind = _kind_of(value, path)
            if kind == "answers":
                outputs.append((name, path, value))
            elif kind == "dialogues":
                self._read_dialogues(name, path, value)
            elif kind == "scenario activities":
                self._read_scenario_activities(name, path, value)
            else:
                self._read_initial_rooms(name, path, value)

    def _video(self, video_id: str) -> dict[str, Any]:
        return self.videos.setdefault(video_id, {})

    def _add_file(self, path: str, kind: str, records: Iterable[str], **extra: Json) -> None:
        self.content.source_files.append(
            SourceFile(format=FORMAT, path=path, kind=kind, records=tuple(records), extra=extra)
        )

    def _read_split(self, name: str, path: Path, split: str) -> None:
        ids = read_text(path).split()
        for number, dialogue_id in enumerate(ids, start=1):
            if len(dialogue_id) <= SCENARIO_SUFFIX_DIGITS or not dialogue_id.isdigit():
                raise InputError(
                    "not a dialogue identifier", file=path, line=number, value=dialogue_id, hint="seven digits a line"
                )
            scenario = scenario_of(dialogue_id)
            self._video(scenario)
            other, other_file = self.splits.setdefault(scenario, (split, name))
            if other != split:
                raise InputError(
                    f"scenario {scenario} is in split '{other}' too ({other_file})",
                    file=path,
                    line=number,
                    value=dialogue_id,
                    hint="splits never share a video",
                )
        self._refuse_repeats(ids, path)
        self._add_file(name, "split", ids)

    @staticmethod
    def _refuse_repeats(ids: list[str], path: Path) -> None:
        for dialogue_id, count in Counter(ids).items():
            if count > 1:
                raise InputError(
                    f"stands {count} times", file=path, value=dialogue_id, hint="remove the repeated lines"
                )

    def _read_dialogues(self, name: str, path: Path, value: Json) -> None:
        ids: list[str] = []
        for index, item in enumerate(value):
            row = parse(DialogueRow, item, file=path, place=f"$[{index}]")
            if row.id in self.dialogues:
                raise InputError("this dialogue stands twice", file=path, place=f"$[{index}].id", value=row.id)
            turns = tuple(
                Turn(
                    question=turn.question,
                    references=(turn.answer,),
                    labels={"vdact.question_type": tuple(turn.types)} if turn.types is not None else {},
                    extra=turn.unknown,
                )
                for turn in row.turns
            )
            extra = row.unknown
            for key in ("scenario_video", "activity_videos"):
                if key in row.model_fields_set:
                    extra[key] = getattr(row, key)
            scenario = scenario_of(row.id)
            with placed(path, f"$[{index}]"):
                self.dialogues[row.id] = Dialogue(id=DialogueId(row.id), video_id=scenario, turns=turns, extra=extra)
                self._video(scenario).setdefault("file", row.scenario_video)
            ids.append(row.id)
        own = fields_like_ours(
            one.extra
            for dialogue_id in ids
            for one in (self.dialogues[dialogue_id], *self.dialogues[dialogue_id].turns)
        )
        self._add_file(name, "dialogues", ids, **({FILE_FIELDS: own} if own else {}))

    def _read_scenario_activities(self, name: str, path: Path, value: dict[str, list[str]]) -> None:
        for scenario, activities in value.items():
            for index, activity in enumerate(activities):
                parse(Name, activity, file=path, place=f"$.{scenario}[{index}]")
            self._video(scenario)
            self.parts[scenario] = activities
        self._add_file(name, "scenario activities", value)

    def _read_initial_rooms(self, name: str, path: Path, value: dict[str, str]) -> None:
        self.rooms |= value
        self._add_file(name, "initial rooms", value)

    def _place_activities(self) -> None:
        """Activities become clips of the scenarios that name them; what no scenario names is a video."""
        for dialogue in self.dialogues.values():
            if named := dialogue.extra.get("activity_videos"):
                self.parts.setdefault(dialogue.video_id, [activity_of(path) for path in named])
        for scenario, activities in self.parts.items():
            for index, activity in enumerate(activities):
                room = {"initial_room": self.rooms[activity]} if activity in self.rooms else {}
                with placed(self.source, f"activity {index} of scenario {scenario}"):
                    self.content.clips.append(
                        Clip(
                            id=ClipId(f"{scenario}/{index}"),
                            video_id=VideoId(scenario),
                            extra={"activity": activity, **room},
                        )
                    )
        inside = {activity for activities in self.parts.values() for activity in activities}
        for activity in (*self.content.graphs, *self.rooms):
            if activity not in inside:
                video = self._video(activity)
                if activity in self.rooms:
                    video["extra"] = {"initial_room": self.rooms[activity]}

    def _read_zip(self, name: str, path: Path) -> None:
        try:
            members = list(_zip_members(path))
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError, ValueError) as error:
            raise InputError(f"not a readable zip archive: {error}", file=path, hint="get the file again") from None
        except InputError:
            raise
        except Exception as error:  # zlib.error and its like have no common root
            raise InputError(f"a damaged zip archive: {error}", file=path, hint="get the file again") from None
        if members and all(member.endswith(GRAPH_SUFFIXES) for member, _ in members):
            self._read_graphs(name, path, members)
        elif members and (match := SUMMARY_FOLDER.fullmatch(path.stem)):
            self._read_summaries(name, path, match["kind"], members)
        else:
            raise InputError(
                "neither an archive of activity graphs (*.nt) nor of scenario summaries (scenario_*_summaries.zip)",
                file=path,
            )

    def _read_graphs(self, name: str, path: Path, members: list[tuple[str, str]]) -> None:
        pseudo: list[bool] = []
        for member, text in members:
            graph = Path(member).name.removesuffix(".nt").removesuffix(".ttl")
            if graph in self.content.graphs:
                raise InputError(f"the graph {graph!r} stands twice", file=path, place=member)
            where = path if len(members) == 1 else f"{path}!{member}"
            quads, has_pseudo = quads_from_triples(text, name=graph, file=where)
            self.content.graphs[graph] = quads
            pseudo.append(has_pseudo)
        self._add_file(
            name,
            "graphs",
            [member for member, _ in members],
            pseudo_iris=all(pseudo),
            **({} if all(pseudo) or not any(pseudo) else {"pseudo_of": pseudo}),
        )

    def _read_summaries(self, name: str, path: Path, kind: str, members: list[tuple[str, str]]) -> None:
        for member, text in members:
            scenario = Path(member).stem
            summaries = self._video(scenario).setdefault("summaries", {})
            if kind in summaries:
                raise InputError(f"scenario {scenario} has two {kind} summaries", file=path, place=member)
            summaries[kind] = text
        self._add_file(name, f"summaries {kind}", [member for member, _ in members])

    def _read_outputs(self, outputs: list[tuple[str, Path, list[Json]]]) -> None:
        stems = Counter(path.stem for _, path, _ in outputs)
        parsed: list[tuple[str, Path, str, list[OutputRow]]] = []
        turns: dict[str, dict[int, Turn]] = defaultdict(dict)
        for name, path, value in outputs:
            rows = [self._output_row(item, path, index) for index, item in enumerate(value)]
            model = path.stem if stems[path.stem] == 1 else name.removesuffix(path.suffix)
            parsed.append((name, path, model, rows))
            for row in rows:
                if row.dial_id not in self.dialogues:
                    turns[row.dial_id].setdefault(
                        row.turn_num, Turn(question=row.question, references=(row.ref_answer,))
                    )
        for dialogue_id, numbered in turns.items():
            numbers = sorted(numbered)
            if numbers != list(range(1, len(numbers) + 1)):
                self.content.warnings.append(f"dialogue {dialogue_id} is known in part: turns {_ranges(numbers)}")
            self._video(scenario_of(dialogue_id))
            self.dialogues[dialogue_id] = Dialogue(
                id=DialogueId(dialogue_id),
                video_id=scenario_of(dialogue_id),
                turns=tuple(
                    numbered[number].model_copy(update={"position": None if number == index + 1 else number - 1})
                    for index, number in enumerate(numbers)
                ),
                extra={"from_answers": True},
            )
        for name, path, model, rows in parsed:
            self._add_answers(name, path, model, rows)

    @staticmethod
    def _output_row(item: Json, path: Path, index: int) -> OutputRow:
        row = parse(OutputRow, item, file=path, place=f"$[{index}]")
        if row.id != f"{row.dial_id}{row.turn_num:02d}":
            raise InputError(
                f"id does not consist of dial_id and turn_num ('{row.dial_id}' and {row.turn_num:02d})",
                file=path,
                place=f"$[{index}].id",
                value=row.id,
            )
        return row

    def _add_answers(self, name: str, path: Path, model: str, rows: list[OutputRow]) -> None:
        first: dict[str, int] = {}
        index_of = {
            dialogue_id: {turn_number(turn, index): index for index, turn in enumerate(dialogue.turns)}
            for dialogue_id, dialogue in self.dialogues.items()
        }
        for index, row in enumerate(rows):
            place = f"$[{index}]"
            turn_index = index_of[row.dial_id].get(row.turn_num)
            if turn_index is None:
                raise InputError(
                    f"dialogue {row.dial_id} has no turn {row.turn_num} in dialogue.json",
                    file=path,
                    place=f"{place}.turn_num",
                    value=row.turn_num,
                )
            turn = self.dialogues[row.dial_id].turns[turn_index]
            with placed(path, place):
                answer = Answer(
                    model=model,
                    unit_id=row.dial_id,
                    turn_index=turn_index,
                    text=row.gen_answer,
                    asked_as=None if row.question == turn.question else row.question,
                    referred_to=None if (row.ref_answer,) == turn.references else (row.ref_answer,),
                    extra=row.unknown,
                )
            if row.id not in first:
                first[row.id] = index
                self.content.answers.append(answer)
                continue
            assert ANSWERS.key is not None
            self.content.rejected.append(
                Rejected(
                    table="answers",
                    record_id=ANSWERS.key(answer),
                    reason="duplicate id: the first row is kept",
                    place=f"{name} at {place}",
                    content=answer.model_dump(mode="json", exclude_defaults=True),
                    extra={"kept": f"{name} at $[{first[row.id]}]", "id": row.id},
                )
            )
        if len(first) < len(rows):
            self.content.warnings.append(
                f"{name}: {len(rows) - len(first)} of {len(rows):,} rows repeat an id; the first row of each is kept"
            )
        self._add_file(name, "answers", [row.id for row in rows], model=model)


def _kind_of(value: Json, path: Path) -> str:
    if isinstance(value, list):
        rows = [row for row in value if isinstance(row, dict)]
        if rows and "turns" in rows[0]:
            return "dialogues"
        if (rows and {"dial_id", "gen_answer", "turn_num"} & set(rows[0])) or not value:
            return "answers"
        raise InputError(
            "neither model outputs nor dialogues",
            file=path,
            place="$[0]",
            value=value[0],
            hint=f"model output rows have {', '.join(OutputRow.model_fields)}; dialogues have id, turns",
        )
    if isinstance(value, dict):
        if all(isinstance(member, str) for member in value.values()):
            return "initial rooms"
        parse(dict[str, list[str]], value, file=path)
        return "scenario activities"
    raise InputError("neither model outputs nor dialogues", file=path, place="$", value=value, hint="expected a list")


def _zip_members(path: Path) -> Iterator[tuple[str, str]]:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        for name, count in Counter(names).items():
            if count > 1:
                raise InputError("a member stands twice", file=path, value=name)
        for info in archive.infolist():
            if info.is_dir():
                continue
            if info.file_size > LARGEST_MEMBER_BYTES:
                raise InputError(f"a member of {info.file_size:,} bytes is refused", file=path, value=info.filename)
            content = archive.read(info)
            try:
                yield info.filename, content.decode()
            except UnicodeDecodeError as error:
                raise InputError(
                    f"not UTF-8: byte 0x{content[error.start]:02x}",
                    file=f"{path}!{info.filename}",
                    line=content.count(b"\n", 0, error.start) + 1,
                ) from None


def _ranges(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    return shown + (" …" if len(numbers) > 8 else "")


def turn_number(turn: Turn, index: int) -> int:
    """VDAct's `turn_num`, from 1."""
    return (index if turn.position is None else turn.position) + 1

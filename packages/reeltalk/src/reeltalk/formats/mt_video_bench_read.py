"""Read MT-Video-Bench's files, of both versions, into typed records.

This reads dialogues in every nesting, with checklists, answers and scores of rounds.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from reeltalk.errors import InputError
from reeltalk.formats import mt_video_bench_layout as layout
from reeltalk.formats.export_losses import FILE_FIELDS, fields_like_ours
from reeltalk.formats.layout import keep_form
from reeltalk.formats.mt_video_bench_layout import (
    FORMAT,
    ORDER,
    EntryShape,
    MTVideoDocuments,
    event_of,
    round_number,
    round_of,
    shape_as_extra,
)
from reeltalk.schema.answers import Answer, AnswerState
from reeltalk.schema.dialogue import Checklist, ChecklistItem, Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import DialogueId, Json, Name, VideoId
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.content import Content
from reeltalk.store.documents import parse, read_json, record_errors
from reeltalk.store.foreign import visible_files


@dataclass
class SourceJson:
    """A JSON file of the release, with its content."""

    name: str
    """Relative to the imported folder."""
    path: Path
    kind: str
    value: Json

    @property
    def task(self) -> str:
        """The task in its name."""
        return layout.task_of_stem(self.path.stem)


@dataclass
class _Entry:
    """One dialogue of an `mtqa` file, however it is nested."""

    event: str | int
    rounds: dict[str, Any]
    unknown: dict[str, Json]
    shape: EntryShape
    place: str
    rounds_place: str


def _read_entries(value: Json, file: SourceJson, place: str) -> Iterator[_Entry]:
    """Dialogues of an `mtqa` file."""
    if isinstance(value, dict):
        for key, member in value.items():
            fields = parse(dict[str, Any], member, file=file.path, place=f"{place}.{key}")
            yield _entry(key, fields, file, f"{place}.{key}", EntryShape(by_name=True, keyed=True))
        return
    for index, item in enumerate(parse(list[dict[str, Any]], value, file=file.path, place=place)):
        at = f"{place}[{index}]"
        names = [key for key in item if layout.is_event_key(key)]
        if "event_index" not in item and len(item) == 1 and names:
            fields = parse(dict[str, Any], item[names[0]], file=file.path, place=f"{at}.{names[0]}")
            yield _entry(names[0], fields, file, f"{at}.{names[0]}", EntryShape(keyed=True))
            continue
        if "event_index" not in item:
            raise InputError("a required field is missing", file=file.path, place=f"{at}.event_index", value=None)
        event: str | int = parse(
            layout.EventIndex,  # type: ignore[arg-type]
            item["event_index"],
            file=file.path,
            place=f"{at}.event_index",
        )
        yield _entry(event, item, file, at, EntryShape())


def _entry(event: str | int, fields: dict[str, Any], file: SourceJson, place: str, shape: EntryShape) -> _Entry:
    unknown = {key: member for key, member in fields.items() if shape.keyed or key != "event_index"}
    if "mtqa" in fields:
        rounds = parse(dict[str, Any], unknown.pop("mtqa"), file=file.path, place=f"{place}.mtqa")
        return _Entry(event, rounds, unknown, shape, place, f"{place}.mtqa")
    rounds = {key: member for key, member in fields.items() if round_of(key) is not None}
    if not rounds:
        raise InputError("neither mtqa nor rounds", file=file.path, place=place, value=sorted(fields))
    unknown = {key: member for key, member in unknown.items() if key not in rounds}
    direct = EntryShape(by_name=shape.by_name, keyed=shape.keyed, direct=True)
    return _Entry(event, rounds, unknown, direct, place, place)


def _read_round_index(row: dict[str, Any], file: SourceJson, place: str) -> int:
    """The number of a round, from 1."""
    if "round index" not in row:
        raise InputError("a required field is missing", file=file.path, place=f"{place}.round index")
    value = row["round index"]
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 5:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 10_000:
        raise InputError("not the number of a round", file=file.path, place=f"{place}.round index", value=value)
    return value


def _read_checklist(row: dict[str, Any], file: SourceJson, place: str) -> Checklist:
    """The checklist of a round."""
    parts: dict[int, dict[str, str]] = {}
    extra: dict[str, Json] = {}
    for key, value in row.items():
        match = layout.CHECKLIST_KEY.fullmatch(key)
        if match is None:
            if key != "round index":
                extra[key] = value
            continue
        if not isinstance(value, str):
            raise InputError("not a text", file=file.path, place=f"{place}.{key}", value=value)
        parts.setdefault(int(match[2]), {})[match[1]] = value
    items: list[ChecklistItem] = []
    for number, part in sorted(parts.items()):
        for letter in "QA":
            if letter not in part:
                raise InputError("a required field is missing", file=file.path, place=f"{place}.{letter}{number}")
        expected = part["A"].strip().casefold()
        if expected not in ("yes", "no"):
            raise InputError("neither Yes nor No", file=file.path, place=f"{place}.A{number}", value=part["A"])
        own = {} if number == len(items) + 1 else {"number": number}
        items.append(ChecklistItem(question=part["Q"], expected=expected == "yes", extra=own))
    return Checklist(items=tuple(items), extra=extra)


def _read_scores(
    file: SourceJson, place: str, unit: tuple[str, str, str], turn_index: int, row: layout.RoundResult
) -> Iterator[JudgedScore]:
    """The scores of a round: the mean, and one for each run of the judge."""

    def score(criterion: str, value: float | None, extra: dict[str, Json], at: str) -> JudgedScore:
        with record_errors(file.path, at):
            return JudgedScore(
                unit="turn",
                unit_id=unit[2],
                turn_index=turn_index,
                model=unit[0],
                judge=unit[1],
                criterion=criterion,
                value=value,
                state=ScoreState.SCORED if value is not None else ScoreState.UNSCORED,
                reason=None if value is not None else "the judge gave no accuracy",
                extra=extra,
            )

    named = {} if row.CHECKLISTS_EVAL is None else {"CHECKLISTS_EVAL": row.CHECKLISTS_EVAL}
    yield score(layout.CRITERION, row.ACC, {**named, **row.unknown}, place)
    runs: list[str] = []
    for index, run in enumerate(row.ALL_RUNS):
        at = f"{place}.ALL_RUNS[{index}]"
        name = str(run.run_id)
        if name in runs:
            raise InputError("this run appears twice", file=file.path, place=f"{at}.run_id", value=run.run_id)
        runs.append(name)
        extra: dict[str, Json] = {"run_id": run.run_id} if not isinstance(run.run_id, str) else {}
        if run.results is not None:
            extra["results"] = run.results
        yield score(f"{layout.RUN}{name}", run.acc, {**extra, **run.unknown}, at)


LOOKED_FOR: Final = (
    "expected mtqa/<task>.json, checklist/<task>_CheckList.json, model_answers/<model>/<task>.json or "
    "eval_results/<model>_eval_<judge>/<task>.json, tasks being object_reference, memory_recall, summary, "
    "answer_refusal, topic_shifting, proactive_interaction"
)
UNNAMED_JUDGE: Final = "unnamed"


@dataclass
class MTVideoReader:
    """Reads all files of MT-Video-Bench at `source`."""

    source: Path
    content: Content = field(default_factory=Content)
    videos: dict[str, Video] = field(default_factory=dict)
    dialogues: dict[str, Dialogue] = field(default_factory=dict)
    rounds: dict[str, dict[int, int]] = field(default_factory=dict)
    """Index of a turn by the number of its round, for each dialogue."""
    checklists: dict[str, dict[int, Checklist]] = field(default_factory=lambda: defaultdict(dict))
    answers: dict[tuple[str, str], list[Answer]] = field(default_factory=dict)
    scores: dict[tuple[str, str, str], list[JudgedScore]] = field(default_factory=dict)
    files: dict[str, SourceFile] = field(default_factory=dict)
    listed: dict[tuple[str, ...], str] = field(default_factory=dict)
    """The file of a dialogue's checklists, of a model's answers to it, and of a judge's results about it."""
    version: str = "v2"
    elsewhere: str = "import the folder that holds mtqa/ as well"
    """Advice for a dialogue that is not known."""

    def read(self) -> Content:
        """Read everything.

        Raises:
            InputError: A file is damaged, or there are no files of MT-Video-Bench.
        """
        files = self._collect()
        if not files:
            raise InputError("nothing of MT-Video-Bench here", file=self.source, hint=LOOKED_FOR)
        self._read_kinds(files, "mtqa", "checklist", "answers", "results", "summary")
        self._assemble()
        documents = MTVideoDocuments(self.content)
        for file in files:
            record = self.files[file.name]
            record = record.model_copy(update={"extra": {"version": self.version, **record.extra}})
            self.content.source_files.append(keep_form(record, file.value, documents.plain(record)))
        return self.content

    def _read_kinds(self, files: list[SourceJson], *kinds: str) -> None:
        for kind in kinds:
            read: dict[tuple[str, ...], list[SourceJson]] = defaultdict(list)
            for file in files:
                if file.kind == kind:
                    subject = (
                        file.path.name,
                        *(layout.unknown_folders(file.name) if kind in ("answers", "results") else ()),
                    )
                    known = next((other for other in read[subject] if other.value == file.value), None)
                    if known is None:
                        getattr(self, f"_read_{kind}")(file)
                        read[subject].append(file)
                    else:
                        # The same file in two folders is read once.
                        self.files[file.name] = self.files[known.name].model_copy(update={"path": file.name})

    def _assemble(self) -> None:
        content = self.content
        content.videos = list(self.videos.values())
        for dialogue in self.dialogues.values():
            lists = self.checklists.get(dialogue.id, {})
            turns = tuple(
                turn.model_copy(update={"checklist": lists[index]}) if index in lists else turn
                for index, turn in enumerate(dialogue.turns)
            )
            content.dialogues.append(dialogue.model_copy(update={"turns": turns}))
        content.answers = [answer for rows in self.answers.values() for answer in rows]
        content.scores = [score for rows in self.scores.values() for score in rows]

    def _collect(self) -> list[SourceJson]:
        if not self.source.exists():
            raise InputError("no such file or folder", file=self.source, hint="check the path")
        single = self.source.is_file()
        root = self.source.absolute().parent if single else self.source.absolute()
        if root.name.casefold() in layout.FOLDERS:
            root = root.parent
        files: list[SourceJson] = []
        strange: list[InputError] = []
        for path in [self.source] if single else visible_files(self.source):
            name = path.absolute().relative_to(root).as_posix()
            if path.suffix.lower() != ".json":
                self.content.warnings.append(f"{name}: not part of MT-Video-Bench's layout; left out")
                continue
            value = read_json(path)
            kind = layout.kind_of_mtqa_file(value, name)
            if kind is None:
                problem = "not a file of MT-Video-Bench"
                strange.append(InputError(problem, file=path, place="$", value=value, hint=LOOKED_FOR))
                self.content.warnings.append(f"{name}: {problem}; left out")
                continue
            files.append(SourceJson(name, path, kind, value))
        if strange and not files:
            raise strange[0]
        return files

    def _add_file(self, file: SourceJson, records: Iterable[str], **extra: Json) -> None:
        kept = {key: value for key, value in extra.items() if value not in (None, "", {}, [])}
        with record_errors(file.path, "file name"):
            self.files[file.name] = SourceFile(
                format=FORMAT, path=file.name, kind=file.kind, records=tuple(records), extra=kept
            )

    # ── dialogues ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _read_mtqa(self, file: SourceJson) -> None:
        ids: list[str] = []
        shapes: list[EntryShape] = []
        answer_keys: list[str] = []
        round_keys: list[str] = []
        event_keys: list[str] = []
        for video, value in parse(layout.Videos, file.value, file=file.path).items():
            _name(video, file, f"$.{video}")
            self.videos.setdefault(video, Video(id=VideoId(video), file=f"{video.removesuffix('.mp4')}.mp4"))
            for entry in _read_entries(value, file, f"$.{video}"):
                dialogue_id = _name(f"{file.task}/{video}/{event_of(entry.event)}", file, entry.place)
                answer_keys += [
                    layout.reference_key(row)
                    for key, row in entry.rounds.items()
                    if round_of(key) is not None and isinstance(row, dict)
                ]
                round_keys += [key for key in entry.rounds if round_of(key) is not None]
                event_keys += [entry.event] if entry.shape.keyed and isinstance(entry.event, str) else []
                turns = self._turns(file, entry, dialogue_id)
                spelling = (
                    {} if entry.shape.keyed or entry.event == event_of(entry.event) else {"event_index": entry.event}
                )
                with record_errors(file.path, entry.place):
                    dialogue = Dialogue(
                        id=DialogueId(dialogue_id),
                        video_id=VideoId(video),
                        task=file.task,
                        turns=turns,
                        extra={**spelling, **entry.unknown},
                    )
                if self.dialogues.setdefault(dialogue_id, dialogue) != dialogue:
                    raise InputError(
                        f"dialogue '{dialogue_id}' appears twice, with other content",
                        file=file.path,
                        place=entry.place,
                        value=entry.event,
                        hint="1, '1' and 'event_1' are one event; import versions separately",
                    )
                self.rounds[dialogue_id] = {round_number(turn, index): index for index, turn in enumerate(turns)}
                ids.append(dialogue_id)
                shapes.append(entry.shape)
        usual = shapes[0] if shapes else EntryShape()
        answer_key = answer_keys[0] if answer_keys else "Assistant"
        if any(shape != EntryShape() for shape in shapes) or any(key != "Assistant" for key in answer_keys):
            self.version = "v1"
        own = [self.dialogues[dialogue_id] for dialogue_id in ids]
        self._add_file(
            file,
            ids,
            task=file.task,
            **{FILE_FIELDS: fields_like_ours(one.extra for row in own for one in (row, *row.turns))},
            shape=shape_as_extra(usual),
            shapes={
                dialogue_id: shape_as_extra(shape)
                for dialogue_id, shape in zip(ids, shapes, strict=True)
                if shape != usual
            },
            empty_videos=[video for video, value in file.value.items() if not value],
            answer_key=None if answer_key == "Assistant" else answer_key,
            round_prefix=None if not round_keys else _unless(layout.round_prefix(round_keys[0]), "Round "),
            event_prefix=_event_prefix(event_keys),
        )

    def _turns(self, file: SourceJson, entry: _Entry, dialogue_id: str) -> tuple[Turn, ...]:
        numbered: dict[int, Turn] = {}
        for key, value in entry.rounds.items():
            number, place = round_of(key), f"{entry.rounds_place}.{key}"
            if number is None:
                continue
            if number in numbered:
                raise InputError(f"round {number} appears twice", file=file.path, place=place, value=key)
            fields = parse(dict[str, Any], value, file=file.path, place=place)
            alias = layout.reference_key(fields)
            renamed = {"Assistant" if name == alias else name: member for name, member in fields.items()}
            row = parse(layout.DialogueRound, renamed, file=file.path, place=place)
            with record_errors(file.path, place):
                numbered[number] = Turn(
                    question=row.User,
                    references=(row.Assistant,),
                    labels=layout.labels_of_ability(row.Ability),
                    extra=row.unknown,
                )
        if list(range(1, len(numbered) + 1)) != sorted(numbered):
            shown = ", ".join(map(str, sorted(numbered)))
            self.content.warnings.append(f"{file.name}: dialogue {dialogue_id} is known in part: rounds {shown}")
        return tuple(
            turn.model_copy(update={"position": None if number == index + 1 else number - 1})
            for index, (number, turn) in enumerate(sorted(numbered.items()))
        )

    def _dialogue(self, file: SourceJson, video: str, event: str) -> Dialogue:
        dialogue = self.dialogues.get(f"{file.task}/{video}/{event_of(event)}")
        if dialogue is None:
            raise InputError(
                f"no mtqa file has task '{file.task}', video '{video}', event '{event}'",
                file=file.path,
                place=f"$.{video}.{event}",
                hint=self.elsewhere,
            )
        return dialogue

    def _once(self, file: SourceJson, place: str, what: str, *key: str) -> None:
        other = self.listed.setdefault((file.kind, *key), file.name)
        if other != file.name or (file.name, *key) in self.listed:
            raise InputError(f"{what} appear twice, here and in {other}", file=file.path, place=place, value=key[-1])
        self.listed[file.name, *key] = file.name

    def _turn_index(self, file: SourceJson, place: str, dialogue: Dialogue, number: int) -> int:
        index = self.rounds[dialogue.id].get(number)
        if index is None:
            raise InputError(f"dialogue '{dialogue.id}' has no round {number}", file=file.path, place=place)
        return index

    # ── checklists ────────────────────────────────────────────────────────────────────────────────────────────────

    def _read_checklist(self, file: SourceJson) -> None:
        ids: list[str] = []
        keys: list[str] = []
        order: dict[str, Json] = {}
        extras: list[dict[str, Json]] = []
        for video, events in parse(layout.Checklists, file.value, file=file.path).items():
            for event, rows in events.items():
                dialogue = self._dialogue(file, video, event)
                self._once(file, f"$.{video}.{event}", "checklists", dialogue.id)
                found: list[int] = []
                for index, row in enumerate(rows):
                    place = f"$.{video}.{event}[{index}]"
                    number = _read_round_index(row, file, place)
                    turn_index = self._turn_index(file, f"{place}.round index", dialogue, number)
                    if number in found:
                        raise InputError(f"round {number} has two checklists", file=file.path, place=place)
                    found.append(number)
                    checklist = self.checklists[dialogue.id][turn_index] = _read_checklist(row, file, place)
                    extras.append(checklist.extra)
                if found != sorted(found):
                    order[dialogue.id] = [*found]
                ids.append(dialogue.id)
                keys.append(event)
        own = {ORDER: order, FILE_FIELDS: fields_like_ours(extras)}
        self._add_file(file, ids, task=file.task, event_prefix=_event_prefix(keys), **own)

    # ── answers and results ───────────────────────────────────────────────────────────────────────────────────────

    def _read_answers(self, file: SourceJson) -> None:
        names = layout.unknown_folders(file.name)
        if not names:
            raise InputError(
                "no folder names the model", file=file.path, hint="put the file in model_answers/<model>/<task>.json"
            )
        model = "/".join(names)
        ids: list[str] = []
        keys: list[str] = []
        for video, events in parse(layout.Answers, file.value, file=file.path).items():
            for event, texts in events.items():
                dialogue = self._dialogue(file, video, event)
                self._once(file, f"$.{video}.{event}", f"answers of model '{model}'", model, dialogue.id)
                rows = self.answers.setdefault((model, dialogue.id), [])
                for position, text in enumerate(texts):
                    place = f"$.{video}.{event}[{position}]"
                    state = layout.state_of(text)
                    if state is AnswerState.NOT_ASKED and position + 1 not in self.rounds[dialogue.id]:
                        continue
                    turn_index = self._turn_index(file, place, dialogue, position + 1)
                    with record_errors(file.path, place):
                        rows.append(
                            Answer(model=model, unit_id=dialogue.id, turn_index=turn_index, text=text, state=state)
                        )
                ids.append(dialogue.id)
                keys.append(event)
        self._add_file(file, ids, task=file.task, model=model, event_prefix=_event_prefix(keys))

    def _read_results(self, file: SourceJson) -> None:
        model, judge = self._model_and_judge(file)
        ids: list[str] = []
        keys: list[str] = []
        for video, events in parse(layout.Results, file.value, file=file.path).items():
            for event, rounds in events.items():
                dialogue = self._dialogue(file, video, event)
                self._once(file, f"$.{video}.{event}", f"results of judge '{judge}'", model, judge, dialogue.id)
                numbers: list[int] = []
                for key, value in rounds.items():
                    place = f"$.{video}.{event}.{key}"
                    number = round_of(key)
                    if number is None or number in numbers:
                        raise InputError("not the key of another round", file=file.path, place=place, value=key)
                    numbers.append(number)
                    row = parse(layout.RoundResult, value, file=file.path, place=place)
                    turn_index = self._turn_index(file, place, dialogue, number)
                    unit = (model, judge, dialogue.id)
                    self.scores.setdefault(unit, []).extend(_read_scores(file, place, unit, turn_index, row))
                ids.append(dialogue.id)
                keys.append(event)
        self._add_file(file, ids, task=file.task, model=model, judge=judge, event_prefix=_event_prefix(keys))

    def _model_and_judge(self, file: SourceJson) -> tuple[str, str]:
        names = layout.unknown_folders(file.name)
        if not names:
            raise InputError(
                "no folder names model and judge",
                file=file.path,
                hint="put the file in eval_results/<model>_eval_<judge>/<task>.json",
            )
        folder = "/".join(names)
        answering = {model for model, _ in self.answers}
        for model in sorted(answering, key=len, reverse=True):
            if folder.startswith(f"{model}_eval_") and len(folder) > len(model) + len("_eval_"):
                return model, folder[len(model) + len("_eval_") :]
        model, mark, judge = folder.rpartition("_eval_")
        if mark and model and judge:
            return model, judge
        warning = f"{folder}: the folder names no judge as <model>_eval_<judge>; recorded as '{UNNAMED_JUDGE}'"
        if warning not in self.content.warnings:
            self.content.warnings.append(warning)
        return folder, UNNAMED_JUDGE

    def _read_summary(self, file: SourceJson) -> None:
        rows = file.value if isinstance(file.value, list) else [file.value]
        for index, row in enumerate(rows):
            place = f"$[{index}]" if isinstance(file.value, list) else "$"
            parse(layout.TaskMean, row, file=file.path, place=place)
        # A mean over rounds has no record. It is computed again from the rounds.
        self._add_file(file, (), summary=file.value)


def _name(text: str, file: SourceJson, place: str) -> str:
    return parse(Name, text, file=file.path, place=place)


def _unless(value: str, usual: str) -> str | None:
    return None if value == usual else value


def _event_prefix(keys: list[str]) -> str | None:
    return "event_" if keys and layout.is_event_key(keys[0]) else None

"""Read MT-Video-Bench's files, of both versions, into typed records.

This reads dialogues in every nesting, with checklists, answers and scores of rounds.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from reeltalk.errors import InputError
from reeltalk.formats import mt_video_bench_layout as layout
from reeltalk.formats.export_losses import FILE_FIELDS, fields_like_ours
from reeltalk.formats.mt_video_bench_layout import MTVideoDocuments, event_of, round_number, round_of
from reeltalk.formats.release import UNNAMED, ReleaseFile, ReleaseReader
from reeltalk.schema.answers import Answer, AnswerState
from reeltalk.schema.dialogue import Checklist, ChecklistItem, Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import DialogueId, Json, Name, VideoId
from reeltalk.schema.scoring import JudgedScore, ScoreState

MISSING = "a required field is missing"


@dataclass
class _Entry:
    """One dialogue of an `mtqa` file, however it is nested."""

    event: str | int
    rounds: dict[str, Any]
    unknown: dict[str, Json]
    shape: dict[str, bool]
    """How it differs from version 2: `by_name`, a video's entries are members of an object; `keyed`, an entry is named
    by its key, not by its `event_index`; `direct`, the rounds are in the entry itself, not under `mtqa`."""
    place: str
    rounds_place: str


class MTVideoReader(ReleaseReader):
    """Reads all files of MT-Video-Bench at `source`."""

    format = layout.FORMAT
    title = "MT-Video-Bench"
    expected = (
        "expected mtqa/<task>.json, checklist/<task>_CheckList.json, model_answers/<model>/<task>.json or "
        "eval_results/<model>_eval_<judge>/<task>.json, tasks being object_reference, memory_recall, summary, "
        "answer_refusal, topic_shifting, proactive_interaction"
    )
    named_kinds: ClassVar = ("answers", "results")
    elsewhere = "import the folder that holds mtqa/ as well"
    """Advice for a dialogue that is not known."""

    def __init__(self, source: Path) -> None:
        super().__init__(source)
        self.rounds: dict[str, dict[int, int]] = {}
        """Index of a turn by the number of its round, for each dialogue."""
        self.checklists: dict[str, dict[int, Checklist]] = defaultdict(dict)
        self.answers: dict[tuple[str, str], list[Answer]] = {}
        self.scores: dict[tuple[str, str, str], list[JudgedScore]] = defaultdict(list)
        self.version = "v2"
        self.kinds = {
            "mtqa": self._read_mtqa,
            "checklist": self._read_checklist,
            "answers": self._read_answers,
            "results": self._read_results,
            "summary": self._read_summary,
        }

    def is_layout_folder(self, name: str) -> bool:
        """True for a folder that the layout names."""
        return name.casefold() in layout.FOLDERS

    def names(self, path: str) -> Sequence[str]:
        """The folders of a model, or of a model and its judge."""
        return layout.unknown_folders(path)

    def kind_of(self, value: Json, name: str) -> str | None:
        """The kind of a JSON file."""
        return layout.kind_of_mtqa_file(value, name)

    def subject(self, file: ReleaseFile) -> tuple[object, ...]:
        """What a file is about."""
        return file.path.name, *(self.names(file.name) if file.kind in self.named_kinds else ())

    def plain(self) -> Callable[[SourceFile], Json]:
        """Makes the document of a file in our form."""
        for name, file in self.files.items():
            self.files[name] = file.model_copy(update={"extra": {"version": self.version, **file.extra}})
        return MTVideoDocuments(self.content).plain

    def assemble(self) -> None:
        """Put what was read into the tables."""
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

    # ── dialogues ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _read_mtqa(self, file: ReleaseFile) -> None:
        task = layout.task_of_stem(file.path.stem)
        shapes: dict[str, dict[str, bool]] = {}
        answer_keys: list[str] = []
        round_keys: list[str] = []
        event_keys: list[str] = []
        for video, value in file.parse(layout.Videos, file.value).items():
            file.parse(Name, video, f"$.{video}")
            self.videos.setdefault(video, Video(id=VideoId(video), file=f"{video.removesuffix('.mp4')}.mp4"))
            for entry in _entries(file, f"$.{video}", value):
                name = file.parse(Name, f"{task}/{video}/{event_of(entry.event)}", entry.place)
                rounds = {key: row for key, row in entry.rounds.items() if round_of(key) is not None}
                answer_keys += [layout.reference_key(row) for row in rounds.values() if isinstance(row, dict)]
                round_keys += rounds
                keyed = "keyed" in entry.shape
                event_keys += [entry.event] if keyed and isinstance(entry.event, str) else []
                turns = self._turns(file, entry, name)
                spelling = {} if keyed or entry.event == event_of(entry.event) else {"event_index": entry.event}
                with file.making(entry.place):
                    dialogue = Dialogue(
                        id=DialogueId(name),
                        video_id=VideoId(video),
                        task=task,
                        turns=turns,
                        extra={**spelling, **entry.unknown},
                    )
                if self.dialogues.setdefault(name, dialogue) != dialogue:
                    hint = "1, '1' and 'event_1' are one event; import versions separately"
                    problem = f"dialogue '{name}' appears twice, with other content"
                    raise file.error(problem, entry.place, entry.event, hint)
                self.rounds[name] = {round_number(turn, index): index for index, turn in enumerate(turns)}
                shapes[name] = entry.shape
        usual = next(iter(shapes.values()), {})
        answer_key = answer_keys[0] if answer_keys else "Assistant"
        prefix = layout.round_prefix(round_keys[0]) if round_keys else "Round "
        if any(shapes.values()) or any(key != "Assistant" for key in answer_keys):
            self.version = "v1"
        extras = [one.extra for name in shapes for row in [self.dialogues[name]] for one in (row, *row.turns)]
        own: dict[str, Json] = {FILE_FIELDS: fields_like_ours(extras)}
        self.add_file(
            file,
            shapes,
            task=task,
            **own,
            shape=usual,
            shapes={name: shape for name, shape in shapes.items() if shape != usual},
            empty_videos=[video for video, value in file.value.items() if not value],
            answer_key=None if answer_key == "Assistant" else answer_key,
            round_prefix=None if prefix == "Round " else prefix,
            event_prefix=_event_prefix(event_keys),
        )

    def _turns(self, file: ReleaseFile, entry: _Entry, dialogue_id: str) -> tuple[Turn, ...]:
        numbered: dict[int, Turn] = {}
        for key, value in entry.rounds.items():
            number, place = round_of(key), f"{entry.rounds_place}.{key}"
            if number is None:
                continue
            if number in numbered:
                raise file.error(f"round {number} appears twice", place, key)
            fields = file.parse(dict[str, Any], value, place)
            alias = layout.reference_key(fields)
            renamed = {"Assistant" if name == alias else name: member for name, member in fields.items()}
            row = file.parse(layout.DialogueRound, renamed, place)
            with file.making(place):
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

    def _events(
        self, file: ReleaseFile, kind: type[dict[str, dict[str, Any]]], what: str, *key: str
    ) -> Iterator[tuple[str, Dialogue, Any]]:
        """Place, dialogue and value of each event of a file, which has no other file about the same."""
        task = layout.task_of_stem(file.path.stem)
        for video, events in file.parse(kind, file.value).items():
            for event, value in events.items():
                place = f"$.{video}.{event}"
                dialogue = self.dialogues.get(f"{task}/{video}/{event_of(event)}")
                if dialogue is None:
                    problem = f"no mtqa file has task '{task}', video '{video}', event '{event}'"
                    raise file.error(problem, place, hint=self.elsewhere)
                subject = (*key, dialogue.id)
                other = self.seen.setdefault((file.kind, *subject), file.name)
                if other != file.name or (file.name, *subject) in self.seen:
                    raise file.error(f"{what} appear twice, here and in {other}", place, dialogue.id)
                self.seen[file.name, *subject] = file.name
                yield place, dialogue, value

    def _add_events(self, file: ReleaseFile, found: dict[str, str], **extra: Json) -> None:
        """Note a file with its dialogues, each with the place of its event."""
        events = [place.rpartition(".")[2] for place in found.values()]
        task = layout.task_of_stem(file.path.stem)
        self.add_file(file, found, task=task, **extra, event_prefix=_event_prefix(events))

    def _turn_index(self, file: ReleaseFile, place: str, dialogue: Dialogue, number: int) -> int:
        index = self.rounds[dialogue.id].get(number)
        if index is None:
            raise file.error(f"dialogue '{dialogue.id}' has no round {number}", place)
        return index

    # ── checklists ────────────────────────────────────────────────────────────────────────────────────────────────

    def _read_checklist(self, file: ReleaseFile) -> None:
        found: dict[str, str] = {}
        order: dict[str, Json] = {}
        extras: list[dict[str, Json]] = []
        for event, dialogue, rows in self._events(file, layout.Checklists, "checklists"):
            numbers: list[int] = []
            for index, row in enumerate(rows):
                place = f"{event}[{index}]"
                number = _round_index(file, f"{place}.round index", row)
                turn_index = self._turn_index(file, f"{place}.round index", dialogue, number)
                if number in numbers:
                    raise file.error(f"round {number} has two checklists", place)
                numbers.append(number)
                checklist = self.checklists[dialogue.id][turn_index] = _checklist(file, place, row)
                extras.append(checklist.extra)
            if numbers != sorted(numbers):
                order[dialogue.id] = [*numbers]
            found[dialogue.id] = event
        self._add_events(file, found, **{layout.ORDER_KEY: order, FILE_FIELDS: fields_like_ours(extras)})

    # ── answers and results ───────────────────────────────────────────────────────────────────────────────────────

    def _read_answers(self, file: ReleaseFile) -> None:
        model = self._folder(file, "the model", "model_answers/<model>")
        found: dict[str, str] = {}
        for event, dialogue, texts in self._events(file, layout.Answers, f"answers of model '{model}'", model):
            rows = self.answers.setdefault((model, dialogue.id), [])
            for position, text in enumerate(texts):
                place = f"{event}[{position}]"
                state = layout.state_of(text)
                if state is AnswerState.NOT_ASKED and position + 1 not in self.rounds[dialogue.id]:
                    continue
                turn_index = self._turn_index(file, place, dialogue, position + 1)
                with file.making(place):
                    rows.append(Answer(model=model, unit_id=dialogue.id, turn_index=turn_index, text=text, state=state))
            found[dialogue.id] = event
        self._add_events(file, found, model=model)

    def _read_results(self, file: ReleaseFile) -> None:
        model, judge = self._model_and_judge(file)
        found: dict[str, str] = {}
        what = f"results of judge '{judge}'"
        for event, dialogue, rounds in self._events(file, layout.Results, what, model, judge):
            numbers: list[int] = []
            for key, value in rounds.items():
                place, number = f"{event}.{key}", round_of(key)
                if number is None or number in numbers:
                    raise file.error("not the key of another round", place, key)
                numbers.append(number)
                row = file.parse(layout.RoundResult, value, place)
                turn_index = self._turn_index(file, place, dialogue, number)
                unit = (model, judge, dialogue.id)
                self.scores[unit] += _scores(file, place, unit, turn_index, row)
            found[dialogue.id] = event
        self._add_events(file, found, model=model, judge=judge)

    def _folder(self, file: ReleaseFile, what: str, where: str) -> str:
        names = self.names(file.name)
        if not names:
            problem = f"no folder names {what}"
            raise InputError(problem, file=file.path, hint=f"put the file in {where}/<task>.json")
        return "/".join(names)

    def _model_and_judge(self, file: ReleaseFile) -> tuple[str, str]:
        folder = self._folder(file, "model and judge", "eval_results/<model>_eval_<judge>")
        for model in sorted({model for model, _ in self.answers}, key=len, reverse=True):
            judge = folder.removeprefix(f"{model}_eval_")
            if judge not in ("", folder):
                return model, judge
        model, mark, judge = folder.rpartition("_eval_")
        if mark and model and judge:
            return model, judge
        warning = f"{folder}: the folder names no judge as <model>_eval_<judge>; recorded as '{UNNAMED}'"
        if warning not in self.content.warnings:
            self.content.warnings.append(warning)
        return folder, UNNAMED

    def _read_summary(self, file: ReleaseFile) -> None:
        file.parse(list[layout.TaskMean] if isinstance(file.value, list) else layout.TaskMean, file.value)
        # A mean over rounds has no record. It is computed again from the rounds.
        self.add_file(file, (), summary=file.value)


def _entries(file: ReleaseFile, place: str, value: Json) -> Iterator[_Entry]:
    """Dialogues of a video in an `mtqa` file."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield _entry(file, f"{place}.{key}", key, member, {"by_name": True, "keyed": True})
        return
    for index, item in enumerate(file.parse(list[dict[str, Any]], value, place)):
        at, names = f"{place}[{index}]", [key for key in item if layout.is_event_key(key)]
        if "event_index" in item:
            event: str | int = file.parse(layout.EventIndex, item["event_index"], f"{at}.event_index")  # type: ignore[arg-type]
            yield _entry(file, at, event, item, {})
        elif len(item) == 1 and names:
            yield _entry(file, f"{at}.{names[0]}", names[0], item[names[0]], {"keyed": True})
        else:
            raise file.error(MISSING, f"{at}.event_index")


def _entry(file: ReleaseFile, place: str, event: str | int, value: Json, shape: dict[str, bool]) -> _Entry:
    fields = file.parse(dict[str, Any], value, place)
    unknown = {key: member for key, member in fields.items() if "keyed" in shape or key != "event_index"}
    if "mtqa" in fields:
        rounds = file.parse(dict[str, Any], unknown.pop("mtqa"), f"{place}.mtqa")
        return _Entry(event, rounds, unknown, shape, place, f"{place}.mtqa")
    rounds = {key: member for key, member in fields.items() if round_of(key) is not None}
    if not rounds:
        raise file.error("neither mtqa nor rounds", place, sorted(fields))
    unknown = {key: member for key, member in unknown.items() if key not in rounds}
    return _Entry(event, rounds, unknown, {**shape, "direct": True}, place, place)


def _event_prefix(keys: list[str]) -> str | None:
    return "event_" if keys and layout.is_event_key(keys[0]) else None


def _round_index(file: ReleaseFile, place: str, row: dict[str, Any]) -> int:
    """The number of a round, from 1."""
    if "round index" not in row:
        raise file.error(MISSING, place)
    value = row["round index"]
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 5:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 10_000:
        raise file.error("not the number of a round", place, value)
    return value


def _checklist(file: ReleaseFile, place: str, row: dict[str, Any]) -> Checklist:
    parts: dict[int, dict[str, str]] = defaultdict(dict)
    extra: dict[str, Json] = {}
    for key, value in row.items():
        match = layout.CHECKLIST_KEY.fullmatch(key)
        if match is None:
            extra |= {} if key == "round index" else {key: value}
            continue
        if not isinstance(value, str):
            raise file.error("not a text", f"{place}.{key}", value)
        parts[int(match[2])][match[1]] = value
    items: list[ChecklistItem] = []
    for number, part in sorted(parts.items()):
        for letter in "QA":
            if letter not in part:
                raise file.error(MISSING, f"{place}.{letter}{number}")
        expected = part["A"].strip().casefold()
        if expected not in ("yes", "no"):
            raise file.error("neither Yes nor No", f"{place}.A{number}", part["A"])
        own = {} if number == len(items) + 1 else {"number": number}
        items.append(ChecklistItem(question=part["Q"], expected=expected == "yes", extra=own))
    return Checklist(items=tuple(items), extra=extra)


def _scores(
    file: ReleaseFile, place: str, unit: tuple[str, str, str], turn_index: int, row: layout.RoundResult
) -> Iterator[JudgedScore]:
    """The scores of a round: the mean, and one for each run of the judge."""

    def score(criterion: str, value: float | None, extra: dict[str, Json], at: str) -> JudgedScore:
        with file.making(at):
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
        at, name = f"{place}.ALL_RUNS[{index}]", str(run.run_id)
        if name in runs:
            raise file.error("this run appears twice", f"{at}.run_id", run.run_id)
        runs.append(name)
        extra: dict[str, Json] = {"run_id": run.run_id} if not isinstance(run.run_id, str) else {}
        if run.results is not None:
            extra["results"] = run.results
        yield score(f"{layout.RUN_PREFIX}{name}", run.acc, {**extra, **run.unknown}, at)

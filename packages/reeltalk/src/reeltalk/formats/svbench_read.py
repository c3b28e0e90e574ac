"""Read SVBench's files in the order of their dependencies: the release, answers, judgements."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal, TypeVar

from reeltalk.errors import InputError
from reeltalk.formats import svbench_layout as layout
from reeltalk.formats.export_losses import FILE_FIELDS, fields_like_ours
from reeltalk.formats.layout import keep_form
from reeltalk.formats.svbench_layout import (
    ABSENT,
    END,
    FORMAT,
    LANGUAGE,
    START,
    FolderFacts,
    SVBenchDocuments,
    first_reference,
    relation_of,
    seconds_of,
)
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.outcomes import Rejected, SourceFile
from reeltalk.schema.record import ChainId, ClipId, DialogueId, Json, Name, PathId, VideoId
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.content import Content
from reeltalk.store.documents import SourceModel, parse, read_json, record_errors
from reeltalk.store.foreign import visible_files

Entry = TypeVar("Entry")

Times = tuple[str | float | None, str | float | None]
Unit = Literal["chain", "path", "dialogue"]


@dataclass
class File:
    """One opened file, and the facts from its name and folders."""

    name: str
    """Relative to the imported folder."""
    path: Path
    kind: str
    value: Json
    """The document; of a CSV file its rows."""
    columns: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    @property
    def place(self) -> FolderFacts:
        """Facts from the names of its folders."""
        return FolderFacts.of(self.name)

    @property
    def language(self) -> str:
        """Two letters; English if no folder names a language."""
        return self.place.language or layout.DEFAULT_LANGUAGE

    @property
    def video(self) -> str:
        """The video of a file of the release: the file's name."""
        return self.path.stem

    @property
    def subject(self) -> tuple[object, ...]:
        """What the file is about. Two files with one subject and value are the same."""
        model = self.place.names if self.kind.startswith(("answers", "judged")) else ()
        video = "" if self.kind.startswith(("meta", "scenes", "judged")) else self.video
        return self.kind, video, self.place.language, self.place.unit, model, tuple(self.columns)


@dataclass
class _Records:
    """The records so far, and methods to add more, for files of every kind."""

    source: Path
    content: Content = field(default_factory=Content)
    videos: dict[str, Video] = field(default_factory=dict)
    clips: dict[str, Clip] = field(default_factory=dict)
    clip_of: dict[tuple[str, float, float], ClipId] = field(default_factory=dict)
    """The clip of a video by its times. The languages of a video share clips, whatever their spelling of the times."""
    clip_counts: Counter[str] = field(default_factory=Counter)
    chains: dict[tuple[str, str], dict[int, QAChain]] = field(default_factory=lambda: defaultdict(dict))
    """By video and language, then by place in the file."""
    derived: set[tuple[str, str]] = field(default_factory=set)
    """Videos and languages whose chains are known from answers or links only."""
    files: dict[str, SourceFile] = field(default_factory=dict)
    paths: dict[tuple[str, str], list[DialoguePath]] = field(default_factory=dict)
    dialogues: dict[str, Dialogue] = field(default_factory=dict)
    answers: dict[tuple[str, str, str], dict[int, Answer]] = field(default_factory=dict)
    linked: dict[str, str] = field(default_factory=dict)
    """Dialogue of linked questions by its content."""
    linked_counts: Counter[str] = field(default_factory=Counter)
    scores: dict[tuple[str | int | None, ...], JudgedScore] = field(default_factory=dict)
    judged: dict[tuple[str, str], SourceModel] = field(default_factory=dict)
    """The record of a unit by the name of its file."""
    seen: dict[tuple[str, ...], str] = field(default_factory=dict)
    """The file of the chains, links, paths … of a video in a language."""

    def add_file(self, file: File, records: Iterable[str], **extra: Json) -> None:
        """Record a file with its identifiers, in order; empty values of `extra` are left out."""
        kept = {key: value for key, value in extra.items() if value not in (None, [])}
        with record_errors(file.path, "file name"):
            self.files[file.name] = SourceFile(
                format=FORMAT, path=file.name, kind=file.kind, records=tuple(records), extra=kept
            )

    def once(self, file: File, *what: str) -> None:
        """Raise for a second file of the same kind about the same subject."""
        other = self.seen.setdefault((file.kind, *what), file.name)
        if other != file.name:
            raise InputError(
                f"{' '.join(what)}: {other} has this too", file=file.path, place="$", hint="remove one of the two files"
            )

    def video(self, video_id: str, file: File, place: str) -> VideoId:
        """The video with this name, created if it is new."""
        if video_id not in self.videos:
            _check_name(video_id, file, place)
            self.videos[video_id] = Video(id=VideoId(video_id))
        return VideoId(video_id)

    def clip(self, video_id: str, times: Times, file: File, place: str, line: int | None = None) -> ClipId | None:
        """The clip between two times, created if it is new; None if the times are unknown."""
        start, end = times
        if start is None or end is None:
            if start is not end:
                raise InputError("one of the two times is null", file=file.path, place=place, hint="set both or none")
            return None
        key = (video_id, seconds_of(start), seconds_of(end))
        if key not in self.clip_of:
            spelling = {name: time for name, time in ((START, start), (END, end)) if not isinstance(time, float)}
            with record_errors(file.path, place, line=line):
                clip = Clip(
                    id=ClipId(f"{video_id}/{self.clip_counts[video_id]}"),
                    video_id=VideoId(video_id),
                    interval=Interval(start_s=seconds_of(start), end_s=seconds_of(end)),
                    extra=spelling,
                )
            self.clip_counts[video_id] += 1
            self.clips[clip.id] = clip
            self.clip_of[key] = clip.id
        return self.clip_of[key]

    def interval(self, chain: QAChain) -> Interval | None:
        """The interval of a chain, if it is known."""
        return self.clips[chain.clip_id].interval if chain.clip_id else None

    def new_chain(
        self,
        file: File,
        place: str,
        key: tuple[str, str],
        number: int,
        pairs: Iterable[tuple[str, str]],
        times: Times = (None, None),
        extra: dict[str, Json] | None = None,
    ) -> QAChain:
        """Make the chain at a place of a video in a language."""
        video_id, language = key
        self.video(video_id, file, "file name")
        clip_id = self.clip(video_id, times, file, place)
        asked_at_s = seconds_of(times[1]) if times[1] is not None else None
        with record_errors(file.path, place):
            chain = QAChain(
                id=ChainId(f"{video_id}/{language}/{number}"),
                video_id=VideoId(video_id),
                clip_id=clip_id,
                turns=tuple(_make_turn(question, answer, language, asked_at_s) for question, answer in pairs),
                extra=extra or {},
            )
        self.chains[key][number] = chain
        return chain

    def steps_back(self, earlier: QAChain, later: QAChain) -> bool:
        """True if `later` is before `earlier`: by time, or by place if the times are equal or unknown."""
        before, after = self.interval(earlier), self.interval(later)
        if before and after and before != after:
            return after.start_s < before.start_s
        return _chain_number(later) < _chain_number(earlier)


def _check_name(text: str, file: File, place: str, line: int | None = None) -> str:
    """The text, if it can be an identifier."""
    return parse(Name, text, file=file.path, place=place, line=line)


def _read_rows(file: File) -> list[Json]:
    """The entries of a file that is a list."""
    return parse(list[Any], file.value, file=file.path)


def _read_entries(file: File, kind: type[Entry], empty: list[int]) -> Iterator[tuple[int, str, Entry]]:
    """Index, JSON path and value of each entry of a file that is a list; the indices of `{}` go to `empty`.

    Raises:
        InputError: An entry does not fit.
    """
    for index, item in enumerate(_read_rows(file)):
        if item == {}:
            empty.append(index)
            continue
        place = f"$[{index}]"
        yield index, place, parse(kind, item, file=file.path, place=place)


def _chain_number(chain: QAChain) -> int:
    """A chain's place in its file."""
    return int(chain.id.rpartition("/")[2])


def _make_turn(question: str, answer: str, language: str, asked_at_s: float | None) -> Turn:
    """A turn of a language."""
    return Turn(question=question, references=(answer,), asked_at_s=asked_at_s, labels={LANGUAGE: (language,)})


def _refuse_unequal(lists: dict[str, Any], file: File, place: str) -> None:
    """Refuse parallel lists that differ in length."""
    lengths = {name: len(values) for name, values in lists.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"parallel lists differ in length: {counts}", file=file.path, place=place)


def _question_pairs(chain: QAChain) -> list[tuple[str, str]]:
    """A chain's questions and answers."""
    return [(turn.question, first_reference(turn.references)) for turn in chain.turns]


UNNAMED: Final = "unnamed"


class JudgedReader(_Records):
    """Reads each kind of file with answers or judgements."""

    def _read_answers(self, file: File) -> None:
        model, unit = self._model(file), file.place.unit
        key = self.key_of(file, file.video, "file name")
        self.once(file, model, unit, *key)
        ids: list[str] = []
        empty: list[int] = []
        for index, place, row in _read_entries(file, layout.AnsweredEntry, empty):
            lists = {"questions": row.questions, "gt_answers": row.gt_answers, "answers": row.answers}
            _refuse_unequal(lists, file, place)
            ids.append(self._answered(file, place, model, unit, key, index, row))
        self.add_file(file, ids, empty=empty, model=model, unit=unit, video=file.video, language=file.language)

    def key_of(self, file: File, video: str, place: str) -> tuple[str, str]:
        """The video and the language of the chains that a file names."""
        return video, file.language

    def _answered(
        self,
        file: File,
        place: str,
        model: str,
        unit: str,
        key: tuple[str, str],
        number: int,
        row: layout.AnsweredEntry | layout.JudgedChain,
    ) -> str:
        pairs = list(zip(row.questions, row.gt_answers, strict=True))
        if unit == "path":
            paths = self.paths.get(key, [])
            path = paths[number] if number < len(paths) else None
            if path is None:
                raise InputError(
                    f"video '{key[0]}' has no path {number} in language '{key[1]}', counted from 0",
                    file=file.path,
                    place=place,
                    hint="import the folder that holds Path, Dialogue and the answers",
                )
            chains = {chain.id: chain for chain in self.chains[key].values()}
            turns = tuple(
                step.turn or chains[ChainId(step.ref.unit_id)].turns[step.ref.turn_index] for step in path.steps
            )
            unit_id: str = path.id
        else:
            chain = self._chain_of_answers(file, place, key, number, pairs)
            turns, unit_id = chain.turns, chain.id
        if len(pairs) > len(turns):
            raise InputError(
                f"{len(pairs)} questions, but {unit} '{unit_id}' has {len(turns)}",
                file=file.path,
                place=f"{place}.questions",
            )
        self._add_answers(file, place, (model, unit, unit_id), turns, pairs, row.answers)
        return unit_id

    def _chain_of_answers(
        self, file: File, place: str, key: tuple[str, str], number: int, pairs: list[tuple[str, str]]
    ) -> QAChain:
        if not self.chains.get(key):
            self.derived.add(key)
        chain = self.chains[key].get(number)
        if key in self.derived and (chain is None or len(chain.turns) < len(pairs)):
            known = [] if chain is None else _question_pairs(chain)
            if chain is None:
                return self.new_chain(file, place, key, number, pairs)
            more = tuple(_make_turn(*pair, key[1], None) for pair in pairs[len(known) :])
            chain = chain.model_copy(update={"turns": (*chain.turns, *more)})
            self.chains[key][number] = chain
        if chain is None:
            raise InputError(
                f"video '{key[0]}' has no chain {number} in language '{key[1]}', counted from 0",
                file=file.path,
                place=place,
            )
        return chain

    def _add_answers(
        self,
        file: File,
        place: str,
        key: tuple[str, str, str],
        turns: tuple[Turn, ...],
        pairs: list[tuple[str, str]],
        texts: list[str],
    ) -> None:
        model, unit, unit_id = key
        rows = self.answers.setdefault(key, {})
        for index, ((question, reference), text) in enumerate(zip(pairs, texts, strict=True)):
            turn = turns[index]
            if index in rows:
                if rows[index].text != text:
                    self.content.warnings.append(
                        f"{file.name} at {place}: answer {index} differs from another file's of model '{model}'; "
                        "that one is kept as the answer"
                    )
                continue
            with record_errors(file.path, place):
                rows[index] = Answer(
                    model=model,
                    unit=unit,
                    unit_id=unit_id,
                    turn_index=index,
                    text=text,
                    asked_as=None if question == turn.question else question,
                    referred_to=None if reference == first_reference(turn.references) else (reference,),
                )

    def _model(self, file: File) -> str:
        if file.place.names:
            return file.place.names[-1]
        self.content.warnings.append(f"{file.name}: no folder names the model, recorded as '{UNNAMED}'")
        return UNNAMED

    def _judge(self, file: File) -> str:
        if len(file.place.names) > 1:
            return file.place.names[-2]
        self.content.warnings.append(
            f"{file.name}: no folder names the judge, recorded as '{UNNAMED}'; put it in Judged/<judge>/<model>/"
        )
        return UNNAMED

    def _read_judged_chain(self, file: File) -> None:
        model, judge, unit = self._model(file), self._judge(file), file.place.unit
        ids: list[str] = []
        empty: list[int] = []
        for _, place, row in _read_entries(file, layout.JudgedChain, empty):
            lists = {"questions": row.questions, "gt_answers": row.gt_answers, "answers": row.answers}
            _refuse_unequal(lists, file, place)
            at = f"{place}.video_name"
            key = self.key_of(file, self.video(layout.video_id_of(row.video_name), file, at), at)
            unit_id = self._answered(file, place, model, unit, key, int(row.scene_id), row)
            self._refuse_repeat(file, f"{place}.scene_id", unit_id, row)
            ids.append(unit_id)
            self._add_scores(file, place, (model, judge, unit, unit_id, None), row.scores, row.evaluation)
        self.add_file(file, ids, empty=empty, model=model, judge=judge, unit=unit, language=file.language)

    def _refuse_repeat(self, file: File, place: str, unit_id: str, row: SourceModel) -> None:
        if self.judged.setdefault((file.name, unit_id), row) != row:
            raise InputError("judged in a record above too", file=file.path, place=place, value=unit_id)

    def _read_judged_single(self, file: File) -> None:
        model, judge = self._model(file), self._judge(file)
        ids: list[str] = []
        empty: list[int] = []
        for _, place, row in _read_entries(file, layout.JudgedScene, empty):
            at = f"{place}.video_name"
            key = self.key_of(file, self.video(layout.video_id_of(row.video_name), file, at), at)
            pairs = [(question.question, question.gt_answer) for question in row.scores]
            chain = self._chain_of_answers(file, place, key, int(row.scene_id), pairs)
            self._refuse_repeat(file, f"{place}.scene_id", chain.id, row)
            ids.append(chain.id)
            turns = _turns_of_questions(file, place, row, chain)
            answers = self.answers.setdefault((model, "chain", chain.id), {})
            for position, (turn_index, question) in enumerate(zip(turns, row.scores, strict=True)):
                at, turn = f"{place}.scores[{position}]", chain.turns[turn_index]
                if turn_index not in answers:
                    with record_errors(file.path, at):
                        answers[turn_index] = Answer(
                            model=model,
                            unit="chain",
                            unit_id=chain.id,
                            turn_index=turn_index,
                            text=question.model_response,
                            asked_as=None if question.question == turn.question else question.question,
                            referred_to=None
                            if question.gt_answer == first_reference(turn.references)
                            else (question.gt_answer,),
                        )
                self._add_scores(
                    file,
                    at,
                    (model, judge, "turn", chain.id, turn_index),
                    question.question_scores,
                    question.evaluation,
                    expected=("Accuracy",),
                )
        self.add_file(file, ids, empty=empty, model=model, judge=judge, unit="chain", language=file.language)

    def _read_judged_con(self, file: File) -> None:
        model, judge = self._model(file), self._judge(file)
        ids: list[str] = []
        for index, item in enumerate(_read_rows(file)):
            place = f"$[{index}]"
            row = parse(layout.JudgedLinks, item, file=file.path, place=place)
            video_id = self.video(layout.video_id_of(row.video_name), file, f"{place}.video_name")
            lists = {
                name: list(_texts(getattr(row, name), file, f"{place}.{name}"))
                for name in ("questions", "gt_answers", "answers")
            }
            _refuse_unequal(lists, file, place)
            dialogue = self._linked_dialogue(file, place, video_id, row, lists)
            self._refuse_repeat(file, f"{place}.video_name", dialogue.id, row)
            ids.append(dialogue.id)
            pairs = list(zip(lists["questions"], lists["gt_answers"], strict=True))
            key = (model, "dialogue", dialogue.id)
            self._add_answers(file, place, key, dialogue.turns, pairs, lists["answers"])
            self._add_scores(file, place, (model, judge, "dialogue", dialogue.id, None), row.scores, row.evaluation)
        self.add_file(file, ids, model=model, judge=judge, unit="dialogue", language=file.language)

    def _linked_dialogue(
        self, file: File, place: str, video_id: VideoId, row: layout.JudgedLinks, lists: dict[str, list[str]]
    ) -> Dialogue:
        extra: dict[str, Json] = {}
        shape = _shape(row.questions)
        if any(part is not None for part in shape):
            extra["shape"] = shape
        if row.relationships is not None:
            extra["relationships"] = row.relationships
        content = repr((video_id, file.language, lists["questions"], lists["gt_answers"], extra))
        stem = f"{video_id}/{file.language}/linked"
        if content not in self.linked:
            same = self.linked_counts[stem]
            with record_errors(file.path, place):
                dialogue = Dialogue(
                    id=DialogueId(f"{stem}/{same + 1}" if same else stem),
                    video_id=video_id,
                    turns=tuple(
                        _make_turn(question, answer, file.language, None)
                        for question, answer in zip(lists["questions"], lists["gt_answers"], strict=True)
                    ),
                    extra=extra,
                )
            self.dialogues[dialogue.id] = dialogue
            self.linked[content] = dialogue.id
            self.linked_counts[stem] += 1
        return self.dialogues[self.linked[content]]

    def _add_scores(
        self,
        file: File,
        place: str,
        key: tuple[str, str, str, str, int | None],
        fields: dict[str, layout.Score] | None,
        evaluation: str | None,
        *,
        expected: tuple[str, ...] = layout.CRITERIA,
    ) -> None:
        model, judge, unit, unit_id, turn_index = key
        given = dict(fields or {})
        for alias, criterion in layout.ALIASES.items():
            if alias in given and criterion not in given:
                given[criterion] = given.pop(alias)
        # The text is about all criteria. It is stored once, with the overall score or the only one.
        carrier = expected[-1]
        for criterion in (*expected, *(name for name in given if name not in expected)):
            reading = _reading(criterion, given[criterion]) if criterion in given else _unscored(ABSENT)
            with record_errors(file.path, f"{place}.scores.{criterion}"):
                score = JudgedScore(
                    unit=unit,
                    unit_id=unit_id,
                    turn_index=turn_index,
                    model=model,
                    judge=judge,
                    criterion=criterion,
                    explanation=evaluation if criterion == carrier else None,
                    **reading,
                )
            if self.scores.setdefault((*key, criterion), score) != score:
                raise InputError(
                    f"judge '{judge}' has another score of model '{model}' for {unit} '{unit_id}' in another file",
                    file=file.path,
                    place=place,
                    hint="put each judge's records in a folder of its own: Judged/<judge>/<model>/",
                )


def _turns_of_questions(file: File, place: str, row: layout.JudgedScene, chain: QAChain) -> list[int]:
    """The turn index of each judged question: by its wording if that is unique, else by its place."""
    found: list[int] = []
    for position, question in enumerate(row.scores):
        same = [index for index, turn in enumerate(chain.turns) if turn.question == question.question]
        index = same[0] if len(same) == 1 else position
        if index >= len(chain.turns) or index in found:
            raise InputError(
                f"is no question of chain '{chain.id}', or is judged above",
                file=file.path,
                place=f"{place}.scores[{position}].question",
                value=question.question,
            )
        found.append(index)
    return found


def _texts(value: list[Any], file: File, place: str) -> Iterator[str]:
    for index, member in enumerate(value):
        if isinstance(member, list):
            yield from _texts(member, file, f"{place}[{index}]")
        elif isinstance(member, str):
            yield member
        else:
            raise InputError(
                "neither a text nor a list of texts", file=file.path, place=f"{place}[{index}]", value=member
            )


def _shape(value: list[Any]) -> list[Json]:
    return [_shape(member) if isinstance(member, list) else None for member in value]


def _unscored(reason: str) -> dict[str, Any]:
    return {"state": ScoreState.UNSCORED, "reason": reason}


def _reading(criterion: str, value: layout.Score) -> dict[str, Any]:
    if value is None:
        return _unscored("the judge's reply held no number")
    if value == layout.NOT_APPLICABLE and criterion == layout.MAY_NOT_APPLY:
        return {"state": ScoreState.NOT_APPLICABLE, "reason": "the judge said -1: not applicable"}
    if not 0 <= value <= layout.HIGHEST_SCORE:
        return _unscored(f"outside 0-{layout.HIGHEST_SCORE}") | {"extra": {"value": value}}
    return {"value": float(value)}


SPLITS: Final = ("train", "dev", "test")


class ReleaseReader(_Records):
    """Reads each kind of file of the release."""

    def _read_meta(self, file: File) -> None:
        ids: list[str] = []
        rows: dict[str, dict[str, str]] = {}
        for line, row in zip(file.lines, file.value, strict=True):
            video_id = _check_name(layout.video_id_of(row["Video_Name"]), file, "Video_Name", line)
            if rows.setdefault(video_id, row) != row:
                raise InputError(
                    "this video appears twice", file=file.path, line=line, place="Video_Name", value=video_id
                )
            ids.append(video_id)
            word = row["Sort_of_Set"]
            split = (word.casefold() if word.casefold() in SPLITS else word) or None
            known = self.videos.get(video_id)
            if known is not None and known.split != split:
                raise InputError(
                    f"video '{video_id}' is in split '{known.split}' too",
                    file=file.path,
                    line=line,
                    place="Sort_of_Set",
                    value=word,
                    hint="splits never share a video",
                )
            if known is None:
                extra = {column: cell for column, cell in row.items() if column not in layout.META_COLUMNS}
                with record_errors(file.path, "row", line=line):
                    self.videos[video_id] = Video(
                        id=VideoId(video_id), file=row["Path_of_Video"] or None, split=split, extra=extra
                    )
        self.add_file(file, ids, columns=file.columns)

    def _read_scenes(self, file: File) -> None:
        ids: list[str] = []
        rows: dict[str, dict[str, str]] = {}
        clips: list[Json] = []
        for line, row in zip(file.lines, file.value, strict=True):
            video_id = _check_name(PurePosixPath(row["path"].replace("\\", "/")).stem, file, "path", line)
            if rows.setdefault(video_id, row) != row:
                raise InputError("this video appears twice", file=file.path, line=line, place="path", value=row["path"])
            if video_id not in self.videos:
                extra = {column: cell for column, cell in row.items() if column not in layout.SCENE_COLUMNS}
                with record_errors(file.path, "row", line=line):
                    self.videos[video_id] = Video(id=VideoId(video_id), file=row["path"] or None, extra=extra)
            try:
                scenes = layout.parse_scenes(row["timestamp"])
                for start, end in scenes:
                    seconds_of(start)
                    seconds_of(end)
            except ValueError as error:
                raise InputError(
                    str(error), file=file.path, line=line, place="timestamp", value=row["timestamp"]
                ) from None
            ids.append(video_id)
            clips.append([self.clip(video_id, scene, file, "timestamp", line) for scene in scenes])
        self.add_file(file, ids, columns=file.columns, clips=clips)

    def _read_dialogue(self, file: File) -> None:
        key = (file.video, file.language)
        self.once(file, *key)
        self.video(file.video, file, "file name")
        ids: list[str] = []
        empty: list[int] = []
        extras: list[dict[str, Json]] = []
        for index, place, row in _read_entries(file, layout.ChainEntry, empty):
            pairs = _pairs(row.chain.questions, row.chain.answers, file, f"{place}.chain")
            times = (row.qac_timestamps_start, row.qac_timestamps_end)
            ids.append(self.new_chain(file, place, key, index, pairs, times, row.unknown).id)
            extras.append(row.unknown)
        own = {FILE_FIELDS: fields_like_ours(extras)}
        self.add_file(file, ids, empty=empty, video=file.video, language=file.language, **own)

    def _read_con(self, file: File) -> None:
        key = (file.video, file.language)
        self.once(file, *key)
        self.video(file.video, file, "file name")
        if not self.chains.get(key):
            self.derived.add(key)
        ids: list[str] = []
        empty: list[int] = []
        by_text: list[int] = []
        pairs: set[tuple[str, str]] = set()
        for index, place, row in _read_entries(file, layout.LinkEntry, empty):
            if not row.chain_1 or not row.chain_2:
                if any(row.relationship.values()):
                    raise InputError(
                        "links of an empty chain", file=file.path, place=f"{place}.relationship", value=row.relationship
                    )
                empty.append(index)
                continue
            before = self._linked_chain(row.chain_1, file, f"{place}.chain_1", key)
            after = self._linked_chain(row.chain_2, file, f"{place}.chain_2", key)
            if before.id == after.id or self.steps_back(before, after):
                raise InputError(
                    f"links lead from chain '{before.id}' to '{after.id}', which is not later",
                    file=file.path,
                    place=f"{place}.chain_2",
                )
            if (before.id, after.id) in pairs:
                raise InputError(
                    f"the chains '{before.id}' and '{after.id}' are linked in an entry above too",
                    file=file.path,
                    place=place,
                    hint="join the two entries",
                )
            pairs.add((before.id, after.id))
            ids += [before.id, after.id]
            if "questionsBefore" in row.relationship and "chainBefore" not in row.relationship:
                by_text.append(index)
                self._links_by_text(row, file, index, before, after)
            elif row.relationship:
                self._links_by_index(row, file, place, before, after)
        self.add_file(file, ids, empty=empty, by_text=by_text, video=file.video, language=file.language)

    def _linked_chain(self, value: dict[str, Any], file: File, place: str, key: tuple[str, str]) -> QAChain:
        row = parse(layout.LinkedChain, value, file=file.path, place=place)
        pairs = list(_pairs(row.questions, row.answers, file, place))
        times = (row.qac_timestamps_start, row.qac_timestamps_end)
        if (times[0] is None) != (times[1] is None):
            raise InputError("one of the two times is missing", file=file.path, place=place, hint="give both or none")
        known = [chain for _, chain in sorted(self.chains[key].items())]
        if times[0] is not None and times[1] is not None:
            wanted = (seconds_of(times[0]), seconds_of(times[1]))
            found = [chain for chain in known if (at := self.interval(chain)) and (at.start_s, at.end_s) == wanted]
        else:
            found = known
        same = [chain for chain in found or known if _question_pairs(chain) == pairs]
        if same or (len(found) == 1 and times[0] is not None):
            return (same or found)[0]
        if key in self.derived:
            return self.new_chain(file, place, key, len(known), pairs, times)
        raise InputError(
            "no chain of the video's Dialogue file has these times or this wording",
            file=file.path,
            place=place,
            value=[*times, *row.questions[:1]],
        )

    def _links_by_index(self, row: layout.LinkEntry, file: File, place: str, before: QAChain, after: QAChain) -> None:
        place = f"{place}.relationship"
        links = parse(layout.LinksByIndex, row.relationship, file=file.path, place=place)
        lists = {"chainBefore": links.chainBefore, "chainAfter": links.chainAfter, "relationship": links.relationship}
        _refuse_unequal(lists, file, place)
        for name, chain, indices in (
            ("chainBefore", before, links.chainBefore),
            ("chainAfter", after, links.chainAfter),
        ):
            for position, index in enumerate(indices):
                if index >= len(chain.turns):
                    raise InputError(
                        f"chain '{chain.id}' has {len(chain.turns)} questions, counted from 0",
                        file=file.path,
                        place=f"{place}.{name}[{position}]",
                        value=index,
                    )
        found = list(zip(links.chainBefore, links.chainAfter, links.relationship, strict=True))
        for position, (source, target, word) in enumerate(found):
            if (source, target, word) in found[:position]:
                self.content.warnings.append(
                    f"{file.name} at {place}[{position}]: this link appears twice; both are kept"
                )
            self._link(file, f"{place}.relationship[{position}]", (before, source), (after, target), word)

    def _link(
        self, file: File, place: str, source: tuple[QAChain, int], target: tuple[QAChain, int], word: str
    ) -> None:
        relation = relation_of(word)
        with record_errors(file.path, place):
            self.content.linkages.append(
                Linkage(
                    source=TurnRef(unit_id=source[0].id, turn_index=source[1]),
                    target=TurnRef(unit_id=target[0].id, turn_index=target[1]),
                    relation=relation,
                    extra={} if relation == word else {"relationship": word},
                )
            )

    def _links_by_text(self, row: layout.LinkEntry, file: File, index: int, before: QAChain, after: QAChain) -> None:
        place = f"$[{index}].relationship"
        links = parse(layout.LinksByText, row.relationship, file=file.path, place=place)
        lists: dict[str, list[str]] = {name: getattr(links, name) for name in layout.LinksByText.model_fields}
        _refuse_unequal(lists, file, place)
        chain_1 = parse(layout.LinkedChain, row.chain_1, file=file.path, place=f"$[{index}].chain_1")
        chain_2 = parse(layout.LinkedChain, row.chain_2, file=file.path, place=f"$[{index}].chain_2")
        for position in range(len(links.relationship)):
            text = {name: values[position] for name, values in lists.items()}
            source = _find(chain_1, before, text["questionsBefore"], text["answersBefore"])
            target = _find(chain_2, after, text["questionsAfter"], text["answersAfter"])
            at = f"{place}.relationship[{position}]"
            if isinstance(source, int) and isinstance(target, int):
                self._link(file, at, (before, source), (after, target), text["relationship"])
                continue
            side, why = ("Before", source) if isinstance(source, str) else ("After", target)
            with record_errors(file.path, at):
                self.content.rejected.append(
                    Rejected(
                        table="linkages",
                        record_id=f"{before.id}→{after.id}/{position}",
                        reason=f"questions{side}[{position}] {why}",
                        place=f"{file.name} at {at}",
                        content=text,
                        extra={"file": file.name, "entry": index, "position": position},
                    )
                )

    def _read_path(self, file: File) -> None:
        languages = sorted(language for video, language in self.chains if video == file.video)
        if file.place.language:
            languages = [language for language in languages if language == file.place.language]
        if not languages:
            raise InputError(
                f"no Dialogue file of video '{file.video}'",
                file=file.path,
                hint="paths consist of indices into Dialogue files; import the folder that holds both",
            )
        document = parse(layout.PathFile, file.value, file=file.path)
        by_language: list[list[str]] = []
        for language in languages:
            self.once(file, file.video, language)
            paths = [
                self._path(file, (file.video, language), number, steps) for number, steps in enumerate(document.Paths)
            ]
            self.paths[file.video, language] = paths
            by_language.append([path.id for path in paths])
        self.add_file(
            file,
            by_language[0],
            twins=[path_id for ids in by_language[1:] for path_id in ids],
            video=file.video,
            languages=languages,
        )

    def _path(self, file: File, key: tuple[str, str], number: int, indices: list[list[int]]) -> DialoguePath:
        steps: list[PathStep] = []
        last: tuple[QAChain, int] | None = None
        for position, (chain_index, question) in enumerate(indices):
            place = f"$.Paths[{number}][{position}]"
            chain = self.chains[key].get(chain_index)
            if chain is None:
                raise InputError(
                    f"video '{key[0]}' has no chain {chain_index} in language '{key[1]}', counted from 0",
                    file=file.path,
                    place=f"{place}[0]",
                    value=chain_index,
                )
            if question >= len(chain.turns):
                raise InputError(
                    f"chain '{chain.id}' has {len(chain.turns)} questions, counted from 0",
                    file=file.path,
                    place=f"{place}[1]",
                    value=question,
                )
            if last and (question <= last[1] if chain.id == last[0].id else self.steps_back(last[0], chain)):
                raise InputError(
                    "the path steps back in time", file=file.path, place=place, value=[chain_index, question]
                )
            last = (chain, question)
            steps.append(PathStep(ref=TurnRef(unit_id=chain.id, turn_index=question)))
        with record_errors(file.path, f"$.Paths[{number}]"):
            return DialoguePath(
                id=PathId(f"{key[0]}/{key[1]}/path/{number}"), video_id=VideoId(key[0]), steps=tuple(steps)
            )

    def _read_streaming(self, file: File) -> None:
        key = (file.video, file.language)
        self.once(file, *key)
        rows = [
            parse(layout.StreamingEntry, item, file=file.path, place=f"$[{index}]")
            for index, item in enumerate(_read_rows(file))
        ]
        paths = self.paths.get(key)
        ids: list[str] = []
        if paths is None:
            self.content.warnings.append(f"{file.name}: no Path and Dialogue file with it; its paths become dialogues")
            self.video(file.video, file, "file name")
        elif len(paths) != len(rows):
            raise InputError(
                f"{len(rows)} entries, but the video's Path file has {len(paths)} paths", file=file.path, place="$"
            )
        for index, row in enumerate(rows):
            place = f"$[{index}]"
            lists = {"questions": row.questions, "answers": row.answers, "timestamps": row.timestamps}
            _refuse_unequal(lists, file, place)
            if paths is None:
                ids.append(self._streamed_dialogue(file, key, index, row))
                continue
            path = paths[index]
            if len(path.steps) != len(row.questions):
                raise InputError(
                    f"{len(row.questions)} questions, but path {index} of the video's Path file has "
                    f"{len(path.steps)} steps",
                    file=file.path,
                    place=f"{place}.questions",
                )
            steps = tuple(self._step(file, place, key, row, position, step) for position, step in enumerate(path.steps))
            paths[index] = path.model_copy(update={"steps": steps})
            ids.append(path.id)
        self.add_file(file, ids, video=file.video, language=file.language)

    def _streamed_turn(self, file: File, place: str, language: str, row: layout.StreamingEntry, position: int) -> Turn:
        start, end = row.timestamps[position]
        if (start is None) != (end is None):
            raise InputError("one of the two times is null", file=file.path, place=f"{place}.timestamps[{position}]")
        with record_errors(file.path, f"{place}.timestamps[{position}]"):
            evidence = (
                (Interval(start_s=seconds_of(start), end_s=seconds_of(end)),)
                if start is not None and end is not None
                else ()
            )
        turn = _make_turn(
            row.questions[position], row.answers[position], language, evidence[0].end_s if evidence else None
        )
        return turn.model_copy(update={"evidence": evidence})

    def _streamed_dialogue(self, file: File, key: tuple[str, str], index: int, row: layout.StreamingEntry) -> str:
        place = f"$[{index}]"
        turns = [self._streamed_turn(file, place, key[1], row, position) for position in range(len(row.questions))]
        spelt = [
            turn if all(isinstance(time, float | None) for time in times) else _with_extra(turn, times)
            for turn, times in zip(turns, row.timestamps, strict=True)
        ]
        with record_errors(file.path, place):
            dialogue = Dialogue(
                id=DialogueId(f"{key[0]}/{key[1]}/streaming/{index}"), video_id=VideoId(key[0]), turns=tuple(spelt)
            )
        self.dialogues[dialogue.id] = dialogue
        return dialogue.id

    def _step(
        self, file: File, place: str, key: tuple[str, str], row: layout.StreamingEntry, position: int, step: PathStep
    ) -> PathStep:
        turn = self._streamed_turn(file, place, key[1], row, position)
        chain = self.chains[key][int(step.ref.unit_id.rpartition("/")[2])]
        own, interval = chain.turns[step.ref.turn_index], self.interval(chain)
        same_times = turn.evidence == ((interval,) if interval else ())
        same_text = (turn.question, turn.references) == (own.question, own.references)
        if same_times:
            turn = turn.model_copy(update={"evidence": ()})
        spelling: list[Json] = []
        if chain.clip_id and interval:
            extra = self.clips[chain.clip_id].extra
            spelling = [extra.get(START, interval.start_s), extra.get(END, interval.end_s)]
        times = list(row.timestamps[position])
        same_spelling = same_times and list(map(repr, times)) == list(map(repr, spelling))
        return step.model_copy(
            update={
                "turn": None if same_text and same_times else turn,
                "extra": {} if same_spelling or times[0] is None else {"timestamps": times},
            }
        )


def _with_extra(turn: Turn, times: list[str | int | float | None]) -> Turn:
    return turn.model_copy(update={"extra": {"timestamps": list(times)}})


def _pairs(questions: list[str], answers: list[str], file: File, place: str) -> Iterator[tuple[str, str]]:
    _refuse_unequal({"questions": questions, "answers": answers}, file, place)
    return zip(questions, answers, strict=True)


def _find(row: layout.LinkedChain, chain: QAChain, question: str, answer: str) -> int | str:
    """The index of a question with exactly this wording and answer, or the reason why there is none."""
    asked = [index for index, text in enumerate(row.questions) if text == question and index < len(chain.turns)]
    if not asked:
        return "is no question of its chain"
    answered = [index for index in asked if row.answers[index] == answer]
    return answered[0] if answered else "is a question of its chain, but has another answer there"


LOOKED_FOR: Final = (
    "expected Meta, Dialogue, Con, Path or Streaming files of a release (Dialogue/Dialogue_EN/<video>.json, …), "
    "models' answers (Answers/<model>/<video>.json) or judges' records (Judged/<judge>/<model>/<name>.json)"
)
READING_ORDER: Final = (
    "meta",
    "scenes",
    "dialogue",
    "con",
    "path",
    "streaming",
    "answers",
    "judged chain",
    "judged single",
    "judged con",
)


class _StrangeError(InputError):
    """A file of something else, which may lie in a repository."""


class SVBenchReader(ReleaseReader, JudgedReader):
    """Reads all files of SVBench at `source`."""

    def read(self) -> Content:
        """Read everything.

        Raises:
            InputError: A file is damaged, or there are no files of SVBench.
        """
        files = self._collect()
        if not files:
            raise InputError("nothing of SVBench here", file=self.source, hint=LOOKED_FOR)
        read: dict[tuple[object, ...], list[File]] = defaultdict(list)
        for kind in READING_ORDER:
            for file in files:
                if file.kind == kind:
                    known = next((other for other in read[file.subject] if other.value == file.value), None)
                    if known is None:
                        getattr(self, f"_read_{kind.replace(' ', '_')}")(file)
                        read[file.subject].append(file)
                    else:
                        # The same file in two folders is read once.
                        self.files[file.name] = self.files[known.name].model_copy(update={"path": file.name})
        self._assemble()
        documents = SVBenchDocuments(self.content, self.files.values())
        self.content.source_files = [
            keep_form(self.files[file.name], file.value, documents.plain(self.files[file.name])) for file in files
        ]
        return self.content

    def _assemble(self) -> None:
        content = self.content
        content.videos = list(self.videos.values())
        content.clips = list(self.clips.values())
        content.chains = [chain for numbered in self.chains.values() for _, chain in sorted(numbered.items())]
        content.paths = [path for paths in self.paths.values() for path in paths]
        content.dialogues = list(self.dialogues.values())
        content.answers = [answer for rows in self.answers.values() for _, answer in sorted(rows.items())]
        content.scores = list(self.scores.values())

    def _collect(self) -> list[File]:
        if not self.source.exists():
            raise InputError("no such file or folder", file=self.source, hint="check the path")
        single = self.source.is_file()
        root = self.source.absolute().parent if single else self.source.absolute()
        # A part of a release keeps the folders that give its kind and language.
        while layout.is_layout_folder(root.name) and not (root == self.source.absolute() and _has_layout_folder(root)):
            root = root.parent
        paths = [self.source] if single else visible_files(self.source)
        files: list[File] = []
        strange: list[InputError] = []
        for path in paths:
            name = path.absolute().relative_to(root).as_posix()
            try:
                file = self._open(name, path)
            except _StrangeError as problem:
                if any(map(layout.is_layout_folder, PurePosixPath(name).parts[:-1])):
                    raise
                strange.append(problem)
                self.content.warnings.append(f"{name}: {problem.problem}; left out")
            else:
                files += [file] if file else []
        if strange and not files:
            raise strange[0]
        # If only the imported folder itself can name the model, its name is a part of the paths.
        unnamed = [file for file in files if file.kind.startswith(("answers", "judged")) and not file.place.names]
        if any(FolderFacts.of(f"{root.name}/{file.name}").names for file in unnamed):
            for file in files:
                file.name = f"{root.name}/{file.name}"
        return files

    def _open(self, name: str, path: Path) -> File | None:
        suffix = path.suffix.lower()
        if suffix == ".json":
            value = read_json(path)
            if kind := layout.kind_of_svbench_file(value, FolderFacts.of(name)):
                return File(name, path, kind, value)
            raise _StrangeError("not a file of SVBench", file=path, place="$", value=value, hint=LOOKED_FOR)
        if suffix == ".csv":
            columns, rows = layout.read_csv(path)
            for kind, required in (("meta", layout.META_COLUMNS), ("scenes", layout.SCENE_COLUMNS)):
                if set(required) <= set(columns):
                    return File(name, path, kind, [row for _, row in rows], columns, [line for line, _ in rows])
            raise _StrangeError(
                "not a table of SVBench",
                file=path,
                line=1,
                value=",".join(columns),
                hint=f"expected the columns {', '.join(layout.META_COLUMNS)}; or {', '.join(layout.SCENE_COLUMNS)}",
            )
        self.content.warnings.append(f"{name}: not part of SVBench's layout; left out")
        return None


def _has_layout_folder(folder: Path) -> bool:
    return any(child.is_dir() and layout.is_layout_folder(child.name) for child in folder.iterdir())

"""Your own questions about videos, in a table: CSV, TSV, JSON, JSON Lines or Parquet, or a folder of such tables.

A row is a question. `video`, `question` and `answer` are needed; `COLUMNS` lists all columns that have a meaning. Every
other column is kept with its turn. A table of answers to exported questions is read by `read_answers`.
"""

import difflib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final

from reeltalk.errors import InputError, SettingError
from reeltalk.formats.export_losses import fields_left_out, labels_left_out, source_fields, tables_left_out
from reeltalk.formats.layout import (
    SPLIT_IN_NAME,
    Repeated,
    all_dialogues,
    lost_beyond_dialogues,
)
from reeltalk.formats.multiple_choice import without_letters
from reeltalk.formats.parquet import FilesInside
from reeltalk.formats.table_forms import SPREADSHEETS, GuessedTable
from reeltalk.formats.table_guesses import guess_table
from reeltalk.formats.table_rows import (
    TABLE_SUFFIXES,
    SourceCell,
    TableRow,
    nearest_hint,
    plain_column,
    read_table,
    write_table_rows,
)
from reeltalk.schema.answers import item_id
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import VOCABULARIES
from reeltalk.schema.media import Video
from reeltalk.schema.outcomes import Rejected, SourceFile
from reeltalk.schema.record import DialogueId, Json, VideoId
from reeltalk.schema.texts import path_problem
from reeltalk.schema.turn_sense import LETTERS
from reeltalk.store.content import Content
from reeltalk.store.documents import NO_LIST, record_errors
from reeltalk.store.foreign import VIDEO_SUFFIXES, visible_files
from reeltalk.store.rows import NamedRows

FORMAT: Final = "qa"
NEEDED_COLUMNS: Final = ("video", "question", "answer")
COLUMNS: Final = (
    "id", "video", "dialogue", "turn", "question", "answer", "asked_at_s", "start_s", "end_s", "options", "correct",
    "type", "task", "split",
)  # fmt: skip
"""Columns with a meaning, besides `option_a` to `option_z` and the names of the known vocabularies of labels."""
TYPE: Final = "type"
"""The vocabulary of the labels in the column `type`."""
LABELS: Final = (TYPE, *VOCABULARIES)
FILE_NAME: Final = "file_name"
"""The column that names the video in the metadata of a folder of videos on the Hub."""
ID: Final = "qa_id"
"""Key of a turn's `extra`: the identifier of its row."""
TASK: Final = "task"
"""The vocabulary of tasks of turns, if the turns of a dialogue have different ones."""
MOST_COMPARED: Final = 1_000
"""Most columns whose names are compared with ours. In a wider table the others hold measurements."""
MOST_PROBLEMS: Final = 5
"""Most further problems that an error names."""

_OPTION = re.compile(r"option_([a-z])")
_LETTER = re.compile(r"\(?([A-Za-z])\)?[.:)]?")
_NO_VIDEO = "no video: the cell is empty"


@dataclass(frozen=True)
class QuestionTable:
    """Questions that were read, and where each came from."""

    content: Content
    places: Mapping[tuple[str, int], str]
    """The row of each turn by its dialogue and index, as `questions.csv:4`."""
    files: FilesInside
    """The videos that Parquet tables hold, in the column of videos."""
    guessed: tuple[GuessedTable, ...] = ()
    """What the tables were taken to mean, if guesses were asked for."""

    def about(self, video_id: str) -> list[str]:
        """The rows that ask about a video."""
        asked = {dialogue.id for dialogue in self.content.dialogues if dialogue.video_id == video_id}
        return [where for (dialogue, _), where in self.places.items() if dialogue in asked]


def read(source: Path) -> Content:
    """Read a table of questions, or a folder of tables; see `read_questions`."""
    return read_questions(source).content


def read_questions(
    source: Path,
    *,
    columns: Mapping[str, str] | None = None,
    one_dialogue_per_video: bool = False,
    strict: bool = False,
    fix: bool = False,
    films: Sequence[str] = (),
) -> QuestionTable:
    """Read a table of questions, or a folder of tables.

    Rows with the same `dialogue` are the turns of a dialogue, in the order of `turn`, else of the table. A row without
    one is a dialogue of one turn. In a folder, the name of a file may name the split (`test.csv`), and files that are
    neither tables of questions nor videos are listed as warnings. Damaged rows, and damaged tables of a folder, are
    rejected with their line, and with them the other turns of their dialogue. The rest is read.

    Args:
        source: A file with one of `TABLE_SUFFIXES`, or a folder.
        columns: The table's name of a column, by our name, where they differ.
        one_dialogue_per_video: The rows of a video are one dialogue, in the order of `turn`, else of `asked_at_s`.
        strict: Raise the first fault.
        fix: Read tables as they are probably meant; see `table_guesses`. A table that needs no guess is read the same.
        films: Names of the video files that were found, for guesses.

    Raises:
        InputError: A column is missing, or no row can be read; or any fault, if `strict`.
        SettingError: `columns` has a name that is not ours, or contradicts the table.
    """
    wanted = dict(columns or {})
    for name in wanted:
        if not _is_ours(name):
            raise SettingError(
                f"--columns: there is no column {name!r}{nearest_hint(name, (*COLUMNS, *LABELS, 'option_a'))}"
            )
    if not source.exists():
        raise InputError("no such file or folder", file=source, hint="check the path")
    reader = _Reader(source, wanted, one_dialogue_per_video, strict=strict, films=films if fix else None)
    if source.is_dir():
        reader.read_folder()
    elif source.suffix.lower() in (*reader.endings, *([".md"] if fix else [])):
        reader.read_table(source, source.name)
    else:
        raise InputError(
            f"not a table that can be read: it ends in {source.suffix or 'nothing'}",
            file=source,
            hint="pass --fix, which reads spreadsheets, text and Markdown"
            if source.suffix.lower() in (*SPREADSHEETS, ".txt", ".md")
            else f"save it as {', '.join(TABLE_SUFFIXES)}",
        )
    return reader.finish()


def _is_ours(name: str) -> bool:
    return name in COLUMNS or name in LABELS or _OPTION.fullmatch(name) is not None


@dataclass
class _Question:
    """One question while a table is read."""

    row: TableRow
    turn: Turn
    video: str | None
    dialogue: str | None
    order: int | None
    task: str | None
    split: str | None
    place: tuple[str, int] | None = None
    """Its dialogue, and the index of its turn there."""

    @property
    def where(self) -> str:
        return self.row.where


class _Reader:
    """Collects rows of tables, then makes videos and dialogues of them."""

    def __init__(
        self,
        source: Path,
        columns: Mapping[str, str],
        one_dialogue_per_video: bool,
        *,
        strict: bool,
        films: Sequence[str] | None,
    ) -> None:
        self.source, self.columns, self.one_dialogue_per_video = source, columns, one_dialogue_per_video
        self.strict, self.films = strict, films
        self.endings = TABLE_SUFFIXES if films is None else (*TABLE_SUFFIXES, *SPREADSHEETS, ".txt", ".ndjson")
        self.guessed: list[GuessedTable] = []
        self.tables: dict[str, list[_Question]] = {}
        """The questions of each table by its name."""
        self.faults: list[InputError] = []
        """What is wrong with rows and tables that are left out."""
        self.refused: set[int] = set()
        """Identities of rows that could be read, and contradict others."""
        self.torn: set[str | None] = set()
        """Dialogues of which a row is left out, or videos if each has one dialogue."""
        self.files = FilesInside(".mp4", VIDEO_SUFFIXES)
        self.numbers: Counter[str] = Counter()
        """The number of the last dialogue of a video that got one."""
        self.content = Content()

    def read_folder(self) -> None:
        """Read every table of questions in the folder, and list the other files."""
        others = []
        for path in visible_files(self.source, self.faults):
            name = path.relative_to(self.source).as_posix()
            if path.suffix.lower() in VIDEO_SUFFIXES:
                continue
            try:
                if path.suffix.lower() not in self.endings or not self.read_table(path, name, optional=True):
                    others.append(name)
            except InputError as fault:
                self.faults.append(fault)
        if not self.tables and self.faults:
            raise self.faults[0]
        if not self.tables:
            listed = f"; its tables: {', '.join(others[:MOST_PROBLEMS])}" if others else ""
            raise InputError(
                "no table of questions here", file=self.source,
                hint=f"expected {', '.join(TABLE_SUFFIXES)} with the columns {', '.join(NEEDED_COLUMNS)}{listed}",
            )  # fmt: skip
        self.content.warnings += [f"{name} was not read: it is no table of questions" for name in others]

    def read_table(self, path: Path, name: str, *, optional: bool = False) -> bool:
        """Read one table; False if `optional` and it has none of the needed columns."""
        faults: list[InputError] = []
        guessed = None
        try:
            if self.films is not None:
                guessed = guess_table(
                    path, columns=self.columns, known=_is_ours, films=self.films, files=self.files, faults=faults
                )
            table = guessed.table if guessed else read_table(path, repeated=True, files=self.files, faults=faults)
        except InputError as fault:
            if optional and fault.problem == NO_LIST:
                return False  # a sidecar of a video
            raise
        if not table.rows:
            raise faults[0] if faults else InputError("the table has no rows", file=path, hint="write a question a row")
        try:
            meanings = self._bind(path, table.header, guessed.meanings if guessed else {}, in_folder=optional)
            self.guessed += [guessed] if guessed else []
        except InputError:
            # A file that shares not even one of these columns is another kind of table.
            known = {"question", "answer", *map(plain_column, self.columns.values())}
            if optional and not known & {plain_column(key) for key in table.header}:
                self._leave_out_files(path, [], {})
                return False
            raise
        self.faults += faults
        if left := self._leave_out_files(path, table.rows, meanings):
            self.content.warnings.append(f"{name}: columns that hold files are left out: {', '.join(left)}")
        # Spreadsheets export empty rows below a table.
        filled = [row for row in table.rows if any(str(cell or "").strip() for cell in row.cells.values())]
        found = (self._question(row, meanings) for row in filled)
        self.tables[name] = [question for question in found if question is not None]
        return True

    def _leave_out_files(self, path: Path, rows: Iterable[TableRow], meanings: Mapping[str, str]) -> list[str]:
        """Forget the files in columns other than that of videos; return these columns."""
        others = [column for table, column in self.files.rows if table == path and meanings.get(column) != "video"]
        for column in others:
            del self.files.rows[path, column]
            for row in rows:
                row.cells[column] = None
        return [*others, *self.files.without_name.get(path, {})]

    def _bind(
        self, path: Path, header: Sequence[str], guessed: Mapping[str, str], *, in_folder: bool
    ) -> dict[str, str]:
        """Our name of each column of a table that has a meaning, by the table's own name."""
        meanings = dict(guessed)
        for ours, theirs in self.columns.items():
            if theirs not in header:
                raise InputError(
                    f"no column {theirs!r}, which --columns names", file=path, line=1,
                    hint=f"its columns: {', '.join(header)}{nearest_hint(theirs, header)}",
                )  # fmt: skip
            meanings[theirs] = ours
        taken = set(meanings.values())
        for theirs in dict.fromkeys(header):
            ours = plain_column(theirs)
            if theirs in meanings or ours in taken:
                continue
            if ours in COLUMNS or ours in LABELS or _OPTION.fullmatch(ours):
                meanings[theirs] = ours
                taken.add(ours)
        if "video" not in taken and in_folder and FILE_NAME in header:
            meanings[FILE_NAME] = "video"
            taken.add("video")
        needed = [name for name in NEEDED_COLUMNS if name != "answer" or "correct" not in taken]
        missing = [name for name in needed if name not in taken]
        if missing:
            near = nearest_hint(missing[0], [name for name in header if name not in meanings])
            given = ",".join(f"{name}=NAME" for name in missing)
            secret = "; if the answers are not public, add an empty column 'answer'" if "answer" in missing else ""
            raise InputError(
                f"no column {' and no '.join(map(repr, missing))}", file=path, line=1,
                hint=f"its columns: {', '.join(header)}{near}; name it with --columns {given}{secret}",
            )  # fmt: skip
        free = [name for name in COLUMNS if name not in taken and name != "options"]
        for theirs in dict.fromkeys(header[:MOST_COMPARED]):
            near_names = difflib.get_close_matches(plain_column(theirs), free, 1, 0.8) if theirs not in meanings else []
            starts = [name for name in free if name == f"{plain_column(theirs)}_s"]
            if starts or near_names:
                ours = (starts or near_names)[0]
                self.content.warnings.append(
                    f"{path.name}: column {theirs!r} is kept without a meaning; if it is {ours!r}, pass --columns "
                    f"{ours}={theirs}"
                )
        return meanings

    def _question(self, row: TableRow, meanings: Mapping[str, str]) -> _Question | None:
        theirs = {ours: name for name, ours in meanings.items()}
        extra = {name: value for name, value in row.cells.items() if name not in meanings}
        in_name = SPLIT_IN_NAME.search(row.path.stem.lower()) if self.source.is_dir() else None

        def cell(name: str) -> SourceCell:
            return row.cell(theirs.get(name, name))

        try:
            options = _options([name for name in sorted(theirs) if theirs[name] in row.cells], cell)
            correct, answers = _correct(cell, options, cell("answer").texts())
            question = cell("question").text()
            if question is None or not question.strip():
                raise cell("question").error("the question is empty", None)
            asked_at_s, start_s, end_s = (cell(name).seconds() for name in ("asked_at_s", "start_s", "end_s"))
            if (start_s is None) != (end_s is None):
                raise cell("start_s").error("start_s and end_s belong together, and one of them is empty", None)
            if start_s is not None and end_s is not None and end_s < start_s:
                raise cell("end_s").error(f"it ends before it starts, at {start_s:g} s")
            name = cell("id").name()
            with record_errors(row.path, row.place, line=row.line):
                turn = Turn(
                    question=question,
                    references=answers,
                    asked_at_s=asked_at_s,
                    evidence=() if start_s is None or end_s is None else (Interval(start_s=start_s, end_s=end_s),),
                    options=options.texts if options else None,
                    correct_option=correct,
                    labels={label: found for label in LABELS if (found := cell(label).names())},
                    extra=extra if name is None else {**extra, ID: name},
                )
            return _Question(
                row,
                turn,
                video=cell("video").name(),
                dialogue=cell("dialogue").name(),
                order=cell("turn").whole(),
                task=cell("task").name(),
                split=cell("split").name() or (in_name[1] if in_name else None),
            )
        except InputError as problem:
            self.faults.append(problem)
            named = cell("video" if self.one_dialogue_per_video else "dialogue").value
            self.torn.add(None if named is None else str(named).strip() or None)
            return None

    def finish(self) -> QuestionTable:
        """Make videos, dialogues and source files of all rows."""
        rows = [row for table in self.tables.values() for row in table]
        if self.faults and (self.strict or not rows):
            raise self.faults[0]
        self._fill_videos(rows)
        names = _video_names([row.video for row in rows if row.video is not None])
        rows = self._without_rejected(rows)
        videos = self._videos(rows, names)
        groups = self._dialogues(self._not_refused(rows), names)
        if self.faults and self.strict:
            raise self.faults[0]
        groups = {name: members for name, members in groups.items() if not self._is_torn(members)}
        self.content.rejected += [Rejected.of("dialogues", fault) for fault in self.faults]
        rows = self._not_refused(rows)
        for identifier, members in groups.items():
            tasks = {row.task for row in members}
            turns = []
            for place, row in enumerate(members):
                labels = row.turn.labels | ({TASK: (row.task,)} if len(tasks) > 1 and row.task else {})
                turns.append(row.turn.model_copy(update={"labels": labels}))
                row.place = (identifier, place)
            self.content.dialogues.append(
                Dialogue(
                    id=DialogueId(identifier),
                    video_id=VideoId(names[str(members[0].video)]),
                    task=next(iter(tasks)) if len(tasks) == 1 else None,
                    turns=tuple(turns),
                )
            )
        used = {dialogue.video_id for dialogue in self.content.dialogues}
        self.content.videos = [video for video in videos.values() if video.id in used]
        for name, table in self.tables.items():
            records = tuple(row.place[0] for row in table if row.place)
            self.content.source_files.append(SourceFile(format=FORMAT, path=name, kind="table", records=records))
        unanswered = [row.where for row in rows if not row.turn.references]
        if unanswered:
            self.content.warnings.append(
                f"questions without an answer, on which no model can be scored: {len(unanswered):,} "
                f"({', '.join(unanswered)})"
            )
        first: dict[object, str] = {}
        again = [
            f"{row.where} is {before} again"
            for row in rows
            for turn in [row.turn]
            for key in [(names[str(row.video)], row.dialogue, row.order, turn.question, turn.references, turn.options,
                         turn.asked_at_s)]
            if (before := first.setdefault(key, row.where)) != row.where
        ]  # fmt: skip
        if again:
            self.content.warnings.append(f"the same row twice, which counts twice in scores: {', '.join(again)}")
        places = {row.place: row.where for row in rows if row.place}
        return QuestionTable(self.content, places, self.files, tuple(self.guessed))

    def _fill_videos(self, rows: Sequence[_Question]) -> None:
        """Rows of a dialogue that leave the video empty have the video of the dialogue's other rows."""
        of_dialogue: dict[str, set[str]] = defaultdict(set)
        for row in rows:
            if row.video is not None and row.dialogue is not None:
                of_dialogue[row.dialogue].add(row.video)
        for row in rows:
            if row.video is None and row.dialogue is not None and len(of_dialogue[row.dialogue]) == 1:
                row.video = next(iter(of_dialogue[row.dialogue]))

    def _without_rejected(self, rows: Sequence[_Question]) -> list[_Question]:
        without = [row for row in rows if row.video is None]
        self.torn |= {row.dialogue for row in without}
        self.content.rejected += [
            Rejected(
                table="dialogues", record_id=row.where, reason=_NO_VIDEO, place=row.where, content=row.turn.question
            )
            for row in without
        ]
        if without and len(without) == len(rows):
            raise InputError("no row names a video", file=self.source, hint="fill the column 'video'")
        return [row for row in rows if row.video is not None]

    def _videos(self, rows: Iterable[_Question], names: Mapping[str, str]) -> dict[str, Video]:
        videos: dict[str, Video] = {}
        for row in rows:
            identifier = names[str(row.video)]
            known = videos.get(identifier)
            if known is None:
                videos[identifier] = _video(identifier, str(row.video), row.split)
            elif row.split and known.split is None:
                videos[identifier] = known.model_copy(update={"split": row.split})
            elif row.split and row.split != known.split:
                self._problem(
                    row, f"video {row.video!r} is in split {known.split!r} in another row", "split", row.split
                )
        return videos

    def _dialogues(self, rows: Iterable[_Question], names: Mapping[str, str]) -> dict[str, list[_Question]]:
        """The rows of each dialogue, in order."""
        videos_of: dict[str, set[str]] = defaultdict(set)
        taken: dict[str, _Question] = {}
        listed = list(rows)
        for row in listed:
            if row.dialogue is not None:
                videos_of[row.dialogue].add(names[str(row.video)])
            if (name := row.turn.extra.get(ID)) is not None and isinstance(name, str):
                if name in taken:
                    self._problem(row, f"this id is that of {taken[name].where} too", "id", name)
                taken.setdefault(name, row)
        listed = self._not_refused(listed)
        if self.one_dialogue_per_video and videos_of:
            raise SettingError("--one-dialogue-per-video: the table has a column 'dialogue'; leave the option out")
        shared = [name for name, videos in videos_of.items() if len(videos) > 1]
        if shared:
            self.content.warnings.append(
                f"names of dialogues that occur with several videos: {len(shared):,}, such as {shared[0]!r}; each "
                "video has a dialogue of its own"
            )
        groups: dict[str, list[_Question]] = defaultdict(list)
        for row in listed:
            groups[self._dialogue_of(row, names[str(row.video)], shared, groups)].append(row)
        return {name: kept for name, members in groups.items() if (kept := self._in_order(members))}

    def _is_torn(self, members: Sequence[_Question]) -> bool:
        """True for turns that are left out since a turn of their dialogue is: the others build on it."""
        first = members[0]
        torn = (first.video if self.one_dialogue_per_video else first.dialogue) in self.torn - {None}
        for row in members if torn else ():
            self._problem(row, "another turn of its dialogue is rejected", "dialogue", None)
        return torn

    def _not_refused(self, rows: Iterable[_Question]) -> list[_Question]:
        return [row for row in rows if id(row) not in self.refused]

    def _dialogue_of(self, row: _Question, video: str, shared: Sequence[str], taken: Mapping[str, object]) -> str:
        if self.one_dialogue_per_video:
            return video
        if row.dialogue is not None:
            return f"{video}/{row.dialogue}" if row.dialogue in shared else row.dialogue
        given = row.turn.extra.get(ID)
        if isinstance(given, str) and given not in taken:
            return given
        while True:
            self.numbers[video] += 1
            name = f"{video}-{self.numbers[video]:02d}"
            if name not in taken:
                return name

    def _in_order(self, rows: list[_Question]) -> list[_Question]:
        if any(row.order is not None for row in rows):
            seen: dict[int, _Question] = {}
            for row in rows:
                if row.order is None:
                    self._problem(row, "the turn is empty, and other rows of this dialogue have one", "turn", None)
                elif row.order in seen:
                    self._problem(row, f"the turn of {seen[row.order].where} too", "turn", row.order)
                else:
                    seen[row.order] = row
            rows = sorted(self._not_refused(rows), key=lambda row: row.order or 0)
        elif self.one_dialogue_per_video:
            rows = sorted(rows, key=lambda row: _end(row.turn))
        before = None
        for row in rows:
            if before is not None and _end(row.turn) < _end(before.turn):
                self._problem(
                    row, f"{before.where} comes before it in its dialogue and is asked later",
                    "asked_at_s", row.turn.asked_at_s, "order the turns of a dialogue by time",
                )  # fmt: skip
            else:
                before = row
        return self._not_refused(rows)

    def _problem(self, question: _Question, problem: str, column: str, value: object, hint: str | None = None) -> None:
        self.faults.append(question.row.error(problem, column, value, hint))
        self.refused.add(id(question))
        self.torn.add(question.video if self.one_dialogue_per_video else question.dialogue)


def _end(turn: Turn) -> float:
    """When a turn is asked: without a moment, after the whole video."""
    return float("inf") if turn.asked_at_s is None else turn.asked_at_s


@dataclass(frozen=True)
class _Options:
    """The options of a row, as the table has them, and without the letters that they carry."""

    given: tuple[str, ...]
    texts: tuple[str, ...]
    marks: tuple[str, ...]

    def index(self, text: str) -> int | None:
        """The option that a text means: by its own words, or by its letter."""
        known = [*self.given, *self.texts]
        folded = [one.strip().casefold() for one in known]
        for one, names in ((text, known), (text.strip().casefold(), folded), (text.strip(), [*self.marks])):
            if one in names:
                return names.index(one) % len(self.given)
        letter = _LETTER.fullmatch(text.strip()) or _OPTION.fullmatch(plain_column(text))
        name = letter[1].upper() if letter else ""
        index = self.marks.index(name) if name in self.marks else LETTERS.index(name) if name else len(self.given)
        return index if index < len(self.given) else None


def _options(columns: Sequence[str], cell: Callable[[str], SourceCell]) -> _Options | None:
    """The options of a row, from `options` or from `option_a`, `option_b`, …; None if it has none."""
    given = [(one, one.text()) for one in (cell(name) for name in columns if _OPTION.fullmatch(name))]
    filled = [text for _, text in given if text is not None]
    listed = cell("options")
    keys: tuple[str, ...] = ()
    if isinstance(listed.value, dict):
        keys = tuple(key.strip().upper() for key in listed.value)
        listed = replace(listed, value=list(listed.value.values()))
    texts = listed.texts()
    if texts and filled:
        raise listed.error("options are given twice: here and in option_a", None)
    if len(texts) == 1:
        raise listed.error("one option only, or options in one text", hint='write a list, as ["red", "blue"]')
    last = max((number for number, (_, text) in enumerate(given) if text is not None), default=-1)
    for one, text in given[: last + 1]:
        if text is None:
            raise one.error("the option is empty, and a later one is not", None)
    found = texts or tuple(filled)
    if len(found) == 1:
        raise given[0][0].error("one option only", hint="give at least two, or none")
    if not found:
        return None
    plain, marks = without_letters(found)
    at = listed if texts else given[0][0]
    places = tuple(LETTERS[: len(found)])
    named = keys if tuple(sorted(keys)) == places else places if filled else ()
    if named and marks and marks[0] in LETTERS and marks != named:
        raise at.error("the options carry other letters than their columns or keys", hint="take the letters off")
    return _Options(found, plain, marks or named)


def _correct(
    cell: Callable[[str], SourceCell], options: _Options | None, answers: tuple[str, ...]
) -> tuple[int | None, tuple[str, ...]]:
    """The index of the right option, and the references: the answers, or the right option."""
    marked = cell("correct")
    text = marked.text()
    if options is None:
        if text is not None:
            raise marked.error("a right option, but no options", hint="write the answer into 'answer'")
        return None, answers
    count = len(options.texts)
    if text is not None:
        index = options.index(text)
        if index is None:
            is_number = text.strip().isdecimal()
            raise marked.error(
                f"not one of the {count} options",
                hint="a number may count from 0 or from 1; write the letter or the text of the option"
                if is_number
                else "write its letter or its text",
            )
        is_option = not answers or options.index(answers[0]) == index
        return index, (options.texts[index], *answers[1:]) if is_option else answers
    if not answers:
        return None, ()
    index = options.index(answers[0])
    if index is None:
        raise cell("answer").error(
            f"none of the {count} options", hint="write the letter or the text of an option, or fill 'correct'"
        )
    return index, (options.texts[index], *answers[1:])


def _path_of(cell: str) -> PurePosixPath | None:
    """The file that a cell names; None for an address."""
    if "://" in cell:
        return None
    path = PurePosixPath(cell.replace("\\", "/"))
    # An absolute path is one of another machine; its last part names the file.
    inside = path_problem(path.as_posix()) is None and not re.match(r"[A-Za-z]:", cell)
    return path if inside else PurePosixPath(path.name or cell.replace("/", "_"))


def _video_names(cells: Iterable[str]) -> dict[str, str]:
    """The identifier of the video of each cell: its path, without the ending where only one video has it."""
    by_stem: dict[str, set[str]] = defaultdict(set)
    listed = list(dict.fromkeys(cells))
    stems: dict[str, str] = {}
    for cell in listed:
        path = _path_of(unicodedata.normalize("NFC", cell))
        suffix = path.suffix.lower() if path is not None and path.suffix.lower() in VIDEO_SUFFIXES else ""
        stems[cell] = cell if path is None else path.as_posix()[: -len(suffix)] if suffix else path.as_posix()
        by_stem[stems[cell]].add(suffix)
    names = {}
    for cell in listed:
        path = _path_of(unicodedata.normalize("NFC", cell))
        stem = stems[cell]
        whole = len(by_stem[stem] - {""}) > 1 or not stem or stem != stem.strip()
        names[cell] = path.as_posix() if whole and path is not None else stem
    return names


def _video(identifier: str, cell: str, split: str | None) -> Video:
    path = _path_of(cell)
    if path is None:
        return Video(id=VideoId(identifier), source=cell, split=split)
    return Video(id=VideoId(identifier), file=path.as_posix(), split=split)


def _without_list(value: Json) -> Json:
    """The only member of a list of one; any other value as it is."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _values(dialogue: Dialogue, place: int, turn: Turn, video: Video) -> dict[str, Json]:
    """The values of a turn by our names of columns."""
    evidence = turn.evidence[0] if turn.evidence else None
    right = turn.correct_option if turn.options else None
    # The letter of the right option, or its text behind Z.
    marked = None if right is None or not turn.options else [*LETTERS, *turn.options[len(LETTERS) :]][right]
    values: dict[str, Json] = {
        "id": turn.extra.get(ID) or item_id(dialogue.id, place),
        "video": video.file or video.source or video.id,
        "dialogue": dialogue.id,
        "turn": place + 1,
        "question": turn.question,
        "answer": list(turn.references),
        "asked_at_s": turn.asked_at_s,
        "start_s": evidence.start_s if evidence else None,
        "end_s": evidence.end_s if evidence else None,
        "options": list(turn.options) if turn.options else None,
        "correct": marked,
        "task": next(iter(turn.labels.get(TASK, ())), None) or dialogue.task,
        "split": video.split,
    }
    values |= {label: list(turn.labels[label]) for label in LABELS if label in turn.labels}
    lettered = zip(LETTERS.lower(), turn.options or (), strict=False)
    return values | {f"option_{letter}": text for letter, text in lettered}


def write(content: Content, folder: Path) -> list[str]:
    """Write `questions.csv` into an empty folder; see `write_table`."""
    return write_table(content, folder / "questions.csv")


def write_table(content: Content, path: Path) -> list[str]:
    """Write all questions of a benchmark into one table.

    Args:
        content: The benchmark. Chains become dialogues.
        path: A file with one of `TABLE_SUFFIXES`.

    Returns:
        A line for each thing that a table of questions cannot express.

    Raises:
        InputError: A value cannot be written as text.
        SettingError: The file has another ending.
    """
    if path.suffix.lower() not in TABLE_SUFFIXES:
        raise SettingError(f"{path}: a table ends in {', '.join(TABLE_SUFFIXES)}")
    dialogues, videos = all_dialogues(content), NamedRows(content.videos)
    is_csv = path.suffix.lower() in (".csv", ".tsv")
    # In CSV a list becomes a repeated column, and options have a column each.
    left_out = re.compile("options" if is_csv else _OPTION.pattern)

    def questions() -> Iterator[dict[str, Json]]:
        for dialogue in dialogues:
            video = videos[dialogue.video_id]
            for place, turn in enumerate(dialogue.turns):
                values = _values(dialogue, place, turn, video)
                extra = {key: value for key, value in source_fields(turn.extra).items() if key not in (ID, *values)}
                if turn.question.strip():
                    plain = {key: _without_list(value) for key, value in values.items() if not left_out.fullmatch(key)}
                    yield plain | extra

    there: dict[str, None] = {}
    used = {*COLUMNS[:6]}
    for row in questions():
        there |= dict.fromkeys(row)
        used |= {key for key, value in row.items() if value not in (None, [])}
    columns = [key for key in dict.fromkeys([*COLUMNS, *there]) if key in used]
    lost = _list_lost(content)
    if not there:
        return [*lost, "the benchmark holds no question"]
    rows = Repeated(lambda: ({key: row.get(key) for key in columns} for row in questions()))
    return lost + write_table_rows(path, rows)


def _list_lost(content: Content) -> list[str]:
    dialogues = all_dialogues(content)
    turns = Repeated(lambda: (turn for dialogue in dialogues for turn in dialogue.turns))
    about = {dialogue.video_id for dialogue in dialogues}
    silent = sum(video.id not in about for video in content.videos)
    more = sum(len(turn.evidence) > 1 for turn in turns)
    empty = sum(not turn.question.strip() for turn in turns)
    written = {"question", "references", "asked_at_s", "evidence", "options", "correct_option", "labels", "extra"}
    return [
        *lost_beyond_dialogues(content, options=True),
        *tables_left_out(content, ("speech", "entities", "events", "facts", "tag_proposals", "rubrics", "reviews")),
        *fields_left_out("dialogues", dialogues, {"id", "video_id", "task", "turns"}),
        *fields_left_out("turns", turns, written | {"checklist"}),
        *labels_left_out(turns, (*LABELS, TASK)),
        *([f"turns keep the first of several intervals of evidence: {more:,}"] if more else []),
        *([f"turns without a question are left out: {empty:,}"] if empty else []),
        *([f"videos without a question are left out: {silent:,}"] if silent else []),
    ]  # fmt: skip

"""Releases of several kinds of files that are about each other: read kind by kind, and written again.

An export restores the imported files, with the records of those files as they are now, and plans new files for the
records that no imported file holds.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import ClassVar, Final

from reeltalk.errors import InputError
from reeltalk.formats.layout import SPLIT_IN_NAME, OpenedFile, keep_form
from reeltalk.schema.dialogue import Dialogue
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json
from reeltalk.store.content import Content
from reeltalk.store.documents import read_json
from reeltalk.store.foreign import visible_files

UNNAMED: Final = "unnamed"
"""The model or judge of a file of which no folder names it."""
JUDGED_TURNS: Final = ("judged single", "results")
"""Kinds of files whose scores are those of turns, not of the units that the files list."""


@dataclass
class ReleaseFile(OpenedFile):
    """One opened file of a release."""

    kind: str
    columns: list[str] = field(default_factory=list)
    """Of a table."""
    lines: list[int] = field(default_factory=list)
    """The line of each row of a table."""

    @property
    def split(self) -> str | None:
        """The split in the file's name, if any."""
        found = SPLIT_IN_NAME.search(self.path.stem.lower())
        return found[1] if found else None


class ReleaseReader:
    """Reads the files of a release, kind by kind.

    Args:
        source: The folder or file that is imported.
    """

    format: str
    title: str
    expected: str
    """A description of the expected files, for error messages."""
    named_kinds: ClassVar[tuple[str, ...]] = ()
    """Kinds of files whose folders name a model."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.content = Content()
        self.videos: dict[str, Video] = {}
        self.dialogues: dict[str, Dialogue] = {}
        self.files: dict[str, SourceFile] = {}
        self.seen: dict[tuple[str, ...], str] = {}
        """The file that holds the chains, links, answers … of something."""
        self.kinds: dict[str, Callable[[ReleaseFile], None]] = {}
        """Reads a file of each kind, in the order of reading, and notes it by `add_file`."""

    def is_layout_folder(self, name: str) -> bool:
        """True for a folder that the layout names."""
        return False

    def names(self, path: str) -> Sequence[str]:
        """The folders above a file that are not of the layout: those of a model, or of a judge and a model."""
        return ()

    def open_file(self, name: str, path: Path) -> ReleaseFile | None:
        """Open a file; None if it is one of another kind that the layout does not speak of.

        Raises:
            InputError: It is damaged, or a JSON file of something else, which may be in a repository.
        """
        if path.suffix.lower() == ".json":
            value = read_json(path)
            kind = self.kind_of(value, name)
            return ReleaseFile(path, name, value, kind or "")
        self.content.warnings.append(f"{name}: not part of {self.title}'s layout; left out")
        return None

    def kind_of(self, value: Json, name: str) -> str | None:
        """The kind of a JSON file; None if it is not of this layout."""
        raise NotImplementedError

    def subject(self, file: ReleaseFile) -> tuple[object, ...]:
        """What a file is about. Two files of one kind, subject and value are the same."""
        return (file.path.name,)

    def plain(self) -> Callable[[SourceFile], Json] | None:
        """Makes the document of a file in our form; None for a layout that is only read."""
        return None

    def assemble(self) -> None:
        """Put what was read into the tables of `content`."""
        raise NotImplementedError

    def read(self) -> Content:
        """Read everything.

        Raises:
            InputError: A file is damaged, contradicts another, or there are no files of this layout.
        """
        files = self.collect()
        if not files:
            raise InputError(f"nothing of {self.title} here", file=self.source, hint=self.expected)
        self.read_files(files)
        self.assemble()
        plain = self.plain()
        for file in files:
            record = self.files[file.name]
            self.content.source_files.append(keep_form(record, file.value, plain(record)) if plain else record)
        return self.content

    def read_files(self, files: list[ReleaseFile]) -> None:
        """Read files in the order of kinds."""
        for kind, read in self.kinds.items():
            same: dict[tuple[object, ...], list[ReleaseFile]] = defaultdict(list)
            for file in files:
                if file.kind != kind:
                    continue
                subject = self.subject(file)
                known = next((other for other in same[subject] if other.value == file.value), None)
                if known is None:
                    read(file)
                    assert file.name in self.files, f"{read.__qualname__} must call add_file for {file.name}"
                    same[subject].append(file)
                else:
                    # The same file in two folders is read once.
                    self.files[file.name] = self.files[known.name].model_copy(update={"path": file.name})

    def collect(self) -> list[ReleaseFile]:
        """Open the files at the source, and warn of those that are something else."""
        if not self.source.exists():
            raise InputError("no such file or folder", file=self.source, hint="check the path")
        single, whole = self.source.is_file(), self.source.absolute()
        root = whole.parent if single else whole
        # A part of a release keeps the folders that give its kind and language.
        has_parts = not single and any(self.is_layout_folder(child.name) for child in root.iterdir() if child.is_dir())
        while self.is_layout_folder(root.name) and not (root == whole and has_parts):
            root = root.parent
        files: list[ReleaseFile] = []
        strange: list[InputError] = []
        for path in [self.source] if single else visible_files(self.source):
            name = path.absolute().relative_to(root).as_posix()
            file = self.open_file(name, path)
            if file is None:
                continue
            if file.kind:
                files.append(file)
                continue
            is_table = path.suffix.lower() == ".csv"
            problem = InputError(
                f"not a {'table' if is_table else 'file'} of {self.title}",
                file=path,
                line=1 if is_table else None,
                place="$",
                value=",".join(file.columns) if is_table else file.value,
                hint=self.expected,
            )
            if any(map(self.is_layout_folder, PurePosixPath(name).parts[:-1])):
                raise problem
            strange.append(problem)
            self.content.warnings.append(f"{name}: {problem.problem}; left out")
        if strange and not files:
            raise strange[0]
        # If only the imported folder itself can name the model, its name is a part of the paths.
        unnamed = [file for file in files if file.kind in self.named_kinds and not self.names(file.name)]
        if any(self.names(f"{root.name}/{file.name}") for file in unnamed):
            for file in files:
                file.name = f"{root.name}/{file.name}"
        return files

    def add_file(self, file: ReleaseFile, records: Iterable[str], **extra: Json) -> None:
        """Note a file with the identifiers of its records, in order; empty values of `extra` are left out."""
        kept = {key: value for key, value in extra.items() if value not in (None, "", [], {})}
        with file.making("file name"):
            self.files[file.name] = SourceFile(
                format=self.format, path=file.name, kind=file.kind, records=tuple(records), extra=kept
            )


class DocumentReader(ReleaseReader):
    """Reads JSON documents of a layout that is only read. Several files may name the same video or clip."""

    def __init__(self, source: Path) -> None:
        super().__init__(source)
        self.clips: dict[str, Clip] = {}
        self.origins: dict[str, str] = {}
        """The file of each dialogue."""

    def open_file(self, name: str, path: Path) -> ReleaseFile | None:
        """Open a JSON file; the layout has no others."""
        return super().open_file(name, path) if path.suffix == ".json" else None

    def assemble(self) -> None:
        """Put what was read into the tables."""
        self.content.videos, self.content.clips = list(self.videos.values()), list(self.clips.values())
        self.content.dialogues = list(self.dialogues.values())

    def add_video(self, file: ReleaseFile, place: str, video: Video) -> None:
        """Add a video, or fill in the fields that an earlier file left empty.

        Raises:
            InputError: It is in two splits.
        """
        known = self.videos.get(video.id)
        if known is None:
            self.videos[video.id] = video
            return
        if video.split and known.split and video.split != known.split:
            raise file.error(
                f"video '{video.id}' is in split '{known.split}' too", place, video.split, "splits never share a video"
            )
        missing = {
            name: value
            for name in type(video).model_fields
            if (value := getattr(video, name)) and not getattr(known, name) and name != "extra"
        }
        missing["extra"] = {**video.extra, **known.extra}
        missing["summaries"] = {**video.summaries, **known.summaries}
        self.videos[video.id] = known.model_copy(update=missing)

    def add_clip(self, clip: Clip) -> None:
        """Add a clip, or fill in the fields that an earlier file left empty."""
        known = self.clips.get(clip.id)
        if known is not None:
            clip = known.model_copy(
                update={"interval": known.interval or clip.interval, "extra": {**clip.extra, **known.extra}}
            )
        self.clips[clip.id] = clip

    def add_dialogue(self, file: ReleaseFile, place: str, dialogue: Dialogue) -> str:
        """Add a dialogue and return its identifier.

        Raises:
            InputError: The identifier is taken in this file, or by another dialogue.
        """
        origin = self.origins.setdefault(dialogue.id, file.name)
        if dialogue.id in self.dialogues and (origin == file.name or self.dialogues[dialogue.id] != dialogue):
            raise file.error(
                "this identifier appears twice", place, dialogue.id, "remove one of the two, or give it another"
            )
        self.dialogues[dialogue.id] = dialogue
        return dialogue.id


@dataclass
class ReleaseWriter:
    """Plans the files of a release, then writes them."""

    content: Content
    folder: Path
    lost: list[str] = field(default_factory=list)
    """A line for each thing that the layout cannot express."""
    files: list[SourceFile] = field(default_factory=list)
    places: dict[tuple[str, tuple[str, ...]], dict[str, int]] = field(default_factory=dict)
    """Index in `files` by kind, by the fields that distinguish files, and by the values of these fields."""
    taken: set[str] = field(default_factory=set)
    format: ClassVar[str]

    def write_files(self, text: Callable[[SourceFile], str]) -> list[str]:
        """Write the planned files, and return the lines of what is lost."""
        if not self.files:
            self.lost.append("the benchmark holds nothing that this layout can hold")
        for file in self.files:
            path = self.folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text(file).encode())
        return self.lost

    def lose(self, count: int, what: str) -> None:
        """Add a line for a loss, if there is one."""
        if count:
            self.lost.append(f"{what}: {count:,}")

    def records_in(self, *kinds: str) -> set[str]:
        """The identifiers of the records in files of some kinds; of all kinds by default."""
        return {
            record
            for file in self.files
            if file.kind in kinds or not kinds
            for record in (*file.records, *file.extra.get("twins", ()))
        }

    def add(self, kind: str, path: str, ids: Iterable[str], about: dict[str, Json], **more: Json) -> int:
        """Append records to the file of that kind and subject, or plan a new one; return its index in the plan."""
        keys, subject = tuple(about), repr(list(about.values()))
        if (kind, keys) not in self.places:
            self.places[kind, keys] = {
                repr([file.extra.get(key) for key in keys]): index
                for index, file in enumerate(self.files)
                if file.kind == kind
            }
        places = self.places[kind, keys]
        if subject in places:
            file = self.files[places[subject]]
            self.files[places[subject]] = file.model_copy(update={"records": (*file.records, *ids)})
            return places[subject]
        self.taken = self.taken or {file.path for file in self.files}
        stem, dot, suffix = path.rpartition(".")
        number = 1
        while path in self.taken:
            number += 1
            path = f"{stem}_{number}{dot}{suffix}"
        self.taken.add(path)
        places[subject] = len(self.files)
        extra = {**about, **more}
        self.files.append(SourceFile(format=self.format, path=path, kind=kind, records=tuple(ids), extra=extra))
        return places[subject]

    def leave_answers_out(self) -> None:
        """Count the answers and scores that no imported file holds: only those that came from a file are written."""
        answered, scored = set(), set()
        for file in self.files:
            model, judge, unit = (file.extra.get(key) for key in ("model", "judge", "unit"))
            answered |= {(model, unit or "dialogue", name) for name in file.records if file.kind != "results"}
            unit = "turn" if file.kind in JUDGED_TURNS else unit
            scored |= {(model, judge, unit, name) for name in file.records}
        answers = sum((row.model, row.unit, row.unit_id) not in answered for row in self.content.answers)
        scores = sum((row.model, row.judge, row.unit, row.unit_id) not in scored for row in self.content.scores)
        self.lose(answers, "model answers that no imported file holds are left out")
        self.lose(scores, "scores that no imported file holds are left out")

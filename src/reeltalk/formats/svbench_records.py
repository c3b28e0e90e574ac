"""What is known while SVBench's files are read, and how each kind of file adds to it."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from reeltalk.errors import InputError
from reeltalk.formats import svbench_layout as layout
from reeltalk.formats.svbench_documents import END, START, first
from reeltalk.formats.svbench_layout import FORMAT, LANGUAGE, Place, seconds_of
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, DialoguePath, QAChain, Turn
from reeltalk.schema.ids import ChainId, ClipId, VideoId
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json, Name
from reeltalk.schema.scoring import JudgedScore
from reeltalk.store.content import Content
from reeltalk.store.documents import parse, placed

Times = tuple[str | float | None, str | float | None]
Unit = Literal["chain", "path", "dialogue"]


@dataclass
class File:
    """One file that was opened, and what its name and folders say."""

    name: str
    """Relative to the imported folder."""
    path: Path
    kind: str
    value: Json
    """The document; of a CSV file its rows."""
    columns: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    @property
    def place(self) -> Place:
        """What the folders above say."""
        return Place.of(self.name)

    @property
    def language(self) -> str:
        """Two letters; English where no folder says."""
        return self.place.language or layout.DEFAULT_LANGUAGE

    @property
    def video(self) -> str:
        """The video that a file of the release is about: its name."""
        return self.path.stem


@dataclass
class Records:
    """The records made so far, and what the files of every kind need to add to them."""

    source: Path
    content: Content = field(default_factory=Content)
    videos: dict[str, Video] = field(default_factory=dict)
    clips: dict[str, Clip] = field(default_factory=dict)
    clip_of: dict[tuple[str, float, float], ClipId] = field(default_factory=dict)
    """The clip of a video by its times: the languages of a video share clips, however they spell the times."""
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
    seen: dict[tuple[str, ...], str] = field(default_factory=dict)
    """Which file holds the chains, links, paths … of a video in a language."""

    def add_file(self, file: File, records: Iterable[str], **extra: Json) -> None:
        """Record a file with the identifiers it holds, in order; what is empty in `extra` is left out."""
        kept = {key: value for key, value in extra.items() if value not in (None, [])}
        with placed(file.path, "file name"):
            self.files[file.name] = SourceFile(
                format=FORMAT, path=file.name, kind=file.kind, records=tuple(records), extra=kept
            )

    def once(self, file: File, *what: str) -> None:
        """Refuse a second file of the same kind about the same thing."""
        other = self.seen.setdefault((file.kind, *what), file.name)
        if other != file.name:
            raise InputError(
                f"{' '.join(what)}: {other} has this too", file=file.path, place="$", hint="remove one of the two files"
            )

    def video(self, video_id: str, file: File, place: str) -> VideoId:
        """The video of that name, made where it is new."""
        if video_id not in self.videos:
            check_name(video_id, file, place)
            self.videos[video_id] = Video(id=VideoId(video_id))
        return VideoId(video_id)

    def clip(self, video_id: str, times: Times, file: File, place: str, line: int | None = None) -> ClipId | None:
        """The clip between two times, made where it is new; None where the times are not known."""
        start, end = times
        if start is None or end is None:
            if start is not end:
                raise InputError("one of the two times is null", file=file.path, place=place, hint="set both or none")
            return None
        key = (video_id, seconds_of(start), seconds_of(end))
        if key not in self.clip_of:
            spelling = {name: time for name, time in ((START, start), (END, end)) if not isinstance(time, float)}
            with placed(file.path, place, line=line):
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
        """When a chain is, where that is known."""
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
        with placed(file.path, place):
            chain = QAChain(
                id=ChainId(f"{video_id}/{language}/{number}"),
                video_id=VideoId(video_id),
                clip_id=clip_id,
                turns=tuple(turn_in(question, answer, language, asked_at_s) for question, answer in pairs),
                extra=extra or {},
            )
        self.chains[key][number] = chain
        return chain

    def steps_back(self, earlier: QAChain, later: QAChain) -> bool:
        """True if `later` comes before `earlier`: by time, or by place where the times are equal or unknown."""
        before, after = self.interval(earlier), self.interval(later)
        if before and after and before != after:
            return after.start_s < before.start_s
        return number_of(later) < number_of(earlier)


def check_name(text: str, file: File, place: str, line: int | None = None) -> str:
    """The text, if it can be an identifier."""
    return parse(Name, text, file=file.path, place=place, line=line)


def rows_of(file: File) -> list[Json]:
    """The entries of a file that is a list."""
    return parse(list[Any], file.value, file=file.path)


def number_of(chain: QAChain) -> int:
    """A chain's place in its file."""
    return int(chain.id.rpartition("/")[2])


def turn_in(question: str, answer: str, language: str, asked_at_s: float | None) -> Turn:
    """A turn of a language."""
    return Turn(question=question, references=(answer,), asked_at_s=asked_at_s, labels={LANGUAGE: (language,)})


def refuse_unequal(lists: dict[str, Any], file: File, place: str) -> None:
    """Refuse parallel lists that differ in length."""
    lengths = {name: len(values) for name, values in lists.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"parallel lists differ in length: {counts}", file=file.path, place=place)


def pairs_of(chain: QAChain) -> list[tuple[str, str]]:
    """A chain's questions and answers."""
    return [(turn.question, first(turn.references)) for turn in chain.turns]

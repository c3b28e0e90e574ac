"""The tables of a benchmark: their records, and how their lines are read and written."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

from pydantic import ValidationError

from reeltalk.errors import BenchmarkError, InputError
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, QAChain
from reeltalk.schema.gates import GateResult
from reeltalk.schema.knowledge import Entity, Event, Fact, IdentityChange, KnownBox, Sighting
from reeltalk.schema.labels import TagProposal
from reeltalk.schema.media import Clip, SampledFrame, Scene, Shot, Video
from reeltalk.schema.outcomes import Rejected, Screening, SourceFile
from reeltalk.schema.record import Record
from reeltalk.schema.review import Review
from reeltalk.schema.rewriting import Rewrite
from reeltalk.schema.scoring import JudgedScore, Rubric
from reeltalk.schema.speech import Utterance
from reeltalk.schema.stream import ProactiveTask
from reeltalk.store.documents import input_error
from reeltalk.store.foreign import open_file

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Table(Generic[R]):
    """A table by name. `benchmark.read(VIDEOS)` yields `Video`."""

    name: str
    record: type[R]
    key: Callable[[R], str] | None
    """The unique key of a row; None if rows may repeat."""

    @property
    def file_name(self) -> str:
        """Name of the table's file in the benchmark."""
        return f"{self.name}.jsonl"


def _answer_key(row: Answer) -> str:
    return f"{row.model}/{row.unit}/{row.unit_id}/{row.turn_index}"


def _proposal_key(row: TagProposal) -> str:
    return f"{row.unit}/{row.unit_id}/{row.turn_index}/{row.vocabulary}"


def _score_key(row: JudgedScore) -> str:
    return f"{row.model}/{row.judge}/{row.unit}/{row.unit_id}/{row.turn_index}/{row.criterion}"


VIDEOS = Table("videos", Video, lambda row: row.id)
SCREENINGS = Table("screenings", Screening, lambda row: row.video_id)
SHOTS = Table("shots", Shot, lambda row: f"{row.video_id}/{row.interval.start_s}")
FRAMES = Table("frames", SampledFrame, lambda row: f"{row.video_id}/{row.pts_s}")
SPEECH = Table("speech", Utterance, None)
CLIPS = Table("clips", Clip, lambda row: row.id)
SCENES = Table("scenes", Scene, lambda row: row.id)
CHAINS = Table("chains", QAChain, lambda row: row.id)
LINKAGES = Table("linkages", Linkage, None)
REWRITES = Table("rewrites", Rewrite, lambda row: row.id)
PATHS = Table("paths", DialoguePath, lambda row: row.id)
DIALOGUES = Table("dialogues", Dialogue, lambda row: row.id)
PROACTIVE = Table("proactive", ProactiveTask, lambda row: row.id)
ENTITIES = Table("entities", Entity, lambda row: row.id)
EVENTS = Table("events", Event, lambda row: row.id)
FACTS = Table("facts", Fact, None)
KNOWN_BOXES = Table("known_boxes", KnownBox, None)
SIGHTINGS = Table("sightings", Sighting, None)
IDENTITY_CHANGES = Table("identity_changes", IdentityChange, None)
GATES = Table("gates", GateResult, None)
TAG_PROPOSALS = Table("tag_proposals", TagProposal, _proposal_key)
ANSWERS = Table("answers", Answer, _answer_key)
SCORES = Table("scores", JudgedScore, _score_key)
RUBRICS = Table("rubrics", Rubric, lambda row: f"{row.name}/{row.version}")
REVIEWS = Table("reviews", Review, None)
REJECTED = Table("rejected", Rejected, None)
SOURCE_FILES = Table("source_files", SourceFile, lambda row: f"{row.format}/{row.path}")

TABLES: dict[str, Table[Any]] = {
    table.name: table
    for table in (
        VIDEOS,
        SCREENINGS,
        SHOTS,
        FRAMES,
        SPEECH,
        CLIPS,
        SCENES,
        CHAINS,
        LINKAGES,
        REWRITES,
        PATHS,
        DIALOGUES,
        PROACTIVE,
        ENTITIES,
        EVENTS,
        FACTS,
        KNOWN_BOXES,
        SIGHTINGS,
        IDENTITY_CHANGES,
        GATES,
        TAG_PROPOSALS,
        ANSWERS,
        SCORES,
        RUBRICS,
        REVIEWS,
        REJECTED,
        SOURCE_FILES,
    )
}
"""All tables in the order in which stages fill them."""


def read_rows(path: Path, record: type[R]) -> Iterator[R]:
    """The rows of a JSON Lines file, one at a time.

    Raises:
        BenchmarkError: The file is absent.
        InputError: A line does not hold a `record`; names line and field.
    """
    try:
        stream = open_file(path)
    except FileNotFoundError:
        raise BenchmarkError(f"{path} is missing; run 'reeltalk validate' to see what else is") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    with stream:
        for number, line in enumerate(stream, start=1):
            try:
                yield record.model_validate_json(line)
            except ValidationError as error:
                raise input_error(error, file=path, line=number, place="") from None
            except (UnicodeDecodeError, RecursionError):
                raise InputError("not a JSON line", file=path, line=number) from None


def open_rows(path: Path, record: type[R]) -> Iterator[R]:
    """Like `read_rows`, but open the file at once, so that rows come from it even if it is replaced.

    Raises:
        BenchmarkError: As `read_rows`.
        InputError: As `read_rows`; for the first line at once.
    """
    rows = read_rows(path, record)
    first = list(islice(rows, 1))
    return chain(first, rows)


def write_rows(stream: IO[bytes], rows: Iterable[Record]) -> int:
    """Write rows as JSON Lines and return their number."""
    count = 0
    for row in rows:
        stream.write(row.to_json().encode())
        stream.write(b"\n")
        count += 1
    return count

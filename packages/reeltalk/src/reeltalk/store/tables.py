"""The tables of a benchmark: their records, and how their lines are written."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import IO, Any, Generic, TypeVar

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
        VIDEOS, SCREENINGS, SHOTS, FRAMES, SPEECH, CLIPS, SCENES, CHAINS, LINKAGES, REWRITES, PATHS, DIALOGUES,
        PROACTIVE, ENTITIES, EVENTS, FACTS, KNOWN_BOXES, SIGHTINGS, IDENTITY_CHANGES, GATES, TAG_PROPOSALS, ANSWERS,
        SCORES, RUBRICS, REVIEWS, REJECTED, SOURCE_FILES,
    )
}  # fmt: skip
"""All tables in the order in which stages fill them."""
PLAYED_TABLES: tuple[Table[Any], ...] = (VIDEOS, CLIPS, SCENES, SPEECH, CHAINS, LINKAGES, REWRITES, PATHS, DIALOGUES)
"""Those that are read when a benchmark is played or judged."""


def write_rows(stream: IO[bytes], rows: Iterable[Record]) -> int:
    """Write rows as JSON Lines and return their number."""
    count = 0
    for row in rows:
        stream.write(row.to_json().encode())
        stream.write(b"\n")
        count += 1
    return count

"""A benchmark's content: the result of an importer, and the input of an exporter."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

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
from reeltalk.store.tables import TABLES, Table

R = TypeVar("R", bound=Record)


class ReadsTables(Protocol):
    """Reads rows one at a time, from a benchmark on disk or from content in memory."""

    def read(self, table: Table[R]) -> Iterator[R]:
        """The rows of a table."""
        ...

    def graph_texts(self) -> Iterator[tuple[str, str]]:
        """Each graph's name with its N-Quads text."""
        ...


@dataclass
class Content:
    """Rows of every table, graphs and media. Fields are named as the tables are.

    They are in memory, or look like lists and stay in files (`Benchmark.stored_content`).
    """

    videos: list[Video] = field(default_factory=list)
    screenings: list[Screening] = field(default_factory=list)
    shots: list[Shot] = field(default_factory=list)
    frames: list[SampledFrame] = field(default_factory=list)
    speech: list[Utterance] = field(default_factory=list)
    clips: list[Clip] = field(default_factory=list)
    scenes: list[Scene] = field(default_factory=list)
    chains: list[QAChain] = field(default_factory=list)
    linkages: list[Linkage] = field(default_factory=list)
    rewrites: list[Rewrite] = field(default_factory=list)
    paths: list[DialoguePath] = field(default_factory=list)
    dialogues: list[Dialogue] = field(default_factory=list)
    proactive: list[ProactiveTask] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    known_boxes: list[KnownBox] = field(default_factory=list)
    sightings: list[Sighting] = field(default_factory=list)
    identity_changes: list[IdentityChange] = field(default_factory=list)
    gates: list[GateResult] = field(default_factory=list)
    tag_proposals: list[TagProposal] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    scores: list[JudgedScore] = field(default_factory=list)
    rubrics: list[Rubric] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    source_files: list[SourceFile] = field(default_factory=list)
    graphs: dict[str, str] = field(default_factory=dict)
    """N-Quads text by the name of the clip or activity it describes."""
    media: dict[str, Path] = field(default_factory=dict)
    """Path of each video file that is available, by the SHA-256 of its bytes."""
    warnings: list[str] = field(default_factory=list)
    """Warnings of an importer; printed, not stored."""

    def read(self, table: Table[R]) -> Iterator[R]:
        """The rows of a table."""
        return iter(getattr(self, table.name))

    def graph_texts(self) -> Iterator[tuple[str, str]]:
        """Each graph's name with its N-Quads text."""
        return iter(self.graphs.items())

    def rows(self) -> Iterator[tuple[str, list[Record]]]:
        """Each table's name with its rows, in table order, empty tables included."""
        for name in TABLES:
            yield name, getattr(self, name)

    def source_files_of(self, format_name: str, kind: str | None = None) -> list[SourceFile]:
        """The files that were imported in one format, in order, of one kind if it is given."""
        return [
            file for file in self.source_files if file.format == format_name and (kind is None or file.kind == kind)
        ]

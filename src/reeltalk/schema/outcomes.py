"""What a stage or a check reports: rejected records, screened videos, imported files, counts and problems."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from reeltalk.schema.ids import VideoKey
from reeltalk.schema.record import Finite, Json, Name, Record, Seconds
from reeltalk.schema.texts import path_problem


def _stays_inside(path: str) -> str:
    # An exporter writes to this path: a benchmark from a stranger must not reach outside the folder.
    if problem := path_problem(path):
        raise ValueError(f"must be a relative path with forward slashes that stays inside its folder, not {problem}")
    return path


class Rejected(Record):
    """A record that was refused, and why. Data, not an exception: it is counted and shown."""

    table: Name
    record_id: Name
    reason: str
    place: str | None = None
    """Where the record stood: file, line or JSON path."""
    content: Json = None
    """The refused record itself, as the source had it."""


class FilterResult(BaseModel):
    """What one filter found."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    filter: Name
    outcome: Literal["passed", "rejected", "not applied"]
    value: Finite | None = None
    low: Finite | None = None
    """Smallest value that passes; None for no bound."""
    high: Finite | None = None
    reason: str | None = None
    """Why it rejected, or was not applied."""


class Screening(Record):
    """What the filters found about a video, kept or not. A filter that a rejection spared is not listed."""

    video_id: VideoKey
    kept: bool
    filters: tuple[FilterResult, ...]
    quality: Finite | None = None
    """Mean BRISQUE score of up to three key frames, about 0 (natural) to 100 (distorted)."""
    decoded_s: Seconds = 0.0
    """How much of the video was decoded; less than all if it could no longer pass."""
    damaged_packets: Annotated[int, Field(ge=0)] = 0
    sheet: Annotated[Name, AfterValidator(_stays_inside)] | None = None
    """Contact sheet of the key frames, a PNG file of the benchmark."""


class SourceFile(Record):
    """One file of a published layout, so that an exporter can write the same files again.

    `extra` holds what stands in the file outside its records.
    """

    format: Name
    """The name under which the format is imported, as `svbench`."""
    path: Annotated[Name, AfterValidator(_stays_inside)]
    """Relative to the folder that was imported, with forward slashes."""
    kind: Name
    """What the file is in its format, as `dialogue` or `checklist`."""
    records: tuple[Name, ...] = ()
    """Identifiers of the records that the file holds, in its order."""


class StageReport(Record):
    """What a stage did with its records."""

    stage: Name
    counts: dict[str, Annotated[int, Field(ge=0)]]
    """Rows written by table."""
    rejected: tuple[Rejected, ...] = ()
    warnings: tuple[str, ...] = ()

    def lines(self, *, shown: int = 5) -> Iterable[str]:
        """The report as lines of text; at most `shown` of the rejections and of the warnings."""
        counts = ", ".join(f"{count:,} {table}" for table, count in self.counts.items()) or "nothing"
        yield f"{self.stage}: {counts}" + (f"; {len(self.rejected):,} rejected" if self.rejected else "")
        for rejected in self.rejected[:shown]:
            yield f"  rejected {rejected.record_id}: {rejected.reason}" + (
                f" ({rejected.place})" if rejected.place else ""
            )
        for warning in self.warnings[:shown]:
            yield f"  warning: {warning}"
        hidden = max(0, len(self.rejected) - shown) + max(0, len(self.warnings) - shown)
        if hidden:
            yield f"  … and {hidden:,} more"


Status = Literal["ok", "optional", "warning", "problem"]
"""`optional` is what is not there and is needed only for what the check names."""


class Check(Record):
    """One thing that was looked at."""

    area: Name
    """What it belongs to, as `codecs` or `media`."""
    subject: Name
    status: Status
    found: str
    advice: str = ""
    """What to do next; empty if nothing is to be done."""

    def __str__(self) -> str:
        return f"{self.status:<8}  {self.area}: {self.subject}: {self.found}" + (
            f"; {self.advice}" if self.advice else ""
        )

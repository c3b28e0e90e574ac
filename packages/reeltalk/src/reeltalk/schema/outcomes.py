"""What a stage or a check reports: rejected records, screened videos, imported files, counts and problems."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from reeltalk.errors import InputError, shorten
from reeltalk.schema.overview import HasOverview, Overview
from reeltalk.schema.record import LONGEST_NAME, Finite, Json, Name, Record, Seconds, VideoKey
from reeltalk.schema.texts import path_problem

LONGEST_LINE: Final = 300
"""Most characters of a line of a report on a terminal."""


def _stays_inside(path: str) -> str:
    # An exporter writes to this path, so a benchmark from a stranger must not name a path outside the folder.
    if problem := path_problem(path):
        raise ValueError(f"must be a relative path with forward slashes that stays inside its folder, not {problem}")
    return path


def _plain(text: str) -> str:
    """A text in one line, with escapes for characters that a table does not hold."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class Rejected(Record):
    """A record that was refused, and why. Data, not an exception: it is counted and shown."""

    table: Name
    record_id: Name
    reason: str
    place: str | None = None
    """Place of the record: file, line or JSON path."""
    content: Json = None
    """The refused record in the source's own form."""

    @classmethod
    def of(cls, table: str, fault: InputError) -> "Rejected":
        """A row, or a whole file, that is left out of a table because of a fault."""
        row = re.match(r"\$\[\d+\]|row \d+", fault.place or "")
        name = fault.file.name + (f":{fault.line}" if fault.line is not None else f" at {row[0]}" if row else "")
        got = f", got {shorten(fault.value)}" if fault.value is not None else ""
        reason = f"{fault.problem}{got}" + (f"; {fault.hint}" if fault.hint else "")
        place = None if fault.place in (None, "$", row and row[0]) else fault.place
        return cls(
            table=table, record_id=_plain(name)[:LONGEST_NAME], reason=_plain(reason), place=place and _plain(place)
        )


class FilterResult(BaseModel):
    """The result of one filter."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    filter: Name
    outcome: Literal["passed", "rejected", "not applied"]
    value: Finite | None = None
    low: Finite | None = None
    """Smallest value that passes; None for no bound."""
    high: Finite | None = None
    reason: str | None = None
    """The reason for a rejection, or why the filter was not applied."""
    advice: str | None = None
    """How to accept the video all the same: the options that set the bound."""


class RepairedSpeech(BaseModel):
    """What was repaired in the file that says what is spoken in a video."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: Name
    """The file's name."""
    repaired: dict[Name, Annotated[int, Field(ge=1)]]
    """Numbers of repairs by their kind, such as `time_format`."""


class Screening(Record):
    """Results of the filters for a video, kept or not. Filters that did not run after a rejection are not listed."""

    video_id: VideoKey
    kept: bool
    filters: tuple[FilterResult, ...]
    quality: Finite | None = None
    """Mean BRISQUE score of up to three key frames, about 0 (natural) to 100 (distorted)."""
    decoded_s: Seconds = 0.0
    """Decoded length; less than all if the video could no longer pass."""
    damaged_packets: Annotated[int, Field(ge=0)] = 0
    sheet: Annotated[Name, AfterValidator(_stays_inside)] | None = None
    """Contact sheet of the key frames, a PNG file of the benchmark."""
    speech: RepairedSpeech | None = None
    """What was repaired in the file of its speech; None if nothing was."""
    left_out: tuple[str, ...] | None = None
    """What is not read of the files beside the video, and why; None if all is."""


class SourceFile(Record):
    """One file of a published layout, so that an exporter can write the same files again.

    `extra` holds the content of the file outside its records.
    """

    format: Name
    """The name of the format on import, such as `svbench`."""
    path: Annotated[Name, AfterValidator(_stays_inside)]
    """Path relative to the imported folder, with forward slashes."""
    kind: Name
    """The kind of the file in its format, such as `dialogue` or `checklist`."""
    records: tuple[Name, ...] = ()
    """Identifiers of the records that the file holds, in its order."""


class StageReport(HasOverview, Record):
    """The report of a stage."""

    stage: Name
    """Name of the stage."""
    counts: dict[str, Annotated[int, Field(ge=0)]]
    """Rows written by table."""
    rejected: tuple[Rejected, ...] = ()
    """Records that were refused, with reasons."""
    warnings: tuple[str, ...] = ()
    """What to look at, in sentences."""
    left_out: tuple[str, ...] = ()
    """Files beside the videos that could not be read, or not wholly, and why."""
    passed_over: tuple[str, ...] = ()
    """Files that are not read because of their ending, one line for each ending."""
    unread: Annotated[int, Field(ge=0)] = 0
    """Number of videos among the rejected that could not be read."""

    @property
    def complete(self) -> bool:
        """True if every file could be read."""
        return not self.unread and not self.left_out

    def lines(self, *, shown: int | None = 5, listed: Path | None = None) -> Iterable[str]:
        """The report as lines of text.

        Args:
            shown: Most rejections and most warnings, and a tenth of the most lines of the rest; None for all. Long
                lines are cut, too, if it is given.
            listed: The file that holds all, to be named where something is not shown.
        """
        told = {table: count for table, count in self.counts.items() if table != "rejected" or not self.rejected}
        counts = ", ".join(f"{count:,} {table}" for table, count in told.items()) or "nothing"
        yield f"{self.stage}: {counts}" + (f"; {len(self.rejected):,} rejected" if self.rejected else "")
        rejected = [
            f"rejected {row.record_id}: {row.reason}" + (f" ({row.place})" if row.place else "")
            for row in self.rejected
        ]
        warnings = [f"warning: {warning}" for warning in self.warnings]
        rest = [f"left out: {line}" for line in self.left_out] + [f"passed over: {line}" for line in self.passed_over]
        hidden, is_cut = 0, False
        for lines, most in ((rejected, shown), (warnings, shown), (rest, shown and 10 * shown)):
            hidden += max(0, len(lines) - most) if most is not None else 0
            for line in lines[:most]:
                is_long = most is not None and len(line) > LONGEST_LINE
                is_cut |= is_long
                yield f"  {line[:LONGEST_LINE]} …" if is_long else f"  {line}"
        if hidden or (is_cut and listed is not None):
            more = f"… and {hidden:,} more" if hidden else "… and the rest of long lines"
            yield f"  {more}" + (f": all are in {listed}" if listed is not None else "")

    def overview(self) -> Overview:
        """The rows written by table, the rejections and the warnings."""
        return Overview(
            next(iter(self.lines(shown=0))),
            ("rejected", "reason") if self.rejected else (),
            tuple((row.record_id, row.reason) for row in self.rejected),
            (
                *(f"warning: {warning}" for warning in self.warnings),
                *(f"left out: {line}" for line in self.left_out),
                *(f"passed over: {line}" for line in self.passed_over),
            ),
        )


Status = Literal["ok", "optional", "warning", "problem"]
"""`optional`: missing, and needed only for the purpose that the check names."""


class Check(Record):
    """One check of a machine, a benchmark or a run."""

    area: Name
    """The area of the check, such as `codecs` or `media`."""
    subject: Name
    status: Status
    found: str
    advice: str = ""
    """The next step; empty if there is none."""

    def __str__(self) -> str:
        return f"{self.status:<8}  {self.area}: {self.subject}: {self.found}" + (
            f"; {self.advice}" if self.advice else ""
        )

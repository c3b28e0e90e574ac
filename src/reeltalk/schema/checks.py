"""What a look at a machine, a benchmark or a run found: one record a check."""

from typing import Literal

from reeltalk.schema.record import Name, Record

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
    """What to do next; empty where nothing is to be done."""

    def __str__(self) -> str:
        return f"{self.status:<8}  {self.area}: {self.subject}: {self.found}" + (
            f"; {self.advice}" if self.advice else ""
        )

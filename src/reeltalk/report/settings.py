"""What a report on runs shows beyond the runs themselves."""

from pydantic import BaseModel, ConfigDict


class ReportSettings(BaseModel):
    """Settings of a report on runs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

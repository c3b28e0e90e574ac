"""What a report on runs shows beyond the runs themselves."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.report.about import ModelAbout
from reeltalk.report.figure_files import FigureFormat
from reeltalk.report.table_files import TablesFormat


class ReportSettings(BaseModel):
    """Settings of a report on runs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    figures: tuple[FigureFormat, ...] = ()
    """As which files every figure is written too, below `figures/`."""
    tables: tuple[TablesFormat, ...] = ()
    """As which files every table is written too, below `tables/`."""
    about: dict[str, ModelAbout] = Field(default_factory=dict)
    """What is said about models, by their names in the runs."""
    published: tuple[str, ...] = ()
    """Benchmarks whose published numbers are laid beside the runs', as `svbench`."""
    human: Path | None = None
    """People's ratings, besides those in the runs; judges are then compared with them."""
    credit: str | None = None
    """Which measure says in profiles how right an answer is, as `agree`; by default the most exact one that all models
    have."""

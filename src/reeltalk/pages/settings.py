"""What a report on runs shows beyond the runs themselves."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.analysis.about import ModelAbout
from reeltalk.analysis.table_files import TablesFormat
from reeltalk.pages.figure_files import FigureFormat

MediaMode = Literal["none", "link", "copy", "cut"]
"""Where the videos on the pages of dialogues come from."""


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
    media: MediaMode = "none"
    """`link`: pages play the benchmark's files where they lie. `copy`: the files of the videos asked about are copied
    into the site. `cut`: of each, the part that a dialogue is about. `none`: no video and no frames. All but `none`
    need the benchmark."""
    frames: Annotated[int, Field(ge=0, le=64)] = 8
    """Most frames shown at a turn, of those that the models saw; 0 for none."""
    most_frames: Annotated[int, Field(ge=0)] = 5000
    """Most frames in the whole report; the dialogues after that have none, and say so."""

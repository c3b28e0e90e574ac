"""What a report on runs shows beyond the runs: figure and table files, videos, and facts about models.

Imported by the command line, so this module loads no drawing.
"""

import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reeltalk.analysis.table_files import TablesFormat
from reeltalk.errors import InputError
from reeltalk.pages.figure_files import FigureFormat
from reeltalk.store.foreign import open_file


class ModelAbout(BaseModel):
    """What somebody says about a model; None if it is not said."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    parameters_b: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] | None = None
    """Parameters in thousands of millions, all of them where a router chooses some."""
    kind: Annotated[str, Field(min_length=1, max_length=60)] | None = None
    """As `open`, `closed`, `text only`, `video`."""
    frames: Annotated[int, Field(ge=0)] | None = None
    """Most frames that it takes."""
    context: Annotated[int, Field(gt=0)] | None = None
    """Most tokens that it takes."""
    link: Annotated[str, Field(pattern=r"^https?://[^\s]+$", max_length=500)] | None = None
    """Where it is described."""


def read_about(path: Path) -> dict[str, ModelAbout]:
    """Read what is said about models: a TOML file with a table for each, named as in the runs.

    Args:
        path: The file, as `["qwen3-vl-8b"]` with `parameters_b = 8.8` and `kind = "open"` below it.

    Raises:
        InputError: The file cannot be read, is no TOML, or a value is not what its key stands for; names file and key.
    """
    try:
        with open_file(path) as stream:
            text = stream.read().decode("utf-8")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from error
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8", file=path, hint="save it as UTF-8") from error
    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        at = re.search(r"line (\d+)", str(error))
        raise InputError(f"is no TOML: {error}", file=path, line=int(at[1]) if at else None) from error
    return {name: _about(name, value, path) for name, value in found.items()}


def _about(name: str, value: object, path: Path) -> ModelAbout:
    if not isinstance(value, dict):
        raise InputError(
            "a key stands outside of any model's table",
            file=path,
            place=name,
            value=value,
            hint='begin with the model\'s name, as ["qwen3-vl-8b"]',
        )
    try:
        return ModelAbout.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        # [gpt-4.1] is a table 1 in a table gpt-4: the most frequent slip.
        dotted = first["type"] == "extra_forbidden" and isinstance(first["input"], dict)
        keys = ", ".join(ModelAbout.model_fields)
        hint = f'a name with a dot needs quotes: ["{name}.{key}"]' if dotted else f"the keys are {keys}"
        problem = "unknown key" if first["type"] == "extra_forbidden" else first["msg"].lower()
        raise InputError(problem, file=path, place=f"{name}.{key}", value=first["input"], hint=hint) from error


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

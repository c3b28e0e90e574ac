"""The scales on which people rate answers: those of published judges, so that both can be compared, or one's own."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from reeltalk.errors import InputError, SettingError
from reeltalk.judge.protocol import Protocol, protocols
from reeltalk.schema.record import Finite, Name
from reeltalk.store.foreign import open_file

MOST_MARKS: Final = 101


class ScaleCriterion(BaseModel):
    """One thing that people rate."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    """As in the judge's scores."""
    title: Name
    lowest: Finite
    highest: Finite
    step: Annotated[Finite, Field(gt=0)] = 1.0
    levels: dict[str, str]
    """What each mark, or range of marks, means."""
    may_not_apply: bool = False

    @model_validator(mode="after")
    def _has_marks(self) -> Self:
        steps = (self.highest - self.lowest) / self.step
        if not 0 < steps < MOST_MARKS or abs(steps - round(steps)) > 1e-9:
            raise ValueError(f"from lowest to highest there must be 1 to {MOST_MARKS - 1} whole steps")
        return self

    @property
    def marks(self) -> tuple[float, ...]:
        """What can be given, lowest first."""
        count = round((self.highest - self.lowest) / self.step)
        return tuple(self.lowest + number * self.step for number in range(count + 1))


class Scale(BaseModel):
    """What people rate of an answer, or of all answers of a dialogue."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    version: Name
    unit: Literal["turn", "dialogue"]
    """What gets a rating: each answer, or all of a dialogue together."""
    source: str = ""
    criteria: Annotated[tuple[ScaleCriterion, ...], Field(min_length=1, max_length=20)]


RATING: Final = Scale(
    name="rating",
    version="1",
    unit="turn",
    source="reeltalk",
    criteria=(
        ScaleCriterion(
            name="correctness",
            title="Correctness",
            lowest=1,
            highest=5,
            levels={
                "5": "fully correct and complete",
                "4": "correct, a detail is missing",
                "3": "partly correct",
                "2": "mostly wrong",
                "1": "wrong or no answer",
            },
        ),
    ),
)
"""A scale that no judge uses."""


@cache
def scales() -> dict[str, Scale]:
    """The scales that come with reeltalk, by name: those of protocols that people can rate by, and `rating`."""
    found = [_of_protocol(protocol) for protocol in protocols().values() if protocol.rating]
    return {scale.name: scale for scale in (*found, RATING)}


def _of_protocol(protocol: Protocol) -> Scale:
    """Criteria have the names of the judge's scores, so that `reeltalk calibrate` compares the two."""
    return Scale(
        name=protocol.name,
        version=protocol.rating,
        unit="turn" if protocol.unit == "turn" else "dialogue",
        source=protocol.source,
        criteria=tuple(
            ScaleCriterion(
                name=criterion.name,
                title=criterion.asked,
                lowest=criterion.low if criterion.lowest is None else criterion.lowest,
                highest=criterion.high,
                step=criterion.step,
                levels=dict(criterion.levels),
                may_not_apply=criterion.may_not_apply,
            )
            for criterion in protocol.criteria
            if criterion.asked
        ),
    )


def scale_of(name: str) -> Scale:
    """A scale by name, or from a TOML file of the same form.

    Raises:
        SettingError: There is none of the name.
        InputError: The file is no scale; names the field.
    """
    if name in scales():
        return scales()[name]
    path = Path(name)
    if path.suffix != ".toml":
        raise SettingError(f"there is no scale '{name}'; known are {', '.join(scales())}, or give a TOML file")
    try:
        with open_file(path) as stream:
            raw: dict[str, Any] = tomllib.load(stream)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path, hint="check the path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not TOML: {error}", file=path) from None
    if len(raw) != 1 or not isinstance(fields := next(iter(raw.values())), dict):
        raise InputError(
            "a scale file holds one table, named as the scale", file=path, hint="see docs/how-to/review.md"
        )
    try:
        return Scale.model_validate({"name": next(iter(raw)), **fields})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(first["msg"].removeprefix("Value error, "), file=path, place=place) from None

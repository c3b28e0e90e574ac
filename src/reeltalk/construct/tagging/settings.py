"""Settings of `reeltalk tag`."""

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reeltalk.schema.labels import TagUnit

UNITS: Final[tuple[TagUnit, ...]] = ("chain", "dialogue", "path")
Replace = Literal["proposed", "all"]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class TagSettings(BaseModel):
    """Which turns `reeltalk tag` tags."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    units: tuple[TagUnit, ...] = UNITS
    """Turns of which units: chain, dialogue, path; all by default."""
    replace: Replace | None = None
    """Tag also what has tags: `proposed` ones of an earlier tagger, or `all`, those that people or rules gave too."""


class ReviewSettings(BaseModel):
    """Which turns a person should look at."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    review_share: Share = 0.1
    """Share of the turns that is marked for review, those with the closest calls."""
    review_band: tuple[Share, Share] | None = None
    """In place of a share: every turn with a tag whose probability lies within these two."""

    @model_validator(mode="after")
    def _band_is_in_order(self) -> "ReviewSettings":
        if self.review_band is not None and self.review_band[0] > self.review_band[1]:
            raise ValueError(
                f"--review-band {self.review_band[0]:g} {self.review_band[1]:g}: the lower one comes first"
            )
        return self

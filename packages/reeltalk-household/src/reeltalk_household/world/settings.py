"""Settings of filming."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from reeltalk.schema.settings import Settings
from reeltalk_household.world.house import LARGEST_HOUSE


class FilmSettings(Settings):
    """Settings of `reeltalk world film`."""

    scenarios: Annotated[int, Field(ge=1)] = 20
    """Number of videos to film."""
    houses: Annotated[int, Field(ge=1, le=500)] = 5
    """Number of houses; each has its own rooms, furniture, colours and people."""
    first_house: Annotated[int, Field(ge=1, le=LARGEST_HOUSE - 500)] = 1
    """Number of the first house."""
    dev_houses: Annotated[int, Field(ge=0)] | None = None
    """Number of houses whose videos are the dev split; one in five by default, and at least one of three or more."""
    test_houses: Annotated[int, Field(ge=0)] | None = None
    """Number of houses whose videos are the test split; one in five by default."""
    seed: int = 7
    """Decides the scenarios and their views."""
    width_px: Annotated[int, Field(ge=320, le=1280, multiple_of=32)] = 640
    """Width of the pictures; the height is 9/16 of it."""
    fps: Annotated[int, Field(ge=2, le=60)] = 10
    """Frames a second."""
    boxes_fps: Annotated[float, Field(gt=0, le=60)] = 1.0
    """How many times a second the box of each visible object is stored; at most `fps`."""
    view: Literal["mixed", "switching", "fixed"] = "mixed"
    """switching cuts to near views, fixed shows whole rooms, mixed alternates between both."""
    labels: bool = False
    """Write the names of objects into the pictures."""
    min_duration_s: Annotated[float, Field(ge=0)] = 60.0
    """Shortest length of a video in seconds."""
    max_duration_s: Annotated[float, Field(gt=0)] = 180.0
    """Longest length of a video in seconds."""

    @model_validator(mode="after")
    def _fits_together(self) -> "FilmSettings":
        if self.dev + self.test > self.houses:
            raise ValueError(f"{self.dev} dev and {self.test} test houses are more than {self.houses} houses")
        if self.min_duration_s > self.max_duration_s:
            raise ValueError(
                f"the shortest length of a video, {self.min_duration_s:g} s, is above the longest, "
                f"{self.max_duration_s:g} s; lower --min-duration-s or raise --max-duration-s"
            )
        return self

    @property
    def dev(self) -> int:
        """Number of houses of the dev split."""
        if self.dev_houses is not None:
            return self.dev_houses
        # A house is left to learn from.
        return min(max(1, self.houses // 5), max(0, self.houses - self.test - 1))

    @property
    def test(self) -> int:
        """Number of houses of the test split."""
        return -(-self.houses // 5) if self.test_houses is None and self.houses > 1 else self.test_houses or 0

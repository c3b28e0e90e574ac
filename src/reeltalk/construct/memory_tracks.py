"""What the memory bank keeps: its thresholds, and objects at places as a view of the room shows them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from reeltalk.schema.knowledge import Box, Share
from reeltalk.video.appearance import Appearance, similarities

Numbers = NDArray[np.float64]
Corners = NDArray[np.float64]
"""(N, 4): left, top, right, bottom."""


class MemorySettings(BaseModel):
    """Thresholds of the memory bank. Similarities are those of `video.appearance`, 0 to 1."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    same_view: Share = 0.8
    """Frames whose whole pictures are at least this alike show one place, even where too few objects say so."""
    place_matches: Annotated[int, Field(ge=1)] = 3
    """So many objects must stand as a place has them for a frame to show it."""
    place_share: Share = 0.4
    """And so great a share of the objects of the frame."""
    settled_share: Share = 0.7
    """Where so many objects stand as before, the camera has not moved and no other place is tried."""
    position_iou: Share = 0.3
    """An object stands where it stood if its box overlaps at least so much."""
    position_weight: Share = 0.5
    """What position counts against appearance where both speak."""
    min_match: Share = 0.35
    """Least sum of both at which an object is one of the place's."""
    min_visual: Share = 0.3
    """Objects less alike than this are not matched, however near."""
    reach_per_s: Annotated[float, Field(ge=0)] = 0.35
    """How far an object may move in a second, in widths of the picture."""
    reach_s: Annotated[float, Field(ge=0)] = 3.0
    """How long after it was last seen an object may be looked for near where it was."""
    other_class: Share = 0.2
    """What is taken off for another class at the same position: detectors change their minds."""
    loose_visual: Share = 0.55
    """An object that is at no known position is one that is loose if they are at least this alike."""
    settled_visual: Share = 0.94
    """And one that was never seen to leave its position only if they are this alike."""
    merge_visual: Share = 0.94
    """Two identities that were never seen together become one if they are at least this alike."""
    mature: Annotated[int, Field(ge=1)] = 3
    """A track is compared for merging after so many sightings."""
    moved_share: Annotated[float, Field(ge=0)] = 0.5
    """An object moved if its middle moved by this share of its size."""
    restless_share: Share = 0.15
    """An identity that moved in this share of its sightings is always loose, also while it rests: people and pets."""
    restless_moves: Annotated[int, Field(ge=1)] = 3
    """And at least so many times."""
    new_view: Share = 0.85
    """An object that looks less alike than this to all its kept views adds a view."""
    most_places: Annotated[int, Field(ge=1)] = 60
    """How many places are compared with a frame, those that were seen last: a film has a new one in every shot."""
    most_views: Annotated[int, Field(ge=1)] = 6
    """How many views of a track are kept."""


class Observation(NamedTuple):
    """One object in one frame, as the bank is told of it."""

    box: Box
    class_name: str
    colour: str
    appearance: Appearance


class View(NamedTuple):
    """How a frame lies in its place: a point x of the frame is `x * scale + (left, top)` of the place."""

    scale: float
    left: float
    top: float

    def to_place(self, boxes: Corners) -> Corners:
        """Corners of a frame in the place."""
        return np.asarray(boxes * self.scale + np.array([self.left, self.top] * 2), np.float64)

    def to_frame(self, boxes: Corners) -> Corners:
        """Corners of the place in the frame."""
        return np.asarray((boxes - np.array([self.left, self.top] * 2)) / self.scale, np.float64)


EDGE: Final = 0.005
"""A box that comes so near to the picture's edge may be cut off by it."""
STRAIGHT: Final = View(1.0, 0.0, 0.0)


@dataclass
class Track:
    """An object at a place."""

    number: int
    identity: int
    place: int
    box: Numbers
    """In the place."""
    views: list[Appearance]
    classes: Counter[str]
    colours: Counter[str]
    first_s: float
    last_s: float
    moved_s: float
    """When it last moved; minus infinity where it never did."""
    seen: int = 0
    moves: int = 0
    missed: int = 0
    """In how many frames since it was last seen its position was in view and it was not there."""
    unsure: bool = False
    """Linked to an identity that was not known to have left its position."""

    @property
    def class_name(self) -> str:
        """The class that most sightings have."""
        return min(self.classes, key=lambda name: (-self.classes[name], name))

    def is_loose(self, settings: MemorySettings) -> bool:
        """True where it moved just now, or is missing where it was."""
        return self.missed > 0 or self.last_s - self.moved_s <= settings.reach_s

    def look_at(self, observation: Observation, settings: MemorySettings) -> None:
        """Count a sighting, and keep the view where it is new."""
        self.classes[observation.class_name] += 1
        self.colours[observation.colour] += 1
        self.seen += 1
        self.missed = 0
        alike = float(similarities(observation.appearance[None], np.stack(self.views)).max()) if self.views else 0.0
        if alike < settings.new_view:
            if len(self.views) == settings.most_views:
                # The second oldest goes: the first is what it was found as.
                self.views.pop(1 if len(self.views) > 1 else 0)
            self.views.append(observation.appearance)


@dataclass
class Place:
    """What stood where in one view."""

    number: int
    tracks: list[Track] = field(default_factory=list)
    picture: Appearance | None = None
    last_s: float = 0.0


def corners_of(objects: Sequence[Observation]) -> Corners:
    """(N, 4) corners of objects."""
    return np.array([(o.box.left, o.box.top, o.box.right, o.box.bottom) for o in objects], np.float64).reshape(-1, 4)


def area_of(box: Numbers) -> float:
    """Area between corners."""
    return float(max(box[2] - box[0], 0) * max(box[3] - box[1], 0))


def overlaps(first: Corners, second: Corners) -> Numbers:
    """Intersection over union of (N, 4) with (M, 4) corners; 0 with what has no area."""
    low = np.maximum(first[:, None, :2], second[None, :, :2])
    high = np.minimum(first[:, None, 2:], second[None, :, 2:])
    common = np.maximum(high - low, 0).prod(axis=2)
    area_a = np.maximum(first[:, 2:] - first[:, :2], 0).prod(axis=1)
    area_b = np.maximum(second[:, 2:] - second[:, :2], 0).prod(axis=1)
    union: Numbers = area_a[:, None] + area_b[None] - common
    return np.where(union > 0, common / np.maximum(union, 1e-12), 0.0)


def likeness(objects: Sequence[Observation], tracks: Sequence[Track]) -> Numbers:
    """(N, M) greatest similarity of each object to any view of each track."""
    looks = np.stack([o.appearance for o in objects])
    columns = [similarities(looks, np.stack(track.views)).max(axis=1) for track in tracks]
    return np.stack(columns, axis=1).astype(np.float64)

"""The object memory bank: assigns sightings to objects in one pass over a video.

MT-Video-Bench's bank (arXiv 2510.17722, section 3.2) uses captions and visual similarity. This one also uses position:
a *place* is a map of the objects in one view. The bank finds the place that a frame shows and the pan or zoom since
then, so it distinguishes two equal chairs by their positions. An object at no known position is either a known object
that is *loose* (it moved, or it is missing from its position) or a new one.

A *track* is an object at a place. An identity has one or more tracks. Two identities merge if they look alike and were
never seen together. An identity splits if it is seen at two positions that it cannot have at once.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from reeltalk.schema.knowledge import Box, Share
from reeltalk.schema.settings import Settings
from reeltalk.video.appearance import Appearance, similarities
from reeltalk_build.metrics.identity import assign_pairs

Numbers = NDArray[np.float64]
Corners = NDArray[np.float64]
"""(N, 4): left, top, right, bottom."""


class MemorySettings(Settings):
    """Thresholds of the memory bank. Similarities are those of `video.appearance`, 0 to 1."""

    same_view: Share = 0.8
    """Frames with at least this similarity as whole pictures show one place, even if too few objects match."""
    place_matches: Annotated[int, Field(ge=1)] = 3
    """Fewest objects that must match a place for a frame to show it."""
    place_share: Share = 0.4
    """Least share of a frame's objects that must match as well."""
    settled_share: Share = 0.7
    """If this share of objects stands as before, the camera has not moved and no other place is tried."""
    position_iou: Share = 0.3
    """Least overlap (IoU) of an object's box with its old position."""
    position_weight: Share = 0.5
    """Weight of position; appearance has the rest."""
    min_match: Share = 0.35
    """Least weighted sum of both for a match."""
    min_visual: Share = 0.3
    """Objects with less similarity than this are never matched, however near."""
    reach_per_s: Annotated[float, Field(ge=0)] = 0.35
    """Most movement of an object in a second, in widths of the picture."""
    reach_s: Annotated[float, Field(ge=0)] = 3.0
    """Seconds after its last sighting in which an object may be matched near its old position."""
    other_class: Share = 0.2
    """Penalty for another class at the same position; detectors sometimes change the class."""
    loose_visual: Share = 0.55
    """Least similarity between an object at no known position and a loose one."""
    settled_visual: Share = 0.94
    """Least similarity to an object that was never seen to leave its position."""
    merge_visual: Share = 0.94
    """Least similarity for merging two identities that were never seen together."""
    mature: Annotated[int, Field(ge=1)] = 3
    """Sightings of a track before it is compared for merging."""
    moved_share: Annotated[float, Field(ge=0)] = 0.5
    """An object moved if its centre moved by this share of its size."""
    restless_share: Share = 0.15
    """An identity that moved in this share of its sightings is always loose, as people and pets are."""
    restless_moves: Annotated[int, Field(ge=1)] = 3
    """Least number of such moves."""
    new_view: Share = 0.85
    """An object with less similarity than this to all its stored views adds a view."""
    most_places: Annotated[int, Field(ge=1)] = 60
    """Most places to compare with a frame, the latest first; a film has a new one in every shot."""
    most_views: Annotated[int, Field(ge=1)] = 6
    """Most stored views of a track."""


class Observation(NamedTuple):
    """One object in one frame, as input to the bank."""

    box: Box
    class_name: str
    colour: str
    appearance: Appearance


class View(NamedTuple):
    """Transform from a frame to its place: the point x of the frame is `x * scale + (left, top)` in the place."""

    scale: float
    left: float
    top: float

    def to_place(self, boxes: Corners) -> Corners:
        """Frame coordinates to place coordinates, (N, 4)."""
        return np.asarray(boxes * self.scale + np.array([self.left, self.top] * 2), np.float64)

    def to_frame(self, boxes: Corners) -> Corners:
        """Place coordinates to frame coordinates, (N, 4)."""
        return np.asarray((boxes - np.array([self.left, self.top] * 2)) / self.scale, np.float64)


EDGE: Final = 0.005
"""A box nearer than this to the picture's edge may be cut off by it."""
STRAIGHT_VIEW: Final = View(1.0, 0.0, 0.0)


@dataclass
class Track:
    """An object at a place."""

    number: int
    identity: int
    place: int
    box: Numbers
    """Corners in place coordinates."""
    views: list[Appearance]
    classes: Counter[str]
    colours: Counter[str]
    first_s: float
    last_s: float
    moved_s: float
    """Time of its last move; minus infinity if it never moved."""
    seen: int = 0
    moves: int = 0
    missed: int = 0
    """Frames since its last sighting that show its position without it."""
    unsure: bool = False
    """Linked to an identity that was not seen to leave its position."""

    @property
    def class_name(self) -> str:
        """The most frequent class of its sightings."""
        return min(self.classes, key=lambda name: (-self.classes[name], name))

    def is_loose(self, settings: MemorySettings) -> bool:
        """True if it moved recently, or is missing from its position."""
        return self.missed > 0 or self.last_s - self.moved_s <= settings.reach_s

    def look_at(self, observation: Observation, settings: MemorySettings) -> None:
        """Count a sighting, and store the view if it is new."""
        self.classes[observation.class_name] += 1
        self.colours[observation.colour] += 1
        self.seen += 1
        self.missed = 0
        alike = float(similarities(observation.appearance[None], np.stack(self.views)).max()) if self.views else 0.0
        if alike < settings.new_view:
            if len(self.views) == settings.most_views:
                # Drop the second oldest: the first one is the original view.
                self.views.pop(1 if len(self.views) > 1 else 0)
            self.views.append(observation.appearance)


@dataclass
class MemoryPlace:
    """The objects and their positions in one view."""

    number: int
    tracks: list[Track] = field(default_factory=list)
    picture: Appearance | None = None
    last_s: float = 0.0


def corners_of(objects: Sequence[Observation]) -> Corners:
    """(N, 4) corners of objects."""
    return np.array([(o.box.left, o.box.top, o.box.right, o.box.bottom) for o in objects], np.float64).reshape(-1, 4)


def area_of(box: Numbers) -> float:
    """Area of a box, 0 or more."""
    return float(max(box[2] - box[0], 0) * max(box[3] - box[1], 0))


def _iou_matrix(first: Corners, second: Corners) -> Numbers:
    """(N, M) intersection over union of (N, 4) and (M, 4) corners; 0 for boxes without area."""
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


class BankChange(NamedTuple):
    """A merge of two identities or a split of one, by their numbers."""

    pts_s: float
    kind: Literal["merge", "split"]
    remaining: int
    other: int
    similarity: float


class MemoryBank:
    """The identities of one video. It takes frames in order of time; the same frames give the same identities."""

    def __init__(self, settings: MemorySettings | None = None) -> None:
        self.settings = settings or MemorySettings()
        self.changes: list[BankChange] = []
        """Merges and splits so far."""
        self._places: list[MemoryPlace] = []
        self._tracks: list[Track] = []
        self._identities = 0
        self._together: set[tuple[int, int]] = set()
        self._place: MemoryPlace | None = None
        self._view = STRAIGHT_VIEW

    def see(self, pts_s: float, picture: Appearance, objects: Sequence[Observation]) -> list[int]:
        """Take a frame.

        Returns:
            The track number of each object. After the last frame `identity_of` gives the identity of a track.
        """
        # The order of the list has no influence.
        order = sorted(range(len(objects)), key=lambda n: (*corners_of(objects[n : n + 1])[0], objects[n].class_name))
        tracks = dict(zip(order, self._see(pts_s, picture, [objects[n] for n in order]), strict=True))
        return [tracks[n] for n in range(len(objects))]

    def _see(self, pts_s: float, picture: Appearance, objects: Sequence[Observation]) -> list[int]:
        boxes = corners_of(objects)
        place = self._find_place(picture, objects, boxes)
        tracks: list[Track | None] = [None] * len(objects)
        rivals = place.tracks
        for row, column in self._at_their_places(pts_s, objects, boxes, rivals):
            tracks[row] = rivals[column]
        self._note_missing(rivals, [track for track in tracks if track is not None], boxes)
        self._link(pts_s, place, objects, boxes, tracks)
        found: list[Track] = []
        for observation, corners, track in zip(objects, boxes, tracks, strict=True):
            if track is None:
                track = self._begin(pts_s, place, corners, self._identities)
                self._identities += 1
            self._update(pts_s, track, observation, self._view.to_place(corners), corners)
            found.append(track)
        self._split_doubles(pts_s, found)
        identities = sorted({track.identity for track in found})
        self._together.update((a, b) for n, a in enumerate(identities) for b in identities[n + 1 :])
        for track in found:
            if track.seen == self.settings.mature:
                self._merge(pts_s, track)
        place.picture, place.last_s = picture, pts_s
        return [track.number for track in found]

    def identity_of(self, track: int) -> int:
        """The present identity of a track."""
        return self._tracks[track].identity

    def class_of(self, identity: int) -> str:
        """The most frequent class of an identity's sightings."""
        return self._most(identity, "classes")

    def colour_of(self, identity: int) -> str:
        """The most frequent colour of an identity's sightings."""
        return self._most(identity, "colours")

    def _most(self, identity: int, what: Literal["classes", "colours"]) -> str:
        votes: Counter[str] = Counter()
        for track in self._tracks:
            if track.identity == identity:
                votes.update(getattr(track, what))
        return min(votes, key=lambda name: (-votes[name], name))

    # Which place a frame shows.

    def _find_place(self, picture: Appearance, objects: Sequence[Observation], boxes: Corners) -> MemoryPlace:
        settings, current = self.settings, self._place
        if current is not None and objects:
            stay, _ = self._agreement(current, objects, boxes, self._view)
            if stay >= settings.settled_share * len(objects):
                # The camera may drift; objects that stand still show how far.
                self._view = self._refined(current, objects, boxes, self._view)
                return current
        best: tuple[float, int, View] | None = None
        if objects:
            for place in sorted(self._places, key=lambda p: (-p.last_s, p.number))[: settings.most_places]:
                for view in self._candidates(place, objects, boxes):
                    score, matches = self._agreement(place, objects, boxes, view)
                    enough = matches >= settings.place_matches and matches >= settings.place_share * len(objects)
                    if enough and (best is None or score > best[0] + 1e-9):
                        best = score, place.number, view
        if best is not None:
            self._place = self._places[best[1]]
            self._view = self._refined(self._place, objects, boxes, best[2])
            return self._place
        if current is not None and current.picture is not None:
            alike = float(similarities(picture[None], current.picture[None])[0, 0])
            if alike >= settings.same_view or not objects:
                return current
        self._place = MemoryPlace(len(self._places))
        self._places.append(self._place)
        self._view = STRAIGHT_VIEW
        return self._place

    def _candidates(self, place: MemoryPlace, objects: Sequence[Observation], boxes: Corners) -> list[View]:
        """Transforms that map one object to a track; each pair of one class gives a candidate."""
        views = [self._view, STRAIGHT_VIEW] if place is self._place else [STRAIGHT_VIEW]
        inside = np.asarray((boxes[:, :2] > EDGE).all(axis=1) & (boxes[:, 2:] < 1 - EDGE).all(axis=1))
        for number, observation in enumerate(objects):
            if not inside[number]:
                # The size of a box cut off by the edge is unknown.
                continue
            for track in place.tracks:
                if observation.class_name not in track.classes:
                    continue
                size, known = boxes[number, 2:] - boxes[number, :2], track.box[2:] - track.box[:2]
                ratio = known / size
                if not 0.8 < ratio[0] / ratio[1] < 1.25:
                    continue
                scale = float(np.sqrt(ratio[0] * ratio[1]))
                middle = (boxes[number, :2] + boxes[number, 2:]) / 2
                offset = (track.box[:2] + track.box[2:]) / 2 - middle * scale
                views.append(View(scale, float(offset[0]), float(offset[1])))
        return views

    def _agreement(
        self, place: MemoryPlace, objects: Sequence[Observation], boxes: Corners, view: View
    ) -> tuple[float, int]:
        """How well a frame matches a place: the sum of overlaps, and the number of matching objects."""
        if not place.tracks:
            return 0.0, 0
        iou = _iou_matrix(boxes, np.clip(view.to_frame(np.stack([track.box for track in place.tracks])), 0, 1))
        same = np.array([[o.class_name in track.classes for track in place.tracks] for o in objects])
        best = np.where(same, iou, 0.0).max(axis=1)
        good = best >= 0.5
        return float(best[best >= self.settings.position_iou].sum()), int(good.sum())

    def _refined(self, place: MemoryPlace, objects: Sequence[Observation], boxes: Corners, view: View) -> View:
        """Refine the transform by least squares over the corners of all objects that stand as before."""
        known = np.stack([track.box for track in place.tracks])
        iou = _iou_matrix(boxes, np.clip(view.to_frame(known), 0, 1))
        still = np.array([self._is_still(track) for track in place.tracks])
        same = np.array([[o.class_name in track.classes for track in place.tracks] for o in objects]) & still
        pairs = list(assign_pairs(np.where(same, iou, 0.0), least=0.6))
        if len(pairs) < 2:
            return view
        here = np.concatenate([boxes[row] for row, _ in pairs])
        there = np.concatenate([known[column] for _, column in pairs])
        # Corners at the picture's edge are not corners of the object.
        inner = (here > EDGE) & (here < 1 - EDGE)
        across = np.tile([1.0, 0.0, 1.0, 0.0], len(pairs))
        rows = np.stack([here, across, 1 - across], axis=1)[inner]
        if len(rows) < 6:
            return view
        found, _, rank, _ = np.linalg.lstsq(rows, there[inner], rcond=None)
        if rank < 3 or not 0.2 < found[0] < 5:
            return view
        return View(float(found[0]), float(found[1]), float(found[2]))

    def _is_still(self, track: Track) -> bool:
        return track.last_s - track.moved_s > self.settings.reach_s

    # Which object is which.

    def _at_their_places(
        self, pts_s: float, objects: Sequence[Observation], boxes: Corners, tracks: Sequence[Track]
    ) -> list[tuple[int, int]]:
        """Match objects to tracks at or near their positions."""
        if not tracks or not objects:
            return []
        settings = self.settings
        there = self._view.to_frame(np.stack([track.box for track in tracks]))
        iou = _iou_matrix(boxes, np.clip(there, 0, 1))
        visual = likeness(objects, tracks)
        middles = (boxes[:, None, :2] + boxes[:, None, 2:] - there[None, :, :2] - there[None, :, 2:]) / 2
        distance = np.linalg.norm(middles, axis=2)
        waited = np.array([pts_s - track.last_s for track in tracks])
        reach = np.where(waited <= settings.reach_s, settings.reach_per_s * np.maximum(waited, 0.1), 1e-9)
        near = settings.position_iou * np.clip(1 - distance / reach[None], 0, 1)
        position = np.where(iou >= settings.position_iou, iou, np.maximum(near, 0.0))
        agrees = np.array([[o.class_name in track.classes for track in tracks] for o in objects])
        score = settings.position_weight * position + (1 - settings.position_weight) * visual
        score = np.where(agrees, score, np.where(iou >= 0.5, score - settings.other_class, 0.0))
        allowed = (position > 0) & ((visual >= settings.min_visual) | (iou >= 0.5))
        return assign_pairs(np.where(allowed, score, 0.0), least=settings.min_match)

    def _note_missing(self, tracks: Sequence[Track], found: Sequence[Track], boxes: Corners) -> None:
        seen = {track.number for track in found}
        for track in tracks:
            if track.number in seen:
                continue
            there = self._view.to_frame(track.box[None])[0]
            inside = np.clip(there, 0, 1)
            area, full = area_of(inside), area_of(there)
            if full <= 0 or area < 0.8 * full:
                continue
            low, high = np.maximum(boxes[:, :2], inside[:2]), np.minimum(boxes[:, 2:], inside[2:])
            covered = np.maximum(high - low, 0).prod(axis=1)
            # An object hidden by another may still be there.
            if not len(covered) or covered.max() < 0.3 * area:
                track.missed += 1

    def _link(
        self,
        pts_s: float,
        place: MemoryPlace,
        objects: Sequence[Observation],
        boxes: Corners,
        tracks: list[Track | None],
    ) -> None:
        """Match objects at no known position to identities that were seen elsewhere."""
        open_ones = [row for row, track in enumerate(tracks) if track is None]
        present = {track.identity for track in tracks if track is not None}
        wanted = {objects[row].class_name for row in open_ones}
        by_identity: dict[int, list[Track]] = {}
        for track in self._tracks:
            if track.seen and track.identity not in present:
                by_identity.setdefault(track.identity, []).append(track)
        latest = (max(own, key=lambda t: (t.last_s, t.number)) for _, own in sorted(by_identity.items()))
        free = [track for track in latest if track.class_name in wanted]
        if not open_ones or not free:
            return
        candidates = [objects[row] for row in open_ones]
        visual = np.stack(
            [likeness(candidates, by_identity[track.identity]).max(axis=1) for track in free],
            axis=1,
        )
        agrees = np.array([[o.class_name == track.class_name for track in free] for o in candidates])
        loose = np.array(
            [track.is_loose(self.settings) or self._is_restless(by_identity[track.identity]) for track in free]
        )
        least = np.where(loose, self.settings.loose_visual, self.settings.settled_visual)[None]
        # Of two equal ones take the loose one, and of two loose ones the one seen last.
        recent = np.array([1 / (1 + pts_s - track.last_s) for track in free])
        score = np.where(agrees & (visual >= least), visual + 0.2 * loose[None] + 0.05 * recent[None], 0.0)
        for index, column in assign_pairs(score):
            row, old = open_ones[index], free[column]
            if old.place == place.number:
                tracks[row] = old
            else:
                begun = self._begin(pts_s, place, boxes[row], old.identity)
                begun.unsure = not loose[column]
                tracks[row] = begun

    def _is_restless(self, tracks: Sequence[Track]) -> bool:
        moves, seen = sum(track.moves for track in tracks), sum(track.seen for track in tracks)
        return moves >= self.settings.restless_moves and moves >= self.settings.restless_share * seen

    def _begin(self, pts_s: float, place: MemoryPlace, corners: Numbers, identity: int) -> Track:
        track = Track(
            number=len(self._tracks),
            identity=identity,
            place=place.number,
            box=self._view.to_place(corners),
            views=[],
            classes=Counter(),
            colours=Counter(),
            first_s=pts_s,
            last_s=pts_s,
            moved_s=-np.inf,
        )
        self._tracks.append(track)
        place.tracks.append(track)
        return track

    def _update(self, pts_s: float, track: Track, observation: Observation, box: Numbers, corners: Numbers) -> None:
        size = max(1e-6, float(np.sqrt(area_of(track.box))))
        moved = float(np.linalg.norm((box[:2] + box[2:] - track.box[:2] - track.box[2:]) / 2))
        cut = bool((corners < EDGE).any() or (corners > 1 - EDGE).any())
        if not cut:
            if track.seen and moved > self.settings.moved_share * size:
                track.moved_s = pts_s
                track.moves += 1
            track.box = box
        elif moved > size:
            track.box = box
        self._return(pts_s, track)
        track.last_s = pts_s
        track.look_at(observation, self.settings)

    def _return(self, pts_s: float, track: Track) -> None:
        """Split an identity if a track reappears at its old place while a doubtful track of it stands elsewhere."""
        others = [t for t in self._tracks if t.identity == track.identity and t is not track]
        for other in others:
            if other.unsure and other.first_s > track.last_s and other.seen and not other.is_loose(self.settings):
                self._split(pts_s, track, other)

    def _split_doubles(self, pts_s: float, found: Sequence[Track]) -> None:
        """Split identities that occur twice in one frame."""
        first: dict[int, Track] = {}
        for track in sorted(found, key=lambda t: (t.first_s, t.number)):
            if track.identity in first:
                self._split(pts_s, first[track.identity], track)
            first.setdefault(track.identity, track)

    def _split(self, pts_s: float, kept: Track, other: Track) -> None:
        alike = float(similarities(np.stack(kept.views), np.stack(other.views)).max()) if other.views else 0.0
        old, new = kept.identity, self._identities
        self._identities += 1
        other.identity = new
        other.unsure = False
        self.changes.append(BankChange(pts_s, "split", old, new, alike))

    def _merge(self, pts_s: float, track: Track) -> None:
        """Merge the identity of a mature track with a loose identity that looks the same."""
        own = [t for t in self._tracks if t.identity == track.identity]
        rivals = sorted({t.identity for t in self._tracks} - {track.identity})
        best: tuple[float, int] | None = None
        for identity in rivals:
            if (min(identity, track.identity), max(identity, track.identity)) in self._together:
                continue
            theirs = [t for t in self._tracks if t.identity == identity]
            last = max(theirs, key=lambda t: (t.last_s, t.number))
            if last.class_name != track.class_name or not last.is_loose(self.settings):
                continue
            alike = min(float(similarities(np.stack(a.views), np.stack(last.views)).max()) for a in own if a.views)
            if alike >= self.settings.merge_visual and (best is None or alike > best[0]):
                best = alike, identity
        if best is None:
            return
        kept, other = min(best[1], track.identity), max(best[1], track.identity)
        for t in self._tracks:
            if t.identity == other:
                t.identity = kept
        self._together = {
            (min(a, b), max(a, b))
            for a, b in ((kept if a == other else a, kept if b == other else b) for a, b in self._together)
            if a != b
        }
        self.changes.append(BankChange(pts_s, "merge", kept, other, best[0]))

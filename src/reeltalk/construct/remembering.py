"""From what was seen in a video's frames to sightings, entities and crops, by way of the memory bank."""

import base64
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.construct.memory import MemoryBank
from reeltalk.construct.memory_tracks import Observation
from reeltalk.construct.object_calls import Watched
from reeltalk.construct.objects import Describe, LookedAtFrame, ObjectSettings, caption, unpacked
from reeltalk.schema.ids import ClipId, EntityId, VideoId, derive_id
from reeltalk.schema.knowledge import Entity, IdentityChange, Sighting
from reeltalk.schema.media import Clip

STAGE: Final = "construct objects"
CROPS: Final = "crops"
MADE_BY: Final = "made_by"
"""Marks, in `extra`, the entities that this stage wrote among those of others."""


@dataclass(frozen=True)
class Remembered:
    """What the memory bank says of a video."""

    sightings: list[Sighting]
    entities: list[Entity]
    changes: list[IdentityChange]
    crops: dict[str, bytes]


def remember(
    w: Watched, looks: Sequence[LookedAtFrame], settings: ObjectSettings, describe: Describe | None
) -> Remembered:
    """Go over a video once, in the order of time."""
    bank = MemoryBank(settings.memory)
    tracks: list[list[int]] = []
    for frame, looked in zip(w.frames, looks, strict=True):
        observed = [
            Observation(found.box, found.class_name, look.colour, unpacked(look.appearance))
            for found, look in zip(frame.objects, looked.objects, strict=True)
        ]
        tracks.append(bank.see(frame.pts_s, unpacked(looked.view), observed))
    sightings: list[Sighting] = []
    pictures: dict[EntityId, list[tuple[float, int, bytes]]] = {}
    entity_of: dict[int, EntityId] = {}
    for frame, looked, numbers in zip(w.frames, looks, tracks, strict=True):
        for found, look, number in zip(frame.objects, looked.objects, numbers, strict=True):
            identity = bank.identity_of(number)
            entity = entity_of.setdefault(identity, _entity_id(w.video.id, identity))
            worth = found.box.area * found.confidence
            pictures.setdefault(entity, []).append((-worth, len(sightings), base64.b64decode(look.crop)))
            sightings.append(
                Sighting(
                    video_id=VideoId(w.video.id),
                    clip_id=next((c.id for c in w.clips if _shows(c, frame.pts_s)), None),
                    pts_s=frame.pts_s,
                    box=found.box,
                    class_name=found.class_name,
                    confidence=found.confidence,
                    entity=entity,
                    caption=caption(found.class_name, look.colour, found.box),
                )
            )
    crops = _keep_crops(sightings, pictures, settings.crops, bank, entity_of, describe)
    seen_in: defaultdict[str, dict[ClipId, None]] = defaultdict(dict)
    counts: defaultdict[str, int] = defaultdict(int)
    for sighting in sightings:
        counts[sighting.entity] += 1
        if sighting.clip_id is not None:
            seen_in[sighting.entity][sighting.clip_id] = None
    entities = [
        Entity(
            id=entity,
            video_id=VideoId(w.video.id),
            class_name=bank.class_of(identity),
            clip_ids=tuple(seen_in[entity]),
            attributes={"colour": bank.colour_of(identity), "sightings": str(counts[entity])},
            extra={MADE_BY: STAGE},
        )
        for identity, entity in sorted(entity_of.items())
    ]
    changes = [
        IdentityChange(
            video_id=VideoId(w.video.id),
            pts_s=change.pts_s,
            kind=change.kind,
            kept=_entity_id(w.video.id, change.kept),
            other=_entity_id(w.video.id, change.other),
            similarity=round(change.similarity, 4),
        )
        for change in bank.changes
    ]
    return Remembered(sightings, entities, changes, crops)


def _keep_crops(
    sightings: list[Sighting],
    pictures: dict[EntityId, list[tuple[float, int, bytes]]],
    most: int,
    bank: MemoryBank,
    entity_of: dict[int, EntityId],
    describe: Describe | None,
) -> dict[str, bytes]:
    """The largest and most certain crops of each object as files; their sightings are told of them."""
    crops: dict[str, bytes] = {}
    for identity, entity in sorted(entity_of.items()):
        best = sorted(pictures[entity], key=lambda found: found[:2])[:most]
        for number, (_, index, content) in enumerate(best, start=1):
            name = f"{CROPS}/{entity}-{number}.jpg"
            crops[name] = content
            said: dict[str, str] = {"crop": name}
            if describe is not None and (words := " ".join(describe(content, bank.class_of(identity)).split())):
                said["caption"] = words
            sightings[index] = sightings[index].model_copy(update=said)
    return crops


def _entity_id(video_id: str, identity: int) -> EntityId:
    return EntityId(derive_id("object", video_id, identity))


def _shows(clip: Clip, pts_s: float) -> bool:
    return clip.interval is not None and clip.interval.start_s <= pts_s < clip.interval.end_s

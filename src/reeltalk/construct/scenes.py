"""Scenes: neighbouring clips whose captions tell one thing, and segments across scenes that share objects or themes.

MT-Video-Bench (arXiv 2510.17722) merges clips by their captions twice and joins scenes by an object memory bank; its
prompts and thresholds are not published. Here two captions tell one scene where they share enough of their words,
which needs no model, is the same every time, and has one named threshold.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.construct.wording import content_words
from reeltalk.schema.ids import ClipId, VideoId, derive_id
from reeltalk.schema.media import Clip, Scene

PASSES: Final = 2
"""MT-Video-Bench merges twice."""


class SceneSettings(BaseModel):
    """How clips become scenes."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    merge_similarity: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Share of the shorter caption's content words that its neighbour must have for the two to be one scene."""
    theme_similarity: Annotated[float, Field(gt=0, le=1)] = 0.3
    """The same for two scenes apart from each other to share a theme."""
    max_scene_clips: Annotated[int, Field(ge=1)] = 4
    """Most clips of a scene."""
    cross_per_video: Annotated[int, Field(ge=0)] = 3
    """Most cross-scene segments of a video."""


def overlap(first: frozenset[str], second: frozenset[str]) -> float:
    """Common words as a share of the smaller set (Szymkiewicz and Simpson), 0 to 1; 0 where one is empty."""
    smaller = min(len(first), len(second))
    return len(first & second) / smaller if smaller else 0.0


Alike = Callable[[str, str], bool]
"""Whether the captions of two neighbours, the earlier first, tell one scene."""


def by_words(settings: SceneSettings) -> Alike:
    """Captions are alike where they share enough of their content words."""

    def alike(before: str, after: str) -> bool:
        return overlap(content_words(before), content_words(after)) >= settings.merge_similarity

    return alike


def single_scenes(
    video_id: str,
    clips: Sequence[Clip],
    captions: Mapping[str, str],
    settings: SceneSettings,
    *,
    writer: str,
    alike: Alike | None = None,
) -> list[Scene]:
    """Neighbouring clips with captions alike as scenes, in order.

    Args:
        video_id: The video.
        clips: Its clips in the order of time.
        captions: By clip; one without a caption stays a scene of its own.
        settings: Thresholds.
        writer: Who wrote the captions.
        alike: Decides about two captions; by their words by default.
    """
    alike = alike or by_words(settings)
    groups = [([clip.id], captions.get(clip.id, "")) for clip in clips]
    for _ in range(PASSES):
        merged: list[tuple[list[ClipId], str]] = []
        for ids, caption in groups:
            last = merged[-1] if merged else None
            fits = last is not None and len(last[0]) + len(ids) <= settings.max_scene_clips
            if last is not None and fits and last[1] and caption and alike(last[1], caption):
                merged[-1] = ([*last[0], *ids], f"{last[1]} {caption}".strip())
            else:
                merged.append((ids, caption))
        groups = merged
    return [
        Scene(
            id=derive_id("scene", video_id, ids),
            video_id=VideoId(video_id),
            clip_ids=tuple(ids),
            caption=caption,
            writer=writer,
        )
        for ids, caption in groups
    ]


def cross_scenes(
    scenes: Sequence[Scene], objects: Mapping[str, frozenset[str]], settings: SceneSettings
) -> list[Scene]:
    """Segments of two scenes that share objects or a theme, those with most in common first.

    Args:
        scenes: Single scenes of one video in order.
        objects: Named objects by clip, as `mug4` or an identity of the memory bank.
        settings: How many, and the threshold of a theme.
    """
    held = [frozenset(name for clip in scene.clip_ids for name in objects.get(clip, ())) for scene in scenes]
    words = [content_words(scene.caption) for scene in scenes]
    seen = Counter(name for names in held for name in names)
    found: list[tuple[tuple[int, int, int, int], Scene]] = []
    for a, b in combinations(range(len(scenes)), 2):
        # What nearly every scene shows joins none of them.
        shared = sorted(name for name in held[a] & held[b] if seen[name] <= max(2, len(scenes) // 2))
        themes = sorted(words[a] & words[b]) if overlap(words[a], words[b]) >= settings.theme_similarity else []
        joined = (*(f"object:{name}" for name in shared), *(f"theme:{word}" for word in themes))
        if not joined:
            continue
        ids = (*scenes[a].clip_ids, *scenes[b].clip_ids)
        scene = Scene(
            id=derive_id("scene", scenes[a].video_id, ids, "cross"),
            video_id=scenes[a].video_id,
            clip_ids=ids,
            kind="cross",
            caption=f"{scenes[a].caption} {scenes[b].caption}".strip(),
            joined_by=joined,
            parts=(scenes[a].id, scenes[b].id),
            writer=scenes[a].writer,
        )
        # Shared objects count before themes, scenes far apart before neighbours.
        found.append(((-len(shared), -len(themes), a - b, a), scene))
    found.sort(key=lambda pair: pair[0])
    return [scene for _, scene in found[: settings.cross_per_video]]

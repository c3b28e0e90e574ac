"""Clips merged by what their captions share, twice; segments across scenes that share objects or a theme."""

from reeltalk.schema.gates import GateOutcome
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Scene, Video
from reeltalk_build.construct.dialogue_steps import cross_scenes, overlap, propose_category, single_scenes
from reeltalk_build.construct.settings import ConstructSettings

SETTINGS = ConstructSettings()


def clips(count: int, **extra: str) -> list[Clip]:
    return [
        Clip(id=f"c{n}", video_id="v", interval=Interval(start_s=10 * n, end_s=10 * n + 10), extra=extra)
        for n in range(count)
    ]


def scenes(*captions: str, settings: ConstructSettings = SETTINGS) -> list[Scene]:
    by_clip = {f"c{n}": caption for n, caption in enumerate(captions)}
    return single_scenes("v", clips(len(captions)), by_clip, settings, writer="w")


def test_neighbours_with_like_captions_are_one_scene() -> None:
    found = scenes("a cook cuts onions", "the cook fries onions in oil", "rain falls on a street")
    assert [scene.clip_ids for scene in found] == [("c0", "c1"), ("c2",)]
    assert found[0].caption == "a cook cuts onions the cook fries onions in oil"
    assert found[0].writer == "w"


def test_the_second_pass_merges_what_only_the_merged_caption_shows() -> None:
    captions = ("cook onions", "cook onions pan", "pan oil heat", "pan cook oil heat")
    assert [scene.clip_ids for scene in scenes(*captions)] == [("c0", "c1", "c2", "c3")]
    # In one pass the third would stand apart from the first two.
    assert overlap(frozenset({"cook", "onion"}), frozenset({"pan", "oil", "heat"})) == 0


def test_a_scene_has_a_most_number_of_clips_and_a_clip_without_caption_stands_alone() -> None:
    alike = scenes(*["waves at the beach"] * 6)
    assert [len(scene.clip_ids) for scene in alike] == [4, 2]
    assert [scene.clip_ids for scene in scenes("waves at the beach", "", "waves at the beach")] == [
        ("c0",),
        ("c1",),
        ("c2",),
    ]


def test_chinese_captions_are_compared_too() -> None:
    found = scenes("厨师在厨房切洋葱", "厨师在厨房炒洋葱", "街上下着大雨")
    assert [scene.clip_ids for scene in found] == [("c0", "c1"), ("c2",)]


def test_scenes_that_share_an_object_are_joined_before_those_that_share_a_theme() -> None:
    apart = scenes("a dog barks", "boats sail on the lake", "a car starts", "boats lie on the lake", "a man sings")
    assert len(apart) == 5
    held = {"c0": frozenset({"mug1"}), "c4": frozenset({"mug1", "hat2"}), "c2": frozenset({"hat2"})}
    joined = cross_scenes(apart, held, SETTINGS)
    assert [scene.joined_by[0] for scene in joined][:2] == ["object:mug1", "object:hat2"]
    assert joined[2].joined_by[0].startswith("theme:boat")
    assert joined[0].clip_ids == ("c0", "c4")
    assert joined[0].parts == (apart[0].id, apart[4].id)
    assert all(scene.kind == "cross" for scene in joined)
    assert len(cross_scenes(apart, held, ConstructSettings(cross_per_video=1))) == 1


def test_what_nearly_every_scene_shows_joins_none() -> None:
    apart = scenes("a dog barks", "boats sail", "a car starts", "birds sing")
    held = {f"c{n}": frozenset({"floor1"}) for n in range(4)}
    assert cross_scenes(apart, held, SETTINGS) == []


def test_a_category_is_proposed_only_where_none_is_stated_and_marked_so() -> None:
    known = Video(id="v", category="cooking")
    assert propose_category(known, clips(2), {}) == []
    (by_clips,) = propose_category(Video(id="v"), clips(2, category="HouseCleaning"), {})
    assert by_clips.outcome is GateOutcome.FLAGGED
    assert "not verified: HouseCleaning" in (by_clips.reason or "")
    (by_words,) = propose_category(Video(id="v"), clips(2), {"c0": "boats sail", "c1": "boats race"})
    assert "boat" in (by_words.reason or "")
    (nothing,) = propose_category(Video(id="v"), clips(1), {})
    assert nothing.outcome is GateOutcome.UNCHECKED

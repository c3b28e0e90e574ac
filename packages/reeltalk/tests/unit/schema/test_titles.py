"""Names of videos and activities for people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeltalk.schema.media import Video
from reeltalk.schema.titles import activity_title, tell_apart, video_titles


@pytest.mark.parametrize(
    ("video", "title"),
    [
        (Video(id="fry_carrot1_scene1"), "Fry carrot"),
        (Video(id="kitchen-0001"), "Kitchen"),
        (Video(id="厨房_1"), "厨房"),
        (Video(id="video-3f2a9b8c7d6e5f40", file="films/Kitchen, morning.mp4"), "Kitchen, morning"),
        (Video(id="dQw4w9WgXcQ", category="home_cooking"), "Home cooking, video 1"),
        (Video(id="3f2a9b8c7d6e5f40"), "Video 1"),
        (Video(id="video-3f2a9b8c7d6e5f40", file="clip_01.mp4"), "Video 1"),
    ],
)
def test_a_video_has_a_name_in_words_and_never_a_hash(video: Video, title: str) -> None:
    assert video_titles([video]) == {video.id: title}


def test_videos_of_the_same_name_are_told_apart() -> None:
    videos = [Video(id=name) for name in ("fry_carrot1_scene1", "fry_carrot1_scene2", "drink_milk3_scene2")]
    assert list(video_titles(videos).values()) == ["Fry carrot 1 scene 1", "Fry carrot 1 scene 2", "Drink milk"]
    same = [Video(id=f"{number:016x}", file=f"{number}/Kitchen.mp4") for number in range(3)]
    assert list(video_titles(same).values()) == ["Kitchen", "Kitchen (2)", "Kitchen (3)"]


def test_an_activity_has_a_name_in_words() -> None:
    names = ("Drink_milk3_scene2", "Wash_dishes1", "Watch_TV", "Admire_art")
    assert [activity_title(name) for name in names] == ["Drink milk", "Wash dishes", "Watch TV", "Admire art"]


@given(st.lists(st.text(alphabet="ab (2)", max_size=6), max_size=12))
def test_told_apart_titles_differ_and_begin_as_before(titles: list[str]) -> None:
    found = list(tell_apart(titles))
    assert len(set(found)) == len(titles)
    assert all(new.startswith(old) for new, old in zip(found, titles, strict=True))

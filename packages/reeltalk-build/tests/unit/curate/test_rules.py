"""Clips, lookalikes, samplers and sidecars: the rules without a video."""

import itertools
import json
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeltalk.curate.sources import find_videos, read_sidecar
from reeltalk.curate.wholeness import full_reason, missing_share
from reeltalk.errors import InputError, SettingError
from reeltalk.schema.intervals import Interval
from reeltalk.schema.outcomes import FilterResult, Rejected, Screening
from reeltalk.schema.record import VideoId
from reeltalk.video.sampling import fixed_rate, svbench, svbench_published, uniform
from reeltalk_build.curate import filters
from reeltalk_build.curate.filters import near_duplicates
from reeltalk_build.curate.settings import PRESETS, CurateSettings
from reeltalk_build.curate.stage import clips_of, clips_of_script


def shots(*bounds: float) -> list[Interval]:
    return [Interval(start_s=a, end_s=b) for a, b in itertools.pairwise(bounds)]


def bounds(clips: list[Interval]) -> list[tuple[float, float]]:
    return [(clip.start_s, clip.end_s) for clip in clips]


def test_short_shots_join_their_shorter_neighbour_and_clips_overlap_by_a_second() -> None:
    clips = clips_of(shots(0, 10, 11, 15, 30), 30, merge_below_s=2, extend_s=0.5)
    assert bounds(clips) == [(0, 10.5), (9.5, 15.5), (14.5, 30)]


def test_a_shot_as_long_as_the_shortest_clip_stays() -> None:
    assert bounds(clips_of(shots(0, 2, 12), 12, merge_below_s=2, extend_s=0)) == [(0, 2), (2, 12)]
    assert bounds(clips_of(shots(0, 1.99, 12), 12, merge_below_s=2, extend_s=0)) == [(0, 12)]
    assert CurateSettings().merge_below_s == 2


def test_shots_that_are_all_short_become_one() -> None:
    assert bounds(clips_of(shots(0, 0.5, 1, 1.5), 1.5, merge_below_s=2, extend_s=0.5)) == [(0, 1.5)]


@given(st.lists(st.floats(0.05, 20), min_size=1, max_size=20), st.floats(0, 4), st.floats(0, 2))
def test_clips_cover_the_video_and_lie_inside(lengths: list[float], merge_below_s: float, extend_s: float) -> None:
    edges = [math.fsum(lengths[:n]) for n in range(len(lengths) + 1)]
    clips = clips_of(shots(*edges), edges[-1], merge_below_s=merge_below_s, extend_s=extend_s)
    assert clips[0].start_s == 0
    assert clips[-1].end_s == edges[-1]
    for before, after in itertools.pairwise(clips):
        assert after.start_s <= before.end_s
    assert len(clips) == 1 or all(clip.duration_s >= merge_below_s - 1e-9 for clip in clips)


@given(st.lists(st.sampled_from([0.5, 1.0, 1.5, 2.5, 4.0]), min_size=1, max_size=30), st.sampled_from([0.0, 2.0, 9.0]))
def test_the_shortest_shot_joins_first(lengths: list[float], merge_below_s: float) -> None:
    parts = list(lengths)
    while len(parts) > 1 and min(parts) < merge_below_s:
        at = parts.index(min(parts))
        other = min((index for index in (at - 1, at + 1) if 0 <= index < len(parts)), key=lambda index: parts[index])
        parts[min(at, other) : max(at, other) + 1] = [parts[at] + parts[other]]
    edges = itertools.accumulate(lengths, initial=0.0)
    clips = clips_of(shots(*edges), sum(lengths), merge_below_s=merge_below_s, extend_s=0.0)
    assert [clip.duration_s for clip in clips] == parts


def test_the_script_skips_and_rounds() -> None:
    clips = clips_of_script(shots(0, 1.4, 3.2, 40.2, 52.7), 52.7)
    assert bounds(clips) == [(1, 4), (3, 41), (40, 52.7)]


def test_svbench_published_frames_reach_before_the_clip() -> None:
    assert svbench_published(Interval(start_s=40.2, end_s=52.7)) == tuple(float(n) for n in range(35, 54, 2))
    assert svbench_published(Interval(start_s=3.5, end_s=9.5)) == tuple(float(n) for n in range(3, 11))
    assert svbench_published(Interval(start_s=40.2, end_s=52.7), frames_of_video=53)[-1] == 52
    near_zero = svbench_published(Interval(start_s=0, end_s=11))
    assert len(near_zero) < 10
    assert 0 not in near_zero


@given(st.floats(0, 500), st.floats(0.05, 300), st.sampled_from([uniform, fixed_rate, svbench]))
def test_samplers_stay_inside_the_clip(
    start_s: float, length_s: float, sampler: Callable[[Interval], tuple[float, ...]]
) -> None:
    clip = Interval(start_s=start_s, end_s=start_s + length_s)
    times = sampler(clip)
    assert times
    assert list(times) == sorted(set(times))
    assert all(clip.start_s <= time < clip.end_s for time in times)


def test_samplers_give_what_they_say() -> None:
    clip = Interval(start_s=2, end_s=6)
    assert uniform(clip, frames=4) == (2.5, 3.5, 4.5, 5.5)
    assert fixed_rate(clip, fps=2, cap=3) == (2.0, 4.0, 5.5)
    assert len(svbench(Interval(start_s=1.2, end_s=80))) == 10
    with pytest.raises(ValueError, match="fps must be above 0"):
        fixed_rate(clip, fps=0)


def test_lookalikes_are_found_in_spite_of_noise() -> None:
    hashes = {
        "a": ["00000000000000ff", "123456789abcdef0", "0f0f0f0f0f0f0f0f"],
        "b": ["00000000000000f0", "123456789abcdef1", "ffffffffffffffff"],
        "c": ["aaaaaaaaaaaaaaaa", "5555555555555555"],
        "d": [],
    }
    assert near_duplicates(hashes, max_bits=4, min_share=0.5) == {"a": "a", "b": "a"}
    assert near_duplicates(hashes, max_bits=3, min_share=0.5) == {}
    assert near_duplicates(hashes, max_bits=4, min_share=0.9) == {}


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=6), min_size=2),
    st.integers(0, 7),
    st.data(),
)
def test_lookalikes_are_those_that_comparing_all_finds(
    numbers: dict[str, list[int]], max_bits: int, data: st.DataObject
) -> None:
    # Copies of pictures with some bits flipped, so that there is something to find.
    names = sorted(numbers)
    for name in names[1:]:
        for number in data.draw(st.lists(st.sampled_from(numbers[names[0]]), max_size=3)):
            flips = data.draw(st.lists(st.integers(0, 63), max_size=9))
            numbers[name].append(number ^ sum(1 << bit for bit in set(flips)))
    hashes = {name: [f"{number:016x}" for number in values] for name, values in numbers.items()}
    groups = near_duplicates(hashes, max_bits=max_bits, min_share=0.5)
    for a in names:
        for b in names:
            one, two = set(numbers[a]), set(numbers[b])
            few, many = (one, two) if len(one) <= len(two) else (two, one)
            alike = sum(any((x ^ y).bit_count() <= max_bits for y in many) for x in few) >= 0.5 * len(few)
            if a != b and alike and len(one) != len(two):
                assert groups[a] == groups[b]


def test_settings_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="min_shots is 9, which is above max_shots, 3"):
        CurateSettings(min_shots=9, max_shots=3)
    with pytest.raises(SettingError, match="the transnetv2 detector has no min_shot_frames"):
        _ = CurateSettings(detector="transnetv2", min_shot_frames=3).detector_settings
    for splits in ("train", "train=x", "train=0.5", "train=1.5,test=-0.5", "=1"):
        with pytest.raises(SettingError, match="--splits"):
            _ = CurateSettings(splits=splits).split_shares
    assert CurateSettings(splits="train=0.8, test=0.2").split_shares == {"train": 0.8, "test": 0.2}


PRODUCT = "25 s = --min-shots 5 × --min-mean-shot-s 5"


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (
            missing_share(2, decoded_s=9, duration_s=10),
            "9.0 of 10.0 s can be decoded, 10.0 % are missing, above 2 % = --max-missing; get the whole file, or",
        ),
        (
            filters.duration(CurateSettings(), 59.9),
            "it lasts 59.9 s, shorter than 60 s = --min-duration-s; lower --min-duration-s",
        ),
        (
            filters.duration(CurateSettings(min_duration_s=1), 12.3),
            f"it lasts 12.3 s, shorter than {PRODUCT}; lower --min-shots or --min-mean-shot-s",
        ),
        (
            filters.duration(CurateSettings(), 12.3),
            f"it lasts 12.3 s, shorter than 60 s = --min-duration-s and than {PRODUCT}; lower --min-duration-s, and "
            "--min-shots or --min-mean-shot-s",
        ),
        (
            filters.duration(CurateSettings(), 451),
            "it lasts 451.0 s, longer than 450 s = --max-shots 15 × --max-mean-shot-s 30; raise --max-shots to the "
            "number of its shots, or --max-mean-shot-s if its shots are long",
        ),
        (
            filters.quality(CurateSettings(max_brisque=50), 51.0),
            "its BRISQUE score is 51.0, above 50 = --max-brisque; raise it, or leave it out",
        ),
        (
            filters.aesthetic(CurateSettings(aesthetic_model=Path("clip")), 3.2),
            "its aesthetic score is 3.20, below 4 = --min-aesthetic; lower it, or leave out --aesthetic-model",
        ),
        (filters.shots(CurateSettings(), 1, stopped_at_s=None), "it has 1 shot, fewer than 5 = --min-shots; lower it"),
        (filters.shots(CurateSettings(), 16, stopped_at_s=33.3), "16 shots within 33.3 s, more than 15 = --max-shots"),
        (
            filters.shots(CurateSettings(), 16, stopped_at_s=60.0, duration_s=3600.0),
            "16 shots within 60.0 s, or about 960 in all its 3600.0 s, more than 15 = --max-shots; raise it",
        ),
        (filters.shots(CurateSettings(), 16, stopped_at_s=None), "it has 16 shots, more than 15 = --max-shots"),
        (
            filters.mean_shot(CurateSettings(), 4.9),
            "its shots last 4.9 s on average, less than 5 s = --min-mean-shot-s; lower it",
        ),
        (
            filters.mean_shot(CurateSettings(), 31),
            "its shots last 31.0 s on average, more than 30 s = --max-mean-shot-s; raise it",
        ),
        (
            filters.motion(CurateSettings(), 0.2),
            "hardly anything moves: its mean motion is 0.20 px, below 0.5 px = --min-flow-px; lower it",
        ),
        (
            filters.motion(CurateSettings(), 101.0),
            "its mean motion is 101.0 px, above 100 px = --max-flow-px; raise it",
        ),
    ],
)
def test_a_rejection_names_the_value_the_bound_its_options_and_what_to_do(result: FilterResult, reason: str) -> None:
    assert result.outcome == "rejected"
    assert reason in full_reason(result)


def test_a_filter_passes_at_its_bound_or_says_that_it_was_not_applied() -> None:
    settings = CurateSettings()
    assert filters.duration(settings, 60.0).outcome == filters.duration(settings, 450.0).outcome == "passed"
    assert filters.aesthetic(settings, None).outcome == "not applied"
    assert filters.quality(settings, 99.0).outcome == "not applied"
    assert filters.motion(settings, None).outcome == "not applied"


def screened(name: str, *results: FilterResult) -> tuple[Screening, Rejected]:
    reason = full_reason(results[-1])
    row = Screening(video_id=VideoId(name), kept=False, filters=results)
    return row, Rejected(table="videos", record_id=name, reason=reason)


def test_where_no_video_is_accepted_one_sentence_says_the_most_frequent_reason_and_a_preset_that_helps() -> None:
    settings = CurateSettings()
    rows = [screened(f"clip{n}", filters.duration(settings, n)) for n in (3.0, 4.0, 5.0)]
    rows.append(screened("long", filters.duration(settings, 451)))
    sentence = filters.describe_rejected([row for row, _ in rows], [rejected for _, rejected in rows])
    assert sentence.startswith(
        "no video was accepted; of 4, 3 for this reason (clip3.0): it lasts 3.0 s, shorter than 60 s"
    )
    assert sentence.endswith("or use --preset short-clips")
    still = screened("still", filters.duration(settings, 300), filters.shots(settings, 1, stopped_at_s=None))
    assert filters.describe_rejected([still[0]], [still[1]]).endswith("or use --preset static-camera")
    torn = Rejected(table="videos", record_id="torn", reason="it is empty")
    assert filters.describe_rejected([], [torn]) == "no video was accepted; of 1, 1 for this reason (torn): it is empty"


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_sets_options_and_those_that_are_given_win(name: str) -> None:
    preset = CurateSettings.model_validate({"preset": name})
    assert {option: getattr(preset, option) for option in PRESETS[name]} == PRESETS[name]
    assert preset.min_shots == 1
    assert CurateSettings.model_validate({"preset": name, "min_shots": 5}).min_shots == 5
    assert {n for n in CurateSettings.model_fields if getattr(preset, n) != getattr(CurateSettings(), n)} == {
        "preset",
        *PRESETS[name],
    }


def test_files_are_named_by_their_place_and_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "day").mkdir()
    for name in ("a.mp4", "a.mkv", "day/b.MOV", ".hidden.mp4", "notes.txt"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "link.mp4").symlink_to("/etc/passwd")
    (tmp_path / "away").symlink_to("/etc")
    sources, rejected = find_videos([tmp_path])
    assert [source.id for source in sources] == ["a", "a.mp4", "day/b"]
    assert {row.record_id: row.reason.split(",")[0] for row in rejected} == {
        "empty": "it is empty",
        "link": "it is a link that leads out of the folder",
    }
    with pytest.raises(InputError, match="no such file"):
        find_videos([tmp_path / "nowhere"])


def test_names_that_no_table_can_hold_are_refused(tmp_path: Path) -> None:
    for name in (b"a\nb.mp4", b"\xff\xfe.mp4", b"tab\t.mkv", b" spaced .mp4"):
        (tmp_path / os.fsdecode(name)).write_bytes(b"x")
    sources, rejected = find_videos([tmp_path])
    assert sources == []
    assert sorted(row.record_id for row in rejected) == ["a�b", "spaced", "tab�", "��"]
    assert all("rename it" in row.reason and row.to_json().encode() for row in rejected)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("v.info.json", {"license": "CC-BY-4.0", "webpage_url": "https://x.org/v", "categories": ["Travel"]},
         {"licence": "CC-BY-4.0", "source": "https://x.org/v", "category": "Travel"}),
        ("v.json", {"licence": "CC0-1.0", "split": "test"}, {"licence": "CC0-1.0", "split": "test"}),
        ("v.mp4.json", {}, {}),
    ],
)  # fmt: skip
def test_a_sidecar_states_licence_and_source(
    name: str, value: dict[str, Any], expected: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(json.dumps(value))
    (tmp_path / "v.mp4").write_bytes(b"x")
    ((source,), _) = find_videos([tmp_path])
    assert source.sidecar == tmp_path / name
    assert read_sidecar(tmp_path / name) == ((expected, []) if expected else None)


def test_a_value_of_a_sidecar_that_is_no_line_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(
        '{"licence": [3], "source": "x", "fps": NaN, "note": "\\u202e", "note": 2, "category": ["a", "b"]}'
    )
    known, (problem,) = read_sidecar(tmp_path / "v.json") or ({}, [])
    assert known == {"source": "x", "category": "a, b"}
    assert re.search(r"must be a line of text.*, got \[3\] .*v\.json at \$\.licence", str(problem))
    (tmp_path / "v.json").write_text("[1]")
    assert read_sidecar(tmp_path / "v.json") is None
    (tmp_path / "v.json").write_text("{")
    with pytest.raises(InputError, match=r"not JSON.*v\.json:1"):
        read_sidecar(tmp_path / "v.json")

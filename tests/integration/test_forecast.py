"""Forecasts of construction against what a scripted server counts, for several designs."""

import itertools
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scripted_vision
from scripted_server import Body, serve

from reeltalk.cli import run
from reeltalk.construct.costs import construct_cost
from reeltalk.construct.forecast import ConstructionForecast
from reeltalk.construct.prompting import REPLY_TYPES
from reeltalk.construct.rehearsed_replies import REPLIES
from reeltalk.construct.settings import AskSettings, ConstructSettings, Step
from reeltalk.schema.intervals import Interval
from reeltalk.schema.knowledge import Box, Sighting
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ClipId, EntityId, VideoId
from reeltalk.stages.forecasting import plan_construction
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CLIPS, SIGHTINGS, VIDEOS
from reeltalk.video.write import write_video

LENGTHS_S = (3.0, 8.0, 5.0, 11.0, 4.0, 9.0)
"""Of the clips of each video."""
NEAR = 0.15
IMAGE_TOKENS = 100
"""That the server counts for an image."""


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tiny videos of six clips each, in which a thing is seen each second; copy it before writing."""
    folder = tmp_path_factory.mktemp("forecast")
    benchmark = Benchmark.create(folder / "bench")
    videos, clips, sightings = [], [], []
    box = Box(left=0.2, top=0.2, right=0.8, bottom=0.8)
    for name in ("a", "b"):
        shades = range(0, 2 * int(sum(LENGTHS_S)))
        pictures = (np.full((36, 64, 3), 60 + shade + 40 * (name == "b"), np.uint8) for shade in shades)
        write_video(folder / f"{name}.mp4", pictures, fps=2)
        sha256 = benchmark.media.add(folder / f"{name}.mp4")
        videos.append(Video(id=VideoId(name), sha256=sha256, duration_s=sum(LENGTHS_S)))
        start_s = 0.0
        for number, length_s in enumerate(LENGTHS_S):
            clip = ClipId(f"{name}{number}")
            interval = Interval(start_s=start_s, end_s=start_s + length_s)
            clips.append(Clip(id=clip, video_id=VideoId(name), interval=interval))
            for second in range(int(length_s)):
                sightings.append(
                    Sighting(
                        video_id=VideoId(name),
                        clip_id=clip,
                        pts_s=start_s + second,
                        box=box,
                        class_name="mug",
                        confidence=1.0,
                        entity=EntityId(f"mug {number // 2}"),
                        caption="white mug, middle, back",
                    )
                )
            start_s += length_s
    with benchmark.writing(stage="test") as writer:
        writer.add(VIDEOS, videos)
        writer.add(CLIPS, clips)
        writer.add(SIGHTINGS, sightings)
    return benchmark.path


def copied(bare: Path, folder: Path) -> Path:
    shutil.copytree(bare, folder / "bench")
    return folder / "bench"


def alternating() -> Any:
    """A server that is as good as the rehearsed model, and finds each third pair of clips to be one scene."""
    merges = itertools.count(1)

    def reply(body: Body) -> str:
        if "MergeReply" in json.dumps(body.get("response_format", "")):
            return json.dumps({"reason": "the room", "same_scene": next(merges) % 3 == 0})
        return scripted_vision.reply(body)

    return reply


def counted(path: Path, server: str, options: list[str]) -> None:
    code = run(["construct", str(path), "--writer", "vision-1", "--base-url", server, *options])
    assert code == 0


def compare(found: ConstructionForecast, path: Path) -> None:
    """The forecast of each step against the record."""
    wanted: dict[str, Counter[str]] = {}
    for line in found.lines:
        wanted.setdefault(line.step, Counter()).update(
            requests=line.calls, images=line.images, tokens=line.tokens_in + line.tokens_out
        )
    costs = construct_cost(Benchmark.open(path))
    assert set(wanted) == set(costs)
    far = []
    for step, prompts in costs.items():
        got = Counter[str]()
        for asked in prompts.values():
            got.update(requests=asked.requests, images=asked.images, tokens=asked.prompt_tokens + asked.reply_tokens)
        far += [
            f"{step}: {wanted[step][name]:,} {name}, counted {got[name]:,}"
            for name in ("requests", "images", "tokens")
            if abs(wanted[step][name] - got[name]) > NEAR * got[name] + 1
        ]
    assert not far, far


DESIGNS: dict[str, tuple[dict[str, Any], dict[str, Any], list[Step], list[str]]] = {
    "as it comes": ({}, {}, [], []),
    "text": ({}, {"sees": "text"}, [], ["--sees", "text"]),
    "judges": (
        {"frames": 4, "min_turns": 3},
        {"judge": ("judge-1", "judge-2"), "samples": 2},
        [],
        ["--frames", "4", "--min-turns", "3", "--judge", "judge-1", "--judge", "judge-2", "--samples", "2"],
    ),
    "probe": (
        {"dialogues": 2},
        {"probe": "probe-1", "attacker": ("small-1",), "judge": ("judge-1",)},
        [],
        ["--dialogues", "2", "--probe", "probe-1", "--attacker", "small-1", "--judge", "judge-1"],
    ),
    "steps": ({}, {}, ["chains", "linkages"], ["--steps", "chains", "--steps", "linkages"]),
}


def test_every_prompt_can_be_rehearsed() -> None:
    asked = {kind.__name__ for name, kind in REPLY_TYPES.items() if name != "rubric"}
    assert asked <= set(REPLIES)


@pytest.mark.parametrize("name", DESIGNS)
def test_each_step_asks_about_what_was_forecast(name: str, bare: Path, tmp_path: Path) -> None:
    settings, asking, steps, options = DESIGNS[name]
    path = copied(bare, tmp_path)
    found = plan_construction(
        Benchmark.open(path),
        writer="vision-1",
        settings=ConstructSettings(**settings),
        asking=AskSettings(image_tokens=IMAGE_TOKENS, **asking),
        steps=steps,
    )
    with serve(alternating()) as server:
        counted(path, server.base_url, options)
        assert server.count == sum(
            asked.requests for prompts in construct_cost(Benchmark.open(path)).values() for asked in prompts.values()
        )
    compare(found, path)

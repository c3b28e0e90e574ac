"""Forecasts of construction against what a scripted server counts, for several designs."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import scripted_vision
from page_world import World
from scripted_server import serve

from reeltalk.cli import run
from reeltalk.construct.costs import construct_cost
from reeltalk.construct.forecast import ConstructionForecast
from reeltalk.construct.prompting import REPLY_TYPES
from reeltalk.construct.rehearsed_replies import REPLIES
from reeltalk.construct.settings import AskSettings, ConstructSettings, Step
from reeltalk.parallel import LocalExecutor
from reeltalk.stages.forecasting import plan_construction
from reeltalk.store.benchmark import Benchmark
from reeltalk.world.film import film
from reeltalk.world.settings import FilmSettings

NEAR = 0.2
"""Aimed at are 15 %. A step of so few videos is also sent back more or less often by chance, so its requests, as counts
of chance, may be off by their standard deviation besides."""
APART = {"reason": "another room", "same_scene": False}
"""Which scenes merge decides how many segments and dialogues there are; for five videos, chance could halve them."""
IMAGE_TOKENS = 100
"""That the server counts for an image."""


@pytest.fixture(scope="module")
def filmed(tmp_path_factory: pytest.TempPathFactory, world: World, full: bool) -> Path:
    """Filmed videos with their objects, five in full counts and shorter ones otherwise; copy it before writing."""
    if not full:
        return world.made("sighted")
    folder = tmp_path_factory.mktemp("forecast") / "bench"
    settings = FilmSettings(scenarios=5, houses=5, width_px=320, fps=5, seed=7)
    film(Benchmark.create(folder), settings, executor=LocalExecutor(2))
    assert run(["construct", str(folder), "--steps", "objects"]) == 0
    return folder


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
            if abs(wanted[step][name] - got[name]) > (NEAR + got["requests"] ** -0.5) * got[name] + 1
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
        {"limit": 3},
        {"probe": "probe-1", "attacker": ("small-1",), "judge": ("judge-1",)},
        [],
        ["--limit", "3", "--probe", "probe-1", "--attacker", "small-1", "--judge", "judge-1"],
    ),
    "steps": ({}, {}, ["chains", "linkages"], ["--steps", "chains", "--steps", "linkages"]),
}


def test_a_forecast_is_the_same_each_time(filmed: Path) -> None:
    def forecast() -> ConstructionForecast:
        return plan_construction(
            Benchmark.open(filmed), writer="vision-1", settings=ConstructSettings(), asking=AskSettings(), steps=[]
        )

    assert forecast() == forecast()


def test_every_prompt_can_be_rehearsed() -> None:
    asked = {kind.__name__ for name, kind in REPLY_TYPES.items() if name != "rubric"}
    assert asked <= set(REPLIES)


@pytest.mark.parametrize(
    "name", [name if name == "steps" else pytest.param(name, marks=pytest.mark.slow) for name in DESIGNS]
)
@pytest.mark.timeout(900)
def test_each_step_asks_about_what_was_forecast(
    name: str, filmed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(REPLIES, "MergeReply", lambda text, draw: APART)
    settings, asking, steps, options = DESIGNS[name]
    path = tmp_path / "bench"
    shutil.copytree(filmed, path)
    found = plan_construction(
        Benchmark.open(path),
        writer="vision-1",
        settings=ConstructSettings(**settings),
        asking=AskSettings(image_tokens=IMAGE_TOKENS, **asking),
        steps=steps,
    )
    with serve(scripted_vision.reply) as server:
        run(["construct", str(path), "--writer", "vision-1", "--base-url", server.base_url, *options])
        assert server.count == sum(
            asked.requests for prompts in construct_cost(Benchmark.open(path)).values() for asked in prompts.values()
        )
    compare(found, path)

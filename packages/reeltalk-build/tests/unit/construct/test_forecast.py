"""A forecast is counts times what each prompt usually takes."""

from pathlib import Path

import pytest

from reeltalk.llm import Prices, Reply
from reeltalk.llm.budget import Spent
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ClipId, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CLIPS, VIDEOS
from reeltalk_build.construct.forecast import ConstructionForecast, RunningForecast, forecast_construction
from reeltalk_build.construct.settings import AskSettings, ConstructSettings, Step


@pytest.fixture
def cut(tmp_path: Path) -> Benchmark:
    """Four videos of three clips."""
    benchmark = Benchmark.create(tmp_path / "bench")
    names = [VideoId(f"video-{number}") for number in range(4)]
    with benchmark.writing(stage="test") as writer:
        writer.add(VIDEOS, [Video(id=name, duration_s=60.0) for name in names])
        writer.add(CLIPS, [Clip(id=ClipId(f"{name}-{part}"), video_id=name) for name in names for part in range(3)])
    return Benchmark.open(benchmark.path)


def forecast(
    benchmark: Benchmark, writer: str = "vision-1", limit: int | None = None, **asking: object
) -> ConstructionForecast:
    return forecast_construction(
        benchmark,
        writer=writer,
        settings=ConstructSettings(limit=limit),
        asking=AskSettings.model_validate({"image_tokens": 100} | asking),
        steps=["chains"],
    )


def test_requests_grow_with_clips_and_judges(cut: Benchmark) -> None:
    assert forecast(cut, limit=1).calls == 9
    assert forecast(cut).calls == 36
    judged = forecast(cut, judge=["judge-1", "judge-2"], samples=2)
    # Each of four reads every clip twice, and six drafts again with changed turns.
    assert judged.calls == 36 + 7 + 2 * 4 * 12 + 4 * 6
    assert judged.images > forecast(cut).images > 0
    assert forecast(cut, sees="text").images == 0


def test_a_graph_asks_only_what_answers_the_turns(cut: Benchmark) -> None:
    assert forecast(cut, writer="graph", probe="probe-1").calls == 0


def reply(tokens_in: int, tokens_out: int) -> Reply:
    return Reply("{}", "vision-1", tokens_in, tokens_out, False)


def test_after_ten_replies_what_they_took_replaces_the_medians(cut: Benchmark) -> None:
    found = forecast(cut, judge=["judge-1"])
    lines = {line.what: line for line in found.lines}
    running = RunningForecast(found, Prices(input=1, output=1))
    assert running.left() == Spent(found.calls, sum(found.tokens), sum(found.tokens) / 1e6)
    # Pictures count three times what was thought, and texts are as long as that.
    for done in range(1, 11):
        line = lines["chain"]
        thrice = reply(3 * line.tokens_in // line.calls, line.tokens_out // line.calls)
        assert running.measure("chains", "chain", thrice) == done
    left = running.left()
    assert left.calls == found.calls - 10
    pictured = sum(one.tokens_in for one in found.lines if one.images and one.what != "chain")
    pictured += 2 * lines["chain"].tokens_in // lines["chain"].calls
    assert left.tokens > 2.9 * pictured
    assert left.cost == pytest.approx(left.tokens / 1e6)


def test_steps_that_have_ended_are_not_to_come(cut: Benchmark) -> None:
    asking = AskSettings(image_tokens=100)
    settings = ConstructSettings()
    steps: list[Step] = ["chains", "linkages"]
    found = forecast_construction(cut, writer="vision-1", settings=settings, asking=asking, steps=steps)
    running = RunningForecast(found)
    running.measure("linkages", "linkages", reply(10, 10))
    assert running.left().calls == sum(line.calls for line in found.lines if line.step == "linkages") - 1
    for _ in range(100):
        running.measure("linkages", "linkages", reply(10, 10))
    assert running.left().calls == sum(line.calls for line in found.lines if line.what == "rewrite")

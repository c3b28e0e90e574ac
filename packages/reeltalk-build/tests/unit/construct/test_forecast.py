"""A forecast is counts times what each prompt usually takes."""

from pathlib import Path

import pytest

from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ClipId, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CLIPS, VIDEOS
from reeltalk_build.construct.forecast import ConstructionForecast, forecast_construction
from reeltalk_build.construct.settings import AskSettings, ConstructSettings


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

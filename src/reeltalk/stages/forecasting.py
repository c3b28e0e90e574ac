"""Forecast: count the requests of a construction before anything is asked or decoded."""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from reeltalk.construct.costs import CountedModel, StepCost, StepCounter, construct_cost, step_costs
from reeltalk.construct.forecast import (
    CAPTIONS,
    ConstructionForecast,
    Costs,
    Measured,
    Size,
    estimate_object_captions,
    estimate_requests,
)
from reeltalk.construct.object_step import ObjectSettings
from reeltalk.construct.prompting import construction_prompts
from reeltalk.construct.rehearsal import RehearsedExecutor, RehearsedModel, copy_for_rehearsal
from reeltalk.construct.settings import STEPS, AskSettings, ConstructSettings, Step
from reeltalk.construct.stage import construct as compute
from reeltalk.llm import CachedModel, ReplyStore
from reeltalk.schema.media import Video
from reeltalk.schema.record import Json
from reeltalk.stages.constructing import GRAPH, endpoint_of, prepare_run
from reeltalk.stages.prompt_folders import check_folder
from reeltalk.store.benchmark import WORK, Benchmark
from reeltalk.store.tables import CLIPS, KNOWN_BOXES, VIDEOS
from reeltalk.video.sampling import evenly

MOST_REHEARSED: Final = 8
"""Most videos that are rehearsed; the requests of the others are taken to be alike."""


class RehearsedModels:
    """Opens models that are not asked."""

    def __init__(self, asking: AskSettings, store: ReplyStore) -> None:
        self._asking, self._store, self.counter = asking, store, StepCounter()

    def open(self, name: str, *, sees_images: bool, sample: int = 0) -> CountedModel:
        """A rehearsed model with the name and the sampling of a real one."""
        sampling = endpoint_of(name, self._asking, sample=sample).sampling
        model = CachedModel(RehearsedModel(name, sees_images, sampling), self._store, sample=sample)
        return CountedModel(lambda _: model, self.counter)


def plan_construction(
    benchmark: Benchmark,
    *,
    writer: str = GRAPH,
    settings: ConstructSettings | None = None,
    asking: AskSettings | None = None,
    steps: Sequence[Step] = (),
) -> ConstructionForecast:
    """Forecast the requests and tokens of `construct` with the same settings. No model is asked, no video is decoded.

    Args:
        benchmark: One with clips.
        writer: As for `construct`, but no class of your own.
        settings: As for `construct`.
        asking: As for `construct`.
        steps: As for `construct`.

    Raises:
        SettingError: A setting cannot be used.
        BenchmarkError: There are no clips.
    """
    settings, asking, steps = settings or ConstructSettings(), asking or AskSettings(), tuple(steps) or STEPS
    check_folder(asking.prompts, construction_prompts(settings.language))
    videos = list(islice(benchmark.read(VIDEOS), settings.limit))
    clips = clips_of(benchmark, videos)
    chosen = evenly(videos, MOST_REHEARSED)
    rehearsed, signed = rehearse(benchmark, chosen, writer, settings, asking, steps)
    known = step_costs(benchmark)
    costs = {
        step: cost for step, cost in known.items() if step in signed and signed[step] == signature_of(benchmark, step)
    }
    measured = None
    if costs:
        again = videos[: max(cost.videos for cost in costs.values())]
        measured = Measured(costs, rehearse(benchmark, again, writer, settings, asking, steps)[0])
    total, of = Size(len(videos), len(clips)), Size(len(chosen), len(clips_of(benchmark, chosen)))
    lines = estimate_requests(rehearsed, of, total, image_tokens=asking.image_tokens, measured=measured)
    if "objects" in steps and settings.object_captions and asking.sees == "images" and writer != GRAPH:
        thresholds = ObjectSettings()
        captions = estimate_object_captions(
            videos,
            benchmark.read(KNOWN_BOXES),
            most=settings.object_captions_per_video,
            side_px=thresholds.caption_side_px,
            sightings=thresholds.caption_sightings,
            image_tokens=asking.image_tokens,
        )
        lines.insert(0, captions)
    return ConstructionForecast(tuple(lines), len(videos), settings.attempts, tuple(costs))


def clips_of(benchmark: Benchmark, videos: Sequence[Video]) -> list[Any]:
    names = {video.id for video in videos}
    return [clip for clip in benchmark.read(CLIPS) if clip.video_id in names]


def signature_of(benchmark: Benchmark, step: str) -> dict[str, Json] | None:
    return None


def rehearse(
    benchmark: Benchmark,
    videos: Sequence[Video],
    writer: str,
    settings: ConstructSettings,
    asking: AskSettings,
    steps: Sequence[Step],
) -> tuple[Costs, Mapping[str, dict[str, Json]]]:
    with TemporaryDirectory(prefix="reeltalk-rehearsal-") as folder:
        copy = copy_for_rehearsal(benchmark, Path(folder), videos)
        with ReplyStore(copy.path / WORK / "replies.sqlite") as store:
            models = RehearsedModels(asking, store)
            alone = settings.model_copy(update={"limit": None})
            run = prepare_run(copy, writer, alone, asking, models, RehearsedExecutor(), steps)
            compute(run, [step for step in steps if step != "objects"])
        done = Benchmark.open(copy.path)
        return construct_cost(done), {}

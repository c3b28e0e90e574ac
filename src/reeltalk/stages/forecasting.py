"""Forecast: count the requests of a construction before anything is asked or decoded."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from reeltalk.construct.costs import Asked, CountedModel, StepCost, StepCounter, construct_cost, step_costs
from reeltalk.construct.forecast import (
    CAPTIONS,
    ConstructionForecast,
    Measured,
    RequestEstimate,
    Size,
    estimate_object_captions,
    estimate_requests,
)
from reeltalk.construct.object_step import ObjectSettings
from reeltalk.construct.prompting import construction_prompts, prompts
from reeltalk.construct.rehearsal import RehearsedExecutor, RehearsedModel, copy_for_rehearsal, count_tokens
from reeltalk.construct.settings import STEPS, AskSettings, ConstructSettings, Step
from reeltalk.construct.stage import construct as rehearse
from reeltalk.construct.stage import recorded_settings
from reeltalk.construct.writer_options import GRAPH, check_writer_options
from reeltalk.llm import CachedModel, ReplyStore
from reeltalk.schema.media import Video
from reeltalk.schema.record import Json
from reeltalk.stages.constructing import endpoint_of, prepare_run
from reeltalk.stages.prompt_folders import check_folder
from reeltalk.store.benchmark import WORK, Benchmark
from reeltalk.store.tables import CLIPS, KNOWN_BOXES, VIDEOS

MOST_REHEARSED: Final = 8
"""Most videos that are rehearsed; the requests of the others are taken to be alike."""


MOST_TAKES: Final = 4
"""Most rehearsals of the same videos."""


class RehearsedModels:
    """Opens models that are not asked."""

    def __init__(self, asking: AskSettings, store: ReplyStore, take: int) -> None:
        self._asking, self._store, self._take = asking, store, take
        self.counter = StepCounter(stops=False)

    def open(self, name: str, *, sees_images: bool, sample: int = 0) -> CountedModel:
        """A rehearsed model with the name and the sampling of a real one."""
        sampling = endpoint_of(name, self._asking, sample=sample).sampling
        model = CachedModel(RehearsedModel(name, sees_images, sampling, self._take), self._store, sample=sample)
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
    check_writer_options(writer, settings, asking, has_runs=True)
    check_folder(asking.prompts, construction_prompts(settings.language))
    rehearsal = _Rehearsal(benchmark, writer, settings, asking, steps)
    videos = list(islice(benchmark.read(VIDEOS), settings.limit))
    count = min(len(videos), MOST_REHEARSED)
    chosen = [videos[number * len(videos) // count] for number in range(count)]
    rehearsed = rehearsal.costs(chosen)
    known = step_costs(benchmark)
    costs: dict[str, StepCost] = {step: known[step] for step in steps if step in known and rehearsal.is_like(step)}
    measured = None
    if costs:
        most = max(cost.videos for cost in costs.values())
        measured = Measured(costs, rehearsed if most >= len(videos) == len(chosen) else rehearsal.costs(videos[:most]))
    total = rehearsal.size(videos)
    lines = estimate_requests(
        rehearsed, rehearsal.size(chosen), total, image_tokens=asking.image_tokens, measured=measured
    )
    if "chains" not in steps and "chains" in known:
        lines = _without_kept_captions(lines, share=min(1.0, known["chains"].clips / max(1, total.clips)))
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


def _without_kept_captions(lines: Sequence[RequestEstimate], *, share: float) -> list[RequestEstimate]:
    """The estimates without the captions that the step `chains` asked for already."""
    return [
        line.times(1 - share) if line.step == "scenes" and line.what in CAPTIONS else line
        for line in lines
        if share < 1 or line.step != "scenes" or line.what not in CAPTIONS
    ]


class _Rehearsal:
    """Rehearses a construction with some of its videos.

    Prompts and replies are rehearsed in English; the tokens of other languages follow from the lengths of the prompts.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        writer: str,
        settings: ConstructSettings,
        asking: AskSettings,
        steps: Sequence[Step],
    ) -> None:
        self._benchmark, self._writer, self._asking, self._steps = benchmark, writer, asking, steps
        self._own = prompts(settings.language, asking.prompts)
        self._settings = settings.model_copy(update={"limit": None, "language": "en"})
        self._is_english = settings.language == "en"
        self._used: dict[Step, dict[str, Json] | None] = {}
        self._clips = Counter(clip.video_id for clip in benchmark.read(CLIPS))

    def size(self, videos: Sequence[Video]) -> Size:
        """How many videos and clips."""
        return Size(len(videos), sum(self._clips[video.id] for video in videos))

    def costs(self, videos: Sequence[Video]) -> dict[str, dict[str, Asked]]:
        """Requests by step and prompt, as the mean of several rehearsals of few videos; tokens without images."""
        takes = min(MOST_TAKES, math.ceil(MOST_REHEARSED / max(1, len(videos))))
        together: dict[str, dict[str, Asked]] = {}
        for take in range(takes):
            for step, prompts_of in self._rehearsed(videos, take).items():
                own = together.setdefault(step, {})
                for name, asked in prompts_of.items():
                    own[name] = own.get(name, Asked()) + asked
        return {step: {name: asked.divided(takes) for name, asked in own.items()} for step, own in together.items()}

    def _rehearsed(self, videos: Sequence[Video], take: int) -> dict[str, dict[str, Asked]]:
        asking = self._asking if self._is_english else self._asking.model_copy(update={"prompts": None})
        steps = [step for step in self._steps if step != "objects"]
        with TemporaryDirectory(prefix="reeltalk-rehearsal-") as folder:
            copy = copy_for_rehearsal(self._benchmark, Path(folder), videos)
            with ReplyStore(copy.path / WORK / "replies.sqlite") as store:
                models = RehearsedModels(asking, store, take)
                run = prepare_run(copy, self._writer, self._settings, asking, models, RehearsedExecutor(), self._steps)
                rehearse(run, steps)
            done = Benchmark.open(copy.path)
            self._used |= {step: recorded_settings(done, step) for step in steps}
            found = construct_cost(done)
        if self._is_english:
            return found
        return {
            step: {name: self._translated(name, asked) for name, asked in asked_of.items()}
            for step, asked_of in found.items()
        }

    def _translated(self, name: str, asked: Asked) -> Asked:
        english = prompts("en")
        ours, theirs = (
            sum(count_tokens(known[part].text) for part in ("system", name) if part in known)
            for known in (english, self._own)
        )
        return asked.model_copy(update={"prompt_tokens": round(asked.prompt_tokens * theirs / max(1, ours))})

    def is_like(self, step: Step) -> bool:
        """True if the step was run before with these settings."""
        before = recorded_settings(self._benchmark, step) if step in self._used else None
        return before is not None and self._plain(before) == self._plain(self._used[step] or {})

    def _plain(self, settings: Mapping[str, Json]) -> dict[str, Json]:
        if self._is_english:
            return dict(settings)
        # The signature of a writer depends on the language of its prompts.
        return {name: value for name, value in settings.items() if name not in ("language", "writer", "probe_prompt")}

"""A benchmark of household scenarios that are told, not filmed: all that `world film` writes but the pictures.

Filming takes most of the time and most tests of dialogues need no frame. `python tools/told_households.py FOLDER [N]`
writes one.
"""

import sys
from fractions import Fraction
from pathlib import Path

from reeltalk.graph.activity import ActivityGraph
from reeltalk.graph.reading import read_activity
from reeltalk.graph.story import Story
from reeltalk.graph.telling import initial_room, tell_scenario
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ClipId, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CLIPS, VIDEOS
from reeltalk.world.activities import activities, program
from reeltalk.world.film import FilmPlan, carry_out_all, clip_graphs, plan
from reeltalk.world.house import build_house
from reeltalk.world.settings import FilmSettings

STAGE = "world tell"


def settings_of(scenarios: int, seed: int = 7, houses: int | None = None) -> FilmSettings:
    """The settings of `world film` under which so many scenarios are planned; few scenarios, few houses."""
    return FilmSettings(scenarios=scenarios, houses=houses or max(1, min(5, scenarios // 2)), seed=seed)


def told(folder: Path, scenarios: int = 20, seed: int = 7, houses: int | None = None) -> Benchmark:
    """Write videos, clips and graphs of scenarios, with the identifiers, times, splits and summaries of filmed ones.

    Args:
        folder: Where the benchmark is created.
        scenarios: How many videos.
        seed: Decides which, as it does for `world film`.
        houses: In how many houses; one for every two scenarios by default, five at most.
    """
    settings = settings_of(scenarios, seed, houses)
    benchmark = Benchmark.create(folder)
    made = [_made(planned, settings) for planned in plan(settings).plans]
    with benchmark.writing(stage=STAGE, settings=settings.model_dump(mode="json")) as writer:
        writer.add(VIDEOS, [video for video, _, _ in made])
        writer.add(CLIPS, [clip for _, clips, _ in made for clip in clips])
        for _, clips, texts in made:
            for clip, quads in zip(clips, texts, strict=True):
                writer.add_graph(clip.id, quads)
    return benchmark


def _made(planned: FilmPlan, settings: FilmSettings) -> tuple[Video, list[Clip], list[str]]:
    house = build_house(planned.house)
    parts = carry_out_all(house, planned.start_room, list(planned.activities))
    known = [activities()[name] for name in planned.activities]
    texts = clip_graphs(house, planned.clips, known, parts)
    graphs: list[ActivityGraph] = [
        read_activity(text, file=f"{name}.nq", name=name) for name, text in zip(planned.clips, texts, strict=True)
    ]
    clips: list[Clip] = []
    end_s = 0.0
    for name, recipe, steps in zip(planned.clips, known, parts, strict=True):
        start_s, end_s = end_s, end_s + sum(step.duration_s for step in steps)
        clips.append(
            Clip(
                id=ClipId(name),
                video_id=VideoId(planned.id),
                interval=Interval(start_s=round(start_s, 3), end_s=round(end_s, 3)),
                extra={
                    "activity": planned.activities[len(clips)],
                    "category": recipe.category,
                    "program": program(steps),
                },
            )
        )
    rooms = {graph.name: room for graph in graphs if (room := initial_room(graph))}
    video = Video(
        id=VideoId(planned.id),
        duration_s=Story(graphs).duration_s,
        frame_rate=Fraction(settings.fps),
        category="household",
        licence="CC0-1.0",
        source="reeltalk world",
        split=planned.split,
        summaries={"template": tell_scenario(graphs, rooms)},
        extra={"house": planned.house, "view": planned.view},
    )
    return video, clips, texts


if __name__ == "__main__":
    written = told(Path(sys.argv[1]), *(int(text) for text in sys.argv[2:3]))
    print(f"{written.path}: {written.rows(VIDEOS):,} videos, {written.rows(CLIPS):,} clips")

"""A benchmark of household scenarios that are told, not filmed: all that `world film` writes but the pictures.

Filming takes most of the time and most tests of dialogues need no frame. `python tools/told_households.py FOLDER [N]`
writes one.
"""

import argparse
import re
from pathlib import Path
from typing import Final

from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CLIPS, SPEECH, TABLES, VIDEOS
from reeltalk_household.world.film import FilmPlan, FilmRows, film_rows, film_video, plan_films, play_film
from reeltalk_household.world.settings import FilmSettings

STAGE: Final = "world tell"
NAMED: Final = re.compile(
    r"house\d+-\d+|(?:chain|rewrite|path|dialogue|scene)-[0-9a-f]{12,16}|[A-Za-z]\w*_scene\d+|(?<=/)[0-9a-f]{16}(?=-\d)"
)
"""Identifiers in rows and graphs."""


def settings_of(scenarios: int, seed: int = 7, houses: int | None = None, *, is_short: bool = False) -> FilmSettings:
    """The settings of `world film` under which so many scenarios are planned; few scenarios, few houses."""
    houses = houses or max(1, min(5, scenarios // 2))
    lengths = {"min_duration_s": 20.0, "max_duration_s": 50.0} if is_short else {}
    return FilmSettings(scenarios=scenarios, houses=houses, seed=seed, **lengths)


def told(
    folder: Path, scenarios: int = 20, seed: int = 7, houses: int | None = None, *, is_short: bool = False
) -> Benchmark:
    """Write videos, clips, talk and graphs of films, with the identifiers, times, splits and summaries of filmed ones.

    Args:
        folder: Where the benchmark is created.
        scenarios: How many videos.
        seed: Decides which, as it does for `world film`.
        houses: In how many houses; one for every two scenarios by default, five at most.
        is_short: Whether each lasts 20 to 50 s; by default 60 to 180.
    """
    settings = settings_of(scenarios, seed, houses, is_short=is_short)
    benchmark = Benchmark.create(folder)
    made = [(planned, film_rows(planned, play_film(planned))) for planned in plan_films(settings).plans]
    with benchmark.writing(stage=STAGE, settings=settings.model_dump(mode="json")) as writer:
        writer.add(VIDEOS, [_video(planned, settings, rows) for planned, rows in made])
        writer.add(CLIPS, [clip for _, rows in made for clip in rows.clips])
        if talk := [utterance for _, rows in made for utterance in rows.talk]:
            writer.add(SPEECH, talk)
        for _, rows in made:
            for clip, quads in zip(rows.clips, rows.graphs, strict=True):
                writer.add_graph(clip.id, quads)
    return benchmark


def repeated(source: Benchmark, folder: Path, times: int) -> Benchmark:
    """Write a benchmark that holds another one so many times, each time with other identifiers.

    Args:
        source: Told scenarios, constructed or not.
        folder: Where the benchmark is created.
        times: How often.
    """
    made = Benchmark.create(folder)
    with made.writing(stage=STAGE) as writer:
        for table in TABLES.values():
            if source.rows(table):
                lines = [row.to_json() for row in source.read(table)]
                copies = (_renamed(line, copy) for copy in range(times) for line in lines)
                writer.add(table, map(table.record.model_validate_json, copies))
        for copy in range(times):
            for name, quads in source.graph_texts():
                writer.add_graph(_renamed(name, copy), _renamed(quads, copy))
    return made


def _renamed(text: str, copy: int) -> str:
    if not copy:
        return text
    # The scene of a graph ends in digits.
    return NAMED.sub(lambda found: f"{found[0]}{copy:06d}" if "_scene" in found[0] else f"{found[0]}x{copy}", text)


def _video(planned: FilmPlan, settings: FilmSettings, rows: FilmRows) -> Video:
    end_s = max(clip.interval.end_s for clip in rows.clips if clip.interval)
    video = film_video(planned, settings, rows, duration_s=end_s, sha256=None)
    return video.model_copy(update={"file": None, "width_px": None, "height_px": None})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write a benchmark of households that are told, not filmed.")
    parser.add_argument("folder", type=Path, help="where it is created")
    parser.add_argument("scenarios", type=int, nargs="?", default=20, help="how many videos; 20 by default")
    given = parser.parse_args()
    written = told(given.folder, given.scenarios)
    print(f"{written.path}: {written.rows(VIDEOS):,} videos, {written.rows(CLIPS):,} clips")

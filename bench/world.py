"""How fast the household films itself: seconds of video for a second of one core, drawing and encoding together.

The baseline is real time. The figures are medians over films of one to three people in several houses and art styles;
each is drawn, encoded and written in this process, which has one thread of work. The films with three people are also
counted alone.
"""

import resource
import statistics
import tempfile
from pathlib import Path

from record import Measure, at_least, options_of, record
from reeltalk_build.video.write import write_video
from reeltalk_household.world.camera import Camera
from reeltalk_household.world.film import FilmPlan, plan_films, play_film
from reeltalk_household.world.scenes import camera_steps
from reeltalk_household.world.settings import FilmSettings

FILMS = 16
SIZES = ((640, 10), (1280, 10), (640, 25))


def cpu_s() -> float:
    """User and system time of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def ratio(planned: FilmPlan, width_px: int, fps: int, folder: Path) -> float:
    """Seconds of video for each second of work."""
    steps, house = camera_steps(play_film(planned)), planned.built()
    before = cpu_s()
    camera = Camera(house, width_px=width_px, fps=fps, view=planned.view)
    frames = write_video(folder / "film.mp4", (picture for _, picture in camera.film(steps)), fps=fps)
    return frames / fps / (cpu_s() - before)


def main() -> None:
    quick: bool = options_of(__doc__).parse_args().quick
    count = FILMS // 4 if quick else FILMS
    plans = plan_films(FilmSettings(scenarios=count, houses=count, test_houses=count // 4, dev_houses=count // 4)).plans
    measures = []
    with tempfile.TemporaryDirectory() as folder:
        for width, fps in SIZES:
            ratios = {planned.id: ratio(planned, width, fps, Path(folder)) for planned in plans}
            size = f"{width}x{width * 9 // 16}, {fps} fps"
            speed = statistics.median(ratios.values())
            what = f"the household films itself at {size}"
            goal = at_least(10) if (width, fps) == SIZES[0] else None
            measures.append(Measure(what, speed, "video s a core s", "real time, one core", speed, goal))
            crowded = [ratios[planned.id] for planned in plans if len(planned.people) == 3]
            if crowded:
                speed = statistics.median(crowded)
                what = f"{what}, three people"
                measures.append(Measure(what, speed, "video s a core s", "real time, one core", speed, goal))
    record("world", measures, packages=["av", "opencv-python-headless", "numpy"], quick=quick)


if __name__ == "__main__":
    main()

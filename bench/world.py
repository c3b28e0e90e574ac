"""How fast the household films itself: seconds of video for a second of one core, drawing and encoding together.

The baseline is real time. The figure is a median over houses; each film is drawn, encoded and written in this process,
which has one thread of work.
"""

import resource
import statistics
import tempfile
from pathlib import Path

from record import Measure, options_of, record
from reeltalk.video.write import write_video
from reeltalk.world.activities import activities, perform
from reeltalk.world.camera import Camera
from reeltalk.world.house import build_house
from reeltalk.world.situation import CannotError, ProgramStep, begin

HOUSES = (1, 2, 3, 4, 5)
RECIPES = ("Drink_milk", "Watch_television", "Clean_kitchentable", "Brush_teeth", "Go_to_sleep", "Water_plant")
SIZES = ((640, 10), (1280, 10), (640, 25))


def cpu_s() -> float:
    """User and system time of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    quick: bool = options_of(__doc__).parse_args().quick
    measures = []
    with tempfile.TemporaryDirectory() as folder:
        for width, fps in SIZES:
            ratios = []
            for number in HOUSES[:1] if quick else HOUSES:
                house = build_house(number)
                situation, steps = begin(house, next(iter(house.rooms))), list[ProgramStep]()
                for name in RECIPES[:2] if quick else RECIPES:
                    try:
                        done = perform(house, activities()[name], situation)
                    except CannotError:
                        continue
                    steps += done
                    situation = done[-1].after
                before = cpu_s()
                camera = Camera(house, width_px=width, fps=fps)
                frames = write_video(Path(folder, "film.mp4"), (p for _, p in camera.film(steps)), fps=fps)
                ratios.append(frames / fps / (cpu_s() - before))
            what = f"the household films itself at {width}x{width * 9 // 16}, {fps} fps"
            speed = statistics.median(ratios)
            measures.append(Measure(what, speed, "video s a core s", "real time, one core", speed))
    record("world", measures, packages=["av", "opencv-python-headless", "numpy"], quick=quick)


if __name__ == "__main__":
    main()

"""The cost of each additional minute of video, per frame, per answer and in memory: 1 to 60 minutes of a household.

Three ways of following a stream at a frame a second with a question a minute: a memory that keeps everything, one
within bounds, and, as the baseline, reading all frames and turns again at each question. All are measured in one run,
on the same frames, in seconds of one core. What the baseline reads again up to some minute is what the first one has
read in batches until then, so its cost is that of all batches so far and the answer.
"""

import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from record import ROOT, Measure, options_of, record
from reeltalk_household.mini.mini import MiniModel, MiniStream
from reeltalk_household.world.activities import activities, perform
from reeltalk_household.world.camera import Camera
from reeltalk_household.world.house import build_house
from reeltalk_household.world.situation import CannotError, ProgramStep, initial_situation
from reeltalk_streaming.inference.stream_memory import MemoryPolicy

MINUTES = (1, 2, 5, 10, 30, 60)
QUICK = (1, 2, 5)
RECIPES = ("Drink_milk", "Watch_television", "Clean_kitchentable", "Brush_teeth", "Go_to_sleep", "Water_plant")
QUESTION, ANSWER = "What did the person put on the table?", "A cup."
WIDTH_PX = 320
MEASURED_FRAMES, MEASURED_ANSWERS = 15, 5
WORDS = 12
"""Words of an answer at most, so that answers of any weights cost alike."""


def filmed(seconds: int = 300) -> list[NDArray[np.uint8]]:
    """A frame a second of a household, as many as its activities fill; they are repeated in longer videos."""
    house = build_house(1)
    situation, steps = initial_situation(house, next(iter(house.rooms))), list[ProgramStep]()
    for name in RECIPES:
        try:
            done = perform(house, activities()[name], situation, steps[-1].end_s if steps else 0.0)
        except CannotError:
            continue
        steps += done
        situation = done[-1].after
    camera = Camera(house, width_px=WIDTH_PX, fps=1)
    return [picture for _, picture in itertools.islice(camera.film(steps), seconds)]


def cost_ms(work: Callable[[], object]) -> float:
    """Milliseconds of one core."""
    before = time.process_time()
    work()
    return 1e3 * (time.process_time() - before)


def measured(stream: MiniStream, frames: Iterator[NDArray[np.uint8]], at_s: float) -> tuple[float, float, float]:
    """Median milliseconds of a frame and of an answer, and megabytes, without changing the stream."""
    fork = stream.fork()
    looks = [
        cost_ms(lambda frame=frame, n=n: fork.see(frame, at_s + n))  # type: ignore[misc]
        for n, frame in enumerate(itertools.islice(frames, MEASURED_FRAMES))
    ]
    answers = []
    for _ in range(MEASURED_ANSWERS):
        fork = stream.fork()
        answers.append(cost_ms(lambda: fork.ask(QUESTION)))  # noqa: B023
    return statistics.median(looks), statistics.median(answers), stream.memory_bytes / 1e6


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--folder", type=Path, help="weights, as the export writes them; reeltalk's own by default")
    given = parser.parse_args()
    minutes = QUICK if given.quick else MINUTES
    pictures = filmed()
    everything = MiniModel(given.folder, longest_answer=WORDS)
    policy = MemoryPolicy()
    bounded = MiniModel(given.folder, longest_answer=WORDS, policy=policy)
    free, bound, read_ms = everything.stream(), bounded.stream(), 0.0
    figures: dict[str, float] = {}
    for minute in range(1, minutes[-1] + 1):
        seconds = range(60 * (minute - 1), 60 * minute)
        frames = [pictures[n % len(pictures)] for n in seconds]
        read_ms += cost_ms(lambda: free.see_all(frames, seconds))  # noqa: B023
        for frame, second in zip(frames, seconds, strict=True):
            bound.see(frame, float(second))
        if minute in minutes:
            following = [pictures[n % len(pictures)] for n in range(60 * minute, 60 * minute + MEASURED_FRAMES)]
            at_s = 60.0 * minute
            found = {
                name: measured(stream, iter(following), at_s) for name, stream in (("all", free), ("bounded", bound))
            }
            again_ms = read_ms + found["all"][1]
            for name, (frame_ms, answer_ms, size) in found.items():
                figures[f"{minute} min, {name}: frame, ms"] = frame_ms
                figures[f"{minute} min, {name}: answer, ms"] = answer_ms
                figures[f"{minute} min, {name}: memory, MB"] = size
                figures[f"{minute} min, {name}: times faster to answer than reading again"] = again_ms / answer_ms
            figures[f"{minute} min, reading again: answer, ms"] = again_ms
            print(f"{minute} min done", flush=True)
        read_ms += cost_ms(lambda: free.add_exchange(QUESTION, ANSWER))
        bound.add_exchange(QUESTION, ANSWER)
    last = minutes[-1]
    for what in ("frame, ms", "answer, ms", "memory, MB"):
        for name, start in (("all", minutes[0]), *(("bounded", minute) for minute in minutes if minute >= 10)):
            grown = figures[f"{last} min, {name}: {what}"] / figures[f"{start} min, {name}: {what}"]
            figures[f"{name}: {what}, {last} min over {start} min"] = grown
    per_token = bound.memory_bytes / bound.memory.tokens
    figures["bounded: at most, MB"] = policy.most_tokens(bounded.shape.frame_tokens) * per_token / 1e6
    again = f"reading all frames and turns again after {last} minutes"
    faster = "times faster to answer than reading again"
    measures = [
        Measure(
            f"an answer after {last} minutes of video, {told}", figures[f"{last} min, {name}: answer, ms"], "core ms",
            again, figures[f"{last} min, {name}: {faster}"],
        )
        for name, told in (("bounded", "bounded memory"), ("all", "everything kept"))
    ]  # fmt: skip
    measures += [
        Measure(
            f"{what} after {last} minutes, {told}", figures[f"{last} min, {name}: {key}"], unit,
            f"the same after {minutes[0]} minute",
            figures[f"{last} min, {name}: {key}"] / figures[f"{minutes[0]} min, {name}: {key}"],
        )
        for name, told in (("bounded", "bounded memory"), ("all", "everything kept"))
        for what, key, unit in (("a frame", "frame, ms", "core ms"), ("memory", "memory, MB", "MB"))
    ]  # fmt: skip
    record(
        "streaming",
        measures,
        figures=figures,
        quick=given.quick,
        packages=["onnxruntime", "numpy"],
        notes=[
            f"weights {everything.name}; one frame a second of {WIDTH_PX}x{WIDTH_PX * 9 // 16}, a question a minute",
            f"bounds: {policy.signature} (first tokens, recent frames, merged ones, words)",
            "milliseconds of one core; medians; answers of at most 12 words",
        ],
    )
    if not given.quick:
        table(figures, minutes, ROOT / "build" / "bench" / "streaming.md")


def table(figures: dict[str, float], minutes: tuple[int, ...], path: Path) -> None:
    """The figures as a table in Markdown."""
    kinds = ("frame, ms", "answer, ms", "memory, MB")
    columns = [f"{name}: {what}" for what in kinds for name in ("all", "bounded")] + ["reading again: answer, ms"]
    lines = [f"| Minutes | {' | '.join(columns)} |", "| ---: |" + " ---: |" * len(columns)]
    for minute in minutes:
        cells = [f"{figures[f'{minute} min, {column}']:.1f}" for column in columns]
        lines.append(f"| {minute} | {' | '.join(cells)} |")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()

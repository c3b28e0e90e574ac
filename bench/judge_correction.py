"""Does the interval of a judge's corrected mean hold the true value? Simulated judges, dependence and labels.

People find an answer right or wrong (0 or 1), and the judge passes it or not, with one chance if it is right and
another if it is wrong. All three chances differ from video to video by a beta distribution whose intraclass correlation
is the grid's. Videos have 3 to 13 turns, or as many as are labelled; labels are spread evenly over the labelled videos.
The judge scored 100 videos, or the labelled ones alone. A second grid has labels and judges of five levels, from normal
effects of videos and answers. Coverage is the share of studies whose 95 % interval holds the mean that all videos of
the kind would have. The labels alone, by the same method, are given for comparison, and in some
cells ppi-python (where it is installed), which takes items for independent and knows no ends of a scale.

It needs numpy, scipy and `reeltalk.metrics` alone with `--out`, which writes the figures as JSON; `--from` records
figures that another machine wrote.
"""

import json
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from record import Measure, Table, at_most, options_of, record
from reeltalk.metrics.prediction_powered import VideoSums, corrected_intervals
from reeltalk.metrics.uncertainty import wilson

Floats = NDArray[np.float64]

TRUTHS = (0.1, 0.3, 0.6, 0.9, 0.97)
CORRELATIONS = (0.0, 0.1, 0.2, 0.5)
SIZES = (
    (10, 20),
    (10, 50),
    (10, 100),
    (10, 200),
    (20, 20),
    (20, 50),
    (20, 100),
    (20, 200),
    (40, 50),
    (40, 100),
    (40, 200),
)
"""Labelled videos, and labels."""
JUDGED_VIDEOS = (100, 0)
"""Videos that the judge scored; 0 for the labelled ones alone."""
JUDGES = {
    "perfect": (1.0, 0.0),
    "sharp": (0.95, 0.10),
    "lenient": (0.95, 0.35),
    "strict": (0.60, 0.02),
    "noisy": (0.70, 0.30),
    "blind": (0.50, 0.50),
    "passes nearly all": (0.99, 0.97),
    "inverted": (0.20, 0.80),
}
"""Chance that it passes a right answer, and a wrong one."""
SHOWN_SIZES, SHOWN_TRUTHS = ((10, 20), (20, 100), (40, 200)), (0.1, 0.6, 0.97)
"""Cells of the table of widths."""
GAINS = ("perfect", "sharp", "close")
"""Judges with whom an interval is to be narrower."""
GRADED_JUDGES = {"close": 0.9, "loose": 0.5, "unrelated": 0.0, "reversed": -0.7}
"""Correlation of its score with the label, before both are rounded to five levels."""
GRADED_SIZES = ((10, 20), (10, 200), (20, 50), (40, 100))
GRADED_JUDGE_MEAN = 0.7
LEVELS = 5
FEWEST_TURNS, MOST_TURNS = 3, 13
SEED = 20261129
"""Another one than the constants of the method were chosen with."""
GOAL = 0.93
"""Coverage that is to be reached."""
TO_HOLD = 0.2
"""Correlation up to which intervals are to hold."""


class Cell(NamedTuple):
    """One point of a grid."""

    kind: str
    """`binary` or `graded`."""
    judge: str
    truth: float
    correlation: float
    labelled: int
    labels: int
    videos: int


class Found(NamedTuple):
    """Of one cell, over its studies."""

    coverage: float
    width: float
    people_coverage: float
    """Of the labels alone."""
    people_width: float
    zero: int
    """Intervals without width."""
    wider: float
    """Most by which an interval is wider than that of the labels alone."""
    alike: float
    """Share of studies whose labels are all equal."""


def cells(kinds: Sequence[str] = ("binary", "graded")) -> list[Cell]:
    """All points of the grids."""
    found = []
    # Those of several levels take longest: begun first, they keep no process waiting at the end.
    if "graded" in kinds:
        found += [
            Cell("graded", judge, truth, correlation, *size, JUDGED_VIDEOS[0])
            for judge, truth, correlation, size in product(GRADED_JUDGES, TRUTHS, CORRELATIONS, GRADED_SIZES)
        ]
    if "binary" in kinds:
        found += [
            Cell("binary", judge, truth, correlation, *size, videos or size[0])
            for judge, truth, correlation, size, videos in product(JUDGES, TRUTHS, CORRELATIONS, SIZES, JUDGED_VIDEOS)
        ]
    return found


def binary_studies(rng: np.random.Generator, studies: int, cell: Cell) -> VideoSums:
    """The sums of studies with right and wrong answers, in strata of what the judge fails and passes."""
    shape = (studies, cell.videos)
    labelled, sizes = _turns(rng, studies, cell)

    def chances(mean: float) -> Floats:
        if not cell.correlation or mean in (0, 1):
            return np.full(shape, mean)
        of_all = 1 / cell.correlation - 1
        return rng.beta(mean * of_all, (1 - mean) * of_all, shape)

    right, passes_right, passes_wrong = chances(cell.truth), *map(chances, JUDGES[cell.judge])

    def drawn(turns: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        good = rng.binomial(turns, right)
        return good, rng.binomial(good, passes_right), rng.binomial(turns - good, passes_wrong)

    good, passed, mistaken = drawn(labelled)
    _, passed_too, mistaken_too = drawn(sizes - labelled)
    labels, total, both = labelled.astype(np.float64), good.astype(np.float64), passed.astype(np.float64)
    scores = (passed + mistaken).astype(np.float64)
    every = scores + passed_too + mistaken_too
    return VideoSums(labels, total, total, sizes.astype(np.float64), every, every, scores, scores, both)


def _turns(rng: np.random.Generator, studies: int, cell: Cell) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(S, V) labelled turns and all turns of each video."""
    each = np.zeros(cell.videos, np.int64)
    each[: cell.labelled] = cell.labels // cell.labelled
    each[: cell.labels % cell.labelled] += 1
    labelled = np.broadcast_to(each, (studies, cell.videos))
    return labelled, np.maximum(rng.integers(FEWEST_TURNS, MOST_TURNS + 1, labelled.shape), labelled)


def without_judge(sums: VideoSums) -> VideoSums:
    """The same studies, with a judge that says the same of everything."""
    nothing = np.zeros_like(sums.labels)
    return VideoSums(sums.labels, sums.total, sums.squares, sums.items, *[nothing] * 5)


def graded_studies(rng: np.random.Generator, studies: int, cell: Cell) -> VideoSums:
    """The sums of studies with labels and scores of five levels, put on 0 to 1."""
    most = LEVELS - 1
    people_at, judge_at = (
        stats.norm.ppf(stats.binom.cdf(np.arange(most), most, mean)) for mean in (cell.truth, GRADED_JUDGE_MEAN)
    )
    labelled, sizes = _turns(rng, studies, cell)
    flat = sizes.ravel()
    starts, video = np.cumsum(flat) - flat, np.repeat(np.arange(flat.size), flat)
    first, second = (
        np.sqrt(cell.correlation) * rng.standard_normal(flat.size)[video]
        + np.sqrt(1 - cell.correlation) * rng.standard_normal(len(video))
        for _ in range(2)
    )
    follows = GRADED_JUDGES[cell.judge]
    has_label = np.arange(len(video)) - starts[video] < labelled.ravel()[video]
    people = np.searchsorted(people_at, first) / most * has_label
    judge = np.searchsorted(judge_at, follows * first + np.sqrt(1 - follows**2) * second) / most
    said = judge * has_label

    def of(values: Floats) -> Floats:
        return np.add.reduceat(values, starts).reshape(sizes.shape)

    return VideoSums(
        labelled.astype(np.float64), of(people), of(people**2), sizes.astype(np.float64), of(judge), of(judge**2),
        of(said), of(said**2), of(people * said),
    )  # fmt: skip


def simulated(cell: Cell, trials: int, seed: int) -> VideoSums:
    """The sums of a cell's studies."""
    draw = binary_studies if cell.kind == "binary" else graded_studies
    return draw(np.random.default_rng([SEED, seed]), trials, cell)


def study(task: tuple[Cell, int, int]) -> Found:
    """Coverage of one cell."""
    cell, trials, seed = task
    sums = simulated(cell, trials, seed)
    found, alone = corrected_intervals(sums), corrected_intervals(without_judge(sums))
    ends = ((found.low, found.high), (alone.low, alone.high))
    (covers, width), (alone_covers, alone_width) = (
        (float(((low <= cell.truth) & (cell.truth <= high)).mean()), float((high - low).mean())) for low, high in ends
    )
    zero = int((found.high <= found.low).sum())
    wider = float((found.high - found.low - (alone.high - alone.low)).max())
    return Found(covers, width, alone_covers, alone_width, zero, wider, float(found.alike.mean()))


def beside_ppi(cell: Cell, trials: int, seed: int) -> tuple[float, float] | None:
    """Coverage and width of ppi-python's power-tuned interval in a cell; None where it is not installed."""
    try:
        from ppi_py import ppi_mean_ci
    except ImportError:
        return None
    sums = simulated(cell, trials, seed)
    covers, widths_found = 0, list[float]()
    for trial in range(trials):
        n, right, passed, both = (
            int(part[trial].sum()) for part in (sums.labels, sums.total, sums.labelled_scores, sums.products)
        )
        items, scored = int(sums.items[trial].sum()), int(sums.scores[trial].sum())
        # Right and passed, right and failed, wrong and passed, wrong and failed.
        counts = [both, right - both, passed - both, n - right - passed + both]
        labels, scores = np.repeat([1.0, 1.0, 0.0, 0.0], counts), np.repeat([1.0, 0.0, 1.0, 0.0], counts)
        others = np.repeat([1.0, 0.0], [scored - passed, items - n - scored + passed])
        low, high = (float(np.ravel(end)[0]) for end in ppi_mean_ci(labels, scores, others, alpha=0.05))
        covers += low <= cell.truth <= high
        # Where the judge says the same of all labels, there is no interval.
        widths_found += [high - low] if np.isfinite(high - low) else []
    return covers / trials, float(np.mean(widths_found))


def widths(trials: int) -> Table:
    """Widths and coverage of ours, the labels alone and ppi-python in the same studies."""
    rows = []
    for judge, (labelled, labels), truth in product(JUDGES, SHOWN_SIZES, SHOWN_TRUTHS):
        cell = Cell("binary", judge, truth, TO_HOLD, labelled, labels, JUDGED_VIDEOS[0])
        found, theirs = study((cell, trials, 7)), beside_ppi(cell, trials, 7)
        pairs = [(found.width, found.coverage), (found.people_width, found.people_coverage)]
        pairs += [] if theirs is None else [(theirs[1], theirs[0])]
        cells = [f"{width:.3f} ({100 * covers:.1f})" for width, covers in pairs] + ["not installed"] * (theirs is None)
        rows.append((judge, f"{truth:g}", f"{labels} of {labelled}", *cells))
    title = (
        f"Width of 95 % intervals, in brackets their coverage in per cent, of labels that correlate by {TO_HOLD:g} "
        f"within a video; {JUDGED_VIDEOS[0]} videos were judged. ppi-python takes items for independent."
    )
    return Table(title, ("Judge", "Truth", "Labels of videos", "reeltalk", "Labels alone", "ppi-python"), tuple(rows))


def run(grid: Sequence[Cell], trials: int, jobs: int) -> dict[str, Any]:
    """All cells, in as many processes."""
    tasks = [(cell, trials, number) for number, cell in enumerate(grid)]
    begin = time.perf_counter()
    with ProcessPoolExecutor(jobs) as pool:
        found = list(pool.map(study, tasks, chunksize=1))
    rows = [cell._asdict() | result._asdict() for cell, result in zip(grid, found, strict=True)]
    return {
        "trials": trials,
        "took_s": time.perf_counter() - begin,
        "jobs": jobs,
        "numpy": np.__version__,
        "cells": rows,
    }


def surely_below(row: Mapping[str, Any], trials: int) -> bool:
    """True if chance alone does not explain that a cell's coverage is below the goal: 95 % interval of a share."""
    high = wilson(round(row["coverage"] * trials), trials).high
    return high is not None and high < GOAL


def show(result: Mapping[str, Any]) -> None:
    """Print the grid: lowest coverage over truths for each judge, and all by truth and correlation."""
    rows = result["cells"]
    print(f"{result['trials']:,} studies a cell, {len(rows):,} cells, {result['took_s']:.0f} s")
    for kind in ("binary", "graded"):
        own = [row for row in rows if row["kind"] == kind]
        if not own:
            continue
        print(f"\n{kind}: coverage in % (lowest, mean), width against the labels alone, studies with all labels alike")
        for truth, correlation in product(TRUTHS, CORRELATIONS):
            some = [row for row in own if (row["truth"], row["correlation"]) == (truth, correlation)]
            worst = min(some, key=lambda row: row["coverage"])
            figures = f"{100 * worst['coverage']:>7.1f}{_mean(some, 'coverage'):>7.1f}{_ratio(some):>7.3f}"
            print(
                f"  truth {truth:<5g} correlation {correlation:<4g}{figures}{_mean(some, 'alike'):>7.1f}   lowest: "
                f"{worst['judge']}, {worst['labels']} labels of {worst['labelled']} videos, {worst['videos']} judged"
            )
        for judge in JUDGES if kind == "binary" else GRADED_JUDGES:
            print(f"  {judge}")
            for size in SIZES if kind == "binary" else GRADED_SIZES:
                some = [row for row in own if row["judge"] == judge and row["correlation"] <= TO_HOLD]
                some = [row for row in some if (row["labelled"], row["labels"]) == size]
                by_truth = " ".join(
                    f"{100 * min(row['coverage'] for row in some if row['truth'] == t):6.1f}" for t in TRUTHS
                )
                print(f"    {size[1]:>4} labels of {size[0]:>3} videos: {by_truth}   width {_ratio(some):.3f}")


def _mean(rows: Sequence[Mapping[str, Any]], name: str) -> float:
    return 100 * float(np.mean([row[name] for row in rows]))


def _ratio(rows: Sequence[Mapping[str, Any]]) -> float:
    return float(np.mean([row["width"] / row["people_width"] for row in rows]))


def state(result: Mapping[str, Any], *, quick: bool) -> None:
    """Record what the grid shows."""
    rows = result["cells"]
    measures, figures = [], {}
    for correlation in CORRELATIONS:
        for truth in TRUTHS:
            some = [row for row in rows if (row["truth"], row["correlation"]) == (truth, correlation)]
            lowest = 100 * min(row["coverage"] for row in some)
            told = f"coverage at a truth of {truth:g}, correlation {correlation:g}: lowest of {len(some)} cells"
            measures.append(Measure(told, lowest, "%"))
            figures[f"mean coverage, truth {truth:g}, correlation {correlation:g}"] = _mean(some, "coverage")
            people = 100 * min(row["people_coverage"] for row in some)
            figures[f"lowest coverage of the labels alone, truth {truth:g}, correlation {correlation:g}"] = people
        some = [row for row in rows if row["correlation"] == correlation]
        below = sum(surely_below(row, result["trials"]) for row in some)
        told = f"cells below {100 * GOAL:g} % beyond chance, correlation {correlation:g}, of {len(some)}"
        measures.append(Measure(told, below, "count", goal=at_most(0) if correlation <= TO_HOLD else None))
    wider, told = sum(row["wider"] > 1e-9 for row in rows), "cells with an interval wider than that of the labels alone"
    measures.append(Measure(told, wider, "count", goal=at_most(0)))
    measures.append(Measure("intervals without width", sum(row["zero"] for row in rows), "count", goal=at_most(0)))
    held = [row for row in rows if row["correlation"] <= TO_HOLD]
    for judge in [*JUDGES, *GRADED_JUDGES]:
        some = [row for row in held if row["judge"] == judge and row["videos"] == JUDGED_VIDEOS[0]]
        measures.append(
            Measure(f"width with a judge: {judge}", _ratio(some), "share", goal=at_most(1) if judge in GAINS else None)
        )
        few = [row for row in held if row["judge"] == judge and row["videos"] != JUDGED_VIDEOS[0]]
        if few:
            figures[f"width with a judge that scored the labelled videos alone: {judge}"] = _ratio(few)
    trials, videos = result["trials"], JUDGED_VIDEOS[0]
    notes = [
        f"{trials:,} simulated studies a cell, {len(rows):,} cells: {len(JUDGES)} judges of right and wrong, "
        f"{len(GRADED_JUDGES)} of five levels; 20 to 200 labels of 10 to 40 videos, {videos} or the same videos judged",
        "beyond chance: the upper end of the 95 % interval of a cell's coverage is below the goal",
        f"simulated in {result['took_s']:.0f} s by {result['jobs']} processes",
        f"widths are shares of the width of the labels alone, where {videos} videos were judged, in the mean of cells "
        f"of correlations up to {TO_HOLD:g}",
    ]
    tables, packages = [widths(result["trials"])], ["numpy", "scipy"]
    record("judge_correction", measures, figures=figures, packages=packages, notes=notes, tables=tables, quick=quick)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--trials", type=int, help="simulated studies a cell: 1,000; 100 if quick")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    parser.add_argument("--out", type=Path, help="write the figures here as JSON, and record nothing")
    parser.add_argument(
        "--from", dest="source", type=Path, help="record figures that --out wrote, and simulate nothing"
    )
    options = parser.parse_args()
    if options.source:
        result = json.loads(options.source.read_text(encoding="utf-8"))
    else:
        result = run(cells(), options.trials or (100 if options.quick else 1000), options.jobs)
    show(result)
    if options.out:
        options.out.write_text(json.dumps(result) + "\n", encoding="utf-8")
    else:
        state(result, quick=options.quick)


if __name__ == "__main__":
    main()

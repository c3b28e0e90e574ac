"""How often the 95 % intervals of reeltalk contain the true value, on simulated benchmarks of 4 to 135 videos.

Means: turns of one video resemble each other by a correlation; their values are right or wrong, ratings from 0 to 10,
or anything between 0 and 1. Every turn has the same expected value, whatever its video and however long that is, and
this is the truth. In each trial the videos' sizes are drawn anew: equal, or of a heavy-tailed distribution (lognormal,
or gamma of shape 0.5). The common part of a video comes from a beta distribution or, so that no method is tuned to one
family, from a normal one through its distribution function. The percentile bootstrap of videos and the t interval of
CR2, which disregards the ends of the scale, are compared with ours.

Everything is computed from sums over videos for all trials at once; in every cell the first trials are computed again
by `reeltalk.metrics.mean_interval`, and must agree.

Run `make bench-statistics`; `--quick` for fewer trials.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from shutil import copyfile
from typing import Final, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

from record import Measure, Table, at_most, options_of, record
from reeltalk.metrics.uncertainty import bounded_interval, degrees_of_freedom_of_mean, mean_interval, wilson

C = TypeVar("C")
R = TypeVar("R")

Floats = NDArray[np.float64]
Kind = Literal["binary", "0-10", "continuous"]
Family = Literal["beta", "normal"]
Sizes = Literal["equal", "lognormal", "gamma"]

TURNS: Final = 12
"""Mean number of turns of a video."""
WITHIN: Final = 0.4
"""Of ratings and of continuous values: share of the variance of a binary value that a video's own have."""
VIDEOS: Final = (4, 5, 10, 20, 30, 60, 135)
CORRELATIONS: Final = (0.0, 0.1, 0.2, 0.3, 0.5)
MEANS: Final = (0.5, 0.9, 0.98, None)
"""None is 1 - 1/n."""
PROMISED: Final = 0.2
"""Correlation up to which the goal stands."""
CHUNK: Final = 500
CHECKED: Final = 3
RESAMPLES: Final = 500


@dataclass(frozen=True)
class Cell:
    """One setting of the grid of means."""

    kind: Kind
    family: Family
    sizes: Sizes
    videos: int
    mean: float | None
    correlation: float

    @property
    def near_end(self) -> bool:
        return self.mean is None or self.mean >= 0.98

    @property
    def goal(self) -> tuple[float, float] | None:
        """Least and most coverage, where one is promised."""
        if self.correlation > PROMISED or self.videos < 4:
            return None
        if self.near_end:
            return (0.93 if self.sizes == "equal" else 0.90), 1.0
        return 0.93, 0.98


@dataclass
class Coverage:
    """Shares of trials."""

    cell: Cell
    trials: int
    ours: float = 0.0
    above: float = 0.0
    """The truth lies above the interval."""
    below: float = 0.0
    width: float = 0.0
    narrowest: float = 1.0
    t: float = 0.0
    """CR2 with Imbens and Kolesár's degrees of freedom, without regard of the scale."""
    bootstrap: float = 0.0
    zero: float = 0.0
    """Bootstrap intervals of no width."""

    @property
    def outside(self) -> Literal["below", "above"] | None:
        """On which side the coverage is outside the goal beyond chance: by the 95 % interval of a share."""
        if self.cell.goal is None:
            return None
        share = wilson(round(self.ours * self.trials), self.trials)
        assert share.low is not None
        assert share.high is not None
        return "below" if share.high < self.cell.goal[0] else "above" if share.low > self.cell.goal[1] else None


def grid() -> list[Cell]:
    return [
        Cell(kind, family, sizes, videos, mean, correlation)
        for kind in ("binary", "0-10", "continuous")
        for family in ("beta", "normal")
        for sizes in ("equal", "lognormal", "gamma")
        for videos in VIDEOS
        for mean in MEANS
        for correlation in CORRELATIONS
        if family == "beta" or correlation > 0
    ]


def sizes_of(kind: Sizes, shape: tuple[int, int], draw: np.random.Generator) -> Floats:
    if kind == "equal":
        return np.full(shape, float(TURNS))
    drawn = draw.gamma(0.5, size=shape) if kind == "gamma" else np.exp(draw.standard_normal(shape))
    found: Floats = np.maximum(1.0, np.round(drawn / drawn.mean(axis=1, keepdims=True) * TURNS))
    return found


@lru_cache(maxsize=256)
def latent(mean: float, correlation: float) -> float:
    """The correlation of two normal numbers that are above a bound together as often as correlated binary ones are."""
    at, weights = np.polynomial.hermite_e.hermegauss(200)
    low, high = 0.0, 0.9999
    for _ in range(50):
        middle = (low + high) / 2
        chances = ndtr((ndtri(mean) + np.sqrt(middle) * at) / np.sqrt(1 - middle))
        found = ((weights * chances**2).sum() / weights.sum() - mean**2) / (mean * (1 - mean))
        low, high = (middle, high) if found < correlation else (low, middle)
    return low


def chances_of(
    family: Family, mean: float, correlation: float, shape: tuple[int, int], draw: np.random.Generator
) -> Floats:
    """What turns of each video are expected to get."""
    if correlation == 0:
        return np.full(shape, mean)
    if family == "beta":
        size = (1 - correlation) / correlation
        return np.clip(draw.beta(mean * size, (1 - mean) * size, shape), 1e-12, 1 - 1e-12)
    shared = latent(round(mean, 9), round(correlation, 9))
    found: Floats = ndtr((ndtri(mean) + np.sqrt(shared) * draw.standard_normal(shape)) / np.sqrt(1 - shared))
    return found


def drawn(cell: Cell, trials: int, draw: np.random.Generator) -> Iterator[tuple[float, Floats, Floats]]:
    """Chunks of R trials: the truth, (R, G) sizes, and the values of all trials' turns, one video after the other."""
    for start in range(0, trials, CHUNK):
        sizes = sizes_of(cell.sizes, (min(CHUNK, trials - start), cell.videos), draw)
        mean = 1 - 1 / (TURNS * cell.videos) if cell.mean is None else cell.mean
        part = {"binary": 1.0, "0-10": (1 + 9 * WITHIN) / 10, "continuous": WITHIN}[cell.kind]
        # Turns of a video with the chance c vary by `part` of c (1 - c), so that this is the share of videos.
        shared = cell.correlation * part / (1 - cell.correlation + cell.correlation * part)
        each = np.repeat(chances_of(cell.family, mean, shared, sizes.shape, draw).ravel(), sizes.ravel().astype(int))
        if cell.kind == "binary":
            values = (draw.random(len(each)) < each).astype(np.float64)
        else:
            size = (1 - WITHIN) / WITHIN
            values = draw.beta(np.maximum(each * size, 1e-10), np.maximum((1 - each) * size, 1e-10))
            if cell.kind == "0-10":
                values = draw.binomial(10, values) / 10
        yield mean, sizes, values


def simulate(cell: Cell, trials: int, seed: int = 1) -> Coverage:
    """Coverage in one cell.

    Raises:
        AssertionError: The intervals are not those of `mean_interval`.
    """
    kinds = [cell.kind, cell.family, cell.sizes]
    draw = np.random.default_rng(
        [seed, cell.videos, int(1000 * (cell.mean or 1)), int(100 * cell.correlation), *(map(ord, "".join(kinds)))]
    )
    found = Coverage(cell, trials)
    for number, (truth, sizes, values) in enumerate(drawn(cell, trials, draw)):
        flat = sizes.ravel().astype(int)
        starts = np.concatenate([[0], np.cumsum(flat)[:-1]])
        sums = np.add.reduceat(values, starts).reshape(sizes.shape)
        items = sizes.sum(axis=1)
        mean = sums.sum(axis=1) / items
        left = (
            np.add.reduceat((values - np.repeat(mean, items.astype(int))) ** 2, starts).reshape(sizes.shape).sum(axis=1)
        )
        scores = sums - sizes * mean[:, None]
        variance = (scores**2 / (1 - sizes / items[:, None])).sum(axis=1) / items**2
        pairs = (sizes * (sizes - 1)).sum(axis=1)
        icc = np.clip(((scores**2).sum(axis=1) - left) / np.where(left > 0, pairs * left / items, 1), 0, 1)
        df = degrees_of_freedom_of_mean(sizes, icc)
        low, high = bounded_interval(mean, variance, df, left / (items - 1), sizes)
        if number == 0:
            bounds = np.concatenate([[0], np.cumsum(items)]).astype(int)
            for trial in range(min(CHECKED, len(mean))):
                names = [f"v{video}" for video in np.repeat(np.arange(cell.videos), sizes[trial].astype(int))]
                one = mean_interval(values[bounds[trial] : bounds[trial + 1]], names, (0, 1))
                assert one.low is not None
                assert one.high is not None
                assert np.allclose([one.low, one.high], [low[trial], high[trial]], rtol=1e-6, atol=1e-8)
        half = stdtrit(df, 0.975) * np.sqrt(variance)
        weights = draw.multinomial(cell.videos, np.full(cell.videos, 1 / cell.videos), size=RESAMPLES).astype(float)
        ends = np.quantile((sums @ weights.T) / (sizes @ weights.T), [0.025, 0.975], axis=1)
        found.ours += float(((low <= truth) & (truth <= high)).sum())
        found.above += float((high < truth).sum())
        found.below += float((low > truth).sum())
        found.width += float((high - low).sum())
        found.narrowest = min(found.narrowest, float((high - low).min()))
        found.t += float((np.abs(mean - truth) <= half).sum())
        found.bootstrap += float(((ends[0] <= truth) & (truth <= ends[1])).sum())
        found.zero += float((ends[1] - ends[0] < 1e-9).sum())
    for name in ("ours", "above", "below", "width", "t", "bootstrap", "zero"):
        setattr(found, name, getattr(found, name) / trials)
    return found


def table(found: list[Coverage]) -> Table:
    """The grid, least and most of all scales, families and heavy-tailed sizes together."""
    rows: dict[tuple[str, int, float | None], list[Coverage]] = {}
    for one in found:
        heavy = "equal" if one.cell.sizes == "equal" else "heavy-tailed"
        rows.setdefault((heavy, one.cell.videos, one.cell.mean), []).append(one)
    lines = []
    for (sizes, videos, mean), cells in rows.items():
        line = [sizes, str(videos), "1 - 1/n" if mean is None else f"{mean:g}"]
        for correlation in CORRELATIONS:
            here = [one for one in cells if one.cell.correlation == correlation]
            out = any(one.outside for one in here)
            line.append(spread_of([one.ours for one in here]) + ("*" if out else ""))
        within = [one for one in cells if one.cell.correlation <= PROMISED]
        line += [spread_of([one.t for one in within]), spread_of([one.bootstrap for one in within])]
        lines.append(tuple(line))
    head = ("Turns of videos", "Videos", "Mean", *(f"Correlation {correlation:g}" for correlation in CORRELATIONS))
    title = (
        "Coverage of 95 % intervals of a mean, per cent: least and most of values that are right or wrong, ratings and "
        "continuous ones, and of two families of correlated values. * outside the goal beyond chance. The t interval "
        "of CR2 and the percentile bootstrap at correlations to 0.2 stand beside it."
    )
    return Table(title, (*head, "t, to 0.2", "Bootstrap, to 0.2"), tuple(lines))


def spread_of(shares: list[float]) -> str:
    if not shares:
        return ""
    return f"{min(shares) * 100:.1f}–{max(shares) * 100:.1f}"


def summary(found: list[Coverage]) -> dict[str, float]:
    """Figures of the whole grid."""
    promised = [one for one in found if one.cell.goal is not None]
    middle = [one for one in promised if not one.cell.near_end]
    ends = [one for one in promised if one.cell.near_end]
    parts = {
        "promised": promised,
        "middle": middle,
        "ends_equal": [one for one in ends if one.cell.sizes == "equal"],
        "ends_heavy": [one for one in ends if one.cell.sizes != "equal"],
        "rest": [one for one in found if one.cell.goal is None],
    }
    figures: dict[str, float] = {}
    for name, some in parts.items():
        shares = [one.ours for one in some]
        figures |= {f"{name}_cells": len(some), f"{name}_least": min(shares), f"{name}_most": max(shares)}
        figures[f"{name}_mean"] = float(np.mean(shares))
    figures["middle_above"] = sum(one.ours > 0.98 for one in middle) / len(middle)
    figures["middle_below"] = sum(one.ours < 0.93 for one in middle) / len(middle)
    figures["outside_below"] = sum(one.outside == "below" for one in found)
    figures["outside_above"] = sum(one.outside == "above" for one in found)
    figures["t_least"] = min(one.t for one in promised)
    figures["bootstrap_least"] = min(one.bootstrap for one in promised)
    figures["bootstrap_mean"] = float(np.mean([one.bootstrap for one in promised]))
    figures["narrowest"] = min(one.narrowest for one in found)
    figures["zero_most"] = max(one.zero for one in found)
    return figures


def with_simulation(parser: argparse.ArgumentParser, trials: str) -> argparse.ArgumentParser:
    """A parser that also knows the options of a suite that simulates cells of a grid.

    Args:
        parser: Of the suite.
        trials: How many there are by default, in words.
    """
    parser.add_argument("--trials", type=int, help=f"of every cell: {trials}, of some cells, if quick")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--out", type=Path, help="copies what was measured there")
    return parser


def simulated(
    simulate: Callable[[C, int], R], cells: Sequence[C], videos: Callable[[C], int], trials: int, jobs: int
) -> list[R]:
    """What a simulation gives of each cell, in the order of the cells, by several processes.

    Args:
        simulate: Takes a cell and how many trials it has.
        cells: The grid.
        videos: How many videos a cell has; those with many begin first, since they take longest.
        trials: Of every cell.
        jobs: Processes.
    """
    order = sorted(range(len(cells)), key=lambda place: -videos(cells[place]))
    with ProcessPoolExecutor(jobs) as pool:
        results = dict(zip(order, pool.map(simulate, [cells[n] for n in order], [trials] * len(order)), strict=True))
    return [results[place] for place in range(len(cells))]


def main() -> int:
    given = with_simulation(options_of(__doc__), "1,000; 200").parse_args()
    trials = given.trials or (200 if given.quick else 1000)
    cells = grid()
    if given.quick:
        cells = [cell for cell in cells if cell.videos in (4, 10, 60) and cell.correlation in (0.0, 0.2, 0.5)]
    begun = time.monotonic()
    found = simulated(simulate, cells, lambda cell: cell.videos, trials, given.jobs)
    for one in found:
        cell = one.cell
        mark = "*" if one.outside else " "
        print(
            f"{cell.kind:<11}{cell.family:<7}{cell.sizes:<10}{cell.videos:>4} videos, mean "
            f"{'1-1/n' if cell.mean is None else f'{cell.mean:g}':<5} icc {cell.correlation:<4g}"
            f"ours {percent(one.ours)}{mark:<2}missed above {percent(one.above)} below {percent(one.below)}  "
            f"width {one.width:.3f}  t {percent(one.t)}  bootstrap {percent(one.bootstrap)}"
        )
    figures = summary(found)
    bootstrap = figures["bootstrap_least"]
    measures = [
        Measure("lowest coverage of 95 % intervals of a mean, amid the scale, correlation to 0.2",
                figures["middle_least"], "share"),
        Measure("highest coverage there", figures["middle_most"], "share"),
        Measure("cells there with more than 98 %", figures["middle_above"], "share"),
        Measure(f"cells below their goal beyond chance, of {figures['promised_cells']}", figures["outside_below"],
                "count", goal=at_most(0)),
        Measure("cells amid the scale above 98 % beyond chance, of "
                f"{figures['middle_cells']}", figures["outside_above"], "count", goal=at_most(0)),
        Measure("lowest coverage within 2 % of an end, correlation to 0.2, equal sizes", figures["ends_equal_least"],
                "share"),
        Measure("lowest coverage within 2 % of an end, correlation to 0.2, heavy-tailed sizes",
                figures["ends_heavy_least"], "share"),
        Measure("lowest coverage of all, correlation to 0.2", figures["promised_least"], "share",
                "ours over the percentile bootstrap's", figures["promised_least"] / bootstrap if bootstrap else None),
        Measure("lowest coverage at correlations 0.3 and 0.5", figures["rest_least"], "share"),
        Measure("narrowest interval of all trials, on a scale from 0 to 1", figures["narrowest"], "share"),
        Measure("percentile bootstraps of zero width, worst cell", figures["zero_most"], "share"),
    ]  # fmt: skip
    notes = [
        f"{trials:,} trials of each of {len(cells)} cells, {TURNS} turns a video in the mean, in "
        f"{time.monotonic() - begun:.0f} s",
        "goals at correlations to 0.2: 93 to 98 %; within 2 % of an end at least 93 %, with heavy-tailed sizes 90 %",
        "beyond chance: the 95 % interval of a cell's coverage lies outside the goal",
    ]
    place = record(
        "intervals", measures, figures=figures, packages=["numpy", "scipy", "reeltalk"], notes=notes,
        tables=[table(found)], quick=given.quick,
    )  # fmt: skip
    if given.out:
        copyfile(place, given.out)
    return 0


def percent(value: float) -> str:
    return f"{value * 100:5.1f}"


if __name__ == "__main__":
    sys.exit(main())

"""False verdicts about a floor, with judges that reply at random: a model and empty answers are equally good.

A model answers all turns, and the floor, empty answers to the turns of some units, is judged likewise. The two differ
by chance alone, so each verdict is false. The tests that reeltalk uses, unpaired where a sample was judged and paired
where all turns were, are compared with one that takes the floor's mean as a fixed number. Then the model is better by
20 points, and how often each test finds it is its power.

Run `make bench-statistics`; `--quick` for fewer trials.
"""

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from record import Measure, Table, at_most, options_of, record
from reeltalk.metrics.uncertainty import ClusteredEstimate, Means, clustered_mean, unpaired_difference, wilson

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

VIDEOS = (4, 10, 30, 60)
TURNS = 6
SAMPLED = 10
"""Units whose empty answers a model judges by default; here each video has one."""
PROMISED = 0.06
GAIN = 0.2
"""Of the scale: how much better a model is where power is asked for."""

Judge = Callable[[np.random.Generator, Ints, float, float], Floats]
"""Scores of turns, of which the videos are given, that correlate within a video, of a model better by a gain."""


def scores_of(share: float) -> Judge:
    """Scores of 100 by chance, more often for some videos."""

    def draw(rng: np.random.Generator, video: Ints, icc: float, gain: float) -> Floats:
        size, mean, videos = (1 / icc - 1 if icc else 1e9), share + gain, int(video[-1]) + 1
        chance = rng.beta(mean * size, (1 - mean) * size, videos)[video]
        return np.where(rng.random(len(video)) < chance, 100.0, 0.0)

    return draw


def any_number(rng: np.random.Generator, video: Ints, icc: float, gain: float) -> Floats:
    """Numbers from 0 to 100 at random."""
    effects = rng.standard_normal(int(video[-1]) + 1)[video]
    own = icc**0.5 * effects + (1 - icc) ** 0.5 * rng.standard_normal(len(video))
    # The mean of these numbers is the chance that one normal number is above another.
    numbers: Floats = np.round(100 * ndtr(own + 2**0.5 * ndtri(0.5 + gain)))
    return numbers


JUDGES = {
    "any number from 0 to 100": any_number,
    "right or wrong, half each": scores_of(0.5),
    "right in one case of ten": scores_of(0.1),
    "right in one case of fifty": scores_of(0.02),
}
SETTINGS = ((0.0, False), (0.2, True))
"""Correlation within a video, and whether videos have very unequal numbers of turns (lognormal)."""


def turns_of(rng: np.random.Generator, videos: int, *, uneven: bool) -> Ints:
    """The video of each turn."""
    weights = np.exp(rng.standard_normal(videos)) if uneven else np.ones(videos)
    return np.repeat(np.arange(videos), np.maximum(1, np.round(TURNS * weights / weights.mean())).astype(np.intp))


def means_of(values: Floats, video: Ints) -> Means:
    """All turns, each counting the same."""
    return Means(values, video, np.zeros(len(values), np.intp), np.ones(1))


def decides(estimate: ClusteredEstimate) -> bool:
    """True for a verdict: the 95 % interval leaves out 0."""
    return estimate.low is not None and estimate.high is not None and not estimate.low <= 0 <= estimate.high


def verdicts(judge: str, videos: int, icc: float, trials: int, *, uneven: bool, gain: float = 0.0) -> list[float]:
    """Shares of trials with a verdict: unpaired, paired, and with a floor that is taken as known."""
    rng = np.random.default_rng([videos, int(100 * icc), len(judge), uneven, int(100 * gain)])
    draw, counts = JUDGES[judge], np.zeros(3)
    for _ in range(trials):
        video = turns_of(rng, videos, uneven=uneven)
        own, floor = draw(rng, video, icc, gain), draw(rng, video, icc, 0.0)
        judged = video < SAMPLED
        sample = means_of(floor[judged], video[judged])
        counts += [
            decides(unpaired_difference(means_of(own, video), sample, (0.0, 100.0))),
            decides(clustered_mean(own - floor, video, bounds=(-100.0, 100.0))),
            decides(clustered_mean(own - sample.values.mean(), video)),
        ]
    shares: list[float] = (counts / trials).tolist()
    return shares


def rows_of(
    judges: list[str], trials: int, shares: dict[int, list[list[float]]], gain: float = 0.0
) -> list[tuple[str, ...]]:
    """Rows of a table; what each cell holds is also added to the shares by number of videos."""
    rows = []
    for judge in judges:
        for icc, uneven in SETTINGS:
            found = [verdicts(judge, videos, icc, trials, uneven=uneven, gain=gain) for videos in VIDEOS]
            for videos, cell in zip(VIDEOS, found, strict=True):
                shares[videos].append(cell)
            cells = [" / ".join(f"{100 * share:.1f}" for share in cell) for cell in found]
            rows.append((judge, f"{icc:g}", "uneven" if uneven else "equal", *cells))
            print(*rows[-1], sep="   ", flush=True)
    return rows


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--trials", type=int, help="of every cell: 2,000, a quarter of them for power; 200 if quick")
    given = parser.parse_args()
    trials = given.trials or (200 if given.quick else 2000)
    false: dict[int, list[list[float]]] = {videos: [] for videos in VIDEOS}
    power: dict[int, list[list[float]]] = {videos: [] for videos in VIDEOS}
    head = ("Judge", "Correlation", "Turns of videos", *(f"{videos} videos" for videos in VIDEOS))
    kinds = "unpaired against a sample / paired / with the floor's mean taken as known"
    tables = [
        Table(f"False verdicts about a floor, per cent: {kinds}.", head, tuple(rows_of(list(JUDGES), trials, false))),
        Table(
            f"Verdicts about a model that is {100 * GAIN:g} points better, per cent: {kinds}.",
            head,
            tuple(rows_of(list(JUDGES)[:2], trials // 4, power, GAIN)),
        ),
    ]
    measures = []
    for videos, cells in false.items():
        unpaired, paired, fixed = (max(side) for side in zip(*cells, strict=True))
        told = f"{videos} videos, most of {len(cells)} judges"
        measures += [
            Measure(f"false verdicts about a floor, unpaired, {told}", unpaired, "share", goal=at_most(PROMISED)),
            Measure(f"false verdicts about a floor, paired, {told}", paired, "share"),
            Measure(f"the same with the floor as a fixed number, {videos} videos", fixed, "share"),
        ]
    tests = [wilson(round(share * trials), trials) for cells in false.values() for cell in cells for share in cell[:2]]
    surely = sum(test.low is not None and test.low > PROMISED for test in tests)
    measures.append(
        Measure(f"tests with more than {100 * PROMISED:g} % beyond chance", surely, "count", goal=at_most(0))
    )
    notes = [
        f"{trials:,} trials a cell, {trials // 4:,} for power; {TURNS} turns a video in the mean, empty answers of at "
        f"most {SAMPLED} videos where a sample is judged",
        "beyond chance: the lower end of the 95 % interval of a share is above the goal",
    ]
    record("floors", measures, packages=["numpy", "scipy", "reeltalk"], notes=notes, tables=tables, quick=given.quick)
    return 0


if __name__ == "__main__":
    sys.exit(main())

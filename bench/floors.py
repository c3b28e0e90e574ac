"""False verdicts about a floor, with judges that reply at random: a model and empty answers are equally good.

A model answers all turns, and the floor, empty answers to the turns of some units, is judged likewise. The two differ
by chance alone, so each verdict is false. The test that reeltalk uses (`unpaired_difference`) is compared with one that
takes the floor's mean as a fixed number.

Run `make bench-statistics`; `--quick` for fewer trials.
"""

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from record import Measure, Table, at_most, options_of, record
from reeltalk.metrics.uncertainty import Means, clustered_mean, unpaired_difference

Floats = NDArray[np.float64]

VIDEOS = (4, 10, 30, 60)
TURNS = 6
SAMPLED = 10
"""Units whose empty answers a model judges by default; here each video has one."""
ALPHA = 0.05
PROMISED = 0.06
ENOUGH = 2000


def scores_of(share: float) -> Callable[[np.random.Generator, tuple[int, int], float], Floats]:
    """Scores of 100 by chance, more often for some videos; they correlate by `icc` within a video."""

    def draw(rng: np.random.Generator, shape: tuple[int, int], icc: float) -> Floats:
        size = 1 / icc - 1 if icc else 1e9
        chance = rng.beta(share * size, (1 - share) * size, (shape[0], 1))
        return np.where(rng.random(shape) < chance, 100.0, 0.0)

    return draw


def any_number(rng: np.random.Generator, shape: tuple[int, int], icc: float) -> Floats:
    """Numbers from 0 to 100 at random, which correlate within a video."""
    own = rng.standard_normal((shape[0], 1)) * icc**0.5 + rng.standard_normal(shape) * (1 - icc) ** 0.5
    numbers: Floats = np.round(100 * ndtr(own))
    return numbers


JUDGES = {
    "any number from 0 to 100": any_number,
    "right or wrong, half each": scores_of(0.5),
    "right in one case of ten": scores_of(0.1),
    "right in one case of fifty": scores_of(0.02),
}
CORRELATIONS = (0.0, 0.2)


def means_of(values: Floats) -> Means:
    """All turns of (videos, turns) scores, each counting the same."""
    codes = np.repeat(np.arange(values.shape[0]), values.shape[1])
    return Means(values.ravel(), codes, np.zeros(values.size, np.intp), np.ones(1))


def false_verdicts(judge: str, videos: int, icc: float, trials: int) -> tuple[float, float]:
    """Share of trials with a verdict: by the test of reeltalk, and by one that takes the floor as known."""
    rng = np.random.default_rng([videos, int(100 * icc), len(judge)])
    found = fixed = 0
    for _ in range(trials):
        own = JUDGES[judge](rng, (videos, TURNS), icc)
        floor = JUDGES[judge](rng, (min(videos, SAMPLED), TURNS), icc)
        p = unpaired_difference(means_of(own), means_of(floor), (0.0, 100.0)).p
        known = clustered_mean((own - floor.mean()).ravel(), means_of(own).clusters).p
        found += p is not None and p < ALPHA
        fixed += known is not None and known < ALPHA
    return found / trials, fixed / trials


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--trials", type=int, help="of every cell: 4,000; 200 if quick")
    given = parser.parse_args()
    trials = given.trials or (200 if given.quick else 4000)
    rows, measures = [], []
    shares: dict[int, list[tuple[float, float]]] = {videos: [] for videos in VIDEOS}
    for judge in JUDGES:
        for icc in CORRELATIONS:
            found = [false_verdicts(judge, videos, icc, trials) for videos in VIDEOS]
            for videos, pair in zip(VIDEOS, found, strict=True):
                shares[videos].append(pair)
            cells = [f"{100 * ours:.1f} ({100 * fixed:.1f})" for ours, fixed in found]
            rows.append((judge, f"{icc:g}", *cells))
            print(f"{judge:<28} correlation {icc:<4g}" + "".join(f"{cell:>16}" for cell in cells))
    for videos, pairs in shares.items():
        ours, fixed = (max(side) for side in zip(*pairs, strict=True))
        measures.append(
            Measure(
                f"false verdicts about a floor, {videos} videos, most of {len(pairs)} judges",
                ours,
                "share",
                goal=at_most(PROMISED) if trials >= ENOUGH else None,
            )
        )
        measures.append(Measure(f"the same with the floor as a fixed number, {videos} videos", fixed, "share"))
    table = Table(
        "False verdicts about a floor, per cent, in brackets those of a test that takes the floor's mean as known.",
        ("Judge at random", "Correlation", *(f"{videos} videos" for videos in VIDEOS)),
        tuple(rows),
    )
    notes = [f"{trials:,} trials a cell, {TURNS} turns a video, empty answers of at most {SAMPLED} videos"]
    record("floors", measures, packages=["numpy", "scipy", "reeltalk"], notes=notes, tables=[table], quick=given.quick)
    return 0


if __name__ == "__main__":
    sys.exit(main())

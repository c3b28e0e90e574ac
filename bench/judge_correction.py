"""Does the corrected mean of a judge cover the truth? Simulated studies over a grid of judges, dependence and labels.

A study has videos of 3 to 13 turns; people are right about an answer (0 or 1), and the judge says what they say with
errors of two kinds: its own sharpness, and a bias towards passing wrong answers. Answers of one video depend on each
other (intraclass correlation, by a normal video effect behind a threshold), the judge's errors too. Labels are spread
over all videos, or whole videos are labelled. Coverage is the share of studies whose 95 % interval holds the true share
of right answers; the judge's own mean with its interval and the labels alone stand beside.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from record import Measure, at_least, at_most, options_of, record
from reeltalk.metrics.prediction_powered import Estimates, VideoSums, corrected_by_video, rogan_gladen

Floats = NDArray[np.float64]

TRUTH = 0.6
VIDEOS = 100
FEWEST_TURNS, MOST_TURNS = 3, 13
JUDGES = {"sharp": (0.95, 0.10), "lenient": (0.95, 0.35), "noisy": (0.70, 0.30), "blind": (0.50, 0.50)}
"""Chance that it passes a right answer, and a wrong one."""
WITHIN = (0.0, 0.1, 0.3)
SHARES = (0.05, 0.1, 0.25)
AT_A_TIME = 500


def simulate(
    rng: np.random.Generator, studies: int, judge: tuple[float, float], within: float, share: float, spread: bool,
    *, videos: int = VIDEOS,
) -> tuple[Floats, Floats, Floats, Floats]:  # fmt: skip
    """Answers right or wrong, passed or not, labelled or not, and which turns there are: each (S, V, T) of 0 and 1."""
    turns = MOST_TURNS

    def dependent(chance: Floats | float) -> NDArray[np.bool_]:
        effect = np.sqrt(within) * rng.normal(size=(studies, videos, 1))
        own = np.sqrt(1 - within) * rng.normal(size=(studies, videos, turns))
        found: NDArray[np.bool_] = effect + own < stats.norm.ppf(chance)
        return found

    right = dependent(TRUTH)
    passed = dependent(np.where(right, *judge))
    sizes = rng.integers(FEWEST_TURNS, MOST_TURNS + 1, (studies, videos, 1))
    there = np.arange(turns) < sizes
    if spread:
        # The first so many turns in a random order of those that there are.
        order = np.where(there, rng.random(there.shape), 2.0).reshape(studies, -1).argsort(axis=1).argsort(axis=1)
        labelled = order.reshape(there.shape) < np.round(share * sizes.sum(axis=(1, 2)))[:, None, None]
    else:
        chosen = rng.random((studies, videos)).argsort(axis=1) < round(share * videos)
        labelled = chosen[..., None] & there
    first, second, third, fourth = (part.astype(np.float64) for part in (right, passed, labelled, there))
    return first, second, third, fourth


def sums_of(right: Floats, passed: Floats, labelled: Floats, there: Floats) -> VideoSums:
    """Each study's sums by video."""
    others = there - labelled
    return VideoSums(
        (right * labelled).sum(-1), (passed * labelled).sum(-1), labelled.sum(-1),
        (passed * others).sum(-1), others.sum(-1),
    )  # fmt: skip


def covers(found: Estimates) -> Floats:
    """(S,) 1 where the interval holds the truth, NaN where there is none."""
    return np.where(np.isfinite(found.error), (found.low <= TRUTH) & (found.high >= TRUTH), np.nan)


def judge_alone(passed: Floats, there: Floats) -> Estimates:
    """The judge's mean of everything as if it were people's, with its interval by video."""
    nothing = np.zeros(passed.shape[:2])
    everything = VideoSums((passed * there).sum(-1), nothing, there.sum(-1), nothing, nothing)
    return corrected_by_video(everything, power=0.0)


def rogan_gladen_covers(seed: int, trials: int, judge: tuple[float, float], within: float, share: float) -> float:
    """Coverage of Rogan and Gladen's share in per cent; studies in which it is undefined count as misses."""
    rng = np.random.default_rng(seed)
    held = 0
    for begin in range(0, trials, AT_A_TIME):
        drawn = simulate(rng, min(AT_A_TIME, trials - begin), judge, within, share, True)
        for right, passed, labelled, there in zip(*drawn, strict=True):
            turns = there > 0
            found, _ = rogan_gladen(
                right[turns] > 0, passed[turns] > 0, labelled[turns] > 0, np.nonzero(turns)[0].astype(str).tolist()
            )
            held += (
                found is not None
                and found.low is not None
                and found.high is not None
                and (found.low <= TRUTH <= found.high)
            )
    return 100 * held / trials


def study(
    seed: int, trials: int, judge: tuple[float, float], within: float, share: float, spread: bool, **sizes: int
) -> dict[str, float]:
    """Coverage in per cent and width of each way over some simulated studies."""
    rng = np.random.default_rng(seed)
    found: dict[str, list[Floats]] = {}
    for begin in range(0, trials, AT_A_TIME):
        right, passed, labelled, there = simulate(
            rng, min(AT_A_TIME, trials - begin), judge, within, share, spread, **sizes
        )
        sums = sums_of(right, passed, labelled, there)
        ways = {
            "tuned": corrected_by_video(sums),
            "untuned": corrected_by_video(sums, power=1.0),
            "people": corrected_by_video(sums, power=0.0),
            "judge": judge_alone(passed, there),
        }
        for name, way in ways.items():
            found.setdefault(f"{name} covers", []).append(covers(way))
            found.setdefault(f"{name} width", []).append(way.high - way.low)
    means = {name: float(np.nanmean(np.concatenate(values))) for name, values in found.items()}
    return {name: 100 * value if name.endswith("covers") else value for name, value in means.items()}


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--trials", type=int, help="simulated studies at each point of the grid: 2,000; 100 if quick")
    options = parser.parse_args()
    trials = options.trials or (100 if options.quick else 2000)
    figures: dict[str, float] = {}
    worst: dict[str, list[float]] = {}
    head = f"{'judge':<9}{'within':>7}{'labels':>8}{'where':>9}"
    print(head + "".join(f"{name:>17}" for name in ("corrected", "untuned", "labels alone", "judge alone")))
    print(" " * len(head) + f"{'covers  width':>17}" * 4)
    for number, (name, within, share, spread) in enumerate(product(JUDGES, WITHIN, SHARES, (True, False))):
        found = study(number, trials, JUDGES[name], within, share, spread)
        cells = [
            f"{found[f'{way} covers']:>9.1f}{found[f'{way} width']:>8.3f}"
            for way in ("tuned", "untuned", "people", "judge")
        ]
        where = "all" if spread else "some"
        print(f"{name:<9}{within:>7g}{share:>8.0%}{where:>9}" + "".join(cells))
        for way in ("tuned", "untuned", "people", "judge"):
            worst.setdefault(way, []).append(found[f"{way} covers"])
        if spread or round(share * VIDEOS) >= 10:
            worst.setdefault("tuned, 10 labelled videos or more", []).append(found["tuned covers"])
    for way, coverages in worst.items():
        figures[f"{way}: lowest coverage"], figures[f"{way}: highest coverage"] = min(coverages), max(coverages)
    print("\nHow many labelled videos it takes (lenient judge, within 0.1, whole videos labelled of 100):")
    for videos in (5, 8, 10, 15, 20, 30):
        found = study(1000 + videos, trials, JUDGES["lenient"], 0.1, videos / VIDEOS, False)
        print(f"{videos:>4} videos: corrected {found['tuned covers']:.1f}, labels alone {found['people covers']:.1f}")
        figures[f"corrected covers with {videos} labelled videos"] = found["tuned covers"]
    print("\nRogan and Gladen's share from sensitivity and specificity, labels over all videos:")
    for number, (name, within, share) in enumerate(product(("sharp", "lenient", "noisy"), (0.0, 0.3), (0.1, 0.25))):
        held = rogan_gladen_covers(2000 + number, trials, JUDGES[name], within, share)
        print(f"{name:<9}{within:>7g}{share:>8.0%} {held:>8.1f}")
        figures[f"Rogan and Gladen covers: {name}, within {within:g}, {share:.0%} labelled"] = held
    name, told = (
        "tuned, 10 labelled videos or more",
        "coverage of a judge's corrected interval, 10 labelled videos or more",
    )
    goals = (None, None) if options.quick else (at_least(93), at_most(97))
    alone = figures["judge: lowest coverage"]
    measures = [
        Measure(f"{told}: lowest of the grid", figures[f"{name}: lowest coverage"], "%", goal=goals[0]),
        Measure(f"{told}: highest of the grid", figures[f"{name}: highest coverage"], "%", goal=goals[1]),
        Measure("coverage of the judge's own interval: lowest of the grid", alone, "%"),
    ]
    notes = [f"{trials:,} simulated studies a point"]
    packages = ["numpy", "scipy"]
    record("judge_correction", measures, figures=figures, packages=packages, notes=notes, quick=options.quick)


if __name__ == "__main__":
    main()

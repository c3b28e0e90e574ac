"""False winners, coverage and power of the tests behind `reeltalk compare`, on simulated benchmarks.

Two equally good models answer the same turns, and turns of one video resemble each other. The test that reeltalk uses
(CR2 with Imbens-Kolesár degrees of freedom) is compared with the alternatives: the turn-level paired t and McNemar's
test, which treat turns as independent; CR1 with a t of G - 1 degrees of freedom, as in statsmodels; CR2 with Bell and
McCaffrey's degrees of freedom; and the percentile bootstrap of whole videos.

Everything is computed from sums over videos for all trials at once; in every setting the first trials are computed
again by `metrics/uncertainty.py`, and must agree. Trials of one chunk of 250 share the bootstrap's draws of videos.

Run `make bench-statistics`; `--quick` for fewer trials. A module named `statistics` would hide Python's own.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from record import Measure, at_least, at_most, options_of, record
from reeltalk.metrics.significance import correct_p_values
from reeltalk.metrics.uncertainty import Means, clustered_mean, degrees_of_freedom_of_mean, unpaired_difference

Floats = NDArray[np.float64]
Kind = Literal["continuous", "binary"]

CHUNK = 250
CHECKED = 10
ALPHA = 0.05
RIGHT = 0.6
"""Share of turns that both models answer rightly, where scores are right or wrong."""
SHARED = 0.3
"""Share of turns that are so easy or so hard that both models get the same."""
EFFECT = {"continuous": 0.1, "binary": 0.06}
"""True differences for power and coverage: in standard deviations of a turn's difference, and in shares of turns."""
PROMISED = 0.06
COVERED = (0.93, 0.97)
ENOUGH = 5000


@dataclass(frozen=True)
class Design:
    """Turns of each video; gamma's shape says how unequal (2: a few times the mean, 0.5: one video holds a tenth)."""

    videos: int
    turns: int
    shape: float = 2.0

    @property
    def sizes(self) -> NDArray[np.int64]:
        draw = np.random.default_rng(7)
        weights = draw.gamma(self.shape, size=self.videos)
        sizes: NDArray[np.int64] = np.maximum(1, np.round(weights / weights.sum() * self.turns)).astype(np.int64)
        while (left := self.turns - int(sizes.sum())) != 0:
            place = int(draw.integers(self.videos))
            sizes[place] = max(1, sizes[place] + int(np.sign(left)))
        return sizes


@dataclass
class Rates:
    """Shares of trials."""

    trials: int
    naive: float = 0.0
    """Turn-level paired t finds a winner."""
    mcnemar: float | None = None
    cr1: float = 0.0
    cr2_bm: float = 0.0
    default: float = 0.0
    bootstrap: float = 0.0
    covered: float = 0.0
    """The default's 95 % interval holds the true difference."""
    naive_covered: float = 0.0
    bootstrap_covered: float = 0.0
    width: float = 0.0
    """Mean width of the default's interval."""


DESIGNS = (Design(135, 5887), Design(60, 2616), Design(30, 1308))
HARDER = (Design(135, 5887, 0.5), Design(30, 1308, 0.5), Design(12, 523))
CORRELATIONS = (0.0, 0.05, 0.1, 0.2)


def differences(
    design: Design, kind: Kind, icc: float, trials: int, effect: float, draw: np.random.Generator
) -> Iterator[Floats]:
    """Chunks of (trials, turns) differences of two models, whose turns of one video correlate by `icc`."""
    sizes = design.sizes
    video = np.repeat(np.arange(design.videos), sizes)
    for start in range(0, trials, CHUNK):
        count = min(CHUNK, trials - start)
        if kind == "continuous":
            own = np.sqrt(icc) * draw.standard_normal((count, design.videos))[:, video]
            yield own + np.sqrt(1 - icc) * draw.standard_normal((count, design.turns)) + effect
            continue
        # Beta-distributed chances of a video give right and wrong answers exactly this correlation.
        own_icc = icc / (1 - SHARED)
        gain = effect / (1 - SHARED) / 2
        answers = [
            draw.random((count, design.turns)) < _chances(draw, RIGHT + sign * gain, own_icc, count, design)[:, video]
            for sign in (1, -1)
        ]
        differ = draw.random((count, design.turns)) >= SHARED
        yield (answers[0].astype(np.float64) - answers[1]) * differ


def _chances(draw: np.random.Generator, mean: float, icc: float, count: int, design: Design) -> Floats:
    if icc == 0:
        return np.full((count, design.videos), mean)
    size = (1 - icc) / icc
    return draw.beta(mean * size, (1 - mean) * size, (count, design.videos))


def simulate(
    design: Design, kind: Kind, icc: float, *, trials: int, effect: float = 0.0, resamples: int = 1000, seed: int = 1
) -> Rates:
    """How often each test finds a winner, and each interval holds the truth.

    Raises:
        AssertionError: The default test is not that of `metrics/uncertainty.py`.
    """
    sizes = design.sizes.astype(np.float64)
    starts = np.concatenate([[0], np.cumsum(design.sizes)[:-1]])
    names = np.repeat(np.arange(design.videos), design.sizes).astype(str).tolist()
    draw = np.random.default_rng([seed, design.videos, int(icc * 100), int(effect * 1000), kind == "binary"])
    turns, share = design.turns, sizes / design.turns
    rates = Rates(trials, mcnemar=0.0 if kind == "binary" else None)
    for chunk_number, chunk in enumerate(differences(design, kind, icc, trials, effect, draw)):
        sums, squares = np.add.reduceat(chunk, starts, axis=1), np.einsum("ij,ij->i", chunk, chunk)
        mean = sums.sum(axis=1) / turns
        left = squares - turns * mean**2
        naive = np.sqrt(left / (turns - 1) / turns)
        scores = sums - sizes * mean[:, None]
        cr1 = np.sqrt((scores**2).sum(axis=1) * design.videos / (design.videos - 1)) / turns
        factors = 1 / np.sqrt(1 - share)
        cr2 = np.sqrt(((scores * factors) ** 2).sum(axis=1)) / turns
        within = np.clip(((scores**2).sum(axis=1) - left) / (sizes * (sizes - 1)).sum() / (left / turns), 0, 1)
        df = degrees_of_freedom_of_mean(sizes[None], within)
        bell = degrees_of_freedom_of_mean(sizes[None], np.zeros(1))[0]
        half = stats.t.ppf(1 - ALPHA / 2, df) * cr2
        if chunk_number == 0:
            for trial in range(min(CHECKED, len(chunk))):
                ours = clustered_mean(chunk[trial], names)
                assert ours.low is not None
                assert ours.df is not None
                assert np.allclose([ours.low, ours.df], [mean[trial] - half[trial], df[trial]], rtol=1e-9, atol=1e-12)
        weights = draw.multinomial(design.videos, np.full(design.videos, 1 / design.videos), size=resamples)
        resampled = (sums @ weights.T) / (weights @ sizes)
        low, high = np.quantile(resampled, [ALPHA / 2, 1 - ALPHA / 2], axis=1)
        narrow = stats.t.ppf(1 - ALPHA / 2, turns - 1) * naive
        rates.naive += float((np.abs(mean) > narrow).sum())
        rates.naive_covered += float((np.abs(mean - effect) <= narrow).sum())
        rates.cr1 += float((np.abs(mean) > stats.t.ppf(1 - ALPHA / 2, design.videos - 1) * cr1).sum())
        rates.cr2_bm += float((np.abs(mean) > stats.t.ppf(1 - ALPHA / 2, bell) * cr2).sum())
        rates.default += float((np.abs(mean) > half).sum())
        rates.covered += float((np.abs(mean - effect) <= half).sum())
        rates.bootstrap += float(((low > 0) | (high < 0)).sum())
        rates.bootstrap_covered += float(((low <= effect) & (effect <= high)).sum())
        rates.width += float(2 * half.sum())
        if rates.mcnemar is not None:
            # Of right and wrong answers, the sum of squares is the number of turns that one alone got right.
            rates.mcnemar += float(((mean * turns) ** 2 / np.maximum(squares, 1) > stats.chi2.ppf(1 - ALPHA, 1)).sum())
    for name, value in vars(rates).items():
        if name != "trials" and value is not None:
            setattr(rates, name, value / trials)
    return rates


@dataclass(frozen=True)
class Family:
    """Shares of trials in which some of all pairs of equal models is declared a winner."""

    models: int
    uncorrected: float
    holm: float
    benjamini_hochberg: float
    naive_holm: float
    """Turn-level paired t, corrected by Holm."""


def simulate_family(design: Design, icc: float, models: int, trials: int, seed: int = 2) -> Family:
    """All pairs of equal models, whose turns share their difficulty, corrected together."""
    sizes = design.sizes.astype(np.float64)
    starts = np.concatenate([[0], np.cumsum(design.sizes)[:-1]])
    video = np.repeat(np.arange(design.videos), design.sizes)
    draw = np.random.default_rng(seed)
    pairs = list(combinations(range(models), 2))
    left, right = np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])
    factors, turns = 1 / np.sqrt(1 - sizes / design.turns), design.turns
    found = {"uncorrected": 0, "holm": 0, "bh": 0, "naive": 0}
    for _ in range(trials):
        own = np.sqrt(icc) * draw.standard_normal((design.videos, models))[video]
        chunk = own + np.sqrt(1 - icc) * draw.standard_normal((turns, models))
        gram, sums = chunk.T @ chunk, np.add.reduceat(chunk, starts, axis=0)
        diagonal = np.diag(gram)
        squares = diagonal[left] + diagonal[right] - 2 * gram[left, right]
        pair_sums = (sums[:, left] - sums[:, right]).T
        mean = pair_sums.sum(axis=1) / turns
        rest = squares - turns * mean**2
        scores = pair_sums - sizes * mean[:, None]
        cr2 = np.sqrt(((scores * factors) ** 2).sum(axis=1)) / turns
        within = np.clip(((scores**2).sum(axis=1) - rest) / (sizes * (sizes - 1)).sum() / (rest / turns), 0, 1)
        p = 2 * stats.t.sf(np.abs(mean) / cr2, degrees_of_freedom_of_mean(sizes[None], within))
        alone = 2 * stats.t.sf(np.abs(mean) / np.sqrt(rest / (turns - 1) / turns), turns - 1)
        found["uncorrected"] += bool((p < ALPHA).any())
        found["holm"] += min(correct_p_values(p.tolist(), "holm")) < ALPHA
        found["bh"] += min(correct_p_values(p.tolist(), "bh")) < ALPHA
        found["naive"] += min(correct_p_values(alone.tolist(), "holm")) < ALPHA
    shares = {name: count / trials for name, count in found.items()}
    return Family(models, shares["uncorrected"], shares["holm"], shares["bh"], shares["naive"])


def simulate_unpaired(design: Design, icc: float, trials: int, seed: int = 3) -> float:
    """How often models on different videos, of which none is better, are told apart."""
    draw = np.random.default_rng(seed)
    video = np.repeat(np.arange(design.videos), design.sizes)
    alone = np.zeros(design.turns, np.intp), np.ones(1)
    winners = 0
    for _ in range(trials):
        values = [
            np.sqrt(icc) * draw.standard_normal(design.videos)[video]
            + np.sqrt(1 - icc) * draw.standard_normal(design.turns)
            for _ in range(2)
        ]
        first, second = Means(values[0], video, *alone), Means(values[1], video + design.videos, *alone)
        p = unpaired_difference(first, second, (None, None)).p
        winners += p is not None and p < ALPHA
    return winners / trials


def percent(value: float | None) -> str:
    return "    –" if value is None else f"{value * 100:5.1f}"


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--trials", type=int, help="of every setting: 5,000, for which the promise is; 100 if quick")
    parser.add_argument("--family-trials", type=int, help="of six and ten equal models: 1,000; 20 if quick")
    given = parser.parse_args()
    given.trials = given.trials or (100 if given.quick else 5000)
    given.family_trials = given.family_trials or (20 if given.quick else 1000)
    figures: dict[str, float] = {}
    worst, lowest, highest = 0.0, 1.0, 0.0
    print(f"{given.trials:,} trials a row, alpha {ALPHA}; per cent. Outside the promise: rows marked *.\n")
    print("                               false winners                            | coverage of 95 %  | power")
    print("scores      videos turns  icc  naive McNem  CR1   CR2+BM default bootstr | naive deflt boots | default")
    settings: list[tuple[Design, Kind]] = [(d, k) for k in ("continuous", "binary") for d in DESIGNS]
    settings += [(d, "continuous") for d in HARDER]
    for design, kind in settings:
        for icc in CORRELATIONS:
            none = simulate(design, kind, icc, trials=given.trials)
            some = simulate(design, kind, icc, trials=given.trials, effect=EFFECT[kind])
            promised = design in DESIGNS
            mark = " " if promised else "*"
            print(
                f"{kind:<11}{mark}{design.videos:>6} {design.turns:>5} {icc:>4}  {percent(none.naive)} "
                f"{percent(none.mcnemar)} {percent(none.cr1)}   {percent(none.cr2_bm)}   {percent(none.default)}   "
                f"{percent(none.bootstrap)} | {percent(some.naive_covered)} {percent(some.covered)} "
                f"{percent(some.bootstrap_covered)} | {percent(some.default)}",
                flush=True,
            )
            if promised:
                worst = max(worst, none.default)
                lowest, highest = min(lowest, some.covered), max(highest, some.covered)
            name = f"{kind}_{design.videos}_{design.shape:g}_{icc:g}"
            figures[f"{name}_false_winners"] = none.default
            figures[f"{name}_false_winners_bootstrap"] = none.bootstrap
            figures[f"{name}_false_winners_naive"] = none.naive
            figures[f"{name}_coverage"] = some.covered
            figures[f"{name}_power"] = some.default
    print("\n* 12 videos, or videos so unequal that the largest holds a tenth of the turns.")
    print(
        f"true difference for coverage and power: {EFFECT['continuous']} standard deviations, "
        f"{EFFECT['binary']:.0%} of turns"
    )
    for models in (6, 10):
        family = simulate_family(DESIGNS[0], 0.1, models, given.family_trials)
        print(
            f"{models} equal models, all pairs, 135 videos, icc 0.1, {given.family_trials:,} trials: some winner in "
            f"{family.uncorrected:.1%} uncorrected, {family.holm:.1%} with Holm, {family.benjamini_hochberg:.1%} with "
            f"Benjamini-Hochberg; turn-level with Holm {family.naive_holm:.1%}"
        )
        figures[f"family_{models}_holm"], figures[f"family_{models}_uncorrected"] = family.holm, family.uncorrected
    unpaired = simulate_unpaired(DESIGNS[2], 0.1, given.family_trials)
    print(f"unpaired, 30 and 30 videos, icc 0.1, {given.family_trials:,} trials: false winners {unpaired:.1%}")
    figures |= {"unpaired_30_false_winners": unpaired, "most_false_winners": worst}
    figures |= {"least_coverage": lowest, "most_coverage": highest}
    kept = worst <= PROMISED and COVERED[0] <= lowest and highest <= COVERED[1]
    told = "too few trials to tell" if given.trials < ENOUGH else "kept" if kept else "broken"
    print(
        f"default test, 30 to 135 videos: at most {worst:.1%} false winners, coverage {lowest:.1%} to {highest:.1%}; "
        f"promised are 6 % and 93 to 97 %: {told}\n"
    )
    naive = max(value for name, value in figures.items() if name.endswith("false_winners_naive"))
    enough = given.trials >= ENOUGH
    few, many = (at_least(COVERED[0]), at_most(COVERED[1])) if enough else (None, None)
    measures = [
        Measure("false winners of the paired test, worst of the grid", worst, "share", "turn-level paired t over ours",
                naive / worst if worst else None, at_most(PROMISED) if enough else None),
        Measure("coverage of its 95 % intervals, lowest", lowest, "share", goal=few),
        Measure("coverage of its 95 % intervals, highest", highest, "share", goal=many),
        Measure("some false winner among ten equal models", figures["family_10_holm"], "share", "uncorrected over ours",
                figures["family_10_uncorrected"] / figures["family_10_holm"] if figures["family_10_holm"] else None),
    ]  # fmt: skip
    notes = [f"{given.trials:,} trials of every setting, {given.family_trials:,} of a family"]
    packages = ["numpy", "scipy", "statsmodels", "reeltalk"]
    record("paired_tests", measures, figures=figures, packages=packages, notes=notes, quick=given.quick)
    return 0 if kept or given.trials < ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())

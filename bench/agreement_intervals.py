"""How often 95 % intervals of BLEU, METEOR, CIDEr, means of means, kappa, alpha and correlations hold the true value.

Every interval is the one that `MetricResult.interval`, `measure_interval`, `cohen_kappa`, `krippendorff_alpha` and
`correlations` give. A trial is a new benchmark: videos, their sizes, and their turns. All truths are known.

Texts: an answer keeps each token of its reference with a chance of its own, from a beta distribution, so many answers
are nearly right or nearly wrong. Their lengths differ. BLEU, METEOR and CIDEr-D are computed from the n-grams, the runs
and the tokens that are left. Their level is the share of tokens that are left. The truth is the value over a million
answers. A mean of means has six tasks, which differ in difficulty and in number.

Agreement: two judges rate every turn. In the family `errors` both are normal, and so is the second's error; turns of a
video share a part of each. In the family `agreement` the second repeats the first or rates by chance, and each video
has its own chance, from a beta distribution. Ratings become three categories for kappa and nominal alpha, and five
steps for quadratic kappa and ordinal alpha. The level is the true value of the coefficient.

Run `make bench-statistics`; `--quick` for fewer trials.
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from shutil import copyfile
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, ndtri

from intervals import PROMISED, TURNS, percent, simulated, sizes_of, spread_of, with_simulation
from record import Measure, Table, at_least, options_of, record
from reeltalk.metrics import meteor, token_metrics
from reeltalk.metrics.agreement import cohen_kappa, krippendorff_alpha
from reeltalk.metrics.correlation import correlations
from reeltalk.metrics.draws import Draws, Statistic, draw_videos
from reeltalk.metrics.scoring import MetricResult
from reeltalk.metrics.uncertainty import MeanInterval, measure_interval

Floats = NDArray[np.float64]
Family = Literal["texts", "errors", "agreement"]
Sizes = Literal["equal", "gamma"]

VIDEOS: Final = (4, 5, 10, 20, 60)
CORRELATIONS: Final = (0.0, 0.1, 0.2, 0.5)
LEVELS: Final = (0.3, 0.6, 0.9)
TEXTS: Final = ("BLEU-1", "BLEU-4", "METEOR", "CIDEr", "mean of means")
AGREEMENTS: Final = ("kappa", "quadratic kappa", "nominal alpha", "ordinal alpha", "Pearson", "Spearman", "Kendall")
FEWEST: Final = 5
"""Videos from which on coverage is promised."""
LEAST: Final = 0.90
ENOUGH_TRIALS: Final = 2000
"""Trials from which on a coverage below `LEAST` is not chance."""
MANY: Final = 1_000_000
"""Answers that the truth of a text metric is computed from."""
LONGEST: Final = 18
"""Tokens."""
SPREAD: Final = 2.0
"""Sum of the parameters of the beta distribution of what answers keep; the less, the more keep all or nothing."""
TASKS: Final = (0.30, 0.20, 0.15, 0.15, 0.10, 0.10)
"""Shares of the turns."""
HARDER: Final = np.array([0.0, 0.05, -0.05, 0.08, -0.08, 0.02])
"""What each task's mean is away from the level."""
THREE: Final = (0.5, 0.8)
"""Shares of the first rating up to the first category, and up to the second."""
FIVE: Final = (0.1, 0.3, 0.6, 0.85)


@dataclass(frozen=True)
class Cell:
    """One setting: all measures of one kind."""

    family: Family
    sizes: Sizes
    videos: int
    level: float
    correlation: float

    @property
    def promised(self) -> bool:
        return self.correlation <= PROMISED and self.videos >= FEWEST


@dataclass
class Coverage:
    """Counts of trials of one measure in one cell."""

    cell: Cell
    measure: str
    truth: float
    trials: int = 0
    given: int = 0
    """With an interval."""
    above: int = 0
    """The truth lies above the interval."""
    below: int = 0
    width: float = 0.0
    narrowest: float = np.inf

    @property
    def holds(self) -> float:
        """Share of the intervals that hold the truth."""
        return 1 - (self.above + self.below) / self.given if self.given else np.nan

    def add(self, found: MeanInterval | Statistic, truth: float) -> None:
        """Count one trial."""
        self.trials += 1
        if found.low is None or found.high is None:
            return
        self.given += 1
        self.above += found.high < truth
        self.below += found.low > truth
        self.width += found.high - found.low
        self.narrowest = min(self.narrowest, found.high - found.low)


def grid() -> list[Cell]:
    return [
        Cell(family, sizes, videos, level, correlation)
        for family in ("texts", "errors", "agreement")
        for sizes in ("equal", "gamma")
        for videos in VIDEOS
        for level in LEVELS
        for correlation in CORRELATIONS
        if family != "agreement" or correlation > 0
    ]


def shared(correlation: float, codes: NDArray[np.intp], videos: int, draw: np.random.Generator) -> Floats:
    """(N,) normal numbers, of which those of one video correlate."""
    of_videos = draw.standard_normal(videos)[codes]
    found: Floats = np.sqrt(correlation) * of_videos + np.sqrt(1 - correlation) * draw.standard_normal(len(codes))
    return found


@lru_cache(maxsize=64)
def quantiles(mean: float) -> tuple[Floats, Floats]:
    at = np.linspace(-5, 5, 1001)
    return at, betaincinv(mean * SPREAD, (1 - mean) * SPREAD, ndtr(at))


def kept(mean: float, normal: Floats) -> Floats:
    """(N,) numbers from 0 to 1 of a beta distribution, in the order of normal ones."""
    found: Floats = np.interp(normal, *quantiles(mean))
    return found


def texts(level: float, normal: Callable[[], Floats], draw: np.random.Generator) -> dict[str, Floats]:
    """What N answers add to each metric: BLEU's (N, 10), METEOR's (N, 23), CIDEr's (N, 1)."""
    chance = kept(level, normal())
    items = len(chance)
    reference = 4 + np.rint(8 * ndtr(normal())).astype(int)
    answer = np.maximum(reference + np.rint(normal()).astype(int), 3)
    place = np.arange(LONGEST)
    both = np.minimum(reference, answer)[:, None]
    keeps = (draw.random((items, LONGEST)) < chance[:, None]) & (place < both)
    # A text's token that is in few other texts counts more; longer n-grams are in hardly any.
    rare = draw.gamma(2.0, 1.5, (items, LONGEST))
    columns, similar, grams = [], np.zeros(items), keeps
    for n in range(1, 5):
        if n > 1:
            grams = grams[:, :-1] & keeps[:, n - 1 :]
        columns.append(grams.sum(axis=1))
        weight = (rare[:, : LONGEST - n + 1] if n == 1 else np.full(grams.shape, 6.0)) ** 2
        at = place[: LONGEST - n + 1]
        own = (weight * (at < (reference - n + 1)[:, None])).sum(axis=1)
        said = (weight * (at < (answer - n + 1)[:, None])).sum(axis=1)
        norms = np.sqrt(own * said)
        similar += np.divide((weight * grams).sum(axis=1), norms, out=np.zeros(items), where=norms > 0)
    similar *= np.exp(-((answer - reference) ** 2) / (2 * token_metrics.CIDER_SIGMA**2)) * token_metrics.CIDER_SCALE / 4
    columns += [np.maximum(answer - n, 0) for n in range(4)]
    of_bleu = np.stack([*columns, answer, reference], axis=1).astype(np.float64)
    matched = columns[0]
    runs = matched - columns[1]
    of_meteor = np.zeros((items, meteor.FIELDS))
    of_meteor[:, 0], of_meteor[:, 1] = answer, reference
    of_meteor[:, 4] = of_meteor[:, 5] = of_meteor[:, 21] = of_meteor[:, 22] = matched
    # As METEOR has it, an answer equal to its reference adds no run.
    of_meteor[:, 20] = np.where((matched == answer) & (answer == reference), 0, runs)
    return {"bleu": of_bleu, "METEOR": of_meteor, "CIDEr": similar[:, None]}


FROM_SUMS: Final[dict[str, tuple[str, str, Callable[[Floats, Floats], Floats]]]] = {
    "BLEU-1": ("bleu_1", "bleu", lambda sums, _: token_metrics.bleu_from_statistics(sums)[:, 0]),
    "BLEU-4": ("bleu_4", "bleu", lambda sums, _: token_metrics.bleu_from_statistics(sums)[:, 3]),
    "METEOR": ("meteor", "METEOR", lambda sums, _: meteor.meteor_from_statistics(sums)),
    "CIDEr": ("cider", "CIDEr", lambda sums, n: sums[:, 0] / n),
}
"""Of each text metric its name, whose statistics it uses, and its value from their sums."""


@lru_cache(maxsize=8)
def true_texts(level: float) -> dict[str, float]:
    draw, sums, chunk = np.random.default_rng(5), dict[str, Floats](), 50_000
    for _ in range(MANY // chunk):
        for name, table in texts(level, lambda: draw.standard_normal(chunk), draw).items():
            sums[name] = sums.get(name, 0) + table.sum(axis=0, keepdims=True)
    items = np.array([float(MANY)])
    return {name: float(value(sums[part], items)[0]) for name, (_, part, value) in FROM_SUMS.items()}


def mean_of_means(sums: Floats, _: Floats) -> Floats:
    """As `mtv` is computed: a mean over the tasks that there are."""
    counts = sums[:, 1::2]
    with np.errstate(invalid="ignore"):
        means: Floats = np.nanmean(np.where(counts > 0, sums[:, 0::2] / np.maximum(counts, 1), np.nan), axis=1)
    return means


def of_texts(
    cell: Cell, codes: NDArray[np.intp], draw: np.random.Generator
) -> Iterator[tuple[str, MeanInterval, float]]:
    truths = true_texts(cell.level)
    names = [f"v{code}" for code in codes]
    every = np.ones(len(codes), np.bool_)

    def normal() -> Floats:
        return shared(cell.correlation, codes, cell.videos, draw)

    tables = texts(cell.level, normal, draw)
    for name, (metric, part, from_sums) in FROM_SUMS.items():
        result = MetricResult(metric, 0.0, np.empty(0), tables[part], from_sums, "")
        yield name, result.interval(every, names), truths[name]
    task = draw.choice(len(TASKS), len(codes), p=TASKS)
    latent, means = normal(), np.clip(cell.level + HARDER, 0.02, 0.98)
    values = np.select([task == t for t in range(len(TASKS))], [kept(float(mean), latent) for mean in means])
    table = np.zeros((len(codes), 2 * len(TASKS)))
    table[np.arange(len(codes)), 2 * task] = values
    table[np.arange(len(codes)), 2 * task + 1] = 1
    present = table[:, 1::2].sum(axis=0)
    weights = (1 / np.maximum(present, 1))[task]
    found = measure_interval(table, names, mean_of_means, (0.0, 1.0), weights=weights)
    yield "mean of means", found, float(means[present > 0].mean())


def joint(family: Family, strength: float, cuts: tuple[float, ...]) -> Floats:
    """(K, K) how often two judges give each pair of categories."""
    shares = np.diff([0.0, *cuts, 1.0])
    if family == "agreement":
        return strength * np.diag(shares) + (1 - strength) * np.outer(shares, shares)
    edges = ndtri(np.array([0.0, *cuts, 1.0]))
    rows = []
    for low, high in zip([0.0, *cuts], [*cuts, 1.0], strict=True):
        at = ndtri(low + (high - low) * (np.arange(2000) + 0.5) / 2000)
        below = ndtr((edges[None] - strength * at[:, None]) / np.sqrt(1 - strength**2))
        rows.append(np.diff(below, axis=1).mean(axis=0) * (high - low))
    return np.array(rows)


def beyond_chance(table: Floats, places: Floats | None) -> float:
    """Kappa of a table of shares, and alpha, as both judges have the same shares of categories."""
    shares = table.sum(axis=1)
    size = len(shares)
    apart = 1 - np.eye(size) if places is None else (places[:, None] - places[None]) ** 2
    return 1 - float((table * apart).sum()) / float(shares @ apart @ shares)


def truth_of(measure: str, family: Family, strength: float) -> float:
    """What a coefficient tends to, if judges resemble each other so much."""
    if measure in ("kappa", "nominal alpha"):
        return beyond_chance(joint(family, strength, THREE), None)
    if measure == "quadratic kappa":
        return beyond_chance(joint(family, strength, FIVE), np.arange(5.0))
    if measure == "ordinal alpha":
        shares = np.diff([0.0, *FIVE, 1.0])
        return beyond_chance(joint(family, strength, FIVE), np.cumsum(shares) - shares / 2)
    if measure == "Kendall":
        # That of the mixture of equal and of independent ratings; else of the normal distribution.
        both = strength * (strength + 2) / 3
        return both if family == "agreement" else float(np.arcsin(strength) * 2 / np.pi)
    if measure == "Spearman" and family == "errors":
        return float(np.arcsin(strength / 2) * 6 / np.pi)
    return strength


@lru_cache(maxsize=256)
def strength_of(measure: str, family: Family, level: float) -> float:
    """How much judges resemble each other where the coefficient is as high as the level."""
    low, high = 0.0, 0.99999
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if truth_of(measure, family, middle) < level else (low, middle)
    return low


def of_judges(cell: Cell, codes: NDArray[np.intp], draw: np.random.Generator) -> Iterator[tuple[str, Statistic, float]]:
    videos = draw_videos([f"v{code}" for code in codes], resamples=0, seed=0)
    first = shared(cell.correlation, codes, cell.videos, draw)
    if cell.family == "errors":
        noise = shared(cell.correlation, codes, cell.videos, draw)
    else:
        noise, luck = draw.standard_normal(len(codes)), draw.random(len(codes))
    for measure in AGREEMENTS:
        strength = strength_of(measure, cell.family, cell.level)
        if cell.family == "errors":
            second = strength * first + np.sqrt(1 - strength**2) * noise
        else:
            size = (1 - cell.correlation) / cell.correlation
            of_videos = draw.beta(strength * size, (1 - strength) * size, cell.videos)
            second = np.where(luck < of_videos[codes], first, noise)
        yield measure, between(measure, first, second, videos), cell.level


def between(measure: str, first: Floats, second: Floats, videos: Draws) -> Statistic:
    """A coefficient with its interval, as reeltalk gives it."""
    if measure in ("Pearson", "Spearman", "Kendall"):
        kind: Literal["pearson", "spearman", "kendall"] = measure.lower()  # type: ignore[assignment]
        return correlations(first, second, videos, kinds=[kind])[kind]
    cuts = ndtri(np.array(THREE if measure in ("kappa", "nominal alpha") else FIVE))
    one, other = (np.searchsorted(cuts, side).astype(np.float64) for side in (first, second))
    if measure.endswith("kappa"):
        return cohen_kappa(one, other, videos, weights="none" if measure == "kappa" else "quadratic")
    both = np.stack([one, other], axis=1)
    return krippendorff_alpha(both, videos, scale="nominal" if measure == "nominal alpha" else "ordinal")


def simulate(cell: Cell, trials: int, seed: int = 1) -> list[Coverage]:
    """Coverage of all measures in one cell."""
    draw = np.random.default_rng(
        [seed, cell.videos, int(100 * cell.level), int(100 * cell.correlation), *map(ord, cell.family + cell.sizes)]
    )
    found: dict[str, Coverage] = {}
    for _ in range(trials):
        sizes = sizes_of(cell.sizes, (1, cell.videos), draw)[0].astype(int)
        codes = np.repeat(np.arange(cell.videos), sizes)
        for measure, interval, truth in (of_texts if cell.family == "texts" else of_judges)(cell, codes, draw):
            found.setdefault(measure, Coverage(cell, measure, truth)).add(interval, truth)
    return list(found.values())


def table(found: list[Coverage]) -> Table:
    """The grid, least and most of all levels, families and heavy-tailed sizes together."""
    rows: dict[tuple[str, int], list[Coverage]] = {}
    for measure in TEXTS + AGREEMENTS:
        for videos in VIDEOS:
            rows[measure, videos] = [one for one in found if (one.measure, one.cell.videos) == (measure, videos)]
    lines = []
    for (measure, videos), cells in rows.items():
        line = [measure, str(videos)]
        for heavy in (False, True):
            for correlation in CORRELATIONS:
                here = [
                    one.holds
                    for one in cells
                    if one.cell.correlation == correlation and (one.cell.sizes != "equal") is heavy and one.given
                ]
                line.append(spread_of(here))
        lines.append(tuple(line))
    head = [f"{sizes}, {correlation:g}" for sizes in ("Equal", "Heavy-tailed") for correlation in CORRELATIONS]
    title = (
        "Coverage of 95 % intervals, per cent, by the sizes of videos and the correlation within them: least and most "
        "of 0.3, 0.6 and 0.9 (share of tokens that answers keep, mean, or coefficient), and of two families."
    )
    return Table(title, ("Measure", "Videos", *head), tuple(lines))


def summary(found: list[Coverage]) -> dict[str, float]:
    """Figures of the whole grid."""
    figures: dict[str, float] = {}
    for measure in TEXTS + AGREEMENTS:
        own = [one for one in found if one.measure == measure]
        parts = {
            "promised": [one for one in own if one.cell.promised],
            "four": [one for one in own if one.cell.correlation <= PROMISED and one.cell.videos < FEWEST],
            "rest": [one for one in own if one.cell.correlation > PROMISED],
        }
        for part, some in parts.items():
            shares = [one.holds for one in some if one.given]
            name = f"{measure.replace(' ', '_')}_{part}"
            figures |= {f"{name}_least": min(shares), f"{name}_most": max(shares)}
            figures[f"{name}_mean"] = float(np.mean(shares))
            if part == "promised":
                figures[f"{name}_below_93"] = sum(share < 0.93 for share in shares) / len(shares)
                figures[f"{name}_below_90"] = sum(share < LEAST for share in shares) / len(shares)
        figures[f"{measure.replace(' ', '_')}_without"] = max(1 - one.given / one.trials for one in own)
        figures[f"{measure.replace(' ', '_')}_narrowest"] = min(one.narrowest for one in own)
    return figures


def main() -> int:
    given = with_simulation(options_of(__doc__), "2,000; 100").parse_args()
    trials = given.trials or (100 if given.quick else 2000)
    cells = grid()
    if given.quick:
        cells = [cell for cell in cells if cell.videos in (4, 5, 20) and cell.correlation in (0.0, 0.2, 0.5)]
    begun = time.monotonic()
    results = simulated(simulate, cells, lambda cell: cell.videos, trials, given.jobs)
    found = [one for of_cell in results for one in of_cell]
    for one in found:
        cell = one.cell
        mark = "*" if cell.promised and one.given and one.holds < LEAST else " "
        print(
            f"{one.measure:<16}{cell.family:<10}{cell.sizes:<10}{cell.videos:>3} videos, truth {one.truth:.3f} "
            f"icc {cell.correlation:<4g}holds {percent(one.holds)}{mark} truth above {percent(one.above / trials)} "
            f"below {percent(one.below / trials)}  width {one.width / max(one.given, 1):.3f}  "
            f"without {percent(1 - one.given / trials)}"
        )
    figures = summary(found)
    goal = at_least(LEAST) if trials >= ENOUGH_TRIALS else None
    measures = [
        Measure(
            f"lowest coverage of {measure}, correlation to {PROMISED:g}, from {FEWEST} videos on",
            figures[f"{measure.replace(' ', '_')}_promised_least"],
            "share",
            goal=goal,
        )
        for measure in TEXTS + AGREEMENTS
    ]
    four = min(figures[f"{measure.replace(' ', '_')}_four_least"] for measure in TEXTS + AGREEMENTS)
    rest = min(figures[f"{measure.replace(' ', '_')}_rest_least"] for measure in TEXTS + AGREEMENTS)
    measures += [
        Measure(f"lowest coverage of all with 4 videos, correlation to {PROMISED:g}", four, "share"),
        Measure("lowest coverage of all at correlation 0.5", rest, "share"),
    ]
    notes = [
        f"{trials:,} trials of each of {len(cells)} cells, {TURNS} turns a video in the mean, in "
        f"{time.monotonic() - begun:.0f} s by {given.jobs} processes"
    ]
    place = record(
        "agreement_intervals", measures, figures=figures, packages=["numpy", "scipy", "reeltalk"], notes=notes,
        tables=[table(found)], quick=given.quick,
    )  # fmt: skip
    if given.out:
        copyfile(place, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())

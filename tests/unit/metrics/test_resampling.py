"""The cluster bootstrap against plain loops that draw the same videos and put their turns together one by one."""

import numpy as np
import pytest

from reeltalk.metrics.resampling import cluster_bootstrap, cluster_bootstrap_test


def test_equals_a_plain_loop_on_random_tables(full: bool) -> None:
    """A mean, a paired difference, and a difference of two ratios of sums, as BLEU is one."""
    draw = np.random.default_rng(3)
    for number in range(1000 if full else 100):
        items, videos, seed = int(draw.integers(4, 40)), int(draw.integers(2, 8)), int(draw.integers(1 << 30))
        names = [f"v{video}" for video in np.concatenate([[0, 1], draw.integers(0, videos, items - 2)])]
        table = draw.random((items, 4)) + 0.1
        shapes = {
            "mean": lambda sums, n: sums[:, 0] / n,
            "paired": lambda sums, n: sums[:, 0] / n - sums[:, 1] / n,
            "ratio": lambda sums, n: sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3],
        }
        for shape, from_sums in shapes.items():
            found = cluster_bootstrap_test(table, names, from_sums, resamples=50, seed=seed, confidence=0.9)
            assert found is not None
            values = sorted(plain_values(shape, table, names, 50, seed))
            assert found.interval.low == pytest.approx(quantile(values, 0.05), abs=1e-9), (number, shape)
            assert found.interval.high == pytest.approx(quantile(values, 0.95), abs=1e-9), (number, shape)
            mean = sum(values) / 50
            assert found.standard_error == pytest.approx((sum((v - mean) ** 2 for v in values) / 49) ** 0.5, abs=1e-9)
            beyond = min(sum(v <= 0 for v in values), sum(v >= 0 for v in values))
            assert found.p == pytest.approx(min(1.0, 2 * (beyond + 1) / 51))
            alone = cluster_bootstrap(table, names, from_sums, resamples=50, seed=seed, confidence=0.9)
            assert alone == found.interval


def plain_values(shape: str, table: np.ndarray, names: list[str], resamples: int, seed: int) -> list[float]:
    """Values of resamples: for every drawn video all its rows are added, as often as it was drawn."""
    videos = sorted(set(names))
    counts = np.random.default_rng(seed).multinomial(len(videos), [1 / len(videos)] * len(videos), size=resamples)
    found = []
    for row in counts:
        drawn: list[list[float]] = []
        for video, times in zip(videos, row.tolist(), strict=True):
            for _ in range(times):
                drawn += [table[item].tolist() for item in range(len(names)) if names[item] == video]
        first, second, third, fourth = (sum(line[column] for line in drawn) for column in range(4))
        if shape == "mean":
            found.append(first / len(drawn))
        elif shape == "paired":
            found.append(first / len(drawn) - second / len(drawn))
        else:
            found.append(first / second - third / fourth)
    return found


def quantile(ordered: list[float], share: float) -> float:
    """Between two neighbours by distance, as most packages do."""
    at = share * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])


def test_one_video_gives_no_test() -> None:
    assert cluster_bootstrap_test(np.ones((3, 1)), ["v"] * 3, lambda s, n: s[:, 0] / n, resamples=9, seed=1) is None


def test_what_lies_far_from_zero_has_the_smallest_p_that_the_resamples_can_tell() -> None:
    values, videos = np.linspace(5, 6, 40)[:, None], [f"v{n % 8}" for n in range(40)]
    found = cluster_bootstrap_test(values, videos, lambda s, n: s[:, 0] / n, resamples=199, seed=1)
    assert found is not None
    assert found.p == pytest.approx(2 / 200)

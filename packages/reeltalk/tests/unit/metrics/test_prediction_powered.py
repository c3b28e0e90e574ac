"""Corrected means: the estimate that others have, intervals that cover, and what is said where there is none."""

from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from judge_correction import GOAL, Cell, study
from reeltalk.metrics import CorrectedInterval, corrected_interval
from reeltalk.metrics.prediction_powered import FEWEST_LABELS, FEWEST_VIDEOS
from reeltalk.metrics.uncertainty import mean_interval

Floats = NDArray[np.float64]
UNIT = (0.0, 1.0)


def ends(found: CorrectedInterval) -> tuple[float, float]:
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


def answers(seed: int, *, videos: int = 30, turns: int = 8, right: float = 0.7) -> tuple[Floats, Floats, list[str]]:
    """What people say of all items, a sharp judge, and the videos."""
    rng = np.random.default_rng(seed)
    people = (rng.random(videos * turns) < right).astype(np.float64)
    judge = np.where(rng.random(len(people)) < 0.9, people, 1 - people)
    return people, judge, [f"v{number // turns}" for number in range(len(people))]


def test_the_value_is_that_of_power_tuned_prediction_powered_inference() -> None:
    """ppi-python's other items are those without labels, so that its power is smaller by their share."""
    from ppi_py import ppi_mean_pointestimate

    rng = np.random.default_rng(1)
    for seed in range(50):
        people, judge, clusters = answers(seed)
        mask = rng.random(len(people)) < 0.4
        labels, said, others = people[mask], judge[mask], judge[~mask]
        found = corrected_interval(labels, judge, mask, clusters, UNIT)
        power = found.power * len(others) / len(judge)
        theirs = np.ravel(ppi_mean_pointestimate(labels, said, others, lam=power))[0]
        assert found.value == pytest.approx(theirs, abs=0.005)
        slope = np.cov(labels, said)[0, 1] / np.var(said, ddof=1)
        assert found.power == 0 or 0.9 * slope < found.power < slope + 1e-9


def test_a_mask_indices_in_any_order_and_labels_of_all_items_say_the_same() -> None:
    people, judge, clusters = answers(2)
    mask = np.random.default_rng(3).random(len(people)) < 0.3
    first = corrected_interval(people[mask], judge, mask, clusters, UNIT)
    shuffled = np.random.default_rng(4).permutation(np.flatnonzero(mask))
    assert corrected_interval(people[shuffled], judge, shuffled, clusters, UNIT) == first
    assert corrected_interval(np.where(mask, people, np.nan), judge, mask, clusters, UNIT) == first
    assert (first.n, first.labelled_clusters, first.clusters) == (66, 29, 30)


def test_order_of_items_and_names_of_videos_do_not_matter() -> None:
    people, judge, clusters = answers(5)
    mask = np.arange(len(people)) % 3 == 0
    order = np.random.default_rng(6).permutation(len(people))
    plain = corrected_interval(people[mask], judge, mask, clusters, UNIT)
    other = corrected_interval(
        people[order][mask[order]], judge[order], mask[order], [f"x{clusters[place]}" for place in order], UNIT
    )
    assert asdict(other) == pytest.approx(asdict(plain))


def test_a_scale_of_people_stretches_everything() -> None:
    people, judge, clusters = answers(7)
    mask = np.arange(len(people)) % 4 == 0
    plain = corrected_interval(people[mask], judge, mask, clusters, UNIT)
    stretched = corrected_interval(1 + 4 * people[mask], judge, mask, clusters, (1, 5))
    assert stretched.value == pytest.approx(1 + 4 * (plain.value or 0))
    assert ends(stretched) == pytest.approx(tuple(1 + 4 * end for end in ends(plain)))


def test_a_judges_scale_does_not_matter_and_an_inverted_judge_is_as_good() -> None:
    rng = np.random.default_rng(8)
    people, _, clusters = answers(9)
    judge = people + rng.normal(0, 0.7, len(people))
    mask = np.arange(len(people)) % 2 == 0
    plain, stretched, turned = (
        corrected_interval(people[mask], says, mask, clusters, UNIT) for says in (judge, 3 + 7 * judge, -judge)
    )
    assert asdict(stretched) == pytest.approx(asdict(plain))
    assert ends(turned) == pytest.approx(ends(plain))
    assert turned.power == pytest.approx(-plain.power)


def test_a_judge_that_says_what_people_say_makes_the_interval_narrower_and_one_that_guesses_does_not() -> None:
    people, _, clusters = answers(10, videos=60)
    mask = np.arange(len(people)) % 8 < 1
    guesses = (np.random.default_rng(11).random(len(people)) < 0.5).astype(float)
    width = {
        name: np.diff(ends(corrected_interval(people[mask], judge, mask, clusters, UNIT)))[0]
        for name, judge in (("knows", people), ("constant", np.zeros(len(people))), ("guesses", guesses))
    }
    assert width["knows"] < 0.75 * width["constant"]
    assert width["guesses"] <= width["constant"]


def test_everything_labelled_gives_the_peoples_mean_with_an_interval_over_videos() -> None:
    people, judge, clusters = answers(12)
    found = corrected_interval(people, judge, np.ones(len(people), bool), clusters, UNIT)
    assert found.value == pytest.approx(people.mean())
    low, high = ends(found)
    assert low < people.mean() < high
    assert found.reason is None


def test_turns_that_repeat_within_a_video_are_no_news() -> None:
    people, judge, _ = answers(13, videos=60, turns=1)
    mask, videos = np.arange(60) < 30, np.array([f"v{number}" for number in range(60)])
    once = corrected_interval(people[mask], judge, mask, videos, UNIT)
    four = corrected_interval(
        np.repeat(people[mask], 4), np.repeat(judge, 4), np.repeat(mask, 4), np.repeat(videos, 4), UNIT
    )
    # Twice as narrow if they were independent; half of the correlation is taken from what is known beforehand.
    assert np.diff(ends(four))[0] > 0.75 * np.diff(ends(once))[0]


@pytest.mark.parametrize("label", [1.0, 0.0])
def test_labels_that_are_all_alike_at_an_end_give_one_exact_bound(label: float) -> None:
    videos = [f"v{number}" for number in range(40)]
    mask = np.arange(40) < 20
    found = corrected_interval(np.full(20, label), np.arange(40) % 2, mask, videos, UNIT)
    low, high = ends(found)
    exact = stats.binomtest(20 if label else 0, 20).proportion_ci(method="exact")
    assert (low, high) == pytest.approx((exact.low, exact.high))
    assert found.bound == ("at least" if label else "at most")
    assert found.value == label
    assert found.more_labels == 20
    assert "all 20 ratings are" in (found.reason or "")


def test_equal_labels_of_few_videos_bound_less_than_as_many_of_as_many_videos() -> None:
    many = corrected_interval(np.ones(40), np.zeros(80), np.arange(80) < 40, np.arange(80), UNIT)
    few = corrected_interval(np.ones(40), np.zeros(80), np.arange(80) < 40, np.arange(80) % 10, UNIT)
    assert ends(few)[0] < ends(many)[0]


def test_labels_that_are_all_alike_between_the_ends_have_two_bounds() -> None:
    found = corrected_interval(np.full(30, 3.0), np.arange(60) % 5, np.arange(60) < 30, np.arange(60), (1, 5))
    low, high = ends(found)
    assert 1 < low < 3 < high < 5
    assert (found.value, found.bound) == (3, None)


@pytest.mark.parametrize(
    ("labels", "videos", "words", "more"),
    [
        (0, 1, "people rated nothing", (20, 10)),
        (1, 1, "1 rating of 1 video is too few for an interval; rate 19 more answers, some of 9 more videos", (19, 9)),
        (19, 19, "19 ratings of 19 videos are too few for an interval; rate 1 more answer", (1, 0)),
        (
            50,
            1,
            "50 ratings of 1 video are too few for an interval; rate 9 more answers, some of 9 more videos",
            (9, 9),
        ),
    ],
)
def test_too_little_has_a_value_no_interval_and_how_much_more_to_rate(
    labels: int, videos: int, words: str, more: tuple[int, int]
) -> None:
    rng = np.random.default_rng(14)
    clusters = [f"v{number % videos if number < labels else number}" for number in range(100)]
    found = corrected_interval(rng.integers(0, 2, labels), rng.random(100), np.arange(labels), clusters, UNIT)
    assert (found.low, found.high, found.bound) == (None, None, None)
    assert (found.value is None) == (labels == 0)
    assert words in (found.reason or "")
    assert (found.more_labels, found.more_clusters) == more


@given(st.integers(0, 1 << 20), st.floats(0, 1), st.integers(10, 25), st.integers(2, 8))
@settings(deadline=None)
def test_no_interval_is_wider_than_that_of_the_labels_alone(seed: int, sharp: float, videos: int, turns: int) -> None:
    rng = np.random.default_rng(seed)
    people = (rng.random((videos, turns)) < rng.random((videos, 1))).astype(float).ravel()
    judge = np.where(rng.random(len(people)) < sharp, people, rng.random(len(people)))
    mask = np.tile(np.arange(turns) < 2, videos)
    clusters = np.repeat(np.arange(videos), turns)
    found = corrected_interval(people[mask], judge, mask, clusters, UNIT)
    alone = corrected_interval(people[mask], np.zeros(len(people)), mask, clusters, UNIT)
    assert np.diff(ends(found))[0] <= np.diff(ends(alone))[0] + 1e-12
    labels = mean_interval(people[mask], clusters[mask], UNIT)
    if not np.ptp(people[mask]) == 0:
        assert ends(alone) == pytest.approx((labels.low, labels.high)), "the same engine"


def test_more_labels_promise_the_width_that_they_bring() -> None:
    promised, brought = [], []
    for seed in range(20):
        people, judge, clusters = answers(seed, videos=80)
        turn, video = np.arange(len(people)) % 8, np.arange(len(people)) // 8
        now, then = (
            corrected_interval(people[rows], judge, rows, clusters, UNIT)
            for rows in ((turn < 2) & (video < videos) for videos in (20, 40))
        )
        assert now.next_width is not None
        assert now.next_width < np.diff(ends(now))[0]
        promised.append(now.next_width)
        brought.append(np.diff(ends(then))[0])
    assert np.mean(promised) == pytest.approx(np.mean(brought), rel=0.1)


def test_nothing_at_all_is_no_error() -> None:
    found = corrected_interval([], [], [], [], UNIT)
    assert (found.value, found.n, found.clusters) == (None, 0, 0)


@pytest.mark.parametrize(
    ("people", "judge", "labelled", "clusters", "scale", "words"),
    [
        ([1.0], [1.0, 0.0], [True], ["a", "b"], UNIT, "labelled has 1 booleans for 2 items"),
        ([1.0], [1.0, 0.0], [0, 0], ["a", "b"], UNIT, "each once"),
        ([1.0], [1.0, 0.0], [2], ["a", "b"], UNIT, "outside 0 to 1"),
        ([1.0, 0.0, 1.0], [1.0, 0.0], [0], ["a", "b"], UNIT, "people has 3 labels; 1 items are labelled, of 2"),
        ([1.0], [1.0, 0.0], [0], ["a"], UNIT, "1 clusters"),
        ([2.0], [1.0, 0.0], [0], ["a", "b"], UNIT, "outside the scale of 0 to 1"),
        ([1.0], [np.nan, 0.0], [0], ["a", "b"], UNIT, "finite score"),
        ([1.0], [1.0, 0.0], [0], ["a", "b"], (1.0, 1.0), "from a lower to a higher"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    people: list[float], judge: list[float], labelled: list[int], clusters: list[str], scale: tuple[float, float],
    words: str,
) -> None:  # fmt: skip
    with pytest.raises(ValueError, match=words):
        corrected_interval(people, judge, labelled, clusters, scale)


def test_no_interval_is_without_width(full: bool) -> None:
    rng = np.random.default_rng(17)
    for _ in range(2000 if full else 300):
        videos, n = int(rng.integers(10, 40)), int(rng.integers(20, 60))
        clusters = rng.integers(0, videos, 300)
        clusters[:n] = np.arange(n) % videos
        people = (rng.random(n) < rng.choice([0, 0.02, 0.5, 0.98, 1])).astype(float)
        judge = rng.choice([rng.integers(0, 2, 300), np.r_[people, np.ones(300 - n)], np.zeros(300)])
        found = corrected_interval(people, judge, np.arange(n), clusters, UNIT)
        if found.labelled_clusters < FEWEST_VIDEOS or n < FEWEST_LABELS:
            assert found.low is None
            continue
        low, high = ends(found)
        assert 0 <= low < high <= 1
        assert low <= (found.value or 0) <= high


@pytest.mark.parametrize("judge", ["perfect", "lenient", "blind", "inverted"])
@pytest.mark.parametrize("truth", [0.1, 0.6, 0.9, 0.97])
def test_simulated_intervals_cover(judge: str, truth: float, full: bool) -> None:
    trials = 4000 if full else 400
    for labelled, labels, videos in ((10, 20, 100), (10, 200, 10), (20, 50, 60)):
        found = study((Cell("binary", judge, truth, 0.2, labelled, labels, videos), trials, 18))
        # Below the goal by no more than three standard errors.
        # Of ten videos with twenty labels each, 91 % was simulated.
        goal = 0.91 if labels == 200 else GOAL
        assert found.coverage >= goal - 3 * (goal * (1 - goal) / trials) ** 0.5
        assert found.zero == 0


def test_simulated_intervals_of_five_levels_cover(full: bool) -> None:
    trials = 2000 if full else 200
    for judge, truth in (("close", 0.9), ("reversed", 0.3)):
        found = study((Cell("graded", judge, truth, 0.2, 20, 50, 40), trials, 19))
        assert found.coverage >= GOAL - 3 * (GOAL * (1 - GOAL) / trials) ** 0.5
        assert found.width < found.people_width

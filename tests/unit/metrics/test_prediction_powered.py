"""Corrected means: equal to the reference package where items are independent, and right where they are not."""

import numpy as np
import pytest
from ppi_py import classical_mean_ci, ppi_mean_ci, ppi_mean_pointestimate

from judge_correction import JUDGES, study
from reeltalk.metrics.prediction_powered import VideoSums, corrected, corrected_by_video, corrected_mean, rogan_gladen

EXACT = 1e-9


@pytest.fixture
def tables(full: bool) -> int:
    """How many random tables."""
    return 1000 if full else 100


def test_independent_items_give_what_the_ppi_package_gives(tables: int) -> None:
    rng = np.random.default_rng(1)
    for _ in range(tables):
        n, others = int(rng.integers(3, 60)), int(rng.integers(3, 400))
        labels = rng.normal(size=n) if rng.random() < 0.5 else rng.integers(0, 2, n).astype(float)
        judged = labels + rng.normal(0, rng.uniform(0.1, 3), n)
        unlabelled = rng.normal(0, 2, others)
        for power in (None, 0.0, 1.0, 0.37):
            found = corrected_mean(labels, judged, unlabelled, power=power)
            interval = ppi_mean_ci(labels, judged, unlabelled, alpha=0.05, lam=power)
            assert float(found.value) == pytest.approx(
                np.ravel(ppi_mean_pointestimate(labels, judged, unlabelled, lam=power))[0], abs=EXACT
            )
            assert (float(found.low), float(found.high)) == pytest.approx(
                tuple(np.ravel(end)[0] for end in interval), abs=EXACT
            )


def test_without_power_the_labels_stand_alone(tables: int) -> None:
    rng = np.random.default_rng(2)
    for _ in range(tables):
        labels, judged, others = rng.normal(size=20), rng.normal(size=20), rng.normal(size=90)
        found = corrected_mean(labels, judged, others, power=0.0)
        assert (float(found.low), float(found.high)) == pytest.approx(classical_mean_ci(labels, alpha=0.05), abs=EXACT)


def test_a_video_for_each_item_differs_by_the_small_sample_terms_only() -> None:
    rng = np.random.default_rng(3)
    labels, judged, others = rng.normal(size=4000), rng.normal(size=4000), rng.normal(size=9000)
    zero, one = np.zeros, np.ones
    sums = VideoSums(
        np.concatenate([labels, zero(9000)]),
        np.concatenate([judged, zero(9000)]),
        np.concatenate([one(4000), zero(9000)]),
        np.concatenate([zero(4000), others]),
        np.concatenate([zero(4000), one(9000)]),
    )
    for power in (0.0, 1.0):
        found, plain = corrected_by_video(sums, power=power), corrected_mean(labels, judged, others, power=power)
        assert float(found.value) == pytest.approx(float(plain.value))
        assert float(found.error) == pytest.approx(float(plain.error), rel=1e-3)


def test_turns_that_repeat_within_a_video_widen_the_interval() -> None:
    rng = np.random.default_rng(4)
    labels, judged = rng.normal(size=60), rng.normal(size=60)
    has = np.arange(60) < 30
    videos = [f"v{n}" for n in range(60)]
    once = corrected(labels, judged, has, videos)
    four = corrected(np.repeat(labels, 4), np.repeat(judged, 4), np.repeat(has, 4), list(np.repeat(videos, 4)))
    assert once is not None
    assert four is not None
    assert four.corrected.error == pytest.approx(once.corrected.error)
    assert four.people == once.people
    assert four.worth == pytest.approx(4 * (once.worth or 0))


def test_a_judge_that_says_what_people_say_is_worth_all_its_judgements() -> None:
    rng = np.random.default_rng(5)
    truth = rng.normal(size=500)
    found = corrected(truth, truth, np.arange(500) % 10 == 0, [f"v{n}" for n in range(500)])
    assert found is not None
    assert found.power == pytest.approx(0.9, abs=0.1)
    assert found.worth == pytest.approx(500, rel=0.25)


def test_a_scale_of_the_judge_does_not_matter_when_power_is_tuned() -> None:
    rng = np.random.default_rng(6)
    truth = rng.normal(3, 1, 300)
    judged = truth + rng.normal(0, 0.5, 300)
    has, videos = np.arange(300) < 90, [f"v{n % 50}" for n in range(300)]
    plain, scaled = corrected(truth, judged, has, videos), corrected(truth, judged / 10 - 7, has, videos)
    assert plain is not None
    assert scaled is not None
    assert scaled.corrected.value == pytest.approx(plain.corrected.value)
    assert scaled.corrected.error == pytest.approx(plain.corrected.error)


def test_too_few_labelled_videos_have_a_value_and_no_interval() -> None:
    rng = np.random.default_rng(7)
    videos = [f"v{n % 2 if n < 20 else n}" for n in range(100)]
    found = corrected(rng.normal(size=100), rng.normal(size=100), np.arange(100) < 20, videos)
    assert found is not None
    assert found.videos == 2
    assert (found.corrected.low, found.people.low, found.worth) == (None, None, None)
    assert corrected(rng.normal(size=100), rng.normal(size=100), np.zeros(100, bool), videos) is None


def test_everything_labelled_gives_the_peoples_mean() -> None:
    rng = np.random.default_rng(8)
    labels = rng.normal(size=60)
    found = corrected(labels, rng.normal(size=60), np.ones(60, bool), [f"v{n % 20}" for n in range(60)])
    assert found is not None
    assert found.corrected.value == pytest.approx(labels.mean())
    assert found.worth == pytest.approx(60)


def test_people_who_say_the_same_of_everything_leave_an_interval_of_no_width() -> None:
    videos = [f"v{n}" for n in range(30)]
    found = corrected(np.full(30, 2.0), np.arange(30.0), np.arange(30) < 15, videos)
    assert found is not None
    assert (found.people.low, found.people.high, found.people.error) == (2.0, 2.0, 0.0)
    assert (found.corrected.low, found.power, found.worth) == (2.0, 0.0, None)


def test_rogan_gladen_takes_the_two_errors_out() -> None:
    # Sensitivity 0.9, specificity 0.8, a third of 900 right: passed are 0.3 + 0.133 = 0.4333.
    labels = np.arange(900) % 3 == 0
    judged = np.where(labels, np.arange(900) // 3 % 10 != 0, np.arange(900) // 3 % 5 == 0)
    found, reason = rogan_gladen(labels, judged, np.ones(900, bool), [f"v{n}" for n in range(900)])
    assert reason is None
    assert found is not None
    assert found.value == pytest.approx(1 / 3)
    assert judged.mean() == pytest.approx(0.43333, abs=1e-4)


def test_rogan_gladen_says_why_it_has_no_value() -> None:
    videos = [f"v{n}" for n in range(40)]
    labels, every = np.arange(40) % 2 == 0, np.ones(40, bool)
    found, reason = rogan_gladen(labels, ~labels, every, videos)
    assert found is None
    assert reason is not None
    assert "chance" in reason
    found, reason = rogan_gladen(every, labels, every, videos)
    assert found is None
    assert reason is not None
    assert "pass all" in reason


@pytest.mark.parametrize("spread", [True, False])
@pytest.mark.parametrize("judge", ["sharp", "lenient", "noisy"])
def test_simulated_intervals_cover_and_the_judge_alone_does_not(judge: str, spread: bool, full: bool) -> None:
    trials = 4000 if full else 400
    found = study(11, trials, JUDGES[judge], 0.2, 0.2, spread)
    # 400 studies have a standard error of 1.1 points, 4,000 of 0.35.
    assert 92 - 2 * (not full) <= found["tuned covers"] <= 98
    assert found["tuned width"] < found["people width"]
    if judge != "sharp":
        assert found["judge covers"] < 60

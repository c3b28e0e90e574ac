"""Power, smallest detectable difference and numbers of videos: against statsmodels, by property, and by simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeltalk.metrics.significance import (
    Correction,
    correct_p_values,
    design_effect,
    detectable_difference,
    levels_of_tests,
    power_of,
    videos_needed,
)

errors = st.floats(0.001, 100)
dfs = st.floats(1.0, 5000)


def test_power_is_that_of_statsmodels() -> None:
    from statsmodels.stats.power import TTestPower

    for df in (3, 20, 134):
        for away in (0.0, 0.5, 1.0, 2.8, 4.0):
            reference = TTestPower().power(effect_size=away / (df + 1) ** 0.5, nobs=df + 1, alpha=0.05)
            assert power_of(away, 1.0, df) == pytest.approx(float(reference), abs=1e-9)


@given(errors, dfs, st.sampled_from([0.5, 0.8, 0.95]), st.sampled_from([0.01, 0.05, 0.2]))
def test_the_smallest_detectable_difference_is_found_with_the_power_asked_for(
    error: float, df: float, power: float, alpha: float
) -> None:
    found = detectable_difference(error, df, alpha=alpha, power=power)
    assert power_of(found, error, df, alpha=alpha) == pytest.approx(power, abs=1e-6)


@given(st.floats(0.01, 50), dfs)
def test_power_grows_with_the_difference_from_alpha_to_one(error: float, df: float) -> None:
    found = [power_of(away * error, error, df) for away in (0, 1, 2, 4, 8, 200)]
    assert found[0] == pytest.approx(0.05, abs=1e-6)
    assert found == sorted(found)
    assert all(0 <= share <= 1 for share in found)


@given(st.floats(0.1, 5), st.floats(2, 200), st.integers(2, 300))
def test_the_videos_needed_are_enough_and_one_fewer_is_not(difference: float, df: float, videos: int) -> None:
    needed = videos_needed(difference, 1.0, df, videos)
    assert needed is not None

    def power(count: int) -> float:
        return power_of(difference, (videos / count) ** 0.5, df * (count - 1) / (videos - 1))

    assert power(needed) >= 0.8
    assert needed == 2 or power(needed - 1) < 0.8


def test_what_nobody_films_is_out_of_reach() -> None:
    assert videos_needed(1e-6, 1.0, 134, 135) is None
    assert videos_needed(1000.0, 1.0, 134, 135) == 2


def test_a_power_below_alpha_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="power must lie between alpha"):
        detectable_difference(1.0, 10, power=0.03)


def test_design_effect_is_one_for_independent_turns_and_grows_with_their_number() -> None:
    assert design_effect(40, 0) == 1
    assert design_effect(1, 0.5) == 1
    assert design_effect(41, 0.1) == pytest.approx(5)


class TestCorrection:
    def test_by_hand(self) -> None:
        assert correct_p_values([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
        assert correct_p_values([0.01, 0.04, 0.03], "bh") == pytest.approx([0.03, 0.04, 0.04])
        assert correct_p_values([0.01, 0.04], "none") == [0.01, 0.04]
        assert correct_p_values([], "holm") == []
        assert correct_p_values([0.2], "holm") == [0.2]

    def test_equals_statsmodels_on_random_tables(self, full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        from statsmodels.stats.multitest import multipletests

        # It collects garbage at every call, a tenth of a second each.
        monkeypatch.setattr("gc.collect", lambda *_: 0)
        draw = np.random.default_rng(4)
        for number in range(1000 if full else 20):
            p = np.round(draw.random(2 + number % 30), 2).tolist()
            assert correct_p_values(p, "holm") == pytest.approx(multipletests(p, method="holm")[1].tolist(), abs=1e-12)
            assert correct_p_values(p, "bh") == pytest.approx(multipletests(p, method="fdr_bh")[1].tolist(), abs=1e-12)

    @given(st.lists(st.floats(0, 1), max_size=20))
    def test_holm_is_never_below_benjamini_hochberg_nor_that_below_none(self, p: list[float]) -> None:
        holm, bh = np.array(correct_p_values(p, "holm")), np.array(correct_p_values(p, "bh"))
        assert (holm >= bh - 1e-12).all()
        assert (bh >= np.array(p) - 1e-12).all()
        assert (holm <= 1).all()


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=12), st.sampled_from(["holm", "bh", "none"]))
def test_a_corrected_p_value_is_small_exactly_where_the_p_value_is_below_its_level(
    p: list[float], correction: Correction
) -> None:
    levels = levels_of_tests(p, 0.05, correction)
    for one, corrected, level in zip(p, correct_p_values(p, correction), levels, strict=True):
        assert (corrected < 0.05) == (one < level)

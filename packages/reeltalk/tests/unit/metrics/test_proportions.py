"""Wilson's interval is statsmodels'."""

import pytest

from reeltalk.metrics.uncertainty import wilson


@pytest.mark.parametrize(("count", "of"), [(0, 1), (0, 12), (1, 1), (3, 7), (12, 12), (480, 1000)])
def test_interval_is_statsmodels(count: int, of: int) -> None:
    from statsmodels.stats.proportion import proportion_confint

    found = wilson(count, of)
    assert found.share == count / of
    assert (found.low, found.high) == pytest.approx(proportion_confint(count, of, method="wilson"), abs=1e-12)


def test_of_nothing_there_is_no_share() -> None:
    assert wilson(0, 0) == (0, 0, None, None, None)

"""Wilson's interval is SciPy's."""

import pytest
from scipy import stats

from reeltalk.metrics.uncertainty import wilson


@pytest.mark.parametrize(("count", "of"), [(0, 1), (0, 12), (1, 1), (3, 7), (12, 12), (480, 1000)])
def test_interval_is_scipys(count: int, of: int) -> None:
    found = wilson(count, of)
    theirs = stats.binomtest(count, of).proportion_ci(method="wilson")
    assert found.share == count / of
    assert (found.low, found.high) == pytest.approx(tuple(theirs), abs=1e-12)


def test_of_nothing_there_is_no_share() -> None:
    assert wilson(0, 0) == (0, 0, None, None, None)

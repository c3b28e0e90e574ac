"""How costs grow is read off rightly."""

import math
import sys

import pytest

from spending import Growth, Spent, spend


@pytest.mark.parametrize(("power", "start_s"), [(1.0, 0.0), (1.0, 5.0), (2.0, 0.0)])
def test_the_exponent_of_a_power_is_found_beside_what_any_run_costs(power: float, start_s: float) -> None:
    growth = Growth("work", "videos")
    for size in (10, 100, 1000):
        growth.add(size, Spent(1.0, start_s + 0.01 * size**power, 100 + 0.5 * size))
    # What any run costs is read off a line, so that a curve's own beginning counts as none of it.
    assert growth.exponent is not None
    assert math.isclose(growth.exponent, power, rel_tol=1e-6)
    assert math.isclose(growth.fixed_s, start_s, abs_tol=1e-9)
    assert growth.figures()["work, 100 videos: peak MiB"] == 150


def test_a_command_that_fails_is_told() -> None:
    with pytest.raises(RuntimeError, match="ended with 3"):
        spend([sys.executable, "-c", "raise SystemExit(3)"])


def test_the_largest_of_all_processes_counts() -> None:
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'bytearray(300 << 20)'], check=True)"
    assert spend([sys.executable, "-c", child]).peak_mib > 300

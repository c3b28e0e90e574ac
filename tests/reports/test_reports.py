"""What others' programs were reported for: reeltalk gives the right value, which each folder states."""

from pathlib import Path

import pytest
from reliability_page import Reliability

from reports.replay import folders, read_report, replay

FOLDERS = {folder.name: folder for folder in folders()}


@pytest.mark.parametrize("name", FOLDERS)
def test_the_right_value_comes_out(
    name: str, tmp_path: Path, reliability: Reliability, full: bool, request: pytest.FixtureRequest
) -> None:
    report = read_report(FOLDERS[name])
    if report.full and not full:
        pytest.skip("full counts: make test-full")
    if report.miss is not None:
        request.applymarker(pytest.mark.xfail(reason=report.miss, strict=True, raises=AssertionError))
    tally = reliability("replays", "public reports of faults of other programs", "not the right value")
    tally.tried = 1
    try:
        replay(report, tmp_path)
    except AssertionError:
        tally.failed = 1
        raise

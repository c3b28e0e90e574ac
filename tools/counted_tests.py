"""Counts the attempts of tests, for docs/reference/reliability.json: options, the fixture, and the summary of a run.

A plugin of pytest, loaded by `conftest.py`.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import reliability_page
from reliability_page import Reliability

import record
from reeltalk import __version__


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the full counts (make test-full)")
    parser.addoption("--release", action="store_true", help="run the counts of a release (make reliability)")
    parser.addoption(
        "--record-reliability",
        action="store_true",
        help="run only the tests that count what they try, and write docs/reference/reliability.json",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--record-reliability"):
        kept = [item for item in items if "reliability" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept
    if config.getoption("--full") or config.getoption("--release"):
        return
    skip = pytest.mark.skip(reason="full counts: make test-full")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Shows the rows that tests counted, and writes them into the file if requested."""
    reports = [
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport)
    ]
    broken = {report.nodeid for report in reports if report.failed}
    # Workers of xdist send the properties of a test with each of its reports; the last report has all rows.
    counted: list[reliability_page.Row] = []
    for report in reports:
        kept: list[Any] = [kept for name, kept in report.user_properties if name == "reliability"]
        for row in kept if report.when == "teardown" else ():
            # If a test fails for any other reason, its attempt failed.
            failed = max(row["failed"], report.nodeid in broken)
            if row["tried"] or failed:
                counted.append(reliability_page.Row(**row | {"failed": failed}))
    rows = reliability_page.summed(counted)
    if not rows:
        return
    terminalreporter.section("what was tried")
    for row in rows:
        terminalreporter.write_line(f"{row.failed:>6} of {row.tried:>7} failed  {row.group}: {row.what}")
    if terminalreporter.config.getoption("--record-reliability"):
        reliability_page.write_rows(rows)
        terminalreporter.write_line(f"written: {reliability_page.BOOK}")


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """True under `make test-full`, and with the counts of a release."""
    return bool(request.config.getoption("--full") or request.config.getoption("--release"))


@pytest.fixture(scope="session")
def of_version() -> str:
    """The tested version, and the commit if there is git."""
    return " ".join(filter(None, (__version__, record.commit())))


@pytest.fixture
def reliability(request: pytest.FixtureRequest, of_version: str) -> Iterator[Reliability]:
    """Counts the attempts of a test, for docs/reference/reliability.json (`pytest --record-reliability`).

    kills = reliability.count(60, release=1000)  # leave this out where the test always tries the same tally =
    reliability("review", "SIGKILL of the server while 8 people write", "an acknowledged save is lost") tally.tried,
    tally.failed = kills, len(lost)  # or += 1 in a loop; then assert as always: a test that fails counts
    """
    level = next((name for name in ("release", "full") if request.config.getoption(f"--{name}")), "CI")
    found = Reliability(level, request.node.nodeid.partition("[")[0], of_version)
    yield found
    request.node.user_properties.extend(("reliability", row) for row in found.rows())

"""Teams on each kind of database, and people who are new in each test."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol

import pytest
from postgres_cluster import PostgresCluster, postgres_cluster
from team import Team, compiled_once, make_team, one_loop

HERE: Final = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Of tests in a browser, `make test` runs one of each kind of screen, which says so: `browser(always=True)`."""
    for item in items:
        marks = list(item.iter_markers("browser")) if HERE in item.path.parents else []
        if marks and not any(mark.kwargs.get("always") for mark in marks):
            item.add_marker(pytest.mark.slow)


class MakeTeam(Protocol):
    """Makes a team whose benchmark lies in a folder."""

    def __call__(self, folder: Path) -> Team: ...


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresCluster]:
    """A PostgreSQL for all tests; they are skipped where it cannot run."""
    try:
        with postgres_cluster() as found:
            yield found
    except RuntimeError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def make_any_team(request: pytest.FixtureRequest) -> Iterator[MakeTeam]:
    """Makes teams on each kind of database, of which two people do each task."""
    made: list[Team] = []

    def make(folder: Path) -> Team:
        url = request.getfixturevalue("postgres").new_database() if request.param == "postgresql" else None
        made.append(make_team(folder, url=url, overlap=2))
        return made[-1]

    yield make
    for team in made:
        team.project.database.close()


@pytest.fixture(scope="session", autouse=True)
def _loop() -> Iterator[None]:
    with one_loop(), compiled_once():
        yield


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A member of the team of each test's own."""
    words = re.sub(r"\W+", " ", request.node.name).strip()
    # With its end, which names the browser.
    return words if len(words) <= 60 else f"{words[:38].strip()} {words[-20:].strip()}"

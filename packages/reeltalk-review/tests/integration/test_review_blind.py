"""The blind rule: while not all who do a unit are in, nobody gets any work on it but their own, by any address."""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from askers import NOBODY, ROLES, World, known, queries_of, routes_of
from sqlalchemy import func, select
from team import Team

from reeltalk_review.assigning import ANNOTATOR, take_unit
from reeltalk_review.tables import EventRow, UnitRow
from reeltalk_review.work import own_work

MARKER = "Qx7marker"
QUERIES = (
    "only=noted", "format=csv", "before=1000000", "person=operator", "unit=film", "next=/", "saved=yes", "nothing=1",
)  # fmt: skip


@pytest.fixture
def world(tmp_path_factory: pytest.TempPathFactory, make_any_team: Callable[[Path], Team]) -> World:
    return World(make_any_team(tmp_path_factory.mktemp("blind")))


def addresses(world: World, full: bool) -> Iterator[str]:
    """Every address that answers GET, with everything in it that there is, and each query that it reads.

    In full counts pairs of things, up to `MOST_PAIRS` of a route, and every query, also those that an address does not
    read.
    """
    values, reads = known(world), queries_of(world.team.app)
    everything = sorted({value for found in values.values() for value in found})
    for method, route in routes_of(world.team.app):
        if method != "GET":
            continue
        names = [part[1:-1].partition(":")[0] for part in route.split("/") if part.startswith("{")]
        every = list(itertools.product(*(values.get(name, everything) for name in names)))
        if len(names) > 1:
            every = random.Random(7).sample(every, min(len(every), MOST_PAIRS)) if full else every[::11]
        for chosen in every:
            address = route
            for part in [part for part in route.split("/") if part.startswith("{")]:
                address = address.replace(part, chosen[names.index(part[1:-1].partition(":")[0])])
            yield address
            if not names:
                own = reads.get(route, set())
                yield from (f"{address}?{query}" for query in QUERIES if full or parse_qs(query).keys() & own)


# In full counts everybody asks for every object at every address, several times.
pytestmark = pytest.mark.timeout(1800)
MOST_PAIRS = 60
EVERYBODY = (*ROLES, "other", "third", NOBODY)
AFTERWARDS = ("owner", "other", "third", NOBODY)
"""Of whom something is said once all are in; in full counts everybody is asked then too."""


def who_sees(world: World, full: bool, asked: Sequence[str] = EVERYBODY) -> dict[str, set[str]]:
    """Who of those that are asked gets the marker, and by which addresses."""
    found: dict[str, set[str]] = {}
    for name in EVERYBODY if full else asked:
        browser = world.browsers[name]
        for address in addresses(world, full):
            answer = browser.client.get(address, follow_redirects=False)
            assert answer.status_code < 500, address
            if MARKER in answer.text or MARKER in str(answer.headers):
                found.setdefault(name, set()).add(address)
    return found


def type_everything(world: World, who: str, unit: str) -> str:
    """Work in which every field that takes text holds the marker; saved, changed, undone and done again."""
    browser = world.browsers[who]
    with world.changing() as change:
        assignment = take_unit(
            change, change.session.get_one(UnitRow, unit), browser.id, ANNOTATOR, lease_minutes=30
        ).id
    with world.team.project.database.reading() as session:
        _, row, task = own_work(session, browser.id, assignment)
        drafts = {place: task.draft_value(row.content, place) for place in task.places(row.content)}
    value = {**drafts["0"], "decision": "reject", "reasons": ["other"], "note": f"{MARKER} reason"}
    assert browser.save(assignment, "0", value).status_code == 200
    assert browser.api("POST", f"/api/work/{assignment}/undo").status_code == 200
    assert browser.api("POST", f"/api/work/{assignment}/redo").status_code == 200
    for place, draft in drafts.items():
        wording = {"question": f"{MARKER} question?", "references": [f"{MARKER} answer"], "note": f"{MARKER} note"}
        value = {**draft, **wording, "decision": "edit", "labels": {"own": [f"{MARKER}label"]}}
        assert browser.save(assignment, place, value).status_code == 200
    return assignment


def test_nobody_gets_work_but_their_own_until_all_are_in(world: World, full: bool) -> None:
    unit = world.unit()
    first = type_everything(world, "annotator", unit)
    second = world.work("other", "decided", unit)
    own_addresses = {f"/work/{first}", f"/api/work/{first}"} | {f"/api/work/{first}/history/{n}" for n in range(3)}

    seen = who_sees(world, full)
    assert set(seen) == {"annotator"}
    assert seen["annotator"] <= own_addresses

    annotator, other = world.browsers["annotator"], world.browsers["other"]
    assert annotator.api("POST", f"/api/work/{first}/submit").status_code == 200
    seen = who_sees(world, full)
    assert set(seen) == {"annotator"}

    # The other comes in: now those who lead the project get it, by addresses that were asked before too.
    assert other.api("POST", f"/api/work/{second}/submit").status_code == 200
    seen = who_sees(world, full, AFTERWARDS)
    assert "/history?before=1000000" in seen["owner"]
    assert NOBODY not in seen
    assert "other" not in seen
    assert "third" not in seen


def test_work_that_was_returned_is_withheld_again(world: World, full: bool) -> None:
    from reeltalk_review.work import send_back

    unit = world.unit()
    first = type_everything(world, "annotator", unit)
    assert world.browsers["annotator"].api("POST", f"/api/work/{first}/submit").status_code == 200
    second = world.work("other", "submitted", unit)
    assert "owner" in who_sees(world, full, ["owner"])
    with world.changing() as change:
        send_back(change, world.browsers["adjudicator"].id, second, "look again")
    assert set(who_sees(world, full)) == {"annotator"}


def test_the_history_gives_no_hash_by_which_a_guess_could_be_checked(world: World) -> None:
    with world.team.project.database.reading() as session:
        before = session.scalar(select(func.max(EventRow.seq)))
    world.work("annotator", "decided")
    page = world.browsers["owner"].get("/history").text
    with world.team.project.database.reading() as session:
        events = session.scalars(select(EventRow).where(EventRow.seq > before)).all()
    assert page.count(">withheld</span>") == sum(event.kind in ("take", "save") for event in events) > 0
    assert not any(event.hash in page or event.signature in page for event in events)

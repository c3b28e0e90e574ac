"""Accepting turns without findings at once, and beginning with the most doubtful tasks, where a lead asks for it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from team import Browser, Team, make_team, small_content

from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.store.content import Content
from reeltalk_review.team_stats import TeamStatsCache
from reeltalk_review.verifying import verify_history

QUEUE = {"title": "Review turns", "position": "1", "overlap": "2", "is_open": "yes"}


def content() -> Content:
    """Three chains: one passed all checks, one has a flagged turn and an unchecked one, one is flagged throughout."""
    found = small_content(3)
    outcomes = {"film0": "ppp", "film1": "pf", "film2": "fff"}
    for film, kinds in outcomes.items():
        for index, kind in enumerate(kinds):
            outcome = GateOutcome.PASSED if kind == "p" else GateOutcome.FLAGGED
            found.gates.append(
                GateResult(gate="lint", unit="chain", unit_id=f"chain-{film}", turn_index=index, outcome=outcome)
            )
    return found


@pytest.fixture
def database(database_kind: str) -> str:
    """Both kinds of databases."""
    return database_kind


@pytest.fixture
def team(tmp_path: Path, database: str) -> Iterator[Team]:
    found = make_team(tmp_path, content(), overlap=2)
    yield found
    assert verify_history(found.project.database).findings == ()
    found.project.database.close()


def shown(browser: Browser, work: str) -> Any:
    return browser.get(f"/api/work/{work}").json()


def in_bulk(browser: Browser, work: str) -> Any:
    return browser.api("POST", f"/api/work/{work}/bulk")


def test_only_an_owner_turns_it_on_and_only_turns_that_passed_are_accepted(team: Team) -> None:
    owner, ann = team.member("Olga", "owner"), team.member("Ann", "annotator")
    first = ann.next("turns")
    assert shown(ann, first)["in_bulk"] == []
    assert in_bulk(ann, first).status_code == 403
    assert owner.form("/setup/queues/turns", **QUEUE, in_bulk="yes").status_code == 303
    assert shown(ann, first)["in_bulk"] == ["0", "1", "2"]
    # What somebody has typed is theirs.
    typed = {**shown(ann, first)["unit"]["content"]["turns"][1], "question": "Why?", "decision": None}
    assert ann.save(first, "1", typed).status_code == 200
    answer = in_bulk(ann, first).json()
    assert {place: entry["value"].get("in_bulk") for place, entry in answer["entries"].items()} == {
        "0": True, "1": None, "2": True,
    }  # fmt: skip
    assert ann.save(first, "1", typed | {"decision": "accept"}).status_code == 200
    # Whoever looks at such a turn and saves it decides it like any other.
    looked_at = shown(ann, first)["entries"]["2"]["value"]
    assert "in_bulk" not in ann.save(first, "2", looked_at).json()["value"]
    second = ann.api("POST", f"/api/work/{first}/submit").json()["next"].removeprefix("/work/")
    assert shown(ann, second)["in_bulk"] == ["0"], "a flagged turn and one that nothing checked are looked at"
    assert set(in_bulk(ann, second).json()["entries"]) == {"0"}
    assert set(ann.api("POST", f"/api/work/{second}/undo").json()["entries"]["0"]["value"] or ()) == set()


def test_agreement_leaves_out_what_was_accepted_at_once_and_says_so(team: Team) -> None:
    owner, ann, ben = team.member("Olga", "owner"), team.member("Ann", "annotator"), team.member("Ben", "annotator")
    assert owner.form("/setup/queues/turns", **QUEUE, in_bulk="yes").status_code == 303
    works = {browser.name: browser.next("turns") for browser in (ann, ben)}
    assert in_bulk(ann, works["Ann"]).status_code == 200
    for place, turn in enumerate(shown(ben, works["Ben"])["unit"]["content"]["turns"]):
        assert ben.save(works["Ben"], str(place), {**turn, "decision": "accept"}).status_code == 200
    for browser in (ann, ben):
        assert browser.api("POST", f"/api/work/{works[browser.name]}/submit").status_code == 200
    stats = TeamStatsCache(team.project.database).compute()
    assert [task.units for task in stats.tasks if task.queue_id == "turns"] == [0]
    assert {row.person: row.in_bulk for row in stats.quality} == {ann.id: 3, ben.id: 0}
    assert [row["in_bulk"] for row in owner.get("/api/quality").json()["rows"]] == [3, 0]


def test_the_most_doubtful_come_first_where_the_queue_says_so(team: Team) -> None:
    owner, ann, ben = team.member("Olga", "owner"), team.member("Ann", "annotator"), team.member("Ben", "annotator")
    assert shown(ann, ann.next("turns"))["unit"]["name"] == "Video 1 · clip 1"
    assert owner.form("/setup/queues/turns", **QUEUE, order="doubt").status_code == 303
    assert '<option value="doubt" selected>' in owner.get("/setup").text
    assert shown(ben, ben.next("turns"))["unit"]["name"] == "Video 3 · clip 1"
    assert owner.form("/setup/queues/turns", **QUEUE, order="random").status_code == 422


def test_labels_are_asked_for_where_the_queue_says_so(team: Team) -> None:
    owner, ann = team.member("Olga", "owner"), team.member("Ann", "annotator")
    work = ann.next("turns")
    assert shown(ann, work)["labels_asked"] is False
    assert owner.form("/setup/queues/turns", **QUEUE, labels="yes").status_code == 303
    assert shown(ann, work)["labels_asked"] is True

"""The training round: known answers and feedback before real work, and nothing of it counts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from team import Browser, Team, make_team, small_content

from reeltalk.review.administration import members
from reeltalk.review.applying.stage import apply_reviews
from reeltalk.review.assigning import ANNOTATOR, open_units, take_unit
from reeltalk.review.events import OPERATOR, transaction
from reeltalk.review.gold import count_gold, gold_results
from reeltalk.review.importing import add_queue
from reeltalk.review.tables import AssignmentRow, EventRow, QueueRow, ResultRow, UnitRow, moment
from reeltalk.review.tasks.registry import TASKS
from reeltalk.review.tasks.turns import TurnsTask
from reeltalk.review.team_stats import TeamStatsCache, people_progress, queue_progress
from reeltalk.review.training import TRAINEE, is_as_known, training_state
from reeltalk.review.verifying import verify_history
from reeltalk.review.work import send_back


@pytest.fixture
def database(database_kind: str) -> str:
    """Both kinds of databases."""
    return database_kind


@pytest.fixture
def team(tmp_path: Path, database: str) -> Iterator[Team]:
    found = make_team(tmp_path, small_content(5))
    yield found
    assert verify_history(found.project.database).findings == ()
    found.project.database.close()


def do(browser: Browser, assignment: str, **rejected: list[str]) -> Any:
    """Accept all turns of a task but those that are rejected, and submit it; the answer."""
    shown = browser.get(f"/api/work/{assignment}").json()
    for place in shown["places"]:
        turn = shown["unit"]["content"]["turns"][int(place)]
        value = {"decision": "accept", "question": turn["question"], "references": turn["references"]}
        if f"at_{place}" in rejected:
            value |= {"decision": "reject", "reasons": rejected[f"at_{place}"]}
        assert browser.save(assignment, place, value).status_code == 200
    answer = browser.api("POST", f"/api/work/{assignment}/submit")
    assert answer.status_code == 200, answer.text
    return answer.json()


def with_round(team: Team, *, tasks: int = 2, pass_percent: int = 70) -> Browser:
    """A round of the first units, each with its first turn rejected; the owner, who did them."""
    owner = team.member("Olga", "owner")
    for _ in range(tasks):
        do(owner, owner.next("turns"), at_0=["ambiguous"])
    with team.project.database.reading() as session:
        settled = list(session.scalars(select(UnitRow.id).where(UnitRow.state == "done")))
    answer = owner.client.post(
        "/setup/queues/turns/training", data={"csrf": owner.csrf, "unit": settled}, follow_redirects=False
    )
    assert answer.status_code == 303, answer.text
    assert owner.form("/setup/queues/turns/training/rule", pass_percent=str(pass_percent)).status_code == 303
    return owner


def next_of(answer: Any) -> str:
    return str(answer["next"])


def test_whoever_is_new_does_the_training_first_and_sees_what_is_right_and_why(team: Team) -> None:
    owner = with_round(team)
    page = owner.get("/setup/queues/turns/training").text
    unit = page.split('action="/setup/training/')[1].split('"')[0]
    assert owner.form(f"/setup/training/{unit}", text="1: Nobody knows which thing is meant.").status_code == 303
    browser = team.member("Ada", "annotator")
    home = browser.get("/").text
    assert "Do the training first: 2 tasks with known answers." in home
    assert "Begin the training" in home
    first = browser.next("turns")
    shown = browser.get(f"/api/work/{first}").json()
    assert shown["unit"]["name"].endswith("· training")
    assert "answers" not in str(shown["unit"])
    assert "Nobody knows" not in browser.get(f"/work/{first}").text
    assert browser.get(f"/work/{first}/feedback").status_code == 404, "not before it is submitted"
    assert next_of(do(browser, first)) == f"/work/{first}/feedback"
    told = browser.get(f"/work/{first}/feedback").text
    assert "2 of 3 right." in told
    assert "Nobody knows which thing is meant." in told
    assert "ambiguous" in told
    assert "Next training task" in told
    second = browser.next("turns")
    do(browser, second, at_0=["leaks"])
    assert "3 of 3 right." in browser.get(f"/work/{second}/feedback").text
    assert "Begin the real tasks" in browser.get(f"/work/{second}/feedback").text
    real = browser.next("turns")
    assert browser.get(f"/api/work/{real}").json()["unit"]["name"].endswith("· 1 of 5")


def test_nothing_of_the_training_counts(team: Team) -> None:
    with_round(team)
    with team.project.database.reading() as session:
        before = (queue_progress(session), queue_progress(session, seen_by="nobody"))
        results = len(session.scalars(select(ResultRow)).all())
    browser = team.member("Ada", "annotator")
    for _ in range(2):
        do(browser, browser.next("turns"), at_0=["ambiguous"])
    with team.project.database.reading() as session:
        assert (queue_progress(session), queue_progress(session, seen_by=browser.id)) == before
        (progress,) = people_progress(session, only=browser.id)
        assert (progress.done, progress.turns, progress.open) == (0, 0, 0)
        assert gold_results(session) == {}
        assert next(member.submitted for member in members(session) if member.row.id == browser.id) == 0
        assert count_gold(session) == 0
        assert len(session.scalars(select(ResultRow)).all()) == results
        assert set(session.scalars(select(AssignmentRow.role).where(AssignmentRow.person_id == browser.id))) == {
            TRAINEE
        }
    stats = TeamStatsCache(team.project.database).compute()
    assert browser.id not in stats.seconds
    assert all(browser.id != row.person for row in stats.quality)
    applied = apply_reviews(team.project)
    assert applied.counts["turns rejected"] == 2, "only the owner's own work"


def test_whoever_is_below_the_pass_mark_begins_only_when_the_lead_lets_them_in(team: Team) -> None:
    owner = with_round(team, pass_percent=70)
    browser = team.member("Ada", "annotator")
    for _ in range(2):
        last = browser.next("turns")
        do(browser, last)
    assert "The lead decides whether you may begin." in browser.get(f"/work/{last}/feedback").text
    assert "Your training: 66 % right, and 70 % are needed." in browser.get("/").text
    assert browser.form("/queues/turns/next").headers["location"] == "/?nothing=1"
    page = owner.get("/setup/queues/turns/training").text
    assert "below the pass mark" in page
    assert owner.form("/setup/queues/turns/training/rule", let_in=browser.id).status_code == 303
    assert "may begin" in owner.get("/setup/queues/turns/training").text
    assert browser.next("turns")
    assert "works" in owner.get("/setup/queues/turns/training").text
    with team.project.database.reading() as session:
        kinds = [event.kind for event in session.scalars(select(EventRow))]
    assert kinds.count("training_rule") == 1, "70 % is the pass mark from the beginning"


def test_the_original_of_a_training_task_never_reaches_who_trained_on_it(team: Team) -> None:
    with_round(team, tasks=1)
    with transaction(team.project.database, OPERATOR) as change:
        change.session.get_one(QueueRow, "turns").overlap = 2
        change.record("overlap", "turns", before={"overlap": 1}, after={"overlap": 2})
        original = change.session.scalars(select(UnitRow).where(UnitRow.state == "done")).one()
        name = original.target_id
    # The original is open again, and has a place for a second person.
    judge = team.member("Judith", "adjudicator")
    with transaction(team.project.database, judge.id) as change:
        work = change.session.scalars(select(AssignmentRow).where(AssignmentRow.unit_id == original.id)).one()
        send_back(change, judge.id, work.id, "Look again.")
    assert name is not None
    assert any_of(team, "Cy", name), "it reaches who did not train on it"
    browser = team.member("Ada", "annotator")
    do(browser, browser.next("turns"), at_0=["ambiguous"])
    while (answer := browser.form("/queues/turns/next").headers["location"]) != "/?nothing=1":
        do(browser, str(answer).removeprefix("/work/"))
    with team.project.database.reading() as session:
        held = session.execute(
            select(UnitRow.target_id, AssignmentRow.role)
            .join(AssignmentRow, AssignmentRow.unit_id == UnitRow.id)
            .where(AssignmentRow.person_id == browser.id)
        ).all()
    assert [role for target, role in held if target == name] == [TRAINEE]
    assert len(held) == 4


def test_other_work_on_what_was_trained_on_is_open_to_everybody(team: Team) -> None:
    with_round(team, tasks=1)
    with transaction(team.project.database, OPERATOR) as change:
        drafts = list(TASKS["tagging"].drafts(small_content(5)))
        add_queue(change, "tagging", "tagging", drafts, title="Tag")
    browser = team.member("Ada", "annotator")
    do(browser, browser.next("turns"))
    with team.project.database.reading() as session:
        assert open_units(session, "tagging", browser.id, moment()) == 5


def test_submitted_training_cannot_be_taken_back(team: Team) -> None:
    with_round(team)
    browser = team.member("Ada", "annotator")
    first = browser.next("turns")
    do(browser, first)
    answer = browser.api("POST", f"/api/work/{first}/reopen")
    assert answer.status_code == 409
    assert "you have seen the answers" in answer.text
    stranger = team.member("Bo", "annotator")
    assert stranger.get(f"/work/{first}/feedback").status_code == 404


def test_who_has_begun_real_work_gets_no_training(team: Team) -> None:
    browser = team.member("Ada", "annotator")
    browser.next("turns")
    with_round(team)
    assert "Do the training first" not in browser.get("/").text
    with team.project.database.reading() as session:
        state = training_state(session, session.get_one(QueueRow, "turns"), browser.id)
    assert state is not None
    assert not state.is_due


def test_only_settled_tasks_can_be_trained_on_and_begun_ones_stay(team: Team) -> None:
    owner = with_round(team)
    with team.project.database.reading() as session:
        open_unit = session.scalars(select(UnitRow.id).where(UnitRow.state == "open", UnitRow.gold.is_(None))).first()
    refused = owner.form("/setup/queues/turns/training", unit=str(open_unit))
    assert refused.status_code == 422
    assert "not settled" in refused.text
    browser = team.member("Ada", "annotator")
    browser.next("turns")
    pages = owner.get("/setup/queues/turns/training").text.split('action="/setup/training/')[1:]
    answers = [owner.form(f"/setup/training/{part.split(chr(34))[0]}", action="remove").status_code for part in pages]
    assert sorted(answers) == [303, 409]
    assert owner.form(f"/setup/training/{pages[0].split(chr(34))[0]}", text="9: No such place").status_code == 422
    assert owner.get("/setup/queues/none/training").status_code == 404


def any_of(team: Team, name: str, target: str) -> bool:
    """True if a unit about a record is next for somebody new, who must not train."""
    browser = team.member(name, "annotator")
    with transaction(team.project.database, OPERATOR) as change:
        queue = change.session.get_one(QueueRow, "turns")
        first = change.session.scalars(
            select(UnitRow).where(UnitRow.target_id != target, UnitRow.state == "open", UnitRow.gold.is_(None)).limit(1)
        ).one()
        take_unit(change, first, browser.id, ANNOTATOR, lease_minutes=1)
        assert queue.is_open
    for _ in range(3):
        do(browser, browser.next("turns"))
    with team.project.database.reading() as session:
        found = session.scalars(
            select(UnitRow.target_id)
            .join(AssignmentRow, AssignmentRow.unit_id == UnitRow.id)
            .where(AssignmentRow.person_id == browser.id, UnitRow.gold.is_(None))
        ).all()
    return target in found


DRAFT = {"turns": [{"question": "Where is it?", "references": ["Here."]}]}


@pytest.mark.parametrize(
    ("given", "known", "right"),
    [
        ({"decision": "accept"}, {"decision": "accept"}, True),
        ({"decision": "accept"}, {"decision": "reject", "reasons": ["leaks"]}, False),
        ({"decision": "reject", "reasons": ["too_easy"]}, {"decision": "reject", "reasons": ["leaks"]}, True),
        ({"decision": "edit", "question": "Where?"}, {"decision": "edit", "question": "Where is the cup?"}, True),
        ({"decision": "edit", "references": ["There."]}, {"decision": "edit", "question": "Where is the cup?"}, False),
        ({"decision": "edit", "question": "Where?"}, {"decision": "accept"}, False),
        ({"decision": "accept"}, {"decision": "edit", "question": "Where is the cup?"}, False),
        ({"decision": "skip"}, {"decision": "reject", "reasons": ["leaks"]}, False),
        (None, {"decision": "accept"}, False),
    ],
)
def test_an_answer_is_right_if_it_decides_and_changes_what_the_known_one_does(
    given: dict[str, Any] | None, known: dict[str, Any], right: bool
) -> None:
    task = TurnsTask()
    draft = task.draft_value(DRAFT, "0")
    assert is_as_known(task, DRAFT, "0", draft | given if given is not None else None, draft | known) is right

"""Six defects as people met them; and no two copies of a task, no test for an investigator meanwhile."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from team import Browser, Team, make_team, small_content

from reeltalk.schema.dialogue import Linkage, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.validate import validate
from reeltalk_review.applying.stage import apply_reviews
from reeltalk_review.collecting import CollectSettings, collecting_drafts
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.importing import add_queue
from reeltalk_review.tables import AssignmentRow, EntryRow, QueueRow, ResultRow, UnitRow
from reeltalk_review.tasks.answering import answer_drafts
from reeltalk_review.verifying import verify_history

LENGTH_S = 20.0


def content(videos: int = 3) -> Content:
    """Videos of 20 s with a chain of three turns about each of their two clips, tagged, and a link between the two."""
    found = small_content(videos)
    found.paths.clear()
    labels = {"cogme.target": ("Object",), "cogme.content": ("Identity",), "cogme.thinking": ("Recall",)}
    for video in found.videos:
        turns = tuple(
            Turn(
                question=f"Later question {index} about {video.id}?",
                references=(f"Later answer {index} of {video.id}.",),
                asked_at_s=19.0,
                evidence=(Interval(start_s=11.0, end_s=12.0 + index),),
                labels=labels,
            )
            for index in range(3)
        )
        found.chains.append(QAChain(id=f"later-{video.id}", video_id=video.id, clip_id=f"{video.id}-1", turns=turns))
        source, target = (
            TurnRef(unit_id=f"chain-{video.id}", turn_index=2),
            TurnRef(unit_id=f"later-{video.id}", turn_index=0),
        )
        found.linkages.append(Linkage(source=source, target=target, relation="Events"))
    return found


@pytest.fixture
def team(tmp_path: Path, database_kind: str) -> Iterator[Team]:
    """A project with turns and links, which one person does each."""
    found = make_team(tmp_path, content())
    yield found
    assert verify_history(found.project.database).findings == ()
    found.project.database.close()


@pytest.fixture
def pair(tmp_path: Path, database_kind: str) -> Iterator[Team]:
    """The same, where two people do each task."""
    found = make_team(tmp_path, content(), overlap=2)
    yield found
    assert verify_history(found.project.database).findings == ()
    found.project.database.close()


def shown(browser: Browser, assignment: str) -> Any:
    return browser.get(f"/api/work/{assignment}").json()


def value_of(browser: Browser, assignment: str, place: str, *, seen: Any = None, **changes: Any) -> dict[str, Any]:
    """A turn's draft, accepted, with changes; `seen` is the work, where it was asked for before."""
    turn = (seen or shown(browser, assignment))["unit"]["content"]["turns"][int(place)]
    draft = {
        "question": turn["question"],
        "references": turn.get("references", []),
        "asked_at_s": turn.get("asked_at_s"),
        "evidence": turn.get("evidence", []),
        "options": turn.get("options"),
        "correct_option": turn.get("correct_option"),
        "labels": turn.get("labels", {}),
        "decision": "accept",
        "reasons": [],
        "note": "",
    }
    return {**draft, **changes}


def hand_in(browser: Browser, assignment: str, **changes: Any) -> Any:
    """Decide all turns of a unit, each with the same changes, and submit."""
    seen = shown(browser, assignment)
    for place in seen["places"]:
        saved = browser.save(assignment, place, value_of(browser, assignment, place, seen=seen, **changes))
        assert saved.status_code == 200, saved.text
    return browser.api("POST", f"/api/work/{assignment}/submit")


def do_next(browser: Browser, queue: str = "turns", **changes: Any) -> str:
    """Take the next unit, decide all its turns and submit."""
    assignment = browser.next(queue)
    assert hand_in(browser, assignment, **changes).status_code == 200
    return assignment


def reopen(browser: Browser, assignment: str) -> Any:
    return browser.api("POST", f"/api/work/{assignment}/reopen")


def give_back(browser: Browser, assignment: str, note: str = "look again") -> Any:
    return browser.api("POST", f"/api/work/{assignment}/return", {"note": note})


def unit_of(team: Team, assignment: str) -> UnitRow:
    with team.project.database.reading() as session:
        unit_id = session.get_one(AssignmentRow, assignment).unit_id
        return session.get_one(UnitRow, unit_id)


def record_of(team: Team, assignment: str) -> str:
    return str(unit_of(team, assignment).target_id)


def state_of(team: Team, assignment: str) -> str:
    with team.project.database.reading() as session:
        return session.get_one(AssignmentRow, assignment).state


def smuggle(team: Team, assignment: str, place: str, **changes: Any) -> None:
    """Put into the database what no page would store, in the entry and in the result, without an event."""
    with team.project.database.writing() as session:
        entry = session.get_one(EntryRow, (assignment, place))
        entry.value = {**entry.value, **changes}
        result = session.get(ResultRow, (session.get_one(AssignmentRow, assignment).unit_id, place))
        if result is not None:
            result.value = {**result.value, **changes}


# 1. One typo blocks the project.

LATE = [{"start_s": 12.0, "end_s": 5000.0}]


@pytest.mark.parametrize(
    ("changes", "says", "field"),
    [
        ({"evidence": LATE}, "evidence 1 ends at 5000.00 s, but the video lasts only 20.00 s", "evidence.0.end_s"),
        ({"evidence": [{"start_s": 1.0, "end_s": 2.0}, *LATE]}, "evidence 2 ends at 5000.00 s", "evidence.1.end_s"),
        ({"asked_at_s": 21.06}, "asked at 21.06 s", "asked_at_s"),
        ({"question": " "}, "the question is empty", "question"),
    ],
)
def test_1_what_makes_no_sense_is_saved_while_it_is_typed_and_cannot_be_accepted(
    team: Team, changes: dict[str, Any], says: str, field: str
) -> None:
    ada = team.member("Ada", "annotator")
    work = ada.next("turns")
    typed = ada.save(work, "0", value_of(ada, work, "0", decision=None, **changes))
    assert typed.status_code == 200
    (finding,) = [one for one in typed.json()["findings"] if one["field"] == field]
    assert (finding["turn"], finding["may_go_on"]) == (1, False)
    assert shown(ada, work)["findings"]["0"] == typed.json()["findings"]
    refused = ada.save(work, "0", value_of(ada, work, "0", **changes, kept_because="I want to."))
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "no_sense")
    assert refused.json()["error"]["message"].startswith(f"Turn 1: {says}")
    assert refused.json()["error"]["field"] == field
    assert refused.json()["findings"] == typed.json()["findings"]
    rejected = value_of(ada, work, "0", decision="reject", reasons=["wrong_time"], **changes)
    assert ada.save(work, "0", rejected).status_code == 200


def test_1_a_doubt_is_accepted_with_a_reason_which_validate_shows(team: Team) -> None:
    ada = team.member("Ada", "annotator")
    work = ada.next("turns")
    early = {"evidence": [{"start_s": 8.0, "end_s": 9.0}], "asked_at_s": 4.0}
    refused = ada.save(work, "0", value_of(ada, work, "0", **early))
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "reason_needed")
    says = "evidence 1 ends at 9.00 s, after the question at 4.00 s: end it by then, or ask later"
    assert {"field": "evidence.0.end_s", "turn": 1, "text": says, "may_go_on": True} in refused.json()["findings"]
    because = "It asks what comes next."
    assert ada.save(work, "0", value_of(ada, work, "0", **early, kept_because=because)).status_code == 200
    # A reason without a doubt is not kept.
    assert ada.save(work, "1", value_of(ada, work, "1", kept_because=because)).json()["value"]["kept_because"] == ""
    assert ada.save(work, "2", value_of(ada, work, "2")).status_code == 200
    assert ada.api("POST", f"/api/work/{work}/submit").status_code == 200
    apply_reviews(team.project)
    benchmark = Benchmark.open(team.project.benchmark)
    (chain,) = [row for row in benchmark.content().chains if row.id == record_of(team, work)]
    assert [turn.extra.get("kept_because") for turn in chain.turns] == [because, None, None]
    found = [finding for finding in validate(benchmark) if says in finding.problem]
    assert [(one.severity, one.problem) for one in found] == [("warning", f"turn 1: {says}; kept because: {because}")]


def test_1_a_time_within_a_frame_of_the_end_is_saved(team: Team) -> None:
    ada = team.member("Ada", "annotator")
    work = ada.next("turns")
    assert ada.save(work, "0", value_of(ada, work, "0", asked_at_s=20.04)).status_code == 200


def test_1_an_adjudicator_cannot_write_or_take_a_time_after_the_end(pair: Team) -> None:
    ada, ben, jo = pair.member("Ada", "annotator"), pair.member("Ben", "annotator"), pair.member("Jo", "adjudicator")
    mine, other = ada.next("turns"), ben.next("turns")
    hand_in(ada, mine, question="One?")
    hand_in(ben, other, question="Two?")
    before = value_of(ada, mine, "0")
    dispute = jo.form("/adjudicate/queues/turns/next").headers["location"].removeprefix("/adjudicate/")
    refused = jo.save(dispute, "0", {"write": {**before, "evidence": LATE}})
    assert refused.status_code == 422
    assert "evidence 1 ends at 5000.00 s" in refused.json()["error"]["message"]
    kept = entry_value(pair, mine, "0")
    smuggle(pair, mine, "0", evidence=LATE)
    refused = jo.save(dispute, "0", {"take": mine})
    assert refused.status_code == 422
    # Put back, so that the history is whole again.
    smuggle(pair, mine, "0", evidence=kept["evidence"])
    assert jo.save(dispute, "0", {"take": mine}).status_code == 200


def entry_value(team: Team, assignment: str, place: str) -> Any:
    with team.project.database.reading() as session:
        return session.get_one(EntryRow, (assignment, place)).value


def test_1_a_wrong_time_in_the_database_is_not_handed_in(team: Team) -> None:
    ada = team.member("Ada", "annotator")
    work = ada.next("turns")
    for place in "012":
        ada.save(work, place, value_of(ada, work, place))
    smuggle(team, work, "1", asked_at_s=5000.0)
    refused = ada.api("POST", f"/api/work/{work}/submit")
    assert (refused.status_code, refused.json()["places"]) == (422, ["1"])
    assert "5000.00 s, but the video lasts only 20.00 s" in refused.json()["error"]["message"]
    assert ada.save(work, "1", value_of(ada, work, "1")).status_code == 200
    assert ada.api("POST", f"/api/work/{work}/submit").status_code == 200


def test_1_a_complete_task_is_taken_back_by_its_author(team: Team) -> None:
    ada = team.member("Ada", "annotator")
    work = do_next(ada, question="Why so?")
    assert unit_of(team, work).state == "done"
    assert reopen(ada, work).status_code == 200
    assert (unit_of(team, work).state, state_of(team, work)) == ("open", "working")
    with team.project.database.reading() as session:
        assert session.scalars(select(ResultRow)).all() == []
    assert team.member("Ben", "annotator").next("turns") != work
    assert hand_in(ada, work).status_code == 200
    assert unit_of(team, work).state == "done"


def test_1_what_was_applied_is_returned_and_not_taken_back(team: Team) -> None:
    ada, owner = team.member("Ada", "annotator"), team.member("Olga", "owner")
    work = do_next(ada, question="Why so?")
    apply_reviews(team.project)
    refused = reopen(ada, work)
    assert refused.status_code == 409
    assert "written into the benchmark" in refused.json()["error"]["message"]
    assert give_back(owner, work, "shorter").status_code == 200
    assert state_of(team, work) == "returned"
    assert hand_in(ada, work, question="Why?").status_code == 200
    # It was settled after the last apply, so it can be taken back again.
    assert reopen(ada, work).status_code == 200


def test_1_a_task_of_two_is_taken_back_while_it_awaits_an_adjudicator(pair: Team) -> None:
    ada, ben, jo = pair.member("Ada", "annotator"), pair.member("Ben", "annotator"), pair.member("Jo", "adjudicator")
    mine, other = do_next(ada, question="One?"), do_next(ben, question="Two?")
    assert unit_of(pair, mine).state == "adjudication"
    assert reopen(ada, mine).status_code == 200
    # While it is open again, nobody sees the other's work, the adjudicator included.
    assert jo.form("/adjudicate/queues/turns/next").headers["location"] == "/"
    assert "Two?" not in ada.get(f"/api/work/{mine}").text
    assert hand_in(ada, mine, question="Two?").status_code == 200
    assert unit_of(pair, other).state == "done"


def test_1_work_that_an_adjudicator_has_decided_about_is_not_taken_back(pair: Team) -> None:
    ada, ben, jo = pair.member("Ada", "annotator"), pair.member("Ben", "annotator"), pair.member("Jo", "adjudicator")
    mine, other = do_next(ada, question="One?"), do_next(ben, question="Two?")
    dispute = jo.form("/adjudicate/queues/turns/next").headers["location"].removeprefix("/adjudicate/")
    for place in "012":
        assert jo.save(dispute, place, {"take": mine}).status_code == 200
    assert reopen(ada, mine).status_code == 409
    assert jo.api("POST", f"/api/work/{dispute}/submit").status_code == 200
    assert reopen(ben, other).status_code == 409
    # The adjudicator takes back their own decision, and decides otherwise.
    assert reopen(jo, dispute).status_code == 200
    assert unit_of(pair, mine).state == "adjudication"
    assert jo.save(dispute, "0", {"take": other}).status_code == 200
    assert jo.api("POST", f"/api/work/{dispute}/submit").status_code == 200
    with pair.project.database.reading() as session:
        results = session.scalars(select(ResultRow).order_by(ResultRow.place)).all()
        assert [row.value["question"] for row in results] == ["Two?", "One?", "One?"]
    apply_reviews(pair.project)
    assert reopen(jo, dispute).status_code == 409


def test_1_whoever_may_see_the_others_work_does_not_take_their_own_back(pair: Team) -> None:
    ada, owner = pair.member("Ada", "annotator"), pair.member("Olga", "owner")
    mine = do_next(owner, question="One?")
    assert reopen(owner, mine).status_code == 200, "nobody else's work is there yet"
    assert hand_in(owner, mine, question="One?").status_code == 200
    theirs = do_next(ada, question="Two?")
    refused = reopen(owner, mine)
    assert refused.status_code == 409
    assert "may see the others' work" in refused.json()["error"]["message"]
    assert reopen(ada, theirs).status_code == 200, "an annotator sees nothing of others"


@pytest.mark.parametrize("role", ["owner", "adjudicator"])
def test_1_submitted_work_is_returned_at_any_time(pair: Team, role: str) -> None:
    ada, ben, lead = pair.member("Ada", "annotator"), pair.member("Ben", "annotator"), pair.member("Lea", role)
    mine = do_next(ada)
    assert give_back(lead, mine).status_code == 200, "also while others work"
    assert (state_of(pair, mine), shown(ada, mine)["assignment"]["note"]) == ("returned", "look again")
    assert hand_in(ada, mine).status_code == 200
    other = do_next(ben)
    assert unit_of(pair, mine).state == "done"
    assert give_back(lead, other, "and you").status_code == 200, "also what is settled"
    assert (unit_of(pair, mine).state, state_of(pair, other)) == ("open", "returned")
    assert give_back(ben, mine).status_code == 403
    assert give_back(lead, mine, " ").status_code == 422


def test_1_returned_work_of_somebody_who_left_is_free_for_others(team: Team) -> None:
    ada, owner, ben = (
        team.member(name, role) for name, role in (("Ada", "annotator"), ("O", "owner"), ("B", "annotator"))
    )
    work = do_next(ada)
    assert owner.form(f"/team/people/{ada.id}/disable").status_code == 303
    assert give_back(owner, work).status_code == 200
    assert (state_of(team, work), unit_of(team, work).state) == ("lapsed", "open")
    assert unit_of(team, ben.next("turns")).id == unit_of(team, work).id


def test_1_gold_is_taken_back_and_refused_like_any_other_task(team: Team) -> None:
    owner, ada, ben = (
        team.member(name, role) for name, role in (("O", "owner"), ("A", "annotator"), ("B", "annotator"))
    )
    plant(owner, count=6)
    works = [ada.next("turns")]
    while (answer := hand_in(ada, works[-1]).json())["next"]:
        works.append(answer["next"].removeprefix("/work/"))
    golds = [unit_of(team, work).gold is not None for work in works]
    assert any(golds)
    assert not all(golds)
    for work in works:
        assert reopen(ada, work).status_code == 200
        assert hand_in(ada, work).status_code == 200
    apply_reviews(team.project)
    answers = [reopen(ada, work) for work in works]
    assert len({(answer.status_code, answer.text) for answer in answers}) == 1
    assert answers[0].status_code == 409
    assert ben.next("turns")


def test_1_apply_sets_a_bad_task_aside_says_which_and_applies_the_rest(team: Team) -> None:
    ada, owner = team.member("Ada", "annotator"), team.member("Olga", "owner")
    bad, good = do_next(ada), do_next(ada, question="Better?")
    kept = entry_value(team, bad, "1")
    smuggle(team, bad, "1", evidence=LATE)
    applied = apply_reviews(team.project, dry_run=True)
    assert unit_of(team, bad).set_aside is None, "a dry run writes nothing"
    applied = apply_reviews(team.project)
    assert applied.is_changed
    bench = Benchmark.open(team.project.benchmark).content()
    questions = {str(chain.id): [turn.question for turn in chain.turns] for chain in bench.chains}
    assert questions[record_of(team, good)] == ["Better?"] * 3
    assert {review.target_id for review in bench.reviews} == {record_of(team, good)}
    (aside,) = applied.aside
    assert (aside.unit_id, aside.place, aside.field) == (unit_of(team, bad).id, "1", "evidence.0.end_s")
    told = "\n".join(applied.lines(team.project.benchmark, dry_run=False))
    assert f"set aside: {aside.title}, turn 2: evidence 1 ends at 5000.00 s, but the video lasts only 20.00 s" in told
    assert "1 task was left out; return the work" in told
    assert unit_of(team, bad).set_aside == [{"place": "1", "field": "evidence.0.end_s", "problem": aside.problem}]
    # It is still in review: its author takes it back, or a lead returns it, and then it is applied.
    smuggle(team, bad, "1", evidence=kept["evidence"])
    assert give_back(owner, bad, "the evidence ends after the video").status_code == 200
    assert unit_of(team, bad).set_aside is None
    assert hand_in(ada, bad, question="Now right?").status_code == 200
    applied = apply_reviews(team.project)
    assert (applied.revision, applied.aside) == (2, ())


def test_1_the_author_takes_back_what_was_set_aside(team: Team) -> None:
    ada = team.member("Ada", "annotator")
    bad = do_next(ada)
    kept = entry_value(team, bad, "0")
    smuggle(team, bad, "0", asked_at_s=5000.0)
    applied = apply_reviews(team.project)
    assert (applied.is_changed, len(applied.aside)) == (False, 1)
    assert unit_of(team, bad).set_aside is not None
    smuggle(team, bad, "0", asked_at_s=kept["asked_at_s"])
    assert reopen(ada, bad).status_code == 200


def test_1_a_forbidden_character_sets_one_task_aside(team: Team) -> None:
    """Also a character that no text of a benchmark may hold."""
    ada = team.member("Ada", "annotator")
    works = [do_next(ada, question=f"Question of {number}?") for number in range(4)]
    smuggle(team, works[2], "0", question="Who rings \x07?")
    applied = apply_reviews(team.project)
    assert [aside.unit_id for aside in applied.aside] == [unit_of(team, works[2]).id]
    assert "control character" in str(applied.aside[0])
    assert applied.counts["turns edited"] == 9
    smuggle(team, works[2], "0", question="Question of 2?")


# 3. Gold gives itself away.


def plant(owner: Browser, *, count: int = 10, trusted: str = "drafts", seed: int = 0, queue: str = "turns") -> str:
    """Plant gold; the page that says how much."""
    answer = owner.form("/quality/gold", queue=queue, count=str(count), trusted=trusted, seed=str(seed))
    assert answer.status_code == 200, answer.text
    return str(answer.text)


def gold_of(team: Team) -> dict[str, str]:
    """The copied record of each unit of gold."""
    with team.project.database.reading() as session:
        return {row.id: str(row.target_id) for row in session.scalars(select(UnitRow).where(UnitRow.gold.is_not(None)))}


def held(team: Team, browser: Browser) -> list[UnitRow]:
    with team.project.database.reading() as session:
        query = (
            select(UnitRow)
            .join(AssignmentRow, AssignmentRow.unit_id == UnitRow.id)
            .where(AssignmentRow.person_id == browser.id)
        )
        return list(session.scalars(query))


def work_through(browsers: list[Browser], queue: str = "turns") -> None:
    """Everybody works in turn until nothing is left."""
    busy = True
    while busy:
        busy = False
        for browser in browsers:
            location = browser.form(f"/queues/{queue}/next").headers["location"]
            if location.startswith("/work/"):
                assert hand_in(browser, location.removeprefix("/work/")).status_code == 200
                busy = True


@pytest.mark.parametrize(("people", "database_kind"), [(2, "sqlite"), (4, "postgresql")], indirect=["database_kind"])
def test_3_nobody_gets_gold_and_its_original(team: Team, people: int) -> None:
    owner = team.member("Olga", "owner")
    members = [team.member(f"P{number}", "annotator") for number in range(people)]
    plant(owner, count=6)
    assert gold_of(team)
    work_through(members)
    reached = set()
    for member in members:
        units = held(team, member)
        gold = {unit.target_id for unit in units if unit.gold is not None}
        assert not gold & {unit.target_id for unit in units if unit.gold is None}
        reached |= {unit.id for unit in units if unit.gold is not None}
    assert reached == gold_of(team).keys(), "what is planted reaches somebody"
    with team.project.database.reading() as session:
        originals = session.scalars(select(UnitRow).where(UnitRow.queue_id == "turns", UnitRow.gold.is_(None))).all()
        assert {unit.state for unit in originals} == {"done"}, "the originals are done all the same"


def test_3_two_copies_of_one_task_do_not_go_to_one_person(team: Team) -> None:
    owner = team.member("Olga", "owner")
    members = [team.member(f"P{number}", "annotator") for number in range(3)]
    for seed in range(2):
        plant(owner, count=6, seed=seed)
    work_through(members)
    for member in members:
        gold = [unit.target_id for unit in held(team, member) if unit.gold is not None]
        assert len(gold) == len(set(gold))


@pytest.mark.parametrize("state", ["working", "submitted", "lapsed"])
def test_3_gold_is_kept_from_whoever_has_seen_the_original_in_another_queue(team: Team, state: str) -> None:
    owner, ada = team.member("Olga", "owner"), team.member("Ada", "annotator")
    for name in ("Ben", "Cai"):
        team.member(name, "annotator")
    boards = {str(unit.target_id) for unit in units_in(team, "links")}
    board = ada.next("links")
    seen = record_of(team, board).split("/")
    assert boards
    with transaction(team.project.database, OPERATOR) as change:
        change.session.get_one(AssignmentRow, board).state = state
    plant(owner, count=6)
    while ada.form("/queues/turns/next").headers["location"].startswith("/work/"):
        do_next(ada)
    gold = {unit.target_id for unit in held(team, ada) if unit.gold is not None}
    assert gold
    assert not gold & set(seen)
    with transaction(team.project.database, OPERATOR) as change:
        change.session.get_one(AssignmentRow, board).state = "working"


def units_in(team: Team, queue: str) -> list[UnitRow]:
    with team.project.database.reading() as session:
        return list(session.scalars(select(UnitRow).where(UnitRow.queue_id == queue).order_by(UnitRow.position)))


def test_3_whoever_held_gold_does_not_see_the_original_in_another_queue(team: Team) -> None:
    owner, ada = team.member("Olga", "owner"), team.member("Ada", "annotator")
    team.member("Ben", "annotator")
    plant(owner, count=2)
    work_through([ada])
    gold = {unit.target_id for unit in held(team, ada) if unit.gold is not None}
    assert gold
    boards = set()
    while (place := ada.form("/queues/links/next").headers["location"]).startswith("/work/"):
        work = place.removeprefix("/work/")
        boards.add(record_of(team, work))
        assert ada.save(work, "2-0", {"decision": "keep", "relations": ["Events"]}).status_code == 200
        assert ada.save(work, "board", {"decision": "complete", "links": ["2-0"]}).status_code == 200
        assert ada.api("POST", f"/api/work/{work}/submit").status_code == 200
    assert boards == {
        board for board in (str(unit.target_id) for unit in units_in(team, "links")) if not gold & set(board.split("/"))
    }


@pytest.mark.parametrize("trusted", ["drafts", "settled"])
def test_3_gold_that_can_reach_nobody_is_not_planted_and_that_is_said(pair: Team, trusted: str) -> None:
    owner = pair.member("Olga", "owner")
    work_through([pair.member("Ada", "annotator"), pair.member("Ben", "annotator")] if trusted == "settled" else [])
    if trusted == "drafts":
        pair.member("Ada", "annotator")
        pair.member("Ben", "annotator")
    board = plant(owner, trusted=trusted)
    assert gold_of(pair) == {}
    page = board
    assert "0 of 10 were planted" in page
    assert "6 would reach nobody: everybody here has seen the original, or is needed for it" in page


def test_3_gold_from_settled_tasks_reaches_who_did_not_do_them(team: Team) -> None:
    owner, ada, ben = (
        team.member(name, role) for name, role in (("O", "owner"), ("A", "annotator"), ("B", "annotator"))
    )
    done = {record_of(team, do_next(ada)) for _ in range(3)}
    board = plant(owner, count=3, trusted="settled")
    assert set(gold_of(team).values()) == done
    assert "3 of 3 were planted." in board
    work_through([ada, ben])
    assert {unit.target_id for unit in held(team, ben) if unit.gold is not None} == done
    assert not [unit for unit in held(team, ada) if unit.gold is not None]


def test_3_gold_lies_twenty_tasks_from_its_original(tmp_path: Path) -> None:
    team = make_team(tmp_path, content(40))
    owner = team.member("Olga", "owner")
    for name in ("Ada", "Ben", "Cai"):
        team.member(name, "annotator")
    assert "12 of 12 were planted." in plant(owner, count=12)
    units = sorted(units_in(team, "turns"), key=lambda unit: (unit.position, unit.gold is None))
    real = {unit.target_id: number for number, unit in enumerate(unit for unit in units if unit.gold is None)}
    before = 0
    for unit in units:
        if unit.gold is None:
            before += 1
            continue
        source = real[unit.target_id]
        between = source - before if before <= source else before - source - 1
        assert between >= 20, f"{unit.title}: {between} tasks lie between"
    team.project.database.close()


# 4. The human test row is contaminated.


def add_test(team: Team, videos: int = 3) -> None:
    with transaction(team.project.database, OPERATOR) as change:
        add_queue(change, "test", "test", answer_drafts(content(videos), "dialogue"), title="The test")


def videos_asked(team: Team, browser: Browser) -> set[str]:
    """Answer the test to its end; the videos that were asked about."""
    found = set()
    while (place := browser.form("/queues/test/next").headers["location"]).startswith("/work/"):
        work = place.removeprefix("/work/")
        found.add(str(unit_of(team, work).video_id))
        for number in range(3):
            assert browser.save(work, str(number), {"text": "I do not know.", "given": True}).status_code == 200
        assert browser.api("POST", f"/api/work/{work}/submit").status_code == 200
    return found


@pytest.mark.parametrize("how", ["begun", "submitted", "links", "lapsed"])
def test_4_whoever_worked_on_a_video_is_not_examined_on_it(team: Team, how: str) -> None:
    ada = team.member("Ada", "annotator")
    work = ada.next("links" if how == "links" else "turns")
    if how == "submitted":
        hand_in(ada, work)
    if how == "lapsed":
        ada.save(work, "0", value_of(ada, work, "0"))
        owner = team.member("Olga", "owner")
        assert owner.form(f"/team/people/{ada.id}/role", role="reader").status_code == 303
        assert owner.form(f"/team/people/{ada.id}/role", role="annotator").status_code == 303
        assert state_of(team, work) == "lapsed"
    seen = {unit.video_id for unit in held(team, ada)}
    add_test(team)
    assert videos_asked(team, ada) == {"film0", "film1", "film2"} - seen
    assert videos_asked(team, team.member("Ben", "annotator")) == seen


def test_4_whoever_adjudicated_a_video_is_not_examined_on_it(pair: Team) -> None:
    ada, ben, jo = pair.member("Ada", "annotator"), pair.member("Ben", "annotator"), pair.member("Jo", "adjudicator")
    mine = do_next(ada, question="One?")
    do_next(ben, question="Two?")
    jo.form("/adjudicate/queues/turns/next")
    add_test(pair)
    assert videos_asked(pair, jo) == {"film0", "film1", "film2"} - {unit_of(pair, mine).video_id}


@pytest.mark.parametrize("role", ["investigator", "correspondent"])
def test_4_whoever_talked_about_a_video_is_not_examined_on_it(team: Team, role: str) -> None:
    ada, ben, owner = (team.member(name, r) for name, r in (("A", "annotator"), ("B", "annotator"), ("O", "owner")))
    settings = CollectSettings().model_dump(mode="json")
    with transaction(team.project.database, OPERATOR) as change:
        add_queue(change, "collect", "collect", collecting_drafts(content()), title="Collect", settings=settings)
    assert owner.form("/pairs", queue="collect", first=ada.id, second=ben.id, goal="2").status_code == 303
    pair_id = owner.get("/pairs").text.split('action="/pairs/')[-1].split("/")[0]
    if 'action="/pairs/' not in owner.get("/pairs").text:
        pair_id = ada.get("/pairs").text.split('action="/pairs/')[1].split("/")[0]
    talk = ada.form(f"/pairs/{pair_id}/begin").headers["location"].removeprefix("/dialogues/")
    seen = ben.get(f"/api/dialogues/{talk}").json()["video_id"]
    add_test(team)
    who = ada if role == "investigator" else ben
    assert videos_asked(team, who) == {"film0", "film1", "film2"} - {seen}


def test_4_the_page_says_why_nothing_is_left_in_the_test(team: Team) -> None:
    ada = team.member("Ada", "annotator")
    for _ in range(6):
        do_next(ada)
    add_test(team)
    page = ada.get("/").text
    assert "6 tasks are about videos on which you have worked: people who take a test must not know its videos." in page


def test_4_nobody_works_on_a_video_on_which_they_are_examined(team: Team) -> None:
    ada = team.member("Ada", "annotator")
    add_test(team)
    examined = unit_of(team, ada.next("test")).video_id
    worked = set()
    while (place := ada.form("/queues/turns/next").headers["location"]).startswith("/work/"):
        worked.add(unit_of(team, place.removeprefix("/work/")).video_id)
        hand_in(ada, place.removeprefix("/work/"))
    assert worked == {"film0", "film1", "film2"} - {examined}


# 5. Invented labels.


def tagged_work(browser: Browser) -> str:
    """A unit whose turns are tagged."""
    while True:
        work = browser.next("turns")
        if shown(browser, work)["unit"]["content"]["id"].startswith("later-"):
            return work
        hand_in(browser, work)


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ({"cogme.content": ["Obj"]}, "CogME content has no label 'Obj'; choose from Identity, Feature"),
        ({"cogme.target": ["Obj"]}, "CogME target has no label 'Obj'"),
        ({"cogme.thinking": ["Guessing"]}, "CogME thinking has no label 'Guessing'"),
        ({"vdact.question_type": ["D-XYZ"]}, "VDAct question type has no label 'D-XYZ'"),
        ({"svbench.skill": ["XX"]}, "SVBench skill has no label 'XX'"),
        ({"svbench.relation": ["Person"]}, "SVBench relation has no label 'Person'"),
        ({"mt_video_bench.task": ["fun"]}, "MT-Video-Bench task has no label 'fun'"),
    ],
)
@pytest.mark.parametrize("decision", [None, "accept"])
def test_5_a_closed_vocabulary_takes_no_new_label(
    team: Team, labels: dict[str, list[str]], says: str, decision: str | None
) -> None:
    ada = team.member("Ada", "annotator")
    work = ada.next("turns")
    refused = ada.save(work, "0", value_of(ada, work, "0", decision=decision, labels=labels))
    assert refused.status_code == 422
    assert says in refused.json()["error"]["message"]
    assert refused.json()["error"]["field"] == f"labels.{next(iter(labels))}"


@pytest.mark.parametrize(
    ("name", "labels", "says"),
    [
        ("cogme.thinking", ["Recall", "Reasoning"], "CogME thinking takes exactly 1, not 2"),
        ("cogme.thinking", [], "CogME thinking takes exactly 1, not 0"),
        ("cogme.target", ["Object", "Place", "Event", "Emotion"], "CogME target takes 1 to 3, not 4"),
        ("cogme.content", [], "CogME content takes 1 to 3, not 0"),
    ],
)
def test_5_the_number_of_labels_is_held_at_a_decision(team: Team, name: str, labels: list[str], says: str) -> None:
    ada = team.member("Ada", "annotator")
    work = tagged_work(ada)
    changed = {**value_of(ada, work, "0")["labels"], name: labels}
    typed = ada.save(work, "0", value_of(ada, work, "0", decision=None, labels=changed))
    assert typed.status_code == 200, "while typing, more or less may be there"
    for decision in ("accept", "edit"):
        refused = ada.save(work, "0", value_of(ada, work, "0", decision=decision, labels=changed))
        assert (refused.status_code, says in refused.json()["error"]["message"]) == (422, True)
    rejected = value_of(ada, work, "0", decision="reject", reasons=["leaks"], labels=changed)
    assert ada.save(work, "0", rejected).status_code == 200


def test_5_a_label_of_the_draft_that_is_unknown_must_be_replaced(tmp_path: Path, database_kind: str) -> None:
    found = content(1)
    chain = found.chains[0]
    odd = chain.turns[0].model_copy(update={"labels": {"cogme.content": ("Obj",), "own.words": ("anything",)}})
    found.chains[0] = chain.model_copy(update={"turns": (odd, *chain.turns[1:])})
    team = make_team(tmp_path, found)
    ada = team.member("Ada", "annotator")
    work = ada.next("turns")
    assert ada.save(work, "0", value_of(ada, work, "0", decision=None)).status_code == 200
    refused = ada.save(work, "0", value_of(ada, work, "0"))
    assert refused.status_code == 422
    assert refused.json()["error"]["message"].startswith(
        "the draft's label 'Obj' is not in CogME content; replace it with Identity"
    )
    labels = {"cogme.content": ["Identity"], "own.words": ["anything", "goes"]}
    assert ada.save(work, "0", value_of(ada, work, "0", labels=labels)).status_code == 200
    team.project.database.close()


def test_5_pages_are_told_which_vocabularies_are_closed(team: Team) -> None:
    ada = team.member("Ada", "annotator")
    known = shown(ada, ada.next("turns"))["unit"]["content"]["vocabularies"]
    assert known["cogme.thinking"] == {
        "labels": ["Recall", "Grasping", "Reasoning"],
        "closed": True,
        "least": 1,
        "most": 1,
    }
    links = shown(ada, ada.next("links"))["unit"]["content"]["vocabularies"]
    assert (links["relations"]["closed"], links["skills"]["closed"], links["method"]["closed"]) == (True, True, True)


@pytest.mark.parametrize(("field", "label"), [("relations", "Weather"), ("skills", "XX"), ("method", "Weather/x")])
def test_5_a_link_takes_no_new_relation_skill_or_method(team: Team, field: str, label: str) -> None:
    ada = team.member("Ada", "annotator")
    work = ada.next("links")
    value = {"decision": None, "relations": ["Events"], field: label if field == "method" else [label]}
    refused = ada.save(work, "2-0", value)
    assert refused.status_code == 422
    assert label in refused.json()["error"]["message"]


def test_5_an_adjudicator_writes_no_new_label(pair: Team) -> None:
    ada, ben, jo = pair.member("Ada", "annotator"), pair.member("Ben", "annotator"), pair.member("Jo", "adjudicator")
    mine = do_next(ada, question="One?")
    do_next(ben, question="Two?")
    dispute = jo.form("/adjudicate/queues/turns/next").headers["location"].removeprefix("/adjudicate/")
    value = value_of(ada, mine, "0", labels={"cogme.content": ["Obj"]})
    assert jo.save(dispute, "0", {"write": value}).status_code == 422
    assert "vocabularies" in jo.get(f"/api/adjudicate/{dispute}").json()["unit"]["content"]


def test_5_a_wrong_label_in_the_database_is_set_aside(team: Team) -> None:
    ada = team.member("Ada", "annotator")
    bad = do_next(ada)
    kept = entry_value(team, bad, "0")
    smuggle(team, bad, "0", labels={"cogme.content": ["Obj"]})
    applied = apply_reviews(team.project)
    assert [(aside.place, aside.field) for aside in applied.aside] == [("0", "labels.cogme.content")]
    assert '"Obj"' not in json.dumps([row.model_dump(mode="json") for row in benchmark_of(team).chains])
    smuggle(team, bad, "0", labels=kept["labels"])


def benchmark_of(team: Team) -> Content:
    return Benchmark.open(team.project.benchmark).content()


# 6. False statements.


def test_6_apply_counts_turns_as_turns(team: Team) -> None:
    ada = team.member("Ada", "annotator")
    work = ada.next("turns")
    for place in "012":
        value = value_of(ada, work, place, decision="reject" if place == "1" else "accept")
        ada.save(work, place, {**value, "reasons": ["leaks"] if place == "1" else []})
    ada.api("POST", f"/api/work/{work}/submit")
    before = len(benchmark_of(team).chains)
    applied = apply_reviews(team.project)
    assert len(benchmark_of(team).chains) == before
    assert "chains taken out" not in applied.counts
    assert applied.counts["turns taken out"] == 1


def test_6_the_first_page_says_how_many_dialogues_a_video_has(team: Team) -> None:
    owner = team.member("Olga", "owner")
    settings = CollectSettings().model_dump(mode="json")
    with transaction(team.project.database, OPERATOR) as change:
        add_queue(
            change, "collect", "collect", collecting_drafts(content()), title="Collect", overlap=3, settings=settings
        )
    assert "with 3 dialogues each" in owner.get("/").text


def test_6_the_history_counts_turns_from_one(team: Team) -> None:
    ada, owner = team.member("Ada", "annotator"), team.member("Olga", "owner")
    do_next(ada)
    page = owner.get("/history").text
    assert "<td>turn 1</td>" in page
    assert "<td>turn 3</td>" in page
    assert ">0</td>" not in page


def test_6_the_order_of_queues_counts_from_one(team: Team) -> None:
    owner = team.member("Olga", "owner")
    assert 'name="position" type="number" min="1" max="1000" value="1"' in owner.get("/setup").text
    for position, status in (("0", 422), ("2", 303)):
        sent = owner.form("/setup/queues/turns", title="Turns", position=position, overlap="1", is_open="yes")
        assert sent.status_code == status
    with team.project.database.reading() as session:
        assert session.get_one(QueueRow, "turns").position == 1


def test_6_people_who_reject_for_different_reasons_do_not_agree(pair: Team) -> None:
    ada, ben = pair.member("Ada", "annotator"), pair.member("Ben", "annotator")
    mine = do_next(ada, decision="reject", reasons=["leaks"])
    do_next(ben, decision="reject", reasons=["too_easy"])
    assert unit_of(pair, mine).state == "adjudication"
    again = do_next(ada, decision="reject", reasons=["leaks", "too_easy"])
    do_next(ben, decision="reject", reasons=["too_easy", "leaks"])
    assert unit_of(pair, again).state == "done", "the order of reasons says nothing"


@pytest.mark.parametrize(
    "unfinished",
    [
        {"method": "Events/sequence"},
        {"references": ["An answer without a question."]},
        {"method": "Events/sequence", "fits": True},
    ],
)
def test_6_a_link_is_not_kept_while_its_rewriting_is_unfinished(team: Team, unfinished: dict[str, Any]) -> None:
    ada = team.member("Ada", "annotator")
    work = ada.next("links")
    value = {"relations": ["Events"], **unfinished}
    assert ada.save(work, "2-0", {**value, "decision": None}).status_code == 200
    refused = ada.save(work, "2-0", {**value, "decision": "keep"})
    assert refused.status_code == 422
    assert "the rewriting of the later question is not finished" in refused.json()["error"]["message"]
    kept = shown(ada, work)["entries"]["2-0"]["value"]
    assert {name: kept[name] for name in unfinished} == unfinished, "what was typed is still there"


def test_6_people_who_differ_in_the_method_of_a_rewriting_do_not_agree(pair: Team) -> None:
    ada, ben = pair.member("Ada", "annotator"), pair.member("Ben", "annotator")
    works = []
    for browser, method in ((ada, "Events/sequence"), (ben, None)):
        work = browser.next("links")
        value = {"decision": "keep", "relations": ["Events"], "question": "And then?", "references": ["So."]}
        assert browser.save(work, "2-0", {**value, "method": method, "fits": True}).status_code == 200
        assert browser.save(work, "board", {"decision": "complete", "links": ["2-0"]}).status_code == 200
        assert browser.api("POST", f"/api/work/{work}/submit").status_code == 200
        works.append(work)
    assert unit_of(pair, works[0]).state == "adjudication"


def test_6_readers_are_promised_what_they_get(team: Team) -> None:
    reader, owner = team.member("Rita", "reader"), team.member("Olga", "owner")
    assert "reader: looks at progress, quality and complete tasks, and changes nothing" in owner.get("/team").text
    assert reader.get("/units").status_code == 200

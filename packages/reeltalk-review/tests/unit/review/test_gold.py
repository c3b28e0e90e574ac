"""Known answers: faults that are planted, training sets, who gets them, and what they say of annotators."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select
from team import Browser, Team, make_team, small_content

from reeltalk.schema.record import Json
from reeltalk_review.assigning import next_unit, take_unit
from reeltalk_review.database import ReviewProject
from reeltalk_review.errors import Conflict, InvalidValue, NotFound
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.gold import FAULTS, Kind, Lenders, add_known_answers, count_known_answers, make_faulty
from reeltalk_review.tables import AssignmentRow, EntryRow, PersonRow, QueueRow, ResultRow, UnitRow
from reeltalk_review.tasks.turns import EDITABLE, TurnsTask
from reeltalk_review.team_stats import TeamStatsCache
from reeltalk_review.verifying import verify_history
from reeltalk_review.work import own_work, reopen, save_value, send_back, submit

TASK = TurnsTask()
THINGS = ["cup", "door", "fridge", "sofa", "lamp", "radio", "book", "chair", "plate", "phone"]


def content(unit: int, *, turns: int = 4) -> dict[str, Json]:
    """A chain about one of three scenes of one of three videos."""
    video, scene = unit % 3, unit // 3 % 3
    return {
        "unit": "chain",
        "id": f"chain{unit}",
        "video_id": f"video{video}",
        "clips": [{"id": f"s{scene}", "start_s": scene * 10.0, "end_s": scene * 10.0 + 10}],
        "scenes": [],
        "turns": [
            {
                "question": f"Who takes the {THINGS[(unit + n) % 10]} in part {unit}?",
                "references": [f"The person with the {THINGS[(unit * 3 + n) % 10]} number {unit}."],
                "asked_at_s": scene * 10.0 + 9,
                "evidence": [{"start_s": scene * 10.0 + n, "end_s": scene * 10.0 + n + 1}],
            }
            for n in range(turns)
        ],
        "checks": {},
        "links": [],
    }


CONTENTS = [content(unit) for unit in range(24)]


def test_every_fault_is_planted_about_as_often() -> None:
    planted = Counter[str]()
    for number in range(18):
        assert make_faulty(CONTENTS[number], CONTENTS, planted, random.Random(number))
    assert planted.keys() == FAULTS.keys()
    assert max(planted.values()) - min(planted.values()) <= 1


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(0, 23), st.sampled_from(list(FAULTS)))
def test_a_fault_is_what_it_says_and_the_rest_stays_as_it_was(seed: int, unit: int, rarest: str) -> None:
    source, planted = CONTENTS[unit], Counter({name: int(name != rarest) for name in FAULTS})
    made = make_faulty(source, CONTENTS, planted, random.Random(seed))
    assert made is not None
    faulty, faults = made
    assert 1 <= len(faults) < len(faulty["turns"])
    same_video = [other for other in CONTENTS if other["video_id"] == source["video_id"]]
    here = {turn["references"][0] for other in same_video for turn in other["turns"]}
    for place in TASK.places(faulty):
        # What annotators are shown is a turn like any other, and can be stored.
        shown, right = TASK.draft_value(faulty, place), TASK.draft_value(source, place)
        assert TASK.check(faulty, place, shown | {"decision": "accept"})["decision"] == "accept"
        changed = {name for name in EDITABLE if shown[name] != right[name]}
        match faults.get(place):
            case None:
                assert not changed
            case "wrong_answer":
                assert changed == {"references"}
                assert shown["references"][0] in here
            case "leaked_answer":
                assert changed == {"question"}
                assert right["references"][0].rstrip(".") in shown["question"]
            case "wrong_time":
                assert changed == {"evidence"}
                assert shown["evidence"][0]["start_s"] != right["evidence"][0]["start_s"]
            case "not_in_video":
                assert changed == {"question", "references"}
                assert shown["references"][0] not in here


def test_nothing_is_planted_in_a_unit_of_one_turn() -> None:
    assert make_faulty(content(0, turns=1), CONTENTS, Counter(), random.Random(0)) is None


def test_another_option_is_a_wrong_answer() -> None:
    turn = {"question": "Who?", "references": ["He"], "options": ["He", "She"], "correct_option": 0}
    made = FAULTS["wrong_answer"](turn, Lenders((), (), ()), random.Random(0))
    assert made == turn | {"references": ["She"], "correct_option": 1}


@pytest.fixture
def project(tmp_path: Path) -> Iterator[ReviewProject]:
    """A queue of eight chains, each done by one, and three annotators."""
    found = ReviewProject.open(tmp_path / "bench", folder=tmp_path / "review")
    with transaction(found.database, OPERATOR) as change:
        change.session.add(QueueRow(id="turns", task="turns", title="Review turns", position=0, overlap=1, settings={}))
        for name in ("ann", "ben", "cai"):
            change.session.add(PersonRow(id=name, name=name, sign_in=name, role="annotator", created_at=change.at))
        change.session.flush()
        for unit in range(8):
            change.session.add(
                UnitRow(
                    id=f"u{unit}",
                    queue_id="turns",
                    position=unit,
                    title=f"chain{unit}",
                    turns=4,
                    content=content(unit),
                    target_table="chains",
                    target_id=f"chain{unit}",
                )
            )
    yield found
    assert verify_history(found.database).findings == ()
    found.database.close()


def hand_in_next(project: ReviewProject, person: str, decision: str = "accept", **changes: Json) -> UnitRow | None:
    """Decide every turn of the next unit alike, and submit it."""
    with transaction(project.database, person) as change:
        found = next_unit(change, person, "turns", lease_minutes=30)
        if found is None:
            return None
        assignment, unit, task = own_work(change.session, person, found.id)
        for place in task.places(unit.content):
            made = task.draft_value(unit.content, place) | {"decision": decision} | changes
            save_value(change, assignment, unit, task, place, 0, made)
        submit(change, assignment, unit, task, approval=False)
        return unit


def add(project: ReviewProject, kind: Kind, count: int = 3) -> int:
    with transaction(project.database, OPERATOR) as change:
        return add_known_answers(change, "turns", kind, count)


def copies(project: ReviewProject) -> list[UnitRow]:
    with project.database.reading() as session:
        return list(session.scalars(select(UnitRow).where(UnitRow.gold.is_not(None)).order_by(UnitRow.position)))


def test_faults_are_planted_in_settled_tasks_that_were_kept_whole_and_once_in_each(project: ReviewProject) -> None:
    with pytest.raises(InvalidValue, match="settled tasks of two turns or more, kept whole"):
        add(project, "faults")
    hand_in_next(project, "ann")
    hand_in_next(project, "ann", "reject", reasons=["leaks"])
    hand_in_next(project, "ann", references=["As she wrote it."])
    assert add(project, "faults") == 2
    assert {unit.gold["source"] for unit in copies(project)} == {"u0", "u2"}
    with pytest.raises(InvalidValue, match="no fault can be planted"):
        add(project, "faults")
    edited = next(unit for unit in copies(project) if unit.gold["source"] == "u2")
    whole = [turn for n, turn in enumerate(edited.content["turns"]) if str(n) not in edited.gold["faults"]]
    answers = {turn["references"][0] for turn in whole}
    assert answers == {"As she wrote it."}, "the copy is of what was settled, not of the draft"


def test_what_everybody_has_done_is_not_planted(project: ReviewProject) -> None:
    with transaction(project.database, OPERATOR) as change:
        for person in ("ben", "cai"):
            change.session.get_one(PersonRow, person).role = "reader"
    hand_in_next(project, "ann")
    with pytest.raises(InvalidValue, match="that an annotator has not seen"):
        add(project, "faults")


def test_nobody_gets_a_copy_and_its_original_and_no_copy_becomes_a_result(project: ReviewProject) -> None:
    done: dict[str, list[str]] = {"ann": [], "ben": [], "cai": []}
    for name in ("ann", "ben", "ann"):
        done[name].append(hand_in_next(project, name).id)  # type: ignore[union-attr]
    assert add(project, "faults") == 3
    busy = True
    while busy:
        found = {name: hand_in_next(project, name) for name in done}
        for name, unit in found.items():
            done[name] += [unit.id] if unit is not None else []
        busy = any(found.values())
    sources = {unit.id: unit.gold["source"] for unit in copies(project)}
    for units in done.values():
        assert len(units) == len(set(units))
        assert not [unit for unit, source in sources.items() if {unit, source} <= set(units)]
    assert sum(unit in units for units in done.values() for unit in sources) == 6, "each reaches the other two"
    with project.database.reading() as session:
        assert not set(session.scalars(select(ResultRow.unit_id))) & sources.keys()
        states = {row.id: row.state for row in session.scalars(select(UnitRow))}
    assert {state for unit, state in states.items() if unit not in sources} == {"done"}
    assert {states[unit] for unit in sources} == {"open"}


def test_who_accepts_all_misses_all_and_who_rejects_all_raises_false_alarms(project: ReviewProject) -> None:
    for _ in range(3):
        hand_in_next(project, "ann")
    assert add(project, "faults") == 3
    while hand_in_next(project, "ben"):
        pass
    while hand_in_next(project, "cai", "reject", reasons=["leaks"]):
        pass
    with project.database.reading() as session:
        found = count_known_answers(session)
    # A third of four turns, but at least one, has a fault.
    assert found["ben", "turns"] == {"faults": 3, "caught": 0, "whole": 9, "false_alarms": 0}
    assert found["cai", "turns"] == {"faults": 3, "caught": 3, "whole": 9, "false_alarms": 9}
    rows = {row.person: row for row in TeamStatsCache(project.database).compute().quality}
    assert (rows["ben"].gold_caught, rows["cai"].gold_caught, rows["ann"].gold_caught) == (0, 1, None)
    assert rows["cai"].gold_caught_low == pytest.approx(0.4385, abs=1e-4), "Wilson's interval of 3 of 3"


def test_a_fault_is_caught_by_mending_what_is_wrong_and_by_nothing_else(project: ReviewProject) -> None:
    hand_in_next(project, "ann")
    add(project, "faults")
    (copied,) = copies(project)
    ((place, fault),) = copied.gold["faults"].items()
    for person, value in (("ben", {"asked_at_s": 8.5}), ("cai", copied.gold["answers"][place])):
        with transaction(project.database, person) as change:
            row = change.session.get_one(UnitRow, copied.id)
            assignment = take_unit(change, row, person, "annotator", lease_minutes=30)
            for other in TASK.places(row.content):
                made = TASK.draft_value(row.content, other) | (value if other == place else {}) | {"decision": "accept"}
                save_value(change, assignment, row, TASK, other, 0, made)
            submit(change, assignment, row, TASK, approval=False)
    with project.database.reading() as session:
        found = count_known_answers(session)
    assert (found["ben", "turns"]["caught"], found["cai", "turns"]["caught"]) == (0, 1), fault


def test_whoever_begins_gets_the_training_set_first_and_sees_what_was_settled(project: ReviewProject) -> None:
    with pytest.raises(InvalidValue, match="no task of this queue is settled yet"):
        add(project, "training")
    hand_in_next(project, "ann", references=["As she wrote it."])
    hand_in_next(project, "ann", "reject", reasons=["leaks"])
    assert add(project, "training", 2) == 2
    assert [unit.position for unit in copies(project)] == [-2, -1]
    assert hand_in_next(project, "ann").id == "u2", "who has begun needs no training"  # type: ignore[union-attr]
    for order in ("video", "random", "given"):
        with transaction(project.database, OPERATOR) as change:
            change.session.get_one(QueueRow, "turns").settings = {"order": order}
        with transaction(project.database, "ben") as change:
            found = next_unit(change, "ben", "turns", lease_minutes=30)
            assert found is not None
            assert change.session.get_one(UnitRow, found.unit_id).position < 0
            change.session.delete(found)
    first = hand_in_next(project, "ben", references=["As she wrote it."])
    second = hand_in_next(project, "ben")
    assert first is not None
    assert second is not None
    assert (first.gold["source"], second.gold["source"]) == ("u0", "u1")
    assert first.content == content(0), "it begins with the draft"
    later = hand_in_next(project, "ben")
    assert later is not None
    assert later.gold is None
    with project.database.reading() as session:
        assert count_known_answers(session)["ben", "turns"] == {"training": 8, "right": 4}
        work = session.scalars(select(AssignmentRow).where(AssignmentRow.unit_id == first.id)).one().id
    stats = TeamStatsCache(project.database).compute()
    assert [task.units for task in stats.tasks] == [0], "training counts for no agreement"
    assert {row.person: row.training_right for row in stats.quality} == {"ann": None, "ben": 0.5}
    for again in (reopen, lambda change, assignment, unit: send_back(change, "cai", assignment.id, "again")):
        with transaction(project.database, "ben") as change:
            assignment, unit, _ = own_work(change.session, "ben", work)
            with pytest.raises(Conflict, match="what was settled has been shown"):
                again(change, assignment, unit)


@pytest.mark.parametrize(
    ("queue", "count", "error"), [("turns", 0, InvalidValue), ("turns", 201, InvalidValue), ("none", 1, NotFound)]
)
def test_what_makes_no_sense_is_refused(project: ReviewProject, queue: str, count: int, error: type[Exception]) -> None:
    with pytest.raises(error), transaction(project.database, OPERATOR) as change:
        add_known_answers(change, queue, "faults", count)


# Over HTTP, with queues in which other units show the same turns.


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    """Six chains, and link boards of the chains of each video."""
    found = make_team(tmp_path, small_content(6))
    yield found
    assert verify_history(found.project.database).findings == ()
    found.project.database.close()


def accept_next(browser: Browser) -> str:
    """Accept all of the next unit of turns; where its submission leads."""
    place = browser.form("/queues/turns/next").headers["location"]
    if not place.startswith("/work/"):
        return ""
    work = place.removeprefix("/work/")
    opened = browser.get(f"/api/work/{work}").json()
    for number in opened["places"]:
        turn = opened["unit"]["content"]["turns"][int(number)]
        value = {"decision": "accept", "question": turn["question"], "references": turn["references"]}
        assert browser.save(work, number, value).status_code == 200
    return str(browser.api("POST", f"/api/work/{work}/submit").json()["next"])


def test_the_page_adds_known_answers_and_shows_what_was_settled(team: Team) -> None:
    owner = team.member("Olga", "owner")
    ada, ben = (team.member(name, "annotator") for name in ("Ada", "Ben"))
    answer = owner.form("/quality/gold", queue="turns", kind="faults", count="2")
    assert (answer.status_code, "No fault can be planted" in answer.text) == (422, True)
    for _ in range(2):
        accept_next(ada)
    for kind in ("faults", "training"):
        assert "2 tasks were added." in owner.form("/quality/gold", queue="turns", kind=kind, count="2").text
    page = owner.get("/quality").text
    assert "Review turns: 2 in the training set" in page
    assert "Review turns: 2 with planted faults" in page
    led = accept_next(ben)
    assert led.startswith("/training/")
    shown = ben.get(led.replace("training", "work")).text
    assert "You decided 3 of 3 as they were settled." in shown
    for other in (owner, ada):
        assert other.get(led).status_code == 404
    work = led.removeprefix("/training/")
    assert ben.api("POST", f"/api/work/{work}/reopen").status_code == 409
    with transaction(team.project.database, OPERATOR) as change:
        row = change.session.scalars(select(EntryRow).where(EntryRow.assignment_id == work)).first()
        assert row is not None
        row.value = row.value | {"question": "Is <this> it?", "decision": "edit"}
    assert "<mark>Is &lt;this&gt; it?</mark>" in ben.get(led).text
    assert "You decided 2 of 3" in ben.get(led).text


def test_who_knows_the_turns_from_another_queue_gets_no_copy_and_the_other_way_round(tmp_path: Path) -> None:
    content = small_content(4)
    team = make_team(tmp_path, content)
    owner = team.member("Olga", "owner")
    ada, ben = (team.member(name, "annotator") for name in ("Ada", "Ben"))
    with transaction(team.project.database, OPERATOR) as change:
        change.session.add(QueueRow(id="boards", task="links", title="Links", position=9, overlap=1, settings={}))
        change.session.flush()
        for number, about in enumerate(("chain-film0/x", "x/chain-film1", "x/y")):
            shown: Json = {"chains": [], "turns": [], "links": []}
            change.session.add(
                UnitRow(
                    id=f"board{number}", queue_id="boards", position=number, title=about, turns=0, content=shown,
                    target_table="linkages", target_id=about,
                )
            )  # fmt: skip
        change.session.flush()
        held = AssignmentRow(id="held", unit_id="board0", person_id=ben.id, role="annotator", state="lapsed")
        held.created_at = held.lease_until = change.at
        change.session.add(held)
        change.record("take", "held")
    for _ in range(4):
        accept_next(ada)
    owner.form("/quality/gold", queue="turns", kind="faults", count="4")
    while accept_next(ben):
        pass
    with team.project.database.reading() as session:
        mine = select(UnitRow.target_id).join(AssignmentRow).where(AssignmentRow.person_id == ben.id)
        seen = set(session.scalars(mine.where(UnitRow.gold.is_not(None))))
    assert seen == {"chain-film1", "chain-film2", "chain-film3"}
    with transaction(team.project.database, OPERATOR) as change:
        change.session.get_one(AssignmentRow, "held").state = "submitted"
        change.session.get_one(UnitRow, "board0").submitted = 1
    with transaction(team.project.database, ben.id) as change:
        found = next_unit(change, ben.id, "boards", lease_minutes=30)
        assert found is not None
        assert found.unit_id == "board2", "a board with a chain of which Ben held a copy is not for Ben"
    team.project.database.close()

"""Gold turns: faults that are planted, who gets them, and what they say of annotators."""

import copy
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from reeltalk.schema.record import Json
from reeltalk.schema.review import Reason
from reeltalk_review.assigning import next_unit
from reeltalk_review.database import ReviewProject
from reeltalk_review.errors import InvalidValue, NotFound
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.gold import (
    REMEDIES,
    Fault,
    GoldOutcome,
    GoldSource,
    Trusted,
    gold_outcome,
    measure_outcomes,
    plant_faults,
    plant_gold,
)
from reeltalk_review.tables import AssignmentRow, EventRow, PersonRow, QueueRow, ResultRow, UnitRow
from reeltalk_review.tasks.turns import TurnsTask
from reeltalk_review.team_stats import read_gold
from reeltalk_review.work import own_work, save_value, submit

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
        "scenes": [{"id": f"s{n}", "start_s": n * 10.0, "end_s": n * 10.0 + 10} for n in range(3)],
        "turns": [
            {
                "question": f"Who takes the {THINGS[(unit + n) % 10]} in part {unit}?",
                "references": [f"The person with the {THINGS[(unit * 3 + n) % 10]} number {unit}."],
                "asked_at_s": scene * 10.0 + 9,
                "evidence": [{"start_s": scene * 10.0 + n, "end_s": scene * 10.0 + n + 1}],
                "labels": {"cogme.target": [["Object"], ["Place"], ["Event"]][n % 3]},
            }
            for n in range(turns)
        ],
        "checks": {},
        "links": [],
    }


SOURCES = [GoldSource(f"u{unit}", f"video{unit % 3}", content(unit)) for unit in range(24)]


def value(fields: Json, **changes: Json) -> Json:
    return {"reasons": [], "note": "", **fields, **changes}


def test_the_same_seed_plants_the_same_faults_and_another_seed_others() -> None:
    assert plant_faults(SOURCES, count=8, seed=1) == plant_faults(list(reversed(SOURCES)), count=8, seed=1)
    assert plant_faults(SOURCES, count=8, seed=1) != plant_faults(SOURCES, count=8, seed=2)


def test_every_fault_of_the_list_is_planted_about_as_often() -> None:
    planted = Counter(fault for gold in plant_faults(SOURCES, count=18, seed=3) for fault in gold.faults.values())
    assert set(planted) == set(Fault)
    assert max(planted.values()) - min(planted.values()) <= 1


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 24))
def test_only_planted_places_differ_and_stay_valid_and_one_stays_whole(seed: int, count: int) -> None:
    before = copy.deepcopy(SOURCES)
    for gold in plant_faults(SOURCES, count=count, seed=seed):
        source = next(source for source in SOURCES if source.unit_id == gold.source)
        assert 1 <= len(gold.faults) < len(gold.content["turns"])
        assert gold.content.keys() == source.content.keys()
        for place in TASK.places(gold.content):
            # What annotators are shown is a turn like any other, and can be stored.
            draft = TASK.draft_value(gold.content, place)
            stored = TASK.check(gold.content, place, draft | {"decision": "accept"})
            changed = {name for name in draft if draft[name] != TASK.draft_value(source.content, place)[name]}
            assert stored["decision"] == "accept"
            if place in gold.faults:
                assert changed & REMEDIES[gold.faults[place]].fields
            else:
                assert not changed
    assert before == SOURCES


def test_each_fault_is_what_it_says() -> None:
    for gold in plant_faults(SOURCES, count=24, seed=5):
        source = next(source for source in SOURCES if source.unit_id == gold.source)
        for place, fault in gold.faults.items():
            old, new = source.content["turns"][int(place)], gold.content["turns"][int(place)]
            same_video = {
                turn["references"][0]
                for other in SOURCES
                if other.video_id == source.video_id
                for turn in other.content["turns"]
            }
            if fault is Fault.WRONG_ANSWER:
                assert new["references"][0] in same_video
                assert new["question"] == old["question"]
            elif fault is Fault.LEAKS:
                assert old["references"][0].rstrip(".") in new["question"]
            elif fault is Fault.WRONG_TIME:
                start, end = new["evidence"][0]["start_s"], new["evidence"][0]["end_s"]
                clip, shown = source.content["clips"][0], old["evidence"]
                assert clip["start_s"] <= start < end <= min(clip["end_s"], old.get("asked_at_s") or clip["end_s"])
                assert all(end <= part["start_s"] or part["end_s"] <= start for part in shown)
            elif fault is Fault.NOT_IN_VIDEO:
                assert new["references"][0] not in same_video
                assert new["evidence"] == old["evidence"]
            elif fault is Fault.LANGUAGE:
                assert not new["question"].isascii()
                assert new["references"] == old["references"]
            else:
                assert not {*new["labels"]["cogme.target"]} & {*old["labels"]["cogme.target"]}


def test_a_chinese_question_is_asked_in_english_and_leaks_in_chinese() -> None:
    chinese = content(0) | {"turns": [{"question": f"他拿了什么{n}?", "references": [f"杯子{n}。"]} for n in range(4)]}
    questions = {
        fault: gold.content["turns"][int(place)]["question"]
        for seed in range(20)
        for gold in plant_faults([GoldSource("u", "v", chinese)], count=1, seed=seed)
        for place, fault in gold.faults.items()
    }
    assert questions[Fault.LANGUAGE].isascii()
    assert questions[Fault.LEAKS].startswith("已知“杯子")


def test_nothing_is_planted_where_a_unit_has_one_turn() -> None:
    assert plant_faults([GoldSource("u", "v", content(0, turns=1))], count=3, seed=0) == []


DRAFT: Json = {
    "decision": None,
    "question": "Who?",
    "references": ["He."],
    "asked_at_s": 1.0,
    "evidence": [],
    "options": None,
    "correct_option": None,
    "labels": {},
}


@pytest.mark.parametrize(
    ("fault", "made", "expected"),
    [
        (Fault.WRONG_ANSWER, value(DRAFT, decision="reject", reasons=["wrong_answer"]), GoldOutcome.CAUGHT),
        (Fault.WRONG_ANSWER, value(DRAFT, decision="reject", reasons=["too_easy"]), GoldOutcome.NOTICED),
        (Fault.WRONG_ANSWER, value(DRAFT, decision="edit", references=["She."]), GoldOutcome.CAUGHT),
        (Fault.WRONG_ANSWER, value(DRAFT, decision="edit", question="Who is it?"), GoldOutcome.NOTICED),
        (Fault.WRONG_ANSWER, value(DRAFT, decision="accept"), GoldOutcome.MISSED),
        (Fault.WRONG_TIME, value(DRAFT, decision="edit", asked_at_s=2.0), GoldOutcome.CAUGHT),
        (Fault.LEAKS, value(DRAFT, decision="skip"), GoldOutcome.SKIPPED),
        (None, value(DRAFT, decision="reject", reasons=["leaks"]), GoldOutcome.FALSE_ALARM),
        (None, value(DRAFT, decision="edit", question="Whom?"), GoldOutcome.FALSE_ALARM),
        (None, value(DRAFT, decision="accept"), GoldOutcome.LEFT),
    ],
)
def test_what_somebody_made_of_a_place(fault: Fault | None, made: Json, expected: GoldOutcome) -> None:
    assert gold_outcome(fault, DRAFT, made) is expected


def test_reasons_that_fit_are_reasons_that_people_can_give() -> None:
    assert {reason for remedy in REMEDIES.values() for reason in remedy.reasons} <= set(Reason)


def test_measures_count_faults_and_whole_places_apart() -> None:
    found = measure_outcomes(
        [GoldOutcome.CAUGHT] * 6
        + [GoldOutcome.NOTICED] * 2
        + [GoldOutcome.MISSED] * 2
        + [GoldOutcome.LEFT, GoldOutcome.SKIPPED]
    )
    assert (found.caught.successes, found.caught.trials) == (8, 10)
    assert (found.fitting.successes, found.fitting.trials) == (6, 10)
    assert (found.false_alarms.successes, found.false_alarms.trials) == (0, 1)
    # Wilson's interval of 8 of 10, as in every table of it.
    assert (found.caught.low, found.caught.high) == pytest.approx((0.4902, 0.9433), abs=1e-4)


@pytest.fixture
def project(tmp_path: Path) -> ReviewProject:
    """A queue of eight chains, each done by two, and three annotators."""
    found = ReviewProject.open(tmp_path / "bench", folder=tmp_path / "review")
    with transaction(found.database, OPERATOR) as change:
        change.session.add(QueueRow(id="turns", task="turns", title="Review turns", position=0, overlap=2, settings={}))
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
    return found


def hand_in_next(project: ReviewProject, person: str, decision: str = "accept") -> str | None:
    """Do the next unit; its id."""
    with transaction(project.database, person) as change:
        found = next_unit(change, person, "turns", lease_minutes=30)
        if found is None:
            return None
        assignment, unit, task = own_work(change.session, person, found.id)
        for place in task.places(unit.content):
            made = task.draft_value(unit.content, place) | {"decision": decision}
            if decision == "reject":
                made["reasons"] = [str(unit.gold["faults"].get(place, "too_easy")) if unit.gold else "too_easy"]
            save_value(change, assignment, unit, task, place, 0, made)
        submit(change, assignment, unit, task, approval=False)
        return unit.id


def plant_in(project: ReviewProject, *, count: int = 3, trusted: Trusted = "drafts") -> int:
    with transaction(project.database, OPERATOR) as change:
        return plant_gold(change, "turns", count=count, seed=7, trusted=trusted).planted


def test_nobody_gets_gold_and_its_original_and_gold_never_becomes_a_result(project: ReviewProject) -> None:
    assert plant_in(project) == 3
    done: dict[str, list[str]] = {name: [] for name in ("ann", "ben", "cai")}
    busy = True
    while busy:
        busy = False
        for name, units in done.items():
            if unit := hand_in_next(project, name):
                units.append(unit)
                busy = True
    with project.database.reading() as session:
        gold = {row.id: row.gold["source"] for row in session.scalars(select(UnitRow).where(UnitRow.gold.is_not(None)))}
        assert len(gold) == 3
        for units in done.values():
            assert len(units) == len(set(units))
            assert not [unit for unit, source in gold.items() if unit in units and source in units]
        # Two of three do each original, so one is left for each copy.
        assert sum(unit in units for units in done.values() for unit in gold) == 3
        assert not {row.unit_id for row in session.scalars(select(ResultRow))} & set(gold)
        assert {row.state for row in session.scalars(select(UnitRow).where(UnitRow.gold.is_(None)))} == {"done"}
        assert {row.state for row in session.scalars(select(UnitRow).where(UnitRow.gold.is_not(None)))} == {"open"}


def test_planting_again_with_the_same_seed_adds_nothing(project: ReviewProject) -> None:
    assert (plant_in(project), plant_in(project)) == (3, 0)
    with project.database.reading() as session:
        assert len(session.scalars(select(EventRow).where(EventRow.kind == "gold")).all()) == 3


def test_gold_of_settled_work_is_made_of_what_people_kept(project: ReviewProject) -> None:
    with pytest.raises(InvalidValue, match="settled and kept whole"):
        plant_in(project, trusted="settled")
    for name in ("ann", "ben"):
        hand_in_next(project, name)
        hand_in_next(project, name, "reject")
        hand_in_next(project, name)
    assert plant_in(project, trusted="settled") == 2
    with project.database.reading() as session:
        sources = {row.gold["source"] for row in session.scalars(select(UnitRow).where(UnitRow.gold.is_not(None)))}
    assert sources == {"u0", "u2"}


def test_who_accepts_all_misses_all_and_who_rejects_all_raises_false_alarms(project: ReviewProject) -> None:
    with transaction(project.database, OPERATOR) as change:
        change.session.get_one(QueueRow, "turns").overlap = 1
    plant_in(project)
    while hand_in_next(project, "ann"):
        pass
    while hand_in_next(project, "ben", "reject"):
        pass
    with project.database.reading() as session:
        found = {person: measures for (person, _), measures in read_gold(session).items()}
    assert found["ann"].caught.successes == 0
    assert found["ann"].false_alarms.successes == 0
    assert found["ben"].fitting.share == 1
    assert found["ben"].false_alarms.share == 1


@pytest.mark.parametrize("count", [0, -1, 10_000])
def test_a_count_that_makes_no_sense_is_refused(project: ReviewProject, count: int) -> None:
    with pytest.raises(InvalidValue, match="1 to 200"):
        plant_in(project, count=count)


def test_gold_is_planted_in_a_queue_that_there_is(project: ReviewProject) -> None:
    with pytest.raises(NotFound), transaction(project.database, OPERATOR) as change:
        plant_gold(change, "nowhere", count=1, seed=0, trusted="drafts")
    with project.database.reading() as session:
        assert session.scalars(select(AssignmentRow)).all() == []

"""Names of units for people: by video and place, with a number that gives no gold away."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from team import Browser, Team, make_team, small_content

from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.store.content import Content
from reeltalk_review.assigning import next_unit
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.gold import add_known_answers
from reeltalk_review.importing import add_queue
from reeltalk_review.naming import dialogue_name
from reeltalk_review.tables import UnitRow
from reeltalk_review.tasks.answering import answer_drafts
from reeltalk_review.tasks.links import LinksTask
from reeltalk_review.tasks.rating import load_scale, rating_drafts
from reeltalk_review.tasks.turns import TurnsTask

TURNS = tuple(Turn(question=f"Question {index}?", references=("Answer.",)) for index in range(2))


def content() -> Content:
    """Two videos with names, each with chains about both clips; the first has two chains about one, and a dialogue."""
    found = small_content(2)
    for number, name in enumerate(("Kitchen, morning", "fry_carrot1_scene1")):
        found.videos[number] = found.videos[number].model_copy(update={"file": f"{name}.mp4"})
        film = f"film{number}"
        found.chains.append(QAChain(id=f"second-{film}", video_id=film, clip_id=f"{film}-1", turns=TURNS))
    found.chains.append(QAChain(id="third-film0", video_id="film0", clip_id="film0-1", turns=TURNS))
    both = ("film0-0", "film0-1")
    found.dialogues.append(Dialogue(id="whole", video_id="film0", clip_ids=both, turns=TURNS))
    return found


def answer(unit_id: str, model: str) -> AnsweredTurn:
    return AnsweredTurn(
        item_id=f"{unit_id}/0",
        model=model,
        unit="chain",
        unit_id=unit_id,
        turn_index=0,
        video_id="film0",
        question="Question?",
        references=("Answer.",),
        text="An answer.",
        state=AnswerState.ANSWERED,
    )


def test_units_are_named_by_video_and_place() -> None:
    names = [draft.title for draft in TurnsTask().drafts(content())]
    assert names == [
        "Kitchen, morning · clip 1",
        "Fry carrot · clip 1",
        "Kitchen, morning · clip 2, chain 1",
        "Fry carrot · clip 2",
        "Kitchen, morning · clip 2, chain 2",
        "Kitchen, morning",
    ]


def test_two_linked_chains_are_named_by_their_clips() -> None:
    names = [draft.title for draft in LinksTask().drafts(content())]
    assert "Fry carrot · clip 1 and clip 2" in names


def test_rated_answers_are_named_without_their_model() -> None:
    answers = [answer("chain-film0", model) for model in ("secret-one", "secret-two")]
    drafts = rating_drafts(answers, load_scale("rating"), content=content())
    assert {draft.title for draft in drafts} == {"Kitchen, morning · clip 1 · answers"}


def test_the_test_names_no_video_in_words() -> None:
    names = [draft.title for draft in answer_drafts(content(), "dialogue")]
    assert names[:3] == ["Video 1 · dialogue 1", "Video 2 · dialogue 1", "Video 1 · dialogue 2"]
    assert not any("Kitchen" in name or "carrot" in name for name in names)
    assert dialogue_name(1, 10) == "Dialogue 2 of 10"


@pytest.fixture
def database(database_kind: str) -> str:
    """Both kinds of databases."""
    return database_kind


@pytest.fixture
def team(tmp_path: Path, database: str) -> Iterator[Team]:
    found = make_team(tmp_path, content())
    yield found
    found.project.database.close()


def accept_all(browser: Browser, assignment: str) -> str:
    """Accept all of a task and submit it; the address of the next."""
    shown = browser.get(f"/api/work/{assignment}").json()
    for place in shown["places"]:
        turn = shown["unit"]["content"]["turns"][int(place)]
        value = {"decision": "accept", "question": turn["question"], "references": turn["references"]}
        assert browser.save(assignment, place, value).status_code == 200
    return str(browser.api("POST", f"/api/work/{assignment}/submit").json()["next"]).removeprefix("/work/")


def test_a_task_has_the_same_name_everywhere(team: Team) -> None:
    browser, owner = team.member("Ada", "annotator"), team.member("Olga", "owner")
    first = browser.next("turns")
    assert browser.get(f"/api/work/{first}").json()["unit"]["name"] == "Kitchen, morning · clip 1"
    assert "Kitchen, morning · clip 1 · reeltalk review</title>" in browser.get(f"/work/{first}").text
    assert "Kitchen, morning · clip 1" in browser.get("/").text
    second = accept_all(browser, first)
    assert "Fry carrot · clip 1 · reeltalk review</title>" in browser.get(f"/work/{second}").text
    history = owner.get("/history").text
    assert "Fry carrot · clip 1" in history
    assert "Kitchen, morning · clip 1" in history


def test_no_name_gives_known_answers_away(tmp_path: Path, database: str) -> None:
    team = make_team(tmp_path, small_content(45))
    browser, other = (team.member(name, "annotator") for name in ("Ada", "Bo"))
    accept_all(other, accept_all(other, other.next("turns")))
    with transaction(team.project.database, OPERATOR) as change:
        assert add_known_answers(change, "turns", "faults", 2) == 2
    names, planted = [], 0
    while True:
        with transaction(team.project.database, browser.id) as change:
            work = next_unit(change, browser.id, "turns", lease_minutes=30)
            if work is None:
                break
            unit = change.session.get_one(UnitRow, work.unit_id)
            names.append(unit.title)
            planted += unit.gold is not None
            work.state = "submitted"
    team.project.database.close()
    assert planted
    assert len(set(names)) == len(names)


def test_two_tasks_of_the_same_name_in_a_queue_are_told_apart(team: Team) -> None:
    answers = [answer("chain-film0", model) for model in ("secret-one", "secret-two")]
    drafts = rating_drafts(answers, load_scale("rating"), content=content())
    with transaction(team.project.database, OPERATOR) as change:
        add_queue(change, "rating", "rating", drafts, title="Rate")
        titles = {unit.title for unit in change.session.query(UnitRow).where(UnitRow.queue_id == "rating")}
    assert titles == {"Kitchen, morning · clip 1 · answers", "Kitchen, morning · clip 1 · answers (2)"}

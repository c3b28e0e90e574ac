"""Two-role collection: who sees what, whose turn it is, when roles change, and what awaits approval."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete
from team import Browser, Team, make_team, small_content

from reeltalk_review.applying.collected import collected_dialogues
from reeltalk_review.assigning import open_units
from reeltalk_review.collecting import CollectSettings, collecting_drafts, is_hidden_from
from reeltalk_review.events import OPERATOR, broken_links, transaction
from reeltalk_review.importing import add_queue
from reeltalk_review.tables import LiveDialogueRow, UnitRow, VideoRow


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    content = small_content(4)
    made = make_team(tmp_path, content)
    settings = CollectSettings(least_turns=2, most_turns=3, approve_first=1).model_dump(mode="json")
    with transaction(made.project.database, OPERATOR) as change:
        add_queue(
            change, "collect", "collect", collecting_drafts(content), title="Collect", overlap=2, settings=settings
        )
        for row in change.session.query(VideoRow):
            row.file, row.media_type = "original", "video/mp4"
    yield made
    made.project.database.close()


@pytest.fixture
def owner(team: Team) -> Browser:
    return team.member("Olga", "owner")


@pytest.fixture
def pair(team: Team, owner: Browser) -> tuple[Browser, Browser, str]:
    first, second = team.member("Ines", "annotator"), team.member("Carl", "annotator")
    made = owner.form("/pairs", queue="collect", first=first.id, second=second.id, goal="4")
    assert made.status_code == 303, made.text
    address = first.get("/").text.split('action="/pairs/')[1].split("/begin")[0]
    return first, second, address


def begin(browser: Browser, pair_id: str) -> Any:
    return browser.form(f"/pairs/{pair_id}/begin")


def talk(asks: Browser, answers: Browser, pair_id: str, turns: int = 2) -> str:
    dialogue = str(begin(asks, pair_id).headers["location"]).removeprefix("/dialogues/")
    for position in range(2 * turns):
        speaker = asks if position % 2 == 0 else answers
        said = speaker.api(
            "POST", f"/api/dialogues/{dialogue}/messages", {"position": position, "text": f"m{position}"}
        )
        assert said.status_code == 200, said.text
    return dialogue


def test_the_investigator_gets_the_activities_in_no_order_and_nothing_of_the_video(
    team: Team, pair: tuple[Browser, Browser, str]
) -> None:
    asks, answers, pair_id = pair
    dialogue = talk(asks, answers, pair_id)
    known = answers.get(f"/api/dialogues/{dialogue}").json()
    video = known["video"]
    assert video["playable"] == f"/media/{video['sha256']}"
    seen = asks.get(f"/api/dialogues/{dialogue}").json()
    assert seen["role"] == "investigator"
    assert seen["activities"] == ["Admire art", "Wash dishes"]
    with team.project.database.reading() as session:
        assert is_hidden_from(session, asks.id, [known["video_id"]])
        assert not is_hidden_from(session, answers.id, [known["video_id"]])
    for address in ("/", f"/dialogues/{dialogue}", f"/api/dialogues/{dialogue}"):
        text = asks.get(address).text
        assert video["sha256"] not in text
        assert known["video_id"] not in text


def test_the_investigator_gets_no_other_work_on_the_video(team: Team, pair: tuple[Browser, Browser, str]) -> None:
    asks, answers, pair_id = pair
    dialogue = talk(asks, answers, pair_id)
    with transaction(team.project.database, OPERATOR) as change:
        talked = change.session.get_one(UnitRow, change.session.get_one(LiveDialogueRow, dialogue).unit_id)
        change.session.execute(delete(UnitRow).where(UnitRow.queue_id == "turns", UnitRow.video_id != talked.video_id))
        assert [open_units(change.session, "turns", who.id, change.at) for who in (asks, answers)] == [0, 1]
    assert asks.form("/queues/turns/next").headers["location"] == "/?nothing=1"
    assert answers.form("/queues/turns/next").headers["location"].startswith("/work/")


def test_strangers_find_no_dialogue(team: Team, owner: Browser, pair: tuple[Browser, Browser, str]) -> None:
    dialogue = talk(*pair)
    stranger = team.member("Sven", "annotator")
    for browser in (stranger, owner):
        assert browser.get(f"/api/dialogues/{dialogue}").status_code == 404
        said = browser.api("POST", f"/api/dialogues/{dialogue}/messages", {"position": 4, "text": "x"})
        assert said.status_code == 404
    assert begin(stranger, pair[2]).status_code == 404


def test_each_speaks_in_turn_and_may_correct_the_last_word(pair: tuple[Browser, Browser, str]) -> None:
    asks, answers, pair_id = pair
    dialogue = str(begin(asks, pair_id).headers["location"]).removeprefix("/dialogues/")
    path = f"/api/dialogues/{dialogue}/messages"
    assert answers.api("POST", path, {"position": 0, "text": "hello"}).json()["error"]["code"] == "not_your_turn"
    assert asks.api("POST", path, {"position": 0, "text": "Where is hee?"}).status_code == 200
    assert asks.api("POST", path, {"position": 2, "text": "And then?"}).json()["error"]["code"] == "said_meanwhile"
    assert asks.api("POST", path, {"position": 0, "text": "Where is he?"}).status_code == 200
    assert answers.api("POST", path, {"position": 1, "text": "In the kitchen."}).status_code == 200
    late = asks.api("POST", path, {"position": 0, "text": "Who is he?"})
    assert (late.status_code, late.json()["error"]["code"]) == (409, "said_meanwhile")
    texts = [message["text"] for message in asks.get(f"/api/dialogues/{dialogue}").json()["messages"]]
    assert texts == ["Where is he?", "In the kitchen."]


def test_a_message_whose_answer_was_lost_is_said_once(pair: tuple[Browser, Browser, str]) -> None:
    asks, answers, pair_id = pair
    dialogue = str(begin(asks, pair_id).headers["location"]).removeprefix("/dialogues/")
    path = f"/api/dialogues/{dialogue}/messages"
    for _ in range(2):
        assert asks.api("POST", path, {"position": 0, "text": "Where?"}, key="the-same-key").status_code == 200
    assert answers.api("POST", path, {"position": 1, "text": "There."}).status_code == 200
    assert asks.api("POST", path, {"position": 0, "text": "Where?"}, key="the-same-key").status_code == 200
    assert len(asks.get(f"/api/dialogues/{dialogue}").json()["messages"]) == 2


def test_the_first_dialogue_awaits_approval_and_roles_change_half_way(
    team: Team, owner: Browser, pair: tuple[Browser, Browser, str]
) -> None:
    first, second, pair_id = pair
    dialogue = talk(first, second, pair_id, turns=1)
    assert first.api("POST", f"/api/dialogues/{dialogue}/finish").status_code == 409, "too few questions"
    for position in (2, 3):
        (first, second)[position % 2].api(
            "POST", f"/api/dialogues/{dialogue}/messages", {"position": position, "text": f"m{position}"}
        )
    assert second.api("POST", f"/api/dialogues/{dialogue}/finish").status_code == 403, "the investigator ends it"
    assert first.api("POST", f"/api/dialogues/{dialogue}/finish").json() == {"state": "awaiting"}
    assert begin(first, pair_id).status_code == 409
    back = owner.form(f"/dialogues/{dialogue}/judge", verdict="send_back", note="ask more about the order")
    assert back.status_code == 303
    assert first.get(f"/api/dialogues/{dialogue}").json()["note"] == "ask more about the order"
    assert first.api("POST", f"/api/dialogues/{dialogue}/finish").json() == {"state": "awaiting"}
    owner.form(f"/dialogues/{dialogue}/judge", verdict="approve")
    roles, videos = [], []
    for number in range(3):
        asks, answers = (first, second) if number < 1 else (second, first)
        dialogue = talk(asks, answers, pair_id)
        known = answers.get(f"/api/dialogues/{dialogue}").json()
        assert known["role"] == "correspondent"
        roles.append(asks.name)
        videos.append(known["video_id"])
        assert asks.api("POST", f"/api/dialogues/{dialogue}/finish").json() == {"state": "approved"}
    assert roles == ["Ines", "Carl", "Carl"]
    assert begin(first, pair_id).status_code == 409
    with team.project.database.reading() as session:
        found = list(collected_dialogues(session))
        assert list(broken_links(session)) == []
    assert [len(row.turns) for row in found] == [2, 2, 2, 2]
    assert found[0].turns[0].question == "m0"
    assert found[0].turns[0].references == ("m1",)
    # Whoever answered about a video knows it, and never asks about it.
    assert len({row.video_id for row in found}) == 4


def test_nobody_judges_their_own_dialogue(team: Team, owner: Browser) -> None:
    other = team.member("Carl", "adjudicator")
    owner.form("/pairs", queue="collect", first=owner.id, second=other.id, goal="2")
    pair_id = owner.get("/").text.split('action="/pairs/')[1].split("/begin")[0]
    dialogue = talk(owner, other, pair_id)
    owner.api("POST", f"/api/dialogues/{dialogue}/finish")
    page = owner.get(f"/dialogues/{dialogue}/look")
    assert "your own dialogue" in page.text
    assert "/media/" not in page.text, "the owner investigates here"
    assert owner.form(f"/dialogues/{dialogue}/judge", verdict="approve").status_code == 403
    with team.project.database.reading() as session:
        assert session.get_one(LiveDialogueRow, dialogue).state == "awaiting"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"goal": "3"}, "even"),
        ({"goal": "many"}, "number"),
        ({"second": "nobody"}, "two different people"),
        ({"queue": "turns"}, "no such queue"),
    ],
)
def test_a_pair_that_cannot_be_is_refused(team: Team, owner: Browser, fields: dict[str, str], says: str) -> None:
    other = team.member("Carl", "annotator")
    wanted = {"queue": "collect", "first": owner.id, "second": other.id, "goal": "4"} | fields
    answer = owner.form("/pairs", **wanted)
    assert answer.status_code in (404, 422)
    assert says in answer.text
    assert owner.form("/pairs", **{**wanted, "first": owner.id, "second": owner.id}).status_code in (404, 422)


def test_units_for_pairs_are_taken_by_nobody_alone(owner: Browser) -> None:
    assert owner.form("/queues/collect/next").status_code == 404


def test_an_answer_has_evidence_which_becomes_that_of_the_turn(team: Team, pair: tuple[Browser, Browser, str]) -> None:
    asks, answers, pair_id = pair
    dialogue = str(begin(asks, pair_id).headers["location"]).removeprefix("/dialogues/")
    address, shown = f"/api/dialogues/{dialogue}/messages", [{"start_s": 2.0, "end_s": 4.5}]

    def say(browser: Browser, position: int, text: str, **more: Any) -> Any:
        return browser.api("POST", address, {"position": position, "text": text, **more})

    refused = say(asks, 0, "???")
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "no_sense")
    assert [finding["field"] for finding in refused.json()["findings"]] == ["text"]
    assert say(asks, 0, "Where is he?", evidence=shown).status_code == 422
    assert say(asks, 0, "Where is he?").status_code == 200
    refused = say(answers, 1, "In bed.", evidence=[*shown, {"start_s": 4.0, "end_s": 99.0}])
    assert [(one["turn"], one["field"], one["may_go_on"]) for one in refused.json()["findings"]] == [
        (1, "evidence.1.end_s", False),
        (1, "evidence.1", False),
    ]
    said = say(answers, 1, "In bed.", evidence=shown).json()
    assert [message["evidence"] for message in said["messages"]] == [[], shown]
    assert said["film"] == {"duration_s": 20.0, "frame_s": None}
    seen = asks.get(f"/api/dialogues/{dialogue}").json()
    assert "film" not in seen
    assert all("evidence" not in message for message in seen["messages"])
    for position in (2, 3):
        say((asks, answers)[position % 2], position, f"m{position}")
    asks.api("POST", f"/api/dialogues/{dialogue}/finish")
    team.member("Ada", "adjudicator").form(f"/dialogues/{dialogue}/judge", verdict="approve")
    with team.project.database.reading() as session:
        (collected,) = collected_dialogues(session)
    first, second = collected.turns
    assert (first.asked_at_s, [part.model_dump() for part in first.evidence]) == (20.0, shown)
    assert (second.asked_at_s, second.evidence) == (20.0, ())

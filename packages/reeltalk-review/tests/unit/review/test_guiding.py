"""What people are told about their work: the home page and the guidelines of queues."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select
from team import Browser, Team, make_team, small_content

from reeltalk_review.collecting import CollectSettings, add_pair, collecting_drafts
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.guiding import default_guideline, is_safe_link, render_guideline
from reeltalk_review.importing import add_queue
from reeltalk_review.tables import EventRow, QueueRow
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.verifying import verify_history


@pytest.fixture
def database(database_kind: str) -> str:
    """Both kinds of databases."""
    return database_kind


@pytest.fixture
def team(tmp_path: Path, database: str) -> Iterator[Team]:
    found = make_team(tmp_path)
    yield found
    assert verify_history(found.project.database).findings == ()
    found.project.database.close()


def write(owner: Browser, text: str, *, based_on: str = "", says: str = "") -> int:
    answer = owner.form("/setup/queues/turns/guideline", text=text, based_on=based_on, says=says)
    return int(answer.status_code)


def shown_at(owner: Browser) -> str:
    """When the guideline that the form shows was written."""
    return str(owner.get("/setup/queues/turns/guideline").text.split('name="based_on" value="')[1].split('"')[0])


@pytest.mark.parametrize("kind", [*TASKS, "collect"])
def test_every_kind_of_work_comes_with_a_guideline_with_examples(kind: str) -> None:
    html = render_guideline(default_guideline(kind))
    assert 'class="language-good"' in html
    assert f"{kind}, version" not in html


@pytest.mark.parametrize(
    ("address", "safe"),
    [
        ("https://example.org/a", True),
        ("http://example.org", True),
        ("/units", True),
        ("#part", True),
        ("notes/rules", True),
        ("javascript:alert(1)", False),
        ("JaVaScRiPt:alert(1)", False),
        (" javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("file:///etc/passwd", False),
        ("//evil.example", False),
        ("/\\evil.example", False),
        ("\\\\evil.example", False),
        ("mailto:a@b.c", False),
    ],
)
def test_a_guideline_leads_only_to_the_web_and_to_this_server(address: str, safe: bool) -> None:
    assert is_safe_link(address) is safe


def test_nothing_in_a_guideline_is_executed_or_loaded() -> None:
    text = (
        "# Rules\n\n<script>alert(1)</script> <b onclick=x>b</b> ![](https://example.org/x.png)\n\n"
        "[a](javascript:alert(1)) [b](https://example.org)\n\n```good\n<i>x</i>\n```\n\n| a |\n|---|\n| 1 |\n"
    )
    html = str(render_guideline(text))
    assert "<script" not in html
    assert "<b " not in html
    assert "<img" not in html
    assert "<i>" not in html
    assert 'href="javascript' not in html
    assert '<a href="https://example.org" rel="noopener noreferrer" target="_blank">b</a>' in html
    assert "<h2>Rules</h2>" in html
    assert "<td>1</td>" in html


def test_an_owner_writes_a_guideline_and_the_history_keeps_the_one_before(team: Team) -> None:
    owner, browser = team.member("Olga", "owner"), team.member("Ada", "annotator")
    assignment = browser.next("turns")
    assert "Watch the evidence" in browser.get(f"/work/{assignment}").text
    assert "It came with reeltalk" in browser.get("/guidelines/turns").text
    assert (shown_at(owner), write(owner, "Look **twice**.", says="Look at questions.")) == ("", 303)
    assert "Look at questions." in browser.get("/").text
    assert "<strong>twice</strong>" in browser.get(f"/work/{assignment}").text
    assert "By Olga" in browser.get("/guidelines/turns").text
    assert write(owner, "Another.") == 409, "somebody wrote one meanwhile"
    assert write(owner, "Look **twice**.", says="Look at questions.") == 303, "nothing changed"
    assert write(owner, "Look thrice.", based_on=shown_at(owner), says="Look at questions.") == 303
    with team.project.database.reading() as session:
        events = list(session.scalars(select(EventRow).order_by(EventRow.seq)))
    texts = [event.after["text"] for event in events if event.kind == "guideline"]
    assert texts == ["Look **twice**.\n", "Look thrice.\n"]
    assert [event.kind for event in events].count("line") == 1


@pytest.mark.parametrize("text", [" ", "x" * 50_001])
def test_a_guideline_that_is_empty_or_too_long_is_refused_and_kept_in_the_form(team: Team, text: str) -> None:
    owner = team.member("Olga", "owner")
    assert write(owner, text) == 422


def test_nobody_but_an_owner_writes_a_guideline(team: Team) -> None:
    for role in ("adjudicator", "annotator", "reader"):
        browser = team.member(f"A {role}", role)
        assert write(browser, "Mine.") == 403
        assert browser.get("/setup/queues/turns/guideline").status_code == 403
        assert browser.get("/guidelines/turns").status_code == 200


def test_the_first_page_says_what_a_queue_is_and_whether_to_begin_or_to_go_on(team: Team) -> None:
    browser = team.member("Ada", "annotator")
    home = browser.get("/").text
    assert "accept, change or reject each question" in home
    assert ">Begin</button>" in home
    assert "3 left for you" in home
    browser.next("turns")
    home = browser.get("/").text
    assert ">Go on</button>" in home
    assert "3 left for you, 1 of them begun" in home


def test_the_first_page_says_whose_turn_it_is_in_a_pair(team: Team) -> None:
    ask, answer = team.member("Ada", "annotator"), team.member("Bo", "annotator")
    with transaction(team.project.database, OPERATOR) as change:
        settings = CollectSettings(least_turns=1, most_turns=3, approve_first=1).model_dump(mode="json")
        drafts = collecting_drafts(small_content(3))
        add_queue(change, "collect", "collect", drafts, title="Collect", overlap=2, settings=settings)
        pair = add_pair(change, "collect", ask.id, answer.id, 2).id
    assert "Dialogue 1 of 2 can begin: you ask." in ask.get("/").text
    assert "Dialogue 1 of 2 can begin: you answer." in answer.get("/").text
    dialogue = str(ask.form(f"/pairs/{pair}/begin").headers["location"]).removeprefix("/dialogues/")
    assert "With Bo. <strong>Dialogue 1 of 2: it is your turn to ask.</strong>" in ask.get("/").text
    assert "With Ada. Dialogue 1 of 2: Ada is to ask." in answer.get("/").text
    ask.api("POST", f"/api/dialogues/{dialogue}/messages", {"position": 0, "text": "Where is she?"})
    assert "it is your turn to answer" in answer.get("/").text
    assert "Bo is to answer" in ask.get("/").text
    answer.api("POST", f"/api/dialogues/{dialogue}/messages", {"position": 1, "text": "In the kitchen."})
    ask.api("POST", f"/api/dialogues/{dialogue}/finish")
    assert "Your last dialogue awaits approval." in ask.get("/").text
    assert "film" not in ask.get("/").text, "the first page names no video to whom asks about it"


def test_times_are_elements_that_browsers_can_show_in_the_zone_of_their_reader(team: Team) -> None:
    browser = team.member("Ada", "annotator")
    browser.next("turns")
    home = browser.get("/").text
    with team.project.database.reading() as session:
        at = session.scalars(select(EventRow.at).where(EventRow.kind == "take")).one()
        assert session.get_one(QueueRow, "turns").is_open
    assert f'<time datetime="{at}">{at[:10]} {at[11:16]} UTC</time>' in home

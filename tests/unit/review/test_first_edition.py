"""A database of the first edition, with work of every kind in it, is opened by this one, and people go on.

`tools/first_edition_review.py` made the samples with the program of that time.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from first_edition import SAMPLES, open_first_edition
from sqlalchemy import select, text
from team import PASSWORD, Browser, client_of

from reeltalk.cli import run
from reeltalk.review.app import create_app
from reeltalk.review.applying.stage import apply_reviews
from reeltalk.review.database import Database, ReviewProject, sqlite_url
from reeltalk.review.events import OPERATOR, transaction
from reeltalk.review.exporting import export_project, restore_project
from reeltalk.review.people import make_reset, reset_password
from reeltalk.review.tables import AssignmentRow, LiveDialogueRow, MessageRow, PersonRow, UnitRow
from reeltalk.review.team_stats import queue_table
from reeltalk.review.verifying import verify_history
from reeltalk.store.benchmark import Benchmark


@dataclass
class Upgraded:
    """A project of the first edition that this one opened, and what people saw before."""

    folder: Path
    url: str | None
    project: ReviewProject
    expected: Any

    def __post_init__(self) -> None:
        self.app = create_app(self.project)

    def sign_in(self, name: str) -> Browser:
        """Somebody who signs in with the password that they chose in the first edition."""
        client = client_of(self.app)
        answer = client.post("/sign-in", data={"name": name, "password": PASSWORD}, follow_redirects=False)
        assert answer.status_code == 303, answer.text
        with self.project.database.reading() as session:
            person = session.scalars(select(PersonRow.id).where(PersonRow.name == name)).one()
        csrf = client.get("/").text.split('name="csrf" content="')[1].split('"')[0]
        # The database knows the keys of their requests.
        return Browser(name, person, client, csrf, keys=100_000)

    def options(self) -> list[str]:
        return ["--database", self.url] if self.url is not None else []

    def work(self, name: str, state: str, role: str = "annotator", target: str | None = None) -> str:
        """Id of somebody's work in a state."""
        with self.project.database.reading() as session:
            found = select(AssignmentRow.id).join(PersonRow, PersonRow.id == AssignmentRow.person_id)
            found = found.join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
            found = found.where(PersonRow.name == name, AssignmentRow.state == state, AssignmentRow.role == role)
            found = found.where(UnitRow.target_id == target) if target is not None else found
            return str(session.scalars(found).one())


@pytest.fixture(params=["sqlite", "postgresql"])
def upgraded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Upgraded]:
    url = request.getfixturevalue("new_postgres")() if request.param == "postgresql" else None
    project = open_first_edition(tmp_path, url)
    expected = json.loads((tmp_path / "expected.json").read_text(encoding="utf-8"))
    yield Upgraded(tmp_path, url, project, expected)
    project.database.close()


def within(before: Any, now: Any, where: str = "") -> None:
    """All that was is still so; this edition may say more."""
    if isinstance(before, dict):
        assert isinstance(now, dict), where
        for name, value in before.items():
            assert name in now, f"{where}/{name}"
            within(value, now[name], f"{where}/{name}")
    elif isinstance(before, list):
        # A vocabulary was the list of its labels.
        now = now["labels"] if "/vocabularies/" in where and isinstance(now, dict) else now
        assert isinstance(now, list), where
        assert len(before) == len(now), where
        for number, (old, new) in enumerate(zip(before, now, strict=True)):
            within(old, new, f"{where}/{number}")
    else:
        assert before == now, where


def test_the_tables_are_those_of_this_edition_and_the_history_has_the_same_end(
    upgraded: Upgraded, capsys: pytest.CaptureFixture[str]
) -> None:
    with upgraded.project.database.reading() as session:
        assert session.scalar(text("SELECT version_num FROM alembic_version")) > "0001"
        assert [list(row) for row in queue_table(session)] == upgraded.expected["status"]
    head = upgraded.expected["head"]
    command = ["review", "status", str(upgraded.project.benchmark), "--verify", "--head", head, *upgraded.options()]
    assert run(command) == 0
    assert f"head {head}" in capsys.readouterr().out


def test_everybody_sees_the_work_that_they_did(upgraded: Upgraded) -> None:
    browsers = {name: upgraded.sign_in(name) for name in ("Ada", "Jo", "Ann", "Ben", "Cai", "Rae")}
    works = upgraded.expected["works"]
    states = {work["says"]["assignment"]["state"] for work in works.values() if work["status"] == 200}
    assert states >= {"working", "returned", "submitted", "lapsed"}
    for work in works.values():
        shown = browsers[work["who"]].get(work["at"])
        assert shown.status_code == work["status"]
        if shown.status_code == 200:
            for part in ("assignment", "entries"):
                within(work["says"][part], shown.json()[part], f"{work['at']} {part}")
            # This edition says more of each vocabulary than its labels.
            content = {name: part for name, part in work["says"]["unit"]["content"].items() if name != "vocabularies"}
            within(content, shown.json()["unit"]["content"], work["at"])
    for name, addresses in (
        ("Ada", ("/", "/board", "/team", "/setup", "/history", "/pairs")),
        ("Jo", ("/", "/adjudicate", "/board")),
        ("Rae", ("/", "/board")),
    ):
        assert {address: browsers[name].get(address).status_code for address in addresses} == dict.fromkeys(
            addresses, 200
        )


def test_applying_gives_what_the_first_edition_would_have_given(upgraded: Upgraded) -> None:
    apply_reviews(upgraded.project, into=upgraded.folder / "applied")
    content = Benchmark.open(upgraded.folder / "applied").content()
    made = {name: [row.model_dump(mode="json") for row in rows] for name, rows in content.rows()}
    assert sum(len(upgraded.expected["applied"][name]) for name in ("chains", "reviews", "answers", "scores")) > 30
    for name, rows in upgraded.expected["applied"].items():
        within(rows, made[name], name)


def decide(browser: Browser, work: str, *, only: str | None = None) -> None:
    """Accept each turn of some work, or one."""
    shown = browser.get(f"/api/work/{work}").json()
    for place in shown["places"] if only is None else [only]:
        entry = shown["entries"].get(place)
        turn = shown["unit"]["content"]["turns"][int(place)]
        names = ("question", "references", "asked_at_s", "evidence", "labels")
        value = entry["value"] if entry else {name: turn[name] for name in names if name in turn}
        if entry is None or entry["stale"] or value["decision"] is None:
            saved = browser.save(work, place, {**value, "decision": "accept", "reasons": []})
            assert saved.status_code == 200, saved.text


def test_people_go_on_with_what_they_began(upgraded: Upgraded) -> None:
    ann, ben, cai, jo = (upgraded.sign_in(name) for name in ("Ann", "Ben", "Cai", "Jo"))
    for browser, work in (
        (ann, upgraded.work("Ann", "working", target="chain-film2")),
        (ben, upgraded.work("Ben", "returned")),
        (cai, upgraded.work("Cai", "lapsed")),
    ):
        for step in ("undo", "redo"):
            answer = browser.api("POST", f"/api/work/{work}/{step}")
            assert answer.status_code == 200, answer.text
        decide(browser, work)
        answer = browser.api("POST", f"/api/work/{work}/submit")
        assert answer.status_code == 200, answer.text
    begun = upgraded.work("Jo", "working", "adjudicator", "talk")
    shown = jo.get(f"/api/adjudicate/{begun}").json()
    for place in shown["disputed"]:
        assert jo.save(begun, place, {"take": shown["sides"][0]["id"]}).status_code == 200
    assert jo.api("POST", f"/api/work/{begun}/submit").status_code == 200
    found = verify_history(upgraded.project.database)
    assert found.findings == ()
    assert f"{found.seq}:{found.head}" > upgraded.expected["head"]


def test_a_live_dialogue_goes_on(upgraded: Upgraded) -> None:
    with upgraded.project.database.reading() as session:
        (dialogue,) = session.scalars(select(LiveDialogueRow).where(LiveDialogueRow.state == "live"))
        said = list(session.scalars(select(MessageRow.text).where(MessageRow.dialogue_id == dialogue.id)))
        name = session.get_one(PersonRow, dialogue.investigator_id).name
    assert said == ["Who \u201cis\u201d it? \U0001f600", "The cook."]
    with transaction(upgraded.project.database, OPERATOR) as change:
        reset_password(change, upgraded.project.secret, make_reset(change, upgraded.project.secret, name), PASSWORD)
    asks = upgraded.sign_in(name)
    shown = asks.get(f"/api/dialogues/{dialogue.id}").json()
    assert [message["text"] for message in shown["messages"]] == said
    path = f"/api/dialogues/{dialogue.id}/messages"
    assert asks.api("POST", path, {"position": 2, "text": "And then?"}).status_code == 200
    assert verify_history(upgraded.project.database).findings == ()


@pytest.mark.parametrize("written_by", ["sqlite", "postgresql"])
@pytest.mark.parametrize("into", ["sqlite", "postgresql"])
def test_an_export_of_the_first_edition_is_restored(
    written_by: str, into: str, tmp_path: Path, new_postgres: Callable[[], str], request: pytest.FixtureRequest
) -> None:
    shutil.unpack_archive(SAMPLES / f"{written_by}.tar.gz", tmp_path, filter="data")
    expected = json.loads((tmp_path / "expected.json").read_text(encoding="utf-8"))
    database = Database(new_postgres() if into == "postgresql" else sqlite_url(tmp_path / "back.db"))
    request.addfinalizer(database.close)
    database.migrate()
    restore_project(database, tmp_path / "export")
    found = verify_history(database)
    assert found.findings == ()
    assert f"{found.seq}:{found.head}" == expected["head"]
    with database.reading() as session:
        assert [list(row) for row in queue_table(session)] == expected["status"]
    export_project(database, tmp_path / "again")
    for name in ("events", "people", "messages", "results"):
        before, now = ((tmp_path / folder / f"{name}.jsonl").read_text() for folder in ("export", "again"))
        within(
            [json.loads(line) for line in before.splitlines()], [json.loads(line) for line in now.splitlines()], name
        )

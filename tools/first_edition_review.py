r"""A review with work of every kind in it, as the program of its checkout makes it: for tests of upgrades.

Run it with the code of the edition whose database is wanted:

    git worktree add /tmp/first 1c633005
    PYTHONPATH=/tmp/first/src:/tmp/first/tools:/tmp/first/tests/unit/review \
        python tools/first_edition_review.py tests/review_first_edition

It writes an archive for SQLite and one for PostgreSQL: the benchmark, the database, an export, and `expected.json` with
what people see. Whoever is in `PEOPLE` signs in with `team.PASSWORD`.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from people_at_work import full_content, talk_in_pairs, unit_id
from postgres_cluster import PostgresCluster, postgres_cluster
from sqlalchemy import select
from team import Browser, Team, make_team, small_content

from reeltalk.review.applying.stage import apply_reviews
from reeltalk.review.assigning import ADJUDICATOR, ANNOTATOR, take_unit
from reeltalk.review.database import ProjectSettings
from reeltalk.review.events import OPERATOR, transaction
from reeltalk.review.exporting import export_project
from reeltalk.review.gold import plant_gold
from reeltalk.review.importing import add_queue, import_benchmark
from reeltalk.review.tables import AssignmentRow, PersonRow, UnitRow
from reeltalk.review.tasks.answering import answer_drafts
from reeltalk.review.tasks.rating import RatingTask, load_scale, rating_drafts
from reeltalk.review.team_stats import queue_table
from reeltalk.review.verifying import verify_history
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

STALE_LEASE: Final = timedelta(hours=2)
PEOPLE: Final = {
    "Ada": "owner",
    "Jo": "adjudicator",
    "Ann": "annotator",
    "Ben": "annotator",
    "Cai": "annotator",
    "Rae": "reader",
    "Lee": "annotator",
}


def content() -> Content:
    """Three linked chains about one film, a dialogue, and seven chains about films of their own."""
    found, more = full_content(), small_content(7)
    for name in ("videos", "clips", "chains", "paths"):
        getattr(found, name).extend(getattr(more, name))
    return found


class Work:
    """What a team does in a project, step by step."""

    def __init__(self, team: Team) -> None:
        self.team, self.project = team, team.project
        self.people: dict[str, Browser] = {name: team.member(name, role) for name, role in PEOPLE.items()}

    def take(
        self, name: str, unit: str, role: str = ANNOTATOR, *, ago: timedelta = timedelta(), lease_minutes: int = 30
    ) -> str:
        """Let somebody take a unit, now or some time ago; the assignment's id."""
        person = self.people[name].id
        with transaction(self.project.database, person, now=datetime.now(UTC) - ago) as change:
            # Whoever submits gets the next unit at once.
            mine = select(AssignmentRow.id).where(AssignmentRow.unit_id == unit, AssignmentRow.person_id == person)
            if (found := change.session.scalars(mine).first()) is not None:
                return found
            row = change.session.get_one(UnitRow, unit)
            return take_unit(change, row, person, role, lease_minutes=lease_minutes).id

    def chain(self, name: str) -> str:
        """The unit of a chain, or of the dialogue, in the queue of turns."""
        return unit_id("turns", "dialogues" if name == "talk" else "chains", name)

    def save(self, name: str, work: str, place: str, value: dict[str, Any]) -> None:
        """Save a value."""
        answer = self.people[name].save(work, place, value)
        assert answer.status_code == 200, (name, place, answer.text)

    def turn(self, name: str, work: str, place: int, decision: str = "accept", **changed: Any) -> None:
        """Decide a turn as it was drafted, with changes."""
        shown = self.people[name].get(f"/api/work/{work}").json()["unit"]["content"]["turns"][place]
        kept = ("question", "references", "asked_at_s", "evidence", "labels", "options", "correct_option")
        value = {field: shown[field] for field in kept if field in shown}
        reasons = ["ambiguous"] if decision == "reject" else []
        self.save(name, work, str(place), {**value, "decision": decision, "reasons": reasons, **changed})

    def post(self, name: str, address: str, body: Any = None) -> Any:
        """Send a change."""
        answer = self.people[name].api("POST", address, body)
        assert answer.status_code == 200, (name, address, answer.text)
        return answer.json()

    def review(self, name: str, chain: str, decisions: dict[int, dict[str, Any]], *, turns: int = 3) -> str:
        """Review a whole chain: accept each turn that is not decided otherwise, and submit; the assignment's id."""
        work = self.take(name, self.chain(chain))
        for place in range(turns):
            self.turn(name, work, place, **decisions.get(place, {}))
        self.post(name, f"/api/work/{work}/submit")
        return work

    def on_turns(self) -> None:
        """Agreed, settled, disputed, returned, begun, undone, lapsed and submitted work on turns."""
        for name in ("Ann", "Ben"):
            self.review(name, "a", {1: {"decision": "edit", "question": "What is it, after all?"}})
        works = [
            self.review("Ann", "b", {0: {"decision": "edit", "question": "Whose is it?"}, 1: {"decision": "reject"}}),
            self.review("Ben", "b", {}),
        ]
        judged = self.take("Jo", self.chain("b"), ADJUDICATOR)
        self.save("Jo", judged, "0", {"take": works[0], "note": "Ann is right."})
        drafted = self.people["Jo"].get(f"/api/adjudicate/{judged}").json()["unit"]["content"]["turns"][1]
        written = {"decision": "edit", "question": "And whose is this?", "references": drafted["references"]}
        self.save("Jo", judged, "1", {"write": written})
        self.post("Jo", f"/api/work/{judged}/submit")
        for name, decision in (("Ann", "accept"), ("Ben", "reject")):
            self.review(name, "c", {2: {"decision": decision}})
            self.review(name, "talk", {0: {"decision": decision}, 1: {"decision": decision}}, turns=2)
        begun = self.take("Jo", self.chain("talk"), ADJUDICATOR)
        first = self.people["Jo"].get(f"/api/adjudicate/{begun}").json()["sides"][0]["id"]
        self.save("Jo", begun, "0", {"take": first})
        self.review("Ann", "chain-film0", {0: {"note": "See the hand at 3 s. Что?"}})
        self.review("Ann", "chain-film1", {})
        back = self.review("Ben", "chain-film1", {0: {"decision": "reject"}})
        looking = self.take("Jo", self.chain("chain-film1"), ADJUDICATOR)
        self.post("Jo", f"/api/adjudicate/{looking}/return", {"assignment": back, "note": "Please watch it again."})
        work = self.take("Ann", self.chain("chain-film2"))
        for place in range(3):
            self.turn("Ann", work, place)
        self.turn("Ann", work, 0, "edit", question="Which question was it?")
        self.turn("Ann", work, 1, "edit", question="Undone?")
        self.post("Ann", f"/api/work/{work}/undo")
        self.post("Ann", f"/api/work/{work}/undo")
        self.post("Ann", f"/api/work/{work}/redo")
        lapsed = self.take("Cai", self.chain("chain-film3"), ago=STALE_LEASE)
        for name in ("Ben", "Lee"):
            self.turn(name, self.take(name, self.chain("chain-film3")), 0)
        self.turn("Cai", lapsed, 0, note="I was away for lunch.")
        with transaction(self.project.database, self.people["Ada"].id) as change:
            plant_gold(change, "turns", count=2, seed=7, trusted="drafts")
            gold = change.session.scalars(select(UnitRow.id).where(UnitRow.gold.is_not(None))).first()
        assert gold is not None
        work = self.take("Ben", gold)
        turns = len(self.people["Ben"].get(f"/api/work/{work}").json()["unit"]["content"]["turns"])
        for place in range(turns):
            self.turn("Ben", work, place, "reject" if place == 0 else "accept")
        self.post("Ben", f"/api/work/{work}/submit")

    def on_other_queues(self) -> None:
        """Links, labels, ratings, answers and dialogues, some of each finished and some begun."""
        benchmark = Benchmark.open(self.project.benchmark)
        import_benchmark(self.project, benchmark, serving=lambda _: {}, queues=("links", "tagging", "types"))
        answers = [
            AnsweredTurn(
                model=model,
                item_id=f"chain-film0/{index}",
                video_id="film0",
                unit="chain",
                unit_id="chain-film0",
                turn_index=index,
                question=f"Question {index} about film0?",
                references=("The reference.",),
                text=f"Answer {index} of {model}.",
            )
            for model in ("alpha", "beta")
            for index in range(3)
        ]
        with transaction(self.project.database, OPERATOR) as change:
            drafts = answer_drafts(benchmark.content(), "dialogue", split="test")
            add_queue(change, "test", "test", drafts, title="Take the test", overlap=1)
            drafts = rating_drafts(answers, load_scale("rating"))
            add_queue(change, RatingTask.kind, "rating", drafts, title="Rate", overlap=2)
        ann, cai = self.people["Ann"], self.people["Cai"]
        work = ann.next("links")
        for place in ann.get(f"/api/work/{work}").json()["places"]:
            if place != "board":
                self.save("Ann", work, place, {"decision": "keep", "relations": ["Events"]})
        self.save("Ann", work, "0-2", {"decision": "keep", "relations": ["Plots"], "note": "drawn"})
        self.save("Ann", work, "board", {"decision": "complete"})
        self.post("Ann", f"/api/work/{work}/submit")
        work = ann.next("links")
        self.save("Ann", work, "1-1", {"decision": "keep", "relations": ["Characters"]})
        right = {"cogme.target": ["Object"], "cogme.content": ["Identity"], "cogme.thinking": ["Recall"]}
        for queue, labels in (("tagging", right), ("types", {"vdact.question_type": ["D-OBJ"]})):
            work = ann.next(queue)
            for place in ann.get(f"/api/work/{work}").json()["places"]:
                self.save("Ann", work, place, {"decision": "edit", "labels": labels})
            self.post("Ann", f"/api/work/{work}/submit")
            work = ann.next(queue)
            self.save("Ann", work, "0", {"decision": "skip", "labels": {}, "note": "too dark"})
        for name in ("Ann", "Ben"):
            work = self.people[name].next("rating")
            shown = self.people[name].get(f"/api/work/{work}").json()
            marks = {
                criterion["name"]: criterion["lowest"] for criterion in shown["unit"]["content"]["scale"]["criteria"]
            }
            for place in shown["places"]:
                self.save(name, work, place, {"marks": marks})
                if name == "Ben":
                    break
            else:
                self.post(name, f"/api/work/{work}/submit")
        for whole in (True, False):
            work = cai.next("test")
            places = cai.get(f"/api/work/{work}").json()["places"]
            for place in places if whole else places[:1]:
                self.save("Cai", work, place, {"text": f"Words {place}", "given": whole})
            if whole:
                self.post("Cai", f"/api/work/{work}/submit")
        talk_in_pairs(self.project)

    def everything(self) -> None:
        """All work, of which a part is applied in between, and somebody who leaves."""
        self.on_turns()
        apply_reviews(self.project)
        self.on_other_queues()
        form = {name: str(value) for name, value in ProjectSettings(lease_minutes=45).model_dump().items() if value}
        assert self.people["Ada"].form("/setup/settings", **form).status_code == 303
        left = self.people["Ada"].form(f"/team/people/{self.people['Lee'].id}/disable")
        assert left.status_code == 303, left.text


def seen(work: Work) -> dict[str, Any]:
    """What people see of their work, and what applying it makes of the benchmark."""
    project = work.project
    with project.database.reading() as session:
        copies = session.execute(
            select(AssignmentRow.id, AssignmentRow.role, PersonRow.name, PersonRow.disabled_at)
            .join(PersonRow, PersonRow.id == AssignmentRow.person_id)
            .order_by(AssignmentRow.id)
        ).all()
        status = [list(row) for row in queue_table(session)]
    works = {}
    for copy, role, name, gone in copies:
        if gone is None and name in work.people:
            kind = "adjudicate" if role == ADJUDICATOR else "work"
            shown = work.people[name].get(f"/api/{kind}/{copy}")
            works[copy] = {"who": name, "at": f"/api/{kind}/{copy}", "status": shown.status_code, "says": shown.json()}
    found = verify_history(project.database)
    assert found.findings == (), found.findings
    with tempfile.TemporaryDirectory() as folder:
        apply_reviews(project, into=Path(folder) / "applied")
        applied = Benchmark.open(Path(folder) / "applied").content()
    rows = {name: [row.model_dump(mode="json") for row in rows] for name, rows in applied.rows()}
    made = {name: rows[name] for name in ("chains", "dialogues", "linkages", "paths", "answers", "scores", "reviews")}
    return {"head": f"{found.seq}:{found.head}", "status": status, "works": works, "applied": made}


def make(folder: Path, url: str | None) -> None:
    """Make one database in `folder`, with its benchmark, an export and `expected.json`."""
    team = make_team(folder, content(), url=url, overlap=2)
    work = Work(team)
    work.everything()
    expected = json.dumps(seen(work), indent=1, sort_keys=True) + "\n"
    (folder / "expected.json").write_text(expected, encoding="utf-8")
    export_project(team.project.database, folder / "export")
    team.project.database.close()


def dump(postgres: PostgresCluster, url: str, into: Path) -> None:
    """Write a PostgreSQL database as statements of SQL that any client can send."""
    plain = url.replace("postgresql+psycopg://", "postgresql://")
    command = [str(postgres.program("pg_dump")), "--inserts", "--no-owner", "-d", plain]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # Lines for psql alone begin with a backslash.
    lines = [line for line in done.stdout.splitlines(keepends=True) if not line.startswith("\\")]
    into.write_text("".join(lines), encoding="utf-8")


def main() -> None:
    """Make both databases, each in an archive."""
    samples = Path(sys.argv[1])
    samples.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, postgres_cluster() as postgres:
        here, there = Path(folder) / "sqlite", Path(folder) / "postgresql"
        make(here, None)
        url = postgres.new_database()
        make(there, url)
        dump(postgres, url, there / "review.sql")
        for each in (here, there):
            shutil.make_archive(str(samples / each.name), "gztar", each)


if __name__ == "__main__":
    main()

"""Everybody who may ask something of a review, and everything that they may ask about: for tests of who gets what."""

import gzip
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.routing import Mount
from starlette.testclient import TestClient
from team import Browser, Team, client_of, small_content

from reeltalk.schema.intervals import Interval
from reeltalk.schema.speech import Utterance
from reeltalk.store.media import MediaStore
from reeltalk_review import people
from reeltalk_review.assigning import ADJUDICATOR, ANNOTATOR, take_unit
from reeltalk_review.backups import list_backups
from reeltalk_review.captions import speech_file
from reeltalk_review.collecting import CollectSettings, collecting_drafts
from reeltalk_review.database import PLAYABLE
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.importing import add_queue
from reeltalk_review.tables import (
    AssignmentRow,
    EntryRow,
    EventRow,
    InvitationRow,
    LiveDialogueRow,
    MessageRow,
    PairRow,
    PersonRow,
    QueueRow,
    UnitRow,
    VideoRow,
    timestamp,
)
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.tasks.task import Draft
from reeltalk_review.work import own_work, save_value, submit

ROLES = ("owner", "adjudicator", "annotator", "reader")
NOBODY = "nobody"
"""A browser in which nobody is signed in."""
FRESH = 10_000
"""The position of units that tests make, after all that were imported."""
LOST = "disabled"
"""A browser of somebody whose account was disabled while they were signed in."""


def routes_of(app: Any) -> Iterator[tuple[str, str]]:
    """Method and path of everything that an application answers; mounted folders as `GET /folder/{path}`."""
    for route in _all_routes(app):
        if isinstance(route, Mount):
            yield "GET", f"{route.path}/{{path}}"
        else:
            for method in sorted(route.methods or ()):
                yield method, route.path


def queries_of(app: Any) -> dict[str, set[str]]:
    """Names of what each path reads when it is got: behind its question mark, in itself, and in headers."""
    found: dict[str, set[str]] = {}
    for route in _all_routes(app):
        if isinstance(route, APIRoute) and "GET" in (route.methods or ()):
            found.setdefault(route.path, set()).update(field.alias for field in get_flat_params(route.dependant))
    return found


def _all_routes(app: Any) -> Iterator[APIRoute | Mount]:
    for route in app.routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            assert not route.include_context.prefix, "a router that is included under a prefix"
            yield from _all_routes(inner)
        elif isinstance(route, APIRoute | Mount):
            yield route
        else:
            raise AssertionError(f"a route of a kind that is not known: {route!r}")


@dataclass
class World:
    """A team with one person of each role, two more annotators, and fresh things to ask about."""

    team: Team
    browsers: dict[str, Browser] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for role in ROLES:
            self.browsers[role] = self.team.member(f"The {role}", role)
        self.browsers["other"] = self.team.member("Another annotator", "annotator")
        self.browsers["third"] = self.team.member("A third annotator", "annotator")
        self.browsers[NOBODY] = Browser(NOBODY, "nobody", self.client(), "")
        lost = self.team.member("Somebody who left", "owner")
        with transaction(self.team.project.database, OPERATOR) as change:
            change.session.get_one(PersonRow, lost.id).disabled_at = change.at
        self.browsers[LOST] = lost

    def client(self) -> TestClient:
        """A browser that has never been here."""
        return client_of(self.team.app)

    def changing(self) -> Any:
        """A transaction."""
        return transaction(self.team.project.database, OPERATOR)

    def invitation(self, role: str = "annotator") -> tuple[str, str]:
        """The id and the link's token of a fresh invitation."""
        with self.changing() as change:
            return people.invite(change, self.team.project.secret, role)

    def unit(self, task: str = "turns") -> str:
        """A fresh unit of a queue, with the content of one that was imported."""
        with self.changing() as change:
            like = _pattern(change.session, task)
            row = UnitRow(
                id=secrets.token_hex(8),
                queue_id=like.queue_id,
                position=FRESH,
                title=like.title,
                video_id=like.video_id,
                turns=like.turns,
                content=like.content,
                target_table=like.target_table,
                # Of its own: nobody has seen its turns in another unit.
                target_id=f"{like.target_id} {secrets.token_hex(4)}",
            )
            change.session.add(row)
        return row.id

    def work(self, whose: str | Browser, state: str = "working", unit: str | None = None) -> str:
        """The id of fresh work: `fresh`, `working` with a save, `decided`, `submitted`, or `complete`."""
        browser = whose if isinstance(whose, Browser) else self.browsers[whose]
        unit = unit or self.unit()
        with self.changing() as change:
            row = change.session.get_one(UnitRow, unit)
            found = take_unit(change, row, browser.id, ANNOTATOR, lease_minutes=30).id
            change.session.flush()
            if state == "fresh":
                return found
            for place in list(TASKS["turns"].places(row.content))[: None if state != "working" else 1]:
                self._accept(change, browser, found, place)
            change.session.flush()
            if state in ("submitted", "complete"):
                assignment, row, task = own_work(change.session, browser.id, found)
                submit(change, assignment, row, task, approval=False)
        if state == "complete":
            others = (self.browsers[name] for name in ("other", "third") if self.browsers[name].id != browser.id)
            for other, _ in zip(others, range(self.overlap(unit) - 1), strict=False):
                self.work(other, "submitted", unit)
        return found

    def dispute(self, adjudicator: str | Browser) -> tuple[str, str]:
        """A unit on which two differ, in somebody's hands: ids of their assignment, and of one of the two works."""
        browser = adjudicator if isinstance(adjudicator, Browser) else self.browsers[adjudicator]
        unit, works = self.unit(), []
        for who, decision in (("other", "accept"), ("third", "skip")):
            works.append(self.work(who, "fresh", unit))
            with self.changing() as change:
                assignment, row, task = own_work(change.session, self.browsers[who].id, works[-1])
                for place in task.places(row.content):
                    value = {**task.draft_value(row.content, place), "decision": decision}
                    save_value(change, assignment, row, task, place, 0, value)
                change.session.flush()
                submit(change, assignment, row, task, approval=False)
        with self.changing() as change:
            row = change.session.get_one(UnitRow, unit)
            assert row.state == "adjudication"
            return take_unit(change, row, browser.id, ADJUDICATOR, lease_minutes=30).id, works[0]

    def collecting(self) -> str:
        """The id of a queue for collecting dialogues, and its units, made where there is none."""
        with self.changing() as change:
            if change.session.get(QueueRow, "collect") is None:
                settings = CollectSettings(least_turns=1, most_turns=3, approve_first=1).model_dump(mode="json")
                drafts = collecting_drafts(small_content(3))
                add_queue(change, "collect", "collect", drafts, title="Collect", overlap=2, settings=settings)
        return "collect"

    def other_queue(self) -> str:
        """The id of a queue of turns besides the first, with one unit. Who works on it may change."""
        name = "other-turns"
        with self.changing() as change:
            if change.session.get(QueueRow, name) is None:
                like = _pattern(change.session, "turns")
                drafts = [Draft("chains", "other", "Other", like.video_id, like.content)]
                add_queue(change, "turns", name, drafts, title="Other turns", overlap=2)
        return name

    def dialogue(
        self, asks: str | Browser, answers: str | Browser, state: str = "live", said: int = 0
    ) -> tuple[str, str]:
        """The ids of a fresh pair and of its dialogue, in which some messages were said."""
        queue = self.collecting()
        first, second = (who if isinstance(who, Browser) else self.browsers[who] for who in (asks, answers))
        pair, key = secrets.token_hex(8), secrets.token_hex(8)
        with self.changing() as change:
            # While somebody asks about a video, they get no other work on it; fresh units are about another.
            elsewhere = UnitRow.video_id != _pattern(change.session, "turns").video_id
            unit = change.session.scalars(select(UnitRow.id).where(UnitRow.queue_id == queue, elsewhere)).first()
            assert unit is not None
            change.session.add(
                PairRow(id=pair, queue_id=queue, first_id=first.id, second_id=second.id, goal=2, created_at=change.at)
            )
            change.session.flush()
            change.session.add(
                LiveDialogueRow(
                    id=key,
                    pair_id=pair,
                    number=0,
                    unit_id=unit,
                    investigator_id=first.id,
                    correspondent_id=second.id,
                    state=state,
                    created_at=change.at,
                )
            )
            change.session.flush()
            for position in range(said):
                change.session.add(MessageRow(dialogue_id=key, position=position, text="words", at=change.at))
        return pair, key

    def video(self) -> str:
        """The content hash of a fresh video that can be served."""
        folder = self.team.project.folder
        sha256 = secrets.token_hex(32)
        path = MediaStore(self.team.project.benchmark).path(sha256)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"a film")
        frames = folder / PLAYABLE / f"{sha256}.frames.json.gz"
        frames.parent.mkdir(parents=True, exist_ok=True)
        frames.write_bytes(gzip.compress(b'{"pts_s":[0]}'))
        spoken = Utterance(video_id=sha256, interval=Interval(start_s=0.0, end_s=0.5), text="Hello.")
        speech_file(frames.parent, sha256).write_text(spoken.to_json() + "\n", encoding="utf-8")
        with self.changing() as change:
            change.session.add(
                VideoRow(id=sha256[:12], sha256=sha256, duration_s=1.0, file="original", media_type="video/mp4")
            )
        return sha256

    def film_of(self, sha256: str, unit: str) -> None:
        """Let a unit be about a video."""
        with self.changing() as change:
            change.session.get_one(UnitRow, unit).video_id = sha256[:12]

    def overlap(self, unit: str) -> int:
        """How many people a unit needs."""
        with self.team.project.database.reading() as session:
            return session.get_one(QueueRow, session.get_one(UnitRow, unit).queue_id).overlap

    def has_saved(self, assignment: str) -> bool:
        """True where something was saved in some work."""
        with self.team.project.database.reading() as session:
            return session.scalars(select(EntryRow).where(EntryRow.assignment_id == assignment)).first() is not None

    def state_of(self, assignment: str) -> str:
        """The state of some work."""
        with self.team.project.database.reading() as session:
            return session.get_one(AssignmentRow, assignment).state

    @staticmethod
    def _accept(change: Any, browser: Browser, assignment_id: str, place: str) -> None:
        assignment, unit, task = own_work(change.session, browser.id, assignment_id)
        value = {**task.draft_value(unit.content, place), "decision": "accept"}
        save_value(change, assignment, unit, task, place, 0, value)


def _pattern(session: Session, task: str) -> UnitRow:
    """The unit that fresh units copy: the last one imported into the first queue for a task, an open one if any.

    It is the same in every database, whatever order rows are kept in.
    """
    query = select(UnitRow).join(QueueRow, QueueRow.id == UnitRow.queue_id)
    query = query.where(QueueRow.task == task, UnitRow.position < FRESH)
    order = (UnitRow.state != "open", QueueRow.position, UnitRow.position.desc(), UnitRow.id)
    return session.scalars(query.order_by(*order).limit(1)).one()


def known(world: World) -> dict[str, list[str]]:
    """Whatever can be named in an address, by the name of the parameter; all ids for names that are not known here."""
    with world.team.project.database.reading() as session:
        columns: dict[str, Any] = {
            "assignment_id": AssignmentRow.id,
            "unit_id": UnitRow.id,
            "queue_id": QueueRow.id,
            "person_id": PersonRow.id,
            "invitation_id": InvitationRow.id,
            "video_id": VideoRow.id,
            "sha256": VideoRow.sha256,
            "seq": EventRow.seq,
            "pair_id": PairRow.id,
            "dialogue_id": LiveDialogueRow.id,
        }
        found = {name: [str(value) for value in session.scalars(select(column))] for name, column in columns.items()}
    found["place"] = ["0", "1", "2"]
    found["start_s"], found["length_s"] = ["0"], ["30"]
    found["path"] = ["review.css"]
    found["token"] = ["nothing"]
    found["name"] = [backup.name for backup in list_backups(world.team.project)] or ["nothing"]
    found["first"] = found["second"] = found["person_id"]
    return found


def past(days: float) -> str:
    """A moment some days ago."""
    return timestamp(datetime.now(UTC) - timedelta(days=days))

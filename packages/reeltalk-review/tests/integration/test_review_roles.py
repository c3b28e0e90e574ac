"""Every role, every route, every kind of object: what is answered is what the table says, and no route is left out.

A new route makes `test_no_route_is_left_out` fail until its lines are written.
"""

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from askers import LOST, NOBODY, ROLES, World, past, routes_of
from reliability_page import Reliability
from sqlalchemy import select
from team import PASSWORD, Browser, Team

from reeltalk_review.assigning import lapse_work
from reeltalk_review.backups import make_backup
from reeltalk_review.people import make_reset
from reeltalk_review.tables import (
    AssignmentRow,
    GuidelineRow,
    InvitationRow,
    LiveDialogueRow,
    PersonRow,
    QueueRow,
    SessionRow,
    UnitRow,
    VideoRow,
)
from reeltalk_review.work import send_back

ALL: Final = frozenset(ROLES)
WORKERS: Final = frozenset({"owner", "adjudicator", "annotator"})
OWNER: Final = frozenset({"owner"})
JUDGES: Final = frozenset({"owner", "adjudicator"})
LOOKERS: Final = frozenset({"owner", "adjudicator", "reader"})
PUBLIC: Final = frozenset({*ROLES, NOBODY, LOST})
OTHER_SITES: Final = (
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://localhost:81"},
)


@dataclass(frozen=True)
class Ask:
    """A request as the browser of a page of ours would send it."""

    path: str
    form: dict[str, str] | None = None
    body: Any = None


@dataclass(frozen=True)
class Line:
    """One kind of request about one kind of object."""

    method: str
    route: str
    thing: str
    may: frozenset[str]
    """Whose role allows it."""
    make: Callable[[World, Browser], Ask]
    otherwise: int | None = None
    """What those are answered whose role allows it, where the object is not for them; None where it is."""
    is_form: bool = field(default=False, kw_only=True)
    others: int = field(default=403, kw_only=True)
    """What those are answered who are signed in and whose role does not allow it."""

    @property
    def name(self) -> str:
        """As the test's name has it."""
        return f"{self.method} {self.route} {self.thing}"


def get(route: str, thing: str, may: frozenset[str], make: Any, otherwise: int | None = None) -> Line:
    return Line("GET", route, thing, may, lambda world, browser: Ask(make(world, browser)), otherwise)


def form(route: str, thing: str, may: frozenset[str], make: Any, otherwise: int | None = None) -> Line:
    return Line("POST", route, thing, may, make, otherwise, is_form=True)


def api(method: str, route: str, thing: str, make: Any, otherwise: int | None = None) -> Line:
    return Line(method, route, thing, WORKERS, make, otherwise)


def key() -> str:
    return secrets.token_hex(8)


def work_of(route: str, method: str, body: Any, good: dict[str, str], bad: dict[str, str]) -> Iterator[Line]:
    """Lines about one's own work in the states in which it can be done and cannot, others' work, and none."""
    address = route.replace("{place}", "0")

    def about(whose: str | None, state: str) -> Callable[[World, Browser], Ask]:
        def make(world: World, browser: Browser) -> Ask:
            found = world.work(whose or browser, state)
            return Ask(address.format(assignment_id=found), body=body(state) if callable(body) else body)

        return make

    for name, state in good.items():
        yield api(method, route, f"own {name}", about(None, state))
    for name, state in bad.items():
        yield api(method, route, f"own {name}", about(None, state), 409)
    for state in ("working", "submitted", "complete"):
        yield api(method, route, f"another's {state}", about("other", state), 404)
    nothing = Ask(address.format(assignment_id="0" * 16), body=body("fresh") if callable(body) else body)
    yield api(method, route, "none", lambda w, b: nothing, 404)


def saving(state: str) -> Any:
    value = {"decision": "accept", "question": "Another wording?", "references": ["An answer."]}
    return {"revision": 0 if state == "fresh" else 1, "value": value}


DISPUTE = "/api/adjudicate/{assignment_id}"
TALK = "/api/dialogues/{dialogue_id}"
FILM = "/media/{sha256}"
WATCHED = (
    ("GET", FILM),
    ("HEAD", FILM),
    *(("GET", FILM + part) for part in ("/frames", "/captions")),
)


def watching(route: str, thing: str, world: World, browser: Browser) -> Ask:
    sha256 = "0" * 64 if thing == "that is not there" else world.video()
    unit = world.unit()
    if "given" in thing:
        world.work(browser, "fresh", unit)
    if "asks" in thing:
        # Also given to them: what is kept from somebody is kept whatever else is theirs.
        world.work(browser, "fresh", unit)
        dialogue = world.dialogue(browser, "other")[1]
        with world.changing() as change:
            change.session.get_one(LiveDialogueRow, dialogue).unit_id = unit
    if sha256.strip("0"):
        world.film_of(sha256, unit)
    return Ask(route.format(sha256=sha256, start_s=0, length_s=30))


ANY_STATE = {"in hand": "working", "submitted": "submitted", "of a complete unit": "complete"}
NO_MORE = {"submitted": "submitted", "of a complete unit": "complete"}
API = "/api/work/{assignment_id}"

LINES: Final[tuple[Line, ...]] = (
    # Whoever has no account.
    get("/sign-in", "page", PUBLIC, lambda w, b: "/sign-in"),
    Line("POST", "/sign-in", "own name", PUBLIC, lambda w, b: Ask("/sign-in", form=named(b)), is_form=True),
    get("/join/{token}", "open invitation", PUBLIC, lambda w, b: f"/join/{w.invitation()[1]}"),
    get("/join/{token}", "withdrawn invitation", PUBLIC, lambda w, b: f"/join/{spoiled(w, 'withdrawn_at')}", 404),
    get("/join/{token}", "invitation that is over", PUBLIC, lambda w, b: f"/join/{spoiled(w, 'expires_at')}", 404),
    get("/join/{token}", "used invitation", PUBLIC, lambda w, b: f"/join/{used(w)}", 404),
    get("/join/{token}", "no invitation", PUBLIC, lambda w, b: "/join/nothing", 404),
    form("/join/{token}", "open invitation", PUBLIC, lambda w, b: Ask(f"/join/{w.invitation()[1]}", form=joining())),
    form("/join/{token}", "used invitation", PUBLIC, lambda w, b: Ask(f"/join/{used(w)}", form=joining()), 404),
    form("/join/{token}", "no invitation", PUBLIC, lambda w, b: Ask("/join/nothing", form=joining()), 404),
    get("/reset/{token}", "open link", PUBLIC, lambda w, b: f"/reset/{resetting(w)}"),
    get("/reset/{token}", "no link", PUBLIC, lambda w, b: "/reset/nothing", 404),
    form(
        "/reset/{token}", "open link", PUBLIC, lambda w, b: Ask(f"/reset/{resetting(w)}", form={"password": PASSWORD})
    ),
    form("/reset/{token}", "no link", PUBLIC, lambda w, b: Ask("/reset/nothing", form={"password": PASSWORD}), 404),
    get("/static/{path}", "file", PUBLIC, lambda w, b: "/static/review.css"),
    get("/static/{path}", "no file", PUBLIC, lambda w, b: "/static/nothing.css", 404),
    # Everybody who is signed in.
    get("/", "page", ALL, lambda w, b: "/"),
    get("/api/session", "own", ALL, lambda w, b: "/api/session"),
    get("/account", "page", ALL, lambda w, b: "/account"),
    form("/account/password", "own", ALL, lambda w, b: Ask("/account/password", form=passwords())),
    form("/sign-out", "own", PUBLIC, lambda w, b: Ask("/sign-out", form={})),
    # Guidelines.
    get("/guidelines/{queue_id}", "queue", ALL, lambda w, b: "/guidelines/turns"),
    get("/guidelines/{queue_id}", "none", ALL, lambda w, b: "/guidelines/none", 404),
    get("/changes", "page", OWNER, lambda w, b: "/changes"),
    get("/setup/queues/{queue_id}/guideline", "queue", OWNER, lambda w, b: "/setup/queues/turns/guideline"),
    get("/setup/queues/{queue_id}/guideline", "none", OWNER, lambda w, b: "/setup/queues/none/guideline", 404),
    form("/setup/queues/{queue_id}/guideline", "queue", OWNER, lambda w, b: guiding(w, "turns")),
    form("/setup/queues/{queue_id}/guideline", "none", OWNER, lambda w, b: guiding(w, "none"), 404),
    # Who works.
    form("/queues/{queue_id}/next", "open queue", WORKERS, lambda w, b: Ask(f"/queues/{queue(w)}/next", form={})),
    form(
        "/queues/{queue_id}/next", "closed queue", WORKERS, lambda w, b: Ask(f"/queues/{closed(w)}/next", form={}), 404
    ),
    form("/queues/{queue_id}/next", "no queue", WORKERS, lambda w, b: Ask("/queues/none/next", form={}), 404),
    get("/work/{assignment_id}", "own", WORKERS, lambda w, b: f"/work/{w.work(b)}"),
    get("/work/{assignment_id}", "own of a complete unit", WORKERS, lambda w, b: f"/work/{w.work(b, 'complete')}"),
    get("/work/{assignment_id}", "another's", WORKERS, lambda w, b: f"/work/{w.work('other')}", 404),
    get(
        "/work/{assignment_id}", "another's complete", WORKERS, lambda w, b: f"/work/{w.work('other', 'complete')}", 404
    ),
    get("/work/{assignment_id}", "none", WORKERS, lambda w, b: "/work/none", 404),
    *work_of(API, "GET", None, ANY_STATE, {}),
    *work_of(API + "/history/{place}", "GET", None, ANY_STATE, {}),
    *work_of(API + "/entries/{place}", "PUT", saving, {"in hand": "working", "fresh": "fresh"}, NO_MORE),
    *work_of(API + "/undo", "POST", None, {"in hand": "working"}, {**NO_MORE, "without a save": "fresh"}),
    *work_of(API + "/redo", "POST", None, {}, {**NO_MORE, "without an undo": "working"}),
    *work_of(API + "/submit", "POST", None, {"decided": "decided"}, NO_MORE),
    *work_of(API + "/reopen", "POST", None, {"submitted": "submitted"}, {"in hand": "working"}),
    *work_of(API + "/bulk", "POST", None, {}, NO_MORE),
    api("POST", API + "/bulk", "not allowed", lambda w, b: Ask(f"/api/work/{w.work(b)}/bulk"), 403),
    *work_of(API + "/lease", "POST", None, {"in hand": "working"}, {}),
    # Owners.
    get("/team", "page", OWNER, lambda w, b: "/team"),
    get("/setup", "page", OWNER, lambda w, b: "/setup"),
    get("/history", "page", OWNER, lambda w, b: "/history"),
    get("/history", "older", OWNER, lambda w, b: "/history?before=3"),
    get(
        "/history",
        "of somebody",
        OWNER,
        lambda w, b: f"/history?person={b.id}&unit=film",
    ),
    form(
        "/team/invitations", "new", OWNER, lambda w, b: Ask("/team/invitations", form={"role": "reader", "key": key()})
    ),
    form("/team/invitations/{invitation_id}/withdraw", "open", OWNER, lambda w, b: withdrawing(w.invitation()[0])),
    form("/team/invitations/{invitation_id}/withdraw", "used", OWNER, lambda w, b: withdrawing(id_of(w, used(w))), 409),
    form("/team/invitations/{invitation_id}/withdraw", "none", OWNER, lambda w, b: withdrawing("0"), 404),
    form("/team/people/{person_id}", "another", OWNER, lambda w, b: managing(someone(w), "reader")),
    form("/team/people/{person_id}", "another to disable", OWNER, lambda w, b: managing(someone(w), "disabled")),
    form("/team/people/{person_id}", "last owner", OWNER, lambda w, b: managing(last(w), "reader"), 409),
    form("/team/people/{person_id}", "last owner to disable", OWNER, lambda w, b: managing(last(w), "disabled"), 409),
    form("/team/people/{person_id}", "disabled", OWNER, lambda w, b: managing(w.browsers[LOST].id, "owner")),
    form("/team/people/{person_id}", "nobody", OWNER, lambda w, b: managing("0", "reader"), 404),
    form("/setup/queues/{queue_id}", "queue", OWNER, lambda w, b: setting_up(queue(w))),
    form("/setup/reasons", "project", OWNER, lambda w, b: Ask("/setup/reasons", form={"reasons": "shakes: It shakes"})),
    form("/setup/queues/{queue_id}", "none", OWNER, lambda w, b: setting_up("none"), 404),
    # Those who lead.
    get("/quality", "page", LOOKERS, lambda w, b: "/quality"),
    get("/api/units", "table as CSV", LOOKERS, lambda w, b: "/api/units?format=csv&queue=turns"),
    get("/backup", "page", OWNER, lambda w, b: "/backup"),
    form("/backup", "new", OWNER, lambda w, b: Ask("/backup", {})),
    get("/backup/{name}", "while work is hidden", OWNER, lambda w, b: f"/backup/{backed_up(w)}", 409),
    get("/backup/{name}", "none", OWNER, lambda w, b: "/backup/2026-11-26T055300.000Z.zip", 404),
    get("/backup/{name}", "another file", OWNER, lambda w, b: "/backup/secret", 404),
    get("/api/quality", "table", LOOKERS, lambda w, b: "/api/quality"),
    get("/api/quality", "table as CSV", LOOKERS, lambda w, b: "/api/quality?format=csv"),
    form("/quality/gold", "queue", OWNER, lambda w, b: complete(w) and known_answers("turns")),
    form("/quality/gold", "no queue", OWNER, lambda w, b: known_answers("none"), 404),
    get("/training/{assignment_id}", "own", WORKERS, lambda w, b: trained(w, b)),
    get("/training/{assignment_id}", "another's", WORKERS, lambda w, b: trained(w, "other"), 404),
    get("/training/{assignment_id}", "no training", WORKERS, lambda w, b: f"/training/{w.work(b, 'submitted')}", 404),
    # The table of units.
    get("/units", "page", LOOKERS, lambda w, b: "/units"),
    get("/units", "filtered", LOOKERS, lambda w, b: "/units?q=film&state=done&sort=flags&down=yes&page=2"),
    get("/units/{unit_id}", "complete", LOOKERS, lambda w, b: f"/units/{complete(w)}"),
    get("/units/{unit_id}", "none", LOOKERS, lambda w, b: "/units/none", 404),
    form("/units/{unit_id}/adjudicate", "to settle", JUDGES, lambda w, b: Ask(f"/units/{differing(w)}/adjudicate", {})),
    form("/units/{unit_id}/adjudicate", "open", JUDGES, lambda w, b: Ask(f"/units/{opened(w)}/adjudicate", {}), 409),
    form("/units/{unit_id}/adjudicate", "none", JUDGES, lambda w, b: Ask("/units/none/adjudicate", {}), 404),
    form("/units/return", "complete", JUDGES, lambda w, b: choosing(w, "return", note="Look again.")),
    form("/units/assign", "open", OWNER, lambda w, b: choosing(w, "assign", people=w.browsers["other"].id)),
    get("/api/units", "page", LOOKERS, lambda w, b: "/api/units?sort=name"),
    get("/api/units/{unit_id}", "complete", LOOKERS, lambda w, b: f"/api/units/{complete(w)}"),
    get("/api/units/{unit_id}", "none", LOOKERS, lambda w, b: "/api/units/none", 404),
    # Adjudicators.
    form("/adjudicate/queues/{queue_id}/next", "queue", JUDGES, lambda w, b: Ask("/adjudicate/queues/turns/next", {})),
    get("/adjudicate/{assignment_id}", "own", JUDGES, lambda w, b: f"/adjudicate/{w.dispute(b)[0]}"),
    get(
        "/adjudicate/{assignment_id}", "another's", JUDGES, lambda w, b: f"/adjudicate/{strange_dispute(w, b)[0]}", 404
    ),
    get("/adjudicate/{assignment_id}", "annotator's own", JUDGES, lambda w, b: f"/adjudicate/{w.work(b)}", 404),
    get("/adjudicate/{assignment_id}", "of an open unit", JUDGES, lambda w, b: f"/adjudicate/{reopened(w, b)}", 409),
    get("/api/adjudicate/{assignment_id}", "own", JUDGES, lambda w, b: f"/api/adjudicate/{w.dispute(b)[0]}"),
    get(DISPUTE, "another's", JUDGES, lambda w, b: f"/api/adjudicate/{strange_dispute(w, b)[0]}", 404),
    get(DISPUTE, "annotator's own", JUDGES, lambda w, b: f"/api/adjudicate/{w.work(b)}", 404),
    get(DISPUTE, "of an open unit", JUDGES, lambda w, b: f"/api/adjudicate/{reopened(w, b)}", 409),
    Line("POST", f"{DISPUTE}/return", "own", JUDGES, lambda w, b: returning(*w.dispute(b))),
    Line("POST", f"{DISPUTE}/return", "another's", JUDGES, lambda w, b: returning(*strange_dispute(w, b)), 404),
    Line("POST", f"{DISPUTE}/return", "other unit's", JUDGES, lambda w, b: returning(w.dispute(b)[0], w.work(b)), 404),
    # Dialogues of two roles.
    get("/pairs", "page", OWNER, lambda w, b: "/pairs"),
    form("/pairs", "new", OWNER, lambda w, b: Ask("/pairs", form=pairing(w))),
    form("/pairs/{pair_id}/begin", "own", WORKERS, lambda w, b: Ask(f"/pairs/{w.dialogue(b, 'other')[0]}/begin", {})),
    form("/pairs/{pair_id}/begin", "others'", WORKERS, lambda w, b: Ask(f"/pairs/{strangers(w)[0]}/begin", {}), 404),
    get("/dialogues/{dialogue_id}", "own, asking", WORKERS, lambda w, b: f"/dialogues/{w.dialogue(b, 'other')[1]}"),
    get("/dialogues/{dialogue_id}", "own, answering", WORKERS, lambda w, b: f"/dialogues/{w.dialogue('other', b)[1]}"),
    get("/dialogues/{dialogue_id}", "others'", WORKERS, lambda w, b: f"/dialogues/{strangers(w)[1]}", 404),
    get(TALK, "own, asking", WORKERS, lambda w, b: f"/api/dialogues/{w.dialogue(b, 'other')[1]}"),
    get(TALK, "own, answering", WORKERS, lambda w, b: f"/api/dialogues/{w.dialogue('other', b)[1]}"),
    get(TALK, "others'", WORKERS, lambda w, b: f"/api/dialogues/{strangers(w)[1]}", 404),
    api("POST", f"{TALK}/messages", "own turn", lambda w, b: saying(w.dialogue(b, "other")[1])),
    api("POST", f"{TALK}/messages", "the other's turn", lambda w, b: saying(w.dialogue("other", b)[1]), 409),
    api("POST", f"{TALK}/messages", "others'", lambda w, b: saying(strangers(w)[1]), 404),
    api("POST", f"{TALK}/finish", "own", lambda w, b: finishing(w.dialogue(b, "other", "live", 2)[1])),
    api("POST", f"{TALK}/finish", "own, unanswered", lambda w, b: finishing(w.dialogue(b, "other", "live", 1)[1]), 409),
    api("POST", f"{TALK}/finish", "answering", lambda w, b: finishing(w.dialogue("other", b, "live", 2)[1]), 403),
    api("POST", f"{TALK}/finish", "others'", lambda w, b: finishing(strangers(w)[1]), 404),
    get(
        "/dialogues/{dialogue_id}/look",
        "finished",
        JUDGES,
        lambda w, b: f"/dialogues/{strangers(w, 'awaiting')[1]}/look",
    ),
    get("/dialogues/{dialogue_id}/look", "live", JUDGES, lambda w, b: f"/dialogues/{strangers(w)[1]}/look", 404),
    form("/dialogues/{dialogue_id}/judge", "finished", JUDGES, lambda w, b: judging(strangers(w, "awaiting")[1])),
    form("/dialogues/{dialogue_id}/judge", "live", JUDGES, lambda w, b: judging(strangers(w)[1]), 404),
    form(
        "/dialogues/{dialogue_id}/judge",
        "own",
        JUDGES,
        lambda w, b: judging(w.dialogue(b, "other", "awaiting")[1]),
        403,
    ),
    # Videos.
    *(
        Line(method, route, thing, may, partial(watching, route, thing), otherwise)
        for method, route in WATCHED
        for thing, may, otherwise in (
            ("of a unit that one was given", ALL, None),
            ("of a dialogue in which one asks", ALL, 404),
            ("that is not there", ALL, 404),
        )
    ),
    *(
        Line(method, route, "of nobody's unit", LOOKERS, partial(watching, route, "of nobody's unit"), others=404)
        for method, route in WATCHED
    ),
    form("/setup/settings", "project", OWNER, lambda w, b: Ask("/setup/settings", form={"lease_minutes": "30"})),
)


def silent(world: World, unit: str) -> str:
    """A unit without a video: whoever asks about a video in a dialogue sees no unit about it."""
    with world.changing() as change:
        change.session.get_one(UnitRow, unit).video_id = None
    return unit


def opened(world: World) -> str:
    return silent(world, world.unit())


def complete(world: World) -> str:
    unit = opened(world)
    world.work("other", "complete", unit)
    return unit


def differing(world: World) -> str:
    """A unit on which two differ, in nobody's hands."""
    assignment, _ = world.dispute("owner")
    with world.changing() as change:
        row = change.session.get_one(AssignmentRow, assignment)
        unit = row.unit_id
        lapse_work(change, row)
    return silent(world, unit)


def choosing(world: World, action: str, **fields: str) -> Ask:
    unit = complete(world) if action == "return" else opened(world)
    return Ask(f"/units/{action}", form={"unit": unit, **fields})


def backed_up(world: World) -> str:
    world.work("other")
    return make_backup(world.team.project, world.browsers["owner"].id).name


def resetting(world: World) -> str:
    with world.changing() as change:
        return make_reset(change, world.team.project.secret, world.browsers["other"].name)


def known_answers(queue_id: str) -> Ask:
    return Ask("/quality/gold", form={"queue": queue_id, "kind": "training", "count": "1"})


def trained(world: World, whose: str | Browser) -> str:
    """Where somebody sees what was settled at a task of a training set."""
    work = world.work(whose, "submitted")
    with world.changing() as change:
        unit = change.session.get_one(UnitRow, change.session.get_one(AssignmentRow, work).unit_id)
        unit.position, unit.gold = -1, {"source": "", "answers": {}, "faults": {}}
    return f"/training/{work}"


def returning(assignment_id: str, work: str) -> Ask:
    return Ask(f"/api/adjudicate/{assignment_id}/return", body={"assignment": work, "note": "Look again."})


def strange_dispute(world: World, browser: Browser) -> tuple[str, str]:
    return world.dispute("owner" if browser.id == world.browsers["adjudicator"].id else "adjudicator")


def reopened(world: World, browser: Browser) -> str:
    assignment, work = world.dispute(browser)
    with world.changing() as change:
        send_back(change, browser.id, work, "Look again.")
    return assignment


def pairing(world: World) -> dict[str, str]:
    people = {"first": world.browsers["other"].id, "second": world.browsers["third"].id}
    return {"queue": world.collecting(), "goal": "2", **people}


def strangers(world: World, state: str = "live") -> tuple[str, str]:
    """Others' dialogue, about a video of its own: whoever asks about a video looks at no dialogue about it."""
    pair, dialogue = world.dialogue("other", "third", state, 2)
    unit = world.unit("collect")
    with world.changing() as change:
        film = f"film-{dialogue}"
        change.session.add(VideoRow(id=film))
        change.session.flush()
        change.session.get_one(UnitRow, unit).video_id = film
        change.session.get_one(LiveDialogueRow, dialogue).unit_id = unit
    return pair, dialogue


def saying(dialogue_id: str) -> Ask:
    return Ask(f"/api/dialogues/{dialogue_id}/messages", body={"position": 0, "text": "Where is she?"})


def finishing(dialogue_id: str) -> Ask:
    return Ask(f"/api/dialogues/{dialogue_id}/finish")


def judging(dialogue_id: str) -> Ask:
    return Ask(f"/dialogues/{dialogue_id}/judge", form={"verdict": "approve"})


def named(browser: Browser) -> dict[str, str]:
    return {
        "name": "The owner" if browser.name in (NOBODY, "Somebody who left") else browser.name,
        "password": PASSWORD,
    }


def joining() -> dict[str, str]:
    return {"name": f"New {key()}", "password": PASSWORD}


def passwords() -> dict[str, str]:
    return {"current": PASSWORD, "password": PASSWORD}


def withdrawing(invitation_id: str) -> Ask:
    return Ask(f"/team/invitations/{invitation_id}/withdraw", form={})


def managing(person_id: str, role: str) -> Ask:
    return Ask(f"/team/people/{person_id}", form={"role": role})


def setting_up(queue_id: str) -> Ask:
    fields = {"title": "Turns", "position": "1", "overlap": "2", "is_open": "yes"}
    return Ask(f"/setup/queues/{queue_id}", form=fields)


def queue(world: World) -> str:
    return "turns"


def guiding(world: World, queue_id: str) -> Ask:
    with world.team.project.database.reading() as session:
        written = session.get(GuidelineRow, queue_id)
        based_on = written.at if written is not None else ""
    text = {"text": f"Look well, {key()}.", "based_on": based_on, "says": "Look."}
    return Ask(f"/setup/queues/{queue_id}/guideline", form=text)


def closed(world: World) -> str:
    with world.changing() as change:
        row = QueueRow(id=key(), task="turns", title="Closed", position=9, overlap=1, is_open=False, settings={})
        change.session.add(row)
    return row.id


def spoiled(world: World, column: str) -> str:
    invitation, token = world.invitation()
    with world.changing() as change:
        setattr(change.session.get_one(InvitationRow, invitation), column, past(1))
    return token


def used(world: World) -> str:
    invitation, token = world.invitation()
    with world.changing() as change:
        change.session.get_one(InvitationRow, invitation).used_by = world.browsers["other"].id
    return token


def id_of(world: World, token: str) -> str:
    from reeltalk_review.credentials import keyed_hash

    with world.team.project.database.reading() as session:
        stored = keyed_hash(world.team.project.secret, token)
        return session.scalars(select(InvitationRow.id).where(InvitationRow.token == stored)).one()


def someone(world: World) -> str:
    with world.changing() as change:
        row = PersonRow(id=key(), name=key(), sign_in=key(), role="reader", created_at=change.at)
        change.session.add(row)
    return row.id


def last(world: World) -> str:
    owner = world.browsers["owner"].id
    with world.changing() as change:
        others = select(PersonRow).where(
            PersonRow.role == "owner", PersonRow.id != owner, PersonRow.disabled_at.is_(None)
        )
        for other in change.session.scalars(others):
            other.disabled_at = change.at
    return owner


@pytest.fixture(scope="module")
def the_world(tmp_path_factory: pytest.TempPathFactory, make_any_team: Callable[[Path], Team]) -> World:
    return World(make_any_team(tmp_path_factory.mktemp("roles")))


@pytest.fixture
def world(the_world: World) -> World:
    browsers_anew(the_world)
    return the_world


def send(browser: Browser, line: Line, ask: Ask, *, csrf: str | None, headers: dict[str, str] | None = None) -> Any:
    """The request as a page of ours sends it; `csrf` None leaves the token out."""
    sent = dict(headers or {})
    if line.is_form:
        fields = {**(ask.form or {}), **({"csrf": csrf} if csrf is not None else {})}
        return browser.client.request(line.method, ask.path, data=fields, headers=sent, follow_redirects=False)
    if line.method != "GET":
        sent |= {"idempotency-key": key(), **({"x-csrf-token": csrf} if csrf is not None else {})}
    return browser.client.request(line.method, ask.path, json=ask.body, headers=sent, follow_redirects=False)


def sent_to_sign_in(answer: Any) -> bool:
    return bool(answer.status_code == 303 and answer.headers["location"].startswith("/sign-in"))


def well(answer: Any) -> bool:
    return answer.status_code in (200, 202, 303) and not (
        sent_to_sign_in(answer) and "next=" in answer.headers["location"]
    )


def browsers_anew(world: World) -> None:
    """Sign everybody in again: some requests end sessions, and tries are counted."""
    from reeltalk_review.credentials import keyed_hash
    from reeltalk_review.guard import LoginLimiter
    from reeltalk_review.people import start_session
    from reeltalk_review.web import cookie_name

    world.team.app.state.login_limiter = LoginLimiter()
    secret = world.team.project.secret
    for browser in world.browsers.values():
        browser.client.cookies.clear()
    with world.changing() as change:
        for name, browser in world.browsers.items():
            if name == NOBODY:
                continue
            cookie = start_session(change, secret, browser.id)
            change.session.flush()
            person = change.session.get_one(PersonRow, browser.id)
            person.disabled_at = change.at if name == LOST else None
            browser.client.cookies.set(cookie_name(world.team.project), cookie)
            browser.csrf = change.session.get_one(SessionRow, keyed_hash(secret, cookie)).csrf


def wrongly_answered(world: World, line: Line, who: str, answer: Any) -> str | None:
    """What is wrong with an answer; None where it is what the table says."""
    status = answer.status_code
    if who in line.may:
        good = well(answer) if line.otherwise is None else status == line.otherwise
        expected = "well" if line.otherwise is None else str(line.otherwise)
    elif who in (NOBODY, LOST):
        good, expected = status == 401 or (line.method == "GET" and sent_to_sign_in(answer)), "sign in first"
    else:
        good, expected = status == line.others, str(line.others)
    if good:
        return None
    return f"{line.name}, asked by {who}: {status}, not {expected}: {answer.text[:200]}"


def test_no_route_is_left_out(world: World) -> None:
    assert {(line.method, line.route) for line in LINES} == set(routes_of(world.team.app))


def check_headers(answer: Any) -> None:
    """Every answer forbids what pages of ours do not need."""
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-" not in policy
    assert "*" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] in ("no-store", "private, no-cache", "private, max-age=3600")


class Watched(Browser):
    """A browser that notices whether somebody asks whose it is."""

    is_known = False

    def __getattribute__(self, name: str) -> Any:
        if name in ("id", "name"):
            self.is_known = True
        return super().__getattribute__(name)


@dataclass
class Asked:
    """What people ask for by a line: things of their own, and where nobody changes them, the same things of others.

    Whoever has no role asks for what was made for the owner.
    """

    world: World
    line: Line
    kept: Ask | None = None
    """What may be asked for again, where it was made already."""
    is_for_all: bool = False
    """True where it does not depend on who asks."""

    def by(self, who: str) -> Ask:
        line = self.line
        changes = who in line.may and line.otherwise is None
        if self.kept is not None and not changes and (self.is_for_all or who not in ROLES):
            return self.kept
        found = self.world.browsers[who if who in ROLES else "owner"]
        browser = Watched(found.name, found.id, found.client, found.csrf)
        made = line.make(self.world, browser)
        if not changes and (not browser.is_known or who not in ROLES):
            self.kept, self.is_for_all = made, not browser.is_known
        return made


def by_turns(number: int, line: Line) -> tuple[list[str], list[str]]:
    """Those who may ask by a line and those who may not; from line to line the next of each comes first."""
    may, may_not = ([who for who in ROLES if (who in line.may) == is_allowed] for is_allowed in (True, False))
    at, at_not = number % max(len(may), 1), number % max(len(may_not), 1)
    return may[at:] + may[:at], may_not[at_not:] + may_not[:at_not]


def test_everybody_gets_what_the_table_says_and_nobody_more(world: World, reliability: Reliability) -> None:
    tally = reliability("review", "requests by every role at every address, about every kind of object", NOT_ALLOWED)
    # In a quick run one of those who may asks, all who may not, and those without a role take turns.
    quick = []
    for number, line in enumerate(LINES):
        may, may_not = by_turns(number, line)
        quick.append([*may[:1], *may_not, (NOBODY, LOST)[number % 2]])
    many = len(LINES) * (len(ROLES) + 2)
    turns = reliability.count(sum(map(len, quick)), full=many, release=many) < many
    wrong = []
    for line, few in zip(LINES, quick, strict=True):
        asked = Asked(world, line)
        for who in few if turns else (*ROLES, NOBODY, LOST):
            if line.route in ENDS_SESSIONS:
                browsers_anew(world)
            browser = world.browsers[who]
            answer = send(browser, line, asked.by(who), csrf=browser.csrf)
            wrong.append(wrongly_answered(world, line, who, answer))
            check_headers(answer)
        if line.route in ENDS_SESSIONS:
            browsers_anew(world)
    found = [problem for problem in wrong if problem is not None]
    tally.tried, tally.failed = len(wrong), len(found)
    assert found == []


NOT_ALLOWED: Final = "an answer other than the table of permissions says"
ENDS_SESSIONS: Final = {
    *("/sign-in", "/sign-out", "/join/{token}", "/reset/{token}", "/account/password"),
    "/team/people/{person_id}",
}
"""After these, and for the count of tries, everybody signs in again."""
OPEN_DOORS: Final = {"/sign-in", "/join/{token}", "/reset/{token}"}
"""Forms for whoever is not signed in yet, who has no token to send; they refuse other sites all the same."""


CHANGING: Final = [line for line in LINES if line.method not in ("GET", "HEAD") and line.otherwise is None]


@pytest.mark.parametrize("line", CHANGING, ids=lambda line: line.name)
def test_nothing_changes_for_another_site_or_without_the_token_of_the_session(
    world: World, line: Line, full: bool, reliability: Reliability
) -> None:
    tally = reliability("review", "changes asked for by another site or without the session's token", "a change")
    who = "owner"
    browser = world.browsers[who]
    forged: list[tuple[str | None, dict[str, str]]] = [
        (None, {}),
        ("", {}),
        ("wrong", {}),
        ("é", {}),
        (world.browsers["other"].csrf, {}),
    ]
    if line.route in OPEN_DOORS:
        forged = []
    forged += [(browser.csrf, headers) for headers in OTHER_SITES]
    # In a quick run they take turns from line to line.
    forged = forged if full else forged[CHANGING.index(line) % 3 :: 3]
    ask = line.make(world, browser)
    before = events(world)
    for csrf, headers in forged:
        if csrf == "é" and not line.is_form:
            continue
        tally.tried += 1
        answer = send(browser, line, ask, csrf=csrf, headers=headers)
        assert answer.status_code == 403, (csrf, headers, answer.text)
        assert "set-cookie" not in answer.headers
    assert events(world) == before
    # The very same request is heard where it comes from a page of ours.
    assert well(send(browser, line, ask, csrf=browser.csrf, headers={"sec-fetch-site": "same-origin"}))


def events(world: World) -> int:
    from reeltalk_review.tables import ChainRow

    with world.team.project.database.reading() as session:
        return session.scalars(select(ChainRow.seq)).one()

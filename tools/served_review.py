"""Reviews on a real server, for tests in a browser: a chain of eight turns and dialogues; or videos of one's own.

Example:
    with served(folder) as review:
        review.sign_in(browser_context, "Ana")
        page.goto(review.work("Ana", "chain-eight"))
"""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from sample_videos import Numbered, cached
from sqlalchemy import delete, select

from reeltalk.schema.dialogue import Dialogue, Linkage, QAChain, Turn, TurnRef
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_file
from reeltalk_review import people
from reeltalk_review.access import Role
from reeltalk_review.app import create_app, listen
from reeltalk_review.assigning import ANNOTATOR, take_unit
from reeltalk_review.credentials import HashCost
from reeltalk_review.database import PLAYABLE, ReviewProject
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.importing import import_benchmark
from reeltalk_review.playable import ServedVideo, prepare_videos
from reeltalk_review.settling import next_dispute
from reeltalk_review.tables import AssignmentRow, EntryRow, EventRow, SessionRow, UnitRow
from reeltalk_review.web import cookie_name

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

FPS: Final = 10
FRAMES: Final = 400
PASSWORD: Final = "correct horse battery"
QUICK: Final = HashCost(rounds=1, memory_kib=8, lanes=1)
"""Whoever is made for a test need not be hard to guess: a password of the default cost takes a tenth of a second."""
CHAIN: Final = "chain-eight"
ACROSS: Final = "dialogue-across"
UNSEEN: Final = "dialogue-unseen"
ASKED: Final = (
    ("What does the person take from the fridge?", "A bottle of milk."),
    ("Where does she carry it?", "To the stove."),
    ("What does she do with it there?", "She pours it into a small pot."),
    ("Which colour has the pot?", "It is red."),
    ("What happens while the milk warms up?", "She cuts two slices of bread."),
    ("How many slices does she cut?", "Two."),
    ("Does she switch the stove off?", "Yes, after the milk has boiled."),
    ("What does she do next?", "She sits down at the table and drinks."),
)


def content() -> Content:
    """What is reviewed: see the module."""
    film, _ = Numbered("review.mp4", frames=FRAMES, rate=Fraction(FPS), options={"g": "10"}).make()
    broken = cached("review-broken.mp4", "its first 3,000 bytes", lambda path: _cut(film, path))
    sha256, broken_sha256 = hash_file(film)[0], hash_file(broken)[0]
    scenes = [
        Clip(id=f"scene-{n + 1}", video_id="kitchen", interval=Interval(start_s=8.0 * n, end_s=8.0 * n + 8))
        for n in range(5)
    ]
    turns = tuple(
        Turn(
            question=question,
            references=(answer,),
            asked_at_s=16.0,
            evidence=(Interval(start_s=8 + n * 0.8, end_s=9.6 + n * 0.8),),
            labels={"cogme.target": ("Object",), "vdact.question_type": ("D-OBJ",)},
        )
        for n, (question, answer) in enumerate(ASKED)
    )
    later = Turn(question="Who drinks the milk?", references=("The woman.",), asked_at_s=32.0)
    across = Turn(
        question="Is the pot of the first scene seen again in the last?",
        references=("Yes.",),
        asked_at_s=39.0,
        evidence=(Interval(start_s=2.0, end_s=3.0), Interval(start_s=33.0, end_s=34.0)),
        options=("Yes", "No", "It is another pot"),
        correct_option=0,
    )
    return Content(
        videos=[
            Video(id="kitchen", file="kitchen.mp4", sha256=sha256, duration_s=FRAMES / FPS),
            Video(id="broken", file="broken.mp4", sha256=broken_sha256, duration_s=FRAMES / FPS),
        ],
        clips=scenes,
        chains=[
            QAChain(id=CHAIN, video_id="kitchen", clip_id="scene-2", turns=turns),
            QAChain(id="chain-later", video_id="kitchen", clip_id="scene-4", turns=(later,)),
        ],
        linkages=[
            Linkage(
                source=TurnRef(unit_id=CHAIN, turn_index=2),
                target=TurnRef(unit_id="chain-later", turn_index=0),
                relation="Objects",
            )
        ],
        dialogues=[
            Dialogue(id=ACROSS, video_id="kitchen", clip_ids=("scene-1", "scene-5"), turns=(across,)),
            Dialogue(id=UNSEEN, video_id="broken", turns=(turns[0], turns[1])),
        ],
        gates=[
            GateResult(gate="gates:leak.blind", unit="chain", unit_id=CHAIN, turn_index=0, outcome=GateOutcome.PASSED),
            GateResult(
                gate="gates:leak.history",
                unit="chain",
                unit_id=CHAIN,
                turn_index=5,
                outcome=GateOutcome.FLAGGED,
                reason="turn 5 states the answer: 'She cuts two slices of bread.'",
            ),
            GateResult(gate="gates:leak.blind", unit="chain", unit_id=CHAIN, turn_index=5, outcome=GateOutcome.PASSED),
        ],
        media={sha256: film, broken_sha256: broken},
    )


def _cut(film: Path, path: Path) -> None:
    path.write_bytes(film.read_bytes()[:3000])


@dataclass
class ServedReview:
    """A server that runs, and the people who work on it."""

    project: ReviewProject
    address: str
    team: dict[str, str] = field(default_factory=dict)
    """Ids of people by name."""

    def join(self, name: str, role: str = "annotator") -> str:
        """Make a member of the team; their id."""
        with transaction(self.project.database, OPERATOR) as change:
            token = people.invite(change, self.project.secret, role)[1]
            self.team[name] = people.join_team(change, self.project.secret, token, name, PASSWORD, QUICK).id
        return self.team[name]

    def cookie(self, name: str) -> dict[str, Any]:
        """A session's cookie, as a browser takes it."""
        with transaction(self.project.database, self.team[name]) as change:
            token = people.start_session(change, self.project.secret, self.team[name])
        return {"name": cookie_name(self.project), "value": token, "url": self.address}

    def sign_in(self, context: "BrowserContext", name: str) -> None:
        """Sign somebody in, who joins if they are new."""
        if name not in self.team:
            self.join(name)
        cookie = self.cookie(name)
        context.add_cookies([{"name": cookie["name"], "value": cookie["value"], "url": cookie["url"]}])

    def sign_everybody_out(self) -> None:
        """End all sessions, as time does."""
        with transaction(self.project.database, OPERATOR) as change:
            change.session.execute(delete(SessionRow))

    def assignment(self, name: str, target_id: str, queue: str = "turns") -> str:
        """Id of somebody's work on a unit, which they take if they have not."""
        with transaction(self.project.database, self.team[name]) as change:
            unit = change.session.scalars(
                select(UnitRow).where(UnitRow.target_id == target_id, UnitRow.queue_id == queue)
            ).one()
            found = change.session.scalars(
                select(AssignmentRow.id).where(
                    AssignmentRow.person_id == self.team[name], AssignmentRow.unit_id == unit.id
                )
            ).first()
            return found or take_unit(change, unit, self.team[name], ANNOTATOR, lease_minutes=30).id

    def work(self, name: str, target_id: str = CHAIN, queue: str = "turns") -> str:
        """Address of somebody's screen of a unit."""
        return f"{self.address}/work/{self.assignment(name, target_id, queue)}"

    def dispute(self, name: str, queue: str = "turns") -> str:
        """Id of an adjudicator's work on the next unit on which people differ."""
        with transaction(self.project.database, self.team[name]) as change:
            found = next_dispute(change, self.team[name], queue, lease_minutes=30)
            assert found is not None, "nothing is left to settle"
            return found.id

    def entries(self, name: str, target_id: str = CHAIN, queue: str = "turns") -> dict[str, Any]:
        """What somebody's work says, by place."""
        assignment = self.assignment(name, target_id, queue)
        with self.project.database.reading() as session:
            rows = session.scalars(select(EntryRow).where(EntryRow.assignment_id == assignment))
            return {row.place: row.value for row in rows}

    def events(self, name: str, kind: str = "save", target_id: str = CHAIN, queue: str = "turns") -> list[EventRow]:
        """What somebody did to a unit."""
        assignment = self.assignment(name, target_id, queue)
        with self.project.database.reading() as session:
            query = select(EventRow).where(EventRow.subject == assignment, EventRow.kind == kind)
            return list(session.scalars(query.order_by(EventRow.seq)))

    def state(self, name: str, target_id: str = CHAIN, queue: str = "turns") -> str:
        """As `submitted`."""
        with self.project.database.reading() as session:
            return session.get_one(AssignmentRow, self.assignment(name, target_id, queue)).state


@contextlib.contextmanager
def served(folder: Path, filled: Content | None = None, *, overlap: int = 1) -> Iterator[ServedReview]:
    """Serve a benchmark's review on a free port until the block ends.

    Args:
        folder: Where the benchmark goes.
        filled: What it holds; `content()` by default.
        overlap: How many people do each unit.
    """
    filled = filled if filled is not None else content()
    benchmark = Benchmark.create(folder / "kitchen", name="kitchen")
    benchmark.write_content(filled, stage="test")
    project = ReviewProject.open(folder / "kitchen")
    shown = prepare_videos(benchmark, project.folder / PLAYABLE)
    import_benchmark(project, benchmark, serving=lambda _: shown, queues=("all",), overlap=overlap)
    try:
        with serving(create_app(project)) as address:
            yield ServedReview(project, address)
    finally:
        project.database.close()


@contextlib.contextmanager
def serving(app: Any) -> Iterator[str]:
    """The address under which an application answers, until the block ends."""
    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()


@dataclass(frozen=True)
class ReviewSite:
    """A review whose project is open."""

    project: ReviewProject
    served: dict[str, ServedVideo]
    hashes: dict[str, str]
    """Of each video's original, by the file's name."""

    def headers(self, name: str, role: Role) -> dict[str, str]:
        """Headers of a request by somebody new, who is signed in."""
        with transaction(self.project.database, OPERATOR) as change:
            _, invitation = people.invite(change, self.project.secret, role)
            person = people.join_team(change, self.project.secret, invitation, name, PASSWORD, QUICK)
            cookie = people.start_session(change, self.project.secret, person.id)
        return {"cookie": f"{cookie_name(self.project)}={cookie}"}


def review_of(paths: Sequence[Path], folder: Path, *, content: Content | None = None) -> ReviewSite:
    """A review of a benchmark that holds some videos, each named by its file."""
    hashes = {path.name: hash_file(path)[0] for path in paths}
    benchmark = Benchmark.create(folder / "bench")
    content = content or Content()
    content.videos.extend(Video(id=name, file=name, sha256=sha256) for name, sha256 in hashes.items())
    content.media.update({hashes[path.name]: path for path in paths})
    benchmark.write_content(content, stage="test")
    project = ReviewProject.open(folder / "bench")
    served = prepare_videos(benchmark, project.folder / PLAYABLE)
    import_benchmark(project, benchmark, serving=lambda _: served)
    return ReviewSite(project, served, hashes)

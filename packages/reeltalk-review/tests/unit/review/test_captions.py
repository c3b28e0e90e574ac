"""Captions of a video: what is made, who gets it, and that they show nothing of the future of a test."""

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_videos import Numbered
from sqlalchemy import select
from team import Browser, Team

from reeltalk.schema.dialogue import DialoguePath, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.speech import Utterance
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_file
from reeltalk_review.app import create_app
from reeltalk_review.captions import captions
from reeltalk_review.database import PLAYABLE, ReviewProject
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.importing import add_queue, import_benchmark
from reeltalk_review.playable import prepare_videos
from reeltalk_review.tables import AssignmentRow, UnitRow, VideoRow
from reeltalk_review.tasks.answering import answer_drafts

FILM = Numbered("h264-captions.mp4", rate=Fraction(10), frames=400, options={"g": "10"})
SAID = (
    (0.5, 2.0, "Ann", "Where is the <b>milk</b> & the bread?"),
    (4.0, 6.25, None, "In the fridge --> second shelf."),
    (9.0, 12.0, "Ben", "I see\nit."),
    (30.0, 30.0, None, "Thanks."),
)


@pytest.fixture
def project(tmp_path: Path) -> ReviewProject:
    """A film of 40 s in which somebody speaks; a chain about its second to tenth second, and a path along it."""
    film = FILM.make()[0]
    sha256 = hash_file(film)[0]
    turns = tuple(
        Turn(question=f"Question {n}?", references=("An answer.",), asked_at_s=asked_at_s)
        for n, asked_at_s in enumerate((3.0, 7.0, 12.0))
    )
    filled = Content(
        videos=[Video(id="film", file="film.mp4", sha256=sha256, duration_s=40.0), Video(id="silent")],
        clips=[Clip(id="clip", video_id="film", interval=Interval(start_s=2, end_s=10))],
        chains=[QAChain(id="chain", video_id="film", clip_id="clip", turns=turns)],
        paths=[
            DialoguePath(
                id="path",
                video_id="film",
                steps=tuple(PathStep(ref=TurnRef(unit_id="chain", turn_index=n)) for n in range(3)),
            )
        ],
        speech=[
            Utterance(video_id="film", interval=Interval(start_s=start_s, end_s=end_s), speaker=speaker, text=text)
            for start_s, end_s, speaker, text in SAID
        ],
        media={sha256: film},
    )
    benchmark = Benchmark.create(tmp_path / "bench", name="bench")
    benchmark.write_content(filled, stage="test")
    found = ReviewProject.open(tmp_path / "bench")
    served = prepare_videos(benchmark, found.folder / PLAYABLE)
    import_benchmark(found, benchmark, serving=lambda _: served)
    return found


@pytest.fixture
def team(project: ReviewProject) -> Team:
    return Team(project, create_app(project))


def video_of(browser: Browser, assignment: str) -> dict[str, Any]:
    found: dict[str, Any] = browser.get(f"/api/work/{assignment}").json()["unit"]["video"]
    return found


def cues(text: str) -> list[tuple[str, str]]:
    assert text.startswith("WEBVTT\n")
    return [(found[1], found[2]) for found in re.finditer(r"^(\S+ --> \S+)\n(.*)\n", text, re.MULTILINE)]


def test_only_whoever_may_see_the_video_gets_its_captions(team: Team) -> None:
    owner, ann, ben = (team.member(*who) for who in (("Owen", "owner"), ("Ann", "annotator"), ("Ben", "annotator")))
    video = video_of(ann, ann.next("turns"))
    assert ann.get(video["captions"]).status_code == owner.get(video["captions"]).status_code == 200
    assert ben.get(video["captions"]).status_code == 404
    assert owner.get(video["captions"].replace(video["sha256"], "0" * 64)).status_code == 404


def test_captions_are_what_is_said_as_text(team: Team) -> None:
    ann = team.member("Ann", "annotator")
    video = video_of(ann, ann.next("turns"))
    answer = ann.get(video["captions"])
    assert answer.headers["content-type"] == "text/vtt; charset=utf-8"
    assert cues(answer.text) == [
        ("00:00:00.500 --> 00:00:02.000", "Ann: Where is the &lt;b&gt;milk&lt;/b&gt; &amp; the bread?"),
        ("00:00:04.000 --> 00:00:06.250", "In the fridge --&gt; second shelf."),
        ("00:00:09.000 --> 00:00:12.000", "Ben: I see it."),
        ("00:00:30.000 --> 00:00:30.500", "Thanks."),
    ]


@given(text=st.text(min_size=1, max_size=200).filter(str.strip), start_s=st.floats(0, 40_000))
def test_no_text_becomes_another_cue_or_markup(
    tmp_path_factory: pytest.TempPathFactory, text: str, start_s: float
) -> None:
    try:
        spoken = Utterance(video_id="a", interval=Interval(start_s=start_s, end_s=start_s + 1), text=text)
        line = spoken.to_json().encode()
    except ValueError:
        return
    path = tmp_path_factory.mktemp("said") / "said.jsonl"
    path.write_bytes(line + b"\n")
    found = captions(path, "a", None)
    assert found is not None
    blocks = re.split(r"(?:\r\n|\r|\n){2,}", found.strip())
    assert len(blocks) == 2
    stamp, *words = re.split(r"\r\n|\r|\n", blocks[1])
    assert re.fullmatch(r"\d\d+:[0-5]\d:[0-5]\d\.\d{3} --> \d\d+:[0-5]\d:[0-5]\d\.\d{3}", stamp)
    assert len(words) == 1
    assert "<" not in words[0]
    assert "-->" not in words[0]


def test_a_video_in_which_nobody_speaks_has_no_captions(team: Team) -> None:
    ann = team.member("Ann", "annotator")
    video = video_of(ann, ann.next("turns"))
    (team.project.folder / PLAYABLE / f"{video['sha256']}.speech.jsonl").unlink()
    assert video_of(ann, ann.next("turns"))["captions"] is None
    assert ann.get(video["captions"]).status_code == 404


def test_speech_that_changed_is_written_anew(project: ReviewProject) -> None:
    benchmark = Benchmark.open(project.benchmark)
    folder = project.folder / PLAYABLE
    (path,) = folder.glob("*.speech.jsonl")
    before = path.stat().st_mtime_ns
    prepare_videos(benchmark, folder)
    assert path.stat().st_mtime_ns == before, "nothing changed"
    content = benchmark.content()
    content.speech.clear()
    benchmark.write_content(content, stage="test")
    prepare_videos(Benchmark.open(project.benchmark), folder)
    assert list(folder.glob("*.speech.jsonl")) == []


def give_turns(team: Team, browser: Browser) -> str:
    with transaction(team.project.database, OPERATOR) as change:
        unit = change.session.scalars(select(UnitRow.id).where(UnitRow.queue_id == "turns")).first()
        row = AssignmentRow(id="given", unit_id=unit, person_id=browser.id, role="annotator", state="working")
        row.created_at = row.lease_until = change.at
        change.session.add(row)
    return "given"


@pytest.mark.parametrize("role", ["annotator", "owner"])
def test_a_test_in_a_stream_shows_nothing_of_the_future(team: Team, role: str) -> None:
    content = Benchmark.open(team.project.benchmark).content()
    with transaction(team.project.database, OPERATOR) as change:
        add_queue(change, "test", "test", answer_drafts(content, "streaming"), title="Test")
    ann = team.member("Ann", role)
    assignment = ann.next("test")
    # Once the same person was given the video for something else.
    if role == "owner":
        give_turns(team, ann)
    sha256 = video_of(ann, assignment)["sha256"]
    heard = []
    for number, until_s in enumerate((3.0, 7.0, 12.0)):
        video = video_of(ann, assignment)
        assert video["captions"] == f"/media/{sha256}/captions?until_s={until_s:g}"
        for address in (video["captions"], f"/media/{sha256}/captions", f"/media/{sha256}/captions?until_s=40"):
            answer = ann.get(address)
            assert answer.headers["cache-control"] == "private, no-cache"
            ends = [interval.split(":")[-1] for interval, _ in cues(answer.text)]
            assert all(float(end) <= until_s for end in ends)
        heard.append(len(ends))
        ann.save(assignment, str(number), {"text": "An answer.", "given": True})
    assert heard == [1, 2, 3]
    assert ann.api("POST", f"/api/work/{assignment}/submit").status_code == 200
    assert len(cues(ann.get(f"/media/{sha256}/captions").text)) == 4


def test_without_a_file_there_is_nothing(team: Team) -> None:
    ann = team.member("Ann", "annotator")
    assignment = ann.next("turns")
    with team.project.database.writing() as session:
        session.scalars(select(VideoRow).where(VideoRow.id == "film")).one().file = None
    video = video_of(ann, assignment)
    assert (video["playable"], video["captions"]) == (None, None)

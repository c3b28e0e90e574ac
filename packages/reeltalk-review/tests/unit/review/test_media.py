"""Videos are served in byte ranges, by content hash alone, to those who may see them."""

import hashlib
import json
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sample_videos import Numbered
from served_review import ReviewSite, review_of
from sqlalchemy import select
from starlette.testclient import TestClient

from reeltalk.schema.dialogue import QAChain, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip
from reeltalk.store.content import Content
from reeltalk_review.access import Role
from reeltalk_review.app import create_app
from reeltalk_review.assigning import next_unit
from reeltalk_review.database import PLAYABLE
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.tables import PersonRow

FINE = Numbered("h264-variable-no-b.mp4", variable=True, options={"bf": "0"})
STRANGE = Numbered("mpeg4.avi", codec="mpeg4", rate=Fraction(25), options={"qscale": "3"})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> ReviewSite:
    """Two videos; the first has a chain of turns."""
    paths = [FINE.make()[0], STRANGE.make()[0]]
    about = Clip(id="clip", video_id=paths[0].name, interval=Interval(start_s=0, end_s=5))
    turns = (Turn(question="What happens?", references=("Numbers pass.",)),)
    content = Content(clips=[about], chains=[QAChain(id="chain", video_id=paths[0].name, clip_id="clip", turns=turns)])
    return review_of(paths, tmp_path_factory.mktemp("media"), content=content)


@pytest.fixture(scope="module")
def sha256(site: ReviewSite) -> str:
    return site.hashes[FINE.make()[0].name]


@pytest.fixture(scope="module")
def content(sha256: str) -> bytes:
    return FINE.make()[0].read_bytes()


@pytest.fixture(scope="module")
def client(site: ReviewSite) -> Iterator[TestClient]:
    """Signed in as somebody who may see everything."""
    headers = site.headers("reader", Role.READER)
    with TestClient(create_app(site.project), base_url="http://localhost", headers=headers) as opened:
        yield opened


def test_the_whole_file_says_what_it_is(client: TestClient, sha256: str, content: bytes) -> None:
    answer = client.get(f"/media/{sha256}")
    assert (answer.status_code, answer.content) == (200, content)
    assert hashlib.sha256(answer.content).hexdigest() == sha256
    assert answer.headers["content-type"] == "video/mp4"
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"].startswith("private")
    assert answer.headers["etag"].startswith('"')
    assert "content-disposition" not in answer.headers


def test_a_proxy_stands_for_its_original(client: TestClient, site: ReviewSite) -> None:
    name = site.hashes[STRANGE.make()[0].name]
    answer = client.get(f"/media/{name}")
    assert answer.content == (site.project.folder / PLAYABLE / f"{name}.mp4").read_bytes()
    assert answer.headers["content-type"] == "video/mp4"


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(start=st.integers(0, 10**7), length=st.integers(1, 10**7), open_end=st.booleans())
def test_any_single_range_is_that_part(
    client: TestClient, sha256: str, content: bytes, start: int, length: int, open_end: bool
) -> None:
    end = "" if open_end else start + length - 1
    answer = client.get(f"/media/{sha256}", headers={"Range": f"bytes={start}-{end}"})
    part = content[start:] if open_end else content[start : start + length]
    if start >= len(content):
        assert answer.status_code == 416
        assert answer.headers["content-range"] == f"bytes */{len(content)}"
        return
    assert (answer.status_code, answer.content) == (206, part)
    assert answer.headers["content-range"] == f"bytes {start}-{start + len(part) - 1}/{len(content)}"


def test_the_end_is_asked_for_by_its_length(client: TestClient, sha256: str, content: bytes) -> None:
    answer = client.get(f"/media/{sha256}", headers={"Range": "bytes=-100"})
    assert (answer.status_code, answer.content) == (206, content[-100:])


@pytest.mark.parametrize(
    "absurd",
    [
        "bytes=0-1,2-3",
        "bytes=" + ",".join(f"{n}-{n}" for n in range(0, 2000, 2)),
        "bytes=" + ",".join(["0-"] * 5000),
        "bytes=9-3",
        "bytes=-",
        "bytes=",
        "bytes=a-b",
        "items=0-5",
        "bytes=" + "9" * 5000 + "-",
        "bytes=0-" + "9" * 5000,
        "bytes=٣-٤".encode().decode("latin-1"),
        "0-5",
        "",
    ],
    ids=lambda value: value[:20],
)
def test_other_ranges_are_not_heeded(client: TestClient, sha256: str, content: bytes, absurd: str) -> None:
    answer = client.get(f"/media/{sha256}", headers=[(b"Range", absurd.encode("latin-1"))])
    assert (answer.status_code, answer.content) == (200, content)


def test_a_range_of_a_file_that_changed_is_the_whole_file(client: TestClient, sha256: str, content: bytes) -> None:
    etag = client.get(f"/media/{sha256}", headers={"Range": "bytes=0-0"}).headers["etag"]
    same = client.get(f"/media/{sha256}", headers={"Range": "bytes=0-9", "If-Range": etag})
    other = client.get(f"/media/{sha256}", headers={"Range": "bytes=0-9", "If-Range": '"other"'})
    assert (same.status_code, len(same.content)) == (206, 10)
    assert (other.status_code, other.content) == (200, content)
    assert client.get(f"/media/{sha256}", headers={"If-None-Match": etag}).status_code == 304


def test_head_sends_no_body(client: TestClient, sha256: str, content: bytes) -> None:
    answer = client.head(f"/media/{sha256}")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-length"] == str(len(content))


def test_frames_have_the_times_of_what_is_served(client: TestClient, site: ReviewSite) -> None:
    for film in (FINE, STRANGE):
        answer = client.get(f"/media/{site.hashes[film.make()[0].name]}/frames")
        assert answer.headers["content-type"] == "application/json"
        assert answer.json() == {"pts_s": pytest.approx([float(time) for time in film.times()], abs=0.0011)}


@pytest.mark.parametrize(
    "name",
    ["0" * 64, "{upper}", "{short}", "{long}", "..%2f..%2fmanifest.json", "%2e%2e%2fsecret", "secret", "{sha256}.json",
     "{sha256}.frames.json", "{sha256}%00", ".partial-1", "%5c..%5csecret", "{sha256}%0a"],
)  # fmt: skip
def test_no_other_name_is_known(client: TestClient, sha256: str, name: str) -> None:
    name = name.format(upper=sha256.upper(), short=sha256[:-1], long=sha256 + "0", sha256=sha256)
    for address in (f"/media/{name}{part}" for part in ("", "/frames", "/captions")):
        answer = client.get(address)
        assert answer.status_code in (400, 404)
        assert answer.json()["error"]["message"]


def test_a_file_that_is_gone_says_so(client: TestClient, site: ReviewSite, sha256: str) -> None:
    path = site.project.folder / PLAYABLE / f"{sha256}.frames.json.gz"
    aside = path.rename(path.with_suffix(".aside"))
    answer = client.get(f"/media/{sha256}/frames")
    aside.rename(path)
    assert answer.status_code == 404
    assert "file is missing" in answer.json()["error"]["message"]


@pytest.mark.parametrize("part", ["", "/frames", "/captions"])
def test_strangers_get_nothing(site: ReviewSite, sha256: str, part: str) -> None:
    with TestClient(create_app(site.project), base_url="http://localhost") as stranger:
        answer = stranger.get(f"/media/{sha256}{part}", headers={"Range": "bytes=0-9"})
        assert answer.status_code == 401
        assert json.loads(answer.content)["error"]["code"] == "sign_in"


def test_annotators_get_the_videos_of_their_own_work(site: ReviewSite, sha256: str) -> None:
    headers = site.headers("annotator", Role.ANNOTATOR)
    other = site.hashes[STRANGE.make()[0].name]
    with TestClient(create_app(site.project), base_url="http://localhost", headers=headers) as annotator:
        own = [f"/media/{sha256}", f"/media/{sha256}/frames"]
        assert [annotator.get(address).status_code for address in own] == [404, 404]
        assign(site, "annotator")
        assert [annotator.get(address).status_code for address in own] == [200, 200]
        others = [f"/media/{other}", f"/media/{other}/frames"]
        assert [annotator.get(address).status_code for address in others] == [404, 404]


def assign(site: ReviewSite, name: str) -> None:
    """Give somebody the unit."""
    with transaction(site.project.database, OPERATOR) as change:
        person = change.session.scalars(select(PersonRow).where(PersonRow.name == name)).one()
        assert next_unit(change, person.id, "turns", lease_minutes=30) is not None

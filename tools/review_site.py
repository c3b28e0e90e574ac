"""A review of numbered-frame videos that is served over HTTP, for tests that look at it with a browser."""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from reeltalk.review.access import Role
from reeltalk.review.app import create_app
from reeltalk.review.events import OPERATOR, changing
from reeltalk.review.loading import load
from reeltalk.review.people import invite, join
from reeltalk.review.playable import ServedVideo, prepare
from reeltalk.review.project import PLAYABLE, Project
from reeltalk.review.serving import listen
from reeltalk.review.tokens import make_token
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_file

PASSWORD = "four words of a pass phrase"


@dataclass(frozen=True)
class ReviewSite:
    """A review whose project is open."""

    project: Project
    served: dict[str, ServedVideo]
    hashes: dict[str, str]
    """Of each video's original, by the file's name."""

    def token(self, name: str, role: Role) -> str:
        """A personal token of somebody new."""
        with changing(self.project.database, OPERATOR) as change:
            _, invitation = invite(change, self.project.secret, role)
            person = join(change, self.project.secret, invitation, name, PASSWORD)
            change.session.flush()
            return make_token(change, self.project.secret, person.id, "test")[1]


def review_of(paths: Sequence[Path], folder: Path, *, content: Content | None = None) -> ReviewSite:
    """A review of a benchmark that holds some videos, each named by its file."""
    hashes = {path.name: hash_file(path)[0] for path in paths}
    benchmark = Benchmark.create(folder / "bench")
    content = content or Content()
    content.videos.extend(Video(id=name, file=name, sha256=sha256) for name, sha256 in hashes.items())
    content.media.update({hashes[path.name]: path for path in paths})
    benchmark.write_content(content, stage="test")
    project = Project.open(folder / "bench")
    served = prepare(benchmark, project.folder / PLAYABLE)
    load(project, benchmark, serving=lambda _: served)
    return ReviewSite(project, served, hashes)


@contextlib.contextmanager
def serving(site: ReviewSite) -> Iterator[str]:
    """The address of a review while it is served."""
    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(create_app(site.project), log_level="warning", access_log=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()

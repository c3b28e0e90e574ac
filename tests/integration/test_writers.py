"""Two writers about the same clips: one plants faults, a judge sees them, and a page tells the two apart."""

import shutil
from pathlib import Path

import careless_writer
import pytest
from scripted_server import Body, serve

from reeltalk.analysis.writers import compare_writers
from reeltalk.cli import run
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, VIDEOS

CAREFUL = "careful-7b"


def construct(source: Path, out: Path, base_url: str) -> int:
    options = ["--judge", "judge-1", "--base-url", base_url, "--frames", "2", "--steps", "chains", "--steps", "gates"]
    writers = ["--writer", CAREFUL, "--writer", careless_writer.CARELESS, "--price-in", "0.2", "--price-out", "0.8"]
    return run(["construct", str(source), *writers, *options, "--out", str(out)])


@pytest.fixture(scope="module")
def out(filmed_household: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("writers") / "out"
    with serve(careless_writer.reply) as server:
        assert construct(filmed_household, folder, server.base_url) == 0
    return folder


def test_the_page_tells_a_careful_writer_from_a_careless_one(out: Path, filmed_household: Path) -> None:
    names = (CAREFUL, careless_writer.CARELESS)
    benchmarks = [Benchmark.open(out / name) for name in names]
    for benchmark in benchmarks:
        video = next(iter(benchmark.read(VIDEOS)))
        assert video.sha256 is not None
        stored = Benchmark.open(filmed_household).media.path(video.sha256)
        assert benchmark.media.path(video.sha256).samefile(stored)
    assert not Benchmark.open(filmed_household).rows(CHAINS)
    found = compare_writers(benchmarks)
    assert tuple(work.name for work in found.writers) == names
    assert not found.warnings
    faults = {row.name: row.counts for row in found.faults}
    assert faults["verified: contradicted"][0] == (0, 0, 0)
    assert sum(faults["verified: contradicted"][1]) > 0
    assert found.kept[1].values[0] is not None
    assert found.kept[1].values[1] is not None
    assert found.kept[1].values[1].value < found.kept[1].values[0].value
    page = (out / "report" / "index.html").read_text()
    assert "<script>alert" not in page
    assert careless_writer.UNTRUE not in page
    assert ">Cost</h2>" in page
    assert ">Money</th>" in page


def test_a_writer_whose_replies_are_useless_is_left_out_and_the_others_go_on(
    filmed_household: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def reply(body: Body) -> str:
        useless = body["model"] == careless_writer.CARELESS
        return "I would rather not." if useless else str(careless_writer.reply(body))

    with serve(reply) as server:
        assert construct(filmed_household, tmp_path / "out", server.base_url) == 1
    said = capsys.readouterr().err
    assert f"replies of {careless_writer.CARELESS} in the step chains cannot be used" in said
    assert "no page: 1 of 2 writers wrote something" in said
    assert Benchmark.open(tmp_path / "out" / CAREFUL).rows(CHAINS)
    assert not (tmp_path / "out" / "report").exists()


def test_it_continues_without_asking_again(out: Path, filmed_household: Path, tmp_path: Path) -> None:
    before = (out / "report" / "index.html").read_bytes()
    shutil.rmtree(out / careless_writer.CARELESS)
    with serve(careless_writer.reply) as server:
        assert construct(filmed_household, out, server.base_url) == 0
        asked = [body["model"] for body in server.requests]
    assert CAREFUL not in asked
    assert careless_writer.CARELESS in asked
    assert (out / "report" / "index.html").read_bytes() == before

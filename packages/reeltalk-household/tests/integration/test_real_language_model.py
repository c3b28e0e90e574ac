"""Construction by a real language model under llama.cpp: weak, and so a source of real malformed replies."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from local_language_model import NAME, is_installed, serve_language_model
from pydantic import BaseModel

from reeltalk.cli import run
from reeltalk.llm import Endpoint, LanguageModel, Message, ask_for
from reeltalk.parallel import LocalExecutor
from reeltalk.schema.gates import GateOutcome
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, CLIPS, GATES
from reeltalk.store.validate import validate
from reeltalk_household.world.film import film
from reeltalk_household.world.settings import FilmSettings


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Address and name of a model: of the environment, or SmolLM2 where `make test-full` has installed it."""
    url, name = os.environ.get("REELTALK_LLM_URL"), os.environ.get("REELTALK_LLM_MODEL")
    if url and name:
        yield url, name
        return
    if not is_installed():
        pytest.skip("no language model: run make build/llm/ready, or set REELTALK_LLM_URL and REELTALK_LLM_MODEL")
    with serve_language_model(tmp_path_factory.mktemp("llm") / "server.log") as address:
        yield address, NAME


class Rating(BaseModel):
    thing: str
    score: int


@pytest.mark.slow
def test_it_gives_records_or_says_why_not(server: tuple[str, str]) -> None:
    url, name = server
    with contextlib.closing(LanguageModel(Endpoint(model=name, base_url=url, max_tokens=200))) as model:
        for thing in ("coffee in the morning", "a lamp in the sink"):
            prompt = f'Rate {thing} from 1 to 5. Give JSON: {{"thing": "…", "score": 1}}'
            asked = ask_for(model, [Message("user", prompt)], Rating)
            assert asked.replies
            assert (asked.record is None) == (len(asked.reasons) == 2)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_it_completes_and_every_reply_that_cannot_be_used_is_kept(server: tuple[str, str], tmp_path: Path) -> None:
    url, name = server
    folder = tmp_path / "household"
    settings = FilmSettings(scenarios=1, houses=1, width_px=320, fps=5, seed=7)
    film(Benchmark.create(folder), settings, executor=LocalExecutor(2))
    command = ["construct", str(folder), "--writer", name, "--base-url", url, "--connections", "1"]
    # This model takes no pictures: whoever says that it does gets one line, and nothing is written.
    assert run([*command, "--steps", "chains", "--max-calls", "2"]) == 2
    assert not Benchmark.open(folder).rows(CHAINS)
    command += ["--sees", "text", "--steps", "objects", "--steps", "chains"]
    code = run([*command, "--max-reply-tokens", "160", "--attempts", "0"])
    benchmark = Benchmark.open(folder)
    assert [str(finding) for finding in validate(benchmark) if finding.severity == "error"] == []
    written = {chain.clip_id for chain in benchmark.read(CHAINS)}
    gates = [gate for gate in benchmark.read(GATES) if gate.outcome is GateOutcome.UNWRITTEN]
    unwritten = {gate.unit_id for gate in gates if gate.gate == "chains:written"}
    assert written | unwritten == {clip.id for clip in benchmark.read(CLIPS)}
    assert not written & unwritten
    assert all(gate.reason and len(gate.raw) == 2 for gate in gates)
    assert code == (1 if gates else 0)

"""A server that is dead, misnamed or refuses ends each command at once; what was paid for is kept."""

import socket
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sample_videos import Numbered
from scripted_server import Answer, Body, completion, count_images, is_preflight, serve, words

from reeltalk.cli import run
from reeltalk.errors import OutageError
from reeltalk.schema.dialogue import QAChain, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.stages import LimitSettings, ModelSettings, evaluate
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_file

FILM = Numbered("h264-dead-servers.mp4", rate=Fraction(12), frames=120)
CHAINS, TURNS = 6, 5
ALL = CHAINS * TURNS
AT_ONCE_S = 10.0
"""What a command may take where nothing listens, once all is imported."""
GENEROUS = 3
"""So much longer on a machine that does other work."""
Refused = Callable[..., str]


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def address(port: int) -> str:
    return f"http://127.0.0.1:{port}/v1"


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A video with six clips, and a chain of five turns about each."""
    path, _ = FILM.make()
    sha256 = hash_file(path)[0]
    content = Content(media={sha256: path})
    content.videos.append(Video(id="v", sha256=sha256))
    for c in range(CHAINS):
        interval = Interval(start_s=1.5 * c, end_s=1.5 * c + 1.5)
        content.clips.append(Clip(id=f"c{c}", video_id="v", interval=interval))
        turns = tuple(Turn(question=f"What is number {c}{n}?", references=(f"It is {c}{n}.",)) for n in range(TURNS))
        content.chains.append(QAChain(id=f"q{c}", video_id="v", clip_id=f"c{c}", turns=turns))
    Benchmark.create(tmp_path / "bench").write_content(content, stage="test")
    return tmp_path / "bench"


@pytest.fixture
def answered(bench: Path, tmp_path: Path) -> Path:
    """A run whose answers can be judged."""
    out = tmp_path / "answered"
    command = ["evaluate", str(bench), "--model", "baseline:copied-question", "--metrics", "none", "--out", str(out)]
    assert run([*command, "--protocols", "match"]) == 0
    return out


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """Runs a command that must end with exit code 2 and one paragraph."""

    def refuse(*arguments: object) -> str:
        capsys.readouterr()
        assert run([str(argument) for argument in arguments]) == 2
        said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("reeltalk: ")]
        assert len(said) == 1
        return said[0]

    return refuse


def evaluating(bench: Path, url: str, out: Path, *more: object) -> list[str]:
    return [
        "evaluate", str(bench), "--model", "tiny", "--base-url", url, "--frames", "2", "--metrics", "none",
        "--protocols", "match", "--backoff-s", "0.01", "--verbose", "--out", str(out), *map(str, more),
    ]  # fmt: skip


def judging(answered: Path, url: str, out: Path, *more: object) -> list[str]:
    return [
        "judge", str(answered), "--protocols", "clair", "--judge", "judge", "--judge-base-url", url, "--metrics",
        "none", "--backoff-s", "0.01", "--out", str(out), *map(str, more),
    ]  # fmt: skip


def answer(body: Body) -> str:
    if body["model"] == "judge":
        return '{"score": 80, "reason": "it fits"}'
    return f"I see {words(body['messages'][-1])[-6:]}"


def kept_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".json", ".jsonl")}


class TestNothingListens:
    def test_evaluate_ends_and_a_server_that_then_starts_is_used(
        self, bench: Path, tmp_path: Path, refused: Refused
    ) -> None:
        port, out = free_port(), tmp_path / "run"
        command = evaluating(bench, address(port), out)
        said = refused(*command)
        assert f"{address(port)} cannot be reached" in said
        assert "start the server" in said
        assert not (out / "run.json").exists()
        assert not list(out.rglob("*.jpg")), "no video was decoded"
        began_s = time.monotonic()
        refused(*command)
        assert time.monotonic() - began_s < GENEROUS * AT_ONCE_S
        with serve(answer, port=port) as server:
            assert run(command) == 0
            assert server.count == ALL
            assert server.preflights == 1
        assert (out / "run.json").is_file()

    def test_judge_does_too(self, answered: Path, tmp_path: Path, refused: Refused) -> None:
        port, out = free_port(), tmp_path / "judged"
        command = judging(answered, address(port), out, "--null-units", 0)
        said = refused(*command)
        assert f"{address(port)} cannot be reached" in said
        assert "--judge-base-url" in said
        assert not (out / "run.json").exists()
        with serve(answer, port=port) as server:
            assert run(command) == 0
            assert server.count == ALL

    def test_a_judge_that_is_not_there_lets_nothing_be_played(
        self, bench: Path, tmp_path: Path, refused: Refused
    ) -> None:
        nowhere = address(free_port())
        with serve(answer) as server:
            command = evaluating(bench, server.base_url, tmp_path / "run", "--protocols", "clair", "--judge", "judge")
            assert f"{nowhere} cannot be reached" in refused(*command, "--judge-base-url", nowhere)
            assert server.count == 0

    def test_what_writes_into_a_benchmark_leaves_it_as_it_was(
        self, bench: Path, tmp_path: Path, refused: Refused
    ) -> None:
        port, before = free_port(), kept_files(bench)
        url = address(port)
        for command in (
            ("construct", bench, "--writer", "tiny", "--base-url", url),
            ("construct", bench, "--writer", "tiny", "--base-url", url, "--sees", "text", "--judge", "other"),
            ("construct", bench, "--rubrics", "--writer", "tiny", "--base-url", url),
            ("tag", bench, "--model", "tiny", "--base-url", url),
        ):
            assert f"{url} cannot be reached" in refused(*command)
        assert kept_files(bench) == before

    def test_all_others_end_too(self, samples: Path, tmp_path: Path, refused: Refused) -> None:
        url, data = address(free_port()), samples / "vdact"
        film, _ = FILM.make()
        for command in (
            (
                *("graph", "tell", data / "kg_activity", "--scenarios", data / "scenario_to_activities.json"),
                *("--initial-rooms", data / "initial_rooms.json", "--out", tmp_path / "refined"),
                *("--model", "tiny", "--base-url", url),
            ),
            ("chat", film, "--model", "tiny", "--base-url", url, "--speed", "0"),
            (
                "judge",
                "--attack",
                "manipulation",
                "--protocols",
                "clair",
                "--judge",
                "judge",
                "--judge-base-url",
                url,
                "--every",
                "50",
            ),
        ):
            assert f"{url} cannot be reached" in refused(*command)
        assert not list((tmp_path / "refined").glob("*.txt"))

    def test_without_a_preflight_eight_requests_tell(
        self, bench: Path, answered: Path, tmp_path: Path, refused: Refused
    ) -> None:
        url = address(free_port())
        for command in (
            evaluating(bench, url, tmp_path / "run", "--no-preflight"),
            evaluating(bench, url, tmp_path / "few", "--no-preflight", "--max-calls", 3),
            judging(answered, url, tmp_path / "judged", "--no-preflight"),
        ):
            said = refused(*command)
            assert f"{url} cannot be reached, 8 times in a row" in said
            assert "replies so far are kept" in said
            assert "the same command continues" in said
            assert "budget" not in said
            assert not (Path(command[command.index("--out") + 1]) / "run.json").exists()

    def test_a_run_that_kept_replies_answer_needs_no_server(self, bench: Path, tmp_path: Path) -> None:
        port, out = free_port(), tmp_path / "run"
        command = evaluating(bench, address(port), out)
        with serve(answer, port=port):
            assert run(command) == 0
        before = kept_files(out / "scores")
        assert run([*command, "--overwrite"]) == 0
        assert kept_files(out / "scores") == before

    def test_from_python(self, bench: Path, tmp_path: Path) -> None:
        url = address(free_port())
        limits = LimitSettings(preflight=False, backoff_s=0.01)
        for chosen in (LimitSettings(), limits):
            with pytest.raises(OutageError, match="cannot be reached"):
                evaluate(
                    Benchmark.open(bench),
                    model="tiny",
                    out=tmp_path / "run",
                    asking=ModelSettings(base_url=url),
                    limits=chosen,
                )


def refusal(status: int, message: str) -> Answer:
    return Answer(status, {"error": {"message": message}})


class TestRefusals:
    """Each ends before anything is decoded, and with the breaker alone as well."""

    @pytest.fixture(
        params=[(), pytest.param(("--no-preflight",), marks=pytest.mark.slow)], ids=["preflight", "breaker"]
    )
    def how(self, request: pytest.FixtureRequest) -> tuple[str, ...]:
        return request.param  # type: ignore[no-any-return]

    def test_another_name_of_the_model(
        self, how: tuple[str, ...], bench: Path, tmp_path: Path, refused: Refused
    ) -> None:
        def reply(body: Body) -> Answer:
            return refusal(404, f"The model `{body['model']}` does not exist.")

        with serve(reply, models=["tiny-8b", "huge"], sees_preflights=True) as server:
            said = refused(*evaluating(bench, server.base_url, tmp_path / "run", *how))
            assert server.count < 50
        assert "answered 404: The model `tiny` does not exist." in said
        assert ("says 'not found', so the command stops" if how else "tiny-8b") in said

    def test_a_wrong_key(
        self,
        how: tuple[str, ...],
        bench: Path,
        tmp_path: Path,
        refused: Refused,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("OWN_KEY", "sk-of-mine-0123456789")
        with serve(lambda body: refusal(401, "Incorrect API key"), sees_preflights=True) as server:
            command = evaluating(bench, server.base_url, tmp_path / "run", "--api-key-env", "OWN_KEY", *how)
            said = refused(*command)
        assert "answered 401" in said
        assert ("refuses access, so the command stops" if how else "the key in OWN_KEY is wrong") in said
        assert "of-mine" not in said

    def test_an_address_without_v1(self, how: tuple[str, ...], bench: Path, tmp_path: Path, refused: Refused) -> None:
        def reply(body: Body) -> str | Answer:
            return Answer(404, {"detail": "Not Found"})

        with serve(reply, models=["tiny"], sees_preflights=True) as server:
            short = server.base_url.removesuffix("/v1")
            said = refused(*evaluating(bench, short, tmp_path / "run", *how))
        assert (f"give --base-url {server.base_url}" if not how else "answered 404") in said

    def test_another_scheme(self, how: tuple[str, ...], bench: Path, tmp_path: Path, refused: Refused) -> None:
        with serve(answer) as server:
            wrong = server.base_url.replace("http:", "https:")
            said = refused(*evaluating(bench, wrong, tmp_path / "run", *how))
            assert server.count == 0
        assert f"{wrong} cannot be reached" in said
        if not how:
            assert f"give --base-url {server.base_url}" in said

    def test_no_pictures(self, how: tuple[str, ...], bench: Path, tmp_path: Path, refused: Refused) -> None:
        def blind(body: Body) -> str | Answer:
            return refusal(400, "tiny is not a multimodal model") if count_images(body) else answer(body)

        with serve(blind, sees_preflights=True) as server:
            said = refused(*evaluating(bench, server.base_url, tmp_path / "run", *how))
            assert "tiny is not a multimodal model" in said
            assert ("refuses the requests as invalid, 8 times" if how else "--sees text") in said
            assert run(evaluating(bench, server.base_url, tmp_path / "text", "--sees", "text", *how)) == 0

    def test_no_schema_is_no_reason_to_stop(self, how: tuple[str, ...], answered: Path, tmp_path: Path) -> None:
        def plain(body: Body) -> str | Answer:
            return refusal(400, "response_format is not supported") if "response_format" in body else answer(body)

        with serve(plain, sees_preflights=True) as server:
            assert run(judging(answered, server.base_url, tmp_path / "run", *how)) == 0
            refused_for_it = sum("response_format" in body for body in server.requests)
        assert refused_for_it == 1 or how

    @pytest.mark.parametrize(
        ("given", "problem"),
        [
            (("--base-url", "localhost:8000/v1"), "give it as http://localhost:8000/v1"),
            (("--base-url", "http://localhost:8000/v1/chat/completions"), "leave out /chat/completions"),
            ((), "OpenAI has no model of this name"),
            (("--model", "gpt-4o"), "OPENAI_API_KEY holds none"),
        ],
    )
    def test_what_can_be_asked_nowhere_is_refused_before_anything_is_read(
        self,
        given: tuple[str, ...],
        problem: str,
        tmp_path: Path,
        bench: Path,
        answered: Path,
        refused: Refused,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
            monkeypatch.delenv(name, raising=False)
        model = () if "--model" in given else ("--model", "tiny")
        out = tmp_path / "run"
        assert problem in refused("evaluate", bench, *model, *given, "--out", out)
        assert not out.exists()
        assert problem in refused("tag", bench, *model, *given)
        for_judge = [word.replace("--base-url", "--judge-base-url").replace("--model", "--judge") for word in given]
        judge = () if "--judge" in for_judge else ("--judge", "tiny")
        assert problem in refused("judge", answered, "--protocols", "clair", *judge, *for_judge, "--out", out)
        for_writer = [word.replace("--model", "--writer") for word in given]
        writer = () if "--writer" in for_writer else ("--writer", "tiny")
        # A writer may also be the graph, or a class.
        unknown = "it is none of graph, and no address" if not given else problem
        assert unknown in refused("construct", bench, *writer, *for_writer)
        assert not (out / "run.json").exists()

    def test_a_project_names_the_line(self, tmp_path: Path, refused: Refused) -> None:
        project = tmp_path / "project.yaml"
        project.write_text(
            "benchmark: bench\nevaluate:\n  base_url: localhost:8000/v1\n  models:\n    tiny: tiny\n", encoding="utf-8"
        )
        said = refused("run", project)
        assert "http://localhost:8000/v1" in said
        assert "project.yaml:3" in said


class Dying:
    """A server that answers so many requests, and from then on fails in one way."""

    def __init__(self, answers: int, failure: Answer) -> None:
        self._left, self._failure, self._lock = answers, failure, threading.Lock()
        self.answered: list[str] = []

    def __call__(self, body: Body) -> Any:
        with self._lock:
            if self._left <= 0:
                return self._failure
            self._left -= 1
            self.answered.append(words(body["messages"][-1]))
        return completion(body, answer(body))


FAILURES = {
    "dies": Answer(reset=True),
    "404": refusal(404, "gone"),
    "401": refusal(401, "expired"),
    "503": Answer(503),
}
OFTEN = ("dies", "503")
"""What `make test` tries, with one process; two are asked in `test_without_a_preflight_eight_requests_tell`."""
ALONE = [pytest.param(name, marks=() if name in OFTEN else pytest.mark.slow) for name in FAILURES]


class TestAmid:
    @pytest.fixture(params=ALONE)
    def dying(self, request: pytest.FixtureRequest) -> Dying:
        return Dying(13, FAILURES[request.param])

    def test_it_stops_keeps_and_goes_on_with_the_rest(
        self, dying: Dying, bench: Path, tmp_path: Path, refused: Refused
    ) -> None:
        port, out = free_port(), tmp_path / "run"
        more = ("--connections", 4, "--give-up-after-s", 0.5)
        command = evaluating(bench, address(port), out, *more)
        with serve(dying, port=port):
            said = refused(*command)
        assert address(port) in said
        assert "replies so far are kept" in said
        assert not (out / "run.json").exists()
        with serve(answer, port=port) as server:
            assert run(command) == 0
            asked = [words(body["messages"][-1]) for body in server.requests]
        assert len(asked) == ALL - 13
        assert not set(asked) & set(dying.answered)

    def test_judging_too(self, dying: Dying, answered: Path, tmp_path: Path, refused: Refused) -> None:
        port, out = free_port(), tmp_path / "judged"
        more = ("--connections", 4, "--give-up-after-s", 0.5, "--null-units", 0)
        command = judging(answered, address(port), out, *more)
        with serve(dying, port=port):
            assert "replies so far are kept" in refused(*command)
        assert not (out / "run.json").exists()
        with serve(answer, port=port) as server:
            assert run(command) == 0
            assert server.count == ALL - 13

    def test_a_server_that_is_busy_for_a_while_costs_no_turn(self, bench: Path, tmp_path: Path) -> None:
        asked, lock = 0, threading.Lock()

        def busy(body: Body) -> str | Answer:
            nonlocal asked
            with lock:
                asked += 1
                # More often than a request is sent again by --max-retries; the waits grow.
                return Answer(429, {"error": {}}) if 10 < asked < 17 else answer(body)

        with serve(busy, keep=0) as server:
            assert run(evaluating(bench, server.base_url, tmp_path / "run", "--max-retries", 1)) == 0

    def test_one_turn_that_always_fails_costs_itself(
        self, bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def poisoned(body: Body) -> str | Answer:
            return Answer(500, {"error": {"message": "CUDA"}}) if "02" in words(body["messages"][-1]) else answer(body)

        with serve(poisoned) as server:
            command = evaluating(bench, server.base_url, tmp_path / "run", "--max-retries", 2, "--connections", 4)
            assert run(command) == 1
        assert "1 failed" in capsys.readouterr().out

    def test_a_preflight_counts_in_the_budget(
        self, bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        seen: list[Body] = []

        def reply(body: Body) -> str:
            seen.append(body)
            return "ready" if is_preflight(body) else answer(body)

        with serve(reply, sees_preflights=True) as server:
            command = evaluating(bench, server.base_url, tmp_path / "run", "--max-calls", 11)
            assert run(command) == 2
            assert "11 of 11 requests" in capsys.readouterr().err
            assert server.count == 11
        assert [is_preflight(body) for body in seen] == [True] + [False] * 10
        assert count_images(seen[0]) == 1

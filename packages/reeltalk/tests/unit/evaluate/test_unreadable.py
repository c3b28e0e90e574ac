"""A run of a served model stops early if most of its first answers cannot be read, and goes on where it makes sense."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_server import Body, Server, serve

from reeltalk.errors import UnusableError
from reeltalk.evaluation.stage import LEAST_READ
from reeltalk.judge.settings import JudgeSettings
from reeltalk.schema.dialogue import AnswerKey, Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.stages import evaluate
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.runs import INFO, Run

RAMBLING = "Cooking is a wonderful thing to watch, and I could say a lot about it."
OPTIONS = ("a ladle", "a whisk", "a spoon")
ROOM = AnswerKey(type="room", values=("kitchen",), among=("bedroom",))


def turn(number: int, form: str) -> Turn:
    question = {"options": "Which utensil is it", "key": "In which room is he", "short": "Who comes in"}[form]
    reference = {"options": "a whisk", "key": "In the kitchen.", "short": "Anna."}[form]
    more: dict[str, Any] = {"options": OPTIONS, "correct_option": 1} if form == "options" else {}
    return Turn(question=f"{question} at {number} s?", references=(reference,), **more,
                key=ROOM if form == "key" else None)  # fmt: skip


@pytest.fixture
def benchmark(tmp_path: Path) -> Callable[[str], Benchmark]:
    def make(form: str) -> Benchmark:
        made = Benchmark.create(tmp_path / form)
        content = Content(
            videos=[Video(id=f"v{n}", split="test", sha256=f"{n}" * 64) for n in range(4)],
            dialogues=[
                Dialogue(id=f"d{n}", video_id=f"v{n}", turns=tuple(turn(10 * n + at, form) for at in range(10)))
                for n in range(4)
            ],
        )
        made.write_content(content, stage="test")
        return made

    return make


class Saying:
    """Gives answers in turn: `readable` of every twenty are `right`, the others are not readable."""

    def __init__(self) -> None:
        self.readable, self.right, self.wrong, self.asked = 0, "B", RAMBLING, 0

    def __call__(self, body: Body) -> str:
        self.asked += 1
        return self.right if self.asked % 20 < self.readable else self.wrong


@pytest.fixture
def saying() -> Saying:
    return Saying()


@pytest.fixture
def server(saying: Saying) -> Iterator[Server]:
    with serve(saying) as found:
        yield found


def played(made: Benchmark, server: Server, out: Path, *, protocols: tuple[str, ...] = ("auto",), **limits: Any) -> Run:
    return evaluate(
        made, out=out, model="player", asking={"base_url": server.base_url, "sees": "text"},
        play={"frames": {"policy": "none"}}, judging=JudgeSettings(protocols=protocols),
        limits={"connections": 1, "backoff_s": 0.0, **limits},
    ).run  # fmt: skip


@pytest.mark.parametrize(("form", "protocol"), [("options", "choice"), ("key", "typed")])
def test_a_run_whose_first_answers_cannot_be_read_stops(
    form: str, protocol: str, benchmark: Callable[[str], Benchmark], server: Server, saying: Saying, tmp_path: Path
) -> None:
    with pytest.raises(UnusableError) as stopped:
        played(benchmark(form), server, tmp_path / "run")
    told = str(stopped.value)
    assert f"{LEAST_READ} of the first {LEAST_READ} answers cannot be read by '{protocol}'" in told
    assert RAMBLING in told
    assert "--prompt" in told
    assert "--no-preflight" in told
    assert saying.asked < 40, "the rest is not asked"
    assert not (tmp_path / "run" / INFO).exists()


@pytest.mark.parametrize(("readable", "stops"), [(0, True), (9, True), (10, False), (11, False), (20, False)])
def test_it_stops_if_more_than_half_cannot_be_read(
    readable: int, stops: bool, benchmark: Callable[[str], Benchmark], server: Server, saying: Saying, tmp_path: Path
) -> None:
    saying.readable = readable
    made = benchmark("options")
    # The request before the run, if there is one, is not an answer.
    if stops:
        with pytest.raises(UnusableError, match=f"{20 - readable} of the first 20"):
            played(made, server, tmp_path / "run")
    else:
        rows = played(made, server, tmp_path / "run").summary
        unread = [row.value for row in rows if row.metric == "accuracy.unread"]
        assert unread[0] == pytest.approx(100 * (20 - readable) / 20)


def test_without_the_check_it_goes_on_and_counts_them(
    benchmark: Callable[[str], Benchmark], server: Server, tmp_path: Path
) -> None:
    run = played(benchmark("options"), server, tmp_path / "run", preflight=False)
    rows = {row.metric: row for row in run.summary if row.model == "player"}
    assert (rows["accuracy"].value, rows["accuracy"].n, rows["accuracy.unread"].value) == (0.0, 40, 100.0)


@pytest.mark.parametrize(("form", "said"), [("short", RAMBLING), ("options", "A"), ("key", "In the bedroom.")])
def test_wrong_answers_do_not_stop_it(
    form: str, said: str, benchmark: Callable[[str], Benchmark], server: Server, saying: Saying, tmp_path: Path
) -> None:
    saying.wrong = said
    run = played(benchmark(form), server, tmp_path / "run")
    (info,) = (info for info in run.info.models if info.model == "player")
    assert info.turns == {"answered": 40}
    assert {row.value for row in run.summary if row.metric in ("accuracy", "typed", "match")} == {0.0}

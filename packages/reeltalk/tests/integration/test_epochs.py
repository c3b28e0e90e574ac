"""Several plays of each dialogue: a turn's value is the mean of its answers, in every number and after every resume."""

import hashlib
import json
import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scripted_server import Body, serve

from reeltalk.cli import run
from reeltalk.evaluation.epochs import spread_within_turns
from reeltalk.schema.dialogue import AnswerKey, Dialogue, DialoguePath, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.runs import Run, read_run

COLOURS = ("red", "green", "blue", "white")


def turn(video: int, place: int) -> Turn:
    colour = COLOURS[(video + place) % 4]
    return Turn(
        question=f"What colour is thing {place} of video {video}?",
        references=(f"The thing is {colour}.",),
        options=COLOURS,
        correct_option=COLOURS.index(colour),
        key=AnswerKey(type="colour", values=(colour,)),
    )


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve videos, each with a dialogue of three turns, a chain, and a path along it."""
    content = Content(videos=[Video(id=f"v{n}", duration_s=8.0) for n in range(12)])
    for n in range(12):
        turns = tuple(turn(n, place) for place in range(3))
        content.dialogues.append(Dialogue(id=f"d{n}", video_id=f"v{n}", turns=turns))
        content.clips.append(Clip(id=f"c{n}", video_id=f"v{n}", interval=Interval(start_s=0.0, end_s=8.0)))
        content.chains.append(QAChain(id=f"q{n}", video_id=f"v{n}", clip_id=f"c{n}", turns=turns))
        steps = tuple(PathStep(ref=TurnRef(unit_id=f"q{n}", turn_index=place)) for place in range(3))
        content.paths.append(DialoguePath(id=f"p{n}", video_id=f"v{n}", steps=steps))
    folder = tmp_path_factory.mktemp("epochs") / "bench"
    Benchmark.create(folder).write_content(content, stage="test")
    return folder


class Sampling:
    """Samples a colour by the seed of the request, as a server does at a temperature above 0."""

    def __init__(self, fails: tuple[int, ...] = ()) -> None:
        self.bodies: list[Body] = []
        self._fails, self._lock = fails, threading.Lock()

    def __call__(self, body: Body) -> str:
        with self._lock:
            self.bodies.append(body)
        draw = hashlib.sha256(json.dumps([body["seed"], body["messages"]]).encode()).digest()[0]
        return f"It is {COLOURS[draw % 4]}." if body["seed"] not in self._fails else ""


def command(bench: Path, out: Path, url: str, *more: str) -> list[str]:
    return [
        *("evaluate", str(bench), "--out", str(out), "--model", "owl", "--base-url", url, "--temperature", "0.7"),
        *("--units", "dialogue", "--history", "predicted", "--policy", "none", "--protocols", "typed,choice"),
        *("--metrics", "rouge_l,bleu", "--no-preflight", "--backoff-s", "0.001", *more),
    ]


def numbers(found: Run) -> dict[str, tuple[float | None, int]]:
    return {row.metric: (row.value, row.n) for row in found.summary if row.model == "owl"}


def test_every_number_is_the_mean_over_epochs_and_turns_are_counted_once(bench: Path, tmp_path: Path) -> None:
    server = Sampling()
    with serve(server) as running:
        assert run(command(bench, tmp_path / "run", running.base_url, "--epochs", "5")) == 0
    assert sorted({body["seed"] for body in server.bodies}) == [17, 18, 19, 20, 21]
    found = read_run(tmp_path / "run")
    answers = list(found.answers())
    assert [len([one for one in answers if one.epoch == epoch]) for epoch in range(5)] == [36] * 5
    by_turn: dict[str, list[float]] = {}
    for answer, scores in zip(answers, found.item_scores(), strict=True):
        assert (answer.item_id, answer.epoch) == (scores.item_id, scores.epoch)
        by_turn.setdefault(answer.item_id, []).append(scores.scores["typed"])
    mean = float(np.mean([np.mean(values) for values in by_turn.values()]))
    assert 0 < mean < 100
    value, n = numbers(found)["typed"]
    assert value == pytest.approx(mean)
    assert n == 36
    assert {name: n for name, (_, n) in numbers(found).items() if name in ("rouge_l", "bleu_4", "accuracy")} == {
        "rouge_l": 36, "bleu_4": 36, "accuracy": 36,
    }  # fmt: skip
    frame = found.frame().filter(pl.col("measure") == "typed", pl.col("model") == "owl")
    assert len(frame) == 36
    assert frame["value"].mean() == pytest.approx(mean)
    assert found.info.models[0].due == 36
    for row in found.summary:
        if row.model == "owl":
            assert "|epochs:5|" in row.signature


def test_a_later_turn_sees_the_answers_of_its_own_play(bench: Path, tmp_path: Path) -> None:
    server = Sampling()
    with serve(server) as running:
        assert run(command(bench, tmp_path / "run", running.base_url, "--epochs", "3")) == 0
    given = {(one.epoch, one.question): one.text for one in read_run(tmp_path / "run").answers()}
    later = [body for body in server.bodies if len(body["messages"]) > 3]
    assert len(later) == 72
    for body in later:
        asked, answered = body["messages"][1::2][:-1], body["messages"][2::2]
        for question, answer in zip(asked, answered, strict=True):
            assert given[body["seed"] - 17, question["content"]] == answer["content"]


def test_epochs_are_told_in_terminal_report_and_csv(
    bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(Sampling()) as running:
        assert run(command(bench, tmp_path / "run", running.base_url, "--epochs", "4", "--verbose")) == 0
    told = capsys.readouterr().out
    assert "Every dialogue was played 4 times; the value of a turn is the mean of its answers." in told
    assert " to one turn deviate by " in told
    assert "answers: 144 (144 answered)" in told
    spreads = {one.metric: one for one in read_run(tmp_path / "run").info.spreads}
    assert spreads["typed"].deviation > 10
    assert 0 < (spreads["typed"].share or 0) <= 1
    assert run(["report", str(tmp_path / "run"), "--out", str(tmp_path / "site")]) == 0
    assert "Every dialogue was played 4 times" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")


def test_runs_of_one_and_of_several_epochs_are_compared(
    bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(Sampling()) as running:
        for name, more in (("one", ()), ("many", ("--epochs", "6"))):
            assert run(command(bench, tmp_path / name, running.base_url, *more)) == 0
    capsys.readouterr()
    assert run(["compare", str(tmp_path / "one"), str(tmp_path / "many")]) == 0
    assert "not comparable" not in capsys.readouterr().out
    one, many = (read_run(tmp_path / name) for name in ("one", "many"))
    widths = [
        (row.high or 0) - (row.low or 0) for found in (one, many) for row in found.summary if row.metric == "typed"
        and row.model == "owl"
    ]  # fmt: skip
    assert widths[1] < widths[0]
    first = [(row.item_id, row.text) for row in many.answers() if not row.epoch]
    assert first == [(row.item_id, row.text) for row in one.answers()]


def test_a_run_that_goes_on_asks_nothing_twice(bench: Path, tmp_path: Path) -> None:
    server = Sampling()
    with serve(server) as running:
        ends = command(bench, tmp_path / "run", running.base_url, "--epochs", "3")
        assert run([*ends, "--max-calls", "60"]) != 0
        begun = len(server.bodies)
        assert 0 < begun <= 60
        assert run(ends) == 0
    asked = [json.dumps([body["seed"], body["messages"]]) for body in server.bodies]
    assert len(asked) == len(set(asked)) == 108


def test_a_turn_has_the_mean_of_the_epochs_that_answered_it(bench: Path, tmp_path: Path) -> None:
    with serve(Sampling(fails=(18,))) as running:
        more = ("--epochs", "3", "--max-retries", "0", "--give-up-after-s", "0")
        assert run(command(bench, tmp_path / "run", running.base_url, *more)) == 1
        found = read_run(tmp_path / "run")
    assert sum(one.has_failed for one in found.answers()) == 36
    value, n = numbers(found)["typed"]
    assert n == 36
    assert found.info.models[0].turns == {"answered": 36}
    scores = [row.scores["typed"] for row in found.item_scores() if "typed" in row.scores]
    assert len(scores) == 72
    assert value == pytest.approx(float(np.mean(scores)))


def test_streams_judge_and_plan_play_every_epoch(
    bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(Sampling()) as running:
        stream = [
            one for one in command(bench, tmp_path / "run", running.base_url, "--epochs", "2", "--mode", "streaming")
        ]
        at = stream.index("--units")
        del stream[at : at + 2]
        assert run(stream) == 0
        capsys.readouterr()
        assert run([*stream[: stream.index("--out")], *stream[stream.index("--out") + 2 :], "--plan"]) == 0
        assert "72 requests" in capsys.readouterr().out
    assert run(["judge", str(tmp_path / "run"), "--out", str(tmp_path / "again"), "--protocols", "typed"]) == 0
    played, judged = (read_run(tmp_path / name) for name in ("run", "again"))
    assert numbers(judged)["typed"] == numbers(played)["typed"]
    assert numbers(judged)["typed.unread"] == numbers(played)["typed.unread"]


def test_judges_of_turns_and_of_whole_dialogues_judge_every_play(bench: Path, tmp_path: Path) -> None:
    def judged(body: Body) -> str:
        draw = hashlib.sha256(json.dumps(body["messages"]).encode()).digest()[0]
        if body["model"] == "owl":
            return f"It is {COLOURS[hashlib.sha256(json.dumps([body['seed'], draw]).encode()).digest()[0] % 4]}."
        schema = body.get("response_format")
        if schema is None:
            return f"So rating={1 + draw % 3}."
        fields = schema["json_schema"]["schema"]["properties"]
        return json.dumps(
            {name: "It fits." if kind.get("type") == "string" else draw % 11 for name, kind in fields.items()}
        )

    with serve(judged) as running:
        chosen = command(
            bench, tmp_path / "run", running.base_url, "--epochs", "3", "--null-units", "0", "--judge-summary", "none"
        )
        chosen[chosen.index("--units") + 1] = "chain"
        chosen[chosen.index("typed,choice")] = "vdeval,svbench"
        assert run([*chosen, "--judge", "judge", "--judge-base-url", running.base_url]) == 0
    found = read_run(tmp_path / "run")
    frame = found.frame().filter(pl.col("model") == "owl")
    for protocol, criterion, metric, count, scale in (
        ("vdeval", "vdeval", "vdeval", 36, 1),
        ("svbench", "OS", "svbench.OS", 12, 10),
    ):
        rows = [row for row in found.judged(protocol) if row.model == "owl" and row.criterion == criterion]
        assert [sum(row.epoch == epoch for row in rows) for epoch in range(3)] == [count] * 3
        mean = scale * float(np.mean([row.value for row in rows]))
        value, n = numbers(found)[metric]
        assert value == pytest.approx(mean)
        assert n == count
        units = frame.filter(pl.col("measure") == metric)
        assert len(units) == count
        assert scale * np.mean(units["value"].to_numpy()) == pytest.approx(mean)


def test_greedy_models_are_warned_of_and_baselines_refused(
    bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(Sampling()) as running:
        greedy = command(bench, tmp_path / "run", running.base_url, "--epochs", "2")
        greedy[greedy.index("0.7")] = "0"
        assert run(greedy) == 0
    assert "temperature 0 gives nearly the same answers in all 2 epochs" in capsys.readouterr().err
    assert run(["evaluate", str(bench), "--out", str(tmp_path / "b"), "--model", "baseline:yes", "--epochs", "2"]) != 0
    assert "--epochs has no effect on baseline:yes" in capsys.readouterr().err


def test_the_share_of_the_variance_is_that_of_the_simulation() -> None:
    draw, shares, means = np.random.default_rng(3), [], []
    for _ in range(300):
        videos = {f"i{n}": f"v{n // 5}" for n in range(200)}
        truth = draw.uniform(0.2, 0.8, 200)
        values = {(f"i{n}", epoch): float(draw.random() < truth[n]) for n in range(200) for epoch in range(4)}
        found = spread_within_turns("m", "typed", values, videos)
        assert found is not None
        assert found.share is not None
        shares.append(found.share)
        means.append(np.mean(list(values.values())))
    within = 0.25 - 0.03 - 0.0  # mean of p (1 - p) for p uniform on .2 to .8
    expected = within / 4 / (0.03 + within / 4)
    assert np.mean(shares) == pytest.approx(expected, abs=0.06)
    assert np.var(means) * 200 == pytest.approx(0.03 + within / 4, rel=0.25)

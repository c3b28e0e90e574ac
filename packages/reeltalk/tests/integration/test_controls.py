"""A model is played again with no, black, shuffled or another video's pictures, and the report says what that costs.

Films carry the number of each frame in their pixels, so what a control shows is read off what a server is sent.
"""

import contextlib
import csv
import html
import io
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from pixel_server import number_in, pictures_of
from sample_videos import Numbered
from scripted_server import Body, Server, question_in, serve

from reeltalk.cli import run
from reeltalk.schema.dialogue import DialoguePath, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.runs import CONTROLS
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_file
from reeltalk.store.runs import Run
from reeltalk.video.encode import pixels_of

SLOW = Numbered("h264-long.mp4", rate=Fraction(12), frames=480)
SHORT = Numbered("h264-b-frames.mkv", options={"bf": "3", "g": "48"}, rate=Fraction(30000, 1001))
ALL = ",".join(CONTROLS)
Pictures = list[list[bytes]]
"""The JPEG files of each message that has some."""


@dataclass
class Eyes:
    """Answers right where the last frame that it is shown has a number above 60, and keeps what it was sent."""

    asked: list[tuple[str, Pictures]] = field(default_factory=list)
    """The last question of each request, and its pictures."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, body: Body) -> str:
        pictures = [pictures_of(message) for message in body["messages"]]
        shown = [picture for found in pictures for picture in found]
        with self._lock:
            self.asked.append((question_in(body["messages"][-1]), [found for found in pictures if found]))
        lit = [picture for picture in shown if pixels_of(picture).max() > 40]
        right = question_in(body["messages"][-1]).split()[-1][0]
        return f"It is {right}." if lit and number_in(lit[-1]) > 60 else "It is 5."


@pytest.fixture
def eyes() -> Eyes:
    return Eyes()


@pytest.fixture
def server(eyes: Eyes) -> Iterator[Server]:
    with serve(eyes, keep=0) as running:
        yield running


def bench(folder: Path, *films: Numbered) -> Path:
    content = Content()
    for number, film in enumerate(films):
        path, _ = film.make()
        sha256, video = hash_file(path)[0], f"v{number}"
        content.media[sha256] = path
        content.videos.append(Video(id=video, sha256=sha256))
        for c in range(2):
            interval = Interval(start_s=3.5 * c, end_s=3.5 * c + 3.5)
            content.clips.append(Clip(id=f"{video}-c{c}", video_id=video, interval=interval))
            turns = tuple(
                Turn(
                    question=f"Which number ({video} {c} {n})?",
                    references=(f"It is {n}.",),
                    labels={"vdact.question_type": (kind,)},
                )
                for n, kind in enumerate(("D-LOC", "T-SEQ"))
            )
            content.chains.append(QAChain(id=f"{video}-q{c}", video_id=video, clip_id=f"{video}-c{c}", turns=turns))
        steps = tuple(PathStep(ref=TurnRef(unit_id=f"{video}-q{c}", turn_index=n)) for c in range(2) for n in range(2))
        content.paths.append(DialoguePath(id=f"{video}-p", video_id=video, steps=steps))
    Benchmark.create(folder).write_content(content, stage="test")
    return folder


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bench(tmp_path_factory.mktemp("controls") / "bench", SLOW, SHORT)


def command(benchmark: Path, server: Server, out: Path, *more: object) -> list[str]:
    return list(map(str, [
        "evaluate", benchmark, "--model", "eyes", "--base-url", server.base_url, "--out", out, "--protocols", "match",
        "--metrics", "none", "--connections", 2, "--backoff-s", 0.01, *more,
    ]))  # fmt: skip


def row_of(folder: Path) -> dict[str, Any]:
    rows = json.loads((folder / "summary.json").read_text())
    return next(row for row in rows if row["model"] == "eyes" and row["metric"] == "match")


POLICIES = (("--policy", "uniform"), ("--policy", "fps", "--fps", 2, "--mode", "streaming"))


@pytest.mark.parametrize("policy", POLICIES, ids=["uniform", "fps"])
def test_each_control_shows_a_server_what_it_says(
    policy: tuple[object, ...], benchmark: Path, server: Server, eyes: Eyes, tmp_path: Path
) -> None:
    # The run itself is played first, then one control after another.
    assert run(command(benchmark, server, tmp_path / "run", *policy, "--frames", 6, "--controls", ALL)) == 0
    a_play = len(eyes.asked) // (1 + len(CONTROLS))
    shown = {name: dict(eyes.asked[n * a_play : (n + 1) * a_play]) for n, name in enumerate(("", *CONTROLS))}
    assert all(len(asked) == a_play for asked in shown.values())
    questions = set(shown[""])
    mixed = 0
    for question in questions:
        own = shown[""][question]
        numbers = [[number_in(picture) for picture in message] for message in own]
        assert own
        assert shown["none"][question] == []
        dark = shown["black"][question]
        assert [[pixels_of(p).shape for p in message] for message in dark] == [
            [pixels_of(p).shape for p in message] for message in own
        ]
        assert all(not pixels_of(picture).any() for message in dark for picture in message)
        other = [[number_in(picture) for picture in message] for message in shown["shuffled"][question]]
        assert [sorted(message) for message in other] == [sorted(message) for message in numbers]
        mixed += sum(a != b for a, b in zip(other, numbers, strict=True))
        assert all(a != b for a, b in zip(other, numbers, strict=True) if len(a) > 1)
        foreign = [[number_in(picture) for picture in message] for message in shown["other-video"][question]]
        assert list(map(len, foreign)) == list(map(len, numbers))
        own_rate, rate, frames = (12.0, 29.97, 240) if "v0" in question else (29.97, 12.0, 480)
        for message, theirs in zip(numbers, foreign, strict=True):
            for number, there in zip(message, theirs, strict=True):
                at_s = number / own_rate
                length_s = frames / rate
                assert abs(there - min(at_s % length_s * rate, frames - 1)) <= 1
    assert mixed


@dataclass(frozen=True)
class Ran:
    folder: Path
    requests: int
    told: str


@pytest.fixture(scope="module")
def ran(benchmark: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A run with all controls, made in one go."""
    eyes, out = Eyes(), tmp_path_factory.mktemp("ran") / "run"
    told = io.StringIO()
    with serve(eyes, keep=0) as server, contextlib.redirect_stdout(told):
        assert run(command(benchmark, server, out, *SMALL, "--controls", ALL, "--verbose")) == 0
    return Ran(out, len(eyes.asked), told.getvalue())


SMALL = ("--policy", "uniform", "--frames", 3)


def test_what_looking_is_worth_is_told_as_compare_tells_it(
    ran: Ran, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", str(ran.folder), str(ran.folder / "controls" / "black"), "--metrics", "match",
                "--format", "json", "--out", str(tmp_path / "c.json")]) == 0  # fmt: skip
    [pair] = [row for row in json.loads((tmp_path / "c.json").read_text()) if row["metric"] == "match"]
    capsys.readouterr()
    assert f"difference {pair['difference']:+.1f} [{pair['low']:+.1f}, {pair['high']:+.1f}]" in ran.told
    assert "what looking is worth to eyes" in ran.told
    assert "Some intervals rest on 2 source videos only." in ran.told


def test_the_report_has_a_page_of_it_and_controls_stand_on_no_leaderboard(ran: Ran, tmp_path: Path) -> None:
    for given, site in (([ran.folder], "a"), ([ran.folder, ran.folder / "controls" / "black"], "b")):
        assert run(["report", *map(str, given), "--out", str(tmp_path / site), "--tables", "csv"]) == 0
        page = (tmp_path / site / "looking.html").read_text()
        assert "What looking is worth" in page
        for title in CONTROLS.values():
            assert title in html.unescape(page)
        assert "Some intervals rest on 2 source videos only." in page
        assert "by question type" in page
        assert "Locations" in page
        board = (tmp_path / site / "index.html").read_text()
        assert "black" not in board
        assert not any("black" in path.name for path in (tmp_path / site / "models").iterdir())
        [table] = [path for path in (tmp_path / site / "tables").glob("looking-*over-all-turns*.csv")]
        rows = list(csv.DictReader(table.read_text().splitlines()))
        assert float(rows[0]["Own pictures"]) == pytest.approx(row_of(ran.folder)["value"], abs=0.01)
    assert (tmp_path / "a" / "looking.html").read_bytes() == (tmp_path / "b" / "looking.html").read_bytes()


def test_a_control_without_its_run_is_no_report(ran: Ran, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(ran.folder / "controls" / "black"), "--out", str(tmp_path / "site")]) == 2
    assert "is a control, played with black pictures" in capsys.readouterr().err


def test_a_control_is_signed_and_recorded(ran: Ran) -> None:
    signatures = {row_of(ran.folder / "controls" / name)["signature"] for name in CONTROLS}
    assert len(signatures | {row_of(ran.folder)["signature"]}) == len(CONTROLS) + 1
    for name in CONTROLS:
        assert json.loads((ran.folder / "controls" / name / "request.json").read_text())["play"]["control"] == name
        assert f"control:{name}" in row_of(ran.folder / "controls" / name)["signature"]
    assert not (ran.folder / "controls" / "frames").exists()


def test_what_was_stopped_goes_on_and_no_question_is_paid_for_twice(
    ran: Ran,
    benchmark: Path,
    server: Server,
    eyes: Eyes,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole = command(benchmark, server, tmp_path / "run", *SMALL, "--controls", ALL)
    assert run([*whole, "--max-calls", str(ran.requests // 5 * 2 + 2)]) == 2
    assert "budget is spent" in capsys.readouterr().err
    assert (tmp_path / "run" / "run.json").is_file()
    stopped = (tmp_path / "run" / "run.json").stat().st_mtime_ns
    assert run(whole) == 0
    assert (tmp_path / "run" / "run.json").stat().st_mtime_ns == stopped
    assert len(eyes.asked) == ran.requests
    for name in ("", *(f"controls/{control}" for control in CONTROLS)):
        assert row_of(tmp_path / "run" / name) == row_of(ran.folder / name)
    assert run(whole) == 0
    assert "is whole: nothing in it failed" in capsys.readouterr().err
    assert len(eyes.asked) == ran.requests


def test_judging_a_run_judges_its_controls(ran: Ran, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(
            [
                "judge",
                str(ran.folder),
                "--out",
                str(tmp_path / "j"),
                "--protocols",
                "match",
                "--metrics",
                "rouge_l",
                "--verbose",
            ]
        )
        == 0
    )
    told = capsys.readouterr().out
    assert "what looking is worth to eyes" in told
    assert run(["report", str(tmp_path / "j"), "--out", str(tmp_path / "site")]) == 0
    assert "ROUGE-L" in (tmp_path / "site" / "looking.html").read_text()


def test_a_forecast_counts_controls(
    ran: Ran, benchmark: Path, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = command(benchmark, server, tmp_path / "run", *SMALL, "--controls", ALL)
    assert run([*whole, "--plan"]) == 0
    assert f"in all {ran.requests:,} requests" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--controls", "blur"), "no control 'blur'; there are none, black, shuffled, other-video"),
        (("--controls", "black", "--policy", "none"), "is shown no pictures here"),
        (("--controls", "black", "--sees", "text"), "is shown no pictures here"),
        (("--controls", "none", "--model", "oracle"), "--base-url has no effect on oracle"),
        (("--controls", "none", "--model", "baseline:blind"), "--base-url has no effect on baseline:blind"),
    ],
)
def test_what_cannot_be_controlled_is_refused_before_anything_is_asked(
    more: tuple[str, ...],
    words: str,
    benchmark: Path,
    server: Server,
    eyes: Eyes,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = command(benchmark, server, tmp_path / "run")
    if "--model" in more:
        del given[given.index("--model") : given.index("--model") + 2]
    assert run([*given, *more]) == 2
    assert words in capsys.readouterr().err
    assert not eyes.asked


def test_another_video_is_needed_for_its_pictures(
    server: Server, eyes: Eyes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, films in (("one", (SHORT,)), ("same", (SHORT, SHORT))):
        alone = bench(tmp_path / name, *films)
        assert run(command(alone, server, tmp_path / "run", "--controls", "none,other-video")) == 2
        assert "has no second video whose file is available" in capsys.readouterr().err
        assert not eyes.asked


def test_models_of_this_machine_are_shown_what_a_control_says(benchmark: Path, tmp_path: Path) -> None:
    looks = tmp_path / "looks.py"
    looks.write_text(
        "class Looks:\n"
        "    def answer(self, frames, history, question):\n"
        "        return f'{len(frames)} {sum(int(frame.max()) for frame in frames)}'\n"
    )
    for model in (f"python:{looks}:Looks", "mini"):
        out = tmp_path / model[:4]
        whole = ["evaluate", str(benchmark), "--model", model, "--out", str(out), "--protocols", "match", "--metrics",
                 "none", "--policy", "fps", "--mode", "streaming", "--frames", "8", "--longest-side", "64",
                 "--controls", "none,black"]  # fmt: skip
        assert run(whole) in (0, 1)
        turns = {name: list(Run.open(out / name).answers()) for name in ("", "controls/none", "controls/black")}
        own, none, black = ([turn for turn in found if turn.played] for found in turns.values())
        times = [[turn.played.frames_s for turn in found if turn.played] for found in (own, none, black)]
        assert times[0] == times[2]
        assert not any(times[1])
        if model != "mini":
            assert all(turn.text == "0 0" for turn in none)
            assert all(turn.text.endswith(" 0") and turn.text != "0 0" for turn in black)
            assert not any(turn.text.endswith(" 0") for turn in own)

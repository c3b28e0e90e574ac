"""What `evaluate` and `judge` cannot do, they refuse with exit code 2 and one clear paragraph, before any request."""

import itertools
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scripted_server import Server, serve

from reeltalk.cli import run
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark without video files."""
    turns = tuple(Turn(question=f"Where is he ({n})?", references=("In the kitchen.",)) for n in range(2))
    content = Content(
        videos=[Video(id="v", split="test", sha256="0" * 64)],
        clips=[Clip(id="c", video_id="v", interval=Interval(start_s=0, end_s=5))],
        chains=[QAChain(id="q", video_id="v", clip_id="c", turns=turns)],
        paths=[DialoguePath(id="p", video_id="v", steps=(PathStep(ref=TurnRef(unit_id="q", turn_index=0)),))],
        dialogues=[Dialogue(id="d", video_id="v", turns=turns, task="object_reference")],
    )
    folder = tmp_path_factory.mktemp("refusals") / "bench"
    Benchmark.create(folder).write_content(content, stage="test")
    return folder


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve(lambda body: "In the kitchen.", keep=0) as running:
        yield running


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command that must be refused; what it says."""

    def check(*arguments: object) -> str:
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert code == 2, (out, err)
        assert err.startswith("reeltalk: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        assert not out
        return err

    return check


def asked(benchmark: Path, out: Path, server: Server, *more: object) -> list[object]:
    elsewhere = any(str(part).startswith(("answers:", "baseline:", "python:")) for part in more)
    model = [] if "--model" in more else ["--model", "tiny"]
    address = [] if elsewhere else ["--base-url", server.base_url]
    return ["evaluate", benchmark, "--out", out, *model, *address, "--metrics", "none", *more]


BLIND = ("--policy", "none")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--protocols", "vdeval"), ("vdeval needs a model that judges; give --judge NAME",)),
        (("--protocols", "vdevil"), ("no judging protocol 'vdevil'", "vdeval")),
        (("--metrics", "blue"), ("blue", "bleu")),
        (("--preset", "svbenchmark"), ("svbenchmark", "svbench")),
        (("--prompt", "poetic"), ("no prompt 'poetic'", "plain")),
        (("--prompt", "absent.md"), ("absent.md",)),
        (("--mode", "backwards"), ("backwards", "streaming")),
        (("--split", "dev"), ("no video is in split 'dev'", "test")),
        (("--tasks", "singing"), ("no dialogue has task 'singing'", "object_reference")),
        (("--mode", "streaming", "--units", "chain"), ("streaming plays paths only",)),
        (("--mode", "single", "--history", "predicted"), ("mode single has no history",)),
        (("--mode", "dialogue", "--rejump", 3), ("new paths are drawn in mode streaming only",)),
        (("--mode", "streaming", "--rejump", -1), ("rejump",)),
        (("--limit", 0), ("--limit 0", "at least 1")),
        (("--limit", -3), ("--limit -3", "at least 1")),
        (("--frames", 0), ("--frames", "0")),
        (("--frames", 1_000_000), ("--frames", "1000000")),
        (("--fps", -1), ("--fps", "-1")),
        (("--fps", "nan"), ("--fps", "nan")),
        (("--connections", 0), ("--connections", "0")),
        (("--workers", 0), ("--workers 0", "at least 1")),
        (("--max-calls", -5), ("--max-calls", "-5")),
        (("--max-cost", "inf"), ("--max-cost", "inf")),
        (("--max-cost", "nan"), ("--max-cost", "nan")),
        (("--timeout-s", "inf"), ("--timeout-s", "inf")),
        (("--max-cost", 1), ("a limit on cost needs the prices",)),
        (("--temperature", 9), ("--temperature", "9")),
        (("--seed", -1), ("--seed", "-1")),
        (("--timeout-s", 0), ("--timeout-s", "0")),
        (("--eval-rounds", 21), ("--eval-rounds", "21")),
        (("--batch",), ("--batch has no effect on tiny: it has no batch API",)),
        (("--model", "answers:absent.json", "--answers-format", "vdact"), ("no such file", "absent.json")),
        (("--model", "answers:absent.json"), ("no such file", "absent.json")),
        (("--model", "answers:absent"), ("--answers-format",)),
        (("--model", "answers:absent.json", "--answers-format", "cards"), ("cards", "vdact")),
        (("--model", "baseline:psychic"), ("psychic", "blind")),
        (("--model", "python:nowhere:Nobody"), ("nowhere",)),
        (("--model", "inspect:nobody/nothing"), ("inspect_ai cannot open nobody/nothing",)),
        (("--history", "corrupted"), ("there is no wrong answer",)),
        (("--unheard-of", 1), ("--unheard-of",)),
    ],
    ids=lambda value: " ".join(map(str, value)) if value and str(value[0]).startswith("--") else "",
)  # fmt: skip
def test_a_setting_that_cannot_be(
    more: tuple[object, ...],
    words: tuple[str, ...],
    benchmark: Path,
    server: Server,
    tmp_path: Path,
    refused: Callable[..., str],
) -> None:
    command = asked(benchmark, tmp_path / "run", server, *BLIND, *more)
    if "--metrics" in more:
        command = [part for n, part in enumerate(command) if n not in (at := command.index("--metrics"), at + 1)]
    said = refused(*command)
    for word in words:
        assert word in said
    assert not (tmp_path / "run" / "run.json").exists()


def test_what_is_no_benchmark(tmp_path: Path, server: Server, refused: Callable[..., str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("{}")
    for name in ("empty", "file", "absent"):
        assert name in refused(*asked(tmp_path / name, tmp_path / "run", server))
    assert not (tmp_path / "run").exists()


def test_a_benchmark_without_dialogues(tmp_path: Path, server: Server, refused: Callable[..., str]) -> None:
    Benchmark.create(tmp_path / "b").write_content(Content(videos=[Video(id="v")]), stage="test")
    assert "there is nothing to play" in refused(*asked(tmp_path / "b", tmp_path / "run", server))


def test_a_path_that_leads_nowhere(tmp_path: Path, server: Server, refused: Callable[..., str]) -> None:
    path = DialoguePath(id="p", video_id="v", steps=(PathStep(ref=TurnRef(unit_id="gone", turn_index=3)),))
    Benchmark.create(tmp_path / "b").write_content(Content(videos=[Video(id="v")], paths=[path]), stage="test")
    said = refused(*asked(tmp_path / "b", tmp_path / "run", server, "--mode", "streaming"))
    assert "path 'p' leads to turn 3 of chain 'gone'" in said


def test_linkages_that_lead_back_cannot_be_walked_anew(
    tmp_path: Path, server: Server, refused: Callable[..., str]
) -> None:
    chains = [QAChain(id=f"q{n}", video_id="v", turns=(Turn(question="?"),)) for n in range(2)]
    back = Linkage(
        source=TurnRef(unit_id="q1", turn_index=0), target=TurnRef(unit_id="q0", turn_index=0), relation="Object"
    )
    content = Content(videos=[Video(id="v")], chains=chains, linkages=[back])
    Benchmark.create(tmp_path / "b").write_content(content, stage="test")
    said = refused(*asked(tmp_path / "b", tmp_path / "run", server, *BLIND, "--mode", "streaming", "--rejump", 1))
    assert "does not lead to a later chain" in said


def test_a_golden_history_needs_references(tmp_path: Path, server: Server, refused: Callable[..., str]) -> None:
    dialogue = Dialogue(id="d", video_id="v", turns=(Turn(question="Who?"), Turn(question="Where?")))
    Benchmark.create(tmp_path / "b").write_content(Content(videos=[Video(id="v")], dialogues=[dialogue]), stage="test")
    said = refused(*asked(tmp_path / "b", tmp_path / "run", server, *BLIND))
    assert "turn 1 of 'd' has no reference" in said
    assert "--history predicted" in said


def test_videos_that_are_not_at_hand(
    benchmark: Path, tmp_path: Path, server: Server, refused: Callable[..., str]
) -> None:
    before = server.count
    said = refused(*asked(benchmark, tmp_path / "run", server))
    assert "1 videos are not available, as 'v'" in said
    assert "--skip-missing" in said
    assert "there is nothing to play" in refused(*asked(benchmark, tmp_path / "other", server, "--skip-missing"))
    assert server.count == before


def test_a_folder_that_cannot_be_a_run(
    benchmark: Path, tmp_path: Path, server: Server, refused: Callable[..., str]
) -> None:
    (tmp_path / "file").write_text("precious")
    assert "is a file; choose a folder" in refused(*asked(benchmark, tmp_path / "file", server, *BLIND))
    assert (tmp_path / "file").read_text() == "precious"
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("precious")
    for more in ((), ("--overwrite",)):
        said = refused(*asked(benchmark, tmp_path / "full", server, *BLIND, *more))
        assert "holds something that is no run" in said
    assert (tmp_path / "full" / "thesis.tex").read_text() == "precious"
    # Nobody can make a folder there, not even root.
    assert "cannot write /proc" in refused(*asked(benchmark, Path("/proc/run"), server, *BLIND))
    assert "cannot write" in refused(*asked(benchmark, tmp_path / "file" / "run", server, *BLIND))


def test_a_benchmark_is_not_taken_for_a_run(
    benchmark: Path, tmp_path: Path, server: Server, refused: Callable[..., str]
) -> None:
    copy = shutil.copytree(benchmark, tmp_path / "copy")
    said = refused(*asked(benchmark, copy, server, *BLIND, "--overwrite"))
    assert "holds something that is no run" in said
    assert Benchmark.open(copy).content().dialogues


@pytest.fixture(scope="module")
def played(benchmark: Path, tmp_path_factory: pytest.TempPathFactory, server: Server) -> Path:
    out = tmp_path_factory.mktemp("played") / "run"
    assert run([str(part) for part in asked(benchmark, out, server, *BLIND)]) == 0
    return out


class TestJudging:
    @pytest.fixture
    def answers(self, played: Path, tmp_path: Path) -> Path:
        return shutil.copytree(played, tmp_path / "answers")

    def test_judging_goes_as_it_should(self, answers: Path, tmp_path: Path) -> None:
        assert run(["judge", str(answers), "--out", str(tmp_path / "judged")]) == 0

    @pytest.mark.parametrize(
        ("name", "damage"),
        [
            *itertools.product(
                ["answers.jsonl", "run.json", "summary.json", "scores/curves.jsonl"],
                ["cut", "not JSON", "another shape", "absent", "not text"],
            ),
            ("answers.jsonl", "cut between lines"),
        ],
    )
    def test_a_damaged_run(
        self, name: str, damage: str, answers: Path, tmp_path: Path, refused: Callable[..., str]
    ) -> None:
        path = answers / name
        content = path.read_bytes()
        path.unlink()
        match damage:
            case "cut":
                path.write_bytes(content[: len(content) * 2 // 3])
            case "cut between lines":
                path.write_bytes(b"".join(content.splitlines(keepends=True)[:-1]))
            case "not JSON":
                path.write_text("<!doctype html>")
            case "another shape":
                path.write_text(json.dumps({"something": "else"}) + "\n")
            case "not text":
                path.write_bytes(b"\x00\xff\xfe" + content)
        said = refused("judge", answers, "--out", tmp_path / "judged")
        assert name.split("/")[-1] in said or damage == "absent"
        assert not (tmp_path / "judged" / "run.json").exists()

    def test_a_run_that_is_not_whole(self, answers: Path, tmp_path: Path, refused: Callable[..., str]) -> None:
        (answers / "run.json").unlink()
        assert "is an unfinished run" in refused("judge", answers, "--out", tmp_path / "judged")

    @pytest.mark.parametrize(
        ("more", "words"),
        [
            (("--protocols", "clair"), "clair needs a model that judges"),
            (("--protocols", "none-such"), "no judging protocol 'none-such'"),
            (("--metrics", "blue"), "blue"),
            (("--limit", 0), "--limit 0"),
            (("--limit", -1), "--limit -1"),
            (("--eval-rounds", 0), "--eval-rounds"),
            (("--bench", "absent"), "absent"),
        ],
        ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
    )
    def test_a_setting_that_cannot_be(
        self, more: tuple[object, ...], words: str, answers: Path, tmp_path: Path, refused: Callable[..., str]
    ) -> None:
        assert words in refused("judge", answers, "--out", tmp_path / "judged", *more)

    def test_no_source(self, tmp_path: Path, refused: Callable[..., str]) -> None:
        assert "at least one run" in refused("judge", "--out", tmp_path / "judged")

    def test_a_source_that_is_no_run(self, tmp_path: Path, refused: Callable[..., str]) -> None:
        assert "no such file or folder" in refused("judge", tmp_path / "absent", "--out", tmp_path / "judged")
        assert "is no run" in refused("judge", tmp_path, "--out", tmp_path / "judged")
        said = refused("judge", tmp_path / "absent", "--format", "vdact", "--out", tmp_path / "judged")
        assert "no such file" in said

    def test_the_same_model_twice(self, answers: Path, tmp_path: Path, refused: Callable[..., str]) -> None:
        other = shutil.copytree(answers, tmp_path / "other")
        said = refused("judge", answers, other, "--out", tmp_path / "judged")
        assert "'tiny' has two answers to turn 1 of chain 'q'" in said
        assert "judge them in two runs" in refused("judge", answers, answers, "--out", tmp_path / "judged")

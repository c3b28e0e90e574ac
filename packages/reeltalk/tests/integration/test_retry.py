"""What failed is told and asked again, and nothing else; nothing that was answered is lost or paid for twice."""

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest
from reliability_page import Reliability
from sample_videos import Numbered
from scripted_server import Answer, Body, Server, count_images, question_in, serve, words

from reeltalk.cli import run
from reeltalk.errors import BenchmarkError
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_file
from reeltalk.store.runs import read_run

DIALOGUES, TURNS = 7, 5
ALL = DIALOGUES * TURNS
Script = Callable[[Body], "str | Answer"]


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    """Seven dialogues of five turns, about videos that nobody needs."""
    content = Content(videos=[Video(id=f"v{d}", sha256=f"{d}" * 64) for d in range(DIALOGUES)])
    for d in range(DIALOGUES):
        turns = tuple(Turn(question=f"What is number {d}{n}?", references=(f"It is {d}{n}.",)) for n in range(TURNS))
        content.dialogues.append(Dialogue(id=f"d{d}", video_id=f"v{d}", turns=turns))
    Benchmark.create(tmp_path / "bench").write_content(content, stage="test")
    return tmp_path / "bench"


class Scripted:
    """A server whose failing questions are told by a test; requests are kept by their last question."""

    def __init__(self) -> None:
        self.fails: Callable[[str], Answer | None] = lambda question: None
        self.asked: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, body: Body) -> str | Answer:
        if body["model"] == "judge":
            question = words(body["messages"][-1])
            answer: str | Answer = "It fits. So rating=3"
        else:
            question = question_in(body["messages"][-1])
            answer = f"It is {question}"
        with self._lock:
            self.asked.append(question)
        return self.fails(question) or answer

    @contextmanager
    def counted(self) -> Iterator[list[str]]:
        """What is asked while the block lasts."""
        self.asked = []
        yield self.asked


@pytest.fixture
def script() -> Scripted:
    return Scripted()


@pytest.fixture
def server(script: Scripted) -> Iterator[Server]:
    with serve(script) as running:
        yield running


def evaluate(benchmark: Path, server: Server, out: Path, *more: object) -> list[str]:
    return [
        "evaluate", str(benchmark), "--model", "tiny", "--base-url", server.base_url, "--policy", "none", "--metrics",
        "none", "--protocols", "match", "--max-retries", "0", "--no-preflight", "--out", str(out), *map(str, more),
    ]  # fmt: skip


def failing(*numbers: str, status: int = 404) -> Callable[[str], Answer | None]:
    """Questions about some numbers are refused."""

    def fails(question: str) -> Answer | None:
        if any(f"number {number}" in question for number in numbers):
            return Answer(status, {"error": {"message": f"no model 'tiny', request req-{abs(hash(question)):016x}"}})
        return None

    return fails


TEN = tuple(f"{d}{n}" for d in range(DIALOGUES) for n in (1, 3))[:10]


def texts(out: Path) -> list[str]:
    rows = [json.loads(line) for line in (out / "answers.jsonl").read_text().splitlines()]
    return [row["text"] for row in rows]


@pytest.mark.parametrize("again", ["the same command", "retry"])
def test_of_35_turns_of_which_10_failed_a_retry_asks_these_10(
    again: str, benchmark: Path, server: Server, script: Scripted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    command = evaluate(benchmark, server, out)
    script.fails = failing(*TEN)
    with script.counted() as asked:
        assert run(command) == 1
        assert len(asked) == ALL
    told = capsys.readouterr().out.splitlines()
    assert told[-2].startswith(f"10 of {ALL} turns: ")
    assert "404" in told[-2]
    assert told[-1] == f"ask again what failed: reeltalk retry {out}"
    whole = sorted(text for text in texts(out) if text)
    assert len(whole) == ALL - 10

    script.fails = failing()
    with script.counted() as asked:
        assert run(command if again == "the same command" else ["retry", str(out)]) == 0
        assert sorted(question[-3:-1] for question in asked) == sorted(TEN)
    assert len([text for text in texts(out) if text]) == ALL
    assert "10 of" not in capsys.readouterr().out
    before = (out / "run.json").read_bytes()
    with script.counted() as asked:
        assert run(command) == 0
        assert run(["retry", str(out)]) == 0
        assert not asked
    assert "nothing in it failed" in capsys.readouterr().err
    assert (out / "run.json").read_bytes() == before
    assert not [path.name for path in out.iterdir() if path.name in (".again", ".remade")]


def test_an_interrupted_retry_leaves_the_run_as_it_was(
    benchmark: Path, server: Server, script: Scripted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    command = evaluate(benchmark, server, out)
    script.fails = failing(*TEN)
    assert run(command) == 1
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.suffix in (".json", ".jsonl")}
    script.fails = failing()
    assert run([*command, "--max-calls", "4"]) == 2
    assert "budget is spent" in capsys.readouterr().err
    kept = {path.name: path.read_bytes() for path in out.iterdir() if path.suffix in (".json", ".jsonl")}
    assert kept == before
    assert run(["report", str(out), "--out", str(tmp_path / "site")]) == 0
    with script.counted() as asked:
        assert run(command) == 0
        assert len(asked) == 6


def test_overwrite_asks_nothing_that_is_kept(
    benchmark: Path, server: Server, script: Scripted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    command = evaluate(benchmark, server, out)
    script.fails = failing(*TEN[:5])  # eight in a row would stop the command
    assert run(command) == 1
    with script.counted() as asked:
        assert run([*command, "--overwrite"]) == 1
        assert len(asked) == 5
    script.fails = failing()
    # Other settings, of which the same questions come.
    with script.counted() as asked:
        assert run([*command, "--overwrite", "--null-units", "3"]) == 0
        assert len(asked) == 5
    with script.counted() as asked:
        assert run([*command, "--overwrite"]) == 0
        assert not asked
    # An unfinished run keeps its replies, too.
    (out / "run.json").unlink()
    with script.counted() as asked:
        assert run([*command, "--overwrite", "--limit", "3"]) == 0
        assert not asked
    capsys.readouterr()
    assert run([*command, "--delete-replies"]) == 2
    assert "--delete-replies needs --overwrite" in capsys.readouterr().err
    assert run([*command, "--overwrite", "--delete-replies", "--replies", str(tmp_path / "shared.sqlite")]) == 2
    assert "other runs may share" in capsys.readouterr().err
    with script.counted() as asked:
        assert run([*command, "--overwrite", "--delete-replies"]) == 0
        assert len(asked) == ALL


def test_where_nothing_is_answered_there_is_no_run(
    benchmark: Path, server: Server, script: Scripted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    command = evaluate(benchmark, server, out)
    # No kinds that stop a command.
    script.fails = lambda question: (
        Answer(400, {"error": {"message": "no", "code": "content_filter"}})
        if question[-2] in "13"
        else Answer(503, {"error": {"message": "no"}})
    )
    assert run(command) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert "no turn has an answer" in said
    assert f"21 of {ALL} turns: " in said
    assert f"14 of {ALL} turns: " in said
    assert not (out / "run.json").exists()
    script.fails = failing()
    for other in (
        ["report", str(out), "--out", str(tmp_path / "site")],
        ["compare", str(out), str(tmp_path / "other")],
    ):
        assert run(other) == 2
        said = capsys.readouterr().err
        assert f"unfinished run with answers to 0 of {ALL} turns; 'reeltalk retry {out}' or the command" in said
    assert run(["judge", str(out), "--protocols", "match", "--out", str(tmp_path / "judged")]) == 2
    assert "unfinished run" in capsys.readouterr().err
    assert run(["doctor", str(out)]) == 1
    said = capsys.readouterr().out
    assert "unfinished" in said
    assert f"21 of {ALL} turns" in said
    assert run(["retry", str(out)]) == 0
    assert run(["doctor", str(out)]) == 0


def test_doctor_knows_a_run_with_failures(
    benchmark: Path, server: Server, script: Scripted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    script.fails = failing(*TEN)
    assert run(evaluate(benchmark, server, out)) == 1
    capsys.readouterr()
    assert run(["doctor", str(out)]) == 1
    said = capsys.readouterr().out
    assert f"10 of {ALL} turns: " in said
    assert f"reeltalk retry {out}" in said


def judging(answers: Path, server: Server, out: Path) -> list[str]:
    return [
        "judge", str(answers), "--protocols", "vdeval", "--judge-summary", "none", "--judge", "judge",
        "--judge-base-url", server.base_url,
        "--metrics", "none", "--max-retries", "0", "--out", str(out),
    ]  # fmt: skip


def test_a_judge_is_asked_again_what_it_could_not_score(
    benchmark: Path, server: Server, script: Scripted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, judged = tmp_path / "run", tmp_path / "judged"
    assert run(evaluate(benchmark, server, out)) == 0
    command = judging(out, server, judged)
    script.fails = lambda question: Answer(503, {"error": {"message": "not now"}})
    assert run(command) == 2
    assert "the judge gave no score" in capsys.readouterr().err
    assert not (judged / "run.json").exists()

    script.fails = lambda question: Answer(503, {"error": {"message": "no"}}) if "number 6" in question else None
    with script.counted() as asked:
        assert run(command) == 1
        due = len(asked)
    told = capsys.readouterr().out.splitlines()
    assert any("judgings by vdeval: judge at " in line for line in told)
    assert told[-1] == f"ask again what failed: reeltalk retry {judged}"
    failed = sum("number 6" in question for question in asked)
    script.fails = failing()
    with script.counted() as asked:
        assert run(["retry", str(judged)]) == 0
        assert 0 < len(asked) == failed < due
    assert run(["doctor", str(judged)]) == 0


def test_a_retry_of_a_run_that_was_moved_or_goes_elsewhere(
    benchmark: Path, server: Server, script: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], full: bool,
) -> None:  # fmt: skip
    """Paths of the command are seen from where it was given, wherever the whole folder is now; it asks once more."""
    project = tmp_path / "project"
    project.mkdir()
    shutil.move(benchmark, project / "bench")
    monkeypatch.chdir(project)
    script.fails = failing(*TEN)
    command = evaluate(Path("bench"), server, Path("runs/tiny"), "--replies", "replies.sqlite")
    assert run(command) == 1
    monkeypatch.chdir(tmp_path)
    project.rename(tmp_path / "moved")
    script.fails = failing()
    with serve(script) as other, script.counted() as asked:
        again = ["retry", "moved/runs/tiny", "--base-url", other.base_url, "--max-calls", "10"]
        capsys.readouterr()
        assert run(again) == 2
        assert (
            f"This would write {tmp_path.resolve()}/moved/replies.sqlite. Nothing was done" in capsys.readouterr().err
        )
        assert run([*again, "--trust"]) == 0
        assert len(asked) == 10
        assert other.count == 10
    capsys.readouterr()
    script.fails = failing("11")
    assert run(["retry", "moved/runs"]) == 2
    assert "is not a run" in capsys.readouterr().err
    # A run that was copied alone: its command's places are named as they are kept, and where they would be now.
    for copy, folder in (("copy/of/tiny", "copy"), ("a/b", ".")):
        shutil.copytree("moved/runs/tiny", copy)
        assert run(["retry", copy, "--trust"]) == 2
        said = capsys.readouterr().err
        assert f"names as 'bench' seen from {(tmp_path / folder).resolve()}; " in said
        assert "--bench" in said
    kept = json.loads(Path("a/b/command.json").read_text())
    Path("a/b/command.json").write_text(json.dumps(kept | {"folder": "../none"}))
    assert run(["retry", "a/b"]) == 2
    said = capsys.readouterr().err
    assert f"from the folder '../none', as seen from the run; that would be {tmp_path.resolve() / 'a/none'}" in said
    assert "--out" in said


def test_a_retry_whose_replies_are_gone_is_refused(
    benchmark: Path, server: Server, script: Scripted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    script.fails = failing(*TEN)
    assert run(evaluate(benchmark, server, out)) == 1
    for file in out.glob("replies.sqlite*"):
        file.unlink()
    with script.counted() as asked:
        assert run(["retry", str(out)]) == 2
        assert not asked
    assert "everything would be asked again" in capsys.readouterr().err


def test_a_password_in_an_address_is_not_kept(
    benchmark: Path, server: Server, script: Scripted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    script.fails = failing(*TEN)
    address = server.base_url.replace("://", "://user:PASSW0RD@")
    assert run([address if word == server.base_url else word for word in evaluate(benchmark, server, out)]) == 1
    assert b"PASSW0RD" not in (out / "command.json").read_bytes()
    capsys.readouterr()
    assert run(["retry", str(out)]) == 2
    assert "--base-url" in capsys.readouterr().err


def test_no_command_replaces_a_folder_with_replies(
    benchmark: Path, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert run(evaluate(benchmark, server, out)) == 0
    assert run(["export", "records", str(benchmark), "--out", str(out), "--overwrite"]) == 2
    assert (out / "replies.sqlite").is_file()


def test_a_run_that_was_made_again_is_put_in_place_wherever_that_was_broken_off(
    benchmark: Path, server: Server, script: Scripted, tmp_path: Path, reliability: Reliability
) -> None:
    """As after SIGKILL between any two of the renames: whoever reads the run next sees the new one, whole."""
    out = tmp_path / "run"
    command = evaluate(benchmark, server, out)
    script.fails = failing(*TEN)
    assert run(command) == 1
    shutil.copytree(out, tmp_path / "old")
    script.fails = failing()
    assert run(command) == 0
    expected = {name: (out / name).read_bytes() for name in ("run.json", "answers.jsonl", "scores/items.jsonl")}
    # What a retry writes anew, in the order in which it is put in place.
    names = sorted(
        {path.name for path in out.iterdir()}
        - {".lock", "request.json"}
        - {path.name for path in out.glob("replies*")},
        key=lambda name: (name == "run.json", name),
    )
    assert {"answers.jsonl", "files.json", "scores", "summary.json"} < set(names)
    tally = reliability("power", "a retry that is broken off between two renames of its files", "a run is not whole")
    for done in range(len(names) + 1):
        broken = tmp_path / f"broken-{done}"
        shutil.copytree(tmp_path / "old", broken)
        reading = read_run(broken)
        (broken / ".remade").mkdir()
        for place, name in enumerate(names):
            target = broken / name if place < done else broken / ".remade" / name
            if target.is_dir():
                shutil.rmtree(target)
            (shutil.copytree if (out / name).is_dir() else shutil.copy)(out / name, target)
        tally.tried += 1
        with pytest.raises(BenchmarkError, match="another process wrote"):
            list(reading.answers())
        assert run(["doctor", str(broken)]) == 0
        with pytest.raises(BenchmarkError, match="another process wrote"):
            list(reading.judged("match"))
        assert {name: (broken / name).read_bytes() for name in expected} == expected
        assert not (broken / ".remade").exists()


def test_controls_are_retried_with_their_run(tmp_path: Path, script: Scripted, server: Server) -> None:
    path, _ = Numbered("h264-long.mp4", rate=Fraction(12), frames=480).make()
    sha256 = hash_file(path)[0]
    content = Content(media={sha256: path}, videos=[Video(id="v", sha256=sha256)])
    turns = tuple(Turn(question=f"What is number 0{n}?", references=("4.",)) for n in range(3))
    content.dialogues.append(Dialogue(id="d", video_id="v", turns=turns))
    Benchmark.create(tmp_path / "bench").write_content(content, stage="test")
    out = tmp_path / "run"
    command = [
        "evaluate", str(tmp_path / "bench"), "--model", "tiny", "--base-url", server.base_url, "--frames", "2",
        "--metrics", "none", "--protocols", "match", "--max-retries", "0", "--controls", "none", "--out", str(out),
    ]  # fmt: skip

    def without_pictures(body: Body) -> str | Answer:
        if not count_images(body) and "number 01" in words(body["messages"][-1]):
            return Answer(404, {"error": {"message": "no pictures"}})
        return script(body)

    with serve(without_pictures) as blind, script.counted():
        assert run([blind.base_url if word == server.base_url else word for word in command]) == 1
    assert run(["doctor", str(out)]) == 1
    with script.counted() as asked:
        assert run(["retry", str(out), "--base-url", server.base_url]) == 0
        assert len(asked) == 1
    assert run(["doctor", str(out)]) == 0


def test_a_project_asks_again_what_failed(
    benchmark: Path, server: Server, script: Scripted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "project.yaml"
    file.write_text(
        f"benchmark: {benchmark.name}\nevaluate:\n  models:\n    tiny: tiny\n  base_url: {server.base_url}\n"
        "  policy: none\n  metrics: none\n  protocols: [match]\n  max_retries: 0\n"
    )
    command = ["run", str(file)]
    script.fails = failing(*TEN)
    with script.counted() as asked:
        assert run([*command, "--trust"]) == 1
        assert len(asked) == ALL
    script.fails = failing(*TEN[:3])
    with script.counted() as asked:
        assert run(command) == 1
        assert len(asked) == 10
    script.fails = failing()
    assert run(["retry", str(tmp_path / "runs" / "tiny")]) == 0
    with script.counted() as asked:
        assert run(command) == 0
        assert run(command) == 0
        assert not asked
    assert "1 were done already" in capsys.readouterr().err.splitlines()[-1]


def test_a_folder_of_proactive_plays_is_no_unfinished_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plays").mkdir()
    (tmp_path / "plays" / "request.json").write_text('{"model": "never", "settings": {}}')
    (tmp_path / "plays" / "events.jsonl").write_text("")
    for command in ("report", "retry"):
        out = ["--out", str(tmp_path / "site")] if command == "report" else []
        assert run([command, str(tmp_path / "plays"), *out]) == 2
        said = capsys.readouterr().err
        assert "unfinished" not in said
        assert "reeltalk proactive" in said

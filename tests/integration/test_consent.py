"""What runs, benchmarks and projects of others name is used only with consent: servers, keys, code and paths.

Each is made by a stranger, who has another state folder, and then copied. A server records all that it receives, and
the stranger's code leaves a file when it is imported.
"""

import contextlib
import json
import os
import pty
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from reliability_page import Reliability

from reeltalk.cli import run
from reeltalk.errors import SettingError
from reeltalk.schema.media import Video
from reeltalk.schema.record import VideoId
from reeltalk.stages.retrying import retry
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

SECRET = "wJalrXUtnFEMI-a-key-of-mine"
VARIABLE = "AWS_SECRET_ACCESS_KEY"
CODE = """
import pathlib

HERE = pathlib.Path(__file__).parent
HERE.joinpath("imported").touch()


class Model:
    name = "theirs"

    def answer(self, frames, history, question):
        if HERE.joinpath("fails").exists() and "second" in question:
            raise ValueError("not now")
        return "a cup"


class Judge:
    name = "strange"
    scale = (0, 1)

    def score(self, question, references, answer):
        return 1


class Writer:
    name = "strange"

    def __init__(self, benchmark, settings):
        pass

    def write(self, *anything):
        return []


class Detector:
    name = "strange"
    signature = "strange"

    def detect(self, frames):
        return [[] for _ in frames]


def metric(answers, references):
    return [1.0 for _ in answers]
"""
QUESTIONS = "id,video,question,answer\n" + "".join(
    f"q{number},v{number},What is the {word}?,a cup\n" for number, word in enumerate(("first", "second", "third"))
)
PLAY = ("--policy", "none", "--max-retries", "0", "--give-up-after-s", "0")


class Recorder:
    """A server that keeps every request that it gets, and fails the second question while `fails`."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.fails = False
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                recorder.requests.append(f"{self.command} {self.path}\n{self.headers}\n{body.decode(errors='replace')}")
                message = {"role": "assistant", "content": "a cup. So rating=3."}
                choice = {"index": 0, "finish_reason": "stop", "message": message}
                answer = json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "theirs",
                                     "choices": [choice]}).encode()  # fmt: skip
                self.send_response(400 if recorder.fails and b"second" in body else 200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                with contextlib.suppress(BrokenPipeError):
                    self.wfile.write(answer if self.command != "HEAD" else b"")

            do_GET = do_POST = do_PUT = do_HEAD = do_PROPFIND = _answer

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    @property
    def got_key(self) -> bool:
        return any(SECRET in request for request in self.requests)


@pytest.fixture
def server() -> Iterator[Recorder]:
    recorder = Recorder()
    thread = threading.Thread(target=recorder.server.serve_forever, daemon=True)
    thread.start()
    yield recorder
    recorder.server.shutdown()
    recorder.server.server_close()


class Person:
    """Somebody with a state folder; `with person:` is what they do, in their folder."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch, **environment: str) -> None:
        self.home, self.folder, self._patch = home, home / "work", monkeypatch
        self._environment = {"XDG_STATE_HOME": str(home / "state")} | environment
        self.folder.mkdir(parents=True)

    def __enter__(self) -> Path:
        for name, value in self._environment.items():
            self._patch.setenv(name, value)
        self._patch.chdir(self.folder)
        return self.folder

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Recorder) -> Person:
    """Has a folder with questions, a benchmark, and code."""
    keys = {VARIABLE: "theirs", "OPENAI_API_KEY": "theirs", "OPENAI_BASE_URL": server.address}
    them = Person(tmp_path / "them", monkeypatch, **keys)
    with them as folder:
        (folder / "strange.py").write_text(CODE)
        (folder / "questions.csv").write_text(QUESTIONS)
        assert run(["import", "qa", "questions.csv", "bench"]) == 0
    return them


@pytest.fixture
def me(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Recorder) -> Person:
    keys = {VARIABLE: SECRET, "OPENAI_API_KEY": SECRET, "AWS_ACCESS_KEY_ID": "AKIA", "OPENAI_BASE_URL": server.address}
    return Person(tmp_path / "me", monkeypatch, **keys)


def evaluated(
    *options: str,
    out: str = "runs/one",
    model: str = "baseline:constant",
    protocols: str = "match",
    metrics: str = "none",
) -> list[str]:
    named = ["--model", model, "--protocols", protocols, "--metrics", metrics]
    return ["evaluate", "bench", *named, *PLAY, "--out", out, *options]


def stranger_runs(address: str, private: Path) -> dict[str, list[list[str]]]:
    """The commands by which a stranger makes each kind of run; the last one names `runs/one`."""
    keyed = ["--base-url", f"{address}/v1", "--api-key-env", VARIABLE]
    judged = ["--judge", "theirs", "--judge-base-url", f"{address}/v1", "--judge-api-key-env", VARIABLE]
    own = "python:strange.py:"
    return {
        "a server and a key": [evaluated(*keyed, model="theirs")],
        "a server, without an end": [evaluated(*keyed, "--max-calls", "2", model="theirs")],
        "a judge's server and key": [evaluated(*judged, protocols="clair")],
        "a key for OpenAI's server": [evaluated("--api-key-env", VARIABLE, model="gpt-4o-mini")],
        "OpenAI's server": [evaluated(model="gpt-4o-mini")],
        "a summary's server": [evaluated(*keyed, model="summary:theirs")],
        "a provider of inspect_ai": [evaluated("--base-url", f"{address}/v1", model="inspect:openai/gpt-4o")],
        "a model's code": [evaluated(model=f"{own}Model")],
        "a judge's code": [evaluated(protocols=f"{own}Judge")],
        "a metric's code": [evaluated(metrics=f"{own}metric")],
        "a file of replies": [evaluated("--replies", str(private / "replies.sqlite"))],
        "a file of answers": [evaluated(model=f"answers:{private / 'answers.csv'}")],
        "a prompt": [evaluated(*keyed, "--prompt", str(private / "prompt.md"), model="theirs")],
        "prompts of a judge": [evaluated(*judged, "--prompts", str(private / "prompts"), protocols="clair")],
        "judged by a server": [
            evaluated(out="runs/played"),
            ["judge", "runs/played", "--protocols", "clair", "--metrics", "none", *judged, "--out", "runs/one"],
        ],
        "judged by code": [
            evaluated(out="runs/played"),
            ["judge", "runs/played", "--protocols", f"{own}Judge", "--metrics", "none", "--out", "runs/one"],
        ],
    }


KINDS = list(stranger_runs("", Path()))
OF_RUNS: dict[str, Callable[[Path], list[str]]] = {
    "retry": lambda made: ["retry", "runs/one"],
    "retry with a limit": lambda made: ["retry", "runs/one", "--max-calls", "9", "--bench", "bench"],
    "report": lambda made: ["report", "runs/one", "--bench", "bench", "--out", str(made / "site")],
    "report tables": lambda made: ["report", "runs/one", "--tables", "csv", "--out", str(made / "tables")],
    "compare": lambda made: ["compare", "runs/one", "runs/one"],
    "calibrate": lambda made: ["calibrate", "runs/one", "--sheet", str(made / "sheet.csv")],
    "judge": lambda made: ["judge", "runs/one", "--protocols", "match", "--metrics", "none", "--out", str(made / "j")],
    "judge --attack": lambda made: ["judge", "runs/one", "--attack", "style", "--protocols", "match"],
    "evaluate": lambda made: evaluated(model="baseline:empty"),
    "review add": lambda made: ["review", "add", "bench", "rate", "runs/one"],
    "validate": lambda made: ["validate", "runs/one"],
    "validate --accept": lambda made: ["validate", "--accept", "runs/one"],
    "doctor": lambda made: ["doctor", "runs/one", "bench"],
}


def private_files(folder: Path) -> Path:
    """Files outside of all that is copied."""
    folder.mkdir()
    assert run(["prompts", "--out", str(folder / "prompts")]) == 0
    (folder / "prompt.md").write_text("<!-- version 1 -->\nAnswer: {question}\n")
    (folder / "answers.csv").write_text("id,text,model\nq0,a cup,m\n")
    return folder


def make(person: Person, commands: Sequence[list[str]], server: Recorder) -> None:
    """Make a run in which something failed, as its maker."""
    server.fails = True
    with person as folder:
        (folder / "fails").touch()
        for command in commands:
            run(command)
        (folder / "fails").unlink()
    server.fails = False
    assert (folder / "runs/one/command.json").is_file(), commands


def copied(person: Person, to: Person, server: Recorder) -> Path:
    """What one person made, copied into another's folder."""
    target = to.folder / "theirs"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(person.folder, target)
    (target / "imported").unlink(missing_ok=True)
    server.requests.clear()
    return target


def used(server: Recorder, folder: Path, private: Path) -> list[str]:
    """What was used without consent."""
    found = ["a key"] * server.got_key + [f"{len(server.requests)} requests"] * bool(server.requests)
    found += ["code"] * (folder / "imported").exists() + ["a file"] * (private / "replies.sqlite").exists()
    server.requests.clear()
    for file in (folder / "imported", private / "replies.sqlite"):
        file.unlink(missing_ok=True)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_of_a_stranger_is_no_command(
    kind: str, stranger: Person, me: Person, server: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], reliability: Reliability,
) -> None:  # fmt: skip
    tally = reliability("archives", "commands on runs of strangers, which name servers, keys, code and paths",
                        "one is used without consent")  # fmt: skip
    private = private_files(tmp_path / "private")
    make(stranger, stranger_runs(server.address, private)[kind], server)
    (private / "replies.sqlite").unlink(missing_ok=True)
    folder = copied(stranger, me, server)
    problems = []
    with me:
        monkeypatch.chdir(folder)
        for name, words in OF_RUNS.items():
            code = run(words(tmp_path / name))
            said = capsys.readouterr().err
            tally.tried += 1
            problem = used(server, folder, private)
            if name.startswith("retry") and (code != 2 or "Nothing was done" not in said or "--trust" not in said):
                problem.append(f"exit code {code}: {said}")
            tally.failed += bool(problem)
            problems += [f"{name}: {one}" for one in problem]
        assert problems == []
        # With consent it works, and is remembered; a changed file of code is asked for again.
        tally.tried += 1
        code = run(["retry", "runs/one", "--trust"])
        said = capsys.readouterr().err
        assert code in (0, 1) or kind in ("a server, without an end", "a summary's server"), said
        assert "Nothing was done" not in said
        if "server" in kind and kind not in ("a summary's server", "a judge's server and key", "judged by a server"):
            assert server.got_key
        if "code" in kind:
            assert (folder / "imported").exists()
            assert run(["retry", "runs/one"]) == 0
            (folder / "strange.py").write_text(f"{CODE}\nCHANGED = True\n")
            used(server, folder, private)
            assert run(["retry", "runs/one"]) == 2
            assert "strange.py" in capsys.readouterr().err
            assert used(server, folder, private) == []


FILM = b"a film " * 5000
OF_BENCHMARKS: dict[str, Callable[[Path], list[str]]] = {
    "media pull": lambda made: ["media", "pull", "bench"],
    "media pull --dry-run": lambda made: ["media", "pull", "bench", "--dry-run"],
    "media push": lambda made: ["media", "push", "bench"],
    "media push --verify": lambda made: ["media", "push", "bench", "--verify"],
    "media push --dry-run": lambda made: ["media", "push", "bench", "--dry-run"],
    "validate": lambda made: ["validate", "bench"],
    "validate --accept": lambda made: ["validate", "--accept", "bench"],
    "doctor": lambda made: ["doctor", "bench"],
    "freeze": lambda made: ["freeze", "bench", str(made / "release"), "--version", "1.0.0"],
    "media pull, a release": lambda made: ["media", "pull", str(made.parent / "freeze" / "release")],
    "export": lambda made: ["export", "qa", "bench", str(made / "questions.csv")],
    "export hub": lambda made: ["export", "hub", "bench", str(made / "hub")],
    "evaluate": lambda made: evaluated(out=str(made / "run")),
    "evaluate --plan": lambda made: ["evaluate", "bench", "--model", "baseline:constant", "--policy", "none", "--plan"],
    "report": lambda made: ["report", "bench", "--out", str(made / "site")],
    "construct": lambda made: ["construct", "bench"],
    "construct --plan": lambda made: ["construct", "bench", "--writer", "m", "--base-url", "http://x/v1", "--plan"],
    "tag": lambda made: ["tag", "bench"],
    "attach": lambda made: ["attach", "bench", "questions.csv"],
    "review status": lambda made: ["review", "status", "bench"],
    "review add": lambda made: ["review", "add", "bench", "test"],
    "graph": lambda made: ["graph", "curate", "bench"],
    "proactive": lambda made: ["proactive", "run", "bench", "--model", "never", "--out", str(made / "streams")],
}


@pytest.mark.parametrize("scheme", ["http", "s3", "webdav", "file"])
def test_a_benchmark_of_a_stranger_is_no_command(
    scheme: str, stranger: Person, me: Person, server: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], reliability: Reliability,
) -> None:  # fmt: skip
    tally = reliability("archives", "commands on benchmarks of strangers, which name a store of their media",
                        "it is used without consent")  # fmt: skip
    private, far = private_files(tmp_path / "private"), tmp_path / "far"
    address = {"http": f"{server.address}/media", "s3": "s3://theirs/media", "file": f"file://{far}"}.get(scheme)
    address = address or f"webdav://{server.address.removeprefix('http://')}/media"
    with stranger as folder:
        benchmark = Benchmark.open(folder / "bench")
        content = benchmark.content()
        gone = Video(id=VideoId("gone"), sha256="0" * 64)
        benchmark.write_content(Content(videos=[*content.videos, gone], dialogues=content.dialogues), stage="import")
        (folder / "film.mp4").write_bytes(FILM)
        benchmark.media.add(folder / "film.mp4")
        (folder / "bench/remote.json").write_text(json.dumps({"format": "reeltalk.remote", "media": address}))
    folder = copied(stranger, me, server)
    problems = []
    with me:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.address)
        monkeypatch.chdir(folder)
        for name, words in OF_BENCHMARKS.items():
            (tmp_path / name).mkdir()
            code = run(words(tmp_path / name))
            said = capsys.readouterr().err
            tally.tried += 1
            problem = used(server, folder, private) + ["files"] * far.exists()
            if name.startswith("media") and scheme != "webdav" and (code != 2 or "Nothing was done" not in said):
                problem.append(f"exit code {code}: {said}")
            tally.failed += bool(problem)
            problems += [f"{name}: {one}" for one in problem]
            shutil.rmtree(far, ignore_errors=True)
        assert problems == []
        if scheme == "http":
            # What it sends has another hash, and is refused.
            assert run(["media", "pull", "bench", "--trust"]) == 2
            assert f"/media/{'0' * 64}" in server.requests[0]
            assert run(["media", "pull", "bench"]) == 2
            assert "has the hash" in capsys.readouterr().err.splitlines()[-1]
        if scheme == "file":
            assert run(["media", "push", "bench", "--trust"]) == 0
            assert [path.read_bytes() for path in far.iterdir()] == [FILM]


def stranger_projects(address: str, private: Path) -> dict[str, str]:
    """Projects by what they name."""
    keyed = f"base_url: {address}/v1\n  api_key_env: {VARIABLE}\n"
    judged = f"judge: theirs\n  judge_base_url: {address}/v1\n  judge_api_key_env: {VARIABLE}\n"
    start = "benchmark: bench\n"
    play = "  policy: none\n  metrics: none\n  max_retries: 0\n"
    blind = "  models: {blind: baseline:constant}\n"
    return {
        "a server and a key": f"{start}evaluate:\n  models: {{m: theirs}}\n{play}  protocols: [match]\n  {keyed}",
        "a model's own server": f"{start}evaluate:\n{play}  protocols: [match]\n  models:\n    m: {{model: theirs, "
        f"base_url: {address}/v1, api_key_env: {VARIABLE}}}\n",
        "a judge": f"{start}evaluate:\n{blind}{play}  protocols: [clair]\n  {judged}",
        "a second judge": f"{start}evaluate:\n{blind}{play}  protocols: [match]\njudge:\n  protocols: [clair]\n"
        f"  metrics: none\n  {judged}",
        "OpenAI": f"{start}evaluate:\n  models: {{m: gpt-4o-mini}}\n{play}  protocols: [match]\n",
        "a writer": f"{start}construct:\n  writer: theirs\n  {keyed}",
        "a writer's judge": f"{start}construct:\n  judge: theirs\n  {keyed}",
        "a model's code": f"{start}evaluate:\n  models: {{m: 'python:strange.py:Model'}}\n{play}  protocols: [match]\n",
        "a judge's code": f"{start}evaluate:\n{blind}{play}  protocols: ['python:strange.py:Judge']\n",
        "a metric's code": f"{start}evaluate:\n{blind}{play}  protocols: [match]\n".replace(
            "metrics: none", "metrics: ['python:strange.py:metric']"
        ),
        "a writer's code": f"{start}construct:\n  writer: python:strange.py:Writer\n",
        "a detector's code": f"{start}construct:\n  writer: theirs\n  detector: python:strange.py:Detector\n",
        "a stream's code": f"{start}proactive:\n  models: {{m: 'python:strange.py:Model'}}\n",
        "videos at an address": f"{start}curate:\n  videos: ['{address}/films/']\n",
        "a source elsewhere": f"benchmark: other\nimport:\n  format: qa\n  source: {private / 'answers.csv'}\n",
        "replies elsewhere": f"{start}evaluate:\n{blind}{play}  protocols: [match]\n"
        f"  replies: {private / 'replies.sqlite'}\n",
        "a benchmark elsewhere": f"benchmark: {private / 'new'}\nimport:\n  format: qa\n  source: questions.csv\n",
        "a cluster": f"{start}executor: ray://{address.removeprefix('http://')}\nconstruct: {{}}\n",
    }


OF_PROJECTS: dict[str, list[str]] = {
    "run --plan": ["run", "--plan"],
    "status": ["status"],
    "doctor": ["doctor", "project.yaml"],
    "run": ["run"],
    "run, the file": ["run", "project.yaml"],
    "run --only": ["run", "--only", "evaluate"],
    "run --force": ["run", "--force", "construct"],
}


@pytest.mark.parametrize("kind", list(stranger_projects("http://x", Path("/"))))
def test_a_project_of_a_stranger_is_no_command(
    kind: str, stranger: Person, me: Person, server: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], reliability: Reliability,
) -> None:  # fmt: skip
    tally = reliability("archives", "commands on projects of strangers, which name servers, keys, code and paths",
                        "one is used without consent")  # fmt: skip
    private = private_files(tmp_path / "private")
    (stranger.folder / "project.yaml").write_text(stranger_projects(server.address, private)[kind])
    (stranger.folder / "videos").mkdir()
    folder = copied(stranger, me, server)
    problems = []
    with me:
        monkeypatch.chdir(folder)
        for name, words in OF_PROJECTS.items():
            code = run(words)
            said = capsys.readouterr().err
            tally.tried += 1
            problem = used(server, folder, private) + ["a benchmark"] * (private / "new").exists()
            if name.startswith("run") and "--plan" not in words and (code != 2 or "Nothing was done" not in said):
                problem.append(f"exit code {code}: {said}")
            tally.failed += bool(problem)
            problems += [f"{name}: {one}" for one in problem]
        assert problems == []
        tally.tried += 1
        run(["run", "--trust"])
        assert "Nothing was done" not in capsys.readouterr().err
        if kind in ("a server and a key", "a model's own server", "a judge", "a second judge", "OpenAI"):
            assert server.got_key
        if "code" in kind and "detector" not in kind and "stream" not in kind:
            assert (folder / "imported").exists()


OWN_CODE = "python:strange.py:"
OWN: dict[str, list[list[str]]] = {
    "a server": [evaluated("--base-url", "{address}/v1", "--api-key-env", VARIABLE, model="mine")],
    "code": [evaluated(model=f"{OWN_CODE}Model")],
    "a judge's code and replies": [
        evaluated("--replies", "../elsewhere.sqlite", protocols=f"{OWN_CODE}Judge", model=f"{OWN_CODE}Model")
    ],
    "judged": [
        evaluated("--base-url", "{address}/v1", model="mine"),
        [
            *("judge", "runs/one", "--protocols", "clair", "--metrics", "none", "--judge", "mine"),
            *("--out", "runs/judged"),
            *("--judge-base-url", "{address}/v1", "--judge-api-key-env", VARIABLE, "--max-retries", "0"),
        ],
    ],
}  # fmt: skip


def change(folder: Path) -> None:
    """Give the benchmark of a folder another content."""
    (folder / "more.csv").write_text(f"{QUESTIONS}q9,v9,What is the last?,a cup\n")
    shutil.rmtree(folder / "bench")
    assert run(["import", "qa", str(folder / "more.csv"), str(folder / "bench")]) == 0


@pytest.mark.parametrize("kind", list(OWN))
def test_a_run_of_ones_own_needs_no_consent(
    kind: str, stranger: Person, me: Person, server: Recorder, capsys: pytest.CaptureFixture[str]
) -> None:
    """`evaluate` and `judge` go on, `retry` repeats what failed, also when one's own code has changed since."""
    with me as folder:
        shutil.copytree(stranger.folder, folder, dirs_exist_ok=True)
        commands = [[word.format(address=server.address) for word in command] for command in OWN[kind]]
        server.fails = True
        (folder / "fails").touch()
        for command in commands:
            assert run(command) in (0, 1), capsys.readouterr().err
            assert run(command) in (0, 1)
        made = commands[-1][commands[-1].index("--out") + 1]
        assert run(["retry", made]) in (0, 1)
        server.fails = False
        (folder / "fails").unlink()
        (folder / "strange.py").write_text(CODE.replace("a cup", "a cup of tea"))
        if "code" not in kind:
            option = "--judge-base-url" if kind == "judged" else "--base-url"
            assert run(["retry", made, option, f"{server.address}/v1"]) in (0, 1)
        assert run(["retry", made]) in (0, 1)
        assert run(["retry", "runs/one"]) == 0
        if kind == "judged":
            # The benchmark has other content now, and the run is still one's own.
            change(folder)
            assert run(["judge", "runs/one", "--protocols", "match", "--metrics", "none", "--out", "again"]) == 0
        assert "Nothing was done" not in capsys.readouterr().err


def test_a_benchmark_that_is_named_is_read_if_the_run_knows_its_content(
    stranger: Person, me: Person, server: Recorder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make(stranger, [evaluated()], server)
    judge = ["judge", "theirs/runs/one", "--protocols", "match", "--metrics", "none"]
    with me as folder:
        copied(stranger, me, server)
        shutil.copytree(stranger.folder / "bench", folder / "bench")
        assert run([*judge, "--out", "first"]) == 0
        change(folder)
        capsys.readouterr()
        assert run([*judge, "--out", "second"]) == 2
        assert "give --bench bench if it is the right one" in capsys.readouterr().err
        assert run([*judge, "--bench", "theirs/bench", "--out", "second"]) == 0


def test_a_project_of_ones_own_needs_no_consent_and_one_that_is_put_in_its_place_does(
    stranger: Person, me: Person, server: Recorder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    projects = stranger_projects(server.address, private_files(tmp_path / "private"))
    with me as folder:
        assert run(["new", "mine"]) == 0
        shutil.copytree(stranger.folder, folder / "mine", dirs_exist_ok=True)
        for kind in ("a server and a key", "a judge's code", "a source elsewhere"):
            (folder / "mine/project.yaml").write_text(projects[kind])
            run(["run", "mine"])
            assert "Nothing was done" not in capsys.readouterr().err
        assert server.got_key
        # A copy of one's own is asked for once, and what is added to it later too.
        (folder / "mine/project.yaml").write_text(projects["a server and a key"])
        shutil.copytree("mine", "copy")
        shutil.rmtree("mine")
        shutil.copytree("copy", "mine")
        (folder / "mine/.reeltalk/made-here").unlink()
        server.requests.clear()
        for name in ("copy", "mine"):
            assert run(["run", name]) == 2
            assert f"contact {server.address}/v1 (theirs), with the key in {VARIABLE}" in capsys.readouterr().err
            assert not server.requests
            assert run(["run", name, "--trust"]) == 0
            assert run(["run", name, "--force", "evaluate"]) == 0
            (folder / name / "project.yaml").write_text(projects["a judge's code"])
            assert run(["run", name]) == 2
            assert "would run python:strange.py:Judge, which is " in capsys.readouterr().err


@pytest.mark.parametrize("state", ["/proc/nowhere", ""])
def test_a_home_that_keeps_no_marks_trusts_what_the_command_line_names_alone(
    state: str, stranger: Person, me: Person, server: Recorder, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """As in a container whose home is missing or read-only; a variable names the folders that are one's own."""
    with me as folder:
        shutil.copytree(stranger.folder, folder, dirs_exist_ok=True)
        monkeypatch.setenv("XDG_STATE_HOME", state)
        monkeypatch.setenv("HOME", "/proc/nowhere")
        command = evaluated("--base-url", f"{server.address}/v1", "--api-key-env", VARIABLE, model="mine")
        server.fails = True
        assert run(command) == 1
        assert run(command) == 1
        server.fails = False
        assert server.got_key
        server.requests.clear()
        assert run(["retry", "runs/one"]) == 2
        assert "Nothing was done" in capsys.readouterr().err
        assert not server.requests
        monkeypatch.setenv("REELTALK_TRUST", os.pathsep.join([str(folder / "other"), str(folder / "runs")]))
        assert run(["retry", "runs/one"]) == 0
        monkeypatch.delenv("REELTALK_TRUST")
        assert run(["retry", "runs/one", "--trust"]) == 0
        with pytest.raises(SettingError, match="give trust=True if you agree"):
            retry("runs/one")
        assert retry("runs/one", trust=True).complete


@pytest.mark.parametrize(("said", "code"), [("y\n", 0), ("n\n", 2), ("\n", 2)])
def test_a_person_at_a_terminal_is_asked(said: str, code: int, stranger: Person, me: Person, server: Recorder) -> None:
    make(stranger, [evaluated("--base-url", f"{server.address}/v1", "--api-key-env", VARIABLE, model="m")], server)
    folder = copied(stranger, me, server)
    with me:
        ours, theirs = pty.openpty()
        done = subprocess.Popen([sys.executable, "-m", "reeltalk", "retry", "runs/one"], cwd=folder, stdin=theirs,
                                stdout=theirs, stderr=theirs, env=dict(os.environ))  # fmt: skip
        os.close(theirs)
        os.write(ours, said.encode())
        shown = b""
        with contextlib.suppress(OSError):
            while block := os.read(ours, 4096):
                shown += block
        os.close(ours)
        assert done.wait(60) == code, shown.decode()
    text = " ".join(shown.decode().split())
    assert f"contact {server.address}/v1 (m), with the key in {VARIABLE}" in text
    assert "Do it? [y/N]" in text
    assert server.got_key == (code == 0)

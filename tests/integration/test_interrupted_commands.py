"""Ctrl-C, SIGTERM or SIGKILL at any moment of a command: one line, no traceback, and the same bytes when it goes on.

`evaluate` and `judge` of a model, and the review server, have more tests of SIGKILL of their own.
"""

import contextlib
import hashlib
import itertools
import json
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import willing_model
from launched_runs import Launcher, Run
from page_world import World
from people_at_work import decide, full_content, member, unit_id, verdicts
from reliability_page import Reliability
from scripted_server import Answer, Body, serve

from reeltalk.cli import EXIT_INTERRUPTED, INTERRUPTED_TEXT, main, run
from reeltalk.store.benchmark import Benchmark
from reeltalk_review.database import ReviewProject
from reeltalk_review.importing import import_benchmark

SIGNALS: Final = (signal.SIGINT, signal.SIGKILL, signal.SIGTERM, signal.SIGKILL)
"""What is sent to a command, one after the other; between two of them the same command goes on."""
ENDS_WITHIN_S: Final = 2.0
"""Time that a command has to end, as `ended_after_s`."""
TIMED: Final = frozenset(
    "took_s first_token_s cached date created made_at started ended written when at_s time duration_s seconds".split()
)
STAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT[\w-]+")
TOOK: Final = re.compile(
    rb" \xc2\xb7 \d+\.\d+ s(?:, first token after \d+\.\d+ s)?(?=[ <])| \xc2\xb7 kept from an earlier run"
)
"""How long an answer took, or that it was kept, on the page of its dialogue."""
TIMED_FILES: Final = re.compile(
    r"\.(?:eval|sqlite)$|(?:^|/)(?:(?:files|steps)\.json|made-here|secret|history\.key|times\.html)$"
)
"""Logs, kept replies, keys that are drawn, pages of times, and files with the hashes of files with times."""
SHOWS_TIMES: Final = re.compile(r"(?:^|/)models/[^/]+\.html$")
"""Pages of reports with numbers of how long answers took."""
LEFT: Final = re.compile(r"(?:^|[/.])lock$|\.(?:db|sqlite)-(?:wal|shm)$|/\.work/curate/ingest-\w+\.json$")
"""What a process may leave, and files that are named by the time of another file."""
WHAT: Final = "Ctrl-C, SIGTERM and SIGKILL at random moments of commands"


@dataclass(frozen=True)
class Case:
    """A command, and what lies in its folder before."""

    words: str
    """As typed after `reeltalk`; `URL` is the address of a server of models, and `HERE` that of the folder."""
    brought: tuple[str, ...] = ()
    """Things of `World`, or of `OWN`, each with the name that it gets: `constructed=bench`."""
    quick: bool = True
    """Whether `make test` tries it."""
    most: int = 20
    """Signals at most."""


def _reviewed(world: World, folder: Path) -> None:
    """A benchmark with the work of a person on it."""
    benchmark = Benchmark.create(folder / "bench")
    benchmark.write_content(full_content(), stage="test")
    project = ReviewProject.open(benchmark.path)
    import_benchmark(project, benchmark, serving=lambda _: {})
    unit = unit_id("turns", "chains", "a")
    decisions = {"0": {"decision": "reject"}, "1": {"decision": "edit", "question": "Why?"}}
    decide(project, member(project, "Ada"), unit, verdicts(project, unit, decisions))
    project.database.close()


def _project(world: World, folder: Path) -> None:
    """A small project, with what it films there already."""
    assert run(["new", str(folder)]) == 0
    world.go_ahead(["run", str(folder / "project.yaml")], Path())


def _table(world: World, folder: Path) -> None:
    """A table of questions that is long enough to take time."""
    folder.mkdir()
    rows = [f"kitchen.mp4,What is shown at {n}?,A number {n}." for n in range(1, 2000)]
    (folder / "questions.csv").write_text("\n".join(["video,question,answer", *rows]), encoding="utf-8")


def _asked(world: World, folder: Path) -> None:
    """A benchmark with requests along the stream."""
    shutil.copytree(world.made("filmed-video"), folder)
    world.command("graph", "questions", folder, "--proactive")


def _heard(world: World, folder: Path) -> None:
    """What a baseline said to them."""
    world.command("proactive", "run", folder.with_name("asked"), "--model", "always:5", "--out", folder)


def _gaps(world: World, folder: Path) -> None:
    """A benchmark, and a run of it in which every third request failed."""
    asked = itertools.count(1)

    def reply(body: Body) -> Answer | str:
        return willing_model.reply(body) if next(asked) % 3 else Answer(400, {"error": {"message": "no"}})

    played = "--policy none --limit 4 --metrics rouge_l --protocols typed --out run"
    shutil.copytree(world.made("constructed"), folder / "bench")
    with serve(reply) as server, contextlib.chdir(folder):
        words = f"evaluate bench --model m --base-url {server.base_url} {played}".split()
        world.command(*words, allowed=(0, 1))


def _backup(world: World, folder: Path) -> None:
    """The work of a person as a file, and the benchmark that it is about."""
    _reviewed(world, folder)
    world.command("review", "backup", folder / "bench", folder / "kept.zip")
    shutil.rmtree(folder / "bench.review")


def _pushed(world: World, folder: Path) -> None:
    """An object store with media of a benchmark, which has none itself."""
    shutil.copytree(world.made("filmed"), folder / "bench")
    world.command("media", "push", folder / "bench", (folder / "store").as_uri())
    shutil.rmtree(folder / "bench" / "media")


def _lessons(world: World, folder: Path) -> None:
    """Data to train on, and a checkpoint of random weights."""
    lora_training = pytest.importorskip("reeltalk_streaming.training.lora_training")
    assert lora_training
    from tiny_architectures import save_tiny

    save_tiny("internvl", folder / "tiny")
    small = ("--size", "32", "--fps", "0.1", "--frame-tokens", "4", "--max-frames", "4", "--limit", "2")
    world.command("export", "streamingchat", world.made("constructed"), folder / "data", "--split", "all", *small)


OWN: Final[dict[str, Callable[[World, Path], None]]] = {
    "reviewed": _reviewed, "project": _project, "table": _table, "asked": _asked, "heard": _heard,
    "gaps": _gaps, "backup": _backup, "pushed": _pushed, "lessons": _lessons,
}  # fmt: skip

CASES: Final[dict[str, Case]] = {
    "import qa": Case("import qa table/questions.csv bench --videos videos", ("table=table", "videos/own=videos")),
    "import vdact": Case("import vdact vdact bench", ("vdact=vdact",), quick=False),
    "import svbench": Case("import svbench svbench bench", ("release/svbench=svbench",), quick=False),
    "import folder": Case("import folder videos bench", ("videos/own=videos",)),
    "attach": Case("attach bench videos", ("imported=bench", "videos/vdact=videos")),
    "curate": Case("curate raw --into bench --splits train=0.8,test=0.2 --workers 1", ("raw=raw",)),
    "construct objects": Case("construct bench --steps objects --workers 1", ("filmed-video=bench",), quick=False),
    "construct graph": Case("construct bench --workers 1", ("sighted-video=bench",), quick=False),
    "construct model": Case(
        "construct bench --writer vision-1 --base-url URL --frames 2 --limit 2 --workers 1",
        ("sighted-video=bench",), quick=False,
    ),
    "rubrics": Case("construct bench --rubrics --writer m --base-url URL", ("constructed=bench",), quick=False),
    "sheet": Case("construct bench --sheet 10", ("constructed=bench",), quick=False),
    "graph questions": Case("graph questions bench", ("sighted-video=bench",), quick=False),
    "graph curate": Case("graph curate vdact/kg_activity.zip --out graphs", ("vdact=vdact",), quick=False),
    "graph tell": Case("graph tell vdact/kg_activity.zip --out told", ("vdact=vdact",), quick=False),
    "graph tell model": Case(
        "graph tell vdact/kg_activity.zip --model m --base-url URL --out told", ("vdact=vdact",), quick=False
    ),
    "graph query": Case("graph query vdact/kg_activity.zip events", ("vdact=vdact",), quick=False),
    "media push": Case("media push bench HERE/store", ("filmed=bench",), quick=False),
    "media pull": Case("media pull pushed/bench HERE/pushed/store --trust", ("pushed=pushed",), quick=False),
    "tag": Case("tag bench --model tagger --base-url URL", ("constructed=bench",)),
    "validate": Case("validate bench", ("constructed=bench",), quick=False),
    "freeze": Case("freeze bench release --version 1.0.0", ("constructed=bench",), quick=False),
    "export qa": Case("export qa bench out.csv", ("constructed=bench",), quick=False),
    "export hub": Case("export hub bench out", ("constructed=bench",), quick=False),
    "export vdact": Case("export vdact bench out", ("imported=bench",), quick=False),
    "export streamingchat": Case("export streamingchat bench out", ("constructed=bench",), quick=False),
    "export sharegpt": Case("export sharegpt bench out --split all", ("constructed=bench",), quick=False),
    "export trl": Case("export trl bench out --split all", ("constructed=bench",), quick=False),
    "export mt-video-bench": Case("export mt-video-bench bench out", ("constructed=bench",), quick=False),
    "export questions": Case("export questions bench out.jsonl", ("constructed=bench",)),
    "evaluate baseline": Case(
        "evaluate bench --model baseline:ngrams --policy none --metrics rouge_l --protocols typed --out run",
        ("constructed=bench",), quick=False,
    ),
    "evaluate frames": Case(
        "evaluate bench --model qwen3-vl --base-url URL --frames 2 --limit 3 --metrics rouge_l --protocols typed"
        " --out run", ("constructed=bench",), quick=False),
    "retry": Case("retry gaps/run --base-url URL --trust", ("gaps=gaps",), quick=False),
    "judge": Case(
        "judge run --protocols svbench,gpt-score --judge gpt-4o-mini --judge-base-url URL --out judged",
        ("runs/qwen=run", "constructed=bench"),
    ),
    "score": Case(
        "score vdact/results --format vdact --metrics bleu,rouge_l,cider --out scored", ("vdact=vdact",), quick=False),
    "proactive run": Case("proactive run bench --model always:5 --out run", ("asked=bench",)),
    "proactive score": Case("proactive score bench run --out streams.json", ("asked=bench", "heard=run"), quick=False),
    "chat": Case("chat film.mp4 --speed 0", ("film=film.mp4",), quick=False),
    "report": Case("report run judged --out site", ("runs/qwen=run", "runs/qwen-judged=judged"), quick=False),
    "report benchmark": Case("report bench --out site", ("constructed=bench",), quick=False),
    "compare": Case(
        "compare one two --out compared.txt", ("runs/qwen-judged=one", "runs/intern-judged=two"), quick=False
    ),
    "calibrate": Case(
        "calibrate one two --human people.csv --out calibrated",
        ("runs/qwen-judged=one", "runs/intern-judged=two", "people/annotations=people.csv"), quick=False),
    "world film": Case(
        "world film --scenarios 1 --houses 1 --width-px 320 --fps 2 --seed 7 --workers 1 --into bench"
    ),
    "world train": Case(
        "world train bench --eye-steps 6 --speech-steps 4 --threads 1 --out mini", ("filmed=bench",),
        quick=False, most=6,
    ),
    "world release": Case("world release --videos 5 --out release --workers 1", quick=False, most=4),
    "demo": Case("demo --out demo", quick=False, most=4),
    "train lora": Case(
        "train lora lessons/data/streamingchat.jsonl --base lessons/tiny --out tuned --cpu --frame-tokens 4"
        " --max-steps 8 --accumulate 1", ("lessons=lessons",), quick=False),
    "review restore": Case("review restore kept/kept.zip --into kept/bench", ("backup=kept",), quick=False),
    "review backup": Case("review backup work/bench out.zip", ("reviewed=work",)),
    "review apply": Case("review apply work/bench", ("reviewed=work",)),
    "new": Case("new kitchen"),
    "run": Case("run kitchen/project.yaml", ("project=kitchen",), quick=False),
    "prompts": Case("prompts --out prompts", quick=False),
    "doctor": Case("doctor bench", ("constructed=bench",), quick=False),
}  # fmt: skip


@dataclass(frozen=True)
class Stopped:
    """How a command ended that was sent a signal, or was done before."""

    code: int
    said: str
    after_s: float | None
    """As `ended_after_s`; None if it was done before the signal."""


def begun(process: int) -> bool:
    """Whether a process has come to the command, which catches SIGTERM; before, it is the launcher of the tests."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return True
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def threads_of(process: int) -> dict[str, tuple[bool, int]]:
    """The threads of a process and of those that it started: whether each uses or wants the processor, and its time on
    it, in ns."""
    found: dict[str, tuple[bool, int]] = {}
    # They may end at any moment.
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            state = (thread / "stat").read_text().rpartition(")")[2].split()[0]
            if state not in "ZX":
                found[thread.name] = state == "R", int((thread / "schedstat").read_text().split()[0])
            for child in (thread / "children").read_text().split():
                found |= threads_of(int(child))
    return found


def ended_after_s(run: Run, number: signal.Signals) -> float:
    """Send a signal, and wait for the end: the time for which the command had the processor, and for which it waited
    for something else. What others do on this machine makes it no longer."""
    before, used_ns, waited_s = threads_of(run.pid), dict[str, int](), 0.0
    run.send_signal(number)
    sent_at = last_at = time.monotonic()
    while (now := threads_of(run.pid)) and last_at < sent_at + 120:
        at = time.monotonic()
        if not any(ready for ready, _ in now.values()):
            waited_s += at - last_at
        used_ns |= {name: on_ns - before.get(name, (False, 0))[1] for name, (_, on_ns) in now.items()}
        last_at = at
        time.sleep(0.002)
    run.kill()
    run.wait()
    return sum(used_ns.values()) / 1e9 + waited_s


def stopped(runs: Launcher, words: Sequence[str], folder: Path, number: signal.Signals, at_s: float) -> Stopped:
    """Run a command, and send it a signal after so many seconds."""
    told = folder.with_name("said")
    # What the last one that was killed had started may still write into its own.
    told.unlink(missing_ok=True)
    with (
        told.open("w") as output,
        runs.start(*words, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output) as run,
    ):
        while run.poll() is None and not begun(run.pid):
            time.sleep(0.001)
        after_s = None
        try:
            run.wait(at_s)
        except subprocess.TimeoutExpired:
            after_s = ended_after_s(run, number)
        return Stopped(run.wait(), told.read_text(), after_s)


def fault_of(ended: Stopped, number: signal.Signals, usual: int) -> str | None:
    """What is wrong with how a command ended; None where it ended as it should."""
    if "Traceback" in ended.said or "Exception ignored" in ended.said:
        return f"a traceback: {ended.said[-3000:]}"
    if ended.after_s is None or ended.code in (usual, -number):
        # It was done before. What it left is compared.
        return None if ended.code in (usual, -number) else f"exit code {ended.code}: {ended.said[-500:]}"
    if ended.code != EXIT_INTERRUPTED:
        return f"exit code {ended.code}: {ended.said[-500:]}"
    if not re.search("^(interrupted|stopping)", ended.said, re.MULTILINE):
        return f"no sentence: {ended.said[-500:]}"
    return f"it took {ended.after_s:.1f} s" if ended.after_s > ENDS_WITHIN_S else None


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(one) for key, one in value.items() if key not in TIMED}
    if isinstance(value, list):
        # Rows of how long requests took.
        return [_timeless(one) for one in value if not isinstance(one, dict) or one.get("metric") not in TIMED]
    return value


def _counted(database: Path) -> bytes:
    """How many rows the tables of a database have. What the rows say has times."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        tables = sorted(name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))
        rows = [connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables]
    return json.dumps([*zip(tables, rows, strict=True)]).encode()


def contents(folder: Path) -> dict[str, str]:
    """The hash of every file without what names a time; of logs and of what is drawn only that they are there."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = STAMP.sub("TIME", str(path.relative_to(folder)))
        data = b"" if TIMED_FILES.search(name) else path.read_bytes()
        if data and path.suffix in (".json", ".jsonl"):
            rows = [json.loads(line) for line in (data.splitlines() if path.suffix == ".jsonl" else [data])]
            data = json.dumps(_timeless(rows)).encode()
        elif path.suffix == ".html":
            data = TOOK.sub(b"", data) if not SHOWS_TIMES.search(name) else re.sub(rb"\d+", b"", data)
        elif path.suffix == ".db":
            data = _counted(path)
        elif path.suffix == ".zip":
            with zipfile.ZipFile(path) as packed:
                data = b"".join(name.encode() + packed.read(name) for name in sorted(packed.namelist()))
        if not LEFT.search(name):
            found[name] = hashlib.sha256(data).hexdigest()
    return found


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, world: World) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("own")

    def made(kind: str) -> Path:
        if kind not in OWN:
            return world.made(kind)
        if kind == "heard":
            made("asked")
        if not (folder / kind).exists():
            OWN[kind](world, folder / kind)
        return folder / kind

    return made


@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if case.quick else pytest.mark.slow) for name, case in CASES.items()]
)
def test_a_command_that_was_stopped_goes_on_to_the_same_bytes(
    runs: Launcher,
    world: World,
    own: Callable[[str], Path],
    tmp_path: Path,
    name: str,
    reliability: Reliability,
) -> None:
    case, folder = CASES[name], tmp_path / "work"
    words = case.words.replace("URL", world.base_url).replace("HERE", folder.as_uri()).split()

    def afresh() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for kind, _, called in (thing.partition("=") for thing in case.brought):
            copy = shutil.copytree if own(kind).is_dir() else shutil.copy
            copy(own(kind), folder / called)

    afresh()
    began = time.monotonic()
    whole = runs.completed(*words, cwd=folder)
    lasts_s, expected = time.monotonic() - began, contents(folder)
    assert whole.returncode in (0, 1), whole.stderr
    draw, place = random.Random(name), list(CASES).index(name)
    tally = reliability(
        "power", WHAT, "a traceback, no end within 2 s, other bytes than an unbroken run, or a partial file"
    )
    due, sent, wrong, slowest_s = reliability.count(1, full=min(case.most, 3), release=case.most), 0, list[str](), 0.0
    while tally.tried < due:
        afresh()
        for turn in range(min(len(SIGNALS), due - tally.tried)):
            number, at_s = SIGNALS[(place + sent) % len(SIGNALS)], draw.uniform(0, lasts_s)
            sent += 1
            ended = stopped(runs, words, folder, number, at_s)
            said = ended.said
            if turn and ended.code == 2 and re.search("--overwrite|already|exists;", said):
                # The last signal came when all was written.
                break
            tally.tried += ended.after_s is not None
            slowest_s = max(slowest_s, ended.after_s or 0.0 if ended.code == EXIT_INTERRUPTED else 0.0)
            fault = fault_of(ended, number, whole.returncode)
            wrong += [f"{number.name} at {at_s:.2f} of {lasts_s:.2f} s: {fault}"] if fault else []
            tally.failed += fault is not None
            if ended.code == whole.returncode:
                break
        if ended.code != whole.returncode:
            last = runs.completed(*words, cwd=folder)
            if last.returncode == 2 and "--overwrite" in last.stderr:
                last = runs.completed(*words, "--overwrite", cwd=folder)
            said = last.stderr
        faults = [f"{path} differs" for path in differing(expected, contents(folder))]
        if faults:
            wrong += [*faults[:5], f"after {number.name} at {at_s:.2f} of {lasts_s:.2f} s, and: {said[-500:]}"]
            tally.failed += 1
    print(
        f"{name}: {tally.tried} sent, {tally.failed} failed; the slowest end after {slowest_s:.2f} s of {lasts_s:.1f}"
    )
    assert not wrong, "\n".join(wrong)


ASKING: Final[dict[str, Case]] = {
    "construct": Case("construct bench --writer m --base-url URL --frames 2 --workers 1", ("sighted-video=bench",)),
    "rubrics": Case("construct bench --rubrics --writer m --base-url URL", ("constructed=bench",), quick=False),
    "tag": Case("tag bench --model m --base-url URL", ("constructed=bench",), quick=False),
    "graph tell": Case(
        "graph tell vdact/kg_activity.zip --model m --base-url URL --out told", ("vdact=vdact",), quick=False
    ),
    "evaluate": Case(
        "evaluate bench --model m --base-url URL --frames 2 --metrics rouge_l --protocols typed --out run",
        ("constructed=bench",), quick=False,
    ),
    "proactive": Case("proactive run bench --model poll:m --base-url URL --out run", ("asked=bench",), quick=False),
    "judge": Case(
        "judge run --protocols gpt-score --judge m --judge-base-url URL --out judged",
        ("runs/qwen=run", "constructed=bench"), quick=False,
    ),
}  # fmt: skip
"""Commands that ask a model."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if case.quick else pytest.mark.slow) for name, case in ASKING.items()]
)
def test_ctrl_c_while_a_model_says_nothing(
    runs: Launcher, own: Callable[[str], Path], tmp_path: Path, name: str, reliability: Reliability
) -> None:
    tally = reliability("power", "Ctrl-C while a model says nothing", "a traceback, or no end within 2 s")
    asked, answers, wrong = threading.Event(), 0, list[str]()

    def reply(body: Body) -> Answer | str:
        nonlocal answers
        answers -= 1
        if answers >= 0:
            return willing_model.reply(body)
        asked.set()
        return Answer(hold_s=600)

    for kind, _, called in (thing.partition("=") for thing in ASKING[name].brought):
        shutil.copytree(own(kind), tmp_path / called)
    with serve(reply, sees_preflights=True) as server:
        words = ASKING[name].words.replace("URL", server.base_url).split()
        # It is silent when it is tried, after two replies, and when it is tried again by who has replies.
        for answered in (0, 3, 0):
            answers = answered
            asked.clear()
            with (tmp_path / "said").open("w") as output, runs.start(
                *words, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            ) as run:  # fmt: skip
                assert asked.wait(120), (tmp_path / "said").read_text()
                after_s = ended_after_s(run, signal.SIGINT)
                ended = Stopped(run.wait(), (tmp_path / "said").read_text(), after_s)
            fault = fault_of(ended, signal.SIGINT, 0)
            wrong += [fault] if fault else []
            print(f"{name}: the end after {after_s:.2f} s")
    tally.tried, tally.failed = 3, len(wrong)
    assert not wrong, "\n".join(wrong)


def test_ctrl_c_that_python_wraps_in_another_error_is_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupts:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyboardInterrupt

    def imports() -> None:
        type("Imported", (), {"part": Interrupts()})

    monkeypatch.setattr("reeltalk.cli.commands.main", imports)
    monkeypatch.setattr(sys, "argv", ["reeltalk", "doctor"])
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == EXIT_INTERRUPTED
    assert "interrupted; nothing is half-written" in capsys.readouterr().err


STARTED: Final = """
import sys
import reeltalk.cli
print("begun", flush=True)
sys.argv[1:] = ["validate", "nowhere"]
reeltalk.cli.main()
"""


def test_ctrl_c_while_modules_are_imported(tmp_path: Path, reliability: Reliability) -> None:
    tally = reliability("power", "Ctrl-C while a command is imported", "a traceback, or no sentence")
    draw, wrong, lasts_s = random.Random(7), list[str](), 0.0
    for number in range(reliability.count(3, full=20, release=20) + 1):
        with subprocess.Popen(
            [sys.executable, "-c", STARTED], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            began = time.monotonic()
            if number:
                time.sleep(draw.uniform(0, lasts_s))
                process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)[1]
        if not number:
            lasts_s = time.monotonic() - began
            continue
        ended = Stopped(process.returncode, said, time.monotonic() - began)
        fault = fault_of(ended, signal.SIGINT, 2)
        tally.tried += 1
        tally.failed += fault is not None
        wrong += [fault] if fault else []
    assert not wrong, "\n".join(wrong)


LOST: Final = """
import signal, sys, time, weakref
import reeltalk.cli
from reeltalk.cli import commands

class Gone: ...

def run(words):
    gone = Gone()
    kept = weakref.ref(gone, lambda _: signal.raise_signal(signal.SIGINT))
    del gone
    time.sleep(20)
    return 0

commands.app = lambda *words, **options: run(words)
reeltalk.cli.main()
"""


def test_ctrl_c_in_a_callback_of_python_is_not_lost(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", LOST], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (EXIT_INTERRUPTED, f"{INTERRUPTED_TEXT}\n")

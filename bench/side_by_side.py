"""Other programs beside reeltalk where both do the same work: shots, questions to a server, saves of people's work.

Each program is installed into `build/bench/NAME`, in an environment of its own, and is no dependency. The sides take
turns in one run, and figures are medians over rounds. CPU seconds are user and system time of a program and its
children, so they are valid on a busy machine. Times of saves are clock times: they hold for this machine and its load.

Shots: PySceneDetect's content detector as a script of two lines, and `reeltalk curate`, which in the same decode also
measures quality and motion and keeps frames. The cuts of the videos are known.

Questions: the same ones, without pictures, to a server that answers after 50 ms, 20 at a time; each program also scores
and stores the answers. The cost of a question is what a long run takes more than a short one, and the rest is the cost
of any run.

Saves: people open a piece of work, think, and save a decision with an answer, over HTTP and on SQLite, to the server
that `pip install` brings. One person thinks a tenth of a second, each of ten people two seconds on the average.

The scores of texts beside the COCO caption evaluation, which lmms-eval uses, are in `bench/metrics.py`.
"""

import asyncio
import contextlib
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import httpx
import numpy as np

import review_team
from chat_server import ChatServer, chat_server
from curate import curate
from record import ROOT, Measure, lacking, options_of, place_of, record
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import SHOTS
from reeltalk_build.video.write import write_video
from review import Server, add_people, content, served
from spending import Spent, reeltalk, spend

sys.path.insert(0, str(ROOT / "tools"))
from sample_videos import Recomposed

REQUIRED: Final = {
    "PySceneDetect": ("scenedetect-headless==0.7.2",),
    "inspect_ai": ("inspect-ai==0.3.285", "openai==3.54.0"),
    # Its own list allows a filelock whose private parts it needs and does not find.
    "lmms-eval": ("lmms-eval==0.7.3", "torch==2.13.0", "filelock<4"),
    "Label Studio": ("label-studio==1.23.2",),
}
LEFT_OUT: Final = ("torchvision", "timm", "wandb")
"""What only models with weights and a tracker need of lmms-eval's gigabytes."""
OFFLINE: Final = (
    *("COLLECT_ANALYTICS=false", "LATEST_VERSION_CHECK=false", "SENTRY_DSN=", "FRONTEND_SENTRY_DSN="),
    *("HF_HUB_OFFLINE=1", "HF_DATASETS_OFFLINE=1"),
)
ROUNDS: Final = 3
NEAR_FRAMES: Final = 6
"""How far from a true cut a found one may lie."""
LATENCY_S: Final = 0.05
AT_A_TIME: Final = 20
THINK_S: Final = {1: 0.1, 10: 2.0}
"""By the number of people at once."""
PORT: Final = 18_765
TOKEN: Final = "0123456789abcdef0123456789abcdef01234567"
FORM: Final = """<View><Text name="q" value="$question"/><TextArea name="answer" toName="q"/>
<Choices name="decision" toName="q"><Choice value="accept"/></Choices></View>"""
SAVED: Final = [
    {"from_name": "decision", "to_name": "q", "type": "choices", "value": {"choices": ["accept"]}},
    {"from_name": "answer", "to_name": "q", "type": "textarea", "value": {"text": ["He opens it and sits down. " * 5]}},
]
DETECT: Final = """
import json, sys, scenedetect
scenes = scenedetect.detect(sys.argv[1], scenedetect.ContentDetector(min_scene_len=0.6))
open(sys.argv[2], "w").write(json.dumps([start.frame_num for start, _ in scenes[1:]]))
"""
INSPECT_TASK: Final = """
from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, csv_dataset
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

@task
def side():
    questions = csv_dataset("questions.csv", FieldSpec(input="question", target="answer"))
    return Task(dataset=questions, solver=generate(), scorer=includes())
"""
LMMS_TASK: Final = """
task: side
dataset_path: csv
dataset_kwargs: {data_files: {test: questions.csv}}
test_split: test
output_type: generate_until
doc_to_visual: !function side_pictures.none
doc_to_text: question
doc_to_target: answer
generation_kwargs: {max_new_tokens: 512, temperature: 0}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
"""


def folder_of(name: str) -> Path:
    """Where a program is installed."""
    return ROOT / "build" / "bench" / name.lower().replace(" ", "-")


def command_of(name: str, command: str, *arguments: str, at: Path = ROOT, **variables: str) -> list[str]:
    """A command of a program, without reeltalk's own path, run in a folder with variables of the environment."""
    given = (*OFFLINE, *(f"{key}={value}" for key, value in variables.items()))
    return ["env", "-C", str(at), "-u", "PYTHONPATH", *given, str(folder_of(name) / "bin" / command), *arguments]


def install(name: str) -> None:
    """Install a program where it is missing.

    Raises:
        CalledProcessError: It cannot be installed.
    """
    folder = folder_of(name)
    if (folder / "ready").exists():
        return
    print(f"installing {name} into {folder.relative_to(ROOT)}", flush=True)
    uv, found = str(Path(sys.executable).with_name("uv")), os.environ.get("PIP_FIND_LINKS")
    subprocess.run([uv, "venv", "-q", "--clear", "--python", sys.executable, str(folder)], check=True)
    (folder / "left_out.txt").write_text("".join(f'{package}; sys_platform == "none"\n' for package in LEFT_OUT))
    # As in the Makefile: the usual index lacks PyTorch's CPU build.
    where = ("--find-links", found) if found else ("--torch-backend", "cpu")
    options = ("--compile-bytecode", "--override", str(folder / "left_out.txt"), *where)
    command = [uv, "pip", "install", "-q", "--python", str(folder / "bin" / "python"), *options, *REQUIRED[name]]
    subprocess.run(command, check=True)
    if name == "Label Studio":
        # Its tables take minutes to make.
        (folder / "form.xml").write_text(FORM)
        owner = ("--username", "owner@example.org", "--password", review_team.PASSWORD, "--user-token", TOKEN)
        more = ("--label-config", "form.xml", *owner, "--enable-legacy-api-token", "--agree-fix-sqlite")
        data = {"LABEL_STUDIO_BASE_DATA_DIR": str(folder / "data")}
        subprocess.run(command_of(name, "label-studio", "init", "Questions", *more, at=folder, **data), check=True)
    (folder / "ready").touch()


def median(spent: list[Spent], part: str) -> float:
    return float(statistics.median(getattr(one, part) for one in spent))


def shots(folder: Path, *, quick: bool, rounds: int) -> dict[str, float]:
    """CPU time, memory and cuts, on a video with hard cuts and on one with dissolves, fades and flashes too."""
    figures = dict[str, float]()
    for name, hard in (("cuts", False), ("fades", True)):
        seconds = 20 if quick else 30
        made = Recomposed(f"side-{name}.mp4", 1280, 720, seconds, shot_s=(2.0, 6.0), hard=hard)
        video, true = made.make()
        spent: dict[str, list[Spent]] = {"PySceneDetect": [], "reeltalk": []}
        cuts: dict[str, list[int]] = {}
        detect = command_of("PySceneDetect", "python", "-c", DETECT, str(video), str(folder / "cuts"))
        for number in range(rounds):
            for side in spent if number % 2 else reversed(spent):
                command = curate(folder, video) if side == "reeltalk" else detect
                spent[side].append(spend(command, ok=(0, 1)))
                print(f"  round {number + 1} {side}: {spent[side][-1]}", flush=True)
                if side == "reeltalk":
                    rows = Benchmark.open(Path(command[command.index("--into") + 1])).read(SHOTS)
                    cuts[side] = [round(row.interval.start_s * made.rate) for row in rows][1:]
                else:
                    cuts[side] = json.loads((folder / "cuts").read_text())
        figures[f"shots, {name}: all, cuts"] = len(true)
        for side, found in cuts.items():
            told = f"shots, {name}: {side}"
            hit = [{at for at in found if abs(at - cut) <= NEAR_FRAMES} for cut in true]
            figures[f"{told}, cuts found"] = sum(map(bool, hit))
            figures[f"{told}, false cuts"] = len(set(found).difference(*hit))
            figures[f"{told}, CPU s a minute"] = median(spent[side], "cpu_s") / seconds * 60
            figures[f"{told}, peak MiB"] = median(spent[side], "peak_mib")
    return figures


def asking(folder: Path, server: ChatServer, count: int) -> dict[str, Callable[[], list[str]]]:
    """What makes each program's command to ask `count` questions; each command writes into a new folder."""
    (folder / "videos").mkdir(parents=True)
    write_video(folder / "videos" / "film.mp4", [np.full((48, 64, 3), n, dtype=np.uint8) for n in range(20)], fps=10)
    rows = [f"film.mp4,Which object does the person of scene {n} take into the hand?,cup {n}\n" for n in range(count)]
    for name, text in (
        ("questions.csv", "video,question,answer\n" + "".join(rows)),
        ("side_task.py", INSPECT_TASK),
        ("side.yaml", LMMS_TASK),
        ("side_pictures.py", "def none(doc):\n    return []\n"),
    ):
        (folder / name).write_text(text)
    table, bench = str(folder / "questions.csv"), str(folder / "bench")
    command = reeltalk("import", "qa", table, bench, "--videos", str(folder / "videos"))
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    slots, address = str(AT_A_TIME), server.base_url
    ours = ("--model", "bench", "--base-url", address, "--policy", "none", "--metrics", "none", "--connections", slots)
    inspect = ("--model", "openai-api/bench/bench", "--max-connections", slots, "--max-samples", slots)
    model = f"model_version=bench,base_url={address},api_key=none,num_concurrent={slots}"
    lmms = ("--model", "openai", "--tasks", "side", "--model_args", model, "--include_path", str(folder))

    def out() -> str:
        return str(Path(tempfile.mkdtemp(dir=folder)) / "run")

    return {
        "inspect_ai": lambda: command_of(
            "inspect_ai", "inspect", "eval", "side_task.py", *inspect, "--display", "none", "--log-dir", out(),
            at=folder, BENCH_API_KEY="none", BENCH_BASE_URL=address,
        ),
        "lmms-eval": lambda: command_of(
            "lmms-eval", "python", "-m", "lmms_eval", "eval", *lmms, "--batch_size", "1", "--log_samples",
            "--output_path", out(), at=folder, HF_HOME=str(folder / "hub"),
        ),
        "reeltalk": lambda: reeltalk("evaluate", bench, *ours, "--out", out()),
    }  # fmt: skip


def questions(folder: Path, *, quick: bool, rounds: int) -> dict[str, float]:
    """What a question costs beside the model, and what any run costs."""
    few, many = (20, 120) if quick else (100, 600)
    spent: dict[tuple[str, int], list[Spent]] = {}
    with chat_server() as server:
        commands = {count: asking(folder / f"{count}", server, count) for count in (few, many)}
        for number in range(rounds):
            for name in commands[few] if number % 2 else reversed(commands[few]):
                for count in (few, many):
                    server.begin(latency_s=LATENCY_S)
                    took = spend(commands[count][name](), ok=(0, 1))
                    # reeltalk asks once whether the server answers.
                    if (sent := len(server.done()["calls"])) not in (count, count + 1):
                        raise RuntimeError(f"{name} sent {sent} requests for {count} questions")
                    spent.setdefault((name, count), []).append(took)
                    print(f"  round {number + 1} {name}, {count}: {took}", flush=True)
    figures: dict[str, float] = {}
    for name in commands[few]:
        short, long = (median(spent[name, count], "cpu_s") for count in (few, many))
        each = (long - short) / (many - few)
        figures[f"asking: {name}, CPU ms a question"] = each * 1000
        figures[f"asking: {name}, CPU s of any run"] = short - each * few
        figures[f"asking: {name}, s for {many:,} questions"] = median(spent[name, many], "wall_s")
        figures[f"asking: {name}, peak MiB"] = median(spent[name, many], "peak_mib")
    return figures


@contextlib.contextmanager
def label_studio(folder: Path) -> Iterator[Server]:
    """A server with an empty project in a new folder, as its command starts it."""
    shutil.copytree(folder_of("Label Studio") / "data", folder)
    start = ("start", "--no-browser", "--port", f"{PORT}")
    command = command_of("Label Studio", "label-studio", *start, LABEL_STUDIO_BASE_DATA_DIR=str(folder))
    address, begun = f"http://127.0.0.1:{PORT}", time.monotonic()
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, text=True)
    try:
        while process.poll() is None and time.monotonic() - begun < 300:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{address}/health").is_success:
                    break
            time.sleep(0.5)
        yield Server(address, process, time.monotonic() - begun)
    finally:
        process.terminate()
        process.wait()


async def save_in_label_studio(team: review_team.Team, tasks: Iterator[int], think_s: float) -> None:
    """One person, who opens tasks and saves a decision with an answer, as the editor sends it."""
    headers, draw = {"Authorization": f"Token {TOKEN}"}, random.Random()
    async with httpx.AsyncClient(base_url=team.address, timeout=60, headers=headers) as client:
        while time.monotonic() < team.end:
            task = f"/api/tasks/{next(tasks)}"
            await team.ask(client, "open", "GET", task)
            await asyncio.sleep(think_s * draw.uniform(0.25, 1.75))
            await team.ask(client, "save", "POST", f"{task}/annotations/", json={"result": SAVED, "lead_time": 2.0})


async def let_work(address: str, seconds: float, people: int, tasks: Iterator[int] | None) -> review_team.Team:
    """Let people work side by side, in Label Studio if there are tasks."""
    team = review_team.Team(address, seconds)
    review_team.THINK_S = THINK_S[people]
    names = [] if tasks else [f"annotator-{number:03d}" for number in range(1, people + 1)]
    annotators = [review_team.Annotator(team, name) for name in names]
    for annotator in annotators:
        annotator.keys = time.monotonic_ns()
        await annotator.sign_in()
    team.measuring, team.end = True, time.monotonic() + seconds
    work = [save_in_label_studio(team, tasks, THINK_S[people]) for _ in range(people)] if tasks else []
    await asyncio.gather(*(work or [annotator.work() for annotator in annotators]))
    for annotator in annotators:
        await annotator.client.aclose()
    if team.errors:
        raise RuntimeError(f"{address}: {dict(team.errors)}")
    return team


def saves(folder: Path, *, quick: bool, rounds: int) -> dict[str, float]:
    """How long a save takes for the one who waits, and what it costs the server."""
    seconds = 5.0 if quick else 30.0
    made = content(400 if quick else 2000)
    # Nobody watches a video here.
    made.media.clear()
    made.videos[:] = [Video(id=video.id, duration_s=video.duration_s) for video in made.videos]
    Benchmark.create(folder / "bench").write_content(made, stage="bench", settings={})
    with served(folder / "bench"):
        pass
    add_people(folder / "bench", None, max(THINK_S))
    took, cpu = dict[tuple[str, int], list[float]](), dict[tuple[str, int], list[float]]()
    figures = dict[str, float]()
    with served(folder / "bench") as ours, label_studio(folder / "label-studio") as theirs:
        rows = [{"question": turn.question} for chain in made.chains for turn in chain.turns]
        headers = {"Authorization": f"Token {TOKEN}"}
        httpx.post(
            f"{theirs.address}/api/projects/1/import", json=rows, headers=headers, timeout=300
        ).raise_for_status()
        sides = {"reeltalk": (ours, None), "Label Studio": (theirs, iter(range(1, len(rows) + 1)))}
        for number in range(rounds):
            for people in THINK_S:
                for name in sides if number % 2 else reversed(sides):
                    server, tasks = sides[name]
                    before = server.cpu_s()
                    times = asyncio.run(let_work(server.address, seconds, people, tasks)).took_s["save"]
                    took.setdefault((name, people), []).extend(times)
                    cpu.setdefault((name, people), []).append((server.cpu_s() - before) / len(times))
                    print(f"  round {number + 1} {name}, {people}: {len(times)} saves", flush=True)
        for (name, people), times in took.items():
            told = f"saves, {people} at once: {name}"
            figures[f"{told}, saves"] = len(times)
            figures[f"{told}, ms at the median"] = statistics.median(times) * 1000
            figures[f"{told}, ms at the 95th percentile"] = sorted(times)[int(0.95 * len(times))] * 1000
            figures[f"{told}, CPU ms of the server"] = statistics.median(cpu[name, people]) * 1000
        for name, (server, _) in sides.items():
            figures[f"saves: {name}, peak MiB"] = server.memory_mib("VmHWM")
    return figures


def stated(figures: Mapping[str, float]) -> list[Measure]:
    """A measure for each figure, with the other program's figure over reeltalk's where both are costs."""
    found = []
    for name, value in figures.items():
        what, _, said = name.rpartition(", ")
        cost = re.search(r"(CPU )?\b(ms|s|MiB)\b", said)
        ours = figures.get(f"{what.rpartition(': ')[0]}: reeltalk, {said}")
        ratio = value / ours if cost and ours and "reeltalk" not in name else None
        unit = cost[0] if cost else said.removeprefix("false ").split()[0]
        found.append(Measure(name, value, unit, "reeltalk" if ratio is not None else "", ratio))
    return found


PARTS: Final = (shots, questions, saves)


def main() -> None:
    """Measure all parts, or one anew."""
    parser = options_of(__doc__)
    parser.add_argument("--only", choices=[part.__name__ for part in PARTS], help="the others' figures stay")
    parser.add_argument("--rounds", type=int)
    options = parser.parse_args()
    if options.quick and not all((folder_of(name) / "ready").exists() for name in REQUIRED):
        lacking("side_by_side", "the other programs, which a full run installs", quick=True)
    for name in REQUIRED:
        install(name)
    figures: dict[str, float] = {}
    for part in PARTS:
        if options.only in (None, part.__name__):
            with tempfile.TemporaryDirectory(prefix="reeltalk-bench-") as folder:
                figures |= part(
                    Path(folder), quick=options.quick, rounds=options.rounds or (1 if options.quick else ROUNDS)
                )
    place = place_of("side_by_side", quick=options.quick)
    if options.only and place.is_file():
        figures = json.loads(place.read_text())["figures"] | figures
    notes = ["beside " + ", ".join(packages[0] for packages in REQUIRED.values())]
    packages = ("av", "opencv-python-headless", "openai", "fastapi", "uvicorn", "sqlalchemy")
    record("side_by_side", stated(figures), figures=figures, packages=packages, notes=notes, quick=options.quick)


if __name__ == "__main__":
    main()

"""What pages of the documentation and tests speak of: a filmed household, videos to curate, released answers, runs.

Made once for a run of the tests, as small as can be, and copied to the page or the test that writes to it.
"""

import csv
import json
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import av
import numpy as np
from doc_pages import Block, commands_of
from filelock import FileLock
from places import ROOT
from told_households import told

from reeltalk.cli import run
from reeltalk.parallel import LocalExecutor
from reeltalk.store.benchmark import Benchmark
from reeltalk_build.construct.settings import ConstructSettings
from reeltalk_build.construct.stage import construct
from reeltalk_build.construct.step import ConstructRun
from reeltalk_household.world.film import film
from reeltalk_household.world.settings import FilmSettings
from reeltalk_household.writer.graph_writer import GraphWriter

SAMPLES: Final = ROOT / "tests" / "samples"
ENDPOINT: Final = "http://localhost:8000/v1"
"""The address that pages write for a server of one's own."""
LAPTOPS: Final = ("http://localhost:11434/v1", "http://localhost:8080/v1")
"""Those of Ollama and llama.cpp."""

SMALLER: Final[dict[tuple[str, ...], dict[str, str]]] = {
    ("world", "film"): {
        "--scenarios": "4", "--houses": "4", "--dev-houses": "1", "--test-houses": "1", "--max-duration-s": "75",
        "--min-duration-s": "40", "--width-px": "320", "--fps": "2", "--seed": "10",
    },
    ("evaluate",): {"--limit": "2", "--frames": "4"},
    ("graph", "questions"): {"--per-kind": "1"},
    ("proactive", "run", "--tune"): {"--thresholds": "0.5"},
}  # fmt: skip
"""Options that tests set in place of what pages write, so that a page takes seconds."""
ONE_VIDEO: Final = {"--scenarios": "1", "--houses": "1", "--width-px": "320", "--fps": "2", "--seed": "7"}
"""The same for a new household without a test split: one video shows all that pages do with it."""
PROJECT: Final = {"scenarios": 3, "fps": 2, "max_duration_s": 75, "frames": 4}
"""The same in the file of a project."""
FOR_MODELS: Final = {"--limit": "1", "--frames": "2"}
"""The same for construction by a language model."""
KITCHENS: Final = {"construct": "curated", "tag": "imported"}
"""What `benchmarks/kitchen` is, by the first command that a page has for it; a benchmark with dialogues otherwise."""
DIALOGUE: Final = "d17"
"""The name that pages write for any dialogue of a run."""
MAKES: Final = ("--into", "--out", "--sheet", "--graphs")
"""Options whose value a command makes."""
TARGETS: Final = ("import", "freeze", "export")
"""Commands that make their last argument."""
NAMED: Final = re.compile(
    r"(?:~/|\./)?[\w~.-]+(?:/[\w.-]+)+/?|[\w-]+\.(?:mp4|zip|parquet|jsonl|csv)|raw/|\bvideos/|VDAct"
)
WRITTEN: Final = re.compile(r'\bout="([^"]+)"')
BASELINES: Final = ("blind", "history", "constant", "ngrams", "frames", "empty")
EVALUATED: Final = ("--policy", "none", "--limit", "4", "--metrics", "rouge_l")


@dataclass
class World:
    """Makes what pages need, in a folder that all tests of a run share."""

    cache: Path
    base_url: str
    """Of a server that answers as `willing_model` does."""

    def adapt(self, arguments: list[str], where: Path = Path()) -> list[str]:
        """The arguments that are run in a folder in place of those written."""
        adapted = [self.base_url if argument in (ENDPOINT, *LAPTOPS) else argument for argument in arguments]
        smaller = SMALLER
        if adapted[:2] == ["world", "film"] and "--test-houses" not in adapted:
            if not (where / adapted[adapted.index("--into") + 1]).exists():
                smaller = {("world", "film"): ONE_VIDEO}
        for command, options in smaller.items():
            if adapted[:1] == [command[0]] and set(command) <= set(adapted):
                for option, value in options.items():
                    if option == "--frames" and "none" in adapted:
                        continue
                    if option in adapted:
                        adapted[adapted.index(option) + 1] = value
                    else:
                        adapted += [option, value]
        if any("other-video" in argument for argument in adapted):
            # Of the few that are filmed the test split has one video, and train two.
            adapted += ["--split", "train"]
        if adapted[:1] == ["construct"] and "--writer" in adapted:
            for option, value in FOR_MODELS.items():
                adapted += [option, value]
        if DIALOGUE in adapted:
            rows = (self.made("runs/first") / "answers.jsonl").read_text(encoding="utf-8").splitlines()
            adapted[adapted.index(DIALOGUE)] = json.loads(rows[-1])["unit_id"]
        return adapted

    def go_ahead(self, arguments: list[str], where: Path) -> None:
        """Make what a command does quicker: film what `reeltalk world film` would, and make a project smaller."""
        if arguments[:1] == ["run"]:
            file = where / next((given for given in arguments[1:] if not given.startswith("-")), "project.yaml")
            text = file.read_text(encoding="utf-8")
            for setting, value in PROJECT.items():
                text = re.sub(rf"^  {setting}: .*$", f"  {setting}: {value}", text, count=1, flags=re.MULTILINE)
            file.write_text(text, encoding="utf-8")
        if arguments[:2] == ["world", "film"] and "--into" in arguments:
            into = where / arguments[arguments.index("--into") + 1]
            if not into.exists():
                shutil.copytree(self.made("filmed" if "--test-houses" in arguments else "filmed-video"), into)

    def prepare(self, folder: Path, blocks: Sequence[Block]) -> None:
        """Put into a page's folder what its blocks name and do not make themselves."""
        (folder / "tests").symlink_to(ROOT / "tests")
        first = next((c for c in _all_commands(blocks) if "benchmarks/kitchen" in c), [""])
        kitchen = KITCHENS.get(first[0], "constructed")
        made: set[str] = set()
        for name, makes in _named(blocks):
            root = next((root for root in RELEASES if name == root or name.startswith(f"{root}/")), name)
            name = root.rstrip("/")
            path = folder / name.replace("~/", "")
            if makes:
                made.add(str(path))
            elif not any(str(path) == one or str(path).startswith(f"{one}/") for one in made) and not path.exists():
                self._put(path, name, kitchen)

    def _put(self, path: Path, name: str, kitchen: str) -> None:
        kind = kitchen if name == "benchmarks/kitchen" else _kind(name)
        if kind is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        source = self.made(kind)
        if source.is_dir():
            shutil.copytree(source, path, dirs_exist_ok=True)
        else:
            shutil.copy(source, path)

    def made(self, kind: str) -> Path:
        """A thing of a kind, made where it is not there yet."""
        path = self.cache / kind
        with FileLock(self.cache / f"{kind.replace('/', '-')}.lock", is_singleton=True):
            if not path.exists():
                partial = self.cache / f"partial-{kind.replace('/', '-')}"
                shutil.rmtree(partial, ignore_errors=True)
                name = kind.split("/")[0]
                MAKERS[name](self, partial, kind)
                path.parent.mkdir(parents=True, exist_ok=True)
                partial.rename(path)
        return path

    def command(self, *arguments: object, allowed: Sequence[int] = (0,)) -> None:
        """Run a command that must succeed."""
        words = self.adapt([str(argument) for argument in arguments])
        code = run(words)
        assert code in allowed, f"reeltalk {' '.join(words)}: {code}"


def _all_commands(blocks: Sequence[Block]) -> Iterator[list[str]]:
    for block in blocks:
        if block.language in ("console", "bash") and not block.not_run:
            yield from commands_of(block)


def _named(blocks: Sequence[Block]) -> Iterator[tuple[str, bool]]:
    """Paths in the order they are named, and whether whoever names them makes them."""
    for block in blocks:
        if block.not_run or block.language not in ("console", "bash", "python"):
            continue
        if block.title:
            yield block.title, True
        if block.language == "python":
            written = set(WRITTEN.findall(block.text))
            yield from ((name, name in written) for name in NAMED.findall(block.text))
            continue
        for words in commands_of(block):
            for at, word in enumerate(words):
                last = at == len([word for word in words if not word.startswith("-")]) - 1
                target = words[0] in TARGETS and (last or at == (2 if words[0] == "freeze" else 3))
                makes = (at > 0 and words[at - 1] in MAKES) or target
                for name in NAMED.findall(word):
                    yield name, makes


def _kind(name: str) -> str | None:
    """Which thing a path of a page is."""
    if name.endswith(".csv"):
        return f"people/{name.removesuffix('.csv')}"
    if name.startswith("runs/"):
        return f"runs/{name.removeprefix('runs/').split('/')[0]}"
    return RELEASES.get(name) or KINDS.get(name)


RELEASES: Final = {"VDAct": "vdact", "~/Downloads/VDAct": "vdact", "data/vdact": "vdact"}
"""Folders of a release; a page that names a file in one gets all of it."""
NAMES: Final = {
    "svbench": ("kitchen_01", "street_02", 'garden "back"'),
    "mt-video-bench": ("market_walk", "夜市", "empty_yard"),
    "vdact": ("09001", "09002", "09003"),
    "own": ("kitchen", "street"),
}
"""Videos that the samples of published layouts, and tables of questions on pages, are about."""

KINDS: Final = {
    "benchmarks/household": "constructed",
    "build/sample": "constructed",
    "build/mini/exported": "mini",
    "benchmarks/svbench": "svbench",
    "benchmarks/vdact": "imported",
    "raw": "raw",
    "videos": "videos/own",
    "data/svbench": "release/svbench",
    "data/mt-video-bench": "release/mt-video-bench-v2",
    "data/svbench-videos": "videos/svbench",
    "data/mtvb-videos": "videos/mt-video-bench",
    "data/vdact-videos": "videos/vdact",
    "film.mp4": "film",
    "kitchen.mp4": "film",
}


def _film(world: World, path: Path, kind: str) -> None:
    world.command("world", "film", "--test-houses", "1", "--into", path, "--workers", "1")


def _film_one(world: World, path: Path, kind: str) -> None:
    settings = FilmSettings(scenarios=1, houses=1, width_px=320, fps=2, seed=7)
    film(Benchmark.create(path), settings, executor=LocalExecutor(1))


def _sight(world: World, path: Path, kind: str) -> None:
    """What was filmed, with its objects found."""
    shutil.copytree(world.made(kind.replace("sighted", "filmed")), path)
    world.command("construct", path, "--steps", "objects", "--workers", "1")


def _construct(world: World, path: Path, kind: str) -> None:
    shutil.copytree(world.made("sighted"), path)
    world.command("graph", "questions", path)
    world.command("construct", path, "--workers", "1")


def _tell(world: World, path: Path, kind: str) -> None:
    """So many scenarios that are told and not filmed."""
    told(path, scenarios=int(kind.partition("/")[2]), seed=7)


def _write(world: World, path: Path, kind: str) -> None:
    """The same, written about by the graph."""
    shutil.copytree(world.made(f"told/{kind.partition('/')[2]}"), path)
    benchmark, settings = Benchmark.open(path), ConstructSettings()
    construct(ConstructRun(benchmark, settings, GraphWriter(benchmark, settings), LocalExecutor(1)))


def _curate(world: World, path: Path, kind: str) -> None:
    world.command("curate", world.made("raw"), "--into", path, "--splits", "train=0.8,test=0.2", "--workers", "1")


def _one_film(world: World, path: Path, kind: str) -> None:
    shutil.copy(min((world.made("filmed") / "media").iterdir(), key=lambda file: file.stat().st_size), path)


def _raw(world: World, path: Path, kind: str) -> None:
    path.mkdir()
    for number in range(3):
        _write_video(path / f"kitchen-{number}.mp4", seed=number)


def _write_video(path: Path, seed: int, shots: int = 6, shot_s: int = 11, fps: int = 4) -> None:
    """A video of shots that move, as SVBench's filters ask for."""
    generator = np.random.default_rng(seed)
    with av.open(str(path), "w") as output:
        stream: Any = output.add_stream("libx264", rate=fps)
        stream.width, stream.height, stream.pix_fmt = 192, 108, "yuv420p"
        for _ in range(shots):
            light = generator.integers(30, 220, 3)
            coarse = np.clip(generator.normal(light, 25, (14, 24 + shot_s * fps, 3)), 0, 255).astype(np.uint8)
            scene = np.kron(coarse, np.ones((8, 8, 1), np.uint8))
            for number in range(shot_s * fps):
                picture = scene[:108, 3 * number : 3 * number + 192]
                output.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")))
        output.mux(stream.encode(None))


def _mini(world: World, path: Path, kind: str) -> None:
    shutil.copytree(ROOT / "tests" / "mini_sample", path)


def _vdact(world: World, path: Path, kind: str) -> None:
    """The sample, with files that the release has besides, under the names that pages say."""
    shutil.copytree(SAMPLES / "vdact", path)
    shutil.copy(path / "results" / "careful-8f.json", path / "results" / "test-videollama2-8f.json")
    (path / "VDEval").mkdir()
    instruction = "\nRate the answer from 1 to 3, after 'So rating='.\n"
    (path / "VDEval" / "prompt.py").write_text(f"VDEVAL_INSTRUCTION = {instruction!r}\n", encoding="utf-8")
    (path / "derived").mkdir()
    shutil.copy(path / "scenario_to_activities.json", path / "derived")
    with zipfile.ZipFile(path / "kg_activity.zip", "w") as packed:
        for file in sorted((path / "kg_activity").iterdir()):
            packed.write(file, file.name)
    shutil.rmtree(path / "kg_activity")


def _import(world: World, path: Path, kind: str) -> None:
    layout = "vdact" if kind == "imported" else kind
    world.command("import", layout, SAMPLES / layout, path, allowed=(0, 1))


def _rate(world: World, path: Path, kind: str) -> None:
    """A sheet that somebody filled in."""
    blank = path.with_suffix(".blank")
    runs = (world.made("runs/qwen-judged"), world.made("runs/intern-judged"))
    world.command("calibrate", *runs, "--sheet", blank, "--items", "20", "--criteria", "correctness")
    with blank.open(encoding="utf-8", newline="") as sheet, path.open("w", encoding="utf-8", newline="") as filled:
        rows = csv.DictReader(sheet)
        writer = csv.DictWriter(filled, list(rows.fieldnames or ()))
        writer.writeheader()
        for number, row in enumerate(rows):
            writer.writerow(row | {"rater": kind.partition("/")[2], "value": str(1 + number * 7 % 5)})
    blank.unlink()


def _release(world: World, path: Path, kind: str) -> None:
    shutil.copytree(SAMPLES / kind.partition("/")[2], path)


def _videos(world: World, path: Path, kind: str) -> None:
    """Videos that stand in for those of a published benchmark, under their names."""
    path.mkdir()
    # The first that are named are asked about at later times.
    films = sorted((world.made("filmed") / "media").iterdir(), key=lambda file: file.stat().st_size, reverse=True)
    for number, stem in enumerate(NAMES[kind.partition("/")[2]]):
        shutil.copy(films[number], path / f"{stem}.mp4")


def _evaluate(world: World, path: Path, kind: str) -> None:
    name = kind.partition("/")[2]
    if name.endswith("-judged"):
        played = world.made(f"runs/{name.removesuffix('-judged')}")
        judge = ("--judge", "gpt-4o-mini", "--judge-base-url", world.base_url)
        world.command("judge", played, "--protocols", "svbench,gpt-score", *judge, "--null-units", "1", "--out", path,
                      allowed=(0, 1))  # fmt: skip
    elif name == "six":
        answers = world.cache / "six-answers"
        answers.mkdir()
        for model, file in (("llava", "careful-8f"), ("gpt-4o", "hasty-1f")):
            shutil.copy(SAMPLES / "vdact" / "results" / f"{file}.json", answers / f"{model}.json")
        measured = ("--protocols", "match", "--metrics", "rouge_l")
        world.command("judge", answers, "--format", "vdact", *measured, "--out", path, allowed=(0, 1))
    else:
        model, address = name, ["--base-url", world.base_url]
        if name in BASELINES or name.endswith("-svbench"):
            model, address = f"baseline:{name if name in BASELINES else 'blind'}", list[str]()
        elif name.startswith("qwen"):
            model = "qwen3-vl"
        # What was written from graphs has keys; what was published has short references.
        kind, protocols = ("svbench", "match") if name.endswith("-svbench") else ("constructed", "typed")
        world.command("evaluate", world.made(kind), "--model", model, *address, *EVALUATED, "--protocols", protocols,
                      "--out", path, allowed=(0, 1))  # fmt: skip


MAKERS: Final[dict[str, Callable[[World, Path, str], None]]] = {
    "filmed": _film,
    "filmed-video": _film_one,
    "sighted": _sight,
    "sighted-video": _sight,
    "constructed": _construct,
    "told": _tell,
    "written": _write,
    "curated": _curate,
    "film": _one_film,
    "raw": _raw,
    "mini": _mini,
    "vdact": _vdact,
    "imported": _import,
    "svbench": _import,
    "release": _release,
    "videos": _videos,
    "people": _rate,
    "runs": _evaluate,
}

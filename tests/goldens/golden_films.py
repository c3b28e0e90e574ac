"""Goldens of the simulated household: its films, what is written about them, the gates, and the whole demo.

What may depend on the processor: the demo's model reeltalk-mini (sums of floating-point numbers in ONNX Runtime), and
the pictures of its objects (resizing by OpenCV). So `demo` is for comparisons on one machine; the others are for all.
"""

import shutil
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, Final

import careless_writer
import golden_files as files
import invented_clips
from faulty_writer import TASKS, Cast, Fault, fault_classes
from golden_files import ROOT, WORK, command
from scripted_server import serve

from reeltalk.video.frames import frames_at

BASELINES: Final = ("blind", "constant", "frames")
MODES: Final = ("dialogue", "streaming")
FRAMES: Final = 24


@cache
def filmed() -> Path:
    """Four films of four houses, up to 75 s."""
    folder = WORK / "household"
    command("world", "film", "--scenarios", 4, "--houses", 4, "--dev-houses", 1, "--test-houses", 1, "--width-px", 320,
            "--min-duration-s", 40, "--max-duration-s", 75, "--fps", 2, "--seed", 7, "--into", folder)  # fmt: skip
    return folder


def film() -> dict[str, Any]:
    """The tables of the films, and frames by the hash of their pixels as they were decoded, without a conversion."""
    videos = files.read_rows(filmed() / "videos.jsonl")
    frames: dict[str, str] = {}
    each = FRAMES // len(videos)
    for video in videos:
        times = [round(video["duration_s"] * (0.5 + number) / each, 1) for number in range(each)]
        for time_s, frame in zip(times, frames_at(filmed() / "media" / video["sha256"], times), strict=True):
            pixels = frame.picture.to_ndarray().tobytes()
            frames[f"{video['id']} at {time_s} s"] = (
                f"{frame.picture.width}x{frame.picture.height} of {frame.pts_s:.3f} s: {files.digest(pixels)}"
            )
    return {"tables": files.benchmark(filmed()), "frames": frames}


def household() -> dict[str, Any]:
    """All that is written from graphs, what a careless writer writes, and baselines on it in both modes."""
    bench = Path(shutil.copytree(filmed(), WORK / "constructed"))
    command("graph", "questions", bench)
    command("construct", bench)
    found: dict[str, Any] = {"tables": files.benchmark(bench), "gates": gate_counts(bench)}
    careless = Path(shutil.copytree(filmed(), WORK / "careless"))
    with serve(careless_writer.reply) as server:
        asked = ("--base-url", server.base_url, "--judge", "judge", "--connections", 1, "--frames", 2, "--limit", 4)
        command("construct", careless, "--writer", careless_writer.CARELESS, *asked, "--steps", "chains",
                "--steps", "gates", allowed=(0, 1))  # fmt: skip
    found["a careless writer"] = {"tables": files.benchmark(careless), "gates": gate_counts(careless)}
    return found | played(bench, "household")


def played(bench: Path, name: str) -> dict[str, Any]:
    """Runs of baselines and the oracle in both modes, and the texts of the reports on them."""
    found: dict[str, Any] = {}
    for mode in MODES:
        runs = []
        for model in (*(f"baseline:{one}" for one in BASELINES), "oracle"):
            runs.append(WORK / name / f"{model.removeprefix('baseline:')}-{mode}")
            # Four films have few paths, and none in some split.
            command("evaluate", bench, "--model", model, "--mode", mode, "--split", "all", "--frames", 4, "--protocols",
                    "typed", "--metrics", "bleu,rouge_l,token_f1", "--out", runs[-1], allowed=(0, 1))  # fmt: skip
            found[f"{mode}, {model}"] = files.run(runs[-1], only=("typed", "frames_seen", "bleu_4", "rouge_l"))
        site = WORK / name / f"site-{mode}"
        command("report", *runs, "--bench", bench, "--out", site)
        found[f"report, {mode}"] = files.site(site, "index.html")
    return found


def gate_counts(bench: Path) -> dict[str, int]:
    """How often each gate came to each outcome."""
    rows = files.read_rows(bench / "gates.jsonl")
    return dict(sorted(Counter(f"{row['gate']} {row['outcome']}" for row in rows).items()))


def cast_parts() -> dict[int, Fault]:
    """Each class of faults once, by the number of its clip: one of a dialogue in a clip that suits its task, and one
    of a rewriting before another clip of its video, which stays free of faults."""
    planted: dict[int, Fault] = {}
    number = 0
    for fault in fault_classes():
        while (fault.kind == "dialogue" and TASKS[number % len(TASKS)] != fault.task) or (
            fault.kind == "rewrite" and number % len(TASKS) == len(TASKS) - 1
        ):
            number += 1
        planted[number] = fault
        number += 2 if fault.kind == "rewrite" else 1
    return planted


def gates() -> dict[str, Any]:
    """What the gates flagged of the faults that a writer planted."""
    bench, cast = WORK / "told", Cast(cast_parts())
    invented_clips.tell_clips(bench, max(cast.faults) + 1, len(TASKS))
    with serve(cast.reply) as server:
        command("construct", bench, "--writer", "writer", "--judge", "judge", "--base-url", server.base_url, "--sees",
                "text", "--cross-per-video", 0, "--connections", 1, allowed=(0, 1))  # fmt: skip
    return {
        "asked": dict(sorted(cast.asked.items())),
        "faults": fates(bench, cast),
        "gates": gate_counts(bench),
        "tables": files.benchmark(bench),
    }


def fates(bench: Path, cast: Cast) -> dict[str, str]:
    """What became of each class of faults: its texts are not in the benchmark, or they are, with flags or without."""
    flags: dict[tuple[str, Any], list[str]] = {}
    for row in files.read_rows(bench / "gates.jsonl"):
        if row["outcome"] == "flagged":
            flags.setdefault((row["unit_id"], row.get("turn_index")), []).append(row["gate"])
    kept: dict[tuple[str, str], list[str]] = {}
    for unit in files.read_rows(bench / "chains.jsonl") + files.read_rows(bench / "dialogues.jsonl"):
        for index, turn in enumerate(unit["turns"]):
            found = flags.get((unit["id"], index), []) + flags.get((unit["id"], None), [])
            kept[turn["question"], turn["references"][0]] = found
            items = [item["question"] for item in (turn.get("checklist") or {"items": []})["items"][:2]]
            if len(items) == 2:
                kept[items[0], items[1]] = found
    for scene in files.read_rows(bench / "scenes.jsonl"):
        kept["", scene.get("caption", "")] = [
            gate for clip in scene["clip_ids"] for gate in flags.get((clip, None), [])
        ]
    for rewrite in files.read_rows(bench / "rewrites.jsonl"):
        problems = [] if rewrite.get("coherent", True) else ["incoherent"]
        kept[rewrite["draft"]["question"], rewrite["draft"]["references"][0]] = problems
    fate: dict[str, str] = {f"{fault.kind}: {fault.name}": "never written" for fault in cast.faults.values()}
    for text, fault in sorted(cast.planted.items()):
        said = "left out" if text not in kept else ", ".join(sorted(set(kept[text]))) or "kept without a flag"
        fate[f"{fault.kind}: {fault.name}"] = said
    return fate


def demo() -> dict[str, Any]:
    """The demo from film to leaderboard, offline, as people start it. For comparisons on one machine."""
    out = WORK / "demo"
    subprocess.run(files.command_line("demo", "--out", out), check=True, capture_output=True, cwd=ROOT)
    found: dict[str, Any] = {name: files.benchmark(out / name) for name in ("filmed", "benchmark")}
    found["gates"] = gate_counts(out / "benchmark")
    for run in sorted((out / "runs").iterdir()):
        found[f"run {run.name}"] = files.run(run, only=("typed", "rouge_l"))
    pages = [f"{mode}/index.html" for mode in MODES]
    return found | {"report": files.site(out / "site", "index.html", *pages)}

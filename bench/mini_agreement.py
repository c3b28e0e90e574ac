"""Does the exported reeltalk-mini answer like the trained network, on questions about filmed videos?

Logits of each answer's first word and all words of it are compared; the torch side reads every sequence in one piece.
"""

import itertools
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from record import ROOT, Measure, at_least, lacking, options_of, record
from reeltalk.parallel import LocalExecutor
from reeltalk.store.benchmark import Benchmark
from reeltalk_household.mini.mini import MiniModel
from reeltalk_household.mini.mini_input import TOKENIZER
from reeltalk_household.training.export_onnx import export_mini, round_weights
from reeltalk_household.training.household import filmed_videos
from reeltalk_household.training.network import Mini, load_mini

sys.path.insert(0, str(ROOT / "tools"))
from compare_exported import compare_exported

Video = tuple[NDArray[np.uint8], Sequence[float], list[tuple[float, str]]]


def questions(model: Mini, benchmark: Benchmark, split: str, answers: int, frames: Path) -> Iterator[Video]:
    """Videos with their questions, as many as give so many answers."""
    asked: dict[str, list[tuple[float, str]]] = {}
    for dialogue in benchmark.content().dialogues:
        for turn in dialogue.turns:
            asked.setdefault(dialogue.video_id, []).append((turn.asked_at_s or 0.0, turn.question))
    left = answers
    for video in filmed_videos(benchmark, split, model.shape, folder=frames, executor=LocalExecutor(1)):
        chosen = list(itertools.islice(sorted(asked.get(video.video.id, ())), left))
        left -= len(chosen)
        if chosen:
            yield video.pixels(), video.times_s, chosen


def main() -> None:
    made = ROOT / "build" / "mini"
    parser = options_of(__doc__)
    parser.add_argument(
        "checkpoint", type=Path, nargs="?", default=made / "seed-17" / "checkpoint", help="folder that training wrote"
    )
    parser.add_argument(
        "benchmark", type=Path, nargs="?", default=made / "household", help="with dialogues about films"
    )
    parser.add_argument("--exported", type=Path, help="what was exported of it; exported anew by default")
    parser.add_argument("--split", default="test")
    parser.add_argument("--frames", type=Path, default=ROOT / "build" / "mini" / "frames", help="keeps decoded frames")
    parser.add_argument("--answers", type=int, help="1,000; 50 with --quick")
    given = parser.parse_args()
    if not given.checkpoint.is_dir() or not given.benchmark.is_dir():
        lacking(
            "mini_agreement", "what `make train-mini` makes: a checkpoint and films with dialogues", quick=given.quick
        )
    model = load_mini(given.checkpoint)
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.exported or Path(scratch, "mini")
        if given.exported is None:
            export_mini(model, given.checkpoint / TOKENIZER, folder)
        exported = MiniModel(folder)
        benchmark = Benchmark.open(given.benchmark)
        videos = questions(model, benchmark, given.split, given.answers or (50 if given.quick else 1000), given.frames)
        found = compare_exported(round_weights(model), exported, videos)
        size = sum(path.stat().st_size for path in folder.iterdir())
    figures = {
        "answers": found.answers,
        "same answers": found.same,
        "largest difference of a logit": found.largest,
        "megabytes": size / 1e6,
    }
    share = found.same / found.answers
    measures = [
        Measure(f"same answers as the network in torch, of {found.answers:,}", share, "share", goal=at_least(0.99)),
        Measure("largest difference of a logit", found.largest, "logits"),
        Measure("size of the exported model", size / 1e6, "MB"),
    ]
    notes = [f"weights {exported.name}"]
    packages = ["torch", "onnxruntime"]
    record("mini_agreement", measures, figures=figures, packages=packages, notes=notes, quick=given.quick)
    for question in found.different:
        print(f"answered otherwise: {question}")


if __name__ == "__main__":
    main()

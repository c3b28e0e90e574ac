"""How fast reeltalk-mini's own training runs at ten times its size on a GPU: frames, tokens, FLOPs a second.

    python bench/mini_large.py            ten times the size; needs an accelerator
    python bench/mini_large.py --tiny     a tiny network on any machine: shows that the script works, and nothing else

The code is that of `reeltalk world train`. FLOPs of a step are counted by torch, forward and backward; utilisation is
FLOPs divided by seconds and by the accelerator's peak (--peak-tflops, dense bfloat16).
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from household import reeltalk
from record import Measure, lacking, options_of, record
from reeltalk.parallel import LocalExecutor
from reeltalk.store.benchmark import Benchmark
from reeltalk_household.mini.mini_input import TOKENIZER, MiniShape, MiniWords
from reeltalk_household.training.household import LabelWords, filmed_videos
from reeltalk_household.training.lessons import Lessons
from reeltalk_household.training.mini_training import corpus, train_words
from reeltalk_household.training.network import Mini
from reeltalk_household.training.speech import batches, losses_of, optimisers_of, train_speech
from reeltalk_household.training.vision import Readings, optimisers_of_eye, train_encoder
from reeltalk_streaming.training.settings import SpeechSettings, VisionSettings
from train_large import PEAK_TFLOPS

LARGE = MiniShape(
    channels=(96, 192, 288, 480), glimpse_width=128, close_width=256, vision_width=448, width=512, layers=8, heads=8,
    hidden=1408,
)  # fmt: skip
TINY = MiniShape(
    height_px=90, width_px=160, channels=(4, 8, 8, 16), glimpses=2, glimpse_width=8, close_width=8, vision_width=16,
    width=32, layers=3, heads=2, hidden=48,
)  # fmt: skip


def flops_of(step: Callable[[], Any]) -> float:
    """FLOPs of a step, forward and backward."""
    with FlopCounterMode(display=False) as counter:
        step()
    return float(counter.get_total_flops())


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--bench", type=Path, help="a benchmark of films; some are made by default")
    parser.add_argument("--steps", type=int, default=0, help="of each part; 40, or 4 with --tiny")
    parser.add_argument("--batch", type=int, default=0, help="frames of a step; 256, or 4 with --tiny")
    parser.add_argument("--dialogues", type=int, default=0, help="of a step; 64, or 2 with --tiny")
    parser.add_argument("--peak-tflops", type=float, default=PEAK_TFLOPS)
    given = parser.parse_args()
    if not torch.cuda.is_available() and not given.tiny:
        lacking("mini_large", "an accelerator; ten times the size says nothing on a CPU", quick=given.quick)
    device = torch.device("cpu" if given.tiny else "cuda")
    steps, batch = given.steps or (4 if given.tiny else 40), given.batch or (4 if given.tiny else 256)
    dialogues = given.dialogues or (2 if given.tiny else 64)
    with tempfile.TemporaryDirectory() as scratch:
        bench = given.bench or Path(scratch, "films")
        if given.bench is None:
            reeltalk("world", "film", "--scenarios", "3", "--houses", "3", "--dev-houses", "0", "--test-houses", "0",
                     "--fps", "2", "--into", str(bench))  # fmt: skip
        sizes = TINY if given.tiny else LARGE
        videos = filmed_videos(
            Benchmark.open(bench), "train", sizes, folder=Path(scratch, "frames"), executor=LocalExecutor(2)
        )
        train_words(corpus(videos, 1), 1100, Path(scratch, TOKENIZER))
        words = MiniWords(Path(scratch, TOKENIZER))
        sizes = sizes.model_copy(update={"vocabulary": words.size})
        torch.manual_seed(1)
        model = Mini(sizes).to(device)
        labels = LabelWords.of(videos)
        readings = Readings(sizes, labels).to(device)
        times: dict[str, list[float]] = {"eye": [], "speech": []}

        def timed(part: str) -> Callable[..., None]:
            def report(*_: object) -> None:
                if device.type == "cuda":
                    torch.cuda.synchronize()
                times[part].append(time.perf_counter())

            return report

        eye = VisionSettings(steps=steps, batch=batch, warmup=1, bf16=not given.tiny)
        optimisers = optimisers_of_eye(model.encoder, readings, eye)
        train_encoder(model.encoder, readings, videos, labels, eye, optimisers, timed("eye"), seed=1)
        speech = SpeechSettings(steps=steps, batch=dialogues, warmup=1, bf16=not given.tiny)
        lessons = Lessons(videos, words, sizes.frame_tokens, seed=1)
        draw = np.random.default_rng(1)
        seen = [
            draw.standard_normal((len(video.times_s), sizes.frame_tokens, sizes.vision_width), np.float32)
            for video in videos
        ]
        train_speech(model, lessons, seen, speech, optimisers_of(model, speech), timed("speech"), seed=1)
        some = next(batches(lessons, seen, dialogues)).to(device)
        pictures = torch.rand(batch, 6, sizes.height_px, sizes.width_px, device=device)
        frame_flops = flops_of(lambda: model.encoder(pictures).sum().backward()) / batch
        tokens = int((some.ids != 0).sum()) + len(some.at)
        token_flops = flops_of(lambda: losses_of(model, some).words.backward()) / tokens
    # The first steps warm up.
    took = {part: float(np.median(np.diff(moments)[len(moments) // 4 :])) for part, moments in times.items()}
    frames_s, tokens_s = batch / took["eye"], tokens / took["speech"]
    found: dict[str, Any] = {
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "CPU (tiny: shows that the script works)",
        "weights": sum(weight.numel() for weight in model.parameters()), "frames_per_s": frames_s,
        "tokens_per_s": tokens_s, "eye_tflops_per_s": frames_s * frame_flops / 1e12,
        "speech_tflops_per_s": tokens_s * token_flops / 1e12,
    }  # fmt: skip
    if device.type == "cuda":
        for part in ("eye", "speech"):
            found[f"{part}_utilisation"] = found[f"{part}_tflops_per_s"] / given.peak_tflops
        found["peak_memory_gb"] = torch.cuda.max_memory_allocated() / 1e9
    print(json.dumps(found, indent=2))
    if device.type == "cuda":
        of = f"reeltalk-mini's training with {found['weights'] / 1e6:.0f} M weights"
        measures = [
            Measure(f"{of}: frames of the eye", frames_s, "frames a s", "the accelerator's peak",
                    found["eye_utilisation"]),
            Measure(f"{of}: tokens of speech", tokens_s, "tokens a s", "the accelerator's peak",
                    found["speech_utilisation"]),
        ]  # fmt: skip
        record("mini_large", measures, packages=["torch"], notes=[found["device"]], quick=given.quick)
    return 0


if __name__ == "__main__":
    sys.exit(main())

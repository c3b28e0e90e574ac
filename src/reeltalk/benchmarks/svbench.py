"""SVBench (Yang et al., ICLR 2025, arXiv 2502.10810): chains in order, or streams along fixed paths."""

from typing import Final

from reeltalk.evaluate.settings import FrameSettings, PlaySettings, Preset
from reeltalk.judge.settings import JudgeSettings

SVBENCH: Final = Preset(
    name="svbench",
    paper="arXiv 2502.10810",
    play=PlaySettings(
        mode="dialogue",
        history="golden",
        prompt="svbench",
        frames=FrameSettings(policy="per-clip", frames=10),
    ),
    judging=JudgeSettings(protocols=("svbench", "gpt-score"), metrics=("meteor",)),
    also={"mode": ("streaming",)},
    # The paper does not say whose answers stand in the history, nor how many frames each model was shown.
    ours=("history", "frames.policy", "frames.frames", "frames.fps", "frames.longest_side_px", "frames.square_px"),
)

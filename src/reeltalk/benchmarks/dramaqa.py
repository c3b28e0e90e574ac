"""DramaQA with CogME's tags (CogSci 2024): five options about a shot or a scene, with the lines that were spoken."""

from typing import Final

from reeltalk.evaluate.settings import FrameSettings, PlaySettings, Preset
from reeltalk.judge.settings import JudgeSettings

DRAMAQA: Final = Preset(
    name="dramaqa",
    paper="arXiv 2005.03356; CogSci 2024",
    play=PlaySettings(
        mode="single",
        history="none",
        prompt="dramaqa",
        subtitles=True,
        units=("dialogue",),
        frames=FrameSettings(policy="per-clip", frames=16),
    ),
    judging=JudgeSettings(protocols=("choice", "cogme")),
    # How many frames a video LLM sees is no part of the data set.
    ours=("frames.policy", "frames.frames", "frames.fps", "frames.longest_side_px", "frames.square_px"),
)

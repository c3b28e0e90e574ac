"""VDAct with VDEval (AAAI 2025): the video with the first question, reference answers as history, one judge a turn."""

from typing import Final

from reeltalk.evaluate.settings import FrameSettings, PlaySettings, Preset
from reeltalk.judge.settings import JudgeSettings

VDACT: Final = Preset(
    name="vdact",
    paper="AAAI 2025",
    play=PlaySettings(
        mode="dialogue",
        history="golden",
        prompt="vdact",
        units=("dialogue",),
        frames=FrameSettings(policy="first-turn", frames=8),
    ),
    judging=JudgeSettings(
        protocols=("vdeval",),
        metrics=("bleu", "meteor", "rouge_l", "cider"),
        judge_history="judged",
        judge_summary="refined",
        judge_shots=1,
    ),
    also={"frames.frames": (16, 100)},
    ours=("frames.longest_side_px", "frames.square_px", "frames.quality"),
)

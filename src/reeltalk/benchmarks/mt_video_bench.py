"""MT-Video-Bench (arXiv 2510.17722, version 2): six tasks, golden context, yes/no checklists judged three times."""

from typing import Final

from reeltalk.evaluate.settings import FrameSettings, PlaySettings, Preset
from reeltalk.judge.settings import JudgeSettings

MT_VIDEO_BENCH: Final = Preset(
    name="mt-video-bench",
    paper="arXiv 2510.17722",
    play=PlaySettings(
        mode="dialogue",
        history="golden",
        rounds="mt-video-bench",
        prompt="mt-video-bench",
        units=("dialogue",),
        frames=FrameSettings(policy="uniform", frames=128, longest_side_px=720),
    ),
    judging=JudgeSettings(protocols=("checklist",), eval_rounds=3, checklist_version="v2"),
    # Ablations of the paper, and the sizes that InternVL and InternVideo2.5 are given.
    also={"history": ("predicted-all", "none"), "frames.square_px": (448, 728)},
)

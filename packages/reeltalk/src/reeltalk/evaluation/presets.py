"""Published designs: how each paper plays its dialogues and judges the answers."""

from typing import Final

from reeltalk.evaluation.settings import FrameSettings, PlaySettings, Preset
from reeltalk.judge.settings import JudgeSettings
from reeltalk.plugins import load, loaded

SVBENCH: Final = Preset(
    name="svbench",
    paper="arXiv 2502.10810",
    play=PlaySettings(
        mode="dialogue",
        history="golden",
        prompt="svbench",
        answer_style="free",
        frame_times="no",
        frames=FrameSettings(policy="per-clip", frames=10),
    ),
    judging=JudgeSettings(protocols=("svbench", "gpt-score"), metrics=("meteor",)),
    also={"mode": ("streaming",)},
    # The paper does not say whose answers are in the history, or how many frames each model saw.
    ours=("history", "frames.policy", "frames.frames", "frames.fps", "frames.longest_side_px", "frames.square_px"),
)
"""SVBench (Yang et al., ICLR 2025, arXiv 2502.10810): chains in order, or streams along fixed paths."""

MT_VIDEO_BENCH: Final = Preset(
    name="mt-video-bench",
    paper="arXiv 2510.17722",
    play=PlaySettings(
        mode="dialogue",
        history="golden",
        rounds="mt-video-bench",
        prompt="mt-video-bench",
        answer_style="free",
        frame_times="no",
        units=("dialogue",),
        frames=FrameSettings(policy="uniform", frames=128, longest_side_px=720),
    ),
    judging=JudgeSettings(protocols=("checklist",), eval_rounds=3, checklist_version="v2"),
    # Ablations of the paper, and the frame sizes of InternVL and InternVideo2.5.
    also={"history": ("predicted-all", "none"), "frames.square_px": (448, 728)},
)
"""MT-Video-Bench (arXiv 2510.17722, version 2): six tasks, golden context, yes/no checklists judged three times."""

VDACT: Final = Preset(
    name="vdact",
    paper="AAAI 2025",
    play=PlaySettings(
        mode="dialogue",
        history="golden",
        prompt="vdact",
        answer_style="free",
        frame_times="no",
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
"""VDAct with VDEval (AAAI 2025): the video with the first question, reference answers as history, one judge a turn."""

DRAMAQA: Final = Preset(
    name="dramaqa",
    paper="arXiv 2005.03356; CogSci 2024",
    play=PlaySettings(
        mode="single",
        history="none",
        prompt="dramaqa",
        answer_style="free",
        frame_times="no",
        subtitles=True,
        units=("dialogue",),
        frames=FrameSettings(policy="per-clip", frames=16),
    ),
    judging=JudgeSettings(protocols=("choice", "cogme")),
    # The data set does not define how many frames a video LLM sees.
    ours=("frames.policy", "frames.frames", "frames.fps", "frames.longest_side_px", "frames.square_px"),
)
"""DramaQA with CogME's tags (CogSci 2024): five options about a shot or a scene, with the lines that were spoken."""

PRESETS: Final[dict[str, Preset]] = {
    **{preset.name: preset for preset in (SVBENCH, MT_VIDEO_BENCH, VDACT, DRAMAQA)},
    **loaded("reeltalk.presets", Preset),
}
"""Presets by the name that `reeltalk evaluate --preset` calls them; those of other packages among them."""


def find_preset(name: str) -> Preset:
    """The preset of a name that `--preset` takes.

    Raises:
        SettingError: The package cannot be imported.
    """
    if name in PRESETS:
        return PRESETS[name]
    found: Preset = load("reeltalk.presets", name, Preset)
    return found

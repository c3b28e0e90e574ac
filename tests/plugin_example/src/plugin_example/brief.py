"""A preset: all settings of a published design under one name.

`reeltalk evaluate … --preset brief` plays and judges by these settings. A run that changes one of them says so in its
signature.
"""

from typing import Final

from reeltalk.evaluation.settings import FrameSettings, PlaySettings, Preset
from reeltalk.judge.settings import JudgeSettings

PRESET: Final = Preset(
    name="brief",
    paper="none, an example",
    play=PlaySettings(mode="dialogue", history="golden", answer_style="short", frames=FrameSettings(policy="none")),
    judging=JudgeSettings(protocols=("brevity",)),
)
"""The entry point has the same name as the preset."""

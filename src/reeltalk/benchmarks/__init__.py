"""The papers' settings as presets, and the demo that shows the whole in a few verbs.

from typing import Final

from reeltalk.benchmarks.dramaqa import DRAMAQA
from reeltalk.benchmarks.mt_video_bench import MT_VIDEO_BENCH
from reeltalk.benchmarks.svbench import SVBENCH
from reeltalk.benchmarks.vdact import VDACT
from reeltalk.evaluate.settings import Preset

PRESETS: Final[dict[str, Preset]] = {preset.name: preset for preset in (SVBENCH, MT_VIDEO_BENCH, VDACT, DRAMAQA)}
"""Presets by the name that `reeltalk evaluate --preset` calls them."""

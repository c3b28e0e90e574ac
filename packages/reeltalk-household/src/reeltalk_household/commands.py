"""The commands of reeltalk-household."""

from typing import Final

from reeltalk.plugins import Command

WORLD: Final = Command(
    "reeltalk_household.cli.world:world",
    "A simulated household that films itself: videos whose every fact is known.",
    "Build",
)
DEMO: Final = Command(
    "reeltalk_household.cli.demo:demo",
    "Walk through all stages offline, in two minutes.",
    "Projects",
    "Demo",
)

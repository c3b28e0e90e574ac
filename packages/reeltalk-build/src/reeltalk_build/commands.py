"""The commands of reeltalk-build."""

from typing import Final

from reeltalk.plugins import Command

CURATE: Final = Command(
    "reeltalk_build.cli.curating:curate",
    "Filter videos, split them into clips and choose key frames.",
    "Build",
    "Downloads",
    (
        *("--into", "--preset", "--splits", "--min-duration-s", "--max-brisque", "--min-flow-px", "--min-shots"),
        *("--max-shots", "--detector", "--threshold", "--min-shot-s", "--merge-below-s", "--compat", "--cut"),
        *("--save-frames", "--speech", "--media", "--max-minutes", "--workers", "--strict"),
    ),
)
GRAPH: Final = Command(
    "reeltalk_build.cli.graphs:graph",
    "Activity graphs: curate, query, tell as text, write questions from them.",
    "Build",
)
CONSTRUCT: Final = Command(
    "reeltalk_build.cli.construction:construct",
    "Write dialogues, links, paths and checklists.",
    "Build",
    "Construction",
    (
        *("--writer", "--base-url", "--judge", "--limit", "--max-calls", "--max-cost", "--plan", "--steps"),
        *("--language", "--seed", "--min-turns", "--max-turns", "--paths", "--dialogues", "--suitability"),
        *("--quality", "--attempts", "--sheet", "--apply", "--sees", "--connections", "--workers", "--more"),
    ),
)
TAG: Final = Command(
    "reeltalk_build.cli.tagging:tag", "Propose CogME's tags for turns that lack them.", "Build", "Tagging"
)
NEW: Final = Command(
    "reeltalk_build.cli.projects:new",
    "Begin a project: a folder with one file of settings.",
    "Projects",
    "Project",
)
RUN: Final = Command(
    "reeltalk_build.cli.projects:run_project", "Run what has changed of a project.", "Projects", "Steps"
)
STATUS: Final = Command(
    "reeltalk_build.cli.projects:status",
    "Show which steps of a project are done.",
    "Projects",
    "Project",
)

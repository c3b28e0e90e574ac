"""The README of an exported folder: how a Label Studio server gets the tasks, and how the work comes back."""

from collections.abc import Mapping, Sequence
from typing import Final

SHOWN: Final = 20


def readme(tasks: int, turns: int, kept: Mapping[str, int], missing: Sequence[str], media_url: str | None) -> str:
    """The text.

    Args:
        tasks: How many tasks there are.
        turns: How many turns they have.
        kept: Rows that stand in no task, by table.
        missing: Names of video files that the tasks address and the folder lacks.
        media_url: Where the videos are, if not here.
    """
    lines = [
        "# Tasks for Label Studio",
        "",
        f"{tasks:,} tasks with {turns:,} turns, a draft of each as prediction.",
        "",
    ]
    lines += ["## Load", ""]
    if media_url is None:
        lines += [
            "1. Start the server so that it may serve this folder's videos:",
            "",
            "       export LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true",
            "       export LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT=/path/to/this/folder",
            "       label-studio start",
            "",
            "2. Create a project. Settings, Labeling Interface, Code: paste `config.xml`.",
            "3. Settings, Cloud Storage, Add Source Storage, Local files: the path of `videos` in this folder. Do not",
            "   sync it: a storage that is there is what lets the server give out its files.",
            "4. Import `tasks.json`.",
        ]
    else:
        lines += [
            f"The videos are addressed as `{media_url}NAME`; that server must allow byte ranges and other origins.",
            "",
            "1. Create a project. Settings, Labeling Interface, Code: paste `config.xml`.",
            "2. Import `tasks.json`.",
        ]
    lines += [
        "",
        "Or all of it by API: `POST /api/projects` with `label_config`, then `POST /api/projects/ID/import`.",
        "",
        "## Bring the work back",
        "",
        "Export the project as JSON (or JSON-MIN), put the file into this folder, and run",
        "",
        "    reeltalk import label-studio THIS-FOLDER BENCHMARK",
        "",
    ]
    if kept:
        counts = ", ".join(f"{table} {count:,}" for table, count in kept.items())
        lines += [f"`kept/` has what no task holds: {counts}. Importing the export alone leaves it behind.", ""]
    lines += [
        "A mark on the time line counts ticks of `fps` a second: tick / fps is the moment that was shown, in seconds",
        "of the video, whatever frames the file has. Marks are exact to a tick; others come back unchanged.",
    ]
    if missing:
        lines += [
            "",
            "## Videos to add",
            "",
            "The tasks address these files, which are not here. Put them into `videos`:",
        ]
        lines += ["", *(f"- `{name}`" for name in missing[:SHOWN])]
        lines += [f"- … and {len(missing) - SHOWN:,} more"] if len(missing) > SHOWN else []
    return "\n".join(lines) + "\n"

"""Functions for child processes that look at one file."""

from pathlib import Path
from typing import Any

from reeltalk.attach.records import FileFacts
from reeltalk.store.manifest import hash_file
from reeltalk.video.probe import probe
from reeltalk.video.stream import VideoError


def look(argument: dict[str, Any]) -> dict[str, Any]:
    """Hash and probe one file.

    Args:
        argument: `path`.

    Returns:
        `FileFacts` as JSON.
    """
    path = Path(argument["path"])
    sha256, _ = hash_file(path)
    try:
        facts = FileFacts(sha256=sha256, probe=probe(path))
    except VideoError as error:
        facts = FileFacts(sha256=sha256, reason=str(error))
    return facts.model_dump(mode="json")

"""Functions for child processes that look at one file."""

from pathlib import Path
from typing import Any

from reeltalk.curate.records import FileFacts
from reeltalk.store.manifest import hash_file
from reeltalk.video.probe import probe
from reeltalk.video.stream import VideoError


def file_facts(path: Path) -> FileFacts:
    """The hash of a file, and its facts as a video or the reason why it is none."""
    sha256, _ = hash_file(path)
    try:
        return FileFacts(sha256=sha256, probe=probe(path))
    except VideoError as error:
        return FileFacts(sha256=sha256, reason=str(error))


def look(argument: dict[str, Any]) -> dict[str, Any]:
    """`file_facts` the file at `path`, as JSON."""
    return file_facts(Path(argument["path"])).model_dump(mode="json")

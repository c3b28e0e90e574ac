"""Captions of videos, from the speech of the benchmark.

The folder of proxies has a file for each video in which somebody speaks, so that a request reads no more than one.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from reeltalk.errors import ReeltalkError
from reeltalk.schema.media import Video
from reeltalk.schema.speech import Speech, Utterance
from reeltalk.store.atomic import write_bytes
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.rows import open_rows
from reeltalk.store.tables import SPEECH

STATE: Final = "speech.json"
"""Names the table from which the files were written. It comes last, so that the files that it stands for exist."""
ENDING: Final = ".speech.jsonl"
SHORTEST_S: Final = 0.5
"""How long a caption stays at least: scripts may give words a moment."""


def write_speech(benchmark: Benchmark, videos: Iterable[Video], folder: Path) -> None:
    """Write what is said in each video of a benchmark, unless it is written.

    Args:
        folder: Folder of the proxies.

    Raises:
        BenchmarkError: The folder cannot be written.
        InputError: The table of speech is damaged.
    """
    entry = benchmark.manifest.files.get(SPEECH.file_name)
    here = {video.id: video.sha256 for video in videos if video.sha256 is not None}
    state = json.dumps([entry.sha256 if entry is not None else None, sorted(here.items())]).encode()
    marker = folder / STATE
    if marker.read_bytes() == state if marker.is_file() else entry is None:
        return
    # Several records may share a file, and a file has one track of captions.
    by_file = benchmark.table(SPEECH).grouped(lambda row: here.get(row["video_id"]))
    for left in folder.glob(f"*{ENDING}"):
        if left.name.removesuffix(ENDING) not in by_file:
            left.unlink()
    for sha256, said in by_file.items():
        lines = (spoken.model_copy(update={"video_id": sha256}).to_json().encode() + b"\n" for spoken in said)
        write_bytes(speech_file(folder, sha256), b"".join(lines))
    write_bytes(marker, state)


def speech_file(folder: Path, sha256: str) -> Path:
    """The file with what is said in a video; it is missing if nothing is."""
    return folder / f"{sha256}{ENDING}"


def captions(path: Path, sha256: str, until_s: float | None) -> str | None:
    """The captions of a video as WebVTT.

    Args:
        path: Its file of speech.
        sha256: Its hash.
        until_s: Words that end later are left out; None for all.

    Returns:
        The text; None if nothing is said in it.
    """
    try:
        said = Speech(open_rows(path, Utterance)).until(sha256, until_s)
    except ReeltalkError:
        return None
    cues = [
        f"{_stamp(each.interval.start_s)} --> {_stamp(max(each.interval.end_s, each.interval.start_s + SHORTEST_S))}\n"
        f"{_escaped(each.line)}\n"
        for each in said
    ]
    return "\n".join(["WEBVTT\n", *cues])


def _stamp(time_s: float) -> str:
    whole = round(time_s * 1000)
    return f"{whole // 3_600_000:02}:{whole // 60_000 % 60:02}:{whole // 1000 % 60:02}.{whole % 1000:03}"


def _escaped(line: str) -> str:
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\0", "\ufffd")

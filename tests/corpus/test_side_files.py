"""Our reader says of the corpus's side files what their entries state, and names what it does not read."""

from pathlib import Path
from typing import Final

import pytest

from corpus import sidefiles
from corpus.entry import SideFile
from reeltalk.curate.sources import find_videos, read_beside, skipped_files
from reeltalk.curate.transcripts import SUFFIXES, speech_of
from reeltalk.schema.record import VideoId

REFUSED: Final = {"windows_1251.srt": "bytes alone do not say which code page"}
"""Read by its entry, which calls it right, too, to refuse it."""
LEFT_OUT: Final = {"whisper_inverted.srt": "a line that ends 105 s before it begins"}
"""Lines that an entry repairs, and that it calls right, too, to leave out."""


def beside(entry: SideFile, folder: Path) -> tuple[list[tuple[float, float, str]] | None, tuple[str, ...], str]:
    """What is said in the film of a side file, what is left out, and what is passed over."""
    (folder / entry.film).write_bytes(b"x")
    (folder / entry.name).write_bytes(entry.content)
    videos = [video for video in find_videos([folder])[0] if video.name == entry.film]
    read = read_beside(videos[0])
    other = " ".join(skipped_files([folder], [read.source]))
    if read.transcript is None:
        return None, read.left_out, other
    rows, _ = speech_of(read.transcript, VideoId("v"), sidefiles.FILM_SECONDS)
    return [(row.interval.start_s, row.interval.end_s, row.text) for row in rows], read.left_out, other


@pytest.mark.parametrize("entry", sidefiles.entries(), ids=lambda entry: entry.name)
def test_side_files_say_what_their_entries_state(entry: SideFile, tmp_path: Path) -> None:
    said, left_out, other = beside(entry, tmp_path)
    known = Path(entry.name).suffix in SUFFIXES and entry.kind in ("subtitles", "transcript")
    if entry.verdict == "refuse" or entry.name in REFUSED:
        assert said is None
        assert left_out
    elif entry.verdict == "ignore" or not known:
        assert said is None
        assert not left_out
        assert entry.kind == "metadata" or entry.name in other or entry.name.startswith(".")
    elif entry.name not in LEFT_OUT:
        assert not left_out
        assert said is not None
        assert [text for *_, text in said] == [" ".join(cue.text.split()) for cue in entry.cues]
        for (start_s, end_s, _), cue in zip(said, entry.cues, strict=True):
            assert cue.starts is None or start_s == pytest.approx(cue.starts, abs=0.011)
            assert cue.ends is None or end_s == pytest.approx(cue.ends, abs=0.011)

"""Videos are written the same each time, with captions in a track of their own."""

from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from reeltalk.video.picture import rgb
from reeltalk.video.stream import open_video
from reeltalk_build.video.write import Caption, write_video


def pictures(count: int) -> list[NDArray[np.uint8]]:
    columns = np.linspace(0, 255, 160).astype(np.uint8)
    made = []
    for n in range(count):
        picture = np.zeros((96, 160, 3), np.uint8)
        picture[..., 0], picture[..., 1], picture[..., 2] = columns, 200, (n * 9) % 256
        made.append(picture)
    return made


def shown(path: Path) -> list[tuple[float, float, str]]:
    """Start, end and words of the captions of a file."""
    found = []
    with av.open(str(path)) as source:
        if not source.streams.subtitles:
            return []
        for packet in source.demux(subtitles=0):
            data = bytes(packet)
            # Between captions, the track has empty ones.
            if len(data) > 2 and packet.pts is not None and packet.time_base is not None:
                start_s = float(packet.pts * packet.time_base)
                words = data[2 : 2 + int.from_bytes(data[:2], "big")].decode()
                found.append((start_s, start_s + float((packet.duration or 0) * packet.time_base), words))
    return found


def test_captions_are_shown_at_their_times(tmp_path: Path) -> None:
    captions = [
        Caption(2.0, 3.5, "Ben: Yes, please!"),
        Caption(0.5, 1.5, "Anna: Möchtest du Tee?"),
        Caption(3.0, 4.25, "Anna: Good."),
    ]
    path = tmp_path / "talk.mp4"
    assert write_video(path, pictures(50), fps=10, captions=captions) == 50
    assert shown(path) == [
        (0.5, 1.5, "Anna: Möchtest du Tee?"),
        (2.0, 3.0, "Ben: Yes, please!"),
        (3.0, 3.5, "Ben: Yes, please!\nAnna: Good."),
        (3.5, 4.25, "Anna: Good."),
    ]
    with open_video(path) as source:
        count = 0
        while source.next_frame() is not None:
            count += 1
    assert count == 50


def test_without_captions_there_is_no_track(tmp_path: Path) -> None:
    write_video(tmp_path / "still.mp4", pictures(5), fps=10)
    assert shown(tmp_path / "still.mp4") == []


def test_the_same_pictures_give_the_same_bytes_and_colours_come_back(tmp_path: Path) -> None:
    one, other = tmp_path / "one.mp4", tmp_path / "other.mp4"
    for path in (one, other):
        write_video(path, pictures(24), fps=10, captions=[Caption(0.3, 1.1, "Hello")])
    assert one.read_bytes() == other.read_bytes()
    with open_video(one) as source:
        first = source.next_frame()
        assert first is not None
        assert np.abs(rgb(first.picture).astype(int) - pictures(1)[0]).mean() < 6

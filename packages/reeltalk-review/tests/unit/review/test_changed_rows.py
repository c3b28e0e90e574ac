"""A table of which some rows are replaced, removed or added, while all others stay in their file."""

import random
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from reeltalk.schema.media import Video
from reeltalk.schema.record import VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import VIDEOS
from reeltalk_review.applying.next_revision import ChangedRows


def video(name: str, length: float = 1.0) -> Video:
    return Video(id=VideoId(name), duration_s=length)


@given(seed=st.integers(0, 2**32))
def test_changed_rows_are_those_of_a_list(seed: int) -> None:
    draw = random.Random(seed)
    table = [video(f"v{number}") for number in range(draw.randrange(12))]
    expected: dict[int, Video] = dict(enumerate(table))
    changed = ChangedRows(table, Video)
    for step in range(draw.randrange(8)):
        new = video(f"new {step}", 2.0)
        if expected and draw.random() < 0.7:
            place = draw.choice(list(expected))
            changed.put(place, row := draw.choice((new, None)))
            if row is None:
                del expected[place]
            else:
                expected[place] = row
        else:
            expected[changed.append(new)] = new
    assert list(changed.numbered()) == sorted(expected.items())
    assert list(changed.added()) == [row for place, row in sorted(expected.items()) if place >= len(table)]
    assert all(changed[place] == row for place, row in expected.items())
    assert changed.is_changed or list(changed) == table


def test_rows_change_while_they_are_read_from_a_file(tmp_path: Path) -> None:
    benchmark = Benchmark.create(tmp_path / "bench")
    with benchmark.writing(stage="test") as writer:
        writer.add(VIDEOS, [video(f"v{number}") for number in range(200)])
    changed = ChangedRows(benchmark.table(VIDEOS), Video)
    for place, row in changed.numbered():
        if place % 3:
            changed.put(place, video(row.id, 2.0) if place % 3 == 1 else None)
    assert [row.duration_s for row in changed] == [1.0, 2.0] * 66 + [1.0, 2.0]

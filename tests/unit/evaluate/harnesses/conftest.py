"""A benchmark of two videos with a chain, dialogues and a choice, its videos at hand."""

from pathlib import Path

import pytest
from sample_videos import Numbered

from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ChainId, ClipId, DialogueId, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    """Folder of the benchmark `kitchen`."""
    path, _ = Numbered("h264.mp4").make()
    folder = tmp_path / "kitchen"
    made = Benchmark.create(folder)
    sha256 = made.media.add(path)
    videos = [Video(id=VideoId(name), file=f"{name}.mp4", sha256=sha256, duration_s=10.0) for name in ("one", "two")]
    chain = QAChain(
        id=ChainId("chain"),
        video_id=VideoId("one"),
        clip_id=ClipId("first"),
        turns=(
            Turn(question="What does she take?", references=("She takes a cup.",)),
            Turn(question="Where does she put it?", references=("She puts the cup on the shelf.",)),
        ),
    )
    talk = Dialogue(
        id=DialogueId("talk"),
        video_id=VideoId("two"),
        turns=(
            Turn(question="Is the door open?", references=("Yes, the door is open.",), asked_at_s=2.0),
            Turn(
                question="Which colour has it?",
                references=("green",),
                options=("red", "green", "None of these"),
                correct_option=1,
                asked_at_s=4.5,
            ),
        ),
    )
    clip = Clip(id=ClipId("first"), video_id=VideoId("one"), interval=Interval(start_s=0.0, end_s=3.0))
    content = Content(videos=videos, clips=[clip], chains=[chain], dialogues=[talk])
    made.write_content(content, stage="test", parents={})
    return folder

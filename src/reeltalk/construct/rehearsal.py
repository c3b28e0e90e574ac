"""Rehearses construction: every step runs on a copy of a benchmark without its videos, and no model is asked.

A rehearsed model gives replies that pass all checks, as a good writer and a content judge would. So the requests, the
frames and the text of the prompts are those of the real steps, whatever the settings are; `forecast.py` adds them up.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reeltalk.construct.objects import describe_box
from reeltalk.construct.rehearsed_replies import rehearse_reply
from reeltalk.llm import Message, Reply
from reeltalk.parallel import Call, Outcome
from reeltalk.schema.knowledge import Box, Sighting
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import EntityId, Json, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import (
    CHAINS,
    CLIPS,
    DIALOGUES,
    FRAMES,
    KNOWN_BOXES,
    LINKAGES,
    PATHS,
    REWRITES,
    SCENES,
    SIGHTINGS,
    SPEECH,
    VIDEOS,
    Table,
)

COPIED: Final[tuple[Table[Any], ...]] = (
    CLIPS, FRAMES, SPEECH, SIGHTINGS, CHAINS, SCENES, PATHS, DIALOGUES,
)  # fmt: skip
"""Tables of which only the rows of the rehearsed videos are copied."""
FIRST_HAN: Final = "\u3400"
LAST_HAN: Final = "\u9fff"
CHARACTERS_A_TOKEN: Final = 4.0
HAN_A_TOKEN: Final = 1.5
"""Chinese characters that make one token."""
GUESSED_S: Final = 2.0
"""Interval at which objects are guessed in a video of which nothing is known."""
GUESSED: Final = ("person", "table", "chair")


def count_tokens(text: str) -> int:
    """Tokens of a text, roughly."""
    han = sum(FIRST_HAN <= character <= LAST_HAN for character in text)
    return round((len(text) - han) / CHARACTERS_A_TOKEN + han / HAN_A_TOKEN)


@dataclass(frozen=True)
class RehearsedModel:
    """A model that is not asked. Its tokens are those of texts; images count none."""

    name: str
    sees_images: bool
    sampling: Mapping[str, Json]
    take: int = 0
    """Number of the rehearsal; each has its own replies."""

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> Reply:
        """A reply that passes all checks of the step."""
        text = "\n".join(message.text for message in messages)
        pictures = hashlib.sha256(b"".join(picture for message in messages for picture in message.images)).hexdigest()
        title = "" if schema is None else str(schema.get("title"))
        said = rehearse_reply(title, text, shown=f"{self.take} {pictures}")
        return Reply(said, self.name, count_tokens(text), count_tokens(said), cut_off=False)

    def close(self) -> None:
        """Nothing is open."""


class RehearsedExecutor:
    """Gives an empty picture for each frame, without decoding."""

    def map(self, function: str, calls: Iterable[Call]) -> Iterator[tuple[int, Outcome]]:
        """The time of each frame, with a text in place of the picture."""
        for index, call in enumerate(calls):
            # Replies depend on pictures. The file's name is the hash of the video; its folder is another each time.
            name, times = Path(call.argument["path"]).name, call.argument["times_s"]
            yield index, [(time_s, base64.b64encode(f"{name} {time_s}".encode()).decode()) for time_s in times]


def copy_for_rehearsal(benchmark: Benchmark, folder: Path, videos: Sequence[Video]) -> Benchmark:
    """Copy what construction reads about some videos. Their files are replaced by small ones.

    Args:
        benchmark: The benchmark.
        folder: An empty folder for the copy.
        videos: The videos.

    Raises:
        BenchmarkError: The benchmark is damaged.
    """
    copy = Benchmark.create(folder / "benchmark", name=benchmark.manifest.name)
    names = {video.id for video in videos}
    stand_ins = []
    for number, video in enumerate(videos):
        content = folder / f"{number}.mp4"
        content.write_text(video.id, encoding="utf-8")
        stand_ins.append(video.model_copy(update={"sha256": copy.media.add(content)}))
    with copy.writing(stage="rehearsal") as writer:
        writer.add(VIDEOS, stand_ins)
        for table in COPIED:
            rows = [row for row in benchmark.read(table) if row.video_id in names]
            if table is SIGHTINGS and not rows:
                rows = list(_guessed_sightings(benchmark, videos))
            writer.add(table, rows)
        for table in (LINKAGES, REWRITES):
            writer.add(table, benchmark.read(table))
        for name in benchmark.graphs():
            writer.add_graph(name, benchmark.graph(name))
    return Benchmark.open(copy.path)


def _guessed_sightings(benchmark: Benchmark, videos: Sequence[Video]) -> Iterator[Sighting]:
    """What the step of objects may find, for prompts that tell of objects: the known boxes, or some for each moment."""
    names = {video.id for video in videos}
    clips: dict[str, list[Clip]] = {}
    for clip in benchmark.read(CLIPS):
        clips.setdefault(clip.video_id, []).append(clip)
    known = [box for box in benchmark.read(KNOWN_BOXES) if box.video_id in names]
    if known:
        for one in known:
            yield _sighting(clips, one.video_id, one.pts_s, one.box, one.class_name, f"{one.video_id} {one.object}")
        return
    box = Box(left=0.4, top=0.4, right=0.6, bottom=0.6)
    for video in videos:
        for number in range(int((video.duration_s or 0.0) / GUESSED_S)):
            for kind in GUESSED:
                yield _sighting(clips, video.id, number * GUESSED_S, box, kind, f"{video.id} {kind} {number // 10}")


def _sighting(
    clips: Mapping[str, Sequence[Clip]], video_id: str, pts_s: float, box: Box, kind: str, entity: str
) -> Sighting:
    shows = (
        clip.id
        for clip in clips.get(video_id, ())
        if clip.interval is not None and clip.interval.start_s <= pts_s < clip.interval.end_s
    )
    return Sighting(
        video_id=VideoId(video_id),
        clip_id=next(shows, None),
        pts_s=pts_s,
        box=box,
        class_name=kind,
        confidence=1.0,
        entity=EntityId(entity),
        caption=describe_box(kind, "white", box),
    )

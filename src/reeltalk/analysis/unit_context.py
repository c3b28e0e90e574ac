"""What a benchmark knows of its runs' dialogues: their video, the clips they are about, and each turn's evidence."""

from dataclasses import dataclass, field

from reeltalk.schema.dialogue import Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, CLIPS, DIALOGUES, PATHS, VIDEOS


@dataclass(frozen=True)
class UnitContext:
    """One chain, path or dialogue."""

    turns: tuple[Turn | None, ...]
    """None for a turn of a path whose chain is not there."""
    clip_ids: tuple[str, ...]


@dataclass
class BenchmarkContext:
    """All units of a benchmark, with its videos and clips. Holds its dialogues in memory."""

    videos: dict[str, Video] = field(default_factory=dict)
    clips: dict[str, list[tuple[str, Interval]]] = field(default_factory=dict)
    """By video, in the order of time: names and intervals of those whose interval is known."""
    units: dict[tuple[str, str], UnitContext] = field(default_factory=dict)
    """By kind (`chain`, `path` or `dialogue`) and id."""

    def about(self, unit: str, unit_id: str, video_id: str) -> Interval | None:
        """From the first to the last moment that a unit is about, as its clips say; None where nobody says it."""
        found = self.units.get((unit, unit_id))
        if found is None:
            return None
        named = set(found.clip_ids)
        intervals = [interval for name, interval in self.clips.get(video_id, ()) if name in named]
        intervals += [interval for turn in found.turns if turn is not None for interval in turn.evidence]
        if not intervals:
            return None
        return Interval(start_s=min(i.start_s for i in intervals), end_s=max(i.end_s for i in intervals))

    def evidence(self, unit: str, unit_id: str, index: int) -> tuple[Interval, ...]:
        """Where the answer to one turn can be seen.

        Args:
            unit: `chain`, `path` or `dialogue`.
            unit_id: Which.
            index: The turn's place, from 0.
        """
        found = self.units.get((unit, unit_id))
        turn = found.turns[index] if found is not None and index < len(found.turns) else None
        return turn.evidence if turn is not None else ()


def context_of(benchmark: Benchmark) -> BenchmarkContext:
    """Read what a benchmark knows of its units.

    Raises:
        InputError: A table is damaged.
    """
    found = BenchmarkContext(videos={video.id: video for video in benchmark.read(VIDEOS)})
    for clip in benchmark.read(CLIPS):
        if clip.interval is not None:
            found.clips.setdefault(clip.video_id, []).append((clip.id, clip.interval))
    for clips in found.clips.values():
        clips.sort(key=lambda pair: (pair[1].start_s, pair[1].end_s, pair[0]))
    for chain in benchmark.read(CHAINS):
        clip_ids = (str(chain.clip_id),) if chain.clip_id is not None else ()
        found.units["chain", chain.id] = UnitContext(chain.turns, clip_ids)
    for dialogue in benchmark.read(DIALOGUES):
        found.units["dialogue", dialogue.id] = UnitContext(dialogue.turns, tuple(map(str, dialogue.clip_ids)))
    for path in benchmark.read(PATHS):
        turns: list[Turn | None] = []
        about: tuple[str, ...] = ()
        for step in path.steps:
            unit = found.units.get((step.ref.unit, step.ref.unit_id))
            own = unit.turns[step.ref.turn_index] if unit and step.ref.turn_index < len(unit.turns) else None
            # A turn that is worded anew may leave out what stays as it is.
            turns.append(step.turn if step.turn is not None and step.turn.evidence else own or step.turn)
            about += unit.clip_ids if unit else ()
        found.units["path", path.id] = UnitContext(tuple(turns), tuple(dict.fromkeys(about)))
    return found

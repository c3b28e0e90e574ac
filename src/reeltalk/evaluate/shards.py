"""Scripts divided among processes: all of a video to one of them, each about as many turns as the others."""

from collections import defaultdict
from collections.abc import Sequence

from reeltalk.evaluate.playing.script import Script


def shards_of(scripts: Sequence[Script], count: int) -> list[list[Script]]:
    """Divide scripts by video, the same way each time.

    A video's scripts stay together, so that it is decoded once, a question that several of them ask is asked once, and
    a server that keeps prefixes has them where they are asked for.

    Args:
        scripts: What is played.
        count: Shards at most; there are no more than videos.

    Returns:
        Shards that are not empty, each with its scripts in their order.
    """
    turns: dict[str, int] = defaultdict(int)
    for script in scripts:
        turns[script.video_id] += len(script.steps)
    filled = [0] * min(count, len(turns))
    home: dict[str, int] = {}
    # The longest first, each to where the fewest turns are: no shard is then far above the others.
    for video_id in sorted(turns, key=lambda video_id: -turns[video_id]):
        emptiest = filled.index(min(filled))
        home[video_id] = emptiest
        # A script without turns takes its place, too.
        filled[emptiest] += max(1, turns[video_id])
    shards: list[list[Script]] = [[] for _ in filled]
    for script in scripts:
        shards[home[script.video_id]].append(script)
    return shards


def turns_of(scripts: Sequence[Script]) -> int:
    """How many turns some scripts have."""
    return sum(len(script.steps) for script in scripts)

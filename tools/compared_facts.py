"""Compares what graphs say with what the pictures show: a second path to a sample of the facts.

The first path leads from the simulation to the graphs. The second reads the known boxes of the video, which are found
by drawing each frame once more as numbers, and the tables of talk; it shares no code with the writer of the graphs.
"""

import bisect
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from reeltalk.language.vocabulary import class_of
from reeltalk.schema.knowledge import KnownBox
from reeltalk.schema.media import Video
from reeltalk.schema.speech import Utterance
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CLIPS, KNOWN_BOXES, SPEECH, VIDEOS
from reeltalk_build.graph.reading import read_activity
from reeltalk_build.graph.story import Story, StoryEvent

HANDLED: Final = frozenset({"grab", "give", "put", "drop", "show", "drink", "eat", "read", "play", "wipe", "fold"})
"""Actions whose object is seen at some time while they are done; something may be in front of it at others."""
BESIDE: Final = frozenset({"drink", "eat", "read", "show"})
"""Actions during which the object is in a hand."""
NEAR: Final = 0.12
"""How far a held thing's box may be from its holder's, in parts of the picture's width."""
SOME: Final = 200
"""Facts that are compared by default."""


class ContradictedFact(NamedTuple):
    """A fact of a graph that the pictures or the talk contradict."""

    video_id: str
    time_s: float
    fact: str
    found: str


class ComparedFacts(NamedTuple):
    """The result of a comparison."""

    compared: Counter[str]
    """Number of facts by kind: `actor`, `thing`, `held`, `talk`, `people`."""
    disagreements: tuple[ContradictedFact, ...]


def compare_facts(filmed: Benchmark, *, facts: int = SOME, seed: int = 7) -> ComparedFacts:
    """Compares a sample of facts of the graphs of a filmed benchmark with its known boxes and its talk.

    Whoever acts, and the thing that they handle, is in the picture; a thing is near whoever holds it; what is said is
    in the table of talk at that time; and never more people are in the picture than the graphs know.

    Args:
        filmed: The benchmark that `film` made.
        facts: Size of the sample, in events.
        seed: Decides the sample.
    """
    boxes: dict[str, dict[float, dict[str, KnownBox]]] = {}
    for box in filmed.read(KNOWN_BOXES):
        boxes.setdefault(box.video_id, {}).setdefault(box.pts_s, {})[box.object] = box
    talk: dict[str, list[Utterance]] = {}
    for utterance in filmed.read(SPEECH):
        talk.setdefault(utterance.video_id, []).append(utterance)
    names: dict[str, list[str]] = {}
    for clip in filmed.read(CLIPS):
        names.setdefault(clip.video_id, []).append(clip.id)
    pool: list[tuple[Video, Story, StoryEvent]] = []
    for video in filmed.read(VIDEOS):
        graphs = [read_activity(filmed.graph(name), file=f"{name}.nq", name=name) for name in names[video.id]]
        story = Story(graphs)
        pool += [(video, story, event) for event in story.events]
    chosen = random.Random(f"agreement {seed}").sample(pool, min(facts, len(pool)))
    compared: Counter[str] = Counter()
    found: list[ContradictedFact] = []
    for video, story, event in chosen:
        for kind, fact, problem in _facts(story, event, boxes.get(video.id, {}), talk.get(video.id, [])):
            compared[kind] += 1
            if problem is not None:
                assert event.interval is not None
                found.append(ContradictedFact(video.id, event.interval.start_s, fact, problem))
    return ComparedFacts(compared, tuple(found))


def _facts(
    story: Story, event: StoryEvent, boxes: Mapping[float, Mapping[str, KnownBox]], talk: Sequence[Utterance]
) -> list[tuple[str, str, str | None]]:
    """Facts about an event: kind, the fact in words, and what contradicts it."""
    assert event.interval is not None
    facts: list[tuple[str, str, str | None]] = []
    said = f"{event.agent} {event.action} {event.main or ''} at {event.interval.start_s:g} s"
    if event.says is not None and event.agent is not None:
        speaker = story.names[event.agent]
        heard = [u for u in talk if u.speaker == speaker and abs(u.interval.start_s - event.interval.start_s) < 0.01]
        same = any(utterance.text == event.says for utterance in heard)
        facts.append(("talk", said, None if same else f"the table of talk has {[u.text for u in heard]}"))
    effect_s = event.interval.end_s if event.action == "walk" else (event.interval.start_s + event.interval.end_s) / 2
    times = sorted(boxes)
    place = bisect.bisect_left(times, effect_s)
    if place == len(times) or times[place] > effect_s + 0.2:
        return facts
    seen = boxes[times[place]]
    people = {name for name in seen if class_of(name) == "character"}
    facts.append(("people", said, None if people <= set(story.people) else f"{sorted(people)} are in the picture"))
    if event.agent is not None:
        facts.append(("actor", said, None if event.agent in seen else f"only {sorted(people)} are in the picture"))
    if event.action in HANDLED and event.main is not None and class_of(event.main) != "floor":
        begun, ended = (
            bisect.bisect_left(times, event.interval.start_s),
            bisect.bisect_right(times, event.interval.end_s),
        )
        shown = any(event.main in boxes[time_s] for time_s in times[begun:ended])
        facts.append(("thing", said, None if shown else f"{event.main} is not in the picture"))
        if event.main in seen and event.action in BESIDE and event.agent is not None and event.agent in seen:
            thing, holder = seen[event.main].box, seen[event.agent].box
            middle = (thing.left + thing.right) / 2
            beside = holder.left - NEAR <= middle <= holder.right + NEAR
            facts.append(("held", said, None if beside else f"{event.main} is away from {event.agent}"))
    return facts

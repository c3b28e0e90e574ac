"""Pages about scenarios: activities and events on a time line, states of objects, and all relations at a given time.

Each situation is a link target in the page, so the pages need no script.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from typing import Final

from jinja2 import Environment
from markupsafe import Markup

from reeltalk.errors import BenchmarkError
from reeltalk.language.phrases import join_list, noun, phrase
from reeltalk.language.vocabulary import ROOMS, SPATIAL, class_of, plain_name
from reeltalk.schema.titles import activity_title
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import VIDEOS
from reeltalk_build.graph.activity import ActivityGraph
from reeltalk_build.graph.reading import VideoGraphs
from reeltalk_build.graph.story import Story, StoryEvent

WIDTH_PX: Final = 1000
LEFT_PX: Final = 150
ROW_PX: Final = 22
TOP_PX: Final = 62
SHOWN_STATES: Final = {"GRABED": "m0", "ON": "m1", "OPEN": "m2", "DIRTY": "m3"}
"""States with a bar on the time line, and the class of its colour."""
STATE_NAMES: Final = {"GRABED": "held", "ON": "on", "OPEN": "open", "DIRTY": "dirty"}
RELATION_WORDS: Final = {"close": "next to", "facing": "facing", "on": "on", "inside": "inside"}


@dataclass
class ShownScenario:
    """One scenario and its page."""

    name: str
    graphs: list[ActivityGraph]
    file: str
    split: str | None = None
    summary: str | None = None
    story: Story = field(init=False)

    def __post_init__(self) -> None:
        self.story = Story(self.graphs)


@dataclass(frozen=True)
class ListedScenario:
    """A scenario in the list of all."""

    name: str
    file: str
    split: str | None
    titles: str
    """Titles of its activities."""
    activities: int
    events: int
    duration_s: float | None


def _listed(shown: ShownScenario) -> ListedScenario:
    titles = " → ".join(activity_title(graph.name) for graph in shown.graphs)
    numbers = len(shown.graphs), len(shown.story.events), shown.story.duration_s
    return ListedScenario(shown.name, shown.file, shown.split, titles, *numbers)


@dataclass(frozen=True)
class ObjectFact:
    """An object's states and relations in one situation."""

    name: str
    values: str
    relations: str


@dataclass(frozen=True)
class StoryMoment:
    """A situation: before an event, or after the last of an activity."""

    key: str
    title: str
    time_s: float | None
    facts: tuple[ObjectFact, ...]


def scenarios_of(benchmark: Benchmark) -> Iterator[ShownScenario]:
    """The scenarios of a benchmark, one at a time: its videos with the graphs of their clips.

    Raises:
        InputError: A graph or table is malformed.
        BenchmarkError: No video has a clip with a graph.
    """
    known, number = VideoGraphs(benchmark), 0
    for video in benchmark.read(VIDEOS):
        if graphs := known.of(video.id):
            number += 1
            file = f"{number:04d}.html"
            yield ShownScenario(video.id, graphs, file, video.split, video.summaries.get("template"))
    # A damaged graph is found even if no clip has it.
    for _ in known.rest():
        pass
    if not number:
        raise BenchmarkError(f"{benchmark.path} has graphs, but no video whose clips they describe")


def write_scenario_pages(
    title: str,
    shown: Iterable[ShownScenario],
    folder: Path,
    environment: Environment,
) -> Path:
    """Write the pages: `index.html`, and one for each scenario.

    Args:
        title: Name of the set of scenarios.
        folder: An existing, empty folder.
        environment: Where the templates are.

    Returns:
        Path of `index.html`.
    """
    (folder / "scenarios").mkdir()
    template = environment.get_template("scenario.html")
    listed: list[ListedScenario] = []
    # One after the last has no page.
    for scenario, after in pairwise(chain(shown, [None])):
        assert scenario is not None
        html = template.render(
            root="../",
            scenario=scenario,
            drawn=draw_story(environment, scenario.story),
            moments=story_moments(scenario.story),
            legend=SHOWN_STATES,
            state_names=STATE_NAMES,
            before=listed[-1] if listed else None,
            after=after,
        )
        listed.append(_listed(scenario))
        (folder / "scenarios" / scenario.file).write_text(html, encoding="utf-8", newline="\n")
    html = environment.get_template("scenarios.html").render(root="", name=title, shown=listed)
    (folder / "index.html").write_text(html, encoding="utf-8", newline="\n")
    return folder / "index.html"


def tell_event(event: StoryEvent) -> str:
    """The event as a sentence without a full stop."""
    return f"He {phrase(event.action, event.main, event.targets, 'does')}"


def _positions(story: Story) -> list[float]:
    """The start of each event on the time line, and the end of the last; evenly spaced if times are unknown."""
    inner = WIDTH_PX - LEFT_PX - 10
    total = story.duration_s
    if total:
        ends = [event.interval.end_s for event in story.events if event.interval is not None]
        return [float(LEFT_PX), *(LEFT_PX + inner * end / total for end in ends)]
    count = len(story.events)
    return [LEFT_PX + inner * n / count for n in range(count + 1)]


@dataclass(frozen=True)
class ActivityBar:
    """One activity on the time line, in pixels."""

    title: str
    label: str
    """The part of the title that fits; may be empty."""
    left: float
    width: float


@dataclass(frozen=True)
class StateBar:
    """The time during which an object has a state, in pixels."""

    value: str
    start: float
    end: float


@dataclass(frozen=True)
class ObjectRow:
    """One object on the time line."""

    name: str
    states: tuple[StateBar, ...]
    events: tuple[StoryEvent, ...]
    """The events that involve it."""


def draw_story(environment: Environment, story: Story) -> Markup:
    """A scenario's time line as inline SVG.

    Args:
        environment: Holds the template.
        story: The scenario.
    """
    at = _positions(story)
    objects = [name for name in _objects(story) if class_of(name) not in ROOMS]
    return Markup(
        environment.get_template("_scenario_line.html").render(
            story=story,
            activities=[_activity_bar(story, part, graph, at) for part, graph in enumerate(story.graphs)],
            objects=[_object_row(story, name, at) for name in objects],
            at=at,
            ticks=_ticks_s(story),
            legend=SHOWN_STATES,
            state_names=STATE_NAMES,
            when=_when,
            tell_event=tell_event,
            width=WIDTH_PX,
            height=TOP_PX + ROW_PX * len(objects) + 26,
            left=LEFT_PX,
            top=TOP_PX,
            row=ROW_PX,
        )
    )


def _activity_bar(story: Story, part: int, graph: ActivityGraph, at: Sequence[float]) -> ActivityBar:
    own = [event for event in story.events if event.part == part]
    left = at[own[0].order]
    width = at[own[-1].order + 1] - left
    title = activity_title(graph.name)
    label = title if len(title) * 5.6 < width - 6 else title[: max(0, int((width - 12) / 5.6))] + "…"
    return ActivityBar(title, label if width > 24 else "", left, width)


def _when(event: StoryEvent) -> str:
    return f"{event.interval.start_s:.1f} s: " if event.interval is not None else f"event {event.order}: "


def _objects(story: Story) -> list[str]:
    """Objects that events involve, in order of their first event."""
    names = (name for event in story.events for name in ((event.main,) if event.main else ()) + event.targets)
    return list(dict.fromkeys(names))


def _object_row(story: Story, name: str, at: Sequence[float]) -> ObjectRow:
    states = []
    for value in SHOWN_STATES:
        start: float | None = None
        for event in story.events:
            # A state after an event lasts until the next event ends.
            holds = value in story.graphs[event.part].values_at(name, event.index)
            left = at[event.order]
            if holds and start is None:
                start = left
            if not holds and start is not None:
                states.append(StateBar(value, start, left))
                start = None
        if start is not None:
            states.append(StateBar(value, start, at[-1]))
    events = tuple(event for event in story.events if name == event.main or name in event.targets)
    return ObjectRow(plain_name(name), tuple(states), events)


def _ticks_s(story: Story) -> list[int]:
    """Seconds at which the axis has a number; empty if the graphs have no times."""
    total = story.duration_s
    if not total:
        return []
    step = next(s for s in (5, 10, 20, 30, 60, 120, 300, 600, 3600) if total / s <= 10 or s == 3600)
    return list(range(0, int(total) + 1, step))


def story_moments(story: Story) -> list[StoryMoment]:
    """The situation before each event and after the last: every object's states and relations."""
    found = []
    objects = [name for name in _objects(story) if class_of(name) not in ROOMS]
    for event in story.events:
        facts = tuple(_fact(story.graphs[event.part], name, event.index) for name in objects)
        start = event.interval.start_s if event.interval is not None else None
        found.append(StoryMoment(f"m{event.order}", f"Before h{tell_event(event)[1:]}", start, _known(facts)))
    last = story.events[-1]
    facts = tuple(_fact(story.graphs[last.part], name, last.index + 1) for name in objects)
    found.append(StoryMoment(f"m{last.order + 1}", "At the end", story.duration_s, _known(facts)))
    return found


def _known(facts: Sequence[ObjectFact]) -> tuple[ObjectFact, ...]:
    return tuple(fact for fact in facts if fact.values or fact.relations)


def _fact(graph: ActivityGraph, name: str, situation: int) -> ObjectFact:
    by_kind: dict[str, list[str]] = {}
    for placed in graph.placed_at(name, situation):
        if placed.kind in SPATIAL:
            person = class_of(placed.target.object) == "character"
            by_kind.setdefault(placed.kind, []).append("the person" if person else noun(placed.target.object))
    relations = [
        f"{RELATION_WORDS[kind]} {join_list(sorted(set(by_kind[kind])))}" for kind in SPATIAL if kind in by_kind
    ]
    values = [value.lower().replace("grabed", "held").replace("_", " ") for value in graph.values_at(name, situation)]
    return ObjectFact(plain_name(name), ", ".join(values), "; ".join(relations))

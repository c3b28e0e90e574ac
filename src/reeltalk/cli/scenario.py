"""Commands on scenarios: compose, check, join."""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from reeltalk.cli.app import OVERWRITE, Bar, app, refuse_existing
from reeltalk.cli.graph_reading import ROOMS, read_known
from reeltalk.errors import BenchmarkError
from reeltalk.graph.scenario import ComposeSettings

if TYPE_CHECKING:
    from reeltalk.graph.scenario import ActivityCard

scenario = App(name="scenario", help="Scenarios composed of activities: compose, check, join.", sort_key=2)
app.command(scenario)

DEFAULTS = ComposeSettings()


@scenario.command(sort_key=1)
def compose(
    graphs: Path,
    /,
    *,
    out: Path,
    initial_rooms: Annotated[Path | None, ROOMS] = None,
    activities: Path | None = None,
    overwrite: Annotated[bool, OVERWRITE] = False,
    settings: Annotated[ComposeSettings, Parameter(name="*")] = DEFAULTS,
) -> int:
    """Compose scenarios of activities under VDAct's constraints, and draw a seeded sample.

    Example: `reeltalk scenario compose kg_activity.zip --initial-rooms initial_rooms.json --sample 1000 --out
    scenarios.json`

    Parameters
    ----------
    graphs
        Folder, zip archive, file or benchmark of activity graphs.
    out
        JSON file that appears: lists of activities by scenario.
    initial_rooms
        JSON object of start rooms by activity.
    activities
        JSON object, by activity, of what the graphs lack: start_room, end_room, duration_s, views, category.
    overwrite
        Replace the file that is there.
    """
    from reeltalk.graph.scenario import PAPER_CANDIDATES
    from reeltalk.graph.scenario_constraints import check
    from reeltalk.graph.scenario_search import compose as run
    from reeltalk.graph.source import write_scenarios
    from reeltalk.store.atomic import write_bytes

    refuse_existing(out, overwrite=overwrite)
    cards = _cards(graphs, initial_rooms, activities)
    with Bar() as bar:
        done = run(cards, settings, progress=lambda n, total: bar.show("composing: round", n, total, n / total))
    write_bytes(out, write_scenarios(done.sampled))
    print(f"{len(cards):,} activities")
    for reason, count in done.unusable.items():
        print(f"  left out, {reason}: {count:,}")
    for what, count in done.pairs.items():
        print(f"  {what}: {count:,}")
    print(f"walks: {done.walks.get('tried', 0):,} tried")
    for reason, count in sorted(done.walks.items()):
        if reason != "tried":
            print(f"  {reason}: {count:,}")
    for line in done.not_checkable:
        print(f"not checkable: {line}")
    if done.estimated:
        print(f"estimated: the durations of {done.estimated:,} activities, from the mean times of their actions")
        if done.unmeasured:
            print(f"  events of other actions, at {settings.seconds_per_event:g} s each: {done.unmeasured:,}")
    for constraint in check(done.candidates, cards, settings):
        print(f"candidates, {constraint.line}")
    _show_lengths(done.sampled, cards, settings)
    print(f"{len(done.candidates):,} candidates ({PAPER_CANDIDATES:,} in the paper), {len(done.sampled):,} in {out}")
    return 0


def _show_lengths(
    scenarios: "dict[str, tuple[str, ...]]", cards: "dict[str, ActivityCard]", settings: ComposeSettings
) -> None:
    """How many activities, events and seconds the scenarios have, beside VDAct's."""
    from reeltalk.graph.activity_facts import released_lengths
    from reeltalk.graph.statistics import PAPER_SCENARIO, PAPER_SCENARIO_S

    if not scenarios:
        return
    here, released = Counter(map(len, scenarios.values())), released_lengths()
    for number in sorted({*here, *released}):
        share, there = here[number] / len(scenarios), released.get(number, 0) / sum(released.values())
        print(f"of {number} activities: {here[number]:,}, {share:.1%} ({there:.1%} of VDAct's released)")
    events = sum(cards[name].events for scenario in scenarios.values() for name in scenario) / len(scenarios)
    length_s = sum(
        cards[name].length_s(settings.seconds_per_event) for scenario in scenarios.values() for name in scenario
    ) / len(scenarios)
    print(
        f"a scenario has {events:.2f} events ({PAPER_SCENARIO[0]} in the paper) and lasts {length_s:.0f} s "
        f"({PAPER_SCENARIO_S} s)"
    )


def _cards(graphs: Path, initial_rooms: Path | None, activities: Path | None) -> "dict[str, ActivityCard]":
    from reeltalk.graph.scenario import cards
    from reeltalk.graph.source import read_initial_rooms

    rooms = read_initial_rooms(initial_rooms) if initial_rooms else None
    return cards(read_known(graphs), initial_rooms=rooms, table=activities)


@scenario.command(sort_key=2)
def check(
    scenarios: Path,
    graphs: Path,
    /,
    *,
    initial_rooms: Annotated[Path | None, ROOMS] = None,
    activities: Path | None = None,
    settings: Annotated[ComposeSettings, Parameter(name="*")] = DEFAULTS,
) -> int:
    """Check scenarios against each of VDAct's constraints: how many hold, which do not, which cannot be checked.

    Example: `reeltalk scenario check scenario_to_activities.json kg_activity.zip --initial-rooms initial_rooms.json`.
    Exit code 1 where a constraint that can be checked fails.

    Parameters
    ----------
    scenarios
        JSON object of lists of activities by scenario.
    graphs
        Folder, zip archive, file or benchmark of activity graphs.
    initial_rooms
        JSON object of start rooms by activity.
    activities
        JSON object, by activity, of what the graphs lack.
    """
    from reeltalk.graph.scenario_constraints import check as find
    from reeltalk.graph.source import known_activities, read_scenarios

    given = read_scenarios(scenarios)
    cards = _cards(graphs, initial_rooms, activities)
    known_activities(given, cards, file=scenarios)
    found = find(given, cards, settings)
    for constraint in found:
        print(constraint.line)
    return 1 if any(constraint.fails and constraint.basis == "checked" for constraint in found) else 0


@scenario.command(sort_key=3)
def join(
    scenarios: Path,
    graphs: Path,
    /,
    *,
    out: Path,
    videos: Path | None = None,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Join the activities of each scenario: graphs by `nextActivity`, videos one after the other.

    Example: `reeltalk scenario join scenarios.json graphs/ --videos films/ --out joined/`

    Parameters
    ----------
    scenarios
        JSON object of lists of activities by scenario.
    graphs
        Folder, zip archive, file or benchmark of activity graphs.
    out
        Folder that appears: ID.nq, and ID.mp4 with --videos.
    videos
        Folder of the activities' videos, named after them, of one size and codec.
    overwrite
        Replace the folder that is there.
    """
    from reeltalk.graph.joining import links, starts_s
    from reeltalk.graph.rdf import parse, quads_of
    from reeltalk.graph.source import graph_texts, read_scenarios, scenario_graphs
    from reeltalk.store.atomic import writing_directory

    given = read_scenarios(scenarios)
    known = read_known(graphs)
    joined = scenario_graphs(given, known, file=scenarios)
    texts = {name: (where, text) for name, where, text in graph_texts(graphs)}
    films = {path.stem: path for path in sorted(videos.iterdir()) if path.is_file()} if videos else {}
    times: dict[str, list[float] | None] = {}
    with writing_directory(out, overwrite=overwrite) as folder, Bar() as bar:
        for done, (name, activities) in enumerate(joined.items(), 1):
            quads = [quads_of(parse(texts[a.name][1], file=texts[a.name][0]), name=a.name) for a in activities]
            (folder / f"{name}.nq").write_text("".join(quads) + links(name, activities), encoding="utf-8")
            times[name] = starts_s(activities)
            missing = [a.name for a in activities if videos is not None and a.name not in films]
            if missing:
                raise BenchmarkError(f"{videos} has no video of {missing[0]}, which scenario {name} needs")
            bar.show("joining", done, len(joined), done / len(joined))
        if videos is not None:
            parts = {name: [str(films[a.name]) for a in activities] for name, activities in joined.items()}
            times |= _join_videos(parts, folder)
        (folder / "starts.json").write_text(json.dumps(times, indent=1) + "\n", encoding="utf-8")
    timed = sum(starts is not None for starts in times.values())
    print(f"{len(joined):,} scenarios in {out}, {timed:,} with known times")
    return 0


def _join_videos(parts: dict[str, list[str]], folder: Path) -> dict[str, list[float] | None]:
    """Where each scenario's activities begin in its video; decoders run in child processes."""
    from reeltalk.parallel import Call, Failure, LocalExecutor

    names = list(parts)
    calls = [Call({"parts": list(parts[name]), "target": str(folder / f"{name}.mp4")}) for name in names]
    starts: dict[str, list[float] | None] = {}
    for index, outcome in LocalExecutor().map("reeltalk.video.concat:join", calls):
        if isinstance(outcome, Failure):
            raise BenchmarkError(f"the videos of scenario {names[index]} cannot be joined: {outcome}")
        starts[names[index]] = outcome
    return starts

"""Activity graphs from wherever they lie: a folder, a zip archive, one file, or a benchmark."""

import json
from collections.abc import Container, Iterator, Mapping
from pathlib import Path, PurePosixPath

from reeltalk.errors import InputError
from reeltalk.graph.activity import ActivityGraph
from reeltalk.graph.activity_reading import read_activity
from reeltalk.graph.rdf import SUFFIXES, graph_name
from reeltalk.progress import CountProgress
from reeltalk.schema.media import Clip
from reeltalk.store.archives import is_zip, read_zip
from reeltalk.store.benchmark import GRAPHS, Benchmark
from reeltalk.store.documents import parse, read_json, read_text
from reeltalk.store.foreign import visible_files
from reeltalk.store.manifest import MANIFEST


def graph_texts(source: Path) -> Iterator[tuple[str, str, str]]:
    """Every graph file as (name of the activity, where it lies, text), in the order of names.

    Args:
        source: A folder that is searched, a benchmark, a zip archive, or one file.

    Raises:
        InputError: Nothing there, an unreadable archive, text that is not UTF-8, or two graphs of one name.
    """
    if not source.exists():
        raise InputError("no such file or folder", file=source, hint="give a folder or zip of activity graphs")
    seen: dict[str, str] = {}
    for name, where, text in _members(source):
        if name in seen:
            raise InputError(f"the graph {name!r} stands twice, also in {seen[name]}", file=where)
        seen[name] = where
        yield name, where, text
    if not seen:
        raise InputError(f"no activity graphs ({', '.join(SUFFIXES)})", file=source)


def _members(source: Path) -> Iterator[tuple[str, str, str]]:
    if (source / MANIFEST).is_file():
        benchmark = Benchmark.open(source)
        for name in sorted(benchmark.graphs()):
            yield name, str(source / GRAPHS / f"{name}.nq"), benchmark.graph(name)
        return
    if source.is_dir():
        for path in visible_files(source):
            if path.suffix.lower() in SUFFIXES:
                yield graph_name(path), str(path), read_text(path)
        return
    if not is_zip(source):
        if source.suffix.lower() not in SUFFIXES:
            raise InputError(
                "neither a folder, a zip archive nor a graph", file=source, hint=f"known: {', '.join(SUFFIXES)}"
            )
        yield graph_name(source), str(source), read_text(source)
        return
    members = read_zip(source, wanted=lambda name: PurePosixPath(name).suffix.lower() in SUFFIXES)
    for name, text in sorted(members):
        yield graph_name(name), f"{source}/{name}", text


def read_graphs(source: Path, *, progress: CountProgress | None = None) -> dict[str, ActivityGraph]:
    """All activity graphs of a folder, archive, file or benchmark by name.

    Args:
        source: See `graph_texts`.
        progress: Called with how many were read of how many.

    Raises:
        InputError: A graph is malformed; names file and line.
    """
    texts = list(graph_texts(source))
    graphs: dict[str, ActivityGraph] = {}
    for done, (name, where, text) in enumerate(texts, 1):
        graphs[name] = read_activity(text, file=where, name=name)
        if progress is not None:
            progress(done, len(texts))
    return graphs


def graph_of_clip(clip: Clip, known: Container[str]) -> str | None:
    """The graph that describes a clip: one of its own name, or of the activity that it is a part of a scenario for."""
    activity = clip.extra.get("activity")
    return next((name for name in (clip.id, activity) if isinstance(name, str) and name in known), None)


def read_scenarios(path: Path) -> dict[str, tuple[str, ...]]:
    """A scenario map: a JSON object of lists of activity names by scenario, in order.

    Raises:
        InputError: It is no such file; names the place.
    """
    scenarios = parse(dict[str, tuple[str, ...]], read_json(path), file=path)
    for scenario, activities in scenarios.items():
        if not activities:
            raise InputError("a scenario without activities", file=path, place=f"$.{scenario}")
        if scenario in ("", ".", "..") or not set(scenario).isdisjoint("/\\\0"):
            raise InputError("a scenario's name becomes a file's name", file=path, value=scenario)
    return scenarios


def read_initial_rooms(path: Path) -> dict[str, str]:
    """The room in which the person starts, by activity: a JSON object of strings.

    Raises:
        InputError: It is no such file; names the place.
    """
    return parse(dict[str, str], read_json(path), file=path)


def known_activities(scenarios: Mapping[str, tuple[str, ...]], known: Container[str], *, file: Path) -> None:
    """Make sure that every activity of a scenario map is known.

    Raises:
        InputError: One has no graph; names the place.
    """
    for scenario, activities in scenarios.items():
        for place, activity in enumerate(activities):
            if activity not in known:
                raise InputError("no graph of this activity", file=file, place=f"$.{scenario}[{place}]", value=activity)


def scenario_graphs(
    scenarios: Mapping[str, tuple[str, ...]], graphs: Mapping[str, ActivityGraph], *, file: Path
) -> dict[str, list[ActivityGraph]]:
    """Each scenario's activities.

    Raises:
        InputError: A scenario names an activity that has no graph.
    """
    known_activities(scenarios, graphs, file=file)
    return {name: [graphs[activity] for activity in activities] for name, activities in scenarios.items()}


def write_scenarios(scenarios: dict[str, tuple[str, ...]]) -> bytes:
    """A scenario map as JSON, one activity a line."""
    return (json.dumps(scenarios, indent=0, ensure_ascii=False) + "\n").encode()

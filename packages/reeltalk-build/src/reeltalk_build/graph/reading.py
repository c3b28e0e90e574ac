"""Reads activity graphs into memory, from text, a folder, a zip archive, one file or a benchmark.

A graph that contradicts itself or has dangling references is refused; the error names the line.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from reeltalk.errors import InputError
from reeltalk.language.vocabulary import HOLDING, SPATIAL
from reeltalk.progress import CountProgress
from reeltalk.schema.media import Clip
from reeltalk.store.archives import is_zip, read_zip
from reeltalk.store.benchmark import GRAPHS, Benchmark
from reeltalk.store.documents import parse, read_json, read_text
from reeltalk.store.foreign import visible_files
from reeltalk.store.manifest import MANIFEST
from reeltalk.store.tables import CLIPS
from reeltalk_build.graph.activity import ActivityEvent, ActivityGraph, Counterfactual, Shape, SpatialRelation
from reeltalk_build.graph.rdf import SUFFIXES, Triple, graph_name, parse_rdf, short_triples

_VERSION = re.compile(r"(?:shape_)?state(\d+)_(.+)")
_EVENT = re.compile(r"event(\d+)_(.+)")
_SITUATION = re.compile(r"home_situation(\d+)_(.+)")
_OBJECT: Final = r"[a-z_]*[a-z]\d+"
LONGEST_S: Final = 1e6
RELATION_KINDS: Final = (*SPATIAL, *HOLDING, "between")


def read_activity(text: str, *, file: Path | str, name: str) -> ActivityGraph:
    """Read an activity graph in any RDF format, full or curated.

    Raises:
        InputError: It is malformed; names the line.
    """
    return build_activity(short_triples(parse_rdf(text, file=file)), name=name, file=file, text=text)


def build_activity(triples: Iterable[Triple], *, name: str, file: Path | str, text: str = "") -> ActivityGraph:
    """Build an activity graph from triples.

    Raises:
        InputError: The graph contradicts itself or lacks what it must have; names the line.
    """
    return _Reader(tuple(triples), name=name, file=file, text=text).graph()


class _Reader:
    """Builds an `ActivityGraph` from triples and checks it."""

    def __init__(self, triples: tuple[Triple, ...], *, name: str, file: Path | str, text: str) -> None:
        self.triples, self.name, self.file, self.text = triples, name, file, text
        self.suffix = name.lower()
        self.scene = self.suffix.rsplit("_", 1)[-1]
        self.by_predicate: dict[str, list[Triple]] = defaultdict(list)
        for triple in triples:
            self.by_predicate[triple.predicate].append(triple)

    def fail(
        self, problem: str, triple: Triple | None = None, *, node: str = "", hint: str | None = None
    ) -> InputError:
        parts = [_local(part) for part in triple] if triple else [_local(node)] if node else []
        return InputError(problem, file=self.file, line=_line(self.text, parts), hint=hint)

    def graph(self) -> ActivityGraph:
        self._check_suffix()
        events = self._events()
        values = self._states()
        placed, shapes = self._shapes()
        self._check_situations(len(events))
        self._check_support(placed)
        return ActivityGraph(
            name=self.name,
            events=events,
            triples=self.triples,
            values=values,
            placed=placed,
            shapes=shapes,
            classes={
                self._object(triple.subject, triple): triple.object
                for triple in self.by_predicate["rdf:type"]
                if self._is_object(triple.subject)
            },
            attributes=self._attributes(),
            category=self._category(),
            begins_s=self._begins_s(),
            names={self._object(t.subject, t): t.object for t in self.by_predicate["name"]},
            counterfactuals=self._counterfactuals(len(events)),
            warnings=self._warnings(values, shapes, len(events)),
        )

    def _attributes(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = defaultdict(list)
        for triple in self.by_predicate["attribute"]:
            found[self._object(triple.subject, triple)].append(triple.object)
        return {name: tuple(sorted(values)) for name, values in found.items()}

    def _category(self) -> str | None:
        for triple in self.by_predicate["rdf:type"]:
            if _local(triple.subject) == self.suffix and triple.object.startswith("ho:"):
                return triple.object.removeprefix("ho:")
        return None

    def _begins_s(self) -> float | None:
        moments = {triple.subject: triple for triple in self.by_predicate["time:numericPosition"]}
        for triple in self.by_predicate["time:hasBeginning"]:
            if _local(triple.subject) == self.suffix and triple.object in moments:
                return self._seconds(moments[triple.object])
        return None

    def _counterfactuals(self, events: int) -> tuple[Counterfactual, ...]:
        parts: dict[str, dict[str, Triple]] = defaultdict(dict)
        for predicate in ("withoutEvent", "outcomeOf", "aspect", "outcome"):
            for triple in self.by_predicate[predicate]:
                parts[triple.subject][predicate] = triple
        found = []
        for given in parts.values():
            if len(given) != 4:
                triple = next(iter(given.values()))
                raise self.fail(
                    f"{_local(triple.subject)} dangles: it needs withoutEvent, outcomeOf, aspect, outcome", triple
                )
            without = given["withoutEvent"]
            event = self._index(_EVENT, without.object, without, "an event")
            if event >= events:
                raise self.fail(f"event {event} is missing", without)
            name = self._object(given["outcomeOf"].object, given["outcomeOf"])
            found.append(Counterfactual(event, name, given["aspect"].object, given["outcome"].object))
        return tuple(sorted(found, key=lambda row: (row.event, row.name, row.aspect, row.outcome)))

    def _check_suffix(self) -> None:
        activities = {_local(triple.subject): triple for triple in self.by_predicate["hasEvent"]}
        if not activities:
            raise self.fail("no activity: nothing has an event", hint="expected a VirtualHome2KG activity graph")
        for node, triple in activities.items():
            if node != self.suffix:
                raise self.fail(
                    f"the activity is named {node!r} and the file {self.name!r}",
                    triple,
                    hint="name the file after the activity",
                )

    def _events(self) -> tuple[ActivityEvent, ...]:
        activities = {triple.subject for triple in self.by_predicate["hasEvent"]}
        single: dict[str, dict[str, Triple]] = defaultdict(dict)
        for predicate in (
            *("action", "mainObject", "situationBeforeEvent", "situationAfterEvent", "from", "to"),
            *("agent", "causedBy", "purpose", "utterance", "speechAct"),
        ):
            for triple in self.by_predicate[predicate]:
                # An activity has an agent too, or several.
                if triple.subject in activities:
                    continue
                if predicate in single[triple.subject]:
                    raise self.fail(f"{_local(triple.subject)} has two values of {predicate}", triple)
                single[triple.subject][predicate] = triple
        targets: dict[str, list[str]] = defaultdict(list)
        for triple in self.by_predicate["targetObject"]:
            targets[triple.subject].append(self._object(triple.object, triple))
        lengths = {triple.subject: triple for triple in self.by_predicate["time:numericDuration"]}
        durations = {t.subject: lengths.get(t.object) for t in self.by_predicate["time:hasDuration"]}
        moments = {triple.subject: triple for triple in self.by_predicate["time:numericPosition"]}
        beginnings = {t.subject: moments.get(t.object) for t in self.by_predicate["time:hasBeginning"]}
        found: dict[int, ActivityEvent] = {}
        has_event = {triple.object: triple for triple in self.by_predicate["hasEvent"]}
        for node, triple in has_event.items():
            index = self._index(_EVENT, node, triple, "an event")
            parts = single.get(node, {})
            for needed in ("action", "situationBeforeEvent", "situationAfterEvent"):
                if needed not in parts:
                    raise self.fail(f"{_local(node)} dangles: it has no {needed}", triple)
            for predicate, situation in (("situationBeforeEvent", index), ("situationAfterEvent", index + 1)):
                given = self._index(_SITUATION, parts[predicate].object, parts[predicate], "a situation")
                if given != situation:
                    raise self.fail(
                        f"{predicate} of event {index} is situation {given}, not {situation}", parts[predicate]
                    )
            if not parts["action"].object.startswith("action/"):
                raise self.fail(f"{parts['action'].object!r} is no action", parts["action"])
            length, beginning = durations.get(node), beginnings.get(node)
            agent, cause, purpose = parts.get("agent"), parts.get("causedBy"), parts.get("purpose")
            found[index] = ActivityEvent(
                index=index,
                action=parts["action"].object.removeprefix("action/"),
                main=self._object(parts["mainObject"].object, parts["mainObject"]) if "mainObject" in parts else None,
                targets=tuple(sorted(targets.get(node, ()))),
                from_room=self._object(parts["from"].object, parts["from"]) if "from" in parts else None,
                to_room=self._object(parts["to"].object, parts["to"]) if "to" in parts else None,
                duration_s=self._seconds(length) if length else None,
                agent=self._object(agent.object, agent) if agent else None,
                begins_s=self._seconds(beginning) if beginning else None,
                cause=self._index(_EVENT, cause.object, cause, "an event") if cause else None,
                purpose=self._index(_EVENT, purpose.object, purpose, "an event") if purpose else None,
                says=parts["utterance"].object if "utterance" in parts else None,
                speech_act=parts["speechAct"].object if "speechAct" in parts else None,
            )
            if cause and (found[index].cause or 0) >= index:
                raise self.fail(f"event {index} is caused by a later event", cause)
            if purpose and not index < (found[index].purpose or 0) < len(has_event):
                raise self.fail(f"the purpose of event {index} is no later event", purpose)
        for node, parts in single.items():
            if node not in has_event:
                raise self.fail(f"{_local(node)} dangles: no activity has it as an event", next(iter(parts.values())))
        if sorted(found) != list(range(len(found))):
            missing = min(set(range(len(found))) - set(found))
            raise self.fail(f"event {missing} is missing: there are {len(found)} events up to {max(found)}")
        return tuple(found[index] for index in range(len(found)))

    def _states(self) -> dict[str, dict[int, tuple[str, ...]]]:
        owners: dict[str, tuple[str, int]] = {}
        for triple in self.by_predicate["isStateOf"]:
            name, since = self._version(triple.subject, triple)
            if self._object(triple.object, triple) != name:
                raise self.fail(
                    f"{_local(triple.subject)} is the state of another object, {_local(triple.object)}", triple
                )
            owners[triple.subject] = (name, since)
        values: dict[str, dict[int, list[str]]] = defaultdict(dict)
        for name, since in owners.values():
            values[name][since] = []
        for triple in self.by_predicate["state"]:
            if triple.subject not in owners:
                raise self.fail(f"{_local(triple.subject)} dangles: it is the state of no object", triple)
            name, since = owners[triple.subject]
            values[name][since].append(triple.object)
        for triple in self.by_predicate["bbox"]:
            if triple.subject not in owners:
                raise self.fail(f"{_local(triple.subject)} dangles: it is the state of no object", triple)
            if self._version(triple.object, triple) != owners[triple.subject]:
                raise self.fail("a state's shape is another's", triple)
        return {
            name: {since: tuple(sorted(found)) for since, found in sorted(versions.items())}
            for name, versions in values.items()
        }

    def _shapes(self) -> tuple[dict[Shape, tuple[SpatialRelation, ...]], dict[str, tuple[int, ...]]]:
        placed: dict[Shape, list[SpatialRelation]] = defaultdict(list)
        shapes: dict[str, set[int]] = defaultdict(set)
        for triple in self.by_predicate["bbox"]:
            name, since = self._version(triple.object, triple)
            shapes[name].add(since)
        for kind in RELATION_KINDS:
            for triple in self.by_predicate[kind]:
                source = Shape(*self._version(triple.subject, triple))
                target = Shape(*self._version(triple.object, triple))
                if source.object == target.object:
                    raise self.fail(f"{source.object} is {kind} itself", triple)
                placed[source].append(SpatialRelation(kind, target))
                shapes[source.object].add(source.since)
                shapes[target.object].add(target.since)
        # Sorted, so that a graph means the same however its lines are ordered.
        return (
            {shape: tuple(sorted(found)) for shape, found in placed.items()},
            {name: tuple(sorted(found)) for name, found in shapes.items()},
        )

    def _check_support(self, placed: dict[Shape, tuple[SpatialRelation, ...]]) -> None:
        """Check that no object rests on another that rests on it."""
        rests = {
            shape: [p.target for p in found if p.kind in ("inside", "on") and p.target in placed]
            for shape, found in placed.items()
        }
        done: set[Shape] = set()
        for start in rests:
            path: list[Shape] = []
            stack = [(start, iter(rests[start]))]
            while stack:
                shape, targets = stack[-1]
                if len(path) < len(stack):
                    path.append(shape)
                following = next((target for target in targets if target not in done), None)
                if following is None:
                    done.add(shape)
                    stack.pop()
                    path.pop()
                elif following in path:
                    loop = [*path[path.index(following) :], following]
                    raise self.fail(
                        "a cycle in support: " + " rests on ".join(step.node for step in loop),
                        node=f"shape_{following.node}_{self.suffix}",
                    )
                else:
                    stack.append((following, iter(rests[following])))

    def _check_situations(self, events: int) -> None:
        """Check that every situation with a state is before or after an event."""
        for triple in self.by_predicate["partOf"]:
            if (given := self._index(_SITUATION, triple.object, triple, "a situation")) > events:
                raise self.fail(f"situation {given} is missing: the last event ends in situation {events}", triple)

    def _warnings(
        self, values: dict[str, dict[int, tuple[str, ...]]], shapes: dict[str, tuple[int, ...]], events: int
    ) -> tuple[str, ...]:
        # 18 of the 706 released graphs lack their last two events but not the states after them.
        versions = {since for found in (*values.values(), *shapes.values()) for since in found}
        beyond = sorted(since for since in versions if since > events)
        return (f"states begin after the last situation {events}: {', '.join(map(str, beyond))}",) if beyond else ()

    def _seconds(self, triple: Triple) -> float:
        try:
            seconds = float(triple.object)
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds < LONGEST_S:
            raise self.fail(f"a time is no number of seconds: {triple.object!r}", triple)
        return seconds

    def _is_object(self, node: str) -> bool:
        return re.fullmatch(rf"{_OBJECT}_{re.escape(self.scene)}", _local(node)) is not None

    def _object(self, node: str, triple: Triple) -> str:
        if not self._is_object(node):
            raise self.fail(
                f"{_local(node)!r} is no object of {self.scene}", triple, hint=f"expected as tv297_{self.scene}"
            )
        return _local(node)[: -len(self.scene) - 1]

    def _index(self, pattern: re.Pattern[str], node: str, triple: Triple, what: str) -> int:
        match = pattern.fullmatch(_local(node))
        if match is None or match[2] != self.suffix or len(match[1]) > 6:
            raise self.fail(f"{_local(node)!r} is not the name of {what} of {self.suffix}", triple)
        return int(match[1])

    def _match_version(self, node: str) -> tuple[str, int] | None:
        match = _VERSION.fullmatch(_local(node))
        ending = f"_{self.suffix}"
        if match is None or not match[2].endswith(ending) or len(match[1]) > 6:
            return None
        name = match[2][: -len(ending)]
        return (name, int(match[1])) if re.fullmatch(_OBJECT, name) else None

    def _version(self, node: str, triple: Triple) -> tuple[str, int]:
        found = self._match_version(node)
        if found is None:
            raise self.fail(
                f"{_local(node)!r} is not a state or shape of {self.suffix}",
                triple,
                hint=f"expected as state0_tv297_{self.suffix}",
            )
        return found


def _local(node: str) -> str:
    return node.removeprefix("ex:")


def _line(text: str, parts: list[str]) -> int | None:
    """Number of the first line with all of `parts`, otherwise with the first of them; None without text."""
    if not text or not parts:
        return 1 if text else None
    wanted = [_escaped(part) for part in parts]
    fallback: int | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if wanted[0] in line:
            if all(part in line for part in wanted):
                return number
            fallback = fallback or number
    return fallback or 1


def _escaped(part: str) -> str:
    # A file writes `rdf:type` as an IRI, or as `a`.
    return part.rsplit(":", 1)[-1] if part != "rdf:type" else ""


def graph_texts(source: Path) -> Iterator[tuple[str, str, str]]:
    """Yield every graph file as (name of the activity, path, text), sorted by name.

    Args:
        source: A folder to search, a benchmark, a zip archive, or one file.

    Raises:
        InputError: There are no graphs, the archive is unreadable, a text is not UTF-8, or two graphs have one name.
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
    members = read_zip(source, is_read=lambda name: PurePosixPath(name).suffix.lower() in SUFFIXES)
    for name, text in sorted(members):
        yield graph_name(name), f"{source}/{name}", text


def read_graphs(source: Path, *, progress: CountProgress | None = None) -> dict[str, ActivityGraph]:
    """Read all activity graphs of a folder, archive, file or benchmark, by name.

    Raises:
        InputError: A graph is malformed; the message names file and line.
    """
    texts = list(graph_texts(source))
    graphs: dict[str, ActivityGraph] = {}
    for done, (name, where, text) in enumerate(texts, 1):
        graphs[name] = read_activity(text, file=where, name=name)
        if progress is not None:
            progress(done, len(texts))
    return graphs


def graph_of_clip(clip: Clip, known: Container[str]) -> str | None:
    """Name of the graph of a clip: the clip's identifier, or the activity in its `extra`; None if there is no graph."""
    activity = clip.extra.get("activity")
    return next((name for name in (clip.id, activity) if isinstance(name, str) and name in known), None)


class VideoGraphs:
    """The graphs of a benchmark, read video by video. One that several clips have stays in memory until the last.

    Raises:
        InputError: A table is damaged.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark, self._names = benchmark, set(benchmark.graphs())
        clips = benchmark.table(CLIPS)
        found = (graph_of_clip(clip, self._names) for clip in clips)
        self._uses = Counter(name for name in found if name is not None)
        self._clips = clips.grouped()
        self._cached: dict[str, ActivityGraph] = {}
        self._unread = set(self._names)

    def of(self, video_id: str) -> list[ActivityGraph]:
        """The graphs of a video's clips, in order. Ask once for each video.

        Raises:
            InputError: A graph is malformed; the message names file and line.
        """
        # Clips without times are in the order of the table, as in VDAct's recovered scenarios.
        ordered = sorted(
            self._clips.get(video_id, ()), key=lambda clip: clip.interval.start_s if clip.interval else 0.0
        )
        names = (graph_of_clip(clip, self._names) for clip in ordered)
        return [self._read(name) for name in names if name is not None]

    def rest(self) -> Iterator[ActivityGraph]:
        """The graphs of all videos that `of` was not called with.

        Raises:
            InputError: As `of`.
        """
        for name in sorted(self._unread):
            yield self._read(name)

    def _read(self, name: str) -> ActivityGraph:
        graph = self._cached.pop(name, None)
        if graph is None:
            self._unread.discard(name)
            file = self._benchmark.path / GRAPHS / f"{name}.nq"
            graph = read_activity(self._benchmark.graph(name), file=file, name=name)
        self._uses[name] -= 1
        if self._uses[name] > 0:
            self._cached[name] = graph
        return graph


def read_scenarios(path: Path) -> dict[str, tuple[str, ...]]:
    """Read a scenario map: a JSON object with a list of activity names, in order, for each scenario.

    Raises:
        InputError: The file is malformed; the message says where.
    """
    scenarios = parse(dict[str, tuple[str, ...]], read_json(path), file=path)
    for scenario, activities in scenarios.items():
        if not activities:
            raise InputError("a scenario without activities", file=path, place=f"$.{scenario}")
        if scenario in ("", ".", "..") or not set(scenario).isdisjoint("/\\\0"):
            raise InputError("a scenario's name becomes a file's name", file=path, value=scenario)
    return scenarios


def read_initial_rooms(path: Path) -> dict[str, str]:
    """Read the start rooms of the person by activity: a JSON object of strings.

    Raises:
        InputError: The file is malformed; the message says where.
    """
    return parse(dict[str, str], read_json(path), file=path)


def require_activities(scenarios: Mapping[str, tuple[str, ...]], known: Container[str], *, file: Path) -> None:
    """Check that every activity of a scenario map has a graph.

    Raises:
        InputError: An activity has no graph; the message says where.
    """
    for scenario, activities in scenarios.items():
        for place, activity in enumerate(activities):
            if activity not in known:
                raise InputError("no graph of this activity", file=file, place=f"$.{scenario}[{place}]", value=activity)


def scenario_graphs(
    scenarios: Mapping[str, tuple[str, ...]], graphs: Mapping[str, ActivityGraph], *, file: Path
) -> dict[str, list[ActivityGraph]]:
    """The activities of each scenario, in order.

    Raises:
        InputError: A scenario names an activity without a graph.
    """
    require_activities(scenarios, graphs, file=file)
    return {name: [graphs[activity] for activity in activities] for name, activities in scenarios.items()}

"""Commands on activity graphs, and on scenarios that are composed of them."""

import contextlib
import json
import os
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import App, Group, Parameter

from reeltalk.cli.options import FLAG, MODEL, OUT, OVERWRITE, SELECT, SELECTION
from reeltalk.cli.terminal import ProgressBar, refuse_existing, say
from reeltalk.errors import BenchmarkError, InputError, ModelError, SettingError
from reeltalk.graph.scenario import ComposeSettings
from reeltalk.schema.server_address import check_address, check_server
from reeltalk.schema.settings import check_counts

if TYPE_CHECKING:
    from reeltalk.graph.activity import ActivityGraph
    from reeltalk.graph.scenario import ActivityCard

ROOMS = Parameter(name="--initial-rooms", group=SELECTION)
WARNINGS_SHOWN: Final = 3
COMPOSE_DEFAULTS = ComposeSettings()
CONSTRAINTS = Group("Constraints", sort_key=2)
IN_MODEL = Parameter(group=MODEL)
API_KEY_ENV: Final = "OPENAI_API_KEY"
GRAPH_COMMANDS = Group("Graph options", sort_key=1)

graph = App(name="graph", group_commands=Group("Commands", sort_key=0), group_parameters=GRAPH_COMMANDS)


@graph.command(sort_key=1)
def curate(
    graphs: Path,
    /,
    *,
    out: Path,
    released: Annotated[bool, Parameter(negative="")] = False,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Keep the parts of full activity graphs that concern main and target objects, as VDAct did.

    Example: `reeltalk graph curate full-graphs/ --out curated/`.

    Parameters
    ----------
    graphs
        Folder, zip archive or file of activity graphs: N-Triples, N-Quads, Turtle or RDF/XML.
    out
        Folder of N-Triples to create.
    released
        Keep only the 14 predicates of VDAct's released graphs: no times, rooms or hands.
    overwrite
        Replace an existing folder.
    """
    from reeltalk.graph.rdf import curate_triples, ntriples, parse_rdf
    from reeltalk.graph.reading import graph_texts
    from reeltalk.store.atomic import writing_directory

    texts = list(graph_texts(graphs))
    before = after = 0
    with writing_directory(out, overwrite=overwrite) as folder, ProgressBar() as bar:
        for done, (name, where, text) in enumerate(texts, 1):
            full = parse_rdf(text, file=where)
            kept = curate_triples(full, timed=not released)
            (folder / f"{name}.nt").write_text(ntriples(kept), encoding="utf-8")
            before, after = before + len(full), after + len(kept)
            bar.show("curating graphs", done, len(texts), done / len(texts))
    count = len(texts)
    print(f"{count:,} graphs in {out}: {before / count:,.1f} triples a graph before, {after / count:,.1f} after")
    return 0


@graph.command(sort_key=2)
def query(
    graphs: Path,
    name: str | None = None,
    /,
    *,
    sparql: Path | None = None,
    activity: str | None = None,
    object: str | None = None,
    situation: int | None = None,
    start: float | None = None,
    end: float | None = None,
) -> int:
    """Query activity graphs with a named query or your own SPARQL; prints one JSON object per line.

    Without a name, lists the queries.

    Example: `reeltalk graph query kg_activity.zip state-at --activity Brush_teeth1_scene1 --object faucet52 --situation
    11`.

    Parameters
    ----------
    graphs
        Folder, zip archive, file or benchmark.
    name
        Name of the query.
    sparql
        A file with a SELECT query of your own.
    activity
        Query only this activity or clip.
    object
        An object, such as tv297.
    situation
        Index of a situation, from 0.
    start
        Start of an interval, in seconds from the activity's start.
    end
        End of the interval.
    """
    from reeltalk.graph.knowledge_graph import KnowledgeGraph, describe_query, named_queries
    from reeltalk.store.documents import read_text

    if name is None and sparql is None:
        for known in named_queries():
            print(f"{known}: {describe_query(known)}")
        return 0
    if name is not None and sparql is not None:
        raise SettingError("give the name of a query or --sparql, not both")
    store = KnowledgeGraph.load(graphs)
    if sparql is not None:
        rows = store.select(read_text(sparql), file=sparql)
    else:
        assert name is not None
        if object is not None and activity is None:
            raise SettingError("--object needs --activity: objects of different environments share names")
        values: dict[str, str | float] = {}
        if object is not None and activity is not None:
            node = activity.lower()
            values["shape_of" if name == "placed-at" else "object"] = (
                f"{object}_{node}" if name == "placed-at" else f"{object}_{node.rsplit('_', 1)[-1]}"
            )
        for option, value in (("situation", situation), ("start", start), ("end", end)):
            if value is not None:
                values[option] = value
        rows = store.ask(name, graph=activity, **values)
    for row in rows:
        print(json.dumps(row, ensure_ascii=False))
    say(f"{len(rows):,} rows")
    return 0


@graph.command(sort_key=3)
def tell(
    graphs: Path,
    /,
    *,
    scenarios: Annotated[Path | None, SELECT] = None,
    initial_rooms: Annotated[Path | None, ROOMS] = None,
    limit: Annotated[int | None, SELECT] = None,
    out: Annotated[Path | None, OUT] = None,
    check: Path | None = None,
    model: Annotated[str | None, IN_MODEL] = None,
    base_url: Annotated[str | None, IN_MODEL] = None,
    api_key_env: Annotated[str, IN_MODEL] = API_KEY_ENV,
    prompts: Annotated[Path | None, IN_MODEL] = None,
    connections: Annotated[int, IN_MODEL] = 4,
    preflight: Annotated[bool, IN_MODEL] = True,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Describe graphs in template sentences, one text per scenario, like VDAct's template summaries.

    With --model a language model turns the sentences into prose that adds nothing; run it again to continue after an
    interruption. With --check nothing is written: existing texts are compared with their graphs. Both print the
    claims that the graph does not support. Exit code 1 if there are any, or if a text failed.

    Example: `reeltalk graph tell kg_activity.zip --scenarios scenario_to_activities.json --initial-rooms
    initial_rooms.json --out summaries/`, then `reeltalk graph tell kg_activity.zip --scenarios
    scenario_to_activities.json --model gpt-4o-mini --out refined/`.

    Parameters
    ----------
    graphs
        Folder, zip archive, file or benchmark of activity graphs.
    scenarios
        JSON object of lists of activities by scenario. Without it the videos of a benchmark, or each activity alone.
    initial_rooms
        JSON object of the room in which the person starts, by activity; by default from the graphs, if they name it.
    limit
        Only the first scenarios, up to this number.
    out
        Folder of texts to create.
    check
        Folder of texts named after their scenarios, such as 00001.txt, to compare with their graphs.
    model
        Name of a language model, as the server knows it.
    base_url
        Address of an OpenAI-compatible server, such as http://localhost:8000/v1.
    api_key_env
        Environment variable that holds the key.
    prompts
        Folder of prompts in place of ours, as `reeltalk prompts --out` writes one.
    connections
        Requests at a time.
    preflight
        Ask the server for one small reply first, to find its problems and the options that it accepts.
    overwrite
        Replace an existing folder. A folder of --model is continued instead.
    """
    if check is not None and (model is not None or out is not None):
        raise SettingError("--check compares texts that exist; leave out --model and --out")
    if check is not None and scenarios is None:
        raise SettingError("--check needs --scenarios, which name the texts")
    if model is None and (base_url, api_key_env, prompts, connections, preflight) != (None, API_KEY_ENV, None, 4, True):
        raise SettingError("--base-url, --api-key-env, --prompts, --connections and --no-preflight are for --model")
    if limit is not None and limit < 1:
        raise SettingError(f"--limit {limit}: at least one scenario is needed")
    if check is not None:
        return _check_texts(check, graphs, scenarios, initial_rooms, limit)
    if out is None:
        raise SettingError("graph tell needs --out FOLDER, or --check FOLDER")
    if model is not None:
        if overwrite:
            raise SettingError("--overwrite: a folder of --model is continued; choose another --out to begin anew")
        return _refine(
            graphs,
            scenarios,
            initial_rooms,
            out,
            model=model,
            base_url=base_url,
            api_key_env=api_key_env,
            connections=connections,
            limit=limit,
            prompts=prompts,
            preflight=preflight,
        )
    from reeltalk.graph import telling
    from reeltalk.store.atomic import writing_directory

    by_scenario, rooms = read_by_scenario(graphs, scenarios, initial_rooms)
    by_scenario = dict(list(by_scenario.items())[:limit])
    lines = 0
    with writing_directory(out, overwrite=overwrite) as folder, ProgressBar() as bar:
        for done, (name, activities) in enumerate(by_scenario.items(), 1):
            text = telling.tell_scenario(activities, rooms)
            lines += text.count("\n")
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")
            bar.show("telling", done, len(by_scenario), done / len(by_scenario))
    count = len(by_scenario)
    print(f"{count:,} texts of {lines / max(count, 1):.1f} lines on average in {out}")
    return 0


def _refine(
    graphs: Path,
    scenarios: Path | None,
    initial_rooms: Path | None,
    out: Path,
    *,
    model: str,
    base_url: str | None,
    api_key_env: str,
    connections: int,
    limit: int | None,
    prompts: Path | None,
    preflight: bool,
) -> int:
    from reeltalk.graph import grounding
    from reeltalk.llm import Endpoint, LanguageModel, Message
    from reeltalk.llm.preflight import preflight as check_server_now
    from reeltalk.llm.prompts import prompts_in
    from reeltalk.llm.retrying import Breaker
    from reeltalk.llm.scrubbing import public_address
    from reeltalk.llm.wire import describe_endpoint
    from reeltalk.stages.prompt_folders import REFINE, check_folder

    if base_url is not None:
        check_address(base_url, "--base-url")
    key = os.environ.get(api_key_env)
    check_server(model, base_url, api_key_env)
    if connections < 1:
        raise SettingError(f"--connections {connections}: at least one is needed")
    by_scenario, rooms = read_by_scenario(graphs, scenarios, initial_rooms)
    endpoint = Endpoint(model=model, base_url=base_url)
    check_folder(prompts, REFINE)
    prompt = prompts_in(prompts, REFINE)["refine"]
    tried = partial(check_server_now, endpoint, api_key=key, key_variable=api_key_env) if preflight else None
    breaker = Breaker(describe_endpoint(endpoint), give_up_after_s=endpoint.give_up_after_s, preflight=tried)
    asked = LanguageModel(endpoint, api_key=key, breaker=breaker)

    address = None if base_url is None else public_address(base_url)

    def ask(text: str) -> str:
        reply = asked.ask([Message("user", prompt.fill(text=text))])
        if reply.cut_off:
            raise ModelError(f"the reply did not end within {endpoint.max_tokens:,} tokens")
        return reply.text

    with contextlib.closing(asked), ProgressBar() as bar:
        done = grounding.refine(
            dict(list(by_scenario.items())[:limit]),
            rooms,
            out,
            ask=ask,
            signature={"prompt": prompt.signature, "model": model, "base_url": address, **asked.sampling},
            connections=connections,
            progress=lambda n, total: bar.show("refining", n, total, n / total),
        )
    for name, reason in done.failed.items():
        print(f"{name}: not written: {reason}")
    _print_claims({name: [claim.line for claim in claims] for name, claims in done.claims.items()})
    print(
        f"{done.written:,} texts written, {done.kept:,} kept, {len(done.failed):,} failed, {len(done.claims):,} with "
        f"claims that the graph cannot ground: {out}"
    )
    return 1 if done.failed or done.claims else 0


def _check_texts(
    texts: Path, graphs: Path, scenarios: Path | None, initial_rooms: Path | None, limit: int | None
) -> int:
    from reeltalk.graph.grounding import ungrounded
    from reeltalk.store.documents import read_text

    by_scenario, rooms = read_by_scenario(graphs, scenarios, initial_rooms)
    if not texts.is_dir():
        raise InputError("no such folder", file=texts, hint="give a folder of texts named after their scenarios")
    found: dict[str, list[str]] = {}
    checked = 0
    for name, activities in list(by_scenario.items())[:limit]:
        if (path := texts / f"{name}.txt").is_file():
            checked += 1
            if claims := ungrounded(read_text(path), activities, rooms):
                found[name] = [claim.line for claim in claims]
    _print_claims(found)
    total = sum(map(len, found.values()))
    print(f"{checked:,} texts checked; {len(found):,} with {total:,} claims that the graph cannot ground")
    return 1 if found else 0


def _print_claims(claims: dict[str, list[str]]) -> None:
    for name, lines in claims.items():
        for line in lines:
            print(f"{name}: {line}")


@graph.command(sort_key=4)
def questions(
    benchmark: Path,
    /,
    *,
    per_video: int = 3,
    turns: int = 10,
    proactive: Annotated[bool, FLAG] = False,
    per_kind: int = 1,
    seed: int = 17,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Write dialogues about a benchmark's videos from their graphs. SPARQL checks the exact answers again.

    With --proactive, write streams for models that speak unasked into proactive.jsonl instead: events to look out for,
    questions whose answers change or are not shown yet, and requests that are changed and cancelled, with the moments
    at which a reply is due. Surface forms are divided among the splits.

    Example: `reeltalk graph questions benchmarks/household`, or `reeltalk graph questions benchmarks/household
    --proactive`.

    Parameters
    ----------
    benchmark
        A benchmark whose clips have graphs, as `world film` makes it.
    per_video
        Dialogues per video.
    turns
        Turns per dialogue.
    proactive
        Write proactive tasks in place of dialogues; the graphs must have times.
    per_kind
        Proactive tasks of each kind for a video, at most: event, room, state, count, absent, narrate, changing, ready,
        standing.
    seed
        Seed of the choice of questions.
    overwrite
        Replace existing dialogues or tasks.
    """
    if proactive:
        return _write_tasks(benchmark, per_kind=per_kind, seed=seed, overwrite=overwrite)
    from reeltalk.construct.leakage import leak_of
    from reeltalk.questions.asking import write_question_dialogues
    from reeltalk.store.benchmark import Benchmark

    for option, value in (("--per-video", per_video), ("--turns", turns)):
        if value < 1:
            raise SettingError(f"{option} {value}: at least one is needed")
    with ProgressBar() as bar:
        done = write_question_dialogues(
            Benchmark.open(benchmark),
            per_video=per_video,
            turns=turns,
            seed=seed,
            overwrite=overwrite,
            is_told=leak_of,
            progress=lambda n, total: bar.show("asking", n, total, n / total),
        )
    print(f"{done.dialogues:,} dialogues, {done.turns:,} turns in {benchmark}")
    for name, counts in (("types", done.types), ("answers", done.answer_types), ("forms by split", done.forms)):
        print(f"{name}: {', '.join(f'{key} {count:,}' for key, count in counts.items())}")
    if done.without_graphs:
        print(f"left out: {done.without_graphs:,} videos without graphs")
    print(f"SPARQL agrees on {done.checked:,} of {done.turns:,} turns")
    return 0


def _write_tasks(benchmark: Path, *, per_kind: int, seed: int, overwrite: bool) -> int:
    from reeltalk.questions.asking import write_tasks
    from reeltalk.store.benchmark import Benchmark

    check_counts(**{"per-kind": per_kind})
    with ProgressBar() as bar:
        done = write_tasks(
            Benchmark.open(benchmark),
            per_kind=per_kind,
            seed=seed,
            overwrite=overwrite,
            progress=lambda n, total: bar.show("writing", n, total, n / total),
        )
    print(f"{done.tasks:,} tasks, {done.requests:,} requests, {done.moments:,} moments in {benchmark}")
    print(f"kinds: {', '.join(f'{kind} {count:,}' for kind, count in done.kinds.items())}")
    if done.checked:
        print(f"SPARQL agrees on {done.checked:,} requests")
    if done.without_graphs:
        print(f"left out: {done.without_graphs:,} videos without graphs that tell when things happen")
    return 0


def scenario(
    graphs: Path,
    /,
    *,
    check: Path | None = None,
    join: Path | None = None,
    videos: Path | None = None,
    initial_rooms: Annotated[Path | None, ROOMS] = None,
    activities: Annotated[Path | None, SELECT] = None,
    out: Annotated[Path | None, OUT] = None,
    overwrite: Annotated[bool, OVERWRITE] = False,
    settings: Annotated[ComposeSettings, Parameter(name="*", group=CONSTRAINTS)] = COMPOSE_DEFAULTS,
) -> int:
    """Compose scenarios of activities under VDAct's constraints, and draw a seeded sample.

    --check tests existing scenarios against each constraint; exit code 1 if one that can be checked fails. --join
    joins the activities of each scenario: graphs by `nextActivity`, videos one after the other.

    Example: `reeltalk scenario kg_activity.zip --initial-rooms initial_rooms.json --sample 1000 --out scenarios.json`,
    then `reeltalk scenario kg_activity.zip --check scenarios.json` and `reeltalk scenario kg_activity.zip --join
    scenarios.json --videos films/ --out joined/`.

    Parameters
    ----------
    graphs
        Folder, zip archive, file or benchmark of activity graphs.
    check
        Check these scenarios: a JSON object of lists of activities by scenario.
    join
        Join the activities of these scenarios: a JSON object of lists of activities by scenario.
    videos
        With --join: folder of the activities' videos, named after them, of one size and codec.
    initial_rooms
        JSON object of start rooms by activity.
    activities
        JSON object, by activity, of values that the graphs lack: start_room, end_room, duration_s, views, category.
    out
        JSON file to write: lists of activities by scenario. With --join a folder: ID.nq, and ID.mp4 with --videos.
    overwrite
        Replace existing output.
    """
    if check is not None and (join is not None or out is not None):
        raise SettingError("--check writes nothing; leave out --join and --out")
    if videos is not None and join is None:
        raise SettingError("--videos are joined by --join")
    if check is not None:
        return _check_scenarios(check, _cards(graphs, initial_rooms, activities), settings)
    if out is None:
        raise SettingError("scenario needs --out, or --check")
    if join is not None:
        return _join(join, graphs, out, videos=videos, overwrite=overwrite)
    return _compose(graphs, out, initial_rooms, activities, settings, overwrite=overwrite)


def _compose(
    graphs: Path,
    out: Path,
    initial_rooms: Path | None,
    activities: Path | None,
    settings: ComposeSettings,
    *,
    overwrite: bool,
) -> int:
    from reeltalk.graph.reading import dump_scenarios
    from reeltalk.graph.scenario import PAPER_CANDIDATES, check_scenarios
    from reeltalk.graph.scenario import compose as run
    from reeltalk.store.atomic import write_bytes

    refuse_existing(out, overwrite=overwrite)
    cards = _cards(graphs, initial_rooms, activities)
    with ProgressBar() as bar:
        done = run(cards, settings, progress=lambda n, total: bar.show("composing: round", n, total, n / total))
    write_bytes(out, dump_scenarios(done.sampled))
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
    for constraint in check_scenarios(done.candidates, cards, settings):
        print(f"candidates, {constraint.line}")
    _show_lengths(done.sampled, cards, settings)
    print(f"{len(done.candidates):,} candidates ({PAPER_CANDIDATES:,} in the paper), {len(done.sampled):,} in {out}")
    return 0


def _show_lengths(
    scenarios: "dict[str, tuple[str, ...]]", cards: "dict[str, ActivityCard]", settings: ComposeSettings
) -> None:
    """Print the scenarios' numbers of activities, events and seconds, compared with VDAct's."""
    from reeltalk.graph.activity import released_lengths
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
    from reeltalk.graph.reading import read_initial_rooms
    from reeltalk.graph.scenario import activity_cards

    rooms = read_initial_rooms(initial_rooms) if initial_rooms else None
    return activity_cards(read_known(graphs), initial_rooms=rooms, table=activities)


def _check_scenarios(scenarios: Path, cards: "dict[str, ActivityCard]", settings: ComposeSettings) -> int:
    from reeltalk.graph.reading import read_scenarios, require_activities
    from reeltalk.graph.scenario import check_scenarios as find

    given = read_scenarios(scenarios)
    require_activities(given, cards, file=scenarios)
    found = find(given, cards, settings)
    for constraint in found:
        print(constraint.line)
    return 1 if any(constraint.fails and constraint.basis == "checked" for constraint in found) else 0


def _join(join: Path, graphs: Path, out: Path, *, videos: Path | None, overwrite: bool) -> int:
    from reeltalk.graph.rdf import parse_rdf, quads_of
    from reeltalk.graph.reading import graph_texts, read_scenarios, scenario_graphs
    from reeltalk.graph.story import scenario_quads, starts_s
    from reeltalk.store.atomic import writing_directory

    given = read_scenarios(join)
    known = read_known(graphs)
    joined = scenario_graphs(given, known, file=join)
    texts = {name: (where, text) for name, where, text in graph_texts(graphs)}
    films = {path.stem: path for path in sorted(videos.iterdir()) if path.is_file()} if videos else {}
    times: dict[str, list[float] | None] = {}
    with writing_directory(out, overwrite=overwrite) as folder, ProgressBar() as bar:
        for done, (name, activities) in enumerate(joined.items(), 1):
            quads = [quads_of(parse_rdf(texts[a.name][1], file=texts[a.name][0]), name=a.name) for a in activities]
            (folder / f"{name}.nq").write_text("".join(quads) + scenario_quads(name, activities), encoding="utf-8")
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
    """Start times of each scenario's activities in its video. Child processes decode the videos."""
    from reeltalk.parallel import Call, Failure, LocalExecutor

    names = list(parts)
    calls = [Call({"parts": list(parts[name]), "target": str(folder / f"{name}.mp4")}) for name in names]
    starts: dict[str, list[float] | None] = {}
    for index, outcome in LocalExecutor().map("reeltalk.video.write:join", calls):
        if isinstance(outcome, Failure):
            raise BenchmarkError(f"the videos of scenario {names[index]} cannot be joined: {outcome}")
        starts[names[index]] = outcome
    return starts


def read_known(graphs: Path) -> "dict[str, ActivityGraph]":
    """All activity graphs by name, with progress and a warning for each odd one."""
    from reeltalk.graph.reading import read_graphs

    with ProgressBar() as bar:
        known = read_graphs(graphs, progress=lambda done, total: bar.show("reading graphs", done, total, done / total))
    odd = {name: activity.warnings[0] for name, activity in known.items() if activity.warnings}
    for name, warning in list(odd.items())[:WARNINGS_SHOWN]:
        say(f"warning: {name}: {warning}")
    if len(odd) > WARNINGS_SHOWN:
        say(f"warning: {len(odd) - WARNINGS_SHOWN:,} more graphs are odd in such a way")
    return known


def read_by_scenario(
    graphs: Path, scenarios: Path | None, initial_rooms: Path | None
) -> "tuple[dict[str, list[ActivityGraph]], dict[str, str]]":
    """Activities by scenario, and start rooms."""
    from reeltalk.graph.reading import read_initial_rooms, read_scenarios, scenario_graphs
    from reeltalk.graph.telling import initial_room

    known = read_known(graphs)
    if initial_rooms is not None:
        rooms = read_initial_rooms(initial_rooms)
    else:
        rooms = {name: room for name, activity in known.items() if (room := initial_room(activity))}
    if scenarios is None and (graphs / "manifest.json").is_file():
        from reeltalk.questions.asking import stories
        from reeltalk.store.benchmark import Benchmark

        opened = Benchmark.open(graphs)
        return {video.id: [known[name] for name in texts] for video, _, texts in stories(opened) if texts}, rooms
    if scenarios is None:
        return {name: [activity] for name, activity in known.items()}, rooms
    return scenario_graphs(read_scenarios(scenarios), known, file=scenarios), rooms
